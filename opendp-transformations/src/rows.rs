//! Functions that act on each record alone.

// Constructors.
mod cast;
mod cast_default;
mod cast_inherent;
pub(crate) mod clamp;
pub(crate) mod find;
mod find_bin;
pub(crate) mod identity;
mod impute_constant;
mod impute_uniform_float;
mod index;
pub(crate) mod is_equal;
mod is_null;
mod row_by_row;

// Shared code.
pub(crate) mod each;
pub(crate) mod round_cast;

pub use cast::make_cast;
pub use cast_default::make_cast_default;
pub use cast_inherent::make_cast_inherent;
pub use clamp::make_clamp;
pub use find::make_find;
pub use find_bin::make_find_bin;
pub use identity::make_identity;
pub use impute_constant::make_impute_constant;
pub use impute_uniform_float::make_impute_uniform_float;
pub use index::make_index;
pub use is_equal::make_is_equal;
pub use is_null::{Nullable, make_is_null};
pub use round_cast::RoundCast;
pub use row_by_row::make_row_by_row;
