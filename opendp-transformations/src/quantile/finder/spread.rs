//! Functions from numbers to buckets. One instruction of the processor can compute a step of such a
//! function for several numbers.

use opendp_core::arith::Number;

/// A function from numbers to buckets that never decreases.
#[derive(Clone, Copy)]
pub(super) enum Spread {
    /// The number is converted to a float. The function is linear in this float, or in the integer
    /// with the same bits as this float. For positive numbers, this integer grows like the
    /// logarithm of the number.
    Float(Place),
    /// A linear function of the number after conversion to an integer. The distances between the
    /// numbers are below `2^51`.
    Near(Near),
    /// A linear function of the number after conversion to an integer.
    Whole(Whole),
}
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Whole,
    Even,
    Logarithmic,
}
/// The sorted numbers, converted to the types that the functions use. So the code that chooses a
/// function is compiled only once.
pub(super) struct Numbers {
    floats: Vec<f64>,
    /// The numbers as integers, or no integers if the numbers are floats.
    integers: Vec<i64>,
}
impl Numbers {
    pub(super) fn new<T: Number>(numbers: &[T]) -> Self {
        let (mut floats, mut integers) = (Vec::with_capacity(numbers.len()), Vec::new());
        let whole = T::one() / (T::one() + T::one()) == T::zero();
        for number in numbers {
            floats.push(float(*number));
            if whole {
                integers.push(integer(*number));
            }
        }
        Numbers { floats, integers }
    }
    pub(super) fn len(&self) -> usize {
        self.floats.len()
    }
    /// Return the first and the last number as integers of 64 bits, or `None` for floats.
    fn ends(&self) -> Option<(i64, i64)> {
        Some((*self.integers.first()?, *self.integers.last()?))
    }
}
impl Spread {
    /// Make a function that spreads the numbers over the buckets, from the first bucket to the last
    /// bucket.
    pub(super) fn new(numbers: &Numbers, buckets: usize, kind: Kind) -> Self {
        let float = |logarithmic| Spread::Float(Place::new(numbers, buckets, logarithmic));
        match kind {
            Kind::Even => float(false),
            Kind::Logarithmic => float(true),
            Kind::Whole => {
                let near = || Near::new(numbers, buckets).map(Spread::Near);
                let whole = || Whole::new(numbers, buckets).map(Spread::Whole);
                near().or_else(whole).unwrap_or_else(|| float(false))
            }
        }
    }
    /// Find the bucket of the number with an index.
    pub(super) fn bucket(self, numbers: &Numbers, index: usize) -> usize {
        match self {
            Spread::Float(place) => place.bucket(numbers.floats[index]),
            Spread::Near(near) => near.bucket(numbers.integers[index]),
            Spread::Whole(whole) => whole.bucket(numbers.integers[index]),
        }
    }
    /// Find the buckets of the rows. The kind of function is chosen once for all rows.
    #[inline(always)]
    pub(super) fn buckets<T: Number>(self, rows: &[T], buckets: &mut [usize]) {
        macro_rules! each {
            ($spread:expr) => {
                for (bucket, row) in buckets.iter_mut().zip(rows) {
                    *bucket = $spread.bucket(*row);
                }
            };
        }
        match self {
            Spread::Near(near) => each!(near),
            Spread::Whole(whole) => each!(whole),
            Spread::Float(place) if place.logarithmic => {
                each!(Place { logarithmic: true, ..place })
            }
            Spread::Float(place) => each!(Place { logarithmic: false, ..place }),
        }
    }
}

#[inline(always)]
fn float<T: Number>(number: T) -> f64 {
    // `to_f64` never returns `None`, because every number type converts to a float.
    number.to_f64().unwrap_or(0.0)
}
/// Convert a number of an integer type to the nearest integer of 64 bits.
#[inline(always)]
fn integer<T: Number>(number: T) -> i64 {
    number.to_i64().unwrap_or(if number < T::zero() { i64::MIN } else { i64::MAX })
}

/// Convert a number to an integer, and clamp it to `lowest` and `highest`.
#[inline(always)]
fn integer_within<T: Number>(number: T, lowest: i64, highest: i64) -> i64 {
    let number = integer(number);
    let number = if number < lowest { lowest } else { number };
    if highest < number { highest } else { number }
}

#[derive(Clone, Copy)]
pub(super) struct Near {
    lowest: i64,
    highest: i64,
    factor: f64,
}
impl Near {
    /// Make a function that spreads integers. Return `None` for floats, and for numbers that are
    /// far apart.
    fn new(numbers: &Numbers, buckets: usize) -> Option<Self> {
        let (lowest, highest) = numbers.ends()?;
        let width = highest.abs_diff(lowest);
        let factor = (buckets - 1) as f64 / width.max(1) as f64;
        (width < 1 << 51).then_some(Near { lowest, highest, factor })
    }
    /// Return the bucket of a number. Each step is monotone in the number. One instruction can do a
    /// step for several numbers at once.
    #[inline(always)]
    fn bucket<T: Number>(self, number: T) -> usize {
        let number = integer_within(number, self.lowest, self.highest);
        // Let `above` be the clamped number minus the smallest number. This integer is below 2^52.
        // Put this integer into the last bits of the float 2^52. The result is the float 2^52 plus
        // `above`. Then subtract 2^52.
        let above = number.wrapping_sub(self.lowest).cast_unsigned();
        let above = f64::from_bits(above | INTEGERS.to_bits()) - INTEGERS;
        last_bits(above * self.factor)
    }
}

/// The float 2^52. All floats from 2^52 to 2^53 are integers. The last bits of their mantissas are
/// the last bits of these integers.
const INTEGERS: f64 = 4_503_599_627_370_496.0;
/// Return the integer nearest to a float that is at least 0 and at most 2^32 - 1.
#[inline(always)]
fn last_bits(place: f64) -> usize {
    (place + INTEGERS).to_bits() as u32 as usize
}

#[derive(Clone, Copy)]
pub(super) struct Whole {
    /// The smallest number, minus one, modulo 2^64.
    origin: u64,
    lowest: i64,
    highest: i64,
    factor: u64,
}
impl Whole {
    /// Make a function that spreads integers. Return `None` for floats, and for numbers that span
    /// the whole 64-bit range.
    fn new(numbers: &Numbers, buckets: usize) -> Option<Self> {
        let (lowest, highest) = numbers.ends()?;
        let width = highest.abs_diff(lowest).checked_add(1)?;
        // The factor is below `2^64 * buckets / width`. `bucket` multiplies the factor by a number
        // that is at most `width`, and divides the product by 2^64. So every bucket is below
        // `buckets`.
        let factor = ((u128::try_from(buckets).ok()? << 64) - 1) / u128::from(width);
        let factor = u64::try_from(factor).unwrap_or(u64::MAX);
        Some(Whole { origin: lowest.wrapping_sub(1).cast_unsigned(), lowest, highest, factor })
    }
    /// Return the bucket of a number. First clamp the number. Let `above` be the clamped number
    /// minus the smallest number, plus one. The bucket is the high half of the product of `above`
    /// and `factor`. If `factor` is 2^64 - 1, the bucket is `above - 1`.
    #[inline(always)]
    fn bucket<T: Number>(self, number: T) -> usize {
        let number = integer_within(number, self.lowest, self.highest);
        let above = number.cast_unsigned().wrapping_sub(self.origin);
        ((u128::from(above) * u128::from(self.factor)) >> 64) as usize
    }
}

#[derive(Clone, Copy)]
pub(super) struct Place {
    logarithmic: bool,
    origin: f64,
    /// The slope of the function, which is finite and not negative.
    factor: f64,
    last: f64,
}
impl Place {
    /// Make a function that spreads the numbers over the buckets, from the first bucket to the last
    /// bucket.
    fn new(numbers: &Numbers, buckets: usize, logarithmic: bool) -> Self {
        let last = (buckets - 1) as f64;
        let unit = Place { logarithmic, origin: 0.0, factor: 0.0, last };
        let mut places = numbers.floats.iter().map(|x| unit.place(*x)).filter(|x| x.is_finite());
        let origin = places.next().unwrap_or(0.0);
        let factor = last / (places.next_back().unwrap_or(origin) - origin);
        Place { origin, factor: if factor.is_finite() { factor } else { 0.0 }, ..unit }
    }
    /// Convert a number to a float. A larger number never gives a smaller float, because conversion
    /// to the nearest float is monotone. In the logarithmic case, the bits of this float become a
    /// signed integer that increases with the float.
    #[inline(always)]
    fn place<T: Number>(self, number: T) -> f64 {
        let float = float(number);
        if !self.logarithmic {
            return float;
        }
        // Adding 0 turns `-0.0` into `0.0`. The two zeros are equal, but their bits differ.
        let bits = (float + 0.0).to_bits() as i64;
        (bits ^ ((bits >> 63) as u64 >> 1) as i64) as f64
    }
    /// Return the bucket of a number. Each operation is correctly rounded, so it is monotone like
    /// the exact operation. Only NaN could break this rule. Infinity minus infinity does not occur,
    /// because the origin is finite. Infinity times 0 occurs only if the factor is 0. Then all
    /// numbers go to the first bucket, and NaN also goes there.
    #[inline(always)]
    fn bucket<T: Number>(self, number: T) -> usize {
        let place = (self.place(number) - self.origin) * self.factor;
        let place = if 0.0 < place { place } else { 0.0 };
        let place = if place < self.last { place } else { self.last };
        last_bits(place)
    }
}
