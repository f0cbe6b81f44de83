//! Functions between erased values: the same stages, dispatched once a chunk.

use std::{any::Any, sync::Arc};

use super::value::{AnyChunk, AnyValue};
use crate::function::{FoldStage, Projection, RowsStage, Run, Stage, State, same};
use crate::{Carrier, Function, Result};

impl<I: Carrier, O: Carrier> Function<I, O> {
    /// Erase the types of the input and the output. The stages stay the same.
    #[inline(never)]
    pub fn erase(&self) -> Function<AnyValue, AnyValue> {
        let stage: Stage<AnyValue, AnyValue> = match &self.stage {
            Stage::Rows(rows) => Stage::Rows(Arc::new(ErasedRows(rows.clone()))),
            Stage::Fold(fold) => Stage::Fold(Arc::new(ErasedFold(fold.clone()))),
            Stage::Map(map) => {
                let map = map.clone();
                Stage::Map(Arc::new(move |x| Ok(AnyValue::new(map(x.downcast_ref()?)?))))
            }
        };
        Function { stage }
    }
}
impl Function<AnyValue, AnyValue> {
    /// Give types to the input and the output. They are checked when the function runs.
    ///
    /// Rows are copied into an erased buffer a chunk at a time, and never all at once.
    #[inline(never)]
    pub(super) fn typed<I: Carrier, O: Carrier>(&self) -> Function<I, O> {
        let stage: Stage<I, O> = match &self.stage {
            Stage::Rows(rows) => Stage::Rows(Arc::new(TypedRows(rows.clone()))),
            Stage::Fold(fold) => Stage::Fold(Arc::new(TypedFold(fold.clone()))),
            Stage::Map(map) => {
                let map = map.clone();
                Stage::Map(Arc::new(move |x: &I| map(&AnyValue::new(x.clone()))?.downcast()))
            }
        };
        Function { stage }
    }
}

// ----- typed stages, erased ----------------------------------------------------------------------

struct ErasedRows<I, O>(Arc<dyn RowsStage<I, O>>);
struct ErasedRun<I, O>(Box<dyn Run<I, O>>);
impl<I: Carrier, O: Carrier> RowsStage<AnyValue, AnyValue> for ErasedRows<I, O> {
    fn start(&self) -> Box<dyn Run<AnyValue, AnyValue>> {
        Box::new(ErasedRun(self.0.start()))
    }
    fn projection(&self) -> Option<Projection<'_, AnyValue, AnyValue>> {
        let Projection { set, before } = self.0.projection()?;
        let before = before.map(|rows| Arc::new(ErasedRows(rows)) as Arc<dyn RowsStage<_, _>>);
        Some(Projection { set, before })
    }
}
impl<I: Carrier, O: Carrier> Run<AnyValue, AnyValue> for ErasedRun<I, O> {
    fn begin(&mut self, out: &mut AnyValue) -> Result<()> {
        self.0.begin(out.typed_buffer()?)
    }
    fn append(&mut self, chunk: AnyChunk<'_>, out: &mut AnyValue) -> Result<()> {
        self.0.append(chunk.typed::<I>()?, out.typed_buffer()?)
    }
}

struct ErasedFold<I, O>(Arc<dyn FoldStage<I, O>>);
struct ErasedState<I, O>(Box<dyn State<I, O>>);
impl<I: Carrier, O: Carrier> FoldStage<AnyValue, AnyValue> for ErasedFold<I, O> {
    fn start(&self) -> Box<dyn State<AnyValue, AnyValue>> {
        Box::new(ErasedState(self.0.start()))
    }
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State<AnyValue, AnyValue>>> {
        Ok(Box::new(ErasedState(self.0.load(bytes)?)))
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.0.projects(set)
    }
    fn in_order(&self) -> bool {
        self.0.in_order()
    }
}
impl<I: Carrier, O: Carrier> State<AnyValue, AnyValue> for ErasedState<I, O> {
    fn absorb(&mut self, chunk: AnyChunk<'_>) -> Result<()> {
        self.0.absorb(chunk.typed::<I>()?)
    }
    fn merge(&mut self, other: Box<dyn State<AnyValue, AnyValue>>) -> Result<()> {
        self.0.merge(same::<Self>(other.into_any())?.0)
    }
    fn finish(self: Box<Self>) -> Result<AnyValue> {
        self.0.finish().map(AnyValue::new)
    }
    fn save(&self) -> Result<Vec<u8>> {
        self.0.save()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

// ----- erased stages, typed again ----------------------------------------------------------------

struct TypedRows(Arc<dyn RowsStage<AnyValue, AnyValue>>);
struct TypedRun {
    inner: Box<dyn Run<AnyValue, AnyValue>>,
    rows: AnyValue,
    out: AnyValue,
}
impl<I: Carrier, O: Carrier> RowsStage<I, O> for TypedRows {
    fn start(&self) -> Box<dyn Run<I, O>> {
        let (rows, out) = (AnyValue::new(I::buffer()), AnyValue::new(O::buffer()));
        Box::new(TypedRun { inner: self.0.start(), rows, out })
    }
}
impl<I: Carrier, O: Carrier> Run<I, O> for TypedRun {
    fn begin(&mut self, out: &mut O) -> Result<()> {
        self.inner.begin(&mut self.out)?;
        out.append_rows(self.out.chunk().typed::<O>()?);
        Ok(())
    }
    fn append(&mut self, chunk: I::Chunk<'_>, out: &mut O) -> Result<()> {
        refill::<I>(&mut self.rows, chunk)?;
        self.out.reset();
        self.inner.append(self.rows.chunk(), &mut self.out)?;
        out.append_rows(self.out.chunk().typed::<O>()?);
        Ok(())
    }
}

struct TypedFold(Arc<dyn FoldStage<AnyValue, AnyValue>>);
struct TypedState {
    inner: Box<dyn State<AnyValue, AnyValue>>,
    rows: AnyValue,
}
impl<I: Carrier, O: Carrier> FoldStage<I, O> for TypedFold {
    fn start(&self) -> Box<dyn State<I, O>> {
        Box::new(TypedState { inner: self.0.start(), rows: AnyValue::new(I::buffer()) })
    }
    fn load(&self, bytes: &[u8]) -> Result<Box<dyn State<I, O>>> {
        let inner = self.0.load(bytes)?;
        Ok(Box::new(TypedState { inner, rows: AnyValue::new(I::buffer()) }))
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.0.projects(set)
    }
    fn in_order(&self) -> bool {
        self.0.in_order()
    }
}
impl<I: Carrier, O: Carrier> State<I, O> for TypedState {
    fn absorb(&mut self, chunk: I::Chunk<'_>) -> Result<()> {
        refill::<I>(&mut self.rows, chunk)?;
        self.inner.absorb(self.rows.chunk())
    }
    fn merge(&mut self, other: Box<dyn State<I, O>>) -> Result<()> {
        self.inner.merge(same::<Self>(other.into_any())?.inner)
    }
    fn finish(self: Box<Self>) -> Result<O> {
        self.inner.finish()?.downcast()
    }
    fn save(&self) -> Result<Vec<u8>> {
        self.inner.save()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

fn refill<I: Carrier>(buffer: &mut AnyValue, chunk: I::Chunk<'_>) -> Result<()> {
    let rows = buffer.typed_buffer::<I>()?;
    rows.reset();
    rows.append_rows(chunk);
    Ok(())
}
