//! Changes the size, the order or the metric of a data set.

mod metric_bounded;
mod metric_unbounded;
mod ordered_random;
mod resize;
mod unordered;

use opendp_core::Result;
use opendp_core::random::{SecureSource, with_secure};

pub use metric_bounded::{UnboundedMetric, make_metric_bounded};
pub use metric_unbounded::{BoundedMetric, make_metric_unbounded};
pub use ordered_random::{UnorderedMetric, make_ordered_random};
pub use resize::make_resize;
pub use unordered::{OrderedMetric, make_unordered};

/// Run `work` with the secure source. The code around `work` is compiled only once.
fn securely(work: &mut dyn FnMut(&mut SecureSource) -> Result<()>) -> Result<()> {
    with_secure(work)
}
