//! The release of a question: the budget is charged, and the exact plan runs.

use opendp_core::random::{NoEntropy, RandomSource, with_secure};
use opendp_core::{Error, Result};
use opendp_ledger::{Loss, Request};
use serde_json::{Value as Json, json};

use super::{Question, unreadable};
use crate::answer::Answer;
use crate::budget::Composition;
use crate::engine::{failed, undecoded, without_data};
use crate::mechanisms::Mechanisms;
use crate::released::{Exact, Noisy, noisy};
use crate::sql::quoted;

impl Question<'_> {
    /// Charge the loss of the question, run the exact plan, add noise, and return the answer. A
    /// budget in memory is charged before the exact plan runs. A ledger is charged after the noise
    /// is added, and before the answer is returned.
    ///
    /// # Errors
    /// The errors of [`explain`](Question::explain). `BudgetExceeded` when too little is left of
    /// the budget. If the rest of the budget is already too small when the call begins, the exact
    /// plan is not run. `Argument` when the id belongs to another question, when a key occurs twice
    /// in a public table, or when the steps after the release fail on made-up numbers. These steps
    /// are HAVING, ORDER BY, LIMIT and expressions.
    ///
    /// `Argument` when the private table does not have its stated number of rows. After this error,
    /// a ledger has no charge, because the number of rows is public.
    ///
    /// `FailedFunction` when the engine fails. After such a failure, a ledger has no charge, but a
    /// charge to a budget in memory stays. `Argument` when the engine in this process cannot decode
    /// a record. This error depends on the data, so the loss of the question is charged, even in a
    /// ledger. The ledger keeps the refusal under the id of the question.
    ///
    /// If the steps after the release fail on the released numbers, the call returns no error,
    /// because the loss is already charged. Then the field `table` of the answer is a copy of the
    /// field `values`, and the document has a `warning`.
    pub fn release(self) -> Result<Answer> {
        self.release_with(|_| ())
    }
    /// Release the question as [`release`](Question::release) does. Call `warn` before the exact
    /// plan runs and before anything is charged. `warn` gets the warnings about the loss. The list
    /// is empty if the loss gives enough protection. If a ledger returns an earlier release, `warn`
    /// is not called, because nothing is charged.
    ///
    /// # Errors
    /// The errors of [`release`](Question::release).
    pub fn release_with(self, warn: impl FnOnce(&[String])) -> Result<Answer> {
        let mechanisms = self.mechanisms()?;
        let id = self.id.clone().map_or_else(|| self.usual_id(), Ok)?;
        let tables = self.checked.plan.branches.iter().flat_map(|branch| {
            let joined = branch.joins.iter().map(|join| &join.table);
            std::iter::once(&branch.table).chain(joined)
        });
        let source: Json = tables.map(|table| self.session.source(table)).collect();
        let loss = match self.session.account.composition() {
            Composition::Sum => mechanisms.loss.clone(),
            Composition::Tight => Loss::together(mechanisms.losses.clone())?,
        };
        let request = Request::of_loss(&id, loss)
            .by(&self.by)
            .pipeline(
                &json!({"query": self.text, "plan": self.digest(), "noise": scales(&mechanisms)}),
            )
            .source(&source);
        let check = || {
            self.rehearse(&mechanisms)?;
            self.check_public_keys()?;
            warn(&self.session.metadata.cautions(&mechanisms.loss));
            Ok(())
        };
        let (text, repeated) = self.session.account.release(&request, check, || {
            let run = || Exact::run(&self.checked.plan, &*self.session.engine, &seed()?);
            let exact = self.check_rows().and_then(|()| run());
            if exact.as_ref().is_err_and(|error| *error == undecoded()) {
                return Ok(REFUSAL.to_owned());
            }
            let noisy = noisy(&self.checked.plan, &mechanisms, &exact?)?;
            serde_json::to_string(&noisy).map_err(|_| unreadable())
        })?;
        if text == REFUSAL {
            return Err(Error::argument("data", REFUSED));
        }
        let noisy: Noisy = serde_json::from_str(&text).map_err(|_| unreadable())?;
        let mut answer = self.answer(&mechanisms, &noisy)?;
        answer.document["repeated"] = repeated.into();
        Ok(answer)
    }
    /// Check that no key occurs twice in a public table, because a join by such a key would
    /// multiply private rows.
    fn check_public_keys(&self) -> Result<()> {
        for join in self.checked.plan.branches.iter().flat_map(|branch| &branch.joins) {
            let (key, table) = (quoted(&join.key.0), quoted(&join.table));
            let rows = self.session.engine.run(&format!(
                "SELECT CAST(COUNT({key}) AS VARCHAR), CAST(COUNT(DISTINCT {key}) AS VARCHAR) \
                 FROM {table}"
            ))?;
            match rows.as_slice() {
                [row] if matches!(row.as_slice(), [Some(all), Some(unique)] if all == unique) => {}
                _ => {
                    return Err(Error::argument(
                        "key",
                        format!(
                            "public table `{}` has a value of `{}` twice.\n\
                         A join would multiply private rows: keep one row for each key.",
                            join.table, join.key.0
                        ),
                    ));
                }
            }
        }
        Ok(())
    }
    /// If the private table states its number of rows, compare this number with the data. The
    /// number is public, so the comparison reveals nothing. The stated number is the number of rows
    /// of the whole table, so joins and conditions do not change it.
    fn check_rows(&self) -> Result<()> {
        let name = self.checked.plan.branches.first().map(|branch| &branch.table);
        let table = name.and_then(|name| self.session.metadata.tables.get_key_value(name));
        let Some((name, rows)) = table.and_then(|(name, table)| Some((name, table.rows?))) else {
            return Ok(());
        };
        let statement = format!("SELECT CAST(COUNT(*) AS VARCHAR) FROM {}", quoted(name));
        let found = self.session.engine.run(&statement).map_err(without_data)?;
        let count = found.first().and_then(|row| row.first()?.as_ref()?.parse::<u64>().ok());
        if count.ok_or_else(failed)? == rows {
            return Ok(());
        }
        let reason = format!(
            "the data do not have the stated number of rows, {rows}: correct one of them. Nothing \
             is released, and a ledger charges nothing"
        );
        Err(Error::argument("rows", reason).at(format!("table `{name}`")))
    }
    /// Return an id that no other release has. A question without an id gets the returned id, so a
    /// repeated question without an id is a new release.
    fn usual_id(&self) -> Result<String> {
        Ok(format!("sql {:.16} {}", self.digest(), seed()?))
    }
}
/// Return the scales of all noise of the question, for the ledger.
fn scales(mechanisms: &Mechanisms) -> Json {
    let sums = mechanisms.sums.iter().flatten().map(|noise| (&noise.request, noise.scale));
    let choices = mechanisms.choices.iter().map(|choice| &choice.noise);
    let choices = choices.map(|noise| (&noise.request, noise.scale));
    let selection = mechanisms.selection.iter().map(|selection| &selection.noise);
    let all = sums.chain(choices).chain(selection.map(|noise| (&noise.request, noise.scale)));
    all.map(|(request, scale)| json!([request, scale])).collect()
}
/// The text that ledgers store for records that cannot be decoded. The text is part of the file
/// format, so do not change it.
const REFUSAL: &str = "{\"refused\": \"the records cannot be decoded\"}";
const REFUSED: &str = "the records cannot be decoded: a line has a wrong number of cells, a quote \
                       of a CSV file is not closed or is escaped by a backslash, a text is not \
                       UTF-8, or the file is damaged. The budget is charged as for a release, \
                       and a ledger keeps this answer. Write the file again, and use another id";
/// Draw a seed of 128 bits. If an id has more rows than the limits allow, the exact plan keeps only
/// some of these rows. This seed determines which rows it keeps.
fn seed() -> Result<String> {
    let words = with_secure(|source| Ok::<_, NoEntropy>([source.word()?, source.word()?]));
    let [a, b] = words.map_err(|_| Error::NoEntropy)?;
    Ok(format!("{a:016x}{b:016x}"))
}
