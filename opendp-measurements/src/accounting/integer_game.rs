//! A few equal releases of vectors of integers with discrete Gaussian noise. An adversary sees all
//! losses so far, and then chooses the shift of the next release. These choices are called a game.

use super::elementary::{U, exp, exp_m1, ln_1p, sum};
use super::enclosed_pair::roughness;
use super::gaussian_pair::deviations;
use crate::collected::Collected;

/// An upper bound on the delta of `count` releases of vectors of integers. The total losses lie on
/// a lattice. For each lattice point in an interval (the window), a list has the bound on delta at
/// the epsilon that equals this point. The noise is discrete Gaussian of scale `s`. `D` is the
/// square of the L2 distance between neighbours.
///
/// # Theorem
/// By the theorem at [`IntegerVectorPair::enclosed`](super::IntegerVectorPair), the loss of one
/// release is `(D + 2 u) / (2 s^2)` for an integer `u`. The shift of a release is the difference of
/// its true vectors on two neighbours. Let `g` be the greatest common divisor of the numbers in the
/// shift. Then `g^2` divides `D`. Let `f` be the `f` of that theorem. Take the discrete Gaussian
/// law of scale `s sqrt(D)` on the multiples of `g`. The probability of each `u` is at most
/// `1 / (1 - f)` times its probability under this law.
///
/// The shift of a release can depend on all losses so far. Let `x` be the total loss minus epsilon,
/// and let `V_0(x)` be `max(0, 1 - e^-x)`. For each step `g`, let `E_g` be the mean over `u` with
/// this discrete Gaussian law. Let `V_(k+1)(x) = max_g E_g V_k(x + (D + 2 u) / (2 s^2))`. Here
/// `V_k` is for `k` releases that are still to come. Use induction from the last release to the
/// first. Each release multiplies the bound by at most `1 / (1 - f)`, because the `V_k` are not
/// negative. So for `m` releases, the delta of the best choices of the adversary is at most
/// `V_m(-epsilon) / (1 - f)^m`. If all laws of `u` were exactly discrete Gaussian, `V_m(-epsilon)`
/// would be the exact delta of the best choices. The reason is that there is a shift for each step
/// `g`. If the vectors have enough numbers, `D / g^2` numbers of this shift are `g`, and all others
/// are 0.
///
/// # Proof of the computation
/// Every total loss of `m` releases is `(m D + 2 j) / (2 s^2)` for an integer `j`. Delta is
/// computed at each epsilon that equals such a total loss. So each `V_k` is needed only at numbers
/// `x` that are `1 / s^2` apart. The values `V_k(x)` are listed for all such `x` in a window. These
/// values are at most 1, and increase with `x`. So for `x` above the window, the value is replaced
/// by 1. For `x` below the window, the value is replaced by the first value of the window. For
/// integers `u` beyond a reach (a largest `|u|`), the value of `V_k` is replaced by 1. For each
/// release, the sums have no negative terms. So the relative error of each sum is small. Each sum
/// is enlarged by a bound on this error. Let `y` be the total loss. Delta is a maximum of means of
/// `max(0, 1 - e^epsilon e^-y)`. So delta is convex in `e^epsilon`. Between two total losses, delta
/// is therefore at most its linear interpolation in `e^epsilon`.
#[derive(Clone, Debug)]
pub(super) struct IntegerGame {
    /// `1 / s^2`, the distance between adjacent total losses.
    step: f64,
    /// The total loss at `j = 0`.
    middle: f64,
    /// Delta at the total losses with `j = last`, `last - 1`, and so on. The deltas increase along
    /// the list.
    deltas: Vec<f64>,
    last: i64,
}

/// A limit on the work: the number of releases times the number of total losses times the number of
/// outputs.
const MOST_WORK: f64 = 1e7;
/// If the number of releases times the square of the scale is at least this value, the recursion is
/// not used. In this case, the bound of `Smoothing` (in `integer_gaussian`) is about as tight as
/// the bound of the recursion.
const MOST_NOISE: f64 = 4000.0;
/// The largest allowed `m f`, for `m` releases and the `f` of the theorem at [`IntegerGame`]. Delta
/// is enlarged by a factor of about `1 + m f`.
const MOST_EXCESS: f64 = 0.01;
/// The reach is chosen so that the outputs beyond the reach have a small mass. For all releases
/// together, this mass is at most about this constant times the least needed delta.
const BEYOND: f64 = 1e-7;

impl IntegerGame {
    /// Compute the bound for deltas of about `least` or more. Return `None` in these cases:
    /// - `square` or `count` is 0, or `least` is at most 1e-100.
    /// - The square of the scale is below 0.5 or not finite, or the scale is too small for the
    ///   distance (see `MOST_EXCESS`).
    /// - Another bound is about as tight (see `MOST_NOISE`).
    /// - The computation would take too long (see `MOST_WORK`).
    pub(super) fn new(square: u64, scale: f64, count: u64, least: f64) -> Option<IntegerGame> {
        let (distance, times) = (square as f64, count as f64);
        let noise = scale * scale;
        let small = noise.is_finite() && 0.5 <= noise && times * noise < MOST_NOISE;
        if !(small && 1 <= square && 1 <= count && distance <= 3.9 * noise && 1e-100 < least) {
            return None;
        }
        let half = roughness(noise / 2.0 * (1.0 - 1e-12)) * (distance - 1.0);
        let falls = f64::from(square.ilog2() / 2) * roughness(noise / distance * (1.0 - 1e-12));
        let excess = (half + falls) * (1.0 + 1e-9);
        if MOST_EXCESS < times * excess {
            return None;
        }
        // `deviation` is a close upper bound on the standard deviation of the `u` of one release.
        // `all` is an upper bound on the standard deviation of the sum of the `u` of all releases.
        // The theorem at `IntegerGame` defines `u`.
        let deviation = scale * distance.sqrt();
        let all = deviation * times.sqrt();
        let far = deviations(least);
        let below = (far * all + 4.0 * deviation).ceil();
        let above = (far * all + 4.0 * deviation).min(30.0 * noise).ceil();
        let reach = (deviations(least * BEYOND / times) * deviation).ceil() + 1.0;
        if !(times * (below + above) * reach < MOST_WORK) {
            return None;
        }
        let steps = (1..=square.isqrt()).filter(|g| square.is_multiple_of(g * g));
        let laws: Vec<Law> =
            steps.map(|g| Law::new(g as usize, deviation, reach as usize)).collected();
        let start = below as i64;
        let first =
            |i: i64| if 0 < i { -exp_m1(-(i as f64) / noise) * (1.0 + 64.0 * U) } else { 0.0 };
        let mut values: Vec<f64> = (-start..=above as i64).map(first).collected();
        for _ in 0..count {
            values = next(&values, &laws);
        }
        // This factor is an upper bound on (1 - f)^-m, where f is `excess` and m is `count`.
        let factor = exp(-times * ln_1p(-excess)) * (1.0 + 1e-9);
        // Near 1, entries are almost equal, and rounding can break their order. A larger entry is
        // still an upper bound. So replace each entry by the largest entry so far.
        let mut largest = 0.0f64;
        let ordered = values.iter().map(|value| {
            largest = largest.max((value * factor).min(1.0));
            largest
        });
        let deltas = ordered.collected();
        let (step, middle) = (1.0 / noise, times * distance / (2.0 * noise));
        Some(IntegerGame { step, middle, deltas, last: start })
    }
    /// Return the total loss of an entry of `deltas`.
    fn total(&self, index: usize) -> f64 {
        self.middle + (self.last - index as i64) as f64 * self.step
    }
    /// Return an upper bound on delta at an epsilon.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        // Round epsilon down. The result is still an upper bound, because delta decreases as
        // epsilon increases.
        let epsilon = epsilon - 16.0 * U * (epsilon + self.middle);
        let place = (epsilon - self.middle) / self.step;
        let index = self.last as f64 - place.floor();
        // At an infinite epsilon, `index` is NaN.
        if !(1.0 <= index) {
            return self.deltas.first().copied().unwrap_or(1.0);
        }
        // Take the total losses next to epsilon on both sides. Rounding can move `place` up to the
        // next total loss.
        let index = index as usize;
        let (Some(high), Some(low)) = (self.deltas.get(index), self.deltas.get(index - 1)) else {
            return 1.0;
        };
        let part = exp_m1((epsilon - self.total(index)).max(0.0)) / exp_m1(self.step);
        let part = (part * (1.0 - 64.0 * U)).clamp(0.0, 1.0);
        (high - (high - low) * part) * (1.0 + 16.0 * U)
    }
    /// Return an upper bound on the smallest epsilon at which delta is at most the given delta. The
    /// value of [`delta`](Self::delta) at the result is at most the given delta.
    ///
    /// # Proof
    /// The search ends at a number at which `delta` was computed, or at `last`. So only `last`
    /// needs a proof. Let `x` be the computed total loss of the entry `index`, let `m` be the
    /// middle, and let `u` be the unit roundoff. All terms of `x` are at most `|x| + m` in
    /// magnitude. So `x` errs by at most `4 u (|x| + m)`, also if the terms of `x` cancel. This
    /// happens for a delta near 1, whose total losses are near 0 or negative. At
    /// `last = x + 64 u (|x| + m)`, the method `delta` first subtracts at most
    /// `16.1 u (|x| + m)`. The result is above `x` by at least `47 u (|x| + m)`. The rounding of
    /// `place` moves it by at most `8 u (|x| + m)`. So `delta` interpolates between the entry
    /// `index` and the entry before it, or between two earlier entries. None of these entries
    /// exceeds the entry `index`, because entries increase. So the value of `delta` is at most the
    /// entry `index`, times a factor below `1 + 32 u`. The search for `index` includes this factor.
    ///
    /// If `last` is negative, `delta` at 0 is at most the given delta for the same reason, and the
    /// result is 0.
    pub(super) fn epsilon(&self, delta: f64) -> f64 {
        if self.delta(0.0) <= delta {
            return 0.0;
        }
        // The deltas increase with the index.
        let fits = |value: &f64| value * (1.0 + 32.0 * U) <= delta;
        let Some(index) = self.deltas.partition_point(fits).checked_sub(1) else {
            return f64::INFINITY;
        };
        let total = self.total(index);
        let last = total + 64.0 * U * (total.abs() + self.middle);
        let (Some(low), Some(high)) = (self.deltas.get(index), self.deltas.get(index + 1)) else {
            return last.max(0.0);
        };
        let share = (high - delta) / (high - low) * exp_m1(self.step);
        let mut found = self.total(index + 1) + ln_1p(share);
        let mut by = 1e-14 * (1.0 + last.abs());
        while delta < self.delta(found.max(0.0)) {
            if last <= found {
                return last.max(0.0);
            }
            found = (found + by).min(last);
            by *= 2.0;
        }
        found.max(0.0)
    }
}

/// The discrete Gaussian law of `u` for one step `g`: see [`IntegerGame`].
struct Law {
    step: usize,
    /// The probability of `u = 0`, and of each multiple of the step up to the reach.
    masses: Vec<f64>,
    /// A bound on the mass of the outputs beyond the reach.
    beyond: f64,
}

impl Law {
    /// Compute the law for a step, a scale, and a reach. The scale is the scale of `u`, which is
    /// the scale of the noise times the distance. The reach is the largest listed `|u|`.
    fn new(step: usize, scale: f64, reach: usize) -> Law {
        let weight = |k: usize| {
            let place = (k * step) as f64 / scale;
            exp(-place * place / 2.0)
        };
        let listed: Vec<f64> = (0..=reach / step).map(weight).collected();
        // The weights after the index `all` are below e^-690, and fall faster than geometrically.
        let all = (38.0 * scale / step as f64).ceil() as usize;
        let rest: Vec<f64> = (listed.len()..=all.max(listed.len())).map(weight).collected();
        let total = 2.0 * (sum(&listed) + sum(&rest)) - 1.0;
        let beyond = (2.0 * sum(&rest) / total) * (1.0 + 1e-9) + 1e-290;
        Law { step, masses: listed.iter().map(|weight| weight / total).collected(), beyond }
    }
    /// Return an upper bound on the mean of `values[place + u]`, where `u` has this law.
    fn mean(&self, values: &[f64], place: usize) -> f64 {
        let (lowest, highest) = (values.first().copied().unwrap_or(1.0), 1.0);
        let own = values.get(place).copied().unwrap_or(highest);
        let mut total = self.masses.first().copied().unwrap_or(0.0) * own + self.beyond;
        for (k, mass) in self.masses.iter().enumerate().skip(1) {
            let by = k * self.step;
            let down = place.checked_sub(by).and_then(|place| values.get(place));
            let up = values.get(place + by);
            let both = down.copied().unwrap_or(lowest) + up.copied().unwrap_or(highest);
            total += mass * both;
        }
        total
    }
}

/// Add one release: return the values `V_(k+1)`, computed from the values `V_k`. The theorem at
/// [`IntegerGame`] defines `V_k`.
fn next(values: &[f64], laws: &[Law]) -> Vec<f64> {
    let terms = laws.iter().map(|law| law.masses.len()).max().unwrap_or(0);
    // Let u be the unit roundoff. Each mass errs by less than 4096 u. Each sum errs by u for each
    // of its terms.
    let more = 1.0 + U * (8192.0 + 4.0 * terms as f64);
    let best = |place| laws.iter().map(|law| law.mean(values, place)).fold(0.0, f64::max);
    (0..values.len()).map(|place| (best(place) * more).min(1.0)).collected()
}

#[cfg(test)]
mod tests;
