//! Gaussian noise on the numbers of a map, with a threshold that hides rare keys.

use std::collections::HashMap;

use opendp_core::arith::{Directed, InfCast, Number};
use opendp_core::{
    AbsoluteDistance, AnyNumber, Approximate, AtomDomain, Distance, HashableAtom, L02InfDistance,
    MapDomain, Measurement, Result, Space, ZeroConcentratedDivergence,
};

use crate::noise::quotient::half_square_quotient;
use crate::tails::{discrete_gaussian_tail, gaussian_tail};
use crate::threshold::{AnyMapMetric, MapSpace, Release, ThresholdNoise, threshold_of};
use crate::{Gaussian, Scale, ThresholdNumber};

/// Make a measurement that adds Gaussian noise to the values of a map from keys to numbers, and
/// keeps the keys whose noisy values reach a threshold.
///
/// The keys need not be public. The threshold makes it improbable that a key of only one person is
/// released. [`make_gaussian`](crate::make_gaussian) adds the same noise. The noise is discrete for
/// integers. For floats, the noise is continuous, and the sum is rounded to a multiple of `2^k`.
///
/// # Arguments
/// * `input` - maps from keys to numbers. A distance has three parts: the number of changed keys,
///   the Euclidean length of the changes, and the largest change
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
/// `(rho, delta) = map(d_in)`. Two releases are `map(d_in)`-close if two conditions hold. First,
/// for each release, there is an event of probability at least `1 - delta`. Second, for every order
/// `a > 1`, the Renyi divergence of the releases, conditioned on these events, is at most `a rho`.
/// A release lists its keys in an order that depends only on the released keys and numbers, and on
/// the random seed of the released map.
///
/// # Map
/// Let `d_in = (l0, l2, linf)`. If `linf` is above `l2`, `linf` is first replaced by `l2`. For
/// integers, `linf` is then rounded down. The loss has two parts:
/// * `rho = min(l2^2, l0 linf^2) / (2 scale^2)`, rounded up
/// * `delta = 1 - (1 - p)^l0`, rounded up, where `p` is a tail of the noise. For integers, `p` is
///   the [`discrete_gaussian_tail`] at `|threshold| - linf`. For floats, there are two cases. If
///   `2^k` is at least the distance from the threshold to the next smaller float, let `t` be the
///   threshold rounded up to the lattice. Otherwise, let `t` be this smaller float. In both cases,
///   `p` is the [`gaussian_tail`] at `t - linf - 2^k / 2`
///
/// The loss is `(0, 0)` if `l0`, `l2` or `linf` is 0. At scale 0, any other `d_in` gives
/// `(infinity, 1)`, even if a part of `d_in` is rounded down to 0.
///
/// # Proof
/// The events, `delta`, and the order of keys are the same as in the proof of
/// [`make_laplace_threshold`](crate::make_laplace_threshold). That proof uses three properties of
/// the noise: its symmetry, its tail, and its independence between keys. That proof also uses `l0`,
/// `linf`, and the fact that each change is at most the sum `l1` of all changes. Here, each change
/// is at most the length `l2` of all changes. Given the events, both releases are the same function
/// of the noisy numbers at the keys that both members have. The sum of the squares of the changes
/// is at most `l2^2`. This sum is also at most `l0 linf^2`, because at most `l0` numbers change.
/// Let `q` be this sum of squares. By the proof of [`make_gaussian`](crate::make_gaussian), the
/// divergence of order `a` is at most `a q / (2 scale^2)`. So the measurement satisfies approximate
/// zero-concentrated differential privacy (Bun, Steinke 2016, Definition 8.1).
///
/// *Rounding.* `l2^2 / (2 scale^2)` is rounded up once. `linf^2 / (2 scale^2)` is rounded up. The
/// product of this float and `l0` is also rounded up. `delta` is computed as for Laplace noise.
///
/// # Accuracy
/// For each key with a nonzero number in the data, the error of the noisy number is bounded as for
/// [`make_gaussian`](crate::make_gaussian), except with probability `alpha`. If only the released
/// keys are counted, this bound does not hold, because keys with a large noise are released more
/// often.
///
/// # Errors
/// * `MakeMeasurement` when the threshold of floats is negative or not finite, or when `k` is given
///   for integers and is not 0
/// * `FailedFunction` when `k` is out of range
/// * from the map: `FailedMap` when `linf` exceeds the magnitude of the threshold, when a part of
///   the distance is negative or NaN, or when `l2` and `linf` are both infinite
/// * from the map: `Overflow` when the loss exceeds all floats
///
/// # Example
/// ```
/// use std::collections::HashMap;
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_gaussian_threshold};
/// let domain = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<u32>::default());
/// let counts = Space::new(domain, L02InfDistance::new(AbsoluteDistance::<u32>::new()))?;
/// let release = make_gaussian_threshold(counts, Scale::new(1.0)?, 10, None)?;
/// // P[Z >= 9], because a count of 1 and noise of 9 make 10.
/// assert_eq!(release.map(&(1, 1, 1))?, (0.5, 1.0280542997713168e-18));
/// let words = HashMap::from([("the".to_owned(), 1000), ("xyzzy".to_owned(), 1)]);
/// assert!(release.invoke(&words)?.contains_key("the"));
/// # Ok::<(), Error>(())
/// ```
pub fn make_gaussian_threshold<K, V, Q>(
    input: Space<MapDomain<AtomDomain<K>, AtomDomain<V>>, L02InfDistance<AbsoluteDistance<Q>>>,
    scale: Scale,
    threshold: V,
    k: Option<i32>,
) -> Result<
    Measurement<
        MapDomain<AtomDomain<K>, AtomDomain<V>>,
        L02InfDistance<AbsoluteDistance<Q>>,
        Approximate<ZeroConcentratedDivergence>,
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
    threshold_of::<2, Gaussian, _, _, _>(input, scale, threshold, k)
}

/// Make the measurement of `make_gaussian_threshold` for a distance type that is known only at run
/// time. The function does not use the type arguments `Q` and `MO`. The argument `MO` exists
/// because a measurement that is stored as a document can also state `MO`.
#[allow(clippy::extra_unused_type_parameters, reason = "`via` needs the same type arguments")]
fn gaussian_threshold_at<K, V, Q, MO>(
    input: MapSpace<K, V, AnyMapMetric<2>>,
    scale: Scale,
    threshold: V,
    k: Option<i32>,
) -> Result<Release<K, V, AnyMapMetric<2>, Approximate<ZeroConcentratedDivergence>>>
where
    K: HashableAtom,
    V: ThresholdNumber,
{
    threshold_of::<2, Gaussian, _, _, _>(input, scale, threshold, k)
}

macro_rules! register_at {
    ($($v:ty: $($q:ty),+;)+) => {$(
        register! {
            "gaussian_threshold.rs": make_gaussian_threshold via gaussian_threshold_at
                as ["make_gaussian_threshold"](input, scale, threshold, k = null)
                for K in [bool, i32, i64, u32, u64, usize, String], V in [$v], Q in [$($q),+] as AnyNumber,
                    MO in [Approximate<ZeroConcentratedDivergence>]
                        = Approximate<ZeroConcentratedDivergence>;
        }
    )+};
}
register_at! {
    i32: i32, f64; i64: i64, f64; u32: u32, f64; u64: u64, f64; usize: usize, f64;
    f32: f32, f64; f64: f64;
}

impl ThresholdNoise<2> for Gaussian {
    type Measure = Approximate<ZeroConcentratedDivergence>;
    /// Return `min(norm^2, parts change^2) / (2 scale^2)`, rounded up to a float.
    fn loss<Q>(parts: u32, norm: Q, change: Q, scale: Scale) -> Result<f64>
    where
        Q: Number + InfCast<u32>,
        f64: InfCast<Q>,
        i128: InfCast<Q>,
    {
        let (joint, each) = (
            half_square_quotient(norm, scale.value()),
            half_square_quotient(change, scale.value()),
        );
        // If only one of the two terms of the minimum fits a float, this term is the minimum.
        match (joint, each.and_then(|each| each.inf_mul(f64::from(parts)))) {
            (Ok(joint), Ok(all)) => Ok(joint.min(all)),
            (joint, all) => joint.or(all),
        }
    }
    fn tail(scale: Scale, t: f64, integers: bool) -> Result<f64> {
        if integers { discrete_gaussian_tail(scale, t) } else { gaussian_tail(scale, t) }
    }
}
