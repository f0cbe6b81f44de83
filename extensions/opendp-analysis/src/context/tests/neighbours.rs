//! Check the losses of random questions on random pairs of neighbouring tables.
//!
//! A release adds noise of a scale `s` to each of several numbers. Let `v` be the vector of the
//! differences between the exact numbers of two tables. The loss between these tables is
//! `sum |v_i| / s` for Laplace noise, and `sum v_i^2 / (2 s^2)` for Gaussian noise. This loss must
//! be at most the stated loss. The exact numbers come from releases with tiny noise, so this check
//! does not use the stability maps. For a person with one row, the largest quotient of this loss
//! and the stated loss must also be near 1. So a stated loss that is slightly too small makes the
//! check fail. Groups under a rho are the only exception: if the number of rows is public, this
//! quotient is about 0.7.

use std::collections::BTreeMap;

use opendp_core::Carrier;
use opendp_core::random::{Seeded, uniform_below};
use serde_json::Value as Json;

use super::*;

/// The largest number of rows of a table.
const MOST_ROWS: usize = 6;
/// A budget for noise of any scale.
const LARGE: f64 = 1e300;
/// The largest loss of a question about groups. At this loss, the noise is tiny.
const OF_GROUPS: f64 = 1e18;

/// Random choices from a fixed seed.
struct Dice(Seeded);
impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        uniform_below(bound as u64, &mut self.0).unwrap() as usize
    }
    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// A row: an age, an income and a city.
type Row = (i64, f64, &'static str);
fn row(dice: &mut Dice) -> Row {
    let incomes = [0.0, 50.0, -50.0, 30.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300];
    let ages = [0, 1, 9, 10, -10, i64::MAX, i64::MIN];
    (dice.pick(&ages), dice.pick(&incomes), dice.pick(&["a", "b", "c"]))
}
fn table_of(rows: &[Row]) -> Table {
    Table::new()
        .with("age", rows.iter().map(|row| row.0).collect())
        .and_then(|table| table.with("income", rows.iter().map(|row| row.1).collect()))
        .and_then(|table| table.with("city", rows.iter().map(|row| row.2.to_owned()).collect()))
        .unwrap()
}
/// Draw two tables that are neighbours under a privacy unit.
fn neighbours(unit: &PrivacyUnit, dice: &mut Dice) -> (Vec<Row>, Vec<Row>) {
    let mut rows: Vec<Row> = (0..MOST_ROWS - 3).map(|_| row(dice)).collect();
    let first = rows.clone();
    for _ in 0..unit.rows() {
        let place = dice.below(MOST_ROWS - 3);
        if unit.size_is_public() {
            rows[place] = row(dice);
        } else {
            rows.insert(place, row(dice));
        }
    }
    if dice.below(2) == 0 { (first, rows) } else { (rows, first) }
}

/// The budgets that the check uses, and the losses of the noise under these budgets.
trait Checked: Accounted<Distance = f64> {
    /// Return a budget of an amount.
    fn budget(amount: f64) -> Budget<Self>;
    /// Return the loss for a change of the numbers. The change is stated in multiples of the scale.
    fn loss(change: &[f64]) -> f64;
}
impl Checked for MaxDivergence {
    fn budget(amount: f64) -> Budget<Self> {
        Budget::epsilon(amount).unwrap()
    }
    fn loss(change: &[f64]) -> f64 {
        change.iter().map(|x| x.abs()).sum()
    }
}
impl Checked for ZeroConcentratedDivergence {
    fn budget(amount: f64) -> Budget<Self> {
        Budget::rho(amount).unwrap()
    }
    fn loss(change: &[f64]) -> f64 {
        change.iter().map(|x| x * x).sum::<f64>() / 2.0
    }
}

/// Return the quotient of the loss between two tables and the stated loss. `width` is about the
/// magnitude of the numbers, and is used as the scale of their noise.
fn quotient<'c, MO: Checked, TO: Carrier>(
    statistic: impl Fn() -> Statistic<'c, MO, TO>,
    width: f64,
    tables: (&Table, &Table),
) -> f64 {
    let question = statistic().noise_of_scale(width).unwrap();
    let precise = statistic().noise_of_scale(width * 1e-9).unwrap();
    let numbers = |table: &Table| {
        let exact = precise.measurement().invoke(table).unwrap().to_json();
        let numbers = match exact {
            Json::Array(numbers) => numbers,
            number => vec![number],
        };
        numbers.iter().map(|x| x.as_f64().unwrap()).collect::<Vec<f64>>()
    };
    let (left, right) = (numbers(tables.0), numbers(tables.1));
    assert_eq!(left.len(), right.len());
    let change: Vec<f64> = left.iter().zip(right).map(|(x, y)| (x - y) / width).collect();
    MO::loss(&change) / question.loss().unwrap()
}
/// For each kind of question, the largest quotient that was found.
type Largest = BTreeMap<&'static str, f64>;
fn note(largest: &mut Largest, kind: &'static str, quotient: f64) {
    let found = largest.entry(kind).or_default();
    *found = found.max(quotient);
}

/// Ask one question of each kind about two neighbouring tables.
fn ask<MO: Checked>(
    context: &Context<MO>,
    tables: (&Table, &Table),
    dice: &mut Dice,
    largest: &mut Largest,
) where
    f64: Noisy<MO>,
    i64: Noisy<MO>,
{
    let limit = dice.pick(&[None, Some(10), Some(0)]);
    let whole = || context.query().spending(MO::budget(LARGE));
    let query = || whole().filter("age", move |age: &i64| limit.is_none_or(|limit| *age < limit));
    let (lower, upper) = dice.pick(&[(-50.0, 50.0), (0.0, 50.0), (-50.0, 0.0), (20.0, 40.0)]);
    let incomes = || query().column::<f64>("income").impute(30.0).clamp(lower, upper);
    let ages = || query().column::<i64>("age").clamp(-10, 10);
    let cities = || query().column::<String>("city");
    let categories = || ["a", "b"].map(str::to_owned).to_vec();
    macro_rules! check {
        ($($kind:literal: $statistic:expr, $width:expr;)*) => {
            $(note(largest, $kind, quotient(|| $statistic, $width, tables));)*
        };
    }
    check! {
        "count": query().count(), 1.0;
        "count of rows": incomes().filter(|income| 25.0 < *income).count(), 1.0;
        "sum": incomes().sum(), 50.0;
        "sum of integers": ages().sum(), 10.0;
        "histogram": cities().histogram(categories()), 1.0;
        "histogram and others": cities().histogram_and_others(categories()), 1.0;
        "bins": ages().histogram_between(vec![0, 10]), 1.0;
        "resized histogram": ages().resize(MOST_ROWS).histogram(vec![0, 10]), 1.0;
        "resized sum": incomes().resize(MOST_ROWS).sum(), 50.0;
        "resized mean": incomes().resize(MOST_ROWS).mean(), 10.0;
        "resized variance": incomes().resize(MOST_ROWS).variance(), 500.0;
    }
    if context.space().domain().size().is_some() {
        let incomes = || whole().column::<f64>("income").impute(30.0).clamp(lower, upper);
        check! {
            "mean": incomes().mean(), 10.0;
            "variance": incomes().variance(), 500.0;
            "sum of all": incomes().sum(), 50.0;
            "resized sum of all": incomes().resize(MOST_ROWS).sum(), 50.0;
        }
    }
}
/// Ask about groups. The noise of the release is tiny, so the released numbers are nearly exact.
fn ask_groups<MO: Checked>(contexts: [Context<MO>; 2], largest: &mut Largest)
where
    f64: Noisy<MO>,
    i64: Noisy<MO>,
{
    let [left, right] = contexts.map(|context| {
        let query = context.query().spending(MO::budget(OF_GROUPS));
        let groups = query.group_by(["city"]).keys("city", ["a", "b"]).others();
        let groups = groups.impute("income", 30.0).count().sum("income", (-50.0, 50.0));
        groups.release().unwrap().rows(0.05).unwrap()
    });
    assert_eq!(left.len(), 6);
    let change: Vec<f64> =
        left.iter().zip(&right).map(|(x, y)| (x.value - y.value) / x.scales[0]).collect();
    note(largest, "groups", MO::loss(&change) / OF_GROUPS);
}

fn largest_of<MO: Checked>(unit: &PrivacyUnit, trials: usize) -> Largest
where
    f64: Noisy<MO>,
    i64: Noisy<MO>,
{
    let (mut dice, mut largest) = (Dice(Seeded::new(1)), Largest::new());
    let open = |table: &Table, amount| {
        let budget = MO::budget(amount);
        Context::new(table.clone(), *unit, budget, Split::as_you_go()).unwrap()
    };
    for _ in 0..trials {
        let (left, right) = neighbours(unit, &mut dice);
        let (left, right) = (table_of(&left), table_of(&right));
        ask(&open(&left, LARGE), (&left, &right), &mut dice, &mut largest);
        ask_groups([open(&left, OF_GROUPS), open(&right, OF_GROUPS)], &mut largest);
    }
    largest
}
/// Check that no loss exceeds the stated loss. The tiny noise on the released numbers changes a
/// quotient by less than 1e-6, except with a probability below 1e-300.
fn check<MO: Checked>(unit: &PrivacyUnit) -> Largest
where
    f64: Noisy<MO>,
    i64: Noisy<MO>,
{
    let largest = largest_of::<MO>(unit, 100);
    for (kind, quotient) in &largest {
        assert!(*quotient <= 1.0 + 1e-6, "{unit:?}, {kind}: {quotient}");
    }
    largest
}
fn units(rows: u32) -> [PrivacyUnit; 2] {
    [PrivacyUnit::person(rows), PrivacyUnit::answers_of_person(rows)].map(Result::unwrap)
}

#[test]
fn the_losses_of_random_questions_about_one_row_are_bounded_and_attained() {
    for unit in units(1) {
        for (kind, quotient) in check::<MaxDivergence>(&unit) {
            assert!(0.999 < quotient, "{unit:?}, {kind}: {quotient}");
        }
        for (kind, quotient) in check::<ZeroConcentratedDivergence>(&unit) {
            // A row that moves to another group changes two counts by 1. A row whose income changes
            // from -50 to 50 changes one sum by 100. No row makes both changes, but each release
            // pays for its own worst case.
            let least = if kind == "groups" && unit.size_is_public() { 0.7 } else { 0.999 };
            assert!(least < quotient, "{unit:?}, {kind}: {quotient}");
        }
    }
}
#[test]
fn the_losses_of_random_questions_about_several_rows_are_bounded() {
    for unit in [2, 3].into_iter().flat_map(units) {
        check::<MaxDivergence>(&unit);
        check::<ZeroConcentratedDivergence>(&unit);
    }
}
