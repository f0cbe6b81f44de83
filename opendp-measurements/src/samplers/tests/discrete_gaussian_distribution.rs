//! The distribution of discrete Gaussian noise.

use super::chi_square::chi_square;
use crate::samplers::{big_discrete_gaussian, discrete_gaussian};
use opendp_core::random::{RandomSource, Seeded};

fn draw<S: RandomSource>(sigma: f64, source: &mut S) -> i128 {
    let (negative, magnitude) = discrete_gaussian(sigma, source).unwrap();
    let magnitude = i128::try_from(magnitude).unwrap();
    if negative { -magnitude } else { magnitude }
}

/// Return `reach`, and the probability of each integer in `-reach ..= reach`. Larger magnitudes
/// have negligible probability.
fn pmf(sigma: f64) -> (i128, Vec<f64>) {
    let reach = (20.0 * sigma) as i128 + 2;
    let weights: Vec<f64> =
        (-reach..=reach).map(|k| (-(k as f64 / sigma).powi(2) / 2.0).exp()).collect();
    let sum: f64 = weights.iter().sum();
    (reach, weights.into_iter().map(|weight| weight / sum).collect())
}

pub(super) fn fit(draws: &[i128], sigma: f64) -> f64 {
    let (reach, probabilities) = pmf(sigma);
    let mut observed = vec![0; probabilities.len()];
    for k in draws {
        observed[(k.clamp(&-reach, &reach) + reach) as usize] += 1;
    }
    let expected: Vec<f64> = probabilities.iter().map(|p| p * draws.len() as f64).collect();
    chi_square(&observed, &expected)
}

/// Test the moments, the symmetry and the frequency of large magnitudes. Each sample mean must be
/// within six standard deviations of its expectation.
pub(super) fn moments_agree(draws: &[i128], sigma: f64) {
    let n = draws.len() as f64;
    let (reach, probabilities) = pmf(sigma);
    let exact = |f: &dyn Fn(f64) -> f64| {
        (-reach..=reach).zip(&probabilities).map(|(k, p)| f(k as f64) * p).sum::<f64>()
    };
    let functions: [&dyn Fn(f64) -> f64; 5] =
        [&|k| k, &|k| k * k, &|k| k.powi(4), &|k| if k == 0.0 { 0.0 } else { k.signum() }, &|k| {
            f64::from(k.abs() >= (4.0 * sigma).ceil())
        }];
    for (i, f) in functions.iter().enumerate() {
        let mean = exact(f);
        let variance = exact(&|k| (f(k) - mean).powi(2));
        let found = draws.iter().map(|&k| f(k as f64)).sum::<f64>() / n;
        assert!((found - mean).abs() < 6.0 * (variance / n).sqrt() + 1e-12, "moment {i}");
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
        let (reach, p) = pmf(f64::sqrt(square));
        assert!((p[reach as usize] - zero).abs() < 1e-12);
        let found: f64 = (-reach..=reach).zip(&p).map(|(k, p)| (k * k) as f64 * p).sum();
        assert!((found - variance).abs() < 1e-11 * variance.max(1.0), "{found}");
    }
}

#[test]
fn noise_has_its_exact_distribution() {
    for (seed, sigma) in [0.5, 1.0, 2.0, 10.0, 0.9, 1.7].into_iter().enumerate() {
        let mut source = Seeded::<64>::new(seed as u64);
        let draws: Vec<i128> = (0..1_000_000).map(|_| draw(sigma, &mut source)).collect();
        assert!(fit(&draws, sigma) < 1.0, "sigma {sigma}");
        moments_agree(&draws, sigma);
        assert!(fit(&draws, sigma * 1.03) > 1.0, "a wrong sigma must be noticed");
    }
}

#[test]
fn forced_refinement_leaves_the_distribution_alone() {
    for (seed, sigma) in [0.5, 1.0, 2.0, 10.0].into_iter().enumerate() {
        let mut source = Seeded::<4>::new(seed as u64);
        let count = 40_000;
        let draws: Vec<i128> = (0..count).map(|_| draw(sigma, &mut source)).collect();
        assert!(source.used() > 5 * count, "refinement was rare: {}", source.used());
        assert!(fit(&draws, sigma) < 1.0, "sigma {sigma}");
        moments_agree(&draws, sigma);
        assert!(fit(&draws, sigma * 1.1) > 1.0, "a wrong sigma must be noticed");
    }
}

#[test]
fn one_bit_words_leave_the_distribution_alone() {
    let mut source = Seeded::<1>::new(21);
    let draws: Vec<i128> = (0..15_000).map(|_| draw(2.0, &mut source)).collect();
    assert!(fit(&draws, 2.0) < 1.0);
    moments_agree(&draws, 2.0);
    assert!(fit(&draws, 2.3) > 1.0, "a wrong sigma must be noticed");
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
    assert!(fit(&draws, 2.0) > 1.0);
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
            let below = if i == 0 { 0.0 } else { super::gaussian_distribution::phi(edge(i)) };
            let above = if i == 80 { 1.0 } else { super::gaussian_distribution::phi(edge(i + 1)) };
            draws.len() as f64 * (above - below)
        })
        .collect();
    chi_square(&observed, &expected)
}

#[test]
fn noise_at_a_large_sigma_has_its_distribution() {
    let mut source = Seeded::<64>::new(6);
    let draws: Vec<i128> = (0..300_000).map(|_| draw(1e12, &mut source)).collect();
    assert!(bucket_fit(&draws, 1e12) < 1.0);
    assert!(bucket_fit(&draws, 1.03e12) > 1.0, "a wrong sigma must be noticed");
    // At a sigma of 1e12 * 2^60, all draws are computed in integers. The test divides the draws by
    // 2^60, so that the buckets for sigma 1e12 fit the quotients.
    let draws: Vec<i128> =
        (0..20_000).map(|_| draw(1e12 * 2f64.powi(60), &mut source) >> 60).collect();
    assert!(bucket_fit(&draws, 1e12) < 1.0);
    assert!(bucket_fit(&draws, 1.1e12) > 1.0, "a wrong sigma must be noticed");
}

#[test]
fn the_low_bits_of_large_noise_are_uniform() {
    for sigma in [1e12, 2f64.powi(100)] {
        let mut source = Seeded::<64>::new(8);
        let mut observed = [0; 256];
        for _ in 0..20_000 {
            observed[(draw(sigma, &mut source) & 255) as usize] += 1;
        }
        assert!(chi_square(&observed, &[20_000.0 / 256.0; 256]) < 1.0, "sigma {sigma}");
    }
}

#[test]
fn noise_of_any_length_has_the_same_distribution() {
    for (seed, sigma) in [0.7, 2.0, 10.0, 1e4].into_iter().enumerate() {
        let mut source = Seeded::<64>::new(seed as u64);
        let mut draw = || big_discrete_gaussian(sigma, &mut source).unwrap();
        let draws: Vec<i128> = (0..400_000).map(|_| i128::try_from(draw()).unwrap()).collect();
        assert!(fit(&draws, sigma) < 1.0, "sigma {sigma}");
        moments_agree(&draws, sigma);
        assert!(fit(&draws, sigma * 1.06) > 1.0, "a wrong sigma must be noticed");
    }
    // With words of few bits, floats decide only a few draws, and integers decide the other draws.
    let mut source = Seeded::<4>::new(7);
    let mut draw = || big_discrete_gaussian(2.0, &mut source).unwrap();
    let draws: Vec<i128> = (0..20_000).map(|_| i128::try_from(draw()).unwrap()).collect();
    assert!(fit(&draws, 2.0) < 1.0);
    assert!(fit(&draws, 2.2) > 1.0, "a wrong sigma must be noticed");
}

#[test]
fn noise_of_any_length_does_not_saturate() {
    let mut source = Seeded::<64>::new(3);
    let sigma = 1e60;
    let draws: Vec<f64> = (0..2000)
        .map(|_| big_discrete_gaussian(sigma, &mut source).unwrap().to_f64().value() / sigma)
        .collect();
    // In units of sigma, the mean is 0, the variance is 1, and the fourth moment is 3.
    let n = draws.len() as f64;
    let (mean, square) = draws.iter().fold((0.0, 0.0), |(m, s), x| (m + x / n, s + x * x / n));
    assert!(mean.abs() < 6.0 * (1.0 / n).sqrt(), "{mean}");
    assert!((square - 1.0).abs() < 6.0 * (2.0 / n).sqrt(), "{square}");
    let capped = draws.iter().filter(|x| x.abs() * sigma <= 3.5e38).count();
    assert!(capped < 10, "noise of 128 bits would be this small every time: {capped}");
}
