//! Domains, metrics, measures, and the results of constructors, as arguments.

use std::any::{Any, TypeId};

use serde_json::Value as Json;

use super::{Arg, Argument, wrong};
use crate::erased::{
    AnyDomain, AnyFunction, AnyMeasure, AnyMeasurement, AnyMetric, AnyTransformation, AnyValue,
};
use crate::{
    Constructed, Domain, Measure, Measurement, Metric, Named, Odometer, PrivacyMap, Result,
    StabilityMap, TypeName,
};

macro_rules! values_only {
    ($($map:ty: $name:literal $left:ident $right:ident;)*) => {$(
        /// A stability map or a privacy map as an argument. A pipeline document cannot contain a
        /// map, so the argument must be a Rust value.
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
}
impl<T: Measure> Argument for TheMeasure<T> {
    fn type_name() -> TypeName {
        T::type_name()
    }
    fn accepts(arg: &Arg) -> bool {
        measure(arg, TypeId::of::<T>()).and_then(T::view).is_some()
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        match (measure(arg, TypeId::of::<T>()).and_then(T::view), arg) {
            (Some(measure), _) => Ok(TheMeasure(measure)),
            (None, Arg::Made(Constructed::Measure(inner))) => Err(inner.mismatch(T::type_name)),
            (None, _) => Err(wrong(&T::type_name(), arg)),
        }
    }
    const STOOD_FOR: fn(&Arg) -> Option<TypeName> =
        if T::STANDS { stood_for::<T> } else { super::stands_for_none };
}
/// Return the measure that an argument is. The caller wants a measure of the type `id`.
fn measure(arg: &Arg, id: TypeId) -> Option<&dyn Any> {
    match arg {
        Arg::Made(Constructed::Measure(inner)) => Some(inner.object(id)),
        Arg::Value(value) => Some(&**value),
        _ => None,
    }
}
fn stood_for<T: Measure>(arg: &Arg) -> Option<TypeName> {
    let measure = T::view(measure(arg, TypeId::of::<T>())?)?;
    Some(measure.erased().inner_type())
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

/// A measurement whose measure has the type `MO`, as an argument. Conversions between measures take
/// such measurements.
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
        let value = match arg {
            Arg::List(items) => return items.iter().map(AnyMeasurement::from_arg).collect(),
            Arg::Json(Json::Array(items)) if items.is_empty() => return Ok(Vec::new()),
            Arg::Value(value) => value.downcast_ref::<Self>(),
            _ => None,
        };
        value.cloned().ok_or_else(|| wrong(&<Self as Argument>::type_name(), arg))
    }
}
