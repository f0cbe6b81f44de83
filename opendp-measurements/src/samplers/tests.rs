//! Tests that compare the distributions of the samplers with their formulas.

// Statistics that compare observed counts with expected counts.
pub(crate) mod chi_square;

// Checks that Laplace and Gaussian noise share.
mod discrete_law;
mod lattice_fit;

// Each module tests one distribution or one function.
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
