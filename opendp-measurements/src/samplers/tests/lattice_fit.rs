//! The checks that Laplace and Gaussian noise on floats share. They compare noisy numbers, rounded
//! to a lattice, with the exact probabilities of the lattice points.

use opendp_core::random::{NoEntropy, RandomSource, Seeded};

use super::chi_square::chi_square;
use super::gaussian_distribution::Gaussian;
use super::laplace_distribution::Laplace;
use crate::samplers::round_to_lattice;

/// The noise `scale N` on floats, where `N` has the scale 1.
pub(super) trait FloatLaw {
    /// Draw `x + scale N`, rounded to a multiple of `2^k`.
    fn draw<S: RandomSource>(x: f64, scale: f64, k: i32, source: &mut S) -> Result<f64, NoEntropy>;
    /// Compute `P[N < z]`.
    fn cdf(z: f64) -> f64;

    fn draws<S: RandomSource>(
        (x, scale, k): (f64, f64, i32),
        count: usize,
        source: &mut S,
    ) -> Vec<f64> {
        (0..count).map(|_| Self::draw(x, scale, k, source).unwrap()).collect()
    }
    /// Compare draws with the probabilities of the lattice points. The result is below 1 if the
    /// draws agree with the probabilities.
    fn fit(draws: &[f64], case: (f64, f64, i32)) -> f64 {
        fit(draws, case, Self::cdf)
    }
}

fn the_sum_has_its_exact_distribution_on_every_lattice<L: FloatLaw>() {
    for (seed, (x, scale, k)) in CASES.into_iter().enumerate() {
        let sums = L::draws((x, scale, k), 300_000, &mut Seeded::<64>::new(seed as u64));
        assert!(L::fit(&sums, (x, scale, k)) < 1.0, "{x} {scale} {k}");
        assert!(L::fit(&sums, (x, scale * 1.04, k)) > 1.0, "a wrong scale must be noticed");
        assert!(
            L::fit(&sums, (x + 0.04 * scale, scale, k)) > 1.0,
            "a wrong centre must be noticed"
        );
        assert!(sums.iter().all(|&y| round_to_lattice(y, k) == y), "a point is off the lattice");
    }
}
fn forced_refinement_leaves_the_distribution_alone<L: FloatLaw>() {
    for (seed, (x, scale, k)) in CASES.into_iter().enumerate() {
        let sums = L::draws((x, scale, k), 20_000, &mut Seeded::<4>::new(seed as u64));
        assert!(L::fit(&sums, (x, scale, k)) < 1.0, "{x} {scale} {k}");
        assert!(L::fit(&sums, (x, scale * 1.2, k)) > 1.0, "a wrong scale must be noticed");
    }
}
fn the_finest_lattice_has_the_continuous_distribution<L: FloatLaw>() {
    let mut sums = L::draws((0.7, 1.0, -1074), 20_000, &mut Seeded::<64>::new(9));
    sums.sort_by(f64::total_cmp);
    // The critical value of the Kolmogorov-Smirnov test is sqrt(ln(2 / 1e-9) / 2n) for n draws
    // (Massart 1990).
    let distance = |x: f64| {
        let n = sums.len() as f64;
        let gap = |(i, &y): (usize, &f64)| (L::cdf(y - x) - (i as f64 + 0.5) / n).abs();
        sums.iter().enumerate().map(gap).fold(0.0, f64::max)
    };
    let bound = ((2e9_f64).ln() / 2.0 / sums.len() as f64).sqrt();
    assert!(distance(0.7) < bound);
    assert!(distance(0.8) > bound, "a wrong centre must be noticed");
    // The last four bits of a release must be uniform. Suppose that the noise were rounded to a
    // float before the addition. Then a sum that is smaller than the noise would often end with
    // zero bits.
    let mut observed = [0; 16];
    for y in &sums {
        observed[(y.to_bits() & 15) as usize] += 1;
    }
    assert!(chi_square(&observed, &[20_000.0 / 16.0; 16]) < 1.0);
}
/// The control makes a common mistake: it rounds x to the lattice first, and then adds rounded
/// continuous noise.
fn noise_added_to_a_rounded_value_would_be_noticed<L: FloatLaw>() {
    let mistaken = L::draws((0.0, 1.0, 0), 300_000, &mut Seeded::<64>::new(10));
    assert!(L::fit(&mistaken, (0.3, 1.0, 0)) > 1.0);
    assert!(L::fit(&mistaken, (0.0, 1.0, 0)) < 1.0);
}

check_both! {
    the_sum_has_its_exact_distribution_on_every_lattice
    forced_refinement_leaves_the_distribution_alone
    the_finest_lattice_has_the_continuous_distribution
    noise_added_to_a_rounded_value_would_be_noticed
}

/// Compare draws of `x + scale N` with the probability of each lattice point. This probability is
/// the integral of the density over the cell of the point. `standard` is the distribution function
/// of `N`.
///
/// For every `x`, the cell of `m 2^k` is from `(m - 1/2) 2^k` to `(m + 1/2) 2^k`. If the spacing of
/// the lattice is below `scale / 8`, several lattice points share a bucket.
fn fit(draws: &[f64], (x, scale, k): (f64, f64, i32), standard: impl Fn(f64) -> f64) -> f64 {
    let cdf = |edge: f64| standard((edge - x) / scale);
    let step = 2f64.powi(k);
    let width = (scale / 8.0 / step).ceil().max(1.0);
    let centre = (x / step).floor();
    let buckets = (12.0 * scale / (width * step)).ceil() as i64 + 1;
    let bucket = |m: f64| (((m - centre) / width).floor() as i64).clamp(-buckets, buckets);
    let mut observed = vec![0; 2 * buckets as usize + 1];
    for y in draws {
        observed[(bucket(y / step) + buckets) as usize] += 1;
    }
    let edge = |b: i64| (centre + b as f64 * width - 0.5) * step;
    let expected: Vec<f64> = (-buckets..=buckets)
        .map(|b| {
            let below = if b == -buckets { 0.0 } else { cdf(edge(b)) };
            let above = if b == buckets { 1.0 } else { cdf(edge(b + 1)) };
            draws.len() as f64 * (above - below)
        })
        .collect();
    chi_square(&observed, &expected)
}

/// Triples of a value, a scale and a lattice exponent. No value is a lattice point. Two values are
/// half-way between two lattice points.
const CASES: [(f64, f64, i32); 6] = [
    (0.3, 1.0, 0),
    (-7.7, 2.5, -2),
    (0.1, 1.0, -30),
    (1e-30, 3.0, 1),
    (1234.5, 0.4, 0),
    (-0.5, 0.5, 0),
];
