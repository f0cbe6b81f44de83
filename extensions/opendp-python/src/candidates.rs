//! Converts releases of Python functions to pairs of a score and a value, for
//! `make_select_private_candidate`.

use opendp_core::erased::{AnyMeasurement, AnyValue};
use opendp_core::{Arg, Args, Constructed, Error, Function, Result, TypeName};
use pyo3::prelude::*;

use crate::extrinsic::Extrinsic;
use crate::values::Cell as _;

/// The constructor that needs releases with a score.
const NAME: &str = "make_select_private_candidate";
/// The name of the argument that is a measurement. The releases of this measurement are pairs of a
/// score and a value.
const MEASUREMENT: &str = "measurement";

/// Prepare the arguments of a constructor. If the constructor selects candidates, return the
/// arguments with the measurement that [`scored`] makes from the given measurement. `release` is
/// the type of the releases of the given measurement, or `None` if this type is not known. If the
/// constructor does not select candidates, return `None`. The caller then uses the arguments
/// unchanged.
///
/// # Errors
/// `Argument` when the type of the releases is known and has no score.
pub(crate) fn prepared(
    name: &str,
    args: &Args,
    release: Option<&TypeName>,
) -> Result<Option<Args>> {
    let measurement = match args.get(MEASUREMENT) {
        Some(Arg::Made(Constructed::Measurement(measurement))) if name == NAME => measurement,
        _ => return Ok(None),
    };
    if let Some(release) = release.filter(|release| !has_score(release)) {
        let advice = "append a function that makes them, as in `>> (lambda x: (x, \"a name\"))`";
        let expected = "expected a measurement that releases pairs of a score and a value";
        return Err(Error::argument(
            MEASUREMENT,
            format!("{expected}, found releases of type {release}; {advice}"),
        ));
    }
    let scored = Arg::Made(Constructed::Measurement(scored(measurement)));
    Ok(Some(args.clone().with(MEASUREMENT, scored)))
}
fn has_score(release: &TypeName) -> bool {
    let is_float = |part: &TypeName| part.head() == "f64";
    release.head() == "ExtrinsicObject"
        || release.head().is_empty() && release.args().first().is_some_and(is_float)
}
/// Make a measurement that converts each release that is a Python object to a pair of a score and a
/// value. The map is the same object as the map of the given measurement, because the conversion is
/// post-processing.
fn scored(measurement: &AnyMeasurement) -> AnyMeasurement {
    let inner = measurement.function().clone();
    let function = Function::map(move |data: &AnyValue| -> Result<AnyValue> {
        let release = inner.eval(data)?;
        match release.downcast_ref::<Extrinsic>() {
            Ok(object) => Python::attach(|py| pair(&object.get(py)))?.ok_or_else(no_pair),
            Err(_) => Ok(release),
        }
    });
    let (input, measure) = (measurement.input().clone(), measurement.measure().clone());
    AnyMeasurement::new(input, measure, function, measurement.privacy_map())
}
fn pair(release: &Bound<'_, PyAny>) -> Result<Option<AnyValue>> {
    let pair = <(f64, AnyValue)>::from_python(release)?;
    Ok(pair.map(|(score, value)| AnyValue::new((AnyValue::new(score), value))))
}
#[cold]
fn no_pair() -> Error {
    Error::FailedFunction(
        "the release of `measurement` is not a pair of a score and a value; return such a pair \
         from its Python function, as in `return score, value`"
            .into(),
    )
}
