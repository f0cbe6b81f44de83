//! Distances at which neighbours exist.

use crate::erased::{AnyDomain, AnyMetric};
use crate::{
    AnyNumber, Distance, Domain, Error, InsertDeleteDistance, Metric, Result, Space,
    SymmetricDistance,
};

impl<D: Domain, M: Metric> Space<D, M> {
    /// Return an error if one of two rules shows that no two different members are at distance at
    /// most `d_in`.
    ///
    /// The first rule is about the distance 0, and about distances of several numbers of which one
    /// is 0. The second rule is about the distance 1 in metrics
    /// in which a replaced record counts as 2. It applies if the size of the data sets is known. A
    /// distance that passes both rules can still have no neighbours, for example in a domain with
    /// only one member.
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
#[cold]
fn nobody() -> Error {
    Error::FailedMap(
        "d_in: expected a distance above 0; a loss at distance 0 gives no protection".into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AbsoluteDistance, AtomDomain, L01InfDistance, MapDomain, VectorDomain};

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
}
