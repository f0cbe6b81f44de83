//! A journal of losses, in a ledger that remains after the process ends.

use std::path::Path;

use opendp_analysis::PrivacyUnit;
use opendp_analysis::context::{Entry, ErrorIn, Journal};
use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use opendp_ledger::{Account, Ledger, Loss, Notion, Request, Terms};
use opendp_measurements::accounting::SharePair;
use serde_json::{Value as Json, json};

/// The name of the budget in the ledger.
const BUDGET: &str = "survey";

/// A ledger that stores each question before its noise is drawn.
#[derive(Debug)]
pub(crate) struct Kept(Ledger);
impl Kept {
    /// Open a ledger. If the ledger does not contain the budget, create the budget.
    ///
    /// # Errors
    /// `Argument` when the budget exists with another amount. The errors of [`Loss::epsilon_delta`]
    /// and of the ledger.
    pub(crate) fn open(path: &Path, epsilon: f64, delta: f64) -> Result<Self> {
        let ledger = Ledger::open(path)?;
        let total = Loss::epsilon_delta(&epsilon.to_string(), &delta.to_string())?;
        if ledger.accounts()?.iter().all(|account| account.name != BUDGET) {
            ledger.create_tight(BUDGET, &total, &Terms::new())?;
        }
        let kept = ledger.account(BUDGET)?.total;
        if kept != total {
            let reason = format!("the budget in the ledger is {kept}, but {total} was requested");
            return Err(Error::argument("ledger", reason));
        }
        Ok(Kept(ledger))
    }
    /// Return the releases of earlier runs, in order.
    ///
    /// # Errors
    /// `FailedFunction` when the ledger is damaged, `Argument` when another program wrote an entry.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>> {
        let history = self.0.history(BUDGET)?;
        let entries = history.iter().map(|kept| read_all(&kept.release, kept.loss.members()));
        Ok(entries.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
    /// Charge the losses of one or several releases. One entry of the ledger contains all these
    /// losses. A plan asks several questions together. If the releases belong to a plan with an id,
    /// the id of the entry contains the id of the plan. The ledger charges each id once, so it
    /// charges a plan with an id once.
    fn charge(&self, entries: &[Entry]) -> Result<()> {
        let loss = Loss::together(entries.iter().map(loss_of).collect::<Result<_>>()?)?;
        let Account { total, releases, .. } = self.0.account(BUDGET)?;
        // The first entry of a plan states the epsilon and the delta that the plan reserves, or the
        // shares into which the plan divides the budget. With `Split::by_kinds`, the first entry
        // states the shares of all later releases, too. The ledger then charges each release alone.
        let planned = entries.first().map(|first| (&first.reserved, &first.shares));
        let loss = match planned {
            Some((_, Some(shares))) if shares.len() == entries.len() => {
                loss.sharing(&total, shares)?
            }
            Some((Some([pure, deltas]), None)) => loss.reserving(&total, pure, deltas)?,
            _ => loss,
        };
        let kept = match entries {
            [only] => write(only).to_string(),
            all => Json::Array(all.iter().map(write).collect()).to_string(),
        };
        let release = |id: &str| {
            let request = Request::of_loss(id, loss.clone()).by("budget");
            self.0.release(BUDGET, &request, || Ok(kept.clone()))
        };
        if let Some(plan) = entries.first().and_then(|entry| entry.plan.as_deref()) {
            return match release(&format!("plan {plan}"))?.repeated() {
                false => Ok(()),
                true => Err(Error::argument("plan", format!("plan `{plan}` was charged before"))),
            };
        }
        let mut number = releases;
        loop {
            number += 1;
            let id = format!("question {number}");
            match release(&id) {
                Ok(release) if !release.repeated() => return Ok(()),
                // Another process has already charged a question with this number. If the losses of
                // the two questions are equal, the ledger repeats the earlier release. Otherwise,
                // the ledger returns an error. In both cases, try the next number.
                Ok(_) => {}
                Err(_) if self.0.entry(BUDGET, &id)?.is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }
}
impl Journal for Kept {
    fn record(&self, entry: &Entry) -> Result<()> {
        self.charge(std::slice::from_ref(entry))
    }
    fn record_plan(&self, entries: &[Entry]) -> Result<()> {
        self.charge(entries)
    }
}
fn loss_of(entry: &Entry) -> Result<Loss> {
    let mut loss = Loss::exact(Notion::Approximate, entry.loss.clone())?;
    if let Some(mu_squared) = &entry.mu_squared {
        loss = loss.with_mu_squared(mu_squared.clone())?;
        if let Some(rho) = &entry.rho {
            loss = loss.with_rho(rho.clone())?;
        }
    }
    Ok(loss)
}

/// Write the facts that the ledger keeps about a question. The ledger does not contain the answer,
/// because the noise of the answer is drawn after the charge.
fn write(entry: &Entry) -> Json {
    let left: Vec<String> = entry.left.iter().map(Exact::to_string).collect();
    json!({
        "query": entry.query,
        "measure": entry.measure,
        "rows": entry.unit.rows(),
        "replaced": entry.unit.size_is_public(),
        "mechanism": entry.mechanism,
        "scale": entry.scale,
        "mu_squared": entry.mu_squared.as_ref().map(Exact::to_string),
        "plan": entry.plan,
        "rho": entry.rho.as_ref().map(Exact::to_string),
        "threshold": entry.threshold,
        "reserved": entry.reserved.as_ref().map(|parts| parts.each_ref().map(Exact::to_string)),
        "share": entry.share.as_ref().map(SharePair::to_json),
        "shares": entry.shares.as_ref().map(|all| all.iter().map(SharePair::to_json).collect::<Vec<_>>()),
        "accuracy": entry.accuracy,
        "in_ranks": entry.error_in == ErrorIn::Ranks,
        "in_counts": entry.error_in == ErrorIn::Counts,
        "left": left,
    })
}
/// Read the facts that one entry of the ledger stores about its releases.
fn read_all(kept: &str, losses: &[Loss]) -> Result<Vec<Entry>> {
    let text: String = serde_json::from_str(kept).map_err(|_| damaged())?;
    let kept = match serde_json::from_str(&text).map_err(|_| damaged())? {
        Json::Array(all) => all,
        single => vec![single],
    };
    if kept.len() != losses.len() {
        return Err(damaged());
    }
    kept.iter().zip(losses).map(|(kept, loss)| read(kept, loss.parts())).collect()
}
fn damaged() -> Error {
    Error::argument("ledger", "an entry was not written by this program")
}
fn read(kept: &Json, loss: &[Exact]) -> Result<Entry> {
    let word = |name: &str| kept[name].as_str().map(str::to_owned).ok_or_else(damaged);
    let left = kept["left"].as_array().ok_or_else(damaged)?;
    let left = left.iter().map(|part| part.as_str().ok_or_else(damaged)?.parse());
    let rows = kept["rows"].as_u64().and_then(|rows| u32::try_from(rows).ok());
    let rows = rows.ok_or_else(damaged)?;
    Ok(Entry {
        query: word("query")?,
        measure: word("measure")?,
        unit: match kept["replaced"].as_bool().ok_or_else(damaged)? {
            true => PrivacyUnit::answers_of_person(rows)?,
            false => PrivacyUnit::person(rows)?,
        },
        mechanism: word("mechanism")?,
        scale: kept["scale"].as_f64().ok_or_else(damaged)?,
        threshold: kept["threshold"].as_f64(),
        loss: loss.to_vec(),
        mu_squared: kept["mu_squared"].as_str().map(str::parse).transpose()?,
        // Entries of older versions have no `plan` and no `rho`.
        plan: kept["plan"].as_str().map(str::to_owned),
        rho: kept["rho"].as_str().map(str::parse).transpose()?,
        reserved: match (kept["reserved"][0].as_str(), kept["reserved"][1].as_str()) {
            (Some(pure), Some(deltas)) => Some([pure.parse()?, deltas.parse()?]),
            _ => None,
        },
        share: match &kept["share"] {
            Json::Null => None,
            share => Some(SharePair::from_json(share)?),
        },
        shares: match &kept["shares"] {
            Json::Array(all) => Some(all.iter().map(SharePair::from_json).collect::<Result<_>>()?),
            _ => None,
        },
        accuracy: kept["accuracy"].as_f64(),
        error_in: match (&kept["in_ranks"], &kept["in_counts"]) {
            (Json::Bool(true), _) => ErrorIn::Ranks,
            (_, Json::Bool(true)) => ErrorIn::Counts,
            _ => ErrorIn::Value,
        },
        left: left.collect::<Result<_>>()?,
    })
}

#[cfg(test)]
mod tests;
