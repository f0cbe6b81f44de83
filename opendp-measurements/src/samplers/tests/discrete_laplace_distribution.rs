//! The distribution of discrete Laplace noise.

use opendp_core::IBig;
use opendp_core::random::{NoEntropy, RandomSource, Seeded};

use super::chi_square::chi_square;
use super::discrete_law::DiscreteLaw;
use crate::samplers::{big_discrete_laplace, discrete_laplace};

pub(super) struct Laplace;
impl DiscreteLaw for Laplace {
    const SCALES: &'static [f64] = &[1.0 / 3.0, 1.0, 2.0, 10.0];
    const REACH: f64 = 40.0;
    const FAR: f64 = 5.0;
    const SHORT_WORDS: f64 = 2.1;
    const MOMENTS: (f64, f64) = (2.0, 24.0);

    fn noise<S: RandomSource>(scale: f64, source: &mut S) -> Result<(bool, u128), NoEntropy> {
        discrete_laplace(scale, source)
    }
    fn big_noise<S: RandomSource>(scale: f64, source: &mut S) -> Result<IBig, NoEntropy> {
        big_discrete_laplace(scale, source)
    }
    fn weight(k: f64, scale: f64) -> f64 {
        (-k.abs() / scale).exp()
    }
}

#[test]
fn the_reference_matches_its_formulas() {
    for scale in [1.0 / 3.0, 2.0, 10.0] {
        // With `q = e^(-1 / scale)`, `P[0]` is `(1 - q) / (1 + q)`, and the variance is
        // `2q / (1 - q)^2`.
        let q = f64::exp(-1.0 / scale);
        let (reach, p) = Laplace::pmf(scale);
        assert!((p[reach as usize] - (1.0 - q) / (1.0 + q)).abs() < 1e-12);
        let found: f64 = (-reach..=reach).zip(&p).map(|(k, p)| (k * k) as f64 * p).sum();
        assert!((found / (2.0 * q / (1.0 - q).powi(2)) - 1.0).abs() < 1e-11, "{found}");
    }
}

#[test]
fn rounded_continuous_noise_would_be_noticed() {
    let mut source = Seeded::<64>::new(5);
    let mut uniform = || (source.word().unwrap() >> 11) as f64 / 2f64.powi(53);
    let draws: Vec<i128> = (0..1_000_000)
        .map(|_| {
            let magnitude = -(1.0 - uniform()).ln();
            let signed = if uniform() < 0.5 { magnitude } else { -magnitude };
            signed.round() as i128
        })
        .collect();
    assert!(Laplace::fit(&draws, 1.0) > 1.0);
}

/// For a large scale, compare draws with their distribution in 200 buckets. The edges of the
/// buckets are quantiles of the continuous Laplace distribution of scale 1e12.
///
/// Let `q = e^(-1 / scale)`. A draw `K` is an integer with `P[|K| >= m] = 2 q^m / (1 + q)` for
/// `m >= 1`. At a scale of about 1e12, the factor `2 / (1 + q)` is nearly 1, so the test omits this
/// factor. The draws are integers, so the quantiles are rounded down to integers.
fn bucket_fit(draws: &[i128], scale: f64) -> f64 {
    let buckets = 100;
    let edge = |i: usize| (-(1.0 - i as f64 / buckets as f64).ln() * 1e12).floor() as i128;
    let edges: Vec<i128> = (1..buckets).map(edge).collect();
    let above = |m: i128| (-(m as f64) / scale).exp();
    let mut observed = vec![0; 2 * buckets];
    for &k in draws {
        let bucket = edges.partition_point(|&edge| edge <= k.abs());
        observed[2 * bucket + usize::from(k < 0)] += 1;
    }
    let mut expected = Vec::new();
    for i in 0..buckets {
        let from = if i == 0 { 1.0 } else { above(edges[i - 1]) };
        let to = edges.get(i).map_or(0.0, |&edge| above(edge));
        // A draw of 0 is counted as positive. The probability of 0 is about 5e-13, so the expected
        // counts ignore this case.
        expected.extend([draws.len() as f64 * (from - to) / 2.0; 2]);
    }
    chi_square(&observed, &expected)
}

#[test]
fn noise_at_a_large_scale_has_its_distribution() {
    let mut source = Seeded::<64>::new(6);
    let draws = Laplace::draws(1e12, 300_000, &mut source);
    assert!(bucket_fit(&draws, 1e12) < 1.0);
    assert!(bucket_fit(&draws, 1.03e12) > 1.0, "a wrong scale must be noticed");
    let mut coarse = Seeded::<4>::new(7);
    let draws = Laplace::draws(1e12, 30_000, &mut coarse);
    assert!(bucket_fit(&draws, 1e12) < 1.0);
    assert!(bucket_fit(&draws, 1.1e12) > 1.0, "a wrong scale must be noticed");
}
