//! Texts that are in memory one after the other, as in Arrow. The bytes of a text lie between two
//! offsets. So no Python object and no allocation is needed for each text.

use std::mem;
use std::ops::Range;

use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use opendp_core::Result;
use opendp_core::erased::{AnyDomain, AnyFunction, AnyValue};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::{Piece, Rows, fold};
use crate::callbacks::unless_stopped;
use crate::errors::detached;

/// A piece of a column in Python: the offsets of its texts, the bytes of its texts, and a byte for
/// each text, which is 0 if the text is null. There is one offset more than texts. If no text is
/// null, the last part is `None`.
pub(crate) type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// Run a function on a column of texts, which consists of pieces. If the column is not a member of
/// the domain, return an error. Return `None` if the pieces are not arrays of offsets and bytes, or
/// if a text is null.
pub(crate) fn run(
    pieces: &[Parts<'_>],
    function: &AnyFunction,
    domain: &AnyDomain,
    py: Python<'_>,
) -> Option<PyResult<AnyValue>> {
    if pieces.iter().any(|(_, _, present)| present.is_some()) {
        return None;
    }
    let arrays = arrays(pieces)?;
    let rows = rows(&arrays)?;
    Some(detached(py, || fold::<_, String>(&rows, function, domain)))
}
/// Copy the texts of a column. A text that is null becomes `None`. See [`run`].
pub(crate) fn collect(pieces: &[Parts<'_>]) -> Option<Vec<Option<String>>> {
    let arrays = arrays(pieces)?;
    let rows = rows(&arrays)?;
    let mut texts = vec![String::new(); rows.len()];
    rows.fill(0..rows.len(), &mut texts)?;
    let mut texts: Vec<_> = texts.into_iter().map(Some).collect();
    let mut start = 0;
    for ((end, _), (_, _, present)) in rows.pieces.iter().zip(&arrays) {
        let texts = texts.get_mut(mem::replace(&mut start, *end)..*end)?;
        if let Some(present) = present {
            let present = present.as_slice().ok().filter(|bytes| bytes.len() == texts.len())?;
            for (text, _) in texts.iter_mut().zip(present).filter(|(_, present)| **present == 0) {
                *text = None;
            }
        }
    }
    Some(texts)
}
/// Copy the texts of an object of the Python class `Texts`. `None` means that the value is another
/// one, such as a list of cells.
///
/// # Errors
/// The error of [`unless_stopped`].
pub(crate) fn in_memory(value: &Bound<'_, PyAny>) -> Result<Option<Vec<Option<String>>>> {
    let parts = || value.getattr("parts")?.extract::<Vec<Parts<'_>>>();
    Ok(unless_stopped(value.py(), parts())?.and_then(|parts| collect(&parts)))
}
type Bytes<'py> = PyReadonlyArray1<'py, u8>;
type Arrays<'py> = Vec<(Offsets<'py>, Bytes<'py>, Option<Bytes<'py>>)>;

fn arrays<'py>(pieces: &[Parts<'py>]) -> Option<Arrays<'py>> {
    let array_of = |(offsets, bytes, present): &Parts<'py>| {
        let present = match present {
            None => None,
            Some(present) => Some(array(present)?),
        };
        Some((Offsets::of(offsets)?, array(bytes)?, present))
    };
    pieces.iter().map(array_of).collect()
}
fn rows<'a>(arrays: &'a Arrays<'_>) -> Option<Rows<Texts<'a>>> {
    let mut columns = Vec::with_capacity(arrays.len());
    for (offsets, bytes, _) in arrays {
        columns.push(Texts { offsets: offsets.slice()?, bytes: bytes.as_slice().ok()? });
    }
    Some(Rows::new::<String>(columns.into_iter()))
}
/// Run a function on a list of texts. Return `None` if an item of the list is not a text.
pub(crate) fn run_list(
    list: &Bound<'_, PyList>,
    function: &AnyFunction,
    domain: &AnyDomain,
) -> Option<PyResult<AnyValue>> {
    // Another thread can change the list, so its length is not relied on.
    let mut offsets = Vec::with_capacity(list.len() + 1);
    let mut bytes = Vec::new();
    offsets.push(0);
    for item in list.iter() {
        bytes.extend_from_slice(item.cast::<PyString>().ok()?.to_str().ok()?.as_bytes());
        offsets.push(i64::try_from(bytes.len()).ok()?);
    }
    let texts = Texts { offsets: Slice::Wide(&offsets), bytes: &bytes };
    let rows = Rows::new::<String>([texts].into_iter());
    Some(detached(list.py(), || fold::<_, String>(&rows, function, domain)))
}
fn array<'py, T: Element>(value: &Bound<'py, PyAny>) -> Option<PyReadonlyArray1<'py, T>> {
    value.cast::<PyArray1<T>>().ok()?.try_readonly().ok()
}

/// The offsets of a piece. Arrow has offsets of 32 and of 64 bits.
enum Offsets<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}
impl<'py> Offsets<'py> {
    fn of(value: &Bound<'py, PyAny>) -> Option<Self> {
        array(value).map(Offsets::Narrow).or_else(|| array(value).map(Offsets::Wide))
    }
    fn slice(&self) -> Option<Slice<'_>> {
        Some(match self {
            Offsets::Narrow(offsets) => Slice::Narrow(offsets.as_slice().ok()?),
            Offsets::Wide(offsets) => Slice::Wide(offsets.as_slice().ok()?),
        })
    }
}
/// See [`Offsets`].
#[derive(Clone, Copy)]
enum Slice<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}
/// The texts of an array.
#[derive(Clone, Copy)]
struct Texts<'a> {
    offsets: Slice<'a>,
    bytes: &'a [u8],
}
impl Piece<String> for Texts<'_> {
    fn len(&self) -> usize {
        let offsets = match self.offsets {
            Slice::Narrow(offsets) => offsets.len(),
            Slice::Wide(offsets) => offsets.len(),
        };
        offsets.saturating_sub(1)
    }
    /// Copy a range of texts. `None` means that a text is not Unicode, or that its offsets are
    /// wrong.
    fn fill(&self, range: Range<usize>, into: &mut [String]) -> Option<bool> {
        match self.offsets {
            Slice::Narrow(offsets) => copy(offsets.get(range.start..=range.end)?, self.bytes, into),
            Slice::Wide(offsets) => copy(offsets.get(range.start..=range.end)?, self.bytes, into),
        }
    }
}
fn copy<O: Copy + TryInto<usize>>(
    offsets: &[O],
    bytes: &[u8],
    into: &mut [String],
) -> Option<bool> {
    let (first, rest) = offsets.split_first()?;
    let mut start = (*first).try_into().ok()?;
    for (end, text) in rest.iter().zip(into) {
        let end = (*end).try_into().ok()?;
        // Keep the memory of the earlier text. Copy first, and check the copied bytes, because
        // another thread can change the bytes of the column.
        let mut copied = mem::take(text).into_bytes();
        copied.clear();
        copied.extend_from_slice(bytes.get(start..end)?);
        *text = String::from_utf8(copied).ok()?;
        start = end;
    }
    Some(false)
}
