//! A value that is computed on its first use.

use std::sync::OnceLock;

/// A store for a value that is computed when it is first needed.
///
/// No thread waits while another thread computes the value. Waiting could cause a deadlock. For
/// example, a computation can divide its work among the workers of a pool. If all these workers
/// wait for the value of this computation, no thread continues. So several threads can compute the
/// value at the same time. The first result is kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo<T>(OnceLock<T>);

impl<T> Memo<T> {
    pub(crate) const fn new() -> Self {
        Memo(OnceLock::new())
    }
    pub(crate) fn known(&self) -> Option<&T> {
        self.0.get()
    }
    /// Return the value. If it is not known yet, compute it.
    pub(crate) fn get(&self, compute: impl FnOnce() -> T) -> &T {
        if let Some(known) = self.known() {
            return known;
        }
        let found = compute();
        self.0.get_or_init(|| found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc::channel, thread, time::Duration};

    #[test]
    fn no_thread_waits_for_another_computation() {
        let memo = &Memo::new();
        let ((begin, begun), (finish, finished)) = (channel(), channel::<()>());
        thread::scope(|scope| {
            let first = scope.spawn(move || {
                *memo.get(|| {
                    begin.send(()).unwrap();
                    // The control: with `OnceLock::get_or_init`, the second call of `get` would
                    // wait for these 10 seconds, and would return 1.
                    finished.recv_timeout(Duration::from_secs(10)).ok();
                    1
                })
            });
            begun.recv().unwrap();
            assert_eq!(*memo.get(|| 2), 2);
            finish.send(()).ok();
            assert_eq!(first.join().unwrap(), 2);
        });
        assert_eq!(*memo.get(|| 3), 2);
    }
}
