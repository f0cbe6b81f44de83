//! Vectors of members of another domain.

use serde_json::{Value as Json, json};

use crate::domain::descriptor;
use crate::{AtomDomain, Domain, IBig, OptionDomain, PairDomain, Result, TheDomain, named};

/// The set of all vectors whose elements are members of `D`. The length can be known.
///
/// An example in a pipeline document is `{"vector_domain": {"atom_domain": {...}, "size": 1000}}`.
///
/// ```
/// # use opendp_core::{AtomDomain, Domain, VectorDomain};
/// let pairs = VectorDomain::new(AtomDomain::<i32>::default()).with_size(2);
/// assert!(pairs.member(&vec![1, 2]) && !pairs.member(&vec![1, 2, 3]));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorDomain<D> {
    element: D,
    size: Option<usize>,
}
impl<D> VectorDomain<D> {
    /// Make the set of vectors of any length.
    pub fn new(element: D) -> Self {
        VectorDomain { element, size: None }
    }
    /// Keep only the vectors of length `size`.
    #[must_use]
    pub fn with_size(self, size: usize) -> Self {
        VectorDomain { size: Some(size), ..self }
    }
    /// Allow vectors of any length.
    #[must_use]
    pub fn without_size(self) -> Self {
        VectorDomain { size: None, ..self }
    }
    /// Return the domain of each element.
    pub fn element(&self) -> &D {
        &self.element
    }
    /// Return the length, if it is known.
    pub fn size(&self) -> Option<usize> {
        self.size
    }
    /// Keep the length and replace the domain of the elements.
    pub fn with_element<E>(&self, element: E) -> VectorDomain<E> {
        VectorDomain { element, size: self.size }
    }
}

impl<D: Domain> Domain for VectorDomain<D> {
    type Carrier = Vec<D::Carrier>;
    fn member(&self, value: &Vec<D::Carrier>) -> bool {
        self.size.is_none_or(|size| size == value.len())
            && value.iter().all(|element| self.element.member(element))
    }
    fn records(&self) -> Option<usize> {
        self.size
    }
    fn with_records(&self, records: usize) -> Option<Self> {
        Some(self.clone().with_size(records))
    }
    fn recombines(&self) -> bool {
        true
    }
    fn to_json(&self) -> Json {
        // In pipeline documents, the argument for the domain of the elements is always called
        // `atom_domain`. A domain of atoms is written as `{"atom_domain": arguments}`. If the
        // elements are atoms, the value of the argument is only `arguments`.
        let element = self.element.to_json();
        let inner = element.get("atom_domain").cloned().unwrap_or(element);
        descriptor(
            "vector_domain",
            [("atom_domain", Some(inner)), ("size", self.size.map(|size| json!(size)))],
        )
    }
    fn read_cells(&self, cells: &[&str]) -> Option<Result<Self::Carrier>> {
        let mut rows = Vec::with_capacity(cells.len());
        for cell in cells {
            match self.element.read_cells(&[cell])? {
                Ok(row) => rows.push(row),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(rows))
    }
}
named!(VectorDomain<D> as "VectorDomain");

/// Make the set of all vectors whose elements are members of another domain.
///
/// # Arguments
/// * `atom_domain` - the domain of each element
/// * `size` - the length of every vector, if it is public; without it, any length is allowed
///
/// # Errors
/// None in a Rust program. In a document, an element domain that cannot be read is an error that
/// names the argument.
pub fn vector_domain<D: Domain>(
    atom_domain: TheDomain<D>,
    size: Option<usize>,
) -> Result<TheDomain<VectorDomain<D>>> {
    Ok(TheDomain(VectorDomain { element: atom_domain.0, size }))
}

register! {
    "vector.rs": vector_domain(atom_domain, size = null)
        for D in [
            AtomDomain<i8>, AtomDomain<i16>, AtomDomain<i32>, AtomDomain<i64>, AtomDomain<i128>,
            AtomDomain<isize>, AtomDomain<u8>, AtomDomain<u16>, AtomDomain<u32>, AtomDomain<u64>,
            AtomDomain<u128>, AtomDomain<usize>, AtomDomain<f32>, AtomDomain<f64>,
            AtomDomain<IBig>, AtomDomain<bool>, AtomDomain<String>,
            OptionDomain<AtomDomain<i32>>, OptionDomain<AtomDomain<i64>>,
            OptionDomain<AtomDomain<u32>>, OptionDomain<AtomDomain<u64>>,
            OptionDomain<AtomDomain<usize>>, OptionDomain<AtomDomain<f32>>,
            OptionDomain<AtomDomain<f64>>, OptionDomain<AtomDomain<bool>>,
            OptionDomain<AtomDomain<String>>, VectorDomain<AtomDomain<String>>,
            PairDomain<AtomDomain<f32>, AtomDomain<f32>>,
            PairDomain<AtomDomain<f64>, AtomDomain<f64>>,
        ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;

    #[test]
    fn decides_membership_by_elements_and_length() {
        let domain = VectorDomain::new(AtomDomain::bounded(Bounds::new(0, 9).unwrap()));
        assert!(domain.member(&vec![]) && domain.member(&vec![0, 9]));
        assert!(!domain.member(&vec![0, 10]));
        assert!(!domain.with_size(1).member(&vec![]));
    }
    #[test]
    fn compares_descriptors() {
        let domain = VectorDomain::new(AtomDomain::<i32>::default());
        assert_ne!(domain.clone().with_size(3), domain);
        assert_eq!(domain.clone().with_size(3).without_size(), domain);
    }
    #[test]
    fn keeps_the_number_of_rows_whatever_the_cells_say() {
        let domain = VectorDomain::new(OptionDomain::new(AtomDomain::<i32>::default()));
        let rows = domain.read_cells(&["1", "", "x"]).unwrap().unwrap();
        assert_eq!(rows, [Some(1), None, None]);
    }
}
