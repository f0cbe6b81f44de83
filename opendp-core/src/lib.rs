//! The basic types of differential privacy: spaces, functions, maps, and the objects made of them.
//!
//! - [`Domain`]: a set of values. [`Metric`]: a distance on a set. [`Space`]: a checked pair of a
//!   domain and a metric.
//! - [`Measure`]: a distance between two distributions. This distance is the privacy loss.
//! - [`Function`]: the code that runs on the data. A function consists of stages, which run in one
//!   pass if possible. A stage that handles each row alone, or that folds the rows into one state
//!   (a fold), can process a stream of rows. Folds can also run in parallel.
//! - [`StabilityMap`]: a proved bound on the distance between the outputs of a function.
//!   [`PrivacyMap`]: a proved bound on the privacy loss of a function.
//! - [`Transformation`], [`Measurement`]: a function and its map. [`Transformation::then`] chains
//!   these objects.
//! - [`arith`]: arithmetic with a documented rounding direction. [`random`]: the secure source of
//!   random bits.
//! - [`erased`]: the objects above, with types that are known only at run time.
//! - [`register!`], [`Registration`]: the interface through which a crate offers its constructors
//!   by name.
//! - [`laws`]: reusable checks of constructors.
//!
//! This crate contains no transformation and no measurement. Other crates of this project contain
//! transformations and measurements, and your crate can contain them too.
//!
//! ```
//! use opendp_core::*;
//! let ages = VectorDomain::new(AtomDomain::bounded(Bounds::new(0, 120)?));
//! let people = Space::new(ages, SymmetricDistance)?;
//! assert!(people.domain().member(&vec![31, 58]));
//! # Ok::<(), Error>(())
//! ```
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests compare with the platform's own functions")
)]

/// Offer a function to the registry. Unit tests are compiled without registrations.
/// `tests/registrations.rs` tests the code that reads registrations.
#[cfg(not(test))]
macro_rules! register {
    ($($registration:tt)*) => { $crate::register! { $($registration)* } };
}
#[cfg(test)]
macro_rules! register {
    ($($registration:tt)*) => { $crate::mention! { $($registration)* } };
}

mod args;
pub mod arith;
mod atom;
mod big_integer;
mod bit_vector;
mod bounds;
mod carrier;
pub mod codec;
mod constructor;
mod decimal;
mod distance;
mod domain;
mod domains;
pub mod erased;
mod error;
mod frame;
mod function;
mod interaction;
pub mod laws;
mod map;
mod measure;
mod measurement;
mod measures;
mod metric;
mod metrics;
mod migration;
mod neighbours;
pub mod order;
pub mod random;
mod registration;
pub mod search;
mod space;
mod transformation;
mod type_name;

pub use args::{Arg, Args, Argument, TheDomain, TheMeasure, TheMetric};
pub use atom::{Atom, HashableAtom};
pub use big_integer::IBig;
pub use bit_vector::BitVector;
pub use bounds::Bounds;
pub use carrier::{CHUNK_ROWS, Carrier, Chunk, Whole};
pub use codec::Codec;
pub use constructor::{Call, Constructor, Made, MadeType, Spec};
pub use distance::Distance;
pub use domain::{Domain, descriptor};
pub use domains::{
    AtomDomain, BitVectorDomain, ColumnDomain, DataFrameDomain, MapDomain, Nan, OptionDomain,
    PairDomain, UserDomain, VectorDomain,
};
pub use erased::{Constructed, Kind};
pub use error::{Error, Result};
pub use frame::{Cell, Column, DataFrame, FrameChunk};
pub use function::{Fold, Function, Partial, Rows, with_threads};
pub use interaction::{
    Allowance, Handle, HeldLock, Ledger, Odometer, Queryable, Session, Turn, Turns, in_turn,
};
pub use map::{PrivacyMap, PrivacyMapRef, StabilityMap};
pub use measure::{Interaction, Measure};
pub use measurement::{Accuracy, Measurement};
pub use measures::{
    Approximate, ComposableLoss, MaxDivergence, PrivacyProfile, RenyiCurve, RenyiDivergence,
    Sampled, SmoothedMaxDivergence, UserDivergence, ZeroConcentratedDivergence,
};
pub use metric::{DatasetMetric, DistanceOn, Metric, MetricOn};
pub use metrics::{
    AbsoluteDistance, AnyDatasetMetric, AnyNumber, ChangeOneDistance, DiscreteDistance,
    HammingDistance, InsertDeleteDistance, L0PInfDistance, L1Distance, L01InfDistance, L2Distance,
    L02InfDistance, LInfDistance, LpDistance, NumberMetric, OfAnyNumber, RangeDistance,
    SymmetricDistance, UserDistance,
};
pub use migration::{Change, Migration};
pub use registration::{ArgumentType, Family, Generic, Origin, Parameter, Registration, Signature};
pub use space::Space;
pub use transformation::{After, Outcome, Remeasured, Transformation};
pub use type_name::{Named, TypeName};

pub mod descriptors {
    //! The functions by which pipeline documents describe domains, metrics and measures.
    //!
    //! A pipeline document names a domain, a metric or a measure by one of these functions, such as
    //! `"atom_domain"`. In Rust code, the methods of the types, such as `AtomDomain::new`, are
    //! shorter.
    pub use crate::domains::{
        atom_domain, bitvector_domain, dataframe_domain, map_domain, option_domain, pair_domain,
        user_domain, vector_domain,
    };
    pub use crate::measures::{
        approximate, fixed_smoothed_max_divergence, max_divergence, renyi_divergence, sampled,
        smoothed_max_divergence, user_divergence, zero_concentrated_divergence,
    };
    pub use crate::metrics::{
        absolute_distance, change_one_distance, discrete_distance, hamming_distance,
        insert_delete_distance, l1_distance, l01inf_distance, l2_distance, l02inf_distance,
        linf_distance, range_distance, symmetric_distance, user_distance,
    };
}

#[doc(hidden)]
pub mod __private {
    //! These items are not public API. Only the code that the macros generate uses these items.
    pub use crate::constructor::{made_of, types_of};
    pub use crate::registration::{Registrations, path_of};
    pub use inventory::submit;
}
