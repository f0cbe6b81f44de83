//! Texts that are in memory one after the other, as in Arrow. The bytes of a text lie between two
//! offsets. So no Python object and no allocation is needed for each text.

use std::mem;
use std::ops::Range;
use std::slice;

use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use opendp_core::Result;
use opendp_core::erased::{AnyDomain, AnyFunction, AnyValue};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::{Piece, Rows, fold};
use crate::callbacks::unless_stopped;
use crate::errors::detached;

/// A piece of a column in Python: the offsets of its texts, the bytes of its texts, a byte for each
/// row, which is 0 if the text of the row is null, and the codes of the rows. There is one offset
/// more than texts. The code of a row is the number of its text, such as the number of a category.
/// If no row is null, the third part is `None`. If the codes are `None`, each row has its own text.
pub(crate) type Parts<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Run a function on a column of texts, which consists of pieces. If the column is not a member of
/// the domain, return an error. Return `None` if the pieces are not arrays of offsets and bytes, or
/// if a text is null.
pub(crate) fn run(
    pieces: &[Parts<'_>],
    function: &AnyFunction,
    domain: &AnyDomain,
    py: Python<'_>,
) -> Option<PyResult<AnyValue>> {
    if pieces.iter().any(|(_, _, present, _)| present.is_some()) {
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
    for ((end, _), (_, _, present, _)) in rows.pieces.iter().zip(&arrays) {
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
type Codes<'py> = PyReadonlyArray1<'py, u32>;
type Arrays<'py> = Vec<(Offsets<'py>, Bytes<'py>, Option<Bytes<'py>>, Option<Codes<'py>>)>;

fn arrays<'py>(pieces: &[Parts<'py>]) -> Option<Arrays<'py>> {
    let array_of = |(offsets, bytes, present, codes): &Parts<'py>| {
        let present = match present {
            None => None,
            Some(present) => Some(array(present)?),
        };
        let codes = match codes {
            None => None,
            Some(codes) => Some(array(codes)?),
        };
        Some((Offsets::of(offsets)?, array(bytes)?, present, codes))
    };
    pieces.iter().map(array_of).collect()
}
fn rows<'a>(arrays: &'a Arrays<'_>) -> Option<Rows<Texts<'a>>> {
    let mut columns = Vec::with_capacity(arrays.len());
    for (offsets, bytes, _, codes) in arrays {
        let codes = match codes {
            None => None,
            Some(codes) => Some(codes.as_slice().ok()?),
        };
        columns.push(Texts { offsets: offsets.slice()?, bytes: bytes.as_slice().ok()?, codes });
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
    let texts = Texts { offsets: Slice::Wide(&offsets), bytes: &bytes, codes: None };
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
impl Slice<'_> {
    fn len(&self) -> usize {
        match self {
            Slice::Narrow(offsets) => offsets.len(),
            Slice::Wide(offsets) => offsets.len(),
        }
    }
    /// Copy the texts with numbers in a range. See [`Texts::fill`].
    fn copy(&self, range: Range<usize>, bytes: &[u8], into: &mut [String]) -> Option<bool> {
        match self {
            Slice::Narrow(offsets) => copy(offsets.get(range.start..=range.end)?, bytes, into),
            Slice::Wide(offsets) => copy(offsets.get(range.start..=range.end)?, bytes, into),
        }
    }
}
/// The texts of an array. With codes, a row has the text whose number is its code.
#[derive(Clone, Copy)]
struct Texts<'a> {
    offsets: Slice<'a>,
    bytes: &'a [u8],
    codes: Option<&'a [u32]>,
}
impl Piece<String> for Texts<'_> {
    fn len(&self) -> usize {
        self.codes.map_or_else(|| self.offsets.len().saturating_sub(1), <[u32]>::len)
    }
    /// Copy a range of texts. `None` means that a text is not Unicode, that its offsets are wrong,
    /// or that a code is not the number of a text.
    fn fill(&self, range: Range<usize>, into: &mut [String]) -> Option<bool> {
        let Some(codes) = self.codes else { return self.offsets.copy(range, self.bytes, into) };
        for (code, text) in codes.get(range)?.iter().zip(into) {
            let code = usize::try_from(*code).ok()?;
            self.offsets.copy(code..code.checked_add(1)?, self.bytes, slice::from_mut(text))?;
        }
        Some(false)
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
