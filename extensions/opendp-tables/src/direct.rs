//! Exact plans in this process, in one pass over the rows and without window functions.
//!
//! The engine picks the rows: it reads them, joins, filters, and evaluates the expressions of the
//! query. This module computes the rest as the rows come: the integers to add, the limits of ids,
//! and the sums. The results are those of the statements of the module `sql`, bit for bit, with the
//! same seed; the sensitivity harness compares both. So the bound and the proof of the module
//! `sensitivity` hold here, too.
//!
//! # Limits
//!
//! The rows of each id are collected, because the choice depends on all of them: it is a function
//! of the seed, the id, and the rows of this id as a set, whatever their order is. A choice by the
//! order in which rows arrive would be as fair, but threads change that order. Then two runs on the
//! same rows would keep different rows of all ids, and no test could tell that from a wrong limit.
//!
//! Ids are divided by a hash into shards. If the rows take more memory than the engine may use, the
//! last shards are dropped, and filled when the rows are read again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use opendp_core::Result;

use crate::Type;
use crate::engine::{DataFusion, failed};
use crate::ir::{Bounding, Plan};
use crate::released::Exact;

mod groups;
pub(crate) mod lots;
mod people;
mod totals;
mod values;

use groups::{Groups, NO_GROUP, as_type};
use lots::Lots;
use people::{Limits, Shard};
use totals::Totals;
use values::{Layout, picked};

/// The number of shards, a power of two.
const SHARDS: usize = 512;

/// Run a plan, if this module can.
pub(crate) fn run(plan: &Plan, engine: &DataFusion, seed: &str) -> Option<Result<Exact>> {
    let columns = picked(plan)?;
    let raw: Vec<bool> = columns.iter().map(|column| column.raw).collect();
    let groups = Groups::new(&plan.keys)?;
    let layout = Layout::new(plan, columns);
    let statement = plan.picked_statement(&raw);
    let run = Run { plan, engine, layout: &layout, groups: &groups, statement };
    match &plan.bounding {
        Bounding::Trusted { .. } => Some(run.all()),
        // Other ids have other lots in SQL.
        Bounding::Enforced { id: (_, kind), .. } if *kind != Type::Integer => None,
        Bounding::Enforced { rows, groups, rows_per_group, .. } => {
            let limit = |limit: &Option<u64>| limit.unwrap_or(u64::MAX);
            let groups = if plan.keys.is_empty() { u64::MAX } else { limit(groups) };
            let (rows, per_group) = (limit(rows), limit(rows_per_group));
            Some(run.limited(Limits { rows, per_group, groups }, Lots::of_seed(seed)))
        }
    }
}
/// A plan that runs.
struct Run<'a> {
    plan: &'a Plan,
    engine: &'a DataFusion,
    layout: &'a Layout<'a>,
    groups: &'a Groups,
    statement: String,
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
    /// Return the columns of the keys. The picked columns begin at a place.
    fn keys<'b>(&self, batch: &'b RecordBatch, first: usize) -> Result<Vec<&'b ArrayRef>> {
        let column = |key: &crate::ir::Key| batch.columns().get(first + key.column);
        self.plan.keys.iter().map(|key| column(key).ok_or_else(failed)).collect()
    }
    fn exact(&self, totals: Totals<'_>) -> Exact {
        totals.exact(&self.groups.names(), !self.plan.keys.is_empty())
    }
    /// Add up the rows that limits allow.
    fn limited(&self, limits: Limits, lots: Lots) -> Result<Exact> {
        let mut totals = Totals::new(self.layout);
        let (mut first, mut count) = (0_usize, SHARDS);
        while first < SHARDS {
            let pass = Pass {
                run: self,
                shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
                first,
                last: AtomicUsize::new((first + count).min(SHARDS)),
                bytes: AtomicUsize::new(0),
            };
            self.engine.scan(&self.statement, &|batch| pass.take(batch))?;
            let last = pass.last.load(Ordering::SeqCst);
            totals.add(pass.finished(last, limits, lots)?);
            count = last - first;
            first = last;
        }
        Ok(self.exact(totals))
    }
}
/// One pass over the rows. It fills the shards from the first one to before the last one.
struct Pass<'a> {
    run: &'a Run<'a>,
    shards: Vec<Mutex<Shard>>,
    first: usize,
    last: AtomicUsize,
    bytes: AtomicUsize,
}
/// Return the shard of an id. The factor is that of Fibonacci hashing (Knuth, volume 3, 6.4).
fn shard_of(id: i64) -> usize {
    // The shift leaves few bits, so the cast keeps them.
    (id.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SHARDS.ilog2())) as usize
}
impl<'a> Pass<'a> {
    /// Divide the rows of a batch among the shards. Several threads do so at once.
    fn take(&self, batch: &RecordBatch) -> Result<()> {
        let (run, rows) = (self.run, batch.num_rows());
        let (ids, columns) = batch.columns().split_first().ok_or_else(failed)?;
        let groups = run.groups.of(&run.keys(batch, 1)?, rows)?;
        let values = run.layout.values(columns, rows)?;
        let ids = as_type(ids, &DataType::Int64)?;
        let ids = ids.as_primitive::<Int64Type>();
        let last = self.last.load(Ordering::SeqCst);
        // Sort the rows by their shards, by counting.
        let wanted = self.first..last;
        let shard = |(id, group): (Option<i64>, &u32)| {
            let shard = id.filter(|_| *group != NO_GROUP).map(shard_of);
            shard.filter(|shard| wanted.contains(shard)).unwrap_or(SHARDS)
        };
        let shards: Vec<usize> = ids.iter().zip(&groups).map(shard).collect();
        let mut starts = vec![0_usize; SHARDS + 2];
        shards.iter().for_each(|shard| starts[shard + 1] += 1);
        for shard in 0..=SHARDS {
            starts[shard + 1] += starts[shard];
        }
        let (mut next, mut sorted) = (starts.clone(), vec![0_usize; rows]);
        for (row, shard) in shards.iter().enumerate() {
            sorted[next[*shard]] = row;
            next[*shard] += 1;
        }
        for shard in wanted {
            let own = &sorted[starts[shard]..starts[shard + 1]];
            if !own.is_empty() {
                self.fill(shard, own, ids.values(), &groups, &values);
            }
        }
        self.shrink();
        Ok(())
    }
    /// Add rows to a shard.
    fn fill(&self, number: usize, own: &[usize], ids: &[i64], groups: &[u32], values: &[Vec<i64>]) {
        let Some(shard) = self.shards.get(number) else { return };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have dropped it.
        if self.last.load(Ordering::SeqCst) <= number {
            return;
        }
        for row in own {
            if let (Some(id), Some(group)) = (ids.get(*row), groups.get(*row)) {
                shard.push(*id, *group, values.iter().map(|values| values[*row]));
            }
        }
        self.bytes.fetch_add(own.len() * self.row_bytes(), Ordering::SeqCst);
    }
    /// Return the memory that a row takes.
    fn row_bytes(&self) -> usize {
        size_of::<i64>() * (1 + self.run.layout.width) + size_of::<u32>()
    }
    /// While there is too little memory, leave half of the shards to a later pass.
    fn shrink(&self) {
        loop {
            let last = self.last.load(Ordering::SeqCst);
            let fewer = self.first + (last - self.first).div_ceil(2);
            if self.bytes.load(Ordering::SeqCst) <= self.run.engine.memory() || fewer == last {
                return;
            }
            let swapped =
                self.last.compare_exchange(last, fewer, Ordering::SeqCst, Ordering::SeqCst);
            if swapped.is_err() {
                continue;
            }
            for shard in self.shards.iter().take(last).skip(fewer) {
                let mut dropped = shard.lock().unwrap_or_else(PoisonError::into_inner);
                self.bytes.fetch_sub(dropped.len() * self.row_bytes(), Ordering::SeqCst);
                *dropped = Shard::default();
            }
        }
    }
    /// Add up the kept rows of the filled shards, on all cores.
    fn finished(self, last: usize, limits: Limits, lots: Lots) -> Result<Totals<'a>> {
        let (layout, ranks) = (self.run.layout, self.run.groups.ranks());
        let shards = Mutex::new(self.shards.into_iter().take(last).skip(self.first));
        let total = || -> Result<Totals<'a>> {
            let mut totals = Totals::new(layout);
            loop {
                let next = shards.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(shard) = next else { return Ok(totals) };
                let shard = shard.into_inner().unwrap_or_else(PoisonError::into_inner);
                let keep = |kept: &[people::Kept<'_>]| totals.add_individual(kept);
                shard.each(layout.width, &ranks, limits, lots, keep).map_err(|_| failed())?;
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(total)).collect();
            let mut all = Totals::new(layout);
            for thread in threads {
                all.add(thread.join().map_err(|_| failed())??);
            }
            Ok(all)
        })
    }
}
