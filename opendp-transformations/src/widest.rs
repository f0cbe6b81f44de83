//! The widest vectors that a processor has.

/// Run code compiled for the widest vectors of this processor, which is detected at run time.
///
/// The same operations give the same bits: no operation is reordered, and no product and sum are
/// fused. Only code that is inlined into `work` is compiled this way. So write loops in `work`, and
/// no chains of iterators.
#[inline(always)]
pub(crate) fn widest<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}
