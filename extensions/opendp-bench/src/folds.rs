//! Folds of rows. A fold reads all rows once, and computes a result from them, such as a sum.

use opendp_core::erased::AnyValue;
use opendp_core::{
    AtomDomain, Bounds, Error, L1Distance, LInfDistance, Result, Space, SymmetricDistance,
    Transformation, VectorDomain,
};
use opendp_transformations::{
    Alpha, Key, make_b_ary_tree, make_clamp, make_consistent_b_ary_tree, make_count_by_categories,
    make_count_distinct, make_mean, make_quantile_score_candidates, make_sum, make_variance,
};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::incumbent_folds as incumbent;
use crate::timing::{Table, Target};

/// Run all folds. `rows` is the number of rows of the sum that is compared with a plain loop.
///
/// A contestant is one implementation in a comparison. A contestant runs on a thread pool with one
/// thread, so its work does not move between threads. If the name of a contestant states two
/// threads, the contestant runs on a thread pool with two threads.
pub fn folds(table: &mut Table, rows: usize) -> Result<()> {
    pool(1)?.install(|| {
        clamp_and_sum(table, rows)?;
        let pools = Pools { two: pool(2)? };
        reading(table, &pools);
        computing(table, &pools);
        for rows in [1_000_000, 10_000_000] {
            sums(table, rows, &pools)?;
            scores(table, rows, &pools)?;
            counts(table, rows, &pools)?;
        }
        trees(table)
    })
}

/// The pool with two threads.
struct Pools {
    two: ThreadPool,
}
impl Pools {
    /// If there are at least ten million rows, compare a fold on two threads with the same fold on
    /// one thread.
    fn scale<T: Send>(
        &self,
        table: &mut Table,
        work: &str,
        rows: usize,
        fold: impl Fn() -> T + Sync,
    ) {
        if rows < 10_000_000 {
            return;
        }
        table
            .contest(&format!("{work}, two threads"))
            .run("two threads", rows, || self.two.install(&fold))
            .against("one thread", rows, Target::Faster(1.5), &fold)
            .hold();
    }
}
/// Measure how much a second thread speeds up a loop that mainly reads memory. If a fold on two
/// threads misses its target, compare the speedup of the fold with the speedup of this loop.
fn reading(table: &mut Table, pools: &Pools) {
    const ROWS: usize = 10_000_000;
    let work = format!("reading {ROWS} f64, by a plain loop, two threads");
    if table.wants(&work) {
        let data = floats(ROWS);
        let read = || data.par_chunks(1 << 16).map(plain).sum::<f64>();
        table
            .contest(&work)
            .run("two threads", ROWS, || pools.two.install(read))
            .run("one thread", ROWS, read)
            .hold();
    }
}

/// Measure the gain of a second thread for a loop that uses no memory. The gain can be small,
/// because two processors of a machine can be two threads of one core.
fn computing(table: &mut Table, pools: &Pools) {
    const STEPS: usize = 100_000_000;
    let work = format!("{STEPS} steps in registers, two threads");
    if table.wants(&work) {
        let compute = || {
            (0..64_u64).into_par_iter().map(|seed| {
                let mut lanes: [u64; 4] = std::array::from_fn(|lane| 4 * seed + lane as u64);
                for _ in 0..STEPS / 64 / lanes.len() {
                    lanes
                        .iter_mut()
                        .for_each(|x| *x = x.rotate_left(9).wrapping_mul(0x2545_F491_4F6C_DD1D));
                }
                lanes.into_iter().fold(0, u64::wrapping_add)
            })
        };
        let compute = || compute().reduce(|| 0, u64::wrapping_add);
        table
            .contest(&work)
            .run("two threads", STEPS, || pools.two.install(compute))
            .run("one thread", STEPS, compute)
            .hold();
    }
}

/// Make a pool of `threads` threads.
pub fn pool(threads: usize) -> Result<ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Error::FailedFunction(error.to_string()))
}
/// Make unsorted floats from -50 000 to 92 857.
fn floats(rows: usize) -> Vec<f64> {
    integers(rows).into_iter().map(|i| i as f64 / 7.0 - 50_000.0).collect()
}
/// Make unsorted integers from 0 to 1 000 002.
fn integers(rows: usize) -> Vec<i64> {
    (0..rows as u64).map(|i| (i.wrapping_mul(2_654_435_761) % 1_000_003) as i64).collect()
}

/// Measure a fold that clamps and sums floats in memory. Compare the typed fold on one thread with
/// a plain loop, with the typed fold on two threads, and with the erased fold. The types of the
/// erased fold are known only at run time.
fn clamp_and_sum(table: &mut Table, rows: usize) -> Result<()> {
    let work = format!("clamp and sum, {rows} f64, against a loop");
    if !table.wants(&work) {
        return Ok(());
    }
    let data = floats(rows);
    let records = Space::new(VectorDomain::new(AtomDomain::non_nan()), SymmetricDistance)?;
    let sum = make_clamp(records, Bounds::new(0.0, 100.0)?)?.then(make_sum)?;
    let (two, seven) = (pool(2)?, pool(7)?);
    let (erased, any) = (sum.erase(), AnyValue::new(data.clone()));
    table
        .contest(&work)
        .run("typed, one thread", rows, || sum.invoke(&data))
        .against("plain loop, 16 accumulators", rows, Target::Within(1.2), || plain(&data))
        .run("typed, two threads", rows, || two.install(|| sum.invoke(&data)))
        .run("erased, one thread", rows, || erased.invoke(&any))
        .run("erased, two threads", rows, || two.install(|| erased.invoke(&any)))
        .hold();
    let expected = sum.invoke(&data)?;
    for result in [two.install(|| sum.invoke(&data))?, seven.install(|| sum.invoke(&data))?] {
        assert_eq!(expected.to_bits(), result.to_bits(), "the number of threads changed the sum");
    }
    let result = *erased.invoke(&any)?.downcast_ref::<f64>()?;
    assert_eq!(expected.to_bits(), result.to_bits(), "erasing changed the sum");
    Ok(())
}

/// Clamp and sum floats by a fast plain loop. The loop uses SIMD, and ignores rounding errors.
fn plain(data: &[f64]) -> f64 {
    let mut lanes = [0.0; 16];
    let mut chunks = data.chunks_exact(16);
    for chunk in &mut chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += x.clamp(0.0, 100.0);
        }
    }
    let rest: f64 = chunks.remainder().iter().map(|x| x.clamp(0.0, 100.0)).sum();
    lanes.iter().sum::<f64>() + rest
}

fn sums(table: &mut Table, rows: usize, pools: &Pools) -> Result<()> {
    let work = format!("clamp and sum, {rows} f64");
    if table.wants(&work) {
        let data = floats(rows);
        let records = Space::new(VectorDomain::new(AtomDomain::non_nan()), SymmetricDistance)?;
        let sum = make_clamp(records, Bounds::new(0.0, 100.0)?)?.then(make_sum)?;
        let mut theirs = incumbent::sum_f64((0.0, 100.0))?;
        table
            .contest(&work)
            .run("this project", rows, || sum.invoke(&data))
            .against("opendp", rows, Target::Faster(15.0), || theirs(&data))
            .hold();
        pools.scale(table, &work, rows, || sum.invoke(&data));
    }
    let work = format!("clamp and sum, {rows} i64");
    if table.wants(&work) {
        let data = integers(rows);
        let records = Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance)?;
        let sum = make_clamp(records, Bounds::new(0_i64, 100)?)?.then(make_sum)?;
        let mut theirs = incumbent::sum_i64((0, 100))?;
        table
            .contest(&work)
            .run("this project", rows, || sum.invoke(&data))
            .against("opendp", rows, Target::Faster(8.0), || theirs(&data))
            .hold();
        pools.scale(table, &work, rows, || sum.invoke(&data));
    }
    let work = format!("mean, {rows} f64");
    if table.wants(&work) {
        let data: Vec<f64> = floats(rows).into_iter().map(|x| x.clamp(0.0, 100.0)).collect();
        let atoms = AtomDomain::bounded(Bounds::new(0.0, 100.0)?);
        let mean =
            make_mean(Space::new(VectorDomain::new(atoms).with_size(rows), SymmetricDistance)?)?;
        let mut theirs = incumbent::mean((0.0, 100.0), rows)?;
        table
            .contest(&work)
            .run("this project", rows, || mean.invoke(&data))
            .against("opendp", rows, Target::Faster(3.0), || theirs(&data))
            .hold();
        pools.scale(table, &work, rows, || mean.invoke(&data));
    }
    let work = format!("variance, {rows} f64");
    if table.wants(&work) {
        let data: Vec<f64> = floats(rows).into_iter().map(|x| x.clamp(0.0, 100.0)).collect();
        let atoms = AtomDomain::bounded(Bounds::new(0.0, 100.0)?);
        let records = Space::new(VectorDomain::new(atoms).with_size(rows), SymmetricDistance)?;
        let variance = make_variance(records, 1)?;
        let mut theirs = incumbent::variance((0.0, 100.0), rows)?;
        table
            .contest(&work)
            .run("this project", rows, || variance.invoke(&data))
            .against("opendp", rows, Target::Faster(3.0), || theirs(&data))
            .hold();
        pools.scale(table, &work, rows, || variance.invoke(&data));
    }
    Ok(())
}

fn scores(table: &mut Table, rows: usize, pools: &Pools) -> Result<()> {
    macro_rules! contest {
        ($t:ty, $data:ident, $atoms:expr, $theirs:ident) => {
            for (count, times) in [(100_u32, 8.0), (10_000, 6.0)] {
                let work =
                    format!("quantile scores, {rows} {}, {count} candidates", stringify!($t));
                if table.wants(&work) {
                    let data = $data(rows);
                    let step = <$t>::from(80_000 / count);
                    let candidates: Vec<$t> = (0..count).map(|i| <$t>::from(i) * step).collect();
                    let records = Space::new(VectorDomain::new($atoms), SymmetricDistance)?;
                    let alpha = Alpha::new(0.5)?;
                    let ours: Transformation<_, _, _, LInfDistance<u64>> =
                        make_quantile_score_candidates(records, candidates.clone(), alpha)?;
                    let mut theirs = incumbent::$theirs(candidates, 0.5)?;
                    table
                        .contest(&work)
                        .run("this project", rows, || ours.invoke(&data))
                        .against("opendp", rows, Target::Faster(times), || theirs(&data))
                        .hold();
                    pools.scale(table, &work, rows, || ours.invoke(&data));
                }
            }
        };
    }
    contest!(f64, floats, AtomDomain::non_nan(), scores_f64);
    contest!(i64, integers, AtomDomain::default(), scores_i64);
    Ok(())
}

fn counts(table: &mut Table, rows: usize, pools: &Pools) -> Result<()> {
    let keys = || integers(rows).into_iter().map(|i| i % 110);
    let work = format!("count by categories, {rows} i64, 100 keys");
    if table.wants(&work) {
        categories(table, &work, keys().collect(), (0..100).collect(), 5.0, pools)?;
    }
    let work = format!("count by categories, {rows} String, 100 keys");
    if table.wants(&work) {
        let (data, names) = (keys().map(name).collect(), (0..100).map(name).collect());
        categories(table, &work, data, names, 3.0, pools)?;
    }
    // There are three benchmarks below. The first benchmark has small integers. The second and the
    // third benchmark have large integers. The third benchmark has at most 10,000 different
    // integers.
    let far = |i: i64| i.wrapping_mul(0x1E37_79B9_7F4A_7C15);
    distinct(table, &format!("count distinct, {rows} i64"), || integers(rows), pools)?;
    let data = || integers(rows).into_iter().map(far).collect();
    distinct(table, &format!("count distinct, {rows} i64 far apart"), data, pools)?;
    let data = || integers(rows).into_iter().map(|i| far(i % 10_000)).collect();
    distinct(table, &format!("count distinct, {rows} i64, 10^4 values"), data, pools)
}
fn distinct(
    table: &mut Table,
    work: &str,
    data: impl FnOnce() -> Vec<i64>,
    pools: &Pools,
) -> Result<()> {
    if !table.wants(work) {
        return Ok(());
    }
    let (data, mut theirs) = (data(), incumbent::count_distinct()?);
    let rows = data.len();
    let records = Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance)?;
    let ours = make_count_distinct::<i64, _, i64>(records)?;
    table
        .contest(work)
        .run("this project", rows, || ours.invoke(&data))
        .against("opendp", rows, Target::Faster(3.0), || theirs(&data))
        .hold();
    pools.scale(table, work, rows, || ours.invoke(&data));
    Ok(())
}
fn name(key: i64) -> String {
    format!("category {key}")
}
fn categories<T: Key + opendp::traits::Hashable>(
    table: &mut Table,
    work: &str,
    data: Vec<T>,
    categories: Vec<T>,
    times: f64,
    pools: &Pools,
) -> Result<()> {
    let rows = data.len();
    let records = Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance)?;
    let ours: Transformation<_, _, VectorDomain<AtomDomain<i64>>, L1Distance<i64>> =
        make_count_by_categories(records, categories.clone(), true)?;
    let mut theirs = incumbent::count_by_categories(categories)?;
    table
        .contest(work)
        .run("this project", rows, || ours.invoke(&data))
        .against("opendp", rows, Target::Faster(times), || theirs(&data))
        .hold();
    pools.scale(table, work, rows, || ours.invoke(&data));
    Ok(())
}

/// Build a tree of counts over leaves, and make the counts consistent. Compare the times for this
/// work.
fn trees(table: &mut Table) -> Result<()> {
    const LEAVES: usize = 1_000_000;
    let work = format!("consistent b-ary tree, {LEAVES} leaves");
    if table.wants(&work) {
        let data: Vec<i64> = integers(LEAVES).into_iter().map(|i| i % 100).collect();
        let leaves =
            Space::new(VectorDomain::new(AtomDomain::default()), L1Distance::<i64>::new())?;
        let tree = make_b_ary_tree(leaves, LEAVES, 10)?;
        let consistent = make_consistent_b_ary_tree::<i64, f64>(10)?;
        let mut theirs = incumbent::consistent_tree(LEAVES as u32, 10)?;
        table
            .contest(&work)
            .run("this project", LEAVES, || consistent.eval(&tree.invoke(&data)?))
            .against("opendp", LEAVES, Target::Faster(2.0), || theirs(&data))
            .hold();
    }
    Ok(())
}
