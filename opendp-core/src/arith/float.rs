//! Directed arithmetic of floats by error-free transformations, which are formulas that also give
//! the exact rounding error.
//!
//! The code first computes the nearest float to the result, and then the exact error of this float.
//! The sign of the error decides between this float and the next float in the rounding direction.
//! For operands near the limits of underflow and overflow, the computed error can be inexact. For
//! these operands, the result is computed with exact integers.

use dashu_int::{IBig, UBig};

use super::directed::{Directed, overflow};
use super::dyadic::{Format, Rounding, dyadic, round_ratio};
use crate::Result;

/// Add two floats exactly and round once. Return NaN if a float is not finite.
#[cold]
#[inline(never)]
pub(super) fn exact_sum(lhs: f64, rhs: f64, format: Format, rounding: Rounding) -> f64 {
    let (Some((a, e)), Some((b, f))) = (dyadic(lhs), dyadic(rhs)) else {
        return f64::NAN;
    };
    let low = e.min(f);
    let sum = (a << (e - low) as usize) + (b << (f - low) as usize);
    format.round(&sum, low.into(), rounding)
}

/// Multiply two floats exactly and round once. Return NaN if a float is not finite.
#[cold]
#[inline(never)]
pub(super) fn exact_product(lhs: f64, rhs: f64, format: Format, rounding: Rounding) -> f64 {
    let (Some((a, e)), Some((b, f))) = (dyadic(lhs), dyadic(rhs)) else {
        return f64::NAN;
    };
    format.round(&(a * b), (e + f).into(), rounding)
}

/// Divide two floats exactly and round once. Return NaN if a float is not finite or `rhs` is zero.
#[cold]
#[inline(never)]
pub(super) fn exact_quotient(lhs: f64, rhs: f64, format: Format, rounding: Rounding) -> f64 {
    let (Some((a, e)), Some((b, f))) = (dyadic(lhs), dyadic(rhs)) else {
        return f64::NAN;
    };
    let (sign, b) = b.into_parts();
    if b.is_zero() {
        return f64::NAN;
    }
    let low = e.min(f);
    let (num, den): (IBig, UBig) = (a << (e - low) as usize, b << (f - low) as usize);
    round_ratio(&(num * sign), &den, format, rounding)
}

macro_rules! impl_float {
    // The error of a product is the product minus the float nearest to it. The error of a quotient
    // is the remainder of the division by `rhs`. The computed error of a product is exact if the
    // magnitude of the product is at least $safe. The computed error of a quotient is exact if the
    // magnitude of the dividend is at least $safe and the quotient is a normal float. Proof: let
    // 2^m be the largest power of two that is at most the magnitude of the product or the dividend.
    // For mantissas of p bits, the error is a multiple of 2^(m - 2 p), and has at most p bits. So
    // the error is a float if 2^(m - 2 p) is at least the smallest subnormal. The value of $safe
    // guarantees this condition.
    ($t:ident, $format:expr, $safe:expr) => {
        impl Directed for $t {
            impl_float!(@add $t, $format, inf_add, inf_sub, Up, >, next_up);
            impl_float!(@add $t, $format, neg_inf_add, neg_inf_sub, Down, <, next_down);
            impl_float!(@mul $t, $format, $safe, inf_mul, inf_div, Up, >, next_up);
            impl_float!(@mul $t, $format, $safe, neg_inf_mul, neg_inf_div, Down, <, next_down);
        }
    };
    (@add $t:ident, $format:expr, $add:ident, $sub:ident, $rounding:ident, $side:tt, $next:ident) => {
        #[inline]
        fn $add(self, rhs: Self) -> Result<Self> {
            let nearest = self + rhs;
            // Compute the error of the sum by the algorithm TwoSum. The exact error is always a
            // float. If an intermediate result overflows or an operand is not finite, the computed
            // error is NaN or infinite.
            let shadow = nearest - self;
            let error = (self - (nearest - shadow)) + (rhs - shadow);
            let sum = if error.abs() < $t::INFINITY {
                if error $side 0.0 { nearest.$next() } else { nearest }
            } else {
                exact_sum(self.into(), rhs.into(), $format, Rounding::$rounding) as $t
            };
            finite(sum, || overflow("+", self, rhs))
        }
        #[inline]
        fn $sub(self, rhs: Self) -> Result<Self> {
            self.$add(-rhs)
        }
    };
    (@mul $t:ident, $format:expr, $safe:expr, $mul:ident, $div:ident, $rounding:ident, $side:tt, $next:ident) => {
        #[inline]
        fn $mul(self, rhs: Self) -> Result<Self> {
            let nearest = self * rhs;
            let product = if nearest.abs() >= $safe && nearest.abs() < $t::INFINITY {
                let error = self.mul_add(rhs, -nearest);
                if error $side 0.0 { nearest.$next() } else { nearest }
            } else {
                exact_product(self.into(), rhs.into(), $format, Rounding::$rounding) as $t
            };
            finite(product, || overflow("*", self, rhs))
        }
        #[inline]
        fn $div(self, rhs: Self) -> Result<Self> {
            let nearest = self / rhs;
            let regular = nearest.abs() >= $t::MIN_POSITIVE
                && nearest.abs() < $t::INFINITY
                && self.abs() >= $safe;
            let quotient = if regular {
                // The exact quotient is `nearest` plus the remainder divided by `rhs`. So `error`
                // has the sign of the exact quotient minus `nearest`.
                let remainder = nearest.mul_add(-rhs, self);
                let error = if rhs < 0.0 { -remainder } else { remainder };
                if error $side 0.0 { nearest.$next() } else { nearest }
            } else {
                exact_quotient(self.into(), rhs.into(), $format, Rounding::$rounding) as $t
            };
            finite(quotient, || overflow("/", self, rhs))
        }
    };
}

// For each format, the third argument is `$safe`. Let the magnitude of a product or a dividend be
// at least `$safe`. Then the error is a multiple of 2^-1066 for f64, and of 2^-146 for f32.
impl_float!(f64, Format::F64, f64::from_bits((1023 - 960) << 52));
impl_float!(f32, Format::F32, f32::from_bits((127 - 98) << 23));

/// Return a finite float unchanged, except that `-0.0` becomes `+0.0`.
#[inline]
pub(super) fn finite<T: num_traits::Float>(
    value: T,
    error: impl FnOnce() -> crate::Error,
) -> Result<T> {
    if value.is_finite() { Ok(value + T::zero()) } else { Err(error()) }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;
    use crate::Error;

    /// Compare `candidate` with `lhs (op) rhs` in exact rational arithmetic.
    fn compare(candidate: f64, lhs: f64, rhs: f64, op: char) -> Ordering {
        let rational = |x: f64| {
            let (mantissa, exponent) = dyadic(x).unwrap();
            if exponent < 0 {
                (mantissa, IBig::ONE << -exponent as usize)
            } else {
                (mantissa << exponent as usize, IBig::ONE)
            }
        };
        let ((x, u), (a, s), (b, t)) = (rational(candidate), rational(lhs), rational(rhs));
        let (num, den) = match op {
            '+' => (a * &t + b * &s, s * t),
            '-' => (a * &t - b * &s, s * t),
            '*' => (a * b, s * t),
            _ if b < IBig::ZERO => (-a * t, -(b * s)),
            _ => (a * t, b * s),
        };
        (x * den).cmp(&(num * u))
    }

    fn check<T: num_traits::Float + Into<f64> + Directed + std::fmt::Debug>(
        lhs: T,
        rhs: T,
        up: fn(T) -> T,
        down: fn(T) -> T,
    ) -> Result<(), TestCaseError> {
        let max = T::max_value();
        let exact = |x: T, op| compare(x.into(), lhs.into(), rhs.into(), op);
        for (op, inf, neg_inf) in [
            ('+', lhs.inf_add(rhs), lhs.neg_inf_add(rhs)),
            ('-', lhs.inf_sub(rhs), lhs.neg_inf_sub(rhs)),
            ('*', lhs.inf_mul(rhs), lhs.neg_inf_mul(rhs)),
            ('/', lhs.inf_div(rhs), lhs.neg_inf_div(rhs)),
        ] {
            if op == '/' && rhs.is_zero() {
                prop_assert!(inf.is_err() && neg_inf.is_err());
                continue;
            }
            match inf {
                Ok(x) => {
                    prop_assert!(exact(x, op).is_ge(), "{lhs:?} {op} {rhs:?}: {x:?}");
                    prop_assert!(x == -max || exact(down(x), op).is_lt(), "{lhs:?} {op} {rhs:?}");
                    prop_assert!(!x.is_zero() || x.is_sign_positive());
                }
                Err(_) => prop_assert!(exact(max, op).is_lt(), "{lhs:?} {op} {rhs:?}"),
            }
            match neg_inf {
                Ok(x) => {
                    prop_assert!(exact(x, op).is_le(), "{lhs:?} {op} {rhs:?}: {x:?}");
                    prop_assert!(x == max || exact(up(x), op).is_gt(), "{lhs:?} {op} {rhs:?}");
                    prop_assert!(!x.is_zero() || x.is_sign_positive());
                }
                Err(_) => prop_assert!(exact(-max, op).is_gt(), "{lhs:?} {op} {rhs:?}"),
            }
        }
        Ok(())
    }

    const CORNERS: [f64; 16] = [
        0.0,
        -0.0,
        5e-324,
        -1e-323,
        f64::MIN_POSITIVE,
        2.225073858507201e-308,
        1e-290,
        -1e-160,
        0.1,
        -1.0,
        3.0,
        1e16,
        -1e160,
        8.98846567431158e307,
        f64::MAX,
        f64::MIN,
    ];

    #[test]
    fn is_tightest_on_all_pairs_of_corner_cases() {
        for lhs in CORNERS {
            for rhs in CORNERS {
                check(lhs, rhs, f64::next_up, f64::next_down).unwrap();
                let (lhs, rhs) = (lhs * 2f64.powi(-900), rhs * 2f64.powi(-900));
                check(lhs as f32, rhs as f32, f32::next_up, f32::next_down).unwrap();
            }
        }
        for lhs in [0.0, 1e-45, f32::MIN_POSITIVE, 1e-30, -0.1, 1.0, f32::MAX, f32::MIN] {
            for rhs in [-0.0, -1e-45, 1.1e-38, 1e-19, 3.0, -1e20, 1.7e38, f32::MAX, f32::MIN] {
                check(lhs, rhs, f32::next_up, f32::next_down).unwrap();
            }
        }
    }

    #[test]
    fn survives_overflow_inside_the_error_computation() {
        // For this x, the rounded sum max + x is finite, but (max + x) - x overflows.
        let x = -1.5 * 2f64.powi(971);
        check(x, f64::MAX, f64::next_up, f64::next_down).unwrap();
        check(f64::MIN, -x, f64::next_up, f64::next_down).unwrap();
        check(-x, f64::MIN, f64::next_up, f64::next_down).unwrap();
    }

    #[test]
    fn rejects_operands_that_are_not_finite() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for good in [0.0, 1.0, -1.0, f64::MAX, bad] {
                for (a, b) in [(bad, good), (good, bad)] {
                    for result in [
                        a.inf_add(b),
                        a.neg_inf_add(b),
                        a.inf_sub(b),
                        a.neg_inf_sub(b),
                        a.inf_mul(b),
                        a.neg_inf_mul(b),
                        a.inf_div(b),
                        a.neg_inf_div(b),
                    ] {
                        assert!(matches!(result, Err(Error::Overflow(_))), "{a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn overflows_only_away_from_zero() {
        assert!(f64::MAX.inf_add(f64::MAX).is_err());
        assert_eq!(f64::MAX.neg_inf_add(f64::MAX), Ok(f64::MAX));
        assert!(f64::MAX.inf_add(5e-324).is_err());
        assert_eq!(f64::MAX.inf_mul(-2.0), Ok(f64::MIN));
        assert_eq!(f64::MAX.neg_inf_div(0.5), Ok(f64::MAX));
        assert!(f32::MAX.inf_mul(1.0000001).is_err());
    }

    proptest! {
        #[test]
        fn is_tightest_on_random_doubles(
            a in any::<u64>(), b in any::<u64>(), shift in -60i32..60,
        ) {
            let (a, b) = (f64::from_bits(a), f64::from_bits(b));
            prop_assume!(a.is_finite() && b.is_finite());
            check(a, b, f64::next_up, f64::next_down)?;
            // Choose second operands that reach every branch. In some cases, the magnitude of such
            // an operand is near the magnitude of `a` or near its reciprocal. In the other cases,
            // the result is near underflow or overflow.
            let (_, _, exponent) = super::super::dyadic::decode(a).unwrap();
            let mantissa = b.to_bits() & ((1 << 52) - 1);
            for centre in [exponent + 52, -exponent - 52, -1000 - exponent, -exponent - 1074,
                exponent + 1022, exponent + 1074, 1000 - exponent]
            {
                let biased = (centre + shift + 1023).clamp(0, 2046) as u64;
                check(a, f64::from_bits(biased << 52 | mantissa), f64::next_up, f64::next_down)?;
            }
        }

        #[test]
        fn is_tightest_on_random_singles(a in any::<u32>(), b in any::<u32>()) {
            let (a, b) = (f32::from_bits(a), f32::from_bits(b));
            prop_assume!(a.is_finite() && b.is_finite());
            check(a, b, f32::next_up, f32::next_down)?;
        }

        #[test]
        fn is_exact_on_small_integers(a in -1000i32..1000, b in -1000i32..1000) {
            let (x, y) = (f64::from(a), f64::from(b));
            prop_assert_eq!(x.inf_add(y), Ok(f64::from(a + b)));
            prop_assert_eq!(x.neg_inf_sub(y), Ok(f64::from(a - b)));
            prop_assert_eq!(x.inf_mul(y), Ok(f64::from(a * b)));
            if b != 0 {
                prop_assert_eq!(f64::from(a * b).inf_div(y), Ok(x));
            }
        }
    }
}
