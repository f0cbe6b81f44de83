//! Replaces a column of a frame. A function computes the new cells from the old cells.

use std::sync::Arc;

use opendp_core::{
    Atom, Cell, Chunk, Column, ColumnDomain, DataFrame, DataFrameDomain, DatasetMetric, FrameChunk,
    Function, HashableAtom, MetricOn, Result, Space, StabilityMap, Transformation,
};

use crate::dataframe::select_column::column;
use crate::rows::round_cast::{RoundCast, defaults};

/// A function that returns a label. The label identifies the function that is applied to rows.
pub(crate) type Words = Box<dyn Fn() -> String + Send + Sync>;

/// A function that computes the new cells of a column from the rows of a chunk and the name of the
/// column. Each new cell must depend only on the old cell of the same row.
pub(crate) type NewCells<K> = Arc<dyn Fn(FrameChunk<'_, K>, &K) -> Result<Column> + Send + Sync>;

/// Check that the schema contains the column `name` with cells of type `T`. If there is no schema,
/// there is nothing to check.
pub(crate) fn has<K: HashableAtom, T: Cell>(domain: &DataFrameDomain<K>, name: &K) -> Result<()> {
    column::<K, T>(domain, name, "column_name").map(|_| ())
}
/// Cast the cells of a column. If the column is absent or does not have type `I`, return default
/// values of type `O`.
pub(crate) fn cast_cells<K, I, O>(rows: FrameChunk<'_, K>, name: &K) -> Result<Column>
where
    K: HashableAtom,
    I: Cell,
    O: Atom + RoundCast<I>,
{
    column_of::<O>(rows.rows(), &rows.cells::<I>(name).unwrap_or_default())
}
/// Cells that can be cast to cells of type `O`.
trait Casts<O> {
    /// Append the cast of each cell to `made`.
    fn append_to(&self, made: &mut Vec<O>) -> Result<()>;
}
impl<I, O: Atom + RoundCast<I>> Casts<O> for &[I] {
    fn append_to(&self, made: &mut Vec<O>) -> Result<()> {
        defaults(self, made)
    }
}
/// Make a column of `rows` cells from all old cells, or from no cells if the column is missing.
fn column_of<O: Atom>(rows: usize, cells: &dyn Casts<O>) -> Result<Column> {
    let mut made = Vec::with_capacity(rows);
    cells.append_to(&mut made)?;
    made.resize(rows, O::default());
    Ok(Column::new(made))
}
/// Replace the column `name`. `made` is the domain of the new cells. `check` returns an error if a
/// known schema does not contain the old column with the required type. This function is compiled
/// once for all types of cells.
pub(crate) fn replaced<K, M>(
    input: Space<DataFrameDomain<K>, M>,
    name: K,
    made: ColumnDomain,
    label: Words,
    cells: NewCells<K>,
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
        out.append(rows.with_column(&name, cells(rows, &name)?)?);
        Ok(())
    };
    let function = Function::rows_onto(empty, replace).labelled(label);
    Ok(Transformation::new(input, output, function, StabilityMap::identity()))
}
