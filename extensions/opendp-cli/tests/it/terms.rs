//! Tests of the terms of a budget, of the meaning of an id, and of the losses that the command
//! refuses.

use serde_json::{Value as Json, json};

use crate::{Desk, sum};

fn read(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}
fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("sum.json", sum(20.0).to_string());
    desk.file("people.csv", "age,educ,income\n1,2,3\n4,5,6\n");
    desk
}
const RUN: [&str; 7] = ["run", "-p", "sum.json", "--data", "people.csv", "--column", "age"];
fn with<'a>(run: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [run, more].concat()
}
const CHARGE: [&str; 4] = ["--budget", "l.db:b", "--id", "week-1"];

#[test]
fn an_id_does_not_give_the_release_of_another_column_or_file() {
    let desk = desk();
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let run = |data: &str, column: &str| {
        let run = ["run", "-p", "sum.json", "--data", data, "--column", column, "--d-in", "1"];
        desk.run(&with(&run, &CHARGE))
    };
    let first = run("people.csv", "age");
    assert!(first.status.success());
    for (data, column) in [("people.csv", "educ"), ("people.csv", "income"), ("missing.csv", "age")]
    {
        let output = run(data, column);
        assert_eq!(output.status.code(), Some(1), "{data} {column}");
        assert!(output.stdout.is_empty());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("with another data or column"), "{said}");
        assert!(said.contains(": use another id"), "{said}");
        let paths = said.contains("(recorded: `people.csv`, stated now: `missing.csv`)");
        assert_eq!(paths, data == "missing.csv", "{said}");
    }
    let history = read(&desk.says(&["budget", "history", "l.db:b", "--json"]));
    assert_eq!(history[0]["source"], json!({"data": "people.csv", "column": "age"}));
}
#[test]
fn a_repeated_release_says_so_on_its_own_line() {
    let desk = desk();
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let run = with(&with(&RUN, &["--d-in", "1"]), &CHARGE);
    let first = desk.says(&run);
    let again = desk.says(&run);
    assert!(!first.contains("repeated"), "{first}");
    let line = again.lines().find(|line| line.starts_with("repeated ")).unwrap();
    assert!(line.contains("no new noise is drawn, and nothing is charged again"), "{line}");
    assert_eq!(first.lines().next(), again.lines().next());
}
#[test]
fn a_budget_that_does_not_exist_is_not_taken_for_a_budget_without_a_unit() {
    let desk = desk();
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    for (budget, d_in) in
        ["none.db:b", "l.db:other"].map(|budget| [(budget, ""), (budget, "1")]).concat()
    {
        let d_in: &[&str] = if d_in.is_empty() { &[] } else { &["--d-in", d_in] };
        let error = desk.fails(&with(&with(&RUN, d_in), &["--budget", budget, "--id", "a"]), 1);
        assert!(error.contains("error[NotFound]") && !error.contains("no unit"), "{error}");
    }
    // The control: this budget exists and states no unit.
    let error = desk.fails(&with(&RUN, &CHARGE), 2);
    assert!(error.contains("the budget states no unit"), "{error}");
}
#[test]
fn a_metric_in_document_form_is_the_metric_of_this_name() {
    let desk = desk();
    let create = ["budget", "create", "l.db:b", "--epsilon", "2", "--unit", "1", "--metric"];
    desk.says(&with(&create, &["{\"symmetric_distance\": {}}"]));
    let shown = read(&desk.says(&["budget", "show", "l.db:b", "--json"]));
    assert_eq!(shown["unit"]["metric"], json!("symmetric_distance"));
    desk.says(&with(&RUN, &CHARGE));
    let create = ["budget", "create", "l.db:c", "--epsilon", "2", "--unit", "1", "--metric"];
    for wrong in ["{\"symetric_distance\": {}}", "{\"symmetric_distance\": {}, \"x\": 1}", "{}"] {
        assert!(desk.fails(&with(&create, &[wrong]), 1).contains("metric"), "{wrong}");
    }
}
/// A release without noise is the exact answer. If no distance is stated, no loss is printed. So
/// without an error, the user would not notice that the release gives no protection.
#[test]
fn a_release_without_a_bound_on_its_loss_is_refused_without_a_distance() {
    let desk = desk();
    desk.says(&RUN);
    // Under the symmetric distance, tables of a stated size are never at distance 1.
    for (name, size, noise, distance) in [
        ("exact.json", None, "laplace", "1"),
        ("gaussian.json", None, "gaussian", "1"),
        ("sized.json", Some(2), "laplace", "2"),
    ] {
        let mut exact = sum(20.0);
        exact["space"]["domain"]["vector_domain"]["size"] = json!(size);
        exact["chain"][2] = json!({noise: {"scale": 0.0}});
        desk.file(name, exact.to_string());
        let run = ["run", "-p", name, "--data", "people.csv", "--column", "age"];
        let error = desk.fails(&run, 1);
        assert!(error.contains("state the distance of neighbours with --d-in"), "{error}");
        desk.fails(&with(&run, &["--d-in", distance]), 1);
        desk.says(&with(&run, &["--allow-infinite-loss"]));
    }
    // A large loss gives a warning, even if no distance is stated.
    desk.file("tiny.json", sum(0.001).to_string());
    let output = desk.run(&["run", "-p", "tiny.json", "--data", "people.csv", "--column", "age"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("epsilon is 10000"));
}
#[test]
fn a_budget_with_a_unit_gives_the_distance_and_refuses_another() {
    let desk = desk();
    let create = ["budget", "create", "l.db:b", "--epsilon", "9", "--unit", "1"];
    let created = desk.says(&with(
        &create,
        &["--metric", "symmetric_distance", "--contributions", "2", "--size", "1000"],
    ));
    assert!(created.contains("protects data at distance 2 in symmetric_distance"), "{created}");
    let report = read(&desk.says(&with(&with(&RUN, &CHARGE), &["--json"])));
    assert_eq!(report["d_in"], json!(2));
    assert_eq!(report["budget"]["charged"], json!({"epsilon": "1"}));
    for d_in in ["1", "3"] {
        let run = with(&RUN, &["--d-in", d_in, "--budget", "l.db:b", "--id", "week-2"]);
        let error = desk.fails(&run, 1);
        assert!(error.contains("protects data at distance 2 in symmetric_distance"), "{error}");
    }
    desk.says(&with(&RUN, &["--d-in", "2", "--budget", "l.db:b", "--id", "week-2"]));
    let shown = read(&desk.says(&["budget", "show", "l.db:b", "--json"]));
    let unit = json!({
        "metric": "symmetric_distance", "unit": 1, "contributions": 2, "d_in": 2,
    });
    assert_eq!((&shown["unit"], &shown["size"]), (&unit, &json!(1000)));
    assert!(
        desk.says(&["budget", "show", "l.db"])
            .contains("(contributions of a person: 2, each at distance 1)")
    );
    assert!(desk.says(&["budget", "history", "l.db:b"]).starts_with("b, protects data at"));
    let history = read(&desk.says(&["budget", "history", "l.db:b", "--json"]));
    assert_eq!((&history[1]["unit"], history.as_array().unwrap().len()), (&unit, 2));
    assert_eq!(read(&desk.says(&["budget", "export", "l.db"]))["budgets"][0]["history"], history);

    let mut other = sum(20.0);
    other["space"]["metric"] = json!("insert_delete_distance");
    desk.file("other.json", other.to_string());
    let run = ["run", "-p", "other.json", "--data", "people.csv", "--column", "age"];
    let error = desk.fails(&with(&run, &["--budget", "l.db:b", "--id", "week-3"]), 1);
    assert!(error.contains("insert_delete_distance"), "{error}");
    for (bad, code) in [
        (&["--unit", "0", "--metric", "symmetric_distance"][..], 1),
        (&["--unit", "1", "--metric", "simmetric_distance"][..], 1),
        (&["--unit", "1"][..], 2),
        (&["--contributions", "2"][..], 2),
    ] {
        desk.fails(&with(&["budget", "create", "l.db:c", "--epsilon", "1"], bad), code);
    }
}
#[test]
fn a_budget_without_a_unit_takes_a_distance_above_nothing() {
    let desk = desk();
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let without = desk.fails(&with(&RUN, &CHARGE), 2);
    assert!(without.contains("--d-in"), "{without}");
    let nothing = desk.fails(&with(&with(&RUN, &CHARGE), &["--d-in", "0"]), 1);
    assert!(nothing.contains("d_in: expected a distance above 0"), "{nothing}");
    desk.says(&with(&with(&RUN, &CHARGE), &["--d-in", "1"]));
    let zero = desk.fails(&["budget", "create", "l.db:c", "--epsilon", "0"], 1);
    assert!(zero.contains("expected an amount above 0"), "{zero}");
    let long = desk.fails(&["budget", "create", "l.db:c", "--epsilon", "1e4096"], 1);
    assert!(long.contains("too long"), "{long}");
    desk.says(&["budget", "export", "l.db"]);
}
#[test]
fn a_budget_with_a_digest_is_for_one_file() {
    let desk = desk();
    desk.file("abc.csv", "abc");
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2", "--digest", digest]);
    let error = desk.fails(&with(&with(&RUN, &CHARGE), &["--d-in", "1"]), 1);
    assert!(error.contains("file `people.csv` is not the file that the budget is for"), "{error}");
    let run = ["run", "-p", "sum.json", "--data", "abc.csv", "--d-in", "1"];
    desk.says(&with(&run, &CHARGE));
    let history = read(&desk.says(&["budget", "history", "l.db:b", "--json"]));
    assert_eq!(history[0]["source"]["digest"], digest);
    desk.fails(&["budget", "create", "l.db:c", "--epsilon", "2", "--digest", "abc"], 1);
}
#[test]
fn an_infinite_loss_is_refused_and_a_large_one_gives_a_warning() {
    let desk = desk();
    desk.file("open.json", sum(0.0).to_string());
    desk.file("large.json", sum(0.5).to_string());
    let open = ["run", "-p", "open.json", "--data", "people.csv", "--column", "age", "--d-in", "1"];
    let error = desk.fails(&open, 1);
    assert!(error.contains("--allow-infinite-loss"), "{error}");
    desk.says(&with(&open, &["--allow-infinite-loss"]));
    let warning = |more: &[&str]| {
        let run = ["run", "-p", "large.json", "--data", "people.csv", "--column", "age"];
        let output = desk.run(&with(&run, more));
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(warning(&["--d-in", "1"]).starts_with("warning: epsilon is 20, which is above 10"));
    assert!(warning(&[]).starts_with("warning: epsilon is 20, which is above 10"));
    let json = read(&warning(&["--d-in", "1", "--json"]));
    assert!(json["warning"].as_str().unwrap().contains("epsilon is 20"));
    let create = ["budget", "create", "l.db:b", "--epsilon", "1", "--delta", "1e-3"];
    let output = desk.run(&with(&create, &["--size", "2000"]));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("delta is 0.001"), "{said}");
    // If the budget states the number of people, the command warns of a release whose delta is at
    // least one divided by this number.
    let mut gaussian = sum(20.0);
    gaussian["chain"][2] = json!({"gaussian": {"scale": 20.0}});
    let call = |name: &str, args: Json| json!({"constructor": name, "args": args});
    let curve = call("make_zCDP_to_approxDP", json!({"measurement": gaussian}));
    let fixed = call("make_fix_delta", json!({"measurement": curve, "delta": 1e-3}));
    desk.file("delta.json", fixed.to_string());
    let run = ["run", "-p", "delta.json", "--data", "people.csv", "--column", "age", "--d-in", "1"];
    let create = ["budget", "create", "l.db:d", "--epsilon", "9", "--delta", "0.1"];
    for (name, size, warns) in [("small", "999", false), ("large", "1000", true)] {
        let budget = format!("l.db:{name}");
        let create: Vec<&str> =
            create.iter().map(|word| if *word == "l.db:d" { &*budget } else { word }).collect();
        desk.says(&with(&create, &["--size", size]));
        let output = desk.run(&with(&run, &["--budget", &budget, "--id", "1"]));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert_eq!(
            said.contains("warning: delta is 0.001, which is not below 1 in 1000"),
            warns,
            "{said}"
        );
    }
}
/// A run is charged even if its data are refused. So a large loss gives a warning in this case,
/// too. The second run gets the answer that the budget keeps, and nothing is charged.
#[test]
fn a_large_loss_gives_a_warning_before_the_data_are_read() {
    let desk = desk();
    desk.file("large.json", sum(0.5).to_string());
    desk.file("ages.json", "[1, ");
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "100"]);
    let run = ["run", "-p", "large.json", "--data", "ages.json", "--d-in", "1"];
    let said = desk.fails(&with(&run, &CHARGE), 1);
    let (warning, error) =
        (said.find("warning: epsilon is 20"), said.find("no release is possible"));
    assert!(warning.is_some() && warning < error, "{said}");
    let said = desk.fails(&with(&run, &CHARGE), 1);
    assert!(said.contains("no release is possible") && !said.contains("warning"), "{said}");
}
#[test]
fn a_clock_that_was_ahead_is_settled_by_a_command() {
    let desk = desk();
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let error = desk.fails(&["budget", "settle-clock", "l.db:b", "--by", "Ada"], 1);
    assert!(error.contains("nothing to settle"), "{error}");
    let path = desk.0.path().join("l.db");
    let ahead = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    let ledger = opendp_ledger::Ledger::open(path).unwrap().with_clock(move || ahead);
    let loss = opendp_ledger::Loss::epsilon("0.1").unwrap();
    let request = opendp_ledger::Request::of_loss("ahead", loss);
    ledger.release("b", &request, || Ok(1)).unwrap();
    let run = with(&with(&RUN, &CHARGE), &["--d-in", "1"]);
    let error = desk.fails(&run, 1);
    assert!(error.contains("settle-clock FILE:b"), "{error}");
    let settled = desk.says(&["budget", "settle-clock", "l.db:b", "--by", "Ada"]);
    assert!(settled.contains("settle-clock 2") && settled.contains("Ada"), "{settled}");
    desk.says(&run);
    assert!(desk.says(&["budget", "history", "l.db:b"]).contains("settle-clock 2"));
}
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error_with_a_word() {
    let desk = desk();
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let full = |arguments: &[&str]| {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (code, said) = desk.unheard(arguments, full);
        assert_eq!(code, Some(1));
        said
    };
    let said = full(&["list"]);
    assert!(said.contains("standard output cannot be written"), "{said}");
    let run = with(&with(&RUN, &CHARGE), &["--d-in", "1"]);
    let said = full(&run);
    assert!(said.contains("ask again with the same --id"), "{said}");
    assert!(desk.says(&run).contains("repeated "));
}
/// A reader such as `head` can stop early. If the command writes a list or a page of help, such a
/// stop is no error. If the command writes a release, such a stop is an error.
#[test]
fn a_reader_may_leave_a_page_early() {
    let desk = desk();
    let left_early = |arguments: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        desk.unheard(arguments, writer)
    };
    desk.budget("l.db:b", &["--epsilon", "2"]);
    for page in [
        &["list"][..],
        &["describe", "make_sum"],
        &["completions", "bash"],
        &["man"],
        &["inspect", "--data", "people.csv"],
        &["budget", "show", "l.db"],
        &["budget", "history", "l.db:b"],
        &["budget", "export", "l.db"],
    ] {
        assert_eq!(left_early(page), (Some(0), String::new()));
    }
    let (code, said) = left_early(&["budget", "create", "l.db:c", "--epsilon", "2"]);
    assert_eq!((code, said.contains("standard output cannot be written")), (Some(1), true));
    let (code, said) = left_early(&with(&RUN, &["--d-in", "1"]));
    assert_eq!(code, Some(1));
    assert!(said.contains("its reader ended early, so a part of the answer is lost"), "{said}");
    assert!(!said.contains("os error"), "{said}");
    let charged = with(&with(&RUN, &CHARGE), &["--d-in", "1"]);
    let (code, said) = left_early(&charged);
    assert_eq!((code, said.contains("ask again with the same --id")), (Some(1), true), "{said}");
    let study = json!({"context": {"unit": {"person": 1}, "budget": {"epsilon": 1}, "columns": {
        "age": {"T": "i64", "missing": "drop"}}}, "questions": [{"count": {}}]});
    desk.file("study.json", study.to_string());
    assert_eq!(left_early(&["ask", "study.json", "--dry-run"]).0, Some(0));
    // A study and a pipeline are not confused.
    let error = desk.fails(&["map", "-p", "study.json", "--d-in", "1"], 1);
    assert!(error.contains("a study, and not a pipeline"), "{error}");
    let error = desk.fails(&["ask", RUN[2], "--dry-run"], 1);
    assert!(error.contains("a pipeline, and not a study"), "{error}");
}
#[test]
fn many_commands_create_budgets_at_once() {
    let desk = desk();
    let names: Vec<String> = (0..40).map(|i| format!("l.db:b{i}")).collect();
    let running: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_opendp"));
            command.current_dir(desk.0.path()).args(["budget", "create", name, "--epsilon", "1"]);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut command in running {
        assert!(command.wait().unwrap().success());
    }
    let all = read(&desk.says(&["budget", "show", "l.db", "--json"]));
    assert_eq!(all.as_array().unwrap().len(), 40);
}
