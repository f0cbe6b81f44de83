//! Buckets of a symmetric pair, filled from the positive losses only.

use super::pair::{Buckets, Grid};

/// The masses at a negative loss are the masses at the opposite positive loss, with `P` and `Q`
/// exchanged.
pub(super) struct Mirror<'a> {
    pub(super) grid: &'a Grid,
    pub(super) buckets: Buckets,
}
impl Mirror<'_> {
    /// Add the masses `p` and `q` to the bucket from the loss `k * step` to the loss
    /// `(k + 1) * step`. Also add the mirrored masses. If `k * step` is the last edge of the grid,
    /// the bucket contains all losses from `k * step` on.
    pub(super) fn piece(&mut self, k: usize, p: f64, q: f64) {
        self.add(k as i64, p, q);
        self.add(-1 - k as i64, q, p);
    }
    fn add(&mut self, index: i64, p: f64, q: f64) {
        let place = usize::try_from(index - self.grid.first);
        let (more, less) = (1.0 + 2.0 * self.buckets.relative, 1.0 - 2.0 * self.buckets.relative);
        match place {
            Ok(i) if i < self.grid.count => {
                self.buckets.p[i] += p;
                self.buckets.q[i] += q;
            }
            Ok(_) => {
                self.buckets.above += p * more;
                self.buckets.surely_above += p * less;
            }
            Err(_) => self.buckets.below += p * more,
        }
    }
    /// Add the masses `p` and `q` of the outputs with a given positive loss. Also add the mirrored
    /// masses.
    pub(super) fn atom(&mut self, loss: f64, p: f64, q: f64) {
        self.buckets.atom(self.grid, loss, p, q);
        self.buckets.atom(self.grid, -loss, q, p);
    }
    /// Add the outputs whose loss is 0. These outputs have the mass `p` under `P`, and the same
    /// mass under `Q`.
    pub(super) fn rest(&mut self, p: f64) {
        self.buckets.atom(self.grid, 0.0, p, p);
    }
}
