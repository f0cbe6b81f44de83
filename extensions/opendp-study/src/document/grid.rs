//! The candidates of a quantile: a list, or a grid of numbers.

use opendp_core::arith::shown;
use opendp_core::{Error, Result};
use serde::Deserialize;
use serde_json::Value as Json;

use super::RankFields;
use crate::json::{from_json, value};

/// The numbers from `from` to `to`. Two neighbouring numbers differ by `step`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a list of numbers, or {from, to, step}")]
struct Grid {
    from: f64,
    to: f64,
    step: f64,
}
/// The largest number of candidates that a grid can have.
const MOST_CANDIDATES: f64 = 1e6;

impl RankFields {
    /// Return the candidates of a question.
    ///
    /// # Errors
    /// `FailedCast` when the field is neither a list of numbers nor a grid. `Argument` when a grid
    /// is empty, is too large, or does not end at `to`.
    pub(crate) fn candidates(&self) -> Result<Vec<f64>> {
        match &self.candidates {
            Json::Object(_) => from_json(&self.candidates).and_then(|grid: Grid| grid.numbers()),
            list => value(list.clone()),
        }
        .map_err(|error| error.at("candidates"))
    }
}
impl Grid {
    /// Return the numbers of the grid. Each number is computed exactly from the decimal numbers of
    /// the document, and is rounded once to a float. If the decimal numbers have too many digits,
    /// the numbers of the grid are computed in floats.
    fn numbers(self) -> Result<Vec<f64>> {
        let Grid { from, to, step } = self;
        let steps = (to - from) / step;
        if !(0.0 < step && from <= to && steps < MOST_CANDIDATES) {
            let (from, to, step) = (shown(from), shown(to), shown(step));
            let reason = format!(
                "expected `from` <= `to`, a positive `step`, and at most {MOST_CANDIDATES} numbers; \
                 found from {from} to {to} by {step}"
            );
            return Err(Error::argument("step", reason));
        }
        // The ends and the step are rounded to floats, so the quotient is slightly inexact.
        let inexact = 1e-9 + 4.0 * f64::EPSILON * from.abs().max(to.abs()) / step;
        let exact = Decimals::of(from, step);
        let number = |place: u32| {
            let exact = exact.as_ref().and_then(|exact| exact.number(place));
            exact.unwrap_or_else(|| from + f64::from(place) * step)
        };
        if inexact < (steps - steps.round()).abs() {
            let end = shown(number(steps.floor() as u32));
            let (from, to, step) = (shown(from), shown(to), shown(step));
            let reason = format!(
                "expected a whole number of steps from `from` to `to`: the steps of {step} from \
                 {from} end at {end}, and not at {to}. Set `to` to this end, or choose another \
                 `step`"
            );
            return Err(Error::argument("step", reason));
        }
        let mut numbers = Vec::new();
        for place in 0..=steps.round() as u32 {
            numbers.push(number(place));
        }
        Ok(numbers)
    }
}
/// The first number and the step of a grid, as multiples of the same power of ten.
struct Decimals {
    from: i128,
    step: i128,
    power: i32,
}
impl Decimals {
    /// For each of the two floats, find the shortest decimal number that is read as this float.
    /// Return `None` if the two numbers together have too many digits.
    fn of(from: f64, step: f64) -> Option<Self> {
        let (from, step) = (decimal(from)?, decimal(step)?);
        let power = from.1.min(step.1);
        let scaled = |(digits, own): (i128, i32)| {
            digits.checked_mul(10_i128.checked_pow(own.abs_diff(power))?)
        };
        Some(Decimals { from: scaled(from)?, step: scaled(step)?, power })
    }
    /// Return the float nearest to `from + place * step`.
    fn number(&self, place: u32) -> Option<f64> {
        let number = self.from.checked_add(self.step.checked_mul(i128::from(place))?)?;
        format!("{number}e{}", self.power).parse().ok()
    }
}
/// Return the digits and the power of ten of the shortest decimal number that is read as a float.
fn decimal(value: f64) -> Option<(i128, i32)> {
    let text = format!("{value:e}");
    let (digits, power) = text.split_once('e')?;
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
    let power = power.parse::<i32>().ok()? - i32::try_from(places).ok()?;
    Some((digits.replace('.', "").parse().ok()?, power))
}
