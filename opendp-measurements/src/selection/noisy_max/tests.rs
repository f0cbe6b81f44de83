use super::*;
use crate::SelectionMeasure;
use crate::samplers::tests::permute_and_flip_distribution::probabilities as permute_and_flip;
use crate::samplers::tests::top_k_distribution::softmax;

type Scores<T> = VectorDomain<AtomDomain<T>>;

fn under<T: Atom + Number + Score, M: MetricOn<Scores<T>> + ScoreMetric, MO: SelectionMeasure>(
    metric: M,
    measure: MO,
    scale: f64,
    negate: bool,
) -> Measurement<Scores<T>, M, MO, usize> {
    let input = Space::new(VectorDomain::new(AtomDomain::non_nan()), metric).unwrap();
    make_noisy_max(input, TheMeasure(measure), Scale::new(scale).unwrap(), negate).unwrap()
}
fn linf(monotonic: bool) -> LInfDistance<f64> {
    LInfDistance::new(monotonic)
}
/// List pairs of neighbouring vectors, with 2 to 6 scores in units of the scale. Between the two
/// vectors of a pair, each score changes by 0 or by `range`.
fn neighbours(range: f64) -> Vec<(Vec<f64>, Vec<f64>)> {
    let levels = [0.0, 0.25, 1.0, 4.0];
    let mut pairs = Vec::new();
    for n in 2..=6_usize {
        for shape in 0..4_usize.pow(n.min(4) as u32) {
            let u: Vec<f64> = (0..n).map(|i| levels[shape >> (2 * (i % 4)) & 3]).collect();
            for moved in 1..(1_u32 << n) - 1 {
                let v = u.iter().enumerate().map(|(i, s)| s + range * f64::from(moved >> i & 1));
                pairs.push((u.clone(), v.collect()));
            }
        }
    }
    pairs
}
/// Find the largest divergence between the choices from two neighbouring score vectors. `law`
/// returns the probabilities of the choices.
fn worst(
    range: f64,
    law: impl Fn(&[f64]) -> Vec<f64>,
    divergence: impl Fn(&[f64], &[f64]) -> f64,
) -> f64 {
    let pairs = neighbours(range);
    pairs.iter().map(|(u, v)| divergence(&law(u), &law(v))).fold(0.0, f64::max)
}
fn max_divergence(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p / q).ln().abs()).fold(0.0, f64::max)
}
fn renyi(order: f64, p: &[f64], q: &[f64]) -> f64 {
    let sum: f64 = p.iter().zip(q).map(|(p, q)| q * (p / q).powf(order)).sum();
    sum.ln() / (order - 1.0)
}

#[test]
fn gives_the_losses_of_the_test_vectors() {
    let pure = under::<f64, _, _>(linf(false), MaxDivergence, 1.0, false);
    assert_eq!([0.0, 1.0, 2.0].map(|d| pure.map(&d).unwrap()), [0.0, 2.0, 4.0]);
    assert_eq!(under::<f64, _, _>(linf(true), MaxDivergence, 1.0, false).map(&1.0), Ok(1.0));
    let measure = ZeroConcentratedDivergence;
    assert_eq!(under::<f64, _, _>(linf(false), measure, 1.0, false).map(&1.0), Ok(0.5));
    assert_eq!(under::<f64, _, _>(linf(true), measure, 1.0, false).map(&1.0), Ok(0.125));
    let exact = under::<f64, _, _>(linf(false), MaxDivergence, 0.0, false);
    assert_eq!([0.0, 1.0].map(|d| exact.map(&d).unwrap()), [0.0, f64::INFINITY]);
    let exact = under::<f64, _, _>(linf(false), measure, 0.0, false);
    assert_eq!([0.0, 1.0].map(|d| exact.map(&d).unwrap()), [0.0, f64::INFINITY]);
    let range = RangeDistance::<i32>::new();
    assert_eq!(under::<i32, _, _>(range, measure, 2.0, false).map(&4), Ok(0.5));
}
#[test]
fn refuses_distances_that_are_none_or_too_large() {
    for scale in [0.0, 1.0] {
        let pure = under::<f64, _, _>(linf(false), MaxDivergence, scale, false);
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(pure.map(&wrong).unwrap_err().kind(), "FailedMap");
        }
        assert_eq!(pure.map(&f64::MAX).unwrap_err().kind(), "Overflow");
    }
    let concentrated = under::<f64, _, _>(linf(true), ZeroConcentratedDivergence, 1e-200, false);
    assert_eq!(concentrated.map(&1.0).unwrap_err().kind(), "Overflow");
    assert_eq!(concentrated.map(&1e-200), Ok(0.125));
    let metric = LInfDistance::<u8>::new(false);
    let bytes = under::<u8, _, _>(metric, MaxDivergence, 1.0, false);
    assert_eq!(bytes.map(&128).unwrap_err().kind(), "Overflow");
}
#[test]
fn without_noise_the_last_of_the_best_is_chosen() {
    for (negate, expected) in [(false, 2), (true, 0)] {
        let choice = under::<f64, _, _>(linf(false), MaxDivergence, 0.0, negate);
        assert_eq!(choice.invoke(&vec![1.0, 3.0, 3.0, 2.0]), Ok(expected));
        let choice = under::<f64, _, _>(linf(false), ZeroConcentratedDivergence, 0.0, negate);
        assert_eq!(choice.invoke(&vec![1.0, 3.0, 3.0, 2.0]), Ok(expected));
    }
}
#[test]
fn needs_a_score_and_takes_infinite_ones_for_the_ends() {
    let pure = under::<f64, _, _>(linf(false), MaxDivergence, 1.0, false);
    let error = pure.invoke(&vec![]).unwrap_err();
    assert_eq!(error.kind(), "FailedFunction");
    assert!(error.to_string().contains("empty"));
    let infinity = f64::INFINITY;
    assert_eq!(pure.invoke(&vec![0.0, infinity, -infinity]), Ok(1));
    let least = under::<f64, _, _>(linf(false), ZeroConcentratedDivergence, 1.0, true);
    assert_eq!(least.invoke(&vec![0.0, infinity, -infinity]), Ok(2));
    let chosen: Vec<_> = (0..64).map(|_| pure.invoke(&vec![infinity, f64::MAX])).collect();
    assert!(chosen.contains(&Ok(0)) && chosen.contains(&Ok(1)));
}
#[test]
fn each_measure_has_its_own_distribution() {
    // The difference of the two scores is equal to the scale. The worse score is chosen with
    // probability 0.18394 by permute-and-flip, and 0.26894 by softmax.
    fn worse<MO: SelectionMeasure>(measure: MO, negate: bool) -> i32 {
        let choice = under::<i32, _, _>(RangeDistance::<i32>::new(), measure, 2.0, negate);
        let worse = usize::from(negate);
        (0..100_000).map(|_| i32::from(choice.invoke(&vec![0, 2]) == Ok(worse))).sum()
    }
    for negate in [false, true] {
        // The tolerances 980 and 1122 are eight standard deviations of the counts. So each
        // assertion fails by chance with a probability of about 1e-15.
        let found = worse(MaxDivergence, negate);
        assert!((found - 18_394).abs() < 980, "{found}");
        let found = worse(ZeroConcentratedDivergence, negate);
        assert!((found - 26_894).abs() < 1122, "{found}");
    }
}
#[test]
fn no_ratio_of_exact_probabilities_exceeds_the_pure_loss() {
    for range in [0.1, 1.0, 3.0] {
        let metric = RangeDistance::<f64>::new();
        let epsilon = under::<f64, _, _>(metric, MaxDivergence, 1.0, false).map(&range).unwrap();
        let found = worst(range, permute_and_flip, max_divergence);
        assert!(found <= epsilon + 1e-9, "{found} exceeds {epsilon}");
        assert!(0.999 * epsilon <= found, "{epsilon} is loose: {found}");
        // The control: the largest log-ratio exceeds the loss that the map states for half of the
        // range.
        let half = under::<f64, _, _>(metric, MaxDivergence, 1.0, false).map(&(range / 2.0));
        assert!(half.unwrap() < found);
    }
}
#[test]
fn no_renyi_divergence_exceeds_the_concentrated_loss_but_that_of_permute_and_flip() {
    for range in [0.1, 0.5, 1.0] {
        let metric = RangeDistance::<f64>::new();
        let choice = under::<f64, _, _>(metric, ZeroConcentratedDivergence, 1.0, false);
        let rho = choice.map(&range).unwrap();
        for order in [1.01, 2.0, 8.0] {
            let bound = rho * order;
            let found = worst(range, softmax, |p, q| renyi(order, p, q));
            assert!(found <= bound + 1e-12, "order {order}: {found} exceeds {bound}");
        }
        let found = worst(range, softmax, |p, q| renyi(2.0, p, q));
        assert!(1.8 * rho <= found, "{rho} is loose: {found}");
        let control = worst(range, permute_and_flip, |p, q| renyi(2.0, p, q));
        assert!(2.0 * rho < control, "the wrong noise goes unnoticed: {control}");
    }
}
#[test]
fn the_score_is_rarely_worse_than_the_accuracy_says() {
    fn check<MO: SelectionMeasure>(measure: MO) {
        let domain = VectorDomain::new(AtomDomain::<i32>::default()).with_size(4);
        let input = Space::new(domain, LInfDistance::<i32>::new(false)).unwrap();
        let scale = Scale::new(2.0).unwrap();
        let choice = make_noisy_max(input, TheMeasure(measure), scale, false).unwrap();
        let bound = choice.accuracy(0.1).unwrap()[0].unwrap();
        assert!((bound - 2.0 * 40.0_f64.ln()).abs() < 1e-12);
        let worse = -(bound.ceil() as i32);
        let scores = vec![worse, 0, worse, worse];
        let bad = (0..20_000).filter(|_| choice.invoke(&scores) != Ok(1)).count();
        assert!((bad as f64) < 0.1 * 20_000.0, "{bad}");
    }
    check(MaxDivergence);
    check(ZeroConcentratedDivergence);
    let unknown = under::<f64, _, _>(linf(false), MaxDivergence, 1.0, false);
    assert_eq!(unknown.accuracy(0.1), Ok(vec![None]));
}

#[test]
fn a_budget_of_one_has_room_for_exactly_ten_tenths() {
    let tenth = under::<f64, _, _>(linf(true), MaxDivergence, 10.0, false);
    let space = tenth.input().clone();
    let odometer =
        crate::make_fully_adaptive_composition(space, TheMeasure(MaxDivergence)).unwrap();
    let session = crate::make_privacy_filter(odometer, 1.0, 1.0).unwrap();
    let session = session.invoke(&vec![0.0, 1.0]).unwrap();
    let fit = (0..12).filter(|_| session.ask(&tenth).is_ok()).count();
    assert_eq!((fit, session.left().unwrap()), (10, 0.0));
    // The control: the loss as a float is more than 1/10. So only nine such losses fit the budget
    // 1.
    let float = tenth.map(&1.0).unwrap();
    let nine = (0..12).fold((0, 1.0_f64), |(fit, left), _| {
        if float <= left { (fit + 1, (left - float).next_down()) } else { (fit, left) }
    });
    assert_eq!(nine.0, 9);
}
#[test]
fn the_exact_loss_is_the_one_that_the_map_rounds_up() {
    let check = |exact: Vec<opendp_core::arith::Exact>, rounded: f64| {
        let exact = exact[0].to_f64_up();
        assert!(exact <= rounded && rounded <= exact * (1.0 + 1e-15), "{exact} {rounded}");
    };
    for d_in in [0.0, 5e-324, 0.1, 1.0, 3.0, 1e300] {
        for scale in [0.0, 0.3, 1.0, 7.0, 1e200] {
            for monotonic in [false, true] {
                let pure = under::<f64, _, _>(linf(monotonic), MaxDivergence, scale, false);
                check(pure.exact_map(&d_in).unwrap(), pure.map(&d_in).unwrap());
                let rho =
                    under::<f64, _, _>(linf(monotonic), ZeroConcentratedDivergence, scale, false);
                if let Ok(rounded) = rho.map(&d_in)
                    && (1e-290 < rounded || rounded == 0.0)
                {
                    check(rho.exact_map(&d_in).unwrap(), rounded);
                }
            }
        }
    }
    for (k, scale) in [(0, 0.0), (0, 1.0), (1, 3.0), (7, 3.0)] {
        let input =
            Space::new(VectorDomain::new(AtomDomain::<i32>::default()), RangeDistance::new());
        let (measure, scale) = (TheMeasure(MaxDivergence), Scale::new(scale).unwrap());
        let top = crate::make_noisy_top_k(input.unwrap(), measure, k, scale, false).unwrap();
        check(top.exact_map(&2).unwrap(), top.map(&2).unwrap());
    }
}

#[test]
fn a_chain_never_selects_the_worst_candidate_in_a_composition() {
    use crate::make_composition;
    let plain = || Space::new(Scores::<f64>::new(AtomDomain::non_nan()), linf(false)).unwrap();
    let select = |input, negate| {
        make_noisy_max(input, TheMeasure(MaxDivergence), Scale::new(1.0).unwrap(), negate).unwrap()
    };
    let (max, min) = (select(plain(), false), select(plain(), true));
    // The input space of `max` states that the highest score is selected. `min_on_max` is built
    // from this space, but its own input space states that the lowest score is the best.
    let min_on_max = select(max.input().clone(), true);
    let lowest = plain().with_lowest_best();
    let follows = |members: Vec<Measurement<_, _, _, _>>| {
        make_composition(members).unwrap().input().follows(&lowest).is_ok()
    };
    assert!(follows(vec![min.clone()]) && follows(vec![min_on_max.clone(), min.clone()]));
    assert!(!follows(vec![max.clone()]));
    assert!(!follows(vec![max.clone(), min.clone()]) && !follows(vec![min, max]));
}
#[test]
fn refuses_the_highest_of_scores_whose_lowest_is_the_best() {
    let scores = VectorDomain::new(AtomDomain::<f64>::non_nan());
    let input = Space::new(scores, linf(false)).unwrap().with_lowest_best();
    let make = |negate| {
        make_noisy_max(input.clone(), TheMeasure(MaxDivergence), Scale::new(1.0).unwrap(), negate)
    };
    assert!(make(true).is_ok());
    assert!(make(false).unwrap_err().to_string().contains("negate"));
}
