//! Losses in words.

use opendp_core::arith::Exact;
use opendp_core::erased::AnyMeasure;
use opendp_core::{Approximate, Codec, MaxDivergence, Measure, ZeroConcentratedDivergence};
use opendp_ledger::{say, say_float};
use serde_json::Value as Json;

/// The largest number of points that are written for a privacy profile.
const POINTS: usize = 4;

/// Return the names of the parts of a loss in a measure.
pub(crate) fn parts(measure: &AnyMeasure) -> &'static [&'static str] {
    if measure.is::<ZeroConcentratedDivergence>() {
        &["rho"]
    } else if measure.is::<Approximate<MaxDivergence>>() {
        &["epsilon", "delta"]
    } else if measure.is::<MaxDivergence>() {
        &["epsilon"]
    } else {
        &[]
    }
}
/// Write a loss as text, rounded up, such as `epsilon 0.2, delta 3.1e-7`. `loss` has the JSON form
/// of a loss that a map returns.
pub(crate) fn loss(loss: &Json, measure: &AnyMeasure) -> String {
    let numbers = match loss {
        Json::Array(numbers) => numbers.iter().map(amount).collect(),
        number => vec![amount(number)],
    };
    let parts = parts(measure);
    let numbers: Option<Vec<String>> = numbers.into_iter().collect();
    match (numbers, profile(loss)) {
        (Some(numbers), _) if numbers.len() == parts.len() => {
            let named = parts.iter().zip(numbers).map(|(name, number)| format!("{name} {number}"));
            named.collect::<Vec<_>>().join(", ")
        }
        (_, Some(profile)) => profile,
        // If the names of the parts are unknown, also write the measure.
        (Some(numbers), _) => format!("{} in {}", numbers.join(", "), measure.to_json()),
        _ => format!("{loss} in {}", measure.to_json()),
    }
}
/// Write an amount of a loss, rounded up. In the JSON of a budget, an exact amount is a string.
/// Return `None` if the JSON is not an amount.
pub(crate) fn amount(json: &Json) -> Option<String> {
    rounded(json, true)
}
fn rounded(json: &Json, up: bool) -> Option<String> {
    match json {
        Json::Number(number) => Some(say_float(number.as_f64()?, up)),
        Json::String(text) => match text.parse::<Exact>() {
            Ok(exact) if exact.is_finite() => Some(say(&exact, up)),
            _ => f64::from_json(json).ok().map(|amount| say_float(amount, up)),
        },
        _ => None,
    }
}
/// Write an object of exact amounts. The charges to a budget have this form. Round up if `up` is
/// true, and down otherwise.
pub(crate) fn amounts(json: &Json, up: bool) -> String {
    // An array lists the losses of single releases. An object states filters, which are the rules
    // by which a budget admits or refuses releases. Leave out arrays and objects.
    let is_amount = |part: &Json| !part.is_array() && !part.is_object();
    let parts = json.as_object().into_iter().flatten().filter(|(_, part)| is_amount(part));
    let said = |(name, part): (&String, &Json)| {
        format!("{name} {}", rounded(part, up).unwrap_or_else(|| part.to_string()))
    };
    parts.map(said).collect::<Vec<_>>().join(", ")
}
/// Write at most [`POINTS`] points of a privacy profile, rounded up.
fn profile(loss: &Json) -> Option<String> {
    let points = loss.get("profile")?.as_array()?;
    let written = |point: &Json| {
        Some(format!("epsilon {} at delta {}", amount(point.get(0)?)?, amount(point.get(1)?)?))
    };
    let step = points.len().div_ceil(POINTS).max(1);
    let some: Option<Vec<String>> = points.iter().step_by(step).map(written).collect();
    some.map(|points| points.join("; "))
}

#[cfg(test)]
mod tests {
    use opendp_core::{SmoothedMaxDivergence, TheMeasure};
    use serde_json::json;

    use super::*;

    #[test]
    fn losses_are_written_in_few_digits_with_the_names_of_their_parts() {
        let pure = AnyMeasure::from(TheMeasure(MaxDivergence));
        let both = AnyMeasure::from(TheMeasure(Approximate(MaxDivergence)));
        let rho = AnyMeasure::from(TheMeasure(ZeroConcentratedDivergence));
        let profile = AnyMeasure::from(TheMeasure(SmoothedMaxDivergence));
        for (found, text) in [
            (loss(&json!(0.2), &pure), "epsilon 0.2"),
            (loss(&json!(0.30000000000000004), &pure), "epsilon 0.3"),
            (loss(&json!(1.0 / 3.0), &rho), "rho 0.3334"),
            (loss(&json!([0.2, 3.1e-7]), &both), "epsilon 0.2, delta 3.1e-7"),
            (loss(&json!("Infinity"), &pure), "epsilon infinity"),
            (
                loss(&json!({"profile": [[0.0, 0.25], [1.0, 1e-3]]}), &profile),
                "epsilon 0 at delta 0.25; epsilon 1 at delta 0.001",
            ),
            (
                amounts(&json!({"epsilon": "2/3", "delta": "0.000001"}), true),
                "epsilon 0.6667, delta 1e-6",
            ),
            (amounts(&json!({"epsilon": "2/3"}), false), "epsilon 0.6666"),
            (amounts(&json!({"epsilon": "1", "filters": {}, "members": []}), true), "epsilon 1"),
        ] {
            assert_eq!(found, text);
        }
    }
}
