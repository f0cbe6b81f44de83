//! Checks a request without a charge.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use opendp_core::Result;

use super::{Ledger, check_text};
use crate::decide::{Decision, decide};
use crate::store::file;
use crate::{Entry, Request};

impl Ledger {
    /// Return whether a file begins like a ledger of any version. A program calls this function
    /// before it replaces a file. A ledger that is replaced loses its charges.
    pub fn is_at(path: impl AsRef<Path>) -> bool {
        let mut start = Vec::new();
        let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut start));
        read.is_ok() && file::begins(&start)
    }
    /// Check whether a request could be charged now, and charge nothing. Return the entry of an
    /// earlier release, if the id belongs to such a release of the same request. Return `None` if
    /// the request would be charged.
    ///
    /// A ledger that is opened [for reading](Ledger::open_to_read) is enough. Between this check
    /// and a later [`release`](Ledger::release), other requests can be charged.
    ///
    /// # Errors
    /// The errors of [`release`](Ledger::release) for a request that cannot be charged.
    pub fn check_request(&self, budget: &str, request: &Request) -> Result<Option<Entry>> {
        check_text("id", &request.id)?;
        let mut earlier = None;
        self.store.read(&mut |tables| {
            earlier = match decide(tables, budget, request, &|| self.now())? {
                Decision::Repeat(entry) => Some(*entry),
                Decision::Charge(..) => None,
            };
            Ok(())
        })?;
        Ok(earlier)
    }
}
