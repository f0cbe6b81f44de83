use std::path::PathBuf;

use rusqlite::{Connection, params};
use tempfile::TempDir;

use super::layout::write_line;
use super::*;
use crate::record::digest;
use crate::{Account, Entry, Ledger, Loss, Notion, Request, Terms};

fn loss(epsilon: &str) -> Loss {
    Loss::epsilon(epsilon).unwrap()
}
fn spend(ledger: &Ledger, id: &str) -> Result<bool> {
    let release = ledger.release("b", &Request::of_loss(id, loss("0.1")), || Ok(7))?;
    Ok(!release.repeated())
}

/// The SQL statements that create the tables of version 1.
const SCHEMA: &str = "CREATE TABLE budget (
        name TEXT PRIMARY KEY, measure TEXT NOT NULL, total TEXT NOT NULL,
        spent TEXT NOT NULL, releases BIGINT NOT NULL, created BIGINT NOT NULL,
        latest BIGINT NOT NULL, head TEXT NOT NULL, seal TEXT NOT NULL);
    CREATE TABLE spend (
        budget TEXT NOT NULL REFERENCES budget (name), number BIGINT NOT NULL,
        id TEXT NOT NULL, asker TEXT NOT NULL, at BIGINT NOT NULL, pipeline TEXT NOT NULL,
        d_in TEXT NOT NULL, loss TEXT NOT NULL, release TEXT NOT NULL,
        digest TEXT NOT NULL, previous TEXT NOT NULL, seal TEXT NOT NULL,
        PRIMARY KEY (budget, number), UNIQUE (budget, id));";

/// Make a ledger in the format of version 1, with two releases. The file states `version` as its
/// version. While the connection is open, both releases are in the log file.
fn old(version: i32) -> (TempDir, PathBuf, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    connection.pragma_update(None, "application_id", 0x6470_4c64).unwrap();
    connection.pragma_update(None, "user_version", version).unwrap();
    let mut account = Account {
        name: "b".into(),
        total: loss("0.5"),
        spent: Loss::zero(Notion::Pure),
        releases: 0,
        created: 1,
        latest: 1,
        terms: Terms::new(),
        filters: None,
        head: String::new(),
    };
    let a = &account;
    connection
        .execute(
            "INSERT INTO budget VALUES ($1, $2, $3, $4, 0, 1, 1, '', $5)",
            params![a.name, a.total.notion().name(), a.total.to_text(), "0", a.seal()],
        )
        .unwrap();
    for number in [1, 2] {
        let e = Entry {
            budget: "b".into(),
            number,
            id: number.to_string(),
            by: "Ada".into(),
            at_ms: 1 + number,
            pipeline: "null".into(),
            d_in: "null".into(),
            source: String::new(),
            loss: loss("0.1"),
            release: "7".into(),
            digest: digest("7"),
            previous: account.head.clone(),
        };
        account.follow(&e).unwrap();
        add_old(&connection, &e);
        let a = &account;
        connection
            .execute(
                "UPDATE budget SET spent = $1, releases = $2, latest = $3, head = $4, seal = $5",
                params![a.spent.to_text(), a.releases, a.latest, a.head, a.seal()],
            )
            .unwrap();
    }
    (folder, path, connection)
}

/// Write an entry in the format of version 1 of the ledger.
fn add_old(connection: &Connection, e: &Entry) {
    connection
        .execute(
            "INSERT INTO spend VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
            params![
                e.budget,
                e.number,
                e.id,
                e.by,
                e.at_ms,
                e.pipeline,
                e.d_in,
                e.loss.to_text(),
                e.release,
                e.digest,
                e.previous,
                e.seal()
            ],
        )
        .unwrap();
}

#[test]
fn a_ledger_of_the_older_kind_is_read_and_goes_on() {
    let (folder, path, connection) = old(1);
    // While another connection uses the log of the ledger, the ledger can be opened for reading. A
    // ledger that is opened for reading cannot be charged.
    let looked = Ledger::open_to_read(&path).unwrap();
    assert_eq!(looked.remaining("b").unwrap(), loss("0.3"));
    assert!(spend(&looked, "3").unwrap_err().to_string().contains("read-only"));
    let export = looked.export().unwrap();
    drop(looked);
    drop(connection);
    let looked = Ledger::open_to_read(&path).unwrap();
    assert_eq!(looked.export().unwrap(), export, "the seals are the same");
    drop(looked);
    let inode = || {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(&path).unwrap().ino()
    };
    let before = inode();
    let ledger = Ledger::open_existing(&path).unwrap();
    assert_eq!(ledger.export().unwrap(), export);
    assert_eq!(inode(), before, "other names of the file lead to the same ledger");
    assert!(!spend(&ledger, "1").unwrap());
    assert!(spend(&ledger, "3").unwrap());
    assert_eq!(Ledger::open(&path).unwrap().remaining("b").unwrap(), loss("0.2"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing lies beside it");
    assert!(
        Connection::open(&path)
            .unwrap()
            .query_row("SELECT count(*) FROM spend", [], |row| row.get::<_, i64>(0))
            .is_err(),
        "older programs find no database"
    );
}
#[test]
fn a_crash_while_it_becomes_a_new_one_leaves_the_older_kind() {
    let (_folder, path, connection) = old(1);
    drop(connection);
    let database = std::fs::read(&path).unwrap();
    drop(Ledger::open_existing(&path).unwrap());
    let new = std::fs::read(&path).unwrap();
    // Simulate a crash. The header was not written, and the lines were written in part or
    // completely.
    for kept in [database.len() + 1, database.len() + 700, new.len() - 1, new.len()] {
        let mut crashed = new[..kept].to_vec();
        crashed[..SECTOR].copy_from_slice(&database[..SECTOR]);
        std::fs::write(&path, crashed).unwrap();
        assert_eq!(Ledger::open_to_read(&path).unwrap().remaining("b").unwrap(), loss("0.3"));
        let ledger = Ledger::open_existing(&path).unwrap();
        assert!(!spend(&ledger, "2").unwrap() && spend(&ledger, "3").unwrap());
        assert_eq!(ledger.history("b").unwrap().len(), 3);
    }
}
#[test]
fn whoever_looks_asks_for_the_version_first() {
    let (folder, path, _connection) = old(3);
    for open in [Ledger::open, Ledger::open_existing, Ledger::open_to_read] {
        assert_eq!(open(path.clone()).unwrap_err().kind(), "NotImplemented");
    }
    let path = folder.path().join("later");
    drop(Ledger::open(&path).unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[14] = b'3';
    std::fs::write(&path, bytes).unwrap();
    for open in [Ledger::open, Ledger::open_existing, Ledger::open_to_read] {
        let error = open(path.clone()).unwrap_err();
        assert_eq!(error.kind(), "NotImplemented");
        assert!(
            error.to_string().contains("has version 3, but this program reads version 2"),
            "{error}"
        );
    }
}
#[test]
fn a_damaged_page_of_the_older_kind_releases_nothing() {
    let (_folder, path, connection) = old(1);
    drop(connection);
    let whole = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0);
        std::fs::write(&path, bytes).unwrap();
        match Ledger::open_existing(&path) {
            // The damaged page belongs to an index that the conversion does not read. So the
            // recorded release is still found, and is not charged again.
            Ok(ledger) => assert!(!spend(&ledger, "1").unwrap(), "page {page}"),
            Err(_) => refused += 1,
        }
    }
    assert!(1 < refused, "{refused}");
}
#[test]
fn a_sealed_line_that_cannot_be_understood_is_not_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let ledger = Ledger::open(&path).unwrap();
    ledger.create("b", &loss("1")).unwrap();
    spend(&ledger, "1").unwrap();
    drop(ledger);
    let mut bytes = std::fs::read(&path).unwrap();
    let mark = Mark::read(&bytes[SECTOR..2 * SECTOR]).unwrap();
    write_line(&mark.seal, "{\"later\": 1}", &mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    let error = Ledger::open_existing(&path).unwrap_err().to_string();
    assert!(error.contains("line 3 cannot be read"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "nothing is cut off");
}
/// Make a ledger with one release. The mark does not count this release. A crash before the new
/// mark is written leaves such a ledger.
fn unmarked() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let ledger = Ledger::open(&path).unwrap();
    ledger.create("b", &loss("1")).unwrap();
    let mark = std::fs::read(&path).unwrap()[SECTOR..2 * SECTOR].to_vec();
    spend(&ledger, "1").unwrap();
    drop(ledger);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[SECTOR..2 * SECTOR].copy_from_slice(&mark);
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}
#[test]
fn a_reader_leaves_out_a_release_that_is_possibly_not_durable() {
    let (_folder, path) = unmarked();
    let bytes = std::fs::read(&path).unwrap();
    let reader = Ledger::open_to_read(&path).unwrap();
    assert_eq!(reader.history("b").unwrap().len(), 0);
    assert_eq!(reader.remaining("b").unwrap(), loss("1"));
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "a reader changes nothing");
    // The control: a writer counts the release, and readers then return it.
    let writer = Ledger::open_existing(&path).unwrap();
    assert_eq!(writer.remaining("b").unwrap(), loss("0.9"));
    for reader in [reader, Ledger::open_to_read(&path).unwrap()] {
        assert_eq!(reader.history("b").unwrap().len(), 1);
    }
    assert!(!spend(&writer, "1").unwrap());
}
#[test]
fn whoever_opens_a_ledger_without_lines_makes_its_name_durable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    // Simulate a process that was killed after it wrote the first bytes of the file.
    let header = Header { mark: SECTOR as u64 };
    std::fs::write(&path, [header.write(), Mark::new(header).write()].concat()).unwrap();
    let open = || {
        let before = super::disk::FOLDER_SYNCS.get();
        let ledger = Ledger::open(&path).unwrap();
        (ledger, super::disk::FOLDER_SYNCS.get() - before)
    };
    let (ledger, syncs) = open();
    assert_eq!(syncs, 1);
    ledger.create("b", &loss("1")).unwrap();
    drop(ledger);
    // The control: the name of a ledger with lines is already durable, so the folder is not synced.
    assert_eq!(open().1, 0);
}
#[test]
fn lines_that_a_failed_repair_did_not_make_durable_are_not_returned() {
    let (_folder, path) = unmarked();
    let header = Header { mark: SECTOR as u64 };
    // If the file is opened only for reading, each write fails.
    for writable in [false, true] {
        let mut view = View::new(Disk::open(&path, false).unwrap(), header);
        view.refresh(true).unwrap();
        let mut disk = Disk::open(&path, writable).unwrap();
        assert_eq!(view.recover(header, &mut disk).is_ok(), writable);
        for writing in [false, true] {
            assert_eq!(view.refresh(writing).is_ok(), writable);
        }
    }
    assert!(!spend(&Ledger::open(&path).unwrap(), "1").unwrap());
}
#[test]
fn a_panic_does_not_keep_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    drop(Ledger::open(&path).unwrap());
    let mut disk = Disk::open(&path, true).unwrap();
    let work = || disk.locked(true, |_| -> Result<()> { panic!("a panic for this test") });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    std::fs::File::open(&path).unwrap().try_lock().unwrap();
    drop(disk);
}
