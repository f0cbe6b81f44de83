//! Geometric variables: numbers of failures before the first success.

use super::{exponential::LazyExponential, logarithm::neg_ln};
use dashu_int::{UBig, ops::BitTest};
use opendp_core::arith::{dyadic, fixed};
use opendp_core::random::{NoEntropy, RandomSource};

/// The distribution of the number of failures before the first success, in a sequence of
/// independent trials.
///
/// # Exactness
///
/// Let a trial fail with probability `e^-x`. The number `x` is called the rate. Let `E = -ln U` for
/// a uniform variable `U`. Then `E` is a standard exponential variable, and
/// `P[floor(E / x) >= m] = P[E >= m x] = e^(-m x)`. `e^(-m x)` is the probability that the first
/// `m` trials fail (Devroye 1986, "Non-Uniform Random Variate Generation", X.2). If a lower and an
/// upper float bound of `E / x` have the same floor, this floor is the result. Otherwise more
/// digits of `U` are drawn, and `E` and `x` are enclosed by integers, until the integers decide the
/// floor. No probability is ever rounded.
///
/// Cost: about 20 ns and one word, for every `x`. With a probability of about `2^-48 / x`, a draw
/// takes a few microseconds.
#[derive(Clone, Debug)]
pub struct Geometric {
    rate: Rate,
    /// A lower and an upper bound of the rate `x`. For the rates 0 and infinity, both numbers are 0
    /// and are not used.
    near: (f64, f64),
}

#[derive(Clone, Debug)]
enum Rate {
    /// The rate is infinite, so trials always succeed.
    Infinite,
    /// The rate is 0, so trials never succeed.
    Zero,
    /// The rate is `mantissa 2^exponent`.
    Float { mantissa: UBig, exponent: i64 },
    /// The rate is `-ln(failures / trials)`.
    Ratio { failures: UBig, trials: UBig },
}

impl Geometric {
    /// Make the distribution for trials that fail with probability `e^-rate`. A trial always fails
    /// if the rate is at most 0 or NaN.
    pub fn from_rate(rate: f64) -> Self {
        if rate == f64::INFINITY {
            return Self::new(Rate::Infinite);
        }
        match dyadic::dyadic(rate) {
            Some((mantissa, exponent)) if 0.0 < rate => Self::new(Rate::Float {
                mantissa: mantissa.into_parts().1,
                exponent: exponent.into(),
            }),
            _ => Self::new(Rate::Zero),
        }
    }
    /// Make the distribution for trials that succeed with probability exactly `p`. If `p` is at
    /// least 1, trials always succeed. If `p` is at most 0 or NaN, trials never succeed.
    pub fn from_probability(p: f64) -> Self {
        match dyadic::dyadic(p) {
            _ if 1.0 <= p => Self::new(Rate::Infinite),
            // A float below 1 has a negative exponent, so the probability is mantissa / trials with
            // trials = 2^-exponent.
            Some((mantissa, exponent)) if 0.0 < p => {
                let trials = UBig::ONE << exponent.unsigned_abs() as usize;
                Self::from_counts(mantissa.into_parts().1, trials)
            }
            _ => Self::new(Rate::Zero),
        }
    }
    /// Make the distribution for trials that succeed with probability `numerator / denominator`. A
    /// quotient of 1 or more counts as 1. For denominator 0, trials always succeed.
    pub fn from_ratio(numerator: u128, denominator: u128) -> Self {
        Self::from_counts(numerator.into(), denominator.into())
    }
    fn from_counts(successes: UBig, trials: UBig) -> Self {
        if trials <= successes {
            Self::new(Rate::Infinite)
        } else if successes.is_zero() {
            Self::new(Rate::Zero)
        } else {
            Self::new(Rate::Ratio { failures: &trials - successes, trials })
        }
    }
    fn new(rate: Rate) -> Self {
        let near = match &rate {
            Rate::Infinite | Rate::Zero => (0.0, 0.0),
            rate => {
                let bits = 80 + rate.leading_zeros();
                let (lo, hi) = rate.enclose(bits);
                let exponent = -(bits as i64);
                (dyadic::to_f64_down(&lo.into(), exponent), dyadic::to_f64_up(&hi.into(), exponent))
            }
        };
        Self { rate, near }
    }

    /// Draw the number of failures, saturated at `u128::MAX`.
    ///
    /// Nothing is drawn if trials always succeed or never succeed.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    ///
    /// # Bound of the fast path
    ///
    /// The result is `floor(E / x)` for a standard exponential variable `E` and the rate `x`. Let
    /// `lo` be a float lower bound of `E`, `x_hi` a float upper bound of `x`, and `v = 2^-53`. The
    /// two roundings of `lo / x_hi * (1 - 4v)` raise the result by at most the factor `(1 + v)^2`,
    /// and `(1 + v)^2 (1 - 4v) < 1`. So the result is below `E / x`. In the same way, the float
    /// upper bound of the quotient is above `E / x`, because `(1 - v)^2 (1 + 4v) > 1`. A subnormal
    /// quotient has a larger relative error. But then both this quotient and the exact quotient are
    /// below 1/2, and their floor is 0. If the rate is below all positive floats, the lower bound
    /// of the rate is 0. Then the upper bound of the quotient is not below `2^53`, and integers
    /// decide.
    #[inline]
    pub fn draw<S: RandomSource>(&self, source: &mut S) -> Result<u128, NoEntropy> {
        match self.fast(source)? {
            Ok(floor) => Ok(floor),
            Err(e) => {
                let floor = self.exact(e, Some(128), source)?;
                Ok(u128::try_from(floor).unwrap_or(u128::MAX))
            }
        }
    }

    /// Draw the number of failures without saturation. If trials never succeed, nothing is drawn,
    /// and the result is `u128::MAX`.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn draw_unbounded<S: RandomSource>(&self, source: &mut S) -> Result<UBig, NoEntropy> {
        match self.fast(source)? {
            Ok(floor) => Ok(floor.into()),
            Err(e) => self.exact(e, None, source),
        }
    }

    /// Draw a digit of an exponential variable `E`. If floats decide `floor(E / x)` for the rate
    /// `x`, return this floor. Otherwise, return `E`.
    #[inline]
    fn fast<S: RandomSource>(
        &self,
        source: &mut S,
    ) -> Result<Result<u128, LazyExponential>, NoEntropy> {
        match self.rate {
            Rate::Infinite => return Ok(Ok(0)),
            Rate::Zero => return Ok(Ok(u128::MAX)),
            _ => {}
        }
        let digit = source.word()?;
        let (lo, hi) = neg_ln(digit, S::BITS);
        let lo = lo / self.near.1 * (1.0 - 2.0 * f64::EPSILON);
        let hi = hi / self.near.0 * (1.0 + 2.0 * f64::EPSILON);
        if hi < FAST_LIMIT {
            let floor = lo as i64;
            if hi < (floor + 1) as f64 {
                return Ok(Ok(floor as u128));
            }
        }
        Ok(Err(LazyExponential::from_first(digit, S::BITS)))
    }

    /// Find `floor(E / x)` in integers, for the exponential variable `E = -ln U` and the rate `x`.
    /// Draw digits of `U` until they decide the floor.
    ///
    /// If the result has more bits than the limit, return only a lower bound on the result. This
    /// bound also has more bits than the limit.
    #[cold]
    #[inline(never)]
    fn exact<S: RandomSource>(
        &self,
        mut e: LazyExponential,
        limit: Option<usize>,
        source: &mut S,
    ) -> Result<UBig, NoEntropy> {
        let zeros = self.rate.leading_zeros();
        loop {
            // Enclose the rate, with a few more significant bits than the number of drawn bits of
            // U.
            let precision = e.bits() + zeros + 16;
            let (rate_lo, rate_hi) = self.rate.enclose(precision);
            let (lo, hi) = e.enclose(precision);
            let floor = lo / rate_hi.max(UBig::ONE);
            if limit.is_some_and(|limit| limit < floor.bit_len()) {
                return Ok(floor);
            }
            let top = hi.filter(|_| !rate_lo.is_zero()).map(|hi| hi / rate_lo);
            if top.is_some_and(|top| top == floor) {
                return Ok(floor);
            }
            e.refine(source)?;
        }
    }
}

/// If the quotient `E / x` of [`Geometric`] is at least this number, its floor is computed in
/// integers. Below this number, a cast from `f64` to `i64` gives the floor, and a cast from `i64`
/// to `f64` is exact.
const FAST_LIMIT: f64 = (1_u64 << 53) as f64;

impl Rate {
    /// Estimate the number of leading zeros of the rate after the binary point. The error is at
    /// most a few zeros.
    fn leading_zeros(&self) -> usize {
        let zeros = match self {
            Rate::Infinite | Rate::Zero => 0,
            Rate::Float { mantissa, exponent } => -exponent - mantissa.bit_len() as i64,
            // The rate is at least the probability of success. So the rate has at most as many
            // leading zeros as this probability.
            Rate::Ratio { failures, trials } => {
                trials.bit_len() as i64 - (trials - failures).bit_len() as i64
            }
        };
        usize::try_from(zeros).unwrap_or(0)
    }
    /// Return a lower and an upper bound on the rate, in units of `2^-bits`. For the rates 0 and
    /// infinity, both bounds are 0.
    fn enclose(&self, bits: usize) -> (UBig, UBig) {
        match self {
            Rate::Infinite | Rate::Zero => (UBig::ZERO, UBig::ZERO),
            Rate::Float { mantissa, exponent } => {
                let shift = exponent + bits as i64;
                let count = shift.unsigned_abs() as usize;
                if 0 <= shift {
                    (mantissa << count, mantissa << count)
                } else {
                    (mantissa >> count, (mantissa >> count) + UBig::ONE)
                }
            }
            Rate::Ratio { failures, trials } => {
                let ((trials_lo, trials_hi), (failures_lo, failures_hi)) =
                    (fixed::ln(trials, 0, bits), fixed::ln(failures, 0, bits));
                let magnitude = |bound| UBig::try_from(bound).unwrap_or(UBig::ZERO);
                (magnitude(trials_lo - failures_hi), magnitude(trials_hi - failures_lo))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::tests::chi_square::chi_square;
    use opendp_core::random::{Failing, Seeded, Tape};

    /// Count the draws of each value: 0, 1, and so on. The last count includes all larger values.
    fn counts<const B: u32>(distribution: &Geometric, bins: usize, draws: u32) -> Vec<u64> {
        let (mut source, mut counts) = (Seeded::<B>::new(1), vec![0; bins]);
        for _ in 0..draws {
            let failures = distribution.draw(&mut source).unwrap().min(bins as u128 - 1);
            counts[failures as usize] += 1;
        }
        counts
    }
    fn expected(p: f64, bins: usize, draws: u32) -> Vec<f64> {
        let q = 1.0 - p;
        let last = bins - 1;
        let mass = |m: usize| q.powi(m as i32) * if m == last { 1.0 } else { p };
        (0..bins).map(|m| mass(m) * f64::from(draws)).collect()
    }

    #[test]
    fn frequencies_are_those_of_the_probability_and_a_wrong_one_is_noticed() {
        for (distribution, p) in [
            (Geometric::from_ratio(1, 3), 1.0 / 3.0),
            (Geometric::from_ratio(99, 100), 0.99),
            (Geometric::from_ratio(u128::MAX / 50, u128::MAX), 0.02),
            (Geometric::from_probability(0.1), 0.1),
            (Geometric::from_probability(0.5), 0.5),
            (Geometric::from_rate(0.25), 1.0 - (-0.25_f64).exp()),
            (Geometric::from_rate(2.0), 1.0 - (-2.0_f64).exp()),
        ] {
            let counts_64 = counts::<64>(&distribution, 200, 100_000);
            assert!(chi_square(&counts_64, &expected(p, 200, 100_000)) < 1.0, "{p}");
            assert!(chi_square(&counts_64, &expected(p * 0.93, 200, 100_000)) > 1.0, "{p}");
            let counts_4 = counts::<4>(&distribution, 200, 10_000);
            assert!(chi_square(&counts_4, &expected(p, 200, 10_000)) < 1.0, "{p}");
        }
    }
    #[test]
    fn all_tapes_together_bracket_each_number_of_failures() {
        let quarter = 0.25_f64;
        for (distribution, p) in [
            (Geometric::from_ratio(1, 3), 1.0 / 3.0),
            (Geometric::from_probability(quarter), quarter),
            (Geometric::from_rate(0.7), 1.0 - (-0.7_f64).exp()),
        ] {
            let n = 11;
            let (mut counts, mut open) = ([0.0; 4], 0.0);
            for number in 0..1 << n {
                match distribution.draw(&mut Tape::<1>::from_bits(number, n)) {
                    Ok(failures) if failures < 4 => counts[failures as usize] += 1.0,
                    Ok(_) => {}
                    Err(NoEntropy) => open += 1.0,
                }
            }
            // Few tapes (sequences of random words) end before the result is decided. With more
            // words, such a tape could give any result.
            assert!(open < 50.0, "{open}");
            for (failures, count) in counts.iter().enumerate() {
                let exact = p * (1.0 - p).powi(failures as i32) * f64::from(1 << n);
                assert!(count - 1e-9 <= exact && exact <= count + open + 1e-9);
            }
            // The control: the counts do not fit a distribution that is shifted by one failure.
            assert!(counts[1] + open < p * f64::from(1 << n));
        }
    }
    #[test]
    fn the_float_and_the_integer_path_agree() {
        let mut source = Seeded::<64>::new(3);
        for distribution in [
            Geometric::from_ratio(1, 3),
            Geometric::from_ratio(1, 1 << 40),
            Geometric::from_probability(1e-9),
            Geometric::from_probability(1.0 - f64::EPSILON),
            Geometric::from_rate(1e-6),
            Geometric::from_rate(30.0),
        ] {
            for _ in 0..300 {
                let digit = source.word().unwrap();
                let e = LazyExponential::from_first(digit, 64);
                let exact = distribution.exact(e, None, &mut Tape::<64>::new(vec![0; 4]));
                let exact = u128::try_from(exact.unwrap()).unwrap();
                let fast = distribution.draw(&mut Tape::<64>::new(vec![digit]));
                assert!(fast == Ok(exact) || fast == Err(NoEntropy), "{distribution:?}");
            }
        }
    }
    #[test]
    fn certain_trials_draw_nothing() {
        let source = &mut Failing::default();
        for always in [
            Geometric::from_ratio(3, 3),
            Geometric::from_ratio(0, 0),
            Geometric::from_probability(1.0),
            Geometric::from_rate(f64::INFINITY),
        ] {
            assert_eq!(always.draw(source), Ok(0));
        }
        for never in [
            Geometric::from_ratio(0, 3),
            Geometric::from_probability(f64::NAN),
            Geometric::from_probability(-1.0),
            Geometric::from_rate(0.0),
            Geometric::from_rate(f64::NAN),
        ] {
            assert_eq!(never.draw(source), Ok(u128::MAX));
        }
        assert_eq!(source.attempts(), 0);
        assert_eq!(Geometric::from_ratio(1, 2).draw(source), Err(NoEntropy));
    }
    #[test]
    fn rare_successes_take_long_and_saturate() {
        let mut source = Seeded::<64>::new(5);
        assert_eq!(Geometric::from_probability(5e-324).draw(&mut source), Ok(u128::MAX));
        assert_eq!(Geometric::from_rate(5e-324).draw(&mut source), Ok(u128::MAX));
        let wide = Geometric::from_ratio(1, 1 << 100).draw(&mut source).unwrap();
        assert!(1 << 80 < wide && wide < 1 << 110);
        let long = Geometric::from_rate(5e-324).draw_unbounded(&mut source).unwrap();
        assert!((1060..1082).contains(&long.bit_len()), "{}", long.bit_len());
        assert_eq!(Geometric::from_rate(800.0).draw(&mut source), Ok(0));
    }
}
