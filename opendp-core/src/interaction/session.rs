//! Conversations about one data set.

use std::{fmt, sync::Arc};

use serde_json::{Value as Json, json};

use super::queryable::Queryable;
use super::turn::{Bindings, Turn, Turns};
use crate::erased::{AnyMeasurement, AnyValue};
use crate::{
    Carrier, Codec, Domain, Error, Interaction, Measure, Measurement, Metric, Named, PrivacyMapRef,
    Result, Space, TypeName, Whole,
};

/// The rule of a session. The rule decides which questions are answered, and adds up the losses of
/// these questions.
///
/// The implementer is responsible for the claimed loss of the whole session. Several threads can
/// call an allowance at the same time.
pub trait Allowance<MI: Metric, MO: Measure>: Send + Sync {
    /// Charge the loss of a question. The session calls this function before it answers the
    /// question. `map` is the privacy map of the question. The charge is never refunded, even if
    /// the answer fails.
    ///
    /// # Errors
    /// `BudgetExceeded` when the question must not be answered. In this case, nothing is charged.
    /// This function also returns the errors of the map.
    fn charge(&self, map: PrivacyMapRef<'_, MI, MO>) -> Result<()>;
    /// Return an upper bound on the loss of all questions so far, for data sets at distance at most
    /// `d_in`.
    ///
    /// # Errors
    /// The errors of the maps. `FailedMap` when no bound is known at `d_in`.
    fn loss(&self, d_in: &MI::Distance) -> Result<MO::Distance>;
    /// Return the remaining budget, rounded down.
    ///
    /// # Errors
    /// `NotImplemented` when there is no limit.
    fn left(&self) -> Result<MO::Distance>;
}

/// A conversation about one data set. Each question is a measurement.
///
/// Clones share one conversation. Any number of threads can ask questions at the same time. The
/// loss of a question is charged before the question is answered. The [`Allowance`] adds up the
/// charges one at a time. Some measures compose interactive mechanisms only [one after the
/// other](Interaction::Sequential). For these measures, questions are also answered one at a time.
/// Under such a measure, each question closes all queryables and sessions that earlier answers have
/// opened, directly or indirectly.
///
/// Queryables and sessions are conversations. A session can later close only the conversations that
/// it finds in an answer. The function of a question and its [post-processing](Measurement::then)
/// get these conversations before the session finds them. So the function and the post-processing
/// must not keep a conversation without a [`Handle`](crate::Handle). They may pass a conversation
/// on only in the answer. If a conversation is kept without a handle, the session does not close
/// this conversation. Then the bound does not include the loss of this conversation.
pub struct Session<DI: Domain, MI: Metric, MO: Measure> {
    inner: Option<Arc<Inner<DI, MI, MO>>>,
    bindings: Bindings,
}
struct Inner<DI: Domain, MI: Metric, MO: Measure> {
    input: Space<DI, MI>,
    measure: MO,
    data: DI::Carrier,
    allowance: Box<dyn Allowance<MI, MO>>,
    /// The sequence of turns, if the measure composes interactive mechanisms only one after the
    /// other.
    turns: Option<Turns>,
}

impl<DI: Domain, MI: Metric, MO: Measure> Session<DI, MI, MO> {
    /// Open a session on a copy of a data set. The caller is responsible for a correct allowance.
    pub fn new(
        input: Space<DI, MI>,
        measure: MO,
        data: &DI::Carrier,
        allowance: impl Allowance<MI, MO> + 'static,
    ) -> Self {
        let turns = match measure.interaction() {
            Interaction::Sequential => Some(Turns::new()),
            Interaction::Concurrent => None,
        };
        let (data, allowance) = (data.clone(), Box::new(allowance));
        let inner = Inner { input, measure, data, allowance, turns };
        Session { inner: Some(Arc::new(inner)), bindings: Bindings::default() }
    }
    /// Ask a question. First charge the loss of the measurement. Then release the answer.
    ///
    /// # Errors
    /// * `DomainMismatch`, `MetricMismatch` or `MeasureMismatch` when the measurement has another
    ///   input space or another measure; nothing is charged
    /// * `BudgetExceeded` when the session does not allow the question; nothing is charged. A
    ///   question with a smaller loss can still be allowed
    /// * `Argument` when the question selects the highest score, but the input space of the session
    ///   states that low scores are best; nothing is charged
    /// * errors of the privacy map of the question, if the session has a budget; nothing is charged
    /// * `FailedFunction` when the turn of this session has ended, and in the cases that
    ///   [`Turns::begin`] states; nothing is released
    /// * errors of the measurement, such as missing random bits; nothing is released, and the
    ///   charge remains
    pub fn ask<TO: Carrier>(&self, question: &Measurement<DI, MI, MO, TO>) -> Result<TO> {
        let inner = self.inner()?;
        question.input().follows(&inner.input).map_err(of_question)?;
        if *question.measure() != inner.measure {
            return Err(Error::MeasureMismatch {
                expected: inner.measure.to_json().to_string(),
                found: question.measure().to_json().to_string(),
            });
        }
        let admit = || inner.allowance.charge(question.map_ref());
        let run = || question.invoke(&inner.data);
        let answer = self.bindings.run(|| match &inner.turns {
            None => admit().and_then(|()| run()),
            Some(turns) => turns.begin(admit, |turn| Ok(run()?.bound_to(&turn))),
        })?;
        Ok(self.bindings.turns().iter().fold(answer, |answer, turn| answer.bound_to(turn)))
    }
    /// Ask a question whose types are erased.
    ///
    /// # Errors
    /// The errors of [`ask`](Session::ask). `FailedCast` when the types differ from the types of
    /// this session.
    pub fn ask_erased(&self, question: &AnyMeasurement) -> Result<AnyValue> {
        self.ask(&question.typed::<DI, MI, MO, AnyValue>()?)
    }
    /// Return an upper bound on the loss of all questions so far, for data sets at distance at most
    /// `d_in`.
    ///
    /// # Errors
    /// The errors of [`Allowance::loss`].
    pub fn loss(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        self.inner()?.allowance.loss(d_in)
    }
    /// Return the remaining budget, rounded down.
    ///
    /// # Errors
    /// `NotImplemented` when there is no budget.
    pub fn left(&self) -> Result<MO::Distance> {
        self.inner()?.allowance.left()
    }
    /// Convert the session to a queryable. The questions of the queryable are measurements, and all
    /// its answers have the type `TO`.
    pub fn queryable<TO: Carrier>(&self) -> Queryable<Measurement<DI, MI, MO, TO>, TO> {
        let session = self.clone();
        Queryable::stateless(move |question| session.ask(question))
    }
    fn inner(&self) -> Result<&Inner<DI, MI, MO>> {
        let empty = || {
            Error::FailedFunction(
                "this session has no data: it is a placeholder in a buffer".into(),
            )
        };
        self.inner.as_deref().ok_or_else(empty)
    }
}

impl<DI: Domain, MI: Metric, MO: Measure> Clone for Session<DI, MI, MO> {
    fn clone(&self) -> Self {
        Session { inner: self.inner.clone(), bindings: self.bindings.clone() }
    }
}
impl<DI: Domain, MI: Metric, MO: Measure> fmt::Debug for Session<DI, MI, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Self::type_name())
    }
}
impl<DI: Domain, MI: Metric, MO: Measure> Named for Session<DI, MI, MO> {
    fn type_name() -> TypeName {
        TypeName::generic("Session", [DI::type_name(), MI::type_name(), MO::type_name()])
    }
}
/// The JSON of a session contains only its type, so a session cannot be restored from JSON.
impl<DI: Domain, MI: Metric, MO: Measure> Codec for Session<DI, MI, MO> {
    fn to_json(&self) -> Json {
        json!({"session": Self::type_name().to_string()})
    }
    fn from_json(_: &Json) -> Result<Self> {
        Err(Error::FailedCast("a session cannot be read from JSON".into()))
    }
    fn bound_to(mut self, turn: &Turn) -> Self {
        self.bindings.bind(turn);
        self
    }
}
impl<DI: Domain, MI: Metric, MO: Measure> Carrier for Session<DI, MI, MO> {
    type Chunk<'a> = Whole<'a, Self>;
    fn chunk(&self) -> Whole<'_, Self> {
        Whole(self)
    }
    /// Make a session that returns an error for every question.
    fn buffer() -> Self {
        Session { inner: None, bindings: Bindings::default() }
    }
    fn reset(&mut self) {
        *self = Self::buffer();
    }
    fn append_rows(&mut self, chunk: Whole<'_, Self>) {
        self.clone_from(chunk.0);
    }
}

/// Exchange `expected` and `found` in an error of `follows`. The function `follows` reports the
/// space of the question as the expected space. The error of a question must report the space of
/// the session as the expected space.
#[cold]
fn of_question(error: Error) -> Error {
    match error {
        Error::DomainMismatch { expected: found, found: expected } => {
            Error::DomainMismatch { expected, found }
        }
        Error::MetricMismatch { expected: found, found: expected } => {
            Error::MetricMismatch { expected, found }
        }
        other => other,
    }
}
