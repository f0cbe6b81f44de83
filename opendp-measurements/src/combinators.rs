//! Constructors that join what others have made.

mod chain;
mod composition;

pub use chain::{make_chain_mt, make_chain_pm, make_chain_tt};
pub use composition::make_composition;
