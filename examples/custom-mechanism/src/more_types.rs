//! Registers a constructor of the framework for one more type. The framework itself does not
//! register the constructor for this type.
//!
//! The registered function is the function of the framework, so the name of this function still has
//! only one meaning. The registration only adds a type to the list of types of the function.

use opendp_core::{
    ChangeOneDistance, HammingDistance, InsertDeleteDistance, SymmetricDistance, register,
};
use opendp_transformations::make_clamp;

register! {
    "more_types.rs": make_clamp(input, bounds)
        for T in [isize],
            M in [SymmetricDistance, InsertDeleteDistance, ChangeOneDistance, HammingDistance];
}
