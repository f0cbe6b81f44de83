//! The rows of some individuals, and the choice of those that are kept.

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
/// There are too many rows to count them with 32 bits.
#[derive(Debug)]
pub(crate) struct TooMany;

/// The rows of a chunk. Chunks are not moved when there are more rows.
const CHUNK: usize = 1 << 10;

/// Rows: ids, numbers of groups, and values.
#[derive(Default)]
struct Chunk {
    ids: Vec<i64>,
    groups: Vec<u32>,
    /// The values of the first row, then those of the second row, and so on.
    values: Vec<i64>,
}
/// All rows of the individuals whose ids have the same hash.
#[derive(Default)]
pub(crate) struct Shard {
    chunks: Vec<Chunk>,
}
/// A row of an individual that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept<'a> {
    /// The number of its group.
    pub(crate) group: u32,
    /// Its values.
    pub(crate) values: &'a [i64],
}
impl Shard {
    /// Add a row.
    pub(crate) fn push(&mut self, id: i64, group: u32, values: impl Iterator<Item = i64>) {
        match self.chunks.last() {
            // The first chunk grows, as small tables have few rows.
            None => self.chunks.push(Chunk::default()),
            Some(full) if CHUNK <= full.ids.len() => {
                let (ids, groups) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
                let values = Vec::with_capacity(full.values.len());
                self.chunks.push(Chunk { ids, groups, values });
            }
            Some(_) => {}
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.ids.push(id);
            chunk.groups.push(group);
            chunk.values.extend(values);
        }
    }
    /// Return the number of rows.
    pub(crate) fn len(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1) * CHUNK;
        full + self.chunks.last().map_or(0, |chunk| chunk.ids.len())
    }
    /// Choose the rows that are kept, and pass them on for one individual after the other. They are
    /// in the order of their groups. `ranks` has the place of each group in the order of the keys.
    pub(crate) fn each(
        &self,
        width: usize,
        ranks: &[u32],
        limits: Limits,
        lots: Lots,
        mut keep: impl FnMut(&[Kept<'_>]),
    ) -> Result<(), TooMany> {
        let rows = Rows { shard: self, width };
        let mut order = self.order(ranks)?;
        let mut choice = Choice { limits, lots, drawn: Vec::new(), groups: Vec::new() };
        let mut kept = Vec::new();
        for own in order.chunk_by_mut(|a, b| a.id() == b.id()) {
            kept.clear();
            if limits.keep_all(own.len()) {
                kept.extend(own.iter().map(|row| rows.kept(row.row())));
            } else {
                // Rows with the same values are interchangeable.
                for equal in own.chunk_by_mut(|a, b| a.id_and_rank() == b.id_and_rank()) {
                    equal.sort_unstable_by(|a, b| rows.values(a.row()).cmp(rows.values(b.row())));
                }
                choice.draw(own);
                kept.extend(choice.drawn.iter().filter_map(|drawn| {
                    own.get(drawn.place() as usize - 1).map(|row| rows.kept(row.row()))
                }));
            }
            keep(&kept);
        }
        Ok(())
    }
    /// Sort the rows by ids and groups.
    fn order(&self, ranks: &[u32]) -> Result<Vec<Placed>, TooMany> {
        let last = u32::try_from(self.len()).map_err(|_| TooMany)?;
        let cells = self.chunks.iter().flat_map(|chunk| chunk.ids.iter().zip(&chunk.groups));
        let placed = cells.zip(0..last).map(|((id, group), row)| {
            let rank = ranks.get(*group as usize).copied().unwrap_or(u32::MAX);
            Placed::new(*id, rank, row)
        });
        let mut order: Vec<Placed> = placed.collect();
        order.sort_unstable();
        Ok(order)
    }
}
/// A row in the order of ids and groups: the bits of its id, the rank of its group, and its number.
/// One integer is sorted much faster than three.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Placed(u128);
impl Placed {
    fn new(id: i64, rank: u32, row: u32) -> Self {
        Placed(u128::from(id.cast_unsigned()) << 64 | u128::from(rank) << 32 | u128::from(row))
    }
    // The casts keep the bits of each part.
    fn id(self) -> i64 {
        ((self.0 >> 64) as u64).cast_signed()
    }
    fn id_and_rank(self) -> u128 {
        self.0 >> 32
    }
    fn row(self) -> u32 {
        self.0 as u32
    }
}
/// The rows of a shard, by their numbers.
struct Rows<'a> {
    shard: &'a Shard,
    width: usize,
}
impl<'a> Rows<'a> {
    fn kept(&self, row: u32) -> Kept<'a> {
        let (chunk, place) = self.place(row);
        let group = chunk.and_then(|chunk| chunk.groups.get(place)).copied();
        Kept { group: group.unwrap_or(u32::MAX), values: self.values(row) }
    }
    fn values(&self, row: u32) -> &'a [i64] {
        let (chunk, place) = self.place(row);
        let values = chunk.map_or(&[][..], |chunk| chunk.values.as_slice());
        values.get(place * self.width..(place + 1) * self.width).unwrap_or(&[])
    }
    fn place(&self, row: u32) -> (Option<&'a Chunk>, usize) {
        let row = row as usize;
        (self.shard.chunks.get(row / CHUNK), row % CHUNK)
    }
}

/// The lot of a row of an individual, and its place among the rows of the individual, counted from
/// 1. Lots have 31 bits.
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
struct Choice {
    limits: Limits,
    lots: Lots,
    /// The rows that are kept.
    drawn: Vec<Drawn>,
    /// For each group its lot and place, and where its rows are in `drawn`.
    groups: Vec<(i64, u32, std::ops::Range<usize>)>,
}
impl Choice {
    /// Choose among the rows of an individual, in the order of groups and values.
    fn draw(&mut self, own: &[Placed]) {
        self.drawn.clear();
        self.groups.clear();
        let Some(first) = own.first() else { return };
        let of_id = self.lots.of_id(first.id());
        let mut place = 0;
        for (group, rows) in (1..).zip(own.chunk_by(|a, b| a.id_and_rank() == b.id_and_rank())) {
            let start = self.drawn.len();
            for _ in rows {
                place += 1;
                let lot = self.lots.of_row(of_id, i64::from(place));
                self.drawn.push(Drawn::new(lot, place));
            }
            keep_first(&mut self.drawn, start, self.limits.per_group);
            let lot = self.lots.of_group(of_id, i64::from(group));
            self.groups.push((lot, group, start..self.drawn.len()));
        }
        if self.limits.groups < self.groups.len() as u64 {
            // The groups with the smallest lots.
            self.groups.sort_unstable_by_key(|(lot, group, _)| (*lot, *group));
            let chosen = self.groups.iter().take(usize::try_from(self.limits.groups).unwrap_or(0));
            let rows = chosen.flat_map(|(.., rows)| self.drawn.get(rows.clone()).unwrap_or(&[]));
            self.drawn = rows.copied().collect();
        }
        keep_first(&mut self.drawn, 0, self.limits.rows);
        // Rows of a group are together again.
        self.drawn.sort_unstable_by_key(|drawn| drawn.place());
    }
}
/// Keep only the smallest lots from a position on.
fn keep_first(drawn: &mut Vec<Drawn>, start: usize, limit: u64) {
    let Ok(limit) = usize::try_from(limit) else { return };
    let Some(rest) = drawn.get_mut(start..) else { return };
    if limit < rest.len() {
        rest.select_nth_unstable(limit);
        drawn.truncate(start + limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOTS: &str = "0123456789abcdef";

    fn shard(rows: &[(i64, u32, i64)]) -> Shard {
        let mut shard = Shard::default();
        rows.iter().for_each(|(id, group, value)| shard.push(*id, *group, [*value].into_iter()));
        shard
    }
    fn kept(rows: &[(i64, u32, i64)], limits: Limits) -> Vec<(u32, i64)> {
        let mut all = Vec::new();
        let keep = |kept: &[Kept<'_>]| {
            all.extend(kept.iter().map(|row| (row.group, row.values[0])));
        };
        shard(rows).each(1, &[0, 1, 2, 3], limits, Lots::of_seed(LOTS), keep).unwrap();
        all.sort_unstable();
        all
    }
    #[test]
    fn the_choice_depends_on_the_rows_of_an_id_alone_and_not_on_their_order() {
        let rows: Vec<(i64, u32, i64)> =
            (0..4000_i64).map(|k| (k * k % 7, (k * k % 4) as u32, k % 13)).collect();
        let limits = Limits { rows: 40, per_group: 15, groups: 3 };
        let of = |rows: &[(i64, u32, i64)]| kept(rows, limits);
        let mut backwards = rows.clone();
        backwards.reverse();
        assert_eq!(of(&rows), of(&backwards));
        // The rows of all ids are those of each id on its own.
        let mut alone: Vec<(u32, i64)> = (0..7)
            .flat_map(|id| {
                let own: Vec<_> = rows.iter().copied().filter(|row| row.0 == id).collect();
                of(&own)
            })
            .collect();
        alone.sort_unstable();
        assert_eq!(of(&rows), alone);
    }
    #[test]
    fn all_limits_hold_and_are_reached() {
        let rows: Vec<(i64, u32, i64)> = (0..3000_i64).map(|k| (5, (k % 4) as u32, k)).collect();
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
