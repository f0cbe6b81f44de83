//! Laplace noise on the numbers of a map, with a threshold that hides rare keys.

use std::collections::HashMap;

use opendp_core::arith::{InfCast, Number};
use opendp_core::{
    AbsoluteDistance, AnyNumber, Approximate, AtomDomain, Distance, HashableAtom, L01InfDistance,
    MapDomain, MaxDivergence, Measurement, Result, Space,
};

use crate::noise::quotient::quotient;
use crate::tails::{discrete_laplacian_tail, laplacian_tail};
use crate::threshold::{AnyMapMetric, MapSpace, Release, ThresholdNoise, threshold_of};
use crate::{Laplace, Scale, ThresholdNumber};

/// Make a measurement that adds Laplace noise to the values of a map from keys to numbers, and
/// keeps the keys whose noisy values reach a threshold.
///
/// The keys need not be public. The threshold makes it improbable that a key of only one person is
/// released. [`make_laplace`](crate::make_laplace) adds the same noise. The noise is discrete for
/// integers. For floats, the noise is continuous, and the sum is rounded to a multiple of `2^k`.
///
/// # Arguments
/// * `input` - maps from keys to numbers. A distance has three parts: the number of changed keys,
///   the sum of the changes, and the largest change
/// * `scale` - the scale of the noise. At scale 0, no noise is added
/// * `threshold` - a key is released if its noisy number is at least the threshold. For a negative
///   threshold, a key is released if its noisy number is at most the threshold. For floats, the
///   threshold must not be negative
/// * `k` - the exponent of the lattice that float releases lie on. By default, `2^k` is about
///   `2^-40` times the scale. Integers accept only null or 0
///
/// # Precondition
/// The domain of the numbers excludes NaN, because the metric requires a domain without NaN. An
/// infinity in the data counts as the largest or lowest finite number. `scale` is finite and not
/// negative. `k` is from -1074 to 1023, or from -149 to 127 for `f32`. `threshold` is finite.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases that are `map(d_in)`-close. Let
/// `(epsilon, delta) = map(d_in)`. Two releases are `map(d_in)`-close if two conditions hold.
/// First, for each release, there is an event of probability at least `1 - delta`. Second, the
/// max-divergence of the releases, conditioned on these events, is at most `epsilon`. So the
/// releases are `(epsilon, delta)`-indistinguishable. A release lists its keys in an order that
/// depends only on the released keys and numbers, and on the random seed of the released map.
///
/// # Map
/// Let `d_in = (l0, l1, linf)`. If `linf` is above `l1`, `linf` is first replaced by `l1`. For
/// integers, `l1` and `linf` are then rounded down. The loss has two parts:
/// * `epsilon = min(l1, l0 linf) / scale`, rounded up
/// * `delta = 1 - (1 - p)^l0`, rounded up, where `p` is a tail of the noise. For integers, `p` is
///   the [`discrete_laplacian_tail`] at `|threshold| - linf`. For floats, there are two cases. If
///   `2^k` is at least the distance from the threshold to the next smaller float, let `t` be the
///   threshold rounded up to the lattice. Otherwise, let `t` be this smaller float. In both cases,
///   `p` is the [`laplacian_tail`] at `t - linf - 2^k / 2`
///
/// The loss is `(0, 0)` if `l0`, `l1` or `linf` is 0. At scale 0, any other `d_in` gives
/// `(infinity, 1)`, even if a part of `d_in` is rounded down to 0.
///
/// # Proof
/// A key with the number 0 is dropped before any noise is drawn. So both the release and the metric
/// treat such a key as an absent key. Let `x`, `y` be two members without such keys, at distance
/// `(l0, l1, linf)`. Between `x` and `y`, at most `l0` numbers change. Each number changes by at
/// most `linf`, and all changes add up to at most `l1`. If `l0`, `l1` or `linf` is 0, `x` and `y`
/// are equal, and so are the distributions of their releases. The replacement of infinities by
/// finite numbers does not increase any distance between members.
///
/// *The events.* Let `E` be the event that all keys of the release on `x` are also keys of `y`. At
/// most `l0` keys of `x` are not keys of `y`. The number of such a key changes to 0. So the
/// magnitude of this number is at most `linf` and at most `l1`. If the numbers are integers, this
/// magnitude is an integer. With the noise `Z`, an integer `v <= linf` reaches the threshold `T` if
/// `v + Z >= T`. This inequality can hold only if `Z >= T - linf`. The mechanism compares with
/// `>=`. The tail also uses `>=`, so the tail includes `Z = T - linf`. For a float, the exact sum
/// `v + Z` is rounded to the nearest lattice point, and then to the nearest float. Let `B` be the
/// largest float below `T`. If the rounded sum is at least `T`, the lattice point is above `B`. If
/// `2^k >= T - B`, let `T'` be the least lattice point that is at least `T`. Otherwise, let `T'` be
/// `B`. In the first case, all lattice points are multiples of `T - B`, so no lattice point is
/// strictly between `B` and `T`. So in both cases, the lattice point is at least `T'`. The exact
/// sum is at most `2^k / 2` below the lattice point. So `Z >= T' - linf - 2^k / 2`. For a negative
/// threshold, the same proof holds with all signs changed, because the noise is symmetric. The
/// noise of different keys is independent, so `P[E] >= (1 - p)^l0 >= 1 - delta`. The same bound
/// holds for `y` and the corresponding event `F`.
///
/// *The loss.* Given `E`, the release from `x` contains exactly those common keys whose noisy
/// numbers reach the threshold. `E` depends only on the noise of those keys of `x` that are not
/// keys of `y`. So, given `E`, the release from `x` is a function of the noisy numbers at the
/// common keys. The same statement holds for `y` given `F`. The sum of the changes of these numbers
/// is at most `l1`. This sum is also at most `l0 linf`, because at most `l0` numbers change. By the
/// proof of [`make_laplace`](crate::make_laplace), the max-divergence of the noisy numbers is at
/// most this sum divided by the scale. The removal of keys is post-processing.
///
/// *Together.* Combine each of the two events with an independent coin, so that the probability of
/// each event becomes exactly `1 - delta`. The coins do not change the distributions conditioned on
/// the events. Let `P_x` and `P_y` be the distributions of the releases on `x` and `y`. Then for
/// every set `S` of releases, `P_x[S] <= delta + (1 - delta) P_x[S | E]`. By the bound on the loss,
/// this sum is at most
/// `delta + exp(epsilon) (1 - delta) P_y[S | F] <= delta + exp(epsilon) P_y[S]`. For this kind of
/// approximation, see Bun, Steinke 2016, Section 8. For the mechanism, see Korolova, Kenthapadi,
/// Mishra, Ntoulas 2009, and Wilson et al. 2020.
///
/// *The order.* The capacity of a map and the order of its keys depend on keys that were inserted
/// or removed earlier. So two maps with the same keys can differ in their order and capacity. But
/// the release is a new map. The keys of this map are inserted in the order of their hashes.
///
/// *Rounding.* The quotient for `epsilon` is rounded up once. If `l0 linf` is computed in floats,
/// this product is also rounded up. The tail `p` is a certified bound, and its argument is rounded
/// down. `delta` is `-(exp(l0 ln(1 - p)) - 1)`. Each function is rounded in the direction that
/// makes `delta` larger. `delta` is at most `l0 p`, rounded up.
///
/// # Accuracy
/// For each key with a nonzero number in the data, the error of the noisy number is bounded as for
/// [`make_laplace`](crate::make_laplace), except with probability `alpha`. If only the released
/// keys are counted, this bound does not hold, because keys with a large noise are released more
/// often.
///
/// # Errors
/// * `MakeMeasurement` when the threshold of floats is negative or not finite, or when `k` is given
///   for integers and is not 0
/// * `FailedFunction` when `k` is out of range
/// * from the map: `FailedMap` when `linf` exceeds the magnitude of the threshold, when a part of
///   the distance is negative or NaN, or when both `l1` and `linf` are infinite
/// * from the map: `Overflow` when the loss exceeds all floats
///
/// # Example
/// ```
/// use std::collections::HashMap;
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_laplace_threshold};
/// let domain = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<u32>::default());
/// let counts = Space::new(domain, L01InfDistance::new(AbsoluteDistance::<u32>::new()))?;
/// let release = make_laplace_threshold(counts, Scale::new(1.0)?, 5, None)?;
/// // P[Z >= 4], because a count of 1 and noise of 4 make 5.
/// assert_eq!(release.map(&(1, 1, 1))?, (1.0, 0.013389804932698453));
/// let words = HashMap::from([("the".to_owned(), 1000), ("xyzzy".to_owned(), 1)]);
/// assert!(release.invoke(&words)?.contains_key("the")); // fails with probability below exp(-995)
/// # Ok::<(), Error>(())
/// ```
pub fn make_laplace_threshold<K, V, Q>(
    input: Space<MapDomain<AtomDomain<K>, AtomDomain<V>>, L01InfDistance<AbsoluteDistance<Q>>>,
    scale: Scale,
    threshold: V,
    k: Option<i32>,
) -> Result<
    Measurement<
        MapDomain<AtomDomain<K>, AtomDomain<V>>,
        L01InfDistance<AbsoluteDistance<Q>>,
        Approximate<MaxDivergence>,
        HashMap<K, V>,
    >,
>
where
    K: HashableAtom,
    V: ThresholdNumber,
    Q: Distance + Number + InfCast<u32>,
    f64: InfCast<Q>,
    i128: InfCast<Q>,
{
    threshold_of::<1, Laplace, _, _, _>(input, scale, threshold, k)
}

/// Make the measurement of `make_laplace_threshold` for a distance type that is known only at run
/// time. The function does not use the type arguments `Q` and `MO`. The argument `MO` exists
/// because a measurement that is stored as a document can also state `MO`.
#[allow(clippy::extra_unused_type_parameters, reason = "`via` needs the same type arguments")]
fn laplace_threshold_at<K, V, Q, MO>(
    input: MapSpace<K, V, AnyMapMetric<1>>,
    scale: Scale,
    threshold: V,
    k: Option<i32>,
) -> Result<Release<K, V, AnyMapMetric<1>, Approximate<MaxDivergence>>>
where
    K: HashableAtom,
    V: ThresholdNumber,
{
    threshold_of::<1, Laplace, _, _, _>(input, scale, threshold, k)
}

macro_rules! register_at {
    ($($v:ty: $($q:ty),+;)+) => {$(
        register! {
            "laplace_threshold.rs": make_laplace_threshold via laplace_threshold_at
                as ["make_laplace_threshold"](input, scale, threshold, k = null)
                for K in [bool, i32, i64, u32, u64, usize, String], V in [$v], Q in [$($q),+] as AnyNumber,
                    MO in [Approximate<MaxDivergence>] = Approximate<MaxDivergence>;
        }
    )+};
}
register_at! {
    i32: i32, f64; i64: i64, f64; u32: u32, f64; u64: u64, f64; usize: usize, f64;
    f32: f32, f64; f64: f64;
}

impl ThresholdNoise<1> for Laplace {
    type Measure = Approximate<MaxDivergence>;
    /// Return `min(norm, parts change) / scale`, rounded up to a float.
    fn loss<Q>(parts: u32, norm: Q, change: Q, scale: Scale) -> Result<f64>
    where
        Q: Number + InfCast<u32>,
        f64: InfCast<Q>,
        i128: InfCast<Q>,
    {
        // If the product of `parts` and `change` does not fit the type `Q`, the product exceeds
        // `norm`. So `norm` is the minimum.
        let all = Q::inf_cast(parts).and_then(|parts| parts.inf_mul(change)).unwrap_or(norm);
        quotient(if all < norm { all } else { norm }, scale.value())
    }
    fn tail(scale: Scale, t: f64, integers: bool) -> Result<f64> {
        if integers { discrete_laplacian_tail(scale, t) } else { laplacian_tail(scale, t) }
    }
}
