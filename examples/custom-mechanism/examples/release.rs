//! Makes a release. There are three inputs: a JSON file with a document, a JSON file with data, and
//! the distance between neighbours.
//!
//! ```text
//! cargo run --example release -- documents/edge_count.json documents/graph.json 1
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::process::ExitCode;

use opendp_core::{Codec, Domain, Error, Result};
use opendp_registry::{Document, Registry, json};
use serde_json::{Value as Json, json};

// If no code names a crate, the linker drops the crate and its constructors.
use custom_mechanism as _;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [document, data, distance] = &arguments[..] else {
        eprintln!("three arguments are expected: the files DOCUMENT and DATA, and D_IN");
        return ExitCode::from(2);
    };
    match read(document).and_then(|text| release(&text, &read(data)?, distance)) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error[{}]: {error}", error.kind());
            ExitCode::from(1)
        }
    }
}
fn read(file: &str) -> Result<String> {
    let unread = |error| Error::FailedFunction(format!("file `{file}` cannot be read: {error}"));
    std::fs::read_to_string(file).map_err(unread)
}
/// Build the mechanism, release once, and report the release with its loss.
fn release(document: &str, data: &str, distance: &str) -> Result<Json> {
    let registry = Registry::global().expecting(&["acme::make_edge_count"])?;
    let mechanism = Document::parse(document)?.build(registry)?.measurement()?;
    let (domain, metric) = (mechanism.input().domain(), mechanism.input().metric());
    let loss = mechanism.map(&metric.decode(&json::parse(distance)?)?)?;
    let data = domain.decode(&json::parse(data)?)?;
    if !domain.member(&data) {
        let reason = "the data are not in the input domain of the document; correct one of them";
        return Err(Error::argument("data", reason));
    }
    let release = mechanism.invoke(&data)?;
    Ok(json!({"release": release.to_json(), "loss": loss.to_json()}))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: &str = include_str!("../documents/edge_count.json");
    const GRAPH: &str = include_str!("../documents/graph.json");

    #[test]
    fn a_document_is_released_with_its_loss() {
        let report = release(COUNT, GRAPH, "1").unwrap();
        assert_eq!(report["loss"], json!(0.5));
        assert!(report["release"].is_i64(), "{report}");
        // At distance 2, the loss is twice the loss at distance 1.
        assert_eq!(release(COUNT, GRAPH, "2").unwrap()["loss"], json!(1.0));
    }
    #[test]
    fn data_outside_of_the_domain_are_refused() {
        let error = release(COUNT, "[[0, 1000]]", "1").unwrap_err();
        assert!(error.to_string().contains("not in the input domain"), "{error}");
        assert_eq!(read("documents/none.json").unwrap_err().kind(), "FailedFunction");
    }
}
