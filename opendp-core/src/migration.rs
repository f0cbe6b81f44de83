//! Changes of registered constructors.

/// A change of a registered constructor.
///
/// A pipeline document states the version that it was written for. The code that reads the document
/// applies all later changes, so the document keeps its meaning. The author of a constructor calls
/// the macro [`migrate!`](crate::migrate) below the changed constructor. The macro defines a
/// constant of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The package of the constructor.
    pub package: &'static str,
    /// The name under which the constructor is listed.
    pub constructor: &'static str,
    /// The first version in which documents use the new form of the constructor. Documents of
    /// earlier versions are changed.
    pub since: u64,
    /// The change of the constructor.
    pub change: Change,
}
inventory::collect!(Migration);

/// The kind of a change of a constructor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// An argument has a new name.
    Renamed {
        /// The name of the argument in earlier documents.
        from: &'static str,
        /// The new name of the argument.
        to: &'static str,
    },
    /// An argument was removed.
    Removed {
        /// The name of the removed argument in earlier documents.
        argument: &'static str,
        /// The only value of the removed argument that a document may have, as JSON text. With this
        /// value, the old constructor does the same as the new constructor. Any other value in a
        /// document gives an error.
        only: &'static str,
    },
    /// An argument is new, or its default has changed. If an earlier document does not state the
    /// argument, the reader of documents adds a value. With this value, the document keeps its
    /// meaning.
    Defaulted {
        /// The name of the new argument, or of the argument whose default has changed.
        argument: &'static str,
        /// The value of the argument, as JSON text, for earlier documents that do not state the
        /// argument.
        value: &'static str,
    },
    /// The constructor still exists, but another constructor is better.
    Deprecated {
        /// Advice for authors of documents, such as "use `make_sum`".
        advice: &'static str,
    },
}

impl Migration {
    /// Iterate over all changes linked into this program, in no particular order.
    pub fn all() -> impl Iterator<Item = &'static Migration> {
        inventory::iter::<Migration>.into_iter()
    }
}

/// State changes of registered constructors. See [`Migration`](crate::Migration).
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
/// The number after `in` is the first version in which documents use the new form of the
/// constructor. For the constructors of this workspace, a document states its version in the field
/// `version`. Every other package has version numbers of its own. A document states them in the
/// field `packages`.
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
