//! Checks a file before a page or a document is written to it.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Return whether a path names a pipe or a device. Nothing is replaced there, and several outputs
/// can be written there. Do not open a pipe for a check: if a pipe is opened and closed, the
/// program that reads the pipe ends.
pub fn is_pipe_or_device(file: &Path) -> bool {
    file.exists() && !file.is_file() && !file.is_dir()
}
/// Check that a file can be written. The check does not change the file. A file that does not exist
/// is created and removed again. A [pipe or a device](is_pipe_or_device) is not checked.
///
/// # Errors
/// The error of the system, for example if the folder of the file does not exist.
pub fn check_writable(file: &Path) -> io::Result<()> {
    if is_pipe_or_device(file) {
        return Ok(());
    }
    let existed = file.exists();
    OpenOptions::new().append(true).create(true).open(file)?;
    if !existed {
        // The file is empty. If it cannot be removed, the page replaces it later.
        let _ = fs::remove_file(file);
    }
    Ok(())
}
/// Return whether two paths name the same file. The paths can contain links, and the files need not
/// exist. On Unix, two names of one file (hard links) are the same file.
pub fn is_same_file(first: &Path, second: &Path) -> bool {
    resolved(first) == resolved(second) || has_same_content(first, second)
}
/// Return the absolute path of a file, without links. If the file does not exist, only its folder
/// is resolved. If the folder does not exist either, return the path without a change.
pub fn resolved(file: &Path) -> PathBuf {
    let in_folder = || {
        let absolute = std::path::absolute(file).ok()?;
        Some(absolute.parent()?.canonicalize().ok()?.join(absolute.file_name()?))
    };
    file.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| file.to_owned())
}
#[cfg(unix)]
fn has_same_content(first: &Path, second: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |file: &Path| fs::metadata(file).ok().map(|facts| (facts.dev(), facts.ino()));
    place(first).is_some_and(|found| place(second) == Some(found))
}
#[cfg(not(unix))]
fn has_same_content(_: &Path, _: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_changes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.html");
        check_writable(&page).unwrap();
        assert!(!page.exists());
        fs::write(&page, "old").unwrap();
        check_writable(&page).unwrap();
        assert_eq!(fs::read_to_string(&page).unwrap(), "old");
        check_writable(folder.path()).unwrap_err();
        check_writable(&folder.path().join("nowhere/page.html")).unwrap_err();
    }
    #[cfg(unix)]
    #[test]
    fn a_link_is_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("table"), "1").unwrap();
        fs::write(path("other"), "1").unwrap();
        std::os::unix::fs::symlink(path("table"), path("soft")).unwrap();
        fs::hard_link(path("table"), path("hard")).unwrap();
        std::os::unix::fs::symlink(folder.path(), path("folder")).unwrap();
        for name in ["table", "soft", "hard", "folder/table", "folder/../table"] {
            let same = is_same_file(&path(name), &path("table"));
            assert_eq!(same, name != "folder/../table", "{name}");
        }
        assert!(!is_same_file(&path("other"), &path("table")));
        // Neither file exists.
        assert!(is_same_file(&path("new"), &path("folder/new")));
        assert!(!is_same_file(&path("new"), &path("newer")));
    }
    #[cfg(unix)]
    #[test]
    fn a_device_is_not_opened() {
        check_writable(Path::new("/dev/full")).unwrap();
    }
}
