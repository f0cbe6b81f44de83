//! The code that several mechanisms of additive noise share. [`make_noise`] selects a mechanism by
//! the privacy measure.

/// Call a macro with each number type and with the distance types of this number type.
macro_rules! each_number {
    ($register:ident) => {
        $register! {
            i8: i8, f64; i16: i16, f64; i32: i32, f64; i64: i64, f64; i128: i128, f64;
            u8: u8, f64; u16: u16, f64; u32: u32, f64; u64: u64, f64; usize: usize, f64;
            u128: f64; opendp_core::IBig: f64; f32: f32, f64; f64: f64;
        }
    };
}

mod canonical_noise;
mod continuous_gaussian;
mod gaussian;
mod geometric;
mod laplace;

pub(crate) mod distribution;
mod loss;
pub(crate) mod noising;
pub(crate) mod numbers;
pub(crate) mod quotient;
mod scale;

use opendp_core::{
    AbsoluteDistance, AtomDomain, Error, L1Distance, L2Distance, MaxDivergence, Measure,
    Measurement, MetricOn, OfAnyNumber, PrivacyMap, Result, Space, TheMeasure, VectorDomain,
    ZeroConcentratedDivergence,
};

use crate::accuracy;
use crate::samplers::Dyadic;
use noising::{Noising, adding, noising};

pub use canonical_noise::make_canonical_noise;
pub use continuous_gaussian::make_continuous_gaussian;
pub use distribution::{
    BigNoiseDistribution, ContinuousGaussian, Gaussian, Laplace, NoiseDistribution, NoiseNumber,
};
pub use gaussian::{make_gaussian, make_gaussian_in};
pub use geometric::{GeometricNumber, make_geometric};
pub use laplace::{make_laplace, make_laplace_in};
pub use loss::NoiseLoss;
pub use numbers::Numbers;
pub use scale::Scale;

/// A privacy measure for which a mechanism of additive noise is known, on the domain `D` with the
/// metric `M`.
pub trait NoiseMeasure<D: Numbers, M: MetricOn<D>>: Measure {
    /// Make the mechanism of additive noise for this measure.
    ///
    /// # Errors
    /// The errors of the constructor that makes this mechanism.
    fn make(
        input: Space<D, M>,
        scale: Scale,
        k: Option<i32>,
    ) -> Result<Measurement<D, M, Self, D::Carrier>>
    where
        Self: Sized;
}
macro_rules! mechanisms {
    ($($noise:ident $measure:ty;)*) => {$(
        impl<D, M> NoiseMeasure<D, M> for $measure
        where
            D: Numbers,
            D::Number: NoiseNumber<$noise>,
            M: MetricOn<D> + NoiseLoss<$noise, $measure>,
        {
            fn make(
                input: Space<D, M>,
                scale: Scale,
                k: Option<i32>,
            ) -> Result<Measurement<D, M, Self, D::Carrier>> {
                noise_in::<$noise, _, _, _>(input, scale, k)
            }
        }
    )*};
}
mechanisms! {
    Laplace MaxDivergence;
    Gaussian ZeroConcentratedDivergence;
}

/// Make a measurement that adds noise to each number. The privacy measure selects the noise.
///
/// # Arguments
/// * `input` - a number under the absolute distance, or a vector. For Laplace noise, vectors have
///   the L1 distance. For Gaussian noise, vectors have the L2 distance
/// * `output_measure` - max-divergence for Laplace noise, or zero-concentrated divergence for
///   Gaussian noise
/// * `scale` - the scale of the noise. At scale 0, no noise is added
/// * `k` - the exponent of the lattice: float releases are rounded to multiples of `2^k`. For
///   integers, `k` is null or 0
///
/// # Precondition
/// The precondition of [`make_laplace`] or [`make_gaussian`].
///
/// # Postcondition
/// The measurement equals the measurement that [`make_laplace`] or [`make_gaussian`] makes from the
/// same `input`, `scale` and `k`.
///
/// # Map
/// The map of [`make_laplace`] or [`make_gaussian`].
///
/// # Proof
/// For max-divergence, this function calls [`make_laplace`]. For zero-concentrated divergence, this
/// function calls [`make_gaussian`].
///
/// # Errors
/// The errors of [`make_laplace`] or [`make_gaussian`].
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_noise};
/// let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let scale = Scale::new(2.0)?;
/// let laplace = make_noise(sums.clone(), TheMeasure(MaxDivergence), scale, None)?;
/// assert_eq!(laplace.map(&1)?, 0.5); // epsilon
/// let gaussian = make_noise(sums, TheMeasure(ZeroConcentratedDivergence), scale, None)?;
/// assert_eq!(gaussian.map(&1)?, 0.125); // rho
/// # Ok::<(), Error>(())
/// ```
pub fn make_noise<D, M, MO>(
    input: Space<D, M>,
    output_measure: TheMeasure<MO>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Measurement<D, M, MO, D::Carrier>>
where
    D: Numbers,
    M: MetricOn<D>,
    MO: NoiseMeasure<D, M>,
{
    // The type of `output_measure` selects the mechanism. The value of `output_measure` is not
    // read.
    let TheMeasure(_) = output_measure;
    MO::make(input, scale, k)
}

macro_rules! register_at {
    ($($t:ty: $($q:ty),+;)+) => {$(
        register! {
            "noise.rs": make_noise(input, output_measure, scale, k = null)
                for D in [AtomDomain<$t>],
                    M in [$(AbsoluteDistance<$q>),+] as OfAnyNumber<AbsoluteDistance<f64>>,
                    MO in [MaxDivergence, ZeroConcentratedDivergence];
        }
        register! {
            "noise.rs": make_noise(input, output_measure, scale, k = null)
                for D in [VectorDomain<AtomDomain<$t>>],
                    M in [$(L1Distance<$q>),+] as OfAnyNumber<L1Distance<f64>>,
                    MO in [MaxDivergence];
        }
        register! {
            "noise.rs": make_noise(input, output_measure, scale, k = null)
                for D in [VectorDomain<AtomDomain<$t>>],
                    M in [$(L2Distance<$q>),+] as OfAnyNumber<L2Distance<f64>>,
                    MO in [ZeroConcentratedDivergence];
        }
    )+};
}
each_number!(register_at);

/// Build a measurement that adds noise of the distribution `N` to each number. Integers get
/// discrete noise. The implementation of `NoiseLoss` for the metric computes the privacy loss.
pub(crate) fn noise_in<N, D, M, MO>(
    input: Space<D, M>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Measurement<D, M, MO, D::Carrier>>
where
    N: NoiseDistribution,
    D: Numbers,
    D::Number: NoiseNumber<N>,
    M: MetricOn<D> + NoiseLoss<N, MO>,
    MO: Measure + Default,
{
    noisy(input, Noise::of::<N>, scale, k, map_of::<N, M, MO>)
}
/// Build the privacy map. All integer types share one map, and all float types share another map.
///
/// A panic in a function of the C ABI ends the process, so its callers need no code that drops
/// their values after a panic. This function only makes an object. It does not evaluate the map.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
pub(crate) extern "C" fn map_of<N, M, MO>(scale: Scale, integers: bool) -> PrivacyMap<M, MO>
where
    N: NoiseDistribution,
    M: NoiseLoss<N, MO>,
    MO: Measure + Default,
{
    PrivacyMap::new(move |d_in: &M::Distance| match integers {
        false => M::loss(d_in, scale),
        true => M::loss_of_integers(d_in, scale),
    })
    .with_exact(move |d_in| M::exact_loss(d_in, scale, integers))
}
/// A function such as [`map_of`].
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
pub(crate) type MapOf<M, MO> = extern "C" fn(Scale, bool) -> PrivacyMap<M, MO>;
/// The functions that draw the noise for numbers of the type `V`, and that bound this noise.
pub(crate) struct Noise<V> {
    lattices: Option<(i32, i32)>,
    noising: fn(f64, i32) -> Noising<V>,
    accuracy: fn(Scale, Option<i32>, f64) -> Result<f64>,
}
impl<V> Noise<V> {
    pub(crate) fn of<N: NoiseDistribution>() -> Self
    where
        V: NoiseNumber<N>,
    {
        Noise { lattices: V::LATTICES, noising: noising::<N, V>, accuracy: N::accuracy }
    }
}
/// Build a measurement that adds independent noise to each number. `map` builds the privacy map.
/// The second argument of `map` states whether the numbers are integers. The caller must prove that
/// the map is valid for this noise.
#[allow(clippy::question_mark, reason = "`?` compiles to more code for each type")]
pub(crate) fn noisy<D, M, MO>(
    input: Space<D, M>,
    noise: fn() -> Noise<D::Number>,
    scale: Scale,
    k: Option<i32>,
    map: MapOf<M, MO>,
) -> Result<Measurement<D, M, MO, D::Carrier>>
where
    D: Numbers,
    M: MetricOn<D>,
    MO: Measure + Default,
{
    let amount = Amount { scale, k, count: input.domain().count() };
    let measure = MO::default();
    let (noising, bound, integers) = match prepared(noise, &amount) {
        Ok(parts) => parts,
        Err(error) => return Err(error),
    };
    let function = adding::<D>(noising);
    let map = map(scale, integers);
    Ok(Measurement::new(input, measure, function, map).with_accuracy(bound))
}
/// How much noise is added, and to how many numbers.
struct Amount {
    scale: Scale,
    k: Option<i32>,
    count: Option<usize>,
}
/// Choose the exponent of the lattice. Return the function that adds noise, the accuracy, and
/// whether the numbers are integers. See [`map_of`] for the C ABI.
#[allow(clippy::type_complexity, reason = "the only caller takes the parts apart")]
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn prepared<V>(
    noise: fn() -> Noise<V>,
    &Amount { scale, k, count }: &Amount,
) -> Result<(Noising<V>, impl Fn(f64) -> Result<Vec<Option<f64>>> + use<V>, bool)> {
    let noise = noise();
    let lattice = lattice(noise.lattices, scale, k)?;
    let noising = (noise.noising)(scale.value(), lattice.unwrap_or(0));
    Ok((noising, accuracy_of(noise.accuracy, scale, lattice, count), lattice.is_none()))
}
/// Return the function that computes the accuracy for a release of `count` numbers with noise.
pub(crate) fn accuracy_of(
    accuracy: fn(Scale, Option<i32>, f64) -> Result<f64>,
    scale: Scale,
    lattice: Option<i32>,
    count: Option<usize>,
) -> impl Fn(f64) -> Result<Vec<Option<f64>>> + Send + Sync + 'static {
    move |alpha| {
        accuracy::check(alpha)?;
        Ok(accuracy::each(accuracy(scale, lattice, alpha)?, count))
    }
}
/// Choose the exponent `k` for float releases, which are multiples of `2^k`. For integers, return
/// `None`.
pub(crate) fn lattice(
    range: Option<(i32, i32)>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Option<i32>> {
    let Some((finest, coarsest)) = range else {
        return match k {
            None | Some(0) => Ok(None),
            Some(_) => Err(Error::MakeMeasurement(
                "k: expected null or 0, because the domain does not contain floats".into(),
            )),
        };
    };
    match k {
        Some(k) if (finest..=coarsest).contains(&k) => Ok(Some(k)),
        Some(k) => Err(Error::FailedFunction(format!(
            "k: expected an exponent from {finest} to {coarsest}, found {k}"
        ))),
        None => Ok(Some(default_lattice(scale).clamp(finest, coarsest))),
    }
}
/// Return the exponent `floor(log2 scale) - 40`. If the scale is subnormal or 0, return the finest
/// exponent of `f64`.
pub(crate) fn default_lattice(scale: Scale) -> i32 {
    let parts = Dyadic::new(scale.value());
    // The mantissa of a normal float is at least 2^52 and below 2^53. So floor(log2 scale) is the
    // exponent plus 52.
    if 1 << 52 <= parts.mantissa { parts.exponent + 52 - 40 } else { -1074 }
}

#[cfg(test)]
mod tests;
