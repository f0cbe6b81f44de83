//! Releases that answer questions, and their privacy budgets.

mod ledger;
mod lock;
mod odometer;
mod queryable;
mod session;
mod turn;

pub use ledger::Ledger;
pub use odometer::Odometer;
pub use queryable::Queryable;
pub use session::{Allowance, Session};
pub use turn::{Turn, Turns};

mod sync {
    //! The locks and threads in use. A test that explores interleavings replaces them.
    pub(super) use std::sync::{Arc, Mutex};
    pub(super) use std::thread;
}
