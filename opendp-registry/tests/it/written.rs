//! Pipelines that are written in the serialization of OpenDP 0.16 and read again.

use opendp_registry::{Document, Registry};
use serde_json::{Value as Json, json};

use crate::valid_documents::documents;

fn written(document: &Json) -> Result<Json, opendp_core::Error> {
    Document::new(document.clone())?.to_opendp(Registry::global())
}
fn map(document: &Json, d_in: &Json) -> Option<Json> {
    Document::new(document.clone()).unwrap().build(Registry::global()).unwrap().map(d_in).ok()
}

#[test]
fn what_is_written_is_read_again_with_the_same_map() {
    let distances = [json!(0), json!(1), json!(2), json!(7), json!([1, 1, 1])];
    let (mut read, mut refused) = (0, Vec::new());
    for document in documents() {
        let theirs = match written(&document) {
            Ok(theirs) => theirs,
            Err(error) => {
                let text = error.to_string();
                assert_eq!(error.kind(), "NotImplemented", "{text}: {document}");
                assert!(text.contains("OpenDP 0.16 has no"), "{text}");
                refused.push(text);
                continue;
            }
        };
        read += 1;
        // The text contains only calls of OpenDP functions. If the text is read and written again,
        // it stays the same.
        let again = Document::parse(&theirs.to_string()).unwrap();
        assert_eq!(again.to_opendp(Registry::global()).unwrap(), theirs);
        for d_in in &distances {
            assert_eq!(map(&theirs, d_in), map(&document, d_in), "{d_in}: {document}\n{theirs}");
        }
    }
    assert!(50 <= read, "{read} were read, and refused were {refused:#?}");
}
#[test]
fn a_vector_of_cells_that_may_be_missing_is_written() {
    let element = json!({"option_domain": {"element_domain": {"atom_domain": {"T": "i32"}}}});
    for domain in
        [json!({"vector_domain": element}), json!({"vector_domain": {"atom_domain": element}})]
    {
        let document = json!({
            "space": {"domain": domain, "metric": "symmetric_distance"},
            "chain": [
                "drop_null", {"clamp": {"bounds": [0, 9]}}, "sum", {"laplace": {"scale": 9.0}},
            ],
        });
        let theirs = written(&document).unwrap();
        let text = theirs.to_string();
        assert!(text.contains("\"option_domain\"") && text.contains("make_drop_null"), "{text}");
        assert_eq!(map(&theirs, &json!(1)), Some(json!(1.0)));
    }
}
#[test]
fn what_cannot_be_written_is_named_with_its_place() {
    let space = json!({
        "domain": {"vector_domain": {"atom_domain": {"T": "i32"}}}, "metric": "symmetric_distance",
    });
    for (chain, parts) in [
        (
            json!(["identity", {"filter_bounds": {"bounds": [0, 1]}}]),
            ["chain link 2", "make_filter_bounds"],
        ),
        (
            json!([{"filter_values": {"values": [1]}}, "count"]),
            ["chain link 1", "make_filter_values"],
        ),
        // The Python library has the function `make_laplace`, but this function does not accept the
        // measure `SmoothedMaxDivergence`.
        (
            json!(["count", {"laplace": {"scale": 1.0, "MO": "SmoothedMaxDivergence"}}]),
            ["chain link 2", "Smoothed"],
        ),
    ] {
        let error = written(&json!({"space": space, "chain": chain})).unwrap_err();
        assert_eq!(error.kind(), "NotImplemented");
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    let replaced = json!({"domain": {"vector_domain": {"atom_domain": {"T": "i32"}, "size": 9}}, "metric": "change_one_distance"});
    let error =
        written(&json!({"space": replaced, "chain": [{"clamp": {"bounds": [0, 1]}}]})).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("`make_clamp` for ChangeOneDistance"), "{error}");
    // If a document cannot be built, `to_opendp` returns the error of `build`.
    let error = written(&json!({"space": space, "chain": ["mean"]})).unwrap_err();
    assert_ne!(error.kind(), "NotImplemented", "{error}");
}
#[test]
fn numbers_and_pairs_have_the_types_that_python_expects() {
    let document = json!({
        "space": {
            "domain": {"vector_domain": {"atom_domain": {"T": "f64", "nan": false}, "size": 10}},
            "metric": "symmetric_distance",
        },
        "chain": [{"clamp": {"bounds": [0, 10]}}, "mean", {"laplace": {"scale": 2}}],
    });
    let text = written(&document).unwrap().to_string();
    assert!(text.contains(r#""bounds":{"__tuple__":[0.0,10.0]}"#), "{text}");
    assert!(text.contains(r#""scale":2.0"#), "{text}");
    assert!(text.contains(r#""size":10"#) && text.contains(r#""MO":"MaxDivergence""#), "{text}");
    let integers = json!({
        "space": {"domain": {"vector_domain": {"atom_domain": {"T": "i32"}}}, "metric": "symmetric_distance"},
        "chain": [{"clamp": {"bounds": [0.0, 1e1]}}],
    });
    // For the type `i32`, the reader of documents may accept or refuse numbers such as `0.0` and
    // `1e1`. If the reader accepts these numbers, they must be written as integers.
    if let Ok(written) = written(&integers) {
        assert!(written.to_string().contains(r#""__tuple__":[0,10]"#), "{written}");
    }
}
#[test]
fn a_long_chain_grows_with_the_square_and_no_faster() {
    let chain = |links: usize| {
        let links = vec![json!({"clamp": {"bounds": [0, 10]}}); links];
        json!({
            "space": {"domain": {"vector_domain": {"atom_domain": {"T": "i32"}}}, "metric": "symmetric_distance"},
            "chain": links,
        })
    };
    let length = |links| written(&chain(links)).unwrap().to_string().len();
    let (ten, twenty) = (length(10), length(20));
    assert!(twenty < 5 * ten, "{ten} and {twenty}");
}
#[test]
fn a_document_of_opendp_is_written_as_it_is() {
    let theirs = json!({
        "__function__": "max_divergence", "__module__": "measures", "__kwargs__": {}, "__version__": "0.16.0",
    });
    assert_eq!(written(&theirs).unwrap(), theirs);
    let repeated = json!({
        "space": {"domain": {"atom_domain": {"T": "i64"}}, "metric": {"absolute_distance": {"T": "i64"}}},
        "chain": [{"composition": {"measurements": [
            {"repeat": 3, "chain": [{"laplace": {"scale": 2.0}}]},
        ]}}],
    });
    let theirs = written(&repeated).unwrap();
    assert_eq!(theirs["__kwargs__"]["measurements"].as_array().unwrap().len(), 3);
}
#[test]
fn a_document_of_a_domain_is_named_and_not_converted() {
    for (document, kind) in [
        (json!({"vector_domain": {"atom_domain": {"T": "i64"}}}), "a domain"),
        (json!({"symmetric_distance": {}}), "a metric"),
        (json!({"max_divergence": {}}), "a measure"),
    ] {
        let error = Document::new(document).unwrap().to_opendp(Registry::global()).unwrap_err();
        let expected = format!("this document is {kind}, and only a pipeline is converted");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}
