//! The search for chains. Chains grow by one link at a time, so shorter chains are found first.

mod facts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use opendp_core::erased::{AnyMeasurement, AnyTransformation};
use opendp_core::{Arg, Args, Constructed, Error, Kind, Result, TypeName};
use serde_json::{Map, Value as Json, json};

use self::facts::filled;
use super::{Aim, Obstacle, Suggestions};
use crate::advice::OF_DATA;
use crate::{Entry, Registry};

/// The parameters of noise. The search finds their values.
const SOLVED: [&str; 2] = ["scale", "prob"];
/// The types to try for a type parameter with more than two possible types. The parameter has no
/// default, is not the privacy measure, and is determined neither by the space nor by the facts.
const USUAL: [&str; 2] = ["f64", "i64"];
/// The largest number of ways to choose the types of one link.
const CHOICES: usize = 6;

#[derive(Clone)]
struct Chain {
    links: Vec<Json>,
    names: Vec<String>,
    made: Option<AnyTransformation>,
    /// Whether the goal's condition `about` holds for the constructor of one of the links. This
    /// field is also `true` if the goal has no such condition.
    about: bool,
    /// The statistic of the chain: the names of the constructors whose output does not consist of
    /// rows. The names are in the order of the chain.
    statistic: Vec<String>,
}
/// A chain that ends in a measurement.
pub(super) struct Release {
    pub(super) links: Vec<Json>,
    pub(super) names: Vec<String>,
    pub(super) made: AnyMeasurement,
    pub(super) statistic: Vec<String>,
}
/// All signatures of a constructor that a chain can contain.
pub(super) struct Family {
    pub(super) name: String,
    pub(super) entries: Vec<Arc<Entry>>,
    about: bool,
}
/// The relation of an obstacle to the condition `about` of the goal. `Constructor`: the condition
/// holds for the constructor of the obstacle. `Chain`: the condition holds for a link of a chain
/// that this constructor could extend. `Neither`: the condition holds neither for the constructor
/// nor for such a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum About {
    Neither,
    Chain,
    Constructor,
}
/// One way to call a constructor: the arguments as JSON, and the arguments of the calls to try. The
/// calls differ only in the preliminary value of a parameter.
struct Way {
    tries: Vec<Args>,
    written: Map<String, Json>,
}

pub(super) struct Search<'a> {
    pub(super) registry: &'a Registry,
    pub(super) aim: &'a Aim<'a>,
    pub(super) families: Vec<Family>,
    pub(super) releases: Vec<Release>,
    /// The obstacles, and the relation of each obstacle to the goal. The key is the name of the
    /// constructor that could not be used.
    obstacles: BTreeMap<String, (About, Obstacle)>,
    /// The names of the constructors that are the last link of a found chain or release.
    done: BTreeSet<String>,
    /// A text for each chain that was found earlier: its output space, its statistic and its field
    /// `about`.
    seen: BTreeSet<String>,
    pub(super) calls: usize,
    pub(super) whole: bool,
    /// The error of the distance of the goal, if no two inputs are at this distance.
    pub(super) apart: Option<Error>,
}

impl<'a> Search<'a> {
    pub(super) fn new(registry: &'a Registry, aim: &'a Aim<'a>) -> Self {
        let about = aim.goal.about;
        let family = |name: String| {
            let entries = registry.signatures(&name).ok()?;
            let first = entries.first()?;
            let chained = matches!(first.kind(), Kind::Transformation | Kind::Measurement);
            let proved = aim.goal.unproved || entries.iter().all(|entry| entry.proved());
            let fits = chained && first.recommended() && proved;
            let about = about.is_none_or(|about| about(first));
            fits.then_some(Family { name, entries, about })
        };
        let families = registry.names().into_iter().filter_map(family).collect();
        Search {
            registry,
            aim,
            families,
            releases: Vec::new(),
            obstacles: BTreeMap::new(),
            done: BTreeSet::new(),
            seen: BTreeSet::new(),
            calls: 0,
            whole: true,
            apart: None,
        }
    }
    pub(super) fn run(mut self) -> Result<Suggestions> {
        let (links, names, statistic) = (Vec::new(), Vec::new(), Vec::new());
        let about = self.aim.goal.about.is_none();
        let mut level = vec![Chain { links, names, made: None, about, statistic }];
        for _ in 0..self.aim.goal.limits.links {
            let mut next = Vec::new();
            for chain in &level {
                self.grow(chain, &mut next);
            }
            if let Some(error) = &self.apart {
                return Ok(Suggestions::apart(error, self.calls));
            }
            level = next;
        }
        self.finish()
    }
    /// Return whether one more call of a constructor is allowed. If it is allowed, count this call.
    pub(super) fn may_call(&mut self) -> bool {
        let may = self.calls < self.aim.goal.limits.calls;
        self.whole &= may;
        self.calls += usize::from(may);
        may
    }

    /// Extend a chain by each constructor that takes the output space of the chain. Add the longer
    /// chains of transformations to `next`. Add the chains that end in a measurement to `releases`.
    fn grow(&mut self, chain: &Chain, next: &mut Vec<Chain>) {
        let here = match &chain.made {
            None => self.aim.start.clone(),
            Some(made) => Arg::Space(made.output().clone()),
        };
        for place in 0..self.families.len() {
            let family = &self.families[place];
            let fit = |entry: &&Arc<Entry>| entry.takes_space(&here);
            let fits: Vec<Arc<Entry>> = family.entries.iter().filter(fit).cloned().collect();
            let (name, about) = (family.name.clone(), family.about);
            let Some(first) = fits.first() else { continue };
            let given = match self.given(first, chain) {
                Ok(given) => given,
                Err(missing) => {
                    let noise = first.parameters().iter().any(|p| SOLVED.contains(&&*p.name));
                    self.miss(&name, about, noise.then_some(chain), missing);
                    continue;
                }
            };
            for way in self.ways(&fits, given) {
                let Some(made) = self.made(&name, &way, &here) else { return };
                match made {
                    // The first link has the space of the data as its input.
                    Ok(made) if chain.links.is_empty() && self.are_apart(&made) => return,
                    Ok(made) => self.append(chain, &name, about, way, made, next),
                    Err(error) => self.refused(&name, about, chain, &error),
                }
            }
        }
    }
    /// Call a constructor with the arguments of each try, until one of the calls succeeds. If no
    /// more calls are allowed, return `None`.
    fn made(&mut self, name: &str, way: &Way, here: &Arg) -> Option<Result<Constructed>> {
        let mut made = None;
        for args in &way.tries {
            if !self.may_call() {
                return None;
            }
            let found = self.registry.make(name, &args.clone().with("input", here.clone()));
            match (&found, &made) {
                (Ok(_), _) => return Some(found),
                (Err(_), None) => made = Some(found),
                (Err(_), Some(_)) => {}
            }
        }
        made
    }
    /// Return whether no two inputs of `made` are at the distance of the goal, and keep the error.
    fn are_apart(&mut self, made: &Constructed) -> bool {
        let checked = made.check_neighbours(&self.aim.goal.d_in);
        self.apart = checked.err().filter(|error| matches!(error, Error::FailedMap(_)));
        self.apart.is_some()
    }
    fn append(
        &mut self,
        chain: &Chain,
        name: &str,
        about: bool,
        way: Way,
        made: Constructed,
        next: &mut Vec<Chain>,
    ) {
        if let Constructed::Transformation(made) = &made
            && self.rounds(name, about, &way, made)
        {
            return;
        }
        let before = chain.made.clone();
        let mut grown = chain.clone();
        grown.links.push(written(name, way.written));
        grown.names.push(name.to_owned());
        grown.about |= about;
        match made {
            Constructed::Transformation(made) => {
                let joined = before.map_or(Ok(made.clone()), |before| before.then(|_| Ok(made)));
                let Ok(joined) = joined else { return };
                let output = joined.output();
                if !OF_DATA.contains(&output.metric().inner_type().head()) {
                    grown.statistic.push(name.to_owned());
                }
                let reached = format!("{} {:?} {}", output.to_json(), grown.statistic, grown.about);
                let longer = self.releases.iter().any(|it| it.statistic == grown.statistic);
                if longer && !grown.statistic.is_empty() || !self.seen.insert(reached) {
                    return;
                }
                self.done.insert(name.to_owned());
                grown.made = Some(joined);
                next.push(grown);
            }
            Constructed::Measurement(made) if grown.about => {
                let joined = before.map_or(Ok(made.clone()), |before| before.then(|_| Ok(made)));
                let Ok(made) = joined else { return };
                self.done.insert(name.to_owned());
                let Chain { links, names, mut statistic, .. } = grown;
                if statistic.is_empty() {
                    statistic.push(name.to_owned());
                }
                let shorter =
                    |it: &Release| it.statistic == statistic && it.names.len() < names.len();
                if self.releases.iter().any(shorter) {
                    return;
                }
                self.releases.push(Release { links, names, made, statistic });
            }
            _ => {}
        }
    }

    /// List the ways to call a constructor. The ways differ in the measure, and in the types that
    /// the space and the facts do not determine.
    fn ways(&self, fits: &[Arc<Entry>], given: Map<String, Json>) -> Vec<Way> {
        let Some(first) = fits.first() else { return Vec::new() };
        let mut ways = vec![given];
        for (place, generic) in first.generics.iter().enumerate() {
            let type_at =
                |entry: &Arc<Entry>| entry.generics.get(place).map(|g| g.type_name.clone());
            let types: BTreeSet<String> =
                fits.iter().filter_map(type_at).map(|name| name.to_string()).collect();
            let measures = first.measure_type() == Some(&generic.type_name);
            let stated = self.fact(first.name(), generic.name).and_then(Json::as_str);
            let chosen: Vec<String> = match (measures, stated) {
                _ if types.len() < 2 => continue,
                (_, Some(stated)) => vec![stated.to_owned()],
                (true, None) => types.into_iter().collect(),
                (false, None) if generic.default.is_some() => continue,
                (false, None) if types.len() <= 2 => types.into_iter().collect(),
                _ => USUAL.map(str::to_owned).into_iter().filter(|t| types.contains(t)).collect(),
            };
            // If a type parameter takes its default, the type is not written into the document. But
            // if the constructor takes the measure as an argument, the measure is always written.
            let default = generic.default.as_ref().map(ToString::to_string);
            let plain = default.filter(|_| first.measure_parameter().is_none());
            let choose = |way: &Map<String, Json>| -> Vec<Map<String, Json>> {
                let write = |name: &String| match plain.as_ref() == Some(name) {
                    true => way.clone(),
                    false => with(way, generic.name, name.as_str().into()),
                };
                chosen.iter().map(write).collect()
            };
            ways = ways.iter().flat_map(choose).take(CHOICES).collect();
        }
        ways.into_iter().filter_map(|written| self.way(first, written)).collect()
    }
    /// Convert arguments in the form of documents to arguments of a call.
    fn way(&self, entry: &Entry, mut written: Map<String, Json>) -> Option<Way> {
        let measure = entry.measure_parameter();
        let mut args = Args::new();
        let generics = entry.generics.iter().map(|generic| generic.name);
        let generic = generics.into_iter().find(|name| written.contains_key(*name));
        if let (Some(parameter), Some(generic)) = (measure, generic)
            && let Some(name) = written.get(generic).and_then(Json::as_str)
            && let Ok(name) = name.parse::<TypeName>()
        {
            // This constructor takes the measure as an argument, and this argument determines the
            // type parameter `generic`.
            let Constructed::Measure(made) = self.registry.of_type(&name).ok()? else {
                return None;
            };
            written.remove(generic);
            let json = opendp_core::Measure::to_json(&made);
            args = args.with(parameter, Constructed::Measure(made));
            let written = with(&written, parameter, json);
            return Some(Way { tries: filled(&args, &written, Some(parameter)), written });
        }
        Some(Way { tries: filled(&args, &written, None), written })
    }

    /// Record the missing facts of a constructor. If the constructor adds noise, `noise` is the
    /// chain that this constructor could extend.
    fn miss(&mut self, name: &str, about: bool, noise: Option<&Chain>, missing: Vec<String>) {
        if !missing.is_empty() {
            let chain = noise.is_some_and(|chain| chain.about && self.aim.goal.about.is_some());
            let about = match (about, chain) {
                (true, _) => About::Constructor,
                (false, true) => About::Chain,
                (false, false) => About::Neither,
            };
            self.obstacle(about, Obstacle { name: name.to_owned(), missing, reason: None });
        }
    }
    fn refused(&mut self, name: &str, about: bool, chain: &Chain, error: &Error) {
        // If the goal has no condition `about`, record only constructors that return an error for
        // the space of the data. Do not record errors for the output space of a chain.
        if about && (self.aim.goal.about.is_some() || chain.links.is_empty()) {
            let reason = Some(error.to_string());
            let obstacle = Obstacle { name: name.to_owned(), missing: Vec::new(), reason };
            self.obstacle(About::Constructor, obstacle);
        }
    }
    fn obstacle(&mut self, about: About, obstacle: Obstacle) {
        let known = self.obstacles.entry(obstacle.name.clone());
        let known = known.or_insert_with(|| (about, obstacle));
        known.0 = known.0.max(about);
    }
    /// Return the obstacles to list, as [`Obstacle`] states. `nothing` is `true` if no chain was
    /// found.
    pub(super) fn kept(&self, nothing: bool) -> Vec<Obstacle> {
        let named = self.aim.goal.about.is_some();
        let matters = |(name, (about, obstacle)): &(&String, &(About, Obstacle))| {
            let about = match about {
                About::Constructor => named || obstacle.reason.is_some(),
                About::Chain => nothing,
                About::Neither => false,
            };
            about && !self.done.contains(*name)
        };
        let kept: Vec<&Obstacle> =
            self.obstacles.iter().filter(matters).map(|it| &it.1.1).collect();
        let reasons = kept.iter().filter_map(|obstacle| obstacle.reason.as_deref());
        let advised: BTreeSet<&str> = reasons.flat_map(|reason| reason.split('`')).collect();
        let advised = advised.into_iter().filter_map(|name| self.obstacles.get(name));
        let advised = advised.map(|(_, obstacle)| obstacle);
        let new = advised.filter(|advised| !kept.contains(advised));
        kept.iter().copied().chain(new).cloned().collect()
    }
}
impl Entry {
    /// Return the name of the parameter that takes the measure of the loss.
    fn measure_parameter(&self) -> Option<&str> {
        let name = self.measure_type()?;
        let found = self.parameters().iter().find(|p| p.type_name == *name);
        found.map(|parameter| &*parameter.name)
    }
}
fn with(object: &Map<String, Json>, name: &str, value: Json) -> Map<String, Json> {
    let mut object = object.clone();
    object.insert(name.to_owned(), value);
    object
}
/// Write a link of a document.
pub(super) fn written(name: &str, args: Map<String, Json>) -> Json {
    let short = name.strip_prefix("make_").unwrap_or(name);
    if args.is_empty() { short.into() } else { json!({ short: args }) }
}
