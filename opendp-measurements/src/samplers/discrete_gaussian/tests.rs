use super::*;
use crate::samplers::tests::short_tapes::check_ends;
use opendp_core::random::{Failing, Seeded, Tape};

#[test]
fn sigma_zero_draws_nothing() {
    let mut source = Failing::default();
    assert_eq!(discrete_gaussian(0.0, &mut source), Ok((false, 0)));
    assert_eq!(discrete_gaussian(-0.0, &mut source), Ok((false, 0)));
    assert_eq!(source.attempts(), 0);
}

#[test]
fn a_failing_source_is_reported_at_every_word() {
    assert_eq!(discrete_gaussian(1.0, &mut Failing::default()), Err(NoEntropy));
    for sigma in [5e-324, 0.1, 1.0, 1e12, 1e300] {
        check_ends(5, |tape: &mut Tape<4>| discrete_gaussian(sigma, tape));
    }
}

#[test]
fn a_tiny_sigma_gives_zero_and_a_huge_one_saturates() {
    let mut source = Seeded::<64>::new(1);
    for sigma in [5e-324, f64::MIN_POSITIVE, 1e-160, 0.02] {
        for _ in 0..200 {
            assert_eq!(discrete_gaussian(sigma, &mut source), Ok((false, 0)));
        }
    }
    for _ in 0..20 {
        assert_eq!(discrete_gaussian(f64::MAX, &mut source).unwrap().1, u128::MAX);
    }
    for sigma in [FAST_LIMIT.next_down(), FAST_LIMIT, 1e30] {
        let (_, magnitude) = discrete_gaussian(sigma, &mut source).unwrap();
        assert!(magnitude < (8.0 * sigma) as u128);
    }
}

#[test]
fn senseless_sigmas_add_much_noise_and_return() {
    let mut source = Seeded::<64>::new(2);
    for sigma in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(discrete_gaussian(sigma, &mut source).unwrap().1, u128::MAX);
    }
    let nonzero = (0..100).filter(|_| discrete_gaussian(-1e9, &mut source).unwrap().1 > 0);
    assert!(nonzero.count() > 90);
}

#[test]
fn the_float_bounds_enclose_the_exact_exponent() {
    let mut source = Seeded::<64>::new(3);
    let scaled = |x: f64| {
        // Compute 2^2200 x, for comparison with an exact ratio.
        let parts = Dyadic::new(x);
        let m = IBig::from(parts.signed_mantissa());
        m << usize::try_from(parts.exponent + 2200).unwrap()
    };
    for sigma in [
        5e-324,
        1e-160,
        0.01,
        0.5,
        0.7,
        1.0_f64.next_down(),
        1.0,
        1.0_f64.next_up(),
        1.5,
        10.0,
        1e6,
        1e15,
    ] {
        for case in 0..400 {
            let y = match case {
                0..5 => case,
                5..9 => sigma as u64 + case - 5,
                _ => source.word().unwrap() >> (11 + case % 53),
            };
            let (lower, upper) = exponent_bounds(sigma, y as f64);
            let (numerator, denominator) = exponent_ratio(sigma, &UBig::from(y));
            let (exact, denominator) =
                (IBig::from(numerator) << 2200_usize, IBig::from(denominator));
            if lower.is_finite() {
                assert!(scaled(lower) * &denominator <= exact, "{sigma} {y}");
            } else {
                assert!(exact > (denominator.clone() << 3200_usize));
            }
            assert!(!upper.is_finite() || exact <= scaled(upper) * denominator, "{sigma} {y}");
            assert!(!upper.is_finite() || upper - lower <= 1e-14 * upper + 1e-300);
        }
    }
}

#[test]
fn float_and_integer_decisions_agree_on_the_same_digit() {
    let mut source = Seeded::<64>::new(4);
    let mut accepted = 0;
    for sigma in [0.3, 1.0, 77.7, 1e6, 1e10] {
        for _ in 0..1000 {
            let y = discrete_laplace(f64::max(sigma, 1.0), &mut source).unwrap().1;
            let digit = source.word().unwrap();
            let e = LazyExponential::from_first(digit, 64);
            let exact = exact_accept(sigma, &UBig::from(y), e, &mut Tape::<64>::new(vec![0; 4]));
            let fast = accept_candidate(sigma, &UBig::from(y), &mut Tape::<64>::new(vec![digit]));
            assert!(fast == exact || fast == Err(NoEntropy));
            accepted += u32::from(fast == Ok(true));
        }
    }
    assert!((3000..4000).contains(&accepted), "{accepted}");
}

#[test]
fn the_fixed_and_the_exact_rounding_agree_on_the_same_digits() {
    for (sigma, strips) in [
        (1.0, &ROUNDED[2]),
        (4.5, &ROUNDED[1]),
        (16.0, &ROUNDED[0]),
        (1e6, &ROUNDED[0]),
        (FAST_LIMIT.next_down(), &ROUNDED[0]),
    ] {
        let mut source = Seeded::<64>::new(6);
        let mut agreed = 0;
        for _ in 0..400 {
            let words = [source.word().unwrap(), source.word().unwrap()];
            let mut tape = Tape::<64>::new(words.to_vec());
            let Ok((negative, magnitude)) = rounded(sigma, strips, &mut tape) else { continue };
            let mut tape = Tape::<64>::new(words.to_vec());
            let pick = strips.pick(&mut tape).unwrap();
            let digit = tape.word().unwrap();
            let mut zeros = Tape::<64>::new(vec![0; 20]);
            let exact = exactly_rounded(sigma, strips, &pick, digit, &mut zeros).unwrap();
            assert_eq!((negative, exact), (pick.negative, Some(UBig::from(magnitude))));
            agreed += 1;
        }
        assert!(agreed > 250, "{agreed}");
    }
}

#[test]
fn a_candidate_at_the_centre_is_always_accepted() {
    // The uniform variable U is just below 1, so E = -ln U is just above 0. At the centre, y equals
    // sigma, and the exponent is 0. So every E accepts the candidate.
    for sigma in [1.0, 7.0, 1e6] {
        let y = sigma as u128;
        let accepted =
            accept_candidate(sigma, &UBig::from(y), &mut Tape::<64>::new(vec![u64::MAX]));
        assert_eq!(accepted, Ok(true));
    }
}

#[test]
fn a_first_digit_of_zero_decides_nothing() {
    // The exponent exceeds all floats, and the first digit 0 gives no upper bound of E. So a second
    // digit is drawn.
    for sigma in [1e-160, 1e-300, f64::MIN_POSITIVE] {
        let decide = |digits: Vec<u64>| {
            let mut tape = Tape::<64>::new(digits);
            (accept_candidate(sigma, &UBig::ONE, &mut tape), tape.used())
        };
        assert_eq!(decide(vec![0]).0, Err(NoEntropy));
        assert_eq!(decide(vec![0, 1]), (Ok(false), 2));
    }
}
