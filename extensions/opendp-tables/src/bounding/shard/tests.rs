//! What is kept, beside a plain computation from the same lots.

use std::collections::BTreeMap;

use super::*;

/// A small generator of random choices.
struct Dice(u64);
impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
/// For each id, the rows that the limits keep: groups, then rows of each group, then rows.
fn plainly(keys: Keys, limits: Limits, rows: &[(i64, u32)]) -> Vec<i64> {
    let mut ids: BTreeMap<i64, Vec<(u64, u32, i64)>> = BTreeMap::new();
    for (place, (id, group)) in rows.iter().enumerate() {
        let of = ids.entry(*id).or_default();
        let lot = keys.rows.words(Id::Whole(*id).hash(keys), of.len() as u64);
        of.push((lot, *group, place as i64));
    }
    let mut kept = Vec::new();
    for (id, mut rows) in ids {
        let hash = Id::Whole(id).hash(keys);
        let mut groups: Vec<u32> = rows.iter().map(|row| row.1).collect();
        groups.sort_unstable();
        groups.dedup();
        groups.sort_by_key(|group| keys.groups.words(hash, u64::from(*group)));
        groups.truncate(limits.groups.map_or(usize::MAX, |limit| limit as usize));
        rows.sort_unstable();
        let mut left: BTreeMap<u32, u32> = groups.iter().map(|g| (*g, limits.per_group)).collect();
        rows.retain(|row| match left.get_mut(&row.1) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        });
        kept.extend(rows.iter().take(limits.rows as usize).map(|row| row.2));
    }
    kept.sort_unstable();
    kept
}
/// The rows that a shard keeps. Their number is their value.
fn kept(keys: Keys, limits: Limits, rows: &[(i64, u32)], texts: bool) -> Vec<i64> {
    let mut shard = Shard::new(limits, 1);
    for (place, (id, group)) in rows.iter().enumerate() {
        let text = id.to_string();
        let whole = Id::Whole(*id);
        let (id, group_hash) = (if texts { Id::Text(&text) } else { whole }, u64::from(*group));
        let row = Row { id, hash: whole.hash(keys), group: *group, group_hash };
        shard.add(keys, row, [place as i64].into_iter()).unwrap();
        // Rows that wait are taken into account at any time.
        if place % 7 == 0 {
            shard.settle(keys).unwrap();
        }
    }
    let mut kept = Vec::new();
    shard.finish(keys, |rows| kept.extend(rows.iter().map(|row| row.1[0]))).unwrap();
    kept.sort_unstable();
    kept
}
#[test]
fn the_smallest_lots_are_kept() {
    let mut dice = Dice(5);
    let mut dropped = 0;
    for round in 0..400 {
        let keys = Keys::of_seed(&format!("{:x}", round * 77 + 1)).unwrap();
        let limits = Limits {
            rows: 1 + dice.below(6) as u32,
            per_group: 1 + dice.below(6) as u32,
            groups: [None, Some(1 + dice.below(3) as u32)][dice.below(2) as usize],
        };
        let limits = Limits { per_group: limits.per_group.min(limits.rows), ..limits };
        let (ids, groups) = (1 + dice.below(20), 1 + dice.below(6));
        let rows: Vec<(i64, u32)> = (0..dice.below(200))
            .map(|_| (dice.below(ids) as i64 - 3, dice.below(groups) as u32))
            .collect();
        let expected = plainly(keys, limits, &rows);
        dropped += rows.len() - expected.len();
        assert_eq!(kept(keys, limits, &rows, false), expected, "{limits:?} {rows:?}");
        assert_eq!(kept(keys, limits, &rows, true), expected, "{limits:?} {rows:?}");
    }
    assert!(dropped > 1000, "limits are reached: {dropped}");
}
