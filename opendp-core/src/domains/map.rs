//! Maps from keys to values.

use std::collections::HashMap;

use serde_json::Value as Json;

use crate::domain::descriptor;
use crate::{Atom, AtomDomain, Domain, HashableAtom, Result, TheDomain, named};

/// The set of all maps whose keys are members of `K` and whose values are members of `V`.
///
/// ```
/// # use std::collections::HashMap;
/// # use opendp_core::{AtomDomain, Bounds, Domain, MapDomain};
/// let counts = MapDomain::new(
///     AtomDomain::<String>::default(),
///     AtomDomain::bounded(Bounds::new(0, 9)?),
/// );
/// assert!(!counts.member(&HashMap::from([("a".to_owned(), 10)])));
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapDomain<K, V> {
    key: K,
    value: V,
}
impl<K, V> MapDomain<K, V> {
    /// Make the set of maps with keys in `key` and values in `value`.
    pub fn new(key: K, value: V) -> Self {
        MapDomain { key, value }
    }
    /// Return the domain of the keys.
    pub fn key(&self) -> &K {
        &self.key
    }
    /// Return the domain of the values.
    pub fn value(&self) -> &V {
        &self.value
    }
}
impl<K: HashableAtom, V: Atom> Domain for MapDomain<AtomDomain<K>, AtomDomain<V>> {
    type Carrier = HashMap<K, V>;
    fn member(&self, value: &HashMap<K, V>) -> bool {
        for (k, v) in value {
            if !(self.key.member(k) && self.value.member(v)) {
                return false;
            }
        }
        true
    }
    fn to_json(&self) -> Json {
        descriptor(
            "map_domain",
            [
                ("key_domain", Some(self.key.to_json())),
                ("value_domain", Some(self.value.to_json())),
            ],
        )
    }
}
named!(MapDomain<K, V> as "MapDomain");

/// Make the set of all maps with keys in one domain and values in another domain.
///
/// # Arguments
/// * `key_domain` - the domain of the keys
/// * `value_domain` - the domain of the values
///
/// # Errors
/// None in a Rust program. In a document, a domain that cannot be read is an error that names the
/// argument.
pub fn map_domain<K: HashableAtom, V: Atom>(
    key_domain: TheDomain<AtomDomain<K>>,
    value_domain: TheDomain<AtomDomain<V>>,
) -> Result<TheDomain<MapDomain<AtomDomain<K>, AtomDomain<V>>>> {
    Ok(TheDomain(MapDomain::new(key_domain.0, value_domain.0)))
}

register! {
    "map.rs": map_domain(key_domain, value_domain)
        for K in [bool, i32, i64, u32, u64, usize, String],
            V in [i32, i64, u32, u64, usize, f32, f64];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;

    #[test]
    fn decides_membership_by_keys_and_values() {
        let keys = AtomDomain::bounded(Bounds::new(0, 9).unwrap());
        let domain = MapDomain::new(keys, AtomDomain::<f64>::non_nan());
        assert!(domain.member(&HashMap::from([(0, 1.0)])));
        assert!(!domain.member(&HashMap::from([(10, 1.0)])));
        assert!(!domain.member(&HashMap::from([(0, f64::NAN)])));
    }
}
