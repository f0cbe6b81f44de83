//! Arguments whose types are known only at run time.

mod objects;
mod spaces;

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

pub use objects::{TheDomain, TheMeasure, TheMetric};

use crate::erased::{AnyDomain, AnyMetric};
use crate::{Codec, Constructed, Domain, Error, Metric, Named, Result, Space, TypeName};

/// One argument of a registered function.
#[derive(Clone)]
#[non_exhaustive]
pub enum Arg {
    /// A JSON value. The value is read as the type that the parameter determines.
    Json(Json),
    /// A metric space.
    Space(Space<AnyDomain, AnyMetric>),
    /// A domain and a metric from a pipeline document. It is not known yet whether the domain and
    /// the metric form a space. [`Argument::from_arg`] of the parameter type checks this condition.
    Pair(AnyDomain, AnyMetric),
    /// An object that a registered function made.
    Made(Constructed),
    /// A list of arguments.
    List(Vec<Arg>),
    /// A value that already has a type.
    Value(Arc<dyn Any + Send + Sync>),
}
impl fmt::Debug for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}
impl Arg {
    /// Make an argument from a value that already has a type.
    pub fn value<T: Send + Sync + 'static>(value: T) -> Self {
        Arg::Value(Arc::new(value))
    }
    /// Describe the kind of this argument, without showing its value.
    pub fn describe(&self) -> String {
        match self {
            Arg::Json(json) => crate::codec::json_kind(json).to_owned(),
            Arg::Space(space) => {
                Arg::Pair(space.domain().clone(), space.metric().clone()).describe()
            }
            Arg::Pair(domain, metric) => {
                format!("a space ({}, {})", domain.inner_type(), metric.inner_type())
            }
            Arg::Made(Constructed::Domain(domain)) => with_article(domain.inner_type()),
            Arg::Made(Constructed::Metric(metric)) => with_article(metric.inner_type()),
            Arg::Made(Constructed::Measure(measure)) => with_article(measure.inner_type()),
            Arg::Made(made) => made.kind().with_article().to_owned(),
            Arg::List(items) => match items.len() {
                1 => "a list of 1 item".to_owned(),
                n => format!("a list of {n} items"),
            },
            Arg::Value(_) => "a value of another type".to_owned(),
        }
    }
}
impl From<Json> for Arg {
    fn from(json: Json) -> Self {
        Arg::Json(json)
    }
}
impl<D: Domain, M: Metric> From<&Space<D, M>> for Arg {
    fn from(space: &Space<D, M>) -> Self {
        Arg::Space(space.erase())
    }
}
impl From<Constructed> for Arg {
    fn from(made: Constructed) -> Self {
        Arg::Made(made)
    }
}

/// The arguments of a call, each under the name of its parameter.
///
/// ```
/// # use opendp_core::{Args, Bounds};
/// let args = Args::new()
///     .with("bounds", serde_json::json!([0, 10]))
///     .with_value("other", Bounds::new(0, 10)?);
/// assert_eq!(args.names().collect::<Vec<_>>(), ["bounds", "other"]);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Args(BTreeMap<String, Arg>);

impl Args {
    /// Make an empty list of arguments.
    pub fn new() -> Self {
        Args::default()
    }
    /// Add the argument for the parameter `name`.
    #[must_use]
    pub fn with(mut self, name: &str, arg: impl Into<Arg>) -> Self {
        self.0.insert(name.to_owned(), arg.into());
        self
    }
    /// Add a value that already has a type, as the argument for the parameter `name`. For a space,
    /// use `with(name, &space)` instead.
    #[must_use]
    pub fn with_value<T: Send + Sync + 'static>(self, name: &str, value: T) -> Self {
        self.with(name, Arg::value(value))
    }
    /// Return the argument for the parameter `name`, if there is an argument.
    pub fn get(&self, name: &str) -> Option<&Arg> {
        self.0.get(name)
    }
    /// Return each argument with the name of its parameter, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arg)> {
        self.0.iter().map(|(name, arg)| (name.as_str(), arg))
    }
    /// Return the names of the parameters that have an argument, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
    /// Decode the argument for a parameter. If there is no argument, decode `default`, which is
    /// JSON text.
    ///
    /// # Errors
    /// `Argument` when the argument is missing or cannot be decoded. If the argument describes an
    /// invalid object, the constructor of this object gives the error.
    pub fn decode<A: Argument>(&self, name: &str, default: Option<&str>) -> Result<A> {
        let Some(arg) = self.find(name, default) else {
            return Err(missing(name, &A::type_name()));
        };
        A::from_arg(&arg).map_err(|error| at_argument(name, error))
    }
    /// Return the argument for a parameter, or the default of the parameter. Return `None` if there
    /// is neither an argument nor a default.
    pub(crate) fn find(&self, name: &str, default: Option<&str>) -> Option<Cow<'_, Arg>> {
        self.get(name).map(Cow::Borrowed).or_else(|| {
            let json: Json = serde_json::from_str(default?).ok()?;
            Some(Cow::Owned(Arg::Json(json)))
        })
    }
}
#[cold]
pub(crate) fn missing(name: &str, expected: &TypeName) -> Error {
    let written = match (expected.head(), expected.args()) {
        ("Bounds", [atom]) => format!("a pair [lower, upper] of {atom}"),
        ("Scale", []) => "a scale, a number of at least 0".to_owned(),
        ("Option" | "Vec", _) => expected.to_string(),
        _ => with_article(expected),
    };
    Error::argument(name, format!("missing, expected {written}"))
}
#[cold]
pub(crate) fn at_argument(name: &str, error: Error) -> Error {
    match error {
        Error::FailedCast(reason) => Error::argument(name, reason),
        Error::Downcast { .. } => Error::argument(name, error.to_string()),
        other => other.without_name(name).at(format!("argument `{name}`")),
    }
}
impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0).finish()
    }
}

/// A type that a parameter of a registered function can have.
///
/// Every named type that implements [`Codec`], `Clone`, `Send` and `Sync` implements this trait.
/// Spaces, transformations, measurements, odometers, [`TheDomain`], [`TheMetric`] and
/// [`TheMeasure`] implement this trait too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a registered constructor",
    note = "name the type with `named!` and implement `Codec` and `Clone` for it"
)]
pub trait Argument: Sized + 'static {
    /// Return the name of the parameter type.
    fn type_name() -> TypeName;
    /// Return whether the kind of an argument fits this type. A type with a [`Codec`] accepts every
    /// JSON value, because the JSON is not examined.
    fn accepts(arg: &Arg) -> bool;
    /// Decode an argument as this type.
    ///
    /// # Errors
    /// `FailedCast` when the argument cannot be decoded. If the argument describes an invalid
    /// object, the constructor of this object gives the error.
    fn from_arg(arg: &Arg) -> Result<Self>;
    /// A function that returns the name of the type of an argument. A type such as
    /// [`AnyDatasetMetric`](crate::AnyDatasetMetric) stands for several types. For such a `Self`,
    /// the function returns the name of the type that the argument has. For any other `Self`, the
    /// function returns `None` (the default).
    #[doc(hidden)]
    const STOOD_FOR: fn(&Arg) -> Option<TypeName> = stands_for_none;
}
fn stands_for_none(_: &Arg) -> Option<TypeName> {
    None
}

#[cold]
fn wrong(expected: &TypeName, found: &Arg) -> Error {
    Error::FailedCast(format!("expected {}, found {}", with_article(expected), found.describe()))
}
/// Write the name of a type with its article, such as "an `i32`".
fn with_article(name: impl fmt::Display) -> String {
    let name = name.to_string();
    // The names `f32` and `f64` begin with the sound "eff", so their article is "an".
    let vowel = name.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']);
    let article = if vowel || name == "f32" || name == "f64" { "an" } else { "a" };
    format!("{article} {name}")
}

impl<T: Named + Codec + Clone + Send + Sync> Argument for T {
    fn type_name() -> TypeName {
        <T as Named>::type_name()
    }
    fn accepts(arg: &Arg) -> bool {
        match arg {
            Arg::Json(_) => true,
            Arg::Value(value) => value.is::<T>(),
            _ => false,
        }
    }
    #[inline(never)]
    fn from_arg(arg: &Arg) -> Result<Self> {
        let value = match arg {
            Arg::Json(json) => return T::from_json(json),
            Arg::Value(value) => value.downcast_ref().cloned(),
            _ => None,
        };
        value.ok_or_else(|| wrong(&<T as Named>::type_name(), arg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AtomDomain;

    #[test]
    fn messages_have_the_article_that_fits_the_type() {
        let message = |error: Error| error.to_string();
        let found = Arg::Json(Json::Bool(true));
        for (expected, written) in [
            (<i32 as Named>::type_name(), "expected an i32, found"),
            (<u32 as Named>::type_name(), "expected a u32, found"),
            (<f64 as Named>::type_name(), "expected an f64, found"),
            (<AtomDomain<i32> as Named>::type_name(), "expected an AtomDomain<i32>, found"),
        ] {
            let error = message(wrong(&expected, &found));
            assert!(error.contains(written), "{error}");
        }
        let error = message(missing("x", &<i64 as Named>::type_name()));
        assert!(error.contains("missing, expected an i64"), "{error}");
    }
}
