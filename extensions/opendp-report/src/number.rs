//! Writes numbers for readers.

/// Write a number with commas between thousands. The error of the number limits the number of
/// decimals. If the magnitude of a number is at least 1e12, or is below 1e-6 and not 0, the number
/// is written with an exponent.
///
/// ```
/// use opendp_report::number;
///
/// assert_eq!(number(12345.678, Some(30.0)), "12,346");
/// assert_eq!(number(0.123456, Some(0.01)), "0.123");
/// assert_eq!(number(-0.5, None), "-0.5");
/// assert_eq!(number(f64::NAN, None), "unknown");
/// ```
pub fn number(value: f64, error: Option<f64>) -> String {
    if !value.is_finite() {
        return "unknown".to_owned();
    }
    let magnitude = value.abs();
    if value != 0.0 && !(1e-6..1e12).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let known = error.filter(|error| error.is_finite() && 0.0 < *error);
    // Write decimals up to one place after the first digit of the error. If the error is at least
    // 10, write no decimals. If the error is unknown, write about five digits.
    let decimals = match known {
        Some(error) => f64::from(1 - exponent(error)),
        None if value.fract() == 0.0 => 0.0,
        None => f64::from(4 - exponent(magnitude.max(1e-6))),
    };
    let decimals = if known.is_some_and(|error| 10.0 <= error) { 0.0 } else { decimals };
    // The number of decimals is at most nine, so the cast is exact.
    let text = format!("{value:.*}", decimals.clamp(0.0, 9.0) as usize);
    let text = match (known, text.contains('.')) {
        (None, true) => text.trim_end_matches('0').trim_end_matches('.'),
        _ => text.as_str(),
    };
    grouped(if text.trim_start_matches(['-', '0', '.']).is_empty() { "0" } else { text })
}
/// Return the place of the first digit of a positive number, as an exponent of ten.
pub(crate) fn exponent(value: f64) -> i32 {
    let text = format!("{value:e}");
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}
/// Put commas between the thousands of a number.
fn grouped(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if 0 < place && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}
/// Write a short form of a number, for an axis.
pub(crate) fn short(value: f64) -> String {
    let magnitude = value.abs();
    let trimmed = |value: f64, unit: &str| format!("{}{unit}", number(round(value), None));
    match magnitude {
        magnitude if (1e6..1e9).contains(&magnitude) => trimmed(value / 1e6, "\u{a0}M"),
        magnitude if (1e4..1e6).contains(&magnitude) => trimmed(value / 1e3, "\u{a0}k"),
        _ => number(round(value), None),
    }
}
/// Round to nine digits, to remove the rounding errors of additions.
fn round(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        assert_eq!(number(1_234_567.0, None), "1,234,567");
        assert_eq!(number(-1234.5, Some(2.0)), "-1,234.5");
        assert_eq!(number(41.27, Some(0.4)), "41.27");
        assert_eq!(number(-0.0001, Some(3.0)), "0");
        assert_eq!(number(3e15, None), "3.000e15");
        assert_eq!(number(f64::INFINITY, Some(1.0)), "unknown");
        assert_eq!(number(0.1 + 0.2, None), "0.3");
    }
    #[test]
    fn numbers_of_axes_are_short() {
        assert_eq!(short(20_000.0), "20\u{a0}k");
        assert_eq!(short(1_500_000.0), "1.5\u{a0}M");
        assert_eq!(short(0.1 + 0.2), "0.3");
        assert_eq!(short(5000.0), "5,000");
    }
}
