//! Questions: their costs, the accuracy of their answers, and their release.

use opendp_core::arith::Exact as Amount;
use opendp_core::{Error, Result};
use opendp_ledger::{Loss, Notion};
use opendp_report::{Account, Spent};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::answer::{Answer, Named, Shown, instead, printable, value_table};
use crate::budget::{Budget, Composition, share, tight_share};
use crate::check::{Checked, Output};
use crate::columns::columns;
use crate::mechanisms::{Choice, Kind, Mechanisms, mechanisms};
use crate::metadata::check_weight;
use crate::released::Noisy;
use crate::{Dialect, Session};

mod explanation;
mod release;
mod steps;

pub use explanation::{Explained, Explanation};

/// A checked question. Nothing is spent before [`release`](Question::release).
#[derive(Debug)]
pub struct Question<'a> {
    session: &'a Session,
    text: String,
    checked: Checked,
    spending: Option<Budget>,
    mechanism: Option<String>,
    noise: Kind,
    id: Option<String>,
    by: String,
}
impl<'a> Question<'a> {
    pub(crate) fn new(session: &'a Session, text: &str, checked: Checked) -> Self {
        let (spending, mechanism, id) = (None, None, None);
        let (text, by) = (text.to_owned(), String::new());
        let noise = Kind::default();
        Question { session, text, checked, spending, mechanism, noise, id, by }
    }
    /// State the largest cost of the question. The default is an equal share of the budget. The
    /// number `queries` in the metadata states the number of shares.
    #[must_use]
    pub fn spending(self, budget: Budget) -> Self {
        Question { spending: Some(budget), ..self }
    }
    /// Name a constructor of the registry for the noise of sums, instead of the default
    /// constructor. The constructor takes the arguments `input` and `scale`. The privacy map of the
    /// mechanism computes the cost.
    #[must_use]
    pub fn mechanism(self, name: &str) -> Self {
        Question { mechanism: Some(name.into()), ..self }
    }
    /// Choose the kind of the noise. The default is [`NoiseKind::Best`](crate::NoiseKind::Best),
    /// which states how the kind is chosen. If the metadata state `composition = "tight"` for the
    /// budget, `NoiseKind::Best` means Laplace noise.
    #[must_use]
    pub fn noise(self, noise: Kind) -> Self {
        Question { noise, ..self }
    }
    /// State the weight of an aggregate. The aggregates of the question share its loss in
    /// proportion to their weights. `name` is the name of the aggregate, such as `count(*)`, or its
    /// name in the answer. The default is the weight in the query. If the query states no weight,
    /// the default is the weight of the aggregated column in the metadata. If the metadata state no
    /// weight either, the default is 1.
    ///
    /// # Errors
    /// `NotFound` when no aggregate has this name. `Argument` when the weight is not a number from
    /// 1e-6 to 1e6.
    pub fn weight(mut self, name: &str, weight: f64) -> Result<Self> {
        check_weight(weight)?;
        let places = self.places(name)?;
        for place in places {
            if let Some(stored) = self.checked.weights.get_mut(place) {
                *stored = weight;
            }
        }
        Ok(self)
    }
    /// State a weight by a text that contains the name and the number, such as `mean=2`. The name
    /// can contain `=`.
    ///
    /// # Errors
    /// `Argument` when the text does not have this form. Further errors are the errors of
    /// [`weight`](Question::weight).
    pub fn weight_in(self, text: &str) -> Result<Self> {
        let parts = text.rsplit_once('=');
        let read =
            parts.and_then(|(name, weight)| Some((name.trim(), weight.trim().parse().ok()?)));
        let (name, weight) = read.ok_or_else(|| {
            let reason = format!("expected a name and a number, as in `mean=2`, found `{text}`");
            Error::argument("weight", reason)
        })?;
        self.weight(name, weight)
    }
    /// Return the positions of the aggregates with this name. If there are none, find the column of
    /// the answer with this name. Return the positions of the aggregates on which this column
    /// depends.
    fn places(&self, name: &str) -> Result<Vec<usize>> {
        let names = self.names()?;
        let of_aggregates = names.iter().zip(0..).filter(|(known, _)| *known == name);
        let mut places: Vec<usize> = of_aggregates.map(|(_, place)| place).collect();
        if places.is_empty() {
            places = crate::check::named(&self.checked.query, name)?;
        }
        if places.is_empty() {
            Err(Error::NotFound(format!(
                "weight: no aggregate has the name `{name}`; the aggregates are {}",
                names.join(", ")
            )))
        } else {
            Ok(places)
        }
    }
    /// Give the release an id. If the session has a ledger, and the question is repeated with this
    /// id, the answer is the first release, and nothing is charged.
    #[must_use]
    pub fn id(self, id: &str) -> Self {
        Question { id: Some(id.into()), ..self }
    }
    /// State the name of the person who asks, for the ledger.
    #[must_use]
    pub fn by(self, who: &str) -> Self {
        Question { by: who.into(), ..self }
    }
    /// Return the SHA-256 of the exact plan. Equal plans have equal digests.
    pub fn digest(&self) -> String {
        let statements = self.checked.plan.statements(Dialect::DataFusion);
        let mut hash = Sha256::new();
        for statement in statements.sums.iter().chain(&statements.buckets) {
            hash.update(statement.as_bytes());
            hash.update([0]);
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
    /// Find the noise of the question and the cost of this noise.
    fn mechanisms(&self) -> Result<Mechanisms> {
        let tight = self.session.account.composition() == Composition::Tight;
        let noise = match self.noise {
            // A budget that composes tightly charges the loss of each Laplace noise separately. In
            // contrast, it charges one joint loss for all Gaussian noise of a query. Tight
            // composition helps only with many separate losses. So `Best` means Laplace noise here.
            Kind::Best if tight => Kind::Laplace,
            noise => noise,
        };
        mechanisms(&self.checked, self.mechanism.as_deref(), noise, &self.amount()?)
    }
    /// Return the largest cost of the question.
    fn amount(&self) -> Result<Loss> {
        let account = &self.session.account;
        if let Some(budget) = &self.spending {
            let amount = budget.amount();
            let charged = amount.within(account.notion()).map_err(|error| error.at("spending"))?;
            // If the question states an epsilon and the budget is a rho, find the noise for the
            // epsilon. Gaussian noise for the charged rho would have no pure epsilon.
            let as_stated =
                (amount.notion(), account.notion()) == (Notion::Pure, Notion::Concentrated);
            return Ok(if as_stated { amount.clone() } else { charged });
        }
        let Some(queries) = self.session.metadata.queries.filter(|queries| *queries > 0) else {
            let reason = "the question does not state how much it may cost.\n\
                          State the cost, as in `--epsilon 0.5`, or `queries` in the metadata.";
            return Err(Error::argument("spending", reason));
        };
        let whole = Budget::read(&self.session.metadata.budget)?;
        match account.composition() {
            Composition::Sum => share(whole.amount(), queries),
            Composition::Tight => {
                let keys = &self.checked.plan.keys;
                let private = keys.iter().any(|key| key.public.is_none());
                let with_delta = private || self.noise == Kind::Gaussian;
                tight_share(whole.amount(), queries, with_delta)
            }
        }
    }
    /// Return the cost of the question and the accuracy of the answer. This function reads no data
    /// and spends nothing.
    ///
    /// # Errors
    /// `Argument` when neither the question nor the metadata state the largest cost.
    /// `MeasureMismatch` when this cost cannot be bounded in the measure of the budget. Further
    /// errors are the errors of the search for the noise. The remaining budget is not checked.
    pub fn explain(&self) -> Result<Explanation> {
        explanation::explain(self, &self.mechanisms()?)
    }
    pub(crate) fn answer(&self, mechanisms: &Mechanisms, noisy: &Noisy) -> Result<Answer> {
        let columns = columns(&self.checked, mechanisms, noisy)?;
        let plan = &self.checked.plan;
        let table = self.post_processed(noisy, &columns);
        // A table that cannot be printed counts as the failure of a step after the release.
        let table = table.and_then(printable);
        let notion = mechanisms.loss.notion();
        let named = self.names()?.into_iter().zip(columns).zip(&self.checked.outputs);
        let named: Vec<Named> = named
            .map(|((name, column), output)| {
                let loss = loss_of(mechanisms, output);
                let rounded = loss.iter().map(Amount::to_f64_up).collect();
                (name, column, rounded)
            })
            .collect();
        let values = value_table(plan, noisy, &named, notion.parts())?;
        let mut document = self.document(mechanisms, noisy)?;
        let table = table.unwrap_or_else(|error| {
            document["warning"] = instead(&error).into();
            values.clone()
        });
        let cells = named.iter().flat_map(|(_, column, _)| &column.cells);
        let shown = Shown {
            keys: plan.keys.len(),
            titles: crate::check::titles(&self.checked.query, &self.names()?)?,
            vague: cells.map(|cell| cell.vague).collect(),
            limits: explanation::limits(plan),
            accounts: self.accounts(mechanisms)?,
            tight: self.session.account.composition() == Composition::Tight,
        };
        Ok(Answer { table, values, document, shown })
    }
    /// Return the spent and the remaining amount for each part of the budget.
    fn accounts(&self, mechanisms: &Mechanisms) -> Result<Vec<Account>> {
        let (whole, left) =
            (Budget::read(&self.session.metadata.budget)?, self.session.remaining()?);
        // The loss of a question and the budget can have different measures. So show the loss that
        // is charged, in the measure of the budget.
        let loss = mechanisms.loss.within(self.session.account.notion())?;
        let number = |parts: &[Amount], place: usize, float: fn(&Amount) -> f64| {
            parts.get(place).map_or(0.0, float)
        };
        let part = |(place, part): (usize, &&str)| {
            let amount = number(loss.parts(), place, Amount::to_f64_up);
            Account {
                part: (*part).to_owned(),
                whole: number(whole.amount().parts(), place, Amount::to_f64_up),
                left: number(left.parts(), place, Amount::to_f64_down),
                spent: vec![Spent { what: "this question".into(), amount }],
            }
        };
        Ok(loss.notion().parts().iter().enumerate().map(part).collect())
    }
    /// Return the names of the aggregates as they are written in SQL. The engine changes the name
    /// of `COUNT(*)` to `count(Int64(1))`, so this function changes it back.
    fn names(&self) -> Result<Vec<String>> {
        let schema = crate::check::aggregate_schema(&self.checked.query)?;
        let fields = schema.fields().iter().skip(self.checked.plan.keys.len());
        Ok(fields.map(|field| field.name().replace("count(Int64(1))", "count(*)")).collect())
    }
    fn document(&self, mechanisms: &Mechanisms, noisy: &Noisy) -> Result<Json> {
        let explained = explanation::explain(self, mechanisms)?;
        let mut notes = vec![format!("uses {}", explained.contribution)];
        notes.extend(explanation::other_notes(self, mechanisms));
        notes.extend(explanation::scale_notes(self, &self.names()?));
        Ok(json!({
            "format": "opendp-tables release",
            "version": 1,
            "query": self.text,
            "plan": {
                "sha256": self.digest(),
                "statements": explained.statements,
                "engine": self.session.engine.name(),
            },
            "metadata": self.session.metadata,
            "loss": mechanisms.loss.to_json(),
            "loss_up": explanation::rounded_up(&mechanisms.loss),
            "contribution": explained.contribution,
            "notes": notes,
            "releases": explained.releases,
            "left": self.session.remaining()?.to_json(),
            "versions": {
                "opendp-tables": env!("CARGO_PKG_VERSION"),
                "datafusion": datafusion::DATAFUSION_VERSION,
            },
            "noisy": serde_json::to_value(noisy).map_err(|_| unreadable())?,
        }))
    }
}
/// Return the loss of all noise that an aggregate depends on.
fn loss_of(mechanisms: &Mechanisms, output: &Output) -> Vec<Amount> {
    let sum_loss = |sum: &usize| match (&mechanisms.selection, mechanisms.sums.get(*sum)) {
        (Some(selection), _) if selection.sum == *sum => Some(&selection.noise.loss),
        (_, Some(Some(noise))) => Some(&noise.loss),
        _ => None,
    };
    let of_choice = |wanted: (usize, (u64, u64))| {
        let same = move |choice: &&Choice| (choice.buckets, choice.alpha) == wanted;
        mechanisms.choices.iter().find(same).map(|choice| &choice.noise.loss)
    };
    let of_sums = output.sums().into_iter().filter_map(|sum| sum_loss(&sum));
    let losses: Vec<&Loss> = of_sums.chain(output.choice().and_then(of_choice)).collect();
    let zero = vec![Amount::ZERO; mechanisms.loss.parts().len()];
    losses
        .iter()
        .fold(zero, |sum, loss| sum.iter().zip(loss.parts()).map(|(a, b)| a.plus_term(b)).collect())
}
fn unreadable() -> Error {
    Error::FailedFunction("the release cannot be written down".into())
}
