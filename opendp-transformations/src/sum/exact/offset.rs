//! Adds up the distances of floats from a lower bound, and the squares of these distances. Each
//! distance is rounded to a multiple of a power of two. The sum of the multiples and the sum of
//! their squares are exact.

use dashu_int::UBig;
use opendp_core::arith::Directed;
use opendp_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::sum::exact::lattice::{BITS, BLOCK, LOWEST, MAGIC, power, power_above};
use crate::widest::widest;

/// The multiples of a power of two that represent the distances between floats and a lower bound.
///
/// A float `x` maps to the integer `round((x - lower) / 2^exponent)`, computed by a sequence of
/// monotone steps. The first steps are a clamp to the bounds, a multiplication by `half`, and a
/// subtraction of a constant. The next steps are multiplications by positive constants, and a
/// rounding to nearest. The lower bound maps to zero, and the upper bound maps to at most `range`.
/// So all floats within the bounds map to integers from zero to `range`. The rounding errors of the
/// steps do not change this fact, because each step is monotone. `range` is the width of the
/// bounds, divided by `2^exponent` and rounded up. `range` is at most `2^51`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offset {
    bounds: (f64, f64),
    /// A number and the lower bound are multiplied by this factor before their difference is
    /// computed. The factor is one half if the width of the bounds exceeds the largest float, and
    /// otherwise one.
    half: f64,
    exponent: i32,
    /// The product of `half` and these two factors is `2^-exponent`.
    scale: (f64, f64),
    range: u64,
}

impl Offset {
    /// Choose the multiples for floats from `lower` to `upper`.
    pub(crate) fn new(lower: f64, upper: f64) -> Result<Self> {
        if !(lower.is_finite() && upper.is_finite()) {
            return Err(Error::MakeTransformation(
                "input: the bounds of the records must be finite; use `make_clamp` first".into(),
            ));
        }
        let (half, width) = match upper.inf_sub(lower) {
            Ok(width) => (1.0, width),
            Err(_) => (0.5, (0.5 * upper).inf_sub(0.5 * lower)?),
        };
        let spacing = (power_above(width) - BITS).max(LOWEST);
        let first = spacing.max(-1023);
        let scale = (power(-first), power(first - spacing));
        // This integer has at most 52 bits, so the cast is exact.
        let range = (width * scale.0 * scale.1).ceil() as u64;
        let exponent = spacing + i32::from(half < 1.0);
        Ok(Offset { bounds: (lower, upper), half, exponent, scale, range })
    }
    /// Return the base-2 logarithm of the spacing of the multiples.
    pub(crate) fn exponent(&self) -> i64 {
        self.exponent.into()
    }
    /// Return the width of the bounds, in units of the spacing, rounded up. The result is at most
    /// `2^51`.
    pub(crate) fn range(&self) -> u64 {
        self.range
    }
    /// Make a label for the multiples and the bounds. Other multiples or other bounds have a
    /// different label.
    pub(crate) fn label(&self) -> String {
        format!("multiples of 2^{} within {:?}", self.exponent, self.bounds)
    }
    /// Clamp a number to the bounds, and return the multiple that represents this number.
    #[inline]
    pub(crate) fn multiple(&self, x: f64) -> u64 {
        self.plain(x, |x| (x * self.half - self.bounds.0 * self.half) * self.scale.0 * self.scale.1)
    }
    #[inline(always)]
    fn plain(&self, x: f64, place: impl Fn(f64) -> f64) -> u64 {
        let (lower, upper) = self.bounds;
        // Each of the next two lines is one instruction. A NaN becomes `lower`.
        let x = if x > lower { x } else { lower };
        let x = if x < upper { x } else { upper };
        // The bit pattern of the sum is the bit pattern of `MAGIC` plus an integer; see
        // `lattice.rs`.
        (place(x) + MAGIC).to_bits().wrapping_sub(MAGIC.to_bits())
    }
    /// Add up the multiples that represent the rows, and the squares of these multiples, exactly.
    pub(crate) fn moments<T: Copy + Into<f64>>(&self, rows: &[T], moments: &mut Moments) {
        let (lower, scale) = (self.bounds.0, self.scale.0);
        for block in rows.chunks(BLOCK) {
            // Numbers are halved only if the width of the bounds exceeds the largest float. The
            // second factor of `scale` differs from one only if this width is at most 2^-973.
            if self.half == 1.0 && self.scale.1 == 1.0 {
                widest(
                    #[inline(always)]
                    || moments.add(block, |x| self.plain((*x).into(), |x| (x - lower) * scale)),
                );
            } else {
                moments.add(block, |x| self.multiple((*x).into()));
            }
        }
    }
}

/// Two exact sums over integers: the sum of the integers, and the sum of their squares. Each
/// integer is from 0 to `2^51`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moments {
    sum: u128,
    squares: Wide,
}
impl Moments {
    /// Convert at most `BLOCK` rows to integers with `multiple`. Add the integers and their squares
    /// to the two sums.
    #[inline(always)]
    fn add<T>(&mut self, rows: &[T], multiple: impl Fn(&T) -> u64) {
        // The first loop only rounds the rows, with vector instructions. The second loop only
        // computes sums and wide products. A single loop that rounds the rows and also computes the
        // sums takes several times longer than each of these loops.
        let mut multiples = [0_u64; BLOCK];
        for (place, row) in multiples.iter_mut().zip(rows) {
            *place = multiple(row);
        }
        // Both sums fit their types. There are at most 2^11 integers. The integers are below 2^52,
        // and their squares are below 2^104.
        let (mut sum, mut squares) = (0_u64, [0_u128; 2]);
        for pair in multiples[..rows.len().min(BLOCK).next_multiple_of(2)].chunks_exact(2) {
            for lane in 0..2 {
                let x = pair[lane];
                sum = sum.wrapping_add(x);
                squares[lane] = squares[lane].wrapping_add(u128::from(x) * u128::from(x));
            }
        }
        let squares = squares[0].wrapping_add(squares[1]);
        self.merge(&Moments { sum: sum.into(), squares: Wide::new(squares) });
    }
    /// Add the two sums of `other` to these two sums.
    pub(crate) fn merge(&mut self, other: &Moments) {
        self.sum = self.sum.saturating_add(other.sum);
        self.squares.add(other.squares);
    }
    /// Return the sum of the squared deviations from the mean, times the number of integers.
    pub(crate) fn deviations(&self, size: usize) -> UBig {
        let (squares, sum) = (self.squares.to_ubig() * UBig::from(size), UBig::from(self.sum));
        let mean = &sum * &sum;
        // If `size` is the number of integers, the square of their sum is at most `size` times the
        // sum of their squares, by the Cauchy-Schwarz inequality. If `size` is another number, the
        // difference can be negative. In this case, return zero.
        if mean <= squares { squares - mean } else { UBig::ZERO }
    }
}

/// The integer `high * 2^128 + low`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Wide {
    high: u64,
    low: u128,
}
impl Wide {
    pub(crate) fn new(low: u128) -> Self {
        Wide { high: 0, low }
    }
    pub(crate) fn add(&mut self, other: Wide) {
        let (low, carry) = self.low.overflowing_add(other.low);
        self.low = low;
        // A sum of at most 2^88 squares or products is within the range of `high`.
        self.high = self.high.saturating_add(other.high).saturating_add(carry.into());
    }
    pub(crate) fn to_ubig(self) -> UBig {
        (UBig::from(self.high) << 128) + UBig::from(self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lower: f64, upper: f64, exponent: i32, range: u64) {
        let offset = Offset::new(lower, upper).unwrap();
        assert_eq!((offset.exponent, offset.range), (exponent, range));
        assert_eq!(offset.multiple(lower), 0);
        assert_eq!(offset.multiple(f64::NAN), 0);
        assert!(offset.multiple(upper) <= range && range <= 1 << 51);
        let middle = offset.multiple(lower / 2.0 + upper / 2.0);
        assert!(middle <= range && range / 3 <= middle);
    }

    #[test]
    fn has_51_bits_for_the_width_of_the_bounds() {
        check(0.0, 1.0, -51, 1 << 51);
        check(-1.0, 9.0, -47, 10 << 47);
        check((1_u64 << 50) as f64, (1_u64 << 50) as f64 + 1.0, -51, 1 << 51);
        check(-f64::MAX, f64::MAX, 974, 1 << 51);
        check(-f64::MAX, 0.0, 973, 1 << 51);
        check(5.0, 5.0, -1074, 0);
        check(-5e-324, 1e-323, -1074, 3);
        check(0.0, 1e-308, -1074, (1e-308_f64).to_bits());
    }
    #[test]
    fn adds_integers_and_their_squares_exactly() {
        let offset = Offset::new(-3.0, 7.0).unwrap();
        for rows in [0_i32, 1, 3, 4, 5, 2047, 2048, 2049, 5000] {
            let data: Vec<f64> = (0..rows).map(|i| f64::from(i % 11) - 3.0).collect();
            let mut moments = Moments::default();
            offset.moments(&data, &mut moments);
            let all = || (0..rows).map(|i| u128::from(i.unsigned_abs() % 11) << 47);
            assert_eq!(moments.sum, all().sum::<u128>());
            assert_eq!(moments.squares.to_ubig(), all().map(|x| UBig::from(x * x)).sum::<UBig>());
        }
    }
    #[test]
    fn carries_beyond_128_bits() {
        let mut wide = Wide::new(u128::MAX);
        wide.add(Wide::new(2));
        assert_eq!(wide.to_ubig(), (UBig::ONE << 128) + UBig::ONE);
    }
    #[test]
    fn asks_for_finite_bounds() {
        let error = Offset::new(f64::NEG_INFINITY, 0.0).unwrap_err();
        assert!(error.kind() == "MakeTransformation" && error.to_string().contains("make_clamp"));
    }
}
