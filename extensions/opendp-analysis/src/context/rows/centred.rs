//! Sums of signed distances from the middle of bounds. If the number of rows is private, a mean can
//! be computed from such a sum and a count.

use opendp_core::{AtomDomain, Bounds, Function, MaxDivergence, Result};
use opendp_measurements::accuracy::{Estimate, Ratio};
use opendp_transformations::make_clamp;

use super::super::chain::{Chain, ColumnSpace, Step};
use super::super::groups::Moments;
use super::super::{BudgetMeasure, Context, Goal, Noisy, Statistic};
use super::Rows;
use super::steps::{self, Steps};

/// The middle of the bounds of a column. Means are computed from the distances to this middle. Here
/// a distance has a sign: the distance of a number is the number minus the middle.
///
/// Suppose that the number of rows is private. Then a mean is a quotient of a noisy sum and a noisy
/// count. One row changes a sum of numbers from `lower` to `upper` by at most the larger magnitude
/// of the two bounds. One row changes a sum of distances from the middle by at most about half of
/// `upper - lower`. So the noise of the sum of distances usually has a smaller scale than the noise
/// of the sum of numbers. The middle is public, and is added to the quotient.
///
/// ```
/// # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
/// use opendp_analysis::context::Centre;
/// # let table = Table::new().with("age", (0..1000).map(|i| f64::from(i % 90)).collect())?;
/// # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
/// # let context = Context::new(table, unit, budget, Split::evenly(2)?)?;
/// let centre = Centre::of(0.0, 100.0)?;
/// let ages = context.query().column("age").impute(40.0);
/// let sum = ages.sum_around(&centre).laplace()?;
/// assert_eq!(sum.scale(), 100.0); // half of the width of the bounds, divided by an epsilon of 1/2
/// let sum = sum.release()?;
/// let count = context.query().count().laplace()?.release()?;
/// let (mean, (low, high)) = centre.mean(&sum.estimate()?, &count.estimate()?, 0.05)?;
/// assert!(low <= mean && mean <= high);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Centre(Moments);
impl Centre {
    /// Find the middle of bounds. The bounds must not be taken from the data.
    ///
    /// # Errors
    /// `Argument` when the bounds are not finite or not in order.
    pub fn of(lower: f64, upper: f64) -> Result<Self> {
        Moments::new((lower, upper), true).map(Centre)
    }
    /// Compute the mean and its interval from two estimates: the sum of
    /// [`sum_around`](Rows::sum_around), and a count. The interval contains the true mean of the
    /// clamped rows except with probability `alpha`. The scale of one noise may depend on the other
    /// released number.
    ///
    /// # Errors
    /// `InvalidDistance` when `alpha` is not in `(0, 1]`, or is too small to be divided by 2.
    pub fn mean(&self, sum: &Estimate, count: &Estimate, alpha: f64) -> Result<(f64, (f64, f64))> {
        self.mean_with(sum, count, alpha, None)
    }
    /// Compute the mean and its interval, as [`mean`](Centre::mean) does. The interval is shorter,
    /// but the scales of both noises must have been fixed before the first of the two numbers was
    /// released. So the share of the second number must not be chosen after a look at the first
    /// number, and the goal of [`within`](Centre::within) must not be used.
    ///
    /// [`Ratio`](opendp_measurements::accuracy::Ratio) states what is proved. If the noise on the
    /// count is cut off, or the two estimates have a noise in common, the interval is the interval
    /// of `mean`.
    ///
    /// # Errors
    /// The errors of [`mean`](Centre::mean).
    pub fn mean_at_fixed_scales(
        &self,
        sum: &Estimate,
        count: &Estimate,
        alpha: f64,
    ) -> Result<(f64, (f64, f64))> {
        let ratio = self.0.ratio(sum, count, alpha);
        self.mean_with(sum, count, alpha, ratio.as_ref())
    }
    fn mean_with(
        &self,
        sum: &Estimate,
        count: &Estimate,
        alpha: f64,
        ratio: Option<&Ratio>,
    ) -> Result<(f64, (f64, f64))> {
        let (mean, interval) = self.0.mean(sum, count, alpha, ratio)?;
        Ok((mean, interval.unwrap_or(self.0.column_bounds)))
    }
    /// Find a goal for [`sum_around`](Rows::sum_around) in a [`Plan`](crate::context::Plan), after
    /// the count was released. Suppose that there is at least one row. With this goal, the
    /// [mean](Centre::mean) is within `error` of the true mean, except with probability
    /// [`Context::ALPHA`]. This bound accounts for the error of the count, too.
    ///
    /// # Errors
    /// `Argument` when `error` is not a finite number above 0, or when the error of the count is
    /// too large. `Overflow` when a number exceeds all floats.
    pub fn within(&self, error: f64, count: &Estimate) -> Result<Goal> {
        let alpha = Context::<MaxDivergence>::ALPHA;
        self.0.within(error, std::slice::from_ref(count), alpha)
    }
}
impl<'c, MO: BudgetMeasure> Rows<'c, MO, f64>
where
    f64: Noisy<MO>,
{
    /// Clamp each row to the bounds of a [`Centre`], subtract the middle of these bounds, and sum
    /// the distances.
    pub fn sum_around(self, centre: &Centre) -> Statistic<'c, MO, f64> {
        let rows = self.step(|name, chain| around(chain, centre.0, name));
        let total = rows.total(steps::sum(&rows.chain, &rows.name));
        rows.number("sum", total)
    }
}
/// Clamp the rows, and subtract the centre. The distances are clamped, too.
fn around(chain: &Chain<f64>, moments: Moments, name: &str) -> Steps<f64> {
    let Moments { column_bounds, centre, bounds: (low, high), .. } = moments;
    let clamped = steps::clamp(chain, column_bounds, name, "sum_around")?;
    let near = clamped.step(|rows| distances(rows, centre))?;
    near.step(|rows| make_clamp(rows, Bounds::new(low, high)?))
}
/// Make the transformation that subtracts the centre from each row.
///
/// # Proof
/// The function acts on each row alone, so the distance between two vectors of rows does not grow.
/// The centre is finite, and rows are not NaN. So differences are not NaN.
fn distances(rows: ColumnSpace<f64>, centre: f64) -> Result<Step<f64>> {
    let subtract = Function::rows(move |rows: &[f64], near: &mut Vec<f64>| {
        let first = near.len();
        near.extend_from_slice(rows);
        for row in &mut near[first..] {
            *row -= centre;
        }
        Ok(())
    });
    Step::each_kept(rows, AtomDomain::non_nan(), true, subtract)
}
