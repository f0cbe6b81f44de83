//! Filters for the releases of a plan that uses an unspent budget. A plan is a list of releases
//! whose losses are known before the first release.

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use opendp_measurements::accounting::{AdaptiveAccount, AdaptiveLoss, SharePair, SharedAccount};

use super::{Loss, Notion};
use crate::ledger::check_text;
use crate::tight;

/// The filters of a budget for releases that were planned together. The budget composes tightly
/// ([`Ledger::create_tight`](crate::Ledger::create_tight)). A filter is a rule that admits or
/// refuses the next release.
///
/// The filters are stored with the losses. So a program of another version uses the same filters,
/// and does not compute new filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) filters: AdaptiveAccount,
    /// Whether the losses of the planned releases were charged to these filters.
    pub(crate) charged: bool,
}

/// The two words with which a text about filters can begin. The text begins with the first word if
/// the planned releases were not charged to the filters yet. The text begins with the second word
/// if the planned releases were charged.
const WORDS: [&str; 2] = ["reserves ", "shares "];

impl Opening {
    pub(super) fn to_text(&self) -> String {
        format!("{}{}", WORDS[usize::from(self.charged)], self.filters.to_json())
    }
    /// Read filters. Return `None` if the text is not about filters.
    pub(super) fn from_text(text: &str) -> Result<Option<Self>> {
        for (word, charged) in WORDS.into_iter().zip([false, true]) {
            let Some(text) = text.strip_prefix(word) else { continue };
            let json = serde_json::from_str(text);
            let json = json.map_err(|_| Error::FailedCast("the filters are not JSON".into()))?;
            let filters = AdaptiveAccount::from_json(&json)?;
            return Ok(Some(Opening { filters, charged }));
        }
        Ok(None)
    }
}
impl Loss {
    /// Reserve an unspent budget for releases whose kinds are known. `self` is the loss of these
    /// releases [together](Loss::together), and `total` is the budget. `pure` must be at least the
    /// sum of the pure losses of the releases. `deltas` must be at least the sum of the deltas of
    /// the releases. The rest of the budget is for Gaussian noise.
    ///
    /// A budget that composes tightly has filters for all kinds of releases. When such a budget
    /// admits this loss, one filter replaces all these filters ([`AdaptiveAccount::reserving`]). So
    /// the releases need less noise than with filters for all kinds. The budget refuses the loss if
    /// any release was charged before. Later releases are charged to the same filter. A budget that
    /// does not compose tightly ignores the reserve.
    ///
    /// # Errors
    /// `Argument` when the budget is not an epsilon and a delta, or when its delta is 0.
    /// `BudgetExceeded` when the reserve exceeds the budget. Further errors are the errors of
    /// [`AdaptiveAccount::new`].
    pub fn reserving(self, total: &Loss, pure: &Exact, deltas: &Exact) -> Result<Self> {
        let (epsilon, delta) = total.epsilon_and_delta()?;
        let filters = AdaptiveAccount::reserving(&epsilon, &delta, pure, deltas)?;
        Ok(Loss { opening: Some(Box::new(Opening { filters, charged: false })), ..self })
    }
    /// Spend a whole unspent budget on releases with known dominating pairs. `self` is the loss of
    /// these releases [together](Loss::together), and `total` is the budget. Pair `i` of `pairs`
    /// dominates release `i`.
    ///
    /// The loss of the composed pairs must be at most the budget ([`SharedAccount`]). A budget that
    /// composes tightly refuses the loss if any release was charged before, and admits no release
    /// afterwards. A budget that does not compose tightly ignores the pairs.
    ///
    /// # Errors
    /// `Argument` when the budget is not an epsilon and a delta, when its delta is 0, or when the
    /// number of pairs is not the number of releases. Further errors are the errors of
    /// [`SharedAccount::new`].
    pub fn sharing(self, total: &Loss, pairs: &[SharePair]) -> Result<Self> {
        let (epsilon, delta) = total.epsilon_and_delta()?;
        if pairs.len() != self.members().len() {
            let (expected, found) = (self.members().len(), pairs.len());
            let reason =
                format!("expected a pair for each release, {expected} in total, found {found}");
            return Err(Error::argument("pairs", reason));
        }
        SharedAccount::new(&epsilon, &delta, pairs)?;
        let mut filters = AdaptiveAccount::reserving(&epsilon, &delta, &epsilon, &delta)?;
        filters.charge(&AdaptiveLoss { epsilon, delta, mu_squared: None, rho: None })?;
        Ok(Loss { opening: Some(Box::new(Opening { filters, charged: true })), ..self })
    }
    /// Return the filters of the planned releases, if the loss was planned for an unspent budget.
    pub(crate) fn opening(&self) -> Option<&Opening> {
        self.opening.as_deref()
    }
    /// Check the name and the amount of a new budget. Call this function before the ledger is
    /// opened, so that no ledger is created for a wrong budget. `tight` states whether the
    /// budget composes tightly.
    ///
    /// # Errors
    /// The errors of [`Ledger::create`](crate::Ledger::create) and
    /// [`Ledger::create_tight`](crate::Ledger::create_tight) for a wrong name or amount.
    pub fn check_budget(&self, name: &str, tight: bool) -> Result<()> {
        self.opened(name, tight).map(|_| ())
    }
    /// Check the name and the amount of a new budget. If the budget composes tightly, return its
    /// filters.
    pub(crate) fn opened(&self, name: &str, tight: bool) -> Result<Option<AdaptiveAccount>> {
        check_text("name", name)?;
        self.check_amount().map_err(|error| error.at(format!("budget `{name}`")))?;
        tight.then(|| tight::open(self)).transpose()
    }
    /// Return the epsilon and the delta of a budget. Each of the two numbers is the larger of the
    /// stated amount and its nearest float.
    pub(crate) fn epsilon_and_delta(&self) -> Result<(Exact, Exact)> {
        match (self.notion, self.or_its_float().parts()) {
            (Notion::Approximate, [epsilon, delta]) if !delta.is_zero() => {
                Ok((epsilon.clone(), delta.clone()))
            }
            _ => {
                let reason = "a budget that composes tightly needs an epsilon and a delta above 0";
                Err(Error::argument("total", reason))
            }
        }
    }
}
