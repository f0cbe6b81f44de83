//! Stages that fold rows into a value, and their partial results.

use std::{any::Any, fmt, marker::PhantomData, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::rows::{RowsStage, Run};
use super::{Stage, absorb};
use crate::erased::{AnyChunk, AnyValue};
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
    state: Box<dyn State>,
    fold: Arc<dyn FoldStage>,
    types: PhantomData<fn(&I) -> O>,
}
impl<I: Carrier, O: Carrier> Partial<I, O> {
    pub(super) fn new(state: Box<dyn State>, fold: &Arc<dyn FoldStage>) -> Self {
        Partial { state, fold: fold.clone(), types: PhantomData }
    }
    /// Add a chunk of rows.
    ///
    /// # Errors
    /// Those of the stages.
    pub fn absorb(&mut self, rows: &I) -> Result<()> {
        absorb(&*self.fold, &mut *self.state, AnyChunk::of(rows))
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
        self.state.finish()?.downcast()
    }
}
impl<I: Carrier, O: Carrier> fmt::Debug for Partial<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Partial({} -> {})", I::type_name(), O::type_name())
    }
}

/// A definition, shared by all runs. It is compiled once: only [`Leaf`] depends on types.
pub(crate) trait FoldStage: Send + Sync {
    fn start(&self) -> Box<dyn State>;
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State>>;
    /// See [`Fold::projects`].
    fn projects(&self, set: &dyn Any) -> bool {
        let _ = set;
        false
    }
    /// See [`Fold::in_order`].
    fn in_order(&self) -> bool;
}
/// The state of one run.
pub(crate) trait State: Any + Send + Sync {
    fn absorb(&mut self, chunk: AnyChunk<'_>) -> Result<()>;
    fn merge(&mut self, other: Box<dyn State>) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<AnyValue>;
    fn save(&self) -> Result<Vec<u8>>;
}

/// A single fold.
pub(crate) struct Leaf<F, I, O>(Arc<F>, PhantomData<fn(&I) -> O>);
struct LeafState<F: Fold<I, O>, I: Carrier, O: Carrier> {
    fold: Arc<F>,
    state: F::State,
}
impl<F: Fold<I, O>, I: Carrier, O: Carrier> Leaf<F, I, O> {
    pub(crate) fn new(fold: F) -> Self {
        Leaf(Arc::new(fold), PhantomData)
    }
    fn state(&self, state: F::State) -> Box<dyn State> {
        Box::new(LeafState { fold: self.0.clone(), state })
    }
}
impl<F: Fold<I, O>, I: Carrier, O: Carrier> FoldStage for Leaf<F, I, O> {
    fn start(&self) -> Box<dyn State> {
        self.state(self.0.start())
    }
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State>> {
        let state = open(bytes, self.0.label())?;
        Ok(self.state(serde_json::from_str(state.get()).map_err(|_| foreign())?))
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.0.projects(set)
    }
    fn in_order(&self) -> bool {
        self.0.in_order()
    }
}
impl<F: Fold<I, O>, I: Carrier, O: Carrier> State for LeafState<F, I, O> {
    fn absorb(&mut self, chunk: AnyChunk<'_>) -> Result<()> {
        self.fold.absorb(&mut self.state, I::view(chunk)?)
    }
    fn merge(&mut self, other: Box<dyn State>) -> Result<()> {
        let other = same::<Self>(other)?;
        if !Arc::ptr_eq(&self.fold, &other.fold) {
            same_label(self.fold.label(), other.fold.label())?;
        }
        self.fold.merge(&mut self.state, other.state)
    }
    fn finish(self: Box<Self>) -> Result<AnyValue> {
        self.fold.finish(self.state).map(AnyValue::new)
    }
    fn save(&self) -> Result<Vec<u8>> {
        seal(self.fold.label(), serde_json::value::to_raw_value(&self.state))
    }
}

/// A state as it travels: the label of its fold, and what the fold remembers.
#[derive(Serialize, Deserialize)]
struct Saved {
    fold: String,
    state: Box<RawValue>,
}
fn seal(fold: String, state: serde_json::Result<Box<RawValue>>) -> Result<Vec<u8>> {
    state
        .and_then(|state| serde_json::to_vec(&Saved { fold, state }))
        .map_err(|_| Error::FailedFunction("the state of a fold does not serialize".into()))
}
fn open(bytes: &[u8], label: String) -> Result<Box<RawValue>> {
    let saved: Saved = serde_json::from_slice(bytes).map_err(|_| foreign())?;
    same_label(saved.fold, label)?;
    Ok(saved.state)
}
fn same_label(left: String, right: String) -> Result<()> {
    if left == right { Ok(()) } else { Err(foreign()) }
}

/// Rows, then a fold, in one pass.
pub(crate) struct AfterRows(pub(crate) Arc<dyn RowsStage>, pub(crate) Arc<dyn FoldStage>);
struct AfterRowsState {
    rows: Box<dyn Run>,
    buffer: AnyValue,
    inner: Box<dyn State>,
}
impl AfterRows {
    fn state(&self, inner: Box<dyn State>) -> Box<dyn State> {
        Box::new(AfterRowsState { rows: self.0.start(), buffer: AnyValue::buffer(), inner })
    }
}
impl FoldStage for AfterRows {
    fn start(&self) -> Box<dyn State> {
        self.state(self.1.start())
    }
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State>> {
        Ok(self.state(self.1.load(bytes)?))
    }
    fn in_order(&self) -> bool {
        self.1.in_order()
    }
}
impl State for AfterRowsState {
    fn absorb(&mut self, chunk: AnyChunk<'_>) -> Result<()> {
        self.buffer.reset();
        self.rows.append(chunk, &mut self.buffer)?;
        self.inner.absorb(self.buffer.chunk())
    }
    fn merge(&mut self, other: Box<dyn State>) -> Result<()> {
        self.inner.merge(same::<Self>(other)?.inner)
    }
    fn finish(self: Box<Self>) -> Result<AnyValue> {
        self.inner.finish()
    }
    fn save(&self) -> Result<Vec<u8>> {
        self.inner.save()
    }
}

/// A fold, then any function of its value.
pub(crate) struct ThenStage(pub(crate) Arc<dyn FoldStage>, pub(crate) Stage);
struct ThenStageState {
    inner: Box<dyn State>,
    next: Stage,
}
impl ThenStage {
    fn state(&self, inner: Box<dyn State>) -> Box<dyn State> {
        Box::new(ThenStageState { inner, next: self.1.clone() })
    }
}
impl FoldStage for ThenStage {
    fn start(&self) -> Box<dyn State> {
        self.state(self.0.start())
    }
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State>> {
        Ok(self.state(self.0.load(bytes)?))
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.0.projects(set)
    }
    fn in_order(&self) -> bool {
        self.0.in_order()
    }
}
impl State for ThenStageState {
    fn absorb(&mut self, chunk: AnyChunk<'_>) -> Result<()> {
        self.inner.absorb(chunk)
    }
    fn merge(&mut self, other: Box<dyn State>) -> Result<()> {
        self.inner.merge(same::<Self>(other)?.inner)
    }
    fn finish(self: Box<Self>) -> Result<AnyValue> {
        self.next.call(&self.inner.finish()?)
    }
    fn save(&self) -> Result<Vec<u8>> {
        self.inner.save()
    }
}

/// Recover the type of a state, or refuse one of another function.
fn same<T: State>(state: Box<dyn State>) -> Result<Box<T>> {
    (state as Box<dyn Any>).downcast().map_err(|_| foreign())
}
#[cold]
fn foreign() -> Error {
    Error::FailedFunction("the partial result is not one of this function".into())
}
