//! Changes the size, the order or the metric of a data set.

mod metric_bounded;
mod metric_unbounded;
mod ordered_random;
mod resize;
mod unordered;

pub use metric_bounded::{UnboundedMetric, make_metric_bounded};
pub use metric_unbounded::{BoundedMetric, make_metric_unbounded};
pub use ordered_random::{UnorderedMetric, make_ordered_random};
pub use resize::make_resize;
pub use unordered::{OrderedMetric, make_unordered};
