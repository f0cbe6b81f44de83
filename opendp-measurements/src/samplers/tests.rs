//! Tests that compare the distributions of the samplers with their formulas.

/// Make two tests of each check: for Laplace noise and for Gaussian noise. A check is a function
/// with one type argument. The names `Laplace` and `Gaussian` must be in scope.
macro_rules! check_both {
    ($($check:ident)+) => {
        mod laplace {
            $(#[test] fn $check() { super::$check::<super::Laplace>(); })+
        }
        mod gaussian {
            $(#[test] fn $check() { super::$check::<super::Gaussian>(); })+
        }
    };
}
pub(crate) use check_both;

pub(crate) mod chi_square;

mod discrete_law;
mod lattice_fit;

mod discrete_gaussian_distribution;
mod discrete_laplace_distribution;
mod gaussian_distribution;
mod gumbel_distribution;
mod integer_table_distribution;
mod laplace_distribution;
mod logarithm_bounds;
pub(crate) mod permute_and_flip_distribution;
pub(crate) mod short_tapes;
mod shuffle_distribution;
pub(crate) mod top_k_distribution;
