//! Privacy budgets, and the privacy measures in which budgets are stated.

use std::any::TypeId;
use std::collections::HashMap;

use opendp_core::arith::{Exact, Number, shown};
use opendp_core::{
    AbsoluteDistance, Approximate, Atom, AtomDomain, Distance, Domain, Error, HashableAtom,
    L1Distance, L01InfDistance, L2Distance, MapDomain, MaxDivergence, Measure, Measurement,
    MetricOn, Result, Space, TheMeasure, VectorDomain, ZeroConcentratedDivergence,
};
#[cfg(doc)]
use opendp_measurements::accounting::AdaptiveAccount;
use opendp_measurements::accuracy::Noise;
use opendp_measurements::{
    ContinuousGaussian, Gaussian, NoiseLoss, NoiseMeasure, NoiseNumber, Numbers, Scale,
    SelectionMeasure, make_continuous_gaussian, make_gaussian, make_noise,
};
use opendp_transformations::Norm;

use super::BudgetMeasure;
use crate::make_truncated_laplace_threshold;

/// A privacy measure in which a [`Context`](crate::Context) keeps a budget.
///
/// An implementation chooses [`Base`](Accounted::Base), the measure of the mechanisms. The
/// implementation also converts each loss in `Base` to a loss in its own measure.
///
/// An implementation makes one claim. If the loss of a mechanism in `Base` is at most `d`, its loss
/// in the measure that implements this trait is at most `lift(d)`.
///
/// If `Base` is [`MaxDivergence`], implement [`WithLaplace`] too, as in `impl WithLaplace for Mine
/// {}`. Without this implementation, the budget cannot pay for Laplace noise.
pub trait Accounted: Measure + Default {
    /// The measure in which mechanisms state their losses. This measure has no delta.
    type Base: SelectionMeasure
        + Default
        + NoiseMeasure<AtomDomain<i64>, AbsoluteDistance<i64>>
        + NoiseMeasure<VectorDomain<AtomDomain<i64>>, Self::Norm>;
    /// The norm that bounds the changes of several counts.
    type Norm: Norm + MetricOn<VectorDomain<AtomDomain<i64>>>;
    /// The names of the parts of a loss, such as epsilon and delta.
    const PARTS: &'static [&'static str];
    /// The name of the noise that mechanisms of `Base` add, such as "Laplace".
    const NOISE: &'static str;
    /// If `true`, each loss is an epsilon and a delta. An [`AdaptiveAccount`] or a
    /// [`SharedAccount`](opendp_measurements::accounting::SharedAccount) composes the losses.
    /// Otherwise, the losses are added up part by part.
    const TIGHT: bool = false;
    /// Whether noise with the scale `scale` has a loss that is proportional to `1 / scale^2`.
    /// Otherwise, the loss is proportional to `1 / scale`.
    const SQUARES: bool = false;
    /// Convert a loss in `Base` to a loss in this measure, rounded up.
    ///
    /// # Errors
    /// The errors of the conversion.
    fn lift(loss: f64) -> Result<Self::Distance>;
    /// Convert an exact loss in `Base` to an exact loss in this measure.
    ///
    /// # Errors
    /// The errors of the conversion.
    fn lift_exact(loss: Vec<Exact>) -> Result<Vec<Exact>>;
    /// Convert an epsilon and a delta to a loss in this measure, if losses in this measure have
    /// both parts.
    ///
    /// # Errors
    /// `NotImplemented` when losses in this measure do not have both parts.
    fn lift_approximate(loss: (f64, f64)) -> Result<Self::Distance> {
        let _ = loss;
        Err(Error::NotImplemented("this budget has no delta".into()))
    }
}
impl Accounted for MaxDivergence {
    type Base = MaxDivergence;
    type Norm = L1Distance<i64>;
    const PARTS: &'static [&'static str] = &["epsilon"];
    const NOISE: &'static str = "Laplace";
    fn lift(loss: f64) -> Result<f64> {
        Ok(loss)
    }
    fn lift_exact(loss: Vec<Exact>) -> Result<Vec<Exact>> {
        Ok(loss)
    }
}
impl Accounted for ZeroConcentratedDivergence {
    type Base = ZeroConcentratedDivergence;
    type Norm = L2Distance<f64>;
    const PARTS: &'static [&'static str] = &["rho"];
    const NOISE: &'static str = "Gaussian";
    const SQUARES: bool = true;
    fn lift(loss: f64) -> Result<f64> {
        Ok(loss)
    }
    fn lift_exact(loss: Vec<Exact>) -> Result<Vec<Exact>> {
        Ok(loss)
    }
}
/// Each mechanism that is `epsilon`-DP is also `(epsilon, 0)`-DP.
impl Accounted for Approximate<MaxDivergence> {
    type Base = MaxDivergence;
    type Norm = L1Distance<i64>;
    const PARTS: &'static [&'static str] = &["epsilon", "delta"];
    const NOISE: &'static str = "Laplace";
    const TIGHT: bool = true;
    fn lift(loss: f64) -> Result<(f64, f64)> {
        Ok((loss, 0.0))
    }
    fn lift_exact(mut loss: Vec<Exact>) -> Result<Vec<Exact>> {
        loss.push(Exact::ZERO);
        Ok(loss)
    }
    fn lift_approximate(loss: (f64, f64)) -> Result<(f64, f64)> {
        Ok(loss)
    }
}

/// A budget that can pay for Laplace noise.
#[diagnostic::on_unimplemented(
    message = "Laplace noise needs a budget with an epsilon",
    note = "make it with `Budget::epsilon(1.0)` or `Budget::epsilon_delta(1.0, 1e-6)`; under a rho, use `.gaussian()`"
)]
pub trait WithLaplace: Accounted<Base = MaxDivergence> {}
impl WithLaplace for MaxDivergence {}
impl WithLaplace for Approximate<MaxDivergence> {}

/// A budget that can pay for Gaussian noise.
#[diagnostic::on_unimplemented(
    message = "Gaussian noise needs a budget with a rho, or with an epsilon and a delta",
    note = "make it with `Budget::rho(0.5)` or `Budget::epsilon_delta(1.0, 1e-6)`"
)]
pub trait WithGaussian: Accounted {
    /// Whether Gaussian noise spends epsilon and delta together. If `true`, the loss is a `mu` in
    /// Gaussian differential privacy, and an [`AdaptiveAccount`] or a
    /// [`SharedAccount`](opendp_measurements::accounting::SharedAccount) composes this `mu`.
    const TAKES_DELTA: bool;
}
impl WithGaussian for ZeroConcentratedDivergence {
    const TAKES_DELTA: bool = false;
}
impl WithGaussian for Approximate<MaxDivergence> {
    const TAKES_DELTA: bool = true;
}

/// A budget with a delta. This budget can pay for keys that are not public.
#[diagnostic::on_unimplemented(
    message = "counts by keys that are not public need a budget with a delta",
    note = "make it with `Budget::epsilon_delta(1.0, 1e-6)`, or list the keys: `.histogram(keys)`"
)]
pub trait WithDelta: WithLaplace {
    /// Make the measurement that adds truncated Laplace noise to counts and hides keys whose noisy
    /// counts are below a threshold.
    ///
    /// # Errors
    /// The errors of [`make_truncated_laplace_threshold`].
    fn threshold<K: HashableAtom>(
        counts: Space<MapDomain<AtomDomain<K>, AtomDomain<i64>>, CountsDistance>,
        scale: Scale,
        threshold: f64,
    ) -> Result<CountsRelease<K, Self>>
    where
        Self: Sized;
}
impl WithDelta for Approximate<MaxDivergence> {
    fn threshold<K: HashableAtom>(
        counts: Space<MapDomain<AtomDomain<K>, AtomDomain<i64>>, CountsDistance>,
        scale: Scale,
        threshold: f64,
    ) -> Result<CountsRelease<K, Self>> {
        make_truncated_laplace_threshold(counts, scale, threshold)
    }
}
/// The metric of maps from keys to counts.
pub(super) type CountsDistance = L01InfDistance<AbsoluteDistance<i64>>;
/// A measurement that releases the counts of some keys.
pub(super) type CountsRelease<K, MO> =
    Measurement<MapDomain<AtomDomain<K>, AtomDomain<i64>>, CountsDistance, MO, HashMap<K, i64>>;

/// A number type to which the noise of a measure can be added.
#[diagnostic::on_unimplemented(message = "the noise of this budget cannot be added to `{Self}`")]
pub trait Noisy<MO: BudgetMeasure>: Atom + Number + Distance {
    /// Make the measurement that adds the noise of `MO::Base` to a number.
    ///
    /// # Errors
    /// The errors of [`make_noise`].
    fn noisy(
        measure: &MO,
        space: Space<AtomDomain<Self>, AbsoluteDistance<Self>>,
        scale: Scale,
    ) -> Result<Measurement<AtomDomain<Self>, AbsoluteDistance<Self>, MO::Base, Self>>;
    /// Make the measurement that adds continuous Gaussian noise to a number.
    ///
    /// # Errors
    /// The errors of [`make_continuous_gaussian`].
    fn gaussian(
        space: Space<AtomDomain<Self>, AbsoluteDistance<Self>>,
        scale: Scale,
    ) -> Result<
        Measurement<AtomDomain<Self>, AbsoluteDistance<Self>, ZeroConcentratedDivergence, Self>,
    >;
    /// Make the measurement that adds Gaussian noise to a number. On integers, this noise is
    /// discrete.
    ///
    /// # Errors
    /// The errors of [`make_gaussian`].
    fn discrete_gaussian(
        space: Space<AtomDomain<Self>, AbsoluteDistance<Self>>,
        scale: Scale,
    ) -> Result<
        Measurement<AtomDomain<Self>, AbsoluteDistance<Self>, ZeroConcentratedDivergence, Self>,
    >;
    /// Return the function that computes the distribution of the noise from its scale. The second
    /// argument of this function states whether [`gaussian`](Noisy::gaussian) adds the noise, and
    /// not [`noisy`](Noisy::noisy).
    fn noise(measure: &MO) -> fn(Scale, bool) -> Noise;
    /// Return whether bounds on errors must take into account that noisy numbers are cut off at the
    /// ends of the type. Return `true` for unsigned integers, and for integers of fewer than 64
    /// bits. A noisy number below the smallest number of the type becomes the smallest number. A
    /// noisy number above the largest number becomes the largest number. So the error is not
    /// symmetric: see [`Noise::cut_off`].
    fn is_cut_off() -> bool;
}
impl<N, MO> Noisy<MO> for N
where
    N: Atom + Number + Distance,
    MO: Accounted,
    AtomDomain<N>: Numbers + Domain<Carrier = N>,
    AbsoluteDistance<N>: MetricOn<AtomDomain<N>>,
    MO::Base: NoiseMeasure<AtomDomain<N>, AbsoluteDistance<N>>,
    <AtomDomain<N> as Numbers>::Number: NoiseNumber<ContinuousGaussian> + NoiseNumber<Gaussian>,
    AbsoluteDistance<N>: NoiseLoss<Gaussian, ZeroConcentratedDivergence>,
{
    fn noisy(
        _: &MO,
        space: Space<AtomDomain<N>, AbsoluteDistance<N>>,
        scale: Scale,
    ) -> Result<Measurement<AtomDomain<N>, AbsoluteDistance<N>, MO::Base, N>> {
        make_noise(space, TheMeasure(MO::Base::default()), scale, None)
    }
    fn gaussian(
        space: Space<AtomDomain<N>, AbsoluteDistance<N>>,
        scale: Scale,
    ) -> Result<Measurement<AtomDomain<N>, AbsoluteDistance<N>, ZeroConcentratedDivergence, N>>
    {
        make_continuous_gaussian(space, scale, None)
    }
    fn discrete_gaussian(
        space: Space<AtomDomain<N>, AbsoluteDistance<N>>,
        scale: Scale,
    ) -> Result<Measurement<AtomDomain<N>, AbsoluteDistance<N>, ZeroConcentratedDivergence, N>>
    {
        make_gaussian(space, scale, None)
    }
    fn noise(_: &MO) -> fn(Scale, bool) -> Noise {
        let real = [TypeId::of::<f32>(), TypeId::of::<f64>()].contains(&TypeId::of::<N>());
        match (real, MO::TIGHT) {
            (true, _) => noise_of_floats,
            (false, true) => noise_of_integers::<true>,
            (false, false) => noise_of_integers::<false>,
        }
    }
    fn is_cut_off() -> bool {
        macro_rules! is_one_of {
            ($($t:ty)*) => { [$(TypeId::of::<$t>()),*].contains(&TypeId::of::<N>()) };
        }
        is_one_of!(i8 i16 i32 u8 u16 u32 u64 u128 usize)
    }
}

fn noise_of_floats(scale: Scale, gaussian: bool) -> Noise {
    if gaussian { Noise::gaussian(scale) } else { Noise::laplace(scale) }
}
fn noise_of_integers<const TIGHT: bool>(scale: Scale, gaussian: bool) -> Noise {
    match gaussian {
        // This noise on integers is continuous, and the noisy integers are then rounded. The error
        // that the measurement states includes the rounding.
        true if TIGHT => Noise::gaussian(scale),
        true => Noise::discrete_gaussian(scale),
        false => Noise::discrete_laplace(scale),
    }
}

/// The largest allowed loss of all queries of a context together, or of one query.
///
/// Each part of the amount is the larger of the stated float and the shortest decimal number that
/// is read as this float. So a budget of 0.3 pays for exactly three losses of 1/10.
///
/// ```
/// # use opendp_analysis::Budget;
/// let pure = Budget::epsilon(1.0)?;
/// let approximate = Budget::epsilon_delta(1.0, 1e-6)?;
/// let concentrated = Budget::rho(0.5)?;
/// # let _ = (pure, approximate, concentrated);
/// assert!(Budget::epsilon(-1.0).is_err());
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Budget<MO: Measure> {
    pub(crate) amount: MO::Distance,
    pub(crate) parts: Vec<Exact>,
    pub(crate) measure: MO,
}
impl Budget<MaxDivergence> {
    /// Make a budget of pure differential privacy.
    ///
    /// # Errors
    /// `Argument` when epsilon is not positive and finite.
    pub fn epsilon(epsilon: f64) -> Result<Self> {
        Budget::new(positive("epsilon", epsilon)?)
    }
}
impl Budget<Approximate<MaxDivergence>> {
    /// Make a budget of approximate differential privacy.
    ///
    /// # Errors
    /// `Argument` when epsilon is not positive and finite, or when delta is negative or at least 1.
    pub fn epsilon_delta(epsilon: f64, delta: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&delta) {
            let found = shown(delta);
            let reason = format!("expected a number of at least 0 and below 1, found {found}");
            return Err(Error::argument("delta", reason));
        }
        Budget::new((positive("epsilon", epsilon)?, delta))
    }
}
impl Budget<ZeroConcentratedDivergence> {
    /// Make a budget of zero-concentrated differential privacy.
    ///
    /// # Errors
    /// `Argument` when rho is not positive and finite.
    pub fn rho(rho: f64) -> Result<Self> {
        Budget::new(positive("rho", rho)?)
    }
}
impl<MO: Measure> Budget<MO> {
    /// Return the amount of the budget, as it was stated. The
    /// [exact amount](Budget::exact_amount) is what releases can spend.
    pub fn amount(&self) -> &MO::Distance {
        &self.amount
    }
    /// Return the exact amount of the budget: one number for each part.
    pub fn exact_amount(&self) -> &[Exact] {
        &self.parts
    }
}
impl<MO: Accounted> Budget<MO> {
    /// Replace each part of this budget by the shortest decimal number that is read as the same
    /// float. This is the number that a person wrote.
    ///
    /// Without this method, a part is the [larger](Exact::written) of the float and this decimal
    /// number. The float 0.1 is above a tenth. So the losses of ten contexts, each with the budget
    /// 0.1, can add up to slightly more than 1. With this method, they add up to at most 1.
    ///
    /// ```
    /// # use opendp_analysis::Budget;
    /// # use opendp_core::arith::Exact;
    /// let tenth = Budget::epsilon(0.1)?.in_decimals()?;
    /// assert_eq!(tenth.exact_amount(), ["0.1".parse::<Exact>()?]);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Measure::split`].
    pub fn in_decimals(self) -> Result<Self> {
        Budget::of(self.amount, Exact::decimal)
    }
    fn new(amount: MO::Distance) -> Result<Self> {
        Budget::of(amount, Exact::written)
    }
    fn of(amount: MO::Distance, read: fn(f64) -> Result<Exact>) -> Result<Self> {
        let measure = MO::default();
        let parts = exact(&measure.split(&amount)?, read)?;
        Ok(Budget { amount, parts, measure })
    }
}
pub(super) fn exact(numbers: &[f64], read: fn(f64) -> Result<Exact>) -> Result<Vec<Exact>> {
    let mut exact = Vec::with_capacity(numbers.len());
    for number in numbers {
        exact.push(read(*number)?);
    }
    Ok(exact)
}
fn positive(name: &str, amount: f64) -> Result<f64> {
    if 0.0 < amount && amount < f64::INFINITY {
        return Ok(amount);
    }
    let reason = format!("expected a finite number above 0, found {}", shown(amount));
    Err(Error::argument(name, reason))
}
