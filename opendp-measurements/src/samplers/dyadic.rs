//! Floats, written exactly as integers times powers of two.

use dashu_int::IBig;

/// The sign, mantissa and exponent of a float.
///
/// The value is `(-1)^negative * mantissa * 2^exponent`, with `mantissa < 2^53` and
/// `-1074 <= exponent <= 971` (IEEE 754-2019, 3.3 and 3.4). Zero has mantissa 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dyadic {
    /// True if the sign bit of the float is set.
    pub negative: bool,
    /// The integer significand, below `2^53`.
    pub mantissa: u64,
    /// The exponent of the unit in the last place.
    pub exponent: i32,
}

impl Dyadic {
    /// Split a finite float into its parts without error.
    ///
    /// An infinity or NaN does not cause a panic or an endless loop. Its exponent bits are read
    /// like the exponent bits of a finite float. So the result is some number of magnitude `2^1024`
    /// or more.
    #[inline]
    pub fn new(x: f64) -> Self {
        let bits = x.to_bits();
        let field = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match field {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, field - 1075),
        };
        Self { negative: bits >> 63 == 1, mantissa, exponent }
    }

    /// Return the mantissa with the sign of the float.
    #[inline]
    pub fn signed_mantissa(self) -> i64 {
        let magnitude = self.mantissa as i64;
        if self.negative { -magnitude } else { magnitude }
    }
}

/// Compute `2^exponent` exactly, for an exponent from -1074 to 1023.
///
/// A larger exponent gives infinity, and a smaller exponent gives 0.
#[inline]
pub fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        1024.. => f64::INFINITY,
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        -1074..=-1023 => f64::from_bits(1 << (exponent + 1074)),
        _ => 0.0,
    }
}

/// Compute `floor(n * 2^exponent)`.
///
/// Cost: linear in the length of the result. A left shift takes memory for all bits of the result,
/// so callers bound the exponent (exponents of floats stay below 2^12).
pub(super) fn shift_floor(n: IBig, exponent: i64) -> IBig {
    let count = exponent.unsigned_abs() as usize;
    // The library `dashu` rounds right shifts towards minus infinity. A test below checks this
    // rounding.
    if exponent < 0 { n >> count } else { n << count }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extreme_floats_come_apart_exactly() {
        let parts = |x: f64| {
            let d = Dyadic::new(x);
            (d.signed_mantissa(), d.exponent)
        };
        assert_eq!(parts(5e-324), (1, -1074));
        assert_eq!(parts(-f64::MIN_POSITIVE), (-(1 << 52), -1074));
        assert_eq!(parts(f64::MAX), ((1 << 53) - 1, 971));
        assert_eq!(parts(1.0), (1 << 52, -52));
        assert_eq!(parts(-0.0), (0, -1074));
    }

    #[test]
    fn powers_of_two_cover_all_finite_floats() {
        assert_eq!(power_of_two(-1075), 0.0);
        assert_eq!(power_of_two(-1074), 5e-324);
        assert_eq!(power_of_two(-1023), f64::MIN_POSITIVE / 2.0);
        assert_eq!(power_of_two(-1022), f64::MIN_POSITIVE);
        assert_eq!(power_of_two(0), 1.0);
        assert_eq!(power_of_two(1023), 2f64.powi(1023));
        assert_eq!(power_of_two(1024), f64::INFINITY);
    }

    #[test]
    fn right_shifts_round_down() {
        let shifted = |n: i64, e| shift_floor(n.into(), e);
        assert_eq!(shifted(-5, -1), (-3).into());
        assert_eq!(shifted(5, -1), 2.into());
        assert_eq!(shifted(-4, -2), (-1).into());
        assert_eq!(shifted(-1, -200), (-1).into());
        assert_eq!(shifted(-5, 2), (-20).into());
    }

    proptest! {
        #[test]
        fn a_normal_float_is_its_parts(x in proptest::num::f64::NORMAL) {
            let parts = Dyadic::new(x);
            let half = parts.exponent / 2;
            let product = parts.signed_mantissa() as f64
                * power_of_two(half)
                * power_of_two(parts.exponent - half);
            prop_assert_eq!(product, x);
        }
    }
}
