//! Tests that people who may not see the data see nothing of the data without a charge.

use std::process::Command;

use serde_json::{Value as Json, json};

use crate::{Desk, sum};

fn read(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}
#[test]
fn a_conversation_is_refused_before_it_is_charged() {
    let desk = Desk::new();
    desk.file("ages.json", "[1, 2, 3]");
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let space = sum(1.0)["space"].clone();
    let odometer = json!({"constructor": "make_fully_adaptive_composition", "args": {
        "input_domain": space["domain"], "input_metric": space["metric"],
        "output_measure": "max_divergence",
    }});
    let filter = json!({"constructor": "make_privacy_filter", "args": {
        "odometer": odometer, "d_in": 1, "d_out": 1.0,
    }});
    let adaptive = json!({"space": space, "chain": [{"adaptive_composition": {
        "output_measure": "max_divergence", "d_in": 1, "d_mids": [0.5, 0.5],
    }}]});
    let sparse = json!({"space": space, "chain": [{"sparse_vector": {
        "d_in": 1, "sensitivity": 1, "threshold": 500, "limit": 1, "scales": [4.0, 8.0],
        "T": "i64", "Q": "i64",
    }}]});
    let both =
        json!({"space": space, "chain": [{"composition": {"measurements": [filter, filter]}}]});
    for (name, document) in [("f", filter), ("a", adaptive), ("s", sparse), ("b", both)] {
        desk.file("talk.json", document.to_string());
        let run = ["run", "-p", "talk.json", "--data", "ages.json", "--d-in", "1"];
        let charge = ["--budget", "l.db:b", "--id", name];
        let error = desk.fails(&[&run[..], &charge].concat(), 1);
        assert!(error.contains("the release is interactive"), "{name}: {error}");
    }
    let shown = read(&desk.says(&["budget", "show", "l.db:b", "--json"]));
    assert_eq!((&shown["releases"], &shown["spent"]), (&json!(0), &json!({"epsilon": "0"})));
}
/// If the data have another number of rows than the pipeline states, the budget is charged. So if
/// the error about an interactive release came after the data were read, the number of rows could
/// be found without a charge.
#[test]
fn a_conversation_does_not_tell_whether_the_data_fit() {
    let desk = Desk::new();
    desk.file("ages.csv", "age\n1\n2\n3\n");
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let pipeline = |size: usize, interactive: bool| {
        let rows = json!({"atom_domain": {"T": "i64"}, "size": size});
        let space = json!({"domain": {"vector_domain": rows}, "metric": "symmetric_distance"});
        let talk = json!({"alp_queryable": {"scale": 1e-3, "total_limit": 9, "value_limit": 9}});
        let chain = match interactive {
            true => json!(["count_by", talk]),
            false => json!(["count", {"laplace": {"scale": 1e3}}]),
        };
        json!({"space": space, "chain": chain}).to_string()
    };
    let ask = |size: usize, interactive: bool| {
        desk.file("p.json", pipeline(size, interactive));
        let id = format!("{size} {interactive}");
        let run = ["run", "-p", "p.json", "--data", "ages.csv", "--d-in", "2"];
        let output = desk.run(&[&run[..], &["--budget", "l.db:b", "--id", &id]].concat());
        let shown = read(&desk.says(&["budget", "show", "l.db:b", "--json"]));
        (String::from_utf8(output.stderr).unwrap(), shown["releases"].as_u64())
    };
    let all: Vec<_> = [2, 3, 4].map(|size| ask(size, true)).into();
    assert!(all.iter().all(|told| *told == all[0] && told.1 == Some(0)), "{all:?}");
    assert!(all[0].0.contains("the release is interactive"), "{all:?}");
    // The control: other releases are charged, whether the data fit or not.
    assert_eq!([2, 3, 4].map(|size| ask(size, false).1), [Some(1), Some(2), Some(3)]);
}
/// A progress bar shows the number of bytes of a table in text, or the number of rows of a Parquet
/// file.
#[test]
fn a_terminal_shows_no_progress_under_a_budget() {
    let desk = Desk::new();
    desk.file("sum.json", sum(20.0).to_string());
    desk.file("people.csv", "age\n".to_owned() + &"12345678\n".repeat(2 << 20));
    desk.budget("l.db:b", &["--epsilon", "2"]);
    let study = json!({
        "context": {"unit": {"person": 1}, "budget": {"epsilon": 0.1}, "data": "people.csv",
                    "columns": {"age": {"T": "i64", "missing": 0}}},
        "questions": [{"count": {}}],
    });
    desk.file("study.json", study.to_string());
    let on_terminal = |arguments: &str| {
        let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_opendp"));
        let mut script = Command::new("script");
        let script = script.current_dir(desk.0.path()).args(["-qec", &line, "/dev/null"]);
        let output = script.output().ok()?;
        Some((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    let run = "run -p sum.json --data people.csv --d-in 1";
    let shows = |said: &str| said.contains("MiB") || said.contains("eta");
    // The control: the curator, who runs without a budget, sees the progress.
    match on_terminal(run) {
        Some((true, said)) if shows(&said) => {}
        _ => return eprintln!("SKIPPED, NOT TESTED: this test needs a terminal from `script`"),
    }
    for line in [run, "ask study.json"] {
        let (success, said) =
            on_terminal(&format!("{line} --budget l.db:b --id '{line}'")).unwrap();
        assert!(success && !shows(&said), "{said}");
    }
}
/// Often, the study and the budget have different authors. A link in the folder of the study could
/// lead to data of another budget.
#[cfg(unix)]
#[test]
fn a_study_names_no_table_outside_of_its_folder_by_a_link() {
    let desk = Desk::new();
    desk.file("secret.csv", "age\n1\n2\n");
    std::fs::create_dir(desk.0.path().join("guest")).unwrap();
    let study = json!({
        "context": {"unit": {"person": 1}, "budget": {"epsilon": 0.1}, "data": "table.csv",
                    "columns": {"age": {"T": "i64", "missing": 0}}},
        "questions": [{"count": {}}],
    });
    desk.file("guest/study.json", study.to_string());
    desk.budget("l.db:b", &["--epsilon", "2"]);
    let ask = ["ask", "guest/study.json", "--budget", "l.db:b", "--id", "a"];
    let table = desk.0.path().join("guest/table.csv");
    std::os::unix::fs::symlink("../secret.csv", &table).unwrap();
    let error = desk.fails(&ask, 1);
    assert!(error.contains("names a table outside of its folder"), "{error}");
    // The control: a file in the folder, a link to such a file, and a file that --data names.
    desk.says(&[&ask[..], &["--data", "guest/table.csv"]].concat());
    std::fs::remove_file(&table).unwrap();
    desk.file("guest/other.csv", "age\n1\n2\n");
    std::os::unix::fs::symlink("other.csv", &table).unwrap();
    assert!(desk.says(&ask).contains("repeated"), "the same path is the same source");
    desk.says(&["ask", "guest/study.json", "--budget", "l.db:b", "--id", "b"]);
}
