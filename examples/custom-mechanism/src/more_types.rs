//! Registers constructors of the framework for one more type each. The framework itself does not
//! register these constructors for these types.
//!
//! The registered function is the function of the framework, so the name of this function still has
//! only one meaning. The registration only adds a type to the list of types of the function.

use opendp_core::descriptors::vector_domain;
use opendp_core::{
    ChangeOneDistance, HammingDistance, InsertDeleteDistance, SymmetricDistance, register,
};
use opendp_transformations::make_clamp;

use crate::GraphDomain;

register! {
    "more_types.rs": make_clamp(input, bounds)
        for T in [isize],
            M in [SymmetricDistance, InsertDeleteDistance, ChangeOneDistance, HammingDistance];
}

// With this registration, a document can describe data sets whose records are graphs.
register! {
    "more_types.rs": vector_domain(atom_domain, size = null) for D in [GraphDomain];
}
