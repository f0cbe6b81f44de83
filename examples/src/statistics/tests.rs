//! The statistics of known tables, compared with values that the tests compute without noise.

use std::path::Path;

use super::*;
use crate::population::generate;
use crate::statistics::quantiles::{age_grid, income_grid};
use crate::statistics::sums::{AGES, INCOMES};

/// An epsilon for which the noise is too small to change the rounded answers.
const HUGE: f64 = 1e7;

fn answer(census: &Census, name: &str) -> f64 {
    let found = census.statistics.iter().find(|statistic| statistic.name == name);
    found.unwrap().answers[0].value.unwrap()
}
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}
/// Return the distance in rank between a value and a quantile. The value has the ranks of all rows
/// that are equal to it.
fn miss(sorted: &[f64], value: f64, (numerator, denominator): (f64, f64)) -> f64 {
    let first = sorted.iter().filter(|x| **x < value).count() as f64;
    let last = sorted.iter().filter(|x| **x <= value).count() as f64;
    let ideal = sorted.len() as f64 * numerator / denominator;
    (first - ideal).max(ideal - last).max(0.0)
}
#[track_caller]
fn check_quantiles(census: &Census, name: &str, data: &[f64], grid: &[f64]) {
    let mut sorted = data.to_vec();
    sorted.sort_by(f64::total_cmp);
    for (which, alpha) in [("25%", (1.0, 4.0)), ("median", (1.0, 2.0)), ("75%", (3.0, 4.0))] {
        let released = answer(census, &format!("{name}, {which}"));
        let best = grid.iter().map(|x| miss(&sorted, *x, alpha)).fold(f64::INFINITY, f64::min);
        assert!(grid.contains(&released));
        assert!(miss(&sorted, released, alpha) <= best + 1.0, "{name}, {which}: {released}");
    }
}
fn check_true(people: &People) {
    let census = census(people, HUGE).unwrap();
    let count = people.age.len() as f64;
    assert_eq!(answer(&census, "people"), count);
    let ages: Vec<f64> = people.age.iter().map(|age| *age as f64).collect();
    let clamped = ages.iter().map(|age| age.clamp(AGES.0 as f64, AGES.1 as f64));
    assert!((answer(&census, "age, mean") - mean(clamped)).abs() < 0.001);
    let clamped = people.income.iter().map(|income| income.clamp(INCOMES.0, INCOMES.1));
    assert!((answer(&census, "income, mean") - mean(clamped)).abs() < 0.1);
    let grid: Vec<f64> = age_grid().into_iter().map(|age| age as f64).collect();
    check_quantiles(&census, "age", &ages, &grid);
    check_quantiles(&census, "income", &people.income, &income_grid());
    let education = census.statistics.last().unwrap();
    for (level, answer) in histogram::LEVELS.zip(&education.answers) {
        let truth = people.educ.iter().filter(|educ| **educ == level).count();
        assert_eq!(answer.value, Some(truth as f64), "level {level}");
    }
    assert_eq!(education.answers[16].value, Some(0.0));
}

#[test]
fn at_a_huge_budget_the_answers_are_true() {
    check_true(&generate(3_000, 5));
}
#[test]
fn at_a_huge_budget_the_answers_about_real_people_are_true() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = workspace.join("../shared/data/pums_ca_1000.csv");
    if !path.exists() {
        eprintln!("SKIPPED: no sample of real people at ../shared/data/pums_ca_1000.csv");
        return;
    }
    let people = People::read(&path).unwrap();
    assert_eq!(people.age.len(), 1_000);
    check_true(&people);
}
#[test]
fn the_total_is_the_sum_of_the_losses_and_within_the_budget() {
    let people = generate(50, 1);
    for epsilon in [1.0, 0.3, 0.1, 1e-3, 7.7, 12_345.678] {
        let census = census(&people, epsilon).unwrap();
        let losses: Vec<f64> = census.statistics.iter().map(|s| s.epsilon).collect();
        assert_eq!(losses.len(), 10);
        assert_eq!(opendp_core::arith::inf_sum(&losses).unwrap(), census.total);
        assert!(census.total <= epsilon, "{} of {epsilon}", census.total);
        assert!(0.999_999 * epsilon < census.total, "{} of {epsilon}", census.total);
        assert!(losses.iter().all(|loss| 0.0 < *loss));
    }
}
#[test]
fn refuses_budgets_that_are_none() {
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 5e-324] {
        let error = census(&People::default(), epsilon).unwrap_err();
        assert_eq!(error.kind(), "Argument", "{error}");
    }
}
#[test]
fn a_table_without_people_has_answers_too() {
    let census = census(&People::default(), 1.0).unwrap();
    assert_eq!(census.statistics.len(), 10);
    assert!(census.statistics[0].answers[0].value.is_some());
}
#[test]
fn accuracies_are_kept_nearly_always() {
    let people = generate(2_000, 9);
    let truth = mean(people.age.iter().map(|age| *age as f64));
    let (mut count_misses, mut mean_misses) = (0, 0);
    for _ in 0..800 {
        let count = sums::people(&people, 0.1).unwrap();
        let error = |statistic: &Statistic, truth: f64| {
            let answer = &statistic.answers[0];
            match answer.accuracy {
                Accuracy::PlusMinus(within) => within < (answer.value.unwrap() - truth).abs(),
                _ => panic!("no accuracy"),
            }
        };
        count_misses += u32::from(error(&count.statistic("", 0), 2_000.0));
        let age = sums::age(&people, 0.1).unwrap().over(&count).statistic("", 0);
        mean_misses += u32::from(error(&age, truth));
    }
    // An interval of the count misses the true value with a probability of 0.047. An interval of
    // the mean misses the true mean less often. So the probability of 95 or more misses in 800
    // intervals is below 10^-13. The probability that no interval of the count misses is below
    // 10^-16.
    assert!(count_misses < 95 && mean_misses < 95, "{count_misses}, {mean_misses}");
    assert!(0 < count_misses, "a bound that is never missed is not a tight one");
}
