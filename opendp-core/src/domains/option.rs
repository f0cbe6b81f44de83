//! Sets of values that can be missing.

use serde_json::Value as Json;

use crate::domain::descriptor;
use crate::{Atom, AtomDomain, Domain, Result, TheDomain, named};

/// The set of all members of `D`, and the missing value.
///
/// ```
/// # use opendp_core::{AtomDomain, Domain, OptionDomain};
/// assert!(OptionDomain::new(AtomDomain::<i32>::default()).member(&None));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptionDomain<D> {
    element: D,
}
impl<D> OptionDomain<D> {
    /// Add the missing value to a domain.
    pub fn new(element: D) -> Self {
        OptionDomain { element }
    }
    /// Return the domain of the values that are not missing.
    pub fn element(&self) -> &D {
        &self.element
    }
}
impl<T: Atom> OptionDomain<AtomDomain<T>> {
    /// Convert any external value to a member. A value that is not a member of the inner domain
    /// becomes missing.
    pub fn admit(&self, value: Option<T>) -> Option<T> {
        value.filter(|value| self.element.member(value))
    }
}
impl<T: Atom> Domain for OptionDomain<AtomDomain<T>> {
    type Carrier = Option<T>;
    fn member(&self, value: &Option<T>) -> bool {
        value.as_ref().is_none_or(|value| self.element.member(value))
    }
    fn to_json(&self) -> Json {
        descriptor("option_domain", [("element_domain", Some(self.element.to_json()))])
    }
    fn read_cells(&self, cells: &[&str]) -> Option<Result<Option<T>>> {
        let [cell] = cells else { return None };
        Some(Ok(self.admit(T::from_cell(cell.trim()))))
    }
}
named!(OptionDomain<D> as "OptionDomain");

/// Add the missing value to a domain.
///
/// # Arguments
/// * `element_domain` - the domain of the values that are not missing
///
/// # Errors
/// None in a Rust program. In a document, an element domain that cannot be read is an error that
/// names the argument.
pub fn option_domain<T: Atom>(
    element_domain: TheDomain<AtomDomain<T>>,
) -> Result<TheDomain<OptionDomain<AtomDomain<T>>>> {
    Ok(TheDomain(OptionDomain::new(element_domain.0)))
}

register! {
    "option.rs": option_domain(element_domain)
        for T in [i32, i64, u32, u64, usize, f32, f64, bool, String];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admits_the_missing_value_and_members() {
        let domain = OptionDomain::new(AtomDomain::<f64>::non_nan());
        assert!(domain.member(&None) && domain.member(&Some(1.0)));
        assert!(!domain.member(&Some(f64::NAN)));
        assert_eq!(domain.read_cells(&["NaN"]).unwrap().unwrap(), None);
    }
}
