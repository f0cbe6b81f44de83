//! The distribution of discrete Laplace noise.

use super::chi_square::chi_square;
use crate::samplers::{big_discrete_laplace, discrete_laplace};
use opendp_core::random::{RandomSource, Seeded};

fn draw<S: RandomSource>(scale: f64, source: &mut S) -> i128 {
    let (negative, magnitude) = discrete_laplace(scale, source).unwrap();
    let magnitude = i128::try_from(magnitude).unwrap();
    if negative { -magnitude } else { magnitude }
}

/// Compute `P[k] = (1 - q) / (1 + q) q^|k|` with `q = e^(-1 / scale)`.
fn pmf(k: i128, scale: f64) -> f64 {
    let q = (-1.0 / scale).exp();
    (1.0 - q) / (1.0 + q) * (-(k.abs() as f64) / scale).exp()
}

/// Compare the counts of draws with the probabilities of noise of a given scale. Each value whose
/// magnitude is at most 40 times the scale has its own count.
pub(super) fn fit(draws: &[i128], scale: f64) -> f64 {
    let reach = (40.0 * scale) as i128 + 2;
    let mut observed = vec![0; 2 * reach as usize + 1];
    for k in draws {
        observed[(k.clamp(&-reach, &reach) + reach) as usize] += 1;
    }
    let expected: Vec<f64> = (-reach..=reach).map(|k| draws.len() as f64 * pmf(k, scale)).collect();
    chi_square(&observed, &expected)
}

/// Test the moments, the symmetry and the frequency of large magnitudes. Each sample mean must be
/// within six standard deviations of its expectation.
pub(super) fn moments_agree(draws: &[i128], scale: f64) {
    let n = draws.len() as f64;
    let q = (-1.0 / scale).exp();
    let moment = |power: i32| draws.iter().map(|&k| (k as f64).powi(power)).sum::<f64>() / n;
    // The variance is 2q / (1 - q)^2, and the fourth moment is 2q (1 + 10q + q^2) / (1 - q)^4.
    let variance = 2.0 * q / (1.0 - q).powi(2);
    let fourth = 2.0 * q * (1.0 + 10.0 * q + q * q) / (1.0 - q).powi(4);
    assert!(moment(1).abs() < 6.0 * (variance / n).sqrt());
    assert!((moment(2) - variance).abs() < 6.0 * ((fourth - variance * variance) / n).sqrt());
    let (positive, negative) = draws
        .iter()
        .fold((0.0_f64, 0.0), |(p, m), &k| (p + f64::from(k > 0), m + f64::from(k < 0)));
    assert!((positive - negative).abs() < 6.0 * (positive + negative).sqrt());
    let far = (5.0 * scale).ceil() as i128;
    let tail = 2.0 * q.powi(far as i32) / (1.0 + q);
    let seen = draws.iter().filter(|k| k.abs() >= far).count() as f64 / n;
    assert!((seen - tail).abs() < 6.0 * (tail / n).sqrt());
}

#[test]
fn noise_at_small_scales_has_its_exact_distribution() {
    for (seed, scale) in [1.0 / 3.0, 1.0, 2.0, 10.0].into_iter().enumerate() {
        let mut source = Seeded::<64>::new(seed as u64);
        let draws: Vec<i128> = (0..1_000_000).map(|_| draw(scale, &mut source)).collect();
        assert!(fit(&draws, scale) < 1.0, "scale {scale}");
        moments_agree(&draws, scale);
        assert!(fit(&draws, scale * 1.03) > 1.0, "a wrong scale must be noticed");
    }
}

#[test]
fn forced_refinement_leaves_the_distribution_alone() {
    for (seed, scale) in [1.0 / 3.0, 1.0, 2.0, 10.0].into_iter().enumerate() {
        let mut source = Seeded::<4>::new(seed as u64);
        let count = 60_000;
        let draws: Vec<i128> = (0..count).map(|_| draw(scale, &mut source)).collect();
        assert!(source.used() > 2 * count + count / 10, "refinement was rare: {}", source.used());
        assert!(fit(&draws, scale) < 1.0, "scale {scale}");
        moments_agree(&draws, scale);
        assert!(fit(&draws, scale * 1.06) > 1.0, "a wrong scale must be noticed");
    }
}

#[test]
fn one_bit_words_leave_the_distribution_alone() {
    let mut source = Seeded::<1>::new(21);
    let draws: Vec<i128> = (0..20_000).map(|_| draw(2.0, &mut source)).collect();
    assert!(fit(&draws, 2.0) < 1.0);
    moments_agree(&draws, 2.0);
    assert!(fit(&draws, 2.2) > 1.0, "a wrong scale must be noticed");
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
    assert!(fit(&draws, 1.0) > 1.0);
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
    let draws: Vec<i128> = (0..300_000).map(|_| draw(1e12, &mut source)).collect();
    assert!(bucket_fit(&draws, 1e12) < 1.0);
    assert!(bucket_fit(&draws, 1.03e12) > 1.0, "a wrong scale must be noticed");
    let mut coarse = Seeded::<4>::new(7);
    let draws: Vec<i128> = (0..30_000).map(|_| draw(1e12, &mut coarse)).collect();
    assert!(bucket_fit(&draws, 1e12) < 1.0);
    assert!(bucket_fit(&draws, 1.1e12) > 1.0, "a wrong scale must be noticed");
}

#[test]
fn the_low_bits_of_large_noise_are_uniform() {
    for scale in [1e12, 2f64.powi(100)] {
        let mut source = Seeded::<64>::new(8);
        let mut observed = [0; 256];
        for _ in 0..30_000 {
            observed[(draw(scale, &mut source) & 255) as usize] += 1;
        }
        assert!(chi_square(&observed, &[30_000.0 / 256.0; 256]) < 1.0, "scale {scale}");
    }
}

#[test]
fn noise_of_any_length_has_the_same_distribution() {
    for (seed, scale) in [1.0 / 3.0, 2.0, 10.0, 1e4].into_iter().enumerate() {
        let mut source = Seeded::<64>::new(seed as u64);
        let mut draw = || big_discrete_laplace(scale, &mut source).unwrap();
        let draws: Vec<i128> = (0..400_000).map(|_| i128::try_from(draw()).unwrap()).collect();
        assert!(fit(&draws, scale) < 1.0, "scale {scale}");
        moments_agree(&draws, scale);
        assert!(fit(&draws, scale * 1.06) > 1.0, "a wrong scale must be noticed");
    }
    // With words of few bits, floats decide only a few draws, and integers decide the other draws.
    let mut source = Seeded::<4>::new(7);
    let mut draw = || big_discrete_laplace(2.0, &mut source).unwrap();
    let draws: Vec<i128> = (0..20_000).map(|_| i128::try_from(draw()).unwrap()).collect();
    assert!(fit(&draws, 2.0) < 1.0);
    assert!(fit(&draws, 2.2) > 1.0, "a wrong scale must be noticed");
}

#[test]
fn noise_of_any_length_does_not_saturate() {
    let mut source = Seeded::<64>::new(3);
    let scale = 1e60;
    let draws: Vec<f64> = (0..4000)
        .map(|_| big_discrete_laplace(scale, &mut source).unwrap().to_f64().value() / scale)
        .collect();
    // In units of the scale, the mean is 0, the variance is 2, and the fourth moment is 24.
    let n = draws.len() as f64;
    let (mean, square) = draws.iter().fold((0.0, 0.0), |(m, s), x| (m + x / n, s + x * x / n));
    assert!(mean.abs() < 6.0 * (2.0 / n).sqrt(), "{mean}");
    assert!((square - 2.0).abs() < 6.0 * (20.0 / n).sqrt(), "{square}");
    let capped = draws.iter().filter(|x| x.abs() * scale <= 3.5e38).count();
    assert!(capped < 10, "noise of 128 bits would be this small every time: {capped}");
}
