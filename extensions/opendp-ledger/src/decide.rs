//! Decides about a request, and makes the entry that records its charge.

use opendp_core::{Error, Result};
use serde_json::Value as Json;

use crate::loss::of_study;
use crate::record::digest;
use crate::store::Tables;
use crate::{Account, Entry, Loss, Misfit, Request, request, say};

/// The maximum number of milliseconds by which the clock can be behind the last entry, for example
/// after a correction of the clock. If the clock is behind by at most this time, the new entry gets
/// the time of the last entry.
pub(crate) const TOLERANCE: i64 = 1000;

/// The maximum number of budgets that an error lists.
const LISTED: usize = 5;

/// Decide whether a request can be charged. The decision uses one consistent state of the tables.
pub(crate) fn decide(
    tables: &mut dyn Tables,
    budget: &str,
    request: &Request,
    clock: &dyn Fn() -> Result<i64>,
) -> Result<Decision> {
    let account = find(tables, budget)?;
    let measure = account.total.notion();
    let loss = request.loss.within(measure).map_err(|error| match is_study(&request.pipeline) {
        true => of_study(measure, request.loss.notion()),
        false => error,
    })?;
    if let Some(entry) = tables.entry(&account, &request.id)? {
        let same = (&entry.pipeline, &entry.d_in, &entry.source, &entry.loss)
            == (&request.pipeline, &request.d_in, &request.source, &loss);
        return if same {
            Ok(Decision::Repeat(Box::new(entry)))
        } else {
            Err(another(budget, request, &entry, &loss))
        };
    }
    check_new(&request.id)?;
    check_by(&request.by)?;
    check_unit(&account, request)?;
    loss.check_text()?;
    let spent = account.spent.plus(&loss);
    spent.check_text()?;
    if !account.admits(&loss) {
        return Err(exceeded(budget, &loss, &account.remaining()));
    }
    let now = clock()?;
    if now < account.latest - TOLERANCE {
        return Err(Error::FailedFunction(format!(
            "the clock runs backwards: it is {} seconds behind the last entry of budget \
             `{budget}`; nothing was charged or released. If the clock was ahead before and is \
             correct now, run `opendp budget settle-clock FILE:{budget}`, or call \
             `settle_clock`",
            (account.latest - now) / 1000
        )));
    }
    let now = now.max(account.latest);
    Ok(Decision::Charge(Box::new(account), now))
}

/// Decide whether a request can be charged to `budget` and to the other budgets of the request. The
/// last decision is about `budget`.
///
/// # Errors
/// The first refusal of a budget. `Argument` when one budget is named twice, or when the request
/// opens a plan, because a plan replaces the filters of a single budget.
pub(crate) fn decide_all(
    tables: &mut dyn Tables,
    budget: &str,
    request: &Request,
    clock: &dyn Fn() -> Result<i64>,
) -> Result<Vec<Decision>> {
    let names: Vec<&str> =
        request.also.iter().map(String::as_str).chain(std::iter::once(budget)).collect();
    let mut left = names.as_slice();
    while let Some((name, others)) = left.split_first() {
        if others.contains(name) {
            let reason = format!("budget `{name}` is named twice: name each budget once");
            return Err(Error::argument("budget", reason));
        }
        left = others;
    }
    if !request.also.is_empty() && request.loss.opening().is_some() {
        let reason = "a plan that uses a whole budget is charged to one budget: leave `also` out";
        return Err(Error::argument("also", reason));
    }
    names.into_iter().map(|name| decide(tables, name, request, clock)).collect()
}
/// Return the release that some of the budgets already keep for this request. `None` if no budget
/// keeps one.
///
/// # Errors
/// `Argument` when two budgets keep different releases. None of the budgets was then charged for
/// both releases.
pub(crate) fn kept(decisions: &[Decision]) -> Result<Option<String>> {
    let mut kept: Option<&Entry> = None;
    for decision in decisions {
        let Decision::Repeat(entry) = decision else { continue };
        match kept {
            Some(other) if other.release != entry.release => {
                let reason = format!(
                    "budgets `{}` and `{}` have different releases `{}`: use another id",
                    other.budget, entry.budget, entry.id
                );
                return Err(Error::argument("id", reason));
            }
            _ => kept = Some(entry),
        }
    }
    Ok(kept.map(|entry| entry.release.clone()))
}
/// Check the id of a new entry. An id with an invisible difference would be charged as another id.
/// Entries of older versions may have such ids, so an id that has an entry is not checked.
fn check_new(id: &str) -> Result<()> {
    if id.trim() == id && !id.contains(char::is_control) {
        return Ok(());
    }
    let found = id.escape_debug();
    let reason = format!(
        "expected a text that has no space at its ends and no control character, found \
         `{found}`: nothing was charged"
    );
    Err(Error::argument("id", reason))
}
/// Check the name of the person who makes a request. A PostgreSQL server stores no text with the
/// character NUL.
fn check_by(by: &str) -> Result<()> {
    if by.contains('\0') {
        let reason = "expected a text without the character NUL: nothing was charged";
        return Err(Error::argument("by", reason));
    }
    Ok(())
}
fn check_unit(account: &Account, request: &Request) -> Result<()> {
    let (budget, terms) = (&account.name, &account.terms);
    let metric = request.metric.as_ref();
    let misfit = terms.misfit(request.public_size, metric, &request.d_in);
    let (Some(unit), Some(misfit)) = (terms.unit(), misfit) else { return Ok(()) };
    Err(match misfit {
        Misfit::Size => Error::argument(
            "size",
            format!(
                "the release needs a public number of rows, and budget `{budget}` protects this \
                 number: its unit is the distance {unit}. Leave the number of rows out of the \
                 pipeline or study, or create a budget with the metric `change_one_distance` or \
                 with a public number of people (`size`, as a flag `--size`; one contribution each)"
            ),
        ),
        Misfit::Distance => unit.refuse(budget, metric.unwrap_or(&Json::Null), &request.d_in),
    })
}

pub(crate) enum Decision {
    /// A release for this request was recorded before. The field is the entry of this release.
    Repeat(Box<Entry>),
    /// The request can be charged. The fields are the account and the time of the charge.
    Charge(Box<Account>, i64),
}

/// Record the charge of a request, and its release. If there is no room for the release, the spare
/// text can be recorded instead.
pub(crate) fn charge(
    tables: &mut dyn Tables,
    account: &mut Account,
    now: i64,
    request: &Request,
    [release, spare]: [&str; 2],
) -> Result<Entry> {
    let entry = Entry {
        budget: account.name.clone(),
        number: account.releases + 1,
        id: request.id.clone(),
        by: request.by.clone(),
        at_ms: now,
        pipeline: request.pipeline.clone(),
        d_in: request.d_in.clone(),
        source: request.source.clone(),
        loss: request.loss.within(account.total.notion())?,
        release: release.to_owned(),
        digest: digest(release),
        previous: account.head.clone(),
    };
    account.follow(&entry)?;
    tables.add_entry_or(&entry, spare)?;
    tables.update_account(account)?;
    Ok(entry)
}
#[cold]
fn exceeded(budget: &str, loss: &Loss, left: &Loss) -> Error {
    // If the rounded amounts do not show that the loss is larger than the rest, write more digits.
    let alike = loss.parts().iter().zip(left.parts());
    let alike = alike.into_iter().all(|(x, y)| x <= y || say(x, true) == say(y, false));
    let (cost, left) = match alike {
        true => (loss.show(true), left.show(false)),
        false => (loss.say(true), left.say(false)),
    };
    Error::BudgetExceeded(format!(
        "budget `{budget}`: the release costs {cost}, and {left} is left"
    ))
}
/// Make the error for a request that differs from an earlier request with the same id. The error
/// lists the differences.
#[cold]
fn another(budget: &str, request: &Request, entry: &Entry, loss: &Loss) -> Error {
    let document = match is_study(&entry.pipeline) && is_study(&request.pipeline) {
        true => "study",
        false => "pipeline",
    };
    let others = [
        (entry.pipeline != request.pipeline, document.to_owned()),
        (entry.source != request.source, sources(&entry.source, &request.source)),
        (entry.d_in != request.d_in, "distance".to_owned()),
        (entry.loss != *loss, "loss".to_owned()),
    ];
    let others = others.into_iter().filter(|(other, _)| *other);
    let others: Vec<String> = others.map(|(_, what)| what).collect();
    let mut reason = format!(
        "budget `{budget}` already has a release `{id}` with another {}: use another id. To get \
         the earlier release again, repeat its request, which `opendp budget history FILE:{budget} \
         --json` shows",
        others.join(" and another "),
        id = request.id,
    );
    if entry.source.is_empty() && !request.source.is_empty() {
        reason += "; an older version did not record its data and column";
    }
    Error::argument("id", reason)
}
/// Return whether a recorded document is a study with the probability of its intervals.
fn is_study(pipeline: &str) -> bool {
    request::parse(pipeline).is_ok_and(|json| json.get("study").is_some())
}
/// Describe two different sources of data. If both state a path, and the paths differ, name both.
fn sources(recorded: &str, stated: &str) -> String {
    let path = |source: &str| {
        let source = request::parse(source).ok()?;
        source["data"].as_str().map(|path| path.escape_debug().to_string())
    };
    match (path(recorded), path(stated)) {
        (Some(recorded), Some(stated)) if recorded != stated => {
            format!("data or column (recorded: `{recorded}`, stated now: `{stated}`)")
        }
        _ => "data or column".to_owned(),
    }
}
pub(crate) fn find(tables: &mut dyn Tables, name: &str) -> Result<Account> {
    match tables.account(name)? {
        Some(account) => Ok(account),
        None => Err(no_budget(name, &tables.accounts()?)),
    }
}
#[cold]
pub(crate) fn no_budget(name: &str, known: &[Account]) -> Error {
    let names: Vec<String> = known.iter().map(|known| format!("`{}`", known.name)).collect();
    let more = names.len().saturating_sub(LISTED);
    let listed = match (names.get(..LISTED).unwrap_or(&names), more) {
        ([], _) => String::new(),
        (few, 0) => format!("; its budgets are {}", few.join(", ")),
        (few, more) => format!("; its budgets are {} and {more} more", few.join(", ")),
    };
    Error::NotFound(format!("the ledger has no budget `{name}`{listed}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ledger;
    use crate::store::file::{Mode, open};

    #[test]
    fn an_id_with_an_invisible_difference_is_refused_if_it_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        let ledger = Ledger::open(&path).unwrap();
        ledger.create("b", &Loss::epsilon("1").unwrap()).unwrap();
        let request = |id: &str| Request::of_loss(id, Loss::epsilon("0.1").unwrap());
        for id in [" w1", "w1 ", "w1\n", "w\t1", "w1\u{a0}", "w\u{7f}1"] {
            let error = ledger.release("b", &request(id), || Ok(7)).unwrap_err();
            assert_eq!(error.kind(), "Argument");
            let error = error.to_string();
            assert!(error.contains("`id`: expected a text that has no space"), "{error}");
            assert!(error.contains(&id.escape_debug().to_string()), "{error}");
            // An older version recorded this id.
            let write = |tables: &mut dyn Tables| {
                let mut account = find(tables, "b")?;
                let now = account.latest;
                charge(tables, &mut account, now, &request(id), ["7"; 2]).map(|_| ())
            };
            open(&path, Mode::Write).unwrap().write(&mut { write }).unwrap();
            assert!(ledger.release("b", &request(id), || Ok(8)).unwrap().repeated());
        }
        assert!(!ledger.release("b", &request("w 1"), || Ok(7)).unwrap().repeated());
        assert_eq!(ledger.history("b").unwrap().len(), 7);
    }
}
