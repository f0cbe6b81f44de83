//! The number of edges. This file defines a transformation to a space of the core crate.

use opendp_core::{
    AbsoluteDistance, AtomDomain, Bounds, Error, Function, Result, Space, StabilityMap,
    Transformation, register,
};

use crate::{EdgeDistance, Graph, GraphDomain};

/// Count the edges.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The input is a space of graphs. The metric counts the edges that are added or removed.
///
/// # Postcondition
/// The output is the number of edges, between 0 and the number of pairs of nodes.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// If one edge is added or removed, the number of edges changes by one. Let `nodes` be the number
/// of nodes of the input domain. The nodes of a member have numbers below `nodes`, no edge is a
/// loop, and no edge is repeated. So the number of edges is at most the number of pairs of nodes.
///
/// # Errors
/// None.
///
/// ```
/// # use custom_mechanism::{EdgeDistance, Graph, GraphDomain, make_edge_count};
/// # use opendp_core::Space;
/// let count = make_edge_count(Space::new(GraphDomain::new(4)?, EdgeDistance)?)?;
/// assert_eq!(count.invoke(&Graph::new([(0, 1), (1, 2)]))?, 2);
/// assert_eq!(count.map(&3)?, 3);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_edge_count(
    input: Space<GraphDomain, EdgeDistance>,
) -> Result<Transformation<GraphDomain, EdgeDistance, AtomDomain<i64>, AbsoluteDistance<i64>>> {
    let pairs = i64::from(input.domain().possible_edges());
    let counts = AtomDomain::bounded(Bounds::new(0, pairs)?);
    let output = Space::new(counts, AbsoluteDistance::new())?;
    let function = Function::map(|graph: &Graph| {
        let count = i64::try_from(graph.edges().len());
        count.map_err(|_| Error::FailedFunction("more edges than an i64 can count".into()))
    });
    let map = StabilityMap::new(|d_in: &u32| Ok(i64::from(*d_in)));
    Ok(Transformation::new(input, output, function, map))
}
register! { "edge_count.rs": make_edge_count as ["acme::make_edge_count"](input); }

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::laws;

    /// Return all graphs on the nodes 0 to 3.
    fn graphs() -> Vec<Graph> {
        let pairs: Vec<(u32, u32)> = (0..4).flat_map(|v| (0..v).map(move |u| (u, v))).collect();
        let chosen = |set: usize| pairs.iter().enumerate().filter(move |(i, _)| set >> i & 1 == 1);
        (0..1 << pairs.len()).map(|set| Graph::new(chosen(set).map(|(_, pair)| *pair))).collect()
    }
    fn space() -> Space<GraphDomain, EdgeDistance> {
        Space::new(GraphDomain::new(4).unwrap(), EdgeDistance).unwrap()
    }

    #[test]
    fn obeys_the_laws() {
        let (count, graphs) = (make_edge_count(space()).unwrap(), graphs());
        assert_eq!(laws::stable(&count, &graphs), Ok(64 * 64));
        assert_eq!(laws::member(&count, &graphs), Ok(64));
        assert!(laws::erases(&count, &graphs, &[0, 1, 6, u32::MAX]).is_ok());
    }
    #[test]
    fn a_map_that_promises_less_is_refused() {
        let count = make_edge_count(space()).unwrap();
        let wrong = Transformation::new(
            count.input().clone(),
            count.output().clone(),
            count.function().clone(),
            StabilityMap::new(|d_in: &u32| Ok(i64::from(d_in / 2))),
        );
        assert!(laws::stable(&wrong, &graphs()).is_err());
    }
}
