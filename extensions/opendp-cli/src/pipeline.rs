//! The pipeline document that a command reads.

use std::{collections::BTreeMap, path::PathBuf};

use opendp_core::{Error, Result};
use opendp_registry::{Document, json};
use serde_json::Value as Json;

use crate::{ask, data};

/// The pipeline document, and the values of its parameters.
#[derive(clap::Args)]
pub(crate) struct Pipeline {
    /// The file of the pipeline document, or `-` for standard input
    #[arg(short, long = "pipeline", value_name = "FILE")]
    pub(crate) pipeline: PathBuf,
    /// The value of a parameter, written {"param": NAME} in the document
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    set: Vec<(String, Json)>,
}
impl Pipeline {
    pub(crate) fn read(&self) -> Result<Document> {
        let mut values = BTreeMap::new();
        for (name, value) in &self.set {
            if values.insert(name.clone(), value.clone()).is_some() {
                return Err(Error::argument(name, "--set states two values: state one"));
            }
        }
        let extension = self.pipeline.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("csv" | "tsv" | "parquet" | "gz" | "zst")) {
            let file = self.pipeline.display();
            let reason = format!(
                "{file} looks like a table: state the document with -p, and the table with --data"
            );
            return Err(Error::argument("pipeline", reason));
        }
        let text = data::read_text(&self.pipeline)?;
        Document::parse(&text)
            .and_then(ask::refuse_study)
            .and_then(|document| document.set(&values))
            .map_err(|error| error.at(format!("pipeline {}", self.pipeline.display())))
    }
}

pub(crate) fn parse_setting(text: &str) -> Result<(String, Json), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as scale=1.5")?;
    Ok((name.to_owned(), parse_json(value)?))
}

pub(crate) fn parse_json(text: &str) -> Result<Json, String> {
    json::parse(text).map_err(|_| "expected a number, or a list of numbers, as JSON".to_owned())
}
