//! The distribution of continuous Laplace noise after rounding to a lattice.

use super::{
    chi_square::chi_square,
    lattice_fit::{self, CASES},
};
use crate::samplers::{laplace, round_to_lattice};
use opendp_core::random::{RandomSource, Seeded};

fn draws<S: RandomSource>(x: f64, scale: f64, k: i32, count: usize, source: &mut S) -> Vec<f64> {
    (0..count).map(|_| laplace(x, scale, k, source).unwrap()).collect()
}

/// Compute `P[x + scale L < edge]` for a Laplace variable `L` of scale 1.
fn cdf(edge: f64, x: f64, scale: f64) -> f64 {
    let z = (edge - x) / scale;
    if z < 0.0 { z.exp() / 2.0 } else { 1.0 - (-z).exp() / 2.0 }
}

fn fit(draws: &[f64], x: f64, scale: f64, k: i32) -> f64 {
    lattice_fit::fit(draws, (x, scale, k), |z| cdf(z, 0.0, 1.0))
}

#[test]
fn the_sum_has_its_exact_distribution_on_every_lattice() {
    for (seed, (x, scale, k)) in CASES.into_iter().enumerate() {
        let sums = draws(x, scale, k, 300_000, &mut Seeded::<64>::new(seed as u64));
        assert!(fit(&sums, x, scale, k) < 1.0, "{x} {scale} {k}");
        assert!(fit(&sums, x, scale * 1.04, k) > 1.0, "a wrong scale must be noticed");
        assert!(fit(&sums, x + 0.04 * scale, scale, k) > 1.0, "a wrong centre must be noticed");
        assert!(sums.iter().all(|&y| round_to_lattice(y, k) == y), "a point is off the lattice");
    }
}

#[test]
fn forced_refinement_leaves_the_distribution_alone() {
    for (seed, (x, scale, k)) in CASES.into_iter().enumerate() {
        let sums = draws(x, scale, k, 20_000, &mut Seeded::<4>::new(seed as u64));
        assert!(fit(&sums, x, scale, k) < 1.0, "{x} {scale} {k}");
        assert!(fit(&sums, x, scale * 1.2, k) > 1.0, "a wrong scale must be noticed");
    }
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
        (0..300_000).map(|_| laplace(0.0, 1.0, 0, &mut source).unwrap()).collect();
    assert!(fit(&mistaken, 0.3, 1.0, 0) > 1.0);
    assert!(fit(&mistaken, 0.0, 1.0, 0) < 1.0);
}
