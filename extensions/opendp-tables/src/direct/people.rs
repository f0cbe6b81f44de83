//! The choice of the rows of an individual that are kept.

use super::lots::Lots;

/// How much of each individual is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// All rows.
    pub(crate) rows: u64,
    /// The rows of one group.
    pub(crate) per_group: u64,
    /// The groups.
    pub(crate) groups: u64,
}
impl Limits {
    /// Whether these rows of one individual, in so many groups at most, are all kept.
    fn keep_all(self, rows: usize) -> bool {
        let rows = rows as u64;
        rows <= self.rows && rows <= self.per_group && rows <= self.groups
    }
}

/// A lot, and a place counted from 1. Lots have 31 bits, so one integer stores both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Drawn(u64);
impl Drawn {
    fn new(lot: i64, place: u32) -> Self {
        Drawn(lot.cast_unsigned() << 32 | u64::from(place))
    }
    fn place(self) -> u32 {
        // The cast keeps the place.
        self.0 as u32
    }
}
/// Chooses rows of one individual after the other.
pub(crate) struct Choice {
    limits: Limits,
    lots: Lots,
    /// The places of the rows that are kept, counted from 1.
    places: Vec<u32>,
    /// Where the rows of each group are in `places`.
    groups: Vec<std::ops::Range<usize>>,
    /// Lots of rows or groups, among which the smallest are chosen.
    drawn: Vec<Drawn>,
    /// The places of the rows of the chosen groups.
    chosen: Vec<u32>,
}
impl Choice {
    pub(crate) fn new(limits: Limits, lots: Lots) -> Self {
        let (places, groups, drawn, chosen) = Default::default();
        Choice { limits, lots, places, groups, drawn, chosen }
    }
    /// Choose among the rows of an individual, which are in the order of their groups and values.
    /// Write the chosen rows to `kept`, in the same order.
    pub(crate) fn choose<T: Copy>(
        &mut self,
        id: i64,
        own: &[T],
        same_group: impl Fn(&T, &T) -> bool,
        kept: &mut Vec<T>,
    ) {
        kept.clear();
        if self.limits.keep_all(own.len()) {
            kept.extend_from_slice(own);
            return;
        }
        let of_id = self.lots.of_id(id);
        self.places.clear();
        if self.limits.per_group == u64::MAX && self.limits.groups == u64::MAX {
            self.places.extend((1..).take(own.len()));
        } else {
            self.choose_in_groups(of_id, own, same_group);
        }
        self.keep_first(of_id, 0, self.limits.rows);
        self.places.sort_unstable();
        kept.extend(self.places.iter().filter_map(|place| own.get(*place as usize - 1)));
    }
    /// Choose rows of each group, and then groups.
    fn choose_in_groups<T>(&mut self, of_id: i64, own: &[T], same_group: impl Fn(&T, &T) -> bool) {
        self.groups.clear();
        let mut next = 1..;
        for rows in own.chunk_by(same_group) {
            let start = self.places.len();
            self.places.extend(next.by_ref().take(rows.len()));
            self.keep_first(of_id, start, self.limits.per_group);
            self.groups.push(start..self.places.len());
        }
        let Some(limit) = below(self.limits.groups, self.groups.len()) else { return };
        let lot = |group: u32| Drawn::new(self.lots.of_group(of_id, i64::from(group)), group);
        self.drawn.clear();
        self.drawn.extend((1..).take(self.groups.len()).map(lot));
        self.drawn.select_nth_unstable(limit);
        self.chosen.clear();
        for drawn in self.drawn.iter().take(limit) {
            let rows = self.groups.get(drawn.place() as usize - 1).cloned().unwrap_or(0..0);
            self.chosen.extend(self.places.get(rows).unwrap_or(&[]));
        }
        std::mem::swap(&mut self.places, &mut self.chosen);
    }
    /// Of the places from a position on, keep those of the rows with the smallest lots.
    fn keep_first(&mut self, of_id: i64, start: usize, limit: u64) {
        let Some(rest) = self.places.get_mut(start..) else { return };
        let Some(limit) = below(limit, rest.len()) else { return };
        let lots = &self.lots;
        let lot = |place: &u32| Drawn::new(lots.of_row(of_id, i64::from(*place)), *place);
        self.drawn.clear();
        self.drawn.extend(rest.iter().map(lot));
        self.drawn.select_nth_unstable(limit);
        rest.iter_mut().zip(&self.drawn).for_each(|(place, drawn)| *place = drawn.place());
        self.places.truncate(start + limit);
    }
}
/// Return a limit if it is below a number.
fn below(limit: u64, number: usize) -> Option<usize> {
    usize::try_from(limit).ok().filter(|limit| *limit < number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOTS: &str = "0123456789abcdef";

    type Row = (i64, u32, i64);

    fn kept(rows: &[Row], limits: Limits) -> Vec<(u32, i64)> {
        let mut choice = Choice::new(limits, Lots::of_seed(LOTS));
        let (mut sorted, mut kept, mut all) = (rows.to_vec(), vec![(7, 7, 7)], Vec::new());
        sorted.sort_unstable();
        for own in sorted.chunk_by(|a, b| a.0 == b.0) {
            choice.choose(own[0].0, own, |a, b| a.1 == b.1, &mut kept);
            assert!(kept.is_sorted());
            all.extend(kept.iter().map(|row| (row.1, row.2)));
        }
        all.sort_unstable();
        all
    }
    #[test]
    fn the_choice_depends_on_the_rows_of_an_id_alone() {
        let rows: Vec<Row> =
            (0..4000_i64).map(|k| (k * k % 7, (k * k % 4) as u32, k % 13)).collect();
        let limits = Limits { rows: 40, per_group: 15, groups: 3 };
        // The rows of all ids are those of each id on its own.
        let mut alone: Vec<(u32, i64)> = (0..7)
            .flat_map(|id| {
                let own: Vec<_> = rows.iter().copied().filter(|row| row.0 == id).collect();
                kept(&own, limits)
            })
            .collect();
        alone.sort_unstable();
        assert_eq!(kept(&rows, limits), alone);
    }
    #[test]
    fn all_limits_hold_and_are_reached() {
        let rows: Vec<Row> = (0..3000_i64).map(|k| (5, (k % 4) as u32, k)).collect();
        for (limits, count) in [
            (Limits { rows: 7, per_group: u64::MAX, groups: u64::MAX }, 7),
            (Limits { rows: u64::MAX, per_group: 3, groups: u64::MAX }, 12),
            (Limits { rows: u64::MAX, per_group: 3, groups: 2 }, 6),
            (Limits { rows: 5, per_group: 3, groups: 2 }, 5),
            (Limits { rows: u64::MAX, per_group: u64::MAX, groups: 1 }, 750),
        ] {
            let kept = kept(&rows, limits);
            assert_eq!(kept.len(), count);
            let of = |group| kept.iter().filter(|row| row.0 == group).count() as u64;
            assert!((0..4).all(|group| of(group) <= limits.per_group));
            assert!((0..4).filter(|group| of(*group) > 0).count() as u64 <= limits.groups);
        }
    }
}
