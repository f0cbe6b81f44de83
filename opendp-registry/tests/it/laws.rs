//! Tests every registered transformation. The tests use only the name and the signature of a
//! transformation.

use opendp_core::erased::{AnyChunk, AnyTransformation, AnyValue};
use opendp_core::laws::{Draw, Grounds};
use opendp_core::{
    Args, AtomDomain, Chunk, Codec, Fold, Function, InsertDeleteDistance, Kind, Made, Parameter,
    Result as House, Space, StabilityMap, Transformation, TypeName, VectorDomain,
};
use opendp_registry::{Addition, Entry, Registry};

use crate::signatures::{Built, builds, each, entries, grounds};

fn test(entry: &Entry, grounds: &Grounds, seed: u64) -> Result<(), String> {
    let mut draw = Draw::new(seed);
    let (mut pairs, mut random) = (0, false);
    for Built { made, told } in builds(entry, &mut draw)? {
        let transformation = made.transformation().map_err(|error| error.to_string())?;
        let tried = grounds.check(&transformation, &mut draw);
        let tried = tried.map_err(|broken| format!("{told}: {broken}"))?;
        pairs += tried.pairs;
        random |= tried.random;
    }
    if pairs == 0 && !random {
        return Err(format!("{entry}: no pair was tried"));
    }
    Ok(())
}

#[test]
fn every_registered_transformation_obeys_the_laws() {
    let (entries, grounds) = (entries(Kind::Transformation), grounds());
    assert!(entries.len() > 700, "{}", entries.len());
    each(&entries, |entry, seed| test(entry, &grounds, seed));
}

#[test]
fn a_map_that_claims_too_little_is_found_by_name_and_signature_alone() {
    type Rows = VectorDomain<AtomDomain<i32>>;
    let made = |claim: u32| {
        move |args: &Args| {
            let input: Space<Rows, InsertDeleteDistance> = args.decode("input", None)?;
            let first = Function::map(|rows: &Vec<i32>| Ok(rows.iter().copied().take(1).collect()));
            let domain = input.domain().clone().without_size();
            let output = Space::new(domain, InsertDeleteDistance)?;
            let map = StabilityMap::from_constant(claim);
            Ok(Transformation::new(input, output, first, map).erased())
        }
    };
    for (name, claim) in [("first_claims_enough", 2), ("first_claims_too_little", 1)] {
        let registry = Registry::new();
        let addition = Addition::new(name, "app", Kind::Transformation, TypeName::plain("First"))
            .parameter(Parameter::new::<Space<Rows, InsertDeleteDistance>>("input", None))
            .constructs(made(claim));
        registry.add(addition).unwrap();
        let entry = &registry.signatures(name).unwrap()[0];
        let tried = test(entry, &grounds(), 0);
        assert_eq!(tried.is_ok(), claim == 2, "{tried:?}");
    }
}

/// A fold that counts rows of any type.
struct Count;
impl Fold<AnyValue, u64> for Count {
    type State = u64;
    fn label(&self) -> String {
        "count".into()
    }
    fn start(&self) -> u64 {
        0
    }
    fn absorb(&self, count: &mut u64, rows: AnyChunk<'_>) -> House<()> {
        *count += rows.rows() as u64;
        Ok(())
    }
    fn merge(&self, count: &mut u64, other: u64) -> House<()> {
        *count += other;
        Ok(())
    }
    fn finish(&self, count: u64) -> House<u64> {
        Ok(count)
    }
}
/// Return whether `taker` accepts a partial result of `giver` that contains no rows. Append the
/// fold [`Count`] to both transformations, so that a transformation without a fold also has partial
/// results. If a transformation has a fold, its partial results do not change. Return `None` if
/// `giver` has no partial results.
fn takes(giver: &AnyTransformation, taker: &AnyTransformation) -> Option<bool> {
    let counted = |chain: &AnyTransformation| chain.function().then(&Function::fold(Count));
    let bytes = counted(giver).start().ok()?.to_bytes().unwrap();
    Some(counted(taker).resume(&bytes).is_ok())
}
/// Find an input for which two deterministic transformations give different outputs.
fn differ(
    first: &AnyTransformation,
    other: &AnyTransformation,
    grounds: &Grounds,
    draw: &mut Draw,
) -> Option<String> {
    let members = grounds.members(first.input(), draw).ok()?;
    let differs = |member: &&AnyValue| {
        let run = |chain: &AnyTransformation| chain.invoke(member).ok().map(|out| out.to_json());
        run(first) != run(other)
            && (0..8).all(|_| run(first) == run(first) && run(other) == run(other))
    };
    members.iter().find(differs).map(|member| member.to_json().to_string())
}
fn test_labels(entry: &Entry, grounds: &Grounds, seed: u64) -> Result<(), String> {
    let transformations = |_| -> Result<Vec<(AnyTransformation, String)>, String> {
        let built = builds(entry, &mut Draw::new(seed))?;
        Ok(built.into_iter().map(|b| (b.made.transformation().unwrap(), b.told)).collect())
    };
    let (ours, theirs) = (transformations(0)?, transformations(1)?);
    for (giver, told) in &ours {
        for (taker, other) in &theirs {
            let taken = takes(giver, taker);
            if told == other && taken == Some(false) {
                return Err(format!("{told}: made twice, it does not take its own partial result"));
            }
            if told != other && taken == Some(true) {
                let found = differ(giver, taker, grounds, &mut Draw::new(seed));
                if let Some(input) = found {
                    return Err(format!(
                        "{other}: takes a partial result of {told}, and differs at {input}"
                    ));
                }
            }
        }
    }
    Ok(())
}
#[test]
fn every_registered_transformation_takes_its_own_partial_results_and_none_of_another_function() {
    let grounds = grounds();
    each(&entries(Kind::Transformation), |entry, seed| test_labels(entry, &grounds, seed));
}
#[test]
fn a_transformation_without_a_label_or_with_that_of_another_is_found() {
    type Rows = VectorDomain<AtomDomain<i32>>;
    let made = |label: fn(i32) -> Option<String>| {
        move |args: &Args| {
            let input: Space<Rows, InsertDeleteDistance> = args.decode("input", None)?;
            let by: i32 = args.decode("by", None)?;
            let times = Function::rows(move |rows: &[i32], out: &mut Vec<i32>| {
                out.extend(rows.iter().map(|row| row.saturating_mul(by)));
                Ok(())
            });
            let times = match label(by) {
                Some(label) => times.labelled(move || label.clone()),
                None => times,
            };
            let output = Space::new(Rows::default(), InsertDeleteDistance)?;
            Ok(Transformation::new(input, output, times, StabilityMap::identity()).erased())
        }
    };
    let tried = |name: &'static str, label: fn(i32) -> Option<String>| {
        let registry = Registry::new();
        let addition = Addition::new(name, "app", Kind::Transformation, TypeName::plain("Times"))
            .parameter(Parameter::new::<Space<Rows, InsertDeleteDistance>>("input", None))
            .parameter(Parameter::new::<i32>("by", None))
            .constructs(made(label));
        registry.add(addition).unwrap();
        let entry = &registry.signatures(name).unwrap()[0];
        (0..20).try_for_each(|seed| test_labels(entry, &grounds(), seed))
    };
    assert_eq!(tried("labelled", |by| Some(format!("times {by}"))), Ok(()));
    assert!(tried("unlabelled", |_| None).unwrap_err().contains("made twice"));
    assert!(tried("labelled_alike", |_| Some("times".into())).unwrap_err().contains("differs at"));
}
