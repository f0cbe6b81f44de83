//! A cache of resolved requests.

use std::any::TypeId;
use std::hash::{BuildHasherDefault, Hasher};
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

use opendp_core::{Arg, Args, Constructed, Kind};
use serde_json::Value as Json;

use crate::Entry;

/// A resolved request. It contains every property of the request that had an effect on the choice
/// of the signature.
pub(crate) struct Memo {
    pub(crate) epoch: u64,
    request: String,
    args: Vec<(String, Key)>,
    pub(crate) entry: Arc<Entry>,
}
/// The kind of an argument. A request is cached only if the kinds of its arguments, and not their
/// contents, selected the signature.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The kind of a JSON value, and whether the value is an empty array or an empty object. Only
    /// these two facts decide whether a parameter accepts the value.
    Json(Discriminant<Json>, bool),
    Space(TypeId, TypeId),
    Descriptor(Kind, TypeId),
    /// The types of the input domain, the input metric and the measure. The measure is needed,
    /// because the signature of a constructor, such as a conversion, can depend on the measure.
    Measurement([TypeId; 3]),
    Object(Kind),
    Value(TypeId),
}

impl Key {
    pub(crate) fn of(arg: &Arg) -> Option<Key> {
        Some(match arg {
            // A text or null can be a type argument. In this case, the result depends on the
            // content of the argument. So a request with a text or null is not cached.
            Arg::Json(Json::String(_) | Json::Null) => return None,
            Arg::Json(json) => Key::Json(discriminant(json), is_empty(json)),
            Arg::Space(space) => Key::Space(space.domain().inner_id(), space.metric().inner_id()),
            Arg::Pair(domain, metric) => Key::Space(domain.inner_id(), metric.inner_id()),
            Arg::Made(made) => match made {
                Constructed::Domain(inner) => Key::Descriptor(Kind::Domain, inner.inner_id()),
                Constructed::Metric(inner) => Key::Descriptor(Kind::Metric, inner.inner_id()),
                Constructed::Measure(inner) => Key::Descriptor(Kind::Measure, inner.inner_id()),
                Constructed::Measurement(made) => {
                    let (input, measure) = (made.input(), made.measure());
                    let (domain, metric) = (input.domain().inner_id(), input.metric().inner_id());
                    Key::Measurement([domain, metric, measure.inner_id()])
                }
                // The types of an odometer can also select the signature, but the key does not
                // contain these types. So a request with an odometer is not cached.
                Constructed::Odometer(_) => return None,
                other => Key::Object(other.kind()),
            },
            Arg::Value(value) => Key::Value((**value).type_id()),
            _ => return None,
        })
    }
}
fn is_empty(json: &Json) -> bool {
    match json {
        Json::Array(items) => items.is_empty(),
        Json::Object(object) => object.is_empty(),
        _ => false,
    }
}
/// The hasher of the cache. It returns each key of the cache unchanged as the hash. The keys of the
/// cache are already results of a hash function with a secret seed. So a second hash function would
/// not distribute the keys better.
pub(crate) type KeyHashes = BuildHasherDefault<KeyHash>;
#[derive(Default)]
pub(crate) struct KeyHash(u64);
impl Hasher for KeyHash {
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
    fn finish(&self) -> u64 {
        self.0
    }
}
/// The length of the longest request that is cached, in bytes. This limit bounds the memory that
/// one cached request takes.
const LONGEST: usize = 512;
impl Memo {
    pub(crate) fn new(epoch: u64, request: &str, args: &Args, entry: &Arc<Entry>) -> Option<Memo> {
        if LONGEST < request.len() {
            return None;
        }
        let keys = args.iter().map(|(name, arg)| Some((name.to_owned(), Key::of(arg)?)));
        let args = keys.collect::<Option<Vec<_>>>()?;
        Some(Memo { epoch, request: request.to_owned(), args, entry: entry.clone() })
    }
    pub(crate) fn is(&self, epoch: u64, request: &str, args: &Args) -> bool {
        self.epoch == epoch
            && self.request == request
            && args.iter().count() == self.args.len()
            && args
                .iter()
                .zip(&self.args)
                .all(|((name, arg), known)| name == known.0 && Key::of(arg) == Some(known.1))
    }
}
