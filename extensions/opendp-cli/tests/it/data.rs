//! Tests with realistic cells, formats and sizes of data. Errors must reveal nothing about the
//! data.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

use crate::compress::{gzip, zstd};
use crate::{Desk, sum};

fn read(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}
/// Return a pipeline that clamps the numbers of a column to 0 and 100, and releases their exact
/// sum.
fn exact(t: &str) -> String {
    let domain = json!({"vector_domain": {"atom_domain": {"T": t}}});
    json!({
        "space": {"domain": domain, "metric": "symmetric_distance"},
        "chain": [{"clamp": {"bounds": [0, 100]}}, "sum", {"laplace": {"scale": 0.0}}],
    })
    .to_string()
}
fn run<'a>(pipeline: &'a str, data: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    // Many of the pipelines have no noise. Their releases are exact, and their losses are infinite.
    let run = ["run", "-p", pipeline, "--data", data, "--json", "--allow-infinite-loss"];
    [&run[..], more].concat()
}
#[track_caller]
fn release(desk: &Desk, pipeline: &str, data: &str, more: &[&str]) -> Json {
    read(&desk.says(&run(pipeline, data, more)))["release"].clone()
}
fn given(desk: &Desk, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_opendp"))
        .current_dir(desk.0.path())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // If the arguments are wrong, the command does not read its input, so this write can fail.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

#[test]
fn rows_that_are_lists_keep_their_fields() {
    let desk = Desk::new();
    let rows = json!({"vector_domain": {"vector_domain": {"atom_domain": {"T": "String"}}}});
    let pipeline = json!({
        "space": {"domain": rows, "metric": "symmetric_distance"},
        "chain": [
            {"create_dataframe": {"col_names": ["name", "age"]}},
            {"select_column": {"key": "age", "TOA": "String"}},
            {"cast_default": {"TOA": "i64"}},
            {"clamp": {"bounds": [0, 100]}}, "sum", {"laplace": {"scale": 0.0}},
        ],
    });
    desk.file("sum.json", pipeline.to_string());
    desk.file("people.json", r#"[["Ada", "36"], ["Bob", "41"]]"#);
    assert_eq!(release(&desk, "sum.json", "people.json", &[]), json!(77));
}
#[test]
fn a_column_of_whole_numbers_with_points_is_not_read_as_zeros() {
    let desk = Desk::new();
    for t in ["i32", "u8", "i64", "u64", "usize"] {
        desk.file("sum.json", exact(t));
        desk.file("ages.csv", "AGE\n47.0\n47.\n4.7e1\n+47\n 47 \n47.5\n");
        assert_eq!(release(&desk, "sum.json", "ages.csv", &[]), json!(235), "{t}");
        desk.file("ages.json", r#"[47.0, 4.7e1, "47.", null, "x", 47.5, [47]]"#);
        assert_eq!(release(&desk, "sum.json", "ages.json", &[]), json!(141), "{t}");
    }
}
#[test]
fn cells_with_another_separator_are_read_where_it_is_stated() {
    let desk = Desk::new();
    desk.file("sum.json", exact("i64"));
    for (separator, state) in [(";", ";"), ("\t", "tab"), ("|", "|")] {
        desk.file("x.csv", format!("id{separator}age\n1{separator}30\n2{separator}40\n"));
        let stated = ["--column", "age", "--separator", state];
        assert_eq!(release(&desk, "sum.json", "x.csv", &stated), json!(70));
        let error = desk.fails(&run("sum.json", "x.csv", &["--column", "age"]), 1);
        let state = if state == "tab" { "tab" } else { &format!("'{state}'") };
        assert!(error.contains(&format!("state --separator {state},")), "{error}");
    }
    desk.fails(&run("sum.json", "x.csv", &["--separator", ";;"]), 2);
    desk.file("x.json", "[1]");
    desk.fails(&run("sum.json", "x.json", &["--separator", ";"]), 1);
}
#[test]
fn compressed_tables_and_standard_input_are_read() {
    let desk = Desk::new();
    desk.file("sum.json", exact("i64"));
    let text = "id,age\n1,30\n2,40\n";
    for (name, bytes) in [
        ("x.csv.gz", gzip(text)),
        ("x.csv.zst", zstd(text)),
        ("x.csv", gzip(text)),
        ("x", zstd(text)),
    ] {
        desk.file(name, &bytes);
        assert_eq!(release(&desk, "sum.json", name, &["--column", "age"]), json!(70), "{name}");
        let output = given(&desk, &run("sum.json", "-", &["--column", "age"]), &bytes);
        let report = read(std::str::from_utf8(&output.stdout).unwrap());
        assert_eq!(report["release"], json!(70), "{name}");
    }
    for (name, bytes) in [("x.json.gz", gzip("[30, 40]")), ("x.json.zst", zstd("[30, 40]"))] {
        desk.file(name, bytes);
        assert_eq!(release(&desk, "sum.json", name, &[]), json!(70), "{name}");
    }
    let output = given(&desk, &run("sum.json", "-", &["--column", "age"]), text.as_bytes());
    assert!(output.status.success());
    let output = given(&desk, &run("-", "-", &["--column", "age"]), text.as_bytes());
    assert!(String::from_utf8(output.stderr).unwrap().contains("standard input is the pipeline"));
}
#[test]
fn formats_that_cannot_be_meant_are_refused_by_name() {
    let desk = Desk::new();
    desk.file("sum.json", exact("i64"));
    let utf16: Vec<u8> = "\u{feff}age\n30\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes, word) in [
        ("empty.csv", b"".to_vec(), "empty"),
        ("sheet.csv", b"PK\x03\x04\x14\x00\x06\x00".to_vec(), "zip"),
        ("utf16.csv", utf16, "UTF-16"),
        ("mac.csv", b"age\r30\r40\r".to_vec(), "CR"),
        ("parquet.csv", b"PAR1\x15\x04\x15\x10".to_vec(), "Parquet"),
        ("plain.csv.gz", b"age\n30\n".to_vec(), "the compression that its name states"),
        ("x.parquet.gz", gzip("PAR1"), "decompress it"),
    ] {
        desk.file(name, bytes);
        let error = desk.fails(&run("sum.json", name, &[]), 1);
        assert!(error.contains(word), "{name}: {error}");
    }
}
#[test]
fn an_error_about_a_column_shows_nothing_of_a_table_without_a_header() {
    let desk = Desk::new();
    desk.file("sum.json", exact("i64"));
    let frame = json!({
        "space": {"metric": "symmetric_distance", "domain": {"dataframe_domain": {
            "col_names": ["age"], "element_domains": [{"atom_domain": {"T": "i64"}}],
        }}},
        "chain": [{"select_column": {"key": "age", "TOA": "i64"}}, "count",
            {"laplace": {"scale": 1.0}}],
    });
    desk.file("frame.json", frame.to_string());
    desk.file("people.csv", "31,Ada Lovelace,HIV+\x1b[31m\n44,Carl,x\n");
    for arguments in [
        run("sum.json", "people.csv", &["--column", "age"]),
        run("sum.json", "people.csv", &[]),
        run("frame.json", "people.csv", &[]),
    ] {
        let error = desk.fails(&arguments, 1);
        for cell in ["31", "Ada", "HIV", "Carl", "\x1b", "\\u{1b}"] {
            assert!(!error.contains(cell), "{error}");
        }
        assert!(error.contains("3 columns") || error.contains("the 3 columns"), "{error}");
        assert!(error.contains("opendp inspect"), "{error}");
    }
}
#[test]
fn a_damaged_compressed_table_is_not_charged_and_its_id_is_free() {
    let desk = Desk::new();
    desk.file("sum.json", sum(20.0).to_string());
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let text =
        (0..50_000).fold("x\n".to_owned(), |text, i| text + &format!("{}\n", i * 7919 % 997));
    let charge = ["--d-in", "1", "--budget", "l.db:b", "--id", "1"];
    for whole in [gzip(&text), zstd(&text)] {
        desk.file("x.csv", &whole[..whole.len() - 3]);
        let error = desk.fails(&run("sum.json", "x.csv", &charge), 1);
        assert!(error.contains("damaged or cut off"), "{error}");
        let shown = read(&desk.says(&["budget", "show", "l.db:b", "--json"]));
        assert_eq!((&shown["releases"], &shown["spent"]), (&json!(0), &json!({"epsilon": "0"})));
    }
    desk.file("x.csv", gzip(&text));
    let report = read(&desk.says(&run("sum.json", "x.csv", &charge)));
    assert_eq!(report["budget"]["repeated"], json!(false));
    desk.file("x.csv", &gzip(&text)[..100]);
    let again = read(&desk.says(&run("sum.json", "x.csv", &charge)));
    assert_eq!(again["budget"]["repeated"], json!(true));
}
#[test]
fn a_json_file_that_is_not_text_is_charged_like_other_data_without_a_release() {
    let desk = Desk::new();
    desk.file("sum.json", sum(20.0).to_string());
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let mut told = Vec::new();
    // Because of a single record, a file can be invalid JSON or invalid UTF-8, or can contain a
    // NUL. So a run on such a file is charged, and the message is the same for all such files.
    for (place, text) in
        [&b"[\"1\", 2"[..], b"[\"1\", \"\xff\"]", b"[\"1\", \"\0\"]"].iter().enumerate()
    {
        desk.file("x.json", text);
        let id = format!("{place}");
        let charge = ["--d-in", "1", "--budget", "l.db:b", "--id", &id];
        let error = desk.fails(&run("sum.json", "x.json", &charge), 1);
        told.push(error.replace(&format!("`{id}`"), "ID"));
        let shown = read(&desk.says(&["budget", "show", "l.db:b", "--json"]));
        assert_eq!(shown["releases"], json!(place + 1));
    }
    assert!(told.iter().all(|error| *error == told[0] && error.contains("charged")), "{told:?}");
    desk.file("x.json", "[\"1\", \"2\"]");
    let charge = ["--d-in", "1", "--budget", "l.db:b", "--id", "whole"];
    assert!(release(&desk, "sum.json", "x.json", &charge).is_number());
}
#[test]
fn an_accuracy_beyond_all_floats_does_not_stop_a_release() {
    let desk = Desk::new();
    let mut real = sum(1e308);
    real["space"]["domain"] = json!({"vector_domain": {"atom_domain": {"T": "f64", "nan": false}}});
    real["chain"][0] = json!({"clamp": {"bounds": [0.0, 10.0]}});
    desk.file("x.csv", "x\n1\n");
    for document in [sum(1e308), real] {
        desk.file("sum.json", document.to_string());
        let report = read(&desk.says(&run("sum.json", "x.csv", &["--d-in", "1"])));
        assert_eq!(report["accuracy"], json!({"alpha": 0.05, "value": null}));
        assert!(report["release"].is_number());
    }
}

/// Return a pipeline that releases a noisy sum of integers. The domain states the bounds 0 and
/// `upper`. If `size` is given, the domain also states this number of rows.
fn bounded(upper: i64, size: Option<u64>) -> String {
    let mut rows = json!({"atom_domain": {"T": "i64", "bounds": [0, upper]}});
    if let Some(size) = size {
        rows["size"] = size.into();
    }
    json!({
        "space": {"domain": {"vector_domain": rows}, "metric": "symmetric_distance"},
        "chain": ["sum", {"laplace": {"scale": 1e12}}],
    })
    .to_string()
}
#[test]
fn the_maximum_of_a_json_column_cannot_be_found_by_bounds() {
    let desk = Desk::new();
    desk.file("x.json", r#"[{"age": 3}, {"age": 1234567}, {"other": 5}, {"age": "x"}]"#);
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    for (place, upper) in [1, 1_000_000, 1_234_566, 1_234_567, 2_000_000].into_iter().enumerate() {
        desk.file("sum.json", bounded(upper, None));
        let id = format!("{place}");
        let charge = ["--column", "age", "--d-in", "1", "--budget", "l.db:b", "--id", &id];
        let report = read(&desk.says(&run("sum.json", "x.json", &charge)));
        assert!(report["release"].is_number());
        // The same release without a budget also succeeds.
        desk.says(&run("sum.json", "x.json", &["--column", "age"]));
    }
    let shown = read(&desk.says(&["budget", "show", "l.db:b", "--json"]));
    assert_eq!(shown["releases"], json!(5));
}
#[test]
fn a_size_that_the_data_do_not_have_is_charged_kept_and_told_in_one_way() {
    let desk = Desk::new();
    desk.file("x.csv", "age\n1\n2\n3\n");
    desk.file("x.json", "[1, 2, 3]");
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let (mut told, mut releases) = (Vec::new(), 0);
    for data in ["x.csv", "x.json"] {
        for size in [0, 2, 4, 1_000_000] {
            desk.file("sum.json", bounded(9, Some(size)));
            let id = format!("{data} {size}");
            let charge = ["--d-in", "2", "--budget", "l.db:b", "--id", &id];
            let first = desk.fails(&run("sum.json", data, &charge), 1);
            let again = desk.fails(&run("sum.json", data, &charge), 1);
            assert_eq!(first, again);
            told.push(first.replace(&id, "ID"));
            releases += 1;
            let shown = read(&desk.says(&["budget", "show", "l.db:b", "--json"]));
            assert_eq!(shown["releases"], json!(releases));
        }
        desk.file("sum.json", bounded(9, Some(3)));
        let charge = ["--d-in", "2", "--budget", "l.db:b", "--id", data];
        desk.says(&run("sum.json", data, &charge));
        releases += 1;
    }
    assert!(told.iter().all(|error| *error == told[0] && error.contains("charged")), "{told:?}");
    let history = read(&desk.says(&["budget", "history", "l.db:b", "--json"]));
    let charged = |entry: &Json| entry["loss"].clone();
    let all = history.as_array().unwrap();
    assert!(all.iter().all(|entry| charged(entry) == charged(&all[0])), "{history}");
    // If the value in the file is not a list of rows, the error is the same as for a wrong number
    // of rows.
    desk.file("x.json", r#"{"a": 5}"#);
    let charge = ["--d-in", "2", "--budget", "l.db:b", "--id", "ID"];
    assert_eq!(desk.fails(&run("sum.json", "x.json", &charge), 1), told[0]);
}
#[test]
fn a_size_that_the_budget_does_not_state_is_refused_before_data_are_read() {
    let desk = Desk::new();
    desk.file("x.csv", "age\n1\n2\n3\n");
    let unit = ["--unit", "2", "--metric", "symmetric_distance", "--size", "3"];
    desk.says(&[&["budget", "create", "l.db:b", "--epsilon", "2"], &unit[..]].concat());
    let charge = ["--budget", "l.db:b", "--id", "1"];
    for size in [2, 4] {
        desk.file("sum.json", bounded(9, Some(size)));
        let error = desk.fails(&run("sum.json", "x.csv", &charge), 1);
        assert!(error.contains("the number of people in the budget is 3"), "{error}");
        assert_eq!(error, desk.fails(&run("sum.json", "absent.csv", &charge), 1));
    }
    desk.file("sum.json", bounded(9, Some(3)));
    desk.says(&run("sum.json", "x.csv", &charge));
    let shown = read(&desk.says(&["budget", "show", "l.db:b", "--json"]));
    assert_eq!(shown["releases"], json!(1));
}
#[test]
fn a_budget_whose_size_makes_the_number_of_rows_public_has_a_warning() {
    let desk = Desk::new();
    for (count, (metric, unit, more, warned)) in (1..).zip([
        ("symmetric_distance", "2", &["--size", "3"][..], true),
        ("insert_delete_distance", "2", &["--size", "3", "--contributions", "1"], true),
        // The controls. In the first two, the number of rows is private. In the third, the number
        // is public because of the metric. In the fourth, no two data sets of the same size are at
        // the distance of the unit.
        ("symmetric_distance", "2", &[], false),
        ("symmetric_distance", "2", &["--size", "3", "--contributions", "2"], false),
        ("change_one_distance", "2", &["--size", "3"], false),
        ("symmetric_distance", "1", &["--size", "3"], false),
    ]) {
        let place = format!("l.db:b{count}");
        let create = ["budget", "create", &place, "--epsilon", "2", "--metric", metric];
        let output = desk.run(&[&create[..], &["--unit", unit], more].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        assert_eq!(said.contains("the number of rows is public"), warned, "{metric} {more:?}");
    }
}
#[test]
fn data_that_are_no_member_give_one_error_without_a_budget() {
    let desk = Desk::new();
    desk.file("sum.json", bounded(9, Some(2)));
    desk.file("three.csv", "age\n1\n2\n3\n");
    desk.file("three.json", "[1, 2, 3]");
    desk.file("none.json", "7");
    let errors = ["three.csv", "three.json", "none.json"]
        .map(|data| desk.fails(&run("sum.json", data, &["--d-in", "2"]), 1));
    assert!(
        errors.iter().all(|error| *error == errors[0] && error.contains("`size`")),
        "{errors:?}"
    );
}
#[test]
fn the_readme_pipeline_with_an_option_domain_drops_cells_that_do_not_read() {
    let readme = include_str!("../../../../README.md");
    let blocks = readme.split("```json\n").skip(1).filter_map(|block| block.split("```").next());
    let option = blocks.into_iter().find(|block| block.contains("option_domain")).unwrap();
    let desk = Desk::new();
    desk.file("total.json", option);
    let converted = desk.says(&["convert", "-p", "total.json", "--to", "opendp"]);
    assert!(converted.contains("make_drop_null"), "{converted}");
    desk.file("theirs.json", converted);
    let map = |name: &str| desk.says(&["map", "-p", name, "--d-in", "1"]);
    assert_eq!(map("theirs.json"), map("total.json"));
    let mut document = read(option);
    document["chain"][3]["laplace"]["scale"] = json!(0.0);
    document["chain"][1] = json!({"clamp": {"bounds": [5, 100]}});
    desk.file("sum.json", document.to_string());
    desk.file("x.csv", "age\n47.0\nx\n\n7\n");
    // If the two missing cells became zeros, they would be clamped to 5, and the release would be
    // 64.
    assert_eq!(release(&desk, "sum.json", "x.csv", &[]), json!(54));
}
/// If a file exists but cannot be read, the error does not say that the file is missing.
#[test]
fn a_missing_file_and_a_folder_are_different_errors() {
    let desk = Desk::new();
    let missing = desk.fails(&["ask", "no.json"], 1);
    assert!(missing.starts_with("error[NotFound]: file `no.json` cannot be read"), "{missing}");
    assert!(missing.contains("check its path"), "{missing}");
    let folder = desk.fails(&["ask", "."], 1);
    assert!(folder.starts_with("error[FailedFunction]: file `.` cannot be read"), "{folder}");
    assert!(!folder.contains("check its path"), "{folder}");
}
