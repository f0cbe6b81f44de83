//! Domains, metrics, measures, spaces, transformations, measurements, functions and odometers.

pub(crate) mod chain;
mod column;
mod describe;
mod parts;
pub(crate) mod run;
mod types;

use std::ffi::CString;
use std::sync::OnceLock;

use opendp_core::erased::{
    AnyDomain, AnyFunction, AnyMeasure, AnyMeasurement, AnyMetric, AnyOdometer, AnyTransformation,
    AnyValue,
};
use opendp_core::{Arg, Constructed, Named, TypeName};
use pyo3::prelude::*;

use crate::recipe::{Inner, Recipe};
pub(crate) use describe::call_of;

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident $any:ident;)*) => {$(
        $(#[$doc])*
        #[pyclass(frozen, module = "opendp_rs")]
        pub(crate) struct $class {
            pub(crate) made: $any,
        }
        impl $class {
            /// Return 0, because a domain, a metric or a measure does not count as a constructor.
            pub(crate) fn links(&self) -> usize {
                0
            }
            /// Return `Inner::None`. A document contains only the value of a domain, a metric or a
            /// measure.
            pub(crate) fn inner(&self) -> Inner {
                Inner::None
            }
        }
    )*};
}
classes! {
    /// A set of values.
    Domain AnyDomain;
    /// A distance between two members of a domain.
    Metric AnyMetric;
    /// A distance between the distributions of two releases.
    Measure AnyMeasure;
}
macro_rules! linked {
    ($($(#[$doc:meta])* $class:ident $any:ident;)*) => {$(
        $(#[$doc])*
        #[pyclass(frozen, module = "opendp_rs")]
        pub(crate) struct $class {
            pub(crate) made: $any,
            links: usize,
            pub(crate) recipe: Recipe,
        }
        impl $class {
            /// Return a bound on the number of constructors on each path through this object. See
            /// `arguments::MAX_LINKS`.
            pub(crate) fn links(&self) -> usize {
                self.links
            }
            /// Return how the object was made.
            pub(crate) fn inner(&self) -> Inner {
                Inner::One(self.recipe.clone())
            }
        }
    )*};
}
linked! {
    /// A stable function from a data set to an aggregate or another data set.
    Transformation AnyTransformation;
    /// An interactive mechanism without a bound on its loss. The mechanism reports the loss so far.
    Odometer AnyOdometer;
}
/// A private function from a data set to a release.
#[pyclass(frozen, module = "opendp_rs")]
pub(crate) struct Measurement {
    pub(crate) made: AnyMeasurement,
    links: usize,
    pub(crate) recipe: Recipe,
    /// The type of the release, if it is known.
    pub(crate) release: Option<TypeName>,
    /// A warning before a release, if the loss at a small distance has no bound.
    warning: OnceLock<Option<CString>>,
}
impl Measurement {
    pub(crate) fn new(
        made: AnyMeasurement,
        links: usize,
        recipe: Recipe,
        release: Option<TypeName>,
    ) -> Self {
        Measurement { made, links, recipe, release, warning: OnceLock::new() }
    }
    pub(crate) fn links(&self) -> usize {
        self.links
    }
    pub(crate) fn inner(&self) -> Inner {
        Inner::One(self.recipe.clone())
    }
}
/// A function of a release: post-processing.
#[pyclass(frozen, module = "opendp_rs")]
pub(crate) struct Function {
    pub(crate) made: AnyFunction,
    links: usize,
    pub(crate) recipe: Recipe,
    /// The type of the function's input.
    input: TypeName,
    /// The domain of the function's input, if the function belongs to a measurement or a
    /// transformation. A call from Python checks that the input is a member of this domain.
    domain: Option<AnyDomain>,
    /// The type of the function's output, if it is known.
    pub(crate) output: Option<TypeName>,
}
impl Function {
    /// Make a function that has no document.
    pub(crate) fn new(
        made: AnyFunction,
        links: usize,
        input: TypeName,
        output: Option<TypeName>,
    ) -> Self {
        Function { made, links, recipe: Recipe::Unknown, input, domain: None, output }
    }
    pub(crate) fn inner(&self) -> Inner {
        Inner::One(self.recipe.clone())
    }
    pub(crate) fn links(&self) -> usize {
        self.links
    }
}

/// A space: a domain and a metric on the members of the domain.
#[pyclass(frozen, name = "Space", module = "opendp_rs")]
pub(crate) struct PySpace {
    pub(crate) arg: Arg,
}

/// Convert an object that a constructor made to a Python object. `output` is the type of the
/// object. `recipe` states how the object was made. `result` is the type of a release or of the
/// output of a function. If `result` is `None`, take this type from `output`.
pub(crate) fn to_python(
    py: Python<'_>,
    made: Constructed,
    output: &TypeName,
    links: usize,
    recipe: Recipe,
    result: Option<TypeName>,
) -> PyResult<Py<PyAny>> {
    // The last type of `Measurement<DI, MI, MO, TO>` and of `Function<TI, TO>` is the result.
    let result = result.or_else(|| known(output.args().last()?));
    Ok(match made {
        Constructed::Domain(made) => Py::new(py, Domain { made })?.into_any(),
        Constructed::Metric(made) => Py::new(py, Metric { made })?.into_any(),
        Constructed::Measure(made) => Py::new(py, Measure { made })?.into_any(),
        Constructed::Transformation(made) => {
            Py::new(py, Transformation { made, links, recipe })?.into_any()
        }
        Constructed::Measurement(made) => {
            Py::new(py, Measurement::new(made, links, recipe, result))?.into_any()
        }
        Constructed::Function(made) => {
            let input = output.args().first().cloned().unwrap_or_else(AnyValue::type_name);
            let function = Function { made, links, recipe, input, domain: None, output: result };
            Py::new(py, function)?.into_any()
        }
        Constructed::Odometer(made) => Py::new(py, Odometer { made, links, recipe })?.into_any(),
        other => {
            let error = opendp_core::Error::NotImplemented(format!(
                "Python has no class for {}",
                other.kind().with_article()
            ));
            return Err(crate::errors::exception(py, &error));
        }
    })
}
/// Return a type if no part of it is `AnyValue`. For an `AnyValue`, the type is known only when the
/// value exists.
pub(crate) fn known(name: &TypeName) -> Option<TypeName> {
    let known = name.head() != "AnyValue" && name.args().iter().all(|part| known(part).is_some());
    known.then(|| name.clone())
}
