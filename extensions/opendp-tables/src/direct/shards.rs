//! The rows of a pass, divided by a hash of their ids into shards.

use super::packed::Packed;

/// The number of shards, a power of two.
pub(crate) const SHARDS: usize = 2048;
/// The rows of a chunk. Chunks are not moved when there are more rows.
const CHUNK: usize = 256;
/// The factor of Fibonacci hashing (Knuth, volume 3, 6.4).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Return the shard of an id.
pub(crate) fn shard_of(id: i64) -> usize {
    // The shift leaves few bits, so the cast keeps them.
    (id.cast_unsigned().wrapping_mul(FACTOR) >> (u64::BITS - SHARDS.ilog2())) as usize
}
/// Return the bucket of an id within its shard, among `2^bits` buckets.
fn bucket_of(id: i64, bits: u32) -> usize {
    let hash = id.cast_unsigned().wrapping_mul(FACTOR) << SHARDS.ilog2();
    // The first shift keeps the result below 2 to the power of 32, also for 0 bits.
    (hash >> 32 >> (32 - bits)) as usize
}

/// Rows of one shard that one thread has read.
#[derive(Debug)]
pub(crate) struct Shard<const W: usize> {
    full: Vec<Vec<Packed<W>>>,
    open: Vec<Packed<W>>,
}
impl<const W: usize> Default for Shard<W> {
    fn default() -> Self {
        Shard { full: Vec::new(), open: Vec::new() }
    }
}
impl<const W: usize> Shard<W> {
    /// Add a row.
    pub(crate) fn push(&mut self, row: Packed<W>) {
        if CHUNK <= self.open.len() {
            let next = Vec::with_capacity(CHUNK);
            self.full.push(std::mem::replace(&mut self.open, next));
        }
        self.open.push(row);
    }
    fn rows(&self) -> impl Iterator<Item = &Packed<W>> {
        self.full.iter().flatten().chain(&self.open)
    }
    fn len(&self) -> usize {
        self.full.len() * CHUNK + self.open.len()
    }
}

/// All rows that one thread has read, by their shards.
#[derive(Debug)]
pub(crate) struct Part<const W: usize>(Vec<Shard<W>>);
impl<const W: usize> Part<W> {
    pub(crate) fn new() -> Self {
        Part((0..SHARDS).map(|_| Shard::default()).collect())
    }
    /// Add a row to its shard.
    pub(crate) fn push(&mut self, shard: usize, row: Packed<W>) {
        if let Some(shard) = self.0.get_mut(shard) {
            shard.push(row);
        }
    }
    /// Forget all rows from a shard on.
    pub(crate) fn forget_from(&mut self, shard: usize) {
        self.0.iter_mut().skip(shard).for_each(|shard| *shard = Shard::default());
    }
    /// Take the rows of a shard out.
    pub(crate) fn take(&mut self, shard: usize) -> Shard<W> {
        self.0.get_mut(shard).map(std::mem::take).unwrap_or_default()
    }
}

/// Memory for sorting the rows of a shard, which is used for one shard after the other.
#[derive(Debug, Default)]
pub(crate) struct Sorter<const W: usize> {
    rows: Vec<Packed<W>>,
    starts: Vec<u32>,
}
/// There are too many rows to count them with 32 bits.
#[derive(Debug)]
pub(crate) struct TooMany;

impl<const W: usize> Sorter<W> {
    /// Sort the rows of a shard, and pass on the rows of one individual after the other. First,
    /// change each row.
    ///
    /// A row goes to a bucket by the hash of its id, and buckets of few rows are sorted. This takes
    /// less time than sorting all rows.
    pub(crate) fn each(
        &mut self,
        parts: &[Shard<W>],
        change: impl Fn(&mut Packed<W>),
        mut individual: impl FnMut(&[Packed<W>]),
    ) -> Result<(), TooMany> {
        let count = parts.iter().map(Shard::len).sum::<usize>();
        let last = u32::try_from(count).map_err(|_| TooMany)?;
        let rows = || parts.iter().flat_map(Shard::rows);
        let bits = (last / 4).checked_ilog2().unwrap_or(0).min(20);
        self.starts.clear();
        self.starts.resize((1 << bits) + 1, 0);
        for row in rows() {
            self.starts[bucket_of(row.id, bits) + 1] += 1;
        }
        for bucket in 0..1 << bits {
            self.starts[bucket + 1] += self.starts[bucket];
        }
        // All rows are written below, so rows of the shard before do not matter.
        self.rows.resize(count, Packed { id: 0, words: [0; W] });
        // While rows are placed, a start moves to the end of its bucket, where the next one begins.
        for row in rows() {
            let next = &mut self.starts[bucket_of(row.id, bits)];
            let place = &mut self.rows[*next as usize];
            *place = *row;
            change(place);
            *next += 1;
        }
        let mut start = 0;
        for end in self.starts.iter().take(1 << bits) {
            let bucket = self.rows.get_mut(start..*end as usize).unwrap_or(&mut []);
            start = *end as usize;
            bucket.sort_unstable();
            bucket.chunk_by(|a, b| a.id == b.id).for_each(&mut individual);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each individual comes once, with all rows in order, for few and for many rows.
    #[test]
    fn individuals_come_whole_and_sorted() {
        for count in [0, 1, 3, 50, 700, 20_000_u64] {
            let rows: Vec<Packed<1>> = (0..count)
                .map(|k| {
                    let mixed = k.wrapping_mul(FACTOR) >> 7;
                    Packed { id: (mixed % 97).cast_signed() - 40, words: [mixed % 11] }
                })
                .collect();
            let mut parts = [Shard::default(), Shard::default(), Shard::default()];
            for (row, k) in rows.iter().zip(0_usize..) {
                parts[k % 3].push(*row);
            }
            let mut found: Vec<Vec<Packed<1>>> = Vec::new();
            let mut sorter = Sorter { rows: vec![Packed { id: 9, words: [9] }], starts: vec![7] };
            let raised = |row: &mut Packed<1>| row.words[0] += 5;
            sorter.each(&parts, raised, |own| found.push(own.to_vec())).unwrap();
            found.sort();
            let mut expected = rows;
            expected.iter_mut().for_each(raised);
            expected.sort();
            let expected: Vec<Vec<Packed<1>>> =
                expected.chunk_by(|a, b| a.id == b.id).map(<[_]>::to_vec).collect();
            assert_eq!(found, expected);
        }
    }
    #[test]
    fn buckets_are_within_their_number() {
        for id in [i64::MIN, -1, 0, 1, 12_345, i64::MAX] {
            assert!(shard_of(id) < SHARDS);
            for bits in [0, 1, 7, 20] {
                assert!(bucket_of(id, bits) < 1 << bits);
            }
        }
    }
    #[test]
    fn forgotten_shards_are_empty_and_others_stay() {
        let mut part = Part::<1>::new();
        for shard in [0, 5, SHARDS - 1] {
            (0..600).for_each(|id| part.push(shard, Packed { id, words: [1] }));
        }
        part.forget_from(5);
        assert_eq!([0, 5, SHARDS - 1].map(|shard| part.take(shard).len()), [600, 0, 0]);
    }
}
