//! Masses of intervals under the standard normal distribution, in plain floats with a proven error.
//! `N` is a standard normal number, and `u = 2^-53` is the unit roundoff.

use std::sync::OnceLock;

use dashu_int::IBig;

use opendp_core::arith::cast::to_f64_nearest;

use super::elementary::{U, exp};
use super::normal::{Enclosure, mills};

/// A bound on the relative error of the results of [`tail`] and [`mass`], for arguments up to
/// [`LIMIT`].
pub(crate) const MASS_ERROR: f64 = 1024.0 * U;
/// From this argument on, the normal tail is below `10^-305` and is treated as zero. Below this
/// argument, the exponent of the density is above -700, so `exp` does not return 0.
pub(crate) const LIMIT: f64 = 37.4;

const INVERSE_SQRT_TWO_PI: f64 = 0.398_942_280_401_432_7;
/// The number of nodes of the table of Mills' ratio. Nodes are 1/4 apart, so each argument is
/// within 1/8 of a node.
const NODES: usize = 152;
const TERMS: usize = 16;

/// Compute the standard normal density at `x` with a relative error below `24 u`, where `u` is the
/// unit roundoff.
///
/// Let `high` be the number with the leading 26 bits of `x`. So the square of `high` is exact.
/// `x^2 / 2` is split into two parts: `high^2 / 2` and `rest`.
#[inline]
fn density(x: f64) -> f64 {
    let high = f64::from_bits(x.to_bits() & !0x7ff_ffff);
    let low = x - high;
    let rest = low * (x + high) / 2.0;
    // `x` is below 38, so |rest| < 2^-25 x^2 < 2^-14. So the omitted terms of e^-rest are below
    // 2^-60.
    INVERSE_SQRT_TWO_PI * exp(-high * high / 2.0) * (1.0 - rest * (1.0 - rest * (0.5 - rest / 6.0)))
}

/// Return the Taylor coefficients at the point `node / 4` of Mills' ratio, which is the normal tail
/// divided by the density. Each coefficient is rounded to the nearest float.
///
/// Let `m` be Mills' ratio, `x` the point, and `a[n]` the coefficient of the power `n`. The
/// equation `m' = x m - 1` implies `(n + 1) a[n+1] = x a[n] + a[n-1]` for `n >= 1`. The recurrence
/// multiplies errors by less than `x^16 / 16! < 2^44`. This factor is negligible, because the
/// recurrence is computed with 320 bits after the binary point.
fn coefficients(node: usize) -> &'static [f64; TERMS] {
    static TABLE: [OnceLock<[f64; TERMS]>; NODES] = [const { OnceLock::new() }; NODES];
    TABLE[node.min(NODES - 1)].get_or_init(|| {
        let bits = 320;
        let x = IBig::from(node) << (bits - 2);
        let mut before = mills(&Enclosure::exact(x.clone()), bits).lo;
        let mut now = ((&x * &before) >> bits) - (IBig::ONE << bits);
        let mut list = [0.0; TERMS];
        list[0] = to_f64_nearest(&before, -(bits as i64));
        for (n, slot) in list.iter_mut().enumerate().skip(1) {
            *slot = to_f64_nearest(&now, -(bits as i64));
            let next = (((&x * &now) >> bits) + &before) / IBig::from(n + 1);
            before = std::mem::replace(&mut now, next);
        }
        list
    })
}

/// Compute `P[N >= x]` for `x >= 0`.
///
/// The tail is the density times Mills' ratio `m(x)`. Mills' ratio is computed as a Taylor
/// polynomial at the nearest node. The coefficients of this polynomial alternate in sign. The
/// omitted terms are far below `u m(x)`, where `u` is the unit roundoff. At the node 0, the first
/// omitted term is at most `4e-6 u m(x)`. At larger nodes, the terms fall faster. So rounding in
/// Horner's rule and the omitted terms change the computed `m(x)` by less than `8 u m(x)`.
#[inline]
pub(crate) fn tail(x: f64) -> f64 {
    if !(x < LIMIT) {
        return 0.0;
    }
    let node = (x * 4.0).round_ties_even();
    let d = x - node / 4.0;
    let mut ratio = 0.0;
    for c in coefficients(node as usize).iter().rev() {
        ratio = ratio * d + c;
    }
    density(x) * ratio
}

/// Compute `P[centre - width / 2 <= N <= centre + width / 2]`.
///
/// Let `c` be the centre, `w` the width, `phi` the density and `He_n` the Hermite polynomial of
/// degree `n`. The mass is `phi(c) w sum_m He_(2m)(c) (w / 2)^(2m) / (2m + 1)!`, with `m` from 0
/// on. If `max(1, |c|) w <= 1 / 8`, the interval is narrow, and the code adds up the first five
/// terms of the series. The other terms add up to less than `2 u` times the mass, where `u` is the
/// unit roundoff.
///
/// For a wider interval without the number 0, the mass is the difference of two tails. The ratio
/// `r` of the smaller tail and the larger tail is at most `e^(-1/11)`. So the relative error of the
/// difference is at most `(1 + r) / (1 - r) < 23` times the relative error of the tails.
///
/// Suppose that the series is not used for an interval that contains 0. Then the interval is wider
/// than 1/8: otherwise, `|c|` would be at most 1/16, and the series would be used. So the mass of
/// the interval is above 0.049. Let `a` and `b` be the tails below and above the interval. The mass
/// is computed as `(1/2 - a) + (1/2 - b)`, and `a + b` is below 1. So the error of the mass is at
/// most the relative error of the tails. Divide this error by a mass above 0.049. The relative
/// error of the mass is again below 23 times the relative error of the tails.
#[inline]
pub(crate) fn mass(centre: f64, width: f64) -> f64 {
    let c = centre.abs();
    if c.max(1.0) * width <= 0.125 {
        let (x, h) = (c * c, width * width / 4.0);
        let he2 = x - 1.0;
        let he4 = x * (x - 6.0) + 3.0;
        let he6 = x * (x * (x - 15.0) + 45.0) - 15.0;
        let he8 = x * (x * (x * (x - 28.0) + 210.0) - 420.0) + 105.0;
        let series =
            1.0 + h * (he2 / 6.0 + h * (he4 / 120.0 + h * (he6 / 5040.0 + h * (he8 / 362_880.0))));
        return if c < LIMIT { density(c) * width * series } else { 0.0 };
    }
    interval(c - width / 2.0, c + width / 2.0)
}

/// Compute `P[low <= N <= high]` from two tails. [`mass`] explains the error for an interval that
/// is not narrow.
pub(crate) fn interval(low: f64, high: f64) -> f64 {
    if low >= 0.0 {
        tail(low) - tail(high)
    } else if high <= 0.0 {
        tail(-high) - tail(-low)
    } else {
        // Subtract each tail from 1/2, and add the two differences. Each tail is at most 1/2, so
        // both differences are at least 0.
        (0.5 - tail(-low)) + (0.5 - tail(high))
    }
}

/// Compute `P[N >= x]` for any `x`.
pub(crate) fn upper_tail(x: f64) -> f64 {
    if x >= 0.0 { tail(x) } else { 1.0 - tail(-x) }
}

#[cfg(test)]
mod tests {
    use opendp_core::arith::cast::to_f64_nearest;

    use super::super::normal::{gauss, sqrt_two_pi};
    use super::*;

    fn certified(x: f64) -> IBig {
        let bits = 1600;
        let x = Enclosure::exact(IBig::try_from(x * 2f64.powi(40)).unwrap() << (bits - 40));
        mills(&x, bits).multiply(&gauss(&x, bits), bits).divide(&sqrt_two_pi(bits), bits).lo
    }

    #[test]
    fn stays_within_the_stated_error() {
        for step in (0..300).step_by(7) {
            let (x, w) = (f64::from(step) * 0.125 + 0.040625, 2f64.powi(-(step % 12)));
            let x = (x * 1048576.0).floor() / 1048576.0;
            let (exact, beyond) = (certified(x), certified(x + w));
            let value = to_f64_nearest(&exact, -1600);
            if x > 36.0 {
                continue;
            }
            assert!((tail(x) / value - 1.0).abs() < 64.0 * U, "{x} {} {value}", tail(x));
            let value = to_f64_nearest(&(exact - beyond), -1600);
            let found = mass(x + w / 2.0, w);
            assert!((found / value - 1.0).abs() < MASS_ERROR, "{x} {w}: {found} {value}");
            assert!((mass(-x - w / 2.0, w) / value - 1.0).abs() < MASS_ERROR);
        }
        assert!((mass(0.0, 4.0) - 0.9544997361036416).abs() < 1e-15);
        // The bound on the error also holds next to the limit.
        for x in [37.0, LIMIT - 2f64.powi(-10)] {
            let x = (x * 1048576.0).floor() / 1048576.0;
            let value = to_f64_nearest(&certified(x), -1600);
            assert!((tail(x) / value - 1.0).abs() < MASS_ERROR, "{x}: {} {value}", tail(x));
        }
    }
}
