//! Tests of tables in Parquet files. The feature `parquet` reads such files.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::json;

use crate::Desk;
use crate::frames::{incomes, people, person, pipeline, release, table};

/// Write a Parquet file with the same people as in [`table`], in row groups of 300.
fn file(desk: &Desk, name: &str, rows: u64) {
    let people: Vec<[String; 4]> = (0..rows).map(person).collect();
    let columns: [(&str, ArrayRef); 4] = [
        ("income", Arc::new(people.iter().map(|p| p[3].parse().ok()).collect::<Float64Array>())),
        ("name", Arc::new(people.iter().map(|p| Some(&p[0])).collect::<StringArray>())),
        ("region", Arc::new(people.iter().map(|p| Some(&p[2])).collect::<StringArray>())),
        ("age", Arc::new(people.iter().map(|p| p[1].parse().ok()).collect::<Int64Array>())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let groups = WriterProperties::builder().set_max_row_group_row_count(Some(300)).build();
    let file = File::create(desk.file(name, "")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(groups)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_frame_of_a_parquet_file_releases_what_the_same_table_as_text_does() {
    let desk = Desk::new();
    desk.file("incomes.json", pipeline(people(), incomes()));
    for rows in [0, 1, 1000] {
        file(&desk, "people.parquet", rows);
        desk.file("people.csv", table(rows));
        let north = (0..rows).filter(|i| i % 3 == 0);
        let income = |i| person(i)[3].parse().unwrap_or(1000.0_f64).clamp(0.0, 50_000.0);
        // In Rust, the sum of no floats is -0.0. The release is 0.0, so add 0.0 to the sum.
        let expected = json!(0.0 + north.map(income).sum::<f64>());
        assert_eq!(release(&desk, "incomes.json", "people.parquet"), expected);
        assert_eq!(release(&desk, "incomes.json", "people.csv"), expected);
    }
}
#[test]
fn a_column_of_a_parquet_file_is_read_by_the_rule_of_its_type() {
    let desk = Desk::new();
    file(&desk, "people.parquet", 1000);
    let ages = json!({
        "space": {
            "domain": {"vector_domain": {"atom_domain": {"T": "i64"}}},
            "metric": "symmetric_distance",
        },
        "chain": [{"clamp": {"bounds": [0, 1000]}}, "sum", {"laplace": {"scale": 0.0}}],
    });
    desk.file("ages.json", ages.to_string());
    let run = ["run", "-p", "ages.json", "--data", "people.parquet", "--d-in", "1", "--json"];
    let run = [&run[..], &["--allow-infinite-loss"]].concat();
    let report = desk.says(&[&run[..], &["--column", "age"]].concat());
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let sum: i64 = (0..1000).map(|i| person(i)[1].parse().unwrap_or(0)).sum();
    assert_eq!(report["release"], json!(sum));
    // For an unknown column, the error names the argument. For a file that is not Parquet, the
    // error names the format, and does not show the content of the file.
    let error = desk.fails(&[&run[..], &["--column", "height"]].concat(), 1);
    assert!(error.contains("argument `column`") && error.contains("4 columns"), "{error}");
    desk.file("people.parquet", table(3));
    let error = desk.fails(&[&run[..], &["--column", "age"]].concat(), 1);
    assert!(error.contains("Parquet") && !error.contains("Person"), "{error}");
}
#[test]
fn a_text_in_a_parquet_file_that_is_not_utf_8_is_charged_like_a_release() {
    let desk = Desk::new();
    file(&desk, "people.parquet", 10);
    let path = desk.0.path().join("people.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    while let Some(place) = bytes.windows(5).position(|part| part == b"north") {
        bytes[place] = 0xff;
    }
    desk.file("damaged.parquet", bytes);
    let counts = json!({
        "space": {"domain": "VectorDomain<AtomDomain<String>>", "metric": "symmetric_distance"},
        "chain": [{"count_by_categories": {"categories": ["north", "east"]}},
            {"laplace": {"scale": 1.0}}],
    });
    desk.file("counts.json", counts.to_string());
    desk.says(&["budget", "create", "l.db:b", "--epsilon", "2"]);
    let run = |data: &'static str| {
        let run = ["run", "-p", "counts.json", "--data", data, "--column", "region", "--d-in", "1"];
        [&run[..], &["--budget", "l.db:b", "--id", data]].concat()
    };
    let error = desk.fails(&run("damaged.parquet"), 1);
    assert!(error.contains("no release is possible"), "{error}");
    assert!(desk.says(&["budget", "show", "l.db:b"]).contains("1 release"));
    desk.says(&run("people.parquet"));
    // A study that reads the damaged file fails, and is also charged.
    let study = json!({
        "context": {
            "unit": {"person": 1}, "budget": {"epsilon": 0.5}, "columns": {"region": "String"},
        },
        "questions": [{"histogram": {"column": "region", "categories": ["north", "east"]}}],
    });
    desk.file("study.json", study.to_string());
    desk.budget("l.db:study", &["--epsilon", "2"]);
    let ask = ["ask", "study.json", "--data", "damaged.parquet", "--budget", "l.db:study"];
    let error = desk.fails(&[&ask[..], &["--id", "1"]].concat(), 1);
    assert!(error.contains("no release is possible"), "{error}");
    assert!(desk.says(&["budget", "show", "l.db:study"]).contains("1 release"));
}
#[test]
fn a_parquet_file_is_inspected_like_the_same_table_as_text() {
    let desk = Desk::new();
    file(&desk, "people.parquet", 1000);
    let ages = (0..1000).filter(|i| person(*i)[1].parse::<i64>().is_err()).count();
    let report = |data: &str, more: &[&str]| -> serde_json::Value {
        let inspect = ["inspect", "--json", "--data", data];
        serde_json::from_str(&desk.says(&[&inspect[..], more].concat())).unwrap()
    };
    let found = report("people.parquet", &["--column", "age"]);
    let age = &found["columns"][0];
    assert_eq!((&age["type"], &age["missing"]), (&json!("i64"), &json!(ages)));
    assert_eq!((&found["rows"], &age["unreadable"]), (&json!(1000), &json!(0)));
    desk.file("people.csv", table(1000));
    let more = ["--column", "income"];
    let (left, right) = (report("people.parquet", &more), report("people.csv", &more));
    assert_eq!(left["columns"], right["columns"]);
    assert!(left["private"].is_string());
}
