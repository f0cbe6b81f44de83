//! Gaussian noise on a number or on each number of a vector.

use opendp_core::{
    AbsoluteDistance, AtomDomain, L2Distance, Measure, Measurement, MetricOn, OfAnyNumber, Result,
    SmoothedMaxDivergence, Space, VectorDomain, ZeroConcentratedDivergence,
};

use crate::noise::{Numbers, noise_in};
use crate::{Gaussian, NoiseLoss, NoiseNumber, Scale};

/// Make a measurement that adds Gaussian noise to each number.
///
/// Integers get noise `Z` of the discrete Gaussian distribution: `P[Z = z]` is proportional to
/// `exp(-z^2 / (2 scale^2))`. The sum of an integer and its noise saturates at the ends of the
/// integer type. An [`IBig`] has no ends. Floats get noise of the normal distribution with standard
/// deviation `scale`. The exact sum of a float and its noise is first rounded to the nearest
/// multiple of `2^k`, ties upward. This multiple is then rounded to the nearest `f64`, and for the
/// type `f32` then to the nearest `f32`.
///
/// # Arguments
/// * `input` - a number under the absolute distance, or a vector under the L2 distance
/// * `scale` - the scale of the noise. For floats, `scale` is the standard deviation. For integers,
///   the standard deviation is at most `scale`. For scales of at least 1, the standard deviation is
///   very nearly `scale`. At scale 0, no noise is added
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
/// Take any two members at distance at most `d_in`. For every order `a > 1`, the Renyi divergence
/// of order `a` of their releases is at most `a * map(d_in)`. This property is zero-concentrated
/// differential privacy. For all data, every release of a float is a multiple of `2^k`, or the
/// largest or lowest finite float. A release is never a NaN, an infinity or a negative zero.
///
/// # Map
/// `d_out = (d_in / scale)^2 / 2`, rounded up once. The distance 0 gives 0. At scale 0, any other
/// distance gives infinity. The map does not depend on `k` or on the length of a vector.
///
/// [`make_gaussian_in`] also offers the measure [`SmoothedMaxDivergence`]. In this measure, the map
/// returns the whole privacy profile and the privacy loss distribution. So the losses of
/// compositions are tight. For floats, the profile is [`profile_of_gaussian`]. For an integer, the
/// profile is [`profile_of_discrete_gaussian`]. For a vector of integers, the profile is
/// [`profile_of_discrete_gaussian_vector`].
///
/// [`profile_of_gaussian`]: crate::accounting::profile_of_gaussian
/// [`profile_of_discrete_gaussian`]: crate::accounting::profile_of_discrete_gaussian
/// [`profile_of_discrete_gaussian_vector`]: crate::accounting::profile_of_discrete_gaussian_vector
///
/// # Proof
/// Let `x`, `y` be the numbers of two members. By the definition of the absolute distance and of
/// the L2 distance, `sum_i (x_i - y_i)^2 <= d_in^2`. Let `s` be the scale and `a > 1` the order of
/// a divergence.
///
/// *Integers.* Let `W(c) = sum_r exp(-(r - c)^2 / (2 s^2))` over all integers `r`. `x_i` is an
/// integer, so `W(x_i) = W(0)`. Without saturation, the release of number `i` is `r` with
/// probability `exp(-(r - x_i)^2 / (2 s^2)) / W(0)`. Let `P[r]` be this probability, and `Q[r]` the
/// probability with `y_i` in place of `x_i`. For every `r`, with `c = a x_i + (1 - a) y_i`,
///
/// `a (r - x_i)^2 + (1 - a) (r - y_i)^2 = (r - c)^2 - a (a - 1) (x_i - y_i)^2`.
///
/// So the divergence of order `a`, `ln(sum_r P[r]^a Q[r]^(1 - a)) / (a - 1)`, equals
/// `a (x_i - y_i)^2 / (2 s^2) + ln(W(c) / W(0)) / (a - 1)`. By Poisson's summation, `W(c)` is a sum
/// of cosines of multiples of `c`, with positive weights. So `W(c) <= W(0)`, and the last term is
/// at most 0. If `a` is an integer, then `c` is an integer too, so the last term is 0. The noise of
/// different numbers is independent, so the divergences of the numbers add up (Bun, Steinke 2016,
/// Lemma 2.2). The sum of these divergences is at most `a d_in^2 / (2 s^2)` (Canonne, Kamath,
/// Steinke 2020, Theorem 4 for one number). Saturation is a function of the sums of numbers and
/// noise, so saturation does not increase the divergence (Bun, Steinke 2016, Lemma 2.2).
/// [`discrete_gaussian`] draws the noise with exactly these probabilities, for the exact rational
/// value of `scale`. For small scales, an [`IntegerTable`] draws from the same distribution.
/// [`add_noise`] saturates the exact sum.
///
/// *Floats.* The replacement of infinities does not increase any distance between members. Let `N`
/// be a vector of independent standard normal variables. If the real vector `x + s N` were
/// released, the loss would be at most `d_in^2 / (2 s^2)` (Bun, Steinke 2016, Proposition 1.6). The
/// computation is the same as for integers, with densities in place of probabilities. The integral
/// in place of `W(c)` does not depend on `c`. The actual release is a function of the real vector
/// `x + s N`. First, [`gaussian`] returns the lattice point nearest to the *exact* real sum.
/// [`gaussian`] rounds only after the addition, and uses as many digits of `N` as the rounding
/// needs. Then the result is rounded to a float. Both steps depend only on the sum, so again the
/// divergence does not grow, for every `k`. The data are never rounded before the noise is added,
/// so no rounding increases the distance `d_in`. Each release is a point of a fixed lattice, so the
/// bits of a release reveal only this point (compare Mironov 2012).
///
/// *Scale 0.* The release is a function of the data, so equal data give equal releases.
///
/// *Rounding.* The map computes `(d_in / s)^2 / 2` as an exact rational number, and rounds this
/// number up to a float once.
///
/// [`IBig`]: opendp_core::IBig
/// [`IntegerTable`]: crate::samplers::IntegerTable
/// [`add_noise`]: crate::samplers::add_noise
/// [`discrete_gaussian`]: crate::samplers::discrete_gaussian
/// [`gaussian`]: crate::samplers::gaussian
///
/// # Accuracy
/// With probability at least `1 - alpha`, the error of a release is at most the following bound.
/// For floats, the bound is `scale t + 2^k / 2`, where `t` is slightly above the least value with
/// `P[|N| > t] <= alpha` for a standard normal variable `N`. This bound does not include the error
/// of the last step, which rounds to a float. For integers, the bound is the least integer `a` for
/// which a certified upper bound on `P[|Z| > a]` is at most `alpha`. The accuracy of a vector is a
/// list with one bound for each number. If the length of a vector is unknown or very large, the
/// list contains this bound only once.
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
/// use opendp_measurements::{Scale, make_gaussian};
/// let sums = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// let release = make_gaussian(sums, Scale::new(2.0)?, Some(-10))?;
/// assert_eq!(release.map(&1.0)?, 0.125); // rho
/// assert_eq!((release.invoke(&100.0)? * 1024.0).fract(), 0.0);
/// # Ok::<(), Error>(())
/// ```
pub fn make_gaussian<D, M>(
    input: Space<D, M>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Measurement<D, M, ZeroConcentratedDivergence, D::Carrier>>
where
    D: Numbers,
    D::Number: NoiseNumber<Gaussian>,
    M: MetricOn<D> + NoiseLoss<Gaussian, ZeroConcentratedDivergence>,
{
    make_gaussian_in(input, scale, k)
}

/// Make a measurement that adds Gaussian noise to each number and states its loss in the measure
/// `MO`.
///
/// This function does the same as [`make_gaussian`], for every measure `MO` in which the loss of
/// the noise is known ([`NoiseLoss`]). The arguments, the precondition, the noise and the accuracy
/// are the same as in [`make_gaussian`].
///
/// # Map
/// In [`ZeroConcentratedDivergence`], the map returns `(d_in / scale)^2 / 2`. In
/// [`SmoothedMaxDivergence`], the map returns the privacy profile that the documentation of
/// [`make_gaussian`] names.
///
/// # Proof
/// The proof of [`make_gaussian`] bounds the loss in [`ZeroConcentratedDivergence`]. The profiles
/// that [`make_gaussian`] names are the profiles of the sums of data and noise, before rounding and
/// saturation. The releases are functions of these sums.
///
/// # Errors
/// The errors of [`make_gaussian`].
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_gaussian_in};
/// let sums = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// let release = make_gaussian_in::<_, _, SmoothedMaxDivergence>(sums, Scale::new(2.0)?, None)?;
/// let delta = release.map(&1.0)?.delta(0.0)?;
/// assert!((0.197..0.198).contains(&delta)); // P[|N| <= 1 / 4]
/// # Ok::<(), Error>(())
/// ```
pub fn make_gaussian_in<D, M, MO>(
    input: Space<D, M>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Measurement<D, M, MO, D::Carrier>>
where
    D: Numbers,
    D::Number: NoiseNumber<Gaussian>,
    M: MetricOn<D> + NoiseLoss<Gaussian, MO>,
    MO: Measure + Default,
{
    noise_in::<Gaussian, _, _, _>(input, scale, k)
}

macro_rules! register_at {
    ($($t:ty: $($q:ty),+;)+) => {$(
        register! {
            "gaussian.rs": make_gaussian via make_gaussian_in
                as ["make_gaussian", "make_base_gaussian", "make_base_discrete_gaussian"]
                (input, scale, k = null)
                for D in [AtomDomain<$t>],
                    M in [$(AbsoluteDistance<$q>),+] as OfAnyNumber<AbsoluteDistance<f64>>,
                    MO in [ZeroConcentratedDivergence, SmoothedMaxDivergence] = ZeroConcentratedDivergence;
        }
        register! {
            "gaussian.rs": make_gaussian via make_gaussian_in
                as ["make_gaussian", "make_base_gaussian", "make_base_discrete_gaussian"]
                (input, scale, k = null)
                for D in [VectorDomain<AtomDomain<$t>>],
                    M in [$(L2Distance<$q>),+] as OfAnyNumber<L2Distance<f64>>,
                    MO in [ZeroConcentratedDivergence, SmoothedMaxDivergence] = ZeroConcentratedDivergence;
        }
    )+};
}
each_number!(register_at);

#[cfg(test)]
mod tests;
