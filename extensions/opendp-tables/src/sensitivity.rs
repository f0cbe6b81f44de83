//! How much one individual can change the exact results of a plan.
//!
//! # Stability of a plan
//!
//! *Function.* A plan reads the rows of one private table, each row alone: it evaluates row-wise
//! expressions, drops rows by conditions, adds columns of at most one row of public tables, and
//! unites `m` such branches of the same table. If the table protects ids, it drops rows without an
//! id and keeps, of each id, at most `C` rows in each group, then the rows of at most `G` groups,
//! then at most `K` rows. For each group and each sum it adds integers of magnitude at most `B`,
//! one for each row, or counts the ids.
//!
//! *Precondition.* Two tables are neighbours if one has, besides the rows of the other, the rows of
//! one individual: all rows of one id, or at most `k` rows if the unit is `rows = k`. Public tables
//! are equal, and the joined column of each has no value twice.
//!
//! *Postcondition.* Let `x` and `y` be the vectors of one sum over all groups, where groups without
//! rows have the sum 0. Then at most `G` entries differ, each by at most `B C`; the differences add
//! up to at most `B K`, and their squares to at most `B^2 S`, where `S` is the largest sum of the
//! squares of `G` integers from 0 to `C` that add up to at most `K`. For counts of ids, `C` is 1
//! and `K` is `G`. For trusted rows, `C = G = K = m k`.
//!
//! *Proof.* Row-wise steps map each row to at most one row, whatever the other rows are: joins meet
//! at most one row of the public table by its key. So the rows that reach the limits differ by
//! those of one individual, and for trusted rows these are at most `m k`. The limits rank the rows
//! of one id by values of these rows alone: the window functions are partitioned by the id, and the
//! hash takes the seed, the id and the row. So the rows that are kept of other ids do not change,
//! and of the one id they are at most `C` a group, in at most `G` groups, at most `K` in all. Later
//! limits only remove rows, so earlier ones still hold. Equal rows of an id are interchangeable, so
//! the multiset that is kept is a function of the data and the seed. Each kept row adds an integer
//! of magnitude at most `B` to one group: the plan moves the value between two bounds by
//! comparisons, and rounding to the lattice is monotone. Sums are in decimals of 38 digits, and
//! magnitudes are at most `2^53`, so they are exact for fewer than `10^22` rows. With `c_g` kept
//! rows of the individual in group `g`, the entry changes by at most `B c_g`, where `c_g <= C`,
//! `sum c_g <= K`, and at most `G` are not 0. The sum of squares is convex, so it is largest when
//! as many as possible are `C`. An id adds at most 1 to the number of ids of each of its groups.
//!
//! Neighbours by exchange of one individual are twice as far apart.

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat, InfCast};

use crate::ir::{Addend, Bounding, Plan, Sum};

/// What one individual contributes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contribution {
    /// All rows.
    pub(crate) rows: u64,
    /// The groups with rows.
    pub(crate) groups: u64,
    /// The rows in one group.
    pub(crate) per_group: u64,
}
impl Contribution {
    /// Find the limits of a plan.
    pub(crate) fn of(plan: &Plan) -> Contribution {
        let grouped = !plan.keys.is_empty();
        match &plan.bounding {
            Bounding::Trusted { rows } => {
                let groups = if grouped { *rows } else { 1 };
                Contribution { rows: *rows, groups, per_group: *rows }
            }
            Bounding::Enforced { rows, groups, rows_per_group, .. } => {
                let most = rows.unwrap_or(u64::MAX);
                let per_group = rows_per_group.unwrap_or(most).min(most);
                let groups = if grouped { groups.unwrap_or(most).min(most) } else { 1 };
                let rows = groups.saturating_mul(per_group).min(most);
                Contribution { rows, groups, per_group }
            }
        }
    }
    /// Find the largest sum of squares of rows in groups.
    fn squares(self) -> u64 {
        let full = (self.rows / self.per_group.max(1)).min(self.groups);
        let rest = match full < self.groups {
            true => (self.rows - full * self.per_group).min(self.per_group),
            false => 0,
        };
        let square = |x: u64| x.saturating_mul(x);
        full.saturating_mul(square(self.per_group)).saturating_add(square(rest))
    }
}

/// Bounds on the changes of one sum over all groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sensitivity {
    /// The number of groups that change.
    pub(crate) l0: u64,
    /// The sum of the changes.
    pub(crate) l1: f64,
    /// The root of the sum of their squares.
    pub(crate) l2: f64,
    /// The largest change.
    pub(crate) linf: f64,
}
/// Bound the changes of a sum. See the [module](self) for the proof.
pub(crate) fn sensitivity(plan: &Plan, sum: &Sum) -> Result<Sensitivity> {
    let mut contribution = Contribution::of(plan);
    if sum.addend == Addend::Id {
        let groups = contribution.groups;
        contribution = Contribution { rows: groups, groups, per_group: 1 };
    }
    let most = f64::inf_cast(sum.most())?;
    let times = |rows: f64| rows.inf_mul(most);
    Ok(Sensitivity {
        l0: contribution.groups,
        l1: times(f64::inf_cast(contribution.rows)?)?,
        l2: times(f64::inf_cast(contribution.squares())?.inf_sqrt()?)?,
        linf: times(f64::inf_cast(contribution.per_group)?)?,
    })
}
