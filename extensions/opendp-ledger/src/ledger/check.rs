//! Checks a request without a charge.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use opendp_core::Result;

use super::{Ledger, check_text};
use crate::decide::{Decision, decide_all, kept};
use crate::store::file;
use crate::{Entry, Request};

/// What the budgets of a request already keep for it.
pub(super) enum Earlier {
    /// Every budget keeps the release. The entry is the entry of the last budget.
    Entry(Box<Entry>),
    /// Some budgets keep this release, and the others would be charged for it.
    Release(String),
    /// No budget keeps a release.
    Nothing,
}
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
    /// the request would be charged, to one budget or to [several](Request::also).
    ///
    /// A ledger that is opened [for reading](Ledger::open_to_read) is enough. Between this check
    /// and a later [`release`](Ledger::release), other requests can be charged.
    ///
    /// # Errors
    /// The errors of [`release`](Ledger::release) for a request that cannot be charged.
    pub fn check_request(&self, budget: &str, request: &Request) -> Result<Option<Entry>> {
        match self.earlier(budget, request)? {
            Earlier::Entry(entry) => Ok(Some(*entry)),
            Earlier::Release(_) | Earlier::Nothing => Ok(None),
        }
    }
    /// Find what the budgets of a request already keep for it.
    pub(super) fn earlier(&self, budget: &str, request: &Request) -> Result<Earlier> {
        check_text("id", &request.id)?;
        let mut earlier = Earlier::Nothing;
        self.store.read(&mut |tables| {
            let mut decisions = decide_all(tables, budget, request, &|| self.now())?;
            let release = kept(&decisions)?;
            let all = decisions.iter().all(|made| matches!(made, Decision::Repeat(_)));
            earlier = match (decisions.pop(), release) {
                (Some(Decision::Repeat(entry)), Some(_)) if all => Earlier::Entry(entry),
                (_, Some(release)) => Earlier::Release(release),
                (_, None) => Earlier::Nothing,
            };
            Ok(())
        })?;
        Ok(earlier)
    }
}
