use proptest::prelude::*;

use super::*;

fn exact(text: &str) -> Exact {
    text.parse().unwrap()
}
fn float(value: f64) -> Exact {
    Exact::from_f64(value).unwrap()
}

#[test]
fn reads_text_for_exactly_what_it_says() {
    assert_eq!(exact("0.5"), float(0.5));
    assert_eq!(exact("12.50e-1"), float(1.25));
    assert_eq!(exact("1e3"), float(1000.0));
    assert_eq!(exact(".5"), exact("5.E-1"));
    assert!(exact("0.1") < float(0.1) && float(0.3) < exact("0.3"));
    for bad in
        ["", ".", "-1", "+1", "1e", "e1", "1e+-1", "0x1", "NaN", "inf", "1_0", " 1", "1e9999"]
    {
        assert_eq!(bad.parse::<Exact>().unwrap_err().kind(), "InvalidDistance", "{bad}");
    }
    for bad in ["1/0", "1/-3", "/", "1/", "1/2/3"] {
        assert_eq!(bad.parse::<Exact>().unwrap_err().kind(), "InvalidDistance", "{bad}");
    }
    for long in [&*"9".repeat(MOST_CHARACTERS + 1), "1e9999", "1e-9999", "1e99999999999999999999"] {
        let error = long.parse::<Exact>().unwrap_err().to_string();
        assert!(error.contains("too long: expected at most 4096 digits"), "{error}");
    }
}
#[test]
fn writes_exactly_what_it_reads() {
    for (text, written) in [
        ("0.10", "0.1"),
        ("1e-6", "0.000001"),
        ("2/6", "1/3"),
        ("25e-1", "2.5"),
        ("12E2", "1200"),
        ("3/8", "0.375"),
        ("0.000", "0"),
    ] {
        assert_eq!(exact(text).to_string(), written);
    }
    for value in [5e-324, f64::MAX, f64::MIN_POSITIVE, 0.1] {
        assert_eq!(exact(&float(value).to_string()), float(value));
    }
    assert_eq!(Exact::INFINITY.to_string(), "inf");
    assert_eq!(exact("1/3").half_square(), exact("1/18"));
}
#[test]
fn shows_few_digits_on_the_safe_side() {
    assert_eq!(exact("1/3").show(false), "1/3");
    let shown = (float(0.1).show(true), float(0.1).show(false));
    assert_eq!(shown, ("0.100000000001...".into(), "0.1...".into()));
}
#[test]
fn every_order_of_tenths_sums_to_one() {
    let tenths = ["0.1", "0.2", "0.3", "0.4"].map(exact);
    let whole = float(1.0);
    let mut orders = 0;
    for code in 0..256_usize {
        let order = [code % 4, code / 4 % 4, code / 16 % 4, code / 64];
        if (0..4).all(|i| order.contains(&i)) {
            orders += 1;
            let sum = order.iter().fold(Exact::ZERO, |sum, i| sum.plus_term(&tenths[*i]));
            assert_eq!(sum, whole);
            // The control: if the terms are floats, their sum is not exactly 1.
            let floats = order
                .iter()
                .fold(Exact::ZERO, |sum, i| sum.plus_term(&float(tenths[*i].to_f64_up())));
            assert_ne!(floats, whole);
        }
    }
    assert_eq!(orders, 24);
}
#[test]
fn a_written_bound_is_never_below_the_float_nor_the_decimal() {
    for value in [0.1, 0.3, 1.0, 1e-300, 5e-324, f64::MAX, 2.0 / 3.0, 1e16, 0.0] {
        let bound = Exact::written(value).unwrap();
        let decimal: Exact = format!("{value:e}").parse().unwrap();
        assert!(float(value) <= bound && decimal <= bound, "{value}");
        assert!(bound == float(value) || bound == decimal);
        assert!(bound.to_f64_up() <= value.next_up());
    }
    assert_eq!(Exact::decimal(0.1).unwrap(), exact("0.1"));
    assert_eq!(Exact::decimal(0.3).unwrap(), exact("0.3"));
    assert_eq!(Exact::decimal(f64::INFINITY).unwrap(), Exact::INFINITY);
    assert_eq!(Exact::written(0.1).unwrap(), float(0.1));
    assert_eq!(Exact::written(0.3).unwrap(), exact("0.3"));
    assert_eq!(Exact::written(f64::INFINITY).unwrap(), Exact::INFINITY);
    for bad in [f64::NAN, -1.0] {
        assert_eq!(Exact::written(bad).unwrap_err().kind(), "InvalidDistance");
        assert_eq!(Exact::decimal(bad).unwrap_err().kind(), "InvalidDistance");
    }
}
#[test]
fn rounds_to_the_closest_float_on_either_side() {
    let third = float(1.0).over(&float(3.0));
    assert_eq!(third.plus(&third).plus(&third), float(1.0));
    assert_eq!(third.to_f64_down().next_up(), third.to_f64_up());
    assert_eq!(exact("1e400").to_f64_up(), f64::INFINITY);
    assert_eq!(exact("1e400").to_f64_down(), f64::MAX);
    assert_eq!(Exact::INFINITY.to_f64_down(), f64::INFINITY);
}
#[test]
fn treats_infinity_and_nothing_on_the_safe_side() {
    let (zero, unit, infinity) = (Exact::ZERO, float(1.0), Exact::INFINITY);
    assert_eq!(infinity.minus(&infinity), infinity);
    assert_eq!(unit.minus(&infinity), zero);
    assert_eq!(unit.minus(&float(2.0)), zero);
    assert_eq!(zero.over(&zero), zero);
    assert_eq!(unit.over(&zero), infinity);
    assert_eq!(infinity.over(&unit), infinity);
    assert_eq!(zero.times(&infinity), infinity);
    assert!(unit < infinity && zero.is_zero() && !infinity.is_zero());
}
#[test]
fn a_running_total_does_not_grow_and_is_never_too_small() {
    let (mut total, mut sum) = (Exact::ZERO, Exact::ZERO);
    for i in 0..400_u32 {
        let term = float(1.0).over(&float(f64::from(2 * i + 1)));
        total = total.plus_term(&term);
        sum = sum.plus(&term);
    }
    assert!(sum <= total && total.to_f64_down() <= sum.to_f64_up() + 1e-12);
    assert!(total.0.as_ref().unwrap().odd.bit_len() <= MOST_BITS);
    // The control: without the limit, the odd part of the denominator has more than `MOST_BITS`
    // bits.
    assert!(MOST_BITS < sum.0.unwrap().odd.bit_len());
}

proptest! {
    #[test]
    fn agrees_with_integers_over_a_common_denominator(
        a in 0_u64..1_000_000, b in 1_u64..1000, c in 0_u64..1_000_000, d in 1_u64..1000,
    ) {
        let whole = |x: u64| float(x as f64);
        let (x, y) = (whole(a).over(&whole(b)), whole(c).over(&whole(d)));
        prop_assert_eq!(x.plus(&y).times(&whole(b * d)), whole(a * d + c * b));
        prop_assert_eq!(x.cmp(&y), (a * d).cmp(&(c * b)));
        prop_assert_eq!(x.times(&y).times(&whole(b * d)), whole(a).times(&whole(c)));
        let difference = whole((a * d).saturating_sub(c * b));
        prop_assert_eq!(x.minus(&y).times(&whole(b * d)), difference);
        prop_assert!(float(x.to_f64_down()) <= x && x <= float(x.to_f64_up()));
    }
    #[test]
    fn sums_and_orders_of_fractions_with_one_odd_part(
        bits in 0_u64..0x7ff << 52, other in 0_u64..0x7ff << 52, shift in 0_u64..3,
    ) {
        for other in [other, bits + shift, 0] {
            let (a, b) = (f64::from_bits(bits), f64::from_bits(other));
            prop_assume!(b.is_finite());
            for divisor in [1.0, 3.0] {
                let (x, y) = (float(a).over(&float(divisor)), float(b).over(&float(divisor)));
                prop_assert_eq!(x.cmp(&y), a.total_cmp(&b));
                let sum = x.plus(&y);
                prop_assert_eq!((sum.minus(&x), sum.minus(&y)), (y, x));
            }
        }
    }
}
#[test]
fn a_running_total_can_be_read_again() {
    // The number `tiny` is 2^-13000. Its text has fewer than 4096 characters. The text of the exact
    // sum of `tiny` and 0.0001 has more than 4096 characters.
    let tiny = (0..13).fold(exact("1"), |product, _| product.times(&float(2f64.powi(-1000))));
    assert!(tiny.to_string().len() < 4096);
    for total in [Exact::ZERO.plus_term(&tiny), exact("0.0001").plus_term(&tiny)] {
        assert_eq!(exact(&total.to_string()), total);
    }
    // The denominator of `tiny` has more than 1100 factors of 2. So the term is rounded up to the
    // smallest positive float.
    assert_eq!(Exact::ZERO.plus_term(&tiny), float(5e-324));
    // The control: the exact sum is too long to read.
    assert!(exact("0.0001").plus(&tiny).to_string().parse::<Exact>().is_err());
}
#[test]
fn a_running_total_does_not_depend_on_whether_it_was_read_again() {
    let scales = [
        467, 103, 394, 217, 277, 431, 404, 145, 335, 221, 358, 141, 276, 77, 172, 204, 409, 302,
        421,
    ];
    let (mut kept, mut read, mut rounded) = (Exact::ZERO, Exact::ZERO, false);
    let mut sum = Exact::ZERO;
    for scale in scales.into_iter().chain(500..600) {
        let rho = float(1.0).over(&float(scale.into())).half_square();
        kept = kept.plus_term(&rho);
        read = exact(&read.plus_term(&rho).to_string());
        sum = sum.plus(&rho);
        rounded |= sum < kept;
        assert_eq!(kept, read, "{scale}");
    }
    // The control: at least one term was rounded.
    assert!(rounded);
}
#[test]
fn a_running_total_does_not_depend_on_whether_a_term_was_read_again() {
    // After a reduction by one factor of 2, the denominator of the term has 1100 factors of 2.
    let half = float(1.0).over(&float(2f64.powi(1000))).over(&float(2f64.powi(101)));
    let (term, total) = (half.plus(&half), float(1.0));
    assert_eq!(total.plus_term(&term), total.plus_term(&exact(&term.to_string())));
    // The control: `half`, whose denominator has 1101 factors of 2, is rounded.
    assert_ne!(total.plus_term(&half), total.plus(&half));
}
