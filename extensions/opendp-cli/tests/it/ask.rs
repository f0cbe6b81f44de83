//! Tests of studies. A study has a budget and questions about a table, in one document.

use serde_json::{Value as Json, json};

use crate::{Desk, requests};

/// Write a table in which three ages are missing, and a study of this table.
fn desk(budget: Json) -> Desk {
    let desk = Desk::new();
    let cell = |i: i32| if i % 100 == 7 { String::new() } else { format!("{}.0", i % 90) };
    let rows =
        (0..300).map(|i| format!("{},{},{}\n", cell(i), i * 10, ["Lyon", "Lille"][i as usize % 2]));
    desk.file("people.csv", "age,income,city\n".to_owned() + &rows.collect::<String>());
    let study = json!({
        "context": {
            "data": "people.csv",
            "unit": {"person": 1},
            "budget": budget,
            "columns": {
                "age": {"T": "i64", "bounds": [0, 100], "missing": "drop"},
                "income": {"T": "f64", "bounds": [0, 5000], "missing": 0},
                "city": "String",
            },
        },
        "questions": [
            {"name": "people", "count": {}},
            {"name": "with an age", "where": {"age": {"at_least": 0}}, "count": {}},
            {"mean": {"column": "income"}},
            {"histogram": {"column": "city", "categories": ["Lyon"], "others": true}},
        ],
    });
    desk.file("study.json", study.to_string());
    desk
}
/// Write the table, and a study with these questions and with epsilon 1 and delta 1e-6.
fn desk_of(questions: Json) -> Desk {
    let desk = desk(json!({"epsilon": 1.0, "delta": 1e-6}));
    let text = std::fs::read_to_string(desk.0.path().join("study.json")).unwrap();
    let mut study: Json = serde_json::from_str(&text).unwrap();
    study["questions"] = questions;
    desk.file("study.json", study.to_string());
    desk
}

#[test]
fn a_study_is_answered_as_text_csv_and_json() {
    // Under this large budget, the noise rounds to 0.
    let desk = desk(json!({"epsilon": 1e6}));
    let text = desk.says(&["ask", "study.json"]);
    assert!(text.contains("people") && text.contains("with an age"), "{text}");
    let csv = desk.says(&["ask", "study.json", "--csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "question,label,value,lower,upper,accuracy,accuracy_in");
    assert!(lines[1].starts_with("people,,300,") && lines[2].starts_with("with an age,,297,"));
    assert!(lines[4].starts_with("histogram of city,Lyon,150,"), "{csv}");
    let json: Json = serde_json::from_str(&desk.says(&["ask", "study.json", "--json"])).unwrap();
    assert_eq!(json["answers"][3]["values"][1]["label"], "all else");
    let mean = json["answers"][2]["values"][0]["value"].as_f64().unwrap();
    assert!((1490.0..1500.0).contains(&mean), "{mean}");
}
#[test]
fn a_dry_run_needs_no_data_and_gives_no_answer() {
    let desk = desk(json!({"epsilon": 1.0, "delta": 1e-6}));
    std::fs::remove_file(desk.0.path().join("people.csv")).unwrap();
    let json: Json =
        serde_json::from_str(&desk.says(&["ask", "study.json", "--dry-run", "--json"])).unwrap();
    assert_eq!(json["answers"][0]["values"], json!([]));
    assert!(1.0 < json["answers"][0]["accuracy"].as_f64().unwrap());
    let text = desk.says(&["ask", "study.json", "--dry-run"]);
    assert!(text.contains("+/-"), "{text}");
    assert!(desk.fails(&["ask", "study.json"], 1).contains("people.csv"));
}
#[test]
fn a_wrong_study_is_refused_before_the_data_are_read() {
    let desk = desk(json!({"epsilon": 1.0, "delta": 1e-6}));
    let text = std::fs::read_to_string(desk.0.path().join("study.json")).unwrap();
    desk.file(
        "wrong.json",
        text.replace("\"income\"}", "\"imcome\"}").replace("people.csv", "no.csv"),
    );
    let error = desk.fails(&["ask", "wrong.json"], 1);
    assert!(error.contains("question 3") && error.contains("imcome"), "{error}");
    desk.file("wrong.json", text.replace("\"unit\"", "\"unti\""));
    assert!(desk.fails(&["ask", "wrong.json"], 1).contains("unti"));
    desk.file("wrong.json", text.replace("\"count\":{}", "\"count\":{},\"count\":{}"));
    assert!(desk.fails(&["ask", "wrong.json"], 1).contains("twice"));
    assert!(desk.fails(&["ask", "study.json", "--data", "-"], 1).contains("must be a file"));
    assert!(desk.fails(&["ask", "study.json", "--alpha", "2"], 1).contains("alpha"));
}
#[test]
fn a_wrong_study_is_not_charged() {
    let desk = desk(json!({"epsilon": 1.0}));
    let text = std::fs::read_to_string(desk.0.path().join("study.json")).unwrap();
    desk.file("wrong.json", text.replace("\"income\"}", "\"imcome\"}"));
    desk.budget("b.ledger:survey", &["--epsilon", "1"]);
    let to = ["--budget", "b.ledger:survey", "--id", "one"];
    let error = desk.fails(&[&["ask", "wrong.json"], &to[..]].concat(), 1);
    assert!(error.contains("imcome"), "{error}");
    let error = desk.fails(&[&["ask", "study.json", "--alpha", "2"], &to[..]].concat(), 1);
    assert!(error.contains("alpha"), "{error}");
    let mut study: Json = serde_json::from_str(&text).unwrap();
    study["context"]["columns"] = json!({});
    study["questions"] = json!([{"count": {}}]);
    desk.file("empty.json", study.to_string());
    desk.fails(&[&["ask", "empty.json"], &to[..]].concat(), 1);
    // The control: the whole budget is left for the right study.
    desk.says(&[&["ask", "study.json"], &to[..]].concat());
}
#[test]
fn a_wrong_study_of_an_unstated_public_number_of_rows_is_not_charged() {
    let desk = Desk::new();
    desk.file("people.csv", "age\n1\n2\n");
    let study = |column: &str| {
        json!({
            "context": {
                "unit": {"answers_of_person": 1}, "budget": {"epsilon": 1}, "data": "people.csv",
                "columns": {"age": {"T": "i64", "bounds": [0, 100], "missing": 0}},
            },
            "questions": [{"mean": {"column": column}}],
        })
    };
    desk.file("wrong.json", study("aeg").to_string());
    desk.file("study.json", study("age").to_string());
    let create = ["budget", "create", "b.ledger:survey", "--epsilon", "1", "--unit", "1"];
    desk.says(&[&create[..], &["--metric", "change_one_distance"]].concat());
    let to = ["--budget", "b.ledger:survey", "--id", "one"];
    let error = desk.fails(&[&["ask", "wrong.json"], &to[..]].concat(), 1);
    assert!(error.contains("aeg"), "{error}");
    // The control: the whole budget is left for the right study.
    desk.says(&[&["ask", "study.json"], &to[..]].concat());
}
#[test]
fn the_readme_study_is_answered() {
    let readme = include_str!("../../../../README.md");
    let blocks = readme.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let study = blocks.into_iter().find(|block| block.contains("\"questions\"")).unwrap();
    let desk = Desk::new();
    desk.file("study.json", study);
    let row = |i: i32| format!("{},{}\n", i * 40, i % 17);
    desk.file("people.csv", "income,educ\n".to_owned() + &(0..1000).map(row).collect::<String>());
    assert!(desk.says(&["ask", "study.json", "--dry-run"]).contains("graduates"));
    let answers: Json = serde_json::from_str(&desk.says(&["ask", "study.json", "--json"])).unwrap();
    assert_eq!(answers["answers"].as_array().unwrap().len(), 4);
}
#[test]
fn a_study_is_charged_to_a_ledger_once_and_its_answers_stay() {
    let desk = desk(json!({"epsilon": 1.0}));
    desk.budget("b.ledger:survey", &["--epsilon", "2.5"]);
    let ask = |id: &'static str| {
        desk.says(&["ask", "study.json", "--json", "--budget", "b.ledger:survey", "--id", id])
    };
    let (first, again): (Json, Json) =
        (serde_json::from_str(&ask("one")).unwrap(), serde_json::from_str(&ask("one")).unwrap());
    assert_eq!(first["answers"], again["answers"]);
    let text =
        desk.says(&["ask", "study.json", "--budget", "b.ledger:survey", "--id", "one", "--csv"]);
    assert!(text.contains(&first["answers"][0]["values"][0]["value"].to_string()), "{text}");
    ask("two");
    // If the answers of a charged study cannot be written, the error says how to get them again.
    let first = ["ask", "study.json", "--budget", "b.ledger:survey", "--id", "one"];
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (code, said) = desk.unheard(&first, writer);
    assert!(code == Some(1) && said.contains("ask again with the same --id"), "{said}");
    let over = ["ask", "study.json", "--budget", "b.ledger:survey", "--id", "three"];
    assert!(desk.fails(&over, 1).contains("BudgetExceeded"));
    // An id identifies the study, the probability and the path of the data. So the same id with
    // another probability is an error.
    desk.fails(&[&first[..], &["--alpha", "0.1"]].concat(), 1);
    // A budget for another unit of privacy refuses this study.
    let create = ["budget", "create", "b.ledger:pairs", "--epsilon", "9", "--unit", "2"];
    desk.says(&[&create[..], &["--metric", "symmetric_distance"]].concat());
    desk.fails(&["ask", "study.json", "--budget", "b.ledger:pairs", "--id", "one"], 1);
    assert!(desk.fails(&["ask", "study.json", "--budget", "b.ledger:pairs"], 2).contains("--id"));
}
#[test]
fn a_study_in_a_batch_is_answered_from_columns_or_records_and_rehearsed_without() {
    let study = json!({
        "context": {
            "unit": {"person": 1}, "budget": {"epsilon": 1e6},
            "columns": {"age": {"T": "i64", "bounds": [0, 100], "missing": "drop"}},
        },
        "questions": [{"sum": {"column": "age"}}],
    });
    let ask = |data: Json| json!({"op": "ask", "study": study, "data": data});
    let records = json!([{"age": 30}, {"age": "40.0"}, {"age": null}, {}]);
    let wrong = json!({"op": "ask", "study": study, "dta": {}});
    let answers = requests(&[
        ask(json!({"age": [30, 400, null, "x"]})),
        ask(records),
        ask(json!(null)),
        ask(json!({"ages": [1]})),
        wrong,
    ]);
    let sum = |answer: &Json| answer["value"]["answers"][0]["values"][0]["value"].clone();
    assert_eq!((sum(&answers[0]), sum(&answers[1])), (json!(130), json!(70)));
    assert_eq!(answers[2]["value"]["answers"][0]["values"], json!([]));
    assert!(answers[3]["error"]["message"].as_str().unwrap().contains("age"));
    assert!(answers[4]["error"]["message"].as_str().unwrap().contains("did you mean `data`"));
}
#[test]
fn a_failure_on_data_is_charged_and_kept() {
    let desk = desk(json!({"epsilon": 1.0}));
    desk.budget("b.ledger:survey", &["--epsilon", "3.5"]);
    desk.file("people.json", "[{\"age\": 3}]");
    let ask_as = |id: &str, data: &str| {
        let ask = ["ask", "study.json", "--budget", "b.ledger:survey", "--id", id];
        desk.fails(&[&ask[..], &["--data", data]].concat(), 1)
    };
    let ask = |data: &str| ask_as("one", data);
    // These records have no field `income`, but other records can have this field. So this failure
    // depends on the records, and is charged.
    let said = ask("people.json");
    assert!(said.contains("no release is possible"), "{said}");
    assert!(desk.says(&["budget", "show", "b.ledger:survey"]).contains("1 release"));
    // The budget keeps this answer, even if the data change.
    desk.file("people.json", "[{\"age\": 3, \"income\": 1, \"city\": \"Lyon\"}]");
    assert_eq!(ask("people.json"), said);
    // Whether a file is valid JSON in UTF-8 also depends on its records. So these failures are also
    // charged.
    let texts =
        [("two", &b"[{\"age\": 3, \"income\": 1"[..]), ("three", b"[{\"city\": \"\xff\"}]")];
    for (id, text) in texts {
        desk.file("people.json", text);
        assert!(ask_as(id, "people.json").contains("no release is possible"));
    }
    assert!(desk.says(&["budget", "show", "b.ledger:survey"]).contains("3 releases"));
}
#[test]
fn a_budget_that_protects_little_is_warned_of_before_it_is_spent() {
    let warns = |of_study: Json, more: &[&str]| {
        let desk = desk(of_study);
        let amount = ["--epsilon", "100", "--delta", "0.5", "--size", "300"];
        desk.budget("b.ledger:x", &amount);
        let output = desk.run(&[&["ask", "study.json"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stderr).unwrap()
    };
    let large = warns(json!({"epsilon": 11}), &["--dry-run"]);
    assert!(large.contains("warning: epsilon is 11, which is above 10"), "{large}");
    assert!(warns(json!({"rho": 10.5}), &["--dry-run"]).contains("warning: rho is 10.5"));
    let json = warns(json!({"epsilon": 11}), &["--json"]);
    assert!(json.contains("{\"warning\":\"epsilon is 11"), "{json}");
    // A budget in a ledger can state the number of people. The command warns, because the delta is
    // at least one divided by this number.
    let charged = ["--budget", "b.ledger:x", "--id", "a"];
    let delta = warns(json!({"epsilon": 1, "delta": 0.01}), &charged);
    assert!(delta.contains("warning: delta is 0.01, which is not below 1 in 300"), "{delta}");
    for fine in [json!({"epsilon": 10}), json!({"epsilon": 1, "delta": 1e-3})] {
        assert!(!warns(fine, &charged).contains("warning"));
    }
}
#[test]
fn a_study_of_a_public_number_of_rows_is_warned_of_a_large_delta() {
    let desk = Desk::new();
    let study = json!({
        "context": {
            "unit": {"answers_of_person": 1}, "rows": 1000,
            "budget": {"epsilon": 1, "delta": 0.002},
            "columns": {"age": {"T": "i64", "bounds": [0, 100], "missing": 0}},
        },
        "questions": [{"sum": {"column": "age"}}],
    });
    desk.file("study.json", study.to_string());
    let output = desk.run(&["ask", "study.json", "--dry-run"]);
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(warning.contains("delta is 0.002, which is not below 1 in 1000"), "{warning}");
}
#[test]
fn a_budget_without_a_bound_is_no_study() {
    for budget in [json!({"epsilon": 0}), json!({"epsilon": 1, "delta": 1})] {
        let desk = desk(budget);
        desk.fails(&["ask", "study.json", "--dry-run"], 1);
    }
    let desk = desk(json!({"epsilon": 12321}));
    let text = std::fs::read_to_string(desk.0.path().join("study.json")).unwrap();
    for infinite in ["1e400", "\"Infinity\"", "Infinity"] {
        desk.file("study.json", text.replace("12321", infinite));
        desk.fails(&["ask", "study.json", "--dry-run"], 1);
    }
}
#[test]
fn a_study_without_columns_counts_no_rows_in_silence() {
    let desk = Desk::new();
    desk.file("people.csv", "age\n1\n2\n");
    let study = json!({
        "context": {"data": "people.csv", "unit": {"person": 1}, "budget": {"epsilon": 1e6}},
        "questions": [{"count": {}}],
    });
    desk.file("study.json", study.to_string());
    let error = desk.fails(&["ask", "study.json"], 1);
    assert!(error.contains("`columns`") && error.contains("at least one column"), "{error}");
}
/// Only the first reader gets the data of a pipe. A second reader gets an empty file.
#[cfg(unix)]
#[test]
fn a_table_is_read_once_for_all_columns() {
    let desk = desk(json!({"epsilon": 1e6}));
    let table = std::fs::read_to_string(desk.0.path().join("people.csv")).unwrap();
    let pipe = desk.0.path().join("pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::thread::spawn(move || {
        for text in [table].into_iter().chain(std::iter::repeat(String::new())) {
            let _ = std::fs::write(&pipe, text);
        }
    });
    let csv = desk.says(&["ask", "study.json", "--data", "pipe.csv", "--csv"]);
    assert!(csv.contains("people,,300,"), "{csv}");
}
/// Each of two studies has an epsilon of 1. The sum of their losses has an epsilon of 2. If the
/// losses of their Gaussian releases are composed tightly, the total loss has an epsilon of about
/// 1.5.
#[test]
fn a_tight_budget_charges_each_release_of_a_study() {
    let rows = |upper: i32| json!({"where": {"age": {"below": upper}}, "count": {}});
    let desk = desk_of((1..=30).map(rows).collect());
    let create = |name: &str, epsilon: &str, more: &[&str]| {
        let amount = ["--epsilon", epsilon, "--delta", "1.5e-6"];
        desk.budget(name, &[&amount[..], more].concat())
    };
    create("b.ledger:tight", "1.6", &["--tight"]);
    create("b.ledger:sum", "1.6", &[]);
    let ask = |budget: &'static str, id: &'static str| {
        ["ask", "study.json", "--json", "--budget", budget, "--id", id]
    };
    let answers = |budget: &'static str, id: &'static str| -> Json {
        serde_json::from_str(&desk.says(&ask(budget, id))).unwrap()
    };
    let first = answers("b.ledger:tight", "one");
    let charged = &first["charge"]["charged"];
    assert_eq!((&charged["epsilon"], &charged["delta"]), (&json!("1"), &json!("0.000001")));
    assert_eq!(charged["members"].as_array().unwrap().len(), 30);
    assert!(charged["members"][0]["mu_squared"].is_string());
    answers("b.ledger:tight", "two");
    assert!(desk.fails(&ask("b.ledger:tight", "three"), 1).contains("BudgetExceeded"));
    // The same id gives the same answers. The history does not list the losses of single releases.
    assert_eq!(answers("b.ledger:tight", "one")["answers"], first["answers"]);
    let history = desk.says(&["budget", "history", "b.ledger:tight"]);
    assert!(history.contains("epsilon 1, delta 1e-6") && !history.contains("["), "{history}");
    // The control: without `--tight`, each study costs an epsilon of 1, and two studies exceed 1.6.
    let sum = answers("b.ledger:sum", "one");
    assert!(sum["charge"]["charged"]["members"].is_null(), "{sum}");
    assert!(desk.fails(&ask("b.ledger:sum", "two"), 1).contains("BudgetExceeded"));
}
#[test]
fn found_keys_of_a_study_are_charged_to_a_tight_budget_with_their_delta() {
    let desk = desk_of(json!([
        {"group_by": ["city"], "keys": "found", "mean": {"column": "income"}},
        {"counts_by": {"column": "city"}},
    ]));
    let amount = ["--epsilon", "2", "--delta", "4e-6", "--tight"];
    desk.budget("b.ledger:x", &amount);
    let ask = ["ask", "study.json", "--json", "--budget", "b.ledger:x", "--id", "a"];
    let answers: Json = serde_json::from_str(&desk.says(&ask)).unwrap();
    let members = answers["charge"]["charged"]["members"].as_array().unwrap();
    assert_eq!(members.len(), 3);
    assert!(members.iter().any(|member| member["delta"] != "0"), "{answers}");
}
/// A study of one question is one plan. The scale of the noise of this plan is the least scale that
/// the whole budget allows. A filter is a rule that admits or refuses the next release. The first
/// filters of a tight budget keep a part of the budget for later releases of other kinds. So these
/// filters can refuse this plan. In this case, the loss of the plan states new filters. If nothing
/// was charged to the budget before, the new filters replace the filters of the budget.
#[test]
fn a_study_of_one_plan_reserves_an_unspent_tight_budget_of_its_size() {
    let sums: Vec<Json> =
        (1..=20).map(|upper| json!({"sum": {"column": "age", "bounds": [0, upper]}})).collect();
    let groups =
        |keys: Json| json!({"group_by": ["city"], "keys": keys, "statistics": sums.clone()});
    for question in [
        groups(json!({"city": ["Lyon", "Lille"]})),
        groups(json!("found")),
        // A study with a single release also uses the whole budget.
        json!({"count": {}, "noise": "gaussian"}),
    ] {
        let desk = desk_of(json!([question]));
        for name in ["b.ledger:x", "b.ledger:late"] {
            desk.budget(name, &["--epsilon", "1", "--delta", "1e-6", "--tight"]);
        }
        let ask = |budget: &'static str, id: &'static str| {
            ["ask", "study.json", "--json", "--budget", budget, "--id", id]
        };
        let read =
            |id| -> Json { serde_json::from_str(&desk.says(&ask("b.ledger:x", id))).unwrap() };
        let first = read("one");
        assert!(
            first["charge"]["charged"]["filters"].is_object(),
            "{question}: {}",
            first["charge"]
        );
        assert_eq!(read("one")["answers"], first["answers"]);
        assert!(desk.fails(&ask("b.ledger:x", "two"), 1).contains("BudgetExceeded"));
        // The control: after any other release, the plan cannot reserve the budget.
        desk.file("sum.json", crate::sum(1e6).to_string());
        desk.file("x.csv", "x\n1\n");
        let run = ["run", "-p", "sum.json", "--data", "x.csv", "--d-in", "1", "--id", "a"];
        desk.says(&[&run[..], &["--budget", "b.ledger:late"]].concat());
        assert!(desk.fails(&ask("b.ledger:late", "one"), 1).contains("BudgetExceeded"));
    }
}
