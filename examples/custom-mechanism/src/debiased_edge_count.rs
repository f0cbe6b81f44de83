//! An estimate from a release. This file defines a function.

use opendp_core::{Error, Function, Result, register};

use crate::{FlipProbability, Graph, GraphDomain};

/// Estimate the number of edges of a graph from a released graph in which pairs of nodes were
/// flipped.
///
/// The estimate is unbiased. The function reads only the release, so it may follow
/// [`make_randomized_graph`](crate::make_randomized_graph) without further loss.
///
/// # Arguments
/// * `nodes` - the number of nodes of the graph
/// * `flip` - the probability with which each pair was flipped
///
/// # Function
/// The function returns `(released - flip * pairs) / (1 - 2 * flip)`, computed in ordinary floating
/// point. Here `released` is the number of edges of the released graph, and `pairs` is the number
/// of pairs of nodes. The estimate may be negative.
///
/// # Proof
/// Let `m` be the number of edges before the flips. On average, `m (1 - flip)` edges stay, and
/// `(pairs - m) flip` other edges appear. So the released graph has
/// `m (1 - flip) + (pairs - m) flip` edges on average. Set this average equal to `released`, and
/// solve for `m`.
///
/// # Errors
/// `MakeDomain` when there are too many nodes, `Argument` when `flip` is one half.
///
/// ```
/// # use custom_mechanism::{FlipProbability, Graph, make_debiased_edge_count};
/// let estimate = make_debiased_edge_count(4, FlipProbability::new(0.25)?)?;
/// assert_eq!(estimate.eval(&Graph::new([(0, 1), (1, 2)]))?, 1.0);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_debiased_edge_count(nodes: u32, flip: FlipProbability) -> Result<Function<Graph, f64>> {
    let (pairs, flip) = (f64::from(GraphDomain::new(nodes)?.possible_edges()), flip.value());
    if !(flip < 0.5) {
        return Err(Error::argument("flip", "expected a probability below 0.5, found 0.5"));
    }
    Ok(Function::map(move |released: &Graph| {
        let edges = u32::try_from(released.edges().len()).unwrap_or(u32::MAX);
        Ok((f64::from(edges) - flip * pairs) / (1.0 - 2.0 * flip))
    }))
}
register! {
    "debiased_edge_count.rs": make_debiased_edge_count as ["acme::make_debiased_edge_count"]
        (nodes, flip);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_right_on_average_over_the_outcomes_of_one_pair() {
        let estimate = make_debiased_edge_count(2, FlipProbability::new(0.25).unwrap()).unwrap();
        let [none, single] =
            [Graph::default(), Graph::new([(0, 1)])].map(|g| estimate.eval(&g).unwrap());
        assert_eq!(0.75 * single + 0.25 * none, 1.0);
        assert_eq!(0.25 * single + 0.75 * none, 0.0);
    }
    #[test]
    fn refuses_to_divide_by_nothing() {
        let error = make_debiased_edge_count(2, FlipProbability::new(0.5).unwrap()).unwrap_err();
        assert_eq!(error.kind(), "Argument");
    }
}
