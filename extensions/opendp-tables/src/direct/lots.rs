//! Lots that decide which rows of an id are kept.
//!
//! A lot is a pseudo-random permutation of the integers below the prime `2^31 - 1`, keyed by the
//! seed of the query, at the id and a place. It alternates additions of secret keys with the fifth
//! power, which permutes these integers because 5 does not divide `2^31 - 2`. Albrecht, Grassi,
//! Rechberger, Roy and Tiessen 2016 (MiMC) study such permutations. All steps are additions,
//! products and remainders of integers below `2^63`, so SQL computes the same lots on every engine.
//!
//! Privacy does not depend on lots: the bound on what an individual changes holds for each of them.
//! They only make the choice of rows fair.

use sha2::{Digest, Sha256};

/// The prime `2^31 - 1`.
pub(crate) const PRIME: i64 = (1 << 31) - 1;
/// The number of keys.
pub(crate) const KEYS: usize = 6;

/// The keys of the lots of one query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lots([i64; KEYS]);
impl Lots {
    /// Derive the keys from a seed.
    pub(crate) fn of_seed(seed: &str) -> Lots {
        let mut keys = [0; KEYS];
        for (key, number) in keys.iter_mut().zip(0_u8..) {
            let digest = Sha256::new().chain_update(seed).chain_update([number]).finalize();
            let word = digest.iter().take(7).fold(0, |word, byte| word << 8 | i64::from(*byte));
            *key = word % PRIME;
        }
        Lots(keys)
    }
    /// Return the keys, as SQL takes them.
    pub(crate) fn keys(&self) -> [i64; KEYS] {
        self.0
    }
    /// Return what the lots of an id have in common.
    pub(crate) fn of_id(&self, id: i64) -> i64 {
        let low = (id % PRIME + PRIME + self.0[0]) % PRIME;
        power((power(low) + (id / PRIME) % PRIME + PRIME + self.0[1]) % PRIME)
    }
    /// Return the lot of the row of an id at a place, counted from 1.
    pub(crate) fn of_row(&self, of_id: i64, place: i64) -> i64 {
        self.of_place(of_id, place, self.0[2], self.0[3])
    }
    /// Return the lot of the group of an id at a place, counted from 1.
    pub(crate) fn of_group(&self, of_id: i64, place: i64) -> i64 {
        self.of_place(of_id, place, self.0[4], self.0[5])
    }
    fn of_place(&self, of_id: i64, place: i64, first: i64, second: i64) -> i64 {
        power((power((of_id + place % PRIME + first) % PRIME) + second) % PRIME)
    }
}
/// Return the fifth power of an integer from 0 to before the prime.
fn power(x: i64) -> i64 {
    let square = remainder(x * x);
    remainder(remainder(square * square) * x)
}
/// Return the remainder of an integer from 0 to before the square of the prime. A division takes
/// longer.
fn remainder(x: i64) -> i64 {
    // `2^31` leaves the remainder 1.
    let folded = (x & PRIME) + (x >> 31);
    if folded < PRIME { folded } else { folded - PRIME }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_those_of_division() {
        let most = PRIME - 1;
        for x in [0, 1, PRIME - 1, PRIME, PRIME + 1, 1 << 31, 1 << 32, most * most, most * 77_777] {
            assert_eq!(remainder(x), x % PRIME, "{x}");
        }
        for x in (0..most * most).step_by((1 << 50) + 12_345) {
            assert_eq!(remainder(x), x % PRIME, "{x}");
        }
    }
    #[test]
    fn the_fifth_power_permutes_remainders() {
        // The inverse of 5 modulo `2^31 - 2`.
        let inverse = 1_717_986_917_i64;
        assert_eq!(inverse * 5 % (PRIME - 1), 1);
        for x in [0, 1, 2, 3, 12_345, PRIME - 1, PRIME / 2] {
            let (mut root, mut base, mut left) = (1, power(x), inverse);
            while left > 0 {
                if left % 2 == 1 {
                    root = root * base % PRIME;
                }
                base = base * base % PRIME;
                left /= 2;
            }
            assert_eq!(root, x);
        }
    }
    /// Two of five rows are chosen: each of the ten pairs as often, for ids that count up.
    #[test]
    fn every_choice_of_rows_is_as_likely() {
        for seed in ["0123456789abcdef", "x", ""] {
            let lots = Lots::of_seed(seed);
            let mut found = std::collections::BTreeMap::new();
            for id in -100_000..100_000_i64 {
                let of_id = lots.of_id(id);
                let mut drawn: Vec<(i64, i64)> =
                    (1..=5).map(|place| (lots.of_row(of_id, place), place)).collect();
                drawn.sort_unstable();
                let mut pair = [drawn[0].1, drawn[1].1];
                pair.sort_unstable();
                *found.entry(pair).or_insert(0_i64) += 1;
            }
            assert_eq!(found.len(), 10);
            // Binomial with 200000 and 1/10: 700 is more than five standard deviations.
            assert!(found.values().all(|count| (count - 20_000).abs() < 700), "{found:?}");
        }
    }
    #[test]
    fn lots_are_remainders_at_extreme_ids() {
        let lots = Lots::of_seed("seed");
        for id in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
            for place in [1, 2, PRIME, i64::from(u32::MAX)] {
                let of_id = lots.of_id(id);
                assert!((0..PRIME).contains(&lots.of_row(of_id, place)));
                assert!((0..PRIME).contains(&lots.of_group(of_id, place)));
            }
        }
    }
}
