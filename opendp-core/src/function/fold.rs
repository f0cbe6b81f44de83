//! Stages that fold rows into a value, and their partial results.

use std::{any::Any, fmt, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::rows::{RowsStage, Run};
use super::{Function, absorb};
use crate::{Carrier, Error, Result};

/// The definition of a fold: how rows become a value through a state.
///
/// Merging must be exact and independent of order and grouping: whatever the rows are divided
/// into, the same multiset of rows gives the same bits. (A fold of floats therefore rounds each row
/// on its own, and adds integers.) A fold to which the order counts says so; see
/// [`in_order`](Fold::in_order).
pub trait Fold<I: Carrier, O: Carrier>: Send + Sync + 'static {
    /// What the fold remembers of the rows it has seen.
    type State: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// Tell this fold from others, parameters included, so that foreign states are refused.
    fn label(&self) -> String;
    /// Make the state of no rows.
    fn start(&self) -> Self::State;
    /// Add a chunk of rows to a state.
    ///
    /// # Errors
    /// None that depends on the data.
    fn absorb(&self, state: &mut Self::State, rows: I::Chunk<'_>) -> Result<()>;
    /// Add the rows that another state has seen.
    ///
    /// # Errors
    /// When the other state is not one of this fold.
    fn merge(&self, state: &mut Self::State, other: Self::State) -> Result<()>;
    /// Give the value of the rows seen.
    ///
    /// # Errors
    /// None that depends on the data.
    fn finish(&self, state: Self::State) -> Result<O>;
    /// Whether absorbing any rows is, to the bit, absorbing what they become by the
    /// [`projection`](Function::projection) to a set. The stage before is then left out.
    ///
    /// It is asked of rows that may be no members of the fold's domain.
    fn projects(&self, set: &dyn Any) -> bool {
        let _ = set;
        false
    }
    /// Whether the order of the rows counts. They are then absorbed one chunk after the other, from a
    /// slice as from a stream, and no partial results are given out that could be merged in another.
    fn in_order(&self) -> bool {
        false
    }
}

/// A partial result: what a function remembers of the rows it has seen so far.
///
/// Partial results can be made on several machines, written as bytes, merged in any order, and
/// finished once. They hold unprotected data: what they are sent through must be trusted.
///
/// ```
/// # use opendp_core::{Fold, Function, Result};
/// struct Count;
/// impl Fold<Vec<i32>, u64> for Count {
///     type State = u64;
///     fn label(&self) -> String { "count".into() }
///     fn start(&self) -> u64 { 0 }
///     fn absorb(&self, n: &mut u64, rows: &[i32]) -> Result<()> { *n += rows.len() as u64; Ok(()) }
///     fn merge(&self, n: &mut u64, other: u64) -> Result<()> { *n += other; Ok(()) }
///     fn finish(&self, n: u64) -> Result<u64> { Ok(n) }
/// }
/// let count = Function::fold(Count);
/// let mut here = count.start()?;
/// here.absorb(&vec![1, 2, 3])?;
/// let mut there = count.start()?;
/// there.absorb(&vec![4])?;
/// here.merge(count.resume(&there.to_bytes()?)?)?;
/// assert_eq!(here.finish()?, 4);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub struct Partial<I: Carrier, O: Carrier> {
    pub(super) state: Box<dyn State<I, O>>,
    pub(super) fold: Arc<dyn FoldStage<I, O>>,
}
impl<I: Carrier, O: Carrier> Partial<I, O> {
    /// Add a chunk of rows.
    ///
    /// # Errors
    /// Those of the stages.
    pub fn absorb(&mut self, rows: &I) -> Result<()> {
        absorb(&*self.fold, &mut *self.state, rows.chunk())
    }
    /// Add the rows that another partial result of the same function has seen.
    ///
    /// # Errors
    /// `FailedFunction` when the other is of another function.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.state.merge(other.state)
    }
    /// Write as bytes.
    ///
    /// # Errors
    /// When a state does not serialize.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.state.save()
    }
    /// Give the value of the rows seen.
    ///
    /// # Errors
    /// Those of the stages.
    pub fn finish(self) -> Result<O> {
        self.state.finish()
    }
}
impl<I: Carrier, O: Carrier> fmt::Debug for Partial<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Partial({} -> {})", I::type_name(), O::type_name())
    }
}

/// A definition, shared by all runs.
pub(crate) trait FoldStage<I: Carrier, O: Carrier>: Send + Sync {
    fn start(&self) -> Box<dyn State<I, O>>;
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State<I, O>>>;
    /// See [`Fold::projects`].
    fn projects(&self, set: &dyn Any) -> bool {
        let _ = set;
        false
    }
    /// See [`Fold::in_order`].
    fn in_order(&self) -> bool;
}
/// The state of one run.
pub(crate) trait State<I: Carrier, O: Carrier>: Send + Sync {
    fn absorb(&mut self, chunk: I::Chunk<'_>) -> Result<()>;
    fn merge(&mut self, other: Box<dyn State<I, O>>) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<O>;
    fn save(&self) -> Result<Vec<u8>>;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// A single fold.
pub(crate) struct Leaf<F>(pub(crate) Arc<F>);
struct LeafState<F: Fold<I, O>, I: Carrier, O: Carrier> {
    fold: Arc<F>,
    state: F::State,
}
#[derive(Serialize, Deserialize)]
struct Saved<L, S> {
    fold: L,
    state: S,
}
impl<I: Carrier, O: Carrier, F: Fold<I, O>> FoldStage<I, O> for Leaf<F> {
    fn start(&self) -> Box<dyn State<I, O>> {
        Box::new(LeafState { fold: self.0.clone(), state: self.0.start() })
    }
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State<I, O>>> {
        let saved: Saved<String, F::State> =
            serde_json::from_slice(bytes).map_err(|_| foreign())?;
        if saved.fold != self.0.label() {
            return Err(foreign());
        }
        Ok(Box::new(LeafState { fold: self.0.clone(), state: saved.state }))
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.0.projects(set)
    }
    fn in_order(&self) -> bool {
        self.0.in_order()
    }
}
impl<I: Carrier, O: Carrier, F: Fold<I, O>> State<I, O> for LeafState<F, I, O> {
    fn absorb(&mut self, chunk: I::Chunk<'_>) -> Result<()> {
        self.fold.absorb(&mut self.state, chunk)
    }
    fn merge(&mut self, other: Box<dyn State<I, O>>) -> Result<()> {
        let other = same::<Self>(other.into_any())?;
        if !Arc::ptr_eq(&self.fold, &other.fold) && self.fold.label() != other.fold.label() {
            return Err(foreign());
        }
        self.fold.merge(&mut self.state, other.state)
    }
    fn finish(self: Box<Self>) -> Result<O> {
        self.fold.finish(self.state)
    }
    fn save(&self) -> Result<Vec<u8>> {
        let saved = Saved { fold: self.fold.label(), state: &self.state };
        serde_json::to_vec(&saved)
            .map_err(|_| Error::FailedFunction("the state of a fold does not serialize".into()))
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Rows, then a fold, in one pass.
pub(crate) struct AfterRows<I, X, O>(
    pub(crate) Arc<dyn RowsStage<I, X>>,
    pub(crate) Arc<dyn FoldStage<X, O>>,
);
struct AfterRowsState<I: Carrier, X: Carrier, O: Carrier> {
    rows: Box<dyn Run<I, X>>,
    buffer: X,
    inner: Box<dyn State<X, O>>,
}
impl<I: Carrier, X: Carrier, O: Carrier> AfterRows<I, X, O> {
    fn state(&self, inner: Box<dyn State<X, O>>) -> Box<dyn State<I, O>> {
        Box::new(AfterRowsState { rows: self.0.start(), buffer: X::buffer(), inner })
    }
}
impl<I: Carrier, X: Carrier, O: Carrier> FoldStage<I, O> for AfterRows<I, X, O> {
    fn start(&self) -> Box<dyn State<I, O>> {
        self.state(self.1.start())
    }
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State<I, O>>> {
        Ok(self.state(self.1.load(bytes)?))
    }
    fn in_order(&self) -> bool {
        self.1.in_order()
    }
}
impl<I: Carrier, X: Carrier, O: Carrier> State<I, O> for AfterRowsState<I, X, O> {
    fn absorb(&mut self, chunk: I::Chunk<'_>) -> Result<()> {
        self.buffer.reset();
        self.rows.append(chunk, &mut self.buffer)?;
        self.inner.absorb(self.buffer.chunk())
    }
    fn merge(&mut self, other: Box<dyn State<I, O>>) -> Result<()> {
        self.inner.merge(same::<Self>(other.into_any())?.inner)
    }
    fn finish(self: Box<Self>) -> Result<O> {
        self.inner.finish()
    }
    fn save(&self) -> Result<Vec<u8>> {
        self.inner.save()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// A fold, then any function of its value.
pub(crate) struct ThenFunction<I: Carrier, X: Carrier, O: Carrier>(
    pub(crate) Arc<dyn FoldStage<I, X>>,
    pub(crate) Function<X, O>,
);
struct ThenFunctionState<I: Carrier, X: Carrier, O: Carrier> {
    inner: Box<dyn State<I, X>>,
    next: Function<X, O>,
}
impl<I: Carrier, X: Carrier, O: Carrier> ThenFunction<I, X, O> {
    fn state(&self, inner: Box<dyn State<I, X>>) -> Box<dyn State<I, O>> {
        Box::new(ThenFunctionState { inner, next: self.1.clone() })
    }
}
impl<I: Carrier, X: Carrier, O: Carrier> FoldStage<I, O> for ThenFunction<I, X, O> {
    fn start(&self) -> Box<dyn State<I, O>> {
        self.state(self.0.start())
    }
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State<I, O>>> {
        Ok(self.state(self.0.load(bytes)?))
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.0.projects(set)
    }
    fn in_order(&self) -> bool {
        self.0.in_order()
    }
}
impl<I: Carrier, X: Carrier, O: Carrier> State<I, O> for ThenFunctionState<I, X, O> {
    fn absorb(&mut self, chunk: I::Chunk<'_>) -> Result<()> {
        self.inner.absorb(chunk)
    }
    fn merge(&mut self, other: Box<dyn State<I, O>>) -> Result<()> {
        self.inner.merge(same::<Self>(other.into_any())?.inner)
    }
    fn finish(self: Box<Self>) -> Result<O> {
        self.next.eval(&self.inner.finish()?)
    }
    fn save(&self) -> Result<Vec<u8>> {
        self.inner.save()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Recover the type of a state, or refuse one of another function.
pub(crate) fn same<T: 'static>(any: Box<dyn Any>) -> Result<Box<T>> {
    any.downcast().map_err(|_| foreign())
}
#[cold]
fn foreign() -> Error {
    Error::FailedFunction("the partial result is not one of this function".into())
}
