//! Tests that documents keep their meaning after a constructor changes.

use opendp_core::{Bounds, Change, Kind, Made, Migration, Parameter, TypeName};
use opendp_registry::{Addition, Document, Registry};
use opendp_transformations::make_bounded_int_split_sum;
use serde_json::{Value as Json, json};

const fn change(since: u64, change: Change) -> Migration {
    Migration { package: "acme-dp", constructor: "make_total", since, change }
}
/// Return a registry in which `make_total` of `acme-dp` has changed three times.
fn registry() -> Registry {
    registry_of("make_total")
}
/// Return the registry of [`registry`], in which `make_total` has another registered name.
fn registry_of(name: &'static str) -> Registry {
    let registry = Registry::new();
    let output: TypeName = "Transformation".parse().unwrap();
    let total = Addition::new(name, "acme-dp", Kind::Transformation, output)
        .parameter(Parameter::new::<Bounds<i32>>("range", None))
        .parameter(Parameter::new::<i32>("unit", Some("10".into())))
        .constructs(|args| {
            let range: Bounds<i32> = args.decode("range", None)?;
            let unit: i32 = args.decode("unit", Some("10"))?;
            let range = Bounds::new(range.lower() * unit, range.upper() * unit)?;
            Ok(make_bounded_int_split_sum::<i32>(range)?.erased())
        });
    registry.add(total).unwrap();
    registry.migrate(change(4, Change::Defaulted { argument: "unit", value: "1" }));
    registry.migrate(change(2, Change::Renamed { from: "bounds", to: "range" }));
    registry.migrate(change(3, Change::Removed { argument: "exact", only: "true" }));
    registry
}
/// Build `make_total` from a document, and return its map at distance 1. If the lower end of the
/// range is 0, the result is the upper end of the range, times `unit`.
fn loss(registry: &Registry, packages: Json, args: Json) -> Result<Json, opendp_core::Error> {
    let mut document = json!({"constructor": "make_total", "args": args});
    if !packages.is_null() {
        document["packages"] = packages;
    }
    Document::new(document)?.build(registry)?.map(&json!(1))
}

#[test]
fn an_argument_with_a_new_name_is_read_by_its_old_one() {
    let registry = registry();
    let old = json!({"bounds": [0, 9]});
    assert_eq!(loss(&registry, json!(null), old.clone()).unwrap(), json!(9));
    assert_eq!(loss(&registry, json!({"acme-dp": 1}), old.clone()).unwrap(), json!(9));
    assert_eq!(
        registry.take_notes(),
        ["the argument `bounds` of `make_total` is now called `range`"]
    );
    // The note is returned once, even if several documents use the old name.
    loss(&registry, json!(null), old.clone()).unwrap();
    assert!(registry.take_notes().is_empty());
    // A document that states version 2 must use the new name.
    let error = loss(&registry, json!({"acme-dp": 2}), old).unwrap_err().to_string();
    assert!(error.contains("`range`") && error.contains("since version 2"), "{error}");
    let both = json!({"bounds": [0, 9], "range": [0, 8]});
    let error = loss(&registry, json!(null), both).unwrap_err().to_string();
    assert!(error.contains("`bounds`") && error.contains("remove one"), "{error}");
}
#[test]
fn a_new_default_does_not_change_an_older_document() {
    let registry = registry();
    let range = json!({"range": [0, 9]});
    for (version, most_of_all) in [(1, 9), (3, 9), (4, 90)] {
        let packages = json!({"acme-dp": version});
        assert_eq!(loss(&registry, packages, range.clone()).unwrap(), json!(most_of_all));
    }
    let stated = json!({"range": [0, 9], "unit": 2});
    assert_eq!(loss(&registry, json!(null), stated).unwrap(), json!(18));
    assert!(registry.take_notes().is_empty());
}
#[test]
fn an_argument_that_is_gone_is_dropped_only_if_it_meant_the_same() {
    let registry = registry();
    let exact = |value: Json| json!({"range": [0, 9], "exact": value});
    assert_eq!(loss(&registry, json!(null), exact(json!(true))).unwrap(), json!(9));
    assert_eq!(registry.take_notes().len(), 1);
    let error = loss(&registry, json!(null), exact(json!(false))).unwrap_err().to_string();
    assert!(error.contains("`exact`") && error.contains("no equivalent"), "{error}");
    assert!(loss(&registry, json!({"acme-dp": 3}), exact(json!(true))).is_err());
}
#[test]
fn a_version_that_is_not_known_is_refused() {
    let registry = registry();
    let range = json!({"range": [0, 9]});
    let error = loss(&registry, json!({"acme-dp": 5}), range.clone()).unwrap_err().to_string();
    assert!(error.contains("up to 4") && error.contains("update"), "{error}");
    for packages in
        [json!(7), json!({"acme-dp": 0}), json!({"acme-dp": "2"}), json!({"acme-dp": 1.5})]
    {
        let error = loss(&registry, packages.clone(), range.clone()).unwrap_err();
        assert!(error.to_string().contains("packages"), "{packages}: {error}");
    }
    // A package without changes has version 1.
    assert!(loss(&registry, json!({"other": 1}), range.clone()).is_ok());
    assert!(loss(&registry, json!({"other": 2}), range).is_err());
}
#[test]
fn a_part_of_a_document_has_the_versions_of_the_whole() {
    let part = |version: u64, packages: Json| {
        let counted = json!({"constructor": "make_count", "args": {},
                             "version": version, "packages": packages});
        let rows = json!({"vector_domain": {"atom_domain": {"T": "i32"}}});
        json!({"version": 1, "packages": {"acme-dp": 2},
               "space": {"domain": rows, "metric": "symmetric_distance"}, "chain": [counted]})
    };
    let registry = registry();
    let build = |document: Json| Document::new(document)?.build(&registry);
    for (version, packages) in [(1, json!({"acme-dp": 2})), (1, json!({}))] {
        assert!(build(part(version, packages)).is_ok());
    }
    for (version, packages) in [(1, json!({"acme-dp": 3})), (2, json!({}))] {
        let error = build(part(version, packages)).unwrap_err();
        assert_eq!(error.kind(), "Argument");
        assert!(error.to_string().contains("state the versions only once"), "{error}");
    }
    let error = build(part(1, json!(["acme-dp", 3]))).unwrap_err().to_string();
    assert!(error.contains("expected an object of versions"), "{error}");
}
/// A third party registers a function under a name with a prefix. `migrate!` states the name
/// without the prefix.
#[test]
fn a_name_with_a_prefix_has_the_changes_of_its_function() {
    let registry = registry_of("acme::make_total");
    let build = |name: &str, args: Json| {
        let document = json!({"constructor": name, "args": args, "packages": {"acme-dp": 1}});
        Document::new(document)?.build(&registry)?.map(&json!(1))
    };
    for name in ["acme::make_total", "acme::total"] {
        assert_eq!(build(name, json!({"bounds": [0, 9], "exact": true})).unwrap(), json!(9));
    }
    let note = "the argument `bounds` of `acme::make_total` is now called `range`";
    assert!(registry.take_notes().iter().any(|found| found == note));
    // A change that is stated under the name with the prefix also applies. Changes apply in the
    // order of the versions.
    let change = Change::Renamed { from: "limits", to: "bounds" };
    let constructor = "acme::make_total";
    registry.migrate(Migration { package: "acme-dp", constructor, since: 2, change });
    assert_eq!(build("acme::make_total", json!({"limits": [0, 9]})).unwrap(), json!(9));
    // The control: a change that another package states under the name of the function is ignored.
    let change = Change::Defaulted { argument: "range", value: "[0, 1]" };
    registry.migrate(Migration {
        package: "stranger",
        constructor: "make_total",
        since: 2,
        change,
    });
    assert!(build("acme::make_total", json!({})).is_err());
}
#[test]
fn only_the_package_of_a_constructor_changes_it() {
    let registry = registry();
    let stranger = Migration {
        package: "stranger",
        constructor: "make_clamp",
        since: 2,
        change: Change::Defaulted { argument: "bounds", value: "[0, 1]" },
    };
    registry.migrate(stranger);
    let domain = json!({"vector_domain": {"atom_domain": {"T": "i32"}}});
    let space = json!({"domain": domain, "metric": "symmetric_distance"});
    let document = Document::new(json!({"space": space, "chain": ["clamp"]})).unwrap();
    let error = document.build(&registry).unwrap_err().to_string();
    assert!(error.contains("bounds"), "{error}");
}
#[test]
fn a_change_of_a_name_that_does_not_exist_is_found_at_the_start() {
    let refused = |migration: Migration| {
        let registry = registry();
        registry.expecting(&["make_total"]).unwrap();
        registry.migrate(migration);
        registry.expecting(&["make_total"]).map(drop).unwrap_err().to_string()
    };
    let advice = Change::Deprecated { advice: "use `make_sum`" };
    let error = refused(Migration { constructor: "make_totl", ..change(5, advice) });
    assert!(error.contains("`make_totl`") && error.contains("acme-dp"), "{error}");
    let error = refused(change(5, Change::Renamed { from: "unit", to: "units" }));
    assert!(error.contains("`units`") && error.contains("`make_total`"), "{error}");
    let error = refused(change(2, Change::Defaulted { argument: "bound", value: "1" }));
    assert!(error.contains("`bound`"), "{error}");
    // A later change renames or removes the argument of an earlier change.
    let registry = registry();
    registry.migrate(change(1, Change::Defaulted { argument: "bounds", value: "[0, 1]" }));
    registry.migrate(change(1, Change::Defaulted { argument: "exact", value: "true" }));
    registry.expecting(&[]).unwrap();
    // A package without constructors changes nothing.
    registry.migrate(Migration { package: "stranger", ..change(5, advice) });
    registry.expecting(&[]).unwrap();
}
#[test]
fn an_older_name_is_told_once_and_a_document_of_opendp_is_not_blamed() {
    let registry = Registry::new();
    let args = json!({"bounds": {"__tuple__": [0, 9]}, "T": "i32"});
    let name = "make_bounded_int_split_sum";
    let theirs = json!({"__function__": name, "__module__": "transformations", "__kwargs__": args});
    Document::new(theirs).unwrap().build(&registry).unwrap();
    assert!(registry.take_notes().is_empty());
    let ours = json!({"constructor": name, "args": {"bounds": [0, 9]}});
    Document::new(ours).unwrap().build(&registry).unwrap();
    assert_eq!(registry.take_notes(), [format!("`{name}` is deprecated: use `make_sum`")]);
}
#[test]
fn each_older_name_has_an_advice_that_names_a_constructor() {
    let registry = Registry::global();
    for name in registry.names() {
        let signatures = registry.signatures(&name).unwrap();
        let mut changes = Migration::all().filter(|it| it.constructor == name);
        let advice = changes.find_map(|it| match it.change {
            Change::Deprecated { advice } => Some(advice),
            _ => None,
        });
        assert_eq!(advice.is_some(), !signatures[0].recommended(), "{name}");
        let Some(advice) = advice else { continue };
        let better = advice.split('`').nth(1).unwrap();
        assert!(registry.signatures(better).unwrap()[0].recommended(), "{name}: {advice}");
    }
}

#[test]
fn a_document_of_today_states_the_versions_that_it_relies_on() {
    let registry = registry();
    let call = json!({"constructor": "make_total", "args": {"range": [0, 9]}});
    let newest = Document::newest(call.clone(), &registry).unwrap();
    assert_eq!(newest.json()["packages"], json!({"acme-dp": 4}));
    // The default of `unit` is the newest default, and not the default of version 1.
    assert_eq!(newest.build(&registry).unwrap().map(&json!(1)).unwrap(), json!(90));
    let unstated = Document::new(call).unwrap();
    assert_eq!(unstated.build(&registry).unwrap().map(&json!(1)).unwrap(), json!(9));
    // A document does not state the version of a package that the document does not use.
    let other = json!({"constructor": "make_bounded_int_split_sum", "args": {"bounds": [0, 9]}});
    let other = Document::newest(other, &registry).unwrap();
    assert_eq!((other.json().get("packages"), &other.json()["version"]), (None, &json!(1)));
    assert_eq!(Document::newest(json!([1]), &registry).unwrap_err().kind(), "Argument");
}
