//! Outcomes that are read from JSON.

use opendp_analysis::context::ErrorIn;
use opendp_core::Codec;
use serde::Deserialize;
use serde_json::Value as Json;

use super::{Cell, StudyAnswer};

/// The fields that are read from an outcome in JSON.
#[derive(Deserialize)]
pub(super) struct Written {
    pub(super) answers: Vec<WrittenAnswer>,
    pub(super) alpha: f64,
    #[serde(default)]
    pub(super) dry_run: bool,
}
#[derive(Deserialize)]
pub(super) struct WrittenAnswer {
    question: String,
    mechanism: String,
    scale: Vec<f64>,
    accuracy: Json,
    accuracy_in: String,
    values: Vec<WrittenCell>,
    rows_stated: Option<usize>,
    bounds: Option<(Json, Json)>,
    #[serde(default)]
    keys_found: bool,
    parameter: Option<WrittenParameter>,
    #[serde(default)]
    constructors: Vec<String>,
}
#[derive(Deserialize)]
struct WrittenParameter {
    name: String,
    value: f64,
}
#[derive(Deserialize)]
struct WrittenCell {
    label: Option<String>,
    value: Json,
    interval: Option<(Json, Json)>,
    key: Option<Json>,
}
impl From<WrittenAnswer> for StudyAnswer {
    fn from(written: WrittenAnswer) -> Self {
        // JSON stores an infinite number as a text.
        let number = |json: &Json| f64::from_json(json).ok();
        let ends = |(low, high): (Json, Json)| number(&low).zip(number(&high));
        let mut cells = Vec::with_capacity(written.values.len());
        for WrittenCell { label, value, interval, key } in written.values {
            let interval = interval.and_then(ends);
            cells.push(Cell { key, label, value, interval });
        }
        StudyAnswer {
            question: written.question,
            mechanism: written.mechanism,
            scales: written.scale,
            error: number(&written.accuracy),
            error_in: match written.accuracy_in.as_str() {
                "ranks" => ErrorIn::Ranks,
                "counts" => ErrorIn::Counts,
                _ => ErrorIn::Value,
            },
            rows_stated: written.rows_stated,
            bounds: written.bounds.and_then(ends),
            keys_found: written.keys_found,
            parameter: written.parameter.map(|parameter| (parameter.name, parameter.value)),
            constructors: written.constructors,
            cells,
        }
        .checked()
    }
}
