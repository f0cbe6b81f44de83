//! Functions that return one statistic in one call, for a program with a single question.
//!
//! The caller states an epsilon, which is read as a decimal number: 0.7 means 7/10. The loss of the
//! answer is at most this epsilon. A function returns the statistic and its loss. If an interval is
//! known, the function also returns this interval. The interval contains the true statistic with a
//! probability of at least 95 %. By default, the number of rows is private, and neighbouring tables
//! differ in one added or removed row. With [`PublicSize`], the number of rows is public, and
//! neighbouring tables differ in the values of one row.
//!
//! ```
//! use opendp_analysis::statistics::{PublicSize, count, mean, median};
//! let ages: Vec<i64> = (0..1000).map(|i| i % 90).collect();
//!
//! let people = count(&ages, 0.5)?;
//! assert!(people.loss <= 0.5); // an epsilon
//! let (low, high) = people.interval.unwrap();
//! assert!(low <= people.value && people.value <= high);
//!
//! let age = mean(&ages, 0.5, (0.0, 100.0))?; // the bounds must not be taken from the data
//! let same = mean(PublicSize(&ages), 0.5, (0.0, 100.0))?;
//! let middle = median(&ages, 0.5, (0..100).map(f64::from).collect())?;
//! # let _ = (age, same, middle);
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! The losses of several calls add up, and these functions keep no account of losses. To ask
//! several questions about one table, use a [`Context`]. A missing number (NaN) counts as 0. If a
//! function has bounds, the numbers are then clamped to these bounds.

use opendp_core::arith::check_range;
use opendp_core::{Atom, Error, MaxDivergence, Result};
use opendp_transformations::Key;

use crate::context::{Groups, Rows, Statistic, written_up};
use crate::{Budget, Context, PrivacyUnit, Split, Table};

/// The largest probability with which an interval misses the true number.
const ALPHA: f64 = Context::<MaxDivergence>::ALPHA;

/// Rows whose number is public.
#[allow(missing_debug_implementations, reason = "data are not printed")]
pub struct PublicSize<'a, T>(pub &'a [T]);

/// Rows, and whether their number is public.
#[allow(missing_debug_implementations, reason = "data are not printed")]
pub struct Data<'a, T> {
    rows: &'a [T],
    public_size: bool,
}
impl<'a, T> From<&'a [T]> for Data<'a, T> {
    fn from(rows: &'a [T]) -> Self {
        Data { rows, public_size: false }
    }
}
impl<'a, T> From<&'a Vec<T>> for Data<'a, T> {
    fn from(rows: &'a Vec<T>) -> Self {
        Data { rows, public_size: false }
    }
}
impl<'a, T> From<PublicSize<'a, T>> for Data<'a, T> {
    fn from(PublicSize(rows): PublicSize<'a, T>) -> Self {
        Data { rows, public_size: true }
    }
}

/// A number that was released.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Private {
    /// The released value of the number.
    pub value: f64,
    /// An interval that contains the true number with a probability of at least 95 %, if such an
    /// interval is known. The interval includes the error of noise. It excludes the errors of
    /// clamping and of replacing NaN by 0.
    pub interval: Option<(f64, f64)>,
    /// The loss: an epsilon, rounded up to a float as in
    /// [`Report::to_json`](crate::context::Report::to_json). The loss is at most the stated
    /// epsilon.
    pub loss: f64,
}

/// Count the rows. A public number of rows is returned without noise and without a loss.
///
/// # Errors
/// `Argument` when epsilon is not positive and finite. `BudgetExceeded` or `MakeTransformation`
/// when epsilon is so small that the noise would exceed all floats. `NoEntropy` when the operating
/// system gives no random bits.
pub fn count<'a, T: Atom>(rows: impl Into<Data<'a, T>>, epsilon: f64) -> Result<Private> {
    let data = rows.into();
    if data.public_size {
        Budget::epsilon(epsilon)?;
        let value = data.rows.len() as f64;
        return Ok(Private { value, interval: Some((value, value)), loss: 0.0 });
    }
    let column = vec![false; data.rows.len()];
    in_one_group(Table::new().with(GROUP, column)?, epsilon, |groups| groups.count())
}
/// Replace NaN by 0, clamp the rows to bounds, and sum them. To leave out missing rows, remove them
/// before the call.
///
/// # Errors
/// The errors of [`count`]. `Argument` also when rows are not numbers, when a bound is not finite,
/// or when the lower bound exceeds the upper bound. `Argument`, `BudgetExceeded`,
/// `MakeTransformation` or `Overflow` when the bounds are so large or so near to 0 that floats
/// cannot represent a sum, or a number of the search for the noise.
pub fn sum<'a, T: Atom>(
    rows: impl Into<Data<'a, T>>,
    epsilon: f64,
    bounds: (f64, f64),
) -> Result<Private> {
    clamped(rows.into(), epsilon, bounds, |groups| groups.sum(ROWS, bounds), |rows| rows.sum())
}
/// Replace NaN by 0, clamp the rows to bounds, and take their mean. If the number of rows is
/// private, the mean is a sum divided by a count. The sum and the count each take half of epsilon.
///
/// # Errors
/// The errors of [`sum`]. `Argument` also when the number of rows is public and 0.
pub fn mean<'a, T: Atom>(
    rows: impl Into<Data<'a, T>>,
    epsilon: f64,
    bounds: (f64, f64),
) -> Result<Private> {
    let rows = rows.into();
    check_rows(&rows, 1)?;
    clamped(rows, epsilon, bounds, |groups| groups.mean(ROWS, bounds), |rows| rows.mean())
}
/// Replace NaN by 0, clamp the rows to bounds, and take their variance. The divisor of the variance
/// is the number of rows minus 1. If the number of rows is private, the variance is computed from a
/// count, a sum and a sum of squares. Each of these three takes a third of epsilon.
///
/// # Errors
/// The errors of [`sum`]. `Argument` also when the number of rows is public and below 2.
pub fn variance<'a, T: Atom>(
    rows: impl Into<Data<'a, T>>,
    epsilon: f64,
    bounds: (f64, f64),
) -> Result<Private> {
    let rows = rows.into();
    check_rows(&rows, 2)?;
    clamped(rows, epsilon, bounds, |groups| groups.variance(ROWS, bounds), |rows| rows.variance())
}
/// Replace NaN by 0, and choose a candidate near a quantile of the rows, by noisy distances in
/// rank. No interval is known.
///
/// # Errors
/// The errors of [`count`]. `Argument` also when rows are not numbers. `MakeTransformation` when
/// `alpha` is not from 0 to 1. The errors of
/// [`make_private_quantile`](crate::make_private_quantile).
pub fn quantile<'a, T: Atom>(
    rows: impl Into<Data<'a, T>>,
    epsilon: f64,
    alpha: f64,
    candidates: Vec<f64>,
) -> Result<Private> {
    let data = rows.into();
    let context = open(numbers(&data)?, data.public_size, epsilon)?;
    let rows = context.query().spending(Budget::epsilon(epsilon)?).column(ROWS).impute(0.0);
    let chosen = rows.quantile(alpha, candidates).choose()?.release()?;
    finished(&context, chosen.value, None)
}
/// Choose a candidate near the median of the rows, by noisy distances in rank. No interval is
/// known.
///
/// # Errors
/// The errors of [`quantile`].
pub fn median<'a, T: Atom>(
    rows: impl Into<Data<'a, T>>,
    epsilon: f64,
    candidates: Vec<f64>,
) -> Result<Private> {
    quantile(rows, epsilon, 0.5, candidates)
}
/// Count the rows of each category, and leave out rows of other categories. The field `loss` of
/// each count is the loss of all counts together.
///
/// # Errors
/// The errors of [`count`]; `MakeTransformation` when a category occurs twice.
pub fn histogram<'a, T: Key>(
    rows: impl Into<Data<'a, T>>,
    epsilon: f64,
    categories: &[T],
) -> Result<Vec<(T, Private)>> {
    let data = rows.into();
    let table = Table::new().with(ROWS, data.rows.to_vec())?;
    let context = open(table, data.public_size, epsilon)?;
    let rows = context.query().spending(Budget::epsilon(epsilon)?).column::<T>(ROWS);
    let counts = rows.histogram(categories.to_vec()).laplace()?.release()?;
    let counts = counts.estimates()?.iter().zip(categories);
    let each = counts.map(|(count, category)| {
        let interval = count.interval(ALPHA)?;
        Ok((category.clone(), finished(&context, count.value(), Some(interval))?))
    });
    each.collect()
}

const ROWS: &str = "rows";
const GROUP: &str = "group";

/// Make a table of one column of numbers.
fn numbers<T: Atom>(data: &Data<'_, T>) -> Result<Table> {
    let numbers = crate::context::numbers(data.rows.to_vec()).ok_or_else(|| {
        Error::argument("rows", format!("expected numbers, found {}", T::type_name()))
    });
    Table::new().with(ROWS, numbers?)
}
/// Make a table of two columns: the numbers, and a column that puts all rows in one group.
fn grouped<T: Atom>(data: &Data<'_, T>) -> Result<Table> {
    numbers(data)?.with(GROUP, vec![false; data.rows.len()])
}
/// If the number of rows is public, check that there are at least `least` rows.
fn check_rows<T>(data: &Data<'_, T>, least: usize) -> Result<()> {
    let rows = data.rows.len();
    if data.public_size && rows < least {
        let reason = format!("expected a public number of at least {least}, found {rows}");
        return Err(Error::argument("rows", reason));
    }
    Ok(())
}
/// Open a context for one question. One person has one row.
fn open(table: Table, public_size: bool, epsilon: f64) -> Result<Context<MaxDivergence>> {
    let unit = match public_size {
        true => PrivacyUnit::answers_of_person(1)?,
        false => PrivacyUnit::person(1)?,
    };
    Context::new(table, unit, Budget::epsilon(epsilon)?, Split::as_you_go())
}
/// Return a statistic of the rows, clamped to bounds. If the number of rows is private, all rows
/// are in one group, and `of_groups` asks for the statistic of this group. If the number of rows is
/// public, `of_rows` makes the statistic.
fn clamped<T: Atom>(
    data: Data<'_, T>,
    epsilon: f64,
    bounds: (f64, f64),
    of_groups: impl for<'c> FnOnce(Groups<'c, MaxDivergence>) -> Groups<'c, MaxDivergence>,
    of_rows: for<'c> fn(Rows<'c, MaxDivergence, f64>) -> Statistic<'c, MaxDivergence, f64>,
) -> Result<Private> {
    check_range(bounds)?;
    if !data.public_size {
        return in_one_group(grouped(&data)?, epsilon, of_groups);
    }
    let context = open(numbers(&data)?, true, epsilon)?;
    let rows = context.query().spending(Budget::epsilon(epsilon)?).column(ROWS).impute(0.0);
    let answer = of_rows(rows.clamp(bounds.0, bounds.1)).laplace()?.release()?;
    let interval = answer.interval(ALPHA)?;
    finished(&context, answer.value, Some(interval))
}
/// Return a statistic of all rows, which are in one group. The number of rows is private.
fn in_one_group(
    table: Table,
    epsilon: f64,
    ask: impl for<'c> FnOnce(Groups<'c, MaxDivergence>) -> Groups<'c, MaxDivergence>,
) -> Result<Private> {
    let context = open(table, false, epsilon)?;
    let groups = context.query().group_by([GROUP]).keys(GROUP, [false]).impute(ROWS, 0.0);
    let rows = ask(groups).release()?.rows(ALPHA)?;
    let Some(row) = rows.first() else {
        return Err(Error::FailedFunction("there is no answer".into()));
    };
    finished(&context, row.value, row.interval)
}
/// Return a released number together with its interval and the total loss of the context.
fn finished(
    context: &Context<MaxDivergence>,
    value: f64,
    interval: Option<(f64, f64)>,
) -> Result<Private> {
    let loss = context.report().exact_total().first().map_or(0.0, written_up);
    Ok(Private { value, interval, loss })
}

#[cfg(test)]
mod tests;
