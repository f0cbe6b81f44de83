//! Changes of registered constructors, for documents that were written before them.

/// A change of a registered constructor.
///
/// A document states the version that it was written for, and keeps its meaning: its reader applies
/// the changes that came later. [`migrate!`](crate::migrate) writes this constant below the
/// constructor that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The package of the constructor. Versions are counted for each package.
    pub package: &'static str,
    /// The name under which the constructor is listed.
    pub constructor: &'static str,
    /// The first version in which documents use the constructor as it is now. Documents of earlier
    /// versions are changed.
    pub since: u64,
    /// What changed.
    pub change: Change,
}
inventory::collect!(Migration);

/// What changed in a constructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// An argument has another name.
    Renamed {
        /// The name in earlier documents.
        from: &'static str,
        /// The name now.
        to: &'static str,
    },
    /// An argument does not exist any more.
    Removed {
        /// The name in earlier documents.
        argument: &'static str,
        /// The value, as JSON text, with which the constructor did what it does now. A document
        /// with another value has no meaning any more, and is refused.
        only: &'static str,
    },
    /// An argument is new, or has another default. Earlier documents get the value that keeps their
    /// meaning.
    Defaulted {
        /// The name of the argument.
        argument: &'static str,
        /// The value that earlier documents meant by leaving it out, as JSON text.
        value: &'static str,
    },
    /// The constructor stays, but another one is better.
    Deprecated {
        /// What to write instead, such as "use `make_sum`".
        advice: &'static str,
    },
}

impl Migration {
    /// Iterate over all changes linked into this program, in no particular order.
    pub fn all() -> impl Iterator<Item = &'static Migration> {
        inventory::iter::<Migration>.into_iter()
    }
}

/// State changes of registered constructors, for documents that were written before them.
///
/// ```
/// # mod acme {
/// opendp_core::migrate! {
///     make_bins in 2: Renamed { from: "count", to: "bins" };
///     make_bins in 3: Defaulted { argument: "closed", value: "true" };
/// }
/// # }
/// # use opendp_core::{Change, Migration};
/// let found = Migration::all().find(|one| one.constructor == "make_bins" && one.since == 2);
/// let renamed = Change::Renamed { from: "count", to: "bins" };
/// assert_eq!(found.map(|one| one.change), Some(renamed));
/// ```
///
/// The number is the first version in which documents use the constructor as it is now. The
/// constructors of this workspace count the `version` of a document. Another package counts its own
/// versions, and documents state them in `packages`.
#[macro_export]
macro_rules! migrate {
    ($($constructor:ident in $since:literal: $change:ident $fields:tt;)+) => {$(
        const _: () = {
            $crate::__private::submit! {
                $crate::Migration {
                    package: env!("CARGO_PKG_NAME"),
                    constructor: stringify!($constructor),
                    since: $since,
                    change: $crate::Change::$change $fields,
                }
            }
        };
    )+};
}
