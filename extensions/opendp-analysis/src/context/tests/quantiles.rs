use opendp_measurements::accounting::{Account as Reference, BoundedRangePair};

use super::*;

#[test]
fn several_quantiles_are_one_release_that_costs_what_they_cost_apart() {
    let context = pure(1.0, 1);
    let ages = || context.query().column::<i64>("age");
    let three = ages().quantiles(&[0.25, 0.5, 0.75], (0..100).collect()).choose().unwrap();
    // There are two levels of choices. On each level, each of a person's four rows increases or
    // decreases a score by at most a half. So the range of the changes is at most 4, and the loss
    // of a level is at most `4 / scale`. Here `scale` is the stated scale: the scale for a median.
    let loss = |scale: f64| 4.0 * 2.0 / scale;
    assert!((three.loss().unwrap() / loss(three.scale()) - 1.0).abs() < 1e-9);
    // A quartile has the error of its own choice among 1700 points, plus half of the error of the
    // choice of the median.
    let (error, points) = (three.accuracy(0.05).unwrap() / three.scale(), 1700.0_f64);
    assert!(error > 1.5 * points.ln() + (1.0 / 0.05_f64).ln(), "{error}");
    assert!(error < 1.5 * (points * 2.0 / 0.05).ln(), "{error}");
    for _ in 0..40 {
        let context = pure(1.0, 1);
        let ages = context.query().column::<i64>("age");
        let three = ages.quantiles(&[0.25, 0.5, 0.75], (0..100).collect()).choose().unwrap();
        let chosen = three.release().unwrap().value;
        assert!(chosen.is_sorted() && chosen.len() == 3, "{chosen:?}");
    }
    let large = pure(1e6, 1);
    let ages = large.query().column::<i64>("age");
    let three = ages.quantiles(&[0.25, 0.5, 0.75], (0..100).collect()).choose().unwrap();
    let chosen = three.release().unwrap().value;
    assert!(chosen.iter().zip([25, 50, 75]).all(|(x, y)| (x - y).abs() <= 1), "{chosen:?}");
    for wrong in [&[][..], &[0.5, 0.25], &[0.5, f64::NAN]] {
        let refused = ages_of(&pure(1.0, 1)).quantiles(wrong, vec![1, 2]).choose().unwrap_err();
        assert!(refused.to_string().contains("increasing order"), "{refused}");
    }
}
fn ages_of<MO: Accounted>(context: &Context<MO>) -> Rows<'_, MO, i64> {
    context.query().column("age")
}
/// Return the range of the losses of a median, for a person with one row. This row increases or
/// decreases the distance between the rank of a candidate and the middle rank by at most a half. So
/// the range of these changes is at most 1, and the range of the losses is at most `1 / scale`.
fn range_of<MO: Accounted>(median: &Question<'_, MO, i64>) -> f64 {
    1.0 / median.scale()
}
#[test]
fn many_quantiles_under_a_delta_take_gumbel_noise_and_stay_within_the_budget() {
    let open = |questions: usize| {
        let unit = PrivacyUnit::person(1).unwrap();
        let budget = Budget::epsilon_delta(1.0, 1e-6).unwrap();
        Context::new(table(), unit, budget, Split::evenly(questions).unwrap()).unwrap()
    };
    let context = open(16);
    let choose = || ages_of(&context).median((0..100).collect()).choose();
    let (mut reference, mut ranges) = (Reference::new(), Vec::new());
    for _ in 0..16 {
        let median = choose().unwrap();
        let (range, square) = (range_of(&median), median.known.cost.mu_squared.clone().unwrap());
        let expected = std::f64::consts::PI * range * range / 8.0;
        assert!((square.to_f64_up() / expected - 1.0).abs() < 1e-9, "{range}");
        // With exponential noise, the range would be a sixteenth of epsilon.
        assert!(1.4 / 16.0 < range, "{range}");
        ranges.push(range);
        median.release().unwrap();
    }
    assert_eq!(choose().unwrap_err().kind(), "BudgetExceeded");
    // Compose the choices without the account of the context. The function `pair` returns a pair of
    // distributions that dominates each choice with the given range.
    let pair = |range: f64| Arc::new(BoundedRangePair { epsilon: range });
    for range in &ranges {
        reference = reference.with(pair(*range), 1);
    }
    assert!(reference.delta(1.0).unwrap().upper <= 1e-6);
    // The control: if each of these choices is made twice, the choices exceed the budget.
    for range in &ranges {
        reference = reference.with(pair(*range), 1);
    }
    assert!(1e-6 < reference.delta(1.0).unwrap().lower);
    // If the budget is for only a few questions, exponential noise has a smaller error than Gumbel
    // noise.
    let few = open(2);
    let median = ages_of(&few).median((0..100).collect()).choose().unwrap();
    assert!(median.known.cost.mu_squared.is_none() && (range_of(&median) - 0.5).abs() < 1e-9);
}
