//! The sum of a float and exact noise, rounded to a lattice after the addition.
//!
//! The noise is a scale times a real number `±E`. The digits of `E` are drawn only when a decision
//! needs them.

use super::{
    dyadic::{Dyadic, power_of_two},
    exponential::LazyReal,
    lattice::{big_lattice_point, clamp_exponent},
};
use dashu_int::{IBig, Sign, UBig, ops::BitTest};
use opendp_core::random::{NoEntropy, RandomSource};

/// A type for the rounded sum. For a lattice point `m 2^k`, the rounded sum is the float nearest to
/// `m 2^k`, or the integer `m`. The type determines which of these two numbers it is.
pub(super) trait Landing: PartialEq + Sized {
    /// Convert the lattice point `start + m step` to this type. Here, `start` is a lattice point,
    /// `step` is `2^k`, and `|m|` is below `2^62`. Return `None` if the point is too far from 0 for
    /// this method.
    fn near(start: f64, m: i64, step: f64) -> Option<Self>;
    /// Convert the lattice point `m 2^k` to this type, for any `m`. The result must not decrease as
    /// `m` increases.
    fn far(m: &IBig, k: i32) -> Self;
    /// Return the least value of the type if `negative` is true, and otherwise the largest value.
    fn end(negative: bool) -> Self;
}
impl Landing for f64 {
    /// Convert the lattice point with one rounding. If `|m| <= 2^53`, the exact product `m step` is
    /// a float, so only the addition rounds. Otherwise, `start / step + m` is computed as an
    /// integer, and only the conversion of this integer to a float rounds.
    #[inline]
    fn near(start: f64, m: i64, step: f64) -> Option<Self> {
        if m.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS {
            return Some(finite(start + m as f64 * step));
        }
        integer(start, step).map(|from| finite((from + m) as f64 * step))
    }
    fn far(m: &IBig, k: i32) -> Self {
        big_lattice_point(m, k)
    }
    fn end(negative: bool) -> Self {
        if negative { -f64::MAX } else { f64::MAX }
    }
}
/// Return the integer `start / step`. Return `None` if this integer is `2^62` or more in magnitude.
fn integer(start: f64, step: f64) -> Option<i64> {
    // The quotient is an integer of at most 53 significant bits. So the division is exact, unless
    // the quotient exceeds all floats.
    let quotient = start / step;
    (quotient.abs() < TWO_62).then_some(quotient as i64)
}
/// Replace an infinity by the largest finite float of the same sign, and NaN by the largest finite
/// float.
#[inline]
fn finite(x: f64) -> f64 {
    let x = if x < f64::MAX { x } else { f64::MAX };
    if -f64::MAX < x { x } else { -f64::MAX }
}
const TWO_62: f64 = (1_u64 << 62) as f64;
/// The integer `m`, stored as a sign and a magnitude. The magnitude saturates at `u128::MAX`.
impl Landing for (bool, u128) {
    #[inline]
    fn near(start: f64, m: i64, step: f64) -> Option<Self> {
        let m = integer(start, step)? + m;
        Some((m < 0, u128::from(m.unsigned_abs())))
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
pub(super) struct Sum<'a> {
    x: f64,
    lattice: &'a Lattice,
    negative: bool,
}

/// A scale and a lattice, with the constants of [`Sum::fast_fixed`]. The constants do not depend on
/// the float `x` of a sum. So they are computed once for all sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lattice {
    scale: Dyadic,
    pub(super) k: i32,
    /// `None` if only big integers can find the rounded sum.
    fixed: Option<Fixed>,
}
/// The constants of [`Sum::fast_fixed`].
#[derive(Clone, Copy, Debug)]
struct Fixed {
    /// The number of low bits that [`Sum::fast_fixed`] drops from a product. The factors of this
    /// product are `n`, the argument of [`Sum::fast_fixed`], and the mantissa of the scale.
    shift: u32,
    /// The width of the enclosure of `(scale / 2^k) E` in [`Sum::fast_fixed`], in units of `2^-56`.
    width: i64,
    /// The power `2^(k + 52)`.
    far: f64,
    /// The number `1.5 * 2^(k + 1)`. The unit in its last place is `2^(k - 51)`. Add a number `x`
    /// with `|x| < 2^k` to `rounder`. Read the sum and `rounder` as integers (`to_bits`). The
    /// difference of these integers is `x / 2^(k - 51)`, rounded to an integer.
    rounder: f64,
    /// The power `2^k`.
    step: f64,
}

/// The number of binary places of the fixed-point numbers in [`Sum::fast_fixed`].
const PLACES: i32 = 56;
/// The number of binary places to which `rest` is rounded in [`Sum::fast_fixed`].
const REST_PLACES: i32 = 51;

impl Fixed {
    /// Split `x` into the lattice point `start`, and `rest = (x - start) / 2^k`. Return `rest` in
    /// units of `2^-56`.
    ///
    /// If `|x| >= 2^(k + 52)`, then `x` is a lattice point. Otherwise, the sum of `|x|` and
    /// `2^(k + 52)` is rounded to a multiple of `2^k`, which is the unit in the last place of the
    /// sum. The difference `x - start` is exactly a float. Indeed, this difference is a multiple of
    /// the unit in the last place of `x`, and has a magnitude of at most `|x|`.
    #[inline]
    fn split(&self, x: f64) -> (f64, i64) {
        let Fixed { far, rounder, .. } = *self;
        let signed = far.copysign(x);
        let start = if x.abs() < far { (x + signed) - signed } else { x };
        // The float operations here are only additions and subtractions. These operations take the
        // same time for subnormal numbers as for other numbers.
        let rest = (x - start) + rounder;
        let rest = rest.to_bits().wrapping_sub(rounder.to_bits()) as i64;
        (start, rest << (PLACES - REST_PLACES))
    }
}
impl Lattice {
    /// Split the scale into mantissa and exponent. `k` is clamped to the exponents of finite
    /// floats.
    pub(super) fn new(scale: f64, k: i32) -> Self {
        let (scale, k) = (Dyadic::new(scale), clamp_exponent(k));
        let shift = u32::try_from(61 + k - scale.exponent - PLACES);
        // For `k` from -966 to 970, the constants `far`, `rounder` and `step` are normal floats.
        // The units in their last places are also normal floats.
        let shift = shift.ok().filter(|_| (-966..=970).contains(&k)).map(|shift| shift.min(127));
        let fixed = shift.map(|shift| Fixed {
            shift,
            width: (scale.mantissa >> shift.min(63)) as i64 + 2,
            far: power_of_two(k + 52),
            rounder: 1.5 * power_of_two(k + 1),
            step: power_of_two(k),
        });
        Lattice { scale, k, fixed }
    }
    /// Begin the sum of `x` and noise. An infinite or NaN `x` becomes a finite float of the largest
    /// magnitude.
    #[inline]
    pub(super) fn sum(&self, x: f64, negative: bool) -> Sum<'_> {
        Sum { x: finite(x), lattice: self, negative }
    }
}
impl Sum<'_> {
    /// Find the rounded sum, if the bounds below show that all `E` from `2^-61 n` to
    /// `2^-61 (n + 1)` give the same rounded sum. Otherwise, return `None`.
    ///
    /// Let `start` be a lattice point (a multiple of `2^k`) nearest to `x`, and
    /// `rest = (x - start) / 2^k`. The rounded sum is `start + m 2^k`, where `m` is the floor of
    /// `1/2 + rest ± (scale / 2^k) E`. If `|m| <= 2^53`, the same instructions run for every `x`.
    /// So the time hardly depends on `x`.
    ///
    /// # Bound
    ///
    /// `noise`, `width`, `rest`, `low` and `high` are integers in units of `2^-56`. The product of
    /// the mantissa of the scale and `n` is an exact integer of at most 117 bits. This product is
    /// rounded down to `noise`. For `n + 1`, the product is larger by the mantissa. `width` exceeds
    /// this increase plus the rounding error. So `(scale / 2^k) E` is between `noise` and
    /// `noise + width`. `rest` is rounded to a multiple of `2^-51`, which is 32 units. So the error
    /// of `rest` is at most 16 units. If the integer part of the noise is left out, all possible
    /// values of `1/2 + rest ± (scale / 2^k) E` are between `low` and `high`. The integer part of
    /// the noise is below `2^61`, so `|m|` is below `2^62`.
    #[inline]
    pub(super) fn fast_fixed<P: Landing>(&self, n: u64) -> Option<P> {
        let fixed = self.lattice.fixed.as_ref()?;
        let Fixed { shift, width, step, .. } = *fixed;
        let (start, rest) = fixed.split(self.x);
        let noise = (u128::from(self.lattice.scale.mantissa) * u128::from(n)) >> shift;
        let (whole, fraction) = ((noise >> PLACES) as i64, noise as i64 & ((1 << PLACES) - 1));
        // The sign is random, so the processor would mispredict half of the branches on the sign.
        // `(number ^ sign) - sign` applies the sign without a branch.
        let sign = -i64::from(self.negative);
        let centre = (1 << (PLACES - 1)) + rest + ((fraction ^ sign) - sign);
        let low = centre - 17 - (width & sign);
        let high = centre + 17 + (width & !sign);
        let floor = low >> PLACES;
        if high >> PLACES != floor {
            return None;
        }
        P::near(start, ((whole ^ sign) - sign) + floor, step)
    }

    /// Find the rounded sum in integers. Draw digits of `E` until they decide the rounded sum.
    ///
    /// The result does not decrease as the sum increases. So the result is known when the lower and
    /// the upper bound of the sum give the same result. Suppose that the result is a float, and
    /// that the distance between lattice points is much less than the distance between floats near
    /// the sum. Then few digits of `E` are enough.
    #[cold]
    #[inline(never)]
    pub(super) fn exact<P: Landing, S: RandomSource>(
        &self,
        mut e: impl LazyReal,
        source: &mut S,
    ) -> Result<P, NoEntropy> {
        let (x, Lattice { scale, k, .. }) = (Dyadic::new(self.x), *self.lattice);
        let shift = i64::from(scale.exponent - k);
        let places = i64::from(k - x.exponent);
        let integer_bits = shift + scale.mantissa.bit_len() as i64;
        e.refine_to(integer_bits.clamp(0, 64) as usize + 8, source)?;
        loop {
            let precision = e.bits() + 8;
            // In units of 2^-unit, all terms are integers, and the sum is exact. The right shift
            // below computes the floor of the sum.
            let unit = 1.max(places).max(precision as i64 - shift);
            let left = |n: IBig, count: i64| n << count.unsigned_abs() as usize;
            let centre =
                left(IBig::from(x.signed_mantissa()), unit - places) + left(IBig::ONE, unit - 1);
            let point = |bound: UBig| {
                let product = IBig::from(bound * scale.mantissa);
                let noise = left(product, shift - precision as i64 + unit);
                let sum = if self.negative { &centre - noise } else { &centre + noise };
                P::far(&(sum >> unit.unsigned_abs() as usize), k)
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
