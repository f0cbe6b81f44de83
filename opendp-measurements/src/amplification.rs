//! Privacy amplification by sampling.

mod amplifiable_measure;
mod population_amplification;
mod rows;
mod subsampling;

pub use amplifiable_measure::AmplifiableMeasure;
pub use population_amplification::{PopulationMetric, make_population_amplification};
pub use subsampling::{AddRemoveMetric, make_fixed_size_subsampling, make_poisson_subsampling};

#[cfg(test)]
mod tests;
