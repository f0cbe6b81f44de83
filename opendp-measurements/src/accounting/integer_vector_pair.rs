//! Discrete Gaussian noise on vectors of integers.

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, OnceLock};

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat, InfCast};

use super::elementary::{U, exp, exp_m1, sum};
use super::enclosed_pair::{Between, EnclosedPair, LEAST_SCALE, continuous, roughness, smoothing};
use super::outputs::Outputs;
use super::pair::{Buckets, DominatingPair, Grid};
use crate::collected::Collected;

/// A pair that bounds the loss of a vector of integers with discrete Gaussian noise of scale `s`.
/// The bound holds for all shifts. A shift is the difference between the vectors of two neighbours.
/// The bound holds except for an event of small probability, the failure: see `enclosed`.
///
/// Let `D` be the square of the L2 distance. For a step `g`, let `U` be a random multiple of `g`.
/// Each multiple `u` has a probability proportional to `e^(-u^2 / (2 s^2 D))`. The pair of the laws
/// of `U + D` and `U` has the loss `(D + 2 u) / (2 s^2)` at the output `u + D`. So the losses of
/// all steps are on one lattice. Between the points of the lattice, each profile is linear in
/// `e^epsilon`. At each point, take the largest of the profiles of all steps. These maxima are
/// convex in `e^epsilon`. Between the points, interpolate the maxima linearly in `e^epsilon`. The
/// result is the profile of a measure on the lattice. This profile is at least the profile of each
/// step.
#[derive(Clone)]
pub struct IntegerVectorPair {
    /// `D`, the square of the L2 distance.
    square: u64,
    scale: f64,
    /// The steps `g`. The square of each step divides `D`.
    steps: Vec<u64>,
    outputs: OnceLock<Arc<Computed>>,
}

/// The losses, each with its mass under `P` and its mass under `Q`.
struct Computed {
    list: Vec<(f64, f64, f64)>,
    /// A bound on the relative error of the masses.
    relative: f64,
    /// A bound on the mass of `P` that is omitted at low losses.
    missing: f64,
}

impl fmt::Debug for IntegerVectorPair {
    /// Write only the parameters in the `Debug` text, without computed values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IntegerVectorPair { square, scale, steps, .. } = self;
        write!(f, "IntegerVectorPair {{ square: {square}, scale: {scale:?}, steps: {steps:?} }}")
    }
}

/// Divide the distance between a value of the noise and the centre by the scale. If the quotient is
/// above this number, the value has a probability below `e^-699.3`.
const REACH: f64 = 37.4;

impl IntegerVectorPair {
    /// The largest allowed probability of a failure (the `f` of the theorem at
    /// [`enclosed`](IntegerVectorPair::enclosed)). The probability of a failure is added to delta.
    const MOST_FAILURE: f64 = 1e-7;
    /// The largest allowed number of listed losses, added up over all steps.
    const MOST_LOSSES: f64 = 2e6;

    /// Return two pairs that bound the loss of one release from above and from below. The release
    /// is a vector of integers with discrete Gaussian noise of a given scale. The difference of two
    /// neighbours is a vector of integers whose squares add up to at most `square`. `square` is at
    /// least 1.
    ///
    /// Return `None` if the scale is too small, if the distance is at least about `sqrt(2)` times
    /// the scale, or if too many losses must be listed.
    ///
    /// # Theorem
    /// Let `x` and `x + s` be the true vectors of integers on two neighbours. Numbers that are
    /// equal in both vectors reveal nothing. So assume that there are as many such numbers as
    /// needed. If some of these numbers differ by 1 instead, the loss does not become smaller. So
    /// let `m` numbers differ, and let the squares of the numbers in `s` add up to `D = square`.
    /// Then `m <= D`. Let `g` be the greatest common divisor of the numbers in `s`, so `g^2`
    /// divides `D`. Let `P` be the law of the release on `x + s`, and `Q` the law of the release on
    /// `x`. Let `s . y` be the sum of all `s_i y_i`. At the output `x + y`, the loss is
    /// `(2 s . y - D) / (2 scale^2)`. So the loss depends on `s . y` alone.
    ///
    /// *The law of `s . Y`.* Let `Y` be the noise. [`IntegerVectorPair`] defines the law of `U` at
    /// the step `g`. Claim: `s . Y` has this law, up to a factor between `1 - f` and its inverse.
    /// The proof below defines `f`. The numbers of `s` are added one after the other. Take the
    /// numbers of `s` that are already added. Let `A` be the sum of their squares, and `h` their
    /// greatest common divisor. Let `T` be the sum of `s_i Y_i / h` over these numbers. Suppose
    /// that `T` is discrete Gaussian of scale `scale sqrt(A) / h`. Let `k` be the next number, and
    /// `h'` the greatest common divisor of `h` and `k`. Let `t` be a value of `T`, and `y` a value
    /// of the next noise. For an integer `u`, the pairs of integers `(t, y)` with
    /// `(h t + k y) / h' = u` lie on a line. Number these pairs by all integers `i`. Let
    /// `w = scale^2 h'^2 A / (h^2 (A + k^2))`. For some real number `c`, the logarithm of the
    /// probability of a pair is `-u^2 h'^2 / (2 scale^2 (A + k^2)) - (i - c)^2 / (2 w)`, up to a
    /// constant. Let `r` be the sum of `e^(-2 pi^2 w i^2)` over all integers `i` except 0. By
    /// Poisson's summation, the sum of the probabilities is the integral over real `i`, times a
    /// factor in `[1 - r, 1 + r]`. Let `T'` be the sum that includes the next number, divided by
    /// `h'`. So `T'` is discrete Gaussian of scale `scale sqrt(A + k^2) / h'`, up to a factor
    /// between `(1 - r) / (1 + r)` and its inverse. Let `f` be the sum of `1 - (1 - r) / (1 + r)`
    /// over all additions. The product of all `(1 - r) / (1 + r)` is at least `1 - f`. The
    /// following bounds on `w` give a bound on `f`. There are `m - 1` additions. Begin with the
    /// largest number. Then `k^2 <= A`. So if `h' = h`, then `w` is at least `scale^2 / 2`. If
    /// `h' < h`, then `w` is at least `scale^2 / D`, because `h' >= 1`, `A >= h^2` and
    /// `A + k^2 <= D`. The first `h` is at most `sqrt(D)`, and each addition with `h' < h` divides
    /// `h` by at least 2. So there are at most `log2(sqrt(D))` such additions.
    ///
    /// So the law of `s . y` under `P` is `1 - f` times the law of `U + D`, plus `f` times some
    /// other law. The law of `s . y` under `Q` is `1 - f` times the law of `U`, plus `f` times some
    /// other law. The steps `g` are the numbers whose squares divide `D`. At each epsilon, the
    /// largest of the profiles of all steps is used. If the vectors have too few numbers, there is
    /// no vector `s` for some `g`. The bound can then be a little too large.
    ///
    /// # Errors
    /// `Overflow` when a quotient is not finite.
    pub(super) fn enclosed(square: u64, scale: f64) -> Result<Option<EnclosedPair>> {
        let ratio = f64::inf_cast(square)?.inf_div(scale)?.inf_div(scale)?;
        if !(0.0 < ratio && ratio < 2.0) || scale < 1.0 {
            return Ok(None);
        }
        let half = roughness((scale * (scale / 2.0) * (1.0 - 1e-12)).max(0.25));
        let falls = f64::from(square.ilog2() / 2).inf_mul(roughness(1f64.neg_inf_div(ratio)?))?;
        let failure = f64::inf_cast(square - 1)?.inf_mul(half)?.inf_add(falls)?;
        if Self::MOST_FAILURE < failure {
            return Ok(None);
        }
        let divides = |step: &u64| square.is_multiple_of(step * step);
        let steps: Vec<u64> = (1..=square.isqrt()).filter(divides).collected();
        if Self::MOST_LOSSES < 75.0 * scale * (square as f64).sqrt() * steps.len() as f64 {
            return Ok(None);
        }
        let pair_of = |steps| Arc::new(IntegerVectorPair::new(square, scale, steps));
        let (above, below) = (pair_of(steps), pair_of(vec![1]));
        let rho = Some(ratio.inf_div(2.0)?);
        let pair = EnclosedPair::new(above, Some(below), failure, rho);
        Ok(Some(pair.of_integers(f64::inf_cast(square)?, scale)))
    }
    fn new(square: u64, scale: f64, steps: Vec<u64>) -> Self {
        IntegerVectorPair { square, scale, steps, outputs: OnceLock::new() }
    }
    /// Return `s^2 D` as a float, where `s` is the scale and `D` is the square of the distance.
    fn variance(&self) -> f64 {
        self.scale * self.scale * self.square as f64
    }
    fn last(&self) -> i64 {
        (REACH * self.variance().sqrt()).ceil() as i64 + 1
    }
    /// Return the loss `(D + 2 u) / (2 s^2)` at the output `u + D`. Here `s` is the scale, and `D`
    /// is the square of the distance.
    fn loss(&self, u: i64) -> f64 {
        (self.square as f64 + 2.0 * u as f64) / (2.0 * self.scale * self.scale)
    }
    /// For one step, return two masses at the loss of each `u`. The mass of `P` is the probability
    /// of `U = u`. The mass of `Q` is the probability of `U = u + D`.
    fn masses(&self, step: u64) -> Vec<(f64, f64)> {
        let (last, variance, step) = (self.last(), self.variance(), step as i64);
        let weight = |u: i64| exp(-((u as f64) * (u as f64) / variance) / 2.0);
        let weights: Vec<f64> = (-last..=last).filter(|u| u % step == 0).map(weight).collected();
        let total = sum(&weights);
        let shift = self.square as i64;
        let mass = |u: i64| match u % step {
            0 => (weight(u) / total, weight(u + shift) / total),
            _ => (0.0, 0.0),
        };
        (-last..=last).map(mass).collected()
    }
    fn compute(&self) -> Computed {
        let last = self.last();
        let losses: Vec<f64> = (-last..=last).map(|u| self.loss(u)).collected();
        // Exponents of up to 700 in magnitude have a relative error of 4 u, where u is the unit
        // roundoff. A sum of `n` terms has a relative error of at most `n u`.
        let relative = U * (8192.0 + 16.0 * losses.len() as f64);
        if let [step] = self.steps[..] {
            let masses = losses.iter().zip(self.masses(step));
            let list = masses.map(|(loss, (p, q))| (*loss, p, q)).collected();
            // The listed masses add up to 1, so no mass of `P` is omitted.
            return Computed { list, relative, missing: 0.0 };
        }
        let lattice = Lattice::new(&losses, self.scale);
        let mut largest = Profile { delta: vec![0.0; losses.len()], rest: vec![0.0; losses.len()] };
        for step in &self.steps {
            let masses: Vec<f64> = self.masses(*step).into_iter().map(|(_, q)| q).collected();
            largest.raise(&lattice.profile(&masses));
        }
        let masses = lattice.masses(&largest);
        let list: Vec<(f64, f64, f64)> = losses
            .iter()
            .zip(&lattice.ratios)
            .zip(&masses)
            .map(|((loss, ratio), q)| (*loss, q * ratio, *q))
            .collected();
        let p: Vec<f64> = list.iter().map(|(_, p, _)| *p).collected();
        let missing = (1.0 - sum(&p) * (1.0 - relative)).max(0.0);
        Computed { list, relative, missing }
    }
    fn listed(&self) -> &Computed {
        self.outputs.get_or_init(|| Arc::new(self.compute()))
    }
}

/// The points of a lattice of losses. For each point, the number `r = e^loss` is stored.
struct Lattice {
    ratios: Vec<f64>,
    /// The quotient of the values of `r` at adjacent points, minus 1.
    growth: f64,
    /// The index of the first point with a loss of at least 0.
    middle: usize,
}

/// The values of a profile at the points of a lattice. Let `r` be `e^loss` at a point. The values
/// are delta, and the difference `rest`, which is `delta - (1 - r)`.
///
/// At high losses delta is small, and at low losses `rest` is small. Computing with the smaller
/// number avoids cancellation.
struct Profile {
    delta: Vec<f64>,
    rest: Vec<f64>,
}

impl Lattice {
    fn new(losses: &[f64], scale: f64) -> Lattice {
        Lattice {
            ratios: losses.iter().map(|loss| exp(*loss)).collected(),
            growth: exp_m1(1.0 / (scale * scale)),
            middle: losses.partition_point(|loss| *loss < 0.0),
        }
    }
    /// Return the profile at each point. The argument `masses` lists the masses of `Q` at the
    /// points. Let `r` be `e^loss` at a point. Every term of the sums is positive. For two adjacent
    /// points, let `d` be the difference of the two values of `r`. From a point to the previous
    /// point, delta grows by `d` times the mass of `Q` above the lower point. From a point to the
    /// next point, `rest` grows by `d` times the mass of `Q` below the higher point.
    fn profile(&self, masses: &[f64]) -> Profile {
        let (mut delta, mut above, mut rest, mut below) = (0.0, 0.0, 0.0, 0.0);
        let points = self.ratios.iter().zip(masses);
        let mut deltas: Vec<f64> = points
            .clone()
            .rev()
            .map(|(ratio, mass)| {
                delta += ratio * self.growth * above;
                above += mass;
                delta
            })
            .collected();
        deltas.reverse();
        let rests = points.map(|(ratio, mass)| {
            rest += ratio * self.growth / (1.0 + self.growth) * below;
            below += mass;
            rest
        });
        Profile { rest: rests.collected(), delta: deltas }
    }
    /// Return masses of `Q` at the points. The profile of these masses is the given profile, or a
    /// slightly larger profile.
    fn masses(&self, profile: &Profile) -> Vec<f64> {
        let entry = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(0.0);
        // The profile is a function of `r = e^loss`. The mass of Q below a point is the slope of
        // `rest` in `r` before this point. The mass of Q above a point is minus the slope of delta
        // in `r` after this point.
        let width = |i: usize| entry(&self.ratios, i) * self.growth;
        let below = |i: usize| match i {
            0 => 0.0,
            i => (entry(&profile.rest, i) - entry(&profile.rest, i - 1)) / width(i - 1),
        };
        let above = |i: usize| match entry(&profile.delta, i) - entry(&profile.delta, i + 1) {
            _ if i + 1 >= self.ratios.len() => 0.0,
            less => less / width(i),
        };
        let mass = |i: usize| match i.cmp(&self.middle) {
            Ordering::Less => below(i + 1) - below(i),
            Ordering::Equal => 1.0 - below(i) - above(i),
            Ordering::Greater => above(i - 1) - above(i),
        };
        let masses: Vec<f64> = (0..self.ratios.len()).map(|i| mass(i).max(0.0)).collected();
        // Rounding can lower some values of the profile. So all masses are enlarged by one factor.
        let found = self.profile(&masses).delta;
        let pairs = profile.delta.iter().zip(&found).filter(|(wanted, _)| 1e-290 < **wanted);
        let more = pairs.map(|(wanted, found)| wanted / found).fold(1.0, f64::max);
        masses.into_iter().map(|mass| mass * more).collected()
    }
}

impl Profile {
    /// Replace each value by the value of the other profile, if the other profile's value is
    /// larger.
    fn raise(&mut self, other: &Profile) {
        let raise = |list: &mut [f64], other: &[f64]| {
            for (value, other) in list.iter_mut().zip(other) {
                *value = value.max(*other);
            }
        };
        raise(&mut self.delta, &other.delta);
        raise(&mut self.rest, &other.rest);
    }
}

/// Join `count` equal releases: enclose all of them by one release. Each release has the noise `U`
/// at one step `g`. [`IntegerVectorPair`] defines `U` and `g`.
///
/// # Theorem
/// Let `n` be `count`. The loss of the `n` releases depends only on the sum of their outputs. Add
/// the outputs one after the other. The theorem at [`enclosed`](IntegerVectorPair::enclosed) adds
/// numbers in the same way. Let `s` be the scale, and `D` the square of the L2 distance between
/// neighbours. In units of `g`, the noise has the scale `s sqrt(D) / g`. After `i` releases are
/// joined, the `w` of that theorem is `s^2 D i / (g^2 (i + 1))`. This value is at least half of
/// `s^2 D / g^2`. So the sum of the noise is discrete Gaussian, up to the factors of that theorem.
/// [`Between`] describes the failure that covers these factors. The true sum differs by `n D`
/// between neighbours. The result is one release with the square `n D`. If the scale of this
/// release is large, continuous noise encloses the release, by the theorem at
/// [`EnclosedPair::gaussian`] for one number.
pub(super) fn joined(square: u64, scale: f64, step: u64, count: u64) -> Result<Option<Between>> {
    let (steps, number) = (f64::inf_cast(step)?, f64::inf_cast(count)?);
    // The scale of `U`, divided by the step.
    let spread = scale * (f64::inf_cast(square)?.neg_inf_sqrt()? / steps) * (1.0 - 1e-12);
    let failure = match count {
        1 => 0.0,
        _ => (number - 1.0).inf_mul(roughness((spread * spread / 2.0).max(0.25)))?,
    };
    if spread * spread < 0.5 || JOINED_FAILURE < failure {
        return Ok(None);
    }
    let spread = spread * number.neg_inf_sqrt()? * (1.0 - 1e-12);
    let Some(all) = square.checked_mul(count) else { return Ok(None) };
    if spread < LEAST_SCALE {
        let pair = || Arc::new(IntegerVectorPair::new(all, scale, vec![step]));
        let between = || Between { above: pair(), below: Some(pair()), times: 1, failure };
        return Ok((1 < count).then(between));
    }
    let more = f64::inf_cast(all)?.inf_sqrt()?.inf_div(scale)?;
    let less = f64::neg_inf_cast(all)?.neg_inf_sqrt()?.neg_inf_div(scale)?;
    let variance = smoothing(spread);
    let part = variance.inf_div(spread)?.inf_div(spread)?;
    let (above, below) = continuous(more, less, part)?;
    let failure = roughness(0.99 * variance).inf_add(failure)?;
    Ok(Some(Between { above: Arc::new(above), below: Some(Arc::new(below)), times: 1, failure }))
}
/// The largest allowed probability of a failure if releases are joined. The probability of a
/// failure is added to delta.
const JOINED_FAILURE: f64 = 1e-20;

impl DominatingPair for IntegerVectorPair {
    fn range(&self, tail: f64) -> (f64, f64) {
        let z = super::gaussian_pair::deviations(tail) * self.variance().sqrt();
        let z = z.ceil() as i64 + 1 + self.steps.last().map_or(1, |step| *step as i64);
        (self.loss(-z), self.loss(z))
    }
    fn buckets(&self, grid: &Grid) -> Buckets {
        let outputs = self.listed();
        let largest = self.loss(self.last()).abs();
        let mut buckets = Buckets::empty(grid, outputs.relative, 16.0 * U * largest);
        for &(loss, p, q) in outputs.list.iter().filter(|(_, p, _)| 0.0 < *p) {
            buckets.atom(grid, loss, p, q);
        }
        buckets.below += outputs.missing;
        buckets.above += 1e-290;
        buckets
    }
    fn outputs(&self) -> Option<Outputs> {
        if Outputs::MOST as i64 <= 2 * self.last() {
            return None;
        }
        let (list, shift) = (self.listed(), 16.0 * U * self.loss(self.last()).abs());
        Outputs::of(list.list.iter().copied(), list.relative, shift, 1e-290)
    }
    fn only_above(&self) -> bool {
        1 < self.steps.len()
    }
    fn between(&self, count: u64) -> Option<Between> {
        match self.steps[..] {
            [step] => joined(self.square, self.scale, step, count).ok().flatten(),
            _ => None,
        }
    }
    fn concentrated(&self) -> Option<f64> {
        let ratio = f64::inf_cast(self.square).ok()?.inf_div(self.scale).ok()?;
        ratio.inf_div(self.scale).ok()?.inf_div(2.0).ok()
    }
    fn integer_gaussian(&self) -> Option<(f64, f64)> {
        Some((f64::inf_cast(self.square).ok()?, self.scale))
    }
    fn unit(&self) -> Option<f64> {
        let whole = 1.0 / (self.scale * self.scale);
        Some(if self.square.is_multiple_of(2) { whole } else { whole / 2.0 })
    }
}

#[cfg(test)]
mod tests;
