//! The distribution of continuous Gaussian noise after rounding to a lattice.

use super::{
    chi_square::chi_square,
    lattice_fit::{self, CASES},
};
use crate::samplers::{gaussian, round_to_lattice};
use opendp_core::random::{RandomSource, Seeded};

fn draws<S: RandomSource>(x: f64, sigma: f64, k: i32, count: usize, source: &mut S) -> Vec<f64> {
    (0..count).map(|_| gaussian(x, sigma, k, source).unwrap()).collect()
}

/// Compute the distribution function of the standard normal distribution.
///
/// `phi(z) = 1/2 + density(z) (z + z^3 / 3 + z^5 / 15 + ...)` (Abramowitz and Stegun 1964,
/// 26.2.11). Here `density` is the density of this distribution.
pub(super) fn phi(z: f64) -> f64 {
    if z.abs() > 8.0 {
        return if z > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut odd) = (z, z, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        odd += 2.0;
        term *= z * z / odd;
        sum += term;
    }
    0.5 + sum * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Compute `P[x + sigma N < edge]` for a standard normal variable `N`.
fn cdf(edge: f64, x: f64, sigma: f64) -> f64 {
    phi((edge - x) / sigma)
}

#[test]
fn the_reference_matches_the_tables() {
    for (z, p) in [
        (0.0, 0.5),
        (1.0, 0.841_344_746_068_543),
        (-1.959_963_984_540_054, 0.025),
        (5.0, 0.999_999_713_348_428),
    ] {
        assert!((phi(z) - p).abs() < 1e-14, "{z}");
    }
}

fn fit(draws: &[f64], x: f64, sigma: f64, k: i32) -> f64 {
    lattice_fit::fit(draws, (x, sigma, k), phi)
}

#[test]
fn the_sum_has_its_exact_distribution_on_every_lattice() {
    for (seed, (x, sigma, k)) in CASES.into_iter().enumerate() {
        let sums = draws(x, sigma, k, 300_000, &mut Seeded::<64>::new(seed as u64));
        assert!(fit(&sums, x, sigma, k) < 1.0, "{x} {sigma} {k}");
        assert!(fit(&sums, x, sigma * 1.04, k) > 1.0, "a wrong sigma must be noticed");
        assert!(fit(&sums, x + 0.04 * sigma, sigma, k) > 1.0, "a wrong centre must be noticed");
        assert!(sums.iter().all(|&y| round_to_lattice(y, k) == y), "a point is off the lattice");
    }
}

#[test]
fn forced_refinement_leaves_the_distribution_alone() {
    for (seed, (x, sigma, k)) in CASES.into_iter().enumerate() {
        let sums = draws(x, sigma, k, 20_000, &mut Seeded::<4>::new(seed as u64));
        assert!(fit(&sums, x, sigma, k) < 1.0, "{x} {sigma} {k}");
        assert!(fit(&sums, x, sigma * 1.2, k) > 1.0, "a wrong sigma must be noticed");
    }
}

#[test]
fn many_refined_draws_have_the_exact_distribution() {
    // Some digits of a point decide whether the point is accepted. These digits must be kept. If
    // they were drawn again, the accepted point would have another distribution.
    fn check<const BITS: u32>(count: usize) {
        let mut source = Seeded::<BITS>::new(30);
        let sums = draws(0.1, 1.0, -30, count, &mut source);
        assert!(fit(&sums, 0.1, 1.0, -30) < 1.0, "{BITS} bits");
        for distance in [1.5, 2.5, 3.5] {
            let p = 2.0 * phi(-distance);
            let found = sums.iter().filter(|&y| (y - 0.1).abs() > distance).count() as f64;
            let (n, expected) = (count as f64, p * count as f64);
            assert!((found - expected).abs() < 6.0 * (n * p * (1.0 - p)).sqrt(), "{distance}");
        }
    }
    check::<1>(30_000);
    check::<4>(100_000);
}

#[test]
fn the_finest_lattice_has_the_continuous_distribution() {
    let mut sums = draws(0.7, 1.0, -1074, 20_000, &mut Seeded::<64>::new(9));
    sums.sort_by(f64::total_cmp);
    // The critical value of the Kolmogorov-Smirnov test is sqrt(ln(2 / 1e-9) / 2n) for n draws
    // (Massart 1990).
    let distance = |x: f64| {
        let n = sums.len() as f64;
        let gap = |(i, &y): (usize, &f64)| (cdf(y, x, 1.0) - (i as f64 + 0.5) / n).abs();
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

#[test]
fn noise_added_to_a_rounded_value_would_be_noticed() {
    // The control makes a common mistake: it rounds x to the lattice first, and then adds rounded
    // continuous noise.
    let mut source = Seeded::<64>::new(10);
    let mistaken: Vec<f64> =
        (0..300_000).map(|_| gaussian(0.0, 1.0, 0, &mut source).unwrap()).collect();
    assert!(fit(&mistaken, 0.3, 1.0, 0) > 1.0);
    assert!(fit(&mistaken, 0.0, 1.0, 0) < 1.0);
}
