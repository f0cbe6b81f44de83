//! Where the tables are.

pub(crate) mod file;
pub(crate) mod legacy;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;

use opendp_core::Result;

use crate::{Account, Entry};

/// A place that keeps the two tables. Writers take turns, also those in other processes.
pub(crate) trait Store: Send + Sync {
    /// Look at one state of the tables.
    fn read(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
    /// Change the tables: all of it is durable when this returns, or none of it is done. No other
    /// writer comes in between. When the answer is an error of the storage, either may be the case.
    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<()>) -> Result<()>;
}

/// The two tables, within a transaction.
pub(crate) trait Tables {
    fn account(&mut self, name: &str) -> Result<Option<Account>>;
    fn accounts(&mut self) -> Result<Vec<Account>>;
    fn add_account(&mut self, account: &Account) -> Result<()>;
    /// Write down what an entry has changed, after the entry.
    fn update_account(&mut self, account: &Account) -> Result<()>;
    fn entry(&mut self, account: &Account, id: &str) -> Result<Option<Entry>>;
    /// All entries of an account, by number.
    fn entries(&mut self, account: &Account) -> Result<Vec<Entry>>;
    fn add_entry(&mut self, entry: &Entry) -> Result<()>;
}
