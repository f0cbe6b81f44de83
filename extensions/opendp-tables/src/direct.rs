//! Run exact plans in this process, without window functions. If the memory suffices, the rows are
//! read only once.
//!
//! The engine picks the rows: it reads, joins and filters them, and evaluates the expressions of
//! the query. This module does the rest: it computes the integers to add, enforces the limits of
//! ids, and computes the sums. With the same seed, this module and the statements of the module
//! `sql` give the same results, bit for bit. The tests in `tests/sensitivity.rs` and
//! `tests/direct.rs` compare these results. So the bound and the proof of the module `sensitivity`
//! also hold for this module.
//!
//! # Limits
//!
//! If an id has more rows than its limits allow, some of its rows are chosen. The rows of each id
//! are collected first, because this choice depends on all of them. The choice is a function of the
//! seed, the id, and the rows of this id. The order in which the rows arrive depends on threads, so
//! the choice must not depend on this order. If the choice depended on this order, two runs on the
//! same rows could keep different rows of every id. A test could not distinguish this difference
//! from the effect of a wrong limit.
//!
//! Each thread reads rows and packs each row into a few 64-bit words (`packed`). Then the thread
//! divides the rows into shards, by a hash of their ids (`shards`). If the rows take more memory
//! than the engine may use, the last shards are dropped. The dropped shards are filled when the
//! rows are read again. After each pass over the rows, the rows of each id are brought together.
//! Some of these rows are chosen (`people`). The chosen rows are added to the sums and counts
//! (`totals`). Rows are sorted (`order`) only if their id has more rows than its limits allow.

use std::sync::{Mutex, PoisonError};

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use opendp_core::Result;

use crate::Type;
use crate::engine::{DataFusion, failed, joined};
use crate::ir::{Bounding, Plan};
use crate::released::Exact;

mod groups;
pub(crate) mod lots;
mod order;
mod packed;
mod people;
mod shards;
mod slabs;
mod totals;
mod values;

use groups::{Groups, NO_GROUP, as_type};
use lots::Lots;
use packed::{Packed, Packing, id_of};
use people::{Choice, Limits};
use shards::{Part, SHARDS, Sorter, shard_of};
use totals::Totals;
use values::{Layout, picked};

pub use slabs::release_memory;

/// Run a plan. Return `None` if this module does not support the plan.
pub(crate) fn run(plan: &Plan, engine: &DataFusion, seed: &str) -> Option<Result<Exact>> {
    let columns = picked(plan)?;
    let raw: Vec<bool> = columns.iter().map(|column| column.raw).collect();
    let groups = Groups::new(&plan.keys)?;
    let layout = Layout::new(plan, columns);
    let statement = plan.picked_statement(&raw);
    let run = Run { plan, engine, layout: &layout, groups: &groups, statement };
    match &plan.bounding {
        Bounding::Trusted { .. } => Some(run.all()),
        // The module `lots` computes pseudo-random integers from integer ids. If ids are not
        // integers, the statements in SQL compute hashes instead. This module does not support such
        // plans.
        Bounding::Enforced { id: (_, kind), .. } if *kind != Type::Integer => None,
        Bounding::Enforced { rows, groups, rows_per_group, .. } => {
            let limit = |limit: &Option<u64>| limit.unwrap_or(u64::MAX);
            let groups = if plan.keys.is_empty() { u64::MAX } else { limit(groups) };
            let (rows, per_group) = (limit(rows), limit(rows_per_group));
            run.packed(&Limiter {
                packing: Packing::new(run.groups.count(), &layout.ranges()),
                limits: Limits { rows, per_group, groups },
                lots: Lots::of_seed(seed),
            })
        }
    }
}
struct Run<'a> {
    plan: &'a Plan,
    engine: &'a DataFusion,
    layout: &'a Layout<'a>,
    groups: &'a Groups,
    statement: String,
}
/// How rows are packed and chosen.
struct Limiter {
    packing: Packing,
    limits: Limits,
    lots: Lots,
}
impl Run<'_> {
    /// Add up all rows.
    fn all(&self) -> Result<Exact> {
        let free: Mutex<Vec<Totals<'_>>> = Mutex::default();
        self.engine.scan(&self.statement, &|batch| {
            let rows = batch.num_rows();
            let (keys, columns) = (self.keys(batch, 0)?, batch.columns());
            let groups = self.groups.of(&keys, rows)?;
            let values = self.layout.values(columns, rows)?;
            let taken = free.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut totals = taken.unwrap_or_else(|| Totals::new(self.layout));
            totals.add_all(&groups, &values);
            free.lock().unwrap_or_else(PoisonError::into_inner).push(totals);
            Ok(())
        })?;
        let all = free.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut totals = Totals::new(self.layout);
        all.into_iter().for_each(|other| totals.add(other));
        Ok(self.exact(totals))
    }
    /// Return the columns of the keys in a batch. `first` is 1 if the batch begins with the ids,
    /// and otherwise 0.
    fn keys<'b>(&self, batch: &'b RecordBatch, first: usize) -> Result<Vec<&'b ArrayRef>> {
        let column = |key: &crate::ir::Key| batch.columns().get(first + key.column);
        self.plan.keys.iter().map(|key| column(key).ok_or_else(failed)).collect()
    }
    fn exact(&self, totals: Totals<'_>) -> Exact {
        totals.exact(&self.groups.names(), !self.plan.keys.is_empty())
    }
    /// Add up the rows that the limits keep. Return `None` if a row needs more than 65 words.
    fn packed(&self, limiter: &Limiter) -> Option<Result<Exact>> {
        Some(match limiter.packing.words {
            2 => self.limited::<2>(limiter),
            3 => self.limited::<3>(limiter),
            4 => self.limited::<4>(limiter),
            5 => self.limited::<5>(limiter),
            6..=9 => self.limited::<9>(limiter),
            10..=65 => self.limited::<65>(limiter),
            _ => return None,
        })
    }
    fn limited<const N: usize>(&self, limiter: &Limiter) -> Result<Exact> {
        let mut totals = Totals::new(self.layout);
        let (mut first, mut count) = (0_usize, SHARDS);
        while first < SHARDS {
            let book = Book { last: (first + count).min(SHARDS), rows: vec![0; SHARDS] };
            let (book, free) = (Mutex::new(book), Mutex::default());
            let pass = Pass::<N> { run: self, limiter, first, book, free };
            self.engine.scan(&self.statement, &|batch| pass.take(batch))?;
            let last = locked(&pass.book).last;
            totals.add(pass.finished()?);
            count = last - first;
            first = last;
        }
        Ok(self.exact(totals))
    }
}
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
/// One pass over the rows. The pass fills the shards from the shard `first` to the shard before
/// `Book::last`.
struct Pass<'a, const N: usize> {
    run: &'a Run<'a>,
    limiter: &'a Limiter,
    first: usize,
    book: Mutex<Book>,
    /// The parts that no thread uses now. Each part contains rows that were read. A thread takes
    /// one part from this list before it works on a batch, and then returns the part to the list.
    free: Mutex<Vec<Part<N>>>,
}
/// The state of a pass. All threads share this state.
struct Book {
    /// The index of the first shard that this pass does not fill. The pass fills the shards with
    /// smaller indices.
    last: usize,
    /// The number of rows of each shard.
    rows: Vec<usize>,
}
impl Book {
    /// Add `added` to the numbers of rows of the shards. While the shards of this pass have more
    /// than `limit` rows in total, leave the second half of these shards to a later pass. At least
    /// one shard stays in this pass. `first` is the first shard of this pass.
    fn add(&mut self, first: usize, added: &[u32], limit: usize) {
        self.rows.iter_mut().zip(added).for_each(|(rows, added)| *rows += *added as usize);
        while first + 1 < self.last {
            let filled = self.rows.get(first..self.last).unwrap_or(&[]);
            if filled.iter().sum::<usize>() <= limit {
                return;
            }
            self.last = first + (self.last - first).div_ceil(2);
        }
    }
}
impl<'a, const N: usize> Pass<'a, N> {
    /// Divide the rows of a batch among the shards. Several threads can call this function at the
    /// same time.
    fn take(&self, batch: &RecordBatch) -> Result<()> {
        let (run, rows) = (self.run, batch.num_rows());
        let (ids, columns) = batch.columns().split_first().ok_or_else(failed)?;
        let groups = run.groups.of(&run.keys(batch, 1)?, rows)?;
        let values = run.layout.values(columns, rows)?;
        let ids = as_type(ids, &DataType::Int64)?;
        let ids = ids.as_primitive::<Int64Type>();
        let wanted = self.first..locked(&self.book).last;
        let mut part = locked(&self.free).pop().unwrap_or_else(Part::new);
        self.limiter.packing.pack(ids.values(), &groups, &values, &mut part.rows);
        let shard = |(id, group): (Option<i64>, &u32)| {
            let id = id.filter(|_| *group != NO_GROUP)?;
            Some(shard_of(id.cast_unsigned())).filter(|shard| wanted.contains(shard))
        };
        let added = part.divide(ids.iter().zip(&groups).map(shard)).map_err(|_| failed())?;
        let last = {
            let mut book = locked(&self.book);
            book.add(self.first, &added, run.engine.memory() / size_of::<Packed<N>>());
            book.last
        };
        part.forget_from(last);
        let mut free = locked(&self.free);
        free.push(part);
        if last < wanted.end {
            free.iter_mut().for_each(|part| part.forget_from(last));
        }
        Ok(())
    }
    /// Add up the kept rows of the filled shards, on all cores.
    fn finished(self) -> Result<Totals<'a>> {
        let (first, last) = (self.first, locked(&self.book).last);
        let parts = self.free.into_inner().unwrap_or_else(PoisonError::into_inner);
        let adder = Adder::new(self.run, self.limiter);
        let shards = Mutex::new(first..last);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let (adder, parts, shards) = (&adder, &parts, &shards);
            let start = |_| Ok(scope.spawn(move || adder.totals(parts, || locked(shards).next())));
            let threads: Vec<_> = (0..threads).map(start).collect();
            let mut all = Totals::new(self.run.layout);
            joined(threads)?.into_iter().for_each(|totals| all.add(totals));
            Ok(all)
        })
    }
}
struct Adder<'a> {
    layout: &'a Layout<'a>,
    limiter: &'a Limiter,
    /// For each group number, the place of this group in the order of the keys.
    ranks: Vec<u32>,
    /// For each place in the order of the keys, the number of the group at this place.
    numbers: Vec<u32>,
}
impl<'a> Adder<'a> {
    fn new(run: &Run<'a>, limiter: &'a Limiter) -> Self {
        let ranks = run.groups.ranks();
        let mut numbers = vec![NO_GROUP; ranks.len()];
        for (rank, number) in ranks.iter().zip(0..) {
            if let Some(place) = numbers.get_mut(*rank as usize) {
                *place = number;
            }
        }
        Adder { layout: run.layout, limiter, ranks, numbers }
    }
    fn totals<const N: usize>(
        &self,
        parts: &[Part<N>],
        next: impl Fn() -> Option<usize>,
    ) -> Result<Totals<'a>> {
        let Limiter { packing, limits, lots } = self.limiter;
        let mut totals = Totals::new(self.layout);
        let (mut choice, mut kept) = (Choice::new(*limits, *lots), Vec::new());
        let mut sorter = Sorter::default();
        // Replace the number of the group of a row by the place of the group in the order of the
        // keys. Then the rows of an id are sorted as in SQL, which sorts groups by their keys.
        let ranked = |row: &mut Packed<N>| {
            let rank = self.ranks.get(packing.group(row) as usize).copied();
            packing.set_group(row, rank.unwrap_or(NO_GROUP));
        };
        let in_order = self.ranks.is_sorted();
        while let Some(shard) = next() {
            let individual = |own: &[Packed<N>]| {
                let Some(first) = own.first() else { return };
                let same = |a: &Packed<N>, b: &Packed<N>| packing.group(a) == packing.group(b);
                choice.choose(id_of(first).cast_signed(), own, same, &mut kept);
                totals.add_individual(&mut kept, packing, &self.numbers);
            };
            let rank = |row: &mut Packed<N>| {
                if !in_order {
                    ranked(row);
                }
            };
            sorter.each(parts, shard, rank, individual).map_err(|_| failed())?;
        }
        Ok(totals)
    }
}
