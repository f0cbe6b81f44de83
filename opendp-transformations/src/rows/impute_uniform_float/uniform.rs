//! Draws floats exactly uniformly from an interval.

use std::marker::PhantomData;

use dashu_int::IBig;
use opendp_core::arith::dyadic::{Rounding, dyadic};
use opendp_core::arith::{Float, shown};
use opendp_core::random::{NoEntropy, RandomSource};
use opendp_core::{Atom, Bounds, Error, Result};

/// The float nearest to a real number that is uniform on an interval.
///
/// For each float, a part of the interval rounds to this float. The probability of the float is the
/// length of this part, divided by the length of the interval.
#[derive(Debug)]
pub(crate) struct Uniform<T> {
    /// The interval is `[lower, lower + width] * 2^exponent`.
    lower: IBig,
    width: IBig,
    exponent: i64,
    float: PhantomData<fn() -> T>,
}
impl<T: Atom + Float> Uniform<T> {
    /// Prepare to draw from the interval between the bounds. Return `MakeTransformation` if a bound
    /// is infinite, or if the bounds are equal.
    pub(crate) fn new(bounds: Bounds<T>) -> Result<Self> {
        let (lower, upper) = (bounds.lower(), bounds.upper());
        let (Some((l, e)), Some((u, f))) = (dyadic(lower.to_f64()), dyadic(upper.to_f64())) else {
            return Err(refuse(lower, upper));
        };
        if !(lower < upper) {
            return Err(refuse(lower, upper));
        }
        // The exponents of the two bounds are `e` and `f`. `low` is the smaller of these exponents,
        // so no shift is negative.
        let low = e.min(f);
        let shift = |exponent: i32| usize::try_from(exponent - low).unwrap_or(0);
        let (l, u) = (l << shift(e), u << shift(f));
        let width = u - &l;
        Ok(Uniform { lower: l, width, exponent: low.into(), float: PhantomData })
    }
    /// Draw a float.
    ///
    /// # Proof
    /// Let `X = lower + U * width` with `U` uniform on `[0, 1]`. The unit of `X`, `lower` and
    /// `width` is `2^exponent`. The binary digits of `U` are drawn until the result is known. Let
    /// `n / 2^k` be the value of the first `k` digits. Then `X` lies in the closed interval from
    /// `lower + width * n / 2^k` to `lower + width * (n + 1) / 2^k`. Both ends of this interval are
    /// computed without rounding. Rounding to nearest is monotone. So if both ends round to the
    /// same float, `X` also rounds to this float, and the loop ends. The loop ends with probability
    /// one, because `X` is almost surely not halfway between two floats. The float lies between the
    /// bounds, because the bounds are floats and rounding is monotone.
    pub(crate) fn draw<S: RandomSource>(&self, source: &mut S) -> Result<T, NoEntropy> {
        let (mut lower, mut exponent) = (self.lower.clone(), self.exponent);
        loop {
            let word = source.word()?;
            // `S::BITS` is at most 64, so the cast is exact.
            lower = (lower << S::BITS as usize) + &self.width * IBig::from(word);
            exponent -= i64::from(S::BITS);
            let below = T::from_dyadic(&lower, exponent, Rounding::Nearest);
            let above = T::from_dyadic(&(&lower + &self.width), exponent, Rounding::Nearest);
            if below == above {
                return Ok(below);
            }
        }
    }
}
#[cold]
fn refuse<T: Float>(lower: T, upper: T) -> Error {
    Error::MakeTransformation(format!(
        "bounds: expected finite numbers, the lower below the upper, found [{}, {}]",
        shown(lower),
        shown(upper)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::random::{Failing, Seeded, Tape};

    const BITS: u32 = 12;

    /// Draw a float from each of the `2^12` sequences of 12 random bits. Count how often each of
    /// five adjacent floats occurs. The first of these floats is `first`. Some sequences end before
    /// a float is drawn. Such a sequence can belong to any of the floats, so each count can be too
    /// low by at most the number of such sequences. Except for this difference, the counts must
    /// agree with the given probabilities, which are stated in eighths.
    fn check(first: f64, eighths: [u64; 5]) -> Result<(), String> {
        let mut last = first;
        for _ in 0..4 {
            last = last.next_up();
        }
        let uniform = Uniform::new(Bounds::new(first, last).unwrap()).unwrap();
        let (mut counts, mut open) = ([0; 5], 0);
        for number in 0..1 << BITS {
            match uniform.draw(&mut Tape::<1>::from_bits(number, BITS)) {
                Err(NoEntropy) => open += 1,
                Ok(float) => {
                    let mut place = 0;
                    let mut x = first;
                    while x < float {
                        (x, place) = (x.next_up(), place + 1);
                    }
                    counts[place] += 1;
                }
            }
        }
        let total = 1_u64 << BITS;
        assert!(open < total / 100);
        for (count, eighth) in counts.iter().zip(eighths) {
            let expected = total * eighth / 8;
            if !(*count <= expected && expected <= count + open) {
                return Err(format!("{counts:?} and {open} open, not {eighths:?} eighths"));
            }
        }
        Ok(())
    }

    #[test]
    fn each_float_has_the_share_that_rounds_to_it() {
        for first in [1.0, 0.0, 5e-324, -2e-323, -1e-323, 1e300] {
            check(first, [1, 2, 2, 2, 1]).unwrap();
        }
    }
    #[test]
    fn rounding_down_is_another_law() {
        assert!(check(1.0, [2, 2, 2, 2, 0]).is_err());
    }
    #[test]
    fn the_share_of_a_wider_spacing_is_larger() {
        // The floats 1 - 2^-53, 1 and 1 + 2^-52 have the probabilities 1/6, 3/6 and 2/6.
        let (first, last) = (1_f64.next_down(), 1_f64.next_up());
        let uniform = Uniform::new(Bounds::new(first, last).unwrap()).unwrap();
        let mut source = Seeded::<64>::new(1);
        let mut counts = [0_i64; 3];
        for _ in 0..60_000 {
            let x = uniform.draw(&mut source).unwrap();
            counts[if x < 1.0 {
                0
            } else if x == 1.0 {
                1
            } else {
                2
            }] += 1;
        }
        // The standard deviations of the counts are below 123.
        for (count, expected) in counts.iter().zip([10_000, 30_000, 20_000]) {
            assert!((count - expected).abs() < 800, "{counts:?}");
        }
    }
    #[test]
    fn stays_within_bounds_of_any_size_and_is_spread_evenly() {
        let max = f64::MAX;
        for (lower, upper) in
            [(-max, max), (0.0, 5e-324), (-5e-324, max), (0.1, 0.7), (-3.0, 1e-310)]
        {
            let bounds = Bounds::new(lower, upper).unwrap();
            let uniform = Uniform::new(bounds).unwrap();
            let mut source = Seeded::<64>::new(7);
            let middle = lower / 2.0 + upper / 2.0;
            let mut above = 0_i64;
            for _ in 0..2_000 {
                let x = uniform.draw(&mut source).unwrap();
                assert!(bounds.contains(&x));
                above += i64::from(x > middle);
            }
            // The standard deviation of this count is 22.4.
            assert!((above - 1000).abs() < 160, "{lower} {upper}: {above}");
        }
        let single = Uniform::new(Bounds::new(0.0_f32, 1.0).unwrap()).unwrap();
        let mut source = Seeded::<4>::new(3);
        assert!((0..100).all(|_| (0.0..=1.0).contains(&single.draw(&mut source).unwrap())));
    }
    #[test]
    fn fails_without_entropy() {
        let uniform = Uniform::new(Bounds::new(0.0, 1.0).unwrap()).unwrap();
        assert_eq!(uniform.draw(&mut Failing::default()), Err(NoEntropy));
    }
}
