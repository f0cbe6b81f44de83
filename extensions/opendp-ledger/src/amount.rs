//! Exact amounts of loss.

use std::{cmp::Ordering, fmt, str::FromStr};

use dashu_int::{
    UBig,
    ops::{BitTest, Gcd},
};
use opendp_core::{Error, Result};

/// A finite fraction that is not negative, exactly, in lowest terms.
///
/// As text `0.1` is a tenth; as a float it is a little more.
///
/// ```
/// # use opendp_ledger::Amount;
/// let tenth: Amount = "0.1".parse()?;
/// let total = (0..10).fold(Amount::ZERO, |total, _| total.plus(&tenth));
/// assert_eq!(total, "1".parse()?);
/// assert!(tenth < Amount::from_f64(0.1)?);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    number: UBig,
    below: UBig,
}

/// The most characters and the largest exponent of an amount as text. Every float fits, and every
/// running total.
const MOST_CHARACTERS: usize = 4096;
/// A running total whose denominator would have more bits takes its term rounded up.
const MOST_BITS: usize = 2048;
/// Terms are rounded up to a multiple of 2 to the minus this. Every float is one.
const FINEST: usize = 1074;
/// An amount is written as a decimal number if that has at most so many decimals.
const MOST_DECIMALS: usize = 64;

impl Amount {
    /// Nothing.
    pub const ZERO: Amount = Amount { number: UBig::ZERO, below: UBig::ONE };

    /// Take a float for what it is: a multiple of a power of two.
    ///
    /// # Errors
    /// `InvalidDistance` when it is negative, NaN or infinite.
    pub fn from_f64(value: f64) -> Result<Self> {
        if !(0.0 <= value && value < f64::INFINITY) {
            return Err(Error::InvalidDistance(format!(
                "expected a finite loss of at least 0, found {value}"
            )));
        }
        // The sign is 0, or the value is -0.
        let bits = value.to_bits() & !(1 << 63);
        let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
        let (mantissa, exponent) = match exponent {
            0 => (fraction, 1),
            exponent => (fraction | 1 << 52, exponent),
        };
        let (number, two) = (UBig::from(mantissa), UBig::ONE);
        Ok(match exponent.checked_sub(1075) {
            Some(up) => Amount { number: number << up as usize, below: two },
            None => Amount { number, below: two << (1075 - exponent) as usize }.reduced(),
        })
    }
    /// Add, exactly.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let number = &self.number * &other.below + &other.number * &self.below;
        Amount { number, below: &self.below * &other.below }.reduced()
    }
    /// Add a term to a running total, which does not grow without bounds.
    ///
    /// The sum is exact as long as its denominator has at most 2048 bits: always when the terms are
    /// floats or decimal numbers. Otherwise the term is rounded up to a multiple of 2^-1074 first,
    /// so that the total is never too small.
    #[must_use]
    pub fn plus_term(&self, term: &Self) -> Self {
        let sum = self.plus(term);
        if sum.below.bit_len() <= MOST_BITS {
            return sum;
        }
        let up = ((&term.number << FINEST) + &term.below - UBig::ONE) / &term.below;
        self.plus(&Amount { number: up, below: UBig::ONE << FINEST }.reduced())
    }
    /// Subtract, or give 0 when `other` is larger.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let (mine, theirs) = (&self.number * &other.below, &other.number * &self.below);
        if mine <= theirs {
            return Amount::ZERO;
        }
        Amount { number: mine - theirs, below: &self.below * &other.below }.reduced()
    }
    /// Half of the square.
    #[must_use]
    pub fn half_square(&self) -> Self {
        let number = &self.number * &self.number;
        Amount { number, below: (&self.below * &self.below) << 1 }.reduced()
    }
    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.number.is_zero()
    }
    /// Write for people, with at most 12 decimals, rounded up or down; an ellipsis says that digits
    /// were left out.
    pub fn show(&self, up: bool) -> String {
        let exact = self.to_string();
        if exact.len() <= 20 {
            return exact;
        }
        let scale = UBig::from(10_u8).pow(12);
        let shifted = &self.number * &scale;
        let (mut digits, rest) = (&shifted / &self.below, &shifted % &self.below);
        if up && !rest.is_zero() {
            digits += UBig::ONE;
        }
        Amount { number: digits, below: scale }.reduced().to_string() + "..."
    }
    fn reduced(self) -> Self {
        if self.number.is_zero() {
            return Amount::ZERO;
        }
        let common = (&self.number).gcd(&self.below);
        if common == UBig::ONE {
            return self;
        }
        Amount { number: self.number / &common, below: self.below / common }
    }
    /// The decimals it takes to write it, if there are few.
    fn decimals(&self) -> Option<usize> {
        let twos = self.below.trailing_zeros().unwrap_or(0);
        let (mut odd, mut fives) = (&self.below >> twos, 0);
        while odd != UBig::ONE && fives <= MOST_DECIMALS {
            if !(&odd % UBig::from(5_u8)).is_zero() {
                return None;
            }
            odd /= UBig::from(5_u8);
            fives += 1;
        }
        Some(twos.max(fives)).filter(|decimals| *decimals <= MOST_DECIMALS)
    }
}
impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        (&self.number * &other.below).cmp(&(&other.number * &self.below))
    }
}
impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Write exactly: as a decimal number, or as a fraction where that would be long.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.decimals() {
            None => write!(f, "{}/{}", self.number, self.below),
            Some(0) => write!(f, "{}", self.number),
            Some(decimals) => {
                let digits = &self.number * UBig::from(10_u8).pow(decimals) / &self.below;
                let digits = format!("{:0>width$}", digits.to_string(), width = decimals + 1);
                let (whole, rest) = digits.split_at(digits.len() - decimals);
                write!(f, "{whole}.{rest}")
            }
        }
    }
}

/// Read a decimal number such as `0.1` or `2.5e-3`, or a fraction such as `1/3`, for exactly what
/// it says.
impl FromStr for Amount {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::InvalidDistance(
                "expected a loss of at least 0 as a decimal number or a fraction".into(),
            )
        };
        if MOST_CHARACTERS < text.len() {
            return Err(wrong());
        }
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let whole = |text: &str| UBig::from_str_radix(text, 10).map_err(|_| wrong());
        if let Some((number, below)) = text.split_once('/') {
            if !plain(number) || !plain(below) {
                return Err(wrong());
            }
            let (number, below) = (whole(number)?, whole(below)?);
            return if below.is_zero() {
                Err(wrong())
            } else {
                Ok(Amount { number, below }.reduced())
            };
        }
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (units, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [units, fraction].concat();
        if !plain(&digits) || !plain(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) {
            return Err(wrong());
        }
        let exponent: i64 = exponent.parse().map_err(|_| wrong())?;
        let power = exponent.checked_sub(fraction.len() as i64).ok_or_else(wrong)?;
        let size = usize::try_from(power.unsigned_abs()).map_err(|_| wrong())?;
        if MOST_CHARACTERS < size {
            return Err(wrong());
        }
        let (number, ten) = (whole(&digits)?, UBig::from(10_u8).pow(size));
        Ok(if 0 <= power {
            Amount { number: number * ten, below: UBig::ONE }
        } else {
            Amount { number, below: ten }.reduced()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    #[test]
    fn reads_and_writes_exactly() {
        for (text, written) in [
            ("0.10", "0.1"),
            ("1e-6", "0.000001"),
            ("2/6", "1/3"),
            ("25e-1", "2.5"),
            ("0", "0"),
            (".5", "0.5"),
            ("12E2", "1200"),
            ("3/8", "0.375"),
            ("0.000", "0"),
        ] {
            assert_eq!(amount(text).to_string(), written);
        }
        for bad in ["", "-1", "+1", "1/0", "NaN", "inf", "1e", "1/-3", " 1", "1_0", "1e99999", "/"]
        {
            assert_eq!(bad.parse::<Amount>().unwrap_err().kind(), "InvalidDistance", "{bad}");
        }
        assert!("9".repeat(MOST_CHARACTERS + 1).parse::<Amount>().is_err());
    }
    #[test]
    fn floats_are_what_they_are() {
        assert_eq!(Amount::from_f64(0.375).unwrap(), amount("3/8"));
        assert_eq!(Amount::from_f64(-0.0).unwrap(), Amount::ZERO);
        assert_eq!(Amount::from_f64(1e22).unwrap(), amount("1e22"));
        assert!(amount("0.1") < Amount::from_f64(0.1).unwrap());
        assert!(Amount::from_f64(0.3).unwrap() < amount("0.3"));
        for value in [5e-324, f64::MAX, f64::MIN_POSITIVE, 0.1] {
            let exact = Amount::from_f64(value).unwrap();
            assert_eq!(exact.to_string().parse::<Amount>().unwrap(), exact);
            assert!(exact < Amount::from_f64(value * 1.5 + 5e-324).unwrap_or(amount("1e400")));
        }
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Amount::from_f64(bad).unwrap_err().kind(), "InvalidDistance");
        }
    }
    #[test]
    fn a_running_total_stays_small_and_is_never_too_small() {
        let (mut total, mut sum) = (Amount::ZERO, Amount::ZERO);
        for i in 0..1500_u32 {
            let term = amount(&format!("1/{}", 2 * i + 1));
            total = total.plus_term(&term);
            sum = sum.plus(&term);
        }
        assert!(sum < total && total.minus(&sum) < amount("1e-300"));
        assert!(total.below.bit_len() <= MOST_BITS + FINEST + 1);
        assert!(MOST_BITS + FINEST < sum.below.bit_len(), "the control: exact sums grow");
        assert!(total.to_string().len() < MOST_CHARACTERS);
    }
    #[test]
    fn shows_few_digits_on_the_safe_side() {
        assert_eq!(amount("1/3").show(false), "1/3");
        let float = Amount::from_f64(0.1).unwrap();
        assert_eq!(
            (float.show(true), float.show(false)),
            ("0.100000000001...".into(), "0.1...".into())
        );
    }

    proptest! {
        #[test]
        fn agrees_with_integers(a in 0_u64..1000, b in 1_u64..1000, c in 0_u64..1000, d in 1_u64..1000) {
            let (x, y) = (amount(&format!("{a}/{b}")), amount(&format!("{c}/{d}")));
            prop_assert_eq!(x.plus(&y), amount(&format!("{}/{}", a * d + c * b, b * d)));
            prop_assert_eq!(x.minus(&y), amount(&format!("{}/{}", (a * d).saturating_sub(c * b), b * d)));
            prop_assert_eq!(x.cmp(&y), (a * d).cmp(&(c * b)));
            prop_assert_eq!(x.half_square(), amount(&format!("{}/{}", a * a, 2 * b * b)));
            prop_assert_eq!(x.to_string().parse::<Amount>().unwrap(), x);
        }
    }
}
