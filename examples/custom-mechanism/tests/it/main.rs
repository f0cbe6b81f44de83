//! Tests that use the crate through the registry, mostly with documents.
#![allow(clippy::unwrap_used, reason = "tests fail by a panic")]

mod laws;

use custom_mechanism::{EdgeDistance, Graph, GraphDomain, make_edge_count};
use opendp_core::erased::{AnyDistance, AnyMeasurement, AnyValue};
use opendp_core::{Arg, Args, Codec, Domain, Measure, Result, Space, SymmetricDistance, register};
use opendp_measurements::{Scale, make_laplace};
use opendp_registry::{Document, Registry};
use opendp_transformations::make_clamp;
use serde_json::json;

const NAMES: [&str; 10] = [
    "acme::edge_distance",
    "acme::gaussian_tradeoff",
    "acme::graph_domain",
    "acme::make_debiased_edge_count",
    "acme::make_edge_count",
    "acme::make_gaussian_accounting",
    "acme::make_randomized_graph",
    "acme::make_randomized_presence",
    "acme::make_repeat",
    "make_clamp",
];
/// Make a document that starts from graphs on four nodes.
fn on_graphs(chain: serde_json::Value) -> Document {
    let space =
        json!({"domain": {"acme::graph_domain": {"nodes": 4}}, "metric": "acme::edge_distance"});
    Document::new(json!({"space": space, "chain": chain})).unwrap()
}
fn build(document: &Document) -> Result<AnyMeasurement> {
    document.build(Registry::global())?.measurement()
}
fn loss(measurement: &AnyMeasurement, d_in: u32) -> f64 {
    let d_in = measurement.input().metric().decode(&json!(d_in)).unwrap();
    *measurement.map(&d_in).unwrap().downcast_ref().unwrap()
}
/// Make a release for a graph that is a path of three edges.
fn release(measurement: &AnyMeasurement) -> AnyValue {
    let path = json!([[0, 1], [1, 2], [2, 3]]);
    measurement.invoke(&measurement.input().domain().decode(&path).unwrap()).unwrap()
}

#[test]
fn the_registry_lists_and_describes_every_name() {
    let registry = Registry::global();
    registry.expecting(&NAMES).unwrap();
    for name in NAMES.iter().filter(|name| name.starts_with("acme::")) {
        assert!(registry.names().iter().any(|listed| listed == name), "{name}");
        for entry in registry.signatures(name).unwrap() {
            assert!(!entry.documentation().is_empty(), "{name}");
            assert_eq!(entry.origin().0, "custom-mechanism");
        }
    }
    let entry = &registry.signatures("acme::make_randomized_graph").unwrap()[0];
    assert!(entry.documentation().contains("# Proof"));
    assert_eq!(
        entry.to_string(),
        "acme::make_randomized_graph(input: Space<acme::GraphDomain, acme::EdgeDistance>, \
         flip: acme::FlipProbability) -> Measurement<acme::GraphDomain, acme::EdgeDistance, \
         MaxDivergence, acme::Graph>"
    );
}
/// A document can describe data sets whose records are graphs.
#[test]
fn records_of_our_type_are_described_in_documents() {
    let graphs = json!({"vector_domain": {"acme::graph_domain": {"nodes": 4}, "size": 2}});
    let document = Document::new(graphs).unwrap();
    let domain = document.build(Registry::global()).unwrap().domain().unwrap();
    let member = |data| domain.member(&domain.decode(&data).unwrap());
    assert!(member(json!([[[0, 1]], []])) && !member(json!([[[0, 4]], []])) && !member(json!([])));
    let again = Document::new(domain.to_json()).unwrap().build(Registry::global()).unwrap();
    assert_eq!(again.domain().unwrap(), domain);
}
#[test]
fn noise_of_the_house_follows_our_transformation() {
    let document = on_graphs(json!(["acme::make_edge_count", {"laplace": {"scale": 2.0}}]));
    let count = build(&document).unwrap();
    assert_eq!(loss(&count, 3), 1.5);
    assert_eq!(release(&count).inner_type().to_string(), "i64");
    assert_eq!(count.accuracy(0.05).unwrap(), [Some(6.0)]);

    let exact = on_graphs(json!(["acme::edge_count", {"make_laplace": {"scale": 0}}]));
    assert_eq!(release(&build(&exact).unwrap()).downcast::<i64>().unwrap(), 3);
}
#[test]
fn a_scale_is_solved_for_through_our_names() {
    let document =
        on_graphs(json!(["acme::edge_count", {"laplace": {"scale": {"param": "scale"}}}]));
    let found = document.solve(Registry::global(), "scale", &json!(2), &json!(0.5)).unwrap();
    assert_eq!(found, json!(4.0));
}
#[test]
fn a_function_of_ours_follows_a_mechanism_of_ours() {
    let document = on_graphs(json!([
        {"acme::randomized_graph": {"flip": 0.25}},
        {"acme::debiased_edge_count": {"nodes": 4, "flip": 0.25}}
    ]));
    let estimate = build(&document).unwrap();
    assert!((loss(&estimate, 1) - 1.098_612_288_668).abs() < 1e-12);
    // The release has `k` edges, from 0 to 6. The estimate is (k - 1.5) / 0.5.
    let found: f64 = release(&estimate).downcast().unwrap();
    assert!((0..=6).any(|k| f64::from(2 * k - 3) == found), "{found}");
}
#[test]
fn members_of_ours_and_of_the_house_compose() {
    let count = json!({"chain": ["acme::edge_count", {"laplace": {"scale": 4.0}}]});
    let graph = json!({"chain": [{"acme::randomized_graph": {"flip": 0.5}}]});
    let document = on_graphs(json!([{"composition": {"measurements": [count, graph]}}]));
    let both = build(&document).unwrap();
    assert_eq!(loss(&both, 2), 0.5);
    let answers = release(&both).downcast::<Vec<AnyValue>>().unwrap();
    let types: Vec<String> = answers.iter().map(|a| a.inner_type().to_string()).collect();
    assert_eq!(types, ["i64", "acme::Graph"]);
    let graph = answers[1].downcast_ref::<Graph>().unwrap();
    assert!(GraphDomain::new(4).unwrap().member(graph));
}
#[test]
fn a_combinator_of_ours_takes_any_mechanism() {
    let count = json!({"chain": ["acme::edge_count", {"laplace": {"scale": 2.0}}]});
    let repeat = json!({"acme::repeat": {"measurement": count, "times": 4}});
    let four = build(&on_graphs(json!([repeat]))).unwrap();
    assert_eq!(loss(&four, 1), 2.0);
    assert_eq!(release(&four).downcast::<Vec<AnyValue>>().unwrap().len(), 4);
}
#[test]
fn losses_in_a_measure_of_ours_compose_in_a_composition_of_the_house() {
    let count = json!({"chain": ["acme::edge_count", {"laplace": {"scale": 10.0}}]});
    let gaussian = json!({
        "constructor": "acme::make_gaussian_accounting",
        "args": {"measurement": count}
    });
    let hundred = json!({"acme::repeat": {"measurement": gaussian, "times": 100}});
    let hundred = build(&on_graphs(json!([hundred]))).unwrap();
    // In pure differential privacy, the epsilon of all releases together is 10. In this measure, mu
    // grows only with the root of the number of releases.
    let mu = loss(&hundred, 1);
    assert!((mu - 1.253_314).abs() < 1e-5, "{mu}");
    assert_eq!(hundred.measure().to_json(), json!("acme::gaussian_tradeoff"));
    let profile = hundred.measure().profile(&AnyDistance::new(mu)).unwrap();
    assert!(profile.epsilon(1e-6).unwrap() < 8.0);

    let twice = json!({"composition": {"measurements": [gaussian, gaussian]}});
    let twice = build(&on_graphs(json!([twice]))).unwrap();
    assert!((loss(&twice, 1) - 0.125_331_4 * 2_f64.sqrt()).abs() < 1e-6);
}
#[test]
fn measures_that_differ_do_not_compose() {
    let count = json!({"chain": ["acme::edge_count", {"laplace": {"scale": 10.0}}]});
    let gaussian =
        json!({"constructor": "acme::gaussian_accounting", "args": {"measurement": count}});
    let error = build(&on_graphs(json!([{"composition": {"measurements": [count, gaussian]}}])));
    assert_eq!(error.unwrap_err().kind(), "MeasureMismatch");
}
// This registration stands for a registration in another crate that needs the same type. With this
// registration, the registry has two equal signatures for this type. A document that uses the
// constructor for this type is still not ambiguous.
register! {
    "main.rs": make_clamp(input, bounds) for T in [isize], M in [SymmetricDistance];
}
#[test]
fn a_constructor_of_the_house_has_one_more_type() {
    let twice = Registry::global().signatures("make_clamp").unwrap();
    let twice = twice.iter().filter(|entry| entry.to_string().contains("<T=isize, M=Symmetric"));
    assert_eq!(twice.count(), 2);
    let document = Document::new(json!({
        "space": {"domain": {"vector_domain": {"atom_domain": {"T": "isize"}}},
                  "metric": "symmetric_distance"},
        "chain": [{"clamp": {"bounds": [0, 9]}}]
    }));
    let clamp = document.unwrap().build(Registry::global()).unwrap().transformation().unwrap();
    let data = AnyValue::new(vec![-5_isize, 5, 50]);
    assert_eq!(clamp.invoke(&data).unwrap().downcast::<Vec<isize>>().unwrap(), [0, 5, 9]);
}
#[test]
fn errors_tell_the_place_and_what_was_expected() {
    let tell = |chain| build(&on_graphs(chain)).unwrap_err().to_string();
    let flip = tell(json!([{"acme::randomized_graph": {"flip": 0.75}}]));
    assert!(flip.contains("argument `flip`") && flip.contains("at most 0.5"), "{flip}");
    let name = tell(json!(["acme::make_edge_cuont"]));
    assert!(name.contains("did you mean `acme::make_edge_count`"), "{name}");
    let order = tell(json!([{"laplace": {"scale": 1.0}}]));
    assert!(order.contains("acme::GraphDomain"), "{order}");
}
#[test]
fn the_typed_and_the_erased_form_agree() {
    let typed = make_edge_count(Space::new(GraphDomain::new(4).unwrap(), EdgeDistance).unwrap())
        .unwrap()
        .then(|count| make_laplace(count, Scale::new(0.0)?, None))
        .unwrap();
    let graph = Graph::from_json(&json!([[0, 1], [2, 3]])).unwrap();
    let erased = typed.erase();
    assert_eq!(typed.invoke(&graph).unwrap(), 2);
    assert_eq!(erased.invoke(&AnyValue::new(graph)).unwrap().downcast::<i64>().unwrap(), 2);
    let input = Space::new(GraphDomain::new(4).unwrap(), EdgeDistance).unwrap().erase();
    let args = Args::new().with("input", &input).with("flip", Arg::from(json!(0.25)));
    let made = Registry::global().make("acme::randomized_graph", &args).unwrap();
    assert!(made.measurement().unwrap().measure().is::<opendp_core::MaxDivergence>());
}
#[test]
fn a_program_that_trusts_only_the_house_does_not_see_us() {
    let registry = Registry::trusting(&["opendp-core", "opendp-transformations"]);
    assert!(registry.names().iter().all(|name| !name.starts_with("acme::")));
    assert_eq!(registry.signatures("acme::make_repeat").unwrap_err().kind(), "NotFound");
}
