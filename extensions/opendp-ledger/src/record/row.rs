//! Budgets and entries as rows of the two tables of a database.

use opendp_core::Result;
use opendp_measurements::accounting::AdaptiveAccount;
use serde_json::Value as Json;

use super::{Account, Entry, damaged, digest, sealed};
use crate::{Loss, Notion, Terms};

pub(crate) struct AccountRow {
    pub(crate) name: String,
    pub(crate) measure: String,
    pub(crate) total: String,
    pub(crate) spent: String,
    pub(crate) releases: i64,
    pub(crate) created: i64,
    pub(crate) latest: i64,
    pub(crate) terms: String,
    /// The filters of the budget, as JSON. The text is empty if the budget does not compose
    /// tightly.
    pub(crate) filters: String,
    pub(crate) head: String,
    pub(crate) seal: String,
}

impl Account {
    /// Return the text of the filters. The text is empty if the budget does not compose tightly.
    pub(crate) fn filters_text(&self) -> String {
        self.filters.as_ref().map_or(String::new(), |filters| filters.to_json().to_string())
    }
    /// Return the seal of the row. If a budget composes tightly, the seal also covers its filters.
    /// An older version that does not support filters computes another seal, and rejects the row.
    /// So the older version cannot make a charge that the filters do not count.
    pub(crate) fn seal(&self) -> String {
        let (terms, filters) = (self.terms.to_text(), self.filters_text());
        let (total, spent) = (self.total.to_text(), self.spent.to_text());
        let counts = [self.releases, self.created, self.latest].map(|count| count.to_string());
        let [releases, created, latest] = counts.each_ref().map(String::as_str);
        let measure = self.total.notion().name();
        let row = ["budget", &self.name, measure, &total, &spent, releases, created, latest];
        let mut fields: Vec<&str> = row.into_iter().chain([self.head.as_str()]).collect();
        if filters.is_empty() {
            return sealed(&fields, &terms);
        }
        fields.push(&terms);
        sealed(&fields, &filters)
    }
    /// Build an account from a row, and check the seal of the row.
    pub(crate) fn from_row(row: AccountRow) -> Result<Self> {
        let damaged = || damaged(&row.name, "its row does not match its seal");
        let notion = Notion::from_name(&row.measure).ok_or_else(damaged)?;
        let filters = match row.filters.as_str() {
            "" => None,
            text => {
                let json: Json = serde_json::from_str(text).map_err(|_| damaged())?;
                Some(AdaptiveAccount::from_json(&json).map_err(|_| damaged())?)
            }
        };
        let account = Account {
            total: Loss::from_text(notion, &row.total).map_err(|_| damaged())?,
            spent: Loss::from_text(notion, &row.spent).map_err(|_| damaged())?,
            name: row.name.clone(),
            releases: row.releases,
            created: row.created,
            latest: row.latest,
            terms: Terms::from_text(&row.terms).ok_or_else(damaged)?,
            filters,
            head: row.head.clone(),
        };
        if account.seal() == row.seal { Ok(account) } else { Err(damaged()) }
    }
}

pub(crate) struct EntryRow {
    pub(crate) budget: String,
    pub(crate) number: i64,
    pub(crate) id: String,
    pub(crate) by: String,
    pub(crate) at_ms: i64,
    pub(crate) pipeline: String,
    pub(crate) d_in: String,
    pub(crate) source: String,
    pub(crate) loss: String,
    pub(crate) release: String,
    pub(crate) digest: String,
    pub(crate) previous: String,
    pub(crate) seal: String,
}
impl Entry {
    /// Build an entry from a row, and check the seal and the digest of the entry.
    pub(crate) fn from_row(row: EntryRow, notion: Notion) -> Result<Self> {
        let damaged =
            || damaged(&row.budget, &format!("entry {} does not match its seal", row.number));
        let entry = Entry {
            loss: Loss::from_text(notion, &row.loss).map_err(|_| damaged())?,
            budget: row.budget.clone(),
            number: row.number,
            id: row.id.clone(),
            by: row.by.clone(),
            at_ms: row.at_ms,
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
