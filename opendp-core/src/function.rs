//! Functions that consist of stages. A function that maps or folds rows has one definition, which
//! runs on a slice and over a stream of chunks. A fold of rows can also run on all cores.

mod fold;
mod label;
mod map;
mod rows;
mod stage;
mod threads;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use fold::load;
pub use fold::{Fold, Partial};
use label::Types;
use map::{MapLeaf, RowAt, RowsAt, row};
pub use rows::Rows;
use rows::{Body, RowsLeaf, begin, erased};
pub(crate) use stage::Stage;
use stage::{fold_last, fold_stage, in_order_only, no_fold};
pub use threads::with_threads;

use crate::erased::{AnyChunk, AnyRef, AnyValue, shared};
use crate::{Atom, Carrier, Result};

/// A function from `I` to `O`, stored as one stage. This stage can consist of several fused stages.
///
/// [`then`](Function::then) appends a stage. If possible, `then` fuses the new stage with the
/// stages before it, so that they run in one pass over the rows. There are three kinds of stages:
///
/// | stage | what it is | examples |
/// |---|---|---|
/// | [`rows`](Function::rows) | maps each row alone, chunk by chunk | clamp, cast |
/// | [`fold`](Function::fold) | adds rows to a state, and returns one value | count, sum |
/// | [`map`](Function::map) | maps a whole value to a value | steps after a fold, noise |
///
/// Three sequences of stages can be fused, and run in one pass: `rows` after `rows`, a `fold` after
/// `rows`, and any stage after a `fold`. The pass reads the data in small chunks, and each chunk
/// fits the cache. So the stages never store a whole intermediate data set. A function runs over a
/// stream if its first stage is a `rows` or a `fold`, and all its stages run in one pass. Any other
/// function needs its whole input at once. If a function has a fold that does not depend on the
/// order of the rows, the function folds large data sets on all cores.
///
/// The types of the stages are erased. Only the function states the types of its input and its
/// output. So all code that fuses and runs stages is compiled once. Types are looked up once per
/// chunk of [`CHUNK_ROWS`](crate::CHUNK_ROWS) rows.
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
    pub(crate) stage: Stage,
    /// The code that runs the stage. If the stage is a `map` of typed values, this code does not
    /// erase the values.
    pub(crate) run: fn(&Stage, &I) -> Result<O>,
}
impl<I: Carrier, O: Carrier> Function<I, O> {
    /// Make a function that acts on each row alone. `append` appends the output rows of a chunk to
    /// a buffer.
    ///
    /// The output rows must not depend on the division of the input into chunks. Suppose that this
    /// function is not [`labelled`](Function::labelled), and that a fold follows. Then partial
    /// results can be merged only if they come from this function or its clones.
    pub fn rows(
        append: impl for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let stage = Stage::rows(erased::<I, O>(append), begin::<O>);
        Function { stage, run: Stage::eval }
    }
    /// Make a function as [`rows`](Function::rows) does, from a constant. So each choice of types
    /// needs less compiled code than with `rows`.
    ///
    /// ```
    /// # use opendp_core::{Function, Result, Rows};
    /// fn double(rows: &[i32], out: &mut Vec<i32>) -> Result<()> {
    ///     out.extend(rows.iter().map(|x| 2 * x));
    ///     Ok(())
    /// }
    /// let double = Function::<Vec<i32>, _>::rows_static(const { &Rows::new(double) });
    /// assert_eq!(double.eval(&vec![1, 2])?, [2, 4]);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn rows_static<F>(rows: &'static Rows<F, I, O>) -> Self
    where
        F: for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync,
    {
        Function { stage: Stage::rows(Body::Static(rows), begin::<O>), run: Stage::eval }
    }
    /// Make a function that acts on each row alone. The output starts as a copy of `empty`, which
    /// has no rows. So even if the input has no rows, the output has the right form, such as the
    /// columns of a frame.
    pub fn rows_onto(
        empty: O,
        append: impl for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let leaf = RowsLeaf::new(erased::<I, O>(append), begin::<O>);
        Function::of(Stage::leaf_of(leaf.onto(AnyValue::new(empty))))
    }
    /// Make a function that folds rows into a value.
    pub fn fold(fold: impl Fold<I, O>) -> Self {
        Function::of(fold_stage(fold))
    }
    /// Make a function that folds rows into a value. `last` then computes the output from this
    /// value.
    ///
    /// The result is a `fold` and then a `map`. Code that depends on the type of the rows is
    /// compiled only once, and not once for each function `last`.
    pub fn fold_then<X: Carrier>(fold: impl Fold<I, X>, last: fn(X) -> Result<O>) -> Self {
        Function::of(fold_last(fold_stage(fold), &last))
    }
    /// Make a function that needs its whole input at once.
    pub fn map<F: Fn(&I) -> Result<O> + Send + Sync + 'static>(function: F) -> Self {
        let leaf = Arc::new(MapLeaf::new(function));
        Function { stage: Stage::Map(leaf), run: MapLeaf::<F, I, O>::eval }
    }
    /// Make a function from a stage. The stage must take an `I` and return an `O`.
    pub(crate) fn of(stage: Stage) -> Self {
        Function { stage, run: Stage::eval }
    }
    /// Set the label of this function of rows. The label is a text that describes the function and
    /// its arguments. The new label replaces any earlier label. The library distinguishes the
    /// partial results of different functions by the labels. So two different functions must have
    /// different labels. The label of a function must be the same in every process.
    ///
    /// A function made by [`rows`](Function::rows) has no label at first. Without a label, only
    /// this function and its clones can merge and resume the partial results, and only in the same
    /// process. A function of a fold has the label that [`Fold::label`] returns. A function that
    /// needs its whole input at once has no label.
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
    pub fn labelled(self, text: impl Fn() -> String + Send + Sync + 'static) -> Self {
        let types = Types(I::type_name, O::type_name);
        Function { stage: self.stage.labelled(shared(text), types), run: self.run }
    }
    /// State that this function of rows draws a secret random sample of the rows.
    ///
    /// The loss of a release on a secret sample is smaller than the loss of a release on all rows.
    /// Releases on samples compose only if each release draws a new sample. So a partial result
    /// that contains a sample must be finished only once. For this reason, partial results of this
    /// function, and of functions that contain it, cannot be written as bytes. These partial
    /// results can be merged only with partial results of the same object and its clones. A label
    /// does not remove these restrictions.
    #[must_use]
    pub fn with_secret_sample(self) -> Self {
        Function { stage: self.stage.with_secret_sample(), run: self.run }
    }
    /// Append a function: `next` runs on the output of this function.
    ///
    /// This function can end with a [`projection`](Function::projection) of the rows to a set. If
    /// `next` is a fold that [`projects`](Fold::projects) its rows to the same set, the projection
    /// of this function is removed.
    pub fn then<P: Carrier>(&self, next: &Function<O, P>) -> Function<I, P> {
        Function::of(self.stage.then(&next.stage))
    }
    /// Erase the types of the input and the output. The stages do not change.
    pub fn erase(&self) -> Function<AnyValue, AnyValue> {
        Function::erased(self.stage.clone())
    }

    /// Run the function on a value. If the function folds many rows and their order is irrelevant,
    /// run on all cores.
    ///
    /// # Errors
    /// The errors of the stages.
    pub fn eval(&self, input: &I) -> Result<O> {
        (self.run)(&self.stage, input)
    }
    /// Return whether the function can run over a stream of chunks.
    pub fn streams(&self) -> bool {
        !matches!(self.stage, Stage::Map(_))
    }
    /// Run the function over a stream of chunks. If the function folds rows, only the state of the
    /// fold can grow with the length of the stream.
    ///
    /// The result is bit for bit the same for every division of the rows into chunks. If the data
    /// has no rows, pass one chunk without rows. This chunk still has the form of the data, such as
    /// the columns of a frame. A stream without chunks does not have this form.
    ///
    /// # Errors
    /// `NotImplemented` when the function needs its whole input at once. `eval_chunks` also returns
    /// the errors of the stages and of the stream.
    pub fn eval_chunks(&self, chunks: impl IntoIterator<Item = Result<I>>) -> Result<O> {
        let mut sink = self.stage.open()?;
        for chunk in chunks {
            sink.add(AnyChunk::of(&chunk?))?;
        }
        sink.close()?.downcast()
    }
    /// Begin a partial result. A partial result absorbs chunks, can be merged with other partial
    /// results, and can be written as bytes. At the end, finish the partial result once.
    ///
    /// # Errors
    /// `NotImplemented` if the function does not fold its rows, or if the order of the rows
    /// matters.
    pub fn start(&self) -> Result<Partial<I, O>> {
        match &self.stage {
            Stage::Fold(fold, _) if fold.in_order() => Err(in_order_only()),
            Stage::Fold(fold, label) => Ok(Partial::new(fold.start(), fold, label)),
            _ => Err(no_fold()),
        }
    }
    /// Resume a partial result that was written by [`Partial::to_bytes`], possibly on another
    /// machine.
    ///
    /// # Errors
    /// `NotImplemented` if the function does not fold its rows, if the order of the rows matters,
    /// or if the function draws a secret sample. `NoEntropy` when no random number can be drawn for
    /// a step without a label. `FailedFunction` when the bytes are not a state of this function.
    /// The function that wrote the bytes must have the same input space as this function. Up to the
    /// fold, both functions must have the same steps with the same arguments. Steps after the fold
    /// can differ.
    pub fn resume(&self, bytes: &[u8]) -> Result<Partial<I, O>> {
        match &self.stage {
            Stage::Fold(fold, _) if fold.in_order() => Err(in_order_only()),
            Stage::Fold(fold, label) => Ok(Partial::new(load(&**fold, label, bytes)?, fold, label)),
            _ => Err(no_fold()),
        }
    }
}

impl<T: Carrier> Function<T, T> {
    /// Make a function that moves each row to the nearest member of `set`.
    ///
    /// If the next stage is a fold that moves its rows into `set` itself, the projection is
    /// skipped. See [`Fold::projects`].
    pub fn projection(
        set: impl Any + Send + Sync,
        append: impl for<'a> Fn(T::Chunk<'a>, &mut T) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let leaf = RowsLeaf::new(erased::<T, T>(append), begin::<T>);
        Function::of(Stage::leaf_of(leaf.into_set(Arc::new(set))))
    }
}
impl<T: Carrier> Function<Vec<usize>, T> {
    /// Make a function that returns the rows of `rows` at the given indices, in the order of the
    /// indices. For example, it returns the candidates that were chosen by their indices. An index
    /// without a row is an error.
    ///
    /// ```
    /// # use opendp_core::Function;
    /// let towns = Function::rows_at(vec!["Bonn".to_owned(), "Ulm".to_owned()]);
    /// assert_eq!(towns.eval(&vec![1, 0])?, ["Ulm", "Bonn"]);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn rows_at(rows: T) -> Self {
        Function::of(Stage::Map(Arc::new(RowsAt(AnyValue::new(rows)))))
    }
}
impl<T: Atom> Function<usize, T> {
    /// Make a function that returns the row with the given index. An index without a row is an
    /// error.
    ///
    /// ```
    /// # use opendp_core::Function;
    /// assert_eq!(Function::row_at(vec![20, 30]).eval(&1)?, 30);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn row_at(rows: Vec<T>) -> Self {
        let rows = AnyValue::new(rows);
        Function::of(Stage::Map(Arc::new(RowAt { rows, row: row::<T> })))
    }
}
impl Function<AnyValue, AnyValue> {
    /// Make a function on erased values from a stage.
    pub(crate) fn erased(stage: Stage) -> Self {
        Function { stage, run: |stage, input| stage.run(AnyRef::Erased(input)) }
    }
    /// Set the types of the input and the output. The types are checked when the function runs.
    pub(crate) fn typed<I: Carrier, O: Carrier>(&self) -> Function<I, O> {
        Function::of(self.stage.clone())
    }
}

impl<I: Carrier, O: Carrier> Clone for Function<I, O> {
    fn clone(&self) -> Self {
        Function { stage: self.stage.clone(), run: self.run }
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
