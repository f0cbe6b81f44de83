//! Randomized response on edges. This file defines a mechanism.

use opendp_core::arith::{Directed, DirectedFloat, InfCast};
use opendp_core::random::{NoEntropy, RandomSource, with_secure};
use opendp_core::{Function, MaxDivergence, Measurement, PrivacyMap, Result, Space, register};
use opendp_measurements::samplers::bernoulli;

use crate::{EdgeDistance, FlipProbability, Graph, GraphDomain};

/// Release a graph in which each pair of nodes is reported wrongly with probability `flip`.
///
/// # Arguments
/// * `flip` - the probability that a pair of nodes is reported wrongly. A wrong report adds a
///   missing edge or removes an edge
///
/// # Precondition
/// `flip` is above 0 and at most one half. If `flip` is one half, the release is independent of the
/// data. The nodes are public.
///
/// # Postcondition
/// The release is a graph on the same nodes. For any two members at distance at most `d_in`, the
/// max-divergence of the releases is at most `map(d_in)`. The time is proportional to the number of
/// pairs of nodes.
///
/// # Map
/// `d_out = d_in * ln((1 - flip) / flip)`. A `d_in` above the number of pairs of nodes is replaced
/// by this number. Each operation rounds up.
///
/// # Proof
/// A member has one bit for each pair of nodes. In the release, each bit is flipped independently
/// with probability `p = flip`. This probability is exact, because `bernoulli` uses the exact value
/// of the float. Let `n` be the number of pairs, and `h(r, x)` the number of pairs in which a
/// release `r` differs from a graph `x`. The release `r` has probability
/// `p^h(r, x) (1 - p)^(n - h(r, x))`. The distance between two graphs is the number of pairs in
/// which the graphs differ, so the distance is at most `n`. Let `y` be a graph at distance at most
/// `d_in` from `x`. By the triangle inequality, `|h(r, x) - h(r, y)| <= d_in`. Because
/// `p <= 1 - p`, the ratio of the probabilities for `x` and `y` is at most `((1 - p) / p)^d_in`.
/// This bound is the exponential of `d_out` (Warner 1965; Dwork, Roth 2014, Section 3.2, for one
/// bit). The map computes upper bounds on `1 - p`, the quotient, the logarithm and the product.
/// Each step is a non-decreasing function of the result of the previous step. So if the input of a
/// step is an upper bound, the result of the step is an upper bound, too.
///
/// # Errors
/// The map gives `Overflow` when `(1 - flip) / flip` exceeds all floats.
///
/// ```
/// # use custom_mechanism::{EdgeDistance, FlipProbability, Graph, GraphDomain};
/// # use custom_mechanism::make_randomized_graph;
/// # use opendp_core::{Domain, Space};
/// let input = Space::new(GraphDomain::new(4)?, EdgeDistance)?;
/// let release = make_randomized_graph(input, FlipProbability::new(0.25)?)?;
/// assert!((release.map(&2)? - 2.197_224_577_336).abs() < 1e-12);
/// assert!(release.input().domain().member(&release.invoke(&Graph::new([(0, 1)]))?));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_randomized_graph(
    input: Space<GraphDomain, EdgeDistance>,
    flip: FlipProbability,
) -> Result<Measurement<GraphDomain, EdgeDistance, MaxDivergence, Graph>> {
    let (nodes, pairs) = (input.domain().nodes(), input.domain().possible_edges());
    let function = Function::map(move |graph: &Graph| {
        Ok(with_secure(|source| randomize(graph, nodes, flip.value(), source))?)
    });
    let map = PrivacyMap::new(move |d_in: &u32| loss((*d_in).min(pairs), flip.value()));
    Ok(Measurement::new(input, MaxDivergence, function, map))
}
register! {
    "randomized_graph.rs": make_randomized_graph as ["acme::make_randomized_graph"](input, flip);
}

/// Flip each pair of nodes with probability `flip`.
fn randomize<S: RandomSource>(
    graph: &Graph,
    nodes: u32,
    flip: f64,
    source: &mut S,
) -> Result<Graph, NoEntropy> {
    let mut released = Vec::new();
    for pair in (0..nodes).flat_map(|u| (u + 1..nodes).map(move |v| (u, v))) {
        let flipped = bernoulli(flip, source)?;
        let edge = graph.edges().binary_search(&pair).is_ok();
        if edge != flipped {
            released.push(pair);
        }
    }
    Ok(Graph::new(released))
}
pub(crate) fn loss(d_in: u32, flip: f64) -> Result<f64> {
    let odds = 1.0.inf_sub(flip)?.inf_div(flip)?;
    f64::inf_cast(d_in)?.inf_mul(odds.inf_ln()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::DistanceOn;
    use opendp_core::laws::{self, Broken, Chances, Claim, Trial};
    use opendp_core::random::{Failing, Tape};

    const NODES: u32 = 3;

    /// Return all eight graphs on three nodes.
    fn graphs() -> Vec<Graph> {
        let pairs = [(0, 1), (0, 2), (1, 2)];
        let chosen = |set: usize| (0..3).filter(move |i| set >> i & 1 == 1).map(|i| pairs[i]);
        (0..8).map(|set| Graph::new(chosen(set))).collect()
    }
    /// Return the probability of each release. `digits` is the number of binary digits of `flip`.
    /// There are three pairs of nodes, and each flip reads at most `digits` random bits. So
    /// `3 * digits` random bits are always enough.
    fn chances(graph: &Graph, flip: f64, digits: u32) -> Chances<Vec<(u32, u32)>> {
        let run = |coins: &mut Tape<1>| Ok(randomize(graph, NODES, flip, coins)?.edges().to_vec());
        Chances::of(3 * digits, run).unwrap()
    }
    /// For each pair of graphs, compare the two probabilities of every release. Check that their
    /// ratio is at most the exponential of the loss that the map states.
    fn private(flip: f64, digits: u32, map: impl Fn(u32) -> f64) -> Result<usize, Broken> {
        let mut cases = 0;
        for x in graphs() {
            for y in graphs() {
                let d_in = EdgeDistance.distance(&x, &y).unwrap().unwrap();
                let (of_x, of_y) = (chances(&x, flip, digits), chances(&y, flip, digits));
                cases += Claim::epsilon(map(d_in)).exactly(&of_x, &of_y)?;
            }
        }
        Ok(cases)
    }

    #[test]
    fn no_release_is_likelier_than_the_map_says() {
        for (flip, digits) in [(0.25, 2), (0.375, 3), (0.125, 3), (0.5, 1)] {
            let map = |d_in| loss(d_in, flip).unwrap();
            assert_eq!(private(flip, digits, map), Ok(8 * 8 * 16), "{flip}");
        }
    }
    #[test]
    fn a_map_that_claims_a_little_less_is_refused() {
        for (flip, digits) in [(0.25, 2), (0.375, 3), (0.125, 3)] {
            let map = |d_in| loss(d_in, flip).unwrap() * 0.999_999;
            assert!(private(flip, digits, map).is_err(), "{flip}");
        }
    }
    #[test]
    fn has_exactly_the_probabilities_of_the_proof() {
        let chances = chances(&Graph::new([(0, 1)]), 0.25, 2);
        // In the empty release, only the pair (0, 1) is wrong. The probability of this release is
        // 1/4 * 3/4 * 3/4 = 9/64. In the second release no pair is wrong, and in the third release
        // all pairs are wrong.
        assert_eq!(chances.count(&vec![]), 9);
        assert_eq!(chances.count(&vec![(0, 1)]), 27);
        assert_eq!(chances.count(&vec![(0, 2), (1, 2)]), 1);
    }
    #[test]
    fn draws_of_the_measurement_keep_to_its_map() {
        let input = Space::new(GraphDomain::new(NODES).unwrap(), EdgeDistance).unwrap();
        let release_at =
            |flip| make_randomized_graph(input.clone(), FlipProbability::new(flip).unwrap());
        let (x, y) = (Graph::new([]), Graph::new([(0, 1), (1, 2)]));
        let trial = Trial { draws: 20_000, ..Trial::default() };
        let drawn = laws::private(&release_at(0.25).unwrap(), (&x, &y), trial).unwrap();
        // The map states a loss of at most 2.2, so no set of releases can show an epsilon above
        // 2.2. The draws do not always find a set that shows the largest possible epsilon. The best
        // set that the draws find shows an epsilon above 0.8.
        assert!(0.8 < drawn.epsilon && drawn.epsilon <= 2.2, "{drawn:?}");
        // The control: releases with the flip probability 0.125 break the claim of the map for the
        // flip probability 0.25.
        let (claim, cheat) =
            (Claim::of(&release_at(0.25).unwrap(), &2).unwrap(), release_at(0.125).unwrap());
        assert!(claim.by_releases(trial, || cheat.invoke(&x), || cheat.invoke(&y)).is_err());
    }
    #[test]
    fn the_map_knows_its_ends() {
        let input = Space::new(GraphDomain::new(NODES).unwrap(), EdgeDistance).unwrap();
        let release_at = |flip: f64| {
            make_randomized_graph(input.clone(), FlipProbability::new(flip).unwrap()).unwrap()
        };
        assert_eq!(release_at(0.5).map(&3).unwrap(), 0.0);
        assert_eq!(release_at(0.25).map(&0).unwrap(), 0.0);
        // At most three pairs can differ, so the loss at distance 100 is the loss at distance 3.
        assert_eq!(release_at(0.25).map(&100), release_at(0.25).map(&3));
        assert_eq!(release_at(5e-324).map(&1).unwrap_err().kind(), "Overflow");
    }
    #[test]
    fn releases_nothing_without_entropy() {
        let graph = Graph::new([(0, 1)]);
        assert_eq!(randomize(&graph, NODES, 0.25, &mut Failing::default()), Err(NoEntropy));
    }
}
