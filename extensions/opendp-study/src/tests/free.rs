//! Tests of public counts, of names, and of errors that a rehearsal finds.

use opendp_ledger::{Ledger, Loss, Terms, Unit};

use super::*;
use crate::Charge;

/// Return a study of 1000 rows whose number is public.
fn of_rows(split: Json, questions: Json) -> Study {
    Study::parse(&json!({
        "context": {
            "unit": {"answers_of_person": 1}, "rows": 1000, "budget": {"epsilon": 1}, "split": split,
            "columns": {"income": {"T": "f64", "bounds": [0, 10000], "missing": 0}},
        },
        "questions": questions,
    }))
    .unwrap()
}
#[test]
fn a_count_of_a_public_number_of_rows_is_exact_and_costs_nothing() {
    let mean = || json!({"mean": {"column": "income"}});
    let alone = of_rows("evenly".into(), json!([mean()])).rehearse(0.05).unwrap();
    let counted = of_rows(json!([1, 2]), json!([mean(), {"count": {}}]));
    let rehearsed = counted.rehearse(0.05).unwrap();
    // The mean has the whole budget, although the count is the last question.
    assert_eq!(rehearsed.answers()[0].scales, alone.answers()[0].scales);
    assert_eq!(rehearsed.answers()[1].error, Some(0.0));
    assert!(rehearsed.answers()[1].cells.is_empty());
    let outcome = counted.ask(read, 0.05).unwrap();
    assert_eq!(outcome.entries().len(), 1);
    let cell = &outcome.answers()[1].cells[0];
    assert_eq!((&cell.value, cell.interval), (&json!(1000), Some((1000.0, 1000.0))));
    let text = outcome.to_text();
    assert!(text.contains("no noise") && text.contains("the public number of rows"), "{text}");
    let again = Outcome::parse(&outcome.to_json()).unwrap();
    assert_eq!((again.to_json(), again.notes()), (outcome.to_json(), outcome.notes()));
    assert!(outcome.to_html().contains("no noise"));
    // Nothing else is asked, so nothing is spent.
    let only = of_rows("evenly".into(), json!([{"count": {}}])).ask(read, 0.05).unwrap();
    assert_eq!(only.to_json()["spent"], json!({"epsilon": 0.0}));
    // A number of rows that is taken from the table is public, too.
    let mut document = counted.document.clone();
    document["context"].as_object_mut().unwrap().remove("rows");
    let told = Study::parse(&document).unwrap().ask(read, 0.05).unwrap();
    assert_eq!(told.answers()[1].cells[0].value, json!(1000));
    // The control: a count of some rows, and a count of a private number of rows, have noise.
    let some = json!([{"where": {"income": {"at_least": 5}}, "count": {}}]);
    assert!(0.0 < of_rows("evenly".into(), some).rehearse(0.05).unwrap().answers()[0].scales[0]);
    let private = study(json!({"epsilon": 1.0}), json!([{"count": {}}])).unwrap();
    assert!(0.0 < private.rehearse(0.05).unwrap().answers()[0].scales[0]);
}
#[test]
fn a_public_count_is_refused_where_it_makes_no_sense() {
    let asked = |split: Json, question: Json| {
        let refused = of_rows(split, json!([question, {"sum": {"column": "income"}}]));
        refused.rehearse(0.05).map(|outcome| outcome.to_text()).unwrap_err().to_string()
    };
    let error = asked("evenly".into(), json!({"count": {}, "noise": "laplace"}));
    assert!(error.contains("leave `noise` out"), "{error}");
    // A wrong weight is an error, although the count does not use it.
    let error = asked(json!([-1, 1]), json!({"count": {}}));
    assert!(error.contains("finite weights above 0"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("study.ledger")).unwrap();
    let terms = Terms::new().with_unit(Unit::new(json!("change_one_distance"), 1).unwrap());
    ledger.create_with("survey", &Loss::epsilon("3").unwrap(), &terms).unwrap();
    let charge = |questions: Json| {
        let study = of_rows("evenly".into(), questions);
        let charge = Charge::new(&ledger, "survey", "first");
        study.ask_charged(&charge, |name, kind| Ok(read(name, kind)?), 0.05).map(drop)
    };
    let error = charge(json!([{"count": {}}])).unwrap_err().to_string();
    assert!(error.contains("nothing is charged"), "{error}");
    assert_eq!(ledger.remaining("survey").unwrap(), Loss::epsilon("3").unwrap());
    charge(json!([{"count": {}}, {"sum": {"column": "income"}}])).unwrap();
    assert_eq!(ledger.remaining("survey").unwrap(), Loss::epsilon("2").unwrap());
}
#[test]
fn names_of_questions_are_different_and_not_empty() {
    let refused = |questions: Json| {
        let study = study(large(), questions).unwrap();
        let error = study.rehearse(0.05).map(|outcome| outcome.to_text()).unwrap_err();
        assert_eq!(study.ask(read, 0.05).map(drop).unwrap_err(), error);
        error.to_string()
    };
    let error = refused(json!([{"name": "a", "count": {}}, {"count": {}},
                               {"name": "a", "sum": {"column": "age"}}]));
    assert!(error.contains("question 3 `a`") && error.contains("question 1 has"), "{error}");
    let error = refused(json!([{"count": {}}, {"name": "count", "sum": {"column": "age"}}]));
    assert!(error.contains("question 2 `count`") && error.contains("question 1 has"), "{error}");
    for empty in ["", " "] {
        let error = refused(json!([{"name": empty, "count": {}}]));
        assert!(error.contains("the name is empty"), "{error}");
    }
    // Questions without names may have equal titles.
    numbers(json!([{"count": {}}, {"count": {}}, {"name": "a", "count": {}}]));
}
#[test]
fn a_rehearsal_finds_that_there_are_no_columns() {
    let study = Study::parse(&json!({
        "context": {"unit": {"person": 1}, "budget": {"epsilon": 1}},
        "questions": [{"count": {}}],
    }))
    .unwrap();
    let error = study.rehearse(0.05).map(|outcome| outcome.to_text()).unwrap_err();
    assert!(error.to_string().contains("name at least one column"), "{error}");
    assert_eq!(study.ask(read, 0.05).map(drop).unwrap_err(), error);
}
#[test]
fn a_rehearsal_finds_each_column_that_the_context_does_not_have() {
    for statistic in [
        json!({"where": {"x": 1}, "count": {}}),
        json!({"sum": {"column": "x", "bounds": [0, 1]}}),
        json!({"mean": {"column": "x", "bounds": [0, 1]}}),
        json!({"variance": {"column": "x", "bounds": [0, 1], "rows": 9}}),
        json!({"median": {"column": "x", "candidates": [0, 1]}}),
        json!({"quantiles": {"column": "x", "alphas": [0.2, 0.5], "candidates": [0, 1]}}),
        json!({"histogram": {"column": "x", "categories": ["a"]}}),
        json!({"histogram": {"column": "x", "edges": [1]}}),
        json!({"top_k": {"column": "x", "k": 1, "categories": ["a", "b"]}}),
        json!({"counts_by": {"column": "x"}}),
        json!({"group_by": ["x"], "keys": {"x": ["a"]}, "count": {}}),
        json!({"group_by": ["x"], "keys": "found", "count": {}}),
        json!({"group_by": ["city"], "keys": {"city": ["a"]}, "sum": {"column": "x"}}),
        json!({"group_by": ["city"], "keys": {"city": ["a"]},
               "median": {"column": "x", "candidates": [0, 1]}}),
    ] {
        let study = study(json!({"epsilon": 1, "delta": 1e-6}), json!([statistic.clone()]));
        let error = study.unwrap().rehearse(0.05).map(|outcome| outcome.to_text()).unwrap_err();
        assert!(error.to_string().contains("no such column"), "{statistic}: {error}");
    }
}
#[test]
fn candidates_have_any_order_and_no_repetitions() {
    let asked = |candidates: Json| json!([{"median": {"column": "age", "candidates": candidates}}]);
    let (sorted, mixed) = (json!([0, 40, 80]), json!([80, 0, 40]));
    assert_eq!(numbers(asked(sorted)), numbers(asked(mixed)));
    for statistic in [
        json!({"median": {"column": "age", "candidates": [0, 40, 40]}}),
        json!({"quantiles": {"column": "age", "alphas": [0.2, 0.5, 0.8], "candidates": [4, 0, 4]}}),
    ] {
        let study = study(large(), json!([statistic])).unwrap();
        let error = study.rehearse(0.05).map(|outcome| outcome.to_text()).unwrap_err().to_string();
        assert!(error.contains("candidates"), "{error}");
    }
}
#[test]
fn means_and_variances_are_possible_values() {
    // With two rows, the noise of each statistic is larger than its range.
    let study = Study::parse(&json!({
        "context": {
            "unit": {"answers_of_person": 1}, "rows": 2, "budget": {"epsilon": 0.5},
            "columns": {"x": {"T": "f64", "bounds": [0, 10], "missing": 0}},
        },
        "questions": [{"mean": {"column": "x"}}, {"variance": {"column": "x"}}],
    }))
    .unwrap();
    let mut ends = 0;
    for _ in 0..40 {
        let cells = |_: &str, _| Ok(Cells::Float(vec![Some(10.0), None]));
        let outcome = study.ask(cells, 0.05).unwrap();
        for (answer, largest) in outcome.answers().iter().zip([10.0, 50.000_001]) {
            let cell = &answer.cells[0];
            let (value, (low, high)) = (cell.value.as_f64().unwrap(), cell.interval.unwrap());
            assert!(0.0 <= low && low <= value && value <= high && high <= largest, "{cell:?}");
            ends += usize::from(value == 0.0 || largest - 1e-3 < value);
        }
    }
    assert!(20 < ends, "{ends}");
}
