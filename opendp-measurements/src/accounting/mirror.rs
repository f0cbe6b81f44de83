//! Buckets that are filled from one side.

use super::pair::{Buckets, Grid};

/// Buckets whose negative losses are the positive ones with `P` and `Q` exchanged.
pub(super) struct Mirror<'a> {
    pub(super) grid: &'a Grid,
    pub(super) buckets: Buckets,
}
impl Mirror<'_> {
    /// Add the mass between the losses `k * step` and `(k + 1) * step`. Beyond the grid, the mass
    /// may be anywhere from the first of these losses on.
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
    /// Add outputs of one positive loss.
    pub(super) fn atom(&mut self, loss: f64, p: f64, q: f64) {
        self.buckets.atom(self.grid, loss, p, q);
        self.buckets.atom(self.grid, -loss, q, p);
    }
    /// Add outputs without loss.
    pub(super) fn rest(&mut self, p: f64) {
        self.buckets.atom(self.grid, 0.0, p, p);
    }
}
