//! Sets of keys. A set is fast to fill, even if most rows have a new value.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use opendp_core::with_threads;
use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::count::key::{Form, Key, LongKey};
use crate::count::table::{Table, mixed, seed};

/// A word is the 64-bit number of a key; see `Key::word`. A set adds at most `FEW` keys at a time
/// to its table. If the table then has more than `FEW` words, the set moves these words from the
/// table to bits and lists. A table with `FEW` words fits into a cache of the processor.
const FEW: usize = 1 << 13;
/// If a set has many words, each word that is at least `-NEAR` and below `NEAR` is stored as one
/// bit. Words are read as signed numbers in two's complement.
const NEAR: u64 = 1 << 20;
/// Words that are not stored as bits are divided among `LISTS` lists.
const LISTS: usize = 1 << 8;
/// The initial capacity of a list, in words.
const FIRST: usize = 1 << 8;
/// A list that was joined with other lists drops its duplicates when its number of words exceeds
/// `JOINED` times its capacity.
const JOINED: usize = 4;
/// If the lists of a set have at least `PARALLEL` words, all cores count these words.
const PARALLEL: usize = 1 << 17;

/// A set of keys.
///
/// A large set is slow if it writes to newly allocated memory, or accesses its memory in random
/// order. So a set keeps its words in a [`Table`] only while the table has at most `FEW` words.
/// Otherwise, words near zero are stored as bits of a bit field, and all other words are appended
/// to lists. A function of the word and a seed chooses the list, so equal words are in the same
/// list. A full list drops its duplicates, with the help of a table that all lists share. If less
/// than half of the capacity of the list is free after this step, the capacity becomes twice the
/// number of words in the list. So each word is read only a few times, and each time from the
/// cache. The capacity of a list is at most `max(FIRST, 2 * d)`, where `d` is the number of
/// distinct words in the list. Sets with the same seed are joined list by list. The words of a list
/// are read only if the joined list is too long; see `JOINED`. Counting the words of a large set
/// uses all cores. The results do not depend on the seed.
pub(crate) struct Set<L> {
    few: Table<L, ()>,
    many: Option<Box<Words>>,
    seed: u64,
}
impl<L: LongKey> Set<L> {
    /// Make an empty set.
    pub(crate) fn new(seed: u64) -> Self {
        Set { few: Table::new(), many: None, seed }
    }
    /// Add keys to the set.
    pub(crate) fn extend<K: Key<Long = L>>(&mut self, keys: &[K]) {
        for some in keys.chunks(FEW) {
            match &mut self.many {
                Some(many) if K::HAS_WORD => {
                    for key in some {
                        many.insert(key.word());
                    }
                }
                _ => {
                    for key in some {
                        self.few.entry(key.form());
                    }
                    self.spread_if_many();
                }
            }
        }
    }
    /// Add the keys of another set.
    pub(crate) fn merge(&mut self, mut other: Self) {
        if self.many.is_none() && other.many.is_some() {
            std::mem::swap(self, &mut other);
        }
        self.few.merge(&other.few, |(), ()| {});
        if let Some(words) = other.many {
            self.spread().merge(*words);
        } else {
            self.spread_if_many();
        }
    }
    /// Count the keys.
    pub(crate) fn count(self) -> usize {
        self.few.len() + self.many.map_or(0, |many| many.count())
    }
    /// If the set has many words, or already uses the representation for many words, move all words
    /// to this representation.
    fn spread_if_many(&mut self) {
        if self.many.is_some() || FEW < self.few.words() {
            self.spread();
        }
    }
    /// Move all words to the representation for many words.
    fn spread(&mut self) -> &mut Words {
        let (few, seed) = (&mut self.few, self.seed);
        let many = self.many.get_or_insert_with(|| Box::new(Words::new(seed)));
        few.drain_words(&mut |word| many.insert(word));
        many
    }
}
/// The serialized form of a set. A word can occur several times.
#[derive(Serialize, Deserialize)]
struct Saved<L> {
    words: Vec<u64>,
    doubles: Vec<u128>,
    others: Vec<L>,
}
impl<L: LongKey> Serialize for Set<L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words = self.many.as_ref().map_or_else(Vec::new, |many| many.list());
        let mut saved = Saved { words, doubles: Vec::new(), others: Vec::new() };
        self.few.visit(&mut |form, ()| match form {
            Form::Word(word) => saved.words.push(word),
            Form::Double(word) => saved.doubles.push(word),
            Form::Long(key) => saved.others.push(key),
        });
        saved.serialize(serializer)
    }
}
impl<'de, L: LongKey> Deserialize<'de> for Set<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let saved = Saved::<L>::deserialize(deserializer)?;
        let mut set = Set::new(seed());
        for some in saved.words.chunks(FEW) {
            for word in some {
                set.few.entry(Form::Word(*word));
            }
            set.spread_if_many();
        }
        for word in saved.doubles {
            set.few.entry(Form::Double(word));
        }
        for key in &saved.others {
            set.few.entry(Form::Long(key));
        }
        Ok(set)
    }
}

/// The words of a set that has many words.
struct Words {
    /// A bit for each word that is at least `-NEAR` and below `NEAR`.
    near: Vec<u64>,
    /// The lists of all words that have no bit in `near`. None of these words is zero.
    far: Vec<List>,
    /// Memory for the table that a list uses to find its duplicates. All lists share this memory.
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
        // The low bits of the hash choose the list. The high bits of the hash choose the place in
        // the shared table.
        let list = &mut self.far[mixed(word, self.seed) as usize & (LISTS - 1)];
        if list.words.len() == list.free {
            list.deduplicate(&mut self.shared, self.seed);
        }
        list.words.push(word);
    }
    fn merge(&mut self, other: Words) {
        self.near.iter_mut().zip(&other.near).for_each(|(bits, more)| *bits |= more);
        if self.seed != other.seed {
            for word in other.far.iter().flat_map(List::parts).flatten() {
                self.insert(*word);
            }
            return;
        }
        self.far.iter_mut().zip(other.far).for_each(|(list, other)| list.join(other));
        let seed = self.seed;
        let mut crowded: Vec<&mut List> = self.far.iter_mut().collect();
        crowded.retain(|list| JOINED * list.room < list.len());
        if !crowded.is_empty() {
            on_all_cores(crowded, &mut self.shared, &|list, shared| list.deduplicate(shared, seed));
        }
    }
    fn count(mut self) -> usize {
        let near: usize = self.near.iter().map(|bits| bits.count_ones() as usize).sum();
        let (seed, far) = (self.seed, AtomicUsize::new(0));
        let count = |list: &mut List, shared: &mut Vec<u64>| {
            far.fetch_add(list.count(shared, seed), Relaxed);
        };
        let mut lists: Vec<&mut List> = self.far.iter_mut().collect();
        if PARALLEL <= lists.iter().map(|list| list.len()).sum() {
            on_all_cores(lists, &mut self.shared, &count);
        } else {
            lists.iter_mut().for_each(|list| count(list, &mut self.shared));
        }
        near + far.into_inner()
    }
    /// List the words of the set. A word can occur several times in the list.
    fn list(&self) -> Vec<u64> {
        let mut words = Vec::new();
        for i in 0..2 * NEAR {
            if self.near[(i >> 6) as usize] >> (i & 63) & 1 == 1 {
                words.push(i.wrapping_sub(NEAR));
            }
        }
        for part in self.far.iter().flat_map(List::parts) {
            words.extend_from_slice(part);
        }
        words
    }
}
/// Run `work` on each list, on all cores if possible. `shared` is the memory for a single core.
fn on_all_cores(
    mut lists: Vec<&mut List>,
    shared: &mut Vec<u64>,
    work: &(dyn Fn(&mut List, &mut Vec<u64>) + Sync),
) {
    with_threads(|divided| match divided {
        true => lists.into_par_iter().for_each_init(Vec::new, |shared, list| work(list, shared)),
        false => lists.iter_mut().for_each(|list| work(list, shared)),
    });
}

/// A list of words, which can contain duplicates.
#[derive(Default)]
struct List {
    words: Vec<u64>,
    /// The words of the lists that were joined to this list.
    joined: Vec<Vec<u64>>,
    /// The capacity in words. A list that was not joined drops duplicates when it has this number
    /// of words.
    room: usize,
    /// The number of words for which `words` has memory. This number is zero until memory is
    /// reserved.
    free: usize,
}
impl List {
    fn len(&self) -> usize {
        self.words.len() + self.joined.iter().map(Vec::len).sum::<usize>()
    }
    fn parts(&self) -> impl Iterator<Item = &Vec<u64>> {
        std::iter::once(&self.words).chain(&self.joined)
    }
    /// Add the words of another list, without dropping duplicates.
    fn join(&mut self, other: List) {
        self.room = self.room.max(other.room);
        let filled = |words: &Vec<u64>| !words.is_empty();
        self.joined.extend(other.joined);
        self.joined.extend(Some(other.words).filter(filled));
    }
    /// Drop the duplicates of the list, and reserve memory for new words.
    #[inline(never)]
    fn deduplicate(&mut self, shared: &mut Vec<u64>, seed: u64) {
        let mut seen = Seen::new(self.len(), shared, seed);
        self.words.retain(|word| seen.insert(*word));
        for words in std::mem::take(&mut self.joined) {
            for word in words {
                if seen.insert(word) {
                    self.words.push(word);
                }
            }
        }
        self.room = self.room.max(FIRST).max(2 * self.words.len());
        self.free = self.room;
        self.words.reserve_exact(self.room - self.words.len());
    }
    /// Count the different words of the list.
    #[inline(never)]
    fn count(&self, shared: &mut Vec<u64>, seed: u64) -> usize {
        let mut seen = Seen::new(self.len(), shared, seed);
        let mut count = 0;
        for words in self.parts() {
            for word in words {
                count += usize::from(seen.insert(*word));
            }
        }
        count
    }
}

/// The set of the words of one list. The lists use the same memory, one list after another.
struct Seen<'a> {
    places: &'a mut [u64],
    shift: u32,
    seed: u64,
}
impl<'a> Seen<'a> {
    /// Make an empty set with room for `words` words.
    fn new(words: usize, shared: &'a mut Vec<u64>, seed: u64) -> Self {
        let places = (2 * words).next_power_of_two().max(2);
        shared.clear();
        shared.resize(places, 0);
        Seen { places: shared, shift: u64::BITS - places.trailing_zeros(), seed }
    }
    /// Insert a nonzero word, and return whether it is new.
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
        let again: Set<K::Long> = serde_json::from_slice(&bytes).unwrap();
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
        // If the bit field ignored the high bits of a word, it would treat the last three words as
        // words near zero. The set already contains these words near zero, so the count would be
        // too small.
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
