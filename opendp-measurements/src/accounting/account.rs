//! Accounts of releases, and their total loss.

use std::collections::HashMap;
use std::sync::Arc;

use opendp_core::arith::{Directed, InfCast, shown};
use opendp_core::{Error, Result};

use super::integer_game::IntegerGame;
use super::integer_sum::delta_of_sum;
use super::inversion::Target;
use super::pair::{DominatingPair, LogConcaveNoise};
use super::plan::{PairCount, on_grid};
use super::simplified::{Simplified, reveals};
use super::threads::divided;
use super::{ConcentratedPair, concentrated_delta, concentrated_epsilon};

mod rho;
#[cfg(test)]
pub(super) mod tests;
mod waves;

/// A certified interval. The interval contains the exact delta or epsilon of the dominating pairs.
///
/// A privacy map reports the upper end of the interval. The distance between the two ends bounds
/// the error of the computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certified {
    /// The lower end: at most the exact value.
    pub lower: f64,
    /// The upper end: at least the exact value.
    pub upper: f64,
}

/// The composition of releases on the same data. A dominating pair bounds the loss of each release.
/// The caller can choose the relative error of delta: see [`tolerating`](Account::tolerating).
///
/// ```
/// use opendp_measurements::accounting::{Account, LaplacePair};
/// use std::sync::Arc;
/// // 100 counts, each with Laplace noise of scale 10.
/// let account = Account::new().with(Arc::new(LaplacePair { epsilon: 0.1 }), 100);
/// let epsilon = account.epsilon(1e-5)?;
/// // The sum of all epsilons is 10.
/// assert!(4.2202 < epsilon.lower && epsilon.upper < 4.2205, "{epsilon:?}");
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Account {
    parts: Vec<(Arc<dyn DominatingPair>, u64)>,
    /// The name of each pair: its `Debug` text, or its address if the text is empty.
    names: Vec<Arc<str>>,
    /// For each name, the index of the pair with this name.
    places: HashMap<Arc<str>, usize>,
    tolerance: f64,
}

impl Certified {
    fn of(self, side: Side) -> f64 {
        match side {
            Side::Above => self.upper,
            Side::Below => self.lower,
        }
    }
}

impl Default for Account {
    fn default() -> Self {
        Account::new()
    }
}

/// The direction of a bound: from above or from below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Side {
    Above,
    Below,
}

/// The default tolerance: the largest relative error of delta that a grid may cause. A grid is a
/// list of losses at equal distances. If a grid with this error has too many points, a coarser grid
/// is used, and the error is larger.
const TOLERANCE: f64 = 1e-4;

/// If an account has at least this number of different pairs, a computation on a grid takes too
/// long.
pub(super) const MANY: usize = 16;
/// Bounds on delta that are tried if the computation at an epsilon gives no bound.
const FAR_DELTAS: [f64; 4] = [1e-6, 1e-30, 1e-100, 1e-250];

impl Account {
    /// Create an account without releases.
    pub fn new() -> Self {
        Account {
            parts: Vec::new(),
            names: Vec::new(),
            places: HashMap::new(),
            tolerance: TOLERANCE,
        }
    }
    /// Add `count` releases that all have the same dominating pair. Equal pairs are joined. Pairs
    /// for which only a zero-concentrated loss is known are also joined.
    #[must_use]
    pub fn with(mut self, pair: Arc<dyn DominatingPair>, count: u64) -> Self {
        if 0 < count {
            let name = match format!("{pair:?}") {
                // A pair with an empty `Debug` text equals only itself.
                name if name.is_empty() => format!("{:p}", Arc::as_ptr(&pair)),
                name => name,
            };
            self.add(pair, count, name.into());
        }
        self
    }
    /// Add all releases of another account.
    pub(super) fn join(&mut self, other: &Account) {
        for ((pair, count), name) in other.parts.iter().zip(&other.names) {
            self.add(pair.clone(), *count, name.clone());
        }
    }
    fn add(&mut self, pair: Arc<dyn DominatingPair>, count: u64, name: Arc<str>) {
        if let Some(rho) = rho::concentrated(&pair, count) {
            return self.add_rho(rho, pair, name);
        }
        match self.places.get(&name).and_then(|place| self.parts.get_mut(*place)) {
            Some((_, total)) => *total = total.saturating_add(count),
            None => self.push(pair, count, name),
        }
    }
    fn push(&mut self, pair: Arc<dyn DominatingPair>, count: u64, name: Arc<str>) {
        self.places.insert(name.clone(), self.parts.len());
        self.parts.push((pair, count));
        self.names.push(name);
    }
    /// Set the desired relative error of delta, from `10^-9` to 1. The default is `10^-4`. The
    /// computation is slower for a smaller relative error. The bounds are valid for every choice.
    #[must_use]
    #[inline]
    pub fn tolerating(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance.clamp(1e-9, 1.0);
        self
    }
    /// Return the name of each pair: its `Debug` text, or its address if the text is empty.
    pub(super) fn names(&self) -> &[Arc<str>] {
        &self.names
    }
    /// Return the pairs, each with its number of releases.
    pub fn parts(&self) -> &[(Arc<dyn DominatingPair>, u64)] {
        &self.parts
    }

    /// Enclose delta at an epsilon. Delta is computed for the pairs, and for the reversed pairs, in
    /// which the two distributions are exchanged. The result encloses the larger of the two deltas.
    ///
    /// # Errors
    /// `InvalidDistance` when epsilon is negative or NaN; `FailedMap` when one pair has more than
    /// `2^31` releases, or when the losses do not fit a grid.
    #[inline]
    pub fn delta(&self, epsilon: f64) -> Result<Certified> {
        Ok(Certified { upper: self.delta_above(epsilon)?, lower: self.delta_below(epsilon)? })
    }
    /// Return an upper bound on delta at an epsilon.
    ///
    /// # Errors
    /// The errors of [`delta`](Account::delta).
    pub fn delta_above(&self, epsilon: f64) -> Result<f64> {
        check_epsilon(epsilon)?;
        let largest = self.most();
        if largest <= epsilon && largest.is_finite() {
            return Ok(0.0);
        }
        if let Some(rho) = self.only_rho() {
            return concentrated_delta(rho, epsilon);
        }
        let known = self.rho().and_then(|rho| concentrated_delta(rho, epsilon).ok());
        // Delta at an infinite epsilon is at most delta at any finite epsilon. So use the largest
        // float in place of an infinite epsilon.
        let epsilon = epsilon.min(f64::MAX);
        let sum = self.of_sum(epsilon);
        if let (Some(sum), [(_, 2..)]) = (sum, &self.parts[..])
            && 1e-30 < sum
        {
            // The relative error of the sum is at most about 10^-12 plus rounding. So no other
            // bound can be much smaller than the sum.
            return Ok(known.map_or(sum, |known| known.min(sum)));
        }
        let delta = self.worst(&|parts| self.delta_of(parts, epsilon, Side::Above))?;
        let delta = known.map_or(delta, |known| known.min(delta));
        let delta = sum.map_or(delta, |sum| sum.min(delta));
        Ok(self.game(delta).map_or(delta, |game| game.delta(epsilon).min(delta)))
    }
    /// Return a lower bound on delta at an epsilon.
    ///
    /// # Errors
    /// The errors of [`delta`](Account::delta).
    pub fn delta_below(&self, epsilon: f64) -> Result<f64> {
        self.worst(&|parts| self.delta_of(parts, epsilon, Side::Below))
    }
    /// Enclose the smallest epsilon at which delta is at most the given delta.
    ///
    /// # Errors
    /// `InvalidDistance` when delta is not from 0 to 1; `FailedMap` as for
    /// [`delta`](Account::delta).
    #[inline]
    pub fn epsilon(&self, delta: f64) -> Result<Certified> {
        let (upper, lower) = (self.epsilon_above(delta)?, self.epsilon_below(delta)?);
        Ok(Certified { upper, lower: lower.min(upper) })
    }
    /// Return an upper bound on the smallest epsilon at which delta is at most the given delta.
    ///
    /// # Errors
    /// The errors of [`epsilon`](Account::epsilon).
    pub fn epsilon_above(&self, delta: f64) -> Result<f64> {
        let largest = self.most();
        if delta == 0.0 {
            return Ok(largest);
        }
        if let Some(rho) = self.only_rho() {
            return concentrated_epsilon(rho, delta);
        }
        let known = self.rho().and_then(|rho| concentrated_epsilon(rho, delta).ok());
        let epsilon = self.worst(&|parts| self.epsilon_of(parts, delta, Side::Above))?.min(largest);
        let epsilon = known.map_or(epsilon, |known| known.min(epsilon));
        Ok(self.game(delta).map_or(epsilon, |game| game.epsilon(delta).min(epsilon)))
    }
    /// If all releases are equal releases of one integer with discrete Gaussian noise, compute an
    /// upper bound on delta at an epsilon. The bound is a sum over the values of the total noise.
    fn of_sum(&self, epsilon: f64) -> Option<f64> {
        let [(pair, count)] = &self.parts[..] else { return None };
        match pair.shift()? {
            (LogConcaveNoise::DiscreteGaussian { scale }, distance) => {
                delta_of_sum((distance, scale), *count, epsilon)
            }
            _ => None,
        }
    }
    /// Return the recursion that bounds delta, if the account contains only a few equal releases of
    /// vectors of integers with discrete Gaussian noise. The recursion gives tight bounds for
    /// deltas of about `delta / 2` or more. For smaller deltas, the bounds are loose.
    fn game(&self, delta: f64) -> Option<IntegerGame> {
        let [(pair, count)] = &self.parts[..] else { return None };
        let (square, scale) = pair.integer_gaussian().filter(|_| pair.only_above())?;
        let whole = (1.0..1e6).contains(&square) && square.fract() == 0.0;
        whole.then(|| IntegerGame::new(square as u64, scale, *count, delta / 2.0))?
    }
    /// Return the sum of the largest possible losses of all releases, rounded up. At delta 0, this
    /// sum is the bound on epsilon, because basic composition is exact at delta 0.
    pub(super) fn most(&self) -> f64 {
        let sum = self.parts.iter().try_fold(0.0f64, |total, (pair, count)| {
            let loss = pair.most();
            let count = f64::inf_cast(*count)?;
            if loss.is_finite() { total.inf_add(count.inf_mul(loss)?) } else { Ok(loss) }
        });
        sum.unwrap_or(f64::INFINITY)
    }
    /// Return a lower bound on the smallest epsilon at which delta is at most the given delta.
    ///
    /// # Errors
    /// The errors of [`epsilon`](Account::epsilon).
    pub fn epsilon_below(&self, delta: f64) -> Result<f64> {
        self.worst(&|parts| self.epsilon_of(parts, delta, Side::Below))
    }

    /// Compute a value for the pairs, and a value for the reversed pairs. Return the larger value.
    /// If all pairs are symmetric, the two values are equal, and only one value is computed.
    fn worst(&self, value: &(dyn Fn(&[PairCount]) -> Result<f64> + Sync)) -> Result<f64> {
        if self.parts.iter().any(|(_, count)| *count > 1 << 31) {
            return Err(Error::FailedMap("expected at most 2^31 releases of one kind".into()));
        }
        let (mut backward, mut symmetric) = (Vec::with_capacity(self.parts.len()), true);
        for (pair, count) in &self.parts {
            let reversed = pair.reverse();
            symmetric &= reversed.is_none();
            backward.push((reversed.unwrap_or_else(|| pair.clone()), *count));
        }
        if symmetric {
            return value(&self.parts);
        }
        let sides = [&self.parts, &backward];
        // The maximum of NaN and a number is the number.
        let mut worst = f64::NAN;
        for value in divided(2, &|side| value(sides[side])) {
            worst = worst.max(value?);
        }
        Ok(worst)
    }

    fn delta_of(&self, parts: &[PairCount], epsilon: f64, side: Side) -> Result<f64> {
        check_epsilon(epsilon)?;
        if reveals(parts) {
            return Ok(1.0);
        }
        let smoothed = Simplified::smoothed(parts, side)?;
        let first = match &smoothed {
            Some(simple) => self.delta_of_simple(simple, epsilon, side)?,
            None => 1.0,
        };
        if is_enough(parts, side, smoothed.as_ref()) {
            return Ok(first);
        }
        let Some(simple) = Simplified::of(parts, side)? else { return Ok(0.0) };
        Ok(self.delta_of_simple(&simple, epsilon, side)?.min(first))
    }
    fn delta_of_simple(&self, simple: &Simplified, epsilon: f64, side: Side) -> Result<f64> {
        let delta = match simple.delta(epsilon) {
            Some(found) => found?.of(side),
            None => self.delta_of_parts(&simple.parts, epsilon, side)?,
        };
        simple.with_failure(delta, side)
    }
    fn delta_of_parts(&self, parts: &[PairCount], epsilon: f64, side: Side) -> Result<f64> {
        if parts.is_empty() {
            return Ok(0.0);
        }
        if let Some(delta) = self.inverted_delta(parts, epsilon, side) {
            return Ok(delta);
        }
        let found = on_grid(parts, Target::Epsilon(epsilon), self.tolerance, side)?;
        if side == Side::Below || found < 1.0 {
            return Ok(found);
        }
        // An epsilon far above all likely losses can need a tilt that is too large for floats. Then
        // the bound is 1. But delta never increases with epsilon. So if a delta is reached at a
        // smaller epsilon, this delta is also a bound.
        let reached = |delta: &f64| {
            let least = on_grid(parts, Target::Delta(*delta), self.tolerance, side);
            least.is_ok_and(|least| least <= epsilon)
        };
        Ok(FAR_DELTAS.into_iter().take_while(reached).last().unwrap_or(found))
    }
    fn epsilon_of(&self, parts: &[PairCount], delta: f64, side: Side) -> Result<f64> {
        if !(0.0..=1.0).contains(&delta) {
            return Err(Error::InvalidDistance(format!(
                "delta: expected a number from 0 to 1, found {}",
                shown(delta)
            )));
        }
        if reveals(parts) {
            return Ok(if delta < 1.0 { f64::INFINITY } else { 0.0 });
        }
        let smoothed = Simplified::smoothed(parts, side)?;
        let first = match &smoothed {
            Some(simple) => self.epsilon_of_simple(simple, delta, side)?,
            None => f64::INFINITY,
        };
        if is_enough(parts, side, smoothed.as_ref()) {
            return Ok(first);
        }
        let Some(simple) = Simplified::of(parts, side)? else { return Ok(0.0) };
        Ok(self.epsilon_of_simple(&simple, delta, side)?.min(first))
    }
    fn epsilon_of_simple(&self, simple: &Simplified, delta: f64, side: Side) -> Result<f64> {
        let Some(delta) = simple.without_failure(delta, side)? else {
            // The parts give no bound. So use 0 as the lower bound on epsilon, and infinity as the
            // upper bound.
            return Ok(if side == Side::Above { f64::INFINITY } else { 0.0 });
        };
        if simple.parts.is_empty() || delta == 1.0 {
            return Ok(0.0);
        }
        if let Some(outputs) = simple.outputs() {
            return Ok(outputs.epsilon(delta).of(side));
        }
        if let Some(epsilon) = self.inverted_epsilon(&simple.parts, delta, side) {
            return Ok(epsilon);
        }
        if let Some(found) = simple.epsilon(delta) {
            return Ok(found?.of(side));
        }
        on_grid(&simple.parts, Target::Delta(delta), self.tolerance, side)
    }
}

/// Return whether two upper bounds are enough: the bound of the smoothed parts (if there are any),
/// and the bound from the sum of all `rho`. In the smoothed parts, one release with Gaussian noise
/// replaces all discrete Gaussian noise. If the two bounds are enough, the computation for the
/// original parts (pairs with their numbers of releases) is omitted.
fn is_enough(parts: &[PairCount], side: Side, smoothed: Option<&Simplified>) -> bool {
    let curve = |(pair, count): &(Arc<dyn DominatingPair>, u64)| {
        pair.integer_gaussian().is_some() && pair.only_above() && pair.between(*count).is_none()
    };
    let curves = || !parts.is_empty() && parts.iter().all(curve);
    let suffices = |simple: &Simplified| simple.suffices(parts.len());
    side == Side::Above && (smoothed.is_some_and(suffices) || curves())
}
fn check_epsilon(epsilon: f64) -> Result<()> {
    if 0.0 <= epsilon {
        return Ok(());
    }
    Err(Error::InvalidDistance(format!(
        "epsilon: expected a number of at least 0, found {}",
        shown(epsilon)
    )))
}
