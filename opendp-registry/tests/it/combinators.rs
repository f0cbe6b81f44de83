//! Tests every registered combinator of measurements. A member is a measurement to which a
//! combinator is applied. The map of the result must never decrease. At distance 0, this map must
//! never be below the true loss of a member.
//!
//! Two data sets at distance 0 can be different. Under the symmetric distance, the order of their
//! rows can differ, and a member can reveal the order.

use opendp_core::erased::{AnyDistance, AnyDomain, AnyMeasurement, AnyMetric, AnyValue};
use opendp_core::{
    Args, Codec, Distance, Kind, Made, MaxDivergence, Measure, Measurement, Parameter, PrivacyMap,
    TypeName,
};
use opendp_registry::{Addition, Entry, Registry};
use serde_json::Value as Json;

mod examples;
mod members;

use crate::signatures::each;
use examples::{EXAMPLES, Example, alone};
use members::{Member, Truth, members};

/// Return the members to which a signature is applied. If the signature states a type of rows, the
/// members take data sets with rows of this type.
fn members_for(entry: &Entry) -> Result<Vec<Member>, String> {
    let rows = entry.generics().find(|(name, _)| *name == "E").map(|(_, e)| e.to_string());
    macro_rules! of_rows {
        ($($t:ident)*) => {
            match rows.as_deref() {
                None => Ok(members::<i32>()),
                $(Some(concat!("AtomDomain<", stringify!($t), ">")) => Ok(members::<$t>()),)*
                Some(other) => Err(format!("{entry}: needs members on rows of {other}")),
            }
        };
    }
    of_rows!(bool String i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 usize f32 f64)
}

/// Return whether a signature takes measurements or odometers. A signature that takes an odometer
/// counts too, because the odometer takes measurements later.
fn combines(entry: &Entry) -> bool {
    entry.parameters().iter().any(|parameter| {
        let name = parameter.type_name.to_string();
        name.contains("Measurement") || name.contains("Odometer")
    })
}
/// Return whether one loss is at most another. Losses that consist of numbers are compared number
/// by number. Curves are compared at the points that their JSON contains. The comparison of curves
/// allows for errors of computation.
fn at_most(less: &Json, more: &Json) -> bool {
    match (less, more) {
        (Json::Array(less), Json::Array(more)) => {
            less.len() == more.len() && less.iter().zip(more).all(|(x, y)| at_most(x, y))
        }
        (Json::Object(less), Json::Object(more)) => less.iter().all(|(name, curve)| {
            let (less, more) = (points(curve), points(&more[name]));
            // If a curve has no bound at an argument, its JSON has no point at this argument.
            more.iter().all(|(x, bound)| {
                let found = less.iter().find(|(other, _)| other == x);
                found.is_some_and(|(_, y)| *y <= bound * 1.001 + 1e-6)
            })
        }),
        _ => number(less) <= number(more),
    }
}
fn number(json: &Json) -> f64 {
    match json {
        Json::String(text) => text.parse().unwrap_or(f64::NAN),
        other => other.as_f64().unwrap_or(f64::NAN),
    }
}
fn points(curve: &Json) -> Vec<(f64, f64)> {
    let pairs = curve.as_array().unwrap().iter();
    pairs.map(|pair| (number(&pair[0]), number(&pair[1]))).collect()
}
const EPSILONS: [f64; 7] = [0.0, 0.01, 0.3, 0.7, 1.0, 2.0, 6.0];

/// Check the map of the object that a combinator made from a member. Return whether the map returns
/// a loss for any of the tested distances.
fn check(made: &AnyMeasurement, member: &Member) -> Result<bool, String> {
    let ds = [0, 1, 2, 3, 4, 5, 10, 100].map(AnyDistance::new::<u32>);
    let bounds = ds.map(|d| (made.map(&d), d));
    for (more, d) in &bounds {
        for (less, c) in &bounds {
            let (Ok(less), Ok(more)) = (less, more) else { continue };
            if c.at_most(d) == Ok(true) && !at_most(&less.to_json(), &more.to_json()) {
                return Err(format!("its map falls: {less:?} at {c:?}, {more:?} at {d:?}"));
            }
        }
    }
    // If the map returns an error at distance 0, check only whether the map returns a loss at
    // another distance.
    let (Ok(at_0), _) = &bounds[0] else {
        return Ok(bounds.iter().any(|(bound, _)| bound.is_ok()));
    };
    let forgets = || Err(format!("it forgets a loss at distance 0: it says {at_0:?} there"));
    if made.measure() == member.made.measure()
        && !at_most(&member.loss(0).to_json(), &at_0.to_json())
    {
        return forgets();
    }
    let covers = |truth: Truth| match made.measure().profile(at_0) {
        Err(_) => covers(&at_0.to_json(), truth),
        Ok(profile) => EPSILONS.iter().all(|epsilon| {
            let delta = profile.delta(*epsilon);
            delta.is_ok_and(|delta| truth.at(*epsilon) <= delta)
        }),
    };
    if member.truth.is_none_or(covers) { Ok(true) } else { forgets() }
}
/// Return whether a stated loss is at least the known lower bound on the true loss. The stated loss
/// is a concentrated or Renyi loss, optionally with a delta.
fn covers(loss: &Json, truth: Truth) -> bool {
    match loss {
        Json::Array(parts) => covers(&parts[0], truth) || truth.at(0.0) <= number(&parts[1]),
        Json::Object(curve) => {
            curve.values().flat_map(points).all(|(_, loss)| truth.divergence <= loss)
        }
        _ => truth.divergence <= number(loss),
    }
}
/// Test one signature with all members. Return two counts of the tests in which the map returns a
/// loss. The first count is for members with a known lower bound on the true loss at distance 0.
/// The second count is for all other members.
fn test(entry: &Entry, examples: &[Example]) -> Result<(usize, usize), String> {
    let example = examples.iter().find(|example| entry.names().any(|name| name == example.name));
    let Some(example) = example else {
        return Err(format!("{entry}: needs an example in `combinators/examples.rs`"));
    };
    let (mut losing, mut others) = (0, 0);
    for member in members_for(entry)? {
        for args in (example.calls)(&member) {
            let Ok(made) = entry.construct(&args) else { continue };
            let made = made.measurement().map_err(|error| format!("{entry}: {error}"))?;
            let checked = check(&made, &member);
            if checked.map_err(|how| format!("{entry} of {}: {how}", member.told))? {
                *(if member.truth.is_some() { &mut losing } else { &mut others }) += 1;
            }
        }
    }
    match others {
        0 => Err(format!("{entry}: takes none of the members")),
        _ => Ok((losing, others)),
    }
}

#[test]
fn no_registered_combinator_has_a_map_that_falls_or_that_forgets_a_loss_at_distance_0() {
    let registry = Registry::global();
    let names = registry.names();
    let mut entries: Vec<_> =
        names.iter().flat_map(|name| registry.signatures(name).unwrap()).collect();
    entries.retain(|entry| combines(entry));
    assert!(entries.len() > 50, "{}", entries.len());
    for example in EXAMPLES {
        assert!(names.iter().any(|name| name == example.name), "{} is gone", example.name);
    }
    each(&entries, |entry, _| test(entry, EXAMPLES).map(drop));
}

type Inner = Measurement<AnyDomain, AnyMetric, MaxDivergence, AnyValue>;
/// Register a combinator with the map `map`, and test this combinator.
fn tested(name: &'static str, map: fn(&Inner, u32) -> f64) -> Result<(usize, usize), String> {
    let registry = Registry::new();
    let addition = Addition::new(name, "app", Kind::Measurement, TypeName::plain("Release"))
        .parameter(Parameter::new::<Inner>("measurement", None))
        .constructs(move |args: &Args| {
            let inner: Inner = args.decode("measurement", None)?;
            let kept = inner.clone();
            let map = PrivacyMap::new(move |d: &AnyDistance| Ok(map(&kept, *d.downcast_ref()?)));
            Ok(inner.with_loss(MaxDivergence, map).erased())
        });
    registry.add(addition).unwrap();
    let entry = &registry.signatures(name).unwrap()[0];
    assert!(combines(entry));
    test(
        entry,
        &[Example { name: "honest", calls: alone }, Example { name: "broken", calls: alone }],
    )
}
fn loss(inner: &Inner, d: u32) -> f64 {
    inner.map(&AnyDistance::new(d)).unwrap()
}
#[test]
fn a_combinator_that_is_broken_or_without_an_example_is_found() {
    assert!(tested("honest", |inner, d| 2.0 * loss(inner, d)).is_ok_and(|(losing, _)| losing > 0));
    let broken = |map| tested("broken", map).unwrap_err();
    // At distance 0, the stated loss must be at least the loss of the member. The first map states
    // the loss 0, and the second map states a loss that is 1 percent too small.
    assert!(broken(|inner, d| if d == 0 { 0.0 } else { loss(inner, d) }).contains("forgets"));
    assert!(broken(|inner, d| 0.99 * loss(inner, d)).contains("forgets"));
    // An earlier version of sampling had this error: the loss at distance 1 was scaled, but the
    // loss at distance 0 was not scaled.
    let falls = broken(|inner, d| loss(inner, d) * if d == 0 { 1.0 } else { 0.01 });
    assert!(falls.contains("falls"), "{falls}");
    assert!(tested("new", |_, _| 0.0).unwrap_err().contains("needs an example"));
}
