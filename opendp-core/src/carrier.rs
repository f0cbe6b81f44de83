//! Values that functions take and return, and views of these values as chunks of rows.

use std::{collections::HashMap, hash::Hash, ops::Range};

use crate::erased::{AnyChunk, AnyValue};
use crate::{Codec, Named};

/// The largest number of rows that the first stage of a function gets at once. A stage is a step of
/// a function. The limit applies if the first stage is a [`rows`](crate::Function::rows) or a
/// [`fold`](crate::Function::fold). This number is large, so the cost of calling a stage is
/// negligible. The number is also small enough that the rows fit into the cache of a core.
pub const CHUNK_ROWS: usize = 4096;

/// A borrowed range of the rows of a value.
pub trait Chunk: Copy + Send + Sync {
    /// Count the rows of this chunk.
    fn rows(self) -> usize;
    /// Keep only the rows in `range`. The range must be within `0..self.rows()`.
    #[must_use]
    fn narrow(self, range: Range<usize>) -> Self;
}

/// A value that functions take and return.
///
/// A data set is viewed in chunks of rows. Any other value is a single chunk. Vectors of any named
/// type that has a [`Codec`] are carriers. Atoms and maps are carriers, too. A crate makes its own
/// type a carrier with [`carrier!`](crate::carrier).
pub trait Carrier: Named + Codec + Clone + Send + Sync {
    /// A borrowed range of the rows of a value, or a borrow of the whole value.
    type Chunk<'a>: Chunk;
    /// Borrow all rows of this value.
    fn chunk(&self) -> Self::Chunk<'_>;
    /// Take rows whose type is known only at run time, and view them as a chunk of this type.
    /// Return `None` if the rows have another type. Only [`AnyValue`] may override this method.
    #[doc(hidden)]
    fn view(chunk: AnyChunk<'_>) -> Option<Self::Chunk<'_>> {
        chunk.typed::<Self>()
    }
    /// Make an empty value, to which stages append rows.
    fn buffer() -> Self;
    /// Remove all rows of this value. Vectors and frames keep their allocated memory. If every
    /// value of this type is a single chunk, replace this value by an empty or default value.
    fn reset(&mut self);
    /// Append a copy of the rows of a chunk. If every value of this type is a single chunk, replace
    /// this value by a copy of the chunk.
    fn append_rows(&mut self, chunk: Self::Chunk<'_>);
    /// Move the value out of `self`. The caller must not use `self` afterwards.
    #[doc(hidden)]
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::buffer())
    }
    /// Erase the type of the value. Erasing an erased value changes nothing.
    #[doc(hidden)]
    fn erase(self) -> AnyValue {
        AnyValue::of(self)
    }
    /// Split a pair into its two values. Return `None` (the default) if the value is not a pair.
    fn pair(&self) -> Option<(AnyValue, AnyValue)> {
        None
    }
}

/// A borrow of a whole value. The value counts as one row.
#[derive(Debug)]
pub struct Whole<'a, T>(pub &'a T);
impl<T> Clone for Whole<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Whole<'_, T> {}

impl<T: Send + Sync> Chunk for &[T] {
    fn rows(self) -> usize {
        self.len()
    }
    fn narrow(self, range: Range<usize>) -> Self {
        &self[range]
    }
}
impl<T: Send + Sync> Chunk for Whole<'_, T> {
    fn rows(self) -> usize {
        1
    }
    fn narrow(self, _: Range<usize>) -> Self {
        self
    }
}

impl<T: Named + Codec + Clone + Send + Sync> Carrier for Vec<T> {
    type Chunk<'a> = &'a [T];
    fn chunk(&self) -> &[T] {
        self
    }
    fn buffer() -> Self {
        Vec::with_capacity(CHUNK_ROWS)
    }
    fn take(&mut self) -> Self {
        std::mem::take(self)
    }
    fn reset(&mut self) {
        self.clear();
    }
    fn append_rows(&mut self, chunk: &[T]) {
        self.extend_from_slice(chunk);
    }
}

/// Implement [`Carrier`](crate::Carrier) for types whose values are single chunks. The types need
/// `Clone`, `Default`, `Codec` and a name.
///
/// ```
/// use opendp_core::{carrier, named, Carrier, Codec, Result};
/// #[derive(Clone, Default)]
/// struct Graph(Vec<(u32, u32)>);
/// impl Codec for Graph {
///     fn to_json(&self) -> serde_json::Value { self.0.to_json() }
///     fn from_json(json: &serde_json::Value) -> Result<Self> {
///         Ok(Graph(Codec::from_json(json)?))
///     }
/// }
/// named!(Graph as "acme::Graph");
/// carrier!(Graph);
/// assert_eq!(Graph(vec![(0, 1)]).to_json().to_string(), "[[0,1]]");
/// assert_eq!(Graph::buffer().0, []);
/// ```
#[macro_export]
macro_rules! carrier {
    ($($t:ty),+ $(,)?) => {$(
        impl $crate::Carrier for $t {
            type Chunk<'a> = $crate::Whole<'a, Self>;
            fn chunk(&self) -> $crate::Whole<'_, Self> {
                $crate::Whole(self)
            }
            fn buffer() -> Self {
                Self::default()
            }
            fn reset(&mut self) {
                *self = Self::default();
            }
            fn append_rows(&mut self, chunk: $crate::Whole<'_, Self>) {
                self.clone_from(chunk.0);
            }
        }
    )+};
}
carrier!(bool, String, f32, f64, i8, i16, i32, i64, i128, isize);
carrier!(u8, u16, u32, u64, u128, usize);

impl<T: Carrier> Carrier for Option<T> {
    type Chunk<'a> = Whole<'a, Self>;
    fn chunk(&self) -> Whole<'_, Self> {
        Whole(self)
    }
    fn buffer() -> Self {
        None
    }
    fn reset(&mut self) {
        *self = None;
    }
    fn append_rows(&mut self, chunk: Whole<'_, Self>) {
        self.clone_from(chunk.0);
    }
}
impl<A: Carrier, B: Carrier> Carrier for (A, B) {
    type Chunk<'a> = Whole<'a, Self>;
    fn chunk(&self) -> Whole<'_, Self> {
        Whole(self)
    }
    fn buffer() -> Self {
        (A::buffer(), B::buffer())
    }
    fn reset(&mut self) {
        self.0.reset();
        self.1.reset();
    }
    fn append_rows(&mut self, chunk: Whole<'_, Self>) {
        self.clone_from(chunk.0);
    }
    fn pair(&self) -> Option<(AnyValue, AnyValue)> {
        Some((AnyValue::new(self.0.clone()), AnyValue::new(self.1.clone())))
    }
}
impl<K, V> Carrier for HashMap<K, V>
where
    K: Named + Codec + Clone + Eq + Hash + Send + Sync,
    V: Named + Codec + Clone + Send + Sync,
{
    type Chunk<'a> = Whole<'a, Self>;
    fn chunk(&self) -> Whole<'_, Self> {
        Whole(self)
    }
    fn buffer() -> Self {
        HashMap::new()
    }
    fn reset(&mut self) {
        *self = HashMap::new();
    }
    fn append_rows(&mut self, chunk: Whole<'_, Self>) {
        *self = chunk.0.clone();
    }
}
