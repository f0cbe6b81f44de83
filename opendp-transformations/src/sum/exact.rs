//! Exact sums, which do not depend on the order of the rows or on their division into chunks.

// Sums of integers and of floats.
pub(crate) mod deviations;
pub(crate) mod float_sum;
pub(crate) mod integer_sum;

// Fixed-point numbers. `lattice` and `offset` convert floats to multiples of a power of two. `grid`
// and `rounding` round each result once.
pub(crate) mod grid;
pub(crate) mod lattice;
pub(crate) mod offset;
pub(crate) mod rounding;
