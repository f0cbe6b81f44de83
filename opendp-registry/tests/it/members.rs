//! Tests every registered measurement. Any two members of the domain at a finite distance must both
//! give a release, or must both give an error. The length of the release must reveal nothing.

use opendp_core::erased::AnyValue;
use opendp_core::laws::{Draw, Grounds};
use opendp_core::{
    Args, AtomDomain, BitVector, Carrier, Chunk, Codec, Error, Function, Kind, Made, MaxDivergence,
    Measurement, Parameter, PrivacyMap, Result as House, Space, SymmetricDistance, TypeName,
    VectorDomain,
};
use opendp_registry::{Addition, Entry, Registry};

use crate::signatures::{Built, builds, each, entries, grounds};

/// Return the length of a release. If the release is a hash map, return a constant, because the
/// stated loss already covers the keys of the hash map.
fn length(release: &AnyValue) -> usize {
    match release.downcast_ref::<BitVector>() {
        Ok(bits) => bits.len(),
        Err(_) => release.chunk().rows(),
    }
}
/// Build measurements from a signature. Invoke each measurement three times on each of many
/// members. Compare the results for each pair of members at a finite distance. Both members must
/// give releases of the same length, or both must give the same error.
///
/// If the metric makes the number of scores public, an empty list of scores is at a finite distance
/// only from itself. So an error is allowed for this list. But any two numbers are at a finite
/// distance. So if a measurement of numbers fails for one number, it must fail with the same error
/// for all numbers.
fn test(entry: &Entry, grounds: &Grounds, seed: u64) -> Result<(), String> {
    let mut draw = Draw::new(seed);
    let (mut released, mut pairs) = (0, 0);
    for Built { made, told } in builds(entry, &mut draw)? {
        let measurement = made.measurement().map_err(|error| error.to_string())?;
        let members = grounds.members(measurement.input(), &mut draw)?;
        // The release of `make_above_threshold` ends after a limited number of answers `true`. So
        // the length of the release depends on the data. The stated loss covers all answers and the
        // length, so the lengths of two releases can differ.
        let stops = entry.name() == "make_above_threshold";
        let seen = |member: &AnyValue| -> Vec<Result<usize, String>> {
            let release = |_| {
                let release = measurement.invoke(member)?;
                Ok::<_, Error>(if stops { 0 } else { length(&release) })
            };
            (0..3).map(release).map(|seen| seen.map_err(|error| error.to_string())).collect()
        };
        let all: Vec<_> = members.iter().map(seen).collect();
        released += all.iter().filter(|seen| seen[0].is_ok()).count();
        for (x, of_x) in members.iter().zip(&all) {
            for (y, of_y) in members.iter().zip(&all) {
                if let Ok(Some(d)) = grounds.distance(measurement.input(), x, y) {
                    pairs += 1;
                    if of_x != of_y {
                        let (x, y) = (x.to_json(), y.to_json());
                        return Err(format!(
                            "{told}: {x} and {y} at {d:?} give {of_x:?}, {of_y:?}"
                        ));
                    }
                }
            }
        }
    }
    match released.min(pairs) {
        0 => Err(format!("{entry}: nothing was released")),
        _ => Ok(()),
    }
}

#[test]
fn every_registered_measurement_releases_of_every_member_and_tells_nothing_by_its_shape() {
    let (entries, grounds) = (entries(Kind::Measurement), grounds());
    assert!(entries.len() > 600, "{}", entries.len());
    each(&entries, |entry, seed| test(entry, &grounds, seed));
}

type Rows = VectorDomain<AtomDomain<i32>>;
/// Register a measurement of rows, and test the measurement.
fn tested(
    name: &'static str,
    function: impl Fn(&Vec<i32>) -> House<Vec<i32>> + Clone + Send + Sync + 'static,
) -> Result<(), String> {
    let registry = Registry::new();
    let addition = Addition::new(name, "app", Kind::Measurement, TypeName::plain("Release"))
        .parameter(Parameter::new::<Space<Rows, SymmetricDistance>>("input", None))
        .constructs(move |args: &Args| {
            let input: Space<Rows, SymmetricDistance> = args.decode("input", None)?;
            let map = PrivacyMap::new(|d: &u32| Ok(f64::from(*d)));
            let function = Function::map(function.clone());
            Ok(Measurement::new(input, MaxDivergence, function, map).erased())
        });
    registry.add(addition).unwrap();
    test(&registry.signatures(name).unwrap()[0], &grounds(), 0)
}
#[test]
fn an_error_that_depends_on_the_data_is_found() {
    let fails = |rows: &Vec<i32>| match rows.contains(&1) {
        true => Err(Error::FailedFunction("one".into())),
        false => Ok(vec![0]),
    };
    assert!(tested("fails_on_a_number", fails).unwrap_err().contains("one"));
    assert_eq!(tested("fails_on_nothing", |_| Ok(vec![0])), Ok(()));
    let always = |_: &Vec<i32>| Err(Error::FailedFunction("no".into()));
    assert!(tested("always_fails", always).unwrap_err().contains("nothing was released"));
}
#[test]
fn a_length_that_depends_on_the_data_is_found() {
    let noisy_rows = |rows: &Vec<i32>| Ok(vec![0; rows.len()]);
    assert!(tested("tells_the_number_of_rows", noisy_rows).unwrap_err().contains("Ok("));
}
