//! Erased domains, metrics, measures and spaces.

use std::{
    any::{Any, TypeId},
    fmt,
    sync::Arc,
};

use serde_json::Value as Json;

use super::{AnyDistance, AnyValue};
use crate::{
    Codec, Distance, Domain, Error, Interaction, Measure, Metric, Named, PrivacyProfile, Result,
    TheMeasure, TypeName,
};

/// The functions of domains, metrics and measures, in a trait that can be a trait object.
pub(crate) trait Erased: Any + fmt::Debug + Send + Sync {
    fn name(&self) -> TypeName;
    fn same(&self, other: &dyn Any) -> bool;
}
impl<T: Named + PartialEq + fmt::Debug + Send + Sync> Erased for T {
    fn name(&self) -> TypeName {
        T::type_name()
    }
    fn same(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}
trait ErasedDomain: Erased {
    fn contains(&self, value: &AnyValue) -> bool;
    fn decode(&self, json: &Json) -> Result<AnyValue>;
    fn cells(&self, cells: &[&str]) -> Option<Result<AnyValue>>;
    fn carrier(&self) -> TypeName;
    fn size(&self) -> Option<usize>;
    fn resized(&self, records: usize) -> Option<AnyDomain>;
    fn mixes(&self) -> bool;
    fn json(&self) -> Json;
}
impl<D: Domain> ErasedDomain for D {
    fn contains(&self, value: &AnyValue) -> bool {
        match value.downcast_ref() {
            Ok(value) => self.member(value),
            Err(_) => false,
        }
    }
    fn decode(&self, json: &Json) -> Result<AnyValue> {
        AnyValue::of_result(D::Carrier::from_json(json))
    }
    #[allow(clippy::manual_map, reason = "a `match` needs less code for each domain")]
    fn cells(&self, cells: &[&str]) -> Option<Result<AnyValue>> {
        match self.read_cells(cells) {
            Some(rows) => Some(AnyValue::of_result(rows)),
            None => None,
        }
    }
    fn carrier(&self) -> TypeName {
        D::Carrier::type_name()
    }
    fn size(&self) -> Option<usize> {
        self.records()
    }
    #[allow(clippy::manual_map, reason = "a `match` needs less code for each domain")]
    fn resized(&self, records: usize) -> Option<AnyDomain> {
        match self.with_records(records) {
            Some(domain) => Some(AnyDomain::new(domain)),
            None => None,
        }
    }
    fn mixes(&self) -> bool {
        self.recombines()
    }
    fn json(&self) -> Json {
        self.to_json()
    }
}
trait ErasedMetric: Erased {
    /// Check the type of a distance.
    fn check(&self, distance: &AnyDistance) -> Result<()>;
    fn stands_for(&self) -> Option<AnyMetric>;
    fn distance(&self, json: &Json) -> Result<AnyDistance>;
    fn bound(&self, json: &Json) -> Result<AnyDistance>;
    fn json(&self) -> Json;
}
impl<M: Metric> ErasedMetric for M {
    fn check(&self, distance: &AnyDistance) -> Result<()> {
        // If a metric type stands for several metrics, this check accepts a distance of any type.
        if M::STANDS { Ok(()) } else { distance.downcast_ref::<M::Distance>().map(|_| ()) }
    }
    fn stands_for(&self) -> Option<AnyMetric> {
        if M::STANDS { Some(Metric::erased(self)) } else { None }
    }
    fn distance(&self, json: &Json) -> Result<AnyDistance> {
        AnyDistance::of_result(M::Distance::from_json_up(json))
    }
    fn bound(&self, json: &Json) -> Result<AnyDistance> {
        AnyDistance::of_result(M::Distance::from_json_down(json))
    }
    fn json(&self) -> Json {
        self.to_json()
    }
}
pub(crate) trait ErasedMeasure: Erased {
    fn stands_for(&self) -> Option<AnyMeasure>;
    fn check(&self, loss: &AnyDistance) -> Result<()>;
    fn distance(&self, json: &Json) -> Result<AnyDistance>;
    fn json(&self) -> Json;
    fn total(&self, losses: &[AnyDistance]) -> Result<AnyDistance>;
    fn curve(&self, loss: &AnyDistance) -> Result<PrivacyProfile>;
    fn order(&self) -> Interaction;
    fn count(&self) -> Result<usize>;
    fn apart(&self, loss: &AnyDistance) -> Result<Vec<f64>>;
    fn together(&self, parts: &[f64]) -> Result<AnyDistance>;
}
impl<M: Measure> ErasedMeasure for M {
    fn stands_for(&self) -> Option<AnyMeasure> {
        if M::STANDS { Some(Measure::erased(self)) } else { None }
    }
    fn check(&self, loss: &AnyDistance) -> Result<()> {
        loss.check_loss::<M::Distance>()
    }
    fn distance(&self, json: &Json) -> Result<AnyDistance> {
        AnyDistance::of_result(M::Distance::from_json_down(json))
    }
    fn json(&self) -> Json {
        self.to_json()
    }
    fn total(&self, losses: &[AnyDistance]) -> Result<AnyDistance> {
        let mut typed: Vec<M::Distance> = Vec::with_capacity(losses.len());
        for loss in losses {
            typed.push(loss.downcast_ref::<M::Distance>()?.clone());
        }
        AnyDistance::of_result(self.compose(&typed))
    }
    fn curve(&self, loss: &AnyDistance) -> Result<PrivacyProfile> {
        self.profile(loss.downcast_ref()?)
    }
    fn order(&self) -> Interaction {
        self.interaction()
    }
    fn count(&self) -> Result<usize> {
        self.parts()
    }
    fn apart(&self, loss: &AnyDistance) -> Result<Vec<f64>> {
        self.split(loss.downcast_ref()?)
    }
    fn together(&self, parts: &[f64]) -> Result<AnyDistance> {
        self.join(parts).map(AnyDistance::new)
    }
}

macro_rules! any {
    ($(#[$doc:meta])* $any:ident, $erased:path, $bound:path) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $any(Arc<dyn $erased>);
        impl $any {
            /// Erase the type. Erasing an erased object changes nothing. Only this crate can call
            /// this function. Other crates use functions such as `Space::erase`.
            ///
            /// A panic in a function of the C ABI ends the process, so such a function never
            /// unwinds. Callers need no code that cleans up after a panic.
            #[allow(improper_ctypes_definitions, reason = "no C code calls it")]
            pub(crate) extern "C" fn new<T: $bound>(inner: T) -> Self {
                let any: &dyn Any = &inner;
                match any.downcast_ref::<Self>() {
                    Some(erased) => erased.clone(),
                    None => $any(Arc::new(inner)),
                }
            }
            /// Return the name of the type that was erased.
            pub fn inner_type(&self) -> TypeName {
                self.0.name()
            }
            /// Return the identity of the type that was erased. Use the identity only for quick
            /// comparisons within one program.
            pub fn inner_id(&self) -> TypeId {
                self.as_any().type_id()
            }
            /// Borrow the object as a `T`.
            ///
            /// # Errors
            /// `FailedCast` when the object has another type.
            pub fn downcast_ref<T: $bound>(&self) -> Result<&T> {
                match self.object(TypeId::of::<T>()).downcast_ref() {
                    Some(object) => Ok(object),
                    None => Err(self.mismatch(T::type_name)),
                }
            }
            #[cold]
            pub(crate) fn mismatch(&self, expected: fn() -> TypeName) -> Error {
                Error::Downcast { expected: expected(), found: self.inner_type() }
            }
            /// Borrow the object as a `T`. The type of the object must have been checked before.
            pub(crate) fn known<T: $bound>(&self) -> &T {
                match self.object(TypeId::of::<T>()).downcast_ref() {
                    Some(object) => object,
                    None => another(),
                }
            }
            /// Return this object if `id` is its own type, and otherwise the object inside.
            pub(crate) fn object(&self, id: TypeId) -> &dyn Any {
                if id == TypeId::of::<Self>() { self } else { self.as_any() }
            }
            /// Return whether the type that was erased is `T`.
            pub fn is<T: $bound>(&self) -> bool {
                self.as_any().is::<T>()
            }
            pub(crate) fn as_any(&self) -> &dyn Any {
                &*self.0
            }
        }
        impl PartialEq for $any {
            fn eq(&self, other: &Self) -> bool {
                self.0.same(other.as_any())
            }
        }
        impl fmt::Debug for $any {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
        impl Named for $any {
            fn type_name() -> TypeName {
                TypeName::plain(stringify!($any))
            }
        }
    };
}
#[cold]
fn another() -> ! {
    unreachable!("an object holds a domain, a metric or a measure of the type that it states")
}
any! {
    /// A domain of a type known only at run time.
    AnyDomain, ErasedDomain, Domain
}
any! {
    /// A metric of a type known only at run time.
    AnyMetric, ErasedMetric, Metric
}
any! {
    /// A privacy measure of a type known only at run time.
    AnyMeasure, ErasedMeasure, Measure
}

impl AnyDomain {
    /// Decode a value of the domain's carrier type. This function does not check whether the value
    /// is a member of the domain.
    ///
    /// # Errors
    /// `FailedCast` when the JSON is not a value of the carrier type.
    pub fn decode(&self, json: &Json) -> Result<AnyValue> {
        self.0.decode(json)
    }
    /// Return the name of the carrier type.
    pub fn carrier(&self) -> TypeName {
        self.0.carrier()
    }
}
impl AnyMetric {
    /// Decode a distance, and round it up to a value of the metric's distance type.
    ///
    /// # Errors
    /// `FailedCast` when the JSON is not a distance in this metric.
    pub fn decode(&self, json: &Json) -> Result<AnyDistance> {
        self.0.distance(json)
    }
    /// Decode a number that the result of a map must not exceed. Round this number down to a value
    /// of the metric's distance type.
    ///
    /// # Errors
    /// `FailedCast` when the JSON is not a distance in this metric.
    pub fn decode_bound(&self, json: &Json) -> Result<AnyDistance> {
        self.0.bound(json)
    }
    /// If the type of this metric stands for several metrics, return the metric that this value
    /// represents. Otherwise return `None`.
    pub(crate) fn stands_for(&self) -> Option<AnyMetric> {
        self.0.stands_for()
    }
    /// If the type of this metric stands for several metrics, return the metric that this value
    /// represents. Otherwise return this metric itself.
    pub(crate) fn real(&self) -> AnyMetric {
        self.stands_for().unwrap_or_else(|| self.clone())
    }
}
impl AnyMeasure {
    /// If the type of this measure stands for several measures, return the measure that this value
    /// represents. Otherwise return this measure itself.
    pub(crate) fn real(&self) -> AnyMeasure {
        self.0.stands_for().unwrap_or_else(|| self.clone())
    }
    /// Decode a privacy loss that the result of a map must not exceed. Round this loss down to a
    /// value of the measure's loss type.
    ///
    /// # Errors
    /// `FailedCast` when the JSON is not a loss in this measure. `InvalidDistance` when the points
    /// in the JSON do not form a privacy profile.
    pub fn decode(&self, json: &Json) -> Result<AnyDistance> {
        self.0.distance(json).map_err(|error| match (error, json) {
            (Error::FailedCast(reason), Json::Array(_)) if self.parts() == Ok(1) => {
                let measure = self.to_json();
                let measure = measure.as_str().unwrap_or("this measure");
                let advice = format!("a loss in {measure} is one number, without a delta");
                Error::FailedCast(format!("{reason}; {advice}"))
            }
            (error, _) => error,
        })
    }
}
impl<M: Measure> From<TheMeasure<M>> for AnyMeasure {
    /// Erase the type of a measure. Combinators that change the measure use this conversion.
    fn from(measure: TheMeasure<M>) -> Self {
        AnyMeasure::new(measure.0)
    }
}
impl Domain for AnyDomain {
    type Carrier = AnyValue;
    fn member(&self, value: &AnyValue) -> bool {
        self.0.contains(value)
    }
    fn records(&self) -> Option<usize> {
        self.0.size()
    }
    fn with_records(&self, records: usize) -> Option<Self> {
        self.0.resized(records)
    }
    fn recombines(&self) -> bool {
        self.0.mixes()
    }
    fn to_json(&self) -> Json {
        self.0.json()
    }
    fn read_cells(&self, cells: &[&str]) -> Option<Result<AnyValue>> {
        self.0.cells(cells)
    }
}
impl Metric for AnyMetric {
    type Distance = AnyDistance;
    fn to_json(&self) -> Json {
        self.0.json()
    }
    fn read_distance(&self, distance: AnyDistance) -> Result<AnyDistance> {
        match distance.written() {
            Some(json) => self.decode(json),
            None => self.0.check(&distance).map(|()| distance),
        }
    }
    fn erased(&self) -> AnyMetric {
        self.clone()
    }
    fn view(metric: &AnyMetric) -> Option<Self> {
        Some(metric.clone())
    }
}
impl Measure for AnyMeasure {
    type Distance = AnyDistance;
    fn to_json(&self) -> Json {
        self.0.json()
    }
    fn read_loss(&self, loss: AnyDistance) -> Result<AnyDistance> {
        let loss = loss.written().map_or(Ok(loss.clone()), |json| self.decode(json))?;
        self.0.check(&loss).map(|()| loss)
    }
    fn compose(&self, losses: &[AnyDistance]) -> Result<AnyDistance> {
        self.0.total(losses)
    }
    fn interaction(&self) -> Interaction {
        self.0.order()
    }
    fn parts(&self) -> Result<usize> {
        self.0.count()
    }
    fn split(&self, loss: &AnyDistance) -> Result<Vec<f64>> {
        self.0.apart(loss)
    }
    fn join(&self, parts: &[f64]) -> Result<AnyDistance> {
        self.0.together(parts)
    }
    fn profile(&self, loss: &AnyDistance) -> Result<PrivacyProfile> {
        self.0.curve(loss)
    }
}
