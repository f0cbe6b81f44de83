//! The terms of budgets. They state which individuals of the private tables are protected.

use std::collections::BTreeMap;

use opendp_core::{Error, Result};
use opendp_ledger::{Account as Found, Terms, Unit};
use serde_json::{Map, Value as Json, json};

use super::{Budget, Composition};
use crate::metadata::Table;

/// Describe the protected individuals of a private table. Limits on the rows of an id are not a
/// part of the description: each query enforces its limits, and protects all rows of an id.
///
/// The type of the ids is a part of the description. For example, the cells `1` and `01` are two
/// ids of type text, and one id of type integer. Suppose that some queries of a budget protect
/// texts and other queries protect integers. Then the sum of all losses bounds neither the loss for
/// an id of type text nor the loss for an id of type integer. One integer can be written as several
/// texts. If the rows of one of these texts are added, the rows of the integer change. If the
/// integer also has rows from other texts, the two tables are not neighbours for integer ids.
fn individuals(table: &Table) -> Json {
    let unit = table.unit.clone().unwrap_or_default();
    match (unit.id, table.rows) {
        (Some(id), _) => {
            let kind = table.columns.get(&id).map(|column| column.kind.name());
            json!({"id": id, "type": kind})
        }
        (None, None) => json!({"rows": unit.rows}),
        (None, Some(_)) => json!({"replaced_rows": unit.rows}),
    }
}
/// Return the terms of a new budget for tables. The terms state the individuals of all private
/// tables. If all private tables have the same unit `rows = k` and none states its number of rows,
/// the terms state the symmetric distance `k`. Other programs know this metric, so they can charge
/// the same budget. In all other cases, the terms list the tables.
pub(super) fn terms_of(tables: &BTreeMap<String, Table>) -> Result<Terms> {
    let private = || tables.iter().filter(|(_, table)| !table.public);
    let rows = private().find_map(|(_, table)| table.unit.as_ref()?.rows);
    if let Some(rows) = rows
        && private().all(|(_, table)| individuals(table) == json!({"rows": rows}))
    {
        return Ok(Terms::new().with_unit(Unit::new("symmetric_distance".into(), rows)?));
    }
    let listed = private().map(|(name, table)| (name.clone(), individuals(table)));
    let metric = json!({"tables": listed.collect::<Map<_, _>>()});
    Ok(Terms::new().with_unit(Unit::new(metric, 1)?))
}
/// If a budget with these terms does not protect the individuals of all private tables, return the
/// reason. Also return the reason if the metadata declare a table public, but the terms list this
/// table as private. Terms in the symmetric distance list no tables, so this function cannot notice
/// such a table. Terms without a unit, and ids without a type, are accepted here, so that a session
/// can return earlier releases. [`check_unit`] refuses new releases under these terms.
fn unprotected(terms: &Terms, tables: &BTreeMap<String, Table>) -> Option<String> {
    if terms.size().is_some() || terms.digest().is_some() {
        return Some("it states a size or a digest".into());
    }
    let unit = terms.unit()?;
    let (metric, rows) = (unit.metric(), json!({"rows": unit.d_in()}));
    let differs = |(name, table): (&String, &Table)| {
        if table.public {
            let protected = metric["tables"].get(name);
            return protected.map(|_| {
                format!("it protects table `{name}`, and the metadata declare it public")
            });
        }
        let ours = individuals(table);
        let theirs = match metric["tables"].get(name) {
            Some(stated) => stated,
            None if metric == "symmetric_distance" => &rows,
            None => {
                return Some(format!("its unit is {metric}, which does not list table `{name}`"));
            }
        };
        let same_id = is_untyped(theirs) && theirs["id"] == ours["id"];
        (*theirs != ours && !same_id).then(|| {
            format!("for table `{name}`, it protects {theirs}, and the metadata protect {ours}")
        })
    };
    tables.iter().find_map(differs)
}
/// Return whether the description of individuals has an id without the type of the id.
fn is_untyped(individuals: &Json) -> bool {
    individuals.get("id").is_some() && individuals.get("type").is_none()
}
/// Check that a budget states its unit, and the types of ids. Without them, two sessions could
/// charge the losses of different individuals to one budget. The sum of such losses would not be
/// the loss of any individual.
pub(super) fn check_unit(found: &Found) -> Result<()> {
    let is_untyped = |unit: &Unit| {
        let tables = unit.metric()["tables"].as_object();
        tables.is_some_and(|tables| tables.values().any(is_untyped))
    };
    let lacks = match found.terms.unit() {
        None => "no unit",
        Some(unit) if is_untyped(unit) => "no type of its ids",
        Some(_) => return Ok(()),
    };
    let name = &found.name;
    let reason = format!(
        "budget `{name}` states {lacks}, so nothing checks that all queries protect the same \
         individuals.\nCreate another budget with `opendp-sql create`. The releases of `{name}` \
         remain charged, so do not give the new budget more than the rest of `{name}`"
    );
    Err(Error::argument("budget", reason))
}
/// Check that a budget of a ledger protects the individuals of the tables. Also check that the
/// amount and the composition of the budget are those of the metadata.
pub(super) fn check_terms(
    found: &Found,
    name: &str,
    budget: &Budget,
    composition: Composition,
    tables: &BTreeMap<String, Table>,
) -> Result<()> {
    let tight = composition == Composition::Tight;
    if let Some(difference) = unprotected(&found.terms, tables) {
        let reason = format!(
            "budget `{name}` of the ledger is for other data or for another unit: {difference}.\n\
             The terms of a budget for tables state a unit, but no size and no digest. If the unit \
             lists tables, each private table must be listed with its unit, and each listed table \
             must be private. If the unit is in `symmetric_distance`, each private table must have \
             the unit `rows = k`, where `k` is the distance of the budget, and no stated number of \
             rows. Change the tables, or name a new budget"
        );
        return Err(Error::argument("budget", reason));
    }
    if found.total != budget.0 {
        let total = &found.total;
        let reason =
            format!("budget `{name}` is {total} in the ledger, but {} in the metadata", budget.0);
        return Err(Error::argument("budget", reason));
    }
    if found.filters().is_some() != tight {
        let (theirs, ours) = if tight { ("sum", "tight") } else { ("tight", "sum") };
        let reason = format!(
            "budget `{name}` composes as `{theirs}` in the ledger, but as `{ours}` in the \
             metadata.\nWrite `composition = \"{theirs}\"`, or name a new budget"
        );
        return Err(Error::argument("composition", reason));
    }
    Ok(())
}
