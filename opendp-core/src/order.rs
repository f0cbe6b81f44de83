//! Sorting that is compiled once. The compiler compiles a sort of the standard library again for
//! each type of elements and for each comparison. Each compiled sort has about a thousand
//! instructions. The functions of this module sort indices by a `dyn` comparison. All these sorts
//! have the same types, so only one sort is compiled.

use std::cmp::Ordering;

/// Sort the indices from 0 to `count - 1` by a function that compares two indices. Indices that
/// compare as equal keep their order.
///
/// ```
/// let words = ["three", "one", "seven"];
/// let by_length = opendp_core::order::places(3, &|i, j| words[i].len().cmp(&words[j].len()));
/// assert_eq!(by_length, [1, 0, 2]);
/// ```
pub fn places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|left, right| compare(*left, *right));
    places
}
/// Return the indices of values in ascending order of the values. Equal values keep their order.
/// Values that are not equal to themselves, such as NaN, come last and keep their order.
pub fn ascending<T: PartialOrd>(values: &[T]) -> Vec<usize> {
    let comparable = |value: &T| value.partial_cmp(value).is_some();
    places(values.len(), &|left, right| {
        let (left, right) = (&values[left], &values[right]);
        // If NaN compared as equal to every value, the comparison would not be a total order, and
        // the sort could panic.
        left.partial_cmp(right).unwrap_or_else(|| comparable(right).cmp(&comparable(left)))
    })
}
/// Return copies of values in ascending order.
pub fn sorted<T: PartialOrd + Clone>(values: &[T]) -> Vec<T> {
    let mut sorted = Vec::with_capacity(values.len());
    for place in ascending(values) {
        sorted.push(values[place].clone());
    }
    sorted
}
/// Return the number of values that are less than `value`. The values must be in ascending order.
///
/// ```
/// assert_eq!(opendp_core::order::below(&[1, 3, 3, 7], &3), 1);
/// ```
pub fn below<T: PartialOrd>(values: &[T], value: &T) -> usize {
    let (mut first, mut count) = (0, values.len());
    while 0 < count {
        let half = count.div_ceil(2);
        let low = values[first + half - 1] < *value;
        first += if low { half } else { 0 };
        count -= half;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_as_a_stable_sort_does() {
        for seed in 0..200_u64 {
            let draw = |i: u64| ((seed + 1) * (i * i + 7 * i + 3)) % 11;
            let values: Vec<(u64, u64)> = (0..seed % 23).map(|i| (draw(i), i)).collect();
            let mut expected = values.clone();
            expected.sort_by_key(|(key, _)| *key);
            let found = places(values.len(), &|i, j| values[i].0.cmp(&values[j].0));
            let found: Vec<_> = found.into_iter().map(|place| values[place]).collect();
            assert_eq!(found, expected);
        }
        assert_eq!(sorted(&[2.5, -0.0, 0.0, f64::INFINITY, -1.0])[..3], [-1.0, -0.0, 0.0]);
        assert_eq!(ascending(&[-0.0, 0.0, -1.0]), [2, 0, 1]);
        assert!(sorted::<i32>(&[]).is_empty());
    }
    #[test]
    fn finds_the_values_below_each_value() {
        for length in 0..40_u32 {
            let values: Vec<u32> = (0..length).map(|i| i / 3 * 2).collect();
            for value in 0..length + 2 {
                assert_eq!(below(&values, &value), values.partition_point(|x| *x < value));
            }
        }
    }
    #[test]
    fn nan_comes_last() {
        for seed in 0..50_u64 {
            let draw = |i: u64| (seed + 7) * (i * i + 3 * i + 1) % 13;
            let value = |i| if draw(i) < 5 { f64::NAN } else { draw(i) as f64 };
            let found = sorted(&(0..100).map(value).collect::<Vec<_>>());
            let numbers = found.iter().take_while(|value| !value.is_nan()).count();
            assert!(found[..numbers].is_sorted() && found[numbers..].iter().all(|x| x.is_nan()));
        }
    }
}
