//! Check that the account admits the costs of each plan that was solved.

use super::*;

/// Ask one question for each letter of `kinds`: `c` for a count, `m` for a median, `k` for keys.
fn ask_all<'c>(context: &'c Context<Tight>, plan: &mut Plan<'c, Tight>, kinds: &str, goal: Goal) {
    for kind in kinds.chars() {
        match kind {
            'c' => {
                plan.ask(count(context), goal).unwrap();
            }
            'm' => {
                let ages = context.query().column::<i64>("age").median((0..100).collect());
                plan.ask(ages, goal).unwrap();
            }
            _ => {
                let cities = context.query().column::<String>("city").count_by();
                plan.ask(cities, goal).unwrap();
            }
        }
    }
}
const KINDS: [&str; 10] =
    ["c", "m", "k", "cccc", "mc", "mcccccccccccc", "kcc", "cck", "mk", "cmkcmkcmk"];

#[test]
fn a_plan_of_an_amount_in_an_untouched_context_is_released_if_it_was_solved() {
    let mut refused = Vec::new();
    for kinds in KINDS {
        for (epsilon, delta) in [(0.5, 5e-7), (1.0, 1e-6), (0.1, 1e-8), (0.9, 2e-7)] {
            let context = tight();
            let amount = Budget::epsilon_delta(epsilon, delta).unwrap();
            let mut plan = context.plan().spending(amount);
            ask_all(&context, &mut plan, kinds, Goal::Weight(1.0));
            let solved = plan.solve().unwrap();
            if let Err(error) = solved.release() {
                refused.push(format!("{kinds} of {epsilon}, {delta}: {error}"));
            }
            assert!(context.report().exact_total()[0].to_f64_up() <= 1.0);
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
#[test]
fn a_plan_of_wanted_accuracies_is_released_if_it_was_solved() {
    let mut refused = Vec::new();
    for kinds in KINDS {
        for epsilon in [0.2, 0.5, 1.0] {
            let context = tight();
            let amount = || Budget::epsilon_delta(epsilon, 5e-7).unwrap();
            let mut plan = context.plan().spending(amount());
            ask_all(&context, &mut plan, kinds, Goal::Within(100.0));
            if let Ok(solved) = plan.solve()
                && let Err(error) = solved.release()
            {
                refused.push(format!("{kinds} of {epsilon}: {error}"));
            }
            let context = tight();
            let mut plan = context.plan().spending(amount());
            ask_all(&context, &mut plan, kinds, Goal::Within(1.0));
            if let Err(error) = plan.stretch().unwrap().release() {
                refused.push(format!("{kinds} of {epsilon}, stretched: {error}"));
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
#[test]
fn a_plan_of_one_question_of_a_split_is_released_if_it_was_solved() {
    let mut refused = Vec::new();
    for kinds in KINDS {
        for others in [1, 3] {
            let context = open(
                Budget::epsilon_delta(1.0, 1e-6),
                Split::evenly(kinds.len() + others).unwrap(),
            );
            let mut plan = Plan::of_one_question(&context, None);
            ask_all(&context, &mut plan, kinds, Goal::Weight(1.0));
            if let Err(error) = plan.solve().unwrap().release() {
                refused.push(format!("{kinds} and {others}: {error}"));
            }
            // After the plan, each of the other questions still has its share of the budget.
            for _ in 0..others {
                count(&context).best().unwrap().release().unwrap();
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
#[test]
fn a_plan_of_an_amount_is_nearly_as_good_as_its_questions_alone() {
    // The noise of a plan of one question is at most 1 % larger than the noise of this question
    // without a plan.
    let context = tight();
    let amount = || Budget::epsilon_delta(0.5, 5e-7).unwrap();
    let mut plan = context.plan().spending(amount());
    let asked = plan.ask(count(&context), Goal::Weight(1.0)).unwrap();
    let scale = plan.solve().unwrap().scale(asked).unwrap();
    let alone = context.query().spending(amount()).count().laplace().unwrap().scale();
    assert!(scale <= alone * 1.01, "{scale} {alone}");
}
