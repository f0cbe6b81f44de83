//! Randomized response. A release is the true answer with a known probability.

mod randomized_response;
mod randomized_response_bitvec;

pub use randomized_response::{make_randomized_response, make_randomized_response_bool};
pub use randomized_response_bitvec::{
    debias_randomized_response_bitvec, make_randomized_response_bitvec,
};
