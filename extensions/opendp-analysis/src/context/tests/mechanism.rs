//! Test mechanisms of other crates on the rows of a column.

use opendp_measurements::{Scale, make_gaussian, make_laplace};
use opendp_transformations::make_count_distinct;

use super::*;
use crate::context::Mechanism;

/// Ask for the number of different ages, which changes by at most 4 for a person with four rows.
fn ages(context: &Context<MaxDivergence>) -> Mechanism<'_, MaxDivergence, i64> {
    context.query().column::<i64>("age").mechanism("number of values", |rows, scale| {
        make_count_distinct::<_, _, i64>(rows)?.then(|count| make_laplace(count, scale, None))
    })
}

#[test]
fn a_mechanism_gets_its_share_and_is_charged() {
    let context = pure(1.0, 2);
    let question = ages(&context).noise().unwrap();
    assert_eq!((question.loss().unwrap(), question.scale()), (0.5, 8.0));
    assert_eq!(question.mechanism(), "other");
    assert!(question.accuracy(0.05).unwrap() < 30.0);
    let answer = question.release().unwrap();
    let (low, high) = answer.interval(1e-9).unwrap();
    assert!(low <= 100.0 && 100.0 <= high, "{low} {high}");
    let report = context.report();
    assert_eq!(report.entries()[0].query, "number of values of `age`");
    assert_eq!(report.left[0], Exact::from_f64(0.5).unwrap());
    // The control: the same noise at half of the scale does not fit the share.
    let refused = ages(&context).noise_of_scale(4.0).unwrap_err();
    assert_eq!(refused.kind(), "BudgetExceeded");
    ages(&context).noise_of_scale(8.0).unwrap().release().unwrap();
    assert_eq!(ages(&context).noise().unwrap_err().kind(), "BudgetExceeded");
}
#[test]
fn a_mechanism_states_a_rho_if_the_budget_is_a_rho() {
    let context = context(Budget::rho(0.5), Split::evenly(1));
    let rows = context.query().column::<i64>("age").filter(|age| *age < 50);
    let question = rows.mechanism("number of values", |rows, scale| {
        make_count_distinct::<_, _, i64>(rows)?.then(|count| make_gaussian(count, scale, None))
    });
    let question = question.noise().unwrap();
    // A rho of 0.5 at a distance of 4 needs a scale of 4.
    assert!((question.scale() - 4.0).abs() < 1e-5, "{}", question.scale());
    assert!(question.loss().unwrap() <= 0.5);
    question.release().unwrap();
}
#[test]
fn a_pure_mechanism_takes_its_share_of_an_epsilon_and_a_delta() {
    let context = context(Budget::epsilon_delta(1.0, 1e-6), Split::evenly(1));
    let rows = context.query().column::<i64>("age");
    let question = rows.mechanism("number of values", |rows, scale| {
        make_count_distinct::<_, _, i64>(rows)?.then(|count| make_laplace(count, scale, None))
    });
    let question = question.noise().unwrap();
    assert!(question.loss().unwrap().0 <= 1.0 && question.scale() < 4.0 * 1.001);
    question.release().unwrap();
    assert!(context.remaining().unwrap().0 < 1e-3);
}
#[test]
fn an_error_of_a_mechanism_spends_nothing() {
    let context = pure(1.0, 1);
    let rows = || context.query().column::<i64>("age");
    let failing = || -> Error { Error::MakeMeasurement("no such mechanism".into()) };
    let failed = rows().mechanism::<i64>("x", move |_, _| Err(failing())).noise().unwrap_err();
    assert!(failed.to_string().contains("no such mechanism"), "{failed}");
    // A missing column, and a mechanism whose loss has no bound.
    let missing = context.query().column::<i64>("wage");
    let missing = missing.mechanism("x", |rows, scale| {
        make_count_distinct::<_, _, i64>(rows)?.then(|count| make_laplace(count, scale, None))
    });
    assert!(missing.noise().unwrap_err().to_string().contains("wage"));
    let exact = rows().mechanism("x", |rows, _| {
        let none = Scale::new(0.0)?;
        make_count_distinct::<_, _, i64>(rows)?.then(|count| make_laplace(count, none, None))
    });
    assert_eq!(exact.noise().unwrap_err().kind(), "BudgetExceeded");
    assert!(context.report().entries().is_empty());
}
