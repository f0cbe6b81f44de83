//! A program that uses the crate of a third party in two ways: by types, and by name through the
//! registry.
//!
//! ```text
//! cargo run -p example-registry --bin custom_mechanism
//! ```
#![forbid(unsafe_code)]

use std::process::ExitCode;

use custom_mechanism::{
    EdgeDistance, FlipProbability, Graph, GraphDomain, make_debiased_edge_count, make_edge_count,
    make_randomized_graph, make_repeat,
};
use opendp_core::{Codec, Distance, Measure, Result, Space};
use opendp_examples::terminal;
use opendp_measurements::{Scale, make_laplace};
use opendp_registry::{Document, Registry};
use serde_json::json;

const NODES: u32 = 60;

/// A document for a hundred releases of a noisy count, with losses in the measure of the third
/// party.
const HUNDRED: &str = r#"{
    "space": {"domain": {"acme::graph_domain": {"nodes": 60}}, "metric": "acme::edge_distance"},
    "chain": [{"acme::repeat": {
        "measurement": {
            "constructor": "acme::make_gaussian_accounting",
            "args": {"measurement": {"chain": ["acme::edge_count", {"laplace": {"scale": 20.0}}]}}
        },
        "times": 100
    }}]
}"#;

fn main() -> ExitCode {
    terminal::finish(tour().map(|lines| lines.join("\n")))
}
fn tour() -> Result<Vec<String>> {
    let mut text = Vec::new();
    let mut say = |line: &str| text.push(line.to_owned());
    // Make friendships between people who are arranged in a ring. Each person is a friend of the
    // next four people.
    let friends = Graph::new((0..NODES).flat_map(|u| (1..=4).map(move |k| (u, (u + k) % NODES))));
    let graphs = Space::new(GraphDomain::new(NODES)?, EdgeDistance)?;

    say("By types\n");
    let count = make_edge_count(graphs.clone())?
        .then(|count| make_laplace(count, Scale::new(4.0)?, None))?;
    say("a transformation of the third party, then noise of the framework");
    say(&format!("    edges      {}", count.invoke(&friends)?));
    say(&format!("    epsilon    {} for one friendship", count.map(&1)?));
    let within = count.accuracy(0.05)?.first().copied().flatten();
    say(&format!(
        "    accuracy   {} with 95 % confidence",
        within.map_or("unknown".to_owned(), |a| format!("\u{b1} {a}"))
    ));

    let flip = FlipProbability::new(0.125)?;
    let estimate =
        make_randomized_graph(graphs, flip)?.then(|| make_debiased_edge_count(NODES, flip))?;
    say("a mechanism of the third party, which releases a graph, then a function of this graph");
    say(&format!("    edges      {:.1}", estimate.invoke(&friends)?));
    say(&format!("    epsilon    {} for one friendship", estimate.map(&1)?));

    let thrice = make_repeat(count, 3)?;
    say("a combinator of the third party on the first chain: three releases");
    say(&format!("    edges      {:?}", thrice.invoke(&friends)?));
    say(&format!("    epsilon    {} for one friendship", thrice.map(&1)?));

    say("\nBy name\n");
    let registry = Registry::global();
    for name in registry.names().iter().filter(|name| name.starts_with("acme::")) {
        for entry in registry.signatures(name)? {
            say(&format!("    {:<14} {entry}", entry.kind().name()));
        }
    }
    let hundred = Document::parse(HUNDRED)?.build(registry)?.measurement()?;
    let mu = hundred.map(&hundred.input().metric().decode(&json!(1))?)?;
    let delta = 1e-6;
    let epsilon = hundred.measure().profile(&mu)?.epsilon(delta)?;
    say("\na hundred counts at epsilon 0.05 each, in the third party's measure");
    say(&format!("    mu         {}", mu.show()));
    say(&format!("    epsilon    {epsilon:.3} at delta {delta:e}; the epsilons add up to 5"));
    let released = hundred.invoke(&hundred.input().domain().decode(&friends.to_json())?)?;
    let answers = Vec::<f64>::from_json(&released.to_json())?;
    let mean = answers.iter().sum::<f64>() / 100.0;
    say(&format!("    edges      {mean:.1} on average"));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tour_goes_all_the_way() -> Result<()> {
        let text = tour()?.join("\n");
        assert!(text.contains("epsilon    0.75 for one friendship"), "{text}");
        assert!(text.contains("mu         0.62665"), "{text}");
        Ok(())
    }
}
