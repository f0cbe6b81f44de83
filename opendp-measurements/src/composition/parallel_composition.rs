//! Parallel composition: one release for each part of a data set. If one record is added or
//! removed, the total loss of all releases is the largest loss of a single release.

mod members;
mod parts;
mod splits;

use std::mem::take;
use std::sync::Arc;

use opendp_core::arith::Exact;
use opendp_core::erased::{
    AnyDistance, AnyDomain, AnyMeasure, AnyMeasurement, AnyMetric, AnyValue,
};
use opendp_core::{
    AtomDomain, Carrier, DatasetMetric, Domain, Error, Function, Interaction, MaxDivergence,
    Measure, Measurement, Metric, MetricOn, PrivacyMap, Result, Space, VectorDomain,
    ZeroConcentratedDivergence, in_turn,
};

use crate::collected::Collected;
use crate::composition::same;
use members::{Members, typed};
use splits::{Composing, Splits};

pub use parts::Parts;

/// Make a measurement that partitions the rows of a data set and makes a release of each part.
///
/// # Arguments
/// * `input` - data sets of any size, under a distance that counts added and removed rows
/// * `part` - the partition, which assigns rows to parts; rows without a part are left out
/// * `measurements` - one measurement for each part
///
/// # Precondition
/// The measurements have the input space `input`, have the same measure, and have no loss at
/// distance 0. The size of data sets is not part of the domain. The part of each row depends only
/// on this row. The number of parts is public, and equals the number of measurements. For a
/// partition by categories, the number of parts is the number of categories. For a partition by
/// edges, the number of parts is the number of edges plus one.
///
/// # Postcondition
/// The release is the list of the releases of the parts. The rows of a part keep their order. The
/// list also contains a release for each part without rows.
///
/// # Map
/// Let `k` be the number of parts, and `map_i` the map of the measurement for part `i`. For
/// `d_in = 1`, the loss is the largest of the losses `map_i(1)`. In general, split `d_in` into
/// `d_1 + ... + d_k`, and compose the losses `map_i(d_i)` of the parts with `d_i > 0`. The loss is
/// the largest such composition over all splits.
///
/// The search for the largest composition takes about `k d_in^2 / 2` compositions. If the
/// measurements are copies of one measurement and `d_in <= k`, the search takes about `d_in^2 / 2`
/// compositions. If this search needs more than `2^18` compositions, the loss is the smaller of two
/// upper bounds:
/// * List the losses `map_i(d_in)` of all parts, and compose the `min(k, d_in)` largest losses.
/// * Search as if there were `d_in` parts, and each part had the largest map of all parts. If this
///   search is too long as well, and losses add up, take `d_in` times the largest loss per changed
///   row. The largest loss per changed row is the maximum of `map_i(d) / d` over all parts and all
///   `d` from 1 to `d_in`. The code divides the numbers from 1 to `d_in` into intervals `[a, b]`
///   with `b <= 257 a / 256`, and uses `map_i(b) / a` for all numbers of an interval. This raises
///   the bound by a factor of at most `257 / 256`. If neither the search nor this product can be
///   computed, only the first bound is used.
///
/// If the measurements are `k` copies of one measurement, the loss is at most the loss for `d_in`
/// copies.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close, and let `x_i`, `y_i` be their parts. Let `d(x, y)` be the distance
/// of `x` and `y`. Under the symmetric distance, `d(x, y)` is the sum of `|#(v in x) - #(v in y)|`
/// over all rows `v`. Here `#(v in x)` is the number of rows of `x` that equal `v`. Each `v`
/// belongs to at most one part, so `sum_i d(x_i, y_i) <= d(x, y)`. Under the insert-delete
/// distance, take the edits that turn `x` into `y`. The edits of rows of part `i` turn `x_i` into
/// `y_i`, and each edit changes one row. Under either metric, the distances `d_i = d(x_i, y_i)` add
/// up to at most `d_in`. A part with `d_i = 0` has the same multiset (or sequence) of rows in `x`
/// and in `y`. The loss of this part is `map_i(0) = 0`. The constructor checks this loss. The check
/// is needed for releases that depend on the order of rows. Under the symmetric distance, such
/// releases have a loss in every part, even in parts with `d_i = 0`. At most `min(k, d_in)` parts
/// have `d_i > 0`. The loss of the release of each such part is at most `map_i(d_i)`. The releases
/// draw independent randomness. So their total loss is at most the composition of these losses in
/// the measure. For each part, the code uses the largest of `map_i(1), ..., map_i(d_i)`. So the
/// bound also covers splits whose sum is below `d_in`. (McSherry 2009, on parallel composition, for
/// pure differential privacy and `d_in = 1`.)
///
/// The maximum over splits is computed part by part. For the first `i` parts and `d` changed rows,
/// the worst loss is a maximum over `j`. Here `j` is the number of changed rows in part `i`. For
/// each `j`, take the worst loss of the first `i - 1` parts and `d - j` changed rows. Compose this
/// loss with `map_i(j)`. Each composition is rounded up.
///
/// The map uses two upper bounds if the search is too long. At most `min(k, d_in)` parts have
/// `d_i > 0`. For each such part, `d_i = d(x_i, y_i)` is at most `d_in`, so the loss of the part is
/// at most `map_i(d_in)`. This proves the first bound. For the second bound, let `m(d)` be the
/// largest of `map_i(1), ..., map_i(d)` over all parts. Larger maps or more parts do not make the
/// worst composition smaller. So the loss is at most the worst loss of `d_in` parts with the map
/// `m`. This worst loss is `U(d_in)`. Here, `U(d)` is the maximum of `m(d)` and of all compositions
/// of `U(d - j)` and `m(j)` with `0 < j < d`. The number `j` is the number of changed rows in the
/// last part. If losses add up, divide the numbers from 1 to `d_in` into intervals `[a, b]` with
/// `b <= 257 a / 256`. If `d_i` is in `[a, b]`, then `x_i` and `y_i` are at distance at most `b`.
/// So the loss of this part is at most `map_i(b) <= (map_i(b) / a) d_i <= r d_i`. Here, `r` is the
/// largest value of `map_i(b) / a` over all intervals and parts. The sum of these losses is at most
/// `r d_in`. Quotients and products are rounded up.
///
/// # Errors
/// * `MakeMeasurement` when there are no measurements, or when their number differs from the number
///   of parts
/// * `MakeMeasurement` when the measure does not compose
/// * `MakeMeasurement` when the metric counts replaced rows, or the domain fixes the number of rows
/// * `MakeMeasurement` when a measurement has a loss at distance 0
/// * `DomainMismatch` or `MetricMismatch` when the domain or the metric of a measurement differs
///   from that of `input`; `MeasureMismatch` when two measurements have different measures
/// * the errors of the measurements and of their maps; the map also gives `FailedMap` when a loss
///   is NaN
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Parts, Scale, make_laplace, make_parallel_composition};
/// let ages = VectorDomain::new(AtomDomain::<i32>::default());
/// let people = Space::new(ages, SymmetricDistance)?;
/// let counts = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let count = Transformation::new(
///     people.clone(),
///     counts,
///     Function::map(|rows: &Vec<i32>| Ok(i32::try_from(rows.len()).unwrap_or(i32::MAX))),
///     StabilityMap::from_constant(1),
/// );
/// let noisy = count.then(|count| make_laplace(count, Scale::new(1.0)?, None))?;
/// let decades = make_parallel_composition(
///     people,
///     Parts::edges((1..10).map(|decade| 10 * decade).collect())?,
///     vec![noisy; 10],
/// )?;
/// assert_eq!(decades.map(&1)?, 1.0); // the sum of the losses of all parts is 10
/// assert_eq!(decades.map(&3)?, 3.0);
/// assert_eq!(decades.invoke(&vec![31, 58])?.len(), 10);
/// # Ok::<(), Error>(())
/// ```
pub fn make_parallel_composition<E, M, MO, TO>(
    input: Space<VectorDomain<E>, M>,
    part: Parts<E::Carrier>,
    measurements: Vec<Measurement<VectorDomain<E>, M, MO, TO>>,
) -> Result<Measurement<VectorDomain<E>, M, MO, Vec<TO>>>
where
    E: Domain,
    VectorDomain<E>: Domain<Carrier = Vec<E::Carrier>>,
    M: DatasetMetric + MetricOn<VectorDomain<E>> + Metric<Distance = u32>,
    MO: Measure<Distance = f64>,
    TO: Carrier,
{
    let alike = alike(&measurements);
    let members = measurements.iter().map(Measurement::erase).collected();
    parallel(input, part, (members, alike))
}
/// Return whether all measurements share one map. Copies of one measurement share one map.
///
/// If the measurements are typed, call this function before `erase`, because each call of `erase`
/// makes a new map.
fn alike<DI: Domain, MI: Metric, MO: Measure, TO: Carrier>(
    measurements: &[Measurement<DI, MI, MO, TO>],
) -> bool {
    measurements.windows(2).all(|pair| pair[0].shares_map(&pair[1]))
}
/// The constructor that is registered for JSON documents. The members are erased measurements.
mod registered {
    use super::*;

    fn make_parallel_composition<E, M, MO, TO>(
        input: Space<VectorDomain<E>, M>,
        part: Parts<E::Carrier>,
        measurements: Members<E, M, MO, TO>,
    ) -> Result<Measurement<VectorDomain<E>, M, MO, Vec<TO>>>
    where
        E: Domain,
        VectorDomain<E>: Domain<Carrier = Vec<E::Carrier>>,
        M: DatasetMetric + MetricOn<VectorDomain<E>> + Metric<Distance = u32>,
        MO: Measure<Distance = f64>,
        TO: Carrier,
    {
        let alike = alike(&measurements.members);
        parallel(input, part, (measurements.members, alike))
    }
    register! {
        "parallel_composition.rs": make_parallel_composition(input, part, measurements)
            for E in [
                    AtomDomain<bool>, AtomDomain<i32>, AtomDomain<i64>, AtomDomain<u32>,
                    AtomDomain<u64>, AtomDomain<f32>, AtomDomain<f64>, AtomDomain<String>,
                ],
                M in unsized_metrics,
                MO in [MaxDivergence, ZeroConcentratedDivergence],
                TO in [AnyValue];
    }
}

/// Build the measurement for given types. The functions `fitting` and `release` use erased members,
/// so each of these functions is compiled only once for all types. `alike` states whether all
/// members share one map.
#[allow(clippy::question_mark, reason = "`?` compiles to more code for each type")]
fn parallel<E, M, MO, TO>(
    input: Space<VectorDomain<E>, M>,
    part: Parts<E::Carrier>,
    (members, alike): (Vec<AnyMeasurement>, bool),
) -> Result<Measurement<VectorDomain<E>, M, MO, Vec<TO>>>
where
    E: Domain,
    VectorDomain<E>: Domain<Carrier = Vec<E::Carrier>>,
    M: DatasetMetric + MetricOn<VectorDomain<E>> + Metric<Distance = u32>,
    MO: Measure<Distance = f64>,
    TO: Carrier,
{
    let sized = input.metric().sized() || input.domain().size().is_some();
    let claims = claims::<M, MO>(&input.erase(), sized, part.count(), (members, alike));
    let Claims { members, measure, map, interaction } = match claims {
        Ok(claims) => claims,
        Err(error) => return Err(error),
    };
    let function = releasing::<E, TO>(part, &members, interaction);
    Ok(Measurement::new(input, measure, function, map).with_accuracy_of(members))
}
/// The parts of the measurement that do not depend on the type of the rows.
struct Claims<M: Metric, MO: Measure> {
    members: Arc<[AnyMeasurement]>,
    measure: MO,
    map: PrivacyMap<M, MO>,
    interaction: Interaction,
}
/// Check the members, and build the privacy map. The arguments are those of [`fitting`].
fn claims<M, MO>(
    input: &Space<AnyDomain, AnyMetric>,
    sized: bool,
    parts: Option<usize>,
    (members, alike): (Vec<AnyMeasurement>, bool),
) -> Result<Claims<M, MO>>
where
    M: Metric<Distance = u32>,
    MO: Measure<Distance = f64>,
{
    let measure = fitting(input, sized, parts, (&members, alike))?;
    let measure: MO = typed(measure)?;
    let members: Arc<[AnyMeasurement]> = members.into();
    let losses = Losses { members: members.clone(), alike, measure: Arc::new(measure.clone()) };
    let mut map = PrivacyMap::new(losses.clone().worst());
    if measure.parts() == Ok(1) {
        map = map.with_exact(losses.worst_exact());
    }
    let interaction = measure.interaction();
    Ok(Claims { members, measure, map, interaction })
}
/// Build the function of the composition. See [`map_of`](crate::noise::map_of) for the C ABI.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn releasing<E, TO>(
    part: Parts<E::Carrier>,
    members: &Arc<[AnyMeasurement]>,
    interaction: Interaction,
) -> Function<Vec<E::Carrier>, Vec<TO>>
where
    E: Domain,
    VectorDomain<E>: Domain<Carrier = Vec<E::Carrier>>,
    TO: Carrier,
{
    let members = members.clone();
    Function::map(move |data: &Vec<E::Carrier>| {
        release(&members, &split::<E>(&part, members.len(), data), interaction)
    })
}
/// Run each member on the rows of its part.
fn release<TO: Carrier>(
    members: &[AnyMeasurement],
    parts: &[AnyValue],
    interaction: Interaction,
) -> Result<Vec<TO>> {
    let each = members.iter().zip(parts);
    let answers = in_turn(interaction, each.map(|(member, rows)| || member.invoke(rows)))?;
    answers.into_iter().map(AnyValue::downcast).try_collected()
}

fn split<E>(part: &Parts<E::Carrier>, count: usize, data: &[E::Carrier]) -> Vec<AnyValue>
where
    E: Domain,
    VectorDomain<E>: Domain<Carrier = Vec<E::Carrier>>,
{
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        parts.push(Vec::new());
    }
    for row in data {
        if let Some(place) = part.of(row)
            && let Some(rows) = parts.get_mut(place)
        {
            rows.push(row.clone());
        }
    }
    let mut erased = Vec::with_capacity(count);
    for rows in &mut parts {
        erased.push(AnyValue::new::<Vec<E::Carrier>>(take(rows)));
    }
    erased
}

/// Check that the members and the input space satisfy the precondition of the constructor. Return
/// the common measure of the members. `sized` states whether the number of rows is fixed, and
/// `parts` is the number of parts, if this number is known.
fn fitting(
    input: &Space<AnyDomain, AnyMetric>,
    sized: bool,
    parts: Option<usize>,
    (members, alike): (&[AnyMeasurement], bool),
) -> Result<AnyMeasure> {
    let refused = |reason: &str| Err(Error::MakeMeasurement(reason.into()));
    let Some(first) = members.first() else {
        return refused("measurements: expected one for each part, found none");
    };
    if let Some(parts) = parts
        && parts != members.len()
    {
        return Err(Error::MakeMeasurement(format!(
            "measurements: expected one for each part, {parts} in total, found {}",
            members.len()
        )));
    }
    if sized {
        return refused(
            "input: expected data sets of any size, under a distance that counts records added \
             and removed, because the sizes of parts are not public",
        );
    }
    let measure = first.measure().clone();
    if measure.compose(&[]).is_err() {
        return refused("measurements: losses in this measure do not compose");
    }
    // The measurement `expected` has the given input space, and never runs. Each member is compared
    // with `expected`.
    let expected = Measurement::new(
        input.clone(),
        measure.clone(),
        Function::map(|_| Err(Error::NotImplemented("this measurement never runs".into()))),
        PrivacyMap::new(|_| Err(Error::NotImplemented("this measurement has no map".into()))),
    );
    for (member, place) in members.iter().zip(0..) {
        let located = |error: Error| error.at(format!("measurements[{place}]"));
        same(&expected, member).map_err(located)?;
        let known = alike && 0 < place;
        if !known && !(loss_of(member, 0).map_err(located)? <= 0.0) {
            return Err(Error::MakeMeasurement(format!(
                "measurements[{place}]: expected a map that is 0 at distance 0; this release may \
                 depend on the order of the records, and a new order can change every part"
            )));
        }
    }
    Ok(measure)
}
fn loss_of(member: &AnyMeasurement, d_in: u32) -> Result<f64> {
    member.map(&AnyDistance::new(d_in))?.downcast_ref().copied()
}

/// The members of a parallel composition, and their measure.
#[derive(Clone)]
struct Losses {
    members: Arc<[AnyMeasurement]>,
    /// Whether all members share one map.
    alike: bool,
    measure: Arc<dyn Composing>,
}
impl Losses {
    /// Return the map of the parallel composition.
    fn worst(self) -> impl Fn(&u32) -> Result<f64> {
        move |d_in| {
            let loss = &|place: usize, d| loss_of(&self.members[place], d);
            let (measure, parts, alike) = (&*self.measure, self.members.len(), self.alike);
            Splits { measure, parts, alike, loss }.worst(*d_in)
        }
    }
    /// Return the exact map of the parallel composition, for a measure in which each loss has
    /// exactly one [part](Measure::parts). At distances other than 1, the result is the part of the
    /// rounded loss.
    fn worst_exact(self) -> impl Fn(&u32) -> Result<Vec<Exact>> {
        let (members, measure, worst) = (self.members.clone(), self.measure.clone(), self.worst());
        move |d_in| match d_in {
            1 => Ok(vec![worst_of(&members)?]),
            _ => measure.part(worst(d_in)?)?.into_iter().map(Exact::from_f64).try_collected(),
        }
    }
}
/// Return the largest of the members' exact losses for one changed row.
fn worst_of(members: &[AnyMeasurement]) -> Result<Exact> {
    let mut worst = Exact::ZERO;
    for member in members {
        for loss in member.exact_map(&AnyDistance::new(1_u32))? {
            if worst < loss {
                worst = loss;
            }
        }
    }
    Ok(worst)
}

#[cfg(test)]
mod tests;
