use opendp_core::erased::{AnyDistance, AnyValue};
use opendp_core::{
    Args, ChangeOneDistance, InsertDeleteDistance, Parameter, Registration, SymmetricDistance, laws,
};
use serde_json::json;

use opendp_measurements::SelectionMeasure;

use super::*;

type Records<T> = VectorDomain<AtomDomain<T>>;

fn quantile<M, MO>(
    (size, measure): (Option<usize>, MO),
    candidates: &[i32],
    alpha: (u64, u64),
    scale: f64,
) -> Measurement<Records<i32>, M, MO, i32>
where
    M: DatasetMetric + Default + MetricOn<Records<i32>>,
    MO: SelectionMeasure,
{
    let domain = Records::<i32>::default();
    let domain = size.map_or(domain.clone(), |size| domain.with_size(size));
    let input = Space::new(domain, M::default()).unwrap();
    let alpha = Alpha::from_fraction(alpha.0, alpha.1).unwrap();
    let scale = Scale::new(scale).unwrap();
    make_private_quantile(input, TheMeasure(measure), candidates.to_vec(), alpha, scale).unwrap()
}
const GRID: [i32; 5] = [0, 25, 50, 75, 100];

#[test]
fn costs_what_the_catalogue_lists() {
    // Let `d` be the symmetric distance. At scale 1, the loss of the median is `d` if the size is
    // unknown, and `2 floor(d / 2)` if the size is known.
    let median = |size| quantile::<SymmetricDistance, _>((size, MaxDivergence), &GRID, (1, 2), 1.0);
    assert_eq!([0, 1, 2].map(|d| median(None).map(&d).unwrap()), [0.0, 1.0, 2.0]);
    assert_eq!([1, 2, 3, 4].map(|d| median(Some(9)).map(&d).unwrap()), [0.0, 2.0, 2.0, 4.0]);
    // OpenDP 0.16 returns this loss for the quartile of ten records at scale 2.
    let concentrated = (Some(10), ZeroConcentratedDivergence);
    let quartile = quantile::<SymmetricDistance, _>(concentrated, &GRID, (1, 4), 2.0);
    assert_eq!(quartile.map(&2), Ok(0.125));
    let replaced = quantile::<ChangeOneDistance, _>(concentrated, &GRID, (1, 4), 2.0);
    assert_eq!(replaced.map(&1), Ok(0.125));
    // For `alpha` 0, all scores move in one direction, so the range is half as large.
    let least = quantile::<InsertDeleteDistance, _>((None, MaxDivergence), &GRID, (0, 1), 2.0);
    assert_eq!(least.map(&1), Ok(0.5));
    let exact = quantile::<SymmetricDistance, _>((None, MaxDivergence), &GRID, (1, 2), 0.0);
    assert_eq!([0, 1].map(|d| exact.map(&d).unwrap()), [0.0, f64::INFINITY]);
    assert_eq!(exact.accuracy(0.1), Ok(vec![None]));
}
#[test]
fn releases_the_quantile_itself_without_noise_whatever_the_order_of_candidates() {
    let data: Vec<i32> = (0..=100).collect();
    for candidates in [GRID, [100, 50, 0, 75, 25]] {
        let chosen_at = |alpha| {
            let made = (None, MaxDivergence);
            quantile::<SymmetricDistance, _>(made, &candidates, alpha, 0.0).invoke(&data).unwrap()
        };
        assert_eq!([(0, 1), (1, 4), (1, 2), (3, 4), (1, 1)].map(chosen_at), GRID);
    }
    // Without data, all candidates have the same score. Then the largest candidate is released.
    let none = quantile::<SymmetricDistance, _>((None, MaxDivergence), &GRID, (1, 2), 0.0);
    assert_eq!(none.invoke(&vec![]), Ok(100));
}
#[test]
fn a_frequent_value_is_the_median_also_with_noise() {
    let data = [vec![20; 900], vec![32; 3500], vec![47; 4200], vec![65; 1400]].concat();
    let years: Vec<i32> = (0..=100).collect();
    let made = quantile::<SymmetricDistance, _>((None, MaxDivergence), &years, (1, 2), 2.0);
    // All other candidates are at least 600 ranks from the median.
    assert!((0..100).all(|_| made.invoke(&data) == Ok(47)));
}
#[test]
fn the_noise_is_in_units_of_rows() {
    // Let a be the level of the quantile. With four rows of 0, candidate 0 is 0 rows from the
    // a-quantile, and candidate 1 is 4 (1 - a) rows from the a-quantile. Let the scores of two
    // candidates differ by g times the noise scale. Permute-and-flip chooses the worse candidate
    // with probability exp(-g) / 2.
    fn worse<MO: SelectionMeasure>(measure: MO, alpha: (u64, u64), scale: f64) -> f64 {
        let made = quantile::<SymmetricDistance, _>((None, measure), &[0, 1], alpha, scale);
        let draws = 40_000;
        f64::from((0..draws).map(|_| made.invoke(&vec![0; 4]).unwrap()).sum::<i32>())
            / f64::from(draws)
    }
    for (alpha, gap) in [((1, 2), 2.0_f64), ((1, 4), 3.0), ((9, 10), 0.4)] {
        let pure = (-gap / 4.0).exp() / 2.0;
        // Eight standard deviations of the observed frequency are below 0.02. So the test fails by
        // chance with a probability below 1e-14. The last assertion of this test is a check of the
        // test itself: with a wrong noise scale, the frequency differs by about 0.21 from the
        // expected frequency.
        assert!((worse(MaxDivergence, alpha, 4.0) - pure).abs() < 0.02, "{alpha:?}");
        let softmax = 1.0 / (1.0 + (gap / 4.0).exp());
        assert!((worse(ZeroConcentratedDivergence, alpha, 4.0) - softmax).abs() < 0.02);
    }
    let wrong = worse(MaxDivergence, (1, 4), 1.0);
    assert!((wrong - (-0.75_f64).exp() / 2.0).abs() > 0.02, "a wrong scale is not noticed");
}
#[test]
fn folds_parts_and_streams() {
    let median = quantile::<SymmetricDistance, _>((None, MaxDivergence), &GRID, (1, 2), 1e-3);
    let chunks = vec![Ok((0..50).collect::<Vec<i32>>()), Ok((50..=100).collect())];
    assert_eq!(median.invoke_chunks(chunks), Ok(50));
}
#[test]
fn refuses_candidates_that_are_no_list_of_different_numbers() {
    let make = |candidates: &[f64], alpha, scale| {
        let domain = VectorDomain::new(AtomDomain::<f64>::non_nan());
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let (alpha, scale) = (Alpha::new(alpha).unwrap(), Scale::new(scale).unwrap());
        make_private_quantile(input, TheMeasure(MaxDivergence), candidates.to_vec(), alpha, scale)
    };
    for wrong in [&[][..], &[1.0, 0.0, 1.0], &[0.0, -0.0], &[f64::NAN, 0.0], &[1.0, f64::NAN, 0.0]]
    {
        let error = make(wrong, 0.5, 1.0).unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains("candidates"), "{error}");
    }
    assert!(make(&[1.0, f64::NEG_INFINITY, f64::INFINITY], 0.5, 1.0).is_ok());
    assert_eq!(make(&[1.0], 0.3, f64::MAX).unwrap_err().kind(), "Overflow");
    assert_eq!(make(&[1.0], 0.3, 5e-324).unwrap().map(&1).unwrap_err().kind(), "Overflow");
    let nullable = Space::new(VectorDomain::new(AtomDomain::<f64>::default()), SymmetricDistance);
    let (alpha, scale) = (Alpha::new(0.5).unwrap(), Scale::new(1.0).unwrap());
    let measure = TheMeasure(MaxDivergence);
    let made = make_private_quantile(nullable.unwrap(), measure, vec![1.0], alpha, scale);
    assert_eq!(made.unwrap_err().kind(), "FailedFunction");
}
/// Compute the probability with which permute-and-flip chooses each candidate. The unit of `scores`
/// is the scale of the noise.
fn permute_and_flip(scores: &[f64]) -> Vec<f64> {
    let n = scores.len();
    let best = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let accept: Vec<f64> = scores.iter().map(|score| (best - score).exp()).collect();
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let chance = |i: usize| -> f64 {
        let sets = (0..1_u32 << n).filter(|set| set >> i & 1 == 0).map(|set| {
            let visited = set.count_ones() as usize;
            let orders = factorial(visited) * factorial(n - 1 - visited) / factorial(n);
            let flips = (0..n).filter(|j| set >> j & 1 == 1).map(|j| 1.0 - accept[j]);
            orders * flips.product::<f64>()
        });
        accept[i] * sets.sum::<f64>()
    };
    (0..n).map(chance).collect()
}
#[test]
fn no_ratio_of_exact_probabilities_of_neighbours_exceeds_the_loss() {
    // The candidates are 0, 10 and 20. The values of rows are below, at, between and above the
    // candidates. The larger of two neighbours has at most five rows.
    let rows = [-1, 0, 5, 10, 15, 20, 21];
    let law = |data: &[i32], (a, b): (u64, u64), scale: f64| {
        let count = |keep: &dyn Fn(i32) -> bool| data.iter().filter(|x| keep(**x)).count() as f64;
        let score = |c: i32| {
            let (ideal, first, last) =
                (a as f64 * data.len() as f64 / b as f64, count(&|x| x < c), count(&|x| x <= c));
            (first - ideal).max(ideal - last).max(0.0) / scale
        };
        permute_and_flip(&[0, 10, 20].map(score))
    };
    for alpha in [(1, 2), (1, 4), (0, 1)] {
        let made = (None, MaxDivergence);
        let made = quantile::<SymmetricDistance, _>(made, &[0, 10, 20], alpha, 0.5);
        let (epsilon, mut worst) = (made.map(&1).unwrap(), 0.0_f64);
        for data in opendp_core::laws::vectors(&rows, 4) {
            if !data.is_sorted() {
                continue;
            }
            let before = law(&data, alpha, 0.5);
            for row in rows {
                let after = law(&[data.as_slice(), &[row]].concat(), alpha, 0.5);
                let ratios = before.iter().zip(&after).map(|(p, q)| (p / q).ln().abs());
                worst = ratios.fold(worst, f64::max);
            }
        }
        assert!(worst <= epsilon + 1e-9, "{worst} exceeds {epsilon}");
        assert!(0.5 * epsilon < worst, "half of the stated loss is enough: {worst} of {epsilon}");
    }
}
/// Return the only registration that takes the arguments.
pub(crate) fn only(all: &[&'static Registration], args: &Args) -> &'static Registration {
    let fits = |r: &&Registration| {
        let fits = |p: &Parameter| args.get(&p.name).is_some_and(|arg| p.accepts(arg));
        r.signatures().iter().any(|signature| signature.parameters.iter().all(fits))
    };
    let found: Vec<_> = all.iter().copied().filter(fits).collect();
    let [only] = found[..] else { panic!("{} registrations fit", found.len()) };
    only
}
#[test]
fn is_registered_for_every_type_metric_and_measure() {
    let named = |r: &&Registration| r.family.names.contains(&"make_private_quantile");
    let all: Vec<_> = Registration::all().filter(named).collect();
    let signatures: Vec<_> = all.iter().flat_map(|r| r.signatures()).collect();
    assert_eq!((all.len(), signatures.len()), (12, 12 * 4 * 2));
    assert!(all[0].documentation().starts_with("Make a measurement that releases a quantile"));
    let input = Space::new(Records::<i32>::default(), SymmetricDistance).unwrap().erase();
    let args = Args::new().with("input", &input).with_value("output_measure", MaxDivergence);
    let args = args.with("candidates", json!([10, 0, 20])).with("alpha", json!(0.5));
    let args = args.with("scale", json!(1e-3));
    let only = only(&all, &args);
    let made = only.construct(&args).unwrap().measurement().unwrap();
    let loss = made.map(&AnyDistance::new(1_u32)).unwrap();
    assert_eq!(loss.downcast_ref::<f64>(), Ok(&1000.0));
    let rows = vec![9_i32, 10, 11];
    let chosen = made.invoke(&AnyValue::new(rows.clone())).unwrap();
    assert_eq!(chosen.downcast_ref::<i32>(), Ok(&10));

    assert!(made.measure().is::<MaxDivergence>());
    let concentrated = args.clone().with_value("output_measure", ZeroConcentratedDivergence);
    let root = only.construct(&concentrated).unwrap().measurement().unwrap();
    assert!(root.measure().is::<ZeroConcentratedDivergence>());
    let loss = root.map(&AnyDistance::new(1_u32)).unwrap();
    assert_eq!(loss.downcast_ref::<f64>(), Ok(&125_000.0)); // 1000^2 / 8

    let made = only.construct(&args.with("scale", json!(2.0))).unwrap().measurement().unwrap();
    let (measure, alpha) = (TheMeasure(MaxDivergence), Alpha::new(0.5).unwrap());
    let input = Space::new(Records::<i32>::default(), SymmetricDistance).unwrap();
    let scale = Scale::new(2.0).unwrap();
    let typed = make_private_quantile(input, measure, vec![0, 10, 20], alpha, scale).unwrap();
    let any = AnyValue::new(rows.clone());
    for _ in 0..20 {
        let pair = laws::on_one_tape(|| made.invoke(&any), || typed.invoke(&rows)).unwrap();
        assert_eq!(pair.0.unwrap().downcast::<i32>(), pair.1);
    }
}
