//! Metadata files: the tables and their budget.

use std::collections::BTreeMap;
use std::path::Path;

use opendp_core::{Error, Result};
use opendp_ledger::Loss;
use serde::{Deserialize, Serialize};

use super::{Table, check_name};
use crate::engine::is_url;

/// A budget as it is written in metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetText {
    /// The epsilon of the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// The delta of the budget, in addition to an epsilon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// The rho of a budget of zero-concentrated differential privacy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// How losses compose: `sum`, which is the default, or `tight`. A budget of an epsilon and a
    /// delta can compose tightly. Tight composition admits more small releases than a sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composition: Option<String>,
    /// The file of a ledger that keeps the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// The name of the budget in the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A metadata file: tables and a budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The budget for all queries together.
    pub budget: BudgetText,
    /// The number of queries that share the budget evenly. Without this number, each query states
    /// its own largest loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<u32>,
    /// The descriptions of the tables, by the names of the tables.
    pub tables: BTreeMap<String, Table>,
}
impl Metadata {
    /// Read a metadata file. Paths in the file are relative to the folder of the file. URLs of
    /// tables stay as they are.
    ///
    /// # Errors
    /// `NotFound` when the file cannot be read. Further errors are those of
    /// [`parse`](Metadata::parse).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::NotFound(format!(
                "file `{}` of metadata cannot be read: {error}",
                path.display()
            ))
        })?;
        let mut metadata = Metadata::parse(&text)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let tables = metadata.tables.values_mut().filter_map(|table| table.path.as_mut());
        let tables = tables.filter(|path| !is_url(path));
        for name in tables.chain(&mut metadata.budget.ledger) {
            *name = folder.join(&*name).to_string_lossy().into_owned();
        }
        Ok(metadata)
    }
    /// Read metadata as TOML, or as JSON if the text begins with `{`.
    ///
    /// # Errors
    /// `Argument` when the text cannot be read, has an unknown field, or states something invalid,
    /// such as bounds in the wrong order. `NotFound` when a table names an `id` or a `key` that is
    /// not one of its columns.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |reason: String| Error::argument("metadata", reason);
        let metadata: Metadata = if text.trim_start().starts_with('{') {
            // This reader returns an error if an object of JSON has the same key twice.
            let json = opendp_registry::json::parse(text).map_err(|error| error.at("metadata"))?;
            serde_json::from_value(json).map_err(|error| wrong(error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error| wrong(error.to_string()))?
        };
        for (name, table) in &metadata.tables {
            check_name(name)?;
            table.check().map_err(|error| error.at(format!("table `{name}`")))?;
        }
        Ok(metadata)
    }
    /// Return warnings about a loss that gives little or no protection to the individuals of these
    /// tables. If all private tables state their number of rows, the number of individuals is
    /// assumed to be the largest of these numbers.
    pub fn cautions(&self, loss: &Loss) -> Vec<String> {
        let private = self.tables.values().filter(|table| !table.public);
        let rows: Option<Vec<u64>> = private.map(|table| table.rows).collect();
        loss.cautions(rows.and_then(|rows| rows.into_iter().max()))
    }
}
