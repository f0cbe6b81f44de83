//! Reports of the cost of each release.

use std::fmt;

use opendp_core::arith::Exact;
use opendp_core::{Codec, Result};
use opendp_measurements::Collected;
use opendp_measurements::accounting::SharePair;
use serde_json::{Value as Json, json};

use super::account::Reserve;
use super::{BudgetMeasure, Context, Facts, PrivacyUnit};

mod page;

/// The unit of an answer's error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorIn {
    /// The error is in the unit of the answer.
    Value,
    /// The error is in ranks: by how many rows the chosen candidate is farther from the quantile
    /// than the best candidate. [`Rows::quantiles`](super::Rows::quantiles) states the error of
    /// three or more quantiles.
    Ranks,
    /// The error is a difference of row counts: the rows of a category that was not chosen, minus
    /// the rows of a chosen category.
    Counts,
}
/// One release in a [`Report`] or a [`Journal`].
#[derive(Clone, Debug)]
pub struct Entry {
    /// The title of the question.
    pub query: String,
    /// The name of the measure of the loss, such as `MaxDivergence`.
    pub measure: String,
    /// The privacy unit to which the loss applies.
    pub unit: PrivacyUnit,
    /// The kind of noise that was added.
    pub mechanism: String,
    /// The scale of the noise.
    pub scale: f64,
    /// The threshold for keys, if there is one.
    pub threshold: Option<f64>,
    /// The exact loss if this release were the only release: one number for each part of the
    /// budget.
    pub loss: Vec<Exact>,
    /// The id of the [plan](super::Plan) that the release is part of, if the plan has an id.
    pub plan: Option<String>,
    /// The square of `mu`, if the release is also `mu`-GDP (Gaussian differentially private). Under
    /// an epsilon and a delta, the account needs this square to restore the exact charge. Without
    /// the square, the release is charged for its loss.
    pub mu_squared: Option<Exact>,
    /// The `rho` of the release, if the release chooses among candidates by Gumbel noise. Under an
    /// epsilon and a delta, the account needs this number to restore the exact charge. Entries of
    /// older versions do not have this number. Without this number, the release is charged for its
    /// `mu`.
    pub rho: Option<Exact>,
    /// A pair of distributions that dominates the release. There is a pair only if
    /// [`Split::by_kinds`](super::Split::by_kinds) or a plan fixed the share of the release in
    /// advance. A context whose shares are fixed in advance needs this pair to restore the charge.
    pub share: Option<SharePair>,
    /// The reserved epsilon for pure losses, and the reserved delta for the deltas of losses. If a
    /// [plan](super::Plan) reserved these two numbers, the entry of its first release has them. No
    /// other entry has them.
    pub reserved: Option<[Exact; 2]>,
    /// The shares into which [`Split::by_kinds`](super::Split::by_kinds) or a [plan](super::Plan)
    /// divided the whole budget. There is one share for each release. Each share is a pair of
    /// distributions. Only the entry of the first release has this list.
    pub shares: Option<Vec<SharePair>>,
    /// A bound on the distance between the answer and the true answer, if a bound is known. The
    /// bound holds except with probability [`Context::ALPHA`]:
    /// [`Question::accuracy`](super::Question::accuracy) states what this means for keys that are
    /// found. The entry is made before the release. So it has a bound even if the released integer
    /// is near an end of its type. The error of such an integer has no bound.
    pub accuracy: Option<f64>,
    /// The unit of `accuracy`.
    pub error_in: ErrorIn,
    /// The remaining budget after the release: one number for each part of the budget.
    pub left: Vec<Exact>,
}

impl Entry {
    /// Return the part of the budget that the plan of this release reserved. Return `None` if the
    /// entry does not state this part.
    pub(super) fn reserve(&self) -> Option<Reserve> {
        let shares = self.shares.clone().map(Reserve::Shares);
        shares.or_else(|| self.reserved.clone().map(Reserve::Filter))
    }
}

/// A record of releases that is kept after the process ends.
pub trait Journal: Send + Sync {
    /// Record a release. The release was already charged, and has not yet been run. The release is
    /// run only if the recording succeeds. Other releases wait until the recording ends, so the
    /// entries of the journal are in the order of the charges. An implementation must not call the
    /// context.
    ///
    /// # Errors
    /// Any error when the record could not be written. Then nothing is released.
    fn record(&self, entry: &Entry) -> Result<()>;
    /// Record all releases of a [plan](super::Plan), after the charge and before the first release
    /// is run. A journal that survives a crash must write all entries or none of them, because the
    /// plan is charged as a whole. The default implementation records the entries one by one.
    ///
    /// # Errors
    /// Any error when the record could not be written. Then nothing is released.
    fn record_plan(&self, entries: &[Entry]) -> Result<()> {
        entries.iter().try_for_each(|entry| self.record(entry))
    }
    /// Return whether the journal can record the [reserve](Entry::reserved) and the
    /// [shares](Entry::shares) of a plan. If this method returns `false`, plans make no reserve and
    /// no shares, and need a little more noise. With [`Split::by_kinds`](super::Split::by_kinds), a
    /// later process can then not [carry over](super::Context::carry_over) the releases.
    fn reserves(&self) -> bool {
        true
    }
}

/// The text in JSON that states when the total of all losses is a valid bound. Only reports about a
/// budget of an epsilon and a delta have this text.
const SPENT_HOLDS: &str =
    "if the releases were fixed in advance; otherwise only the whole budget is a bound";

/// The text of the field `left_holds`. Only reports about a budget of an epsilon and a delta have
/// this field.
const LEFT_HOLDS: &str = "for further releases; `spent` and `left` need not add up to the budget, \
                          because losses compose tightly, and parts of delta are kept for other \
                          kinds of noise";

/// A report of the cost of each release.
///
/// A report prints as a table and converts to JSON.
///
/// The table has a line `all` with the total of all losses, and the JSON has this total in the
/// field `spent`. If the budget is an epsilon and a delta, the total can be less than the sum of
/// the losses. This total is a valid bound only if the releases were fixed in advance. If releases
/// were chosen after answers were seen, only the whole budget is a valid bound. For other budgets,
/// the total is the sum of the losses, which is always a valid bound.
#[derive(Clone, Debug)]
pub struct Report<MO> {
    pub(crate) unit: PrivacyUnit,
    pub(crate) budget: Vec<Exact>,
    pub(crate) total: Vec<Exact>,
    pub(crate) left: Vec<Exact>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) measure: MO,
}
impl<MO: BudgetMeasure> Report<MO> {
    /// Return the releases, in the order in which they were made.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
    /// Return the exact total of all losses: one number for each part of the budget. The total can
    /// be less than the sum of the losses if the budget is an epsilon and a delta. For such a
    /// budget, the total is a valid bound only if the releases were fixed in advance. Otherwise
    /// only the whole budget is a valid bound.
    pub fn exact_total(&self) -> &[Exact] {
        &self.total
    }
    /// Convert the report to JSON. Each amount of the budget and of a loss is written as the least
    /// float whose [written](Exact::written) amount is at least this amount. So the budget `1e-6`
    /// stays `1e-6`. The remaining budget is rounded down. If the budget is an epsilon and a delta,
    /// the field `spent_holds` states when `spent` is a bound, and the field `left_holds` states
    /// why `spent` and `left` need not add up to the budget.
    pub fn to_json(&self) -> Json {
        let Facts { parts, tight, .. } = self.measure.facts();
        let mut json = json!({
            "unit": self.unit.to_string(),
            "alpha": Context::<MO>::ALPHA,
            "budget": named(parts, &self.budget, written_up),
            "spent": named(parts, &self.total, written_up),
            "left": named(parts, &self.left, Exact::to_f64_down),
            "releases": releases(parts, &self.entries),
        });
        if tight {
            json["spent_holds"] = SPENT_HOLDS.into();
            json["left_holds"] = LEFT_HOLDS.into();
        }
        json
    }
}
/// Return the least float that is at least `amount` when it is [written](Exact::written).
pub(crate) fn written_up(amount: &Exact) -> f64 {
    let down = amount.to_f64_down();
    match Exact::written(down) {
        Ok(written) if *amount <= written => down,
        _ => amount.to_f64_up(),
    }
}
/// Return the parts of an amount as JSON, with their names.
fn named(names: &[&str], parts: &[Exact], float: fn(&Exact) -> f64) -> Json {
    let mut named = serde_json::Map::new();
    for (name, part) in names.iter().zip(parts) {
        named.insert((*name).to_owned(), float(part).to_json());
    }
    Json::Object(named)
}
/// Return the entries as JSON. `names` are the names of the parts of a loss.
fn releases(names: &[&str], entries: &[Entry]) -> Json {
    let entry = |entry: &Entry| {
        json!({
            "query": entry.query,
            "mechanism": entry.mechanism,
            "scale": entry.scale.to_json(),
            "threshold": entry.threshold.map(|threshold| threshold.to_json()),
            "loss": named(names, &entry.loss, written_up),
            "mu": entry.mu_squared.as_ref().map(|square| square.to_f64_up().sqrt().next_up()),
            "accuracy": entry.accuracy.map(|bound| bound.to_json()),
            "accuracy_in": match entry.error_in {
                ErrorIn::Value => "value",
                ErrorIn::Ranks => "ranks",
                ErrorIn::Counts => "counts",
            },
            "left": named(names, &entry.left, Exact::to_f64_down),
        })
    };
    Json::Array(entries.iter().map(entry).collected())
}
/// Write a number for display. Use at most 5 decimals for a magnitude below 1, at most 4 for a
/// magnitude below 10, and at most 2 for a larger magnitude. Use an exponent if the magnitude is
/// 1e9 or larger, or is below 0.001 and not 0.
///
/// ```
/// # use opendp_analysis::context::short;
/// let texts = [0.0, 0.012345, 1.0, 2.34567, 1234.5678, 1e10, -1e-5].map(short);
/// assert_eq!(texts, ["0", "0.01235", "1", "2.3457", "1234.57", "1.000e10", "-1.000e-5"]);
/// ```
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    if value != 0.0 && !(1e-3..1e9).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let digits = if magnitude < 1.0 {
        5
    } else if magnitude < 10.0 {
        4
    } else {
        2
    };
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
/// Write a number of ranks or rows. `unit` is `rank` or `row`.
///
/// ```
/// # use opendp_analysis::context::counted;
/// assert_eq!([counted("1", "row"), counted("2.5", "rank")], ["1 row", "2.5 ranks"]);
/// ```
pub fn counted(number: &str, unit: &str) -> String {
    format!("{number} {unit}{}", if number == "1" { "" } else { "s" })
}
fn row(names: &[&str], parts: &[Exact], float: fn(&Exact) -> f64) -> String {
    names.iter().zip(parts).map(|(_, part)| format!(" {:>10}", short(float(part)))).collect()
}
impl<MO: BudgetMeasure> fmt::Display for Report<MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.entries.iter().map(|entry| entry.query.chars().count()).max();
        let width = width.unwrap_or_default().clamp(5, 60);
        write!(f, "{:<width$} {:>12} {:>14}", "query", "scale", "+/- 95 %")?;
        let parts = self.measure.facts().parts;
        let names = |f: &mut fmt::Formatter<'_>, prefix: &str| {
            parts.iter().try_for_each(|name| write!(f, " {:>10}", format!("{prefix}{name}")))
        };
        names(f, "")?;
        writeln!(f, "  left")?;
        for entry in &self.entries {
            let error = entry.accuracy.map_or_else(|| "?".to_owned(), short);
            let error = match entry.error_in {
                ErrorIn::Value => error,
                ErrorIn::Ranks => counted(&error, "rank"),
                ErrorIn::Counts => counted(&error, "row"),
            };
            let (query, scale) = (&entry.query, short(entry.scale));
            write!(f, "{query:<width$} {scale:>12} {error:>14}")?;
            writeln!(
                f,
                "{} {}",
                row(parts, &entry.loss, Exact::to_f64_up),
                row(parts, &entry.left, Exact::to_f64_down)
            )?;
        }
        write!(f, "{:<width$} {:>12} {:>14}", "all", "", "")?;
        writeln!(
            f,
            "{} {}",
            row(parts, &self.total, Exact::to_f64_up),
            row(parts, &self.left, Exact::to_f64_down)
        )?;
        writeln!(f, "protected: {}", self.unit)
    }
}
