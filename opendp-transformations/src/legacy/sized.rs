//! Constructors with older names, for sums, means, variances, covariances and scores. The size of
//! the data, the bounds of the data, or both are arguments.

use opendp_core::arith::{Float, Number, shown};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Bounds, DatasetMetric, Distance, Domain, Error,
    LInfDistance, Metric, MetricOn, PairDomain, RangeDistance, Result, Space, SymmetricDistance,
    Transformation, VectorDomain,
};

use crate::stated::known_size;
use crate::symmetric::Records;
use crate::{
    Alpha, Pairwise, ScoreDistance, Sequential, Summand, Summation, make_clamp, make_covariance,
    make_mean, make_quantile_score_candidates, make_sum, make_variance,
};

/// Add up an unknown number of bounded records with [`make_sum`].
///
/// # Arguments
/// * `bounds` - a pair `[lower, upper]`; the default is the bounds of the input
///
/// # Function
/// If the input has no bounds, `make_clamp` first clamps the records to `bounds`.
///
/// # Map
/// Let `[L, U]` be the bounds. The map is `d_in * max(|L|, |U|)`, rounded up as in `make_sum`.
///
/// # Proof
/// The proof of `make_sum` applies. If the input has no bounds, the proof of `make_clamp` applies
/// first.
///
/// # Errors
/// `MakeTransformation` when the size is known, or when `bounds` differ from the bounds of the
/// input. `MakeTransformation` when the input has no bounds and `bounds` is not given. Suppose that
/// the input domain contains NaN. If the input domain has no bounds and `bounds` is given,
/// `make_clamp` runs first and returns `FailedFunction`. Otherwise the error is
/// `MakeTransformation`. Further errors are the errors of `make_sum`.
pub fn make_bounded_sum<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    bounds: Option<Bounds<T>>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        M,
        AtomDomain<T::Total>,
        AbsoluteDistance<T::Total>,
    >,
>
where
    T: Summand,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    if let Some(size) = input.domain().size() {
        return Err(Error::MakeTransformation(format!(
            "input: the number of records is known to be {size}; use `make_sized_bounded_sum`"
        )));
    }
    within_bounds(input, bounds, make_sum)
}
register! {
    "sized.rs": make_bounded_sum(input, bounds = null)
        for T in numbers, M in unsized_metrics;
}

/// Add up a known number of bounded records with [`make_sum`].
///
/// # Arguments
/// * `size` - the number of records; the default is the size of the input
/// * `bounds` - a pair `[lower, upper]`; the default is the bounds of the input
///
/// # Function
/// If the input has no bounds, `make_clamp` first clamps the records to `bounds`.
///
/// # Map
/// Let `[L, U]` be the bounds. If the metric counts replaced records, let `d` be `2 * d_in`.
/// Otherwise let `d` be `d_in`. The map is `floor(d / 2) * (U - L)`, rounded up as in `make_sum`.
///
/// # Proof
/// The proof of `make_sum` applies. If the input has no bounds, the proof of `make_clamp` applies
/// first.
///
/// # Errors
/// `MakeTransformation` when the size is not known, or when the input has no bounds and `bounds` is
/// not given. `MakeTransformation` when `size` is not the size of the input, or when `bounds` are
/// not the bounds of the input. Suppose that the input domain contains NaN. If the input domain has
/// no bounds and `bounds` is given, `make_clamp` runs first and returns `FailedFunction`. Otherwise
/// the error is `MakeTransformation`. Further errors are the errors of `make_sum`.
pub fn make_sized_bounded_sum<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    size: Option<usize>,
    bounds: Option<Bounds<T>>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        M,
        AtomDomain<T::Total>,
        AbsoluteDistance<T::Total>,
    >,
>
where
    T: Summand,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    known_size(input.domain(), size, "use `make_bounded_sum`, or `make_resize` first")?;
    within_bounds(input, bounds, make_sum)
}
register! {
    "sized.rs": make_sized_bounded_sum(input, size = null, bounds = null)
        for T in numbers, M in dataset_metrics;
}

/// Average a known number of bounded records with [`make_mean`].
///
/// # Arguments
/// * `size` - the number of records; the default is the size of the input
/// * `bounds` - a pair `[lower, upper]`; the default is the bounds of the input
///
/// # Function
/// If the input has no bounds, `make_clamp` first clamps the records to `bounds`.
///
/// # Map
/// Let `n` be the number of records, and `[L, U]` the bounds. If the metric counts replaced
/// records, let `d` be `2 * d_in`. Otherwise let `d` be `d_in`. The map is
/// `floor(d / 2) * (U - L) / n`, rounded up as in `make_mean`.
///
/// # Proof
/// The proof of `make_mean` applies. If the input has no bounds, the proof of `make_clamp` applies
/// first.
///
/// # Errors
/// `MakeTransformation` when the size is not known, or when the input has no bounds and `bounds` is
/// not given. `MakeTransformation` when `size` is not the size of the input, or when `bounds` are
/// not the bounds of the input. Suppose that the input domain contains NaN. If the input domain has
/// no bounds and `bounds` is given, `make_clamp` runs first and returns `FailedFunction`. Otherwise
/// the error is `MakeTransformation`. Further errors are the errors of `make_mean`.
pub fn make_sized_bounded_mean<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    size: Option<usize>,
    bounds: Option<Bounds<T>>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, AtomDomain<T>, AbsoluteDistance<T>>>
where
    T: Atom + Float + Distance + Into<f64>,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    known_size(input.domain(), size, "use `make_resize` first")?;
    within_bounds(input, bounds, make_mean)
}
register! {
    "sized.rs": make_sized_bounded_mean(input, size = null, bounds = null)
        for T in [f32, f64],
            M in dataset_metrics;
}

/// Compute the variance of a known number of bounded records with [`make_variance`].
///
/// # Arguments
/// * `size` - the number of records; the default is the size of the input
/// * `bounds` - a pair `[lower, upper]`; the default is the bounds of the input
/// * `ddof` - the sum of squared deviations is divided by the number of records minus `ddof`
///
/// # Function
/// If the input has no bounds, `make_clamp` first clamps the records to `bounds`.
///
/// # Map
/// The map of `make_variance`.
///
/// # Proof
/// The proof of `make_variance` applies. If the input has no bounds, the proof of `make_clamp`
/// applies first.
///
/// # Errors
/// `MakeTransformation` when the size is not known, or when the input has no bounds and `bounds` is
/// not given. `MakeTransformation` when `size` is not the size of the input, or when `bounds` are
/// not the bounds of the input. Suppose that the input domain contains NaN. If the input domain has
/// no bounds and `bounds` is given, `make_clamp` runs first and returns `FailedFunction`. Otherwise
/// the error is `MakeTransformation`. Further errors are the errors of `make_variance`.
pub fn make_sized_bounded_variance<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    size: Option<usize>,
    bounds: Option<Bounds<T>>,
    ddof: usize,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, AtomDomain<T>, AbsoluteDistance<T>>>
where
    T: Atom + Float + Distance + Into<f64>,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    known_size(input.domain(), size, "use `make_resize` first")?;
    within_bounds(input, bounds, |input| make_variance(input, ddof))
}
register! {
    "sized.rs": make_sized_bounded_variance(input, size = null, bounds = null, ddof = 1)
        for T in [f32, f64],
            M in dataset_metrics;
}

/// Compute the covariance of a known number of bounded pairs with [`make_covariance`].
///
/// # Arguments
/// * `size` - the number of records
/// * `bounds_0` - a pair `[lower, upper]` for the first parts of the records
/// * `bounds_1` - a pair `[lower, upper]` for the second parts of the records
/// * `ddof` - the sum of products of deviations is divided by the number of records minus `ddof`
///
/// The type argument `S` states a summation algorithm and a float type. The choice of the algorithm
/// has no effect.
///
/// # Map
/// The map of `make_covariance`.
///
/// # Proof
/// The proof of `make_covariance` applies.
///
/// # Errors
/// The errors of `make_covariance`.
pub fn make_sized_bounded_covariance<S>(
    size: usize,
    bounds_0: Bounds<S::Item>,
    bounds_1: Bounds<S::Item>,
    ddof: usize,
) -> Result<
    Transformation<
        VectorDomain<PairDomain<AtomDomain<S::Item>, AtomDomain<S::Item>>>,
        SymmetricDistance,
        AtomDomain<S::Item>,
        AbsoluteDistance<S::Item>,
    >,
>
where
    S: Summation<Item: Atom + Float + Distance + Into<f64>>,
{
    let pairs = PairDomain::new(AtomDomain::bounded(bounds_0), AtomDomain::bounded(bounds_1));
    let domain = VectorDomain::new(pairs).with_size(size);
    make_covariance(Space::new(domain, SymmetricDistance)?, ddof)
}
register! {
    "sized.rs": make_sized_bounded_covariance(size, bounds_0, bounds_1, ddof = 1)
        for S in [Pairwise<f32>, Pairwise<f64>, Sequential<f32>, Sequential<f64>] = Pairwise<f64>;
}

/// Score the candidates for a quantile with [`make_quantile_score_candidates`].
///
/// # Arguments
/// * `size` - the number of records; the default is the size of the input
/// * `candidates` - the values that can be released, in increasing order
/// * `alpha` - the quantile level: a number from 0 to 1, or a pair `[numerator, denominator]`
///
/// # Map
/// The map of `make_quantile_score_candidates` for data of known size.
///
/// # Proof
/// The proof of `make_quantile_score_candidates` for data of known size applies.
///
/// # Errors
/// `MakeTransformation` when the size is not known, or differs from `size`. Further errors are the
/// errors of `make_quantile_score_candidates`.
pub fn make_sized_quantile_score_candidates<T, M, MO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    size: Option<usize>,
    candidates: Vec<T>,
    alpha: Alpha,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<u64>>, MO>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    MO: ScoreDistance,
{
    let advice = "use `make_quantile_score_candidates`, or `make_resize` first";
    known_size(input.domain(), size, advice)?;
    make_quantile_score_candidates(input, candidates, alpha)
}
register! {
    "sized.rs": make_sized_quantile_score_candidates(input, size = null, candidates, alpha)
        for T in numbers,
            M in dataset_metrics,
            MO in [RangeDistance<u64>, LInfDistance<u64>] = RangeDistance<u64>;
}

/// Call the constructor `next` on a space of bounded records. If the input domain has no bounds and
/// `stated` has bounds, `make_clamp` first clamps the records to these bounds.
fn within_bounds<T, M, DO, MO>(
    input: Space<Records<T>, M>,
    stated: Option<Bounds<T>>,
    next: impl FnOnce(Space<Records<T>, M>) -> Result<Transformation<Records<T>, M, DO, MO>>,
) -> Result<Transformation<Records<T>, M, DO, MO>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<Records<T>>,
    DO: Domain,
    MO: Metric,
{
    match (input.domain().element().bounds(), stated) {
        (Some(known), Some(stated)) if *known != stated => Err(other_bounds(known, &stated)),
        (None, Some(stated)) => make_clamp(input, stated).and_then(|clamp| clamp.then(next)),
        (None, None) => Err(no_bounds()),
        (Some(_), _) => next(input),
    }
}
#[cold]
fn no_bounds() -> Error {
    let reason = "bounds: expected a pair [lower, upper], because the records of the input have no \
                  bounds; state `bounds`, or use `make_clamp` first";
    Error::MakeTransformation(reason.to_owned())
}
#[cold]
fn other_bounds<T: Atom + Number>(known: &Bounds<T>, stated: &Bounds<T>) -> Error {
    Error::MakeTransformation(format!(
        "bounds: expected [{}, {}], the bounds of the input, found [{}, {}]",
        shown(known.lower()),
        shown(known.upper()),
        shown(stated.lower()),
        shown(stated.upper())
    ))
}

#[cfg(test)]
mod tests;
