//! Storage of the tables.

pub(crate) mod file;
pub(crate) mod legacy;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;

use opendp_core::Result;

use crate::{Account, Entry};

/// A storage of the two tables. Writers take turns, also across processes.
pub(crate) trait Store: Send + Sync {
    /// Read one state of the tables.
    fn read(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
    /// Change the tables. On return, either all changes are durable or none is made. No other
    /// writer runs in between. After an error of the storage, either may be the case.
    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
    /// Whether it keeps the filters of a budget that composes tightly.
    fn keeps_filters(&self) -> bool {
        true
    }
}

/// The two tables, within a transaction.
pub(crate) trait Tables {
    fn account(&mut self, name: &str) -> Result<Option<Account>>;
    fn accounts(&mut self) -> Result<Vec<Account>>;
    fn add_account(&mut self, account: &Account) -> Result<()>;
    /// Write the changes that an entry made to the account, after the entry.
    fn update_account(&mut self, account: &Account) -> Result<()>;
    fn entry(&mut self, account: &Account, id: &str) -> Result<Option<Entry>>;
    /// Return all entries of an account, by number.
    fn entries(&mut self, account: &Account) -> Result<Vec<Entry>>;
    fn add_entry(&mut self, entry: &Entry) -> Result<()>;
}
