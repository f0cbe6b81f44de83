//! Noise from the crate `rand_distr`. This noise is fast and not exact.

use chacha20::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};

/// Make the cipher that the secure source of this project uses.
pub fn chacha() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([7; 32])
}
/// Draw Laplace noise: an exponential variable with a random sign.
#[inline]
pub fn laplace(scale: f64, source: &mut ChaCha20Rng) -> f64 {
    let exponential: f64 = Exp1.sample(source);
    let noise = scale * exponential;
    if source.random::<bool>() { -noise } else { noise }
}
/// Draw Gaussian noise.
#[inline]
pub fn normal(scale: f64, source: &mut ChaCha20Rng) -> f64 {
    let normal: f64 = StandardNormal.sample(source);
    scale * normal
}
/// Add noise to all numbers of a slice.
pub fn add(
    data: &[f64],
    scale: f64,
    source: &mut ChaCha20Rng,
    noise: impl Fn(f64, &mut ChaCha20Rng) -> f64,
) -> Vec<f64> {
    data.iter().map(|x| x + noise(scale, source)).collect()
}
/// Add rounded noise to all integers of a slice.
pub fn add_rounded(
    data: &[i64],
    scale: f64,
    source: &mut ChaCha20Rng,
    noise: impl Fn(f64, &mut ChaCha20Rng) -> f64,
) -> Vec<i64> {
    data.iter().map(|x| x.saturating_add(noise(scale, source).round() as i64)).collect()
}
