//! Budgets that outlive the process.

use super::*;

fn durable(folder: &std::path::Path, epsilon: f64) -> opendp_core::Result<Session> {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    metadata.budget.epsilon = Some(epsilon);
    metadata.budget.ledger = Some(folder.join("budget.ledger").to_string_lossy().into_owned());
    metadata.budget.name = Some("survey".into());
    Session::new(metadata, vec![("people".into(), Source::Batches(vec![people()]))])
}
#[test]
fn a_budget_of_a_ledger_is_spent_once_for_each_id() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |session: &Session, id: &str| {
        let question = session.query("SELECT COUNT(*), AVG(age) FROM people GROUP BY sex").unwrap();
        question.spending(Budget::epsilon(0.4).unwrap()).id(id).by("Ada").release()
    };
    let first = ask(&durable(folder.path(), 1.0).unwrap(), "week 1").unwrap();
    // In another session on the same ledger, the same id gives the same release.
    let session = durable(folder.path(), 1.0).unwrap();
    let again = ask(&session, "week 1").unwrap();
    assert_eq!(first.values, again.values);
    let left = |session: &Session| session.remaining().unwrap().show(false);
    // The query makes three noisy sums. Each sum gets a third of the epsilon 0.4, and the thirds
    // are rounded.
    assert!(left(&session).starts_with("epsilon 0.6"), "{}", left(&session));
    ask(&session, "week 2").unwrap();
    let before = left(&session);
    assert!(before.starts_with("epsilon 0.2"), "{before}");
    assert_eq!(ask(&session, "week 3").unwrap_err().kind(), "BudgetExceeded");
    // The id of a release cannot be used for another question.
    let other = session.query("SELECT COUNT(*) FROM people").unwrap();
    let other = other.spending(Budget::epsilon(0.1).unwrap()).id("week 1").release();
    assert_eq!(other.unwrap_err().kind(), "Argument");
    assert_eq!(left(&session), before);
}
#[test]
fn a_question_without_an_id_is_a_new_release_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let session = durable(folder.path(), 1.0).unwrap();
    for left in ["epsilon 0.75", "epsilon 0.5"] {
        let question = session.query("SELECT COUNT(*) FROM people").unwrap();
        question.spending(Budget::epsilon(0.25).unwrap()).release().unwrap();
        assert_eq!(session.remaining().unwrap().show(false), left);
    }
}
#[test]
fn a_ledger_with_another_budget_of_the_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    durable(folder.path(), 1.0).unwrap();
    assert_eq!(durable(folder.path(), 2.0).unwrap_err().kind(), "Argument");
}
