//! Test plans that take the whole budget and add discrete Gaussian noise to integers.

use opendp_measurements::accounting::{
    Account as Reference, DiscreteGaussianPair, SharePair, gaussian_mu,
};

use super::super::super::Entry;
use super::*;

fn for_person(split: Split) -> Context<Tight> {
    let unit = PrivacyUnit::person(1).unwrap();
    Context::new(table(), unit, Budget::epsilon_delta(1.0, 1e-6).unwrap(), split).unwrap()
}
/// Compute the root mean square of discrete Gaussian noise of scale `scale`.
fn deviation(scale: f64) -> f64 {
    let weight = |z: i32| (-(f64::from(z) / scale).powi(2) / 2.0).exp();
    let reach = (12.0 * scale) as i32;
    let all: f64 = (-reach..=reach).map(weight).sum();
    ((-reach..=reach).map(|z| weight(z) * f64::from(z).powi(2)).sum::<f64>() / all).sqrt()
}
/// Make a plan of `counts` counts with equal weights, and release the plan. Return the noise scale
/// of each count.
fn planned(context: &Context<Tight>, counts: usize) -> f64 {
    let mut plan = context.plan();
    for _ in 0..counts {
        plan.ask(count(context), Goal::Weight(1.0)).unwrap();
    }
    let solved = plan.solve().unwrap();
    let noises = solved.noises(0.05).unwrap();
    assert!(noises.iter().all(|noised| noised.mechanism == "discrete Gaussian"), "{:?}", noises[0]);
    solved.release().unwrap();
    noises[0].scales[0]
}

#[test]
fn counts_of_a_plan_are_not_worse_than_calibrated_noise() {
    // The plan below answers 100 counts with an epsilon of 1 and a delta of 1e-6. For this task,
    // `dp_accounting` 0.6.0 computes the scale of continuous Gaussian noise that is not rounded.
    // The two numbers in the next line are standard deviations of this noise. The first number is
    // the result of 20 steps of bisection, as in `examples/compare`. The second number is the
    // result of 30 steps.
    for calibrated in [42.247_14, 42.246_789_09] {
        let context = for_person(Split::as_you_go());
        let scale = planned(&context, 100);
        assert!(deviation(scale) < calibrated, "{scale} {}", deviation(scale));
        // The control: the best continuous noise, rounded to integers, has a larger root mean
        // square than `calibrated`.
        let best = 10.0 / gaussian_mu(1.0, 1e-6).unwrap().upper;
        assert!(calibrated < (best * best + 1.0 / 12.0).sqrt(), "{best}");
        // With the noise of the plan, the composition of the releases is within the budget. With a
        // little less noise, the composition exceeds the budget.
        let delta = |scale: f64| {
            let pair = Arc::new(DiscreteGaussianPair { sensitivity: 1, scale });
            Reference::new().with(pair, 100).delta(1.0).unwrap()
        };
        assert!(delta(scale).upper <= 1e-6, "{scale}");
        assert!(1e-6 < delta(scale * (1.0 - 2e-5)).lower, "{scale}");
        assert!(context.report().exact_total()[0].to_f64_up() <= 1.0);
        assert_eq!(context.remaining().unwrap(), (0.0, 0.0));
    }
}
#[test]
fn discrete_noise_is_charged_for_the_distance_of_integers() {
    // A person has two rows, so a count changes by 2 and the square of the distance is 4.
    let context = tight();
    let scale = planned(&context, 10);
    let entries = context.report().entries().to_vec();
    let share = entries[0].share.unwrap();
    assert_eq!(share, SharePair::DiscreteGaussian { square: 4, scale });
    assert!(entries.iter().all(|entry| entry.mu_squared.is_none() && entry.share == Some(share)));
    // The entries restore the account in a later context.
    let later = tight();
    for entry in &entries {
        later.carry_over(entry.clone()).unwrap();
    }
    assert_eq!(later.remaining().unwrap(), (0.0, 0.0));
    // Without its share, an entry is charged for its epsilon and its delta. A share of discrete
    // noise does not admit such a charge.
    let other = tight();
    let older = entries.iter().map(|entry| Entry { share: None, ..entry.clone() });
    assert!(older.into_iter().any(|entry| other.carry_over(entry).is_err()));
}
#[test]
fn answers_with_discrete_noise_have_its_intervals() {
    let (mut missed, mut times) = (0, 0);
    let truth = 1000.0;
    for _ in 0..60 {
        let context = for_person(Split::as_you_go());
        let mut plan = context.plan();
        let asked: Vec<_> =
            (0..10).map(|_| plan.ask(count(&context), Goal::Weight(1.0)).unwrap()).collect();
        let mut answers = plan.solve().unwrap().release().unwrap();
        for question in asked {
            let answer = answers.take(question).unwrap();
            assert_eq!(answer.mechanism(), "discrete Gaussian");
            let (low, high) = answer.interval(0.05).unwrap();
            assert!(high - low < 2.0 * (1.96 * answer.scale() + 1.0), "{low} {high}");
            missed += usize::from(!(low <= truth && truth <= high));
            times += 1;
        }
    }
    // About 30 of 600 intervals do not contain the true count. The probability of 80 or more misses
    // is below 1e-14, and the probability of no miss is below 1e-12.
    assert!((1..80).contains(&missed), "{missed} of {times}");
}
