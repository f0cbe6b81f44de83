//! The distribution of one noise.

use opendp_core::Result;
use opendp_core::arith::Directed;

use crate::tails::{
    discrete_gaussian_tail, discrete_laplacian_tail, gaussian_tail, laplacian_tail,
};
use crate::{
    Scale,
    accuracy::{gaussian_accuracy, laplace_accuracy},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Laplace,
    Gaussian,
    DiscreteLaplace,
    DiscreteGaussian,
}
impl Kind {
    pub(super) fn is_discrete(self) -> bool {
        matches!(self, Kind::DiscreteLaplace | Kind::DiscreteGaussian)
    }
    pub(super) fn is_laplace(self) -> bool {
        matches!(self, Kind::Laplace | Kind::DiscreteLaplace)
    }
}

/// The distribution of the difference between a released number and the true number.
///
/// If the release is cut off at bounds, or at the ends of an integer type, use
/// [`cut_off`](Noise::cut_off).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    pub(super) kind: Kind,
    pub(super) scale: f64,
    pub(super) cut: bool,
    /// A bound on an additional error, for example from rounding to a lattice.
    pub(super) slack: f64,
}
impl Noise {
    fn new(kind: Kind, scale: Scale) -> Self {
        Noise { kind, scale: scale.value(), cut: false, slack: 0.0 }
    }
    /// Build noise with the density `exp(-|z| / scale) / (2 scale)`.
    pub fn laplace(scale: Scale) -> Self {
        Noise::new(Kind::Laplace, scale)
    }
    /// Build noise with a normal distribution of standard deviation `scale`.
    pub fn gaussian(scale: Scale) -> Self {
        Noise::new(Kind::Gaussian, scale)
    }
    /// Build integer noise with probabilities proportional to `exp(-|z| / scale)`. This noise is
    /// also called geometric noise.
    pub fn discrete_laplace(scale: Scale) -> Self {
        Noise::new(Kind::DiscreteLaplace, scale)
    }
    /// Build integer noise with probabilities proportional to `exp(-z^2 / (2 scale^2))`.
    pub fn discrete_gaussian(scale: Scale) -> Self {
        Noise::new(Kind::DiscreteGaussian, scale)
    }
    /// Declare that a release beyond some bounds is replaced by the nearest bound. The true number
    /// must be within the bounds.
    ///
    /// With this replacement, the error of the release is between 0 and the noise. For one release,
    /// the magnitude of the error is at most the magnitude of the noise. So each bound on the noise
    /// also bounds the error. In a sum, all errors can have the same sign. For example, if all true
    /// numbers are at the lower bound, no error is negative. In this example, the means of the
    /// errors do not cancel, but add up. A sum of errors is at most the sum of the positive parts
    /// of the noises. The negative of the sum of errors is at most the sum of the negative parts.
    /// By symmetry, the sum of the negative parts has the same distribution as the sum of the
    /// positive parts. Both bounds hold for all true numbers.
    #[must_use]
    pub fn cut_off(mut self) -> Self {
        self.cut = true;
        self
    }
    /// Declare an additional error whose magnitude is at most `slack`, for example an error from
    /// rounding to a lattice. This error can depend on the noise. A second call replaces the bound
    /// of the first call.
    #[must_use]
    pub fn and_at_most(mut self, slack: f64) -> Self {
        self.slack = slack.abs();
        self
    }
    /// Return the bound on the additional error, for example from rounding to a lattice.
    pub fn slack(&self) -> f64 {
        self.slack
    }
    /// Find a `t` with `P[|Z| > t] <= alpha`. Here `Z` is the noise plus the additional error.
    /// Without an additional error, the result is close to the least such `t`.
    ///
    /// # Errors
    /// `InvalidDistance` when `alpha` is not in `(0, 1]`; `Overflow` when `t` exceeds all floats.
    pub fn quantile(&self, alpha: f64) -> Result<f64> {
        super::check(alpha)?;
        let scale = Scale::new(self.scale)?;
        let noise = match self.kind {
            Kind::Laplace => laplace_accuracy::negative_ln(alpha)?.inf_mul(self.scale)?,
            Kind::Gaussian => gaussian_accuracy::quantile(alpha)?.inf_mul(self.scale)?,
            Kind::DiscreteLaplace => laplace_accuracy::discrete_accuracy(scale, alpha)?,
            Kind::DiscreteGaussian => gaussian_accuracy::discrete_accuracy(scale, alpha)?,
        };
        noise.max(0.0).inf_add(self.slack)
    }
    /// Return an upper bound on `P[|Z| > t]`. Here `Z` is the noise plus the additional error.
    ///
    /// # Errors
    /// `Overflow` when `t` is not finite, or when the difference of `t` and the bound on the
    /// additional error does not fit a float.
    pub fn beyond(&self, t: f64) -> Result<f64> {
        let t = t.neg_inf_sub(self.slack)?;
        if t < 0.0 {
            return Ok(1.0);
        }
        if self.scale == 0.0 {
            return Ok(0.0);
        }
        let scale = Scale::new(self.scale)?;
        // If `floor(t) + 1` is not a float, this sum is rounded down. The tail at a smaller number
        // is larger, so the result is still an upper bound.
        let next = t.floor().neg_inf_add(1.0)?;
        let tail = match self.kind {
            Kind::Laplace => laplacian_tail(scale, t)?,
            Kind::Gaussian => gaussian_tail(scale, t)?,
            Kind::DiscreteLaplace => discrete_laplacian_tail(scale, next)?,
            Kind::DiscreteGaussian => discrete_gaussian_tail(scale, next)?,
        };
        Ok((2.0 * tail).min(1.0))
    }
    /// Estimate the variance of the noise.
    pub(super) fn variance(&self) -> f64 {
        let square = self.scale * self.scale;
        if self.kind.is_laplace() { 2.0 * square } else { square }
    }
}
