//! Test tables with a public number of rows. Neighbours of such a table have the same number of
//! rows. They differ by an exchange: other rows replace the rows of one individual.

use super::sensitivity::{Dice, Person, exact, exceeded, person, query, zone_table};
use super::*;
use crate::ir::{Bounding, Plan};
use crate::mechanisms::{Kind, mechanisms};

/// Describe the table of the people. The table has eight rows, and this number is public.
fn eight(unit: PrivacyUnit) -> Table {
    let age = Column::new(Type::Integer).bounds(0.0, 100.0).complete();
    described(unit).with("age", age).rows(8)
}
fn open(table: Table) -> opendp_core::Result<Session> {
    let source = Source::Batches(vec![people()]);
    Session::new(metadata(table), vec![("people".into(), source)])
}
#[test]
fn a_public_number_of_rows_is_exact_and_costs_nothing() {
    let session = open(eight(PrivacyUnit::rows(1))).unwrap();
    let sql = "SELECT COUNT(*) AS n, AVG(age) AS mean FROM people";
    let question = session.query(sql).unwrap().spending(Budget::epsilon(1.0).unwrap());
    let explained = question.explain().unwrap();
    // Noise is added only to the sum for the mean, and the whole loss is spent on this sum. Each
    // row adds its age minus 50, the middle of the bounds. The magnitude of this number is at most
    // 50, so an exchange changes the sum by at most 100.
    let [release] = explained.releases.as_slice() else { panic!("{:?}", explained.releases) };
    assert!((release.scale * release.step - 100.0).abs() < 1e-3, "{release:?}");
    assert!(explained.contribution.contains("other rows replace"), "{}", explained.contribution);
    let answer = question.release().unwrap();
    assert_eq!(numbers(&answer.table)[0][0], 8.0);
    let free = &numbers(&answer.values)[0];
    assert_eq!(free[1..], [8.0, 0.0, 8.0, 8.0, 0.0], "value, scale, interval and loss");
    let exact = ask(&session, sql);
    // The missing age counts as the middle of the bounds.
    let mean = (10.0 + 20.0 + 100.0 + 50.0 + 40.0 + 50.0 + 60.0 + 0.0) / 8.0;
    assert!((numbers(&exact.table)[0][1] - mean).abs() < 1e-6, "{exact}");
}
#[test]
fn rows_that_a_condition_or_a_key_picks_are_counted_with_noise() {
    let session = open(eight(PrivacyUnit::rows(1))).unwrap();
    for (sql, sensitivities) in [
        // If an exchange replaces a counted row by a row that is not counted, the count changes by
        // 1.
        ("SELECT COUNT(*) FROM people WHERE age > 3", vec![1.0]),
        ("SELECT COUNT(*) FILTER (WHERE age > 3) FROM people", vec![1.0]),
        ("SELECT COUNT(age) FROM people", vec![1.0]),
        ("SELECT SUM(age) FROM people", vec![100.0]),
        ("SELECT AVG(income) FROM people", vec![1.0]),
        ("SELECT COUNT(*) FROM (SELECT * FROM people WHERE age > 3) AS people", vec![1.0]),
        // A row of one group can replace a row of another group.
        ("SELECT COUNT(*) FROM people GROUP BY sex", vec![2.0]),
    ] {
        let question = session.query(sql).unwrap().spending(plenty());
        let explained = question.explain().unwrap();
        let last = explained.releases.last().unwrap();
        assert_eq!(vec![last.sensitivity.unwrap()], sensitivities, "{sql}");
    }
    let doubled = "SELECT COUNT(*), SUM(age) FROM \
                   (SELECT * FROM people UNION ALL SELECT * FROM people) AS people";
    assert_eq!(numbers(&ask(&session, doubled).table)[0][0], 16.0);
}
#[test]
fn a_question_whose_answer_is_public_is_refused() {
    let session = open(eight(PrivacyUnit::rows(1))).unwrap();
    let error = session.query("SELECT COUNT(*) FROM people").unwrap_err();
    assert!(error.to_string().contains("public"), "{error}");
}
#[test]
fn ids_have_no_public_number_of_rows() {
    let error = open(eight(PrivacyUnit::id("pid", 2))).unwrap_err();
    assert!(error.to_string().contains("rows"), "{error}");
    assert!(open(described(PrivacyUnit::rows(1)).rows(0)).is_err());
}

/// A wrong number of rows is an error on both engines, for all queries of the table, and a ledger
/// charges nothing.
#[test]
fn a_stated_number_of_rows_is_compared_with_the_data() {
    let folder = tempfile::tempdir().unwrap();
    for portable in [false, true] {
        for (rows, fits) in [(8, true), (9, false), (7, false)] {
            let mut metadata = metadata(eight(PrivacyUnit::rows(1)).rows(rows));
            let path = folder.path().join(format!("{portable} {rows}"));
            metadata.budget.ledger = Some(path.to_string_lossy().into_owned());
            metadata.budget.name = Some("survey".into());
            metadata.create_budget().unwrap();
            let engine = crate::DataFusion::new().unwrap();
            let engine = Box::new(if portable { engine.portable() } else { engine });
            let source = vec![("people".into(), Source::Batches(vec![people()]))];
            let session = Session::on(metadata, source, engine).unwrap();
            let whole = session.remaining().unwrap();
            for sql in [
                "SELECT COUNT(*), AVG(age) FROM people",
                "SELECT COUNT(*) FROM people WHERE age > 3",
                "SELECT sex, MEDIAN(age) FROM people GROUP BY sex",
                "SELECT SUM(age) FROM (SELECT * FROM people UNION ALL SELECT * FROM people) AS p",
            ] {
                let question = session.query(sql).unwrap().spending(plenty());
                assert!(question.explain().is_ok());
                match question.release() {
                    Ok(_) => assert!(fits, "{sql}"),
                    Err(error) => {
                        let text = format!("do not have the stated number of rows, {rows}");
                        assert!(!fits && error.to_string().contains(&text), "{error}");
                        assert_eq!(session.remaining().unwrap(), whole);
                    }
                }
            }
        }
    }
}

/// Make two tables of the same size that differ by an exchange of at most `rows` rows of one
/// individual.
fn exchanged(dice: &mut Dice, rows: usize) -> [Vec<Person>; 2] {
    let common: Vec<Person> = (0..dice.below(9)).map(|_| person(dice)).collect();
    let count = 1 + dice.below(rows);
    [0, 1].map(|_| {
        let own = (0..count).map(|_| person(dice));
        let mut all: Vec<Person> = own.chain(common.clone()).collect();
        for k in (1..all.len()).rev() {
            all.swap(k, dice.below(k + 1));
        }
        all
    })
}
/// Try random queries. Compare the changes of the results with the bounds of the plan that `claim`
/// returns. If a bound is exceeded, return the query and the reason.
fn try_exchanges(count: usize, seed: u64, claim: impl Fn(Plan) -> Plan) -> Option<String> {
    let mut dice = Dice::new(seed);
    let mut changed = 0;
    for _ in 0..count {
        let rows = 1 + dice.below(3);
        let described = described(PrivacyUnit::rows(rows as u32)).rows(10);
        let mut metadata = metadata(described.clone());
        metadata.tables.insert("zones".into(), zone_table());
        let idle = Box::new(crate::DataFusion::new().unwrap());
        let session = Session::with_engine(metadata, idle).unwrap();
        let sql = query(&mut dice, false);
        // If all results of a query are public, the query is refused.
        let Ok(checked) = session.checked(&sql) else { continue };
        let pair = exchanged(&mut dice, rows);
        let [left, right] = pair.map(|rows| exact(&checked.plan, &described, &rows, false));
        changed += usize::from(left.sums != right.sums || left.buckets != right.buckets);
        if let Some(reason) = exceeded(&claim(checked.plan), &left, &right) {
            return Some(format!("{sql}\n{reason}"));
        }
    }
    assert!(changed * 3 > count, "{changed} of {count}");
    None
}
#[test]
fn no_exchange_changes_exact_results_by_more_than_claimed() {
    let count = std::env::var("OPENDP_TABLES_QUERIES").ok().and_then(|text| text.parse().ok());
    assert_eq!(try_exchanges(count.unwrap_or(100), 21, |plan| plan), None);
}
/// The bounds for added or removed rows are smaller than the bounds for an exchange, so an exchange
/// can exceed the smaller bounds.
#[test]
fn control_the_bounds_without_an_exchange_are_exceeded() {
    let halved = |mut plan: Plan| {
        if let Bounding::Trusted { exchanged, .. } = &mut plan.bounding {
            *exchanged = false;
        }
        plan
    };
    assert!(try_exchanges(300, 22, halved).is_some());
}

/// If a query reads each row twice, an exchange of one row counts as an exchange of two rows.
#[test]
fn a_row_that_is_read_twice_is_exchanged_twice() {
    let scale = |rows: u32, from: &str, keys: &str| {
        let session = open(eight(PrivacyUnit::rows(rows))).unwrap();
        let sql = format!("SELECT quantile(age, 0.9) FROM {from}{keys}");
        let question = session.query(&sql).unwrap().spending(Budget::epsilon(1.0).unwrap());
        question.explain().unwrap().releases[0].scale
    };
    let twice = "(SELECT * FROM people UNION ALL SELECT * FROM people) AS people";
    for keys in ["", " GROUP BY sex"] {
        assert_eq!(scale(1, twice, keys), scale(2, "people", keys));
        assert!(scale(1, "people", keys) < scale(2, "people", keys));
    }
}
/// Return all ways to put at most `rows` rows into groups and buckets. Each way is a number of rows
/// for each group and bucket.
fn own_rows(rows: usize, groups: usize, buckets: usize) -> Vec<Vec<Vec<u64>>> {
    let mut all = vec![vec![vec![0; buckets]; groups]];
    for _ in 0..rows {
        let mut longer = all.clone();
        for counts in &all {
            for (group, bucket) in (0..groups).flat_map(|g| (0..buckets).map(move |b| (g, b))) {
                let mut counts = counts.clone();
                counts[group][bucket] += 1;
                longer.push(counts);
            }
        }
        longer.sort();
        longer.dedup();
        all = longer;
    }
    all
}
/// Try all exchanges of one or two rows in one or two groups, with several common rows. Compute the
/// loss of each exchange from the changes of the scores. The claimed loss is the largest of these
/// losses.
#[test]
fn the_loss_of_a_quantile_is_the_largest_loss_of_an_exchange() {
    let age = Column::new(Type::Integer).bounds(0.0, 100.0).candidates(vec![10.0, 90.0]);
    let table = |rows| described(PrivacyUnit::rows(rows)).with("age", age.clone()).rows(8);
    let cases = [(1, ""), (1, " GROUP BY employed"), (2, ""), (2, " GROUP BY employed")];
    for ((rows, keys), level) in
        cases.into_iter().flat_map(|case| ["0", "0.2", "0.5", "0.99"].map(|level| (case, level)))
    {
        let session = open(table(rows)).unwrap();
        let sql = format!("SELECT quantile(age, {level}) FROM people{keys}");
        let checked = session.checked(&sql).unwrap();
        let groups = if keys.is_empty() { 1 } else { 2 };
        let own = own_rows(rows as usize, groups, 5);
        for (concentrated, budget) in
            [(false, Budget::epsilon(0.5).unwrap()), (true, Budget::rho(0.5).unwrap())]
        {
            let mechanisms = mechanisms(&checked, None, Kind::Best, budget.amount()).unwrap();
            let choice = &mechanisms.choices[0];
            let loss_of_group = |left: &[u64], right: &[u64]| {
                let scores = [left, right].map(|counts| choice.scores(counts, 2));
                let changes = scores[0].iter().zip(&scores[1]).map(|(a, b)| *a as f64 - *b as f64);
                let (low, high) = changes.fold((f64::MAX, f64::MIN), |(low, high), change| {
                    (low.min(change), high.max(change))
                });
                let loss = (high - low) / choice.noise.scale;
                if concentrated { loss * loss / 8.0 } else { loss }
            };
            let mut largest = 0.0_f64;
            for common in [[0; 5], [9, 0, 9, 0, 9], [9, 0, 999, 0, 9], [999, 0, 999, 0, 0]] {
                let with = |own: &Vec<u64>| -> Vec<u64> {
                    own.iter().zip(common).map(|(own, common)| own + common).collect()
                };
                for (left, right) in own.iter().flat_map(|x| own.iter().map(move |y| (x, y))) {
                    let groups = left.iter().zip(right);
                    let loss = groups.map(|(x, y)| loss_of_group(&with(x), &with(y))).sum();
                    largest = largest.max(loss);
                }
            }
            let claimed = mechanisms.loss.parts()[0].to_f64_up();
            let ratio = largest / claimed;
            assert!((0.999_999..=1.000_001).contains(&ratio), "{sql} {budget:?}: {ratio}");
        }
    }
}
