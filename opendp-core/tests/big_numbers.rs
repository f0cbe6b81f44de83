//! Tests that operations on big integers give the same results as the operations of another
//! library.
//!
//! Many maps and samplers use big integers. In another project, quotients of big integers had a
//! wrong sign, so the outputs of samplers were wrong (OpenDP #2638). The tested numbers cause
//! carries and borrows. For some of the numbers, the tested library (`dashu-int`) uses its
//! algorithms for long numbers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so")]

use std::cmp::Ordering;

use dashu_int::ops::{BitTest, DivEuclid, DivRem, DivRemEuclid, Gcd, RemEuclid, UnsignedAbs};
use dashu_int::{IBig, Sign, UBig};
use num_bigint::{BigInt, BigUint, Sign as TheirSign};
use opendp_core::random::{RandomSource, Seeded};

/// Draw a magnitude in little-endian words. Most magnitudes have few words, and some have many.
fn words(source: &mut Seeded, limit: u64) -> Vec<u64> {
    let mut draw = |below: u64| source.word().unwrap() % below;
    let length = match draw(100) {
        0 => draw(limit),
        _ => draw(6),
    };
    let kind = draw(4);
    let mut words: Vec<u64> = (0..length)
        .map(|_| match kind {
            0 => u64::MAX,
            1 => [0, 1, u64::MAX, 1 << 63][draw(4) as usize],
            _ => draw(u64::MAX),
        })
        .collect();
    // Shift the last word to the right, so that numbers of every length in bits occur. If all words
    // are `u64::MAX`, the number becomes a power of two minus 1.
    if let Some(last) = words.last_mut() {
        *last >>= draw(64);
    }
    words
}
fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
/// One number, stored twice: in the type of each library.
struct Both(IBig, BigInt);
fn draw(source: &mut Seeded, limit: u64) -> Both {
    let bytes = bytes(&words(source, limit));
    let negative = source.word().unwrap() % 2 == 0;
    let (sign, theirs) = match negative {
        true => (Sign::Negative, TheirSign::Minus),
        false => (Sign::Positive, TheirSign::Plus),
    };
    let magnitude = UBig::from_le_bytes(&bytes);
    Both(
        IBig::from_parts(sign, magnitude),
        BigInt::from_biguint(theirs, BigUint::from_bytes_le(&bytes)),
    )
}
fn same(ours: &IBig, theirs: &BigInt) -> bool {
    let (sign, magnitude) = ours.clone().into_parts();
    let sign = match sign {
        _ if magnitude.is_zero() => TheirSign::NoSign,
        Sign::Negative => TheirSign::Minus,
        Sign::Positive => TheirSign::Plus,
    };
    *theirs == BigInt::from_biguint(sign, BigUint::from_bytes_le(&magnitude.to_le_bytes()))
}

type Ours = fn(&IBig, &IBig) -> IBig;
type Theirs = fn(&BigInt, &BigInt) -> BigInt;
/// Compare an operation of both libraries on many pairs. If `divides` is `true`, skip the pairs
/// whose second number is 0. Return the first pair with different results.
fn differs(ours: Ours, theirs: Theirs, divides: bool, pairs: usize) -> Option<(IBig, IBig)> {
    let mut source = Seeded::new(1);
    for _ in 0..pairs {
        let (Both(a, x), Both(b, y)) = (draw(&mut source, 250), draw(&mut source, 120));
        if divides && b == IBig::ZERO {
            continue;
        }
        if !same(&ours(&a, &b), &theirs(&x, &y)) {
            return Some((a, b));
        }
    }
    None
}
/// Return the number of bits by which a test shifts the first number of a pair. Compute this number
/// of bits from `number`, the second number of the pair. The result is below 300.
fn places(number: &IBig) -> usize {
    usize::try_from(number.clone().unsigned_abs() % UBig::from(300_u16)).unwrap()
}
fn their_places(number: &BigInt) -> usize {
    (number.magnitude() % 300_u16).try_into().unwrap()
}
fn floor(a: &BigInt, b: &BigInt) -> BigInt {
    let (quotient, rest) = (a / b, a % b);
    // `quotient` is rounded toward zero. The Euclidean remainder is never negative. So if `rest` is
    // negative, the Euclidean quotient differs from `quotient` by 1.
    match rest.sign() {
        TheirSign::Minus if b.sign() == TheirSign::Minus => quotient + 1,
        TheirSign::Minus => quotient - 1,
        _ => quotient,
    }
}
fn gcd(a: &BigInt, b: &BigInt) -> BigInt {
    let (mut a, mut b) = (a.magnitude().clone(), b.magnitude().clone());
    while b != BigUint::ZERO {
        (a, b) = (b.clone(), a % b);
    }
    a.into()
}

#[test]
fn signed_numbers_compute_what_another_library_computes() {
    let operations: [(&str, Ours, Theirs, bool, usize); 13] = [
        ("+", |a, b| a + b, |a, b| a + b, false, 150_000),
        ("-", |a, b| a - b, |a, b| a - b, false, 150_000),
        ("*", |a, b| a * b, |a, b| a * b, false, 100_000),
        ("/", |a, b| a / b, |a, b| a / b, true, 150_000),
        ("%", |a, b| a % b, |a, b| a % b, true, 100_000),
        ("div_rem", |a, b| a.div_rem(b).0 + a.div_rem(b).1, |a, b| a / b + a % b, true, 50_000),
        ("div_euclid", |a, b| a.div_euclid(b), floor, true, 50_000),
        ("rem_euclid", |a, b| a.rem_euclid(b).into(), |a, b| a - floor(a, b) * b, true, 50_000),
        ("div_rem_euclid", |a, b| a.div_rem_euclid(b).0, floor, true, 50_000),
        ("gcd", |a, b| a.gcd(b).into(), gcd, true, 5_000),
        ("<<", |a, b| a << places(b), |a, b| a << their_places(b), false, 100_000),
        (">>", |a, b| a >> places(b), |a, b| a >> their_places(b), false, 100_000),
        (
            "cmp",
            |a, b| IBig::from(a.cmp(b) as i8),
            |a, b| BigInt::from(a.cmp(b) as i8),
            false,
            100_000,
        ),
    ];
    for (name, ours, theirs, divides, pairs) in operations {
        assert_eq!(differs(ours, theirs, divides, pairs), None, "{name}");
    }
}
#[test]
fn unsigned_numbers_compute_what_another_library_computes() {
    let mut source = Seeded::new(2);
    for _ in 0..100_000 {
        let (x, y) = (bytes(&words(&mut source, 250)), bytes(&words(&mut source, 120)));
        let (a, b) = (UBig::from_le_bytes(&x), UBig::from_le_bytes(&y));
        let (x, y) = (BigUint::from_bytes_le(&x), BigUint::from_bytes_le(&y));
        let same =
            |ours: &UBig, theirs: &BigUint| *theirs == BigUint::from_bytes_le(&ours.to_le_bytes());
        assert!(same(&(&a + &b), &(&x + &y)) && same(&(&a * &b), &(&x * &y)));
        let (left, right) = if a < b { (&b - &a, &y - &x) } else { (&a - &b, &x - &y) };
        assert!(same(&left, &right));
        if !b.is_zero() {
            assert!(same(&(&a / &b), &(&x / &y)) && same(&(&a % &b), &(&x % &y)));
        }
        let n = source.word().unwrap() as usize % 200;
        assert!(same(&(&a >> n), &(&x >> n)) && same(&(&a << n), &(&x << n)));
        assert_eq!((a.bit_len() as u64, a.bit(n)), (x.bits(), x.bit(n as u64)));
        let trailing = a.trailing_zeros().map(|zeros| zeros as u64);
        assert_eq!((a.cmp(&b), trailing), (x.cmp(&y), x.trailing_zeros()));
        assert_eq!(u64::try_from(&a).ok(), u64::try_from(&x).ok());
        assert_eq!(u128::try_from(&a).ok(), u128::try_from(&x).ok());
        assert_eq!(i64::try_from(&a).ok(), i64::try_from(&x).ok());
    }
    assert!(same_power(7, 70));
}
fn same_power(base: u64, exponent: usize) -> bool {
    let ours = UBig::from(base).pow(exponent);
    let theirs = BigUint::from(base).pow(exponent as u32);
    theirs == BigUint::from_bytes_le(&ours.to_le_bytes())
}
#[test]
fn an_operation_that_loses_a_sign_or_a_carry_is_found() {
    // This is the mistake of OpenDP #2638: the quotient of the magnitudes, without the sign.
    let loses_the_sign: Ours =
        |a, b| IBig::from(a.clone().unsigned_abs() / b.clone().unsigned_abs());
    assert!(differs(loses_the_sign, |a, b| a / b, true, 1000).is_some());
    let rounds_down: Ours = |a, b| a.div_euclid(b);
    assert!(differs(rounds_down, |a, b| a / b, true, 1000).is_some());
    // This sum has no carry from the second word to the third.
    let loses_a_carry: Ours = |a, b| {
        let low = |x: &IBig| x.rem_euclid(IBig::ONE << 128_usize);
        let high = (a >> 128_usize) + (b >> 128_usize);
        (high << 128_usize) + IBig::from((low(a) + low(b)) % (UBig::ONE << 128_usize))
    };
    assert!(differs(loses_a_carry, |a, b| a + b, false, 1000).is_some());
    let shifts_toward_zero: Ours = |a, b| a / (IBig::ONE << places(b));
    assert!(differs(shifts_toward_zero, |a, b| a >> their_places(b), false, 1000).is_some());
}
#[test]
fn a_negative_fraction_keeps_its_sign_when_it_is_divided() {
    // Each case is a fraction that is divided by an integer, such as (-2/3) / 4. The quotient is
    // always -1/6. The minus sign is in the numerator, in the denominator, in the divisor, or in
    // all three. The test reduces the quotient to lowest terms, and compares it with -1/6 by cross
    // multiplication.
    for (numerator, denominator, divisor) in [(-2, 3, 4), (2, -3, 4), (2, 3, -4), (-2, -3, -4)] {
        let numerator = IBig::from(numerator);
        let denominator = IBig::from(denominator) * IBig::from(divisor);
        let common = IBig::from((&numerator).gcd(&denominator));
        let (a, b) = (numerator / &common, denominator / &common);
        assert_eq!(&a * IBig::from(6), -&b);
        assert_eq!(a.unsigned_abs(), UBig::ONE);
    }
    let (minus, three) = (IBig::from(-2), IBig::from(3));
    assert_eq!((&minus / &three, &minus % &three), (IBig::ZERO, minus.clone()));
    assert_eq!((&minus).div_rem_euclid(&three), (IBig::from(-1), UBig::ONE));
    assert_eq!(&minus >> 5_usize, IBig::from(-1));
    assert_eq!(minus.cmp(&three), Ordering::Less);
}
