//! The direct evaluation in this process gives the same results as the SQL statements, bit for bit.

use super::sensitivity::{Dice, zone_table};
use super::*;
use crate::engine::{DataFusion, Engine};
use crate::ir::Plan;
use crate::released::Exact;

const SEED: &str = "fedcba9876543210fedcba9876543210";

/// Make rows of many ids. Some ids have far more rows than other ids. In the few columns that a
/// query reads, many rows are equal.
fn rows(count: usize) -> Vec<RecordBatch> {
    let mut dice = Dice::new(5);
    let batch = |dice: &mut Dice, count: usize| {
        let some = |dice: &mut Dice, bound: usize| match dice.below(50) {
            0 => None,
            _ => i64::try_from(dice.below(bound)).ok(),
        };
        let pid = |dice: &mut Dice| match dice.below(4) {
            0 => some(dice, 3).map(|id| id - 1),
            1 => some(dice, 40).map(|id| (id - 20) * (i64::MAX / 20)),
            _ => some(dice, count / 5),
        };
        let text =
            |dice: &mut Dice, all: &[&'static str]| all.get(dice.below(all.len() + 1)).copied();
        let pids: Int64Array = (0..count).map(|_| pid(dice)).collect();
        let sex: StringArray = (0..count).map(|_| text(dice, &["f", "m", "x", "y"])).collect();
        let towns = ["b", "a", "Ä", "á", "Z", "z z", ""];
        let town: StringArray = (0..count).map(|_| text(dice, &towns)).collect();
        let age: Int64Array = (0..count).map(|_| some(dice, 120)).collect();
        let income: Float64Array =
            (0..count).map(|_| some(dice, 9).map(|x| x as f64 * 33.7 - 20.0)).collect();
        let employed: BooleanArray = (0..count).map(|_| some(dice, 2).map(|x| x == 1)).collect();
        RecordBatch::try_from_iter(vec![
            ("pid", Arc::new(pids) as ArrayRef),
            ("sex", Arc::new(sex)),
            ("town", Arc::new(town)),
            ("age", Arc::new(age)),
            ("income", Arc::new(income)),
            ("employed", Arc::new(employed)),
        ])
        .unwrap()
    };
    (0..4).map(|_| batch(&mut dice, count / 4)).collect()
}
fn engine(described: &Table, rows: &[RecordBatch]) -> DataFusion {
    let engine = DataFusion::new().unwrap();
    engine.register("people", described, Source::Batches(rows.to_vec())).unwrap();
    engine
}
fn units() -> Vec<PrivacyUnit> {
    vec![
        PrivacyUnit::rows(2),
        PrivacyUnit::id("pid", 3),
        PrivacyUnit::id("pid", 5).per_group(2, 3),
        PrivacyUnit { max_groups: Some(2), ..PrivacyUnit::id("pid", 4) },
        PrivacyUnit { max_rows: None, ..PrivacyUnit::id("pid", 1) }.per_group(2, 1),
    ]
}
const QUERIES: [&str; 8] = [
    "SELECT COUNT(*) FROM people",
    "SELECT sex, COUNT(*), SUM(age), AVG(income), STDDEV(age) FROM people GROUP BY sex",
    "SELECT town, employed, COUNT(*), SUM(income) FROM people GROUP BY town, employed",
    "SELECT sex, employed, MEDIAN(income), quantile(age, 0.9) FROM people GROUP BY sex, employed",
    "SELECT COUNT(age) FILTER (WHERE employed), SUM(clamp(income * age, -9, 99)) FROM people",
    "SELECT town, AVG(age) FILTER (WHERE income > 9) FROM (SELECT * FROM people UNION ALL SELECT * \
     FROM people WHERE age > 50) AS people WHERE age <> 7 GROUP BY town",
    "SELECT quantile(clamp(age * -1, -50, 50), 0.9), quantile(clamp(age / -5.0, -9, 9), 0.5), \
     COUNT(*) FILTER (WHERE age * -1 IN (0, -7)) FROM people",
    // The bounds are far from 0.
    "SELECT sex, AVG(clamp(income + 1e12, 1e12, 1000000000100)), \
     VAR(clamp(income + 1e8, 1e8, 100000100)), \
     STDDEV(clamp(age + 1700000000, 1700000010, 1700000090)) FROM people GROUP BY sex",
];
fn plan(unit: &PrivacyUnit, sql: &str) -> Plan {
    let mut metadata = metadata(described(unit.clone()));
    metadata.tables.insert("zones".into(), zone_table());
    let idle = Box::new(DataFusion::new().unwrap());
    Session::with_engine(metadata, idle).unwrap().checked(sql).unwrap().plan
}
#[track_caller]
fn same(plan: &Plan, ours: &dyn Engine, theirs: &dyn Engine) -> Exact {
    let [ours, theirs] = [ours, theirs].map(|engine| Exact::run(plan, engine, SEED).unwrap());
    assert_eq!(ours.sums, theirs.sums);
    assert_eq!(ours.buckets, theirs.buckets);
    assert!(!ours.sums.is_empty() || !ours.buckets.is_empty());
    ours
}
#[test]
fn results_are_those_of_the_portable_statements_on_many_rows() {
    let rows = rows(4000);
    for unit in units() {
        let described = described(unit.clone());
        let (ours, theirs) = (engine(&described, &rows), engine(&described, &rows).portable());
        for sql in QUERIES {
            same(&plan(&unit, sql), &ours, &theirs);
        }
        if unit.id.is_some() {
            let sql = "SELECT sex, COUNT(DISTINCT pid), COUNT(DISTINCT pid) FILTER (WHERE age > 50) \
                       FROM people GROUP BY sex";
            same(&plan(&unit, sql), &ours, &theirs);
        }
    }
}
/// With little memory, the engine reads the rows several times. Each time, it keeps only the rows
/// of some ids.
#[test]
fn results_do_not_depend_on_the_memory() {
    let rows = rows(2000);
    for unit in units() {
        let described = described(unit.clone());
        let plenty = engine(&described, &rows);
        for bytes in [0, 1 << 14] {
            let little = engine(&described, &rows).with_memory(bytes);
            same(&plan(&unit, QUERIES[1]), &plenty, &little);
        }
    }
}
/// Two runs with different seeds keep different rows. Otherwise, the comparisons above would not
/// test the choice of rows.
#[test]
fn the_seed_decides_which_rows_are_kept() {
    let rows = rows(2000);
    let unit = PrivacyUnit::id("pid", 2);
    let engine = engine(&described(unit.clone()), &rows);
    let plan = plan(&unit, "SELECT SUM(age) FROM people");
    let run = |seed: &str| Exact::run(&plan, &engine, seed).unwrap().sums;
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}
/// If ids are text, the direct evaluation does not support the plan. So the engine runs the SQL
/// statements of the plan. They choose rows by hashes.
#[test]
fn ids_that_are_text_are_limited_too() {
    let mut described = described(PrivacyUnit::id("town", 3).per_group(2, 2));
    described.columns.remove("pid");
    let rows = rows(2000);
    let engine = engine(&described, &rows);
    let mut metadata = metadata(described);
    metadata.queries = Some(1);
    let session = Session::with_engine(metadata, Box::new(engine)).unwrap();
    let sql = "SELECT COUNT(*) AS n, COUNT(DISTINCT town) AS ids FROM people";
    let answer = session.query(sql).unwrap().spending(plenty()).release().unwrap();
    // The ids are the seven towns. The query has only one group, and the limits keep two rows of
    // each town in this group.
    assert_eq!(numbers(&answer.table), [[14.0, 7.0]]);
}
/// With these bounds, the lattice of the fractions has only integers. In a union with integers, the
/// fractions are rounded in the same way as without the union.
#[test]
fn a_union_of_integers_and_fractions_is_the_sum_of_its_parts() {
    let unit = PrivacyUnit::rows(1);
    let described = described(unit.clone());
    let rows = rows(2000);
    let (ours, theirs) = (engine(&described, &rows), engine(&described, &rows).portable());
    let sum = |part: &str| {
        let sql = format!("SELECT SUM(clamp(x, -549755813888, 549755813888)) FROM ({part}) AS p");
        same(&plan(&unit, &sql), &ours, &theirs).sums.into_values().next().unwrap()[0].clone()
    };
    let [whole, fractions] =
        ["CAST(age AS DOUBLE)", "age - 2.5"].map(|x| format!("SELECT {x} AS x FROM people"));
    assert_eq!(sum(&format!("{whole} UNION ALL {fractions}")), sum(&whole) + sum(&fractions));
}
