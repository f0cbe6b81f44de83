//! Tests budgets that compose tightly.

use opendp_core::Result;
use opendp_core::arith::Exact;
use opendp_ledger::{Ledger, Loss, Release, Request, Terms};
use opendp_measurements::accounting::{
    AdaptiveAccount, Kind, Share, SharePair, SharedAccount, joined_epsilon,
};

/// The delta of the losses in these tests. Gaussian noise has a different epsilon for each delta.
/// The tests use the epsilon of the noise for this delta.
const DELTA: &str = "1e-9";

fn file() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.ledger");
    (folder, path)
}
/// Make a ledger in a new folder, with one budget that composes tightly.
fn opened() -> (tempfile::TempDir, std::path::PathBuf, Ledger) {
    let (folder, path) = file();
    let ledger = Ledger::open(&path).unwrap();
    ledger.create_tight("b", &total(), &Terms::new()).unwrap();
    (folder, path, ledger)
}
pub(crate) fn total() -> Loss {
    Loss::epsilon_delta("1", "1e-6").unwrap()
}
pub(crate) fn exact(text: &str) -> Exact {
    text.parse().unwrap()
}
/// Return the loss of a release with Gaussian noise. The release uses the fraction `1/n` of the
/// rest of budget `b`.
pub(crate) fn gaussian(ledger: &Ledger, n: u32) -> Loss {
    let account = ledger.account("b").unwrap();
    let share = Share::Fraction(exact(&format!("1/{n}")));
    let room = account.filters().unwrap().room(&share, Kind::Gaussian).unwrap();
    let mu = room.mu_squared.to_f64_up().sqrt();
    let epsilon = joined_epsilon(0.0, mu * (1.0 + 1e-9), 1e-9).unwrap();
    let loss = Loss::epsilon_delta(&epsilon.to_string(), DELTA).unwrap();
    loss.with_mu_squared(room.mu_squared).unwrap()
}
pub(crate) fn spend(ledger: &Ledger, id: &str, loss: &Loss) -> Result<Release> {
    ledger.release("b", &Request::of_loss(id, loss.clone()), || Ok(1))
}

#[test]
fn a_tight_budget_admits_the_same_releases_after_each_restart() {
    let (_folder, path, first) = opened();
    let loss = gaussian(&first, 100);
    drop(first);
    // Each of a hundred counts gets noise of the scale 42.5. The sum of the epsilons of these
    // counts is far above 1.
    let scale = loss.mu_squared().unwrap().to_f64_down().sqrt().recip();
    assert!(scale < 42.7, "{scale}");
    let epsilons = loss.parts()[0].times(&exact("100"));
    assert!(exact("5") < epsilons, "{epsilons}");
    for number in 1..=100 {
        let ledger = Ledger::open(&path).unwrap();
        spend(&ledger, &format!("count {number}"), &loss).unwrap();
    }
    let ledger = Ledger::open(&path).unwrap();
    let account = ledger.account("b").unwrap();
    let spent = account.loss();
    assert!(exact("0.99") < spent.parts()[0] && spent.parts()[0] <= exact("1"), "{spent}");
    assert!(spent.parts()[1] <= exact("1e-6"), "{spent}");
    assert_eq!(account.to_json()["composition"], "tight");
    assert_eq!(spend(&ledger, "one more", &loss).unwrap_err().kind(), "BudgetExceeded");
    assert!(spend(&ledger, "count 7", &loss).unwrap().repeated());
    assert_eq!(ledger.history("b").unwrap().len(), 100);
    assert_eq!(ledger.history("b").unwrap()[6].loss, loss);
    ledger.export().unwrap();
}
#[test]
fn a_tight_budget_states_when_its_spent_amount_is_a_bound() {
    let (_folder, _path, ledger) = opened();
    ledger.create("sum", &total()).unwrap();
    spend(&ledger, "1", &Loss::epsilon("0.1").unwrap()).unwrap();
    let export = ledger.export().unwrap();
    let holds = |place: usize| export["budgets"][place]["spent_holds"].as_str();
    let stated =
        "if the releases were fixed in advance; otherwise only the whole budget is a bound";
    assert_eq!(holds(0), Some(stated));
    // The control: a sum of losses is always a bound.
    assert_eq!((export["budgets"][1]["name"].as_str(), holds(1)), (Some("sum"), None));
}
#[test]
fn a_budget_that_adds_up_ignores_mu() {
    let (_folder, _path, ledger) = opened();
    let loss = gaussian(&ledger, 100);
    ledger.create("sum", &total()).unwrap();
    let admitted = (0..100).take_while(|number| {
        let request = Request::of_loss(&number.to_string(), loss.clone());
        ledger.release("sum", &request, || Ok(1)).is_ok()
    });
    // Basic composition admits fewer than 30 of these releases.
    assert!((1..30).contains(&admitted.count()));
}
#[test]
fn many_pure_losses_cost_less_than_their_sum() {
    let (_folder, _path, ledger) = opened();
    let small = Loss::epsilon("0.02").unwrap();
    let admitted =
        (0..1000).take_while(|number| spend(&ledger, &number.to_string(), &small).is_ok()).count();
    // Basic composition admits 50 of these releases, and Gaussian differential privacy admits 88.
    // The filters of the budget admit more releases than that.
    assert!((112..119).contains(&admitted), "{admitted}");
}
#[test]
fn programs_that_share_a_tight_budget_never_overspend_it() {
    let (_folder, path, first) = opened();
    let loss = gaussian(&first, 20);
    let admitted: usize = std::thread::scope(|scope| {
        let run = |name: usize| {
            let (path, loss) = (path.clone(), loss.clone());
            scope.spawn(move || {
                let ledger = Ledger::open(&path).unwrap();
                let ask = |n: &usize| spend(&ledger, &format!("{name} {n}"), &loss).is_ok();
                (0..20).filter(ask).count()
            })
        };
        let threads: Vec<_> = (0..4).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, 20);
    assert_eq!(first.account("b").unwrap().releases, 20);
}
#[test]
fn a_budget_without_a_delta_cannot_compose_tightly() {
    let (_folder, path) = file();
    let ledger = Ledger::open(&path).unwrap();
    for wrong in [
        Loss::epsilon("1").unwrap(),
        Loss::rho("1").unwrap(),
        Loss::epsilon_delta("1", "0").unwrap(),
    ] {
        let error = ledger.create_tight("b", &wrong, &Terms::new()).unwrap_err();
        assert_eq!(error.kind(), "Argument");
        assert!(wrong.with_mu_squared(Exact::INFINITY).is_err());
    }
    assert!(Loss::rho("1").unwrap().with_mu_squared(exact("1")).is_err());
}
#[test]
fn an_entry_about_the_clock_does_not_choose_how_delta_is_divided() {
    use std::time::{Duration, SystemTime};
    let (_folder, path) = file();
    let ahead = || Ledger::open(&path).unwrap().with_clock(|| SystemTime::now() + DAY);
    const DAY: Duration = Duration::from_secs(86_400);
    ahead().create_tight("b", &total(), &Terms::new()).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    let before = gaussian(&ledger, 10);
    ledger.settle_clock("b", "Ada").unwrap();
    assert_eq!(gaussian(&ledger, 10), before);
    assert!(!ledger.account("b").unwrap().filters().unwrap().has_begun());
}
#[test]
fn choices_add_up_rho_after_each_restart() {
    let (_folder, path, first) = opened();
    let account = first.account("b").unwrap();
    drop(first);
    let share = Share::Fraction(exact("1/50"));
    let room = account.filters().unwrap().room(&share, Kind::Choice).unwrap();
    let mu = room.mu_squared.to_f64_up().sqrt();
    let epsilon = joined_epsilon(0.0, mu * (1.0 + 1e-9), 1e-9).unwrap();
    let by_mu = Loss::epsilon_delta(&epsilon.to_string(), DELTA).unwrap();
    let by_mu = by_mu.with_mu_squared(room.mu_squared).unwrap();
    let loss = by_mu.clone().with_rho(room.rho).unwrap();
    let spent = |loss: &Loss, path: &std::path::Path| {
        let admitted = (0..60).take_while(|number| {
            let ledger = Ledger::open(path).unwrap();
            spend(&ledger, &number.to_string(), loss).is_ok()
        });
        admitted.count()
    };
    assert_eq!(spent(&loss, &path), 50);
    let history = Ledger::open(&path).unwrap().history("b").unwrap();
    assert!(history.iter().all(|entry| entry.loss == loss));
    // If the losses do not state rho, fewer of these releases fit the budget.
    let (_folder, path, first) = opened();
    drop(first);
    assert!((30..45).contains(&spent(&by_mu, &path)));
}
#[test]
fn releases_that_are_charged_together_take_one_entry_and_all_or_none() {
    let (_folder, path, ledger) = opened();
    let share = gaussian(&ledger, 100);
    let forty = Loss::together(vec![share.clone(); 40]).unwrap();
    spend(&ledger, "first plan", &forty).unwrap();
    spend(&ledger, "second plan", &forty).unwrap();
    // A third plan of 40 releases does not fit, and nothing is charged.
    assert_eq!(spend(&ledger, "third plan", &forty).unwrap_err().kind(), "BudgetExceeded");
    let twenty = Loss::together(vec![share.clone(); 20]).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    spend(&ledger, "fourth plan", &twenty).unwrap();
    assert_eq!(spend(&ledger, "one more", &share).unwrap_err().kind(), "BudgetExceeded");
    assert!(spend(&ledger, "first plan", &forty).unwrap().repeated());
    assert_eq!(spend(&ledger, "first plan", &twenty).unwrap_err().kind(), "Argument");
    let history = ledger.history("b").unwrap();
    assert_eq!((history.len(), history[0].loss.members().len()), (3, 40));
    ledger.export().unwrap();
}

/// Reserve the whole budget for Gaussian noise. Return the largest sum of all `mu^2` that the
/// reserved budget admits.
fn reserved() -> Exact {
    let none = exact("0");
    let filters = AdaptiveAccount::reserving(&exact("1"), &exact("1e-6"), &none, &none).unwrap();
    filters.filters()[0].mu_squared.clone()
}
#[test]
fn a_plan_reserves_an_unspent_budget_and_needs_less_noise() {
    let (_folder, path, _ledger) = opened();
    reserve_an_unspent_budget(&|| Ledger::open(&path).unwrap());
}
/// Charge a plan that reserves the unspent budget `b`. `open` opens the ledger again for each
/// charge, up to the charge of the plan.
pub(crate) fn reserve_an_unspent_budget(open: &dyn Fn() -> Ledger) {
    let mu_squared = reserved().over(&exact("100"));
    let share = Loss::epsilon_delta("0.2", DELTA).unwrap().with_mu_squared(mu_squared).unwrap();
    let plan = Loss::together(vec![share.clone(); 100]).unwrap();
    // The control: if the plan reserves nothing, the budget has filters for all kinds of releases.
    // These filters admit the releases only with more noise.
    assert_eq!(spend(&open(), "open", &plan).unwrap_err().kind(), "BudgetExceeded");
    let plan = plan.reserving(&total(), &exact("0"), &exact("0")).unwrap();
    spend(&open(), "plan", &plan).unwrap();
    let ledger = open();
    let history = ledger.history("b").unwrap();
    assert_eq!((history.len(), history[0].loss.members().len()), (1, 100));
    assert_eq!(history[0].loss, plan);
    let account = ledger.account("b").unwrap();
    assert!(account.loss().parts()[0] <= exact("1") && exact("0.999") < account.loss().parts()[0]);
    assert_eq!(spend(&ledger, "one more", &share).unwrap_err().kind(), "BudgetExceeded");
    assert!(spend(&ledger, "plan", &plan).unwrap().repeated());
    ledger.export().unwrap();
}
#[test]
fn a_plan_spends_a_budget_by_the_distributions_of_its_losses() {
    let (_folder, path, _ledger) = opened();
    share_an_unspent_budget(&|| Ledger::open(&path).unwrap());
}
/// Charge a plan to the unspent budget `b`. The shares of the plan are computed from one
/// `SharePair` for each release.
pub(crate) fn share_an_unspent_budget(open: &dyn Fn() -> Ledger) {
    let (epsilon, delta) = (exact("1"), exact("1e-6"));
    let counts = [SharePair::DiscreteGaussian { square: 1, scale: 1.0 }; 100];
    let shares = SharedAccount::fitting(&epsilon, &delta, &counts).unwrap().shares().to_vec();
    let share = Loss::epsilon_delta("0.2", DELTA).unwrap();
    let plan = Loss::together(vec![share.clone(); 100]).unwrap();
    // The controls: shares that are too large are refused, and a wrong number of shares is refused.
    let larger: Vec<_> = shares.iter().map(|share| share.times(1.001)).collect();
    let error = plan.clone().sharing(&total(), &larger).unwrap_err();
    assert_eq!(error.kind(), "BudgetExceeded");
    let error = plan.clone().sharing(&total(), &shares[1..]).unwrap_err();
    assert_eq!(error.kind(), "Argument");
    let plan = plan.sharing(&total(), &shares).unwrap();
    spend(&open(), "plan", &plan).unwrap();
    let ledger = open();
    assert_eq!(ledger.history("b").unwrap()[0].loss, plan);
    let account = ledger.account("b").unwrap();
    assert_eq!(account.remaining().parts(), [exact("0"), exact("0")]);
    let tiny = Loss::epsilon("1e-9").unwrap();
    assert_eq!(spend(&ledger, "one more", &tiny).unwrap_err().kind(), "BudgetExceeded");
    assert!(spend(&ledger, "plan", &plan).unwrap().repeated());
}
#[test]
fn a_plan_of_no_stated_loss_spends_a_budget_too() {
    let (_folder, _path, ledger) = opened();
    let none = Loss::epsilon_delta("0", "0").unwrap();
    let plan = none.sharing(&total(), &[SharePair::Private { epsilon: 1.0, delta: 0.0 }]).unwrap();
    spend(&ledger, "plan", &plan).unwrap();
    let tiny = Loss::epsilon("1e-9").unwrap();
    assert_eq!(spend(&ledger, "one more", &tiny).unwrap_err().kind(), "BudgetExceeded");
}
#[test]
fn a_plan_for_an_unspent_budget_is_refused_after_any_release_and_by_another_budget() {
    let (_folder, path, ledger) = opened();
    let small = Loss::epsilon("0.01").unwrap();
    let both = Loss::together(vec![small.clone(); 2]).unwrap();
    let plan = both.clone().reserving(&total(), &exact("0.5"), &exact("1e-7")).unwrap();
    let double = Loss::epsilon_delta("2", "1e-6").unwrap();
    let other = both.clone().reserving(&double, &exact("0.5"), &exact("1e-7")).unwrap();
    assert!(spend(&ledger, "other", &other).is_err());
    assert_eq!(ledger.history("b").unwrap().len(), 0);
    spend(&ledger, "first", &small).unwrap();
    let pairs = [SharePair::Private { epsilon: 0.01, delta: 0.0 }; 2];
    for late in [plan, both.clone().sharing(&total(), &pairs).unwrap()] {
        assert_eq!(spend(&ledger, "late", &late).unwrap_err().kind(), "BudgetExceeded");
    }
    // The same releases without a reserve are admitted.
    spend(&ledger, "late", &both).unwrap();
    assert_eq!(Ledger::open(&path).unwrap().history("b").unwrap().len(), 2);
    // If a release is charged together with other releases, its own reserve is dropped.
    let alone = small.clone().reserving(&total(), &exact("0.5"), &exact("1e-7")).unwrap();
    assert_ne!(alone, small);
    assert_eq!(Loss::together(vec![alone, small]).unwrap(), both);
    // A reserve has to fit the budget, and the budget has to be an epsilon and a delta.
    let too_large = both.clone().reserving(&total(), &exact("1.5"), &exact("0"));
    assert_eq!(too_large.unwrap_err().kind(), "BudgetExceeded");
    let wrong = both.reserving(&Loss::rho("1").unwrap(), &exact("0.5"), &exact("0"));
    assert_eq!(wrong.unwrap_err().kind(), "Argument");
}
