//! Releases of the parts of a data set, which cost as much as one of them.

use std::sync::Arc;

use opendp_core::arith::Exact;
use opendp_core::erased::AnyValue;
use opendp_core::{
    AtomDomain, Carrier, DatasetMetric, Domain, Error, Function, InsertDeleteDistance,
    MaxDivergence, Measure, Measurement, Metric, MetricOn, PrivacyMap, Result, Space,
    SymmetricDistance, VectorDomain, ZeroConcentratedDivergence, register,
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
/// The measurements start from `input`, and have the same measure. The size of data sets is not
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
/// (or sequence) of rows, so that its release has the same distribution, and loses nothing. At most
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
///   metric counts replaced rows, or the domain fixes the number of rows
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
    let no = |reason: &str| Err(Error::MakeMeasurement(reason.into()));
    let Some(first) = measurements.first() else {
        return no("measurements: expected one for each part, found none");
    };
    if let Some(parts) = part.count()
        && parts != measurements.len()
    {
        return Err(Error::MakeMeasurement(format!(
            "measurements: expected one for each of {parts} parts, found {}",
            measurements.len()
        )));
    }
    if input.metric().sized() || input.domain().size().is_some() {
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
        PrivacyMap::new(|_| Ok(f64::INFINITY)),
    );
    for (member, place) in measurements.iter().zip(0..) {
        same(&expected, member).map_err(|error| error.at(format!("measurements[{place}]")))?;
    }
    let measurements = Arc::new(measurements);
    let (members, interaction) = (measurements.clone(), measure.interaction());
    let function = Function::map(move |data: &Vec<E::Carrier>| {
        let mut parts = vec![Vec::new(); members.len()];
        for row in data {
            if let Some(rows) = part.of(row).and_then(|place| parts.get_mut(place)) {
                rows.push(row.clone());
            }
        }
        in_turn(
            interaction,
            members.iter().zip(&parts).map(|(member, rows)| || member.invoke(rows)),
        )
    });
    let (members, total) = (measurements.clone(), measure.clone());
    let worst = move |d_in: &u32| {
        worst_split(&total, members.len(), *d_in, |place, d| members[place].map(&d))
    };
    let mut map = PrivacyMap::new(worst.clone());
    if measure.parts() == Ok(1) {
        let members = measurements.clone();
        map = map.with_exact(move |d_in| match d_in {
            1 => worst_of(&members).map(|worst| vec![worst]),
            _ => Ok(vec![Exact::from_f64(worst(d_in)?)?]),
        });
    }
    let accuracy = move |alpha| {
        let each = measurements.iter().map(|member| member.accuracy(alpha));
        Ok(each.collect::<Result<Vec<_>>>()?.concat())
    };
    Ok(Measurement::new(input, measure, function, map).with_accuracy(accuracy))
}
register! {
    "parallel_composition.rs": make_parallel_composition(input, part, measurements)
        for E in [
                AtomDomain<bool>, AtomDomain<i32>, AtomDomain<i64>, AtomDomain<u32>,
                AtomDomain<u64>, AtomDomain<f32>, AtomDomain<f64>, AtomDomain<String>,
            ],
            M in [SymmetricDistance, InsertDeleteDistance],
            MO in [MaxDivergence, ZeroConcentratedDivergence],
            TO in [AnyValue];
}

/// The largest exact loss of a member for one row.
fn worst_of<DI, MI, MO, TO>(members: &[Measurement<DI, MI, MO, TO>]) -> Result<Exact>
where
    DI: Domain,
    MI: Metric<Distance = u32>,
    MO: Measure,
    TO: Carrier,
{
    let mut worst = Exact::ZERO;
    for member in members {
        for loss in member.exact_map(&1)? {
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
fn worst_split<MO: Measure<Distance = f64>>(
    measure: &MO,
    parts: usize,
    d_in: u32,
    loss: impl Fn(usize, u32) -> Result<f64>,
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
        return measure.compose(&losses);
    }
    let nothing = measure.compose(&[])?;
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
                    rest => measure.compose(&[worst[rest], *here])?,
                };
                worst[d] = worst[d].max(both);
            }
        }
    }
    Ok(worst[rows])
}

#[cfg(test)]
mod tests {
    use opendp_core::{
        AbsoluteDistance, Arg, Args, ChangeOneDistance, Constructed, Made, Queryable, Registration,
        StabilityMap, TheMetric, Transformation,
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
    fn last_digit() -> Parts<i32> {
        Parts::by(|row| usize::try_from(row % 10).ok())
    }

    #[test]
    fn every_row_goes_to_its_part_in_order() {
        let list = Function::map(|rows: &Vec<i32>| Ok(rows.clone()));
        let map = PrivacyMap::new(|_: &u32| Ok(f64::INFINITY));
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
    fn is_made_by_name_for_parts_that_are_written() {
        let registration = |measure: &str| {
            let named = |r: &&Registration| {
                r.names.contains(&"make_parallel_composition")
                    && (r.output)().to_string().contains(measure)
                    && (r.output)().to_string().contains("AtomDomain<i32>>, Sym")
            };
            Registration::all().find(named).unwrap()
        };
        let member = |scale| Arg::from(Constructed::from(laplace(scale).erase()));
        let args = |part, members| {
            Args::new()
                .with("input", &rows().erase())
                .with("part", part)
                .with("measurements", Arg::List(members))
        };
        let members = || vec![member(1.0), member(2.0), member(4.0)];
        let by_age = args(serde_json::json!({"edges": [18, 65]}), members());
        let made = (registration("MaxDivergence").construct)(&by_age).unwrap();
        assert_eq!(made.map(&1.into()), Ok(serde_json::json!(1.0)));
        let made = made.measurement().unwrap();
        let answers = made.invoke(&opendp_core::erased::AnyValue::new(vec![17, 18, 70]));
        assert_eq!(answers.unwrap().downcast::<Vec<AnyValue>>().unwrap().len(), 3);
        let two = args(serde_json::json!({"categories": [0, 1]}), members());
        let error = (registration("MaxDivergence").construct)(&two).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        let error = (registration("ZeroConc").construct)(&by_age).unwrap_err();
        assert_eq!(error.kind(), "Argument");
        assert!(TheMetric(SymmetricDistance).erased().metric().is_ok());
    }
    #[test]
    fn looks_at_all_splits() {
        // A part that is changed at all loses 1, however often: then splits are worst.
        let members = vec![costing(&[7.0, 1.0, 1.0, 1.0]); 2];
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
        let worst = |d: u32| {
            worst_split(&MaxDivergence, 3, d, |place, d| Ok(tables[place][d as usize])).unwrap()
        };
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
        let worst = |d| worst_split(&MaxDivergence, 3, d, |_, d| Ok(f64::from(d))).unwrap();
        assert_eq!(worst(100), 100.0);
        assert_eq!(worst(1_000_000), 3_000_000.0);
        let large = worst_split(&MaxDivergence, 100_000, 1, |place, _| Ok(place as f64)).unwrap();
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
        let map = PrivacyMap::new(|_: &u32| Ok(1.0));
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
}
