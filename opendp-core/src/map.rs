//! Maps between distances. A map takes a bound on the distance between inputs. It returns a bound
//! on the distance between outputs, or between the distributions of outputs.

mod checks;

use std::any::{Any, TypeId};
use std::{fmt, marker::PhantomData, sync::Arc, sync::LazyLock};

use crate::arith::{Exact, InfCast, Number};
use crate::erased::{AnyDistance, AnyMeasure, AnyMetric, shared};
use crate::{Distance, Measure, Metric, Result};
use checks::{checked, evaluated};

/// A function of a distance. Operations on these functions are compiled once for each pair of
/// distance types, and not for each metric and measure.
trait Bound<I, O>: Send + Sync {
    fn at(&self, d_in: &I) -> Result<O>;
}
impl<I, O, F: Fn(&I) -> Result<O> + Send + Sync> Bound<I, O> for F {
    fn at(&self, d_in: &I) -> Result<O> {
        self(d_in)
    }
}
type Shared<I, O> = Arc<dyn Bound<I, O>>;

fn same<Q: Distance>() -> Shared<Q, Q> {
    Arc::new(|d: &Q| Ok(d.clone()))
}
fn times<I: Distance, O: Number + InfCast<I>>(constant: O) -> Shared<I, O> {
    Arc::new(move |d_in: &I| O::inf_cast(d_in.clone())?.inf_mul(constant))
}
fn chained<I: Distance, X: Distance, O: Send + Sync + 'static>(
    first: &Shared<I, X>,
    second: &Shared<X, O>,
) -> Shared<I, O> {
    let (first, second) = (first.clone(), second.clone());
    Arc::new(move |d_in: &I| checked(&second, &first.at(d_in)?))
}
/// Chain a bound on distances with a bound on losses. The result bounds the loss for both orders of
/// the two data sets, as [`Distance::in_either_direction`] explains.
fn chained_loss<I: Distance, X: Distance, O: Distance>(
    first: &Shared<I, X>,
    second: &Shared<X, O>,
) -> Shared<I, O> {
    let (first, second) = (first.clone(), second.clone());
    Arc::new(move |d_in: &I| Ok(checked(&second, &first.at(d_in)?)?.in_either_direction()))
}
/// Make the function that recovers a typed distance from an erased distance.
fn inside<Q: Distance>() -> Shared<AnyDistance, Q> {
    Arc::new(|d: &AnyDistance| d.downcast_ref::<Q>().cloned())
}
type ExactBound<I> = Shared<I, Vec<Exact>>;
fn taken_out<Q: Distance>(exact: Option<&ExactBound<Q>>) -> Option<ExactBound<AnyDistance>> {
    exact.map(|exact| chained(&inside(), exact))
}
/// Make the function that erases the type of a distance.
fn outside<Q: Distance>() -> Shared<Q, AnyDistance> {
    Arc::new(|d: &Q| Ok(AnyDistance::new(d.clone())))
}
fn erased<I: Distance, O: Distance>(bound: &Shared<I, O>) -> Shared<AnyDistance, AnyDistance> {
    let bound = bound.clone();
    Arc::new(move |d: &AnyDistance| Ok(AnyDistance::new(checked(&bound, d.downcast_ref()?)?)))
}
/// A map whose types are erased. So code that moves, copies or drops a map is compiled only once,
/// and not for each type of map.
#[derive(Clone)]
pub(crate) struct Untyped(Stored);
/// The two ways to store a map. Most privacy maps take a float and return a float, and are stored
/// as `Floats`. This variant states the types of the distances. So an evaluation needs no virtual
/// call to find these types.
#[derive(Clone)]
enum Stored {
    Floats(Arc<Losses<f64, f64>>),
    Other(Arc<dyn Erased>),
}
trait Erased: Any + Send + Sync {
    fn erased(&self) -> Untyped;
}
impl<I: Distance, O: Distance> Erased for Shared<I, O> {
    fn erased(&self) -> Untyped {
        Untyped::new(erased(self))
    }
}
/// A function that chains two maps.
pub(crate) type Chain = fn(&Untyped, &Untyped) -> Untyped;
/// The identity map of distances between data sets, and its erased form. All constructors that need
/// this map share it.
static SAME: LazyLock<[Untyped; 2]> =
    LazyLock::new(|| [Untyped::new(same::<u32>()), Untyped::new(erased(&same::<u32>()))]);
impl Untyped {
    fn new(map: impl Erased) -> Self {
        Untyped(Stored::Other(Arc::new(map)))
    }
    pub(crate) fn identity<Q: Distance>() -> Self {
        match TypeId::of::<Q>() == TypeId::of::<u32>() {
            true => SAME[0].clone(),
            false => Self::new(same::<Q>()),
        }
    }
    fn stored(&self) -> &dyn Erased {
        match &self.0 {
            Stored::Floats(losses) => &**losses,
            Stored::Other(map) => &**map,
        }
    }
    /// Return whether another map is the same object. If so, both maps have equal values at every
    /// distance.
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.stored(), other.stored())
    }
    pub(crate) fn erased(&self) -> Self {
        if self.is(&SAME[0]) { SAME[1].clone() } else { self.stored().erased() }
    }
    /// State the types of the metrics. The distance types of the map must be the distance types of
    /// these metrics.
    pub(crate) fn stability<MI: Metric, MO: Metric>(self) -> StabilityMap<MI, MO> {
        StabilityMap { untyped: self, types: PhantomData }
    }
    /// State the types of the metric and the measure. The distance types of the map must be the
    /// distance types of this metric and this measure.
    pub(crate) fn privacy<MI: Metric, MO: Measure>(self) -> PrivacyMap<MI, MO> {
        PrivacyMap { untyped: self, types: PhantomData }
    }
    /// Borrow the map, and state its types as [`privacy`](Untyped::privacy) does.
    pub(crate) fn privacy_ref<MI: Metric, MO: Measure>(&self) -> PrivacyMapRef<'_, MI, MO> {
        PrivacyMapRef { untyped: self, types: PhantomData }
    }
    /// Append a map of distances. The type arguments are the types of the three distances.
    pub(crate) fn before<I: Distance, X: Distance, O: Distance>(&self, next: &Self) -> Self {
        let first: &Shared<I, X> = self.known();
        let next: &Shared<X, O> = next.known();
        Untyped::new(chained(first, next))
    }
    /// Append a map of losses. The type arguments are the types of the two distances and of the
    /// loss.
    pub(crate) fn before_loss<I: Distance, X: Distance, O: Distance>(&self, next: &Self) -> Self {
        let first: &Shared<I, X> = self.known();
        let next: &Losses<X, O> = next.known();
        let exact = next.exact.as_ref().map(|exact| chained(first, exact));
        Losses::untyped(chained_loss(first, &next.bound), exact)
    }
    fn known<B: 'static>(&self) -> &B {
        let known = match &self.0 {
            Stored::Floats(losses) => (&**losses as &dyn Any).downcast_ref(),
            Stored::Other(map) => (&**map as &dyn Any).downcast_ref(),
        };
        match known {
            Some(bound) => bound,
            None => another(),
        }
    }
}
#[cold]
fn another() -> ! {
    unreachable!("a map stores a function between the distance types that it states")
}
fn typed<I: Distance, O: Distance>(bound: &Shared<AnyDistance, AnyDistance>) -> Shared<I, O> {
    let bound = bound.clone();
    Arc::new(move |d: &I| checked(&bound, &AnyDistance::new(d.clone()))?.downcast_ref().cloned())
}

/// An upper bound on the distance between outputs, given an upper bound on the distance between
/// inputs.
pub struct StabilityMap<MI: Metric, MO: Metric> {
    /// A `Shared` function that takes a distance of `MI` and returns a distance of `MO`.
    pub(crate) untyped: Untyped,
    pub(crate) types: PhantomData<fn(&MI) -> MO>,
}

/// An upper bound on the privacy loss, given an upper bound on the distance between inputs.
///
/// The bound is a [`Distance`](crate::Distance), such as a float, and is rounded up. The map can
/// also [state](PrivacyMap::with_exact) an exact bound. If the map states an exact bound, this
/// exact bound is charged to a budget. So ten losses of a tenth add up to exactly one.
pub struct PrivacyMap<MI: Metric, MO: Measure> {
    /// A `Losses` whose inputs are distances of `MI` and whose results are losses in `MO`.
    pub(crate) untyped: Untyped,
    pub(crate) types: PhantomData<fn(&MI) -> MO>,
}
struct Losses<I, O> {
    bound: Shared<I, O>,
    exact: Option<ExactBound<I>>,
}
impl<I: Distance, O: Distance> Losses<I, O> {
    fn untyped(bound: Shared<I, O>, exact: Option<ExactBound<I>>) -> Untyped {
        let losses: Arc<Self> = Arc::new(Losses { bound, exact });
        let any: Arc<dyn Any + Send + Sync> = losses.clone();
        Untyped(any.downcast().map_or(Stored::Other(losses), Stored::Floats))
    }
}
/// Return the exact values of floats. This function is compiled once.
fn exactly(parts: &[f64]) -> Result<Vec<Exact>> {
    parts.iter().map(|part| Exact::from_f64(*part)).collect()
}
fn with_exact<I: Distance, O: Distance>(losses: Untyped, exact: ExactBound<I>) -> Untyped {
    Losses::untyped(losses.known::<Losses<I, O>>().bound.clone(), Some(exact))
}
impl<I: Distance, O: Distance> Erased for Losses<I, O> {
    fn erased(&self) -> Untyped {
        Losses::untyped(erased(&self.bound), taken_out(self.exact.as_ref()))
    }
}

impl<MI: Metric, MO: Metric> StabilityMap<MI, MO> {
    /// Make a map from a function. The function must compute through [`arith`](crate::arith), so
    /// that every rounding is upward. The caller is responsible for the bound.
    pub fn new(
        map: impl Fn(&MI::Distance) -> Result<MO::Distance> + Send + Sync + 'static,
    ) -> Self {
        StabilityMap::of(Arc::new(map))
    }
    /// Make the map `d_out = d_in`.
    pub fn identity() -> Self
    where
        MO: Metric<Distance = MI::Distance>,
    {
        Untyped::identity::<MI::Distance>().stability()
    }
    /// Make the map `d_out = constant * d_in`, rounded up.
    pub fn from_constant(constant: MO::Distance) -> Self
    where
        MO::Distance: Number + InfCast<MI::Distance>,
    {
        StabilityMap::of(times(constant))
    }
    fn of(bound: Shared<MI::Distance, MO::Distance>) -> Self {
        Untyped::new(bound).stability()
    }
    fn shared(&self) -> &Shared<MI::Distance, MO::Distance> {
        self.untyped.known()
    }
    /// Evaluate the map at a distance. The distance must not be negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` or the result is negative or NaN. `eval` also returns the errors of
    /// the map.
    pub fn eval(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        evaluated(self.shared(), d_in)
    }
    /// Evaluate the map as [`eval`](StabilityMap::eval) does, but return a negative result or NaN
    /// instead of an error. A test treats an error of a map as no claim. So with `eval`, a test
    /// would not refute a map with such a result.
    pub(crate) fn claim(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        checked(self.shared(), d_in)
    }
    /// Append a map. The result applies `next` to the bound of this map.
    pub fn then<MX: Metric>(&self, next: &StabilityMap<MO, MX>) -> StabilityMap<MI, MX> {
        let chain = Untyped::before::<MI::Distance, MO::Distance, MX::Distance>;
        chain(&self.untyped, &next.untyped).stability()
    }
    /// Append the privacy map of a measurement.
    pub fn then_privacy<MX: Measure>(&self, next: &PrivacyMap<MO, MX>) -> PrivacyMap<MI, MX> {
        let chain = Untyped::before_loss::<MI::Distance, MO::Distance, MX::Distance>;
        chain(&self.untyped, &next.untyped).privacy()
    }
    /// Erase the types of both distances.
    pub fn erase(&self) -> StabilityMap<AnyMetric, AnyMetric> {
        self.untyped.erased().stability()
    }
}
impl StabilityMap<AnyMetric, AnyMetric> {
    /// Set the types of both distances. The types are checked when the map is evaluated.
    pub(crate) fn typed<MI: Metric, MO: Metric>(&self) -> StabilityMap<MI, MO> {
        StabilityMap::of(typed(self.shared()))
    }
}

impl<MI: Metric, MO: Measure> PrivacyMap<MI, MO> {
    /// Make a map from a function. The function must compute through [`arith`](crate::arith), so
    /// that every rounding is upward. The caller is responsible for the bound.
    ///
    /// A [privacy profile](crate::PrivacyProfile) of noise on a random sample can depend on the
    /// order of the two data sets. Suppose that the measurement transforms its data before it adds
    /// such noise. Then `map` must return the result of [`Distance::in_either_direction`] for the
    /// loss of the noise. A map that [`StabilityMap::then_privacy`] makes already returns this
    /// result.
    pub fn new(
        map: impl Fn(&MI::Distance) -> Result<MO::Distance> + Send + Sync + 'static,
    ) -> Self {
        PrivacyMap::of(Arc::new(map), None)
    }
    fn of(
        bound: Shared<MI::Distance, MO::Distance>,
        exact: Option<ExactBound<MI::Distance>>,
    ) -> Self {
        Losses::untyped(bound, exact).privacy()
    }
    fn losses(&self) -> &Losses<MI::Distance, MO::Distance> {
        self.untyped.known()
    }
    /// Borrow the map.
    pub fn by_ref(&self) -> PrivacyMapRef<'_, MI, MO> {
        self.untyped.privacy_ref()
    }
    /// Add the exact bound: one number for each [part](Measure::parts) of a loss. The caller is
    /// responsible for this bound, as for the map.
    #[must_use]
    pub fn with_exact(
        self,
        exact: impl Fn(&MI::Distance) -> Result<Vec<Exact>> + Send + Sync + 'static,
    ) -> Self {
        with_exact::<MI::Distance, MO::Distance>(self.untyped, shared(exact)).privacy()
    }
    /// Erase the types of the distance and of the loss.
    pub fn erase(&self) -> PrivacyMap<AnyMetric, AnyMeasure> {
        self.untyped.erased().privacy()
    }
    /// Evaluate the map at a distance, in exact numbers. See [`PrivacyMapRef::eval_exact`].
    ///
    /// # Errors
    /// The errors of [`PrivacyMapRef::eval_exact`].
    pub fn eval_exact(&self, measure: &MO, d_in: &MI::Distance) -> Result<Vec<Exact>> {
        self.by_ref().eval_exact(measure, d_in)
    }
    /// Evaluate the map at a distance. The distance must not be negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` or the result is negative or NaN. `eval` also returns the errors of
    /// the map.
    pub fn eval(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        self.by_ref().eval(d_in)
    }
}
/// A borrowed [`PrivacyMap`].
pub struct PrivacyMapRef<'a, MI: Metric, MO: Measure> {
    untyped: &'a Untyped,
    types: PhantomData<fn(&MI) -> MO>,
}
impl<MI: Metric, MO: Measure> PrivacyMapRef<'_, MI, MO> {
    /// Return a copy that owns the map.
    pub fn to_owned(&self) -> PrivacyMap<MI, MO> {
        self.untyped.clone().privacy()
    }
    /// Evaluate the map at a distance. Return exact numbers, which can be added over several
    /// releases. If the exact bound is known, return it. Otherwise return the exact values of the
    /// floats in the rounded bound.
    ///
    /// # Errors
    /// The errors of [`eval`](PrivacyMapRef::eval) and of [`Measure::split`]. `InvalidDistance`
    /// when a part of the loss is negative or NaN.
    pub fn eval_exact(&self, measure: &MO, d_in: &MI::Distance) -> Result<Vec<Exact>> {
        match &self.losses().exact {
            Some(exact) => checked(exact, d_in),
            None => exactly(&measure.split(&self.eval(d_in)?)?),
        }
    }
    /// Evaluate the map at a distance. The distance must not be negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` or the result is negative or NaN. `eval` also returns the errors of
    /// the map.
    pub fn eval(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        evaluated(&self.losses().bound, d_in)
    }
    fn losses(&self) -> &Losses<MI::Distance, MO::Distance> {
        self.untyped.known()
    }
}
impl PrivacyMap<AnyMetric, AnyMeasure> {
    /// Set the types of the distance and of the loss. The types are checked when the map is
    /// evaluated.
    pub(crate) fn typed<MI: Metric, MO: Measure>(&self) -> PrivacyMap<MI, MO> {
        let Losses { bound, exact } = self.losses();
        PrivacyMap::of(typed(bound), exact.as_ref().map(|exact| chained(&outside(), exact)))
    }
    /// Set only the type of the loss.
    pub(crate) fn in_measure<MO: Measure>(&self) -> PrivacyMap<AnyMetric, MO> {
        let Losses { bound, exact } = self.losses();
        PrivacyMap::of(chained(bound, &inside()), exact.clone())
    }
}

impl<MI: Metric, MO: Metric> Clone for StabilityMap<MI, MO> {
    fn clone(&self) -> Self {
        self.untyped.clone().stability()
    }
}
impl<MI: Metric, MO: Measure> Clone for PrivacyMap<MI, MO> {
    fn clone(&self) -> Self {
        self.untyped.clone().privacy()
    }
}
impl<MI: Metric, MO: Metric> fmt::Debug for StabilityMap<MI, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StabilityMap({} -> {})", MI::type_name(), MO::type_name())
    }
}
impl<MI: Metric, MO: Measure> fmt::Debug for PrivacyMap<MI, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivacyMap({} -> {})", MI::type_name(), MO::type_name())
    }
}
impl<MI: Metric, MO: Measure> fmt::Debug for PrivacyMapRef<'_, MI, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_owned().fmt(f)
    }
}

#[cfg(test)]
mod tests;
