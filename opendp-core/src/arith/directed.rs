//! Addition, subtraction, multiplication and division rounded in a chosen direction.

use super::{Number, shown};
use crate::{Error, Result};

/// Arithmetic rounded toward plus or minus infinity.
///
/// `inf_*` returns the smallest value of the type that is at least the exact result. `neg_inf_*`
/// returns the largest value of the type that is at most the exact result. So integer sums,
/// differences and products are exact, and integer quotients are ceilings and floors. Float results
/// are the tightest possible, including subnormal results. A zero result is always `+0.0`.
///
/// # Errors
/// `Overflow` on division by zero, when an operand is infinite or NaN, and when the rounded result
/// is not a finite value of the type. An exact result beyond the finite floats is allowed if it
/// rounds to a finite float: `neg_inf_add(MAX, MAX)` is `MAX`. The message shows both operands. Do
/// not pass the message on when an operand is private.
pub trait Directed: Sized + Copy {
    /// Add and round toward plus infinity.
    fn inf_add(self, rhs: Self) -> Result<Self>;
    /// Add and round toward minus infinity.
    fn neg_inf_add(self, rhs: Self) -> Result<Self>;
    /// Subtract and round toward plus infinity.
    fn inf_sub(self, rhs: Self) -> Result<Self>;
    /// Subtract and round toward minus infinity.
    fn neg_inf_sub(self, rhs: Self) -> Result<Self>;
    /// Multiply and round toward plus infinity.
    fn inf_mul(self, rhs: Self) -> Result<Self>;
    /// Multiply and round toward minus infinity.
    fn neg_inf_mul(self, rhs: Self) -> Result<Self>;
    /// Divide and round toward plus infinity.
    fn inf_div(self, rhs: Self) -> Result<Self>;
    /// Divide and round toward minus infinity.
    fn neg_inf_div(self, rhs: Self) -> Result<Self>;
}

/// Build the overflow error of a binary operation. The error is built in a separate function, so
/// that the code for results without an overflow stays small.
#[cold]
#[inline(never)]
pub(super) fn overflow<T: Number>(operator: &str, lhs: T, rhs: T) -> Error {
    let (lhs, rhs) = (shown(lhs), shown(rhs));
    Error::Overflow(format!(
        "{lhs} {operator} {rhs}: expected finite operands and a result that fits {}",
        std::any::type_name::<T>()
    ))
}

macro_rules! impl_exact {
    ($t:ty, $operator:literal, $checked:ident, $inf:ident, $neg_inf:ident) => {
        #[inline]
        fn $inf(self, rhs: Self) -> Result<Self> {
            match self.$checked(rhs) {
                Some(value) => Ok(value),
                None => Err(overflow($operator, self, rhs)),
            }
        }
        #[inline]
        fn $neg_inf(self, rhs: Self) -> Result<Self> {
            self.$inf(rhs)
        }
    };
}

macro_rules! impl_integer {
    ($($t:ty)*) => {$(
        impl Directed for $t {
            impl_exact!($t, "+", checked_add, inf_add, neg_inf_add);
            impl_exact!($t, "-", checked_sub, inf_sub, neg_inf_sub);
            impl_exact!($t, "*", checked_mul, inf_mul, neg_inf_mul);

            #[inline]
            fn inf_div(self, rhs: Self) -> Result<Self> {
                let Some(quotient) = self.checked_div(rhs) else {
                    return Err(overflow("/", self, rhs));
                };
                // The quotient is truncated toward zero. If the exact quotient is positive and not
                // an integer, the truncated quotient is below the exact quotient, so add 1.
                let rest = self % rhs;
                Ok(if rest != 0 && (rest > 0) == (rhs > 0) { quotient + 1 } else { quotient })
            }
            #[inline]
            fn neg_inf_div(self, rhs: Self) -> Result<Self> {
                let Some(quotient) = self.checked_div(rhs) else {
                    return Err(overflow("/", self, rhs));
                };
                let rest = self % rhs;
                Ok(if rest != 0 && (rest > 0) != (rhs > 0) { quotient - 1 } else { quotient })
            }
        }
    )*};
}
impl_integer!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

#[cfg(test)]
mod tests {
    use super::*;

    /// Check the results for every pair of 8-bit integers. Compare quotients with quotients that
    /// are computed in `f64`. Compare all other results with results that are computed in `i32`.
    /// With 8-bit operands, `i32` never overflows.
    fn check_all<T>(values: impl Iterator<Item = T> + Clone)
    where
        T: Directed + Into<i32> + TryFrom<i32> + PartialEq + std::fmt::Debug,
    {
        let expect = |actual: Result<T>, exact: Option<i32>| {
            assert_eq!(actual.ok(), exact.and_then(|exact| T::try_from(exact).ok()));
        };
        for a in values.clone() {
            for b in values.clone() {
                let (x, y): (i32, i32) = (a.into(), b.into());
                expect(a.inf_add(b), Some(x + y));
                expect(a.neg_inf_add(b), Some(x + y));
                expect(a.inf_sub(b), Some(x - y));
                expect(a.neg_inf_sub(b), Some(x - y));
                expect(a.inf_mul(b), Some(x * y));
                expect(a.neg_inf_mul(b), Some(x * y));
                let quotient = x as f64 / y as f64;
                // If a quotient of 8-bit integers is not an integer, its distance from every
                // integer is much larger than a rounding error. So the float quotient has the same
                // ceiling and floor as the exact quotient.
                expect(a.inf_div(b), (y != 0).then_some(quotient.ceil() as i32));
                expect(a.neg_inf_div(b), (y != 0).then_some(quotient.floor() as i32));
            }
        }
    }

    #[test]
    fn is_exact_or_an_error_on_every_pair_of_bytes() {
        check_all(i8::MIN..=i8::MAX);
        check_all(u8::MIN..=u8::MAX);
    }

    #[test]
    fn names_the_operation_and_its_operands_on_overflow() {
        assert_eq!(
            200u8.inf_add(100),
            Err(Error::Overflow(
                "200 + 100: expected finite operands and a result that fits u8".to_string()
            ))
        );
        assert!(matches!(i128::MIN.inf_div(-1), Err(Error::Overflow(_))));
        assert!(matches!(1u64.neg_inf_div(0), Err(Error::Overflow(_))));
    }
}
