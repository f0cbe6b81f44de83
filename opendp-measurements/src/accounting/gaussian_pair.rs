//! Pairs for Gaussian noise, without sampling and on a Poisson sample.

use std::sync::Arc;

use opendp_core::arith::Directed;

use super::elementary::{U, ln};
use super::normal_mass::{LIMIT, MASS_ERROR, mass, upper_tail};
use super::pair::{Buckets, DominatingPair, Grid, LogConcaveNoise};
use super::sampled_pair::{FixedSizePair, ln_unmixed, mixed};
use super::sampled_transform::TiltedSample;
use super::transform::{Tilted, TiltedGaussian};
use crate::collected::Collected;

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
    /// A loss divided by `mu` is a normal number of variance 1. Its mean is `mu / 2` under `P`, and
    /// `-mu / 2` under `Q`. The quotients of the edges and `mu` are rounded to floats. The same
    /// floats are used for `P` and for `Q`. So this rounding is an error of the losses, and not an
    /// error of the masses.
    ///
    /// A step of the grid can be much larger than `mu`. Then even the edges next to the loss 0 are
    /// far from both means. Beyond the distance `limit` from 0, the masses under `P` and under `Q`
    /// are negligible. So the magnitude of each quotient is cut at `limit`.
    ///
    /// # Errors of the masses
    /// Let `u` be the unit roundoff, `N` a standard normal number, and `phi` its density. Let `a`
    /// and `b` be the ends of a bucket, minus one of the means. Then the mass of the bucket is
    /// `P[a <= N <= b]`. Let `c` be the centre, `w = b - a`, and `m = max(1, |c|)`. Let `f` be at
    /// least `|a|` and `|b|`.
    ///
    /// *Centre.* The computed centre is off by at most `2 u (f + mu / 2)`. If both ends move by `d`
    /// in one direction, the logarithm of the mass changes by at most `f d`. So the mass changes by
    /// at most `u f (2 f + mu)`, relative to the mass.
    ///
    /// *Width.* The width is off by at most `u w`, so each end moves by at most `u w / 2`.
    ///
    /// *Ends.* If `m w > 1/8`, the function `mass` computes both ends. Rounding moves an end `x` by
    /// at most `u |x|`.
    ///
    /// Let `r = (phi(a) + phi(b)) / P[a <= N <= b]`. If each end moves by at most `d`, the mass
    /// changes by at most `d r`, relative to the mass. Let `a >= 0`. The logarithm of `phi` is
    /// concave. So the mass is at least the integral of the exponential function that equals `phi`
    /// at both ends, and `r <= c coth(w c / 2) <= c + 2 / w`. So the error of the width changes the
    /// mass by at most `u (1 + f^2)`. If `m w > 1/8`, `r` is at most `17 m`, so the rounding of the
    /// ends changes the mass by at most `17 u f (1 + f)`. By symmetry, these bounds also hold if
    /// `b <= 0`.
    ///
    /// Now let 0 be between the ends. If `|a|` and `|b|` are at most 1, `phi` is concave between
    /// the ends, so `w r / 2 <= 1`. Otherwise, the mass is above 0.34. For all `x`, `x phi(x) <
    /// 1/4` and `phi(x) < 0.4`, so `w r / 2 <= 2 + f`. So the error of the width changes the mass
    /// by at most `u (2 + f)`. If `m w > 1/8`, the mass is above 0.049, so the rounding of the ends
    /// changes the mass by at most `11 u`.
    ///
    /// In both cases, the changes add up to less than `20 u (1 + f) (1 + f + mu)`. Without the
    /// rounding of the ends, the changes add up to less than `4 u (1 + f) (1 + f + mu)`.
    fn buckets(&self, grid: &Grid) -> Buckets {
        let (mu, mean) = (self.mu, self.mu / 2.0);
        let limit = LIMIT + mean;
        let edge = |i: usize| (grid.edge(i) / mu).max(-limit).min(limit);
        let edges: Vec<f64> = (0..=grid.count).map(edge).collected();
        let masses = |mean: f64| {
            let pairs = edges.windows(2);
            pairs.map(|pair| mass((pair[0] + pair[1]) / 2.0 - mean, pair[1] - pair[0])).collected()
        };
        let (low, high) = (edge(0) - mean, edge(grid.count) - mean);
        let furthest = low.abs().max(high.abs()).min(LIMIT) + mu;
        // If `narrow` is true, the function `mass` uses its series for every bucket. Then it does
        // not compute the two ends of the bucket, so the rounding error is smaller.
        let narrow = furthest.max(1.0) * grid.step <= 0.124 * mu;
        let factor = if narrow { 4.0 } else { 20.0 };
        let relative = MASS_ERROR + factor * U * (1.0 + furthest) * (1.0 + furthest + mu);
        Buckets {
            p: masses(mean),
            q: masses(-mean),
            at_edges: Vec::new(),
            doubtful: Vec::new(),
            below: upper_tail(-low) * (1.0 + 2.0 * relative) + 1e-300,
            above: upper_tail(high) * (1.0 + 2.0 * relative) + 1e-300,
            surely_above: upper_tail(high) * (1.0 - 2.0 * relative),
            relative,
            shift: 2.0 * U * mu * limit,
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
/// Let `q` be the rate, and `mu` the sensitivity divided by the standard deviation of the noise.
/// The unit of the outputs is the standard deviation of the noise. The removal of a record changes
/// the law `(1 - q) N(0, 1) + q N(mu, 1)` of the output into `N(0, 1)`. The addition of a record
/// does the reverse (Zhu, Dong, Wang 2022, Theorem 11).
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
    /// Return the output `y` that has a given loss for a removed record. The computed output has a
    /// rounding error, so its loss differs slightly from `loss`. The field `shift` of the buckets
    /// bounds this difference.
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
        let edges: Vec<f64> = (0..=grid.count).map(|i| edge(i).clamp(-LIMIT, limit)).collected();
        let mut p = Vec::with_capacity(grid.count);
        let mut q = Vec::with_capacity(grid.count);
        for pair in edges.windows(2) {
            let (centre, width) = ((pair[0] + pair[1]) / 2.0, pair[1] - pair[0]);
            // Losses near `ln(1 - q)` belong to outputs that are far from both means. If the low
            // edge is cut at `-LIMIT`, the mass is the whole mass below the high edge.
            let mass_at = |mean: f64| match pair {
                _ if !(0.0 < width) => 0.0,
                [low, high] if *low <= -LIMIT => upper_tail(mean - high),
                _ => mass(centre - mean, width),
            };
            let (without, with) = (mass_at(0.0), mass_at(mu));
            p.push((1.0 - rate) * without + rate * with);
            q.push(without);
        }
        // The distance from the means to the furthest edge that is not cut at `-LIMIT`.
        let inner = || edges.iter().filter(|y| -LIMIT < **y);
        let distance = |y: &f64| y.abs().max((y - mu).abs());
        let furthest = inner().next().map_or(0.0, distance);
        let furthest = inner().next_back().map_or(0.0, distance).max(furthest);
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
        // An edge y is a float, and the same edge is used for P and Q. So the proof at
        // `GaussianPair` bounds the errors of the masses, with |y| and |y - mu| of at most
        // `furthest`. A mass below an edge is a tail. If its argument x moves by u |x|, it changes
        // by at most u |x| (1 + |x|), relative to the tail. So the same bound holds.
        // The functions exp_m1 and ln and the products have errors. So the loss at y differs from
        // the loss at the edge of the grid. `shift` bounds this difference.
        let relative = MASS_ERROR + 20.0 * U * (1.0 + furthest) * (1.0 + furthest + mu);
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

#[cfg(test)]
mod tests {
    use super::super::discrete_loss::DiscreteLoss;
    use super::super::elementary::exp_m1;
    use super::super::gaussian_delta;
    use super::*;

    fn delta(measure: &DiscreteLoss, epsilon: f64, shift: f64) -> f64 {
        let masses = measure.mass.iter().enumerate();
        let losses = masses.map(|(i, mass)| (mass, measure.loss(i) + shift));
        let above = losses.filter(|(_, loss)| epsilon < *loss);
        measure.infinite + above.map(|(mass, x)| mass * -exp_m1(epsilon - x)).sum::<f64>()
    }

    /// A step of the grid can be a billion times `mu`. Then the edges of a bucket are far from both
    /// means. The two masses of a bucket differ only by about `mu`.
    #[test]
    fn both_measures_of_a_small_mu_bound_delta_for_every_step() {
        let cases = [1e-6, 1e-9, 1e-12, 1.0].into_iter().flat_map(|mu| {
            let steps = [0.01 * mu, mu, 1e3 * mu, 1e6 * mu, 1e-3, 0.01, 0.1, 1.0, 100.0];
            steps.into_iter().filter(|step| *step <= 100.0).map(move |step| (mu, step))
        });
        for (mu, step) in cases {
            for tail in [1e-300, 1e-15] {
                let pair = GaussianPair { mu };
                let (low, high) = pair.range(tail);
                // Put the loss 0 inside of the grid.
                let grid = Grid::covering(step, low.min(-step), high.max(step));
                let buckets = pair.buckets(&grid);
                let above = DiscreteLoss::above(&buckets, &grid);
                let below = DiscreteLoss::below(&buckets, &grid);
                for epsilon in [0.0, 0.3 * mu, mu, 3.0 * mu, step / 2.0, step] {
                    let exact = gaussian_delta(mu, epsilon).unwrap();
                    let (upper, lower) =
                        (delta(&above, epsilon, above.shift), delta(&below, epsilon, -below.shift));
                    let name = format!("{mu} {step} {tail} {epsilon}: {lower} {exact:?} {upper}");
                    assert!(exact.lower <= upper && lower <= exact.upper, "{name}");
                    // At edges, the bound from above is exact up to the errors of the masses.
                    if epsilon == 0.0 || epsilon == step {
                        assert!(upper <= exact.upper * (1.0 + 1e-9) + 2e-11, "{name}");
                    }
                }
            }
        }
    }
    /// In the bucket that begins at the loss 548, the tail of `Q` falls below 1e-305.
    #[test]
    fn the_measure_bounds_delta_where_the_masses_of_the_second_distribution_end() {
        let pair = GaussianPair { mu: 20.0 };
        let grid = Grid::covering(2.0, 300.0, 690.0);
        let above = DiscreteLoss::above(&pair.buckets(&grid), &grid);
        for i in 0..=grid.count {
            let epsilon = grid.edge(i);
            let exact = gaussian_delta(pair.mu, epsilon).unwrap();
            let upper = delta(&above, epsilon, above.shift);
            assert!(exact.lower <= upper, "{epsilon}: {exact:?} {upper}");
        }
    }
}
