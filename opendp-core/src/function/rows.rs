//! Stages that act on each row alone.

use std::sync::Arc;

use crate::{Carrier, Result};

/// What a `rows` stage does to a chunk.
type Append<I, O> = dyn for<'a> Fn(<I as Carrier>::Chunk<'a>, &mut O) -> Result<()> + Send + Sync;

/// A definition, shared by all runs.
pub(crate) trait RowsStage<I: Carrier, O: Carrier>: Send + Sync {
    fn start(&self) -> Box<dyn Run<I, O>>;
}
/// One run over the chunks of one input, which owns the buffers between its stages.
pub(crate) trait Run<I: Carrier, O: Carrier>: Send + Sync {
    /// Prepare the output, which must be right even if no chunk follows: an erased buffer gets its
    /// type.
    fn begin(&mut self, out: &mut O) -> Result<()> {
        let _ = out;
        Ok(())
    }
    fn append(&mut self, chunk: I::Chunk<'_>, out: &mut O) -> Result<()>;
}

/// A single stage, and what its output is like without rows, where that is not a plain buffer.
pub(crate) struct RowsLeaf<I: Carrier, O: Carrier> {
    append: Arc<Append<I, O>>,
    empty: Option<Arc<O>>,
}
impl<I: Carrier, O: Carrier> RowsLeaf<I, O> {
    pub(crate) fn new(
        append: impl for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync + 'static,
        empty: Option<O>,
    ) -> Self {
        RowsLeaf { append: Arc::new(append), empty: empty.map(Arc::new) }
    }
}
impl<I: Carrier, O: Carrier> RowsStage<I, O> for RowsLeaf<I, O> {
    fn start(&self) -> Box<dyn Run<I, O>> {
        Box::new(RowsLeaf { append: self.append.clone(), empty: self.empty.clone() })
    }
}
impl<I: Carrier, O: Carrier> Run<I, O> for RowsLeaf<I, O> {
    fn begin(&mut self, out: &mut O) -> Result<()> {
        if let Some(empty) = &self.empty {
            out.append_rows(empty.chunk());
        }
        Ok(())
    }
    fn append(&mut self, chunk: I::Chunk<'_>, out: &mut O) -> Result<()> {
        (self.append)(chunk, out)
    }
}

/// Two stages in one pass.
pub(crate) struct Sequence<I, X, O>(
    pub(crate) Arc<dyn RowsStage<I, X>>,
    pub(crate) Arc<dyn RowsStage<X, O>>,
);
struct SequenceRun<I, X, O> {
    first: Box<dyn Run<I, X>>,
    buffer: X,
    second: Box<dyn Run<X, O>>,
}
impl<I: Carrier, X: Carrier, O: Carrier> RowsStage<I, O> for Sequence<I, X, O> {
    fn start(&self) -> Box<dyn Run<I, O>> {
        let (first, second) = (self.0.start(), self.1.start());
        Box::new(SequenceRun { first, buffer: X::buffer(), second })
    }
}
impl<I: Carrier, X: Carrier, O: Carrier> Run<I, O> for SequenceRun<I, X, O> {
    fn begin(&mut self, out: &mut O) -> Result<()> {
        self.second.begin(out)
    }
    fn append(&mut self, chunk: I::Chunk<'_>, out: &mut O) -> Result<()> {
        self.buffer.reset();
        self.first.append(chunk, &mut self.buffer)?;
        self.second.append(self.buffer.chunk(), out)
    }
}
