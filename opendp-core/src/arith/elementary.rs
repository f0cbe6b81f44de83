//! Square roots, exponentials, logarithms and powers rounded in a chosen direction.

use super::directed::Directed;
use super::dyadic::{Format, Rounding};
use super::float::finite;
use super::refine::{exp, exp_m1, ln, ln_1p, powi};
use super::shown;
use crate::{Error, Result};

/// Elementary functions of floats, rounded toward plus or minus infinity.
///
/// As in [`Directed`], `inf_*` returns an upper bound, `neg_inf_*` returns a lower bound, and a
/// zero result is `+0.0`. If the exact result is a float, both bounds are equal to this float. All
/// bounds are the tightest possible, with one exception. All functions except the square root
/// compute an interval around the result. These functions refine the interval until the tightest
/// bound is certain, or until the precision of the computation is 32 times the initial precision.
/// If the interval at this largest precision still contains a float, the returned bound can be the
/// float next to the tightest bound. No argument that leads to this case is known.
///
/// # Errors
/// `Overflow` when an argument is not finite or is outside of the domain of the function, or when
/// the rounded result is not finite. Underflow is not an error: `inf_exp(-1e9)` is the smallest
/// subnormal and `neg_inf_exp(-1e9)` is zero.
pub trait DirectedFloat: Directed {
    /// Take the square root and round toward plus infinity.
    fn inf_sqrt(self) -> Result<Self>;
    /// Take the square root and round toward minus infinity.
    fn neg_inf_sqrt(self) -> Result<Self>;
    /// Compute `e^self` and round toward plus infinity.
    fn inf_exp(self) -> Result<Self>;
    /// Compute `e^self` and round toward minus infinity.
    fn neg_inf_exp(self) -> Result<Self>;
    /// Compute `e^self - 1` and round toward plus infinity.
    fn inf_exp_m1(self) -> Result<Self>;
    /// Compute `e^self - 1` and round toward minus infinity.
    fn neg_inf_exp_m1(self) -> Result<Self>;
    /// Take the natural logarithm and round toward plus infinity.
    fn inf_ln(self) -> Result<Self>;
    /// Take the natural logarithm and round toward minus infinity.
    fn neg_inf_ln(self) -> Result<Self>;
    /// Compute `ln(1 + self)` and round toward plus infinity.
    fn inf_ln_1p(self) -> Result<Self>;
    /// Compute `ln(1 + self)` and round toward minus infinity.
    fn neg_inf_ln_1p(self) -> Result<Self>;
    /// Raise to an integer power, with `0^0 = 1`, and round toward plus infinity.
    fn inf_powi(self, power: i32) -> Result<Self>;
    /// Raise to an integer power, with `0^0 = 1`, and round toward minus infinity.
    fn neg_inf_powi(self, power: i32) -> Result<Self>;
}

macro_rules! impl_elementary {
    // Let r be the float nearest to the square root of x. For x below $safe, the residual x - r^2
    // can underflow. So such an x is first multiplied by the square of $scale. $scale is a power of
    // two. If x is positive, the product is above $safe.
    ($t:ident, $format:expr, $safe:expr, $scale:expr) => {
        impl DirectedFloat for $t {
            impl_elementary!(@sqrt $t, $safe, $scale, inf_sqrt, >, next_up);
            impl_elementary!(@sqrt $t, $safe, $scale, neg_inf_sqrt, <, next_down);
            impl_elementary!(@pair $t, $format, "exp", exp, inf_exp, neg_inf_exp);
            impl_elementary!(@pair $t, $format, "exp_m1", exp_m1, inf_exp_m1, neg_inf_exp_m1);
            impl_elementary!(@pair $t, $format, "ln", ln, inf_ln, neg_inf_ln);
            impl_elementary!(@pair $t, $format, "ln_1p", ln_1p, inf_ln_1p, neg_inf_ln_1p);

            fn inf_powi(self, power: i32) -> Result<Self> {
                let bound = powi(self.into(), power, $format, Rounding::Up) as $t;
                finite(bound, || overflow("powi", self.into()))
            }
            fn neg_inf_powi(self, power: i32) -> Result<Self> {
                let bound = powi(self.into(), power, $format, Rounding::Down) as $t;
                finite(bound, || overflow("powi", self.into()))
            }
        }
    };
    (@sqrt $t:ident, $safe:expr, $scale:expr, $name:ident, $side:tt, $next:ident) => {
        #[inline]
        fn $name(self) -> Result<Self> {
            let small = self < $safe;
            let radicand = if small { self * ($scale * $scale) } else { self };
            let nearest = radicand.sqrt();
            // The residual is `radicand` minus the square of `nearest`. The computed residual is
            // exact. The sign of the residual shows whether the exact root is above or below
            // `nearest`.
            let residual = nearest.mul_add(-nearest, radicand);
            let root = if residual $side 0.0 { nearest.$next() } else { nearest };
            finite(if small { root / $scale } else { root }, || overflow("sqrt", self.into()))
        }
    };
    (@pair $t:ident, $format:expr, $text:literal, $function:ident, $inf:ident, $neg_inf:ident) => {
        fn $inf(self) -> Result<Self> {
            let bound = $function(self.into(), $format, Rounding::Up) as $t;
            finite(bound, || overflow($text, self.into()))
        }
        fn $neg_inf(self) -> Result<Self> {
            let bound = $function(self.into(), $format, Rounding::Down) as $t;
            finite(bound, || overflow($text, self.into()))
        }
    };
}

impl_elementary!(f64, Format::F64, f64::from_bits((1023 - 960) << 52), (1u128 << 108) as f64);
impl_elementary!(f32, Format::F32, f32::from_bits((127 - 98) << 23), (1u64 << 38) as f32);

#[cold]
#[inline(never)]
fn overflow(function: &str, argument: f64) -> Error {
    Error::Overflow(format!(
        "{function}({}): the result is undefined, or its magnitude is too large",
        shown(argument)
    ))
}

#[cfg(test)]
mod tests {
    use dashu_int::IBig;
    use proptest::prelude::*;

    use super::super::dyadic::dyadic;
    use super::*;

    type Unary = fn(f64) -> Result<f64>;

    #[test]
    fn is_exact_where_the_functions_are() {
        for (inf, neg_inf, x, y) in [
            (f64::inf_exp as Unary, f64::neg_inf_exp as Unary, 0.0, 1.0),
            (f64::inf_exp_m1, f64::neg_inf_exp_m1, -0.0, 0.0),
            (f64::inf_ln, f64::neg_inf_ln, 1.0, 0.0),
            (f64::inf_ln_1p, f64::neg_inf_ln_1p, 0.0, 0.0),
            (f64::inf_sqrt, f64::neg_inf_sqrt, -0.0, 0.0),
            (f64::inf_sqrt, f64::neg_inf_sqrt, 2.25, 1.5),
            (f64::inf_sqrt, f64::neg_inf_sqrt, 5e-324, 2f64.powi(-537)),
        ] {
            assert_eq!(inf(x).map(f64::to_bits), Ok(y.to_bits()));
            assert_eq!(neg_inf(x).map(f64::to_bits), Ok(y.to_bits()));
        }
        assert_eq!(
            (3f64.inf_powi(33), 3f64.neg_inf_powi(33)),
            (Ok(3f64.powi(33)), Ok(3f64.powi(33)))
        );
        assert_eq!((-0.5f64).inf_powi(-1023), Ok(-(2f64.powi(1023))));
        assert_eq!(0f64.inf_powi(0), Ok(1.0));
        assert_eq!((-0f64).inf_powi(3).map(f64::to_bits), Ok(0));
    }

    #[test]
    fn brackets_known_values() {
        // Each constant is the float nearest to a real number, such as e. The comment on the line
        // of the constant states whether the float is above or below the real number.
        let e = std::f64::consts::E; // below e
        assert_eq!((1f64.neg_inf_exp(), 1f64.inf_exp()), (Ok(e), Ok(e.next_up())));
        let ln_2 = std::f64::consts::LN_2; // below ln 2
        assert_eq!((2f64.neg_inf_ln(), 2f64.inf_ln()), (Ok(ln_2), Ok(ln_2.next_up())));
        assert_eq!((1f64.neg_inf_ln_1p(), 1f64.inf_ln_1p()), (Ok(ln_2), Ok(ln_2.next_up())));
        let sqrt_2 = std::f64::consts::SQRT_2; // above the square root of 2
        assert_eq!((2f64.neg_inf_sqrt(), 2f64.inf_sqrt()), (Ok(sqrt_2.next_down()), Ok(sqrt_2)));
        assert_eq!(10f64.inf_powi(-1), Ok(0.1)); // above a tenth
        assert_eq!(10f32.neg_inf_powi(-1), Ok(0.1f32.next_down()));
    }

    #[test]
    fn underflows_and_overflows_as_the_direction_demands() {
        for x in [-746.0, -1e9, f64::MIN] {
            assert_eq!((x.neg_inf_exp(), x.inf_exp()), (Ok(0.0), Ok(5e-324)));
            assert_eq!((x.neg_inf_exp_m1(), x.inf_exp_m1()), (Ok(-1.0), Ok((-1f64).next_up())));
        }
        for x in [710.0, 1e9, f64::MAX] {
            assert!(x.inf_exp().is_err() && x.inf_exp_m1().is_err());
            assert_eq!((x.neg_inf_exp(), x.neg_inf_exp_m1()), (Ok(f64::MAX), Ok(f64::MAX)));
        }
        assert!(709.78f64.inf_exp().is_ok() && 88.8f32.inf_exp().is_err());
        assert_eq!((2f64.inf_powi(-2000), 2f64.neg_inf_powi(-2000)), (Ok(5e-324), Ok(0.0)));
        assert_eq!((-3f64).neg_inf_powi(i32::MIN), Ok(0.0));
        assert_eq!((-3f64).inf_powi(i32::MAX), Ok(f64::MIN));
        assert!(3f64.inf_powi(i32::MAX).is_err());
        for result in [
            f64::NAN.inf_exp(),
            f64::INFINITY.neg_inf_exp_m1(),
            0f64.inf_ln(),
            (-1f64).inf_ln(),
            f64::NAN.inf_ln_1p(),
            (-1f64).neg_inf_ln_1p(),
            (-5e-324f64).inf_sqrt(),
            f64::INFINITY.neg_inf_sqrt(),
            0f64.inf_powi(-1),
            f64::NAN.neg_inf_powi(0),
        ] {
            assert!(matches!(result, Err(Error::Overflow(_))), "{result:?}");
        }
    }

    #[test]
    fn follows_the_tangent_at_tiny_arguments() {
        for x in [5e-324f64, 1e-300, 1e-20, 8.6e-19, 8.8e-19, -1e-20, -5e-324] {
            assert_eq!((x.neg_inf_exp_m1(), x.inf_exp_m1()), (Ok(x), Ok(x.next_up() + 0.0)));
            assert_eq!((x.neg_inf_ln_1p(), x.inf_ln_1p()), (Ok(x.next_down() + 0.0), Ok(x)));
            let above = if x > 0.0 { 1f64.next_up() } else { 1.0 };
            assert_eq!(x.inf_exp(), Ok(above));
            assert_eq!(x.neg_inf_exp(), Ok(above.next_down().max(if x > 0.0 { 1.0 } else { 0.0 })));
        }
    }

    /// Check that the two bounds are adjacent floats. Also check that at most one float lies
    /// between `reference` and the nearer bound, if `reference` is outside of the bounds.
    fn check(inf: Result<f64>, neg_inf: Result<f64>, reference: f64) -> Result<(), TestCaseError> {
        if reference.abs() >= 1e308 {
            return Ok(());
        }
        let (inf, neg_inf) = (inf.unwrap(), neg_inf.unwrap());
        prop_assert_eq!(neg_inf.next_up(), inf);
        prop_assert!(reference.next_up().next_up() >= neg_inf, "{reference} {neg_inf}");
        prop_assert!(reference.next_down().next_down() <= inf, "{reference} {inf}");
        Ok(())
    }

    proptest! {
        #[test]
        fn brackets_the_library_functions(
            bits in 0u64..0x7ff0 << 48, x in -745f64..745.0, small in -1f64..1.0, n in -40i32..40,
        ) {
            let positive = f64::from_bits(bits);
            for x in [x, small, small * small * 1e-9] {
                prop_assume!(x != 0.0);
                check(x.inf_exp(), x.neg_inf_exp(), x.exp())?;
                check(x.inf_exp_m1(), x.neg_inf_exp_m1(), x.exp_m1())?;
            }
            prop_assume!(positive > 0.0);
            for x in [positive, 1.0 + small, 1.0 + small * 1e-15] {
                if x != 1.0 {
                    check(x.inf_ln(), x.neg_inf_ln(), x.ln())?;
                }
            }
            for x in [positive, small, small * 1e-12] {
                check(x.inf_ln_1p(), x.neg_inf_ln_1p(), x.ln_1p())?;
            }
            for x in [small as f32, small as f32 * 1e-6] {
                let exp = f64::from(x).exp();
                prop_assert!(f64::from(x.neg_inf_exp().unwrap()) <= exp.next_up());
                prop_assert!(f64::from(x.inf_exp().unwrap()) >= exp.next_down());
            }
            check_power(x, n)?;
            check_power(small, 3)?;
            check_power(positive, 2)?;
        }

        #[test]
        fn square_roots_are_tightest(bits in 0u64..0x7ff0 << 48) {
            let square = |x: f64| dyadic(x).map(|(m, e)| (&m * &m, 2 * e as i64)).unwrap();
            let x = f64::from_bits(bits);
            let (up, down) = (x.inf_sqrt().unwrap(), x.neg_inf_sqrt().unwrap());
            // Check up^2 >= x > (up - ulp)^2 and down^2 <= x < (down + ulp)^2, with exact squares.
            let compare = |root: f64| {
                let ((a, e), (b, f)) = (square(root), dyadic(x).unwrap());
                let low = e.min(f.into());
                (a << (e - low) as usize).cmp(&(b << (i64::from(f) - low) as usize))
            };
            prop_assert!(compare(up).is_ge() && compare(down).is_le());
            prop_assert!(x == 0.0 || compare(up.next_down()).is_lt());
            prop_assert!(compare(down.next_up()).is_gt());
            let x = f32::from_bits((bits >> 32) as u32 >> 1);
            let (up, down) = (x.inf_sqrt().unwrap() as f64, x.neg_inf_sqrt().unwrap() as f64);
            prop_assert!(up * up >= x.into() && down * down <= x.into());
            let (tight, x) = ((up as f32).next_down() as f64, f64::from(x));
            prop_assert!(x == 0.0 || tight * tight < x);
        }
    }

    /// Compare the bounds of a power with the exact power, computed in big integers.
    fn check_power(x: f64, n: i32) -> Result<(), TestCaseError> {
        let (mantissa, exponent) = dyadic(x).unwrap();
        let count = n.unsigned_abs() as usize;
        let (power, exponent) = (mantissa.pow(count), exponent as i64 * count as i64);
        let (up, down) = if n >= 0 {
            let format = Format::F64;
            (
                format.round(&power, exponent, Rounding::Up),
                format.round(&power, exponent, Rounding::Down),
            )
        } else {
            if exponent.abs() >= 1000 {
                return Ok(());
            }
            let (sign, power) = power.into_parts();
            let num = IBig::ONE << (exponent.min(0).unsigned_abs() as usize);
            let den = power << exponent.max(0) as usize;
            let num = num * sign;
            (
                super::super::dyadic::ratio_to_f64_up(&num, &den),
                super::super::dyadic::ratio_to_f64_down(&num, &den),
            )
        };
        prop_assert_eq!(x.inf_powi(n).ok(), Some(up).filter(|up| up.is_finite()));
        prop_assert_eq!(x.neg_inf_powi(n).ok(), Some(down).filter(|down| down.is_finite()));
        Ok(())
    }
}
