//! The distance that counts the edges added or removed. This file defines a metric.

use opendp_core::{
    DistanceOn, Error, Metric, MetricOn, Result, TheMetric, descriptor, named, register,
};
use serde_json::Value as Json;

use crate::{Graph, GraphDomain};

/// The number of edges that are in only one of two graphs.
///
/// If neighbours are at distance 1, it is private whether an edge connects two nodes. The
/// identities of the nodes are public. A node together with all of its edges is not protected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EdgeDistance;

impl Metric for EdgeDistance {
    type Distance = u32;
    fn to_json(&self) -> Json {
        descriptor("acme::edge_distance", [])
    }
}
impl MetricOn<GraphDomain> for EdgeDistance {}
impl DistanceOn<GraphDomain> for EdgeDistance {
    fn distance(&self, left: &Graph, right: &Graph) -> Result<Option<u32>> {
        let missing = |from: &Graph, edges: &Graph| {
            edges.edges().iter().filter(|edge| from.edges().binary_search(edge).is_err()).count()
        };
        let distance = missing(left, right) + missing(right, left);
        let too_far =
            || Error::Overflow("the distance between the graphs exceeds the largest u32".into());
        distance.try_into().map(Some).map_err(|_| too_far())
    }
}
named!(EdgeDistance as "acme::EdgeDistance");

/// Count the edges added or removed.
pub fn edge_distance() -> Result<TheMetric<EdgeDistance>> {
    Ok(TheMetric(EdgeDistance))
}
register! { "edge_distance.rs": edge_distance as ["acme::edge_distance"](); }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_edges_that_one_has_and_the_other_has_not() {
        let (left, right) = (Graph::new([(0, 1), (1, 2)]), Graph::new([(1, 2), (2, 3), (0, 3)]));
        assert_eq!(EdgeDistance.distance(&left, &right).unwrap(), Some(3));
        assert_eq!(EdgeDistance.distance(&right, &left).unwrap(), Some(3));
        assert_eq!(EdgeDistance.distance(&left, &left).unwrap(), Some(0));
    }
}
