//! The budgets that result from the lines of a ledger, in memory. `layout` describes the lines,
//! their seals and the mark.

use std::collections::{BTreeMap, HashMap};

use opendp_core::{Error, Result};
use opendp_measurements::accounting::AdaptiveAccount;
use serde_json::{Value as Json, json};

use crate::record::digest;
use crate::{Account, Entry, Loss, Notion, Terms};

use super::layout::Mark;

/// All budgets, and the positions of their entries in the file.
pub(super) struct State {
    /// The mark of the lines that this state was built from.
    pub(super) mark: Mark,
    pub(super) budgets: BTreeMap<String, Budget>,
}
pub(super) struct Budget {
    pub(super) account: Account,
    pub(super) places: Vec<Place>,
    /// For each id, the index in `places` of the entry with this id.
    pub(super) ids: HashMap<String, usize>,
}
/// The position of a line that was read before, with the seal before the line and the seal of the
/// line. Each later read of the line checks the line with both seals.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) length: usize,
    pub(super) before: String,
    pub(super) seal: String,
    /// The seal of the previous entry in the same budget.
    pub(super) previous: String,
}

impl State {
    pub(super) fn after(mark: Mark) -> Self {
        State { mark, budgets: BTreeMap::new() }
    }
    /// Apply the next line. Return `None` when the line cannot be applied to the current state.
    pub(super) fn apply(&mut self, text: &str, seal: &str, length: usize) -> Option<()> {
        let json: Json = serde_json::from_str(text).ok()?;
        if let Some(json) = json.get("budget") {
            let account = read_account(json)?;
            let name = account.name.clone();
            let budget = Budget { account, places: Vec::new(), ids: HashMap::new() };
            if self.budgets.insert(name, budget).is_some() {
                return None;
            }
        } else {
            let json = json.get("spend")?;
            let budget = self.budgets.get_mut(json.get("budget")?.as_str()?)?;
            let account = &mut budget.account;
            let entry = read_entry(json, account.total.notion(), account.head.clone())?;
            if entry.number != account.releases + 1 {
                return None;
            }
            budget.places.push(Place {
                start: self.mark.end,
                length,
                before: self.mark.seal.clone(),
                seal: seal.to_owned(),
                previous: account.head.clone(),
            });
            account.follow(&entry).ok()?;
            if budget.ids.insert(entry.id, budget.places.len() - 1).is_some() {
                return None;
            }
        }
        let end = self.mark.end + length as u64;
        self.mark = Mark { lines: self.mark.lines + 1, end, seal: seal.to_owned() };
        Some(())
    }
}

/// Return the text of the line for a new account, which has no charge.
pub(super) fn write_account(account: &Account) -> String {
    let mut json = json!({
        "name": account.name,
        "measure": account.total.notion().name(),
        "total": account.total.to_text(),
        "created": account.created,
    });
    if account.terms != Terms::default() {
        json["terms"] = account.terms.to_json();
    }
    if let Some(filters) = &account.filters {
        json["filters"] = filters.to_json();
    }
    json!({"budget": json}).to_string()
}
fn read_account(json: &Json) -> Option<Account> {
    let text = |name: &str| json.get(name)?.as_str();
    let notion = Notion::from_name(text("measure")?)?;
    let created = json.get("created")?.as_i64()?;
    let terms = json.get("terms").map(Json::to_string).unwrap_or_default();
    let filters = json.get("filters").map(AdaptiveAccount::from_json).transpose().ok()?;
    Some(Account {
        name: text("name")?.to_owned(),
        total: Loss::from_text(notion, text("total")?).ok()?,
        spent: Loss::zero(notion),
        releases: 0,
        created,
        latest: created,
        terms: Terms::from_text(&terms)?,
        filters,
        head: String::new(),
    })
}
pub(super) fn write_entry(entry: &Entry) -> String {
    let mut json = json!({
        "budget": entry.budget,
        "number": entry.number,
        "id": entry.id,
        "by": entry.by,
        "at": entry.at_ms,
        "pipeline": entry.pipeline,
        "d_in": entry.d_in,
        "loss": entry.loss.to_text(),
        "release": entry.release,
    });
    if !entry.source.is_empty() {
        json["source"] = entry.source.as_str().into();
    }
    json!({"spend": json}).to_string()
}
fn read_entry(json: &Json, notion: Notion, previous: String) -> Option<Entry> {
    let text = |name: &str| Some(json.get(name)?.as_str()?.to_owned());
    let release = text("release")?;
    Some(Entry {
        budget: text("budget")?,
        number: json.get("number")?.as_i64()?,
        id: text("id")?,
        by: text("by")?,
        at_ms: json.get("at")?.as_i64()?,
        pipeline: text("pipeline")?,
        d_in: text("d_in")?,
        source: if json.get("source").is_some() { text("source")? } else { String::new() },
        loss: Loss::from_text(notion, &text("loss")?).ok()?,
        digest: digest(&release),
        release,
        previous,
    })
}
/// Read the entry of a line. The caller has checked the seal of the line.
pub(super) fn entry_of(text: &str, account: &Account, place: &Place) -> Result<Entry> {
    let read = || {
        let json: Json = serde_json::from_str(text).ok()?;
        read_entry(json.get("spend")?, account.total.notion(), place.previous.clone())
    };
    read().ok_or_else(|| Error::FailedFunction("an entry of the ledger cannot be read".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::file::layout::Header;

    #[test]
    fn lines_out_of_order_are_refused() {
        let account = Account {
            name: "b".into(),
            total: Loss::epsilon("1").unwrap(),
            spent: Loss::zero(Notion::Pure),
            releases: 0,
            created: 5,
            latest: 5,
            terms: Terms::new().with_size(7),
            filters: None,
            head: String::new(),
        };
        let entry = |number: i64, id: &str| {
            let loss = Loss::epsilon("0.1").unwrap();
            write_entry(&Entry {
                budget: "b".into(),
                number,
                id: id.into(),
                by: String::new(),
                at_ms: 6,
                pipeline: "null".into(),
                d_in: "null".into(),
                source: "{}".into(),
                loss,
                release: "1".into(),
                digest: String::new(),
                previous: String::new(),
            })
        };
        let mut state = State::after(Mark::new(Header { mark: 0 }));
        assert!(state.apply(&entry(1, "a"), "", 1).is_none(), "there is no budget yet");
        state.apply(&write_account(&account), "", 1).unwrap();
        assert_eq!(state.budgets["b"].account, account);
        state.apply(&entry(1, "a"), "", 1).unwrap();
        assert_eq!(state.budgets["b"].account.spent, Loss::epsilon("0.1").unwrap());
        for line in [entry(1, "c"), entry(3, "c"), entry(2, "a"), write_account(&account)] {
            let mut again = State::after(Mark::new(Header { mark: 0 }));
            again.apply(&write_account(&account), "", 1).unwrap();
            again.apply(&entry(1, "a"), "", 1).unwrap();
            assert!(again.apply(&line, "", 1).is_none(), "{line}");
        }
    }
}
