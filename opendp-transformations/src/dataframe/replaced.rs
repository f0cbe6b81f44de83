//! Replaces a column of a frame. A function computes the new cells from the old cells.

use std::sync::Arc;

use opendp_core::{
    Atom, Cell, Chunk, Column, ColumnDomain, DataFrame, DataFrameDomain, DatasetMetric, FrameChunk,
    Function, HashableAtom, MetricOn, Result, Space, StabilityMap, Transformation,
};

use crate::dataframe::select_column::column;
use crate::rows::round_cast::{RoundCast, defaults};

/// A function that returns the label of a function of rows.
pub(crate) type Words = Box<dyn Fn() -> String + Send + Sync>;

/// Replace a column. Each new cell depends only on the old cell of the same row. The arguments of
/// `cells` are the old cells of a chunk and the number of rows of the chunk. If the column is
/// absent or has another type, the first argument is `None`.
pub(crate) fn replaced<K, M, T>(
    input: Space<DataFrameDomain<K>, M>,
    name: K,
    made: ColumnDomain,
    label: Words,
    cells: impl Fn(Option<&[T]>, usize) -> Result<Column> + Send + Sync + 'static,
) -> Result<Transformation<DataFrameDomain<K>, M, DataFrameDomain<K>, M>>
where
    K: HashableAtom,
    M: DatasetMetric + MetricOn<DataFrameDomain<K>>,
    T: Cell,
{
    let column_of = move |rows: FrameChunk<'_, K>, name: &K| cells(rows.cells(name), rows.rows());
    put(input, name, made, label, Arc::new(column_of), has::<K, T>)
}
/// Cast the cells of a column. If there are no cells, return default values.
pub(crate) fn cast_cells<I, O>(cells: Option<&[I]>, rows: usize) -> Result<Column>
where
    O: Atom + RoundCast<I>,
{
    let mut made: Vec<O> = Vec::with_capacity(rows);
    defaults(cells.unwrap_or_default(), &mut made)?;
    made.resize(rows, O::default());
    Ok(Column::new(made))
}

/// A function that makes a column from the rows of a chunk and the name of a column.
type Made<K> = Arc<dyn Fn(FrameChunk<'_, K>, &K) -> Result<Column> + Send + Sync>;

fn has<K: HashableAtom, T: Cell>(domain: &DataFrameDomain<K>, name: &K) -> Result<()> {
    column::<K, T>(domain, name, "column_name").map(|_| ())
}
/// Replace a column by the result of `make`. This function is compiled once for all types of cells.
fn put<K, M>(
    input: Space<DataFrameDomain<K>, M>,
    name: K,
    made: ColumnDomain,
    label: Words,
    column: Made<K>,
    check: fn(&DataFrameDomain<K>, &K) -> Result<()>,
) -> Result<Transformation<DataFrameDomain<K>, M, DataFrameDomain<K>, M>>
where
    K: HashableAtom,
    M: DatasetMetric + MetricOn<DataFrameDomain<K>>,
{
    check(input.domain(), &name)?;
    let domain = input.domain().clone().with_column(name.clone(), made);
    let empty = domain.empty();
    let output = Space::new(domain, input.metric().clone())?;
    let replace = move |rows: FrameChunk<'_, K>, out: &mut DataFrame<K>| {
        out.append(rows.with_column(&name, column(rows, &name)?)?);
        Ok(())
    };
    let function = Function::rows_onto(empty, replace).labelled(label);
    Ok(Transformation::new(input, output, function, StabilityMap::identity()))
}
