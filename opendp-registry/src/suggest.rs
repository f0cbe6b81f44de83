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

/// The goal of a search: the largest allowed loss of a chain, and the known facts about the data.
///
/// A search uses only stated facts, and never invents bounds, a size or categories. A fact has a
/// name, such as `size`, and states the value of all parameters with this name. A fact with the
/// name `clamp.bounds` is only for the constructor `make_clamp`.
///
/// A fact can contain a parameter, such as `{"scale": {"param": "scale"}, "k": 3}`. The search then
/// finds the value of this parameter, as it finds the value of the parameters `scale` and `prob` of
/// a constructor.
///
/// A fact with the name `bounds` states the numbers to which rows are clamped. So this fact is not
/// for a constructor whose input is an aggregate. For example, `make_geometric` can have a sum as
/// its input. The fact is also not for `make_filter_bounds`, because this constructor drops rows.
/// The bounds of these constructors are facts such as `geometric.bounds`.
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
    /// State the space of the data, the measure of the loss, the distance between neighbours, and
    /// the largest allowed loss. All four values are in document form.
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
    /// Find only chains with a link for which `about` returns `true`.
    #[must_use]
    pub fn about(mut self, about: &'a dyn Fn(&Entry) -> bool) -> Self {
        self.about = Some(about);
        self
    }
    /// Also use constructors without a stated proof, such as closures of the program.
    #[must_use]
    pub fn with_unproved(mut self) -> Self {
        self.unproved = true;
        self
    }
    /// Set the limits of the search.
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

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest number of links in a chain. Conversions of the measure do not count.
    pub links: usize,
    /// The largest number of calls of constructors. Calls in the bisections that find the parameter
    /// of the noise do not count. The number of bisections is at most four times `results`.
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
    /// The chain, which can be built and has a loss within the budget.
    pub document: Document,
    /// The constructors of the links, in order.
    pub names: Vec<String>,
    /// The parameter for which the search found a value, and this value.
    pub solved: Option<(String, Json)>,
    /// The loss of the chain at the distance of the goal.
    pub loss: Json,
    /// A bound on the error of each answer. `None` if no bound is known. The error exceeds its
    /// bound with a probability of at most 0.05.
    pub accuracy: Vec<Option<f64>>,
}
/// A constructor that the search could not use. Only some of these constructors are listed:
///
/// - If the goal has no condition `about`, constructors that return an error for the space of the
///   data are listed.
/// - If the goal has the condition `about`, constructors for which the condition holds are listed.
///   If the search suggests no chain, some constructors that add noise are listed too: the
///   constructors that could extend a chain in which the condition holds for a link.
/// - If no two inputs are at the distance of the goal, no chain is searched for. Then the only
///   obstacle is this distance, with the name [`Obstacle::DISTANCE`] and the error of
///   [`check_neighbours`](opendp_core::Space::check_neighbours).
/// - The error of a listed constructor can name another constructor that the search could not use.
///   Then this other constructor is listed too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The constructor, or [`Obstacle::DISTANCE`].
    pub name: String,
    /// The parameters for which a fact is missing.
    pub missing: Vec<String>,
    /// The error of the constructor, if it was called.
    pub reason: Option<String>,
}
impl Obstacle {
    /// The name of an obstacle that is the distance of the goal, and not a constructor.
    pub const DISTANCE: &str = "d_in";
}
/// The result of a search.
#[derive(Clone, Debug)]
pub struct Suggestions {
    /// The chains, starting with the best. Chains are sorted by the number of links, and then by
    /// the error.
    pub found: Vec<Suggestion>,
    /// The constructors that could not be used, with the missing facts.
    pub obstacles: Vec<Obstacle>,
    /// The number of calls of constructors, without the calls in bisections.
    pub calls: usize,
    /// `false` if the limit of calls prevented a call, and `true` otherwise.
    pub whole: bool,
}
impl Suggestions {
    /// Return the result for a distance at which there are no two inputs. `error` states why.
    fn apart(error: &Error, calls: usize) -> Self {
        let reason = match error {
            Error::FailedMap(reason) => reason.strip_prefix("d_in: ").unwrap_or(reason).to_owned(),
            error => error.to_string(),
        };
        let (name, missing) = (Obstacle::DISTANCE.to_owned(), Vec::new());
        let obstacles = vec![Obstacle { name, missing, reason: Some(reason) }];
        Suggestions { found: Vec::new(), obstacles, calls, whole: true }
    }
}

/// A goal, with its space and its measure as objects. [`Registry::suggest`] also checks the
/// distances of the goal before it makes an `Aim`.
struct Aim<'a> {
    start: Arg,
    measure: AnyMeasure,
    goal: &'a Goal<'a>,
    facts: BTreeMap<String, Json>,
}

impl Registry {
    /// Suggest chains from a space to a release within a budget.
    ///
    /// Every suggestion was built, and its loss was checked. If a chain has noise, a search finds
    /// the parameter of the noise. The search uses constructors without a stated proof only if the
    /// goal allows them. The search does not use older names. By default, the search never converts
    /// rows of floats to a type that is not a float type, or rows of texts to integers. There are
    /// two exceptions: constructors for which the condition `about` of the goal holds, and
    /// constructors with a fact for one of their arguments, such as `cast_default.TOA`. The
    /// statistic of a chain is the list of its constructors whose output does not consist of rows.
    /// If several chains of transformations have the same statistic and the same output space, and
    /// agree on the condition `about`, the search continues only with the first of these chains. No
    /// other of these chains is shorter. If the search has found a chain with noise for a
    /// statistic, it leaves out longer chains for this statistic.
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
        let located = |error: Error| error.at("d_out");
        measure.decode(&goal.d_out).and_then(|d_out| d_out.check()).map_err(located)?;
        let start = Document::space(self, &goal.space)?;
        if let Arg::Pair(_, metric) = &start {
            let d_in = metric.decode(&goal.d_in).and_then(|d_in| d_in.check());
            d_in.map_err(|error| error.at("d_in"))?;
        }
        let mut facts = goal.facts.clone();
        // If no fact states a delta, conversions use the delta of the budget.
        if let Some(delta) = goal.d_out.get(1) {
            facts.entry("delta".to_owned()).or_insert_with(|| delta.clone());
        }
        let aim = Aim { start, measure, goal, facts };
        Search::new(self, &aim).run()
    }
}
