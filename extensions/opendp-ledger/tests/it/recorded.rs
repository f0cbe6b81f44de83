//! Journals of contexts: what a journal refuses, and the failures that it returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use opendp_analysis::Split;
use opendp_analysis::context::{Goal, Journal};
use opendp_ledger::{ContextJournal, Ledger, Loss, Request};

use crate::journal::{BUDGET, alone, count, kept, life};

#[test]
fn another_failure_than_a_taken_number_is_returned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    let context = kept(&path, alone(Split::evenly(10).unwrap())).unwrap();
    count(&context).unwrap();
    let entry = context.report().entries()[0].clone();
    // While the ledger decides, another process takes the number, and the clock runs backwards.
    let (other, took) = (path.clone(), AtomicBool::new(false));
    let ledger = Ledger::open(&path).unwrap().with_clock(move || {
        if took.swap(true, Ordering::SeqCst) {
            return SystemTime::now();
        }
        let request = Request::of_loss("question 2", Loss::epsilon("0.01").unwrap());
        Ledger::open(&other).unwrap().release(BUDGET, &request, || Ok(7)).unwrap();
        SystemTime::UNIX_EPOCH
    });
    let journal = ContextJournal::open(ledger, BUDGET).unwrap();
    let error = journal.record(&entry).unwrap_err().to_string();
    assert!(error.contains("the clock runs backwards"), "{error}");
    assert_eq!(Ledger::open(&path).unwrap().history(BUDGET).unwrap().len(), 2);
}
#[test]
fn an_entry_without_a_release_is_no_release_of_a_context() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    let context = life(&path);
    let ledger = Arc::new(Ledger::open(&path).unwrap());
    let journal = ContextJournal::open(ledger.clone(), BUDGET).unwrap();
    journal.record_plan(&[]).unwrap();
    assert_eq!(ledger.history(BUDGET).unwrap(), []);
    let request = Request::of_loss("week 1", Loss::epsilon("0.5").unwrap());
    ledger.release(BUDGET, &request, || Ok(Vec::<i64>::new())).unwrap();
    let error = kept(&path, alone(Split::as_you_go())).unwrap_err().to_string();
    assert!(error.contains("release `week 1`") && error.contains("use another budget"), "{error}");
    drop(context);
}
#[test]
fn a_journal_needs_a_budget_with_a_unit() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("study.ledger")).unwrap();
    ledger.create("bare", &Loss::epsilon("1").unwrap()).unwrap();
    let error = ContextJournal::open(ledger, "bare").unwrap_err();
    assert_eq!(error.kind(), "Argument");
    let error = error.to_string();
    let expected = "create a budget with a unit and a metric, such as unit 1";
    assert!(error.contains("states no unit") && error.contains(expected), "{error}");
}
#[test]
fn an_error_about_a_long_id_names_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let release = |id: &str| {
        let context = life(&folder.path().join("study.ledger"));
        let mut plan = context.plan().with_id(id);
        plan.ask(context.query().count(), Goal::Within(100.0)).unwrap();
        plan.solve().unwrap().release().map(|_| ())
    };
    let error = release(&"x".repeat(252)).unwrap_err().to_string();
    assert!(error.contains("argument `plan`: expected an id of at most 251 characters"), "{error}");
    release(&"x".repeat(251)).unwrap();
}
