//! Writes amounts in a few digits.

use opendp_core::arith::Exact;

/// The number of digits of a rounded amount.
const DIGITS: usize = 4;
/// The maximum number of digits of an amount that is not rounded.
const WHOLE: usize = 6;
/// If the relative difference between an amount and a short decimal number is at most `SAME`, the
/// text is only the decimal number.
const SAME: f64 = 1e-15;
/// If a relative difference is above `SAME` and at most `NEAR`, the text can have a second part: a
/// `+` or a `-`, and the difference.
const NEAR: f64 = 1e-9;

/// Write an amount in a few digits, such as `0.2` or `3.1e-7`.
///
/// An amount of at most six digits is written completely. Any other amount is rounded to four
/// digits: a loss is rounded up (`up` is true), and the rest of a budget is rounded down. There are
/// two exceptions. First, an amount can be very near a decimal number with at most six digits: the
/// relative difference is at most `10^-15`. Then this decimal number is written. The rounding error
/// of a float is about as large as such a difference, so the float 0.2 is written `0.2`. Second,
/// the relative difference between an amount and the nearest decimal number with four digits can be
/// at most `10^-9`. Then this decimal number is written. If the decimal number is below a loss, or
/// above the rest of a budget, the difference is written as a second part, and is rounded up. So a
/// loss is never written too small, apart from a relative difference of `10^-15`. Because of the
/// two exceptions, a small rounding error of the arithmetic does not raise or lower the last
/// written digit.
///
/// ```
/// # use opendp_core::arith::Exact;
/// # use opendp_ledger::say;
/// assert_eq!(say(&"1/3".parse()?, true), "0.3334");
/// assert_eq!(say(&"1/3".parse()?, false), "0.3333");
/// assert_eq!(say(&Exact::from_f64(3.1e-7)?, true), "3.1e-7");
/// assert_eq!(say(&"0.200000000000017".parse()?, true), "0.2 + 1.7e-14");
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn say(amount: &Exact, up: bool) -> String {
    let nearest = amount.to_f64_up();
    if amount.is_zero() || !nearest.is_normal() {
        return amount.show(up);
    }
    for digits in [WHOLE, DIGITS] {
        let Some(shown) = Decimal::nearest(nearest, digits) else { break };
        let Some(value) = shown.value() else { break };
        if alike(&value, amount, SAME) {
            return shown.write();
        }
        if digits == DIGITS
            && alike(&value, amount, NEAR)
            && let Some(text) = apart(&shown, &value, amount, up)
        {
            return text;
        }
        if digits == DIGITS {
            return match (up, value < *amount) {
                (true, true) => shown.moved(1).write(),
                (false, false) => shown.moved(-1).write(),
                _ => shown.write(),
            };
        }
    }
    amount.show(up)
}
/// Write a float amount in a few digits, as [`say`] does. Write an infinite amount as `infinity`.
/// NaN and a number below 0 are no amounts, so they are written as `unknown`.
///
/// ```
/// # use opendp_ledger::say_float;
/// assert_eq!(say_float(1.0 / 3.0, true), "0.3334");
/// assert_eq!(say_float(1.0 / 3.0, false), "0.3333");
/// assert_eq!(say_float(f64::INFINITY, true), "infinity");
/// assert_eq!(say_float(-1.0, true), "unknown");
/// ```
pub fn say_float(amount: f64, up: bool) -> String {
    match Exact::from_f64(amount) {
        Ok(exact) if exact.is_finite() => say(&exact, up),
        Ok(_) => "infinity".to_owned(),
        Err(_) => "unknown".to_owned(),
    }
}
/// Return whether the relative difference of two amounts is at most `limit`.
fn alike(x: &Exact, y: &Exact, limit: f64) -> bool {
    let (low, high) = if x < y { (x, y) } else { (y, x) };
    let part = Exact::from_f64(limit).map_or(Exact::ZERO, |part| low.times(&part));
    *high <= low.plus(&part)
}
/// Write an amount as a nearby decimal number and a small difference. Round the difference up. If
/// `up` is true and the decimal number is above the amount, leave out the difference. If `up` is
/// false and the decimal number is below the amount, also leave out the difference.
fn apart(shown: &Decimal, value: &Exact, amount: &Exact, up: bool) -> Option<String> {
    let (sign, rest) = match (up, value < amount) {
        (true, true) => ('+', amount.minus(value)),
        (false, false) => ('-', value.minus(amount)),
        _ => return Some(shown.write()),
    };
    let near = Decimal::nearest(rest.to_f64_up(), 2)?;
    let rest = if near.value()? < rest { near.moved(1) } else { near };
    Some(format!("{} {sign} {}", shown.write(), rest.write()))
}

/// The decimal number `digits * 10^power`.
struct Decimal {
    digits: i64,
    power: i32,
}
impl Decimal {
    /// Return the decimal number with `digits` digits that is nearest to a positive float.
    fn nearest(value: f64, digits: usize) -> Option<Self> {
        let text = format!("{value:.*e}", digits - 1);
        let (mantissa, power) = text.split_once('e')?;
        let power = power.parse::<i32>().ok()? - i32::try_from(digits - 1).ok()?;
        Some(Decimal { digits: mantissa.replace('.', "").parse().ok()?, power })
    }
    fn moved(&self, by: i64) -> Self {
        Decimal { digits: self.digits + by, power: self.power }
    }
    fn value(&self) -> Option<Exact> {
        format!("{}e{}", self.digits, self.power).parse().ok()
    }
    /// Write all digits of the decimal number. If this needs many zeros, write an exponent instead.
    fn write(&self) -> String {
        let digits = self.digits.to_string();
        let zeros = digits.len() - digits.trim_end_matches('0').len();
        let digits = &digits[..digits.len() - zeros];
        let power = self.power + zeros as i32;
        // The place of the first digit, as an exponent of ten: 0 for units, and -1 for tenths.
        let first = power + digits.len() as i32 - 1;
        if !(-4..9).contains(&first) {
            let (head, tail) = digits.split_at(1);
            let point = if tail.is_empty() { "" } else { "." };
            return format!("{head}{point}{tail}e{first}");
        }
        if 0 <= power {
            return digits.to_owned() + &"0".repeat(power.unsigned_abs() as usize);
        }
        let places = power.unsigned_abs() as usize;
        let padded = format!("{digits:0>width$}", width = places + 1);
        let (whole, rest) = padded.split_at(padded.len() - places);
        format!("{whole}.{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(text: &str) -> Exact {
        text.parse().unwrap()
    }

    #[test]
    fn amounts_are_written_in_few_digits_on_the_safe_side() {
        for (amount, up, down) in [
            ("0.2", "0.2", "0.2"),
            ("1", "1", "1"),
            ("0", "0", "0"),
            ("1/3", "0.3334", "0.3333"),
            ("0.123456", "0.123456", "0.123456"),
            ("0.1234561", "0.1235", "0.1234"),
            ("0.99999999", "1", "0.999"),
            ("3.14159265e-7", "3.142e-7", "3.141e-7"),
            ("1e-6", "1e-6", "1e-6"),
            ("0.0005", "0.0005", "0.0005"),
            ("12345678.9", "12350000", "12340000"),
            ("123456789012", "1.235e11", "1.234e11"),
            ("1000000", "1000000", "1000000"),
            ("2.5e300", "2.5e300", "2.5e300"),
            ("0.20000000000001705", "0.2 + 1.8e-14", "0.2"),
            ("0.19999999999998", "0.2", "0.2 - 2e-14"),
            ("0.123456000000001", "0.1235", "0.1234"),
            ("0.99999999999", "1", "1 - 1e-11"),
            ("3.0000000001e-7", "3e-7 + 1e-17", "3e-7"),
            ("0.2000001", "0.2001", "0.2"),
        ] {
            assert_eq!(say(&exact(amount), true), up);
            assert_eq!(say(&exact(amount), false), down);
        }
        assert_eq!(say(&Exact::INFINITY, true), "inf");
    }
    #[test]
    fn a_float_is_written_as_people_write_it() {
        for (value, text) in [(0.1, "0.1"), (0.2, "0.2"), (0.3, "0.3"), (1e-5, "1e-5")] {
            let float = Exact::from_f64(value).unwrap();
            assert_eq!((say(&float, true), say(&float, false)), (text.into(), text.into()));
        }
        // If the float 0.2 is subtracted from 1 three times, the result is a little below 0.4, but
        // this result is written `0.4`.
        let spent = (0..3).fold(Exact::ZERO, |sum, _| sum.plus(&Exact::from_f64(0.2).unwrap()));
        assert_eq!(say(&exact("1").minus(&spent), false), "0.4");
    }
    #[test]
    fn a_difference_that_is_written_apart_is_on_the_safe_side() {
        // Read an amount that is written in one or two parts.
        let read = |text: &str| match text.split_once(" + ") {
            Some((head, rest)) => exact(head).plus(&exact(rest)),
            None => match text.split_once(" - ") {
                Some((head, rest)) => exact(head).minus(&exact(rest)),
                None => exact(text),
            },
        };
        let tiny = exact("7e-14");
        for part in 1..200_u32 {
            let nearby = exact(&format!("{part}/1000"));
            for by in 1..20_u32 {
                let difference = tiny.times(&exact(&format!("{by}/19"))).times(&nearby);
                for amount in [nearby.plus(&difference), nearby.minus(&difference)] {
                    let (up, down) = (read(&say(&amount, true)), read(&say(&amount, false)));
                    assert!(down <= amount && amount <= up, "{amount}: {down} {up}");
                    assert!(alike(&down, &up, 1e-9), "{amount}: {down} {up}");
                }
            }
        }
    }
    #[test]
    fn no_amount_is_written_smaller_than_it_is_when_rounded_up() {
        for part in 1..2000_u32 {
            let amount = exact(&format!("{part}/1777"));
            let (up, down) = (exact(&say(&amount, true)), exact(&say(&amount, false)));
            assert!(down <= amount && amount <= up, "{part}");
            assert!(up.to_f64_up() <= down.to_f64_down() * 1.0011, "{part}");
        }
    }
}
