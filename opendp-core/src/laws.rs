//! Reusable checks of transformations and measurements. The checks test the claims of a constructor
//! on small data.
//!
//! A law is a property of every correct constructor. A check tests one or more laws, and returns
//! the number of cases that it tried. So a test can check that this number is not zero. If a case
//! breaks a law, the check returns a description of the first such case. This description contains
//! the data of the case, so a release must never call these checks.
//!
//! ```
//! use opendp_core::*;
//! let records = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
//! let first_two = Transformation::new(
//!     records.clone(),
//!     records,
//!     Function::map(|rows: &Vec<i32>| Ok(rows.iter().copied().take(2).collect())),
//!     StabilityMap::new(|d_in| Ok(*d_in)), // wrong: a new record can replace an old record
//! );
//! let data = laws::vectors(&[1, 2, 3], 3);
//! assert!(laws::stable(&first_two, &data).is_err());
//! # Ok::<(), Error>(())
//! ```
//!
//! For a transformation of rows, [`all`] and [`on`] check every law. A test that uses [`Grounds`]
//! needs only the name and the signature of the checked transformation. For a measurement, a
//! [`Claim`] is the claim of the privacy map about two neighbours. [`Chances::of`] runs the
//! mechanism on every tape, which is a list of random words, and computes all probabilities.
//! [`Claim::exactly`] compares these probabilities with the claim. [`private`] compares the
//! frequencies of random draws with the claim.

mod binomial;
mod grounds;
mod privacy;
mod sample;
mod tape;

use std::fmt::Debug;

use crate::{
    Carrier, Chunk, Codec, DataFrame, Distance, DistanceOn, Domain, Error, HashableAtom, Metric,
    Transformation,
};

pub use grounds::{Grounds, Tried};
pub use privacy::{Chances, Claim, Drawn, Trial, private};
pub use sample::{Draw, Sample, SampleAtom};
pub use tape::on_one_tape;

/// A description of a case that breaks a law, with the data of the case.
pub type Broken = String;

/// List all vectors of at most `longest` elements, where each element is in `alphabet`.
pub fn vectors<T: Clone>(alphabet: &[T], longest: usize) -> Vec<Vec<T>> {
    let mut all = vec![Vec::new()];
    let mut layer = all.clone();
    for _ in 0..longest {
        let longer = layer.iter().flat_map(|shorter: &Vec<T>| {
            alphabet.iter().map(|letter| [&shorter[..], std::slice::from_ref(letter)].concat())
        });
        layer = longer.collect();
        all.extend(layer.iter().cloned());
    }
    all
}

/// List all frames of at most `longest` rows, where each row is a one-row frame in `alphabet`. A
/// frame with rows has the columns of its first row. The frame without rows has the columns of the
/// first frame of the alphabet.
pub fn frames<K: HashableAtom>(alphabet: &[DataFrame<K>], longest: usize) -> Vec<DataFrame<K>> {
    let mut empty = alphabet.first().cloned().unwrap_or_else(DataFrame::buffer);
    empty.reset();
    let joined = |rows: Vec<DataFrame<K>>| {
        rows.into_iter().fold(empty.clone(), |mut frame, row| {
            frame.append(row);
            frame
        })
    };
    vectors(alphabet, longest).into_iter().map(joined).collect()
}

/// Check the stability map on all pairs of the given data. Let `d_in` be the distance between two
/// inputs. The distance between the two outputs must be at most the value of the map at `d_in`.
///
/// Data outside of the input domain is skipped. If the map gives an error for a pair, the map makes
/// no claim, so the pair is skipped.
///
/// # Errors
/// A description of the first pair that breaks the law, or the error of the transformation or of a
/// distance.
pub fn stable<DI, MI, DO, MO>(
    transformation: &Transformation<DI, MI, DO, MO>,
    data: &[DI::Carrier],
) -> Result<usize, Broken>
where
    DI: Domain,
    MI: DistanceOn<DI>,
    DO: Domain,
    MO: DistanceOn<DO>,
    DI::Carrier: Debug,
    DO::Carrier: Debug,
{
    let (input, output) = (transformation.input(), transformation.output());
    let mut cases = 0;
    let members: Vec<&DI::Carrier> = data.iter().filter(|x| input.domain().member(x)).collect();
    let outputs: Vec<DO::Carrier> = members
        .iter()
        .map(|x| transformation.invoke(x).map_err(|error| format!("{x:?}: {error}")))
        .collect::<Result<_, _>>()?;
    for (x, fx) in members.iter().zip(&outputs) {
        for (y, fy) in members.iter().zip(&outputs) {
            let Some(d_in) = input.metric().distance(x, y).map_err(|e| e.to_string())? else {
                continue;
            };
            let Ok(bound) = transformation.stability_map().claim(&d_in) else { continue };
            let pair = || format!("{x:?} and {y:?} at distance {d_in:?} give {fx:?} and {fy:?}");
            let found = output.metric().distance(fx, fy).map_err(|e| format!("{}: {e}", pair()))?;
            let fits = match &found {
                Some(d_out) => d_out.at_most(&bound).map_err(|e| format!("{}: {e}", pair()))?,
                None => false,
            };
            if !fits {
                return Err(format!("{} at distance {found:?}, more than {bound:?}", pair()));
            }
            cases += 1;
        }
    }
    Ok(cases)
}

/// Check that outputs are members of the output domain.
///
/// # Errors
/// A description of the first input that breaks the law, or for which the transformation gives an
/// error.
pub fn member<DI, MI, DO, MO>(
    transformation: &Transformation<DI, MI, DO, MO>,
    data: &[DI::Carrier],
) -> Result<usize, Broken>
where
    DI: Domain,
    MI: Metric,
    DO: Domain,
    MO: Metric,
    DI::Carrier: Debug,
    DO::Carrier: Debug,
{
    let mut cases = 0;
    for x in data.iter().filter(|x| transformation.input().domain().member(x)) {
        let fx = transformation.invoke(x).map_err(|error| format!("{x:?}: {error}"))?;
        if !transformation.output().domain().member(&fx) {
            return Err(format!("{x:?} gives {fx:?}, which is not in the output domain"));
        }
        cases += 1;
    }
    Ok(cases)
}

/// Check that a transformation of rows gives bit for bit the same result when its rows are divided
/// into chunks. The check tries every size of the chunks. The check runs the chunks as a stream.
/// Some transformations have partial results. For them, the check also writes the partial result of
/// each chunk as bytes, and reads the bytes back. Then the check merges these partial results in
/// reverse order.
///
/// # Errors
/// A description of the first input that breaks the law, or for which the transformation gives an
/// error.
pub fn divided<DI, MI, DO, MO>(
    transformation: &Transformation<DI, MI, DO, MO>,
    data: &[DI::Carrier],
) -> Result<usize, Broken>
where
    DI: Domain,
    MI: Metric,
    DO: Domain,
    MO: Metric,
    DI::Carrier: Debug,
{
    let mut cases = 0;
    for x in data.iter().filter(|x| transformation.input().domain().member(x)) {
        let tell = |error: Error| format!("{x:?}: {error}");
        let whole = transformation.invoke(x).map_err(tell)?.to_json();
        let mut same = |how: String, found: DO::Carrier| {
            cases += 1;
            match found.to_json() == whole {
                true => Ok(()),
                false => Err(format!("{x:?} {how} gives {}, not {whole}", found.to_json())),
            }
        };
        let rows = x.chunk().rows();
        for size in 1..=rows.max(1) {
            let chunks = || {
                // If there are no rows, pass one chunk without rows. In a stream without chunks,
                // the form of the data, such as the columns of a frame, is unknown.
                (0..rows.max(1)).step_by(size).map(|start| {
                    let mut part = DI::Carrier::buffer();
                    part.append_rows(x.chunk().narrow(start..rows.min(start + size)));
                    part
                })
            };
            let streamed = transformation.invoke_chunks(chunks().map(Ok)).map_err(tell)?;
            same(format!("in chunks of {size}"), streamed)?;
            let Ok(mut total) = transformation.start() else { continue };
            for chunk in chunks().collect::<Vec<_>>().iter().rev() {
                let mut part = transformation.start().map_err(tell)?;
                part.absorb(chunk).map_err(tell)?;
                let bytes = part.to_bytes().map_err(tell)?;
                let part = transformation.function().resume(&bytes).map_err(tell)?;
                total.merge(part).map_err(tell)?;
            }
            same(format!("merged from chunks of {size}"), total.finish().map_err(tell)?)?;
        }
    }
    Ok(cases)
}

/// Erase the types of a transformation, and recover the types. Check that the erased and the
/// recovered transformation agree with the original.
///
/// # Errors
/// A description of the first input or distance that breaks the law.
pub fn erases<DI, MI, DO, MO>(
    transformation: &Transformation<DI, MI, DO, MO>,
    data: &[DI::Carrier],
    distances: &[MI::Distance],
) -> Result<usize, Broken>
where
    DI: Domain,
    MI: Metric,
    DO: Domain,
    MO: Metric,
    DI::Carrier: Debug,
{
    use crate::erased::{AnyDistance, AnyValue};
    let erased = transformation.erase();
    let again = erased
        .typed::<DI, MI, DO, MO>()
        .map_err(|error| format!("the erased transformation has other types: {error}"))?;
    let mut cases = 0;
    for x in data {
        let typed = transformation.invoke(x).map(|out| out.to_json());
        let any = erased.invoke(&AnyValue::new(x.clone())).map(|out| out.to_json());
        let back = again.invoke(x).map(|out| out.to_json());
        if typed != any || typed != back {
            return Err(different(x, [&typed, &any, &back]));
        }
        cases += 1;
    }
    for d_in in distances {
        let typed = transformation.map(d_in).map(|d| d.to_json());
        let any = erased.map(&AnyDistance::new(d_in.clone())).map(|d| d.to_json());
        let back = again.map(d_in).map(|d| d.to_json());
        if typed != any || typed != back {
            return Err(different(d_in, [&typed, &any, &back]));
        }
        cases += 1;
    }
    Ok(cases)
}
/// Describe an input on which a transformation, its erased form, and the typed form of this erased
/// form differ.
fn different(input: &impl Debug, [typed, erased, recovered]: [&impl Debug; 3]) -> Broken {
    format!(
        "at {input:?}, the transformation gives {typed:?}, the erased one gives {erased:?}, and \
         the one recovered from it gives {recovered:?}"
    )
}

/// Check all laws of a transformation of rows on all vectors of at most `longest` elements in
/// `alphabet`.
///
/// # Errors
/// A description of the first case that breaks a law, or an error when no pair of data sets has a
/// finite distance that the map accepts.
pub fn all<DI, MI, DO, MO, T>(
    transformation: &Transformation<DI, MI, DO, MO>,
    alphabet: &[T],
    longest: usize,
) -> Result<usize, Broken>
where
    DI: Domain<Carrier = Vec<T>>,
    MI: DistanceOn<DI, Distance = u32>,
    DO: Domain,
    MO: DistanceOn<DO>,
    DO::Carrier: Debug,
    T: Clone + Debug,
    Vec<T>: Carrier,
{
    on(transformation, &vectors(alphabet, longest))
}

/// Check all laws of a transformation of rows on the given data.
///
/// # Errors
/// A description of the first case that breaks a law, or an error when no pair of data sets has a
/// finite distance that the map accepts.
pub fn on<DI, MI, DO, MO>(
    transformation: &Transformation<DI, MI, DO, MO>,
    data: &[DI::Carrier],
) -> Result<usize, Broken>
where
    DI: Domain,
    MI: DistanceOn<DI, Distance = u32>,
    DO: Domain,
    MO: DistanceOn<DO>,
    DI::Carrier: Debug,
    DO::Carrier: Debug,
{
    let cases = [
        stable(transformation, data)?,
        member(transformation, data)?,
        divided(transformation, data)?,
        erases(transformation, data, &[0, 1, 2, 3, 100])?,
    ];
    match cases[0] {
        0 => {
            Err("no pair of these data sets has a finite distance that the map accepts".to_owned())
        }
        _ => Ok(cases.iter().sum()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AbsoluteDistance, AtomDomain, Fold, Function, Result as House, Space, StabilityMap,
        SymmetricDistance, VectorDomain,
    };

    #[test]
    fn lists_all_vectors() {
        assert_eq!(vectors(&[0, 1], 2).len(), 1 + 2 + 4);
        assert!(vectors(&[0, 1], 2).contains(&vec![1, 0]));
    }

    /// A fold that counts rows. If `merges` is `false`, the function `merge` loses rows, and the
    /// laws must find this mistake.
    struct Count {
        merges: bool,
    }
    impl Fold<Vec<i32>, i32> for Count {
        type State = i32;
        fn label(&self) -> String {
            "count".into()
        }
        fn start(&self) -> i32 {
            0
        }
        fn absorb(&self, state: &mut i32, rows: &[i32]) -> House<()> {
            *state += rows.len() as i32;
            Ok(())
        }
        fn merge(&self, state: &mut i32, other: i32) -> House<()> {
            *state = if self.merges { *state + other } else { other };
            Ok(())
        }
        fn finish(&self, state: i32) -> House<i32> {
            Ok(state)
        }
    }
    fn count(merges: bool, constant: i32) -> impl Fn(usize) -> Result<usize, Broken> {
        let input =
            Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap();
        let output = Space::new(AtomDomain::default(), AbsoluteDistance::<i32>::new()).unwrap();
        let map = StabilityMap::from_constant(constant);
        let count = Transformation::new(input, output, Function::fold(Count { merges }), map);
        move |longest| all(&count, &[1, 2], longest)
    }
    #[test]
    fn accepts_a_true_map_and_refuses_a_false_one() {
        assert!(count(true, 1)(3).unwrap() > 100);
        assert!(count(true, 0)(3).unwrap_err().contains("more than 0"));
    }
    #[test]
    fn refuses_a_merge_that_loses_rows() {
        assert!(count(false, 1)(3).unwrap_err().contains("merged"));
    }
    #[test]
    fn says_when_it_tried_nothing() {
        assert!(count(true, i32::MAX)(0).is_ok());
        let input =
            Space::new(VectorDomain::new(AtomDomain::default()).with_size(9), SymmetricDistance);
        let identity = Transformation::new(
            input.clone().unwrap(),
            input.unwrap(),
            Function::map(|x: &Vec<i32>| Ok(x.clone())),
            StabilityMap::new(|d| Ok(*d)),
        );
        assert!(all(&identity, &[1], 2).unwrap_err().contains("no pair"));
    }
}
