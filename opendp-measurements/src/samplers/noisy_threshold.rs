//! Exact comparisons of noisy numbers with one noisy threshold.

use super::{
    discrete_laplace::signed_digit, dyadic::Dyadic, exponential::LazyExponential,
    logarithm::neg_ln, score::Score,
};
use dashu_int::IBig;
use opendp_core::random::{NoEntropy, RandomSource};
use std::cmp::Ordering;

/// A threshold with Laplace noise. The noise is drawn once, and the noisy threshold is compared
/// with many noisy numbers.
///
/// # Exactness
///
/// The threshold is `t + s L` for a real Laplace variable `L` with the density `e^(-|z|) / 2` at
/// `z`. `L` is the same in all comparisons. Each noisy number is `x + r K`. Each `K` is a separate
/// variable of the same density. `t`, `s`, `x` and `r` are the exact values of the given numbers
/// and scales. The magnitudes of `K` and `L` are functions of uniform variables. Digits of these
/// uniform variables are drawn until they decide whether `x + r K` is at least `t + s L`. The
/// digits of `L` are kept for later comparisons. Floats decide a comparison only if bounds on their
/// rounding errors prove the result. So all comparisons have the same results as with real numbers.
/// If `s` or `r` is not 0, ties have probability 0. If both scales are 0, `x` is compared with `t`.
///
/// The numbers must be finite. At scale 0, there is no noise, and nothing is drawn. A negative
/// scale counts as its magnitude. A scale that is infinite or NaN counts as `f64::MAX`.
///
/// Cost: about 20 ns and one word for a comparison. With a small probability, a comparison takes
/// some microseconds. This probability is about `2^-50 a / b`, where `a` is the magnitude of the
/// numbers and `b` is the magnitude of the scales.
#[derive(Clone, Debug)]
pub struct NoisyThreshold<T> {
    threshold: T,
    noise: Option<Laplace>,
}

impl<T: Score> NoisyThreshold<T> {
    /// Draw the noise of a threshold, and make the noisy threshold.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn draw<S: RandomSource>(
        threshold: T,
        scale: f64,
        source: &mut S,
    ) -> Result<Self, NoEntropy> {
        Ok(Self { threshold, noise: Laplace::draw(scale, source)? })
    }

    /// Add fresh noise to a number, and decide whether the sum is at least the noisy threshold.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn is_reached<S: RandomSource>(
        &mut self,
        x: T,
        scale: f64,
        source: &mut S,
    ) -> Result<bool, NoEntropy> {
        let (low, high) = x.distance(self.threshold);
        let gap = if x < self.threshold { (-high, -low) } else { (low, high) };
        let (threshold, above) = (self.threshold, self.threshold <= x);
        let exact = || (bound_of(x), bound_of(threshold));
        reaches(&mut self.noise, above, gap, &exact, scale, source)
    }
}

/// Convert a number exactly to a mantissa and an exponent.
fn bound_of<T: Score>(number: T) -> Bound {
    let (mantissa, exponent) = number.dyadic();
    (Some(mantissa), exponent)
}

/// Decide whether a number with fresh noise is at least the noisy threshold, for numbers of any
/// type.
///
/// `kept` is the noise of the threshold. `above` states whether the number without noise is at
/// least the threshold without noise. If the number and the threshold have no noise, the result is
/// `above`. `gap` contains a lower and an upper bound on the number minus the threshold, both
/// without noise. `exact` returns the exact number and the exact threshold. `scale` is the scale of
/// the fresh noise.
fn reaches<S: RandomSource>(
    kept: &mut Option<Laplace>,
    above: bool,
    gap: (f64, f64),
    exact: &dyn Fn() -> (Bound, Bound),
    scale: f64,
    source: &mut S,
) -> Result<bool, NoEntropy> {
    let mut noise = Laplace::draw(scale, source)?;
    if noise.is_none() && kept.is_none() {
        return Ok(above);
    }
    let near = |noise: &Option<Laplace>| noise.as_ref().map_or((0.0, 0.0), Laplace::near);
    let (fresh, old) = (near(&noise), near(kept));
    // The floats next to a correctly rounded result enclose the exact result. The difference of two
    // equal infinities is NaN. A comparison of 0 with NaN is false, so NaN decides nothing.
    let low = ((gap.0 + fresh.0).next_down() - old.1).next_down();
    let high = ((gap.1 + fresh.1).next_up() - old.0).next_up();
    if 0.0 <= low {
        Ok(true)
    } else if high < 0.0 {
        Ok(false)
    } else {
        decide(exact(), &mut noise, kept, above, source)
    }
}

/// Decide the comparison of [`reaches`] in integers. Draw more digits for the two noise variables
/// until these digits decide the comparison.
#[cold]
#[inline(never)]
fn decide<S: RandomSource>(
    (x, threshold): (Bound, Bound),
    fresh: &mut Option<Laplace>,
    kept: &mut Option<Laplace>,
    above: bool,
    source: &mut S,
) -> Result<bool, NoEntropy> {
    loop {
        let bits = |noise: &Option<Laplace>| noise.as_ref().map_or(0, |noise| noise.e.bits());
        let precision = bits(fresh).max(bits(kept)) + 8;
        let nothing = || ((Some(IBig::ZERO), 0), (Some(IBig::ZERO), 0));
        let enclosed = |noise: &Option<Laplace>| {
            noise.as_ref().map_or_else(nothing, |noise| noise.enclose(precision))
        };
        let ((fresh_low, fresh_high), (kept_low, kept_high)) = (enclosed(fresh), enclosed(kept));
        let lower = sign([x.clone(), fresh_low], [threshold.clone(), kept_high]);
        let upper = sign([x.clone(), fresh_high], [threshold.clone(), kept_low]);
        match (lower, upper) {
            (Some(Ordering::Greater | Ordering::Equal), _) => return Ok(true),
            (_, Some(Ordering::Less)) => return Ok(false),
            _ => {}
        }
        // Draw the next digit for the variable with fewer digits.
        let refined = match (fresh.as_mut(), kept.as_mut()) {
            (Some(first), Some(other)) if other.e.bits() < first.e.bits() => other,
            (Some(first), _) => first,
            (None, Some(other)) => other,
            (None, None) => return Ok(above),
        };
        refined.e.refine(source)?;
    }
}

/// A number `m 2^e`. If `m` is `None`, the number is infinite.
type Bound = (Option<IBig>, i64);

/// Compare the sum of `plus` with the sum of `minus`. Return `None` if a number is infinite.
fn sign(plus: [Bound; 2], minus: [Bound; 2]) -> Option<Ordering> {
    let unit = plus.iter().chain(&minus).map(|(_, exponent)| *exponent).min()?;
    let total = |bounds: [Bound; 2]| {
        bounds.into_iter().try_fold(IBig::ZERO, |sum, (mantissa, exponent)| {
            Some(sum + (mantissa? << (exponent - unit).unsigned_abs() as usize))
        })
    };
    Some(total(plus)?.cmp(&total(minus)?))
}

/// The noise `scale E` or `-scale E`, for a standard exponential variable `E`.
#[derive(Clone, Debug)]
struct Laplace {
    scale: f64,
    negative: bool,
    /// The first digit of the uniform variable `U` with `E = -ln U`, and the number of bits of this
    /// digit.
    first: (u64, u32),
    e: LazyExponential,
}

impl Laplace {
    /// Draw a sign and a first digit. If the scale is 0, draw nothing and return `None`.
    fn draw<S: RandomSource>(scale: f64, source: &mut S) -> Result<Option<Self>, NoEntropy> {
        let scale = match scale.abs() {
            0.0 => return Ok(None),
            scale if scale <= f64::MAX => scale,
            _ => f64::MAX,
        };
        let (negative, digit, bits) = signed_digit(source)?;
        let e = LazyExponential::from_first(digit, bits);
        Ok(Some(Laplace { scale, negative, first: (digit, bits), e }))
    }
    /// Return a lower and an upper bound on the noise, as floats.
    fn near(&self) -> (f64, f64) {
        let (low, high) = neg_ln(self.first.0, self.first.1);
        let low = (self.scale * low).next_down().max(0.0);
        let high = (self.scale * high).next_up();
        if self.negative { (-high, -low) } else { (low, high) }
    }
    /// Return a lower and an upper bound on the noise, for the digits drawn so far.
    fn enclose(&self, precision: usize) -> (Bound, Bound) {
        let scale = Dyadic::new(self.scale);
        let (low, high) = self.e.enclose(precision);
        let exponent = i64::from(scale.exponent) - precision as i64;
        let times = |bound| IBig::from(bound * scale.mantissa);
        let (low, high) = (times(low), high.map(times));
        if self.negative {
            ((high.map(|high| -high), exponent), (Some(-low), exponent))
        } else {
            ((Some(low), exponent), (high, exponent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::tests::chi_square::chi_square;
    use opendp_core::random::{Failing, Seeded};

    /// Compute the probability that `gap + r K >= s L`, for scales `r` and `s` that differ. `K` and
    /// `L` are independent Laplace variables of scale 1.
    fn above(gap: f64, s: f64, r: f64) -> f64 {
        // Compute P[r K - s L >= z] for z >= 0.
        let tail = |z: f64| {
            let part = |a: f64, b: f64| a * a / (a * a - b * b) * (-z / a).exp() / 2.0;
            part(s, r) + part(r, s)
        };
        if gap < 0.0 { tail(-gap) } else { 1.0 - tail(gap) }
    }
    fn fit<const B: u32>(
        seed: u64,
        (x, t): (f64, f64),
        (s, r): (f64, f64),
        claimed: (f64, f64),
    ) -> f64 {
        let mut source = Seeded::<B>::new(seed);
        let draws = if B == 64 { 200_000 } else { 20_000 };
        let mut counts = [0; 2];
        for _ in 0..draws {
            let mut threshold = NoisyThreshold::draw(t, s, &mut source).unwrap();
            counts[usize::from(threshold.is_reached(x, r, &mut source).unwrap())] += 1;
        }
        let p = above(x - t, claimed.0, claimed.1);
        chi_square(&counts, &[f64::from(draws) * (1.0 - p), f64::from(draws) * p])
    }

    #[test]
    fn is_reached_with_the_probability_of_real_numbers() {
        for (seed, numbers, scales) in [
            (1, (0.0, 0.0), (1.0, 2.0)),
            (2, (3.0, 1.0), (1.0, 2.0)),
            (3, (-1.0, 4.0), (2.5, 4.0)),
            (4, (1e17, 1e17 - 32.0), (16.0, 40.0)),
        ] {
            // With words of 64 bits, floats decide nearly all comparisons. With words of 1 bit,
            // integers decide many comparisons.
            assert!(fit::<64>(seed, numbers, scales, scales) < 1.0);
            assert!(fit::<1>(seed, numbers, scales, scales) < 1.0);
            if numbers.0 != numbers.1 {
                let wrong = (scales.0 * 1.3, scales.1 * 1.3);
                assert!(1.0 < fit::<64>(seed, numbers, scales, wrong));
            }
        }
    }
    #[test]
    fn integers_beyond_floats_are_compared_as_they_are() {
        let mut source = Seeded::<64>::new(5);
        let mut threshold = NoisyThreshold::draw(u128::MAX, 1e-3, &mut source).unwrap();
        assert!(threshold.is_reached(u128::MAX, 1e-300, &mut source).is_ok());
        let mut reached = |x| threshold.is_reached(x, 1e-3, &mut source).unwrap();
        assert!(!reached(u128::MAX - 1) && !reached(0));
        let mut threshold = NoisyThreshold::draw(i128::MIN, 1e-3, &mut source).unwrap();
        assert!(threshold.is_reached(i128::MIN + 1, 1e-3, &mut source).unwrap());
    }
    #[test]
    fn tiny_noise_decides_a_tie_both_ways_and_for_good() {
        let mut source = Seeded::<64>::new(6);
        let mut reached = 0;
        for _ in 0..1000 {
            let mut threshold = NoisyThreshold::draw(0.5, 5e-324, &mut source).unwrap();
            let first = threshold.is_reached(0.5, 0.0, &mut source).unwrap();
            reached += u32::from(first);
            // All comparisons use the same noise of the threshold.
            assert!((0..5).all(|_| threshold.is_reached(0.5, 0.0, &mut source) == Ok(first)));
        }
        assert!((400..600).contains(&reached), "{reached}");
    }
    #[test]
    fn the_numbers_may_be_as_large_and_as_small_as_floats_are() {
        let mut source = Seeded::<64>::new(7);
        for x in [-f64::MAX, -1.0, 0.0, 5e-324, f64::MAX] {
            for t in [-f64::MAX, -5e-324, 0.0, 1.0, f64::MAX] {
                for scale in [5e-324, 1.0, f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
                    let mut threshold = NoisyThreshold::draw(t, scale, &mut source).unwrap();
                    threshold.is_reached(x, scale, &mut source).unwrap();
                    threshold.is_reached(x, 0.0, &mut source).unwrap();
                }
            }
        }
    }
    #[test]
    fn without_noise_nothing_is_drawn() {
        let mut source = Failing::default();
        let mut threshold = NoisyThreshold::draw(2, 0.0, &mut source).unwrap();
        assert_eq!(
            [1, 2, 3].map(|x| threshold.is_reached(x, 0.0, &mut source).unwrap()),
            [false, true, true]
        );
        assert_eq!(source.attempts(), 0);
        assert!(threshold.is_reached(1, 1.0, &mut source).is_err());
    }
}
