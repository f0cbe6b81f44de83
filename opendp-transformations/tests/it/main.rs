//! Tests that aggregations return the same bits for any number of threads and any division into
//! chunks.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

mod float_attacks;
mod fragile;
mod listed;
mod partials;
mod user_transformation;

use opendp_core::erased::AnyValue;
use opendp_core::{
    AtomDomain, Bounds, Codec, Domain, Metric, RangeDistance, Space, SymmetricDistance,
    Transformation, VectorDomain,
};
use opendp_transformations::{
    Alpha, make_clamp, make_count, make_count_by, make_count_by_categories, make_count_distinct,
    make_mean, make_quantile_score_candidates, make_sum, make_sum_of_squared_deviations,
    make_variance,
};

/// The number of rows, which is large enough for a fold on all cores.
const ROWS: usize = 300_001;

/// Run a transformation with several numbers of threads. Also run the transformation on chunks and
/// on reversed rows, and merge partial results. Check that all results have the same bits.
#[track_caller]
fn same_bits<T, DI, MI, DO, MO>(transformation: &Transformation<DI, MI, DO, MO>, data: &[T])
where
    T: Clone + Send + Sync + 'static,
    Vec<T>: opendp_core::Carrier,
    DI: Domain<Carrier = Vec<T>>,
    MI: Metric,
    DO: Domain,
    MO: Metric,
{
    let data = data.to_vec();
    let expected = transformation.invoke(&data).unwrap().to_json().to_string();
    let check = |how: String, found: serde_json::Value| {
        assert_eq!(found.to_string(), expected, "{how}");
    };
    let erased = transformation.erase();
    for threads in [1, 2, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let typed = pool.install(|| transformation.invoke(&data)).unwrap();
        check(format!("{threads} threads"), typed.to_json());
        let any = pool.install(|| erased.invoke(&AnyValue::new(data.clone()))).unwrap();
        check(format!("{threads} threads, erased"), any.to_json());
    }
    for size in [997, 4096, 200_000, ROWS] {
        let chunks = data.chunks(size).map(|chunk| Ok(chunk.to_vec()));
        let streamed = transformation.invoke_chunks(chunks).unwrap();
        check(format!("chunks of {size}"), streamed.to_json());
    }
    let mut reversed = data.clone();
    reversed.reverse();
    check("reversed".into(), transformation.invoke(&reversed).unwrap().to_json());
    let mut total = transformation.start().unwrap();
    for part in data.chunks(50_000).rev() {
        let mut partial = transformation.start().unwrap();
        partial.absorb(&part.to_vec()).unwrap();
        let bytes = partial.to_bytes().unwrap();
        total.merge(transformation.function().resume(&bytes).unwrap()).unwrap();
    }
    check("merged from bytes".into(), total.finish().unwrap().to_json());
}

fn floats() -> Vec<f64> {
    (0..ROWS as u64)
        .map(|i| (i.wrapping_mul(2_654_435_761) % 1_000_003) as f64 / 7.0 - 5e4)
        .collect()
}
fn records(size: Option<usize>) -> Space<VectorDomain<AtomDomain<f64>>, SymmetricDistance> {
    let domain = VectorDomain::new(AtomDomain::non_nan());
    let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
    Space::new(domain, SymmetricDistance).unwrap()
}
fn bounds() -> Bounds<f64> {
    Bounds::new(-0.1, 12_345.678).unwrap()
}

#[test]
fn sums_and_means_of_floats() {
    let clamp = make_clamp(records(None), bounds()).unwrap();
    same_bits(&clamp.then(make_sum).unwrap(), &floats());
    let sized = make_clamp(records(Some(ROWS)), bounds()).unwrap();
    same_bits(&sized.then(make_sum).unwrap(), &floats());
    same_bits(&sized.then(make_mean).unwrap(), &floats());
    let spread = |input| make_variance(input, 1);
    same_bits(&sized.then(spread).unwrap(), &floats());
    let spread = make_sum_of_squared_deviations;
    same_bits(&sized.then(spread).unwrap(), &floats());
}
#[test]
fn sums_of_integers_at_the_ends_of_their_type() {
    let data: Vec<i128> =
        (0..ROWS).map(|i| [i128::MAX, i128::MIN, -1, 3, i128::MAX / 2][i % 5]).collect();
    let bounds = Bounds::new(i128::MIN, i128::MAX).unwrap();
    let domain = VectorDomain::new(AtomDomain::bounded(bounds));
    same_bits(&make_sum(Space::new(domain, SymmetricDistance).unwrap()).unwrap(), &data);
}
#[test]
fn counts_and_histograms() {
    let data: Vec<i64> = (0..ROWS as i64).map(|i| i * i % 101).collect();
    let domain = VectorDomain::new(AtomDomain::<i64>::default());
    let input = Space::new(domain, SymmetricDistance).unwrap();
    let count = make_count::<i64, SymmetricDistance, i32>(input.clone()).unwrap();
    same_bits(&count, &data);
    let distinct = make_count_distinct::<i64, SymmetricDistance, i32>(input.clone()).unwrap();
    same_bits(&distinct, &data);
    let by_value = make_count_by::<i64, SymmetricDistance, i64>(input.clone()).unwrap();
    same_bits(&by_value, &data);
    let categories: Vec<i64> = (0..50).collect();
    let histogram =
        make_count_by_categories::<i64, SymmetricDistance, opendp_core::L1Distance<i64>, i64>(
            input, categories, true,
        )
        .unwrap();
    same_bits(&histogram, &data);
}
#[test]
fn quantile_scores() {
    let candidates: Vec<f64> = (0..100).map(|i| f64::from(i) * 1000.0 - 50_000.0).collect();
    let scores = make_quantile_score_candidates::<f64, SymmetricDistance, RangeDistance<u64>>(
        records(None),
        candidates,
        Alpha::new(0.9).unwrap(),
    )
    .unwrap();
    same_bits(&scores, &floats());
}
#[test]
fn a_partial_result_of_other_bounds_is_refused() {
    let sum = |upper| {
        let clamp = make_clamp(records(None), Bounds::new(0.0, upper).unwrap()).unwrap();
        clamp.then(make_sum).unwrap()
    };
    let (ten, twenty) = (sum(10.0), sum(20.0));
    let bytes = ten.start().unwrap().to_bytes().unwrap();
    assert!(ten.function().resume(&bytes).is_ok());
    assert_eq!(twenty.function().resume(&bytes).unwrap_err().kind(), "FailedFunction");
    let mut total = twenty.start().unwrap();
    assert_eq!(total.merge(ten.start().unwrap()).unwrap_err().kind(), "FailedFunction");
    assert!(ten.function().resume(b"{\"fold\": 7}").is_err());
}
