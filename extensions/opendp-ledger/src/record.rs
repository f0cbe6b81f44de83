//! Budgets, entries, and the seals that detect damage. A seal is a hash of an entry, or of a row of
//! a database.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod row;

use opendp_core::{Error, Result};
use opendp_measurements::accounting::AdaptiveAccount;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::{Loss, Terms, request, tight};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use row::{AccountRow, EntryRow};

/// The text that states when [`Account::loss`] is a valid bound. The JSON of an account contains
/// this text if the budget composes tightly
/// ([`Ledger::create_tight`](crate::Ledger::create_tight)).
const SPENT_HOLDS: &str =
    "if the releases were fixed in advance; otherwise only the whole budget is a bound";

/// A budget, with the amount that was spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The name of the budget.
    pub name: String,
    /// The total loss that the budget allows.
    pub total: Loss,
    /// The sum of all losses, part by part. A term is never rounded down, so the sum is never too
    /// small. See [`loss`](Account::loss) for a tighter bound.
    pub spent: Loss,
    /// The number of entries in the history of the budget: its charges, and the calls of
    /// [`settle_clock`](crate::Ledger::settle_clock).
    pub releases: i64,
    /// The time at which the budget was created, in milliseconds since 1970.
    pub created: i64,
    /// The time of the last entry in milliseconds since 1970, or `created` if there is no entry.
    pub latest: i64,
    /// The terms of the budget. The terms can state the unit that the budget protects, and the data
    /// of the budget.
    pub terms: Terms,
    /// The filters, if the budget composes tightly. A filter is a rule that admits or refuses the
    /// next release. All releases are charged to the filters.
    pub(crate) filters: Option<AdaptiveAccount>,
    /// The seal of the last entry of the budget.
    pub(crate) head: String,
}
impl Account {
    /// Return the rest of the budget. If the budget composes tightly, choose the filter with the
    /// largest rest, and return the epsilon and the delta of this rest ([`AdaptiveAccount::left`]).
    pub fn remaining(&self) -> Loss {
        let left = self.filters.as_ref().and_then(|filters| tight::loss(filters.left().ok()?).ok());
        match (&self.filters, left) {
            (None, _) => self.total.minus(&self.spent),
            (Some(_), left) => left.unwrap_or(Loss::zero(self.total.notion())),
        }
    }
    /// Bound the total loss of all releases. If the budget adds up losses, the bound is the sum of
    /// the losses. This sum is a valid bound even if releases were chosen after answers were seen.
    ///
    /// If the budget composes tightly, the bound can be less than this sum. The bound is then valid
    /// only if the releases were fixed in advance. If releases were chosen after answers were seen,
    /// only the whole budget is a valid bound.
    pub fn loss(&self) -> Loss {
        let spent = self.filters.as_ref().map(AdaptiveAccount::spent);
        spent.and_then(|spent| tight::loss(spent.ok()?).ok()).unwrap_or(self.spent.clone())
    }
    /// Return the filters of a budget that composes tightly
    /// ([`Ledger::create_tight`](crate::Ledger::create_tight)). [`AdaptiveAccount::room`] finds the
    /// largest losses that the filters admit.
    pub fn filters(&self) -> Option<&AdaptiveAccount> {
        self.filters.as_ref()
    }
    /// Return whether the budget admits one more release with this loss.
    pub fn admits(&self, loss: &Loss) -> bool {
        match &self.filters {
            Some(filters) => tight::charge(&mut filters.clone(), loss).is_ok(),
            None => self.spent.plus(loss).at_most(&self.limit()),
        }
    }
    /// Convert the account to JSON, with exact amounts. The field `spent` is the
    /// [`loss`](Account::loss). If the budget composes tightly, the field `spent_holds` states when
    /// this loss is a valid bound.
    pub fn to_json(&self) -> Json {
        let mut json = json!({
            "name": self.name,
            "measure": self.total.notion().name(),
            "total": self.total.to_json(),
            "spent": self.loss().to_json(),
            "remaining": self.remaining().to_json(),
            "releases": self.releases,
            "created_ms": self.created,
            "latest_ms": self.latest,
        });
        if self.filters.is_some() {
            json["composition"] = "tight".into();
            json["spent_holds"] = SPENT_HOLDS.into();
        }
        if let (Some(json), Json::Object(terms)) = (json.as_object_mut(), self.terms.to_json()) {
            json.extend(terms);
        }
        json
    }
    /// Convert an entry of this budget to JSON, with the unit that the budget protects.
    pub fn entry_to_json(&self, entry: &Entry) -> Json {
        let mut json = entry.to_json();
        if let Some(unit) = self.terms.to_json().get("unit") {
            json["unit"] = unit.clone();
        }
        json
    }
    /// Add the next entry. An entry that the filters do not admit is an error.
    pub(crate) fn follow(&mut self, entry: &Entry) -> Result<()> {
        // An entry of zero loss, such as an entry about the clock, is not charged to the filters.
        // An entry that opens a plan is always charged, because it replaces the filters.
        let none = entry.loss.is_zero()
            && entry.loss.mu_squared().is_none()
            && entry.loss.opening().is_none();
        if let Some(filters) = self.filters.as_ref().filter(|_| !none) {
            let mut charged = filters.clone();
            tight::charge(&mut charged, &entry.loss)?;
            self.filters = Some(charged);
        }
        self.spent = self.spent.plus(&entry.loss);
        self.releases = entry.number;
        self.latest = entry.at_ms;
        self.head = entry.seal();
        Ok(())
    }
    /// Return the largest allowed sum of all charges. Each part of this sum is the larger of two
    /// numbers: the stated amount, and the float nearest to it.
    pub(crate) fn limit(&self) -> Loss {
        self.total.or_its_float()
    }
}

/// One entry of the history of a budget: a release with its request and its privacy loss, or a call
/// of [`settle_clock`](crate::Ledger::settle_clock).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of the budget.
    pub budget: String,
    /// The position of the entry in the history of the budget, counted from 1. The positions define
    /// the order of entries, independently of the clock.
    pub number: i64,
    /// The id that the caller gave to the request.
    pub id: String,
    /// The person who made the request, as stated by the caller.
    pub by: String,
    /// The time of the entry, in milliseconds since 1970. Only an entry that records a call of
    /// [`settle_clock`](crate::Ledger::settle_clock) can be earlier than the previous entry.
    pub at_ms: i64,
    /// The pipeline document of the release.
    pub pipeline: String,
    /// The distance of neighbouring inputs, as JSON.
    pub d_in: String,
    /// A description of the data that were read, as JSON. The caller stated this description in
    /// [`Request::source`](crate::Request::source). The text is empty if the caller did not state
    /// the data.
    pub source: String,
    /// The exact loss of the release, in the measure of the budget.
    pub loss: Loss,
    /// The release, as JSON.
    pub release: String,
    /// SHA-256 of the text of the release, in hexadecimal.
    pub digest: String,
    /// The seal of the previous entry of the budget.
    pub(crate) previous: String,
}
impl Entry {
    /// Convert the entry to JSON, with the exact loss. A document or a release that is JSON is
    /// included as JSON, and not as text.
    pub fn to_json(&self) -> Json {
        let parsed = |text: &str| -> Json { request::parse(text).unwrap_or_else(|_| text.into()) };
        let mut json = json!({
            "budget": self.budget,
            "number": self.number,
            "id": self.id,
            "by": self.by,
            "at_ms": self.at_ms,
            "loss": self.loss.to_json(),
            "d_in": parsed(&self.d_in),
            "pipeline": parsed(&self.pipeline),
            "release": parsed(&self.release),
            "digest": self.digest,
            "seal": self.seal(),
        });
        if !self.source.is_empty() {
            json["source"] = parsed(&self.source);
        }
        json
    }
    /// Return whether the entry records a call of
    /// [`settle_clock`](crate::Ledger::settle_clock), and not a release.
    pub(crate) fn is_settled_clock(&self) -> bool {
        self.loss.is_zero() && self.pipeline.starts_with("{\"settle_clock\"")
    }
    pub(crate) fn seal(&self) -> String {
        sealed(
            &[
                "spend",
                &self.budget,
                &self.number.to_string(),
                &self.id,
                &self.by,
                &self.at_ms.to_string(),
                &self.pipeline,
                &self.d_in,
                &self.loss.to_text(),
                &self.release,
                &self.digest,
                &self.previous,
            ],
            &self.source,
        )
    }
}

/// Check that a history is complete. Every entry must state the next number and the seal of the
/// previous entry. The number of entries, the last seal and the sum of the losses must equal the
/// values of the account.
pub(crate) fn verify(account: &Account, entries: &[Entry]) -> Result<()> {
    let (mut head, mut spent) = (String::new(), Loss::zero(account.total.notion()));
    for (entry, number) in entries.iter().zip(1..) {
        if entry.number != number || entry.previous != head {
            let reason = format!("entry {number} does not follow the previous entry");
            return Err(damaged(&account.name, &reason));
        }
        head = entry.seal();
        spent = spent.plus(&entry.loss);
    }
    let count = i64::try_from(entries.len()).ok();
    if count != Some(account.releases) || head != account.head || spent != account.spent {
        return Err(damaged(&account.name, "its entries do not add up to what is spent"));
    }
    Ok(())
}

#[cold]
pub(crate) fn damaged(budget: &str, reason: &str) -> Error {
    Error::FailedFunction(format!(
        "the ledger is damaged: budget `{budget}`: {reason}; nothing was charged or released. \
         Restore the ledger from a copy that has all releases"
    ))
}

pub(crate) fn digest(text: &str) -> String {
    hexadecimal(Sha256::new().chain_update(text))
}
/// Return the SHA-256 of a list of fields. The length of each field is hashed too, so different
/// lists of fields do not give the same input of the hash. An empty last field is omitted, because
/// older ledgers do not have this field.
fn sealed(fields: &[&str], last: &str) -> String {
    let last = Some(&last).filter(|last| !last.is_empty());
    let hash = fields.iter().chain(last).fold(Sha256::new(), |hash, field| {
        hash.chain_update((field.len() as u64).to_le_bytes()).chain_update(field)
    });
    hexadecimal(hash)
}
pub(crate) fn hexadecimal(hash: Sha256) -> String {
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[digit as usize]);
    hash.finalize().iter().flat_map(digits).map(char::from).collect()
}
