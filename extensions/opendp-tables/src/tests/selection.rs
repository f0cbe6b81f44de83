//! Test the release of keys that are not public.

use opendp_core::IBig;

use super::*;
use crate::ir::Plan;
use crate::mechanisms::{Kind, Mechanisms, mechanisms};
use crate::released::{Exact, noisy};

fn private_session(unit: PrivacyUnit, epsilon: f64, delta: f64) -> Session {
    let mut metadata = metadata(described(unit));
    (metadata.budget.epsilon, metadata.budget.delta) = (Some(epsilon), Some(delta));
    metadata.queries = Some(1);
    let sources = vec![("people".into(), Source::Batches(vec![people()]))];
    Session::new(metadata, sources).unwrap()
}
fn prepared(session: &Session, sql: &str, budget: &Budget) -> (Plan, Mechanisms) {
    let checked = session.checked(sql).unwrap();
    let mechanisms = mechanisms(&checked, None, Kind::Best, budget.amount()).unwrap();
    (checked.plan, mechanisms)
}
#[test]
fn keys_of_few_individuals_stay_hidden() {
    // Each key is released with a probability of at most a few times delta. With this tiny delta,
    // practically no key is released.
    let session = private_session(PrivacyUnit::id("pid", 2).per_group(1, 2), 1.0, 1e-12);
    let sql = "SELECT town, COUNT(*), AVG(age) FROM people GROUP BY town";
    let question = session.query(sql).unwrap();
    let explained = question.explain().unwrap();
    assert!(explained.releases.iter().any(|release| release.threshold.is_some_and(|t| t > 20.0)));
    // For Laplace noise, a threshold can be a fraction, so practically all of the delta is used.
    let delta = explained.loss.parts()[1].to_f64_up();
    assert!(0.99e-12 < delta && delta <= 1e-12, "{}", explained.loss);
    assert_eq!(question.release().unwrap().table.num_rows(), 0);
}
/// Integers are sorted as numbers, and texts as texts, whatever their counts are.
#[test]
fn released_keys_are_sorted_by_their_type() {
    let budget = Budget::epsilon_delta(1.0, 0.02).unwrap();
    let session = private_session(PrivacyUnit::rows(1), 1.0, 0.02);
    let keys = ["10", "2", "-3", "1", "11"];
    for (column, sorted) in
        [("age", ["-3", "1", "2", "10", "11"]), ("town", ["-3", "1", "10", "11", "2"])]
    {
        let sql = format!("SELECT {column}, COUNT(*) FROM people GROUP BY {column}");
        let (plan, mechanisms) = prepared(&session, &sql, &budget);
        let mut exact = Exact::default();
        for (key, count) in keys.iter().zip([5000, 3000, 9000, 1000, 7000]) {
            exact.sums.insert(vec![(*key).into()], vec![IBig::from(count)]);
        }
        let released = noisy(&plan, &mechanisms, &exact).unwrap();
        assert_eq!(released.groups, sorted.map(|key| vec![key.to_owned()]), "{column}");
    }
}
/// The control: a key of three individuals is released more often.
#[test]
fn one_individual_reveals_a_key_with_probability_delta() {
    let budget = Budget::epsilon_delta(1.0, 0.02).unwrap();
    let session = private_session(PrivacyUnit::id("pid", 1), 1.0, 0.02);
    let sql = "SELECT town, COUNT(DISTINCT pid) FROM people GROUP BY town";
    let (plan, mechanisms) = prepared(&session, sql, &budget);
    let mut exact = Exact::default();
    exact.sums.insert(vec!["here".into()], vec![IBig::ONE]);
    let released = |exact: &Exact| {
        let trials = 0..5000;
        trials.filter(|_| !noisy(&plan, &mechanisms, exact).unwrap().groups.is_empty()).count()
    };
    // The expected number of releases with the key is at most 100 of 5000. The probability of 185
    // or more is below 1e-14, and so is the probability of at most 20.
    let found = released(&exact);
    assert!(found < 185 && found > 20, "{found}");
    exact.sums.insert(vec!["here".into()], vec![IBig::from(3)]);
    assert!(released(&exact) > 185);
}
/// Return the least whole threshold for which the delta is at most `delta`. The noise is Laplace
/// noise of scale `scale`, without truncation. `changes` has the bounds on the changes by one
/// individual: the L0, the L1 and the L-infinity distance.
fn untruncated(scale: f64, changes: (u32, f64, f64), delta: f64) -> f64 {
    use opendp_core::{AbsoluteDistance, AtomDomain, L01InfDistance, MapDomain, Space};
    use opendp_measurements::{Scale, make_laplace_threshold};
    let domain = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<i64>::default());
    let metric = L01InfDistance::new(AbsoluteDistance::<f64>::new());
    let space = Space::new(domain, metric).unwrap();
    let fits = |threshold: &i64| {
        let scale = Scale::new(scale).unwrap();
        let release = make_laplace_threshold(space.clone(), scale, *threshold, None).unwrap();
        release.map(&changes).is_ok_and(|(_, found)| found <= delta)
    };
    (1..100_000).find(fits).unwrap() as f64
}
#[test]
fn a_threshold_is_at_most_that_of_noise_without_truncation() {
    let sql = "SELECT town, COUNT(DISTINCT pid), SUM(age) FROM people GROUP BY town";
    for (unit, changes) in [
        (PrivacyUnit::id("pid", 1), (1, 1.0, 1.0)),
        (PrivacyUnit::id("pid", 3), (3, 3.0, 1.0)),
        (PrivacyUnit::id("pid", 9).per_group(5, 2), (5, 5.0, 1.0)),
        (PrivacyUnit::rows(3), (3, 3.0, 3.0)),
    ] {
        for (epsilon, delta) in [(0.5, 1e-6), (2.0, 1e-4), (8.0, 1e-9)] {
            let session = private_session(unit.clone(), epsilon, delta);
            let sql = if unit.id.is_some() { sql.into() } else { sql.replace("DISTINCT pid", "*") };
            let question = session.query(&sql).unwrap().noise(Kind::Laplace);
            let releases = question.explain().unwrap().releases;
            let release = releases.iter().find(|release| release.threshold.is_some()).unwrap();
            let (ours, theirs) =
                (release.threshold.unwrap(), untruncated(release.scale, changes, delta));
            assert!(ours <= theirs && theirs < 2.0 * ours, "{unit:?} {epsilon}: {ours} {theirs}");
        }
    }
}
#[test]
fn keys_that_are_not_public_need_a_delta_of_the_query_too() {
    let session = private_session(PrivacyUnit::rows(1), 1.0, 0.1);
    let question = session.query("SELECT COUNT(*) FROM people GROUP BY town").unwrap();
    let error = question.spending(Budget::epsilon(0.5).unwrap()).explain().unwrap_err();
    assert!(error.to_string().contains("delta"), "{error}");
}
#[test]
fn keys_that_many_have_are_released_with_all_aggregates() {
    let session = private_session(PrivacyUnit::rows(1), 1e9, 0.1);
    let sql = "SELECT town, SUM(age), MEDIAN(age) FROM people GROUP BY town ORDER BY town";
    let answer = session.query(sql).unwrap().release().unwrap();
    assert_eq!(answer.table.num_rows(), 2);
    let text = answer.to_string();
    assert!(text.contains("note: keys with a noisy count below "), "{text}");
    let found = numbers(&answer.table);
    assert_eq!((found[0][1], found[1][1]), (190.0, 90.0));
}
/// Compute the scores of a quantile from the counts of the buckets. Check that the transformation
/// of `make_quantile_rank_scores` computes the same scores from the rows.
#[test]
fn scores_from_counts_are_those_of_the_constructor() {
    use opendp_core::{AtomDomain, RangeDistance, Space, SymmetricDistance, VectorDomain};
    use opendp_transformations::{Alpha, make_quantile_rank_scores};
    let session = session(PrivacyUnit::rows(1));
    let budget = Budget::epsilon(1.0).unwrap();
    for alpha in ["0.5", "0.9", "0.005", "0.3333", "1"] {
        let sql = format!("SELECT quantile(clamp(age, 0, 2), {alpha}) FROM people");
        let (plan, mechanisms) = prepared(&session, &sql, &budget);
        let choice = &mechanisms.choices[0];
        let count = plan.buckets[0].candidates.len();
        let mut dice = super::sensitivity::Dice::new(3);
        for _ in 0..20 {
            let rows: Vec<i64> = (0..30).map(|_| dice.below(2 * count + 1) as i64).collect();
            let mut counts = vec![0_u64; 2 * count + 1];
            rows.iter().for_each(|row| counts[*row as usize] += 1);
            let space = VectorDomain::new(AtomDomain::<i64>::default());
            let space = Space::new(space, SymmetricDistance).unwrap();
            let places = (0..count as i64).map(|k| 2 * k + 1).collect();
            // A value beyond the candidates counts as the nearest candidate.
            let last = 2 * count as i64 - 1;
            let rows: Vec<i64> = rows.into_iter().map(|row| row.clamp(1, last)).collect();
            let level = Alpha::from_fraction(choice.alpha.0, choice.alpha.1).unwrap();
            let scores =
                make_quantile_rank_scores::<_, _, RangeDistance<u64>>(space, places, level);
            assert_eq!(scores.unwrap().invoke(&rows).unwrap(), choice.scores(&counts, count));
        }
    }
}
