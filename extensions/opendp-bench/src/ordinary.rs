//! Noise from `rand_distr`: fast, and not exact.

use chacha20::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal};

/// The cipher of our secure source.
pub fn chacha() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([7; 32])
}
/// Laplace noise of a scale: an exponential variable with a random sign.
#[inline]
pub fn laplace(scale: f64, source: &mut ChaCha20Rng) -> f64 {
    let exponential: f64 = Exp1.sample(source);
    let noise = scale * exponential;
    if source.random::<bool>() { -noise } else { noise }
}
/// Gaussian noise of a scale.
#[inline]
pub fn normal(scale: f64, source: &mut ChaCha20Rng) -> f64 {
    let normal: f64 = StandardNormal.sample(source);
    scale * normal
}
/// Add noise to all of a slice.
pub fn add(
    data: &[f64],
    scale: f64,
    source: &mut ChaCha20Rng,
    noise: impl Fn(f64, &mut ChaCha20Rng) -> f64,
) -> Vec<f64> {
    data.iter().map(|x| x + noise(scale, source)).collect()
}
/// Add noise, rounded, to all integers of a slice.
pub fn add_rounded(
    data: &[i64],
    scale: f64,
    source: &mut ChaCha20Rng,
    noise: impl Fn(f64, &mut ChaCha20Rng) -> f64,
) -> Vec<i64> {
    data.iter().map(|x| x.saturating_add(noise(scale, source).round() as i64)).collect()
}
