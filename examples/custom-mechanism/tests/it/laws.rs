//! Tests of laws and of privacy claims, for each constructor of this crate. Some of the claims are
//! controls: these claims are wrong, so the tests must refuse them.

use custom_mechanism::{
    EdgeDistance, FlipProbability, Graph, GraphDomain, make_debiased_edge_count, make_edge_count,
    make_gaussian_accounting, make_randomized_graph, make_repeat,
};
use opendp_core::laws::{Broken, Claim, Draw, Grounds, Trial, Tried, private};
use opendp_core::{Space, StabilityMap, Transformation};

/// Check every law of a transformation.
fn laws(transformation: &opendp_core::erased::AnyTransformation) -> Result<Tried, Broken> {
    let grounds = Grounds::new().with::<GraphDomain, EdgeDistance>().numbers::<i64, i64>();
    grounds.check(transformation, &mut Draw::new(17))
}
fn graphs(nodes: u32) -> Space<GraphDomain, EdgeDistance> {
    Space::new(GraphDomain::new(nodes).unwrap(), EdgeDistance).unwrap()
}
fn flip(probability: f64) -> FlipProbability {
    FlipProbability::new(probability).unwrap()
}
/// Return two neighbours: two graphs that differ in one pair of nodes.
fn neighbours() -> (Graph, Graph) {
    (Graph::new([(0, 1)]), Graph::default())
}
const FEW: Trial = Trial { draws: 20_000, false_alarm: 1e-9 };

#[test]
fn the_transformation_obeys_every_law() {
    let tried = laws(&make_edge_count(graphs(40)).unwrap().erase()).unwrap();
    assert!(64 < tried.members && 64 * 64 < tried.pairs && !tried.random, "{tried:?}");
}
#[test]
fn a_transformation_that_claims_less_is_refused() {
    let count = make_edge_count(graphs(40)).unwrap();
    let (input, output) = (count.input().clone(), count.output().clone());
    let less = StabilityMap::new(|d_in: &u32| Ok(i64::from(*d_in) - 1));
    let wrong = Transformation::new(input, output, count.function().clone(), less);
    assert!(laws(&wrong.erase()).is_err());
}
#[test]
fn the_measurement_keeps_to_its_map() {
    let (x, y) = neighbours();
    let measurement = make_randomized_graph(graphs(3), flip(0.25)).unwrap();
    assert!(private(&measurement, (&x, &y), FEW).unwrap().comparisons > 0);
}
#[test]
fn the_function_of_a_release_loses_nothing() {
    let (x, y) = neighbours();
    let estimate = make_randomized_graph(graphs(3), flip(0.25)).unwrap();
    let estimate = estimate.then(|| make_debiased_edge_count(3, flip(0.25))).unwrap();
    assert!(private(&estimate, (&x, &y), FEW).unwrap().comparisons > 0);
}
#[test]
fn the_combinators_keep_to_their_maps() {
    let (x, y) = neighbours();
    let single = make_randomized_graph(graphs(2), flip(0.25)).unwrap();
    let twice = make_repeat(single.clone(), 2).unwrap();
    assert!(private(&twice, (&x, &y), FEW).unwrap().comparisons > 0);
    // The control: the loss of two releases is larger than the loss of one release. So two releases
    // break a claim that states the loss of one release.
    let loss_of_one = Claim::of(&single, &1).unwrap();
    assert!(loss_of_one.by_releases(FEW, || twice.invoke(&x), || twice.invoke(&y)).is_err());

    let gaussian = make_gaussian_accounting(single.erase()).unwrap();
    let claim = Claim::of(&gaussian, &opendp_core::erased::AnyDistance::new(1_u32));
    let release =
        |graph: &Graph| gaussian.invoke(&opendp_core::erased::AnyValue::new(graph.clone()));
    assert!(claim.unwrap().by_releases(FEW, || release(&x), || release(&y)).is_ok());
}
#[test]
fn a_measurement_that_claims_less_is_refused() {
    let (x, y) = neighbours();
    let honest = make_randomized_graph(graphs(3), flip(0.25)).unwrap();
    let half = opendp_core::PrivacyMap::new(|d_in: &u32| Ok(0.5 * f64::from(*d_in)));
    let (input, measure) = (honest.input().clone(), *honest.measure());
    let wrong = opendp_core::Measurement::new(input, measure, honest.function().clone(), half);
    assert!(private(&wrong, (&x, &y), FEW).is_err());
}
