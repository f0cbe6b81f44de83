//! Errors about queries that cannot be planned.

use datafusion::error::DataFusionError;
use opendp_core::Error;

use super::{deep, hints};
use crate::check::Tables;
use crate::engine::parse;
use crate::readable::readable;

/// Return the error for a query that cannot be planned.
pub(super) fn unreadable(error: &DataFusionError, tables: &Tables) -> Error {
    let text = if parse::too_deep(error) { deep::DEEP.to_owned() } else { error.strip_backtrace() };
    let first = text.lines().next().unwrap_or("it cannot be read");
    let reason = match first.split_once(", errors: ") {
        // In this case, a function has arguments of wrong types. After `, errors: `, the planner
        // lists one error for each signature of this function. Leave out this list.
        Some((failed, _)) => {
            let failed = plain(&failed.replace("Internal error: ", ""));
            format!("{failed}: check the types of the arguments")
        }
        None => missing_table(first, tables)
            .or_else(|| missing_column(first))
            .or_else(|| missing_function(first))
            .or_else(|| repeated_column(first))
            .or_else(|| not_grouped(first))
            .or_else(|| nested(first))
            .or_else(|| not_a_condition(first))
            .or_else(|| undefined(first))
            .unwrap_or_else(|| plain(first)),
    };
    Error::argument("query", reason)
}
/// Leave out the names that the engine gives to its errors.
fn plain(text: &str) -> String {
    let names = ["Error during planning: ", "Schema error: ", "Arrow error: ", "Parser error: "];
    let text = names.iter().fold(text, |text, name| text.strip_prefix(name).unwrap_or(text));
    let parsed = text.strip_prefix("SQL error: ParserError(\"");
    let Some(parsed) = parsed.and_then(|text| text.strip_suffix("\")")) else {
        return readable(text);
    };
    let hint = match parsed.contains("found: `") {
        true => ". A name with capital letters or spaces needs double quotes, not backticks",
        false => "",
    };
    let text = parsed.replace("\\\"", "\"").replace("Expected: ", "expected ");
    let text = text.replace(", found: ", ", found ").replace("found EOF", "found the end");
    text.replace(" at Line: ", " at line ").replace(", Column: ", ", column ") + hint
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
/// If the planner found no column, return a reason that names a similar column. Without a similar
/// column, the reason says how texts and names are quoted.
fn missing_column(text: &str) -> Option<String> {
    let rest = text.split_once("No field named ")?.1;
    let (name, similar) = match rest.split_once(". Did you mean '") {
        Some((name, similar)) => (name, similar.strip_suffix("'?")),
        None => (rest.split(". ").next()?.trim_end_matches('.'), None),
    };
    let hint = match (hints::of_column(name), similar) {
        (Some(hint), _) => hint.to_owned(),
        (None, Some(similar)) => format!("Did you mean `{similar}`?"),
        (None, None) => "A text needs single quotes, as in 'a'. A name with capital letters or \
                         spaces needs double quotes"
            .to_owned(),
    };
    Some(format!("there is no column `{name}`. {hint}"))
}
/// If the planner found no function, return a reason that says what to write.
fn missing_function(text: &str) -> Option<String> {
    let name = text.split_once("Invalid function '")?.1.split('\'').next()?;
    Some(format!("there is no function `{name}`. {}", hints::of_function(name)))
}
/// If two columns of the answer have the same name, return a reason that says what to write.
fn repeated_column(text: &str) -> Option<String> {
    let rest = text.split_once("require unique expression names but the expression \"")?.1;
    let name =
        rest.split_once("\" at position")?.0.replace("count(Int64(1)) AS count(*)", "count(*)");
    Some(format!("two columns are both `{}`: give each a name of its own by AS", readable(&name)))
}
/// If a column is not a key, return a reason that says what to write.
fn not_grouped(text: &str) -> Option<String> {
    let wildcard = text.split_once("While expanding wildcard, column \"");
    let column = match wildcard {
        Some((_, rest)) => rest.split_once("\" must appear in the GROUP BY clause")?.0,
        None => {
            text.split_once("HAVING clause references: ")?
                .1
                .split_once(" must appear in the GROUP BY clause")?
                .0
        }
    };
    Some(format!(
        "`{}` is neither a key nor inside of an aggregate: add it to GROUP BY, or leave it out",
        readable(column)
    ))
}
/// If an aggregate is inside of another aggregate, return a reason that says what to write.
fn nested(text: &str) -> Option<String> {
    let rest = text.split_once("Aggregate function calls cannot be nested: '")?.1;
    let inner = rest.split_once("' is nested inside '")?.0;
    Some(format!(
        "the aggregate `{}` is inside of another aggregate: ask for it in a query of its own, and \
         compute with the answer",
        readable(inner)
    ))
}
/// If the planner expected a condition, return a reason that says so.
fn not_a_condition(text: &str) -> Option<String> {
    let rest = text.split_once("filter with non-boolean predicate '")?.1;
    let found = rest.rsplit_once("' returning ")?.0;
    Some(format!("`{}` is not a condition: write a comparison", readable(found)))
}
/// If an operation of two types does not exist, return a reason that says what to write.
fn undefined(text: &str) -> Option<String> {
    let rest = text.split_once("Cannot coerce arithmetic expression ")?.1;
    let operation = rest.split_once(" to valid types")?.0;
    let names = [("Date32", "date"), ("Utf8", "text"), ("Int64", "integer"), ("Float64", "float")];
    let operation =
        names.iter().fold(operation.to_owned(), |text, (engine, name)| text.replace(engine, name));
    Some(format!(
        "`{operation}` is not defined: check the types. The text of a date needs DATE before it, as \
         in DATE '2020-01-31'"
    ))
}
