//! Checks a request without a charge.

use opendp_core::Result;

use super::{Ledger, check_text};
use crate::decide::{Decision, decide};
use crate::{Entry, Request};

impl Ledger {
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
