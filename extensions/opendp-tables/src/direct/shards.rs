//! The rows of one pass over the data, divided into shards. A hash of the id of a row determines
//! the shard of the row.

use super::packed::{Packed, id_of};
use super::slabs::{CHUNK, NoMemory, Slabs};

/// The number of shards, a power of two.
pub(crate) const SHARDS: usize = 1024;
/// The factor of Fibonacci hashing (Knuth, volume 3, 6.4).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

pub(crate) fn shard_of(id: u64) -> usize {
    // The shift leaves 10 bits, so the cast loses no bit.
    (id.wrapping_mul(FACTOR) >> (u64::BITS - SHARDS.ilog2())) as usize
}
/// Return the bucket of an id within its shard, among `2^bits` buckets.
fn bucket_of(id: u64, bits: u32) -> usize {
    let hash = id.wrapping_mul(FACTOR) << SHARDS.ilog2();
    // If `bits` is 0, a single shift by 64 bits would overflow, so there are two shifts. The result
    // is below `2^bits`.
    (hash >> 32 >> (32 - bits)) as usize
}

/// A part: the rows of some batches, divided into shards. Only one thread at a time adds rows to a
/// part.
#[derive(Debug)]
pub(crate) struct Part<const N: usize> {
    /// The chunks of each shard. A chunk is memory for [`CHUNK`] rows. All chunks of a shard except
    /// the last one are full.
    chunks: Vec<Vec<usize>>,
    /// The position in `slabs` of the next row of each shard. If this position is the start of a
    /// chunk, the shard needs a new chunk first.
    next: Vec<usize>,
    slabs: Slabs<N>,
    /// The rows of a batch, which `divide` divides among the shards.
    pub(crate) rows: Vec<Packed<N>>,
}
impl<const N: usize> Part<N> {
    pub(crate) fn new() -> Self {
        let (slabs, rows) = Default::default();
        Part { chunks: vec![Vec::new(); SHARDS], next: vec![0; SHARDS], slabs, rows }
    }
    /// Divide the rows of a batch among the shards. For each shard, return the number of rows that
    /// were added to the shard. Rows whose shard is `None` are left out.
    pub(crate) fn divide(
        &mut self,
        shards: impl Iterator<Item = Option<usize>>,
    ) -> Result<Vec<u32>, NoMemory> {
        let mut counts = vec![0; SHARDS];
        for (row, shard) in self.rows.iter().zip(shards) {
            let Some(shard) = shard.filter(|shard| *shard < SHARDS) else { continue };
            let mut place = self.next[shard];
            if place.is_multiple_of(CHUNK) {
                place = self.slabs.new_chunk()?;
                self.chunks[shard].push(place);
            }
            self.slabs.write(place, row);
            self.next[shard] = place + 1;
            counts[shard] += 1;
        }
        Ok(counts)
    }
    /// Forget the rows of a shard and of all later shards.
    pub(crate) fn forget_from(&mut self, shard: usize) {
        for (chunks, next) in self.chunks.iter_mut().zip(&mut self.next).skip(shard) {
            self.slabs.give_back(chunks);
            *next = 0;
        }
    }
    /// Return the rows of a shard, one chunk after the other.
    fn rows_of(&self, shard: usize) -> impl Iterator<Item = &[Packed<N>]> {
        let chunks = self.chunks.get(shard).map_or(&[][..], Vec::as_slice);
        let count = self.count(shard);
        let rows = (0..count).step_by(CHUNK).map(move |first| CHUNK.min(count - first));
        let all = chunks.iter().map(|chunk| self.slabs.rows(*chunk));
        all.zip(rows).map(|(all, rows)| all.get(..rows).unwrap_or(&[]))
    }
    fn count(&self, shard: usize) -> usize {
        let chunks = self.chunks.get(shard).map_or(0, Vec::len);
        let next = self.next.get(shard).copied().unwrap_or(0);
        // If the next row starts a new chunk, all chunks of the shard are full.
        chunks * CHUNK - (CHUNK - next % CHUNK) % CHUNK
    }
}

/// Memory for grouping the rows of a shard by individuals. All shards use the same memory, one
/// after another.
#[derive(Debug, Default)]
pub(crate) struct Sorter<const N: usize> {
    rows: Vec<Packed<N>>,
    starts: Vec<u32>,
}
/// There are too many rows to count them with 32 bits.
#[derive(Debug)]
pub(crate) struct TooMany;

impl<const N: usize> Sorter<N> {
    /// Apply `change` to each row of a shard. Then call `individual` once for each individual of
    /// the shard, with all rows of the individual in any order.
    ///
    /// The rows are divided into buckets by the hash of their ids. A bucket usually has few
    /// individuals, so no sort is needed to bring their rows together.
    pub(crate) fn each(
        &mut self,
        parts: &[Part<N>],
        shard: usize,
        change: impl Fn(&mut Packed<N>),
        mut individual: impl FnMut(&[Packed<N>]),
    ) -> Result<(), TooMany> {
        let count = parts.iter().map(|part| part.count(shard)).sum::<usize>();
        let last = u32::try_from(count).map_err(|_| TooMany)?;
        let rows = || parts.iter().flat_map(|part| part.rows_of(shard));
        let bits = (last / 4).checked_ilog2().unwrap_or(0).min(20);
        self.starts.clear();
        self.starts.resize((1 << bits) + 1, 0);
        for rows in rows() {
            for row in rows {
                self.starts[bucket_of(id_of(row), bits) + 1] += 1;
            }
        }
        for bucket in 0..1 << bits {
            self.starts[bucket + 1] += self.starts[bucket];
        }
        // All rows are overwritten below. So the rows of an earlier shard have no effect.
        self.rows.resize(count, [0; N]);
        // Now `starts` has the start of each bucket. When a row is written to its bucket, the entry
        // of this bucket grows by one. After all rows are written, the entry is the end of the
        // bucket.
        for rows in rows() {
            for row in rows {
                let next = &mut self.starts[bucket_of(id_of(row), bits)];
                let place = &mut self.rows[*next as usize];
                *place = *row;
                change(place);
                *next += 1;
            }
        }
        let mut start = 0;
        for end in self.starts.iter().take(1 << bits) {
            let bucket = self.rows.get_mut(start..*end as usize).unwrap_or(&mut []);
            start = *end as usize;
            by_id(bucket, &mut individual);
        }
        Ok(())
    }
}
/// Call `individual` once for each individual of a bucket, with all rows of the individual.
fn by_id<const N: usize>(mut rows: &mut [Packed<N>], mut individual: impl FnMut(&[Packed<N>])) {
    for _ in 0..8 {
        let Some(id) = rows.first().map(id_of) else { return };
        let mut own = 1;
        for k in 1..rows.len() {
            if id_of(&rows[k]) == id {
                rows.swap(k, own);
                own += 1;
            }
        }
        let (first, rest) = rows.split_at_mut(own);
        individual(first);
        rows = rest;
    }
    // A bucket can have more than eight individuals. Sort the rows of the remaining individuals.
    rows.sort_unstable_by_key(id_of);
    rows.chunk_by(|a, b| id_of(a) == id_of(b)).for_each(individual);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(rows: &[Packed<2>]) -> Part<2> {
        let mut part = Part::new();
        for batch in rows.chunks(3000) {
            part.rows = batch.to_vec();
            part.divide(batch.iter().map(|row| Some(shard_of(id_of(row))))).unwrap();
        }
        part
    }
    fn individuals(parts: &[Part<2>]) -> Vec<Vec<Packed<2>>> {
        let mut found: Vec<Vec<Packed<2>>> = Vec::new();
        let mut sorter = Sorter { rows: vec![[9, 9]], starts: vec![7] };
        for shard in 0..SHARDS {
            let raised = |row: &mut Packed<2>| row[1] += 5;
            sorter.each(parts, shard, raised, |own| found.push(own.to_vec())).unwrap();
        }
        found.iter_mut().for_each(|own| own.sort_unstable());
        found.sort();
        found
    }
    /// Check that `individual` is called once for each individual, with all its rows. The total
    /// number of rows of all individuals varies from 0 to 40,000. In some cases, many individuals
    /// share one bucket.
    #[test]
    fn individuals_come_whole() {
        // If the hashes of ids are close to each other, the ids are in one bucket. The inverse of
        // `FACTOR`, modulo `2^64`, turns hashes into ids. The inverse is computed in steps. The
        // first estimate has 3 correct bits, and each step doubles the number of correct bits.
        let step = |inverse: u64, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(inverse.wrapping_mul(FACTOR)))
        };
        let inverse = (0..5).fold(FACTOR, step);
        assert_eq!(inverse.wrapping_mul(FACTOR), 1);
        for (ids, near) in [(97, false), (20_000, false), (97, true)] {
            for count in [0, 1, 3, 50, 700, 40_000_u64] {
                let row = |k: u64| {
                    let mixed = k.wrapping_mul(FACTOR) >> 7;
                    let id = mixed % ids;
                    [if near { id.wrapping_mul(inverse) } else { id.wrapping_sub(40) }, mixed % 11]
                };
                let mut rows: Vec<Packed<2>> = (0..count).map(row).collect();
                let (first, second) = rows.split_at(rows.len() / 3);
                let found = individuals(&[divided(first), divided(second)]);
                rows.iter_mut().for_each(|row| row[1] += 5);
                rows.sort_unstable();
                let own = rows.chunk_by(|a, b| a[0] == b[0]);
                assert_eq!(found, own.map(<[_]>::to_vec).collect::<Vec<_>>());
            }
        }
    }
    #[test]
    fn rows_without_a_shard_are_left_out() {
        let mut part = Part::<2>::new();
        part.rows = (0..900).map(|id| [id, 1]).collect();
        let shard = |row: u64| row.is_multiple_of(3).then_some(5);
        let counts = part.divide((0..900).map(shard)).unwrap();
        assert_eq!((counts[5], part.count(5)), (300, 300));
        assert_eq!((0..SHARDS).map(|shard| part.count(shard)).sum::<usize>(), 300);
        let rows: Vec<u64> = part.rows_of(5).flatten().map(id_of).collect();
        assert_eq!(rows, (0..900).step_by(3).collect::<Vec<_>>());
    }
    #[test]
    fn buckets_are_within_their_number() {
        for id in [i64::MIN, -1, 0, 1, 12_345, i64::MAX].map(i64::cast_unsigned) {
            assert!(shard_of(id) < SHARDS);
            for bits in [0, 1, 7, 20] {
                assert!(bucket_of(id, bits) < 1 << bits);
            }
        }
    }
    /// Check that the memory of forgotten shards is used again, and that other shards keep their
    /// rows.
    #[test]
    fn forgotten_shards_are_empty_and_others_stay() {
        let mut part = Part::<2>::new();
        let shards = [0, 5, SHARDS - 1];
        let fill = |part: &mut Part<2>, first: u64, shards: &[usize]| {
            let all = || shards.iter().flat_map(|shard| std::iter::repeat_n(*shard, 600));
            part.rows = (first..).take(all().count()).map(|id| [id, 1]).collect();
            part.divide(all().map(Some)).unwrap();
        };
        fill(&mut part, 0, &shards);
        let used = part.slabs.used();
        part.forget_from(5);
        assert_eq!(shards.map(|shard| part.count(shard)), [600, 0, 0]);
        fill(&mut part, 10_000, &shards[1..]);
        assert_eq!(part.slabs.used(), used);
        for (shard, first) in shards.into_iter().zip([0, 10_000, 10_600]) {
            let rows: Vec<u64> = part.rows_of(shard).flatten().map(id_of).collect();
            assert_eq!(rows, (first..first + 600).collect::<Vec<_>>());
        }
    }
}
