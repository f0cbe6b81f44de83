//! The shared parts of both threshold mechanisms on a map: the release and its delta.

mod gaussian_threshold;
mod laplace_threshold;
mod noise_threshold;
mod threshold_number;

use std::collections::HashMap;
use std::hash::BuildHasher;

use opendp_core::arith::{Directed, DirectedFloat, InfCast, Number};
use opendp_core::erased::AnyDistance;
use opendp_core::random::{Failing, NoEntropy, with_secure};
use opendp_core::{
    AbsoluteDistance, AnyNumber, AtomDomain, Distance, Error, Function, HashableAtom,
    L0PInfDistance, MapDomain, Measure, Measurement, Metric, NumberMetric, OfAnyNumber, PrivacyMap,
    Result, Space,
};

use crate::noise::quotient::finite_distance;
use crate::noise::{Prepared, lattice};
use crate::{NoiseDistribution, NoiseNumber, Scale, accuracy};

pub use gaussian_threshold::make_gaussian_threshold;
pub use laplace_threshold::make_laplace_threshold;
pub use noise_threshold::{NoiseThresholdMeasure, make_noise_threshold};
pub use threshold_number::ThresholdNumber;

/// A map of numbers and a metric on it.
pub(crate) type MapSpace<K, V, M> = Space<MapDomain<AtomDomain<K>, AtomDomain<V>>, M>;
/// A measurement that releases some of the numbers of a map.
pub(crate) type Release<K, V, M, MO> =
    Measurement<MapDomain<AtomDomain<K>, AtomDomain<V>>, M, MO, HashMap<K, V>>;
/// The metric whose type of numbers is known only at run time.
pub(crate) type AnyMapMetric<const P: usize> =
    OfAnyNumber<L0PInfDistance<P, AbsoluteDistance<f64>>>;

/// The metric that a threshold needs: the number of changed numbers, their changes in the `P`-norm,
/// and the largest change.
pub(crate) trait ThresholdMetric<const P: usize>: Metric {
    /// Bound the loss of a threshold. The proof is that of `make_laplace_threshold`.
    fn loss<N: ThresholdNoise<P>, V: ThresholdNumber + NoiseNumber<N>>(
        d_in: &Self::Distance,
        scale: Scale,
        threshold: V,
        lattice: Option<i32>,
    ) -> Result<(f64, f64)>;
}
impl<const P: usize, Q> ThresholdMetric<P> for L0PInfDistance<P, AbsoluteDistance<Q>>
where
    Q: Distance + Number + InfCast<u32>,
    f64: InfCast<Q>,
    i128: InfCast<Q>,
{
    fn loss<N: ThresholdNoise<P>, V: ThresholdNumber + NoiseNumber<N>>(
        d_in: &(u32, Q, Q),
        scale: Scale,
        threshold: V,
        lattice: Option<i32>,
    ) -> Result<(f64, f64)> {
        loss::<P, N, V, Q>(*d_in, scale, threshold, lattice)
    }
}
impl<const P: usize> ThresholdMetric<P> for AnyMapMetric<P>
where
    L0PInfDistance<P, AbsoluteDistance<f64>>: NumberMetric,
{
    fn loss<N: ThresholdNoise<P>, V: ThresholdNumber + NoiseNumber<N>>(
        d_in: &AnyDistance,
        scale: Scale,
        threshold: V,
        lattice: Option<i32>,
    ) -> Result<(f64, f64)> {
        let [parts, norm, change] = d_in.three_numbers()?;
        let AnyNumber::Integer(parts) = parts else { return Err(no_count()) };
        let parts = u32::try_from(parts).map_err(|_| no_count())?;
        match (norm, change) {
            (AnyNumber::Integer(norm), AnyNumber::Integer(change)) => {
                loss::<P, N, V, i128>((parts, norm, change), scale, threshold, lattice)
            }
            (AnyNumber::Float(norm), AnyNumber::Float(change)) => {
                loss::<P, N, V, f64>((parts, norm, change), scale, threshold, lattice)
            }
            _ => Err(no_count()),
        }
    }
}
#[cold]
fn no_count() -> Error {
    Error::FailedCast("d_in: expected a count and two numbers of the same type".into())
}

/// The loss of one threshold mechanism, when the changes of all numbers are bounded in the
/// `P`-norm.
///
/// An implementation claims: the loss is at most `(loss, delta)` if, for each of two data sets,
/// there is an event of probability at least `1 - delta`, and, conditioned on these events, the
/// divergence of the releases is at most the `loss` of the noise.
pub(crate) trait ThresholdNoise<const P: usize>: NoiseDistribution {
    /// The measure of that loss.
    type Measure: Measure<Distance = (f64, f64)> + Default;
    /// Bound the loss of numbers that change by `norm` in the `P`-norm, at most `parts` of them,
    /// each by `change` at most. The scale is not 0.
    fn loss<Q>(parts: u32, norm: Q, change: Q, scale: Scale) -> Result<f64>
    where
        Q: Number + InfCast<u32>,
        f64: InfCast<Q>,
        i128: InfCast<Q>;
    /// Bound the probability that noise is at least `t`: of an integer, or of a float before it is
    /// rounded.
    fn tail(scale: Scale, t: f64, integers: bool) -> Result<f64>;
}

/// Build a measurement that adds noise to each number and keeps those that reach the threshold.
pub(crate) fn threshold_of<const P: usize, N, K, V, M>(
    input: MapSpace<K, V, M>,
    scale: Scale,
    threshold: V,
    k: Option<i32>,
) -> Result<Release<K, V, M, N::Measure>>
where
    N: ThresholdNoise<P>,
    K: HashableAtom,
    V: ThresholdNumber + NoiseNumber<N>,
    M: ThresholdMetric<P>,
{
    threshold.check_threshold()?;
    let lattice = lattice(<V as NoiseNumber<N>>::LATTICES, scale, k)?;
    let function = keeping::<N, K, V>(scale.value(), threshold, lattice.unwrap_or(0));
    let map = losing::<P, N, V, M>(scale, threshold, lattice);
    Ok(Measurement::new(input, N::Measure::default(), function, map).with_accuracy(move |alpha| {
        accuracy::check(alpha)?;
        Ok(accuracy::each(N::accuracy(scale, lattice, alpha)?, None))
    }))
}

/// Build the function, which is the same for all types of distances.
fn keeping<N, K, V>(scale: f64, threshold: V, k: i32) -> Function<HashMap<K, V>, HashMap<K, V>>
where
    N: NoiseDistribution,
    K: HashableAtom,
    V: ThresholdNumber + NoiseNumber<N>,
{
    kept_of(threshold, noising::<N, V>(scale, k))
}
/// A function that adds noise to a slice of numbers, the same for all types of keys.
type Noising<V> = Box<dyn Fn(&mut [V]) -> Result<(), NoEntropy> + Send + Sync>;

fn noising<N, V>(scale: f64, k: i32) -> Noising<V>
where
    N: NoiseDistribution,
    V: ThresholdNumber + NoiseNumber<N>,
{
    let prepared = Prepared::new::<N, V>(scale);
    Box::new(move |numbers| {
        if scale == 0.0 {
            // There is nothing to draw, so this source has no words.
            return each(numbers, |x| {
                NoiseNumber::<N>::add_noise(x, None, 0.0, k, &mut Failing::default())
            });
        }
        let table = prepared.table();
        with_secure(|source| {
            each(numbers, |x| NoiseNumber::<N>::add_noise(x, table, scale, k, source))
        })
    })
}
fn each<V: Copy>(
    numbers: &mut [V],
    mut add: impl FnMut(V) -> Result<V, NoEntropy>,
) -> Result<(), NoEntropy> {
    for number in numbers {
        *number = add(*number)?;
    }
    Ok(())
}
/// Build the function, which is the same for all kinds of noise.
fn kept_of<K, V>(threshold: V, noising: Noising<V>) -> Function<HashMap<K, V>, HashMap<K, V>>
where
    K: HashableAtom,
    V: ThresholdNumber,
{
    Function::map(move |data: &HashMap<K, V>| Ok(reaching(data, threshold, &*noising)?))
}
/// Build the privacy map, which is the same for all types of keys.
fn losing<const P: usize, N, V, M>(
    scale: Scale,
    threshold: V,
    lattice: Option<i32>,
) -> PrivacyMap<M, N::Measure>
where
    N: ThresholdNoise<P>,
    V: ThresholdNumber + NoiseNumber<N>,
    M: ThresholdMetric<P>,
{
    PrivacyMap::new(move |d_in: &M::Distance| M::loss::<N, V>(d_in, scale, threshold, lattice))
}

/// Add noise to each nonzero number and keep those that reach the threshold, in a map whose layout
/// reveals nothing else.
///
/// A map's capacity, and the order in which it lists its keys, depend on its history: on the number
/// of earlier keys and on the order of insertions. The new map has the capacity that its own keys
/// need, and they are inserted in the order of their hashes.
fn reaching<K, V>(
    data: &HashMap<K, V>,
    threshold: V,
    noising: &dyn Fn(&mut [V]) -> Result<(), NoEntropy>,
) -> Result<HashMap<K, V>, NoEntropy>
where
    K: HashableAtom,
    V: ThresholdNumber,
{
    let mut entries = Vec::with_capacity(data.len());
    let mut numbers = Vec::with_capacity(data.len());
    for (key, number) in data {
        // The metric does not distinguish a key with the number 0 from an absent key.
        if *number != V::zero() {
            entries.push(key);
            numbers.push(*number);
        }
    }
    noising(&mut numbers)?;
    let mut released = HashMap::new();
    let mut hashes = Vec::new();
    for (place, number) in numbers.iter().enumerate() {
        if number.reaches(threshold) {
            hashes.push((released.hasher().hash_one(entries[place]), place));
        }
    }
    sort(&mut hashes);
    released.reserve(hashes.len());
    for (_, place) in hashes {
        released.insert(entries[place].clone(), numbers[place]);
    }
    Ok(released)
}
/// Sort places by their hashes.
fn sort(places: &mut [(u64, usize)]) {
    places.sort_unstable();
}

/// Compute the privacy map. The proof is that of `make_laplace_threshold`.
fn loss<const P: usize, N, V, Q>(
    (parts, norm, change): (u32, Q, Q),
    scale: Scale,
    threshold: V,
    lattice: Option<i32>,
) -> Result<(f64, f64)>
where
    N: ThresholdNoise<P>,
    V: ThresholdNumber + NoiseNumber<N>,
    Q: Number + InfCast<u32>,
    f64: InfCast<Q>,
    i128: InfCast<Q>,
{
    // Integers change by integers. The sum of their changes is an integer; their Euclidean length
    // is not.
    let integers = <V as NoiseNumber<N>>::LATTICES.is_none();
    let whole = |d| if integers { floor(d) } else { d };
    let norm = if P == 1 { whole(norm) } else { norm };
    // No change exceeds the norm. One of these bounds is finite unless both are infinite.
    let change = finite_distance(whole(if norm < change { norm } else { change }))?;
    if parts == 0 || change == Q::zero() {
        return Ok((0.0, 0.0));
    }
    if scale.value() == 0.0 {
        return Ok((f64::INFINITY, 1.0));
    }
    let loss = N::loss(parts, norm, change, scale)?;
    let Some(gap) = V::gap(threshold, change, lattice)? else {
        return Err(Error::FailedMap(format!(
            "threshold must not be smaller than l-infinity sensitivity, found {threshold} and \
             {change}"
        )));
    };
    Ok((loss, any_of(parts, N::tail(scale, gap, integers)?)?))
}

/// Round a distance down to an integer; leave a distance that is too large for this to matter.
fn floor<Q: Number>(distance: Q) -> Q
where
    i128: InfCast<Q>,
{
    i128::neg_inf_cast(distance).ok().and_then(num_traits::cast).unwrap_or(distance)
}

/// Bound the probability that any of `count` independent events of probability at most `delta`
/// happens: `1 - (1 - delta)^count`, rounded up.
fn any_of(count: u32, delta: f64) -> Result<f64> {
    let delta = delta.min(1.0);
    if delta == 1.0 || count == 1 {
        return Ok(delta);
    }
    let count = f64::from(count);
    let none = (0.0 - delta).neg_inf_ln_1p()?.neg_inf_mul(count)?;
    let joint = 0.0 - none.neg_inf_exp_m1()?;
    Ok(joint.min(delta.inf_mul(count)?).min(1.0))
}

#[cfg(test)]
mod tests;
