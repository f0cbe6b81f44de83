//! Erased transformations, measurements and functions.

use std::marker::PhantomData;

use serde_json::Value as Json;

use super::{AnyDistance, AnyDomain, AnyMeasure, AnyMetric, AnyValue};
use crate::{
    Carrier, Codec, Distance, Domain, Error, Function, Measure, Measurement, Metric, Odometer,
    Result, Space, Transformation,
};

/// A transformation between erased spaces.
pub type AnyTransformation = Transformation<AnyDomain, AnyMetric, AnyDomain, AnyMetric>;
/// A measurement on an erased space.
pub type AnyMeasurement = Measurement<AnyDomain, AnyMetric, AnyMeasure, AnyValue>;
/// An odometer on an erased space.
pub type AnyOdometer = Odometer<AnyDomain, AnyMetric, AnyMeasure>;
/// A function between erased values.
pub type AnyFunction = Function<AnyValue, AnyValue>;

impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> Transformation<DI, MI, DO, MO> {
    /// Erase the types of the transformation. The stages do not change, so they run as fast as in
    /// the typed transformation.
    pub fn erase(&self) -> AnyTransformation {
        self.clone().into_parts().erased()
    }
}
impl<DI: Domain, MI: Metric, MO: Measure, TO: Carrier> Measurement<DI, MI, MO, TO> {
    /// Erase the types of the measurement.
    pub fn erase(&self) -> AnyMeasurement {
        self.clone().into_parts().erased()
    }
}
impl AnyTransformation {
    /// Recover the types of both spaces. The types of the domains and metrics are checked once, in
    /// this function.
    ///
    /// # Errors
    /// `FailedCast` when a domain or a metric has another type.
    pub fn typed<DI: Domain, MI: Metric, DO: Domain, MO: Metric>(
        &self,
    ) -> Result<Transformation<DI, MI, DO, MO>> {
        Ok(Transformation {
            input: self.input.typed()?,
            output: self.output.typed()?,
            function: self.function.typed(),
            map: self.map.typed(),
        })
    }
}
impl AnyMeasurement {
    /// Recover the types of the input space and the measure. These types are checked once, in this
    /// function. The type of a released value is checked at each release.
    ///
    /// # Errors
    /// `FailedCast` when the domain, the metric or the measure has another type.
    pub fn typed<DI: Domain, MI: Metric, MO: Measure, TO: Carrier>(
        &self,
    ) -> Result<Measurement<DI, MI, MO, TO>> {
        self.claims.measure.downcast_ref::<MO>()?;
        let map = self.privacy_map().typed::<MI, MO>().untyped;
        Ok(Measurement {
            input: self.input.typed()?,
            function: self.function.typed(),
            claims: self.claims.with_map(map),
            types: PhantomData,
        })
    }
    /// Recover only the type of the measure. Conversions between measures use this function.
    ///
    /// # Errors
    /// `FailedCast` when the measure has another type.
    pub fn in_measure<MO: Measure>(
        &self,
    ) -> Result<Measurement<AnyDomain, AnyMetric, MO, AnyValue>> {
        let measure = self.claims.measure.downcast_ref::<MO>()?.clone();
        Ok(self.with_loss(measure, self.privacy_map().in_measure()))
    }
}

/// Any object that a registered function can make.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Constructed {
    /// A domain.
    Domain(AnyDomain),
    /// A metric.
    Metric(AnyMetric),
    /// A privacy measure.
    Measure(AnyMeasure),
    /// A transformation.
    Transformation(AnyTransformation),
    /// A measurement.
    Measurement(AnyMeasurement),
    /// A function that post-processes a release.
    Function(AnyFunction),
    /// An odometer.
    Odometer(AnyOdometer),
}
/// The kinds of objects that a registered function can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A domain.
    Domain,
    /// A metric.
    Metric,
    /// A privacy measure.
    Measure,
    /// A transformation.
    Transformation,
    /// A measurement.
    Measurement,
    /// A function that post-processes a release.
    Function,
    /// An odometer.
    Odometer,
}
impl Kind {
    /// All kinds, in the order in which listings show them.
    pub const ALL: [Kind; 7] = [
        Kind::Domain,
        Kind::Metric,
        Kind::Measure,
        Kind::Transformation,
        Kind::Measurement,
        Kind::Function,
        Kind::Odometer,
    ];
    /// Return the name of the kind, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Domain => "domain",
            Kind::Metric => "metric",
            Kind::Measure => "measure",
            Kind::Transformation => "transformation",
            Kind::Measurement => "measurement",
            Kind::Function => "function",
            Kind::Odometer => "odometer",
        }
    }
}
macro_rules! kinds {
    ($($kind:ident $get:ident $article:literal -> $t:ty),*) => {
        impl Kind {
            /// Return the name of the kind with its article, for messages.
            pub fn with_article(self) -> &'static str {
                match self {
                    $(Kind::$kind => concat!($article, " ", stringify!($get))),*
                }
            }
        }
        impl Constructed {
            /// Return the kind of the object.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Constructed::$kind(_) => Kind::$kind),*
                }
            }
            $(
                #[doc = concat!("Return the object as ", $article, " ", stringify!($get), ".")]
                ///
                /// # Errors
                /// `FailedCast` when the object has another kind.
                pub fn $get(self) -> Result<$t> {
                    match self {
                        Constructed::$kind(made) => Ok(made),
                        other => Err(Error::FailedCast(format!(
                            "expected {}, found {}",
                            Kind::$kind.with_article(),
                            other.kind().with_article()
                        ))),
                    }
                }
            )*
        }
        $(impl From<$t> for Constructed {
            fn from(made: $t) -> Self {
                Constructed::$kind(made)
            }
        })*
    };
}
kinds! {
    Domain domain "a" -> AnyDomain,
    Metric metric "a" -> AnyMetric,
    Measure measure "a" -> AnyMeasure,
    Transformation transformation "a" -> AnyTransformation,
    Measurement measurement "a" -> AnyMeasurement,
    Function function "a" -> AnyFunction,
    Odometer odometer "an" -> AnyOdometer
}

impl Constructed {
    /// Evaluate the map at `d_in`. Both `d_in` and the result are JSON.
    ///
    /// # Errors
    /// `FailedCast` when `d_in` is not a distance in the input metric. `NotImplemented` when the
    /// object has no map. This function also returns the errors of the map. If the result is a
    /// curve that has an error at every point, it also returns this error.
    pub fn map(&self, d_in: &Json) -> Result<Json> {
        match self {
            Constructed::Transformation(t) => Ok(t.map(&decode_in(t.input(), d_in)?)?.to_json()),
            Constructed::Measurement(m) => m.map(&decode_in(m.input(), d_in)?)?.written_loss(),
            other => Err(no_map(other)),
        }
    }
    /// Check `d_in` with the function [`Space::check_neighbours`] of the input space.
    ///
    /// # Errors
    /// `FailedCast` when `d_in` is not a distance in the input metric. `NotImplemented` when the
    /// object has no map. `FailedMap` when a rule of [`Space::check_neighbours`] shows that there
    /// are no neighbours.
    pub fn check_neighbours(&self, d_in: &Json) -> Result<()> {
        match self {
            Constructed::Transformation(t) => {
                t.input().check_neighbours(&decode_in(t.input(), d_in)?)
            }
            Constructed::Measurement(m) => m.input().check_neighbours(&decode_in(m.input(), d_in)?),
            other => Err(no_map(other)),
        }
    }
    /// Check that `d_in` is a valid distance for the map. Also check that the bounds that the map
    /// returns can be compared with `d_out`. The map is not evaluated.
    ///
    /// # Errors
    /// `FailedCast` when a distance cannot be decoded. `InvalidDistance` when the points of `d_out`
    /// do not form a privacy profile. `FailedMap` when `d_in` is negative or NaN.
    /// `InvalidDistance` or `NotImplemented` when `d_out` cannot be compared. `NotImplemented` also
    /// when the object has no map.
    pub fn check_distances(&self, d_in: &Json, d_out: &Json) -> Result<()> {
        let (space, d_out) = match self {
            Constructed::Transformation(t) => (t.input(), t.output().metric().decode_bound(d_out)),
            Constructed::Measurement(m) => (m.input(), m.measure().decode(d_out)),
            other => return Err(no_map(other)),
        };
        decode_in(space, d_in)?.check().map_err(|error| error.at("d_in"))?;
        let comparable = d_out.and_then(|d_out| d_out.at_most(&d_out));
        comparable.map(|_| ()).map_err(|error| error.at("d_out"))
    }
    /// Return whether the result of the map for `d_in` is at most `d_out`. Both distances are JSON.
    ///
    /// # Errors
    /// The errors of [`map`](Constructed::map) and of [`Distance::at_most`]. The errors of decoding
    /// `d_out` in the output metric or measure ([`AnyMetric::decode_bound`],
    /// [`AnyMeasure::decode`]).
    pub fn check(&self, d_in: &Json, d_out: &Json) -> Result<bool> {
        let located = |error: Error| error.at("d_out");
        match self {
            Constructed::Transformation(t) => {
                let d_out = t.output().metric().decode_bound(d_out).map_err(located)?;
                t.check(&decode_in(t.input(), d_in)?, &d_out)
            }
            Constructed::Measurement(m) => {
                let d_out = m.measure().decode(d_out).map_err(located)?;
                m.check(&decode_in(m.input(), d_in)?, &d_out)
            }
            other => Err(no_map(other)),
        }
    }
}
fn decode_in(space: &Space<AnyDomain, AnyMetric>, d_in: &Json) -> Result<AnyDistance> {
    space.metric().decode(d_in).map_err(|error| error.at("d_in"))
}
#[cold]
fn no_map(made: &Constructed) -> Error {
    Error::NotImplemented(format!("{} has no map", made.kind().with_article()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AbsoluteDistance, Args, AtomDomain, MaxDivergence, Partial, PrivacyMap, PrivacyProfile,
        SmoothedMaxDivergence, StabilityMap, SymmetricDistance, VectorDomain,
    };

    #[test]
    fn everything_is_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        type Rows = VectorDomain<AtomDomain<f64>>;
        shared::<Transformation<Rows, SymmetricDistance, Rows, SymmetricDistance>>();
        shared::<AnyTransformation>();
        shared::<AnyMeasurement>();
        shared::<AnyFunction>();
        shared::<Constructed>();
        shared::<Space<AnyDomain, AnyMetric>>();
        shared::<Partial<AnyValue, AnyValue>>();
        shared::<(Args, Error, Kind)>();
    }
    fn add_one() -> AnyTransformation {
        let space = Space::new(AtomDomain::default(), AbsoluteDistance::<i32>::new()).unwrap();
        let function = Function::map(|x: &i32| Ok(x.saturating_add(1)));
        Transformation::new(space.clone(), space, function, StabilityMap::from_constant(1)).erase()
    }
    #[test]
    fn maps_and_checks_in_json() {
        let made = Constructed::from(add_one());
        assert_eq!(made.map(&3.into()), Ok(3.into()));
        assert_eq!(made.check(&3.into(), &2.into()), Ok(false));
        assert!(made.map(&"x".into()).unwrap_err().to_string().contains("d_in"));
        assert!(made.check(&3.into(), &"x".into()).unwrap_err().to_string().contains("d_out"));
        let domain = Constructed::from(add_one().input().domain().clone());
        let odometer = domain.clone().odometer().unwrap_err().to_string();
        assert!(odometer.contains("expected an odometer, found a domain"), "{odometer}");
        assert_eq!(domain.map(&3.into()).unwrap_err().kind(), "NotImplemented");
        assert_eq!(domain.measurement().unwrap_err().kind(), "FailedCast");
    }
    #[test]
    fn a_map_without_any_point_says_why() {
        let space = add_one().input().typed::<AtomDomain<i32>, AbsoluteDistance<i32>>().unwrap();
        let map = PrivacyMap::new(|_: &i32| {
            Ok(PrivacyProfile::new(|_| Err(Error::Overflow("too large".into()))))
        });
        let function = Function::map(|x: &i32| Ok(*x));
        let made = Measurement::new(space, SmoothedMaxDivergence, function, map).erase();
        assert_eq!(Constructed::from(made).map(&1.into()).unwrap_err().kind(), "Overflow");
    }
    #[test]
    fn distances_are_checked_whatever_the_map_says() {
        let made = Constructed::from(add_one());
        assert_eq!(made.check_distances(&3.into(), &2.into()), Ok(()));
        let kind = |d_in: Json, d_out: Json| made.check_distances(&d_in, &d_out).unwrap_err();
        assert_eq!(kind((-1).into(), 2.into()).kind(), "FailedMap");
        assert!(kind("x".into(), 2.into()).to_string().contains("d_in"));
        assert!(kind(1.into(), "x".into()).to_string().contains("d_out"));
    }
    #[test]
    fn copies_share_their_map_and_others_do_not() {
        let space = add_one().input().typed::<AtomDomain<i32>, AbsoluteDistance<i32>>().unwrap();
        let make = || {
            let map = PrivacyMap::new(|_: &i32| Ok(1.0));
            let function = Function::map(|x: &i32| Ok(*x));
            Measurement::new(space.clone(), MaxDivergence, function, map).erase()
        };
        let made = make();
        assert!(made.shares_map(&made.clone()) && !made.shares_map(&make()));
    }
    #[test]
    fn erased_objects_chain_and_refuse_other_spaces() {
        let twice = add_one().then(|_| Ok(add_one())).unwrap();
        assert_eq!(twice.invoke(&AnyValue::new(5)).unwrap().downcast::<i32>(), Ok(7));
        assert_eq!(twice.erase().invoke(&AnyValue::new(5)).unwrap().downcast::<i32>(), Ok(7));
        let other = Space::new(AtomDomain::default(), AbsoluteDistance::<i64>::new()).unwrap();
        let identity = Transformation::new(
            other.clone(),
            other,
            Function::map(|x: &i32| Ok(*x)),
            StabilityMap::new(|d: &i64| Ok(*d)),
        );
        let error = add_one().then(|_| Ok(identity.erase())).unwrap_err();
        assert_eq!(error.kind(), "MetricMismatch");
        let typed = twice.typed::<
            AtomDomain<i32>,
            AbsoluteDistance<i32>,
            AtomDomain<i32>,
            AbsoluteDistance<i32>,
        >();
        assert_eq!(typed.unwrap().invoke(&5), Ok(7));
        let wrong = twice.typed::<
            AtomDomain<i64>,
            AbsoluteDistance<i32>,
            AtomDomain<i32>,
            AbsoluteDistance<i32>,
        >();
        assert_eq!(wrong.unwrap_err().kind(), "FailedCast");
    }
}
