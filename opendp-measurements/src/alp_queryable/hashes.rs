//! The hash functions of a table.

use std::hash::{DefaultHasher, Hash, Hasher};

use opendp_core::Result;
use opendp_core::random::{NoEntropy, RandomSource};

use crate::collected::Collected;

/// Hash functions from keys to positions in a table.
#[derive(Clone, Debug)]
pub(super) struct Hashes {
    pub(super) seed: u64,
    /// Two numbers for each hash function: the factor and the added number of multiply-shift
    /// hashing (Dietzfelbinger and others 1997).
    pub(super) functions: Vec<(u64, u64)>,
    pub(super) bits: u32,
}
impl Hashes {
    pub(super) fn draw<S: RandomSource>(
        count: usize,
        bits: u32,
        source: &mut S,
    ) -> Result<Self, NoEntropy> {
        let seed = source.word()?;
        let functions = (0..count).map(|_| Ok((source.word()? | 1, source.word()?)));
        Ok(Hashes { seed, functions: functions.try_collected()?, bits })
    }
    pub(super) fn of<K: Hash>(&self, key: &K) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.seed);
        key.hash(&mut hasher);
        hasher.finish()
    }
    /// Return the positions of a key in the table. The key is given by its hash.
    pub(super) fn positions(&self, hash: u64) -> impl Iterator<Item = usize> + '_ {
        let drop = u64::BITS - self.bits;
        self.functions.iter().map(move |(factor, term)| {
            let product = factor.wrapping_mul(hash).wrapping_add(*term);
            product.checked_shr(drop).unwrap_or(0) as usize
        })
    }
}
