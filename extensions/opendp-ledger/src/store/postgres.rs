//! The tables on a PostgreSQL server.

use std::sync::{Mutex, PoisonError};

use opendp_core::{Error, Result};
use postgres::{Client, IsolationLevel, NoTls, Row, Transaction, types::ToSql};

use super::{Store, Tables};
use crate::record::{AccountRow, EntryRow};
use crate::{Account, Entry};

/// The number of the database lock. A writer holds this lock, so only one writer works at a time.
/// The bytes of this number are "opendpLe".
const TURN: i64 = 0x6f70_656e_6470_4c65;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS budget (
    name TEXT PRIMARY KEY, measure TEXT NOT NULL, total TEXT NOT NULL, spent TEXT NOT NULL,
    releases BIGINT NOT NULL, created BIGINT NOT NULL, latest BIGINT NOT NULL,
    head TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS spend (
    budget TEXT NOT NULL REFERENCES budget (name), number BIGINT NOT NULL, id TEXT NOT NULL,
    asker TEXT NOT NULL, at BIGINT NOT NULL, pipeline TEXT NOT NULL, d_in TEXT NOT NULL,
    loss TEXT NOT NULL, release TEXT NOT NULL, digest TEXT NOT NULL,
    previous TEXT NOT NULL, seal TEXT NOT NULL,
    PRIMARY KEY (budget, number), UNIQUE (budget, id));
ALTER TABLE budget ADD COLUMN IF NOT EXISTS terms TEXT NOT NULL DEFAULT '';
ALTER TABLE budget ADD COLUMN IF NOT EXISTS filters TEXT NOT NULL DEFAULT '';
ALTER TABLE spend ADD COLUMN IF NOT EXISTS source TEXT NOT NULL DEFAULT '';
";
/// The tables, and the columns that each table has in every version of a ledger.
const TABLES: [(&str, &[&str]); 2] = [
    (
        "budget",
        &["name", "measure", "total", "spent", "releases", "created", "latest", "head", "seal"],
    ),
    (
        "spend",
        &[
            "budget", "number", "id", "asker", "at", "pipeline", "d_in", "loss", "release",
            "digest", "previous", "seal",
        ],
    ),
];
/// A query about the name of a table. The query returns whether the name is in use, and which
/// columns the table has. The query looks in the schema in which the statements of `SCHEMA` create
/// tables.
const FOUND: &str = "SELECT place IS NOT NULL, ARRAY(SELECT attname::text FROM pg_attribute \
    WHERE attrelid = place AND attnum > 0 AND NOT attisdropped) \
    FROM to_regclass(quote_ident(current_schema()) || '.' || $1::text) AS place";
/// A query that returns whether the tables lack columns that this version needs.
const OLD: &str = "SELECT count(*) < 3 FROM pg_attribute WHERE NOT attisdropped \
    AND (attrelid = to_regclass('budget') AND attname IN ('terms', 'filters') \
    OR attrelid = to_regclass('spend') AND attname = 'source')";
const ACCOUNT: &str = "SELECT name, measure, total, spent, releases, created, latest, terms, head, \
    seal, filters FROM budget";
const ADD_ACCOUNT: &str = "INSERT INTO budget \
    (name, measure, total, spent, releases, created, latest, terms, head, seal, filters) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const UPDATE_ACCOUNT: &str = "UPDATE budget SET spent = $1, releases = $2, latest = $3, \
    head = $4, seal = $5, filters = $6 WHERE name = $7";
const ENTRY: &str = "SELECT budget, number, id, asker, at, pipeline, d_in, source, loss, release, \
    digest, previous, seal FROM spend WHERE budget = $1";
const ADD_ENTRY: &str = "INSERT INTO spend (budget, number, id, asker, at, pipeline, d_in, source, \
    loss, release, digest, previous, seal) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";

/// A server with two connections. A thread can read through `reader` while another thread writes
/// through `writer`.
pub(crate) struct Postgres {
    parameters: String,
    writer: Mutex<Client>,
    reader: Mutex<Client>,
}
impl Postgres {
    pub(crate) fn connect(parameters: &str) -> Result<Self> {
        let store = Postgres {
            parameters: parameters.into(),
            writer: Mutex::new(client(parameters)?),
            reader: Mutex::new(client(parameters)?),
        };
        let mut missing = false;
        transaction(&store.reader, parameters, true, &mut |transaction| {
            missing = transaction.query_one(OLD, &[]).map_err(|error| fault(&error))?.get(0);
            Ok(())
        })?;
        if missing {
            transaction(&store.writer, parameters, false, &mut |transaction| {
                turn(transaction)?;
                check_tables(transaction)?;
                transaction.batch_execute(SCHEMA).map_err(|error| fault(&error))
            })?;
        }
        Ok(store)
    }
}
fn client(parameters: &str) -> Result<Client> {
    let mut client = Client::connect(parameters, NoTls).map_err(|error| fault(&error))?;
    let row = client.query_one("SHOW fsync", &[]).map_err(|error| fault(&error))?;
    match row.try_get::<_, &str>(0) {
        Ok("on") => Ok(client),
        _ => Err(Error::FailedFunction(
            "the ledger's server does not sync to its disk (`fsync` is off); nothing was released"
                .into(),
        )),
    }
}
/// Check that no table of another program has the name of a table of the ledger. Without this
/// check, the statements of `SCHEMA` would change such a table.
fn check_tables(transaction: &mut Transaction<'_>) -> Result<()> {
    for (table, columns) in TABLES {
        let row = transaction.query_one(FOUND, &[&table]).map_err(|error| fault(&error))?;
        let exists: bool = row.try_get(0).map_err(|error| fault(&error))?;
        let found: Vec<String> = row.try_get(1).map_err(|error| fault(&error))?;
        let missing = columns.iter().find(|column| found.iter().all(|name| name != *column));
        if let Some(column) = missing.filter(|_| exists) {
            return Err(Error::FailedFunction(format!(
                "the ledger's server: the table `{table}` is not a table of a ledger, because it \
                 has no column `{column}`; nothing was changed. Use another database or schema"
            )));
        }
    }
    Ok(())
}
/// Wait until no other writer works, and lock out other writers until the transaction ends.
fn turn(transaction: &mut Transaction<'_>) -> Result<()> {
    let locked = transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&TURN]);
    locked.map(|_| ()).map_err(|error| fault(&error))
}
fn transaction(
    client: &Mutex<Client>,
    parameters: &str,
    read_only: bool,
    work: &mut dyn FnMut(&mut Transaction<'_>) -> Result<()>,
) -> Result<()> {
    let mut client = client.lock().unwrap_or_else(PoisonError::into_inner);
    if client.is_closed() {
        *client = self::client(parameters)?;
    }
    let isolation =
        if read_only { IsolationLevel::RepeatableRead } else { IsolationLevel::ReadCommitted };
    let builder = client.build_transaction().isolation_level(isolation).read_only(read_only);
    let mut transaction = builder.start().map_err(|error| fault(&error))?;
    if !read_only {
        // With this setting, the commit returns only after its data are on the disk, independently
        // of the default of the server. A connection pooler can lose the settings of a session, so
        // make this setting in each transaction.
        let on = transaction.batch_execute("SET LOCAL synchronous_commit = on");
        on.map_err(|error| fault(&error))?;
    }
    // If `work` fails, the transaction is dropped, and a dropped transaction is rolled back.
    work(&mut transaction)?;
    transaction.commit().map_err(|error| fault(&error))
}

impl Store for Postgres {
    fn read(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        transaction(&self.reader, &self.parameters, true, &mut |transaction| {
            work(&mut Rows { transaction, failed: None })
        })
    }
    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        transaction(&self.writer, &self.parameters, false, &mut |transaction| {
            // Wait for the previous writer first, so that all later statements see the commits of
            // that writer.
            turn(transaction)?;
            let mut rows = Rows { transaction, failed: None };
            work(&mut rows)?;
            // After a failed statement, the server rolls the transaction back, although its answer
            // to `COMMIT` is no error. So do not commit, even if `work` handled the error.
            rows.failed.map_or(Ok(()), Err)
        })
    }
}

struct Rows<'a, 'b> {
    transaction: &'a mut Transaction<'b>,
    /// The error of the first statement that failed or changed no row.
    failed: Option<Error>,
}
impl Rows<'_, '_> {
    /// Note a failed statement, and return its error.
    fn failure(&mut self, error: &postgres::Error) -> Error {
        let error = fault(error);
        self.failed.get_or_insert(error).clone()
    }
    fn change(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<()> {
        match self.transaction.execute(sql, values).map_err(|error| self.failure(&error))? {
            1 => Ok(()),
            _ => {
                let error = Error::FailedFunction(
                    "the ledger is damaged: a row is missing; nothing was charged or released. \
                     Restore the ledger from a copy that has all releases"
                        .into(),
                );
                Err(self.failed.get_or_insert(error).clone())
            }
        }
    }
    fn rows<T>(
        &mut self,
        sql: &str,
        values: &[&(dyn ToSql + Sync)],
        row: impl Fn(&Row) -> Result<T, postgres::Error>,
    ) -> Result<Vec<T>> {
        let rows = self.transaction.query(sql, values).map_err(|error| self.failure(&error))?;
        rows.iter().map(|found| row(found).map_err(|error| fault(&error))).collect()
    }
}
impl Tables for Rows<'_, '_> {
    fn account(&mut self, name: &str) -> Result<Option<Account>> {
        let rows = self.rows(&format!("{ACCOUNT} WHERE name = $1"), &[&name], account)?;
        rows.into_iter().next().map(Account::from_row).transpose()
    }
    fn accounts(&mut self) -> Result<Vec<Account>> {
        let rows = self.rows(&format!("{ACCOUNT} ORDER BY name"), &[], account)?;
        rows.into_iter().map(Account::from_row).collect()
    }
    fn add_account(&mut self, a: &Account) -> Result<()> {
        let measure = a.total.notion().name();
        let (total, spent, seal) = (a.total.to_text(), a.spent.to_text(), a.seal());
        let (terms, filters) = (a.terms.to_text(), a.filters_text());
        self.change(
            ADD_ACCOUNT,
            &[
                &a.name,
                &measure,
                &total,
                &spent,
                &a.releases,
                &a.created,
                &a.latest,
                &terms,
                &a.head,
                &seal,
                &filters,
            ],
        )
    }
    fn update_account(&mut self, a: &Account) -> Result<()> {
        let (spent, seal, filters) = (a.spent.to_text(), a.seal(), a.filters_text());
        self.change(
            UPDATE_ACCOUNT,
            &[&spent, &a.releases, &a.latest, &a.head, &seal, &filters, &a.name],
        )
    }
    fn entry(&mut self, account: &Account, id: &str) -> Result<Option<Entry>> {
        let rows = self.rows(&format!("{ENTRY} AND id = $2"), &[&account.name, &id], entry)?;
        let row = rows.into_iter().next();
        row.map(|row| Entry::from_row(row, account.total.notion())).transpose()
    }
    fn entries(&mut self, account: &Account) -> Result<Vec<Entry>> {
        let rows = self.rows(&format!("{ENTRY} ORDER BY number"), &[&account.name], entry)?;
        rows.into_iter().map(|row| Entry::from_row(row, account.total.notion())).collect()
    }
    fn add_entry(&mut self, e: &Entry) -> Result<()> {
        let (loss, seal) = (e.loss.to_text(), e.seal());
        self.change(
            ADD_ENTRY,
            &[
                &e.budget,
                &e.number,
                &e.id,
                &e.by,
                &e.at_ms,
                &e.pipeline,
                &e.d_in,
                &e.source,
                &loss,
                &e.release,
                &e.digest,
                &e.previous,
                &seal,
            ],
        )
    }
}
fn account(row: &Row) -> Result<AccountRow, postgres::Error> {
    Ok(AccountRow {
        name: row.try_get(0)?,
        measure: row.try_get(1)?,
        total: row.try_get(2)?,
        spent: row.try_get(3)?,
        releases: row.try_get(4)?,
        created: row.try_get(5)?,
        latest: row.try_get(6)?,
        terms: row.try_get(7)?,
        head: row.try_get(8)?,
        seal: row.try_get(9)?,
        filters: row.try_get(10)?,
    })
}
fn entry(row: &Row) -> Result<EntryRow, postgres::Error> {
    Ok(EntryRow {
        budget: row.try_get(0)?,
        number: row.try_get(1)?,
        id: row.try_get(2)?,
        by: row.try_get(3)?,
        at_ms: row.try_get(4)?,
        pipeline: row.try_get(5)?,
        d_in: row.try_get(6)?,
        source: row.try_get(7)?,
        loss: row.try_get(8)?,
        release: row.try_get(9)?,
        digest: row.try_get(10)?,
        previous: row.try_get(11)?,
        seal: row.try_get(12)?,
    })
}

/// Make the error for a fault of the server. The error does not contain the connection parameters,
/// because these can contain a password.
#[cold]
fn fault(error: &postgres::Error) -> Error {
    let what = match error.as_db_error() {
        Some(error) => format!("{} ({})", error.message(), error.code().code()),
        None => error.to_string(),
    };
    Error::FailedFunction(format!("the ledger's server: {what}; nothing was released"))
}
