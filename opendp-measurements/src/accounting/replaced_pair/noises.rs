//! The buckets of each kind of noise on a sample, with one replaced record.

use super::super::elementary::{U, exp, exp_m1, ln, sum};
use super::super::laplace_pair::exponential;
use super::super::mirror::Mirror;
use super::super::normal_mass::{LIMIT, mass, upper_tail};
use super::ReplacedPair;
use crate::collected::Collected;

impl ReplacedPair {
    /// For each `k` from 0 up to `count`, find an output of normal noise whose loss is `k * step`.
    /// Also return a bound on the error of the losses of these outputs.
    ///
    /// `added` and `replaced` are the distances that [`ReplacedPair`] defines. Let `q` be the rate,
    /// `other = added - replaced` and `b = (1 / q - 1)(1 - e^-x)`. An output `y` with the loss `x`
    /// is a zero of
    /// `f(y) = added y - added^2 / 2 - x - ln(b + e^(other y - other^2 / 2))`. If `f(y)` is `r`,
    /// the loss at `y` is within `|r|` of `x`. Here `x` is at least 0, so `b` is at least 0. Then
    /// the slope of `f` is `added - w other`, with a number `w` from 0 to 1. So the slope is
    /// between `added` and `replaced`, because `replaced` is `added - other`. The magnitude of the
    /// second derivative of `f` is at most `other^2 / 4`. Take one Newton step from `y`. After this
    /// step, the error of the loss is at most `f(y)^2 other^2 / 8` divided by the square of the
    /// smallest slope of `f`.
    fn outputs(&self, step: f64, count: usize) -> (Vec<f64>, f64) {
        let (added, other) = (self.added, self.added - self.replaced);
        let odds = (1.0 - self.rate) / self.rate;
        let curved = (other / added.min(self.replaced)).powi(2) / 8.0;
        let end = LIMIT + added;
        let mut y = (added + other) / 2.0;
        let (mut outputs, mut off, mut by) = (vec![y.min(end)], 0.0f64, 0.0);
        for k in 1..=count {
            let x = k as f64 * step;
            let b = -odds * exp_m1(-x);
            let (start, before) = (y, y);
            y = start + by;
            let mut left = f64::INFINITY;
            for _ in 0..100 {
                let exponent = other * y - other * other / 2.0;
                let larger = exponent.max(0.0);
                let (first, second) = (b * exp(-larger), exp(exponent - larger));
                let f = added * y - added * added / 2.0 - x - larger - ln(first + second);
                y = (y - f / (added - other * second / (first + second))).max(before);
                left = f * f * curved;
                if left <= U * (1.0 + x) {
                    break;
                }
            }
            by = y - start;
            if !(y < end) {
                // Beyond the output `end`, the mass of the noise is negligible.
                outputs.resize(count + 1, end);
                break;
            }
            off = off.max(left);
            outputs.push(y);
        }
        let last = outputs.last().copied().unwrap_or(end);
        let reach = step * count as f64 + added * (added + last);
        (outputs, 2.0 * off + 256.0 * U * (1.0 + reach))
    }
    pub(super) fn gaussian(&self, mirror: &mut Mirror<'_>, count: usize) {
        let (added, other, rate) = (self.added, self.added - self.replaced, self.rate);
        let (outputs, shift) = self.outputs(mirror.grid.step, count);
        mirror.buckets.shift = shift;
        let mixed = |without: f64, with: f64| (1.0 - rate) * without + rate * with;
        for (k, pair) in outputs.windows(2).enumerate() {
            let &[low, high] = pair else { continue };
            let (centre, width) = ((low + high) / 2.0, high - low);
            if 0.0 < width {
                let without = mass(centre, width);
                let p = mixed(without, mass(centre - added, width));
                mirror.piece(k, p, mixed(without, mass(centre - other, width)));
            }
        }
        let last = outputs.last().copied().unwrap_or(LIMIT + added);
        let tail = |shift: f64| upper_tail(last - shift);
        mirror.piece(count, mixed(tail(0.0), tail(added)), mixed(tail(0.0), tail(other)));
        mirror.buckets.above += 1e-300;
        mirror.buckets.below += 1e-300;
        mirror.rest((1.0 - rate) * mass(0.0, added + other));
    }
    /// Fill the buckets for Laplace noise. At outputs whose loss with sampling is positive, the
    /// likelihood with the replacing record is a constant times the likelihood without a record.
    pub(super) fn laplace(&self, mirror: &mut Mirror<'_>, count: usize) {
        let (end, other, rate) = (self.added, self.added - self.replaced, self.rate);
        let share = self.mixed(other);
        let least = ln(share);
        let mut off = 0.0f64;
        let mut place = |loss: f64| {
            let ratio = 1.0 + exp_m1(loss + least) / rate;
            let x = ln(ratio).clamp(other, end);
            if x < end {
                off = off.max((self.loss(x, other) - loss).abs());
            }
            x
        };
        let mut low = other;
        for k in 0..count {
            let high = place((k + 1) as f64 * mirror.grid.step).max(low);
            let (with, without) = exponential(end, low, high);
            mirror.piece(k, (1.0 - rate) * without + rate * with, share * without);
            low = high;
        }
        let (with, without) = exponential(end, low, end);
        mirror.piece(count, (1.0 - rate) * without + rate * with, share * without);
        let without = 0.5 * exp(-end);
        mirror.atom(self.loss(end, other), (1.0 - rate) * without + rate * 0.5, share * without);
        mirror.rest((1.0 - rate) * -exp_m1(-(end + other) / 2.0));
        mirror.buckets.shift += off;
    }
    pub(super) fn discrete_laplace(&self, mirror: &mut Mirror<'_>, scale: f64) {
        let (last, rate) = (self.added, self.rate);
        let ratio = exp(-1.0 / scale);
        let top = -exp_m1(-1.0 / scale) / (1.0 + ratio);
        let middle = last - self.replaced / 2.0;
        let mut y = middle.floor() + 1.0;
        while y <= last {
            let (with, other) = self.ratios(y);
            // All outputs from `last` on have the same loss, the largest loss.
            let weight = if y < last { top } else { 1.0 / (1.0 + ratio) };
            let weight = weight * exp(-y / scale);
            let (p, q) = (weight * self.mixed(with), weight * self.mixed(other));
            mirror.atom(self.loss(with, other), p, q);
            y += 1.0;
        }
        // The remaining mass has the loss 0. The probability that the magnitude of the noise is at
        // most `middle` is `within / (1 + ratio)`. If `middle` is an integer, the output `middle`
        // has the same likelihood with each of the two records, so its loss is also 0.
        let whole = middle.floor();
        let within = -exp_m1(-(whole + 1.0) / scale) - ratio * exp_m1(-whole / scale);
        let tie = if middle == whole { top * exp(-self.replaced / 2.0 / scale) } else { 0.0 };
        mirror.rest((1.0 - rate) * within / (1.0 + ratio) + rate * tie);
    }
    pub(super) fn discrete_gaussian(&self, mirror: &mut Mirror<'_>, scale: f64) {
        let (added, other, rate) = (self.added, self.added - self.replaced, self.rate);
        let weight = |z: f64| exp(-(z / scale) * (z / scale) / 2.0);
        // Beyond `reach`, each probability of the noise is below e^-700, and the probabilities fall
        // faster than geometrically.
        let reach = (LIMIT * scale).ceil() as i64 + 1;
        let weights: Vec<f64> = (0..=reach).map(|z| weight(z as f64)).collected();
        let total = 2.0 * sum(&weights) - 1.0;
        let mass_at = |z: f64| weight(z) / total;
        let middle = added - self.replaced / 2.0;
        let whole = middle.floor();
        let mut y = whole + 1.0;
        while y <= reach as f64 + added {
            let without = (1.0 - rate) * mass_at(y);
            mirror.atom(
                self.loss_at(y),
                without + rate * mass_at(y - added),
                without + rate * mass_at(y - other),
            );
            y += 1.0;
        }
        mirror.buckets.above += 1e-290;
        mirror.buckets.below += 1e-290;
        let within = 2.0 * sum(&weights[..=(whole as usize).min(weights.len() - 1)]) - 1.0;
        let tie = if middle == whole { mass_at(self.replaced / 2.0) } else { 0.0 };
        mirror.rest((1.0 - rate) * within / total + rate * tie);
    }
}
