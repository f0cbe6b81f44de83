//! Check that intervals contain the exact answer with the stated probability, over many releases of
//! one exact result.

use super::*;
use crate::columns::columns;
use crate::mechanisms::{Kind, Mechanisms, mechanisms};
use crate::released::{Exact, noisy};

const RELEASES: usize = 1000;

/// For each cell, count the releases whose interval contains the exact answer.
fn covered(session: &Session, sql: &str, widened: bool) -> Vec<usize> {
    let checked = session.checked(sql).unwrap();
    let exact = Exact::run(&checked.plan, &*session.engine, "00").unwrap();
    let stated = |epsilon: f64| {
        let budget = Budget::epsilon(epsilon).unwrap();
        mechanisms(&checked, None, Kind::Best, budget.amount()).unwrap()
    };
    let mechanisms: Mechanisms = stated(1.0);
    // The epsilon of `truth` is 1e11, so `truth` has practically no noise. If `widened` is true,
    // the call of this function is a control: the scale of the drawn noise is four times the scale
    // that the intervals assume.
    let truth = noisy(&checked.plan, &stated(1e11), &exact).unwrap();
    let truth = columns(&checked, &stated(1e11), &truth).unwrap();
    let drawn = if widened { stated(0.25) } else { mechanisms.clone() };
    let cells = truth.iter().map(|column| column.cells.len()).sum();
    let mut counts = vec![0; cells];
    for _ in 0..RELEASES {
        let noisy = noisy(&checked.plan, &drawn, &exact).unwrap();
        let released = columns(&checked, &mechanisms, &noisy).unwrap();
        let pairs = truth.iter().zip(&released);
        let pairs = pairs.flat_map(|(truth, found)| truth.cells.iter().zip(&found.cells));
        for (count, (truth, found)) in counts.iter_mut().zip(pairs) {
            let (low, high) = found.interval.unwrap();
            let slack = 1e-6 * truth.value.abs().max(1.0);
            *count += usize::from(low - slack <= truth.value && truth.value <= high + slack);
        }
    }
    counts
}
/// The least allowed count: the expected 950 of 1000 releases, minus more than nine standard
/// deviations. The probability that a count is smaller is below 1e-15 for each cell.
const LEAST: usize = 885;

#[test]
fn intervals_contain_the_truth_as_often_as_they_say() {
    let session = session(PrivacyUnit::id("pid", 2));
    let sql = "SELECT COUNT(*), SUM(age), SUM(income), AVG(age), VAR(age), STDDEV(age) \
               FROM people GROUP BY sex";
    for (cell, count) in covered(&session, sql, false).into_iter().enumerate() {
        assert!(count >= LEAST, "cell {cell}: {count}");
    }
}
#[test]
fn control_noise_that_is_larger_than_stated_is_found() {
    let session = session(PrivacyUnit::id("pid", 2));
    let counts = covered(&session, "SELECT COUNT(*), SUM(age) FROM people GROUP BY sex", true);
    assert!(counts.iter().all(|count| *count < LEAST), "{counts:?}");
}
/// Return the path of a file in the folder of public data. If there is no such file, print that the
/// test is skipped.
fn data(name: &str) -> Option<std::path::PathBuf> {
    let folder = std::env::var("OPENDP_TABLES_DATA").ok().map(std::path::PathBuf::from);
    let folder = folder.unwrap_or_else(|| {
        std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")
    });
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("SKIPPED: {name} is not there; set OPENDP_TABLES_DATA to its folder");
        return None;
    }
    Some(path)
}
fn census(path: &std::path::Path) -> Session {
    let mut metadata = Metadata::parse(include_str!("../../examples/census.toml")).unwrap();
    metadata.budget.epsilon = Some(1e13);
    let source = Source::Csv(path.to_string_lossy().into_owned());
    Session::new(metadata, vec![("people".into(), source)]).unwrap()
}
/// Run the query of the README on the generated people.
#[test]
fn the_people_of_the_examples_are_counted() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people/");
    let mut metadata =
        Metadata::parse(include_str!("../../../../examples/people/census.toml")).unwrap();
    metadata.budget.epsilon = Some(1e13);
    let source = Source::Csv(format!("{folder}people.csv"));
    let session = Session::new(metadata, vec![("people".into(), source)]).unwrap();
    let answer = ask(&session, "SELECT sex, AVG(age) FROM people GROUP BY sex");
    assert!(numbers(&answer.table).iter().all(|row| (40.0..55.0).contains(&row[1])));
    let answer = ask(&session, "SELECT married, COUNT(*) FROM people GROUP BY married");
    assert_eq!(answer.table.num_rows(), 2);
}
#[test]
fn the_census_has_its_known_answers_in_the_intervals() {
    let Some(path) = data("pums_dup.csv") else { return };
    let session = census(&path);
    // Each person has at most four rows, so the limits drop no rows.
    let answer = ask(&session, "SELECT COUNT(*), COUNT(DISTINCT pid) FROM people");
    assert_eq!(numbers(&answer.table), [[1948.0, 1000.0]]);
    let sql = "SELECT sex, COUNT(*), AVG(age), SUM(income) FROM people GROUP BY sex";
    for (cell, count) in covered(&session, sql, false).into_iter().enumerate() {
        assert!(count >= LEAST, "cell {cell}: {count}");
    }
    assert!(covered(&session, "SELECT COUNT(*) FROM people", true)[0] < LEAST);
}
#[test]
fn the_labour_force_survey_has_its_known_answers_in_the_intervals() {
    let Some(path) = data("lfs_fr_50k.csv.gz") else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("lfs.csv");
    let file = std::fs::File::create(&plain).unwrap();
    let unpacked = std::process::Command::new("gzip").arg("-dc").arg(&path).stdout(file).status();
    if !unpacked.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: gzip is not there");
        return;
    }
    let mut metadata = Metadata::parse(include_str!("../../examples/labour.toml")).unwrap();
    metadata.budget.epsilon = Some(1e13);
    let source = Source::Csv(plain.to_string_lossy().into_owned());
    let session = Session::new(metadata, vec![("survey".into(), source)]).unwrap();
    let answer = ask(&session, "SELECT COUNT(*) FROM survey");
    assert_eq!(numbers(&answer.table), [[50_000.0]]);
    let sql =
        "SELECT \"SEX\", AVG(\"HWUSUAL\") FROM survey WHERE \"HWUSUAL\" < 99 GROUP BY \"SEX\"";
    for (cell, count) in covered(&session, sql, false).into_iter().enumerate() {
        assert!(count >= LEAST, "cell {cell}: {count}");
    }
}
#[test]
fn the_interval_of_a_mechanism_without_accuracy_is_unknown() {
    let session = session(PrivacyUnit::rows(1));
    let answer = ask(&session, "SELECT MEDIAN(age) FROM people");
    assert!(answer.values.column_by_name("lower").unwrap().is_null(0));
}
