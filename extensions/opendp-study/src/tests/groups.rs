use super::*;

/// Return the known ages of the people in a city.
fn ages(city: &str) -> Vec<f64> {
    let rows = (0..1000).filter(|i| i % 10 != 0);
    let rows = rows.filter(|i| (*i < 700) == (city == "Lyon"));
    rows.map(|i| f64::from(i % 90)).collect()
}
fn mean(ages: &[f64]) -> f64 {
    ages.iter().sum::<f64>() / ages.len() as f64
}
fn of_cities(statistics: Json) -> Json {
    json!([{"group_by": ["city"], "keys": {"city": ["Lyon", "Lille"]}, "statistics": statistics}])
}

#[test]
fn each_statistic_of_each_group_is_a_labelled_row() {
    let statistics = json!([
        {"count": {}}, {"sum": {"column": "age"}}, {"mean": {"column": "age"}},
        {"variance": {"column": "age"}}, {"median": {"column": "age", "candidates": [0, 40, 90]}},
        {"quantiles": {"column": "age", "alphas": [0.1, 0.9], "candidates": [0, 10, 80]}},
    ]);
    let outcome = study(large(), of_cities(statistics)).unwrap().ask(read, 1e-9).unwrap();
    let titles: Vec<&str> = outcome.answers().iter().map(|a| a.question.as_str()).collect();
    let statistics = ["sum of age", "mean of age", "variance of age", "median of age"];
    let quantiles = ["quantile 0.1 of age", "quantile 0.9 of age"];
    let count = ["count by city, only rows with age".to_owned()];
    let others =
        statistics.iter().chain(&quantiles).map(|statistic| format!("{statistic} by city"));
    let all: Vec<_> = count.into_iter().chain(others).collect();
    assert_eq!(titles, all);
    for (place, city) in ["Lyon", "Lille"].into_iter().enumerate() {
        let (ages, rows) = (ages(city), outcome.rows());
        let mean = mean(&ages);
        let squares = ages.iter().map(|age| (age - mean).powi(2)).sum::<f64>();
        let truths = [
            ages.len() as f64,
            ages.iter().sum(),
            mean,
            squares / (ages.len() - 1) as f64,
            40.0,
            10.0,
            80.0,
        ];
        for (answer, truth) in outcome.answers().iter().zip(truths) {
            let cell = &answer.cells[place];
            assert_eq!(cell.label.as_deref(), Some(city));
            assert_eq!(cell.key, Some(json!({"city": city})));
            let found = cell.value.as_f64().unwrap();
            assert!((found - truth).abs() < 1e-2 * truth.max(1.0), "{answer:?} {truth}");
            if let Some((low, high)) = cell.interval {
                assert!(low <= truth && truth <= high);
            }
        }
        assert_eq!(rows[4 + place][..2], ["mean of age by city".to_owned(), city.to_owned()]);
    }
    let text = outcome.to_text();
    assert!(text.contains("mean of age by city  Lyon") && text.contains("  Lille"), "{text}");
    let json = outcome.to_json();
    assert_eq!(json["answers"][2]["values"][1]["key"], json!({"city": "Lille"}));
    let read = Outcome::parse(&json).unwrap();
    assert_eq!((read.rows(), read.to_json()), (outcome.rows(), json));
}
#[test]
fn groups_of_several_columns_filters_and_others() {
    let outcome = study(
        large(),
        json!([
            {"group_by": ["city", "age"], "keys": {"city": ["Lyon"], "age": {"from": 1, "to": 2}},
             "count": {}},
            {"group_by": ["city", "age"], "keys": [["Lille", 1], ["Lyon", 2]], "count": {}},
            {"name": "old", "where": {"age": {"at_least": 60}}, "group_by": ["city"],
             "keys": {"city": ["Lyon"]}, "others": true, "count": {}},
        ]),
    );
    let outcome = outcome.unwrap().ask(read, 0.05).unwrap();
    let count = |keep: &dyn Fn(i64, bool) -> bool| {
        (0..1000).filter(|i| i % 10 != 0 && keep(i % 90, *i < 700)).count() as f64
    };
    let expected = [
        vec![
            ("Lyon, 1", count(&|age, lyon| lyon && age == 1)),
            ("Lyon, 2", count(&|age, lyon| lyon && age == 2)),
        ],
        vec![
            ("Lille, 1", count(&|age, lyon| !lyon && age == 1)),
            ("Lyon, 2", count(&|age, lyon| lyon && age == 2)),
        ],
        vec![
            ("Lyon", count(&|age, lyon| lyon && 60 <= age)),
            ("all else", count(&|age, lyon| !lyon && 60 <= age)),
        ],
    ];
    for (answer, expected) in outcome.answers().iter().zip(expected) {
        let found: Vec<_> = answer
            .cells
            .iter()
            .map(|cell| (cell.label.as_deref().unwrap(), cell.value.as_f64().unwrap()))
            .collect();
        assert_eq!(found, expected);
    }
    assert_eq!(outcome.answers()[2].question, "old: count");
    assert_eq!(outcome.answers()[0].question, "count by city, age");
}
#[test]
fn keys_of_groups_are_found_under_a_delta_and_their_counts_are_not_paid_twice() {
    let questions = |by: &str| {
        json!([
            {"count": {}},
            {"group_by": [by], "keys": "found", "statistics": [
                {"count": {}}, {"mean": {"column": "age"}}]},
            {"counts_by": {"column": "city"}},
        ])
    };
    let budget = || json!({"epsilon": 50, "delta": 1e-6});
    let asked = study(budget(), questions("city")).unwrap();
    let (plan, outcome) = (asked.rehearse(0.05).unwrap(), asked.ask(read, 0.05).unwrap());
    assert_eq!(plan.to_json()["spent"], outcome.to_json()["spent"]);
    // The scales of all noise are known before the data decide which keys are released.
    assert!(plan.answers().iter().flat_map(|answer| &answer.scales).all(|s| s.is_finite()));
    for (plan, answer) in plan.answers().iter().zip(outcome.answers()) {
        assert_eq!(plan.scales, answer.scales);
    }
    let labels: Vec<_> = outcome.answers()[2].cells.iter().map(|c| c.label.clone()).collect();
    assert_eq!(labels, [Some("Lille".to_owned()), Some("Lyon".to_owned())]);
    let truth = mean(&ages("Lyon"));
    let cell = &outcome.answers()[2].cells[1];
    assert!((cell.value.as_f64().unwrap() - truth).abs() < 1.0, "{cell:?} {truth}");
    // The control: too few people have the same age, so no key is released. The amount spent still
    // equals the planned amount.
    let budget = || json!({"epsilon": 0.5, "delta": 1e-12});
    let asked = study(budget(), questions("age")).unwrap();
    let (plan, outcome) = (asked.rehearse(0.05).unwrap(), asked.ask(read, 0.05).unwrap());
    assert!(outcome.answers()[2].cells.is_empty());
    assert_eq!(plan.to_json()["spent"], outcome.to_json()["spent"]);
    let pure = refusal(json!({"epsilon": 1.0}), questions("city"));
    assert!(pure.contains("or list them"), "{pure}");
}
#[test]
fn a_rehearsal_of_groups_spends_what_the_answers_then_cost() {
    for budget in
        [json!({"epsilon": 1.0}), json!({"rho": 0.1}), json!({"epsilon": 1, "delta": 1e-6})]
    {
        let statistics = json!([{"mean": {"column": "age"}}, {"variance": {"column": "income"}}]);
        let mut questions = of_cities(statistics).as_array().unwrap().clone();
        questions.push(json!({"count": {}}));
        let study = study(budget, json!(questions)).unwrap();
        let (plan, outcome) = (study.rehearse(0.05).unwrap(), study.ask(read, 0.05).unwrap());
        for (plan, answer) in plan.answers().iter().zip(outcome.answers()) {
            assert_eq!((&plan.scales, plan.error), (&answer.scales, answer.error));
            assert!(plan.cells.is_empty() && !answer.cells.is_empty());
        }
        assert_eq!(plan.to_json()["spent"], outcome.to_json()["spent"]);
        // The first question has four releases, and each release gets a quarter of the weight of
        // the question. The second question is a count. This count has one release, which gets the
        // whole weight of the question.
        assert_eq!(study.steps().unwrap()[..], [0.25, 0.25, 0.25, 0.25, 1.0][..]);
    }
}
#[test]
fn a_wrong_question_about_groups_says_what_to_write() {
    let by = |more: Json| {
        let mut question = json!({"group_by": ["city"], "keys": {"city": ["Lyon"]}});
        for (field, value) in more.as_object().unwrap() {
            question[field] = value.clone();
        }
        question
    };
    for (question, words) in [
        (by(json!({})), "expected exactly one of count, sum, mean"),
        (by(json!({"count": {}, "noise": "laplace"})), "leave `noise` out"),
        (by(json!({"count": {}, "statistics": [{"count": {}}]})), "either a list of statistics"),
        (by(json!({"statistics": [{"count": {}, "name": "x"}]})), "belongs to the whole question"),
        (by(json!({"statistics": [{"sum": {"column": "age", "rows": 3}}]})), "leave `rows` out"),
        (by(json!({"mean": {"column": "age", "rows": 3}})), "is not public"),
        (by(json!({"top_k": {"column": "city", "k": 1, "categories": ["a"]}})), "group by its"),
        (by(json!({"count": {}, "keys": 3})), "\"found\""),
        (by(json!({"count": {}, "keys": "found", "others": true})), "list the keys"),
        (by(json!({"count": {}, "keys": {"town": ["a"]}})), "rows are grouped by city"),
        (by(json!({"count": {}, "keys": {"city": {"from": 3, "to": 1}}})), "`from` <= `to`"),
        (by(json!({"count": {}, "keys": [["a", "b"]]})), "for each column, 1 in total"),
        (json!({"group_by": ["city"], "count": {}}), "which values have a group"),
        (json!({"group_by": ["income"], "keys": {"income": [1]}, "count": {}}), "has no keys"),
        (json!({"count": {}, "keys": {"city": ["Lyon"]}}), "this field is for groups"),
        (json!({"quantiles": {"column": "age", "candidates": [1]}}), "`alphas`"),
        (
            json!({"quantiles": {"column": "age", "candidates": [1, 2], "alphas": [0.9, 0.1]}}),
            "increasing order",
        ),
        (
            json!({"median": {"column": "age", "candidates": [1], "alphas": [0.9]}}),
            "leave `alphas` out",
        ),
        (
            json!({"histogram": {"column": "age", "edges": [1], "others": true}}),
            "leave `others` out",
        ),
    ] {
        let found = refusal(large(), json!([{"count": {}}, question]));
        assert!(found.contains(words) && found.contains("question 2"), "{found}");
    }
}
#[test]
fn several_quantiles_are_labelled() {
    let asked = json!([
        {"quantiles": {"column": "age", "alphas": [0.25, 0.5], "candidates": [20, 45, 70]}},
    ]);
    let outcome = study(large(), asked).unwrap().ask(read, 0.05).unwrap();
    let rows = outcome.rows();
    assert_eq!(rows[0][..3], ["quantiles of age", "0.25", "20.0"].map(str::to_owned));
    assert_eq!(rows[1][1..3], ["0.5", "45.0"].map(str::to_owned));
}

#[test]
fn an_answer_names_each_kind_of_its_noise() {
    let sums = (1..=30).map(|upper| json!({"sum": {"column": "age", "bounds": [0, upper]}}));
    let more = [json!({"count": {}}), json!({"mean": {"column": "age", "bounds": [0, 1]}})];
    let statistics: Vec<Json> = sums.chain(more).collect();
    let question = json!([{"group_by": ["city"], "keys": "found", "statistics": statistics}]);
    let outcome = study(json!({"epsilon": 1, "delta": 1e-6}), question).unwrap();
    let outcome = outcome.ask(read, 0.05).unwrap();
    let [.., count, mean] = outcome.answers() else { panic!() };
    assert_eq!(count.mechanism, "Laplace, threshold");
    assert_eq!(mean.mechanism, "Gaussian and Laplace, threshold");
    assert_eq!((mean.scales.len(), mean.scales[1]), (2, count.scales[0]));
    let text = outcome.to_text();
    assert!(text.contains("Gaussian and Laplace, threshold, scale "), "{text}");
    // Without groups, a mean is computed from a sum and a count, here with noise of the same kind.
    let mean = study(json!({"epsilon": 1}), json!([{"mean": {"column": "age"}}])).unwrap();
    let mean = mean.rehearse(0.05).unwrap();
    let [mean] = mean.answers() else { panic!() };
    assert_eq!((&mean.mechanism[..], mean.scales.len(), mean.error), ("Laplace", 2, None));
}
/// A study of twelve lines. The study asks for the mean income of each group of rows with equal
/// `educ`.
const DOCUMENT: &str = r#"{
    "context": {
        "data": "pums_ca_1000.csv",
        "unit": {"person": 1},
        "budget": {"epsilon": 1},
        "columns": {
            "educ": {"T": "i64", "missing": "drop"},
            "income": {"T": "i64", "bounds": [0, 100000], "missing": "drop"}}},
    "questions": [
        {"group_by": ["educ"], "keys": {"educ": {"from": 1, "to": 16}},
         "mean": {"column": "income"}}]
}"#;

#[test]
fn the_mean_by_group_of_the_census_takes_twelve_lines() {
    assert!(DOCUMENT.lines().count() <= 12);
    let study = Study::parse(&serde_json::from_str(DOCUMENT).unwrap()).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/pums_ca_1000.csv");
    let Ok(text) = std::fs::read_to_string(file) else {
        eprintln!("SKIPPED: {file} is not there");
        return;
    };
    let column = |name: &str| -> Vec<i64> {
        let mut lines = text.lines();
        let place = lines.next().unwrap().split(',').position(|title| title == name).unwrap();
        lines
            .map(|line| line.split(',').nth(place).unwrap().parse::<f64>().unwrap() as i64)
            .collect()
    };
    let read = |name: &str, _| Ok(Cells::Integer(column(name).into_iter().map(Some).collect()));
    // For the 16 means together, the test fails by chance with a probability below 1e-10.
    let outcome = study.ask(read, 2e-12).unwrap();
    let (educ, income) = (column("educ"), column("income"));
    for (cell, key) in outcome.answers()[0].cells.iter().zip(1..) {
        let group = educ.iter().zip(&income).filter(|(educ, _)| **educ == key);
        let group: Vec<f64> = group.map(|(_, income)| *income.clamp(&0, &100_000) as f64).collect();
        let (low, high) = cell.interval.unwrap();
        let truth = mean(&group);
        assert!(low <= truth && truth <= high, "{cell:?} {truth}");
        // A mean is computed from a noisy count and a noisy sum of differences from the middle of
        // the bounds. The count and the sum each get half of epsilon. The magnitude of each
        // difference is at most 50,000. So the scale of the noise is 2 for the count and 100,000
        // for the sum. With this noise, the interval for the mean of more than 100 rows is narrower
        // than 100,000, which is the distance between the bounds.
        if 100 < group.len() {
            assert!(high - low < 100_000.0, "{cell:?}");
        }
    }
    let left = outcome.to_json()["left"]["epsilon"].as_f64().unwrap();
    assert!(left < 1e-6, "{left}");
}
