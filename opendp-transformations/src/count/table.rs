//! Hash tables that are fast to fill.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use opendp_core::{Error, Result, TypeName};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::count::key::{Form, Key, LongKey};

/// A map from keys to values.
///
/// A key that fits one or two words is stored next to its value, in the same array. So a lookup
/// costs one memory access. If the key is a short text, the lookup costs a second access, which
/// reads the bytes of the text. The place of a key depends on a seed that is drawn for each table.
/// An adversary does not know the seed, and so cannot choose data that make the table slow. The
/// contents of a table do not depend on the seed.
///
/// The type of a table depends only on the type `L` of its long keys and on the type `V` of its
/// values. So the code of tables is compiled only once for all number types.
pub(crate) struct Table<L, V> {
    words: Words<u64, V>,
    doubles: Words<u128, V>,
    /// For each long key, the index of its value in `values`.
    others: HashMap<L, usize, foldhash::fast::RandomState>,
    values: Vec<V>,
}

impl<L: LongKey, V: Default + Copy> Table<L, V> {
    /// Make an empty table.
    pub(crate) fn new() -> Self {
        Table::with_bits(FIRST_BITS, FIRST_BITS)
    }
    /// Make an empty table. The table has few collisions while it contains at most `keys` keys.
    /// `have_words` states whether the keys fit one word. Either all keys or no keys must fit one
    /// word.
    pub(crate) fn with_room(keys: usize, have_words: bool) -> Self {
        let bits = (usize::BITS - keys.saturating_mul(8).leading_zeros()).max(FIRST_BITS);
        let (words, doubles) = if have_words { (bits, FIRST_BITS) } else { (FIRST_BITS, bits) };
        Table::with_bits(words, doubles)
    }
    fn with_bits(words: u32, doubles: u32) -> Self {
        Table {
            words: Words::with_bits(words, seed()),
            doubles: Words::with_bits(doubles, seed()),
            others: HashMap::default(),
            values: Vec::new(),
        }
    }
    /// Return the value of a key, or the default value if the key is absent.
    #[inline]
    pub(crate) fn lookup<K: Key<Long = L>>(&self, key: &K) -> V {
        match key.form() {
            Form::Word(word) => self.words.lookup(word),
            Form::Double(word) => self.doubles.lookup(word),
            Form::Long(key) => {
                self.others.get(key).map_or(V::default(), |place| self.values[*place])
            }
        }
    }
    /// Return the number of keys in the table.
    pub(crate) fn len(&self) -> usize {
        self.words.len + self.doubles.len + self.others.len()
    }
    /// Return the number of keys that fit one word.
    pub(crate) fn words(&self) -> usize {
        self.words.len
    }
    /// Remove all words from the table. Pass each word to a function, in no particular order.
    pub(crate) fn drain_words(&mut self, show: &mut dyn FnMut(u64)) {
        if 0 < self.words.len {
            let words = std::mem::replace(&mut self.words, Words::with_bits(FIRST_BITS, seed()));
            words.visit(&mut |word, _| show(word));
        }
    }
    /// Return the value of a key. If the key is absent, insert the key with the default value.
    #[inline]
    pub(crate) fn entry(&mut self, key: Form<&L>) -> &mut V {
        match key {
            Form::Word(word) => self.words.entry(word),
            Form::Double(word) => self.doubles.entry(word),
            Form::Long(key) => {
                let place = self.place(key);
                &mut self.values[place]
            }
        }
    }
    /// Find the value of a long key, and return the index of this value in `values`. If the key is
    /// absent, insert the key with the default value.
    fn place(&mut self, key: &L) -> usize {
        if let Some(place) = self.others.get(key) {
            return *place;
        }
        self.others.insert(key.clone(), self.values.len());
        self.values.push(V::default());
        self.values.len() - 1
    }
    /// Pass all keys and values to a function, in no particular order.
    pub(crate) fn visit<'a>(&'a self, show: &mut dyn FnMut(Form<&'a L>, V)) {
        self.words.visit(&mut |word, value| show(Form::Word(word), value));
        self.doubles.visit(&mut |word, value| show(Form::Double(word), value));
        for (key, place) in &self.others {
            show(Form::Long(key), self.values[*place]);
        }
    }
    /// List the keys of the table and their values, in no particular order.
    ///
    /// # Errors
    /// `FailedFunction` if a key is not of type `K`. Such a key comes from a damaged partial
    /// result.
    pub(crate) fn list<K: Key<Long = L>>(&self) -> Result<Vec<(K, V)>> {
        let mut forms = Vec::with_capacity(self.len());
        self.visit(&mut |form, value| forms.push((owned(form), value)));
        let mut keys = Vec::with_capacity(forms.len());
        for (form, value) in forms {
            match K::from_form(form) {
                Some(key) => keys.push((key, value)),
                None => return Err(foreign(K::type_name)),
            }
        }
        Ok(keys)
    }
    /// Add the keys of another table. `add` combines two values of the same key.
    pub(crate) fn merge(&mut self, other: &Self, add: fn(&mut V, V)) {
        other.visit(&mut |form, more| add(self.entry(form), more));
    }
}
fn owned<L: Clone>(form: Form<&L>) -> Form<L> {
    match form {
        Form::Word(word) => Form::Word(word),
        Form::Double(word) => Form::Double(word),
        Form::Long(key) => Form::Long(key.clone()),
    }
}
#[cold]
fn foreign(name: fn() -> TypeName) -> Error {
    Error::FailedFunction(format!(
        "the partial result is damaged: it has a key that is not a `{}`",
        name()
    ))
}

/// The serialized form of a table.
#[derive(Serialize, Deserialize)]
struct Saved<L, V> {
    words: Vec<(u64, V)>,
    doubles: Vec<(u128, V)>,
    others: Vec<(L, V)>,
}
impl<L: LongKey, V: Default + Copy + Serialize> Serialize for Table<L, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut saved = Saved { words: Vec::new(), doubles: Vec::new(), others: Vec::new() };
        self.visit(&mut |form, value| match form {
            Form::Word(word) => saved.words.push((word, value)),
            Form::Double(word) => saved.doubles.push((word, value)),
            Form::Long(key) => saved.others.push((key, value)),
        });
        saved.serialize(serializer)
    }
}
impl<'de, L: LongKey, V: Default + Copy + Deserialize<'de>> Deserialize<'de> for Table<L, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let saved = Saved::<L, V>::deserialize(deserializer)?;
        let mut table = Table::new();
        for (word, value) in saved.words {
            *table.words.entry(word) = value;
        }
        for (word, value) in saved.doubles {
            *table.doubles.entry(word) = value;
        }
        for (key, value) in saved.others {
            *table.entry(Form::Long(&key)) = value;
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
    // Combine the high and the low half of a product. One factor is an odd constant. This constant
    // is close to the quotient of 2^64 and the golden ratio.
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
        // First hash the high half of the word. Then combine this hash with the low half, and hash
        // again. Without the first hash, many keys would have equal results.
        mixed(self as u64, seed ^ mixed((self >> 64) as u64, seed))
    }
}

/// A map from words to values, with open addressing and linear probing. At most half of its places
/// are used.
struct Words<W, V> {
    /// The value of the word zero. This value is not in `places`, because the word zero marks a
    /// free place in `places`.
    zero: Option<V>,
    /// Pairs of a word and its value. The number of pairs is a power of two.
    places: Vec<(W, V)>,
    len: usize,
    seed: u64,
    /// A hash is shifted right by this number of bits. The remaining bits choose a place.
    shift: u32,
}

/// The base-2 logarithm of the initial number of places.
const FIRST_BITS: u32 = 6;

impl<W: Word, V: Default + Copy> Words<W, V> {
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
    /// Return the place of a word. If the word is absent, return the free place for the word.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::key::NoLongKey;
    use std::collections::BTreeMap;

    fn count<K: Key>(rows: &[K]) -> Table<K::Long, u64> {
        let mut table = Table::new();
        rows.iter().for_each(|row| *table.entry(row.form()) += 1);
        table
    }
    #[track_caller]
    fn check<K: Key + Ord>(rows: &[K]) {
        let table = count(rows);
        let mut expected = BTreeMap::new();
        rows.iter().for_each(|row| *expected.entry(row.clone()).or_default() += 1);
        assert_eq!(table.len(), expected.len());
        let listed = |table: &Table<K::Long, u64>| table.list::<K>().unwrap().into_iter().collect();
        let found: BTreeMap<_, _> = listed(&table);
        assert_eq!(found, expected);
        assert!(expected.iter().all(|(key, count)| table.lookup(key) == *count));
        let bytes = serde_json::to_vec(&table).unwrap();
        let again: BTreeMap<_, _> = listed(&serde_json::from_slice(&bytes).unwrap());
        assert_eq!(again, expected);
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
        let mut table = Table::<NoLongKey, ()>::new();
        for i in 0..10_000_u64 {
            table.entry(i.form());
            assert!(2 * (table.words.len - 1) <= table.words.places.len());
        }
        assert_ne!(table.words.seed, Table::<NoLongKey, ()>::new().words.seed);
    }
    #[test]
    fn a_key_of_another_type_is_an_error_and_is_not_dropped() {
        let table: Table<NoLongKey, u64> = count(&[70_000_u32]);
        assert_eq!(table.list::<u32>().unwrap(), [(70_000, 1)]);
        let error = table.list::<i16>().unwrap_err();
        assert!(error.to_string().contains("`i16`"), "{error}");
    }
}
