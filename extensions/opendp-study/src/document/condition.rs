//! Conditions on the cells of a question's rows.

use std::ops::{Bound, Range};

use opendp_core::arith::{Exact, shown};
use opendp_core::{Error, Result};
use serde::Deserialize;
use serde_json::{Number, Value as Json};

use crate::json::from_json;

/// A condition on a cell. All stated parts of the condition must hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with at_least, below or in")]
pub(crate) struct Condition {
    pub(crate) at_least: Option<Number>,
    pub(crate) below: Option<Number>,
    #[serde(rename = "in")]
    pub(crate) among: Option<Vec<Json>>,
}
impl Condition {
    /// Read a condition, or a value that a cell must equal. A condition without any part is an
    /// error.
    pub(crate) fn read(json: &Json) -> Result<Self> {
        let Json::Object(_) = json else {
            let among = Some(vec![json.clone()]);
            return Ok(Condition { at_least: None, below: None, among });
        };
        let read: Condition = from_json(json)?;
        if read.at_least.is_none() && read.below.is_none() && read.among.is_none() {
            let reason = format!(
                "expected `at_least`, `below` or `in`, found {json}, which holds for every row: \
                 state a part, or leave the column out of `where`"
            );
            return Err(Error::argument("where", reason));
        }
        Ok(read)
    }
    /// Return the range of the floats that are at least `at_least` and below `below`. If `below` is
    /// not stated, the range includes infinity.
    ///
    /// # Errors
    /// `Argument` when a number is too large for a float.
    pub(crate) fn floats(&self) -> Result<(Bound<f64>, Bound<f64>)> {
        let float = |number: Option<&Number>| number.map(float_of).transpose();
        let lower = float(self.at_least.as_ref())?.map_or(Bound::Unbounded, Bound::Included);
        let upper = float(self.below.as_ref())?.map_or(Bound::Unbounded, Bound::Excluded);
        Ok((lower, upper))
    }
    /// Check that a cell within the bounds of a statistic can satisfy the condition.
    ///
    /// # Errors
    /// `Argument` when only cells outside of the bounds satisfy the condition.
    pub(crate) fn check_within(&self, (lower, upper): (f64, f64)) -> Result<()> {
        let (from, to) = self.floats()?;
        let above = matches!(from, Bound::Included(from) if upper < from);
        let below = matches!(to, Bound::Excluded(to) if to <= lower);
        let apart = |cell: &Json| cell.as_f64().is_some_and(|cell| cell < lower || upper < cell);
        let among = self.among.as_deref().unwrap_or_default();
        let among = !among.is_empty() && among.iter().all(apart);
        if !(above || below || among) {
            return Ok(());
        }
        let reason = format!(
            "the condition in `where` keeps only cells outside of the bounds {} to {}, and each of \
             these cells would count as a bound: state bounds that contain the cells",
            shown(lower),
            shown(upper)
        );
        Err(Error::argument("bounds", reason))
    }
    /// Return the range of the 64-bit integers that are at least `at_least` and below `below`.
    /// These integers are exact, even if they are too large for the precision of a float. The range
    /// is empty if no cell satisfies the condition.
    ///
    /// # Errors
    /// `Argument` when a number is too large for a float. `Argument` also when a number is not
    /// written as an integer, but its nearest float is an integer below 1e20 in magnitude, and
    /// differs from the number.
    pub(crate) fn integers(&self) -> Result<Range<i128>> {
        let (first, end) = (i128::from(i64::MIN), i128::from(i64::MAX) + 1);
        let least = |number: Option<&Number>, none: i128| number.map_or(Ok(none), ceiling);
        let lower = least(self.at_least.as_ref(), first)?.max(first);
        Ok(lower..least(self.below.as_ref(), end)?.min(end))
    }
}
/// The number 2^53. Beyond this number, not every integer is a float. So an integer of a column can
/// be rounded when it is compared with a float. The comparison is still exact if the float is
/// closer to 0 than 2^53.
pub(crate) const EXACT_FLOATS: f64 = 9_007_199_254_740_992.0;

fn float_of(number: &Number) -> Result<f64> {
    let reason = || format!("the number {number} of the condition is too large for a float");
    number.as_f64().ok_or_else(|| Error::argument("where", reason()))
}
/// Return the least integer that is at least `number`.
fn ceiling(number: &Number) -> Result<i128> {
    let text = number.to_string();
    if let Ok(integer) = text.parse() {
        return Ok(integer);
    }
    let float = float_of(number)?;
    let is_written = || {
        let written = text.trim_start_matches('-').parse::<Exact>().ok();
        written.is_some() && written == Exact::from_f64(float.abs()).ok()
    };
    // Every cell has a magnitude below 1e20, so a number of magnitude 1e20 or more can be rounded
    // to a float. If the float is not an integer, no integer is between the float and the number.
    // So the float and the number have the same ceiling.
    if float.fract() == 0.0 && float.abs() < 1e20 && !is_written() {
        let reason = format!(
            "the number {text} of the condition is not exact as a float: write an integer without \
             a point and without an exponent"
        );
        return Err(Error::argument("where", reason));
    }
    Ok(float.ceil() as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_integers_of_a_condition_are_those_that_a_cell_can_hold() {
        let integers = |json: Json| Condition::read(&json).unwrap().integers().unwrap();
        let (first, end) = (i128::from(i64::MIN), i128::from(i64::MAX) + 1);
        assert_eq!(integers(json!({"at_least": 2.5})), 3..end);
        assert_eq!(integers(json!({"at_least": -1e30, "below": 7})), first..7);
        assert_eq!(integers(json!({"at_least": i64::MAX})), end - 1..end);
        for none in [json!({"at_least": 1e30}), json!({"below": i64::MIN}), json!({"below": -1e30})]
        {
            assert!(integers(none.clone()).is_empty(), "{none}");
        }
    }
}
