//! Runs functions on columns: arrays of numpy, and texts in memory (`columns/texts.rs`). If a
//! function accepts rows in chunks, the column is not copied as a whole. But a domain can state a
//! condition on all rows together. Then each chunk of a column can be a member although the column
//! is not. So the column is copied as a whole.
//!
//! As in Arrow, a column can consist of several arrays, which are called pieces. If a function
//! accepts rows in chunks, the pieces are not joined first. Pieces whose rows are aligned are read
//! in place.
//!
//! If a function accepts chunks, rows are copied in chunks that fit the cache. Each row is copied
//! from its piece only once. Another thread can change a row during the run. The release still uses
//! only the copied value of the row, and this value was checked.

mod convert;
pub(crate) mod texts;

use std::borrow::Cow;
use std::mem;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use numpy::ndarray::{ArrayView1, Axis};
use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use opendp_core::erased::{AnyDomain, AnyFunction, AnyValue};
use opendp_core::{Atom, AtomDomain, Carrier, Domain, Error, Result, VectorDomain, with_threads};
use pyo3::prelude::*;
use rayon::prelude::*;

use convert::{Convert, fill};

use crate::errors::detached;
use crate::values::outside;

/// The number of rows that are converted at once. Rows of 8 bytes then take about a fifth of the
/// first-level cache of a core. So the rows are still in the cache when they are read again. Nine
/// numbers of rows from 384 to 2,048 were measured, and this number took the least time.
const ROWS: usize = 768;
/// The rows of a column are divided into parts, and a thread takes one part at a time. This
/// constant is the largest number of rows in a part. The constant is an odd multiple of `ROWS`, so
/// that the two halves of a part begin at different offsets in their pages of memory.
const PART_ROWS: usize = 213 * ROWS;
/// Arrays of at least this many rows are divided among all cores.
const PARALLEL_ROWS: usize = 1 << 17;

/// Run a function on a column of numbers or booleans. The column is an array with one dimension, or
/// several such arrays. If the column is not a member of the domain, return an error. Return `None`
/// if `pieces` are not such arrays, or if numbers of their type cannot be converted to rows of the
/// domain.
pub(crate) fn run(
    pieces: &[Bound<'_, PyAny>],
    function: &AnyFunction,
    domain: &AnyDomain,
) -> Option<PyResult<AnyValue>> {
    let carrier = domain.carrier();
    if carrier.head() != "Vec" {
        return None;
    }
    let row = carrier.args().first()?.to_string();
    let mut arrays = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match placed(piece.cast::<PyUntypedArray>().ok()?) {
            Ok(array) => arrays.push(array),
            Err(error) => return Some(Err(error)),
        }
    }
    let first = arrays.first()?;
    if first.cast::<PyArray1<bool>>().is_ok() {
        return match row.as_str() {
            "bool" => match bytes(&arrays)? {
                Ok(bytes) => on::<u8, bool>(&bytes, function, domain),
                Err(error) => Some(Err(error)),
            },
            _ => None,
        };
    }
    macro_rules! pairs {
        ($($s:ident: $($t:ident)*;)*) => {$(
            if first.cast::<PyArray1<$s>>().is_ok() {
                return match row.as_str() {
                    $(stringify!($t) => on::<$s, $t>(&arrays, function, domain),)*
                    _ => None,
                };
            }
        )*};
    }
    pairs! {
        f64: f64 f32;
        f32: f64 f32;
        i64: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64;
        i32: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64;
        i16: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64;
        i8: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64;
        u64: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64;
        u32: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64;
        u16: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64;
        u8: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64;
    }
    None
}
/// Return an array whose rows are aligned for the type of their numbers. If a table has no padding
/// between its cells, the rows of its columns are not always aligned. If the rows of the array are
/// not aligned, return a copy of the array.
fn placed<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
    let size = array.dtype().itemsize().max(1);
    let whole_steps = array.strides().iter().all(|stride| stride.unsigned_abs() % size == 0);
    if array.is_aligned() && whole_steps {
        return Ok(array.as_any().clone());
    }
    array.call_method0("copy")
}
/// Return the bytes of arrays of booleans, without a copy. An array of numpy can contain booleans
/// whose byte is neither 0 nor 1, for example if it was made from a buffer. Rust has no such
/// booleans. Return `None` if an array does not contain booleans.
fn bytes<'py>(arrays: &[Bound<'py, PyAny>]) -> Option<PyResult<Vec<Bound<'py, PyAny>>>> {
    arrays.iter().try_for_each(|array| array.cast::<PyArray1<bool>>().map(|_| ())).ok()?;
    Some(arrays.iter().map(|array| array.call_method1("view", ("u1",))).collect())
}
fn on<S, T>(
    arrays: &[Bound<'_, PyAny>],
    function: &AnyFunction,
    domain: &AnyDomain,
) -> Option<PyResult<AnyValue>>
where
    S: Element + Copy + Send + Sync,
    T: Convert<S> + Atom,
    Vec<T>: Carrier,
{
    let mut columns: Vec<PyReadonlyArray1<'_, S>> = Vec::with_capacity(arrays.len());
    for array in arrays {
        match array.cast::<PyArray1<S>>().ok()?.try_readonly() {
            Ok(column) => columns.push(column),
            Err(error) => return Some(Err(error.into())),
        }
    }
    let py = arrays.first()?.py();
    let rows = Rows::new::<T>(columns.iter().map(Numbers::of));
    Some(detached(py, || fold::<_, T>(&rows, function, domain)))
}

/// An array of a column, whose rows are converted to rows of type `T`.
trait Piece<T>: Clone + Send + Sync {
    fn len(&self) -> usize;
    /// Convert a range of rows. See [`Convert::fill`].
    fn fill(&self, range: Range<usize>, into: &mut [T]) -> Option<bool>;
    /// Convert two ranges of rows. See [`Convert::fill_both`].
    fn fill_both(&self, ranges: [Range<usize>; 2], into: [&mut [T]; 2]) -> Option<bool> {
        let ([first, second], [first_rows, second_rows]) = (ranges, into);
        Some(self.fill(first, first_rows)? | self.fill(second, second_rows)?)
    }
}
/// An array of numbers.
#[derive(Clone)]
enum Numbers<'a, S> {
    Slice(&'a [S]),
    /// An array with gaps in memory, such as a column of a table.
    View(ArrayView1<'a, S>),
}
impl<'a, S: Element> Numbers<'a, S> {
    fn of(column: &'a PyReadonlyArray1<'_, S>) -> Self {
        match column.as_slice() {
            Ok(rows) => Numbers::Slice(rows),
            Err(_) => Numbers::View(column.as_array()),
        }
    }
}
impl<S: Copy + Send + Sync, T: Convert<S>> Piece<T> for Numbers<'_, S> {
    fn len(&self) -> usize {
        match self {
            Numbers::Slice(rows) => rows.len(),
            Numbers::View(rows) => rows.len(),
        }
    }
    fn fill(&self, range: Range<usize>, into: &mut [T]) -> Option<bool> {
        match self {
            Numbers::Slice(rows) => T::fill(rows.get(range)?, into),
            Numbers::View(rows) => {
                fill(rows.slice_axis(Axis(0), range.into()).iter().copied(), into)
            }
        }
    }
    /// If the array has no gaps, both ranges are read in the same loop. If the ranges are far
    /// apart, one loop for both ranges is faster than two loops. The reason is that a core fetches
    /// rows ahead only within a page of memory. If the loop reads two pages, the core fetches rows
    /// of both pages ahead.
    fn fill_both(&self, ranges: [Range<usize>; 2], into: [&mut [T]; 2]) -> Option<bool> {
        let [first, second] = ranges;
        if let Numbers::Slice(rows) = self {
            return T::fill_both([rows.get(first)?, rows.get(second)?], into);
        }
        let [first_rows, second_rows] = into;
        Some(self.fill(first, first_rows)? | self.fill(second, second_rows)?)
    }
}
/// The rows of a column: one array, or several arrays one after the other.
#[derive(Clone)]
struct Rows<P> {
    /// Each piece, with the number of the first row after this piece.
    pieces: Vec<(usize, P)>,
}
impl<P> Rows<P> {
    fn new<T>(pieces: impl Iterator<Item = P>) -> Self
    where
        P: Piece<T>,
    {
        let mut end = 0;
        let ends = pieces.map(|piece| {
            end += piece.len();
            (end, piece)
        });
        Rows { pieces: ends.collect() }
    }
    fn len(&self) -> usize {
        self.pieces.last().map_or(0, |(end, _)| *end)
    }
    /// Convert two ranges of rows to the rows of a chunk. See [`Convert::fill`].
    fn fill_both<T>(&self, ranges: [Range<usize>; 2], chunk: &mut [T]) -> Option<bool>
    where
        P: Piece<T>,
    {
        let [first, second] = ranges;
        let (first_rows, second_rows) = chunk.split_at_mut_checked(first.len())?;
        if let [(_, piece)] = &self.pieces[..] {
            return piece.fill_both([first, second], [first_rows, second_rows]);
        }
        Some(self.fill(first, first_rows)? | self.fill(second, second_rows)?)
    }
    /// Convert a range of rows, and write the same number of rows to `into`. See [`Convert::fill`].
    fn fill<T>(&self, range: Range<usize>, mut into: &mut [T]) -> Option<bool>
    where
        P: Piece<T>,
    {
        let mut null = false;
        let first = self.pieces.partition_point(|(end, _)| *end <= range.start);
        for (end, piece) in self.pieces.iter().skip(first) {
            let start = end - piece.len();
            if range.end <= start {
                break;
            }
            let own = range.start.max(start) - start..range.end.min(*end) - start;
            let (part, rest) = into.split_at_mut_checked(own.len())?;
            null |= piece.fill(own, part)?;
            into = rest;
        }
        Some(null)
    }
}
/// Divide a range into ranges of at most `size` rows.
fn pieces(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(size).map(move |start| start..range.end.min(start + size))
}

/// Run a function on rows. If the function or the domain needs all rows at once, pass all rows at
/// once. If the function accepts chunks only in the order of the rows, pass the chunks in this
/// order. If the function accepts rows in any order, also use all cores if there are many rows.
fn fold<P, T>(rows: &Rows<P>, function: &AnyFunction, domain: &AnyDomain) -> Result<AnyValue>
where
    P: Piece<T>,
    T: Atom,
    Vec<T>: Carrier,
{
    if domain.records().is_some_and(|records| records != rows.len()) {
        return Err(outside(domain));
    }
    let chunks: Chunks<'_, T> = Chunks::new(domain);
    let all = 0..rows.len();
    // The domain can state a condition on all rows together. Then each chunk can be a member
    // although the column is not a member.
    if !function.streams() || !domain.recombines() {
        let mut whole = vec![T::default(); rows.len()];
        rows.fill(all, &mut whole).ok_or_else(|| outside(domain))?;
        let whole = AnyValue::new(whole);
        if !domain.member(&whole) {
            return Err(outside(domain));
        }
        return function.eval(&whole);
    }
    if function.start().is_err() {
        return function.eval_chunks(pieces(all, ROWS).map(|piece| {
            let mut chunk = Vec::new();
            chunks.member(rows, [piece, 0..0], &mut chunk).map(|()| AnyValue::new(chunk))
        }));
    }
    // If one thread is slow, the other threads process more parts. The result does not depend on
    // which thread processes a part: partial results are merged exactly, so their order does not
    // matter.
    let threads = rayon::current_num_threads();
    let part_rows = (rows.len() / (4 * threads)).clamp(ROWS, PART_ROWS);
    let next = AtomicUsize::new(0);
    let fold = || {
        let mut partial = function.start()?;
        // Each thread has its own copy of `rows`. Another thread may write to memory that is next
        // to the original `rows`. If the threads read the original, the memory of the original
        // would move between the caches of the cores for each chunk.
        let rows = rows.clone();
        let mut chunk = Vec::new();
        while let Some(part) = pieces(all.clone(), part_rows).nth(next.fetch_add(1, Relaxed)) {
            let middle = part.start + part.len() / 2;
            let [first, second] = [part.start..middle, middle..part.end];
            let mut firsts = pieces(first, ROWS / 2);
            for second in pieces(second, ROWS / 2) {
                let first = firsts.next().unwrap_or_default();
                chunks.member(&rows, [first, second], &mut chunk)?;
                partial.absorb_typed(&chunk)?;
            }
        }
        Ok(partial)
    };
    if rows.len() < PARALLEL_ROWS {
        return fold()?.finish();
    }
    // These threads belong to the thread pool of this process: see `errors::detached`. If a thread
    // starts too late to take a part, the other threads process all parts. If `divided` is false,
    // this thread must process all rows alone: see `with_threads`.
    with_threads(|divided| {
        if !divided {
            return fold()?.finish();
        }
        let partials: Vec<_> = (0..threads).into_par_iter().map(|_| fold()).collect();
        let mut partials = partials.into_iter();
        let mut total = partials.next().unwrap_or_else(|| function.start())?;
        for other in partials {
            total.merge(other?)?;
        }
        total.finish()
    })
}

/// Converts chunks of rows, and checks them against a domain.
struct Chunks<'a, T: Atom> {
    domain: &'a AnyDomain,
    /// The domain of one row, if `domain` is a vector domain of atoms. Then the rows are checked
    /// without `domain`.
    row: Option<&'a AtomDomain<T>>,
    /// The domain of the rows of one chunk. This domain is stored only if the domain of the column
    /// has a known size.
    sized: Option<AnyDomain>,
}
impl<'a, T: Atom> Chunks<'a, T>
where
    Vec<T>: Carrier,
{
    fn new(domain: &'a AnyDomain) -> Self {
        let typed = domain.downcast_ref::<VectorDomain<AtomDomain<T>>>();
        let sized = domain.records().and_then(|_| domain.with_records(ROWS));
        Chunks { domain, row: typed.ok().map(VectorDomain::element), sized }
    }
    /// Convert two ranges of rows to a chunk, and check for each row that a member of the domain
    /// may contain this row. The memory of the chunk is reused.
    fn member(
        &self,
        rows: &Rows<impl Piece<T>>,
        ranges: [Range<usize>; 2],
        chunk: &mut Vec<T>,
    ) -> Result<()> {
        let count = ranges.iter().map(Range::len).sum();
        chunk.resize(count, T::default());
        let null = rows.fill_both(ranges, chunk).ok_or_else(|| outside(self.domain))?;
        let member = match self.row.map(|row| (row, row.bounds())) {
            Some((row, None)) => row.nan() || !null,
            // The loop has no early exit, so that it checks several rows in one instruction.
            Some((row, Some(_))) => chunk.iter().fold(true, |all, value| all & row.member(value)),
            None => {
                let erased = AnyValue::new(mem::take(chunk));
                let member = self.erased(count)?.member(&erased);
                *chunk = erased.downcast()?;
                member
            }
        };
        if member { Ok(()) } else { Err(outside(self.domain)) }
    }
    /// Return the domain that a chunk of `count` rows must belong to.
    fn erased(&self, count: usize) -> Result<Cow<'_, AnyDomain>> {
        match &self.sized {
            None => Ok(Cow::Borrowed(self.domain)),
            Some(sized) if count == ROWS => Ok(Cow::Borrowed(sized)),
            Some(sized) => match sized.with_records(count) {
                Some(sized) => Ok(Cow::Owned(sized)),
                None => Err(Error::NotImplemented("this domain cannot be read in chunks".into())),
            },
        }
    }
}
