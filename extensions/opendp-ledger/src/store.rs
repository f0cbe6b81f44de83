//! Where the tables are.

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod sqlite;

use opendp_core::Result;

use crate::{Account, Entry};

/// A place that keeps the two tables. Writers take turns, also those in other processes.
pub(crate) trait Store: Send + Sync {
    /// Look at one state of the tables.
    fn read(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
    /// Change the tables: all of it is durable when this returns, or none of it is done. No other
    /// writer comes in between. When the answer is an error of the storage, either may be the case.
    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
}

/// The two tables, within a transaction.
pub(crate) trait Tables {
    fn account(&mut self, name: &str) -> Result<Option<Account>>;
    fn accounts(&mut self) -> Result<Vec<Account>>;
    fn add_account(&mut self, account: &Account) -> Result<()>;
    fn update_account(&mut self, account: &Account) -> Result<()>;
    fn entry(&mut self, account: &Account, id: &str) -> Result<Option<Entry>>;
    /// All entries of an account, by number.
    fn entries(&mut self, account: &Account) -> Result<Vec<Entry>>;
    fn add_entry(&mut self, entry: &Entry) -> Result<()>;
}

// SQLite numbers `$1` by where it first stands, and PostgreSQL by what it says: they agree where the
// numbers come in order.

/// The tables, in words that every SQL server knows.
pub(crate) const SCHEMA: &str = "
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
";
const ACCOUNT: &str =
    "SELECT name, measure, total, spent, releases, created, latest, head, seal FROM budget";
const ADD_ACCOUNT: &str = "INSERT INTO budget \
    (name, measure, total, spent, releases, created, latest, head, seal) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const UPDATE_ACCOUNT: &str = "UPDATE budget SET spent = $1, releases = $2, latest = $3, \
    head = $4, seal = $5 WHERE name = $6";
const ENTRY: &str = "SELECT budget, number, id, asker, at, pipeline, d_in, loss, release, digest, \
    previous, seal FROM spend WHERE budget = $1";
const ADD_ENTRY: &str = "INSERT INTO spend (budget, number, id, asker, at, pipeline, d_in, loss, \
    release, digest, previous, seal) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
