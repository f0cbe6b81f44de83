//! Pairs for Gaussian noise, without sampling and on a Poisson sample.

use std::sync::Arc;

use opendp_core::arith::Directed;

use super::elementary::{U, ln};
use super::normal_mass::{LIMIT, MASS_ERROR, mass, upper_tail};
use super::pair::{Buckets, DominatingPair, Grid, LogConcaveNoise};
use super::sampled_pair::{FixedSizePair, ln_unmixed, mixed};
use super::sampled_transform::TiltedSample;
use super::transform::{Tilted, TiltedGaussian};

/// The pair of `N(mu, 1)` and `N(0, 1)`: noise of standard deviation `sensitivity / mu`.
///
/// By rotation invariance, this pair also dominates noise on vectors under the L2 distance. The
/// loss of an output is normal, with variance `mu^2`. The mean of the loss is `mu^2 / 2` under `P`
/// and `-mu^2 / 2` under `Q`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianPair {
    /// The sensitivity divided by the standard deviation of the noise.
    pub mu: f64,
}

/// Return a number `z` with `P[N > z] <= tail`, for a standard normal variable `N` and a `tail` of
/// at least `1e-300`. The bound follows from `P[N > z] <= e^(-z^2/2)`.
pub(super) fn deviations(tail: f64) -> f64 {
    (-2.0 * ln(tail.max(1e-300))).max(1.0).sqrt().min(LIMIT)
}

impl DominatingPair for GaussianPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        let z = deviations(tail) * self.mu;
        let mean = self.mu * self.mu / 2.0;
        (mean - z, mean + z)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let (mu, width) = (self.mu, grid.step / self.mu);
        let centre = |i: usize| (grid.edge(i) + grid.step / 2.0) / mu;
        let p = (0..grid.count).map(|i| mass(centre(i) - mu / 2.0, width)).collect();
        let q = (0..grid.count).map(|i| mass(centre(i) + mu / 2.0, width)).collect();
        let (low, high) = (grid.edge(0) / mu - mu / 2.0, grid.edge(grid.count) / mu - mu / 2.0);
        // A bucket is an interval of losses. Let u be the unit roundoff. The centre c of a bucket
        // is off by 4 u (|c| + mu). The relative change of a mass is about |c| times this error.
        let furthest = low.abs().max(high.abs()).min(LIMIT) + mu;
        let relative = MASS_ERROR + 8.0 * U * furthest * (furthest + mu);
        Buckets {
            p,
            q,
            at_edges: Vec::new(),
            doubtful: Vec::new(),
            below: upper_tail(-low) * (1.0 + 2.0 * relative) + 1e-300,
            above: upper_tail(high) * (1.0 + 2.0 * relative) + 1e-300,
            surely_above: upper_tail(high) * (1.0 - 2.0 * relative),
            relative,
            shift: 0.0,
        }
    }
    fn shift(&self) -> Option<(LogConcaveNoise, f64)> {
        Some((LogConcaveNoise::Gaussian, self.mu))
    }
    fn tilted(&self, tilt: f64, _: f64) -> Option<Box<dyn Tilted>> {
        Some(Box::new(TiltedGaussian { mu: self.mu, tilt }))
    }
    fn concentrated(&self) -> Option<f64> {
        self.mu.inf_mul(self.mu).ok()?.inf_div(2.0).ok()
    }
    fn on_sample(&self, rate: f64, removed: bool) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(SampledGaussianPair { mu: self.mu, rate, removed }))
    }
}

/// The pair for Gaussian noise on a Poisson sample, if one record is removed or added.
///
/// Let `q` be the rate, and `mu` the `mu` of the mechanism without sampling. Take outputs in units
/// of the standard deviation of the noise. The removal of a record changes the law
/// `(1 - q) N(0, 1) + q N(mu, 1)` of the output into `N(0, 1)`. The addition of a record does the
/// reverse (Zhu, Dong, Wang 2022, Theorem 11).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledGaussianPair {
    /// The sensitivity divided by the standard deviation of the noise.
    pub mu: f64,
    /// The probability that a record is in the sample, above 0 and below 1.
    pub rate: f64,
    /// The direction: `true` for a removed record, `false` for an added record.
    pub removed: bool,
}

impl SampledGaussianPair {
    /// Return the loss of the output `y` for a removed record. The loss increases with `y`.
    fn loss(&self, y: f64) -> f64 {
        mixed(y * self.mu - self.mu * self.mu / 2.0, self.rate)
    }
    /// Return the output `y` that has a given loss for a removed record. The field `shift` of the
    /// buckets covers the error of this output.
    fn output(&self, loss: f64) -> f64 {
        ln_unmixed(loss, self.rate) / self.mu + self.mu / 2.0
    }
}

impl DominatingPair for SampledGaussianPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        if self.removed {
            let z = deviations(tail / self.rate) + self.mu;
            let z = z.max(deviations(tail));
            (self.loss(-deviations(tail)), self.loss(z))
        } else {
            let z = deviations(tail);
            (-self.loss(z), -self.loss(-z))
        }
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let (mu, rate) = (self.mu, self.rate);
        // List the edges in ascending order of outputs. For an added record, the loss has the
        // opposite sign. So take the edges of the grid in reverse order.
        let edge = |i: usize| match self.removed {
            true => self.output(grid.edge(i)),
            false => self.output(-grid.edge(grid.count - i)),
        };
        let limit = LIMIT + mu;
        let edges: Vec<f64> = (0..=grid.count).map(|i| edge(i).clamp(-LIMIT, limit)).collect();
        let mut p = Vec::with_capacity(grid.count);
        let mut q = Vec::with_capacity(grid.count);
        for pair in edges.windows(2) {
            let (centre, width) = ((pair[0] + pair[1]) / 2.0, pair[1] - pair[0]);
            let without = if width > 0.0 { mass(centre, width) } else { 0.0 };
            let with = if width > 0.0 { mass(centre - mu, width) } else { 0.0 };
            p.push((1.0 - rate) * without + rate * with);
            q.push(without);
        }
        let (low, high) = (edge(0), edge(grid.count));
        let tails = |x: f64, sign: f64| {
            (1.0 - rate) * upper_tail(sign * x) + rate * upper_tail(sign * (x - mu))
        };
        let (mut below, mut above) = (tails(low, -1.0), tails(high, 1.0));
        if !self.removed {
            std::mem::swap(&mut p, &mut q);
            p.reverse();
            q.reverse();
            below = upper_tail(high);
            above = upper_tail(-low);
        }
        // An edge y is a float, and the same edge is used for P and Q. Let u be the unit roundoff.
        // The centre of a bucket is off by 4 u (|y| + mu). The loss at y differs from the loss at
        // the edge of the grid by the errors of exp_m1, ln and the products. `shift` bounds this
        // difference.
        let relative = MASS_ERROR + 16.0 * U * limit * (limit + mu);
        let reach = grid.edge(0).abs().max(grid.edge(grid.count).abs());
        let shift = 256.0 * U * (1.0 + reach + mu * (mu + limit.min(reach / mu + 40.0)));
        Buckets {
            p,
            q,
            at_edges: Vec::new(),
            doubtful: Vec::new(),
            below: below * (1.0 + 2.0 * relative) + 1e-300,
            above: above * (1.0 + 2.0 * relative) + 1e-300,
            surely_above: above * (1.0 - 2.0 * relative),
            relative,
            shift,
        }
    }
    fn tilted(&self, tilt: f64, highest: f64) -> Option<Box<dyn Tilted>> {
        Some(Box::new(TiltedSample::new(self.mu, self.rate, self.removed, tilt, highest)?))
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(SampledGaussianPair { removed: !self.removed, ..*self }))
    }
    fn in_either_direction(&self) -> Option<Arc<dyn DominatingPair>> {
        let pair = GaussianPair { mu: self.mu };
        Some(Arc::new(FixedSizePair::of(Arc::new(pair), self.rate)))
    }
}
