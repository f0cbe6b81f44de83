use std::{path::PathBuf, time::Duration};

use tempfile::TempDir;

use super::layout::write_line;
use super::*;
use crate::{Ledger, Loss, Request};

pub(super) fn loss(epsilon: &str) -> Loss {
    Loss::epsilon(epsilon).unwrap()
}
pub(super) fn spend(ledger: &Ledger, id: &str) -> Result<bool> {
    let release = ledger.release("b", &Request::of_loss(id, loss("0.1")), || Ok(7))?;
    Ok(!release.repeated())
}

#[test]
fn whoever_looks_asks_for_the_version_first() {
    let folder = tempfile::tempdir().unwrap();
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
#[cfg(not(feature = "sqlite"))]
#[test]
fn a_database_needs_a_program_with_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old");
    let database = [layout::LEGACY, &[0; 4096]].concat();
    std::fs::write(&path, &database).unwrap();
    for open in [Ledger::open, Ledger::open_existing, Ledger::open_to_read] {
        let error = open(path.clone()).unwrap_err();
        assert_eq!(error.kind(), "NotImplemented");
        assert!(error.to_string().contains("the feature `sqlite`"), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), database);
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
fn spaces_that_reserve_room_are_cut_off() {
    let (_folder, path) = unmarked();
    let bytes = std::fs::read(&path).unwrap();
    // A process was killed after it reserved room, or after it wrote lines that are shorter than
    // the room.
    for lines in [&bytes[..], &bytes[..bytes.len() - 1]] {
        std::fs::write(&path, [lines, &[b' '; 700]].concat()).unwrap();
        let ledger = Ledger::open(&path).unwrap();
        let charged = usize::from(lines.ends_with(b"\n"));
        assert_eq!(ledger.history("b").unwrap().len(), charged);
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(charged == 0 || length == bytes.len() as u64);
        assert!(spend(&ledger, "2").unwrap());
        assert_eq!(Ledger::open(&path).unwrap().history("b").unwrap().len(), charged + 1);
    }
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
fn a_reader_and_a_writer_do_not_wait_for_each_other_at_a_damaged_mark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let log = LogFile::open(&path, Mode::Create).unwrap();
    let mut disk = Disk::open(&path, true).unwrap();
    disk.write(SECTOR as u64, b"damaged").unwrap();
    std::thread::scope(|scope| {
        let reader = disk.locked(true, |_| {
            let reader = scope.spawn(|| log.read(&mut |_| Ok(())));
            std::thread::sleep(Duration::from_millis(200));
            // This thread holds the lock of the file, like a writer. Now it takes the view.
            let free = |_| {
                std::thread::sleep(Duration::from_millis(10));
                log.view.try_lock().is_ok()
            };
            assert!((0..100).any(free), "the reader holds the view, and waits for the file");
            Ok(reader)
        });
        let read = reader.unwrap().join().unwrap();
        for refused in [read, log.write(&mut |_| Ok(()))] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("damaged: its mark was changed"), "{error}");
        }
    });
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
