//! Discrete Gaussian noise on integers, composed as continuous noise. Normal noise is added once to
//! the total loss (smoothing).

use std::f64::consts::PI;
use std::fmt;

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat, InfCast};

use super::ConcentratedPair;
use super::curve_pair::by_curve;
use super::elementary::{exp, ln};
use super::pair::{Buckets, DominatingPair, Grid};

/// The pair for discrete Gaussian noise on a vector of integers. Neighbours differ by at most a
/// given L2 distance.
///
/// A single release is bounded by its `rho` (zero-concentrated loss). An account also uses another
/// bound, which is described at [`Smoothing`].
#[derive(Clone)]
pub(super) struct IntegerGaussianPair {
    square: f64,
    scale: f64,
    curve: ConcentratedPair,
    rho: f64,
}

impl IntegerGaussianPair {
    /// Make a pair from two numbers: the square of the distance, and the scale. The square is an
    /// integer of at least 1.
    pub(super) fn new(square: f64, scale: f64) -> Result<Self> {
        let rho = square.inf_div(scale)?.inf_div(scale)?.inf_div(2.0)?;
        Ok(IntegerGaussianPair { square, scale, curve: ConcentratedPair::new(rho), rho })
    }
}
impl fmt::Debug for IntegerGaussianPair {
    /// Write only the parameters in the `Debug` text, without computed values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IntegerGaussianPair { square, scale, .. } = self;
        write!(f, "IntegerGaussianPair {{ square: {square:?}, scale: {scale:?} }}")
    }
}
impl DominatingPair for IntegerGaussianPair {
    by_curve!();
    fn concentrated(&self) -> Option<f64> {
        Some(self.rho)
    }
    fn integer_gaussian(&self) -> Option<(f64, f64)> {
        Some((self.square, self.scale))
    }
}

/// A bound on the delta of releases of integers with discrete Gaussian noise. The delta of the
/// releases is at most `factor` times the delta of one release with continuous Gaussian noise.
///
/// # Theorem
/// Let the releases be vectors of integers. The shift of a release is the difference of its true
/// vectors on two neighbours. Release `i` has a shift of L2 norm at most `sqrt(D_i)` and discrete
/// Gaussian noise of scale `s_i`. The releases can be chosen adaptively. Other mechanisms can be
/// used between these releases. For each `i`, choose a number `v_i`. Let `t^2` be at least
/// `D_i v_i / s_i^4` for each `i`. Replace all these releases by one normal loss of variance `mu^2`
/// and mean `mu^2 / 2`, where `mu^2 = t^2 + sum D_i / s_i^2`. The composition with this normal loss
/// is called the new composition. For each release `i`, let `1 + r_i` be the bound `e^R` that the
/// proof below derives. The delta of the original composition is at most the delta of the new
/// composition times the product of all `1 + r_i`.
///
/// # Proof
/// Numbers with the shift 0 reveal nothing. So assume that each release has as many numbers with
/// the shift 0 as needed. If some of these numbers get the shift 1 instead, the loss does not
/// become smaller. So assume that the squares of the shifts of release `i` add up to exactly `D_i`.
///
/// *Smooth once.* Let `f(x) = max(0, 1 - e^(epsilon - x))`. Then delta is the mean of `f` at the
/// total loss. Let `n` be normal with variance `t^2` and mean `t^2 / 2`. The mean of `e^-n` is 1,
/// and `f` is convex in `e^-x`. So `f(x)` is at most the mean of `f(x + n)`, by Jensen's
/// inequality.
///
/// *Replace a number.* Go backward, from the last number of the last release. Let `x` be the loss
/// up to the current number, including this number. Let `g` be the sum of the normal losses of all
/// numbers that are already replaced. Let `b` be the loss of the other mechanisms that come after
/// the current number. Suppose that, given `x`, the mean of `f` at the total loss is at most a
/// constant times the mean of `f(x + n + g + b)`. A number with the shift `k` has the loss
/// `(k^2 + 2 k y) / (2 s^2)`, where `y` is its noise. In units of `k / s^2`, let `z` be `n + g`.
/// Then `z` is normal, with a variance `w` of at least `t^2 s^4 / k^2`. In these units, the sum of
/// `k y / s^2` and `n + g` is `y + z`. Let `c = s^2 w / (s^2 + w)`. The density of `y + z` at each
/// point has three factors. The first factor is the density of a normal variable of variance
/// `s^2 + w`. The second factor is `sum_y e^(-(y - y0)^2 / (2 c)) / sqrt(2 pi c)` with some `y0`.
/// The third factor is the inverse of `sum_y e^(-y^2 / (2 s^2)) / sqrt(2 pi s^2)`. Both sums are
/// over all integers `y`. Let `h(c) = sum e^(-2 pi^2 c j^2)` over all integers `j` except 0. By
/// Poisson's summation the second factor is at most `1 + h(c)`, and the sum in the third factor is
/// at least 1. Replace `y` by normal noise of variance `s^2`. Then the loss is the loss of a normal
/// pair. `f` is not negative. So the mean of `f` before the replacement is at most `1 + h(c)` times
/// the mean of `f` after the replacement. The bound holds for each shift that can be chosen for
/// this number. Let `l` be the loss of another mechanism, and `x'` the loss before it. The mean of
/// `f(x' + l + n + g + b)` is the profile of the loss `l + n + g + b` at `epsilon - x'`. So this
/// mechanism can be replaced by its dominating pair: the profile does not become smaller.
///
/// *All numbers of a release.* Write `D`, `s` and `v` for the `D_i`, `s_i` and `v_i` of the
/// release. For each number, let `u = D / k^2`. Then `u` is from 1 to `D`, and `w >= v u`. Each
/// number of the release has a factor `1 + h(c)`. Let `R` be the sum of the `h(c)` of all these
/// numbers. The product of all factors is at most `e^R`. The squares `k^2` add up to `D`, so the
/// numbers `1 / u` add up to 1. So `R` is the mean of the values `u h(c)` with the weights `1 / u`.
/// This mean is at most the largest value of `u h(s^2 v u / (s^2 + v u))` over these `u`. Suppose
/// that `s^2 v / (s^2 + v)` is at least 1/4. Then each `c` is at least 1/4, and
/// `h(c) <= 2.02 e^(-2 pi^2 c)`. So `R` is at most the largest value of the function
/// `2.02 u e^(-2 pi^2 s^2 v u / (s^2 + v u))` over these `u`. The logarithm of this function has
/// the derivative `1 / u - 2 pi^2 s^4 v / (s^2 + v u)^2`. For `v u >= 1/4`, this derivative changes
/// its sign at most once, from minus to plus. So the function is largest at `u = 1` or at `u = D`.
/// Consider `m` equal releases, counted from the last release. When release `l + 1` is replaced,
/// `g` already contains `l` other releases. These releases add `l s^2` to the `v` of release
/// `l + 1`.
///
/// # How tight
/// For the factor `1.0002`, `v` is about 0.5. So for one release, `t^2` is about `0.5 / s^2` times
/// `D / s^2`. Here `D / s^2` is the variance of the loss of continuous noise. For `m` equal
/// releases, this variance is `m D / s^2`, and `t^2` is about `0.5 / (m s^2)` times this variance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Smoothing {
    /// The `mu^2` of the one normal loss, including `t^2`, rounded up.
    pub(super) squares: f64,
    /// The quotient of `t^2` and `squares`.
    pub(super) share: f64,
    /// The factor of delta: at least the product of all `1 + r_i`.
    pub(super) factor: f64,
}

/// One kind of release: the square of the distance, the scale, and the number of releases.
pub(super) type IntegerNoise = (f64, f64, u64);

/// Targets for `factor - 1` of a [`Smoothing`]. The actual value of `factor - 1` can be about twice
/// the target. The targets are tried in this order until the share of `t^2` in `mu^2` is small.
const EXCESS: [f64; 3] = [1e-9, 1e-6, 2e-4];
/// The share of `t^2` in `mu^2` is small if it is below this value.
const SMALL: f64 = 2e-5;

impl Smoothing {
    /// Compute the bound for all kinds of releases together. Return `None` if a scale is too small,
    /// or if the list of kinds is empty.
    ///
    /// # Errors
    /// `Overflow` when a loss is not finite.
    pub(super) fn of(kinds: &[IntegerNoise]) -> Result<Option<Smoothing>> {
        let mut found = None;
        for excess in EXCESS {
            if let Some(smoothing) = Smoothing::within(kinds, excess)? {
                found = Some(smoothing);
                if smoothing.share < SMALL {
                    break;
                }
            }
        }
        Ok(found)
    }
    fn within(kinds: &[IntegerNoise], excess: f64) -> Result<Option<Smoothing>> {
        let (mut exact, mut smooth, mut log) = (0.0f64, 0.0f64, 0.0f64);
        for &(square, scale, count) in kinds {
            let Some(variance) = variance(square, scale, excess / (2.0 * kinds.len() as f64))
            else {
                return Ok(None);
            };
            let share = square.inf_div(scale)?.inf_div(scale)?;
            exact = share.inf_mul(f64::inf_cast(count)?)?.inf_add(exact)?;
            smooth = smooth.max(share.inf_mul(variance)?.inf_div(scale)?.inf_div(scale)?);
            log = roughness_of_all(square, scale, variance, count)?.inf_add(log)?;
        }
        // The function `variance` considers one release. Each release adds a term to `log`. If the
        // scale is small, the other equal releases can together add more than this release. So
        // check `log`.
        if kinds.is_empty() || !(log <= 2.0 * excess) {
            return Ok(None);
        }
        let squares = exact.inf_add(smooth)?;
        Ok(Some(Smoothing { squares, share: smooth / squares, factor: log.inf_exp()? }))
    }
}

/// Let `s` be the scale, and `v` the variance. Return `2.02 u e^(-2 pi^2 s^2 v u / (s^2 + v u))`,
/// rounded up.
fn roughness(u: f64, scale: f64, variance: f64) -> f64 {
    let (first, second) = (scale * scale, variance * u);
    let joined = first * (second / (first + second));
    2.021 * u * exp((-2.0 * PI * PI * joined * (1.0 - 1e-9)).max(-690.0))
}
/// Return the `v` at which one release adds about `excess` to the factor of delta. Return `None` if
/// there is no such `v`. The theorem at [`Smoothing`] defines `v`.
fn variance(square: f64, scale: f64, excess: f64) -> Option<f64> {
    let own = scale * scale;
    // For the scale `s`, first find the smallest allowed `s^2 v u / (s^2 + v u)`. From this value,
    // compute `v`.
    let variance_at = |u: f64| {
        let needed = (ln(2.02 * u / excess) / (2.0 * PI * PI)).max(0.25);
        (needed < 0.9 * own).then(|| needed / (1.0 - needed / own) / u)
    };
    let found = variance_at(1.0)?.max(variance_at(square)?) * (1.0 + 1e-9);
    let joined = own * (found / (own + found));
    (found.is_finite() && 0.25 <= joined * (1.0 - 1e-9)).then_some(found)
}
/// For `count` equal releases, return an upper bound on the sum of all `h(c)`. The proof at
/// [`Smoothing`] defines `h` and `c`.
fn roughness_of_all(square: f64, scale: f64, variance: f64, count: u64) -> Result<f64> {
    // As in the proof, releases are counted from the last release. Each release contributes one
    // term to the sum. In this order, the terms decrease. So `term(ONE_BY_ONE)` bounds the terms of
    // all releases after the first `ONE_BY_ONE` releases.
    const ONE_BY_ONE: u64 = 32;
    let term = |before: u64| {
        let variance = variance + before as f64 * (scale * scale) * (1.0 - 1e-12);
        roughness(1.0, scale, variance).max(roughness(square, scale, variance))
    };
    let mut total = 0.0f64;
    for before in 0..count.min(ONE_BY_ONE) {
        total = term(before).inf_add(total)?;
    }
    let rest = f64::inf_cast(count - count.min(ONE_BY_ONE))?;
    rest.inf_mul(term(ONE_BY_ONE))?.inf_add(total)
}
