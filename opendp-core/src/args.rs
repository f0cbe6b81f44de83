//! Arguments whose types are known only at run time.

use std::{
    any::{Any, TypeId},
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, LazyLock},
};

use serde_json::Value as Json;

use crate::erased::{
    AnyDomain, AnyFunction, AnyMeasure, AnyMeasurement, AnyMetric, AnyTransformation, AnyValue,
};
use crate::{
    ArgumentType, Codec, Constructed, Domain, Error, Measure, Measurement, Metric, MetricOn, Named,
    Odometer, PrivacyMap, Registration, Result, Space, StabilityMap, TypeName, UserDistance,
    UserDomain,
};

/// One argument.
#[derive(Clone)]
#[non_exhaustive]
pub enum Arg {
    /// JSON. The parameter decides its type.
    Json(Json),
    /// A metric space.
    Space(Space<AnyDomain, AnyMetric>),
    /// An unchecked domain and metric, as a document writes them. The parameter that takes the pair
    /// knows their types, and checks that they form a space.
    Pair(AnyDomain, AnyMetric),
    /// An object that a registered function made.
    Made(Constructed),
    /// Several arguments.
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
            Arg::Space(space) => Arg::Pair(space.domain.clone(), space.metric.clone()).describe(),
            Arg::Pair(domain, metric) => {
                format!("a space ({}, {})", domain.inner_type(), metric.inner_type())
            }
            Arg::Made(Constructed::Domain(domain)) => format!("a {}", domain.inner_type()),
            Arg::Made(Constructed::Metric(metric)) => format!("a {}", metric.inner_type()),
            Arg::Made(Constructed::Measure(measure)) => format!("a {}", measure.inner_type()),
            Arg::Made(made) => made.kind().with_article().to_owned(),
            Arg::List(items) => format!("a list of {} items", items.len()),
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

/// Arguments by the names of their parameters.
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
    /// Add an argument.
    #[must_use]
    pub fn with(mut self, name: &str, arg: impl Into<Arg>) -> Self {
        self.0.insert(name.to_owned(), arg.into());
        self
    }
    /// Add an argument that already has a type. For a space, use `with(name, &space)` instead.
    #[must_use]
    pub fn with_value<T: Send + Sync + 'static>(self, name: &str, value: T) -> Self {
        self.with(name, Arg::value(value))
    }
    /// The argument for a parameter.
    pub fn get(&self, name: &str) -> Option<&Arg> {
        self.0.get(name)
    }
    /// The arguments and their names, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arg)> {
        self.0.iter().map(|(name, arg)| (name.as_str(), arg))
    }
    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
    /// Decode the argument for a parameter, or its default, which is JSON text.
    ///
    /// # Errors
    /// `Argument` when it is missing or does not decode; the error of its type's constructor when
    /// it decodes to an invalid object.
    pub fn decode<A: Argument>(&self, name: &str, default: Option<&str>) -> Result<A> {
        let Some(arg) = self.find(name, default) else {
            return Err(missing(name, &A::type_name()));
        };
        A::from_arg(&arg).map_err(|error| at_argument(name, error))
    }
    /// The argument for a parameter, or its default.
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
        ("Bounds", [of]) => format!("a pair [lower, upper] of {of}"),
        ("Option" | "Vec", _) => expected.to_string(),
        _ => format!("a {expected}"),
    };
    Error::argument(name, format!("missing, expected {written}"))
}
#[cold]
pub(crate) fn at_argument(name: &str, error: Error) -> Error {
    match error {
        Error::FailedCast(reason) => Error::argument(name, reason),
        Error::Downcast { .. } => Error::argument(name, error.to_string()),
        other => other.at(format!("argument `{name}`")),
    }
}
impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0).finish()
    }
}

/// A type that a parameter of a registered function may have.
///
/// These are all named types with a [`Codec`], and spaces, domains, metrics, measures,
/// transformations and measurements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a registered constructor",
    note = "name the type with `named!` and implement `Codec` and `Clone` for it"
)]
pub trait Argument: Sized + 'static {
    /// The name of the type.
    fn type_name() -> TypeName;
    /// Whether the kind of an argument allows decoding as this type. JSON may be any value.
    fn accepts(arg: &Arg) -> bool;
    /// Decode an argument.
    ///
    /// # Errors
    /// `FailedCast` when it does not decode.
    fn from_arg(arg: &Arg) -> Result<Self>;
    /// The name of an argument's type, when the parameter's type stands for several, as
    /// [`AnyDatasetMetric`](crate::AnyDatasetMetric) does. By default it does not.
    #[doc(hidden)]
    const STOOD_FOR: fn(&Arg) -> Option<TypeName> = |_| None;
}

#[cold]
fn wrong(expected: &TypeName, found: &Arg) -> Error {
    Error::FailedCast(format!("expected a {expected}, found {}", found.describe()))
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

impl<D: Domain, M: MetricOn<D>> Argument for Space<D, M> {
    fn type_name() -> TypeName {
        TypeName::applied("Space", &[D::type_name, M::type_name])
    }
    fn accepts(arg: &Arg) -> bool {
        pair_on(arg, TypeId::of::<D>()).is_some_and(|pair| views::<M>(pair.metric))
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        if let Some(pair) = pair_on(arg, TypeId::of::<D>())
            && let Some(metric) = M::view(pair.metric)
        {
            let space = Space::of(pair.domain.clone(), metric);
            return if pair.checked { Ok(space) } else { checked_space(space) };
        }
        Err(no_space(<Self as Argument>::type_name, arg))
    }
    const STOOD_FOR: fn(&Arg) -> Option<TypeName> = if M::STANDS { stood_for } else { |_| None };
}
fn stood_for(arg: &Arg) -> Option<TypeName> {
    let pair = arg.space()?;
    Some(TypeName::generic("Space", [pair.domain.inner_type(), pair.metric.inner_type()]))
}
fn pair_on(arg: &Arg, domain: TypeId) -> Option<Pair<'_>> {
    arg.space().filter(|pair| pair.domain.inner_id() == domain)
}
fn views<M: Metric>(metric: &AnyMetric) -> bool {
    M::view(metric).is_some()
}
fn checked_space<D: Domain, M: MetricOn<D>>(space: Space<D, M>) -> Result<Space<D, M>> {
    match space.metric.check(space.domain()) {
        Ok(()) => Ok(space),
        Err(error) => Err(error),
    }
}
#[cold]
fn no_space(expected: fn() -> TypeName, found: &Arg) -> Error {
    wrong(&expected(), found)
}
/// The space that an argument describes.
struct Pair<'a> {
    domain: &'a AnyDomain,
    metric: &'a AnyMetric,
    /// Whether the two are known to form a space.
    checked: bool,
}
impl Arg {
    /// The domain and the metric of a space.
    fn space(&self) -> Option<Pair<'_>> {
        match self {
            Arg::Space(Space { domain, metric, .. }) => {
                Some(Pair { domain, metric, checked: true })
            }
            Arg::Pair(domain, metric) => Some(Pair { domain, metric, checked: false }),
            _ => None,
        }
    }
}

/// A space of any types. A pair from a document is checked by a parameter that knows the types: a
/// parameter of any registered function that takes such a space.
impl Argument for Space<AnyDomain, AnyMetric> {
    fn type_name() -> TypeName {
        TypeName::generic("Space", [AnyDomain::type_name(), AnyMetric::type_name()])
    }
    fn accepts(arg: &Arg) -> bool {
        match arg {
            Arg::Space(_) | Arg::Pair(..) => true,
            Arg::Value(value) => value.is::<Self>(),
            _ => false,
        }
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        match arg {
            Arg::Space(space) => Ok(space.clone()),
            Arg::Pair(domain, metric) => checked(domain, metric),
            Arg::Value(value) => value
                .downcast_ref()
                .cloned()
                .ok_or_else(|| wrong(&<Self as Argument>::type_name(), arg)),
            _ => Err(wrong(&<Self as Argument>::type_name(), arg)),
        }
    }
}
/// Make a space from a pair whose types this code does not know.
fn checked(domain: &AnyDomain, metric: &AnyMetric) -> Result<Space<AnyDomain, AnyMetric>> {
    // A user's metric measures any domain, and any metric measures a user's domain, on trust.
    if !(domain.is::<UserDomain>() || metric.is::<UserDistance>()) {
        let name = TypeName::generic("Space", [domain.inner_type(), metric.inner_type()]);
        let Some(check) = SPACES.get(&name) else {
            return Err(Error::MetricSpace(format!(
                "no registered function takes a {name}, so its metric is not known to measure its \
                 domain; make the space in Rust"
            )));
        };
        check.decode(&Arg::Pair(domain.clone(), metric.clone()))?;
    }
    Ok(Space::of(domain.clone(), metric.clone()))
}
/// All spaces that registered functions take.
static SPACES: LazyLock<HashMap<TypeName, ArgumentType>> = LazyLock::new(|| {
    let signatures = Registration::all().flat_map(Registration::signatures);
    let parameters = signatures.flat_map(|signature| signature.parameters);
    let spaces = parameters.filter(|parameter| parameter.type_name.head() == "Space");
    spaces.map(|parameter| (parameter.type_name.clone(), parameter.argument())).collect()
});

macro_rules! values_only {
    ($($map:ty: $name:literal $left:ident $right:ident;)*) => {$(
        /// A map. Only a value can be a map: documents cannot write one.
        impl Argument for $map {
            fn type_name() -> TypeName {
                TypeName::generic($name, [$left::type_name(), $right::type_name()])
            }
            fn accepts(arg: &Arg) -> bool {
                matches!(arg, Arg::Value(value) if value.is::<Self>())
            }
            fn from_arg(arg: &Arg) -> Result<Self> {
                let value = match arg {
                    Arg::Value(value) => value.downcast_ref::<Self>(),
                    _ => None,
                };
                value.cloned().ok_or_else(|| wrong(&<Self as Argument>::type_name(), arg))
            }
        }
    )*};
}
values_only! {
    StabilityMap<AnyMetric, AnyMetric>: "StabilityMap" AnyMetric AnyMetric;
    PrivacyMap<AnyMetric, AnyMeasure>: "PrivacyMap" AnyMetric AnyMeasure;
}

impl<DI: Domain, MI: Metric, MO: Measure> Argument for Odometer<DI, MI, MO> {
    fn type_name() -> TypeName {
        Odometer::<DI, MI, MO>::type_name()
    }
    fn accepts(arg: &Arg) -> bool {
        match arg {
            Arg::Made(Constructed::Odometer(odometer)) => odometer.typed::<DI, MI, MO>().is_ok(),
            Arg::Value(value) => value.is::<Self>(),
            _ => false,
        }
    }
    #[inline(never)]
    fn from_arg(arg: &Arg) -> Result<Self> {
        match arg {
            Arg::Made(Constructed::Odometer(odometer)) => odometer.typed(),
            Arg::Value(value) => value
                .downcast_ref()
                .cloned()
                .ok_or_else(|| wrong(&<Self as Argument>::type_name(), arg)),
            _ => Err(wrong(&<Self as Argument>::type_name(), arg)),
        }
    }
}

/// A domain, as a parameter or as the result of a registered function.
#[derive(Clone, Debug)]
pub struct TheDomain<D>(pub D);
/// A metric, as a parameter or as the result of a registered function.
#[derive(Clone, Debug)]
pub struct TheMetric<M>(pub M);
/// A measure, as a parameter or as the result of a registered function.
#[derive(Clone, Debug)]
pub struct TheMeasure<M>(pub M);

macro_rules! descriptors {
    ($($the:ident $kind:ident $bound:ident $any:ident;)*) => {$(
        impl<T: $bound> Argument for $the<T> {
            fn type_name() -> TypeName {
                T::type_name()
            }
            fn accepts(arg: &Arg) -> bool {
                match arg {
                    Arg::Made(Constructed::$kind(inner)) => {
                        inner.is::<T>() || TypeId::of::<T>() == TypeId::of::<$any>()
                    }
                    Arg::Value(value) => value.is::<T>(),
                    _ => false,
                }
            }
            fn from_arg(arg: &Arg) -> Result<Self> {
                let inner = match arg {
                    Arg::Made(Constructed::$kind(inner)) => Some(inner.downcast_ref::<T>()?),
                    Arg::Value(value) => value.downcast_ref::<T>(),
                    _ => None,
                };
                inner.cloned().map($the).ok_or_else(|| wrong(&T::type_name(), arg))
            }
        }
    )*};
}
descriptors! {
    TheDomain Domain Domain AnyDomain;
    TheMetric Metric Metric AnyMetric;
    TheMeasure Measure Measure AnyMeasure;
}

macro_rules! objects {
    ($($object:ident $kind:ident;)*) => {$(
        impl Argument for $object {
            fn type_name() -> TypeName {
                TypeName::plain(stringify!($object))
            }
            fn accepts(arg: &Arg) -> bool {
                match arg {
                    Arg::Made(Constructed::$kind(_)) => true,
                    Arg::Value(value) => value.is::<Self>(),
                    _ => false,
                }
            }
            fn from_arg(arg: &Arg) -> Result<Self> {
                let inner = match arg {
                    Arg::Made(Constructed::$kind(inner)) => Some(inner),
                    Arg::Value(value) => value.downcast_ref(),
                    _ => None,
                };
                inner.cloned().ok_or_else(|| wrong(&<Self as Argument>::type_name(), arg))
            }
        }
    )*};
}
objects! {
    AnyTransformation Transformation;
    AnyFunction Function;
}

/// A measurement with a known measure, as conversions between measures take.
impl<MO: Measure> Argument for Measurement<AnyDomain, AnyMetric, MO, AnyValue> {
    fn type_name() -> TypeName {
        if TypeId::of::<MO>() == TypeId::of::<AnyMeasure>() {
            return TypeName::plain("AnyMeasurement");
        }
        TypeName::generic(
            "Measurement",
            [
                <AnyDomain as Named>::type_name(),
                <AnyMetric as Named>::type_name(),
                MO::type_name(),
                <AnyValue as Named>::type_name(),
            ],
        )
    }
    fn accepts(arg: &Arg) -> bool {
        match arg {
            Arg::Made(Constructed::Measurement(made)) => {
                made.measure().downcast_ref::<MO>().is_ok()
            }
            Arg::Value(value) => value.is::<Self>(),
            _ => false,
        }
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        let inner = match arg {
            Arg::Made(Constructed::Measurement(made)) => return made.in_measure::<MO>(),
            Arg::Value(value) => value.downcast_ref(),
            _ => None,
        };
        inner.cloned().ok_or_else(|| wrong(&<Self as Argument>::type_name(), arg))
    }
}

impl Argument for Vec<AnyMeasurement> {
    fn type_name() -> TypeName {
        TypeName::generic("Vec", [<AnyMeasurement as Argument>::type_name()])
    }
    fn accepts(arg: &Arg) -> bool {
        match arg {
            Arg::List(items) => items.iter().all(AnyMeasurement::accepts),
            Arg::Json(Json::Array(items)) => items.is_empty(),
            Arg::Value(value) => value.is::<Self>(),
            _ => false,
        }
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        match arg {
            Arg::List(items) => items.iter().map(AnyMeasurement::from_arg).collect(),
            Arg::Json(Json::Array(items)) if items.is_empty() => Ok(Vec::new()),
            Arg::Value(value) if value.is::<Self>() => {
                Ok(value.downcast_ref().cloned().unwrap_or_default())
            }
            _ => Err(wrong(&<Self as Argument>::type_name(), arg)),
        }
    }
}
