//! The set of all graphs on some nodes. This file defines a domain.

use opendp_core::{Codec, Domain, Error, Result, TheDomain, descriptor, named, register};
use serde_json::Value as Json;

use crate::Graph;

/// The largest number of nodes. With this limit, a mechanism that visits every pair of nodes takes
/// minutes instead of days.
const MAX_NODES: u32 = 1 << 16;

/// The set of all simple graphs on the nodes `0..nodes`. The identities of the nodes are public.
///
/// In JSON, the domain of graphs on 100 nodes is `{"acme::graph_domain": {"nodes": 100}}`.
///
/// ```
/// # use custom_mechanism::{Graph, GraphDomain};
/// # use opendp_core::Domain;
/// let domain = GraphDomain::new(3)?;
/// assert!(domain.member(&Graph::new([(0, 2)])) && !domain.member(&Graph::new([(0, 3)])));
/// assert_eq!(domain.possible_edges(), 3);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GraphDomain {
    nodes: u32,
}
impl GraphDomain {
    /// Make the set of all graphs on `nodes` nodes.
    ///
    /// # Errors
    /// `MakeDomain` when there are more than 65536 nodes.
    pub fn new(nodes: u32) -> Result<Self> {
        if nodes <= MAX_NODES {
            Ok(GraphDomain { nodes })
        } else {
            let reason = format!("nodes: expected at most {MAX_NODES}, found {nodes}");
            Err(Error::MakeDomain(reason))
        }
    }
    /// Return the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }
    /// Return the number of pairs of nodes. Each pair may be an edge or not.
    pub fn possible_edges(&self) -> u32 {
        // 65536 * 65535 fits `u32`. For 0 nodes, the product is 0.
        self.nodes * self.nodes.saturating_sub(1) / 2
    }
}
impl Domain for GraphDomain {
    type Carrier = Graph;
    fn member(&self, graph: &Graph) -> bool {
        graph.edges().iter().all(|(_, larger)| *larger < self.nodes)
    }
    fn to_json(&self) -> Json {
        descriptor("acme::graph_domain", [("nodes", Some(self.nodes.to_json()))])
    }
}
named!(GraphDomain as "acme::GraphDomain");

/// Make the set of all simple graphs on some nodes.
///
/// # Arguments
/// * `nodes` - the number of nodes, at most 65536
///
/// # Errors
/// `MakeDomain` when there are more than 65536 nodes.
pub fn graph_domain(nodes: u32) -> Result<TheDomain<GraphDomain>> {
    GraphDomain::new(nodes).map(TheDomain)
}
register! { "graph_domain.rs": graph_domain as ["acme::graph_domain"](nodes); }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_pairs_of_nodes() {
        let pairs = |nodes| GraphDomain::new(nodes).unwrap().possible_edges();
        assert_eq!([0, 1, 2, 3, 4, 5].map(pairs), [0, 0, 1, 3, 6, 10]);
        assert_eq!(pairs(MAX_NODES), 2_147_450_880);
    }
    #[test]
    fn has_a_largest_number_of_nodes() {
        let error = GraphDomain::new(MAX_NODES + 1).unwrap_err();
        assert_eq!(error.kind(), "MakeDomain");
        assert_eq!(error.to_string(), "nodes: expected at most 65536, found 65537");
    }
    #[test]
    fn is_written_with_its_descriptor() {
        let json = GraphDomain::new(7).unwrap().to_json();
        assert_eq!(json.to_string(), r#"{"acme::graph_domain":{"nodes":7}}"#);
    }
}
