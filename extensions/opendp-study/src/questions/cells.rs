//! The cells of answers, and their labels.

use std::collections::HashMap;

use opendp_core::{Codec, order};
use opendp_transformations::Key;
use serde_json::Value as Json;

use super::super::outcome::Cell;

pub(in super::super) fn cell(
    label: String,
    value: &impl Codec,
    interval: Option<(f64, f64)>,
) -> Cell {
    Cell { label: Some(label), value: value.to_json(), interval, ..Cell::default() }
}
/// Return the cells for keys and their counts, in the order of the keys. `error` is a bound on the
/// errors of the counts.
pub(super) fn cells_of_keys<T: Key>(counts: HashMap<T, i64>, error: Option<f64>) -> Vec<Cell> {
    let (mut keys, mut numbers) = (Vec::new(), Vec::new());
    for (key, count) in counts {
        keys.push(key);
        numbers.push(count);
    }
    let mut cells = Vec::with_capacity(keys.len());
    for place in order::ascending(&keys) {
        let count = numbers[place];
        let interval = error.map(|error| (count as f64 - error, count as f64 + error));
        cells.push(cell(label(&keys[place].to_json()), &count, interval));
    }
    cells
}
/// Return the cells for chosen categories, in the order of the choices.
pub(super) fn cells_of_chosen<T: Codec>(chosen: &[T]) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(chosen.len());
    for (place, category) in chosen.iter().enumerate() {
        cells.push(cell(format!("{}", place + 1), category, None));
    }
    cells
}
/// Return the labels of categories. If `others` is true, also return the label of all other rows.
pub(super) fn labels(names: &[Json], others: bool) -> Vec<String> {
    let mut labels: Vec<String> = names.iter().map(label).collect();
    if others {
        labels.push("all else".to_owned());
    }
    labels
}
fn label(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}
/// Return the names of the bins that the edges define.
pub(super) fn bins(edges: &[f64]) -> Vec<String> {
    let mut bins = Vec::with_capacity(edges.len() + 1);
    let mut from = None;
    for edge in edges {
        bins.push(match from {
            None => format!("below {edge}"),
            Some(from) => format!("{from} to below {edge}"),
        });
        from = Some(edge);
    }
    bins.extend(from.map(|edge| format!("{edge} and above")));
    bins
}
