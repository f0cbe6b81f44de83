//! Converts aggregates under the symmetric distance to aggregates under any dataset metric.

use opendp_core::arith::InfCast;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, DatasetMetric, Domain, L01InfDistance, Metric, Result,
    Space, StabilityMap, SymmetricDistance, Transformation, VectorDomain,
};

use crate::Tally;

/// The domain of data sets whose records are atoms.
pub(crate) type Records<T> = VectorDomain<AtomDomain<T>>;
type Number<T> = Space<AtomDomain<T>, AbsoluteDistance<T>>;
/// A transformation of records to one aggregate, under the symmetric distance.
pub(crate) type Aggregate<T, DO, MO> = Transformation<Records<T>, SymmetricDistance, DO, MO>;

/// Convert an aggregate under the symmetric distance to an aggregate under any dataset metric.
///
/// Inputs at distance `d_in` in the metric `M` are at symmetric distance at most
/// `to_symmetric(d_in)`. At this symmetric distance, the map of the aggregate gives a bound on the
/// distance between the outputs.
pub(crate) fn through_symmetric<T, M, DO, MO>(
    input: Space<Records<T>, M>,
    build: impl FnOnce(Space<Records<T>, SymmetricDistance>) -> Result<Aggregate<T, DO, MO>>,
) -> Result<Transformation<Records<T>, M, DO, MO>>
where
    T: Atom,
    M: DatasetMetric,
    DO: Domain,
    MO: Metric,
{
    match Space::new(input.domain().clone(), SymmetricDistance).and_then(build) {
        Ok(aggregate) => Ok(on_metric(input, &aggregate)),
        Err(error) => Err(error),
    }
}
fn on_metric<T: Atom, M: DatasetMetric, DO: Domain, MO: Metric>(
    input: Space<Records<T>, M>,
    aggregate: &Aggregate<T, DO, MO>,
) -> Transformation<Records<T>, M, DO, MO> {
    let map = to_symmetric(input.metric()).then(aggregate.stability_map());
    aggregate.on(input, map)
}
/// Return the map from a distance in the metric `M` to a bound on the symmetric distance.
pub(crate) fn to_symmetric<M: DatasetMetric>(metric: &M) -> StabilityMap<M, SymmetricDistance> {
    let metric = metric.clone();
    StabilityMap::new(move |d_in: &u32| metric.to_symmetric(*d_in))
}

/// Build the map of a function. Each added or removed record changes the output of the function by
/// at most one. The map converts `d_in` to a symmetric distance, and then to the type of the output
/// distance, rounded up.
pub(crate) fn one_each<M: DatasetMetric, MO: Metric>(metric: &M) -> StabilityMap<M, MO>
where
    MO::Distance: InfCast<u32>,
{
    let metric = metric.clone();
    StabilityMap::new(move |d_in: &u32| as_count(metric.to_symmetric(*d_in)?))
}
/// Convert a number of changed records to the type of counts, rounded up.
pub(crate) fn as_count<T: InfCast<u32>>(records: u32) -> Result<T> {
    T::inf_cast(records).map_err(|error| error.at("argument `d_in`, as a change of counts"))
}
/// Bounds on the difference between two data sets `x` and `x'`, as numbers of records.
#[derive(Clone, Copy)]
pub(crate) struct Changes {
    /// A bound on the symmetric distance: `sum over values v of |#(v in x) - #(v in x')|`. Here
    /// `#(v in x)` is the number of records of `x` with the value `v`.
    pub(crate) total: u32,
    /// A bound on `|#(S in x) - #(S in x')|` for each set `S` of values. Here `#(S in x)` is the
    /// number of records of `x` whose value is in `S`.
    pub(crate) largest: u32,
}
impl Changes {
    /// Bound the difference of two data sets at distance `d_in`. If `sized` is `true`, both data
    /// sets have the same number of records.
    ///
    /// # Proof
    /// Let `d` be the symmetric distance. Then `x'` is made from `x` by `a` added and `r` removed
    /// records, where `a + r = d`. The count of `S` increases by at most `a`, and decreases by at
    /// most `r`. So the count changes by at most `max(a, r) <= d`. If both data sets have the same
    /// number of records, then `a = r = d / 2`. The bound `d / 2` is rounded up, so that it is 0
    /// only at distance 0.
    pub(crate) fn of<M: DatasetMetric>(metric: &M, sized: bool, d_in: u32) -> Result<Self> {
        let total = metric.to_symmetric(d_in)?;
        Ok(Changes { total, largest: if sized { total.div_ceil(2) } else { total } })
    }
}
/// Build the map of a function that counts the records in each part of a partition.
/// [`Changes::total`] bounds the number of counts that change, and the sum of the changes.
/// [`Changes::largest`] bounds the largest change. The bounds on the sum and on the largest change
/// are rounded up, as in `one_each`.
///
/// A panic in a function of the C ABI ends the process, so such a function never unwinds. The
/// callers, which are compiled for many types, need no code that drops their values after a panic.
/// This function only makes an object. The caller clones the metric, because a `Clone` of a user's
/// metric can panic.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
pub(crate) extern "C" fn one_in_one<M: DatasetMetric, T: Tally>(
    metric: M,
    sized: bool,
) -> StabilityMap<M, L01InfDistance<AbsoluteDistance<T>>> {
    StabilityMap::new(move |d_in: &u32| {
        let Changes { total, largest } = Changes::of(&metric, sized, *d_in)?;
        Ok((total, as_count(total)?, as_count(largest)?))
    })
}
/// Return the output space and the map of a count. Each added or removed record changes the count
/// by at most one. The map does not depend on the number of records.
pub(crate) fn count<M: DatasetMetric, TO: Tally>(
    _: Option<usize>,
    metric: &M,
) -> Result<(Number<TO>, StabilityMap<M, AbsoluteDistance<TO>>)> {
    sized_count(None, metric)
}
/// Return the output space and the map of a count. Each added, removed or replaced record changes
/// the count by at most one.
pub(crate) fn sized_count<M: DatasetMetric, TO: Tally>(
    size: Option<usize>,
    metric: &M,
) -> Result<(Number<TO>, StabilityMap<M, AbsoluteDistance<TO>>)> {
    let (metric, sized) = (metric.clone(), size.is_some());
    let map =
        StabilityMap::new(move |d_in: &u32| as_count(Changes::of(&metric, sized, *d_in)?.largest));
    Ok((Space::new(AtomDomain::non_nan(), AbsoluteDistance::new())?, map))
}

/// Count the rows of a chunk.
pub(crate) fn row_count<T>(rows: &[T]) -> u64 {
    u64::try_from(rows.len()).unwrap_or(u64::MAX)
}
