//! Tests that a mistake in a study gives an error that states its place, or is visible in the
//! answer.

use opendp_core::arith::Exact;

use super::*;

/// Return the document of a valid study, with a new value at a pointer such as `/context/unit`.
fn with(pointer: &str, value: Json) -> Json {
    let mut study = json!({
        "context": {
            "unit": {"person": 1}, "budget": {"epsilon": 1},
            "columns": {"age": {"T": "i64", "bounds": [0, 100], "missing": 0}},
        },
        "questions": [{"count": {}}, {"mean": {"column": "age"}}],
    });
    *study.pointer_mut(pointer).unwrap() = value;
    study
}
fn titles(questions: Json) -> Vec<String> {
    let outcome = study(large(), questions).unwrap().ask(read, 0.05).unwrap();
    let read = Outcome::parse(&outcome.to_json()).unwrap();
    read.answers().iter().map(|answer| answer.question.clone()).collect()
}
/// Return a study of the incomes with a public number of rows. The context states this number if
/// `rows` is given.
fn of_public_rows(rows: Option<usize>, missing: Json, question: Json) -> Result<Study> {
    let mut context = json!({
        "unit": {"answers_of_person": 1}, "budget": {"epsilon": 1},
        "columns": {
            "income": {"T": "f64", "bounds": [0, 10000], "missing": missing}, "city": "String",
        },
    });
    if let Some(rows) = rows {
        context["rows"] = rows.into();
    }
    Study::parse(&json!({"context": context, "questions": [question]}))
}

#[test]
fn a_statistic_that_leaves_out_rows_because_of_another_column_says_so() {
    let columns = json!({
        "age": {"T": "i64", "bounds": [0, 100], "missing": "drop"},
        "income": {"T": "f64", "bounds": [0, 10000], "missing": "drop"},
        "city": "String",
    });
    let titles = |question: Json| -> Vec<String> {
        let study = Study::parse(&json!({
            "context": {"unit": {"person": 1}, "budget": large(), "columns": columns},
            "questions": [question],
        }));
        let outcome = study.unwrap().ask(read, 0.05).unwrap();
        assert!(outcome.to_text().contains(&outcome.answers()[0].question));
        let read = Outcome::parse(&outcome.to_json()).unwrap();
        read.answers().iter().map(|answer| answer.question.clone()).collect()
    };
    let question = |statistics: Json| json!({"group_by": ["city"], "keys": {"city": ["Lyon"]}, "statistics": statistics});
    let all = json!([{"count": {}}, {"sum": {"column": "age"}}, {"mean": {"column": "income"}}]);
    let wanted = [
        "count by city, only rows with age and income",
        "sum of age by city, only rows with income",
        "mean of income by city, only rows with age",
    ];
    assert_eq!(titles(question(all.clone())), wanted);
    let mut named = question(all);
    named["name"] = json!("ages");
    assert_eq!(titles(named)[0], "ages: count, only rows with age and income");
    assert_eq!(titles(question(json!([{"count": {}}]))), ["count by city"]);
    let quantiles = json!({"column": "income", "alphas": [0.1, 0.9], "candidates": [0, 5000]});
    let wanted = [
        "quantile 0.1 of income by city, only rows with age",
        "quantile 0.9 of income by city, only rows with age",
        "mean of age by city, only rows with income",
    ];
    let several = json!([{"quantiles": quantiles}, {"mean": {"column": "age"}}]);
    assert_eq!(titles(question(several)), wanted);
    // The title already names the columns of conditions and of keys, so no text names these columns
    // again.
    let by_age = json!({
        "group_by": ["age"], "keys": {"age": [1]}, "where": {"income": {"at_least": 0}},
        "statistics": [{"count": {}}, {"sum": {"column": "income"}}],
    });
    let wanted = [
        "count by age, where income {\"at_least\":0}",
        "sum of income by age, where income {\"at_least\":0}",
    ];
    assert_eq!(titles(by_age), wanted);
}
#[test]
fn a_replaced_cell_leaves_out_no_row() {
    let statistics = json!([{"count": {}}, {"mean": {"column": "income"}}]);
    let question =
        json!([{"group_by": ["city"], "keys": {"city": ["Lyon"]}, "statistics": statistics}]);
    assert_eq!(titles(question), ["count by city", "mean of income by city"]);
}
#[test]
fn a_public_number_of_rows_is_the_divisor_of_a_mean_of_all_rows() {
    let scales = |rows, missing: Json, question: Json| {
        let study = of_public_rows(Some(rows), missing, question).unwrap();
        study.rehearse(0.05).unwrap().answers()[0].scales.clone()
    };
    let mean = json!({"mean": {"column": "income"}});
    let stated = json!({"mean": {"column": "income", "rows": 1000}});
    let filtered = json!({"mean": {"column": "income"}, "where": {"city": "Lyon"}});
    // One replaced row moves the mean of 1000 rows by at most 10.
    for question in [mean.clone(), stated] {
        let scales = scales(1000, json!(0), question);
        assert!(scales.len() == 1 && (10.0..10.001).contains(&scales[0]), "{scales:?}");
    }
    // If rows can be left out, the number of the remaining rows is private.
    assert_eq!(scales(1000, json!("drop"), mean.clone()).len(), 2);
    assert_eq!(scales(1000, json!(0), filtered).len(), 2);
    // If the context does not state the number of rows, this number comes from the table. A
    // variance uses this number in the same way as a mean.
    let truth = (0..1000).filter(|i| i % 4 != 0).map(|i| f64::from(i) * 10.0).sum::<f64>() / 1e3;
    for rows in [None, Some(1000)] {
        let study = of_public_rows(rows, json!(0), mean.clone()).unwrap();
        let outcome = study.ask(read, 1e-9).unwrap();
        assert_eq!(outcome.answers()[0].scales.len(), 1);
        let (low, high) = outcome.answers()[0].cells[0].interval.unwrap();
        assert!(low <= truth && truth <= high, "{low} to {high} for {truth}");
        let variance = json!({"variance": {"column": "income"}});
        assert!(of_public_rows(rows, json!(0), variance).unwrap().ask(read, 0.05).is_ok());
    }
}
#[test]
fn a_mean_of_more_rows_than_the_table_has_is_refused() {
    for statistic in ["mean", "variance"] {
        let more = |rows| {
            let question = json!({statistic: {"column": "income", "rows": 1001}});
            of_public_rows(rows, json!(0), question).and_then(|study| study.ask(read, 0.05))
        };
        for rows in [Some(1000), None] {
            let error = more(rows).map(drop).unwrap_err().to_string();
            assert!(error.contains("question 1") && error.contains("at most"), "{error}");
        }
    }
    let fewer = json!({"mean": {"column": "income", "rows": 999}});
    assert!(of_public_rows(Some(1000), json!(0), fewer).unwrap().ask(read, 0.05).is_ok());
}
#[test]
fn a_value_of_a_wrong_type_is_named_by_its_place() {
    for (pointer, value, place) in [
        ("/context/budget/epsilon", json!("1"), "context: budget: epsilon: "),
        ("/context/budget", json!(1), "context: budget: "),
        ("/context/unit", json!({"person": -1}), "such as {\"person\": 1}"),
        ("/context/unit", json!({"person": 1.5}), "whole number"),
        ("/context/unit", json!(1), "context: unit: "),
        ("/context/unit", json!({"person": 0}), "context: argument `person`: "),
        ("/context/unit", json!({"answers_of_person": 0}), "argument `answers_of_person`: "),
        ("/context/columns/age", json!({"T": "i65"}), "context: column `age`: T: "),
        ("/questions/1/mean", json!({"column": 3}), "questions: item 2: mean: column: "),
        ("/questions/1/mean", json!({"column": "age", "bounds": [0]}), "item 2: mean: bounds: "),
        ("/questions/1", json!(7), "questions: item 2: "),
    ] {
        let error = Study::parse(&with(pointer, value.clone())).unwrap_err().to_string();
        assert!(error.contains(place), "{value}: {error}");
        assert!(!error.contains("struct ") && !error.contains(" at line "), "{error}");
    }
}
#[test]
fn a_list_is_not_read_as_an_object_with_named_fields() {
    let nested = json!({"group_by": ["age"], "keys": {"age": [1]}, "statistics": [{"count": []}]});
    for (pointer, list, place) in [
        ("/context/budget", json!([1.0, null, null]), "context: budget: "),
        ("/context/columns/age", json!(["i64", [0, 100], 0]), "context: column `age`: "),
        ("/questions/1/mean", json!(["age", null, null]), "questions: item 2: mean: "),
        ("/questions/0/count", json!([]), "questions: item 1: count: "),
        ("/questions/0", nested, "questions: item 1: statistics: item 1: count: "),
    ] {
        let error = Study::parse(&with(pointer, list.clone())).unwrap_err().to_string();
        assert!(error.starts_with(place), "{list}: {error}");
        assert!(error.ends_with("expected an object with named fields"), "{list}: {error}");
    }
    let question: Vec<Json> = vec![Json::Null; 16];
    assert!(Study::parse(&with("/questions/0", question.into())).is_err());
}
#[test]
fn a_question_that_would_answer_nothing_is_refused_before_it_costs_something() {
    for (question, field) in [
        (json!({"histogram": {"column": "city", "categories": []}}), "categories"),
        (json!({"histogram": {"column": "age", "edges": []}}), "edges"),
        (json!({"top_k": {"column": "city", "k": 0, "categories": ["Lyon"]}}), "k"),
        (json!({"group_by": ["city"], "keys": {"city": ["Lyon"]}, "statistics": []}), "statistics"),
        (json!({"top_k": {"column": "city", "k": 1, "categories": ["Lyon"]}}), "categories"),
        (json!({"median": {"column": "age", "candidates": [40]}}), "candidates"),
    ] {
        let found = study(large(), json!([question])).and_then(|study| study.rehearse(0.05));
        let error = found.map(drop).unwrap_err().to_string();
        assert!(error.contains(&format!("`{field}`: expected at least")), "{error}");
    }
    for (column, condition) in [
        ("city", json!({"in": []})),
        ("age", json!({"in": []})),
        ("age", json!({"at_least": 5, "below": 5})),
        ("age", json!({"at_least": 5.5, "below": 6})),
        ("income", json!({"at_least": 5, "below": 5})),
        ("income", json!({"at_least": 6, "below": -5.5})),
    ] {
        let question = json!({"count": {}, "where": {(column): condition}});
        let found = study(large(), json!([question])).and_then(|study| study.rehearse(0.05));
        let error = found.map(drop).unwrap_err().to_string();
        assert!(error.contains("no cell satisfies this condition"), "{error}");
    }
    let others = json!([{"histogram": {"column": "city", "categories": [], "others": true}}]);
    near(&numbers(others), &[1000.0]);
}
#[test]
fn wrong_keys_are_answered_with_fields_of_a_study() {
    for (question, wanted) in [
        (
            json!({"group_by": ["city", "city"], "keys": {"city": ["Lyon"]}, "count": {}}),
            "`city` occurs twice",
        ),
        (
            json!({"group_by": ["city", "age"], "keys": {"city": ["Lyon"]}, "count": {}}),
            "\"keys\": {\"age\": [value, ..]}",
        ),
        (
            json!({"group_by": ["income"], "keys": {"income": [1]}, "count": {}}),
            "read it as i64 or String",
        ),
        (
            json!({"sum": {"column": "age", "bounds": [0, 9_223_372_036_854_775_807_i64]}}),
            "above -9e18 and below 9e18",
        ),
    ] {
        let error = refusal(large(), json!([question]));
        assert!(error.contains(wanted) && !error.contains("`."), "{error}");
    }
}
/// Return the error of a rehearsal, which reads no data and spends nothing.
fn slip(columns: Json, question: Json) -> String {
    let context = json!({"unit": {"person": 1}, "budget": {"epsilon": 1}, "columns": columns});
    let study = Study::parse(&json!({"context": context, "questions": [question]}));
    study.unwrap().rehearse(0.05).map(drop).unwrap_err().to_string()
}
#[test]
fn a_fact_about_a_column_that_no_statistic_can_use_is_refused() {
    let refused = |column: Json| slip(json!({"x": column}), json!({"count": {}}));
    for kind in ["String", "bool"] {
        let error = refused(json!({"T": kind, "bounds": [0, 1]}));
        assert!(
            error.contains("column `x`: argument `bounds`: only columns of numbers"),
            "{error}"
        );
    }
    assert!(
        refused(json!({"T": "f64", "bounds": [1, 0], "missing": 0}))
            .contains("`bounds`: the lower")
    );
    for kind in ["i64", "f64"] {
        for missing in [17, 91] {
            let error = refused(json!({"T": kind, "bounds": [18, 90], "missing": missing}));
            assert!(error.contains("column `x`: argument `missing`: expected"), "{error}");
            assert!(error.contains(&format!("found {missing}")), "{error}");
        }
    }
    // The bounds of a question are also checked.
    for statistic in ["sum", "mean"] {
        let asked = json!({statistic: {"column": "x", "bounds": [18, 90]}});
        let error = slip(json!({"x": {"T": "i64", "missing": 0}}), asked);
        assert!(error.contains("a missing cell would count as 18"), "{error}");
    }
    // The control: each end of the bounds may replace a missing cell, and rows may be dropped.
    for missing in [json!(18), json!(90), json!("drop")] {
        let column = json!({"T": "i64", "bounds": [18, 90], "missing": missing});
        let context = json!({"unit": {"person": 1}, "budget": large(), "columns": {"x": column}});
        let study = json!({"context": context, "questions": [{"sum": {"column": "x"}}]});
        Study::parse(&study).unwrap().rehearse(0.05).unwrap();
    }
}
#[test]
fn a_condition_without_parts_is_refused() {
    for condition in [json!({}), json!({"at_least": null, "in": null})] {
        let asked = json!({"count": {}, "where": {"x": condition}});
        let error = slip(json!({"x": "String"}), asked);
        assert!(error.contains("where `x`") && error.contains("holds for every row"), "{error}");
    }
}
#[test]
fn a_grid_ends_where_it_says() {
    let grid = |from: f64, to: f64, step: f64| {
        let candidates = json!({"from": from, "to": to, "step": step});
        let asked: QuestionFields =
            document::from_json(&json!({"median": {"column": "x", "candidates": candidates}}))
                .unwrap();
        asked.median.unwrap().candidates()
    };
    let error = grid(0.0, 10.0, 3.0).unwrap_err().to_string();
    assert!(error.contains("`step`: expected a whole number") && error.contains("end at 9"));
    assert_eq!(grid(0.0, 9.0, 3.0).unwrap(), [0.0, 3.0, 6.0, 9.0]);
    for (from, to, step, numbers) in
        [(0.0, 1.0, 0.1, 11), (-0.3, 0.3, 0.1, 7), (1e6, 1_000_000.3, 0.1, 4), (0.0, 0.7, 0.01, 71)]
    {
        let found = grid(from, to, step).unwrap();
        assert_eq!(found.len(), numbers, "{found:?}");
        assert_eq!(found[numbers - 1], to, "{found:?}");
    }
    for (from, to, step) in [(0.0, 1.0, 0.0), (1.0, 0.0, 0.1), (0.0, 1.0, 1e-9)] {
        assert!(grid(from, to, step).is_err());
    }
    // Each number is the float of its decimal text, so the number of a cell `0.3` is a candidate.
    let tenths = [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4];
    assert_eq!(grid(-0.3, 0.4, 0.1).unwrap(), tenths);
    let cents: Vec<f64> = (0..=700).map(|i| format!("{i}e-2").parse().unwrap()).collect();
    assert_eq!(grid(0.0, 7.0, 0.01).unwrap(), cents);
    assert_eq!(grid(1e17, 1.2e17, 1e16).unwrap(), [1e17, 1.1e17, 1.2e17]);
    // The two numbers have too many digits together, so the candidates are computed as floats.
    assert_eq!(grid(1e-300, 2.0, 1.0).unwrap(), [1e-300, 1.0, 2.0]);
}
#[test]
fn a_statistic_of_more_rows_than_memory_should_hold_is_refused() {
    let columns = json!({"x": {"T": "f64", "bounds": [0, 1], "missing": 0}});
    for statistic in ["mean", "variance"] {
        let asked = json!({statistic: {"column": "x", "rows": 1_000_000_000_u64}});
        let error = slip(columns.clone(), asked);
        assert!(error.contains("`rows`: expected at most 100000000, found"), "{error}");
    }
}
#[test]
fn a_statistic_of_too_few_rows_and_a_wrong_replacement_are_named() {
    let columns = json!({"x": {"T": "f64", "bounds": [0, 1], "missing": 0}});
    for (statistic, rows) in [("mean", 0), ("variance", 1)] {
        let error = slip(columns.clone(), json!({statistic: {"column": "x", "rows": rows}}));
        assert!(error.contains("`rows`: expected a number of at least"), "{error}");
    }
    for missing in [json!(1.5), json!("a")] {
        let error = slip(json!({"x": {"T": "i64", "missing": missing}}), json!({"count": {}}));
        assert!(error.contains("column `x`: missing: "), "{error}");
    }
}
#[test]
fn a_large_delta_has_noise() {
    let rehearse = |delta: f64, questions: Json| {
        study(json!({"epsilon": 1, "delta": delta}), questions).unwrap().rehearse(0.05)
    };
    for delta in [1e-6, 0.2, 0.5, 0.9, 0.999] {
        rehearse(delta, json!([{"count": {}}])).unwrap();
        for count in [json!({"count": {}}), json!({"count": {}, "noise": "laplace"})] {
            rehearse(delta, json!([{"counts_by": {"column": "city"}}, count])).unwrap();
        }
    }
}
#[test]
fn a_budget_is_the_decimal_number_of_the_document() {
    for amount in [0.1, 0.2, 0.3, 1e-6, 1.0, 0.7] {
        let exact: Exact = amount.to_string().parse().unwrap();
        for budget in [json!({"epsilon": amount}), json!({"rho": amount})] {
            let columns = json!({"city": "String"});
            let context = json!({"unit": {"person": 1}, "budget": budget, "columns": columns});
            let study = json!({"context": context, "questions": [{"count": {}}, {"count": {}}]});
            let study = Study::parse(&study).unwrap();
            let measurement = study.measurement(0.05).unwrap();
            let d_in = measurement.input().metric().decode(&json!(1)).unwrap();
            assert_eq!(measurement.exact_map(&d_in).unwrap(), std::slice::from_ref(&exact));
            // The answers spend almost the whole budget, but not more than the budget.
            let outcome = study.rehearse(0.05).unwrap();
            let spent = outcome.entries().iter().fold(Exact::ZERO, |sum, e| sum.plus(&e.loss[0]));
            assert!(spent <= exact && 0.999 * amount < spent.to_f64_down(), "{spent}");
            let json = outcome.to_json();
            assert_eq!(json["budget"], budget);
            assert!(
                json["spent"]
                    .as_object()
                    .unwrap()
                    .values()
                    .all(|it| it.as_f64().unwrap() <= amount)
            );
        }
    }
    let budget = json!({"epsilon": 0.1, "delta": 1e-6});
    let context = json!({"unit": {"person": 1}, "budget": budget, "columns": {"city": "String"}});
    let study = json!({"context": context, "questions": [{"count": {}}]});
    let json = Study::parse(&study).unwrap().rehearse(0.05).unwrap().to_json();
    assert_eq!(json["budget"], budget);
    assert!(json["left_holds"].as_str().unwrap().contains("need not add up"), "{json}");
}
