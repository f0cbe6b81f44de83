//! Composition by the inversion formula, without a grid.

use std::sync::Arc;

use opendp_fourier::Complex;

use super::GaussianPair;
use super::elementary::{CIS_ERROR, CIS_LIMIT, U, cis, exp, exp_m1, ln};
use super::pair::DominatingPair;
use super::plan::{PairCount, saddle_point};
use super::product::{Factor, Product};
use super::transform::Tilted;

/// The question that is asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Epsilon(f64),
    Delta(f64),
}

/// A composition as a sum over a few frequencies.
///
/// # Proof
/// Let `M` be the product of the powers of the transforms of all losses, and `t > 0`. By Fourier,
/// `D(x) = e^(t x) delta(x)` has the transform `G(s) = M(t + i s) / ((t + i s) (t + 1 + i s))`,
/// because `integral (1 - e^-d)_+ e^(-z d) dd = 1 / (z (z + 1))` for `Re z > 0`. `D` is continuous
/// and falls exponentially on both sides, and `G` is at most `M(t) / s^2`. So, by Poisson's
/// summation, the sum of `G(n h) e^(-i n h x)` over all `n`, times `h / (2 pi)`, equals the sum of
/// `D(x + m L)` over all `m`, with `L = 2 pi / h`. All terms `D(x + m L)` are positive:
/// - the sum bounds `D` from above;
/// - the terms with `m > 0` are `e^(t L m) delta(x + m L) <= M(t') e^(-t' x - (t' - t) m L)` for
///   each `t' > t`, and those with `m < 0` the same for each `t'` from 0 to `t`, times `e^(t x)`,
///   since `(1 - e^-d)_+ <= e^(t' d)`; two geometric series bound the excess.
///
/// The omitted frequencies add at most the envelope there, times the sum of `1 / (n h)^2`. The
/// computed sum errs by the errors of the waves.
#[derive(Debug)]
pub(super) struct Inversion {
    tilt: f64,
    /// `ln M(t)`, and a bound on its error.
    log: (f64, f64),
    /// The centre of the waves, and a bound on its error.
    centre: (f64, f64),
    spacing: f64,
    /// `G(n h) e^(-i n h centre) / M(t)` for n from 1.
    waves: Vec<Complex>,
    /// Bounds the error of the sum of the waves.
    error: f64,
    /// The sum of the moduli of the waves, and the sum of the moduli times their frequencies.
    size: (f64, f64),
    /// Two other tilts, one on either side, with upper bounds of `ln M`: of the sketch.
    others: [(f64, f64); 2],
    /// Bounds the mass with an infinite loss.
    pub(super) infinite: f64,
    /// The number of waves of single losses that were computed one by one, and by atoms.
    #[cfg(test)]
    work: (usize, usize),
    /// An estimate of the answer.
    pub(super) expected: f64,
}

/// The target error, relative to the tolerance.
const SHARE: f64 = 1e-3;
/// The maximum number of frequencies.
const MOST: usize = 2048;
/// The maximum number of frequencies of a smoothed sum.
const MOST_SMOOTHED: usize = 16384;
/// The variance of the smoothing, relative to that of the sum: of some parts, and of parts with a
/// sketch, where it saves time.
const SMOOTHING: (f64, f64) = (5e-5, 2e-4);
/// The number of parts from which on a plan is made for a [`sketch`].
pub(super) const SKETCHED: usize = 64;
/// The number of groups of similar parts in a sketch, and the number of parts that stay alone.
const GROUPS: (usize, usize) = (16, 4);

/// Sort parts by the width of their losses, the widest first, as these make products negligible.
fn by_width(parts: &[PairCount]) -> Vec<PairCount> {
    let width = |pair: &Arc<dyn DominatingPair>| {
        let (low, high) = pair.range(1e-6);
        high - low
    };
    let mut sorted: Vec<_> = parts.iter().map(|part| (width(&part.0), part)).collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    sorted.into_iter().map(|(_, part)| part.clone()).collect()
}
/// Return a few parts that are similar to all, which are sorted: of a group of parts, the middle
/// one counts for all. Plans are made for it. They affect how tight bounds are, not whether they
/// hold.
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
    alone.iter().cloned().chain(groups).collect()
}

/// Tilted losses, and how often each counts.
struct Tilt(Vec<(Box<dyn Tilted>, u64)>);

impl Tilt {
    fn new(parts: &[PairCount], tilt: f64, highest: f64) -> Option<Tilt> {
        let one = |(pair, count): &(Arc<dyn DominatingPair>, u64)| {
            Some((pair.tilted(tilt, highest)?, *count))
        };
        Some(Tilt(parts.iter().map(one).collect::<Option<_>>()?))
    }
    fn total(&self, of: impl Fn(&dyn Tilted) -> f64) -> f64 {
        self.0.iter().map(|(part, count)| *count as f64 * of(&**part)).sum()
    }
    /// `ln M`, and a bound on its error.
    fn log(&self) -> (f64, f64) {
        let parts = self.0.len() as f64;
        let rounding = self.total(|part| part.log().0.abs()) * U * (parts + 2.0);
        (self.total(|part| part.log().0), self.total(|part| part.log().1) * 1.001 + rounding)
    }
    fn centre(&self) -> (f64, f64) {
        let parts = self.0.len() as f64;
        let rounding = self.total(|part| part.centre().abs()) * U * (parts + 2.0);
        (self.total(|part| part.centre()), rounding)
    }
    fn envelope(&self, frequency: f64) -> f64 {
        let log = self.total(|part| ln(part.envelope(frequency)));
        exp((log * (1.0 - 1e-12)).max(-690.0))
    }
    /// Bound the mass with an infinite loss. If `i` are the infinite masses and `T` the whole ones,
    /// it is at most the sum of all `i`, times the product of all `max(1, T)`.
    fn infinite(&self) -> f64 {
        let infinite = self.total(|part| part.infinite().0);
        let whole = self.total(|part| ln(part.infinite().1.max(1.0)));
        if infinite == 0.0 { 0.0 } else { infinite * exp(whole.min(700.0)) * (1.0 + 1e-9) }
    }
}

/// A first estimate of the answer.
struct Saddle {
    tilt: f64,
    centre: f64,
    /// The logarithm of delta.
    log: f64,
}

fn saddle(parts: &[PairCount], target: Target) -> Option<Saddle> {
    let at = |tilt: f64| {
        let all = Tilt::new(parts, tilt, 0.0)?;
        let (centre, variance) = (all.centre().0, all.total(|part| part.variance()));
        let log = all.log().0 - tilt * centre - saddle_point(tilt, variance);
        Some(Saddle { tilt, centre, log })
    };
    let enough = |found: &Saddle| match target {
        Target::Epsilon(epsilon) => found.centre >= epsilon,
        Target::Delta(delta) => found.log <= ln(delta),
    };
    let mut found = at(0.0)?;
    if enough(&found) {
        return Some(found);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while !enough(&at(high)?) {
        low = high;
        high *= 2.0;
        if high > 1e6 {
            return None;
        }
    }
    while high - low > 0.03 * high && high > 1e-6 {
        let middle = (low + high) / 2.0;
        found = at(middle)?;
        if enough(&found) { high = middle } else { low = middle }
    }
    Some(found)
}

/// The parameters of a sum of waves.
struct WavePlan {
    tilt: f64,
    expected: f64,
    spacing: f64,
    /// The number of frequencies.
    many: usize,
    others: [(f64, f64); 2],
}

impl WavePlan {
    /// Choose the tilt, the spacing and the number of frequencies for a question. Return `None` if
    /// more than the given number of frequencies matter.
    fn of(parts: &[PairCount], target: Target, tolerance: f64, most: usize) -> Option<WavePlan> {
        let saddle = saddle(parts, target)?;
        let expected = match target {
            Target::Epsilon(epsilon) => epsilon,
            Target::Delta(_) => saddle.centre.max(0.0),
        };
        // At smaller tilts the repetitions on the left decay too slowly.
        let variance = Tilt::new(parts, saddle.tilt, 0.0)?.total(|part| part.variance());
        let tilt = saddle.tilt.max(1.0 / variance.sqrt());
        let all = Tilt::new(parts, tilt, 0.0)?;
        let (log, variance) = (all.log(), all.total(|part| part.variance()));
        // The factor by which the errors exceed delta.
        let excess = (log.0 - tilt * expected - saddle.log).max(0.0);
        let needed = excess - ln(SHARE * tolerance);
        let guess = (2.0 * needed / variance).sqrt();
        let side = |sign: f64| {
            let mut best = (f64::INFINITY, (0.0, 0.0));
            for share in [1.4, 1.0, 0.6, 0.3, 0.1] {
                let by = if sign < 0.0 { (share * guess).min(tilt) } else { share * guess };
                let (other, error) = Tilt::new(parts, tilt + sign * by, 0.0)?.log();
                let length = (other - log.0 - sign * by * expected + needed) / by;
                if length < best.0 {
                    best = (length, (tilt + sign * by, other + error));
                }
            }
            Some(best)
        };
        let ((left, lower), (right, upper)) = (side(-1.0)?, side(1.0)?);
        let length = left.max(right).max(f64::MIN_POSITIVE);
        // Keep few digits, so that multiples are exact.
        let spacing = f64::from_bits((std::f64::consts::TAU / length).to_bits() & !0xfff);
        let goal = length * exp(-needed);
        let many = fewest(most, |n| omitted(&all, n, spacing) < goal)?;
        Some(WavePlan { tilt, expected, spacing, many, others: [lower, upper] })
    }
}

/// Find the smallest number from 5 on, at most the largest, from which on a condition holds.
fn fewest(most: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let mut many = 8;
    while !holds(many) {
        many *= 2;
        if many > most {
            return None;
        }
    }
    let mut few = many / 2;
    while few + 1 < many {
        let middle = (few + many) / 2;
        if holds(middle) { many = middle } else { few = middle }
    }
    Some(many)
}

/// Bound the sum of all waves from the `n`-th on, by the envelope.
fn omitted(all: &Tilt, n: usize, spacing: f64) -> f64 {
    let at = n as f64 * spacing;
    2.0 * all.envelope(at) / (spacing * at) * (1.0 + 1e-9)
}

impl Inversion {
    /// Plan for one question and compute the waves. Return `None` if a pair has no transform, or if
    /// too many frequencies matter.
    pub(super) fn of(parts: &[PairCount], target: Target, tolerance: f64) -> Option<Inversion> {
        Inversion::within(parts, parts, target, tolerance, MOST)
    }
    /// Do the same for the parts and one release with little Gaussian noise, which is a bound from
    /// above. It serves sums of many different losses with atoms, whose transforms do not decay.
    ///
    /// The additional release has the share [`SMOOTHING`] of the variance, so it increases epsilon
    /// by about half of this share. With it, all high frequencies are negligible. Where the losses
    /// differ, the product of a few of their transforms is negligible at most of the others, and
    /// the rest of the product is not computed.
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
            std::iter::once(&smoothing).chain(parts).cloned().collect()
        };
        Inversion::within(&with(&parts), &with(&sketch), target, tolerance, MOST_SMOOTHED)
    }
    /// Plan for the parts of a sketch, and compute the waves of all parts.
    fn within(
        parts: &[PairCount],
        sketch: &[PairCount],
        target: Target,
        tolerance: f64,
        most: usize,
    ) -> Option<Inversion> {
        let WavePlan { tilt, expected, spacing, many, others } =
            WavePlan::of(sketch, target, tolerance, most)?;
        let all = Tilt::new(parts, tilt, many as f64 * spacing)?;
        let product = Product::of(spacing, many, &all.0, sketch.len() < parts.len());
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
        for (factor, n) in product.factors().iter().zip(1..) {
            found.add(factor, f64::from(n) * spacing);
        }
        let last = found.waves.iter().rposition(|wave| wave.norm_sqr() != 0.0);
        found.waves.truncate(last.map_or(0, |last| last + 1));
        found.error.is_finite().then_some(found)
    }
    /// Add the wave of one frequency.
    fn add(&mut self, factor: &Factor, frequency: f64) {
        let t = self.tilt;
        let kernel = Complex::new(t, frequency) * Complex::new(t + 1.0, frequency);
        let size = exp((factor.log * (1.0 - 1e-12)).max(-690.0)) / kernel.norm_sqr().sqrt();
        let size = size * (1.0 + 1e-9);
        // A negligible value may have become NaN.
        let nothing = factor.is_negligible();
        let wave = if nothing { Complex::new(0.0, 0.0) } else { factor.value / kernel };
        let relative = if nothing { 1.0 } else { (1.01 * factor.errors + 32.0 * U).min(2.0) };
        self.error += 2.0 * size * relative;
        self.size.0 += size;
        self.size.1 += size * frequency;
        self.waves.push(wave);
    }
    /// Return `M(t) e^(-t epsilon) / L`, rounded in a direction.
    fn factor(&self, epsilon: f64, sign: f64) -> f64 {
        let exponent = self.log.0 - self.tilt * epsilon;
        let error = self.log.1 + 8.0 * U * (self.log.0.abs() + (self.tilt * epsilon).abs());
        let exponent = exponent + sign * error;
        if sign < 0.0 && exponent < -690.0 {
            return 0.0;
        }
        let factor = exp(exponent.max(-690.0));
        factor * self.spacing / std::f64::consts::TAU * (1.0 + sign * 32.0 * U)
    }
    /// Return the sum of the waves at an epsilon, and a bound on its error.
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
        // The difference and its products with frequencies are rounded.
        let far = self.centre.1 + 4.0 * U * (self.centre.0.abs() + epsilon.abs());
        let rounding = self.size.0 * (4.0 * CIS_ERROR + U * self.waves.len() as f64);
        let error = self.error + 2.0 * (rounding + self.size.1 * far);
        (first + 2.0 * sum, error + 8.0 * U * (first + self.size.0))
    }
    /// Return the interval in which answers are searched.
    pub(super) fn window(&self) -> (f64, f64) {
        let half = std::f64::consts::PI / self.spacing;
        (self.expected - half, self.expected + half)
    }
    /// Bound delta from above.
    pub(super) fn delta_above(&self, epsilon: f64) -> f64 {
        let (sum, error) = self.sum(epsilon);
        let delta = self.factor(epsilon, 1.0) * (sum + error) + self.infinite;
        if (0.0..1.0).contains(&delta) { (delta * (1.0 + 8.0 * U)).max(1e-290) } else { 1.0 }
    }
    /// Bound delta from below. For a sketch this is an estimate.
    pub(super) fn delta_below(&self, epsilon: f64) -> f64 {
        let (sum, error) = self.sum(epsilon);
        let repeated: f64 = self.others.iter().map(|other| self.repeated(*other, epsilon)).sum();
        let delta = self.factor(epsilon, -1.0) * (sum - error) - repeated;
        if 0.0 <= delta { (delta * (1.0 - 8.0 * U)).min(1.0) } else { 0.0 }
    }
    /// Bound the repetitions on one side, by another tilt and its `ln M`.
    fn repeated(&self, (tilt, log): (f64, f64), epsilon: f64) -> f64 {
        let exponent = log - tilt * epsilon;
        let error = 8.0 * U * (log.abs() + (tilt * epsilon).abs());
        let length = std::f64::consts::TAU / self.spacing * (1.0 - 8.0 * U);
        let fall = exp_m1(((tilt - self.tilt).abs() * length * (1.0 - 8.0 * U)).min(690.0));
        exp((exponent + error).max(-690.0)) / fall * (1.0 + 64.0 * U)
    }
}

#[cfg(test)]
mod tests;
