//! Noise on a sample, for one replaced record.

use opendp_core::{Error, Result};

use super::DiscreteGaussianPair;
use super::elementary::{U, exp, exp_m1, ln};
use super::gaussian_pair::deviations;
use super::laplace_pair::ERROR;
use super::mirror::Mirror;
use super::normal_mass::{LIMIT, MASS_ERROR};
use super::pair::LogConcaveNoise::{self, DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace};
use super::pair::{Buckets, DominatingPair, Grid};

mod noises;

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
/// `(k M1 - c M0)+` plus the integral of `(l M1 - alpha q M2)+`. These are divergences of `M1` from
/// `M0` and from `M2`. They are at most the divergences of the shift by `added` and by `replaced`
/// of one noise with density `p`.
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
        // A larger distance is safe. For Gaussian noise the search needs a `replaced` that is not
        // much smaller than `added`.
        let least = if noise == Gaussian { added / 1024.0 } else { 0.0 };
        Ok(ReplacedPair { noise, added, replaced: replaced.clamp(least, 2.0 * added), rate })
    }
    /// Make the pair of Gaussian noise on a Poisson sample: each record is in it with probability
    /// `rate`.
    ///
    /// The distances are divided by the standard deviation. The distance of a replaced record is
    /// capped at twice the distance of an added record.
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

    /// Return nearly the share `k` of the rate, as in the theorem, for the added record, at an
    /// epsilon of at least 0.
    pub(super) fn split(&self, epsilon: f64) -> f64 {
        // From the output of loss 0 to the output of the largest loss, or to where the noise is
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
