//! The checks that Laplace and Gaussian noise on integers share.

use opendp_core::IBig;
use opendp_core::random::{NoEntropy, RandomSource, Seeded};

use super::chi_square::chi_square;
use super::discrete_gaussian_distribution::Gaussian;
use super::discrete_laplace_distribution::Laplace;

/// Noise on integers, with the formulas of its distribution.
pub(super) trait DiscreteLaw {
    /// Scales at which a million draws are compared with the exact probabilities.
    const SCALES: &'static [f64];
    /// Magnitudes of more than `REACH` times the scale have negligible probability.
    const REACH: f64;
    /// The check of the tail counts magnitudes of at least `FAR` times the scale.
    const FAR: f64;
    /// With words of 4 bits, a draw needs more words than this number, on average.
    const SHORT_WORDS: f64;
    /// The second and the fourth moment of the noise at a large scale, in units of the scale.
    const MOMENTS: (f64, f64);

    /// Draw the sign and the magnitude of the noise.
    fn noise<S: RandomSource>(scale: f64, source: &mut S) -> Result<(bool, u128), NoEntropy>;
    /// Draw the noise of an integer of any size.
    fn big_noise<S: RandomSource>(scale: f64, source: &mut S) -> Result<IBig, NoEntropy>;
    /// Compute a number that is proportional to the probability of the noise `k`.
    fn weight(k: f64, scale: f64) -> f64;

    fn draws<S: RandomSource>(scale: f64, count: usize, source: &mut S) -> Vec<i128> {
        (0..count).map(|_| signed(Self::noise(scale, source).unwrap())).collect()
    }
    fn big_draws<S: RandomSource>(scale: f64, count: usize, source: &mut S) -> Vec<i128> {
        let mut draw = || i128::try_from(Self::big_noise(scale, source).unwrap()).unwrap();
        (0..count).map(|_| draw()).collect()
    }
    /// Return `reach`, and the probability of each integer in `-reach ..= reach`. Larger magnitudes
    /// have negligible probability.
    fn pmf(scale: f64) -> (i128, Vec<f64>) {
        let reach = (Self::REACH * scale) as i128 + 2;
        let weights: Vec<f64> = (-reach..=reach).map(|k| Self::weight(k as f64, scale)).collect();
        let sum: f64 = weights.iter().sum();
        (reach, weights.into_iter().map(|weight| weight / sum).collect())
    }
    /// Compare the counts of draws with the probabilities of noise of a given scale. The result is
    /// below 1 if the counts agree with the probabilities.
    fn fit(draws: &[i128], scale: f64) -> f64 {
        let (reach, probabilities) = Self::pmf(scale);
        let mut observed = vec![0; probabilities.len()];
        for k in draws {
            observed[(k.clamp(&-reach, &reach) + reach) as usize] += 1;
        }
        let expected: Vec<f64> = probabilities.iter().map(|p| p * draws.len() as f64).collect();
        chi_square(&observed, &expected)
    }
    /// Test the moments, the symmetry and the frequency of large magnitudes. Each sample mean must
    /// be within six standard deviations of its expectation.
    fn moments_agree(draws: &[i128], scale: f64) {
        let n = draws.len() as f64;
        let (reach, probabilities) = Self::pmf(scale);
        let exact = |f: &dyn Fn(f64) -> f64| {
            (-reach..=reach).zip(&probabilities).map(|(k, p)| f(k as f64) * p).sum::<f64>()
        };
        let far = (Self::FAR * scale).ceil();
        let sign = |k: f64| if k == 0.0 { 0.0 } else { k.signum() };
        let functions: [&dyn Fn(f64) -> f64; 5] =
            [&|k| k, &|k| k * k, &|k| k.powi(4), &sign, &|k| f64::from(k.abs() >= far)];
        for (i, f) in functions.iter().enumerate() {
            let mean = exact(f);
            let variance = exact(&|k| (f(k) - mean).powi(2));
            let found = draws.iter().map(|&k| f(k as f64)).sum::<f64>() / n;
            assert!((found - mean).abs() < 6.0 * (variance / n).sqrt() + 1e-12, "moment {i}");
        }
    }
}
pub(super) fn signed((negative, magnitude): (bool, u128)) -> i128 {
    let magnitude = i128::try_from(magnitude).unwrap();
    if negative { -magnitude } else { magnitude }
}

fn noise_has_its_exact_distribution<L: DiscreteLaw>() {
    for (seed, &scale) in L::SCALES.iter().enumerate() {
        let draws = L::draws(scale, 1_000_000, &mut Seeded::<64>::new(seed as u64));
        assert!(L::fit(&draws, scale) < 1.0, "scale {scale}");
        L::moments_agree(&draws, scale);
        assert!(L::fit(&draws, scale * 1.03) > 1.0, "a wrong scale must be noticed");
    }
}
fn forced_refinement_leaves_the_distribution_alone<L: DiscreteLaw>() {
    for (seed, &scale) in L::SCALES.iter().enumerate() {
        let (count, mut source) = (60_000, Seeded::<4>::new(seed as u64));
        let draws = L::draws(scale, count, &mut source);
        let words = source.used() as f64;
        assert!(words > L::SHORT_WORDS * count as f64, "refinement was rare: {words}");
        assert!(L::fit(&draws, scale) < 1.0, "scale {scale}");
        L::moments_agree(&draws, scale);
        assert!(L::fit(&draws, scale * 1.06) > 1.0, "a wrong scale must be noticed");
    }
}
fn one_bit_words_leave_the_distribution_alone<L: DiscreteLaw>() {
    let draws = L::draws(2.0, 20_000, &mut Seeded::<1>::new(21));
    assert!(L::fit(&draws, 2.0) < 1.0);
    L::moments_agree(&draws, 2.0);
    assert!(L::fit(&draws, 2.2) > 1.0, "a wrong scale must be noticed");
}
fn the_low_bits_of_large_noise_are_uniform<L: DiscreteLaw>() {
    for scale in [1e12, 2f64.powi(100)] {
        let mut observed = [0; 256];
        for draw in L::draws(scale, 30_000, &mut Seeded::<64>::new(8)) {
            observed[(draw & 255) as usize] += 1;
        }
        assert!(chi_square(&observed, &[30_000.0 / 256.0; 256]) < 1.0, "scale {scale}");
    }
}
fn noise_of_any_length_has_the_same_distribution<L: DiscreteLaw>() {
    for (seed, scale) in [1.0 / 3.0, 0.7, 2.0, 10.0, 1e4].into_iter().enumerate() {
        let draws = L::big_draws(scale, 400_000, &mut Seeded::<64>::new(seed as u64));
        assert!(L::fit(&draws, scale) < 1.0, "scale {scale}");
        L::moments_agree(&draws, scale);
        assert!(L::fit(&draws, scale * 1.06) > 1.0, "a wrong scale must be noticed");
    }
    // With words of 4 bits, floats decide only a few draws, and integers decide the others.
    let draws = L::big_draws(2.0, 20_000, &mut Seeded::<4>::new(7));
    assert!(L::fit(&draws, 2.0) < 1.0);
    assert!(L::fit(&draws, 2.2) > 1.0, "a wrong scale must be noticed");
}
fn noise_of_any_length_does_not_saturate<L: DiscreteLaw>() {
    let (mut source, scale) = (Seeded::<64>::new(3), 1e60);
    let draws: Vec<f64> = (0..4000)
        .map(|_| L::big_noise(scale, &mut source).unwrap().to_f64().value() / scale)
        .collect();
    let (n, (second, fourth)) = (draws.len() as f64, L::MOMENTS);
    let (mean, square) = draws.iter().fold((0.0, 0.0), |(m, s), x| (m + x / n, s + x * x / n));
    assert!(mean.abs() < 6.0 * (second / n).sqrt(), "{mean}");
    assert!((square - second).abs() < 6.0 * ((fourth - second * second) / n).sqrt(), "{square}");
    let capped = draws.iter().filter(|x| x.abs() * scale <= 3.5e38).count();
    assert!(capped < 10, "{capped} of 4000 draws fit 128 bits, as if the noise saturated");
}

check_both! {
    noise_has_its_exact_distribution
    forced_refinement_leaves_the_distribution_alone
    one_bit_words_leave_the_distribution_alone
    the_low_bits_of_large_noise_are_uniform
    noise_of_any_length_has_the_same_distribution
    noise_of_any_length_does_not_saturate
}
