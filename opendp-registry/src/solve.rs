//! Searches for the value of a parameter of a document.

use std::collections::BTreeMap;

use opendp_core::arith::Exact;
use opendp_core::search::{Bisect, Outcome, find_boundary};
use opendp_core::{Codec, Constructed, Error, Result};
use serde_json::Value as Json;

use crate::{Document, Registry};

impl Document {
    /// Find the boundary value of a parameter: the last value at which the map still meets a bound.
    ///
    /// The inequality `map(d_in) <= d_out` holds for the values of the parameter on one side of a
    /// boundary. The result is the value on this side that is nearest to the boundary. For example,
    /// the result is the smallest scale or the largest size that the budget allows. If the map
    /// gives an error at a value, the value does not meet the bound. If a parameter takes only
    /// whole numbers, the search uses only whole numbers.
    ///
    /// The search leaves out the values at which the document cannot be built. So the result is
    /// next to a value that does not meet the bound. There is one exception: the bound can be met
    /// at every value at which the document can be built. Then the result is one end of the range
    /// of these values: the end with the larger loss.
    ///
    /// The search tries values of every magnitude, but not every value. The search finds the
    /// boundary under three conditions. There is only one boundary. The document can be built at
    /// one of the tried values. The values at which the document can be built have no gap.
    /// Otherwise, the search may find no value although one exists.
    ///
    /// The bound `d_out` is read as the exact decimal number in the JSON. This number is compared
    /// with the [exact loss](opendp_core::Measurement::exact_map), because a budget is charged with
    /// the exact loss. So five releases of a pipeline that was solved for 0.2 fit a budget of 1.
    ///
    /// # Errors
    /// `Argument` when the document has no parameter with this name, or has another parameter
    /// without a value. An error when `d_in` or `d_out` is not a valid distance, or when no
    /// neighbours exist at the distance `d_in`. `Search` when no value was found that meets the
    /// bound. `Search` also when every value meets the bound, and one of two conditions is true:
    /// the loss is the same at both ends of the range, or one of the values means no noise.
    /// `Search` also when the search needs a value at which the document cannot be built. Such a
    /// value is between a value that meets the bound and a value that does not. The error of the
    /// document when the document cannot be built at any value that was tried.
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
        // This check reports an invalid distance. Without this check, the error would be that no
        // value meets the bound. The check builds the document with one of four fixed values of the
        // parameter. The check does not evaluate the map, because the map can give an error at this
        // value and meet the bound at another value.
        if let Some(made) = [0.5, 1.0, 2.0, 100.0].iter().find_map(|x| build(x.to_json()).ok()) {
            made.check_distances(d_in, d_out)?;
            made.check_neighbours(d_in)?;
        }
        let search = Search { build: &build, parameter, d_in, d_out };
        let whole = |x: f64| build(x.to_json()).is_err_and(|error| error.kind() == "Argument");
        if whole(1.5) && !(whole(1.0) && whole(2.0) && whole(100.0)) {
            return search.find::<i64>();
        }
        let found = search.find::<f64>()?;
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

struct Search<'a, B> {
    build: &'a B,
    parameter: &'a str,
    d_in: &'a Json,
    d_out: &'a Json,
}
impl<B: Fn(Json) -> Result<Constructed>> Search<'_, B> {
    /// Find the boundary value among the numbers of a type.
    fn find<T: Bisect + Codec>(&self) -> Result<Json> {
        let (mut first_error, mut works) = (None, false);
        let answer = |value: T| {
            let made = (self.build)(value.to_json());
            let built = made.is_ok();
            match made.and_then(|made| meets(&made, self.d_in, self.d_out)) {
                Ok(met) => {
                    works = true;
                    Some(met)
                }
                Err(error) => {
                    first_error.get_or_insert(error);
                    built.then_some(false)
                }
            }
        };
        let outcome = find_boundary(answer, None);
        let parameter = self.parameter;
        match (outcome, first_error) {
            (Outcome::Boundary(value), _) => Ok(value.to_json()),
            (_, Some(error)) if !works => Err(error),
            (Outcome::Same { holds: true, ends }, _) => {
                self.end_of_larger_loss(ends.map(|end| end.to_json()))
            }
            (Outcome::Same { holds: false, ends }, _) => {
                Err(Error::Search(self.least(&ends.map(|end| end.to_json()))))
            }
            (Outcome::Gap(value), _) => Err(Error::Search(format!(
                "no value of `{parameter}` was found: the document cannot be built at {value:?}, \
                 which is between two values at which it can be built; choose the value yourself"
            ))),
            (Outcome::Nowhere, _) => {
                Err(Error::Search(format!("no value of `{parameter}` was found")))
            }
        }
    }
    /// Of two values, return the value at which the loss is larger. The map meets the bound at both
    /// values. If the larger loss is infinite, the value may mean no noise, so return an error.
    fn end_of_larger_loss(&self, ends: [Json; 2]) -> Result<Json> {
        let [first, last] = ends;
        let [low, high] = [(self.build)(first.clone())?, (self.build)(last.clone())?];
        let [at_low, at_high] = [low.map(self.d_in)?, high.map(self.d_in)?];
        let within = (low.check(self.d_in, &at_high)?, high.check(self.d_in, &at_low)?);
        match within {
            (true, false) if !is_infinite(&at_high) => Ok(last),
            (false, true) if !is_infinite(&at_low) => Ok(first),
            _ => Err(Error::Search(format!(
                "`{}`: every value that was tried meets {}, and such a value can mean no noise; \
                 choose the value yourself",
                self.parameter, self.d_out
            ))),
        }
    }
    /// Say that no value was found that meets the bound, and name the least loss that was found.
    fn least(&self, ends: &[Json; 2]) -> String {
        let Search { build, parameter, d_in, d_out } = self;
        let none = format!("no value of `{parameter}` was found that meets {d_out}");
        if d_out
            .as_array()
            .map_or_else(|| is_at_most_zero(d_out), |parts| parts.iter().all(is_at_most_zero))
        {
            return format!("{none}: a loss is above 0");
        }
        let some = [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9].map(|value: f64| value.to_json());
        let losses = some.iter().chain(ends).filter_map(|value| {
            let loss = build(value.clone()).and_then(|made| made.map(d_in)).ok()?;
            let size = loss.as_f64().or_else(|| loss.get(0)?.as_f64())?;
            Some((size, value, loss))
        });
        match losses.min_by(|x, y| x.0.total_cmp(&y.0)) {
            Some((_, value, loss)) => format!(
                "{none}: the least loss that was found is {loss}, at {value}; allow more, or make \
                 the rest of the pipeline lose less"
            ),
            None => none,
        }
    }
}
/// Return whether a part of a loss is infinite.
fn is_infinite(loss: &Json) -> bool {
    match loss {
        Json::Array(parts) => parts.iter().any(is_infinite),
        part => part == "Infinity",
    }
}
/// Return whether a part of a bound is 0 or negative.
fn is_at_most_zero(part: &Json) -> bool {
    let Json::Number(number) = part else { return false };
    let text = number.to_string();
    text.starts_with('-') || text.parse().is_ok_and(|x: Exact| x.is_zero())
}
/// Return whether a map meets a bound. Compare the loss with the bound as floats. Budgets add exact
/// numbers. So if the map has an exact loss, also compare this loss with the exact bound.
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
        // comparison of floats is made.
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
