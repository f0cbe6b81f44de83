//! Changes a JSON document at random. Most results are JSON, so a fuzzer also tests the code that
//! runs after the parser.

use libfuzzer_sys::fuzzer_mutate;
use opendp_registry::Registry;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value as Json};

/// JSON values for changes: extreme numbers and texts, and small parts of documents.
const VALUES: [&str; 36] = [
    "0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e-400",
    "1e400",
    "1e308",
    "5e-324",
    "2147483648",
    "9007199254740993",
    "18446744073709551616",
    "1000000",
    "\"NaN\"",
    "\"Infinity\"",
    "\"\"",
    "\"\\u001b[2J\"",
    "\"i32\"",
    "\"f64\"",
    "\"String\"",
    "\"bool\"",
    "null",
    "true",
    "[]",
    "{}",
    "[0, 1]",
    "[0.0, 1.0]",
    "[[0.0, 1.0]]",
    "\"symmetric_distance\"",
    "\"max_divergence\"",
    "{\"atom_domain\": {\"T\": \"f64\"}}",
    "{\"param\": \"a\"}",
    "{\"__tuple__\": [0, 1]}",
    "{\"chain\": [\"count\"]}",
    "{\"laplace\": {\"scale\": 1.0}}",
    "{\"vector_domain\": {\"atom_domain\": {\"T\": \"i32\"}}}",
];
/// Keys that documents can contain.
const KEYS: [&str; 20] = [
    "space",
    "domain",
    "metric",
    "chain",
    "constructor",
    "types",
    "args",
    "version",
    "packages",
    "repeat",
    "measurement",
    "param",
    "T",
    "bounds",
    "scale",
    "size",
    "input",
    "__function__",
    "__kwargs__",
    "__tuple__",
];

/// Change a text, and return its new size. Usually, change a JSON text as a tree. In all other
/// cases, change the text as bytes.
pub(crate) fn json(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut rng = ChaCha8Rng::seed_from_u64(u64::from(seed));
    if rng.random_ratio(1, 8) {
        return fuzzer_mutate(data, size, max_size);
    }
    let Ok(mut tree) = serde_json::from_slice::<Json>(&data[..size]) else {
        return fuzzer_mutate(data, size, max_size);
    };
    for _ in 0..rng.random_range(1..4) {
        let donor = pick(&tree, &mut rng).clone();
        let place = rng.random_range(0..count(&tree));
        if let Some(node) = nth(&mut tree, &mut { place }) {
            change(node, donor, &mut rng);
        }
    }
    let text = tree.to_string();
    match data.get_mut(..text.len()) {
        Some(start) if text.len() <= max_size => {
            start.copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
}
fn count(tree: &Json) -> usize {
    1 + match tree {
        Json::Array(items) => items.iter().map(count).sum::<usize>(),
        Json::Object(object) => object.values().map(count).sum(),
        _ => 0,
    }
}
/// Find the node with the number `place`. Nodes are numbered from zero, in the order in which they
/// begin in the text.
fn nth<'a>(tree: &'a mut Json, place: &mut usize) -> Option<&'a mut Json> {
    if *place == 0 {
        return Some(tree);
    }
    *place -= 1;
    match tree {
        Json::Array(items) => items.iter_mut().find_map(|item| nth(item, place)),
        Json::Object(object) => object.values_mut().find_map(|item| nth(item, place)),
        _ => None,
    }
}
fn pick<'a>(tree: &'a Json, rng: &mut ChaCha8Rng) -> &'a Json {
    let inside: Vec<&Json> = match tree {
        Json::Array(items) => items.iter().collect(),
        Json::Object(object) => object.values().collect(),
        _ => Vec::new(),
    };
    match inside.choose(rng) {
        Some(inside) if rng.random_ratio(3, 4) => pick(inside, rng),
        _ => tree,
    }
}
fn value(rng: &mut ChaCha8Rng) -> Json {
    let text = VALUES.choose(rng).copied().unwrap_or("0");
    serde_json::from_str(text).expect("the values are JSON")
}
/// Choose a registered name, and remove `make_` from it.
fn name(rng: &mut ChaCha8Rng) -> String {
    static NAMES: std::sync::LazyLock<Vec<String>> =
        std::sync::LazyLock::new(|| Registry::global().names());
    let name = NAMES.choose(rng).cloned().unwrap_or_default();
    name.strip_prefix("make_").unwrap_or(&name).to_owned()
}
fn key(rng: &mut ChaCha8Rng) -> String {
    if rng.random_bool(0.5) {
        name(rng)
    } else {
        KEYS.choose(rng).copied().unwrap_or("T").to_owned()
    }
}
fn change(node: &mut Json, donor: Json, rng: &mut ChaCha8Rng) {
    let kind = rng.random_range(0..8);
    match node {
        Json::Array(items) if kind < 4 => change_array(items, donor, rng),
        Json::Object(object) if kind < 6 => change_object(object, donor, rng),
        _ if kind < 5 => *node = value(rng),
        _ if kind < 6 => *node = donor,
        _ if kind < 7 => *node = name(rng).into(),
        _ => *node = Json::Object(Map::from_iter([(key(rng), std::mem::take(node))])),
    }
}
fn change_array(items: &mut Vec<Json>, donor: Json, rng: &mut ChaCha8Rng) {
    let place = rng.random_range(0..=items.len());
    match rng.random_range(0..4) {
        0 if place < items.len() => drop(items.remove(place)),
        1 => items.insert(place, value(rng)),
        2 => items.insert(place, donor),
        _ => {
            let again: Vec<Json> = items.iter().take(16).cloned().collect();
            items.extend(again);
        }
    }
}
fn change_object(object: &mut Map<String, Json>, donor: Json, rng: &mut ChaCha8Rng) {
    let keys: Vec<String> = object.keys().cloned().collect();
    let chosen = keys.choose(rng);
    match (rng.random_range(0..5), chosen) {
        (0, Some(chosen)) => drop(object.remove(chosen)),
        (1, Some(chosen)) => {
            // Replace a key, and keep its value. For example, a domain is an object whose key is
            // the name of the domain. The value contains the arguments of the domain.
            let value = object.remove(chosen).unwrap_or_default();
            object.insert(key(rng), value);
        }
        (2, Some(chosen)) => drop(object.insert(chosen.clone(), donor)),
        (3, _) => drop(object.insert(key(rng), value(rng))),
        _ => drop(object.insert(key(rng), donor)),
    }
}
