//! Computes quantiles, from scores of candidates or from trees of counts.

// Scores of candidates.
mod alpha;
mod finder;
mod quantile_rank_scores;
mod quantile_score_candidates;
mod ranks;
#[cfg(test)]
mod score_checks;

// Trees of counts, and post-processing of a released tree.
mod b_ary_tree;
mod cdf;
mod choose_branching_factor;
mod consistent_b_ary_tree;
mod places;
mod quantiles_from_counts;

pub use alpha::Alpha;
pub use b_ary_tree::{TreeNorm, make_b_ary_tree};
pub use cdf::make_cdf;
pub use choose_branching_factor::choose_branching_factor;
pub use consistent_b_ary_tree::make_consistent_b_ary_tree;
pub use quantile_rank_scores::make_quantile_rank_scores;
pub use quantile_score_candidates::{ScoreDistance, make_quantile_score_candidates};
pub use quantiles_from_counts::{Interpolation, make_quantiles_from_counts};
pub use ranks::counts_in_cells;
