//! The threads of the engine.

use tokio::runtime::Runtime;

/// A runtime that can be dropped on any thread. A plain runtime panics if it is dropped on a thread
/// of another runtime, for example at the end of an async function.
pub(super) struct Background(pub(super) Option<Runtime>);
impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
