//! Tests of the functions that this crate offers by name.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by panicking"
)]

use opendp_core::{
    Args, AtomDomain, Bounds, Constructed, Constructor, Domain, Family, Kind, Origin, Registration,
    Result, TheDomain,
};
use serde_json::json;

/// Return the domain of ages up to `highest`.
pub fn age_domain(highest: i64) -> Result<TheDomain<AtomDomain<i64>>> {
    Ok(TheDomain(AtomDomain::bounded(Bounds::new(0, highest)?)))
}
type AgeDomain = fn(i64) -> Result<TheDomain<AtomDomain<i64>>>;
type Signature = fn(i64) -> TheDomain<AtomDomain<i64>>;
inventory::submit! {
    Registration {
        family: &Family {
            names: &["acme::age_domain"],
            specs: &[("highest", Some("120"))],
            function: "age_domain",
            source: include_str!("registrations.rs"),
            origin: Origin { package: "acme", version: "0.1.0", module: module_path!() },
        },
        generics: &[],
        types: <AgeDomain as Constructor<Signature>>::TYPES,
        made: <AgeDomain as Constructor<Signature>>::MADE,
        construct: |call| Constructor::<Signature>::call(&(age_domain as AgeDomain), call),
        path: || concat!(module_path!(), "::age_domain"),
    }
}

#[test]
fn a_registration_without_the_macro_is_found_and_called() {
    let named = |found: &&Registration| found.family.names == ["acme::age_domain"];
    let found: Vec<_> = Registration::all().filter(named).collect();
    let [found] = found.as_slice() else { panic!("found {} times", found.len()) };
    assert_eq!(found.documentation(), "Return the domain of ages up to `highest`.");
    assert_eq!(found.kind(), Kind::Domain);
    assert_eq!(found.signatures()[0].parameters[0].type_name.to_string(), "i64");
    for (args, highest) in [(Args::new(), 120_i64), (Args::new().with("highest", json!(17)), 17)] {
        let made = found.construct(&args).unwrap();
        let Constructed::Domain(domain) = made else { panic!("another kind") };
        let expected = AtomDomain::bounded(Bounds::new(0, highest).unwrap());
        assert_eq!(domain.to_json(), expected.to_json());
    }
    let wrong = Args::new().with("highest", json!("17"));
    assert!(found.construct(&wrong).unwrap_err().to_string().contains("highest"));
}
#[test]
fn every_registered_function_of_this_crate_is_documented() {
    for registration in Registration::all() {
        assert!(!registration.documentation().is_empty(), "{registration:?}");
    }
    assert!(Registration::all().count() > 100);
}
#[test]
fn a_registration_has_as_many_signatures_as_choices_of_its_types() {
    for registration in Registration::all() {
        let signatures = registration.signatures();
        let choices: usize =
            registration.generics.iter().map(|generic| generic.types.len()).product();
        assert_eq!(signatures.len(), choices, "{registration:?}");
        let generics = signatures.iter().map(|signature| signature.generics.len());
        assert!(generics.clone().all(|count| count == registration.generics.len()));
    }
}
#[test]
fn a_missing_argument_is_named_with_what_was_expected() {
    let registration = Registration::all().find(|r| r.family.names.contains(&"vector_domain"));
    let error = registration.unwrap().construct(&Args::new()).unwrap_err().to_string();
    assert!(error.contains("atom_domain") && error.contains("missing"), "{error}");
}
