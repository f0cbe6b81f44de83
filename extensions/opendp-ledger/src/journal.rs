//! A journal of a context. A ledger keeps it, so it still exists after the process ends.

mod entry;

use std::sync::Arc;

use opendp_analysis::context::{self, Accounted, Entry, Journal};
use opendp_analysis::{Context, PrivacyUnit};
use opendp_core::{Error, Metric, Result, SymmetricDistance};
use serde_json::json;

use crate::ledger::{MOST_CHARACTERS, check_text};
use crate::units::Asker;
use crate::{Account, Ledger, Loss, Notion, Request, Terms, Unit};
use entry::{read, write};

/// The beginning of the id of a plan in a ledger. The id of the plan follows.
const PLAN: &str = "plan ";

/// The releases of a [`Context`], in a budget of a ledger.
///
/// Before the noise of a release is drawn, the ledger charges the release and stores its
/// [entry](Entry). So a budget that was spent stays spent: a later process continues with the same
/// account. The ledger does not store the answers, so no answer is returned twice. If the process
/// ends between the charge and the answer, the charge stays and there is no answer.
///
/// ```
/// use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
/// use opendp_ledger::{ContextJournal, Ledger};
///
/// # let failed = |e: std::io::Error| opendp_core::Error::FailedFunction(e.to_string());
/// # let folder = tempfile::tempdir().map_err(failed)?;
/// # let path = folder.path().join("study.ledger");
/// let process = || {
///     let table = Table::new().with("age", (0..1000).map(|i| i % 90).collect::<Vec<i64>>())?;
///     let budget = Budget::epsilon_delta(1.0, 1e-6)?;
///     let context = Context::new(table, PrivacyUnit::person(1)?, budget, Split::evenly(2)?)?;
///     let ledger = Ledger::open(&path)?;
///     ContextJournal::open_or_create(ledger, "survey", &context)?.by("Ada").attach(context)
/// };
/// let first = process()?;
/// first.query().count().laplace()?.release()?;
///
/// // A later process continues: one of the two questions is left.
/// let second = process()?;
/// assert_eq!(second.report().entries().len(), 1);
/// second.query().count().laplace()?.release()?;
/// assert_eq!(process()?.query().count().laplace().unwrap_err().kind(), "BudgetExceeded");
/// # Ok::<(), opendp_core::Error>(())
/// ```
///
/// # Several processes
/// A context learns of the releases of other processes only in [`attach`](ContextJournal::attach).
/// Later releases of other processes are charged to the same budget. So the ledger can refuse a
/// release that the context would admit. Then nothing is run.
///
/// # Plans and shares
/// A plan is one entry of the ledger: either all its releases are charged, or none. A plan with an
/// [id](opendp_analysis::context::Plan::with_id) is charged once, by all processes together. With
/// [`Split::by_kinds`](opendp_analysis::Split::by_kinds), the ledger charges each release alone. So
/// the ledger can refuse a release that the shares would admit.
#[derive(Debug)]
pub struct ContextJournal {
    ledger: Arc<Ledger>,
    budget: String,
    by: String,
    notion: Notion,
}
impl ContextJournal {
    /// Open the journal in a budget of a ledger.
    ///
    /// # Errors
    /// The errors of [`Ledger::account`]. `Argument` when the budget states no unit, or when the
    /// budget states the SHA-256 of a file: the table of a context is in no file.
    pub fn open(ledger: impl Into<Arc<Ledger>>, budget: &str) -> Result<Self> {
        let ledger = ledger.into();
        let account = ledger.account(budget)?;
        account.terms.check_file(None)?;
        account.stated_unit(Asker::Context)?;
        let (notion, budget) = (account.total.notion(), account.name);
        Ok(ContextJournal { ledger, budget, by: String::new(), notion })
    }
    /// Open the journal in a budget of a ledger. If the ledger has no such budget, first
    /// [create](Ledger::create_for) the budget for this context. A wrong name makes a new budget,
    /// so prefer [`open`](ContextJournal::open) if the budget must exist already.
    ///
    /// # Errors
    /// The errors of [`open`](ContextJournal::open) and of [`Ledger::create_for`].
    pub fn open_or_create<MO: Accounted + crate::Accounted>(
        ledger: impl Into<Arc<Ledger>>,
        budget: &str,
        context: &Context<MO>,
    ) -> Result<Self> {
        let ledger = ledger.into();
        if let Err(Error::NotFound(_)) = ledger.account(budget) {
            match ledger.create_for(budget, context) {
                // Another process has created the budget in the meantime.
                Err(_) if ledger.account(budget).is_ok() => {}
                created => created?,
            }
        }
        ContextJournal::open(ledger, budget)
    }
    /// Set the person who asks, for the history of the budget.
    #[must_use]
    pub fn by(mut self, who: &str) -> Self {
        self.by = who.into();
        self
    }
    /// Return the releases of earlier processes, in order.
    ///
    /// # Errors
    /// The errors of [`Ledger::history`]. `Argument` when another program, such as the command
    /// `opendp ask`, charged the budget.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let history = self.ledger.history(&self.budget)?;
        // A call of `settle_clock` is no release.
        let releases = history.iter().filter(|kept| !kept.is_settled_clock());
        let entries = releases.map(|kept| {
            read(&kept.release).ok_or_else(|| {
                let reason = format!(
                    "release `{}` of budget `{}` is no release of a context, so a context cannot \
                     continue this budget: use another budget",
                    kept.id, self.budget
                );
                Error::argument("budget", reason)
            })
        });
        Ok(entries.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
    /// Charge the context for all earlier releases of the budget, and record all its later releases
    /// in the budget. The context must not have released anything yet.
    ///
    /// # Errors
    /// `Argument` when the budget and the context have different measures, amounts, units or public
    /// numbers of rows. `Argument` also when the context composes tightly and the budget does not,
    /// or when the context has released something. Further errors are the errors of
    /// [`entries`](ContextJournal::entries) and of [`Context::carry_over`].
    pub fn attach<MO: Accounted + crate::Accounted>(
        self,
        context: Context<MO>,
    ) -> Result<Context<MO>> {
        let account = self.ledger.account(&self.budget)?;
        check_terms(&account, &context)?;
        if !context.report().entries().is_empty() {
            let reason = "the context has released answers that no ledger has recorded: attach the \
                          journal before the first release";
            return Err(Error::argument("context", reason));
        }
        for entry in self.entries()? {
            context.carry_over(entry)?;
        }
        Ok(context.with_journal(self))
    }
    /// Charge one or several releases, in one entry of the ledger.
    fn charge(&self, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let account = self.ledger.account(&self.budget)?;
        let loss = self.loss(&account, entries)?;
        let kept = match entries {
            [only] => write(only),
            all => all.iter().map(write).collect(),
        };
        let release = |id: &str| {
            let request = Request::of_loss(id, loss.clone()).by(&self.by);
            let unit = entries.first().map(|entry| entry.unit);
            let request = unit.map_or(request.clone(), |unit| request.protecting(unit));
            // The facts about a release do not depend on its answer, so they need no spare text.
            let (_, repeated) =
                self.ledger.kept(&self.budget, &request, || Ok(kept.to_string()), None)?;
            Ok::<bool, Error>(repeated)
        };
        // The ledger charges each id once. So it charges a plan with an id once.
        if let Some(plan) = entries.first().and_then(|entry| entry.plan.as_deref()) {
            let id = format!("{PLAN}{plan}");
            check_text("plan", &id).map_err(|_| {
                let longest = MOST_CHARACTERS - PLAN.len();
                let reason = format!(
                    "expected an id of at most {longest} characters, without the character NUL"
                );
                Error::argument("plan", reason)
            })?;
            return match release(&id)? {
                false => Ok(()),
                true => Err(Error::argument("plan", format!("plan `{plan}` was charged before"))),
            };
        }
        let mut number = account.releases;
        loop {
            number += 1;
            let id = format!("question {number}");
            match release(&id) {
                Ok(false) => return Ok(()),
                // Another process has already charged a question with this number. If the losses of
                // the two questions are equal, the ledger repeats the earlier release. Otherwise,
                // the ledger refuses the id. In both cases, try the next number. After any other
                // error, such as a fault of the disk, do not try the next number, because this
                // question may have been charged.
                Ok(true) => {}
                Err(Error::Argument { argument, .. })
                    if argument == "id" && self.ledger.entry(&self.budget, &id)?.is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }
    fn loss(&self, account: &Account, entries: &[Entry]) -> Result<Loss> {
        let losses = entries.iter().map(|entry| Loss::of_entry(self.notion, entry));
        let losses = losses.collect::<Result<Vec<_>>>()?;
        if self.notion != Notion::Approximate {
            return Ok(losses.iter().fold(Loss::zero(self.notion), |sum, loss| sum.plus(loss)));
        }
        let loss = Loss::together(losses)?;
        // A plan reserves an epsilon and a delta, or divides the budget into shares. Its first
        // entry states the reserve or the shares. With `Split::by_kinds`, the first entry states
        // the shares of all later releases, too. The ledger then charges each release alone.
        match entries.first().map(|first| (&first.reserved, &first.shares)) {
            Some((_, Some(shares))) if shares.len() == entries.len() => {
                loss.sharing(&account.total, shares)
            }
            Some((Some([pure, deltas]), None)) => loss.reserving(&account.total, pure, deltas),
            _ => Ok(loss),
        }
    }
}
impl Journal for ContextJournal {
    fn record(&self, entry: &Entry) -> Result<()> {
        self.charge(std::slice::from_ref(entry))
    }
    fn record_plan(&self, entries: &[Entry]) -> Result<()> {
        self.charge(entries)
    }
}
impl Ledger {
    /// Create a budget with the amount and the unit of a context. A budget of an epsilon and a
    /// delta composes tightly, as the context does.
    ///
    /// # Errors
    /// The errors of [`create_with`](Ledger::create_with) and
    /// [`create_tight`](Ledger::create_tight).
    pub fn create_for<MO: Accounted + crate::Accounted>(
        &self,
        name: &str,
        context: &Context<MO>,
    ) -> Result<()> {
        let (total, terms) = (total_of(context)?, terms_of(context.unit())?);
        match MO::TIGHT {
            true => self.create_tight(name, &total, &terms),
            false => self.create_with(name, &total, &terms),
        }
    }
}
impl Loss {
    /// Return the loss of a release of a context, in the measure of its budget.
    ///
    /// # Errors
    /// `InvalidDistance` when a part of the loss, its `mu^2` or its `rho` is not finite, or when
    /// the number of parts is wrong for the measure.
    pub fn of_entry(notion: Notion, entry: &context::Entry) -> Result<Self> {
        let loss = Loss::exact(notion, entry.loss.clone())?;
        let (Some(mu_squared), Notion::Approximate) = (&entry.mu_squared, notion) else {
            return Ok(loss);
        };
        let loss = loss.with_mu_squared(mu_squared.clone())?;
        entry.rho.as_ref().map_or(Ok(loss.clone()), |rho| loss.with_rho(rho.clone()))
    }
}
impl Request {
    fn protecting(self, unit: PrivacyUnit) -> Self {
        let (metric, d_in) = (Some(SymmetricDistance.to_json()), unit.distance().to_string());
        Request { metric, d_in, public_size: unit.size_is_public(), ..self }
    }
}
fn total_of<MO: Accounted + crate::Accounted>(context: &Context<MO>) -> Result<Loss> {
    let notion = MO::default().account(&context.remaining()?)?.notion();
    Loss::exact(notion, context.exact_budget()?)
}
fn terms_of(unit: PrivacyUnit) -> Result<Terms> {
    let metric = match unit.size_is_public() {
        true => "change_one_distance",
        false => "symmetric_distance",
    };
    Ok(Terms::new().with_unit(Unit::new(json!(metric), unit.rows())?))
}
fn check_terms<MO: Accounted + crate::Accounted>(
    account: &Account,
    context: &Context<MO>,
) -> Result<()> {
    account.check_unit(Asker::Context, context.unit())?;
    account.terms.check_size(context.space().domain().size(), "context")?;
    let (name, total) = (&account.name, total_of(context)?);
    if total.notion() != account.total.notion() || total.or_its_float() != account.limit() {
        let reason = format!(
            "budget `{name}` has {} in {}, and the context has {total} in {}: state the amount of \
             the budget in the context, or use another budget",
            account.total,
            account.total.notion().name(),
            total.notion().name()
        );
        return Err(Error::argument("budget", reason));
    }
    if MO::TIGHT && account.filters().is_none() {
        let reason = format!(
            "budget `{name}` adds up losses, and a context with an epsilon and a delta composes \
             them tightly: create a budget with `Ledger::create_for`, or with `--tight`"
        );
        return Err(Error::argument("budget", reason));
    }
    Ok(())
}
