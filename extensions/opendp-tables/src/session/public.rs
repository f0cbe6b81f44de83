//! Check the paths of public tables.

use std::path::Path;

use opendp_core::{Error, Result};

use crate::metadata::{Metadata, Table};

/// Check that the path of no public table is the path of a private table, is in its folder, or
/// contains it. Otherwise, the rows of the private table could be read as public rows.
pub(super) fn check(metadata: &Metadata) -> Result<()> {
    let place = |table: &Table| {
        let path = table.path.as_deref()?;
        Path::new(path.strip_prefix("file://").unwrap_or(path)).canonicalize().ok()
    };
    let places = |public: bool| {
        let tables = metadata.tables.iter().filter(move |(_, table)| table.public == public);
        tables.filter_map(move |(name, table)| Some((name, place(table)?)))
    };
    for (public, place) in places(true) {
        for (private, other) in places(false) {
            let relation = if place == other {
                "is that of"
            } else if place.starts_with(&other) {
                "is in the folder of"
            } else if other.starts_with(&place) {
                "is a folder with the rows of"
            } else {
                continue;
            };
            let reason = format!(
                "table `{public}` is public, but its file {relation} the private table \
                 `{private}`: leave `public` out, or name another file"
            );
            return Err(Error::argument("public", reason));
        }
    }
    Ok(())
}
