//! Tests that compare privacy maps with the distributions of releases from two neighbours. If the
//! exact probabilities of the releases are known, a test uses these probabilities. Otherwise the
//! test uses draws. Each test that uses draws must also detect a mechanism with a wrong amount of
//! noise.

use opendp_core::arith::Number;
use opendp_core::{
    AbsoluteDistance, AtomDomain, Domain, L1Distance, LInfDistance, MaxDivergence, Measurement,
    Metric, RangeDistance, Space, TheMeasure, VectorDomain,
};

use crate::{
    Optimize, Scale, Temperature, make_gumbel_max, make_laplace, make_noisy_max,
    make_randomized_response, make_randomized_response_bool,
};

/// Compute the probability that discrete Laplace noise of scale `s` is at least `m`, for `m >= 1`.
fn tail(m: f64, s: f64) -> f64 {
    (-m / s).exp() / (1.0 + (-1.0 / s).exp())
}
/// Compute the exact probability of each of the 256 releases for the number `x` with noise of scale
/// `s`.
fn probabilities(x: i8, s: f64) -> Vec<f64> {
    let centre = (0.5 / s).tanh();
    (i8::MIN..=i8::MAX)
        .map(|r| {
            let distance = (f64::from(r) - f64::from(x)).abs();
            match r {
                // The least and the largest `i8` are the ends of the type. The probability of a
                // release at an end is the probability of a whole tail of the noise. Suppose that
                // the number `x` itself is at this end. Then the release differs from the end if
                // and only if the noise moves the number by at least 1 away from the end. So the
                // probability of a release at this end is 1 minus the probability of the tail that
                // begins at the noise 1.
                i8::MIN | i8::MAX if distance == 0.0 => 1.0 - tail(1.0, s),
                i8::MIN | i8::MAX => tail(distance, s),
                _ => centre * (-distance / s).exp(),
            }
        })
        .collect()
}

#[test]
fn integers_have_their_exact_probabilities() {
    let draws = 100_000;
    let input = Space::new(VectorDomain::default(), L1Distance::<i8>::new()).unwrap();
    let chi_square = |drawn: f64, claimed: f64, x: i8| {
        let release = make_laplace(input.clone(), Scale::new(drawn).unwrap(), None).unwrap();
        let mut counts = vec![0.0; 256];
        for r in release.invoke(&vec![x; draws]).unwrap() {
            counts[usize::try_from(i16::from(r) + 128).unwrap()] += 1.0;
        }
        let all = counts.iter().zip(probabilities(x, claimed));
        let likely: Vec<_> = all.map(|(n, p)| (*n, p * draws as f64)).collect();
        let (mut rest, mut bins, mut sum) = ((0.0, 0.0), 0.0, 0.0);
        let cell = |(n, e): (f64, f64)| (n - e) * (n - e) / e;
        for (n, e) in likely {
            if e < 10.0 {
                rest = (rest.0 + n, rest.1 + e);
            } else {
                sum += cell((n, e));
                bins += 1.0;
            }
        }
        let freedom = if rest.1 < 10.0 { bins - 1.0 } else { bins };
        sum += if rest.1 < 10.0 { 0.0 } else { cell(rest) };
        // Return the excess of `sum` over its mean, divided by the approximate standard deviation
        // of `sum`.
        (sum - freedom) / (2.0_f64 * freedom).sqrt()
    };
    for (s, x) in [(1.0, 0), (0.5, -7), (12.5, 100), (60.0, -128), (60.0, 127)] {
        // The probability that one of the five values of `excess` exceeds 24 by chance is below
        // 1e-13.
        let excess = chi_square(s, s, x);
        assert!(excess < 24.0, "scale {s} at {x}: {excess}");
        let excess = chi_square(s * 1.2, s, x);
        assert!(excess > 24.0, "scale {s} at {x}: a wrong scale goes unnoticed at {excess}");
    }
}
#[test]
fn the_map_bounds_the_exact_divergence_and_is_tight() {
    let input = Space::new(AtomDomain::<i8>::default(), AbsoluteDistance::<i8>::new()).unwrap();
    for s in [0.3, 1.0, 7.7, 60.0] {
        let release = make_laplace(input.clone(), Scale::new(s).unwrap(), None).unwrap();
        for d in [0, 1, 2, 5] {
            let epsilon = release.map(&d).unwrap();
            let mut largest = 0.0_f64;
            for x in [-128, -127, -30, 0, 60, 122] {
                let (first, second) = (probabilities(x, s), probabilities(x + d, s));
                for (p, q) in first.iter().zip(&second).filter(|(p, q)| 1e-300 < p.min(**q)) {
                    largest = largest.max((p / q).ln().abs());
                }
            }
            assert!(largest <= epsilon + 1e-9, "scale {s}: {largest} exceeds {epsilon} at {d}");
            assert!(epsilon - 1e-9 <= largest, "scale {s}: {largest} is below {epsilon} at {d}");
        }
    }
}

/// The largest value of [`excess`] that a test accepts, in standard deviations. For an honest
/// mechanism, a test exceeds this limit by chance with a probability below 1e-14.
const LIMIT: f64 = 8.0;

/// A set of releases.
type Event<R> = Box<dyn Fn(&R) -> bool>;

/// For an event `S`, let `P[x in S]` be the probability that the release from `x` is in `S`. From
/// draws, estimate by how many standard deviations `P[x in S]` exceeds `exp(epsilon) P[y in S]`.
/// Return the largest estimate over all given events and both orders of `x` and `y`.
fn excess<DI: Domain, MI: Metric, R: opendp_core::Carrier>(
    release: &Measurement<DI, MI, MaxDivergence, R>,
    (x, y): (&DI::Carrier, &DI::Carrier),
    epsilon: f64,
    events: &[&dyn Fn(&R) -> bool],
) -> f64 {
    // With this number of draws, the expected excess of each control is above 17.
    let draws = 200_000;
    let frequencies = |x: &DI::Carrier| {
        let mut counts = vec![0.0; events.len()];
        for _ in 0..draws {
            let released = release.invoke(x).unwrap();
            for (count, event) in counts.iter_mut().zip(events) {
                *count += f64::from(u8::from(event(&released)));
            }
        }
        counts.into_iter().map(|count: f64| count / f64::from(draws)).collect::<Vec<f64>>()
    };
    let (at_x, at_y) = (frequencies(x), frequencies(y));
    let worst = |first: &[f64], second: &[f64]| {
        let factor = epsilon.exp();
        let pairs = first.iter().zip(second).map(|(p, q)| {
            let variance = p * (1.0 - p) + factor * factor * q * (1.0 - q);
            (p - factor * q) / ((variance + 1.0 / f64::from(draws)) / f64::from(draws)).sqrt()
        });
        pairs.fold(f64::NEG_INFINITY, f64::max)
    };
    worst(&at_x, &at_y).max(worst(&at_y, &at_x))
}

#[test]
fn draws_of_a_float_keep_to_the_map_on_every_lattice() {
    let input = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new()).unwrap();
    // In some pairs, the neighbours have different nearest lattice points. For `k = 2`, the step of
    // the lattice is 4, but the distance between the neighbours is only 1.
    for (x, y, k) in
        [(0.0, 1.0, None), (0.5, 1.5, Some(0)), (1.0, 2.0, Some(2)), (-0.1, 0.9, Some(-3))]
    {
        let scale = |scale: f64| Scale::new(scale).unwrap();
        let honest = make_laplace(input.clone(), scale(1.0), k).unwrap();
        let cheat = make_laplace(input.clone(), scale(0.5), k).unwrap();
        let epsilon = honest.map(&(y - x)).unwrap();
        let events: Vec<Event<f64>> = vec![
            Box::new(move |r| *r <= x),
            Box::new(move |r| y <= *r),
            Box::new(move |r| *r < x - 1.0),
            Box::new(move |r| y + 1.0 < *r),
            Box::new(|r| *r == 0.0),
        ];
        let events: Vec<&dyn Fn(&f64) -> bool> = events.iter().map(|event| &**event).collect();
        let found = excess(&honest, (&x, &y), epsilon, &events);
        assert!(found < LIMIT, "k {k:?}: {found} standard deviations");
        let found = excess(&cheat, (&x, &y), epsilon, &events);
        assert!(found > LIMIT, "k {k:?}: half the noise goes unnoticed at {found}");
    }
}
#[test]
fn draws_of_a_vector_keep_to_the_map() {
    let domain = VectorDomain::new(AtomDomain::<f32>::non_nan());
    let input = Space::new(domain, L1Distance::<f32>::new()).unwrap();
    let (x, y) = (vec![0.0, 0.0], vec![1.0, -0.5]);
    let release = |scale| make_laplace(input.clone(), Scale::new(scale).unwrap(), None).unwrap();
    let epsilon = release(2.0).map(&1.5).unwrap();
    assert_eq!(epsilon, 0.75);
    let low: &dyn Fn(&Vec<f32>) -> bool = &|r| r[0] <= 0.0 && 0.0 <= r[1];
    let high: &dyn Fn(&Vec<f32>) -> bool = &|r| 1.0 <= r[0] && r[1] <= -0.5;
    assert!(excess(&release(2.0), (&x, &y), epsilon, &[low, high]) < LIMIT);
    assert!(excess(&release(1.0), (&x, &y), epsilon, &[low, high]) > LIMIT);
}
#[test]
fn draws_of_an_integer_keep_to_the_map() {
    let input = Space::new(AtomDomain::<u8>::default(), AbsoluteDistance::<u8>::new()).unwrap();
    let release = |scale| make_laplace(input.clone(), Scale::new(scale).unwrap(), None).unwrap();
    // For the unsigned input 0, all negative noise gives the release 0 by saturation.
    let epsilon = release(2.0).map(&2).unwrap();
    let events: [&dyn Fn(&u8) -> bool; 3] = [&|r| *r == 0, &|r| 2 <= *r, &|r| *r == 1];
    assert!(excess(&release(2.0), (&0, &2), epsilon, &events) < LIMIT);
    assert!(excess(&release(1.0), (&0, &2), epsilon, &events) > LIMIT);
}

fn check_choice<T, M>(metric: M, d_in: M::Distance, (x, y): (Vec<T>, Vec<T>), optimize: Optimize)
where
    T: opendp_core::Atom + Number + crate::samplers::Score,
    M: opendp_core::MetricOn<VectorDomain<AtomDomain<T>>> + crate::ScoreMetric,
{
    let input = Space::new(VectorDomain::new(AtomDomain::non_nan()), metric).unwrap();
    let choice = |temperature| {
        let temperature = Temperature::new(temperature).unwrap();
        make_gumbel_max(input.clone(), temperature, optimize).unwrap()
    };
    let epsilon = choice(2.0).map(&d_in).unwrap();
    let events: Vec<Event<usize>> =
        (0..x.len()).map(|i| Box::new(move |r: &usize| *r == i) as Box<_>).collect();
    let events: Vec<&dyn Fn(&usize) -> bool> = events.iter().map(|event| &**event).collect();
    let found = excess(&choice(2.0), (&x, &y), epsilon, &events);
    assert!(found < LIMIT, "{optimize:?}: {found} standard deviations");
    let found = excess(&choice(1.0), (&x, &y), epsilon, &events);
    assert!(found > LIMIT, "{optimize:?}: half the temperature goes unnoticed at {found}");
}
#[test]
fn draws_of_an_index_keep_to_the_map() {
    for optimize in [Optimize::Max, Optimize::Min] {
        // From the first vector of this pair to the second vector, one score rises, and the other
        // two scores fall.
        let pair = (vec![0, 5, 5], vec![2, 3, 3]);
        check_choice(RangeDistance::<i32>::new(), 4, pair.clone(), optimize);
        check_choice(LInfDistance::<i32>::new(false), 2, pair, optimize);
        let pair = (vec![-6.0, 0.0, 0.0], vec![-4.0, 0.0, 0.0]);
        check_choice(LInfDistance::<f64>::new(true), 2.0, pair, optimize);
    }
}
#[test]
fn draws_of_a_noisy_index_keep_to_the_map() {
    let input = Space::new(VectorDomain::default(), LInfDistance::<i32>::new(false)).unwrap();
    let choice = |scale| {
        let scale = Scale::new(scale).unwrap();
        make_noisy_max(input.clone(), TheMeasure(MaxDivergence), scale, false).unwrap()
    };
    // Two equal scores change in opposite directions. For these scores, the exact loss of
    // permute-and-flip equals the loss that the map states.
    let (x, y) = (vec![0, 0], vec![1, -1]);
    let epsilon = choice(2.0).map(&1).unwrap();
    let events: [&dyn Fn(&usize) -> bool; 2] = [&|r| *r == 0, &|r| *r == 1];
    let found = excess(&choice(2.0), (&x, &y), epsilon, &events);
    assert!(found < LIMIT, "{found} standard deviations");
    let found = excess(&choice(1.0), (&x, &y), epsilon, &events);
    assert!(found > LIMIT, "half the scale goes unnoticed at {found}");
}
#[test]
fn draws_of_a_randomized_response_keep_to_the_map() {
    let honest = make_randomized_response_bool(0.75, true).unwrap();
    let epsilon = honest.map(&1).unwrap();
    let events: [&dyn Fn(&bool) -> bool; 2] = [&|r| *r, &|r| !*r];
    assert!(excess(&honest, (&true, &false), epsilon, &events) < LIMIT);
    let cheat = make_randomized_response_bool(0.8, true).unwrap();
    assert!(excess(&cheat, (&true, &false), epsilon, &events) > LIMIT);

    let answer = |prob| make_randomized_response(vec![1, 2, 3], prob).unwrap();
    let epsilon = answer(0.5).map(&1).unwrap();
    let events: [&dyn Fn(&i32) -> bool; 3] = [&|r| *r == 1, &|r| *r == 2, &|r| *r == 3];
    // The first pair of data consists of two categories. The second pair consists of a category and
    // a value that is not a category.
    for pair in [(&1, &2), (&3, &9)] {
        assert!(excess(&answer(0.5), pair, epsilon, &events) < LIMIT);
    }
    assert!(excess(&answer(0.6), (&1, &2), epsilon, &events) > LIMIT);
}
