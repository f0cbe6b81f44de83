//! Mechanisms of other crates on the rows of a column.

use std::fmt;

use opendp_core::erased::{AnyDomain, AnyMeasure, AnyMeasurement, AnyMetric, AnyValue};
use opendp_core::{Atom, Carrier, Error, Measure, Result, Space};
use opendp_measurements::Scale;

use super::super::chain::{ColumnSpace, OfColumn, of_base, release_of_tables};
use super::super::draft::{Build, Draft};
use super::super::terms::OTHER;
use super::super::{BudgetMeasure, Question};
use super::Rows;

impl<'c, MO: BudgetMeasure, T: Atom> Rows<'c, MO, T> {
    /// Run a mechanism for which a context has no method, such as a mechanism of your own. `what`
    /// is the name of the statistic in reports.
    ///
    /// `make` takes the space of the rows and a scale of noise, and makes a measurement of the
    /// rows. The measurement states its loss in the measure [`BudgetMeasure::Base`]: an epsilon, or
    /// a rho if the budget is a rho. The loss must not grow with the scale. If the measurement
    /// bounds differences between scores, this bound is not the error of the answer, so no error is
    /// known.
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
    /// # let cities = (0..1000).map(|i| format!("city {}", i % 30)).collect();
    /// # let table = Table::new().with("city", cities)?;
    /// # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
    /// use opendp_measurements::make_laplace;
    /// use opendp_transformations::make_count_distinct;
    ///
    /// let context = Context::new(table, unit, budget, Split::evenly(2)?)?;
    /// let cities = context.query().column::<String>("city");
    /// let question = cities
    ///     .mechanism("number of values", |rows, scale| {
    ///         let count = make_count_distinct::<_, _, i64>(rows)?;
    ///         count.then(|count| make_laplace(count, scale, None))
    ///     })
    ///     .noise()?;
    /// assert_eq!((question.loss()?, question.scale()), (0.5, 2.0));
    /// println!("about {}", question.release()?.value);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Precondition
    /// `make` does not read private data, and makes the same measurement in each call with the same
    /// scale. The privacy map of the measurement is a bound on its loss.
    ///
    /// # Map
    /// The map is the composition of the maps of the steps and of the map of the measurement.
    /// Neighbouring tables are at the distance of the unit of privacy.
    ///
    /// # Proof
    /// The release is the measurement on the rows of the table. Reading the rows and the steps are
    /// transformations, so the maps compose. The query is charged for this loss, and not for the
    /// share that the search for the scale has used. So the charge is right even if the loss grows
    /// with the scale. But then the search can miss a scale that fits the share.
    pub fn mechanism<TO: Carrier>(
        self,
        what: &str,
        make: impl Fn(ColumnSpace<T>, Scale) -> Result<OfColumn<T, MO::Base, TO>>
        + Send
        + Sync
        + 'static,
    ) -> Mechanism<'c, MO, TO> {
        let build = self.chain.map(|steps| -> Build<MO, TO> {
            let (space, source) = (self.query.context.space().clone(), self.query.source.clone());
            let measure = self.query.context.measure().clone();
            Box::new(move |dials| {
                let made = |rows: ColumnSpace<T>| {
                    let made = make(rows.clone(), dials.scale)?;
                    // The type of the measure can stand for several measures.
                    check_measure(&measure.base(), &made.measure().erased())?;
                    on_rows(&rows, made)
                };
                let release = steps.measure(made)?;
                Ok(of_base(&measure, &release_of_tables(&space, release, source.reader())))
            })
        });
        Mechanism(self.query.draft(format!("{what} of `{}`", self.name), OTHER, build))
    }
    /// Run a mechanism whose types are known only at run time, such as a mechanism that a document
    /// describes. `make` takes the erased space of the rows and the value of a parameter.
    /// Otherwise, this function does the same as [`mechanism`](Rows::mechanism). The parameter does
    /// not have to be a scale of noise: see [`Mechanism::solve_parameter`].
    ///
    /// # Precondition
    /// The precondition of [`mechanism`](Rows::mechanism).
    pub fn erased_mechanism(
        self,
        what: &str,
        make: impl Fn(&Space<AnyDomain, AnyMetric>, f64) -> Result<AnyMeasurement>
        + Send
        + Sync
        + 'static,
    ) -> Mechanism<'c, MO, AnyValue> {
        let measure = self.measure().clone();
        self.mechanism(what, move |rows: ColumnSpace<T>, parameter| {
            let space = rows.erase();
            let made = make(&space, parameter.value())?;
            check_space(&space, made.input())?;
            // `typed` gives the measure of the budget to any measurement with a fitting type.
            check_measure(&measure.base(), made.measure())?;
            measure.typed(&made)
        })
    }
}
/// Check that a mechanism of rows takes exactly these rows. A mechanism on another space, such as
/// rows with narrower bounds, would claim a loss that is wrong for these rows. If the mechanism
/// bounds differences between scores, drop these bounds, because they do not bound the error of its
/// answer.
fn on_rows<T: Atom, MB: Measure, TO: Carrier>(
    rows: &ColumnSpace<T>,
    made: OfColumn<T, MB, TO>,
) -> Result<OfColumn<T, MB, TO>> {
    if made.input() != rows {
        check_space(&rows.erase(), &made.input().erase())?;
    }
    Ok(if made.bounds_scores() { made.with_accuracy(|_| Ok(vec![None])) } else { made })
}
fn check_space(
    rows: &Space<AnyDomain, AnyMetric>,
    found: &Space<AnyDomain, AnyMetric>,
) -> Result<()> {
    if rows == found {
        return Ok(());
    }
    Err(Error::MakeMeasurement(format!(
        "the mechanism takes data of the space {}, but the rows are in the space {}: make the \
         mechanism from the space of the rows",
        found.to_json(),
        rows.to_json()
    )))
}
fn check_measure(base: &impl Measure, found: &AnyMeasure) -> Result<()> {
    if *found == base.erased() {
        return Ok(());
    }
    Err(Error::MakeMeasurement(format!(
        "the mechanism states its loss in the measure {}, and this budget needs the measure {}: \
         use another mechanism, or another kind of budget",
        found.to_json(),
        base.to_json()
    )))
}

/// A mechanism of another crate, before its noise is known. [`Rows::mechanism`] makes it.
pub struct Mechanism<'c, MO: BudgetMeasure, TO: Carrier>(Draft<'c, MO, TO>);
impl<'c, MO: BudgetMeasure, TO: Carrier> Mechanism<'c, MO, TO> {
    /// Find the least scale with which the mechanism fits the query's share of the budget.
    ///
    /// # Errors
    /// The errors of earlier steps and of the function that makes the mechanism, at scale 0.
    /// `MakeMeasurement` when the mechanism does not take the rows of the query.
    /// `BudgetExceeded` when the mechanism fits at no scale. The errors of
    /// [`Statistic::noise`](super::Statistic::noise).
    pub fn noise(self) -> Result<Question<'c, MO, TO>> {
        self.0.solve()
    }
    /// Find the value of the parameter with which the mechanism fits the query's share of the
    /// budget. On one side of a boundary, the mechanism fits. The result is the value on this side
    /// that is nearest to the boundary: the least scale, or the largest probability. Values below 0
    /// are not tried. The search leaves out values at which the mechanism cannot be made. The
    /// search tries values of every magnitude, but not every value.
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
    /// # use opendp_core::Error;
    /// # let table = Table::new().with("age", vec![31_i64, 58, 44])?;
    /// # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
    /// use opendp_measurements::{Scale, make_laplace};
    /// use opendp_transformations::make_count;
    ///
    /// // The parameter is an epsilon from 0.01 to 100, and not a scale.
    /// let context = Context::new(table, unit, budget, Split::evenly(1)?)?;
    /// let question = context.query().column::<i64>("age").mechanism("rows", |rows, epsilon| {
    ///     let epsilon = epsilon.value();
    ///     if !(0.01..=100.0).contains(&epsilon) {
    ///         return Err(Error::argument("epsilon", "expected a number from 0.01 to 100"));
    ///     }
    ///     let scale = Scale::new(1.0 / epsilon)?;
    ///     make_count::<_, _, i64>(rows)?.then(|count| make_laplace(count, scale, None))
    /// });
    /// let question = question.solve_parameter()?;
    /// assert!(0.999 < question.scale() && question.scale() <= 1.0); // the epsilon
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of earlier steps. The error of the function that makes the mechanism, if the
    /// mechanism can be made at no value that was tried. `BudgetExceeded` when the mechanism fits
    /// at no value. `Search` when the mechanism fits at every value, or when the search needs a
    /// value at which the mechanism cannot be made.
    pub fn solve_parameter(self) -> Result<Question<'c, MO, TO>> {
        self.0.solve_parameter()
    }
    /// Use a given scale, if the cost of the mechanism fits the query's share of the budget. Use
    /// this function for a mechanism that ignores the scale.
    ///
    /// # Errors
    /// The errors of [`Scale::new`], of [`noise`](Mechanism::noise), and of the function that makes
    /// the mechanism. `BudgetExceeded` when the cost does not fit the share.
    pub fn noise_of_scale(self, scale: f64) -> Result<Question<'c, MO, TO>> {
        self.0.of_scale(scale)
    }
}
impl<MO: BudgetMeasure, TO: Carrier> fmt::Debug for Mechanism<'_, MO, TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mechanism").field("query", &self.0.terms.words).finish_non_exhaustive()
    }
}
