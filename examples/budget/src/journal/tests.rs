//! Tests of the journal: restarts and crashes.

use opendp_analysis::Context;
use opendp_analysis::context::Goal;

use super::*;
use crate::{survey, workers};

#[test]
fn a_budget_that_was_spent_stays_spent_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    let table = workers::generate(2_000, 1).unwrap();
    let life = || survey::open_with(table.clone(), 1.0, 1e-6, Kept::open(&path, 1.0, 1e-6)?);
    let first = life().unwrap();
    survey::ask(&first).unwrap();
    let spent = first.report().exact_total().to_vec();
    let second = life().unwrap();
    assert_eq!(second.report().entries().len(), survey::QUESTIONS);
    assert_eq!(second.report().exact_total(), spent);
    assert_eq!(second.report().to_json(), first.report().to_json());
    assert_eq!(survey::ask(&second).unwrap_err().kind(), "BudgetExceeded");
    assert_eq!(Kept::open(&path, 2.0, 1e-6).unwrap_err().kind(), "Argument");
}
#[test]
fn a_plan_is_charged_once_in_one_entry_and_not_drawn_again_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    let table = workers::generate(2_000, 1).unwrap();
    let life = || survey::open_with(table.clone(), 1.0, 1e-6, Kept::open(&path, 1.0, 1e-6)?);
    let release = |id: &str| {
        let context = life().unwrap();
        let mut plan = context.plan().with_id(id);
        let goal = Goal::Within(100.0);
        let people = plan.ask(context.query().count(), goal).unwrap();
        let sectors = context.query().column::<String>("sector").count_by();
        plan.ask(sectors, goal).unwrap();
        let ages = context.query().column("age").impute(0.0);
        let ages = ages.median((0..=110).map(f64::from).collect());
        plan.ask(ages, Goal::Within(300.0)).unwrap();
        let answers = plan.solve().unwrap().release();
        let answer = answers.and_then(|mut answers| answers.take(people));
        (answer.map(|people| people.value), context.report().exact_total().to_vec())
    };
    let (answer, spent) = release("May");
    answer.unwrap();
    let ledger = Ledger::open(&path).unwrap();
    let history = ledger.history(BUDGET).unwrap();
    assert_eq!((history.len(), history[0].loss.members().len()), (1, 3));
    assert_eq!(history[0].id, "plan May");
    // A later process continues with the same account, and does not answer the plan again.
    let second = life().unwrap();
    assert_eq!(second.report().exact_total(), spent);
    assert_eq!(second.report().entries().len(), 3);
    assert_eq!(ledger.account(BUDGET).unwrap().loss().parts(), spent);
    let (refused, same) = release("May");
    assert!(refused.unwrap_err().to_string().contains("`May` was charged before"));
    assert_eq!(same, spent);
    // One process opens the ledger before another process charges the plan. The process that opened
    // the ledger early does not answer the plan again either.
    let early = life().unwrap();
    release("June").0.unwrap();
    let mut late = early.plan().with_id("June");
    late.ask(early.query().count(), Goal::Within(100.0)).unwrap();
    assert_eq!(late.solve().unwrap().release().unwrap_err().kind(), "Argument");
    assert_eq!(ledger.history(BUDGET).unwrap().len(), 2);
}
#[test]
fn a_question_whose_number_another_process_took_gets_the_next_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    let kept = Kept::open(&path, 1.0, 1e-6).unwrap();
    let table = workers::generate(100, 1).unwrap();
    let context = survey::open_with(table, 1.0, 1e-6, Kept::open(&path, 1.0, 1e-6).unwrap());
    let context = context.unwrap();
    context.query().count().laplace().unwrap().release().unwrap();
    let entry = context.report().entries()[0].clone();
    // The next question gets the number 4. The loss of this question is equal to the loss of the
    // release with the number 4, and not to the loss of the release with the number 5.
    let ledger = Ledger::open(&path).unwrap();
    let same = loss_of(&entry).unwrap();
    let twice = Loss::together(vec![same.clone(), same.clone()]).unwrap();
    for (id, loss) in [("question 4", same.clone()), ("question 5", twice)] {
        ledger.release(BUDGET, &Request::of_loss(id, loss), || Ok(7)).unwrap();
    }
    kept.record(&entry).unwrap();
    let history = ledger.history(BUDGET).unwrap();
    let ids: Vec<&str> = history.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["question 1", "question 4", "question 5", "question 6"]);
    assert_eq!(history[3].release, history[0].release);
    // The control: a refusal with another cause is returned.
    let large = Entry { loss: vec!["0.9".parse().unwrap(), Exact::ZERO], ..entry };
    assert_eq!(kept.record(&large).unwrap_err().kind(), "BudgetExceeded");
    assert_eq!(ledger.history(BUDGET).unwrap().len(), 4);
}

/// The environment variable that gives the path of the ledger to the process that crashes.
const CRASHES: &str = "BUDGET_CRASHES";

/// Release a plan of 101 counts. If `keys` is true, the plan also asks for keys. All goals are
/// `Goal::Weight`. So a plan without keys divides the whole budget among its questions. A plan with
/// keys leaves a small part of the budget. If `crashes` is true, the process ends while the last
/// answer is computed.
fn release_all(context: &Context<survey::Loss>, keys: bool, crashes: bool) -> Result<usize> {
    let (mut plan, goal) = (context.plan().with_id("May"), Goal::Weight(1.0));
    for _ in 0..100 {
        plan.ask(context.query().count(), goal)?;
    }
    if keys {
        plan.ask(context.query().column::<String>("sector").count_by(), goal)?;
    }
    let last = context.query().filter("sex", move |sex: &i64| {
        if crashes {
            std::process::abort();
        }
        *sex == 1
    });
    plan.ask(last.count(), goal)?;
    plan.solve()?.release()?;
    Ok(context.report().entries().len())
}
fn life(path: &Path) -> Context<survey::Loss> {
    let table = workers::generate(2_000, 1).unwrap();
    survey::open_planned(table, 1.0, 1e-6, Kept::open(path, 1.0, 1e-6).unwrap()).unwrap()
}
/// A process that ends before its plan is finished. The next test starts this process.
#[test]
fn helper_that_crashes_within_a_plan() {
    let Ok(path) = std::env::var(CRASHES) else { return };
    let keys = path.ends_with("keys.ledger");
    release_all(&life(Path::new(&path)), keys, true).unwrap();
}
#[test]
fn a_crash_between_the_reserve_and_the_last_answer_leaves_the_charge_and_draws_nothing_again() {
    let folder = tempfile::tempdir().unwrap();
    for (name, releases) in [("keys.ledger", 102), ("counts.ledger", 101)] {
        let path = folder.path().join(name);
        let helper = "journal::tests::helper_that_crashes_within_a_plan";
        let crashed = std::process::Command::new(std::env::current_exe().unwrap())
            .args([helper, "--exact"])
            .env(CRASHES, &path)
            .output()
            .unwrap();
        assert!(!crashed.status.success(), "the process did not end within the plan");
        // The whole plan is charged, in one entry.
        let ledger = Ledger::open(&path).unwrap();
        let history = ledger.history(BUDGET).unwrap();
        assert_eq!((history.len(), history[0].loss.members().len()), (1, releases));
        let spent = ledger.account(BUDGET).unwrap().loss();
        assert!("0.99".parse::<Exact>().unwrap() < spent.parts()[0], "{spent}");
        // The next process continues the same account, and does not answer again.
        let second = life(&path);
        let entries = second.report().entries().to_vec();
        assert_eq!(entries.len(), releases);
        let (reserved, shares) = (&entries[0].reserved, &entries[0].shares);
        assert_eq!(
            (reserved.is_some(), shares.is_some()),
            (name == "keys.ledger", reserved.is_none())
        );
        // If the plan has keys, a little of the budget is left, so the error is about the id of the
        // plan. Otherwise, nothing is left of the budget, so the error is about the budget.
        let kind = if reserved.is_some() { "Argument" } else { "BudgetExceeded" };
        let refused = release_all(&second, reserved.is_some(), false).unwrap_err();
        assert_eq!(refused.kind(), kind, "{refused}");
        let mut plan = second.plan().with_id("May");
        plan.ask(second.query().count(), Goal::Within(1e6)).unwrap();
        assert!(plan.solve().and_then(|plan| plan.release()).is_err());
        assert_eq!(Ledger::open(&path).unwrap().history(BUDGET).unwrap().len(), 1);
        // The control: in a new ledger, the same plan is answered.
        let fresh = life(&folder.path().join(format!("new {name}")));
        assert_eq!(release_all(&fresh, name == "keys.ledger", false).unwrap(), releases);
    }
}
#[test]
fn a_plan_in_a_ledger_needs_as_little_noise_as_a_plan_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let scale = |context: &Context<survey::Loss>| {
        let mut plan = context.plan();
        let goal = Goal::Weight(1.0);
        let asked = [0; 100].map(|_| plan.ask(context.query().count(), goal).unwrap());
        let solved = plan.solve().unwrap();
        let scale = solved.scale(asked[0]).unwrap();
        solved.release().unwrap();
        scale
    };
    let kept = life(&folder.path().join("study.ledger"));
    let table = workers::generate(2_000, 1).unwrap();
    let alone = survey::open_alone(table, 1.0, 1e-6).unwrap();
    let (kept, alone) = (scale(&kept), scale(&alone));
    assert!(kept == alone && kept < 42.247_14, "{kept} {alone}");
}
