//! Converts Python values to vectors of bits.

use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{BitVector, BitVectorDomain, Result};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

use crate::callbacks::unless_stopped;
use crate::values::{self, Cell as _};

/// The advice for values that are not vectors of bits of the domain. The advice depends only on the
/// domain.
pub(crate) fn advice(domain: &AnyDomain) -> &'static str {
    match size(domain) {
        Some(_) => {
            "; pass a text such as \"0011\", a list of booleans, a list of the integers 0 and 1, or \
             packed bits: bytes, or an array of numpy with the type uint8; the first bit is the \
             lowest bit of its byte, as in `numpy.packbits(bits, bitorder=\"little\")`; unpack \
             other packed bits with `numpy.unpackbits`; the unused bits of the last byte must be 0"
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
///
/// # Errors
/// The error of [`unless_stopped`].
pub(crate) fn vector(value: &Bound<'_, PyAny>, domain: &AnyDomain) -> Result<Option<AnyValue>> {
    let Some(size) = size(domain) else { return values::decoded(value, domain) };
    if let Some(bytes) = packed(value, size)? {
        return Ok(unpacked(&bytes, size).map(AnyValue::new));
    }
    match integers(value, size)? {
        Some(bits) => Ok(Some(AnyValue::new(bits))),
        None => values::decoded(value, domain),
    }
}
/// Return the bytes of a value that has as many bytes as packed bits need.
fn packed(value: &Bound<'_, PyAny>, size: usize) -> Result<Option<Vec<u8>>> {
    let read = || {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Some(bytes.as_bytes().to_vec()));
        }
        if let Ok(bytes) = value.cast::<PyByteArray>() {
            return Ok(Some(bytes.to_vec()));
        }
        let dimensions: usize = value.getattr("ndim")?.extract()?;
        let cells: String = value.getattr("dtype")?.getattr("name")?.extract()?;
        if dimensions != 1 || cells != "uint8" {
            return Ok(None);
        }
        value.call_method0("tolist")?.extract().map(Some)
    };
    let bytes = unless_stopped(value.py(), read())?.flatten();
    Ok(bytes.filter(|bytes| bytes.len() == size.div_ceil(8)))
}
fn unpacked(bytes: &[u8], size: usize) -> Option<BitVector> {
    let whole = BitVector::from_bytes(bytes);
    let unused_are_zero = whole.iter().skip(size).all(|bit| !bit);
    unused_are_zero.then(|| whole.iter().take(size).collect())
}
/// Convert exactly `size` integers 0 and 1.
fn integers(value: &Bound<'_, PyAny>, size: usize) -> Result<Option<BitVector>> {
    if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
        return Ok(None);
    }
    // An iterator has no length, so nothing consumes the items of an iterator here.
    if unless_stopped(value.py(), value.len())? != Some(size) {
        return Ok(None);
    }
    let bit = |item: u8| if item <= 1 { Some(item == 1) } else { None };
    let items = Vec::<u8>::from_python(value)?;
    Ok(items.and_then(|items| items.into_iter().map(bit).collect()))
}
