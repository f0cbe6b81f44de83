//! Tests of the command `inspect`, which shows the curator of a table exact facts about the table.

use serde_json::{Value as Json, json};

use crate::Desk;

const MARK: &str = "PRIVATE: exact facts of the data";
const TABLE: &str = "age,income,name,flag\n47.0,1.5,Ada,true\n31,,Carl,false\n,NaN,Eve,\n\
    31,2e0,,true\nx,-7.25,Ada,x\n3000000000,1e400,Bob,true\n";

fn inspect(desk: &Desk, arguments: &[&str]) -> Json {
    let text = desk.says(&[&["inspect", "--json", "--data"], arguments].concat());
    serde_json::from_str(&text).unwrap()
}

#[test]
fn counts_what_the_cells_of_each_column_are() {
    let desk = Desk::new();
    desk.file("people.csv", TABLE);
    let report = inspect(&desk, &["people.csv", "--as", "i32", "--column", "age"]);
    assert_eq!((&report["rows"], report["columns"].as_array().unwrap().len()), (&json!(6), 1));
    let domain = json!({"vector_domain": {"option_domain": {
        "element_domain": {"atom_domain": {"T": "i32"}}}}});
    let age = json!({
        "name": "age", "rows": 6, "type": "i32", "guessed": false, "missing": 1, "unreadable": 1,
        "out_of_range": 1, "minimum": 31, "maximum": 3_000_000_000_u64, "domain": domain,
    });
    assert_eq!(report["columns"][0], age);
    // The proposed domain can be used in a pipeline.
    let pipeline = json!({
        "space": {"domain": domain, "metric": "symmetric_distance"},
        "chain": [{"impute_constant": {"constant": 40}}, "count", {"laplace": {"scale": 0.0}}],
    });
    desk.file("count.json", pipeline.to_string());
    let run = ["run", "-p", "count.json", "--data", "people.csv", "--column", "age", "--json"];
    assert!(
        desk.says(&[&run[..], &["--allow-infinite-loss"]].concat()).starts_with("{\"release\":6,")
    );

    let report = inspect(&desk, &["people.csv", "--as", "f64"]);
    let income = &report["columns"][1];
    assert_eq!((&income["missing"], &income["nan"]), (&json!(1), &json!(1)));
    assert_eq!((&income["out_of_range"], &income["unreadable"]), (&json!(1), &json!(0)));
    assert_eq!((&income["minimum"], &income["maximum"]), (&json!(-7.25), &json!(2.0)));
    assert_eq!(report["columns"][2]["unreadable"], json!(5));
    assert_eq!(report["uneven_rows"], json!(0));

    let report = inspect(&desk, &["people.csv"]);
    let types: Vec<&Json> =
        report["columns"].as_array().unwrap().iter().map(|column| &column["type"]).collect();
    // In the columns of ages and flags, five cells are not missing, and one of them does not parse.
    // Consider the cells that are not missing. The command guesses a type other than `String` only
    // if at least nine in ten of these cells can be parsed.
    assert_eq!(types, ["String", "f64", "String", "String"]);
    assert!(report.get("warning").is_none());
}
#[test]
fn infinite_cells_are_counted() {
    let desk = Desk::new();
    desk.file("x.csv", "x\ninf\n-inf\nInfinity\n1\n1e400\nNaN\n");
    let column = &inspect(&desk, &["x.csv"])["columns"][0];
    let counts = (&column["infinite"], &column["out_of_range"], &column["nan"]);
    assert_eq!((&column["type"], counts), (&json!("f64"), (&json!(3), &json!(1), &json!(1))));
    assert_eq!((&column["minimum"], &column["maximum"]), (&json!(1.0), &json!(1.0)));
    let text = desk.says(&["inspect", "--data", "x.csv"]);
    assert!(text.contains("  infinite         3\n"), "{text}");
    // The control: a column of integers has no infinite values.
    desk.file("x.csv", "x\n1\n");
    assert!(inspect(&desk, &["x.csv"])["columns"][0].get("infinite").is_none());
}
/// An `option_domain` has no narrow types. So the proposed domain has a wider type, and the bounds
/// of the narrow type.
#[test]
fn the_domain_of_a_narrow_type_reads_a_number_beyond_its_ends_as_missing() {
    let desk = Desk::new();
    for (kind, wide, bounds, table) in [
        ("u8", "u32", json!([0, 255]), "x\n0\n255\n256\n-1\n\nx\n"),
        ("u16", "u32", json!([0, 65_535]), "x\n0\n65535\n65536\n-1\n\nx\n"),
        ("i8", "i32", json!([-128, 127]), "x\n-128\n127\n128\n-129\n\nx\n"),
        ("i16", "i32", json!([-32_768, 32_767]), "x\n-32768\n32767\n32768\n-32769\n\nx\n"),
    ] {
        desk.file("x.csv", table);
        let report = inspect(&desk, &["x.csv", "--as", kind]);
        let column = &report["columns"][0];
        let atom = json!({"T": wide, "bounds": bounds});
        let domain = json!({"vector_domain": {"option_domain": {
            "element_domain": {"atom_domain": atom}}}});
        assert_eq!((&column["out_of_range"], &column["domain"]), (&json!(2), &domain), "{kind}");
        let pipeline = json!({
            "space": {"domain": domain, "metric": "symmetric_distance"},
            "chain": ["drop_null", "count", {"laplace": {"scale": 0.0}}],
        });
        desk.file("count.json", pipeline.to_string());
        let run = ["run", "-p", "count.json", "--data", "x.csv", "--json", "--allow-infinite-loss"];
        assert!(desk.says(&run).starts_with("{\"release\":2,"), "{kind}");
    }
}
#[test]
fn every_report_begins_with_the_mark_that_it_is_private() {
    let desk = Desk::new();
    desk.file("people.csv", TABLE);
    let text = desk.says(&["inspect", "--data", "people.csv"]);
    assert!(text.starts_with(MARK) && text.contains("6 rows"), "{text}");
    let text = desk.says(&["inspect", "--data", "people.csv", "--json"]);
    assert!(text.starts_with(&format!("{{\"private\":\"{MARK}")), "{text}");
}
#[test]
fn a_table_without_a_header_is_counted_with_a_warning_and_plain_characters() {
    let desk = Desk::new();
    desk.file("people.csv", "31;Ada\x1b[2J;x\n44;Carl;y\n12;Eve;z\n");
    let report = inspect(&desk, &["people.csv", "--separator", ";"]);
    assert_eq!((&report["rows"], &report["columns"][0]["minimum"]), (&json!(2), &json!(12)));
    assert!(report["warning"].as_str().unwrap().contains("may be a record"), "{report}");
    let text = desk.says(&["inspect", "--data", "people.csv", "--separator", ";"]);
    assert!(text.contains("may be a record") && text.contains("Ada"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
    let report = inspect(&desk, &["people.csv", "--separator", ";", "--column", "31"]);
    assert_eq!(report["columns"][0]["maximum"], json!(44));
}
#[test]
fn a_column_name_that_occurs_twice_and_decimal_commas_are_named() {
    let desk = Desk::new();
    desk.file("x.csv", "age;age\n1,5;Ada\n-2,25;1,2,3\n3;x\n");
    let text = desk.says(&["inspect", "--data", "x.csv", "--separator", ";"]);
    assert!(text.contains("one of its cells occurs twice"), "{text}");
    assert!(text.contains("refuse to read a column whose name occurs twice"), "{text}");
    assert!(!text.contains("is empty"), "{text}");
    assert!(text.contains("with a decimal comma: 2"), "{text}");
    assert_eq!(text.matches("decimal comma").count(), 1, "{text}");
}
#[test]
fn a_comma_before_three_digits_is_not_called_a_decimal_comma() {
    let desk = Desk::new();
    desk.file("x.csv", "pay;n\n1,000;a\n12,500;b\n1,234,567;c\n2,5;d\n");
    let column = &inspect(&desk, &["x.csv", "--separator", ";"])["columns"][0];
    for (field, cells) in [("decimal_commas", 1), ("thousands_commas", 1), ("ambiguous_commas", 2)]
    {
        assert_eq!(column[field], json!(cells), "{column}");
    }
    let text = desk.says(&["inspect", "--data", "x.csv", "--separator", ";"]);
    for part in [
        "a number with a decimal comma: 1; each is unreadable as a number: write 1.5",
        "a number with commas between thousands: 1; each",
        "a number with one comma before three digits: 2; each",
        "1,000 can be one thousand or a decimal number",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
#[test]
fn rows_with_another_number_of_cells_are_counted() {
    let desk = Desk::new();
    desk.file("people.csv", "age,name\n1,\"Ada\n2\n\n3,x,y\n4,z\n");
    let report = inspect(&desk, &["people.csv"]);
    assert_eq!((&report["rows"], &report["uneven_rows"]), (&json!(5), &json!(2)));
    assert_eq!(report["blank_lines"], json!(1));
    let text = desk.says(&["inspect", "--data", "people.csv"]);
    assert!(text.contains("more or fewer cells than the first line: 2"), "{text}");
    assert!(text.contains("blank lines: 1. Each is a record"), "{text}");
}
#[test]
fn lines_of_a_cell_with_a_line_break_are_counted_with_a_warning() {
    let desk = Desk::new();
    for (table, rows, odd) in
        [("age,note\n1,\"two\nlines\"\n2,\"a, b\"\n", 3, 2), ("age\n1\n2\n", 2, 0)]
    {
        desk.file("people.csv", table);
        let report = inspect(&desk, &["people.csv"]);
        assert_eq!((&report["rows"], &report["odd_quotes"]), (&json!(rows), &json!(odd)));
        let text = desk.says(&["inspect", "--data", "people.csv"]);
        let warning = "rows with an odd number of quotes: 2";
        assert_eq!(text.contains(warning), odd == 2, "{text}");
    }
}
#[test]
fn cells_that_are_not_utf_8_are_unreadable_and_not_missing() {
    let desk = Desk::new();
    desk.file("people.csv", b"city,age\nBesan\xe7on,31\nLyon,x\xe9\n,4\n");
    let report = inspect(&desk, &["people.csv"]);
    for (column, missing) in report["columns"].as_array().unwrap().iter().zip([1, 0]) {
        let found = (&column["missing"], &column["unreadable"]);
        assert_eq!(found, (&json!(missing), &json!(1)), "{column}");
    }
    assert_eq!(report["not_utf8"], json!(2));
    let text = desk.says(&["inspect", "--data", "people.csv"]);
    assert!(
        text.contains("warning: cells that are not UTF-8, and are read as missing: 2"),
        "{text}"
    );
    desk.file("people.csv", "city,age\nBesançon,31\n");
    assert!(inspect(&desk, &["people.csv"]).get("not_utf8").is_none());
}
#[test]
fn refuses_what_is_no_table_and_unknown_columns_and_types() {
    let desk = Desk::new();
    desk.file("people.csv", TABLE);
    desk.file("people.json", "[1]");
    desk.fails(&["inspect", "--data", "people.json"], 1);
    desk.fails(&["inspect", "--data", "people.csv", "--column", "height"], 1);
    desk.fails(&["inspect", "--data", "people.csv", "--as", "i33"], 2);
    desk.fails(&["inspect", "--data", "absent.csv"], 1);
    let folder = desk.fails(&["inspect", "--data", "."], 1);
    assert!(folder.contains("this is a folder"), "{folder}");
    desk.fails(&["inspect"], 2);
    let help = desk.says(&["run", "--help"]);
    assert!(help.contains("option_domain") && help.contains("unreadable becomes 0"), "{help}");
}
