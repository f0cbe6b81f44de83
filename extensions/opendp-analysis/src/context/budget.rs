//! Privacy budgets, and the measures that they can be in.

use std::any::TypeId;
use std::collections::HashMap;

use opendp_core::arith::Exact;
use opendp_core::arith::Number;
use opendp_core::{
    AbsoluteDistance, Approximate, Atom, AtomDomain, Distance, Domain, Error, HashableAtom,
    L1Distance, L01InfDistance, L2Distance, MapDomain, MaxDivergence, Measure, Measurement, Metric,
    MetricOn, Result, Space, TheMeasure, VectorDomain, ZeroConcentratedDivergence,
};
#[cfg(doc)]
use opendp_measurements::accounting::AdaptiveAccount;
use opendp_measurements::accuracy::Noise;
use opendp_measurements::{
    ContinuousGaussian, Gaussian, NoiseLoss, NoiseMeasure, NoiseNumber, Numbers, Scale,
    SelectionMeasure, make_continuous_gaussian, make_laplace_threshold, make_noise,
};
use opendp_transformations::Norm;

/// A privacy measure in which a [`Context`](crate::Context) keeps a budget.
///
/// Implement it to support another measure: it names the mechanisms of the measure
/// ([`Base`](Accounted::Base)), and converts their losses to its own.
///
/// An implementation claims that a mechanism with loss `d` in the base has loss `lift(d)`.
pub trait Accounted: Measure + Default {
    /// The measure of the mechanisms, which has no delta.
    type Base: SelectionMeasure
        + Default
        + NoiseMeasure<AtomDomain<i64>, AbsoluteDistance<i64>>
        + NoiseMeasure<VectorDomain<AtomDomain<i64>>, Self::Norm>;
    /// The norm that bounds changes of several counts.
    type Norm: Norm + Metric<Distance = i64> + MetricOn<VectorDomain<AtomDomain<i64>>>;
    /// The names of the parts of a loss.
    const PARTS: &'static [&'static str];
    /// The name of the base's noise.
    const NOISE: &'static str;
    /// Whether the parts of a loss are an epsilon and a delta that an [`AdaptiveAccount`] composes.
    /// Otherwise losses add up, part by part.
    const TIGHT: bool = false;
    /// Whether the loss of noise falls with the square of its scale, instead of the scale itself.
    const SQUARES: bool = false;
    /// Convert a loss, rounding up.
    ///
    /// # Errors
    /// The errors of the conversion.
    fn lift(loss: f64) -> Result<Self::Distance>;
    /// Convert an exact loss.
    ///
    /// # Errors
    /// The errors of the conversion.
    fn lift_exact(loss: Vec<Exact>) -> Result<Vec<Exact>>;
    /// Convert a loss of epsilon and delta, if the measure has both.
    ///
    /// # Errors
    /// `NotImplemented` if the measure does not have both.
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
    type Norm = L2Distance<i64>;
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
/// A mechanism that is epsilon-DP is (epsilon, 0)-DP.
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

/// A budget that can pay for Gaussian noise.
#[diagnostic::on_unimplemented(
    message = "Gaussian noise takes a budget with a rho, or with an epsilon and a delta",
    note = "make it with `Budget::rho(0.5)` or `Budget::epsilon_delta(1.0, 1e-6)`"
)]
pub trait WithGaussian: Accounted {
    /// Whether Gaussian noise spends epsilon and delta together. Then its loss is a `mu` in
    /// Gaussian differential privacy, and an [`AdaptiveAccount`] composes it.
    const TAKES_DELTA: bool;
}
impl WithGaussian for ZeroConcentratedDivergence {
    const TAKES_DELTA: bool = false;
}
impl WithGaussian for Approximate<MaxDivergence> {
    const TAKES_DELTA: bool = true;
}

/// A budget with a delta, which can pay for keys that are not public.
#[diagnostic::on_unimplemented(
    message = "to count by keys that are not public takes a budget with a delta",
    note = "make it with `Budget::epsilon_delta(1.0, 1e-6)`, or list the keys: `.histogram(keys)`"
)]
pub trait WithDelta: Accounted<Base = MaxDivergence> {
    /// Make the measurement that adds Laplace noise to counts, and hides keys below a threshold.
    ///
    /// # Errors
    /// The errors of [`make_laplace_threshold`].
    fn threshold<K: HashableAtom>(
        counts: Space<MapDomain<AtomDomain<K>, AtomDomain<i64>>, CountsDistance>,
        scale: Scale,
        threshold: i64,
    ) -> Result<CountsRelease<K, Self>>
    where
        Self: Sized;
}
impl WithDelta for Approximate<MaxDivergence> {
    fn threshold<K: HashableAtom>(
        counts: Space<MapDomain<AtomDomain<K>, AtomDomain<i64>>, CountsDistance>,
        scale: Scale,
        threshold: i64,
    ) -> Result<CountsRelease<K, Self>> {
        make_laplace_threshold(counts, scale, threshold, None)
    }
}
/// The distance of two maps of counts.
type CountsDistance = L01InfDistance<AbsoluteDistance<i64>>;
/// A release of the counts of some keys.
type CountsRelease<K, MO> =
    Measurement<MapDomain<AtomDomain<K>, AtomDomain<i64>>, CountsDistance, MO, HashMap<K, i64>>;

/// A number type that the noise of a measure can be added to.
#[diagnostic::on_unimplemented(message = "there is no noise for `{Self}` under this budget")]
pub trait Noisy<MO: Accounted>: Atom + Number + Distance {
    /// Make the measurement that adds the noise.
    ///
    /// # Errors
    /// The errors of [`make_noise`].
    fn noisy(
        space: Space<AtomDomain<Self>, AbsoluteDistance<Self>>,
        scale: Scale,
    ) -> Result<Measurement<AtomDomain<Self>, AbsoluteDistance<Self>, MO::Base, Self>>;
    /// Make the measurement that adds continuous Gaussian noise.
    ///
    /// # Errors
    /// The errors of [`make_continuous_gaussian`].
    fn gaussian(
        space: Space<AtomDomain<Self>, AbsoluteDistance<Self>>,
        scale: Scale,
    ) -> Result<
        Measurement<AtomDomain<Self>, AbsoluteDistance<Self>, ZeroConcentratedDivergence, Self>,
    >;
    /// Return the distribution of the noise.
    fn noise(scale: Scale, gaussian: bool) -> Noise;
}
impl<N, MO> Noisy<MO> for N
where
    N: Atom + Number + Distance,
    MO: Accounted,
    AtomDomain<N>: Numbers + Domain<Carrier = N>,
    AbsoluteDistance<N>: MetricOn<AtomDomain<N>>,
    MO::Base: NoiseMeasure<AtomDomain<N>, AbsoluteDistance<N>>,
    <AtomDomain<N> as Numbers>::Number: NoiseNumber<ContinuousGaussian>,
    AbsoluteDistance<N>: NoiseLoss<Gaussian, ZeroConcentratedDivergence>,
{
    fn noisy(
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
    fn noise(scale: Scale, gaussian: bool) -> Noise {
        let real = [TypeId::of::<f32>(), TypeId::of::<f64>()].contains(&TypeId::of::<N>());
        match (real, gaussian) {
            (true, true) => Noise::gaussian(scale),
            // It is rounded, which the error of the measurement counts.
            (false, true) if MO::TIGHT => Noise::gaussian(scale),
            (true, false) => Noise::laplace(scale),
            (false, true) => Noise::discrete_gaussian(scale),
            (false, false) => Noise::discrete_laplace(scale),
        }
    }
}

/// How much all queries of a context together, or one of them, may lose.
///
/// Amounts are exact decimals: a budget of 0.3 has room for exactly three tenths.
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
}
impl Budget<MaxDivergence> {
    /// Pure differential privacy.
    ///
    /// # Errors
    /// `Argument` when epsilon is not positive and finite.
    pub fn epsilon(epsilon: f64) -> Result<Self> {
        Budget::new(positive("epsilon", epsilon)?)
    }
}
impl Budget<Approximate<MaxDivergence>> {
    /// Approximate differential privacy.
    ///
    /// # Errors
    /// `Argument` when epsilon is not positive and finite, or delta not at least 0 and below 1.
    pub fn epsilon_delta(epsilon: f64, delta: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&delta) {
            let reason = format!("expected a number of at least 0 and below 1, found {delta}");
            return Err(Error::argument("delta", reason));
        }
        Budget::new((positive("epsilon", epsilon)?, delta))
    }
}
impl Budget<ZeroConcentratedDivergence> {
    /// Zero-concentrated differential privacy.
    ///
    /// # Errors
    /// `Argument` when rho is not positive and finite.
    pub fn rho(rho: f64) -> Result<Self> {
        Budget::new(positive("rho", rho)?)
    }
}
impl<MO: Accounted> Budget<MO> {
    /// Return the amount.
    pub fn amount(&self) -> &MO::Distance {
        &self.amount
    }
    /// Return the exact amount, part by part.
    pub fn exact_amount(&self) -> &[Exact] {
        &self.parts
    }
    fn new(amount: MO::Distance) -> Result<Self> {
        let parts = MO::default().split(&amount)?;
        let parts = parts.into_iter().map(Exact::written).collect::<Result<_>>()?;
        Ok(Budget { amount, parts })
    }
}
fn positive(name: &str, amount: f64) -> Result<f64> {
    if 0.0 < amount && amount < f64::INFINITY {
        return Ok(amount);
    }
    Err(Error::argument(name, format!("expected a positive number, found {amount}")))
}
