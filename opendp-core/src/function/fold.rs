//! Stages that fold rows into a value, and their partial results.

use std::{any::Any, fmt, marker::PhantomData, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::label::Label;
use super::rows::{RowsStage, Run};
use super::stage::{Stage, absorb};
use crate::erased::{AnyChunk, AnyValue};
use crate::{Carrier, Error, Result};

/// The definition of a fold. A fold adds rows to a state. After the last row, the fold computes a
/// value from the state.
///
/// If [`in_order`](Fold::in_order) returns `false`, the merge of states must be exact. The result
/// of the merge must not depend on the order or the grouping of the states. The same multiset of
/// rows must give the same bits for every division into chunks. For example, a fold of floats
/// rounds each row to a multiple of a fixed unit, and adds these multiples exactly as integers.
///
/// If the fold depends on the order of the rows, `in_order` must return `true`. For such a fold, it
/// is enough that the same sequence of rows always gives the same bits.
pub trait Fold<I: Carrier, O: Carrier>: Send + Sync + 'static {
    /// The state of a fold that has absorbed some rows.
    type State: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// Return a text that distinguishes this fold from other folds, and from the same fold with
    /// other parameters. The text is compared to detect states that belong to another fold.
    ///
    /// The text does not include the steps before the fold or the spaces of the steps. The text
    /// must be the same in every process.
    fn label(&self) -> String;
    /// Make the state of a fold that has not absorbed any rows yet.
    fn start(&self) -> Self::State;
    /// Add a chunk of rows to a state.
    ///
    /// # Errors
    /// An error must not depend on the data.
    fn absorb(&self, state: &mut Self::State, rows: I::Chunk<'_>) -> Result<()>;
    /// Merge the state `other` into `state`. Then `state` has absorbed the rows of both states.
    ///
    /// # Errors
    /// An error when the other state belongs to another fold.
    fn merge(&self, state: &mut Self::State, other: Self::State) -> Result<()>;
    /// Compute the value of the fold for all rows that a state has absorbed.
    ///
    /// # Errors
    /// An error must not depend on the data.
    fn finish(&self, state: Self::State) -> Result<O>;
    /// Return whether this fold gives the same bits for rows and for their
    /// [`projection`](crate::Function::projection) to `set`. If the result is `true`, the
    /// projection before the fold is skipped.
    ///
    /// If the result is `true`, the bits must also be the same for rows outside of the fold's
    /// domain.
    fn projects(&self, set: &dyn Any) -> bool {
        let _ = set;
        false
    }
    /// Return whether the order of the rows matters. If the order matters, the chunks of a slice or
    /// a stream are absorbed in order. A fold that depends on the order has no partial results,
    /// because partial results can be merged in any order.
    fn in_order(&self) -> bool {
        false
    }
}

/// A partial result: the state of a function after some rows.
///
/// Partial results can be made on several machines, written as bytes, merged in any order, and
/// finished once. There is one exception: if the function draws a secret sample of the rows, its
/// partial results cannot be written as bytes. Partial results contain unprotected data. So every
/// channel that transfers partial results must be trusted.
///
/// Absorb each chunk once, and merge each partial result once. Some queues deliver a message twice.
/// If the same bytes are merged twice, their rows count twice. A row then changes the result by
/// more than the map states, so the loss is larger than the map states. This mistake is not
/// noticed. So give each part an id, and skip a part whose id was merged before. Also finish a
/// partial result of a measurement only once, because each call makes another release.
///
/// A partial result contains the label of its function. The label contains the fold, and the steps
/// before the fold with their arguments. In a transformation or a measurement, the label also
/// contains the input spaces of these steps and of the fold. Only a function with the same label
/// accepts the partial result. Steps after the fold are not in the label. Another process can
/// resume the partial result if this other process builds a function with the same label. If the
/// code of a step before the fold is a closure, this step needs its own label. See
/// [`labelled`](crate::Function::labelled).
///
/// ```
/// # use opendp_core::{Fold, Function, Result};
/// struct Count;
/// impl Fold<Vec<i32>, u64> for Count {
///     type State = u64;
///     fn label(&self) -> String { "count".into() }
///     fn start(&self) -> u64 { 0 }
///     fn absorb(&self, n: &mut u64, rows: &[i32]) -> Result<()> {
///         *n += rows.len() as u64;
///         Ok(())
///     }
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
    state: AnyState,
    fold: Arc<dyn FoldStage>,
    label: Label,
    types: PhantomData<fn(&I) -> O>,
}
impl<I: Carrier, O: Carrier> Partial<I, O> {
    pub(super) fn new(state: AnyState, fold: &Arc<dyn FoldStage>, label: &Label) -> Self {
        Partial { state, fold: fold.clone(), label: label.clone(), types: PhantomData }
    }
    /// Add a chunk of rows to the partial result.
    ///
    /// # Errors
    /// The errors of the stages.
    pub fn absorb(&mut self, rows: &I) -> Result<()> {
        absorb(&*self.fold, &mut *self.state, AnyChunk::of(rows))
    }
    /// Merge another partial result of the same function into this partial result. Then this
    /// partial result covers the rows of both partial results.
    ///
    /// # Precondition
    /// Both partial results have different rows of the data. If they have a row in common, for
    /// example because the same bytes are merged twice, this row counts twice. Then the loss of a
    /// release is larger than the stated loss.
    ///
    /// # Errors
    /// `FailedFunction` when `other` belongs to another function. `NotImplemented` when the
    /// function draws a secret sample, unless `other` comes from the same function object or from a
    /// clone of this object. A random number replaces the missing label of a step: `NoEntropy` when
    /// it cannot be drawn.
    pub fn merge(&mut self, mut other: Self) -> Result<()> {
        if !self.label.same(&other.label)? {
            return Err(self.label.foreign());
        }
        self.fold.merge(&mut *self.state, &mut *other.state)
    }
    /// Write the partial result as bytes.
    ///
    /// # Errors
    /// `FailedFunction` when the state cannot be serialized. `NotImplemented` when the function
    /// draws a secret sample. A random number replaces the missing label of a step: `NoEntropy`
    /// when it cannot be drawn.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        seal(self.label.text()?.to_owned(), self.fold.save(&*self.state)?)
    }
    /// Return the value of the function for all absorbed rows.
    ///
    /// # Errors
    /// The errors of the stages.
    pub fn finish(mut self) -> Result<O> {
        AnyValue::downcast_result(self.fold.finish(&mut *self.state))
    }
}
impl<O: Carrier> Partial<AnyValue, O> {
    /// Add a chunk of rows to the partial result of an erased function. The rows are a typed value
    /// that the caller still owns. An erased value can have several owners, but a typed value has
    /// only one owner. So the caller can always reuse the memory of the typed value for the next
    /// chunk.
    ///
    /// # Errors
    /// The errors of the stages. `FailedCast` when the function takes rows of another type.
    pub fn absorb_typed<T: Carrier>(&mut self, rows: &T) -> Result<()> {
        absorb(&*self.fold, &mut *self.state, AnyChunk::of(rows))
    }
}
impl<I: Carrier, O: Carrier> fmt::Debug for Partial<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Partial({} -> {})", I::type_name(), O::type_name())
    }
}

/// The state of a fold in one run, with its type erased. Only the same fold can recover the type.
pub(crate) type AnyState = Box<dyn Any + Send + Sync>;

/// The definition of a fold, shared by all runs. Code that uses a `FoldStage` is compiled once for
/// all types of rows. Only [`Leaf`] depends on these types.
///
/// A method returns an error if its argument does not have the type of the states of this fold.
pub(crate) trait FoldStage: Send + Sync {
    /// See [`Fold::label`].
    fn label(&self) -> String;
    fn start(&self) -> AnyState;
    fn absorb(&self, state: &mut dyn Any, chunk: AnyChunk<'_>) -> Result<()>;
    /// Merge the state `other`, which the caller does not use afterwards, into `state`.
    fn merge(&self, state: &mut dyn Any, other: &mut dyn Any) -> Result<()>;
    /// Finish a state that the caller does not use afterwards.
    fn finish(&self, state: &mut dyn Any) -> Result<AnyValue>;
    fn save(&self, state: &dyn Any) -> Result<Box<RawValue>>;
    fn load(&self, state: &RawValue) -> Result<AnyState>;
    /// See [`Fold::projects`].
    fn projects(&self, set: &dyn Any) -> bool {
        let _ = set;
        false
    }
    /// See [`Fold::in_order`].
    fn in_order(&self) -> bool;
}

/// A single fold with typed rows. Its states are `Option`s, so that a state can be moved out of a
/// box.
struct Leaf<F, I, O>(F, PhantomData<fn(&I) -> O>);
/// Erase the types of a fold.
pub(crate) fn leaf<F: Fold<I, O>, I: Carrier, O: Carrier>(fold: F) -> Arc<dyn FoldStage> {
    Arc::new(Leaf(fold, PhantomData))
}
fn boxed<S: Send + Sync + 'static>(state: S) -> AnyState {
    Box::new(Some(state))
}
fn open<S: 'static>(state: &mut dyn Any) -> Option<&mut S> {
    match state.downcast_mut() {
        Some(Some(state)) => Some(state),
        _ => None,
    }
}
fn take<S: 'static>(state: &mut dyn Any) -> Option<S> {
    match state.downcast_mut::<Option<S>>() {
        Some(state) => state.take(),
        None => None,
    }
}
fn both<'a, S: 'static>(state: &'a mut dyn Any, other: &mut dyn Any) -> Option<(&'a mut S, S)> {
    Some((open(state)?, take(other)?))
}
fn saved<S: Serialize + 'static>(state: &dyn Any) -> Result<Box<RawValue>> {
    match state.downcast_ref::<Option<S>>() {
        Some(Some(state)) => written(serde_json::value::to_raw_value(state)),
        _ => Err(foreign()),
    }
}
fn loaded<S: DeserializeOwned + Send + Sync + 'static>(state: &RawValue) -> Result<AnyState> {
    match serde_json::from_str::<S>(state.get()) {
        Ok(state) => Ok(boxed(state)),
        Err(_) => Err(foreign()),
    }
}
impl<F: Fold<I, O>, I: Carrier, O: Carrier> FoldStage for Leaf<F, I, O> {
    fn label(&self) -> String {
        self.0.label()
    }
    fn start(&self) -> AnyState {
        boxed(self.0.start())
    }
    fn absorb(&self, state: &mut dyn Any, chunk: AnyChunk<'_>) -> Result<()> {
        let Some(state) = open(state) else { return Err(foreign()) };
        let Some(rows) = I::view(chunk) else { return Err(chunk.another(I::type_name)) };
        self.0.absorb(state, rows)
    }
    fn merge(&self, state: &mut dyn Any, other: &mut dyn Any) -> Result<()> {
        match both(state, other) {
            Some((state, other)) => self.0.merge(state, other),
            None => Err(foreign()),
        }
    }
    fn finish(&self, state: &mut dyn Any) -> Result<AnyValue> {
        let Some(state) = take(state) else { return Err(foreign()) };
        AnyValue::of_result(self.0.finish(state))
    }
    fn save(&self, state: &dyn Any) -> Result<Box<RawValue>> {
        saved::<F::State>(state)
    }
    fn load(&self, state: &RawValue) -> Result<AnyState> {
        loaded::<F::State>(state)
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.0.projects(set)
    }
    fn in_order(&self) -> bool {
        self.0.in_order()
    }
}

/// A serialized partial result: the label of the function, and the state of the fold.
#[derive(Serialize, Deserialize)]
struct Saved {
    fold: String,
    state: Box<RawValue>,
}
fn seal(fold: String, state: Box<RawValue>) -> Result<Vec<u8>> {
    written(serde_json::to_vec(&Saved { fold, state }))
}
fn written<T>(bytes: serde_json::Result<T>) -> Result<T> {
    bytes.map_err(|_| Error::FailedFunction("the state of a fold cannot be serialized".into()))
}
/// Load a state that was written by [`Partial::to_bytes`].
pub(crate) fn load(fold: &dyn FoldStage, label: &Label, bytes: &[u8]) -> Result<AnyState> {
    let saved: Saved = serde_json::from_slice(bytes).map_err(|_| foreign())?;
    if saved.fold != label.text()? {
        return Err(label.foreign());
    }
    // Merge the saved state into an empty state. The result is equal to the saved state. The merge
    // also checks the form of the saved state, and gives an error if the form is wrong.
    let mut state = fold.start();
    fold.merge(&mut *state, &mut *fold.load(&saved.state)?)?;
    Ok(state)
}

/// A function of rows and then a fold, in one pass.
pub(crate) struct AfterRows(pub(crate) Arc<dyn RowsStage>, pub(crate) Arc<dyn FoldStage>);
struct AfterRowsState {
    rows: Box<dyn Run>,
    buffer: AnyValue,
    inner: AnyState,
}
impl AfterRows {
    fn state(&self, inner: AnyState) -> AnyState {
        boxed(AfterRowsState { rows: self.0.start(), buffer: AnyValue::buffer(), inner })
    }
}
impl FoldStage for AfterRows {
    fn label(&self) -> String {
        self.1.label()
    }
    fn start(&self) -> AnyState {
        self.state(self.1.start())
    }
    fn absorb(&self, state: &mut dyn Any, chunk: AnyChunk<'_>) -> Result<()> {
        let state: &mut AfterRowsState = open(state).ok_or_else(foreign)?;
        state.buffer.reset();
        state.rows.append(chunk, &mut state.buffer)?;
        self.1.absorb(&mut *state.inner, state.buffer.chunk())
    }
    fn merge(&self, state: &mut dyn Any, other: &mut dyn Any) -> Result<()> {
        let state: &mut AfterRowsState = open(state).ok_or_else(foreign)?;
        let other: &mut AfterRowsState = open(other).ok_or_else(foreign)?;
        self.1.merge(&mut *state.inner, &mut *other.inner)
    }
    fn finish(&self, state: &mut dyn Any) -> Result<AnyValue> {
        let state: &mut AfterRowsState = open(state).ok_or_else(foreign)?;
        self.1.finish(&mut *state.inner)
    }
    fn save(&self, state: &dyn Any) -> Result<Box<RawValue>> {
        match state.downcast_ref::<Option<AfterRowsState>>() {
            Some(Some(state)) => self.1.save(&*state.inner),
            _ => Err(foreign()),
        }
    }
    fn load(&self, state: &RawValue) -> Result<AnyState> {
        Ok(self.state(self.1.load(state)?))
    }
    fn in_order(&self) -> bool {
        self.1.in_order()
    }
}

/// A fold and then any function of its value. The states of the combined function are the states of
/// the fold.
pub(crate) struct ThenStage(pub(crate) Arc<dyn FoldStage>, pub(crate) Stage);
impl FoldStage for ThenStage {
    fn label(&self) -> String {
        self.0.label()
    }
    fn start(&self) -> AnyState {
        self.0.start()
    }
    fn absorb(&self, state: &mut dyn Any, chunk: AnyChunk<'_>) -> Result<()> {
        self.0.absorb(state, chunk)
    }
    fn merge(&self, state: &mut dyn Any, other: &mut dyn Any) -> Result<()> {
        self.0.merge(state, other)
    }
    fn finish(&self, state: &mut dyn Any) -> Result<AnyValue> {
        self.1.call(self.0.finish(state)?)
    }
    fn save(&self, state: &dyn Any) -> Result<Box<RawValue>> {
        self.0.save(state)
    }
    fn load(&self, state: &RawValue) -> Result<AnyState> {
        self.0.load(state)
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.0.projects(set)
    }
    fn in_order(&self) -> bool {
        self.0.in_order()
    }
}

#[cold]
pub(super) fn foreign() -> Error {
    Error::FailedFunction("the partial result belongs to another function".into())
}
