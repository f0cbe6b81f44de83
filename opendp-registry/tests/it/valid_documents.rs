//! A list of valid documents. Tests modify these documents.

use serde_json::Value as Json;

/// Return the list. Each constructor that is allowed in documents occurs in at least one of these
/// documents. The reference documentation uses these documents as examples.
pub(crate) fn documents() -> Vec<Json> {
    serde_json::from_str(include_str!("../../examples.json")).unwrap()
}
