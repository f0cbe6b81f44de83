//! A constructor of the framework for a type that the framework leaves out.
//!
//! It is the same function, so the name still has one meaning. Only its list of types is longer.

use opendp_core::{
    ChangeOneDistance, HammingDistance, InsertDeleteDistance, SymmetricDistance, register,
};
use opendp_transformations::make_clamp;

register! {
    "more_types.rs": make_clamp(input, bounds)
        for T in [isize],
            M in [SymmetricDistance, InsertDeleteDistance, ChangeOneDistance, HammingDistance];
}
