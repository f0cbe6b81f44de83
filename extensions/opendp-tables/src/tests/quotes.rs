//! Test quotes of CSV files. A quoted cell that is not closed would contain the rows of other
//! people.

use super::*;
use crate::DataFusion;
use crate::engine::Engine;

/// Write files into a folder, and count the rows and the notes of all files. `portable` states
/// whether SQL statements compute the counts.
fn counted(files: &[String], portable: bool) -> opendp_core::Result<Vec<f64>> {
    let folder = tempfile::tempdir().unwrap();
    for (k, text) in files.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{k}.csv")), text).unwrap();
    }
    counts(&opened(folder.path(), portable))
}
/// Open a session on the files of a folder.
fn opened(folder: &std::path::Path, portable: bool) -> Session {
    let table = Table::private(PrivacyUnit::id("pid", 1));
    let table = table.with("pid", Column::new(Type::Integer));
    let table = table.with("note", Column::new(Type::Text));
    let engine = DataFusion::new().unwrap();
    let engine = if portable { engine.portable() } else { engine };
    let engine: Box<dyn Engine> = Box::new(engine);
    let source = Source::Csv(folder.to_string_lossy().into_owned());
    Session::on(metadata(table), vec![("people".into(), source)], engine).unwrap()
}
fn counts(session: &Session) -> opendp_core::Result<Vec<f64>> {
    let question = session.query("SELECT COUNT(*), COUNT(note) FROM people").unwrap();
    Ok(numbers(&question.spending(plenty()).release()?.table).remove(0))
}
/// Write a file that begins with some records and continues with 100 records.
fn file(first: &str, from: usize) -> String {
    let rows: String = (from..from + 100).map(|pid| format!("{pid},30,plain\n")).collect();
    format!("pid,age,note\n{first}{rows}")
}
#[test]
fn a_quoted_cell_that_is_not_closed_is_an_error_that_is_charged() {
    for first in ["1,10,\"5\\\"\"\n", "1,10,\"5\n", "1,10,\"5\" \n"] {
        for files in [vec![file(first, 2)], vec![file("", 102), file(first, 2), file("", 202)]] {
            for portable in [false, true] {
                let error = counted(&files, portable).unwrap_err().to_string();
                assert!(error.contains("The budget is charged"), "{first}: {error}");
            }
        }
    }
}
/// The engine does not remember the files of a folder: it reads and checks the files that exist
/// when a question is asked.
#[test]
fn files_that_are_added_or_grow_after_the_table_was_opened_are_checked() {
    for portable in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("0.csv", &file("", 2));
        let session = opened(folder.path(), portable);
        let count = || counts(&session);
        write("1.csv", &file("", 102));
        assert_eq!(count().unwrap(), [200.0; 2]);
        write("0.csv", &format!("{}500,30,\"a\nb\"\n", file("", 2)));
        assert_eq!(count().unwrap(), [201.0; 2]);
        write("2.csv", &file("1,10,\"5\\\"\"\n", 202));
        let error = count().unwrap_err().to_string();
        assert!(error.contains("The budget is charged"), "{error}");
        write("2.csv", &file("", 202));
        assert_eq!(count().unwrap(), [301.0; 2]);
        write("0.csv", &format!("{}500,30,\"a\" b\n", file("", 2)));
        assert!(count().unwrap_err().to_string().contains("The budget is charged"));
    }
}
#[test]
fn every_cell_with_correct_quotes_is_read() {
    let long = format!("1,10,\"{}\"\n", "a\"\",\n".repeat(600_000));
    for first in [
        "1,10,\"5\"\"\"\n",
        "1,10,\"a\n2,10,b\"\r\n",
        "\"1\",\"10\",\"\"\"a\"\", b\"\n",
        "1,10,5\" and 6\"\n",
        "1,10,\"5\\\"\n",
        long.as_str(),
    ] {
        for portable in [false, true] {
            let files = [file(first, 2), String::new(), format!("\u{feff}{}", file("", 102))];
            let shown = &first[..first.len().min(40)];
            assert_eq!(counted(&files, portable).unwrap(), [201.0; 2], "{shown}");
        }
    }
}
