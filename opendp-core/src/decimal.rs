//! Decimal numbers as they are written, digit by digit.

/// The largest integer up to which `f64` holds every integer.
const MAX_CONSECUTIVE: u64 = 1 << 53;

/// What a number in the notation of floats is among the integers.
#[derive(Debug, PartialEq)]
pub(crate) enum Whole {
    /// This integer.
    Is(i64),
    /// Not an integer, however near to one it is.
    Fraction,
    /// Beyond `2^53`, where the float that was meant may be another integer.
    Beyond,
}

/// Tell which integer a number of JSON is that is written like `3.0`, `1e3` or `1e-400`.
///
/// The digits decide. A float in between would take what is below all floats for 0.
pub(crate) fn whole(text: &str) -> Whole {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let digits = mantissa.trim_start_matches('-');
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = format!("{before}{after}");
    let kept = digits.trim_end_matches('0');
    let significant = kept.trim_start_matches('0');
    if significant.is_empty() {
        return Whole::Is(0);
    }
    // The number is `significant * 10^last`.
    let far = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
    let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let last = exponent.parse().unwrap_or(far).saturating_sub(length(after));
    let last = last.saturating_add(length(&digits) - length(kept));
    match usize::try_from(last) {
        Err(_) => Whole::Fraction,
        Ok(zeros) if 16 < significant.len().saturating_add(zeros) => Whole::Beyond,
        Ok(zeros) => match format!("{significant}{}", "0".repeat(zeros)).parse::<i64>() {
            Ok(size) if size.unsigned_abs() <= MAX_CONSECUTIVE => {
                Whole::Is(if mantissa.starts_with('-') { -size } else { size })
            }
            _ => Whole::Beyond,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(whole(text), Whole::Is(value), "{text}");
        }
        for text in ["1e-400", "1.5", "1e-99999999999999999999", "3.0000000000000000000001"] {
            assert_eq!(whole(text), Whole::Fraction, "{text}");
        }
        for text in ["9007199254740993.0", "1e16", "1e400", "-1e99999999999999999999"] {
            assert_eq!(whole(text), Whole::Beyond, "{text}");
        }
    }
}
