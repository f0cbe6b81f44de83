//! Warnings about losses that give little or no protection.

use std::{path::Path, time::UNIX_EPOCH};

use opendp_analysis::context::visible;
use opendp_core::{Constructed, Error, Result};
use opendp_ledger::{Release, cautions};
use serde_json::{Value as Json, json};

/// The known facts about a loss.
pub(crate) struct Caution {
    /// The epsilon or the rho of the loss.
    loss: Option<f64>,
    delta: Option<f64>,
    /// The number of people in the data, if stated.
    size: Option<u64>,
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
    /// Try a few small distances in turn. Find the loss of a measurement at the first distance at
    /// which neighbours exist and the map has a result. Return `None` if none of the distances is
    /// suitable.
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
        if self.no_bound().is_some() {
            return Err(Error::InvalidDistance(
                "the loss has no bound, so the release gives no protection. Add noise, or state \
                 --allow-infinite-loss to release anyway"
                    .into(),
            ));
        }
        Ok(())
    }
    /// Say which part of the loss has no bound: an infinite loss, or a delta of 1 or more. A part
    /// that is `None` is not checked.
    fn no_bound(&self) -> Option<&'static str> {
        if self.loss.is_some_and(|loss| !(loss < f64::INFINITY)) {
            return Some("the loss is infinite");
        }
        self.delta.is_some_and(|delta| !(delta < 1.0)).then_some("the delta is 1")
    }
    /// Print warnings on standard error. `parts` are the names of the parts of the loss.
    pub(crate) fn warn(&self, parts: &[&str], as_json: bool) {
        for warning in self.warnings(parts.first().copied().unwrap_or("the loss")) {
            say(&warning, as_json);
        }
    }
    fn warnings(&self, name: &str) -> Vec<String> {
        cautions(name, self.loss, self.delta, self.size)
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
/// Warn if no two inputs are at the distance `d_in`.
pub(crate) fn of_distance(made: &Constructed, d_in: &Json, as_json: bool) {
    if let Some(warning) = without_neighbours(made, d_in) {
        say(&warning, as_json);
    }
}
/// Warn if no two inputs are at the distance `d_in`, or if `loss`, the loss at this distance, has
/// no bound.
pub(crate) fn of_map(made: &Constructed, d_in: &Json, loss: &Json, as_json: bool) {
    if let Some(warning) = without_neighbours(made, d_in).or_else(|| without_bound(made, loss)) {
        say(&warning, as_json);
    }
}
/// Return a warning if `made` is a measurement whose `loss` at a distance has no bound. A map
/// answers such a loss, so this is no error.
pub(crate) fn without_bound(made: &Constructed, loss: &Json) -> Option<String> {
    let Constructed::Measurement(_) = made else { return None };
    let what = Caution::new(loss, None).no_bound()?;
    Some(format!(
        "{what} at this distance, so a release is not protected: use noise with a larger scale, \
         above 0"
    ))
}
/// Return a warning if no bound on the loss of a measurement at a small distance is known. Then a
/// release may be the exact answer.
pub(crate) fn of_release(made: &Constructed) -> Option<String> {
    let Constructed::Measurement(_) = made else { return None };
    match Caution::at_small_distance(made, |_| None) {
        Some(caution) => Some(format!(
            "{} at the smallest distance of neighbours, so this release is not protected, and may \
             be the exact answer: use noise with a larger scale, above 0",
            caution.no_bound()?
        )),
        None => Some(
            "no bound on the loss of this release at a small distance is known: find the loss at \
             the distance of neighbours with the operation `map`"
                .into(),
        ),
    }
}
/// Return a warning if no two inputs are at the distance `d_in`. At such a distance, a loss can be
/// 0 although there is too little noise.
pub(crate) fn without_neighbours(made: &Constructed, d_in: &Json) -> Option<String> {
    made.check_neighbours(d_in).err().map(|error| error.to_string())
}
/// Warn if a file was changed after the release of an earlier run. A budget keeps the release under
/// its id and the path of the file, and not the contents of the file.
pub(crate) fn of_changed_file(file: &Path, release: &Release, as_json: bool) {
    let changed = || {
        let modified = std::fs::metadata(file).and_then(|facts| facts.modified()).ok()?;
        i64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
    };
    let entry = release.entry();
    if release.repeated() && changed().is_some_and(|changed| entry.at_ms < changed) {
        let warning = format!(
            "the file `{}` was changed after the release with the id `{}`, which is about the \
             earlier file: for a release about the changed file, use another id",
            file.display().to_string().escape_debug(),
            visible(&entry.id)
        );
        say(&warning, as_json);
    }
}
/// Print a warning on standard error.
pub(crate) fn say(warning: &str, as_json: bool) {
    print("warning", warning, as_json);
}
/// Print a note on standard error.
pub(crate) fn note(note: &str, as_json: bool) {
    print("note", note, as_json);
}
fn print(kind: &str, message: &str, as_json: bool) {
    if as_json {
        eprintln!("{}", json!({kind: message}));
    } else {
        eprintln!("{kind}: {message}");
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
            (json!(10.5), 1),
            (json!([1.0, 1e-3]), 1),
            (json!([11.0, 1.1e-3]), 2),
            (json!({"profile": [[0.0, 1.0], [1.0, 0.5]]}), 0),
            (json!({"renyi": [[2.0, 1.0], [4.0, "Infinity"]]}), 0),
        ] {
            let caution = Caution::new(&some, Some(1000));
            assert!(caution.check().is_ok(), "{some}");
            assert_eq!(caution.warnings("epsilon").len(), warnings, "{some}");
        }
    }
}
