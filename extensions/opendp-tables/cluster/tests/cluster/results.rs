//! A cluster computes the same results as one process, bit for bit, and leaves no files.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use opendp_tables::{
    Budget, Column, DataFusion, Engine, PrivacyUnit, Session, Source, Table, Type,
};

use crate::data::{Data, exact};
use crate::nodes::{Nodes, waited};

/// Units of privacy, each with limits on the rows of one individual.
const UNITS: [&str; 4] = [
    "{ rows = 1 }",
    "{ id = \"pid\", max_rows = 2 }",
    "{ id = \"pid\", max_groups = 1, max_rows_per_group = 2 }",
    "{ id = \"pid\", max_rows = 3, max_groups = 2, max_rows_per_group = 2 }",
];
const QUERIES: [&str; 10] = [
    "SELECT sex, COUNT(*), SUM(age), AVG(income), STDDEV(income) FROM people GROUP BY sex",
    "SELECT COUNT(*) FILTER (WHERE employed), SUM(clamp(income / (age - 20), -9, 9)) FROM people WHERE age > 3 OR \
     income IS NULL",
    "SELECT sex, MEDIAN(age), quantile(income, 0.9) FROM people GROUP BY sex",
    "SELECT region, COUNT(*), AVG(age) FROM people JOIN regions ON people.zip = regions.zip GROUP BY \
     region",
    "WITH grown AS (SELECT age + 1 AS older, zip FROM people WHERE sex IN ('f', 'm')) SELECT \
     region, SUM(clamp(older, 0, 50)), COUNT(older) FROM grown LEFT JOIN regions ON grown.zip = \
     regions.zip GROUP BY region",
    "SELECT employed, COUNT(*), SUM(age) FROM (SELECT age, employed FROM people UNION ALL SELECT \
     age, employed FROM people WHERE age < 30) AS both_parts GROUP BY employed",
    "SELECT date_trunc('month', day), COUNT(*), AVG(EXTRACT(HOUR FROM arrived)) FROM people WHERE day >= \
     '2024-01-15' OR EXTRACT(YEAR FROM arrived) = 1 GROUP BY 1",
    "SELECT EXTRACT(WEEK FROM day), COUNT(*) FILTER (WHERE arrived < TIMESTAMP '2024-03-01 12:00:00') FROM \
     people GROUP BY 1",
    "SELECT day - INTERVAL '3 day', COUNT(*), SUM(clamp(CAST(arrived AS DATE) - day, -9, 9)) FROM people WHERE \
     day >= DATE '2024-03-31' - INTERVAL '2 month' OR arrived - INTERVAL '36 hours' < day GROUP BY 1",
    "SELECT upper(left(zip, 3)) || '/' || substr(trim(sex), 1, 1), COUNT(*) FROM people WHERE zip LIKE \
     '%\"_\"' AND zip NOT ILIKE 'ZIP \"3%' AND length(zip) > 2 GROUP BY 1",
];
fn engines(nodes: &Nodes, data: &Data, path: &str, unit: &str) -> [(Session, Box<dyn Engine>); 2] {
    let config = data.config("same", path, unit, "");
    let metadata = || {
        let text = std::fs::read_to_string(&config).unwrap();
        opendp_tables::Metadata::parse(&text).unwrap()
    };
    let filled = |engine: Box<dyn Engine>| {
        for (name, table) in &metadata().tables {
            let file = data.path().join(table.path.as_ref().unwrap());
            let file = file.to_str().unwrap().to_owned();
            let is_csv = file.ends_with(".csv");
            let source = if is_csv { Source::Csv(file) } else { Source::Parquet(file) };
            engine.register(name, table, source).unwrap();
        }
        let idle = Box::new(DataFusion::new().unwrap());
        (Session::with_engine(metadata(), idle).unwrap(), engine)
    };
    let cluster = nodes.connect(Duration::from_secs(600));
    [filled(Box::new(DataFusion::new().unwrap())), filled(Box::new(cluster))]
}
#[test]
fn two_executors_compute_what_one_process_computes_bit_for_bit() {
    let nodes = Nodes::start();
    let data = Data::of(3000);
    for (k, unit) in UNITS.iter().enumerate() {
        let path = ["people.csv", "people"][k % 2];
        let [(session, here), (_, there)] = engines(&nodes, &data, path, unit);
        assert!(there.name().starts_with("Ballista 55."), "{}", there.name());
        for sql in QUERIES {
            let ours = exact(&session, &*here, sql);
            assert_eq!(ours, exact(&session, &*there, sql), "{unit} {path}: {sql}");
            assert!(ours.iter().any(|rows| !rows.is_empty()), "{sql}");
        }
    }
}
#[test]
fn a_stated_number_of_rows_is_compared_with_the_rows_of_a_cluster() {
    let nodes = Nodes::start();
    let data = Data::of(30);
    for (rows, fits) in [(30, true), (31, false)] {
        let unit = format!("{{ rows = 1 }}\nrows = {rows}");
        let session = nodes.open(&data.config("stated", "people.csv", &unit, ""));
        let question = session.query("SELECT COUNT(*), SUM(age) FROM people").unwrap();
        match question.spending(Budget::epsilon(1.0).unwrap()).release() {
            Ok(answer) => assert!(fits, "{answer}"),
            Err(error) => {
                let text = error.to_string();
                assert!(!fits && text.contains("the stated number of rows, 31"), "{text}");
            }
        }
    }
}
#[test]
fn a_session_on_a_cluster_releases_and_leaves_no_files() {
    let mut nodes = Nodes::start();
    let data = Data::of(900);
    let config = data.config("answers", "people", "{ id = \"pid\", max_rows = 2 }", "");
    let question = |session: &Session| {
        let sql = "SELECT sex, COUNT(*) AS n, SUM(age) AS years FROM people GROUP BY sex";
        let question = session.query(sql).unwrap();
        question.spending(Budget::epsilon(1e12).unwrap()).release().unwrap()
    };
    let session = nodes.open(&config);
    let answer = question(&session);
    assert_eq!(answer.table.num_rows(), 3);
    let engine = answer.document["plan"]["engine"].as_str().unwrap();
    assert!(engine.starts_with("Ballista 55."), "{engine}");

    for executor in 0..2 {
        let none = || nodes.files(executor).is_empty().then_some(());
        waited("the files of the query to be removed", none);
        // Other users cannot read the folder of an executor.
        let own = std::fs::read_dir(nodes.folder(executor)).unwrap().next().unwrap().unwrap();
        assert_eq!(own.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        match executor {
            0 => nodes.executors[executor].end(),
            _ => nodes.executors[executor].close(),
        }
        assert_eq!(std::fs::read_dir(nodes.folder(executor)).unwrap().count(), 0);
    }
}
#[test]
fn plans_that_nest_deeply_are_computed_too() {
    let nodes = Nodes::start();
    let data = Data::of(300);
    let unit = "{ id = \"pid\", max_rows = 3, max_groups = 2, max_rows_per_group = 2 }";
    let [(session, here), (_, there)] = engines(&nodes, &data, "people", unit);
    let nested = |levels: i64| {
        let level = |inner: String, k: i64| match k % 2 {
            0 => format!("(age <> {k} AND {inner})"),
            _ => format!("(age = {k} OR {inner})"),
        };
        (1..levels).fold("employed".to_owned(), level)
    };
    // A printed statement has a pair of parentheses for each OR. So these terms are nested deeply.
    let terms: Vec<String> = (0..90).map(|k| format!("age = {k}")).collect();
    for (levels, condition) in [(10, nested(10)), (20, nested(20)), (90, terms.join(" OR "))] {
        let sql = format!(
            "SELECT region, COUNT(*), MEDIAN(income) FROM people JOIN regions ON people.zip = \
             regions.zip WHERE {condition} GROUP BY region"
        );
        let ours = exact(&session, &*here, &sql);
        assert_eq!(ours, exact(&session, &*there, &sql), "{levels}");
        assert!(ours.iter().any(|rows| !rows.is_empty()), "{levels}");
    }
}
/// Half of the cells of `number` are NaN, and half of the flags are not 0. An engine that used the
/// statistics of the file would find no NaN in `number`, and no true flag.
#[test]
fn the_statistics_of_files_have_no_effect_on_a_cluster() {
    let (nodes, folder) = (Nodes::start(), tempfile::tempdir().unwrap());
    let path = folder.path().join("people.parquet").to_str().unwrap().to_owned();
    let idle = DataFusion::new().unwrap();
    let statement = format!(
        "COPY (SELECT CASE WHEN value % 2 = 0 THEN 5 ELSE CAST('NaN' AS DOUBLE) END AS number, \
         -(value % 2) AS flag FROM generate_series(1, 100)) TO '{path}' STORED AS PARQUET"
    );
    idle.wait(async { idle.context().sql(&statement).await?.collect().await }).unwrap();
    let table = Table::private(PrivacyUnit::rows(1)).with("number", Column::new(Type::Float));
    let cluster = nodes.connect(Duration::from_secs(600));
    cluster.register("people", &table, Source::Parquet(path)).unwrap();
    for condition in [
        "people WHERE NOT isnan(number)",
        "\"__raw people\" WHERE CASE WHEN TRY_CAST(flag AS BOOLEAN) THEN 1 ELSE 0 END = 1",
    ] {
        let found = cluster.run(&format!("SELECT COUNT(*) FROM {condition}")).unwrap();
        assert_eq!(found, [[Some("50".to_owned())]], "{condition}");
    }
}
