//! Test choices among candidates in a plan.

use opendp_measurements::accounting::{
    Account as Reference, GaussianPair, PrivatePair, concentrated_rho, gaussian_mu,
};

use super::super::super::Entry;
use super::*;

fn for_person() -> Context<Tight> {
    let unit = PrivacyUnit::person(1).unwrap();
    let budget = Budget::epsilon_delta(1.0, 1e-6).unwrap();
    Context::new(table(), unit, budget, Split::as_you_go()).unwrap()
}
/// Make a plan of `medians` medians and `counts` counts, all with the same weight, and release the
/// plan. Return the scales, and whether the medians have Gumbel noise.
fn planned(context: &Context<Tight>, medians: usize, counts: usize) -> (Vec<f64>, bool) {
    let mut plan = context.plan();
    for _ in 0..medians {
        let ages = context.query().column::<i64>("age").median((0..100).collect());
        plan.ask(ages, Goal::Weight(1.0)).unwrap();
    }
    for _ in 0..counts {
        plan.ask(count(context), Goal::Weight(1.0)).unwrap();
    }
    let solved = plan.solve().unwrap();
    let scales = solved.noises(0.05).unwrap().iter().map(|noised| noised.scales[0]).collect();
    solved.release().unwrap();
    (scales, context.report().entries()[0].rho.is_some())
}

/// Compose the releases in the report of the context, and do not use the context's account. For a
/// choice by Gumbel noise with the bounded range `r`, use the losses `r / 2` and `-r / 2`, because
/// a mechanism of range `r` can have exactly these losses. Return a lower bound on delta at epsilon
/// 1, and the sum of all `rho`.
fn composed(context: &Context<Tight>, medians: usize) -> (f64, f64) {
    let (mut reference, mut rho) = (Reference::new(), 0.0);
    for (place, entry) in context.report().entries().iter().enumerate() {
        let inverse = 1.0 / entry.scale;
        let choice = place < medians && entry.mu_squared.is_some();
        reference = match &entry.mu_squared {
            Some(_) if choice => {
                reference.with(Arc::new(PrivatePair { epsilon: inverse / 2.0, delta: 0.0 }), 1)
            }
            Some(_) => reference.with(Arc::new(GaussianPair { mu: inverse }), 1),
            None => {
                let epsilon = entry.loss[0].to_f64_up();
                reference.with(Arc::new(PrivatePair { epsilon, delta: 0.0 }), 1)
            }
        };
        rho += inverse * inverse / if choice { 8.0 } else { 2.0 };
    }
    (reference.delta(1.0).unwrap().lower, rho)
}

#[test]
fn many_choices_in_a_plan_get_gumbel_noise_and_few_get_exponential_noise() {
    let limit = concentrated_rho(1.0, 1e-6).unwrap();
    for (medians, counts, gumbel) in [(2, 0, false), (40, 0, true), (40, 10, true)] {
        let context = for_person();
        let (scales, found) = planned(&context, medians, counts);
        assert_eq!(found, gumbel, "{medians} {counts}: {scales:?}");
        let (delta, rho) = composed(&context, medians);
        assert!(delta <= 1e-6, "{medians} {counts}: {delta}");
        if gumbel {
            // Here `limit` is the largest `rho` that by itself implies epsilon 1 and delta 1e-6.
            // The sum of all `rho` is at least 0.999 times `limit`. The sum can exceed `limit`,
            // because an account that composes the distributions of the losses can admit a sum
            // above `limit`.
            assert!(0.999 * limit < rho, "{rho} {limit}");
        } else {
            assert!(scales[0] < 1.000_1 * medians as f64, "{scales:?}");
        }
    }
    // If choices were charged by their `mu^2`, the sum of all `rho` could be at most `by_mu`. Then
    // the noise would be more than 14 % larger.
    let by_mu = gaussian_mu(1.0, 1e-6).unwrap().upper.powi(2) / std::f64::consts::PI;
    let scale = planned(&for_person(), 40, 0).0[0];
    let before = (40.0 / 8.0 / by_mu).sqrt();
    assert!(scale * 1.14 < before, "{scale} {before}");
    // The control: twice as many choices exceed the budget.
    let pair = PrivatePair { epsilon: 0.5 / scale, delta: 0.0 };
    assert!(1e-6 < Reference::new().with(Arc::new(pair), 80).delta(1.0).unwrap().lower);
}
#[test]
fn a_plan_that_took_the_whole_budget_is_carried_over_as_a_whole() {
    let earlier = for_person();
    planned(&earlier, 12, 3);
    let entries = earlier.report().entries().to_vec();
    assert_eq!(entries[0].shares.as_ref().unwrap().len(), 15);
    assert!(entries[0].reserved.is_none() && entries[1].shares.is_none());
    let later = for_person();
    for entry in &entries {
        later.carry_over(entry.clone()).unwrap();
    }
    assert_eq!(later.remaining().unwrap(), (0.0, 0.0));
    assert_eq!(later.report().exact_total(), earlier.report().exact_total());
    let amount = || Budget::epsilon_delta(0.01, 1e-9).unwrap();
    let more = later.query().spending(amount()).count().laplace();
    assert_eq!(more.unwrap_err().kind(), "BudgetExceeded");
    let mut plan = later.plan();
    plan.ask(count(&later), Goal::Weight(1.0)).unwrap();
    assert_eq!(plan.solve().unwrap_err().kind(), "BudgetExceeded");
    // Without the shares, the filters charge each choice by its `rho`, and do not admit all
    // choices.
    let other = for_person();
    let older = entries.iter().map(|entry| Entry { shares: None, ..entry.clone() });
    assert!(older.into_iter().any(|entry| other.carry_over(entry).is_err()));
    // If a part of a budget was spent before, the budget cannot be divided into the shares of a
    // plan.
    let used = for_person();
    let spend = used.query().spending(amount()).count().laplace();
    spend.unwrap().release().unwrap();
    assert_eq!(used.carry_over(entries[0].clone()).unwrap_err().kind(), "BudgetExceeded");
}
