//! Composition by the inversion formula for Fourier transforms, without a grid of losses. A part of
//! a composition is a pair with its number of releases.

use std::sync::Arc;

use opendp_fourier::Complex;

use super::GaussianPair;
use super::elementary::{CIS_ERROR, CIS_LIMIT, U, cis, exp, exp_m1, ln};
use super::pair::DominatingPair;
use super::plan::PairCount;
use super::product::{Factor, Product};
use super::threads::each;
use super::transform::Tilted;
use crate::collected::{Collected, sort_by};

mod wave_plan;

use wave_plan::WavePlan;

/// The given value: an epsilon at which delta is computed, or a delta at which epsilon is computed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Epsilon(f64),
    Delta(f64),
}

/// The delta of a composition, as a sum over a few frequencies.
///
/// # Proof
/// The transform of a loss `y` at a complex number `z` is the mean of `e^(z y)`. Raise the
/// transform of each loss to a power: the number of releases with this loss. Let `M` be the product
/// of the results, and let `t > 0` be the tilt. Let `delta(x)` be delta at the epsilon `x`, and let
/// `(a)_+` be `max(a, 0)`. The function `D(x) = e^(t x) delta(x)` has the Fourier transform
/// `G(s) = M(t + i s) / ((t + i s) (t + 1 + i s))`. The reason is that
/// `integral (1 - e^-d)_+ e^(-z d) dd = 1 / (z (z + 1))` for `Re z > 0`. `D` is continuous, and
/// decays exponentially as `x` tends to plus or minus infinity. `|G|` is at most `M(t) / s^2`. Let
/// `h` be the spacing of the frequencies, and let `L = 2 pi / h`. By Poisson's summation, two sums
/// are equal. The first sum is `h / (2 pi)` times the sum of `G(n h) e^(-i n h x)` over all
/// integers `n`. The second sum is the sum of `D(x + m L)` over all integers `m`. No term `D(x + m
/// L)` is negative.
/// - So the second sum is at least its term for `m = 0`, which is `D(x)`.
/// - The terms with `m` not 0 are the repetitions. Divide a term by `e^(t x)`. For `m > 0`, the
///   result is `e^(t L m) delta(x + m L) <= M(t') e^(-t' x - (t' - t) m L)` for each `t' > t`. For
///   `m < 0`, the same inequality holds for each `t'` from 0 to `t`. The reason is that
///   `(1 - e^-d)_+ <= e^(t' d)`. So two geometric series bound all repetitions.
///
/// The envelope at a frequency bounds `|M(t + i s)| / M(t)` at this frequency `s` and at all larger
/// frequencies. Let `E` be the envelope at the last used frequency. In the sum of all
/// `G(n h) e^(-i n h x)`, the omitted frequencies add at most `M(t) E` times the sum of
/// `1 / (n h)^2` over the omitted frequencies. The computed sum errs by the errors of the waves
/// (values of the transform).
#[derive(Debug)]
pub(super) struct Inversion {
    tilt: f64,
    /// `ln M(t)`, and a bound on its error.
    log: (f64, f64),
    /// The loss that the waves treat as 0 (the centre), and a bound on the error of this loss.
    centre: (f64, f64),
    spacing: f64,
    /// The waves: `G(n h) e^(-i n h centre) / M(t)` for `n` from 1 on.
    waves: Vec<Complex>,
    /// A bound on the error of the sum of the waves.
    error: f64,
    /// Two sums over the waves: the sum of the moduli, and the sum of the moduli times the
    /// frequencies.
    size: (f64, f64),
    /// Two other tilts: one is below `tilt`, and one is above `tilt`. Each tilt comes with an upper
    /// bound on `ln M` at this tilt. A [`sketch`] is a few parts that represent all parts. If a
    /// sketch is used, this `M` is the product over the parts of the sketch.
    others: [(f64, f64); 2],
    /// A bound on the mass with an infinite loss.
    pub(super) infinite: f64,
    /// The number of waves computed one by one, and the number of waves computed by transforms of
    /// listed losses.
    #[cfg(test)]
    work: (usize, usize),
    /// The given epsilon, or an estimate of the requested epsilon.
    pub(super) expected: f64,
}

/// The target for the relative error of a sum of waves, divided by the tolerance.
const SHARE: f64 = 1e-3;
/// The maximum number of frequencies of a sum without smoothing. Smoothing is the addition of a
/// small Gaussian release: see `Inversion::smoothed`.
pub(super) const MOST: usize = 2048;
/// The maximum number of frequencies of a sum without smoothing in a special case: at least one
/// part lists its losses (see `Tilted::listed`), and the tolerance is at least the default. If such
/// a sum needs more frequencies, a grid is faster than the sum.
pub(super) const MOST_LISTED: usize = 256;
/// The maximum number of frequencies of a smoothed sum.
const MOST_SMOOTHED: usize = 16384;
/// The variance of the smoothing, as a share of the variance of the total loss. The first value is
/// for parts without a [`sketch`]. The second value is for parts with a sketch. A larger variance
/// saves time.
const SMOOTHING: (f64, f64) = (5e-5, 2e-4);
/// If there are at least this many parts, plans use a [`sketch`] in place of the parts.
pub(super) const SKETCHED: usize = 64;
/// Two numbers for a sketch: the largest number of groups of similar parts, and the number of parts
/// that are in no group.
const GROUPS: (usize, usize) = (12, 3);

/// Sort parts by the width of the interval of their losses. The widest interval comes first. In
/// this order, a product of waves becomes negligible after fewer factors than in other orders.
fn by_width(parts: &[PairCount]) -> Vec<PairCount> {
    let width = |pair: &Arc<dyn DominatingPair>| {
        let (low, high) = pair.range(1e-6);
        high - low
    };
    let mut sorted: Vec<_> = parts.iter().map(|part| (width(&part.0), part)).collected();
    sort_by(&mut sorted, &|a, b| b.0.total_cmp(&a.0));
    sorted.into_iter().map(|(_, part)| part.clone()).collected()
}
/// Return a few parts that represent all parts. If there are fewer than [`SKETCHED`] parts, return
/// all parts. The parts must be sorted by width. The widest parts stay in the result. The other
/// parts form groups. In a group of adjacent parts, the middle part replaces the whole group. The
/// result is used only for plans. A plan affects how tight a bound is. The bound holds for every
/// plan.
fn sketch(sorted: &[PairCount]) -> Vec<PairCount> {
    if sorted.len() < SKETCHED {
        return sorted.to_vec();
    }
    let (alone, rest) = sorted.split_at(GROUPS.1);
    let group = |group: &[PairCount]| {
        let count = group.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        group.get(group.len() / 2).map(|(pair, _)| (pair.clone(), count))
    };
    let groups = rest.chunks(rest.len().div_ceil(GROUPS.0)).filter_map(group);
    alone.iter().cloned().chain(groups).collected()
}

/// Tilted losses, each with its number of releases.
struct Tilt(Vec<(Box<dyn Tilted>, u64)>);

impl Tilt {
    fn new(parts: &[PairCount], tilt: f64, highest: f64) -> Option<Tilt> {
        let tilted_part = |place: usize| {
            let (pair, count) = &parts[place];
            Some((pair.tilted(tilt, highest)?, *count))
        };
        each(parts.len(), tilted_part).into_iter().known_collected().map(Tilt)
    }
    fn total(&self, value: &dyn Fn(&dyn Tilted) -> f64) -> f64 {
        self.0.iter().map(|(part, count)| *count as f64 * value(&**part)).sum()
    }
    /// Return `ln M(t)` at the tilt `t`, and a bound on the error of this logarithm. The proof at
    /// [`Inversion`] defines `M`.
    fn log(&self) -> (f64, f64) {
        let parts = self.0.len() as f64;
        let rounding = self.total(&|part| part.log().0.abs()) * U * (parts + 2.0);
        (self.total(&|part| part.log().0), self.total(&|part| part.log().1) * 1.001 + rounding)
    }
    fn centre(&self) -> (f64, f64) {
        let parts = self.0.len() as f64;
        let rounding = self.total(&|part| part.centre().abs()) * U * (parts + 2.0);
        (self.total(&|part| part.centre()), rounding)
    }
    /// Bound the modulus of the product of the waves at this frequency and at all larger
    /// frequencies. The modulus of each factor is at most 1, so the product of some factors is a
    /// bound. After the product becomes negligible, the remaining factors are omitted.
    fn envelope(&self, frequency: f64) -> f64 {
        let mut log = 0.0;
        for (part, count) in &self.0 {
            log += *count as f64 * ln(part.envelope(frequency)).min(0.0);
            if log < -100.0 {
                break;
            }
        }
        exp((log * (1.0 - 1e-12)).max(-690.0))
    }
    /// Bound the mass with an infinite loss. For each release, let `i` be the mass with an infinite
    /// loss, and `T` the whole mass. The bound is the sum of all `i`, times the product of all
    /// `max(1, T)`.
    fn infinite(&self) -> f64 {
        let infinite = self.total(&|part| part.infinite().0);
        let whole = self.total(&|part| ln(part.infinite().1.max(1.0)));
        if infinite == 0.0 { 0.0 } else { infinite * exp(whole.min(700.0)) * (1.0 + 1e-9) }
    }
}

/// Bound the sum of all waves after the `n`-th wave, at positive and negative frequencies. The
/// envelope at the `n`-th frequency bounds each product of transforms in this sum. Let `h` be the
/// spacing. The sum of `1 / (k h)^2` over all `k > n` is at most `1 / (n h^2)`.
fn omitted(all: &Tilt, n: usize, spacing: f64) -> f64 {
    let place = n as f64 * spacing;
    2.0 * all.envelope(place) / (spacing * place) * (1.0 + 1e-9)
}

impl Inversion {
    /// Make a plan for one target, and compute the waves. Return `None` if a pair has no transform,
    /// or if more than `limit` frequencies are needed.
    pub(super) fn of(
        parts: &[PairCount],
        target: Target,
        tolerance: f64,
        limit: usize,
    ) -> Option<Inversion> {
        Inversion::within(parts, parts, target, tolerance, limit)
    }
    /// Make a plan, and compute the waves of the parts and of one additional Gaussian release with
    /// a small loss. Because of the additional release, the result bounds the exact value only from
    /// above. Use this function for many different losses with atoms (outputs of positive
    /// probability). The reason is that the transforms of atoms do not decay.
    ///
    /// The variance of the additional loss is a share of the variance of the total loss.
    /// [`SMOOTHING`] contains this share. So the standard deviation of the total loss is multiplied
    /// by about 1 plus half of this share. Epsilon is multiplied by about the same factor. The
    /// additional release makes all high frequencies negligible. If the losses differ, a few parts
    /// are enough at most of the lower frequencies: the product of their transforms is already
    /// negligible. Where this product is negligible, the transforms of the remaining parts are not
    /// computed.
    pub(super) fn smoothed(
        parts: &[PairCount],
        target: Target,
        tolerance: f64,
    ) -> Option<Inversion> {
        let parts = by_width(parts);
        let sketch = sketch(&parts);
        let spread =
            |(pair, count): &PairCount| Some(pair.tilted(0.0, 0.0)?.variance() * *count as f64);
        let variance: f64 = sketch.iter().map(spread).sum::<Option<_>>()?;
        let share = if parts.len() < SKETCHED { SMOOTHING.0 } else { SMOOTHING.1 };
        let mu = (share * variance).sqrt();
        if !(0.0 < mu && mu.is_finite()) {
            return None;
        }
        let smoothing: (Arc<dyn DominatingPair>, u64) = (Arc::new(GaussianPair { mu }), 1);
        let with = |parts: &[PairCount]| -> Vec<PairCount> {
            std::iter::once(&smoothing).chain(parts).cloned().collected()
        };
        Inversion::within(&with(&parts), &with(&sketch), target, tolerance, MOST_SMOOTHED)
    }
    /// Make a plan for the parts in `sketch`. With this plan, compute the waves of all `parts`.
    fn within(
        parts: &[PairCount],
        sketch: &[PairCount],
        target: Target,
        tolerance: f64,
        limit: usize,
    ) -> Option<Inversion> {
        let WavePlan { tilt, expected, spacing, many, negligible, others } =
            WavePlan::of(sketch, target, tolerance, limit)?;
        let mut product = Product::new(spacing, many, negligible, limit == MOST_SMOOTHED);
        let (mut all, mut rest, mut next) = (Tilt(Vec::with_capacity(parts.len())), parts, 1);
        // Tilt one group of parts after the other. The product of the earlier groups is negligible
        // above some frequency. So later groups need only lower frequencies, and the sums that
        // compute their transforms have fewer terms.
        while let Some((group, others)) = rest.split_at_checked(next.min(rest.len()))
            && !group.is_empty()
        {
            for (part, count) in Tilt::new(group, tilt, product.highest())?.0 {
                product.multiply(&*part, count);
                all.0.push((part, count));
            }
            (rest, next) = (others, next * 2);
        }
        let mut found = Inversion {
            tilt,
            log: all.log(),
            centre: all.centre(),
            spacing,
            waves: Vec::with_capacity(many),
            error: omitted(&all, many, spacing),
            size: (0.0, 0.0),
            others,
            infinite: all.infinite(),
            #[cfg(test)]
            work: product.work,
            expected,
        };
        for (factor, n) in product.factors().zip(1..) {
            found.add(&factor, f64::from(n) * spacing);
        }
        let last = found.waves.iter().rposition(|wave| wave.norm_sqr() != 0.0);
        found.waves.truncate(last.map_or(0, |last| last + 1));
        found.error.is_finite().then_some(found)
    }
    /// Append the wave of one frequency, and add its error to the total error.
    fn add(&mut self, factor: &Factor, frequency: f64) {
        let t = self.tilt;
        let kernel = Complex::new(t, frequency) * Complex::new(t + 1.0, frequency);
        let size = factor.bound / kernel.norm_sqr().sqrt() * (1.0 + 1e-9);
        let (value, relative) = factor.settled();
        let wave = value / kernel;
        self.error += 2.0 * size * (relative + 32.0 * U);
        self.size.0 += size;
        self.size.1 += size * frequency;
        self.waves.push(wave);
    }
    /// Return `M(t) e^(-t epsilon) / L`. The proof at [`Inversion`] defines `M`, `t` is the tilt,
    /// and `L` is `2 pi` divided by the spacing of the frequencies. If `sign` is 1, round up. If
    /// `sign` is -1, round down.
    ///
    /// The exponent of the result can be outside of the range of `exp`. If `sign` is 1, the
    /// function `exp` then returns infinity, or the exponent is rounded up to -690. Both results
    /// are upper bounds. If `sign` is -1, the exponent is rounded down to 700, or the result is 0.
    /// Both results are lower bounds. So neither result is infinite for `sign = -1`. An infinite
    /// lower bound would be wrong: times a positive sum, minus finite repetitions, it would give a
    /// delta of 1.
    fn factor(&self, epsilon: f64, sign: f64) -> f64 {
        let exponent = self.log.0 - self.tilt * epsilon;
        let error = self.log.1 + 8.0 * U * (self.log.0.abs() + (self.tilt * epsilon).abs());
        let exponent = exponent + sign * error;
        if sign < 0.0 && exponent < -690.0 {
            return 0.0;
        }
        let end = if sign < 0.0 { 700.0 } else { f64::INFINITY };
        let factor = exp(exponent.max(-690.0).min(end));
        factor * self.spacing / std::f64::consts::TAU * (1.0 + sign * 32.0 * U)
    }
    /// Return the sum of the waves at an epsilon, and a bound on the error of this sum. The sum
    /// includes the waves at the frequency 0 and at negative frequencies.
    fn sum(&self, epsilon: f64) -> (f64, f64) {
        let turn = self.spacing * (self.centre.0 - epsilon);
        if !(turn.abs() * (self.waves.len() as f64) < CIS_LIMIT) {
            return (0.0, f64::INFINITY);
        }
        let mut sum = 0.0;
        for (n, wave) in self.waves.iter().enumerate() {
            let (c, d) = cis(turn * (n as f64 + 1.0));
            sum += wave.re * c - wave.im * d;
        }
        let first = 1.0 / (self.tilt * (self.tilt + 1.0));
        // The difference of the centre and epsilon is rounded. The products of this difference and
        // the frequencies are also rounded.
        let far = self.centre.1 + 4.0 * U * (self.centre.0.abs() + epsilon.abs());
        let rounding = self.size.0 * (4.0 * CIS_ERROR + U * self.waves.len() as f64);
        let error = self.error + 2.0 * (rounding + self.size.1 * far);
        (first + 2.0 * sum, error + 8.0 * U * (first + self.size.0))
    }
    /// Return the interval of losses in which the search for an epsilon takes place.
    pub(super) fn window(&self) -> (f64, f64) {
        let half = std::f64::consts::PI / self.spacing;
        (self.expected - half, self.expected + half)
    }
    /// Return an upper bound on delta at an epsilon.
    pub(super) fn delta_above(&self, epsilon: f64) -> f64 {
        let (sum, error) = self.sum(epsilon);
        let delta = self.factor(epsilon, 1.0) * (sum + error) + self.infinite;
        if (0.0..1.0).contains(&delta) { (delta * (1.0 + 8.0 * U)).max(1e-290) } else { 1.0 }
    }
    /// Return a lower bound on delta at an epsilon. For a sum with a sketch, the result is only an
    /// estimate.
    pub(super) fn delta_below(&self, epsilon: f64) -> f64 {
        let (sum, error) = self.sum(epsilon);
        let repeated: f64 = self.others.iter().map(|other| self.repeated(*other, epsilon)).sum();
        let delta = self.factor(epsilon, -1.0) * (sum - error) - repeated;
        if 0.0 <= delta { (delta * (1.0 - 8.0 * U)).min(1.0) } else { 0.0 }
    }
    /// Bound the sum of the repetitions for all `m > 0`, or for all `m < 0`. The proof at
    /// [`Inversion`] defines the repetitions and `m`. `tilt` is the `t'` of this proof, and `log`
    /// is an upper bound on `ln M` at this tilt. If a sketch is used, `M` is computed from the
    /// sketch. Then the result is only an estimate.
    fn repeated(&self, (tilt, log): (f64, f64), epsilon: f64) -> f64 {
        let exponent = log - tilt * epsilon;
        let error = 8.0 * U * (log.abs() + (tilt * epsilon).abs());
        let length = std::f64::consts::TAU / self.spacing * (1.0 - 8.0 * U);
        let fall = exp_m1(((tilt - self.tilt).abs() * length * (1.0 - 8.0 * U)).min(690.0));
        exp((exponent + error).max(-690.0)) / fall * (1.0 + 64.0 * U)
    }
}

#[cfg(test)]
mod far_tests;
#[cfg(test)]
mod tests;
