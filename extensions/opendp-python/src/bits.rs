//! Converts Python values to vectors of bits.

use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{BitVector, BitVectorDomain};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

use crate::json;
use crate::values::Cell as _;

/// The advice for values that are not vectors of bits of the domain. The advice depends only on the
/// domain.
pub(crate) fn advice(domain: &AnyDomain) -> &'static str {
    match size(domain) {
        Some(_) => {
            "; pass a text such as \"0011\", a list of booleans, a list of the integers 0 and 1, or \
             packed bits: bytes, or an array of numpy with the type uint8; `numpy.packbits(bits, \
             bitorder=\"little\")` packs bits; the unused bits of the last byte must be 0"
        }
        None => {
            "; pass a text such as \"0011\" or a list of booleans; if you state the `size` of the \
             domain, you can also pass the integers 0 and 1, or packed bits"
        }
    }
}
fn size(domain: &AnyDomain) -> Option<usize> {
    domain.downcast_ref::<BitVectorDomain>().ok()?.size()
}

/// Convert a value to a vector of bits. `None` means that the value is not a vector of bits of the
/// domain.
///
/// A text or a list of booleans is a vector in every domain. The other forms need a domain with a
/// size, so that each value has only one meaning:
/// * as many integers 0 and 1 as the vector has bits
/// * packed bits: `ceil(size / 8)` bytes, or as many items in an array of numpy with the type
///   `uint8`. The first bit is the least significant bit of the first byte. The unused bits of the
///   last byte are 0.
///
/// If the size is 1, an array with the item 0 or 1 has the same meaning in both forms.
pub(crate) fn vector(value: &Bound<'_, PyAny>, domain: &AnyDomain) -> Option<AnyValue> {
    let size = size(domain);
    let bits = match size.and_then(|size| packed(value, size)) {
        Some(bytes) => unpacked(&bytes, size?)?,
        None => match size.and_then(|size| integers(value, size)) {
            Some(bits) => bits,
            None => return domain.decode(&json::from_python(value).ok()?).ok(),
        },
    };
    Some(AnyValue::new(bits))
}
/// Return the bytes of a value that has as many bytes as packed bits need.
fn packed(value: &Bound<'_, PyAny>, size: usize) -> Option<Vec<u8>> {
    let bytes = if let Ok(bytes) = value.cast::<PyBytes>() {
        bytes.as_bytes().to_vec()
    } else if let Ok(bytes) = value.cast::<PyByteArray>() {
        bytes.to_vec()
    } else {
        let dimensions: usize = value.getattr("ndim").ok()?.extract().ok()?;
        let cells: String = value.getattr("dtype").ok()?.getattr("name").ok()?.extract().ok()?;
        if dimensions != 1 || cells != "uint8" {
            return None;
        }
        value.call_method0("tolist").ok()?.extract::<Vec<u8>>().ok()?
    };
    (bytes.len() == size.div_ceil(8)).then_some(bytes)
}
fn unpacked(bytes: &[u8], size: usize) -> Option<BitVector> {
    let whole = BitVector::from_bytes(bytes);
    let unused_are_zero = whole.iter().skip(size).all(|bit| !bit);
    unused_are_zero.then(|| whole.iter().take(size).collect())
}
/// Convert exactly `size` integers 0 and 1.
fn integers(value: &Bound<'_, PyAny>, size: usize) -> Option<BitVector> {
    if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
        return None;
    }
    // An iterator has no length, so nothing consumes the items of an iterator here.
    if value.len().ok()? != size {
        return None;
    }
    let bit = |item: u8| if item <= 1 { Some(item == 1) } else { None };
    Vec::<u8>::from_python(value)?.into_iter().map(bit).collect()
}
