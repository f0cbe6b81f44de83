//! A valid document of each kind, which tests modify.

use serde_json::Value as Json;

/// A valid document of each kind. Together they name every constructor that documents can name, so
/// they are also the examples of the reference.
pub(crate) fn documents() -> Vec<Json> {
    serde_json::from_str(include_str!("../../examples.json")).unwrap()
}
