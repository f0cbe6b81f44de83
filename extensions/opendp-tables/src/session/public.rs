//! Check the paths of public tables.

use std::path::PathBuf;

use opendp_core::{Error, Result};
use opendp_report::is_same_file;

use crate::engine::places;
use crate::metadata::Metadata;

/// Check that the path of no public table is the path of a private table, is in its folder, or
/// contains it. A hard link is the same file. Otherwise, the rows of the private table could be
/// read as public rows.
pub(super) fn check(metadata: &Metadata) -> Result<()> {
    let all = |public: bool| {
        let tables = metadata.tables.iter().filter(move |(_, table)| table.public == public);
        tables.flat_map(|(name, table)| {
            let places = table.path.as_deref().map(places).unwrap_or_default();
            places.into_iter().map(move |place| (name, place))
        })
    };
    let private: Vec<(&String, PathBuf)> = all(false).collect();
    for (public, place) in all(true) {
        for (private, other) in &private {
            let relation = if is_same_file(&place, other) {
                "is that of"
            } else if place.starts_with(other) {
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
