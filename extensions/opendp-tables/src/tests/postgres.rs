//! The exact plan gives the same results on a PostgreSQL server as in this process, bit for bit.
//! `OPENDP_TABLES_POSTGRES` names the server, and `.ci/tables` starts it. Without this variable the
//! test is skipped.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use opendp_core::{Error, Result};

use super::sensitivity::{Dice, Person, exact, neighbours, query, unit, zone_table};
use super::*;
use crate::engine::DataFusion;
use crate::released::Exact;
use crate::{Cells, Dialect, Engine};

/// An engine that runs statements on a PostgreSQL server through the client `psql`.
pub(super) struct Psql {
    server: String,
    /// The schema of the tables.
    schema: String,
}
impl Psql {
    pub(super) fn new(server: &str, schema: &str) -> Self {
        Psql { server: server.to_owned(), schema: schema.to_owned() }
    }
    pub(super) fn execute(&self, text: &str) -> Result<String> {
        let failed = |reason: String| Error::FailedFunction(reason);
        let schema = &self.schema;
        let text = format!(
            "SET client_min_messages = error; CREATE SCHEMA IF NOT EXISTS {schema}; \
             SET search_path = {schema};\n{text}"
        );
        let mut client = Command::new("psql")
            .args([
                &self.server,
                "-X",
                "-q",
                "-t",
                "--csv",
                "-v",
                "ON_ERROR_STOP=1",
                "-P",
                "null=\\N",
            ])
            .args(["-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        client.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = client.wait_with_output().unwrap();
        if output.status.success() {
            Ok(String::from_utf8(output.stdout).unwrap())
        } else {
            Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
        }
    }
}
impl Engine for Psql {
    fn name(&self) -> String {
        "PostgreSQL".into()
    }
    fn dialect(&self) -> Dialect {
        Dialect::PostgreSql
    }
    fn run(&self, statement: &str) -> Result<Vec<Cells>> {
        let text =
            self.execute(statement).inspect_err(|error| eprintln!("{statement}\n{error}"))?;
        Ok(text.lines().map(cells).collect())
    }
}
/// Split a line of CSV into its cells. The keys in the tests have no line breaks, so each line is a
/// whole row.
fn cells(line: &str) -> Cells {
    let (mut all, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut marks = line.chars().peekable();
    while let Some(mark) = marks.next() {
        match mark {
            '"' if quoted && marks.peek() == Some(&'"') => {
                cell.push('"');
                marks.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut cell)),
            mark => cell.push(mark),
        }
    }
    all.push(cell);
    all.into_iter().map(|cell| (cell != "\\N").then_some(cell)).collect()
}
fn tables(people: &[Person]) -> String {
    let mut text = String::from(
        "SET client_min_messages = error; DROP TABLE IF EXISTS people; DROP TABLE IF EXISTS zones;\n\
         CREATE TABLE zones (name TEXT); INSERT INTO zones VALUES ('a'), ('d'), ('b');\n\
         CREATE TABLE people (pid BIGINT, sex TEXT, town TEXT, age BIGINT, \
         income DOUBLE PRECISION, employed BOOLEAN);\n",
    );
    for person in people {
        let cell = |cell: Option<String>| {
            cell.map_or("NULL".into(), |cell| format!("'{}'", cell.replace('\'', "''")))
        };
        let float = |income: f64| match income {
            income if income.is_nan() => "NaN".to_owned(),
            income if income.is_infinite() => {
                if income > 0.0 {
                    "Infinity".into()
                } else {
                    "-Infinity".into()
                }
            }
            income => format!("{income:e}"),
        };
        let row = [
            cell(person.pid.map(|x| x.to_string())),
            cell(person.sex.map(str::to_owned)),
            cell(person.town.map(str::to_owned)),
            cell(person.age.map(|x| x.to_string())),
            cell(person.income.map(float)),
            cell(person.employed.map(|x| x.to_string())),
        ];
        let _ = writeln!(text, "INSERT INTO people VALUES ({});", row.join(", "));
    }
    text
}
#[test]
fn the_exact_plan_gives_the_same_results_on_postgresql() {
    let Ok(server) = std::env::var("OPENDP_TABLES_POSTGRES") else {
        eprintln!("SKIPPED: no PostgreSQL server; set OPENDP_TABLES_POSTGRES");
        return;
    };
    let server = Psql::new(&server, "people");
    let mut dice = Dice::new(11);
    for _ in 0..8 {
        let unit = unit(&mut dice);
        let described = described(unit.clone());
        let mut metadata = metadata(described.clone());
        metadata.tables.insert("zones".into(), zone_table());
        let idle = Box::new(DataFusion::new().unwrap());
        let session = Session::with_engine(metadata, idle).unwrap();
        let [people, _] = neighbours(&mut dice, &unit);
        server.execute(&tables(&people)).unwrap();
        for _ in 0..4 {
            let sql = query(&mut dice, unit.id.is_some());
            let plan = session.checked(&sql).unwrap().plan;
            let theirs = Exact::run(&plan, &server, "0123456789abcdef")
                .unwrap_or_else(|error| panic!("{sql}\n{error}"));
            let ours = exact(&plan, &described, &people, false);
            assert_eq!(ours.sums, theirs.sums, "{sql}\n{people:?}");
            assert_eq!(ours.buckets, theirs.buckets, "{sql}\n{people:?}");
        }
    }
}
