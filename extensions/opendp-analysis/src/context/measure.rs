//! The measures of budgets, as the code of a context sees them.

use std::collections::HashMap;

use opendp_core::arith::{Exact, Number};
use opendp_core::erased::{AnyDistance, AnyMeasure, AnyMeasurement};
use opendp_core::{
    AbsoluteDistance, Approximate, Atom, AtomDomain, Carrier, Distance, Domain, Error,
    HashableAtom, MapDomain, MaxDivergence, Measure, Measurement, Metric, PrivacyMap, Result,
    Space, TheMeasure, ZeroConcentratedDivergence,
};
use opendp_measurements::accuracy::Noise;
use opendp_measurements::{AnySelectionMeasure, Scale, Selects, make_noise};
use opendp_transformations::Key;

use super::budget::{CountsDistance, CountsRelease};
use super::counts::Counts;
use super::draft::OfTable;
use super::{Accounted, Budget, Noisy, Question, Rows, Statistic};
use crate::make_truncated_laplace_threshold;

/// An [`Accounted`] measure, or [`AnyMeasure`], which stands for one of the three measures of
/// [`Budget`]. This trait is only implemented here.
///
/// A context with [`AnyMeasure`] chooses the measure of its budget at run time. So a program that
/// supports all budgets compiles the code of a context once, and not once for each measure.
///
/// ```
/// use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
/// # fn stated() -> &'static str { "rho" }
/// let table = Table::new().with("age", vec![31_i64, 58, 44])?;
/// let budget = match stated() {
///     "rho" => Budget::rho(0.5)?.erase(),
///     _ => Budget::epsilon(1.0)?.erase(),
/// };
/// let context = Context::new(table, PrivacyUnit::person(1)?, budget, Split::evenly(2)?)?;
/// assert_eq!(context.query().count().noise()?.mechanism(), "Gaussian");
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub trait BudgetMeasure: Measure {
    /// The measure in which mechanisms state their losses: see [`Accounted::Base`].
    type Base: Selects;
    /// Return the measure in which mechanisms state their losses.
    fn base(&self) -> Self::Base;
    /// Return the constants of [`Accounted`].
    fn facts(&self) -> Facts;
    /// Convert a loss, as [`Accounted::lift`] does.
    ///
    /// # Errors
    /// The errors of [`Accounted::lift`].
    fn lifted(&self, loss: f64) -> Result<Self::Distance>;
    /// Convert an exact loss, as [`Accounted::lift_exact`] does.
    ///
    /// # Errors
    /// The errors of [`Accounted::lift_exact`].
    fn lifted_exact(&self, loss: Vec<Exact>) -> Result<Vec<Exact>>;
    /// Convert an epsilon and a delta, as [`Accounted::lift_approximate`] does.
    ///
    /// # Errors
    /// The errors of [`Accounted::lift_approximate`].
    fn lifted_approximate(&self, loss: (f64, f64)) -> Result<Self::Distance>;
    /// Add the noise of [`base`](BudgetMeasure::base) to counts.
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "the trait is only implemented here")]
    fn noisy_counts(&self, counts: &Counts, scale: Scale) -> Result<OfTable<Self::Base, Vec<i64>>>;
    /// Recover the types of a measurement whose measure is [`base`](BudgetMeasure::base).
    ///
    /// # Errors
    /// The errors of [`AnyMeasurement::typed`].
    #[doc(hidden)]
    fn typed<DI: Domain, MI: Metric, TO: Carrier>(
        &self,
        made: &AnyMeasurement,
    ) -> Result<Measurement<DI, MI, Self::Base, TO>>;
}
/// The constants of an [`Accounted`] measure.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The value of [`Accounted::PARTS`].
    pub parts: &'static [&'static str],
    /// The value of [`Accounted::NOISE`].
    pub noise: &'static str,
    /// The value of [`Accounted::TIGHT`].
    pub tight: bool,
    /// The value of [`Accounted::SQUARES`].
    pub squares: bool,
}
impl Facts {
    const fn of<MO: Accounted>() -> Self {
        Facts { parts: MO::PARTS, noise: MO::NOISE, tight: MO::TIGHT, squares: MO::SQUARES }
    }
}
impl<MO: Accounted> BudgetMeasure for MO {
    type Base = MO::Base;
    fn base(&self) -> MO::Base {
        MO::Base::default()
    }
    fn facts(&self) -> Facts {
        const { Facts::of::<MO>() }
    }
    fn lifted(&self, loss: f64) -> Result<MO::Distance> {
        MO::lift(loss)
    }
    fn lifted_exact(&self, loss: Vec<Exact>) -> Result<Vec<Exact>> {
        MO::lift_exact(loss)
    }
    fn lifted_approximate(&self, loss: (f64, f64)) -> Result<MO::Distance> {
        MO::lift_approximate(loss)
    }
    #[allow(private_interfaces, reason = "the trait is only implemented here")]
    fn noisy_counts(&self, counts: &Counts, scale: Scale) -> Result<OfTable<MO::Base, Vec<i64>>> {
        let measure = TheMeasure(MO::Base::default());
        counts.in_norm::<MO::Norm>()?.then(|counts| make_noise(counts, measure, scale, None))
    }
    fn typed<DI: Domain, MI: Metric, TO: Carrier>(
        &self,
        made: &AnyMeasurement,
    ) -> Result<Measurement<DI, MI, MO::Base, TO>> {
        made.typed()
    }
}

/// The measures that [`AnyMeasure`] stands for.
#[derive(Clone, Copy)]
enum Kind {
    Pure,
    Approximate,
    Concentrated,
}
#[inline]
fn kind(measure: &AnyMeasure) -> Result<Kind> {
    if measure.downcast_ref::<MaxDivergence>().is_ok() {
        return Ok(Kind::Pure);
    }
    if measure.downcast_ref::<Approximate<MaxDivergence>>().is_ok() {
        return Ok(Kind::Approximate);
    }
    measure.downcast_ref::<ZeroConcentratedDivergence>().map(|_| Kind::Concentrated)
}
/// Only [`Budget::erase`] makes a budget with this measure. So the measure is one of the three
/// measures. For another measure, all conversions of losses return an error, so nothing is charged
/// or released.
///
/// The methods are `#[inline]`, so that only crates that erase a budget compile them.
impl BudgetMeasure for AnyMeasure {
    type Base = AnySelectionMeasure;
    #[inline]
    fn base(&self) -> AnySelectionMeasure {
        match kind(self) {
            Ok(Kind::Concentrated) => AnySelectionMeasure::Concentrated,
            _ => AnySelectionMeasure::Pure,
        }
    }
    #[inline]
    fn facts(&self) -> Facts {
        match kind(self) {
            Ok(Kind::Concentrated) => ZeroConcentratedDivergence.facts(),
            Ok(Kind::Approximate) => Approximate(MaxDivergence).facts(),
            _ => MaxDivergence.facts(),
        }
    }
    #[inline]
    fn lifted(&self, loss: f64) -> Result<AnyDistance> {
        Ok(match kind(self)? {
            Kind::Pure => AnyDistance::new(MaxDivergence::lift(loss)?),
            Kind::Approximate => AnyDistance::new(Approximate::<MaxDivergence>::lift(loss)?),
            Kind::Concentrated => AnyDistance::new(ZeroConcentratedDivergence::lift(loss)?),
        })
    }
    #[inline]
    fn lifted_exact(&self, loss: Vec<Exact>) -> Result<Vec<Exact>> {
        match kind(self)? {
            Kind::Pure => MaxDivergence::lift_exact(loss),
            Kind::Approximate => Approximate::<MaxDivergence>::lift_exact(loss),
            Kind::Concentrated => ZeroConcentratedDivergence::lift_exact(loss),
        }
    }
    #[inline]
    fn lifted_approximate(&self, loss: (f64, f64)) -> Result<AnyDistance> {
        Ok(match kind(self)? {
            Kind::Pure => AnyDistance::new(MaxDivergence::lift_approximate(loss)?),
            Kind::Approximate => {
                AnyDistance::new(Approximate::<MaxDivergence>::lift_approximate(loss)?)
            }
            Kind::Concentrated => {
                AnyDistance::new(ZeroConcentratedDivergence::lift_approximate(loss)?)
            }
        })
    }
    #[inline]
    #[allow(private_interfaces, reason = "the trait is only implemented here")]
    fn noisy_counts(
        &self,
        counts: &Counts,
        scale: Scale,
    ) -> Result<OfTable<AnySelectionMeasure, Vec<i64>>> {
        match self.base() {
            AnySelectionMeasure::Pure => Ok(pure(&MaxDivergence.noisy_counts(counts, scale)?)),
            AnySelectionMeasure::Concentrated => {
                Ok(concentrated(&ZeroConcentratedDivergence.noisy_counts(counts, scale)?))
            }
        }
    }
    fn typed<DI: Domain, MI: Metric, TO: Carrier>(
        &self,
        made: &AnyMeasurement,
    ) -> Result<Measurement<DI, MI, AnySelectionMeasure, TO>> {
        match self.base() {
            AnySelectionMeasure::Pure => Ok(pure(&made.typed()?)),
            AnySelectionMeasure::Concentrated => Ok(concentrated(&made.typed()?)),
        }
    }
}
impl<N> Noisy<AnyMeasure> for N
where
    N: Noisy<MaxDivergence> + Noisy<Approximate<MaxDivergence>>,
    N: Noisy<ZeroConcentratedDivergence> + Atom + Number + Distance,
{
    fn noisy(
        measure: &AnyMeasure,
        space: Space<AtomDomain<N>, AbsoluteDistance<N>>,
        scale: Scale,
    ) -> Result<Measurement<AtomDomain<N>, AbsoluteDistance<N>, AnySelectionMeasure, N>> {
        match measure.base() {
            AnySelectionMeasure::Pure => {
                Ok(pure(&Noisy::<MaxDivergence>::noisy(&MaxDivergence, space, scale)?))
            }
            AnySelectionMeasure::Concentrated => {
                let measure = ZeroConcentratedDivergence;
                Ok(concentrated(&Noisy::<ZeroConcentratedDivergence>::noisy(
                    &measure, space, scale,
                )?))
            }
        }
    }
    fn gaussian(
        space: Space<AtomDomain<N>, AbsoluteDistance<N>>,
        scale: Scale,
    ) -> Result<Measurement<AtomDomain<N>, AbsoluteDistance<N>, ZeroConcentratedDivergence, N>>
    {
        <N as Noisy<MaxDivergence>>::gaussian(space, scale)
    }
    fn discrete_gaussian(
        space: Space<AtomDomain<N>, AbsoluteDistance<N>>,
        scale: Scale,
    ) -> Result<Measurement<AtomDomain<N>, AbsoluteDistance<N>, ZeroConcentratedDivergence, N>>
    {
        <N as Noisy<MaxDivergence>>::discrete_gaussian(space, scale)
    }
    fn noise(measure: &AnyMeasure) -> fn(Scale, bool) -> Noise {
        match measure.facts().tight {
            true => <N as Noisy<Approximate<MaxDivergence>>>::noise(&Approximate(MaxDivergence)),
            false => <N as Noisy<MaxDivergence>>::noise(&MaxDivergence),
        }
    }
    fn is_cut_off() -> bool {
        <N as Noisy<MaxDivergence>>::is_cut_off()
    }
}
fn pure<DI: Domain, MI: Metric, TO: Carrier>(
    release: &Measurement<DI, MI, MaxDivergence, TO>,
) -> Measurement<DI, MI, AnySelectionMeasure, TO> {
    restated(release, MaxDivergence, AnySelectionMeasure::Pure)
}
fn concentrated<DI: Domain, MI: Metric, TO: Carrier>(
    release: &Measurement<DI, MI, ZeroConcentratedDivergence, TO>,
) -> Measurement<DI, MI, AnySelectionMeasure, TO> {
    restated(release, ZeroConcentratedDivergence, AnySelectionMeasure::Concentrated)
}
/// State the same loss in the type that stands for the measure of the release.
fn restated<DI, MI, MB, TO>(
    release: &Measurement<DI, MI, MB, TO>,
    measure: MB,
    any: AnySelectionMeasure,
) -> Measurement<DI, MI, AnySelectionMeasure, TO>
where
    DI: Domain,
    MI: Metric,
    MB: Measure<Distance = f64>,
    TO: Carrier,
{
    let (map, exact) = (release.privacy_map(), release.privacy_map());
    let map = PrivacyMap::new(move |d_in| map.eval(d_in))
        .with_exact(move |d_in| exact.eval_exact(&measure, d_in));
    release.with_loss(any, map)
}
macro_rules! erased {
    ($($measure:ty)*) => {$(
        impl Budget<$measure> {
            /// Erase the type of the measure. See [`BudgetMeasure`].
            #[inline]
            pub fn erase(self) -> Budget<AnyMeasure> {
                let Budget { amount, parts, measure } = self;
                let measure = AnyMeasure::from(TheMeasure(measure));
                Budget { amount: AnyDistance::new(amount), parts, measure }
            }
        }
    )*};
}
erased!(MaxDivergence Approximate<MaxDivergence> ZeroConcentratedDivergence);

impl<MO: BudgetMeasure> Budget<MO> {
    /// Check that this amount of a budget is stated in the measure of the budget.
    pub(super) fn check_measure(&self, whole: &MO) -> Result<()> {
        let (found, expected) = (name_of(&self.measure), name_of(whole));
        if found == expected {
            return Ok(());
        }
        let reason = format!("expected an amount in the measure {expected}, found {found}");
        Err(Error::argument("spending", reason))
    }
}
/// Return the name of a measure.
pub(super) fn name_of(measure: &impl Measure) -> String {
    measure.erased().inner_type().to_string()
}
/// Refuse a budget without a delta.
pub(super) fn needs_delta(measure: &impl BudgetMeasure) -> Result<()> {
    if measure.facts().tight {
        return Ok(());
    }
    let reason =
        "keys that are not public need a budget with an epsilon and a delta; or list the keys";
    Err(Error::argument("keys", reason))
}
/// Make the measurement of [`WithDelta::threshold`](super::WithDelta::threshold) for a measure that
/// [`needs_delta`] admits. Each loss in this measure is an epsilon and a delta.
pub(super) fn threshold<K: HashableAtom, MO: BudgetMeasure>(
    measure: &MO,
    counts: Space<MapDomain<AtomDomain<K>, AtomDomain<i64>>, CountsDistance>,
    scale: Scale,
    threshold: f64,
) -> Result<CountsRelease<K, MO>> {
    let release = make_truncated_laplace_threshold(counts, scale, threshold)?;
    let (map, exact, lift) = (release.privacy_map(), release.privacy_map(), measure.clone());
    let map = PrivacyMap::new(move |d_in| lift.lifted_approximate(map.eval(d_in)?))
        .with_exact(move |d_in| exact.eval_exact(&Approximate(MaxDivergence), d_in));
    Ok(release.with_loss(measure.clone(), map))
}
impl<'c, MO: BudgetMeasure, TO: Carrier> Statistic<'c, MO, TO> {
    /// Find the least Laplace noise, as [`laplace`](Statistic::laplace) does. The budget is checked
    /// at run time.
    ///
    /// # Errors
    /// `Argument` when the budget is a rho. The errors of [`laplace`](Statistic::laplace).
    pub fn try_laplace(self) -> Result<Question<'c, MO, TO>> {
        match self.measure().facts().noise {
            "Laplace" => self.noise(),
            _ => Err(no_noise("Laplace", "an epsilon")),
        }
    }
    /// Find the least Gaussian noise, as [`gaussian`](Statistic::gaussian) does. The budget is
    /// checked at run time.
    ///
    /// # Errors
    /// `Argument` when the budget is an epsilon without a delta. The errors of
    /// [`gaussian`](Statistic::gaussian).
    pub fn try_gaussian(self) -> Result<Question<'c, MO, TO>> {
        match self.measure().facts() {
            Facts { tight: true, .. } => self.into_draft().solve_gaussian(),
            Facts { noise: "Gaussian", .. } => self.noise(),
            _ => Err(no_noise("Gaussian", "a rho, or with an epsilon and a delta")),
        }
    }
}
impl<'c, MO: BudgetMeasure, T: Key> Rows<'c, MO, T> {
    /// Count the rows of each key, as [`count_by`](Rows::count_by) does. The budget is checked at
    /// run time.
    ///
    /// # Errors
    /// `Argument` when the budget has no delta.
    pub fn try_count_by(self) -> Result<Statistic<'c, MO, HashMap<T, i64>>> {
        needs_delta(self.measure())?;
        Ok(self.counts_of_keys(threshold))
    }
}
/// Return the error for noise that the budget cannot pay for.
#[cold]
fn no_noise(wanted: &str, budget: &str) -> Error {
    Error::argument("noise", format!("{wanted} noise needs a budget with {budget}"))
}
