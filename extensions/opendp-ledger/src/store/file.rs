//! A ledger in one file of sealed lines, without any other file.
//!
//! The seal of a line is a hash of the line and of the previous seal. A charge is a line that is
//! appended and synced. After the sync, a mark at the beginning of the file counts the line. All
//! data are in one inode, and all locks are locks of this inode. A file can have two names, for
//! example because it is mounted at two places. The two names then lead to one ledger, even after a
//! crash, because the ledger has no separate log file.
//!
//! | what happens | what the next process finds |
//! |---|---|
//! | a process is killed while it writes a line | a part of a line after the mark: it is cut off |
//! | a kill or a loss of power after the line | a whole line after the mark: the writer counts it |
//! | a line that the mark counts is damaged or cut | a wrong seal: nothing is released |
//! | the file cannot be written when it is created | no file: the creation removes it |
//!
//! A process that opens the ledger only for reading leaves out the lines after the mark, because it
//! cannot make these lines durable. After a failed sync, the operating system can treat unwritten
//! data as written, so a second sync is not enough. Only a writer can write these lines again, and
//! then return their releases.

mod disk;
mod layout;
mod rows;
mod state;
#[cfg(feature = "sqlite")]
mod upgrade;

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use opendp_core::{Error, Result};

use super::{Store, Tables};
use disk::Disk;
pub(crate) use disk::{damaged, failed, no_ledger, read_only_error};
pub(crate) use layout::begins;
use layout::{Found, Header, Mark, SECTOR};
use rows::{Pending, Rows, View};

/// A file with two handles. A thread can read through `view` while another thread appends lines
/// through `writer`.
pub(crate) struct LogFile {
    view: Mutex<View>,
    writer: Option<Mutex<Writer>>,
}
struct Writer {
    disk: Disk,
    header: Header,
    /// Whether a sync failed, or whether the bytes of a failed write could not be removed from the
    /// end of the file. In both cases, the content of the disk is unknown.
    lost: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Create,
    Write,
    Read,
}

/// Open the file of a ledger of any version.
pub(crate) fn open(path: &Path, mode: Mode) -> Result<Box<dyn Store>> {
    if mode != Mode::Create && !path.is_file() {
        return Err(Error::NotFound(format!(
            "there is no ledger at {}; check the path",
            path.display()
        )));
    }
    if mode == Mode::Read {
        let mut disk = Disk::open(path, false)?;
        disk.wait_until_made()?;
        let header = match Header::read(&disk.read(0, SECTOR as u64)?) {
            #[cfg(feature = "sqlite")]
            Found::Legacy => return Ok(Box::new(super::legacy::Legacy::open(path)?)),
            found => header(path, found)?,
        };
        let view = disk.locked(false, |disk| {
            let mut view = View::new(disk.again()?, header);
            view.refresh(false)?;
            Ok(view)
        })?;
        return Ok(Box::new(LogFile { view: Mutex::new(view), writer: None }));
    }
    Ok(Box::new(LogFile::open(path, mode)?))
}
impl LogFile {
    pub(crate) fn open(path: &Path, mode: Mode) -> Result<Self> {
        let mut disk = match mode {
            Mode::Create => create(path)?,
            _ => Disk::open(path, true)?,
        };
        disk.wait_until_made()?;
        let (view, header) = disk.locked(true, |disk| {
            let header = match Header::read(&disk.read(0, SECTOR as u64)?) {
                #[cfg(feature = "sqlite")]
                Found::Legacy => upgrade::upgrade(disk)?,
                found => header(path, found)?,
            };
            // If the file has no lines, the process that created the file possibly ended before the
            // name of the file was durable. So make the name durable.
            if disk.length()? <= header.mark + Mark::new(header).write().len() as u64 {
                disk.sync_folder()?;
            }
            let mut view = View::new(disk.again()?, header);
            view.refresh(true)?;
            view.recover(header, disk)?;
            Ok((view, header))
        })?;
        let writer = Writer { disk, header, lost: false };
        Ok(LogFile { view: Mutex::new(view), writer: Some(Mutex::new(writer)) })
    }
    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Return the view after it has read the new lines.
    ///
    /// A writer gets the lock of the file first, and then the view. This function must use the same
    /// order. So it does not wait for the lock of the file while it holds the view.
    fn refreshed(&self) -> Result<MutexGuard<'_, View>> {
        let mut view = self.view();
        if view.look()? {
            return Ok(view);
        }
        let mut disk = Disk::open(view.path(), false)?;
        drop(view);
        disk.locked(false, |_| {
            let mut view = self.view();
            view.refresh(false)?;
            Ok(view)
        })
    }
}
/// Open the file. If there is no file, create it first. If the first bytes of the new file cannot
/// be written, remove the file again. An empty file is an error and not a new ledger, because it
/// looks like a ledger whose content was lost.
fn create(path: &Path) -> Result<Disk> {
    let Some(mut disk) = Disk::create(path)? else { return Disk::open(path, true) };
    disk.locked(true, |disk| {
        let header = Header { mark: SECTOR as u64 };
        let mark = Mark::new(header);
        let written = disk.write(0, &[header.write(), mark.write()].concat());
        let made = written.and_then(|()| disk.sync_folder());
        if made.is_err() {
            disk.remove();
        }
        made
    })?;
    Ok(disk)
}
fn header(path: &Path, found: Found) -> Result<Header> {
    match found {
        Found::Ledger(header) => Ok(header),
        Found::Version(version) => Err(Error::NotImplemented(format!(
            "the ledger {} has version {version}, but this program reads version {}",
            path.display(),
            layout::VERSION
        ))),
        Found::Damaged => Err(damaged(path, "its header was changed")),
        Found::Legacy => Err(Error::NotImplemented(format!(
            "{} is an SQLite database. A ledger of version 1 is such a database, and this program \
             was built without SQLite. To convert it, open it for writing once with a program \
             that has the feature `sqlite` of `opendp-ledger`.\n\
             Such a program: cargo install --locked --path extensions/opendp-cli --features sqlite",
            path.display()
        ))),
        Found::SomethingElse => Err(no_ledger(path)),
    }
}

impl Store for LogFile {
    fn read(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        let mut view = self.refreshed()?;
        work(&mut Rows { view: &mut view, pending: None })
    }
    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()> {
        self.write_or_spare(work).map(drop)
    }
    fn write_or_spare(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<bool> {
        let Some(writer) = &self.writer else { return Err(read_only_error(self.view().path())) };
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Writer { disk, header, lost } = &mut *writer;
        if *lost {
            let what = "could not be synced to the disk: open it again";
            return Err(failed(disk.path(), what));
        }
        let spared = disk.locked(true, |disk| {
            disk.check_name()?;
            let mut view = self.view();
            view.refresh(true)?;
            view.recover(*header, disk)?;
            let pending = Pending::after(view.mark());
            let mut rows = Rows { view: &mut view, pending: Some(pending) };
            work(&mut rows)?;
            let Some(pending) = rows.pending.filter(|pending| !pending.lines.bytes.is_empty())
            else {
                return Ok(false);
            };
            // Other threads can read while this thread waits for the disk. Other threads see the
            // new lines after the mark is written.
            drop(view);
            append(disk, *header, &pending, lost)
        })?;
        self.refreshed().map(|_| spared)
    }
}
/// Make lines durable, and then write the new number of lines in the mark. Return whether the spare
/// lines were written.
fn append(disk: &mut Disk, header: Header, pending: &Pending, lost: &mut bool) -> Result<bool> {
    let (mark, spared) = put(disk, pending, lost)?;
    if let Err(error) = disk.sync() {
        *lost = true;
        let _ = disk.cut(pending.from);
        return Err(error);
    }
    // The lines are on the disk. If the mark cannot be written, the next writer finds the lines,
    // and writes the mark.
    let _ = disk.write(header.mark, &mark.write());
    Ok(spared)
}
/// Write lines at the end of the file. If there is no room for them, write the spare lines instead.
/// Return the mark of the written lines, and whether they are the spare lines.
///
/// The length of a release can depend on the data. So the failure of a write would reveal something
/// about a release that is not charged. First, spaces reserve room for the spare lines. If there is
/// no room for these spaces, nothing is charged. This failure does not depend on a release, because
/// the length of the spare lines does not. Afterwards, the spare lines fit, so the releases are
/// charged. If the process ends between these steps, the next writer cuts the spaces off.
fn put<'a>(disk: &mut Disk, pending: &'a Pending, lost: &mut bool) -> Result<(&'a Mark, bool)> {
    let Pending { from, lines, spare, .. } = pending;
    let reserved = disk.write(*from, &vec![b' '; spare.bytes.len()]);
    let written = reserved.is_ok().then(|| disk.write(*from, &lines.bytes));
    let shorter = lines.mark.end < spare.mark.end;
    match written {
        Some(Ok(())) if !shorter || disk.cut(lines.mark.end).is_ok() => {
            return Ok((&lines.mark, false));
        }
        Some(_) if disk.write(*from, &spare.bytes).is_ok() && disk.cut(spare.mark.end).is_ok() => {
            return Ok((&spare.mark, true));
        }
        _ => {}
    }
    // The file can contain a part of the new lines. Cut off this part.
    *lost = disk.cut(*from).is_err();
    let error = reserved.err().or_else(|| written?.err());
    Err(error.unwrap_or_else(|| failed(disk.path(), "cannot be cut: open it again")))
}

#[cfg(test)]
mod tests;
