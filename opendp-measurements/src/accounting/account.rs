//! An account of releases, and what it comes to.

use std::sync::Arc;

use opendp_core::arith::Directed;
use opendp_core::{Error, Result};

use super::convolution::Convolution;
use super::discrete_loss::DiscreteLoss;
use super::elementary::{exp, ln};
use super::pair::{DominatingPair, Grid};

/// A certified interval: the exact value of the dominating pairs is in it.
///
/// The upper end is what a map reports. The lower end says how much of it is due to computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certified {
    /// At most the exact value.
    pub lower: f64,
    /// At least the exact value.
    pub upper: f64,
}

/// Releases on the same data, each bounded by a dominating pair, composed as tightly as one likes.
///
/// ```
/// use opendp_measurements::accounting::{Account, LaplacePair};
/// use std::sync::Arc;
/// // 100 counts, each with Laplace noise of scale 10.
/// let account = Account::new().with(Arc::new(LaplacePair { epsilon: 0.1 }), 100);
/// let epsilon = account.epsilon(1e-5)?;
/// assert!(4.2202 < epsilon.lower && epsilon.upper < 4.2205, "{epsilon:?}"); // not 10, the sum
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Account {
    parts: Vec<(Arc<dyn DominatingPair>, u64)>,
    tolerance: f64,
}

impl Default for Account {
    fn default() -> Self {
        Account::new()
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
enum Target {
    Epsilon(f64),
    Delta(f64),
}

/// Which bound is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Above,
    Below,
}

/// How to compute it.
#[derive(Clone, Copy, Debug)]
struct Plan {
    tilt: f64,
    tail: f64,
    step: f64,
    centre: f64,
    /// Roughly where the answer is, as an epsilon.
    target: f64,
    /// What may be outside of the window.
    outside: f64,
    length: usize,
}

type Parts = Vec<(Arc<dyn DominatingPair>, u64)>;
type Losses = Vec<(Arc<DiscreteLoss>, u64)>;

/// The relative error of delta that the grid may cause, unless the grid would be too long.
const TOLERANCE: f64 = 1e-4;
/// Buckets of the first, coarse look at a pair.
const COARSE: f64 = 4096.0;
/// The lengths of transforms.
const SHORTEST: usize = 1 << 13;
const LONGEST: usize = 1 << 21;

impl Account {
    /// Begin without releases.
    pub fn new() -> Self {
        Account { parts: Vec::new(), tolerance: TOLERANCE }
    }
    /// Add `count` releases with one dominating pair. Equal pairs are joined.
    #[must_use]
    pub fn with(mut self, pair: Arc<dyn DominatingPair>, count: u64) -> Self {
        let name = format!("{pair:?}");
        let same = self.parts.iter_mut().find(|(other, _)| {
            Arc::ptr_eq(other, &pair) || (!name.is_empty() && format!("{other:?}") == name)
        });
        match same {
            Some((_, total)) => *total = total.saturating_add(count),
            None if count > 0 => self.parts.push((pair, count)),
            None => {}
        }
        self
    }
    /// Ask for a relative error of delta of about this much, from `10^-9` to 1. The default is
    /// `10^-4`. Smaller is slower. The bounds hold whatever it is.
    #[must_use]
    pub fn tolerating(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance.clamp(1e-9, 1.0);
        self
    }
    /// The pairs and how often each counts.
    pub fn parts(&self) -> &[(Arc<dyn DominatingPair>, u64)] {
        &self.parts
    }

    /// Enclose delta at an epsilon, in the worse of the two directions.
    ///
    /// # Errors
    /// `InvalidDistance` when epsilon is negative or NaN; `FailedMap` when there are too many
    /// releases, above `2^31` of one pair.
    pub fn delta(&self, epsilon: f64) -> Result<Certified> {
        Ok(Certified { upper: self.delta_above(epsilon)?, lower: self.delta_below(epsilon)? })
    }
    /// Bound delta at an epsilon from above.
    ///
    /// # Errors
    /// As [`delta`](Account::delta).
    pub fn delta_above(&self, epsilon: f64) -> Result<f64> {
        if self.most() <= epsilon {
            return Ok(0.0);
        }
        self.worst(|parts| self.delta_of(parts, epsilon, Side::Above))
    }
    /// Bound delta at an epsilon from below.
    ///
    /// # Errors
    /// As [`delta`](Account::delta).
    pub fn delta_below(&self, epsilon: f64) -> Result<f64> {
        self.worst(|parts| self.delta_of(parts, epsilon, Side::Below))
    }
    /// Enclose the smallest epsilon at which delta is at most the given one.
    ///
    /// # Errors
    /// `InvalidDistance` unless delta is from 0 to 1; `FailedMap` as for [`delta`](Account::delta).
    pub fn epsilon(&self, delta: f64) -> Result<Certified> {
        let (upper, lower) = (self.epsilon_above(delta)?, self.epsilon_below(delta)?);
        Ok(Certified { upper, lower: lower.min(upper) })
    }
    /// Bound the epsilon of a delta from above.
    ///
    /// # Errors
    /// As [`epsilon`](Account::epsilon).
    pub fn epsilon_above(&self, delta: f64) -> Result<f64> {
        let most = self.most();
        if delta == 0.0 {
            return Ok(most);
        }
        Ok(self.worst(|parts| self.epsilon_of(parts, delta, Side::Above))?.min(most))
    }
    /// The largest loss that there can be: basic composition, which is exact at delta 0.
    fn most(&self) -> f64 {
        let most = self.parts.iter().try_fold(0.0f64, |total, (pair, count)| {
            let most = pair.most();
            if most.is_finite() { total.inf_add((*count as f64).inf_mul(most)?) } else { Ok(most) }
        });
        most.unwrap_or(f64::INFINITY)
    }
    /// Bound the epsilon of a delta from below.
    ///
    /// # Errors
    /// As [`epsilon`](Account::epsilon).
    pub fn epsilon_below(&self, delta: f64) -> Result<f64> {
        self.worst(|parts| self.epsilon_of(parts, delta, Side::Below))
    }

    /// The larger value of the two directions, or of the one if all pairs are symmetric.
    fn worst(&self, value: impl Fn(&Parts) -> Result<f64>) -> Result<f64> {
        if self.parts.iter().any(|(_, count)| *count > 1 << 31) {
            return Err(Error::FailedMap("expected at most 2^31 releases of one kind".into()));
        }
        let forward = value(&self.parts)?;
        let mut symmetric = true;
        let backward: Parts = self
            .parts
            .iter()
            .map(|(pair, count)| match pair.reverse() {
                None => (pair.clone(), *count),
                Some(reverse) => {
                    symmetric = false;
                    (reverse, *count)
                }
            })
            .collect();
        if symmetric { Ok(forward) } else { Ok(forward.max(value(&backward)?)) }
    }

    fn delta_of(&self, parts: &Parts, epsilon: f64, side: Side) -> Result<f64> {
        if !(0.0 <= epsilon) {
            return Err(Error::InvalidDistance(format!(
                "epsilon: expected a number of at least 0, found {epsilon}"
            )));
        }
        let nothing = side == Side::Below && parts.iter().any(|(pair, _)| pair.only_above());
        if parts.is_empty() || nothing {
            return Ok(0.0);
        }
        let plan = self.plan(parts, Target::Epsilon(epsilon));
        let sum = self.convolve(parts, plan, side)?;
        Ok(match side {
            Side::Above => sum.delta_above(epsilon),
            Side::Below => sum.delta_below(epsilon),
        })
    }
    fn epsilon_of(&self, parts: &Parts, delta: f64, side: Side) -> Result<f64> {
        if !(0.0..=1.0).contains(&delta) {
            return Err(Error::InvalidDistance(format!(
                "delta: expected a number from 0 to 1, found {delta}"
            )));
        }
        let nothing = side == Side::Below && parts.iter().any(|(pair, _)| pair.only_above());
        if parts.is_empty() || nothing || delta == 1.0 {
            return Ok(0.0);
        }
        let plan = self.plan(parts, Target::Delta(delta));
        let sum = self.convolve(parts, plan, side)?;
        let bound = |epsilon: f64| match side {
            Side::Above => sum.delta_above(epsilon),
            Side::Below => sum.delta_below(epsilon),
        };
        // Far from where the answer is expected, bounds are poor. Look for it outward from there.
        let (first, last) = sum.window();
        let (first, last) = (first.max(0.0), last.max(0.0));
        let expected = plan.target.clamp(first, last);
        // `high` always has a bound of at most delta, and `low` one above delta.
        let (mut low, mut high) = (expected, expected);
        let mut by = (last - first) / 1024.0;
        while bound(low) <= delta {
            if low <= first {
                return Ok(if first == 0.0 || side == Side::Above { low } else { 0.0 });
            }
            (low, high) = ((low - by).max(first), low);
            by *= 2.0;
        }
        while delta < bound(high) {
            if high >= last {
                return Ok(if side == Side::Above { f64::INFINITY } else { high });
            }
            (low, high) = (high, (high + by).min(last));
            by *= 2.0;
        }
        loop {
            let middle = low + (high - low) / 2.0;
            if middle <= low || high <= middle {
                return Ok(if side == Side::Above { high } else { low });
            }
            if bound(middle) <= delta { high = middle } else { low = middle }
        }
    }

    /// Discretise and convolve, on a longer window as long as too much is outside.
    fn convolve(&self, parts: &Parts, plan: Plan, side: Side) -> Result<Convolution> {
        let mut plan = plan;
        loop {
            let losses = discretise(parts, plan.step, plan.tail, side);
            let sum = Convolution::new(&losses, plan.tilt, plan.centre, plan.length, plan.outside)?;
            if sum.outside() <= 2.0 * plan.outside || plan.length >= 2 * LONGEST {
                return Ok(sum);
            }
            plan.length *= 2;
            if plan.length > LONGEST {
                plan.step *= 2.0;
            }
        }
    }

    /// Choose the tilt, the tails, the step and the window. Nothing here needs to be exact.
    fn plan(&self, parts: &Parts, target: Target) -> Plan {
        let count: f64 = parts.iter().map(|(_, count)| *count as f64).sum();
        let mut tail = match target {
            Target::Delta(delta) => (delta * 1e-7).max(1e-280) / count,
            Target::Epsilon(_) => 1e-16 / count,
        };
        let mut found = look(&coarse(parts, tail), target);
        if let Target::Epsilon(_) = target {
            for _ in 0..6 {
                let wanted = (found.delta * 1e-7).max(1e-280) / count;
                if tail <= wanted * 10.0 {
                    break;
                }
                tail = wanted;
                found = look(&coarse(parts, tail), target);
            }
        }
        // Connecting the dots adds up to h^2 / 6 to the variance of each loss. The logarithm of
        // delta grows by half the added variance times t (t + 1), or 1 / variance if t is small.
        let variance = found.variance.max(1e-300);
        let sharpness = (found.tilt * (found.tilt + 1.0) / 2.0).max(0.5 / variance);
        let fine = (6.0 * self.tolerance / (count * sharpness)).sqrt();
        let window = self.window(&coarse(parts, tail), &found, count);
        let width = window.high - window.low + 16.0 * fine;
        let length = (width / fine).clamp(SHORTEST as f64, LONGEST as f64) as usize;
        let length = length.next_power_of_two();
        // Neither finer than is of use, nor so fine that one loss alone has too many buckets.
        let widest = parts.iter().map(|(pair, _)| pair.range(tail)).map(|(low, high)| high - low);
        let widest = widest.fold(0.0, f64::max).min(2.0 * Grid::REACH);
        let mut step = (width / length as f64).max(fine / 64.0).max(widest / LONGEST as f64);
        // Atoms that are on the grid are not spread. Their step decides, if there is only one.
        let units: Vec<f64> = parts.iter().filter_map(|(pair, _)| pair.unit()).collect();
        let unit = units.iter().copied().fold(f64::INFINITY, f64::min);
        let multiple = |other: &f64| (other / unit - (other / unit).round()).abs() < 1e-12;
        if 0.0 < unit && step < unit && unit.is_finite() && units.iter().all(multiple) {
            step = unit / (unit / step).ceil();
        }
        let centre = (window.low + window.high) / 2.0;
        Plan {
            tilt: window.tilt,
            tail,
            step,
            centre,
            target: found.centre,
            outside: window.outside,
            length,
        }
    }
    /// Choose the tilt with the narrowest window.
    ///
    /// The tilt of the saddle point makes all errors relative to delta. It may also make a sum
    /// with rare large losses very wide. A smaller one will do if delta is so large that the errors
    /// that it multiplies stay small.
    fn window(&self, losses: &Losses, found: &Look, count: f64) -> Window {
        let base = ln(found.delta.max(1e-300));
        let at = |tilt: f64| {
            let now = cumulants(losses, tilt);
            // How much larger than delta the errors are.
            let excess = (now.0 - tilt * found.centre - base).max(0.0);
            let outside = 0.05 * self.tolerance * exp(-excess);
            let needed = -ln(outside);
            let side = |sign: f64| {
                let guess = (2.0 * needed / now.2.max(1e-300)).sqrt();
                let reach = |by: f64| {
                    let by = sign
                        * by.min(600.0 / losses.iter().map(|(l, _)| l.step).fold(1e-3, f64::max));
                    let other = cumulants(losses, tilt + by);
                    sign * ((other.0 - now.0 + needed) / by - now.1)
                };
                let best = [1.3, 1.0, 0.6, 0.3, 0.1].map(|share| reach(share * guess));
                best.into_iter().filter(|x| x.is_finite() && *x > 0.0).fold(f64::INFINITY, f64::min)
            };
            let ends = |end: fn(&DiscreteLoss) -> f64| -> f64 {
                losses.iter().map(|(loss, k)| *k as f64 * end(loss)).sum()
            };
            let least = ends(|loss| loss.loss(0));
            let most = ends(|loss| loss.loss(loss.mass.len() - 1));
            let low = (now.1 - side(-1.0)).max(least);
            let high = (now.1 + side(1.0)).min(most);
            let usable = excess < ln(1e-3 * self.tolerance / (count.max(10.0) * 1e-13));
            let high = high.max(found.centre + 0.02 * (high - low));
            let low = low.min(found.centre - 0.02 * (high - low));
            (usable, Window { tilt, low, high, outside })
        };
        let mut best = at(found.tilt).1;
        for share in [0.75, 0.5, 0.25, 0.0] {
            let (usable, window) = at(found.tilt * share);
            if usable && window.high - window.low < 0.8 * (best.high - best.low) {
                best = window;
            }
        }
        best
    }
}

/// A tilt, and where the tilted sum is.
struct Window {
    tilt: f64,
    low: f64,
    high: f64,
    /// What may be outside.
    outside: f64,
}

/// The cumulant of a sum, and its first two derivatives.
fn cumulants(losses: &Losses, tilt: f64) -> (f64, f64, f64) {
    losses.iter().fold((0.0, 0.0, 0.0), |(a, b, c), (loss, count)| {
        let (log, mean, variance) = loss.cumulant(tilt);
        let k = *count as f64;
        (a + k * log, b + k * mean, c + k * variance)
    })
}

/// What a coarse look finds.
struct Look {
    tilt: f64,
    centre: f64,
    variance: f64,
    delta: f64,
}

fn coarse(parts: &Parts, tail: f64) -> Losses {
    let one = |(pair, count): &(Arc<dyn DominatingPair>, u64)| {
        let (low, high) = pair.range(tail);
        let step = ((high - low) / COARSE).max(1e-12);
        let grid = Grid::covering(step, low, high);
        (Arc::new(DiscreteLoss::above(&pair.buckets(&grid), &grid)), *count)
    };
    parts.iter().map(one).collect()
}

fn discretise(parts: &Parts, step: f64, tail: f64, side: Side) -> Losses {
    let one = |(pair, count): &(Arc<dyn DominatingPair>, u64)| {
        let (low, high) = pair.range(tail);
        let grid = Grid::covering(step, low, high);
        let buckets = pair.buckets(&grid);
        let loss = match side {
            Side::Above => DiscreteLoss::above(&buckets, &grid),
            Side::Below => DiscreteLoss::below(&buckets, &grid),
        };
        (Arc::new(loss), *count)
    };
    parts.iter().map(one).collect()
}

/// Find the saddle point: the tilt that puts the mean of the sum where the question is.
fn look(losses: &Losses, target: Target) -> Look {
    let at = |tilt: f64| {
        let (log, mean, variance) = cumulants(losses, tilt);
        // The saddle-point estimate of delta.
        let spread = (std::f64::consts::TAU * variance).sqrt();
        let delta = log - tilt * mean - ln(1.0 + tilt * (tilt + 1.0) * spread);
        Look { tilt, centre: mean, variance, delta: exp(delta.clamp(-690.0, 0.0)) }
    };
    let enough = |look: &Look| match target {
        Target::Epsilon(epsilon) => look.centre >= epsilon,
        Target::Delta(delta) => look.delta <= delta.max(1e-290),
    };
    let mut high = 1.0;
    let mut found = at(0.0);
    if enough(&found) {
        return found;
    }
    let mut low = 0.0;
    for _ in 0..24 {
        found = at(high);
        // The last condition: the tilted sum is a single point, the largest.
        if enough(&found) || found.variance * high * high < 1e-3 {
            break;
        }
        low = high;
        high *= 2.0;
    }
    for _ in 0..7 {
        let middle = (low + high) / 2.0;
        found = at(middle);
        if enough(&found) { high = middle } else { low = middle }
    }
    found
}
