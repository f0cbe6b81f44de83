//! Releases of the parts of a data set, which cost as much as one of them.

use std::{marker::PhantomData, sync::Arc};

use opendp_core::arith::Exact;
use opendp_core::erased::{
    AnyDistance, AnyDomain, AnyMeasure, AnyMeasurement, AnyMetric, AnyValue,
};
use opendp_core::{
    Arg, Argument, AtomDomain, Carrier, Constructed, DatasetMetric, Domain, Error, Function,
    MaxDivergence, Measure, Measurement, Metric, MetricOn, Named, PrivacyMap, Result, Space,
    TypeName, VectorDomain, ZeroConcentratedDivergence,
};

use super::composition::{in_turn, same};
use super::parts::Parts;

/// Make a measurement that splits the rows of a data set and releases something of each part.
///
/// # Arguments
/// * `input` - data sets of any size, under a distance that counts rows added and removed
/// * `part` - the part that each row belongs to; rows without a part are left out
/// * `measurements` - one measurement for each part
///
/// # Precondition
/// The measurements start from `input`, have the same measure, and lose nothing at distance 0. The size of data sets is not
/// part of the domain, and `part` decides each row by itself. The number of parts is public: it is
/// that of the measurements, which is that of the categories, or one more than that of the edges.
///
/// # Postcondition
/// The release is the list of the releases of the parts. A part keeps the order of its rows. All
/// parts are released, those without rows too.
///
/// # Map
/// For `d_in` up to 1, the largest of the losses `map_i(1)`. In general, the largest over all ways
/// to split `d_in` into `d_1 + ... + d_k` of the composition of `map_i(d_i)` over the parts with
/// `d_i > 0`. When there are too many ways to look at, it is the composition of the
/// `min(k, d_in)` largest of `map_i(d_in)`, which is not less.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close, and let `x_i`, `y_i` be their parts. Under the symmetric distance,
/// `d(x, y) = sum over rows v of |#(v in x) - #(v in y)|`, and each `v` belongs to at most one part,
/// so `sum_i d(x_i, y_i) <= d(x, y)`. Under the insert-delete distance, take the edits that turn `x`
/// into `y`: those of rows of part `i` turn `x_i` into `y_i`, and each edit is of one row. So there
/// are `d_i = d(x_i, y_i)` whose sum is at most `d_in`. A part with `d_i = 0` has the same multiset
/// (or sequence) of rows. It loses `map_i(0) = 0`, which is checked: a release to which the order of
/// rows counts loses something under the symmetric distance, in as many parts as there are. At most
/// `min(k, d_in)` parts are left. Each loses at most `map_i(d_i)`, they draw independent randomness,
/// and all of them together lose what the measure composes of these losses. The splits with sums
/// below `d_in` are covered because each part's bound is taken as the largest of `map_i(1), ...,
/// map_i(d_i)`. (McSherry 2009, on parallel composition, for pure differential privacy and `d_in = 1`.)
///
/// The maximum over splits is computed part by part: the worst loss of the first `i` parts within
/// `d` rows is the maximum over `j` of the composition of that of the first `i - 1` within `d - j`,
/// and of `map_i(j)`; each composition is rounded up.
///
/// # Errors
/// * `MakeMeasurement` when there are no measurements, or not as many as parts, when the measure does not compose, when the
///   metric counts replaced rows, the domain fixes the number of rows, or a measurement has a loss at
///   distance 0
/// * `DomainMismatch`, `MetricMismatch` or `MeasureMismatch` when a measurement does not fit
/// * those of the measurements and of their maps
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
/// assert_eq!(decades.map(&1)?, 1.0); // and not 10
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
    let members = measurements.iter().map(Measurement::erase).collect();
    parallel(input, part, members)
}
/// What documents name: the members come without types, and leave without them.
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
        parallel(input, part, measurements.members)
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

/// What knows the types. The rest is done with erased members, once for all types.
fn parallel<E, M, MO, TO>(
    input: Space<VectorDomain<E>, M>,
    part: Parts<E::Carrier>,
    members: Vec<AnyMeasurement>,
) -> Result<Measurement<VectorDomain<E>, M, MO, Vec<TO>>>
where
    E: Domain,
    VectorDomain<E>: Domain<Carrier = Vec<E::Carrier>>,
    M: DatasetMetric + MetricOn<VectorDomain<E>> + Metric<Distance = u32>,
    MO: Measure<Distance = f64>,
    TO: Carrier,
{
    let sized = input.metric().sized() || input.domain().size().is_some();
    let measure = fitting(&input.erase(), sized, part.count(), &members)?;
    let measure = measure.downcast_ref::<MO>()?.clone();
    let (members, all) = (Arc::new(members), measure.clone());
    let losses =
        Losses { members: members.clone(), compose: Arc::new(move |losses| all.compose(losses)) };
    let mut map = PrivacyMap::new(losses.clone().worst());
    if measure.parts() == Ok(1) {
        map = map.with_exact(losses.clone().worst_exact());
    }
    let (count, interaction) = (members.len(), measure.interaction());
    let function = Function::map(move |data: &Vec<E::Carrier>| {
        let parts = split::<E>(&part, count, data);
        let answers = in_turn(
            interaction,
            members.iter().zip(&parts).map(|(member, rows)| || member.invoke(rows)),
        )?;
        answers.into_iter().map(AnyValue::downcast).collect()
    });
    Ok(Measurement::new(input, measure, function, map).with_accuracy(losses.accuracy()))
}

/// The rows of each part.
fn split<E>(part: &Parts<E::Carrier>, count: usize, data: &[E::Carrier]) -> Vec<AnyValue>
where
    E: Domain,
    VectorDomain<E>: Domain<Carrier = Vec<E::Carrier>>,
{
    let mut parts = vec![Vec::new(); count];
    for row in data {
        if let Some(rows) = part.of(row).and_then(|place| parts.get_mut(place)) {
            rows.push(row.clone());
        }
    }
    parts.into_iter().map(AnyValue::new::<Vec<E::Carrier>>).collect()
}

/// Check that members fit each other and a space, and say what their measure is.
fn fitting(
    input: &Space<AnyDomain, AnyMetric>,
    sized: bool,
    parts: Option<usize>,
    members: &[AnyMeasurement],
) -> Result<AnyMeasure> {
    let no = |reason: &str| Err(Error::MakeMeasurement(reason.into()));
    let Some(first) = members.first() else {
        return no("measurements: expected one for each part, found none");
    };
    if let Some(parts) = parts
        && parts != members.len()
    {
        return Err(Error::MakeMeasurement(format!(
            "measurements: expected one for each of {parts} parts, found {}",
            members.len()
        )));
    }
    if sized {
        return no(
            "input: expected data sets of any size, under a distance that counts rows added \
             and removed, because the sizes of parts are not public",
        );
    }
    let measure = first.measure().clone();
    if measure.compose(&[]).is_err() {
        return no("measurements: losses in their measure do not compose");
    }
    // What the members are compared with starts from the input space.
    let expected = Measurement::new(
        input.clone(),
        measure.clone(),
        Function::map(|_| Err(Error::NotImplemented("it only says what fits".into()))),
        PrivacyMap::new(|_| Err(Error::NotImplemented("it only says what fits".into()))),
    );
    for (member, place) in members.iter().zip(0..) {
        let at = |error: Error| error.at(format!("measurements[{place}]"));
        same(&expected, member).map_err(at)?;
        if !(loss_of(member, 0).map_err(at)? <= 0.0) {
            return Err(Error::MakeMeasurement(format!(
                "measurements[{place}]: expected one whose map is 0 at distance 0; this one may lose \
                 something to the order of the rows, and so may every part"
            )));
        }
    }
    Ok(measure)
}
fn loss_of(member: &AnyMeasurement, d_in: u32) -> Result<f64> {
    member.map(&AnyDistance::new(d_in))?.downcast_ref().copied()
}

/// Composes losses in a measure.
type Compose = dyn Fn(&[f64]) -> Result<f64> + Send + Sync;

/// What the members of a parallel composition lose.
#[derive(Clone)]
struct Losses {
    members: Arc<Vec<AnyMeasurement>>,
    compose: Arc<Compose>,
}
impl Losses {
    /// The map.
    fn worst(self) -> impl Fn(&u32) -> Result<f64> {
        move |d_in| {
            let one = |place: usize, d| loss_of(&self.members[place], d);
            worst_split(&*self.compose, self.members.len(), *d_in, &one)
        }
    }
    /// The exact map, in a measure whose losses are one number.
    fn worst_exact(self) -> impl Fn(&u32) -> Result<Vec<Exact>> {
        let (members, worst) = (self.members.clone(), self.worst());
        move |d_in| match d_in {
            1 => Ok(vec![worst_of(&members)?]),
            _ => Ok(vec![Exact::from_f64(worst(d_in)?)?]),
        }
    }
    fn accuracy(self) -> impl Fn(f64) -> Result<Vec<Option<f64>>> {
        move |alpha| {
            let each = self.members.iter().map(|member| member.accuracy(alpha));
            Ok(each.collect::<Result<Vec<_>>>()?.concat())
        }
    }
}
/// The largest exact loss of a member for one row.
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

/// The most steps that are spent on the exact maximum over all splits.
const MOST_STEPS: u64 = 1 << 18;

/// Bound the loss of all parts when `d_in` rows are split between them in the worst way.
fn worst_split(
    compose: &Compose,
    parts: usize,
    d_in: u32,
    loss: &dyn Fn(usize, u32) -> Result<f64>,
) -> Result<f64> {
    let number = |loss: f64| match loss.is_nan() {
        true => Err(Error::FailedMap("a loss in the composition is NaN".into())),
        false => Ok(loss),
    };
    let steps = (parts as u64).saturating_mul(u64::from(d_in).saturating_mul(d_in.into()));
    if 1 < d_in && MOST_STEPS < steps {
        let losses: Result<Vec<f64>> = (0..parts).map(|place| number(loss(place, d_in)?)).collect();
        let mut losses = losses?;
        losses.sort_by(|left, right| right.total_cmp(left));
        losses.truncate(usize::try_from(d_in).unwrap_or(usize::MAX));
        return compose(&losses);
    }
    let nothing = compose(&[])?;
    let rows = usize::try_from(d_in).unwrap_or(usize::MAX);
    // The worst loss of the parts so far, within each number of rows.
    let mut worst = vec![nothing; rows + 1];
    for place in 0..parts {
        let mut one = vec![nothing];
        for (d, before) in (1..=d_in).zip(0..) {
            one.push(number(loss(place, d)?)?.max(one[before]));
        }
        for d in (1..=rows).rev() {
            for (j, here) in one.iter().enumerate().take(d + 1).skip(1) {
                let both = match d - j {
                    0 => *here,
                    rest => compose(&[worst[rest], *here])?,
                };
                worst[d] = worst[d].max(both);
            }
        }
    }
    Ok(worst[rows])
}

/// Measurements of rows, one for each part, whose types have been checked.
struct Members<E, M, MO, TO> {
    members: Vec<AnyMeasurement>,
    types: PhantomData<fn() -> (E, M, MO, TO)>,
}
impl<E, M, MO, TO> Argument for Members<E, M, MO, TO>
where
    E: Domain,
    VectorDomain<E>: Domain,
    M: Metric,
    MO: Measure,
    TO: Carrier,
{
    fn type_name() -> TypeName {
        let names =
            [<VectorDomain<E> as Named>::type_name, M::type_name, MO::type_name, TO::type_name];
        TypeName::generic("Vec", [TypeName::applied("Measurement", &names)])
    }
    fn accepts(arg: &Arg) -> bool {
        match arg {
            Arg::List(items) => items.iter().all(|item| match item {
                Arg::Made(Constructed::Measurement(made)) => is_of::<E, M, MO>(made),
                _ => false,
            }),
            other => Vec::<AnyMeasurement>::accepts(other),
        }
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        let members = Vec::<AnyMeasurement>::from_arg(arg)?;
        if !members.iter().all(is_of::<E, M, MO>) {
            return Err(wrong(&Self::type_name(), arg));
        }
        Ok(Members { members, types: PhantomData })
    }
    const STOOD_FOR: fn(&Arg) -> Option<TypeName> = if M::STANDS { first } else { |_| None };
}
fn is_of<E, M, MO>(made: &AnyMeasurement) -> bool
where
    E: Domain,
    VectorDomain<E>: Domain,
    M: Metric,
    MO: Measure,
{
    made.input().domain().is::<VectorDomain<E>>()
        && M::view(made.input().metric()).is_some()
        && made.measure().is::<MO>()
}
/// The type that the first member has.
fn first(arg: &Arg) -> Option<TypeName> {
    let Arg::List(items) = arg else { return None };
    let Arg::Made(Constructed::Measurement(made)) = items.first()? else { return None };
    let (domain, metric) = (made.input().domain().inner_type(), made.input().metric().inner_type());
    let names = [domain, metric, made.measure().inner_type(), <AnyValue as Named>::type_name()];
    Some(TypeName::generic("Vec", [TypeName::generic("Measurement", names)]))
}
#[cold]
fn wrong(expected: &TypeName, found: &Arg) -> Error {
    Error::FailedCast(format!("expected a {expected}, found {}", found.describe()))
}

#[cfg(test)]
mod tests {
    use opendp_core::{
        AbsoluteDistance, ChangeOneDistance, Queryable, StabilityMap, SymmetricDistance,
        Transformation,
    };

    use super::*;
    use crate::{Scale, make_gaussian, make_laplace};

    type Rows = VectorDomain<AtomDomain<i32>>;
    type Member<MO> = Measurement<Rows, SymmetricDistance, MO, i32>;

    fn rows() -> Space<Rows, SymmetricDistance> {
        Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap()
    }
    fn count() -> Transformation<Rows, SymmetricDistance, AtomDomain<i32>, AbsoluteDistance<i32>> {
        let counts = Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap();
        let function = Function::map(|rows: &Vec<i32>| Ok(rows.len() as i32));
        Transformation::new(rows(), counts, function, StabilityMap::from_constant(1))
    }
    fn laplace(scale: f64) -> Member<MaxDivergence> {
        count().then(|count| make_laplace(count, Scale::new(scale).unwrap(), None)).unwrap()
    }
    fn costing(losses: &'static [f64]) -> Member<MaxDivergence> {
        let map = PrivacyMap::new(move |d: &u32| Ok(losses[*d as usize]));
        Measurement::new(rows(), MaxDivergence, Function::map(|_| Ok(0)), map)
    }
    fn sum(losses: &[f64]) -> Result<f64> {
        MaxDivergence.compose(losses)
    }
    fn last_digit() -> Parts<i32> {
        Parts::by(|row| usize::try_from(row % 10).ok())
    }

    #[test]
    fn every_row_goes_to_its_part_in_order() {
        let list = Function::map(|rows: &Vec<i32>| Ok(rows.clone()));
        let map = PrivacyMap::new(|d: &u32| Ok(if *d == 0 { 0.0 } else { f64::INFINITY }));
        let show = Measurement::new(rows(), MaxDivergence, list, map);
        let parts = make_parallel_composition(rows(), last_digit(), vec![show; 3]).unwrap();
        let released = parts.invoke(&vec![11, 2, 1, 7, 30, -5, 21, 12]).unwrap();
        assert_eq!(released, [vec![30], vec![11, 1, 21], vec![2, 12]]);
        assert_eq!(parts.invoke(&vec![]).unwrap(), vec![Vec::<i32>::new(); 3]);
    }
    #[test]
    fn loses_as_much_as_the_worst_part() {
        let members = vec![laplace(2.0), laplace(1.0), laplace(4.0)];
        let parts = make_parallel_composition(rows(), last_digit(), members).unwrap();
        let losses = [0, 1, 2, 9].map(|d| parts.map(&d).unwrap());
        assert_eq!(losses, [0.0, 1.0, 2.0, 9.0]);
        let gauss =
            count().then(|count| make_gaussian(count, Scale::new(1.0).unwrap(), None)).unwrap();
        let parts = make_parallel_composition(rows(), last_digit(), vec![gauss; 5]).unwrap();
        assert_eq!([1, 4].map(|d| parts.map(&d).unwrap()), [0.5, 8.0], "all rows in one part");
        assert_eq!(*parts.measure(), ZeroConcentratedDivergence);
    }
    #[test]
    fn ten_tenths_of_parts_are_one() {
        let tenths = vec![laplace(10.0), laplace(20.0)];
        let tenths = make_parallel_composition(rows(), last_digit(), tenths).unwrap();
        let ten = crate::make_composition(vec![tenths.clone(); 10]).unwrap();
        assert_eq!(ten.exact_map(&1).unwrap(), ["1".parse().unwrap()]);
        // The control: two rows may be in two parts, whose losses are added as floats.
        let two = tenths.exact_map(&2).unwrap();
        assert_eq!(two, [Exact::from_f64(tenths.map(&2).unwrap()).unwrap()]);
    }
    #[test]
    fn looks_at_all_splits() {
        // A part that is changed at all loses 1, however often: then splits are worst.
        let members = vec![costing(&[0.0, 1.0, 1.0, 1.0]); 2];
        let parts = make_parallel_composition(rows(), last_digit(), members).unwrap();
        let losses = [0, 1, 2, 3].map(|d| parts.map(&d).unwrap());
        assert_eq!(losses, [0.0, 1.0, 2.0, 2.0]);
        // A map may fall; a bound for fewer rows is one for the split, too.
        let members = vec![costing(&[0.0, 2.0, 1.0]), costing(&[0.0, 0.5, 0.25])];
        let parts = make_parallel_composition(rows(), last_digit(), members).unwrap();
        assert_eq!(parts.map(&2).unwrap(), 2.5);
    }
    #[test]
    fn equals_the_maximum_by_enumeration() {
        let tables: [&[f64]; 3] =
            [&[0.0, 0.5, 0.75, 2.0, 2.25], &[0.0, 1.0, 1.0, 1.5, 2.5], &[0.0, 0.25, 1.5, 1.5, 3.0]];
        let worst =
            |d: u32| worst_split(&sum, 3, d, &|place, d| Ok(tables[place][d as usize])).unwrap();
        for d in 0..5_usize {
            let mut most: f64 = 0.0;
            for code in 0..125 {
                let split = [code % 5, code / 5 % 5, code / 25];
                if split.iter().sum::<usize>() <= d {
                    most = most.max(split.iter().zip(tables).map(|(d, table)| table[*d]).sum());
                }
            }
            assert_eq!(worst(d as u32), most);
        }
        // The control: the worst single part is not enough.
        assert!(tables.iter().all(|table| table[3] < worst(3)));
    }
    #[test]
    fn is_never_less_when_there_are_too_many_splits() {
        let worst = |d| worst_split(&sum, 3, d, &|_, d| Ok(f64::from(d))).unwrap();
        assert_eq!(worst(100), 100.0);
        assert_eq!(worst(1_000_000), 3_000_000.0);
        let large = worst_split(&sum, 100_000, 1, &|place, _| Ok(place as f64)).unwrap();
        assert_eq!(large, 99_999.0);
    }
    #[test]
    fn conversations_with_parts_may_be_interleaved() {
        let talk = Function::map(|rows: &Vec<i32>| {
            Ok(Queryable::new(rows.len() as i32, |left: &mut i32, step: &i32| {
                *left -= step;
                Ok(*left)
            }))
        });
        let map = PrivacyMap::new(|d: &u32| Ok(f64::from(*d)));
        let talk = Measurement::new(rows(), MaxDivergence, talk, map);
        let parts = make_parallel_composition(rows(), last_digit(), vec![talk; 2]).unwrap();
        let both = parts.invoke(&vec![0, 1, 11]).unwrap();
        let asked = [both[0].ask(&1), both[1].ask(&1), both[0].ask(&1)];
        assert_eq!(asked, [Ok(0), Ok(1), Ok(-1)]);
    }
    #[test]
    fn refuses_spaces_in_which_a_row_is_in_two_parts() {
        let none: Vec<Member<MaxDivergence>> = Vec::new();
        let error = make_parallel_composition(rows(), last_digit(), none).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        // A row that is replaced may leave one part and enter another, whose sizes then change.
        let sized = VectorDomain::new(AtomDomain::<i32>::default()).with_size(3);
        let space = Space::new(sized.clone(), ChangeOneDistance).unwrap();
        let map = PrivacyMap::new(|_: &u32| Ok(1.0));
        let member = Measurement::new(space.clone(), MaxDivergence, Function::map(|_| Ok(0)), map);
        let error = make_parallel_composition(space, last_digit(), vec![member]).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        let space = Space::new(sized, SymmetricDistance).unwrap();
        let error = make_parallel_composition(space, last_digit(), vec![laplace(1.0)]).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        let bounds = opendp_core::Bounds::new(0, 9).unwrap();
        let other = VectorDomain::new(AtomDomain::bounded(bounds));
        let other = Space::new(other, SymmetricDistance).unwrap();
        let error = make_parallel_composition(other, last_digit(), vec![laplace(1.0)]).unwrap_err();
        assert!(error.kind() == "DomainMismatch" && error.to_string().contains("[0]"));
    }
    /// Each tells the order of its part: five of them tell five times as much.
    #[test]
    fn members_that_lose_something_to_the_order_of_rows_are_refused() {
        let odd = Space::new(AtomDomain::default(), opendp_core::DiscreteDistance).unwrap();
        let first = Function::map(|rows: &Vec<i32>| Ok(rows.first().is_some_and(|x| x % 2 != 0)));
        let first = Transformation::new(rows(), odd, first, StabilityMap::new(|_| Ok(1)));
        let told = first.then(|_| crate::make_randomized_response_bool(0.75, false)).unwrap();
        assert!([0, 1, 5].iter().all(|d| (told.map(d).unwrap() - 3_f64.ln()).abs() < 1e-12));
        let error = make_parallel_composition(rows(), last_digit(), vec![told; 5]).unwrap_err();
        assert!(error.kind() == "MakeMeasurement" && error.to_string().contains("distance 0"));
        // The controls: a map that is 0 there, and one that is not a number.
        assert!(make_parallel_composition(rows(), last_digit(), vec![costing(&[0.0]); 5]).is_ok());
        for bad in [&[1e-300_f64], &[f64::NAN]] {
            assert!(make_parallel_composition(rows(), last_digit(), vec![costing(bad)]).is_err());
        }
    }
}
