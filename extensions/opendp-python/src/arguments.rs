//! Converts Python values to arguments of constructors.

use opendp_core::{Arg, Args, Constructed, Error, Result, TypeName};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::callbacks::{Callback, is_stop, unless_stopped};
use crate::json;
use crate::objects::{
    Domain, Function, Measure, Measurement, Metric, Odometer, PySpace, Transformation,
};
use crate::recipe::Inner;
use crate::values::is_set;

/// The largest number of constructors on a path through an object. On a path, each constructor made
/// an argument of the previous constructor. When the function or the map of the object runs, each
/// constructor on a path adds a frame to the stack.
const MAX_LINKS: usize = 256;

/// Arguments of a constructor, read from a call in Python.
pub(crate) struct Given {
    pub(crate) args: Args,
    /// A bound on the number of constructors on each path through the new object. The bound is one,
    /// plus the sum of the bounds of all arguments.
    pub(crate) links: usize,
    /// How the objects among the arguments were made.
    pub(crate) inner: Vec<(String, Inner)>,
}
/// An argument with two facts: a bound on the number of constructors on each path through the
/// argument, and how the objects in the argument were made.
type Read = (Arg, usize, Inner);
/// Read the arguments of a call by their names.
pub(crate) fn read(given: &Bound<'_, PyDict>) -> Result<Given> {
    let (mut args, mut links, mut all) = (Args::new(), 1_usize, Vec::new());
    for (name, value) in given.iter() {
        let name: String =
            name.extract().map_err(|_| Error::argument("?", "expected names of arguments"))?;
        let (arg, more, inner) = argument(&value).map_err(|error| match error {
            Error::FailedCast(reason) => Error::argument(&name, reason),
            other => other.at(format!("argument `{name}`")),
        })?;
        args = args.with(&name, arg);
        links = links.saturating_add(more);
        if !matches!(inner, Inner::None) {
            all.push((name, inner));
        }
    }
    check_links(links)?;
    Ok(Given { args, links, inner: all })
}
/// Check that `links`, a bound on the number of constructors on a path, is at most [`MAX_LINKS`].
/// Return `links`.
pub(crate) fn check_links(links: usize) -> Result<usize> {
    if links <= MAX_LINKS {
        return Ok(links);
    }
    let reason = format!("expected at most {MAX_LINKS} links, including links inside arguments");
    Err(Error::argument("chain", reason))
}
/// Return the type of the releases of the measurement in the argument `name`, if the argument is a
/// measurement and this type is known.
pub(crate) fn measurement(given: &Bound<'_, PyDict>, name: &str) -> Option<TypeName> {
    let value = given.get_item(name).ok()??;
    value.cast::<Measurement>().ok()?.get().release.clone()
}
/// Some constructors make an object from the argument `function`. Return the type of the results of
/// this object, or `None` if this type is not known. The signature of such a constructor states
/// only the type `AnyValue`.
pub(crate) fn result(constructor: &str, given: &Bound<'_, PyDict>) -> Option<TypeName> {
    if !["make_user_measurement", "new_function"].contains(&constructor) {
        return None;
    }
    let value = given.get_item("function").ok()??;
    value.cast::<Function>().ok()?.get().output.clone()
}
/// Read a space, or a pair of a domain and a metric.
///
/// # Errors
/// `FailedCast` when the value is neither of them. The error of [`unless_stopped`].
pub(crate) fn space(value: &Bound<'_, PyAny>) -> Result<Arg> {
    match argument(value) {
        Ok((space @ (Arg::Space(_) | Arg::Pair(..)), ..)) => Ok(space),
        Err(error) if is_stop(&error) => Err(error),
        _ => Err(Error::FailedCast("expected a pair of a domain and a metric".into())),
    }
}
fn argument(value: &Bound<'_, PyAny>) -> Result<Read> {
    macro_rules! objects {
        ($($class:ident)*) => {$(
            if let Ok(object) = value.cast::<$class>() {
                let object = object.get();
                let made = Arg::Made(Constructed::from(object.made.clone()));
                return Ok((made, object.links(), object.inner()));
            }
        )*};
    }
    objects!(Domain Metric Measure Transformation Measurement Function Odometer);
    if let Ok(space) = value.cast::<PySpace>() {
        return Ok((space.get().arg.clone(), 0, Inner::None));
    }
    if let Ok(callback) = value.cast::<Callback>() {
        return Ok((callback.get().argument(), 0, Inner::None));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return list(value);
    }
    // An argument is not data, so a set of categories is allowed. The categories have the order in
    // which the set gives its items.
    if is_set(value) {
        let items = value.try_iter().and_then(Iterator::collect::<PyResult<Vec<_>>>);
        let items = items.and_then(|items| PyList::new(value.py(), items));
        return list(of_list(value.py(), items)?.as_any());
    }
    Ok((Arg::Json(json::from_python(value)?), 0, Inner::None))
}
fn list(value: &Bound<'_, PyAny>) -> Result<Read> {
    let py = value.py();
    let mut objects = false;
    for item in of_list(py, value.try_iter())? {
        objects |= is_object(&of_list(py, item)?);
    }
    if !objects {
        return Ok((Arg::Json(json::from_python(value)?), 0, Inner::None));
    }
    let (mut items, mut links, mut all) = (Vec::new(), 0, Vec::new());
    for item in of_list(py, value.try_iter())? {
        let (arg, more, inner) = argument(&of_list(py, item)?)?;
        items.push(arg);
        links = links.max(more);
        all.push(inner);
    }
    // A pair of a domain and a metric is a space. The parameter that takes the space checks the
    // pair.
    let pair = match items.as_slice() {
        [Arg::Made(Constructed::Domain(domain)), Arg::Made(Constructed::Metric(metric))] => {
            Some(Arg::Pair(domain.clone(), metric.clone()))
        }
        _ => None,
    };
    Ok((pair.unwrap_or(Arg::List(items)), links, Inner::List(all)))
}
/// Return a part of a list.
///
/// # Errors
/// `FailedCast` when the list raised an exception. The error of [`unless_stopped`].
fn of_list<T>(py: Python<'_>, part: PyResult<T>) -> Result<T> {
    let unread = || Error::FailedCast("the list cannot be read".into());
    unless_stopped(py, part)?.ok_or_else(unread)
}
fn is_object(item: &Bound<'_, PyAny>) -> bool {
    item.is_instance_of::<Measurement>()
        || item.is_instance_of::<Transformation>()
        || item.is_instance_of::<Domain>()
        || item.is_instance_of::<Metric>()
        || item.is_instance_of::<Measure>()
        || item.is_instance_of::<Function>()
}
