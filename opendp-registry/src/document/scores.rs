//! Which way scores are good.

use std::sync::Arc;

use opendp_core::{Error, Result};
use serde_json::{Map, Value as Json, json};

use super::build::has;
use crate::Entry;

/// The constructors whose scores are losses: the least is best.
const LOSSES: [&str; 2] =
    ["make_quantile_score_candidates", "make_sized_quantile_score_candidates"];

/// Whether a constructor makes scores of which the least is best.
pub(super) fn are_losses(entries: &[Arc<Entry>]) -> bool {
    entries.first().is_some_and(|entry| LOSSES.contains(&entry.name()))
}
/// Refuse a choice of the largest score, where the chain has reached ones of which the least is best.
///
/// It would be a choice of the worst candidate.
pub(super) fn check(entries: &[Arc<Entry>], given: &Map<String, Json>) -> Result<()> {
    for (name, right) in [("negate", json!(true)), ("optimize", json!("min"))] {
        if has(entries, name) && given.get(name) != Some(&right) {
            return Err(Error::argument(
                name,
                format!(
                    "these scores tell how far a candidate is from the quantile, and the least is \
                     best; write \"{name}\": {right}"
                ),
            ));
        }
    }
    Ok(())
}
