//! Warnings about losses that give little or no protection.

use opendp_core::{Codec, Constructed, Error, Result};
use serde_json::{Value as Json, json};

use crate::words;

/// A loss above this value gives a warning. At an epsilon of 10, one person can change the
/// probability of an answer by a factor of up to `e^10`.
const LARGE: f64 = 10.0;
/// If the number of people is not known, a delta of at least this value gives a warning.
const LARGE_DELTA: f64 = 1e-3;
/// A delta of at least this value gives a warning, also if the number of people is small.
const LARGEST_DELTA: f64 = 1e-2;

/// The known facts about a loss.
pub(crate) struct Caution {
    /// The epsilon or the rho of the loss.
    pub(crate) loss: Option<f64>,
    pub(crate) delta: Option<f64>,
    /// The number of people in the data, if stated.
    pub(crate) size: Option<u64>,
}
impl Caution {
    /// Read a loss from JSON. The JSON has the form in which a map returns its result.
    pub(crate) fn new(loss: &Json, size: Option<u64>) -> Self {
        let (loss, delta) = match loss {
            Json::Array(parts) => match &parts[..] {
                [loss, delta] => (bound(loss), number(delta)),
                _ => (None, None),
            },
            loss => (bound(loss), None),
        };
        Caution { loss, delta, size }
    }
    /// Find the loss of a measurement at the first small distance at which there are neighbours and
    /// the map has a result. Return `None` if no such distance is found.
    pub(crate) fn at_small_distance(
        made: &Constructed,
        size: impl Fn(&Json) -> Option<u64>,
    ) -> Option<Self> {
        // A metric reads its distances from a number or from a list. Under the symmetric distance,
        // tables of a stated size are never at distance 1.
        let distances = [json!(1), json!(2), json!([1, 1]), json!([1, 1, 1])];
        let mut near = distances.iter().filter(|d_in| made.check_neighbours(d_in).is_ok());
        let loss = near.find_map(|d_in| made.map(d_in).ok())?;
        Some(Caution::new(&loss, size(&loss)))
    }
    /// Check that the loss is finite, and that delta is below 1. A part that is `None` is not
    /// checked.
    pub(crate) fn check(&self) -> Result<()> {
        let infinite = self.loss.is_some_and(|loss| !(loss < f64::INFINITY));
        if infinite || self.delta.is_some_and(|delta| !(delta < 1.0)) {
            return Err(Error::InvalidDistance(
                "the loss has no bound, so the release gives no protection. Add noise, or state \
                 --allow-infinite-loss to release anyway"
                    .into(),
            ));
        }
        Ok(())
    }
    /// Print warnings on standard error. `parts` are the names of the parts of the loss.
    pub(crate) fn warn(&self, parts: &[&str], as_json: bool) {
        for warning in self.warnings(parts.first().copied().unwrap_or("the loss")) {
            say(&warning, as_json);
        }
    }
    fn warnings(&self, name: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(loss) = self.loss.filter(|loss| LARGE < *loss) {
            warnings.push(format!(
                "{name} is {}, which is above {LARGE}: it gives little protection",
                written(loss)
            ));
        }
        if let Some(warning) = self.delta.and_then(|delta| delta_warning(delta, self.size)) {
            warnings.push(warning);
        }
        warnings
    }
}
/// Return a warning if a delta is at least 1 divided by the number of people, or at least
/// [`LARGEST_DELTA`]. If the number of people is not known, return a warning if the delta is at
/// least [`LARGE_DELTA`].
fn delta_warning(delta: f64, people: Option<u64>) -> Option<String> {
    let delta_is = format!("delta is {}", written(delta));
    let advice = "Choose a delta far below 1 divided by the number of people";
    match people {
        // This condition is `1 / people <= delta`, written without a division.
        Some(people) if 1.0 <= delta * people as f64 => Some(format!(
            "{delta_is}, which is not below 1 in {people}: the data of some of the {people} \
             people may be released unchanged. {advice}"
        )),
        _ if delta < LARGE_DELTA || people.is_some() && delta < LARGEST_DELTA => None,
        _ => Some(format!(
            "{delta_is}, which is large: the data of each person may be released unchanged with \
             this probability. {advice}, such as 1e-6"
        )),
    }
}
/// Write a number of a loss, rounded up.
fn written(number: f64) -> String {
    words::amount(&number.to_json()).unwrap_or_default()
}
/// Return the number that bounds a loss. For a privacy profile or a Renyi curve, return infinity if
/// the release gives no protection, and `None` otherwise.
fn bound(loss: &Json) -> Option<f64> {
    let Json::Object(curve) = loss else { return number(loss) };
    let nothing = |key: &str, bound: f64| {
        let points = curve.get(key).and_then(Json::as_array);
        let above = |point: &Json| point.get(1).and_then(number);
        points.is_some_and(|points| {
            points.iter().all(|point| above(point).is_some_and(|y| bound <= y))
        })
    };
    (nothing("profile", 1.0) || nothing("renyi", f64::INFINITY)).then_some(f64::INFINITY)
}
/// Print a warning on standard error.
pub(crate) fn say(warning: &str, as_json: bool) {
    if as_json {
        eprintln!("{}", json!({"warning": warning}));
    } else {
        eprintln!("warning: {warning}");
    }
}
fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_has_no_bound_and_warns_of_what_is_large() {
        for none in [
            json!("Infinity"),
            json!(["Infinity", 0.0]),
            json!([1.0, 1.0]),
            json!({"profile": [[0.0, 1.0], [1.0, 1.0]]}),
            json!({"renyi": [[2.0, "Infinity"], [4.0, "Infinity"]]}),
            json!({"renyi": []}),
            json!([{"profile": [[0.0, 1.0]]}, 0.0]),
            json!([{"renyi": [[2.0, "Infinity"]]}, 1e-6]),
        ] {
            assert!(Caution::new(&none, None).check().is_err(), "{none}");
        }
        for (some, warnings) in [
            (json!(10.0), 0),
            (json!(10.5), 1),
            (json!([1.0, 0.9e-3]), 0),
            (json!([1.0, 1e-3]), 1),
            (json!([11.0, 1.1e-3]), 2),
            (json!({"profile": [[0.0, 1.0], [1.0, 0.5]]}), 0),
            (json!({"renyi": [[2.0, 1.0], [4.0, "Infinity"]]}), 0),
        ] {
            let caution = Caution::new(&some, Some(1000));
            assert!(caution.check().is_ok(), "{some}");
            assert_eq!(caution.warnings("epsilon").len(), warnings, "{some}");
        }
        let few = |delta: f64| Caution::new(&json!([1.0, delta]), Some(3)).warnings("epsilon");
        assert_eq!((few(0.3).len(), few(1e-2).len(), few(0.9e-2).len()), (1, 1, 0));
        // If the number of people is not known, a delta below `LARGE_DELTA` gives no warning.
        for (delta, warnings) in [(0.5, 1), (1e-3, 1), (0.9e-3, 0)] {
            let caution = Caution::new(&json!([1.0, delta]), None);
            assert_eq!(caution.warnings("epsilon").len(), warnings, "{delta}");
        }
    }
}
