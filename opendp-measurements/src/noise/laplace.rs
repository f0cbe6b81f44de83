//! Laplace noise on a number or on each number of a vector.

use opendp_core::{
    AbsoluteDistance, AtomDomain, L1Distance, MaxDivergence, Measure, Measurement, MetricOn,
    OfAnyNumber, Result, SmoothedMaxDivergence, Space, VectorDomain,
};

use crate::noise::{Numbers, noise_in};
use crate::{Laplace, NoiseLoss, NoiseNumber, Scale};

/// Make a measurement that adds Laplace noise to each number.
///
/// Integers get noise `Z` of the discrete Laplace distribution: `P[Z = z]` is proportional to
/// `exp(-|z| / scale)`. The sum of an integer and its noise saturates at the ends of the integer
/// type. An [`IBig`] has no ends. Floats get noise of the continuous distribution, with density
/// proportional to `exp(-|z| / scale)`. The exact sum of a float and its noise is first rounded to
/// the nearest multiple of `2^k`, ties upward. This multiple is then rounded to the nearest `f64`,
/// and for the type `f32` then to the nearest `f32`.
///
/// # Arguments
/// * `input` - a number under the absolute distance, or a vector under the L1 distance
/// * `scale` - the scale of the noise. At scale 0, no noise is added
/// * `k` - the exponent of the lattice that float releases lie on. By default, `2^k` is about
///   `2^-40` times the scale, so rounding is negligible compared with the noise. Integers accept
///   only null or 0
///
/// # Precondition
/// The domain excludes NaN, because the metric requires a domain without NaN. A vector can have any
/// length. An infinity in the data counts as the largest or lowest finite number. `scale` is finite
/// and not negative. `k` is from -1074 to 1023, or from -149 to 127 for `f32`.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose max-divergence is at most
/// `map(d_in)`. For all data, every release of a float is a multiple of `2^k`, or the largest or
/// lowest finite float. A release is never a NaN, an infinity or a negative zero.
///
/// # Map
/// `d_out = d_in / scale`, rounded up once. The distance 0 gives 0. At scale 0, any other distance
/// gives infinity. The map does not depend on `k` or on the length of a vector.
///
/// [`make_laplace_in`] also offers the measure [`SmoothedMaxDivergence`]. In this measure, the map
/// returns the whole privacy profile and the privacy loss distribution. So the losses of
/// compositions are tight. For floats, the profile is [`profile_of_laplace`]. For integers, the
/// profile is [`profile_of_discrete_laplace`].
///
/// [`profile_of_laplace`]: crate::accounting::profile_of_laplace
/// [`profile_of_discrete_laplace`]: crate::accounting::profile_of_discrete_laplace
///
/// # Proof
/// *Integers.* Let `x`, `y` be the numbers of two members. By the definition of the absolute
/// distance and of the L1 distance, `sum_i |x_i - y_i| <= d_in`. Without saturation the release is
/// `r` with probability `prod_i c exp(-|r_i - x_i| / scale)`, where `c` does not depend on `x`. For
/// the same `r`, divide the probability for `x` by the probability for `y`. By the triangle
/// inequality, this ratio is at most `exp(sum_i |x_i - y_i| / scale) <= exp(d_in / scale)`. This
/// bound holds for every `r`, so also for every event (Ghosh, Roughgarden, Sundararajan 2012).
/// Saturation is a function of the sums, so the loss does not grow (Dwork, Roth 2014, Proposition
/// 2.1). [`discrete_laplace`] draws the noise with exactly these probabilities, for the exact
/// rational value of `scale`. For small scales, an [`IntegerTable`] draws from the same
/// distribution. [`add_noise`] saturates the exact sum.
///
/// *Floats.* The replacement of infinities does not increase any distance between members. Let `L`
/// be a vector of independent Laplace variables of scale 1. If the real vector `x + scale L` were
/// released, the loss would be at most `d_in / scale`. The proof is the same as for integers, with
/// densities in place of probabilities (Dwork, Roth 2014, Theorem 3.6). The actual release is a
/// function of this vector. First, [`laplace`] returns the lattice point nearest to the *exact*
/// real sum. [`laplace`] rounds only after the addition, and uses as many digits of `L` as the
/// rounding needs. Then the result is rounded to a float. Both steps depend only on the sum. So
/// again the loss does not grow, for every `k` (Dwork, Roth 2014, Proposition 2.1). The data are
/// never rounded before the noise is added, so no rounding increases the distance `d_in`. Each
/// release is a point of a fixed lattice, so the bits of a release reveal only this point (compare
/// Mironov 2012).
///
/// *Scale 0.* The release is a function of the data, so equal data give equal releases.
///
/// *Rounding.* The map computes `d_in / scale` as an exact rational number, and rounds this number
/// up to a float once.
///
/// [`IBig`]: opendp_core::IBig
/// [`IntegerTable`]: crate::samplers::IntegerTable
/// [`add_noise`]: crate::samplers::add_noise
/// [`discrete_laplace`]: crate::samplers::discrete_laplace
/// [`laplace`]: crate::samplers::laplace
///
/// # Accuracy
/// With probability at least `1 - alpha`, the error of a release is at most the following bound.
/// For floats, the bound is `scale ln(1 / alpha) + 2^k / 2`. This bound does not include the error
/// of the last step, which rounds to a float. For integers, the bound is the least integer `a` with
/// `P[|Z| > a] <= alpha`, or slightly more, because the computation of the bound rounds up. The
/// accuracy of a vector is a list with one bound for each number. If the length of a vector is
/// unknown or very large, the list contains this bound only once.
///
/// # Errors
/// * `MakeMeasurement` when `k` is given for integers and is not 0
/// * `FailedFunction` when `k` is out of range
/// * from the map: `FailedMap` when `d_in` is infinite, negative or NaN; `Overflow` when the loss
///   exceeds all floats
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_laplace};
/// let sums = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// let release = make_laplace(sums, Scale::new(2.0)?, Some(-10))?;
/// assert_eq!(release.map(&1.0)?, 0.5);
/// assert_eq!((release.invoke(&100.0)? * 1024.0).fract(), 0.0);
/// # Ok::<(), Error>(())
/// ```
pub fn make_laplace<D, M>(
    input: Space<D, M>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Measurement<D, M, MaxDivergence, D::Carrier>>
where
    D: Numbers,
    D::Number: NoiseNumber<Laplace>,
    M: MetricOn<D> + NoiseLoss<Laplace, MaxDivergence>,
{
    make_laplace_in(input, scale, k)
}

/// Make a measurement that adds Laplace noise to each number and states its loss in the measure
/// `MO`.
///
/// This function does the same as [`make_laplace`], for every measure `MO` in which the loss of the
/// noise is known ([`NoiseLoss`]). The arguments, the precondition, the noise and the accuracy are
/// the same as in [`make_laplace`].
///
/// # Map
/// In [`MaxDivergence`], the map returns `d_in / scale`. In [`SmoothedMaxDivergence`], the map
/// returns the privacy profile that the documentation of [`make_laplace`] names.
///
/// # Proof
/// The proof of [`make_laplace`] bounds the loss in [`MaxDivergence`]. The profiles that
/// [`make_laplace`] names are the profiles of the sums of data and noise, before rounding and
/// saturation. The releases are functions of these sums. The profiles are stated for one number.
/// The same profiles also bound the profile of a vector: see
/// [`LaplacePair`](crate::accounting::LaplacePair).
///
/// # Errors
/// The errors of [`make_laplace`].
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_laplace_in};
/// let sums = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// let release = make_laplace_in::<_, _, SmoothedMaxDivergence>(sums, Scale::new(2.0)?, None)?;
/// let profile = release.map(&1.0)?;
/// assert_eq!(profile.delta(0.5)?, 0.0); // at epsilon 1 / 2, delta is 0
/// assert!((0.22..0.23).contains(&profile.delta(0.0)?)); // 1 - exp(-1 / 4)
/// # Ok::<(), Error>(())
/// ```
pub fn make_laplace_in<D, M, MO>(
    input: Space<D, M>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Measurement<D, M, MO, D::Carrier>>
where
    D: Numbers,
    D::Number: NoiseNumber<Laplace>,
    M: MetricOn<D> + NoiseLoss<Laplace, MO>,
    MO: Measure + Default,
{
    noise_in::<Laplace, _, _, _>(input, scale, k)
}

macro_rules! register_at {
    ($($t:ty: $($q:ty),+;)+) => {$(
        register! {
            "laplace.rs": make_laplace via make_laplace_in
                as ["make_laplace", "make_base_laplace", "make_base_discrete_laplace"]
                (input, scale, k = null)
                for D in [AtomDomain<$t>],
                    M in [$(AbsoluteDistance<$q>),+] as OfAnyNumber<AbsoluteDistance<f64>>,
                    MO in [MaxDivergence, SmoothedMaxDivergence] = MaxDivergence;
        }
        register! {
            "laplace.rs": make_laplace via make_laplace_in
                as ["make_laplace", "make_base_laplace", "make_base_discrete_laplace"]
                (input, scale, k = null)
                for D in [VectorDomain<AtomDomain<$t>>],
                    M in [$(L1Distance<$q>),+] as OfAnyNumber<L1Distance<f64>>,
                    MO in [MaxDivergence, SmoothedMaxDivergence] = MaxDivergence;
        }
    )+};
}
each_number!(register_at);

#[cfg(test)]
mod tests;
