//! The stages of a function, their fusion, and their runs over chunks.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::fold::{AfterRows, AnyState, Fold, FoldStage, ThenStage, leaf};
use super::label::{Label, Types};
use super::map::{InOrder, Last, MapStage};
use super::rows::{Body, Projection, RowsLeaf, RowsStage, Run, Sequence};
use super::with_threads;
use crate::erased::{AnyChunk, AnyRef, AnyValue};
use crate::space::Untyped;
use crate::{CHUNK_ROWS, Carrier, Chunk, Error, Result};

/// The smallest number of rows for which a fold can run on all cores.
const PARALLEL_ROWS: usize = 1 << 17;

#[derive(Clone)]
pub(crate) enum Stage {
    Rows(Arc<dyn RowsStage>, Label),
    Fold(Arc<dyn FoldStage>, Label),
    Map(Arc<dyn MapStage>),
}

impl Stage {
    pub(super) fn labelled(
        mut self,
        text: Arc<dyn Fn() -> String + Send + Sync>,
        types: Types,
    ) -> Self {
        if let Stage::Rows(_, label) | Stage::Fold(_, label) = &mut self {
            label.state(text, types);
        }
        self
    }
    pub(super) fn with_secret_sample(mut self) -> Self {
        if let Stage::Rows(_, label) | Stage::Fold(_, label) = &mut self {
            label.keep_secret();
        }
        self
    }
    pub(crate) extern "C" fn within(&mut self, space: &Untyped) {
        if let Stage::Rows(_, label) | Stage::Fold(_, label) = self {
            label.put_space(space);
        }
    }
    /// If the stage is a `map`, return its function, which takes a whole value. For any other
    /// stage, return the unit value `()`.
    pub(super) fn leaf(&self) -> &dyn Any {
        match self {
            Stage::Map(map) => &**map,
            _ => &(),
        }
    }
    pub(super) fn rows(append: Body, begin: fn(&mut AnyValue) -> Result<()>) -> Self {
        Stage::leaf_of(RowsLeaf::new(append, begin))
    }
    pub(super) fn leaf_of(leaf: RowsLeaf) -> Self {
        Stage::Rows(Arc::new(leaf), Label::unlabelled())
    }
    /// Fuse this stage and the next stage into one pass. If they cannot be fused, the next stage
    /// runs on the whole output of this stage.
    pub(crate) fn then(&self, next: &Stage) -> Stage {
        match (self, next) {
            (Stage::Rows(first, label), Stage::Rows(second, more)) => {
                let both = Arc::new(Sequence(first.clone(), second.clone()));
                Stage::Rows(both, label.then(more))
            }
            (Stage::Rows(rows, label), Stage::Fold(fold, more)) => {
                Stage::Fold(fold_after(rows, fold), label.then(more))
            }
            (Stage::Fold(fold, label), _) => {
                Stage::Fold(fold_then(fold.clone(), next.clone()), label.clone())
            }
            _ => Stage::Map(Arc::new(InOrder(self.clone(), next.clone()))),
        }
    }
    /// Run the stage on a typed value.
    pub(crate) fn eval<I: Carrier, O: Carrier>(&self, input: &I) -> Result<O> {
        AnyValue::downcast_result(self.run(AnyRef::of(input)))
    }
    /// Run the stage on a value that the caller still uses.
    pub(super) fn run(&self, input: AnyRef<'_>) -> Result<AnyValue> {
        match self {
            Stage::Map(map) => map.call_on(input),
            _ => self.pass(input.chunk()),
        }
    }
    /// Run the stage on an erased value that the caller does not use afterwards.
    pub(super) fn call(&self, mut input: AnyValue) -> Result<AnyValue> {
        match self {
            Stage::Map(map) => map.call(&mut input),
            _ => self.pass(input.chunk()),
        }
    }
    /// Run the stage over all rows of a value.
    pub(super) fn pass(&self, all: AnyChunk<'_>) -> Result<AnyValue> {
        let mut sink = self.open()?;
        sink.add(all)?;
        sink.close()
    }
    /// Begin a run of the stage over chunks.
    pub(super) fn open(&self) -> Result<Sink<'_>> {
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
/// A run of a stage over chunks. The run stores the output rows or the state of the fold for all
/// chunks so far.
pub(super) enum Sink<'a> {
    Rows(Box<dyn Run>, AnyValue),
    Fold(&'a dyn FoldStage, AnyState),
}
impl Sink<'_> {
    pub(super) fn add(&mut self, chunk: AnyChunk<'_>) -> Result<()> {
        match self {
            Sink::Rows(run, out) => match chunk.rows() {
                // A chunk without rows still has a form, such as its type or the columns of a
                // frame. So the stage must receive this chunk too.
                0 => run.append(chunk, out),
                rows => ranges(rows, CHUNK_ROWS)
                    .try_for_each(|range| run.append(chunk.narrow(range), out)),
            },
            Sink::Fold(fold, state) => absorb(*fold, &mut **state, chunk),
        }
    }
    pub(super) fn close(self) -> Result<AnyValue> {
        match self {
            Sink::Rows(_, out) => Ok(out),
            Sink::Fold(fold, mut state) => fold.finish(&mut *state),
        }
    }
}

pub(super) fn fold_stage<I: Carrier, X: Carrier>(fold: impl Fold<I, X>) -> Stage {
    labelled_fold(leaf(fold), Types(I::type_name, X::type_name))
}
fn labelled_fold(fold: Arc<dyn FoldStage>, types: Types) -> Stage {
    let label = Label::fold(&fold, types);
    Stage::Fold(fold, label)
}
pub(super) fn fold_last(fold: Stage, last: &dyn Last) -> Stage {
    match fold {
        Stage::Fold(fold, label) => Stage::Fold(fold_then(fold, last.stage()), label),
        other => other,
    }
}
pub(super) fn fold_then(fold: Arc<dyn FoldStage>, last: Stage) -> Arc<dyn FoldStage> {
    Arc::new(ThenStage(fold, last))
}
/// Fuse functions of rows with a fold. If the last function is a projection that the fold performs
/// itself, remove the projection.
pub(super) fn fold_after(
    rows: &Arc<dyn RowsStage>,
    fold: &Arc<dyn FoldStage>,
) -> Arc<dyn FoldStage> {
    match rows.projection().filter(|projection| fold.projects(projection.set)) {
        // The fold performs this projection itself. The projection does not change the type of the
        // rows, so the fold can take the rows directly.
        Some(Projection { before: None, .. }) => fold.clone(),
        Some(Projection { before: Some(before), .. }) => Arc::new(AfterRows(before, fold.clone())),
        None => Arc::new(AfterRows(rows.clone(), fold.clone())),
    }
}

/// Add all rows of a chunk to a state. If there are many rows and their order is irrelevant, use
/// all cores.
///
/// The merge of states is exact, and its result does not depend on the order of the states. So the
/// final state does not depend on the division of the rows into parts. [`with_threads`] avoids
/// deadlocks if the current thread holds a lock.
pub(super) fn absorb(fold: &dyn FoldStage, state: &mut dyn Any, all: AnyChunk<'_>) -> Result<()> {
    let rows = all.rows();
    if rows <= CHUNK_ROWS {
        return fold.absorb(state, all);
    }
    let divisible = PARALLEL_ROWS <= rows && !fold.in_order();
    let states = if divisible { with_threads(|divided| states(fold, all, divided)) } else { None };
    let Some(states) = states else {
        return ranges(rows, CHUNK_ROWS)
            .try_for_each(|range| fold.absorb(state, all.narrow(range)));
    };
    for mut other in states? {
        fold.merge(state, &mut *other)?;
    }
    Ok(())
}
/// Divide rows among the threads of the current pool, and add each part to its own state. Return
/// `None` if `divided` is `false`, or if there is only one thread.
fn states(fold: &dyn FoldStage, all: AnyChunk<'_>, divided: bool) -> Option<Result<Vec<AnyState>>> {
    let threads = rayon::current_num_threads();
    if !divided || threads == 1 {
        return None;
    }
    // Make several parts per thread. Then other threads can take over parts from a slow thread.
    let rows = all.rows();
    let parts: Vec<_> = ranges(rows, rows.div_ceil(threads * 4).max(CHUNK_ROWS)).collect();
    let states = parts.into_par_iter().map(|part| {
        let (part, mut state) = (all.narrow(part), fold.start());
        ranges(part.rows(), CHUNK_ROWS)
            .try_for_each(|range| fold.absorb(&mut *state, part.narrow(range)))?;
        Ok(state)
    });
    Some(states.collect())
}
pub(super) fn ranges(rows: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows.div_ceil(size)).map(move |i| i * size..((i + 1) * size).min(rows))
}
#[cold]
pub(super) fn in_order_only() -> Error {
    Error::NotImplemented(
        "the result depends on the order of the rows, so there are no partial results; invoke the \
         function on a slice or on a stream of chunks"
            .into(),
    )
}
#[cold]
pub(super) fn no_fold() -> Error {
    Error::NotImplemented(
        "the function does not fold its rows, so there are no partial results; invoke the function \
         on a slice"
            .into(),
    )
}
#[cold]
fn whole_only() -> Error {
    Error::NotImplemented(
        "this function needs the whole data set at once; invoke it on a slice".into(),
    )
}
