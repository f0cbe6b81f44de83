//! Reads exact amounts, and compares an amount with its nearest float.

use opendp_core::Result;
use opendp_core::arith::Exact;

/// The maximum number of digits of an amount that can be read. Older versions never wrote more
/// digits.
const MOST_DIGITS: usize = 10_000;

/// Read an amount. Older versions wrote some amounts with more digits than the usual parser
/// accepts. The function `long` reads these amounts.
pub(super) fn read(text: &str) -> Result<Exact> {
    text.parse().or_else(|error| {
        let (number, below) = text.split_once('/').unwrap_or((text, "1"));
        long(number).and_then(|number| Some(number.over(&long(below)?))).ok_or(error)
    })
}
fn long(text: &str) -> Option<Exact> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = [whole, decimals].concat();
    if MOST_DIGITS < digits.len() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let power = |digits: usize| format!("1e{digits}").parse::<Exact>().ok();
    let mut number = Exact::ZERO;
    for part in digits.as_bytes().chunks(1000) {
        let part = std::str::from_utf8(part).ok()?;
        number = number.times(&power(part.len())?).plus(&part.parse().ok()?);
    }
    for part in decimals.as_bytes().chunks(1000) {
        number = number.over(&power(part.len())?);
    }
    Some(number)
}
/// Return the larger of a number and its nearest float.
pub(super) fn or_its_float(part: &Exact) -> Exact {
    let Ok(up) = Exact::from_f64(part.to_f64_up()) else { return part.clone() };
    let Ok(down) = Exact::from_f64(part.to_f64_down()) else { return part.clone() };
    let nearest_is_above = up.is_finite() && up.minus(part) < part.minus(&down);
    if nearest_is_above { up } else { part.clone() }
}
