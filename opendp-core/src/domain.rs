//! Sets of values.

use std::fmt::Debug;

use serde_json::Value as Json;

use crate::{Carrier, Named, Result};

/// A set of values: all inputs that a function is proved for, or all outputs it can give.
///
/// Two domains are compared by their structure, including their descriptors. Two steps can be
/// chained only if their domains are equal. A domain is a claim that the caller makes about the
/// data. A release does not test it, because the outcome of the test would itself be a release.
pub trait Domain: Named + Clone + PartialEq + Debug + Send + Sync {
    /// The type whose values may be members.
    type Carrier: Carrier;
    /// Decide whether `value` is a member of this set.
    fn member(&self, value: &Self::Carrier) -> bool;
    /// Return the number of records of every member, if the domain states it.
    ///
    /// Defaults to `None`.
    fn records(&self) -> Option<usize> {
        None
    }
    /// Return the same domain restricted to members of this many records, or `None` (the default)
    /// when the domain cannot state its number of records.
    fn with_records(&self, records: usize) -> Option<Self> {
        let _ = records;
        None
    }
    /// Whether records of members can be combined freely: every data set made of such records is a
    /// member too, if it has the size that [`records`](Domain::records) states.
    ///
    /// Defaults to `false` (unknown).
    fn recombines(&self) -> bool {
        false
    }
    /// Write this domain in the form that pipeline documents use.
    ///
    /// The default is the bare type name, which is right for a domain without descriptors.
    fn to_json(&self) -> Json {
        Json::String(Self::type_name().to_string())
    }
    /// Read a carrier from text that has one row per item, such as a column of a table.
    ///
    /// Reading is total: each cell gives a member of the domain, so a bad cell never changes the
    /// number of rows and never causes an error. Return `None` when members of the domain have no
    /// rows.
    fn read_cells(&self, cells: &[&str]) -> Option<Result<Self::Carrier>> {
        let _ = cells;
        None
    }
}

/// Write a descriptor: the name of a function and its keyword arguments, or the bare name.
pub fn descriptor<const N: usize>(name: &str, arguments: [(&str, Option<Json>); N]) -> Json {
    let arguments: serde_json::Map<String, Json> = arguments
        .into_iter()
        .filter_map(|(key, value)| value.map(|value| (key.to_owned(), value)))
        .collect();
    if arguments.is_empty() {
        return Json::String(name.to_owned());
    }
    Json::Object([(name.to_owned(), Json::Object(arguments))].into_iter().collect())
}
