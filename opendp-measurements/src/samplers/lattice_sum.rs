//! A float plus exact noise, rounded to a lattice after the addition.
//!
//! The noise is a scale times a real `±E` of which digits are drawn as a decision needs them.

use super::{
    dyadic::{Dyadic, power_of_two},
    exponential::LazyReal,
    lattice::{big_lattice_point, clamp_exponent},
};
use dashu_int::{IBig, UBig, ops::BitTest};
use opendp_core::random::{NoEntropy, RandomSource};

/// The real number `x / 2^k + 1/2 ± (scale / 2^k) E` but for `E`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    x: Dyadic,
    scale: Dyadic,
    pub(super) k: i32,
    negative: bool,
}

impl Sum {
    /// Take the terms apart; `k` is clamped to the exponents of finite floats.
    #[inline]
    pub(super) fn new(x: f64, scale: f64, k: i32, negative: bool) -> Self {
        Self { x: Dyadic::new(x), scale: Dyadic::new(scale), k: clamp_exponent(k), negative }
    }

    /// Find the floor of the sum for all `E` in an interval, if it is the same.
    ///
    /// # Bound
    ///
    /// `x / 2^k = i + f` but for `2^-840`, `i` an integer of magnitude up to `2^62` and `|f| < 1` of at most
    /// 53 bits, and `t = scale / 2^k` is an exact normal float. With `v = 2^-53` and `P = t hi`,
    /// the rounded `f + 1/2`, the product and the sum are wrong by at most `1.5v`, `v P` and `v
    /// (1.5 + P)`, and subtracting the slack `8v + 4v P` rounds by at most `1.1 v (1.5 + P)`.
    /// Together `5v + 3.1v P`, less than the slack by `3v`. (A product that underflows is wrong by less
    /// than `2^-1074`.) Below `2^52` the casts to `i64` truncate exactly and the casts back are
    /// exact.
    #[inline]
    pub(super) fn fast(&self, (lo, hi): (f64, f64)) -> Option<i64> {
        let (integer, fraction) = self.split()?;
        let shift = self.scale.exponent - self.k;
        if !(-552..=-8).contains(&shift) {
            return None;
        }
        let t = self.scale.mantissa as f64 * power_of_two(shift);
        let far = t * hi;
        let slack = (far + 2.0) * (2.0 * f64::EPSILON);
        // The sign is random, so a branch on it would be mispredicted half of the time.
        let sign = f64::from_bits(1_f64.to_bits() | u64::from(self.negative) << 63);
        let (near, far) = (sign * (t * lo), sign * far);
        let (low, high) = (near.min(far), near.max(far));
        let centre = fraction + 0.5;
        let (low, high) = ((centre + low) - slack, (centre + high) + slack);
        let limit = power_of_two(52);
        if !(low > -limit && high < limit) {
            return None;
        }
        let floor = floor(low);
        // |integer| < 2^62 and |floor| <= 2^52, so the sum stays within 64 bits.
        (high < (floor + 1) as f64).then_some(integer + floor)
    }

    /// Find the floor of the sum for all `E` from `n` to `n + 1` in units of `2^-61`, if it is the
    /// same.
    ///
    /// # Bound
    ///
    /// The product of the scale with `n` is an exact integer of at most 117 bits, in units of
    /// `2^(k - places)`, of which all but the lowest `cut` count; what is cut off is less than one
    /// unit, and so is the rest of `x`. So all numbers of the sum lie between `low` and `high`. With
    /// `places >= 56` the floor is below `2^62`.
    #[inline]
    pub(super) fn fast_fixed(&self, n: u64) -> Option<i64> {
        let places = 61 + self.k - self.scale.exponent;
        if places < 56 {
            return None;
        }
        let cut = (places - 100).max(0);
        let places = places - cut;
        let (integer, rest) = self.split_fixed(places)?;
        let shorten = |n: u128| n.checked_shr(cut.unsigned_abs()).unwrap_or(0) as i128;
        let near = shorten(u128::from(self.scale.mantissa) * u128::from(n));
        let width = shorten(u128::from(self.scale.mantissa)) + 2;
        // The sign is random, so a branch on it would be mispredicted half of the time.
        let sign = -i128::from(self.negative);
        let centre = (1 << (places - 1)) + rest + ((near ^ sign) - sign);
        let (low, high) = (centre - (width & sign), centre + 1 + (width & !sign));
        let floor = low >> places;
        (high >> places == floor).then_some(integer + floor as i64)
    }

    /// Split `x / 2^k` into an integer and a signed rest in units of `2^-places`, rounded down.
    #[inline]
    fn split_fixed(&self, places: i32) -> Option<(i64, i128)> {
        let finer = self.k - self.x.exponent;
        let mantissa = self.x.signed_mantissa();
        let (integer, rest) = match finer {
            // 53 bits and 9 more.
            -9..=0 => return Some((mantissa << -finer, 0)),
            1..=62 => (mantissa >> finer, mantissa & ((1 << finer) - 1)),
            63.. => (0, mantissa),
            _ => return None,
        };
        let rest = i128::from(rest);
        // Below 2^62 times 2^99, but less than 2^places in all, as is any rest.
        let shift = places - finer;
        Some((integer, if shift < 0 { rest >> (-shift).min(127) } else { rest << shift }))
    }

    /// Split `x / 2^k` into an integer and a signed fraction, exact but for `2^-840`.
    #[inline]
    fn split(&self) -> Option<(i64, f64)> {
        let places = self.k - self.x.exponent;
        let mantissa = self.x.signed_mantissa();
        match places {
            // 53 bits and 9 more.
            -9..=0 => Some((mantissa << -places, 0.0)),
            1..=63 => {
                let integer = self.x.mantissa >> places;
                let rest = (self.x.mantissa - (integer << places)) as f64 * power_of_two(-places);
                let integer = integer as i64;
                Some(if self.x.negative { (-integer, -rest) } else { (integer, rest) })
            }
            // Zero has the lowest exponent there is. Beyond 900 places the fraction is taken too
            // large, by less than 2^-840, for which the slack has room.
            64.. => Some((0, mantissa as f64 * power_of_two(-places.min(900)))),
            _ => None,
        }
    }

    /// Decide the result in integers, drawing as many digits as it takes.
    ///
    /// The result grows with the sum, so it is known once both ends of the enclosure give the same
    /// float; this comes early when the lattice is much finer than the floats.
    #[cold]
    #[inline(never)]
    pub(super) fn exact<S: RandomSource>(
        &self,
        mut e: impl LazyReal,
        source: &mut S,
    ) -> Result<f64, NoEntropy> {
        let shift = i64::from(self.scale.exponent - self.k);
        let places = i64::from(self.k - self.x.exponent);
        // Digits that a decision will need are drawn at once.
        let integer_bits = shift + self.scale.mantissa.bit_len() as i64;
        e.refine_to(integer_bits.clamp(0, 64) as usize + 8, source)?;
        loop {
            let precision = e.bits() + 8;
            // In units of 2^-unit all terms are integers, so nothing below rounds but the floor.
            let unit = 1.max(places).max(precision as i64 - shift);
            let left = |n: IBig, count: i64| n << count.unsigned_abs() as usize;
            let centre = left(IBig::from(self.x.signed_mantissa()), unit - places)
                + left(IBig::ONE, unit - 1);
            let point = |bound: UBig| {
                let product = IBig::from(bound * self.scale.mantissa);
                let noise = left(product, shift - precision as i64 + unit);
                let sum = if self.negative { &centre - noise } else { &centre + noise };
                big_lattice_point(&(sum >> unit.unsigned_abs() as usize), self.k)
            };
            let (lo, hi) = e.enclose(precision);
            let end = if self.negative { -f64::MAX } else { f64::MAX };
            let near = point(lo);
            if near == hi.map_or(end, point) {
                return Ok(near);
            }
            e.refine(source)?;
        }
    }
}

/// Round down, for magnitudes below `2^63`.
#[inline]
fn floor(x: f64) -> i64 {
    let truncated = x as i64;
    truncated - i64::from(x < truncated as f64)
}
