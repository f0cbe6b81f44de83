//! Every registered transformation, found by its name and signature alone, is put to the test.

use opendp_core::laws::{Draw, Grounds};
use opendp_core::{
    Args, AtomDomain, Function, InsertDeleteDistance, Kind, Made, Parameter, Space, StabilityMap,
    Transformation, TypeName, VectorDomain,
};
use opendp_registry::{Addition, Entry, Registry};

use crate::signatures::{Built, builds, each, entries, grounds};

/// Test one signature.
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
