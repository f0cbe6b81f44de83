//! Test questions that a plan refuses, and questions that fail after the charge.

use super::super::Late;
use super::*;
use crate::context::Groups;

const GOAL: Goal = Goal::Weight(1.0);

fn cities(context: &Context<Tight>) -> Groups<'_, Tight> {
    context.query().group_by(["city"]).impute("income", 0.0)
}
/// Make a question for a count that depends on the keys of the question at the place `finds`. When
/// these keys are known, the new question fails.
fn failing(context: &Context<Tight>, finds: usize) -> Late<'_, Tight, i64> {
    let too_many = || Error::FailedFunction("these are too many keys".into());
    Late {
        rehearsed: count(context).into_draft(),
        finds,
        of_keys: Box::new(move |_| Err(too_many())),
    }
}

#[test]
fn a_question_about_the_table_of_another_context_is_refused() {
    let private = tight();
    let other = open(Budget::epsilon_delta(1e6, 1e-6), Split::as_you_go());
    let mut plan = other.plan();
    let error = plan.ask(count(&private), GOAL).unwrap_err();
    assert_eq!(error.kind(), "Argument");
    assert!(error.to_string().contains("the table of another context"), "{error}");
    for groups in [
        cities(&private).keys("city", ["Lyon"]).count(),
        cities(&private).keys("city", ["Lyon"]).sum("income", (0.0, 1.0)),
        cities(&private).find_keys().count().mean("income", (0.0, 1.0)),
    ] {
        assert_eq!(plan.ask_groups(groups, GOAL).unwrap_err().kind(), "Argument");
    }
    let keys = plan.ask(other.query().column::<String>("city").count_by(), GOAL).unwrap();
    let late = plan.ask_later(failing(&private, keys.place()), GOAL);
    assert_eq!(late.unwrap_err().kind(), "Argument");
    // The control: the plan answers questions of its own context.
    let people = plan.ask(count(&other), GOAL).unwrap();
    let mut answers = plan.solve().unwrap().release().unwrap();
    assert!((answers.take(people).unwrap().value - 1000).abs() < 10);
    assert_eq!(other.report().entries().len(), 2);
    assert!(private.report().entries().is_empty());
}
#[test]
fn a_query_of_a_plan_states_no_amount_of_its_own() {
    let context = tight();
    let query = || context.query().spending(Budget::epsilon_delta(0.1, 1e-7).unwrap());
    let mut plan = context.plan();
    let error = plan.ask(query().count(), GOAL).unwrap_err();
    assert_eq!(error.kind(), "Argument");
    assert!(error.to_string().contains("`.spending(..)` of the plan"), "{error}");
    let groups = || query().group_by(["city"]).keys("city", ["Lyon"]).count();
    assert_eq!(plan.ask_groups(groups(), GOAL).unwrap_err().kind(), "Argument");
    // The control: if the question is asked alone, it has its own plan, and may state an amount.
    groups().release().unwrap();
    assert!(context.report().exact_total()[0].to_f64_up() < 0.5);
}
#[test]
fn a_question_that_fails_after_the_charge_leaves_the_other_answers() {
    let context = tight();
    let mut plan = context.plan();
    let keys = plan.ask(context.query().column::<String>("city").count_by(), GOAL).unwrap();
    let failed = plan.ask_later(failing(&context, keys.place()), GOAL).unwrap();
    let people = plan.ask(count(&context), GOAL).unwrap();
    let mut answers = plan.solve().unwrap().release().unwrap();
    let error = answers.take(failed).unwrap_err();
    assert!(error.to_string().contains("these are too many keys"), "{error}");
    assert!(answers.take(keys).unwrap().value.contains_key("Lyon"));
    assert!(answers.take(people).is_ok());
    assert_eq!(context.report().entries().len(), 3);
}
