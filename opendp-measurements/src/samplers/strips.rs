//! Exponential and half-normal variables, drawn by rejection from strips.

use super::{
    exponential::LazyReal,
    logarithm::{ln, neg_ln},
    uniform::LazyUniform,
};
use crate::collected::Collected;
use dashu_int::{IBig, UBig};
use opendp_core::arith::fixed;
use opendp_core::random::{NoEntropy, RandomSource};
use std::sync::LazyLock;

/// An envelope of `f(x) = e^-z` for `x >= 0`, where `z` is `x` or `x^2 / 2`. The envelope is a
/// function that is at least `f`. The envelope is constant on strips. A strip is an interval of
/// width 1/32, or of width 1 in the tail.
///
/// The envelope has 256 entries. Entry `j < 255` stands for `x` from `j / 32` to `(j + 1) / 32`.
/// Entry 255 stands for the tail, which is all `x` above `255 / 32`. Entry `j` is drawn with
/// probability exactly `weight_j / 2^32`. Then the point `x = (j + U) / 32` is drawn uniformly in
/// its strip, with a uniform `U` from 0 to 1. The point is accepted if a uniform `V` is below
/// `f(x) / height_j`, where `height_j = weight_j unit`. Accepted points have a density proportional
/// to `f` (von Neumann 1951; the strips are from Marsaglia, Tsang 2000, "The ziggurat method").
/// Each height is above `f` in its strip. The heights are integers times a unit, so they are exact.
///
/// The tail is cut into strips of width 1. If entry 255 is drawn, strip `i` of the tail is drawn
/// with probability `2^-(i + 1)`. This strip is 32 times as wide as a strip outside of the tail. So
/// its height is `unit weight_255 / 32 / 2^(i + 1)`. In the tail, `f(x + 1) < f(x) / 2`, and from
/// strip to strip the height is halved. So if the height is above `f` in the first strip of the
/// tail, the heights are above `f` in all strips of the tail.
///
/// Some points are rounded before `f` is evaluated at these points. So each height is an upper
/// bound on `f` in its strip, and up to a distance of `reach / 32` outside of the strip. Here
/// `reach` is an argument of `Strips::new`.
#[derive(Debug)]
pub(super) struct Strips {
    shape: Shape,
    columns: [Column; 256],
    entries: [Entry; 256],
    /// The unit of the heights in the description above, times `2^64`. This number is a multiple of
    /// `2^14` and is below `2^40`.
    unit: u64,
}

/// The shape of the density `e^-z`.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// The exponential density, with `z = x`.
    Exponential,
    /// The half-normal density, with `z = x^2 / 2`.
    HalfNormal,
}

/// An urn of the alias method (Walker 1977). Eight random bits select an urn, and 24 other random
/// bits are compared with the threshold of this urn. If the 24 bits are below the threshold, the
/// entry with the same number as the urn is drawn. Otherwise, the entry `other` is drawn.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    threshold: u32,
    other: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// If `V` is at most `surely / 2^31`, every point of the strip is accepted.
    surely: u32,
    /// The probability of the entry, in units of `2^-32`.
    weight: u32,
    /// A lower and an upper bound of the logarithm of the height.
    ln_height: (f64, f64),
}

/// The envelope of the exponential density.
pub(super) static EXPONENTIAL: LazyLock<Strips> =
    LazyLock::new(|| Strips::new(Shape::Exponential, 0));

/// The envelope of the half-normal density, for points that are tested without rounding.
pub(super) static HALF_NORMAL: LazyLock<Strips> =
    LazyLock::new(|| Strips::new(Shape::HalfNormal, 0));

/// Three envelopes of the half-normal density. A drawn point can be moved before the point is
/// compared with the density. The three envelopes allow moves by up to 1/32, 1/8 and 1/2.
pub(super) static ROUNDED: LazyLock<[Strips; 3]> =
    LazyLock::new(|| [1, 4, 16].map(|reach| Strips::new(Shape::HalfNormal, reach)));

/// The number of the entry that stands for the tail.
const TAIL: usize = 255;

/// Return a lower and an upper bound on the density at `m / 32`, in units of `2^-bits`.
fn density(shape: Shape, m: usize, bits: usize) -> (UBig, UBig) {
    match shape {
        Shape::Exponential => fixed::exp(&-IBig::from(m), 5, bits),
        Shape::HalfNormal => fixed::exp(&-IBig::from(m * m), 11, bits),
    }
}
/// Return a lower and an upper bound on the density at `m / 32`, in units of `2^-64`.
fn short_density(shape: Shape, m: usize) -> (u128, u128) {
    let (lo, hi) = density(shape, m, 64);
    let short = |bound: UBig| u128::try_from(bound).unwrap_or(u128::MAX);
    (short(lo), short(hi))
}

impl Strips {
    fn new(shape: Shape, reach: usize) -> Self {
        let density = |m| short_density(shape, m);
        let mut highest: Vec<u128> =
            (0..TAIL).map(|j| density(j.saturating_sub(reach)).1).collected();
        // If the tail is drawn, its first strip is drawn with probability 1/2. This strip is 32
        // times as wide as a strip outside of the tail. So the weight of the tail has the
        // factor 64.
        highest.push(64 * density(TAIL - reach).1);
        // Each of the 256 weights is rounded up to an integer, which adds less than 1. So it is
        // enough if the sum of the weights before this rounding is at most 2^32 - 256. The code
        // uses the smaller limit 2^32 - 512.
        let room = (1_u128 << 32) - 512;
        let unit = highest.iter().sum::<u128>().div_ceil(room).next_multiple_of(1 << 14);
        let mut weights: Vec<u64> = highest.iter().map(|f| f.div_ceil(unit) as u64).collected();
        // The first strip gets the remaining weight, so that the sum of the weights is 2^32.
        weights[0] += (1 << 32) - weights.iter().sum::<u64>();
        let mut entries = [Entry::default(); 256];
        for (j, (entry, weight)) in entries.iter_mut().zip(&weights).enumerate() {
            let height = u128::from(*weight) * unit;
            // The conversion of `height` to a float is exact, because the weight has at most 27
            // significant bits, and the unit has at most 26 significant bits.
            let ln_height = ln(height as f64 * 0.5_f64.powi(64));
            let lowest = if j == TAIL { 0 } else { density(j + 1 + reach).0 };
            let surely = ((lowest << 31) / height).min(1 << 31) as u32;
            *entry = Entry { surely, weight: *weight as u32, ln_height };
        }
        Strips { shape, columns: columns(&weights), entries, unit: unit as u64 }
    }

    /// Draw an entry of the envelope, a sign, and the first digit of `V`.
    #[inline]
    pub(super) fn pick<S: RandomSource>(&self, source: &mut S) -> Result<Pick, NoEntropy> {
        let (index, negative, v, bits) = if S::BITS == 64 {
            let word = source.word()?;
            (word >> 32, word >> 31 & 1 == 1, word & ((1 << 31) - 1), 31)
        } else {
            let (mut index, mut count) = (0_u128, 0);
            while count < 32 {
                index = index << S::BITS | u128::from(source.word()?);
                count += S::BITS;
            }
            let (sign, v) = (source.word()?, source.word()?);
            let spare = S::BITS.saturating_sub(31);
            ((index >> (count - 32)) as u64, sign & 1 == 1, v >> spare, S::BITS - spare)
        };
        let (number, rest) = ((index >> 24) as usize & 255, index as u32 & ((1 << 24) - 1));
        let Column { threshold, other } = self.columns[number];
        let other = usize::from(other);
        // Select the entry without a branch. Both results of the comparison are about equally
        // likely, so the processor would often mispredict a branch.
        let entry = std::hint::select_unpredictable(rest < threshold, number, other);
        let surely = (v + 1) << (31 - bits) <= u64::from(self.entries[entry].surely);
        Ok(Pick { entry, negative, v, bits, surely })
    }

    /// Return a lower and an upper bound on the exponent `z` of the density `e^-z`, for `x` from
    /// `2^-61 n` to `2^-61 (n + 1)`.
    ///
    /// The ends of the interval of `x` are rounded outward to at most 53 bits. The square and the
    /// last product each have a relative rounding error of `2^-53`. The factors `1 ± 2^-50` are
    /// more than enough for these errors.
    #[inline]
    pub(super) fn bounds(&self, n: u64) -> (f64, f64) {
        let unit = 0.5_f64.powi(50);
        let (near, far) = ((n >> 11) as f64 * unit, ((n >> 11) + 1) as f64 * unit);
        match self.shape {
            Shape::Exponential => (near, far),
            Shape::HalfNormal => {
                let slack = 4.0 * f64::EPSILON;
                (0.5 * near * near * (1.0 - slack), 0.5 * far * far * (1.0 + slack))
            }
        }
    }

    /// Return a lower and an upper bound on `2^precision z` at a point.
    pub(super) fn exponent(&self, point: &LazyPoint, precision: usize) -> (UBig, UBig) {
        let (lo, hi) = point.ends();
        let unit = point.bits() + 5;
        let (lo, hi, unit) = match self.shape {
            Shape::Exponential => (lo, hi, unit),
            Shape::HalfNormal => (&lo * &lo, &hi * &hi, 2 * unit + 1),
        };
        ((lo << precision) >> unit, ((hi << precision) >> unit) + 1_u8)
    }

    /// Decide from bounds on `z` whether `V` accepts a point. Return `None` if the bounds do not
    /// decide, or if the point is in the tail.
    ///
    /// # Bound
    ///
    /// `V` accepts the point if `-ln V > z + ln height`. `z` is from 0 to 60, and `ln height` is
    /// above -64 and at most slightly above 0. So `z`, `ln height` and their sum are below 64 in
    /// magnitude, and the error of the sum is less than `2^-47`. The addition of `JUDGE_SLACK` adds
    /// an error of at most `2^-48`.
    #[inline]
    pub(super) fn judge(&self, pick: &Pick, (lower, upper): (f64, f64)) -> Option<bool> {
        let (low, high) = neg_ln(pick.v, pick.bits);
        let (ln_least, ln_most) = self.entries[pick.entry].ln_height;
        if pick.entry == TAIL || !(upper < 60.0) {
            return None;
        }
        if upper + ln_most + JUDGE_SLACK <= low {
            return Some(true);
        }
        (high <= lower + ln_least - JUDGE_SLACK).then_some(false)
    }

    /// Return the strip of an entry, as a point without digits. For the tail entry, first draw a
    /// strip within the tail.
    pub(super) fn strip<S: RandomSource>(
        &self,
        pick: &Pick,
        source: &mut S,
    ) -> Result<LazyPoint, NoEntropy> {
        let height = UBig::from(self.unit) * self.entries[pick.entry].weight;
        let (mut base, mut wide, mut places) = (pick.entry as u64, 0, 64);
        if pick.entry == TAIL {
            (wide, places) = (5, 64 + 5 + 1);
            while source.word()? & 1 == 1 {
                base += 32;
                places += 1;
            }
        }
        Ok(LazyPoint { base, wide, height, places, uniform: LazyUniform::from_first(0, 0) })
    }
}

/// The slack `2^-46` for rounding errors.
const JUDGE_SLACK: f64 = 64.0 * f64::EPSILON;

/// Fill 256 urns of the alias method with the weights. Each urn has room for the weight `2^24`, and
/// the sum of the weights is `2^32`.
///
/// Each step takes an entry with too little weight for its urn. The rest of the urn is filled from
/// an entry with too much weight. The sum of the remaining weights stays `2^24` times the number of
/// remaining urns.
fn columns(weights: &[u64]) -> [Column; 256] {
    const FULL: u64 = 1 << 24;
    let mut columns = [Column { threshold: FULL as u32, other: 0 }; 256];
    let mut left = weights.to_vec();
    let (mut few, mut many): (Vec<usize>, Vec<usize>) =
        (0..left.len()).partition(|j| left[*j] < FULL);
    while let (Some(poor), Some(rich)) = (few.pop(), many.pop()) {
        columns[poor] = Column { threshold: left[poor] as u32, other: rich as u8 };
        left[rich] -= FULL - left[poor];
        if left[rich] < FULL { few.push(rich) } else { many.push(rich) }
    }
    columns
}

/// A drawn entry of an envelope, with the sign and the first digit of `V` that were drawn together
/// with this entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    entry: usize,
    /// A fair sign of the noise. True means negative.
    pub(super) negative: bool,
    v: u64,
    bits: u32,
    /// If true, the drawn `V` accepts every point of the strip.
    pub(super) surely: bool,
}
impl Pick {
    /// Take the points of the strip whose `U` begins with the 64 bits of `digit`. Return a lower
    /// bound on these points, in units of `2^-61`. The bound plus 1 unit is an upper bound. Return
    /// `None` for the tail.
    #[inline]
    pub(super) fn point(&self, digit: u64) -> Option<u64> {
        (self.entry != TAIL).then_some((self.entry as u64) << 56 | digit >> 8)
    }
    /// Return `V` as a variable that begins with the drawn digit, so that more digits can be drawn.
    pub(super) fn v(&self) -> LazyUniform {
        LazyUniform::from_first(self.v, self.bits)
    }
}

/// A point `x = (base + 2^wide U) / 32`. The digits of `U` are drawn when a decision needs them.
#[derive(Clone, Debug)]
pub(super) struct LazyPoint {
    base: u64,
    wide: usize,
    /// The height of the envelope at the point, in units of `2^-places`.
    height: UBig,
    places: usize,
    uniform: LazyUniform,
}
impl LazyPoint {
    /// Replace `U` by a variable whose first digit is already drawn. The digit has `bits` bits.
    pub(super) fn begin(&mut self, digit: u64, bits: u32) {
        self.uniform = LazyUniform::from_first(digit, bits);
    }
    /// Return the smallest and the largest `x` for the drawn digits, in units of `2^-(bits + 5)`.
    fn ends(&self) -> (UBig, UBig) {
        let lo = (UBig::from(self.base) << self.bits()) + (self.uniform.numerator() << self.wide);
        let hi = &lo + (UBig::ONE << self.wide);
        (lo, hi)
    }
}
impl LazyReal for LazyPoint {
    fn bits(&self) -> usize {
        self.uniform.bits()
    }
    fn refine<S: RandomSource>(&mut self, source: &mut S) -> Result<(), NoEntropy> {
        self.uniform.refine(source)
    }
    fn enclose(&self, precision: usize) -> (UBig, Option<UBig>) {
        let (lo, hi) = self.ends();
        let scaled = |n: UBig| (n << precision) >> (self.bits() + 5);
        (scaled(lo), Some(scaled(hi) + 1_u8))
    }
}

/// Decide exactly whether `V < e^-z / height` for the height of the envelope at a point. Draw
/// digits of `V` until they decide.
///
/// The function `exponent` receives the point and encloses `2^precision z`. `exponent` can draw
/// digits of the point.
///
/// If the enclosures of `exponent` shrink to one number, `accept` terminates with probability 1.
/// There are two reasons. The enclosure of `V` also shrinks to one number. And `V` equals the
/// quotient `e^-z / height` with probability 0.
pub(super) fn accept<S: RandomSource>(
    point: &mut LazyPoint,
    mut v: LazyUniform,
    mut exponent: impl FnMut(&mut LazyPoint, usize, &mut S) -> Result<(UBig, UBig), NoEntropy>,
    source: &mut S,
) -> Result<bool, NoEntropy> {
    loop {
        let precision = v.bits() + 16;
        let (lower, upper) = exponent(point, precision, source)?;
        // Both sides of `V height < e^-z` are computed in units of 2^-bits.
        let bits = precision + point.places;
        let exp = |z: UBig| fixed::exp(&-IBig::from(z), precision, bits);
        let shift = bits - v.bits() - point.places;
        let below = (v.numerator() * &point.height) << shift;
        if &below + (&point.height << shift) <= exp(upper).0 {
            return Ok(true);
        }
        if exp(lower).1 <= below {
            return Ok(false);
        }
        v.refine(source)?;
    }
}

#[cfg(test)]
mod tests;
