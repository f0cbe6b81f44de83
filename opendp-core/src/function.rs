//! Functions as stages: one definition runs on a slice, on all cores, and over a stream.

mod fold;
mod rows;

use std::{any::Any, fmt, ops::Range, sync::Arc};

use rayon::prelude::*;

use fold::{AfterRows, Leaf, ThenFunction};
pub use fold::{Fold, Partial};
pub(crate) use fold::{FoldStage, State, same};
pub(crate) use rows::{Projection, RowsStage, Run};
use rows::{RowsLeaf, Sequence};

use crate::{CHUNK_ROWS, Carrier, Chunk, Error, Result};

/// Data sets of at least this many rows are folded on all cores.
const PARALLEL_ROWS: usize = 1 << 17;

/// A function from `I` to `O`, as the stage that its stages fuse to.
///
/// A function is written as one of three kinds of stage, and [`then`](Function::then) fuses
/// stages as they are appended:
///
/// | stage | what it is | examples |
/// |---|---|---|
/// | [`rows`](Function::rows) | a chunk of rows in, a chunk of rows out, each row alone | clamp, cast |
/// | [`fold`](Function::fold) | rows in, one value out, through a state | count, sum |
/// | [`map`](Function::map) | any value in, any value out | what follows a fold, noise |
///
/// Rows after rows, a fold after rows, and anything after a fold are one pass over chunks of the
/// data that fit the cache, without a copy of the data in between. Such a function runs on all
/// cores and over a stream; one that begins with a `map` needs its input whole.
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
    pub(crate) stage: Stage<I, O>,
}
/// What a `map` stage does to a value.
type Whole<I, O> = dyn Fn(&I) -> Result<O> + Send + Sync;
pub(crate) enum Stage<I: Carrier, O: Carrier> {
    Rows(Arc<dyn RowsStage<I, O>>),
    Fold(Arc<dyn FoldStage<I, O>>),
    Map(Arc<Whole<I, O>>),
}

impl<I: Carrier, O: Carrier> Function<I, O> {
    /// Make a function that acts on each row alone: it appends the rows for a chunk to a buffer.
    ///
    /// What it appends for a chunk must be what it would append for its rows one at a time.
    pub fn rows(
        append: impl for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Function { stage: Stage::Rows(Arc::new(RowsLeaf::new(append))) }
    }
    /// Make a function that acts on each row alone, and whose output begins as `empty`, which has
    /// no rows: it says what the output is like where there are no rows to tell, as the columns of a
    /// frame are.
    pub fn rows_onto(
        empty: O,
        append: impl for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Function { stage: Stage::Rows(Arc::new(RowsLeaf::new(append).onto(empty))) }
    }
    /// Make a function that folds rows into a value.
    pub fn fold(fold: impl Fold<I, O>) -> Self {
        Function { stage: Stage::Fold(Arc::new(Leaf(Arc::new(fold)))) }
    }
    /// Make a function that needs its input whole.
    pub fn map(function: impl Fn(&I) -> Result<O> + Send + Sync + 'static) -> Self {
        Function { stage: Stage::Map(Arc::new(function)) }
    }
    /// Append a function: this one, then `next`.
    ///
    /// A [`projection`](Function::projection) is left out before a fold that
    /// [`projects`](Fold::projects) its rows itself.
    pub fn then<P: Carrier>(&self, next: &Function<O, P>) -> Function<I, P> {
        let stage = match (&self.stage, &next.stage) {
            (Stage::Rows(first), Stage::Rows(second)) => {
                Stage::Rows(Arc::new(Sequence(first.clone(), second.clone())))
            }
            (Stage::Rows(rows), Stage::Fold(fold)) => Stage::Fold(fold_after(rows, fold)),
            (Stage::Fold(fold), _) => {
                Stage::Fold(Arc::new(ThenFunction(fold.clone(), next.clone())))
            }
            _ => {
                let (first, second) = (self.clone(), next.clone());
                Stage::Map(Arc::new(move |input| second.eval(&first.eval(input)?)))
            }
        };
        Function { stage }
    }

    /// Run on a value, on all cores when it has many rows.
    ///
    /// # Errors
    /// Those of the stages.
    pub fn eval(&self, input: &I) -> Result<O> {
        match &self.stage {
            Stage::Map(function) => function(input),
            Stage::Rows(rows) => {
                let (all, mut out, mut run) = (input.chunk(), O::buffer(), rows.start());
                run.begin(&mut out)?;
                for range in ranges(all.rows(), CHUNK_ROWS) {
                    run.append(all.narrow(range), &mut out)?;
                }
                Ok(out)
            }
            Stage::Fold(fold) => {
                let mut state = fold.start();
                absorb(&**fold, &mut *state, input.chunk())?;
                state.finish()
            }
        }
    }
    /// Whether the function can run over a stream of chunks.
    pub fn streams(&self) -> bool {
        !matches!(self.stage, Stage::Map(_))
    }
    /// Run over a stream of chunks, in memory that does not grow with it when the rows are folded.
    ///
    /// The result is the same, to the bit, however the rows are divided into chunks.
    ///
    /// # Errors
    /// `NotImplemented` when the function needs its input whole.
    pub fn eval_chunks(&self, chunks: impl IntoIterator<Item = Result<I>>) -> Result<O> {
        match &self.stage {
            Stage::Map(_) => Err(whole_only()),
            Stage::Rows(rows) => {
                let (mut out, mut run) = (O::buffer(), rows.start());
                run.begin(&mut out)?;
                for chunk in chunks {
                    let chunk = chunk?;
                    let all = chunk.chunk();
                    for range in ranges(all.rows(), CHUNK_ROWS) {
                        run.append(all.narrow(range), &mut out)?;
                    }
                }
                Ok(out)
            }
            Stage::Fold(fold) => {
                let mut partial = Partial { state: fold.start(), fold: fold.clone() };
                for chunk in chunks {
                    partial.absorb(&chunk?)?;
                }
                partial.finish()
            }
        }
    }
    /// Begin a partial result: it absorbs chunks, merges with others, travels as bytes, finishes.
    ///
    /// # Errors
    /// `NotImplemented` unless the function folds its rows, whatever their order.
    pub fn start(&self) -> Result<Partial<I, O>> {
        match &self.stage {
            Stage::Fold(fold) if fold.in_order() => Err(in_order_only()),
            Stage::Fold(fold) => Ok(Partial { state: fold.start(), fold: fold.clone() }),
            _ => Err(whole_only()),
        }
    }
    /// Take up a partial result that was written by [`Partial::to_bytes`], maybe elsewhere.
    ///
    /// # Errors
    /// `NotImplemented` unless the function folds its rows, whatever their order; `FailedFunction`
    /// when the bytes are not a state of this function.
    pub fn resume(&self, bytes: &[u8]) -> Result<Partial<I, O>> {
        match &self.stage {
            Stage::Fold(fold) if fold.in_order() => Err(in_order_only()),
            Stage::Fold(fold) => Ok(Partial { state: fold.load(bytes)?, fold: fold.clone() }),
            _ => Err(whole_only()),
        }
    }
}

impl<T: Carrier> Function<T, T> {
    /// Make a function that acts on each row alone, and moves it to the nearest of a set of rows.
    ///
    /// A fold that is told `set`, and moves the rows there itself, spares this stage; see
    /// [`Fold::projects`].
    pub fn projection(
        set: impl Any + Send + Sync,
        append: impl for<'a> Fn(T::Chunk<'a>, &mut T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Function { stage: Stage::Rows(Arc::new(RowsLeaf::new(append).into_set(set))) }
    }
}

/// Rows, then a fold, without a last projection of the rows that the fold does itself.
fn fold_after<I: Carrier, X: Carrier, O: Carrier>(
    rows: &Arc<dyn RowsStage<I, X>>,
    fold: &Arc<dyn FoldStage<X, O>>,
) -> Arc<dyn FoldStage<I, O>> {
    let spared = rows.projection().filter(|projection| fold.projects(projection.set));
    if let Some(Projection { before: Some(before), .. }) = spared {
        return Arc::new(AfterRows(before, fold.clone()));
    }
    // A projection alone does not change the type of the rows.
    match (fold as &dyn Any).downcast_ref::<Arc<dyn FoldStage<I, O>>>() {
        Some(fold) if spared.is_some() => fold.clone(),
        _ => Arc::new(AfterRows(rows.clone(), fold.clone())),
    }
}

/// Feed all rows of a chunk to a state, on all cores when there are many and any order will do.
///
/// Merging is exact and independent of order, so the result does not depend on the division.
fn absorb<I: Carrier, O: Carrier>(
    fold: &dyn FoldStage<I, O>,
    state: &mut dyn State<I, O>,
    all: I::Chunk<'_>,
) -> Result<()> {
    let (rows, threads) = (all.rows(), rayon::current_num_threads());
    if rows < PARALLEL_ROWS || threads == 1 || fold.in_order() {
        return ranges(rows, CHUNK_ROWS).try_for_each(|range| state.absorb(all.narrow(range)));
    }
    // A few parts for each thread, so that a slow one can be helped out.
    let parts: Vec<_> = ranges(rows, rows.div_ceil(threads * 4).max(CHUNK_ROWS)).collect();
    let states = parts.into_par_iter().map(|part| {
        let (part, mut state) = (all.narrow(part), fold.start());
        ranges(part.rows(), CHUNK_ROWS).try_for_each(|range| state.absorb(part.narrow(range)))?;
        Ok(state)
    });
    for other in states.collect::<Result<Vec<_>>>()? {
        state.merge(other)?;
    }
    Ok(())
}
fn ranges(rows: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows.div_ceil(size)).map(move |i| i * size..((i + 1) * size).min(rows))
}
#[cold]
fn in_order_only() -> Error {
    Error::NotImplemented(
        "the order of the rows counts, so partial results, which may be merged in any order, do not \
         exist; invoke this on a slice or on a stream of chunks"
            .into(),
    )
}
#[cold]
fn whole_only() -> Error {
    Error::NotImplemented(
        "this function does not fold its rows, so it needs the whole data set at once".into(),
    )
}

impl<I: Carrier, O: Carrier> Clone for Function<I, O> {
    fn clone(&self) -> Self {
        let stage = match &self.stage {
            Stage::Rows(rows) => Stage::Rows(rows.clone()),
            Stage::Fold(fold) => Stage::Fold(fold.clone()),
            Stage::Map(map) => Stage::Map(map.clone()),
        };
        Function { stage }
    }
}
impl<I: Carrier, O: Carrier> fmt::Debug for Function<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Rows(_) => "rows",
            Stage::Fold(_) => "fold",
            Stage::Map(_) => "map",
        };
        write!(f, "Function({} -> {}, {stage})", I::type_name(), O::type_name())
    }
}
