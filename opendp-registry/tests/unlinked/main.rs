//! A program that links no catalogue. The errors of the registry name the missing crate.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use opendp_core::Args;
use opendp_registry::{Document, Registry};

#[test]
fn a_name_of_a_catalogue_that_is_not_linked_tells_how_to_link_it() {
    let registry = Registry::global();
    for (name, package, import) in [
        ("make_laplace", "opendp-measurements", "use opendp_measurements as _;"),
        ("laplace", "opendp-measurements", "use opendp_measurements as _;"),
        ("then_laplace", "opendp-measurements", "use opendp_measurements as _;"),
        ("make_base_laplace", "opendp-measurements", "use opendp_measurements as _;"),
        ("make_clamp", "opendp-transformations", "use opendp_transformations as _;"),
    ] {
        let error = registry.make(name, &Args::new()).unwrap_err();
        assert_eq!(error.kind(), "NotFound");
        let text = error.to_string();
        for part in [name, package, import, "Cargo.toml"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let text = r#"{"space": {"domain": {"vector_domain": {"atom_domain": {"T": "i32"}}},
                             "metric": "symmetric_distance"}, "chain": ["count"]}"#;
    let error = Document::parse(text).unwrap().build(registry).unwrap_err().to_string();
    assert!(error.contains("chain link 1 `count`"), "{error}");
    assert!(error.contains("use opendp_transformations as _;"), "{error}");
    let error = registry.expecting(&["make_clamp", "make_absent"]).unwrap_err().to_string();
    assert!(error.contains("use opendp_transformations as _;"), "{error}");
}
#[test]
fn another_name_is_not_said_to_be_of_a_catalogue() {
    let error = Registry::global().make("make_nonsense", &Args::new()).unwrap_err().to_string();
    assert!(!error.contains("opendp-measurements"), "{error}");
}
#[test]
fn a_package_that_is_linked_but_not_trusted_is_not_to_be_linked() {
    let registry = Registry::trusting(&[]);
    let error = registry.make("max_divergence", &Args::new()).unwrap_err().to_string();
    assert!(error.contains("opendp-core") && error.contains("does not trust"), "{error}");
    assert!(!error.contains("Cargo.toml"), "{error}");
}
