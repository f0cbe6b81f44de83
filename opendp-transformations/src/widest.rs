//! Selects the widest vector instructions of the processor.

/// Run `work`, compiled for the widest vector instructions of this processor. The processor is
/// detected at run time.
///
/// The result has the same bits on every processor. The reason is that the compiler does not
/// reorder float operations, and does not fuse a product with a sum. Only code that is inlined into
/// `work` is compiled for these instructions. Chains of iterators are not always inlined, so write
/// loops in `work` instead.
#[inline(always)]
pub(crate) fn widest<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}
