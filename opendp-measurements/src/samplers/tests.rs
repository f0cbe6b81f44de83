//! The distributions of the samplers against their formulas.

// Measures of fit.
pub(crate) mod chi_square;
mod lattice_fit;

// One file for each distribution.
mod discrete_gaussian_distribution;
mod discrete_laplace_distribution;
mod gaussian_distribution;
mod gumbel_distribution;
mod integer_table_distribution;
mod laplace_distribution;
mod logarithm_bounds;
pub(crate) mod permute_and_flip_distribution;
mod shuffle_distribution;
pub(crate) mod top_k_distribution;
