//! Mechanisms of other crates on the rows of a column.

use std::fmt;

use opendp_core::{Atom, Carrier, Result};
use opendp_measurements::Scale;

use super::super::chain::{ColumnSpace, OfColumn, of_base, release_of_tables};
use super::super::draft::{Build, Draft};
use super::super::{Accounted, Question};
use super::Rows;

/// The name that answers and reports give to the kind of noise of such a mechanism.
const OTHER: &str = "other";

impl<'c, MO: Accounted, T: Atom> Rows<'c, MO, T> {
    /// Run a mechanism for which a context has no method, such as a mechanism of your own. `what`
    /// is the name of the statistic in reports.
    ///
    /// `make` takes the space of the rows and a scale of noise, and makes a measurement of the
    /// rows. The measurement states its loss in the measure [`Accounted::Base`]: an epsilon, or a
    /// rho if the budget is a rho. The loss must not grow with the scale.
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
            Box::new(move |dials| {
                let release = steps.measure(|rows| make(rows, dials.scale))?;
                Ok(of_base(&release_of_tables(&space, release, source.reader())))
            })
        });
        Mechanism(self.query.draft(format!("{what} of `{}`", self.name), OTHER, build))
    }
}

/// A mechanism of another crate, before its noise is known. [`Rows::mechanism`] makes it.
pub struct Mechanism<'c, MO: Accounted, TO: Carrier>(Draft<'c, MO, TO>);
impl<'c, MO: Accounted, TO: Carrier> Mechanism<'c, MO, TO> {
    /// Find the least scale with which the mechanism fits the query's share of the budget.
    ///
    /// # Errors
    /// The errors of earlier steps and of the function that makes the mechanism, at scale 0.
    /// `BudgetExceeded` when the mechanism fits at no scale. The errors of
    /// [`Statistic::noise`](super::Statistic::noise).
    pub fn noise(self) -> Result<Question<'c, MO, TO>> {
        self.0.solve()
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
impl<MO: Accounted, TO: Carrier> fmt::Debug for Mechanism<'_, MO, TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mechanism").field("query", &self.0.terms.words).finish_non_exhaustive()
    }
}
