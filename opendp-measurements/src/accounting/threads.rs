//! Work that is divided among threads. The code that uses the threads is compiled once.

use opendp_core::with_threads;
use rayon::prelude::*;

use crate::collected::Collected;

/// For at least this many results, [`each`] uses several threads.
const PARALLEL: usize = 8;

type Task<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Compute a result for each number below `count`. Use several threads for many results.
pub(super) fn each<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    match count {
        0..PARALLEL => (0..count).map(work).collected(),
        _ => divided(count, &work),
    }
}
/// Compute a result for each number below `count`. Use several threads if possible.
pub(super) fn divided<R: Send>(count: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    let mut results = Vec::with_capacity(count);
    for _ in 0..count {
        results.push(None);
    }
    let mut tasks = Vec::<Task<'_>>::with_capacity(count);
    for (place, result) in results.iter_mut().enumerate() {
        tasks.push(Box::new(move || *result = Some(work(place))));
    }
    run(tasks);
    // Each task has stored its result.
    results.into_iter().known_collected().unwrap_or_default()
}
fn run(tasks: Vec<Task<'_>>) {
    with_threads(|divided| match divided {
        true => tasks.into_par_iter().for_each(|task| task()),
        false => tasks.into_iter().for_each(|task| task()),
    });
}
