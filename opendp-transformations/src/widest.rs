//! The widest vectors that a processor has.

/// Do work compiled for the widest vectors that this processor has, and known when the program runs.
///
/// The same operations give the same bits: none is reordered, and no product and sum are fused. Only
/// what is inlined into the work is compiled so: loops rather than chains of iterators.
#[inline(always)]
pub(crate) fn widest<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}
