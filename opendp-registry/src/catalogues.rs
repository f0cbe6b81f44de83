//! The names that the catalogues of this workspace register. A catalogue is a crate that registers
//! constructors. If this program does not link a catalogue, the list still includes the names that
//! this catalogue registers.

use opendp_core::{Error, Registration};

use crate::registry::full_name;

/// One line for each name: the package that registers the name, and the name. A test compares the
/// list with the registered names.
const NAMES: &str = include_str!("catalogues.txt");

/// Return the error for a name whose package is not linked, or is not trusted by the registry. If
/// the package is not linked, the message states how to link it. Return `None` if the name is not
/// known.
#[cold]
pub(crate) fn unlinked(name: &str) -> Option<Error> {
    let full = full_name(name);
    let line = |line: &'static str| line.split_once(' ');
    let mut lines = NAMES.lines().filter_map(line);
    let (package, _) = lines.find(|(_, known)| *known == name || *known == full)?;
    let mut linked = Registration::all().map(|registration| registration.family.origin.package);
    let advice = match linked.any(|linked| linked == package) {
        true => "which this registry does not trust".to_owned(),
        false => format!(
            "which this program does not link. Add `{package}` to the dependencies in Cargo.toml, \
             and name it once in code: `use {} as _;`. The linker drops a crate that no code names",
            package.replace('-', "_")
        ),
    };
    Some(Error::NotFound(format!("`{name}` belongs to the package `{package}`, {advice}")))
}
