//! Releases that are charged to several budgets.

use std::sync::atomic::{AtomicU32, Ordering};

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use opendp_ledger::{Failure, Ledger, Loss, Release, Request, Terms};
use tempfile::TempDir;

fn epsilon(text: &str) -> Loss {
    Loss::epsilon(text).unwrap()
}
fn asked(id: &str, loss: &str) -> Request {
    Request::of_loss(id, epsilon(loss)).also("all")
}
/// Check what is left of two budgets.
#[track_caller]
fn check_left(ledger: &Ledger, budgets: [(&str, &str); 2]) {
    for (name, left) in budgets {
        assert_eq!(ledger.remaining(name).unwrap(), epsilon(left), "{name}");
    }
}
/// Make the budgets `all`, `Ada` and `Bob`.
fn service() -> (TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("test.ledger")).unwrap();
    for (name, total) in [("all", "1"), ("Ada", "0.7"), ("Bob", "0.7")] {
        ledger.create(name, &epsilon(total)).unwrap();
    }
    (folder, ledger)
}

#[test]
fn a_release_is_charged_to_all_its_budgets_once() {
    let (_folder, ledger) = service();
    let first = ledger.release("Ada", &asked("Ada 1", "0.5"), || Ok(7)).unwrap();
    assert!(!first.repeated() && first.entry().budget == "Ada");
    check_left(&ledger, [("all", "0.5"), ("Ada", "0.2")]);
    let again = ledger.release("Ada", &asked("Ada 1", "0.5"), || Ok(8)).unwrap();
    assert!(again.repeated() && again.value::<i32>().unwrap() == 7);
    assert!(ledger.check_request("Ada", &asked("Ada 1", "0.5")).unwrap().is_some());
    check_left(&ledger, [("all", "0.5"), ("Ada", "0.2")]);
    assert_eq!(ledger.entry("all", "Ada 1").unwrap().unwrap().release, "7");
}
#[test]
fn if_one_budget_refuses_a_release_then_none_is_charged() {
    let (_folder, ledger) = service();
    let release = |who: &str, loss: &str| -> Result<Release> {
        ledger.release(who, &asked(&format!("{who} {loss}"), loss), || Ok(7))
    };
    // The budget of Ada has too little, and the budget of all has enough.
    let error = release("Ada", "0.8").unwrap_err();
    assert!(error.kind() == "BudgetExceeded" && error.to_string().contains("`Ada`"), "{error}");
    check_left(&ledger, [("all", "1"), ("Ada", "0.7")]);
    // The budget of all has too little, and the budget of Bob has enough.
    release("Ada", "0.6").unwrap();
    let error = release("Bob", "0.5").unwrap_err();
    assert!(error.kind() == "BudgetExceeded" && error.to_string().contains("`all`"), "{error}");
    check_left(&ledger, [("all", "0.4"), ("Bob", "0.7")]);
    assert_eq!(ledger.history("Bob").unwrap(), []);
}
#[test]
fn a_failure_that_is_charged_is_charged_to_all_budgets() {
    let (_folder, ledger) = service();
    let fails = || Err::<i32, _>(Failure::OfData(Error::Overflow("row 3".into())));
    let error = ledger.release_or_refuse("Ada", &asked("Ada 1", "0.5"), fails).unwrap_err();
    assert!(Failure::was_charged(&error));
    check_left(&ledger, [("all", "0.5"), ("Ada", "0.2")]);
}
/// After a crash between two lines, one budget has the release and another budget does not.
#[test]
fn a_budget_that_lacks_a_release_is_charged_for_the_release_that_another_keeps() {
    for charged in ["all", "Ada"] {
        let (_folder, ledger) = service();
        let alone = Request::of_loss("Ada 1", epsilon("0.5"));
        ledger.release(charged, &alone, || Ok(7)).unwrap();
        assert_eq!(ledger.check_request("Ada", &asked("Ada 1", "0.5")).unwrap(), None);
        let compute = || -> Result<i32> { panic!("a second release for one id") };
        let release = ledger.release("Ada", &asked("Ada 1", "0.5"), compute).unwrap();
        assert!(release.repeated() && release.value::<i32>().unwrap() == 7);
        check_left(&ledger, [("all", "0.5"), ("Ada", "0.2")]);
    }
}
#[test]
fn two_different_releases_are_not_merged() {
    let (_folder, ledger) = service();
    let alone = Request::of_loss("1", epsilon("0.1"));
    ledger.release("all", &alone, || Ok(7)).unwrap();
    ledger.release("Ada", &alone, || Ok(8)).unwrap();
    let error = ledger.release("Ada", &asked("1", "0.1"), || Ok(9)).unwrap_err();
    assert!(error.to_string().contains("different releases `1`: use another id"), "{error}");
}
#[test]
fn a_budget_is_named_once() {
    let (_folder, ledger) = service();
    for request in [asked("1", "0.1").also("Ada"), asked("1", "0.1").also("all")] {
        let error = ledger.release("Ada", &request, || Ok(7)).unwrap_err();
        assert!(error.to_string().contains("is named twice"), "{error}");
    }
    let missing = asked("1", "0.1").also("Eve");
    assert_eq!(ledger.release("Ada", &missing, || Ok(7)).unwrap_err().kind(), "NotFound");
    check_left(&ledger, [("all", "1"), ("Ada", "0.7")]);
}
#[test]
fn a_plan_that_replaces_the_filters_of_a_budget_is_charged_to_one_budget() {
    let (_folder, ledger) = service();
    let total = Loss::epsilon_delta("1", "1e-6").unwrap();
    for name in ["tight", "common"] {
        ledger.create_tight(name, &total, &Terms::new()).unwrap();
    }
    let [pure, delta] = ["0.5", "1e-7"].map(|amount| amount.parse::<Exact>().unwrap());
    let plan = Loss::together(vec![Loss::epsilon_delta("0.1", "0").unwrap(); 2]).unwrap();
    let plan = Request::of_loss("plan", plan.reserving(&total, &pure, &delta).unwrap());
    let error = ledger.release("tight", &plan.clone().also("common"), || Ok(7)).unwrap_err();
    assert!(error.to_string().contains("leave `also` out"), "{error}");
    assert!(!ledger.release("tight", &plan, || Ok(7)).unwrap().repeated());
}
#[test]
fn threads_never_spend_more_than_any_of_their_budgets() {
    let (_folder, ledger) = service();
    let made = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (ledger, made) = (&ledger, &made);
            let who = if thread % 2 == 0 { "Ada" } else { "Bob" };
            scope.spawn(move || {
                for question in 0..4 {
                    let request = asked(&format!("{thread} {question}"), "0.1");
                    match ledger.release(who, &request, || Ok(7)) {
                        Ok(_) => made.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert_eq!(error.kind(), "BudgetExceeded");
                            0
                        }
                    };
                }
            });
        }
    });
    assert_eq!(made.load(Ordering::Relaxed), 10);
    assert_eq!(ledger.remaining("all").unwrap().parts(), [Exact::ZERO]);
    let histories = ["Ada", "Bob"].map(|name| ledger.history(name).unwrap().len());
    assert!(histories.iter().sum::<usize>() == 10 && *histories.iter().max().unwrap() <= 7);
}
