//! The checks at the start of a program: expected names, and stated changes of constructors.

use opendp_core::{Change, Error, Migration, Result};

use crate::catalogues::unlinked;
use crate::{Entry, Registry};

impl Registry {
    /// Check that each of the given names is the name of exactly one registered function. Call this
    /// function when the program starts. The linker drops a crate that no code names, and such a
    /// crate registers nothing.
    ///
    /// Also check the stated changes of constructors, such as those of
    /// [`migrate!`](opendp_core::migrate): each change names a constructor of its package, and an
    /// argument of this constructor. Changes by a package without constructors in this registry
    /// have no effect, and are not checked.
    ///
    /// # Errors
    /// `NotFound` with at least one missing name, when a name is not registered. `Ambiguous` when
    /// two functions have one of the names. `NotFound` when a stated change names no constructor or
    /// no argument.
    pub fn expecting(&self, names: &[&str]) -> Result<&Self> {
        let missing: Vec<&str> =
            names.iter().copied().filter(|name| !self.families.contains_key(*name)).collect();
        if missing.is_empty() {
            names.iter().try_for_each(|name| self.family(name).map(drop))?;
            self.check_changes()?;
            return Ok(self);
        }
        if let Some(error) = missing.iter().find_map(|name| unlinked(name)) {
            return Err(error);
        }
        Err(Error::NotFound(format!(
            "no constructor is linked under `{}`; name the crate of each missing constructor once \
             in code, as in `use that_crate as _;`",
            missing.join("`, `")
        )))
    }
    fn check_changes(&self) -> Result<()> {
        let entries: Vec<_> =
            self.families.iter().flat_map(|family| family.entries.clone()).collect();
        for changes in &self.migrations {
            for migration in changes.iter() {
                let mut own = entries.iter().filter(|entry| entry.package == migration.package);
                let listed = own.clone().any(|entry| is_named(entry, migration.constructor));
                if !listed && own.next().is_some() {
                    return Err(no_constructor(migration));
                }
            }
        }
        for family in &self.families {
            let changes = family.entries.first().and_then(|entry| self.changes(entry));
            let changes = changes.unwrap_or_default();
            for (place, migration) in changes.iter().enumerate() {
                let later = changes.iter().skip(place + 1);
                if let Some(name) = argument_today(migration.change, later)
                    && !family.entries.iter().any(|entry| takes(entry, name))
                {
                    return Err(no_argument(migration, name));
                }
            }
        }
        Ok(())
    }
}
/// Return whether a constructor is listed under a name, with or without the prefix of its package.
fn is_named(entry: &Entry, name: &str) -> bool {
    entry.name() == name || entry.name().rsplit("::").next() == Some(name)
}
fn takes(entry: &Entry, name: &str) -> bool {
    entry.parameters.iter().any(|parameter| parameter.name == name)
        || entry.generics.iter().any(|generic| generic.name == name)
}
/// Return the name that the argument of a change has after the later changes. Return `None` if the
/// change or a later change removes the argument, or if the change is about no argument.
fn argument_today<'a>(
    change: Change,
    later: impl Iterator<Item = &'a Migration>,
) -> Option<&'static str> {
    let mut name = match change {
        Change::Renamed { to, .. } => to,
        Change::Defaulted { argument, .. } => argument,
        _ => return None,
    };
    for migration in later {
        match migration.change {
            Change::Renamed { from, to } if from == name => name = to,
            Change::Removed { argument, .. } if argument == name => return None,
            _ => {}
        }
    }
    Some(name)
}
#[cold]
fn no_constructor(Migration { package, constructor, since, .. }: &Migration) -> Error {
    Error::NotFound(format!(
        "package {package} states a change of `{constructor}` in version {since}, but it registers \
         no constructor under this name; correct the name in `migrate!`"
    ))
}
#[cold]
fn no_argument(Migration { package, constructor, since, .. }: &Migration, name: &str) -> Error {
    Error::NotFound(format!(
        "package {package} states a change of `{constructor}` in version {since}, but \
         `{constructor}` has no argument `{name}`; correct the name in `migrate!`"
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use opendp_core::{Kind, Named, SymmetricDistance};

    use super::*;
    use crate::Addition;
    use crate::registry::Family;

    #[test]
    fn a_name_of_two_functions_is_not_what_a_program_expects() {
        let entry = |package: &'static str| {
            let output = SymmetricDistance::type_name();
            Arc::new(Addition::new("mine", package, Kind::Metric, output).into_entry())
        };
        let (registry, entries) = (Registry::new(), vec![entry("a"), entry("b")]);
        registry.families.insert("mine".to_owned(), Arc::new(Family { entries }));
        let error = registry.expecting(&["mine"]).map(drop).unwrap_err();
        assert_eq!(error.kind(), "Ambiguous");
        assert!(registry.expecting(&[]).is_ok());
    }
}
