//! The sums and counts of each group.

use opendp_core::IBig;

use super::packed::{Packed, Packing};
use super::values::{Layout, Slot};
use crate::released::{Exact, Group};

pub(crate) struct Totals<'a> {
    layout: &'a Layout<'a>,
    /// The number of rows of each group.
    rows: Vec<u64>,
    /// For each group, the value of each sum. A sum that counts rows stays 0, because `rows`
    /// contains its value.
    sums: Vec<i128>,
    /// For each list of buckets of the plan, and for each group, the number of rows in each bucket.
    buckets: Vec<Vec<Vec<u64>>>,
    /// Whether at least one sum counts ids. If so, one call of `add_rows` gets all kept rows that
    /// an individual has in a group.
    by_ids: bool,
}
impl<'a> Totals<'a> {
    pub(crate) fn new(layout: &'a Layout<'a>) -> Self {
        let buckets = vec![Vec::new(); layout.width - layout.buckets];
        let by_ids = layout.sums.iter().any(|slot| matches!(slot, Slot::Ids | Slot::IdsWith(_)));
        Totals { layout, rows: Vec::new(), sums: Vec::new(), buckets, by_ids }
    }
    /// Extend the lists to all groups up to the number `group`. Return the index of this group.
    fn reach(&mut self, group: u32) -> usize {
        let place = group as usize;
        if self.rows.len() <= place {
            self.rows.resize(place + 1, 0);
            self.sums.resize((place + 1) * self.layout.sums.len(), 0);
        }
        place
    }
    /// Add all rows that have a group. `groups` has the number of the group of each row. `values`
    /// has one list for each stored value, and each list has one number for each row. No sum counts
    /// ids, because a plan that counts ids limits the rows of each id.
    pub(crate) fn add_all(&mut self, groups: &[u32], values: &[Vec<i64>]) {
        let some = groups.iter().copied().filter(|group| *group != super::groups::NO_GROUP);
        let Some(largest) = some.clone().max() else { return };
        self.reach(largest);
        for group in some {
            self.rows[group as usize] += 1;
        }
        let width = self.layout.sums.len();
        for (sum, slot) in self.layout.sums.iter().enumerate() {
            let Slot::Stored(column) = slot else { continue };
            let Some(values) = values.get(*column) else { continue };
            for (group, value) in groups.iter().zip(values) {
                if let Some(total) = self.sums.get_mut(*group as usize * width + sum) {
                    *total += i128::from(*value);
                }
            }
        }
        for quantile in 0..self.buckets.len() {
            let Some(places) = values.get(self.layout.buckets + quantile) else { continue };
            for (group, place) in groups.iter().zip(places) {
                if *group != super::groups::NO_GROUP {
                    self.count(quantile, *group as usize, *place);
                }
            }
        }
    }
    /// Add the kept rows of one individual. The rows are in any order. In place of the number of
    /// its group, a row has the position of the group in the order of the keys. For each position,
    /// `numbers` has the number of the group at this position.
    pub(crate) fn add_individual<const N: usize>(
        &mut self,
        kept: &mut [Packed<N>],
        packing: &Packing,
        numbers: &[u32],
    ) {
        let by_ids = self.by_ids;
        if by_ids {
            kept.sort_unstable();
        }
        for rows in kept.chunk_by(|a, b| by_ids && packing.group(a) == packing.group(b)) {
            let number = |row: &Packed<N>| numbers.get(packing.group(row) as usize).copied();
            let Some(group) = rows.first().and_then(number) else { continue };
            self.add_rows(rows, group, packing);
        }
    }
    /// Add rows of one group. If a sum counts ids, `rows` has all kept rows of one individual in
    /// the group.
    fn add_rows<const N: usize>(&mut self, rows: &[Packed<N>], group: u32, packing: &Packing) {
        let layout = self.layout;
        let place = self.reach(group);
        self.rows[place] += rows.len() as u64;
        let sums = layout.sums.len();
        let totals = self.sums.get_mut(place * sums..(place + 1) * sums).unwrap_or(&mut []);
        for (total, slot) in totals.iter_mut().zip(&layout.sums) {
            match slot {
                Slot::Rows => {}
                Slot::Ids => *total += 1,
                Slot::IdsWith(column) => {
                    let Some(field) = packing.values.get(*column) else { continue };
                    *total += i128::from(rows.iter().any(|row| field.of(row) == 1));
                }
                Slot::Stored(column) => {
                    let Some(field) = packing.values.get(*column) else { continue };
                    rows.iter().for_each(|row| *total += i128::from(field.of(row)));
                }
            }
        }
        for (quantile, field) in packing.values.iter().skip(layout.buckets).enumerate() {
            rows.iter().for_each(|row| self.count(quantile, place, field.of(row)));
        }
    }
    fn count(&mut self, quantile: usize, group: usize, bucket: i64) {
        let (Some(groups), Ok(bucket)) = (self.buckets.get_mut(quantile), usize::try_from(bucket))
        else {
            return;
        };
        if groups.len() <= group {
            groups.resize_with(group + 1, Vec::new);
        }
        let counts = &mut groups[group];
        if counts.is_empty() {
            counts.resize(self.layout.places(quantile), 0);
        }
        if let Some(count) = counts.get_mut(bucket) {
            *count += 1;
        }
    }
    /// Add the sums and counts of other rows.
    pub(crate) fn add(&mut self, other: Totals<'_>) {
        if self.rows.len() < other.rows.len() {
            self.rows.resize(other.rows.len(), 0);
            self.sums.resize(other.sums.len(), 0);
        }
        self.rows.iter_mut().zip(other.rows).for_each(|(all, rows)| *all += rows);
        self.sums.iter_mut().zip(other.sums).for_each(|(all, sum)| *all += sum);
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            if mine.len() < theirs.len() {
                mine.resize_with(theirs.len(), Vec::new);
            }
            for (all, counts) in mine.iter_mut().zip(theirs) {
                if all.is_empty() {
                    *all = counts;
                } else {
                    all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
                }
            }
        }
    }
    /// Return the results of the groups. Each result has the keys of its group. `names` has the
    /// keys of all groups, and `grouped` states whether the plan has keys.
    pub(crate) fn exact(self, names: &[Group], grouped: bool) -> Exact {
        let mut exact = Exact::default();
        let width = self.layout.sums.len();
        if width > 0 && !grouped {
            // Without keys there is one group, even if it has no rows.
            exact.sums.insert(Vec::new(), vec![IBig::ZERO; width]);
        }
        for ((name, rows), place) in names.iter().zip(&self.rows).zip(0_usize..) {
            if *rows == 0 || width == 0 {
                continue;
            }
            let sums = self.sums.get(place * width..(place + 1) * width).unwrap_or(&[]);
            let sum = |(sum, slot): (&i128, &Slot)| match slot {
                Slot::Rows => IBig::from(*rows),
                _ => IBig::from(*sum),
            };
            exact.sums.insert(name.clone(), sums.iter().zip(&self.layout.sums).map(sum).collect());
        }
        for counts in self.buckets {
            let known = names.iter().zip(counts).filter(|(_, counts)| !counts.is_empty());
            exact.buckets.push(known.map(|(name, counts)| (name.clone(), counts)).collect());
        }
        exact
    }
}
