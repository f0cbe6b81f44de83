//! Work that is divided among threads without deadlocks, even if the current thread holds a lock.

use std::panic::resume_unwind;
use std::sync::LazyLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::interaction::{collected, holds_lock, pass_on};

/// A pool for threads that hold a lock. Its workers run only work that is passed to
/// [`with_threads`]. The value is `None` if the system could not start the threads.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    ThreadPoolBuilder::new().num_threads(rayon::current_num_threads()).build().ok()
});

/// Run work that can be divided among the threads of a `rayon` pool. The argument of `work` states
/// whether the work can use a pool. If the argument is `false`, `work` must not call `rayon`.
///
/// Most queryables and some sessions hold a lock while they answer. Any other code that holds a
/// lock must keep a [`HeldLock`](crate::HeldLock) until it releases the lock. If the work under the
/// lock used a pool in the usual way, there could be a deadlock:
///
/// * While a worker waits for the parts of its work, the worker runs other tasks of its pool. Such
///   a task can request the lock that this worker holds. The task can also wait for a second
///   worker, while the second worker waits for this worker. So a worker that holds a lock does not
///   divide the work.
/// * A thread outside of a pool waits until workers have run the parts. All workers can be waiting
///   for the lock that this thread holds. So if such a thread holds a lock, the work runs on a
///   separate pool. The workers of this pool run no tasks that wait for the lock.
///
/// A `OnceLock` acts as a lock too: while a thread initialises the value, the workers can wait for
/// this value. So the thread that initialises the value must not use a pool in the usual way.
/// Compute the value first, and store it afterwards.
///
/// Use this function in folds and maps that divide their work.
pub fn with_threads<R: Send>(work: impl FnOnce(bool) -> R + Send) -> R {
    if !holds_lock() {
        return work(true);
    }
    // Only a thread outside of all pools uses the separate pool. A worker runs the work alone.
    if rayon::current_thread_index().is_none()
        && let Some(pool) = POOL.as_ref()
    {
        let (result, handles) = pool.install(|| collected(|| work(true)));
        pass_on(handles);
        return result.unwrap_or_else(|panic| resume_unwind(panic));
    }
    work(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HeldLock;

    /// Return whether work is divided, and the index of the worker that runs it.
    fn run() -> (bool, Option<usize>) {
        with_threads(|divided| (divided, rayon::current_thread_index()))
    }
    #[test]
    fn a_worker_that_holds_a_lock_divides_nothing_and_another_thread_uses_a_separate_pool() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(run(), (true, None));
        assert!(matches!(pool.install(run), (true, Some(_))));
        let held = HeldLock::new();
        assert!(matches!(run(), (true, Some(_))));
        // The workers of the separate pool hold no lock, so they can divide work again. The
        // separate pool and the default pool have the same number of threads.
        let nested = with_threads(|_| (run(), rayon::current_num_threads()));
        assert!(
            matches!(nested, ((true, Some(_)), threads) if threads == rayon::current_num_threads())
        );
        // Only the current thread holds the lock, so the workers of `pool` can divide work.
        assert!(matches!(pool.install(run), (true, Some(_))));
        drop(held);
        assert_eq!(run(), (true, None));
        let locked = || (HeldLock::new(), run()).1;
        assert!(matches!(pool.install(locked), (false, Some(_))));
        assert!(matches!(pool.install(run), (true, Some(_))));
    }
}
