//! Tests that `catalogue.txt` lists all signatures. If a signature changes, `catalogue.txt` must
//! change too, so that a reviewer sees the change.

use std::collections::BTreeMap;

use opendp_registry::Registry;

const REVIEWED: &str = include_str!("../../catalogue.txt");

/// Write the catalogue: one line for each constructor and choice of types, with all names of the
/// constructor. The documentation is left out.
fn catalogue() -> String {
    let registry = Registry::global();
    let mut lines = Vec::new();
    for name in registry.names() {
        let signatures = registry.signatures(&name).unwrap();
        for entry in signatures {
            let types: Vec<String> =
                entry.generics().map(|(generic, name)| format!("{generic}={name}")).collect();
            let names = entry.names().collect::<Vec<_>>().join(" ");
            lines.push(format!("{} {names} <{}>", entry.kind().name(), types.join(", ")));
        }
    }
    lines.sort();
    lines.dedup();
    lines.join("\n") + "\n"
}

#[test]
fn the_catalogue_is_the_reviewed_one() {
    let found = catalogue();
    if std::env::var_os("UPDATE_CATALOGUE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/catalogue.txt");
        std::fs::write(path, &found).unwrap();
    }
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    let count = |text: &str| {
        let mut count: BTreeMap<String, usize> = BTreeMap::new();
        text.lines().for_each(|line| *count.entry(line.to_owned()).or_default() += 1);
        count
    };
    let (reviewed, found) = (count(REVIEWED), count(&found));
    gone.extend(reviewed.keys().filter(|line| !found.contains_key(*line)));
    new.extend(found.keys().filter(|line| !reviewed.contains_key(*line)));
    assert!(
        gone.is_empty() && new.is_empty(),
        "signatures differ from catalogue.txt; after review, run this test once with \
         UPDATE_CATALOGUE=1\ngone: {gone:#?}\nnew: {new:#?}"
    );
}
#[test]
fn the_names_of_the_catalogues_are_the_registered_ones() {
    let registry = Registry::global();
    let mut lines = Vec::new();
    for name in registry.names() {
        for entry in registry.signatures(&name).unwrap() {
            let (package, ..) = entry.origin();
            lines.extend(entry.names().map(|name| format!("{package} {name}")));
        }
    }
    lines.sort();
    lines.dedup();
    let found = lines.join("\n") + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/catalogues.txt");
    if std::env::var_os("UPDATE_CATALOGUE").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap() == found,
        "src/catalogues.txt is outdated; run this test once with UPDATE_CATALOGUE=1"
    );
}
#[test]
fn the_core_constructors_and_their_older_names_are_there() {
    let names = [
        "make_is_equal",
        "make_clamp",
        "make_count",
        "make_bounded_sum",
        "make_sized_bounded_sum",
        "make_sum",
        "make_sized_bounded_mean",
        "make_mean",
        "make_count_by_categories",
        "make_quantile_score_candidates",
        "make_sized_quantile_score_candidates",
        "make_gumbel_max",
        "make_base_discrete_exponential",
        "make_laplace",
        "make_base_laplace",
        "make_base_discrete_laplace",
        "make_chain_tt",
        "make_chain_mt",
        "make_chain_pm",
        "make_composition",
        "make_basic_composition",
    ];
    assert!(Registry::global().expecting(&names).is_ok());
    let error = Registry::global().expecting(&["make_clamp", "make_absent"]).unwrap_err();
    assert_eq!(error.kind(), "NotFound");
    assert!(error.to_string().contains("make_absent"), "{error}");
}
#[test]
fn every_signature_has_documentation_and_an_origin() {
    for name in Registry::global().names() {
        for entry in Registry::global().signatures(&name).unwrap() {
            assert!(!entry.documentation().is_empty(), "{entry}");
            let (package, version, module) = entry.origin();
            assert!(package.starts_with("opendp-") && !version.is_empty(), "{entry}");
            assert!(module.contains("::"), "{entry}");
        }
    }
}
#[test]
fn every_constructor_states_its_map_its_proof_and_its_errors() {
    use opendp_core::Kind;
    for name in Registry::global().names() {
        let signatures = Registry::global().signatures(&name).unwrap();
        let entry = &signatures[0];
        if !matches!(entry.kind(), Kind::Transformation | Kind::Measurement) {
            continue;
        }
        let documentation = entry.documentation();
        let ground = if TRUSTED.contains(&&*name) { "# Trust" } else { "# Proof" };
        for section in ["# Map", ground, "# Errors"] {
            assert!(documentation.contains(section), "{name} lacks {section}");
        }
    }
}
/// The constructors whose claims the user guarantees. All other constructors have a proof, or make
/// an object that needs no proof.
const TRUSTED: [&str; 7] = [
    "make_user_measurement",
    "make_user_transformation",
    "new_function",
    "new_queryable",
    "user_distance",
    "user_divergence",
    "user_domain",
];
#[test]
fn nothing_is_trusted_but_what_users_define() {
    let registry = Registry::global();
    let trusted = |name: &String| registry.signatures(name).unwrap().iter().any(|e| !e.proved());
    let found: Vec<String> = registry.names().into_iter().filter(trusted).collect();
    assert_eq!(found, TRUSTED);
}
