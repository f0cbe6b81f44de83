//! Spaces for tests of erased transformations.

use std::{any::TypeId, collections::HashMap, fmt};

use crate::arith::{InfCast, Number};
use crate::erased::{AnyDistance, AnyDomain, AnyMetric, AnyTransformation, AnyValue};
use crate::laws::{Broken, Draw, Sample, SampleAtom};
use crate::{
    AbsoluteDistance, AtomDomain, Carrier, ChangeOneDistance, Chunk, Codec, Distance, DistanceOn,
    Domain, Error, HammingDistance, HashableAtom, InsertDeleteDistance, L1Distance, L01InfDistance,
    L2Distance, L02InfDistance, LInfDistance, MapDomain, OptionDomain, RangeDistance, Result,
    Space, SymmetricDistance, VectorDomain,
};

/// A collection of spaces for tests. A space is identified by the types of its domain and its
/// metric. Tests can draw members of each space and compute distances.
///
/// A test finds the spaces of a transformation by the types in its signature. So the name and the
/// signature of a transformation are enough for a test. The test draws members and their
/// variations, and runs the transformation on all these inputs. The test compares the distances
/// between the outputs with the bounds of the map. A crate adds the spaces of its own domains and
/// metrics with [`with`](Grounds::with).
///
/// ```
/// use opendp_core::laws::{Draw, Grounds};
/// use opendp_core::*;
/// let rows = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), InsertDeleteDistance)?;
/// let first = |map: u32| Transformation::new(
///     rows.clone(),
///     rows.clone(),
///     Function::map(|rows: &Vec<i32>| Ok(rows.iter().copied().take(1).collect())),
///     StabilityMap::from_constant(map),
/// );
/// let grounds = Grounds::new().records::<i32>();
/// assert!(grounds.check(&first(2).erase(), &mut Draw::new(0)).is_ok());
/// // A new first record displaces the old first record, so the outputs can be at distance 2.
/// assert!(grounds.check(&first(1).erase(), &mut Draw::new(0)).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Default)]
pub struct Grounds(HashMap<(TypeId, TypeId), Ground>);

/// The functions that draw members and compute distances, for one type of domain and one type of
/// metric.
#[derive(Clone, Copy)]
struct Ground {
    few: fn(&AnyDomain, &mut Draw) -> Result<Vec<AnyValue>>,
    member: fn(&AnyDomain, &mut Draw) -> Result<Option<AnyValue>>,
    vary: fn(&AnyDomain, &AnyValue, &mut Draw) -> Result<AnyValue>,
    distance: fn(&AnyMetric, &AnyValue, &AnyValue) -> Result<Option<AnyDistance>>,
}

/// The numbers of cases that one test of a transformation tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// The number of inputs whose output was a member of the output domain.
    pub members: usize,
    /// The number of input pairs for which the distance between the outputs was at most the bound
    /// of the map.
    pub pairs: usize,
    /// The number of inputs whose output did not change when the input was divided into chunks.
    pub divided: usize,
    /// Whether an input gave different outputs in repeated runs. For an input with different
    /// outputs, the map is a claim about distributions of outputs. A single pair of outputs cannot
    /// refute a claim about distributions, so pairs with this input are skipped.
    pub random: bool,
}

impl fmt::Debug for Grounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Grounds({} spaces)", self.0.len())
    }
}
impl Grounds {
    /// Make an empty collection of spaces.
    pub fn new() -> Self {
        Grounds::default()
    }
    /// Add all spaces whose domain has the type `D` and whose metric has the type `M`.
    #[must_use]
    pub fn with<D: Sample, M: DistanceOn<D>>(mut self) -> Self {
        let ground = Ground {
            few: |domain, draw| {
                let few = domain.downcast_ref::<D>()?.few(draw);
                Ok(few.into_iter().map(AnyValue::new).collect())
            },
            member: |domain, draw| Ok(domain.downcast_ref::<D>()?.one(draw).map(AnyValue::new)),
            vary: |domain, value, draw| {
                let domain = domain.downcast_ref::<D>()?;
                Ok(AnyValue::new(domain.vary(value.downcast_ref()?, draw)))
            },
            distance: |metric, left, right| {
                let metric = metric.downcast_ref::<M>()?;
                let distance = metric.distance(left.downcast_ref()?, right.downcast_ref()?)?;
                Ok(distance.map(AnyDistance::new))
            },
        };
        self.0.insert((TypeId::of::<D>(), TypeId::of::<M>()), ground);
        self
    }
    /// Add the spaces of data sets with records of type `T` or `Option<T>`.
    #[must_use]
    pub fn records<T: SampleAtom>(self) -> Self {
        self.with::<VectorDomain<AtomDomain<T>>, SymmetricDistance>()
            .with::<VectorDomain<AtomDomain<T>>, InsertDeleteDistance>()
            .with::<VectorDomain<AtomDomain<T>>, ChangeOneDistance>()
            .with::<VectorDomain<AtomDomain<T>>, HammingDistance>()
            .with::<VectorDomain<OptionDomain<AtomDomain<T>>>, SymmetricDistance>()
            .with::<VectorDomain<OptionDomain<AtomDomain<T>>>, InsertDeleteDistance>()
            .with::<VectorDomain<OptionDomain<AtomDomain<T>>>, ChangeOneDistance>()
            .with::<VectorDomain<OptionDomain<AtomDomain<T>>>, HammingDistance>()
    }
    /// Add the spaces of maps from keys to numbers, with distances of type `Q`.
    #[must_use]
    pub fn maps<K: SampleAtom + HashableAtom, V: SampleAtom + Number, Q>(self) -> Self
    where
        Q: Distance + Number + InfCast<V> + InfCast<f64>,
        f64: InfCast<Q>,
    {
        type Maps<K, V> = MapDomain<AtomDomain<K>, AtomDomain<V>>;
        self.with::<Maps<K, V>, L01InfDistance<AbsoluteDistance<Q>>>()
            .with::<Maps<K, V>, L02InfDistance<AbsoluteDistance<Q>>>()
    }
    /// Add the spaces of numbers and vectors of numbers, with distances of type `Q`.
    #[must_use]
    pub fn numbers<T: SampleAtom + Number, Q>(self) -> Self
    where
        Q: Distance + Number + InfCast<T> + InfCast<f64>,
        f64: InfCast<Q>,
    {
        self.with::<AtomDomain<T>, AbsoluteDistance<Q>>()
            .with::<VectorDomain<AtomDomain<T>>, L1Distance<Q>>()
            .with::<VectorDomain<AtomDomain<T>>, L2Distance<Q>>()
            .with::<VectorDomain<AtomDomain<T>>, LInfDistance<Q>>()
            .with::<VectorDomain<AtomDomain<T>>, RangeDistance<Q>>()
    }
    /// Draw members of the domain of a space. First, [`few`](Sample::few) draws a few members. Then
    /// [`one`](Sample::one) draws larger members, and [`vary`](Sample::vary) draws variations of
    /// the larger members. Leave out the variations that are outside of the domain.
    ///
    /// # Errors
    /// A description of the space if it is unknown.
    pub fn members(
        &self,
        space: &Space<AnyDomain, AnyMetric>,
        draw: &mut Draw,
    ) -> Result<Vec<AnyValue>, Broken> {
        let tell = |error: Error| error.to_string();
        let (ground, domain) = (self.of(space)?, space.domain());
        let mut members = (ground.few)(domain, draw).map_err(tell)?;
        for _ in 0..4 {
            let Some(member) = (ground.member)(domain, draw).map_err(tell)? else { break };
            for _ in 0..4 {
                members.push((ground.vary)(domain, &member, draw).map_err(tell)?);
            }
            members.push(member);
        }
        members.retain(|member| domain.member(member));
        Ok(members)
    }
    /// Compute the distance between two members of a space. Return `None` when the distance is
    /// infinite.
    ///
    /// # Errors
    /// A description of the space if it is unknown, or the reason why the distance cannot be
    /// computed.
    pub fn distance(
        &self,
        space: &Space<AnyDomain, AnyMetric>,
        left: &AnyValue,
        right: &AnyValue,
    ) -> Result<Option<AnyDistance>, Broken> {
        let ground = self.of(space)?;
        (ground.distance)(space.metric(), left, right).map_err(|error| error.to_string())
    }
    /// Test a transformation on the inputs that [`members`](Grounds::members) draws.
    ///
    /// The test checks four properties. First, the transformation gives no error on a member,
    /// because an error would reveal information about the data. Second, outputs are members of the
    /// output domain. Third, the distance between two outputs is at most the bound of the map.
    /// Fourth, the output does not change when the input is divided into chunks. If the map gives
    /// an error for a pair, the map makes no claim, so the pair is skipped.
    ///
    /// # Errors
    /// A description of the first case that breaks a law. An error if the collection does not
    /// contain one of the spaces. Also an error if no pair tested the map, except if all outputs
    /// are random.
    pub fn check(
        &self,
        transformation: &AnyTransformation,
        draw: &mut Draw,
    ) -> Result<Tried, Broken> {
        self.of(transformation.output())?;
        let inputs = self.members(transformation.input(), draw)?;
        let mut tried = Tried::default();
        let mut outputs = Vec::with_capacity(inputs.len());
        for input in &inputs {
            let output = run(transformation, input)?;
            if !transformation.output().domain().member(&output) {
                let (input, output) = (input.to_json(), output.to_json());
                return Err(format!("{input} gives {output}, which is not in the output domain"));
            }
            tried.members += 1;
            outputs.push(output);
        }
        let mut cases = Vec::with_capacity(inputs.len());
        for (input, output) in inputs.iter().zip(&outputs) {
            let random = varies(transformation, input, output, 1)?;
            cases.push(Case { input, output, random });
        }
        self.compare(transformation, &mut cases, &mut tried)?;
        tried.random = cases.iter().any(|case| case.random);
        if tried.pairs == 0 && !(tried.random && cases.iter().all(|case| case.random)) {
            return Err(untested(tried.members));
        }
        Ok(tried)
    }
    /// Compare the output for each input with the outputs for the other inputs. Also compare this
    /// output with the output for the same input in chunks. Skip the inputs whose outputs are
    /// random.
    fn compare(
        &self,
        transformation: &AnyTransformation,
        cases: &mut [Case<'_>],
        tried: &mut Tried,
    ) -> Result<(), Broken> {
        for case in cases.iter_mut().filter(|case| !case.random) {
            match divided(transformation, case.input, case.output) {
                Err(broken) if !case.turns_out_random(transformation)? => return Err(broken),
                divided => tried.divided += divided.unwrap_or(0),
            }
        }
        for i in 0..cases.len() {
            for j in 0..cases.len() {
                if cases[i].random || cases[j].random {
                    continue;
                }
                match self.close(transformation, &cases[i], &cases[j]) {
                    Ok(pairs) => tried.pairs += pairs,
                    Err(broken) => {
                        let first = cases[i].turns_out_random(transformation)?;
                        if !(cases[j].turns_out_random(transformation)? || first) {
                            return Err(broken);
                        }
                    }
                }
            }
        }
        Ok(())
    }
    /// Check that the distance between two outputs is at most the bound of the map. Return 0 if the
    /// map makes no claim, or if the distance between the inputs is infinite or cannot be computed.
    /// Otherwise return 1, or an error if the distance between the outputs exceeds the bound or
    /// cannot be computed.
    fn close(
        &self,
        transformation: &AnyTransformation,
        x: &Case<'_>,
        y: &Case<'_>,
    ) -> Result<usize, Broken> {
        let (input, output) = (transformation.input(), transformation.output());
        let (start, end) = (self.of(input)?, self.of(output)?);
        let d_in = (start.distance)(input.metric(), x.input, y.input);
        let Ok(Some(d_in)) = d_in else { return Ok(0) };
        let Ok(bound) = transformation.stability_map().claim(&d_in) else { return Ok(0) };
        let found = (end.distance)(output.metric(), x.output, y.output);
        let fits = match &found {
            Ok(Some(d_out)) => d_out.at_most(&bound).map_err(|error| error.to_string())?,
            _ => false,
        };
        if fits {
            return Ok(1);
        }
        let [x, y, fx, fy] = [x.input, y.input, x.output, y.output].map(Codec::to_json);
        Err(format!(
            "{x} and {y} at distance {d_in:?} give {fx} and {fy} at distance {found:?}, more than \
             {bound:?}"
        ))
    }
    fn of(&self, space: &Space<AnyDomain, AnyMetric>) -> Result<Ground, Broken> {
        let types = (space.domain().inner_id(), space.metric().inner_id());
        self.0.get(&types).copied().ok_or_else(|| {
            format!(
                "there is no ground for ({}, {}): add one with `Grounds::with`",
                space.domain().inner_type(),
                space.metric().inner_type()
            )
        })
    }
}
/// Return the error for a test that compared no pair of outputs with the map.
#[cold]
fn untested(members: usize) -> Broken {
    match members {
        0 => {
            "no input was tested: no member of the input domain could be drawn; use a domain that \
              has members"
                .into()
        }
        _ => format!(
            "no pair of the {members} inputs tested the map: the map gave an error, or the \
             distance could not be computed; use a map that bounds distance 0 and small distances"
        ),
    }
}
fn run(transformation: &AnyTransformation, input: &AnyValue) -> Result<AnyValue, Broken> {
    transformation.invoke(input).map_err(|error| format!("{}: {error}", input.to_json()))
}
/// An input, its output, and whether another run on the same input gave another output.
struct Case<'a> {
    input: &'a AnyValue,
    output: &'a AnyValue,
    random: bool,
}
impl Case<'_> {
    /// Repeat the run to check whether the output varies. A random function with few outcomes can
    /// give the same output twice by chance.
    fn turns_out_random(&mut self, transformation: &AnyTransformation) -> Result<bool, Broken> {
        self.random = self.random || varies(transformation, self.input, self.output, 64)?;
        Ok(self.random)
    }
}
/// Run the function `times` times on an input. Return whether a run gives an output that differs
/// from `output`.
fn varies(
    transformation: &AnyTransformation,
    input: &AnyValue,
    output: &AnyValue,
    times: usize,
) -> Result<bool, Broken> {
    let output = output.to_json();
    for _ in 0..times {
        if run(transformation, input)?.to_json() != output {
            return Ok(true);
        }
    }
    Ok(false)
}
/// Divide an input into chunks of one row, and then into chunks of two rows. Check that the output
/// is the same as for the whole input. Return 1 if the outputs were compared. Return 0 if the
/// function cannot run over a stream, or if the input has no rows. For an input without rows, only
/// check that the run gives no error.
fn divided(
    transformation: &AnyTransformation,
    input: &AnyValue,
    output: &AnyValue,
) -> Result<usize, Broken> {
    if !transformation.function().streams() {
        return Ok(0);
    }
    let rows = input.chunk().rows();
    for size in [1, 2] {
        let chunks = (0..rows).step_by(size).map(|from| {
            let mut part = AnyValue::buffer();
            part.append_rows(input.chunk().narrow(from..rows.min(from + size)));
            Ok(part)
        });
        let found = transformation.invoke_chunks(chunks).map_err(|error| error.to_string())?;
        if rows > 0 && found.to_json() != output.to_json() {
            let (whole, found) = (output.to_json(), found.to_json());
            return Err(format!(
                "{} in chunks of {size} gives {found}, not {whole}",
                input.to_json()
            ));
        }
    }
    Ok(usize::from(rows > 0))
}

#[cfg(test)]
mod tests;
