//! Errors about queries that cannot be planned.

use datafusion::error::DataFusionError;
use opendp_core::Error;

use super::deep;
use crate::check::Tables;
use crate::engine::parse;

/// Return the error for a query that cannot be planned.
pub(super) fn unreadable(error: &DataFusionError, tables: &Tables) -> Error {
    let text = if parse::too_deep(error) { deep::DEEP.to_owned() } else { error.strip_backtrace() };
    let first = text.lines().next().unwrap_or("it cannot be read");
    let reason = match first.split_once(", errors: ") {
        // In this case, a function has arguments of wrong types. After `, errors: `, the planner
        // lists one error for each signature of this function. Leave out this list.
        Some((failed, _)) => {
            let failed = failed.replace("Internal error: ", "");
            format!("{failed}: check the types of the arguments")
        }
        None => missing_table(first, tables)
            .or_else(|| missing_column(first))
            .or_else(|| missing_function(first))
            .or_else(|| repeated_column(first))
            .unwrap_or_else(|| first.to_owned()),
    };
    Error::argument("query", reason)
}
/// If the planner found no table, return a reason that lists the tables.
fn missing_table(text: &str, tables: &Tables) -> Option<String> {
    let named = text.split_once("table '")?.1.strip_suffix("' not found")?;
    let name = named.strip_prefix("datafusion.public.").unwrap_or(named);
    let name = name.strip_prefix("datafusion.").unwrap_or(name);
    let known: Vec<String> = tables.keys().map(|known| format!("`{known}`")).collect();
    let hint = match tables.keys().find(|known| known.to_lowercase() == name.to_lowercase()) {
        Some(known) => {
            format!("write \"{known}\" in double quotes, because it has capital letters")
        }
        None if name.contains('.') => "write only the name of the table".to_owned(),
        None => "correct the name".to_owned(),
    };
    Some(format!("there is no table `{name}`; the tables are {}: {hint}", known.join(", ")))
}
/// If the planner found no column and no similar name, return a reason that says how texts and
/// names are quoted.
fn missing_column(text: &str) -> Option<String> {
    let is_alone = text.contains("No field named") && !text.contains("Did you mean");
    is_alone.then(|| {
        format!(
            "{text} A text needs single quotes, as in 'a'. A name with capital letters or spaces \
             needs double quotes"
        )
    })
}
/// If the planner found no function, return a reason that lists functions.
fn missing_function(text: &str) -> Option<String> {
    let name = text.split_once("Invalid function '")?.1.split('\'').next()?;
    Some(format!(
        "there is no function `{name}`. The aggregates are COUNT, SUM, AVG, VAR, STDDEV, MIN, MAX, \
         MEDIAN and quantile(x, 0.9). For a condition of each row, use CASE WHEN"
    ))
}
/// If two columns of the answer have the same name, return a reason that says what to write.
fn repeated_column(text: &str) -> Option<String> {
    let rest = text.split_once("require unique expression names but the expression \"")?.1;
    let name =
        rest.split_once("\" at position")?.0.replace("count(Int64(1)) AS count(*)", "count(*)");
    Some(format!("two columns are both `{name}`: give each a name of its own by AS"))
}
