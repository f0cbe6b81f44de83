//! Graphs that tests draw. With these graphs, one line of code tests a transformation whose input
//! is a graph.

use opendp_core::laws::{Draw, Sample};

use crate::{Graph, GraphDomain};

/// The number of nodes of the smaller graphs. All graphs on the last four nodes are listed. Four
/// nodes have 6 pairs, so there are 64 graphs.
const FEW_NODES: u32 = 4;
/// The number of nodes of the larger graphs, which are drawn at random.
const MORE_NODES: u32 = 12;

/// The nodes are numbered. In the sample graphs, only the nodes with the highest numbers have
/// edges. With such edges, a test can find an error that concerns the last nodes of the domain.
impl Sample for GraphDomain {
    fn few(&self, _draw: &mut Draw) -> Vec<Graph> {
        let pairs = last_pairs(self, FEW_NODES);
        let chosen = |set: usize| pairs.iter().enumerate().filter(move |(i, _)| set >> i & 1 == 1);
        (0..1 << pairs.len()).map(|set| Graph::new(chosen(set).map(|(_, pair)| *pair))).collect()
    }
    fn one(&self, draw: &mut Draw) -> Option<Graph> {
        let pairs = last_pairs(self, MORE_NODES);
        Some(Graph::new(pairs.into_iter().filter(|_| draw.below(2) == 1)))
    }
    /// Add or remove one edge.
    fn vary(&self, graph: &Graph, draw: &mut Draw) -> Graph {
        let Some(pair) = draw.pick(&last_pairs(self, MORE_NODES)).copied() else {
            return graph.clone();
        };
        let others = graph.edges().iter().copied().filter(|edge| *edge != pair);
        let added = (!graph.edges().contains(&pair)).then_some(pair);
        Graph::new(others.chain(added))
    }
}
/// Return all pairs among the last `nodes` nodes of a domain.
fn last_pairs(domain: &GraphDomain, nodes: u32) -> Vec<(u32, u32)> {
    let first = domain.nodes().saturating_sub(nodes);
    (first..domain.nodes()).flat_map(|v| (first..v).map(move |u| (u, v))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EdgeDistance;
    use opendp_core::{DistanceOn, Domain};

    #[test]
    fn draws_members_up_to_the_last_node() {
        for nodes in [0, 1, 2, 4, 100] {
            let domain = GraphDomain::new(nodes).unwrap();
            let mut draw = Draw::new(0);
            let few = domain.few(&mut draw);
            assert_eq!(few.len(), [1, 1, 2, 8, 64][nodes.min(4) as usize]);
            assert!(few.iter().all(|graph| domain.member(graph)));
            let last = few.iter().flat_map(Graph::edges).map(|(_, v)| *v).max();
            assert_eq!(last, if nodes < 2 { None } else { Some(nodes - 1) });
            assert!(domain.member(&domain.one(&mut draw).unwrap()));
        }
    }
    #[test]
    fn a_variation_is_a_neighbour() {
        let domain = GraphDomain::new(9).unwrap();
        let mut draw = Draw::new(1);
        for _ in 0..50 {
            let graph = domain.one(&mut draw).unwrap();
            let other = domain.vary(&graph, &mut draw);
            assert_eq!(EdgeDistance.distance(&graph, &other).unwrap(), Some(1));
        }
        let alone = GraphDomain::new(1).unwrap();
        assert_eq!(alone.vary(&Graph::default(), &mut draw), Graph::default());
    }
}
