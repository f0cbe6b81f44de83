//! Pairs of members of two domains.

use serde_json::Value as Json;

use crate::domain::descriptor;
use crate::{Atom, AtomDomain, Domain, Result, TheDomain, named};

/// The set of all pairs whose first part is in `A` and whose second part is in `B`.
///
/// ```
/// # use opendp_core::{AtomDomain, Bounds, Domain, PairDomain};
/// let unit = AtomDomain::bounded(Bounds::new(0.0, 1.0)?);
/// let points = PairDomain::new(unit.clone(), unit);
/// assert!(points.member(&(0.0, 0.5)) && !points.member(&(0.0, 1.5)));
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairDomain<A, B> {
    first: A,
    second: B,
}
impl<A, B> PairDomain<A, B> {
    /// Make the set of pairs whose first part is in `first`, and whose second part is in `second`.
    pub fn new(first: A, second: B) -> Self {
        PairDomain { first, second }
    }
    /// Return the domain of the first parts.
    pub fn first(&self) -> &A {
        &self.first
    }
    /// Return the domain of the second parts.
    pub fn second(&self) -> &B {
        &self.second
    }
}
impl<A: Atom, B: Atom> Domain for PairDomain<AtomDomain<A>, AtomDomain<B>> {
    type Carrier = (A, B);
    fn member(&self, value: &(A, B)) -> bool {
        self.first.member(&value.0) && self.second.member(&value.1)
    }
    fn to_json(&self) -> Json {
        let (first, second) = (self.first.to_json(), self.second.to_json());
        descriptor("pair_domain", [("domain_0", Some(first)), ("domain_1", Some(second))])
    }
}
named!(PairDomain<A, B> as "PairDomain");

/// Make the set of all pairs whose parts are in two given domains.
///
/// # Arguments
/// * `domain_0` - the domain of the first parts
/// * `domain_1` - the domain of the second parts
///
/// # Errors
/// None in a Rust program. In a document, a domain that cannot be read is an error that names the
/// argument.
pub fn pair_domain<A: Atom, B: Atom>(
    domain_0: TheDomain<AtomDomain<A>>,
    domain_1: TheDomain<AtomDomain<B>>,
) -> Result<TheDomain<PairDomain<AtomDomain<A>, AtomDomain<B>>>> {
    Ok(TheDomain(PairDomain::new(domain_0.0, domain_1.0)))
}

register! { "pair.rs": pair_domain(domain_0, domain_1) for A in [f32], B in [f32]; }
register! { "pair.rs": pair_domain(domain_0, domain_1) for A in [f64], B in [f64]; }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VectorDomain;

    #[test]
    fn decides_membership_by_both_parts() {
        let pairs = PairDomain::new(AtomDomain::<f64>::non_nan(), AtomDomain::<f64>::default());
        assert!(pairs.member(&(0.0, f64::NAN)) && !pairs.member(&(f64::NAN, 0.0)));
        let rows = VectorDomain::new(pairs).with_size(1);
        assert!(rows.member(&vec![(1.0, 2.0)]) && !rows.member(&vec![]));
        assert_eq!(
            rows.to_json()["vector_domain"]["atom_domain"]["pair_domain"]["domain_0"]["atom_domain"]
                ["nan"],
            false
        );
    }
}
