//! Comparison of a [`ReplacedPair`] with divergences of mechanisms on actual data. The divergences
//! are computed by plain integration.

use std::sync::Arc;

use super::super::discrete_loss::DiscreteLoss;
use super::super::{Account, LogConcaveNoise, SampledGaussianPair, gaussian_delta};
use super::*;

const EPSILONS: [f64; 5] = [0.0, 0.1, 0.4, 1.0, 2.5];

/// A bound on the error of plain integration.
const SLACK: f64 = 2e-5;

fn account_of(pair: impl DominatingPair + 'static, count: u64) -> Account {
    Account::new().with(Arc::new(pair), count)
}
/// Return the normal density `1 / (sqrt(2 pi) scale) e^(-y^2 / (2 scale^2))`.
fn normal(scale: f64) -> impl Fn(f64) -> f64 {
    move |y| (-(y / scale).powi(2) / 2.0).exp() / (scale * std::f64::consts::TAU.sqrt())
}
fn laplace(scale: f64) -> impl Fn(f64) -> f64 {
    move |y| (-(y / scale).abs()).exp() / (2.0 * scale)
}
fn discrete_laplace(scale: f64) -> impl Fn(f64) -> f64 {
    move |y| (-(y / scale).abs()).exp() * (0.5 / scale).tanh()
}
/// Return the probabilities of discrete Gaussian noise.
fn discrete_normal(scale: f64) -> impl Fn(f64) -> f64 {
    let weight = move |y: f64| (-(y / scale).powi(2) / 2.0).exp();
    let total: f64 = (-100..=100).map(|y| weight(f64::from(y))).sum();
    move |y| weight(y) / total
}
/// Return the density of a noisy sum at an output. The sum is over a Poisson sample of some
/// records.
fn release(noise: &impl Fn(f64) -> f64, records: &[f64], rate: f64, y: f64) -> f64 {
    match records {
        [] => noise(y),
        [first, rest @ ..] => {
            (1.0 - rate) * release(noise, rest, rate, y)
                + rate * release(noise, rest, rate, y - first)
        }
    }
}
/// For each epsilon, return the sum of the positive parts of `p - e^epsilon q` over all outputs.
fn divergences(releases: impl Iterator<Item = (f64, f64)>) -> [f64; 5] {
    let mut totals = [0.0; 5];
    for (p, q) in releases {
        for (total, epsilon) in totals.iter_mut().zip(EPSILONS) {
            *total += (p - epsilon.exp() * q).max(0.0);
        }
    }
    totals
}
const OTHERS: [&[f64]; 4] = [&[], &[1.0], &[-1.0, 1.0], &[2.0, 2.0, -1.0]];

/// For each epsilon, return the largest divergence over all choices of the two records from a list,
/// and over all choices of the other records.
fn worst(noise: &impl Fn(f64) -> f64, records: &[f64], rate: f64, step: f64) -> [f64; 5] {
    let mut worst = [0.0f64; 5];
    let outputs = (-24.0 / step) as i64..=(24.0 / step) as i64;
    for others in OTHERS {
        for (i, first) in records.iter().enumerate() {
            for (j, second) in records.iter().enumerate() {
                if i == j {
                    continue;
                }
                let mass_at = |record: f64, y: f64| {
                    release(noise, &[&[record], others].concat(), rate, y) * step
                };
                let outputs = outputs.clone().map(|k| k as f64 * step);
                let found = divergences(outputs.map(|y| (mass_at(*first, y), mass_at(*second, y))));
                for (largest, found) in worst.iter_mut().zip(found) {
                    *largest = largest.max(found);
                }
            }
        }
    }
    worst
}
/// Return the delta, at an epsilon, of a distribution of losses on a grid.
fn profile(loss: &DiscreteLoss, epsilon: f64) -> f64 {
    let masses = loss.mass.iter().enumerate();
    let finite = masses.map(|(i, mass)| mass * (1.0 - (epsilon - loss.loss(i)).exp()).max(0.0));
    loss.infinite + finite.sum::<f64>()
}
/// Compute two bounds on the profile of a pair: from above and from below. `exact` lists one
/// divergence for each epsilon. Return whether each divergence exceeds the bound from above by at
/// most [`SLACK`]. Also return the largest amount by which the bound from below exceeds a
/// divergence, or 0 if the bound exceeds no divergence.
fn bounds(pair: impl DominatingPair, exact: [f64; 5]) -> (bool, f64) {
    let (low, high) = pair.range(1e-12);
    let grid = Grid::covering(1e-3, low, high);
    let buckets = pair.buckets(&grid);
    let (above, below) =
        (DiscreteLoss::above(&buckets, &grid), DiscreteLoss::below(&buckets, &grid));
    let found = EPSILONS.map(|epsilon| (profile(&below, epsilon), profile(&above, epsilon)));
    let all = found.iter().zip(exact).all(|(found, exact)| exact <= found.1 + SLACK);
    let over = found.iter().zip(exact).map(|(found, exact)| found.0 - exact);
    (all, over.fold(0.0, f64::max))
}
#[track_caller]
fn check(pair: Result<ReplacedPair>, exact: [f64; 5]) {
    let (all, over) = bounds(pair.unwrap(), exact);
    assert!(all && over < SLACK, "{exact:?} {over}");
}

fn discrete_laplace_pair(added: u32, replaced: u32, scale: f64, rate: f64) -> Result<ReplacedPair> {
    let noise = LogConcaveNoise::DiscreteLaplace { scale };
    ReplacedPair::poisson(noise, added.into(), replaced.into(), rate)
}
fn discrete_gaussian_pair(
    added: u32,
    replaced: u32,
    scale: f64,
    rate: f64,
) -> Result<ReplacedPair> {
    let noise = LogConcaveNoise::DiscreteGaussian { scale };
    ReplacedPair::poisson(noise, added.into(), replaced.into(), rate)
}
#[test]
fn bounds_every_sum_of_a_sample_and_the_worst_one_exactly() {
    for rate in [0.1, 0.6] {
        // Compare the largest distance between two records with the largest magnitude of a record.
        // In the first list, the distance is twice the magnitude. In the second list, both are
        // equal. In the third list, the distance is between the magnitude and twice the magnitude.
        let records: [(&[f64], f64); 3] =
            [(&[-1.0, -0.5, 0.0, 1.0], 2.0), (&[0.0, 0.5, 1.0], 1.0), (&[-0.5, 0.5, 1.0], 1.5)];
        for (records, width) in records {
            let exact = worst(&normal(0.8), records, rate, 0.01);
            check(ReplacedPair::poisson_gaussian(1.0 / 0.8, width / 0.8, rate), exact);
            let exact = worst(&laplace(1.5), records, rate, 0.01);
            check(ReplacedPair::poisson_laplace(1.0 / 1.5, width / 1.5, rate), exact);
        }
        let records: [(&[f64], u32); 4] = [
            (&[-2.0, -1.0, 0.0, 2.0], 4),
            (&[0.0, 1.0, 2.0], 2),
            (&[-1.0, 0.0, 2.0], 3),
            (&[1.0, 2.0], 1),
        ];
        for (records, width) in records {
            let exact = worst(&discrete_laplace(1.5), records, rate, 1.0);
            check(discrete_laplace_pair(2, width, 1.5, rate), exact);
            let exact = worst(&discrete_normal(1.5), records, rate, 1.0);
            check(discrete_gaussian_pair(2, width, 1.5, rate), exact);
        }
    }
}
#[test]
fn the_pairs_of_added_records_and_of_fixed_size_are_found_too_small() {
    let exact = worst(&normal(0.8), &[-1.0, 1.0], 0.1, 0.01);
    for removed in [true, false] {
        let pair = SampledGaussianPair { mu: 1.0 / 0.8, rate: 0.1, removed };
        assert!(!bounds(pair, exact).0);
    }
    assert!(!bounds(ReplacedPair::fixed_size_gaussian(1.0 / 0.8, 0.1).unwrap(), exact).0);
    let exact = worst(&laplace(1.5), &[-1.0, 1.0], 0.1, 0.01);
    assert!(!bounds(ReplacedPair::fixed_size_laplace(1.0 / 1.5, 0.1).unwrap(), exact).0);
    let exact = worst(&discrete_laplace(1.5), &[-2.0, 2.0], 0.1, 1.0);
    let pair = discrete_laplace_pair(2, 3, 1.5, 0.1).unwrap();
    assert!(!bounds(pair, exact).0);
    let exact = worst(&discrete_normal(1.5), &[-2.0, 2.0], 0.1, 1.0);
    let pair = discrete_gaussian_pair(2, 3, 1.5, 0.1).unwrap();
    assert!(!bounds(pair, exact).0);
}
/// Return the divergences between the releases of two data sets. Each data set consists of one unit
/// vector, and `cosine` is the cosine of the angle between the two vectors. A release is the noisy
/// sum of a Poisson sample, with noise on both coordinates.
fn at_angle(cosine: f64, rate: f64, scale: f64) -> [f64; 5] {
    let sine = (1.0 - cosine * cosine).sqrt();
    let (noise, step) = (normal(scale), 0.025);
    let mixed = move |x: f64, y: f64, (u, v): (f64, f64)| {
        ((1.0 - rate) * noise(x) * noise(y) + rate * noise(x - u) * noise(y - v)) * step * step
    };
    let side = (6.0 / step) as i64;
    let points = (-side..=side).flat_map(|i| (-side..=side).map(move |j| (i, j)));
    let releases = points.map(|(i, j)| {
        let (x, y) = (i as f64 * step, j as f64 * step);
        (mixed(x, y, (1.0, 0.0)), mixed(x, y, (cosine, sine)))
    });
    divergences(releases)
}
#[test]
fn bounds_vectors_at_any_angle() {
    let rate = 0.3;
    for cosine in [-0.8f64, 0.0, 0.5] {
        let exact = at_angle(cosine, rate, 0.8);
        let replaced = (2.0 - 2.0 * cosine).sqrt();
        // Check the bound at the actual distance of the two vectors, and at the largest possible
        // distance.
        for width in [replaced, 2.0] {
            let pair = ReplacedPair::poisson_gaussian(1.25, width * 1.25, rate).unwrap();
            assert!(bounds(pair, exact).0, "{cosine} {width} {exact:?}");
        }
        // The control: for angles of at least 90 degrees, the pair at a smaller distance is not a
        // bound.
        let pair = ReplacedPair::poisson_gaussian(1.25, 0.9 * replaced * 1.25, rate).unwrap();
        assert!(!bounds(pair, exact).0 || cosine > 0.0, "{cosine} {exact:?}");
    }
}
#[test]
fn two_releases_compose_to_what_integration_finds() {
    let (noise, rate, step) = (normal(0.8), 0.2, 0.02);
    let outputs: Vec<(f64, f64)> = (-300..=300)
        .map(|k| {
            let y = f64::from(k) * step;
            let mass_at = |record: f64| release(&noise, &[record], rate, y) * step;
            (mass_at(1.0), mass_at(-1.0))
        })
        .collect();
    let both = outputs
        .iter()
        .flat_map(|first| outputs.iter().map(|second| (first.0 * second.0, first.1 * second.1)));
    let exact = divergences(both);
    let account = account_of(ReplacedPair::poisson_gaussian(1.25, 2.5, rate).unwrap(), 2);
    for (epsilon, exact) in EPSILONS.into_iter().zip(exact) {
        let found = account.delta(epsilon).unwrap();
        assert!(found.lower - SLACK <= exact && exact <= found.upper + SLACK, "{found:?} {exact}");
    }
}
#[test]
fn is_never_above_advanced_joint_convexity() {
    for (added, replaced, rate) in [(1.0, 2.0, 0.1), (0.5, 0.7, 0.01), (2.0, 2.0, 0.5)] {
        let account = account_of(ReplacedPair::poisson_gaussian(added, replaced, rate).unwrap(), 1);
        for epsilon in EPSILONS {
            let alpha = epsilon.exp();
            let unsampled = 1.0 + (alpha - 1.0) / rate;
            let share = alpha / unsampled;
            let delta_at = |mu| gaussian_delta(mu, unsampled.ln()).unwrap().upper;
            let convex = rate * ((1.0 - share) * delta_at(added) + share * delta_at(replaced));
            let found = account.delta(epsilon).unwrap();
            assert!(found.lower <= convex + 1e-15, "{found:?} {convex}");
        }
    }
}
#[test]
fn is_put_on_any_grid_without_loss() {
    let pairs = [
        ReplacedPair::poisson_gaussian(1.25, 2.5, 0.3),
        ReplacedPair::poisson_gaussian(1.25, 1.0, 0.3),
        ReplacedPair::poisson_laplace(1.25, 2.0, 0.3),
        discrete_laplace_pair(3, 5, 2.0, 0.3),
        discrete_gaussian_pair(3, 5, 2.0, 0.3),
    ];
    for pair in pairs.map(Result::unwrap) {
        let on = |grid: &Grid| DiscreteLoss::above(&pair.buckets(grid), grid);
        let fine = on(&Grid { step: 1e-3, first: -6000, count: 12_000 });
        let grids =
            [(0.1, -40, 80), (0.1, -3, 50), (0.03, -50, 53), (0.05, 4, 60), (0.05, -60, 40)];
        for (step, first, count) in grids {
            let grid = Grid { step, first, count };
            let buckets = pair.buckets(&grid);
            let at_edges: f64 = buckets.at_edges.iter().map(|(_, p)| p).sum();
            let total = buckets.p.iter().sum::<f64>() + at_edges + buckets.below + buckets.above;
            assert!((total - 1.0).abs() < 1e-9, "{pair:?} {grid:?}: {total}");
            for (i, (p, q)) in buckets.p.iter().zip(&buckets.q).enumerate() {
                let (low, high) = (grid.edge(i) - 1e-9, grid.edge(i + 1) + 1e-9);
                assert!(*p == 0.0 || (low..=high).contains(&(p / q).ln()), "{pair:?} {i}: {p} {q}");
            }
            let coarse = on(&grid);
            for epsilon in [-2.0, -0.7, -0.1, 0.0, 0.1, 0.7, 2.0] {
                let (coarse, exact) = (profile(&coarse, epsilon), profile(&fine, epsilon));
                assert!(exact <= coarse + 1e-6, "{pair:?} {grid:?} {epsilon}: {coarse} {exact}");
            }
        }
    }
}
#[test]
fn refuses_what_is_no_distance_and_no_rate() {
    for (added, replaced, rate) in
        [(0.0, 1.0, 0.1), (1.0, f64::NAN, 0.1), (1.0, 1e3, 0.1), (1.0, 1.0, 0.0), (1.0, 1.0, 1.0)]
    {
        let error = ReplacedPair::poisson_gaussian(added, replaced, rate).unwrap_err();
        assert_eq!(error.kind(), "InvalidDistance");
    }
    for (added, scale) in [(0, 1.0), (65_537, 1e4), (1, -1.0), (1, 1e-9), (1, f64::NAN)] {
        assert!(discrete_laplace_pair(added, added, scale, 0.1).is_err());
        assert!(discrete_gaussian_pair(added, added, scale, 0.1).is_err());
    }
    assert!(discrete_gaussian_pair(9, 9, 1.0, 0.1).is_err());
    assert!(discrete_gaussian_pair(9, 9, 65_537.0, 0.1).is_err());
    assert!(
        ReplacedPair::poisson(LogConcaveNoise::DiscreteLaplace { scale: 1.0 }, 1.0, 1.5, 0.1)
            .is_err()
    );
}
