//! The steps from a column to a statistic. These functions do not depend on the measure, so they
//! are compiled once for all measures.

use opendp_core::arith;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Bounds, L1Distance, L01InfDistance, MapDomain,
    RangeDistance, Result,
};
use opendp_transformations::{
    Key, make_clamp, make_count, make_count_by, make_count_by_categories, make_find_bin,
    make_impute_constant,
};

use super::super::chain::{Chain, Column, OfRows, as_scores, bounded, sized, wrong};
use super::{Averaged, Summed};

/// The steps of the rows, or the first error of a step.
pub(super) type Steps<T> = Result<Chain<T>>;
type Number<T, N> = Result<OfRows<T, AtomDomain<N>, AbsoluteDistance<N>>>;
type Counts<T> = Result<OfRows<T, Column<i64>, L1Distance<i64>>>;

/// Return the steps, or a copy of their error.
fn begun<T: Atom>(steps: &Steps<T>) -> Result<&Chain<T>> {
    match steps {
        Ok(chain) => Ok(chain),
        Err(error) => Err(error.clone()),
    }
}
/// Replace missing values (NaN).
pub(super) fn impute<T: Atom>(chain: &Chain<T>, value: T) -> Steps<T> {
    chain.step(|rows| make_impute_constant(rows, value))
}
/// Clamp rows before the step `before`, which needs bounds.
pub(super) fn clamp<T: Atom + arith::Number>(
    chain: &Chain<T>,
    (lower, upper): (T, T),
    name: &str,
    before: &str,
) -> Steps<T> {
    if chain.space().domain().element().nan() {
        return Err(wrong(format!(
            "`{name}` may hold missing values (NaN), which bounds cannot limit: state what \
             replaces them, with `.impute(value)` before `.{before}(..)`"
        )));
    }
    chain.step(|rows| make_clamp(rows, Bounds::new(lower, upper)?))
}
pub(super) fn count<T: Atom>(steps: &Steps<T>) -> Number<T, i64> {
    begun(steps)?.total(make_count)
}
/// Sum the rows of the column `name`, which needs bounds.
pub(super) fn sum<T: Summed>(steps: &Steps<T>, name: &str) -> Number<T, T::Sum> {
    let chain = begun(steps)?;
    bounded("sum", name, chain)?;
    chain.total(T::sum_of)
}
/// Take the mean, which needs bounds and a known number of rows.
pub(super) fn mean<T: Averaged>(steps: &Steps<T>, name: &str) -> Number<T, f64> {
    let chain = begun(steps)?;
    bounded("mean", name, chain)?;
    sized("mean", chain)?;
    chain.total(T::mean_of)
}
/// Take the variance, which needs bounds and a known number of rows.
pub(super) fn variance<T: Averaged>(steps: &Steps<T>, name: &str) -> Number<T, f64> {
    let chain = begun(steps)?;
    bounded("variance", name, chain)?;
    sized("variance", chain)?;
    chain.total(T::variance_of)
}
/// Count the rows of each category. If `others` is true, also count all other rows.
pub(super) fn histogram<T: Key>(steps: &Steps<T>, categories: Vec<T>, others: bool) -> Counts<T> {
    begun(steps)?.total(|rows| make_count_by_categories(rows, categories, others))
}
pub(super) fn histogram_between<T: Atom + arith::Number>(
    steps: &Steps<T>,
    edges: Vec<T>,
) -> Counts<T> {
    let bins: Vec<usize> = (0..=edges.len()).collect();
    let bin = begun(steps)?.total(|rows| make_find_bin(rows, edges))?;
    bin.then(|bin| make_count_by_categories(bin, bins, false))
}
type OfKeys<T> =
    OfRows<T, MapDomain<AtomDomain<T>, AtomDomain<i64>>, L01InfDistance<AbsoluteDistance<i64>>>;
pub(super) fn count_by<T: Key>(steps: &Steps<T>) -> Result<OfKeys<T>> {
    begun(steps)?.total(make_count_by)
}
/// Count the rows of each category. The counts are scores for a choice.
pub(super) fn scores<T: Key>(
    steps: &Steps<T>,
    categories: Vec<T>,
) -> Result<OfRows<T, Column<i64>, RangeDistance<i64>>> {
    histogram(steps, categories, false)?.then(as_scores)
}
