use super::*;
use crate::selection::choosing_one;

type Scores<T> = VectorDomain<AtomDomain<T>>;

fn scores<T: Atom, M: MetricOn<Scores<T>>>(size: Option<usize>, metric: M) -> Space<Scores<T>, M> {
    let domain = VectorDomain::new(AtomDomain::non_nan());
    let domain = size.map_or(domain.clone(), |size| domain.with_size(size));
    Space::new(domain, metric).unwrap()
}
fn choose(scores: &[f64], temperature: Temperature, optimize: Optimize) -> Result<usize> {
    choosing_one(temperature.into(), optimize, gumbel_top_k).eval(&scores.to_vec())
}
fn temperature(temperature: f64) -> Temperature {
    Temperature::new(temperature).unwrap()
}
fn under<M: MetricOn<Scores<T>> + ScoreMetric, T: Atom + Number + Score>(
    metric: M,
    t: f64,
) -> Measurement<Scores<T>, M, MaxDivergence, usize> {
    make_gumbel_max(scores(None, metric), temperature(t), Optimize::Max).unwrap()
}

#[test]
fn divides_the_range_of_the_changes_by_the_temperature() {
    let range = under::<_, f64>(RangeDistance::<f64>::new(), 3.0);
    assert_eq!([0.0, 1.0].map(|d| range.map(&d).unwrap()), [0.0, 0.333_333_333_333_333_37]);
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(range.map(&wrong).unwrap_err().kind(), "FailedMap");
        let all = under::<_, f64>(LInfDistance::<f64>::new(false), 3.0);
        assert_eq!(all.map(&wrong).unwrap_err().kind(), "FailedMap");
    }
    let range = under::<_, u32>(RangeDistance::<u32>::new(), 2.0);
    assert_eq!([0, 1, 3].map(|d| range.map(&d).unwrap()), [0.0, 0.5, 1.5]);
}
#[test]
fn pays_twice_for_scores_that_move_both_ways() {
    // Without `monotonic`, one score can rise by the largest change while another score falls by
    // the same amount. So the range of the changes can be twice the largest change.
    let both_ways = under::<_, f64>(LInfDistance::<f64>::new(false), 1.0);
    assert_eq!([1.0, 2.0].map(|d| both_ways.map(&d).unwrap()), [2.0, 4.0]);
    let one_way = under::<_, f64>(LInfDistance::<f64>::new(true), 1.0);
    assert_eq!(one_way.map(&1.0).unwrap(), 1.0);
    let both_ways = under::<_, u32>(LInfDistance::<u32>::new(false), 1.0);
    assert_eq!(both_ways.map(&(1 << 31)).unwrap_err().kind(), "Overflow");
    assert_eq!(both_ways.map(&((1 << 31) - 1)).unwrap(), 4_294_967_294.0);
    assert_eq!(both_ways.map(&0).unwrap(), 0.0);
}
#[test]
fn chooses_the_best_when_the_others_have_no_chance() {
    let choose = |scores: &[f64], optimize| choose(scores, temperature(1e-3), optimize);
    let tiny = [1.0, 3.0, 2.0];
    assert_eq!(choose(&tiny, Optimize::Max), Ok(1));
    assert_eq!(choose(&tiny, Optimize::Min), Ok(0));
    assert_eq!(choose(&[4.0], Optimize::Min), Ok(0));
    let error = choose(&[], Optimize::Max).unwrap_err();
    assert_eq!(error.kind(), "FailedFunction");
    assert!(error.to_string().contains("empty"));
}
#[test]
fn infinite_scores_are_taken_for_the_ends() {
    let infinity = f64::INFINITY;
    let choose = |scores: &[f64], optimize| choose(scores, temperature(1.0), optimize).unwrap();
    assert_eq!(choose(&[0.0, infinity, -infinity], Optimize::Max), 1);
    assert_eq!(choose(&[0.0, infinity, -infinity], Optimize::Min), 2);
    assert_eq!(choose(&[0.0, f64::NAN, 1e9], Optimize::Max), 2);
    let chosen: Vec<_> = (0..64).map(|_| choose(&[infinity, f64::MAX], Optimize::Max)).collect();
    assert!(chosen.contains(&0) && chosen.contains(&1));
}
#[test]
fn chooses_with_softmax_probabilities_in_both_directions() {
    let draws = 100_000;
    let scores = vec![0_i32, 1, 2, 5, -3];
    for (optimize, sign) in [(Optimize::Max, 1.0), (Optimize::Min, -1.0)] {
        let input = self::scores(Some(5), RangeDistance::<i32>::new());
        let choice = make_gumbel_max(input, temperature(2.0), optimize).unwrap();
        let mut counts = [0.0; 5];
        for _ in 0..draws {
            counts[choice.invoke(&scores).unwrap()] += 1.0;
        }
        let chi_square = |t: f64| {
            let weights: Vec<f64> =
                scores.iter().map(|score| (sign * f64::from(*score) / t).exp()).collect();
            let total: f64 = weights.iter().sum();
            let expected = weights.iter().map(|weight| f64::from(draws) * weight / total);
            counts.iter().zip(expected).map(|(n, e)| (n - e) * (n - e) / e).sum::<f64>()
        };
        // If the probabilities are correct, the distribution of the statistic is approximately the
        // chi-square distribution with four degrees of freedom. Then the statistic exceeds 65 with
        // probability 3e-13.
        assert!(chi_square(2.0) < 65.0, "{optimize:?}: {counts:?}");
        assert!(chi_square(2.2) > 65.0, "another temperature goes unnoticed: {counts:?}");
    }
}
#[test]
fn the_score_is_rarely_worse_than_the_accuracy_says() {
    let input = scores(Some(4), RangeDistance::<i32>::new());
    let choice = make_gumbel_max(input, temperature(2.0), Optimize::Max).unwrap();
    let bound = choice.accuracy(0.1).unwrap()[0].unwrap();
    let exact = 2.0 * 40.0_f64.ln();
    assert!(exact <= bound && bound <= exact * (1.0 + 1e-15));
    // The accuracy bounds the difference between the chosen score and the best score. The other
    // three scores are below the best score by slightly more than this bound. If another candidate
    // is chosen, the difference exceeds the bound.
    let worse = -(bound.ceil() as i32);
    let draws = 20_000;
    let bad = (0..draws).filter(|_| choice.invoke(&vec![worse, 0, worse, worse]).unwrap() != 1);
    assert!((bad.count() as f64) < 0.1 * f64::from(draws));
    assert_eq!(choice.accuracy(0.0).unwrap_err().kind(), "InvalidDistance");
    let unknown = under::<_, i32>(RangeDistance::<i32>::new(), 2.0);
    assert_eq!(unknown.accuracy(0.1).unwrap(), [None]);
    let none = scores::<i32, _>(Some(0), RangeDistance::<i32>::new());
    let none = make_gumbel_max(none, temperature(2.0), Optimize::Max).unwrap();
    assert_eq!(none.accuracy(0.1).unwrap(), [None]);
}
#[test]
fn needs_scores_that_are_not_nan() {
    let nan = Space::new(Scores::<f64>::default(), RangeDistance::<f64>::new());
    assert_eq!(nan.unwrap_err().kind(), "MetricSpace");
}
