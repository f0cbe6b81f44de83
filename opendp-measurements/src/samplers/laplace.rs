//! Exact continuous Laplace noise, rounded to a lattice only after the addition.

use super::{
    dyadic::{Dyadic, power_of_two},
    exponential::LazyExponential,
    lattice::{big_lattice_point, clamp_exponent, lattice_point, round_to_lattice},
    logarithm::neg_ln,
};
use dashu_int::{IBig, UBig, ops::BitTest};
use opendp_core::random::{NoEntropy, RandomSource};

/// Add exact Laplace noise to a float and round the sum to a lattice.
///
/// The result is the float nearest to `m 2^k` with `m = floor(x / 2^k + 1/2 + (scale / 2^k) L)`,
/// `L` a real Laplace variable of density `e^(-|t|) / 2`: the lattice point nearest to the real
/// number `x + scale L`, ties upward.
///
/// # Exactness
///
/// `x` and `scale` are the rational numbers the floats stand for, `L` is real, and the sum is real;
/// it is rounded once, after the addition. The release is thus a function of the ideal Laplace
/// mechanism's (Dwork, McSherry, Nissim, Smith 2006) and loses exactly as much privacy,
/// `|x - x'| / scale`, for every lattice, with no term for floats (compare Mironov 2012, "On
/// significance of the least significant bits for differential privacy").
///
/// A sum beyond the finite floats is clamped to `±f64::MAX`; zero is always `+0`; `k` is clamped to
/// `[-1074, 1023]`. The value `x` must be finite. Scale 0 adds nothing and draws nothing; a
/// negative scale means its magnitude, an infinite one or NaN some number above `f64::MAX`.
///
/// Cost: about 35 ns if `|x / 2^k| < 2^62` and `scale / 2^k` is from `2^-500` to `2^45`; two words.
/// Big integers decide with probability about `2^-48 scale / 2^k` there and always elsewhere; they
/// take some microseconds, more if exponents are far apart.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
#[inline]
pub fn laplace<S: RandomSource>(
    x: f64,
    scale: f64,
    k: i32,
    source: &mut S,
) -> Result<f64, NoEntropy> {
    if scale == 0.0 {
        return Ok(round_to_lattice(x, k));
    }
    let k = clamp_exponent(k);
    let digit = source.word()?;
    let negative = source.word()? & 1 == 1;
    let sum = Sum { x: Dyadic::new(x), scale: Dyadic::new(scale), k, negative };
    match sum.fast(neg_ln(digit, S::BITS)) {
        Some(m) => Ok(lattice_point(m, k)),
        None => sum.exact(LazyExponential::from_first(digit, S::BITS), source),
    }
}

/// The real number `x / 2^k + 1/2 ± (scale / 2^k) E` but for `E`.
struct Sum {
    x: Dyadic,
    scale: Dyadic,
    k: i32,
    negative: bool,
}

impl Sum {
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
    fn fast(&self, (lo, hi): (f64, f64)) -> Option<i64> {
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
    fn exact<S: RandomSource>(
        &self,
        mut e: LazyExponential,
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

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::random::{Failing, Seeded, Tape};

    #[test]
    fn scale_zero_rounds_and_draws_nothing() {
        let mut source = Failing::default();
        assert_eq!(laplace(0.3, 0.0, -2, &mut source), Ok(0.25));
        assert_eq!(laplace(0.375, 0.0, -2, &mut source), Ok(0.5));
        assert_eq!(source.attempts(), 0);
        assert_eq!(laplace(0.3, 1.0, -2, &mut source), Err(NoEntropy));
    }

    #[test]
    fn a_tape_that_ends_is_reported_wherever_it_ends() {
        for (scale, k) in [(1.0, 0), (1.0, -40), (1e-3, 5), (1.0, -1074), (1e300, 0)] {
            let mut whole = Seeded::<4>::new(5);
            laplace(0.7, scale, k, &mut whole).unwrap();
            let mut replay = Seeded::<4>::new(5);
            let words: Vec<u64> = (0..whole.used()).map(|_| replay.word().unwrap()).collect();
            for length in 0..words.len() {
                let mut tape = Tape::<4>::new(words[..length].to_vec());
                assert_eq!(laplace(0.7, scale, k, &mut tape), Err(NoEntropy));
            }
        }
    }

    #[test]
    fn the_float_and_the_integer_path_agree() {
        let mut source = Seeded::<64>::new(4);
        let mut decided = 0;
        for (x, scale, k) in [
            (0.1, 1.0, -20),
            (-1234.567, 3.3, -10),
            (1e15, 1e3, -9),
            (-1e-200, 2.0, 0),
            (3e-300, 1e-300, -1010),
            (-7.25, 1e-5, 2),
            (1e300, 1e300, 960),
        ] {
            for _ in 0..2000 {
                let (digit, negative) = (source.word().unwrap(), source.word().unwrap() & 1 == 1);
                let sum = Sum { x: Dyadic::new(x), scale: Dyadic::new(scale), k, negative };
                let e = LazyExponential::from_first(digit, 64);
                let exact = sum.exact(e, &mut Tape::<64>::new(vec![0; 9])).unwrap();
                if let Some(m) = sum.fast(neg_ln(digit, 64)) {
                    assert_eq!(lattice_point(m, k), exact, "{x} {scale} {k}");
                    decided += 1;
                }
            }
        }
        assert!(decided > 13_900, "{decided}");
    }

    #[test]
    fn a_value_just_below_a_half_step_is_not_rounded_before_the_noise() {
        // x + 1/2 is 1 - 2^-54, which no float holds; the nearest is 1.
        let x = 0.5_f64.next_down();
        let mut source = Seeded::<64>::new(10);
        for _ in 0..100 {
            assert_eq!(laplace(x, 1e-100, 0, &mut source), Ok(0.0));
        }
    }

    #[test]
    fn the_same_digits_give_the_same_sum_however_they_are_cut_into_words() {
        let mut source = Seeded::<4>::new(9);
        for (x, scale, k) in [(0.3, 1.0, 0), (-0.7, 100.0, 1), (2.5, 1.0, -1074)] {
            for _ in 0..4000 {
                let nibbles: Vec<u64> = (0..41).map(|_| source.word().unwrap()).collect();
                // The second word is the sign; the rest are the digits of U.
                let digits: Vec<u64> = [&nibbles[..1], &nibbles[2..]].concat();
                let word = |i: usize| digits[16 * i..].iter().take(16).fold(0, |w, d| w << 4 | d);
                let long = vec![word(0), nibbles[1], word(1)];
                let short = laplace(x, scale, k, &mut Tape::<4>::new(nibbles));
                assert_eq!(short, laplace(x, scale, k, &mut Tape::<64>::new(long)));
                assert!(short.is_ok());
            }
        }
    }

    #[test]
    fn extreme_arguments_stay_finite() {
        let mut source = Seeded::<64>::new(6);
        for x in [0.0, 5e-324, -1e-300, 1.0, 1e300, -f64::MAX, f64::MAX] {
            for scale in [5e-324, 1e-300, 1.0, 1e300, f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
                for k in [i32::MIN, -1074, -500, 0, 500, 1023, i32::MAX] {
                    let y = laplace(x, scale, k, &mut source).unwrap();
                    assert!(y.is_finite());
                    assert_eq!(round_to_lattice(y, k).to_bits(), y.to_bits(), "{x} {scale} {k}");
                }
            }
        }
    }

    #[test]
    fn tiny_noise_around_a_half_step_moves_the_result_both_ways() {
        // The sum is 1/2 ± something far below any float of its size.
        let mut source = Seeded::<64>::new(7);
        let mut up = 0;
        for _ in 0..1000 {
            let y = laplace(0.5, 5e-324, 0, &mut source).unwrap();
            assert!(y == 0.0 || y == 1.0);
            up += i32::from(y == 1.0);
        }
        assert!((400..600).contains(&up), "{up}");
    }

    #[test]
    fn a_sum_beyond_the_floats_is_clamped_with_its_sign() {
        let mut source = Seeded::<64>::new(8);
        let mut seen = [false; 2];
        for _ in 0..100 {
            let y = laplace(f64::MAX, f64::MAX, 900, &mut source).unwrap();
            seen[0] |= y == f64::MAX;
            let y = laplace(-f64::MAX, f64::MAX, 900, &mut source).unwrap();
            seen[1] |= y == -f64::MAX;
        }
        assert_eq!(seen, [true; 2]);
    }
}
