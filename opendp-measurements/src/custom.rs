//! User-defined measurements, post-processing, queryables and privacy profiles.

mod new_function;
mod new_privacy_profile;
mod new_queryable;
mod user_measurement;

pub use new_function::new_function;
pub use new_privacy_profile::new_privacy_profile;
pub use new_queryable::{new_queryable, new_queryable_of};
pub use user_measurement::make_user_measurement;
