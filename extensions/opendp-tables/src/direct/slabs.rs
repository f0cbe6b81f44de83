//! Memory for the rows of one pass over the data. The memory consists of slabs, and each slab is
//! divided into chunks. Each chunk belongs to one shard.
//!
//! A chunk is identified by the position of its first row. The system provides each page of new
//! memory when the page is first used. Providing these pages takes most of the time that is needed
//! to fill new memory. For a large slab, the system can use large pages, so it must provide fewer
//! pages. So slabs are large. After a pass, later passes of this process use the same slabs again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::MmapMut;

use super::packed::Packed;

/// The number of rows of a chunk.
pub(crate) const CHUNK: usize = 128;
/// The number of bytes of a slab.
const SLAB: usize = 64 << 20;

/// The slabs that no pass uses. All engines in this process share them.
static IDLE: Idle = Idle(Mutex::new(Vec::new()));

/// Give back to the system the memory that earlier queries used for rows of ids. Running queries
/// keep their memory.
///
/// A query that enforces limits for each id needs memory for its rows. After the query, this
/// process keeps the memory for the next query, because the system needs a long time to provide new
/// memory. If queries ran at the same time, the process keeps the memory of all these queries.
///
/// The kept memory is not erased, so it contains private rows of earlier queries. No query reads
/// these rows.
pub fn release_memory() {
    IDLE.slabs().clear();
}

struct Idle(Mutex<Vec<MmapMut>>);
impl Idle {
    fn slabs(&self) -> MutexGuard<'_, Vec<MmapMut>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Return an idle slab, or a new slab if no slab is idle. An idle slab contains rows of an
    /// earlier pass. The caller must not use these rows.
    fn take(&self) -> Result<MmapMut, NoMemory> {
        if let Some(slab) = self.slabs().pop() {
            return Ok(slab);
        }
        let slab = MmapMut::map_anon(SLAB).map_err(|_| NoMemory)?;
        // Request large pages. A system without large pages refuses this request, and provides its
        // usual pages.
        #[cfg(target_os = "linux")]
        let _ = slab.advise(memmap2::Advice::HugePage);
        Ok(slab)
    }
}

/// The system has no memory for the rows.
#[derive(Debug)]
pub(crate) struct NoMemory;

#[derive(Debug, Default)]
pub(crate) struct Slabs<const N: usize> {
    slabs: Vec<MmapMut>,
    /// The chunks that no shard uses any more.
    free: Vec<usize>,
    /// The total length of all chunks that were ever used, in rows.
    used: usize,
}
impl<const N: usize> Slabs<N> {
    /// The number of rows of a slab: the largest power of two for which the rows fit into the slab.
    /// This number is a multiple of [`CHUNK`].
    const ROWS: usize = 1 << (SLAB / size_of::<Packed<N>>()).ilog2();

    /// Return a chunk that no shard uses.
    pub(crate) fn new_chunk(&mut self) -> Result<usize, NoMemory> {
        if let Some(chunk) = self.free.pop() {
            return Ok(chunk);
        }
        if self.used == self.slabs.len() * Self::ROWS {
            self.slabs.push(IDLE.take()?);
        }
        self.used += CHUNK;
        Ok(self.used - CHUNK)
    }
    /// Give back chunks, so that other shards can use them.
    pub(crate) fn give_back(&mut self, chunks: &mut Vec<usize>) {
        self.free.append(chunks);
    }
    /// Return all rows of a chunk, written or not.
    pub(crate) fn rows(&self, chunk: usize) -> &[Packed<N>] {
        let slab = self.slabs.get(chunk / Self::ROWS).map_or(&[][..], |slab| slab);
        let words: &[u64] = bytemuck::try_cast_slice(slab).unwrap_or(&[]);
        let start = chunk % Self::ROWS;
        words.as_chunks::<N>().0.get(start..start + CHUNK).unwrap_or(&[])
    }
    #[inline]
    pub(crate) fn write(&mut self, place: usize, row: &Packed<N>) {
        let start = place % Self::ROWS * size_of::<Packed<N>>();
        if let Some(slab) = self.slabs.get_mut(place / Self::ROWS)
            && let Some(to) = slab.get_mut(start..start + size_of::<Packed<N>>())
        {
            to.copy_from_slice(bytemuck::cast_slice(row));
        }
    }
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used
    }
}
impl<const N: usize> Drop for Slabs<N> {
    fn drop(&mut self) {
        IDLE.slabs().append(&mut self.slabs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that each row is at its position, including the rows at the end of the first slab and
    /// at the start of the second slab.
    #[test]
    fn rows_are_where_they_were_written() {
        let mut slabs = Slabs::<65>::default();
        let chunks = Slabs::<65>::ROWS / CHUNK + 2;
        let row = |place: usize| std::array::from_fn(|word| (place * 65 + word) as u64);
        let written = |chunk: &usize| [*chunk, chunk + CHUNK / 2, chunk + CHUNK - 1];
        let all: Vec<usize> = (0..chunks).map(|_| slabs.new_chunk().unwrap()).collect();
        assert_eq!(slabs.slabs.len(), 2);
        for place in all.iter().flat_map(written) {
            slabs.write(place, &row(place));
        }
        for (chunk, first) in all.iter().zip((0..).step_by(CHUNK)) {
            assert_eq!(*chunk, first);
            let rows = slabs.rows(*chunk);
            assert_eq!(rows.len(), CHUNK);
            for place in written(chunk) {
                assert_eq!(rows[place - chunk], row(place));
            }
        }
        // A chunk that was given back is used again before new chunks.
        slabs.give_back(&mut vec![CHUNK]);
        assert_eq!(slabs.new_chunk().unwrap(), CHUNK);
        assert_eq!(slabs.new_chunk().unwrap(), chunks * CHUNK);
    }
    #[test]
    fn an_idle_slab_is_used_again() {
        let idle = Idle(Mutex::default());
        let first = idle.take().unwrap();
        let memory = first.as_ptr();
        idle.slabs().push(first);
        assert_eq!(idle.take().unwrap().as_ptr(), memory);
        assert!(idle.slabs().is_empty());
    }
    /// Check that the rows of an earlier pass have no effect, even if these rows had another width.
    #[test]
    fn slabs_of_another_width_are_used_again() {
        let mut first = Slabs::<2>::default();
        let chunk = first.new_chunk().unwrap();
        (chunk..chunk + CHUNK).for_each(|place| first.write(place, &[u64::MAX; 2]));
        let mut second = Slabs::<3>::default();
        second.slabs = std::mem::take(&mut first.slabs);
        let chunk = second.new_chunk().unwrap();
        second.write(chunk + 1, &[1, 2, 3]);
        assert_eq!(second.rows(chunk)[1], [1, 2, 3]);
    }
}
