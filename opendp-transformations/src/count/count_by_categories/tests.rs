//! Tests of counts by category.

use super::*;
use crate::{symmetric::Records, test_checks::space};
use opendp_core::{ChangeOneDistance, DistanceOn, InsertDeleteDistance, SymmetricDistance, laws};

#[track_caller]
fn check<T: Key, M, MO, TOA: Tally>(alphabet: &[T])
where
    M: DatasetMetric + Default + DistanceOn<Records<T>>,
    MO: Norm + DistanceOn<VectorDomain<AtomDomain<TOA>>>,
{
    for null_category in [true, false] {
        for size in [None, Some(2)] {
            let count = make_count_by_categories::<T, M, MO, TOA>(
                space(size),
                alphabet[..alphabet.len() - 1].to_vec(),
                null_category,
            )
            .unwrap();
            assert!(laws::all(&count, alphabet, 3).unwrap() > 0);
        }
    }
}

#[test]
fn obeys_the_laws_in_both_norms() {
    let words = ["", "a", "A", "é", "longer than eight bytes"].map(str::to_owned);
    check::<_, SymmetricDistance, L1Distance<i32>, i32>(&words);
    check::<_, InsertDeleteDistance, L2Distance<f64>, i32>(&words);
    check::<_, SymmetricDistance, L2Distance<f64>, f64>(&[i64::MIN, -1, 0, 1, i64::MAX]);
    check::<_, InsertDeleteDistance, L1Distance<usize>, usize>(&[u8::MIN, 1, 2, u8::MAX]);
    check::<_, SymmetricDistance, L2Distance<u64>, u64>(&[true, false]);
    check::<_, SymmetricDistance, L1Distance<i64>, i64>(&[-1, i16::MIN, 0, 7, i16::MAX]);
    check::<_, SymmetricDistance, L1Distance<i64>, i64>(&[u64::MAX, 0, 1, 1 << 63]);
}
#[test]
fn a_map_that_is_too_small_is_refused() {
    for (null_category, size) in [(true, None), (false, None), (true, Some(2)), (false, Some(2))] {
        let honest = make_count_by_categories::<_, _, L2Distance<f64>, i32>(
            space::<u8, SymmetricDistance>(size),
            vec![0, 1],
            null_category,
        )
        .unwrap();
        let exact = honest.stability_map().clone();
        let map = StabilityMap::new(move |d: &u32| Ok(exact.eval(d)? * 0.99));
        let (output, function) = (honest.output().clone(), honest.function().clone());
        let wrong = Transformation::new(honest.input().clone(), output, function, map);
        assert!(laws::stable(&wrong, &laws::vectors(&[0, 1, 2], 2)).is_err());
    }
}
#[test]
fn a_known_size_makes_the_euclidean_map_smaller() {
    fn map<M: DatasetMetric + Default + MetricOn<Records<bool>>>(d_in: u32) -> f64 {
        let counts = make_count_by_categories::<_, M, L2Distance<f64>, i32>(
            space(Some(9)),
            vec![true],
            true,
        );
        counts.unwrap().map(&d_in).unwrap()
    }
    let up = std::f64::consts::SQRT_2; // This float is above the real number `sqrt(2)`.
    assert_eq!([0, 1, 2].map(map::<SymmetricDistance>), [0.0, 1.0, up]);
    assert_eq!(map::<ChangeOneDistance>(1), up);
    for d in 1..100 {
        let bound = map::<ChangeOneDistance>(d);
        // The function `mul_add` rounds once, so the sign of its result is exact.
        assert!(0.0 <= bound.mul_add(bound, -f64::from(2 * d * d)), "{d}");
    }
    let whole = make_count_by_categories::<_, SymmetricDistance, L2Distance<i64>, i64>(
        space(Some(9)),
        vec![true],
        true,
    );
    assert_eq!(
        [2, 4, u32::MAX].map(|d| whole.as_ref().unwrap().map(&d).unwrap()),
        [2, 3, 3_037_000_500]
    );
}
#[test]
fn counts_the_same_in_a_range_and_in_a_table() {
    let count = |factor: i64| {
        let categories = [5, -3, 0, 900, 44].map(|x| x * factor).to_vec();
        let made = make_count_by_categories::<_, _, L1Distance<i32>, i32>(
            space::<i64, SymmetricDistance>(None),
            categories,
            true,
        );
        let data: Vec<i64> = (-1000..5000).map(|i| i * i % 1009 * factor).collect();
        made.unwrap().invoke(&data).unwrap()
    };
    assert_eq!(count(1), count(1 << 50));
    assert_eq!(count(1).iter().sum::<i32>(), 6000);
}
#[test]
fn counts_categories_in_order_and_then_the_rest() {
    let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
    let make = |null| {
        make_count_by_categories::<_, _, L1Distance<i32>, i32>(
            space::<String, SymmetricDistance>(None),
            letters("ab"),
            null,
        )
        .unwrap()
    };
    assert_eq!(make(true).invoke(&letters("acabd")).unwrap(), [2, 1, 2]);
    assert_eq!(make(false).invoke(&letters("acabd")).unwrap(), [2, 1]);
    assert_eq!(make(true).output().domain().size(), Some(3));
    assert_eq!(make(true).map(&4), Ok(4));
}
#[test]
fn counts_all_values_of_a_byte() {
    let count = make_count_by_categories::<_, _, L2Distance<f64>, i64>(
        space::<u8, SymmetricDistance>(None),
        (0..=255).collect(),
        true,
    )
    .unwrap();
    let data: Vec<u8> = (0..=255).flat_map(|i| vec![i; i.into()]).collect();
    let found = count.invoke(&data).unwrap();
    assert!(found.iter().zip(0..=255).all(|(count, i)| *count == i) && found[256] == 0);
    assert_eq!(count.map(&4), Ok(4.0));
}
#[test]
fn refuses_a_category_that_occurs_twice() {
    let error = make_count_by_categories::<_, _, L1Distance<i32>, i32>(
        space::<i32, SymmetricDistance>(None),
        vec![1, 2, 1],
        true,
    )
    .unwrap_err();
    assert_eq!(error.kind(), "MakeTransformation");
    assert!(error.to_string().contains("categories"));
}
#[test]
fn refuses_the_partial_result_of_other_categories() {
    let make = |categories| {
        make_count_by_categories::<_, _, L1Distance<i32>, i32>(
            space::<i32, SymmetricDistance>(None),
            categories,
            true,
        )
        .unwrap()
    };
    let bytes = make(vec![1, 2]).start().unwrap().to_bytes().unwrap();
    assert!(make(vec![2, 1]).function().resume(&bytes).is_err());
}
