//! Test means with a wanted accuracy. The counts of the groups were released before.

use opendp_measurements::Scale;
use opendp_measurements::accuracy::{Estimate, Noise};

use super::*;
use crate::context::Centre;

const BOUNDS: (f64, f64) = (20.0, 90.0);

fn counted<MO: Accounted>(context: &Context<MO>, share: Budget<MO>) -> GroupAnswer
where
    f64: Noisy<MO>,
{
    let groups = context.query().spending(share).group_by(["educ"]).keys("educ", [0, 1]);
    groups.others().count().release().unwrap()
}
/// Ask for the means of the counted groups. Return the largest error of these means, divided by
/// `goal`.
fn error<MO: Accounted>(context: &Context<MO>, share: Budget<MO>, goal: f64) -> f64
where
    f64: Noisy<MO>,
{
    let counts = counted(context, share);
    let groups = context.query().group_by(["educ"]).counted(&counts).unwrap();
    let groups = groups.mean("years", BOUNDS);
    assert_eq!(groups.releases(), 1);
    let mut plan = context.plan();
    let asked = plan.ask_groups(groups, Goal::Within(goal)).unwrap();
    let answer = plan.solve().unwrap().release().unwrap().take_groups(asked).unwrap();
    let truths = [0, 1, 4].map(|educ| mean(&ages(|e, _| e == educ)));
    let rows = answer.rows(0.05).unwrap();
    assert_eq!(rows.len(), 3);
    let errors = rows.iter().zip(truths).map(|(row, truth)| (row.value - truth).abs() / goal);
    errors.fold(0.0, f64::max)
}

#[test]
fn means_of_counted_groups_are_within_their_goal() {
    let times = 150;
    let (mut pure, mut tight) = (0, 0);
    // With exact counts, the plan spends about 0.34. This amount is nearly proportional to 1
    // divided by the count of the smallest group, which has 200 rows. The noise of a count has the
    // scale 2.5. So in 150 trials with 3 counts each, the noise of every count is at most 68,
    // except with probability 1e-9. Then the plan spends from 0.25 to 0.52. The counts cost 0.4 of
    // the budget of 1, so the plan leaves from 0.08 to 0.35 of the remaining 0.6.
    for _ in 0..times {
        let context = open(Budget::epsilon(1.0), 1);
        pure += i32::from(error(&context, Budget::epsilon(0.4).unwrap(), 3.5) <= 1.0);
        let left = context.remaining().unwrap();
        assert!(0.05 < left && left < 0.45, "{left}");
        let context = open(Budget::epsilon_delta(2.0, 1e-6), 1);
        let share = Budget::epsilon_delta(0.5, 1e-7).unwrap();
        tight += i32::from(error(&context, share, 4.0) <= 1.0);
    }
    // Each of the three means misses its goal with probability at most 0.05. So in each trial, all
    // three are within the goal with probability at least 0.85. For 150 trials, the expected number
    // is at least 127.5. By the binomial distribution, the probability that fewer than 94 trials
    // are within the goal is at most 6e-12.
    assert!(94 <= pure && 94 <= tight, "{pure} {tight}");
}
/// The middle of the bounds is 1500000.5, and the centre is rounded to 1500001. Cells beyond a
/// bound still count as the bound. Half of the cells are beyond each bound. If all cells were
/// beyond one bound, a wrong mean would be moved to this bound, and the test would pass.
#[test]
fn cells_are_clamped_to_the_bounds_and_not_around_the_rounded_centre() {
    let bounds = (0.0, 3_000_001.0);
    let cells: Vec<f64> = (0..500).map(|k| if k % 2 == 0 { 1e300 } else { -1e300 }).collect();
    let table = Table::new().with("educ", vec![1_i64; 500]).unwrap();
    let table = table.with("income", cells).unwrap();
    let (unit, budget) = (PrivacyUnit::person(1).unwrap(), Budget::epsilon(7e12).unwrap());
    let context = Context::new(table, unit, budget, Split::evenly(7).unwrap()).unwrap();
    let educ = || context.query().group_by(["educ"]).keys("educ", [1]).impute("income", 0.0);
    // With clamping around the centre, the mean would be 1500001, and the variance 1.5e6 larger.
    let (middle, rows) = (1_500_000.5_f64, 500.0);
    let means = educ().mean("income", bounds).release().unwrap().rows(0.05).unwrap();
    assert!((means[0].value - middle).abs() < 0.1, "{}", means[0]);
    let variances = educ().variance("income", bounds).release().unwrap().rows(0.05).unwrap();
    let variance = middle.powi(2) * rows / (rows - 1.0);
    assert!((variances[0].value - variance).abs() < 1e5, "{} {variance}", variances[0]);
    let centre = Centre::of(bounds.0, bounds.1).unwrap();
    let incomes = context.query().column::<f64>("income").impute(0.0).sum_around(&centre);
    let sum = incomes.laplace().unwrap().release().unwrap().estimate().unwrap();
    let count = context.query().count().laplace().unwrap().release().unwrap();
    let (mean, _) = centre.mean(&sum, &count.estimate().unwrap(), 0.05).unwrap();
    assert!((mean - middle).abs() < 0.1, "{mean}");
}
#[test]
fn keys_of_an_answer_do_not_replace_listed_keys() {
    let context = open(Budget::epsilon(1.0), 1);
    let counts = counted(&context, Budget::epsilon(0.4).unwrap());
    let groups = context.query().group_by(["educ"]).keys("educ", [0]);
    let error = groups.counted(&counts).unwrap_err().to_string();
    assert!(error.contains("counted") && error.contains("leave out `.keys(..)`"), "{error}");
}
#[test]
fn a_goal_takes_counts_that_are_good_enough() {
    let context = open(Budget::epsilon(1.0), 1);
    let counts = counted(&context, Budget::epsilon(0.4).unwrap());
    let groups = || context.query().group_by(["educ"]).mean("years", BOUNDS);
    let error = context.plan().ask_groups(groups().keys("educ", [0]), Goal::Within(1.0));
    assert!(error.unwrap_err().to_string().contains("`.counted(..)`"));
    let fine = groups().counted(&counts).unwrap();
    let error = context.plan().ask_groups(fine, Goal::Within(0.5)).unwrap_err().to_string();
    assert!(error.contains("goal") && error.contains("a more exact count"), "{error}");
    let other = context.query().group_by(["sex"]).counted(&counts).unwrap_err();
    assert!(other.to_string().contains("expected an answer about groups by sex"), "{other}");
    let large = large();
    let sums = large.query().group_by(["educ"]).keys("educ", [0]).sum("years", BOUNDS);
    let error = groups().counted(&sums.release().unwrap()).unwrap_err();
    assert!(error.to_string().contains("no counts"), "{error}");
    // A variance cannot have a wanted accuracy, even after a release of counts.
    let variance = context.query().group_by(["educ"]).counted(&counts).unwrap();
    let variance = variance.variance("years", BOUNDS);
    assert!(context.plan().ask_groups(variance, Goal::Within(9.0)).is_err());
}
#[test]
fn a_mean_without_groups_is_within_its_goal() {
    let (times, mut within) = (150, 0);
    let truth = mean(&ages(|_, _| true));
    for _ in 0..times {
        let context = open(Budget::epsilon(1.0), 1);
        let count = context.query().spending(Budget::epsilon(0.3).unwrap()).count();
        let count = count.laplace().unwrap().release().unwrap().estimate().unwrap();
        let centre = Centre::of(BOUNDS.0, BOUNDS.1).unwrap();
        let goal = centre.within(0.8, &count).unwrap();
        let mut plan = context.plan();
        let ages = context.query().column::<f64>("age").impute(0.0).sum_around(&centre);
        let asked = plan.ask(ages, goal).unwrap();
        let sum = plan.solve().unwrap().release().unwrap().take(asked).unwrap();
        let (mean, (low, high)) = centre.mean(&sum.estimate().unwrap(), &count, 0.05).unwrap();
        assert!(low <= mean && mean <= high);
        within += i32::from((mean - truth).abs() <= 0.8);
    }
    // At least 95 % of 150 trials, about 142, are expected to be within the goal. By the binomial
    // distribution, the probability that fewer than 119 trials are within the goal is at most
    // 3e-12.
    assert!(119 <= within, "{within}");
}
#[test]
fn the_goal_of_half_of_alpha_holds_for_every_kind_of_noise() {
    let unit = Scale::new(1.0).unwrap();
    let ratio = |noise: Noise| noise.quantile(0.025).unwrap() / noise.quantile(0.05).unwrap();
    assert!(ratio(Noise::gaussian(unit)) < ratio(Noise::laplace(unit)));
}
#[test]
fn counts_of_an_earlier_answer_keep_the_name_of_their_noise() {
    fn name<MO: Accounted>(context: &Context<MO>, share: Budget<MO>) -> String
    where
        f64: Noisy<MO>,
    {
        let counts = counted(context, share);
        let groups = context.query().group_by(["educ"]).counted(&counts).unwrap();
        groups.count().solve().unwrap().statistics(0.05).unwrap()[0].mechanism.clone()
    }
    let (pure, rho) = (open(Budget::epsilon(1.0), 1), open(Budget::rho(1.0), 1));
    assert_eq!(name(&pure, Budget::epsilon(0.4).unwrap()), "Laplace");
    assert_eq!(name(&rho, Budget::rho(0.4).unwrap()), "Gaussian");
}
#[test]
fn bounds_of_an_unusual_size_are_named() {
    let context = open(Budget::epsilon(1.0), 1);
    let groups = || context.query().group_by(["educ"]).keys("educ", [0, 1]);
    let kind = |answer: Result<GroupAnswer>| answer.map(|_| ()).map_err(|error| error.to_string());
    for error in [
        kind(groups().variance("years", (-1e82, 1e82)).release()),
        kind(groups().variance("years", (0.0, 1e200)).release()),
        kind(groups().sum("years", (0.0, 1e-200)).release()),
        kind(groups().sum("years", (0.0, 1e200)).release()),
    ] {
        let error = error.unwrap_err();
        assert!(error.contains("argument `bounds`") && error.contains("too wide"), "{error}");
    }
    // The fourth powers of these bounds are too large, but a sum needs only squares.
    assert_eq!(kind(groups().sum("years", (0.0, 1e99)).release()), Ok(()));
    let centre = Centre::of(BOUNDS.0, BOUNDS.1).unwrap();
    let count = Estimate::released(100.0, Noise::discrete_laplace(Scale::new(2.0).unwrap()));
    for error in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let found = centre.within(error, &count).unwrap_err().to_string();
        assert!(found.contains("argument `goal`: expected a finite number above 0"), "{found}");
    }
}
