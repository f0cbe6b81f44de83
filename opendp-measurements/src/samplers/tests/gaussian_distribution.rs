//! The distribution of continuous Gaussian noise after rounding to a lattice.

use opendp_core::random::{NoEntropy, RandomSource, Seeded};

use super::lattice_fit::FloatLaw;
use crate::samplers::gaussian;

pub(super) struct Gaussian;
impl FloatLaw for Gaussian {
    fn draw<S: RandomSource>(x: f64, scale: f64, k: i32, source: &mut S) -> Result<f64, NoEntropy> {
        gaussian(x, scale, k, source)
    }
    fn cdf(z: f64) -> f64 {
        phi(z)
    }
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

#[test]
fn many_refined_draws_have_the_exact_distribution() {
    // Some digits of a point decide whether the point is accepted. These digits must be kept. If
    // they were drawn again, the accepted point would have another distribution.
    fn check<const BITS: u32>(count: usize) {
        let mut source = Seeded::<BITS>::new(30);
        let sums = Gaussian::draws((0.1, 1.0, -30), count, &mut source);
        assert!(Gaussian::fit(&sums, (0.1, 1.0, -30)) < 1.0, "{BITS} bits");
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
