use opendp_core::{Approximate, MaxDivergence};
use opendp_measurements::accounting::joined_epsilon;

use super::super::{Budget, Context, PrivacyUnit, Split, Table};
use super::moments::Moments;
use super::*;
use crate::context::{Accounted, Noised};

/// Return the values of row `i`: an education (0, 1 or 4), a sex and an age. Some ages are outside
/// of the bounds 20 and 90.
fn row(i: i64) -> (i64, bool, i64) {
    (i * i % 5, i % 3 == 0, i * 7 % 100)
}
fn table() -> Table {
    let rows = || (0..1000).map(row);
    Table::new()
        .with("educ", rows().map(|row| row.0).collect::<Vec<i64>>())
        .unwrap()
        .with("sex", rows().map(|row| row.1).collect::<Vec<bool>>())
        .unwrap()
        .with("age", rows().map(|row| row.2 as f64).collect::<Vec<f64>>())
        .unwrap()
        .with("years", rows().map(|row| row.2 as i32).collect::<Vec<i32>>())
        .unwrap()
        .with("city", rows().map(|row| ["Lyon", "Lille"][row.2 as usize % 2].to_owned()).collect())
        .unwrap()
}
fn open<MO: Accounted>(budget: Result<Budget<MO>>, unit: u32) -> Context<MO> {
    let unit = PrivacyUnit::person(unit).unwrap();
    Context::new(table(), unit, budget.unwrap(), Split::as_you_go()).unwrap()
}
/// Open a context with a large budget. The noise of its answers is far below 1.
fn large() -> Context<MaxDivergence> {
    open(Budget::epsilon(1e9), 1)
}
fn both<MO: Accounted>(context: &Context<MO>) -> Groups<'_, MO> {
    let groups = context.query().group_by(["educ", "sex"]);
    groups.keys("educ", [0, 1, 4]).keys("sex", [false, true])
}
/// Return the ages of the rows that `keep` selects, clamped to the bounds 20 and 90.
fn ages(keep: impl Fn(i64, bool) -> bool) -> Vec<f64> {
    let rows = (0..1000).map(row).filter(|row| keep(row.0, row.1));
    rows.map(|row| (row.2 as f64).clamp(20.0, 90.0)).collect()
}
fn mean(ages: &[f64]) -> f64 {
    ages.iter().sum::<f64>() / ages.len() as f64
}
fn variance(ages: &[f64]) -> f64 {
    let mean = mean(ages);
    ages.iter().map(|age| (age - mean).powi(2)).sum::<f64>() / (ages.len() - 1) as f64
}

#[test]
fn each_statistic_is_the_one_of_the_rows_of_its_group() {
    let context = large();
    let bounds = (20.0, 90.0);
    let candidates: Vec<f64> = (0..100).map(f64::from).collect();
    let groups = both(&context).count().sum("years", bounds).mean("years", bounds);
    let groups = groups.variance("years", bounds).quantiles("years", &[0.25, 0.5], candidates);
    assert_eq!(groups.releases(), 4);
    let rows = groups.release().unwrap().rows(1e-9).unwrap();
    assert_eq!(rows.len(), 36);
    for (place, row) in rows[..24].iter().enumerate() {
        let (educ, sex) = ([0, 0, 1, 1, 4, 4][place % 6], place % 2 == 1);
        assert_eq!(row.label, format!("{educ}, {sex}"));
        assert_eq!(row.key, [Json::from(educ), Json::from(sex)]);
        let ages = ages(|e, s| e == educ && s == sex);
        let (words, truth) = match place / 6 {
            0 => ("count", ages.len() as f64),
            1 => ("sum of years", ages.iter().sum()),
            2 => ("mean of years", mean(&ages)),
            _ => ("variance of years", variance(&ages)),
        };
        let (low, high) = row.interval.unwrap();
        assert_eq!(row.statistic, words);
        assert!((row.value - truth).abs() < 1e-3, "{row} {truth}");
        assert!(low <= truth && truth <= high && high - low < 1e-2, "{row} {truth}");
    }
    for (place, row) in rows[24..].iter().enumerate() {
        let (educ, sex) = ([0, 0, 1, 1, 4, 4][place % 6], place % 2 == 1);
        let alpha = [0.25, 0.5][place / 6];
        assert_eq!(row.statistic, ["quantile 0.25 of years", "median of years"][place / 6]);
        let all = (0..1000).map(self::row).filter(|row| row.0 == educ && row.1 == sex);
        let all: Vec<f64> = all.map(|row| row.2 as f64).collect();
        let below = all.iter().filter(|age| **age < row.value).count() as f64;
        let up_to = all.iter().filter(|age| **age <= row.value).count() as f64;
        let rank = alpha * all.len() as f64;
        assert!(below - 4.0 <= rank && rank <= up_to + 4.0, "{row} {below} {rank} {up_to}");
    }
}
#[test]
fn rows_of_other_keys_are_left_out_unless_asked_for() {
    let context = large();
    let answers = |groups: Groups<'_, MaxDivergence>| {
        let rows = groups.count().release().unwrap().rows(0.05).unwrap();
        rows.into_iter().map(|row| (row.label, row.value)).collect::<Vec<_>>()
    };
    let educ = [0, 1, 4].map(|educ| (educ.to_string(), ages(|e, _| e == educ).len() as f64));
    let groups = || context.query().group_by(["educ"]).keys("educ", [0, 1]);
    assert_eq!(answers(groups()), educ[..2]);
    let other = large();
    let with_others = other.query().group_by(["educ"]).keys("educ", [0, 1]).others();
    let expected = [educ[0].clone(), educ[1].clone(), ("all else".into(), educ[2].1)];
    assert_eq!(answers(with_others), expected);
    let other = large();
    let listed =
        vec![vec![Json::from(4), Json::from(true)], vec![Json::from(0), Json::from(false)]];
    let listed = other.query().group_by(["educ", "sex"]).groups(listed);
    let count = |educ, sex| ages(|e, s| e == educ && s == sex).len() as f64;
    assert_eq!(
        answers(listed),
        [("4, true".to_owned(), count(4, true)), ("0, false".to_owned(), count(0, false))]
    );
}
#[test]
fn a_filter_comes_before_the_groups() {
    let context = large();
    let kept = context.query().filter("sex", |sex: &bool| *sex).group_by(["educ"]);
    let rows = kept.keys("educ", [1]).mean("years", (20.0, 90.0)).release().unwrap();
    let truth = mean(&ages(|educ, sex| educ == 1 && sex));
    assert!((rows.rows(0.05).unwrap()[0].value - truth).abs() < 1e-3);
}
/// The cost of a release about groups is the loss of the worst case, in which all rows of a person
/// are in one group.
#[test]
fn the_charge_is_what_the_maps_of_the_constructors_say() {
    // Pure loss: there is a release of counts, and a release of sums of numbers between -35 and 35.
    // One person has at most 3 rows. So the sensitivities are 3 and 105.
    let context = open(Budget::epsilon(1.0), 3);
    let solved = both(&context).mean("years", (20.0, 90.0)).solve().unwrap();
    let noises = solved.noises(0.05).unwrap();
    solved.release().unwrap();
    let report = context.report();
    let losses: Vec<f64> = report.entries().iter().map(|e| e.loss[0].to_f64_up()).collect();
    assert!((losses[0] * noises[0].scales[0] / 3.0 - 1.0).abs() < 1e-9, "{losses:?} {noises:?}");
    assert!((losses[1] * noises[1].scales[0] / 105.0 - 1.0).abs() < 1e-9, "{losses:?} {noises:?}");
    let total = report.exact_total()[0].to_f64_up();
    assert!(total <= 1.0 && 1.0 < total + 1e-6, "{total}");
    // Concentrated loss: in the worst case, all 3 rows are in one group, and a sum of numbers from
    // 0 to 90 changes by 270.
    let context = open(Budget::rho(0.5), 3);
    let solved = both(&context).sum("years", (0.0, 90.0)).solve().unwrap();
    let scale = solved.noises(0.05).unwrap()[0].scales[0];
    solved.release().unwrap();
    let loss = context.report().entries()[0].loss[0].to_f64_up();
    let rho = (270.0 / scale).powi(2) / 2.0;
    assert!((loss / rho - 1.0).abs() < 1e-9 && loss <= 0.5, "{loss} {rho}");
    // Under an epsilon and a delta, the loss of Gaussian noise is a `mu`. If counts are also
    // released, each sum adds up the differences between the numbers and the centre 45. So the
    // sensitivity of a sum is 3 * 45 = 135.
    let context = open(Budget::epsilon_delta(1.0, 1e-6), 3);
    let solved = both(&context).count().sum("years", (0.0, 90.0)).solve().unwrap();
    let noises = solved.noises(0.05).unwrap();
    solved.release().unwrap();
    let entries = context.report().entries().to_vec();
    let mut square = 0.0;
    for ((entry, noise), sensitivity) in entries.iter().zip(&noises).zip([3.0, 135.0]) {
        if noise.mechanism == "Gaussian" {
            let mu_squared = entry.mu_squared.as_ref().unwrap().to_f64_up();
            assert!(
                (mu_squared.sqrt() * noise.scales[0] / sensitivity - 1.0).abs() < 1e-6,
                "{entry:?}"
            );
            square += mu_squared;
        } else {
            let loss = entry.loss[0].to_f64_up();
            assert!((loss * noise.scales[0] / sensitivity - 1.0).abs() < 1e-6, "{entry:?}");
        }
    }
    assert!(joined_epsilon(0.0, square.sqrt(), 1e-6).unwrap() <= 1.0 + 1e-9);
}
#[test]
fn gaussian_sums_of_groups_have_the_mu_of_the_worst_group() {
    let context = open(Budget::epsilon_delta(1.0, 1e-6), 2);
    let mut plan = context.plan();
    let many: Vec<_> = (0..30)
        .map(|_| plan.ask_groups(both(&context).sum("years", (0.0, 90.0)), Goal::Weight(1.0)))
        .collect::<Result<_>>()
        .unwrap();
    let solved = plan.solve().unwrap();
    let noises = solved.noises(0.05).unwrap();
    assert!(noises.iter().all(|noise| noise.mechanism == "Gaussian"), "{noises:?}");
    let mut answers = solved.release().unwrap();
    for asked in many {
        assert_eq!(answers.take_groups(asked).unwrap().rows(0.05).unwrap().len(), 6);
    }
    for (entry, noise) in context.report().entries().iter().zip(&noises) {
        let mu = entry.mu_squared.as_ref().unwrap().to_f64_up().sqrt();
        assert!((mu * noise.scales[0] / 180.0 - 1.0).abs() < 1e-6, "{mu} {noise:?}");
    }
}
#[test]
fn intervals_cover_the_truth_and_not_much_more() {
    let (mut missed, mut rows, mut wide) = ([0; 4], 0, 0);
    let truths: Vec<Vec<f64>> = [0, 1, 4].map(|educ| ages(|e, _| e == educ)).to_vec();
    for _ in 0..120 {
        let context = open(Budget::epsilon(2.0), 1);
        let groups = context.query().group_by(["educ"]).keys("educ", [0, 1, 4]);
        let bounds = (20.0, 90.0);
        let groups = groups.count().sum("years", bounds).mean("years", bounds);
        let found = groups.variance("years", bounds).release().unwrap().rows(0.1).unwrap();
        for (place, row) in found.iter().enumerate() {
            let ages = &truths[place % 3];
            let truth = match place / 3 {
                0 => ages.len() as f64,
                1 => ages.iter().sum(),
                2 => mean(ages),
                _ => variance(ages),
            };
            let (low, high) = row.interval.unwrap();
            missed[place / 3] += usize::from(!(low <= truth && truth <= high));
            wide += usize::from(place / 3 == 2 && high - low > 10.0);
            rows += 1;
        }
    }
    assert_eq!(rows, 1440);
    // For each statistic, at most 36 of the 360 intervals are expected to miss. 84 misses are more
    // than eight standard deviations above 36.
    assert!(missed.iter().all(|missed| *missed < 84), "{missed:?}");
    // The control: this test also fails if the intervals are much too wide. Some intervals of
    // counts and sums miss, and each interval of a mean has at most the width 10.
    assert!(0 < missed[0] && 0 < missed[1] && wide == 0, "{missed:?} {wide}");
}
#[test]
fn a_mean_shares_the_count_and_needs_half_of_the_noise() {
    let context = open(Budget::epsilon(1.0), 1);
    let groups = || context.query().group_by(["educ"]).keys("educ", [0, 1, 4]);
    let bounds = (0.0, 90.0);
    let scales = |groups: Groups<'_, MaxDivergence>| {
        let noises = groups.solve().unwrap().noises(0.05).unwrap();
        noises.iter().map(|noise| noise.scales[0]).collect::<Vec<_>>()
    };
    let alone = scales(groups().mean("years", bounds));
    let together = scales(groups().count().mean("years", bounds).sum("years", bounds));
    assert_eq!(alone, together);
    // Each release gets half of epsilon. The largest distance of a value from the middle of the
    // bounds is 45.
    assert!((alone[0] - 2.0).abs() < 1e-6 && (alone[1] - 90.0).abs() < 1e-4, "{alone:?}");
    // If no count is asked for, the numbers themselves are summed. Sums of distances from the
    // middle would need an additional release of counts.
    let sum = scales(groups().sum("years", bounds));
    assert!(sum.len() == 1 && (sum[0] - 90.0).abs() < 1e-4, "{sum:?}");
}
#[test]
fn keys_are_found_under_a_delta_and_their_counts_are_shared() {
    let context = open(Budget::epsilon_delta(1e4, 1e-6), 1);
    let groups = context.query().group_by(["city", "sex"]);
    let share = || Budget::epsilon_delta(1e3, 1e-7).unwrap();
    let found = context.query().spending(share()).group_by(["city", "sex"]);
    let found = found.find().laplace().unwrap().release().unwrap();
    fn asked(groups: Groups<'_, Approximate<MaxDivergence>>) -> Vec<Noised> {
        let solved = groups.count().mean("years", (20.0, 90.0)).solve().unwrap();
        solved.noises(0.05).unwrap()
    }
    let rehearsed = asked(groups.clone().to_be_found());
    let groups = groups.found(&found).unwrap().count().mean("years", (20.0, 90.0));
    assert_eq!(groups.releases(), 1);
    assert_eq!(groups.clone().solve().unwrap().noises(0.05).unwrap(), rehearsed);
    let rows = groups.release().unwrap().rows(0.05).unwrap();
    let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(labels[..4], ["Lille, false", "Lille, true", "Lyon, false", "Lyon, true"]);
    let truth = (0..1000).map(row).filter(|row| row.2 % 2 == 1 && !row.1).count();
    assert!((rows[0].value - truth as f64).abs() < 1.0);
    assert_eq!(context.report().entries().len(), 2);
    // The control: a key of one row is not found.
    let rare = Table::new().with("city", vec!["Ulm".to_owned()]).unwrap();
    let (unit, budget) = (PrivacyUnit::person(1).unwrap(), Budget::epsilon_delta(1.0, 1e-9));
    let context = Context::new(rare, unit, budget.unwrap(), Split::evenly(2).unwrap()).unwrap();
    let groups = context.query().group_by(["city"]);
    let found = groups.find().laplace().unwrap().release().unwrap();
    let none = groups.found(&found).unwrap().mean("city", (0.0, 1.0)).release().unwrap();
    assert!(none.rows(0.05).unwrap().is_empty());
}
#[test]
fn a_question_of_a_split_takes_a_share_for_each_release() {
    for budget in [1.0, 7.0] {
        let (unit, split) = (PrivacyUnit::person(1).unwrap(), Split::evenly(4).unwrap());
        let budget = Budget::epsilon_delta(budget, 1e-6).unwrap();
        let context = Context::new(table(), unit, budget, split).unwrap();
        let groups = both(&context).mean("years", (20.0, 90.0));
        assert_eq!(groups.releases(), 2);
        groups.release().unwrap();
        // The question about groups used two of the four shares. So two more questions are
        // possible, and they can be of other kinds.
        let cities = context.query().column::<String>("city").count_by();
        cities.laplace().unwrap().release().unwrap();
        context.query().count().best().unwrap().release().unwrap();
        assert_eq!(context.query().count().best().unwrap_err().kind(), "BudgetExceeded");
    }
}
#[test]
fn wanted_accuracies_are_of_counts_sums_and_quantiles() {
    let context = open(Budget::rho(1.0), 1);
    let mut plan = context.plan();
    let counts = plan.ask_groups(both(&context).count(), Goal::Within(50.0)).unwrap();
    let refused = plan.ask_groups(both(&context).mean("years", (0.0, 1.0)), Goal::Within(1.0));
    assert!(refused.unwrap_err().to_string().contains("write `Goal::Weight(..)`"));
    let solved = plan.solve().unwrap();
    assert!(solved.noises(0.05).unwrap()[0].accuracy.unwrap() <= 50.0);
    let answer = solved.release().unwrap().take_groups(counts).unwrap();
    assert_eq!(answer.columns(), ["educ", "sex"]);
    assert!(context.remaining().unwrap() > 0.9);
}
#[test]
fn wrong_groups_say_what_to_write() {
    let context = open(Budget::epsilon(1.0), 1);
    let educ = || context.query().group_by(["educ"]).keys("educ", [0, 1]);
    let listed = |key| context.query().group_by(["educ"]).groups([key]);
    let bounds = (0.0, 1.0);
    for (groups, words) in [
        (both(&context), "ask for a statistic"),
        (context.query().group_by(["educ"]).count(), "`.keys(\"educ\", values)`"),
        (context.query().group_by([""; 0]).count(), "at least one column"),
        (context.query().group_by(["educ"; 2]).keys("educ", [0]).count(), "`educ` is listed twice"),
        (educ().keys("sex", [true]).count(), "rows are grouped by educ"),
        (educ().keys("educ", [0, 0]).count(), "a key is listed twice"),
        (educ().keys("educ", ["x"]).count(), "keys `educ`"),
        (context.query().group_by(["age"]).keys("age", [1]).count(), "has no keys"),
        (context.query().group_by(["wage"]).keys("wage", [1]).count(), "no such column"),
        (educ().keys("educ", [0; 0]).count(), "found 0"),
        (educ().mean("age", bounds), "`.impute(\"age\", value)`"),
        (educ().mean("city", bounds), "a column of numbers"),
        (educ().mean("years", (1.0, 0.0)), "bounds"),
        (educ().mean("years", (0.0, f64::INFINITY)), "bounds"),
        (educ().quantiles("years", &[0.5, 0.5], vec![1.0]), "increasing order"),
        (educ().quantiles("years", &[1.5], vec![1.0]), "alpha"),
        (listed([1, 2].map(Json::from).to_vec()).count(), "for each column"),
        (educ().groups([vec![Json::from(1)]]).count(), "either `.keys(..)` or `.groups(..)`"),
    ] {
        let error = groups.release().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert!(context.report().entries().is_empty());
    assert!(educ().mean("years", bounds).release().unwrap().rows(0.0).is_err());
}
#[test]
fn a_missing_number_is_what_was_said() {
    let cells = vec![f64::NAN, 4.0, f64::NAN, 8.0];
    let table = Table::new().with("group", vec![1_i64, 1, 2, 2]).unwrap();
    let table = table.with("x", cells).unwrap();
    let (unit, budget) = (PrivacyUnit::person(1).unwrap(), Budget::epsilon(1e9).unwrap());
    let context = Context::new(table, unit, budget, Split::as_you_go()).unwrap();
    let groups = context.query().group_by(["group"]).keys("group", [1, 2]).impute("x", 2.0);
    let rows = groups.mean("x", (0.0, 10.0)).variance("x", (0.0, 10.0)).release().unwrap();
    let rows: Vec<f64> = rows.rows(0.05).unwrap().iter().map(|row| row.value).collect();
    for (found, truth) in rows.iter().zip([3.0, 5.0, 2.0, 18.0]) {
        assert!((found - truth).abs() < 1e-3, "{rows:?}");
    }
}
#[test]
fn what_is_known_beforehand_is_what_the_rows_then_have() {
    let context = open(Budget::epsilon(1.0), 1);
    let bounds = (20.0, 90.0);
    let groups = both(&context).count().mean("years", bounds).variance("years", bounds);
    let solved = groups.sum("years", bounds).quantiles("years", &[0.5], vec![1.0, 50.0]);
    let solved = solved.solve().unwrap();
    let known = solved.statistics(0.05).unwrap();
    let rows = solved.release().unwrap().rows(0.05).unwrap();
    for (place, row) in rows.iter().enumerate() {
        let known = &known[place / 6];
        assert_eq!((&known.query, &known.scales), (&row.statistic, &row.scales));
        if let (Some(error), Some((low, high))) = (known.accuracy, row.interval) {
            assert!((high - low - 2.0 * error).abs() < 1e-6, "{row} {error}");
        }
    }
    let stated: Vec<bool> = known.iter().map(|known| known.accuracy.is_some()).collect();
    assert_eq!(stated, [true, false, false, false, true]);
}
#[test]
fn a_group_without_rows_has_an_answer_within_the_bounds() {
    for _ in 0..20 {
        let context = open(Budget::epsilon(0.1), 1);
        let groups = context.query().group_by(["educ"]).keys("educ", [77]);
        let rows = groups.mean("years", (20.0, 90.0)).variance("years", (20.0, 90.0));
        for row in rows.release().unwrap().rows(0.05).unwrap() {
            let (low, high) = row.interval.unwrap();
            assert!(row.value.is_finite() && low <= high && 0.0 <= low, "{row}");
        }
    }
}
#[test]
fn the_centre_of_any_bounds_is_exact_and_near_the_middle() {
    for (lower, upper) in
        [(0.0, 1e-9), (0.1, 0.3), (-1e12, 3e12), (1e5, 1e5), (-7.0, 7.0), (1e17, 1.1e17)]
    {
        let moments = Moments::new((lower, upper), true).unwrap();
        let width = upper - lower;
        let (low, high) = moments.bounds;
        if moments.centre != 0.0 {
            assert!(high <= width * 0.5001 + 1e-12 && -low == high, "{moments:?}");
        }
        assert!(low <= lower - moments.centre && upper - moments.centre <= high, "{moments:?}");
    }
    assert_eq!(Moments::new((2.0, 4.0), false).unwrap().bounds, (2.0, 4.0));
    assert!(Moments::new((-1e300, 1e300), true).unwrap().offset().is_err());
}

mod earlier;
mod found;
mod within;
