//! Exact continuous Gaussian noise that is added to a float. Only the sum is rounded to a lattice.

use super::FloatNoise;
use opendp_core::random::{NoEntropy, RandomSource};

/// Add exact Gaussian noise to a float and round the sum to a lattice.
///
/// Let `N` be a real variable of the standard normal distribution. The result is the float nearest
/// to `m 2^k`, with `m = floor(x / 2^k + 1/2 + (sigma / 2^k) N)`. So `m 2^k` is the lattice point
/// nearest to the real number `x + sigma N`. A tie is rounded up.
///
/// `|N|` has a density proportional to `e^(-t^2 / 2)` at `t >= 0`. `|N|` is drawn by rejection. The
/// envelope is a function that is at least this density at every `t`. On each of several intervals
/// (the strips), the envelope is constant. A point is drawn uniformly in a strip. The point is
/// accepted if a uniform `V` from 0 to 1 is below the quotient of the density and the envelope at
/// the point. For 96 % of the points, the strip and `V` alone decide whether the point is accepted.
///
/// # Exactness
///
/// The point and `V` are real numbers. The digits of the point and of `V` are drawn until they
/// decide whether the point is accepted. Then more digits of the point are drawn until they decide
/// the rounding. This method is from Karney 2016 ("Sampling exactly from the normal distribution",
/// arXiv:1303.6257). So every decision is a function of the real numbers, and the result has
/// exactly the distribution that the formula for `m` gives. In this formula, `x` and `sigma` are
/// the rational numbers that the floats represent. The sum is rounded once, after the addition. So,
/// for every lattice, the release is a function of `x + sigma N`, which the ideal Gaussian
/// mechanism releases.
///
/// A sum beyond the finite floats is clamped to `±f64::MAX`. A result of zero is always `+0`. `k`
/// is clamped to `[-1074, 1023]`. The value `x` must be finite. Sigma 0 adds nothing and draws
/// nothing. A negative sigma counts as its magnitude. If `x` or `sigma` is infinite or NaN, this
/// argument counts as some number of magnitude `f64::MAX` or more.
///
/// Cost: if `k` is from -966 to 970 and `sigma / 2^k < 2^50`, a call takes about 35 ns and draws
/// about two random words, for every `x`. This cost also applies if `sigma / 2^k` is from `2^50` to
/// `2^57` and `|x / 2^k| < 2^62`. In other cases, a call takes about a microsecond. Big integers
/// decide the rounding with a probability of about `2^-51 + 2^-61 sigma / 2^k`.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
#[inline]
pub fn gaussian<S: RandomSource>(
    x: f64,
    sigma: f64,
    k: i32,
    source: &mut S,
) -> Result<f64, NoEntropy> {
    FloatNoise::gaussian(sigma, k).add(x, source)
}

#[cfg(test)]
mod tests {
    use super::super::tests::short_tapes::{check_ends, check_extremes};
    use super::*;
    use opendp_core::random::{Failing, Seeded, Tape};

    #[test]
    fn sigma_zero_rounds_and_draws_nothing() {
        let mut source = Failing::default();
        assert_eq!(gaussian(0.3, 0.0, -2, &mut source), Ok(0.25));
        assert_eq!(gaussian(0.375, 0.0, -2, &mut source), Ok(0.5));
        assert_eq!(source.attempts(), 0);
        assert_eq!(gaussian(0.3, 1.0, -2, &mut source), Err(NoEntropy));
    }

    #[test]
    fn a_tape_that_ends_is_reported_wherever_it_ends() {
        for (sigma, k) in [(1.0, 0), (1.0, -40), (1e-3, 5), (1.0, -1074), (1e300, 0)] {
            check_ends(5, |tape: &mut Tape<4>| gaussian(0.7, sigma, k, tape));
        }
    }

    #[test]
    fn extreme_arguments_stay_finite() {
        check_extremes(gaussian);
    }

    #[test]
    fn tiny_noise_around_a_half_step_moves_the_result_both_ways() {
        let mut source = Seeded::<64>::new(7);
        let mut up = 0;
        for _ in 0..1000 {
            let y = gaussian(0.5, 5e-324, 0, &mut source).unwrap();
            assert!(y == 0.0 || y == 1.0);
            up += i32::from(y == 1.0);
        }
        assert!((400..600).contains(&up), "{up}");
        // The exact sum x + 1/2 is 1 - 2^-54, and its floor is 0. If the sum were first rounded to
        // a float, the float and its floor would be 1.
        let x = 0.5_f64.next_down();
        assert!((0..100).all(|_| gaussian(x, 1e-100, 0, &mut source) == Ok(0.0)));
    }
}
