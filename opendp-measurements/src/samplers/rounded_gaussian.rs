//! Continuous Gaussian noise, rounded to an integer.

use super::{lattice_strips::on_lattice, lattice_sum::Lattice, strips::HALF_NORMAL};
use opendp_core::random::{NoEntropy, RandomSource};

/// Draw the integer nearest to `sigma N`. A tie is rounded up. `N` is a real variable of the
/// standard normal distribution.
///
/// Return whether the integer is negative, and the magnitude of the integer. The magnitude
/// saturates at `u128::MAX`. This saturation does not change a sum that is clamped to an integer
/// type of at most 128 bits: see the proof of [`add_noise`](super::add_noise).
///
/// For every integer `x`, the sum `x + floor(sigma N + 1/2)` is `floor(x + sigma N + 1/2)`. So the
/// sum is a function of `x + sigma N`, the release of the ideal Gaussian mechanism.
///
/// # Exactness
///
/// The proof of [`gaussian`](super::gaussian), for `x = 0` and `k = 0`, also applies to this
/// function. The only difference is that the result is not converted to a float. Sigma 0 gives 0
/// and draws nothing. A negative sigma is replaced by its magnitude. An infinite or NaN sigma is
/// replaced by some number above `f64::MAX`.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
#[inline]
pub fn rounded_gaussian<S: RandomSource>(
    sigma: f64,
    source: &mut S,
) -> Result<(bool, u128), NoEntropy> {
    if sigma == 0.0 {
        return Ok((false, 0));
    }
    on_lattice(&HALF_NORMAL, &Lattice::new(sigma, 0), 0.0, source)
}

#[cfg(test)]
mod tests {
    use super::super::gaussian;
    use super::*;
    use opendp_core::random::{Failing, Seeded};

    #[test]
    fn is_the_gaussian_sampler_before_its_conversion_to_a_float() {
        for sigma in [5e-324, 0.3, 1.0, 42.25, 1e6, 1e15, 1e17, 1e25, 1e36] {
            let mut moved = 0;
            for seed in 0..500 {
                let mut source = Seeded::<64>::new(seed);
                let (negative, magnitude) = rounded_gaussian(sigma, &mut source).unwrap();
                let float = gaussian(0.0, sigma, 0, &mut Seeded::<64>::new(seed)).unwrap();
                let signed = magnitude as f64 * if negative { -1.0 } else { 1.0 };
                assert_eq!(signed + 0.0, float, "{sigma}");
                moved += i32::from(magnitude != 0);
            }
            assert!((1e-3 < sigma) == (0 < moved), "{sigma}");
        }
        assert_eq!(rounded_gaussian(0.0, &mut Failing::default()), Ok((false, 0)));
        assert_eq!(rounded_gaussian(1.0, &mut Failing::default()), Err(NoEntropy));
    }
    #[test]
    fn noise_beyond_floats_is_exact_to_the_last_digit() {
        // Every float above 2^53 is an even integer. So an odd result shows that the noise is not
        // rounded to a float. About half of the results must be odd.
        let mut source = Seeded::<64>::new(8);
        let odd = (0..400).filter(|_| rounded_gaussian(1e25, &mut source).unwrap().1 % 2 == 1);
        assert!((120..280).contains(&odd.count()));
        assert_eq!(rounded_gaussian(1e300, &mut source).unwrap().1, u128::MAX);
    }
}
