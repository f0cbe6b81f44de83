//! Applies changes of constructors to older documents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use opendp_core::{Change, Error, Migration, Result};
use serde_json::{Map, Value as Json};

use super::node::same;
use super::{Document, VERSION};
use crate::{Entry, Registry};

/// All packages of this workspace, except the examples, have names with this prefix. The `version`
/// of a document applies to the constructors of the packages with this prefix.
const HOUSE: &str = "opendp-";

/// The versions for which a document was written.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    /// The version of the format and of the constructors of this workspace.
    format: u64,
    /// The versions of other packages. If a package is not stated, its version is 1.
    packages: BTreeMap<String, u64>,
    /// Whether OpenDP wrote the document. The versions do not apply to a document that OpenDP
    /// wrote.
    foreign: bool,
}
impl Default for Versions {
    fn default() -> Self {
        Versions { format: 1, packages: BTreeMap::new(), foreign: false }
    }
}
impl Versions {
    /// Read the versions that a document states.
    pub(super) fn of(document: &Json, newest: u64) -> Result<Versions> {
        let format = match document.get("version") {
            None => 1,
            Some(version) => number("version", version, newest)?,
        };
        let packages = match document.get("packages") {
            None => BTreeMap::new(),
            Some(Json::Object(packages)) => {
                let read = |(name, version): (&String, &Json)| {
                    let version = number("packages", version, u64::MAX);
                    version.map(|version| (name.clone(), version))
                };
                packages.iter().map(read).collect::<Result<_>>()?
            }
            Some(_) => return Err(no_versions()),
        };
        Ok(Versions { format, packages, foreign: document.get("__function__").is_some() })
    }
    /// Check the versions that a part of the document states. A part is a pipeline or a call. One
    /// set of versions applies to the whole document, so a part cannot have other versions.
    pub(super) fn check_inner(&self, part: &Map<String, Json>) -> Result<()> {
        let other = |key: &str, expected: u64, found: &Json| {
            if number(key, found, u64::MAX).is_ok_and(|found| found == expected) {
                return Ok(());
            }
            Err(Error::argument(
                key,
                format!(
                    "a part of the document states the version {found}, and the whole document is \
                     for version {expected}; state the versions only once, at the top"
                ),
            ))
        };
        if let Some(version) = part.get("version") {
            other("version", self.format, version)?;
        }
        match part.get("packages") {
            Some(Json::Object(packages)) => packages
                .iter()
                .try_for_each(|(name, found)| other("packages", self.of_package(name), found)),
            Some(_) => Err(no_versions()),
            None => Ok(()),
        }
    }
    fn of_package(&self, package: &str) -> u64 {
        match package.starts_with(HOUSE) {
            true => self.format,
            false => self.packages.get(package).copied().unwrap_or(1),
        }
    }
    /// For each of the other packages, check that the stated version is at most the newest version
    /// that this program knows.
    pub(super) fn check(&self, registry: &Registry) -> Result<()> {
        for (package, version) in &self.packages {
            let newest = registry.newest(package);
            if newest < *version {
                let reason = format!(
                    "the document is for version {version} of `{package}`, and this program knows \
                     versions up to {newest}; update the program"
                );
                return Err(Error::argument("packages", reason));
            }
        }
        Ok(())
    }
}
#[cold]
fn no_versions() -> Error {
    Error::argument("packages", "expected an object of versions, such as {\"acme-dp\": 2}")
}
fn number(name: &str, json: &Json, newest: u64) -> Result<u64> {
    json.as_u64().filter(|version| (1..=newest).contains(version)).ok_or_else(|| {
        let limit = if newest == u64::MAX { "up".to_owned() } else { format!("to {newest}") };
        let found = crate::json::short(&json.to_string());
        Error::argument(name, format!("expected a number from 1 {limit}, found {found}"))
    })
}

/// Convert the arguments of a call in an older document to the newest form of the constructor.
pub(super) fn migrated<'j>(
    registry: &Registry,
    versions: &Versions,
    entry: Option<&Entry>,
    given: &'j Map<String, Json>,
) -> Result<Cow<'j, Map<String, Json>>> {
    let mut given = Cow::Borrowed(given);
    let Some(entry) = entry.filter(|_| !versions.foreign) else { return Ok(given) };
    let Some(changes) = registry.changes(entry) else { return Ok(given) };
    for migration in &*changes {
        let earlier = versions.of_package(migration.package) < migration.since;
        step(registry, entry.name(), migration, earlier, &mut given)?;
    }
    Ok(given)
}
fn step(
    registry: &Registry,
    name: &str,
    migration: &Migration,
    earlier: bool,
    given: &mut Cow<'_, Map<String, Json>>,
) -> Result<()> {
    let since = migration.since;
    match migration.change {
        Change::Deprecated { advice } => {
            registry.note(format!("`{name}` is deprecated: {advice}"));
        }
        Change::Renamed { from, to } if given.contains_key(from) => {
            if !earlier {
                let reason = format!(
                    "`{name}` calls this argument `{to}` since version {since}; write `{to}`"
                );
                return Err(Error::argument(from, reason));
            }
            if given.contains_key(to) {
                let reason =
                    format!("this is another name for `{to}`, which is also given; remove one");
                return Err(Error::argument(from, reason));
            }
            if let Some(value) = given.to_mut().remove(from) {
                given.to_mut().insert(to.to_owned(), value);
            }
            registry.note(format!("the argument `{from}` of `{name}` is now called `{to}`"));
        }
        Change::Removed { argument, only } if earlier => {
            let Some(value) = given.get(argument) else { return Ok(()) };
            let meant: Json = serde_json::from_str(only).unwrap_or_default();
            if !same(value, &meant) {
                let reason = format!(
                    "`{name}` has no such argument since version {since}. `{name}` now always does \
                     what `{only}` meant, and other values have no equivalent"
                );
                return Err(Error::argument(argument, reason));
            }
            given.to_mut().remove(argument);
            registry.note(format!("the argument `{argument}` of `{name}` is not needed any more"));
        }
        Change::Defaulted { argument, value } if earlier && !given.contains_key(argument) => {
            let value: Json = serde_json::from_str(value).unwrap_or_default();
            given.to_mut().insert(argument.to_owned(), value);
        }
        _ => {}
    }
    Ok(())
}

/// Find the packages of the constructors that a document uses, except the packages of this
/// workspace. Add each package to `found`, with its newest version.
fn packages(registry: &Registry, json: &Json, found: &mut BTreeMap<String, u64>) {
    let mut name = |name: &str| {
        if let Some(package) = registry.package(name).filter(|it| !it.starts_with(HOUSE)) {
            found.entry(package).or_insert_with_key(|package| registry.newest(package));
        }
    };
    match json {
        Json::String(text) => name(text),
        Json::Object(object) => {
            object.keys().for_each(|key| name(key));
            object.values().for_each(|item| packages(registry, item, found));
        }
        Json::Array(items) => items.iter().for_each(|item| packages(registry, item, found)),
        _ => {}
    }
}
impl Document {
    /// Make a document from JSON. The JSON must use the newest form of each constructor. The
    /// document states the newest versions, so that it keeps its meaning when a constructor
    /// changes.
    ///
    /// ```
    /// # use opendp_registry::{Document, Registry};
    /// # use opendp_measurements as _;
    /// # use serde_json::json;
    /// let call = json!({"constructor": "make_randomized_response_bool", "args": {"prob": 0.75}});
    /// let document = Document::newest(call, Registry::global())?;
    /// assert_eq!(document.json()["version"], 1);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` if the JSON is not an object.
    pub fn newest(json: Json, registry: &Registry) -> Result<Self> {
        let mut found = BTreeMap::new();
        packages(registry, &json, &mut found);
        // If a version is not stated, it is 1. So the version 1 is left out.
        found.retain(|_, version| 1 < *version);
        let Json::Object(object) = json else {
            return Err(Error::argument("pipeline", "expected an object"));
        };
        let mut whole = Map::from_iter([("version".to_owned(), VERSION.into())]);
        whole.extend(object.into_iter().filter(|(key, _)| key != "version" && key != "packages"));
        if !found.is_empty() {
            whole.insert("packages".to_owned(), found.into_iter().collect());
        }
        Document::new(Json::Object(whole))
    }
}

impl Registry {
    fn package(&self, name: &str) -> Option<String> {
        self.kind(name)?;
        let family = self.family(name).ok()?;
        family.entries.first().map(|entry| entry.package.to_string())
    }
    /// State a change of a constructor. This function is for constructors that were added at run
    /// time. A linked crate uses [`migrate!`](opendp_core::migrate) instead.
    pub fn migrate(&self, migration: Migration) {
        let name = migration.constructor.to_owned();
        let mut slot = self.migrations.entry(name).or_default();
        let mut changes = slot.to_vec();
        changes.push(migration);
        changes.sort_by_key(|migration| migration.since);
        *slot = changes.into();
    }
    /// Return the notes about documents that use older arguments or deprecated constructors. For
    /// example, a note states the new name of an argument. Each registry returns each note once,
    /// even if several documents cause the note.
    ///
    /// ```
    /// # use opendp_registry::{Document, Registry};
    /// # use opendp_transformations as _;
    /// let registry = Registry::new();
    /// let text = r#"{"constructor": "make_bounded_int_split_sum", "args": {"bounds": [0, 9]}}"#;
    /// for notes in [1, 0] {
    ///     Document::parse(text)?.build(&registry)?;
    ///     assert_eq!(registry.take_notes().len(), notes);
    /// }
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn take_notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for mut note in self.notes.iter_mut().filter(|note| !*note.value()) {
            *note = true;
            notes.push(note.key().clone());
        }
        notes.sort();
        notes
    }
    fn note(&self, text: String) {
        self.notes.entry(text).or_insert(false);
    }
    /// Return the changes of a constructor, starting with the earliest. Only the package of the
    /// constructor can state changes of the constructor.
    ///
    /// The macro `migrate!` states the name of the function. The constructor can be registered with
    /// the prefix of a third party, as in `acme::make_bins`. So also find the changes that are
    /// stated for the name without the prefix.
    pub(crate) fn changes(&self, entry: &Entry) -> Option<Arc<[Migration]>> {
        let name = entry.name();
        let function = name.rsplit("::").next().filter(|function| *function != name);
        let found = [Some(name), function].into_iter().flatten();
        let found: Vec<_> =
            found.filter_map(|name| Some(self.migrations.get(name)?.clone())).collect();
        let own = |migration: &Migration| migration.package == entry.package;
        match &found[..] {
            [] => None,
            [changes] if changes.iter().all(own) => Some(changes.clone()),
            several => {
                let all = several.iter().flat_map(|changes| changes.iter());
                let mut all: Vec<Migration> = all.filter(|it| own(it)).copied().collect();
                all.sort_by_key(|migration| migration.since);
                Some(all.into())
            }
        }
    }
    /// Return the newest version of a package, which is the largest version in its stated changes.
    /// If the package has stated no change, return 1.
    fn newest(&self, package: &str) -> u64 {
        let version_of = |changes: &[Migration]| {
            let own = changes.iter().filter(|migration| migration.package == package);
            own.map(|migration| migration.since).max().unwrap_or(1)
        };
        self.migrations.iter().map(|changes| version_of(changes.value())).max().unwrap_or(1)
    }
}
