//! Certified bounds for Gaussian noise, computed without a grid of losses.

use dashu_int::IBig;

use opendp_core::arith::cast::{dyadic, to_f64_down, to_f64_up};
use opendp_core::arith::shown;
use opendp_core::{Error, Result};

use super::Certified;
use super::normal::{Enclosure, gauss, mills, sqrt_two_pi};

/// From this argument on, the normal tail is below the smallest positive float.
const FAR: f64 = 39.0;

/// Enclose `P[N >= x]` for a standard normal variable `N`.
///
/// # Errors
/// `InvalidDistance` when `x` is not finite.
pub fn normal_tail(x: f64) -> Result<Certified> {
    let Some((mantissa, exponent)) = dyadic(x) else {
        let reason = format!("x: expected a finite number, found {}", shown(x));
        return Err(Error::InvalidDistance(reason));
    };
    if FAR < x {
        return Ok(Certified { lower: 0.0, upper: 5e-324 });
    }
    if x < -FAR {
        return Ok(Certified { lower: 1f64.next_down(), upper: 1.0 });
    }
    let negative = mantissa < IBig::ZERO;
    let bits = 160 + (x * x) as usize;
    let shift = bits as i64 + i64::from(exponent);
    let magnitude = if negative { -mantissa } else { mantissa };
    let place = if shift >= 0 {
        Enclosure::exact(magnitude << shift.unsigned_abs() as usize)
    } else {
        let lo = magnitude >> shift.unsigned_abs() as usize;
        Enclosure { hi: &lo + 1, lo }
    };
    let tail = mills(&place, bits).multiply(&density(&place, bits), bits);
    Ok(if negative { float(&complement(&tail, bits), bits) } else { float(&tail, bits) })
}

/// Enclose delta at an epsilon for Gaussian noise. The standard deviation is the sensitivity
/// divided by `mu`.
///
/// Let `a = epsilon / mu - mu / 2` and `b = a + mu`, and let `T(x)` be the probability that a
/// standard normal variable is at least `x`. Then delta is `T(a) - e^epsilon T(b)` (Balle, Wang
/// 2018, Theorem 8). Let `phi` be the normal density, and `m = T / phi` Mills' ratio. Because
/// `e^epsilon phi(b) = phi(a)`, delta is `phi(a) (m(a) - m(b))`. This form has no exponential that
/// can overflow. Except for extreme arguments, both ends of the result differ from the exact value
/// by at most one or two ulps (units in the last place).
///
/// # Errors
/// `InvalidDistance` when epsilon or `mu` is negative or NaN.
pub fn gaussian_delta(mu: f64, epsilon: f64) -> Result<Certified> {
    if !(0.0 <= mu && 0.0 <= epsilon) {
        return Err(Error::InvalidDistance(format!(
            "mu, epsilon: expected numbers of at least 0, found {} and {}",
            shown(mu),
            shown(epsilon)
        )));
    }
    if mu == f64::INFINITY {
        return Ok(Certified { lower: 1.0, upper: 1.0 });
    }
    if mu == 0.0 || epsilon == f64::INFINITY {
        return Ok(Certified { lower: 0.0, upper: 0.0 });
    }
    if mu >= 1e6 && epsilon / mu < mu / 4.0 {
        return Ok(Certified { lower: 1f64.next_down(), upper: 1.0 });
    }
    let about = epsilon / mu - mu / 2.0;
    if !(about < FAR) {
        // Let `a` be the exact value of `about`. `error` is at least four units in the last place
        // of `mu`. So if `epsilon / mu` is at most `2 mu`, the rounding error of `about` is at most
        // `error`. If `epsilon / mu` is above `2 mu`, the relative error of `about` is negligible.
        // So if `certain` is true, `a` is above 38.5. The normal tail at 38.5 is already below the
        // smallest positive float, and delta is at most this tail.
        let error = 4.0 * f64::EPSILON * mu;
        let certain = error < 0.25 || FAR + error <= about;
        return Ok(Certified { lower: 0.0, upper: if certain { 5e-324 } else { 1.0 } });
    }
    let mut bits = 128 + (about.max(0.0) * about.max(0.0)) as usize;
    bits += 2 * (1023 - (mu.to_bits() >> 52) as i64).max(0) as usize;
    loop {
        let exact = enclose(mu, epsilon, bits);
        let found = float(&exact, bits);
        if found.upper <= found.lower.next_up().next_up() || bits > 20_000 {
            return Ok(found);
        }
        bits *= 2;
    }
}

fn enclose(mu: f64, epsilon: f64, bits: usize) -> Enclosure {
    let quotient = divide(epsilon, mu, bits);
    let half = divide(mu, 2.0, bits);
    let a = Enclosure { lo: &quotient.lo - &half.hi, hi: &quotient.hi - &half.lo };
    let b = Enclosure { lo: quotient.lo + half.lo, hi: quotient.hi + half.hi };
    let zero = IBig::ZERO;
    let mut parts: Vec<Enclosure> = Vec::new();
    if a.hi >= zero {
        let a = Enclosure { lo: a.lo.clone().max(zero.clone()), hi: a.hi.clone() };
        let (near, far) = (mills(&a, bits), mills(&b, bits));
        let gap = Enclosure {
            lo: (near.lo - far.hi).max(zero.clone()),
            hi: (near.hi - far.lo).max(zero.clone()),
        };
        parts.push(gap.multiply(&density(&a, bits), bits));
    }
    if a.lo < zero {
        let a = Enclosure { lo: (-&a.hi).max(zero), hi: -&a.lo };
        let (near, far) = (mills(&a, bits), mills(&b, bits));
        let sum = Enclosure { lo: near.lo + far.lo, hi: near.hi + far.hi };
        parts.push(complement(&sum.multiply(&density(&a, bits), bits), bits));
    }
    let lo = parts.iter().map(|part| part.lo.clone()).min().unwrap_or_default();
    let hi = parts.iter().map(|part| part.hi.clone()).max().unwrap_or_default();
    Enclosure { lo, hi }
}

/// Enclose the quotient of two floats that are not negative.
fn divide(x: f64, y: f64, bits: usize) -> Enclosure {
    let (Some((x, e)), Some((y, f))) = (dyadic(x), dyadic(y)) else {
        return Enclosure { lo: IBig::ZERO, hi: IBig::ONE << (bits + 4096) };
    };
    let shift = bits as i64 + i64::from(e) - i64::from(f);
    let magnitude = shift.unsigned_abs() as usize;
    let (above, below) = if shift >= 0 { (x << magnitude, y) } else { (x, y << magnitude) };
    let lo = &above / &below;
    let exact = &lo * &below == above;
    Enclosure { hi: if exact { lo.clone() } else { &lo + 1 }, lo }
}
fn density(x: &Enclosure, bits: usize) -> Enclosure {
    gauss(x, bits).divide(&sqrt_two_pi(bits), bits)
}
fn complement(x: &Enclosure, bits: usize) -> Enclosure {
    let unit = IBig::ONE << bits;
    Enclosure { lo: (&unit - &x.hi).max(IBig::ZERO), hi: unit - &x.lo }
}
fn float(x: &Enclosure, bits: usize) -> Certified {
    let exponent = -(bits as i64);
    Certified {
        lower: to_f64_down(&x.lo, exponent).max(0.0),
        upper: to_f64_up(&x.hi, exponent).min(1.0),
    }
}

/// Enclose the smallest epsilon at which the delta of Gaussian noise is at most the given delta.
/// The standard deviation of the noise is the sensitivity divided by `mu`.
///
/// # Errors
/// `InvalidDistance` when `mu` is negative or NaN, or delta is not from 0 to 1.
pub fn gaussian_epsilon(mu: f64, delta: f64) -> Result<Certified> {
    check("delta", delta)?;
    let holds = |epsilon: f64| gaussian_delta(mu, epsilon).map(|found| found.upper <= delta);
    let fails = |epsilon: f64| gaussian_delta(mu, epsilon).map(|found| found.lower > delta);
    let upper = smallest(holds)?;
    Ok(Certified { upper, lower: step_back(upper, fails)? })
}

/// Enclose the largest `mu` at which Gaussian noise is `(epsilon, delta)`-private. The standard
/// deviation of the noise is the sensitivity divided by `mu`. Noise whose `mu` is the lower end is
/// always `(epsilon, delta)`-private.
///
/// # Errors
/// `InvalidDistance` when delta is not from 0 to 1, or when delta is below 1 and epsilon is
/// negative or NaN.
pub fn gaussian_mu(epsilon: f64, delta: f64) -> Result<Certified> {
    check("delta", delta)?;
    if delta == 1.0 {
        return Ok(Certified { lower: f64::MAX, upper: f64::INFINITY });
    }
    let too_much = |mu: f64| gaussian_delta(mu, epsilon).map(|found| found.upper > delta);
    let above = smallest(too_much)?;
    let fits = |mu: f64| gaussian_delta(mu, epsilon).map(|found| found.upper <= delta);
    let surely = |mu: f64| gaussian_delta(mu, epsilon).map(|found| found.lower > delta);
    let mut upper = above;
    let mut by = f64::EPSILON;
    while !surely(upper)? && by < 1.0 {
        upper = above * (1.0 + by);
        by *= 4.0;
    }
    Ok(Certified { lower: step_back(above, fits)?, upper })
}

/// Enclose the trade-off function of a normal shift. Consider tests between `N(0, 1)` and
/// `N(mu, 1)` with significance level `alpha`. The value is the smallest probability of a type II
/// error of such a test (Dong, Roth, Su 2022).
///
/// # Errors
/// `InvalidDistance` when `mu` is negative or not finite, or `alpha` is not from 0 to 1.
pub fn gaussian_tradeoff(mu: f64, alpha: f64) -> Result<Certified> {
    check("alpha", alpha)?;
    if !(0.0 <= mu) || !mu.is_finite() {
        return Err(Error::InvalidDistance(format!(
            "mu: expected a finite number of at least 0, found {}",
            shown(mu)
        )));
    }
    if alpha == 0.0 || alpha == 1.0 {
        return Ok(Certified { lower: 1.0 - alpha, upper: 1.0 - alpha });
    }
    // Find t with T(t) = alpha, where T is the normal tail. Then the smallest probability of a type
    // II error is T(mu - t). This probability decreases as alpha increases. If alpha is above 1/2,
    // use T(-t) = 1 - T(t): the difference 1 - alpha is exact, and T(t) has a small relative error.
    let (low, high) = match alpha <= 0.5 {
        true => quantile(alpha)?,
        false => {
            let (low, high) = quantile(1.0 - alpha)?;
            (-high, -low)
        }
    };
    // The differences `mu - low` and `mu - high` are rounded. So move both differences outward by a
    // bound on the rounding error.
    let slack = (mu.abs() + low.abs().max(high.abs())) * f64::EPSILON;
    let lower = normal_tail(mu - low + slack)?.lower;
    Ok(Certified { lower, upper: normal_tail(mu - high - slack)?.upper })
}

/// Enclose the number `t` with `T(t) = tail`, for the normal tail `T` and a `tail` above 0 and at
/// most 1/2. Return two numbers, `low` and `high`, with `T(low) >= tail >= T(high)`.
///
/// Each number has a bisection of its own. If one bisection were used for both numbers, it would
/// have to stop where the enclosure of `T` contains `tail`. The first such place can be far from
/// both numbers: for a `tail` of 1/2, it is the middle of the first interval.
fn quantile(tail: f64) -> Result<(f64, f64)> {
    // `T(-FAR)` is nearly 1. `T(FAR)` is below the smallest positive float.
    let last = |holds: &dyn Fn(Certified) -> bool| -> Result<(f64, f64)> {
        let (mut low, mut high) = (-FAR, FAR);
        while high - low > 1e-20 {
            let middle = low + (high - low) / 2.0;
            if middle <= low || high <= middle {
                break;
            }
            if holds(normal_tail(middle)?) { low = middle } else { high = middle }
        }
        Ok((low, high))
    };
    Ok((last(&|found| tail <= found.lower)?.0, last(&|found| tail < found.upper)?.1))
}

fn check(name: &str, number: f64) -> Result<()> {
    if (0.0..=1.0).contains(&number) {
        return Ok(());
    }
    let reason = format!("{name}: expected a number from 0 to 1, found {}", shown(number));
    Err(Error::InvalidDistance(reason))
}

/// Find by bisection the smallest float of at least 0 that satisfies a condition. All larger floats
/// must also satisfy the condition. Return infinity if no finite float satisfies the condition.
/// Also return infinity if only floats above `2^1023` satisfy it.
fn smallest(holds: impl Fn(f64) -> Result<bool>) -> Result<f64> {
    if holds(0.0)? {
        return Ok(0.0);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while !holds(high)? {
        low = high;
        high *= 2.0;
        if high == f64::INFINITY {
            return Ok(high);
        }
    }
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || high <= middle || high - low <= high * 1e-16 {
            return Ok(high);
        }
        if holds(middle)? { high = middle } else { low = middle }
    }
}

/// Try numbers below `from`, in descending order. Return the first of them that satisfies a
/// condition. If none of them satisfies the condition, return 0.
fn step_back(from: f64, holds: impl Fn(f64) -> Result<bool>) -> Result<f64> {
    let mut by = f64::EPSILON / 2.0;
    while by < 1.0 {
        let place = from * (1.0 - by);
        if place < from && holds(place)? {
            return Ok(place);
        }
        by *= 4.0;
    }
    Ok(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::concentrated_delta;

    #[test]
    fn the_tradeoff_is_tight_at_a_half_and_near_one() {
        // The expected values were computed with 60 digits. The last alpha is the largest float
        // below 1.
        for (mu, alpha, beta) in [
            (1.0, 0.5, 0.15865525393145705),
            (3.5, 0.5, 2.3262907903552504e-4),
            (0.01, 0.5, 0.4960106436853684),
            (2.0, 0.999999, 7.2197925733028479e-12),
            (1.0, 1f64.next_down(), 1.6376861173733897e-20),
            (20.0, 1f64.next_down(), 2.233511489318352e-175),
        ] {
            let found = gaussian_tradeoff(mu, alpha).unwrap();
            assert!(found.lower <= beta * (1.0 + 1e-15) && beta * (1.0 - 1e-15) <= found.upper);
            assert!(found.upper <= found.lower * (1.0 + 1e-12), "{mu} {alpha}: {found:?}");
        }
    }

    #[test]
    fn without_noise_delta_is_1_at_every_epsilon() {
        for epsilon in [0.0, 1.0, 1e300, f64::INFINITY] {
            let delta = gaussian_delta(f64::INFINITY, epsilon).unwrap();
            assert_eq!((delta.lower, delta.upper), (1.0, 1.0), "{epsilon}");
            assert_eq!(concentrated_delta(f64::INFINITY, epsilon).unwrap(), 1.0, "{epsilon}");
        }
        // The exact delta is about 5.4e-225, and the upper bound must not be below the exact delta.
        // The distance of the means is very large, so the rounding error of the argument of the
        // tail exceeds the argument.
        let delta = gaussian_delta(1.1091873288530578e18, 6.151482652440907e35).unwrap();
        assert!(5.5e-225 <= delta.upper);
        // The control: with noise, delta is 0 at an infinite epsilon.
        assert_eq!(gaussian_delta(1e9, f64::INFINITY).unwrap().upper, 0.0);
        assert_eq!(concentrated_delta(1e9, f64::INFINITY).unwrap(), 0.0);
    }
}
