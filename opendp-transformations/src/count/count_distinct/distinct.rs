//! Sets of keys, fast to fill with rows whose values are mostly new.

use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Key;
use crate::count::table::{Table, mixed, seed};

/// Up to this many keys are held in one table, which fits a cache.
const FEW: usize = 1 << 13;
/// Words this close to zero, in two's complement, are stored as one bit each.
const NEAR: u64 = 1 << 20;
/// The other words are divided among this many lists.
const LISTS: usize = 1 << 8;
/// The initial capacity of a list, in words.
const FIRST: usize = 1 << 8;
/// Joined lists drop duplicates when they hold more words than this multiple of their capacity.
const JOINED: usize = 4;
/// From this many words on, counting uses all cores.
const PARALLEL: usize = 1 << 17;

/// A set of keys.
///
/// A large set is slow because of access to new memory, and of access in random order. A few keys
/// are held in a [`Table`]. If there are many keys, small numbers are stored as bits of a bit
/// field. The others are appended to one of several lists, which a seeded function chooses, so
/// equal words are in the same list. A full list drops its duplicates, using a table that all lists
/// share. If less than half of its capacity is free afterwards, the capacity is doubled. So each
/// row is read a few times, always in the cache. The capacity of a list is at most twice what it
/// needs, or its initial capacity. Sets with the same seed are joined list by list, without reading
/// the words; counting uses all cores. The results do not depend on the seed.
pub(crate) struct Set<K> {
    few: Table<K, ()>,
    many: Option<Box<Words>>,
    seed: u64,
}
impl<K: Key> Set<K> {
    /// Make an empty set.
    pub(crate) fn new(seed: u64) -> Self {
        Set { few: Table::new(), many: None, seed }
    }
    /// Add keys.
    pub(crate) fn extend(&mut self, keys: &[K]) {
        for some in keys.chunks(FEW) {
            match &mut self.many {
                Some(many) => {
                    for key in some {
                        many.insert(key.word());
                    }
                }
                None => {
                    for key in some {
                        self.few.update(key, |()| {});
                    }
                    if K::HAS_WORD && FEW < self.few.len() {
                        self.spread();
                    }
                }
            }
        }
    }
    /// Add the keys of another set.
    pub(crate) fn merge(&mut self, mut other: Self) {
        if self.many.is_none() && other.many.is_some() {
            std::mem::swap(self, &mut other);
        }
        match other.many {
            Some(words) => self.spread().merge(*words),
            None => {
                self.extend(&other.keys());
            }
        }
    }
    /// Count the keys.
    pub(crate) fn count(self) -> usize {
        self.few.len() + self.many.map_or(0, |many| many.count())
    }
    /// List the keys, with possible duplicates.
    fn keys(&self) -> Vec<K> {
        let mut keys = Vec::new();
        self.few.visit(&mut |key, ()| keys.push(key));
        for word in self.many.iter().flat_map(|many| many.iter()) {
            keys.extend(K::from_word(word));
        }
        keys
    }
    /// Switch to the representation of many keys, if not done yet.
    fn spread(&mut self) -> &mut Words {
        let (few, seed) = (&mut self.few, self.seed);
        self.many.get_or_insert_with(|| {
            let mut many = Box::new(Words::new(seed));
            std::mem::replace(few, Table::new()).visit(&mut |key, ()| many.insert(key.word()));
            many
        })
    }
}
// Duplicates of a key may be written.
impl<K: Key> Serialize for Set<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.keys().serialize(serializer)
    }
}
impl<'de, K: Key> Deserialize<'de> for Set<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut set = Set::new(seed());
        set.extend(&Vec::<K>::deserialize(deserializer)?);
        Ok(set)
    }
}

/// A set of many words.
struct Words {
    /// A bit for each word from `-NEAR` up to `NEAR`.
    near: Vec<u64>,
    /// All other words. Zero is not among them.
    far: Vec<List>,
    /// Memory in which lists find equal words.
    shared: Vec<u64>,
    seed: u64,
}
impl Words {
    fn new(seed: u64) -> Self {
        let near = vec![0; (2 * NEAR / u64::from(u64::BITS)) as usize];
        let far = (0..LISTS).map(|_| List::default()).collect();
        Words { near, far, shared: Vec::new(), seed }
    }
    #[inline]
    fn insert(&mut self, word: u64) {
        let bit = word.wrapping_add(NEAR);
        if bit < 2 * NEAR {
            self.near[(bit >> 6) as usize] |= 1 << (bit & 63);
            return;
        }
        // The low bits choose the list, and the high bits the place in the shared table.
        let list = &mut self.far[mixed(word, self.seed) as usize & (LISTS - 1)];
        if list.words.len() == list.free {
            list.deduplicate(&mut self.shared, self.seed);
        }
        list.words.push(word);
    }
    fn merge(&mut self, other: Words) {
        self.near.iter_mut().zip(&other.near).for_each(|(bits, more)| *bits |= more);
        if self.seed != other.seed {
            for list in other.far {
                list.words().for_each(|word| self.insert(word));
            }
            return;
        }
        self.far.iter_mut().zip(other.far).for_each(|(list, other)| list.join(other));
        let seed = self.seed;
        let crowded = self.far.par_iter_mut().filter(|list| JOINED * list.room < list.len());
        crowded.for_each_init(Vec::new, |shared, list| list.deduplicate(shared, seed));
    }
    fn count(self) -> usize {
        let near: usize = self.near.iter().map(|bits| bits.count_ones() as usize).sum();
        let (seed, mut shared) = (self.seed, self.shared);
        let far: usize = if self.far.iter().map(List::len).sum::<usize>() < PARALLEL {
            self.far.iter().map(|list| list.count(&mut shared, seed)).sum()
        } else {
            let far = self.far.into_par_iter();
            far.map_init(Vec::new, |shared, list| list.count(shared, seed)).sum()
        };
        near + far
    }
    /// List the words, with possible duplicates.
    fn iter(&self) -> impl Iterator<Item = u64> {
        let bit = |i: u64| self.near[(i >> 6) as usize] >> (i & 63) & 1 == 1;
        let near = (0..2 * NEAR).filter(move |i| bit(*i)).map(|i| i.wrapping_sub(NEAR));
        near.chain(self.far.iter().flat_map(List::words))
    }
}

/// Words, with possible duplicates.
#[derive(Default)]
struct List {
    words: Vec<u64>,
    /// The words of other lists.
    joined: Vec<Vec<u64>>,
    /// The number of words it may hold before it drops duplicates, unless lists are joined.
    room: usize,
    /// The number of words that `words` may hold: zero until memory is reserved.
    free: usize,
}
impl List {
    fn len(&self) -> usize {
        self.words.len() + self.joined.iter().map(Vec::len).sum::<usize>()
    }
    fn words(&self) -> impl Iterator<Item = u64> {
        self.words.iter().chain(self.joined.iter().flatten()).copied()
    }
    /// Add the words of another list, as they are.
    fn join(&mut self, other: List) {
        self.room = self.room.max(other.room);
        let filled = |words: &Vec<u64>| !words.is_empty();
        self.joined.extend(other.joined);
        self.joined.extend(Some(other.words).filter(filled));
    }
    /// Drop duplicates, and reserve memory.
    #[inline(never)]
    fn deduplicate(&mut self, shared: &mut Vec<u64>, seed: u64) {
        let mut seen = Seen::new(self.len(), shared, seed);
        self.words.retain(|word| seen.insert(*word));
        for words in std::mem::take(&mut self.joined) {
            self.words.extend(words.into_iter().filter(|word| seen.insert(*word)));
        }
        self.room = self.room.max(FIRST).max(2 * self.words.len());
        self.free = self.room;
        self.words.reserve_exact(self.room - self.words.len());
    }
    /// Count the different words.
    #[inline(never)]
    fn count(&self, shared: &mut Vec<u64>, seed: u64) -> usize {
        let mut seen = Seen::new(self.len(), shared, seed);
        self.words().filter(|word| seen.insert(*word)).count()
    }
}

/// The words of one list that have been seen, in memory shared by the lists.
struct Seen<'a> {
    places: &'a mut [u64],
    shift: u32,
    seed: u64,
}
impl<'a> Seen<'a> {
    /// Start empty, with room for this many words.
    fn new(words: usize, shared: &'a mut Vec<u64>, seed: u64) -> Self {
        let places = (2 * words).next_power_of_two().max(2);
        shared.clear();
        shared.resize(places, 0);
        Seen { places: shared, shift: u64::BITS - places.trailing_zeros(), seed }
    }
    /// Whether a word, which is not zero, is new.
    #[inline]
    fn insert(&mut self, word: u64) -> bool {
        let mask = self.places.len() - 1;
        let mut place = (mixed(word, self.seed) >> self.shift) as usize & mask;
        loop {
            match self.places[place] {
                0 => {
                    self.places[place] = word;
                    return true;
                }
                found if found == word => return false,
                _ => place = (place + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[track_caller]
    fn check<K: Key + std::hash::Hash>(keys: &[K]) {
        let expected = keys.iter().collect::<HashSet<_>>().len();
        let filled = |keys: &[K], seed| {
            let mut set = Set::new(seed);
            keys.chunks(1000).for_each(|some| set.extend(some));
            set
        };
        assert_eq!(filled(keys, 1).count(), expected);
        let (first, second) = keys.split_at(keys.len() / 3);
        for (first, second) in [(first, second), (second, first), (keys, keys)] {
            for seed in [1, 2] {
                let mut merged = filled(first, 1);
                merged.merge(filled(second, seed));
                merged.extend(second);
                assert_eq!(merged.count(), expected);
            }
        }
        let bytes = serde_json::to_vec(&filled(keys, 1)).unwrap();
        let again: Set<K> = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(again.count(), expected);
    }

    #[test]
    fn counts_what_a_hash_set_counts() {
        let ends = [i64::MIN, i64::MAX, -1, 0, 1];
        let near = NEAR as i64;
        let borders = [-near - 1, -near, near - 1, near];
        check::<i64>(&[]);
        check(&ends);
        let many = 0..4 * FEW as i64;
        check(&many.clone().map(|i| i - FEW as i64).collect::<Vec<_>>());
        check(
            &many
                .clone()
                .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64))
                .collect::<Vec<_>>(),
        );
        let mixed = many.flat_map(|i| [i % 9000, i * 1_000_003]).chain(ends).chain(borders);
        check(&mixed.collect::<Vec<_>>());
        check(&(0..=u16::MAX).chain(0..999).collect::<Vec<_>>());
        check(&(0..2 * FEW as u128).map(|i| i << 80).collect::<Vec<_>>());
        check(&(0..2 * FEW).map(|i| format!("{}", i % 9000)).collect::<Vec<_>>());
    }
    #[test]
    fn a_word_far_away_is_not_taken_for_one_near() {
        // A bit field that ignores the high bits would find these equal.
        let mut set = Set::new(seed());
        set.extend(&(0..2 * FEW as u64).collect::<Vec<_>>());
        set.extend(&[1 << 40, 5 + (1 << 40), u64::MAX << 21]);
        assert_eq!(set.count(), 2 * FEW + 3);
    }
    #[test]
    fn equal_words_take_no_room() {
        let mut set = Set::new(seed());
        let keys: Vec<u64> = (0..2 * FEW as u64).map(|i| (i + 1) << 32).collect();
        (0..50).for_each(|_| set.extend(&keys));
        let room: usize = set.many.iter().flat_map(|many| &many.far).map(|list| list.room).sum();
        assert!(room <= LISTS * FIRST + 2 * keys.len(), "{room}");
        assert_eq!(set.count(), keys.len());
    }
    #[test]
    fn equal_words_of_joined_sets_take_little_room() {
        let keys: Vec<u64> = (0..2 * FEW as u64).map(|i| (i + 1) << 32).collect();
        let mut whole = Set::new(7);
        for _ in 0..50 {
            let mut part = Set::new(7);
            part.extend(&keys);
            whole.merge(part);
            let held = whole.many.iter().flat_map(|many| &many.far).map(List::len).sum::<usize>();
            assert!(held <= JOINED * (LISTS * FIRST + 2 * keys.len()), "{held}");
        }
        assert_eq!(whole.count(), keys.len());
    }
}
