use opendp_core::{LInfDistance, StabilityMap, SymmetricDistance, VectorDomain};

use super::*;
use crate::make_above_threshold;
use crate::samplers::tests::chi_square::chi_square;

/// The number of cells of a numerical integral in each interval of length 1. The integrands have
/// kinks (points without a derivative) only at whole numbers, so no kink is inside a cell.
const FINE: f64 = 64.0;

/// Compute the probability that Laplace noise of the given scale is below `a`.
fn below(a: f64, scale: f64) -> f64 {
    match scale {
        0.0 => f64::from(u8::from(0.0 < a)),
        _ if a < 0.0 => (a / scale).exp() / 2.0,
        _ => 1.0 - (-a / scale).exp() / 2.0,
    }
}
/// Compute the mean of a function of the noise on the threshold. This noise has scale `s`. The mean
/// is computed as a sum over cells. Each term is the exact probability of the cell times the value
/// of the function in the middle of the cell.
fn integral(s: f64, weight: impl Fn(f64) -> f64) -> f64 {
    let reach = (40.0 * s * FINE).ceil() as i64;
    let point = |j: i64| {
        let z = (j as f64 + 0.5) / FINE;
        (-z.abs() / s).exp() * (0.5 / (FINE * s)).sinh() * weight(z)
    };
    (-reach..reach).map(point).sum()
}
/// Compute the probability of a sequence of answers. The queries have the given values. The
/// threshold is 0. The noise on the threshold has scale `s`, and the noise on each query has scale
/// `r`.
fn law(answers: &[bool], values: &[f64], (s, r): (f64, f64)) -> f64 {
    integral(s, |z| {
        let factor = |(above, q): (&bool, &f64)| {
            let below = below(z - q, r);
            if *above { 1.0 - below } else { below }
        };
        answers.iter().zip(values).map(factor).product()
    })
}
/// List all sequences of answers for `n` queries. A sequence ends early after `limit` answers
/// `true`.
fn sequences(n: usize, limit: usize) -> Vec<Vec<bool>> {
    let mut all = vec![vec![]];
    let count = |answers: &[bool]| answers.iter().filter(|above| **above).count();
    for _ in 0..n {
        all = all
            .into_iter()
            .flat_map(|answers: Vec<bool>| match count(&answers) < limit {
                true => [false, true].map(|next| [answers.clone(), vec![next]].concat()).to_vec(),
                false => vec![answers],
            })
            .collect();
    }
    all
}
fn scales(s: f64, r: f64) -> (Scale, Scale) {
    (Scale::new(s).unwrap(), Scale::new(r).unwrap())
}
type Numbers = VectorDomain<AtomDomain<f64>>;
fn vectors(monotonic: bool) -> Space<Numbers, LInfDistance<f64>> {
    Space::new(VectorDomain::new(AtomDomain::non_nan()), LInfDistance::new(monotonic)).unwrap()
}
/// Return the loss that the map states for queries of sensitivity 1.
fn stated(limit: u32, (s, r): (f64, f64), monotonic: bool) -> f64 {
    make_above_threshold(vectors(monotonic), 0.0, limit, scales(s, r)).unwrap().map(&1.0).unwrap()
}
/// List `m` copies of `first`, and then `n` copies of `other`.
fn steps<T: Clone>(m: usize, first: T, n: usize, other: T) -> Vec<T> {
    [vec![first; m], vec![other; n]].concat()
}

/// The data are vectors of integers under the L-infinity distance. Each query returns the number at
/// the index `place`, multiplied by `change`. So `change` is the sensitivity of the query.
type Data = VectorDomain<AtomDomain<i32>>;
fn data() -> Space<Data, LInfDistance<i32>> {
    Space::new(VectorDomain::new(AtomDomain::default()), LInfDistance::new(false)).unwrap()
}
fn query(place: usize, change: i32) -> Query<Data, LInfDistance<i32>, i32, i32> {
    let numbers = Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap();
    let function = Function::map(move |x: &Vec<i32>| Ok(x[place].saturating_mul(change)));
    Transformation::new(data(), numbers, function, StabilityMap::from_constant(change))
}

#[test]
fn answers_have_the_probabilities_of_the_proof() {
    let draws = 40_000;
    let (values, limit) = ([0.0, 2.0, -1.0, 1.0], 2);
    let sequences = sequences(4, limit);
    let fit = |answer: &dyn Fn() -> Vec<bool>, law: &dyn Fn(&[bool]) -> f64| {
        let mut counts = vec![0; sequences.len()];
        for _ in 0..draws {
            let answers = answer();
            counts[sequences.iter().position(|other| *other == answers).unwrap()] += 1;
        }
        let expected = sequences.iter().map(|answers| f64::from(draws) * law(answers));
        chi_square(&counts, &expected.collect::<Vec<_>>())
    };
    let (s, r) = (2.0, 3.0);
    let whole = make_above_threshold(vectors(false), 0.0, 2, scales(s, r)).unwrap();
    let at_once = || whole.invoke(&values.to_vec()).unwrap();
    let sparse = make_sparse_vector(data(), 1, 1, 0, 2, scales(s, r), false).unwrap();
    let in_turn = || {
        let queryable = sparse.invoke(&vec![0, 2, -1, 1]).unwrap();
        let answers = (0..4).map_while(|place| queryable.ask(&query(place, 1)).ok());
        answers.collect::<Vec<_>>()
    };
    let claimed = |answers: &[bool]| law(answers, &values, (s, r));
    assert!(fit(&at_once, &claimed) < 1.0);
    assert!(fit(&in_turn, &claimed) < 1.0);
    // The controls: the draws do not fit the distribution with half of the noise scale for queries.
    // The draws also do not fit the distribution with fresh noise on the threshold for each query.
    assert!(1.0 < fit(&in_turn, &|answers| law(answers, &values, (s, r / 2.0))));
    let fresh = |answers: &[bool]| {
        let each = answers.iter().zip(values).map(|(above, q)| law(&[*above], &[q], (s, r)));
        each.product()
    };
    assert!(1.0 < fit(&in_turn, &fresh));
}
#[test]
fn the_map_bounds_the_exact_divergence_of_small_cases() {
    let (limit, noise) = (2, (1.5, 5.0));
    let (all, monotonic) = (stated(limit, noise, false), stated(limit, noise, true));
    let vectors: Vec<Vec<f64>> =
        (0..8).map(|bits| (0..3).map(|i| f64::from(bits >> i & 1)).collect()).collect();
    for answers in sequences(3, 2) {
        let laws: Vec<f64> = vectors.iter().map(|values| law(&answers, values, noise)).collect();
        for (x, p) in vectors.iter().zip(&laws) {
            for (y, q) in vectors.iter().zip(&laws) {
                let loss = (p / q).ln();
                assert!(loss <= all + 1e-9, "{answers:?} {x:?} {y:?}: {loss}");
                let rising = x.iter().zip(y).all(|(x, y)| x <= y);
                let falling = x.iter().zip(y).all(|(x, y)| y <= x);
                assert!(!(rising || falling) || loss <= monotonic + 1e-9, "{x:?} {y:?}: {loss}");
            }
        }
    }
}
#[test]
fn the_map_is_nearly_attained_by_many_queries() {
    let (limit, noise, m) = (2_u32, (1.5, 5.0), 200);
    let answers = steps(m, false, 2, true);
    let loss = |x: &[f64], y: &[f64]| (law(&answers, x, noise) / law(&answers, y, noise)).ln();
    let (all, monotonic) = (stated(limit, noise, false), stated(limit, noise, true));
    let both_ways = loss(&steps(m, 0.0, 2, 1.0), &steps(m, 1.0, 2, 0.0));
    assert!(both_ways <= all + 1e-9 && 0.97 * all < both_ways, "{both_ways} of {all}");
    let one_way = loss(&steps(m, 0.0, 2, 0.0), &steps(m, 1.0, 2, 0.0));
    assert!(one_way <= monotonic + 1e-9 && 0.97 * monotonic < one_way, "{one_way} of {monotonic}");
    // The controls: the loss of queries that change in both directions exceeds the map for
    // monotonic queries. The map for monotonic queries is a sum of two terms. The loss of queries
    // that change in one direction exceeds each of these two terms.
    assert!(monotonic < both_ways);
    assert!(1.0 / noise.0 < one_way && 2.0 / noise.1 < one_way);
}
#[test]
fn refutes_the_broken_versions_and_not_this_one() {
    // The broken versions are algorithms of Lyu, Su, Li 2017, Figure 1. With the scales in this
    // test, each broken version claims an epsilon of 1 for queries of sensitivity 1.
    let loss = |answers: &[bool], x: &[f64], y: &[f64], noise| {
        (law(answers, x, noise) / law(answers, y, noise)).ln()
    };
    let ours = |limit: usize| {
        let noise = (2.0, 4.0 * limit as f64);
        assert_eq!(stated(limit as u32, noise, false), 1.0);
        noise
    };
    // Algorithm 4: the noise on queries does not grow with the limit.
    let (m, limit) = (100, 4);
    let answers = steps(m, false, limit, true);
    let (x, y) = (steps(m, 0.0, limit, 1.0), steps(m, 1.0, limit, 0.0));
    assert!(3.0 < loss(&answers, &x, &y, (4.0, 4.0 / 3.0)));
    assert!(loss(&answers, &x, &y, ours(limit)) <= 1.0 + 1e-9);
    // Algorithm 5: queries have no noise, and there is no limit.
    let (x, y) = ([0.0, 1.0], [1.0, 0.0]);
    assert_eq!(loss(&[false, true], &x, &y, (2.0, 0.0)), f64::INFINITY);
    assert!(loss(&[false, true], &x, &y, ours(1)) <= 1.0);
    // Without noise on queries, the map of this library also states an infinite loss.
    assert_eq!(stated(1, (2.0, 0.0), false), f64::INFINITY);
    // Algorithm 6: there is no limit.
    let m = 10;
    let answers = steps(m, false, m, true);
    let (x, y) = (steps(m, 0.0, m, 1.0), steps(m, 1.0, m, 0.0));
    assert!(4.0 < loss(&answers, &x, &y, (2.0, 2.0)));
    assert!(loss(&answers, &x, &y, ours(m)) <= 1.0 + 1e-9);
    // Algorithm 3: the noisy number that was compared with the threshold is released. The test
    // computes the loss for the released number 0.
    let (m, noise) = (20, (2.0, 2.0));
    let value = |others: f64, last: f64| {
        let density = (-(0.0 - last).abs() / noise.1).exp() / (2.0 * noise.1);
        let fits = |z: f64| f64::from(u8::from(z <= 0.0)) * below(z - others, noise.1).powi(m);
        density * integral(noise.0, fits)
    };
    assert!(4.0 < (value(0.0, 1.0) / value(1.0, 0.0)).ln());
}
#[test]
fn states_its_map() {
    let make = |limit, s, r, monotonic| {
        make_sparse_vector(data(), 2, 3, 0, limit, scales(s, r), monotonic).unwrap()
    };
    assert_eq!(make(1, 6.0, 12.0, false).map(&2).unwrap(), 1.0);
    assert_eq!(make(1, 6.0, 12.0, true).map(&1).unwrap(), 0.75);
    assert_eq!(make(4, 6.0, 12.0, false).map(&2).unwrap(), 2.5);
    assert_eq!(make(1, 6.0, 12.0, false).map(&3).unwrap_err().kind(), "FailedMap");
    assert_eq!(make(1, 6.0, 12.0, false).exact_map(&3).unwrap_err().kind(), "FailedMap");
    assert_eq!(make(1, 0.0, 12.0, false).map(&2).unwrap(), f64::INFINITY);
    assert_eq!(
        make(1, 30.0, 15.0, false).exact_map(&2).unwrap(),
        ["0.5".parse::<Exact>().unwrap()]
    );
    let above = make_above_threshold(vectors(false), 0.0, 3, scales(10.0, 30.0)).unwrap();
    assert_eq!(above.exact_map(&1.0).unwrap(), ["0.3".parse::<Exact>().unwrap()]);
    assert_eq!(above.map(&0.0).unwrap(), 0.0);
    assert_eq!(above.map(&f64::INFINITY).unwrap_err().kind(), "FailedMap");
    assert_eq!(above.map(&f64::MAX).unwrap(), (f64::MAX * 0.3).next_up());
    let above = make_above_threshold(vectors(false), 0.0, 3, scales(1e-9, 30.0)).unwrap();
    assert_eq!(above.map(&f64::MAX).unwrap_err().kind(), "Overflow");
}
#[test]
fn a_budget_is_split_without_exceeding_it() {
    for (epsilon, sensitivity) in [(1.0, 1.0), (0.1, 3.0), (1e-9, 1e9), (7.7, 1e-300)] {
        for (limit, monotonic) in [(1, true), (1, false), (3, true), (10, false), (u32::MAX, false)]
        {
            let scales = sparse_vector_scales(epsilon, sensitivity, limit, monotonic).unwrap();
            let above = make_above_threshold(vectors(monotonic), 0.0, limit, scales).unwrap();
            let loss = above.map(&sensitivity).unwrap();
            assert!(loss <= epsilon && epsilon * (1.0 - 1e-12) < loss, "{loss} of {epsilon}");
            // The control: with slightly less noise on queries, the loss exceeds epsilon.
            let less = Scale::new(scales.1.value() * (1.0 - 1e-12)).unwrap();
            let above = make_above_threshold(vectors(monotonic), 0.0, limit, (scales.0, less));
            assert!(epsilon < above.unwrap().map(&sensitivity).unwrap());
        }
    }
    for (epsilon, sensitivity, limit) in
        [(0.0, 1.0, 1), (f64::NAN, 1.0, 1), (1.0, f64::INFINITY, 1), (1.0, -1.0, 1), (1.0, 1.0, 0)]
    {
        let error = sparse_vector_scales(epsilon, sensitivity, limit, false).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
    }
}
#[test]
fn without_noise_it_compares() {
    let above = make_above_threshold(vectors(true), 2.0, 2, scales(0.0, 0.0)).unwrap();
    let answers = above.invoke(&vec![1.0, 2.0, f64::NEG_INFINITY, f64::INFINITY, 9.0]).unwrap();
    assert_eq!(answers, [false, true, false, true]);
    assert_eq!(above.invoke(&vec![]).unwrap(), [false; 0]);
    let highest = make_above_threshold(vectors(true), f64::INFINITY, 1, scales(0.0, 0.0)).unwrap();
    assert_eq!(highest.invoke(&vec![1.0, f64::INFINITY]).unwrap(), [false, true]);
}
#[test]
fn refuses_a_query_that_is_too_sensitive_and_any_after_the_last() {
    let sparse = make_sparse_vector(data(), 1, 2, 5, 2, scales(0.0, 0.0), false).unwrap();
    let queryable = sparse.invoke(&vec![0, 9, 9]).unwrap();
    assert_eq!(queryable.ask(&query(0, 1)), Ok(false));
    let error = queryable.ask(&query(1, 3)).unwrap_err();
    assert!(error.kind() == "BudgetExceeded" && error.to_string().contains("at most 2"), "{error}");
    assert_eq!(queryable.ask(&query(1, 2)), Ok(true));
    assert_eq!(queryable.clone().ask(&query(2, 1)), Ok(true), "a clone is the same conversation");
    for place in 0..3 {
        let error = queryable.ask(&query(place, 1)).unwrap_err();
        assert_eq!(error.kind(), "BudgetExceeded");
        assert!(error.to_string().contains("the limit is 2"), "{error}");
    }
    assert_eq!(sparse.invoke(&vec![9]).unwrap().ask(&query(0, 1)), Ok(true), "a new conversation");
}
#[test]
fn refuses_a_query_about_other_data() {
    let other = Space::new(
        VectorDomain::<AtomDomain<i32>>::default().with_size(3),
        LInfDistance::new(false),
    );
    let sparse = make_sparse_vector(other.unwrap(), 1, 1, 5, 2, scales(1.0, 1.0), false).unwrap();
    let error = sparse.invoke(&vec![1, 2, 3]).unwrap().ask(&query(0, 1)).unwrap_err();
    assert_eq!(error.kind(), "DomainMismatch");
}
#[test]
fn refuses_arguments_that_mean_nothing() {
    let make = |threshold, limit| {
        let error =
            make_above_threshold(vectors(false), threshold, limit, scales(1.0, 1.0)).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        error.to_string()
    };
    assert!(make(f64::NAN, 1).starts_with("threshold") && make(0.0, 0).starts_with("limit"));
    let rows =
        Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance).unwrap();
    let make = |sensitivity: f64| {
        make_sparse_vector(rows.clone(), 1, sensitivity, 0.0, 1, scales(1.0, 1.0), false)
            .unwrap_err()
    };
    assert!(make(f64::INFINITY).to_string().contains("`sensitivity`"));
    assert!(make(-1.0).kind() == "FailedMap" && make(f64::NAN).kind() == "FailedMap");
}
#[test]
fn a_distance_without_neighbours_is_refused() {
    let rows = VectorDomain::new(AtomDomain::<i32>::default());
    let open = Space::new(rows.clone(), SymmetricDistance).unwrap();
    let sized = Space::new(rows.with_size(5), SymmetricDistance).unwrap();
    let make = |rows: &Space<_, SymmetricDistance>, d_in| {
        make_sparse_vector(rows.clone(), d_in, 0, 5, 1, scales(0.0, 0.0), false)
            .map(|_| ())
            .map_err(|error| error.kind())
    };
    assert_eq!((make(&open, 0), make(&sized, 1)), (Err("FailedMap"), Err("FailedMap")));
    assert_eq!((make(&open, 1), make(&sized, 2)), (Ok(()), Ok(())));
}
