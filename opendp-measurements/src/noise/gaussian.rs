//! Gaussian noise on a number or on each number of a vector.

use opendp_core::{
    AbsoluteDistance, AtomDomain, L2Distance, Measure, Measurement, MetricOn, OfAnyNumber, Result,
    SmoothedMaxDivergence, Space, VectorDomain, ZeroConcentratedDivergence,
};

use crate::noise::{Numbers, noise_in};
use crate::{Gaussian, NoiseLoss, NoiseNumber, Scale};

/// Make a measurement that adds Gaussian noise to each number.
///
/// Integers get noise of the discrete Gaussian distribution, `P[Z = z]` proportional to
/// `exp(-z^2 / (2 scale^2))`. They saturate at the ends of their type; an [`IBig`] has no ends.
/// Floats get noise of the normal distribution with standard deviation `scale`. The exact sum is
/// then rounded to the nearest multiple of `2^k`, ties upward, and to a float.
///
/// # Arguments
/// * `input` - a number under the absolute distance, or a vector under the L2 distance
/// * `scale` - the scale of the noise: its standard deviation for floats, and very nearly so for
///   integers; 0 for no noise, in which case nothing is drawn
/// * `k` - the exponent of the lattice that float releases lie on. Defaults to about 40 bits below
///   the scale, so rounding is negligible compared with the noise. Integers accept only null or 0
///
/// # Precondition
/// The domain excludes NaN; otherwise there is no such space. There are no other requirements: a
/// vector may have any length. An infinity counts as the largest or lowest finite number. `scale`
/// is finite and not negative; `k` is from -1074 to 1023, for `f32` from -149 to 127.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases whose Renyi divergence of every order
/// `a > 1` is at most `a map(d_in)`: zero-concentrated privacy. Every release of a float is a
/// multiple of `2^k`, whatever the data, or the largest or lowest finite float; it is never a NaN,
/// an infinity or a negative zero.
///
/// # Map
/// `d_out = (d_in / scale)^2 / 2`, rounded up once; 0 for 0. At scale 0, any other distance gives
/// infinity. It does not depend on `k` or on the length of a vector.
/// In [`SmoothedMaxDivergence`], which [`make_gaussian_in`] offers too, it is the whole privacy
/// profile, with the distribution of the loss, so that compositions are tight:
/// [`profile_of_gaussian`], and for integers [`profile_of_discrete_gaussian`] or
/// [`profile_of_discrete_gaussian_vector`].
///
/// [`profile_of_gaussian`]: crate::accounting::profile_of_gaussian
/// [`profile_of_discrete_gaussian`]: crate::accounting::profile_of_discrete_gaussian
/// [`profile_of_discrete_gaussian_vector`]: crate::accounting::profile_of_discrete_gaussian_vector
///
/// # Proof
/// Write `x`, `y` for the numbers of two members, with `sum_i (x_i - y_i)^2 <= d_in^2`; both
/// metrics are defined this way. Let `s` be the scale and `a > 1` an order.
///
/// *Integers.* Without saturation the release of number `i` is `r` with probability
/// `exp(-(r - x_i)^2 / (2 s^2)) / W(0)`, where `W(c) = sum_r exp(-(r - c)^2 / (2 s^2))` over all
/// integers `r`; `W(x_i) = W(0)`. For every `r`, with `c = a x_i + (1 - a) y_i`,
///
/// `a (r - x_i)^2 + (1 - a) (r - y_i)^2 = (r - c)^2 - a (a - 1) (x_i - y_i)^2`.
///
/// So the divergence of order `a`, `ln(sum_r P[r]^a Q[r]^(1 - a)) / (a - 1)`, equals
/// `a (x_i - y_i)^2 / (2 s^2) + ln(W(c) / W(0)) / (a - 1)`. The last term is 0: `c` is an integer
/// when `a` is one, and in general `W(c) <= W(0)` because by Poisson's summation `W(c)` is a sum of
/// cosines of `c` with positive weights. Divergences of independent numbers add up (Bun, Steinke
/// 2016, Lemma 2.2): at most `a d_in^2 / (2 s^2)` in all (Canonne, Kamath, Steinke 2020, Theorem 4
/// for one number). Saturation is a function of the sums, so the divergence does not grow (Bun,
/// Steinke 2016, Lemma 2.2). [`discrete_gaussian`], or for small scales an [`IntegerTable`] of the
/// same law, draws the noise with exactly these probabilities for the exact rational value of
/// `scale`, and [`add_noise`] saturates the exact sum.
///
/// *Floats.* Replacing infinities does not increase any distance between members. Releasing the
/// real vector `x + s N` would lose `d_in^2 / (2 s^2)` (Bun, Steinke 2016, Proposition 1.6): the
/// computation is the one above with densities, and their integral does not depend on `c`. The
/// actual release is a function of this vector: [`gaussian`] returns the lattice point nearest to
/// the *exact* real sum, because it rounds only after the addition and uses as many digits of `N`
/// as the rounding needs; then the result is converted to the nearest float. Neither step sees the
/// data, so again the divergence does not grow, for every `k`, with no allowance for the lattice:
/// data is never rounded before the noise. It also follows that no bit of a release tells more than
/// its place on a fixed lattice (compare Mironov 2012).
///
/// *Scale 0.* The release is a function of the data: equal data give equal releases.
///
/// *Rounding.* The map rounds the exact rational number up to a float, once.
///
/// [`IBig`]: opendp_core::IBig
/// [`IntegerTable`]: crate::samplers::IntegerTable
/// [`add_noise`]: crate::samplers::add_noise
/// [`discrete_gaussian`]: crate::samplers::discrete_gaussian
/// [`gaussian`]: crate::samplers::gaussian
///
/// # Accuracy
/// For floats `scale t + 2^k / 2` bounds the error of a release, apart from the rounding to a
/// float, where `t` is slightly above the least value with `P[|N| > t] <= alpha`. For integers the
/// bound is `scale t`, rounded up to an integer. There is one bound for each number, or a single
/// one when a vector has unknown length or is very long.
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

/// Make a measurement that adds Gaussian noise to each number, with its loss in the measure `MO`.
///
/// This is [`make_gaussian`] for every measure in which the metric knows the loss
/// ([`NoiseLoss`]). The arguments, the precondition, the noise and the accuracy are those of
/// [`make_gaussian`].
///
/// # Map
/// `(d_in / scale)^2 / 2` in [`ZeroConcentratedDivergence`]. In [`SmoothedMaxDivergence`] the whole
/// privacy profile: [`profile_of_gaussian`], and for integers [`profile_of_discrete_gaussian`] or,
/// for vectors, [`profile_of_discrete_gaussian_vector`].
///
/// [`profile_of_gaussian`]: crate::accounting::profile_of_gaussian
/// [`profile_of_discrete_gaussian`]: crate::accounting::profile_of_discrete_gaussian
/// [`profile_of_discrete_gaussian_vector`]: crate::accounting::profile_of_discrete_gaussian_vector
///
/// # Proof
/// The proof of [`make_gaussian`] bounds the loss in [`ZeroConcentratedDivergence`]. The same
/// releases are functions of the real or integer sums whose profiles the functions above state.
///
/// # Errors
/// As [`make_gaussian`].
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
