//! Presents the lines of a ledger as two tables, budgets and entries. Each line has a seal, which
//! is a hash of the line and of the previous seal. The mark counts the durable lines.

use std::{collections::BTreeMap, path::Path};

use opendp_core::{Error, Result};

use super::disk::{Disk, damaged, failed};
use super::layout::{Header, Mark, SECTOR, read_line, write_line};
use super::state::{State, entry_of, write_account, write_entry};
use crate::store::Tables;
use crate::{Account, Entry};

/// The maximum number of attempts to read a mark while another process writes it.
const LOOKS: usize = 100;

/// The part of the file that was read so far.
pub(super) struct View {
    disk: Disk,
    header: Header,
    state: State,
    /// If an earlier read or an earlier repair of the lines failed, the error of this failure.
    failed: Option<Error>,
}
impl View {
    pub(super) fn new(disk: Disk, header: Header) -> Self {
        View { disk, header, state: State::after(Mark::new(header)), failed: None }
    }
    pub(super) fn path(&self) -> &Path {
        self.disk.path()
    }
    pub(super) fn mark(&self) -> Mark {
        self.state.mark.clone()
    }
    /// Read the new lines up to the mark, without the lock of the file. Return `false` if the mark
    /// cannot be read: it is damaged, or another process writes it. The caller then gets the lock
    /// and calls [`refresh`](View::refresh).
    pub(super) fn look(&mut self) -> Result<bool> {
        for _ in 0..LOOKS {
            if let Some(mark) = self.read_mark()? {
                return self.read_to(&mark, false).map(|()| true);
            }
            std::thread::yield_now();
        }
        Ok(false)
    }
    /// Read the new lines up to the mark. The caller holds the lock of the file, so no other
    /// process writes the mark. If `writing` is true, the caller holds the write lock. In this
    /// case, a mark that counts fewer lines than this process has read is an error.
    pub(super) fn refresh(&mut self, writing: bool) -> Result<()> {
        match self.read_mark()? {
            Some(mark) => self.read_to(&mark, writing),
            None => Err(damaged(self.disk.path(), "its mark was changed")),
        }
    }
    fn read_mark(&mut self) -> Result<Option<Mark>> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let offset = self.header.mark;
        Ok(Mark::read(&self.disk.read(offset, offset + SECTOR as u64)?))
    }
    fn read_to(&mut self, mark: &Mark, writing: bool) -> Result<()> {
        if *mark == self.state.mark || mark.lines < self.state.mark.lines && !writing {
            return Ok(());
        }
        let read = self.read_on(mark);
        if let Err(error) = &read {
            self.failed = Some(error.clone());
        }
        read
    }
    fn read_on(&mut self, mark: &Mark) -> Result<()> {
        let from = self.state.mark.end;
        if mark.lines < self.state.mark.lines {
            let what = "releases are missing; an older copy may have replaced it";
            return Err(damaged(self.disk.path(), what));
        }
        let bytes = self.disk.read(from, mark.end)?;
        self.take(&bytes)?;
        if self.state.mark == *mark {
            return Ok(());
        }
        let what = format!("line {} was changed or cut off", self.state.mark.lines + 1);
        Err(damaged(self.disk.path(), &what))
    }
    /// Apply lines, and stop at the first line that is incomplete or has a wrong seal. Return the
    /// length of the applied lines.
    fn take(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut taken = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some((seal, text)) = read_line(&self.state.mark.seal, line) else { break };
            if self.state.apply(text, seal, line.len()).is_none() {
                // The seal of this line is right, but its text cannot be applied. This program
                // never writes such a line. So do not skip the line, but return an error.
                let what = format!("line {} cannot be read", self.state.mark.lines + 1);
                let error = damaged(self.disk.path(), &what);
                self.failed = Some(error.clone());
                return Err(error);
            }
            taken += line.len();
        }
        Ok(taken)
    }
    /// Apply the lines after the mark, and repair the file. The writer of these lines was killed,
    /// or the power failed, before the mark was on the disk. All complete lines are applied. A
    /// partial line is not applied, because its release was never returned. This process holds the
    /// write lock.
    pub(super) fn recover(&mut self, header: Header, disk: &mut Disk) -> Result<()> {
        let (from, length) = (self.state.mark.end, disk.length()?);
        if length < from {
            return Err(damaged(disk.path(), "its end was cut off"));
        }
        if length == from {
            return Ok(());
        }
        let bytes = disk.read(from, length)?;
        let taken = self.take(&bytes)?;
        let repaired = self.repair(header, disk, from, bytes.get(..taken).unwrap_or_default());
        if repaired.is_err() {
            // The state has the lines, but the lines are possibly not durable, so their releases
            // must not be returned. So every later read of this view is an error.
            self.failed = Some(failed(disk.path(), "could not be repaired: open it again"));
        }
        repaired
    }
    /// Cut off the part of the file after the applied lines. If lines after the mark were applied,
    /// make these lines durable, and then write the new mark.
    fn repair(&self, header: Header, disk: &mut Disk, from: u64, lines: &[u8]) -> Result<()> {
        disk.cut(from + lines.len() as u64)?;
        if lines.is_empty() {
            return Ok(());
        }
        // After a failed sync, the operating system can treat unwritten data as written. So write
        // the lines again.
        disk.write(from, lines)?;
        disk.sync()?;
        disk.write(header.mark, &self.state.mark.write())
    }
}

/// Lines that are not written to the file yet, and the mark that counts them.
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    pub(super) mark: Mark,
}
impl Lines {
    fn push(&mut self, text: &str) {
        let before = self.bytes.len();
        self.mark.seal = write_line(&self.mark.seal, text, &mut self.bytes);
        self.mark.lines += 1;
        self.mark.end += (self.bytes.len() - before) as u64;
    }
}
/// The data of a transaction that are not written to the file yet.
pub(super) struct Pending {
    pub(super) from: u64,
    pub(super) lines: Lines,
    /// The same lines, with the spare text of each entry instead of its release. The length of
    /// these lines does not depend on the releases.
    pub(super) spare: Lines,
    accounts: BTreeMap<String, Account>,
    entries: Vec<Entry>,
}
impl Pending {
    pub(super) fn after(mark: Mark) -> Self {
        let (accounts, entries) = (BTreeMap::new(), Vec::new());
        let lines = || Lines { bytes: Vec::new(), mark: mark.clone() };
        Pending { from: mark.end, lines: lines(), spare: lines(), accounts, entries }
    }
    fn push(&mut self, text: &str) {
        self.lines.push(text);
        self.spare.push(text);
    }
}

/// The current tables, with the data that are not written yet.
pub(super) struct Rows<'a> {
    pub(super) view: &'a mut View,
    pub(super) pending: Option<Pending>,
}
impl Rows<'_> {
    fn pending(&mut self) -> Result<&mut Pending> {
        let path = self.view.disk.path();
        self.pending.as_mut().ok_or_else(|| super::read_only_error(path))
    }
    /// Read an entry from the file again, because entries are not kept in memory.
    fn read_entry(&mut self, account: &Account, index: usize) -> Result<Entry> {
        let View { disk, state, .. } = &mut *self.view;
        let place = state.budgets.get(&account.name).and_then(|budget| budget.places.get(index));
        let place = place.ok_or_else(|| damaged(disk.path(), "an entry is missing"))?;
        let line = disk.read(place.start, place.start + place.length as u64)?;
        match read_line(&place.before, &line).filter(|(seal, _)| *seal == place.seal) {
            Some((_, text)) => entry_of(text, account, place),
            None => Err(damaged(disk.path(), "an entry was changed")),
        }
    }
}
impl Tables for Rows<'_> {
    fn account(&mut self, name: &str) -> Result<Option<Account>> {
        let pending = self.pending.as_ref().and_then(|pending| pending.accounts.get(name));
        let kept = || self.view.state.budgets.get(name).map(|budget| &budget.account);
        Ok(pending.or_else(kept).cloned())
    }
    fn accounts(&mut self) -> Result<Vec<Account>> {
        Ok(self.view.state.budgets.values().map(|budget| budget.account.clone()).collect())
    }
    fn add_account(&mut self, account: &Account) -> Result<()> {
        let pending = self.pending()?;
        pending.push(&write_account(account));
        pending.accounts.insert(account.name.clone(), account.clone());
        Ok(())
    }
    fn update_account(&mut self, account: &Account) -> Result<()> {
        // Write no line here, because the new state of an account is computed from the lines of its
        // entries.
        self.pending()?.accounts.insert(account.name.clone(), account.clone());
        Ok(())
    }
    fn entry(&mut self, account: &Account, id: &str) -> Result<Option<Entry>> {
        let same = |entry: &&Entry| entry.budget == account.name && entry.id == id;
        let pending = self.pending.as_ref();
        if let Some(entry) = pending.and_then(|pending| pending.entries.iter().find(same)) {
            return Ok(Some(entry.clone()));
        }
        let budget = self.view.state.budgets.get(&account.name);
        let index = budget.and_then(|budget| budget.ids.get(id).copied());
        index.map(|index| self.read_entry(account, index)).transpose()
    }
    fn entries(&mut self, account: &Account) -> Result<Vec<Entry>> {
        let budget = self.view.state.budgets.get(&account.name);
        let count = budget.map_or(0, |budget| budget.places.len());
        (0..count).map(|index| self.read_entry(account, index)).collect()
    }
    fn add_entry(&mut self, entry: &Entry) -> Result<()> {
        self.add_entry_or(entry, &entry.release)
    }
    fn add_entry_or(&mut self, entry: &Entry, spare: &str) -> Result<()> {
        let pending = self.pending()?;
        pending.lines.push(&write_entry(entry));
        let entry = entry.clone();
        pending.spare.push(&write_entry(&Entry { release: spare.to_owned(), ..entry.clone() }));
        pending.entries.push(entry);
        Ok(())
    }
}
