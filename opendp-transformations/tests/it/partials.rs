//! Tests that a function accepts a partial result only from a function with the same steps and
//! spaces.

use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Bounds, Carrier, Chunk, Column, ColumnDomain, DataFrame,
    DataFrameDomain, Domain, Fold, Function, L1Distance, Metric, RangeDistance, Result, Space,
    StabilityMap, SymmetricDistance, Transformation, VectorDomain,
};
use opendp_transformations::{
    Alpha, Pairwise, make_cast_default, make_clamp, make_count, make_count_by,
    make_count_by_categories, make_count_distinct, make_filter, make_filter_bounds,
    make_filter_values, make_impute_constant, make_is_equal, make_mean,
    make_quantile_score_candidates, make_resize, make_row_by_row, make_select_column,
    make_sized_bounded_covariance, make_sum, make_user_transformation, make_variance,
};

type Rows<T> = VectorDomain<AtomDomain<T>>;
type Records<T> = Space<Rows<T>, SymmetricDistance>;

fn records<T: Atom>() -> Records<T> {
    Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap()
}
fn bounds<T: Atom>(lower: T, upper: T) -> Bounds<T> {
    Bounds::new(lower, upper).unwrap()
}
/// Return whether `taker` accepts a partial result of `giver`. The check merges the partial result
/// into a state of `taker`, and also resumes `taker` from the bytes of the partial result. Both
/// attempts must agree.
#[track_caller]
fn taken<I: Carrier, O: Carrier>(giver: &Function<I, O>, taker: &Function<I, O>) -> bool {
    let state = giver.start().unwrap();
    let resumed = taker.resume(&state.to_bytes().unwrap());
    let merged = taker.start().unwrap().merge(state);
    for error in [resumed.as_ref().err(), merged.as_ref().err()].into_iter().flatten() {
        assert_eq!(error.kind(), "FailedFunction", "{error}");
    }
    assert_eq!(resumed.is_ok(), merged.is_ok());
    merged.is_ok()
}
/// Build two copies of each function. Check that one copy accepts a partial result of the other
/// copy. Check that each function rejects the partial results of the other functions in the list.
#[track_caller]
fn all_differ<DI: Domain, MI: Metric, DO: Domain, MO: Metric>(
    make: &[&dyn Fn() -> Transformation<DI, MI, DO, MO>],
) {
    for (i, giver) in make.iter().enumerate() {
        for (j, taker) in make.iter().enumerate() {
            assert_eq!(taken(giver().function(), taker().function()), i == j, "of {i} by {j}");
        }
    }
}
fn counted<DI: Domain, MI: Metric>(
    before: &Transformation<DI, MI, Rows<i32>, SymmetricDistance>,
) -> Transformation<DI, MI, AtomDomain<i32>, AbsoluteDistance<i32>> {
    before.then(make_count::<i32, _, i32>).unwrap()
}

#[test]
fn states_of_counts_after_other_filters_are_refused() {
    let within = |lower, upper| make_filter_bounds(records(), bounds(lower, upper)).unwrap();
    let values = |values: &[i32]| make_filter_values(records(), values.to_vec()).unwrap();
    all_differ(&[
        &|| make_count::<i32, _, i32>(records()).unwrap(),
        &|| counted(&within(0, 10)),
        &|| counted(&within(5, 20)),
        &|| counted(&values(&[5, 20])),
        &|| counted(&values(&[5])),
        &|| counted(&within(0, 10).then(|rows| make_filter_values(rows, vec![5])).unwrap()),
    ]);
}
#[test]
fn states_of_sums_of_other_columns_are_refused() {
    let schema = || {
        let column =
            |name: &str| (name.to_owned(), ColumnDomain::new(AtomDomain::bounded(bounds(0, 10))));
        let schema = DataFrameDomain::with_schema(["x", "y"].map(column)).unwrap();
        Space::new(schema, SymmetricDistance).unwrap()
    };
    let sum = |name: &str| {
        let column = make_select_column::<String, i32, _>(schema(), name.to_owned()).unwrap();
        column.then(make_sum).unwrap()
    };
    all_differ(&[&|| sum("x"), &|| sum("y")]);
    // If the merge below were accepted, its result would be a sum over two different columns.
    let frame = |x, y| {
        let columns = [("x", x), ("y", y)].map(|(n, cell)| (n.to_owned(), Column::new(vec![cell])));
        DataFrame::new(columns).unwrap()
    };
    let (mut x, mut y) = (sum("x").start().unwrap(), sum("y").start().unwrap());
    x.absorb(&frame(1, 2)).unwrap();
    y.absorb(&frame(3, 4)).unwrap();
    assert!(x.merge(y).is_err());
}
#[test]
fn a_state_of_an_unsized_sum_does_not_finish_as_a_sized_one() {
    let sum = |size: Option<usize>| {
        let domain = VectorDomain::new(AtomDomain::bounded(bounds(0.0, 0.7)));
        let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
        make_sum(Space::new(domain, SymmetricDistance).unwrap()).unwrap()
    };
    all_differ(&[&|| sum(None), &|| sum(Some(10)), &|| sum(Some(20))]);
}
#[test]
fn a_quantile_state_with_another_number_of_cells_does_not_resume() {
    let input = VectorDomain::new(AtomDomain::<i32>::default());
    let scores = |candidates: &[i32], alpha: f64| {
        let input = Space::new(input.clone(), SymmetricDistance).unwrap();
        let (candidates, alpha) = (candidates.to_vec(), Alpha::new(alpha).unwrap());
        make_quantile_score_candidates::<_, _, RangeDistance<u64>>(input, candidates, alpha)
            .unwrap()
    };
    let median = || scores(&[1, 2, 3], 0.5);
    all_differ(&[&median, &|| scores(&[1, 2], 0.5), &|| scores(&[1, 2, 3], 0.25)]);
    let bytes = String::from_utf8(median().start().unwrap().to_bytes().unwrap()).unwrap();
    let resume = |cells: &str| {
        let forged = bytes.replace("[0,0,0,0,0,0,0]", cells);
        median().function().resume(forged.as_bytes()).and_then(|state| state.finish())
    };
    assert_eq!(resume("[0,0,0,0,0,0,0]").unwrap().len(), 3);
    for cells in ["[0,0,0,0,0]", "[0,0,0,0,0,0,0,0,0]", "[]"] {
        assert_eq!(resume(cells).unwrap_err().kind(), "FailedFunction", "{cells}");
    }
}
#[test]
fn arguments_count_to_the_bit_and_so_does_the_order_of_steps() {
    let sum = |upper: f64, value: f64| {
        let input = make_impute_constant(records::<f64>(), value).unwrap();
        let clamp = input.then(|rows| make_clamp(rows, bounds(0.0, upper))).unwrap();
        clamp.then(make_sum).unwrap()
    };
    all_differ(&[&|| sum(1.0, 0.5), &|| sum(1.0_f64.next_up(), 0.5), &|| {
        sum(1.0, 0.5_f64.next_down())
    }]);
    let (first, second) = (
        |x: Records<i32>| make_filter_bounds(x, bounds(0, 9)),
        |x| make_filter_bounds(x, bounds(0, 5)),
    );
    let both = || counted(&first(records()).unwrap().then(second).unwrap());
    all_differ(&[&both, &|| counted(&second(records()).unwrap().then(first).unwrap())]);
    let cast =
        |chain: Transformation<Rows<i64>, SymmetricDistance, Rows<i32>, SymmetricDistance>| {
            counted(&chain)
        };
    let is = |value: i64| {
        let equal = make_is_equal(records::<i64>(), value).unwrap();
        cast(equal.then(make_cast_default::<bool, _, i32>).unwrap())
    };
    all_differ(&[
        &|| cast(make_cast_default(records::<i64>()).unwrap()),
        &|| is(i64::MAX),
        &|| is(i64::MAX - 1),
    ]);
}
#[test]
fn a_closure_without_a_label_knows_only_its_own_states() {
    let even = || counted(&make_filter(records(), |row: &i32| row % 2 == 0).unwrap());
    let (first, other) = (even(), even());
    assert!(taken(first.function(), first.clone().function()));
    assert!(taken(
        first.function(),
        &first
            .erase()
            .typed::<Rows<i32>, SymmetricDistance, AtomDomain<i32>, AbsoluteDistance<i32>>()
            .unwrap()
            .function()
            .clone()
    ));
    assert!(!taken(first.function(), other.function()));
    let error = first.start().unwrap().merge(other.start().unwrap()).unwrap_err();
    assert!(error.to_string().contains("`Function::labelled`"), "{error}");
    let bytes = first.start().unwrap().to_bytes().unwrap();
    assert_eq!(bytes, first.clone().start().unwrap().to_bytes().unwrap());
    assert_ne!(bytes, other.start().unwrap().to_bytes().unwrap());
    // If a row function has no label, two calls of the constructor give two different functions.
    // Each function rejects the partial results of the other function.
    let third = || {
        let third = make_row_by_row(records(), AtomDomain::default(), |row: &i32| row / 3);
        counted(&third.unwrap())
    };
    assert!(!taken(third().function(), third().function()));
}
#[test]
fn a_closure_with_a_label_is_known_by_it() {
    let multiples = |divisor: i32| {
        let kept = make_filter(records(), move |row: &i32| row % divisor == 0).unwrap();
        counted(&kept.labelled(move || format!("multiples of {divisor}")))
    };
    all_differ(&[&|| multiples(2), &|| multiples(3)]);
}

/// A fold that counts rows of any type.
struct Count;
impl<T: Carrier> Fold<T, i32> for Count {
    type State = u32;
    fn label(&self) -> String {
        "count".into()
    }
    fn start(&self) -> u32 {
        0
    }
    fn absorb(&self, count: &mut u32, rows: T::Chunk<'_>) -> Result<()> {
        *count += rows.rows() as u32;
        Ok(())
    }
    fn merge(&self, count: &mut u32, other: u32) -> Result<()> {
        *count += other;
        Ok(())
    }
    fn finish(&self, count: u32) -> Result<i32> {
        Ok(count as i32)
    }
}
#[test]
fn user_transformations_refuse_states_of_other_spaces_and_of_other_closures() {
    type Made =
        Transformation<Rows<i32>, SymmetricDistance, AtomDomain<i32>, AbsoluteDistance<i32>>;
    let output = || Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap();
    let make = |input: Records<i32>, function| -> Made {
        make_user_transformation(input, output(), function, StabilityMap::from_constant(1)).unwrap()
    };
    let small = || {
        let domain = VectorDomain::new(AtomDomain::bounded(bounds(0, 1)));
        Space::new(domain, SymmetricDistance).unwrap()
    };
    let double = |label: Option<&'static str>| {
        let double = Function::rows(|rows: &[i32], out: &mut Vec<i32>| {
            out.extend(rows.iter().map(|row| row.saturating_mul(2)));
            Ok(())
        });
        let double = match label {
            Some(label) => double.labelled(move || label.to_owned()),
            None => double,
        };
        double.then(&Function::fold(Count))
    };
    all_differ(&[
        &|| make(records(), Function::fold(Count)),
        &|| make(small(), Function::fold(Count)),
        &|| make(records(), double(Some("double"))),
        &|| make(records(), double(Some("twice"))),
    ]);
    // These two functions share one closure, but their input spaces differ. So each function
    // rejects the partial results of the other function.
    let shared = double(None);
    let (large, small) = (make(records(), shared.clone()), make(small(), shared));
    assert!(!taken(large.function(), small.function()));
    let own = make(records(), double(None));
    assert!(taken(own.function(), own.function()));
    assert!(!taken(own.function(), make(records(), double(None)).function()));
}
#[test]
fn what_follows_the_fold_and_erasing_types_change_nothing() {
    let sum = || make_clamp(records::<i32>(), bounds(0, 9)).unwrap().then(make_sum).unwrap();
    let doubled = sum().function().then(&Function::map(|sum: &i32| Ok(2 * sum)));
    assert!(taken(sum().function(), &doubled) && taken(&doubled, sum().function()));
    assert!(taken(&sum().erase().function().clone(), &sum().erase().function().clone()));
    let bytes = sum().erase().start().unwrap().to_bytes().unwrap();
    assert!(sum().function().resume(&bytes).is_ok());
}
#[test]
fn a_label_is_the_same_text_in_every_build() {
    let clamp = make_clamp(records::<i32>(), bounds(0, 9)).unwrap();
    let bytes = clamp.then(make_sum).unwrap().start().unwrap().to_bytes().unwrap();
    let saved: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let label = concat!(
        r#"[{"space":{"domain":{"vector_domain":{"atom_domain":{"T":"i32"}}},"#,
        r#""metric":"symmetric_distance"}},"#,
        r#"{"label":"clamp[[0,9]]","types":["Vec<i32>","Vec<i32>"]},"#,
        r#"{"space":{"domain":{"vector_domain":{"atom_domain":{"T":"i32","bounds":[0,9]}}},"#,
        r#""metric":"symmetric_distance"}},"#,
        r#"{"fold":"exact sum of i32 within [0, 9]","types":["Vec<i32>","i32"]}]"#,
    );
    assert_eq!(saved["fold"].as_str().unwrap(), label);
}

/// Make variants of the bytes of a partial result. In each variant, one number of the state is
/// replaced by a text from `OTHERS`.
fn mutants(bytes: &[u8]) -> Vec<Vec<u8>> {
    const OTHERS: [&str; 16] = [
        "0",
        "1",
        "-1",
        "255",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "170141183460469231731687303715884105727",
        "-170141183460469231731687303715884105728",
        "340282366920938463463374607431768211455",
        "1e308",
        "null",
        "[]",
        "\"NaN\"",
        "0,0",
    ];
    let text = str::from_utf8(bytes).unwrap();
    let start = text.rfind("\"state\":").unwrap() + 8;
    let digit = |place: usize| matches!(bytes.get(place), Some(b'0'..=b'9' | b'-' | b'.'));
    let begins = |place: &usize| digit(*place) && !digit(place - 1);
    let numbers = (start..bytes.len()).filter(begins);
    let with = |from: usize| {
        let length = (from..).take_while(|place| digit(*place)).count();
        OTHERS.map(|other| [&bytes[..from], other.as_bytes(), &bytes[from + length..]].concat())
    };
    numbers.flat_map(with).collect()
}
/// Make variants of the bytes of a partial result, and resume a function from each variant. If the
/// function accepts the variant, absorb `data` into the resumed state. Then merge this state with a
/// second state that is resumed from the same variant, and finish. No step may panic.
#[track_caller]
fn withstands<DI: Domain, MI: Metric, DO: Domain, MO: Metric>(
    made: &Transformation<DI, MI, DO, MO>,
    data: &DI::Carrier,
) {
    let mut state = made.start().unwrap();
    state.absorb(data).unwrap();
    let (mut refused, mut taken) = (0, 0);
    for bytes in mutants(&state.to_bytes().unwrap()) {
        let Ok(mut hostile) = made.function().resume(&bytes) else {
            refused += 1;
            continue;
        };
        taken += 1;
        hostile.absorb(data).unwrap();
        let _ = hostile.merge(made.function().resume(&bytes).unwrap());
        let _ = hostile.finish();
    }
    assert!(0 < refused && 0 < taken, "{refused} refused, {taken} taken");
}
#[test]
fn no_state_that_was_tampered_with_ends_the_process() {
    let floats = |size: Option<usize>| {
        let domain = VectorDomain::new(AtomDomain::bounded(bounds(-0.1, 7.7)));
        let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
        Space::new(domain, SymmetricDistance).unwrap()
    };
    let data = vec![0.3, 5.0, 7.0];
    withstands(&make_sum(floats(None)).unwrap(), &data);
    withstands(&make_sum(floats(Some(3))).unwrap(), &data);
    withstands(&make_mean(floats(Some(3))).unwrap(), &data);
    withstands(&make_variance(floats(Some(3)), 1).unwrap(), &data);
    let bounded = VectorDomain::new(AtomDomain::bounded(bounds(-5, 9)));
    let bounded = Space::new(bounded, SymmetricDistance).unwrap();
    let numbers = vec![1, 2, 2, 70, -3];
    withstands(&make_sum(bounded).unwrap(), &numbers);
    withstands(&make_count::<i32, _, i32>(records()).unwrap(), &numbers);
    withstands(&make_count_by::<i32, _, i32>(records()).unwrap(), &numbers);
    withstands(&make_count_distinct::<i32, _, i32>(records()).unwrap(), &numbers);
    withstands(&make_resize::<_, _, SymmetricDistance>(records(), 3, 9).unwrap(), &numbers);
    withstands(&make_resize::<_, _, SymmetricDistance>(records(), 30, 9).unwrap(), &numbers);
    let by_categories =
        make_count_by_categories::<i32, _, L1Distance<i32>, i32>(records(), vec![1, 2], true);
    withstands(&by_categories.unwrap(), &numbers);
    let alpha = Alpha::new(0.5).unwrap();
    let scores =
        make_quantile_score_candidates::<_, _, RangeDistance<u64>>(records(), vec![1, 3], alpha);
    withstands(&scores.unwrap(), &numbers);
    let covariance = make_sized_bounded_covariance::<Pairwise<f64>>;
    let covariance = covariance(2, bounds(-1.0, 1.0), bounds(-3.0, 0.1), 1).unwrap();
    withstands(&covariance, &vec![(0.5, -2.0), (-0.7, 0.0)]);
}
