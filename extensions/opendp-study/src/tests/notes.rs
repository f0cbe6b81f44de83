//! Tests of notes about answers, and of refused bounds.

use super::*;

fn noted(budget: Json, questions: Json) -> (Outcome, String) {
    let outcome = study(budget, questions).unwrap().ask(read, 0.05).unwrap();
    let again = Outcome::parse(&outcome.to_json()).unwrap();
    assert_eq!(again.notes(), outcome.notes());
    let notes = outcome.notes().join("\n");
    assert!(outcome.to_html().contains("nearest bound") == notes.contains("nearest bound"));
    (outcome, notes)
}

#[test]
fn an_answer_about_moved_cells_says_so() {
    let questions = json!([
        {"count": {}},
        {"mean": {"column": "income", "bounds": [0, 50]}},
        {"group_by": ["city"], "keys": {"city": ["Lyon"]},
         "statistics": [{"quantiles": {"column": "age", "alphas": [0.2, 0.5],
                         "candidates": {"from": 0, "to": 90, "step": 1}}},
                        {"sum": {"column": "age"}}]},
    ]);
    let (outcome, notes) = noted(large(), questions);
    assert!(notes.contains("`mean of income`: 0 to 50; `sum of age by city"), "{notes}");
    assert_eq!(notes.matches("0 to 100").count(), 1, "{notes}");
    let bounds: Vec<_> = outcome.answers().iter().map(|answer| answer.bounds).collect();
    assert_eq!(bounds, [None, Some((0.0, 50.0)), None, None, Some((0.0, 100.0))]);
    // Quantiles and counts move no cells.
    let (_, notes) = noted(large(), json!([{"count": {}}]));
    assert_eq!(notes, "");
}
#[test]
fn found_groups_have_a_note_and_missing_groups_are_named() {
    let budget = json!({"epsilon": 1.0, "delta": 1e-9});
    let asked = |threshold: Json| json!([{"counts_by": {"column": "city"}, "where": threshold}]);
    let (outcome, notes) = noted(budget.clone(), asked(json!({})));
    assert!(notes.contains("can miss more often than stated"), "{notes}");
    assert!(outcome.to_text().contains("Lyon"));
    // No row satisfies this condition, so no key passes the threshold.
    let (outcome, _) = noted(budget, asked(json!({"age": {"at_least": 5000}})));
    assert!(outcome.to_text().contains("no group passed the threshold"), "{}", outcome.to_text());
    let rehearsed = study(large(), json!([{"mean": {"column": "age"}}])).unwrap().rehearse(0.05);
    assert!(rehearsed.unwrap().to_text().contains("known afterwards"));
}
#[test]
fn a_condition_that_only_cells_outside_of_the_bounds_satisfy_is_refused() {
    let asked = |condition: Json| json!([{"where": {"age": condition}, "sum": {"column": "age"}}]);
    for wrong in
        [json!({"at_least": 101}), json!({"below": 0}), json!({"in": [200, -1]}), json!(200)]
    {
        let error = refusal(large(), asked(wrong.clone()));
        assert!(error.contains("outside of the bounds 0 to 100"), "{wrong}: {error}");
    }
    for right in [json!({"at_least": 100}), json!({"below": 1}), json!({"in": [200, 1]})] {
        assert_eq!(numbers(asked(right)).len(), 1);
    }
    let groups = json!([{"where": {"age": {"at_least": 101}}, "group_by": ["city"],
                         "keys": {"city": ["Lyon"]}, "mean": {"column": "age"}}]);
    assert!(refusal(large(), groups).contains("outside of the bounds 0 to 100"));
}
#[test]
fn a_sum_of_texts_is_refused_before_its_bounds_are_missed() {
    let error = refusal(large(), json!([{"sum": {"column": "city"}}]));
    assert!(error.contains("this column is String") && !error.contains("bounds"), "{error}");
}
