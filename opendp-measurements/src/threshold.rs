//! The code that the Laplace and the Gaussian threshold mechanisms on maps share.

mod gaussian_threshold;
mod laplace_threshold;
mod noise_threshold;
mod threshold_number;

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::{BuildHasher, Hash, RandomState};

use opendp_core::arith::{Directed, DirectedFloat, InfCast, Number, shown};
use opendp_core::erased::AnyDistance;
use opendp_core::random::NoEntropy;
use opendp_core::{
    AbsoluteDistance, AnyNumber, Atom, AtomDomain, Distance, Error, Function, HashableAtom,
    L0PInfDistance, MapDomain, Measure, Measurement, Metric, NumberMetric, OfAnyNumber, PrivacyMap,
    Result, Space,
};

use crate::noise::noising::noising;
use crate::noise::quotient::finite_distance;
use crate::noise::{accuracy_of, lattice};
use crate::{NoiseDistribution, NoiseNumber, Scale};

pub use gaussian_threshold::make_gaussian_threshold;
pub use laplace_threshold::make_laplace_threshold;
pub use noise_threshold::{NoiseThresholdMeasure, make_noise_threshold};
pub use threshold_number::ThresholdNumber;

/// The space of maps from keys to numbers, with a metric.
pub(crate) type MapSpace<K, V, M> = Space<MapDomain<AtomDomain<K>, AtomDomain<V>>, M>;
/// A measurement that releases some of the numbers of a map.
pub(crate) type Release<K, V, M, MO> =
    Measurement<MapDomain<AtomDomain<K>, AtomDomain<V>>, M, MO, HashMap<K, V>>;
/// The metric on maps, for distances whose number type is known only at run time.
pub(crate) type AnyMapMetric<const P: usize> =
    OfAnyNumber<L0PInfDistance<P, AbsoluteDistance<f64>>>;

/// The metric on maps that a threshold mechanism needs. The distance has three parts: the number of
/// keys whose numbers change, the `P`-norm of all changes, and the largest change.
pub(crate) trait ThresholdMetric<const P: usize>: Metric {
    /// Return an upper bound on the loss of a release with a threshold. See the proof of
    /// `make_laplace_threshold`.
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
        let gap = |change| V::gap(threshold, change, lattice);
        loss::<P, N, Q>(*d_in, scale, Threshold::of::<N, V>(&shown(threshold), &gap))
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
        let shown = shown(threshold);
        match (norm, change) {
            (AnyNumber::Integer(norm), AnyNumber::Integer(change)) => {
                let gap = |change| V::gap(threshold, change, lattice);
                loss::<P, N, i128>(
                    (parts, norm, change),
                    scale,
                    Threshold::of::<N, V>(&shown, &gap),
                )
            }
            (AnyNumber::Float(norm), AnyNumber::Float(change)) => {
                let gap = |change| V::gap(threshold, change, lattice);
                loss::<P, N, f64>((parts, norm, change), scale, Threshold::of::<N, V>(&shown, &gap))
            }
            _ => Err(no_count()),
        }
    }
}
#[cold]
fn no_count() -> Error {
    Error::FailedCast("d_in: expected a count and two numbers of the same type".into())
}

/// The noise of one threshold mechanism, and the loss of this noise for a given bound on the
/// `P`-norm of all changes.
///
/// Take the releases from two data sets, and one event for each release. Suppose that both events
/// have probability at least `1 - delta`. Suppose that the divergence of the releases, conditioned
/// on these events, is at most `loss`. An implementation claims that the loss in its `Measure` is
/// then at most `(loss, delta)`.
pub(crate) trait ThresholdNoise<const P: usize>: NoiseDistribution {
    /// The privacy measure of the loss `(loss, delta)`.
    type Measure: Measure<Distance = (f64, f64)> + Default;
    /// Return an upper bound on the loss of the noise. At most `parts` numbers change. Each number
    /// changes by at most `change`, and the `P`-norm of all changes is at most `norm`. The scale is
    /// not 0.
    fn loss<Q>(parts: u32, norm: Q, change: Q, scale: Scale) -> Result<f64>
    where
        Q: Number + InfCast<u32>,
        f64: InfCast<Q>,
        i128: InfCast<Q>;
    /// Return an upper bound on the probability that the noise is at least `t`. If `integers` is
    /// true, this noise is the noise on integers. Otherwise, this noise is the noise on floats
    /// before any rounding.
    fn tail(scale: Scale, t: f64, integers: bool) -> Result<f64>;
}

/// Build a measurement that adds noise to each number and keeps the numbers that reach the
/// threshold.
#[allow(clippy::question_mark, reason = "`?` compiles to more code for each type")]
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
    let (keep, measure, map, bound) = match parts_of::<P, N, V, M>(scale, threshold, k) {
        Ok(parts) => parts,
        Err(error) => return Err(error),
    };
    Ok(Measurement::new(input, measure, keeping(keep), map).with_accuracy(bound))
}
/// Check the threshold and the exponent of the lattice. Return the function that adds noise, the
/// measure, the privacy map and the accuracy. These parts are the same for all types of keys.
#[allow(clippy::type_complexity, reason = "the only caller takes the parts apart")]
fn parts_of<const P: usize, N, V, M>(
    scale: Scale,
    threshold: V,
    k: Option<i32>,
) -> Result<(
    Keep<V>,
    N::Measure,
    PrivacyMap<M, N::Measure>,
    impl Fn(f64) -> Result<Vec<Option<f64>>>,
)>
where
    N: ThresholdNoise<P>,
    V: ThresholdNumber + NoiseNumber<N>,
    M: ThresholdMetric<P>,
{
    threshold.check_threshold()?;
    let lattice = lattice(<V as NoiseNumber<N>>::LATTICES, scale, k)?;
    let map =
        PrivacyMap::new(move |d_in: &M::Distance| M::loss::<N, V>(d_in, scale, threshold, lattice));
    let noising = noising::<N, V>(scale.value(), lattice.unwrap_or(0));
    let keep: Keep<V> = Box::new(move |numbers| reached(numbers, threshold, &*noising));
    Ok((keep, N::Measure::default(), map, accuracy_of(N::accuracy, scale, lattice, None)))
}

/// Build the function that releases some of the keys of a map. `keep` gets all nonzero numbers.
/// `keep` replaces these numbers by noisy numbers, and returns the indices of the numbers that are
/// released. The layout of the new map depends only on the released keys and on a random seed.
//
// This function only makes an object. See `map_of` in `noise.rs` for the C ABI.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
pub extern "C" fn keeping<K, V>(keep: Keep<V>) -> Function<HashMap<K, V>, HashMap<K, V>>
where
    K: HashableAtom,
    V: Atom + Number,
{
    Function::map(move |data: &HashMap<K, V>| kept_entries(data, &*keep))
}

/// Run the function that [`keeping`] builds.
///
/// The capacity of a map and the order of its keys depend on the order of insertions, and on keys
/// that were removed earlier. So the data are not modified in place. The new map has the capacity
/// that the released keys need. The released keys are inserted in the order of their hashes.
///
/// # Errors
/// The errors of `keep`.
fn kept_entries<K: HashableAtom, V: Number>(
    data: &HashMap<K, V>,
    keep: &dyn Fn(&mut [V]) -> Result<Kept>,
) -> Result<HashMap<K, V>> {
    let mut nonzero = Nonzero::of(data);
    let hasher = RandomState::new();
    match sorted(&nonzero.keys, keep(&mut nonzero.numbers), &hasher) {
        Ok(places) => Ok(picked(&nonzero, &places, hasher)),
        Err(error) => Err(error),
    }
}
/// A function that replaces numbers by noisy numbers, and returns the indices of the numbers that
/// are released.
pub type Keep<V> = Box<dyn Fn(&mut [V]) -> Result<Kept> + Send + Sync>;
/// The indices of the released numbers. Each index is paired with a 0. The function `sorted` later
/// replaces this 0 by the hash of the key.
pub type Kept = Vec<(u64, usize)>;
/// The keys with a nonzero number, and their numbers.
struct Nonzero<'a, K, V> {
    keys: Vec<&'a K>,
    numbers: Vec<V>,
}
impl<'a, K, V: Number> Nonzero<'a, K, V> {
    fn of(data: &'a HashMap<K, V>) -> Self {
        let count = data.len();
        let mut nonzero =
            Nonzero { keys: Vec::with_capacity(count), numbers: Vec::with_capacity(count) };
        for (key, number) in data {
            // The metric treats a key with the number 0 as an absent key, so such a key is dropped.
            if *number != V::zero() {
                nonzero.keys.push(key);
                nonzero.numbers.push(*number);
            }
        }
        nonzero
    }
}
/// Build a map of the keys and numbers at the given indices. The entries are inserted in the order
/// of the indices.
fn picked<K: HashableAtom, V: Copy>(
    Nonzero { keys, numbers }: &Nonzero<'_, K, V>,
    places: &[(u64, usize)],
    hasher: RandomState,
) -> HashMap<K, V> {
    let mut map = HashMap::with_capacity_and_hasher(places.len(), hasher);
    for (_, place) in places {
        let number = numbers[*place];
        map.insert(keys[*place].clone(), number);
    }
    map
}
/// Add noise to the numbers, and return the indices of the numbers that reach the threshold.
fn reached<V: ThresholdNumber>(
    numbers: &mut [V],
    threshold: V,
    noising: &dyn Fn(&mut [V]) -> Result<(), NoEntropy>,
) -> Result<Kept> {
    noising(numbers)?;
    let mut places = Vec::new();
    for (place, number) in numbers.iter().enumerate() {
        if number.reaches(threshold) {
            places.push((0, place));
        }
    }
    Ok(places)
}
/// Sort indices by the hashes of the keys at these indices.
fn sorted<K: Hash>(keys: &[&K], places: Result<Kept>, hasher: &RandomState) -> Result<Kept> {
    let mut places = places?;
    for (hash, place) in &mut places {
        *hash = hasher.hash_one(keys[*place]);
    }
    places.sort_unstable();
    Ok(places)
}

/// The properties of a threshold on which the loss depends. The threshold can have any number type.
struct Threshold<'a, Q> {
    shown: &'a dyn Display,
    /// Whether the numbers are integers.
    integers: bool,
    /// The function [`ThresholdNumber::gap`] for this threshold.
    gap: &'a dyn Fn(Q) -> Result<Option<f64>>,
}
impl<'a, Q> Threshold<'a, Q> {
    fn of<N: NoiseDistribution, V: NoiseNumber<N>>(
        shown: &'a dyn Display,
        gap: &'a dyn Fn(Q) -> Result<Option<f64>>,
    ) -> Self {
        Threshold { shown, integers: V::LATTICES.is_none(), gap }
    }
}
/// Compute the loss that the privacy map returns. See the proof of `make_laplace_threshold`.
fn loss<const P: usize, N, Q>(
    (parts, norm, change): (u32, Q, Q),
    scale: Scale,
    Threshold { shown: threshold, integers, gap }: Threshold<'_, Q>,
) -> Result<(f64, f64)>
where
    N: ThresholdNoise<P>,
    Q: Number + InfCast<u32>,
    f64: InfCast<Q>,
    i128: InfCast<Q>,
{
    // If the numbers are integers, each change is an integer, and so is the sum of the changes. But
    // the Euclidean length of the changes is not always an integer.
    let unchanged = parts == 0 || norm == Q::zero() || change == Q::zero();
    let whole = |d| if integers { floor(d) } else { d };
    let norm = if P == 1 { whole(norm) } else { norm };
    // Each change is at most the norm of all changes. So the smaller of `norm` and `change` bounds
    // each change. If `norm` and `change` are both infinite, return an error.
    let change = finite_distance(whole(if norm < change { norm } else { change }))?;
    // Without noise, the loss is 0 only if a part of the distance is 0 before rounding. For
    // integers, a positive part can be rounded down to 0. Even then, the loss without noise is
    // infinite.
    if scale.value() == 0.0 && !unchanged {
        return Ok((f64::INFINITY, 1.0));
    }
    if unchanged || change == Q::zero() {
        return Ok((0.0, 0.0));
    }
    let loss = N::loss(parts, norm, change, scale)?;
    let Some(gap) = gap(change)? else {
        return Err(Error::FailedMap(format!(
            "threshold: expected a magnitude of at least {}, the largest change of a number, \
             found {threshold}",
            shown(change)
        )));
    };
    Ok((loss, any_of(parts, N::tail(scale, gap, integers)?)?))
}

/// Round a distance down to an integer. A distance beyond the range of `i128` is not rounded.
fn floor<Q: Number>(distance: Q) -> Q
where
    i128: InfCast<Q>,
{
    i128::neg_inf_cast(distance).ok().and_then(num_traits::cast).unwrap_or(distance)
}

/// Return an upper bound on the probability that at least one of `count` independent events
/// happens. Each event has probability at most `delta`. The bound is `1 - (1 - delta)^count`,
/// rounded up.
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
