//! The file of a ledger: its lock, its content, and a check of its name.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use opendp_core::{Error, Result};

/// The number of attempts to get the lock. All attempts and pauses together take about 60 seconds.
const ATTEMPTS: u32 = 120_000;
const PAUSE: Duration = Duration::from_micros(500);
/// The number of an attempt to get the lock. All pauses before this attempt are short, and all
/// pauses after it are longer. If the disk is fast, an attempt during the short pauses usually gets
/// the lock.
const SOON: u32 = 200;
const SHORT_PAUSE: Duration = Duration::from_micros(50);

/// An open file. A forked process opens the file again. Otherwise the forked process and its parent
/// would share one lock and one cursor.
pub(super) struct Disk {
    path: PathBuf,
    file: File,
    options: OpenOptions,
    process: u32,
}
#[cfg(test)]
thread_local! {
    /// The number of calls of `sync_folder` in this thread.
    pub(super) static FOLDER_SYNCS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
/// A file whose lock this process holds. The lock is released when this value is dropped, even
/// after an error or a panic.
struct Locked<'a>(&'a mut Disk);
impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = self.0.file.unlock();
    }
}
impl Disk {
    /// Create a file. Return `None` if there is a file already.
    pub(super) fn create(path: &Path) -> Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        match options.clone().create_new(true).open(path) {
            Ok(file) => {
                let process = std::process::id();
                Ok(Some(Disk { path: path.into(), file, options, process }))
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(fault(path, &error)),
        }
    }
    pub(super) fn open(path: &Path, write: bool) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(write);
        let file = options.open(path).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if write => {
                read_only(path, &error)
            }
            _ => fault(path, &error),
        })?;
        Ok(Disk { path: path.into(), file, options, process: std::process::id() })
    }
    /// Open the file again, for reading. On Unix, check that the path still leads to this file. If
    /// the path led to another file, the lines of that file would decide what is cut off from this
    /// file.
    pub(super) fn again(&mut self) -> Result<Self> {
        #[cfg_attr(not(unix), allow(unused_mut, reason = "no inodes are compared"))]
        let mut again = Disk::open(&self.path, false)?;
        #[cfg(unix)]
        if again.inode()? != self.inode()? {
            return Err(failed(&self.path, "was replaced while it was opened: open it again"));
        }
        Ok(again)
    }
    /// Return the numbers of the device and of the inode of the file.
    #[cfg(unix)]
    fn inode(&mut self) -> Result<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        let facts = self.file()?.metadata().map_err(|error| fault(&self.path, &error))?;
        Ok((facts.dev(), facts.ino()))
    }
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
    fn file(&mut self) -> Result<&File> {
        if self.process != std::process::id() {
            self.file = self.options.open(&self.path).map_err(|error| fault(&self.path, &error))?;
            self.process = std::process::id();
        }
        Ok(&self.file)
    }
    /// Wait while the file is empty. The file is empty for a moment while another process creates
    /// it. If the file stays empty for about 10 seconds, return an error.
    pub(super) fn wait_until_made(&mut self) -> Result<()> {
        for _ in 0..ATTEMPTS / 6 {
            if 0 < self.length()? {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        Err(damaged(&self.path, "the file is empty (if it never had a budget, remove it)"))
    }
    /// Call `work` while this process holds the lock. If `alone` is true, no other process holds
    /// the lock. If `alone` is false, other processes can read, but not write. The lock belongs to
    /// the inode, so the lock covers every name of the file.
    pub(super) fn locked<T>(
        &mut self,
        alone: bool,
        work: impl FnOnce(&mut Disk) -> Result<T>,
    ) -> Result<T> {
        let path = self.path.clone();
        let file = self.file()?;
        for attempt in 1.. {
            match if alone { file.try_lock() } else { file.try_lock_shared() } {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if attempt < ATTEMPTS => {
                    std::thread::sleep(if attempt < SOON { SHORT_PAUSE } else { PAUSE });
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(failed(&path, "was in use by other processes for 60 seconds"));
                }
                Err(TryLockError::Error(error)) => return Err(fault(&path, &error)),
            }
        }
        let locked = Locked(self);
        let done = work(&mut *locked.0)?;
        locked.0.file.unlock().map_err(|error| fault(&path, &error))?;
        Ok(done)
    }
    pub(super) fn length(&mut self) -> Result<u64> {
        let length = self.file()?.metadata().map(|metadata| metadata.len());
        length.map_err(|error| fault(&self.path, &error))
    }
    /// Read the bytes from position `from` to position `to`. If the file is shorter, read to its
    /// end.
    pub(super) fn read(&mut self, from: u64, to: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = self.file()?;
        let read = file
            .seek(SeekFrom::Start(from))
            .and_then(|_| file.take(to.saturating_sub(from)).read_to_end(&mut bytes));
        read.map_err(|error| fault(&self.path, &error))?;
        Ok(bytes)
    }
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut file = self.file()?;
        let written = file.seek(SeekFrom::Start(offset)).and_then(|_| file.write_all(bytes));
        written.map_err(|error| fault(&self.path, &error))
    }
    pub(super) fn cut(&mut self, end: u64) -> Result<()> {
        let cut = self.file()?.set_len(end);
        cut.map_err(|error| fault(&self.path, &error))
    }
    /// Wait until all written data are on the disk.
    pub(super) fn sync(&mut self) -> Result<()> {
        let synced = self.file()?.sync_data();
        synced.map_err(|error| fault(&self.path, &error))
    }
    /// If the path still leads to the file, remove the file. If the file cannot be removed, it
    /// stays.
    pub(super) fn remove(&mut self) {
        if self.check_name().is_ok() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
    /// Make a new file durable. On Unix, also make its name durable.
    pub(super) fn sync_folder(&mut self) -> Result<()> {
        #[cfg(test)]
        FOLDER_SYNCS.set(FOLDER_SYNCS.get() + 1);
        let synced = self.file()?.sync_all();
        synced.map_err(|error| fault(&self.path, &error))?;
        #[cfg(unix)]
        {
            let path = std::fs::canonicalize(&self.path);
            let folder = path.map(|path| path.parent().map(Path::to_path_buf));
            let synced = folder.and_then(|folder| match folder {
                Some(folder) => File::open(folder)?.sync_all(),
                None => Ok(()),
            });
            synced.map_err(|error| fault(&self.path, &error))?;
        }
        Ok(())
    }
    /// On Unix, check that the path still leads to this file, and that the file has no other name.
    /// On other systems, check nothing. Call this function before each write.
    pub(super) fn check_name(&mut self) -> Result<()> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let path = self.path.clone();
            let here = self.file()?.metadata().map_err(|error| fault(&path, &error))?;
            let there = std::fs::metadata(&path).ok();
            let same =
                |there: &std::fs::Metadata| (there.dev(), there.ino()) == (here.dev(), here.ino());
            if !there.as_ref().is_some_and(same) {
                return Err(failed(
                    &path,
                    "was moved, removed or replaced while it was open: open it again",
                ));
            }
            if 1 < here.nlink() {
                return Err(failed(
                    &path,
                    "has more than one name (a hard link): remove the others",
                ));
            }
        }
        Ok(())
    }
}

#[cold]
pub(crate) fn failed(path: &Path, what: &str) -> Error {
    Error::FailedFunction(format!("the ledger {} {what}; nothing was released", path.display()))
}
#[cold]
pub(crate) fn damaged(path: &Path, what: &str) -> Error {
    Error::FailedFunction(format!(
        "the ledger {} is damaged: {what}; nothing was charged or released. Restore it from a copy \
         that has all releases",
        path.display()
    ))
}
#[cold]
pub(crate) fn no_ledger(path: &Path) -> Error {
    Error::FailedFunction(format!(
        "the file {} is damaged, or is not a ledger: check the path",
        path.display()
    ))
}
#[cold]
fn read_only(path: &Path, error: &std::io::Error) -> Error {
    // If the file can be read but not written, report that the file is read-only.
    if File::open(path).is_ok() { read_only_error(path) } else { fault(path, error) }
}
#[cold]
pub(crate) fn read_only_error(path: &Path) -> Error {
    Error::FailedFunction(format!(
        "the ledger {} is read-only; nothing was charged or released. Check its permissions, or \
         open it for writing",
        path.display()
    ))
}
#[cold]
fn fault(path: &Path, error: &std::io::Error) -> Error {
    let what = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "cannot grow: the disk is full",
        ErrorKind::FileTooLarge => "cannot grow: the system allows no larger file",
        ErrorKind::PermissionDenied | ErrorKind::NotFound | ErrorKind::IsADirectory => {
            "cannot be opened: check its folder and permissions"
        }
        _ => return failed(path, &format!("cannot be read or written: {error}")),
    };
    failed(path, what)
}
