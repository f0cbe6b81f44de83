//! Distances at which neighbours exist.

use crate::arith::Number;
use crate::erased::{AnyDomain, AnyMetric};
use crate::{
    AbsoluteDistance, AnyNumber, Distance, Domain, Error, InsertDeleteDistance, L1Distance,
    L2Distance, LInfDistance, Metric, Result, Space, SymmetricDistance,
};

impl<D: Domain, M: Metric> Space<D, M> {
    /// Return an error if one of three rules shows that no two different members are at distance at
    /// most `d_in`.
    ///
    /// The first rule is about the distance 0, and about distances of several numbers of which one
    /// is 0. The second rule is about the distance 1 in metrics in which a replaced record counts
    /// as 2. It applies if the size of the data sets is known. The third rule is about distances
    /// below 1 between integers, or between lists of integers, in absolute distance, in `L1`, `L2`
    /// or `LInf`. A distance that passes all rules can still have no neighbours, for example in a
    /// domain with only one member.
    ///
    /// If there are no neighbours, the loss at this distance is 0 even without noise. Such a loss
    /// is correct but gives no protection. So every operation that charges a loss, solves for a
    /// parameter, or makes a release checks its distance first.
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
    // If a distance has several numbers, such as a number of changes and the size of a change, then
    // each of these numbers is 0 only for equal members.
    let zero = |number: &AnyNumber| {
        matches!(number, AnyNumber::Integer(0)) || matches!(number, AnyNumber::Float(0.0))
    };
    if d_in.iter().flatten().any(zero) {
        return Err(nobody());
    }
    match d_in[0] {
        Some(AnyNumber::Float(d)) if d < 1.0 && is_norm(metric) && is_of_integers(domain) => {
            Err(Error::FailedMap(format!(
                "d_in: no two different integers are at distance {d}: state a distance of at least \
                 1"
            )))
        }
        Some(AnyNumber::Integer(1))
            if metric.is::<SymmetricDistance>() || metric.is::<InsertDeleteDistance>() =>
        {
            match domain.records() {
                Some(size) => Err(Error::FailedMap(format!(
                    "d_in: no two data sets of {size} rows are at distance 1; one replaced row is \
                     distance 2: state 2, or use `change_one_distance`"
                ))),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
/// Return whether a metric is a norm of differences, and its distances are floats.
fn is_norm(metric: &AnyMetric) -> bool {
    fn is<Q: Number>(metric: &AnyMetric) -> bool
    where
        AbsoluteDistance<Q>: Metric,
        L1Distance<Q>: Metric,
        L2Distance<Q>: Metric,
        LInfDistance<Q>: Metric,
    {
        metric.is::<AbsoluteDistance<Q>>()
            || metric.is::<L1Distance<Q>>()
            || metric.is::<L2Distance<Q>>()
            || metric.is::<LInfDistance<Q>>()
    }
    is::<f64>(metric) || is::<f32>(metric)
}
/// Return whether the members of a domain are integers or lists of integers.
fn is_of_integers(domain: &AnyDomain) -> bool {
    let carrier = domain.carrier().to_string();
    let number = carrier.strip_prefix("Vec<").and_then(|rest| rest.strip_suffix('>'));
    let number = number.unwrap_or(&carrier);
    number.strip_prefix(['i', 'u']).is_some_and(|bits| bits == "size" || bits.parse::<u8>().is_ok())
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
    use crate::{AtomDomain, ChangeOneDistance, L01InfDistance, MapDomain, VectorDomain};

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
        // Floats and rows are no integers.
        let floats = VectorDomain::new(AtomDomain::<f64>::non_nan());
        let floats = Space::new(floats, L2Distance::<f64>::new()).unwrap();
        assert!(floats.check_neighbours(&0.5).is_ok());
        assert!(
            Space::new(lists.with_size(2), ChangeOneDistance).unwrap().check_neighbours(&1).is_ok()
        );
    }
}
