//! Noise that is added to many floats.

use super::{
    lattice::round_to_lattice,
    lattice_strips::on_lattice,
    lattice_sum::Lattice,
    strips::{EXPONENTIAL, HALF_NORMAL, Strips},
};
use opendp_core::random::{NoEntropy, RandomSource};

/// Exact noise of one scale. Each sum of a float and the noise is rounded to the same lattice. All
/// numbers that do not depend on the float are computed once. So this type is faster than
/// [`laplace`](super::laplace) and [`gaussian`](super::gaussian) for many floats. This type draws
/// the same words and gives the same sums as these functions.
#[derive(Clone, Copy, Debug)]
pub struct FloatNoise {
    lattice: Lattice,
    /// `None` if the scale is 0.
    strips: Option<&'static Strips>,
}
impl FloatNoise {
    /// Prepare the Laplace noise that [`laplace`](super::laplace) adds.
    pub fn laplace(scale: f64, k: i32) -> Self {
        Self::new(scale, k, || &EXPONENTIAL)
    }
    /// Prepare the Gaussian noise that [`gaussian`](super::gaussian) adds.
    pub fn gaussian(sigma: f64, k: i32) -> Self {
        Self::new(sigma, k, || &HALF_NORMAL)
    }
    fn new(scale: f64, k: i32, strips: fn() -> &'static Strips) -> Self {
        let strips = (scale != 0.0).then(strips);
        FloatNoise { lattice: Lattice::new(scale, k), strips }
    }
    /// Add noise to a float, and round the sum to the lattice. At scale 0, nothing is drawn.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    #[inline]
    pub fn add<S: RandomSource>(&self, x: f64, source: &mut S) -> Result<f64, NoEntropy> {
        match self.strips {
            Some(strips) => on_lattice(strips, &self.lattice, x, source),
            None => Ok(self.rounded(x)),
        }
    }
    /// Round a float to the lattice.
    pub(crate) fn rounded(&self, x: f64) -> f64 {
        round_to_lattice(x, self.lattice.k)
    }
}
