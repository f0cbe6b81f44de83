//! The canonical noise of approximate differential privacy.

use super::{geometric::Geometric, uniform::LazyUniform};
use dashu_int::{IBig, Sign, UBig};
use opendp_core::arith::{dyadic, fixed};
use opendp_core::random::{NoEntropy, RandomSource, big_uniform_below};

/// Noise `N` that makes `x + N` (epsilon, delta)-differentially private if `x` changes by at most 1
/// between neighbours.
///
/// This noise has the canonical noise distribution of (epsilon, delta)-differential privacy (Awan,
/// Vadhan 2023, "Canonical noise distributions and private hypothesis tests", Definition 3.1 and
/// Theorem 3.3). For binary data, there are hypothesis tests with this noise that are uniformly
/// most powerful among all tests with the same guarantee.
///
/// # Distribution
///
/// Let `b = e^-epsilon`, `c = (1 - delta) b / (1 + b)` and `D = 1 - 2c`. Let `t = k - 1/2 + theta`,
/// where `k` is an integer and `theta` is from 0 to 1. For `|y| < t`, the density of `N` at `y` is
/// `D b^m`, where `m = floor(|y| + 1/2)` is the integer nearest to `|y|`. For `|y| >= t`, the
/// density is zero. `k` and `theta` follow from one condition: on each side, the outermost interval
/// of length 1 has probability `delta`. If delta is 0, the noise is unbounded. Let `c_j` be the
/// probability that `N < -1/2 - j`. Then `c_0 = (1 - D) / 2 = c`. For `-t < y < -1/2`, the density
/// at `y` is `b` times the density at `y + 1`. So `c_(j+1) = b (c_j - delta)` while `c_j > delta`.
/// Let `j` be the first index with `c_j <= delta`. Then `k = j + 1` and `theta = c_j / (D b^k)`.
/// The solution of these equations is
///
/// `j = max(0, ceil(ln A / epsilon))`, `A = b + (1 - delta) b (1 - b) / (delta (1 + b))`,
/// `theta = (1 - delta - delta (b^-j - 1) (1 + b) / (1 - b)) / (1 - b + 2 delta b)`.
///
/// No integer `n >= 0` equals `ln A / epsilon`. Otherwise, `A` would be `b^-n`, and `b` would be
/// the root of a polynomial with rational coefficients. The constant coefficient of the polynomial
/// would be delta, which is not 0. But `b` is transcendental (Lindemann 1882). So a finite
/// precision is enough to decide `j`.
///
/// # Sampling
///
/// `N` is in step `z` if `N` rounds to the integer `z`. Within a step, `N` is uniform. Step `z` is
/// drawn with probability proportional to `b^|z|`. The place of `N` in its step is a number `W`
/// from 0 to 1. In step 0, `N = W - 1/2`. In the other steps, `N` has the sign of `z`, and
/// `|N| = |z| - 1/2 + W`. In the steps `k` and `-k`, only places up to `theta` are accepted. On
/// average, at least one proposal in three is accepted. There are two exact ways to propose a step:
///
/// * If `k epsilon >= 1` or delta is 0: draw two independent geometric numbers. For each number,
///   make independent trials that fail with probability `e^-epsilon`. The number counts the
///   failures before the first success. The difference of the two numbers is `z` with probability
///   proportional to `b^|z|`. With a positive delta, this difference is rejected if `|z| > k`.
/// * Otherwise: draw `z` uniformly from `-k` to `k`. Then draw one geometric number, with the same
///   distribution as each of the two numbers in the first way. If this number is at least `|z|`,
///   `z` is accepted. The probability of acceptance is `b^|z|`.
///
/// The place in the step is a uniform real `W`. In the steps `k` and `-k`, digits of `W` are drawn
/// until they decide whether `W < theta`. With each new digit, bounds of `theta` are computed with
/// a higher precision. Then more digits are drawn until they decide to which float the sum of
/// [`CanonicalNoise::add`] rounds. Neither a probability nor `e^epsilon` is rounded.
#[derive(Clone, Debug)]
pub struct CanonicalNoise {
    epsilon: Positive,
    failures: Geometric,
    end: Option<End>,
}

/// A positive number `mantissa 2^exponent`.
#[derive(Clone, Debug)]
struct Positive {
    mantissa: UBig,
    exponent: i64,
}
impl Positive {
    fn new(x: f64) -> Option<Self> {
        let (mantissa, exponent) = dyadic::dyadic(x).filter(|_| 0.0 < x)?;
        Some(Self { mantissa: mantissa.into_parts().1, exponent: exponent.into() })
    }
    /// Count the bits of the number after the binary point.
    fn places(&self) -> usize {
        usize::try_from(-self.exponent).unwrap_or(0)
    }
    /// Return the number in units of `2^-bits`. `bits` is at least [`places`](Self::places).
    fn units(&self, bits: usize) -> IBig {
        let shift = usize::try_from(self.exponent + bits as i64).unwrap_or(0);
        IBig::from(&self.mantissa << shift)
    }
}

/// The end of the range of bounded noise.
#[derive(Clone, Debug)]
struct End {
    delta: Positive,
    /// The outermost step, `k`.
    step: UBig,
    /// If true, the proposed step is uniform from `-k` to `k`. If false, the proposed step is the
    /// difference of two geometric numbers.
    flat: bool,
}

/// A lower and an upper bound of a real number. Each function states the unit of both bounds.
type Enclosure = (IBig, IBig);

impl CanonicalNoise {
    /// Make the noise for an epsilon and a delta. Return `None` if epsilon is not positive or not
    /// finite, or if delta is not from 0 to 1.
    pub fn new(epsilon: f64, delta: f64) -> Option<Self> {
        if !(0.0..=1.0).contains(&delta) {
            return None;
        }
        let failures = Geometric::from_rate(epsilon);
        let epsilon = Positive::new(epsilon)?;
        let end = Positive::new(delta).map(|delta| {
            let step = last_full_step(&epsilon, &delta) + UBig::ONE;
            // Steps are proposed uniformly if k epsilon < 1.
            let product = &step * &epsilon.mantissa;
            let unit = UBig::ONE << epsilon.places();
            let flat = epsilon.exponent < 0 && product < unit;
            End { delta, step, flat }
        });
        Some(Self { epsilon, failures, end })
    }

    /// Draw `N`, and return the float nearest to `x + d N`. A sum beyond the finite floats is
    /// clamped to `±f64::MAX`.
    ///
    /// `x` and `d` must be finite. Digits of the noise are drawn until all values of `N` that begin
    /// with these digits give the same float. So the result is a function of the exact sum
    /// `x + d N`.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn add<S: RandomSource>(&self, x: f64, d: f64, source: &mut S) -> Result<f64, NoEntropy> {
        let (step, mut place) = self.draw(source)?;
        let (x, x_exponent) = dyadic::dyadic(x).unwrap_or_default();
        let (d, d_exponent) = dyadic::dyadic(d).unwrap_or_default();
        // In step m, the noise is N = ±(m - 1/2 + W) with the place W in the step. In step 0 the
        // sign is +.
        let negative = step.sign() == Sign::Negative;
        let (_, magnitude) = step.into_parts();
        let before = IBig::from(magnitude << 1_usize) - IBig::ONE;
        loop {
            let bits = place.bits();
            let sum = |numerator: &UBig| {
                // Compute m - 1/2 + W in units of 2^-(bits + 1). Then write `x` and `d N` in one
                // common unit, the smaller of the units of these two terms.
                let noise = (&before << bits) + (IBig::from(numerator.clone()) << 1_usize);
                let term = if negative { -(&d * noise) } else { &d * noise };
                let exponent = i64::from(d_exponent) - bits as i64 - 1;
                let unit = exponent.min(x_exponent.into());
                let up = |n: IBig, exponent: i64| n << (exponent - unit).unsigned_abs() as usize;
                let exact = up(x.clone(), x_exponent.into()) + up(term, exponent);
                dyadic::to_f64_nearest(&exact, unit).clamp(-f64::MAX, f64::MAX) + 0.0
            };
            let (first, other) = (sum(place.numerator()), sum(&(place.numerator() + UBig::ONE)));
            if first.to_bits() == other.to_bits() {
                return Ok(first);
            }
            place.refine(source)?;
        }
    }

    /// Draw the step with a sign, and the place in the step. In each step except step 0, a larger
    /// place is farther from 0.
    fn draw<S: RandomSource>(&self, source: &mut S) -> Result<(IBig, LazyUniform), NoEntropy> {
        loop {
            let step = self.propose(source)?;
            let Some(end) = &self.end else { return Ok((step, LazyUniform::draw(source)?)) };
            let (_, magnitude) = step.clone().into_parts();
            if end.flat && self.failures.draw_unbounded(source)? < magnitude {
                continue;
            }
            if end.step < magnitude {
                continue;
            }
            let mut place = LazyUniform::draw(source)?;
            if magnitude < end.step || self.is_inside(end, &mut place, source)? {
                return Ok((step, place));
            }
        }
    }
    fn propose<S: RandomSource>(&self, source: &mut S) -> Result<IBig, NoEntropy> {
        match &self.end {
            Some(end) if end.flat => {
                let count = (&end.step << 1_usize) + UBig::ONE;
                Ok(IBig::from(big_uniform_below(&count, source)?) - IBig::from(end.step.clone()))
            }
            _ => {
                let up = self.failures.draw_unbounded(source)?;
                Ok(IBig::from(up) - IBig::from(self.failures.draw_unbounded(source)?))
            }
        }
    }
    /// Decide whether a place in the outermost step is below `theta`, the end of the noise in this
    /// step.
    fn is_inside<S: RandomSource>(
        &self,
        end: &End,
        place: &mut LazyUniform,
        source: &mut S,
    ) -> Result<bool, NoEntropy> {
        loop {
            let more = 8;
            let (lo, hi) = self.last_part(end, place.bits() + more);
            let n = place.numerator();
            if IBig::from((n + UBig::ONE) << more) <= lo {
                return Ok(true);
            }
            if hi <= IBig::from(n << more) {
                return Ok(false);
            }
            place.refine(source)?;
        }
    }
    /// Enclose `theta` (see [`CanonicalNoise`]) in units of `2^-bits`. The enclosure is at most 4
    /// units wide.
    fn last_part(&self, end: &End, bits: usize) -> Enclosure {
        let (epsilon, delta) = (&self.epsilon, &end.delta);
        let full = IBig::from(&end.step - UBig::ONE);
        let mut w = bits + 64 + delta.places();
        loop {
            let unit = IBig::ONE << w;
            let (b, d) = (decay(epsilon, &IBig::ONE, w), delta.units(w));
            let odds = odds(&b, &unit);
            let growth = decay(epsilon, &-&full, w);
            // Each product is shifted right to units of 2^-w. Lower bounds are rounded down, and
            // upper bounds are rounded up.
            let lost_hi = odds.1.map(|odds| up(&d * up((growth.1 - &unit) * odds, w), w));
            let lost_lo = (&d * (((growth.0 - &unit) * odds.0) >> w)) >> w;
            let twice = &d << 1_usize;
            let rest_lo = &unit - &b.1 + ((&twice * &b.0) >> w);
            let rest_hi = &unit - &b.0 + up(&twice * &b.1, w);
            if let Some(lost_hi) = lost_hi.filter(|_| IBig::ZERO < rest_lo) {
                let (lower, upper) = (&unit - &d - lost_hi, &unit - &d - lost_lo);
                let lo = (lower.max(IBig::ZERO) << bits) / rest_hi;
                let hi = ceiling(upper.max(IBig::ZERO) << bits, &rest_lo).min(IBig::ONE << bits);
                if &hi - &lo <= IBig::from(4) {
                    return (lo, hi);
                }
            }
            w *= 2;
        }
    }
}

/// Find `j` of [`CanonicalNoise`], the number of whole steps on each side of the middle step.
fn last_full_step(epsilon: &Positive, delta: &Positive) -> UBig {
    let mut w = 128 + delta.places() + epsilon.places();
    loop {
        let unit = IBig::ONE << w;
        let (b, d) = (decay(epsilon, &IBig::ONE, w), delta.units(w));
        // Compute a lower and an upper bound on A = b + (1 - delta) b / (delta odds), where b =
        // e^-epsilon and odds = (1 + b) / (1 - b).
        let odds = odds(&b, &unit);
        let gain = (&unit - &d) << (2 * w);
        let hi = &b.1 + ceiling(&gain * &b.1, &((&d * odds.0) << w));
        if hi <= unit {
            return UBig::ZERO;
        }
        let lo = odds.1.map_or(IBig::ZERO, |odds| &b.0 + &gain * &b.0 / ((&d * odds) << w));
        if unit < lo {
            // Compute ceil(ln A / epsilon) for ln A in units of 2^-w.
            let quotient = |ln: IBig| {
                let shift = w as i64 + epsilon.exponent;
                let count = shift.unsigned_abs() as usize;
                let mantissa = IBig::from(epsilon.mantissa.clone());
                if shift < 0 {
                    ceiling(ln << count, &mantissa)
                } else {
                    ceiling(ln, &(mantissa << count))
                }
            };
            let ln = |a: IBig| fixed::ln(&a.into_parts().1, -(w as i64), w);
            let (lower, upper) = (quotient(ln(lo).0), quotient(ln(hi).1));
            if lower == upper {
                return upper.into_parts().1;
            }
        }
        w *= 2;
    }
}

/// Enclose `e^(-times epsilon)` in units of `2^-bits`.
fn decay(epsilon: &Positive, times: &IBig, bits: usize) -> Enclosure {
    let places = epsilon.places();
    let (lo, hi) = fixed::exp(&-(epsilon.units(places) * times), places, bits);
    (lo.into(), hi.into())
}
/// Enclose `(1 + b) / (1 - b)`. `b` and the result are in units of `1 / unit`. The upper bound is
/// `None` if the upper bound of `b` is 1.
fn odds(b: &Enclosure, unit: &IBig) -> (IBig, Option<IBig>) {
    let bits = unit.trailing_zeros().unwrap_or(0);
    let lo = ((unit + &b.0) << bits) / (unit - &b.0);
    let hi = (b.1 < *unit).then(|| ceiling((unit + &b.1) << bits, &(unit - &b.1)));
    (lo, hi)
}
/// Divide numbers that are not negative, and round up.
fn ceiling(dividend: IBig, divisor: &IBig) -> IBig {
    (dividend + divisor - IBig::ONE) / divisor
}
/// Shift an integer to the right by `count` bits, and round up.
fn up(n: IBig, count: usize) -> IBig {
    fixed::ceil_shift(&n, count)
}

#[cfg(test)]
mod tests;
