//! Test plans with a question that finds keys.

use std::collections::HashMap;

use super::super::Asked;
use super::*;

type Loss = Approximate<MaxDivergence>;

/// Find the least threshold for truncated Laplace noise if the counts of two keys each change by
/// two. If the threshold is not a whole number, delta is interpolated between the two nearest whole
/// thresholds.
fn least_threshold(scale: f64, delta: f64) -> f64 {
    let q = (-1.0 / scale).exp();
    let delta_at = |threshold: f64| {
        let tail = q.powf(threshold - 2.0) * (1.0 - q * q) / (1.0 + q - 2.0 * q.powf(threshold));
        1.0 - (1.0 - tail).powi(2)
    };
    let mut whole = scale.max(3.0).ceil();
    while delta < delta_at(whole + 1.0) {
        whole += 1.0;
    }
    whole + ((delta_at(whole) - delta) / (delta_at(whole) - delta_at(whole + 1.0))).max(0.0)
}

fn cities(context: &Context<Loss>) -> Statistic<'_, Loss, HashMap<String, i64>> {
    context.query().column::<String>("city").count_by()
}
/// Compute the weighted sum of squared errors of a plan. `weight` is the weight of the question
/// that finds keys. The threshold of this question counts as an error, too. All counts have the
/// weight 1.
fn value(
    solved: &super::super::Solved<'_, Loss>,
    counts: &[Asked<i64>],
    keys: Asked<HashMap<String, i64>>,
    weight: f64,
) -> f64 {
    let threshold = solved.threshold(keys).unwrap().unwrap();
    let of_keys = solved.accuracy(keys).unwrap().powi(2) + threshold.powi(2);
    let of_counts: f64 = counts.iter().map(|count| solved.accuracy(*count).unwrap().powi(2)).sum();
    of_counts + weight * of_keys
}
#[test]
fn scale_and_threshold_are_solved_together_and_are_as_good_as_an_independent_optimum() {
    for (number, weight) in [(3, 1.0), (40, 1.0), (40, 0.01), (10, 100.0)] {
        let context = tight();
        let mut plan = context.plan();
        let found = plan.ask(cities(&context), Goal::Weight(weight)).unwrap();
        let mut counts = Vec::new();
        for _ in 0..number {
            counts.push(plan.ask(count(&context), Goal::Weight(1.0)).unwrap());
        }
        let solved = plan.solve().unwrap();
        let reached = value(&solved, &counts, found, weight);
        // A person has two rows, so a count changes by 2. The noise of the keys has the scale
        // `2 / epsilon`. If two keys change, each of the two changes takes about half of the delta.
        let rest = f64::from(number);
        let mut best = f64::INFINITY;
        for sixteenths in 1..16 {
            let deltas = 1e-6 * f64::from(sixteenths) / 16.0;
            for percent in 1..100 {
                let epsilon = f64::from(percent) / 100.0;
                let scale = 2.0 / epsilon;
                let threshold = least_threshold(scale, deltas);
                let keys = (3.0 * scale).powi(2) + threshold.powi(2);
                let mu = room_at(epsilon, 1e-6 - deltas) / rest.sqrt();
                let laplace = 3.0 * 2.0 * rest / (1.0 - epsilon);
                let each = (2.0 * 1.959_964 / mu + 0.5).min(laplace + 0.5);
                best = best.min(rest * each.powi(2) + weight * keys);
            }
        }
        assert!(reached < best * 1.02, "{number} {weight}: {reached} {best}");
        assert!(best < reached * 1.06, "{number} {weight}: {reached} {best}");
        let mut answers = solved.release().unwrap();
        assert!(answers.take(found).is_ok());
        assert!(context.report().exact_total()[0].to_f64_up() <= 1.000_002);
        assert!(context.report().exact_total()[1].to_f64_up() <= 1e-6 * (1.0 + 1e-9));
    }
}
