//! Limits of each id, enforced in one pass over the rows, without sorting them.
//!
//! The engine in this process passes the rated rows on as it reads them: the id, the keys, and the
//! integers to add. Individuals are divided by a hash of their id into shards. A shard keeps for
//! each individual the rows that the limits allow, and drops the others at once. At the end the
//! kept rows are added up. This gives the same kind of result as the window functions of the
//! portable plan; which rows of an id are kept is drawn anew for each query, as there.
//!
//! # The kept rows
//!
//! *Function.* The `i`-th row of an id gets the lot `F(id, i)`, and each group of an id the lot
//! `F'(id, keys)`, where `F` and `F'` are hashes under secret keys of this query. Of each id the
//! groups with the `G` smallest lots are kept, of each of these the `C` rows with the smallest
//! lots, and of all these the `K` rows with the smallest lots.
//!
//! *Postcondition.* The limits hold. What is kept of an id is a function of the keys and of the
//! rows of this id alone, in the order in which they arrive. For each order, every choice of rows
//! within a group, and of groups, is equally likely.
//!
//! *Proof.* Ids are compared whole, so no two share an entry. Each entry sees all rows of its id
//! and no others, and changes only with them. Lots of different rows are different arguments of
//! `F`, which is a pseudo-random function (SipHash), so their order is uniform. A group that is
//! dropped has `G` groups with smaller lots; these are only ever replaced by groups with still
//! smaller ones, so it stays out. The same holds of a row in its group. If the number of groups has
//! no limit, the number of kept rows with smaller lots than a dropped row never falls, because a
//! row leaves its group only for one with a smaller lot; so rows beyond `K` can be dropped at
//! once. Otherwise they are dropped at the end. If threads change the order of arrival, they change
//! which row has which lot, but the lots are independent of the order, so the choice is as likely.
//! So neighbours can be coupled such that the kept rows of all other ids are equal, and the bound
//! of the module `sensitivity` holds for each outcome of the coupling, and so for the mixture.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use opendp_core::{IBig, Result};

use crate::Type;
use crate::engine::{DataFusion, failed};
use crate::ir::{Addend, Bounding, Plan, Sum};
use crate::released::Exact;

mod groups;
mod prf;
mod shard;
mod waiting;

use groups::{Groups, NO_GROUP, integers, part, texts};
use prf::Keys;
use shard::{Id, Limits, Row, Shard};

/// The number of shards. Several are dropped when memory is short, and filled in a later pass.
const SHARDS: usize = 128;
/// The longest list of kept rows of an individual. Larger limits run as window functions.
const LONGEST: u64 = 1 << 12;

/// Run a plan that enforces limits, if this module can.
pub(crate) fn run(plan: &Plan, engine: &DataFusion, seed: &str) -> Option<Result<Exact>> {
    let Bounding::Enforced { id: (_, kind), rows, groups, rows_per_group } = &plan.bounding else {
        return None;
    };
    let grouped = !plan.keys.is_empty();
    let groups = groups.filter(|_| grouped);
    let all = rows.unwrap_or(u64::MAX);
    let per_group = rows_per_group.unwrap_or(all).min(all);
    let rows = if grouped {
        all.min(per_group.saturating_mul(groups.unwrap_or(u64::MAX)))
    } else {
        per_group
    };
    // The longest list, while rows arrive.
    let longest = groups.map_or(rows, |groups| groups.saturating_mul(per_group.min(rows)));
    let small = |limit: u64| u32::try_from(limit).ok();
    let plain = groups.is_none() && rows <= per_group;
    if !plain && LONGEST < longest {
        return None;
    }
    let groups = match groups {
        Some(groups) => Some(small(groups)?),
        None => None,
    };
    let limits = Limits { rows: small(rows)?, per_group: small(per_group.min(rows))?, groups };
    Some(run_within(plan, *kind, limits, engine, seed))
}
fn run_within(
    plan: &Plan,
    kind: Type,
    limits: Limits,
    engine: &DataFusion,
    seed: &str,
) -> Result<Exact> {
    let keys = Keys::of_seed(seed).ok_or_else(failed)?;
    let groups = Groups::new(&plan.keys, keys)?;
    let width = stored(plan).count() + plan.buckets.len();
    let statement = plan.rated_statement();
    let mut totals = Totals::new(plan);
    let (mut first, mut wanted) = (0_usize, SHARDS);
    while first < SHARDS {
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::new(limits, width))).collect();
        let last = AtomicUsize::new((first + wanted).min(SHARDS));
        let bytes = AtomicUsize::new(0);
        let pass = Pass { plan, kind, keys, groups: &groups, shards, first, last, bytes };
        engine.scan(&statement, &|batch| pass.take(batch, engine.memory()))?;
        let last = pass.last.load(Ordering::SeqCst);
        totals.add(pass.finished(last)?)?;
        wanted = last - first;
        first = last;
    }
    totals.exact(plan, groups)
}
/// The sums whose addends are stored with each row. The others are 1 for every row.
pub(crate) fn stored(plan: &Plan) -> impl Iterator<Item = (usize, &Sum)> {
    plan.sums
        .iter()
        .enumerate()
        .filter(|(_, sum)| sum.only.is_some() || !matches!(sum.addend, Addend::One | Addend::Id))
}

/// One pass over the rows. It fills the shards from the first one to before the last one.
struct Pass<'a> {
    plan: &'a Plan,
    kind: Type,
    keys: Keys,
    groups: &'a Groups,
    shards: Vec<Mutex<Shard>>,
    first: usize,
    last: AtomicUsize,
    bytes: AtomicUsize,
}
/// The shard of a hash: by its first bits.
fn shard_of(hash: u64) -> usize {
    // Seven bits fit.
    (hash >> (64 - SHARDS.ilog2())) as usize
}
impl Pass<'_> {
    /// Take a batch of rows into account. Several threads do so at once.
    fn take(&self, batch: &RecordBatch, memory: usize) -> Result<()> {
        let count = self.plan.keys.len();
        let ids = part(batch, 0..1)?.first().ok_or_else(failed)?;
        let groups = self.groups.of(part(batch, 1..1 + count)?, batch.num_rows())?;
        let values = part(batch, 1 + count..batch.num_columns())?;
        let values = values.iter().map(numbers).collect::<Result<Vec<&[i64]>>>()?;
        if self.kind == Type::Text {
            let ids = texts(ids)?;
            let ids = ids.as_string::<i32>();
            self.divide(
                |row| ids.is_valid(row).then(|| Id::Text(ids.value(row))),
                &groups,
                &values,
            )?;
        } else {
            let ids = integers(ids)?;
            let ids = ids.as_primitive::<Int64Type>();
            self.divide(
                |row| ids.is_valid(row).then(|| Id::Whole(ids.value(row))),
                &groups,
                &values,
            )?;
        }
        self.shrink(memory);
        Ok(())
    }
    /// Pass rows on to their shards.
    fn divide<'a>(
        &self,
        id: impl Fn(usize) -> Option<Id<'a>>,
        groups: &[(u32, u64)],
        values: &[&[i64]],
    ) -> Result<()> {
        let last = self.last.load(Ordering::SeqCst);
        let mut starts = vec![0_usize; SHARDS + 1];
        let mut rows: Vec<(usize, Row<'a>)> = Vec::with_capacity(groups.len());
        for (place, (group, group_hash)) in groups.iter().enumerate() {
            let Some(id) = id(place).filter(|_| *group != NO_GROUP) else { continue };
            let hash = id.hash(self.keys);
            let shard = shard_of(hash);
            if shard < self.first || last <= shard {
                continue;
            }
            starts[shard + 1] += 1;
            rows.push((place, Row { id, hash, group: *group, group_hash: *group_hash }));
        }
        for shard in 0..SHARDS {
            starts[shard + 1] += starts[shard];
        }
        let mut sorted = vec![0_usize; rows.len()];
        let mut next = starts.clone();
        for (at, (_, row)) in rows.iter().enumerate() {
            let place = &mut next[shard_of(row.hash)];
            sorted[*place] = at;
            *place += 1;
        }
        for shard in self.first..last {
            let own = &sorted[starts[shard]..starts[shard + 1]];
            if !own.is_empty() {
                self.fill(shard, own.iter().map(|at| rows[*at]), values)?;
            }
        }
        Ok(())
    }
    fn fill<'a>(
        &self,
        shard: usize,
        rows: impl Iterator<Item = (usize, Row<'a>)>,
        values: &[&[i64]],
    ) -> Result<()> {
        let mut filled = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have dropped it.
        if self.last.load(Ordering::SeqCst) <= shard {
            return Ok(());
        }
        let before = filled.bytes();
        for (place, row) in rows {
            let values = values.iter().map(|values| values[place]);
            filled.add(self.keys, row, values).map_err(|_| failed())?;
        }
        self.bytes.fetch_add(filled.bytes() - before, Ordering::SeqCst);
        Ok(())
    }
    /// While there is too little memory, leave half of the shards to a later pass.
    fn shrink(&self, memory: usize) {
        loop {
            let last = self.last.load(Ordering::SeqCst);
            let fewer = self.first + (last - self.first).div_ceil(2);
            if self.bytes.load(Ordering::SeqCst) <= memory || fewer == last {
                return;
            }
            if self.last.compare_exchange(last, fewer, Ordering::SeqCst, Ordering::SeqCst).is_err()
            {
                continue;
            }
            for shard in fewer..last {
                let mut dropped = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
                self.bytes.fetch_sub(dropped.bytes(), Ordering::SeqCst);
                *dropped = dropped.emptied();
            }
        }
    }
    /// Add up the kept rows of all filled shards.
    fn finished(self, last: usize) -> Result<Totals> {
        let (plan, keys, first) = (self.plan, self.keys, self.first);
        let shards = self.shards.into_iter().skip(first).take(last - first);
        let shards = Mutex::new(shards);
        let total = || -> Result<Totals> {
            let mut totals = Totals::new(plan);
            loop {
                let next = shards.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(shard) = next else { return Ok(totals) };
                let shard = shard.into_inner().unwrap_or_else(PoisonError::into_inner);
                let finished = shard.finish(keys, |rows| totals.individual(plan, rows));
                finished.map_err(|_| failed())?;
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(total)).collect();
            let mut all = Totals::new(plan);
            for thread in threads {
                all.add(thread.join().map_err(|_| failed())??)?;
            }
            Ok(all)
        })
    }
}
fn numbers(column: &ArrayRef) -> Result<&[i64]> {
    let column = column.as_primitive_opt::<Int64Type>().ok_or_else(failed)?;
    if column.null_count() > 0 {
        return Err(failed());
    }
    Ok(column.values())
}

/// Sums over all groups.
struct Totals {
    /// The sums of each group, and the number of its rows.
    sums: Vec<(u64, Vec<i128>)>,
    /// For each quantile and group, the number of rows in each bucket.
    buckets: Vec<Vec<Vec<u64>>>,
}
impl Totals {
    fn new(plan: &Plan) -> Self {
        Totals { sums: Vec::new(), buckets: vec![Vec::new(); plan.buckets.len()] }
    }
    /// Add the kept rows of one individual.
    fn individual(&mut self, plan: &Plan, rows: &[(u32, &[i64])]) {
        let stored_sums = stored(plan).count();
        for (at, (group, values)) in rows.iter().enumerate() {
            let place = *group as usize;
            if self.sums.len() <= place {
                self.sums.resize_with(place + 1, || (0, vec![0; plan.sums.len()]));
            }
            let (count, sums) = &mut self.sums[place];
            *count += 1;
            let mut next = 0;
            for (sum, total) in plan.sums.iter().zip(sums) {
                let implicit = sum.only.is_none() && matches!(sum.addend, Addend::One | Addend::Id);
                let slot = next;
                next += usize::from(!implicit);
                let value = if implicit { 1 } else { values[slot] };
                // An id counts once in each group: at its first row that fulfils the condition.
                let again = |(other, values): &(u32, &[i64])| {
                    other == group && (implicit || values[slot] != 0)
                };
                let counted = sum.addend == Addend::Id && rows[..at].iter().any(again);
                *total += if counted { 0 } else { i128::from(value) };
            }
            for (k, buckets) in plan.buckets.iter().enumerate() {
                let of = &mut self.buckets[k];
                if let Ok(bucket) = usize::try_from(values[stored_sums + k]) {
                    if of.len() <= place {
                        of.resize_with(place + 1, Vec::new);
                    }
                    of[place].resize(2 * buckets.candidates.len() + 1, 0);
                    if let Some(count) = of[place].get_mut(bucket) {
                        *count += 1;
                    }
                }
            }
        }
    }
    fn add(&mut self, other: Totals) -> Result<()> {
        for (place, (count, sums)) in other.sums.into_iter().enumerate() {
            match self.sums.get_mut(place) {
                None => self.sums.push((count, sums)),
                Some((all, total)) => {
                    *all += count;
                    total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
                }
            }
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            for (place, counts) in theirs.into_iter().enumerate() {
                match mine.get_mut(place) {
                    None => mine.push(counts),
                    Some(all) if all.is_empty() => *all = counts,
                    Some(all) => all.iter_mut().zip(counts).for_each(|(all, count)| *all += count),
                }
            }
        }
        Ok(())
    }
    fn exact(self, plan: &Plan, groups: Groups) -> Result<Exact> {
        let names = groups.names();
        let mut exact = Exact::default();
        if !plan.sums.is_empty() {
            let big = |sums: Vec<i128>| sums.into_iter().map(IBig::from).collect();
            if plan.keys.is_empty() {
                exact.sums.insert(Vec::new(), big(vec![0; plan.sums.len()]));
            }
            for (name, (count, sums)) in names.iter().zip(self.sums) {
                if count > 0 {
                    exact.sums.insert(name.clone(), big(sums));
                }
            }
        }
        for counts in self.buckets {
            let known = names.iter().zip(counts).filter(|(_, counts)| !counts.is_empty());
            exact.buckets.push(known.map(|(name, counts)| (name.clone(), counts)).collect());
        }
        Ok(exact)
    }
}
