//! Tests of studies under durable budgets, and of mistakes in the use of such studies.

use serde_json::{Value as Json, json};

use crate::Desk;

fn desk(unit: Json) -> Desk {
    let desk = Desk::new();
    desk.file("people.csv", "income\n10\n20\n30\n40\n50\n");
    let study = json!({
        "context": {
            "data": "people.csv", "unit": unit, "budget": {"epsilon": 1},
            "columns": {"income": {"T": "f64", "bounds": [0, 100], "missing": 0}},
        },
        "questions": [{"mean": {"column": "income"}}],
    });
    desk.file("study.json", study.to_string());
    desk
}
/// Return the first lines of a report: all lines before the lines that mark a repeat or state the
/// charge.
fn answers_of(text: &str) -> String {
    let charge = |line: &&str| line.starts_with("budget ") || line.starts_with("repeated: ");
    text.lines().take_while(|line| !charge(line)).collect::<Vec<_>>().join("\n")
}
const CREATE: [&str; 6] = ["budget", "create", "b.ledger:x", "--epsilon", "3", "--metric"];
const ASK: [&str; 6] = ["ask", "study.json", "--budget", "b.ledger:x", "--id", "a"];

#[test]
fn a_budget_for_replaced_rows_pays_for_a_study_of_answers() {
    for (rows, unit) in [(1, "1"), (3, "3")] {
        let desk = desk(json!({"answers_of_person": rows}));
        desk.says(&[&CREATE[..], &["change_one_distance", "--unit", unit, "--size", "5"]].concat());
        let text = desk.says(&ASK);
        assert!(text.contains("mean of income"), "{text}");
        assert_eq!(answers_of(&desk.says(&ASK)), answers_of(&text));
    }
    // The budget protects more rows than the study.
    let desk = self::desk(json!({"answers_of_person": 1}));
    desk.says(&[&CREATE[..], &["change_one_distance", "--unit", "2"]].concat());
    let message = desk.fails(&ASK, 1);
    let wanted = "budget `x` protects data at distance 2 in change_one_distance, but the study \
                  protects one person, who changes at most 1 row: state the unit \
                  {\"answers_of_person\": 2} in the study, or use another budget";
    assert!(message.contains(wanted), "{message}");
    // A budget under `symmetric_distance` protects the number of rows, except if the budget states
    // the number of people.
    for unit in ["1", "2"] {
        let desk = self::desk(json!({"answers_of_person": 1}));
        desk.says(&[&CREATE[..], &["symmetric_distance", "--unit", unit]].concat());
        let message = desk.fails(&ASK, 1);
        assert!(message.contains("protects this number"), "{message}");
        let advice = format!("State the unit {{\"person\": {unit}}} in the study");
        assert!(message.contains(&advice), "{message}");
    }
    let desk = self::desk(json!({"answers_of_person": 1}));
    desk.says(&[&CREATE[..], &["symmetric_distance", "--unit", "2", "--size", "5"]].concat());
    desk.says(&ASK);
    let desk = self::desk(json!({"person": 1}));
    desk.says(&[&CREATE[..], &["change_one_distance", "--unit", "1"]].concat());
    let message = desk.fails(&ASK, 1);
    let advice = "state the unit {\"answers_of_person\": 1} in the study";
    assert!(message.contains(advice), "{message}");
    // No study has the unit of this budget.
    let desk = self::desk(json!({"person": 1}));
    desk.says(&[&CREATE[..], &["insert_delete_distance", "--unit", "1"]].concat());
    let message = desk.fails(&ASK, 1);
    assert!(message.contains("The budget of a study needs the metric"), "{message}");
}
#[test]
fn a_pipeline_with_a_size_is_refused_by_a_budget_that_protects_the_number_of_rows() {
    let desk = self::desk(json!({"person": 1}));
    desk.file("x.csv", "age\n1\n2\n3\n");
    let pipeline = |size: Json| {
        json!({
            "space": {
                "domain": {"vector_domain": {"atom_domain": {"T": "i32"}, "size": size}},
                "metric": "symmetric_distance",
            },
            "chain": [{"clamp": {"bounds": [0, 9]}}, "sum", {"laplace": {"scale": 100.0}}],
        })
    };
    desk.file("sized.json", pipeline(json!(3)).to_string());
    desk.file("any.json", pipeline(json!(null)).to_string());
    desk.says(&[&CREATE[..], &["symmetric_distance", "--unit", "2"]].concat());
    let run = |document, id| {
        [
            "run",
            "-p",
            document,
            "--data",
            "x.csv",
            "--budget",
            "b.ledger:x",
            "--id",
            id,
            "--d-in",
            "2",
        ]
    };
    let message = desk.fails(&run("sized.json", "a"), 1);
    assert!(message.contains("protects this number"), "{message}");
    // The control: the same pipeline without a size is admitted.
    desk.says(&run("any.json", "a"));
}
/// The sum of losses for different units is not a bound on the loss for one unit. So a study needs
/// a budget that states its unit.
#[test]
fn a_budget_without_a_unit_refuses_studies() {
    let desk = desk(json!({"person": 1}));
    desk.says(&["budget", "create", "b.ledger:x", "--epsilon", "3"]);
    let error = desk.fails(&ASK, 1);
    assert!(error.contains("`x` states no unit"), "{error}");
    assert!(desk.says(&["budget", "show", "b.ledger"]).contains("0 releases"));
}
#[test]
fn an_empty_cell_of_a_text_is_missing() {
    let desk = self::desk(json!({"person": 1}));
    let rows = "Lyon\n\"\"\n".repeat(500);
    desk.file("cities.csv", format!("city\n{rows}"));
    let ask = |column: Json, categories: &[&str]| {
        let study = json!({
            "context": {
                "unit": {"person": 1}, "budget": {"epsilon": 1000}, "data": "cities.csv",
                "columns": {"city": column},
            },
            "questions": [{"histogram": {"column": "city", "categories": categories}}],
        });
        desk.file("cities.json", study.to_string());
        ["ask", "cities.json", "--json"]
    };
    let counts = |column: Json, categories: &[&str]| {
        let answers: Json = serde_json::from_str(&desk.says(&ask(column, categories))).unwrap();
        let cells = answers["answers"][0]["values"].as_array().unwrap().clone();
        cells.iter().map(|cell| cell["value"].as_f64().unwrap().round()).collect::<Vec<_>>()
    };
    let replaced = json!({"T": "String", "missing": "?"});
    assert_eq!(counts(replaced.clone(), &["Lyon", "?"]), [500.0, 500.0]);
    // The control: without `missing`, an empty cell is an empty text.
    assert_eq!(counts(json!("String"), &["Lyon", "", "?"]), [500.0, 500.0, 0.0]);
    // With `missing`, no cell is the empty text.
    let error = desk.fails(&ask(replaced, &["Lyon", ""]), 1);
    assert!(error.contains("no cell is equal to the empty text"), "{error}");
}
#[test]
fn an_id_with_another_probability_is_answered_by_the_earlier_probability() {
    let desk = desk(json!({"person": 1}));
    desk.says(&[&CREATE[..], &["symmetric_distance", "--unit", "1"]].concat());
    let text = desk.says(&[&ASK[..], &["--alpha", "0.1"]].concat());
    let message = desk.fails(&ASK, 1);
    assert!(message.contains("argument `alpha`") && message.contains("--alpha 0.1"), "{message}");
    let again = desk.says(&[&ASK[..], &["--alpha", "0.1"]].concat());
    assert_eq!(answers_of(&again), answers_of(&text));
}
#[test]
fn a_dry_run_says_whether_the_budget_admits_the_charge() {
    let desk = desk(json!({"person": 1}));
    let create = ["budget", "create", "b.ledger:x", "--epsilon", "1.5", "--unit", "1"];
    desk.says(&[&create[..], &["--metric", "symmetric_distance"]].concat());
    let dry = [&ASK[..], &["--dry-run"]].concat();
    let shown = || desk.says(&["budget", "show", "b.ledger:x", "--json"]);
    let before = shown();
    let text = desk.says(&dry);
    let fits = "budget x: a run would be charged epsilon 1 as `a`; epsilon 1.5 is left now";
    assert!(text.ends_with(fits) && text.contains("nothing is spent"), "{text}");
    let json: Json = serde_json::from_str(&desk.says(&[&dry[..], &["--json"]].concat())).unwrap();
    let wanted = json!({"budget": "x", "id": "a", "fits": true, "repeated": false,
                        "cost": {"epsilon": "1"}, "remaining": {"epsilon": "1.5"}});
    assert_eq!((&json["charge"], &json["dry_run"]), (&wanted, &json!(true)));
    // A dry run charges nothing. It reads no table either.
    assert_eq!(shown(), before);
    std::fs::rename(desk.0.path().join("people.csv"), desk.0.path().join("p.csv")).unwrap();
    assert!(desk.says(&dry).ends_with(fits));
    std::fs::rename(desk.0.path().join("p.csv"), desk.0.path().join("people.csv")).unwrap();
    desk.says(&ASK);
    let text = desk.says(&dry);
    assert!(text.contains("would print the earlier answers with the id `a`, and charge nothing"));
    let mut other = dry.clone();
    other[5] = "b";
    let output = desk.run(&other);
    let text = String::from_utf8(output.stdout).unwrap();
    let refused = "budget `x`: the release costs epsilon 1, and epsilon 0.5 is left: a run would \
                   be refused";
    assert!(text.trim_end().ends_with(refused) && text.contains("mean of income"), "{text}");
    assert_eq!(output.status.code(), Some(1));
    let output = desk.run(&[&other[..], &["--json"]].concat());
    let json: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["charge"]["fits"], output.status.code()), (&json!(false), Some(1)));
    // A budget that protects another unit, and a ledger that does not exist, are errors.
    let create = ["budget", "create", "b.ledger:y", "--epsilon", "9", "--unit", "3"];
    desk.says(&[&create[..], &["--metric", "symmetric_distance"]].concat());
    for place in ["b.ledger:y", "none.ledger:x"] {
        let mut other = dry.clone();
        other[3] = place;
        desk.fails(&other, 1);
    }
    assert!(!desk.0.path().join("none.ledger").exists());
}
/// A budget that composes tightly is charged for each release. The check must find the same charge.
#[test]
fn a_dry_run_finds_the_charge_of_a_tight_budget() {
    let desk = desk(json!({"person": 1}));
    let mut study: Json =
        serde_json::from_slice(&std::fs::read(desk.0.path().join("study.json")).unwrap()).unwrap();
    study["context"]["budget"] = json!({"epsilon": 1, "delta": 1e-7});
    desk.file("study.json", study.to_string());
    let create = ["budget", "create", "b.ledger:x", "--epsilon", "3", "--delta", "1e-6", "--tight"];
    desk.says(&[&create[..], &["--unit", "1", "--metric", "symmetric_distance"]].concat());
    let dry = [&ASK[..], &["--dry-run", "--json"]].concat();
    let checked: Json = serde_json::from_str(&desk.says(&dry)).unwrap();
    let asked: Json = serde_json::from_str(&desk.says(&[&ASK[..], &["--json"]].concat())).unwrap();
    assert_eq!(checked["charge"]["cost"], asked["charge"]["charged"]);
}
/// A budget keeps a release under its id. It does not notice that the file has changed.
#[test]
fn a_repeated_release_of_a_changed_file_has_a_warning() {
    let desk = desk(json!({"person": 1}));
    desk.says(&[&CREATE[..], &["symmetric_distance", "--unit", "1"]].concat());
    desk.file("sum.json", crate::sum(20.0).to_string());
    let run = ["run", "-p", "sum.json", "--data", "people.csv", "--budget", "b.ledger:x"];
    let run = [&run[..], &["--id", "r"]].concat();
    let said = |arguments: &[&str]| {
        let output = desk.run(arguments);
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    for arguments in [&ASK[..], &run] {
        assert!(!said(arguments).contains("was changed"));
        // The control: the file is unchanged.
        assert!(!said(arguments).contains("was changed"));
    }
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    let file = std::fs::File::options().write(true).open(desk.0.path().join("people.csv")).unwrap();
    file.set_modified(later).unwrap();
    for (arguments, id) in [(&ASK[..], "a"), (&run, "r")] {
        let said = said(arguments);
        let warning = format!(
            "warning: the file `people.csv` was changed after the release with the id `{id}`"
        );
        assert!(said.contains(&warning) && said.contains("use another id"), "{said}");
    }
}
#[test]
fn an_id_of_another_document_is_an_error_that_says_how_to_go_on() {
    let desk = desk(json!({"person": 1}));
    desk.says(&[&CREATE[..], &["symmetric_distance", "--unit", "1"]].concat());
    desk.says(&ASK);
    let text = std::fs::read_to_string(desk.0.path().join("study.json")).unwrap();
    desk.file("study.json", text.replace("100", "200"));
    let error = desk.fails(&ASK, 1);
    for part in [
        "budget `x` already has a release `a` with another study: use another id.",
        "To get the earlier release again, repeat its request, which `opendp budget history \
         FILE:x --json` shows",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let history = desk.says(&["budget", "history", "b.ledger:x", "--json"]);
    assert!(history.contains("[0,100]"), "{history}");
}
#[test]
fn a_folder_is_no_table() {
    let desk = desk(json!({"person": 1}));
    let message = desk.fails(&["ask", "study.json", "--data", "."], 1);
    assert!(message.contains("this is a folder"), "{message}");
}
#[test]
fn studies_with_equal_shares_use_up_a_budget() {
    for (share, times, amount) in [
        (json!({"epsilon": 0.1}), 10, &["--epsilon", "1"][..]),
        (json!({"epsilon": 0.2}), 5, &["--epsilon", "1"]),
        (json!({"rho": 0.1}), 10, &["--rho", "1"]),
        (json!({"epsilon": 0.2, "delta": 1e-8}), 5, &["--epsilon", "1", "--delta", "5e-8"]),
    ] {
        let desk = desk(json!({"person": 1}));
        let text = std::fs::read_to_string(desk.0.path().join("study.json")).unwrap();
        let mut study: Json = serde_json::from_str(&text).unwrap();
        study["context"]["budget"] = share.clone();
        desk.file("study.json", study.to_string());
        desk.budget("b.ledger:x", amount);
        let mut last = Json::Null;
        for id in 0..times {
            let ask = ["ask", "study.json", "--json", "--budget", "b.ledger:x", "--id"];
            let answers = desk.says(&[&ask[..], &[&id.to_string()]].concat());
            let answers: Json = serde_json::from_str(&answers).unwrap();
            assert_eq!(answers["budget"], share);
            for (part, spent) in answers["spent"].as_object().unwrap() {
                assert!(spent.as_f64() <= share[part].as_f64(), "{answers}");
            }
            last = answers["charge"]["remaining"].clone();
        }
        assert!(last.as_object().unwrap().values().all(|left| left == "0"), "{last}");
        assert!(desk.fails(&ASK, 1).contains("BudgetExceeded"));
    }
}
#[test]
fn the_lines_of_the_readme_about_a_pipeline_work_one_after_the_other() {
    let readme = include_str!("../../../../README.md");
    let (_, section) = readme.split_once("## A pipeline as a document").unwrap();
    let block = |begin| section.split_once(begin).unwrap().1.split_once("```").unwrap().0;
    let desk = Desk::new();
    let pipeline = block("```json\n");
    desk.file("mean.json", pipeline);
    desk.file("people.csv", "age\n".to_owned() + &"47\n".repeat(1000));
    let mut lines = 0;
    for line in block("```sh\n").lines() {
        let line = line.split_once(" #").map_or(line, |(line, _)| line).trim_end();
        lines += 1;
        match line.strip_prefix("opendp ") {
            Some(line) => _ = desk.says(&line.split_whitespace().collect::<Vec<_>>()),
            None => {
                assert_eq!(line, r#"sed 's/0\.5/{"param": "scale"}/' mean.json > open.json"#);
                desk.file("open.json", pipeline.replacen("0.5", r#"{"param": "scale"}"#, 1));
            }
        }
    }
    assert!(10 < lines, "{lines}");
}
