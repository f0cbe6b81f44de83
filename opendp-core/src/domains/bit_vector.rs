//! Sets of vectors of bits.

use serde_json::{Value as Json, json};

use crate::domain::descriptor;
use crate::{BitVector, Domain, Result, TheDomain, named};

/// The set of all vectors of bits. The domain can state the length, and limit the number of ones.
///
/// An example in a pipeline document is `{"bitvector_domain": {"max_weight": 4, "size": 24}}`. If a
/// release has the same number of bits as its input, the release reveals the length of the input.
/// So the mechanisms for vectors of bits require a public length.
///
/// ```
/// # use opendp_core::{BitVector, BitVectorDomain, Domain};
/// let domain = BitVectorDomain::new().with_max_weight(1).with_size(3);
/// assert!(domain.member(&BitVector::zeros(3)) && !domain.member(&BitVector::zeros(4)));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BitVectorDomain {
    max_weight: Option<usize>,
    size: Option<usize>,
}
impl BitVectorDomain {
    /// Make the set of all vectors of bits.
    pub fn new() -> Self {
        BitVectorDomain::default()
    }
    /// Keep only the vectors with at most `max_weight` ones.
    #[must_use]
    pub fn with_max_weight(self, max_weight: usize) -> Self {
        BitVectorDomain { max_weight: Some(max_weight), ..self }
    }
    /// Keep only the vectors of length `size`.
    #[must_use]
    pub fn with_size(self, size: usize) -> Self {
        BitVectorDomain { size: Some(size), ..self }
    }
    /// Return the largest number of ones, if there is a limit.
    pub fn max_weight(&self) -> Option<usize> {
        self.max_weight
    }
    /// Return the length, if it is known.
    pub fn size(&self) -> Option<usize> {
        self.size
    }
}

impl Domain for BitVectorDomain {
    type Carrier = BitVector;
    fn member(&self, value: &BitVector) -> bool {
        self.size.is_none_or(|size| size == value.len())
            && self.max_weight.is_none_or(|limit| value.count_ones() <= limit)
    }
    fn to_json(&self) -> Json {
        descriptor(
            "bitvector_domain",
            [
                ("max_weight", self.max_weight.map(|limit| json!(limit))),
                ("size", self.size.map(|size| json!(size))),
            ],
        )
    }
}
named!(BitVectorDomain as "BitVectorDomain");

/// Make the set of all vectors of bits.
///
/// # Arguments
/// * `max_weight` - the largest number of ones; without it, any number is allowed
/// * `size` - the length of every vector, if it is public; without it, any length is allowed
pub fn bitvector_domain(
    max_weight: Option<usize>,
    size: Option<usize>,
) -> Result<TheDomain<BitVectorDomain>> {
    Ok(TheDomain(BitVectorDomain { max_weight, size }))
}

register! { "bit_vector.rs": bitvector_domain(max_weight = null, size = null); }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decides_membership_by_weight_and_length() {
        let bits = |text: &str| text.bytes().map(|digit| digit == b'1').collect::<BitVector>();
        let any = BitVectorDomain::new();
        assert!(any.member(&bits("")) && any.member(&bits("111")));
        let light = any.with_max_weight(2);
        assert!(light.member(&bits("01010")) && !light.member(&bits("111")));
        let short = light.with_size(3);
        assert!(short.member(&bits("110")) && !short.member(&bits("1100")));
        assert_eq!((short.max_weight(), short.size()), (Some(2), Some(3)));
    }
    #[test]
    fn is_written_with_what_is_known() {
        assert_eq!(BitVectorDomain::new().to_json(), json!("bitvector_domain"));
        let domain = BitVectorDomain::new().with_max_weight(4);
        assert_eq!(domain.to_json(), json!({"bitvector_domain": {"max_weight": 4}}));
        let domain = domain.with_size(24);
        assert_eq!(domain.to_json(), json!({"bitvector_domain": {"max_weight": 4, "size": 24}}));
    }
}
