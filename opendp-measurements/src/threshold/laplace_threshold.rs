//! Laplace noise on the numbers of a map, and a threshold that hides rare keys.

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

/// Make a measurement that adds Laplace noise to a map and keeps numbers that reach a threshold.
///
/// The keys need not be public: the threshold makes it improbable that a key of only one person is
/// released. [`make_laplace`](crate::make_laplace) adds the same noise. It is discrete for
/// integers. For floats it is continuous, and the sum is rounded to a multiple of `2^k`.
///
/// # Arguments
/// * `input` - maps from keys to numbers under the distance of changed keys, the sum of the
///   changes, and the largest change
/// * `scale` - the scale of the noise; 0 for no noise
/// * `threshold` - a key is released when its noisy number is at least this; for a negative
///   threshold, when it is at most this. For floats it must not be negative
/// * `k` - the exponent of the lattice that float releases lie on, by default about 40 bits below
///   the scale. Integers accept only null or 0
///
/// # Precondition
/// The numbers exclude NaN; otherwise there is no such space. An infinity counts as the largest or
/// lowest finite number. `scale` is finite and not negative; `k` is from -1074 to 1023, for `f32`
/// from -149 to 127; `threshold` is finite.
///
/// # Postcondition
/// Any two members at distance at most `d_in` give releases that are `map(d_in)`-close: for each
/// there is an event of probability at least `1 - delta`, and conditioned on these events their
/// max-divergence is at most `epsilon`. So they are `(epsilon, delta)`-indistinguishable. The order
/// in which a release lists its keys depends only on the released keys and numbers.
///
/// # Map
/// Let `d_in = (l0, l1, linf)`. If `linf` is above `l1`, it is first replaced by `l1`. For
/// integers, `l1` and `linf` are then rounded down. The loss has two parts:
/// * `epsilon = min(l1, l0 linf) / scale`, rounded up
/// * `delta = 1 - (1 - p)^l0`, rounded up, where `p = P[Z >= threshold - linf]` is a tail of the
///   noise: [`discrete_laplacian_tail`] for integers; for floats [`laplacian_tail`] at
///   `threshold - linf - 2^k / 2`, the threshold being rounded up to the lattice
///
/// It is `(0, 0)` when any of the three is 0. At scale 0 any other distance gives `(infinity, 1)`.
///
/// # Proof
/// A key with the number 0 is dropped before any noise is drawn, so the release does not
/// distinguish it from an absent key. The metric does not distinguish them either: both count as 0.
/// Let `x`, `y` be two members without such keys, at distance `(l0, l1, linf)`, where all three
/// bounds hold at once. Members at distance 0 in any of the three parts are equal, and equal
/// members have equal distributions. Replacing infinities does not increase any distance between
/// members.
///
/// *The events.* Let `E` be the event that the release on `x` has no key that `y` lacks. There are
/// at most `l0` such keys in `x`. Each has a number of magnitude at most `linf`, because the number
/// changes to 0; its magnitude is also at most `l1`, and it is an integer if the numbers are
/// integers. An integer `v <= linf` reaches the threshold `T` if `v + Z >= T`, so only if
/// `Z >= T - linf`. The release compares by `>=`, and so does the tail, which counts
/// `Z = T - linf`. A float reaches `T` if the exact sum `v + Z`, rounded to the nearest lattice
/// point, then to the nearest float, is at least `T`; the decision uses the release itself. The
/// lattice point is always above the float below `T`. If the lattice is at least as coarse as
/// floats at `T`, the lattice point is at least the first point that is not below `T`. The sum is
/// at most `2^k / 2` below the lattice point. For a negative threshold, change all signs; the same
/// bound holds because the noise is symmetric. Noise is independent, so
/// `P[E] >= (1 - p)^l0 >= 1 - delta`. The same holds for `y` and an event `F`.
///
/// *The loss.* Given `E`, the release from `x` consists of those common keys whose noisy numbers
/// reach the threshold. `E` depends on the noise of other keys alone. So, given `E`, the release
/// from `x` is a function of the numbers at the common keys, each with its own noise; the same
/// holds for `y` given `F`. The changes of these numbers add up to at most `l1`, and to at most
/// `l0 linf`, since only `l0` of them change. By the proof of
/// [`make_laplace`](crate::make_laplace), the max-divergence of both is at most that divided by the
/// scale, and dropping keys is post-processing.
///
/// *Together.* Use an independent coin to lower the probability of both events to exactly
/// `1 - delta`. Then for every set `S` of releases, `P_x[S] <= delta + (1 - delta) P_x[S | E] <=
/// delta + exp(epsilon) (1 - delta) P_y[S | F] <= delta + exp(epsilon) P_y[S]` (Bun, Steinke 2016,
/// Section 8, for this kind of approximation; Korolova, Kenthapadi, Mishra, Ntoulas 2009, and
/// Wilson et al. 2020, for the mechanism).
///
/// *The order.* Two maps with the same keys may list them in different orders and have different
/// capacities, depending on the keys that they held before. The release is a new map; its keys are
/// inserted in the order of their hashes.
///
/// *Rounding.* `epsilon` is rounded up once, or twice where `l0 linf` is a float. The tail is a
/// certified bound at an argument rounded down. The power is `-(exp(l0 ln(1 - p)) - 1)` with each
/// function rounded toward a larger result; it is not more than `l0 p`.
///
/// # Accuracy
/// The error of a released number is bounded as for [`make_laplace`](crate::make_laplace), except
/// with probability `alpha`, for each key that has a number. This bound does not hold for the set
/// of released keys, because keys with a large noise are released more often.
///
/// # Errors
/// * `MakeMeasurement` when the threshold of floats is negative or not finite, or when `k` is given
///   for integers and is not 0
/// * `FailedFunction` when `k` is out of range
/// * from the map: `FailedMap` when `linf` exceeds the magnitude of the threshold, when a part is
///   negative or NaN, or when both `l1` and `linf` are infinite; `Overflow` when the loss exceeds
///   all floats
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
/// assert!(release.invoke(&words)?.contains_key("the")); // but with probability exp(-995)
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

/// The same constructor, for a type `Q` of the distances that is known only at run time, and with
/// the type argument `MO` that documents may state.
#[allow(clippy::extra_unused_type_parameters, reason = "it takes those of the typed one")]
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
// Each number type, with the types of its distances.
register_at! {
    i32: i32, f64; i64: i64, f64; u32: u32, f64; u64: u64, f64; usize: usize, f64;
    f32: f32, f64; f64: f64;
}

impl ThresholdNoise<1> for Laplace {
    type Measure = Approximate<MaxDivergence>;
    /// `min(norm, parts change) / scale`.
    fn loss<Q>(parts: u32, norm: Q, change: Q, scale: Scale) -> Result<f64>
    where
        Q: Number + InfCast<u32>,
        f64: InfCast<Q>,
        i128: InfCast<Q>,
    {
        // A product that does not fit its type is above the norm, which does fit.
        let all = Q::inf_cast(parts).and_then(|parts| parts.inf_mul(change)).unwrap_or(norm);
        quotient(if all < norm { all } else { norm }, scale.value())
    }
    fn tail(scale: Scale, t: f64, integers: bool) -> Result<f64> {
        if integers { discrete_laplacian_tail(scale, t) } else { laplacian_tail(scale, t) }
    }
}
