//! Tests of mistakes in studies that give a wrong answer if no message reports them.

use serde_json::{Value as Json, json};

use crate::{Desk, requests};

/// Write a table and a study of this table. Half of the people smoke. The column of smokers
/// contains `yes` and `no`.
fn desk(budget: Json, questions: Json) -> Desk {
    let desk = Desk::new();
    let row = |i: i32| format!("{},{}, Lyon \n", i % 130, ["yes", "no"][i as usize % 2]);
    desk.file(
        "people.csv",
        "age,smoker,city\n".to_owned() + &(0..400).map(row).collect::<String>(),
    );
    let study = json!({
        "context": {
            "data": "people.csv", "unit": {"person": 1}, "budget": budget,
            "columns": {
                "age": {"T": "i64", "bounds": [0, 100], "missing": 0},
                "smoker": {"T": "bool", "missing": false}, "city": "String",
            },
        },
        "questions": questions,
    });
    desk.file("study.json", study.to_string());
    desk
}
/// Return the JSON on standard output, and the messages on standard error.
#[track_caller]
fn asked(desk: &Desk, more: &[&str]) -> (Json, String) {
    let output = desk.run(&[&["ask", "study.json", "--json"], more].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    (serde_json::from_slice(&output.stdout).unwrap(), said)
}
fn values(answers: &Json, place: usize) -> Vec<i64> {
    let cells = answers["answers"][place]["values"].as_array().unwrap().iter();
    cells.map(|cell| cell["value"].as_f64().unwrap().round() as i64).collect()
}
/// Return a large budget. Under this budget, the noise rounds to 0.
fn exact() -> Json {
    json!({"epsilon": 1e6})
}

#[test]
fn a_large_delta_is_warned_of_if_the_number_of_people_is_unknown() {
    let said = |budget: Json, more: &[&str]| {
        let desk = desk(budget, json!([{"count": {}}]));
        let output = desk.run(&[&["ask", "study.json"], more].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    for delta in [0.1, 1e-3] {
        for more in [&["--dry-run"][..], &[]] {
            let said = said(json!({"epsilon": 1, "delta": delta}), more);
            assert!(said.contains(&format!("warning: delta is {delta}, which is large")), "{said}");
            assert!(said.contains("Choose a delta far below 1 divided by"), "{said}");
        }
    }
    let json = said(json!({"epsilon": 11, "delta": 0.1}), &["--dry-run", "--json"]);
    let found: Vec<Json> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(found[0]["warning"].as_str().unwrap().starts_with("epsilon is 11"), "{json}");
    assert!(found[1]["warning"].as_str().unwrap().starts_with("delta is 0.1"), "{json}");
    let fine = said(json!({"epsilon": 10, "delta": 1e-4}), &["--dry-run"]);
    assert!(!fine.contains("warning"), "{fine}");
}
#[test]
fn a_column_of_bool_that_does_not_state_missing_gives_a_warning() {
    let desk = desk(exact(), json!([{"where": {"smoker": true}, "count": {}}]));
    // The type of the column states `missing`, the value of an unreadable cell. So there is no
    // warning.
    let (answers, said) = asked(&desk, &[]);
    assert_eq!((values(&answers, 0), said.contains("smoker")), (vec![0], false));
    let text = std::fs::read_to_string(desk.0.path().join("study.json")).unwrap();
    desk.file("study.json", text.replace(r#"{"T":"bool","missing":false}"#, r#""bool""#));
    for more in [&[][..], &["--dry-run"]] {
        let (_, said) = asked(&desk, more);
        let line = said.lines().find(|line| line.contains("smoker")).unwrap();
        let warning: Json = serde_json::from_str(line).unwrap();
        let warning = warning["warning"].as_str().unwrap();
        assert!(warning.contains("`smoker` is `bool`") && warning.contains("`yes`"), "{warning}");
        assert!(warning.contains("--column 'smoker' --as bool"), "{warning}");
    }
    // The command that the warning names counts the unreadable cells. The report shows that the
    // cells are not `bool`, even without a stated type.
    let inspect = ["inspect", "--data", "people.csv", "--column", "smoker"];
    let text = desk.says(&[&inspect[..], &["--as", "bool"]].concat());
    assert!(text.contains("unreadable       400"), "{text}");
    let text = desk.says(&inspect);
    assert!(text.contains("cells unreadable as bool: 400"), "{text}");
    // The control: in a table with the forms that `bool` can read, four cells are true.
    desk.file("people.csv", "age,smoker,city\n1,1,x\n1,TRUE,x\n1,true,x\n1,True,x\n1,0,x\n1,t,x\n");
    assert_eq!(values(&asked(&desk, &[]).0, 0), [4]);
}
#[test]
fn bounds_move_cells_only_in_sums_means_and_variances() {
    let candidates = json!([0, 100, 120, 129]);
    let questions = json!([
        {"where": {"age": {"at_least": 101}}, "count": {}},
        {"histogram": {"column": "age", "edges": [101]}},
        {"quantile": {"column": "age", "alpha": 1, "candidates": candidates}},
        {"where": {"age": {"at_least": 100}}, "sum": {"column": "age"}},
        {"group_by": ["age"], "keys": {"age": [129]}, "statistics": [{"count": {}}]},
        {"where": {"age": {"in": [100, 129]}}, "group_by": ["city"], "keys": {"city": ["Lyon"]},
         "statistics": [{"sum": {"column": "age"}},
                        {"quantile": {"column": "age", "alpha": 1, "candidates": candidates}}]},
    ]);
    let (answers, _) = asked(&desk(exact(), questions), &[]);
    // The ages 100 to 129 occur three times each.
    assert_eq!(values(&answers, 0), [87]);
    assert_eq!(values(&answers, 1), [313, 87]);
    assert_eq!(values(&answers, 2), [129]);
    assert_eq!(values(&answers, 3), [9000]);
    assert_eq!(values(&answers, 4), [3]);
    assert_eq!(values(&answers, 5), [600]);
    assert_eq!(values(&answers, 6), [129]);
}
#[test]
fn a_text_with_spaces_around_it_is_refused_because_no_cell_of_a_table_has_them() {
    for question in [
        json!({"where": {"city": " Lyon"}, "count": {}}),
        json!({"where": {"city": {"in": ["Lille", "Lyon "]}}, "count": {}}),
        json!({"histogram": {"column": "city", "categories": ["Lille", "Lyon\t"]}}),
        json!({"top_k": {"column": "city", "k": 1, "categories": ["Lille", " Lyon "]}}),
        json!({"group_by": ["city"], "keys": {"city": ["Lyon "]}, "statistics": [{"count": {}}]}),
        json!({"group_by": ["age", "city"], "keys": [[1, "Lyon "]], "statistics": [{"count": {}}]}),
    ] {
        let desk = desk(exact(), json!([{"count": {}}, question]));
        desk.budget("b.ledger:x", &["--epsilon", "1e7"]);
        for more in [&[][..], &["--dry-run"], &["--budget", "b.ledger:x", "--id", "a"]] {
            let error = desk.fails(&[&["ask", "study.json"], more].concat(), 1);
            for part in ["question 2", "city", "begins or ends with a space", "remove the spaces"] {
                assert!(error.contains(part), "{part}: {error}");
            }
        }
        assert!(desk.says(&["budget", "show", "b.ledger:x"]).contains("0 releases"));
    }
    // The cells of the table have spaces, which are removed.
    let lyon = desk(exact(), json!([{"where": {"city": "Lyon"}, "count": {}}]));
    assert_eq!(values(&asked(&lyon, &[]).0, 0), [400]);
    // A missing cell becomes ` none`, so the condition may contain this text. A cell of a data file
    // in JSON is read without the spaces around it, like a cell of a CSV file. So the cell ` none`
    // in `people.json` is `none`, and does not meet the condition.
    let spaced = desk(exact(), json!([{"where": {"city": " none"}, "count": {}}]));
    let text = std::fs::read_to_string(spaced.0.path().join("study.json")).unwrap();
    let known = r#"{"T":"String","missing":" none"}"#;
    spaced.file("study.json", text.replace(r#""city":"String""#, &format!(r#""city":{known}"#)));
    spaced.file("people.csv", "age,smoker,city\n1,1,\n1,1,x\n");
    spaced.file("people.json", r#"{"age": [1, 2], "smoker": [1, 0], "city": ["", " none"]}"#);
    for data in ["people.csv", "people.json"] {
        assert_eq!(values(&asked(&spaced, &["--data", data]).0, 0), [1], "{data}");
    }
    let study: Json = serde_json::from_str(&text).unwrap();
    let answers = requests(&[json!({"op": "ask", "study": study, "data": {"city": [" none"]}})]);
    let message = answers[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("begins or ends with a space"), "{message}");
}
#[test]
fn a_number_of_rows_that_is_believed_is_named_in_the_report() {
    let old = json!({"at_least": 100});
    let questions = json!([
        {"name": "old", "where": {"age": old}, "mean": {"column": "age", "rows": 900}},
        {"where": {"age": old}, "variance": {"column": "age", "rows": 90}},
        {"where": {"age": old}, "mean": {"column": "age"}},
    ]);
    let desk = desk(exact(), questions);
    for more in [&[][..], &["--dry-run"]] {
        let (answers, _) = asked(&desk, more);
        assert_eq!(answers["answers"][0]["rows_stated"], json!(900));
        assert_eq!(answers["answers"][1]["rows_stated"], json!(90));
        assert!(answers["answers"][2].get("rows_stated").is_none());
        let text = desk.says(&[&["ask", "study.json"], more].concat());
        assert!(text.contains("note: `old` uses the stated number of rows, 900"), "{text}");
        assert_eq!(text.matches("not compared with the data").count(), 2, "{text}");
    }
    let output = desk.run(&["ask", "study.json", "--csv"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("note: `old` uses the stated number of rows, 900"), "{said}");
    // The answers that a ledger keeps also have the note about the stated number of rows.
    desk.budget("b.ledger:x", &["--epsilon", "1e7"]);
    let charged = ["ask", "study.json", "--budget", "b.ledger:x", "--id", "a"];
    desk.says(&charged);
    assert!(desk.says(&charged).contains("uses the stated number of rows, 900"));
}
#[test]
fn a_dry_run_says_that_nothing_is_spent_and_has_no_csv() {
    let desk = desk(json!({"epsilon": 1}), json!([{"count": {}}]));
    let text = desk.says(&["ask", "study.json", "--dry-run"]);
    let plan = "nothing is spent; the answers cost epsilon 1 of epsilon 1";
    assert!(text.contains(plan) && !text.contains("spent:"), "{text}");
    assert_eq!(asked(&desk, &["--dry-run"]).0["dry_run"], json!(true));
    let error = desk.fails(&["ask", "study.json", "--dry-run", "--csv"], 1);
    assert!(error.contains("csv") && error.contains("--json"), "{error}");
    for both in [
        &["--json", "ask", "study.json", "--csv"][..],
        &["ask", "--json", "study.json", "--csv"],
        &["ask", "study.json", "--csv", "--json", "--dry-run"],
        // The conflict is found before the study is read.
        &["--json", "ask", "absent.json", "--csv"],
    ] {
        let error = desk.fails(both, 2);
        assert!(error.contains("'--csv' cannot be used with '--json'"), "{error}");
    }
    // The controls: without `--dry-run`, the budget is spent.
    assert!(desk.says(&["ask", "study.json"]).contains("spent: epsilon 1 of epsilon 1"));
    assert!(asked(&desk, &[]).0.get("dry_run").is_none());
}
#[test]
fn the_text_of_charged_answers_has_the_charge_and_marks_a_repeat() {
    let desk = desk(json!({"epsilon": 1}), json!([{"count": {}}]));
    desk.says(&[
        "budget",
        "create",
        "b.ledger:x",
        "--epsilon",
        "3",
        "--unit",
        "1",
        "--metric",
        "symmetric_distance",
    ]);
    let ask = ["ask", "study.json", "--budget", "b.ledger:x", "--id", "a"];
    let first = desk.says(&ask);
    let charge = "budget x as `a`: epsilon 1 charged, epsilon 2 left";
    assert!(first.ends_with(charge) && !first.contains("repeated"), "{first}");
    let again = desk.says(&ask);
    assert!(again.ends_with(charge), "{again}");
    assert!(
        again.contains("repeated: these are the answers of an earlier run with the id `a`"),
        "{again}"
    );
    assert_eq!(first.lines().nth(1), again.lines().nth(1));
    let output = desk.run(&[&ask[..], &["--csv"]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("repeated: ") && said.contains(charge), "{said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);
}
/// Often the study and the budget have different authors. So a study that is charged to a budget
/// cannot choose a table outside of its own folder.
#[test]
fn a_charged_study_names_no_table_outside_of_its_folder() {
    let desk = desk(json!({"epsilon": 1.0}), json!([{"count": {}}]));
    desk.budget("b.ledger:survey", &["--epsilon", "9"]);
    let text = std::fs::read_to_string(desk.0.path().join("study.json")).unwrap();
    let absolute = desk.0.path().join("people.csv").to_string_lossy().replace('\\', "/");
    let to = ["--budget", "b.ledger:survey", "--id", "one"];
    for named in ["../people.csv", "x/../people.csv", &absolute] {
        let mut study: Json = serde_json::from_str(&text).unwrap();
        study["context"]["data"] = named.into();
        desk.file("other.json", study.to_string());
        let error = desk.fails(&[&["ask", "other.json"], &to[..]].concat(), 1);
        assert!(error.contains("outside of its folder") && error.contains("--data"), "{error}");
    }
    // The controls: without a budget or with --data, the study is answered.
    desk.says(&["ask", "other.json"]);
    desk.says(&[&["ask", "other.json", "--data", "people.csv"], &to[..]].concat());
}
/// A key that was found in the data is text that other people wrote, so it can contain control
/// characters.
#[test]
fn a_found_key_does_not_control_the_terminal() {
    let desk =
        desk(json!({"epsilon": 1e6, "delta": 1e-3}), json!([{"counts_by": {"column": "city"}}]));
    desk.file("people.csv", "age,smoker,city\n".to_owned() + &"1,no,\u{1b}[2JLyon\n".repeat(400));
    let text = desk.says(&["ask", "study.json"]);
    assert!(text.contains("\u{fffd}[2JLyon") && !text.contains('\u{1b}'), "{text}");
    // Programs get the key unchanged.
    let (answers, _) = asked(&desk, &[]);
    assert!(answers.to_string().contains("\\u001b[2JLyon"), "{answers}");
    assert!(desk.says(&["ask", "--help"]).contains("Write the CSV to a file"));
}
#[test]
fn answers_without_a_ledger_have_a_note_in_the_form_of_the_output() {
    let desk = desk(json!({"epsilon": 1}), json!([{"count": {}}]));
    let (_, said) = asked(&desk, &[]);
    let note: Json = serde_json::from_str(said.trim()).unwrap();
    let note = note["note"].as_str().unwrap();
    assert!(note.starts_with("no ledger has recorded these answers"), "{note}");
    let output = desk.run(&["ask", "study.json"]);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("note: {note}\n"));
    // The controls: a dry run and a charged study have no such note.
    desk.budget("b.ledger:x", &["--epsilon", "1"]);
    for more in [&["--dry-run"][..], &["--budget", "b.ledger:x", "--id", "a"]] {
        assert_eq!(asked(&desk, more).1, "");
    }
}
#[test]
fn a_negative_number_is_not_taken_for_an_option() {
    let desk = desk(json!({"epsilon": 1}), json!([{"count": {}}]));
    let create = ["budget", "create", "l:b", "--epsilon", "1", "--metric", "symmetric_distance"];
    for (arguments, reason) in [
        (["ask", "study.json", "--alpha", "-1"].to_vec(), "expected a probability above 0"),
        ([&create[..], &["--unit", "-1"]].concat(), "invalid value '-1' for '--unit"),
        ([&create[..], &["--unit", "1", "--size", "-1"]].concat(), "value '-1' for '--size"),
        (
            [&create[..], &["--unit", "1", "--contributions", "-1"]].concat(),
            "value '-1' for '--contributions",
        ),
        (
            ["suggest", "mean", "--column-type", "f64", "--size", "-1"].to_vec(),
            "expected the public number of records",
        ),
    ] {
        let output = desk.run(&arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(reason), "{said}");
    }
}
