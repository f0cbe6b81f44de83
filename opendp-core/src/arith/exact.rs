//! Exact nonnegative numbers. Budgets and totals of losses are stored in this form.

use std::{borrow::Cow, cmp::Ordering, fmt, str::FromStr};

use dashu_int::UBig;
use dashu_int::ops::{BitTest, Gcd};

use super::dyadic::{decode, ratio_to_f64_down, ratio_to_f64_up};
use super::shown;
use crate::{Error, Result};

/// An exact nonnegative number: a fraction, or infinity.
///
/// A float is a fraction whose denominator is a power of two. A tenth is not such a fraction. The
/// float 0.1 is slightly more than a tenth. The text `0.1` is exactly a tenth:
///
/// ```
/// # use opendp_core::arith::Exact;
/// let tenth: Exact = "0.1".parse()?;
/// assert!(tenth < Exact::from_f64(0.1)?);
/// let mut total = Exact::ZERO;
/// for _ in 0..10 {
///     total = total.plus(&tenth);
/// }
/// assert_eq!(total, Exact::from_f64(1.0)?);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Exact(Option<Fraction>);

/// The fraction `number / (odd * 2^twos)`, not always in lowest terms.
#[derive(Clone, Debug)]
struct Fraction {
    number: UBig,
    odd: UBig,
    twos: usize,
}

/// In a running total, `odd` (the denominator without its factors of 2) has at most this number of
/// bits.
const MOST_BITS: usize = 256;
/// In a running total, the denominator has at most this number of factors of 2. The denominator of
/// every float has fewer factors of 2.
const MOST_TWOS: usize = 1100;
/// The largest length of a text that is read as a number. The texts of all finite floats, and of
/// all running totals below `2^1024`, are shorter.
const MOST_CHARACTERS: usize = 4096;
/// The largest number of decimals in a written decimal number. A number that needs more decimals is
/// written as a fraction.
const MOST_DECIMALS: usize = 64;

impl Exact {
    /// Zero.
    pub const ZERO: Exact = Exact(Some(Fraction { number: UBig::ZERO, odd: UBig::ONE, twos: 0 }));
    /// Infinity, which exceeds every number.
    pub const INFINITY: Exact = Exact(None);

    /// Convert a float exactly. The float can be infinity.
    ///
    /// # Errors
    /// `InvalidDistance` when `value` is negative or NaN.
    pub fn from_f64(value: f64) -> Result<Self> {
        if !(0.0 <= value) {
            return Err(Error::InvalidDistance(format!(
                "expected a number of at least 0, found {}",
                shown(value)
            )));
        }
        let Some((_, mantissa, exponent)) = decode(value) else { return Ok(Exact::INFINITY) };
        let shift = exponent.unsigned_abs() as usize;
        let (number, twos) = match exponent {
            0.. => (UBig::from(mantissa) << shift, 0),
            _ => (UBig::from(mantissa), shift),
        };
        Ok(Exact(Some(Fraction { number, odd: UBig::ONE, twos })))
    }
    /// Convert a float that a person wrote as a bound. Return the larger of two numbers: the float
    /// itself, and the shortest decimal number that is read as this float.
    ///
    /// A person who writes `0.3` usually means three tenths. The float 0.3 is smaller than three
    /// tenths, so the result is the decimal number. A loss of three tenths is then within the
    /// bound. A person who writes `0.1` can also mean the float 0.1 itself, for example if this
    /// float is a computed loss. This float is above a tenth, so the result is the float. Then the
    /// computed loss is within the bound too.
    ///
    /// # Errors
    /// `InvalidDistance` when `value` is negative or NaN.
    pub fn written(value: f64) -> Result<Self> {
        Ok(Exact::from_f64(value)?.max(Exact::decimal(value)?))
    }
    /// Return the shortest decimal number that is read as this float. The number can be below or
    /// above the float.
    ///
    /// # Errors
    /// `InvalidDistance` when `value` is negative or NaN.
    pub fn decimal(value: f64) -> Result<Self> {
        match Exact::from_f64(value)? {
            // The formatted text has the fewest digits that are read as this float.
            finite if finite.is_finite() => format!("{value:e}").parse(),
            infinite => Ok(infinite),
        }
    }
    /// Round this number up to a float.
    pub fn to_f64_up(&self) -> f64 {
        self.0.as_ref().map_or(f64::INFINITY, |x| ratio_to_f64_up(x.number.as_ibig(), &x.below()))
    }
    /// Round this number down to a float.
    pub fn to_f64_down(&self) -> f64 {
        self.0.as_ref().map_or(f64::INFINITY, |x| ratio_to_f64_down(x.number.as_ibig(), &x.below()))
    }
    /// Return whether this number is zero.
    pub fn is_zero(&self) -> bool {
        self.0.as_ref().is_some_and(|x| x.number.is_zero())
    }
    /// Return whether this number is finite.
    pub fn is_finite(&self) -> bool {
        self.0.is_some()
    }
    /// Compute half of the square of this number.
    #[must_use]
    pub fn half_square(&self) -> Self {
        let Some(x) = self.times(self).0 else { return Exact::INFINITY };
        Exact(Some(Fraction { twos: x.twos + 1, ..x }.reduced()))
    }
    /// Write the number as text for people. If the exact text has at most 20 characters, return
    /// this text. Otherwise round the number to 12 decimals: upward if `up` is true, and downward
    /// if `up` is false. Mark the omitted digits by an ellipsis.
    pub fn show(&self, up: bool) -> String {
        let exact = self.to_string();
        let Some(x) = self.0.as_ref().filter(|_| 20 < exact.len()) else { return exact };
        let (scale, below) = (UBig::from(10_u8).pow(12), x.below());
        let shifted = &x.number * &scale;
        let (mut digits, rest) = (&shifted / &below, shifted % below);
        if up && !rest.is_zero() {
            digits += UBig::ONE;
        }
        let shown = Fraction { number: digits, odd: UBig::from(5_u8).pow(12), twos: 12 };
        format!("{}...", Exact(Some(shown)))
    }
    /// Add two numbers.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Some(x), Some(y)) => Exact(Some(x.plus(y))),
            _ => Exact::INFINITY,
        }
    }
    /// Add a term to a running total. Memory and time do not grow with the number of terms.
    ///
    /// The odd part of a number is the number without its factors of 2. The odd part of a
    /// denominator is 1 for floats and a power of 5 for decimals. Consider the common denominator
    /// of the total and the term. This denominator has two limits: at most 256 bits in the odd
    /// part, and at most 1100 factors of 2. Within these limits, the sum is exact. If the common
    /// denominator would exceed a limit, the term is first rounded up to a float. So the total is
    /// never too small.
    ///
    /// Before the limits are checked, the numbers are reduced to lowest terms. The text of a number
    /// is in lowest terms, too. So later totals do not change if a total or a term is written as
    /// text and read again.
    #[must_use]
    pub fn plus_term(&self, term: &Self) -> Self {
        let (Some(x), Some(y)) = (&self.0, &term.0) else { return Exact::INFINITY };
        let (x, y) = (x.lowest(), y.lowest());
        let sum = x.plus(&y);
        if y.twos <= MOST_TWOS && (x.odd == y.odd || sum.odd.bit_len() <= MOST_BITS) {
            return Exact(Some(sum));
        }
        // The rounded term is a float, so the odd part of its denominator is 1. So this term does
        // not enlarge the odd part of the denominator of the total.
        Exact::from_f64(term.to_f64_up()).map_or(Exact::INFINITY, |up| self.plus(&up))
    }
    /// Subtract `other`, or return 0 when `other` is larger. If this number is infinity, return
    /// infinity.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let Some(x) = &self.0 else { return Exact::INFINITY };
        match &other.0 {
            Some(y) if other < self => {
                let (number, subtracted, odd, twos) = x.aligned(y);
                Exact(Some(Fraction { number: number - subtracted, odd, twos }))
            }
            _ => Exact::ZERO,
        }
    }
    /// Multiply two numbers. Infinity times 0 is infinity, which never understates a loss.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        let (Some(x), Some(y)) = (&self.0, &other.0) else { return Exact::INFINITY };
        let (number, odd) = (&x.number * &y.number, &x.odd * &y.odd);
        Exact(Some(Fraction { number, odd, twos: x.twos + y.twos }.reduced()))
    }
    /// Divide this number by `divisor`. Zero divided by any number, even by zero, is zero. A number
    /// other than zero, divided by zero, is infinity. A finite number divided by infinity is zero.
    /// Infinity divided by any number is infinity.
    #[must_use]
    pub fn over(&self, divisor: &Self) -> Self {
        match (&self.0, &divisor.0) {
            _ if self.is_zero() => Exact::ZERO,
            (Some(_), None) => Exact::ZERO,
            (Some(x), Some(y)) if !y.number.is_zero() => {
                let twos = y.number.trailing_zeros().unwrap_or(0);
                let number = (&x.number * &y.odd) << y.twos;
                let odd = &x.odd * (&y.number >> twos);
                Exact(Some(Fraction { number, odd, twos: x.twos + twos }.reduced()))
            }
            _ => Exact::INFINITY,
        }
    }
}

impl Fraction {
    /// Return the denominator, `odd * 2^twos`.
    fn below(&self) -> UBig {
        &self.odd << self.twos
    }
    /// Write two fractions with a common denominator. The denominator is an odd number times a
    /// power of two. Return both numerators, this odd number, and the exponent of the power of two.
    fn aligned(&self, other: &Self) -> (UBig, UBig, UBig, usize) {
        let twos = self.twos.max(other.twos);
        let (x, y) = (&self.number << (twos - self.twos), &other.number << (twos - other.twos));
        if self.odd == other.odd {
            return (x, y, self.odd.clone(), twos);
        }
        let common = (&self.odd).gcd(&other.odd);
        let (mine, theirs) = (&self.odd / &common, &other.odd / &common);
        let odd = &mine * &other.odd;
        (x * theirs, y * mine, odd, twos)
    }
    fn plus(&self, other: &Self) -> Self {
        if self.odd != other.odd {
            let (x, y, odd, twos) = self.aligned(other);
            return Fraction { number: x + y, odd, twos };
        }
        // Usually, the odd parts are equal. For equal odd parts, this code is faster than
        // `aligned`, which makes copies.
        let (fine, coarse) = if self.twos < other.twos { (other, self) } else { (self, other) };
        let number = match fine.twos - coarse.twos {
            0 => &fine.number + &coarse.number,
            shift => &fine.number + (&coarse.number << shift),
        };
        Fraction { number, odd: fine.odd.clone(), twos: fine.twos }
    }
    /// Compare two fractions. If the odd parts are equal, the code first compares bounds on the two
    /// values. This comparison needs no shift of a number. For most pairs, these bounds decide.
    fn compare(&self, other: &Self) -> Ordering {
        if self.odd == other.odd {
            // A number of `n` bits divided by `2^k` is at least `2^(n - 1 - k)` and less than
            // `2^(n - k)`. So a larger `n - k` means a larger quotient. Let `n1` and `k1` be these
            // numbers for the first fraction, and `n2` and `k2` for the second. The code compares
            // `n1 + k2` with `n2 + k1`, because the differences `n1 - k1` and `n2 - k2` can be
            // negative.
            let places = |x: &Self, y: &Self| x.number.bit_len().saturating_add(y.twos);
            let order = places(self, other).cmp(&places(other, self));
            if order.is_ne() && !self.number.is_zero() && !other.number.is_zero() {
                return order;
            }
        }
        let (x, y, ..) = self.aligned(other);
        x.cmp(&y)
    }
    /// Return the number of decimals that are necessary to write this fraction exactly. Return
    /// `None` if more than `MOST_DECIMALS` are necessary.
    fn decimals(&self) -> Option<usize> {
        let (five, mut odd, mut fives) = (UBig::from(5_u8), self.odd.clone(), 0);
        while odd != UBig::ONE {
            if fives == MOST_DECIMALS || !(&odd % &five).is_zero() {
                return None;
            }
            odd /= &five;
            fives += 1;
        }
        Some(self.twos.max(fives)).filter(|decimals| *decimals <= MOST_DECIMALS)
    }
    /// Reduce the fraction to lowest terms, unless its denominator is `2^k` with `k <= MOST_TWOS`.
    /// Such a fraction is already within the limits of `plus_term`.
    fn lowest(&self) -> Cow<'_, Self> {
        match self.odd == UBig::ONE && self.twos <= MOST_TWOS {
            true => Cow::Borrowed(self),
            false => Cow::Owned(self.clone().reduced()),
        }
    }
    /// Reduce the fraction to lowest terms.
    fn reduced(self) -> Self {
        if self.number.is_zero() {
            return Fraction { number: self.number, odd: UBig::ONE, twos: 0 };
        }
        let halved = self.number.trailing_zeros().unwrap_or(0).min(self.twos);
        let (number, twos) = (self.number >> halved, self.twos - halved);
        if self.odd == UBig::ONE {
            return Fraction { number, odd: self.odd, twos };
        }
        let common = (&number).gcd(&self.odd);
        Fraction { number: number / &common, odd: self.odd / common, twos }
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Exact {}
impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(x), Some(y)) => x.compare(y),
        }
    }
}

/// Write the exact number as a decimal number. If the number needs more than `MOST_DECIMALS`
/// decimals, write a fraction.
impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(x) = self.0.clone().map(Fraction::reduced) else { return f.write_str("inf") };
        match x.decimals() {
            None => write!(f, "{}/{}", x.number, x.below()),
            Some(0) => write!(f, "{}", x.number),
            Some(decimals) => {
                let digits = &x.number * UBig::from(10_u8).pow(decimals) / x.below();
                let digits = format!("{:0>width$}", digits.to_string(), width = decimals + 1);
                let (whole, rest) = digits.split_at(digits.len() - decimals);
                write!(f, "{whole}.{rest}")
            }
        }
    }
}

/// Read a decimal number, such as `0.1` or `2.5e-3`, or a fraction, such as `1/3`. The result is
/// exact.
impl FromStr for Exact {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            || Error::InvalidDistance("expected a number of at least 0, such as 0.1 or 1/3".into());
        if MOST_CHARACTERS < text.len() {
            return Err(too_long());
        }
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let integer = |text: &str| UBig::from_str_radix(text, 10).map_err(|_| wrong());
        if let Some((number, below)) = text.split_once('/') {
            if !plain(number) || !plain(below) {
                return Err(wrong());
            }
            let below = integer(below)?;
            let twos = below.trailing_zeros().ok_or_else(wrong)?;
            let fraction = Fraction { number: integer(number)?, odd: below >> twos, twos };
            return Ok(Exact(Some(fraction.reduced())));
        }
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        if !plain(&digits) || !plain(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) {
            return Err(wrong());
        }
        let exponent: i64 = exponent.parse().map_err(|_| too_long())?;
        let power = exponent.checked_sub(fraction.len() as i64).ok_or_else(too_long)?;
        let size = usize::try_from(power.unsigned_abs()).map_err(|_| too_long())?;
        if MOST_CHARACTERS < size {
            return Err(too_long());
        }
        let number = integer(&digits)?;
        let fives = UBig::from(5_u8).pow(size);
        Ok(Exact(Some(match power {
            0.. => Fraction { number: (number * fives) << size, odd: UBig::ONE, twos: 0 },
            _ => Fraction { number, odd: fives, twos: size }.reduced(),
        })))
    }
}

#[cold]
fn too_long() -> Error {
    let reason = format!(
        "the number is too long: expected at most {MOST_CHARACTERS} digits when it is written out"
    );
    Error::InvalidDistance(reason)
}

#[cfg(test)]
mod tests;
