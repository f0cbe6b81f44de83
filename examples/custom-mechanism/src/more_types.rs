//! Registers a constructor of the framework for one more type. The framework itself does not
//! register the constructor for this type.
//!
//! The registered function is the function of the framework, so its name still has only one
//! meaning. Only the list of types is longer.

use opendp_core::{
    ChangeOneDistance, HammingDistance, InsertDeleteDistance, SymmetricDistance, register,
};
use opendp_transformations::make_clamp;

register! {
    "more_types.rs": make_clamp(input, bounds)
        for T in [isize],
            M in [SymmetricDistance, InsertDeleteDistance, ChangeOneDistance, HammingDistance];
}
