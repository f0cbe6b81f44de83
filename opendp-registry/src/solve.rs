//! Searches for the value of a parameter of a document.

use std::collections::BTreeMap;

use opendp_core::arith::Exact;
use opendp_core::search::{Bisect, binary_search};
use opendp_core::{Codec, Constructed, Error, Result};
use serde_json::Value as Json;

use crate::{Document, Registry};

impl Document {
    /// Find the boundary value of a parameter: the last value at which the map meets a bound.
    ///
    /// The inequality `map(d_in) <= d_out` holds for the values of the parameter on one side of a
    /// boundary. The result is the value on this side that is nearest to the boundary. For example,
    /// the result is the smallest scale or the largest size that the budget allows. If the document
    /// cannot be built at a value, or the map gives an error, the value does not meet the bound. If
    /// a parameter takes only whole numbers, the search uses only whole numbers.
    ///
    /// The bound `d_out` is read as the exact decimal number in the JSON. This number is compared
    /// with the [exact loss](opendp_core::Measurement::exact_map), because a budget is charged with
    /// the exact loss. So five releases of a pipeline that was solved for 0.2 fit a budget of 1.
    ///
    /// # Errors
    /// `Argument` when the document has no parameter with this name, or has another parameter
    /// without a value. An error when `d_in` or `d_out` is not a valid distance, or when no
    /// neighbours exist at the distance `d_in`. `Search` when no value meets the bound, or when
    /// every value meets the bound, even the value that adds no noise. The error of the document
    /// when the document cannot be built at any value.
    pub fn solve(
        &self,
        registry: &Registry,
        parameter: &str,
        d_in: &Json,
        d_out: &Json,
    ) -> Result<Json> {
        if !self.parameters().iter().any(|name| name == parameter) {
            let reason = match self.parameters() {
                names if names.is_empty() => "the document has no parameters".to_owned(),
                names => format!("the document has `{}`", names.join("`, `")),
            };
            return Err(Error::argument(parameter, reason));
        }
        let others: Vec<String> =
            self.parameters().into_iter().filter(|name| name != parameter).collect();
        if let Some(other) = others.first() {
            let reason = format!(
                "no value is stated, and the search finds only `{parameter}`: state a value, as in \
                 --set {other}=1.5"
            );
            return Err(Error::argument(others.join("`, `"), reason));
        }
        let build = |value: Json| {
            self.build_with(registry, &BTreeMap::from([(parameter.to_owned(), value)]))
        };
        let unmet = |error: Error| match error {
            Error::Search(_) => Error::Search(why(&build, parameter, d_in, d_out)),
            other => other,
        };
        // This check reports an invalid distance. Without this check, the error would be that no
        // value meets the bound. The check builds the document with one of four fixed values of the
        // parameter. The check does not evaluate the map, because the map can give an error at this
        // value and meet the bound at another value.
        if let Some(made) = [0.5, 1.0, 2.0, 100.0].iter().find_map(|x| build(x.to_json()).ok()) {
            made.check_distances(d_in, d_out)?;
            made.check_neighbours(d_in)?;
        }
        let whole = |x: f64| build(x.to_json()).is_err_and(|error| error.kind() == "Argument");
        if whole(1.5) && !(whole(1.0) && whole(2.0) && whole(100.0)) {
            return search::<i64>(build, d_in, d_out).map_err(unmet);
        }
        let found = search::<f64>(&build, d_in, d_out).map_err(unmet)?;
        // The found value can be the end of the range of valid values, and not a boundary of the
        // map. This case has three signs. The magnitude of the found value is at most the smallest
        // normal float. The next lower float gives an error. The next higher float meets the bound
        // or gives an error.
        let end = f64::from_json(&found)?;
        let meets = |x: f64| build(x.to_json()).and_then(|made| meets(&made, d_in, d_out));
        if end.abs() <= f64::MIN_POSITIVE
            && meets(end.next_down()).is_err()
            && !matches!(meets(end.next_up()), Ok(false))
        {
            return Err(Error::Search(format!(
                "`{parameter}`: every value meets the bound, even {end:?}, which means no noise; \
                 choose the value yourself"
            )));
        }
        Ok(found)
    }
}

fn search<T: Bisect + Codec>(
    build: impl Fn(Json) -> Result<Constructed>,
    d_in: &Json,
    d_out: &Json,
) -> Result<Json> {
    let meets = |value: T| meets(&build(value.to_json())?, d_in, d_out);
    binary_search(meets, None).map(|value| value.to_json())
}
/// Return whether a map meets a bound. Compare the loss with the bound as floats. If the map has an
/// exact loss, also compare the exact loss with the exact bound, because budgets add exact numbers.
fn meets(made: &Constructed, d_in: &Json, d_out: &Json) -> Result<bool> {
    let Constructed::Measurement(measurement) = made else { return made.check(d_in, d_out) };
    if !made.check(d_in, d_out)? {
        return Ok(false);
    }
    let exact = measurement.exact_map(&measurement.input().metric().decode(d_in)?);
    Ok(match (exact, written(d_out)) {
        (Ok(loss), Some(bound)) if loss.len() == bound.len() => {
            loss.iter().zip(&bound).all(|(loss, bound)| loss <= bound)
        }
        // Some losses, such as profiles, have no exact numbers. For these losses, only the
        // comparison above is made.
        _ => true,
    })
}
/// Read the parts of a bound as exact decimal numbers.
fn written(d_out: &Json) -> Option<Vec<Exact>> {
    let part = |part: &Json| match part {
        Json::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    match d_out {
        Json::Array(parts) => parts.iter().map(part).collect(),
        number => Some(vec![part(number)?]),
    }
}
/// Return the reason why no value of a parameter is a boundary.
fn why(
    build: &impl Fn(Json) -> Result<Constructed>,
    parameter: &str,
    d_in: &Json,
    d_out: &Json,
) -> String {
    let none = |part: &Json| match part {
        Json::Number(number) => {
            let text = number.to_string();
            text.starts_with('-') || text.parse().is_ok_and(|x: Exact| x.is_zero())
        }
        _ => false,
    };
    if d_out.as_array().map_or_else(|| none(d_out), |parts| parts.iter().all(none)) {
        return format!("no value of `{parameter}` meets {d_out}: a loss is above 0");
    }
    let mut tried: Vec<(f64, Json, bool)> = Vec::new();
    for value in [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9] {
        let Ok(made) = build(value.to_json()) else { continue };
        if let (Ok(loss), Ok(met)) = (made.map(d_in), meets(&made, d_in, d_out)) {
            tried.push((value, loss, met));
        }
    }
    if tried.iter().any(|(_, _, met)| *met) {
        return format!(
            "`{parameter}`: the map meets {d_out} at every value that was tried: choose a value \
             yourself"
        );
    }
    let first = |loss: &Json| loss.as_f64().or_else(|| loss.get(0)?.as_f64());
    let least = tried.iter().filter_map(|(value, loss, _)| Some((first(loss)?, value, loss)));
    match least.min_by(|x, y| x.0.total_cmp(&y.0)) {
        Some((_, value, loss)) => format!(
            "no value of `{parameter}` meets {d_out}: the least loss that was found is {loss}, at \
             {value}; allow more, or make the rest of the pipeline lose less"
        ),
        None => format!("no value of `{parameter}` was found at which the map meets {d_out}"),
    }
}
