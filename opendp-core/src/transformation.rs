//! Stable data transformations.

mod make;

use std::fmt;
use std::marker::PhantomData;

pub use make::{Outcome, Remeasured};

use crate::erased::AnyTransformation;
use crate::function::Stage;
use crate::map::{Chain, Untyped as UntypedMap};
use crate::measurement::{Claims, Parts as Release};
use crate::space::Untyped as UntypedSpace;
use crate::{
    Carrier, Constructed, Distance, Domain, Function, Made, Measure, Measurement, Metric, Named,
    Partial, Result, Space, StabilityMap, TypeName,
};

/// A function between metric spaces with a bound on its stability.
///
/// The claim is as follows. Let `x` and `x'` be any members of the input domain at distance at most
/// `d_in`. Then both outputs are members of the output domain, and the distance between the two
/// outputs is at most `map(d_in)`. A transformation is immutable and cheap to clone, and several
/// threads can use it at the same time.
///
/// ```
/// use opendp_core::*;
/// let records = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let double = Transformation::new(
///     records.clone(),
///     records,
///     Function::rows(|rows: &[i32], out: &mut Vec<i32>| {
///         out.extend(rows.iter().map(|x| x.saturating_mul(2)));
///         Ok(())
///     }),
///     StabilityMap::new(|d_in| Ok(*d_in)),
/// );
/// assert_eq!(double.invoke(&vec![1, 2])?, [2, 4]);
/// assert!(double.check(&1, &1)?);
/// # Ok::<(), Error>(())
/// ```
pub struct Transformation<DI: Domain, MI: Metric, DO: Domain, MO: Metric> {
    pub(crate) input: Space<DI, MI>,
    pub(crate) output: Space<DO, MO>,
    pub(crate) function: Function<DI::Carrier, DO::Carrier>,
    pub(crate) map: StabilityMap<MI, MO>,
}

impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> Transformation<DI, MI, DO, MO> {
    /// Make a transformation from its parts. The caller is responsible for the claim that
    /// [`Transformation`] states.
    pub fn new(
        input: Space<DI, MI>,
        output: Space<DO, MO>,
        mut function: Function<DI::Carrier, DO::Carrier>,
        map: StabilityMap<MI, MO>,
    ) -> Self {
        function.stage.within(&input.untyped);
        Transformation { input, output, function, map }
    }
    pub(crate) fn into_parts(self) -> Parts {
        Parts {
            input: self.input.untyped,
            output: self.output.untyped,
            stage: self.function.stage,
            map: self.map.untyped,
        }
    }
    /// Set the label of the function. The label is a text that describes the function. See
    /// [`Function::labelled`]. Without a label, other processes cannot merge the partial results of
    /// a function made of closures.
    #[must_use]
    pub fn labelled(mut self, text: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.function = self.function.labelled(text);
        self.function.stage.within(&self.input.untyped);
        self
    }
    /// Return the input space.
    pub fn input(&self) -> &Space<DI, MI> {
        &self.input
    }
    /// Return the output space.
    pub fn output(&self) -> &Space<DO, MO> {
        &self.output
    }
    /// Return the function of the transformation.
    pub fn function(&self) -> &Function<DI::Carrier, DO::Carrier> {
        &self.function
    }
    /// Run the function on a member of the input domain. If the function folds many rows and their
    /// order is irrelevant, use all cores.
    ///
    /// # Errors
    /// The errors of the stages of the function. These errors do not depend on the data.
    pub fn invoke(&self, data: &DI::Carrier) -> Result<DO::Carrier> {
        self.function.eval(data)
    }
    /// Run the function on a stream of chunks. Together, the chunks must form a member of the input
    /// domain.
    ///
    /// # Errors
    /// `NotImplemented` when the function needs its whole input at once. This function also returns
    /// the errors of the stages of the transformation and the errors of the stream.
    pub fn invoke_chunks(
        &self,
        chunks: impl IntoIterator<Item = Result<DI::Carrier>>,
    ) -> Result<DO::Carrier> {
        self.function.eval_chunks(chunks)
    }
    /// Begin a partial result, to which the caller adds rows. The caller can merge several partial
    /// results. To get the output, the caller finishes the merged result.
    ///
    /// # Errors
    /// `NotImplemented` if the function does not fold its rows, or if the order of the rows
    /// matters.
    pub fn start(&self) -> Result<Partial<DI::Carrier, DO::Carrier>> {
        self.function.start()
    }
    /// Return the stability map.
    pub fn stability_map(&self) -> &StabilityMap<MI, MO> {
        &self.map
    }
    /// Return an upper bound on the distance between two outputs whose inputs are at distance at
    /// most `d_in`.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` is negative or NaN. This function also returns the errors of the
    /// map, such as `Overflow` when the bound exceeds the largest number of the type of distances.
    pub fn map(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        self.map.eval(d_in)
    }
    /// Return whether the map bounds the distance between outputs by `d_out`: `map(d_in) <= d_out`.
    ///
    /// # Errors
    /// The errors of the map and of [`Distance::at_most`].
    pub fn check(&self, d_in: &MI::Distance, d_out: &MO::Distance) -> Result<bool> {
        self.map(d_in)?.at_most(d_out)
    }
    /// Append the step that `next` makes from the output space.
    ///
    /// # Errors
    /// The errors of `next`, and the errors of [`Space::follows`] when the step cannot follow this
    /// transformation.
    pub fn then<N: After<Self>>(
        &self,
        next: impl FnOnce(Space<DO, MO>) -> Result<N>,
    ) -> Result<N::Chained> {
        match next(self.output.clone()) {
            Ok(next) => next.after(self),
            Err(error) => Err(error),
        }
    }
    fn untyped(&self) -> Untyped<'_> {
        let (input, output) = (&self.input.untyped, &self.output.untyped);
        Untyped { input, output, stage: &self.function.stage, map: &self.map.untyped }
    }
}

/// A borrow of the parts of a transformation, with their types erased. Because the types are
/// erased, code that chains two steps is compiled only once.
struct Untyped<'a> {
    input: &'a UntypedSpace,
    output: &'a UntypedSpace,
    stage: &'a Stage,
    map: &'a UntypedMap,
}
impl Untyped<'_> {
    fn before(&self, next: &Untyped<'_>, chain: Chain) -> Result<Parts> {
        next.input.follows(self.output)?;
        let (input, output) = (self.input.clone(), next.output.clone());
        let (stage, map) = (self.stage.then(next.stage), chain(self.map, next.map));
        Ok(Parts { input, output, stage, map })
    }
    fn before_release(
        &self,
        input: &UntypedSpace,
        stage: &Stage,
        claims: &Claims,
        chain: Chain,
    ) -> Result<Release> {
        input.follows(self.output)?;
        let (input, stage) = (self.input.clone(), self.stage.then(stage));
        Ok(Release { input, stage, claims: claims.with_map(chain(self.map, &claims.map)) })
    }
}

/// The parts of a transformation, with their types erased. Because the types are erased, code that
/// moves or drops all parts is compiled only once.
pub(crate) struct Parts {
    pub(crate) input: UntypedSpace,
    pub(crate) output: UntypedSpace,
    pub(crate) stage: Stage,
    pub(crate) map: UntypedMap,
}
impl Parts {
    pub(crate) fn erased(self) -> AnyTransformation {
        Transformation {
            input: self.input.erased(),
            output: self.output.erased(),
            function: Function::erased(self.stage),
            map: self.map.erased().stability(),
        }
    }
}

/// Erase a transformation, given as its parts. See [`Parts`].
pub(crate) fn constructed(
    input: UntypedSpace,
    output: UntypedSpace,
    stage: Stage,
    map: UntypedMap,
) -> Result<Constructed> {
    Ok(Constructed::Transformation(Parts { input, output, stage, map }.erased()))
}

/// A step that can run after a first step.
pub trait After<First> {
    /// The type of the chain of both steps.
    type Chained;
    /// Run this step after `first`.
    ///
    /// # Errors
    /// The errors of [`Space::follows`], when this step cannot follow `first`.
    fn after(&self, first: &First) -> Result<Self::Chained>;
}

/// Chain two transformations. Compose the two functions in order, and compose the two maps in
/// order. Let `map_0` and `map_1` be the maps of the first and of the second transformation. Let
/// the distance between two inputs be at most `d_in`. Then the two outputs of the first function
/// are members of the output space of the first transformation. The distance between these two
/// outputs is at most `map_0(d_in)`. The output space of the first transformation is the input
/// space of the second transformation. So the distance between the final outputs is at most
/// `map_1(map_0(d_in))`.
impl<DI: Domain, MI: Metric, DX: Domain, MX: Metric, DO: Domain, MO: Metric>
    After<Transformation<DI, MI, DX, MX>> for Transformation<DX, MX, DO, MO>
{
    type Chained = Transformation<DI, MI, DO, MO>;
    fn after(&self, first: &Transformation<DI, MI, DX, MX>) -> Result<Self::Chained> {
        let chain = UntypedMap::before::<MI::Distance, MX::Distance, MO::Distance>;
        match first.untyped().before(&self.untyped(), chain) {
            Ok(Parts { input, output, stage, map }) => Ok(Transformation {
                input: Space { untyped: input, types: PhantomData },
                output: Space { untyped: output, types: PhantomData },
                function: Function { stage, run: Stage::eval },
                map: StabilityMap { untyped: map, types: PhantomData },
            }),
            Err(error) => Err(error),
        }
    }
}
/// Chain a measurement after a transformation. The proof for two transformations applies, with the
/// privacy map of the measurement in the place of `map_1`.
impl<DI: Domain, MI: Metric, DX: Domain, MX: Metric, MO: Measure, TO: Carrier>
    After<Transformation<DI, MI, DX, MX>> for Measurement<DX, MX, MO, TO>
{
    type Chained = Measurement<DI, MI, MO, TO>;
    fn after(&self, first: &Transformation<DI, MI, DX, MX>) -> Result<Self::Chained> {
        let (stage, claims) = (&self.function.stage, &self.claims);
        let chain = UntypedMap::before_loss::<MI::Distance, MX::Distance, MO::Distance>;
        match first.untyped().before_release(&self.input.untyped, stage, claims, chain) {
            Ok(Release { input, stage, claims }) => Ok(Measurement {
                input: Space { untyped: input, types: PhantomData },
                function: Function { stage, run: Stage::eval },
                claims,
                types: PhantomData,
            }),
            Err(error) => Err(error),
        }
    }
}

impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> Clone for Transformation<DI, MI, DO, MO> {
    fn clone(&self) -> Self {
        Transformation {
            input: self.input.clone(),
            output: self.output.clone(),
            function: self.function.clone(),
            map: self.map.clone(),
        }
    }
}
impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> Named for Transformation<DI, MI, DO, MO> {
    fn type_name() -> TypeName {
        <Self as Made>::type_name()
    }
}
impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> fmt::Debug for Transformation<DI, MI, DO, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transformation")
            .field("input", &self.input)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}
