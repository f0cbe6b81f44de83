//! Hash tables that are as fast to fill as memory allows.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Key;

/// A map from keys to values.
///
/// Keys that fit one or two words are stored in one array, next to their values. So a lookup costs
/// one memory access. A lookup of a short text costs a second access, for its bytes. The place of a
/// key depends on a seed that is drawn for each table. So crafted data cannot make the table slow.
/// The contents of a table do not depend on the seed.
pub(crate) struct Table<K, V> {
    words: Words<u64, V>,
    doubles: Words<u128, V>,
    others: HashMap<K, V, foldhash::fast::RandomState>,
}

impl<K: Key, V: Default + Copy> Table<K, V> {
    /// Make an empty table.
    pub(crate) fn new() -> Self {
        Table { words: Words::new(), doubles: Words::new(), others: HashMap::default() }
    }
    /// Make an empty table that has few collisions while it contains at most `keys` keys.
    pub(crate) fn with_room(keys: usize) -> Self {
        let bits = (usize::BITS - keys.saturating_mul(8).leading_zeros()).max(FIRST_BITS);
        let (words, doubles) = if K::HAS_WORD { (bits, FIRST_BITS) } else { (FIRST_BITS, bits) };
        Table {
            words: Words::with_bits(words, seed()),
            doubles: Words::with_bits(doubles, seed()),
            others: HashMap::default(),
        }
    }
    /// Return the value of a key, or the default if the key is absent.
    #[inline]
    pub(crate) fn lookup(&self, key: &K) -> V {
        if K::HAS_WORD {
            self.words.lookup(key.word())
        } else if let Some(word) = key.double_word() {
            self.doubles.lookup(word)
        } else {
            self.others.get(key).copied().unwrap_or_default()
        }
    }
    /// Return the number of keys in the table.
    pub(crate) fn len(&self) -> usize {
        self.words.len + self.doubles.len + self.others.len()
    }
    /// Change the value of a key. If the key is absent, its value starts at the default.
    #[inline]
    pub(crate) fn update(&mut self, key: &K, change: impl FnOnce(&mut V)) {
        if K::HAS_WORD {
            change(self.words.entry(key.word()));
        } else if let Some(word) = key.double_word() {
            change(self.doubles.entry(word));
        } else if let Some(value) = self.others.get_mut(key) {
            change(value);
        } else {
            change(self.others.entry(key.clone()).or_default());
        }
    }
    /// Pass all keys and values to a function, in no particular order.
    pub(crate) fn visit(&self, show: &mut dyn FnMut(K, V)) {
        if K::HAS_WORD {
            return self.words.visit(&mut |word, value| {
                if let Some(key) = K::from_word(word) {
                    show(key, value);
                }
            });
        }
        self.doubles.visit(&mut |word, value| {
            if let Some(key) = K::from_double_word(word) {
                show(key, value);
            }
        });
        for (key, value) in &self.others {
            show(key.clone(), *value);
        }
    }
    /// List the keys of the table and their values, in no particular order.
    pub(crate) fn list(&self) -> Vec<(K, V)> {
        let mut all = Vec::with_capacity(self.len());
        self.visit(&mut |key, value| all.push((key, value)));
        all
    }
    /// Add the keys of another table. `add` combines two values of the same key.
    pub(crate) fn merge(&mut self, other: Self, add: fn(&mut V, V)) {
        if K::HAS_WORD {
            return self.words.merge(&other.words, add);
        }
        self.doubles.merge(&other.doubles, add);
        for (key, more) in other.others {
            add(self.others.entry(key).or_default(), more);
        }
    }
}

impl<K: Key, V: Default + Copy + Serialize> Serialize for Table<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list().serialize(serializer)
    }
}
impl<'de, K: Key, V: Default + Copy + Deserialize<'de>> Deserialize<'de> for Table<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::new();
        for (key, value) in Vec::<(K, V)>::deserialize(deserializer)? {
            table.update(&key, |place| *place = value);
        }
        Ok(table)
    }
}

/// Draw a random seed for [`mixed`].
pub(crate) fn seed() -> u64 {
    RandomState::new().hash_one(0_u64)
}
/// Hash a word with a seed. If the seed is unknown, the bits of the result look random.
#[inline]
pub(crate) fn mixed(word: u64, seed: u64) -> u64 {
    // Combine the high and the low half of a product. One factor of the product is an odd constant
    // close to 2^64 divided by the golden ratio.
    let product = u128::from(word ^ seed) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ (product >> 64) as u64
}

/// A number that represents a key.
trait Word: Copy + Eq {
    const ZERO: Self;
    /// Hash the number with a seed; see [`mixed`].
    fn mixed(self, seed: u64) -> u64;
}
impl Word for u64 {
    const ZERO: Self = 0;
    #[inline]
    fn mixed(self, seed: u64) -> u64 {
        mixed(self, seed)
    }
}
impl Word for u128 {
    const ZERO: Self = 0;
    #[inline]
    fn mixed(self, seed: u64) -> u64 {
        // Hash the high half of the word before it is combined with the low half. Without this
        // first hash, many keys would have equal results.
        mixed(self as u64, seed ^ mixed((self >> 64) as u64, seed))
    }
}

/// A map from words to values, with open addressing and linear probing. At most half of its places
/// are used.
struct Words<W, V> {
    /// The value of the word zero. In `places`, the word zero marks a free place.
    zero: Option<V>,
    /// Pairs of a word and its value. The number of pairs is a power of two.
    places: Vec<(W, V)>,
    len: usize,
    seed: u64,
    shift: u32,
}

const FIRST_BITS: u32 = 6;

impl<W: Word, V: Default + Copy> Words<W, V> {
    fn new() -> Self {
        Self::with_bits(FIRST_BITS, seed())
    }
    fn with_bits(bits: u32, seed: u64) -> Self {
        let places = vec![(W::ZERO, V::default()); 1 << bits];
        Words { zero: None, places, len: 0, seed, shift: u64::BITS - bits }
    }
    #[inline]
    fn entry(&mut self, word: W) -> &mut V {
        if word == W::ZERO {
            self.len += usize::from(self.zero.is_none());
            return self.zero.get_or_insert_default();
        }
        let mut place = self.find(word);
        if self.places[place].0 == W::ZERO {
            if self.places.len() <= 2 * self.len {
                self.grow();
                place = self.find(word);
            }
            self.len += 1;
            self.places[place].0 = word;
        }
        &mut self.places[place].1
    }
    #[inline]
    fn lookup(&self, word: W) -> V {
        if word == W::ZERO {
            return self.zero.unwrap_or_default();
        }
        self.places[self.find(word)].1
    }
    /// Return the place of a word, or the free place where it belongs.
    #[inline]
    fn find(&self, word: W) -> usize {
        let mask = self.places.len() - 1;
        // The top bits of the hash choose one of at most 2^63 places.
        let mut place = (word.mixed(self.seed) >> self.shift) as usize & mask;
        loop {
            let found = self.places[place].0;
            if found == word || found == W::ZERO {
                return place;
            }
            place = (place + 1) & mask;
        }
    }
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let bits = u64::BITS - self.shift + 1;
        let mut larger = Words::with_bits(bits, self.seed);
        for (word, value) in &self.places {
            if *word != W::ZERO {
                let place = larger.find(*word);
                larger.places[place] = (*word, *value);
            }
        }
        (self.places, self.shift) = (larger.places, larger.shift);
    }
    fn visit(&self, show: &mut dyn FnMut(W, V)) {
        if let Some(value) = self.zero {
            show(W::ZERO, value);
        }
        for (word, value) in &self.places {
            if *word != W::ZERO {
                show(*word, *value);
            }
        }
    }
    fn merge(&mut self, other: &Self, add: fn(&mut V, V)) {
        other.visit(&mut |word, more| add(self.entry(word), more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn count<K: Key>(rows: &[K]) -> Table<K, u64> {
        let mut table = Table::new();
        rows.iter().for_each(|row| table.update(row, |count| *count += 1));
        table
    }
    #[track_caller]
    fn check<K: Key + Ord>(rows: &[K]) {
        let table = count(rows);
        let mut expected = BTreeMap::new();
        rows.iter().for_each(|row| *expected.entry(row.clone()).or_default() += 1);
        assert_eq!(table.len(), expected.len());
        assert_eq!(table.list().into_iter().collect::<BTreeMap<_, u64>>(), expected);
        assert!(expected.iter().all(|(key, count)| table.lookup(key) == *count));
        let bytes = serde_json::to_vec(&table).unwrap();
        let again: Table<K, u64> = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(again.list().into_iter().collect::<BTreeMap<_, u64>>(), expected);
    }

    #[test]
    fn agrees_with_an_ordered_map() {
        check::<i64>(&[]);
        check(&[0_i64, 0, i64::MIN, -1, i64::MAX, 1, -1]);
        check(&(0..5000_u64).map(|i| i * i % 1009 * (1 << 53)).collect::<Vec<_>>());
        check(&(-300..300).map(|i: i32| i * 65_536).collect::<Vec<_>>());
        check(&[true, false, true]);
        check(&["", "a", "a", "longer than eight bytes"].map(str::to_owned));
        check(&[i128::MIN, 0, 1, i128::MAX, 0]);
    }
    #[test]
    fn is_never_more_than_half_full_and_has_no_seed_in_common() {
        let mut table = Table::<u64, ()>::new();
        for i in 0..10_000_u64 {
            table.update(&i, |()| {});
            assert!(2 * (table.words.len - 1) <= table.words.places.len());
        }
        assert_ne!(table.words.seed, Table::<u64, ()>::new().words.seed);
    }
}
