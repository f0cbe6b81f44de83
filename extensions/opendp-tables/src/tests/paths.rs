//! Test paths of tables. An existing path is no pattern, even if its name contains `*`, `?` or `[`.

use std::path::{Path, PathBuf};

use datafusion::parquet::arrow::ArrowWriter;

use super::*;
use crate::DataFusion;
use crate::engine::Engine;

/// Write a file with `rows` rows. The format is the ending of the name.
fn write(path: &Path, rows: usize) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.extension().unwrap() == "csv" {
        return std::fs::write(path, format!("age\n{}", "1\n".repeat(rows))).unwrap();
    }
    let ages = Arc::new(Int64Array::from(vec![1; rows])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("age", ages)]).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}
/// Open a table. If `portable` is true, SQL statements compute the sums. Otherwise, the module
/// `direct` computes the sums.
fn opened(path: &Path, format: &str, portable: bool) -> opendp_core::Result<Session> {
    let engine = DataFusion::new()?;
    let engine = if portable { engine.portable() } else { engine };
    let text = path.to_str().unwrap().to_owned();
    let source = if format == "csv" { Source::Csv(text) } else { Source::Parquet(text) };
    let table = Table::private(PrivacyUnit::rows(1));
    let table = table.with("age", Column::new(Type::Integer).bounds(0.0, 9.0));
    let engine: Box<dyn Engine> = Box::new(engine);
    Session::on(metadata(table), vec![("people".into(), source)], engine)
}
/// Count the rows of a table twice: by the module `direct`, and by SQL statements.
fn counted(path: &Path, format: &str) -> [f64; 2] {
    [false, true].map(|portable| {
        let session = opened(path, format, portable).unwrap();
        numbers(&ask(&session, "SELECT COUNT(age) FROM people").table)[0][0]
    })
}
/// Write an absolute path as a path that is relative to the working folder.
fn relative(path: &Path) -> PathBuf {
    let up =
        std::env::current_dir().unwrap().ancestors().skip(1).map(|_| "..").collect::<PathBuf>();
    up.join(path.strip_prefix("/").unwrap())
}
/// Names of files. Each name is listed with other names. These names would be read by mistake if
/// the first name were read as a pattern, or were decoded as a URL.
const NAMES: [(&str, &[&str]); 6] = [
    ("a*b", &["ab", "axb"]),
    ("a?b", &["axb"]),
    ("a[12]", &["a1", "a2"]),
    ("[!x]", &["y"]),
    ("a[1", &["a1"]),
    ("50%5B #1", &["50[ #1"]),
];
#[test]
fn a_path_with_wildcards_that_exists_is_no_pattern() {
    for (name, others) in NAMES {
        for format in ["csv", "parquet"] {
            let folder = tempfile::tempdir().unwrap();
            let at_root = |name: &str| folder.path().join(format!("{name}.{format}"));
            let inside = |name: &str| folder.path().join(name).join(format!("rows.{format}"));
            let parted = |name: &str| {
                let part = folder.path().join("parts").join(name).join(format!("sex={name}"));
                part.join(format!("{name}.{format}"))
            };
            for place in [&at_root as &dyn Fn(&str) -> PathBuf, &inside, &parted] {
                write(&place(name), 2);
                others.iter().for_each(|other| write(&place(other), 5));
            }
            let table = folder.path().join(name);
            for path in [at_root(name), inside(name), table, folder.path().join("parts").join(name)]
            {
                assert_eq!(counted(&path, format), [2.0; 2], "{}", path.display());
                let path = relative(&path);
                assert_eq!(counted(&path, format), [2.0; 2], "{}", path.display());
            }
        }
    }
}
#[test]
fn a_pattern_in_a_folder_whose_name_contains_wildcards_matches_the_files_of_this_folder() {
    let folder = tempfile::tempdir().unwrap();
    for (name, others) in NAMES {
        write(&folder.path().join(name).join("a.csv"), 2);
        write(&folder.path().join(name).join("b.csv"), 3);
        others.iter().for_each(|other| write(&folder.path().join(other).join("a.csv"), 50));
        for (pattern, rows) in [("*.csv", 5.0), ("[a].csv", 2.0), ("?.csv", 5.0)] {
            let path = folder.path().join(name).join(pattern);
            assert_eq!(counted(&path, "csv"), [rows; 2], "{}", path.display());
        }
    }
}
#[test]
fn a_pattern_that_also_matches_folders_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["csv", "parquet"] {
        let path = |name: &str| folder.path().join(format).join(name);
        write(&path(&format!("p1.{format}")), 2);
        let refused = |pattern: &str, shown: &str| {
            for portable in [false, true] {
                let error = opened(&path(pattern), format, portable).unwrap_err().to_string();
                assert!(error.contains(&format!("also read files of `{shown}`")), "{error}");
            }
        };
        // The control of each case: a pattern that matches only the file is read.
        let ending = format!("p*.{format}");
        write(&path(&format!("people/x.{format}")), 5);
        refused("p*", "people/");
        assert_eq!(counted(&path(&ending), format), [2.0; 2]);
        write(&path(&format!("parts.{format}/x.{format}")), 5);
        refused(&ending, &format!("parts.{format}/"));
        assert_eq!(counted(&path(&format!("p?.{format}")), format), [2.0; 2]);
        // The pattern is also compared with the names in a folder such as `year=1`.
        write(&path(&format!("year=1/month=2/p12.{format}")), 5);
        refused(&format!("p??.{format}"), "year=.../");
        assert_eq!(counted(&path(&format!("p?.{format}")), format), [2.0; 2]);
    }
}
#[test]
fn a_url_is_read() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("people.csv"), 2);
    for name in ["people.csv", ""] {
        let url = format!("file://{}/{name}", folder.path().display());
        assert_eq!(counted(Path::new(&url), "csv"), [2.0; 2], "{url}");
    }
}
#[test]
fn a_url_in_metadata_does_not_depend_on_the_folder_of_the_metadata() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("people.csv"), 2);
    std::fs::create_dir(folder.path().join("study")).unwrap();
    let file = folder.path().join("study/study.toml");
    for place in [format!("file://{}", folder.path().display()), "..".into()] {
        let text = format!(
            "budget.epsilon = 1e13\n[tables.people]\npath = \"{place}/people.csv\"\n\
             unit = {{ rows = 1 }}\n[tables.people.columns]\nage = {{ type = \"integer\" }}\n"
        );
        std::fs::write(&file, text).unwrap();
        let answer = ask(&Session::open(&file).unwrap(), "SELECT COUNT(age) FROM people");
        assert_eq!(numbers(&answer.table), [[2.0]], "{place}");
    }
}
#[test]
fn a_url_of_a_file_is_checked_as_a_path_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let url = |name: &str| PathBuf::from(format!("file://{}/{name}", folder.path().display()));
    write(&path("a 1/p1.csv"), 2);
    write(&path("a 1/p22.csv"), 5);
    let refused = |name: &str, reason: &str| {
        let error = opened(&url(name), "csv", false).unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
    };
    // A `*` in a URL is a wildcard, as in a path. A `?` begins the query of a URL. Without the
    // error, the URL `a%201/?.csv` would name the whole folder.
    assert_eq!(counted(&url("a%201/p*.csv"), "csv"), [7.0; 2]);
    assert_eq!(counted(&url("a%201/p%3F.csv"), "csv"), [2.0; 2]);
    for name in ["a%201/?.csv", "a%201/p?.csv", "a%201/#x", "a%201/p1.csv?"] {
        refused(name, "a query or a fragment");
    }
    refused("missing.csv", "does not exist");
    let far = opened(Path::new("file://elsewhere/p1.csv"), "csv", false).unwrap_err();
    assert!(far.to_string().contains("names no local file"), "{far}");
    write(&path("a 1/_old.csv"), 9);
    refused("a%201/", "begin with `_` or `.`");
    // Folders such as `sex=f` are columns.
    write(&path("parts/sex=f/x.csv"), 3);
    assert_eq!(counted(&url("parts"), "csv"), [3.0; 2]);
    write(&path("parts/x.csv"), 4);
    refused("parts", "would be left out");
}
#[cfg(unix)]
#[test]
fn a_path_through_a_link_reads_the_folder_behind_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("far/people.csv"), 2);
    write(&path("people.csv"), 5);
    std::fs::create_dir(path("far/near")).unwrap();
    std::os::unix::fs::symlink(path("far/near"), path("link")).unwrap();
    assert_eq!(counted(&path("link/../people.csv"), "csv"), [2.0; 2]);
    assert_eq!(counted(&path("people.csv"), "csv"), [5.0; 2], "the control: no link");
    // A link can have another ending than its file.
    std::fs::write(path("rows.txt"), "age\n1\n").unwrap();
    std::os::unix::fs::symlink(path("rows.txt"), path("rows.csv")).unwrap();
    assert_eq!(counted(&path("rows.csv"), "csv"), [1.0; 2]);
}
