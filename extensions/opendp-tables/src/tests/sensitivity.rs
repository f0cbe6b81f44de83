//! Check that the claimed sensitivity is never exceeded. The tables, the queries and the neighbours
//! are random. Neighbours differ in one individual. `OPENDP_TABLES_QUERIES` sets the number of
//! queries.

use std::collections::BTreeMap;

use opendp_core::IBig;

use super::*;
use crate::engine::DataFusion;
use crate::ir::{Addend, Bounding, Plan};
use crate::released::{Exact, Group};
use crate::sensitivity::{Contribution, sensitivity};

/// A small generator of random choices.
pub(crate) struct Dice(u64);
impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed)
    }
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
    pub(crate) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) pid: Option<i64>,
    pub(crate) sex: Option<&'static str>,
    pub(crate) town: Option<&'static str>,
    pub(crate) age: Option<i64>,
    pub(crate) income: Option<f64>,
    pub(crate) employed: Option<bool>,
}
pub(crate) fn person(dice: &mut Dice) -> Person {
    let ages = [None, Some(0), Some(1), Some(40), Some(100), Some(101), Some(-7)];
    let wild = [Some(i64::MAX), Some(i64::MIN), Some(1 << 53)];
    let incomes = [
        None,
        Some(0.0),
        Some(-0.0),
        Some(0.3),
        Some(999.7),
        Some(1e308),
        Some(-1e308),
        Some(f64::NAN),
        Some(f64::INFINITY),
        Some(f64::NEG_INFINITY),
        Some(5e-324),
    ];
    Person {
        pid: dice.pick(&[Some(1), Some(2), Some(3), Some(4), Some(-9), None]),
        sex: dice.pick(&[Some("f"), Some("m"), Some("z"), Some(""), None]),
        town: dice.pick(&[Some("a"), Some("b"), Some("c'\"|"), None]),
        age: if dice.below(4) == 0 { dice.pick(&wild) } else { dice.pick(&ages) },
        income: dice.pick(&incomes),
        employed: dice.pick(&[Some(true), Some(false), None]),
    }
}
pub(crate) fn batch(people: &[Person]) -> RecordBatch {
    let pid = Int64Array::from_iter(people.iter().map(|p| p.pid));
    let sex = StringArray::from_iter(people.iter().map(|p| p.sex));
    let town = StringArray::from_iter(people.iter().map(|p| p.town));
    let age = Int64Array::from_iter(people.iter().map(|p| p.age));
    let income = Float64Array::from_iter(people.iter().map(|p| p.income));
    let employed = BooleanArray::from_iter(people.iter().map(|p| p.employed));
    RecordBatch::try_from_iter(vec![
        ("pid", Arc::new(pid) as ArrayRef),
        ("sex", Arc::new(sex)),
        ("town", Arc::new(town)),
        ("age", Arc::new(age)),
        ("income", Arc::new(income)),
        ("employed", Arc::new(employed)),
    ])
    .unwrap()
}
/// Make two tables that differ in the rows of one individual. The rows of the larger table are in
/// random order.
pub(crate) fn neighbours(dice: &mut Dice, unit: &PrivacyUnit) -> [Vec<Person>; 2] {
    let base: Vec<Person> = (0..dice.below(12)).map(|_| person(dice)).collect();
    let extra = 1 + dice.below(match unit.rows {
        Some(rows) => rows as usize,
        None => 8,
    });
    let mut more: Vec<Person> = (0..extra).map(|_| person(dice)).collect();
    // The hard cases are equal rows, and several rows in one group. So, in about half of the calls,
    // make all rows of the individual equal.
    if dice.below(2) == 0 {
        let first = more[0].clone();
        more.iter_mut().for_each(|row| *row = first.clone());
    }
    let mut less = base;
    if unit.id.is_some() {
        let pid = dice.pick(&[1, 2, 3]);
        less.retain(|row| row.pid != Some(pid));
        more.iter_mut().for_each(|row| row.pid = Some(pid));
    }
    let mut all = [less.clone(), more].concat();
    for k in (1..all.len()).rev() {
        all.swap(k, dice.below(k + 1));
    }
    [all, less]
}
pub(crate) fn unit(dice: &mut Dice) -> PrivacyUnit {
    let limit = |dice: &mut Dice| 1 + dice.below(3) as u32;
    match dice.below(5) {
        0 => PrivacyUnit::rows(limit(dice)),
        1 => PrivacyUnit::id("pid", limit(dice)),
        2 => PrivacyUnit::id("pid", limit(dice) + 1).per_group(limit(dice), limit(dice)),
        3 => PrivacyUnit { max_groups: Some(limit(dice)), ..PrivacyUnit::id("pid", 4) },
        _ => PrivacyUnit { max_rows: None, ..PrivacyUnit::id("pid", 1) }
            .per_group(limit(dice), limit(dice)),
    }
}
pub(crate) fn query(dice: &mut Dice, with_ids: bool) -> String {
    let sources = [
        "people",
        "people JOIN zones ON people.town = zones.name",
        "people LEFT JOIN zones ON town = name",
        "(SELECT * FROM people UNION ALL SELECT * FROM people WHERE age > 0) AS people",
        "(SELECT pid, sex, town, age, clamp(income * age - 3, -10, 20) AS income, employed \
         FROM people) AS people",
    ];
    let filters = [
        "",
        " WHERE age > 10",
        " WHERE income IS NOT NULL AND NOT employed",
        " WHERE income / age > 1",
        " WHERE sex IN ('f', 'm') OR town = 'a'",
        " WHERE age BETWEEN -10 AND 50",
        " WHERE coalesce(income, 5) < 100 OR abs(age) > 3",
    ];
    let keys = [
        "",
        "",
        " GROUP BY sex",
        " GROUP BY employed",
        " GROUP BY age >= 40",
        " GROUP BY sex, employed",
        " GROUP BY town",
        " GROUP BY CASE WHEN age > 0 THEN 'p' WHEN age < 0 THEN 'n' END",
    ];
    let mut aggregates = vec![
        "COUNT(*)",
        "COUNT(age)",
        "COUNT(income) FILTER (WHERE employed)",
        "SUM(age)",
        "SUM(clamp(income, -3.5, 100))",
        "AVG(age)",
        "AVG(clamp(income, 0.1, 0.7))",
        "SUM(clamp(income * 1e10 + age, -1e12, 1e9))",
        "STDDEV(age)",
        "VAR(clamp(income, -5, 3))",
        "MEDIAN(age)",
        "quantile(clamp(income, 0, 10), 0.9)",
        "SUM(clamp(-age, -5, 200))",
        "SUM(clamp(floor(income), 0, 9e99)) FILTER (WHERE sex = 'f')",
    ];
    if with_ids {
        aggregates.push("COUNT(DISTINCT pid)");
        aggregates.push("COUNT(DISTINCT pid) FILTER (WHERE age > 5)");
    }
    let count = 1 + dice.below(3);
    let chosen: Vec<String> =
        (0..count).map(|k| format!("{} AS a{k}", dice.pick(&aggregates))).collect();
    let source = dice.pick(&sources);
    format!("SELECT {} FROM {source}{}{}", chosen.join(", "), dice.pick(&filters), dice.pick(&keys))
}
/// Make the public table. If `double` is true, a key occurs twice, so a join multiplies rows.
fn zones(double: bool) -> RecordBatch {
    let names = if double { vec!["a", "a", "b"] } else { vec!["a", "d", "b"] };
    let names = Arc::new(StringArray::from(names)) as ArrayRef;
    RecordBatch::try_from_iter(vec![("name", names)]).unwrap()
}
pub(crate) fn zone_table() -> Table {
    Table::public("name").with("name", Column::new(Type::Text))
}
pub(crate) fn exact(plan: &Plan, described: &Table, people: &[Person], double: bool) -> Exact {
    let engine = DataFusion::new().unwrap();
    // Put the rows into two batches, so that the engine must add up the results of two parts.
    let middle = people.len() / 2;
    let batches = vec![batch(&people[..middle]), batch(&people[middle..])];
    engine.register("people", described, Source::Batches(batches)).unwrap();
    engine.register("zones", &zone_table(), Source::Batches(vec![zones(double)])).unwrap();
    let seed = "0123456789abcdef";
    let exact = Exact::run(plan, &engine, seed).unwrap();
    // The portable statements, which all engines can run, must give these results, too.
    let portable = Exact::run(plan, &engine.portable(), seed).unwrap();
    assert_eq!((&exact.sums, &exact.buckets), (&portable.sums, &portable.buckets), "{people:?}");
    exact
}
/// Compare the changes of all results with the bounds of the plan `claimed`. If a bound is
/// exceeded, return the reason.
pub(crate) fn exceeded(claimed: &Plan, left: &Exact, right: &Exact) -> Option<String> {
    let groups: Vec<&Group> = left.sums.keys().chain(right.sums.keys()).collect();
    for (k, sum) in claimed.sums.iter().enumerate() {
        let mut changes: BTreeMap<&Group, f64> = BTreeMap::new();
        let value = |exact: &Exact, group: &Group| {
            exact.sums.get(group).map_or(IBig::ZERO, |sums| sums[k].clone())
        };
        for group in &groups {
            let change: IBig = value(left, group) - value(right, group);
            changes.insert(group, change.to_string().parse::<f64>().unwrap().abs());
        }
        let bound = sensitivity(claimed, sum).unwrap();
        let l0 = changes.values().filter(|change| **change > 0.0).count();
        let l1: f64 = changes.values().sum();
        let squares: f64 = changes.values().map(|change| change * change).sum();
        let linf = changes.values().copied().fold(0.0, f64::max);
        let more = 1.0 + 1e-12;
        if l0 as u64 > bound.l0
            || l1 > bound.l1 * more
            || squares.sqrt() > bound.l2 * more
            || linf > bound.linf * more
        {
            return Some(format!("sum {k}: {l0} {l1} {squares} {linf}, claimed {bound:?}"));
        }
    }
    let limits = Contribution::of(claimed);
    for (left, right) in left.buckets.iter().zip(&right.buckets) {
        let (mut changed, mut total) = (0, 0);
        let groups: std::collections::BTreeSet<&Group> = left.keys().chain(right.keys()).collect();
        for group in groups {
            let count = |counts: &BTreeMap<Group, Vec<u64>>, place: usize| {
                counts.get(group).map_or(0, |counts| counts[place])
            };
            let places = left.get(group).or(right.get(group)).unwrap().len();
            let rows: u64 = (0..places).map(|k| count(left, k).abs_diff(count(right, k))).sum();
            (changed, total) = (changed + u64::from(rows > 0), total + rows);
            if rows > limits.per_group {
                return Some(format!("buckets: {rows} rows in a group, claimed {limits:?}"));
            }
        }
        if changed > limits.groups || total > limits.rows {
            return Some(format!("buckets: {changed} groups, {total} rows, claimed {limits:?}"));
        }
    }
    None
}
/// Try random queries, and stop if a bound is exceeded. The claimed plan states the bounds, and
/// `change` turns the claimed plan into the plan that runs. Return the number of pairs of
/// neighbours with different results, and the reason if a bound is exceeded.
fn try_queries(
    count: usize,
    seed: u64,
    double: bool,
    change: impl Fn(&Plan) -> Option<Plan>,
) -> (usize, Option<String>) {
    let mut dice = Dice::new(seed);
    let (mut tried, mut changed) = (0, 0);
    while tried < count {
        let unit = unit(&mut dice);
        let described = described(unit.clone());
        let mut metadata = metadata(described.clone());
        metadata.tables.insert("zones".into(), zone_table());
        let idle = Box::new(DataFusion::new().unwrap());
        let session = Session::with_engine(metadata, idle).unwrap();
        for _ in 0..6 {
            let sql = query(&mut dice, unit.id.is_some());
            let pair = neighbours(&mut dice, &unit);
            let claimed = session.checked(&sql).unwrap_or_else(|e| panic!("{sql}\n{e}")).plan;
            let Some(run) = change(&claimed) else {
                continue;
            };
            let [left, right] = pair.map(|people| exact(&run, &described, &people, double));
            tried += 1;
            changed += usize::from(left.sums != right.sums || left.buckets != right.buckets);
            if let Some(reason) = exceeded(&claimed, &left, &right) {
                return (changed, Some(format!("{sql}\n{unit:?}\n{reason}")));
            }
        }
    }
    (changed, None)
}
#[test]
fn no_individual_changes_exact_results_by_more_than_claimed() {
    let count = std::env::var("OPENDP_TABLES_QUERIES").ok().and_then(|text| text.parse().ok());
    let count = count.unwrap_or(100);
    let (changed, exceeded) = try_queries(count, 7, false, |plan| Some(plan.clone()));
    assert_eq!(exceeded, None);
    // More than a third of the pairs of neighbours must have different results. Otherwise, the test
    // would show little.
    assert!(changed * 3 > count, "{changed} of {count}");
}
#[test]
fn control_a_plan_without_limits_is_found() {
    let unlimited = |plan: &Plan| {
        let mut plan = plan.clone();
        let Bounding::Enforced { rows, groups, rows_per_group, .. } = &mut plan.bounding else {
            return None;
        };
        (*rows, *groups, *rows_per_group) = (Some(1 << 20), None, None);
        Some(plan)
    };
    assert!(try_queries(100, 8, false, unlimited).1.is_some());
}
#[test]
fn control_a_wrong_bound_is_found() {
    let wider = |plan: &Plan| {
        let mut plan = plan.clone();
        let mut found = false;
        for sum in &mut plan.sums {
            if let Addend::Value(_, lattice) = &mut sum.addend {
                (lattice.low, lattice.high) = (lattice.low * 2 - 1, lattice.high * 2 + 1);
                found = true;
            }
        }
        found.then_some(plan)
    };
    assert!(try_queries(100, 9, false, wider).1.is_some());
}
#[test]
fn control_a_join_that_multiplies_rows_is_found() {
    let joined = |plan: &Plan| {
        let trusted = matches!(plan.bounding, Bounding::Trusted { .. });
        let joins = plan.branches.iter().any(|branch| !branch.joins.is_empty());
        (trusted && joins).then(|| plan.clone())
    };
    assert!(try_queries(150, 10, true, joined).1.is_some());
}
#[test]
fn a_public_key_that_is_there_twice_is_an_error() {
    for (double, fails) in [(false, false), (true, true)] {
        let mut metadata = metadata(described(PrivacyUnit::rows(1)));
        metadata.tables.insert("zones".into(), zone_table());
        let sources = vec![
            ("people".into(), Source::Batches(vec![people()])),
            ("zones".into(), Source::Batches(vec![zones(double)])),
        ];
        let session = Session::new(metadata, sources).unwrap();
        let sql = "SELECT COUNT(*), COUNT(name) FROM people LEFT JOIN zones ON town = name";
        let question = session.query(sql).unwrap().spending(plenty());
        match question.release() {
            Ok(answer) => {
                assert!(!fails);
                assert_eq!(numbers(&answer.table), [[8.0, 8.0]]);
            }
            Err(error) => assert!(fails && error.to_string().contains("twice"), "{error}"),
        }
    }
}
#[test]
fn joins_are_by_the_key_of_a_public_table() {
    let mut metadata = metadata(described(PrivacyUnit::rows(1)));
    let keyless = Table { key: None, ..zone_table() };
    metadata.tables.insert("zones".into(), keyless);
    let idle = Box::new(DataFusion::new().unwrap());
    let session = Session::with_engine(metadata, idle).unwrap();
    for sql in [
        "SELECT COUNT(*) FROM people JOIN zones ON town = name",
        "SELECT COUNT(*) FROM people JOIN zones ON town < name",
        "SELECT COUNT(*) FROM people CROSS JOIN zones",
        "SELECT COUNT(*) FROM people FULL JOIN zones ON town = name",
    ] {
        assert_eq!(session.query(sql).unwrap_err().kind(), "NotImplemented", "{sql}");
    }
}
/// All rows of an id are kept with the same probability, even if some rows are equal.
#[test]
fn rows_of_an_id_are_chosen_uniformly() {
    let ids = 3000;
    let rows: Vec<Person> = (0..ids)
        .flat_map(|id| {
            let row = |age| Person {
                pid: Some(id),
                sex: Some("f"),
                town: None,
                age: Some(age),
                income: None,
                employed: None,
            };
            [row(0), row(0), row(1)]
        })
        .collect();
    let described = described(PrivacyUnit::id("pid", 1));
    let idle = Box::new(DataFusion::new().unwrap());
    let session = Session::with_engine(metadata(described.clone()), idle).unwrap();
    let plan = session.checked("SELECT COUNT(*), SUM(age) FROM people").unwrap().plan;
    let exact = exact(&plan, &described, &rows, false);
    let sums = exact.sums.values().next().unwrap();
    assert_eq!(sums[0], IBig::from(ids));
    // The number of kept rows with the age 1 is binomial, with 3000 draws and the probability 1/3.
    // A deviation of 130 is more than five standard deviations.
    let ones: i64 = sums[1].to_string().parse().unwrap();
    assert!((ones - 1000).abs() < 130, "{ones}");
}
