//! Warnings about losses that give little or no protection.

use opendp_core::Constructed;
use opendp_core::arith::Exact;
use serde_json::{Value as Json, json};

use crate::loss::Loss;
use crate::words::say;

/// A loss above this value gives a warning. At an epsilon of 10, one person can change the
/// probability of an answer by a factor of up to `e^10`.
const LARGE: f64 = 10.0;
/// If the number of people is not known, a delta of at least this value gives a warning.
const LARGE_DELTA: f64 = 1e-3;
/// A delta of at least this value gives a warning, even if the number of people is small.
const LARGEST_DELTA: f64 = 1e-2;

/// Return warnings about a loss that gives little or no protection. `loss` is the epsilon or the
/// rho of the loss, and `name` is the name of this number. `people` is the number of people in the
/// data, if it is known.
///
/// ```
/// # use opendp_ledger::cautions;
/// assert!(cautions("epsilon", Some(10.0), Some(0.9e-3), Some(1000)).is_empty());
/// let warnings = cautions("epsilon", Some(10.5), Some(1e-3), Some(1000));
/// assert_eq!(warnings[0], "epsilon is 10.5, which is above 10: it gives little protection");
/// assert!(warnings[1].starts_with("delta is 0.001, which is not below 1 in 1000"));
/// ```
pub fn cautions(
    name: &str,
    loss: Option<f64>,
    delta: Option<f64>,
    people: Option<u64>,
) -> Vec<String> {
    let loss = loss.filter(|loss| LARGE < *loss).map(|loss| {
        let loss = written(loss);
        format!("{name} is {loss}, which is above {LARGE}: it gives little protection")
    });
    loss.into_iter().chain(delta.and_then(|delta| of_delta(delta, people))).collect()
}
/// What is known about the loss of a release.
#[derive(Clone, Copy, Debug)]
pub struct Caution {
    /// The epsilon or the rho of the loss.
    loss: Option<f64>,
    delta: Option<f64>,
    /// The number of people in the data, if it is known.
    people: Option<u64>,
}
impl Caution {
    /// Read a loss from JSON. The JSON has the form in which a map returns its result. `people` is
    /// the number of people in the data, if it is known.
    ///
    /// ```
    /// # use opendp_ledger::Caution;
    /// # use serde_json::json;
    /// assert!(Caution::new(&json!(1.0), None).no_bound().is_none());
    /// assert_eq!(Caution::new(&json!("Infinity"), None).no_bound(), Some("the loss is infinite"));
    /// ```
    pub fn new(loss: &Json, people: Option<u64>) -> Self {
        let (loss, delta) = match loss {
            Json::Array(parts) => match &parts[..] {
                [loss, delta] => (bound(loss), number(delta)),
                _ => (None, None),
            },
            loss => (bound(loss), None),
        };
        Caution { loss, delta, people }
    }
    /// Try a few small distances in turn. Find the loss of a measurement at the first distance at
    /// which neighbours exist and the map has a result. Return `None` if none of the distances is
    /// suitable. `people` returns the number of people in the data, if it is known.
    pub fn at_small_distance(
        made: &Constructed,
        people: impl Fn(&Json) -> Option<u64>,
    ) -> Option<Self> {
        // A metric reads its distances from a number or from a list. Under the symmetric distance,
        // tables of a stated size are never at distance 1.
        let distances = [json!(1), json!(2), json!([1, 1]), json!([1, 1, 1])];
        let mut near = distances.iter().filter(|d_in| made.check_neighbours(d_in).is_ok());
        let loss = near.find_map(|d_in| made.map(d_in).ok())?;
        Some(Caution::new(&loss, people(&loss)))
    }
    /// Say which part of the loss has no bound: an infinite loss, or a delta of 1 or more. A part
    /// that is not known is not checked.
    pub fn no_bound(&self) -> Option<&'static str> {
        if self.loss.is_some_and(|loss| !(loss < f64::INFINITY)) {
            return Some("the loss is infinite");
        }
        self.delta.is_some_and(|delta| !(delta < 1.0)).then_some("the delta is 1")
    }
    /// Return a warning if the loss at a small distance has no bound. Then a release may be the
    /// exact answer.
    pub fn of_release(&self) -> Option<String> {
        Some(format!(
            "{} at the smallest distance of neighbours, so this release is not protected, and may \
             be the exact answer: use noise with a larger scale, above 0",
            self.no_bound()?
        ))
    }
    /// Return the warnings of [`cautions`]. `name` is the name of the epsilon or of the rho.
    pub fn warnings(&self, name: &str) -> Vec<String> {
        cautions(name, self.loss, self.delta, self.people)
    }
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
fn number(json: &Json) -> Option<f64> {
    match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.parse().ok(),
        _ => None,
    }
}
impl Loss {
    /// Return the warnings of [`cautions`] about this loss.
    pub fn cautions(&self, people: Option<u64>) -> Vec<String> {
        let name = self.notion().parts().first().copied().unwrap_or("the loss");
        let part = |place: usize| self.parts().get(place).map(Exact::to_f64_up);
        cautions(name, part(0), part(1), people)
    }
}
/// Return a warning if a delta is at least 1 divided by the number of people, or at least
/// [`LARGEST_DELTA`]. If the number of people is not known, return a warning if the delta is at
/// least [`LARGE_DELTA`].
fn of_delta(delta: f64, people: Option<u64>) -> Option<String> {
    let delta_is = format!("delta is {}", written(delta));
    let advice = "Choose a delta far below 1 divided by the number of people";
    match people {
        // This condition is `1 / people <= delta`, written without a division.
        Some(people) if 1.0 <= delta * people as f64 => Some(format!(
            "{delta_is}, which is not below 1 in {people}: the data of some people may be \
             released unchanged. {advice}"
        )),
        _ if delta < LARGE_DELTA || people.is_some() && delta < LARGEST_DELTA => None,
        _ => Some(format!(
            "{delta_is}, which is large: the data of each person may be released unchanged with \
             this probability. {advice}, such as 1e-6"
        )),
    }
}
fn written(number: f64) -> String {
    match Exact::from_f64(number) {
        Ok(exact) if exact.is_finite() => say(&exact, true),
        _ => "infinity".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_large_gives_a_warning() {
        let count = |loss: f64, delta: f64, people: Option<u64>| {
            cautions("epsilon", Some(loss), Some(delta), people).len()
        };
        assert_eq!([count(10.0, 0.0, None), count(10.5, 0.0, None)], [0, 1]);
        let many = Some(1000);
        assert_eq!([count(1.0, 0.9e-3, many), count(1.0, 1e-3, many)], [0, 1]);
        assert_eq!(count(11.0, 1.1e-3, many), 2);
        // If there are few people, a delta can be below 1 divided by their number, and still be too
        // large.
        let few = |delta: f64| count(1.0, delta, Some(3));
        assert_eq!([few(0.9e-2), few(1e-2), few(0.3), few(0.4)], [0, 1, 1, 1]);
        // If the number of people is not known, a delta below `LARGE_DELTA` gives no warning.
        let unknown = |delta: f64| count(1.0, delta, None);
        assert_eq!([unknown(0.9e-3), unknown(1e-3), unknown(0.5)], [0, 1, 1]);
        assert_eq!(cautions("rho", None, None, None), Vec::<String>::new());
        let infinite = cautions("rho", Some(f64::INFINITY), None, None);
        assert!(infinite[0].starts_with("rho is infinity"), "{infinite:?}");
    }
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
            assert!(Caution::new(&none, None).no_bound().is_some(), "{none}");
        }
        for (some, warnings) in [
            (json!(10.5), 1),
            (json!([1.0, 1e-3]), 1),
            (json!([11.0, 1.1e-3]), 2),
            (json!({"profile": [[0.0, 1.0], [1.0, 0.5]]}), 0),
            (json!({"renyi": [[2.0, 1.0], [4.0, "Infinity"]]}), 0),
        ] {
            let caution = Caution::new(&some, Some(1000));
            assert!(caution.no_bound().is_none(), "{some}");
            assert_eq!(caution.warnings("epsilon").len(), warnings, "{some}");
        }
    }
    #[test]
    fn a_loss_names_its_parts() {
        let both = Loss::epsilon_delta("20", "0.1").unwrap().cautions(None);
        assert!(both[0].starts_with("epsilon is 20,"), "{both:?}");
        assert!(both[1].starts_with("delta is 0.1, which is large"), "{both:?}");
        let rho = Loss::rho("20").unwrap().cautions(None);
        assert!(rho.len() == 1 && rho[0].starts_with("rho is 20,"), "{rho:?}");
    }
    #[test]
    fn the_package_of_python_warns_with_the_same_limits() {
        let path = "/../opendp-python/python/opendp_rs/_cautions.py";
        let text = std::fs::read_to_string(format!("{}{path}", env!("CARGO_MANIFEST_DIR")));
        let text = text.unwrap();
        for (name, limit) in
            [("LARGE", LARGE), ("LARGE_DELTA", LARGE_DELTA), ("LARGEST_DELTA", LARGEST_DELTA)]
        {
            let stated = text.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
            let stated = stated.and_then(|number| number.parse::<f64>().ok());
            assert_eq!(stated, Some(limit), "{name}");
        }
    }
}
