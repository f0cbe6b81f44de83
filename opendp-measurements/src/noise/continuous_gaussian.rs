//! Noise of the continuous normal distribution, for all number types. The sum of a number and its
//! noise is rounded.

use opendp_core::{Measurement, MetricOn, PrivacyMap, Result, Space, ZeroConcentratedDivergence};

use crate::noise::distribution::ContinuousGaussian;
use crate::noise::{Noise, Numbers, map_of, noisy};
use crate::{Gaussian, NoiseLoss, NoiseNumber, Scale};

/// Make a measurement that adds normal (continuous Gaussian) noise to each number and rounds the
/// sum.
///
/// On floats, [`make_gaussian`](crate::make_gaussian) makes the same measurement. On integers,
/// `make_gaussian` adds noise of the *discrete* Gaussian distribution. Both kinds of noise have the
/// same bound in zero-concentrated divergence. But at some epsilons, discrete noise has a larger
/// delta than normal noise. With normal noise, the largest loss of a vector equals the loss of one
/// number that changes by `d_in`. A composition of such releases also has the loss of one number
/// with normal noise. So the loss of a composition is known exactly.
///
/// # Arguments
/// * `input` - a number under the absolute distance, or a vector under the L2 distance
/// * `scale` - the standard deviation of the noise before the rounding. At scale 0, no noise is
///   added
/// * `k` - the exponent of the lattice of float releases, as in
///   [`make_gaussian`](crate::make_gaussian). Integers accept only null or 0
///
/// # Precondition
/// The precondition of [`make_gaussian`](crate::make_gaussian).
///
/// # Postcondition
/// Let `mu = d_in / scale`. Any two members at distance at most `d_in` give releases that are
/// `mu`-GDP (Gaussian differential privacy with the parameter `mu`). This property bounds the power
/// of every test that distinguishes the two releases. Each test has at most the power of the best
/// test of the same level between `N(0, 1)` and `N(mu, 1)` (Dong, Roth, Su 2022). In particular,
/// for every order `r > 1`, the Renyi divergence of the releases is at most `r map(d_in)`. Releases
/// of integers saturate at the ends of their type.
///
/// # Map
/// `d_out = (d_in / scale)^2 / 2`, rounded up once. This number is `mu^2 / 2`. The distance 0 gives
/// 0. At scale 0, any other distance gives infinity.
///
/// # Proof
/// Let `s` be the scale, and `x`, `y` the numbers of two members, with
/// `sum_i (x_i - y_i)^2 <= d_in^2`. Let `N` be a vector of independent standard normal variables
/// `N_i`. A rotation does not change the law of `N`. After a suitable rotation, `x` and `y` differ
/// in only one coordinate. So the real vectors `x + s N` and `y + s N` are `mu`-GDP (Dong, Roth, Su
/// 2022, on the Gaussian mechanism). The release on `x` is a function of `x + s N`, and the release
/// on `y` is the same function of `y + s N`. For floats, the proof of
/// [`make_gaussian`](crate::make_gaussian) gives this function. For integers, [`rounded_gaussian`]
/// draws `r = floor(s N_i + 1/2)` exactly. `x_i` is an integer, so `x_i + r` is
/// `floor(x_i + s N_i + 1/2)`. The release is `x_i + r`, saturated at the ends of the type.
/// Post-processing does not increase the loss. So the releases of the two members are also `mu`-GDP
/// (Dong, Roth, Su 2022). Their Renyi divergence is at most the divergence of the real vectors
/// (Bun, Steinke 2016, Proposition 1.6 and Lemma 2.2).
///
/// [`rounded_gaussian`]: crate::samplers::rounded_gaussian
///
/// # Accuracy
/// With probability at least `1 - alpha`, the error of a release is at most `scale t + 2^k / 2`.
/// Here, `t` is slightly above the least value with `P[|N| > t] <= alpha` for a standard normal
/// variable `N`. For integers, `k` is 0. For floats, this bound does not include the error of the
/// last step, which rounds to a float.
///
/// # Errors
/// The errors of [`make_gaussian`](crate::make_gaussian).
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_continuous_gaussian};
/// let counts = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::new())?;
/// let release = make_continuous_gaussian(counts, Scale::new(4.0)?, None)?;
/// assert_eq!(release.map(&1)?, 0.03125); // rho. The release is 1/4-GDP.
/// assert!((release.invoke(&1000)? - 1000).abs() < 100); // fails with probability below 1e-130
/// # Ok::<(), Error>(())
/// ```
pub fn make_continuous_gaussian<D, M>(
    input: Space<D, M>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Measurement<D, M, ZeroConcentratedDivergence, D::Carrier>>
where
    D: Numbers,
    D::Number: NoiseNumber<ContinuousGaussian>,
    M: MetricOn<D> + NoiseLoss<Gaussian, ZeroConcentratedDivergence>,
{
    // Integers also get continuous noise, so all number types have the map of floats.
    noisy(input, Noise::of::<ContinuousGaussian>, scale, k, map_of_floats)
}
/// Build the privacy map of floats. See [`map_of`] for the C ABI.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn map_of_floats<M>(scale: Scale, _: bool) -> PrivacyMap<M, ZeroConcentratedDivergence>
where
    M: NoiseLoss<Gaussian, ZeroConcentratedDivergence>,
{
    map_of::<Gaussian, _, _>(scale, false)
}

#[cfg(test)]
mod tests {
    use opendp_core::arith::Exact;
    use opendp_core::{AbsoluteDistance, AtomDomain, L2Distance, VectorDomain};

    use super::*;
    use crate::accounting::normal_tail;

    fn counts(
        scale: f64,
    ) -> Measurement<AtomDomain<i64>, AbsoluteDistance<i64>, ZeroConcentratedDivergence, i64> {
        let space = Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap();
        make_continuous_gaussian(space, Scale::new(scale).unwrap(), None).unwrap()
    }

    #[test]
    fn an_integer_gets_the_mass_of_its_unit_interval() {
        let (scale, x, draws) = (0.8, i64::MAX - 3, 200_000_u32);
        let release = counts(scale);
        let mut seen = [0_u32; 7];
        for _ in 0..draws {
            let noise = release.invoke(&x).unwrap() - x;
            seen[(noise + 3).clamp(0, 6) as usize] += 1;
        }
        let tail = |edge: f64| normal_tail(edge / scale).unwrap().lower;
        for (place, count) in seen.into_iter().enumerate() {
            let low = place as f64 - 3.5;
            // Releases saturate at the largest integer of the type. So the last count includes all
            // larger sums.
            let beyond = if place == 6 { 0.0 } else { tail(low + 1.0) };
            let above = if place == 0 { 1.0 } else { tail(low) };
            let expected = f64::from(draws) * (above - beyond);
            let off = (f64::from(count) - expected).abs() / expected.max(1.0).sqrt();
            // The probability that any of the seven assertions fails by chance is below 1e-15.
            assert!(off < 9.0, "{place}: {count}, expected {expected}");
        }
    }
    #[test]
    fn states_the_exact_loss_of_the_normal_shift() {
        let release = counts(3.0);
        assert_eq!(
            release.exact_map(&4).unwrap(),
            ["16".parse::<Exact>().unwrap().over(&"18".parse().unwrap())]
        );
        assert_eq!(release.map(&0).unwrap(), 0.0);
        assert_eq!(counts(0.0).map(&1).unwrap(), f64::INFINITY);
        assert_eq!(counts(0.0).invoke(&7).unwrap(), 7);
        assert_eq!(release.accuracy(1.0).unwrap(), [Some(0.5)]);
        let vectors = VectorDomain::new(AtomDomain::<i32>::default()).with_size(2);
        let space = Space::new(vectors, L2Distance::<i32>::default()).unwrap();
        let scale = Scale::new(2.0).unwrap();
        let release = make_continuous_gaussian(space, scale, None).unwrap();
        assert_eq!(release.map(&2).unwrap(), 0.5);
        assert_eq!(release.invoke(&vec![1, 2]).unwrap().len(), 2);
        let space = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::new());
        assert!(make_continuous_gaussian(space.unwrap(), scale, Some(1)).is_err());
    }
}
