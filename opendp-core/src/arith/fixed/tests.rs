use proptest::prelude::*;

use super::*;

// Each text has the digits of one number: the integer part, and then the first 70 decimals,
// truncated.
const LN_2: &str = "06931471805599453094172321214581765680755001343602552541206800094933936";
const LN_10: &str = "23025850929940456840179914546843642076011014886287729760333279009675726";
const E: &str = "27182818284590452353602874713526624977572470936999595749669676277240766";
const INVERSE_E: &str = "03678794411714423215955237701614608674458111310317678345078368016974614";

fn contains(digits: &str, lo: &IBig, hi: &IBig, bits: usize) -> bool {
    let value: IBig = digits.parse().unwrap();
    let scale = IBig::from(10).pow(70);
    lo * &scale <= (&value + IBig::ONE) << bits && hi * scale >= value << bits
}

fn signed((lo, hi): (UBig, UBig)) -> (IBig, IBig) {
    (lo.into(), hi.into())
}

#[test]
fn encloses_known_digits() {
    for bits in [0, 1, 10, 64, 128, 200, 255] {
        for (digits, (lo, hi)) in [
            (LN_2, ln(&UBig::from(2u8), 0, bits)),
            (LN_2, ln(&UBig::ONE, 1, bits)),
            (LN_10, ln(&UBig::from(10u8), 0, bits)),
            (LN_10, ln(&(UBig::from(10u8) << 2000usize), -2000, bits)),
            (E, signed(exp(&IBig::ONE, 0, bits))),
            (E, signed(exp(&(IBig::ONE << 900usize), 900, bits))),
            (INVERSE_E, signed(exp(&-IBig::ONE, 0, bits))),
        ] {
            assert!(contains(digits, &lo, &hi, bits), "{digits} at {bits}: {lo} {hi}");
            assert!(hi - lo <= IBig::from(2));
        }
    }
}

#[test]
fn is_exact_at_the_exact_points() {
    assert_eq!(ln(&UBig::ONE, 0, 99), (IBig::ZERO, IBig::ZERO));
    assert_eq!(ln(&(UBig::ONE << 5000usize), -5000, 99), (IBig::ZERO, IBig::ZERO));
    assert_eq!(exp(&IBig::ZERO, 7, 99), (UBig::ONE << 99usize, UBig::ONE << 99usize));
}

#[test]
fn takes_extreme_arguments() {
    let (lo, hi) = ln(&UBig::from(3u8), -100_000, 128);
    let expected = (3f64.ln() - 100_000.0 * 2f64.ln()) * 2f64.powi(64);
    assert!(((lo >> 64usize).to_f64().value() / expected - 1.0).abs() < 1e-15);
    assert!(((hi >> 64usize).to_f64().value() / expected - 1.0).abs() < 1e-15);
    assert_eq!(exp(&IBig::from(-1_000_000), 0, 256), (UBig::ZERO, UBig::ONE));
    let (lo, hi) = exp(&IBig::from(5000), 0, 0);
    assert_eq!(lo.bit_len(), 7214);
    assert!(hi - lo <= UBig::from(2u8));
}

#[test]
fn is_certain_that_a_logarithm_just_below_one_is_negative() {
    let (lo, hi) = ln(&UBig::ones(1000), -1000, 1100);
    assert!(hi < IBig::ZERO && lo > -(IBig::ONE << 101usize));
}

#[test]
fn multiples_of_ln_2_stay_enclosed() {
    let fine = IBig::from(ln_centre(STEPS, 400));
    for (k, end) in [1, -1, 999, -999].into_iter().zip([&fine + 2, fine.clone()].iter().cycle()) {
        let (lo, hi) = scaled_ln_2(k, 64);
        assert!(lo << 336usize <= end * k && end * k <= hi << 336usize);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn agrees_with_float_logarithms(x in 1e-300f64..1e300, y in 0.1f64..10.0) {
        for x in [x, y] {
            let bits = x.to_bits();
            let mantissa = UBig::from((bits & ((1 << 52) - 1)) | (1 << 52));
            let (lo, hi) = ln(&mantissa, (bits >> 52) as i64 - 1075, 160);
            let scale = 2f64.powi(-160);
            let reference = x.ln();
            let slack = 4.0 * f64::EPSILON * reference.abs();
            prop_assert!(lo.to_f64().value() * scale - reference <= slack);
            prop_assert!(reference - hi.to_f64().value() * scale <= slack);
        }
    }

    #[test]
    fn agrees_with_float_exponentials(n in -700_000i64..700_000) {
        let (lo, hi, k) = exp_scaled(&IBig::from(n * 1024), 20, 100);
        let reference = (n as f64 / 1024.0).exp() * 2f64.powi(-k as i32);
        let slack = 4.0 * f64::EPSILON * reference;
        prop_assert!(lo.to_f64().value() * 2f64.powi(-100) - reference <= slack);
        prop_assert!(reference - hi.to_f64().value() * 2f64.powi(-100) <= slack);
    }

    #[test]
    fn enclosures_nest_as_precision_grows(
        mantissa in 1u128.., exponent in -300i64..300, wide in 0usize..500, drop in 1usize..400,
    ) {
        let (bits, coarse) = (wide.max(drop), wide.max(drop) - drop);
        let mantissa = UBig::from(mantissa);
        let fine = ln(&mantissa, exponent, bits);
        let (lo, hi) = ln(&mantissa, exponent, coarse);
        prop_assert!(lo.clone() << drop <= fine.1 && fine.0 <= hi.clone() << drop);
        prop_assert!(hi - lo <= IBig::from(2) && fine.1 >= fine.0);

        let x = IBig::from(mantissa) * if drop % 2 == 0 { 1 } else { -1 };
        let fine = exp(&x, 120, bits);
        let (lo, hi) = exp(&x, 120, coarse);
        prop_assert!(lo.clone() << drop <= fine.1 && fine.0 <= hi.clone() << drop);
        prop_assert!(hi - lo <= UBig::from(2u8) && fine.1 >= fine.0);
    }

    #[test]
    fn exponential_inverts_the_logarithm(mantissa in 1u128.., bits in 100usize..700) {
        let (lo, hi) = ln(&UBig::from(mantissa), -64, bits);
        let below = exp(&lo, bits, 64).0;
        let above = exp(&hi, bits, 64).1;
        let mantissa = UBig::from(mantissa);
        prop_assert!(below <= mantissa && mantissa <= above);
        prop_assert!(above - below <= UBig::from(3u8) + (UBig::ONE << 131usize >> bits));
    }
}
