//! Check the paths of public tables.

use std::collections::HashMap;
use std::path::Path;

use opendp_core::{Error, Result};

use crate::engine::places;
use crate::metadata::Metadata;

/// Check that no public table reads a file or a folder of a private table. Hard links to one file
/// are one file. Otherwise, the rows of the private table could be read as public rows.
pub(super) fn check(metadata: &Metadata) -> Result<()> {
    let all = |public: bool| {
        let tables = metadata.tables.iter().filter(move |(_, table)| table.public == public);
        tables.flat_map(|(name, table)| {
            let places = table.path.as_deref().map(places).unwrap_or_default();
            places.into_iter().map(move |place| (name, place))
        })
    };
    if all(true).next().is_none() {
        return Ok(());
    }
    let (mut paths, mut files) = (HashMap::new(), HashMap::new());
    for (private, place) in all(false) {
        if let Some(file) = identity(&place) {
            files.insert(file, private);
        }
        paths.insert(place, private);
    }
    for (public, place) in all(true) {
        let same_file = || identity(&place).and_then(|file| files.get(&file));
        if let Some(private) = paths.get(&place).or_else(same_file) {
            let reason = format!(
                "table `{public}` is public, but it would read rows of the private table \
                 `{private}`: leave `public` out, or name a file or folder that the private table \
                 does not read"
            );
            return Err(Error::argument("public", reason));
        }
    }
    Ok(())
}
/// Return the device and the number of a file.
#[cfg(unix)]
fn identity(place: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(place).ok().map(|facts| (facts.dev(), facts.ino()))
}
#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}
