//! The sparse vector technique: noisy answers to the question which of many queries exceed a
//! threshold.

mod above_threshold;

use std::fmt::Display;

use opendp_core::arith::{Directed, DirectedFloat, Exact, InfCast, Number, shown};
use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::random::{securely, with_secure};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Distance, Domain, Error, Function, MaxDivergence,
    Measurement, Metric, PrivacyMap, Queryable, Result, Space, Transformation,
};

use crate::Scale;
use crate::composition::privacy_filter::within;
use crate::noise::numbers::finite;
use crate::noise::quotient::exact_quotient;
use crate::samplers::{NoisyThreshold, Score};

pub use above_threshold::make_above_threshold;

/// A question for [`make_sparse_vector`]: a transformation that computes a number from the data.
pub type Query<DI, MI, T, Q> = Transformation<DI, MI, AtomDomain<T>, AbsoluteDistance<Q>>;

/// Make a measurement that answers which queries exceed a threshold.
///
/// The mechanism is the sparse vector technique. The measurement answers any number of queries,
/// until `limit` answers are "above". Each query can depend on the earlier answers. The answers
/// "below" add nothing to the loss.
///
/// # Arguments
/// * `input` - the input space of all queries
/// * `d_in` - a distance between data sets, for which `sensitivity` is stated
/// * `sensitivity` - the largest allowed change of a query between data sets at distance `d_in`
/// * `threshold` - the number with which the values of the queries are compared
/// * `limit` - the maximum number of answers "above"
/// * `scales` - the scales of the noise on the threshold and of the noise on each query
/// * `monotonic` - true if the analyst promises that all queries change in the same direction
///
/// # Precondition
/// `d_in` and `sensitivity` are valid distances, and `sensitivity` is finite. `d_in` is not 0, and
/// there are two members of the input domain at a positive distance of at most `d_in`. `threshold`
/// is not NaN. `limit` is at least 1.
///
/// With `monotonic`, the analyst makes a promise that the code cannot check. Let `x`, `y` be any
/// two data sets at distance at most `d_in`. Then either `q(x) >= q(y)` holds for all asked queries
/// `q`, or `q(x) <= q(y)` holds for all asked queries `q`. Counts of rows keep the promise if data
/// sets differ only by added rows, or only by removed rows. If rows can be both added and removed,
/// or can change, counts of rows can break the promise.
///
/// # Postcondition
/// The release is a queryable. A question is a transformation from `input` to a number. A question
/// is answered if the stability map of the question at `d_in` is at most `sensitivity`. The answer
/// `true` ("above") means that the noisy value of the query is at least the noisy threshold. The
/// answer `false` ("below") means that the noisy value is less than the noisy threshold. A question
/// whose stability map exceeds `sensitivity` gets an error, and changes nothing. After `limit`
/// answers `true`, all questions get errors.
///
/// Infinity counts as the largest finite number, and minus infinity counts as the lowest finite
/// number.
///
/// # Map
/// The loss is `sensitivity / scales.0 + 2 limit sensitivity / scales.1`, rounded up once. With
/// `monotonic`, the factor 2 is omitted. The map has this value for all distances up to `d_in`. A
/// larger distance gives an error. A positive number divided by 0 is infinite. The number of
/// answers `false` does not change the loss.
///
/// # Proof
/// The mechanism is the first algorithm of Lyu, Su, Li 2017, with the noise of [`NoisyThreshold`].
/// This proof follows the proof in that article. Let `x`, `y` be data sets at distance at most
/// `d_in`. Fix the analyst and a sequence of answers. Each query, and each refusal of a query, is a
/// function of the earlier answers. So the queries `q_1, ..., q_n` are fixed, too. Let `A` be the
/// set of all `i` for which `q_i` has the answer `true`. `A` has at most `limit` members. Let `t`
/// be the threshold without noise. The noise on the threshold has scale `s` and density `p`. The
/// noise on query `q_i` has scale `r` and is called `K_i`. All noise is independent. For noise `z`
/// on the threshold, the real numbers `q_i(x) + K_i` and `t + z` are compared. So the answers have
/// the probability
///
/// `P(x) = integral p(z) prod_(i not in A) P[K_i < t + z - q_i(x)]`
/// `prod_(i in A) P[K_i >= t + z - q_i(x)] dz`.
///
/// Let `w` be the sensitivity, so `|q_i(x) - q_i(y)| <= w`. Call the expression under the integral
/// the integrand of `x`. The integrand of `y` has `y` in place of `x`. Compare the integrand of `x`
/// at `z` with the integrand of `y` at `z + w`. First, `p(z) <= exp(w / s) p(z + w)`. Each query
/// contributes one more factor to each integrand. For `i` not in `A`,
/// `t + z - q_i(x) <= t + z + w - q_i(y)`. So the factor of `x` is at most the factor of `y`. For
/// `i` in `A`, `t + z + w - q_i(y)` exceeds `t + z - q_i(x)` by at most `2 w`. Laplace noise `K` of
/// scale `r` satisfies `P[K >= a] <= exp(b / r) P[K >= a + b]` for every real `a` and `b >= 0`. So
/// the factor of `x` is at most `exp(2 w / r)` times the factor of `y`. The integral is over all
/// real `z`. If `z` runs over all real numbers, `z + w` also runs over all real numbers. So
/// `P(x) <= exp(w / s + limit 2 w / r) P(y)`.
///
/// *Monotonic.* If all `q_i(x) <= q_i(y)`, then `t + z + w - q_i(y)` exceeds `t + z - q_i(x)` by at
/// most `w` instead of `2 w`. If all `q_i(x) >= q_i(y)`, compare both integrands at `z`. For `i`
/// not in `A`, the factor of `x` is at most the factor of `y`. For `i` in `A`, the factor of `x` is
/// at most `exp(w / r)` times the factor of `y`. In both cases
/// `P(x) <= exp(w / s + limit w / r) P(y)`.
///
/// The probability of a set of sequences is the sum of the probabilities of the sequences. So the
/// bound holds for every event. The bound does not depend on `n`, so it holds for any number of
/// answers.
///
/// The proof needs four properties of the mechanism. First, noise is added to each query. Second,
/// for the same loss, the scale of this noise increases with `limit`. Third, no question is
/// answered after `limit` answers `true`. Fourth, the noisy value of a query is not released. Some
/// published versions of the mechanism lack some of these properties (Lyu, Su, Li 2017, Algorithms
/// 3 to 6). Tests show that the loss of each of these versions exceeds the loss that the version
/// claims.
///
/// # Errors
/// * `MakeMeasurement` or `FailedMap` when an argument does not satisfy the precondition;
///   `Overflow` when the loss exceeds all floats
/// * from the queryable: `BudgetExceeded` after `limit` answers `true`, or when the stability map
///   of a query at `d_in` exceeds `sensitivity`
/// * from the queryable: `DomainMismatch` or `MetricMismatch` when a query does not start from
///   `input`; the errors of the query and of its map
/// * from the map: `FailedMap` when the distance exceeds `d_in`
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_sparse_vector};
/// let ages = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let counts = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let older = |than: i32| {
///     let count = move |ages: &Vec<i32>| {
///         let older = ages.iter().filter(|age| than < **age).count();
///         Ok(i32::try_from(older).unwrap_or(i32::MAX))
///     };
///     let map = StabilityMap::from_constant(1);
///     Transformation::new(ages.clone(), counts.clone(), Function::map(count), map)
/// };
/// let scales = (Scale::new(4.0)?, Scale::new(8.0)?);
/// let sparse = make_sparse_vector(ages.clone(), 1, 1, 100, 1, scales, false)?;
/// assert_eq!(sparse.map(&1)?, 0.5);
///
/// let many = sparse.invoke(&vec![40; 1000])?;
/// assert!(!many.ask(&older(60))?); // 0 is below 100
/// assert!(!many.ask(&older(50))?);
/// assert!(many.ask(&older(30))?); // 1000 is above
/// assert_eq!(many.ask(&older(20)).unwrap_err().kind(), "BudgetExceeded");
/// # Ok::<(), Error>(())
/// ```
pub fn make_sparse_vector<DI, MI, T, Q>(
    input: Space<DI, MI>,
    d_in: MI::Distance,
    sensitivity: Q,
    threshold: T,
    limit: u32,
    scales: (Scale, Scale),
    monotonic: bool,
) -> Result<Measurement<DI, MI, MaxDivergence, Queryable<Query<DI, MI, T, Q>, bool>>>
where
    DI: Domain,
    MI: Metric,
    T: Atom + Number + Score,
    Q: Distance + Number,
    f64: InfCast<Q>,
{
    let d_in = distance_of(&input, d_in)?;
    check_sensitivity(sensitivity)?;
    let threshold = Threshold::new(threshold, limit, scales)?;
    match promised(d_in.clone(), threshold.cost().promise(sensitivity, monotonic)) {
        Ok(map) => {
            let function = answering(input.clone(), d_in, sensitivity, threshold);
            Ok(Measurement::new(input, MaxDivergence, function, map))
        }
        Err(error) => Err(error),
    }
}
/// Decode and check the distance between data sets.
fn distance_of<DI: Domain, MI: Metric>(
    input: &Space<DI, MI>,
    d_in: MI::Distance,
) -> Result<MI::Distance> {
    let located = |error: Error| error.at("argument `d_in`");
    let d_in = input.metric().read_distance(d_in).map_err(located)?;
    d_in.check().map_err(located)?;
    input.check_neighbours(&d_in)?;
    Ok(d_in)
}
fn check_sensitivity<Q: Distance>(sensitivity: Q) -> Result<()> {
    sensitivity.check().map_err(of_sensitivity)
}
#[cold]
fn of_sensitivity(error: Error) -> Error {
    error.at("argument `sensitivity`")
}
/// Build the privacy map, which has one value for all distances up to `d_in`.
fn promised<MI: Metric>(
    d_in: MI::Distance,
    loss: Result<Exact>,
) -> Result<PrivacyMap<MI, MaxDivergence>> {
    let loss = loss?;
    let (limit, promise) = (d_in.clone(), rounded(&loss)?);
    let map = PrivacyMap::new(move |d: &MI::Distance| within(d, &limit).map(|()| promise));
    Ok(map.with_exact(move |d| within(d, &d_in).map(|()| vec![loss.clone()])))
}
/// Build the function that returns a queryable.
fn answering<DI, MI, T, Q>(
    space: Space<DI, MI>,
    bound: MI::Distance,
    sensitivity: Q,
    threshold: Threshold<T>,
) -> Function<DI::Carrier, Queryable<Query<DI, MI, T, Q>, bool>>
where
    DI: Domain,
    MI: Metric,
    T: Atom + Number + Score,
    Q: Distance + Number,
{
    Function::map(move |data: &DI::Carrier| {
        let (space, bound, data) = (space.clone(), bound.clone(), data.clone());
        let answers = threshold.answers()?;
        Ok(Queryable::new(answers, move |answers: &mut Answers<T>, query: &Query<DI, MI, T, Q>| {
            query.input().follows(&space)?;
            let change = query.map(&bound)?;
            if !change.at_most(&sensitivity)? {
                return Err(too_sensitive(&shown(sensitivity), &shown(change)));
            }
            if answers.left == 0 {
                return Err(none_left(threshold.limit));
            }
            answers.next(query.invoke(&data)?)
        }))
    })
}
#[cold]
fn too_sensitive(sensitivity: &dyn Display, change: &dyn Display) -> Error {
    Error::BudgetExceeded(format!(
        "expected a query of sensitivity at most {sensitivity}, found {change}"
    ))
}
#[cold]
fn none_left(limit: u32) -> Error {
    Error::BudgetExceeded(format!("no answer above the threshold is left: the limit is {limit}"))
}

macro_rules! register_sparse_vector {
    ($($t:ty: $($q:ty)*;)*) => {$($(
        register! {
            "sparse_vector.rs": make_sparse_vector(
                input, d_in, sensitivity, threshold, limit, scales, monotonic = false
            )
                for DI in [AnyDomain], MI in [AnyMetric], T in [$t], Q in [$q];
        }
    )*)*};
}
register_sparse_vector! {
    i32: i32 f64; i64: i64 f64; u32: u32 f64; u64: u64 f64; usize: usize f64; f32: f32 f64; f64: f64;
}

/// Find scales such that the loss of [`make_sparse_vector`] or
/// [`make_above_threshold`](crate::make_above_threshold) is at most `epsilon`.
///
/// Let `m` be `2 limit`, or `limit` for `monotonic` queries. The threshold gets the share
/// `1 / (1 + m^(2/3))` of epsilon, and the queries get the rest of epsilon. This division nearly
/// minimizes the variance of the difference between a noisy query and the noisy threshold (Lyu, Su,
/// Li 2017, on the allocation of a budget). Each scale is rounded up, so the exact loss with these
/// scales is at most `epsilon`.
///
/// # Errors
/// `MakeMeasurement` when `epsilon` or `sensitivity` is not a finite number above 0, or `limit` is
/// 0; `Overflow` when a scale exceeds all floats.
///
/// ```
/// # use opendp_measurements::sparse_vector_scales;
/// let (threshold, queries) = sparse_vector_scales(1.0, 1.0, 4, false)?;
/// assert!((threshold.value() - 5.0).abs() < 1e-9 && (queries.value() - 10.0).abs() < 1e-9);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn sparse_vector_scales(
    epsilon: f64,
    sensitivity: f64,
    limit: u32,
    monotonic: bool,
) -> Result<(Scale, Scale)> {
    for (name, value) in [("epsilon", epsilon), ("sensitivity", sensitivity)] {
        if !(0.0 < value && value.is_finite()) {
            return Err(Error::MakeMeasurement(format!(
                "{name}: expected a finite number above 0, found {}",
                shown(value)
            )));
        }
    }
    if limit == 0 {
        return Err(Error::MakeMeasurement("limit: expected at least 1, found 0".into()));
    }
    let moves = f64::from(limit) * if monotonic { 1.0 } else { 2.0 };
    let ratio = moves.inf_ln()?.inf_mul(2.0 / 3.0)?.inf_exp()?;
    let share = epsilon.neg_inf_div(1.0.inf_add(ratio)?)?;
    let threshold = sensitivity.inf_div(share)?;
    let queries = sensitivity.inf_mul(moves)?.inf_div(epsilon.neg_inf_sub(share)?)?;
    Ok((Scale::new(threshold)?, Scale::new(queries)?))
}

/// A threshold before noise is added, with the limit on answers `true` and the scales of the noise.
#[derive(Clone, Copy)]
pub(crate) struct Threshold<T> {
    threshold: T,
    limit: u32,
    scales: (Scale, Scale),
}
impl<T: Number + Score> Threshold<T> {
    pub(crate) fn new(threshold: T, limit: u32, scales: (Scale, Scale)) -> Result<Self> {
        let refused = |reason: &str| Err(Error::MakeMeasurement(reason.into()));
        if Number::is_nan(threshold) {
            return refused("threshold: expected a number, found NaN");
        }
        if limit == 0 {
            return refused("limit: expected at least one answer above the threshold, found 0");
        }
        Ok(Threshold { threshold: finite(threshold), limit, scales })
    }
    pub(crate) fn cost(&self) -> Cost {
        Cost { limit: self.limit, scales: self.scales }
    }
    /// Draw the noise on the threshold. Return the noisy threshold, with the state before the first
    /// answer.
    pub(crate) fn answers(&self) -> Result<Answers<T>> {
        let Threshold { threshold, limit, scales } = *self;
        let threshold =
            with_secure(|source| NoisyThreshold::draw(threshold, scales.0.value(), source))?;
        Ok(Answers { threshold, left: limit, scale: scales.1.value() })
    }
}

/// The limit on answers `true`, and the scales of the noise on the threshold and on each query.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    limit: u32,
    scales: (Scale, Scale),
}
impl Cost {
    /// Compute the loss of all answers together.
    pub(crate) fn loss<Q: Number>(&self, sensitivity: Q, monotonic: bool) -> Result<Exact>
    where
        f64: InfCast<Q>,
    {
        let threshold = exact_quotient(sensitivity, self.scales.0.value())?;
        let query = exact_quotient(sensitivity, self.scales.1.value())?;
        total(&threshold, &query, self.limit, monotonic)
    }
    /// Compute the loss of all answers together. An error names the argument `sensitivity`.
    fn promise<Q: Number>(&self, sensitivity: Q, monotonic: bool) -> Result<Exact>
    where
        f64: InfCast<Q>,
    {
        self.loss(sensitivity, monotonic).map_err(of_sensitivity)
    }
}
/// Compute the loss of all answers from the loss of the noisy threshold and the loss of one noisy
/// query.
fn total(threshold: &Exact, query: &Exact, limit: u32, monotonic: bool) -> Result<Exact> {
    let moves = Exact::from_f64(if monotonic { 1.0 } else { 2.0 })?;
    let times = Exact::from_f64(f64::from(limit))?.times(&moves);
    Ok(threshold.plus(&query.times(&times)))
}

/// Round a loss up to a float.
pub(crate) fn rounded(loss: &Exact) -> Result<f64> {
    let up = loss.to_f64_up();
    if up == f64::INFINITY && *loss != Exact::INFINITY {
        return Err(Error::Overflow("the loss does not fit f64".into()));
    }
    Ok(up)
}

/// The state of a queryable: the noisy threshold, the number of allowed answers `true`, and the
/// scale of the noise on queries.
pub(crate) struct Answers<T> {
    threshold: NoisyThreshold<T>,
    /// The number of answers `true` that are still allowed.
    pub(crate) left: u32,
    /// The scale of the noise on a query.
    scale: f64,
}
impl<T: Number + Score> Answers<T> {
    /// Add noise to a number, and return whether the sum is at least the noisy threshold. The
    /// caller checks that `left` is not 0.
    pub(crate) fn next(&mut self, number: T) -> Result<bool> {
        let (threshold, scale, mut above) = (&mut self.threshold, self.scale, false);
        securely(&mut |source| {
            above = threshold.is_reached(finite(number), scale, source)?;
            Ok(())
        })?;
        self.left -= u32::from(above);
        Ok(above)
    }
}

#[cfg(test)]
mod tests;
