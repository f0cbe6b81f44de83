//! The page of a study's answers, which `--html` writes to a file.

use std::fs;
use std::path::Path;

use opendp_core::{Error, Result};
use opendp_ledger::Ledger;
use opendp_report::{check_writable, is_pipe_or_device, is_same_file};
use opendp_study::{Outcome, Study};
use serde_json::Value as Json;

use super::{Arguments, charge_lines, file};
use crate::{caution, print_error};

/// Check that the page can be written, before the budget is spent.
///
/// # Errors
/// `Argument` when the file is the study, the table or a ledger, or when the file cannot be
/// written.
pub(super) fn check(arguments: &Arguments, study: &Study) -> Result<()> {
    let Some(page) = arguments.html.as_ref().filter(|page| !is_pipe_or_device(page)) else {
        return Ok(());
    };
    // A dry run needs no table. So there is no error if no table is named.
    let table = file(arguments, study).ok();
    let ledger = arguments.budget.as_ref().map(|place| place.file.as_path());
    let read = [Some(arguments.study.as_path()), table.as_deref(), ledger];
    if read.into_iter().flatten().any(|path| is_same_file(path, page)) {
        let reason = "the page would replace the study, the table or the ledger: name another file";
        return Err(Error::argument("html", reason));
    }
    if Ledger::is_at(page) {
        let reason = "the page would replace a ledger, and so lose its charges: name another file";
        return Err(Error::argument("html", reason));
    }
    check_writable(page).map_err(|error| Error::argument("html", unwritten(page, &error)))
}
/// Write the page, and return whether this succeeded. If the page cannot be written, print an
/// error. Unless this is a dry run, the answers have spent the budget, so they must still be
/// printed.
pub(super) fn write(
    arguments: &Arguments,
    outcome: &Outcome,
    charge: Option<&Json>,
    as_json: bool,
) -> bool {
    let Some(path) = &arguments.html else { return true };
    let charged = charge_lines(charge);
    let page = charged.into_iter().fold(outcome.to_page(), |page, line| page.fact("Ledger", line));
    match fs::write(path, page.to_html()) {
        Ok(()) => caution::note(&format!("the page is in {}", path.display()), as_json),
        Err(error) => {
            let again = match charge {
                Some(_) if !arguments.dry_run => {
                    "; to write it, ask again with the same --id, which costs nothing more"
                }
                _ => "",
            };
            let reason = format!(
                "{}. The answers are printed on standard output{again}",
                unwritten(path, &error)
            );
            print_error(&Error::FailedFunction(reason), as_json);
            return false;
        }
    }
    true
}
fn unwritten(path: &Path, error: &std::io::Error) -> String {
    format!("the page {} cannot be written: {error}", path.display())
}
