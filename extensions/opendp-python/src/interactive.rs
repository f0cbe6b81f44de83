//! Interactive mechanisms: sessions and queryables. The questions of a session are measurements.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use opendp_core::erased::{
    AnyDistance, AnyDomain, AnyMeasure, AnyMeasurement, AnyMetric, AnyValue,
};
use opendp_core::{
    AbsoluteDistance, Argument as _, AtomDomain, Codec, Error, Function, Handle, PrivacyMap,
    Queryable, Result, Session, Space, TheMeasure, Transformation, UserDivergence,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::{OrRaise, detached, in_python};
use crate::forked::Opened;
use crate::objects::{Measurement, Transformation as PyTransformation};
use crate::values::{self, Cell};
use crate::{arguments, extrinsic::Extrinsic, json};

/// A session whose domain and metric are known only at run time.
pub(crate) type AnySession = Session<AnyDomain, AnyMetric, AnyMeasure>;
/// A question of the sparse vector technique.
type Sparse<T, Q> = Transformation<AnyDomain, AnyMetric, AtomDomain<T>, AbsoluteDistance<Q>>;

/// Bind a conversation to the turns of its handle. A turn is the permission to answer that a
/// conversation gets when it is opened. The turn ends when a later question begins.
///
/// A Python function can return the object of a conversation inside of a list or another object,
/// and can keep the object elsewhere. Then the library cannot find the conversation in the answer.
/// So each object of a conversation has a handle, which gets the turns in which the object was
/// made.
fn bound<T: Codec>(conversation: T, handle: &Handle) -> T {
    handle.turns().iter().fold(conversation, |conversation, turn| conversation.bound_to(turn))
}

/// An interactive mechanism on one data set. Each question is a measurement.
#[pyclass(frozen, module = "opendp_rs")]
pub(crate) struct OdometerQueryable {
    session: AnySession,
    handle: Handle,
    /// The metric on the data sets. Without a metric, `privacy_loss` returns an error.
    metric: Option<AnyMetric>,
    /// The number of questions that were charged. All objects that `within` makes for one session
    /// share this number.
    charged: Arc<AtomicUsize>,
    opened: Opened,
}
impl OdometerQueryable {
    pub(crate) fn new(session: AnySession, metric: Option<AnyMetric>) -> Self {
        let (handle, charged, opened) = (Handle::new(), Arc::default(), Opened::budget());
        OdometerQueryable { session, handle, metric, charged, opened }
    }
}
#[pymethods]
impl OdometerQueryable {
    /// Ask a question: charge the loss of the measurement, then release the answer of the
    /// measurement.
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Ok(question) = query.cast::<Measurement>() else {
            return Err(crate::errors::exception(py, &not_a("measurement")));
        };
        let question = question.get();
        let answer = self.opened.ask(py, || {
            let question = counted(&question.made, &self.charged);
            let session = bound(self.session.clone(), &self.handle);
            detached(py, move || session.ask_erased(&question))
        });
        let answer = in_python(py, answer)?;
        question.output(py, &answer)
    }
    /// Ask a question of the mechanism.
    fn invoke<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.__call__(py, query)
    }
    /// Bound the loss of all questions so far, for two data sets at distance `d_in`. If a chain or
    /// a function opened the session, call `within` first. Then state the distance in the metric of
    /// the session, and not in the metric of the chain.
    fn privacy_loss<'py>(
        &self,
        py: Python<'py>,
        d_in: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let d_in = json::distance_from_python(d_in, "d_in").or_raise(py)?;
        let Some(metric) = &self.metric else {
            let error = Error::NotImplemented(
                "the metric of `d_in` is not known, because a chain or a function opened this \
                 session; call `within((domain, metric))` with the input space of the questions, \
                 and then `privacy_loss` of its result; `remaining_budget()` returns what is left; \
                 the map of the measurement that opened the session bounds the loss of all questions"
                    .into(),
            );
            return Err(crate::errors::exception(py, &error));
        };
        let d_in = metric.decode(&d_in).or_raise(py)?;
        let session = self.session.clone();
        let loss = detached(py, move || session.loss(&d_in))?;
        json::distance(py, &loss)
    }
    /// Return the remaining budget, rounded down.
    fn remaining_budget<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let session = self.session.clone();
        let left = detached(py, move || session.left())?;
        json::distance(py, &left)
    }
    /// Return another object for the same session. The new object can bound the loss of the
    /// questions so far. `space` is a space, or a pair of a domain and a metric. It must be the
    /// input space of the session. For a space with another metric, no bound on the loss is proved.
    fn within(&self, space: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = space.py();
        let located = |error: Error| error.at("argument `space`");
        let space = arguments::space(space).map_err(located).or_raise(py)?;
        let space =
            Space::<AnyDomain, AnyMetric>::from_arg(&space).map_err(located).or_raise(py)?;
        in_python(py, check_space(&self.session, &space).or_raise(py))?;
        let (session, handle) = (self.session.clone(), self.handle.clone());
        let (charged, opened) = (self.charged.clone(), self.opened.clone());
        let metric = Some(space.metric().clone());
        Ok(OdometerQueryable { session, handle, metric, charged, opened })
    }
    /// The number of questions that were charged through this object and through objects from
    /// `within`. A refused question is not charged. A question is also charged if its answer
    /// failed.
    #[getter]
    fn charged(&self) -> usize {
        self.charged.load(SeqCst)
    }
    fn __repr__(&self) -> &'static str {
        "OdometerQueryable"
    }
}
/// Make a measurement that adds 1 to `charged` when a session has charged the measurement. A
/// session charges a question first, and then runs the function of the question. So the function
/// adds the 1, even if the answer then fails. The map is the same object as the map of the
/// question.
fn counted(question: &AnyMeasurement, charged: &Arc<AtomicUsize>) -> AnyMeasurement {
    let (inner, charged) = (question.function().clone(), charged.clone());
    let function = Function::map(move |data: &AnyValue| -> Result<AnyValue> {
        charged.fetch_add(1, SeqCst);
        inner.eval(data)
    });
    let (input, measure) = (question.input().clone(), question.measure().clone());
    AnyMeasurement::new(input, measure, function, question.privacy_map())
}
/// Check that a space is the input space of a session.
///
/// The check asks a question in a measure that no session has. A session first compares the space
/// of a question with its own space, and then compares the measures. So the question is always
/// rejected, and nothing is charged. If the error is about the measure, the spaces are the same.
fn check_space(session: &AnySession, space: &Space<AnyDomain, AnyMetric>) -> Result<()> {
    let rejected = || Error::FailedFunction("this question has no answer".into());
    let measure = AnyMeasure::from(TheMeasure(UserDivergence::new("the space of a session")));
    let function = Function::map(move |_: &AnyValue| -> Result<AnyValue> { Err(rejected()) });
    let map = PrivacyMap::<AnyMetric, AnyMeasure>::new(move |_: &AnyDistance| Err(rejected()));
    match session.ask_erased(&AnyMeasurement::new(space.clone(), measure, function, map)) {
        Ok(_) | Err(Error::MeasureMismatch { .. }) => Ok(()),
        Err(error) => Err(error.at("the stated space is not the input space of the session")),
    }
}

/// An interactive mechanism whose loss is fixed before the first question.
#[pyclass(frozen, name = "Queryable", module = "opendp_rs")]
pub(crate) struct PyQueryable {
    inner: AnyValue,
    handle: Handle,
    opened: Opened,
}
macro_rules! not_pickled {
    ($($class:ident)*) => {$(
        #[pymethods]
        impl $class {
            /// A copy of the object could spend the same budget again. So there is no copy.
            fn __reduce__(&self) -> PyResult<()> {
                Err(PyTypeError::new_err(
                    "a queryable, a session and a context cannot be pickled or copied, because \
                     they contain the data and what was spent; pickle the measurement or the \
                     odometer that opens them",
                ))
            }
        }
    )*};
}
not_pickled!(OdometerQueryable PyQueryable);

#[pymethods]
impl PyQueryable {
    /// Ask a question of the mechanism.
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let answer = self.opened.ask(py, || {
            let inner = bound(self.inner.clone(), &self.handle);
            ask(py, &inner, query)
        })?;
        values::to_python(py, &answer)
    }
    /// Ask a question of the mechanism.
    fn eval<'py>(&self, py: Python<'py>, query: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.__call__(py, query)
    }
    fn __repr__(&self) -> String {
        self.inner.inner_type().to_string()
    }
}
pub(crate) fn session<'py>(py: Python<'py>, session: AnySession) -> PyResult<Bound<'py, PyAny>> {
    Ok(Bound::new(py, OdometerQueryable::new(session, None))?.into_any())
}
pub(crate) fn queryable<'py>(py: Python<'py>, value: &AnyValue) -> PyResult<Bound<'py, PyAny>> {
    let (inner, handle, opened) = (value.clone(), Handle::new(), Opened::queryable());
    Ok(Bound::new(py, PyQueryable { inner, handle, opened })?.into_any())
}
#[cold]
fn not_a(expected: &str) -> Error {
    Error::argument("query", format!("expected a {expected}"))
}

/// Ask a queryable whose type is known only at run time.
fn ask(py: Python<'_>, inner: &AnyValue, query: &Bound<'_, PyAny>) -> PyResult<AnyValue> {
    if let Ok(own) = inner.downcast_ref::<Queryable<AnyValue, AnyValue>>() {
        let (own, query) = (own.clone(), Extrinsic::value(query));
        return detached(py, move || own.ask(&query));
    }
    macro_rules! keys {
        ($($k:ident)*) => {$(
            if let Ok(table) = inner.downcast_ref::<Queryable<$k, f64>>() {
                let expected = || not_a(concat!("key of type ", stringify!($k)));
                let key = <$k>::from_python(query).and_then(|key| key.ok_or_else(expected));
                let key = key.or_raise(py)?;
                let table = table.clone();
                return detached(py, move || table.ask(&key).map(AnyValue::new));
            }
        )*};
    }
    keys!(String bool i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
    macro_rules! sparse {
        ($($t:ident: $($q:ident)*;)*) => {$($(
            if let Ok(sparse) = inner.downcast_ref::<Queryable<Sparse<$t, $q>, bool>>() {
                let Ok(question) = query.cast::<PyTransformation>() else {
                    return Err(crate::errors::exception(py, &not_a("transformation")));
                };
                let (sparse, question) = (sparse.clone(), question.get().made.clone());
                return detached(py, move || {
                    let question: Sparse<$t, $q> = question.typed()?;
                    sparse.ask(&question).map(AnyValue::new)
                });
            }
        )*)*};
    }
    sparse! {
        i32: i32 f64; i64: i64 f64; u32: u32 f64; u64: u64 f64; usize: usize f64; f32: f32 f64; f64: f64;
    }
    let reason = format!(
        "questions to an object of type {} cannot be asked from Python",
        inner.inner_type()
    );
    let unknown: Result<AnyValue> = Err(Error::NotImplemented(reason));
    unknown.or_raise(py)
}
