use dashu_int::IBig;
use opendp_core::Ledger;
use opendp_core::random::Tape;

use super::*;

/// Write a probability as an exact fraction.
fn fraction(prob: f64) -> (IBig, IBig) {
    let parts = Dyadic::new(prob);
    (parts.mantissa.into(), IBig::ONE << parts.exponent.unsigned_abs() as usize)
}
/// Compute `k (k - 1) D` times the exact probability of each release. `k` is the number of
/// categories, and `D` is the denominator of `prob`.
fn probabilities(truth: Option<u64>, count: u64, prob: f64) -> Vec<IBig> {
    let (m, d) = fraction(prob);
    let (k, others) = (IBig::from(count), IBig::from(count - 1));
    (0..count)
        .map(|index| match truth {
            None => &others * &d,
            Some(truth) if truth == index => &k * &others * &m,
            Some(_) => &k * (&d - &m),
        })
        .collect()
}
/// Check that `ln(a / b) <= bound`, with a precision of 300 bits.
fn is_within(a: &IBig, b: &IBig, bound: f64) -> bool {
    let ln = |n: &IBig| fixed::ln(&n.clone().into_parts().1, 0, 300);
    let difference = ln(a).1 - ln(b).0;
    let parts = Dyadic::new(bound);
    let shifted = IBig::from(parts.mantissa) << (parts.exponent + 1074) as usize;
    difference << (1074 - 300) <= shifted
}
/// Check for each pair of inputs and each release that the loss is at most the bound. Each loss is
/// computed from exact probabilities.
fn covers(count: u64, prob: f64, bound: f64) -> bool {
    let data = (0..count).map(Some).chain([None]);
    let all: Vec<_> = data.map(|truth| probabilities(truth, count, prob)).collect();
    let mut pairs = all.iter().flat_map(|first| all.iter().map(move |second| (first, second)));
    pairs.all(|(first, second)| {
        first.iter().zip(second).all(|(p, q)| p == q || is_within(p, q, bound))
    })
}
fn numbers(count: u64) -> Vec<u64> {
    (0..count).collect()
}

#[test]
fn no_ratio_of_exact_probabilities_exceeds_the_map_and_one_nearly_reaches_it() {
    for (count, prob) in [
        (2, 0.5_f64.next_up()),
        (2, 0.51),
        (2, 0.75),
        (2, 0.9),
        (2, 1.0_f64.next_down()),
        (3, 1.0 / 3.0), // the float is below one third
        (3, 0.4),
        (4, 0.75),
        (5, 0.2), // the float is above one fifth
        (7, 0.99),
        (49, 1.0 / 49.0),
    ] {
        let bound = loss(prob, count).unwrap().to_f64_up();
        assert!(covers(count, prob, bound), "{count} {prob}: {bound} is too low");
        let less = bound * (1.0 - 4.0 * f64::EPSILON);
        assert!(!covers(count, prob, less), "{count} {prob}: {bound} is loose");
    }
}
#[test]
fn gives_the_losses_of_the_test_vectors_or_tighter_ones() {
    let losses = [0.0, 0.040005334613699206, 1.0986122886681098, 2.19722457733622, f64::INFINITY];
    for (prob, expected) in [0.5, 0.51, 0.75, 0.9, 1.0].into_iter().zip(losses) {
        let response = make_randomized_response_bool(prob, false).unwrap();
        let loss = response.map(&1).unwrap();
        assert!(loss <= expected, "{prob}: {loss}");
        assert!(expected.is_infinite() || expected - loss <= 1e-15, "{prob}: {loss}");
        assert_eq!(response.map(&0), Ok(0.0));
        assert_eq!(response.map(&2), Ok(loss));
    }
    let four = make_randomized_response(numbers(4), 0.75).unwrap();
    assert_eq!(four.map(&1), Ok(2.1972245773362196));
    let five = make_randomized_response(numbers(5), 0.2).unwrap().map(&1).unwrap();
    assert!(0.0 < five && five <= 2.220446049250313e-16, "{five}");
    assert_eq!(make_randomized_response(numbers(4), 0.25).unwrap().map(&1), Ok(0.0));
}
#[test]
fn a_budget_of_ten_losses_has_room_for_ten_releases() {
    let fits = |charge: &[Exact], budget: f64| {
        let mut ledger = Ledger::with_budget(MaxDivergence, &budget).unwrap();
        (0..10).all(|_| ledger.charge(charge).is_ok())
    };
    let mut refused = 0;
    for place in 1..40 {
        let prob = 0.5 + f64::from(place) / 80.0;
        let response = make_randomized_response_bool(prob, false).unwrap();
        // Ten times the exact loss is not a float. The budget is the least float above this
        // product. So the budget allows ten releases.
        let exact = response.exact_map(&1).unwrap();
        let budget = exact[0].times(&"10".parse().unwrap()).to_f64_up();
        assert!(fits(&exact, budget), "{prob}");
        assert!(!fits(&exact, budget * 0.999_999_999_999), "{prob}");
        // The control: round each loss up to a float. Then, for some probabilities, the sum of ten
        // losses exceeds this budget.
        let float = [Exact::from_f64(response.map(&1).unwrap()).unwrap()];
        refused += i32::from(!fits(&float, budget));
        assert!(response.exact_map(&0).unwrap()[0].is_zero());
    }
    assert!(0 < refused);
}
#[test]
fn all_tapes_together_bracket_the_probability_of_every_category() {
    let length = 14;
    let brackets = |truth, count: u64, prob, claimed: f64| {
        let (mut counts, mut open) = (vec![0_u64; count as usize], 0_u64);
        for number in 0..1 << length {
            match tell(truth, count, prob, &mut Tape::<1>::from_bits(number, length)) {
                Ok(told) => counts[told as usize] += 1,
                Err(NoEntropy) => open += 1,
            }
        }
        let whole = f64::from(1 << length);
        // Few tapes (sequences of random words) end before the result is decided. With more words,
        // such a tape could give any result.
        assert!((open as f64) < whole / 20.0, "{open} are open");
        (0..count).zip(counts).all(|(index, told)| {
            let likely = match truth {
                None => 1.0 / count as f64,
                Some(truth) if truth == index => claimed,
                Some(_) => (1.0 - claimed) / (count - 1) as f64,
            };
            told as f64 <= likely * whole + 1e-9 && likely * whole <= (told + open) as f64 + 1e-9
        })
    };
    for (count, prob) in [(2, 0.75), (3, 0.5), (4, 0.625), (5, 0.875)] {
        for truth in (0..count).map(Some).chain([None]) {
            assert!(brackets(truth, count, prob, prob), "{truth:?} of {count} at {prob}");
        }
        assert!(!brackets(Some(0), count, prob, prob - 0.07), "a lie goes unnoticed");
    }
}
#[test]
fn the_answer_is_true_as_often_as_claimed_in_constant_time_too() {
    let draws = 100_000;
    for constant_time in [false, true] {
        let response = make_randomized_response_bool(0.75, constant_time).unwrap();
        for truth in [false, true] {
            let honest = (0..draws).filter(|_| response.invoke(&truth) == Ok(truth)).count();
            // The tolerance 1096 is eight standard deviations of the count. So the assertion fails
            // by chance with a probability of about 1e-15.
            assert!(honest.abs_diff(75_000) < 1096, "{truth}: {honest}");
        }
        let certain = make_randomized_response_bool(1.0, constant_time).unwrap();
        assert_eq!([false, true].map(|x| certain.invoke(&x)), [Ok(false), Ok(true)]);
    }
}
#[test]
fn a_value_outside_of_the_categories_is_told_as_any_of_them() {
    let response = make_randomized_response(vec![10, 20, 30], 1.0).unwrap();
    let mut counts = [0_i32; 3];
    for _ in 0..30_000 {
        counts[(response.invoke(&7).unwrap() / 10 - 1) as usize] += 1;
    }
    // The tolerance 654 is eight standard deviations of each count.
    assert!(counts.iter().all(|count| (count - 10_000).abs() < 654), "{counts:?}");
    assert_eq!([10, 20, 30].map(|x| response.invoke(&x)), [Ok(10), Ok(20), Ok(30)]);
}
#[test]
fn refuses_probabilities_out_of_range_and_categories_that_are_no_choice() {
    for prob in [0.5_f64.next_down(), 1.0_f64.next_up(), -1.0, f64::NAN, f64::INFINITY] {
        let error = make_randomized_response_bool(prob, false).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        assert!(error.to_string().contains("prob: expected a number from 1/2 to 1"), "{error}");
    }
    let kind = |categories, prob| make_randomized_response(categories, prob).map_err(|e| e.kind());
    assert_eq!(kind(numbers(3), 0.33).unwrap_err(), "MakeMeasurement");
    assert_eq!(kind(numbers(1), 1.0).unwrap_err(), "MakeMeasurement");
    assert_eq!(kind(Vec::new(), 1.0).unwrap_err(), "MakeMeasurement");
    let error = make_randomized_response(vec!["a".to_owned(); 2], 0.9).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
    assert!(error.to_string().contains("twice"), "{error}");
}
#[test]
fn the_truth_costs_everything() {
    assert_eq!(make_randomized_response_bool(1.0, false).unwrap().map(&1), Ok(f64::INFINITY));
    let told = make_randomized_response(vec![1, 2, 3], 1.0).unwrap();
    assert_eq!((told.map(&1), told.map(&0)), (Ok(f64::INFINITY), Ok(0.0)));
}
