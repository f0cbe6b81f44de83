//! Certified enclosures of the tail of the normal distribution, at any precision.
//!
//! Let `N` be a standard normal number with the density `phi`. The tail `T(x) = P[N >= x]` is
//! computed from Mills' ratio `m(x) = T(x) / phi(x)`. Fixed-point numbers count units of `2^-bits`.
//! An enclosure of a value is a pair of such numbers: a lower bound and an upper bound on the
//! value. Each operation rounds both bounds outward.

use std::sync::{Mutex, PoisonError};

use dashu_int::{IBig, UBig};

use opendp_core::arith::fixed;

/// An enclosure of a `value`: `lo <= 2^bits * value <= hi`.
#[derive(Clone, Debug)]
pub(crate) struct Enclosure {
    pub(crate) lo: IBig,
    pub(crate) hi: IBig,
}

impl Enclosure {
    pub(crate) fn exact(value: IBig) -> Self {
        Enclosure { lo: value.clone(), hi: value }
    }
    /// Divide two positive enclosures.
    pub(crate) fn divide(&self, by: &Enclosure, bits: usize) -> Enclosure {
        Enclosure { lo: (&self.lo << bits) / &by.hi, hi: (&self.hi << bits) / &by.lo + 1 }
    }
    /// Multiply two enclosures of numbers that are not negative.
    pub(crate) fn multiply(&self, by: &Enclosure, bits: usize) -> Enclosure {
        Enclosure {
            lo: (&self.lo * &by.lo) >> bits,
            hi: fixed::ceil_shift(&(&self.hi * &by.hi), bits),
        }
    }
    /// Enclose the square root of a number that is not negative.
    fn sqrt(&self, bits: usize) -> Enclosure {
        let root = |value: &IBig| -> UBig {
            let (_, magnitude) = (value << bits).into_parts();
            dashu_int::ops::SquareRoot::sqrt(&magnitude)
        };
        Enclosure { lo: root(&self.lo).into(), hi: IBig::from(root(&self.hi)) + 1 }
    }
}

/// Enclose pi by Machin's formula `16 atan(1/5) - 4 atan(1/239)`.
fn pi(bits: usize) -> Enclosure {
    let guard = 16;
    let w = bits + guard;
    // Each of the two alternating series has fewer than w terms. Each term is off by less than 2
    // units of 2^-w.
    let atan = |inverse: u32| {
        let mut power = (IBig::ONE << w) / inverse;
        let mut sum = power.clone();
        let mut odd = 1u32;
        while power != IBig::ZERO {
            power /= inverse * inverse;
            odd += 2;
            if odd % 4 == 3 { sum -= &power / odd } else { sum += &power / odd }
        }
        sum
    };
    let sum = atan(5) * 16 - atan(239) * 4;
    let error = IBig::from(40 * w + 40);
    Enclosure { lo: (&sum - &error) >> guard, hi: fixed::ceil_shift(&(sum + error), guard) }
}

/// Enclose `sqrt(2 pi)`. The function stores the most precise enclosure that it has computed.
pub(crate) fn sqrt_two_pi(bits: usize) -> Enclosure {
    static KNOWN: Mutex<Option<(usize, Enclosure)>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let (more, root) = match known.take() {
        Some((more, root)) if bits <= more => (more, root),
        _ => {
            let more = bits.max(512).next_power_of_two();
            let pi = pi(more);
            (more, Enclosure { lo: pi.lo << 1usize, hi: pi.hi << 1usize }.sqrt(more))
        }
    };
    let by = more - bits;
    let found = Enclosure { lo: &root.lo >> by, hi: fixed::ceil_shift(&root.hi, by) };
    *known = Some((more, root));
    found
}

/// Enclose `e^(-x^2 / 2)` for a narrow enclosure of `x >= 0`.
///
/// `e^(-x^2 / 2)` decreases with a slope above -1. Let `v` be the value at the lower end of the
/// enclosure of `x`, and `w` the width of this enclosure. Then the value at `x` is at most `v` and
/// at least `v - w`.
pub(crate) fn gauss(x: &Enclosure, bits: usize) -> Enclosure {
    // As a fixed-point number, -x^2 / 2 has 2 * bits + 1 fraction bits.
    let (lo, hi) = fixed::exp(&-(&x.lo * &x.lo), 2 * bits + 1, bits);
    let lo = IBig::from(lo) - (&x.hi - &x.lo);
    Enclosure { lo: lo.max(IBig::ZERO), hi: hi.into() }
}

/// Enclose Mills' ratio for a narrow enclosure of `x >= 0`.
///
/// Mills' ratio `m` decreases. Its slope is `x m(x) - 1`, which is at least -1. Let `v` be the
/// value at the lower end of the enclosure of `x`, and `w` the width of this enclosure. Then `m(x)`
/// is at most `v` and at least `v - w`.
pub(crate) fn mills(x: &Enclosure, bits: usize) -> Enclosure {
    let ratio = mills_at(&x.lo, bits);
    Enclosure { lo: (ratio.lo - (&x.hi - &x.lo)).max(IBig::ZERO), hi: ratio.hi }
}

fn mills_at(x: &IBig, bits: usize) -> Enclosure {
    if *x < IBig::from(4) << bits { mills_series(x, bits) } else { mills_fraction(x, bits) }
}

/// Enclose Mills' ratio by the series `m(x) = sqrt(pi / 2) e^(x^2/2) - sum_j x^(2j+1) / (2j+1)!!`,
/// with `j` from 0 on (Abramowitz, Stegun 26.2.11). [`mills_at`] uses this series for `x` from 0 to
/// 4.
fn mills_series(x: &IBig, bits: usize) -> Enclosure {
    let w = bits + 64;
    let x = x << 64usize;
    // `square` and every term are rounded down. Count errors in units of `2^-w`. A term is the
    // previous term times `x^2 / n`, with an odd number `n`. Let `t` be the previous term, and `d`
    // its error. The error of a term is at most `(d x^2 + t) / n + 1`. For `x < 4`, `t / n` is
    // below 34, and the product of any consecutive factors `x^2 / n` is below 133. So the error of
    // the `k`-th term after the first is at most `35 * 133 * k`. At the end, there are
    // `(n - 1) / 2` such terms. So their errors add up to at most `35 * 133 * n^2 / 8`. The last
    // computed term is 0, so the exact last term is at most its error. Each omitted term is less
    // than half of the term before it. So the omitted terms add up to at most `35 * 133 * n / 2`.
    // The sum of these two bounds is below `8192 n^2`.
    let square = (&x * &x) >> w;
    let mut term = x.clone();
    let mut sum = x.clone();
    let mut n = 1u32;
    while term != IBig::ZERO || n < 40 {
        n += 2;
        term = ((&term * &square) >> w) / n;
        sum += &term;
    }
    let error = IBig::from(u64::from(n) * u64::from(n) * 8192);
    let root = sqrt_two_pi(w);
    let (lo, hi) = fixed::exp(&(&x * &x), 2 * w + 1, w);
    let lo = ((IBig::from(lo) * root.lo) >> (w + 1)) - &sum - error;
    let hi = fixed::ceil_shift(&(IBig::from(hi) * root.hi), w + 1) - sum;
    Enclosure { lo: lo >> 64usize, hi: fixed::ceil_shift(&hi, 64) }
}

/// Enclose Mills' ratio by Laplace's continued fraction `m(x) = 1 / t_1`, with
/// `t_k = x + k / t_{k+1}`.
///
/// All `t_k` exceed `x`. So for the depth `n`, `x < t_{n+1} < x + (n + 1) / x`. Start from this
/// enclosure, and compute an enclosure of `t_n`, then of `t_{n-1}`, down to `t_1`. If the result is
/// too wide, double the depth.
fn mills_fraction(x: &IBig, bits: usize) -> Enclosure {
    let unit = IBig::ONE << (2 * bits);
    let mut depth = 32u32;
    loop {
        let mut lo = x.clone();
        let mut hi = x + (&unit * (depth + 1)) / x + 1;
        for k in (1..=depth).rev() {
            let up = x + (&unit * k) / &lo + 1;
            lo = x + (&unit * k) / &hi;
            hi = up;
        }
        let ratio = Enclosure { lo: &unit / &hi, hi: &unit / &lo + 1 };
        if &ratio.hi - &ratio.lo <= IBig::from(64) || depth >= 1 << 20 {
            return ratio;
        }
        depth *= 2;
    }
}

#[cfg(test)]
mod tests {
    use opendp_core::arith::cast::{to_f64_down, to_f64_up};

    use super::*;

    fn tail_at(x: f64, bits: usize) -> (f64, f64) {
        let x = Enclosure::exact(IBig::try_from(x * 1024.0).unwrap() << (bits - 10));
        let tail =
            mills(&x, bits).multiply(&gauss(&x, bits), bits).divide(&sqrt_two_pi(bits), bits);
        let scale = -(bits as i64);
        (to_f64_down(&tail.lo, scale), to_f64_up(&tail.hi, scale))
    }

    #[test]
    fn encloses_known_tails() {
        // The expected values are from an independent computation (mpmath).
        for (x, tail) in [
            (0.0, 0.5),
            (0.5, 0.3085375387259869),
            (1.0, 0.15865525393145705),
            (3.9990234375, 3.180219098572824e-5),
            (4.0, 3.167124183311992e-5),
            (8.0, 6.220960574271784e-16),
            (20.0, 2.7536241186062337e-89),
        ] {
            let (low, high) = tail_at(x, 800);
            assert!(high <= low.next_up().next_up(), "{x}: {low} {high}");
            assert!((low / tail - 1.0).abs() < 4e-16, "{x}: {low} {tail}");
        }
    }
    #[test]
    fn roots_that_are_kept_nest_at_every_precision() {
        let fine = sqrt_two_pi(1500);
        for bits in [40usize, 300, 100, 700] {
            let (root, by) = (sqrt_two_pi(bits), 1500 - bits);
            assert!(&root.lo << by <= fine.lo && fine.hi <= &root.hi << by, "{bits}");
            assert!(&root.hi - &root.lo <= IBig::from(2), "{bits}");
        }
        assert!((to_f64_down(&fine.lo, -1500) - 2.506_628_274_631_000_2).abs() < 1e-15);
    }
    #[test]
    fn both_expansions_agree_and_nest() {
        for eighths in [8, 20, 32, 40] {
            for bits in [80, 200, 500] {
                let x = IBig::from(eighths) << (bits - 3);
                let (series, fraction) = (mills_series(&x, bits), mills_fraction(&x, bits));
                assert!(series.lo <= fraction.hi && fraction.lo <= series.hi);
                assert!(&series.hi - &series.lo <= IBig::from(64));
                let fine = mills_at(&(x << 300usize), bits + 300);
                assert!(
                    series.lo.clone() << 300usize <= fine.hi && fine.lo <= series.hi << 300usize
                );
            }
        }
    }
}
