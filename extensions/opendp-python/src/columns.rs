//! Runs on arrays of numpy, without a copy of the whole array.
//!
//! Rows are copied in chunks that fit the cache, and each row is copied once. Another thread can
//! change a row during the run. The release still uses only the copied value of the row, and this
//! value was checked.

use std::thread;

use numpy::{Element, PyArray1, PyArrayMethods, PyReadonlyArray1};
use opendp_core::erased::{AnyDomain, AnyFunction, AnyValue};
use opendp_core::{Carrier, Domain, Error, Named, Result};
use pyo3::prelude::*;

use crate::errors::{detached, panicked};
use crate::values::outside;

/// The number of rows that are converted at once.
const ROWS: usize = 1 << 14;
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
fn on<S, T>(
    column: &Bound<'_, PyArray1<S>>,
    function: &AnyFunction,
    domain: &AnyDomain,
) -> PyResult<AnyValue>
where
    S: Element + Copy + Send + Sync,
    T: Convert<S> + Named + Clone + Send + Sync,
    Vec<T>: Carrier,
{
    let py = column.py();
    let column: PyReadonlyArray1<'_, S> = column.try_readonly()?;
    match column.as_slice() {
        Ok(rows) => detached(py, || fold(rows, function, domain)),
        // This array is a view with gaps in memory. The rows of the view are copied once.
        Err(_) => {
            let rows: Vec<S> = column.as_array().iter().copied().collect();
            detached(py, || fold(&rows, function, domain))
        }
    }
}

/// Run a function on rows. If the function folds rows in any order and there are many rows, use all
/// cores. If the function needs all rows at once, pass all rows. Otherwise pass chunks in order.
fn fold<S, T>(rows: &[S], function: &AnyFunction, domain: &AnyDomain) -> Result<AnyValue>
where
    S: Copy + Send + Sync,
    T: Convert<S>,
    Vec<T>: Carrier,
{
    if domain.records().is_some_and(|records| records != rows.len()) {
        return Err(outside(domain));
    }
    let chunks = Chunks::new(domain);
    if !function.streams() {
        let mut whole = Vec::new();
        chunks.convert::<S, T>(rows, &mut whole)?;
        let whole = AnyValue::new(whole);
        if !domain.member(&whole) {
            return Err(outside(domain));
        }
        return function.eval(&whole);
    }
    if function.start().is_err() {
        return function.eval_chunks(rows.chunks(ROWS).map(|part| chunks.member::<S, T>(part)));
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = if rows.len() < PARALLEL_ROWS { 1 } else { cores };
    let part = rows.len().div_ceil(threads).max(1);
    let fold = |part: &[S]| {
        let mut partial = function.start()?;
        let mut buffer = Vec::new();
        for piece in part.chunks(ROWS) {
            buffer.clear();
            chunks.convert::<S, T>(piece, &mut buffer)?;
            let value = AnyValue::new(buffer);
            chunks.check(&value, piece.len())?;
            partial.absorb(&value)?;
            buffer = value.downcast()?;
        }
        Ok(partial)
    };
    // Start new threads instead of using a pool, because a child process does not have the threads
    // of the parent's pool.
    let partials = thread::scope(|scope| {
        let mut parts = rows.chunks(part);
        let first = parts.next().unwrap_or_default();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || fold(part))).collect();
        let mut all = vec![fold(first)];
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
struct Chunks<'a> {
    domain: &'a AnyDomain,
    /// If the size of the domain is known: the domain that the rows of one chunk must belong to.
    sized: Option<AnyDomain>,
}
impl<'a> Chunks<'a> {
    fn new(domain: &'a AnyDomain) -> Self {
        let sized = domain.records().and_then(|_| domain.with_records(ROWS));
        Chunks { domain, sized }
    }
    fn convert<S: Copy, T: Convert<S>>(&self, rows: &[S], into: &mut Vec<T>) -> Result<()> {
        T::append(rows, into).ok_or_else(|| outside(self.domain))
    }
    /// Convert rows, and check that a member of the domain may contain each row.
    fn member<S: Copy, T: Convert<S>>(&self, rows: &[S]) -> Result<AnyValue>
    where
        Vec<T>: Carrier,
    {
        let mut buffer = Vec::new();
        self.convert::<S, T>(rows, &mut buffer)?;
        let value = AnyValue::new(buffer);
        self.check(&value, rows.len())?;
        Ok(value)
    }
    fn check(&self, chunk: &AnyValue, rows: usize) -> Result<()> {
        let member = match &self.sized {
            None => self.domain.member(chunk),
            Some(sized) if rows == ROWS => sized.member(chunk),
            Some(sized) => match sized.with_records(rows) {
                Some(sized) => sized.member(chunk),
                None => return Err(Error::NotImplemented("this domain has no chunks".into())),
            },
        };
        if member { Ok(()) } else { Err(outside(self.domain)) }
    }
}
