//! Rounds exact quotients toward zero, and rounds bounds up. Each result is a float, and a multiple
//! of a fixed power of two. There is one exception, for magnitudes that are too large for a float.
//! Such a quotient becomes the largest finite float with its sign, and such a bound becomes
//! infinite.

use dashu_int::ops::{BitTest, DivRem};
use dashu_int::{IBig, Sign, UBig};
use opendp_core::arith::Float;
use opendp_core::arith::dyadic::{Rounding, dyadic};

/// An exact number `numerator / denominator * 2^exponent`.
#[derive(Clone, Debug)]
pub(crate) struct Exact {
    pub(crate) numerator: UBig,
    pub(crate) denominator: UBig,
    pub(crate) exponent: i64,
}

/// The multiples of `g` with magnitudes up to `2^p * g`. Here `g` is a power of two, and `p` is the
/// number of bits of a mantissa.
///
/// **Lemma.** Let two numbers be at most `s` apart, and let their magnitudes be at most the largest
/// multiple. Round both numbers toward zero to multiples, and round `s` up to a multiple. Then the
/// distance between the rounded numbers is at most the rounded `s`. *Proof.* Use `g` as the unit.
/// Rounding toward zero does not increase the distance between numbers of different signs. Now let
/// the two numbers be `a >= b >= 0`. Then `floor(a) - floor(b)` is an integer below
/// `a + 1 - b <= s + 1`. So this integer is at most `ceil(s)`. Negative numbers follow by symmetry.
///
/// Every multiple with magnitude at most `2^p * g` is a float, or it exceeds the largest float. A
/// multiple that exceeds the largest float is replaced by the largest float. The replacement does
/// not increase the distance between two multiples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    exponent: i64,
}
impl Grid {
    /// Choose the power of two `g` for numbers up to `largest`. `g` is the spacing of floats at
    /// `largest`.
    pub(crate) fn new<T: Float>(largest: &Exact) -> Self {
        let smallest = T::from_dyadic(&IBig::ONE, i64::MIN / 2, Rounding::Up).to_f64();
        let lowest = dyadic(smallest).map_or(0, |(_, exponent)| i64::from(exponent));
        let ceiling = ceiling(largest, largest.exponent);
        // Subtract one from the ceiling before its bits are counted. So a power of two needs no
        // extra bit.
        let below = if ceiling.is_zero() { ceiling } else { ceiling - UBig::ONE };
        let bits = i64::try_from(below.bit_len()).unwrap_or(i64::MAX / 2);
        let exponent = largest.exponent + bits - i64::from(T::MANTISSA_BITS);
        Grid { exponent: exponent.max(lowest) }
    }
    /// Round a number up to a multiple of the spacing `g`, and then up to a float. The float can be
    /// infinite.
    pub(crate) fn up<T: Float>(&self, x: &Exact) -> T {
        T::from_dyadic(&ceiling(x, self.exponent).into(), self.exponent, Rounding::Up)
    }
    /// Round the number with magnitude `x` and the given sign toward zero, to a multiple of the
    /// spacing `g`.
    pub(crate) fn cut<T: Float>(&self, sign: Sign, x: &Exact) -> T {
        let (units, _) = units(x, self.exponent);
        T::from_dyadic(&IBig::from_parts(sign, units), self.exponent, Rounding::TowardZero)
    }
}

/// Divide a number by `2^unit`. Return the quotient rounded down, and whether the remainder is
/// zero.
fn units(x: &Exact, unit: i64) -> (UBig, bool) {
    let shift = x.exponent - unit;
    let by = usize::try_from(shift.unsigned_abs()).unwrap_or(usize::MAX);
    let (numerator, denominator) = match 0 <= shift {
        true => (&x.numerator << by, x.denominator.clone()),
        false => (x.numerator.clone(), &x.denominator << by),
    };
    if denominator.is_zero() {
        return (UBig::ZERO, true);
    }
    let (quotient, rest) = numerator.div_rem(denominator);
    (quotient, rest.is_zero())
}
fn ceiling(x: &Exact, unit: i64) -> UBig {
    let (quotient, exact) = units(x, unit);
    if exact { quotient } else { quotient + UBig::ONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(numerator: u64, denominator: u64, exponent: i64) -> Exact {
        Exact { numerator: numerator.into(), denominator: denominator.into(), exponent }
    }

    #[test]
    fn has_as_many_bits_as_a_mantissa() {
        assert_eq!(Grid::new::<f64>(&exact(1 << 53, 1, 0)).exponent, 0);
        assert_eq!(Grid::new::<f64>(&exact((1 << 53) + 1, 1, 0)).exponent, 1);
        assert_eq!(Grid::new::<f64>(&exact(10, 1, 7)).exponent, 7 + 4 - 53);
        assert_eq!(Grid::new::<f32>(&exact(1, 1, -149)).exponent, -149);
        assert_eq!(Grid::new::<f64>(&exact(0, 1, -2148)).exponent, -1074);
    }
    #[test]
    fn cuts_toward_zero_and_rounds_bounds_up() {
        let grid = Grid { exponent: -1 };
        let third = exact(4, 3, 0);
        assert_eq!(grid.cut::<f64>(Sign::Positive, &third), 1.0);
        assert_eq!(grid.cut::<f64>(Sign::Negative, &third), -1.0);
        assert_eq!(grid.up::<f64>(&third), 1.5);
        assert_eq!(grid.up::<f64>(&exact(3, 2, 0)), 1.5);
        assert_eq!(grid.up::<f64>(&exact(0, 2, 9)), 0.0);
        assert_eq!(grid.up::<f64>(&exact(1, 1, 2000)), f64::INFINITY);
        assert_eq!(grid.cut::<f64>(Sign::Positive, &exact(1, 1, 2000)), f64::MAX);
    }
    #[test]
    fn moves_no_two_numbers_further_apart_than_the_map_says() {
        let grid = Grid { exponent: 1 };
        let signed = |x: i64| {
            let sign = if x < 0 { Sign::Negative } else { Sign::Positive };
            (x, grid.cut::<f64>(sign, &exact(x.unsigned_abs(), 3, 0)))
        };
        let cut: Vec<(i64, f64)> = (-60..=60).map(signed).collect();
        let mut attained = false;
        for (x, fx) in &cut {
            for (y, fy) in &cut {
                let bound: f64 = grid.up(&exact(x.abs_diff(*y), 3, 0));
                assert!((fx - fy).abs() <= bound);
                attained |= (fx - fy).abs() * 3.0 > x.abs_diff(*y) as f64;
            }
        }
        // Check that rounding increases the distance between some numbers.
        assert!(attained);
    }
}
