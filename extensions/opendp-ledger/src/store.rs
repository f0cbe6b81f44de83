//! Storage of the tables.

pub(crate) mod file;
#[cfg(feature = "sqlite")]
pub(crate) mod legacy;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;

use opendp_core::Result;

use crate::{Account, Entry};

/// A storage of two tables: budgets and entries. Only one writer works at a time, even if the
/// writers are in different processes.
pub(crate) trait Store: Send + Sync {
    /// Call `work` with one consistent state of the tables, for reading.
    fn read(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
    /// Call `work`, which changes the tables. On success, all changes are durable. If `work` fails,
    /// no change is made. No other writer runs during the call. After an error of the storage, it
    /// is unknown whether the changes are durable.
    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
    /// Call `work`, as [`write`](Store::write) does. If the storage has no room for the entries,
    /// keep the spare text of each entry ([`Tables::add_entry_or`]) instead of its release. Return
    /// whether the spare texts were kept. A storage of another kind than a file has no such texts.
    fn write_or_spare(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<bool> {
        self.write(work).map(|()| false)
    }
}

/// The tables of budgets and entries, within one transaction.
pub(crate) trait Tables {
    fn account(&mut self, name: &str) -> Result<Option<Account>>;
    fn accounts(&mut self) -> Result<Vec<Account>>;
    fn add_account(&mut self, account: &Account) -> Result<()>;
    /// Write the new state of an account. First add the entry that changes the account, and then
    /// call this function.
    fn update_account(&mut self, account: &Account) -> Result<()>;
    fn entry(&mut self, account: &Account, id: &str) -> Result<Option<Entry>>;
    /// Return all entries of an account, in the order of their numbers.
    fn entries(&mut self, account: &Account) -> Result<Vec<Entry>>;
    fn add_entry(&mut self, entry: &Entry) -> Result<()>;
    /// Add an entry. If there is no room for the entry, the storage can keep `spare` instead of the
    /// release of the entry.
    fn add_entry_or(&mut self, entry: &Entry, _spare: &str) -> Result<()> {
        self.add_entry(entry)
    }
}
