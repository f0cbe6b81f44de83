use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opendp_core::random::uniform_below;
use opendp_core::{AbsoluteDistance, AtomDomain, Space, ZeroConcentratedDivergence};

use super::*;
use crate::samplers::tests::chi_square::chi_square;
use crate::{Scale, make_laplace};

type Numbers = AtomDomain<i32>;
type Scored<MO> = Measurement<Numbers, AbsoluteDistance<i32>, MO, (f64, i32)>;

fn numbers() -> Space<Numbers, AbsoluteDistance<i32>> {
    Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap()
}
/// A round gives one of four scores: NaN, a low score, and two scores that pass. The probability of
/// a score is its count divided by 64. The two lists of counts are for two neighbours. For each
/// score, the two counts differ by a factor of at most 2.
const COUNTS: [[u64; 4]; 2] = [[24, 24, 2, 14], [18, 17, 1, 28]];
const SCORES: [f64; 4] = [f64::NAN, 1.0, 2.0, f64::INFINITY];

fn round<MO: Measure<Distance: Clone>>(measure: MO, loss: MO::Distance) -> Scored<MO> {
    let function = Function::map(|x: &i32| {
        let mut place = with_secure(|source| uniform_below(64, source))?;
        for (count, label) in COUNTS[usize::from(*x == 1)].iter().zip(0..) {
            match place.checked_sub(*count) {
                Some(rest) => place = rest,
                None => return Ok((SCORES[label], label as i32)),
            }
        }
        Err(Error::FailedFunction("more than 64".into()))
    });
    Measurement::new(numbers(), measure, function, PrivacyMap::new(move |_| Ok(loss.clone())))
}
/// Compute the probability of each release whose score passes. The last entry of the result is the
/// probability of the empty release. `round` lists the probabilities of the scores in one round,
/// and the last `passing` of these scores pass. The probabilities are summed over the rounds. After
/// a failed round, another round follows with probability `goes_on`.
fn law(round: &[f64], passing: usize, goes_on: f64) -> Vec<f64> {
    let (fails, passes) = round.split_at(round.len() - passing);
    let fail: f64 = fails.iter().sum();
    let mut law = vec![0.0; passing + 1];
    let mut reached = 1.0;
    while 1e-18 < reached {
        for (total, p) in law.iter_mut().zip(passes) {
            *total += reached * p;
        }
        law[passing] += reached * fail * (1.0 - goes_on);
        reached *= fail * goes_on;
    }
    law
}
fn of_64(counts: [u64; 4]) -> Vec<f64> {
    counts.iter().map(|count| *count as f64 / 64.0).collect()
}
/// Compute the probability with which another round follows in OpenDP. This probability is wrong.
/// OpenDP draws the number of rounds by a function that expects a scale, but passes a rate to this
/// function.
fn inverted(g: f64) -> f64 {
    (1.0 / (1.0 - g).ln()).exp()
}

#[test]
fn has_the_law_that_rounds_add_up_to_and_not_that_of_an_inverted_rate() {
    let draws = 100_000;
    for (x, g) in [(0, 0.01), (1, 0.1), (0, 0.5), (1, 1.0)] {
        let select = make_select_private_candidate(round(MaxDivergence, 1.0), g, 2.0).unwrap();
        let mut counts = [0; 3];
        for _ in 0..draws {
            match select.invoke(&x).unwrap() {
                Some((_, label)) => counts[label as usize - 2] += 1,
                None => counts[2] += 1,
            }
        }
        let fit = |goes_on: f64| {
            let law = law(&of_64(COUNTS[x as usize]), 2, goes_on);
            chi_square(&counts, &law.iter().map(|p| p * f64::from(draws)).collect::<Vec<_>>())
        };
        assert!(fit(1.0 - g) < 1.0, "{x} {g}");
        assert!(g == 1.0 || 1.0 < fit(inverted(g)), "{x} {g}: the inverted rate goes unnoticed");
    }
}
#[test]
fn gives_up_after_as_many_rounds_as_it_says() {
    let draws = 20_000;
    for g in [0.02, 0.1, 0.3, 0.5, 0.9] {
        let rounds = Arc::new(AtomicU64::new(0));
        let counter = rounds.clone();
        let function = Function::map(move |_: &i32| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok((f64::NAN, 0))
        });
        let never =
            Measurement::new(numbers(), MaxDivergence, function, PrivacyMap::new(|_| Ok(0.0)));
        let select = make_select_private_candidate(never, g, f64::MIN).unwrap();
        for _ in 0..draws {
            assert_eq!(select.invoke(&0).unwrap(), None);
        }
        let mean = rounds.load(Ordering::Relaxed) as f64 / f64::from(draws);
        let deviations = |expected: f64| {
            (mean - expected).abs() * g * f64::from(draws).sqrt() / (1.0 - g).sqrt()
        };
        // The first assertion fails by chance with a probability below 1e-14. The control is at
        // least 69 standard deviations away.
        assert!(deviations(1.0 / g) < 8.0, "{g}: {mean}");
        assert!(8.0 < deviations(1.0 / (1.0 - inverted(g))), "{g}: {mean}");
    }
}
#[test]
fn the_map_bounds_the_exact_divergence_and_half_of_it_does_not() {
    let worst = |g: f64| {
        let laws = COUNTS.map(|counts| law(&of_64(counts), 2, 1.0 - g));
        let ratios = laws[0].iter().zip(&laws[1]).filter(|(p, _)| 0.0 < **p);
        ratios.map(|(p, q)| (p / q).ln().abs()).fold(0.0, f64::max)
    };
    let epsilon = 2.0_f64.ln();
    let map = |g| {
        let round = round(MaxDivergence, epsilon);
        make_select_private_candidate(round, g, 2.0).unwrap().map(&1).unwrap()
    };
    for g in [0.0, 1e-3, 0.1, 0.5, 1.0] {
        assert!(worst(g) <= map(g), "{g}: {}", worst(g));
    }
    assert!(epsilon * 1.5 < worst(1e-3), "the map is loose: 1.5 epsilon is enough");
}
/// Compute the least delta for which the distributions `first` and `second` are
/// (epsilon, delta)-close in both directions.
fn delta(first: &[f64], second: &[f64], epsilon: f64) -> f64 {
    let ahead = |p: &[f64], q: &[f64]| -> f64 {
        p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    };
    ahead(first, second).max(ahead(second, first))
}
#[test]
fn the_delta_bounds_the_exact_one_for_all_small_mechanisms() {
    let mut rounds = Vec::new();
    for a in 0..=8_u32 {
        for b in 0..=8 - a {
            rounds.push([a, b, 8 - a - b].map(|n| f64::from(n) / 8.0));
        }
    }
    let (mut tightest, mut of_one) = (0.0_f64, 0.0_f64);
    for first in &rounds {
        for second in &rounds {
            for epsilon in [0.0, 0.4, 1.0] {
                let at_once = delta(first, second, epsilon);
                for g in [0.05, 0.5, 1.0] {
                    let exact =
                        delta(&law(first, 2, 1.0 - g), &law(second, 2, 1.0 - g), 2.0 * epsilon);
                    let claimed = failure(epsilon, &Exact::from_f64(at_once).unwrap(), g);
                    let claimed = claimed.unwrap().to_f64_up();
                    assert!(exact <= claimed + 1e-12, "{first:?} {second:?} {epsilon} {g}");
                    if 1e-9 < at_once {
                        tightest = tightest.max(exact / claimed);
                        of_one = of_one.max(exact / at_once);
                    }
                }
            }
        }
    }
    // For some mechanisms, the exact delta is more than 0.9 times the bound. For some mechanisms,
    // the exact delta is more than twice the delta of one round.
    assert!(0.9 < tightest && 2.0 < of_one, "{tightest} {of_one}");
}
#[test]
fn states_its_map() {
    let choose =
        |loss, g| make_select_private_candidate(round(MaxDivergence, loss), g, 0.0).unwrap();
    assert_eq!(choose(2.0, 0.5).map(&1).unwrap(), 4.0);
    assert_eq!(choose(2.0, 0.0).map(&1).unwrap(), 4.0);
    assert_eq!(choose(f64::INFINITY, 0.1).map(&1).unwrap(), f64::INFINITY);
    assert_eq!(choose(1.0, 0.1).map(&-1).unwrap_err().kind(), "FailedMap");

    let choose = |loss, g| {
        make_select_private_candidate(round(Approximate(MaxDivergence), loss), g, 0.0).unwrap()
    };
    assert_eq!(choose((0.0, 0.125), 0.5).map(&1).unwrap(), (0.0, 0.375));
    assert_eq!(choose((1.0, 0.0), 0.0).map(&1).unwrap(), (2.0, 0.0));
    assert_eq!(choose((1.0, 0.125), 0.01).map(&1).unwrap(), (2.0, 1.0));
    assert_eq!(choose((800.0, 1e-9), 0.5).map(&1).unwrap(), (1600.0, 1.0));
    let (_, delta) = choose((1.0, 1e-6), 0.25).map(&1).unwrap();
    let exact = 1e-6 * (1.0 + 1.0_f64.exp() * 0.75) / 0.25;
    assert!(exact <= delta * (1.0 + 1e-15) && delta < exact * (1.0 + 1e-12));
    assert_eq!(choose((1.0, 0.1), 0.0).map(&1).unwrap_err().kind(), "FailedMap");
}
#[test]
fn is_charged_exactly() {
    let noise = make_laplace(numbers(), Scale::new(10.0).unwrap(), None).unwrap();
    let scored = noise.then(|| Ok(Function::map(|x: &i32| Ok((f64::from(*x), *x))))).unwrap();
    let select = make_select_private_candidate(scored, 0.5, 0.0).unwrap();
    assert_eq!(select.exact_map(&1).unwrap(), ["0.2".parse::<Exact>().unwrap()]);
}
#[test]
fn a_score_that_is_not_a_number_never_passes_and_the_threshold_itself_does() {
    let released = |score: f64| {
        let function = Function::map(move |_: &i32| Ok((score, 0)));
        let fixed =
            Measurement::new(numbers(), MaxDivergence, function, PrivacyMap::new(|_| Ok(0.0)));
        make_select_private_candidate(fixed, 0.5, 2.0).unwrap().invoke(&0).unwrap()
    };
    assert_eq!(released(2.0), Some((2.0, 0)));
    assert_eq!((released(2.0_f64.next_down()), released(f64::NAN)), (None, None));
}
#[test]
fn without_giving_up_there_is_always_a_release() {
    let select = make_select_private_candidate(round(MaxDivergence, 1.0), 0.0, 2.0).unwrap();
    assert!((0..1000).all(|_| select.invoke(&0).unwrap().is_some()));
}
#[test]
fn refuses_what_has_no_proof() {
    let make =
        |g, threshold| make_select_private_candidate(round(MaxDivergence, 1.0), g, threshold);
    for (g, threshold, name) in [
        (-0.1, 0.0, "stop_probability"),
        (1.5, 0.0, "stop_probability"),
        (f64::NAN, 0.0, "stop_probability"),
        (0.5, f64::INFINITY, "threshold"),
        (0.5, f64::NAN, "threshold"),
    ] {
        let error = make(g, threshold).unwrap_err();
        assert!(
            error.kind() == "MakeMeasurement" && error.to_string().starts_with(name),
            "{error}"
        );
    }
    let other = round(ZeroConcentratedDivergence, 1.0).erase();
    let error = make_select_private_candidate(other, 0.5, 0.0).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
    assert!(error.to_string().contains("ZeroConcentratedDivergence"), "{error}");
}
#[test]
fn an_erased_score_can_be_an_integer() {
    let scored = |score: AnyValue| AnyValue::new(vec![score, AnyValue::new("x".to_owned())]);
    assert_eq!(scored(AnyValue::new(30_i32)).score().unwrap(), 30.0);
    assert_eq!(scored(AnyValue::new(0.5_f32)).score().unwrap(), 0.5);
    // The threshold `2^53 + 2` is a float, and the integer before it is not.
    let threshold = 9_007_199_254_740_994_u64;
    assert!(threshold as f64 <= scored(AnyValue::new(threshold)).score().unwrap());
    assert!(scored(AnyValue::new(threshold - 1)).score().unwrap() < threshold as f64);
    let text = scored(AnyValue::new("1".to_owned())).score().unwrap_err();
    assert_eq!(text.kind(), "FailedCast");
}
