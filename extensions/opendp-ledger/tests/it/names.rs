//! Tests one file under two names.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use opendp_core::Result;
use opendp_ledger::{Ledger, Loss, Request};
use tempfile::TempDir;

fn request(id: &str) -> Request {
    Request::of_loss(id, Loss::epsilon("0.01").unwrap())
}
/// Open the ledger and make a release. Return whether the release is new. Each open file has its
/// own lock, even within one process. So a call of this function competes for the lock as a
/// separate process does.
fn spend(path: &Path, id: &str) -> Result<bool> {
    let ledger = Ledger::open(path)?;
    Ok(!ledger.release("b", &request(id), || Ok(7))?.repeated())
}
fn ledger(total: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    Ledger::open(&path).unwrap().create("b", &Loss::epsilon(total).unwrap()).unwrap();
    (folder, path)
}

/// A file that is mounted at a second place. `new` returns `None` if the test has no right to mount
/// the file.
struct Mounted(PathBuf);
impl Mounted {
    fn new(path: &Path, place: PathBuf) -> Option<Self> {
        std::fs::write(&place, "").unwrap();
        let mount = Command::new("mount").arg("--bind").args([path, &place]).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Mounted(place));
        }
        eprintln!("SKIPPED, NOT TESTED: this test may not mount a file");
        None
    }
}
impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[cfg(unix)]
#[test]
fn a_hard_link_never_overspends() {
    for round in 0..25 {
        let (folder, path) = ledger("0.03");
        // The ledger is opened before the link is made, and stays open.
        let open = Ledger::open(&path).unwrap();
        open.release("b", &request("0"), || Ok(7)).unwrap();
        let link = folder.path().join("link");
        std::fs::hard_link(&path, &link).unwrap();
        for name in [&path, &link] {
            let error = spend(name, "1").unwrap_err().to_string();
            assert!(error.contains("more than one name (a hard link)"), "{round}: {error}");
        }
        assert!(open.release("b", &request("1"), || Ok(7)).is_err());
        // Remove one of the two names. The other name still leads to all releases.
        let (stays, goes) = if round % 2 == 0 { (&path, &link) } else { (&link, &path) };
        std::fs::remove_file(goes).unwrap();
        assert!(spend(stays, "1").unwrap() && spend(stays, "2").unwrap());
        assert!(!spend(stays, "0").unwrap());
        assert_eq!(spend(stays, "3").unwrap_err().kind(), "BudgetExceeded");
        assert!(open.release("b", &request("3"), || Ok(7)).is_err());
        assert_eq!(Ledger::open_to_read(stays).unwrap().history("b").unwrap().len(), 3);
    }
}
#[cfg(unix)]
#[test]
fn a_file_that_was_replaced_is_opened_again_before_it_is_written() {
    let (folder, path) = ledger("0.03");
    let open = Ledger::open(&path).unwrap();
    std::fs::copy(&path, folder.path().join("copy")).unwrap();
    std::fs::rename(folder.path().join("copy"), &path).unwrap();
    let error = open.release("b", &request("1"), || Ok(7)).unwrap_err().to_string();
    assert!(error.contains("was moved, removed or replaced while it was open"), "{error}");
    assert!(spend(&path, "1").unwrap());
}
#[test]
fn a_file_mounted_at_two_places_never_overspends() {
    for _ in 0..6 {
        let (folder, path) = ledger("0.03");
        let Some(mounted) = Mounted::new(&path, folder.path().join("second")) else { return };
        let names = [&path, &mounted.0];
        let open = names.map(|name| Ledger::open(name).unwrap());
        let mut granted = 0;
        for i in 0..8 {
            for (name, open) in names.iter().zip(&open) {
                granted += usize::from(spend(name, &format!("{i}")).is_ok_and(|new| new));
                let held = open.release("b", &request(&format!("held {i}")), || Ok(7));
                granted += usize::from(held.is_ok_and(|release| !release.repeated()));
            }
        }
        assert_eq!(granted, 3);
        for name in names {
            assert_eq!(Ledger::open_to_read(name).unwrap().history("b").unwrap().len(), 3);
        }
    }
}
/// Open the file under one name, and charge releases without end. Another test runs this helper as
/// a separate process, and kills this process.
#[test]
fn helper_endless_spender() {
    let Ok(path) = std::env::var("LEDGER_ENDLESS") else { return };
    let ledger = Ledger::open(&path).unwrap();
    for i in 0.. {
        let id = format!("{} {i}", std::process::id());
        match ledger.release("b", &request(&id), || Ok(7)) {
            Ok(_) => println!("\ngranted {id}"),
            Err(error) => assert_eq!(error.kind(), "BudgetExceeded"),
        }
    }
}
#[test]
fn a_crash_under_one_name_loses_nothing_under_the_other() {
    let (folder, path) = ledger("1000");
    let Some(mounted) = Mounted::new(&path, folder.path().join("second")) else { return };
    let mut granted = Vec::new();
    for round in 0..20 {
        let names = [&path, &mounted.0];
        let mut spenders = names.map(|name| {
            Command::new(std::env::current_exe().unwrap())
                .args(["names::helper_endless_spender", "--exact", "--nocapture"])
                .env("LEDGER_ENDLESS", name)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        });
        let mut told = spenders.each_mut().map(|spender| {
            let lines = BufReader::new(spender.stdout.take().unwrap()).lines();
            lines
                .map_while(|line| line.ok())
                .filter_map(|line| line.strip_prefix("granted ").map(str::to_owned))
        });
        // Kill both processes when one of them has reported some releases. The other process can be
        // at any step of a release.
        granted.extend(told[round % 2].by_ref().take(round + 1));
        for spender in &mut spenders {
            spender.kill().unwrap();
            spender.wait().unwrap();
        }
        granted.extend(told.into_iter().flatten());
        let name = names[round % 2];
        assert!(spend(name, &format!("after {round}")).unwrap());
    }
    let history = Ledger::open_to_read(&path).unwrap().history("b").unwrap();
    for id in &granted {
        assert!(history.iter().any(|entry| entry.id == *id), "{id} was given and is not there");
    }
    // The rounds wait for 1 + 2 + ... + 20 reports.
    assert!(210 <= granted.len(), "{}", granted.len());
}
#[cfg(all(unix, feature = "sqlite"))]
#[test]
fn the_control_a_database_has_another_log_for_each_name_and_drops_what_was_damaged() {
    use rusqlite::Connection;
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("d"), folder.path().join("other"));
    let open = |path: &Path| {
        let connection = Connection::open(path).unwrap();
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
        connection
    };
    let spent = |connection: &Connection| -> i64 {
        connection.query_row("SELECT count(*) FROM spend", [], |row| row.get(0)).unwrap()
    };
    let first = open(&path);
    first.execute_batch("CREATE TABLE spend (id)").unwrap();
    first.pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())).unwrap();
    first.execute_batch("INSERT INTO spend VALUES (1)").unwrap();
    assert_eq!(spent(&first), 1);
    // Copy the file without its log. The test opens this copy instead of a second name of the same
    // file. The reason is that two connections of one process to the same file share memory.
    std::fs::copy(&path, &other).unwrap();
    assert_eq!(spent(&open(&other)), 0, "a spend under the first name is not seen");
    // If a byte of the log is changed, the charge is lost.
    let copy = folder.path().join("copy");
    std::fs::copy(&path, &copy).unwrap();
    let mut log = std::fs::read(folder.path().join("d-wal")).unwrap();
    let end = log.len() - 1;
    log[end] ^= 1;
    std::fs::write(folder.path().join("copy-wal"), log).unwrap();
    assert_eq!(spent(&Connection::open(&copy).unwrap()), 0);
}
/// If a process opened one file for its lines and another file for its lock, it would cut lines off
/// from one of the two files.
#[cfg(unix)]
#[test]
fn a_link_that_leads_to_another_ledger_damages_none_of_the_two() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for (name, releases) in [("long", 9), ("short", 1)] {
        let ledger = Ledger::open(file(name)).unwrap();
        ledger.create("b", &Loss::epsilon("1000").unwrap()).unwrap();
        for id in 0..releases {
            spend(&file(name), &format!("{name} {id}")).unwrap();
        }
    }
    let (ended, link) = (AtomicBool::new(false), file("link"));
    let mut returned = Vec::new();
    std::os::unix::fs::symlink("long", &link).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for name in ["short", "long"].iter().cycle() {
                std::os::unix::fs::symlink(name, file("new")).unwrap();
                std::fs::rename(file("new"), &link).unwrap();
                if ended.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        for id in 0..400 {
            let id = format!("question {id}");
            if spend(&link, &id).is_ok() {
                returned.push(id);
            }
        }
        ended.store(true, Ordering::SeqCst);
    });
    let kept =
        ["long", "short"].map(|name| Ledger::open(file(name)).unwrap().history("b").unwrap());
    let kept = kept.concat();
    let count = |id: &String| kept.iter().filter(|entry| entry.id == *id).count();
    assert!(returned.iter().all(|id| count(id) == 1), "a release that was returned is lost");
    assert!(!returned.is_empty());
}
