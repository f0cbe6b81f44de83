//! The sum of a float and exact noise, rounded to a lattice after the addition.
//!
//! The noise is a scale times a real number `±E`. The digits of `E` are drawn only when a decision
//! needs them.

use super::{
    dyadic::Dyadic,
    exponential::LazyReal,
    lattice::{big_lattice_point, clamp_exponent, lattice_point},
};
use dashu_int::{IBig, Sign, UBig, ops::BitTest};
use opendp_core::random::{NoEntropy, RandomSource};

/// A type for the rounded sum. For a lattice point `m 2^k`, the type determines whether the rounded
/// sum is the float nearest to `m 2^k`, or the integer `m`.
pub(super) trait Landing: PartialEq + Sized {
    /// Convert the lattice point `start + m 2^k`. The `start` is 0 or a multiple of `2^(k + 10)`.
    /// Return `None` if `m` is too large for this method.
    fn near(start: f64, m: i64, k: i32) -> Option<Self>;
    /// Convert the lattice point `m 2^k`, for any `m`. The result must not decrease as `m`
    /// increases.
    fn far(m: &IBig, k: i32) -> Self;
    /// Return the least value of the type if `negative` is true, and otherwise the largest value.
    fn end(negative: bool) -> Self;
}
impl Landing for f64 {
    /// If `start` is not 0, then `m 2^k` is a float. So only one operation rounds: the addition, or
    /// the conversion of `m` if `start` is 0.
    #[inline]
    fn near(start: f64, m: i64, k: i32) -> Option<Self> {
        let once = start == 0.0 || m.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS;
        once.then(|| (start + lattice_point(m, k)).clamp(-f64::MAX, f64::MAX))
    }
    fn far(m: &IBig, k: i32) -> Self {
        big_lattice_point(m, k)
    }
    fn end(negative: bool) -> Self {
        if negative { -f64::MAX } else { f64::MAX }
    }
}
/// The integer `m`, stored as a sign and a magnitude. The magnitude saturates at `u128::MAX`.
impl Landing for (bool, u128) {
    #[inline]
    fn near(start: f64, m: i64, _: i32) -> Option<Self> {
        (start == 0.0).then(|| (m < 0, u128::from(m.unsigned_abs())))
    }
    fn far(m: &IBig, _: i32) -> Self {
        let (sign, magnitude) = m.clone().into_parts();
        (sign == Sign::Negative, u128::try_from(magnitude).unwrap_or(u128::MAX))
    }
    fn end(negative: bool) -> Self {
        (negative, u128::MAX)
    }
}

/// The real number `x / 2^k + 1/2 ± (scale / 2^k) E` for an unknown `E`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    x: Dyadic,
    /// `x`, if it is a multiple of `2^(k + 10)`, and otherwise 0.
    start: f64,
    scale: Dyadic,
    k: i32,
    negative: bool,
}

impl Sum {
    /// Split `x` and `scale` into mantissa and exponent. `k` is clamped to the exponents of finite
    /// floats.
    #[inline]
    pub(super) fn new(x: f64, scale: f64, k: i32, negative: bool) -> Self {
        let (k, parts) = (clamp_exponent(k), Dyadic::new(x));
        let start = if k - parts.exponent < -9 { x } else { 0.0 };
        Self { x: parts, start, scale: Dyadic::new(scale), k, negative }
    }

    /// Find the rounded sum, if all `E` from `2^-61 n` to `2^-61 (n + 1)` have the same floor `m`
    /// of the sum.
    ///
    /// If `x` is a multiple of `2^(k + 10)`, the floor of the whole sum can have more than 64 bits.
    /// Then `m` is the floor of the sum without `x`, and the rounded sum is `x + m 2^k`. So a large
    /// `x` takes the same path as a small `x`.
    ///
    /// # Bound
    ///
    /// The product of the scale and `n` is an exact integer of at most 117 bits, in units of
    /// `2^(k - places)`. The lowest `cut` bits of the product are dropped. The dropped part and the
    /// rounding error of `x` are each less than one unit of `2^-places`. So all possible sums lie
    /// between `low` and `high`. If `places >= 56`, the magnitude of `low >> places` is below
    /// `2^62`.
    #[inline]
    pub(super) fn fast_fixed<P: Landing>(&self, n: u64) -> Option<P> {
        let places = 61 + self.k - self.scale.exponent;
        if places < 56 {
            return None;
        }
        let cut = (places - 100).max(0);
        let places = places - cut;
        let (integer, rest) = self.split_fixed(places);
        let shorten = |n: u128| n.checked_shr(cut.unsigned_abs()).unwrap_or(0) as i128;
        let near = shorten(u128::from(self.scale.mantissa) * u128::from(n));
        let width = shorten(u128::from(self.scale.mantissa)) + 2;
        // The sign is random, so the processor would mispredict half of the branches on the sign.
        let sign = -i128::from(self.negative);
        let centre = (1 << (places - 1)) + rest + ((near ^ sign) - sign);
        let (low, high) = (centre - (width & sign), centre + 1 + (width & !sign));
        let floor = low >> places;
        if high >> places == floor {
            P::near(self.start, integer + floor as i64, self.k)
        } else {
            None
        }
    }

    /// Split `(x - start) / 2^k` into an integer and a signed rest. The rest is in units of
    /// `2^-places`, rounded down.
    #[inline]
    fn split_fixed(&self, places: i32) -> (i64, i128) {
        let finer = self.k - self.x.exponent;
        let mantissa = self.x.signed_mantissa();
        let (integer, rest) = match finer {
            // The mantissa has at most 53 bits and is shifted by at most 9 places. So the integer
            // has at most 53 + 9 bits.
            -9..=0 => return (mantissa << -finer, 0),
            1..=62 => (mantissa >> finer, mantissa & ((1 << finer) - 1)),
            63.. => (0, mantissa),
            _ => return (0, 0),
        };
        let rest = i128::from(rest);
        // Before the shift, the rest is below 2^62, and a left shift is by at most 99 places. After
        // the shift, the rest is less than 2^places, so it fits `i128`.
        let shift = places - finer;
        (integer, if shift < 0 { rest >> (-shift).min(127) } else { rest << shift })
    }

    /// Find the rounded sum in integers. Draw digits of `E` until they decide the rounded sum.
    ///
    /// The result does not decrease as the sum increases. So the result is known when the lower and
    /// the upper bound of the sum give the same result. If the lattice is much finer than floats,
    /// few digits of `E` are enough for a result that is a float.
    #[cold]
    #[inline(never)]
    pub(super) fn exact<P: Landing, S: RandomSource>(
        &self,
        mut e: impl LazyReal,
        source: &mut S,
    ) -> Result<P, NoEntropy> {
        let shift = i64::from(self.scale.exponent - self.k);
        let places = i64::from(self.k - self.x.exponent);
        // First, draw approximately the number of digits that the decision needs.
        let integer_bits = shift + self.scale.mantissa.bit_len() as i64;
        e.refine_to(integer_bits.clamp(0, 64) as usize + 8, source)?;
        loop {
            let precision = e.bits() + 8;
            // In units of 2^-unit, all terms are integers. So only the right shift below rounds: it
            // computes the floor of the sum.
            let unit = 1.max(places).max(precision as i64 - shift);
            let left = |n: IBig, count: i64| n << count.unsigned_abs() as usize;
            let centre = left(IBig::from(self.x.signed_mantissa()), unit - places)
                + left(IBig::ONE, unit - 1);
            let point = |bound: UBig| {
                let product = IBig::from(bound * self.scale.mantissa);
                let noise = left(product, shift - precision as i64 + unit);
                let sum = if self.negative { &centre - noise } else { &centre + noise };
                P::far(&(sum >> unit.unsigned_abs() as usize), self.k)
            };
            let (lo, hi) = e.enclose(precision);
            let near = point(lo);
            if near == hi.map_or_else(|| P::end(self.negative), point) {
                return Ok(near);
            }
            e.refine(source)?;
        }
    }
}
