//! Conditions on the rows of a question.

use std::ops::{Bound, Range, RangeBounds};

use opendp_analysis::context::Query;
use opendp_core::erased::AnyMeasure;
use opendp_core::{Atom, Error, Result, order};
use serde_json::Value as Json;

use super::atoms;

/// Refuse a condition that no cell can satisfy. Without this check, a loss would be charged for an
/// answer that is known without the data.
pub(super) fn refuse_nothing(nothing: bool, name: &str) -> Result<()> {
    let reason = "no cell satisfies this condition: expected `at_least` below `below`, at least one \
                  value in the list `in`, and for a column of i64 an integer of 64 bits between \
                  the two ends";
    if nothing { Err(Error::argument(name, reason)) } else { Ok(()) }
}
pub(super) fn among_keys<'c, T: Atom>(
    query: Query<'c, AnyMeasure>,
    name: &str,
    among: &[Json],
) -> Result<Query<'c, AnyMeasure>> {
    Ok(query.filter(name, is_among::<T>(atoms(among)?)))
}
/// Return whether a cell is in the list. The list is sorted first, so that a long list takes only a
/// few comparisons for each cell.
///
fn is_among<T: Atom>(among: Vec<T>) -> impl Fn(&T) -> bool {
    let among = order::sorted(&among);
    move |cell| among.get(order::below(&among, cell)) == Some(cell)
}
pub(super) fn is_known(known: &bool) -> bool {
    *known
}
pub(super) fn is_integer_in(range: Range<i128>) -> impl Fn(&i64) -> bool {
    move |cell| range.contains(&i128::from(*cell))
}
pub(super) fn is_float_in(range: (Bound<f64>, Bound<f64>)) -> impl Fn(&f64) -> bool {
    move |cell| range.contains(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_among_the_values_that_equal_it() {
        let numbers = [2.5, -0.0, f64::NAN, f64::INFINITY, -1.0, 2.5];
        for count in 0..=numbers.len() {
            let among = is_among(numbers[..count].to_vec());
            for cell in numbers.into_iter().chain([0.0, 1.0, f64::NEG_INFINITY]) {
                assert_eq!(among(&cell), numbers[..count].contains(&cell), "{count} {cell}");
            }
        }
        let among = is_among(["b", "a", "ab"].map(str::to_owned).to_vec());
        assert_eq!(
            ["a", "ab", "b", ""].map(|cell| among(&cell.to_owned())),
            [true, true, true, false]
        );
    }
}
