//! The contents of the two tables, and the seals that make damage visible.

use opendp_core::{Error, Result};
use opendp_measurements::accounting::AdaptiveAccount;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::{Loss, Notion, Terms, tight};

/// A budget and what is spent of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The name.
    pub name: String,
    /// The total that may be spent.
    pub total: Loss,
    /// The sum of all losses, part by part. See [`loss`](Account::loss) for a tighter bound.
    pub spent: Loss,
    /// The number of releases.
    pub releases: i64,
    /// When it was created, in milliseconds since 1970.
    pub created: i64,
    /// When the last release was charged, or the budget was created.
    pub latest: i64,
    /// Whom it protects, and in which data.
    pub terms: Terms,
    /// The filters of a budget that composes tightly, with all releases charged.
    pub(crate) filters: Option<AdaptiveAccount>,
    /// The seal of the last entry.
    pub(crate) head: String,
}
impl Account {
    /// Return what is left: the largest loss that one more release could have.
    pub fn remaining(&self) -> Loss {
        let left = self.filters.as_ref().and_then(|filters| tight::loss(filters.left().ok()?).ok());
        match (&self.filters, left) {
            (None, _) => self.total.minus(&self.spent),
            (Some(_), left) => left.unwrap_or(Loss::zero(self.total.notion())),
        }
    }
    /// Bound the loss of all releases together. It is the sum of their losses, or less if the
    /// budget composes tightly.
    pub fn loss(&self) -> Loss {
        let spent = self.filters.as_ref().map(AdaptiveAccount::spent);
        spent.and_then(|spent| tight::loss(spent.ok()?).ok()).unwrap_or(self.spent.clone())
    }
    /// Return the filters of a budget that composes tightly
    /// ([`Ledger::create_tight`](crate::Ledger::create_tight)).
    /// [`AdaptiveAccount::room`] finds the least noise that they admit.
    pub fn filters(&self) -> Option<&AdaptiveAccount> {
        self.filters.as_ref()
    }
    /// Whether one more release of this loss fits.
    pub(crate) fn admits(&self, loss: &Loss) -> bool {
        match &self.filters {
            Some(filters) => filters.admits(&tight::charged(loss)),
            None => self.spent.plus(loss).at_most(&self.limit()),
        }
    }
    /// Convert to JSON, with exact amounts.
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
        }
        if let (Some(json), Json::Object(terms)) = (json.as_object_mut(), self.terms.to_json()) {
            json.extend(terms);
        }
        json
    }
    /// Convert one of its entries to JSON, with the unit that the budget protects.
    pub fn entry_to_json(&self, entry: &Entry) -> Json {
        let mut json = entry.to_json();
        if let Some(unit) = self.terms.to_json().get("unit") {
            json["unit"] = unit.clone();
        }
        json
    }
    /// Add the next entry. An entry that the filters do not admit is an error.
    pub(crate) fn follow(&mut self, entry: &Entry) -> Result<()> {
        // An entry that is no release, such as one about the clock, does not open the account.
        let none = entry.loss.is_zero() && entry.loss.mu_squared().is_none();
        if let Some(filters) = self.filters.as_mut().filter(|_| !none) {
            filters.charge(&tight::charged(&entry.loss))?;
        }
        self.spent = self.spent.plus(&entry.loss);
        self.releases = entry.number;
        self.latest = entry.at;
        self.head = entry.seal();
        Ok(())
    }
    /// Return the limit of its spends: the larger of the amount and its nearest float.
    pub(crate) fn limit(&self) -> Loss {
        self.total.or_its_float()
    }
    pub(crate) fn seal(&self) -> String {
        sealed(
            &[
                "budget",
                &self.name,
                self.total.notion().name(),
                &self.total.to_text(),
                &self.spent.to_text(),
                &self.releases.to_string(),
                &self.created.to_string(),
                &self.latest.to_string(),
                &self.head,
            ],
            &self.terms.to_text(),
        )
    }
    /// Build an account from a row.
    pub(crate) fn from_row(row: AccountRow) -> Result<Self> {
        let damaged = || damaged(&row.name, "its row does not match its seal");
        let notion = Notion::from_name(&row.measure).ok_or_else(damaged)?;
        let account = Account {
            total: Loss::from_text(notion, &row.total).map_err(|_| damaged())?,
            spent: Loss::from_text(notion, &row.spent).map_err(|_| damaged())?,
            name: row.name.clone(),
            releases: row.releases,
            created: row.created,
            latest: row.latest,
            terms: Terms::from_text(&row.terms).ok_or_else(damaged)?,
            filters: None,
            head: row.head.clone(),
        };
        if account.seal() == row.seal { Ok(account) } else { Err(damaged()) }
    }
}

/// A budget as a row of its table.
pub(crate) struct AccountRow {
    pub(crate) name: String,
    pub(crate) measure: String,
    pub(crate) total: String,
    pub(crate) spent: String,
    pub(crate) releases: i64,
    pub(crate) created: i64,
    pub(crate) latest: i64,
    pub(crate) terms: String,
    pub(crate) head: String,
    pub(crate) seal: String,
}

/// One release: what it was, who asked, what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of the budget.
    pub budget: String,
    /// The place in the history of the budget, from 1. It defines the order, independently of the
    /// clock.
    pub number: i64,
    /// The id that the caller gave.
    pub id: String,
    /// Who asked, as the caller says.
    pub by: String,
    /// When it was charged, in milliseconds since 1970. It decreases only after [a clock was
    /// settled](crate::Ledger::settle_clock).
    pub at: i64,
    /// The pipeline document.
    pub pipeline: String,
    /// The distance of neighbouring inputs, as JSON.
    pub d_in: String,
    /// What was read, as JSON: the names of the data, and their columns. Empty if the caller did
    /// not say.
    pub source: String,
    /// The exact loss, in the measure of the budget.
    pub loss: Loss,
    /// The release, as JSON.
    pub release: String,
    /// SHA-256 of the text of the release, in hexadecimal.
    pub digest: String,
    /// The seal of the previous entry.
    pub(crate) previous: String,
}
impl Entry {
    /// Convert to JSON, with the exact loss. Documents and releases that are JSON are included as
    /// JSON.
    pub fn to_json(&self) -> Json {
        let parsed =
            |text: &str| -> Json { serde_json::from_str(text).unwrap_or_else(|_| text.into()) };
        let mut json = json!({
            "budget": self.budget,
            "number": self.number,
            "id": self.id,
            "by": self.by,
            "at_ms": self.at,
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
    pub(crate) fn seal(&self) -> String {
        sealed(
            &[
                "spend",
                &self.budget,
                &self.number.to_string(),
                &self.id,
                &self.by,
                &self.at.to_string(),
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
    /// Build an entry from a row, and check its seal and digest.
    pub(crate) fn from_row(row: EntryRow, notion: Notion) -> Result<Self> {
        let damaged =
            || damaged(&row.budget, &format!("entry {} does not match its seal", row.number));
        let entry = Entry {
            loss: Loss::from_text(notion, &row.loss).map_err(|_| damaged())?,
            budget: row.budget.clone(),
            number: row.number,
            id: row.id.clone(),
            by: row.by.clone(),
            at: row.at,
            pipeline: row.pipeline.clone(),
            d_in: row.d_in.clone(),
            source: row.source.clone(),
            release: row.release.clone(),
            digest: row.digest.clone(),
            previous: row.previous.clone(),
        };
        if entry.seal() == row.seal && entry.digest == digest(&entry.release) {
            Ok(entry)
        } else {
            Err(damaged())
        }
    }
}

/// An entry as a row of its table.
pub(crate) struct EntryRow {
    pub(crate) budget: String,
    pub(crate) number: i64,
    pub(crate) id: String,
    pub(crate) by: String,
    pub(crate) at: i64,
    pub(crate) pipeline: String,
    pub(crate) d_in: String,
    pub(crate) source: String,
    pub(crate) loss: String,
    pub(crate) release: String,
    pub(crate) digest: String,
    pub(crate) previous: String,
    pub(crate) seal: String,
}

/// Check that a history is complete: every entry follows the one before, and their sum is the
/// amount that the account states.
pub(crate) fn verify(account: &Account, entries: &[Entry]) -> Result<()> {
    let (mut head, mut spent) = (String::new(), Loss::zero(account.total.notion()));
    for (entry, number) in entries.iter().zip(1..) {
        if entry.number != number || entry.previous != head {
            let reason = format!("entry {number} does not follow the one before");
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
        "the ledger is damaged: budget `{budget}`: {reason}; nothing was charged or released"
    ))
}

/// Return the SHA-256 in hexadecimal.
pub(crate) fn digest(text: &str) -> String {
    hexadecimal(Sha256::new().chain_update(text))
}
/// Return the SHA-256 of fields, each with its length, so that different lists of fields differ. An
/// empty last field is omitted, because older ledgers do not have it.
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
