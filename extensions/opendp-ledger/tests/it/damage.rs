//! Tests that all damage is noticed. Every file in the folder of a ledger is changed or cut off.

use std::path::{Path, PathBuf};

use opendp_core::Result;
use opendp_ledger::{Ledger, Loss, Request};
use tempfile::TempDir;

fn request(id: &str) -> Request {
    Request::of_loss(id, Loss::epsilon("0.01").unwrap())
}
/// Make a ledger with releases, and copy its files while it is open.
fn spent(releases: i32) -> (TempDir, Vec<(String, Vec<u8>)>) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("l")).unwrap();
    ledger.create("b", &Loss::epsilon("1").unwrap()).unwrap();
    for i in 0..releases {
        ledger.release("b", &request(&i.to_string()), || Ok(i)).unwrap();
    }
    let files = std::fs::read_dir(folder.path()).unwrap().map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(path).unwrap())
    });
    let files = files.collect();
    drop(ledger);
    (folder, files)
}
/// Write the files to a folder, and return the path of the ledger. The file with the index
/// `changed` gets the content `bytes` instead of its own content.
fn place(folder: &Path, files: &[(String, Vec<u8>)], changed: usize, bytes: &[u8]) -> PathBuf {
    for (place, (name, whole)) in files.iter().enumerate() {
        std::fs::write(folder.join(name), if place == changed { bytes } else { whole }).unwrap();
    }
    folder.join("l")
}
/// Request each release again. Return whether any release was drawn again, or any charge was lost.
fn lost(path: &Path, releases: i32) -> Result<bool> {
    let ledger = Ledger::open_existing(path)?;
    for i in 0..releases {
        let again = ledger.release("b", &request(&i.to_string()), || Ok(i + 1000))?;
        if !again.repeated() || again.value::<i32>()? != i {
            return Ok(true);
        }
    }
    ledger.export()?;
    Ok(ledger.history("b")?.len() != releases as usize)
}

#[test]
fn no_damage_loses_a_spend_or_draws_a_second_release() {
    let (_folder, files) = spent(5);
    assert_eq!(files.len(), 1, "there is nothing beside the file");
    let folder = tempfile::tempdir().unwrap();
    let (mut noticed, mut tried) = (0, 0);
    let mut attempt = |changed: usize, bytes: &[u8], what: String| {
        let path = place(folder.path(), &files, changed, bytes);
        tried += 1;
        match lost(&path, 5) {
            Ok(lost) => assert!(!lost, "{what}: a spend was lost"),
            Err(error) => {
                noticed += 1;
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    };
    for (changed, (name, whole)) in files.iter().enumerate() {
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            attempt(changed, &bytes, format!("byte {place} of {name}"));
            if 0 < place {
                attempt(changed, &whole[..place], format!("{name} cut off at {place}"));
            }
        }
        for place in (0..whole.len()).step_by(64) {
            let mut bytes = whole.clone();
            bytes[place..].fill(0);
            attempt(changed, &bytes, format!("{name} zero from {place}"));
        }
    }
    assert_eq!(noticed, tried, "all damage is noticed");
}
#[test]
fn a_file_that_was_emptied_is_not_a_new_ledger() {
    let (folder, _) = spent(1);
    let path = folder.path().join("l");
    std::fs::write(&path, "").unwrap();
    let error = Ledger::open(&path).unwrap_err().to_string();
    assert!(error.contains("damaged: the file is empty"), "{error}");
}
#[test]
fn damage_while_it_is_open_releases_nothing() {
    let (folder, files) = spent(3);
    let path = folder.path().join("l");
    let whole = &files[0].1;
    for cut in [whole.len() - 1, whole.len() - 100, 600] {
        std::fs::write(&path, whole).unwrap();
        let ledger = Ledger::open(&path).unwrap();
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(ledger.release("b", &request("new"), || Ok(1)).is_err(), "cut at {cut}");
    }
    // Replace the content of the file by an older copy.
    std::fs::write(&path, whole).unwrap();
    let ledger = Ledger::open(&path).unwrap();
    ledger.release("b", &request("new"), || Ok(1)).unwrap();
    std::fs::write(&path, whole).unwrap();
    let error = ledger.release("b", &request("newer"), || Ok(1)).unwrap_err().to_string();
    assert!(error.contains("an older copy may have replaced it"), "{error}");
}
#[test]
fn the_part_of_a_line_that_a_crash_leaves_is_cut_off_and_a_whole_line_counts() {
    let (folder, files) = spent(3);
    let path = folder.path().join("l");
    let (_more, after) = spent(4);
    let (before, after) = (&files[0].1, &after[0].1);
    let line = {
        // Make a line that correctly follows the last line of the ledger.
        let ledger = Ledger::open(&path).unwrap();
        ledger.release("b", &request("3"), || Ok(3)).unwrap();
        std::fs::read(&path).unwrap()[before.len()..].to_vec()
    };
    for kept in [0, 1, 64, 65, line.len() - 1, line.len()] {
        // The mark at the beginning of the file counts the durable lines. The mark does not count
        // the new line.
        let torn = [&before[..], &line[..kept]].concat();
        std::fs::write(&path, torn).unwrap();
        let whole = kept == line.len();
        // A reader leaves out the new line, because this line is possibly not durable.
        assert_eq!(Ledger::open_to_read(&path).unwrap().history("b").unwrap().len(), 3);
        let ledger = Ledger::open_existing(&path).unwrap();
        let retry = ledger.release("b", &request("3"), || Ok(1003)).unwrap();
        assert_eq!(retry.repeated(), whole, "{kept} bytes");
        assert_eq!(ledger.history("b").unwrap().len(), 4);
        // Append a complete line of another ledger. The seal of this line was computed from the
        // previous line of the other ledger. So the line is not counted.
        let other = [&before[..], &after[before.len()..]].concat();
        std::fs::write(&path, other).unwrap();
        assert_eq!(Ledger::open_existing(&path).unwrap().history("b").unwrap().len(), 3);
    }
}
