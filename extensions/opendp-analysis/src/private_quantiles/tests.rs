use std::collections::HashMap;

use opendp_core::erased::{AnyDistance, AnyValue};
use opendp_core::{
    Args, AtomDomain, ChangeOneDistance, MaxDivergence, Metric, Registration, SymmetricDistance,
    VectorDomain, ZeroConcentratedDivergence, laws,
};
use serde_json::json;

use super::accuracy::bound_of;
use super::chooser::distances;
use super::*;
use crate::make_private_quantile;
use crate::private_quantile::tests::only;
use opendp_measurements::SelectionMeasure;
use opendp_transformations::Alpha;

fn space() -> Space<Rows<i32>, SymmetricDistance> {
    Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap()
}
fn made<MO: SelectionMeasure>(
    measure: MO,
    candidates: &[i32],
    alphas: &[f64],
    scale: f64,
) -> Result<Measurement<Rows<i32>, SymmetricDistance, MO, Vec<i32>>> {
    let scale = Scale::new(scale).unwrap();
    make_private_quantiles(
        space(),
        TheMeasure(measure),
        candidates.to_vec(),
        alphas.to_vec(),
        scale,
    )
}
const QUARTILES: [f64; 3] = [0.25, 0.5, 0.75];

#[test]
fn each_level_costs_the_same_and_there_are_few() {
    let alphas = |n: usize| (1..=n).map(|k| k as f64 / (n + 1) as f64).collect::<Vec<_>>();
    for (n, levels) in [(1, 1.0), (2, 2.0), (3, 2.0), (4, 3.0), (7, 3.0), (9, 4.0), (15, 4.0)] {
        let pure = made(MaxDivergence, &[0, 1], &alphas(n), 4.0).unwrap();
        assert_eq!(
            [0, 1, 3].map(|d| pure.map(&d).unwrap()),
            [0.0, 1.0, 3.0].map(|d| d * levels / 4.0)
        );
        let root = made(ZeroConcentratedDivergence, &[0, 1], &alphas(n), 4.0).unwrap();
        assert_eq!(root.map(&2), Ok(levels / 32.0));
    }
    assert_eq!(made(MaxDivergence, &[0, 1], &QUARTILES, 0.0).unwrap().map(&1), Ok(f64::INFINITY));
}
#[test]
fn releases_the_quantiles_themselves_without_noise() {
    let tenths: Vec<f64> = (1..10).map(|k| f64::from(k) / 10.0).collect();
    let years: Vec<i32> = (0..=100).rev().collect();
    let release = made(MaxDivergence, &years, &tenths, 0.0).unwrap();
    let data: Vec<i32> = (0..=1000).map(|i| i % 101).collect();
    let near = |found: &[i32], wanted: &[i32]| {
        assert!(found.iter().zip(wanted).all(|(x, y)| (x - y).abs() <= 1), "{found:?}");
    };
    near(&release.invoke(&data).unwrap(), &[10, 20, 30, 40, 50, 60, 70, 80, 90]);
    // Half of the rows are 7. The other rows are above the last candidate, 100, so candidate 100
    // represents these rows. So every candidate from 7 to 100 is a median.
    let data: Vec<i32> = (0..1000).map(|i| if i < 500 { 7 } else { i }).collect();
    let found = release.invoke(&data).unwrap();
    assert_eq!(found, [7, 7, 7, 7, found[4], 100, 100, 100, 100]);
    // Each of two adjacent candidates represents half of a row between them. So, for the rows from
    // 0 to 100, candidate 50 represents the ranks from 25.5 to 75.5.
    let coarse = made(MaxDivergence, &[0, 50, 100], &[0.3, 0.5, 0.7], 0.0).unwrap();
    assert_eq!(coarse.invoke(&(0..=100).collect()), Ok(vec![50, 50, 50]));
    assert_eq!(coarse.invoke(&(0..=30).collect()).unwrap()[2], 50);
    assert_eq!(coarse.invoke(&vec![]).unwrap().len(), 3);
}
/// Each row gives a candidate two halves, or each of two adjacent candidates one half.
#[test]
fn each_row_is_represented_by_one_candidate_or_by_two() {
    for candidates in [&[0][..], &[0, 2], &[-3, 0, 1, 5]] {
        let counts = counts_in_cells(candidates.to_vec());
        for data in laws::vectors(&[-4, -3, -1, 0, 1, 2, 7], 4) {
            let mut halves = vec![0_u64; candidates.len()];
            for row in &data {
                let above = candidates.iter().position(|candidate| row <= candidate);
                let below = candidates.iter().rposition(|candidate| candidate <= row);
                for place in [below.or(above), above.or(below)] {
                    halves[place.unwrap()] += 1;
                }
            }
            assert_eq!(halves_of(&counts.eval(&data).unwrap()), halves, "{candidates:?} {data:?}");
        }
    }
}
#[test]
fn reads_a_stream_of_rows() {
    let release = made(MaxDivergence, &[0, 50, 100], &QUARTILES, 0.0).unwrap();
    let data: Vec<i32> = (0..=100).collect();
    let chunks = data.chunks(7).map(|chunk| Ok(chunk.to_vec()));
    assert_eq!(release.invoke_chunks(chunks), release.invoke(&data));
}
/// Even counts that no data set has, such as the counts of a false partial result, do not overflow.
#[test]
fn counts_of_any_size_do_not_overflow() {
    let halves = halves_of(&[u64::MAX; 5]);
    assert_eq!(halves, [u64::MAX; 2]);
    assert!(positions(&halves, 16).is_sorted());
}
/// Return the number of rows that each candidate represents, in units of half a row.
fn halves_in(candidates: &[i32], data: &[i32]) -> Vec<u64> {
    halves_of(&counts_in_cells(candidates.to_vec()).eval(&data.to_vec()).unwrap())
}
/// Compute the probability of each list of chosen points, if choices have Gumbel noise.
fn law(data: &[i32], candidates: &[i32], alphas: &[f64], scale: f64) -> HashMap<Vec<usize>, f64> {
    let positions = positions(&halves_in(candidates, data), 2);
    let mut all = HashMap::new();
    // Compute the probability of each list of points that are chosen between the points `low` and
    // `high`. `ends` are the levels of these two points.
    fn between(
        (positions, scale): (&[u64], f64),
        alphas: &[f64],
        (low, high): (usize, usize),
        ends: (f64, f64),
    ) -> Vec<(Vec<usize>, f64)> {
        let (below, Some(middle), above) = halves(alphas) else { return vec![(vec![], 1.0)] };
        let part = part(middle, ends);
        let scores = distances(&positions[low..=high], part);
        let unit = scale * part.max(UNIT - part) as f64 * 8.0;
        let least = *scores.iter().min().unwrap();
        let weights: Vec<f64> =
            scores.iter().map(|s| (-((s - least) as f64) / unit).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let mut found = Vec::new();
        for (place, weight) in weights.iter().enumerate() {
            let point = low + place;
            let left = between((positions, scale), below, (low, point), (ends.0, middle));
            let right = between((positions, scale), above, (point, high), (middle, ends.1));
            for (a, p) in &left {
                for (b, q) in &right {
                    let key = [a.as_slice(), &[point], b].concat();
                    found.push((key, weight / sum * p * q));
                }
            }
        }
        found
    }
    for (key, mass) in between((&positions, scale), alphas, (0, positions.len() - 1), (0.0, 1.0)) {
        *all.entry(key).or_insert(0.0) += mass;
    }
    all
}
#[test]
fn no_pair_of_neighbours_loses_more_than_the_map() {
    let candidates = [0, 1, 2, 3];
    let (mut pure, mut concentrated) = (0.0_f64, 0.0_f64);
    let alphas: [&[f64]; 3] = [&QUARTILES, &[0.1, 0.5, 0.6], &[0.4]];
    for (alphas, scale) in alphas.into_iter().flat_map(|alphas| [0.5, 3.0].map(|s| (alphas, s))) {
        let levels = levels(alphas.len()) as f64;
        let (epsilon, rho) = (levels / scale, levels / scale / scale / 8.0);
        for data in
            [vec![], vec![1], vec![0, 2], vec![0, 0, 3, 3], vec![1, 1, 1, 2, 5, -4], vec![2; 9]]
        {
            for row in [-1, 0, 1, 2, 3, 4] {
                let more = [data.as_slice(), &[row]].concat();
                let p = law(&data, &candidates, alphas, scale);
                let q = law(&more, &candidates, alphas, scale);
                let ratios = p.iter().map(|(key, mass)| (mass / q[key]).ln().abs());
                let worst = ratios.fold(0.0, f64::max);
                assert!(
                    worst <= epsilon * (1.0 + 1e-6),
                    "{alphas:?} {data:?} {row}: {worst} {epsilon}"
                );
                pure = pure.max(worst / epsilon);
                for (p, q) in [(&p, &q), (&q, &p)] {
                    let moment: f64 = p.iter().map(|(key, mass)| mass * mass / q[key]).sum();
                    let worst = moment.ln() / 2.0;
                    assert!(
                        worst <= rho * (1.0 + 1e-6),
                        "{alphas:?} {data:?} {row}: {worst} {rho}"
                    );
                    concentrated = concentrated.max(worst / rho);
                }
            }
        }
    }
    // The control: the largest losses exceed six tenths of their bounds. So this test fails if a
    // bound is multiplied by 0.6.
    assert!(0.6 < pure && 0.6 < concentrated, "{pure} {concentrated}");
}
#[test]
fn the_error_is_smaller_than_that_of_one_choice_for_each_quantile() {
    // The ages are not evenly distributed. A third of the rows have the age 40.
    let data: Vec<i32> = (0..900).map(|i| if i % 3 == 0 { 40 } else { i * i % 97 }).collect();
    let alphas: Vec<f64> = (1..10).map(|k| f64::from(k) / 10.0).collect();
    let (years, rho): (Vec<i32>, f64) = ((0..=100).collect(), 0.02);
    let scale = |levels: f64| (levels / rho / 8.0).sqrt();
    let together = made(ZeroConcentratedDivergence, &years, &alphas, scale(4.0)).unwrap();
    assert!(together.map(&1).unwrap() <= rho * (1.0 + 1e-9));
    let apart = |alpha: f64| {
        let (measure, scale) = (TheMeasure(ZeroConcentratedDivergence), Scale::new(scale(9.0)));
        // One row changes all scores. The range of these changes is at most
        // `2 max(alpha, 1 - alpha)`. Multiply the scale of the noise by this range, so that `rho`
        // is the same for each `alpha`.
        let scale = scale.unwrap().value() * 2.0 * alpha.max(1.0 - alpha);
        let (alpha, scale) = (Alpha::new(alpha).unwrap(), Scale::new(scale).unwrap());
        make_private_quantile(space(), measure, years.clone(), alpha, scale).unwrap()
    };
    let rank = |chosen: i32, alpha: f64| {
        let part = |keep: &dyn Fn(i32) -> bool| {
            data.iter().filter(|row| keep(**row)).count() as f64 / data.len() as f64
        };
        let (below, above) = (part(&|row| row < chosen), part(&|row| chosen < row));
        (below - alpha).max(alpha - (1.0 - above)).max(0.0).powi(2)
    };
    let (mut ours, mut others) = (0.0, 0.0);
    let single: Vec<_> = alphas.iter().map(|alpha| apart(*alpha)).collect();
    let bound = rank_bound(years.len(), &alphas, 0.05).unwrap() * scale(4.0) + 4.0 * 320.0 / 32.0;
    let mut missed = [0; 9];
    for _ in 0..120 {
        let chosen = together.invoke(&data).unwrap();
        for (place, alpha) in alphas.iter().enumerate() {
            let error = rank(chosen[place], *alpha);
            missed[place] += usize::from(bound < error.sqrt() * data.len() as f64);
            ours += error;
            others += rank(single[place].invoke(&data).unwrap(), *alpha);
        }
    }
    // At most 6 of 120 errors of a quantile are expected to exceed the bound. Five standard
    // deviations are 12.
    assert!(missed.iter().all(|missed| *missed <= 18), "{missed:?}");
    // `ours` and `others` are sums of squared errors. The expected value of `ours / others` is
    // 0.47.
    assert!(ours < 0.8 * others, "{ours} {others}");
}
#[test]
fn the_error_of_each_quantile_is_within_its_bound_on_all_data() {
    let (candidates, scale, mut tight) = ([0, 1, 2], 1.5, 0.0_f64);
    let alphas: [&[f64]; 3] = [&QUARTILES, &[0.1, 0.5, 0.6], &[0.02, 0.9]];
    for (alphas, alpha) in alphas.into_iter().flat_map(|alphas| [0.5, 0.05].map(|a| (alphas, a))) {
        let levels = levels(alphas.len()) as f64;
        // Each candidate has three points.
        let bound = bound_of(9, alphas, alpha).unwrap() * scale;
        for rows in [1, 4, 10, 20, 30, 45] {
            for data in [vec![1; rows], vec![0; rows], (0..rows as i32).map(|i| i % 3).collect()] {
                let halves = halves_in(&candidates, &data);
                let positions = positions(&halves, 2);
                // On each level, the nearest point can be half of a step from the target.
                let largest = halves.iter().max().copied().unwrap() as f64;
                let omitted = levels * largest / 8.0;
                let mut missed = vec![0.0; alphas.len()];
                for (points, mass) in law(&data, &candidates, alphas, scale) {
                    for (place, point) in points.iter().enumerate() {
                        let rank = positions[*point] as f64 / 4.0;
                        let error = (rank - alphas[place] * rows as f64).abs();
                        missed[place] += if bound + omitted < error { mass } else { 0.0 };
                        tight = tight.max(if bound / 2.0 < error { mass / alpha } else { 0.0 });
                    }
                }
                assert!(missed.iter().all(|missed| *missed <= alpha), "{rows}: {missed:?}");
            }
        }
    }
    // The control: with half of the bound, errors exceed it more often.
    assert!(0.5 < tight, "{tight}");
}
#[test]
fn the_error_of_one_choice_is_beyond_its_bound_almost_as_often_as_promised() {
    // All rows are equal to one of 40 candidates. So one of the 120 points is the median, and the
    // error of each other point is half of the number of rows.
    let (candidates, rows, alpha) = ((0..40).collect::<Vec<i32>>(), 64, 0.05);
    let bound = bound_of(120, &[0.5], alpha).unwrap();
    let missed = |share: f64| {
        let law = law(&vec![7; rows], &candidates, &[0.5], rows as f64 / 2.0 / bound / share);
        let halves = halves_in(&candidates, &vec![7; rows]);
        let positions = positions(&halves, 2);
        let wrong = law.iter().filter(|(points, _)| positions[points[0]] != 2 * rows as u64);
        wrong.map(|(_, mass)| mass).sum::<f64>()
    };
    // The errors are slightly larger than the bound, and then slightly smaller.
    assert!(missed(1.001) <= alpha, "{}", missed(1.001));
    assert!(alpha < missed(0.95), "the control: {}", missed(0.95));
}
#[test]
fn the_bound_is_below_the_union_bound_over_all_quantiles_and_points() {
    let deciles: Vec<f64> = (1..10).map(|k| f64::from(k) / 10.0).collect();
    // The union bound over 100 candidates with 17 points each, over 9 quantiles and 4 levels.
    let union = |points: f64, widths: f64| (points / 0.05).ln() * widths;
    let bound = |candidates| rank_bound(candidates, &deciles, 0.05).unwrap();
    assert!(bound(100) < 0.5 * union(9.0 * 1700.0, 4.54), "{}", bound(100));
    assert!(bound(100) < bound(1000) && bound(1000) < 1.4 * bound(100));
    let quartiles = rank_bound(100, &QUARTILES, 0.05).unwrap();
    assert!(quartiles < 0.65 * union(3.0 * 1700.0, 2.0), "{quartiles}");
    // One choice has the union bound over its points.
    let median = rank_bound(100, &[0.5], 0.05).unwrap();
    assert!((median / union(1700.0, 1.0) - 1.0).abs() < 1e-3, "{median}");
}
#[test]
fn refuses_what_is_no_question() {
    let refused = |candidates: &[i32], alphas: &[f64]| {
        made(MaxDivergence, candidates, alphas, 1.0).unwrap_err().to_string()
    };
    for wrong in [&[][..], &[0.5, 0.25], &[0.5, f64::NAN], &[0.5, 1.5], &[-0.1], &[0.5, 0.5]] {
        assert!(refused(&[1, 2], wrong).contains("alphas"), "{wrong:?}");
    }
    assert!(refused(&[], &[0.5]).contains("candidates"));
    assert!(refused(&[1, 2, 1], &[0.5]).contains("candidates"));
    let nullable = Space::new(Rows::<f64>::default(), SymmetricDistance).unwrap();
    let (measure, scale) = (TheMeasure(MaxDivergence), Scale::new(1.0).unwrap());
    let error = make_private_quantiles(nullable, measure, vec![1.0], vec![0.5], scale).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
    assert_eq!(made(MaxDivergence, &[1], &[0.5], 1e300).unwrap_err().kind(), "Overflow");
}

#[test]
fn replaced_rows_count_twice() {
    let sized = VectorDomain::new(AtomDomain::<i32>::default()).with_size(9);
    let input = Space::new(sized, ChangeOneDistance).unwrap();
    let (measure, scale) = (TheMeasure(MaxDivergence), Scale::new(4.0).unwrap());
    let alphas = QUARTILES.to_vec();
    let release = make_private_quantiles(input, measure, vec![0, 1], alphas, scale).unwrap();
    assert_eq!([0, 1, 3].map(|d| release.map(&d).unwrap()), [0.0, 1.0, 3.0]);
    assert_eq!(release.exact_map(&1).unwrap()[0].to_f64_up(), 1.0);
    assert_eq!(release.map(&u32::MAX).unwrap_err().kind(), "Overflow");
    assert_eq!(release.invoke(&vec![1; 9]).unwrap().len(), 3);
}
#[test]
fn the_registered_one_has_the_map_and_the_releases_of_the_typed_one() {
    let named = |r: &&Registration| r.family.names.contains(&"make_private_quantiles");
    let all: Vec<_> = Registration::all().filter(named).collect();
    let signatures: Vec<_> = all.iter().flat_map(|r| r.signatures()).collect();
    assert_eq!((all.len(), signatures.len()), (12, 12 * 4 * 2));
    assert!(all[0].documentation().starts_with("Make a measurement that releases several"));
    fn check<M: Metric + DatasetMetric + MetricOn<Rows<i32>>>(
        all: &[&'static Registration],
        metric: M,
        per_row: f64,
    ) {
        let input = Space::new(Rows::<i32>::default().with_size(101), metric).unwrap();
        for scale in [0.0, 2.0] {
            let args = Args::new().with("input", &input.erase());
            let args = args.with_value("output_measure", MaxDivergence);
            let args = args.with("candidates", json!([100, 0, 50, 25, 75]));
            let args = args.with("alphas", json!(QUARTILES)).with("scale", json!(scale));
            let erased = only(all, &args).construct(&args).unwrap().measurement().unwrap();
            let (measure, alphas) = (TheMeasure(MaxDivergence), QUARTILES.to_vec());
            let (candidates, scale) = (vec![0, 25, 50, 75, 100], Scale::new(scale).unwrap());
            let typed = make_private_quantiles(input.clone(), measure, candidates, alphas, scale);
            let typed = typed.unwrap();
            for d_in in [0_u32, 1, 7, 1000] {
                let loss = erased.map(&AnyDistance::new(d_in)).unwrap();
                let loss = *loss.downcast_ref::<f64>().unwrap();
                assert_eq!(loss, typed.map(&d_in).unwrap());
                if 0.0 < scale.value() {
                    assert_eq!(loss, per_row * f64::from(d_in));
                }
            }
            let data: Vec<i32> = (0..=100).collect();
            let any = AnyValue::new(data.clone());
            for _ in 0..20 {
                let pair = laws::on_one_tape(|| erased.invoke(&any), || typed.invoke(&data));
                let (released, expected) = pair.unwrap();
                let released = released.unwrap().downcast::<Vec<i32>>().unwrap();
                assert_eq!(released, expected.unwrap());
                assert!(released.is_sorted() && released.len() == 3);
                assert!(0.0 < scale.value() || released == [25, 50, 75]);
            }
        }
    }
    check(&all, SymmetricDistance, 1.0);
    check(&all, ChangeOneDistance, 2.0);
}
