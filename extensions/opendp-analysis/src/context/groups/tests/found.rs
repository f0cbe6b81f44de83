//! Test questions that find the keys of groups and ask for statistics of these groups, in one plan.

use std::sync::Mutex;

use super::*;
use crate::context::{Entry, Journal};

type Tight = Approximate<MaxDivergence>;

const BOUNDS: (f64, f64) = (20.0, 90.0);

/// Ask for the keys of the columns `names`, and for all kinds of statistics of their groups.
fn everything<'c>(context: &'c Context<Tight>, names: &[&str]) -> Groups<'c, Tight> {
    let groups = context.query().group_by(names.iter().copied()).find_keys().count();
    let groups = groups.sum("years", BOUNDS).mean("years", BOUNDS).variance("years", BOUNDS);
    groups.quantiles("years", &[0.25, 0.5, 0.75], (0..100).map(f64::from).collect())
}

#[test]
fn keys_and_all_statistics_of_their_groups_are_one_question() {
    let context = open(Budget::epsilon_delta(1e5, 1e-6), 1);
    let mut plan = context.plan();
    let people = plan.ask(context.query().count(), Goal::Weight(1.0)).unwrap();
    let asked = plan.ask_groups(everything(&context, &["educ", "sex"]), Goal::Weight(1.0)).unwrap();
    let mut answers = plan.solve().unwrap().release().unwrap();
    // There are five releases: the keys, the sums, the sums of squares, the quantiles, and the
    // count of all rows.
    assert_eq!(context.report().entries().len(), 5);
    assert!((answers.take(people).unwrap().value - 1000).abs() <= 1);
    let rows = answers.take_groups(asked).unwrap().rows(0.05).unwrap();
    let keys: Vec<_> =
        [0, 1, 4].into_iter().flat_map(|educ| [false, true].map(|sex| (educ, sex))).collect();
    assert_eq!(rows.len(), keys.len() * 7);
    for (place, row) in rows.iter().enumerate() {
        let (educ, sex) = keys[place % keys.len()];
        assert_eq!(row.label, format!("{educ}, {sex}"));
        let mut truth = ages(|e, s| e == educ && s == sex);
        truth.sort_by(f64::total_cmp);
        let quantile = |part: f64| truth[(part * truth.len() as f64) as usize];
        let (truth, allowed) = match place / keys.len() {
            0 => (truth.len() as f64, 1.0),
            1 => (truth.iter().sum(), 5.0),
            2 => (mean(&truth), 0.1),
            3 => (variance(&truth), 1.0),
            level => (quantile([0.25, 0.5, 0.75][level - 4]), 3.0),
        };
        assert!((row.value - truth).abs() <= allowed, "{row}: {truth}");
    }
}
#[test]
fn the_keys_and_the_statistics_divide_the_budget_and_are_charged_before_any_answer() {
    /// A journal that keeps the list of entries of each call of `record_plan`.
    struct Calls(Arc<Mutex<Vec<Vec<Entry>>>>);
    impl Journal for Calls {
        fn record(&self, _: &Entry) -> opendp_core::Result<()> {
            Err(Error::FailedFunction("expected the releases of a plan, found one release".into()))
        }
        fn record_plan(&self, entries: &[Entry]) -> opendp_core::Result<()> {
            self.0.lock().unwrap().push(entries.to_vec());
            Ok(())
        }
    }
    let calls = Arc::new(Mutex::new(Vec::new()));
    let context = open(Budget::epsilon_delta(1.0, 1e-6), 1).with_journal(Calls(calls.clone()));
    let groups = context.query().group_by(["educ"]).find_keys().mean("years", BOUNDS);
    assert_eq!(groups.releases(), 2);
    let solved = groups.solve().unwrap();
    let scales: Vec<f64> =
        solved.noises(0.05).unwrap().iter().map(|noised| noised.scales[0]).collect();
    let statistics = solved.statistics(0.05).unwrap();
    assert_eq!(statistics[0].scales, [scales[1], scales[0]]);
    let rows = solved.release().unwrap().rows(0.05).unwrap();
    assert_eq!(rows.len(), 3);
    let calls = calls.lock().unwrap();
    assert_eq!((calls.len(), calls[0].len()), (1, 2));
    let report = context.report();
    assert!(report.exact_total()[0].to_f64_up() <= 1.000_001);
    assert!(context.remaining().unwrap().0 < 0.01, "{:?}", context.remaining());
    // The two releases divide epsilon. The sum of their losses is almost the whole epsilon, and
    // does not exceed this epsilon.
    let epsilons: f64 = calls[0].iter().map(|entry| entry.loss[0].to_f64_up()).sum();
    assert!((0.99..1.000_001).contains(&epsilons), "{epsilons}");
    assert!(1.3 < scales[0] && scales[0] < 6.0, "{scales:?}");
}
#[test]
fn without_a_key_of_many_people_there_are_no_rows_and_the_cost_is_the_same() {
    let rare = |rows: usize| {
        let cities = (0..rows).map(|row| format!("city {}", row % 700)).collect::<Vec<_>>();
        let table = Table::new().with("city", cities).unwrap();
        let years = (0..rows).map(|row| (row % 90) as f64).collect::<Vec<_>>();
        let table = table.with("years", years).unwrap();
        let unit = PrivacyUnit::person(1).unwrap();
        let budget = Budget::epsilon_delta(1.0, 1e-9).unwrap();
        Context::new(table, unit, budget, Split::as_you_go()).unwrap()
    };
    let ask = |context: &Context<Tight>| {
        let groups = context.query().group_by(["city"]).find_keys().impute("years", 0.0);
        let rows = groups.count().mean("years", BOUNDS).release().unwrap().rows(0.05).unwrap();
        (rows.len(), context.report().exact_total().to_vec())
    };
    let (none, spent) = ask(&rare(700));
    // The control: with 150 rows of each city, all cities are found.
    let (all, same) = ask(&rare(700 * 150));
    assert_eq!((none, all), (0, 1400));
    assert_eq!(spent, same);
}
/// Check that the charge is at least the computed loss for every number of groups. The computed
/// loss of a release about several groups can exceed the loss of a release about one group, for two
/// reasons. First, losses are rounded up. Second, if there are too many ways to split a person's
/// rows among the groups, the privacy map returns an upper bound.
#[test]
fn a_person_of_many_rows_is_charged_for_all_numbers_of_groups() {
    // The table has six groups. Suppose that a release about all six groups were charged the cost
    // of a release about one group. Then the computed loss would exceed the charge, and the release
    // would be refused. This would happen for persons with 3, 7 or 100 rows.
    for (rows, epsilon) in [(3, 0.9e6), (7, 1e6), (100, 1e7), (2_000, 1e8)] {
        let context = open(Budget::epsilon_delta(epsilon, 1e-6), rows);
        let answer = everything(&context, &["educ", "sex"]).release().unwrap();
        // Each key has 67 rows or more, and is found if the threshold is well below this number. If
        // a person can have 100 rows or more, the threshold can be above the number of rows of a
        // key.
        let found = answer.rows(0.05).unwrap().len();
        assert!(found == 6 * 7 || 67 < rows, "{rows}: {found}");
    }
}
#[test]
fn the_noise_of_many_groups_is_the_noise_of_one() {
    let scale = |groups: usize, rows: u32| {
        let context = open(Budget::epsilon(1.0), rows);
        let places = (0..groups).map(|place| place as u32);
        let sums = context.query().group_by(["educ"]).keys("educ", places).sum("years", (0.0, 5.0));
        sums.solve().unwrap().noises(0.05).unwrap()[0].scales[0]
    };
    for rows in [1, 3, 100, 1_000] {
        let (single, many) = (scale(1, rows), scale(27, rows));
        assert!((single / f64::from(rows) - 5.0).abs() < 1e-3, "{rows}: {single}");
        // If a person can have more than 724 rows, the computed cost is an upper bound. This upper
        // bound is at most 1/256 above the exact cost.
        let factor = if rows < 725 { 1.000_001 } else { 1.004 };
        assert!(single <= many && many <= single * factor, "{rows}: {single} {many}");
    }
}
#[test]
fn groups_of_an_earlier_answer_are_not_listed_again() {
    let context = open(Budget::epsilon_delta(1e4, 1e-6), 1);
    let educ = || context.query().spending(Budget::epsilon_delta(1e3, 1e-7).unwrap());
    let found = educ().group_by(["educ"]).find().laplace().unwrap().release().unwrap();
    let counted = educ().group_by(["educ"]).keys("educ", [0]).count().release().unwrap();
    let groups = || context.query().group_by(["educ"]);
    for earlier in [groups().found(&found).unwrap(), groups().counted(&counted).unwrap()] {
        let listed = earlier.clone().groups([vec![Json::from(7)]]).count();
        let error = listed.release().unwrap_err().to_string();
        assert!(error.contains("leave out `.groups(..)`"), "{error}");
        assert!(earlier.mean("years", BOUNDS).solve().is_ok());
    }
}
#[test]
fn a_question_that_finds_keys_says_what_does_not_fit() {
    let context = open(Budget::epsilon_delta(1.0, 1e-6), 1);
    let educ = || context.query().group_by(["educ"]).find_keys();
    for (groups, words) in [
        (educ().keys("educ", [1]).count(), "leave out `.find_keys()`"),
        (educ().others().count(), "`.others()`"),
        (educ(), "ask for a statistic"),
        (context.query().group_by(["age"]).find_keys().count(), "has no keys"),
        (educ().mean("city", BOUNDS), "a column of numbers"),
    ] {
        let error = groups.release().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let mut plan = context.plan();
    let refused = plan.ask_groups(educ().sum("years", BOUNDS), Goal::Within(5.0)).unwrap_err();
    assert!(refused.to_string().contains("`Goal::Weight(..)`"), "{refused}");
    plan.ask_groups(educ().count(), Goal::Within(200.0)).unwrap();
    assert!(plan.needs().unwrap().0 < 1.0);
    assert!(context.report().entries().is_empty());
}
#[test]
fn a_charge_pays_only_for_a_cost_that_is_not_larger_in_any_part() {
    use crate::context::account::Cost;
    use opendp_measurements::accounting::SharePair;
    let exact = |text: &str| text.parse::<opendp_core::arith::Exact>().unwrap();
    let normal = |epsilon: &str, square: &str| Cost {
        parts: vec![exact(epsilon), exact("1e-6")],
        mu_squared: Some(exact(square)),
        rho: None,
        pair: None,
    };
    let charged = normal("0.5", "0.01");
    assert!(charged.is_within(&charged) && normal("0.4", "0.009").is_within(&charged));
    assert!(!normal("0.6", "0.01").is_within(&charged));
    assert!(!normal("0.5", "0.011").is_within(&charged));
    // A charge with a `mu` is not enough for a cost without a `mu`. A charge without a `mu` is not
    // enough for a cost with a `mu`.
    let plain = Cost { mu_squared: None, ..charged.clone() };
    assert!(plain.is_within(&plain) && !charged.is_within(&plain) && !plain.is_within(&charged));
    // A charge is enough for a cost only if the pair of the charge dominates the pair of the cost.
    let discrete = |square| Cost {
        pair: Some(SharePair::DiscreteGaussian { square, scale: 9.0 }),
        ..plain.clone()
    };
    assert!(discrete(1).is_within(&discrete(4)) && !discrete(4).is_within(&discrete(1)));
}
#[test]
fn groups_that_were_to_be_found_are_those_of_a_later_answer() {
    let context = open(Budget::epsilon_delta(1e4, 1e-6), 1);
    let share = || Budget::epsilon_delta(1e3, 1e-7).unwrap();
    let educ = || context.query().spending(share()).group_by(["educ"]);
    let found = educ().find().laplace().unwrap().release().unwrap();
    let counted = educ().keys("educ", [0]).count().release().unwrap();
    let truth = mean(&ages(|educ, _| educ == 0));
    let rehearsed = || educ().to_be_found();
    for groups in [rehearsed().found(&found).unwrap(), rehearsed().counted(&counted).unwrap()] {
        let rows = groups.mean("years", BOUNDS).release().unwrap().rows(0.05).unwrap();
        // If the group had no rows, the mean would be the middle of the bounds.
        assert!((rows[0].value - truth).abs() < 1.0 && 2.0 < (truth - 55.0).abs(), "{}", rows[0]);
    }
}
#[test]
fn a_question_that_is_refused_leaves_no_release_in_the_plan() {
    let context = open(Budget::epsilon_delta(1.0, 1e-6), 1);
    let (mut plan, goal) = (context.plan(), Goal::Weight(1.0));
    let people = plan.ask(context.query().count(), goal).unwrap();
    let educ = || context.query().group_by(["educ"]);
    // In each of these questions, the first release is valid: the counts, or the keys. A later
    // release of the question is not valid, so the whole question is refused.
    for wrong in [
        educ().keys("educ", [0, 1]).count().mean("city", BOUNDS),
        educ().find_keys().count().quantiles("years", &[0.5, 0.25], vec![1.0]),
    ] {
        assert!(plan.ask_groups(wrong, goal).is_err());
    }
    let mut answers = plan.solve().unwrap().release().unwrap();
    assert_eq!(context.report().entries().len(), 1);
    assert!(answers.take(people).is_ok());
}
#[test]
fn integers_of_any_length_are_in_the_order_of_their_values() {
    let texts = ["-5", "9", "10", "170141183460469231731687303715884105728"];
    for (place, lower) in texts.iter().enumerate() {
        for higher in &texts[place + 1..] {
            let counts = [lower, higher].map(|text| (format!("[{text}]"), 1));
            let counts: HashMap<String, i64> = counts.into();
            let sorted = super::super::keys::sorted(&counts).unwrap();
            let found: Vec<String> = sorted.iter().map(|(key, _)| key[0].to_string()).collect();
            assert_eq!(found, [*lower, *higher]);
        }
    }
}
