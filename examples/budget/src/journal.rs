//! A journal of losses, in a ledger that remains after the process ends.

use std::path::Path;

use opendp_analysis::context::{Entry, ErrorIn, Journal};
use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use opendp_ledger::{Ledger, Loss, Notion, Request, Terms};
use serde_json::{Value as Json, json};

/// The name of the budget in the ledger.
const BUDGET: &str = "survey";

/// A ledger that stores each question before its noise is drawn.
#[derive(Debug)]
pub(crate) struct Kept(Ledger);
impl Kept {
    /// Open a ledger, and create its budget if it does not exist.
    ///
    /// # Errors
    /// `Argument` when the existing budget differs; the errors of [`Ledger::open`].
    pub(crate) fn open(path: &Path, epsilon: f64, delta: f64) -> Result<Self> {
        let ledger = Ledger::open(path)?;
        let total = Loss::epsilon_delta(&epsilon.to_string(), &delta.to_string())?;
        if ledger.accounts()?.iter().all(|account| account.name != BUDGET) {
            ledger.create_tight(BUDGET, &total, &Terms::new())?;
        }
        let kept = ledger.account(BUDGET)?.total;
        if kept != total {
            let reason = format!("its budget is {kept}, and {total} was asked for");
            return Err(Error::argument("ledger", reason));
        }
        Ok(Kept(ledger))
    }
    /// Return the releases of earlier runs, in order.
    ///
    /// # Errors
    /// `FailedFunction` when the ledger is damaged.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>> {
        let history = self.0.history(BUDGET)?;
        history.iter().map(|kept| read(&kept.release, kept.loss.parts())).collect()
    }
}
impl Journal for Kept {
    fn record(&self, entry: &Entry) -> Result<()> {
        if entry.reserved.is_some() {
            return Err(Error::NotImplemented(
                "a plan reserves the whole budget, which the ledger does not record: ask the \
                 questions one by one"
                    .into(),
            ));
        }
        let mut loss = Loss::exact(Notion::Approximate, entry.loss.clone())?;
        if let Some(mu_squared) = &entry.mu_squared {
            loss = loss.with_mu_squared(mu_squared.clone())?;
            if let Some(rho) = &entry.rho {
                loss = loss.with_rho(rho.clone())?;
            }
        }
        let mut number = self.0.history(BUDGET)?.len();
        loop {
            number += 1;
            let id = format!("question {number}");
            let request = Request::of_loss(&id, loss.clone()).by("budget");
            match self.0.release(BUDGET, &request, || Ok(write(entry))) {
                Ok(release) if !release.repeated() => return Ok(()),
                // Another process has already used this number of a question.
                Ok(_) => {}
                Err(error) if error.kind() == "Argument" => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Write the facts about a question that the ledger keeps. The ledger does not contain the answer,
/// because noise is drawn afterwards.
fn write(entry: &Entry) -> String {
    let left: Vec<String> = entry.left.iter().map(Exact::to_string).collect();
    json!({
        "query": entry.query,
        "mechanism": entry.mechanism,
        "scale": entry.scale,
        "mu_squared": entry.mu_squared.as_ref().map(Exact::to_string),
        "rho": entry.rho.as_ref().map(Exact::to_string),
        "threshold": entry.threshold,
        "reserved": entry.reserved.as_ref().map(|parts| parts.each_ref().map(Exact::to_string)),
        "accuracy": entry.accuracy,
        "in_ranks": entry.error_in == ErrorIn::Ranks,
        "in_counts": entry.error_in == ErrorIn::Counts,
        "left": left,
    })
    .to_string()
}
fn read(kept: &str, loss: &[Exact]) -> Result<Entry> {
    let damaged = || Error::argument("ledger", "an entry is not one of this program");
    let text: String = serde_json::from_str(kept).map_err(|_| damaged())?;
    let kept: Json = serde_json::from_str(&text).map_err(|_| damaged())?;
    let word = |name: &str| kept[name].as_str().map(str::to_owned).ok_or_else(damaged);
    let left = kept["left"].as_array().ok_or_else(damaged)?;
    let left = left.iter().map(|part| part.as_str().ok_or_else(damaged)?.parse());
    Ok(Entry {
        query: word("query")?,
        mechanism: word("mechanism")?,
        scale: kept["scale"].as_f64().ok_or_else(damaged)?,
        threshold: kept["threshold"].as_f64(),
        loss: loss.to_vec(),
        mu_squared: kept["mu_squared"].as_str().map(str::parse).transpose()?,
        // Entries of older versions have no `rho`.
        rho: kept["rho"].as_str().map(str::parse).transpose()?,
        reserved: match (kept["reserved"][0].as_str(), kept["reserved"][1].as_str()) {
            (Some(pure), Some(deltas)) => Some([pure.parse()?, deltas.parse()?]),
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
mod tests {
    use super::*;
    use crate::{survey, workers};

    #[test]
    fn a_budget_that_was_spent_stays_spent_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.ledger");
        let table = workers::generate(2_000, 1).unwrap();
        let life = || survey::open_with(table.clone(), 1.0, 1e-6, Kept::open(&path, 1.0, 1e-6)?);
        let first = life().unwrap();
        survey::ask(&first).unwrap();
        let spent = first.report().exact_total().to_vec();
        let second = life().unwrap();
        assert_eq!(second.report().entries().len(), survey::QUESTIONS);
        assert_eq!(second.report().exact_total(), spent);
        assert_eq!(second.report().to_json(), first.report().to_json());
        assert_eq!(survey::ask(&second).unwrap_err().kind(), "BudgetExceeded");
        assert_eq!(Kept::open(&path, 2.0, 1e-6).unwrap_err().kind(), "Argument");
    }
}
