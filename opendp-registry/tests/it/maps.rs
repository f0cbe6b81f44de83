//! Tests every registered map. At distance 0, a map must return 0. A map must never decrease and
//! must never be negative. For NaN and for negative distances, a map must return an error.

use opendp_core::erased::AnyDistance;
use opendp_core::laws::Draw;
use opendp_core::{
    AbsoluteDistance, Args, AtomDomain, Codec, Constructed, Distance, Function, Kind, Made,
    MaxDivergence, Measurement, Parameter, PrivacyMap, Result as House, Space, TypeName,
};
use opendp_registry::{Addition, Entry, Registry};
use serde_json::{Value as Json, json};

use crate::signatures::{Built, builds, each, entries};

/// List distances as JSON. The test of a map uses only the distances that the input metric of the
/// map can parse.
fn distances() -> Vec<Json> {
    let mut all: Vec<Json> = [0, 1, 2, 3, 5, 100, 1_000_000].map(Json::from).to_vec();
    all.extend([1e-300, 1e-3, 0.1, 0.5, 2.5, 1e10, 1e300].map(Json::from));
    all.push(json!("Infinity"));
    for parts in [0, 1, 2, 10] {
        for (total, limit) in [(0, 0), (1, 1), (2, 1), (2, 2), (3, 3), (10, 2), (1000, 100)] {
            all.push(json!([parts, total, limit]));
        }
        all.push(json!([parts, 0.5, 0.25]));
        all.push(json!([parts, "Infinity", 1.0]));
    }
    all
}
/// List values that are not distances.
fn wrong() -> Vec<Json> {
    let mut all = vec![json!("NaN"), json!(-1), json!(-0.5), json!("-Infinity")];
    all.extend(["NaN", "-Infinity"].map(|x| json!([1, x, 1.0])));
    all.extend([json!([1, 1.0, "NaN"]), json!([1, -1, 1]), json!([1, 1, -1])]);
    all
}
/// Return whether all numbers of a distance are 0. For a profile, these numbers are its deltas.
fn zero(json: &Json) -> bool {
    match json {
        Json::Array(parts) => parts.iter().all(zero),
        Json::Object(curve) => deltas(curve).iter().all(|delta| *delta == 0.0),
        _ => json.as_f64() == Some(0.0),
    }
}
/// Return the deltas at the points of a profile that was written as JSON.
fn deltas(curve: &serde_json::Map<String, Json>) -> Vec<f64> {
    let points = curve["profile"].as_array().unwrap();
    points.iter().map(|point| point[1].as_f64().unwrap()).collect()
}
/// Return whether one distance is at most another. Profiles are compared at the points that their
/// JSON contains. Each profile is an upper bound with a small error, and the comparison allows for
/// this error.
fn at_most(less: &AnyDistance, more: &AnyDistance) -> bool {
    match (less.to_json(), more.to_json()) {
        (Json::Object(less), Json::Object(more)) => {
            deltas(&less).iter().zip(deltas(&more)).all(|(less, more)| *less <= more * 1.001 + 1e-6)
        }
        _ => less.at_most(more) == Ok(true),
    }
}
/// Test the map of one signature. Return the number of distances for which the map returns a bound.
fn test(entry: &Entry, seed: u64) -> Result<usize, String> {
    let mut bounds = 0;
    // Profiles take long to compute. So test a signature with profiles only if it adds noise to
    // numbers of type `i32` or `f64`, and test only one object that this signature makes.
    let profiles = entry.to_string().contains("SmoothedMaxDivergence");
    if profiles
        && !["i32", "f64"].iter().any(|t| entry.to_string().contains(&format!("AtomDomain<{t}>")))
    {
        return Ok(0);
    }
    let limit = if profiles { 1 } else { usize::MAX };
    for Built { made, told } in builds(entry, &mut Draw::new(seed))?.into_iter().take(limit) {
        type Map = Box<dyn Fn(&AnyDistance) -> House<AnyDistance>>;
        let (space, map): (_, Map) = match made {
            Constructed::Measurement(made) => {
                (made.input().clone(), Box::new(move |d| made.map(d)))
            }
            Constructed::Transformation(made) => {
                (made.input().clone(), Box::new(move |d| made.map(d)))
            }
            _ => return Err(format!("{told}: has no map")),
        };
        let decode = |all: Vec<Json>| -> Vec<AnyDistance> {
            all.iter().filter_map(|json| space.metric().decode(json).ok()).collect()
        };
        for d in decode(wrong()) {
            if let Ok(bound) = map(&d) {
                return Err(format!("{told}: maps {d:?} to {bound:?}"));
            }
        }
        let all = decode(distances());
        let all: Vec<_> = all.into_iter().map(|d| (map(&d), d)).collect();
        for (bound, d) in &all {
            let bound = match bound {
                Ok(bound) => bound,
                // The result is negative or NaN.
                Err(error) if error.to_string().contains("a fault of the map") => {
                    return Err(format!("{told}: at {d:?}: {error}"));
                }
                Err(_) => continue,
            };
            bounds += 1;
            if zero(&d.to_json()) && !zero(&bound.to_json()) {
                return Err(format!("{told}: maps {d:?} to {bound:?}, which is not 0"));
            }
            for (less, c) in &all {
                if !c.at_most(d).map_err(|error| error.to_string())? {
                    continue;
                }
                let fits = less.as_ref().is_ok_and(|less| at_most(less, bound));
                if !fits {
                    return Err(format!(
                        "{told}: maps {c:?} to {less:?}, and {d:?}, which is no less, to {bound:?}"
                    ));
                }
            }
        }
    }
    match bounds {
        0 => Err(format!("{entry}: its map has no bound for any distance")),
        _ => Ok(bounds),
    }
}

#[test]
fn the_map_of_every_registered_measurement_rises_from_zero() {
    let entries = entries(Kind::Measurement);
    assert!(entries.len() > 600, "{}", entries.len());
    each(&entries, |entry, seed| test(entry, seed).map(drop));
}
#[test]
fn the_map_of_every_registered_transformation_rises_from_zero() {
    let entries = entries(Kind::Transformation);
    assert!(entries.len() > 700, "{}", entries.len());
    each(&entries, |entry, seed| test(entry, seed).map(drop));
}

/// Register a measurement with the map `map`, and test the map.
fn tested(name: &'static str, map: fn(f64) -> f64) -> Result<usize, String> {
    type Input = Space<AtomDomain<f64>, AbsoluteDistance<f64>>;
    let registry = Registry::new();
    let addition = Addition::new(name, "app", Kind::Measurement, TypeName::plain("Release"))
        .parameter(Parameter::new::<Input>("input", None))
        .constructs(move |args: &Args| {
            let input: Input = args.decode("input", None)?;
            let map = PrivacyMap::new(move |d: &f64| Ok(map(*d)));
            let function = Function::map(|_: &f64| Ok(0.0));
            Ok(Measurement::new(input, MaxDivergence, function, map).erased())
        });
    registry.add(addition).unwrap();
    test(&registry.signatures(name).unwrap()[0], 0)
}
#[test]
fn a_map_that_falls_or_does_not_start_at_zero_is_found() {
    assert!(tested("rises", |d| 2.0 * d).is_ok());
    assert!(tested("falls", |d| if d == 2.5 { 1.0 } else { d }).unwrap_err().contains("no less"));
    assert!(tested("starts_above_zero", |d| d + 1e-300).unwrap_err().contains("not 0"));
    let wrong =
        [tested("is_negative", |d| -d), tested("is_nan", |d| if d == 5.0 { f64::NAN } else { d })];
    assert!(wrong.into_iter().all(|found| found.unwrap_err().contains("a fault of the map")));
}
