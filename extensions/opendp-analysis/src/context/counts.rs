//! Counts of rows, before noise is added.

use opendp_core::arith::InfCast;
use opendp_core::{
    L1Distance, L2Distance, MetricOn, Result, Space, StabilityMap, Transformation,
    ZeroConcentratedDivergence,
};
use opendp_measurements::{make_continuous_gaussian, make_gaussian};
use opendp_transformations::Norm;

use super::chain::{Column, TableTotal};
use super::draft::{Dials, OfTable};

/// Several counts that are computed from a table. Noise is not added yet.
pub(super) struct Counts {
    total: TableTotal<Column<i64>, L1Distance<i64>>,
    /// Whether as many rows are added as are removed. If `true`, each count changes by at most
    /// `d / 2`, rounded up, where `d` is the value of the map of `total`.
    balanced: bool,
}
impl Counts {
    /// Make counts from a transformation.
    ///
    /// # Precondition
    /// If `sized` is `true`, the transformation first computes rows. Then the transformation counts
    /// each row in at most one count. If the tables are at distance `d_in`, the rows are at
    /// symmetric distance at most `d`, where `d` is the value of the stability map at `d_in`. One
    /// of two conditions holds:
    /// - All tables give the same number of rows.
    /// - All tables have the same number of rows, the transformation computes at most one row from
    ///   each row of a table, and `d_in <= d`.
    ///
    /// # Proof
    /// If all tables give the same number of rows, then at most `d / 2` rows are added, and at most
    /// `d / 2` rows are removed. If all tables have the same number of rows, then two tables at
    /// distance `d_in` differ in `d_in / 2` replaced rows. By the second condition,
    /// `d_in / 2 <= d / 2`. The replacement of a row removes at most one of the computed rows, and
    /// adds at most one computed row. In both cases, a count increases by at most the number of
    /// added rows, and decreases by at most the number of removed rows. So the count changes by at
    /// most `d / 2`.
    ///
    /// The steps of a query keep `d_in <= d`: except for `resize`, each step has the map
    /// `d = d_in`. After `resize`, the first condition holds.
    pub(super) fn new(total: TableTotal<Column<i64>, L1Distance<i64>>, sized: bool) -> Self {
        Counts { total, balanced: sized }
    }
    /// Return the transformation with a map that bounds the changes of all counts together in the
    /// norm `N`.
    pub(super) fn in_norm<N>(&self) -> Result<TableTotal<Column<i64>, N>>
    where
        N: Norm + MetricOn<Column<i64>>,
    {
        let (sum, balanced) = (self.total.stability_map().clone(), self.balanced);
        let map = StabilityMap::new(move |d_in: &u32| {
            let sum = u32::inf_cast(sum.eval(d_in)?)?;
            N::bound(sum, if balanced { sum.div_ceil(2) } else { sum })
        });
        let output = Space::new(self.total.output().domain().clone(), N::default())?;
        let (input, function) = (self.total.input().clone(), self.total.function().clone());
        Ok(Transformation::new(input, output, function, map))
    }
    /// Add Gaussian noise. The noise is discrete if `dials.discrete` is `true`.
    pub(super) fn gaussian(
        &self,
        dials: Dials,
    ) -> Result<OfTable<ZeroConcentratedDivergence, Vec<i64>>> {
        let counts = self.in_norm::<L2Distance<f64>>()?;
        match dials.discrete {
            true => counts.then(|counts| make_gaussian(counts, dials.scale, None)),
            false => counts.then(|counts| make_continuous_gaussian(counts, dials.scale, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use opendp_core::{AtomDomain, SymmetricDistance, VectorDomain, laws};
    use opendp_transformations::{make_count, make_count_by_categories};

    use super::super::chain::{halved, total_of_tables};
    use super::super::{Budget, Context, PrivacyUnit, Split, Table};
    use super::*;

    fn table(cells: &[i64]) -> Table {
        Table::new().with("x", cells.to_vec()).unwrap()
    }
    /// Make the counts of 0 and 1 among the cells. A filter first drops each cell that is 3. The
    /// number of rows is public and is 3.
    fn counts() -> Counts {
        let (unit, budget) = (PrivacyUnit::answers_of_person(1), Budget::rho(0.5));
        let split = Split::evenly(1).unwrap();
        let context = Context::new(table(&[0; 3]), unit.unwrap(), budget.unwrap(), split).unwrap();
        let total = make_count_by_categories(cells(), vec![0, 1], false).unwrap();
        let sized = context.space().domain().size().is_some();
        assert!(sized);
        let total = total_of_tables(context.space(), total, |table| kept(table).map(Cow::Owned));
        Counts::new(total, sized)
    }
    /// Return the cells that are not 3.
    fn kept(table: &Table) -> Result<Vec<i64>> {
        let cells = table.cells("x")?.numbers().unwrap_or_default();
        Ok(cells.iter().map(|cell| *cell as i64).filter(|x| *x != 3).collect())
    }
    fn cells() -> Space<Column<i64>, SymmetricDistance> {
        Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap()
    }
    /// Return the symmetric distance of the cells, and the Euclidean distance of the counts.
    fn distances(counts: &Counts, x: &[i64], y: &[i64]) -> (u32, f64) {
        let d_in = cells().distance(&x.to_vec(), &y.to_vec()).unwrap().unwrap();
        let counted = |cells: &[i64]| counts.total.function().eval(&table(cells)).unwrap();
        let squares = counted(x).iter().zip(counted(y)).map(|(x, y)| (x - y).pow(2)).sum::<i64>();
        (d_in, (squares as f64).sqrt())
    }

    #[test]
    fn the_euclidean_map_bounds_the_counts_of_all_tables_of_a_public_size() {
        let counts = counts();
        let norm = counts.in_norm::<L2Distance<f64>>().unwrap();
        let tables = laws::vectors(&[0, 1, 2, 3], 3);
        let (mut largest, mut pairs) = ([0.0_f64; 7], 0);
        for x in tables.iter().filter(|x| x.len() == 3) {
            for y in tables.iter().filter(|y| y.len() == 3) {
                let (d_in, change) = distances(&counts, x, y);
                assert!(change <= norm.map(&d_in).unwrap(), "{x:?} {y:?}");
                let found = &mut largest[d_in as usize];
                *found = found.max(change);
                pairs += 1;
            }
        }
        assert_eq!(pairs, 64 * 64);
        for d_in in [2, 4, 6] {
            // The bound is attained, except for rounding.
            assert!(norm.map(&d_in).unwrap() <= largest[d_in as usize].next_up());
        }
    }
    #[test]
    fn the_halved_map_bounds_the_number_of_kept_rows_and_is_attained() {
        let space = counts().total.input().clone();
        let count = make_count::<_, _, i64>(cells()).unwrap();
        let total = total_of_tables(&space, count, |table| kept(table).map(Cow::Owned));
        let halved = halved(total);
        let mut largest = [0; 7];
        let tables = || laws::vectors(&[0, 1, 3], 3).into_iter().filter(|x| x.len() == 3);
        for (x, y) in tables().flat_map(|x| tables().map(move |y| (x.clone(), y))) {
            let d_in = cells().distance(&x, &y).unwrap().unwrap();
            let counted = |cells: &[i64]| halved.function().eval(&table(cells)).unwrap();
            let change = (counted(&x) - counted(&y)).abs();
            assert!(change <= halved.map(&d_in).unwrap(), "{x:?} {y:?}");
            largest[d_in as usize] = change.max(largest[d_in as usize]);
        }
        assert_eq!([0, 2, 4, 6].map(|d| largest[d as usize]), [0, 1, 2, 3]);
        assert_eq!([0, 2, 4, 6].map(|d| halved.map(&d).unwrap()), [0, 1, 2, 3]);
    }
    #[test]
    fn the_smaller_bound_would_be_wrong_for_tables_of_different_sizes() {
        let counts = counts();
        let (d_in, change) = distances(&counts, &[0], &[0, 0, 0]);
        let norm = counts.in_norm::<L2Distance<f64>>().unwrap();
        assert!(norm.map(&d_in).unwrap() < change);
        let sum = counts.total.clone();
        let unsized_norm = Counts::new(sum, false).in_norm::<L2Distance<f64>>().unwrap();
        assert_eq!(unsized_norm.map(&d_in).unwrap(), change);
    }
}
