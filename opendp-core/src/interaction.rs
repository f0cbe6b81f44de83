//! Releases that answer questions, and what they may spend.

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
    //! What locks and threads are; a test that explores interleavings puts others in their place.
    pub(super) use std::sync::{Arc, Mutex};
    pub(super) use std::thread;
}
