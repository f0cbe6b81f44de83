//! Two-sided geometric noise on integers. With bounds, a release lies in an interval. The executed
//! instructions then depend neither on the data nor on the noise, except with a tiny probability.

use std::hint::black_box;

use opendp_core::arith::Number;
use opendp_core::random::securely;
use opendp_core::{
    AbsoluteDistance, AtomDomain, Bounds, L1Distance, MaxDivergence, Measurement, MetricOn,
    OfAnyNumber, Result, Space, VectorDomain,
};

use crate::noise::noising::{Noising, adding, each};
use crate::noise::{Numbers, map_of};
use crate::samplers::CensoredLaplace;
use crate::{Laplace, NoiseLoss, NoiseNumber, Scale, make_laplace};

/// An integer type whose numbers can be converted to their distances from the lower end of an
/// interval, and back.
pub trait GeometricNumber: NoiseNumber<Laplace> + Number {
    /// Return this number minus `lower`, or 0 if this number is below `lower`.
    fn above(self, lower: Self) -> u128;
    /// Return `lower + count`. The caller ensures that the type can represent this sum.
    fn up_from(lower: Self, count: u128) -> Self;
}

/// Make a measurement that adds two-sided geometric noise to integers. Optionally, all releases lie
/// in a given interval.
///
/// The noise has the value `z` with a probability proportional to `exp(-|z| / scale)`. With bounds,
/// each number is clamped to the bounds, noise is added, and the sum is clamped again. For each
/// number, the instructions and the number of random words are then the same for all data and all
/// noise, except with a probability below `2^-56`.
///
/// # Arguments
/// * `input` - an integer under the absolute distance, or a vector of integers under the L1
///   distance
/// * `scale` - the scale of the noise. At scale 0, no noise is added
/// * `bounds` - the lower and the upper end of the releases. Without bounds, the measurement is the
///   same as the measurement of [`make_laplace`], and the time of a release can depend on the noise
///
/// # Precondition
/// All members of the domain are allowed. `scale` is finite and not negative. The lower bound is at
/// most the upper bound.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose max-divergence is at most
/// `map(d_in)`. With bounds, each number of a release is within the bounds.
///
/// # Map
/// `d_out = d_in / scale`, rounded up once. The distance 0 gives 0. At scale 0, any other distance
/// gives infinity.
///
/// # Proof
/// Without bounds, the measurement is [`make_laplace`] at `k = null`. With bounds, let `c(x)` be
/// `x` clamped to the bounds. `|c(x) - c(y)| <= |x - y|`, so the clamped numbers of two members are
/// at distance at most `d_in`. If independent noise is added to the clamped numbers, the loss is at
/// most `d_in / scale` (Ghosh, Roughgarden, Sundararajan 2012; the proof of [`make_laplace`]). The
/// release is a function of the sums, so the loss does not grow (Dwork, Roth 2014, Proposition
/// 2.1). [`CensoredLaplace`] draws the clamped sum with exactly these probabilities, for the exact
/// rational value of `scale`. [`CensoredLaplace`] represents the number and the sum by their
/// distances from the lower bound.
///
/// *Time.* Let `w` be the distance between the bounds, and `n` the least integer with `2^n >= w`.
/// For each number, `n + 3` words are drawn. Comparisons give masks, which are integers whose bits
/// are all 0 or all 1. Bit operations with masks select values. So branches and memory addresses do
/// not depend on data or noise. With probability at most `(n + 2) 2^-64`, some word is not enough
/// to decide a random bit, and more words are drawn. This event depends on the drawn words alone,
/// and not on the data. For each number, take the joint law of the release and the count of drawn
/// words. Compare this law with the joint law of the same release and the constant `n + 3`. The
/// total variation distance between the two laws is at most `(n + 2) 2^-64`, less than `2^-56`.
/// This bound is all that the mechanism guarantees: a compiler and a processor do not guarantee how
/// long the instructions take. The running time reveals the length of a vector. If the two bounds
/// are equal, nothing is drawn.
///
/// # Accuracy
/// Without bounds, the accuracy is the accuracy of [`make_laplace`]. With bounds, no accuracy is
/// stated, because the clamp of a number outside of the bounds can cause a large error. Let `Z` be
/// the noise, and `a` the least integer with `P[|Z| > a] <= alpha`. The distance between a release
/// and the *clamped* number is at most `a`, except with probability `alpha`.
///
/// # Errors
/// * from the map: `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when the loss
///   exceeds all floats
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_geometric};
/// let counts = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let release = make_geometric(counts, Scale::new(2.0)?, Some(Bounds::new(0, 100)?))?;
/// assert_eq!(release.map(&1)?, 0.5);
/// assert!((0..=100).contains(&release.invoke(&1000)?));
/// # Ok::<(), Error>(())
/// ```
pub fn make_geometric<D, M>(
    input: Space<D, M>,
    scale: Scale,
    bounds: Option<Bounds<D::Number>>,
) -> Result<Measurement<D, M, MaxDivergence, D::Carrier>>
where
    D: Numbers,
    D::Number: GeometricNumber,
    M: MetricOn<D> + NoiseLoss<Laplace, MaxDivergence>,
{
    let Some(bounds) = bounds else { return make_laplace(input, scale, None) };
    let noise = CensoredLaplace::new(scale.value(), bounds.upper().above(bounds.lower()));
    let noising = noising(noise, bounds);
    let (function, map) = (adding::<D>(noising), map_of::<Laplace, _, _>(scale, true));
    Ok(Measurement::new(input, MaxDivergence, function, map))
}

/// Return a function that clamps each number to the bounds, adds noise, and clamps the sum.
fn noising<V: GeometricNumber>(noise: Option<CensoredLaplace>, bounds: Bounds<V>) -> Noising<V> {
    let lower = bounds.lower();
    Box::new(move |numbers| match &noise {
        Some(noise) => securely(&mut |source| {
            each(numbers, |x| Ok(V::up_from(lower, noise.add(x.above(lower), source)?)))
        }),
        // At scale 0 or for an interval of width 0, nothing is drawn.
        None => {
            for number in numbers {
                *number = bounds.clamp(*number);
            }
            Ok(())
        }
    })
}
/// Call `make_geometric`. The function `geometric_at` also has the type argument `MO`, so that a
/// JSON document can state `MO`.
#[allow(clippy::extra_unused_type_parameters, reason = "documents state the only measure")]
fn geometric_at<D, M, MO>(
    input: Space<D, M>,
    scale: Scale,
    bounds: Option<Bounds<D::Number>>,
) -> Result<Measurement<D, M, MaxDivergence, D::Carrier>>
where
    D: Numbers,
    D::Number: GeometricNumber,
    M: MetricOn<D> + NoiseLoss<Laplace, MaxDivergence>,
{
    make_geometric(input, scale, bounds)
}

macro_rules! register_at {
    ($($t:ty: $($q:ty),+;)+) => {$(
        register! {
            "geometric.rs": make_geometric via geometric_at as ["make_geometric", "make_base_geometric"]
                (input, scale, bounds = null)
                for D in [AtomDomain<$t>],
                    M in [$(AbsoluteDistance<$q>),+] as OfAnyNumber<AbsoluteDistance<f64>>,
                    MO in [MaxDivergence] = MaxDivergence;
        }
        register! {
            "geometric.rs": make_geometric via geometric_at as ["make_geometric", "make_base_geometric"]
                (input, scale, bounds = null)
                for D in [VectorDomain<AtomDomain<$t>>],
                    M in [$(L1Distance<$q>),+] as OfAnyNumber<L1Distance<f64>>,
                    MO in [MaxDivergence] = MaxDivergence;
        }
    )+};
}
register_at! {
    i8: i8, f64; i16: i16, f64; i32: i32, f64; i64: i64, f64; i128: i128, f64;
    u8: u8, f64; u16: u16, f64; u32: u32, f64; u64: u64, f64; usize: usize, f64;
}

macro_rules! numbers {
    ($($t:ty: $unsigned:ty),*) => {$(
        impl GeometricNumber for $t {
            #[inline]
            fn above(self, lower: Self) -> u128 {
                // A difference that is not negative fits the unsigned type of the same size. For a
                // negative difference, the mask is 0, so the result is 0. The mask replaces a
                // branch. `black_box` hides the comparison from the compiler, so that the compiler
                // does not make a branch.
                let count = (self as $unsigned).wrapping_sub(lower as $unsigned) as u128;
                count & black_box(u128::from(lower <= self)).wrapping_neg()
            }
            #[inline]
            fn up_from(lower: Self, count: u128) -> Self {
                lower.wrapping_add(count as Self)
            }
        }
    )*};
}
numbers!(i8: u8, i16: u16, i32: u32, i64: u64, i128: u128, isize: usize);
numbers!(u8: u8, u16: u16, u32: u32, u64: u64, u128: u128, usize: usize);

#[cfg(test)]
mod tests;
