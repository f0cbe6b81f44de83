//! Noise on a sample, for one replaced record.

use opendp_core::{Error, Result};

use super::DiscreteGaussianPair;
use super::elementary::{U, exp, exp_m1, ln, sum};
use super::gaussian_pair::deviations;
use super::laplace_pair::{ERROR, exponential};
use super::mirror::Mirror;
use super::normal_mass::{LIMIT, MASS_ERROR, mass, upper_tail};
use super::pair::LogConcaveNoise::{self, DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace};
use super::pair::{Buckets, DominatingPair, Grid};

/// Noise on a sample of the records, when one record is replaced.
///
/// Two distances bound how far a record moves the value that the noise is added to: `added`, when
/// it joins the sample, and `replaced`, when another record takes its place there. The second is at
/// most twice the first, and smaller for some sums. For a histogram under the L2 distance it is
/// `sqrt(2)` times the first, and for a count of rows with a property it equals the first.
///
/// # Theorem
/// Let `T` be the other records of the sample, and `q` the rate. Let `M0`, `M1` and `M2` be the
/// mechanism on `T`, on `T` and the record, and on `T` and the replacing record. Releases on
/// neighbours are mixtures over `T` of `P = (1-q) M0 + q M1` and of `Q = (1-q) M0 + q M2`. The
/// hockey-stick divergence of mixtures is at most the largest divergence of their parts. For
/// `alpha >= 1`, with `c = (alpha - 1)(1 - q)`, it is the integral of
/// `(q M1 - c M0 - alpha q M2)+`. Split `q = k + l`. Then it is at most the integral of
/// `(k M1 - c M0)+` plus that of `(l M1 - alpha q M2)+`. These are divergences of `M1` from `M0`
/// and from `M2`. They are at most the divergences of the shift by `added` and by `replaced` of one
/// noise with density `p`.
///
/// Put that noise at 0 for `M1`, at `-added` for `M0` and at `-replaced` for `M2`. As `p` is
/// log-concave, `p(y + added) / p(y)` and `p(y + replaced) / p(y)` do not increase with `y`. So
/// there is a split for which all three positive parts are the outputs `y` above one common number.
/// So the bound is the divergence of exactly these `P` and `Q`. For `alpha < 1` it is the
/// divergence with the two records exchanged, by
/// `H_alpha(P, Q) = 1 - alpha + alpha H_(1 / alpha)(Q, P)`. So this pair consists of the positive
/// losses of the two mixtures, of their mirror image, and of the mass missing to 1 at the loss 0.
/// This missing mass is `1 - q` times the noise within `added - replaced / 2`.
///
/// For one release of one number this is the smallest possible bound. If `replaced` is twice
/// `added`, it is the pair of two mixtures, and also the smallest bound for compositions. The fixed
/// split `k = c / alpha'` with `alpha' = 1 + (alpha - 1) / q` is advanced joint convexity (Balle,
/// Barthe, Gaboardi 2018).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplacedPair {
    noise: LogConcaveNoise,
    /// In scales for real noise, in steps for integers.
    added: f64,
    /// In the same unit, at most twice `added`.
    replaced: f64,
    rate: f64,
}

impl ReplacedPair {
    /// The largest distance, in scales: larger ones have losses that are too large for floats.
    const LONGEST: f64 = 300.0;
    /// The largest distance, in scales, for discrete Gaussian noise, with or without a sample.
    const LONGEST_DISCRETE: f64 = 8.0;

    /// Make the pair of noise on a Poisson sample, with distances as in
    /// [`shift`](DominatingPair::shift).
    ///
    /// # Errors
    /// `InvalidDistance` unless the distances are from `1e-9` to 300 scales, or to 8 scales for
    /// discrete Gaussian noise of a scale up to [`MAX_SCALE`](DiscreteGaussianPair::MAX_SCALE);
    /// distances of integers are integers up to 65536; and the rate is above 0 and below 1.
    pub fn poisson(noise: LogConcaveNoise, added: f64, replaced: f64, rate: f64) -> Result<Self> {
        // The last number is the largest scale of noise on integers.
        let (scale, longest, most) = match noise {
            Gaussian | Laplace => (1.0, Self::LONGEST, None),
            DiscreteLaplace { scale } => (scale, Self::LONGEST, Some(f64::INFINITY)),
            DiscreteGaussian { scale } => {
                (scale, Self::LONGEST_DISCRETE, Some(DiscreteGaussianPair::MAX_SCALE))
            }
        };
        let usable = |distance: f64| (1e-9..=longest).contains(&(distance / scale));
        let usable = 0.0 < scale && usable(added) && usable(replaced);
        if !(usable && 0.0 < rate && rate < 1.0) {
            return Err(Error::InvalidDistance(format!(
                "expected distances from 1e-9 to {longest} scales and a rate between 0 and 1, found \
                 {added}, {replaced} and {rate}"
            )));
        }
        let integer = |distance: f64| distance.fract() == 0.0 && distance <= 65536.0;
        let fits = most.is_none_or(|most| integer(added) && integer(replaced) && scale <= most);
        if !fits {
            return Err(Error::InvalidDistance(format!(
                "expected integers of at most 65536 as distances, found {added} and {replaced}, and \
                 a scale of at most 65536 for discrete Gaussian noise"
            )));
        }
        // A larger distance is safe. For Gaussian noise the search needs it to be not much smaller.
        let least = if noise == Gaussian { added / 1024.0 } else { 0.0 };
        Ok(ReplacedPair { noise, added, replaced: replaced.clamp(least, 2.0 * added), rate })
    }
    /// Make the pair of Gaussian noise on a Poisson sample: each record is in it with probability
    /// `rate`.
    ///
    /// The distances are divided by the standard deviation. The distance of a replaced record is
    /// capped at twice that of an added one.
    ///
    /// # Errors
    /// `InvalidDistance` unless the distances are from `1e-9` to 300, and the rate is above 0 and
    /// below 1.
    ///
    /// ```
    /// use opendp_measurements::accounting::{Account, ReplacedPair};
    /// use std::sync::Arc;
    /// // Sums of vectors of length 1 over 1 % of the rows. The noise has standard deviation 1.
    /// let pair = ReplacedPair::poisson_gaussian(1.0, 2.0, 0.01)?;
    /// let epsilon = Account::new().with(Arc::new(pair), 1000).epsilon(1e-5)?;
    /// assert!(epsilon.lower <= epsilon.upper && epsilon.upper < epsilon.lower * 1.01);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn poisson_gaussian(added: f64, replaced: f64, rate: f64) -> Result<Self> {
        Self::poisson(Gaussian, added, replaced, rate)
    }
    /// Make the pair of Laplace noise on a Poisson sample. The distances are divided by the scale.
    ///
    /// # Errors
    /// As [`poisson_gaussian`](Self::poisson_gaussian).
    pub fn poisson_laplace(added: f64, replaced: f64, rate: f64) -> Result<Self> {
        Self::poisson(Laplace, added, replaced, rate)
    }
    /// Make the pair of Gaussian noise on a sample of a fixed number of records, the share `rate`
    /// of all.
    ///
    /// Without the record, another one is in its place. So `M0` is a neighbour by replacement as
    /// well, and there is only one distance (Zhu, Dong, Wang 2022, Theorem 11).
    ///
    /// # Errors
    /// As [`poisson_gaussian`](Self::poisson_gaussian).
    pub fn fixed_size_gaussian(replaced: f64, rate: f64) -> Result<Self> {
        Self::poisson_gaussian(replaced, replaced, rate)
    }
    /// Make the pair of Laplace noise on a sample of a fixed number of records, the share `rate` of
    /// all.
    ///
    /// # Errors
    /// As [`poisson_gaussian`](Self::poisson_gaussian).
    pub fn fixed_size_laplace(replaced: f64, rate: f64) -> Result<Self> {
        Self::poisson_laplace(replaced, replaced, rate)
    }

    /// Whether the noise is on real numbers.
    pub(super) fn is_real(&self) -> bool {
        matches!(self.noise, Gaussian | Laplace)
    }
    /// Return `1 - q + q e^x`, where `e^x` is the likelihood ratio of the mixture's two parts.
    fn mixed(&self, x: f64) -> f64 {
        (1.0 - self.rate) + self.rate * exp(x.min(700.0))
    }
    /// Return the loss at likelihood ratios `e^with` and `e^other` of the two records to no record.
    fn loss(&self, with: f64, other: f64) -> f64 {
        ln(self.mixed(with)) - ln(self.mixed(other))
    }
    /// Return the logarithms of the likelihood ratios of an output. Noise without the record is
    /// at 0.
    fn ratios(&self, y: f64) -> (f64, f64) {
        let bent = |at: f64| y.abs() - (y - at).abs();
        let smooth = |at: f64| at * y - at * at / 2.0;
        let ratio = |at: f64| match self.noise {
            Gaussian => smooth(at),
            Laplace => bent(at),
            DiscreteLaplace { scale } => bent(at) / scale,
            DiscreteGaussian { scale } => smooth(at) / (scale * scale),
        };
        (ratio(self.added), ratio(self.added - self.replaced))
    }
    fn loss_at(&self, y: f64) -> f64 {
        let (with, other) = self.ratios(y);
        self.loss(with, other)
    }
    /// Return the largest loss, if there is one.
    fn largest(&self) -> Option<f64> {
        match self.noise {
            Gaussian | DiscreteGaussian { .. } => None,
            Laplace | DiscreteLaplace { .. } => Some(self.loss_at(self.added)),
        }
    }

    /// Find an output of normal noise for each loss `k * step`, from below, for `k` up to `count`,
    /// and a bound on its error, as a loss.
    ///
    /// With `other = added - replaced` an output of the loss `x` is a zero of
    /// `f(y) = added y - added^2 / 2 - x - ln(b + e^(other y - other^2 / 2))`, where
    /// `b = (1 / q - 1)(1 - e^-x)`. If `f(y)` is `r`, the loss at `y` is within `|r|` of `x`. The
    /// slope is between `added` and `replaced`, or `added - other`, and the second derivative is at
    /// most `other^2 / 4`. So after one Newton step from `y` the remaining error is at most
    /// `f(y)^2 other^2 / 8` divided by the square of the smallest slope.
    fn outputs(&self, step: f64, count: usize) -> (Vec<f64>, f64) {
        let (added, other) = (self.added, self.added - self.replaced);
        let odds = (1.0 - self.rate) / self.rate;
        let curved = (other / added.min(self.replaced)).powi(2) / 8.0;
        let end = LIMIT + added;
        let mut y = (added + other) / 2.0;
        let (mut outputs, mut off, mut by) = (vec![y.min(end)], 0.0f64, 0.0);
        for k in 1..=count {
            let x = k as f64 * step;
            let b = -odds * exp_m1(-x);
            let (start, before) = (y, y);
            y = start + by;
            let mut left = f64::INFINITY;
            for _ in 0..100 {
                let exponent = other * y - other * other / 2.0;
                let most = exponent.max(0.0);
                let (one, two) = (b * exp(-most), exp(exponent - most));
                let f = added * y - added * added / 2.0 - x - most - ln(one + two);
                y = (y - f / (added - other * two / (one + two))).max(before);
                left = f * f * curved;
                if left <= U * (1.0 + x) {
                    break;
                }
            }
            by = y - start;
            if !(y < end) {
                // There is no mass beyond this output.
                outputs.resize(count + 1, end);
                break;
            }
            off = off.max(left);
            outputs.push(y);
        }
        let last = outputs.last().copied().unwrap_or(end);
        let reach = step * count as f64 + added * (added + last);
        (outputs, 2.0 * off + 256.0 * U * (1.0 + reach))
    }
    fn gaussian(&self, mirror: &mut Mirror<'_>, count: usize) {
        let (added, other, rate) = (self.added, self.added - self.replaced, self.rate);
        let (outputs, shift) = self.outputs(mirror.grid.step, count);
        mirror.buckets.shift = shift;
        let mixed = |without: f64, with: f64| (1.0 - rate) * without + rate * with;
        for (k, pair) in outputs.windows(2).enumerate() {
            let &[low, high] = pair else { continue };
            let (centre, width) = ((low + high) / 2.0, high - low);
            if 0.0 < width {
                let without = mass(centre, width);
                let p = mixed(without, mass(centre - added, width));
                mirror.piece(k, p, mixed(without, mass(centre - other, width)));
            }
        }
        let last = outputs.last().copied().unwrap_or(LIMIT + added);
        let tail = |at: f64| upper_tail(last - at);
        mirror.piece(count, mixed(tail(0.0), tail(added)), mixed(tail(0.0), tail(other)));
        mirror.buckets.above += 1e-300;
        mirror.buckets.below += 1e-300;
        mirror.rest((1.0 - rate) * mass(0.0, added + other));
    }
    /// At loss `x` without sampling, the likelihood with the replacing record is a constant times
    /// the likelihood without a record, as long as the loss with sampling is positive.
    fn laplace(&self, mirror: &mut Mirror<'_>, count: usize) {
        let (end, other, rate) = (self.added, self.added - self.replaced, self.rate);
        let share = self.mixed(other);
        let least = ln(share);
        let mut off = 0.0f64;
        let mut place = |loss: f64| {
            let ratio = 1.0 + exp_m1(loss + least) / rate;
            let x = ln(ratio).clamp(other, end);
            if x < end {
                off = off.max((self.loss(x, other) - loss).abs());
            }
            x
        };
        let mut low = other;
        for k in 0..count {
            let high = place((k + 1) as f64 * mirror.grid.step).max(low);
            let (with, without) = exponential(end, low, high);
            mirror.piece(k, (1.0 - rate) * without + rate * with, share * without);
            low = high;
        }
        let (with, without) = exponential(end, low, end);
        mirror.piece(count, (1.0 - rate) * without + rate * with, share * without);
        let without = 0.5 * exp(-end);
        mirror.atom(self.loss(end, other), (1.0 - rate) * without + rate * 0.5, share * without);
        mirror.rest((1.0 - rate) * -exp_m1(-(end + other) / 2.0));
        mirror.buckets.shift += off;
    }
    fn discrete_laplace(&self, mirror: &mut Mirror<'_>, scale: f64) {
        let (last, rate) = (self.added, self.rate);
        let ratio = exp(-1.0 / scale);
        let top = -exp_m1(-1.0 / scale) / (1.0 + ratio);
        let middle = last - self.replaced / 2.0;
        let mut y = middle.floor() + 1.0;
        while y <= last {
            let (with, other) = self.ratios(y);
            // All outputs from the last one on have the same loss.
            let weight = if y < last { top } else { 1.0 / (1.0 + ratio) };
            let weight = weight * exp(-y / scale);
            let (p, q) = (weight * self.mixed(with), weight * self.mixed(other));
            mirror.atom(self.loss(with, other), p, q);
            y += 1.0;
        }
        // Up to the middle on either side. If it is an integer, both records have equal likelihood
        // there.
        let whole = middle.floor();
        let within = -exp_m1(-(whole + 1.0) / scale) - ratio * exp_m1(-whole / scale);
        let tie = if middle == whole { top * exp(-self.replaced / 2.0 / scale) } else { 0.0 };
        mirror.rest((1.0 - rate) * within / (1.0 + ratio) + rate * tie);
    }
    fn discrete_gaussian(&self, mirror: &mut Mirror<'_>, scale: f64) {
        let (added, other, rate) = (self.added, self.added - self.replaced, self.rate);
        let weight = |z: f64| exp(-(z / scale) * (z / scale) / 2.0);
        // Beyond this, the probabilities are below e^-700 each, and fall faster than geometrically.
        let reach = (LIMIT * scale).ceil() as i64 + 1;
        let weights: Vec<f64> = (0..=reach).map(|z| weight(z as f64)).collect();
        let total = 2.0 * sum(&weights) - 1.0;
        let at = |z: f64| weight(z) / total;
        let middle = added - self.replaced / 2.0;
        let whole = middle.floor();
        let mut y = whole + 1.0;
        while y <= reach as f64 + added {
            let without = (1.0 - rate) * at(y);
            mirror.atom(
                self.loss_at(y),
                without + rate * at(y - added),
                without + rate * at(y - other),
            );
            y += 1.0;
        }
        mirror.buckets.above += 1e-290;
        mirror.buckets.below += 1e-290;
        let within = 2.0 * sum(&weights[..=(whole as usize).min(weights.len() - 1)]) - 1.0;
        let tie = if middle == whole { at(self.replaced / 2.0) } else { 0.0 };
        mirror.rest((1.0 - rate) * within / total + rate * tie);
    }
    /// Return nearly the share `k` of the rate, as in the theorem, for the added record, at an
    /// epsilon of at least 0.
    pub(super) fn split(&self, epsilon: f64) -> f64 {
        // From the output of loss 0 to that of the largest loss, or to where the noise is
        // negligible.
        let mut low = self.added - self.replaced / 2.0;
        let mut high = match self.noise {
            Laplace | DiscreteLaplace { .. } => self.added,
            Gaussian => self.added + LIMIT,
            DiscreteGaussian { scale } => self.added + LIMIT * scale,
        };
        for _ in 0..64 {
            let middle = low + (high - low) / 2.0;
            if self.loss_at(middle) < epsilon { low = middle } else { high = middle }
        }
        let (with, _) = self.ratios(high);
        let without = exp_m1(epsilon.min(700.0)) * (1.0 - self.rate);
        (without * exp(-with)).clamp(0.0, self.rate)
    }
}

impl DominatingPair for ReplacedPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        let end = self.largest().unwrap_or_else(|| {
            let (sampled, all) = (deviations(tail / self.rate), deviations(tail));
            self.loss_at(match self.noise {
                DiscreteGaussian { scale } => {
                    (sampled * scale + self.added).max(all * scale).ceil() + 1.0
                }
                _ => (sampled + self.added).max(all),
            })
        });
        (-end, end)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let longest = (grid.first + grid.count as i64).max(-grid.first).max(1);
        let count = usize::try_from(longest).unwrap_or(grid.count);
        let limit = LIMIT + 2.0 * self.added;
        let relative = match self.noise {
            // As without replacement: an edge is a float, and the same for all three.
            Gaussian => MASS_ERROR + 16.0 * U * limit * (limit + self.added),
            Laplace => ERROR + 64.0 * U + 4.0 * U * self.added,
            DiscreteLaplace { scale } => U * (512.0 + 16.0 * self.added / scale),
            DiscreteGaussian { .. } => U * 8192.0,
        };
        let reach = grid.step * count as f64;
        // With a largest loss, or up to where the noise is negligible.
        let largest = match self.noise {
            DiscreteGaussian { scale } => self.loss_at(self.added + LIMIT * scale + 2.0),
            _ => self.largest().unwrap_or(0.0),
        };
        let shift = 256.0 * U * (1.0 + reach + largest + self.added.min(300.0));
        let mut mirror = Mirror { grid, buckets: Buckets::empty(grid, relative, shift) };
        match self.noise {
            Gaussian => self.gaussian(&mut mirror, count),
            Laplace => self.laplace(&mut mirror, count),
            DiscreteLaplace { scale } => self.discrete_laplace(&mut mirror, scale),
            DiscreteGaussian { scale } => self.discrete_gaussian(&mut mirror, scale),
        }
        mirror.buckets
    }
    fn unit(&self) -> Option<f64> {
        match self.noise {
            Gaussian | DiscreteGaussian { .. } => None,
            Laplace => self.largest(),
            // There is only one positive loss.
            DiscreteLaplace { .. } if self.replaced <= 2.0 => self.largest(),
            DiscreteLaplace { .. } => None,
        }
    }
    fn most(&self) -> f64 {
        self.largest().map_or(f64::INFINITY, |most| most * (1.0 + 256.0 * U) + 256.0 * U)
    }
}

#[cfg(test)]
mod tests;
