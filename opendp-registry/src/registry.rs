//! Finds constructors by name and resolves requests.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use dashmap::{DashMap, Entry as Slot};
use opendp_core::{Arg, Args, Constructed, Kind, Migration, Registration, Result, TypeName};
use serde_json::Value as Json;

use crate::catalogues::unlinked;
use crate::explain::{ambiguous, no_candidate, no_name, two_functions};
use crate::memo::{Key, KeyHashes, Memo};
use crate::types::{has_float, telling};
use crate::{Addition, Entry, Request};

/// The constructors that a program can name.
///
/// Many threads can resolve names at the same time. The results of requests are cached. They do not
/// depend on the order in which crates register their constructors.
pub struct Registry {
    pub(crate) families: DashMap<String, Arc<Family>>,
    memo: DashMap<u64, Vec<Memo>, KeyHashes>,
    /// The objects that were made from the name of a type alone. The key is this name.
    pub(crate) plain: DashMap<TypeName, Constructed>,
    /// A map from each type of domains, metrics or measures to a constructor that makes objects of
    /// this type. An added constructor never replaces a linked constructor. If there are several
    /// linked constructors for a type, the first by name is used.
    described: DashMap<TypeName, Arc<Entry>>,
    /// The stated changes of each constructor. The key is the name of the constructor.
    pub(crate) migrations: DashMap<String, Arc<[Migration]>>,
    /// Notes about older documents and deprecated constructors. The value of a note is `true` after
    /// `take_notes` has returned the note.
    pub(crate) notes: DashMap<String, bool>,
    hasher: RandomState,
    /// The number of additions that can change the meaning of a request. If a result was cached
    /// before the last such addition, it can be outdated.
    epoch: AtomicU64,
    /// The number of results that were cached since the cache was last emptied.
    remembered: AtomicUsize,
}
/// The largest number of cached results. Without a limit, a user with many different requests could
/// fill the memory.
const MOST_REMEMBERED: usize = 1 << 16;
/// All signatures under one name, sorted by their printed texts.
#[derive(Clone, Default)]
pub(crate) struct Family {
    pub(crate) entries: Vec<Arc<Entry>>,
}
impl Registry {
    /// Return the registry of every constructor linked into this program.
    pub fn global() -> &'static Registry {
        static GLOBAL: LazyLock<Registry> = LazyLock::new(Registry::new);
        &GLOBAL
    }
    /// Collect every constructor linked into this program into a new registry.
    pub fn new() -> Self {
        Registry::collect(|_| true)
    }
    /// Collect only the constructors that the given packages registered.
    ///
    /// The names of other packages are ignored. So constructors of other packages cannot be called,
    /// and cannot make a trusted name ambiguous.
    pub fn trusting(packages: &[&str]) -> Self {
        Registry::collect(|registration| packages.contains(&registration.family.origin.package))
    }
    fn collect(admit: impl Fn(&Registration) -> bool) -> Self {
        let mut families: BTreeMap<String, Family> = BTreeMap::new();
        let admitted = Registration::all().filter(|registration| admit(registration));
        for entry in admitted.flat_map(Entry::all_of).map(Arc::new) {
            for name in entry.names() {
                families.entry(name.to_owned()).or_default().entries.push(entry.clone());
            }
        }
        for family in families.values_mut() {
            family.entries.sort_by_cached_key(|entry| (entry.to_string(), entry.package.clone()));
        }
        let registry = Registry {
            families: DashMap::new(),
            memo: DashMap::default(),
            plain: DashMap::new(),
            described: DashMap::new(),
            migrations: DashMap::new(),
            notes: DashMap::new(),
            hasher: RandomState::new(),
            epoch: AtomicU64::new(0),
            remembered: AtomicUsize::new(0),
        };
        for (name, family) in families {
            family.entries.iter().for_each(|entry| registry.describe(entry, true));
            registry.families.insert(name, Arc::new(family));
        }
        Migration::all().copied().for_each(|migration| registry.migrate(migration));
        registry
    }
    /// If a constructor makes domains, metrics or measures, record this constructor for the type of
    /// these objects. An added constructor never replaces a linked constructor. If there are
    /// several linked constructors for a type, record the first by name.
    fn describe(&self, entry: &Arc<Entry>, linked: bool) {
        let describes = matches!(entry.kind, Kind::Domain | Kind::Metric | Kind::Measure);
        if describes && (linked || !self.described.contains_key(&entry.output)) {
            let mut slot =
                self.described.entry(entry.output.clone()).or_insert_with(|| entry.clone());
            if linked && entry.name() < slot.name() {
                *slot = entry.clone();
            }
        }
    }
    /// Return the constructor that makes the domains, metrics or measures of a type.
    pub(crate) fn describing(&self, name: &TypeName) -> Option<Arc<Entry>> {
        self.described.get(name).map(|entry| entry.value().clone())
    }
    /// Add a constructor. Other threads can resolve names at the same time.
    ///
    /// # Errors
    /// `Ambiguous` when another function is registered under this name, or when this function
    /// already has a signature with the same text.
    pub fn add(&self, addition: Addition) -> Result<()> {
        let entry = Arc::new(addition.into_entry());
        // If there is no constructor `clamp`, a request for `clamp` means `make_clamp`. So the
        // addition of a short name can change the meaning of a request.
        let mut shadows = self.families.contains_key(&full_name(entry.name()));
        'added: {
            // If the name is new, there are no other signatures to copy and sort.
            let mut slot = match self.families.entry(entry.name().to_owned()) {
                Slot::Vacant(slot) => {
                    slot.insert(Arc::new(Family { entries: vec![entry.clone()] }));
                    break 'added;
                }
                Slot::Occupied(slot) => slot,
            };
            let text = entry.to_string();
            let clash = |x: &&Arc<Entry>| x.identity != entry.identity || x.to_string() == text;
            if let Some(other) = slot.get().entries.iter().find(clash) {
                return Err(two_functions(entry.name(), [other, &entry]));
            }
            shadows = true;
            let mut family = Family::clone(slot.get());
            family.entries.push(entry.clone());
            family.entries.sort_by_cached_key(|entry| entry.to_string());
            slot.insert(Arc::new(family));
        }
        self.describe(&entry, false);
        // If no earlier request could refer to this name, all cached results stay valid.
        if shadows {
            self.epoch.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// List the first name of each constructor, in alphabetical order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .families
            .iter()
            .filter(|family| {
                family.entries.first().is_some_and(|entry| entry.name() == family.key())
            })
            .map(|family| family.key().clone())
            .collect();
        names.sort();
        names
    }
    /// Return the signatures of a constructor, sorted by their texts. `name` is any name of the
    /// constructor, with or without `make_`.
    ///
    /// # Errors
    /// `NotFound` with the nearest names. `Ambiguous` when two functions have the name.
    pub fn signatures(&self, name: &str) -> Result<Vec<Arc<Entry>>> {
        Ok(self.family(name)?.entries.clone())
    }
    /// Find the signature that fits a request and its arguments.
    ///
    /// A request is a name, with or without `make_`, and optional type arguments, as in
    /// `make_clamp<T=i32>` or `make_clamp<i32, SymmetricDistance>`. An argument with the name of a
    /// type parameter, such as `"MO": "L1Distance<i32>"`, is a type argument too. Signatures that
    /// do not fit an argument are excluded. If several signatures remain, type parameters take
    /// their defaults. If the remaining signatures read some JSON as different types, each of these
    /// signatures tries to decode this JSON. The signatures that can decode the JSON are preferred.
    /// If several signatures with one type parameter still remain, the preferred types are `i32`,
    /// `i64`, `f64`, `bool` and `String`, in this order. If a number has a point or an exponent,
    /// `f64` is preferred over all other types. JSON with the same type in all signatures has no
    /// effect on the choice.
    ///
    /// # Errors
    /// `TypeParse` when the request is not a name with types. `NotFound` with the nearest names.
    /// `Argument` with the name of an argument that does not fit. `Ambiguous` when two functions
    /// have the name, or several signatures remain.
    pub fn resolve(&self, request: &str, args: &Args) -> Result<Arc<Entry>> {
        let epoch = self.epoch.load(Ordering::SeqCst);
        let hash = self.hash(request, args);
        // The lock of the cache must be released before the arguments are checked. This check can
        // call constructors, which can be code of users.
        let known = hash.and_then(|hash| {
            let found = self.memo.get(&hash)?;
            found.iter().find(|memo| memo.is(epoch, request, args)).map(|memo| memo.entry.clone())
        });
        if let Some(entry) = known {
            self.check_type_arguments(&entry, args)?;
            return Ok(entry);
        }
        let (entry, decided_by_kind) = self.find(&request.parse()?, args)?;
        self.check_type_arguments(&entry, args)?;
        if let (Some(hash), true) = (hash, decided_by_kind)
            && let Some(memo) = Memo::new(epoch, request, args, &entry)
        {
            if MOST_REMEMBERED <= self.remembered.fetch_add(1, Ordering::Relaxed) {
                self.memo.clear();
                self.remembered.store(0, Ordering::Relaxed);
            }
            let mut slot = self.memo.entry(hash).or_default();
            slot.retain(|memo| memo.epoch == epoch);
            slot.push(memo);
        }
        Ok(entry)
    }
    /// Find the signature that fits a request and its arguments, and call its function.
    ///
    /// # Errors
    /// The errors of [`resolve`](Registry::resolve), of decoding the arguments, and of the
    /// constructor.
    pub fn make(&self, request: &str, args: &Args) -> Result<Constructed> {
        self.resolve(request, args)?.construct_accepted(args)
    }

    /// Find the signatures under a name. If the name is unknown, complete it by [`full_name`].
    fn named(&self, name: &str) -> Option<Arc<Family>> {
        let get = |name: &str| self.families.get(name).map(|family| family.value().clone());
        get(name).or_else(|| get(&full_name(name)))
    }
    /// Find the signatures of a constructor by any name of the constructor.
    pub(crate) fn family(&self, name: &str) -> Result<Arc<Family>> {
        let family = self.named(name).ok_or_else(|| {
            let known = || self.families.iter().map(|family| family.key().clone());
            unlinked(name).unwrap_or_else(|| no_name(name, known()))
        })?;
        match family.conflict() {
            Some(pair) => Err(two_functions(name, pair)),
            None => Ok(family),
        }
    }
    /// Return whether a name is known, with or without `make_`.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.families.contains_key(name) || self.families.contains_key(&full_name(name))
    }
    /// Return the kind of object that the constructor with this name makes. Return `None` if the
    /// name is unknown, or if two functions have this name.
    pub(crate) fn kind(&self, name: &str) -> Option<Kind> {
        // The reader of documents calls this function for each key. So the search for an unknown
        // name must be fast.
        let family = self.named(name).filter(|family| family.conflict().is_none())?;
        family.entries.first().map(|entry| entry.kind)
    }
    /// List every signature of a kind, in no particular order.
    pub(crate) fn of_kind(&self, kind: Kind) -> Vec<Arc<Entry>> {
        let all = self.families.iter().flat_map(|family| family.entries.clone());
        all.filter(|entry| entry.kind == kind).collect()
    }
    /// Find a signature. Also return whether the kinds of the arguments, the given types and the
    /// defaults were enough to determine the signature.
    pub(crate) fn find(&self, request: &Request, args: &Args) -> Result<(Arc<Entry>, bool)> {
        let family = self.family(&request.name)?;
        let mut left: Vec<&Arc<Entry>> =
            family.entries.iter().filter(|entry| entry.refuses(request, args).is_none()).collect();
        left.dedup_by(|next, entry| next.repeats(entry));
        let by_kind = left.len() == 1;
        if left.is_empty() {
            return Err(no_candidate(request, args, &family));
        }
        if 1 < left.len() {
            // A default applies only to a type parameter without a given type.
            let open = |i: usize, name: &str| {
                let named = |given: &Option<String>| given.as_deref() == Some(name);
                let by_place = request.types.get(i).is_some_and(|(given, _)| given.is_none());
                let by_argument = !matches!(args.get(name), None | Some(Arg::Json(Json::Null)));
                !by_place && !by_argument && !request.types.iter().any(|t| named(&t.0))
            };
            narrow(&mut left, |entry| {
                entry.generics.iter().enumerate().all(|(i, generic)| match &generic.default {
                    Some(default) if open(i, generic.name) => *default == generic.type_name,
                    _ => true,
                })
            });
        }
        let by_default = left.len() == 1;
        let telling = telling(&left, args);
        if 1 < left.len() && !telling.is_empty() {
            narrow(&mut left, |entry| entry.decodes(args));
            let f64_first = telling.into_iter().any(has_float);
            let usual = if f64_first { ["f64", "i32", "i64"] } else { ["i32", "i64", "f64"] };
            for name in usual.into_iter().chain(["bool", "String"]) {
                if left.len() == 1 {
                    break;
                }
                // If the JSON fits several types, take the first type of this list that exactly one
                // signature has.
                let count = left.iter().filter(|entry| entry.names_type(name)).count();
                if count == 1 && left.iter().all(|entry| entry.generics.len() == 1) {
                    left.retain(|entry| entry.names_type(name));
                }
            }
        }
        match left[..] {
            [single] => Ok((single.clone(), by_kind || by_default)),
            _ => Err(ambiguous(request, &left)),
        }
    }

    fn hash(&self, request: &str, args: &Args) -> Option<u64> {
        use std::hash::{Hash, Hasher};
        let mut hasher = self.hasher.build_hasher();
        request.hash(&mut hasher);
        for (name, arg) in args.iter() {
            name.hash(&mut hasher);
            Key::of(arg)?.hash(&mut hasher);
        }
        Some(hasher.finish())
    }
}
impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}
impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry({} names)", self.families.len())
    }
}

/// Keep the signatures that satisfy a condition. If no signature satisfies the condition, keep all
/// signatures.
fn narrow(left: &mut Vec<&Arc<Entry>>, keep: impl Fn(&Entry) -> bool) {
    if left.iter().any(|entry| keep(entry)) {
        left.retain(|entry| keep(entry));
    }
}
/// Complete a name: `clamp` and `then_clamp` mean `make_clamp`, and `acme::count` means
/// `acme::make_count`.
pub(crate) fn full_name(name: &str) -> String {
    let (path, last) = name.split_at(name.rfind("::").map_or(0, |place| place + 2));
    [path, "make_", last.strip_prefix("then_").unwrap_or(last)].concat()
}

impl Family {
    /// Return two signatures that belong to different functions, or `None` if all signatures belong
    /// to one function.
    pub(crate) fn conflict(&self) -> Option<[&Entry; 2]> {
        let first = self.entries.first()?;
        let other = self.entries.iter().find(|entry| entry.identity != first.identity)?;
        Some([first, other])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_all_differ_are_forgotten_again() {
        let registry = Registry::new();
        // This test links only `opendp-core`, so few names are registered. Different white space
        // after a name makes different texts for the same request.
        let white = |bit: u32, number: usize| if number >> bit & 1 == 0 { ' ' } else { '\t' };
        for number in 0..MOST_REMEMBERED + 1_000 {
            let end: String = (0..20).map(|bit| white(bit, number)).collect();
            let name = format!("symmetric_distance{end}");
            assert!(registry.resolve(&name, &Args::new()).is_ok());
        }
        assert!(!registry.memo.is_empty());
        assert!(registry.memo.len() <= MOST_REMEMBERED);
    }
}
