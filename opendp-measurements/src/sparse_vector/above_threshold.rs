//! The sparse vector technique for queries that are known in advance. A vector contains the values
//! of these queries.

use opendp_core::arith::{Exact, InfCast, Number};
use opendp_core::erased::AnyDistance;
use opendp_core::{
    AnyNumber, Atom, AtomDomain, Distance, Function, LInfDistance, MaxDivergence, Measurement,
    Metric, PrivacyMap, Result, Space, VectorDomain,
};

use crate::Scale;
use crate::samplers::Score;
use crate::selection::AnyScoreMetric;
use crate::sparse_vector::{Cost, Threshold, rounded};

/// Make a measurement that answers which numbers of a vector exceed a threshold, up to a limit.
///
/// This measurement is [`make_sparse_vector`](crate::make_sparse_vector) for queries that are known
/// in advance. The vector contains the values of the queries.
///
/// # Arguments
/// * `input` - vectors of numbers under the L-infinity distance
/// * `threshold` - the number with which each number of the vector is compared
/// * `limit` - the maximum number of answers "above"
/// * `scales` - the scales of the noise on the threshold and of the noise on each number
///
/// # Precondition
/// The domain excludes NaN, because the metric requires a domain without NaN. `threshold` is not
/// NaN, and `limit` is at least 1. The domain can have vectors of any length, because vectors of
/// different lengths are infinitely far apart.
///
/// # Postcondition
/// The release is a list of answers for the numbers, in the same order. The answer `true` ("above")
/// means that the noisy number is at least the noisy threshold. The list ends after `limit` answers
/// `true`, or after the last number. All noise is independent. The noise on the threshold is drawn
/// once. Infinity counts as the largest finite number, and minus infinity counts as the lowest
/// finite number.
///
/// # Map
/// The loss is `d_in / scales.0 + 2 limit d_in / scales.1`, rounded up once. For a `monotonic`
/// metric, the factor 2 is omitted. A positive number divided by 0 is infinite. The length of the
/// vector does not change the loss.
///
/// # Proof
/// Let `x`, `y` be vectors at distance at most `d_in`. Both vectors have the same length, because
/// `d_in` is finite. The two numbers at each index differ by at most `d_in`. If the metric is
/// monotonic, all differences have the same sign. So the numbers in `x` and in `y` are the values
/// of queries of sensitivity `d_in` on two data sets. The release is the sequence of the answers to
/// these queries. The proof of [`make_sparse_vector`](crate::make_sparse_vector) bounds the loss of
/// this sequence by the map.
///
/// # Errors
/// * `MakeMeasurement` when `threshold` is NaN or `limit` is 0
/// * from the map: `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when the loss
///   exceeds all floats
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_above_threshold};
/// let counts = VectorDomain::new(AtomDomain::<i32>::default());
/// let input = Space::new(counts, LInfDistance::<i32>::new(true))?;
/// let scales = (Scale::new(4.0)?, Scale::new(8.0)?);
/// let above = make_above_threshold(input, 1000, 2, scales)?;
/// assert_eq!(above.map(&1)?, 0.5);
/// let answers = above.invoke(&vec![0, 2000, 3, 2000, 4])?;
/// assert_eq!(answers, [false, true, false, true]); // fails with a tiny probability
/// # Ok::<(), Error>(())
/// ```
pub fn make_above_threshold<T, Q>(
    input: Space<VectorDomain<AtomDomain<T>>, LInfDistance<Q>>,
    threshold: T,
    limit: u32,
    scales: (Scale, Scale),
) -> Result<Measurement<VectorDomain<AtomDomain<T>>, LInfDistance<Q>, MaxDivergence, Vec<bool>>>
where
    T: Atom + Number + Score,
    Q: Distance + Number,
    f64: InfCast<Q>,
{
    let threshold = Threshold::new(threshold, limit, scales)?;
    let (cost, monotonic) = (threshold.cost(), input.metric().monotonic());
    let map = losing(move |d_in: &Q| cost.loss(*d_in, monotonic));
    Ok(Measurement::new(input, MaxDivergence, answering(threshold), map))
}
/// Make the measurement of `make_above_threshold` for a distance type that is known only at run
/// time. The function does not use the type argument `Q`.
#[allow(clippy::extra_unused_type_parameters, reason = "`via` needs the same type arguments")]
fn above_threshold_at<T, Q>(
    input: Space<VectorDomain<AtomDomain<T>>, AnyScoreMetric<false>>,
    threshold: T,
    limit: u32,
    scales: (Scale, Scale),
) -> Result<Measurement<VectorDomain<AtomDomain<T>>, AnyScoreMetric<false>, MaxDivergence, Vec<bool>>>
where
    T: Atom + Number + Score,
{
    let threshold = Threshold::new(threshold, limit, scales)?;
    let map = losing_any(threshold.cost(), input.metric().clone());
    Ok(Measurement::new(input, MaxDivergence, answering(threshold), map))
}
/// Build the privacy map. If the type of a distance is not the type of the metric's distances, the
/// map returns an error.
fn losing_any(
    cost: Cost,
    metric: AnyScoreMetric<false>,
) -> PrivacyMap<AnyScoreMetric<false>, MaxDivergence> {
    losing(move |d_in: &AnyDistance| match metric.read_distance(d_in.clone())?.number()? {
        AnyNumber::Integer(d_in) => cost.loss(d_in, metric.monotonic()),
        AnyNumber::Float(d_in) => cost.loss(d_in, metric.monotonic()),
    })
}
/// Build the function that answers for each number.
fn answering<T: Atom + Number + Score>(threshold: Threshold<T>) -> Function<Vec<T>, Vec<bool>> {
    Function::map(move |numbers: &Vec<T>| {
        let (mut threshold, mut released) = (threshold.answers()?, Vec::new());
        for number in numbers {
            if threshold.left == 0 {
                break;
            }
            released.push(threshold.next(*number)?);
        }
        Ok(released)
    })
}
/// Build the privacy map.
fn losing<M: Metric>(
    loss: impl Fn(&M::Distance) -> Result<Exact> + Clone + Send + Sync + 'static,
) -> PrivacyMap<M, MaxDivergence> {
    let exact = loss.clone();
    PrivacyMap::new(move |d_in: &M::Distance| rounded(&loss(d_in)?))
        .with_exact(move |d_in| Ok(vec![exact(d_in)?]))
}

macro_rules! register_at {
    ($($t:ty: $($q:ty),+;)+) => {$(
        register! {
            "above_threshold.rs": make_above_threshold via above_threshold_at
                (input, threshold, limit = 1, scales)
                for T in [$t], Q in [$($q),+] as AnyNumber;
        }
    )+};
}
register_at! {
    i8: i8, f64; i16: i16, f64; i32: i32, f64; i64: i64, f64; i128: i128, f64;
    u8: u8, f64; u16: u16, f64; u32: u32, f64; u64: u64, f64; usize: usize, f64;
    f32: f32, f64; f64: f64;
}
