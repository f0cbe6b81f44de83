//! Distances at which neighbours exist.

use crate::arith::{Number, shown};
use crate::erased::{AnyDomain, AnyMetric};
use crate::{
    AbsoluteDistance, AnyNumber, Distance, Domain, Error, InsertDeleteDistance, L1Distance,
    L01InfDistance, L2Distance, L02InfDistance, LInfDistance, Metric, RangeDistance, Result, Space,
    SymmetricDistance,
};

impl<D: Domain, M: Metric> Space<D, M> {
    /// Return an error if one of three rules shows that no two members are neighbours. Neighbours
    /// are two members at a positive distance of at most `d_in`.
    ///
    /// The first rule applies to the distance 0. This rule also applies to a distance of several
    /// numbers, if one of these numbers is 0. The second rule applies to the distance 1, if the
    /// metric counts a replaced record as 2 and the size of the data sets is known.
    ///
    /// The third rule applies to distances below 1 between integers, lists of integers, or maps to
    /// integers. The metrics of this rule are the absolute distance, `L1`, `L2`, `LInf`, the range
    /// of changes, `L01Inf` and `L02Inf`. In all these metrics, two members at a distance below 1
    /// are at distance 0. Under the range of changes, two lists of scores at distance 0 can differ,
    /// but only by one number that is added to all scores. A distance of several numbers counts as
    /// below 1 if at least one of its floats is below 1.
    ///
    /// If no rule applies, it is still possible that there are no neighbours. An example is a
    /// domain with only one member.
    ///
    /// If there are no neighbours, the loss at `d_in` is 0 even without noise. This loss is
    /// correct, but it gives no protection. So some operations first check their distance with this
    /// function. Examples are adaptive compositions, privacy filters, the sparse vector technique,
    /// and the search for a parameter of a pipeline document.
    ///
    /// ```
    /// # use opendp_core::{AtomDomain, ChangeOneDistance, Space, SymmetricDistance, VectorDomain};
    /// let rows = VectorDomain::new(AtomDomain::<i32>::default()).with_size(1000);
    /// let space = Space::new(rows.clone(), SymmetricDistance)?;
    /// let error = space.check_neighbours(&1).unwrap_err().to_string();
    /// assert!(error.contains("one replaced row is distance 2"), "{error}");
    /// assert!(space.check_neighbours(&2).is_ok());
    /// assert!(Space::new(rows, ChangeOneDistance)?.check_neighbours(&1).is_ok());
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `FailedMap` when one of the rules applies.
    pub fn check_neighbours(&self, d_in: &M::Distance) -> Result<()> {
        apart(&self.untyped.domain, &self.untyped.metric.real(), d_in.numbers())
    }
}
fn apart(domain: &AnyDomain, metric: &AnyMetric, d_in: [Option<AnyNumber>; 3]) -> Result<()> {
    // A distance can have several numbers, such as a number of changes and the size of a change. If
    // one of these numbers is 0, no two members at a positive distance are within this distance.
    let zero = |number: &AnyNumber| {
        matches!(number, AnyNumber::Integer(0)) || matches!(number, AnyNumber::Float(0.0))
    };
    if d_in.iter().flatten().any(zero) {
        return Err(nobody());
    }
    let below = d_in.iter().flatten().find_map(|number| match number {
        AnyNumber::Float(d) if *d < 1.0 => Some(*d),
        _ => None,
    });
    if let Some(d) = below
        && is_of_differences(metric)
        && is_of_integers(domain)
    {
        return Err(Error::FailedMap(format!(
            "d_in: a positive distance between integers is at least 1, found {}: state a distance \
             of at least 1",
            shown(d)
        )));
    }
    match d_in[0] {
        Some(AnyNumber::Integer(1))
            if metric.is::<SymmetricDistance>() || metric.is::<InsertDeleteDistance>() =>
        {
            match domain.records() {
                Some(size) => Err(Error::FailedMap(format!(
                    "d_in: no two data sets of size {size} are at distance 1; one replaced row is \
                     distance 2: state 2, or use `change_one_distance`"
                ))),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
/// Return whether a metric measures differences between numbers. Metrics with integer distances are
/// included, because an erased `d_in` can be a float even for such a metric.
fn is_of_differences(metric: &AnyMetric) -> bool {
    fn is<Q: Number>(metric: &AnyMetric) -> bool
    where
        AbsoluteDistance<Q>: Metric,
        L1Distance<Q>: Metric,
        L2Distance<Q>: Metric,
        LInfDistance<Q>: Metric,
        RangeDistance<Q>: Metric,
        L01InfDistance<AbsoluteDistance<Q>>: Metric,
        L02InfDistance<AbsoluteDistance<Q>>: Metric,
    {
        metric.is::<AbsoluteDistance<Q>>()
            || metric.is::<L1Distance<Q>>()
            || metric.is::<L2Distance<Q>>()
            || metric.is::<LInfDistance<Q>>()
            || metric.is::<RangeDistance<Q>>()
            || metric.is::<L01InfDistance<AbsoluteDistance<Q>>>()
            || metric.is::<L02InfDistance<AbsoluteDistance<Q>>>()
    }
    macro_rules! any_of {
        ($($q:ty)*) => { $(is::<$q>(metric))||* };
    }
    any_of!(f64 f32 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize)
}
/// Return whether the members of a domain are integers, lists of integers, or maps to integers.
fn is_of_integers(domain: &AnyDomain) -> bool {
    let carrier = domain.carrier();
    let number = match (carrier.head(), carrier.args()) {
        ("Vec", [number]) | ("HashMap", [_, number]) => number.head(),
        (number, _) => number,
    };
    let bits = number.strip_prefix(['i', 'u']);
    number == "IBig" || bits.is_some_and(|bits| bits == "size" || bits.parse::<u8>().is_ok())
}
#[cold]
fn nobody() -> Error {
    Error::FailedMap(
        "d_in: expected a distance above 0; a loss at distance 0 gives no protection".into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtomDomain, ChangeOneDistance, Codec, IBig, MapDomain, MetricOn, VectorDomain};

    #[test]
    fn an_unattainable_distance_is_refused() {
        let rows = VectorDomain::new(AtomDomain::<i32>::default());
        let open = Space::new(rows.clone(), InsertDeleteDistance).unwrap();
        assert!(open.check_neighbours(&1).is_ok());
        assert_eq!(open.check_neighbours(&0).unwrap_err().kind(), "FailedMap");
        let sized = Space::new(rows.with_size(5), InsertDeleteDistance).unwrap();
        assert_eq!(sized.check_neighbours(&1).unwrap_err().kind(), "FailedMap");
        assert!(sized.check_neighbours(&3).is_ok());
        let erased = sized.erase();
        let distance = erased.metric().decode(&1.into()).unwrap();
        assert!(erased.check_neighbours(&distance).is_err());
        let numbers = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new());
        let numbers = numbers.unwrap();
        assert!(
            numbers.check_neighbours(&0.0).is_err() && numbers.check_neighbours(&5e-324).is_ok()
        );
    }
    #[test]
    fn a_distance_of_several_numbers_has_no_part_that_is_zero() {
        type Change = L01InfDistance<AbsoluteDistance<f64>>;
        let counts = MapDomain::new(AtomDomain::<String>::default(), AtomDomain::<f64>::non_nan());
        let counts = Space::new(counts, Change::default()).unwrap();
        assert!(counts.check_neighbours(&(1, 1.0, 1.0)).is_ok());
        for nothing in [(0, 1.0, 1.0), (1, 0.0, 1.0), (1, 1.0, 0.0), (1, -0.0, 1.0)] {
            assert_eq!(counts.check_neighbours(&nothing).unwrap_err().kind(), "FailedMap");
        }
    }
    #[test]
    fn different_integers_are_at_distance_1_or_more() {
        let lists = VectorDomain::new(AtomDomain::<i8>::default());
        let space = Space::new(lists.clone(), L2Distance::<f64>::new()).unwrap();
        for (d_in, fits) in [(0.5, false), (1f64.next_down(), false), (1.0, true), (1.4, true)] {
            assert_eq!(space.check_neighbours(&d_in).is_ok(), fits, "{d_in}");
        }
        // The third rule does not apply to floats, or to distances between data sets.
        let floats = VectorDomain::new(AtomDomain::<f64>::non_nan());
        let floats = Space::new(floats, L2Distance::<f64>::new()).unwrap();
        assert!(floats.check_neighbours(&0.5).is_ok());
        assert!(
            Space::new(lists.with_size(2), ChangeOneDistance).unwrap().check_neighbours(&1).is_ok()
        );
    }
    #[test]
    fn maps_to_different_integers_are_at_distance_1_or_more() {
        type Counts = MapDomain<AtomDomain<String>, AtomDomain<i64>>;
        fn check<M: MetricOn<Counts> + Metric<Distance = (u32, f64, f64)> + Default>() {
            let keys = AtomDomain::<String>::default();
            let counts = MapDomain::new(keys, AtomDomain::<i64>::default());
            let space = Space::new(counts, M::default()).unwrap();
            for (norm, largest, fits) in
                [(0.5, 0.5, false), (0.5, 2.0, false), (2.0, 0.5, false), (1.0, 1.0, true)]
            {
                let d_in = (1, norm, largest);
                assert_eq!(space.check_neighbours(&d_in).is_ok(), fits, "{d_in:?}");
                let space = space.erase();
                let d_in = space.metric().decode(&d_in.to_json()).unwrap();
                assert_eq!(space.check_neighbours(&d_in).is_ok(), fits, "{d_in:?}");
            }
        }
        check::<L01InfDistance<AbsoluteDistance<f64>>>();
        check::<L02InfDistance<AbsoluteDistance<f64>>>();
        // The third rule does not apply to maps with integers as keys and floats as values.
        let sums = MapDomain::new(AtomDomain::<i64>::default(), AtomDomain::<f64>::non_nan());
        let sums = Space::new(sums, L01InfDistance::<AbsoluteDistance<f64>>::default()).unwrap();
        assert!(sums.check_neighbours(&(1, 0.5, 0.5)).is_ok());
    }
    #[test]
    fn an_erased_distance_of_another_number_type_does_not_avoid_the_rules() {
        type Counts = MapDomain<AtomDomain<String>, AtomDomain<i32>>;
        let counts = Counts::new(AtomDomain::default(), AtomDomain::default());
        let space = Space::new(counts, L01InfDistance::<AbsoluteDistance<i32>>::default()).unwrap();
        let space = space.erase();
        let other = crate::erased::AnyDistance::new((1_u32, 0.5, 0.5));
        assert_eq!(space.check_neighbours(&other).unwrap_err().kind(), "FailedMap");
        assert_eq!(space.metric().read_distance(other).unwrap_err().kind(), "FailedCast");
        // The control: a distance of the right type is accepted.
        let right =
            space.metric().read_distance(crate::erased::AnyDistance::new((1_u32, 2, 2))).unwrap();
        assert!(space.check_neighbours(&right).is_ok());
    }
    #[test]
    fn big_integers_and_ranges_of_integers_are_at_distance_1_or_more() {
        let number = Space::new(AtomDomain::<IBig>::default(), AbsoluteDistance::<f64>::new());
        let list = VectorDomain::new(AtomDomain::<IBig>::default());
        let list = Space::new(list, L1Distance::<f64>::new()).unwrap();
        let scores = VectorDomain::new(AtomDomain::<u64>::default());
        let scores = Space::new(scores, RangeDistance::<f64>::new()).unwrap();
        let number = number.unwrap();
        for (d_in, fits) in [(0.5, false), (1.0, true)] {
            assert_eq!(number.check_neighbours(&d_in).is_ok(), fits, "{d_in}");
            assert_eq!(list.check_neighbours(&d_in).is_ok(), fits, "{d_in}");
            assert_eq!(scores.check_neighbours(&d_in).is_ok(), fits, "{d_in}");
        }
        // The control: for float scores, a range of changes below 1 is accepted.
        let scores = VectorDomain::new(AtomDomain::<f64>::non_nan());
        let scores = Space::new(scores, RangeDistance::<f64>::new()).unwrap();
        assert!(scores.check_neighbours(&0.5).is_ok());
    }
}
