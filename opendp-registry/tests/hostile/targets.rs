//! Functions that fuzzers call with a text. There is one function for each kind of text that a
//! registry reads.
//!
//! The programs in `fuzz/` call these functions with random texts. The tests in this folder call
//! the functions with texts that fuzzers found, and with large texts.

use std::collections::BTreeMap;

use opendp_analysis as _;
use opendp_core::{Args, Constructed, Error, Result, SmoothedMaxDivergence, TypeName};
use opendp_measurements as _;
use opendp_registry::{Document, Registry, Request};
use opendp_transformations as _;
use serde_json::{Value as Json, json};

/// The largest allowed length of an error message, in bytes. A message can quote the beginning of a
/// text.
const LONGEST_MESSAGE: usize = 10_000;

/// Check that an error message is short, and that it has no control characters except line breaks.
fn checked<T>(answer: Result<T>) -> Option<T> {
    answer.map_err(|error| readable(&error)).ok()
}
fn readable(error: &Error) {
    let message = error.to_string();
    assert!(message.len() <= LONGEST_MESSAGE, "{} bytes: {message}", message.len());
    let hostile = |c: char| c.is_control() && c != '\n';
    assert!(!message.contains(hostile), "control characters: {message:?}");
}
/// Build a document with the value 1 for each parameter. Evaluate the map of the built object at
/// distance 1, except if the loss is a privacy profile. Return `None` if the document cannot be
/// built.
fn ask(document: &Document) -> Option<Constructed> {
    let registry = Registry::global();
    let values: BTreeMap<String, Json> =
        document.parameters().into_iter().map(|name| (name, json!(1.0))).collect();
    let made = checked(document.build_with(registry, &values))?;
    // If the loss is a privacy profile, the map computes the whole profile, which takes long for
    // valid documents too. So this test does not evaluate the map.
    let is_curve =
        matches!(&made, Constructed::Measurement(m) if m.measure().is::<SmoothedMaxDivergence>());
    if !is_curve {
        checked(made.map(&json!(1)));
    }
    Some(made)
}

/// Read a text as the name of a type. Also use the text in documents, at places where a document
/// names or describes a type.
pub(crate) fn type_descriptor(text: &str) {
    if let Some(name) = checked(text.parse::<TypeName>()) {
        let again: TypeName = name.to_string().parse().expect("a printed name is a name");
        assert_eq!(again, name);
    }
    for document in [
        json!({"space": {"domain": text, "metric": text}, "chain": ["count"]}),
        json!({"space": {"domain": {"vector_domain": {"atom_domain": {"T": text}}},
            "metric": "symmetric_distance"}, "chain": [{"cast_default": {"TOA": text}}]}),
        json!({"constructor": "make_count", "types": {"TIA": text}}),
    ] {
        ask(&checked(Document::new(document)).expect("it has no version"));
    }
    let described = format!(
        r#"{{"space": {{"domain": {text}, "metric": "symmetric_distance"}}, "chain": ["count"]}}"#
    );
    document(&described);
}
/// Read a text as a request, which is a name with types.
pub(crate) fn signature(text: &str) {
    let registry = Registry::global();
    if let Some(request) = checked(text.parse::<Request>()) {
        let again: Request = request.to_string().parse().expect("a printed request is a request");
        assert_eq!(again, request);
        checked(registry.signatures(&request.name));
    }
    checked(registry.signatures(text));
    checked(registry.resolve(text, &Args::new()));
    if let Some(made) = checked(registry.make(text, &Args::new())) {
        checked(made.map(&json!(1)));
    }
    let document = Document::new(json!({"constructor": text}));
    ask(&checked(document).expect("it has no version"));
}
/// The length of the longest document that is also written in the form of OpenDP. The written
/// document can be many times as long as the text.
const WRITTEN: usize = 10_000;
/// Read a text as a document of this project. If the text is not too long and the document can be
/// built, also write the document in the form of OpenDP.
pub(crate) fn document(text: &str) {
    let Some(document) = checked(Document::parse(text)) else { return };
    if ask(&document).is_some()
        && text.len() <= WRITTEN
        && let Some(written) = checked(document.to_opendp(Registry::global()))
    {
        let written = Document::new(written).expect("a written document has no version");
        checked(written.build(Registry::global()));
    }
}
/// Read a text as a document that OpenDP wrote.
pub(crate) fn opendp_document(text: &str) {
    if let Some(document) = checked(Document::parse(text)) {
        ask(&document);
    }
}

/// The function for each kind of text, and the name of its fuzzer.
pub(crate) const TARGETS: [(&str, fn(&str)); 4] = [
    ("type_descriptor", type_descriptor),
    ("signature", signature),
    ("document", document),
    ("opendp_document", opendp_document),
];
