//! The names that the catalogues of this workspace register, whether they are linked or not.

use opendp_core::{Error, Registration};

use crate::registry::full_name;

/// One line for each name: its package and the name. A test compares it with what is registered.
const NAMES: &str = include_str!("catalogues.txt");

/// Report a name that a known catalogue registers, and how to link the catalogue; `None` if the
/// name is not known.
#[cold]
pub(crate) fn unlinked(name: &str) -> Option<Error> {
    let full = full_name(name);
    let line = |line: &'static str| line.split_once(' ');
    let mut lines = NAMES.lines().filter_map(line);
    let (package, _) = lines.find(|(_, known)| *known == name || *known == full)?;
    let mut linked = Registration::all().map(|registration| registration.family.origin.package);
    let advice = match linked.any(|linked| linked == package) {
        true => "and the package is not among the packages that this registry trusts".to_owned(),
        false => format!(
            "which this program does not link. Add `{package}` to the dependencies in Cargo.toml, \
             and name it once in code: `use {} as _;`. The linker drops a crate that no code names",
            package.replace('-', "_")
        ),
    };
    Some(Error::NotFound(format!("`{name}` is of the package `{package}`, {advice}")))
}
