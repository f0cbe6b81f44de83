//! The subcommands for durable budgets: create, show, history, export, settle-clock.

mod history;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::error::ErrorKind;
use opendp_analysis::context::visible;
use opendp_core::arith::Exact;
use opendp_core::{Constructed, Error, Metric, Result};
use opendp_ledger::{Account, Ledger, Loss, Terms, Unit};
use opendp_registry::{Document, Registry};
use serde_json::{Value as Json, json};

use crate::caution;
use crate::command;
use crate::words;

/// The warning about a budget without a unit.
const NO_UNIT: &str = "the budget states no unit, so nothing checks that all its releases protect \
                       the same unit. State --unit and --metric, such as `--unit 1 --metric \
                       symmetric_distance`";
/// The warning about a budget whose number of rows is public only because of `--size`.
const PUBLIC_ROWS: &str = "with --size, and without --contributions above 1, each person must have \
                           exactly one row, and the number of rows is public. If this is wrong, \
                           leave out --size, or state --contributions above 1";

/// The error for a budget with a delta and without an epsilon.
const NO_EPSILON: &str = "a delta needs an epsilon: state --epsilon <EPSILON> with --delta, or a \
                          budget without a delta: --epsilon, or --rho alone";

/// The note about the rest of a budget that composes tightly.
const TIGHT: &str = "note: losses compose tightly, so the amount left is for one more release. The \
                     charged losses and this amount do not add up to the budget";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Create a budget, and create the file if the file does not exist
    Create {
        /// The file of the ledger and the name of the budget, as FILE:NAME
        #[arg(value_name = "FILE:NAME")]
        place: Place,
        /// Epsilon: a decimal number or a fraction; with --delta, privacy is approximate instead of
        /// pure
        #[arg(long, required_unless_present_any = ["rho", "delta"], allow_hyphen_values = true)]
        epsilon: Option<String>,
        /// The delta of approximate differential privacy: a decimal number or a fraction
        #[arg(long, allow_hyphen_values = true)]
        delta: Option<String>,
        /// Compose losses tightly: many releases together can cost less than the sum of their
        /// losses
        ///
        /// Most of the delta is kept for this composition. So a smaller part of the delta is left
        /// for releases that need a delta themselves, such as counts of found keys.
        #[arg(long, requires = "delta")]
        tight: bool,
        /// The rho of zero-concentrated differential privacy: a decimal number or a fraction
        #[arg(long, conflicts_with_all = ["epsilon", "delta"], allow_hyphen_values = true)]
        rho: Option<String>,
        /// The unit of protection: the distance between data sets that differ in one person, or in
        /// one record. `run` uses this distance, multiplied by --contributions, as --d-in
        #[arg(long, requires = "metric", allow_negative_numbers = true)]
        unit: Option<u32>,
        /// The metric of --unit, such as symmetric_distance
        #[arg(long, requires = "unit")]
        metric: Option<String>,
        /// The largest number of records of one person; each record counts as one --unit
        #[arg(long, requires = "unit", allow_negative_numbers = true)]
        contributions: Option<u32>,
        /// The SHA-256 of the data file; `run` refuses other data
        #[arg(long, value_name = "SHA256")]
        digest: Option<String>,
        /// The number of people in the data; there is a warning if delta is at least 1 / SIZE
        ///
        /// If --size is stated, --contributions is not above 1, and the unit is at most 2, then the
        /// number of rows is public.
        #[arg(long, allow_negative_numbers = true)]
        size: Option<u64>,
    },
    /// Show the total and the remaining amount of one budget, or of all budgets in a file
    Show {
        /// The file of the ledger, or FILE:NAME
        #[arg(value_name = "FILE[:NAME]")]
        place: String,
    },
    /// List every release that was charged to a budget
    History {
        /// The file of the ledger and the name of the budget, as FILE:NAME
        #[arg(value_name = "FILE:NAME")]
        place: Place,
    },
    /// Let a budget continue after a clock was ahead and has been corrected
    SettleClock {
        /// The file of the ledger and the name of the budget, as FILE:NAME
        #[arg(value_name = "FILE:NAME")]
        place: Place,
        /// The name of the person who continues the budget, for the history
        #[arg(long)]
        by: Option<String>,
    },
    /// Check the whole file of budgets, and print its whole content as JSON
    Export {
        /// The file of the ledger
        file: PathBuf,
    },
}

/// The place of a budget: a file, and the name of the budget in the file.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) name: String,
}
impl std::str::FromStr for Place {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.rsplit_once(':') {
            Some((file, name)) if !file.is_empty() && !name.is_empty() => {
                Ok(Place { file: file.into(), name: name.into() })
            }
            _ => Err("expected FILE:NAME, a file and the name of a budget in it, such as \
                      b.ledger:study"
                .to_owned()),
        }
    }
}

/// Return the distance that a budget protects: its unit, multiplied by the number of contributions
/// of a person. Return `None` if the budget states no unit.
///
/// # Errors
/// `NotFound` when the budget does not exist. Further errors are the errors of the ledger.
pub(crate) fn unit(place: &Place) -> Result<Option<Json>> {
    let account = Ledger::open_to_read(&place.file)?.account(&place.name)?;
    Ok(account.terms.unit().map(|unit| unit.d_in().into()))
}

/// Run the command, and return the text to print.
pub(crate) fn answer(command: &Command, as_json: bool) -> Result<String> {
    let either = |json: Json, text: String| if as_json { json.to_string() } else { text };
    match command {
        Command::Create { place, epsilon, delta, rho, tight, .. } => {
            let total = total(epsilon.as_deref(), delta.as_deref(), rho.as_deref())?;
            // Check the budget here, so that a wrong name, amount or size creates no file.
            total.check_budget(&place.name, *tight)?;
            let terms = terms(command)?;
            terms.check()?;
            let ledger = Ledger::open(&place.file)?;
            match tight {
                true => ledger.create_tight(&place.name, &total, &terms)?,
                false => ledger.create_with(&place.name, &total, &terms)?,
            }
            for warning in total.cautions(terms.size()) {
                caution::say(&warning, as_json);
            }
            if terms.unit().is_none() {
                caution::say(NO_UNIT, as_json);
            }
            if terms.has_public_rows_by_size() {
                caution::say(PUBLIC_ROWS, as_json);
            }
            let account = ledger.account(&place.name)?;
            Ok(either(account.to_json(), account_text(&account)))
        }
        Command::Show { place } => {
            // A text with a colon can be the name of an existing file, so first look for a file of
            // this name.
            let parsed = if Path::new(place).exists() { None } else { place.parse::<Place>().ok() };
            match parsed {
                Some(place) => {
                    let account = Ledger::open_to_read(&place.file)?.account(&place.name)?;
                    Ok(either(account.to_json(), account_text(&account)))
                }
                None => {
                    let accounts = Ledger::open_to_read(place)?.accounts()?;
                    let text: Vec<String> = accounts.iter().map(account_text).collect();
                    Ok(either(accounts.iter().map(Account::to_json).collect(), text.join("\n")))
                }
            }
        }
        Command::History { place } => {
            let ledger = Ledger::open_to_read(&place.file)?;
            let (account, entries) = (ledger.account(&place.name)?, ledger.history(&place.name)?);
            let json = entries.iter().map(|entry| account.entry_to_json(entry)).collect();
            let head = format!("{}{}", visible(&account.name), terms_text(&account.terms));
            Ok(either(json, history::text(&head, &entries)))
        }
        Command::SettleClock { place, by } => {
            let ledger = Ledger::open_existing(&place.file)?;
            let entry = ledger.settle_clock(&place.name, by.as_deref().unwrap_or_default())?;
            Ok(either(entry.to_json(), history::table(&[entry])))
        }
        Command::Export { file } => Ok(Ledger::open_to_read(file)?.export()?.to_string()),
    }
}

/// Read the amount of a new budget.
fn total(epsilon: Option<&str>, delta: Option<&str>, rho: Option<&str>) -> Result<Loss> {
    for (name, stated) in [("epsilon", epsilon), ("delta", delta), ("rho", rho)] {
        if let Some(stated) = stated
            && let Err(Error::InvalidDistance(reason)) = stated.parse::<Exact>()
        {
            let reason = format!("{reason}, found `{}`", stated.escape_debug());
            return Err(Error::InvalidDistance(reason).at(name));
        }
    }
    match (epsilon, delta, rho) {
        (Some(epsilon), None, None) => Loss::epsilon(epsilon),
        (Some(epsilon), Some(delta), None) => Loss::epsilon_delta(epsilon, delta),
        (None, None, Some(rho)) => Loss::rho(rho),
        (None, Some(_), None) => {
            command().error(ErrorKind::MissingRequiredArgument, NO_EPSILON).exit()
        }
        _ => Err(Error::argument(
            "epsilon",
            "state one budget: --epsilon, --epsilon with --delta, or --rho",
        )),
    }
}
/// Read the unit, the SHA-256 and the size of a budget from the arguments of the command.
fn terms(command: &Command) -> Result<Terms> {
    let Command::Create { unit, metric, contributions, digest, size, .. } = command else {
        return Ok(Terms::new());
    };
    let mut terms = Terms::new();
    if let (Some(unit), Some(metric)) = (unit, metric) {
        let mut unit = Unit::new(read_metric(metric)?, *unit)?;
        if let Some(contributions) = contributions {
            unit = unit.contributions(*contributions)?;
        }
        terms = terms.with_unit(unit);
    }
    if let Some(digest) = digest {
        terms = terms.with_digest(digest)?;
    }
    Ok(match size {
        Some(size) => terms.with_size(*size),
        None => terms,
    })
}
/// Read the name of a metric, or a metric in document form. Return the metric as JSON.
fn read_metric(text: &str) -> Result<Json> {
    let json = match text.starts_with('{') {
        true => opendp_registry::json::parse(text).map_err(|error| error.at("metric"))?,
        false => json!({text: {}}),
    };
    let only = json.as_object().filter(|object| object.len() == 1).and_then(|o| o.iter().next());
    let Some((name, arguments)) = only else {
        let reason = "expected a name, such as symmetric_distance, or a JSON object with this name";
        return Err(Error::argument("metric", reason));
    };
    let document = Document::new(json!({"constructor": name, "args": arguments}));
    let made = document.and_then(|document| document.build(Registry::global()));
    match made.map_err(|error| error.at("metric"))? {
        Constructed::Metric(metric) => Ok(metric.to_json()),
        other => {
            let found = other.kind().with_article();
            let reason = format!("expected a metric, found `{name}`, which is {found}");
            Err(Error::argument("metric", reason))
        }
    }
}
fn terms_text(terms: &Terms) -> String {
    let mut text = String::new();
    if let Some(unit) = terms.unit() {
        text += &format!(", protects data at distance {unit}");
    }
    if let Some(digest) = terms.digest() {
        text += &format!(", of data with SHA-256 {digest}");
    }
    if let Some(size) = terms.size() {
        text += &format!(", of {size} {}", if size == 1 { "person" } else { "people" });
    }
    text
}
fn account_text(account: &Account) -> String {
    let tight = account.filters().is_some();
    let text = format!(
        "{}: {} left of {} ({}{}), {} release{}{}",
        visible(&account.name),
        account.remaining().say(false),
        account.total.say(false),
        account.total.notion().name(),
        if tight { ", composed tightly" } else { "" },
        account.releases,
        if account.releases == 1 { "" } else { "s" },
        terms_text(&account.terms),
    );
    if tight { format!("{text}\n  {TIGHT}") } else { text }
}
/// Return the number of people that a budget states. Return `None` if the budget cannot be read,
/// does not exist, or states no such number.
pub(crate) fn people(place: &Place) -> Option<u64> {
    Ledger::open_to_read(&place.file).ok()?.account(&place.name).ok()?.terms.size()
}

/// Write the text that tells readers about a charge to a budget. `charge` is the JSON of
/// [`charge_to_json`](opendp_ledger::Release::charge_to_json).
pub(crate) fn charge_text(charge: &Json) -> String {
    let text = |name: &str| visible(charge[name].as_str().unwrap_or_default());
    format!(
        "{} as `{}`: {} charged, {} left",
        text("budget"),
        text("id"),
        words::amounts(&charge["charged"], true),
        words::amounts(&charge["remaining"], false)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_and_a_name() {
        let place: Place = "a:b.ledger:survey".parse().unwrap();
        assert_eq!((place.file, &*place.name), (PathBuf::from("a:b.ledger"), "survey"));
        for bad in ["", "file", "file:", ":name"] {
            assert!(bad.parse::<Place>().is_err());
        }
    }
}
