//! The tables of a ledger of version 1, in SQLite. This program only reads these tables.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use opendp_core::{Error, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};

use super::file::{failed, no_ledger, read_only_error};
use super::{Store, Tables};
use crate::record::{AccountRow, EntryRow};
use crate::{Account, Entry};

/// The SQLite application id of a ledger: the bytes "dpLd".
const APPLICATION: i32 = 0x6470_4c64;
/// The version of the tables in the file.
const VERSION: i32 = 1;
/// The longest time to wait for other processes.
const PATIENCE: Duration = Duration::from_secs(60);

const ACCOUNT: &str =
    "SELECT name, measure, total, spent, releases, created, latest, head, seal FROM budget";
const ENTRY: &str = "SELECT budget, number, id, asker, at, pipeline, d_in, loss, release, digest, \
    previous, seal FROM spend WHERE budget = $1";

pub(crate) struct Legacy {
    path: PathBuf,
    connection: Mutex<Connection>,
}
impl Legacy {
    /// Open a ledger of version 1 for reading.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // Reading a write-ahead log creates another file. If there is no log, or the log is empty,
        // read only the database, and create no file.
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let empty = std::fs::metadata(&log).map_or(true, |log| log.len() == 0);
        let opened = if empty {
            let name = path.to_string_lossy();
            let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)
        } else {
            Connection::open_with_flags(path, flags)
        };
        Legacy::of(path, opened)
    }
    /// Open a file for the conversion. No other process is allowed to have the file open.
    pub(crate) fn open_alone(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let legacy = Legacy::of(path, Connection::open_with_flags(path, flags))?;
        let connection = legacy.connection();
        // This call writes the log into the file, and removes the log. The call fails if another
        // process has the file open.
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get::<_, String>(0))
            .and_then(|mode| connection.execute_batch("BEGIN EXCLUSIVE").map(|()| mode))
            .map_err(|error| fault(path, &error))?;
        drop(connection);
        match &*mode {
            "delete" => Ok(legacy),
            _ => Err(failed(path, "is in use by an older version of this program")),
        }
    }
    fn of(path: &Path, opened: rusqlite::Result<Connection>) -> Result<Self> {
        let fault = |error: rusqlite::Error| fault(path, &error);
        let connection = opened.map_err(fault)?;
        connection.busy_timeout(PATIENCE).map_err(fault)?;
        connection.pragma_update(None, "trusted_schema", false).map_err(fault)?;
        connection.pragma_update(None, "cell_size_check", true).map_err(fault)?;
        let number = |pragma: &str| {
            connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).map_err(fault)
        };
        match (number("application_id")?, number("user_version")?) {
            (APPLICATION, VERSION) => {}
            (APPLICATION, version) => {
                return Err(Error::NotImplemented(format!(
                    "the ledger {} has version {version}, which this program does not know",
                    path.display()
                )));
            }
            _ => return Err(no_ledger(path)),
        }
        Ok(Legacy { path: path.into(), connection: Mutex::new(connection) })
    }
    fn connection(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Read the tables, within the current transaction.
    pub(crate) fn look(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        work(&mut Rows { connection: &self.connection(), path: &self.path })
    }
}

impl Store for Legacy {
    fn read(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        let mut connection = self.connection();
        let transaction = connection.transaction().map_err(|error| fault(&self.path, &error))?;
        work(&mut Rows { connection: &transaction, path: &self.path })
    }
    fn write(&self, _: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        Err(read_only_error(&self.path))
    }
}

struct Rows<'a> {
    connection: &'a Connection,
    path: &'a Path,
}
impl Rows<'_> {
    fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let all = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut sql| sql.query_map(values, row)?.collect::<rusqlite::Result<Vec<T>>>());
        all.map_err(|error| fault(self.path, &error))
    }
    fn closed<T>(&self) -> Result<T> {
        Err(read_only_error(self.path))
    }
}
impl Tables for Rows<'_> {
    fn account(&mut self, name: &str) -> Result<Option<Account>> {
        let rows = self.rows(&format!("{ACCOUNT} WHERE name = $1"), [name], account)?;
        rows.into_iter().next().map(Account::from_row).transpose()
    }
    fn accounts(&mut self) -> Result<Vec<Account>> {
        let rows = self.rows(&format!("{ACCOUNT} ORDER BY name"), [], account)?;
        rows.into_iter().map(Account::from_row).collect()
    }
    fn entry(&mut self, account: &Account, id: &str) -> Result<Option<Entry>> {
        let rows = self.rows(&format!("{ENTRY} AND id = $2"), [&*account.name, id], entry)?;
        let row = rows.into_iter().next();
        row.map(|row| Entry::from_row(row, account.total.notion())).transpose()
    }
    fn entries(&mut self, account: &Account) -> Result<Vec<Entry>> {
        let rows = self.rows(&format!("{ENTRY} ORDER BY number"), [&*account.name], entry)?;
        rows.into_iter().map(|row| Entry::from_row(row, account.total.notion())).collect()
    }
    fn add_account(&mut self, _: &Account) -> Result<()> {
        self.closed()
    }
    fn update_account(&mut self, _: &Account) -> Result<()> {
        self.closed()
    }
    fn add_entry(&mut self, _: &Entry) -> Result<()> {
        self.closed()
    }
}
fn account(row: &Row<'_>) -> rusqlite::Result<AccountRow> {
    Ok(AccountRow {
        name: row.get(0)?,
        measure: row.get(1)?,
        total: row.get(2)?,
        spent: row.get(3)?,
        releases: row.get(4)?,
        created: row.get(5)?,
        latest: row.get(6)?,
        terms: String::new(),
        filters: String::new(),
        head: row.get(7)?,
        seal: row.get(8)?,
    })
}
fn entry(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    Ok(EntryRow {
        budget: row.get(0)?,
        number: row.get(1)?,
        id: row.get(2)?,
        by: row.get(3)?,
        at_ms: row.get(4)?,
        pipeline: row.get(5)?,
        d_in: row.get(6)?,
        source: String::new(),
        loss: row.get(7)?,
        release: row.get(8)?,
        digest: row.get(9)?,
        previous: row.get(10)?,
        seal: row.get(11)?,
    })
}

#[cold]
fn fault(path: &Path, error: &rusqlite::Error) -> Error {
    let what = match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly) => return read_only_error(path),
        Some(ErrorCode::DiskFull) => "cannot grow: the disk is full".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "is damaged".to_owned(),
        Some(ErrorCode::NotADatabase) => "is damaged, or is not a ledger".to_owned(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "is in use by another connection: end the program that uses it, or try again".to_owned()
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "cannot be opened: check its folder and permissions".to_owned()
        }
        Some(ErrorCode::SystemIoFailure) => {
            "cannot be read or written: input/output error".to_owned()
        }
        _ => format!("failed: {error}"),
    };
    failed(path, &what)
}
