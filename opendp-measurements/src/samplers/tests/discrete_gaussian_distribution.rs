//! The distribution of discrete Gaussian noise.

use opendp_core::IBig;
use opendp_core::random::{NoEntropy, RandomSource, Seeded};

use super::chi_square::chi_square;
use super::discrete_law::DiscreteLaw;
use super::gaussian_distribution::phi;
use crate::samplers::{big_discrete_gaussian, discrete_gaussian};

pub(super) struct Gaussian;
impl DiscreteLaw for Gaussian {
    const SCALES: &'static [f64] = &[0.5, 1.0, 2.0, 10.0, 0.9, 1.7];
    const REACH: f64 = 20.0;
    const FAR: f64 = 4.0;
    const SHORT_WORDS: f64 = 5.0;
    const MOMENTS: (f64, f64) = (1.0, 3.0);

    fn noise<S: RandomSource>(sigma: f64, source: &mut S) -> Result<(bool, u128), NoEntropy> {
        discrete_gaussian(sigma, source)
    }
    fn big_noise<S: RandomSource>(sigma: f64, source: &mut S) -> Result<IBig, NoEntropy> {
        big_discrete_gaussian(sigma, source)
    }
    fn weight(k: f64, sigma: f64) -> f64 {
        (-(k / sigma).powi(2) / 2.0).exp()
    }
}

#[test]
fn the_reference_matches_the_published_values() {
    // The table lists sigma^2, P[0] and the variance. These numbers were computed with other
    // software to 40 digits.
    for (square, zero, variance) in [
        (0.25, 0.786_570_707_042, 0.215_012_675_088_14),
        (1.0, 0.398_942_278_267, 0.999_999_788_767_73),
        (4.0, 0.199_471_140_201, 4.0),
        (100.0, 0.039_894_228_040_1, 100.0),
    ] {
        let (reach, p) = Gaussian::pmf(f64::sqrt(square));
        assert!((p[reach as usize] - zero).abs() < 1e-12);
        let found: f64 = (-reach..=reach).zip(&p).map(|(k, p)| (k * k) as f64 * p).sum();
        assert!((found - variance).abs() < 1e-11 * variance.max(1.0), "{found}");
    }
}

#[test]
fn rounded_continuous_noise_would_be_noticed() {
    let mut source = Seeded::<64>::new(5);
    let mut uniform = || ((source.word().unwrap() >> 11) as f64 + 0.5) / 2f64.powi(53);
    let draws: Vec<i128> = (0..1_000_000)
        .map(|_| {
            let radius = (-2.0 * uniform().ln()).sqrt();
            (2.0 * radius * (std::f64::consts::TAU * uniform()).cos()).round() as i128
        })
        .collect();
    assert!(Gaussian::fit(&draws, 2.0) > 1.0);
}

/// Compare draws at a large sigma with the continuous normal distribution, in buckets of width
/// `1e12 / 8`.
fn bucket_fit(draws: &[i128], sigma: f64) -> f64 {
    let mut observed = vec![0; 81];
    for &k in draws {
        let bucket = (k as f64 / 1e12 * 8.0).floor().clamp(-40.0, 40.0);
        observed[(bucket + 40.0) as usize] += 1;
    }
    let edge = |i: usize| (i as f64 - 40.0) / 8.0 * 1e12 / sigma;
    let expected: Vec<f64> = (0..81)
        .map(|i| {
            let below = if i == 0 { 0.0 } else { phi(edge(i)) };
            let above = if i == 80 { 1.0 } else { phi(edge(i + 1)) };
            draws.len() as f64 * (above - below)
        })
        .collect();
    chi_square(&observed, &expected)
}

#[test]
fn noise_at_a_large_sigma_has_its_distribution() {
    let mut source = Seeded::<64>::new(6);
    let draws = Gaussian::draws(1e12, 300_000, &mut source);
    assert!(bucket_fit(&draws, 1e12) < 1.0);
    assert!(bucket_fit(&draws, 1.03e12) > 1.0, "a wrong sigma must be noticed");
    // At a sigma of 1e12 * 2^60, all draws are computed in integers. The test divides the draws by
    // 2^60, so that the buckets for sigma 1e12 fit the quotients.
    let draws = Gaussian::draws(1e12 * 2f64.powi(60), 20_000, &mut source);
    let draws: Vec<i128> = draws.into_iter().map(|draw| draw >> 60).collect();
    assert!(bucket_fit(&draws, 1e12) < 1.0);
    assert!(bucket_fit(&draws, 1.1e12) > 1.0, "a wrong sigma must be noticed");
}
