//! Check two properties of random nested queries. The parts of these queries are joins, subqueries,
//! unions and queries of `WITH`.
//!
//! 1. The exact results are the results of the rows of one individual plus the results of all other
//!    rows. So an individual does not decide which rows of other individuals are kept.
//! 2. The loss of one individual is at most the stated loss. The check computes this loss from the
//!    change of the exact results and from the scales of the noise. It does not use the bounds of
//!    the module `sensitivity`.
//!
//! `OPENDP_TABLES_QUERIES` sets the number of queries.

use std::collections::{BTreeMap, BTreeSet};

use opendp_core::IBig;

use super::sensitivity::{Dice, Person, batch, person};
use super::*;
use crate::check::Checked;
use crate::engine::DataFusion;
use crate::ir::{Addend, Bounding, Plan};
use crate::mechanisms::{Kind, Mechanisms, mechanisms};
use crate::released::{Exact, Group};

/// The columns of each source of a query.
const COLUMNS: &str = "pid, sex, town, age, income, employed";

/// A random query.
struct Writer<'a> {
    dice: &'a mut Dice,
    /// The number of sources so far. This number gives each source its own name.
    sources: usize,
    with: Vec<String>,
}
impl Writer<'_> {
    fn number(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.dice.pick(&["income", "CAST(age AS DOUBLE)"]).into();
        }
        let (x, y) = (self.number(depth - 1), self.number(depth - 1));
        match self.dice.below(8) {
            0 => format!("({x} - {y})"),
            1 => format!("({x} * {y})"),
            2 => format!("({x} / {y})"),
            3 => format!("clamp({x}, {})", self.bounds()),
            4 => format!("coalesce({x}, -3.5)"),
            5 => format!("nullif(floor({x}), {y})"),
            6 => format!("CASE WHEN {} THEN {x} ELSE abs({y}) END", self.condition(depth - 1)),
            _ => x,
        }
    }
    fn bounds(&mut self) -> &'static str {
        let wide = ["-1e12, 1e9", "-1e100, 1e100", "0, 9007199254740992"];
        let narrow = ["-3.5, 100", "0.1, 0.7", "-7, 0", "1e8, 100000100"];
        self.dice.pick(&[&wide[..], &narrow].concat())
    }
    fn text(&mut self) -> &'static str {
        let parts = ["sex", "town", "coalesce(sex, town)", "CASE WHEN employed THEN 'a' END"];
        self.dice.pick(&parts)
    }
    fn condition(&mut self, depth: usize) -> String {
        if depth == 0 {
            return "employed".into();
        }
        match self.dice.below(6) {
            0 => format!("{} > {}", self.number(depth - 1), self.number(depth - 1)),
            1 => format!("({} OR age IN (0, 40))", self.condition(depth - 1)),
            2 => format!("NOT {}", self.condition(depth - 1)),
            3 => format!("{} = 'a'", self.text()),
            4 => format!("{} BETWEEN -7 AND 50", self.number(depth - 1)),
            _ => format!("{} IS NOT NULL", self.number(depth - 1)),
        }
    }
    /// Write a source with the columns [`COLUMNS`].
    fn source(&mut self, depth: usize) -> String {
        self.sources += 1;
        let name = format!("s{}", self.sources);
        if depth == 0 {
            return format!("people AS {name}");
        }
        let inner = self.source(depth - 1);
        match self.dice.below(4) {
            0 => {
                let (sex, income) = (self.text(), self.number(2));
                let columns = format!("pid, {sex} AS sex, town, age, {income} AS income, employed");
                format!("(SELECT {columns} FROM {inner} WHERE {}) AS {name}", self.condition(1))
            }
            1 => {
                let on = self.text();
                let join = match self.dice.below(4) {
                    0 => format!("{inner} JOIN zones AS z ON {on} = z.name"),
                    1 => format!("{inner} LEFT JOIN zones AS z ON z.name = {on}"),
                    2 => format!("zones AS z JOIN {inner} ON z.name = {on}"),
                    _ => format!("zones AS z RIGHT JOIN {inner} ON {on} = z.name"),
                };
                let sex = self.dice.pick(&["sex", "z.region AS sex"]);
                format!("(SELECT pid, {sex}, town, age, income, employed FROM {join}) AS {name}")
            }
            2 => {
                let other = self.source(depth - 1);
                format!(
                    "(SELECT {COLUMNS} FROM {inner} UNION ALL SELECT {COLUMNS} FROM {other}) \
                         AS {name}"
                )
            }
            _ => {
                self.with.push(format!("{name} AS (SELECT {COLUMNS} FROM {inner})"));
                format!(
                    "(SELECT * FROM {name} UNION ALL SELECT * FROM {name} WHERE age > 0) AS {name}"
                )
            }
        }
    }
    fn query(&mut self) -> String {
        let depth = self.dice.below(3);
        let source = self.source(depth);
        let sums = ["COUNT(*)", "SUM", "AVG", "VAR", "COUNT(DISTINCT pid)"];
        let aggregates = [&sums[..], &["MEDIAN", "MAX", "MEDIAN", "MAX"]].concat();
        let count = 1 + self.dice.below(2);
        let aggregates: Vec<String> = (0..count)
            .map(|place| {
                let aggregate = self.dice.pick(&aggregates);
                let only = self.dice.pick(&["", "", " FILTER (WHERE age > 0)"]);
                if aggregate.contains('(') {
                    return format!("{aggregate}{only} AS a{place}");
                }
                let clamped = format!("clamp({}, {})", self.number(2), self.bounds());
                let value = self.dice.pick(&["age".to_owned(), clamped]);
                format!("{aggregate}({value}){only} AS a{place}")
            })
            .collect();
        let keys = ["", "", "sex", "employed", "age > 0", "town", "sex, employed", "age"];
        let keys = self.dice.pick(&keys);
        let by = if keys.is_empty() { String::new() } else { format!(" GROUP BY {keys}") };
        let with = self.with.join(", ");
        let with = if with.is_empty() { with } else { format!("WITH {with} ") };
        format!("{with}SELECT {} FROM {source}{by}", aggregates.join(", "))
    }
}
fn zones() -> (Table, RecordBatch) {
    let table = Table::public("name")
        .with("name", Column::new(Type::Text))
        .with("region", Column::new(Type::Text).keys(["f", "s"]));
    let name = StringArray::from(vec![Some("a"), Some("f"), Some("b"), None, None]);
    let region = StringArray::from(vec![Some("f"), Some("s"), None, Some("s"), Some("f")]);
    let columns = [("name", Arc::new(name) as ArrayRef), ("region", Arc::new(region))];
    (table, RecordBatch::try_from_iter(columns).unwrap())
}
fn unit(dice: &mut Dice) -> PrivacyUnit {
    let limits = [1 + dice.below(3), 1 + dice.below(3)].map(|limit| limit as u32);
    // If ids are text, the engine runs the statements in SQL.
    let id = dice.pick(&["pid", "town"]);
    let unit = PrivacyUnit::id(id, 1 + dice.below(4) as u32);
    match dice.below(4) {
        0 => PrivacyUnit::rows(limits[0]),
        1 => unit,
        2 => unit.per_group(limits[0], limits[1]),
        _ => PrivacyUnit { max_rows: None, ..unit }.per_group(limits[0], limits[1]),
    }
}
/// Make rows. Divide them into the rows of one individual and the rows of all others.
fn divided(dice: &mut Dice, unit: &PrivacyUnit) -> [Vec<Person>; 3] {
    let mut rows: Vec<Person> = (0..1 + dice.below(10)).map(|_| person(dice)).collect();
    let chosen = dice.below(rows.len());
    // The hard cases are equal rows of an individual.
    let equal = vec![rows[chosen].clone(); dice.below(5)];
    rows.splice(chosen..chosen, equal);
    let own = |(place, row): (usize, &Person)| match (unit.id.as_deref(), unit.rows) {
        (Some("pid"), _) => row.pid.is_some() && row.pid == rows[chosen].pid,
        (Some(_), _) => row.town.is_some() && row.town == rows[chosen].town,
        (_, count) => (chosen..).take(count.unwrap() as usize).any(|other| other == place),
    };
    let is_own: Vec<bool> = rows.iter().enumerate().map(own).collect();
    // The scores of quantiles change most if all other rows of the group are below the rows of the
    // individual.
    if dice.below(2) == 0 {
        let (sex, employed) = (rows[chosen].sex, rows[chosen].employed);
        for (row, is_own) in rows.iter_mut().zip(&is_own) {
            row.age = Some(if *is_own { 40 } else { dice.below(2) as i64 });
            (row.sex, row.employed) = (sex, employed);
        }
    }
    let (own, others): (Vec<_>, Vec<_>) = rows.iter().zip(is_own).partition(|(_, is_own)| *is_own);
    let [own, others] =
        [own, others].map(|rows| rows.into_iter().map(|(row, _)| row.clone()).collect());
    [rows, own, others]
}
/// The rows are divided into two parts. Return whether the results of all rows are the sums of the
/// results of the two parts.
fn add_up(plan: &Plan, all: &Exact, parts: [&Exact; 2]) -> bool {
    let sum = |exact: &Exact, group: &Group, k: usize| {
        exact.sums.get(group).map_or(IBig::ZERO, |sums| sums[k].clone())
    };
    let [own, others] = parts;
    let groups: Vec<&Group> = [all, own, others].iter().flat_map(|part| part.sums.keys()).collect();
    let sums = groups.iter().all(|group| {
        (0..plan.sums.len())
            .all(|k| sum(all, group, k) == sum(own, group, k) + sum(others, group, k))
    });
    sums && (0..plan.buckets.len()).all(|k| {
        let mut added: BTreeMap<&Group, Vec<u64>> = BTreeMap::new();
        for (group, counts) in own.buckets[k].iter().chain(&others.buckets[k]) {
            let sums = added.entry(group).or_insert_with(|| vec![0; counts.len()]);
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        let all = all.buckets[k].iter().collect::<BTreeMap<_, _>>();
        added.into_iter().collect::<Vec<_>>()
            == all.into_iter().map(|(group, counts)| (group, counts.clone())).collect::<Vec<_>>()
    })
}
/// Compute the loss of all noise for two tables, from their exact results and the scales.
fn loss_between(plan: &Plan, noises: &Mechanisms, left: &Exact, right: &Exact) -> f64 {
    let gaussian = noises.kind == Kind::Gaussian;
    let cost = |change: f64, scale: f64, parts: f64| {
        if gaussian { (change / scale).powi(2) / parts } else { change / scale }
    };
    let mut loss = 0.0;
    let groups: BTreeSet<&Group> = left.sums.keys().chain(right.sums.keys()).collect();
    for (k, noise) in noises.sums.iter().enumerate() {
        let selecting = noises.selection.as_ref().map(|selection| &selection.noise);
        let scale = noise.as_ref().or(selecting).unwrap().scale;
        for group in &groups {
            let sum =
                |exact: &Exact| exact.sums.get(*group).map_or(IBig::ZERO, |sums| sums[k].clone());
            let change = (sum(left) - sum(right)).to_string().parse::<f64>().unwrap();
            loss += cost(change.abs(), scale, 2.0);
        }
    }
    for choice in &noises.choices {
        let count = plan.buckets[choice.buckets].candidates.len();
        let [left, right] = [left, right].map(|exact| &exact.buckets[choice.buckets]);
        for group in left.keys().chain(right.keys()).collect::<BTreeSet<_>>() {
            let scores = |counts: &BTreeMap<Group, Vec<u64>>| {
                choice.scores(counts.get(group).map_or(&[], Vec::as_slice), count)
            };
            let pairs = scores(left).into_iter().zip(scores(right));
            let changes: Vec<i64> = pairs.map(|(a, b)| a as i64 - b as i64).collect();
            let range = changes.iter().max().unwrap() - changes.iter().min().unwrap();
            loss += cost(range as f64, choice.noise.scale, 8.0);
        }
    }
    loss
}
/// Try random queries. The function `noise` returns the noise that the checks assume for a query.
/// Its second argument is a function that finds the true noise of a query. Each query runs three
/// times: on all rows, on the rows of an individual, and on the other rows. Each run uses one of
/// the `seeds`. Return the reason if a check fails.
fn tried(
    count: usize,
    number: u64,
    seeds: [&str; 3],
    noise: impl Fn(&Checked, &dyn Fn(&Checked) -> Mechanisms) -> Mechanisms,
) -> Option<String> {
    let mut dice = Dice::new(number);
    let (public, rows_of_zones) = zones();
    let mut known = metadata(described(PrivacyUnit::rows(1)));
    known.tables.insert("zones".into(), public.clone());
    let mut session = Session::with_engine(known, Box::new(DataFusion::new().unwrap())).unwrap();
    let engine = DataFusion::new().unwrap();
    engine.register("zones", &public, Source::Batches(vec![rows_of_zones])).unwrap();
    let (mut checked_queries, mut changed) = (0, 0);
    while checked_queries < count {
        let unit = unit(&mut dice);
        let table = described(unit.clone());
        session.metadata.tables.insert("people".into(), table.clone());
        let sql = Writer { dice: &mut dice, sources: 0, with: Vec::new() }.query();
        // Some queries are refused, for example those with `GROUP BY` and the id.
        let Ok(checked) = session.checked(&sql) else { continue };
        let [rows, own, others] = divided(&mut dice, &unit);
        if own.is_empty() {
            continue;
        }
        let run = |part: usize, rows: &[Person]| {
            let name = format!("people {checked_queries} {part}");
            engine.register(&name, &table, Source::Batches(vec![batch(rows)])).unwrap();
            let mut plan = checked.plan.clone();
            plan.branches.iter_mut().for_each(|branch| branch.table = name.clone());
            Exact::run(&plan, &engine, seeds[part]).unwrap()
        };
        let (all, own, others) = (run(0, &rows), run(1, &own), run(2, &others));
        checked_queries += 1;
        changed += usize::from(all.sums != others.sums || all.buckets != others.buckets);
        if !add_up(&checked.plan, &all, [&own, &others]) {
            return Some(format!("not added up: {sql}\n{unit:?}\n{rows:?}"));
        }
        let private = checked.plan.keys.iter().any(|key| key.public.is_none());
        let budget = match (private, dice.below(2)) {
            (true, _) => Budget::epsilon_delta(0.7, 1e-6).unwrap(),
            (false, 0) => Budget::epsilon(0.7).unwrap(),
            _ => Budget::rho(0.1).unwrap(),
        };
        let kind = if private { Kind::Laplace } else { Kind::Best };
        let noises =
            noise(&checked, &|checked| mechanisms(checked, None, kind, budget.amount()).unwrap());
        let stated = noises.loss.parts()[0].to_f64_up();
        let loss = loss_between(&checked.plan, &noises, &all, &others);
        if stated * (1.0 + 1e-9) < loss {
            return Some(format!("loss {loss}, stated {stated}: {sql}\n{unit:?}\n{rows:?}"));
        }
    }
    // The individual must change the results of more than a third of the queries. Otherwise, the
    // checks would show little.
    assert!(changed * 3 > count, "{changed} of {count}");
    None
}
const SEEDS: [&str; 3] = ["0123456789abcdef"; 3];
/// The default number of random queries, and the seed of these queries.
const QUERIES: usize = 20;
const SEED: u64 = 26;

#[test]
fn individuals_add_up_and_their_loss_is_at_most_the_stated_loss() {
    let count = std::env::var("OPENDP_TABLES_QUERIES").ok().and_then(|text| text.parse().ok());
    assert_eq!(tried(count.unwrap_or(QUERIES), SEED, SEEDS, |checked, find| find(checked)), None);
}
#[test]
fn control_noise_for_half_of_the_values_is_found() {
    let halved = |checked: &Checked, find: &dyn Fn(&Checked) -> Mechanisms| {
        let mut checked = checked.clone();
        for sum in &mut checked.plan.sums {
            if let Addend::Value(_, lattice) | Addend::Square(_, lattice) = &mut sum.addend {
                lattice.low = lattice.centre + (lattice.low - lattice.centre) / 2;
                lattice.high = lattice.centre + (lattice.high - lattice.centre) / 2;
            }
        }
        find(&checked)
    };
    assert!(tried(200, 32, SEEDS, halved).unwrap().starts_with("loss"));
}
/// With the default number of queries, the check finds noise that covers only one row of an
/// individual in a group.
#[test]
fn control_quantiles_with_noise_for_one_row_in_a_group_are_found() {
    let of_one_row = |checked: &Checked, find: &dyn Fn(&Checked) -> Mechanisms| {
        let mut changed = checked.clone();
        if let Bounding::Enforced { rows_per_group, .. } = &mut changed.plan.bounding {
            *rows_per_group = Some(1);
        }
        Mechanisms { choices: find(&changed).choices, ..find(checked) }
    };
    let found = tried(QUERIES, SEED, SEEDS, of_one_row);
    assert!(found.is_some_and(|found| found.starts_with("loss")));
}
/// The runs have different seeds, so they keep different rows of an id. A choice that depends on
/// the rows of other ids would have the same effect.
#[test]
fn control_a_choice_that_depends_on_others_is_found() {
    let seeds = ["0123456789abcdef", "0", "1"];
    assert!(
        tried(200, 33, seeds, |checked, find| find(checked)).unwrap().starts_with("not added up")
    );
}
/// With random rows, the actual loss of a quantile is rarely close to the stated loss. Here the
/// individual fills as many groups as the limits allow. The ages of the individual are on the side
/// of the median that changes the scores most.
#[test]
fn quantiles_cost_the_stated_loss_in_all_groups_of_an_individual() {
    let row = |pid: i64, sex: &'static str, age: i64| Person {
        pid: Some(pid),
        sex: Some(sex),
        town: None,
        age: Some(age),
        income: None,
        employed: None,
    };
    let others: Vec<Person> =
        (2..12).flat_map(|pid| ["f", "m"].map(|sex| row(pid, sex, 10 * pid))).collect();
    let (f, m) = (row(1, "f", 50), row(1, "m", 50));
    let four = PrivacyUnit { max_rows: None, ..PrivacyUnit::id("pid", 1) }.per_group(2, 2);
    let three = PrivacyUnit { max_rows: Some(3), ..four.clone() };
    let in_two = [f.clone(), f.clone(), m.clone(), m];
    for (unit, own, budget) in [
        (four.clone(), &in_two[..], Budget::epsilon(0.5)),
        (four, &in_two, Budget::rho(0.1)),
        (three.clone(), &in_two[..3], Budget::epsilon(0.5)),
        (three, &in_two[..3], Budget::rho(0.1)),
        (PrivacyUnit::rows(2), &in_two[..2], Budget::epsilon(0.5)),
        (PrivacyUnit::rows(2), &in_two[..2], Budget::rho(0.1)),
    ] {
        let table = described(unit.clone());
        let idle = Box::new(DataFusion::new().unwrap());
        let session = Session::with_engine(metadata(table.clone()), idle).unwrap();
        let checked = session.checked("SELECT MEDIAN(age) FROM people GROUP BY sex").unwrap();
        let all = [own, &others].concat();
        let [all, others] = [&all, &others].map(|rows| {
            let engine = DataFusion::new().unwrap();
            engine.register("people", &table, Source::Batches(vec![batch(rows)])).unwrap();
            Exact::run(&checked.plan, &engine, SEEDS[0]).unwrap()
        });
        let budget = budget.unwrap();
        let noises = mechanisms(&checked, None, Kind::Best, budget.amount()).unwrap();
        let stated = noises.loss.parts()[0].to_f64_up();
        let loss = loss_between(&checked.plan, &noises, &all, &others);
        assert!(0.99 * stated < loss, "{loss} of {stated}: {unit:?}");
        assert!(loss <= stated * (1.0 + 1e-9), "{loss} of {stated}: {unit:?}");
        assert!(stated <= budget.amount().parts()[0].to_f64_up(), "{stated}");
    }
}
