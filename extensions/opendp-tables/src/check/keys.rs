//! Translate the keys of groups, and find their public values.

use std::collections::HashSet;

use datafusion::logical_expr::{Aggregate, Expr};
use opendp_core::{Error, Result};

use super::source::Relation;
use super::{Picked, dates, refused};
use crate::ir::{Key, Row};
use crate::readable::readable;
use crate::{Type, Value};

/// The largest number of groups that the public keys can make.
const MOST_GROUPS: usize = 1_000_000;

pub(crate) fn keys(
    aggregate: &Aggregate,
    source: &Relation,
    picked: &mut Picked<'_>,
) -> Result<Vec<Key>> {
    let mut keys: Vec<Key> = Vec::new();
    for expr in &aggregate.group_expr {
        if let Expr::GroupingSet(_) = expr {
            return Err(refused(
                "GROUPING SETS",
                "each of its sets needs a separate query",
                "write one query for each set of keys",
            ));
        }
        let rows = source.rows(expr)?;
        if rows.iter().any(|row| picked.is_id(row)) {
            return Err(refused(
                &format!("GROUP BY {expr}"),
                "this column is the id of the individuals, so each group would contain only one",
                "group by a column that many individuals share",
            ));
        }
        let kind = rows.iter().find_map(Row::kind);
        let Some(kind) = kind.filter(|kind| *kind != Type::Float) else {
            let reason = format!(
                "expected keys of type boolean, integer, text, date or timestamp, found `{}`: for \
                 ranges of numbers, write CASE WHEN x < 10 THEN 'low' ELSE 'high' END",
                readable(&expr.to_string())
            );
            return Err(Error::argument("GROUP BY", reason));
        };
        let public = public_keys(&rows, picked)?;
        let column = picked.column(rows);
        if keys.iter().any(|key| key.column == column) {
            return Err(twice());
        }
        keys.push(Key { name: expr.schema_name().to_string(), kind, column, public });
    }
    // If a key is repeated, the engine lists it only once in the columns of the aggregate. Then the
    // values of the answer would be in the wrong columns.
    let columns = aggregate.schema.fields().len();
    if columns != aggregate.group_expr.len() + aggregate.aggr_expr.len() {
        return Err(twice());
    }
    let groups = keys.iter().filter_map(|key| key.public.as_ref()).map(Vec::len);
    if groups.fold(1usize, usize::saturating_mul) > MOST_GROUPS {
        let reason =
            format!("the public keys make more than {MOST_GROUPS} groups: state fewer keys");
        return Err(Error::argument("GROUP BY", reason));
    }
    Ok(keys)
}
#[cold]
fn twice() -> Error {
    Error::argument("GROUP BY", "two keys are the same expression: write each key once")
}
/// Return all values of a key in all branches. Return `None` if the values are not public. `rows`
/// has the expression of the key in each branch.
fn public_keys(rows: &[Row], picked: &Picked<'_>) -> Result<Option<Vec<Value>>> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for (branch, row) in rows.iter().enumerate() {
        let Some(keys) = keys_of(branch, row, picked)? else { return Ok(None) };
        // All keys have the same type, so different keys have different texts.
        all.extend(keys.into_iter().filter(|key| known.insert(key.printed())));
    }
    Ok(Some(all))
}
/// Return all values that an expression can have, except null. Return `None` if these values are
/// not public.
fn keys_of(branch: usize, row: &Row, picked: &Picked<'_>) -> Result<Option<Vec<Value>>> {
    Ok(match row {
        row if row.kind().is_some_and(Type::is_calendar) && !is_choice(row) => {
            dates::keys_of(branch, row, picked, MOST_GROUPS + 1)?
        }
        Row::Part(part, value) => dates::part_keys(branch, *part, value, picked),
        Row::Days(from, to) => {
            let range = dates::days_range(branch, from, to, picked);
            range.map(|(first, last)| {
                (first..=last).take(MOST_GROUPS + 1).map(Value::Integer).collect()
            })
        }
        Row::Column { .. } => match picked.described(branch, row) {
            Some(column) => match (column.public_keys()?, row.kind()) {
                (None, Some(Type::Boolean)) => Some(truths()),
                (keys, _) => keys,
            },
            None => None,
        },
        Row::Literal(value) if *value != Value::Null => Some(vec![value.clone()]),
        Row::Case(cases, otherwise) => {
            let values = cases.iter().map(|(_, value)| value).chain(otherwise.as_deref());
            let literal = |row: &Row| match row {
                Row::Literal(value) => Some(value.clone()),
                _ => None,
            };
            let values: Option<Vec<Value>> = values.map(literal).collect();
            values.map(|values| values.into_iter().filter(|value| *value != Value::Null).collect())
        }
        row if row.kind() == Some(Type::Boolean) => Some(truths()),
        _ => None,
    })
}
/// Return whether an expression is a literal, or chooses among other expressions.
fn is_choice(row: &Row) -> bool {
    matches!(row, Row::Literal(_) | Row::Case(..))
}
fn truths() -> Vec<Value> {
    vec![Value::Boolean(false), Value::Boolean(true)]
}
