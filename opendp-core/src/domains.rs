//! The domains of this crate.

mod atom;
mod bit_vector;
mod frame;
mod map;
mod option;
mod pair;
mod user;
mod vector;

pub use atom::{AtomDomain, Nan, atom_domain};
pub use bit_vector::{BitVectorDomain, bitvector_domain};
pub use frame::{ColumnDomain, DataFrameDomain, dataframe_domain};
pub use map::{MapDomain, map_domain};
pub use option::{OptionDomain, option_domain};
pub use pair::{PairDomain, pair_domain};
pub(crate) use user::described;
pub use user::{UserDomain, user_domain};
pub use vector::{VectorDomain, vector_domain};
