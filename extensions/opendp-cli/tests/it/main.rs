//! Tests that run the command as a user does.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

mod accuracy;
mod ask;
mod budget;
mod bundle;
#[path = "../../../opendp-data/tests/support/compress.rs"]
mod compress;
mod convenience;
mod data;
#[cfg(unix)]
mod external;
mod frames;
mod free;
mod guide;
mod html;
mod inspect;
mod losses;
mod mistakes;
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
mod reference;
mod reference_pages;
mod slips;
mod studies;
mod suggest;
mod table;
mod template;
mod terms;

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// A folder with the files that a test needs.
struct Desk(TempDir);
impl Desk {
    fn new() -> Self {
        Desk(tempfile::tempdir().unwrap())
    }
    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
    /// Run the command. Its standard output is `out`, to which nothing can be written. Return the
    /// exit code and the messages.
    fn unheard(&self, arguments: &[&str], out: impl Into<Stdio>) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opendp"));
        let command = command.current_dir(self.0.path()).args(arguments);
        let running = command.stdout(out).stderr(Stdio::piped()).spawn().unwrap();
        let output = running.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opendp"));
        command.current_dir(self.0.path()).args(arguments).output().unwrap()
    }
    #[track_caller]
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
    /// Create a budget that protects one added or removed row.
    #[track_caller]
    fn budget(&self, place: &str, amount: &[&str]) {
        let create = ["budget", "create", place, "--unit", "1", "--metric", "symmetric_distance"];
        self.says(&[&create[..], amount].concat());
    }
    #[track_caller]
    fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code));
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    }
}

fn pipeline(scale: Json) -> String {
    json!({
        "space": {
            "domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false}, "size": 4}},
            "metric": "symmetric_distance",
        },
        "chain": [{"clamp": {"bounds": [0.0, 100.0]}}, {"mean": {}}, {"laplace": {"scale": scale}}],
    })
    .to_string()
}
fn sum(scale: f64) -> Json {
    json!({
        "space": {"domain": {"vector_domain": {"atom_domain": {"T": "i64"}}}, "metric": "symmetric_distance"},
        "chain": [{"clamp": {"bounds": [0, 10]}}, "sum", {"laplace": {"scale": scale}}],
    })
}
/// Send lines to `opendp batch` and read its answers.
fn batch(lines: &[u8]) -> Vec<Json> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_opendp"))
        .arg("batch")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, lines) = (child.stdin.take().unwrap(), lines.to_vec());
    let writer = std::thread::spawn(move || stdin.write_all(&lines).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The exit code shows whether a request failed.
    let failed = answers.iter().any(|answer| answer.get("error").is_some());
    assert_eq!(output.status.code(), Some(i32::from(failed)));
    answers
}
fn requests(requests: &[Json]) -> Vec<Json> {
    batch(requests.iter().map(|r| format!("{r}\n")).collect::<String>().as_bytes())
}

#[test]
fn maps_checks_and_solves() {
    let desk = Desk::new();
    desk.file("mean.json", pipeline(json!(12.5)));
    desk.file("open.json", pipeline(json!({"param": "scale"})));
    assert_eq!(desk.says(&["map", "-p", "mean.json", "--d-in", "2"]), "2.0");
    assert_eq!(desk.says(&["check", "-p", "mean.json", "--d-in", "2", "--d-out", "2"]), "true");
    assert_eq!(desk.says(&["check", "-p", "mean.json", "--d-in", "2", "--d-out", "1"]), "false");
    let scale =
        desk.says(&["solve", "-p", "open.json", "--param", "scale", "--d-in", "2", "--d-out", "1"]);
    assert_eq!(scale, "25.0");
}
#[test]
fn runs_on_csv_and_json() {
    let desk = Desk::new();
    desk.file("mean.json", pipeline(json!(0.0)));
    // Each line is a row. A cell that does not parse is read as 0, and 1e9 is clamped to 100.
    desk.file("people.csv", "age,sex\n20,1\nx,0\n1e9,1\n40\n");
    let arguments = ["run", "-p", "mean.json", "--data", "people.csv", "--column", "age"];
    let report: Json = serde_json::from_str(
        &desk.says(&[&arguments[..], &["--d-in", "2", "--json", "--allow-infinite-loss"]].concat()),
    )
    .unwrap();
    assert_eq!(report["release"], json!(40.0));
    assert_eq!(report["loss"], json!("Infinity"));
    let allow = ["--allow-infinite-loss"];
    assert!(desk.says(&[&arguments[..], &allow].concat()).contains("release   40.0"));
    desk.file("ages.json", "[20.0, 0.0, 100.0, 40.0]");
    let run = ["run", "-p", "mean.json", "--data", "ages.json", "--d-in", "2"];
    let text = desk.says(&[&run[..], &allow].concat());
    assert!(text.contains("release   40.0") && text.contains("loss"), "{text}");
    desk.file("rows.json", r#"[{"age": 1.0}, {"age": 2.0}, {"age": 3.0}, {"age": 4.0}]"#);
    let run = ["run", "-p", "mean.json", "--data", "rows.json", "--column", "age"];
    let text = desk.says(&[&run[..], &allow].concat());
    assert!(text.contains("release   2.5"), "{text}");
}
#[test]
fn bytes_that_are_not_text_are_one_bad_cell() {
    let desk = Desk::new();
    desk.file("mean.json", pipeline(json!(0.0)));
    desk.file("people.csv", b"age\n20\n\xff\xfe\n30\n50\n");
    let run = ["run", "-p", "mean.json", "--data", "people.csv", "--allow-infinite-loss"];
    let text = desk.says(&run);
    assert!(text.contains("release   25.0"), "{text}");
}
#[test]
fn a_line_is_a_row_whatever_it_holds() {
    let desk = Desk::new();
    let count = json!({
        "space": {"domain": "VectorDomain<AtomDomain<String>>", "metric": "symmetric_distance"},
        "chain": [{"count_by_categories": {"categories": ["a, b", "c", ""]}}, {"laplace": {"scale": 0}}],
    });
    desk.file("count.json", count.to_string());
    let release = |name: &str, table: &[u8], column: &str| -> Json {
        desk.file(name, table);
        let run = ["run", "-p", "count.json", "--data", name, "--column", column, "--json"];
        let report = desk.says(&[&run[..], &["--allow-infinite-loss"]].concat());
        serde_json::from_str::<Json>(&report).unwrap()["release"].clone()
    };
    // A quoted cell may contain a comma. A quoted cell without a closing quote ends at the end of
    // its line.
    let table = b"id,x\n1,\"a, b\"\n2,\"c\n3,c\r\n4\n\n5,\xff\n6,c";
    assert_eq!(release("one.csv", table, "x"), json!([1, 3, 3, 0]));
    // In a table with one column, an empty line is a row with an empty cell.
    assert_eq!(release("two.csv", b"x\nc\n\n\nc\n", "x"), json!([0, 2, 2, 0]));
}
#[test]
fn errors_go_to_standard_error_with_their_kind() {
    let desk = Desk::new();
    desk.file("mean.json", pipeline(json!(-1.0)));
    let text = desk.fails(&["map", "-p", "mean.json", "--d-in", "2"], 1);
    assert!(text.starts_with("error[MakeMeasurement]") && text.contains("scale"), "{text}");
    let text = desk.fails(&["map", "-p", "mean.json", "--d-in", "2", "--json"], 1);
    let error: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(error["error"]["kind"], "MakeMeasurement");
    assert!(desk.fails(&["map", "-p", "absent.json", "--d-in", "2"], 1).contains("absent.json"));
    desk.file("broken.json", "{\"space\": ");
    assert!(desk.fails(&["map", "-p", "broken.json", "--d-in", "2"], 1).contains("line 1"));
    assert!(desk.fails(&["describe", "make_clomp"], 1).contains("make_clamp"));
}
#[test]
fn bad_usage_exits_with_2() {
    let desk = Desk::new();
    desk.fails(&["map"], 2);
    desk.fails(&["frobnicate"], 2);
    desk.fails(&["list", "--kind", "x"], 2);
    desk.file("mean.json", pipeline(json!(1.0)));
    desk.fails(&["map", "-p", "mean.json", "--d-in", "two"], 2);
}
#[test]
fn a_table_that_does_not_fit_is_refused_before_a_release() {
    let desk = Desk::new();
    desk.file("mean.json", pipeline(json!(1.0)));
    desk.file("three.csv", "age\n1\n2\n3\n");
    let text = desk.fails(&["run", "-p", "mean.json", "--data", "three.csv"], 1);
    assert!(text.contains("size"), "{text}");
    desk.file("two.csv", "age,sex\n1,1\n");
    let text = desk.fails(&["run", "-p", "mean.json", "--data", "two.csv"], 1);
    assert!(text.contains("2 columns") && !text.contains("sex"), "{text}");
    let transformation = json!({"space": sum(1.0)["space"], "chain": ["count"]});
    desk.file("count.json", transformation.to_string());
    let text = desk.fails(&["run", "-p", "count.json", "--data", "three.csv"], 1);
    assert!(text.contains("expected a measurement"), "{text}");
}
#[test]
fn lists_and_describes() {
    let desk = Desk::new();
    let text = desk.says(&["list"]);
    assert!(text.contains("make_clamp") && text.contains("opendp-transformations"), "{text}");
    let list: Json =
        serde_json::from_str(&desk.says(&["list", "--kind", "metric", "--json"])).unwrap();
    assert!(list.as_array().unwrap().iter().all(|constructor| constructor["kind"] == "metric"));
    let text = desk.says(&["describe", "clamp"]);
    for part in ["# Proof", "# Errors", "# Signatures", "HammingDistance"] {
        assert!(text.contains(part), "{part}");
    }
    let described: Json =
        serde_json::from_str(&desk.says(&["describe", "make_laplace", "--json"])).unwrap();
    assert_eq!(described["arguments"][1]["name"], "scale");
    assert!(described["arguments"][1]["meaning"].as_str().unwrap().contains("scale of the noise"));
    assert!(described["formula"].as_str().unwrap().contains("d_in / scale"));
    assert!(described["errors"].is_string() && described["documentation"].is_string());
}
#[test]
fn batch_answers_every_operation_in_order() {
    let (twenty, open) = (sum(20.0), {
        let mut open = sum(0.0);
        open["chain"][2]["laplace"]["scale"] = json!({"param": "s"});
        open
    });
    let answers = requests(&[
        json!({"id": 1, "op": "map", "pipeline": twenty, "d_in": 1}),
        json!({"id": "two", "op": "check", "pipeline": twenty, "d_in": 1, "d_out": 0.5}),
        json!({"id": 3, "op": "make", "pipeline": twenty}),
        json!({"id": 4, "op": "invoke", "pipeline": sum(0.0), "arg": [1, 2, 30]}),
        json!({"id": 5, "op": "invoke", "pipeline": twenty, "arg": [1], "repeat": 100}),
        json!({"id": 6, "op": "solve", "pipeline": open, "param": "s", "d_in": 1, "d_out": 0.5}),
        json!({"id": 7, "op": "map", "pipeline": open, "params": {"s": 40.0}, "d_in": 1}),
        json!({"id": 8, "op": "delta", "pipeline": twenty, "d_in": 1, "epsilon": 0.5}),
        json!({"id": 9, "op": "epsilon", "pipeline": twenty, "d_in": 1, "delta": 0.0}),
        json!({"id": 10, "op": "describe", "name": "make_sum"}),
        json!({"id": 11, "op": "list", "kind": "measure"}),
    ]);
    assert_eq!(answers.len(), 11);
    assert_eq!(answers[0], json!({"id": 1, "value": 0.5}));
    assert_eq!(answers[1], json!({"id": "two", "value": true}));
    assert_eq!(answers[2]["value"]["kind"], "measurement");
    assert_eq!(answers[2]["value"]["measure"], "max_divergence");
    assert_eq!((&answers[3]["id"], &answers[3]["value"]), (&json!(4), &json!(13)));
    let releases: Vec<i64> =
        answers[4]["value"].as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect();
    assert!(releases.len() == 100 && releases.iter().any(|x| *x != releases[0]));
    assert_eq!(answers[5]["value"], json!(20.0));
    assert_eq!(answers[6]["value"], json!(0.25));
    assert_eq!(answers[7]["value"], json!(0.0));
    assert_eq!(answers[8]["value"], json!(0.5));
    assert_eq!(answers[9]["value"]["name"], "make_sum");
    assert!(!answers[10]["value"].as_array().unwrap().is_empty());
}
#[test]
fn a_bad_line_gets_an_error_and_the_rest_goes_on() {
    let good = json!({"id": 9, "op": "map", "pipeline": sum(1.0), "d_in": 1}).to_string();
    let mut lines = Vec::new();
    for bad in [
        b"not json".to_vec(),
        b"\xff\xfe".to_vec(),
        b"7".to_vec(),
        b"{\"id\": 1}".to_vec(),
        b"{\"id\": 2, \"op\": \"fly\"}".to_vec(),
        b"{\"id\": 3, \"op\": \"map\"}".to_vec(),
        "[".repeat(1_000_000).into_bytes(),
        json!({"id": 4, "op": "map", "pipeline": sum(1.0), "d_in": -1}).to_string().into_bytes(),
        json!({"id": 5, "op": "invoke", "pipeline": sum(1.0), "arg": ["x"]})
            .to_string()
            .into_bytes(),
        json!({"id": 6, "op": "invoke", "pipeline": sum(1.0), "arg": [1], "repeat": 1e9})
            .to_string()
            .into_bytes(),
        json!({"id": 7, "op": "delta", "pipeline": sum(1.0), "d_in": 1, "epsilon": "NaN"})
            .to_string()
            .into_bytes(),
    ] {
        lines.extend(bad);
        lines.push(b'\n');
    }
    lines.extend(good.as_bytes());
    let answers = batch(&lines);
    assert_eq!(answers.len(), 12);
    let kinds: Vec<&str> =
        answers[..11].iter().map(|answer| answer["error"]["kind"].as_str().unwrap()).collect();
    assert_eq!(&kinds[..7], ["Argument"; 7]);
    assert_eq!(&kinds[7..], ["FailedCast", "FailedCast", "Argument", "InvalidDistance"]);
    assert_eq!(answers[4]["id"], 2);
    assert_eq!(answers[11], json!({"id": 9, "value": 10.0}));
}
#[test]
fn repeats_that_cannot_be_are_refused_and_the_next_line_is_answered() {
    let composition = |members: &str| {
        let domain = r#"{"atom_domain":{"T":"i32"}}"#;
        format!(
            r#"{{"op":"map","d_in":1,"pipeline":{{"space":{{"domain":{domain},"metric":"absolute_distance"}},"chain":[{{"composition":{{"measurements":[{members}]}}}}]}}}}"#
        )
    };
    let noise = r#"{"chain":[{"laplace":{"scale":1.0}}]"#;
    let many = |member: &str, times: &str| {
        let inner = r#"{"composition":{"measurements":["#;
        format!(r#"{{"chain":[{inner}{member}]}}}}],"repeat":{times}}}"#)
    };
    let single = format!(r#"{noise},"repeat":1000}}"#);
    let lines = [
        composition(&format!(r#"{noise}}},{noise},"repeat":18446744073709551615}}"#)),
        composition(&many(&many(&single, "1000"), "1000")),
        composition(&format!(r#"{noise},"repeat":1e-400}}"#)),
        composition(&many(&single, "100")),
        composition(&format!(r#"{noise},"repeat":1e3}}"#)),
    ];
    let answers = batch(lines.join("\n").as_bytes());
    for answer in &answers[..3] {
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("`repeat`"), "{message}");
    }
    assert_eq!(answers[3]["value"], json!(1e5));
    assert_eq!(answers[4]["value"], json!(1e3));
    let request = json!({"op": "invoke", "pipeline": sum(1.0), "arg": [1], "repeat": u64::MAX});
    let message = requests(&[request])[0]["error"]["message"].to_string();
    assert!(message.contains("`repeat`") && message.contains("at most"), "{message}");
}
#[test]
fn python_tokens_and_exact_integers_pass() {
    let line = r#"{"id": 1, "op": "map", "pipeline": {"space": {"domain": {"atom_domain": {"T": "f64", "bounds": [-Infinity, Infinity]}}, "metric": "absolute_distance"}, "chain": [{"laplace": {"scale": 2}}]}, "d_in": 1}"#;
    assert_eq!(batch(line.as_bytes())[0]["value"], json!(0.5));
    let identity = json!({
        "space": {"domain": {"atom_domain": {"T": "i128"}}, "metric": {"absolute_distance": {"T": "i128"}}},
        "chain": [{"laplace": {"scale": 0}}],
    });
    let line = format!(
        r#"{{"id": 1, "op": "invoke", "pipeline": {identity}, "arg": -170141183460469231731687303715884105728}}"#
    );
    assert_eq!(
        batch(line.as_bytes())[0]["value"].to_string(),
        "-170141183460469231731687303715884105728"
    );
}
#[test]
fn an_error_shows_no_data() {
    let request =
        json!({"id": 1, "op": "invoke", "pipeline": sum(1.0), "arg": [1, "secret", 123456789]});
    let answer = requests(&[request])[0].to_string();
    assert!(!answer.contains("secret") && !answer.contains("123456789"), "{answer}");
}
