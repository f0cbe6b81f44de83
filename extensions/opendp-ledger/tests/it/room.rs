//! A file that may not grow. The length of a release can depend on the data, so whether there is
//! room for a release must not decide whether the release is charged.

use std::path::Path;
use std::process::Command;

use opendp_ledger::{Failure, Ledger, Loss, Request};

/// The largest size of a file, in bytes, in the helper of these tests.
const LARGEST: usize = 1 << 16;
/// The lengths of two releases. Each is a release of one of two neighbours.
const LENGTHS: [usize; 2] = [1, 900];

fn request(id: &str, by: usize) -> Request {
    Request::of_loss(id, Loss::epsilon("0.01").unwrap()).by(&"y".repeat(by))
}
/// The sizes of the room below the largest size of a file.
fn rooms() -> impl Iterator<Item = usize> {
    (0..1500).step_by(50)
}
/// Make a ledger with three releases, and with `rest` bytes of room below the largest size of a
/// file.
fn make(path: &Path, rest: usize) {
    let ledger = Ledger::open(path).unwrap();
    ledger.create("b", &Loss::epsilon("1").unwrap()).unwrap();
    ledger.release("b", &request("first", 0), || Ok(7)).unwrap();
    let length = std::fs::metadata(path).unwrap().len() as usize;
    ledger.release("b", &request("second", 0), || Ok(7)).unwrap();
    let line = std::fs::metadata(path).unwrap().len() as usize - length;
    let by = LARGEST - length - 2 * line - rest;
    ledger.release("b", &request("third!", by), || Ok(7)).unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len() as usize, LARGEST - rest);
}
/// The test below runs this helper with a limit on the size of files. Ask each ledger for a
/// release, and print what happened.
#[test]
fn helper_little_room() {
    let Ok(folder) = std::env::var("LEDGER_ROOM") else { return };
    for rest in rooms() {
        for length in LENGTHS {
            let (path, before) = (Path::new(&folder).join(format!("{rest} {length}")), 3);
            let ledger = Ledger::open_existing(&path).unwrap();
            let release = ledger.release("b", &request("secret", 0), || Ok("x".repeat(length)));
            let charged = ledger.history("b").unwrap().len() - before;
            let told = release.as_ref().err().is_some_and(Failure::was_charged);
            assert!((charged == 1) == (told || release.is_ok()), "{release:?}");
            let ledger = Ledger::open_existing(&path).unwrap();
            assert_eq!(ledger.history("b").unwrap().len() - before, charged);
            println!("\nroom {rest} {length} {charged} {}", usize::from(release.is_ok()));
            if told {
                // The answer is kept under the id: nothing is drawn or charged again.
                let again = ledger.release("b", &request("secret", 0), || Ok(7));
                assert!(Failure::was_charged(&again.unwrap_err()));
                assert_eq!(ledger.history("b").unwrap().len() - before, charged);
            }
        }
    }
}
#[cfg(unix)]
#[test]
fn the_room_for_a_release_does_not_decide_whether_it_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    for rest in rooms() {
        for length in LENGTHS {
            make(&folder.path().join(format!("{rest} {length}")), rest);
        }
    }
    let output = Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["room::helper_little_room", "--exact", "--nocapture"])
        .env("LEDGER_ROOM", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let rooms = said.lines().filter_map(|line| line.strip_prefix("room "));
    let rooms = rooms.map(|room| room.split(' ').map(|number| number.parse().unwrap()).collect());
    let rooms: Vec<Vec<usize>> = rooms.collect();
    assert_eq!(rooms.len(), 60, "{said}");
    let mut kinds = [0; 3];
    for pair in rooms.chunks(2) {
        let [short, long] = pair else { panic!("{said}") };
        assert_eq!(short[2], long[2], "one of the two releases is free: {short:?} {long:?}");
        kinds[short[3] + long[3]] += 1;
    }
    // The control: sometimes there is room for both releases, for one of them, and for none.
    assert!(kinds.iter().all(|kind| 0 < *kind), "{kinds:?}");
}
