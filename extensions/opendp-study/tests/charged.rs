//! Studies that are charged to a budget in a ledger.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests stop by panicking")]

use std::path::Path;

use opendp_core::{Error, Result};
use opendp_ledger::{Entry, Failure, Ledger, Loss, Request, Terms, Unit};
use opendp_study::{CellType, Cells, Charge, Charged, Study};
use serde_json::{Value as Json, json};

const ALPHA: f64 = 0.05;

fn document(budget: Json, unit: Json) -> Json {
    json!({
        "context": {
            "unit": unit,
            "budget": budget,
            "columns": {"age": {"T": "i64", "bounds": [0, 100], "missing": "drop"}},
        },
        "questions": [{"count": {}}, {"sum": {"column": "age"}}],
    })
}
fn person() -> Study {
    Study::parse(&document(json!({"epsilon": 1}), json!({"person": 1}))).unwrap()
}
fn ages(_: &str, _: CellType) -> Result<Cells, Failure> {
    Ok(Cells::Integer((0..300).map(|i| Some(i % 90)).collect()))
}
fn unread(_: &str, _: CellType) -> Result<Cells, Failure> {
    panic!("the data are read")
}
fn unit(metric: &str, unit: u32) -> Terms {
    Terms::new().with_unit(Unit::new(json!(metric), unit).unwrap())
}
/// A folder with a ledger, in which the budget `survey` has an epsilon of 3.
struct Desk(tempfile::TempDir);
impl Desk {
    fn new() -> Self {
        let desk = Desk(tempfile::tempdir().unwrap());
        desk.create("survey", &unit("symmetric_distance", 1));
        desk
    }
    fn create(&self, name: &str, terms: &Terms) {
        self.ledger().create_with(name, &Loss::epsilon("3").unwrap(), terms).unwrap();
    }
    /// Open the ledger, as a new process does.
    fn ledger(&self) -> Ledger {
        Ledger::open(self.0.path().join("study.ledger")).unwrap()
    }
    fn ask(
        &self,
        study: &Study,
        id: &str,
        read: impl FnMut(&str, CellType) -> Result<Cells, Failure>,
    ) -> Result<Charged> {
        study.ask_charged(&Charge::new(&self.ledger(), "survey", id).by("Ada"), read, ALPHA)
    }
    fn history(&self) -> Vec<Entry> {
        self.ledger().history("survey").unwrap()
    }
}

#[test]
fn an_id_has_the_same_answers_in_a_later_process_and_is_charged_once() {
    let desk = Desk::new();
    let first = desk.ask(&person(), "first", ages).unwrap();
    assert_eq!(first.remaining, Loss::epsilon("2").unwrap());
    assert_eq!((first.release.repeated(), first.outcome.answers().len()), (false, 2));
    let again = desk.ask(&person(), "first", unread).unwrap();
    assert_eq!(again.outcome.to_json(), first.outcome.to_json());
    assert_eq!((again.release.repeated(), again.remaining.clone()), (true, first.remaining));
    assert_eq!(again.charge_to_json()["charged"], json!({"epsilon": "1"}));
    let history = desk.history();
    assert_eq!((history.len(), history[0].by.as_str()), (1, "Ada"));
}
#[test]
fn the_text_of_a_request_is_the_text_of_earlier_versions() {
    let desk = Desk::new();
    let path = desk.0.path().join("ages");
    let study = document(json!({"epsilon": 1}), json!({"person": 1}));
    desk.ask(&person(), "memory", ages).unwrap();
    let ledger = desk.ledger();
    let charge = Charge::new(&ledger, "survey", "file").file(&path).unwrap();
    person().ask_charged(&charge.fact("separator", ";"), ages, ALPHA).unwrap();
    let history = desk.history();
    for (entry, source) in history.iter().zip([
        json!({"data": null}).to_string(),
        json!({"data": path.to_str().unwrap(), "separator": ";"}).to_string(),
    ]) {
        let pipeline = json!({"study": study, "alpha": 0.05}).to_string();
        let expected = (pipeline.as_str(), "1", source.as_str());
        assert_eq!((&*entry.pipeline, &*entry.d_in, &*entry.source), expected);
    }
}
#[test]
fn a_fact_does_not_replace_the_recorded_file() {
    let desk = Desk::new();
    let ledger = desk.ledger();
    // The file can be stated before the facts or after some of them.
    let charge = Charge::new(&ledger, "survey", "first").fact("fact data", 1);
    let charge = charge.file(Path::new("ages.csv")).unwrap();
    let charge = charge.fact("data", "other.csv").fact("digest", 2);
    person().ask_charged(&charge.fact("rows", 3), ages, ALPHA).unwrap();
    let source: Json = serde_json::from_str(&desk.history()[0].source).unwrap();
    let expected = json!({
        "data": "ages.csv", "fact data": "other.csv", "fact digest": 2, "fact fact data": 1,
        "rows": 3,
    });
    assert_eq!(source, expected);
}
#[test]
fn an_id_belongs_to_its_question_its_probability_and_its_table() {
    let desk = Desk::new();
    desk.ask(&person(), "first", ages).unwrap();
    let mut other = document(json!({"epsilon": 1}), json!({"person": 1}));
    other["questions"][0] = json!({"mean": {"column": "age"}});
    let error = desk.ask(&Study::parse(&other).unwrap(), "first", unread).unwrap_err();
    assert!(error.to_string().contains("another study: use another id"), "{error}");
    let ledger = desk.ledger();
    let charge = Charge::new(&ledger, "survey", "first");
    let error = person().ask_charged(&charge, unread, 0.1).unwrap_err().to_string();
    let expected = "with alpha 0.05: state this probability again (`--alpha 0.05`)";
    assert!(error.contains(expected), "{error}");
    let elsewhere = charge.file(Path::new("other.csv")).unwrap();
    let error = person().ask_charged(&elsewhere, unread, ALPHA).unwrap_err().to_string();
    assert!(error.contains("another data or column"), "{error}");
    // A number of rows that the program states is a part of the question.
    desk.create("answers", &unit("change_one_distance", 1));
    let study = document(json!({"epsilon": 1}), json!({"answers_of_person": 1}));
    let study = Study::parse(&study).unwrap();
    let charge = Charge::new(&ledger, "answers", "first");
    let stated = |rows: usize| study.clone().with_rows(rows).unwrap();
    stated(300).ask_charged(&charge, ages, ALPHA).unwrap();
    assert!(stated(299).ask_charged(&charge, unread, ALPHA).is_err());
    assert_eq!(ledger.account("answers").unwrap().releases, 1);
    assert_eq!(desk.history().len(), 1);
}
#[test]
fn a_failure_of_the_reader_is_charged_and_kept_unless_it_is_about_the_file() {
    let desk = Desk::new();
    let secret = || Failure::from(Error::argument("age", "the cell is 47"));
    let refused = desk.ask(&person(), "error", |_, _| Err(secret())).unwrap_err();
    assert!(Failure::was_charged(&refused));
    let refused = refused.to_string();
    assert!(refused.contains("no release is possible") && !refused.contains("47"), "{refused}");
    assert_eq!(desk.ask(&person(), "error", unread).unwrap_err().to_string(), refused);
    assert_eq!(desk.history().len(), 1);
    // A panic is charged, too, and so are cells of another type.
    for (id, read) in [
        ("panic", unread as fn(&str, CellType) -> Result<Cells, Failure>),
        ("type", |_, _| Ok(Cells::Float(vec![None]))),
    ] {
        let error = desk.ask(&person(), id, read).unwrap_err().to_string();
        assert_eq!(error, refused.replace("`error`", &format!("`{id}`")));
    }
    assert_eq!(desk.ledger().remaining("survey").unwrap(), Loss::epsilon("0").unwrap());
    // The control: an error about the file is returned to the caller, and is not charged.
    desk.create("other", &unit("symmetric_distance", 1));
    let ledger = desk.ledger();
    let of_file = || Failure::OfFile(Error::NotFound("no file `ages.csv`".into()));
    let charge = Charge::new(&ledger, "other", "first");
    let error = person().ask_charged(&charge, |_, _| Err(of_file()), ALPHA).unwrap_err();
    assert_eq!(error, of_file().told());
    assert!(!Failure::was_charged(&error));
    assert_eq!(ledger.account("other").unwrap().releases, 0);
    person().ask_charged(&charge, ages, ALPHA).unwrap();
}
#[test]
fn a_spent_budget_a_wrong_unit_and_a_wrong_question_are_refused_before_the_data_are_read() {
    let desk = Desk::new();
    let half = "1/2".to_owned();
    let request = Request::of_loss("earlier", Loss::epsilon("2.5").unwrap());
    desk.ledger().release("survey", &request, || Ok(half)).unwrap();
    assert_eq!(desk.ask(&person(), "first", unread).unwrap_err().kind(), "BudgetExceeded");
    let ledger = desk.ledger();
    let sized = unit("symmetric_distance", 2).with_size(500);
    for (name, terms, protects, reason) in [
        ("bare", Terms::new(), json!({"person": 1}), "states no unit"),
        ("two", unit("symmetric_distance", 2), json!({"person": 1}), "{\"person\": 2}"),
        ("rows", unit("symmetric_distance", 2), json!({"answers_of_person": 1}), "number of rows"),
        ("size", sized, json!({"answers_of_person": 1}), "the number of people in the budget is"),
    ] {
        desk.create(name, &terms);
        let study = Study::parse(&document(json!({"epsilon": 1}), protects)).unwrap();
        let public = study.unit().size_is_public();
        let study = if public { study.with_rows(300).unwrap() } else { study };
        let error = study.ask_charged(&Charge::new(&ledger, name, "first"), unread, ALPHA);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(reason), "{name}: {error}");
        assert_eq!(ledger.account(name).unwrap().releases, 0);
    }
    let charge = Charge::new(&ledger, "two", "first");
    assert!(person().ask_charged(&charge, unread, 2.0).unwrap_err().to_string().contains("alpha"));
    let charge = Charge::new(&ledger, "typo", "first");
    assert_eq!(person().ask_charged(&charge, unread, ALPHA).unwrap_err().kind(), "NotFound");
}
#[test]
fn a_budget_for_one_file_refuses_another_file_and_a_table_in_memory() {
    let desk = Desk::new();
    let path = desk.0.path().join("abc");
    std::fs::write(&path, "abc").unwrap();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    desk.create("file", &unit("symmetric_distance", 1).with_digest(abc).unwrap());
    let ledger = desk.ledger();
    let charge = || Charge::new(&ledger, "file", "first");
    let error = person().ask_charged(&charge(), unread, ALPHA).unwrap_err().to_string();
    assert!(error.contains("instead of a table in memory"), "{error}");
    let other = desk.0.path().join("study.ledger");
    let error = person().ask_charged(&charge().file(&other).unwrap(), unread, ALPHA).unwrap_err();
    assert!(error.to_string().contains("its SHA-256 differs"), "{error}");
    // A file that changes while it is read is no file of the budget.
    let of_file = charge().file(&path).unwrap();
    let changes = |name: &str, kind| {
        std::fs::write(&path, "abcd").unwrap();
        ages(name, kind)
    };
    assert!(person().ask_charged(&of_file, changes, ALPHA).is_err());
    assert_eq!(ledger.account("file").unwrap().releases, 0);
    std::fs::write(&path, "abc").unwrap();
    let charged = person().ask_charged(&of_file, ages, ALPHA).unwrap();
    assert!(charged.release.entry().source.contains(abc));
}

/// The environment variable that gives the folder of the ledger to the process that crashes.
const CRASHES: &str = "STUDY_CRASHES";

/// A process that ends while it reads the table. The next test starts this process.
#[test]
fn helper_that_crashes_in_the_reader() {
    let Ok(path) = std::env::var(CRASHES) else { return };
    let ledger = Ledger::open(path).unwrap();
    let charge = Charge::new(&ledger, "survey", "first");
    let _ = person().ask_charged(&charge, |_, _| std::process::abort(), ALPHA);
}
#[test]
fn a_process_that_ends_in_the_reader_has_released_nothing_and_the_id_is_free() {
    let desk = Desk::new();
    let crashed = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["helper_that_crashes_in_the_reader", "--exact"])
        .env(CRASHES, desk.0.path().join("study.ledger"))
        .output()
        .unwrap();
    assert!(!crashed.status.success(), "the process did not end in the reader");
    assert!(desk.history().is_empty());
    assert!(!desk.ask(&person(), "first", ages).unwrap().release.repeated());
    assert_eq!(desk.history().len(), 1);
}
#[test]
fn an_unstated_public_number_of_rows_is_found_in_the_table() {
    let desk = Desk::new();
    desk.create("answers", &unit("change_one_distance", 1));
    let study = document(json!({"epsilon": 1}), json!({"answers_of_person": 1}));
    let (study, ledger) = (Study::parse(&study).unwrap(), desk.ledger());
    let charge = Charge::new(&ledger, "answers", "first");
    let charged = study.ask_charged(&charge, ages, ALPHA).unwrap();
    assert_eq!(charged.outcome.answers()[0].cells.len(), 1);
    assert_eq!(charged.release.entry().d_in, "2");
}
#[test]
fn after_the_first_read_a_wrong_question_is_charged_like_cells_that_cannot_be_read() {
    // The number of rows is public, and the document does not state it.
    let study = |question: Json| {
        let mut json = document(json!({"epsilon": 1}), json!({"answers_of_person": 1}));
        json["questions"] = json!([question]);
        json["context"]["columns"]["age"]["missing"] = json!(0);
        Study::parse(&json).unwrap()
    };
    let desk = Desk::new();
    desk.create("answers", &unit("change_one_distance", 1));
    let ledger = desk.ledger();
    let ask = |study: &Study, id: &str, alpha: f64, read: &dyn Fn() -> Result<Cells, Failure>| {
        study.ask_charged(&Charge::new(&ledger, "answers", id), |_, _| read(), alpha)
    };
    let left = || ledger.remaining("answers").unwrap();
    let mean = study(json!({"mean": {"column": "age"}}));
    let sized = study(json!({"variance": {"column": "age"}}));
    let unread: &dyn Fn() -> Result<Cells, Failure> = &|| panic!("the data are read");
    // The questions are checked before the first read, so these errors are free.
    assert!(ask(&mean, "alpha", 2.0, unread).is_err());
    assert!(ask(&study(json!({"mean": {"column": "sex"}})), "column", ALPHA, unread).is_err());
    assert_eq!(left(), Loss::epsilon("3").unwrap());
    // A variance of one row is wrong. The error has the same text and the same charge as a cell
    // that cannot be read.
    let single = || Ok(Cells::Integer(vec![Some(31)]));
    let unreadable = || Err(Failure::OfData(Error::FailedFunction("unreadable".into())));
    let of_question = ask(&sized, "one", ALPHA, &single).unwrap_err().to_string();
    assert_eq!(left(), Loss::epsilon("2").unwrap());
    let of_cells = ask(&sized, "two", ALPHA, &unreadable).unwrap_err().to_string();
    assert_eq!(left(), Loss::epsilon("1").unwrap());
    assert_eq!(of_question.replace("one", "two"), of_cells);
    // The control: a variance of two rows is answered.
    assert!(ask(&sized, "three", ALPHA, &|| Ok(Cells::Integer(vec![Some(31), Some(40)]))).is_ok());
}
