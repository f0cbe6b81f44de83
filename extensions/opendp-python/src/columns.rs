//! Runs on arrays of numpy, without a copy of the whole array.
//!
//! Rows are copied in chunks that fit the cache, and each row is copied once. Another thread can
//! change a row during the run. The release still uses only the copied value of the row, and this
//! value was checked.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use numpy::ndarray::{ArrayView1, Axis};
use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use opendp_core::erased::{AnyDomain, AnyFunction, AnyValue};
use opendp_core::{Atom, AtomDomain, Carrier, Domain, Error, Result, VectorDomain};
use pyo3::prelude::*;

use crate::errors::{detached, panicked};
use crate::values::outside;

/// The number of rows that are converted at once. They fit the cache of a core.
const ROWS: usize = 1 << 14;
/// The number of rows that a thread takes at once.
const PART_ROWS: usize = 1 << 16;
/// Arrays of at least this many rows are divided among all cores.
const PARALLEL_ROWS: usize = 1 << 17;

/// A type of rows. Numbers of type `S` in a column are converted to this type.
trait Convert<S: Copy>: Sized {
    /// Convert a number to the type of the rows. `None` means that this type does not contain the
    /// number.
    fn convert(value: S) -> Option<Self>;
    /// Convert numbers, and append them to rows. `None` means that a number cannot be converted.
    fn append(rows: &[S], into: &mut Vec<Self>) -> Option<()> {
        into.reserve(rows.len());
        for row in rows {
            into.push(Self::convert(*row)?);
        }
        Some(())
    }
}
macro_rules! whole {
    ($($s:ident)* => $t:tt) => {$(
        impl Convert<$s> for $t {
            fn convert(value: $s) -> Option<Self> {
                value.try_into().ok()
            }
        }
    )*};
}
macro_rules! wholes {
    ($($t:ident)*) => {$( whole!(i8 i16 i32 i64 u8 u16 u32 u64 => $t); )*};
}
wholes!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
macro_rules! exact {
    ($($s:ident)* => $t:ident $consecutive:literal) => {$(
        impl Convert<$s> for $t {
            /// Convert an integer if the float type contains it exactly, as in JSON.
            fn convert(value: $s) -> Option<Self> {
                (i128::from(value).unsigned_abs() <= $consecutive).then_some(value as $t)
            }
        }
    )*};
}
exact!(i8 i16 i32 i64 u8 u16 u32 u64 => f64 9_007_199_254_740_992_u128);
exact!(i8 i16 i32 i64 u8 u16 u32 u64 => f32 16_777_216_u128);
macro_rules! same {
    ($($t:ident)*) => {$(
        impl Convert<$t> for $t {
            fn convert(value: $t) -> Option<Self> {
                Some(value)
            }
            fn append(rows: &[$t], into: &mut Vec<Self>) -> Option<()> {
                into.extend_from_slice(rows);
                Some(())
            }
        }
    )*};
}
same!(f32 f64 bool);
impl Convert<f32> for f64 {
    fn convert(value: f32) -> Option<Self> {
        Some(value.into())
    }
}
impl Convert<f64> for f32 {
    /// Return the nearest float. A finite number beyond the range of the type is not a value of the
    /// type.
    fn convert(value: f64) -> Option<Self> {
        let near = value as f32;
        (near.is_finite() || !value.is_finite()).then_some(near)
    }
}

/// Run a function on an array of numbers with one dimension, if the domain may contain it. `None`
/// means that the object is not such an array.
pub(crate) fn run(
    array: &Bound<'_, PyAny>,
    function: &AnyFunction,
    domain: &AnyDomain,
) -> Option<PyResult<AnyValue>> {
    let carrier = domain.carrier();
    if carrier.head() != "Vec" {
        return None;
    }
    let row = carrier.args().first()?.to_string();
    let array = &match placed(array.cast::<PyUntypedArray>().ok()?) {
        Ok(array) => array,
        Err(error) => return Some(Err(error)),
    };
    macro_rules! pairs {
        ($($s:ident: $($t:ident)*;)*) => {$(
            if let Ok(column) = array.cast::<PyArray1<$s>>() {
                return match row.as_str() {
                    $(stringify!($t) => Some(on::<$s, $t>(column, function, domain)),)*
                    _ => None,
                };
            }
        )*};
    }
    pairs! {
        f64: f64 f32;
        f32: f64 f32;
        bool: bool;
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
/// Return an array whose rows are at places where numbers of their type can be read. The rows of a
/// table without padding are not at such places, so they are copied.
fn placed<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
    let size = array.dtype().itemsize().max(1);
    let whole_steps = array.strides().iter().all(|stride| stride.unsigned_abs() % size == 0);
    if array.is_aligned() && whole_steps {
        return Ok(array.as_any().clone());
    }
    array.call_method0("copy")
}
fn on<S, T>(
    column: &Bound<'_, PyArray1<S>>,
    function: &AnyFunction,
    domain: &AnyDomain,
) -> PyResult<AnyValue>
where
    S: Element + Copy + Send + Sync,
    T: Convert<S> + Atom,
    Vec<T>: Carrier,
{
    let py = column.py();
    let column: PyReadonlyArray1<'_, S> = column.try_readonly()?;
    let rows = match column.as_slice() {
        Ok(rows) => Rows::Slice(rows),
        Err(_) => Rows::View(column.as_array()),
    };
    detached(py, || fold(&rows, function, domain))
}

/// The rows of an array.
enum Rows<'a, S> {
    Slice(&'a [S]),
    /// The array has gaps in memory. For example, it is a column of a table.
    View(ArrayView1<'a, S>),
}
impl<S: Copy> Rows<'_, S> {
    fn len(&self) -> usize {
        match self {
            Rows::Slice(rows) => rows.len(),
            Rows::View(rows) => rows.len(),
        }
    }
    /// Convert a range of rows, and append it to other rows. `None` means that a row cannot be
    /// converted.
    fn append<T: Convert<S>>(&self, range: Range<usize>, into: &mut Vec<T>) -> Option<()> {
        match self {
            Rows::Slice(rows) => T::append(rows.get(range)?, into),
            Rows::View(rows) => {
                into.reserve(range.len());
                for row in rows.slice_axis(Axis(0), range.into()) {
                    into.push(T::convert(*row)?);
                }
                Some(())
            }
        }
    }
}
/// Divide a range into ranges of at most `size` rows.
fn pieces(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(size).map(move |start| start..range.end.min(start + size))
}

/// Run a function on rows. If the function folds rows in any order and there are many rows, use all
/// cores. If the function needs all rows at once, pass all rows. Otherwise pass chunks in order.
fn fold<S, T>(rows: &Rows<'_, S>, function: &AnyFunction, domain: &AnyDomain) -> Result<AnyValue>
where
    S: Copy + Send + Sync,
    T: Convert<S> + Atom,
    Vec<T>: Carrier,
{
    if domain.records().is_some_and(|records| records != rows.len()) {
        return Err(outside(domain));
    }
    let chunks: Chunks<'_, T> = Chunks::new(domain);
    let all = 0..rows.len();
    if !function.streams() {
        let mut whole = Vec::new();
        chunks.convert(rows, all, &mut whole)?;
        let whole = AnyValue::new(whole);
        if !domain.member(&whole) {
            return Err(outside(domain));
        }
        return function.eval(&whole);
    }
    if function.start().is_err() {
        return function.eval_chunks(pieces(all, ROWS).map(|piece| chunks.member(rows, piece)));
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if rows.len() < PARALLEL_ROWS { 1 } else { cores };
    // If one thread is slow, the other threads do some of its parts. The result does not depend on
    // this, because merging is exact and independent of order.
    let next = AtomicUsize::new(0);
    let fold = || {
        let mut partial = function.start()?;
        let mut buffer = Vec::new();
        while let Some(part) = pieces(all.clone(), PART_ROWS).nth(next.fetch_add(1, Relaxed)) {
            for piece in pieces(part, ROWS) {
                buffer.clear();
                chunks.convert(rows, piece, &mut buffer)?;
                let value = chunks.check(buffer)?;
                partial.absorb(&value)?;
                buffer = value.downcast()?;
            }
        }
        Ok(partial)
    };
    // Start new threads instead of using a pool, because a child process does not have the threads
    // of the parent's pool.
    let partials = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(fold)).collect();
        let mut all = vec![fold()];
        all.extend(
            others.into_iter().map(|other| other.join().unwrap_or_else(|_| Err(panicked()))),
        );
        all
    });
    let mut partials = partials.into_iter();
    let mut total = partials.next().unwrap_or_else(|| function.start())?;
    for other in partials {
        total.merge(other?)?;
    }
    total.finish()
}

/// A converter and checker of chunks of rows of a domain.
struct Chunks<'a, T: Atom> {
    domain: &'a AnyDomain,
    /// The domain of the rows, if the rows can be checked without the erased domain.
    row: Option<&'a AtomDomain<T>>,
    /// If the size of the domain is known: the domain that the rows of one chunk must belong to.
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
    fn convert<S: Copy>(
        &self,
        rows: &Rows<'_, S>,
        range: Range<usize>,
        into: &mut Vec<T>,
    ) -> Result<()>
    where
        T: Convert<S>,
    {
        rows.append(range, into).ok_or_else(|| outside(self.domain))
    }
    /// Convert rows, and check that a member of the domain may contain each row.
    fn member<S: Copy>(&self, rows: &Rows<'_, S>, range: Range<usize>) -> Result<AnyValue>
    where
        T: Convert<S>,
    {
        let mut buffer = Vec::new();
        self.convert(rows, range, &mut buffer)?;
        self.check(buffer)
    }
    /// Check that a member of the domain may contain each row.
    fn check(&self, rows: Vec<T>) -> Result<AnyValue> {
        let count = rows.len();
        if let Some(row) = self.row {
            let all = all_members(row, &rows);
            return if all { Ok(AnyValue::new(rows)) } else { Err(outside(self.domain)) };
        }
        let chunk = AnyValue::new(rows);
        let member = match &self.sized {
            None => self.domain.member(&chunk),
            Some(sized) if count == ROWS => sized.member(&chunk),
            Some(sized) => match sized.with_records(count) {
                Some(sized) => sized.member(&chunk),
                None => return Err(Error::NotImplemented("this domain has no chunks".into())),
            },
        };
        if member { Ok(chunk) } else { Err(outside(self.domain)) }
    }
}
/// Return whether all rows are members of a domain.
///
/// The loops have no early exit, so that they check several rows in one instruction.
fn all_members<T: Atom>(row: &AtomDomain<T>, rows: &[T]) -> bool {
    match row.bounds() {
        None if row.nan() || !T::NULLABLE => true,
        None => !rows.iter().fold(false, |any, row| any | row.is_null()),
        Some(_) => rows.iter().fold(true, |all, one| all & row.member(one)),
    }
}
