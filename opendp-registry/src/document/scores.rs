//! Whether low or high scores are best.

use std::sync::Arc;

use opendp_core::{Arg, Args, Error, Result};
use serde_json::{Map, Value as Json, json};

use super::build::has;
use crate::{Entry, Registry};

/// The constructors whose scores are losses: the lowest score is best.
const LOSSES: [&str; 2] =
    ["make_quantile_score_candidates", "make_sized_quantile_score_candidates"];

/// Whether a constructor makes scores with the lowest as the best.
pub(super) fn are_losses(entries: &[Arc<Entry>]) -> bool {
    entries.first().is_some_and(|entry| LOSSES.contains(&entry.name()))
}
/// Refuse to select the largest score if the scores of the chain are losses.
///
/// That would select the worst candidate.
pub(super) fn check(entries: &[Arc<Entry>], given: &Map<String, Json>) -> Result<()> {
    for (name, right) in [("negate", json!(true)), ("optimize", json!("min"))] {
        if has(entries, name) && given.get(name) != Some(&right) {
            return Err(Error::argument(
                name,
                format!(
                    "the least of these scores is the best: they are distances from the quantile; \
                     write \"{name}\": {right}"
                ),
            ));
        }
    }
    Ok(())
}

impl Registry {
    /// Whether the scores that a constructor makes are losses: the lowest score is best.
    pub fn makes_losses(&self, name: &str) -> bool {
        self.family(name).is_ok_and(|family| are_losses(&family.entries))
    }
    /// Refuse arguments with which a constructor, applied to such scores, selects the worst one.
    ///
    /// Documents check this by themselves; a binding that chains objects calls it.
    ///
    /// # Errors
    /// `Argument`, with the argument to state; `NotFound` or `Ambiguous` for the name.
    pub fn check_losses(&self, name: &str, args: &Args) -> Result<()> {
        let json = |(name, arg): (&str, &Arg)| match arg {
            Arg::Json(json) => Some((name.to_owned(), json.clone())),
            _ => None,
        };
        check(&self.family(name)?.entries, &args.iter().filter_map(json).collect())
    }
}
