//! Rounds each float to a multiple of a power of two, and adds the multiples exactly. Only the
//! speed of the memory limits the speed of the sum.

use std::any::Any;

use opendp_core::{Atom, Bounds, Error, Result};

use crate::symmetric::row_count;
use crate::widest::widest;

/// Each multiple is an integer times the power of two `2^exponent`; see [`Lattice`]. The magnitude
/// of this integer is at most `2^BITS`, so the sum of 2048 such integers fits 64 bits.
pub(crate) const BITS: i32 = 51;
/// `2^LOWEST` is the smallest power of two that is an `f64`.
pub(crate) const LOWEST: i32 = -1074;
/// The constant `1.5 * 2^52`. Add this constant to a float of magnitude at most `2^51`. The sum is
/// in a range where floats have spacing one. So the addition rounds the float to an integer. The
/// bit pattern of the sum is equal to the bit pattern of the constant, increased by this integer.
pub(crate) const MAGIC: f64 = 6_755_399_441_055_744.0;
/// The sum of at most this many multiples fits 64 bits, because `2^11 * 2^51 < 2^63`.
pub(crate) const BLOCK: usize = 1 << 11;

/// The multiples of `2^exponent` that represent floats within bounds.
///
/// A float `x` maps to `round(x * 2^-exponent)`, computed by a sequence of monotone steps. The
/// steps are a clamp to the bounds, multiplications by positive constants, and a rounding to
/// nearest. Let the lower bound map to `a`, and the upper bound to `b`. Then a float within the
/// bounds maps to an integer between `a` and `b`. The rounding errors of the steps do not change
/// this fact, because each step is monotone. The field `lower` is at most `a`, and the field
/// `upper` is at least `b`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lattice {
    bounds: (f64, f64),
    exponent: i32,
    /// Two factors whose product is `2^-exponent`. There are two factors, because the product can
    /// be too large for a float.
    scale: (f64, f64),
    lower: i64,
    upper: i64,
}

impl Lattice {
    /// Choose the lattice for floats from `lower` to `upper`.
    pub(crate) fn new(lower: f64, upper: f64) -> Result<Self> {
        let magnitude = lower.abs().max(upper.abs());
        if !magnitude.is_finite() {
            return Err(Error::MakeTransformation(
                "input: the bounds of the records must be finite; use `make_clamp` first".into(),
            ));
        }
        let exponent = (power_above(magnitude) - BITS).max(LOWEST);
        let first = exponent.max(-1023);
        let scale = (power(-first), power(first - exponent));
        let scaled = |x: f64| x * scale.0 * scale.1;
        // These integers have at most 52 bits, so the casts are exact.
        let (lower_multiple, upper_multiple) =
            (scaled(lower).floor() as i64, scaled(upper).ceil() as i64);
        Ok(Lattice {
            bounds: (lower, upper),
            exponent,
            scale,
            lower: lower_multiple,
            upper: upper_multiple,
        })
    }
    /// Return the base-2 logarithm of the spacing of the lattice.
    pub(crate) fn exponent(&self) -> i32 {
        self.exponent
    }
    /// Return the largest absolute value of the numbers within the bounds, in units of the spacing,
    /// rounded up. The result is at most `2^51`.
    pub(crate) fn magnitude(&self) -> u64 {
        self.lower.unsigned_abs().max(self.upper.unsigned_abs())
    }
    /// Return the width of the bounds, in units of the spacing. The bounds are first rounded
    /// outward to multiples. The result is at most `2^52`.
    pub(crate) fn range(&self) -> u64 {
        self.upper.abs_diff(self.lower)
    }
    /// Make a label for the lattice and its bounds. Another lattice or other bounds have a
    /// different label.
    pub(crate) fn label(&self) -> String {
        format!("multiples of 2^{} within {:?}", self.exponent, self.bounds)
    }
    /// Return whether a set contains exactly the numbers within the bounds of this lattice.
    pub(crate) fn projects<T: Atom + Into<f64>>(&self, set: &dyn Any) -> bool {
        let bounds = set.downcast_ref::<Bounds<T>>();
        bounds.is_some_and(|set| (set.lower().into(), set.upper().into()) == self.bounds)
    }
    /// Clamp and round each number, and add up the multiples exactly.
    pub(crate) fn total<T: Copy + Into<f64>>(&self, rows: &[T]) -> i128 {
        let (first, second) = self.scale;
        let mut total = 0;
        for block in rows.chunks(BLOCK) {
            // The second factor differs from one only if the magnitudes of both bounds are at most
            // 2^-973.
            total += i128::from(if second == 1.0 {
                widest(
                    #[inline(always)]
                    || self.block(block, |x| x * first),
                )
            } else {
                self.block(block, |x| x * first * second)
            });
        }
        total
    }
    /// Add up the multiples that represent at most `BLOCK` numbers.
    #[inline(always)]
    fn block<T: Copy + Into<f64>>(&self, rows: &[T], scale: impl Fn(f64) -> f64) -> i64 {
        let (lower, upper) = self.bounds;
        let pattern = |x: &T| {
            let x: f64 = (*x).into();
            // Each of the next two lines is one instruction. A NaN becomes `lower`.
            let x = if x > lower { x } else { lower };
            let x = if x < upper { x } else { upper };
            (scale(x) + MAGIC).to_bits()
        };
        // Additions that wrap around give the same sum in every order. So the compiler can divide
        // this loop among the lanes of the vector instructions. A loop with explicit lanes is
        // slower, because the compiler then loads the rows of each lane one by one.
        let mut patterns = 0_u64;
        for x in rows {
            patterns = patterns.wrapping_add(pattern(x));
        }
        // Each pattern is the bit pattern of the constant `MAGIC`, increased by an integer. The sum
        // of the patterns can wrap around. `constants` is the bit pattern of `MAGIC`, times the
        // number of rows. This product can also wrap around. The sum minus the product is correct
        // modulo 2^64. The difference is the sum of the integers. This sum fits 64 bits, so the
        // difference is exact.
        let constants = row_count(rows).wrapping_mul(MAGIC.to_bits());
        patterns.wrapping_sub(constants).cast_signed()
    }
}

/// Return the base-2 logarithm of the smallest power of two that is at least `x`. If this logarithm
/// is below -1023, return -1023.
pub(crate) fn power_above(x: f64) -> i32 {
    // The sign bit is zero. So only the eleven bits of the exponent are left after the shift, and
    // the cast is exact.
    match (x.to_bits() >> 52) as i32 {
        0 => -1023 + i32::from(x.to_bits() > 1 << 51),
        biased => biased - 1023 + i32::from(x.to_bits() << 12 != 0),
    }
}
/// Return the float `2^p`, for `-1022 <= p <= 1023`.
pub(crate) fn power(p: i32) -> f64 {
    // Set the bits of the exponent, with a mantissa of zero.
    u64::try_from(p + 1023).map_or(0.0, |biased| f64::from_bits(biased << 52))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lower: f64, upper: f64, exponent: i32, multiples: (i64, i64)) {
        let lattice = Lattice::new(lower, upper).unwrap();
        assert_eq!(lattice.exponent, exponent);
        assert_eq!((lattice.lower, lattice.upper), multiples);
        assert!(lattice.magnitude() <= 1 << 51);
    }

    #[test]
    fn has_51_bits_for_the_larger_bound() {
        check(0.0, 1.0, -51, (0, 1 << 51));
        check(-1.0, 10.0, -47, (-1 << 47, 10 << 47));
        check(0.0, f64::MAX, 973, (0, 1 << 51));
        check(-f64::MAX, 1.0, 973, (-1 << 51, 1));
        check(0.0, f64::MIN_POSITIVE, -1073, (0, 1 << 51));
        check(-5e-324, 1e-323, -1074, (-1, 2));
        check(0.0, 0.0, -1074, (0, 0));
        check(0.0, f64::MIN_POSITIVE.next_down(), -1073, (0, 1 << 51));
        check(0.0, f64::MIN_POSITIVE / 2.0, -1074, (0, 1 << 51));
        check(1e300_f64.next_down(), 1e300, 946, (1_681_218_273_811_814, 1_681_218_273_811_815));
    }
    #[test]
    fn adds_every_block_and_lane() {
        let lattice = Lattice::new(-3.0, 7.0).unwrap();
        for rows in [0, 1, 15, 16, 17, 2047, 2048, 2049, 5000] {
            let data: Vec<f64> = (0..rows).map(|i| f64::from(i % 11) - 3.0).collect();
            let exact: i128 = (0..rows).map(|i| i128::from(i % 11) - 3).sum();
            assert_eq!(lattice.total(&data), exact << 48);
        }
    }
    #[test]
    fn moves_what_is_no_member_into_the_bounds() {
        let lattice = Lattice::new(-1.0, 2.0).unwrap();
        let total = |x: f64| lattice.total(&[x]);
        assert_eq!(total(f64::NAN), -1 << 50);
        assert_eq!(total(f64::INFINITY), 2 << 50);
        assert_eq!(total(-9.0), -1 << 50);
    }
    #[test]
    fn stays_within_the_multiples_of_the_bounds() {
        for (lower, upper) in [(0.1, 0.3), (-f64::MAX, f64::MAX), (1e-310, 3e-308), (-5e-324, 0.0)]
        {
            let lattice = Lattice::new(lower, upper).unwrap();
            for x in [lower, upper, lower / 2.0 + upper / 2.0, lower.next_up(), upper.next_down()] {
                let multiple = i64::try_from(lattice.total(&[x])).unwrap();
                assert!((lattice.lower..=lattice.upper).contains(&multiple));
            }
        }
    }
    #[test]
    fn adds_a_full_block_of_the_largest_multiples() {
        for sign in [1, -1] {
            let lattice = Lattice::new(-1.0, 1.0).unwrap();
            let data = [f64::from(sign); 3 * BLOCK];
            assert_eq!(lattice.total(&data), i128::from(sign) * 3 * (1 << 62));
        }
    }
    #[test]
    fn asks_for_finite_bounds() {
        let error = Lattice::new(0.0, f64::INFINITY).unwrap_err();
        assert!(error.kind() == "MakeTransformation" && error.to_string().contains("make_clamp"));
    }
}
