//! Releases that answer questions, and their privacy budgets.

mod handle;
#[cfg(test)]
mod handle_tests;
mod in_turn;
mod ledger;
mod lock;
mod odometer;
mod queryable;
mod session;
mod turn;

pub use handle::Handle;
pub(crate) use handle::{collected, pass_on};
pub use in_turn::in_turn;
pub use ledger::Ledger;
pub use lock::HeldLock;
pub(crate) use lock::holds_lock;
pub use odometer::Odometer;
pub use queryable::Queryable;
pub use session::{Allowance, Session};
pub use turn::{Turn, Turns};

mod sync {
    //! The locks and threads of the interactive mechanisms. `tests/interleavings.rs` replaces this
    //! module. Then the scheduler of that test controls all locks and threads.
    pub(super) use std::sync::{Arc, Mutex, MutexGuard};
    pub(super) use std::thread;
}
