//! The fields of a question that registered constructors answer.

use std::collections::BTreeMap;

use opendp_core::erased::{AnyDomain, AnyMeasurement, AnyMetric};
use opendp_core::{Codec, Constructed, Error, Result, Space};
use opendp_registry::{Document, Registry};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::NumberFields;
use crate::caught;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with column and chain")]
pub(crate) struct MechanismFields {
    pub(crate) column: String,
    pub(crate) bounds: Option<(f64, f64)>,
    chain: Json,
    version: Option<Json>,
    packages: Option<Json>,
}
/// The longest part of a link's name that is shown, in characters.
const LONGEST_NAME: usize = 60;
/// The largest number of links that are named in a title.
const MOST_NAMES: usize = 3;

impl MechanismFields {
    /// Return the names of the links, as the document writes them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.chain.as_array().into_iter().flatten().map(name).collect()
    }
    /// Return the names of the links as one text. If there are many links, only the first link and
    /// the last link are named.
    pub(crate) fn short_names(&self) -> String {
        let mut names = self.names();
        if MOST_NAMES < names.len() {
            names.splice(1..names.len() - 1, ["..".to_owned()]);
        }
        names.join(", ")
    }
    pub(super) fn title(&self) -> String {
        format!("{} of {}", self.short_names(), self.column)
    }
    /// Return the fields of a statistic that has these bounds.
    pub(crate) fn as_numbers(&self) -> NumberFields {
        NumberFields { column: self.column.clone(), bounds: self.bounds, rows: None }
    }
    /// Read the chain.
    ///
    /// # Errors
    /// `Argument` when the chain is not a list of links, is nested too deeply, states a version
    /// that is not valid, or has several parameters.
    pub(crate) fn steps(&self) -> Result<Steps> {
        if !self.chain.is_array() {
            return Err(Error::argument("chain", "expected an array of links"));
        }
        let mut fields = Map::from_iter([("chain".to_owned(), self.chain.clone())]);
        let versions = [("version", &self.version), ("packages", &self.packages)];
        for (field, stated) in versions {
            fields.extend(stated.clone().map(|stated| (field.to_owned(), stated)));
        }
        // The text is limited in its depth and its size.
        let document = Document::parse(&Json::Object(fields).to_string())?;
        match document.parameters().as_slice() {
            [] => Ok(Steps { document, parameter: None }),
            [single] => Ok(Steps { parameter: Some(single.clone()), document }),
            several => {
                let reason = format!(
                    "the share of a question determines only one number, and the chain has the \
                     parameters `{}`: state numbers for all but one of them",
                    several.join("`, `")
                );
                Err(Error::argument("chain", reason))
            }
        }
    }
}
fn name(link: &Json) -> String {
    let key = |link: &Map<String, Json>| match link.get("constructor") {
        Some(name) => name.as_str().map(str::to_owned),
        None if link.contains_key("chain") => Some("chain".to_owned()),
        None => link.keys().next().cloned(),
    };
    let name = match link {
        Json::String(name) => Some(name.clone()),
        link => link.as_object().and_then(key),
    };
    name.unwrap_or_else(|| "?".into()).chars().take(LONGEST_NAME).collect()
}

/// The chain of a mechanism.
#[derive(Debug)]
pub(crate) struct Steps {
    document: Document,
    /// The name of the parameter whose value the share of the question determines.
    pub(crate) parameter: Option<String>,
}
impl Steps {
    /// Build the mechanism on the space of the rows, with a value for the parameter.
    ///
    /// # Errors
    /// The errors of [`Document::build_on`]. `MakeMeasurement` when the chain is not a measurement.
    /// `FailedFunction` when a constructor panics.
    pub(crate) fn build(
        &self,
        rows: &Space<AnyDomain, AnyMetric>,
        value: f64,
    ) -> Result<AnyMeasurement> {
        let registry = Registry::global();
        let built = match &self.parameter {
            None => caught(|| self.document.build_on(registry, rows)),
            Some(name) => {
                let value = BTreeMap::from([(name.clone(), value.to_json())]);
                let document = self.document.set(&value)?;
                caught(|| document.build_on(registry, rows))
            }
        };
        match built? {
            Constructed::Measurement(made) => Ok(made),
            other => Err(Error::MakeMeasurement(format!(
                "chain: expected a mechanism, found {}: end the chain with a mechanism, such as \
                 {{\"laplace\": {{\"scale\": {{\"param\": \"scale\"}}}}}}",
                other.kind().with_article()
            ))),
        }
    }
}
