//! Private mechanisms.

use std::mem::replace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{fmt, marker::PhantomData, sync::Arc};

use crate::arith::Exact;
use crate::erased::{AnyMeasure, AnyMeasurement, shared};
use crate::function::Stage;
use crate::map::Untyped as UntypedMap;
use crate::space::Untyped as UntypedSpace;
use crate::{
    Carrier, Constructed, Distance, Domain, Error, Function, Measure, Metric, Partial, PrivacyMap,
    PrivacyMapRef, Result, Space, TypeName,
};

/// A function of alpha that bounds the error of each answer. Each bound fails with probability at
/// most alpha.
pub type Accuracy = Arc<dyn Fn(f64) -> Result<Vec<Option<f64>>> + Send + Sync>;

/// A randomized function with a bound on its privacy loss.
///
/// The claim is as follows. Let `x` and `x'` be any members of the input domain at distance at most
/// `d_in`. Then the distributions of the releases on `x` and on `x'` are at distance at most
/// `map(d_in)` in the measure. A measurement is immutable and cheap to clone, and several threads
/// can use it at the same time. Each call of `invoke` is a new release, and each release has its
/// own loss.
pub struct Measurement<DI: Domain, MI: Metric, MO: Measure, TO: Carrier> {
    pub(crate) input: Space<DI, MI>,
    pub(crate) function: Function<DI::Carrier, TO>,
    /// Clones of a measurement share this object.
    pub(crate) claims: Arc<Claims>,
    pub(crate) types: PhantomData<fn(&MI) -> MO>,
}
/// The claims that a measurement states, with their types erased. Because the types are erased,
/// code that copies or drops claims is compiled only once.
#[derive(Clone)]
pub(crate) struct Claims {
    /// The measure of type `MO`.
    pub(crate) measure: AnyMeasure,
    /// The map of type `PrivacyMap<MI, MO>`.
    pub(crate) map: UntypedMap,
    accuracy: Option<Stated>,
}
/// The stated accuracy of the answers.
#[derive(Clone)]
enum Stated {
    /// The accuracy of a release of the type with the name `type_name`. If the answers are choices,
    /// each bound is in the unit of scores.
    Own { bounds: Accuracy, in_scores: bool, type_name: fn() -> TypeName },
    /// A function that returns the members of a composition, in order. The members are listed only
    /// when they are needed, so that a composition is made quickly.
    OfMembers(Arc<dyn Fn() -> Vec<Member> + Send + Sync>),
}
/// A member of a composition: its claims, and a function that names the type of its release.
struct Member {
    claims: Arc<Claims>,
    type_name: fn() -> TypeName,
}
// For the C ABI, see `shared`.
#[allow(improper_ctypes_definitions, reason = "no C code calls these functions")]
impl Claims {
    /// Make the claims of a measurement without a stated accuracy.
    extern "C" fn new<MO: Measure>(measure: MO, map: UntypedMap) -> Arc<Self> {
        Claims::of(AnyMeasure::new(measure), map, None)
    }
    extern "C" fn with_loss<MO: Measure>(&self, measure: MO, map: UntypedMap) -> Arc<Self> {
        Claims::of(AnyMeasure::new(measure), map, self.accuracy.clone())
    }
    fn of(measure: AnyMeasure, map: UntypedMap, accuracy: Option<Stated>) -> Arc<Self> {
        Arc::new(Claims { measure, map, accuracy })
    }
    /// Set the accuracy. Other owners of the claims keep the earlier accuracy. If the drop of the
    /// earlier accuracy panics, this panic ends here, because the caller has the C ABI.
    extern "C" fn set_accuracy(claims: &mut Arc<Self>, accuracy: Option<Stated>) {
        let earlier = replace(&mut Arc::make_mut(claims).accuracy, accuracy);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(earlier)));
    }
    /// State the accuracy of the answers of one release, whose type has the name `type_name`.
    extern "C" fn state(
        claims: &mut Arc<Self>,
        bounds: Accuracy,
        in_scores: bool,
        type_name: fn() -> TypeName,
    ) {
        let stated = Stated::Own { bounds, in_scores, type_name };
        Claims::set_accuracy(claims, Some(stated));
    }
    /// Return bounds on the errors of all answers. Each bound fails with probability at most
    /// `alpha`.
    fn bounds(&self, alpha: f64) -> Result<Vec<Option<f64>>> {
        if !(0.0 < alpha && alpha <= 1.0) {
            return Err(Error::InvalidDistance(format!(
                "alpha: expected a probability above 0 and at most 1, found {alpha:?}"
            )));
        }
        match &self.accuracy {
            Some(Stated::Own { bounds, .. }) => bounds(alpha),
            Some(Stated::OfMembers(members)) => {
                let each = members().into_iter().map(|member| member.claims.bounds(alpha));
                Ok(each.collect::<Result<Vec<_>>>()?.concat())
            }
            None => Ok(vec![None]),
        }
    }
    /// Return the types of the answers. `own` names the type of the release.
    fn answer_types(&self, own: fn() -> TypeName) -> Vec<TypeName> {
        match &self.accuracy {
            Some(Stated::Own { type_name, .. }) => vec![type_name()],
            Some(Stated::OfMembers(members)) => {
                let each = members().into_iter();
                each.flat_map(|member| member.claims.answer_types(member.type_name)).collect()
            }
            None => vec![own()],
        }
    }
    /// Return whether a bound is in the unit of scores.
    fn in_scores(&self) -> bool {
        match &self.accuracy {
            Some(Stated::Own { in_scores, .. }) => *in_scores,
            Some(Stated::OfMembers(members)) => {
                members().iter().any(|member| member.claims.in_scores())
            }
            None => false,
        }
    }
    fn erased(&self) -> Arc<Self> {
        Claims::of(self.measure.real(), self.map.erased(), self.accuracy.clone())
    }
    /// Return the parts of a measurement with these claims, without an accuracy, whose stage `next`
    /// runs after `stage`.
    fn then(&self, input: &UntypedSpace, stage: &Stage, next: &Stage) -> Parts {
        let claims = Claims::of(self.measure.clone(), self.map.clone(), None);
        Parts { input: input.clone(), stage: stage.then(next), claims }
    }
    pub(crate) fn with_map(&self, map: UntypedMap) -> Arc<Self> {
        Claims::of(self.measure.clone(), map, self.accuracy.clone())
    }
}

// For the C ABI, see `shared`. Functions with this ABI store their arguments, but call nothing.
#[allow(improper_ctypes_definitions, reason = "no C code calls these functions")]
impl<DI: Domain, MI: Metric, MO: Measure, TO: Carrier> Measurement<DI, MI, MO, TO> {
    /// Make a measurement from its parts. The caller is responsible for the claim that
    /// [`Measurement`] states.
    pub extern "C" fn new(
        input: Space<DI, MI>,
        measure: MO,
        mut function: Function<DI::Carrier, TO>,
        map: PrivacyMap<MI, MO>,
    ) -> Self {
        function.stage.within(&input.untyped);
        let claims = Claims::new(measure, map.untyped);
        Measurement { input, function, claims, types: PhantomData }
    }
    pub(crate) fn into_parts(self) -> Parts {
        Parts { input: self.input.untyped, stage: self.function.stage, claims: self.claims }
    }
    /// State the accuracy of the answers. For each alpha, `accuracy` returns bounds on the errors
    /// of the answers. Each bound fails with probability at most alpha.
    #[must_use]
    pub extern "C" fn with_accuracy(
        mut self,
        accuracy: impl Fn(f64) -> Result<Vec<Option<f64>>> + Send + Sync + 'static,
    ) -> Self {
        Claims::state(&mut self.claims, shared(accuracy), false, TO::type_name);
        self
    }
    /// State the accuracy of a choice. For each alpha, `accuracy` returns a bound on the difference
    /// between the score of the chosen candidate and the best score. The bound fails with
    /// probability at most alpha.
    #[must_use]
    pub extern "C" fn with_accuracy_of_scores(
        mut self,
        accuracy: impl Fn(f64) -> Result<Vec<Option<f64>>> + Send + Sync + 'static,
    ) -> Self {
        Claims::state(&mut self.claims, shared(accuracy), true, TO::type_name);
        self
    }
    /// State that a release consists of one release of each measurement in `members`, in this
    /// order. So the list of the bounds on the errors begins with the bounds of the first member,
    /// then has the bounds of the second member, and so on.
    #[must_use]
    pub extern "C" fn with_accuracy_of<DJ: Domain, MJ: Metric, MK: Measure, TJ: Carrier>(
        mut self,
        members: impl AsRef<[Measurement<DJ, MJ, MK, TJ>]> + Send + Sync + 'static,
    ) -> Self {
        let listed = shared(move || listed(members.as_ref()));
        Claims::set_accuracy(&mut self.claims, Some(Stated::OfMembers(listed)));
        self
    }
    /// Return the types of the answers whose errors [`accuracy`](Measurement::accuracy) bounds. For
    /// a composition, return the types of the answers of all members.
    pub fn answer_types(&self) -> Vec<TypeName> {
        self.claims.answer_types(TO::type_name)
    }
    /// Return whether [`accuracy`](Measurement::accuracy) bounds differences between scores, and
    /// not errors of numbers. For a composition, return whether this is true for a member.
    pub fn bounds_scores(&self) -> bool {
        self.claims.in_scores()
    }
    /// Return the input space.
    pub fn input(&self) -> &Space<DI, MI> {
        &self.input
    }
    /// Return the privacy measure.
    pub fn measure(&self) -> &MO {
        self.claims.measure.known()
    }
    /// Return the function of the measurement.
    pub fn function(&self) -> &Function<DI::Carrier, TO> {
        &self.function
    }
    /// Draw one release. If the function folds many rows and their order is irrelevant, use all
    /// cores.
    ///
    /// # Errors
    /// `NoEntropy` when the operating system gives no random bits. Then nothing is released. Also
    /// the errors of the stages of the function. These errors do not depend on the data.
    pub fn invoke(&self, data: &DI::Carrier) -> Result<TO> {
        self.function.eval(data)
    }
    /// Draw one release of a data set that arrives in chunks.
    ///
    /// # Errors
    /// `NotImplemented` when the function needs its whole input at once. This function also returns
    /// the errors of the stream and of [`invoke`](Measurement::invoke).
    pub fn invoke_chunks(
        &self,
        chunks: impl IntoIterator<Item = Result<DI::Carrier>>,
    ) -> Result<TO> {
        self.function.eval_chunks(chunks)
    }
    /// Begin a partial result. The caller can merge this partial result with other partial results,
    /// and must finish the merged result only once.
    ///
    /// # Errors
    /// `NotImplemented` if the function does not fold its rows, or if the order of the rows
    /// matters.
    pub fn start(&self) -> Result<Partial<DI::Carrier, TO>> {
        self.function.start()
    }
    /// Return an upper bound on the privacy loss of one release, for data sets at distance at most
    /// `d_in`.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` is negative or NaN. This function also returns the errors of the
    /// map, such as `Overflow` when the bound exceeds the largest number of the type of losses.
    pub fn map(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        self.map_ref().eval(d_in)
    }
    /// Return an upper bound on the privacy loss, as [`map`](Measurement::map) does, but in exact
    /// numbers. The result has one number for each [part](Measure::parts) of a loss. The numbers of
    /// several releases can be added exactly. Odometers and filters charge this bound.
    ///
    /// # Errors
    /// The errors of [`PrivacyMapRef::eval_exact`].
    pub fn exact_map(&self, d_in: &MI::Distance) -> Result<Vec<Exact>> {
        self.map_ref().eval_exact(self.measure(), d_in)
    }
    /// Return whether another measurement, such as a clone, has the same map object. If the map
    /// object is the same, one evaluation of the map is enough for both measurements.
    pub fn shares_map(&self, other: &Self) -> bool {
        self.claims.map.is(&other.claims.map)
    }
    /// Return the privacy map.
    pub fn privacy_map(&self) -> PrivacyMap<MI, MO> {
        self.map_ref().to_owned()
    }
    pub(crate) fn map_ref(&self) -> PrivacyMapRef<'_, MI, MO> {
        self.claims.map.privacy_ref()
    }
    /// Return whether the map bounds the loss of one release by `d_out`: `map(d_in) <= d_out`.
    ///
    /// # Errors
    /// The errors of the map and of [`Distance::at_most`].
    pub fn check(&self, d_in: &MI::Distance, d_out: &MO::Distance) -> Result<bool> {
        self.map(d_in)?.at_most(d_out)
    }
    /// Return an upper bound on the error of each answer. Each bound fails with probability at most
    /// `alpha`. Return `None` for an answer without a known bound.
    ///
    /// # Errors
    /// `InvalidDistance` when `alpha` is not in `(0, 1]`. This function also returns the errors of
    /// the function that computes the bounds.
    pub fn accuracy(&self, alpha: f64) -> Result<Vec<Option<f64>>> {
        self.claims.bounds(alpha)
    }
    /// Keep the release, and state its loss in another measure. The caller is responsible for the
    /// new claim.
    ///
    /// Conversions between measures use this function.
    pub fn with_loss<MX: Measure>(
        &self,
        measure: MX,
        map: PrivacyMap<MI, MX>,
    ) -> Measurement<DI, MI, MX, TO> {
        let (input, function) = (self.input.clone(), self.function.clone());
        let claims = self.claims.with_loss(measure, map.untyped);
        Measurement { input, function, claims, types: PhantomData }
    }
    /// Append a function that uses only the release. The result states no bound on the error of its
    /// answers.
    ///
    /// The privacy loss does not change. The reason is that a result that is computed only from a
    /// release reveals at most as much as the release (Dwork, Roth 2014, on post-processing).
    ///
    /// A queryable or a session is a conversation. Suppose that a [`Session`](crate::Session) makes
    /// this release, and that the release is a conversation. When the session gets its next
    /// question, the session can end the conversation. But the session finds only the conversations
    /// in the result of the appended function. So the appended function must not keep the
    /// conversation, and may pass the conversation on only in its result. Otherwise the
    /// conversation can continue after the next question, and the loss of the session can exceed
    /// its bound.
    ///
    /// # Errors
    /// The errors of `next`.
    pub fn then<P: Carrier>(
        &self,
        next: impl FnOnce() -> Result<Function<TO, P>>,
    ) -> Result<Measurement<DI, MI, MO, P>> {
        match next() {
            Ok(next) => {
                let (input, stage) = (&self.input.untyped, &self.function.stage);
                let Parts { input, stage, claims } = self.claims.then(input, stage, &next.stage);
                Ok(Measurement {
                    input: Space { untyped: input, types: PhantomData },
                    function: Function { stage, run: Stage::eval },
                    claims,
                    types: PhantomData,
                })
            }
            Err(error) => Err(error),
        }
    }
}

fn listed<DJ: Domain, MJ: Metric, MK: Measure, TJ: Carrier>(
    measurements: &[Measurement<DJ, MJ, MK, TJ>],
) -> Vec<Member> {
    let mut members = Vec::with_capacity(measurements.len());
    for measurement in measurements {
        let claims = measurement.claims.clone();
        members.push(Member { claims, type_name: TJ::type_name });
    }
    members
}

/// The parts of a measurement, with their types erased. Because the types are erased, code that
/// moves or drops all parts is compiled only once.
pub(crate) struct Parts {
    pub(crate) input: UntypedSpace,
    pub(crate) stage: Stage,
    pub(crate) claims: Arc<Claims>,
}
impl Parts {
    pub(crate) fn erased(self) -> AnyMeasurement {
        let claims = self.claims.erased();
        Measurement {
            input: self.input.erased(),
            function: Function::erased(self.stage),
            claims,
            types: PhantomData,
        }
    }
}

/// Erase a measurement, given as its parts. See [`Parts`].
pub(crate) fn constructed(
    input: UntypedSpace,
    stage: Stage,
    claims: Arc<Claims>,
) -> Result<Constructed> {
    Ok(Constructed::Measurement(Parts { input, stage, claims }.erased()))
}

impl<DI: Domain, MI: Metric, MO: Measure, TO: Carrier> Clone for Measurement<DI, MI, MO, TO> {
    fn clone(&self) -> Self {
        Measurement {
            input: self.input.clone(),
            function: self.function.clone(),
            claims: self.claims.clone(),
            types: PhantomData,
        }
    }
}
impl<DI: Domain, MI: Metric, MO: Measure, TO: Carrier> fmt::Debug for Measurement<DI, MI, MO, TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measurement")
            .field("input", &self.input)
            .field("measure", &self.claims.measure)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
