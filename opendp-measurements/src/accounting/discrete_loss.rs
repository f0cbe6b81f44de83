//! Measures of losses on a grid (the multiples of a step). A measure bounds a loss from above or
//! from below.

use std::f64::consts::LN_2;

use super::elementary::{U, exp, exp_m1, ln};
use super::pair::{Buckets, Grid};

/// A positive measure of losses on the multiples of a step, and at infinity.
///
/// The profile of the measure is `infinite + sum_i mass[i] max(0, 1 - e^(epsilon - x_i))`. Measures
/// are compared by their profiles at all `epsilon`. A measure becomes larger if mass is added, or
/// is moved to larger losses. A measure also becomes larger if mass is spread over more losses and
/// two sums stay the same. The first sum is the sum of all masses. For the second sum, multiply
/// each mass by `e^-x`, where `x` is the loss of this mass, and add up the products. For
/// convolutions, `A <= A'` and `B <= B'` imply `A * B <= A' * B'`. For the proof, let `A(epsilon)`
/// be the profile of `A`. At minus infinity, the limit `A(-inf)` of this profile is the total mass
/// of `A`. Let `B(inf)` be the infinite mass of `B`. The profile of `A * B` at `epsilon` is
/// `B(inf) A(-inf) + integral A(epsilon - x) dB(x)`. The integral is over the finite losses of `B`.
/// So the profile of `A * B` is monotone in `A` and, by symmetry, in `B`.
#[derive(Clone, Debug)]
pub(crate) struct DiscreteLoss {
    pub(crate) step: f64,
    /// The index of the first loss: `x_i = (first + i) * step`.
    pub(crate) first: i64,
    pub(crate) mass: Vec<f64>,
    pub(crate) infinite: f64,
    /// A shift of all losses. A bound from above adds this shift to each loss. A bound from below
    /// subtracts this shift.
    pub(crate) shift: f64,
}

/// A bound on the relative rounding error of the few operations on each bucket.
const ROUNDING: f64 = 64.0 * U;

impl DiscreteLoss {
    /// Make a measure that bounds a loss from above. The method is called "connect the dots"
    /// (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022).
    ///
    /// A bucket contains the outputs with losses between two edges, `x` and `x + h`. The bucket has
    /// the masses `p` and `q` under the two distributions. The mass `p` is divided between the two
    /// edges so that the mass under the second distribution is still `q`. The upper edge gets
    /// `b = (p - q e^x) / (1 - e^-h)`. At the edges, the profile of the measure is exact. Between
    /// the edges, this profile is linear in `e^epsilon`. The true profile is convex in `e^epsilon`,
    /// so the true profile is at most this linear function. The rounding errors and the errors of
    /// `p` and `q` are bounded. These bounds make `b` and the total mass larger. Let `s` be the
    /// bound on the error of the losses. A loss of the bucket can be `s` below `x` or `s` above
    /// `x + h`. So the edges count as `x + s` and `x + h + s`, and `b` is at least the share of the
    /// upper edge if the edges were `x - s` and `x + h + s`. Outputs above the grid get an infinite
    /// loss. Outputs below the grid get the lowest loss of the grid.
    pub(crate) fn above(buckets: &Buckets, grid: &Grid) -> Self {
        let mut mass = vec![0.0; grid.count + 1];
        let widen = 1.0 + 2.0 * buckets.relative + ROUNDING;
        let whole = -exp_m1(-grid.step);
        for (i, (&p, &q)) in buckets.p.iter().zip(&buckets.q).enumerate() {
            if p == 0.0 {
                continue;
            }
            // A mass can be a difference of normal tails, and a tail below 1e-305 counts as 0. So
            // if `q` is at most 1e-290, the true mass can be far below `q`. With 0 in place of `q`,
            // `b` is larger.
            let q = if q <= 1e-290 { 0.0 } else { q };
            let x = grid.edge(i);
            let error = 4.0 * buckets.relative + ROUNDING + 4.0 * U * x.abs() + 2.0 * buckets.shift;
            let b = ((p - q * exp(x) + error * p) / whole).clamp(0.0, p);
            mass[i] += (p - b) * widen;
            mass[i + 1] += b * widen;
        }
        for &(edge, p) in &buckets.at_edges {
            mass[edge] += p * widen;
        }
        for &(edge, p) in &buckets.doubtful {
            mass[edge] += p * widen;
        }
        mass[0] += buckets.below;
        DiscreteLoss {
            step: grid.step,
            first: grid.first,
            mass,
            infinite: buckets.above,
            shift: buckets.shift + 4.0 * U * grid.edge(0).abs().max(grid.edge(grid.count).abs()),
        }
    }
    /// Make a measure that bounds a loss from below.
    ///
    /// A bucket contains the outputs with losses between two adjacent edges of the grid. Let `p`
    /// and `q` be the masses of a bucket under the two distributions. All outputs of a bucket are
    /// replaced by one output; this is post-processing. Then the bucket has one loss,
    /// `z = ln(p / q)`. At each edge, a share of the bucket below and a share of the bucket above
    /// are joined into one output. Let `x` be the loss of this output. Then `e^-x` is the mean of
    /// the `e^-z` of both shares, weighted by their masses under `P`. The shares are chosen so that
    /// `x` is at or above the edge. The loss of the joined output is lowered to the edge. The loss
    /// of a share without a partner is lowered to the lower edge of its bucket. Outputs below the
    /// grid are dropped. The masses in `buckets.doubtful` are dropped too, because these masses are
    /// only upper bounds. Outputs above the grid get the last edge as their loss.
    pub(crate) fn below(buckets: &Buckets, grid: &Grid) -> Self {
        let mut down = vec![1.0; grid.count];
        // Let `x` be the edge between the previous bucket and this bucket, and `z` the loss of the
        // previous bucket. `full` is the mass of the previous bucket times `e^(x - z) - 1`. `sent`
        // is the same product for the share of this mass that is joined at this edge.
        let (mut sent, mut full) = (0.0, 0.0);
        for i in 0..grid.count {
            let (p, q) = (buckets.p[i], buckets.q[i]);
            if p <= 1e-290 || q <= 1e-290 {
                if 0.0 < sent {
                    down[i - 1] = 1.0;
                }
                (sent, full) = (0.0, 0.0);
                continue;
            }
            let room = (1.0 - exp(grid.edge(i)) * q / p).max(0.0);
            let needed = if sent > 0.0 { sent * (1.0 + ROUNDING) / (p * room) } else { 0.0 };
            let needed = if needed <= 1.0 {
                needed
            } else {
                down[i - 1] = 1.0;
                0.0
            };
            // Suppose that the previous bucket and this bucket give the same share to their lower
            // edges. Then `even` is the smallest share for which the loss of the joined output is
            // at or above the edge between these buckets.
            let even = if full > 0.0 { full / (full + p * room) } else { 0.0 };
            down[i] = even.max(needed).min(1.0);
            full = p * (exp(grid.edge(i + 1)) * q / p - 1.0).max(0.0);
            sent = (1.0 - down[i]) * full;
        }
        if let Some(last) = down.last_mut() {
            *last = 1.0;
        }
        let narrow = 1.0 - 2.0 * buckets.relative - ROUNDING;
        let mut mass = vec![0.0; grid.count + 1];
        for (i, (&p, share)) in buckets.p.iter().zip(down).enumerate() {
            mass[i] += p * share * narrow;
            mass[i + 1] += p * (1.0 - share) * narrow;
        }
        for &(edge, p) in &buckets.at_edges {
            mass[edge] += p * narrow;
        }
        mass[grid.count] += buckets.surely_above;
        let reach = grid.edge(0).abs().max(grid.edge(grid.count).abs());
        // The relative errors of p and q cause an error of each computed loss z. The edges have
        // rounding errors.
        let error = 4.0 * buckets.relative + 4.0 * ROUNDING + 8.0 * U * reach;
        DiscreteLoss {
            step: grid.step,
            first: grid.first,
            mass,
            infinite: 0.0,
            shift: buckets.shift + error,
        }
    }
    pub(crate) fn loss(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.step
    }
    /// Return the cumulant `ln sum_i mass[i] e^(t x_i)` at `t`, and the first two derivatives of
    /// the cumulant.
    pub(crate) fn cumulant(&self, t: f64) -> (f64, f64, f64) {
        // Subtracting `top` from the exponents keeps the sum in the range of floats. The binary
        // exponent of a mass is precise enough for this purpose.
        let top = self.mass.iter().enumerate().filter(|(_, mass)| 0.0 < **mass);
        let top = top.map(|(i, mass)| t * self.loss(i) + binary_exponent(*mass) * LN_2);
        let top = top.fold(f64::NEG_INFINITY, f64::max);
        // The sum contains a power `e^(t x)` of each loss `x`. In each block, the powers are
        // divided by the largest power of the block. The quotients are the same in every block.
        let steepest = if t < 0.0 { 0.0 } else { (BLOCK - 1) as f64 };
        let powers: [f64; BLOCK] =
            std::array::from_fn(|j| exp(t * self.step * (j as f64 - steepest)));
        let mut sums = [0.0; 3];
        for (block, masses) in self.mass.chunks(BLOCK).enumerate() {
            let first = block * BLOCK;
            let (x, step) = (self.loss(first), self.step);
            let base = exp(t * (x + step * steepest) - top);
            let [zeroth, first_moment, second_moment] = if base < 1e100 {
                moments(masses, &powers).map(|moment| base * moment)
            } else {
                // At one end of the block, the powers are very large and the masses are very small.
                // So compute each power separately.
                let power = |j: usize| exp(t * self.loss(first + j) - top);
                let weights = masses.iter().enumerate().filter(|(_, mass)| 0.0 < **mass);
                weights.fold([0.0; 3], |[a, b, c], (j, mass)| {
                    let (weight, j) = (mass * power(j), j as f64);
                    [a + weight, b + weight * j, c + weight * j * j]
                })
            };
            sums[0] += zeroth;
            sums[1] += x * zeroth + step * first_moment;
            sums[2] += x * x * zeroth + 2.0 * x * step * first_moment + step * step * second_moment;
        }
        let [total, mean, square] = sums;
        let mean = mean / total;
        (top + ln(total), mean, (square / total - mean * mean).max(0.0))
    }
    /// Return an upper bound on the rounding error of the [`cumulant`](DiscreteLoss::cumulant) at
    /// `t`.
    ///
    /// # Proof
    /// All terms are positive, so the relative error of their sum is at most the sum of the largest
    /// relative error of a term and of `U` for each addition on the way of a term. A way has at
    /// most 18 additions in a block, and one for each block. The exponents of a term have
    /// magnitudes of at most `2 |t| r + 760`, where `r` is the largest magnitude of a loss, plus
    /// the exponent of a whole block. An exponent has a relative error of a few `U`.
    pub(crate) fn cumulant_error(&self, t: f64) -> f64 {
        let blocks = self.mass.len().div_ceil(BLOCK) as f64;
        let reach = self.loss(0).abs().max(self.loss(self.mass.len()).abs());
        let block = BLOCK as f64 * self.step;
        U * (128.0 + blocks + 16.0 * (t.abs() * (reach + block) + 760.0))
    }
}

/// The number of masses in a block of [`DiscreteLoss::cumulant`].
const BLOCK: usize = 64;

/// Return the sums of all `mass[j] powers[j] j^k` for `k` from 0 to 2. Add in four independent
/// lanes, so that an addition in one lane does not wait for an addition in another lane.
fn moments(masses: &[f64], powers: &[f64; BLOCK]) -> [f64; 3] {
    let mut lanes = [[0.0; 4]; 3];
    for (i, (masses, powers)) in masses.chunks(4).zip(powers.chunks(4)).enumerate() {
        for (lane, (mass, power)) in masses.iter().zip(powers).enumerate() {
            let (weight, j) = (mass * power, (4 * i + lane) as f64);
            lanes[0][lane] += weight;
            lanes[1][lane] += weight * j;
            lanes[2][lane] += weight * j * j;
        }
    }
    lanes.map(|[a, b, c, d]| (a + b) + (c + d))
}

/// Return `e` with `2^e <= mass < 2^(e + 1)` for a normal positive mass, and -1023 for smaller
/// masses.
fn binary_exponent(mass: f64) -> f64 {
    (mass.to_bits() >> 52) as f64 - 1023.0
}

#[cfg(test)]
mod tests {
    use opendp_core::arith::{Directed, DirectedFloat};

    use super::*;

    /// A bucket has two outputs whose losses are off by `shift`. One loss is below the bucket, and
    /// the other loss is above the bucket. The output with the larger loss is rare.
    #[test]
    fn a_measure_from_above_covers_losses_that_are_off_by_the_shift() {
        let (step, shift) = (0.25, 1e-9);
        let grid = Grid { step, first: 4, count: 1 };
        let outputs = [(1.0, grid.edge(0) - shift), (1e-12, grid.edge(1) + shift)];
        let mut buckets = Buckets::empty(&grid, 0.0, shift);
        buckets.p = vec![outputs.iter().map(|(mass, _)| mass).sum()];
        buckets.q = vec![outputs.iter().map(|(mass, loss)| mass * (-loss).exp()).sum()];
        let above = DiscreteLoss::above(&buckets, &grid);
        let delta =
            |mass: f64, loss: f64, epsilon: f64| mass * (-(epsilon - loss).exp_m1()).max(0.0);
        for part in 1..8 {
            let epsilon = grid.edge(0) + step * f64::from(part) / 8.0;
            let exact: f64 = outputs.iter().map(|(mass, loss)| delta(*mass, *loss, epsilon)).sum();
            let losses = above.mass.iter().enumerate();
            let found = losses.map(|(i, mass)| delta(*mass, above.loss(i) + above.shift, epsilon));
            let found: f64 = found.sum();
            assert!(exact <= found, "{epsilon}: {found} {exact}");
        }
    }
    #[test]
    fn the_error_of_a_cumulant_is_at_most_its_bound() {
        for t in [0.3, 7.0, -2.0] {
            for count in [3, 1000] {
                let mass: Vec<f64> = (1..=count).map(|i| 1.0 / f64::from(i)).collect();
                let loss = DiscreteLoss { step: 0.1, first: -7, mass, infinite: 0.0, shift: 0.0 };
                let (mut low, mut high) = (0.0_f64, 0.0_f64);
                for (i, mass) in loss.mass.iter().enumerate() {
                    let x = loss.loss(i);
                    let down = t.neg_inf_mul(x).unwrap().neg_inf_exp().unwrap();
                    let up = t.inf_mul(x).unwrap().inf_exp().unwrap();
                    low = low.neg_inf_add(mass.neg_inf_mul(down).unwrap()).unwrap();
                    high = high.inf_add(mass.inf_mul(up).unwrap()).unwrap();
                }
                let (low, high) = (low.neg_inf_ln().unwrap(), high.inf_ln().unwrap());
                let (log, error) = (loss.cumulant(t).0, loss.cumulant_error(t));
                assert!(low - error <= log && log <= high + error, "{t} {count}: {log}");
                // The control: the bound is not large.
                assert!(error < 1e-10, "{error}");
            }
        }
    }
    #[test]
    fn cumulants_are_those_of_the_definition_at_any_tilt_and_of_any_mass() {
        let listed = |first: i64, mass: &[f64]| DiscreteLoss {
            step: 0.25,
            first,
            mass: mass.to_vec(),
            infinite: 0.0,
            shift: 0.0,
        };
        for mass in [&[0.25, 0.0, 0.5, 0.25][..], &[1e-300, 1e-310, 3e-305], &[1.9, 1e-200, 1e9]] {
            for first in [-3, 0, 1000] {
                let loss = listed(first, mass);
                for t in [0.0, 0.3, 7.0, -2.0] {
                    let (log, mean, variance) = loss.cumulant(t);
                    let log_at = |i: usize| mass[i].ln() + t * loss.loss(i);
                    let top = (0..mass.len()).map(log_at).fold(f64::NEG_INFINITY, f64::max);
                    let weights: Vec<f64> =
                        (0..mass.len()).map(|i| (log_at(i) - top).exp()).collect();
                    let total: f64 = weights.iter().sum();
                    let moment = |power: i32, centre: f64| -> f64 {
                        let terms = weights.iter().enumerate();
                        terms.map(|(i, w)| w / total * (loss.loss(i) - centre).powi(power)).sum()
                    };
                    let exact = moment(1, 0.0);
                    assert!((log - top - total.ln()).abs() < 1e-10 * (1.0 + log.abs()));
                    assert!((mean - exact).abs() < 1e-10 * (1.0 + exact.abs()));
                    let close = 1e-9 * (1.0 + exact * exact);
                    assert!((variance - moment(2, exact)).abs() < close);
                }
            }
        }
    }
}
