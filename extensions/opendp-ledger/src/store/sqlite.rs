//! The tables in a file.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use opendp_core::{Error, Result};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Row, TransactionBehavior, params};

use super::{ACCOUNT, ADD_ACCOUNT, ADD_ENTRY, ENTRY, SCHEMA, Store, Tables, UPDATE_ACCOUNT};
use crate::record::{AccountRow, EntryRow};
use crate::{Account, Entry};

/// Marks a file as a ledger: "dpLd".
const APPLICATION: i32 = 0x6470_4c64;
/// The version of the tables.
const VERSION: i32 = 1;
/// How long to wait for other processes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A file, with a connection to write and one to read while another thread writes.
pub(crate) struct Sqlite {
    path: PathBuf,
    writer: Option<Mutex<Connection>>,
    reader: Mutex<Connection>,
}

/// What to do about the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Create,
    Write,
    Read,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, mode: Mode) -> Result<Self> {
        let fault = |error: rusqlite::Error| fault(path, &error);
        if mode != Mode::Create && !path.is_file() {
            return Err(Error::NotFound(format!("there is no ledger at {}", path.display())));
        }
        if mode == Mode::Read {
            let reader = read_only(path)?;
            return Ok(Sqlite { path: path.into(), writer: None, reader: Mutex::new(reader) });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let create = flags | OpenFlags::SQLITE_OPEN_CREATE;
        let flags = if mode == Mode::Create { create } else { flags };
        let mut writer = Connection::open_with_flags(path, flags).map_err(fault)?;
        writer.busy_timeout(PATIENCE).map_err(fault)?;
        // A file that cannot be written is opened for reading, without a word.
        if writer.is_readonly(MAIN_DB).map_err(fault)? {
            return Err(read_only_error(path));
        }
        settle(&writer).map_err(fault)?;
        let transaction =
            writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        let number = |pragma: &str| {
            transaction.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0)).map_err(fault)
        };
        let tables: i64 = transaction
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(fault)?;
        match (number("application_id")?, number("user_version")?) {
            (APPLICATION, VERSION) => {}
            (APPLICATION, version) => {
                return Err(Error::NotImplemented(format!(
                    "the ledger {} has version {version} and this program knows {VERSION}",
                    path.display()
                )));
            }
            (0, 0) if tables == 0 && mode == Mode::Create => {
                transaction.execute_batch(SCHEMA).map_err(fault)?;
                transaction.pragma_update(None, "application_id", APPLICATION).map_err(fault)?;
                transaction.pragma_update(None, "user_version", VERSION).map_err(fault)?;
            }
            _ => return Err(no_ledger(path)),
        }
        transaction.commit().map_err(fault)?;
        let reader = Connection::open_with_flags(path, flags).map_err(fault)?;
        reader.busy_timeout(PATIENCE).map_err(fault)?;
        settle(&reader).map_err(fault)?;
        Ok(Sqlite {
            path: path.into(),
            writer: Some(Mutex::new(writer)),
            reader: Mutex::new(reader),
        })
    }
    /// Let the file grow no further, as on a full disk.
    #[cfg(test)]
    pub(crate) fn stop_growing(&self) {
        let writer = self.writer.as_ref().unwrap().lock().unwrap();
        let pages: i64 = writer.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        writer.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    }
}
/// A commit has reached the disk when it returns: every commit syncs the write-ahead log.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)
}
fn read_only(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |name: &Path, flags| -> rusqlite::Result<(Connection, i32)> {
        let connection = Connection::open_with_flags(name, flags)?;
        connection.busy_timeout(PATIENCE)?;
        let application =
            connection.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0))?;
        Ok((connection, application))
    };
    let opened = open(path, flags).or_else(|error| {
        // Reading a write-ahead log takes a file beside it. Where none can be made, and no log is
        // left over, the file alone is the whole truth.
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let empty = std::fs::metadata(&log).map_or(true, |log| log.len() == 0);
        let refused =
            matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly));
        if !refused || !empty {
            return Err(error);
        }
        let name =
            path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let name = PathBuf::from(format!("file:{name}?immutable=1"));
        open(&name, flags | OpenFlags::SQLITE_OPEN_URI)
    });
    match opened.map_err(|error| fault(path, &error))? {
        (connection, APPLICATION) => Ok(connection),
        _ => Err(no_ledger(path)),
    }
}

impl Store for Sqlite {
    fn read(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = reader.transaction().map_err(|error| fault(&self.path, &error))?;
        work(&mut Rows { connection: &transaction, path: &self.path })
    }
    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        let fault = |error: rusqlite::Error| fault(&self.path, &error);
        let writer = self.writer.as_ref().ok_or_else(|| read_only_error(&self.path))?;
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction =
            writer.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        // Dropping the transaction rolls it back.
        work(&mut Rows { connection: &transaction, path: &self.path })?;
        transaction.commit().map_err(fault)
    }
}

struct Rows<'a> {
    connection: &'a Connection,
    path: &'a Path,
}
impl Rows<'_> {
    fn change(&self, sql: &str, values: impl rusqlite::Params) -> Result<()> {
        let changed = self.connection.prepare_cached(sql).and_then(|mut sql| sql.execute(values));
        match changed.map_err(|error| fault(self.path, &error))? {
            1 => Ok(()),
            _ => Err(Error::FailedFunction(format!(
                "the ledger {} is damaged: a row is missing; nothing was charged or released",
                self.path.display()
            ))),
        }
    }
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
    fn add_account(&mut self, a: &Account) -> Result<()> {
        self.change(
            ADD_ACCOUNT,
            params![
                a.name,
                a.total.notion().name(),
                a.total.to_text(),
                a.spent.to_text(),
                a.releases,
                a.created,
                a.latest,
                a.head,
                a.seal()
            ],
        )
    }
    fn update_account(&mut self, a: &Account) -> Result<()> {
        self.change(
            UPDATE_ACCOUNT,
            params![a.spent.to_text(), a.releases, a.latest, a.head, a.seal(), a.name],
        )
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
    fn add_entry(&mut self, e: &Entry) -> Result<()> {
        self.change(
            ADD_ENTRY,
            params![
                e.budget,
                e.number,
                e.id,
                e.by,
                e.at,
                e.pipeline,
                e.d_in,
                e.loss.to_text(),
                e.release,
                e.digest,
                e.previous,
                e.seal()
            ],
        )
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
        at: row.get(4)?,
        pipeline: row.get(5)?,
        d_in: row.get(6)?,
        loss: row.get(7)?,
        release: row.get(8)?,
        digest: row.get(9)?,
        previous: row.get(10)?,
        seal: row.get(11)?,
    })
}

#[cold]
fn no_ledger(path: &Path) -> Error {
    Error::FailedFunction(format!("{} is not a ledger", path.display()))
}
#[cold]
fn read_only_error(path: &Path) -> Error {
    Error::FailedFunction(format!(
        "the ledger {} is read-only; nothing was charged or released",
        path.display()
    ))
}
/// Say what is wrong with the file.
#[cold]
fn fault(path: &Path, error: &rusqlite::Error) -> Error {
    let what = match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly) => return read_only_error(path),
        Some(ErrorCode::DiskFull) => "cannot grow: the disk is full".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => "is damaged".to_owned(),
        Some(ErrorCode::NotADatabase) => "is damaged, or is not a ledger".to_owned(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("was in use by other processes for {} seconds", PATIENCE.as_secs())
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            "cannot be opened: check its folder and permissions".to_owned()
        }
        Some(ErrorCode::SystemIoFailure) => {
            "cannot be read or written: input/output error".to_owned()
        }
        _ => format!("failed: {error}"),
    };
    Error::FailedFunction(format!("the ledger {} {what}; nothing was released", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ledger, Loss, Request};

    #[test]
    fn a_full_disk_releases_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        let store = Sqlite::open(&path, Mode::Create).unwrap();
        let spend = |ledger: &Ledger, id: usize, value: String| {
            let request = Request::of_loss(&id.to_string(), Loss::epsilon("0.01").unwrap());
            ledger.release("b", &request, || Ok(value))
        };
        Ledger::of(Sqlite::open(&path, Mode::Write).unwrap())
            .create("b", &Loss::epsilon("1").unwrap())
            .unwrap();
        store.stop_growing();
        let full = Ledger::of(store);
        let mut granted = 0;
        let error = loop {
            match spend(&full, granted, "x".repeat(1500)) {
                Ok(_) => granted += 1,
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("the disk is full; nothing was released"), "{error}");
        assert_eq!(full.history("b").unwrap().len(), granted);
        // With room again, the same request goes through, once.
        let ledger = Ledger::open(&path).unwrap();
        assert!(!spend(&ledger, granted, "x".repeat(1500)).unwrap().repeated());
        assert!(spend(&full, granted, String::new()).unwrap().repeated());
        assert_eq!(ledger.history("b").unwrap().len(), granted + 1);
    }
    #[test]
    fn commits_are_synced() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("l"), Mode::Create).unwrap();
        let writer = store.writer.as_ref().unwrap().lock().unwrap();
        let level: i64 = writer.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        let mode: String =
            writer.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
        assert_eq!((level, &*mode), (2, "wal"));
    }
}
