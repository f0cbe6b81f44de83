//! A domain for tests. A third party can define such a domain. The domain has a condition on all
//! rows together.

use std::slice;

use opendp_core::{Domain, Function, Space, UserDistance, named};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::{columns, values};

/// The set of all columns of numbers in ascending order. If records of several such columns are put
/// together, the result need not be in ascending order. So this domain does not
/// [recombine](Domain::recombines).
#[derive(Clone, Debug, PartialEq)]
struct Ascending;
impl Domain for Ascending {
    type Carrier = Vec<f64>;
    fn member(&self, rows: &Vec<f64>) -> bool {
        rows.is_sorted()
    }
}
named!(Ascending as "acme::Ascending");

/// Copy a column of numbers with a function that accepts rows in chunks. The numbers must be in
/// ascending order. Return `None` if the column is not an array.
#[pyfunction]
pub(crate) fn copy_ascending<'py>(
    column: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = column.py();
    let space = Space::new(Ascending, UserDistance::new("rows")).or_raise(py)?.erase();
    let copy: Function<Vec<f64>, Vec<f64>> = Function::rows(|rows: &[f64], copy: &mut Vec<f64>| {
        copy.extend_from_slice(rows);
        Ok(())
    });
    let copied = columns::run(slice::from_ref(column), &copy.erase(), space.domain());
    copied.map(|copied| values::to_python(py, &copied?)).transpose()
}
