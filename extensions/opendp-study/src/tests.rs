use opendp_core::Codec;
use serde_json::json;

use super::*;

thread_local! {
    /// The modes of all studies that ran in this thread, in order.
    static RUNS: std::cell::Cell<Vec<Mode>> = const { std::cell::Cell::new(Vec::new()) };
}
pub(super) fn note(mode: Mode) {
    RUNS.set([RUNS.take(), vec![mode]].concat());
}
/// Read a column of a table. The table has three columns, and some of its cells are missing.
fn read(name: &str, kind: CellType) -> Result<Cells> {
    Ok(match (name, kind) {
        ("age", CellType::Integer) => {
            Cells::Integer((0..1000).map(|i| (i % 10 != 0).then_some(i % 90)).collect())
        }
        ("income", CellType::Float) => {
            Cells::Float((0..1000).map(|i| (i % 4 != 0).then_some(f64::from(i) * 10.0)).collect())
        }
        ("city", CellType::Text) => Cells::Text(
            (0..1000).map(|i| Some(if i < 700 { "Lyon" } else { "Lille" }.to_owned())).collect(),
        ),
        _ => panic!("{name} was not asked for as {kind:?}"),
    })
}
fn study(budget: Json, questions: Json) -> Result<Study> {
    Study::parse(&json!({
        "context": {
            "unit": {"person": 1},
            "budget": budget,
            "columns": {
                "age": {"T": "i64", "bounds": [0, 100], "missing": "drop"},
                "income": {"T": "f64", "bounds": [0, 10000], "missing": 0},
                "city": "String",
            },
        },
        "questions": questions,
    }))
}
/// Return a large budget. Under this budget, the noise is too small to change the result of a test.
fn large() -> Json {
    json!({"epsilon": 1e6})
}
fn numbers(questions: Json) -> Vec<f64> {
    let outcome = study(large(), questions).unwrap().ask(read, 0.05).unwrap();
    let cells = outcome.answers().iter().flat_map(|answer| &answer.cells);
    cells.map(|cell| cell.value.as_f64().unwrap()).collect()
}
fn near(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found - wanted).abs() < 0.5 + wanted.abs() / 1e4, "{found} for {wanted}");
    }
}
fn refusal(budget: Json, questions: Json) -> String {
    let asked = study(budget, questions).and_then(|study| study.ask(read, 0.05));
    asked.map(|outcome| outcome.to_text()).unwrap_err().to_string()
}

#[test]
fn each_statistic_is_the_one_of_the_rows_that_fit() {
    let ages = || (0..1000).filter(|i| i % 10 != 0).map(|i| i % 90);
    let known = ages().count() as f64;
    let sum: i64 = ages().sum();
    let incomes = || (0..1000).map(|i| if i % 4 == 0 { 0.0 } else { f64::from(i) * 10.0 });
    let lyon = incomes().take(700).sum::<f64>();
    let adults = ages().filter(|age| (18..65).contains(age)).count() as f64;
    near(
        &numbers(json!([
            {"count": {}},
            {"sum": {"column": "age"}},
            {"mean": {"column": "age"}},
            {"where": {"city": "Lyon"}, "sum": {"column": "income"}},
            {"where": {"city": {"in": ["Lyon"]}}, "mean": {"column": "income", "bounds": [0, 100]}},
            {"where": {"age": {"at_least": 18, "below": 65}}, "count": {}},
            {"mean": {"column": "income", "rows": 1000}},
            {"histogram": {"column": "city", "categories": ["Lille"]}},
            {"histogram": {"column": "city", "categories": ["Lille"], "others": true}},
            {"histogram": {"column": "age", "edges": [45]}},
        ])),
        &[
            1000.0,
            sum as f64,
            sum as f64 / known,
            lyon,
            incomes().take(700).map(|x| x.min(100.0)).sum::<f64>() / 700.0,
            adults,
            incomes().sum::<f64>() / 1000.0,
            300.0,
            300.0,
            700.0,
            ages().filter(|age| *age < 45).count() as f64,
            ages().filter(|age| 45 <= *age).count() as f64,
        ],
    );
}
#[test]
fn the_sum_of_a_mean_without_groups_is_centred() {
    let study = study(json!({"epsilon": 1}), json!([{"mean": {"column": "age"}}])).unwrap();
    let ages: Vec<f64> = (0..1000).filter(|i| i % 10 != 0).map(|i| f64::from(i % 90)).collect();
    let mean = ages.iter().sum::<f64>() / ages.len() as f64;
    let (mut squares, mut inside, times) = (0.0, 0, 600);
    for _ in 0..times {
        let outcome = study.ask(read, 0.05).unwrap();
        let answer = &outcome.answers()[0];
        // The bounds are 0 and 100, so an age differs from the middle of the bounds by at most 50.
        // The sum of these differences gets half of epsilon. So the scale of the noise on this sum
        // is 100. For a sum of the ages themselves, the scale would be 200. The count gets the
        // other half of epsilon, so the scale of the noise on the count is 2.
        assert_eq!(answer.scales, [100.0, 2.0]);
        let (value, (low, high)) =
            (answer.cells[0].value.as_f64().unwrap(), answer.cells[0].interval.unwrap());
        squares += (value - mean).powi(2);
        inside += i32::from(low <= mean && mean <= high);
    }
    // Return the root of the expected squared error of a mean. The mean is computed from the
    // differences between the ages and `centre`. The magnitude of each difference is at most
    // `largest`. The scales of the noise are `2 * largest` for the sum and 2 for the count. The
    // variance of Laplace noise is twice the square of its scale.
    let expected = |largest: f64, centre: f64| {
        (2.0 * (2.0 * largest).powi(2) + 8.0 * (mean - centre).powi(2)).sqrt() / ages.len() as f64
    };
    let found = (squares / f64::from(times)).sqrt();
    assert!((found / expected(50.0, 50.0) - 1.0).abs() < 0.6, "{found}");
    assert!(found < 0.7 * expected(100.0, 0.0), "{found}");
    assert!(528 <= inside, "{inside} of {times}");
}
#[test]
fn a_median_is_a_candidate_and_the_top_categories_are_names() {
    let questions = json!([
        {"median": {"column": "age", "candidates": {"from": 0, "to": 100, "step": 5}}},
        {"quantile": {"column": "income", "alpha": 0.25, "candidates": [1000, 2000, 9000]}},
        {"top_k": {"column": "city", "k": 1, "categories": ["Lille", "Lyon"]}},
    ]);
    let outcome = study(large(), questions).unwrap().ask(read, 0.05).unwrap();
    let values: Vec<&Json> = outcome.answers().iter().map(|a| &a.cells[0].value).collect();
    assert_eq!(values, [&json!(45.0), &json!(1000.0), &json!("Lyon")]);
}
#[test]
fn keys_take_a_delta() {
    let questions = || json!([{"counts_by": {"column": "city"}}]);
    let outcome = study(json!({"epsilon": 1e3, "delta": 1e-6}), questions()).unwrap();
    let outcome = outcome.ask(read, 0.05).unwrap();
    let labels: Vec<_> = outcome.answers()[0].cells.iter().map(|c| c.label.clone()).collect();
    assert_eq!(labels, [Some("Lille".into()), Some("Lyon".into())]);
    // Among the keys that are found, errors exceed a bound more often than stated. So only
    // intervals are stated, as for groups whose keys are found.
    assert!(
        outcome.answers()[0].error.is_none()
            && outcome.to_json()["answers"][0]["accuracy"].is_null()
    );
    assert!(outcome.answers()[0].cells.iter().all(|cell| cell.interval.is_some()));
    assert!(refusal(large(), questions()).contains("need a budget with an epsilon and a delta"));
}
#[test]
fn a_rehearsal_states_what_the_answers_then_have() {
    let questions = json!([
        {"count": {}}, {"mean": {"column": "age"}}, {"sum": {"column": "income"}},
    ]);
    let study = study(json!({"epsilon": 1.0, "delta": 1e-6}), questions).unwrap();
    let (plan, outcome) = (study.rehearse(0.05).unwrap(), study.ask(read, 0.05).unwrap());
    for (plan, answer) in plan.answers().iter().zip(outcome.answers()) {
        assert_eq!((&plan.scales, plan.error), (&answer.scales, answer.error));
        assert!(plan.cells.is_empty() && !answer.cells.is_empty());
    }
    assert_eq!(plan.to_json()["spent"], outcome.to_json()["spent"]);
}
/// Parse a study of incomes that can state the number of rows.
fn with_rows(unit: Json, rows: Option<usize>, questions: Json) -> Result<Study> {
    let mut context = json!({
        "unit": unit, "budget": {"epsilon": 1.0},
        "columns": {"income": {"T": "f64", "missing": 0}},
    });
    if let Some(rows) = rows {
        context["rows"] = rows.into();
    }
    Study::parse(&json!({"context": context, "questions": questions}))
}
#[test]
fn a_study_is_rehearsed_before_it_is_answered() {
    let study_of = |unit: Json, rows: Option<usize>| {
        let study = with_rows(unit, rows, json!([{"count": {}}]));
        RUNS.take();
        study.unwrap().ask(read, 0.05).unwrap();
        RUNS.take()
    };
    // If the number of rows is public, but only the table states it, the study is rehearsed twice:
    // before and after the table is read.
    let expected = [Mode::Rehearse, Mode::Ask];
    let twice = [Mode::Rehearse, Mode::Rehearse, Mode::Ask];
    assert_eq!(study_of(json!({"person": 1}), None), expected);
    assert_eq!(study_of(json!({"answers_of_person": 1}), None), twice);
    assert_eq!(study_of(json!({"answers_of_person": 1}), Some(1000)), expected);
    // A wrong question is found before the data are read, and before any answer.
    let wrong = study(large(), json!([{"count": {}}, {"sum": {"column": "x"}}])).unwrap();
    RUNS.take();
    assert!(wrong.ask(|_, _| panic!("it reads"), 0.05).is_err());
    assert_eq!(RUNS.take(), [Mode::Rehearse]);
}
#[test]
fn weights_divide_the_budget() {
    let with_split = |split: Json| {
        Study::parse(&json!({
            "context": {
                "unit": {"person": 1}, "budget": {"epsilon": 1.0}, "split": split,
                "columns": {"city": "String"},
            },
            "questions": [{"count": {}}, {"count": {}}],
        }))
    };
    let plan = with_split(json!([3, 1])).unwrap().rehearse(0.05).unwrap();
    let scales: Vec<f64> = plan.answers().iter().map(|answer| answer.scales[0]).collect();
    assert!((scales[0] - 4.0 / 3.0).abs() < 1e-9 && (scales[1] - 4.0).abs() < 1e-9, "{scales:?}");
    assert!(with_split(json!("evenly")).is_ok());
    for wrong in [json!([1]), json!("even"), json!([1, 0]), json!([1, -1]), json!({"a": 1})] {
        let refused = with_split(wrong.clone()).and_then(|study| study.rehearse(0.05));
        assert!(refused.unwrap_err().to_string().contains("split"), "{wrong}");
    }
}
#[test]
fn a_public_number_of_rows_is_stated_or_read() {
    let parse = |unit: Json, rows: Option<usize>| {
        let mean = json!([{"mean": {"column": "income", "bounds": [0, 1], "rows": 1000}}]);
        with_rows(unit, rows, mean)
    };
    let public = json!({"answers_of_person": 1});
    assert!(parse(public.clone(), None).unwrap().rehearse(0.05).is_err());
    assert!(parse(public.clone(), None).unwrap().ask(read, 0.05).is_ok());
    assert!(parse(public.clone(), Some(1000)).unwrap().rehearse(0.05).is_ok());
    assert!(parse(public, Some(1001)).unwrap().ask(read, 0.05).is_err());
    let private = parse(json!({"person": 1}), Some(1000)).unwrap_err().to_string();
    assert!(private.contains("the number of rows is private"), "{private}");
}
#[test]
fn more_rows_than_fit_in_memory_are_an_error() {
    let study = |rows: usize| {
        Study::parse(&json!({
            "context": {
                "unit": {"answers_of_person": 1},
                "rows": rows,
                "budget": {"epsilon": 1.0},
                "columns": {"income": {"T": "f64", "missing": 0}, "city": "String"},
            },
            "questions": [{"count": {}}],
        }))
        .unwrap()
    };
    let large = study(1 << 60);
    for error in [
        large.rehearse(0.05).map(drop).unwrap_err(),
        large.ask(read, 0.05).map(drop).unwrap_err(),
        large.measurement(0.05).map(drop).unwrap_err(),
    ] {
        assert!(error.to_string().contains("not enough memory"), "{error}");
    }
    assert!(study(1000).rehearse(0.05).is_ok());
}
#[test]
fn a_wrong_question_says_what_is_wrong_and_where() {
    for (question, wanted) in [
        (json!({"cuont": {}}), "unknown field `cuont`"),
        (json!({}), "expected exactly one of count, sum, mean"),
        (json!({"count": {}, "sum": {"column": "age"}}), "found 2"),
        (json!({"sum": {"column": "agee"}}), "no such column"),
        (json!({"sum": {"column": "city", "bounds": [0, 1]}}), "expected a column of numbers"),
        (json!({"mean": {"column": "age", "bound": [0, 1]}}), "unknown field `bound`"),
        (json!({"sum": {"column": "age", "bounds": [0, 0.5]}}), "expected whole numbers"),
        (json!({"variance": {"column": "age"}}), "add \"rows\" to the question"),
        (json!({"count": {}, "noise": "gaussian"}), "Gaussian noise needs a budget with a rho"),
        (json!({"count": {}, "where": {"city": {"below": 3}}}), "are for columns of numbers"),
        (json!({"count": {}, "where": {"age": "old"}}), "where `age`"),
        (json!({"histogram": {"column": "city"}}), "either `categories` or `edges`"),
        (
            json!({"median": {"column": "age", "candidates": {"from": 0, "to": 1e9, "step": 1}}}),
            "at most 1000000 numbers",
        ),
    ] {
        let found = refusal(large(), json!([{"count": {}}, question]));
        assert!(found.contains(wanted), "{found}");
    }
    let found = refusal(large(), json!([{"count": {}}, {"sum": {"column": "agee"}}]));
    assert!(found.contains("question 2"), "{found}");
    assert!(
        refusal(json!({"rho": 1.0, "epsilon": 1.0}), json!([{"count": {}}])).contains("budget")
    );
    assert!(refusal(large(), json!([])).contains("from 1 to"));
}
#[test]
fn the_fields_of_a_document_have_names() {
    let context = json!({"unit": {"person": 1}, "budget": {"epsilon": 1}});
    let list = json!([null, {"person": 1}, null, {"epsilon": 1}, null, {}]);
    for (document, place) in [
        (json!([context, [{"count": {}}]]), ""),
        (json!({"context": list, "questions": [{"count": {}}]}), "context: "),
    ] {
        let error = Study::parse(&document).unwrap_err().to_string();
        assert!(error.starts_with(place), "{error}");
        assert!(error.ends_with("expected an object with named fields"), "{error}");
    }
}
#[test]
fn a_column_of_numbers_says_what_stands_for_missing_cells() {
    let parse = |column: Json| {
        Study::parse(&json!({
            "context": {
                "unit": {"person": 1}, "budget": {"epsilon": 1.0}, "columns": {"age": column},
            },
            "questions": [{"count": {}}],
        }))
    };
    let refused = parse(json!("i64")).and_then(|study| study.rehearse(0.05)).unwrap_err();
    assert!(refused.to_string().contains("\"missing\": \"drop\""), "{refused}");
    let wrong = parse(json!({"T": "i64", "missing": "none"})).and_then(|s| s.rehearse(0.05));
    assert!(wrong.unwrap_err().to_string().contains("missing"));
    assert!(parse(json!({"T": "i64", "missing": -1})).unwrap().rehearse(0.05).is_ok());
    assert!(parse(json!({"T": "i32", "missing": -1})).is_err());
}
#[test]
fn answers_are_written_as_text_rows_and_json() {
    let questions = json!([
        {"name": "people", "count": {}},
        {"histogram": {"column": "city", "categories": ["Lyon", "Lille"], "others": true}},
    ]);
    let outcome = study(large(), questions).unwrap().ask(read, 0.05).unwrap();
    let rows = outcome.rows();
    assert_eq!(rows[0][..3], ["people".to_owned(), String::new(), "1000".to_owned()]);
    assert_eq!(rows[1][1..3], ["Lyon".to_owned(), "700".to_owned()]);
    let text = outcome.to_text();
    assert!(text.contains("people") && text.contains("Lille") && text.contains("spent: epsilon"));
    let json = outcome.to_json();
    assert_eq!(json["answers"][1]["values"][2]["label"], "all else");
    assert_eq!(json["budget"]["epsilon"], json!(1e6));
    let read = Outcome::parse(&json).unwrap();
    assert_eq!((read.rows(), read.to_text(), read.to_json()), (rows, text, json));
    assert!(Outcome::parse(&json!({"answers": []})).is_err());
}
#[test]
fn a_study_is_a_measurement_that_loses_its_budget() {
    let budget = json!({"epsilon": 0.3, "delta": 1e-6});
    let study = study(budget, json!([{"count": {}}])).unwrap();
    let measurement = study.measurement(0.05).unwrap();
    let distance = |d: u32| measurement.input().metric().decode(&json!(d)).unwrap();
    // The floats 0.3 and 1e-6 are below the decimal numbers, so the map rounds up.
    let (epsilon, delta) = (0.3_f64.next_up(), 1e-6_f64.next_up());
    assert_eq!(measurement.map(&distance(1)).unwrap().to_json(), json!([epsilon, delta]));
    assert!(measurement.map(&distance(2)).is_err());
}
#[test]
fn what_a_statistic_does_not_use_is_refused_and_not_ignored() {
    let candidates = || json!([0, 50, 100]);
    for (question, field) in [
        (json!({"sum": {"column": "age", "rows": 9}}), "rows"),
        (json!({"median": {"column": "age", "candidates": candidates(), "alpha": 0.9}}), "alpha"),
        (
            json!({"median": {"column": "age", "candidates": candidates()}, "noise": "laplace"}),
            "noise",
        ),
        (
            json!({"top_k": {"column": "city", "k": 1, "categories": ["Lyon"]}, "noise": "laplace"}),
            "noise",
        ),
        (json!({"counts_by": {"column": "city"}, "noise": "gaussian"}), "noise"),
    ] {
        let error = study(large(), json!([question])).unwrap_err().to_string();
        assert!(error.contains(&format!("leave `{field}` out")), "{error}");
    }
    let count = study(large(), json!([{"count": {}}])).unwrap();
    for alpha in [0.0, -0.1, 1.5, f64::NAN] {
        let error = count.rehearse(alpha).unwrap_err().to_string();
        assert!(error.contains("`alpha`"), "{error}");
        assert!(count.ask(read, alpha).is_err());
    }
    assert!(count.rehearse(1.0).is_ok());
}
#[test]
fn an_error_names_a_type_of_cells_as_documents_do() {
    for kind in [CellType::Integer, CellType::Float, CellType::Bool, CellType::Text] {
        assert_eq!(serde_json::from_value::<CellType>(json!(kind.name())).unwrap(), kind);
    }
    let count = study(large(), json!([{"count": {}}])).unwrap();
    let asked = count.ask(|_, _| Ok(Cells::Bool(vec![Some(true); 3])), 0.05);
    let error = asked.map(|outcome| outcome.to_text()).unwrap_err().to_string();
    assert!(error.contains("`age`") && error.contains("expected cells of i64"), "{error}");
}

mod frames;
mod free;
mod groups;
mod integers;
mod notes;
mod rehearsals;
mod slips;
