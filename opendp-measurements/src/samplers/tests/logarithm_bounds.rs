//! Comparisons of the logarithm in floats with the logarithm in big integers.

use crate::samplers::{LazyExponential, dyadic::shift_floor, ln, neg_ln, score::Score};
use dashu_int::{IBig, UBig};
use opendp_core::arith::fixed;
use opendp_core::random::{RandomSource, Seeded};

const PRECISION: usize = 300;

/// Write a logarithm in units of `2^-PRECISION`. The magnitudes of all logarithms in these tests
/// are 0 or above `2^-66`. So all these floats are multiples of `2^-118`, and the conversion is
/// exact.
fn fixed_point(x: f64) -> IBig {
    let (m, e) = x.dyadic();
    shift_floor(m, e + PRECISION as i64)
}

/// Convert a distance from fixed point to units of `2^-52 |value|`.
fn in_ulps(distance: IBig, value: f64) -> f64 {
    let unit = fixed_point(value.abs());
    let thousandths: IBig = (distance << 52usize) * IBig::from(1000) / unit;
    thousandths.to_f64().value() / 1000.0
}

fn digits() -> Vec<u64> {
    let mut source = Seeded::<64>::new(11);
    let mut digits = vec![0, 1, 2, 3, 1 << 63, (1 << 63) - 1, (1 << 63) + 1];
    let root = 0xb504_f333_f9de_6484_u64;
    for near in [root, root >> 1, u64::MAX - 1000] {
        digits.extend(near - 1000..=near + 1000);
    }
    for bit in 0..64 {
        digits.extend([1 << bit, u64::MAX >> bit, u64::MAX << bit, !(1 << bit)]);
    }
    // Add random digits, for which U and 1 - U have all magnitudes.
    for _ in 0..30_000 {
        let word = source.word().unwrap();
        let shift = source.word().unwrap() % 64;
        digits.extend([word, word >> shift, !(word >> shift)]);
    }
    digits
}

#[test]
fn every_float_enclosure_holds_the_exact_logarithms_of_its_digit() {
    let (mut least_excess, mut most_excess) = (f64::MAX, 0.0_f64);
    for digit in digits() {
        let (lo, hi) = neg_ln(digit, 64);
        let log_at = |n: &UBig| fixed::ln(n, -64, PRECISION);
        let lower = -log_at(&(UBig::from(digit) + 1_u8)).1;
        assert!(fixed_point(lo) <= lower, "the lower bound at {digit} is too high");
        if digit == 0 {
            assert_eq!(hi, f64::INFINITY);
            continue;
        }
        let upper = -log_at(&UBig::from(digit)).0;
        assert!(upper <= fixed_point(hi), "the upper bound at {digit} is too low");
        let excess = in_ulps(fixed_point(hi) - &upper, hi);
        least_excess = least_excess.min(excess);
        most_excess = most_excess.max(excess);
    }
    // The relative error of `ln_scaled` is at most 4 units of 2^-52, and the bound adds 6 units. So
    // the bound exceeds the exact logarithm by 2 to 10 units. For the digits of this test, the
    // excess is always from 3.5 to 8.5 units. So the test uses these narrower limits, and can
    // detect a wrong coefficient.
    assert!(least_excess > 3.5 && most_excess < 8.5, "{least_excess} {most_excess}");
}

#[test]
fn digits_of_half_a_word_and_of_all_but_its_sign_are_enclosed() {
    for bits in [32, 63] {
        for digit in digits().into_iter().step_by(7).map(|digit| digit >> (64 - bits)) {
            let (lo, hi) = neg_ln(digit, bits);
            let log_at = |n: UBig| fixed::ln(&n, -i64::from(bits), PRECISION);
            assert!(
                fixed_point(lo) <= -log_at(UBig::from(digit) + 1_u8).1,
                "the lower bound at {digit} is too high"
            );
            match digit {
                0 => assert_eq!(hi, f64::INFINITY),
                _ => assert!(
                    -log_at(digit.into()).0 <= fixed_point(hi),
                    "the upper bound at {digit} is too low"
                ),
            }
        }
    }
}

#[test]
fn a_narrower_enclosure_would_be_wrong() {
    let fails = digits().into_iter().filter(|&digit| digit > 0).any(|digit| {
        let hi = neg_ln(digit, 64).1 * (1.0 - 6.0 * f64::EPSILON);
        -fixed::ln(&UBig::from(digit), -64, PRECISION).0 > fixed_point(hi)
    });
    assert!(fails);
}

#[test]
fn short_digits_are_enclosed_too() {
    for bits in [1, 4, 7] {
        for digit in 0..1 << bits {
            let (lo, hi) = neg_ln(digit, bits);
            let (exact_lo, exact_hi) = LazyExponential::from_first(digit, bits).enclose(PRECISION);
            // `exact_lo` uses `ln((n + 1) / n) <= 1 / n` for `n = digit`, so `exact_lo` can be far
            // below the exact logarithm. So the test does not compare `lo` with `exact_lo`. The
            // test compares `lo` with the exact logarithm at the right end of the interval.
            let end = fixed::ln(&UBig::from(digit + 1), -i64::from(bits), PRECISION).1;
            assert!(fixed_point(lo) <= -end);
            assert!(IBig::from(exact_lo) <= fixed_point(hi.min(100.0)));
            match exact_hi {
                Some(exact) => assert!(IBig::from(exact) <= fixed_point(hi) + 2),
                None => assert_eq!(hi, f64::INFINITY),
            }
        }
    }
}

#[test]
fn the_logarithm_of_a_float_is_enclosed() {
    let mut source = Seeded::<64>::new(12);
    let mut floats = vec![1.0, 1.0_f64.next_up(), 1.0_f64.next_down(), f64::MAX, f64::MIN_POSITIVE];
    floats.extend((0..20_000).map(|_| f64::from_bits(source.word().unwrap() >> 1)));
    floats.extend((0..20_000).map(|_| 1.0 + source.word().unwrap() as f64 / 2f64.powi(70)));
    for x in floats.into_iter().filter(|x| x.is_normal()) {
        let (m, e) = x.dyadic();
        let exact = fixed::ln(&UBig::try_from(m).unwrap(), e, PRECISION);
        let (lo, hi) = ln(x);
        assert!(fixed_point(lo) <= exact.0 && exact.1 <= fixed_point(hi), "{x}");
        assert!(hi - lo <= 13.0 * f64::EPSILON * hi.abs());
    }
    assert_eq!(ln(0.0), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    assert_eq!(ln(f64::INFINITY), (f64::INFINITY, f64::INFINITY));
    let (lo, hi) = ln(5e-324);
    assert!(lo <= -744.5 && hi >= -744.4);
}
