//! Functions as stages: one definition runs on a slice, on all cores, and over a stream.

mod fold;
mod label;
mod map;
mod rows;

use std::{any::Any, fmt, ops::Range, sync::Arc};

use rayon::prelude::*;

use fold::{AfterRows, AnyState, FoldStage, ThenStage, leaf, load};
pub use fold::{Fold, Partial};
use label::Label;
use map::{Last, MapLeaf, MapStage, TypedMap};
use rows::{Projection, RowsLeaf, RowsStage, Run, Sequence};

use crate::erased::space::ErasedSpace;
use crate::erased::{AnyChunk, AnyRef, AnyValue};
use crate::{CHUNK_ROWS, Carrier, Chunk, Error, Result};

/// Data sets of at least this many rows are folded on all cores.
const PARALLEL_ROWS: usize = 1 << 17;

/// A function from `I` to `O`, stored as one fused stage.
///
/// A function is written as one of three kinds of stage, and [`then`](Function::then) fuses
/// stages as they are appended:
///
/// | stage | what it is | examples |
/// |---|---|---|
/// | [`rows`](Function::rows) | a chunk of rows in, a chunk of rows out, each row alone | clamp, cast |
/// | [`fold`](Function::fold) | rows in, one value out, through a state | count, sum |
/// | [`map`](Function::map) | any value in, any value out | steps after a fold, noise |
///
/// Rows after rows, a fold after rows, and anything after a fold run in one pass over chunks of the
/// data that fit the cache, without an intermediate copy of the data. Such a function runs on all
/// cores and over a stream; a function that begins with a `map` needs its whole input at once.
///
/// The stages are erased; the types of a function state its input and output. So all code that
/// fuses and runs stages is compiled once, and types are looked up once per chunk of [`CHUNK_ROWS`]
/// rows.
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
#[derive(Clone)]
pub(crate) enum Stage {
    Rows(Arc<dyn RowsStage>, Label),
    Fold(Arc<dyn FoldStage>, Label),
    Map(Arc<dyn MapStage>),
}

impl<I: Carrier, O: Carrier> Function<I, O> {
    /// Make a function that acts on each row alone: it appends the rows for a chunk to a buffer.
    ///
    /// The rows that it appends for a chunk must be those that it would append for the rows of the
    /// chunk one at a time. After a fold, only this function and its clones accept its partial
    /// results, unless it is [`labelled`](Function::labelled).
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
    /// Describe in words which function of rows this is, including its arguments; this text
    /// replaces any earlier label. Partial results are told apart by it, so two different functions
    /// must have different texts, and the text must be the same in every process.
    ///
    /// A function made by [`rows`](Function::rows) has no label at first. Its partial results can
    /// then be merged and resumed only by itself and its clones, in the process that made it. A
    /// fold has the label of its [`Fold`]; a function that needs its whole input at once has no
    /// label.
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
    /// Those of the stages.
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
    /// Begin a partial result: it absorbs chunks, merges with others, travels as bytes, finishes.
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
    /// bytes are not a state of this function, which means the same steps with the same arguments
    /// up to the fold, from the same spaces. Steps after the fold may differ.
    pub fn resume(&self, bytes: &[u8]) -> Result<Partial<I, O>> {
        match &self.stage {
            Stage::Fold(fold, _) if fold.in_order() => Err(in_order_only()),
            Stage::Fold(fold, label) => Ok(Partial::new(load(&**fold, label, bytes)?, fold, label)),
            _ => Err(whole_only()),
        }
    }
}

impl<T: Carrier> Function<T, T> {
    /// Make a function that acts on each row alone, and moves it to the nearest of a set of rows.
    ///
    /// A fold that receives `set` and moves the rows there itself makes this stage unnecessary; see
    /// [`Fold::projects`].
    pub fn projection(
        set: impl Any + Send + Sync,
        append: impl for<'a> Fn(T::Chunk<'a>, &mut T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let leaf = RowsLeaf::new::<T, T>(append).into_set(Arc::new(set));
        Function::of(Stage::rows(leaf))
    }
}
impl Function<AnyValue, AnyValue> {
    /// Make a function of erased values of a stage.
    pub(crate) fn erased(stage: Stage) -> Self {
        Function { stage, run: Runner::Stage(Stage::eval_erased) }
    }
    /// Give types to the input and the output. They are checked when the function runs.
    pub(crate) fn typed<I: Carrier, O: Carrier>(&self) -> Function<I, O> {
        Function::of(self.stage.clone())
    }
}

impl Stage {
    fn label(&mut self, new: Label) {
        if let Stage::Rows(_, label) | Stage::Fold(_, label) = self {
            *label = new;
        }
    }
    fn within(&mut self, space: &dyn ErasedSpace) {
        if let Stage::Rows(_, label) | Stage::Fold(_, label) = self {
            *label = label.within(space.erased());
        }
    }
    fn rows(leaf: RowsLeaf) -> Self {
        Stage::Rows(Arc::new(leaf), Label::unlabelled())
    }
    /// Append a stage in one pass, if that is possible.
    fn then(&self, next: &Stage) -> Option<Stage> {
        match (self, next) {
            (Stage::Rows(first, label), Stage::Rows(second, more)) => {
                let both = Arc::new(Sequence(first.clone(), second.clone()));
                Some(Stage::Rows(both, label.then(more)))
            }
            (Stage::Rows(rows, label), Stage::Fold(fold, more)) => {
                Some(Stage::Fold(fold_after(rows, fold), label.then(more)))
            }
            (Stage::Fold(fold, label), _) => {
                Some(Stage::Fold(fold_then(fold.clone(), next.clone()), label.clone()))
            }
            _ => None,
        }
    }
    /// Run on a typed value.
    fn eval<I: Carrier, O: Carrier>(&self, input: &I) -> Result<O> {
        AnyValue::downcast_result(self.run(AnyRef::of(input)))
    }
    /// Run on an erased value, without copying it or erasing it again.
    fn eval_erased(&self, input: &AnyValue) -> Result<AnyValue> {
        match self {
            Stage::Map(map) => map.call_on(input),
            _ => self.pass(input.chunk()),
        }
    }
    fn run(&self, input: AnyRef<'_>) -> Result<AnyValue> {
        match self {
            Stage::Map(map) => map.call(&mut input.to_value()),
            _ => self.pass(input.chunk()),
        }
    }
    /// Run on an erased value that is not used afterwards.
    fn call(&self, mut input: AnyValue) -> Result<AnyValue> {
        match self {
            Stage::Map(map) => map.call(&mut input),
            _ => self.pass(input.chunk()),
        }
    }
    /// Run over all rows of a value.
    fn pass(&self, all: AnyChunk<'_>) -> Result<AnyValue> {
        let mut sink = self.open()?;
        sink.add(all)?;
        sink.close()
    }
    /// Begin a run over chunks.
    fn open(&self) -> Result<Sink<'_>> {
        match self {
            Stage::Map(_) => Err(whole_only()),
            Stage::Rows(rows, _) => {
                let (mut out, mut run) = (AnyValue::buffer(), rows.start());
                run.begin(&mut out)?;
                Ok(Sink::Rows(run, out))
            }
            Stage::Fold(fold, _) => Ok(Sink::Fold(&**fold, fold.start())),
        }
    }
}
/// A run over chunks, with its result so far.
enum Sink<'a> {
    Rows(Box<dyn Run>, AnyValue),
    Fold(&'a dyn FoldStage, AnyState),
}
impl Sink<'_> {
    fn add(&mut self, chunk: AnyChunk<'_>) -> Result<()> {
        match self {
            Sink::Rows(run, out) => ranges(chunk.rows(), CHUNK_ROWS)
                .try_for_each(|range| run.append(chunk.narrow(range), out)),
            Sink::Fold(fold, state) => absorb(*fold, &mut **state, chunk),
        }
    }
    fn close(self) -> Result<AnyValue> {
        match self {
            Sink::Rows(_, out) => Ok(out),
            Sink::Fold(fold, state) => fold.finish(state),
        }
    }
}

fn fold_stage<I: Carrier, X: Carrier>(fold: impl Fold<I, X>) -> Stage {
    let fold = leaf(fold);
    let label = Label::fold::<I, X>(&fold);
    Stage::Fold(fold, label)
}
fn fold_last(fold: Stage, last: &dyn Last) -> Stage {
    match fold {
        Stage::Fold(fold, label) => Stage::Fold(fold_then(fold, last.stage()), label),
        other => other,
    }
}
fn fold_then(fold: Arc<dyn FoldStage>, last: Stage) -> Arc<dyn FoldStage> {
    Arc::new(ThenStage(fold, last))
}
/// Rows, then a fold. Drop a last projection of the rows if the fold projects them itself.
fn fold_after(rows: &Arc<dyn RowsStage>, fold: &Arc<dyn FoldStage>) -> Arc<dyn FoldStage> {
    match rows.projection().filter(|projection| fold.projects(projection.set)) {
        // A projection alone does not change the type of the rows.
        Some(Projection { before: None, .. }) => fold.clone(),
        Some(Projection { before: Some(before), .. }) => Arc::new(AfterRows(before, fold.clone())),
        None => Arc::new(AfterRows(rows.clone(), fold.clone())),
    }
}

/// Feed all rows of a chunk to a state, on all cores if there are many and their order is
/// irrelevant.
///
/// Merging is exact and independent of order, so the result does not depend on the division.
fn absorb(fold: &dyn FoldStage, state: &mut dyn Any, all: AnyChunk<'_>) -> Result<()> {
    let (rows, threads) = (all.rows(), rayon::current_num_threads());
    if rows < PARALLEL_ROWS || threads == 1 || fold.in_order() {
        return ranges(rows, CHUNK_ROWS)
            .try_for_each(|range| fold.absorb(state, all.narrow(range)));
    }
    // Several parts per thread, so other threads can take over work from a slow one.
    let parts: Vec<_> = ranges(rows, rows.div_ceil(threads * 4).max(CHUNK_ROWS)).collect();
    let states = parts.into_par_iter().map(|part| {
        let (part, mut state) = (all.narrow(part), fold.start());
        ranges(part.rows(), CHUNK_ROWS)
            .try_for_each(|range| fold.absorb(&mut *state, part.narrow(range)))?;
        Ok(state)
    });
    for other in states.collect::<Result<Vec<_>>>()? {
        fold.merge(state, other)?;
    }
    Ok(())
}
fn ranges(rows: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows.div_ceil(size)).map(move |i| i * size..((i + 1) * size).min(rows))
}
#[cold]
fn in_order_only() -> Error {
    Error::NotImplemented(
        "the result depends on the order of the rows, so there are no partial results; invoke the \
         function on a slice or on a stream of chunks"
            .into(),
    )
}
#[cold]
fn whole_only() -> Error {
    Error::NotImplemented(
        "this function needs the whole data set at once; invoke it on a slice".into(),
    )
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
