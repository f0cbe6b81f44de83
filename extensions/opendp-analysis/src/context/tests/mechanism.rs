//! Test mechanisms of other crates on the rows of a column.

use opendp_core::{
    AtomDomain, Bounds, L1Distance, Space, SymmetricDistance, TheMeasure, VectorDomain,
};
use opendp_measurements::{Scale, make_gaussian, make_laplace, make_noisy_max};
use opendp_transformations::{make_count, make_count_by_categories, make_count_distinct, make_sum};

use super::*;
use crate::context::Mechanism;
use crate::context::chain::as_scores;

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
#[test]
fn a_mechanism_on_other_rows_is_refused() {
    let context = pure(1.0, 2);
    let narrow = || {
        let rows = VectorDomain::new(AtomDomain::bounded(Bounds::new(0, 1)?));
        Space::new(rows, SymmetricDistance)
    };
    let sum = move |rows, scale| make_sum(rows)?.then(|sum| make_laplace(sum, scale, None));
    let rows = || context.query().column::<i64>("age");
    // Rows between 0 and 1 change a sum by at most 1. But these rows have no bounds.
    let typed = rows().mechanism("sum", move |_, scale| sum(narrow()?, scale));
    let erased = rows()
        .erased_mechanism("sum", move |_, scale| Ok(sum(narrow()?, Scale::new(scale)?)?.erase()));
    for error in [typed.noise().unwrap_err(), erased.noise().unwrap_err()] {
        assert!(error.to_string().contains("the rows are in the space"), "{error}");
    }
    // The controls: with these bounds, the rows are in this space.
    let clamped = || rows().clamp(0, 1);
    clamped().mechanism("sum", move |_, scale| sum(narrow()?, scale)).noise().unwrap();
    let erased = clamped().erased_mechanism("sum", move |rows, scale| {
        Ok(sum(rows.typed()?, Scale::new(scale)?)?.erase())
    });
    // One person has four rows, and half of epsilon is for this question.
    let question = erased.noise().unwrap();
    assert_eq!((question.loss().unwrap(), question.scale()), (0.5, 8.0));
    assert!(question.release().unwrap().value.downcast::<i64>().is_ok());
    let other = rows().erased_mechanism("sum", |rows, scale| {
        let rows = rows.typed::<VectorDomain<AtomDomain<i64>>, SymmetricDistance>()?;
        let count = make_count::<_, _, i64>(rows)?;
        Ok(count.then(|count| make_gaussian(count, Scale::new(scale)?, None))?.erase())
    });
    let error = other.noise().unwrap_err().to_string();
    assert!(error.contains("zero_concentrated_divergence"), "{error}");
}
#[test]
fn a_parameter_is_found_at_the_boundary_of_the_share() {
    let asked = |context: &Context<MaxDivergence>, shape: fn(f64) -> Result<f64>| {
        let rows = context.query().column::<i64>("age");
        let question = rows.mechanism("count", move |rows, value| {
            let scale = Scale::new(shape(value.value())?)?;
            make_count::<_, _, i64>(rows)?.then(|count| make_laplace(count, scale, None))
        });
        question.solve_parameter().map(|question| (question.scale(), question.loss().unwrap()))
    };
    let context = pure(1.0, 1);
    let wrong = || Error::argument("value", "expected another number");
    // One person has four rows, so the scale is 4.
    assert_eq!(asked(&context, Ok), Ok((4.0, 1.0)));
    // The loss grows with the parameter, which must be between 0.01 and 10.
    let grows = |value: f64| match (0.01..10.0).contains(&value) {
        true => Ok(1.0 / value),
        false => Err(Error::argument("value", "expected another number")),
    };
    assert_eq!(asked(&context, grows), Ok((0.25, 1.0)));
    assert_eq!(asked(&context, |_| Ok(100.0)).unwrap_err().kind(), "Search");
    assert_eq!(asked(&context, |_| Ok(1.0)).unwrap_err().kind(), "BudgetExceeded");
    let never = asked(&context, |_| Err(Error::argument("value", "expected another number")));
    assert_eq!(never.unwrap_err(), wrong());
    // The account of an epsilon and a delta admits each of the shares.
    for queries in [1, 3, 7, 11, 30] {
        let tight = super::context(Budget::epsilon_delta(0.7, 1e-6), Split::evenly(queries));
        for _ in 0..queries {
            let rows = tight.query().column::<i64>("age");
            let question = rows.mechanism("count", |rows, epsilon| {
                let scale = Scale::new(1.0 / epsilon.value())?;
                make_count::<_, _, i64>(rows)?.then(|count| make_laplace(count, scale, None))
            });
            question.solve_parameter().unwrap().release().unwrap();
        }
    }
}
#[test]
fn a_bound_on_scores_is_no_bound_on_the_answer() {
    let context = pure(1.0, 1);
    let rows = context.query().column::<i64>("age");
    let frequent = rows.mechanism("most frequent", |rows, scale| {
        let counts = make_count_by_categories::<_, _, L1Distance<i64>, i64>(
            rows,
            (0..100).collect(),
            false,
        )?;
        let measure = TheMeasure(MaxDivergence);
        let chosen =
            counts.then(as_scores)?.then(|scores| make_noisy_max(scores, measure, scale, false))?;
        assert!(chosen.bounds_scores() && chosen.accuracy(0.05)?[0].is_some());
        Ok(chosen)
    });
    assert_eq!(frequent.noise().unwrap().accuracy(0.05).unwrap_err().kind(), "NotImplemented");
}
