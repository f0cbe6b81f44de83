//! Erased distances.

use std::{
    any::{Any, TypeId},
    fmt,
    sync::Arc,
};

use serde_json::Value as Json;

use crate::{AnyNumber, Codec, Distance, Error, Named, Result, TypeName};

/// The functions of a [`Distance`], in a trait that can be a trait object.
trait ErasedDistance: Any + Send + Sync {
    fn name(&self) -> TypeName;
    fn json(&self) -> Json;
    fn text(&self) -> String;
    fn fits(&self, other: &AnyDistance) -> Result<bool>;
    fn valid(&self) -> Result<()>;
    fn exact_numbers(&self) -> [Option<AnyNumber>; 3];
    /// Return the result of [`Distance::in_either_direction`]. `None` means that the result is the
    /// loss itself.
    fn either(&self) -> Option<AnyDistance>;
}
impl<Q: Distance> ErasedDistance for Q {
    fn name(&self) -> TypeName {
        Q::type_name()
    }
    fn json(&self) -> Json {
        self.to_json()
    }
    fn text(&self) -> String {
        self.show()
    }
    fn fits(&self, other: &AnyDistance) -> Result<bool> {
        self.at_most(other.downcast_ref()?)
    }
    fn valid(&self) -> Result<()> {
        self.check()
    }
    fn exact_numbers(&self) -> [Option<AnyNumber>; 3] {
        self.numbers()
    }
    fn either(&self) -> Option<AnyDistance> {
        // A loss of type `f64` is the same in both directions, and most losses have this type.
        let any: &dyn Any = self;
        (!any.is::<f64>()).then(|| AnyDistance::new(self.clone().in_either_direction()))
    }
}

/// A distance of a type known only at run time.
#[derive(Clone)]
pub struct AnyDistance(Arc<dyn ErasedDistance>);
impl AnyDistance {
    /// Erase the type of a distance. Erasing an erased distance changes nothing.
    pub fn new<Q: Distance>(distance: Q) -> Self {
        let any: &dyn Any = &distance;
        match any.downcast_ref::<AnyDistance>() {
            Some(erased) => erased.clone(),
            None => AnyDistance(Arc::new(distance)),
        }
    }
    /// Erase the type of the distance inside a `Result`.
    pub(super) fn of_result<Q: Distance>(distance: Result<Q>) -> Result<Self> {
        match distance {
            Ok(distance) => Ok(AnyDistance::new(distance)),
            Err(error) => Err(error),
        }
    }
    /// Return the JSON of the distance, if the type of the distance is not determined yet.
    pub(super) fn written(&self) -> Option<&Json> {
        self.downcast_ref::<Written>().ok().map(|Written(json)| json)
    }
    /// Check that the distance is a loss of the type `Q`, and that no number in it is negative or
    /// NaN.
    pub(super) fn check_loss<Q: Distance>(&self) -> Result<()> {
        let loss: &Q = self.downcast_ref()?;
        loss.check().map_err(|_| {
            let found = loss.show();
            Error::InvalidDistance(format!("expected a loss of at least 0, found {found}"))
        })
    }
    /// Borrow the distance as a `Q`.
    ///
    /// # Errors
    /// `FailedCast` when the distance has another type.
    pub fn downcast_ref<Q: Distance>(&self) -> Result<&Q> {
        let object: &dyn Any =
            if TypeId::of::<Q>() == TypeId::of::<Self>() { self } else { &*self.0 };
        match object.downcast_ref() {
            Some(distance) => Ok(distance),
            None => Err(self.mismatch(Q::type_name)),
        }
    }
    #[cold]
    fn mismatch(&self, expected: fn() -> TypeName) -> Error {
        Error::Downcast { expected: expected(), found: self.0.name() }
    }
}
impl Distance for AnyDistance {
    fn at_most(&self, other: &Self) -> Result<bool> {
        self.0.fits(other)
    }
    fn check(&self) -> Result<()> {
        self.0.valid()
    }
    fn show(&self) -> String {
        self.0.text()
    }
    fn numbers(&self) -> [Option<AnyNumber>; 3] {
        self.0.exact_numbers()
    }
    fn in_either_direction(self) -> Self {
        self.0.either().unwrap_or(self)
    }
}
impl Codec for AnyDistance {
    fn to_json(&self) -> Json {
        self.0.json()
    }
    /// The JSON does not contain the type of the distance, so store the JSON without decoding it.
    /// Later, the metric or the measure [reads](crate::Metric::read_distance) the distance from the
    /// JSON.
    fn from_json(json: &Json) -> Result<Self> {
        Ok(AnyDistance::new(Written(json.clone())))
    }
}

/// A distance as JSON, before its type is known.
#[derive(Clone, Debug)]
struct Written(Json);

#[cold]
fn unread<T>() -> Result<T> {
    Err(Error::FailedCast(
        "JSON does not state the type of a distance; decode it with the metric or the measure"
            .into(),
    ))
}
/// The methods `at_most` and `check` return errors, so a `Written` is never used as a distance.
impl Distance for Written {
    fn at_most(&self, _: &Self) -> Result<bool> {
        unread()
    }
    fn check(&self) -> Result<()> {
        unread()
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}
impl Codec for Written {
    fn to_json(&self) -> Json {
        self.0.clone()
    }
    fn from_json(_: &Json) -> Result<Self> {
        unread()
    }
}
impl Named for Written {
    fn type_name() -> TypeName {
        TypeName::plain("Json")
    }
}
impl fmt::Debug for AnyDistance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text())
    }
}
impl Named for AnyDistance {
    fn type_name() -> TypeName {
        TypeName::plain("AnyDistance")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::erased::AnyMeasure;
    use crate::{
        Approximate, MaxDivergence, Measure, PrivacyProfile, SmoothedMaxDivergence, TheMeasure,
    };

    #[test]
    fn compares_distances_of_one_type() {
        let (first, second) = (AnyDistance::new(1_u32), AnyDistance::new(2_u32));
        assert!(first.at_most(&second).unwrap() && !second.at_most(&first).unwrap());
        assert_eq!(first.at_most(&AnyDistance::new(1.0)).unwrap_err().kind(), "FailedCast");
    }
    #[test]
    fn an_erased_measure_reads_only_losses_of_its_type_that_are_at_least_0() {
        let pure = AnyMeasure::from(TheMeasure(MaxDivergence));
        let both = AnyMeasure::from(TheMeasure(Approximate(MaxDivergence)));
        let profile = AnyMeasure::from(TheMeasure(SmoothedMaxDivergence));
        let read = |measure: &AnyMeasure, loss: AnyDistance| {
            measure.read_loss(loss).map_or_else(|error| error.kind(), |_| "read")
        };
        let json = |json: Json| AnyDistance::from_json(&json).unwrap();
        for wrong in [AnyDistance::new(1_u32), AnyDistance::new(1.0_f32), json(json!("x"))] {
            assert_eq!(read(&pure, wrong.clone()), "FailedCast", "{wrong:?}");
            assert_eq!(read(&both, wrong.clone()), "FailedCast", "{wrong:?}");
            assert_eq!(read(&profile, wrong.clone()), "FailedCast", "{wrong:?}");
        }
        assert_eq!(read(&pure, AnyDistance::new((1.0, 1e-6))), "FailedCast");
        for invalid in [-1.0, -f64::MIN_POSITIVE, f64::NAN] {
            assert_eq!(read(&pure, AnyDistance::new(invalid)), "InvalidDistance");
            assert_eq!(read(&both, AnyDistance::new((1.0, invalid))), "InvalidDistance");
            assert_eq!(read(&both, AnyDistance::new((invalid, 0.0))), "InvalidDistance");
        }
        assert_eq!(read(&pure, json(json!(-1.0))), "InvalidDistance");
        for valid in [AnyDistance::new(0.0), AnyDistance::new(f64::INFINITY), json(json!(2))] {
            assert_eq!(read(&pure, valid.clone()), "read", "{valid:?}");
        }
        assert_eq!(read(&both, AnyDistance::new((1.0, 1e-6))), "read");
        assert_eq!(read(&profile, AnyDistance::new(PrivacyProfile::new(|_| Ok(0.0)))), "read");
        let error = pure.read_loss(AnyDistance::new(-1.0)).unwrap_err().to_string();
        assert!(error.contains("expected a loss of at least 0, found -1"), "{error}");
    }
    #[test]
    fn erasing_twice_is_erasing_once() {
        let distance = AnyDistance::new(AnyDistance::new(2_u32));
        assert_eq!(distance.downcast_ref::<AnyDistance>().unwrap().show(), "2");
        assert_eq!(distance.downcast_ref::<u32>().unwrap(), &2);
    }
}
