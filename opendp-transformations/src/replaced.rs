//! A column of a frame that is made of another one.

use std::sync::Arc;

use opendp_core::{
    Atom, Cell, Chunk, Column, ColumnDomain, DataFrame, DataFrameDomain, DatasetMetric, FrameChunk,
    Function, HashableAtom, MetricOn, Result, Space, StabilityMap, Transformation,
};

use crate::round_cast::{RoundCast, defaults};
use crate::select_column::column;

/// Put another column in place of one, made of each of its cells alone. The function gets the cells
/// of a chunk, or none where they are not there or of another type, and their number.
pub(crate) fn replaced<K, M, T>(
    input: Space<DataFrameDomain<K>, M>,
    name: K,
    made: ColumnDomain,
    cells: impl Fn(Option<&[T]>, usize) -> Result<Column> + Send + Sync + 'static,
) -> Result<Transformation<DataFrameDomain<K>, M, DataFrameDomain<K>, M>>
where
    K: HashableAtom,
    M: DatasetMetric + MetricOn<DataFrameDomain<K>>,
    T: Cell,
{
    let of = move |rows: FrameChunk<'_, K>, name: &K| cells(rows.cells(name), rows.rows());
    put(input, name, made, Arc::new(of), has::<K, T>)
}
/// Cast the cells of a column, where there are any, and give their default value elsewhere.
pub(crate) fn cast_cells<I, O>(cells: Option<&[I]>, rows: usize) -> Result<Column>
where
    O: Atom + RoundCast<I>,
{
    let mut made: Vec<O> = Vec::with_capacity(rows);
    defaults(cells.unwrap_or_default(), &mut made)?;
    made.resize(rows, O::default());
    Ok(Column::new(made))
}

/// A column that is made of the rows of a chunk and of the name of one.
type Made<K> = Arc<dyn Fn(FrameChunk<'_, K>, &K) -> Result<Column> + Send + Sync>;

fn has<K: HashableAtom, T: Cell>(domain: &DataFrameDomain<K>, name: &K) -> Result<()> {
    column::<K, T>(domain, name, "column_name").map(|_| ())
}
/// This is compiled once, whatever the types of the cells are.
fn put<K, M>(
    input: Space<DataFrameDomain<K>, M>,
    name: K,
    made: ColumnDomain,
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
    let map = StabilityMap::identity();
    Ok(Transformation::new(input, output, Function::rows_onto(empty, replace), map))
}
