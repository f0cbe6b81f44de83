//! Test sums of integers whose type has few bits or no negative numbers, and means of `f32`
//! numbers and of integers.

use opendp_core::Atom;

use super::*;

fn with_column<T: Atom>(rows: Vec<T>, budget: f64) -> Context<MaxDivergence> {
    let table = Table::new().with("place", (0..rows.len()).map(|i| i as i64).collect());
    let table = table.and_then(|table| table.with("number", rows)).unwrap();
    let (unit, split) = (PrivacyUnit::person(1).unwrap(), Split::as_you_go());
    Context::new(table, unit, Budget::epsilon(budget).unwrap(), split).unwrap()
}

#[test]
fn the_sum_of_narrow_integers_can_exceed_their_type() {
    let exact = || Budget::epsilon(1e6).unwrap();
    let ages = with_column::<u8>((0..1000).map(|i| [20, 90, 130][i % 3]).collect(), 1e6);
    let rows = ages.query().spending(exact()).column::<u8>("number").clamp(0, 120);
    let sum = rows.sum().laplace().unwrap().release().unwrap();
    assert_eq!(sum.value, 334 * 20 + 333 * 90 + 333 * 120);
    assert_eq!(sum.interval(0.05).unwrap(), (76_610.0, 76_610.0));
    let debts = with_column(vec![-30_000_i16; 1000], 1e6);
    let rows = debts.query().spending(exact()).column::<i16>("number").clamp(-30_000, 0);
    assert_eq!(rows.sum().laplace().unwrap().release().unwrap().value, -30_000_000);
}
/// Check that means and variances of `f32` rows are not rounded to `f32`. Here the spacing of `f32`
/// numbers is 0.0625 at a million, and the scales of the noise are below 0.001.
#[test]
fn means_of_small_floats_are_as_precise_as_their_intervals_state() {
    let context = with_column(vec![1e6_f32, 1e6, 1e6_f32.next_up()], 2e15);
    let rows = |epsilon: f64| {
        let query = context.query().spending(Budget::epsilon(epsilon).unwrap());
        query.column::<f32>("number").impute(0.0).clamp(0.0, 2e6).resize(3)
    };
    let mean = rows(1e9).mean().laplace().unwrap().release().unwrap();
    let (low, high) = mean.interval(1e-9).unwrap();
    let truth = 1e6 + 0.0625 / 3.0;
    assert!(low <= truth && truth <= high && high - low < 0.1, "{low} {truth} {high}");
    let variance = rows(1e15).variance().laplace().unwrap().release().unwrap();
    let (low, high) = variance.interval(1e-9).unwrap();
    let truth = 0.0625 * 0.0625 / 3.0;
    assert!(low <= truth && truth <= high && high - low < 0.2, "{low} {truth} {high}");
}
/// Rows of integers are converted to floats first, and cells out of the bounds are moved.
#[test]
fn means_and_variances_of_integers_are_those_of_the_same_floats() {
    fn check<T: Averaged>(rows: [T; 4], bounds: [T; 2], mean: f64, variance: f64) {
        let context = with_column(rows.to_vec(), 1e9);
        let rows = || {
            let query = context.query().spending(Budget::epsilon(1e6).unwrap());
            query.column::<T>("number").clamp(bounds[0], bounds[1]).resize(4)
        };
        let answers = [(rows().mean(), mean), (rows().variance(), variance)];
        for (statistic, truth) in answers {
            let question = statistic.laplace().unwrap();
            let scale = question.scale();
            let answer = question.release().unwrap();
            assert!((answer.value - truth).abs() <= 50.0 * scale, "{} {truth}", answer.value);
            assert!(scale <= 2e-5 * (1.0 + truth.abs()), "{scale}");
        }
    }
    check::<i64>([1, 2, 3, 99], [0, 10], 4.0, 50.0 / 3.0);
    check::<u8>([1, 2, 3, 255], [0, 10], 4.0, 50.0 / 3.0);
    check::<i32>([-1, -2, -3, -99], [-10, 0], -4.0, 50.0 / 3.0);
    // The bounds are rounded to floats, too. Both rows become the float 2^53.
    let large = (1_i64 << 53) + 1;
    let context = with_column(vec![large; 2], 1e9);
    let query = context.query().spending(Budget::epsilon(1.0).unwrap());
    let rows = query.column::<i64>("number").clamp(large, large).resize_with(2, large);
    assert_eq!(rows.mean().laplace().unwrap().release().unwrap().value, (1_i64 << 53) as f64);
}
#[test]
fn a_sum_near_an_end_of_its_type_has_no_interval() {
    let largest = 1_000_000_000_000_000_000_i64;
    for (rows, has_interval) in [(4, true), (20, false)] {
        let context = with_column(vec![largest; rows], 1e6);
        let query = context.query().spending(Budget::epsilon(1e6).unwrap());
        let sum = query.column::<i64>("number").clamp(0, largest).sum().laplace().unwrap();
        let sum = sum.release().unwrap();
        assert_eq!(sum.interval(0.05).is_ok(), has_interval);
        assert_eq!(sum.estimate().is_ok(), has_interval);
        assert_eq!(sum.accuracy.is_some(), has_interval);
        if !has_interval {
            let error = sum.interval(0.05).unwrap_err().to_string();
            assert!(error.contains("an end of the type `i64`"), "{error}");
        }
    }
}
#[test]
fn a_candidate_at_an_end_of_its_type_has_an_error_in_ranks() {
    let context = with_column(vec![i64::MAX; 20], 1e6);
    let query = context.query().spending(Budget::epsilon(1e6).unwrap());
    let median = query.column::<i64>("number").median(vec![0, i64::MAX]).choose().unwrap();
    let answer = median.release().unwrap();
    assert!(answer.value == i64::MAX && answer.accuracy.is_some());
}
/// A noisy sum below 0 is released as 0. So if the true sums are 0, no error is negative, and
/// errors do not cancel in a total.
#[test]
fn intervals_of_sums_of_unsigned_answers_include_the_errors_at_the_end_of_the_type() {
    let mut inside = 0;
    for _ in 0..20 {
        let context = with_column(vec![0_u64; 100], 10.1);
        let sum_at = |place: i64| {
            let query = context.query().spending(Budget::epsilon(0.1).unwrap());
            let rows = query.filter("place", move |own: &i64| *own == place);
            let sum = rows.column::<u64>("number").clamp(0, 1).sum().laplace().unwrap();
            sum.release().unwrap().estimate().unwrap()
        };
        let sums: Vec<Estimate> = (0..100).map(sum_at).collect();
        let (low, high) = Estimate::sum(&sums).unwrap().interval(0.05).unwrap();
        inside += usize::from(low <= 0.0 && 0.0 <= high);
    }
    // At least 19 of 20 intervals are expected to contain 0. The probability that fewer than 8
    // intervals contain 0 is below 1e-12. The total of the 100 sums is about 500. A noisy sum below
    // 0 is replaced by 0. If the interval of the total did not include the error of this
    // replacement, the bound on the error of the total would be about 280. Then almost no interval
    // would contain 0.
    assert!(8 <= inside, "{inside}");
}
