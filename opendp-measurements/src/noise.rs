//! What all mechanisms of additive noise share: the release, its lattice, and its accuracy.

use opendp_core::random::{Failing, NoEntropy, RandomSource, with_secure};
use opendp_core::{Error, Function, Measure, Measurement, MetricOn, PrivacyMap, Result, Space};

use crate::numbers::Numbers;
use crate::samplers::Dyadic;
use crate::{Scale, accuracy};

/// A family of noise distributions that can be added to a number.
pub(crate) trait Noise<T> {
    /// Add exact noise of a scale; scale 0 draws nothing. A float is then rounded to the lattice
    /// `2^k`.
    fn add<S: RandomSource>(x: T, scale: f64, k: i32, source: &mut S) -> Result<T, NoEntropy>;
}

/// Build a measurement that adds independent noise to each number.
///
/// The caller proves the map, and that noise of the family exceeds `bound` with probability at most
/// its argument.
pub(crate) fn add_noise_of<N, D, M, MO>(
    input: Space<D, M>,
    scale: Scale,
    lattice: Option<i32>,
    map: PrivacyMap<M, MO>,
    bound: impl Fn(f64) -> Result<f64> + Send + Sync + 'static,
) -> Measurement<D, M, MO, D::Carrier>
where
    N: Noise<D::Number>,
    D: Numbers,
    M: MetricOn<D>,
    MO: Measure + Default,
{
    let count = input.domain().count();
    let (s, k) = (scale.value(), lattice.unwrap_or(0));
    let function = Function::map(move |data: &D::Carrier| {
        let released = if s == 0.0 {
            // There is nothing to draw, and this source has nothing to give.
            D::try_map(data, |x| N::add(x, 0.0, k, &mut Failing::default()))
        } else {
            with_secure(|source| D::try_map(data, |x| N::add(x, s, k, source)))
        };
        Ok(released?)
    });
    Measurement::new(input, MO::default(), function, map).with_accuracy(move |alpha| {
        accuracy::check(alpha)?;
        Ok(accuracy::each(bound(alpha)?, count))
    })
}

/// Choose the exponent of the lattice: `None` for integers.
pub(crate) fn lattice(
    range: Option<(i32, i32)>,
    scale: Scale,
    k: Option<i32>,
) -> Result<Option<i32>> {
    let Some((finest, coarsest)) = range else {
        return match k {
            None | Some(0) => Ok(None),
            Some(_) => Err(Error::MakeMeasurement(
                "k: k is only valid for domains over floats, expected null or 0".into(),
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
/// The exponent `floor(log2 scale) - 40`; the finest for subnormal scales and 0.
pub(crate) fn default_lattice(scale: Scale) -> i32 {
    let parts = Dyadic::new(scale.value());
    // A normal float is 2^52 to 2^53 times its unit in the last place.
    if 1 << 52 <= parts.mantissa { parts.exponent + 52 - 40 } else { -1074 }
}
