//! Group privacy: the loss of a measurement if a group of records changes.

mod growth;
mod path;
mod profile;

use opendp_core::arith::Exact;
use opendp_core::erased::{AnyDomain, AnyMetric, AnyValue};
use opendp_core::{
    Approximate, Carrier, Domain, Error, MaxDivergence, Measurement, PrivacyMap, RenyiDivergence,
    Result, Sampled, SmoothedMaxDivergence, ZeroConcentratedDivergence,
};

use crate::collected::Collected;

pub(crate) use growth::grown;
pub use growth::{GroupMeasure, Growth};
pub use path::PathMetric;

/// Make a measurement whose map accepts larger distances than the map of the given measurement. The
/// new map divides a distance into steps.
///
/// The maps of most measurements accept any distance, and are tighter than the bound of this
/// constructor. Use this constructor if the map of a measurement accepts only small distances. For
/// example, the loss of a user-defined measurement can be known only for data that differ by one
/// record. The same is possible for a measurement on a secret sample.
///
/// # Arguments
/// * `measurement` - the measurement
/// * `size` - the largest number of steps into which a distance is divided. If the map of the
///   measurement accepts only one changed record, `size` is the largest size of a group
///
/// # Precondition
/// `size` is at least 1. The metric joins members of the domain by [paths](PathMetric). Such a
/// metric either is the discrete distance or counts records. If the metric counts records, the
/// domain [contains all data sets of its records](Domain::recombines).
///
/// # Postcondition
/// The release and the measure do not change.
///
/// # Map
/// A change of one record has length 1, with one exception. Suppose that the number of records is
/// public, and that the metric counts added and removed records. Then a change replaces one record
/// and has length 2. Let `n` be the number of changes that `d_in` allows, and `k` the smaller of
/// `size` and `n`, but at least 1. A step consists of `n / size` changes, rounded up to a whole
/// number. Let the loss of a step be the loss of the measurement at the length of a step. The loss
/// at `d_in`, rounded up, is
///
/// | measure | loss of a step | loss of `k` steps |
/// |---|---|---|
/// | `MaxDivergence` | `epsilon` | `k epsilon` |
/// | `ZeroConcentratedDivergence` | `rho` | `k^2 rho` |
/// | `Approximate<MaxDivergence>` | `(epsilon, delta)` | `(k epsilon, delta (1 + e^epsilon + ... + e^((k - 1) epsilon)))`, delta at most 1 |
/// | `RenyiDivergence` | `r(a)` at the order `a` | the sum over `i < k` of `k a / (k a - i) r(k a - i)` |
/// | `SmoothedMaxDivergence` | `delta(epsilon)` | the least sum over `i` of `e^(epsilon_1 + ... + epsilon_(i - 1)) delta(epsilon_i)` that is found, where `epsilon_1 + ... + epsilon_k <= epsilon` |
///
/// The last row of the table has an exception. Let each step be one or more releases with Gaussian
/// noise, or one release with Laplace noise, discrete Laplace noise, or discrete Gaussian noise on
/// one integer. If the profile contains the distribution of this loss, the loss of `k` steps is
/// the loss of the same noise at `k` times the distance. This loss also has its distribution, so
/// that it composes tightly.
///
/// In the first three measures of the table, the `epsilon` or `rho` of the result is exact if the
/// loss of a step is known exactly. The `delta` of the result is rounded up if `k` exceeds 1. In
/// Renyi divergence, the curve `r` is evaluated at most 1024 times for each order of the result. If
/// `k` exceeds 1024, the orders `k a - i` are divided into at most 1024 blocks of neighbouring
/// orders. All orders of a block are then rounded up to the largest order of the block. A
/// [`Sampled`] loss is the loss of a mechanism on populations, and grows in the same way as a loss
/// in the inner measure. All parts of the grown [`Sampled`] loss are rounded up.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close. By the claim of [`PathMetric`], there are members
/// `x = z_0, ..., z_k = y`. The distance between consecutive members is at most the length of a
/// step. Let `P_i` be the law of the release on `z_i`, and `S` an event. The loss of a step is a
/// bound in both directions of the step. So the bounds below also hold in both directions of the
/// path.
///
/// *Approximate, and pure with `delta = 0`.* `P_0(S) <= e^epsilon P_1(S) + delta`. Insert
/// `P_1(S) <= e^epsilon P_2(S) + delta`, and continue up to `P_k`. The result is
/// `P_0(S) <= e^(k epsilon) P_k(S) + delta (1 + ... + e^((k - 1) epsilon))`.
///
/// *Profiles.* The argument for approximate losses also holds with a different epsilon for each
/// step. The epsilon of a step can also be negative. For a step with the epsilon `-h`, where
/// `h > 0`, apply the profile at `h` to the complement of `S`. The result is
/// `P_0(S) <= e^-h P_1(S) + 1 - e^-h (1 - delta(h))`. Every choice of epsilons with a sum of at
/// most epsilon gives a bound. The search for a good choice of epsilons affects only how tight the
/// bound is. (The smallest of these bounds comes from the trade-off curve `f` of a step: the
/// function `1 - f` is applied `k` times. See Dong, Roth, Su 2022, on group privacy.) If `f` is the
/// trade-off curve of a shift of log-concave noise, the result is the trade-off curve of a shift
/// that is `k` times as long: see [`LaplacePair`](crate::accounting::LaplacePair).
///
/// *Renyi.* Let `s_i = k a (a - 1) / (k (a - 1) + i)`. These numbers decrease from `s_0 = a` to
/// `s_k = a - 1`. Let `t_i = s_i - s_(i+1)`. The numbers `t_0, ..., t_(k - 1)` add up to 1. Let
/// `b_i = s_i / t_i`. Then `b_i = k (a - 1) + i + 1` and `t_i (b_i - 1) = s_(i+1)`. Let `p_i` be
/// the density of `P_i`, and `D_a(P | Q)` the Renyi divergence of order `a` of `P` from `Q`. Then
/// `p_0^a p_k^(1 - a)` is the product over `i < k` of `p_i^(b_i t_i) p_(i+1)^((1 - b_i) t_i)`.
/// Indeed, for `0 < i < k`, the power of `p_i` in this product is `s_i - s_i = 0`. Hölder's
/// inequality for the weights `t_i` gives
/// `(a - 1) D_a(P_0 | P_k) <= sum_i t_i (b_i - 1) D_(b_i)(P_i | P_(i+1))`. So
/// `D_a(P_0 | P_k) <= sum_i k a / (k (a - 1) + i + 1) r(b_i)`. The right side equals the sum in the
/// table; the terms are in reverse order. Renyi divergence does not decrease if its order
/// increases, so orders can be rounded up.
///
/// *Zero-concentrated.* With `r(a) = rho a`, each of the `k` terms is `k a rho`, so the sum is
/// `a k^2 rho`. (Bun, Steinke 2016, on group privacy.)
///
/// If the release is interactive, all bounds hold for the transcript of its conversation with every
/// analyst.
///
/// # Errors
/// * `MakeMeasurement` when `size` is 0, or when the metric has no known paths in the domain
/// * from the map: the errors of the measurement's map at the length of a step
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{make_group_privacy, make_user_measurement};
/// let rows = VectorDomain::new(AtomDomain::<bool>::default());
/// let people = Space::new(rows, SymmetricDistance)?;
/// // This loss is proved for neighbours, and for no other distance.
/// let map = PrivacyMap::new(|d_in: &u32| match d_in {
///     0 => Ok(0.0),
///     1 => Ok(0.5),
///     _ => Err(Error::FailedMap("d_in: expected at most 1".into())),
/// });
/// let silent = Function::map(|_: &Vec<bool>| Ok(0));
/// let one = make_user_measurement(people, TheMeasure(ZeroConcentratedDivergence), silent, map)?;
/// let household = make_group_privacy(one, 4)?;
/// assert_eq!([0, 1, 2, 4].map(|d| household.map(&d)), [Ok(0.0), Ok(0.5), Ok(2.0), Ok(8.0)]);
/// assert!(household.map(&5).is_err());
/// # Ok::<(), Error>(())
/// ```
pub fn make_group_privacy<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
    size: u32,
) -> Result<Measurement<DI, MI, MO, TO>>
where
    DI: Domain,
    MI: PathMetric,
    MO: GroupMeasure,
    TO: Carrier,
{
    if size == 0 {
        return Err(Error::MakeMeasurement("size: expected at least 1, found 0".into()));
    }
    let (domain, metric) = (measurement.input().domain(), measurement.input().metric());
    let unit = metric.unit(domain).map_err(of_measurement)?;
    let metric = metric.clone();
    let path = move |d_in: &MI::Distance| metric.path(unit, d_in, size);
    let (inner, measure) = (measurement.clone(), measurement.measure().clone());
    let map = match MO::growth() {
        Growth::Parts(grown) => {
            let exact = move |d_in: &MI::Distance| {
                let (steps, step) = path(d_in)?;
                Ok(grown(inner.exact_map(&step)?, steps))
            };
            let (again, joined) = (exact.clone(), measure.clone());
            PrivacyMap::new(move |d_in: &MI::Distance| {
                joined.join(&exact(d_in)?.iter().map(Exact::to_f64_up).collected())
            })
            .with_exact(again)
        }
        Growth::Whole(grown) => PrivacyMap::new(move |d_in: &MI::Distance| {
            let (steps, step) = path(d_in)?;
            grown(&inner.map(&step)?, steps)
        }),
    };
    Ok(measurement.with_loss(measure, map))
}
#[cold]
fn of_measurement(error: Error) -> Error {
    Error::MakeMeasurement(format!("measurement: {error}"))
}
register! {
    "group_privacy.rs": make_group_privacy(measurement, size)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [
                MaxDivergence,
                Approximate<MaxDivergence>,
                ZeroConcentratedDivergence,
                RenyiDivergence,
                SmoothedMaxDivergence,
                Sampled<MaxDivergence>,
                Sampled<Approximate<MaxDivergence>>,
            ],
            TO in [AnyValue];
}

#[cfg(test)]
mod tests;
