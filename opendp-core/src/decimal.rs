//! Whole numbers in the notation of tables and JSON: `47`, `47.0`, `+47`, `4.7e1`.

/// The largest number of zeros that an exponent can add to the written digits.
const MOST_ZEROS: i64 = 1000;

/// The number `2^53`: `f64` represents every integer from 0 to this number.
const MAX_CONSECUTIVE: u64 = 1 << 53;

/// The result of reading a number that has a point or an exponent. If the number is an integer of
/// magnitude at most `2^53`, the result contains this integer.
#[derive(Debug, PartialEq)]
pub(crate) enum Whole {
    /// The number is the stored integer.
    Is(i64),
    /// The number is not an integer. It can be close to an integer.
    Fraction,
    /// The number is an integer whose magnitude exceeds `2^53`. A float of this size can stand for
    /// several integers.
    Beyond,
}
/// Find the integer value of a JSON number that has a point or an exponent, such as `3.0`, `1e3` or
/// `1e-400`.
///
/// The value is computed from the digits. A conversion to a float would turn very small numbers
/// into 0.
pub(crate) fn whole_number(text: &str) -> Whole {
    match Decimal::read(text) {
        Some(decimal) if 0 <= decimal.power => match decimal.integer().map(|text| text.parse()) {
            Some(Ok(value)) if i64::unsigned_abs(value) <= MAX_CONSECUTIVE => Whole::Is(value),
            _ => Whole::Beyond,
        },
        _ => Whole::Fraction,
    }
}
/// Write the integer value of a decimal number, without a point and without an exponent.
///
/// The form of the text is `sign digits . digits e exponent`. The sign, the point and the exponent
/// can be absent. No float is used, so the value is exact at any length. Return `None` for other
/// text and for a number that is not an integer. Also return `None` if the exponent adds more than
/// 1000 zeros to the digits.
pub(crate) fn whole(text: &str) -> Option<String> {
    Decimal::read(text)?.integer()
}

/// A decimal number, stored as an integer times a power of ten. If the exponent of the power of ten
/// is negative, the last digit of the integer is not 0. So the number is whole if and only if the
/// exponent is not negative.
struct Decimal {
    negative: bool,
    /// The digits of the integer, without leading zeros. The number 0 has no digits.
    digits: Vec<u8>,
    power: i64,
}
impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let (negative, unsigned) = signed(text)?;
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = || before.bytes().chain(after.bytes());
        if digits().next().is_none() || !digits().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let mut digits: Vec<u8> = digits().skip_while(|digit| *digit == b'0').collect();
        if digits.is_empty() {
            return Some(Decimal { negative: false, digits, power: 0 });
        }
        let mut power = exponent.saturating_sub(i64::try_from(after.len()).ok()?);
        while power < 0 && digits.last() == Some(&b'0') {
            digits.pop();
            power += 1;
        }
        Some(Decimal { negative, digits, power })
    }
    /// Write the number as an integer. Return `None` if the number is not an integer, or if the
    /// exponent adds more than `MOST_ZEROS` zeros to the digits.
    fn integer(mut self) -> Option<String> {
        if !(0..=MOST_ZEROS).contains(&self.power) {
            return None;
        }
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        self.digits.resize(self.digits.len() + usize::try_from(self.power).ok()?, b'0');
        if self.negative {
            self.digits.insert(0, b'-');
        }
        String::from_utf8(self.digits).ok()
    }
}
/// Read the optional sign of a text. Return whether the sign is a minus, and the text without the
/// sign.
fn signed(text: &str) -> Option<(bool, &str)> {
    Some(match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    })
}
/// Read an exponent. If the magnitude of the exponent exceeds the largest `i64`, replace the
/// magnitude by the largest `i64`. This replacement changes no result: to compensate for an
/// exponent of this size, a text would need about `2^63` digits.
fn read_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = signed(text)?;
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let size: i64 = digits.parse().unwrap_or(i64::MAX);
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Atom, IBig};

    fn read(text: &str) -> Option<String> {
        whole(text)
    }

    #[test]
    fn a_number_without_a_fraction_reads_as_an_integer() {
        for text in ["47", "+47", "47.", "47.0", "47.000", "4.7e1", "4.7E+1", "470e-1", "0047.0"] {
            assert_eq!(read(text).as_deref(), Some("47"), "{text}");
            assert_eq!(i32::from_cell(text), Some(47), "{text}");
            assert_eq!(u8::from_cell(text), Some(47), "{text}");
            assert_eq!(IBig::from_cell(text), Some(IBig::from(47)), "{text}");
        }
        assert_eq!((i8::from_cell("-128.0"), i8::from_cell("-129.0")), (Some(-128), None));
        assert_eq!((u8::from_cell("255.0"), u8::from_cell("256.0")), (Some(255), None));
        assert_eq!((u8::from_cell("-0.0"), i32::from_cell("-0")), (Some(0), Some(0)));
        assert_eq!(
            (i64::from_cell("0e99999999999999999999"), i64::from_cell(".0")),
            (Some(0), Some(0))
        );
    }
    #[test]
    fn a_whole_number_is_read_by_its_digits_and_not_through_a_float() {
        assert_eq!(i64::from_cell("9007199254740993.0"), Some(9_007_199_254_740_993));
        assert_eq!(i64::from_cell("9.223372036854775807e18"), Some(i64::MAX));
        assert_eq!(i64::from_cell("9.223372036854775808e18"), None);
        assert_eq!(u128::from_cell("3.40282366920938463463374607431768211455e38"), Some(u128::MAX));
        assert_eq!(i32::from_cell("47.00000000000000000001"), None);
        assert_eq!(i32::from_cell("1e-400"), None);
    }
    #[test]
    fn what_is_no_whole_number_does_not_read() {
        let bad = [
            "", "-", "+", ".", "e1", ".e1", "1e", "1e+", "1e1.0", "1.5", "0.1", "--1", "+-1",
            "1 0", "1,000", "0x10", "1_0", "٣", "1.٣", "inf", "nan", "NaN", "1.0.0", "1e0e0",
            "1e-1",
        ];
        for text in bad {
            assert_eq!((read(text), i64::from_cell(text)), (None, None), "{text}");
        }
    }
    #[test]
    fn an_exponent_of_any_size_is_bounded() {
        for text in [
            "1e1001",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "1e-9223372036854775808",
        ] {
            assert_eq!(
                (read(text), i128::from_cell(text), IBig::from_cell(text)),
                (None, None, None)
            );
        }
        assert_eq!(read("1e1000").map(|text| text.len()), Some(1001));
        let long = format!("{}e-2000", "7".to_owned() + &"0".repeat(2000));
        assert_eq!(read(&long).as_deref(), Some("7"));
    }
    #[test]
    fn the_digits_decide_whether_a_number_is_whole() {
        for (text, value) in [
            ("3.0", 3),
            ("1e3", 1000),
            ("-2.50e1", -25),
            ("0.0", 0),
            ("-0.000e99999999999999999999", 0),
            ("0e-99999999999999999999", 0),
            ("120e-1", 12),
            ("9007199254740992.0", 1 << 53),
            ("0.00000000000000000001E+20", 1),
        ] {
            assert_eq!(whole_number(text), Whole::Is(value), "{text}");
        }
        for text in ["1e-400", "1.5", "1e-99999999999999999999", "3.0000000000000000000001"] {
            assert_eq!(whole_number(text), Whole::Fraction, "{text}");
        }
        for text in ["9007199254740993.0", "1e16", "1e400", "-1e99999999999999999999"] {
            assert_eq!(whole_number(text), Whole::Beyond, "{text}");
        }
    }
}
