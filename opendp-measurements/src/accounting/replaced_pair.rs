//! Noise on a sample, with one replaced record.

use opendp_core::arith::shown;
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

/// The pair for noise on a sample of the records, if one record is replaced.
///
/// Noise is added to a value. Two distances bound how much one record can change this value. The
/// distance `added` applies if the record joins the sample. The distance `replaced` applies if
/// another record replaces the record in the sample. `replaced` is at most twice `added`. For some
/// sums, `replaced` is smaller than twice `added`. For a histogram under the L2 distance,
/// `replaced` is `sqrt(2)` times `added`. For a count of rows with a property, `replaced` equals
/// `added`.
///
/// # Theorem
/// Let `T` be the sampled records other than the replaced record, and `q` the rate. Let `M0` be the
/// mechanism on `T`. Let `M1` be the mechanism on `T` and the replaced record, and `M2` the
/// mechanism on `T` and the replacing record. On each of the two neighbours, the release is a
/// mixture over all `T`. For each `T`, the part of the mixture is `P = (1-q) M0 + q M1` for the
/// first neighbour, and `Q = (1-q) M0 + q M2` for the second neighbour. The hockey-stick divergence
/// `H_alpha(P, Q)` is the integral of `(P - alpha Q)+`, where `z+` is the larger of `z` and 0. The
/// divergence of the two mixtures is at most the largest `H_alpha(P, Q)` over all `T`. Let
/// `alpha >= 1` and `c = (alpha - 1)(1 - q)`. Then `H_alpha(P, Q)` is the integral of
/// `(q M1 - c M0 - alpha q M2)+`. Split `q = k + l`. Then `H_alpha(P, Q)` is at most the integral
/// of `(k M1 - c M0)+` plus the integral of `(l M1 - alpha q M2)+`. Up to factors, these integrals
/// are divergences of `M1` from `M0` and of `M1` from `M2`. Let `p` be the density of the noise.
/// The first divergence is at most the divergence for a shift of `p` by `added`. The second
/// divergence is at most the divergence for a shift of `p` by `replaced`.
///
/// Put the centre of the noise at 0 for `M1`, at `-added` for `M0` and at `-replaced` for `M2`.
/// Because `p` is log-concave, `p(y + added) / p(y)` and `p(y + replaced) / p(y)` do not increase
/// with `y`. So there are a split `q = k + l` and a number `y0` such that each of the three
/// expressions in `( )+` above is positive exactly at the outputs `y > y0`. So for these centres,
/// the sum of the two integrals of the split is `H_alpha(P, Q)`. For `alpha < 1`, exchange the two
/// records: `H_alpha(P, Q) = 1 - alpha + alpha H_(1 / alpha)(Q, P)`. So a `ReplacedPair` consists
/// of three parts. The first part is the positive losses of `P` and `Q`, for the centres above. The
/// second part is the mirror image of the first part: the opposite losses, with `P` and `Q`
/// exchanged. The third part is the remaining mass, at the loss 0. For noise on real numbers, this
/// remaining mass is `1 - q` times the probability that the magnitude of the noise is at most
/// `added - replaced / 2`.
///
/// For one release of one number, a `ReplacedPair` gives the smallest possible bound. If `replaced`
/// is twice `added`, the `ReplacedPair` is the pair of the two mixtures `P` and `Q`. Then the
/// `ReplacedPair` also gives the smallest bound for compositions. With
/// `alpha' = 1 + (alpha - 1) / q`, the fixed split `k = c / alpha'` gives the bound of advanced
/// joint convexity (Balle, Barthe, Gaboardi 2018).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplacedPair {
    noise: LogConcaveNoise,
    /// The distance for an added record. For noise on real numbers, the distance is divided by the
    /// scale.
    added: f64,
    /// The distance for a replaced record, in the same unit as `added`. This distance is at most
    /// twice `added`.
    replaced: f64,
    rate: f64,
}

impl ReplacedPair {
    /// The largest allowed distance, as a multiple of the scale. For larger distances, exponentials
    /// of losses can be too large for floats.
    const LONGEST: f64 = 300.0;
    /// The largest allowed distance for discrete Gaussian noise, as a multiple of the scale. The
    /// limit does not depend on the rate.
    const LONGEST_DISCRETE: f64 = 8.0;

    /// Make the pair of noise on a Poisson sample. For noise on real numbers (`Gaussian` and
    /// `Laplace`), `added` and `replaced` are distances divided by the scale. For noise on
    /// integers, `added` and `replaced` are the distances themselves. The method
    /// [`shift`](DominatingPair::shift) returns distances in these units.
    ///
    /// # Errors
    /// `InvalidDistance` when an argument is out of range. A distance, divided by the scale, must
    /// be from `1e-9` to 300. For discrete Gaussian noise, this quotient must be at most 8, and the
    /// scale must be at most [`MAX_SCALE`](DiscreteGaussianPair::MAX_SCALE). For noise on integers,
    /// the distances must be integers up to 65536. The rate must be above 0 and below 1.
    pub fn poisson(noise: LogConcaveNoise, added: f64, replaced: f64, rate: f64) -> Result<Self> {
        // Three numbers: the scale, the largest allowed quotient of a distance and the scale, and
        // the largest allowed scale (only for noise on integers).
        let (scale, longest, limit) = match noise {
            Gaussian | Laplace => (1.0, Self::LONGEST, None),
            DiscreteLaplace { scale } => (scale, Self::LONGEST, Some(f64::INFINITY)),
            DiscreteGaussian { scale } => {
                (scale, Self::LONGEST_DISCRETE, Some(DiscreteGaussianPair::MAX_SCALE))
            }
        };
        let usable = |distance: f64| (1e-9..=longest).contains(&(distance / scale));
        let usable = 0.0 < scale && usable(added) && usable(replaced);
        if !(usable && 0.0 < rate && rate < 1.0) {
            let (added, replaced, rate) = (shown(added), shown(replaced), shown(rate));
            return Err(Error::InvalidDistance(format!(
                "expected distances from 1e-9 to {longest} times the scale, and a rate between 0 \
                 and 1, found {added}, {replaced} and {rate}"
            )));
        }
        let integer = |distance: f64| distance.fract() == 0.0 && distance <= 65536.0;
        let fits = limit.is_none_or(|limit| integer(added) && integer(replaced) && scale <= limit);
        if !fits {
            let (added, replaced, scale) = (shown(added), shown(replaced), shown(scale));
            return Err(Error::InvalidDistance(format!(
                "expected integers of at most 65536 as distances, and a scale of at most 65536 for \
                 discrete Gaussian noise, found the distances {added} and {replaced} and the scale \
                 {scale}"
            )));
        }
        // A larger `replaced` gives a larger bound, so it is safe to increase `replaced`. For
        // Gaussian noise, the search for outputs fails if `replaced` is much smaller than `added`.
        let least = if noise == Gaussian { added / 1024.0 } else { 0.0 };
        Ok(ReplacedPair { noise, added, replaced: replaced.clamp(least, 2.0 * added), rate })
    }
    /// Make the pair of Gaussian noise on a Poisson sample. Each record is in the sample with
    /// probability `rate`.
    ///
    /// Give both distances in units of the standard deviation of the noise. If `replaced` is more
    /// than twice `added`, the pair uses twice `added` in place of `replaced`.
    ///
    /// # Errors
    /// `InvalidDistance` when a distance is not from `1e-9` to 300, or the rate is not above 0 and
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
    /// Make the pair of Laplace noise on a Poisson sample. Give the distances in units of the
    /// scale.
    ///
    /// # Errors
    /// The errors of [`poisson_gaussian`](Self::poisson_gaussian).
    pub fn poisson_laplace(added: f64, replaced: f64, rate: f64) -> Result<Self> {
        Self::poisson(Laplace, added, replaced, rate)
    }
    /// Make the pair of Gaussian noise on a sample of a fixed number of records. The sample
    /// contains the share `rate` of all records.
    ///
    /// If the replaced record is not in the sample, another record is in its place. So a sample
    /// with the replaced record and a sample without this record also differ by one replacement. So
    /// `added` is the same distance as `replaced` (Zhu, Dong, Wang 2022, Theorem 11).
    ///
    /// # Errors
    /// The errors of [`poisson_gaussian`](Self::poisson_gaussian).
    pub fn fixed_size_gaussian(replaced: f64, rate: f64) -> Result<Self> {
        Self::poisson_gaussian(replaced, replaced, rate)
    }
    /// Make the pair of Laplace noise on a sample of a fixed number of records. The sample contains
    /// the share `rate` of all records.
    ///
    /// # Errors
    /// The errors of [`poisson_gaussian`](Self::poisson_gaussian).
    pub fn fixed_size_laplace(replaced: f64, rate: f64) -> Result<Self> {
        Self::poisson_laplace(replaced, replaced, rate)
    }

    /// Return whether the noise is on real numbers.
    pub(super) fn is_real(&self) -> bool {
        matches!(self.noise, Gaussian | Laplace)
    }
    /// Let `q` be the rate. Let `e^x` be the likelihood of an output with a record, divided by the
    /// likelihood of the output without a record. Return `1 - q + q e^x`.
    fn mixed(&self, x: f64) -> f64 {
        (1.0 - self.rate) + self.rate * exp(x.min(700.0))
    }
    /// Return the loss at an output. A likelihood ratio is the likelihood with a record divided by
    /// the likelihood without a record. The ratios are `e^with` for the record, and `e^other` for
    /// the replacing record.
    fn loss(&self, with: f64, other: f64) -> f64 {
        ln(self.mixed(with)) - ln(self.mixed(other))
    }
    /// Take three likelihoods of an output: without a record, with the record, and with the
    /// replacing record. Divide the second and the third likelihood by the first. Return the
    /// logarithms of the two quotients. The centre of the noise is at 0 without a record, at
    /// `added` with the record, and at `added - replaced` with the replacing record.
    fn ratios(&self, y: f64) -> (f64, f64) {
        let bent = |shift: f64| y.abs() - (y - shift).abs();
        let smooth = |shift: f64| shift * y - shift * shift / 2.0;
        let ratio = |shift: f64| match self.noise {
            Gaussian => smooth(shift),
            Laplace => bent(shift),
            DiscreteLaplace { scale } => bent(shift) / scale,
            DiscreteGaussian { scale } => smooth(shift) / (scale * scale),
        };
        (ratio(self.added), ratio(self.added - self.replaced))
    }
    fn loss_at(&self, y: f64) -> f64 {
        let (with, other) = self.ratios(y);
        self.loss(with, other)
    }
    /// Return the largest loss, if the losses are bounded.
    fn largest(&self) -> Option<f64> {
        match self.noise {
            Gaussian | DiscreteGaussian { .. } => None,
            Laplace | DiscreteLaplace { .. } => Some(self.loss_at(self.added)),
        }
    }

    /// Split the rate into the parts `k` and `l` of the theorem at [`ReplacedPair`]. Return `k`.
    /// The result is approximate. Epsilon must be at least 0.
    pub(super) fn split(&self, epsilon: f64) -> f64 {
        // Search from the output of loss 0 upward. If losses are bounded, the search ends at the
        // output of the largest loss. Otherwise, the search ends at an output beyond which the mass
        // of the noise is negligible.
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
            // The outputs at the edges of buckets are rounded to floats. The masses of all three
            // distributions are computed from the same rounded outputs. So this rounding is an
            // error of the losses, and not an error of the masses. The proof of the other errors is
            // at `GaussianPair`.
            Gaussian => MASS_ERROR + 20.0 * U * (1.0 + limit) * (1.0 + limit + self.added),
            Laplace => ERROR + 64.0 * U + 4.0 * U * self.added,
            DiscreteLaplace { scale } => U * (512.0 + 16.0 * self.added / scale),
            DiscreteGaussian { .. } => U * 8192.0,
        };
        let reach = grid.step * count as f64;
        // The largest loss. Discrete Gaussian noise has no largest loss, so use the loss at an
        // output where the noise is negligible. For continuous Gaussian noise, the value does not
        // matter, because the method `gaussian` replaces `shift`.
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
            // If `replaced` is at most 2, the pair has only one positive loss.
            DiscreteLaplace { .. } if self.replaced <= 2.0 => self.largest(),
            DiscreteLaplace { .. } => None,
        }
    }
    fn most(&self) -> f64 {
        self.largest().map_or(f64::INFINITY, |largest| largest * (1.0 + 256.0 * U) + 256.0 * U)
    }
}

#[cfg(test)]
mod tests;
