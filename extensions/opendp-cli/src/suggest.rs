//! Suggestions of chains from data to a release within a budget.

use std::collections::BTreeSet;

use opendp_core::{Error, Result};
use opendp_registry::{Entry, Goal, Limits, Obstacle, Registry, Suggestion, Suggestions, json};
use serde_json::{Map, Value as Json, json};

use crate::{Answer, parse_json, parse_setting, search, words};

/// The arguments of `suggest`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("data").required(true).args(["column_type", "space"])))]
#[command(group(clap::ArgGroup::new("budget").required(true).args(["epsilon", "rho", "measure"])))]
pub(crate) struct Arguments {
    /// The statistic to release: a word such as mean, histogram or median
    word: Option<String>,
    /// The type of the records, such as f64, i64, bool or String
    #[arg(long, value_name = "TYPE")]
    column_type: Option<String>,
    /// The number of records, if it is public
    #[arg(long, requires = "column_type", allow_negative_numbers = true, value_parser = parse_size)]
    size: Option<u64>,
    /// State that no record is NaN
    #[arg(long, requires = "column_type")]
    no_nan: bool,
    /// The metric of the records; defaults to symmetric_distance, or to change_one_distance if the
    /// size is public
    #[arg(long, requires = "column_type")]
    metric: Option<String>,
    /// The space of the data, as JSON: {"domain": ..., "metric": ...}
    #[arg(long, value_parser = parse_object)]
    space: Option<Json>,
    /// The bounds to which numbers are clamped, such as 0,100
    #[arg(long, value_name = "LOWER,UPPER", allow_hyphen_values = true, value_parser = parse_bounds)]
    bounds: Option<Json>,
    /// The value of a parameter, as JSON, such as categories=["a","b"] or resize.size=1000
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_fact)]
    fact: Vec<(String, Json)>,
    /// The distance of neighbouring inputs, as JSON
    #[arg(long, allow_hyphen_values = true, value_parser = parse_json, default_value = "1")]
    d_in: Json,
    /// The budget: epsilon
    #[arg(long, allow_hyphen_values = true, value_parser = parse_amount)]
    epsilon: Option<Json>,
    /// The budget: delta, together with --epsilon
    #[arg(long, requires = "epsilon", conflicts_with_all = ["rho", "measure"], allow_hyphen_values = true, value_parser = parse_amount)]
    delta: Option<Json>,
    /// The budget: rho
    #[arg(long, allow_hyphen_values = true, value_parser = parse_amount)]
    rho: Option<Json>,
    /// The budget: another measure, written as in a document
    #[arg(long, requires = "d_out")]
    measure: Option<String>,
    /// The budget: the largest loss in the measure of --measure, as JSON
    #[arg(long, requires = "measure", allow_hyphen_values = true, value_parser = parse_json)]
    d_out: Option<Json>,
    /// The largest number of suggestions
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=50))]
    count: u8,
}

/// Suggest chains. If `as_json` is true, write the suggestions as JSON for programs. Otherwise,
/// write a text for readers. The answer is a success if a chain was found.
pub(crate) fn answer(arguments: &Arguments, registry: &Registry, as_json: bool) -> Result<Answer> {
    let word = arguments.word.as_deref();
    let about = |entry: &Entry| word.is_none_or(|word| search::matches(word, entry.names(), ""));
    if let Some(word) = word {
        let mut names = registry.names().into_iter();
        let known = names.any(|name| search::matches(word, [name.as_str()].into_iter(), ""));
        if !known {
            let reason = format!("no constructor matches `{word}`; `opendp list` shows all");
            return Err(Error::NotFound(reason));
        }
    }
    check_amounts(arguments)?;
    let (measure, d_out) = budget(arguments)?;
    let limits = Limits { results: arguments.count.into(), ..Limits::default() };
    let goal = Goal::new(space(arguments)?, measure, arguments.d_in.clone(), d_out).limits(limits);
    let mut goal = if word.is_some() { goal.about(&about) } else { goal };
    if word.is_some_and(|word| word.to_lowercase().contains("median")) {
        // The median is the quantile with an `alpha` of 0.5.
        goal = goal.fact("alpha", 0.5);
    }
    if let Some(bounds) = &arguments.bounds {
        goal = goal.fact("bounds", bounds.clone());
    }
    for (name, value) in &arguments.fact {
        goal = goal.fact(name, value.clone());
    }
    let found = registry.suggest(&goal)?;
    let text = match as_json {
        true => to_json(&found).to_string(),
        false => text(&found, registry)?,
    };
    Ok(Answer { text, success: !found.found.is_empty() })
}
fn space(arguments: &Arguments) -> Result<Json> {
    let Some(column) = &arguments.column_type else {
        return arguments
            .space
            .clone()
            .ok_or_else(|| Error::argument("space", "missing, expected a domain and a metric"));
    };
    let mut atom = Map::from_iter([("T".to_owned(), column.as_str().into())]);
    if arguments.no_nan {
        atom.insert("nan".to_owned(), false.into());
    }
    let mut records = Map::from_iter([("atom_domain".to_owned(), atom.into())]);
    if let Some(size) = arguments.size {
        records.insert("size".to_owned(), size.into());
    }
    let usual = match arguments.size {
        Some(_) => "change_one_distance",
        None => "symmetric_distance",
    };
    let metric = arguments.metric.as_deref().unwrap_or(usual);
    Ok(json!({"domain": {"vector_domain": records}, "metric": metric}))
}
fn budget(arguments: &Arguments) -> Result<(Json, Json)> {
    let Arguments { epsilon, delta, rho, measure, d_out, .. } = arguments;
    Ok(match (epsilon, delta, rho, measure, d_out) {
        (Some(epsilon), None, ..) => (json!("max_divergence"), epsilon.clone()),
        (Some(epsilon), Some(delta), ..) => {
            (json!({"approximate": {"measure": "max_divergence"}}), json!([epsilon, delta]))
        }
        (_, _, Some(rho), ..) => (json!("zero_concentrated_divergence"), rho.clone()),
        (.., Some(measure), Some(d_out)) => (written(measure), d_out.clone()),
        _ => {
            return Err(Error::argument(
                "epsilon",
                "state one budget: --epsilon, --epsilon with --delta, --rho, or --measure with \
                 --d-out",
            ));
        }
    })
}
fn parse_amount(text: &str) -> Result<Json, String> {
    let wrong = || "expected a number of at least 0, such as 0.5 or 1e-6".to_owned();
    let json = parse_json(text).map_err(|_| wrong())?;
    match json.as_f64() {
        Some(number) if 0.0 <= number && number.is_finite() => Ok(json),
        _ => Err(wrong()),
    }
}
fn parse_size(text: &str) -> Result<u64, String> {
    let size = text.parse().ok().filter(|size| 0 < *size);
    size.ok_or_else(|| {
        "expected the public number of records, at least 1: leave --size out if it is private"
            .to_owned()
    })
}
fn parse_bounds(text: &str) -> Result<Json, String> {
    let bounds = parse_json(&format!("[{text}]")).ok();
    let pair = |bounds: &Json| bounds.as_array().is_some_and(|both| both.len() == 2);
    let bounds =
        bounds.filter(pair).ok_or_else(|| "expected LOWER,UPPER, such as 0,100".to_owned())?;
    check_order(&bounds).map(|()| bounds)
}
/// Check that the lower bound is at most the upper bound, if both are numbers.
fn check_order(bounds: &Json) -> Result<(), String> {
    match bounds.as_array().map(Vec::as_slice) {
        Some([lower, upper]) if upper.as_f64().zip(lower.as_f64()).is_some_and(|(u, l)| u < l) => {
            Err(format!("the lower bound {lower} is above the upper bound {upper}; swap them"))
        }
        _ => Ok(()),
    }
}
/// Read a fact in the form NAME=VALUE. Bounds in the wrong order fit no constructor, so such bounds
/// are an error.
fn parse_fact(text: &str) -> Result<(String, Json), String> {
    let (name, value) = parse_setting(text)?;
    if name == "bounds" || name.ends_with(".bounds") {
        check_order(&value)?;
    }
    Ok((name, value))
}
/// Check that the distance, a rho, and an epsilon without a delta are not 0. A chain with noise has
/// a loss above 0 for neighbours that differ. Neighbours at distance 0 do not differ.
fn check_amounts(arguments: &Arguments) -> Result<()> {
    let Arguments { epsilon, delta, rho, d_in, .. } = arguments;
    let zero = |amount: &Json| amount.as_f64() == Some(0.0);
    for (name, amount) in
        [("epsilon", epsilon.as_ref().filter(|_| delta.is_none())), ("rho", rho.as_ref())]
    {
        if amount.is_some_and(zero) {
            let reason = "no release about the data has a loss of 0: state a number above 0";
            return Err(Error::argument(name, reason));
        }
    }
    if zero(d_in) {
        let reason = "data at distance 0 do not differ, so a loss at this distance protects no \
                      one: state the distance of neighbours, such as 1";
        return Err(Error::argument("d_in", reason));
    }
    Ok(())
}
pub(crate) fn parse_object(text: &str) -> Result<Json, String> {
    json::parse_request(text).map_err(|error| error.to_string())
}

/// Return the names of the constructors that take a space, or `None` if no space is given. If a
/// measure is given, return only the names of measurements that take the space and state their loss
/// in this measure.
pub(crate) fn among(
    registry: &Registry,
    space: Option<&Json>,
    measure: Option<&str>,
) -> Result<Option<BTreeSet<String>>> {
    let Some(space) = space else { return Ok(None) };
    let entries = match measure {
        Some(measure) => registry.leading(space, &written(measure))?,
        None => registry.taking(space)?,
    };
    Ok(Some(entries.iter().map(|entry| entry.name().to_owned()).collect()))
}
/// Read a measure from its name or from JSON.
fn written(measure: &str) -> Json {
    json::parse(measure).unwrap_or_else(|_| measure.into())
}

fn to_json(found: &Suggestions) -> Json {
    let suggestion = |suggested: &Suggestion| {
        let solved = suggested.solved.iter().cloned().collect::<Map<String, Json>>();
        json!({
            "chain": suggested.names, "document": suggested.document.json(), "solved": solved,
            "loss": suggested.loss, "accuracy": suggested.accuracy,
        })
    };
    let obstacle = |met: &Obstacle| {
        let Obstacle { name, missing, reason } = met;
        json!({"constructor": name, "missing": missing, "reason": reason})
    };
    json!({
        "suggestions": found.found.iter().map(suggestion).collect::<Vec<_>>(),
        "obstacles": found.obstacles.iter().map(obstacle).collect::<Vec<_>>(),
        "calls": found.calls, "complete": found.whole,
    })
}
fn text(found: &Suggestions, registry: &Registry) -> Result<String> {
    let mut lines = Vec::new();
    for (place, suggested) in found.found.iter().enumerate() {
        let names: Vec<&str> = suggested.names.iter().map(|name| short(name)).collect();
        lines.push(format!("{}. {}", place + 1, names.join(", ")));
        let made = suggested.document.build(registry)?.measurement()?;
        let mut said = vec![format!("loss {}", words::loss(&suggested.loss, made.measure()))];
        if let Some((name, value)) = &suggested.solved {
            said.insert(0, format!("{name} {value}"));
        }
        if let [Some(error)] = suggested.accuracy[..] {
            let error = words::amount(&json!(error)).unwrap_or_default();
            said.push(format!("accuracy within {error} with probability 0.95"));
        }
        lines.push(format!("   {}", said.join("; ")));
        lines.extend([document(suggested.document.json()), String::new()]);
    }
    if found.found.is_empty() {
        lines.push("No chain was found for these facts.".to_owned());
        lines.push(String::new());
    }
    if !found.obstacles.is_empty() {
        lines.push("Not possible with these facts:".to_owned());
        lines.extend(found.obstacles.iter().map(obstacle));
        lines.push(String::new());
    }
    if !found.whole {
        let calls = found.calls;
        lines.push(format!(
            "The search stopped after {calls} calls of constructors; state a word, or more facts."
        ));
    }
    if !found.found.is_empty() {
        lines.push(format!(
            "Save a chain as FILE; then `{} run -p FILE` makes a release.",
            crate::program()
        ));
    }
    Ok(lines.join("\n").trim_end().to_owned())
}
fn short(name: &str) -> &str {
    name.strip_prefix("make_").unwrap_or(name)
}
fn document(json: &Json) -> String {
    let part = |name: &str| &json[name];
    format!(
        "   {{ \"version\": {},\n     \"space\": {},\n     \"chain\": {} }}",
        part("version"),
        part("space"),
        part("chain")
    )
}
fn obstacle(found: &Obstacle) -> String {
    // The distance of neighbours is a flag.
    let name = if found.name == Obstacle::DISTANCE { "--d-in" } else { short(&found.name) };
    match (&found.reason, found.missing.as_slice()) {
        (Some(reason), _) => format!("  {name}: {reason}"),
        (None, missing) => {
            let facts: Vec<String> =
                missing.iter().map(|fact| format!("--fact {fact}=VALUE")).collect();
            format!("  {name}: state `{}`, as {}", missing.join("`, `"), facts.join(" "))
        }
    }
}
