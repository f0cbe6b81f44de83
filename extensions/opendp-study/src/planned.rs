//! The charge for all releases of a study, for a budget that composes tightly.

use opendp_analysis::context::Entry;
use opendp_core::Result;
use opendp_core::arith::Exact;
use opendp_ledger::{Account, Loss, Notion};
use opendp_measurements::accounting::SharePair;

use super::Outcome;

#[derive(PartialEq)]
pub(super) struct Planned {
    losses: Vec<Loss>,
    /// The reserved epsilon and the reserved delta of the [first entry](Entry::reserved). The first
    /// entry states these numbers only if the study is one plan for its whole budget. There is one
    /// exception. A study can have a single release that states a `mu^2` of Gaussian differential
    /// privacy and no reserve. Then the whole budget is for this release, and both numbers are 0.
    reserved: Option<[Exact; 2]>,
    /// The pair of distributions of each release, from the [first entry](Entry::shares). There are
    /// pairs only if the study is one plan that divides its whole budget into shares.
    shares: Option<Vec<SharePair>>,
}
impl Planned {
    /// Return the charge, if each loss is an epsilon and a delta.
    pub(super) fn of(outcome: &Outcome) -> Option<Self> {
        let loss = |entry: &Entry| Loss::of_entry(Notion::Approximate, entry);
        let losses = outcome.entries().iter().map(loss).collect::<Result<_>>().ok()?;
        let first = outcome.entries().first()?;
        let reserved = match outcome.entries() {
            [Entry { mu_squared: Some(_), reserved: None, .. }] => Some([Exact::ZERO, Exact::ZERO]),
            _ => first.reserved.clone(),
        };
        Some(Planned { losses, reserved, shares: first.shares.clone() })
    }
    /// Return the loss to charge to the ledger. A filter of a budget is a rule that admits or
    /// refuses the next release. If a study is one plan for its whole budget, the filters of the
    /// ledger's budget can refuse this plan. In this case, the loss also states the shares or the
    /// reserve of the plan, as parts of the ledger's budget. The ledger admits such a loss only if
    /// nothing was charged to this budget before.
    pub(super) fn loss(&self, whole: &Loss, account: &Account) -> Result<Loss> {
        let members = whole.clone().with_members(self.losses.clone())?;
        if account.admits(&members) {
            return Ok(members);
        }
        let reserve = members.clone();
        let reserve = match (&self.shares, &self.reserved) {
            (Some(pairs), _) => reserve.sharing(&account.total, pairs),
            (None, Some([pure, deltas])) => reserve.reserving(&account.total, pure, deltas),
            (None, None) => return Ok(members),
        };
        Ok(reserve.ok().filter(|loss| account.admits(loss)).unwrap_or(members))
    }
}
