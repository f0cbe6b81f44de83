//! Test Gaussian noise, mostly for budgets of an epsilon and a delta.

use opendp_core::IBig;
use opendp_measurements::accounting::gaussian_delta;

use super::*;
use crate::mechanisms::{Kind, Mechanisms, mechanisms};
use crate::released::{Exact, noisy};
use crate::sensitivity::sensitivity;

const SUMS: &str = "SELECT sex, COUNT(*), SUM(age), AVG(income) FROM people GROUP BY sex";
const FOUND: &str = "SELECT town, COUNT(DISTINCT pid), SUM(age) FROM people GROUP BY town";

fn open(unit: PrivacyUnit, epsilon: f64, delta: f64) -> Session {
    let mut metadata = metadata(described(unit));
    (metadata.budget.epsilon, metadata.budget.delta) = (Some(epsilon), Some(delta));
    metadata.queries = Some(1);
    let sources = vec![("people".into(), Source::Batches(vec![people()]))];
    Session::new(metadata, sources).unwrap()
}
/// Return a privacy unit that protects ids. The rows of an id can be in up to 40 groups.
fn spread() -> PrivacyUnit {
    PrivacyUnit::id("pid", 40).per_group(40, 1)
}
fn found(session: &Session, sql: &str, kind: Kind, budget: &Budget) -> Mechanisms {
    mechanisms(&session.checked(sql).unwrap(), None, kind, budget.amount()).unwrap()
}
/// Compute the parameter `mu` of Gaussian differential privacy for the release of all sums. For
/// each sum, divide the sensitivity by the scale, and square the quotient. Add these squares, and
/// take the root.
fn mu(session: &Session, sql: &str, mechanisms: &Mechanisms) -> f64 {
    let plan = session.checked(sql).unwrap().plan;
    let noises = plan.sums.iter().zip(&mechanisms.sums);
    let square = |(sum, noise): (&crate::ir::Sum, &Option<crate::noise::Noise>)| {
        let noise = noise.as_ref().unwrap();
        (sensitivity(&plan, sum).unwrap().l2 / noise.scale).powi(2)
    };
    noises.map(square).sum::<f64>().sqrt()
}
/// All sums together have a loss within the epsilon and the delta. The test uses the exact formula
/// for Gaussian noise, which the calibration does not use.
#[test]
fn noise_of_all_sums_keeps_the_epsilon_and_the_delta() {
    for (epsilon, delta) in [(0.1, 1e-9), (1.0, 1e-6), (4.0, 1e-4)] {
        let budget = Budget::epsilon_delta(epsilon, delta).unwrap();
        let session = open(spread(), epsilon, delta);
        let all = found(&session, SUMS, Kind::Gaussian, &budget);
        let parts = all.loss.parts();
        assert!(parts.iter().zip(budget.amount().parts()).all(|(loss, limit)| loss <= limit));
        assert!(parts[0].to_f64_up() > 0.999 * epsilon, "{}", all.loss);
        let mu = mu(&session, SUMS, &all);
        assert!(gaussian_delta(mu, epsilon).unwrap().upper <= delta);
        // The control: if the scale of the noise is a third smaller, the delta is exceeded.
        assert!(gaussian_delta(mu * 1.5, epsilon).unwrap().lower > delta);
        // Each release alone has a smaller loss than all releases together.
        for noise in all.sums.iter().flatten() {
            assert!(noise.loss.parts()[0] < parts[0]);
        }
    }
}
/// If an individual is in many groups, the errors of Gaussian noise are smaller than the errors of
/// Laplace noise. If an individual is in one group, the errors of Laplace noise are smaller.
#[test]
fn the_better_noise_is_chosen_and_explained() {
    let single = PrivacyUnit::id("pid", 1);
    for sql in [SUMS, FOUND] {
        for (unit, kind, other) in
            [(spread(), Kind::Gaussian, "Laplace"), (single.clone(), Kind::Laplace, "Gaussian")]
        {
            let session = open(unit, 1.0, 1e-9);
            let ask = || session.query(sql).unwrap();
            let explained = ask().explain().unwrap();
            assert!(explained.noise.starts_with(&format!("{kind:?}; the errors of {other}")));
            let text = explained.to_string();
            assert!(text.contains(&format!("\nnoise: {kind:?}; ")), "{text}");
            let other = if kind == Kind::Laplace { Kind::Gaussian } else { Kind::Laplace };
            let theirs = ask().noise(other).explain().unwrap();
            let mut ratio = 1.0;
            for (mine, theirs) in explained.releases.iter().zip(&theirs.releases) {
                ratio *= mine.accuracy.unwrap() / theirs.accuracy.unwrap();
            }
            assert!(ratio < 1.0, "{sql} {kind:?}\n{explained}\n{theirs}");
        }
    }
}
#[test]
fn answers_have_the_stated_cost_and_intervals() {
    for sql in [SUMS, FOUND, "SELECT COUNT(*), MEDIAN(age) FROM people"] {
        let session = open(spread(), 1.0, 1e-6);
        let question = session.query(sql).unwrap().noise(Kind::Gaussian);
        let cost = question.explain().unwrap().loss;
        let answer = question.release().unwrap();
        let left: Vec<f64> =
            session.remaining().unwrap().parts().iter().map(|part| part.to_f64_up()).collect();
        // For Gaussian noise, a threshold is a whole number, so a part of the delta for keys can
        // remain unspent.
        assert!(left[0] < 0.01 && left[1] < 2e-7, "{left:?} {cost}");
        assert!(answer.document["releases"][0]["mechanism"].as_str().unwrap().contains("gaussian"));
        // Nearly the whole budget is spent, so another release is refused.
        let again = session.query(sql).unwrap().noise(Kind::Gaussian);
        assert_eq!(again.release().unwrap_err().kind(), "BudgetExceeded");
    }
}
#[test]
fn with_little_noise_answers_are_exact() {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    (metadata.budget.epsilon, metadata.budget.delta) = (Some(1e9), Some(0.5));
    let sources = vec![("people".into(), Source::Batches(vec![people()]))];
    let session = Session::new(metadata, sources).unwrap();
    let budget = Budget::epsilon_delta(1e8, 0.1).unwrap();
    let sql = "SELECT COUNT(*), COUNT(age), SUM(age), AVG(age) FROM people";
    let question = session.query(sql).unwrap().spending(budget).noise(Kind::Gaussian);
    let answer = question.release().unwrap();
    for (found, exact) in numbers(&answer.table)[0].iter().zip([8.0, 7.0, 280.0, 40.0]) {
        assert!((found - exact).abs() < 0.01, "{found} {exact}");
    }
}
/// The control: a key of several individuals is released more often.
#[test]
fn one_individual_reveals_a_key_with_probability_delta() {
    let budget = Budget::epsilon_delta(1.0, 0.04).unwrap();
    let session = open(PrivacyUnit::id("pid", 1), 1.0, 0.04);
    let sql = "SELECT town, COUNT(DISTINCT pid) FROM people GROUP BY town";
    let all = found(&session, sql, Kind::Gaussian, &budget);
    let plan = session.checked(sql).unwrap().plan;
    let mut exact = Exact::default();
    exact.sums.insert(vec!["here".into()], vec![IBig::ONE]);
    let released = |exact: &Exact| {
        let trials = 0..5000;
        trials.filter(|_| !noisy(&plan, &all, exact).unwrap().groups.is_empty()).count()
    };
    // Half of the delta is for keys. So the expected number of releases with the key is at most 100
    // of 5000. The threshold is rounded up to a whole number, which leaves a part of this delta
    // unspent. So the expected number is between 50 and 100. The probability of 185 or more is
    // below 1e-14, and so is the probability of 0.
    let count = released(&exact);
    assert!(count < 185 && count > 0, "{count}");
    exact.sums.insert(vec!["here".into()], vec![IBig::from(4)]);
    assert!(released(&exact) > 185);
}
#[test]
fn each_kind_of_budget_has_its_kinds_of_noise() {
    let kinds = [Kind::Best, Kind::Laplace, Kind::Gaussian];
    let session = session(PrivacyUnit::rows(1));
    let chosen = |kind: Kind, budget: &Budget| {
        let checked = session.checked(SUMS).unwrap();
        mechanisms(&checked, None, kind, budget.amount()).map(|all| {
            let fits = all.loss.parts().iter().zip(budget.amount().parts()).all(|(a, b)| a <= b);
            assert!(fits && all.loss.notion() == budget.amount().notion());
            let first = all.sums[0].clone().unwrap();
            assert!(first.request.contains(if all.kind == Kind::Laplace { "lap" } else { "gau" }));
            all.kind
        })
    };
    let pure = Budget::epsilon(1.0).unwrap();
    let found = kinds.map(|kind| chosen(kind, &pure).ok());
    assert_eq!(found, [Some(Kind::Laplace), Some(Kind::Laplace), None]);
    let reason = chosen(Kind::Gaussian, &pure).unwrap_err().to_string();
    assert!(reason.contains("State a `delta`"), "{reason}");
    let concentrated = Budget::rho(0.5).unwrap();
    let found = kinds.map(|kind| chosen(kind, &concentrated).unwrap());
    assert_eq!(found, [Kind::Gaussian, Kind::Laplace, Kind::Gaussian]);
    let both = Budget::epsilon_delta(1.0, 1e-6).unwrap();
    let found = kinds.map(|kind| chosen(kind, &both).unwrap());
    assert_eq!(found[1..], [Kind::Laplace, Kind::Gaussian]);
    // If a question may spend only an epsilon, it gets Laplace noise.
    let pure = Budget::epsilon(1.0).unwrap();
    let session = open(spread(), 1.0, 1e-6);
    let ask = || session.query(SUMS).unwrap().spending(pure.clone());
    assert!(ask().explain().unwrap().noise.starts_with("Laplace"));
    let reason = ask().noise(Kind::Gaussian).explain().unwrap_err().to_string();
    assert!(reason.contains("Gaussian noise needs a delta"), "{reason}");
}
/// All three planned queries can have Gaussian noise.
#[test]
fn a_tight_budget_admits_gaussian_noise() {
    let mut metadata = metadata(described(spread()));
    (metadata.budget.epsilon, metadata.budget.delta) = (Some(1.0), Some(1e-6));
    metadata.budget.composition = Some("tight".into());
    metadata.queries = Some(3);
    let sources = vec![("people".into(), Source::Batches(vec![people()]))];
    let session = Session::new(metadata, sources).unwrap();
    let ask = || session.query(SUMS).unwrap().noise(Kind::Gaussian);
    for _ in 0..3 {
        assert_eq!(ask().release().unwrap().table.num_rows(), 3);
    }
    assert_eq!(ask().release().unwrap_err().kind(), "BudgetExceeded");
}
#[test]
fn kinds_of_noise_have_names() {
    let kinds = ["best", "laplace", "gaussian"].map(|name| name.parse::<Kind>().unwrap());
    assert_eq!(kinds, [Kind::Best, Kind::Laplace, Kind::Gaussian]);
    assert!("normal".parse::<Kind>().unwrap_err().to_string().contains("found `normal`"));
}
#[test]
fn an_epsilon_of_a_rho_budget_gives_noise_with_this_epsilon() {
    let mut metadata = metadata(described(spread()));
    (metadata.budget.epsilon, metadata.budget.rho) = (None, Some(1.0));
    let sources = vec![("people".into(), Source::Batches(vec![people()]))];
    let session = Session::new(metadata, sources).unwrap();
    let ask = || session.query(SUMS).unwrap().spending(Budget::epsilon(0.5).unwrap());
    let explained = ask().explain().unwrap();
    assert_eq!(explained.noise, "Laplace");
    let epsilon = explained.loss.parts()[0].to_f64_up();
    assert!(0.499 < epsilon && epsilon <= 0.5, "{}", explained.loss);
    let refused = ask().noise(Kind::Gaussian).explain().unwrap_err().to_string();
    assert!(refused.contains("a `rho`"), "{refused}");
    // A loss of epsilon is charged as a rho of epsilon^2 / 2.
    ask().release().unwrap();
    let left = session.remaining().unwrap().parts()[0].to_f64_up();
    assert!((left - (1.0 - epsilon * epsilon / 2.0)).abs() < 1e-12, "{left}");
    // The control: a question that spends a rho gets Gaussian noise.
    let rho = session.query(SUMS).unwrap().spending(Budget::rho(0.125).unwrap());
    assert_eq!(rho.explain().unwrap().noise, "Gaussian");
}
