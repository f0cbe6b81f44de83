//! Searches for chains that lead from data to a release within a budget.

mod finish;
mod steps;

use std::collections::BTreeMap;
use std::fmt;

use opendp_core::erased::AnyMeasure;
use opendp_core::{Arg, Distance, Error, Result};
use serde_json::Value as Json;

use self::steps::Search;
use crate::{Document, Entry, Registry};

/// What a chain must achieve, and what is known about the data.
///
/// A search uses only what is stated. It invents no bounds, no size and no categories. The name of
/// a fact is that of the parameter that takes it. `clamp.bounds` states it for one constructor.
pub struct Goal<'a> {
    space: Json,
    measure: Json,
    d_in: Json,
    d_out: Json,
    facts: BTreeMap<String, Json>,
    about: Option<&'a dyn Fn(&Entry) -> bool>,
    limits: Limits,
    unproved: bool,
}
impl<'a> Goal<'a> {
    /// State the space of the data, the measure of the loss, the distance of neighbours, and the
    /// most that the loss may be. All are written as in documents.
    pub fn new(space: Json, measure: Json, d_in: Json, d_out: Json) -> Self {
        let (facts, limits) = (BTreeMap::new(), Limits::default());
        Goal { space, measure, d_in, d_out, facts, about: None, limits, unproved: false }
    }
    /// State the value of a parameter.
    #[must_use]
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.facts.insert(name.into(), value.into());
        self
    }
    /// Find only chains with a link for which this holds.
    #[must_use]
    pub fn about(mut self, about: &'a dyn Fn(&Entry) -> bool) -> Self {
        self.about = Some(about);
        self
    }
    /// Also use constructors without a stated proof, such as closures of this program.
    #[must_use]
    pub fn with_unproved(mut self) -> Self {
        self.unproved = true;
        self
    }
    /// Bound the search.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}
impl fmt::Debug for Goal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Goal({} within {} in {})", self.space, self.d_out, self.measure)
    }
}

/// How far a search goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest number of links of a chain, without conversions of the measure.
    pub links: usize,
    /// The largest number of calls of constructors. Bisections of the noise count apart: there are
    /// at most four for each result.
    pub calls: usize,
    /// The largest number of suggestions.
    pub results: usize,
}
impl Default for Limits {
    fn default() -> Self {
        Limits { links: 6, calls: 3000, results: 5 }
    }
}

/// A chain that meets the goal.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// The chain. It builds, and its loss is within the budget.
    pub document: Document,
    /// The constructors of the links, in order.
    pub names: Vec<String>,
    /// The parameter that was solved for, and its value.
    pub solved: Option<(String, Json)>,
    /// The loss at the distance of the goal.
    pub loss: Json,
    /// For each answer, a bound on the error that holds except with probability 0.05, where it is
    /// known.
    pub accuracy: Vec<Option<f64>>,
}
/// A constructor that the goal is about, or that takes the data, and that was in no chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The constructor.
    pub name: String,
    /// The parameters for which a fact is missing.
    pub missing: Vec<String>,
    /// The reason why the constructor refused, if it was called.
    pub reason: Option<String>,
}
/// The result of a search.
#[derive(Clone, Debug)]
pub struct Suggestions {
    /// The chains, the best first: by the number of links, then by the error.
    pub found: Vec<Suggestion>,
    /// What is missing for other chains, or for the first one.
    pub obstacles: Vec<Obstacle>,
    /// The number of calls of constructors, without bisections.
    pub calls: usize,
    /// Whether the search ended before it reached the limit of calls.
    pub whole: bool,
}

/// A goal that was read.
struct Aim<'a> {
    start: Arg,
    measure: AnyMeasure,
    goal: &'a Goal<'a>,
    facts: BTreeMap<String, Json>,
}

impl Registry {
    /// Suggest chains from a space to a release within a budget.
    ///
    /// Every suggestion was built, and its loss was checked. If a chain has noise, the parameter of
    /// the noise is solved for. Constructors without a stated proof and older names are left out.
    /// Of the chains with the same statistic only the shortest are suggested.
    ///
    /// ```
    /// use opendp_measurements as _;
    /// use opendp_registry::{Goal, Registry};
    /// use opendp_transformations as _;
    /// use serde_json::json;
    ///
    /// let ages = json!({"vector_domain": {"atom_domain": {"T": "i64"}}});
    /// let space = json!({"domain": ages, "metric": "symmetric_distance"});
    /// let goal = Goal::new(space, json!("max_divergence"), json!(1), json!(0.5));
    /// let sums = |entry: &opendp_registry::Entry| entry.name() == "make_sum";
    /// // Without bounds there is no sum.
    /// let open = Registry::global().suggest(&goal.about(&sums))?;
    /// assert!(open.found.is_empty());
    /// assert!(open.obstacles.iter().any(|it| it.missing == ["bounds"]));
    /// # let ages = json!({"vector_domain": {"atom_domain": {"T": "i64"}}});
    /// # let space = json!({"domain": ages, "metric": "symmetric_distance"});
    /// # let goal = Goal::new(space, json!("max_divergence"), json!(1), json!(0.5));
    /// let found = Registry::global().suggest(&goal.about(&sums).fact("bounds", json!([0, 120])))?;
    /// assert_eq!(found.found[0].solved, Some(("scale".to_owned(), json!(240.0))));
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of reading the space, the measure and the distances.
    pub fn suggest(&self, goal: &Goal<'_>) -> Result<Suggestions> {
        let measure = Document::measure(self, &goal.measure)?;
        let at = |error: Error| error.at("d_out");
        measure.decode(&goal.d_out).and_then(|d_out| d_out.check()).map_err(at)?;
        let start = Document::space(self, &goal.space)?;
        if let Arg::Pair(_, metric) = &start {
            let d_in = metric.decode(&goal.d_in).and_then(|d_in| d_in.check());
            d_in.map_err(|error| error.at("d_in"))?;
        }
        let mut facts = goal.facts.clone();
        // The delta of a budget is the delta of a conversion.
        if let Some(delta) = goal.d_out.get(1) {
            facts.entry("delta".to_owned()).or_insert_with(|| delta.clone());
        }
        let aim = Aim { start, measure, goal, facts };
        Search::new(self, &aim).run()
    }
}
