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
    /// `Argument` when a grid is empty, is too large, or does not end at `to`.
    pub(crate) fn candidates(&self) -> Result<Vec<f64>> {
        match &self.candidates {
            Json::Object(_) => from_json(&self.candidates).and_then(|grid: Grid| grid.numbers()),
            list => value(list.clone()),
        }
        .map_err(|error| error.at("candidates"))
    }
}
impl Grid {
    /// Return the numbers of the grid. Each number is computed from its position in the grid, so
    /// rounding errors do not add up.
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
        let number = |place: f64| from + place * step;
        if inexact < (steps - steps.round()).abs() {
            let end = shown(number(steps.floor()));
            let (from, to, step) = (shown(from), shown(to), shown(step));
            let reason = format!(
                "expected a whole number of steps from `from` to `to`: the steps of {step} from \
                 {from} end at {end}, and not at {to}. Set `to` to this end, or choose another \
                 `step`"
            );
            return Err(Error::argument("step", reason));
        }
        Ok((0..=steps.round() as u32).map(|place| number(f64::from(place))).collect())
    }
}
