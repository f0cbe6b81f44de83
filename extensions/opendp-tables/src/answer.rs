//! Answers. An answer has released tables, with intervals and losses, and a release document.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::arrow::util::pretty::pretty_format_batches;
use opendp_analysis::context::visible;
use opendp_core::{Error, Result};
use serde_json::Value as Json;

use crate::columns::ReleasedColumn;
use crate::ir::Plan;
use crate::readable::{heading, readable};
use crate::released::{Group, Noisy};
use crate::{Type, Value};

/// The answer to a query.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The table that the query asks for, after HAVING, ORDER BY, LIMIT and expressions. If these
    /// steps fail on the released values, this table is a copy of `values`, and the document has a
    /// `warning`.
    pub table: RecordBatch,
    /// A table with one row for each released number. The row contains the keys of the group, the
    /// aggregate, the value, the scale of the noise, the 95 % interval, and the loss.
    pub values: RecordBatch,
    /// The release document: the query, the plan with its digest, the metadata, the losses, the
    /// rest of the budget, the versions and the noisy values. The list `notes` explains the
    /// numbers of the answer. If `repeated` is true, the ledger already had this release, and
    /// nothing is charged again.
    pub document: Json,
    pub(crate) shown: Shown,
}
/// What the page of an answer needs, in addition to the tables of the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// The number of values in the key of each group.
    pub(crate) keys: usize,
    /// The title of the chart of each aggregate. If a column of the answer shows the aggregate, the
    /// title is the name of this column.
    pub(crate) titles: Vec<String>,
    /// For each row of the table of released values, whether the interval of the row contains all
    /// possible values.
    pub(crate) vague: Vec<bool>,
    pub(crate) limits: String,
    pub(crate) accounts: Vec<opendp_report::Account>,
    pub(crate) tight: bool,
}
impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values = self.named().and_then(|values| printed(&values));
        let values = values.map_err(|_| std::fmt::Error)?;
        match (self.document["warning"].as_str(), printed(&self.table)) {
            (Some(warning), _) => write!(f, "warning: {warning}\n\n{values}")?,
            (None, Ok(table)) => write!(f, "{table}\n\n{values}")?,
            (None, Err(error)) => write!(f, "warning: {}\n\n{values}", instead(&error))?,
        }
        for note in self.document["notes"].as_array().into_iter().flatten() {
            write!(f, "\nnote: {}", visible(&readable(note.as_str().unwrap_or_default())))?;
        }
        let vague = self.shown.vague.iter().filter(|vague| **vague).count();
        if 0 < vague {
            write!(
                f,
                "\nnote: values with the mark \"{VAGUE}\" give no information, also where the first \
                 table shows them; here are {vague} of them"
            )?;
        }
        Ok(())
    }
}
/// The mark of a value whose interval contains all possible values.
pub(crate) const VAGUE: &str = "too few rows for this noise";

impl Answer {
    /// Return the table of released values, with short names of the aggregates.
    fn named(&self) -> Result<RecordBatch> {
        let marked = self.marked()?;
        let mut columns = marked.columns().to_vec();
        if let Some(names) = columns.get_mut(self.shown.keys)
            && let Some(texts) = names.as_string_opt::<i32>()
        {
            let short = texts.iter().map(|name| name.map(heading));
            let short: ArrayRef = Arc::new(StringArray::from_iter(short));
            *names = short;
        }
        RecordBatch::try_new(marked.schema(), columns).map_err(arrow)
    }
    /// Return the table of released values. If some of the values give no information, append a
    /// column that marks these values.
    fn marked(&self) -> Result<RecordBatch> {
        if !self.shown.vague.contains(&true) {
            return Ok(self.values.clone());
        }
        let marks = self.shown.vague.iter().map(|vague| vague.then_some(VAGUE));
        let marks: ArrayRef = Arc::new(StringArray::from_iter(marks));
        let schema = self.values.schema();
        let mark = Arc::new(Field::new("mark", DataType::Utf8, true));
        let fields: Vec<_> = schema.fields().iter().cloned().chain([mark]).collect();
        let columns = self.values.columns().iter().cloned().chain([marks]).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(arrow)
    }
}
/// Print a table.
///
/// # Errors
/// `FailedFunction` when a cell cannot be printed, such as a time in an unknown time zone.
pub(crate) fn printed(batch: &RecordBatch) -> Result<String> {
    let options = FormatOptions::default().with_display_error(true);
    // Keys that are not public come from the data. They can contain line breaks and other control
    // characters.
    let text = |(field, array): (&Arc<Field>, &ArrayRef)| {
        let cells = ArrayFormatter::try_new(array, &options)?;
        let cells = (0..array.len()).map(|row| visible(&cells.value(row).to_string()));
        let cells: ArrayRef = Arc::new(StringArray::from_iter_values(cells));
        Ok((visible(&heading(field.name())), cells))
    };
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).map(text);
    let columns = columns.collect::<Result<Vec<_>, ArrowError>>().map_err(arrow)?;
    let table = RecordBatch::try_from_iter(columns).map_err(arrow)?;
    Ok(pretty_format_batches(&[table]).map_err(arrow)?.to_string())
}
/// Return a table unchanged if it can be printed. Whether a column can be printed depends only on
/// the type of the column. So this function tries to print only the first row.
///
/// # Errors
/// The errors of [`printed`].
pub(crate) fn printable(batch: RecordBatch) -> Result<RecordBatch> {
    printed(&batch.slice(0, batch.num_rows().min(1))).map(|_| batch)
}
/// Return the warning for an error that occurs after the budget was charged. After such an error,
/// the answer has the released values, so the release is not lost.
pub(crate) fn instead(error: &Error) -> String {
    format!("{error}\nThe budget is charged, so the answer has the released values instead.")
}

fn arrow(error: ArrowError) -> Error {
    Error::FailedFunction(format!(
        "the answer cannot be written as a table: {error}. Cast its columns to numbers or text"
    ))
}
/// Return a column with the values of the key at index `place`, one value for each of the groups.
fn key_column(plan: &Plan, groups: &[&Group], place: usize) -> ArrayRef {
    let kind = plan.keys.get(place).map_or(Type::Text, |key| key.kind);
    let texts = groups.iter().map(|group| group.get(place).map_or("", String::as_str));
    let values = texts.map(|text| Value::read_released(text, kind));
    match kind {
        Type::Boolean => Arc::new(BooleanArray::from_iter(values.map(|value| match value {
            Some(Value::Boolean(value)) => Some(value),
            _ => None,
        }))),
        Type::Integer => Arc::new(Int64Array::from_iter(values.map(|value| match value {
            Some(Value::Integer(value)) => Some(value),
            _ => None,
        }))),
        // A day of the calendar fits into 32 bits.
        Type::Date => Arc::new(Date32Array::from_iter(values.map(|value| match value {
            Some(Value::Date(day)) => i32::try_from(day).ok(),
            _ => None,
        }))),
        Type::Timestamp => {
            let times = values.map(|value| match value {
                Some(Value::Timestamp(time)) => Some(time),
                _ => None,
            });
            Arc::new(TimestampMicrosecondArray::from_iter(times))
        }
        _ => Arc::new(StringArray::from_iter(values.map(|value| match value {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }))),
    }
}
/// Return the released table that replaces the aggregate node in the plan of the query. The table
/// has the keys and the released values. `types` are the types of the columns of the aggregate
/// node. If a released number does not fit into its type, it becomes the nearest value of the type.
pub(crate) fn aggregate_table(
    plan: &Plan,
    noisy: &Noisy,
    columns: &[ReleasedColumn],
    types: &[DataType],
) -> Result<RecordBatch> {
    let groups: Vec<&Group> = noisy.groups.iter().collect();
    let keys = (0..plan.keys.len()).map(|place| key_column(plan, &groups, place));
    let values = columns.iter().map(|column| {
        Arc::new(Float64Array::from_iter_values(column.cells.iter().map(|cell| cell.value)))
            as ArrayRef
    });
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (k, (array, to)) in keys.chain(values).zip(types).enumerate() {
        let array = match (array.data_type(), to) {
            (DataType::Float64, DataType::Int64) => whole(&array),
            _ => cast(&array, to).map_err(arrow)?,
        };
        fields.push(Field::new(format!("c{k}"), array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(arrow)
}
fn whole(array: &ArrayRef) -> ArrayRef {
    use datafusion::arrow::datatypes::Float64Type;
    // This cast from a float to an integer saturates: a float out of range becomes the smallest or
    // the largest `i64`.
    let floats = array.as_primitive::<Float64Type>().iter();
    Arc::new(Int64Array::from_iter(floats.map(|x| x.map(|x| x.round() as i64))))
}
/// The name of an aggregate, its released cells, and the parts of its loss, such as an epsilon and
/// a delta.
pub(crate) type Named = (String, ReleasedColumn, Vec<f64>);

/// Return a table with one row for each released number. `parts` are the names of the parts of a
/// loss.
pub(crate) fn value_table(
    plan: &Plan,
    noisy: &Noisy,
    columns: &[Named],
    parts: &[&str],
) -> Result<RecordBatch> {
    let groups: Vec<&Group> = columns.iter().flat_map(|_| &noisy.groups).collect();
    let cells = || columns.iter().flat_map(|(_, column, _)| column.cells.iter());
    let each = |number: &dyn Fn(&Named) -> Option<f64>| {
        let repeated = columns
            .iter()
            .flat_map(|column| std::iter::repeat_n(number(column), column.1.cells.len()));
        Arc::new(Float64Array::from_iter(repeated)) as ArrayRef
    };
    let names = columns
        .iter()
        .flat_map(|(name, column, _)| std::iter::repeat_n(Some(name.as_str()), column.cells.len()));
    let mut named: Vec<(String, ArrayRef)> = Vec::new();
    for (place, key) in plan.keys.iter().enumerate() {
        named.push((key.name.clone(), key_column(plan, &groups, place)));
    }
    let floats = |values: Vec<Option<f64>>| Arc::new(Float64Array::from_iter(values)) as ArrayRef;
    named.push(("aggregate".into(), Arc::new(StringArray::from_iter(names))));
    named.push(("value".into(), floats(cells().map(|cell| Some(cell.value)).collect())));
    named.push(("scale".into(), each(&|(_, column, _)| Some(column.scale))));
    let lower = cells().map(|cell| cell.interval.map(|(low, _)| low)).collect();
    let upper = cells().map(|cell| cell.interval.map(|(_, high)| high)).collect();
    named.push(("lower".into(), floats(lower)));
    named.push(("upper".into(), floats(upper)));
    for (k, part) in parts.iter().enumerate() {
        let loss = |(_, _, losses): &Named| losses.get(k).copied();
        named.push(((*part).to_owned(), each(&loss)));
    }
    let fields: Vec<Field> = named
        .iter()
        .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
        .collect();
    let arrays = named.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(arrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_break_in_a_cell_does_not_split_the_row() {
        let keys: ArrayRef =
            Arc::new(StringArray::from(vec![Some("a\nb\u{1b}[2J"), Some("c"), None]));
        let counts: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.5, -3.0]));
        let batch = RecordBatch::try_from_iter([("key", keys), ("n\r", counts)]).unwrap();
        let lines = [
            "+---------+------+",
            "| key     | n\u{fffd}   |",
            "+---------+------+",
            "| a\u{fffd}b\u{fffd}[2J | 1.0  |",
            "| c       | 2.5  |",
            "|         | -3.0 |",
            "+---------+------+",
        ];
        assert_eq!(printed(&batch).unwrap(), lines.join("\n"));
    }
}
