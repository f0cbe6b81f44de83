//! A valid document of each kind. Tests modify these documents.

use serde_json::Value as Json;

/// Return a valid document of each kind. Each constructor that is allowed in documents occurs in at
/// least one of them. The reference uses these documents as its examples.
pub(crate) fn documents() -> Vec<Json> {
    serde_json::from_str(include_str!("../../examples.json")).unwrap()
}
