//! Check that answers are possible values of their statistics.

use super::*;
use crate::context::Goal;

fn few() -> Context<MaxDivergence> {
    let table = Table::new().with("x", vec![0.0, 0.0, 1.0]).unwrap();
    let unit = PrivacyUnit::answers_of_person(1).unwrap();
    Context::new(table, unit, Budget::epsilon(400.0).unwrap(), Split::as_you_go()).unwrap()
}
fn cells(context: &Context<MaxDivergence>) -> Rows<'_, MaxDivergence, f64> {
    let share = Budget::epsilon(0.5).unwrap();
    context.query().spending(share).column("x").impute(0.0).clamp(0.0, 1.0)
}
/// Check 100 answers about a number whose possible values are from 0 to `largest`.
fn check(largest: f64, truth: f64, ask: impl Fn() -> Answer<MaxDivergence, f64>) {
    let (mut moved, mut missed) = (0, 0);
    for _ in 0..100 {
        let answer = ask();
        assert!(0.0 <= answer.value && answer.value <= largest, "{}", answer.value);
        let (low, high) = answer.interval(0.05).unwrap();
        assert!(0.0 <= low && low <= high && high <= largest, "{low} {high}");
        assert!(low <= answer.value && answer.value <= high);
        missed += usize::from(truth < low || high < truth);
        // The estimate keeps the released number, so that sums of estimates have no bias.
        let estimate = answer.estimate().unwrap().value();
        assert!((answer.value - estimate.clamp(0.0, largest)).abs() < 1e-12);
        moved += usize::from(estimate != answer.value);
    }
    // Half of the released numbers are moved, on average. Six standard deviations are 30.
    assert!(20 < moved, "{moved}");
    // Five missed intervals are expected. Five standard deviations are 11.
    assert!(missed <= 16, "{missed}");
}
#[test]
fn a_mean_is_within_its_bounds() {
    let context = few();
    check(1.0, 1.0 / 3.0, || cells(&context).mean().laplace().unwrap().release().unwrap());
    check(1.0, 1.0 / 3.0, || {
        let mut plan = context.plan().spending(Budget::epsilon(0.5).unwrap());
        let rows = context.query().column("x").impute(0.0).clamp(0.0, 1.0);
        let mean = plan.ask(rows.mean(), Goal::Weight(1.0)).unwrap();
        plan.solve().unwrap().release().unwrap().take(mean).unwrap()
    });
}
#[test]
fn a_variance_is_a_variance_of_rows_within_the_bounds() {
    let context = few();
    let largest = 1.0 / 3.0 + 1e-15;
    check(largest, 1.0 / 3.0, || cells(&context).variance().laplace().unwrap().release().unwrap());
}
#[test]
fn a_variance_of_a_group_is_a_variance_of_rows_within_the_bounds() {
    // The middle of these bounds is rounded, so the largest distance from the middle is larger than
    // half of the width.
    let (bounds, width) = ((0.0, 1.0 + 1e-12), 1.0 + 1e-12);
    let table = Table::new().with("x", vec![0.0, 1.0]).unwrap();
    let table = table.with("city", vec![true, true]).unwrap();
    let unit = PrivacyUnit::person(1).unwrap();
    let context =
        Context::new(table, unit, Budget::epsilon(400.0).unwrap(), Split::as_you_go()).unwrap();
    for _ in 0..100 {
        let query = context.query().spending(Budget::epsilon(1.0).unwrap());
        let groups =
            query.group_by(["city"]).keys("city", [true]).impute("x", 0.0).variance("x", bounds);
        let rows = groups.release().unwrap().rows(0.05).unwrap();
        let (low, high) = rows[0].interval.unwrap();
        let largest = width * width / 2.0 * (1.0 + 1e-15);
        assert!(0.0 <= low && low <= high && high <= largest, "{low} {high}");
        assert!(low <= rows[0].value && rows[0].value <= high, "{:?}", rows[0]);
    }
}
