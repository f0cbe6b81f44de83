//! The benchmark of private queries; it is filled in below.
use opendp_tables as _;
fn main() {}
