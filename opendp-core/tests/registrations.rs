//! Tests of the functions that this crate offers by name.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use opendp_core::{Args, Registration};

#[test]
fn every_name_of_the_house_is_documented() {
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
    let named = |r: &&Registration| r.family.names.contains(&"linf_distance");
    let registration = Registration::all().find(|r| r.family.names.contains(&"vector_domain"));
    let error = registration.unwrap().construct(&Args::new()).unwrap_err().to_string();
    assert!(error.contains("atom_domain") && error.contains("missing"), "{error}");
    assert!(Registration::all().any(|r| named(&r)));
}
