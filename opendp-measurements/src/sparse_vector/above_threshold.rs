//! Which numbers of a vector exceed a threshold.

use opendp_core::arith::{InfCast, Number};
use opendp_core::{
    Atom, AtomDomain, Distance, Function, LInfDistance, MaxDivergence, Measurement, PrivacyMap,
    Result, Space, VectorDomain,
};

use crate::Scale;
use crate::samplers::Score;
use crate::sparse_vector::{Cost, Threshold, rounded};

/// Make a measurement that tells which numbers of a vector exceed a threshold, up to a limit.
///
/// It is [`make_sparse_vector`](crate::make_sparse_vector) for queries that are known in advance;
/// the vector holds their values.
///
/// # Arguments
/// * `input` - vectors of numbers under the L-infinity distance
/// * `threshold` - the number that the numbers are compared with
/// * `limit` - the maximum number of answers that are above
/// * `scales` - the scales of the noise on the threshold and of the noise on each number
///
/// # Precondition
/// The domain excludes NaN; otherwise there is no such space. `threshold` is not NaN, and `limit`
/// is at least 1. The length of the vectors need not be known: vectors of different lengths are
/// infinitely far apart.
///
/// # Postcondition
/// The release is a list of answers, for the numbers in their order: `true` means that a number
/// plus noise is at least the threshold plus noise. The list ends after `limit` answers `true`, or
/// after the last number. All noise is independent; the noise on the threshold is drawn once. An
/// infinite number counts as the largest or lowest finite one.
///
/// # Map
/// `d_in / scales.0 + 2 limit d_in / scales.1`, without the factor 2 for a `monotonic` metric,
/// rounded up once. A positive number divided by 0 is infinite. The length of the vector does not
/// matter.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close vectors. They have the same length, and each number of one differs
/// from the same number of the other by at most `d_in`; if the metric is monotonic, all differ in
/// the same direction. So they are the values of queries of sensitivity `d_in` on two data sets,
/// and the release is the sequence of the answers to them. The proof of
/// [`make_sparse_vector`](crate::make_sparse_vector) bounds its loss for this pair by the map.
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
/// assert_eq!(answers, [false, true, false, true]); // but with a tiny probability
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
    let monotonic = input.metric().monotonic();
    let map = losing(threshold.cost(), monotonic);
    Ok(Measurement::new(input, MaxDivergence, answering(threshold), map))
}
/// Build the function, which is the same for all types of distances.
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
/// Build the privacy map, which is the same for all types of numbers.
fn losing<Q>(cost: Cost, monotonic: bool) -> PrivacyMap<LInfDistance<Q>, MaxDivergence>
where
    Q: Distance + Number,
    f64: InfCast<Q>,
{
    PrivacyMap::new(move |d_in: &Q| rounded(&cost.loss(*d_in, monotonic)?))
        .with_exact(move |d_in| Ok(vec![cost.loss(*d_in, monotonic)?]))
}

macro_rules! register_at {
    ($($t:ty: $($q:ty),+;)+) => {$(
        register! {
            "above_threshold.rs": make_above_threshold(input, threshold, limit = 1, scales)
                for T in [$t], Q in [$($q),+];
        }
    )+};
}
// Each number type, with the types of its distances.
register_at! {
    i8: i8, f64; i16: i16, f64; i32: i32, f64; i64: i64, f64; i128: i128, f64;
    u8: u8, f64; u16: u16, f64; u32: u32, f64; u64: u64, f64; usize: usize, f64;
    f32: f32, f64; f64: f64;
}
