//! Journals of contexts: restarts, crashes and wrong budgets.

use std::path::Path;
use std::sync::Arc;

use opendp_analysis::context::{Accounted, Entry, Goal, Journal, WithLaplace};
use opendp_analysis::{Budget, Context, PrivacyUnit, ShareKind, Split, Table};
use opendp_core::arith::Exact;
use opendp_core::{Approximate, MaxDivergence, Result};
use opendp_ledger::{ContextJournal, Ledger, Loss, Notion, Request, Terms, Unit};
use serde_json::json;

pub(crate) const BUDGET: &str = "survey";
pub(crate) type Tight = Approximate<MaxDivergence>;

fn table() -> Table {
    let ages = (0..2000).map(|i| f64::from(i % 90)).collect::<Vec<f64>>();
    let table = Table::new().with("age", ages).unwrap();
    let table = table.with("sex", (0..2000).map(|i| 1 + i % 2).collect::<Vec<i64>>()).unwrap();
    let sector = |i: i32| ["A", "C", "F"][i as usize % 3].to_owned();
    table.with("sector", (0..2000).map(sector).collect::<Vec<String>>()).unwrap()
}
pub(crate) fn alone(split: Split) -> Context<Tight> {
    let budget = Budget::epsilon_delta(1.0, 1e-6).unwrap();
    Context::new(table(), PrivacyUnit::person(1).unwrap(), budget, split).unwrap()
}
/// Attach the journal of a budget, which is created if the ledger does not contain it.
pub(crate) fn kept<MO: Accounted + opendp_ledger::Accounted>(
    path: &Path,
    context: Context<MO>,
) -> Result<Context<MO>> {
    ContextJournal::open_or_create(Ledger::open(path)?, BUDGET, &context)?.attach(context)
}
pub(crate) fn life(path: &Path) -> Context<Tight> {
    kept(path, alone(Split::as_you_go())).unwrap()
}
pub(crate) fn count<MO: WithLaplace>(context: &Context<MO>) -> Result<i64>
where
    i64: opendp_analysis::context::Noisy<MO>,
{
    Ok(context.query().count().laplace()?.release()?.value)
}

#[test]
fn a_budget_that_was_spent_stays_spent_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    let life = || kept(&path, alone(Split::evenly(3).unwrap())).unwrap();
    let first = life();
    count(&first).unwrap();
    first.query().column::<String>("sector").count_by().laplace().unwrap().release().unwrap();
    let ages = first.query().column("age").impute(0.0);
    ages.median((0..=90).map(f64::from).collect()).choose().unwrap().release().unwrap();
    let second = life();
    assert_eq!(second.report().exact_total(), first.report().exact_total());
    assert_eq!(second.report().to_json(), first.report().to_json());
    assert_eq!(second.report().entries().len(), 3);
    // This filter would panic if the data were read.
    let unread = second.query().filter("sex", |_: &i64| panic!("the data are read"));
    assert_eq!(unread.count().laplace().unwrap_err().kind(), "BudgetExceeded");
    let entry = &Ledger::open(&path).unwrap().history(BUDGET).unwrap()[0];
    assert_eq!((entry.id.as_str(), entry.d_in.as_str()), ("question 1", "1"));
}
#[test]
fn budgets_of_each_measure_continue_and_a_plan_of_one_is_charged_as_a_sum() {
    let folder = tempfile::tempdir().unwrap();
    let unit = PrivacyUnit::answers_of_person(1).unwrap();
    let split = || Split::as_you_go();
    let pure = || {
        let budget = Budget::epsilon(0.1).unwrap();
        kept(&folder.path().join("pure"), Context::new(table(), unit, budget, split()).unwrap())
    };
    let first = pure().unwrap();
    let mut plan = first.plan().with_id("May");
    plan.ask(first.query().count(), Goal::Weight(1.0)).unwrap();
    let sexes = first.query().column::<i64>("sex").histogram(vec![1, 2]);
    plan.ask(sexes, Goal::Weight(1.0)).unwrap();
    plan.solve().unwrap().release().unwrap();
    let ledger = Ledger::open(folder.path().join("pure")).unwrap();
    let (account, history) = (ledger.account(BUDGET).unwrap(), ledger.history(BUDGET).unwrap());
    assert_eq!((history.len(), history[0].loss.notion()), (1, Notion::Pure));
    assert_eq!(account.spent.parts(), first.report().exact_total());
    let second = pure().unwrap();
    assert_eq!(second.report().to_json(), first.report().to_json());
    let more = second.query().spending(Budget::epsilon(0.001).unwrap()).count().laplace();
    assert_eq!(more.unwrap_err().kind(), "BudgetExceeded");

    let concentrated = || {
        let budget = Budget::rho(0.5).unwrap();
        kept(&folder.path().join("rho"), Context::new(table(), unit, budget, split()).unwrap())
    };
    let first = concentrated().unwrap();
    let half = || Budget::rho(0.25).unwrap();
    let sexes = |context: &Context<_>| {
        let query = context.query().spending(half()).column::<i64>("sex").histogram(vec![1, 2]);
        query.gaussian()?.release().map(|_| ())
    };
    sexes(&first).unwrap();
    let second = concentrated().unwrap();
    assert!((0.25..0.251).contains(&second.remaining().unwrap()));
    sexes(&second).unwrap();
    assert_eq!(sexes(&concentrated().unwrap()).unwrap_err().kind(), "BudgetExceeded");
}
#[test]
fn shares_by_kinds_continue_and_the_ledger_charges_each_release_alone() {
    let folder = tempfile::tempdir().unwrap();
    let shares = [(ShareKind::Gaussian, 1.0); 10];
    let life = || kept(&folder.path().join("b"), alone(Split::by_kinds(&shares).unwrap())).unwrap();
    let ask = |context: &Context<Tight>| context.query().count().gaussian()?.release().map(|_| ());
    for asked in 0..4 {
        let context = life();
        assert_eq!(context.report().entries().len(), asked);
        ask(&context).unwrap();
    }
    // The filters of the ledger admit less than the shares. So the ledger refuses a release before
    // the last share is used, and nothing is run.
    let context = life();
    let refused = (4..10).find_map(|_| ask(&context).err()).unwrap();
    assert_eq!(refused.kind(), "BudgetExceeded");
    assert!(Ledger::open(folder.path().join("b")).unwrap().history(BUDGET).unwrap().len() < 10);
}
#[test]
fn the_ledger_refuses_what_another_process_has_spent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    let [first, other] = [(); 2].map(|()| kept(&path, alone(Split::evenly(1).unwrap())).unwrap());
    count(&first).unwrap();
    let error = count(&other).unwrap_err();
    assert_eq!(error.kind(), "BudgetExceeded", "{error}");
    assert_eq!(Ledger::open(&path).unwrap().history(BUDGET).unwrap().len(), 1);
}
#[test]
fn a_budget_that_does_not_fit_the_context_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Arc::new(Ledger::open(folder.path().join("study.ledger")).unwrap());
    let context = || alone(Split::evenly(2).unwrap());
    let unit =
        |metric: &str, unit: u32| Terms::new().with_unit(Unit::new(json!(metric), unit).unwrap());
    let total = Loss::epsilon_delta("1", "1e-6").unwrap();
    let rows = unit("symmetric_distance", 1);
    let digest = rows.clone().with_digest(&"0".repeat(64)).unwrap();
    for (name, terms, reason) in [
        ("bare", Terms::new(), "states no unit"),
        ("two", unit("symmetric_distance", 2), "state the unit `PrivacyUnit::person(2)`"),
        ("replaced", unit("change_one_distance", 1), "PrivacyUnit::answers_of_person(1)"),
        ("vectors", unit("l1_distance", 1), "The budget of a context needs the metric"),
        ("file", digest, "a table in memory"),
    ] {
        ledger.create_tight(name, &total, &terms).unwrap();
        let journal = ContextJournal::open(ledger.clone(), name);
        let error = journal.and_then(|journal| journal.attach(context())).unwrap_err();
        assert!(error.to_string().contains(reason), "{name}: {error}");
    }
    for (name, total) in [
        ("more", Loss::epsilon_delta("2", "1e-6").unwrap()),
        ("less", Loss::epsilon_delta("1", "1e-7").unwrap()),
        ("pure", Loss::epsilon("1").unwrap()),
    ] {
        ledger.create_with(name, &total, &rows).unwrap();
        let error = ContextJournal::open(ledger.clone(), name).unwrap().attach(context());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("state the amount of the budget in the context"), "{error}");
    }
    ledger.create_with("sums", &total, &rows).unwrap();
    let sums = ContextJournal::open(ledger.clone(), "sums").unwrap().attach(context());
    assert!(sums.unwrap_err().to_string().contains("composes them tightly"));
    assert_eq!(ContextJournal::open(ledger.clone(), "typo").unwrap_err().kind(), "NotFound");

    // A context that has answered cannot be recorded afterwards.
    ledger.create_tight("late", &total, &rows).unwrap();
    let late = context();
    count(&late).unwrap();
    let error = ContextJournal::open(ledger.clone(), "late").unwrap().attach(late).unwrap_err();
    assert!(error.to_string().contains("before the first release"), "{error}");
    // If a budget has a release that no context made, a context cannot continue this budget. The
    // error names the release.
    let request = Request::of_loss("week 1", Loss::epsilon("0.1").unwrap());
    ledger.release("late", &request, || Ok(7)).unwrap();
    let error = ContextJournal::open(ledger.clone(), "late").unwrap().attach(context());
    assert!(error.unwrap_err().to_string().contains("`week 1`"));
    // The control for the amounts above: the budget states the decimal number 0.1, and the context
    // states the float 0.1. These amounts count as equal, so the context is accepted.
    let tenth = Loss::epsilon_delta("0.1", "1e-6").unwrap();
    ledger.create_tight("tenth", &tenth, &rows).unwrap();
    let budget = Budget::epsilon_delta(0.1, 1e-6).unwrap();
    let unit = PrivacyUnit::person(1).unwrap();
    let context = Context::new(table(), unit, budget, Split::evenly(1).unwrap()).unwrap();
    let context = ContextJournal::open(ledger, "tenth").unwrap().attach(context).unwrap();
    count(&context).unwrap();
}
#[test]
fn a_budget_whose_clock_was_settled_continues() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    let later = || std::time::SystemTime::now() + std::time::Duration::from_secs(100);
    let ledger = Ledger::open(&path).unwrap().with_clock(later);
    let context = alone(Split::evenly(2).unwrap());
    let journal = ContextJournal::open_or_create(ledger, BUDGET, &context).unwrap();
    count(&journal.attach(context).unwrap()).unwrap();
    let life = || kept(&path, alone(Split::evenly(2).unwrap())).unwrap();
    assert!(count(&life()).unwrap_err().to_string().contains("settle-clock"));
    Ledger::open(&path).unwrap().settle_clock(BUDGET, "Ada").unwrap();
    let second = life();
    assert_eq!(second.report().entries().len(), 1);
    count(&second).unwrap();
}
#[test]
fn a_plan_is_charged_once_in_one_entry_and_not_drawn_again_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    let release = |id: &str| {
        let context = life(&path);
        let mut plan = context.plan().with_id(id);
        let goal = Goal::Within(100.0);
        let people = plan.ask(context.query().count(), goal).unwrap();
        plan.ask(context.query().column::<String>("sector").count_by(), goal).unwrap();
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
    let second = life(&path);
    assert_eq!(second.report().exact_total(), spent);
    assert_eq!(second.report().entries().len(), 3);
    assert_eq!(ledger.account(BUDGET).unwrap().loss().parts(), spent);
    let (refused, same) = release("May");
    assert!(refused.unwrap_err().to_string().contains("`May` was charged before"));
    assert_eq!(same, spent);
    // One process opens the ledger before another process charges the plan. The process that opened
    // the ledger early does not answer the plan again either.
    let early = life(&path);
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
    let context = kept(&path, alone(Split::evenly(10).unwrap())).unwrap();
    count(&context).unwrap();
    let entry = context.report().entries()[0].clone();
    // The next question gets the number 4. The loss of this question is equal to the loss of the
    // release with the number 4, and not to the loss of the release with the number 5.
    let ledger = Arc::new(Ledger::open(&path).unwrap());
    let same = Loss::of_entry(Notion::Approximate, &entry).unwrap();
    let twice = Loss::together(vec![same.clone(), same.clone()]).unwrap();
    for (id, loss) in [("question 4", same.clone()), ("question 5", twice)] {
        ledger.release(BUDGET, &Request::of_loss(id, loss), || Ok(7)).unwrap();
    }
    let journal = ContextJournal::open(ledger.clone(), BUDGET).unwrap();
    journal.record(&entry).unwrap();
    let history = ledger.history(BUDGET).unwrap();
    let ids: Vec<&str> = history.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["question 1", "question 4", "question 5", "question 6"]);
    assert_eq!(history[3].release, history[0].release);
    // The control: a refusal with another cause is returned.
    let large = Entry { loss: vec!["0.9".parse().unwrap(), Exact::ZERO], ..entry };
    assert_eq!(journal.record(&large).unwrap_err().kind(), "BudgetExceeded");
    assert_eq!(ledger.history(BUDGET).unwrap().len(), 4);
}

/// The environment variable that gives the path of the ledger to the process that crashes.
const CRASHES: &str = "JOURNAL_CRASHES";

/// Release a plan of 101 counts. If `keys` is true, the plan also asks for keys. All goals are
/// `Goal::Weight`. So a plan without keys divides the whole budget among its questions. A plan with
/// keys leaves a small part of the budget. If `crashes` is true, the process ends while the last
/// answer is computed.
fn release_all(context: &Context<Tight>, keys: bool, crashes: bool) -> Result<usize> {
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
        let crashed = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["journal::helper_that_crashes_within_a_plan", "--exact"])
            .env(CRASHES, &path)
            .output()
            .unwrap();
        assert!(!crashed.status.success(), "the process did not end within the plan");
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
        let found = (reserved.is_some(), shares.is_some());
        assert_eq!(found, (name == "keys.ledger", reserved.is_none()));
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
    let scale = |context: &Context<Tight>| {
        let mut plan = context.plan();
        let goal = Goal::Weight(1.0);
        let asked = [0; 100].map(|_| plan.ask(context.query().count(), goal).unwrap());
        let solved = plan.solve().unwrap();
        let scale = solved.scale(asked[0]).unwrap();
        solved.release().unwrap();
        scale
    };
    let kept = scale(&life(&folder.path().join("study.ledger")));
    let alone = scale(&alone(Split::as_you_go()));
    assert!(kept == alone && kept < 42.247_14, "{kept} {alone}");
}
