//! Pairs with atoms (outputs of positive probability): discrete noise, randomized response, and
//! listed distributions.

use std::{fmt, sync::Arc};

use opendp_core::arith::Directed;
use opendp_core::{Error, Result};

use super::concentrated_rho_of_pure;
use super::elementary::{LN_ERROR, U, exp, exp_m1, ln};
use super::enclosed_pair::{Between, EnclosedPair, LEAST_SCALE};
use super::gaussian_pair::deviations;
use super::integer_vector_pair::joined;
use super::lattice_transform::TiltedLattice;
use super::outputs::Outputs;
use super::pair::{Buckets, DominatingPair, Grid, Inner, LogConcaveNoise};
use super::transform::Tilted;

/// The method `tilted` of a pair returns a transform only if the largest loss of the pair is below
/// this bound.
pub(super) const MOST_TILTED: f64 = 300.0;

/// Put outputs into buckets (intervals of losses). Each output has a loss and two probabilities.
pub(super) fn fill(
    grid: &Grid,
    relative: f64,
    shift: f64,
    outputs: impl Iterator<Item = (f64, f64, f64)>,
) -> Buckets {
    let mut buckets = Buckets::empty(grid, relative, shift);
    for (loss, p, q) in outputs {
        if p > 0.0 {
            buckets.atom(grid, loss, p, q);
        }
    }
    buckets
}

/// A pair of any two distributions over the same outputs, given as lists of probabilities.
///
/// ```
/// use opendp_measurements::accounting::{Account, FinitePair};
/// use std::sync::Arc;
/// let pair = FinitePair::new(vec![0.75, 0.25], vec![0.25, 0.75])?;
/// let account = Account::new().with(Arc::new(pair), 10);
/// assert!(account.epsilon(1e-6)?.upper <= 10.0 * 3_f64.ln() + 1e-9);
/// assert_eq!(FinitePair::new(vec![1.0], vec![0.5]).unwrap_err().kind(), "InvalidDistance");
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FinitePair {
    p: Arc<[f64]>,
    q: Arc<[f64]>,
}

const NOT_A_PAIR: &str = "probabilities: expected two lists of the same length, each with numbers \
                          of at least 0 and the sum 1";

impl FinitePair {
    /// Make a pair from two lists of probabilities. The floats count as exact numbers.
    ///
    /// # Errors
    /// `InvalidDistance` when the lists differ in length, a probability is negative or NaN, or a
    /// sum is not within `10^-9` of 1.
    pub fn new(p: Vec<f64>, q: Vec<f64>) -> Result<Self> {
        let right = |list: &[f64]| {
            let total: f64 = list.iter().sum();
            list.iter().all(|x| *x >= 0.0) && (total - 1.0).abs() < 1e-9
        };
        if p.len() != q.len() || !right(&p) || !right(&q) {
            return Err(Error::InvalidDistance(NOT_A_PAIR.into()));
        }
        Ok(FinitePair { p: p.into(), q: q.into() })
    }
    /// A bound on the error of a loss. A loss is the difference of the logarithms of two positive
    /// floats that are at most about 1. Such a logarithm is from -745 to about 0. So the errors of
    /// both logarithms and of their difference add up to at most `2 * 745 * LN_ERROR`.
    const SHIFT: f64 = 1500.0 * LN_ERROR;

    fn list(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        // Outputs with probability 0 under Q have an infinite loss.
        let loss = |p: f64, q: f64| if q > 0.0 { ln(p) - ln(q) } else { f64::INFINITY };
        self.p.iter().zip(self.q.iter()).map(move |(p, q)| (loss(*p, *q), *p, *q))
    }
}
impl DominatingPair for FinitePair {
    fn range(&self, _: f64) -> (f64, f64) {
        let finite = self.list().filter(|(loss, p, _)| *p > 0.0 && loss.is_finite());
        finite.fold((0.0, 0.0), |(low, high), (loss, ..)| (loss.min(low), loss.max(high)))
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        fill(grid, 4.0 * U, Self::SHIFT, self.list())
    }
    fn outputs(&self) -> Option<Outputs> {
        Outputs::of(self.list(), 4.0 * U, Self::SHIFT, 0.0)
    }
    fn unit(&self) -> Option<f64> {
        // Check whether all finite losses are multiples of the largest finite loss. For example,
        // the losses of randomized response are such multiples.
        let (low, high) = self.range(0.0);
        let on = |loss: f64| {
            let place = loss / high;
            (place - place.round()).abs() < 1e-13 || !loss.is_finite()
        };
        let fits = low < 0.0 && self.list().all(|(loss, p, _)| p == 0.0 || on(loss));
        fits.then_some(high)
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        Some(Arc::new(FinitePair { p: self.q.clone(), q: self.p.clone() }))
    }
}

/// Randomized response: the output is the truth with probability `truth`. Otherwise, the output is
/// one of the other categories, all with the same probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomizedResponsePair {
    /// The probability of the truth, above 0 and below 1.
    pub truth: f64,
    /// The number of categories, at least 2.
    pub categories: u32,
}
impl RandomizedResponsePair {
    fn parts(&self) -> (f64, f64) {
        let lie = (1.0 - self.truth) / (f64::from(self.categories) - 1.0);
        ((ln(self.truth) - ln(lie)).abs(), lie)
    }
    fn list(&self) -> [(f64, f64, f64); 3] {
        let (loss, lie) = self.parts();
        let (more, less) = (self.truth.max(lie), self.truth.min(lie));
        let rest = (f64::from(self.categories) - 2.0) * lie;
        [(loss, more, less), (-loss, less, more), (0.0, rest, rest)]
    }
}
impl DominatingPair for RandomizedResponsePair {
    fn range(&self, _: f64) -> (f64, f64) {
        (-self.parts().0, self.parts().0)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        fill(grid, 16.0 * U, 1500.0 * LN_ERROR, self.list().into_iter())
    }
    fn outputs(&self) -> Option<Outputs> {
        Outputs::of(self.list().into_iter(), 16.0 * U, 1500.0 * LN_ERROR, 0.0)
    }
    fn unit(&self) -> Option<f64> {
        Some(self.parts().0)
    }
}

/// A pair with an added event of unbounded loss. An example is noise with a threshold that hides
/// rare keys.
#[derive(Clone)]
pub struct ThresholdedPair {
    /// The pair without the added event.
    pub noise: Arc<dyn DominatingPair>,
    /// The probability that a release reveals whether a person is in the data.
    pub delta: f64,
}
impl fmt::Debug for ThresholdedPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("ThresholdedPair");
        text.field("noise", &Inner(&self.noise)).field("delta", &self.delta).finish()
    }
}
impl DominatingPair for ThresholdedPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        self.noise.range(tail)
    }
    /// The added event has a probability of at most `delta` under `P`. The measure of the
    /// losses of the other outputs is at most the measure of the losses of `noise`.
    fn buckets(&self, grid: &Grid) -> Buckets {
        let mut buckets = self.noise.buckets(grid);
        buckets.above += self.delta;
        buckets
    }
    fn unit(&self) -> Option<f64> {
        self.noise.unit()
    }
    fn reverse(&self) -> Option<Arc<dyn DominatingPair>> {
        let noise = self.noise.reverse()?;
        Some(Arc::new(ThresholdedPair { noise, delta: self.delta }))
    }
    fn only_above(&self) -> bool {
        self.noise.only_above()
    }
    fn outputs(&self) -> Option<Outputs> {
        Some(self.noise.outputs()?.with_above(self.delta))
    }
}

/// Discrete Laplace noise on one integer: `P[Z = z]` is proportional to `e^(-|z| / scale)`.
///
/// The noise is log-concave. So this pair also dominates noise on vectors under the L1 distance.
/// The proof at [`LaplacePair`](super::LaplacePair) also holds for integers. For integers, each
/// optimal test compares the output with an integer, and decides at random if both are equal. Let
/// `T_a` be the trade-off function of the shift by `a`. Each of these tests is optimal for three
/// shifts: for the shift by `a`, for a further shift by `b`, and for the shift by `a + b`. So the
/// trade-off function of the shift by `a + b` is again `T_b(1 - T_a)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteLaplacePair {
    /// The sensitivity: the largest difference of the true numbers on two neighbours.
    pub sensitivity: u32,
    /// The scale of the noise, above 0.
    pub scale: f64,
}
impl DiscreteLaplacePair {
    /// Return bounds on the relative error of the masses, and on the error of the losses.
    fn errors(&self) -> (f64, f64) {
        let reach = f64::from(self.sensitivity) / self.scale;
        (U * (128.0 + 4.0 * reach), 8.0 * U * reach)
    }
    /// Return one output for each loss. The centres of the noise on the two neighbours are called
    /// the ends. All outputs at and beyond one end have the same loss, and are listed as one
    /// output.
    fn list(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let (rate, last) = (1.0 / self.scale, self.sensitivity);
        let end = 1.0 / (1.0 + exp(-rate));
        let middle = -exp_m1(-rate) * end;
        let power = move |j: u32| exp(-(f64::from(j) * rate));
        (0..=last).map(move |j| {
            let weight = if j == 0 || j == last { end } else { middle };
            let loss = (f64::from(last) - 2.0 * f64::from(j)) * rate;
            match last {
                0 => (0.0, 1.0, 1.0),
                _ => (loss, weight * power(j), weight * power(last - j)),
            }
        })
    }
}
impl DominatingPair for DiscreteLaplacePair {
    fn range(&self, _: f64) -> (f64, f64) {
        let epsilon = f64::from(self.sensitivity) / self.scale;
        (-epsilon, epsilon)
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let (relative, shift) = self.errors();
        fill(grid, relative, shift, self.list())
    }
    fn outputs(&self) -> Option<Outputs> {
        let (relative, shift) = self.errors();
        Outputs::of(self.list(), relative, shift, 0.0)
    }
    fn unit(&self) -> Option<f64> {
        Some(1.0 / self.scale)
    }
    fn most(&self) -> f64 {
        f64::from(self.sensitivity).inf_div(self.scale).unwrap_or(f64::INFINITY)
    }
    fn concentrated(&self) -> Option<f64> {
        concentrated_rho_of_pure(self.most()).ok()
    }
    fn tilted(&self, tilt: f64, _: f64) -> Option<Box<dyn Tilted>> {
        let (rate, shift) = (1.0 / self.scale, f64::from(self.sensitivity));
        let fits = 1.0 <= shift && 1e-12 < rate && shift * rate < MOST_TILTED;
        fits.then(|| Box::new(TiltedLattice::new(rate, shift, tilt)) as Box<dyn Tilted>)
    }
    fn shift(&self) -> Option<(LogConcaveNoise, f64)> {
        let noise = LogConcaveNoise::DiscreteLaplace { scale: self.scale };
        Some((noise, self.sensitivity.into()))
    }
}

/// Discrete Gaussian noise on one integer: `P[Z = z]` is proportional to `e^(-z^2 / (2 scale^2))`.
///
/// The noise is log-concave. So this pair also dominates the noise at smaller sensitivities. This
/// pair does not dominate noise on vectors under the L2 distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteGaussianPair {
    /// The sensitivity: the largest difference of the true numbers on two neighbours.
    pub sensitivity: u32,
    /// The scale of the noise, above 0 and at most [`MAX_SCALE`](DiscreteGaussianPair::MAX_SCALE).
    pub scale: f64,
}
impl DiscreteGaussianPair {
    /// The largest allowed scale. There is a limit, because the pair lists its outputs one by one.
    pub const MAX_SCALE: f64 = 65536.0;
    fn loss(&self, z: f64) -> f64 {
        let d = f64::from(self.sensitivity);
        d * (d - 2.0 * z) / (2.0 * self.scale * self.scale)
    }
    /// Return the largest listed magnitude of the noise. This magnitude exceeds 37.4 times the
    /// scale. So the weight `e^(-z^2 / (2 scale^2))` of an output `z` of this magnitude is below
    /// `w = e^-699.3`.
    ///
    /// Let `s` be the scale. From this magnitude on, each weight is at most `e^(-37.4 / s)` times
    /// the previous weight. So the weights from this magnitude on, of both signs, add up to at most
    /// `2 w (1 + s / 37.4)`. The total of all weights is at least 1 and at least `2 s`. So the
    /// probability of all these outputs is below `4 w < 10^-303`. This argument also holds for each
    /// smaller magnitude of at least `37.4 s`. So the bound also covers the weights below `e^-700`,
    /// which the function `exp` treats as 0. If the scale is above the largest allowed scale, the
    /// result is -1, so that no output is listed.
    fn reach(&self) -> i64 {
        if Self::MAX_SCALE < self.scale { -1 } else { (37.4 * self.scale).ceil() as i64 + 1 }
    }
    /// Return a bound on the probability of the outputs that are not listed.
    fn beyond(&self) -> f64 {
        if self.reach() < 0 { 1.0 } else { 1e-302 }
    }
    const RELATIVE: f64 = U * 8192.0;
    fn loss_error(&self) -> f64 {
        16.0 * U * self.loss(-(self.reach() as f64)).abs()
    }
    fn list(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let (d, reach) = (f64::from(self.sensitivity), self.reach());
        let weight = |z: f64| exp(-(z / self.scale) * (z / self.scale) / 2.0);
        let weights: Vec<f64> = (-reach..=reach).map(|z| weight(z as f64)).collect();
        let total = super::elementary::sum(&weights);
        (-reach..=reach).zip(weights).map(move |(z, p)| {
            let z = z as f64;
            (self.loss(z), p / total, weight(z - d) / total)
        })
    }
}
impl DominatingPair for DiscreteGaussianPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        let z = (deviations(tail) * self.scale).ceil() + 1.0;
        (self.loss(z), self.loss(-z))
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let mut buckets = fill(grid, Self::RELATIVE, self.loss_error(), self.list());
        buckets.above += self.beyond();
        buckets
    }
    fn outputs(&self) -> Option<Outputs> {
        let few = (2 * self.reach()) < Outputs::MOST as i64;
        let list = || Outputs::of(self.list(), Self::RELATIVE, self.loss_error(), self.beyond());
        few.then(list)?
    }
    fn between(&self, count: u64) -> Option<Between> {
        let step = u64::from(self.sensitivity);
        joined(step * step, self.scale, step.max(1), count).ok().flatten()
    }
    fn concentrated(&self) -> Option<f64> {
        let ratio = f64::from(self.sensitivity).inf_div(self.scale).ok()?;
        ratio.inf_mul(ratio).ok()?.inf_div(2.0).ok()
    }
    fn integer_gaussian(&self) -> Option<(f64, f64)> {
        let distance = f64::from(self.sensitivity);
        Some((distance.inf_mul(distance).ok().filter(|square| 1.0 <= *square)?, self.scale))
    }
    fn on_sample(&self, rate: f64, removed: bool) -> Option<Arc<dyn DominatingPair>> {
        if self.scale < LEAST_SCALE {
            return None;
        }
        let enclosed = EnclosedPair::gaussian(f64::from(self.sensitivity), 1.0, self.scale);
        enclosed.ok()?.on_sample(rate, removed)
    }
    fn unit(&self) -> Option<f64> {
        Some(f64::from(self.sensitivity) / (2.0 * self.scale * self.scale))
    }
    fn shift(&self) -> Option<(LogConcaveNoise, f64)> {
        let noise = LogConcaveNoise::DiscreteGaussian { scale: self.scale };
        Some((noise, self.sensitivity.into()))
    }
}
