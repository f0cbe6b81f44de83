//! Answers of a study that are charged to a budget in a ledger.

use std::path::Path;

use opendp_core::arith::shown;
use opendp_core::{Error, Result};
use opendp_ledger::{Account, Asker, Entry, Failure, Ledger, Loss, Release, Request};
use serde_json::{Map, Value as Json, json};

use super::planned::Planned;
use super::{CellType, Cells, Outcome, Study};

/// The budget to charge, and the facts that the ledger records about the answers of a study.
#[derive(Clone, Debug)]
pub struct Charge<'a> {
    ledger: &'a Ledger,
    budget: &'a str,
    id: &'a str,
    by: &'a str,
    file: Option<&'a Path>,
    source: Map<String, Json>,
}
impl<'a> Charge<'a> {
    /// Charge answers to a budget of a ledger, under an id. The same id gives the same answers, and
    /// is charged once.
    pub fn new(ledger: &'a Ledger, budget: &'a str, id: &'a str) -> Self {
        let source = Map::from_iter([("data".to_owned(), Json::Null)]);
        Charge { ledger, budget, id, by: "", file: None, source }
    }
    /// Set the person who asks, for the history of the budget.
    #[must_use]
    pub fn by(self, who: &'a str) -> Self {
        Charge { by: who, ..self }
    }
    /// State the file that contains the table. If the budget states the SHA-256 of its data, this
    /// file must have this SHA-256. If no file is stated, such a budget refuses the study. The id
    /// belongs to the path, as it is written here.
    ///
    /// # Errors
    /// `Argument` when the path is not UTF-8, because two such paths could have the same
    /// description.
    pub fn file(mut self, path: &'a Path) -> Result<Self> {
        let Some(text) = path.to_str() else {
            let reason = "the path is not UTF-8, so a budget cannot record it: rename the file";
            return Err(Error::argument("data", reason));
        };
        self.source.insert("data".into(), text.into());
        Ok(Charge { file: Some(path), ..self })
    }
    /// Add a fact about how the table is read, such as the separator of its cells. The id belongs
    /// to this fact, too.
    ///
    /// The ledger records the file as `data`, and its SHA-256 as `digest`. A fact does not replace
    /// them: a fact with one of these names is recorded as `fact data` or `fact digest`. A name
    /// that begins with `fact ` gets this prefix too, so that different names stay different.
    #[must_use]
    pub fn fact(mut self, name: &str, value: impl Into<Json>) -> Self {
        let reserved = matches!(name, "data" | "digest") || name.starts_with("fact ");
        let name = if reserved { format!("fact {name}") } else { name.to_owned() };
        self.source.insert(name, value.into());
        self
    }
}
/// The answers of a study, and their charge to a budget.
#[derive(Clone, Debug)]
pub struct Charged {
    /// The answers.
    pub outcome: Outcome,
    /// The release in the ledger: its entry, and whether the answers are the answers of an earlier
    /// call with the same id.
    pub release: Release,
    /// The rest of the budget.
    pub remaining: Loss,
}
/// A charge of a study that was checked, and that the budget admits.
#[derive(Clone, Debug)]
pub struct ChargeCheck {
    /// The loss that would be charged. If `repeated` is true, it was charged earlier, and nothing
    /// would be charged again.
    pub cost: Loss,
    /// The rest of the budget, before the charge.
    pub remaining: Loss,
    /// Whether the id already has the answers of this study.
    pub repeated: bool,
}

impl Study {
    /// Charge the budget of the study to a budget in a ledger, and answer the study as
    /// [`ask`](Study::ask) does. The answers are returned only after the charge and the answers are
    /// on the disk. If the id has earlier answers, return them without a new charge, and read
    /// nothing.
    ///
    /// The budget must state its unit, and this unit must be the unit of the study. A budget that
    /// composes tightly is charged for each release of the study separately, under two conditions:
    /// the budget of the study is an epsilon and a delta, and the document states the number of
    /// rows if it is public. Otherwise, the budget of the study is charged as one loss.
    ///
    /// `read` returns the cells of a column. If `read` returns a [`Failure::OfFile`], this failure
    /// must not depend on the cells. Any other failure of `read` may depend on the cells.
    ///
    /// ```
    /// use opendp_ledger::{Ledger, Loss, Terms, Unit};
    /// use opendp_study::{Cells, Charge, Study};
    /// use serde_json::json;
    ///
    /// # let failed = |e: std::io::Error| opendp_core::Error::FailedFunction(e.to_string());
    /// # let folder = tempfile::tempdir().map_err(failed)?;
    /// # let path = folder.path().join("study.ledger");
    /// let study = Study::parse(&json!({
    ///     "context": {
    ///         "unit": {"person": 1},
    ///         "budget": {"epsilon": 1},
    ///         "columns": {"age": {"T": "i64", "missing": "drop"}},
    ///     },
    ///     "questions": [{"count": {}}],
    /// }))?;
    /// let ledger = Ledger::open(&path)?;
    /// let terms = Terms::new().with_unit(Unit::new(json!("symmetric_distance"), 1)?);
    /// ledger.create_with("survey", &Loss::epsilon("3")?, &terms)?;
    ///
    /// let charge = Charge::new(&ledger, "survey", "first").by("Ada");
    /// let read = |_: &str, _| Ok(Cells::Integer(vec![Some(31); 1000]));
    /// let first = study.ask_charged(&charge, read, 0.05)?;
    /// assert_eq!(ledger.remaining("survey")?, Loss::epsilon("2")?);
    ///
    /// // The same id gives the same answers, in this process and in later processes.
    /// let again = study.ask_charged(&charge, read, 0.05)?;
    /// assert!(again.release.repeated());
    /// assert_eq!(again.outcome.to_json(), first.outcome.to_json());
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Nothing is charged after an error that does not depend on the records. Examples are the
    /// errors of [`rehearse`](Study::rehearse), a [`Failure::OfFile`], a wrong file, a budget
    /// without a unit or with another unit, and a refusal of [`Ledger::release`]. There is one
    /// exception: after a fault of the disk or of the connection of the ledger, it is unknown
    /// whether the charge was made. A retry with the same id never charges twice.
    ///
    /// If a failure may depend on the records or on the noise, it is charged and kept like answers,
    /// and the error is `Argument` without the cause. If such a failure were not charged, a user
    /// could test facts about the data without a charge. A panic of `read` is such a failure.
    pub fn ask_charged(
        &self,
        charge: &Charge<'_>,
        read: impl FnMut(&str, CellType) -> Result<Cells, Failure>,
        alpha: f64,
    ) -> Result<Charged> {
        let &Charge { ledger, budget, file, .. } = charge;
        let account = ledger.account(budget)?;
        let (request, planned) = self.request(charge, &account, alpha)?;
        let terms = &account.terms;
        let release = ledger.release_or_refuse(budget, &request, || {
            terms.guard_file(file, || {
                let outcome = self.try_answered(read, alpha)?;
                match planned.is_some() && Planned::of(&outcome) != planned {
                    true => Err(Failure::OfData(Error::FailedFunction(
                        "the releases cost another loss than was planned".into(),
                    ))),
                    false => Ok(outcome.to_json()),
                }
            })
        })?;
        let outcome = Outcome::parse(release.json())?;
        Ok(Charged { outcome, release, remaining: ledger.remaining(budget)? })
    }
    /// Check whether [`ask_charged`](Study::ask_charged) could charge the budget now. Read no data,
    /// and charge nothing.
    ///
    /// # Errors
    /// `BudgetExceeded` when too little is left of the budget. Further errors are the errors of
    /// [`ask_charged`](Study::ask_charged) that do not depend on the file of the table.
    pub fn check_charge(&self, charge: &Charge<'_>, alpha: f64) -> Result<ChargeCheck> {
        let account = charge.ledger.account(charge.budget)?;
        let (request, _) = self.request(charge, &account, alpha)?;
        let earlier = charge.ledger.check_request(charge.budget, &request)?;
        let cost = request.loss().clone();
        Ok(ChargeCheck { cost, remaining: account.remaining(), repeated: earlier.is_some() })
    }
    /// Make the request for a charge. If the budget composes tightly, also return the planned
    /// releases, if they are charged separately.
    fn request(
        &self,
        charge: &Charge<'_>,
        account: &Account,
        alpha: f64,
    ) -> Result<(Request, Option<Planned>)> {
        let &Charge { ledger, budget, id, by, ref source, .. } = charge;
        let terms = &account.terms;
        terms.check_size(self.rows, "document")?;
        let measurement = self.measurement(alpha)?;
        let d_in = measurement.input().metric().decode(&json!(self.unit.distance()))?;
        let mut whole = Request::new(id, &measurement, &d_in)?;
        if self.unit.size_is_public() {
            whole = whole.with_public_size();
        }
        let past = ledger.entry(budget, id)?;
        past.as_ref().map_or(Ok(()), |past| self.check_alpha(budget, past, alpha))?;
        let (request, planned) = match past {
            // The request states the loss of the earlier answers with this id.
            Some(past) => (whole.charging(past.loss), None),
            None => self.planned(whole, account, alpha)?,
        };
        let mut source = source.clone();
        if let Some(digest) = terms.digest() {
            source.insert("digest".into(), digest.into());
        }
        let pipeline = json!({"study": self.document, "alpha": alpha});
        Ok((request.by(by).pipeline(&pipeline).source(&Json::Object(source)), planned))
    }
    /// Check the questions without the data, so that wrong questions are not charged. If there is a
    /// plan, a budget that composes tightly is charged for each release separately. The plan does
    /// not depend on the data.
    fn planned(
        &self,
        whole: Request,
        account: &Account,
        alpha: f64,
    ) -> Result<(Request, Option<Planned>)> {
        let rehearsed = self.rehearsed(alpha)?;
        let public = self.unit.size_is_public().then_some(0);
        if self.questions.iter().all(|question| question.counts_public_rows(public).is_some()) {
            let reason = "all questions count the public number of rows, which costs nothing, so \
                          nothing is charged: add another question, or answer without a budget";
            return Err(Error::argument("questions", reason));
        }
        account.check_unit(Asker::Study, self.unit)?;
        let tight = account.filters().and(rehearsed);
        let Some(planned) = tight.and_then(|outcome| Planned::of(&outcome)) else {
            return Ok((whole, None));
        };
        let loss = planned.loss(whole.loss(), account)?;
        Ok((whole.charging(loss), Some(planned)))
    }
    /// Check that earlier answers of this study with the same id have the same `alpha`. Without
    /// this check, the error of the ledger would not name `alpha`.
    fn check_alpha(&self, budget: &str, past: &Entry, stated: f64) -> Result<()> {
        let asked: Json = serde_json::from_str(&past.pipeline).unwrap_or_default();
        match asked["alpha"].as_f64() {
            Some(past_alpha) if past_alpha != stated && asked["study"] == self.document => {
                let alpha = shown(past_alpha);
                let reason = format!(
                    "budget `{budget}` already has the answers `{}` of this study with alpha \
                     {alpha}: state this probability again (`--alpha {alpha}`), or use another id",
                    past.id
                );
                Err(Error::argument("alpha", reason))
            }
            _ => Ok(()),
        }
    }
}
impl Charged {
    /// Describe the charge as JSON: the budget, the id, the charged loss, and the rest of the
    /// budget.
    pub fn charge_to_json(&self) -> Json {
        self.release.charge_to_json(&self.remaining)
    }
}
