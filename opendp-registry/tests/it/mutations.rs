//! Tests documents with mistakes. Numbers are replaced by extreme numbers, texts are replaced by
//! hostile texts, and keys are dropped or added. Every operation on the built objects must end
//! within a time limit.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use opendp_core::{Codec, Constructed, Domain, Measure, Metric, SmoothedMaxDivergence};
use opendp_registry::{Document, Registry};
use serde_json::{Value as Json, json};

use crate::clock::spent;
use crate::valid_documents::documents;

/// The longest allowed processor time for all operations on one document. A build with debug
/// assertions has little optimisation, so it computes losses about five times more slowly. The
/// limit for such a build includes another factor of 2 for slow machines.
const TOO_LONG: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });
/// The longest time to wait for the result of one document. After this time, the test fails.
const NEVER: Duration = Duration::from_secs(600);

/// Extreme numbers, as text.
const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1e-400",
    "1e400",
    "2147483648",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "5e-324",
    "0.3333333333333333333333333333333333333333",
    "\"NaN\"",
    "\"Infinity\"",
    "\"-Infinity\"",
    "[179769313486231570000000000, 170141183460469231731687303715884105727]",
];
/// JSON values that replace a text. A reader of documents is likely to fail for these values.
const TEXTS: [&str; 7] =
    ["\"\"", "\"i32\"", "\"\\u001b[2J\"", "\"a<b<c\"", "7", "[]", "{\"a\": null}"];

/// Make documents that differ from a document in one place. In this place, a value is replaced or
/// dropped, or an unknown key is added.
fn mutants(json: &Json) -> Vec<Json> {
    let read = |texts: &[&str]| -> Vec<Json> {
        texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    };
    match json {
        Json::Number(_) => read(&NUMBERS),
        Json::String(_) => read(&TEXTS),
        Json::Bool(value) => vec![json!(!value), json!(7)],
        Json::Null => read(&["7", "\"x\""]),
        Json::Array(items) => {
            let with = |i: usize, item: Option<Json>| {
                let mut items = items.clone();
                match item {
                    Some(item) => items[i] = item,
                    None => drop(items.remove(i)),
                }
                Json::Array(items)
            };
            let each = items.iter().enumerate();
            let changed = each.flat_map(|(i, item)| {
                let inside = mutants(item).into_iter().map(Some).chain([None]);
                inside.map(move |item| with(i, item)).collect::<Vec<_>>()
            });
            changed.collect()
        }
        Json::Object(object) => {
            let with = |key: &str, value: Option<Json>| {
                let mut object = object.clone();
                match value {
                    Some(value) => drop(object.insert(key.to_owned(), value)),
                    None => drop(object.remove(key)),
                }
                Json::Object(object)
            };
            let changed = object.iter().flat_map(|(key, value)| {
                let inside = mutants(value).into_iter().map(Some).chain([None]);
                inside.map(|value| with(key, value)).collect::<Vec<_>>()
            });
            changed.chain([with("surprise", Some(json!(1)))]).collect()
        }
    }
}
/// Return whether an object is a measurement whose losses are privacy profiles. The tests evaluate
/// the map of such a measurement less often, because each evaluation computes several points.
fn is_curve(made: &Constructed) -> bool {
    matches!(made, Constructed::Measurement(m) if m.measure().is::<SmoothedMaxDivergence>())
}
/// Run every operation on a document. Other tests check the results.
fn ask(text: &str) -> Option<Constructed> {
    let made =
        Document::parse(text).and_then(|document| document.build(Registry::global())).ok()?;
    let distances =
        [json!(1), json!(0.5), json!([1, 2, 2]), json!(4_294_967_295_u32), json!(1e300)];
    for d_in in distances.into_iter().take(if is_curve(&made) { 1 } else { usize::MAX }) {
        let _ = (made.map(&d_in), made.check_neighbours(&d_in));
    }
    let values = [
        json!([]),
        json!([1, 2, 3]),
        json!([1.5, 0.25, 9.0]),
        json!(1),
        json!(true),
        json!("a,b\n1,2"),
        json!(["a", "b"]),
        json!([9, 5, 4, 3, 2, 2, 2]),
        json!([[1.0, 0.5], [0.0, 1.0], [0.5, 0.5]]),
        json!({"a": 1, "b": 200}),
    ];
    for value in values {
        match &made {
            // Do not run the function if its output has many rows, because making these rows could
            // take too long.
            Constructed::Transformation(t) if t.output().domain().records().is_none_or(few) => {
                let value = t.input().domain().decode(&value);
                if let Some(value) = value.ok().filter(|value| t.input().domain().member(value)) {
                    let _ = t.invoke(&value).map(|out| out.to_json());
                }
                let _ = t.output().metric().to_json();
            }
            Constructed::Measurement(m) => {
                let value = m.input().domain().decode(&value);
                if let Some(value) = value.ok().filter(|value| m.input().domain().member(value)) {
                    let _ = m.invoke(&value).map(|out| out.to_json());
                }
                let _ = (m.measure().to_json(), m.accuracy(0.05));
            }
            _ => {}
        }
    }
    Some(made)
}

fn few(records: usize) -> bool {
    records <= 1 << 16
}

/// Run all documents. Return the processor time and the text of the slowest document.
///
/// # Panics
/// When an operation on a document panics, or gives no result within the time `NEVER`.
fn ask_all(texts: Vec<String>) -> (Duration, String) {
    let (send, receive) = mpsc::channel();
    let all = texts.clone();
    let worker = std::thread::spawn(move || {
        for text in all {
            let start = spent();
            drop(ask(&text));
            send.send(spent() - start).unwrap();
        }
    });
    let mut slowest = (Duration::ZERO, String::new());
    for text in texts {
        match receive.recv_timeout(NEVER) {
            Ok(elapsed) if slowest.0 < elapsed => slowest = (elapsed, text),
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => panic!("no answer: {text}"),
            Err(RecvTimeoutError::Disconnected) => panic!("a panic: {text}"),
        }
    }
    worker.join().unwrap();
    slowest
}

#[test]
fn the_documents_that_are_changed_are_valid_and_name_every_constructor() {
    let documents = documents();
    let wrong = |document: &Json| {
        crate::build(document.clone()).err().map(|error| format!("{error}: {document}"))
    };
    let wrong: Vec<String> = documents.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let text = json!(documents).to_string();
    let registry = Registry::global();
    for name in registry.names() {
        // Most of these constructors take a function, and a document cannot contain a function.
        if name.contains("_user_") || name.starts_with("new_") || name.starts_with("user_") {
            continue;
        }
        let short = name.strip_prefix("make_");
        let Some(short) = short else { continue };
        assert!(text.contains(&format!("\"{short}\"")), "no document names `{name}`; add one");
    }
}
#[test]
fn no_document_ends_the_process_or_takes_too_long() {
    let mut texts = Vec::new();
    for document in documents() {
        texts.extend(mutants(&document).into_iter().map(|mutant| mutant.to_string()));
    }
    assert!(5000 < texts.len(), "{}", texts.len());
    let (elapsed, slowest) = ask_all(texts);
    assert!(elapsed < TOO_LONG, "{elapsed:?} for {slowest}");
}
#[test]
fn no_distance_ends_the_process_or_takes_too_long() {
    for document in documents() {
        let made = crate::build(document.clone()).unwrap();
        for text in NUMBERS.iter().chain(&TEXTS) {
            let number: Json = serde_json::from_str(text).unwrap();
            let [pair, three] = [json!([number, number]), json!([number, number, number])];
            for distance in [&number, &pair, &three] {
                let start = spent();
                drop(made.map(distance));
                if !is_curve(&made) {
                    drop(made.check(&json!(1), distance));
                }
                let elapsed = spent() - start;
                assert!(elapsed < TOO_LONG, "{elapsed:?} for {distance} in {document}");
            }
        }
    }
}
#[test]
fn a_key_that_occurs_twice_is_found_wherever_it_is() {
    // For each key of each object, return the key, and a document with a copy of the entry. The
    // copy has the key `TWICE`, which the test then replaces by the original key.
    fn twice(json: &Json) -> Vec<(Json, String)> {
        match json {
            Json::Array(items) => {
                let inside = |(i, item)| {
                    let with = move |(item, key)| {
                        let mut items = items.clone();
                        items[i] = item;
                        (Json::Array(items), key)
                    };
                    twice(item).into_iter().map(with)
                };
                items.iter().enumerate().flat_map(inside).collect()
            }
            Json::Object(object) => {
                let each = |(key, value): (&String, &Json)| {
                    let mut again = object.clone();
                    again.insert("TWICE".into(), value.clone());
                    let with = |(value, name)| {
                        let mut object = object.clone();
                        object.insert(key.clone(), value);
                        (Json::Object(object), name)
                    };
                    let inside: Vec<_> = twice(value).into_iter().map(with).collect();
                    inside.into_iter().chain([(Json::Object(again), key.clone())])
                };
                object.iter().flat_map(each).collect()
            }
            _ => Vec::new(),
        }
    }
    let mut tried = 0;
    for document in documents() {
        for (changed, key) in twice(&document) {
            let error = Document::parse(&changed.to_string().replace("TWICE", &key)).unwrap_err();
            assert!(error.to_string().contains(&format!("`{key}` occurs twice")), "{error}");
            tried += 1;
        }
    }
    assert!(500 < tried, "{tried}");
}
