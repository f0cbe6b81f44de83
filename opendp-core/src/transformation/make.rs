//! Ways to make a transformation that need little compiled code for each choice of types.
//!
//! In each function, one call moves all parts into code that is compiled once. So the compiler
//! writes no code that drops parts after a panic.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Parts, Transformation};
use crate::erased::{AnyDomain, AnyMetric};
use crate::function::Stage;
use crate::map::Untyped as UntypedMap;
use crate::space::{Untyped as UntypedSpace, fits};
use crate::{
    Carrier, DatasetMetric, Domain, Error, Function, Metric, MetricOn, Result, Space, StabilityMap,
    VectorDomain,
};

/// A function that takes the number of records, if it is known, and the input metric. The function
/// returns the output space and the map of a transformation.
pub type Outcome<MI, DO, MO> =
    fn(Option<usize>, &MI) -> Result<(Space<DO, MO>, StabilityMap<MI, MO>)>;
/// A function that takes the number of records, if it is known, and the input metric. The function
/// returns the output metric and the map of a transformation.
pub type Remeasured<MI, MO> = fn(Option<usize>, &MI) -> Result<(MO, StabilityMap<MI, MO>)>;

/// Set the types of the parts of a transformation.
macro_rules! typed {
    ($parts:expr, $run:expr) => {
        match $parts {
            Ok(Parts { input, output, stage, map }) => Ok(Transformation {
                input: Space { untyped: input, types: PhantomData },
                output: Space { untyped: output, types: PhantomData },
                function: Function { stage, run: $run },
                map: StabilityMap { untyped: map, types: PhantomData },
            }),
            Err(error) => Err(error),
        }
    };
}

impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> Transformation<DI, MI, DO, MO> {
    /// Make a transformation whose output space is the pair of `domain` and `metric`. The caller is
    /// responsible for the claim that [`Transformation`] states.
    ///
    /// A function of the C ABI never unwinds, because a panic in it ends the process. So the
    /// callers need no code that drops their values after a panic. This saves much code, because
    /// the callers are compiled for many types.
    ///
    /// # Errors
    /// `MetricSpace` when `domain` and `metric` do not form a metric space, or when
    /// [`MetricOn::check`] panics.
    #[allow(improper_ctypes_definitions, reason = "no C code calls it")]
    pub extern "C" fn checked(
        input: Space<DI, MI>,
        domain: DO,
        metric: MO,
        function: Function<DI::Carrier, DO::Carrier>,
        map: StabilityMap<MI, MO>,
    ) -> Result<Self>
    where
        MO: MetricOn<DO>,
    {
        let Function { stage, run } = function;
        let (domain, metric) = (AnyDomain::new(domain), AnyMetric::new(metric));
        let fits = fits::<DO, MO>;
        typed!(Parts::checked(input.untyped, domain, metric, fits, stage, map.untyped), run)
    }
    /// Make a transformation from two functions. `outcome` returns the output space and the map.
    /// `function` returns the function of the transformation. The caller is responsible for the
    /// claim that [`Transformation`] states.
    ///
    /// Both arguments are functions, because functions need no code that drops them after a panic.
    /// `function` must return a function of rows or a fold. A [`map`](Function::map) gives the same
    /// results, but erases its output.
    ///
    /// # Errors
    /// The errors of `outcome`.
    pub fn from_fns(
        input: Space<DI, MI>,
        outcome: Outcome<MI, DO, MO>,
        function: fn() -> Function<DI::Carrier, DO::Carrier>,
    ) -> Result<Self> {
        typed!(Parts::from_fns(input.untyped, &outcome, &function), Stage::eval)
    }
    /// Make a transformation with the same function and the same output space, on an input space
    /// with another metric. The caller is responsible for the claim that [`Transformation`] states.
    #[must_use]
    pub fn on<MX: Metric>(
        &self,
        input: Space<DI, MX>,
        map: StabilityMap<MX, MO>,
    ) -> Transformation<DI, MX, DO, MO> {
        let (output, function) = (&self.output.untyped, &self.function);
        let parts = Parts::on(input.untyped, output, &function.stage, map.untyped);
        Transformation {
            input: Space { untyped: parts.input, types: PhantomData },
            output: Space { untyped: parts.output, types: PhantomData },
            function: Function { stage: parts.stage, run: function.run },
            map: StabilityMap { untyped: parts.map, types: PhantomData },
        }
    }
}
impl<D: Domain, MI: Metric, MO: MetricOn<D>> Transformation<D, MI, D, MO> {
    /// Make a transformation whose output domain is the input domain. The arguments are functions,
    /// as in [`from_fns`](Transformation::from_fns). The caller is responsible for the claim that
    /// [`Transformation`] states.
    ///
    /// # Errors
    /// The errors of `metric`. `MetricSpace` when the output metric does not fit the domain.
    pub fn remeasured(
        input: Space<D, MI>,
        metric: Remeasured<MI, MO>,
        function: fn() -> Function<D::Carrier, D::Carrier>,
    ) -> Result<Self> {
        typed!(Parts::remeasured(input.untyped, &metric, fits::<D, MO>, &function), Stage::eval)
    }
}
impl<D: Domain, E: Domain, M> Transformation<VectorDomain<D>, M, VectorDomain<E>, M>
where
    M: DatasetMetric + MetricOn<VectorDomain<E>>,
{
    /// Make a transformation whose function acts on each record alone and keeps all records.
    /// `element` returns the element domain of the output. The arguments are functions, as in
    /// [`from_fns`](Transformation::from_fns). The caller is responsible for the claim that
    /// [`Transformation`] states.
    ///
    /// # Errors
    /// `MetricSpace` when the metric does not fit the domain of the output.
    pub fn each(
        input: Space<VectorDomain<D>, M>,
        element: fn() -> E,
        function: fn() -> Function<Vec<D::Carrier>, Vec<E::Carrier>>,
    ) -> Result<Self> {
        let fits = fits::<VectorDomain<E>, M>;
        typed!(Parts::each_of(input.untyped, &element, fits, &function), Stage::eval)
    }
    /// Make a transformation whose function keeps or drops each record alone, and then acts on each
    /// kept record alone. If `all` is `true`, the function keeps all records. `element` is the
    /// element domain of the output. The caller is responsible for the claim that
    /// [`Transformation`] states.
    ///
    /// # Errors
    /// `MetricSpace` when the metric does not fit the domain of the output.
    pub fn each_kept(
        input: Space<VectorDomain<D>, M>,
        element: E,
        all: bool,
        function: Function<Vec<D::Carrier>, Vec<E::Carrier>>,
    ) -> Result<Self> {
        let Function { stage, run } = function;
        let records = records(element);
        typed!(Parts::each(input.untyped, records, all, fits::<VectorDomain<E>, M>, stage), run)
    }
}

/// Return the domain of data sets with records in `element`. See [`AnyDomain::new`] for the C ABI.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn records<E: Domain>(element: E) -> AnyDomain {
    AnyDomain::new(VectorDomain::new(element))
}
/// A function that returns a domain of records.
trait Element {
    /// Return the domain of data sets with these records.
    fn records(&self) -> AnyDomain;
}
impl<E: Domain> Element for fn() -> E {
    fn records(&self) -> AnyDomain {
        records(self())
    }
}
/// A function that returns a typed function.
trait Typed {
    fn stage(&self) -> Stage;
}
impl<I: Carrier, O: Carrier> Typed for fn() -> Function<I, O> {
    fn stage(&self) -> Stage {
        self().stage
    }
}
/// An [`Outcome`] whose types are erased.
trait ErasedOutcome {
    fn of(&self, input: &UntypedSpace) -> Result<(UntypedSpace, UntypedMap)>;
}
impl<MI: Metric, DO: Domain, MO: Metric> ErasedOutcome for Outcome<MI, DO, MO> {
    fn of(&self, input: &UntypedSpace) -> Result<(UntypedSpace, UntypedMap)> {
        match self(input.domain.records(), input.metric.known()) {
            Ok((output, map)) => Ok((output.untyped, map.untyped)),
            Err(error) => Err(error),
        }
    }
}
/// A [`Remeasured`] function whose types are erased.
trait ErasedMetrics {
    fn of(&self, input: &UntypedSpace) -> Result<(AnyMetric, UntypedMap)>;
}
impl<MI: Metric, MO: Metric> ErasedMetrics for Remeasured<MI, MO> {
    fn of(&self, input: &UntypedSpace) -> Result<(AnyMetric, UntypedMap)> {
        match self(input.domain.records(), input.metric.known()) {
            Ok((metric, map)) => Ok((AnyMetric::new(metric), map.untyped)),
            Err(error) => Err(error),
        }
    }
}

#[cold]
fn panicked() -> Error {
    Error::MetricSpace(
        "the check whether the metric measures distances on the domain panicked".into(),
    )
}
/// A check that the domain and the metric of a space fit together.
type Fits = fn(&UntypedSpace) -> Result<()>;
impl Parts {
    fn new(input: UntypedSpace, output: UntypedSpace, mut stage: Stage, map: UntypedMap) -> Self {
        stage.within(&input);
        Parts { input, output, stage, map }
    }
    fn on(input: UntypedSpace, output: &UntypedSpace, stage: &Stage, map: UntypedMap) -> Self {
        Parts::new(input, output.clone(), stage.clone(), map)
    }
    fn checked(
        input: UntypedSpace,
        domain: AnyDomain,
        metric: AnyMetric,
        fits: Fits,
        stage: Stage,
        map: UntypedMap,
    ) -> Result<Self> {
        // The caller can be a function of the C ABI, in which a panic would end the process. The
        // check is code of the author of the metric. The code that drops a part can also be code of
        // an author. So after an error, the parts are dropped inside of this closure.
        let parts = catch_unwind(AssertUnwindSafe(move || {
            let output = UntypedSpace::fitting(domain, metric, fits)?;
            Ok(Parts::new(input, output, stage, map))
        }));
        parts.unwrap_or_else(|_| Err(panicked()))
    }
    fn from_fns(
        input: UntypedSpace,
        outcome: &dyn ErasedOutcome,
        function: &dyn Typed,
    ) -> Result<Self> {
        let (output, map) = outcome.of(&input)?;
        Ok(Parts::new(input, output, function.stage(), map))
    }
    fn remeasured(
        input: UntypedSpace,
        metric: &dyn ErasedMetrics,
        fits: Fits,
        function: &dyn Typed,
    ) -> Result<Self> {
        let (metric, map) = metric.of(&input)?;
        let domain = input.domain.clone();
        Parts::checked(input, domain, metric, fits, function.stage(), map)
    }
    fn each_of(
        input: UntypedSpace,
        element: &dyn Element,
        fits: Fits,
        function: &dyn Typed,
    ) -> Result<Self> {
        Parts::each(input, element.records(), true, fits, function.stage())
    }
    fn each(
        input: UntypedSpace,
        records: AnyDomain,
        all: bool,
        fits: Fits,
        stage: Stage,
    ) -> Result<Self> {
        let size = if all { input.domain.records() } else { None };
        let sized = size.and_then(|size| records.with_records(size));
        let domain = sized.unwrap_or(records);
        let (metric, map) = (input.metric.clone(), UntypedMap::identity::<u32>());
        Parts::checked(input, domain, metric, fits, stage, map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtomDomain, DiscreteDistance, Named, TypeName};

    /// A metric whose check panics.
    #[derive(Clone, Debug, PartialEq)]
    struct Panics;
    impl Metric for Panics {
        type Distance = u32;
        fn to_json(&self) -> serde_json::Value {
            DiscreteDistance.to_json()
        }
    }
    impl Named for Panics {
        fn type_name() -> TypeName {
            TypeName::plain("Panics")
        }
    }
    impl MetricOn<AtomDomain<bool>> for Panics {
        fn check(&self, _: &AtomDomain<bool>) -> Result<()> {
            panic!("a fault of the author")
        }
    }

    /// A metric that fits no domain.
    #[derive(Clone, Debug, PartialEq)]
    struct Misfit;
    impl Metric for Misfit {
        type Distance = u32;
        fn to_json(&self) -> serde_json::Value {
            DiscreteDistance.to_json()
        }
    }
    impl Named for Misfit {
        fn type_name() -> TypeName {
            TypeName::plain("Misfit")
        }
    }
    impl MetricOn<AtomDomain<bool>> for Misfit {
        fn check(&self, _: &AtomDomain<bool>) -> Result<()> {
            Err(Error::MetricSpace("no domain fits".into()))
        }
    }
    struct DropPanics;
    impl Drop for DropPanics {
        fn drop(&mut self) {
            panic!("a fault of the author")
        }
    }

    #[test]
    fn a_panic_of_a_check_is_an_error_and_does_not_end_the_process() {
        let input = Space::new(AtomDomain::<bool>::default(), DiscreteDistance).unwrap();
        let function = Function::map(|x: &bool| Ok(*x));
        let map = StabilityMap::new(|d_in: &u32| Ok(*d_in));
        let domain = AtomDomain::default();
        let error = Transformation::checked(input, domain, Panics, function, map).unwrap_err();
        assert!(error.to_string().contains("panicked"), "{error}");
    }
    #[test]
    fn a_panic_of_the_drop_of_a_map_is_an_error_too() {
        let input = Space::new(AtomDomain::<bool>::default(), DiscreteDistance).unwrap();
        let function = Function::map(|x: &bool| Ok(*x));
        let fragile = DropPanics;
        let map = StabilityMap::new(move |d_in: &u32| {
            let _kept = &fragile;
            Ok(*d_in)
        });
        let error = Transformation::checked(input, AtomDomain::default(), Misfit, function, map);
        assert!(error.unwrap_err().to_string().contains("panicked"));
    }
}
