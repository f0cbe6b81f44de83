//! The values that facts state for the parameters of a constructor.

use opendp_core::erased::{AnyMetric, AnyTransformation};
use opendp_core::{Arg, Args, Kind, TypeName};
use serde_json::{Map, Value as Json, json};

use super::{Chain, SOLVED, Search, Way};
use crate::Entry;
use crate::advice::OF_DATA;

/// The constructors that drop the rows outside of their bounds. The fact `bounds` states the bounds
/// to which rows are clamped. So these constructors do not use this fact.
const DROPPING: [&str; 1] = ["make_filter_bounds"];

/// The preliminary values of a parameter that a fact leaves open. Some constructors accept only
/// some of these values.
const PRELIMINARY: [f64; 3] = [1.0, 0.25, 0.75];

impl Search<'_> {
    /// Find the values of the parameters among the facts. If some parameters have no value, return
    /// the names of the missing facts as an error.
    pub(super) fn given(
        &self,
        entry: &Entry,
        chain: &Chain,
    ) -> Result<Map<String, Json>, Vec<String>> {
        let (mut given, mut missing) = (Map::new(), Vec::new());
        let losses = chain.made.as_ref().is_some_and(|made| made.output().lowest_is_best());
        for parameter in entry.parameters().iter().filter(|p| p.name != "input") {
            let name = &*parameter.name;
            let own = name == "bounds" && !self.takes_bounds_of_rows(entry, chain);
            let stated = match own {
                true => self.own_fact(entry.name(), name),
                false => self.fact(entry.name(), name),
            };
            if let (true, Some(least)) = (losses && stated.is_none(), least(name)) {
                given.insert(name.to_owned(), least);
            } else if let Some(value) = stated {
                given.insert(name.to_owned(), value.clone());
            } else if SOLVED.contains(&name) && entry.kind() == Kind::Measurement {
                given.insert(name.to_owned(), json!({"param": name}));
            } else if parameter.default.is_none() && parameter.accepts(&Arg::Json(json!(0))) {
                missing.push(if own { own_name(entry.name(), name) } else { name.to_owned() });
            } else if parameter.default.is_none() && entry.measure_parameter() != Some(name) {
                // This argument is not JSON, so no fact can state it. An example is the argument
                // that contains the members of a composition.
                return Err(Vec::new());
            }
        }
        if missing.is_empty() { Ok(given) } else { Err(missing) }
    }
    /// Return whether the fact `bounds` applies to this constructor. This fact states the bounds of
    /// the rows. The fact applies if the output of the chain consists of rows, and if the
    /// constructor does not drop rows. After an aggregation, the output has another range than the
    /// rows. With the bounds of the rows, a noisy sum or count would be clamped to the wrong range.
    fn takes_bounds_of_rows(&self, entry: &Entry, chain: &Chain) -> bool {
        let of_rows = |metric: &AnyMetric| OF_DATA.contains(&metric.inner_type().head());
        let rows = match (&chain.made, &self.aim.start) {
            (Some(made), _) => of_rows(made.output().metric()),
            (None, Arg::Space(space)) => of_rows(space.metric()),
            (None, Arg::Pair(_, metric)) => of_rows(metric),
            (None, _) => false,
        };
        rows && !DROPPING.contains(&entry.name())
    }
    /// Return the fact for this parameter of this constructor. If there is no such fact, return the
    /// fact for all parameters with this name.
    pub(in super::super) fn fact(&self, constructor: &str, parameter: &str) -> Option<&Json> {
        let own = self.own_fact(constructor, parameter);
        own.or_else(|| self.aim.facts.get(parameter))
    }
    fn own_fact(&self, constructor: &str, parameter: &str) -> Option<&Json> {
        self.aim.facts.get(&own_name(constructor, parameter))
    }
    /// Return whether a transformation converts rows, although the goal does not request the
    /// conversion. Two conversions count: from floats to a type that is not a float type, and from
    /// texts to integers. Rounding changes the median and the sum of rows, and a text such as `4.5`
    /// is not an integer. The goal requests a conversion in two cases: a fact states one of the
    /// arguments of the transformation, or the condition `about` of the goal holds for the
    /// transformation.
    pub(super) fn rounds(
        &self,
        name: &str,
        about: bool,
        way: &Way,
        made: &AnyTransformation,
    ) -> bool {
        let is_float = |atom: &str| matches!(atom, "f32" | "f64");
        let (from, to) =
            (atom(&made.input().domain().carrier()), atom(&made.output().domain().carrier()));
        let is_integer = |atom: &str| !is_float(atom) && !matches!(atom, "bool" | "String");
        let rounds = match (from.as_deref(), to.as_deref()) {
            (Some("String"), Some(to)) => is_integer(to),
            (Some(from), Some(to)) => is_float(from) && !is_float(to),
            _ => false,
        };
        let rows = OF_DATA.contains(&made.output().metric().inner_type().head());
        let stated = |argument: &String| self.fact(name, argument).is_some();
        let named = about && self.aim.goal.about.is_some();
        rounds && rows && !named && !way.written.keys().any(stated)
    }
}
/// Return the name of the atomic type of rows. `carrier` is the type of the rows.
fn atom(carrier: &TypeName) -> Option<String> {
    match carrier.args() {
        [] => Some(carrier.head().to_owned()),
        [inner] => atom(inner),
        _ => None,
    }
}
/// Return the name of the fact for a parameter of one constructor.
fn own_name(constructor: &str, parameter: &str) -> String {
    let short = constructor.strip_prefix("make_").unwrap_or(constructor);
    format!("{short}.{parameter}")
}
/// Return the value of a parameter that makes a selection choose the lowest score. Return `None` if
/// the parameter does not decide between the lowest and the highest score.
fn least(parameter: &str) -> Option<Json> {
    match parameter {
        "negate" => Some(json!(true)),
        "optimize" => Some(json!("min")),
        _ => None,
    }
}
/// Add the JSON arguments `written`, except the argument `but`, to `args`. A parameter without a
/// known value gets a preliminary value. Return the arguments for each preliminary value.
pub(super) fn filled(args: &Args, written: &Map<String, Json>, but: Option<&str>) -> Vec<Args> {
    let fill = |value: f64| {
        let given = written.iter().filter(|(name, _)| Some(name.as_str()) != but);
        given.fold(args.clone(), |args, (name, given)| {
            let value = if name == "prob" { 0.75 } else { value };
            args.with(name, preliminary(given, value))
        })
    };
    // The search itself leaves the arguments of `SOLVED` open. Other arguments are open only if a
    // fact leaves them open.
    let given = written.iter().filter(|(name, _)| !SOLVED.contains(&name.as_str()));
    let open = given.into_iter().any(|(_, given)| preliminary(given, 1.0) != *given);
    let values = if open { &PRELIMINARY[..] } else { &PRELIMINARY[..1] };
    values.iter().map(|value| fill(*value)).collect()
}
/// Replace each parameter of a value by a number. A parameter can be inside an object or an array.
fn preliminary(given: &Json, value: f64) -> Json {
    match given {
        Json::Object(fields) if fields.len() == 1 && fields.contains_key("param") => json!(value),
        Json::Object(fields) => {
            let each = fields.iter().map(|(name, field)| (name.clone(), preliminary(field, value)));
            Json::Object(each.collect())
        }
        Json::Array(items) => items.iter().map(|item| preliminary(item, value)).collect(),
        plain => plain.clone(),
    }
}
