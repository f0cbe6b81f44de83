//! The form of numbers in messages.

use std::fmt::{self, Display};

use super::Number;

/// Return a form of a number for messages and other texts for people.
///
/// A float is written with an exponent if its magnitude is at least 1e16, or if the float is not 0
/// and its magnitude is below 1e-5. Without an exponent, such a float can have hundreds of digits.
/// All other numbers, including all integers, are written as `{}` writes them. The text is exact:
/// it is read back as the same number of the same type.
///
/// ```
/// use opendp_core::arith::shown;
///
/// assert_eq!(format!("found {}", shown(1e308)), "found 1e308");
/// let texts = [0.00001, 1.5, 2e15, -1e16, 2.5e-300].map(|number| shown(number).to_string());
/// assert_eq!(texts, ["0.00001", "1.5", "2000000000000000", "-1e16", "2.5e-300"]);
/// assert_eq!(shown(u64::MAX).to_string(), "18446744073709551615");
/// ```
pub fn shown<T: Number>(number: T) -> impl Display {
    Shown(number)
}

struct Shown<T>(T);
impl<T: Number> Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_shown(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_floats_of_extreme_magnitude_have_an_exponent() {
        for usual in [0.0_f64, -0.0, 1e-5, -1e-5, 0.1, 0.1 + 0.2, 123456.75, -9999999999999998.0] {
            assert_eq!(shown(usual).to_string(), usual.to_string());
        }
        for (extreme, text) in [
            (1e-5_f64.next_down(), "9.999999999999999e-6"),
            (-1e-6, "-1e-6"),
            (5e-324, "5e-324"),
            (1e16, "1e16"),
            (-1.5e300, "-1.5e300"),
            (f64::MAX, "1.7976931348623157e308"),
        ] {
            assert_eq!(shown(extreme).to_string(), text);
        }
        for (single, text) in [
            (0.1, "0.1"),
            (1e-5, "0.00001"),
            (1e-45, "1e-45"),
            (1e16, "1e16"),
            (f32::MAX, "3.4028235e38"),
        ] {
            assert_eq!(shown::<f32>(single).to_string(), text);
        }
    }
    #[test]
    fn infinities_nan_and_integers_are_written_as_usual() {
        let texts = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(|x| shown(x).to_string());
        assert_eq!(texts, ["inf", "-inf", "NaN"]);
        assert_eq!(shown(f32::NEG_INFINITY).to_string(), "-inf");
        assert_eq!(shown(i128::MIN).to_string(), i128::MIN.to_string());
        assert_eq!(shown(10_u64.pow(18)).to_string(), "1000000000000000000");
    }
    proptest! {
        #[test]
        fn the_text_is_short_and_is_read_as_the_same_float(
            bits in any::<u64>(),
            bits32 in any::<u32>(),
        ) {
            let (double, single) = (f64::from_bits(bits), f32::from_bits(bits32));
            let (text, text32) = (shown(double).to_string(), shown(single).to_string());
            prop_assert!(text.len() <= 25 && text32.len() <= 25, "{text} {text32}");
            let (read, read32): (f64, f32) = (text.parse().unwrap(), text32.parse().unwrap());
            prop_assert!(read.to_bits() == bits || read.is_nan() && double.is_nan());
            prop_assert!(read32.to_bits() == bits32 || read32.is_nan() && single.is_nan());
        }
    }
}
