//! The functions and limits of the engine in this process, beside the portable plan.

use super::sensitivity::{Dice, Person, exact, neighbours, own, portable, query, unit, zone_table};
use super::*;
use crate::engine::DataFusion;
use crate::ir::{Bounding, Plan};
use crate::released::Exact;

fn planned(described: &Table, sql: &str) -> Plan {
    let mut metadata = metadata(described.clone());
    metadata.tables.insert("zones".into(), zone_table());
    let session = Session::with_engine(metadata, Box::new(DataFusion::new().unwrap())).unwrap();
    session.checked(sql).unwrap_or_else(|error| panic!("{sql}\n{error}")).plan
}
fn same(ours: &Exact, theirs: &Exact) -> bool {
    ours.sums == theirs.sums && ours.buckets == theirs.buckets
}
#[test]
fn own_plans_give_the_same_results_as_portable_ones() {
    let mut dice = Dice::new(21);
    let mut limited = 0;
    for _ in 0..25 {
        let unit = unit(&mut dice);
        let described = described(unit.clone());
        let [people, _] = neighbours(&mut dice, &unit);
        for _ in 0..3 {
            let sql = query(&mut dice, unit.id.is_some());
            let mut plan = planned(&described, &sql);
            // With limits that no individual reaches, no choice is drawn.
            if let Bounding::Enforced { rows, groups, rows_per_group, .. } = &mut plan.bounding {
                (*rows, *groups, *rows_per_group) = (Some(1000), groups.map(|_| 50), Some(40));
                limited += 1;
            }
            let ours = exact(&own(), &plan, &described, &people, false);
            let theirs = exact(&portable(), &plan, &described, &people, false);
            assert!(same(&ours, &theirs), "{sql}\n{:?}\n{:?}", ours.sums, theirs.sums);
        }
    }
    assert!((10..70).contains(&limited), "both kinds of units are tried: {limited}");
}
#[test]
fn own_functions_agree_at_the_ends_of_lattices() {
    let incomes = [
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        1e-117,
        1e-100,
        -1e-100,
        3e-101,
        0.5,
        -0.5,
        2f64.powi(-31),
        2f64.powi(-32),
        999.999_999_999,
        1000.0,
        1_000.000_000_1,
        1e100,
        -1e100,
        1e308,
        0.1,
        0.7,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
    ];
    let ages = [i64::MIN, i64::MAX, 0, 1, -1, 100, 101, 1 << 53, -(1 << 53)];
    let described = described(PrivacyUnit::rows(1));
    let sql = "SELECT SUM(income), VAR(income), SUM(clamp(income, -0.5, 0.7)), SUM(age), VAR(age), \
               SUM(clamp(income, -1e100, 1e100)), SUM(clamp(income, 1e-70, 2e-70)), \
               SUM(clamp(age, -0.5, 1e9)), COUNT(income), AVG(age) FILTER (WHERE employed) \
               FROM people";
    let plan = planned(&described, sql);
    for (k, income) in incomes.into_iter().enumerate() {
        let person = Person {
            pid: None,
            sex: None,
            town: None,
            age: ages.get(k % 10).copied(),
            income: Some(income),
            employed: Some(k % 2 == 0),
        };
        let people = [person];
        let ours = exact(&own(), &plan, &described, &people, false);
        let theirs = exact(&portable(), &plan, &described, &people, false);
        assert!(same(&ours, &theirs), "{people:?}\n{:?}\n{:?}", ours.sums, theirs.sums);
    }
}
/// Rows of ids; each has a number of rows in each of some towns.
fn townspeople(ids: i64, towns: &[(&'static str, usize)]) -> Vec<Person> {
    let row = |id, town| Person {
        pid: Some(id),
        sex: Some("f"),
        town: Some(town),
        age: Some(id % 7),
        income: Some(0.25),
        employed: Some(true),
    };
    let rows = |id| {
        let town = move |(town, count): &(&'static str, usize)| vec![row(id, *town); *count];
        towns.iter().flat_map(town).collect::<Vec<_>>()
    };
    (0..ids).flat_map(rows).collect()
}
const BY_TOWN: &str = "SELECT CASE WHEN town = 'a' THEN 'a' WHEN town = 'b' THEN 'b' WHEN town = \
                       'c' THEN 'c' END AS t, COUNT(*), COUNT(DISTINCT pid) FROM people GROUP BY t";
fn counts(exact: &Exact) -> Vec<(String, i64, i64)> {
    let number = |x: &opendp_core::IBig| x.to_string().parse().unwrap();
    let row = |(group, sums): (&Vec<String>, &Vec<opendp_core::IBig>)| {
        (group.join(","), number(&sums[0]), number(&sums[1]))
    };
    exact.sums.iter().map(row).collect()
}
#[test]
fn each_limit_keeps_the_same_numbers_of_rows_on_both_plans() {
    let people = townspeople(40, &[("a", 5), ("b", 1), ("c", 3)]);
    // The limits: rows, groups, rows in a group.
    for (rows, groups, per_group, all) in [
        (Some(4), None, None, 160),
        (Some(100), None, Some(2), 200),
        (Some(3), None, Some(2), 120),
        (Some(4), Some(3), Some(2), 160),
        (None, Some(3), Some(2), 200),
    ] {
        let mut plan = planned(&described(PrivacyUnit::id("pid", 1)), BY_TOWN);
        if let Bounding::Enforced { rows: r, groups: g, rows_per_group: c, .. } = &mut plan.bounding
        {
            (*r, *g, *c) = (rows, groups, per_group);
        }
        for engine in [own(), portable()] {
            let described = described(PrivacyUnit::id("pid", 1));
            let exact = exact(&engine, &plan, &described, &people, false);
            let total: i64 = counts(&exact).iter().map(|(_, count, _)| count).sum();
            assert_eq!(total, all, "{rows:?} {groups:?} {per_group:?}");
        }
    }
}
#[test]
fn groups_of_an_id_are_chosen_uniformly() {
    // A group with more rows is not more likely.
    let people = townspeople(3000, &[("a", 5), ("b", 1), ("c", 3)]);
    let described = described(PrivacyUnit::id("pid", 9).per_group(1, 9));
    let plan = planned(&described, BY_TOWN);
    for engine in [own(), portable()] {
        let exact = exact(&engine, &plan, &described, &people, false);
        for (town, _, ids) in counts(&exact) {
            // Binomial with 3000 and 1/3: a deviation of 130 is five standard deviations.
            assert!((ids - 1000).abs() < 130, "{town}: {ids}");
        }
    }
}
#[test]
fn too_little_memory_costs_passes_and_changes_nothing() {
    let people = townspeople(3000, &[("a", 5), ("b", 1), ("c", 3)]);
    let described = described(PrivacyUnit::id("pid", 4).per_group(2, 3));
    for sql in [BY_TOWN, "SELECT town, COUNT(*), SUM(age) FROM people GROUP BY town"] {
        let plan = planned(&described, sql);
        let plenty = exact(&own(), &plan, &described, &people, false);
        for memory in [1, 50_000] {
            let little = exact(&own().with_memory(memory), &plan, &described, &people, false);
            assert!(same(&plenty, &little), "{sql}");
        }
    }
}
#[test]
fn ids_may_be_texts() {
    let described = Table::private(PrivacyUnit::id("town", 2))
        .with("town", Column::new(Type::Text))
        .with("age", Column::new(Type::Integer).bounds(0.0, 100.0));
    let people = townspeople(30, &[("a", 2), ("b", 1), ("c'\"|", 1)]);
    let plan = planned(&described, "SELECT COUNT(*), COUNT(DISTINCT town) FROM people");
    let exact = exact(&own(), &plan, &described, &people, false);
    assert_eq!(counts(&exact), [(String::new(), 6, 3)]);
}
