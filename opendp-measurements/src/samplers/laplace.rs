//! Exact continuous Laplace noise, rounded to a lattice only after the addition.

use super::FloatNoise;
use opendp_core::random::{NoEntropy, RandomSource};

/// Add exact Laplace noise to a float and round the sum to a lattice.
///
/// Let `L` be a real Laplace variable with the density `e^(-|t|) / 2` at `t`. The result is the
/// float nearest to `m 2^k`, with `m = floor(x / 2^k + 1/2 + (scale / 2^k) L)`. So `m 2^k` is the
/// lattice point nearest to the real number `x + scale L`. A tie is rounded up.
///
/// `|L|` is a standard exponential variable. `|L|` is drawn by rejection. The envelope is a
/// function that is at least the density `e^-t` of `|L|` at every `t >= 0`. The envelope is
/// constant on intervals (the strips). The digits of `|L|` are drawn only when a decision needs
/// them.
///
/// # Exactness
///
/// `x` and `scale` are the rational numbers that the floats represent. `L` and the sum are real
/// numbers. Rounding happens only after the addition. So the release is a function of the sum
/// `x + scale L`, which the ideal Laplace mechanism releases (Dwork, McSherry, Nissim, Smith 2006).
/// Let `x'` be the value of a neighbour. For every lattice, the loss of the release is at most the
/// ideal loss `|x - x'| / scale`. The use of floats adds no loss (compare Mironov 2012, "On
/// significance of the least significant bits for differential privacy").
///
/// A sum beyond the finite floats is clamped to `±f64::MAX`. A result of zero is always `+0`. `k`
/// is clamped to `[-1074, 1023]`. The value `x` must be finite. Scale 0 adds nothing and draws
/// nothing. A negative scale counts as its magnitude. If `x` or the scale is infinite or NaN, this
/// argument counts as some number of magnitude `f64::MAX` or more.
///
/// Cost: if `k` is from -966 to 970 and `scale / 2^k < 2^50`, a call takes about 35 ns and draws
/// about two random words, for every `x`. This cost also applies if `scale / 2^k` is from `2^50` to
/// `2^57` and `|x / 2^k| < 2^62`. In other cases, a call takes about a microsecond. Big integers
/// decide the rounding with a probability of about `2^-51 + 2^-61 scale / 2^k`. Big integers also
/// decide in the tail of the envelope, which has a probability below `2^-10`.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
#[inline]
pub fn laplace<S: RandomSource>(
    x: f64,
    scale: f64,
    k: i32,
    source: &mut S,
) -> Result<f64, NoEntropy> {
    FloatNoise::laplace(scale, k).add(x, source)
}

#[cfg(test)]
mod tests {
    use super::super::tests::short_tapes::{check_ends, check_extremes};
    use super::*;
    use opendp_core::random::{Failing, Seeded, Tape};

    #[test]
    fn scale_zero_rounds_and_draws_nothing() {
        let mut source = Failing::default();
        assert_eq!(laplace(0.3, 0.0, -2, &mut source), Ok(0.25));
        assert_eq!(laplace(0.375, 0.0, -2, &mut source), Ok(0.5));
        assert_eq!(source.attempts(), 0);
        assert_eq!(laplace(0.3, 1.0, -2, &mut source), Err(NoEntropy));
    }

    #[test]
    fn a_tape_that_ends_is_reported_wherever_it_ends() {
        for (scale, k) in [(1.0, 0), (1.0, -40), (1e-3, 5), (1.0, -1074), (1e300, 0)] {
            check_ends(5, |tape: &mut Tape<4>| laplace(0.7, scale, k, tape));
        }
    }

    #[test]
    fn a_value_just_below_a_half_step_is_not_rounded_before_the_noise() {
        // The exact sum x + 1/2 is 1 - 2^-54, and its floor is 0. If the sum were first rounded to
        // a float, the float and its floor would be 1.
        let x = 0.5_f64.next_down();
        let mut source = Seeded::<64>::new(10);
        for _ in 0..100 {
            assert_eq!(laplace(x, 1e-100, 0, &mut source), Ok(0.0));
        }
    }

    #[test]
    fn extreme_arguments_stay_finite() {
        check_extremes(laplace);
    }

    #[test]
    fn tiny_noise_around_a_half_step_moves_the_result_both_ways() {
        // The sum differs from 1/2 by much less than the spacing of floats near 1/2. If the sum
        // were first rounded to a float, every result would be 1.
        let mut source = Seeded::<64>::new(7);
        let mut up = 0;
        for _ in 0..1000 {
            let y = laplace(0.5, 5e-324, 0, &mut source).unwrap();
            assert!(y == 0.0 || y == 1.0);
            up += i32::from(y == 1.0);
        }
        assert!((400..600).contains(&up), "{up}");
    }

    #[test]
    fn a_sum_beyond_the_floats_is_clamped_with_its_sign() {
        let mut source = Seeded::<64>::new(8);
        let mut seen = [false; 2];
        for _ in 0..100 {
            let y = laplace(f64::MAX, f64::MAX, 900, &mut source).unwrap();
            seen[0] |= y == f64::MAX;
            let y = laplace(-f64::MAX, f64::MAX, 900, &mut source).unwrap();
            seen[1] |= y == -f64::MAX;
        }
        assert_eq!(seen, [true; 2]);
    }
}
