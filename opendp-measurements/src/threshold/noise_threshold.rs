//! Noise on the numbers of a map, with a threshold that hides rare keys. The privacy measure
//! selects the distribution of the noise.

use std::collections::HashMap;

use opendp_core::{
    AbsoluteDistance, Approximate, AtomDomain, HashableAtom, L01InfDistance, L02InfDistance,
    MapDomain, MaxDivergence, Measure, Measurement, MetricOn, Result, Space, TheMeasure,
    ZeroConcentratedDivergence,
};

use crate::threshold::{AnyMapMetric, MapSpace, Release, ThresholdMetric, threshold_of};
use crate::{Gaussian, Laplace, Scale, ThresholdNumber};

/// A privacy measure for which there is a mechanism with noise and a threshold. The data of this
/// mechanism are maps under the metric `M`.
pub trait NoiseThresholdMeasure<K: HashableAtom, V: ThresholdNumber, M>: Measure
where
    M: MetricOn<MapDomain<AtomDomain<K>, AtomDomain<V>>>,
{
    /// Make the mechanism with noise and a threshold for this measure.
    ///
    /// # Errors
    /// The errors of the constructor for this mechanism.
    fn make(
        input: Space<MapDomain<AtomDomain<K>, AtomDomain<V>>, M>,
        scale: Scale,
        threshold: V,
        k: Option<i32>,
    ) -> Result<Measurement<MapDomain<AtomDomain<K>, AtomDomain<V>>, M, Self, HashMap<K, V>>>
    where
        Self: Sized;
}

macro_rules! mechanisms {
    ($($p:literal $noise:ident $measure:ty;)*) => {$(
        impl<K, V, M> NoiseThresholdMeasure<K, V, M> for Approximate<$measure>
        where
            K: HashableAtom,
            V: ThresholdNumber,
            M: ThresholdMetric<$p> + MetricOn<MapDomain<AtomDomain<K>, AtomDomain<V>>>,
        {
            fn make(
                input: MapSpace<K, V, M>,
                scale: Scale,
                threshold: V,
                k: Option<i32>,
            ) -> Result<Release<K, V, M, Self>> {
                threshold_of::<$p, $noise, _, _, _>(input, scale, threshold, k)
            }
        }
    )*};
}
mechanisms! {
    1 Laplace MaxDivergence;
    2 Gaussian ZeroConcentratedDivergence;
}

/// Make a measurement that adds noise to the values of a map from keys to numbers, and keeps the
/// keys whose noisy values reach a threshold.
///
/// The privacy measure selects the noise. For approximate max-divergence, this function makes the
/// same measurement as [`make_laplace_threshold`](crate::make_laplace_threshold). For approximate
/// zero-concentrated divergence, this function makes the same measurement as
/// [`make_gaussian_threshold`](crate::make_gaussian_threshold).
///
/// # Arguments
/// * `input` - maps from keys to numbers. A distance has three parts: the number of changed keys,
///   the norm of the changes, and the largest change
/// * `output_measure` - approximate max-divergence or approximate zero-concentrated divergence. For
///   approximate max-divergence, the noise is Laplace noise and the norm is the L1 norm. For
///   approximate zero-concentrated divergence, the noise is Gaussian noise and the norm is the L2
///   norm
/// * `scale` - the scale of the noise. At scale 0, no noise is added
/// * `threshold` - a key is released if its noisy number is at least the threshold. For a negative
///   threshold, a key is released if its noisy number is at most the threshold. For floats, the
///   threshold must not be negative
/// * `k` - the exponent of the lattice that float releases lie on. Integers accept only null or 0
///
/// # Precondition
/// The precondition of [`make_laplace_threshold`](crate::make_laplace_threshold) or of
/// [`make_gaussian_threshold`](crate::make_gaussian_threshold).
///
/// # Postcondition
/// The postcondition of [`make_laplace_threshold`](crate::make_laplace_threshold) or of
/// [`make_gaussian_threshold`](crate::make_gaussian_threshold).
///
/// # Map
/// The map of [`make_laplace_threshold`](crate::make_laplace_threshold) or of
/// [`make_gaussian_threshold`](crate::make_gaussian_threshold).
///
/// # Proof
/// This function calls the internal function of
/// [`make_laplace_threshold`](crate::make_laplace_threshold) or of
/// [`make_gaussian_threshold`](crate::make_gaussian_threshold), with the same arguments.
///
/// # Errors
/// The errors of [`make_laplace_threshold`](crate::make_laplace_threshold) or of
/// [`make_gaussian_threshold`](crate::make_gaussian_threshold).
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_noise_threshold};
/// let domain = MapDomain::new(AtomDomain::<i32>::default(), AtomDomain::<i64>::default());
/// let counts = Space::new(domain, L01InfDistance::new(AbsoluteDistance::<i64>::new()))?;
/// let measure = TheMeasure(Approximate(MaxDivergence));
/// let release = make_noise_threshold(counts, measure, Scale::new(1.0)?, 5, None)?;
/// assert_eq!(release.map(&(1, 1, 1))?, (1.0, 0.013389804932698453));
/// # Ok::<(), Error>(())
/// ```
pub fn make_noise_threshold<K, V, M, MO>(
    input: Space<MapDomain<AtomDomain<K>, AtomDomain<V>>, M>,
    output_measure: TheMeasure<MO>,
    scale: Scale,
    threshold: V,
    k: Option<i32>,
) -> Result<Measurement<MapDomain<AtomDomain<K>, AtomDomain<V>>, M, MO, HashMap<K, V>>>
where
    K: HashableAtom,
    V: ThresholdNumber,
    M: MetricOn<MapDomain<AtomDomain<K>, AtomDomain<V>>>,
    MO: NoiseThresholdMeasure<K, V, M>,
{
    // The type of `output_measure` selects the mechanism. The value of `output_measure` is not
    // read.
    let TheMeasure(_) = output_measure;
    MO::make(input, scale, threshold, k)
}

macro_rules! register_at {
    ($($v:ty: $($q:ty),+;)+) => {$(
        register! {
            "noise_threshold.rs": make_noise_threshold
                (input, output_measure, scale, threshold, k = null)
                for K in [bool, i32, i64, u32, u64, usize, String], V in [$v],
                    M in [$(L01InfDistance<AbsoluteDistance<$q>>),+] as AnyMapMetric<1>,
                    MO in [Approximate<MaxDivergence>];
        }
        register! {
            "noise_threshold.rs": make_noise_threshold
                (input, output_measure, scale, threshold, k = null)
                for K in [bool, i32, i64, u32, u64, usize, String], V in [$v],
                    M in [$(L02InfDistance<AbsoluteDistance<$q>>),+] as AnyMapMetric<2>,
                    MO in [Approximate<ZeroConcentratedDivergence>];
        }
    )+};
}
register_at! {
    i32: i32, f64; i64: i64, f64; u32: u32, f64; u64: u64, f64; usize: usize, f64;
    f32: f32, f64; f64: f64;
}
