//! Test budgets with tight composition.

use opendp_ledger::{Loss, Request};

use super::*;
use crate::budget::{Account, Composition};

fn tight(epsilon: f64, delta: f64) -> Metadata {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    (metadata.budget.epsilon, metadata.budget.delta) = (Some(epsilon), Some(delta));
    metadata.budget.composition = Some("tight".into());
    metadata
}
fn open(metadata: Metadata) -> opendp_core::Result<Session> {
    Session::new(metadata, vec![("people".into(), Source::Batches(vec![people()]))])
}
/// Count how many releases with the loss `loss` an account admits, up to 2000.
fn admitted(account: &Account, loss: &Loss) -> usize {
    let release = |number: &usize| {
        let request = Request::of_loss(&number.to_string(), loss.clone());
        account.release(&request, || Ok(()), || Ok(String::new())).is_ok()
    };
    (0..2000).take_while(release).count()
}
#[test]
fn many_small_releases_cost_less_than_their_sum() {
    let budget = Budget::epsilon_delta(1.0, 1e-6).unwrap();
    let small = Loss::epsilon_delta("0.004", "0").unwrap();
    let count = |composition| admitted(&Account::memory(&budget, composition).unwrap(), &small);
    assert_eq!(count(Composition::Sum), 250);
    assert!(count(Composition::Tight) > 500, "{}", count(Composition::Tight));
    // Tight composition does not increase the loss of a single release. So a release that spends
    // the whole epsilon is admitted.
    let whole = Loss::epsilon_delta("1", "0").unwrap();
    let account = Account::memory(&budget, Composition::Tight).unwrap();
    assert_eq!(admitted(&account, &whole), 1);
}
#[test]
fn the_losses_of_a_query_are_charged_together_or_not_at_all() {
    let budget = Budget::epsilon_delta(1.0, 1e-6).unwrap();
    let account = Account::memory(&budget, Composition::Tight).unwrap();
    let part = |epsilon: &str| Loss::epsilon_delta(epsilon, "0").unwrap();
    let both = Loss::together(vec![part("0.4"), part("0.7")]).unwrap();
    assert_eq!(admitted(&account, &both), 0);
    assert_eq!(admitted(&account, &part("1")), 1, "the refused losses were not charged");
}
#[test]
fn a_query_of_many_gets_a_larger_share() {
    let cost = |composition: &str| {
        let mut metadata = tight(1.0, 1e-6);
        metadata.queries = Some(1000);
        metadata.budget.composition = Some(composition.into());
        let session = open(metadata).unwrap();
        let question = session.query("SELECT COUNT(*), SUM(age) FROM people").unwrap();
        question.explain().unwrap().loss.parts()[0].to_f64_up()
    };
    let (sum, tight) = (cost("sum"), cost("tight"));
    assert!((sum - 0.001).abs() < 1e-5, "{sum}");
    assert!(tight > 2.0 * sum, "{tight}");
}
#[test]
fn all_queries_of_a_tight_budget_are_answered_and_no_more() {
    for sql in [
        "SELECT COUNT(*), SUM(age) FROM people",
        "SELECT town, COUNT(*), SUM(age) FROM people GROUP BY town",
    ] {
        let mut metadata = tight(1.0, 1e-6);
        metadata.queries = Some(8);
        let session = open(metadata).unwrap();
        for number in 0..8 {
            let answer = session.query(sql).unwrap().release();
            assert!(answer.is_ok(), "{number}: {:?}", answer.err());
        }
        // Each share is rounded down. So a small part of the budget can remain. This part is enough
        // for at most two more queries.
        let more = (0..8).take_while(|_| session.query(sql).unwrap().release().is_ok()).count();
        assert!(more < 3, "{more}");
    }
}
#[test]
fn a_ledger_keeps_how_a_budget_composes() {
    let folder = tempfile::tempdir().unwrap();
    let opened = |composition: &str| {
        let mut metadata = tight(1.0, 1e-6);
        metadata.budget.composition = Some(composition.into());
        let path = folder.path().join("budget.ledger").to_string_lossy().into_owned();
        (metadata.budget.ledger, metadata.budget.name) =
            (Some(path.clone()), Some("survey".into()));
        if !std::path::Path::new(&path).exists() {
            metadata.create_budget().unwrap();
        }
        open(metadata)
    };
    let ask = |session: &Session, id: &str| {
        let question = session.query("SELECT COUNT(*), SUM(age) FROM people").unwrap();
        question.spending(Budget::epsilon(0.01).unwrap()).id(id).release().unwrap().values
    };
    let session = opened("tight").unwrap();
    let first = ask(&session, "1");
    assert_eq!(ask(&session, "1"), first, "a repeated id gives the first release");
    drop(session);
    let session = opened("tight").unwrap();
    assert_eq!(ask(&session, "1"), first, "a later session gives the first release, too");
    let error = opened("sum").unwrap_err();
    assert!(error.to_string().contains("composition"), "{error}");
}
#[test]
fn what_cannot_compose_tightly_is_refused() {
    let mut metadata = tight(1.0, 1e-6);
    metadata.budget.delta = None;
    assert_eq!(open(metadata).unwrap_err().kind(), "Argument");
    let mut metadata = tight(1.0, 1e-6);
    metadata.budget.composition = Some("tihgt".into());
    assert!(open(metadata).unwrap_err().to_string().contains("tihgt"));
}
/// If losses compose tightly, the budget minus the remaining budget is not a loss of the earlier
/// questions. So the page must not show it as spent.
#[test]
fn the_page_does_not_subtract_the_rest_of_a_tight_budget() {
    let page = |composition: &str| {
        let mut metadata = tight(1.0, 1e-6);
        metadata.queries = Some(10);
        metadata.budget.composition = Some(composition.into());
        let session = open(metadata).unwrap();
        session.query("SELECT COUNT(*) FROM people").unwrap().release().unwrap().to_html()
    };
    let (sum, tight) = (page("sum"), page("tight"));
    assert!(sum.contains("of 1 spent") && !sum.contains("left for one more question"));
    assert!(!tight.contains(" spent") && tight.contains("left for one more question"));
}
