//! Valid documents of all kinds. Tests modify these documents.

use serde_json::Value as Json;

/// Return valid documents of all kinds. Each constructor that is allowed in documents occurs in at
/// least one of these documents. The reference documentation uses these documents as examples.
pub(crate) fn documents() -> Vec<Json> {
    serde_json::from_str(include_str!("../../examples.json")).unwrap()
}
