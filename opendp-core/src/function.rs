//! Functions as stages: one definition runs on a slice, on all cores, and over a stream.

mod fold;
mod label;
mod map;
mod rows;
mod stage;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use fold::load;
pub use fold::{Fold, Partial};
use label::Label;
use map::{MapLeaf, TypedMap};
use rows::RowsLeaf;
pub(crate) use stage::Stage;
use stage::{fold_last, fold_stage, in_order_only, whole_only};

use crate::erased::space::ErasedSpace;
use crate::erased::{AnyChunk, AnyValue};
use crate::{Carrier, Result};

/// A function from `I` to `O`, stored as one fused stage.
///
/// A function is written as one of three kinds of stage, and [`then`](Function::then) fuses
/// stages as they are appended:
///
/// | stage | what it is | examples |
/// |---|---|---|
/// | [`rows`](Function::rows) | maps a chunk of rows to a chunk of rows, each row alone | clamp,
/// cast |
/// | [`fold`](Function::fold) | rows in, one value out, through a state | count, sum |
/// | [`map`](Function::map) | any value in, any value out | steps after a fold, noise |
///
/// Three sequences of stages run in one pass over chunks of the data that fit the cache, without an
/// intermediate copy of the data: rows after rows, a fold after rows, and anything after a fold.
/// Such a function runs on all cores and over a stream; a function that begins with a `map` needs
/// its whole input at once.
///
/// The stages are erased; the types of a function state its input and output. So all code that
/// fuses and runs stages is compiled once, and types are looked up once per chunk of
/// [`CHUNK_ROWS`](crate::CHUNK_ROWS) rows.
///
/// ```
/// # use opendp_core::Function;
/// let double = Function::rows(|rows: &[i32], out: &mut Vec<i32>| {
///     out.extend(rows.iter().map(|x| 2 * x));
///     Ok(())
/// });
/// assert_eq!(double.eval(&vec![1, 2])?, [2, 4]);
/// assert!(double.streams());
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub struct Function<I: Carrier, O: Carrier> {
    stage: Stage,
    run: Runner<I, O>,
}
/// How a function runs.
enum Runner<I, O> {
    /// A `map` of typed values is called directly: nothing is erased, and no type is looked up.
    Typed(Arc<dyn TypedMap<I, O>>),
    Stage(fn(&Stage, &I) -> Result<O>),
}
impl<I: Carrier, O: Carrier> Function<I, O> {
    /// Make a function that acts on each row alone: it appends the rows for a chunk to a buffer.
    ///
    /// The rows that it appends for a chunk must be the same as if it got the rows of the chunk one
    /// at a time. If a fold follows, partial results can be merged only by this function and its
    /// clones, unless the function is [`labelled`](Function::labelled).
    pub fn rows(
        append: impl for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Function::of(Stage::rows(RowsLeaf::new::<I, O>(append)))
    }
    /// Make a function that acts on each row alone, and whose output starts as a copy of `empty`.
    /// `empty` has no rows; it fixes the shape of the output, such as the columns of a frame, for
    /// inputs without rows.
    pub fn rows_onto(
        empty: O,
        append: impl for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let leaf = RowsLeaf::new::<I, O>(append).onto(AnyValue::new(empty));
        Function::of(Stage::rows(leaf))
    }
    /// Make a function that folds rows into a value.
    pub fn fold(fold: impl Fold<I, O>) -> Self {
        Function::of(fold_stage(fold))
    }
    /// Make a function that folds rows into a value, and computes its output from that value.
    ///
    /// It is a fold and a map. Code that depends on the rows is compiled once for all choices of
    /// `last`.
    pub fn fold_then<X: Carrier>(fold: impl Fold<I, X>, last: fn(X) -> Result<O>) -> Self {
        Function::of(fold_last(fold_stage(fold), &last))
    }
    /// Make a function that needs its whole input at once.
    pub fn map<F: Fn(&I) -> Result<O> + Send + Sync + 'static>(function: F) -> Self {
        let leaf = Arc::new(MapLeaf::new(function));
        Function { stage: Stage::Map(leaf.clone()), run: Runner::Typed(leaf) }
    }
    /// Make a function of a stage from `I` to `O`.
    pub(crate) fn of(stage: Stage) -> Self {
        Function { stage, run: Runner::Stage(Stage::eval) }
    }
    pub(crate) fn stage(&self) -> &Stage {
        &self.stage
    }
    /// State a label: a text that describes this function of rows and its arguments. It replaces
    /// any earlier label. Partial results are distinguished by their labels. So two different
    /// functions must have different labels, and a label must be the same in every process.
    ///
    /// A function made by [`rows`](Function::rows) has no label at first. Its partial results can
    /// then be merged and resumed only in the same process, by this function and its clones. A fold
    /// has the label of its [`Fold`]; a function that needs its whole input at once has no label.
    ///
    /// ```
    /// # use opendp_core::Function;
    /// let times = |factor: i32| {
    ///     let times = Function::rows(move |rows: &[i32], out: &mut Vec<i32>| {
    ///         out.extend(rows.iter().map(|x| x.saturating_mul(factor)));
    ///         Ok(())
    ///     });
    ///     times.labelled(move || format!("times {factor}"))
    /// };
    /// assert_eq!(times(2).eval(&vec![1, 2])?, [2, 4]);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    #[must_use]
    pub fn labelled(mut self, text: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.stage.label(Label::words::<I, O>(Arc::new(text)));
        self
    }
    /// State the space that the function starts from. Partial results of functions that start from
    /// different spaces do not merge.
    pub(crate) fn within(&mut self, space: &dyn ErasedSpace) {
        self.stage.within(space);
    }
    /// Append a function: this one, then `next`.
    ///
    /// Skip a [`projection`](Function::projection) before a fold that [`projects`](Fold::projects)
    /// its rows itself.
    pub fn then<P: Carrier>(&self, next: &Function<O, P>) -> Function<I, P> {
        match self.stage.then(&next.stage) {
            Some(fused) => Function::of(fused),
            None => {
                let (first, second) = (self.clone(), next.clone());
                Function::map(move |input| second.eval(&first.eval(input)?))
            }
        }
    }
    /// Erase the types of the input and the output. The stages stay as they are.
    pub fn erase(&self) -> Function<AnyValue, AnyValue> {
        Function::erased(self.stage.clone())
    }

    /// Run on a value, on all cores when it has many rows.
    ///
    /// # Errors
    /// The errors of the stages.
    pub fn eval(&self, input: &I) -> Result<O> {
        match &self.run {
            Runner::Typed(map) => map.call_typed(input),
            Runner::Stage(run) => run(&self.stage, input),
        }
    }
    /// Whether the function can run over a stream of chunks.
    pub fn streams(&self) -> bool {
        !matches!(self.stage, Stage::Map(_))
    }
    /// Run over a stream of chunks. If the rows are folded, memory does not grow with the stream.
    ///
    /// The result is bit for bit the same for every division of the rows into chunks.
    ///
    /// # Errors
    /// `NotImplemented` when the function needs its whole input at once.
    pub fn eval_chunks(&self, chunks: impl IntoIterator<Item = Result<I>>) -> Result<O> {
        let mut sink = self.stage.open()?;
        for chunk in chunks {
            sink.add(AnyChunk::of(&chunk?))?;
        }
        sink.close()?.downcast()
    }
    /// Begin a partial result. It absorbs chunks, can be merged with other partial results and
    /// written as bytes, and is finished once.
    ///
    /// # Errors
    /// `NotImplemented` unless the function folds its rows in any order.
    pub fn start(&self) -> Result<Partial<I, O>> {
        match &self.stage {
            Stage::Fold(fold, _) if fold.in_order() => Err(in_order_only()),
            Stage::Fold(fold, label) => Ok(Partial::new(fold.start(), fold, label)),
            _ => Err(whole_only()),
        }
    }
    /// Resume a partial result that was written by [`Partial::to_bytes`], possibly on another
    /// machine.
    ///
    /// # Errors
    /// `NotImplemented` unless the function folds its rows in any order; `FailedFunction` when the
    /// bytes are not a state of this function. The function that wrote them must have started from
    /// the same space, and must have had the same steps with the same arguments up to the fold.
    /// Steps after the fold may differ.
    pub fn resume(&self, bytes: &[u8]) -> Result<Partial<I, O>> {
        match &self.stage {
            Stage::Fold(fold, _) if fold.in_order() => Err(in_order_only()),
            Stage::Fold(fold, label) => Ok(Partial::new(load(&**fold, label, bytes)?, fold, label)),
            _ => Err(whole_only()),
        }
    }
}

impl<T: Carrier> Function<T, T> {
    /// Make a function that moves each row to the nearest member of `set`.
    ///
    /// This stage is skipped if the next fold moves rows into `set` itself; see [`Fold::projects`].
    pub fn projection(
        set: impl Any + Send + Sync,
        append: impl for<'a> Fn(T::Chunk<'a>, &mut T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let leaf = RowsLeaf::new::<T, T>(append).into_set(Arc::new(set));
        Function::of(Stage::rows(leaf))
    }
}
impl Function<AnyValue, AnyValue> {
    /// Make a function on erased values from a stage.
    pub(crate) fn erased(stage: Stage) -> Self {
        Function { stage, run: Runner::Stage(Stage::eval_erased) }
    }
    /// Give types to the input and the output. They are checked when the function runs.
    pub(crate) fn typed<I: Carrier, O: Carrier>(&self) -> Function<I, O> {
        Function::of(self.stage.clone())
    }
}

impl<I: Carrier, O: Carrier> Clone for Function<I, O> {
    fn clone(&self) -> Self {
        Function { stage: self.stage.clone(), run: self.run.clone() }
    }
}
impl<I, O> Clone for Runner<I, O> {
    fn clone(&self) -> Self {
        match self {
            Runner::Typed(map) => Runner::Typed(map.clone()),
            Runner::Stage(run) => Runner::Stage(*run),
        }
    }
}
impl<I: Carrier, O: Carrier> fmt::Debug for Function<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Rows(..) => "rows",
            Stage::Fold(..) => "fold",
            Stage::Map(_) => "map",
        };
        write!(f, "Function({} -> {}, {stage})", I::type_name(), O::type_name())
    }
}
