//! Test the headers of CSV files. If a file cannot be opened, nothing is charged. So whether a file
//! can be opened must depend only on its header.

use super::*;

/// Write a file into a folder, and open it as a table with the column `age`.
fn opened_in(folder: &std::path::Path, bytes: &[u8]) -> opendp_core::Result<Session> {
    let path = folder.join("people.csv");
    std::fs::write(&path, bytes).unwrap();
    let table = Table::private(PrivacyUnit::rows(1));
    let table = table.with("age", Column::new(Type::Integer).bounds(0.0, 9.0));
    let source = Source::Csv(path.to_string_lossy().into_owned());
    Session::new(metadata(table), vec![("people".into(), source)])
}
fn opened(bytes: &[u8]) -> opendp_core::Result<()> {
    opened_in(tempfile::tempdir().unwrap().path(), bytes).map(|_| ())
}
/// Count the ages of a file.
fn counted(bytes: &[u8]) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let session = opened_in(folder.path(), bytes).unwrap();
    numbers(&ask(&session, "SELECT COUNT(age) FROM people").table)[0][0]
}
/// Return the text of the error for a file that cannot be opened.
fn refused(bytes: &[u8]) -> String {
    let error = opened(bytes).unwrap_err().to_string();
    assert!(!error.contains("secret"), "{error}");
    error
}
#[test]
fn a_last_record_never_prevents_a_file_from_being_opened() {
    for last in [
        r#"2,"\home""#,
        r#"2,"a"b"#,
        r#"2,\""#,
        "2,\"not closed",
        "2,\"",
        "2",
        "2,3,4",
        "\"",
        "\\",
        "2,\\",
        "",
        "\r",
    ] {
        for end in ["", "\n", "\r\n"] {
            let text = format!("age,note\n1,x\n{last}{end}");
            assert!(opened(text.as_bytes()).is_ok(), "{text:?}");
        }
        let long = format!("age,note\n{}{last}", "1,xxxxxxxxxxxx\n".repeat(2000));
        assert!(opened(long.as_bytes()).is_ok(), "{last:?}");
    }
    assert!(opened(b"age,note\n1,\xff").is_ok());
    assert_eq!(counted(b"age,note\n1,x\n2,\"\\home\""), 2.0);
}
#[test]
fn every_form_of_a_header_is_read() {
    for header in [
        "age,note\n",
        "note,age\r\n",
        "\u{feff}age,note\n",
        "\u{feff}\"age\",note\r\n",
        "\n\nage,note\n",
        "\"age\",\"a \"\"note\"\"\"\n",
        "\"age\",\"a note\nof two lines, with a comma\"\n",
        "age,\\\n",
        "age,\n",
        "age,note\r",
    ] {
        assert_eq!(counted(format!("{header}1,2\n3,4\n").as_bytes()), 2.0, "{header:?}");
        assert_eq!(counted(header.as_bytes()), 0.0, "{header:?}");
        assert_eq!(counted(header.trim_end().as_bytes()), 0.0, "{header:?}");
    }
    // A file is read in chunks. Try headers that end near the end of the first chunk, and a header
    // that is longer than a chunk.
    for length in [8180, 8186, 8187, 8188, 8189, 8190, 8191, 8192, 100_000] {
        let header = format!("age,{}", "a".repeat(length));
        assert_eq!(counted(format!("{header}\n1,2\n").as_bytes()), 1.0, "{length}");
        assert_eq!(counted(header.as_bytes()), 0.0, "{length}");
    }
}
#[test]
fn a_header_that_cannot_be_read_is_an_error_with_its_reason() {
    for empty in [&b""[..], b"\n\n"] {
        let error = refused(empty);
        assert!(error.contains("no column `age`") && error.contains("it is empty"), "{error}");
    }
    for (header, marks) in [("age;secret", "semicolons"), ("secret\tage", "tabs")] {
        let error = refused(format!("{header}\n1;2\n").as_bytes());
        let cause = format!("its header has {marks} and no commas");
        assert!(error.contains("no column `age`") && error.contains(&cause), "{error}");
    }
    assert!(!refused(b"secret;a,secret\n1,2\n").contains("semicolons"), "the header has commas");
    assert!(refused(b"name\nsecret\n").contains("no column `age`"));
    let cause = "it probably has no header; write the names of the columns in the first line";
    assert!(refused(b"12,secret\n13,secret\n").contains(cause));
    assert!(refused(b"age,secret,secret\n1,2,3\n").contains("two columns of the same name"));
    assert!(refused(b"age,secret\xff\n1,2\n").contains("not UTF-8"));
    assert!(refused(&[0x1f, 0x8b, 8, 0, 0xff, 0xfe]).contains("do not compress it"));
    let open = format!("age,\"secret\n{}", "1,secret\n".repeat(200_000));
    assert!(refused(open.as_bytes()).contains("close each quote"));
}
#[test]
fn a_header_that_is_the_first_line_of_records_is_checked_in_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let open = |texts: &[&str]| {
        for (k, text) in texts.iter().enumerate() {
            std::fs::write(folder.path().join(format!("{k}.csv")), text).unwrap();
        }
        let table = Table::private(PrivacyUnit::rows(1));
        let table = table.with("age", Column::new(Type::Integer).bounds(0.0, 9.0));
        let source = Source::Csv(folder.path().to_string_lossy().into_owned());
        let session = Session::new(metadata(table), vec![("people".into(), source)]);
        session.map_err(|error| error.to_string())
    };
    let same = ["age,note\n1,\"", "", "\"age\",note\r\n1,\"\\\"", "age,note"];
    assert!(open(&same).is_ok());
    let error = open(&["age,note\n", "", "", "note,age\n"]).unwrap_err();
    assert!(error.contains("different headers"), "{error}");
}
/// Without an error, the engine would read a missing column as nulls, and drop rows without an id.
#[test]
fn a_file_of_a_folder_without_a_described_column_is_refused() {
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::parquet::arrow::ArrowWriter;
    let folder = tempfile::tempdir().unwrap();
    let write = |place: &str, names: &[&str], nullable: bool| {
        let field = |name: &&str| Field::new(*name, DataType::Int64, nullable);
        let schema = Arc::new(Schema::new(names.iter().map(field).collect::<Vec<_>>()));
        let cells = names.iter().map(|_| Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef);
        let batch = RecordBatch::try_new(schema.clone(), cells.collect()).unwrap();
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = std::fs::File::create(path).unwrap();
        let mut writer = ArrowWriter::try_new(file, schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    let open = |place: &str| {
        let table = Table::private(PrivacyUnit::id("pid", 4));
        let table = table.with("pid", Column::new(Type::Integer));
        let table = table.with("age", Column::new(Type::Integer).bounds(0.0, 9.0));
        let source = Source::Parquet(folder.path().join(place).to_string_lossy().into_owned());
        let session = Session::new(metadata(table), vec![("people".into(), source)]);
        session.map_err(|error| error.to_string())
    };
    for (place, part) in [("plain", ""), ("parts", "pid=1/")] {
        let pid: &[&str] = if part.is_empty() { &["pid"] } else { &[] };
        let age = |name: &'static str| [pid, &[name]].concat();
        write(&format!("{place}/{part}a.parquet"), &age("age"), false);
        write(&format!("{place}/{part}b.parquet"), &age("Age"), true);
        let error = open(place).unwrap_err();
        assert!(error.contains("one of its files has no column `age`"), "{error}");
        // A file may have its columns in another order, and may have a column that the metadata do
        // not describe. The schema of one file allows nulls in its columns, and the schema of the
        // other file does not.
        let other = [&["more", "age"], pid].concat();
        write(&format!("{place}/{part}b.parquet"), &other, true);
        let answer = ask(&open(place).unwrap(), "SELECT COUNT(age) FROM people");
        assert_eq!(numbers(&answer.table), [[4.0]], "{place}");
    }
    // pandas writes a column of integers with a missing cell as floats.
    let ages: [(&str, ArrayRef); 2] = [
        ("pid", Arc::new(Int64Array::from(vec![5, 6]))),
        ("age", Arc::new(Float64Array::from(vec![Some(1.0), None]))),
    ];
    let batch = RecordBatch::try_from_iter(ages).unwrap();
    let file = std::fs::File::create(folder.path().join("plain/b.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let error = open("plain").unwrap_err();
    assert!(error.contains("different types"), "{error}");
    write("plain/b.parquet", &["PID", "age"], true);
    let error = open("plain").unwrap_err();
    assert!(error.contains("one of its files has no column `pid`"), "{error}");
}
/// If two columns had the same name, the engine would read only one of them, without an error.
#[test]
fn a_parquet_file_with_two_columns_of_the_same_name_is_refused() {
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::parquet::arrow::ArrowWriter;
    let folder = tempfile::tempdir().unwrap();
    let open = |second: &str| {
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        let schema = Arc::new(Schema::new(vec![field("age"), field(second)]));
        let ages = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
        let batch = RecordBatch::try_new(schema.clone(), vec![ages.clone(), ages]).unwrap();
        let path = folder.path().join("people.parquet");
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let table = Table::private(PrivacyUnit::rows(1));
        let table = table.with("age", Column::new(Type::Integer).bounds(0.0, 9.0));
        let source = Source::Parquet(path.to_string_lossy().into_owned());
        let session = Session::new(metadata(table), vec![("people".into(), source)]);
        session.map(|_| ()).map_err(|error| error.to_string())
    };
    assert!(open("age").unwrap_err().contains("two columns of the same name"));
    assert_eq!(open("Age"), Ok(()));
}
