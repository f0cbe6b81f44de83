//! The distribution of continuous Laplace noise after rounding to a lattice.

use opendp_core::random::{NoEntropy, RandomSource};

use super::lattice_fit::FloatLaw;
use crate::samplers::laplace;

pub(super) struct Laplace;
impl FloatLaw for Laplace {
    fn draw<S: RandomSource>(x: f64, scale: f64, k: i32, source: &mut S) -> Result<f64, NoEntropy> {
        laplace(x, scale, k, source)
    }
    fn cdf(z: f64) -> f64 {
        if z < 0.0 { z.exp() / 2.0 } else { 1.0 - (-z).exp() / 2.0 }
    }
}
