use std::{
    fs::OpenOptions,
    io::{ErrorKind, Read},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use opendp_core::Result;
use opendp_ledger::{Failure, Ledger, Loss, Release, Request};

fn spend(ledger: &Ledger, id: &str) -> Result<i32> {
    let request = Request::of_loss(id, Loss::epsilon("0.01")?);
    ledger.release("b", &request, || Ok(7))?.value()
}
fn new(path: &Path) -> Ledger {
    let ledger = Ledger::open(path).unwrap();
    ledger.create("b", &Loss::epsilon("1").unwrap()).unwrap();
    spend(&ledger, "first").unwrap();
    ledger
}
/// Make the release of a long text.
fn long(ledger: &Ledger, id: usize) -> Result<Release> {
    let request = Request::of_loss(&format!("r{id}"), Loss::epsilon("0.0001")?);
    ledger.release("b", &request, || Ok("x".repeat(1500)))
}
/// Make releases of long texts until the ledger refuses one without a charge. Check that a refused
/// release is refused again, and that earlier releases are still given. Return the number of
/// releases, the number of charges without a release, and the error.
fn fill(ledger: &Ledger) -> (usize, usize, String) {
    let (mut granted, mut charged) = (0, 0);
    let error = loop {
        match long(ledger, granted + charged) {
            Ok(release) => {
                assert!(!release.repeated() && charged == 0);
                granted += 1;
            }
            // There was room for a charge, but no room for the release.
            Err(error) if Failure::was_charged(&error) => charged += 1,
            Err(error) => break error.to_string(),
        }
    };
    assert!(long(ledger, granted + charged).is_err(), "the request was not refused again");
    assert!(long(ledger, 0).unwrap().repeated(), "what was released before is still given");
    (granted, charged, error)
}
/// Run the test `test` of this program with a limit on the size of files, in units of 512 bytes.
/// The variable `variable` is set to `path`. Return what the test prints.
#[cfg(unix)]
fn with_limit(units: usize, test: &str, variable: &str, path: &Path) -> String {
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("trap '' XFSZ; ulimit -f {units}; exec \"$0\" \"$@\""))
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(variable, path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn a_clock_that_runs_backwards_releases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let time = Arc::new(AtomicU64::new(1_000_000));
    let clock = time.clone();
    let ledger = Ledger::open(&path)
        .unwrap()
        .with_clock(move || UNIX_EPOCH + Duration::from_millis(clock.load(Ordering::SeqCst)));
    ledger.create("b", &Loss::epsilon("1").unwrap()).unwrap();
    spend(&ledger, "1").unwrap();
    time.store(999_500, Ordering::SeqCst);
    spend(&ledger, "2").unwrap();
    time.store(900_000, Ordering::SeqCst);
    let error = spend(&ledger, "3").unwrap_err().to_string();
    assert!(error.contains("the clock runs backwards: it is 100 seconds behind"), "{error}");
    assert_eq!(spend(&ledger, "1").unwrap(), 7, "what was released before is still given");
    time.store(2_000_000, Ordering::SeqCst);
    spend(&ledger, "3").unwrap();
    let times: Vec<i64> = ledger.history("b").unwrap().iter().map(|entry| entry.at_ms).collect();
    assert_eq!(times, [1_000_000, 1_000_000, 2_000_000]);
    let before = ledger.with_clock(|| UNIX_EPOCH - Duration::from_secs(1));
    assert!(spend(&before, "4").unwrap_err().to_string().contains("before 1970"));
}
#[test]
fn damage_is_noticed_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    drop(new(&path));
    let mut whole = Vec::new();
    std::fs::File::open(&path).unwrap().read_to_end(&mut whole).unwrap();
    let damaged = folder.path().join("damaged");
    let mut noticed = 0;
    for place in 0..whole.len() {
        // Change one bit of each byte that is not zero, and of a few bytes that are zero.
        if whole[place] == 0 && place % 257 != 0 {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 3);
        std::fs::write(&damaged, &bytes).unwrap();
        for beside in ["damaged-wal", "damaged-shm"] {
            let _ = std::fs::remove_file(folder.path().join(beside));
        }
        // Either the damage is noticed, or the rest of the budget is right. After two releases, the
        // rest is 0.98.
        let outcome = Ledger::open_existing(&damaged).and_then(|ledger| {
            ledger.export()?;
            spend(&ledger, "second")?;
            ledger.remaining("b")
        });
        match outcome {
            Ok(left) => assert_eq!(left, Loss::epsilon("0.98").unwrap(), "byte {place}"),
            Err(error) => {
                noticed += 1;
                let text = error.to_string();
                let clear = [
                    "damaged",
                    "not a ledger",
                    "no budget",
                    "cannot",
                    "failed",
                    "version",
                    "read-only",
                ];
                assert!(clear.iter().any(|word| text.contains(word)), "{text}");
            }
        }
    }
    assert!(500 < noticed, "{noticed}");
}
#[test]
fn what_is_no_ledger_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "a text of somebody, which is long enough to be a page\n".repeat(100))
        .unwrap();
    for open in [Ledger::open, Ledger::open_existing, Ledger::open_to_read] {
        let error = open(path.clone()).unwrap_err().to_string();
        assert!(error.contains("not a ledger"), "{error}");
    }
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("a text of somebody"));
    let missing = Ledger::open_existing(folder.path().join("none")).unwrap_err();
    assert_eq!(missing.kind(), "NotFound");
    assert!(Ledger::open(folder.path().join("no/folder")).is_err());
}
/// The test `a_read_only_file_releases_nothing` runs this helper as a user who cannot write the
/// file.
#[test]
fn helper_read_only() {
    let Ok(path) = std::env::var("LEDGER_READ_ONLY") else { return };
    let error = Ledger::open(&path).unwrap_err().to_string();
    assert!(error.contains("is read-only") || error.contains("cannot be opened"), "{error}");
    let ledger = Ledger::open_to_read(&path).unwrap();
    let error = spend(&ledger, "second").unwrap_err().to_string();
    assert!(error.contains("read-only; nothing was charged or released"), "{error}");
    println!("looked {}", ledger.remaining("b").unwrap());
}
#[cfg(unix)]
#[test]
fn a_read_only_file_releases_nothing() {
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    drop(new(&path));
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(&path, 0o444);
    for folder_mode in [0o555, 0o777] {
        allow(folder.path(), folder_mode);
        // The superuser can write every file. So if the test runs as the superuser, the helper runs
        // as another user.
        let program = folder.path().with_extension("program");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        allow(&program, 0o755);
        let mut helper = Command::new(&program);
        helper.args(["faults::helper_read_only", "--exact", "--nocapture"]);
        helper.env("LEDGER_READ_ONLY", &path).current_dir("/");
        let root = std::fs::write(folder.path().join("probe"), "").is_ok() && folder_mode == 0o555;
        if root || is_root(&path) {
            helper.uid(65534).gid(65534);
        }
        // For a moment, a process of another test can have the copy open for writing. During this
        // time, the copy cannot be started. So try again.
        let busy = |error: &std::io::Error| error.kind() == ErrorKind::ExecutableFileBusy;
        let mut output = helper.output();
        while output.as_ref().is_err_and(busy) {
            std::thread::sleep(Duration::from_millis(10));
            output = helper.output();
        }
        let output = output.unwrap();
        std::fs::remove_file(&program).unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = said + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("looked epsilon 0.99"), "{said}");
    }
    allow(folder.path(), 0o755);
}
/// Return whether this process can write a read-only file.
#[cfg(unix)]
fn is_root(read_only: &Path) -> bool {
    OpenOptions::new().append(true).open(read_only).is_ok()
}
/// The test `a_file_that_may_not_grow_releases_nothing` runs this helper with a limit on the size
/// of files.
#[test]
fn helper_small_files() {
    let Ok(path) = std::env::var("LEDGER_SMALL") else { return };
    let ledger = Ledger::open_existing(&path).unwrap();
    let (granted, charged, error) = fill(&ledger);
    assert!(error.ends_with("nothing was released"), "{error}");
    println!("\ngranted {granted} {charged} : {error}");
}
#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_releases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    drop(new(&path));
    // The system refuses to write beyond half a megabyte in any file.
    let said = with_limit(1024, "faults::helper_small_files", "LEDGER_SMALL", &path);
    let granted = said.lines().find_map(|line| line.strip_prefix("granted ")).unwrap();
    let mut numbers = granted.split(' ').map(|number| number.parse::<usize>());
    let mut number = || numbers.next().unwrap().unwrap();
    let (granted, charged) = (number(), number());
    assert!(5 < granted && granted < 500 && charged < 5, "{said}");
    // The ledger contains exactly the releases that were returned. When files can grow again, the
    // ledger continues.
    let ledger = Ledger::open_existing(&path).unwrap();
    let known = granted + charged;
    assert_eq!(ledger.history("b").unwrap().len(), 1 + known);
    assert!(!long(&ledger, known).unwrap().repeated());
    assert_eq!(ledger.history("b").unwrap().len(), 2 + known);
}
/// The test `a_creation_that_fails_leaves_no_file` runs this helper with a limit of 0 bytes for
/// each file.
#[test]
fn helper_no_room() {
    let Ok(path) = std::env::var("LEDGER_NO_ROOM") else { return };
    println!("\nrefused {}", Ledger::open(&path).unwrap_err());
}
#[cfg(unix)]
#[test]
fn a_creation_that_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    // The system refuses to write to any file.
    let said = with_limit(0, "faults::helper_no_room", "LEDGER_NO_ROOM", &path);
    assert!(said.contains("refused") && said.contains("allows no larger file"), "{said}");
    assert!(!path.exists());
    // The control: without the limit, the ledger is created.
    drop(new(&path));
    assert_eq!(Ledger::open_existing(&path).unwrap().history("b").unwrap().len(), 1);
}
/// A small disk for the test. `new` returns `None` if the test has no right to mount the disk.
struct Small(tempfile::TempDir);
impl Small {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "none"]);
        if mount_at(&mut mount, folder.path()) {
            return Some(Small(folder));
        }
        eprintln!("SKIPPED, NOT TESTED: this test may not mount a disk");
        None
    }
}
fn mount_at(mount: &mut Command, folder: &Path) -> bool {
    mount.arg(folder).output().is_ok_and(|output| output.status.success())
}
impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}
#[test]
fn a_full_disk_releases_nothing() {
    let Some(disk) = Small::new() else { return };
    let path = disk.0.path().join("l");
    let ledger = new(&path);
    let (granted, charged, error) = fill(&ledger);
    assert!(error.contains("the disk is full; nothing was released"), "{error}");
    assert!(5 < granted);
    let granted = granted + charged;
    assert_eq!(ledger.history("b").unwrap().len(), 1 + granted);
    // When the disk has room again, the same request succeeds, and is charged only once.
    let mut mount = Command::new("mount");
    mount.args(["-o", "remount,size=1m"]);
    assert!(mount_at(&mut mount, disk.0.path()));
    assert!(!long(&ledger, granted).unwrap().repeated());
    assert!(long(&ledger, granted).unwrap().repeated());
    assert_eq!(Ledger::open_to_read(&path).unwrap().history("b").unwrap().len(), 2 + granted);
}
