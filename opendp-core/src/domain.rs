//! Sets of values.

use std::fmt::Debug;

use serde_json::Value as Json;

use crate::{Carrier, Named, Result};

/// A set of values. An input domain contains all inputs for which the claims of a function are
/// proved. An output domain contains all possible outputs of the function.
///
/// Two domains are equal if they have the same structure and the same descriptors, such as bounds
/// and sizes. Two steps can be chained only if the output domain of the first step equals the input
/// domain of the second step. An input domain is a claim of the caller about the data. A release
/// does not test this claim, because the outcome of the test would reveal information about the
/// data.
pub trait Domain: Named + Clone + PartialEq + Debug + Send + Sync {
    /// The type of the members. The domain can exclude some values of this type.
    type Carrier: Carrier;
    /// Return whether `value` is a member of this set.
    fn member(&self, value: &Self::Carrier) -> bool;
    /// Return the number of records of every member, if the domain states this number.
    ///
    /// Defaults to `None`.
    fn records(&self) -> Option<usize> {
        None
    }
    /// Restrict this domain to the members that have exactly `records` records. Return `None` (the
    /// default) when the domain cannot state its number of records.
    fn with_records(&self, records: usize) -> Option<Self> {
        let _ = records;
        None
    }
    /// Return whether records of members can be combined freely. If the result is `true`, every
    /// data set whose records come from members, even from different members, is a member. There is
    /// one condition: if [`records`](Domain::records) states a number, the data set must have this
    /// number of records.
    ///
    /// Defaults to `false` (unknown).
    fn recombines(&self) -> bool {
        false
    }
    /// Write this domain in the form that pipeline documents use.
    ///
    /// The default is the type name alone, which is right for a domain without descriptors.
    fn to_json(&self) -> Json {
        Json::String(Self::type_name().to_string())
    }
    /// Read a value from a list of texts, such as a column of a table. Each text is one row.
    ///
    /// Every text, readable or not, is read as a value that the domain allows. So an unreadable
    /// text never changes the number of rows, and never causes an error. Return `None` (the
    /// default) when the domain cannot read texts as rows, or cannot read this number of rows.
    fn read_cells(&self, cells: &[&str]) -> Option<Result<Self::Carrier>> {
        let _ = cells;
        None
    }
}

/// Write a descriptor: the name of a function and its keyword arguments, or the name alone.
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
