//! The alias method with integer weights, packed into words.

use std::hint::select_unpredictable;

/// Urns of the alias method. The first 63 bits of a random word select one of `2^bits` entries.
/// Each entry is selected with probability exactly `weight / 2^63`.
///
/// The alias method is from Walker (1977), "An efficient method for generating discrete random
/// variables with general distributions". The urns are filled by the method of Vose (1991), in
/// integers. There are `2^63` units. Each of `2^bits` urns contains `2^(63 - bits)` units. The
/// first units of an urn belong to the entry that has the same number as the urn. The other units
/// belong to one other entry. The first `bits` bits of a word choose an urn, and the next
/// `63 - bits` bits choose a unit. The last bit is not used.
///
/// An urn is stored as one word. Let `t` be the number of first units in the urn. The upper part of
/// the word is `2 t`. The factor 2 is necessary because a drawn word has one more bit after the
/// bits of the unit. The last `bits` bits of the word are the number of the other entry.
#[derive(Clone, Debug)]
pub(super) struct Urns {
    urns: Box<[u64]>,
    bits: u32,
    /// A mask of the last `bits` bits of a word.
    mask: u64,
}

impl Urns {
    /// Fill `2^bits` urns with the weights of `2^bits` entries. The sum of the weights is `2^63`.
    ///
    /// Each step takes an entry with too little weight for its urn. The rest of the urn is filled
    /// from an entry with enough weight for an urn. The sum of the remaining weights stays
    /// `2^(63 - bits)` times the number of remaining urns. At the end, no remaining entry has too
    /// little weight. So each remaining entry has exactly the weight that fills its urn.
    pub(super) fn new(bits: u32, mut weights: Vec<u64>) -> Self {
        let full = 1_u64 << (63 - bits);
        // At the start, each urn has no first units. The other entry of the urn is the entry with
        // the same number as the urn. So all units of the urn belong to this entry.
        let mut urns: Box<[u64]> = (0..weights.len() as u64).collect();
        let (mut few, mut many): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|entry| weights[*entry] < full);
        while let (Some(poor), Some(rich)) = (few.pop(), many.pop()) {
            urns[poor] = weights[poor] << (bits + 1) | rich as u64;
            weights[rich] -= full - weights[poor];
            if weights[rich] < full { few.push(rich) } else { many.push(rich) }
        }
        Self { urns, bits, mask: (1 << bits) - 1 }
    }

    /// Return the entry that a random word selects.
    ///
    /// # Proof
    ///
    /// Let `r` be the last `64 - bits` bits of the word: the bits of the unit, and the last bit.
    /// Let `2 t` and `o` be the two parts of the urn. The code compares `2^bits r + 2^bits - 1`
    /// with `2^bits * 2 t + o`. If `r + 1 <= 2 t`, the first number is smaller by at least 1. If
    /// `2 t <= r`, the first number is at least the second, because `o <= 2^bits - 1`. So the first
    /// number is smaller if and only if `r < 2 t`. `r < 2 t` holds if and only if the unit,
    /// `floor(r / 2)`, is below `t`.
    #[inline]
    pub(super) fn entry(&self, word: u64) -> u64 {
        let number = word >> (64 - self.bits);
        let urn = self.urns[number as usize];
        // Both results of the comparison are about equally likely, so the processor would often
        // mispredict a branch.
        select_unpredictable(word << self.bits | self.mask < urn, number, urn & self.mask)
    }

    /// Return the entry with the largest number.
    #[inline]
    pub(super) fn last(&self) -> u64 {
        self.mask
    }

    /// Count the units of an entry in all urns.
    pub(super) fn weight(&self, entry: u64) -> u64 {
        let full = 1_u64 << (63 - self.bits);
        let mut weight = 0;
        for (number, urn) in (0..).zip(&self.urns) {
            let first = urn >> (self.bits + 1);
            weight += if number == entry { first } else { 0 };
            weight += if urn & self.mask == entry { full - first } else { 0 };
        }
        weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::random::{RandomSource, Seeded};

    fn random_weights(bits: u32, seed: u64) -> Vec<u64> {
        let mut source = Seeded::<64>::new(seed);
        let mut weights: Vec<u64> = (0..1_u32 << bits)
            .map(|_| {
                let word = source.word().unwrap();
                (word >> (1 + bits)) >> (word & 63)
            })
            .collect();
        let rest = (1 << 63) - weights[1..].iter().sum::<u64>();
        weights[0] = rest;
        weights
    }

    #[test]
    fn every_entry_has_exactly_its_weight() {
        for (bits, seed) in [(1, 1), (3, 2), (3, 3), (7, 4), (11, 5)] {
            let weights = random_weights(bits, seed);
            let urns = Urns::new(bits, weights.clone());
            for (entry, weight) in (0..).zip(&weights) {
                assert_eq!(urns.weight(entry), *weight);
            }
            assert_eq!(urns.last(), weights.len() as u64 - 1);
        }
    }

    #[test]
    fn full_urns_and_empty_entries_are_no_exception() {
        for weights in [vec![1 << 60; 8], [vec![0; 7], vec![1 << 63]].concat()] {
            let urns = Urns::new(3, weights.clone());
            for (entry, weight) in (0..).zip(&weights) {
                assert_eq!(urns.weight(entry), *weight);
            }
        }
    }

    #[test]
    fn the_words_of_an_urn_change_entry_exactly_behind_its_first_units() {
        for bits in [1, 3, 11] {
            let urns = Urns::new(bits, random_weights(bits, 7));
            for number in 0..1_u64 << bits {
                let urn = urns.urns[number as usize];
                let (first, other) = (urn >> (bits + 1), urn & urns.mask);
                let start = number << (64 - bits);
                let end = start | u64::MAX >> bits;
                let change = start + 2 * first;
                if first > 0 {
                    assert_eq!([start, change - 2, change - 1].map(|w| urns.entry(w)), [number; 3]);
                }
                assert_eq!([change, change + 1, end].map(|w| urns.entry(w)), [other; 3]);
            }
        }
    }

    #[test]
    fn the_last_bit_of_a_word_does_not_matter() {
        let urns = Urns::new(5, random_weights(5, 9));
        let mut source = Seeded::<64>::new(10);
        for _ in 0..10_000 {
            let word = source.word().unwrap();
            assert_eq!(urns.entry(word), urns.entry(word ^ 1));
        }
    }
}
