//! A source that combines the rows of individuals, or can multiply rows, is refused.

use datafusion::functions_aggregate::expr_fn::count;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::JoinType;
use datafusion::prelude::{DataFrame, col, lit};

use super::sensitivity::zone_table;
use super::*;
use crate::DataFusion;

/// The columns of the private tables `people` and `visits`.
const COLUMNS: &str = "pid, sex, town, age, income, employed";

/// Make a session with two private tables, a public table with a key, and a public table without a
/// key.
fn session() -> Session {
    let table = described(PrivacyUnit::id("pid", 2));
    let mut metadata = metadata(table.clone());
    metadata.tables.insert("visits".into(), table);
    metadata.tables.insert("zones".into(), zone_table());
    metadata.tables.insert("keyless".into(), Table { key: None, ..zone_table() });
    Session::with_engine(metadata, Box::new(DataFusion::new().unwrap())).unwrap()
}
/// Check that each source is refused because of a part that cannot be made private. In a source,
/// `a.*` stands for the columns of the table `a`.
fn refused(sources: &[&str]) {
    let session = session();
    let columns = format!("a.{}", COLUMNS.replace(", ", ", a."));
    let kind = |source: &str| {
        let source = source.replace("a.*", &columns);
        let sql = format!("SELECT COUNT(*), SUM(age) FROM (SELECT {source}) AS p");
        session.query(&sql).map(|_| ()).map_err(|error| error.kind())
    };
    for source in sources {
        assert_eq!(kind(source), Err("NotImplemented"), "{source}");
    }
    // The controls: a private table alone, and its join with a public table by the key, are
    // accepted.
    assert_eq!(kind("a.* FROM people AS a"), Ok(()));
    assert_eq!(kind("a.* FROM people AS a LEFT JOIN zones AS b ON a.town = b.name"), Ok(()));
}
#[test]
fn private_tables_are_not_combined() {
    refused(&[
        "a.* FROM people AS a JOIN people AS b ON a.pid = b.pid",
        "a.* FROM people AS a JOIN visits AS b ON a.pid = b.pid",
        "a.* FROM people AS a LEFT JOIN visits AS b ON a.town = b.town",
        "a.* FROM people AS a FULL JOIN visits AS b ON a.pid = b.pid",
        "a.* FROM people AS a LEFT SEMI JOIN visits AS b ON a.pid = b.pid",
        "a.* FROM people AS a LEFT ANTI JOIN visits AS b ON a.pid = b.pid",
        "a.* FROM people AS a CROSS JOIN visits AS b",
        "a.* FROM people AS a, visits AS b WHERE a.pid = b.pid",
        "a.* FROM people AS a CROSS JOIN LATERAL (SELECT * FROM visits AS b WHERE b.pid = a.pid) \
         AS l",
        "a.* FROM people AS a CROSS JOIN (SELECT AVG(age) AS m FROM people) AS b WHERE a.age > b.m",
        "a.* FROM people AS a UNION ALL SELECT a.* FROM visits AS a",
        "a.* FROM people AS a UNION ALL SELECT a.* FROM visits AS a UNION ALL SELECT a.* FROM \
         people AS a",
        "a.* FROM people AS a UNION SELECT a.* FROM people AS a",
        "a.* FROM people AS a INTERSECT SELECT a.* FROM people AS a",
        "a.* FROM people AS a EXCEPT ALL SELECT a.* FROM visits AS a",
    ]);
}
#[test]
fn a_public_table_is_joined_only_by_its_key() {
    refused(&[
        "a.* FROM people AS a CROSS JOIN zones AS b",
        "a.* FROM people AS a, zones AS b WHERE a.town = b.name",
        "a.* FROM people AS a JOIN keyless AS b ON a.town = b.name",
        "a.* FROM people AS a JOIN zones AS b ON a.town <> b.name",
        "a.* FROM people AS a JOIN zones AS b ON a.town = b.name OR a.age > 0",
        "a.* FROM people AS a JOIN zones AS b ON a.town = b.name AND a.age > 0",
        "a.* FROM people AS a JOIN zones AS b ON TRUE",
        "a.* FROM people AS a JOIN zones AS b ON b.name = b.name",
        "a.* FROM people AS a JOIN zones AS b ON a.town = a.sex",
        "a.* FROM people AS a JOIN zones AS b ON a.town = coalesce(b.name, 'a')",
        "a.* FROM people AS a RIGHT JOIN zones AS b ON a.town = b.name",
        "a.* FROM people AS a FULL JOIN zones AS b ON a.town = b.name",
        "a.* FROM zones AS b LEFT JOIN people AS a ON a.town = b.name",
        "a.* FROM people AS a LEFT SEMI JOIN zones AS b ON a.town = b.name",
        "a.* FROM people AS a JOIN (SELECT name FROM zones UNION ALL SELECT name FROM zones) AS b \
         ON a.town = b.name",
        "a.* FROM people AS a JOIN (SELECT x.name FROM zones AS x CROSS JOIN zones AS y) AS b \
         ON a.town = b.name",
        "a.* FROM people AS a JOIN (VALUES ('a'), ('a')) AS b (name) ON a.town = b.name",
        "a.* FROM people AS a JOIN (SELECT town, COUNT(*) AS n FROM people GROUP BY town) AS b \
         ON a.town = b.town",
    ]);
}
#[test]
fn rows_of_others_decide_nothing() {
    refused(&[
        "a.* FROM people AS a WHERE a.town IN (SELECT town FROM visits)",
        "a.* FROM people AS a WHERE a.town NOT IN (SELECT name FROM zones)",
        "a.* FROM people AS a WHERE EXISTS (SELECT 1 FROM visits AS b WHERE b.town = a.town)",
        "a.* FROM people AS a WHERE (SELECT COUNT(*) FROM people) > 3",
        "pid, (SELECT MAX(age) FROM people) AS age FROM people",
        "pid, row_number() OVER (ORDER BY age) AS age FROM people",
        "pid, SUM(age) OVER (PARTITION BY pid) AS age FROM people",
        "pid, SUM(age) AS age FROM people GROUP BY pid",
        "DISTINCT ON (town) pid, age FROM people ORDER BY town, age",
        "a.* FROM people AS a ORDER BY age LIMIT 2",
    ]);
}
#[test]
fn data_frames_are_refused_as_sql_is() {
    let session = session();
    let [people, visits, zones] =
        ["people", "visits", "zones"].map(|name| session.table(name).unwrap());
    let visits_of = visits.clone().select(vec![col("pid").alias("of")]).unwrap();
    let join =
        |kind: JoinType| people.clone().join(zones.clone(), kind, &["town"], &["name"], None);
    let with_visits =
        |kind: JoinType| people.clone().join(visits_of.clone(), kind, &["pid"], &["of"], None);
    let several = zones.clone().union(zones.clone()).unwrap();
    let admitted = |frame: DataFrame| {
        let question = session.ask(frame.aggregate(vec![], vec![count(lit(1))]).unwrap());
        question.map(|_| ()).map_err(|error| error.kind())
    };
    use JoinType::{Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right};
    for kind in [Inner, Left] {
        assert_eq!(admitted(join(kind).unwrap()), Ok(()), "{kind}");
        assert_eq!(admitted(with_visits(kind).unwrap()), Err("NotImplemented"), "{kind}");
    }
    for kind in [Right, Full, LeftSemi, LeftAnti, LeftMark] {
        assert_eq!(admitted(join(kind).unwrap()), Err("NotImplemented"), "{kind}");
        assert_eq!(admitted(with_visits(kind).unwrap()), Err("NotImplemented"), "{kind}");
    }
    let frames = [
        people.clone().join(several, Inner, &["town"], &["name"], None),
        people.clone().join(zones.clone(), Inner, &["town"], &["name"], Some(col("employed"))),
        zones.clone().join(people.clone(), JoinType::RightSemi, &["name"], &["town"], None),
        people.clone().limit(0, Some(3)),
        people.clone().sort(vec![col("age").sort(true, true)]).unwrap().limit(0, Some(3)),
        people.clone().distinct(),
        people.clone().intersect(people.clone()),
        people.clone().except(people.clone()),
        people.clone().union(visits.clone()),
        people.clone().window(vec![row_number()]),
        people.clone().aggregate(vec![col("town")], vec![count(lit(1))]),
    ];
    for (place, frame) in frames.into_iter().enumerate() {
        assert_eq!(admitted(frame.unwrap()), Err("NotImplemented"), "frame {place}");
    }
}
/// Without a limit, a sort changes only the order of rows, in SQL and in data frames.
#[test]
fn a_sort_without_a_limit_changes_nothing() {
    let session = session();
    let all = session.query("SELECT COUNT(*) FROM people WHERE age > 1").unwrap().digest();
    let sql = "SELECT COUNT(*) FROM (SELECT * FROM people ORDER BY town) AS a WHERE age > 1";
    assert_eq!(session.query(sql).unwrap().digest(), all);
    let frame = session.table("people").unwrap().sort(vec![col("town").sort(true, true)]).unwrap();
    let frame = frame.filter(col("age").gt(lit(1_i64))).unwrap();
    let frame = frame.sort(vec![col("pid").sort(false, false)]).unwrap();
    let frame = frame.aggregate(vec![], vec![count(lit(1_i64))]).unwrap();
    assert_eq!(session.ask(frame).unwrap().digest(), all);
}
