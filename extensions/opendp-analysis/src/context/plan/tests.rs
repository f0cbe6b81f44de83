use std::sync::Arc;

use opendp_core::{Approximate, MaxDivergence};

use super::super::tests::{table, tight::normal_delta};
use super::super::{Accounted, PrivacyUnit, Rows, Split, Statistic};
use super::*;

type Tight = Approximate<MaxDivergence>;

fn open<MO: Accounted>(budget: Result<Budget<MO>>, split: Split) -> Context<MO> {
    let unit = PrivacyUnit::person(2).unwrap();
    Context::new(table(), unit, budget.unwrap(), split).unwrap()
}
fn tight() -> Context<Tight> {
    open(Budget::epsilon_delta(1.0, 1e-6), Split::as_you_go())
}
fn income<MO: Accounted>(context: &Context<MO>, upper: f64) -> Rows<'_, MO, f64> {
    context.query().column("income").impute(0.0).clamp(0.0, upper)
}
fn count<MO: Accounted>(context: &Context<MO>) -> Statistic<'_, MO, i64> {
    context.query().count()
}
/// Minimise a function of shares that add up to 1. In each step, move a part of one share to
/// another share, if the value of the function becomes smaller. If no step makes the value smaller,
/// halve the part. Return the least value and its shares.
fn minimise(count: usize, value: impl Fn(&[f64]) -> f64) -> (f64, Vec<f64>) {
    let mut shares = vec![1.0 / count as f64; count];
    let mut best = value(&shares);
    let mut part = 0.5;
    while 1e-5 < part {
        let mut moved = false;
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            let mut trial = shares.clone();
            let amount = trial[from] * part;
            trial[from] -= amount;
            trial[to] += amount;
            let found = value(&trial);
            if from != to && found < best {
                (best, shares, moved) = (found, trial, true);
            }
        }
        if !moved {
            part /= 2.0;
        }
    }
    (best, shares)
}
/// Compose the pure loss `pure` with a release with Gaussian noise. Find the largest `mu` of the
/// noise for which the composed loss is at most epsilon 1 and `delta`. As in `normal_delta`, `mu`
/// is the distance between the means of two normal distributions, in standard deviations. Compute
/// in plain floats.
fn room_at(pure: f64, delta: f64) -> f64 {
    let p = 1.0 / (1.0 + (-pure).exp());
    let (mut low, mut high) = (1e-9, 1.0);
    for _ in 0..60 {
        let mu: f64 = (low + high) / 2.0;
        let found = p * normal_delta(mu, 1.0 - pure) + (1.0 - p) * normal_delta(mu, 1.0 + pure);
        if found <= delta { low = mu } else { high = mu }
    }
    low
}
const WEIGHTS: [f64; 4] = [1.0, 9.0, 0.2, 100.0];
const BOUNDS: [f64; 4] = [1.0, 5.0, 100.0, 0.5];

/// Check that weighted sums have nearly the least weighted sum of squared errors. `scale` returns
/// the scale of the noise for the bound and the share of a sum.
#[track_caller]
fn check_weighted_sums<MO: Accounted>(context: &Context<MO>, scale: impl Fn(f64, f64) -> f64)
where
    f64: super::super::Noisy<MO>,
{
    let mut plan = context.plan();
    let asked: Vec<_> = WEIGHTS
        .iter()
        .zip(BOUNDS)
        .map(|(w, b)| plan.ask(income(context, b).sum(), Goal::Weight(*w)).unwrap())
        .collect();
    let solved = plan.solve().unwrap();
    let value = |scale: &dyn Fn(usize) -> f64| -> f64 {
        (0..4).map(|i| WEIGHTS[i] * scale(i).powi(2)).sum()
    };
    let found = value(&|i| solved.scale(asked[i]).unwrap());
    let (best, _) = minimise(4, |shares| value(&|i| scale(BOUNDS[i], shares[i])));
    assert!(found < best * 1.01 && best < found * 1.001, "{found} {best}");
    solved.release().unwrap();
}
#[test]
fn weighted_sums_under_a_rho_are_as_good_as_an_independent_optimum() {
    let context = open(Budget::rho(0.3), Split::as_you_go());
    // A person has two rows. The number in each row is at most the bound `b`, so a sum changes by
    // at most `2 b`. For noise of scale `sigma`, `rho` is `(2 b / sigma)^2 / 2`.
    check_weighted_sums(&context, |bound, share| 2.0 * bound / (0.6 * share).sqrt());
    assert!(context.remaining().unwrap() < 1e-6);
}
#[test]
fn weighted_sums_under_an_epsilon_are_as_good_as_an_independent_optimum() {
    let context = open(Budget::epsilon(0.7), Split::as_you_go());
    check_weighted_sums(&context, |bound, share| 2.0 * bound / (0.7 * share));
    assert!(context.remaining().unwrap() < 1e-6);
}
#[test]
fn gaussian_sums_and_medians_are_as_good_as_an_independent_optimum() {
    for sums in [12, 3] {
        let context = tight();
        let mut plan = context.plan();
        let goal = Goal::Weight(1.0);
        let counts: Vec<_> = (0..sums).map(|_| plan.ask(count(&context), goal).unwrap()).collect();
        let ages = || context.query().column::<i64>("age").median((0..100).collect());
        let medians = [0, 1].map(|_| plan.ask(ages(), goal).unwrap());
        let solved = plan.solve().unwrap();
        let squares = |found: &dyn Fn(bool) -> f64| {
            found(true).powi(2) * f64::from(sums) + found(false).powi(2) * 2.0
        };
        let error = |gaussian: bool| {
            if gaussian { solved.accuracy(counts[0]) } else { solved.accuracy(medians[0]) }.unwrap()
        };
        let found = squares(&error);
        // A person has two rows, so a count changes by 2. A median costs an epsilon of `2 / scale`.
        // There are 100 candidates. So the error of a median is at most `scale ln(100 / 0.05)`,
        // except with probability 0.05.
        let pure = (100.0_f64 / 0.05).ln() * 2.0;
        let best = (1..100).map(|percent| {
            let epsilon = f64::from(percent) / 100.0;
            let mu = room_at(epsilon, 1e-6) / f64::from(sums).sqrt();
            squares(&|gaussian| {
                if gaussian { 2.0 * 1.959_964 / mu } else { pure / (epsilon / 2.0) }
            })
        });
        let best = best.fold(f64::INFINITY, f64::min);
        // Also compute the best division if all questions get noise with a pure loss: Laplace noise
        // for counts, and exponential noise for medians.
        let laplace = |e: f64| squares(&|g| if g { 2.0 * 3.0 / e } else { pure / e });
        let all = (1..1000).map(|k| {
            let counts = f64::from(k) / 1000.0;
            let e = counts / f64::from(sums);
            (2.0 * 3.0 / e).powi(2) * f64::from(sums)
                + (pure / ((1.0 - counts) / 2.0)).powi(2) * 2.0
        });
        let best = best.min(all.fold(f64::INFINITY, f64::min));
        assert!(best <= laplace(1.0 / f64::from(sums + 2)));
        // Rounding changes a noisy count by at most a half. The value `best` includes no rounding,
        // so subtract a bound on the effect of rounding.
        let rounding = 2.0 * found.sqrt() * f64::from(sums).sqrt();
        assert!(found - rounding < best * 1.01, "{sums}: {found} {best}");
        solved.release().unwrap();
        let (spent, left) = (context.report().exact_total()[0].to_f64_up(), context.remaining());
        assert!(spent <= 1.000_002 && left.unwrap().0 < 1e-2, "{spent}");
    }
}
#[test]
fn a_hundred_counts_of_a_plan_get_the_whole_budget() {
    let context = tight();
    let mut plan = context.plan();
    let goal = Goal::Weight(1.0);
    let asked: Vec<_> = (0..100).map(|_| plan.ask(count(&context), goal).unwrap()).collect();
    let solved = plan.solve().unwrap();
    let best = 2.0 * 10.0 / room_at(0.0, 1e-6);
    for question in &asked {
        assert!((solved.scale(*question).unwrap() / best - 1.0).abs() < 1e-4);
    }
    let mut answers = solved.release().unwrap();
    assert_eq!(answers.take(asked[7]).unwrap().mechanism(), "discrete Gaussian");
    let report = context.report();
    assert!(report.exact_total()[0].to_f64_up() <= 1.000_001);
    let later = tight();
    for entry in report.entries() {
        later.carry_over(entry.clone()).unwrap();
    }
    assert!(later.remaining().unwrap() == context.remaining().unwrap());
}
#[test]
fn wanted_accuracies_are_reached_by_the_budget_that_they_need_and_not_by_less() {
    fn try_at<MO: Accounted>(context: &Context<MO>, fits: bool) -> Option<MO::Distance>
    where
        f64: super::super::Noisy<MO>,
    {
        let mut plan = context.plan();
        let cities = ["Lyon", "Lille"].map(str::to_owned).to_vec();
        let cities = context.query().column::<String>("city").histogram(cities);
        let ages = context.query().column::<i64>("age");
        let wide = income(context, 100.0).resize(1000).mean();
        let asked = plan.ask(cities, Goal::Within(40.0)).unwrap();
        let mean = plan.ask(wide, Goal::Within(5.0)).unwrap();
        let median = ages.median((0..100).collect());
        let median = plan.ask(median, Goal::Within(200.0)).unwrap();
        let needs = plan.needs().unwrap();
        let solved = plan.solve();
        assert_eq!(solved.is_ok(), fits, "{solved:?}");
        assert!(context.report().entries().is_empty(), "solving a plan spends nothing");
        let Ok(solved) = solved else {
            let text = solved.unwrap_err().to_string();
            assert!(text.contains("together they cost") && text.contains(".stretch()"), "{text}");
            return Some(needs);
        };
        let reached = [solved.accuracy(mean), solved.accuracy(median), solved.accuracy(asked)];
        for (reached, wanted) in reached.into_iter().zip([5.0, 200.0, 40.0]) {
            let reached = reached.unwrap();
            assert!(reached <= wanted && wanted * 0.97 < reached, "{reached} {wanted}");
        }
        let mut answers = solved.release().unwrap();
        assert_eq!(answers.take(asked).unwrap().value.len(), 2);
        assert!(answers.take(asked).is_err(), "the answer was taken before");
        answers.take(mean).unwrap();
        answers.take(median).unwrap();
        Some(needs)
    }
    let pure = |epsilon: f64| open(Budget::epsilon(epsilon), Split::as_you_go());
    let needs = try_at(&pure(5.0), true).unwrap();
    try_at(&pure(needs * 1.000_1), true);
    try_at(&pure(needs * 0.999), false);
    let rho = |rho: f64| open(Budget::rho(rho), Split::as_you_go());
    let needs = try_at(&rho(5.0), true).unwrap();
    try_at(&rho(needs * 1.000_1), true);
    try_at(&rho(needs * 0.999), false);
    let both = |epsilon: f64| open(Budget::epsilon_delta(epsilon, 1e-6), Split::as_you_go());
    let needs = try_at(&both(5.0), true).unwrap();
    try_at(&both(needs.0 * 1.005), true);
    try_at(&both(needs.0 * 0.99), false);
}
#[test]
fn accuracies_that_do_not_fit_are_stretched_until_they_do() {
    for weighted in [false, true] {
        let context = tight();
        let mut plan = context.plan();
        let first = plan.ask(count(&context), Goal::Within(2.0)).unwrap();
        let second = plan.ask(income(&context, 100.0).sum(), Goal::Within(100.0)).unwrap();
        if weighted {
            plan.ask(count(&context), Goal::Weight(1.0)).unwrap();
        }
        let solved = plan.stretch().unwrap();
        let factor = solved.stretched();
        assert!(1.0 < factor, "{factor}");
        let reached = solved.accuracy(second).unwrap() / 100.0;
        assert!(reached <= factor && factor * 0.97 < reached, "{reached} {factor}");
        assert!(solved.accuracy(first).unwrap() <= 2.0 * factor);
        solved.release().unwrap();
        let (used, left) = (context.report().exact_total()[0].to_f64_up(), context.remaining());
        assert!(0.97 < used && used <= 1.000_002, "{used} {left:?}");
    }
    let roomy = tight();
    let mut plan = roomy.plan();
    plan.ask(count(&roomy), Goal::Within(500.0)).unwrap();
    assert_eq!(plan.stretch().unwrap().stretched(), 1.0);
}
#[test]
fn a_plan_leaves_what_it_does_not_need_and_takes_the_share_of_its_questions() {
    let context = tight();
    let mut plan = context.plan();
    plan.ask(count(&context), Goal::Within(100.0)).unwrap();
    plan.solve().unwrap().release().unwrap();
    // After the plan, most of the budget is left, and a question with Laplace noise is still
    // possible.
    assert!(0.8 < context.remaining().unwrap().0);
    let rest = Budget::epsilon_delta(0.8, 1e-7).unwrap();
    context.query().spending(rest).count().laplace().unwrap().release().unwrap();
    // The split has four shares. A plan of two questions gets two shares, which are half of the
    // budget.
    let context = open(Budget::epsilon(1.0), Split::evenly(4).unwrap());
    let mut plan = context.plan();
    let question = plan.ask(count(&context), Goal::Weight(1.0)).unwrap();
    plan.ask(count(&context), Goal::Weight(1.0)).unwrap();
    let solved = plan.solve().unwrap();
    assert!((solved.scale(question).unwrap() - 8.0).abs() < 1e-6);
    solved.release().unwrap();
    assert!((context.remaining().unwrap() - 0.5).abs() < 1e-7);
    let mut plan = context.plan();
    for _ in 0..3 {
        plan.ask(count(&context), Goal::Weight(1.0)).unwrap();
    }
    let Err(Error::BudgetExceeded(error)) = plan.solve() else { panic!("3 questions, 2 shares") };
    assert!(error.contains("more questions, 3, than queries are left, 2"), "{error}");
}
#[test]
fn a_plan_after_other_questions_spends_an_amount_of_what_is_left() {
    let context = tight();
    let tenth = || Budget::epsilon_delta(0.1, 1e-7).unwrap();
    context.query().spending(tenth()).count().gaussian().unwrap().release().unwrap();
    let mut plan = context.plan().spending(Budget::epsilon_delta(0.4, 2e-7).unwrap());
    let cities = context.query().column::<String>("city").count_by();
    let cities = plan.ask(cities, Goal::Weight(1.0)).unwrap();
    plan.ask(count(&context), Goal::Weight(1.0)).unwrap();
    let late = context.query().spending(tenth()).count().gaussian().unwrap();
    let mut answers = plan.solve().unwrap().release().unwrap();
    assert!(answers.take(cities).unwrap().value.contains_key("Lyon"));
    late.release().unwrap();
    assert_eq!(context.report().entries().len(), 4);
    assert!(context.report().exact_total()[0].to_f64_up() < 1.0);
}
#[test]
fn a_plan_is_paid_for_as_a_whole_or_not_at_all() {
    let context = open(Budget::epsilon(1.0), Split::as_you_go());
    let mut plan = context.plan();
    for _ in 0..3 {
        plan.ask(count(&context), Goal::Weight(1.0)).unwrap();
    }
    let solved = plan.solve().unwrap();
    let half = Budget::epsilon(0.5).unwrap();
    context.query().spending(half).count().laplace().unwrap().release().unwrap();
    let error = solved.release().unwrap_err();
    assert!(error.to_string().ends_with("nothing was run"), "{error}");
    assert_eq!(context.remaining().unwrap(), 0.5);
    assert_eq!(context.report().entries().len(), 1);
}
#[test]
fn a_goal_is_a_positive_number_that_integers_can_reach() {
    let context = tight();
    let mut plan = context.plan();
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(plan.ask(count(&context), Goal::Within(bad)).is_err());
        assert!(plan.ask(count(&context), Goal::Weight(bad)).is_err());
    }
    let error = context.plan().solve().unwrap_err().to_string();
    assert!(error.contains("at least one question"), "{error}");
    plan.ask(count(&context), Goal::Weight(1.0)).unwrap();
    assert!(plan.needs().unwrap_err().to_string().contains("give it an accuracy"));
    let wrong = context.query().column::<f64>("income").sum();
    assert!(plan.ask(wrong, Goal::Weight(1.0)).is_err());
}
#[test]
fn a_statistic_that_nobody_changes_gets_no_noise() {
    let context = tight();
    let mut plan = context.plan();
    let none = plan.ask(income(&context, 0.0).sum(), Goal::Weight(1.0)).unwrap();
    let some = plan.ask(count(&context), Goal::Weight(1.0)).unwrap();
    let solved = plan.solve().unwrap();
    assert_eq!(solved.scale(none).unwrap(), 0.0);
    assert!(0.0 < solved.scale(some).unwrap());
    assert_eq!(solved.release().unwrap().take(none).unwrap().value, 0.0);
}
#[test]
fn a_plan_without_a_delta_takes_laplace_noise_and_no_unknown_keys() {
    let context = open(Budget::epsilon_delta(1.0, 0.0), Split::as_you_go());
    let mut plan = context.plan();
    let asked = [0, 1].map(|_| plan.ask(count(&context), Goal::Weight(1.0)).unwrap());
    let solved = plan.solve().unwrap();
    assert!((solved.scale(asked[0]).unwrap() - 4.0).abs() < 1e-6);
    let mut answers = solved.release().unwrap();
    assert_eq!(answers.take(asked[1]).unwrap().mechanism(), "Laplace");
    let context = open(Budget::epsilon_delta(1.0, 0.0), Split::as_you_go());
    let mut plan = context.plan();
    let keys = context.query().column::<String>("city").count_by();
    plan.ask(keys, Goal::Weight(1.0)).unwrap();
    let error = plan.solve().unwrap().release().unwrap_err().to_string();
    assert!(error.contains("needs some delta"), "{error}");
    assert!(context.report().entries().is_empty());
}
mod agreement;
mod choices;
mod integers;
mod keys;
mod refusals;
/// In both plans, the first question has an `i64` answer. So only the plan numbers in the two
/// handles differ.
#[test]
fn a_question_of_another_plan_has_no_answer() {
    let context = open(Budget::epsilon(8.0), Split::as_you_go());
    let solved = |weight: f64| {
        let mut plan = context.plan().spending(Budget::epsilon(2.0).unwrap());
        let people = plan.ask(count(&context), Goal::Weight(weight)).unwrap();
        (plan.solve().unwrap(), people)
    };
    let ((first, mine), (_, theirs)) = (solved(1.0), solved(1.0));
    assert_eq!(first.scale(theirs).unwrap_err().kind(), "Argument");
    assert_eq!(first.accuracy(theirs).unwrap_err().kind(), "Argument");
    assert!(first.scale(mine).is_ok());
    let mut answers = first.release().unwrap();
    assert_eq!(answers.take(theirs).unwrap_err().kind(), "Argument");
    assert!(answers.take(mine).is_ok());
}
