//! Bounds on how much one individual can change the exact results of a plan.
//!
//! # Stability of a plan
//!
//! *Function.* A plan reads the rows of one private table. It evaluates expressions on each row
//! alone, and drops rows by conditions. It can add columns from public tables. If a plan adds such
//! columns, each private row matches at most one row of each public table. These steps form a
//! branch. The plan can unite `m` branches of the same table. If the unit of the table is an id,
//! the plan drops rows without an id, and then applies three limits to each id. First, the plan
//! keeps at most `C` rows of the id in each group. Then the plan keeps the rows of at most `G`
//! groups. Then the plan keeps at most `K` rows. For each group, the plan computes sums and counts.
//! A sum adds an integer of magnitude at most `B` for each row. A count of rows is such a sum, with
//! `B = 1`. A count of ids adds 1 for each id.
//!
//! *Precondition.* One of two neighbouring tables has all rows of the other table, and also the
//! rows of one individual. The rows of an individual are all rows with one id. If the unit is
//! `rows = k`, the rows of an individual are any `k` or fewer rows. The public tables are the same
//! for both neighbours, and the joined column of each public table has no value twice.
//!
//! *Postcondition.* For the two neighbouring tables, let `x` and `y` be the vectors with one sum
//! for each group. Groups without rows have the sum 0. At most `G` entries of `x` and `y` differ,
//! and each entry differs by at most `B C`. The magnitudes of the differences add up to at most
//! `B K`, and their squares add up to at most `B^2 S`. The number `S` is defined as follows.
//! Consider all lists of `G` integers from 0 to `C` that add up to at most `K`. For each list, add
//! up the squares of its integers. `S` is the largest of these sums. For counts of ids, `C` is 1
//! and `K` is `G`. If the unit is `rows = k`, the plan has no limits, and `C = G = K = m k`. If the
//! plan has no keys, there is only one group, so `G` is 1.
//!
//! *Proof.* A row-wise step maps each row to at most one row, independently of the other rows. In
//! particular, a join finds at most one row of the public table for each row. So, before the limits
//! are applied, the rows of the two tables differ only by rows of one individual. If the unit is
//! `rows = k`, they differ by at most `m k` rows. The limits rank the rows of each id separately
//! from the rows of other ids. The rows of an id are numbered in the order of their values. Each
//! row gets a pseudo-random value, which is called its lot. The lot depends only on a secret seed,
//! on the id, and on the number of the row in this order. The rank of a row depends on its lot. So
//! the kept rows of other ids do not change. The individual has at most `C` kept rows in each
//! group, has kept rows in at most `G` groups, and has at most `K` kept rows in total. Later limits
//! only remove rows, so the earlier limits still hold. Equal rows of an id are interchangeable. So
//! the multiset of kept rows is a function of the data and the seed. Each kept row adds an integer
//! of magnitude at most `B` to the sum of one group. The magnitude is at most `B`, because the plan
//! clamps the value to two bounds by comparisons, and because rounding to the lattice is monotone.
//! Sums are decimals of 38 digits, and the magnitude of each added integer is at most `2^53`. So
//! sums are exact for fewer than `10^22` rows. Let `c_g` be the number of kept rows of the
//! individual in group `g`. The sum of group `g` changes by at most `B c_g`. Here `c_g <= C`,
//! `sum c_g <= K`, and at most `G` of the `c_g` are not 0. The sum of the squares of the `c_g` is a
//! convex function. So this sum is largest when as many `c_g` as possible are `C`. For a count of
//! ids, each id adds at most 1 to each group in which it has kept rows.
//!
//! *Exchanges.* If the number of rows of a table is public, neighbours differ by an exchange: at
//! most `k` rows of one individual are replaced by the same number of other rows. Let `t` be the
//! table of the rows that are not replaced, and let `r = m k`. After the joins and filters, each
//! neighbour has at most `r` rows more than `t`. Let each row add an integer from `-v` to `u`, with
//! `u, v >= 0`, and let `B = max(u, v)`. In group `g`, let the first neighbour have `a_g` rows more
//! than `t`, and let the second neighbour have `b_g` rows more than `t`. Then the sum of group `g`
//! changes by at most `f(a_g, b_g) = max(a_g u + b_g v, a_g v + b_g u)`. Here `sum a_g <= r` and
//! `sum b_g <= r`. So at most `2 r` entries of the sums differ, and each entry differs by at most
//! `f(r, r) = r (u + v)`. `f(a, b)` is at most `B (a + b)`, so the magnitudes of the differences
//! add up to at most `2 r B`. The sum of the `f(a_g, b_g)^2` is a convex function of the `a_g` and
//! the `b_g`, because `f` is convex and not negative. This sum does not decrease if an `a_g` or a
//! `b_g` grows. So the sum is largest if one `a_g` is `r`, one `b_g` is `r`, and all other `a_g`
//! and `b_g` are 0. If this `a_g` and this `b_g` belong to the same group, the sum is
//! `f(r, r)^2 = (r (u + v))^2`. Otherwise the sum is `f(r, 0)^2 + f(0, r)^2 = 2 (r B)^2`. The
//! squares of the differences add up to at most the larger of these two numbers. For the rows that
//! quantiles count, the bounds above hold for `C = G = K = 2 r`, because at most `2 r` rows are
//! added or removed. The losses of quantiles have smaller bounds, which are proved where the noise
//! of a quantile is chosen.

use opendp_core::arith::{Directed, DirectedFloat, InfCast};
use opendp_core::{Error, Result};

use crate::ir::{Addend, Bounding, Plan, Sum};

/// Limits on the rows that one individual contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contribution {
    /// The largest number of rows in all groups together.
    pub(crate) rows: u64,
    /// The largest number of groups with rows.
    pub(crate) groups: u64,
    /// The largest number of rows in one group.
    pub(crate) per_group: u64,
}
impl Contribution {
    pub(crate) fn of(plan: &Plan) -> Contribution {
        let grouped = !plan.keys.is_empty();
        match &plan.bounding {
            Bounding::Trusted { rows, exchanged } => {
                // An exchange removes rows and adds the same number of rows.
                let rows = if *exchanged { rows.saturating_mul(2) } else { *rows };
                let groups = if grouped { rows } else { 1 };
                Contribution { rows, groups, per_group: rows }
            }
            Bounding::Enforced { rows, groups, rows_per_group, .. } => {
                let limit = rows.unwrap_or(u64::MAX);
                let per_group = rows_per_group.unwrap_or(limit).min(limit);
                let groups = if grouped { groups.unwrap_or(limit).min(limit) } else { 1 };
                let rows = groups.saturating_mul(per_group).min(limit);
                Contribution { rows, groups, per_group }
            }
        }
    }
    /// Fill as many groups as possible with the largest allowed number of rows. Put the rest of the
    /// rows into one more group. Return the number of full groups, and the number of rows in this
    /// further group. The second number is 0 if there is no further group.
    ///
    /// Consider a function `f` of a number of rows. Let `f` be convex and not decreasing, and let
    /// `f(0)` be 0. Consider all lists of `G` integers from 0 to `C` that add up to at most `K`, as
    /// in the [module](self). For each list, add up `f` of its integers. The sum is largest for the
    /// list that this function returns. *Proof.* Let `a >= b` be two integers of a list, with
    /// `a < C` and `0 < b`. Replace `a` by `a + 1` and `b` by `b - 1`. The new list is allowed, and
    /// its sum is not smaller, because `f` is convex. After finitely many such steps, at most one
    /// integer of the list is neither 0 nor `C`. If the integers then add up to less than `K`,
    /// increase the integers as far as `C`, `G` and `K` allow. This does not make the sum smaller,
    /// because `f` does not decrease.
    pub(crate) fn fullest(self) -> (u64, u64) {
        let full = (self.rows / self.per_group.max(1)).min(self.groups);
        let rest = if full < self.groups { self.rows - full * self.per_group } else { 0 };
        (full, rest.min(self.per_group))
    }
    /// Compute `S` of the [module](self). Square the number of rows in each group, and add up the
    /// squares of all groups. `S` is the largest possible sum.
    fn squares(self) -> Result<u128> {
        let (full, rest) = self.fullest();
        let square = |x: u64| u128::from(x) * u128::from(x);
        // Each square is below 2^128. If the total of all squares is not below 2^128, return an
        // error, because a wrapped number would be too small.
        let all = u128::from(full).checked_mul(square(self.per_group));
        let all = all.and_then(|all| all.checked_add(square(rest)));
        all.ok_or_else(too_many_rows)
    }
}
/// Return the error for limits whose sensitivity or distance cannot be represented.
pub(crate) fn too_many_rows() -> Error {
    Error::Overflow("an individual may have too many rows".into())
}

/// Bounds on how much one individual changes one sum. The sum has one entry for each group, so
/// there is one change for each group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sensitivity {
    /// A bound on the number of groups that change.
    pub(crate) l0: u64,
    /// A bound on the sum of the magnitudes of the changes.
    pub(crate) l1: f64,
    /// A bound on the root of the sum of the squares of the changes.
    pub(crate) l2: f64,
    /// A bound on the magnitude of each change.
    pub(crate) linf: f64,
}
/// Bound the changes of a sum. See the [module](self) for the proof.
pub(crate) fn sensitivity(plan: &Plan, sum: &Sum) -> Result<Sensitivity> {
    if let Bounding::Trusted { rows, exchanged: true } = plan.bounding {
        return of_exchange(rows, Contribution::of(plan).groups, sum.ends());
    }
    let mut contribution = Contribution::of(plan);
    if sum.addend == Addend::Id {
        let groups = contribution.groups;
        contribution = Contribution { rows: groups, groups, per_group: 1 };
    }
    let largest = f64::inf_cast(sum.most())?;
    let times = |rows: f64| rows.inf_mul(largest);
    Ok(Sensitivity {
        l0: contribution.groups,
        l1: times(f64::inf_cast(contribution.rows)?)?,
        l2: times(f64::inf_cast(contribution.squares()?)?.inf_sqrt()?)?,
        linf: times(f64::inf_cast(contribution.per_group)?)?,
    })
}
/// Bound the changes of a sum if at most `rows` rows are replaced by the same number of other rows.
/// At most `groups` groups change. Each row adds an integer from `-ends.0` to `ends.1`. See
/// *Exchanges* in the [module](self) for the proof.
fn of_exchange(rows: u64, groups: u64, ends: (u64, u64)) -> Result<Sensitivity> {
    let (low, high) = (f64::inf_cast(ends.0)?, f64::inf_cast(ends.1)?);
    let rows = f64::inf_cast(rows)?;
    // `both` bounds the change of a group that loses and gets rows. `alone` bounds the change of a
    // group that only loses rows, or only gets rows.
    let (both, alone) = (rows.inf_mul(low.inf_add(high)?)?, rows.inf_mul(low.max(high))?);
    let (l1, l2) = match groups {
        1 => (both, both),
        _ => (alone.inf_mul(2.0)?, both.max(alone.inf_mul(2.0.inf_sqrt()?)?)),
    };
    Ok(Sensitivity { l0: groups, l1, l2, linf: both })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_exact_above_the_range_of_64_bits() {
        let squares = |groups: u64, per_group: u64, rows: u64| {
            Contribution { rows, groups, per_group }.squares()
        };
        assert_eq!(squares(1 << 24, 1 << 24, 1 << 48), Ok(1 << 72));
        assert_eq!(squares(1_000_000, 10_000_000, 10_000_000_000_000), Ok(10_u128.pow(20)));
        // Two groups have 10 rows each, and one group has the other 3 of the 23 rows.
        assert_eq!(squares(5, 10, 23), Ok(100 + 100 + 9));
        assert_eq!(squares(1, 10, 10), Ok(100));
        let largest = u64::MAX;
        assert_eq!(squares(largest, largest, largest), Ok(u128::from(largest).pow(2)));
    }
    /// Try all exchanges of one or two rows in one or two groups.
    #[test]
    fn the_bounds_of_an_exchange_are_the_largest_changes() {
        let cases = [(0, 1), (1, 0), (2, 1), (1, 1), (0, 2), (3, 1)];
        for (ends, rows, groups) in cases
            .into_iter()
            .flat_map(|ends| [(ends, 1, 1), (ends, 1, 2), (ends, 2, 1), (ends, 2, 2)])
        {
            let steps: Vec<(usize, i64)> =
                (0..groups).flat_map(|group| (-ends.0..=ends.1).map(move |x| (group, x))).collect();
            // The own rows of a neighbour are the rows in addition to the common rows. List all
            // sums that own rows can have. Each element has the sums of two groups.
            let mut own = vec![[0_i64; 2]];
            for _ in 0..rows {
                let longer = |sums: &[i64; 2], (group, x): (usize, i64)| {
                    let mut sums = *sums;
                    sums[group] += x;
                    sums
                };
                let all = own.iter().flat_map(|sums| steps.iter().map(|step| longer(sums, *step)));
                own = all.collect();
            }
            let (mut l1, mut squares, mut linf) = (0, 0, 0);
            for (x, y) in own.iter().flat_map(|x| own.iter().map(move |y| (x, y))) {
                let changes = [x[0] - y[0], x[1] - y[1]].map(i64::abs);
                l1 = l1.max(changes[0] + changes[1]);
                squares = squares.max(changes[0].pow(2) + changes[1].pow(2));
                linf = linf.max(changes[0].max(changes[1]));
            }
            let changed = if groups == 1 { 1 } else { 2 * rows };
            let ends = (ends.0.unsigned_abs(), ends.1.unsigned_abs());
            let bound = of_exchange(rows, changed, ends).unwrap();
            assert_eq!((bound.l1, bound.linf), (l1 as f64, linf as f64), "{ends:?} {rows}");
            let l2 = (squares as f64).sqrt();
            assert!((l2..=l2 * (1.0 + 1e-15)).contains(&bound.l2), "{bound:?} {squares}");
        }
    }
    /// Compare the list of `fullest` with all allowed lists of three integers from 0 to 4.
    #[test]
    fn no_list_of_rows_has_a_larger_sum_of_a_convex_function() {
        let functions = [|c: u64| c, |c: u64| c * c, |c: u64| c.saturating_sub(1).pow(3)];
        for (rows, groups, per_group) in
            (1..8).flat_map(|k| (1..4).flat_map(move |g| (1..5).map(move |c| (k, g, c))))
        {
            let contribution = Contribution { rows, groups, per_group: per_group.min(rows) };
            let lists = (0..5_u64.pow(3)).map(|k| [k % 5, k / 5 % 5, k / 25]);
            let allowed = lists.filter(|list| {
                let used = list.iter().filter(|c| 0 < **c).count() as u64;
                let within = list.iter().all(|c| *c <= contribution.per_group);
                used <= groups && within && list.iter().sum::<u64>() <= rows
            });
            let allowed: Vec<[u64; 3]> = allowed.collect();
            let (full, rest) = contribution.fullest();
            for f in functions {
                let largest = allowed.iter().map(|list| list.iter().map(|c| f(*c)).sum::<u64>());
                let found = full * f(contribution.per_group) + f(rest);
                assert_eq!(largest.max(), Some(found), "{contribution:?}");
            }
        }
    }
}
