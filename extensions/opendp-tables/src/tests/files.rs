//! Test files of tables. If a cell cannot be read as the type of its column, it is read as null,
//! without an error.

use super::*;

fn opened(metadata: &str, folder: &std::path::Path) -> Session {
    let path = folder.join("study.toml");
    std::fs::write(&path, metadata).unwrap();
    Session::open(&path).unwrap()
}
const METADATA: &str = r#"
[budget]
epsilon = 1e13
[tables.people]
path = "PATH"
unit = { rows = 1 }
[tables.people.columns]
age = { type = "integer", bounds = [0, 100] }
income = { type = "float", bounds = [0, 10] }
sex = { type = "text", keys = ["f", "m"] }
employed = { type = "boolean" }
"#;
#[test]
fn a_cell_that_has_not_its_type_reads_as_null() {
    let folder = tempfile::tempdir().unwrap();
    let csv = "age,unused,income,sex,employed\n1,x,1.5,f,true\nsecret,x,1e400,m,maybe\n,,NaN,,\n\
               99999999999999999999,x,-inf,\"a,\"\"b\",false\n 5,x, 2,f,TRUE\n2.5,\"line\nbreak\",7,m,1\n";
    std::fs::write(folder.path().join("people.csv"), csv).unwrap();
    let session = opened(&METADATA.replace("PATH", "people.csv"), folder.path());
    let sql = "SELECT COUNT(*), COUNT(age), SUM(age), COUNT(income) FROM people";
    let found = numbers(&ask(&session, sql).table);
    assert_eq!(found[0][0], 6.0);
    assert!(found[0][1] >= 1.0 && found[0][1] <= 2.0, "{found:?}");
    assert!(found[0][2] >= 1.0 && found[0][2] <= 6.0, "{found:?}");
    let sql = "SELECT COUNT(*) FROM people GROUP BY sex ORDER BY sex";
    assert_eq!(numbers(&ask(&session, sql).table), [[2.0], [2.0]]);
    let unknown = session.query("SELECT COUNT(unused) FROM people").unwrap_err();
    assert_eq!(unknown.kind(), "Argument");
}
/// Some programs write a column of integers with missing cells as floats.
#[test]
fn a_whole_number_with_a_point_is_an_integer() {
    let folder = tempfile::tempdir().unwrap();
    // A float beyond 2^53 does not determine the integer, so such a cell is read as null.
    let cells = ["47.0", "48.00", "1e1", "5", "2.5", "9007199254740993.0", "1e400", "nan", "x"];
    let rows: String = cells.iter().map(|cell| format!("{cell},1,f,true\n")).collect();
    let csv = format!("age,income,sex,employed\n{rows}");
    std::fs::write(folder.path().join("people.csv"), csv).unwrap();
    let session = opened(&METADATA.replace("PATH", "people.csv"), folder.path());
    let found = numbers(&ask(&session, "SELECT COUNT(age), SUM(age) FROM people").table);
    assert_eq!(found, [[4.0, 110.0]]);
}
#[test]
fn a_first_record_that_cannot_be_decoded_is_no_error_when_the_file_is_opened() {
    // An error when the file is opened would reveal something about the record, and no loss would
    // be charged for this error.
    let folder = tempfile::tempdir().unwrap();
    for first in [&b"1,30"[..], b"1,\xff,f,true"] {
        let csv = [b"age,income,sex,employed\n", first, b"\n"].concat();
        std::fs::write(folder.path().join("people.csv"), csv).unwrap();
        let session = opened(&METADATA.replace("PATH", "people.csv"), folder.path());
        let question = session.query("SELECT COUNT(*) FROM people").unwrap();
        let answer = question.spending(Budget::epsilon(0.5).unwrap()).release();
        assert_eq!(answer.unwrap_err().kind(), "Argument");
    }
}
#[test]
fn a_folder_of_parquet_files_is_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let engine = crate::engine::DataFusion::new().unwrap();
    for (part, sex) in ["f", "m"].into_iter().enumerate() {
        let path = folder.path().join(format!("people/part{part}.parquet"));
        let path = path.to_string_lossy().into_owned();
        engine
            .wait(async {
                let context = datafusion::prelude::SessionContext::new();
                let sql = format!(
                    "SELECT value AS age, 1.5 AS income, '{sex}' AS sex, true AS employed \
                     FROM range(10)"
                );
                let frame = context.sql(&sql).await?;
                let options = datafusion::dataframe::DataFrameWriteOptions::new();
                frame.write_parquet(&path, options.with_single_file_output(true), None).await
            })
            .unwrap();
    }
    let metadata = METADATA.replace("PATH", "people").replace("unit", "format = \"parquet\"\nunit");
    let session = opened(&metadata, folder.path());
    let sql = "SELECT COUNT(*), SUM(age), SUM(income) FROM people GROUP BY sex";
    let found = numbers(&ask(&session, sql).table);
    assert_eq!(found.len(), 2);
    for row in found {
        assert!((row[0] - 10.0).abs() < 1e-6 && (row[1] - 45.0).abs() < 1e-6, "{row:?}");
        assert!((row[2] - 15.0).abs() < 1e-6, "{row:?}");
    }
}
#[test]
fn folders_named_for_values_are_columns() {
    let folder = tempfile::tempdir().unwrap();
    for (sex, rows) in
        [("f", "age,income,employed\n1,1,true\n2,1,true\n"), ("m", "age,income,employed\n3,1,\n")]
    {
        let part = folder.path().join(format!("people/sex={sex}"));
        std::fs::create_dir_all(&part).unwrap();
        std::fs::write(part.join("rows.csv"), rows).unwrap();
    }
    let metadata = METADATA.replace("PATH", "people").replace("unit", "format = \"csv\"\nunit");
    let session = opened(&metadata, folder.path());
    let sql = "SELECT COUNT(*), SUM(age) FROM people GROUP BY sex ORDER BY sex";
    assert_eq!(numbers(&ask(&session, sql).table), [[2.0, 3.0], [1.0, 3.0]]);
    assert_eq!(session.rows_read(), Some(3));
}
#[test]
fn batches_with_different_columns_are_refused() {
    let open = |batches: Vec<RecordBatch>| {
        let metadata = metadata(described(PrivacyUnit::rows(1)));
        Session::new(metadata, vec![("people".into(), Source::Batches(batches))]).map(|_| ())
    };
    let reversed: Vec<usize> = (0..people().num_columns()).rev().collect();
    let other = people().project(&reversed).unwrap();
    let error = open(vec![people(), other.clone()]).unwrap_err();
    assert_eq!(error.kind(), "FailedFunction");
    assert!(error.to_string().contains("different headers"), "{error}");
    // The control: batches are accepted if all batches have the same columns in the same order. Two
    // such orders are tried.
    assert!(open(vec![people(), people()]).is_ok() && open(vec![other.clone(), other]).is_ok());
}
#[test]
fn files_of_a_folder_with_different_headers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let people = folder.path().join("people");
    std::fs::create_dir(&people).unwrap();
    std::fs::write(people.join("a.csv"), "age,income,sex,employed\n1,1,f,true\n").unwrap();
    let metadata = METADATA.replace("PATH", "people").replace("unit", "format = \"csv\"\nunit");
    for (header, same) in [
        ("age,income,sex,employed\n2,1,m,true\n", true),
        ("age,income,sex,employed\n", true),
        ("", true),
        ("income,age,sex,employed\n1,2,m,true\n", false),
        ("2,1,m,true\n", false),
    ] {
        std::fs::write(people.join("b.csv"), header).unwrap();
        let path = folder.path().join("study.toml");
        std::fs::write(&path, &metadata).unwrap();
        match Session::open(&path) {
            Ok(_) => assert!(same, "{header}"),
            Err(error) => assert!(!same && error.to_string().contains("headers"), "{error}"),
        }
    }
}
#[test]
fn the_error_for_a_missing_column_shows_no_cell() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("people.csv"), "4711,7,f,HIV\n4712,8,m,none\n").unwrap();
    let path = folder.path().join("study.toml");
    std::fs::write(&path, METADATA.replace("PATH", "people.csv")).unwrap();
    let error = Session::open(&path).unwrap_err().to_string();
    assert!(error.contains("no column `age`"), "{error}");
    assert!(!error.contains("4711") && !error.contains("HIV"), "{error}");
}
#[test]
fn a_number_with_a_fraction_is_no_integer() {
    use crate::engine::Engine;
    use datafusion::arrow::array::{BooleanArray, Float64Array, RecordBatch, StringArray};
    use std::sync::Arc;
    let columns: [(&str, datafusion::arrow::array::ArrayRef); 4] = [
        ("age", Arc::new(Float64Array::from(vec![1.0, 1.2, 1.7, f64::NAN, f64::INFINITY, 2.0]))),
        ("income", Arc::new(Float64Array::from(vec![1.5; 6]))),
        ("sex", Arc::new(StringArray::from(vec!["f"; 6]))),
        ("employed", Arc::new(BooleanArray::from(vec![true; 6]))),
    ];
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let metadata = crate::Metadata::parse(METADATA).unwrap();
    let engine = crate::engine::DataFusion::new().unwrap();
    engine.register("people", &metadata.tables["people"], Source::Batches(vec![rows])).unwrap();
    let found = engine.run("SELECT COUNT(age), SUM(age) FROM people").unwrap();
    assert_eq!(found, [["2", "3"].map(|cell| Some(cell.to_owned()))]);
}
#[test]
fn a_fraction_is_no_integer_in_any_layout_of_a_column() {
    use crate::engine::Engine;
    use datafusion::arrow::array::{Array, Decimal128Array, DictionaryArray, Int32Array};
    use datafusion::arrow::datatypes::{Field, Schema};
    use datafusion::catalog::MemTable;
    let decimals = |cells: Vec<i128>, precision: u8, scale: i8| -> ArrayRef {
        let cells = Decimal128Array::from(cells);
        Arc::new(cells.with_precision_and_scale(precision, scale).unwrap())
    };
    let encoded = |values: ArrayRef| -> ArrayRef {
        Arc::new(DictionaryArray::new(Int32Array::from(vec![0, 1, 2, 3, 4]), values))
    };
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1.2, 1.7, 2.0, -3.0]));
    let cents = || decimals(vec![100, 120, 170, 200, -300], 5, 2);
    let described = Table::private(PrivacyUnit::rows(1)).with("age", Column::new(Type::Integer));
    let columns = [
        cents(),
        encoded(cents()),
        floats.clone(),
        encoded(floats),
        // The control: all numbers of this column are whole.
        decimals(vec![1, 2, -3], 5, 0),
    ];
    for (column, nullable) in columns.iter().flat_map(|column| [(column, true), (column, false)]) {
        let field = Field::new("age", column.data_type().clone(), nullable);
        let schema = Arc::new(Schema::new(vec![field]));
        let rows = RecordBatch::try_new(schema.clone(), vec![column.clone()]).unwrap();
        let table = MemTable::try_new(schema, vec![vec![rows]]).unwrap();
        let engine = crate::engine::DataFusion::new().unwrap();
        engine.register("people", &described, Source::Provider(Arc::new(table))).unwrap();
        let found = engine.run("SELECT COUNT(age), SUM(age) FROM people").unwrap();
        let expected = [["3", "0"].map(|cell| Some(cell.to_owned()))];
        assert_eq!(found, expected, "{} {nullable}", column.data_type());
    }
}
/// Open a session whose table has the path `path` and the format `format`. Return the text of the
/// error, or an empty text if there is no error.
fn refused(path: &str, format: &str, folder: &std::path::Path) -> String {
    let metadata = METADATA.replace("PATH", path);
    let metadata = metadata.replace("unit", &format!("format = \"{format}\"\nunit"));
    std::fs::write(folder.join("study.toml"), metadata).unwrap();
    Session::open(folder.join("study.toml"))
        .map_or_else(|error| error.to_string(), |_| String::new())
}
#[test]
fn files_of_a_folder_that_would_be_left_out_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "age,income,sex,employed\n1,1,f,true\n";
    let write = |name: &str| {
        let path = folder.path().join("people").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, rows).unwrap();
    };
    let open = || refused("people", "csv", folder.path());
    // The control: the engine leaves out the last three of these files, without an error.
    for name in ["b.csv", "_SUCCESS", ".b.csv.crc", "_old/a.csv"] {
        write(name);
    }
    assert_eq!(open(), "");
    // The engine would read each of the following files, although the name of the file or of its
    // folder begins with `_` or `.`. So the table is refused.
    for name in ["_c.csv", ".d.csv", "_sex=f/e.csv"] {
        write(name);
        let shown = name.split('/').next().unwrap();
        // The value of a folder `column=value` is a cell of the table, so no error shows it.
        let in_error = shown.replace("=f", "=.../");
        assert!(open().contains(&format!("`{in_error}` would be read")), "{}", open());
        let path = folder.path().join("people").join(shown);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
            .unwrap();
    }
    for name in ["c.CSV", "d.txt", "e.csv.gz", "older/f.csv"] {
        write(name);
        let error = open();
        let shown = name.split_inclusive('/').next().unwrap();
        assert!(error.contains(&format!("`{shown}`")) && error.contains("`.csv`"), "{error}");
        let path = folder.path().join("people").join(shown);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
            .unwrap();
    }
    for k in 0..8 {
        write(&format!("{k}.txt"));
    }
    assert!(open().contains("`4.txt` and 3 more would be left out"), "{}", open());
}
#[test]
fn files_of_folders_that_are_columns_are_checked_too() {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("people/sex=f");
    std::fs::create_dir_all(&part).unwrap();
    std::fs::write(part.join("rows.csv"), "age,income,employed\n1,1,true\n").unwrap();
    assert_eq!(refused("people", "csv", folder.path()), "");
    std::fs::write(part.join("more.CSV"), "age,income,employed\n1,1,true\n").unwrap();
    let error = refused("people", "csv", folder.path());
    assert!(error.contains("`more.CSV`"), "{error}");
    std::fs::remove_file(part.join("more.CSV")).unwrap();
    // The folder `sex=f` of `rows.csv` gives the column `sex`. The engine would leave out a file
    // whose folders do not give exactly this column.
    for path in ["people/all.csv", "people/employed=true/a.csv", "people/sex=m/year=1/b.csv"] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "age,income,employed\n1,1,true\n").unwrap();
        let error = refused("people", "csv", folder.path());
        assert!(error.contains("would be left out"), "{error}");
        std::fs::remove_file(path).unwrap();
    }
}
/// Return the text of the error for a table without a stated format.
fn refused_without_format(path: &str, folder: &std::path::Path) -> String {
    std::fs::write(folder.join("study.toml"), METADATA.replace("PATH", path)).unwrap();
    Session::open(folder.join("study.toml"))
        .map_or_else(|error| error.to_string(), |_| String::new())
}
#[test]
fn the_error_for_files_of_another_format_names_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let people = folder.path().join("people");
    std::fs::create_dir(&people).unwrap();
    // An empty folder has no file of any format.
    for format in ["csv", "parquet"] {
        let error = refused("people", format, folder.path());
        assert!(
            error.contains(&format!(
                "no file matches its path. Only files whose names end in `.{format}`"
            )),
            "{error}"
        );
    }
    std::fs::write(people.join("a.csv"), "age,income,sex,employed\n").unwrap();
    let error = refused_without_format("people", folder.path());
    assert!(error.contains("has `a.csv`, and no file whose name ends in `.parquet`"), "{error}");
    let advice =
        "The format of this table is `parquet`. If these are its files, state `format = \"csv\"`";
    assert!(error.contains(advice), "{error}");
    assert_eq!(refused("people", "csv", folder.path()), "");
    // If a folder also has other files, the error lists the files that would be left out. If the
    // path is a file without a known ending, the error states this.
    std::fs::write(people.join("b.csv.gz"), "").unwrap();
    let error = refused_without_format("people", folder.path());
    assert!(error.contains("`a.csv`, `b.csv.gz` would be left out"), "{error}");
    let error = refused_without_format("people/b.csv.gz", folder.path());
    assert!(error.contains("b.csv.gz` is compressed: unpack it"), "{error}");
    let error = refused_without_format("people/c.txt", folder.path());
    assert!(error.contains("ends in neither `.csv` nor `.parquet`"), "{error}");
}
#[test]
fn the_error_for_a_pattern_without_files_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["a", "b[1]"] {
        std::fs::create_dir(folder.path().join(part)).unwrap();
        let file = folder.path().join(part).join("people.csv");
        std::fs::write(file, "age,income,sex,employed\n").unwrap();
    }
    for (path, reason) in [
        ("*/people.csv", "wildcard in the name of a folder"),
        ("**/people.csv", "wildcard in the name of a folder"),
        ("a?/*.csv", "wildcard in the name of a folder"),
        ("c/*.csv", "c` does not exist"),
        ("a/x*.csv", "no file matches its path"),
        ("b[1]/x*.csv", "no file matches its path"),
        // The controls: patterns that match a file give no error.
        ("a/*.csv", ""),
        ("b[1]/p*.csv", ""),
    ] {
        let error = refused(path, "csv", folder.path());
        assert!(error.contains(reason) && error.is_empty() == reason.is_empty(), "{path}: {error}");
    }
}
#[test]
fn the_error_for_a_file_names_the_path_and_the_required_ending() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["csv", "parquet"] {
        let error = refused("nobody.csv", format, folder.path());
        assert!(error.contains("nobody.csv` does not exist"), "{error}");
        for name in ["people.txt", "people.CSV", "people.csv.gz"] {
            std::fs::write(folder.path().join(name), "age,income,sex,employed\n").unwrap();
            let error = refused(name, format, folder.path());
            assert!(error.contains(&format!("{name}` does not end in `.{format}`")), "{error}");
            let instead = if name.ends_with("gz") { "unpack the file" } else { "Rename the file" };
            assert!(error.contains(instead), "{error}");
        }
    }
    std::fs::write(folder.path().join("people.csv"), "age,income,sex,employed\n").unwrap();
    let error = refused("people.csv", "parquet", folder.path());
    assert!(error.contains("state `format = \"csv\"`"), "{error}");
    // The control: a file with the required ending is opened.
    std::fs::write(folder.path().join("people.csv"), "age,income,sex,employed\n").unwrap();
    assert_eq!(refused("people.csv", "csv", folder.path()), "");
}
