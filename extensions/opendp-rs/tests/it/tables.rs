//! Tests contexts whose tables are read from files.

use std::fs::File;
use std::io::Cursor;

use opendp_rs::prelude::*;
use serde_json::json;

fn schema<T: Atom>(names: [&str; 2]) -> DataFrameDomain<String> {
    let cells = ColumnDomain::new(AtomDomain::<T>::default());
    DataFrameDomain::with_schema(names.map(|name| (name.to_owned(), cells.clone()))).unwrap()
}
/// For each of the keys 9 and 12, count the rows, and compute the mean income. Incomes are clamped
/// to the range from 0 to 100. The answers have almost no noise.
fn answers(table: Table) -> Vec<f64> {
    let (unit, budget) = (PrivacyUnit::person(1).unwrap(), Budget::epsilon(1e9).unwrap());
    let context = Context::new(table, unit, budget, Split::as_you_go()).unwrap();
    let groups = context.query().group_by(["educ"]).keys("educ", [9, 12]);
    let rows = groups.count().mean("income", (0.0, 100.0)).release().unwrap().rows(0.05).unwrap();
    rows.iter().map(|row| (row.value * 1e3).round() / 1e3).collect()
}

#[test]
fn the_mean_by_group_of_the_census_takes_ten_lines() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/pums_ca_1000.csv");
    let Ok(file) = File::open(file) else {
        eprintln!("SKIPPED: no file {file}");
        return;
    };
    let people = CsvFrame::new(file, &schema::<i64>(["educ", "income"])).unwrap();
    let table = Table::from_frames(people).unwrap();
    let (unit, budget) = (PrivacyUnit::person(1).unwrap(), Budget::epsilon(1.0).unwrap());
    let context = Context::new(table, unit, budget, Split::as_you_go()).unwrap();
    let groups = context.query().group_by(["educ"]).keys("educ", 1..=16);
    let means = groups.mean("income", (0.0, 100_000.0)).release().unwrap();
    let rows = means.rows(0.05).unwrap();
    assert_eq!((rows.len(), rows[8].label.as_str()), (16, "9"));
    for row in rows {
        let (low, high) = row.interval.unwrap();
        assert!(0.0 <= low && low <= row.value && row.value <= high && high <= 1e5, "{row}");
    }
    assert!(context.remaining().unwrap() < 1e-6);
}
#[test]
fn a_table_of_frames_has_every_record_once() {
    let lines = (0..40_000).map(|i| format!("{},{}\n", [9, 12, 1][i % 3], i % 100));
    let text: String = std::iter::once("educ,income\n".to_owned()).chain(lines).collect();
    let frames = CsvFrame::new(Cursor::new(text), &schema::<i64>(["income", "educ"])).unwrap();
    let mean = |k: usize| {
        let group: Vec<f64> =
            (0..40_000).filter(|i| i % 3 == k).map(|i| (i % 100) as f64).collect();
        (group.iter().sum::<f64>() / group.len() as f64 * 1e3).round() / 1e3
    };
    assert_eq!(answers(Table::from_frames(frames).unwrap()), [13334.0, 13333.0, mean(0), mean(1)]);
}
#[test]
fn a_cell_that_does_not_read_is_a_row_all_the_same() {
    let text = "educ,income\n9,100\n9,x\n12,\n";
    let frames = CsvFrame::new(text.as_bytes(), &schema::<i64>(["educ", "income"])).unwrap();
    assert_eq!(answers(Table::from_frames(frames).unwrap()), [2.0, 1.0, 50.0, 0.0]);
}
#[test]
fn a_column_of_absent_cells_says_how_to_read_it() {
    let cells = ColumnDomain::new(OptionDomain::new(AtomDomain::<i64>::default()));
    let domain = DataFrameDomain::with_schema([("educ".to_owned(), cells)]).unwrap();
    let frames = CsvFrame::new(&b"educ\n9\n"[..], &domain).unwrap();
    let error = Table::from_frames(frames).unwrap_err().to_string();
    assert!(error.contains("`educ`") && error.contains("read it as an `AtomDomain`"), "{error}");
    let wrong = CsvFrame::new(&b"educ,income\n9,\xff\n"[..], &schema::<i64>(["educ", "income"]));
    assert!(Table::from_frames(wrong.unwrap()).is_ok(), "no cell is an error");
    assert_eq!(Table::from_frames([]).unwrap().columns().count(), 0);
}
#[test]
fn a_study_reads_its_columns_from_a_table_of_text() {
    let study = Study::parse(&json!({
        "context": {
            "unit": {"person": 1},
            "budget": {"epsilon": 1e9},
            "columns": {"age": {"T": "i64", "missing": "drop"}, "city": "String"},
        },
        "questions": [
            {"histogram": {"column": "city", "categories": ["Lyon", "Lille"]}},
            {"count": {}, "where": {"age": {"at_least": 18}}},
        ],
    }));
    let (study, text) =
        (study.unwrap(), "city,name,age\nLyon,a,31\n Lyon ,b,\nLille,c,x\nLille,d,9\n");
    let read = study.reader(|columns| CsvFrame::new(Cursor::new(text), columns));
    let outcome = study.try_ask(read, 0.05).unwrap();
    let answers = outcome.answers().iter().flat_map(|answer| &answer.cells);
    let values: Vec<i64> = answers.map(|cell| cell.value.as_i64().unwrap()).collect();
    assert_eq!(values, [2, 2, 1]);
    // A file without a column of the study is an error of the file.
    let read = study.reader(|columns| CsvFrame::new(Cursor::new("city\n"), columns));
    let failure = study.try_ask(read, 0.05).unwrap_err();
    assert!(matches!(failure, opendp_rs::opendp_ledger::Failure::OfFile(_)), "{failure:?}");
}
