//! Graphs. This file defines a carrier, which is the type of the members of a domain.

use opendp_core::{Codec, Result, carrier, named};
use serde_json::Value as Json;

/// A simple graph: edges between numbered nodes. The edges have no direction, no edge is a loop,
/// and no edge is repeated.
///
/// A graph is stored in a unique form. Each edge is a pair: first the smaller node, then the larger
/// node. The edges are sorted. So two graphs with the same edges are stored identically.
///
/// ```
/// # use custom_mechanism::Graph;
/// let graph = Graph::new([(2, 1), (1, 2), (0, 1), (3, 3)]);
/// assert_eq!(graph.edges(), [(0, 1), (1, 2)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    edges: Vec<(u32, u32)>,
}
impl Graph {
    /// Make a graph from edges in any order and direction. Loops and repetitions are left out.
    pub fn new(edges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let forward = edges.into_iter().map(|(u, v)| (u.min(v), u.max(v)));
        let mut edges: Vec<(u32, u32)> = forward.filter(|(u, v)| u < v).collect();
        edges.sort_unstable();
        edges.dedup();
        Graph { edges }
    }
    /// Return the edges in order. Each edge is a pair: first the smaller node, then the larger
    /// node.
    pub fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }
}

/// A graph is written as a list of pairs of nodes, and read through [`Graph::new`].
impl Codec for Graph {
    fn to_json(&self) -> Json {
        self.edges.to_json()
    }
    fn from_json(json: &Json) -> Result<Self> {
        Vec::from_json(json).map(Graph::new)
    }
}
named!(Graph as "acme::Graph");
carrier!(Graph);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn is_the_same_however_its_edges_are_listed() {
        assert_eq!(Graph::new([(0, 1), (2, 1)]), Graph::new([(1, 2), (1, 0), (0, 1)]));
        assert_eq!(Graph::new([(5, 5)]), Graph::default());
    }
    #[test]
    fn is_read_as_it_is_written() {
        let graph = Graph::from_json(&json!([[3, 1], [0, 1], [2, 2]])).unwrap();
        assert_eq!(graph.to_json(), json!([[0, 1], [1, 3]]));
        assert_eq!(Graph::from_json(&graph.to_json()).unwrap(), graph);
        for wrong in [json!([[0, -1]]), json!([[0, 1, 2]]), json!({}), json!([[0, "1"]])] {
            assert_eq!(Graph::from_json(&wrong).unwrap_err().kind(), "FailedCast");
        }
    }
}
