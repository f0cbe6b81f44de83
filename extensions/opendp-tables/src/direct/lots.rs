//! Lots that decide which rows of an id are kept.
//!
//! A lot is a pseudo-random integer below the prime `2^31 - 1`. Each row and each group of an id
//! has a place: its number in the order of the rows or groups of this id. The lot is computed from
//! the id, the place, and keys that are derived from the seed of the query. The computation
//! alternates two steps: it adds a secret key, and it raises the sum to the fifth power. The fifth
//! power permutes the integers below the prime, because 5 does not divide `2^31 - 2`. Albrecht,
//! Grassi, Rechberger, Roy and Tiessen 2016 (MiMC) study such permutations. All steps are
//! additions, products and remainders of integers below `2^63`, so SQL computes the same lots on
//! every engine.
//!
//! Privacy does not depend on the values of the lots. The bound of the module `sensitivity` holds
//! for all values. The lots have one purpose: they make the choice of rows fair.

use sha2::{Digest, Sha256};

pub(crate) const PRIME: i64 = (1 << 31) - 1;
pub(crate) const KEYS: usize = 6;
/// The number of places whose lots are computed together. Computing one lot after another takes
/// more time.
pub(crate) const BLOCK: usize = 4;

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
    /// Return the keys, for statements in SQL.
    pub(crate) fn keys(&self) -> [i64; KEYS] {
        self.0
    }
    /// Compute the part of the lots of an id that does not depend on the places.
    pub(crate) fn of_id(&self, id: i64) -> u64 {
        let part = |part: i64, k: usize| (part % PRIME + PRIME + self.0[k]).cast_unsigned();
        let (low, high) = (part(id, 0), part(id / PRIME, 1));
        power(remainder(power(remainder(low)) + high))
    }
    /// Return the lots of some rows of an id. The rows are given by their places, counted from 1.
    pub(crate) fn of_rows(&self, of_id: u64, places: [u32; BLOCK]) -> [u64; BLOCK] {
        self.of_places(of_id, places, 2)
    }
    /// Return the lots of some groups of an id. `places` are the places of the groups, counted
    /// from 1.
    pub(crate) fn of_groups(&self, of_id: u64, places: [u32; BLOCK]) -> [u64; BLOCK] {
        self.of_places(of_id, places, 4)
    }
    #[inline]
    fn of_places(&self, of_id: u64, places: [u32; BLOCK], first: usize) -> [u64; BLOCK] {
        let [first, second] = [first, first + 1].map(|k| self.0[k].cast_unsigned());
        let mut lots = [0; BLOCK];
        for (lot, place) in lots.iter_mut().zip(places) {
            let once = near_power(fold(of_id + u64::from(place) + first));
            *lot = remainder(near_power(fold(once + second)));
        }
        lots
    }
}
/// Return the fifth power of an integer, modulo the prime. The integer is at least 0 and below the
/// prime.
fn power(x: u64) -> u64 {
    let square = remainder(x * x);
    remainder(remainder(square * square) * x)
}
/// Return an integer that is equal to the fifth power of `x` modulo the prime. The integer `x` is
/// at most `2^31 + 2`, and the result is at most `2^32 + 5`.
///
/// The function [`fold`] adds two terms: the lowest 31 bits of an integer, and its other bits. The
/// folded square of `x` is below `2^32`. The proof has two cases. First, if `x` is below the prime,
/// both terms are below `2^31`. Second, `x` can be one of the four integers from the prime to
/// `2^31 + 2`. Then the lowest 31 bits of its square are at most 4, and the other bits are at most
/// `2^31 + 4`. The fourth power is folded twice, and the result is at most `2^31 + 4`. The products
/// use only the low 32 bits of both factors, so that a processor computes several products at once.
fn near_power(x: u64) -> u64 {
    let product = |a: u64, b: u64| u64::from(a as u32) * u64::from(b as u32);
    let square = fold(product(x, x));
    fold(product(fold(fold(product(square, square))), x))
}
/// Return an integer that is equal to `x` modulo the prime. To this end, add the bits above the
/// lowest 31 bits to the lowest 31 bits. The sum is equal to `x` modulo the prime, because `2^31`
/// is 1 modulo the prime.
fn fold(x: u64) -> u64 {
    (x & PRIME.cast_unsigned()) + (x >> 31)
}
/// Return the remainder of `x` modulo the prime. The integer `x` is below the square of the prime.
/// This function is faster than a division.
fn remainder(x: u64) -> u64 {
    const LAST: u64 = PRIME.cast_unsigned();
    // The folded integer is less than twice the prime.
    let folded = fold(x);
    // If the folded integer is at least the prime, add 1 and drop the bit of `2^31`. These two
    // steps subtract the prime.
    (folded + ((folded + 1) >> 31)) & LAST
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_row(lots: &Lots, of_id: u64, place: u32) -> u64 {
        lots.of_rows(of_id, [place; BLOCK])[0]
    }
    #[test]
    fn remainders_are_those_of_division() {
        let prime = PRIME.cast_unsigned();
        let (largest, last) = (prime - 1, prime * prime - 1);
        let near = [0, 1, prime - 1, prime, prime + 1, 2 * prime - 1, 2 * prime, 2 * prime + 1];
        for x in near.into_iter().chain([1 << 32, largest * largest, largest * 77_777, last]) {
            assert_eq!(remainder(x), x % prime, "{x}");
        }
        for x in (0..last).step_by((1 << 50) + 12_345) {
            assert_eq!(remainder(x), x % prime, "{x}");
        }
    }
    #[test]
    fn the_fifth_power_permutes_remainders() {
        // The inverse of 5 modulo `2^31 - 2`. If the fifth power of `x` is raised to this exponent
        // modulo the prime, the result is `x`.
        let inverse = 1_717_986_917_i64;
        assert_eq!(inverse * 5 % (PRIME - 1), 1);
        for x in [0, 1, 2, 3, 12_345, PRIME - 1, PRIME / 2] {
            let fifth = power(x.cast_unsigned()).cast_signed();
            let (mut root, mut base, mut left) = (1, fifth, inverse);
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
    /// Check that the bounds in the comment of `near_power` hold, and that a computation with plain
    /// remainders gives the same lots.
    #[test]
    fn lots_are_those_of_plain_remainders() {
        let whole = |x: u64| u128::from(x) % u128::from(PRIME.cast_unsigned());
        let fifth = |x: u128| (0..4).fold(x, |all, _| all * x % u128::from(PRIME.cast_unsigned()));
        for x in (0..1 << 12).chain(((1 << 31) - (1 << 12))..=(1 << 31) + 2) {
            assert!(fold(x * x) < 1 << 32, "{x}");
            assert!(near_power(x) <= (1 << 32) + 5, "{x}");
            assert_eq!(whole(near_power(x)), fifth(whole(x)), "{x}");
        }
        for seed in ["", "a", "b"] {
            let lots = Lots::of_seed(seed);
            let keys = lots.keys().map(i64::cast_unsigned);
            for id in (-40..40).chain([i64::MIN, i64::MAX]) {
                let of_id = lots.of_id(id);
                for place in (1..40).chain([1 << 31, u32::MAX]) {
                    let prime = u128::from(PRIME.cast_unsigned());
                    let lot = |first: usize| {
                        let once = fifth(whole(of_id + u64::from(place) + keys[first]));
                        fifth((once + u128::from(keys[first + 1])) % prime)
                    };
                    assert_eq!(u128::from(of_row(&lots, of_id, place)), lot(2));
                    assert_eq!(u128::from(lots.of_groups(of_id, [place; BLOCK])[0]), lot(4));
                }
            }
        }
    }
    /// Choose two of five rows, for many ids. Check that each of the ten pairs is chosen about
    /// equally often.
    #[test]
    fn every_choice_of_rows_is_as_likely() {
        for seed in ["0123456789abcdef", "x", ""] {
            let lots = Lots::of_seed(seed);
            let mut found = std::collections::BTreeMap::new();
            for id in -100_000..100_000_i64 {
                let of_id = lots.of_id(id);
                let mut drawn: Vec<(u64, u32)> =
                    (1..=5).map(|place| (of_row(&lots, of_id, place), place)).collect();
                drawn.sort_unstable();
                let mut pair = [drawn[0].1, drawn[1].1];
                pair.sort_unstable();
                *found.entry(pair).or_insert(0_i64) += 1;
            }
            assert_eq!(found.len(), 10);
            // Each count is binomial, with 200,000 draws and the probability 1/10. A deviation of
            // 700 is more than five standard deviations.
            assert!(found.values().all(|count| (count - 20_000).abs() < 700), "{found:?}");
        }
    }
    #[test]
    fn lots_are_remainders_at_extreme_ids() {
        let lots = Lots::of_seed("seed");
        for id in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
            for place in [1, 2, 1 << 31, u32::MAX] {
                let of_id = lots.of_id(id);
                assert!((0..PRIME.cast_unsigned()).contains(&of_row(&lots, of_id, place)));
                assert!(
                    (0..PRIME.cast_unsigned()).contains(&lots.of_groups(of_id, [place; BLOCK])[0])
                );
            }
        }
    }
}
