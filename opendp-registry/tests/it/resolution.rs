//! Tests the resolution of a name, types and arguments to one signature.

use std::sync::atomic::{AtomicUsize, Ordering};

use opendp_core::erased::AnyValue;
use opendp_core::{
    AbsoluteDistance, Arg, Args, Argument, AtomDomain, Bounds, Codec, Constructed, Kind, Made,
    MetricOn, Named, Parameter, Result, Space, SymmetricDistance, TheMetric, TypeName,
    VectorDomain,
};
use opendp_registry::{Addition, Registry};
use serde_json::json;

fn space() -> Space<VectorDomain<AtomDomain<i32>>, SymmetricDistance> {
    Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap()
}
#[track_caller]
fn resolve(request: &str, args: &Args) -> String {
    let entry = Registry::global().resolve(request, args).unwrap();
    entry.generics().map(|(name, t)| format!("{name}={t}")).collect::<Vec<_>>().join(", ")
}
#[track_caller]
fn refuse(request: &str, args: &Args, kind: &str, parts: &[&str]) {
    let error = Registry::global().make(request, args).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "`{error}` does not say `{part}`");
    }
}

#[test]
fn a_misspelt_argument_is_named_and_not_the_input() {
    for (wrong, right) in [("scal", "scale"), ("sale", "scale")] {
        let input = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new());
        let args = Args::new().with("input", &input.unwrap().erase()).with(wrong, json!(0.5));
        let parts = [format!("`{wrong}`"), format!("did you mean `{right}`?")];
        refuse("make_laplace", &args, "Argument", &parts.each_ref().map(String::as_str));
    }
    let input = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new());
    let args = Args::new().with("input", &input.unwrap().erase()).with("sigma", json!(0.5));
    refuse("make_laplace", &args, "Argument", &["`sigma`", "unknown argument", "`scale`"]);
    // If a signature is called directly, an unknown argument is also an error.
    let args = args.with("scale", json!(0.5));
    for signature in Registry::global().signatures("make_laplace").unwrap() {
        let error = signature.construct(&args).unwrap_err().to_string();
        assert!(error.contains("`sigma`") && error.contains("unknown argument"), "{error}");
    }
}
#[test]
fn a_signature_that_is_called_directly_takes_only_its_own_types() {
    let args = Args::new().with("input", &space().erase()).with("bounds", json!([0, 1]));
    let mut made = 0;
    for signature in Registry::global().signatures("make_clamp").unwrap() {
        let fits =
            signature.parameters().iter().all(|p| args.get(&p.name).is_none_or(|a| p.accepts(a)));
        match signature.construct(&args) {
            Ok(_) => made += 1,
            Err(error) => assert!(!fits && error.to_string().contains("`input`"), "{error}"),
        }
    }
    assert_eq!(made, 1);
}
#[test]
fn what_is_remembered_of_a_request_depends_on_the_measure_of_a_measurement() {
    let noise = |name: &str| {
        let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance);
        let count = Args::new().with("input", &input.unwrap().erase()).with("TO", json!("i32"));
        let count =
            Registry::global().make("make_count", &count).unwrap().transformation().unwrap();
        let args = Args::new().with("input", count.output()).with("scale", json!(1.0));
        let args = args.with("MO", json!(name));
        let kind = if name == "MaxDivergence" { "make_laplace" } else { "make_gaussian" };
        let noise = Registry::global().make(kind, &args).unwrap().measurement().unwrap();
        Constructed::from(count.then(|_| Ok(noise)).unwrap())
    };
    for name in ["MaxDivergence", "SmoothedMaxDivergence", "MaxDivergence"] {
        let args = Args::new().with("measurement", noise(name)).with("rate", json!(0.25));
        let sampled = Registry::global().make("make_poisson_subsampling", &args).unwrap();
        let sampled = sampled.measurement().unwrap();
        assert_eq!(sampled.measure().inner_type().to_string(), name);
    }
}
#[test]
fn the_types_of_arguments_decide() {
    let args = Args::new().with("input", &space().erase()).with("bounds", json!([0, 10]));
    assert_eq!(resolve("make_clamp", &args), "T=i32, M=SymmetricDistance");
    assert_eq!(resolve("clamp", &args), "T=i32, M=SymmetricDistance");
    assert_eq!(resolve("then_clamp", &args), "T=i32, M=SymmetricDistance");
    let clamp = Registry::global().make("make_clamp", &args).unwrap().transformation().unwrap();
    let out = clamp.invoke(&AnyValue::new(vec![-5, 5, 50])).unwrap();
    assert_eq!(out.to_json(), json!([0, 5, 10]));
}
#[test]
fn values_that_already_have_types_decide() {
    let args = Args::new().with("input", &space()).with_value("bounds", Bounds::new(0, 1).unwrap());
    assert_eq!(resolve("make_clamp", &args), "T=i32, M=SymmetricDistance");
    let args = args.with_value("bounds", Bounds::new(0.0, 1.0).unwrap());
    refuse("make_clamp", &args, "Argument", &["bounds", "Bounds<i32>"]);
}
#[test]
fn types_are_named_by_position_by_name_or_by_an_argument() {
    let args = Args::new().with("input", &space().erase());
    for request in
        ["make_count<TO=i64>", "make_count<i32, SymmetricDistance, i64>", "make_count<TO = i64>"]
    {
        assert!(resolve(request, &args).ends_with("TO=i64"), "{request}");
    }
    let named = args.clone().with("TO", json!("i64"));
    assert!(resolve("make_count", &named).ends_with("TO=i64"));
    let python = args.clone().with("TO", json!("float"));
    assert!(resolve("make_count", &python).ends_with("TO=f64"));
    // If the arguments do not determine the type, the default is used.
    assert!(resolve("make_count", &args).ends_with("TO=i32"));
    let args = args.with("categories", json!([1, 2]));
    let counts = |request: &str| resolve(request, &args);
    assert!(counts("make_count_by_categories").ends_with("MO=L1Distance<i32>, TOA=i32"));
    assert!(counts("make_count_by_categories<TOA=i64>").ends_with("MO=L1Distance<i64>, TOA=i64"));
    assert!(counts("make_count_by_categories<MO=L1Distance<f64>>").ends_with("TOA=f64"));
}
#[test]
fn json_is_read_as_the_usual_type_that_holds_it() {
    let domain = |bounds| resolve("atom_domain", &Args::new().with("bounds", bounds));
    assert_eq!(domain(json!([0, 1])), "T=i32");
    assert_eq!(domain(json!([0, 3_000_000_000_u32])), "T=i64");
    assert_eq!(domain(json!([0.5, 1.0])), "T=f64");
    assert_eq!(domain(json!(["a", "b"])), "T=String");
    refuse("atom_domain", &Args::new(), "Ambiguous", &["T", "`f64`"]);
}
#[test]
fn unknown_names_are_answered_with_near_ones() {
    refuse("make_clomp", &Args::new(), "NotFound", &["make_clomp", "did you mean", "make_clamp"]);
    refuse("laplase", &Args::new(), "NotFound", &["make_laplace"]);
    refuse("zzzzzz", &Args::new(), "NotFound", &["opendp list"]);
}
#[test]
fn errors_name_the_parameter_that_fails() {
    let args = Args::new().with("input", &space().erase());
    refuse("make_clamp", &args, "Argument", &["bounds", "missing", "a pair [lower, upper] of i32"]);
    refuse("make_clamp", &args.clone().with("bounds", json!([5, 1])), "MakeDomain", &["bounds"]);
    refuse(
        "make_clamp",
        &args.clone().with("bounds", json!([0.5, 1])),
        "Argument",
        &["bounds", "i32"],
    );
    refuse("make_clamp", &args.clone().with("bounds", json!("x")), "Argument", &["bounds"]);
    refuse(
        "make_clamp",
        &args.clone().with("bound", json!([0, 1])),
        "Argument",
        &["bound", "bounds"],
    );
    refuse("make_clamp<T=i33>", &args, "Argument", &["T", "i33", "i32"]);
    refuse("make_clamp<X=i32>", &args, "Argument", &["X", "T"]);
    refuse("make_clamp<T=f64>", &args, "Argument", &["input", "takes `f64`"]);
    refuse("make_clamp<T=", &args, "TypeParse", &["bracket"]);
    let atom = Space::new(AtomDomain::<i32>::default(), opendp_core::DiscreteDistance).unwrap();
    refuse(
        "make_clamp",
        &Args::new().with("input", &atom.erase()),
        "Argument",
        &["input", "AtomDomain<i32>"],
    );
}
#[test]
fn resolution_does_not_depend_on_what_was_asked_before() {
    let registry = Registry::new();
    let args = |bounds| Args::new().with("input", &space().erase()).with("bounds", bounds);
    let first = registry.resolve("make_clamp", &args(json!([0, 1]))).unwrap().to_string();
    for _ in 0..3 {
        // A cached result equals the first result. A request that gives an error also gives an
        // error when it is repeated.
        assert_eq!(
            registry.resolve("make_clamp", &args(json!([0, 9]))).unwrap().to_string(),
            first
        );
        assert!(registry.make("make_clamp", &args(json!([9, 0]))).is_err());
        assert!(registry.resolve("make_clamp", &args(json!([0, 1])).with("x", json!(1))).is_err());
    }
}
#[test]
fn a_type_argument_is_not_remembered_by_its_kind() {
    let args = |to| Args::new().with("input", &space().erase()).with("TO", to);
    assert!(resolve("make_count", &args(json!(null))).ends_with("TO=i32"));
    refuse("make_count", &args(json!(5)), "Argument", &["TO"]);
    assert!(resolve("make_count", &args(json!("i64"))).ends_with("TO=i64"));
    assert!(resolve("make_count", &args(json!("u32"))).ends_with("TO=u32"));
}
#[test]
fn only_trusted_packages_are_called() {
    let core = Registry::trusting(&["opendp-core"]);
    assert_eq!(core.signatures("make_clamp").unwrap_err().kind(), "NotFound");
    assert!(core.signatures("atom_domain").is_ok());
    let more = Registry::trusting(&["opendp-core", "opendp-transformations"]);
    assert!(more.signatures("make_clamp").is_ok() && more.signatures("make_laplace").is_err());
}

fn addition(name: &'static str, package: &'static str) -> Addition {
    Addition::new(name, package, Kind::Metric, SymmetricDistance::type_name())
        .documentation("Count records.")
        .constructs(|_| Ok(TheMetric(SymmetricDistance).erased()))
}
#[test]
fn a_name_has_one_function() {
    let registry = Registry::new();
    registry.add(addition("mine", "a")).unwrap();
    let error = registry.add(addition("mine", "b")).unwrap_err();
    assert_eq!(error.kind(), "Ambiguous");
    assert!(error.to_string().contains("package a") && error.to_string().contains("package b"));
    assert_eq!(registry.add(addition("mine", "a")).unwrap_err().kind(), "Ambiguous");
    // The name can have a second signature with other parameters. But it is an error to add this
    // second signature twice.
    let second =
        || addition("mine", "a").parameter(Parameter::new::<i32>("upper", Some("7".into())));
    registry.add(second()).unwrap();
    assert_eq!(registry.add(second()).unwrap_err().kind(), "Ambiguous");
    let error = registry.add(addition("make_clamp", "rogue")).unwrap_err();
    assert!(error.to_string().contains("opendp-transformations"), "{error}");
    assert!(error.to_string().contains("rogue"), "{error}");
}
/// A parameter type that accepts either only arrays, or only other JSON values.
struct Only<const ARRAYS: bool>;
impl<const ARRAYS: bool> Argument for Only<ARRAYS> {
    fn type_name() -> TypeName {
        TypeName::plain(if ARRAYS { "Array" } else { "Other" })
    }
    fn accepts(arg: &Arg) -> bool {
        matches!(arg, Arg::Json(json) if json.is_array() == ARRAYS)
    }
    fn from_arg(_: &Arg) -> Result<Self> {
        Ok(Only)
    }
}
#[test]
fn what_is_remembered_of_a_request_depends_on_the_kind_of_its_json() {
    let registry = Registry::new();
    let parameters =
        [Parameter::new::<Only<true>>("x", None), Parameter::new::<Only<false>>("x", None)];
    for parameter in parameters {
        registry.add(addition("mine", "a").parameter(parameter)).unwrap();
    }
    for (json, expected) in [(json!([1]), "Array"), (json!(1), "Other"), (json!([2]), "Array")] {
        let entry = registry.resolve("mine", &Args::new().with("x", json)).unwrap();
        assert_eq!(entry.parameters()[0].type_name.to_string(), expected);
    }
}
#[test]
fn signatures_that_only_an_argument_distinguishes_are_listed() {
    let registry = Registry::new();
    registry.add(addition("mine", "a").parameter(Parameter::new::<i32>("x", None))).unwrap();
    registry.add(addition("mine", "a").parameter(Parameter::new::<f64>("x", None))).unwrap();
    let error = registry.make("mine", &Args::new().with("x", json!(1))).unwrap_err();
    assert_eq!(error.kind(), "Ambiguous");
    for part in ["`mine(x: f64) -> SymmetricDistance`", "`mine(x: i32) -> SymmetricDistance`"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}
#[test]
fn an_addition_decodes_its_parameters_and_stands_in_documents() {
    let registry = Registry::new();
    let limited = Addition::new("limit", "app", Kind::Domain, TypeName::plain("AtomDomain"))
        .parameter(Parameter::new::<i32>("upper", Some("7".into())))
        .constructs(|args| {
            let upper: i32 = args.decode("upper", Some("7"))?;
            let domain = AtomDomain::bounded(Bounds::new(0, upper)?);
            Ok(opendp_core::TheDomain(domain).erased())
        });
    registry.add(limited).unwrap();
    let made = registry.make("limit", &Args::new()).unwrap();
    let Constructed::Domain(domain) = made else { panic!("{made:?}") };
    assert_eq!(opendp_core::Domain::to_json(&domain)["atom_domain"]["bounds"], json!([0, 7]));
    let document = json!({"constructor": "limit", "args": {"upper": -1}});
    let error = opendp_registry::Document::new(document).unwrap().build(&registry).unwrap_err();
    assert_eq!(error.kind(), "MakeDomain");
}
#[test]
fn threads_resolve_while_others_add() {
    let (registry, resolved) = (Registry::new(), AtomicUsize::new(0));
    let args = Args::new().with("input", &space().erase()).with("bounds", json!([0, 10]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let entry = registry.resolve("make_clamp", &args).unwrap();
                    assert_eq!(entry.name(), "make_clamp");
                    resolved.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for i in 0..200 {
            let name: &'static str = Box::leak(format!("added_{i}").into_boxed_str());
            registry.add(addition(name, "app")).unwrap();
        }
    });
    assert_eq!(resolved.into_inner(), 8_000);
    assert!(registry.make("added_199", &Args::new()).is_ok());
}
#[test]
fn a_space_from_a_document_is_checked_where_its_types_are_known() {
    // Vectors of unknown size have no Hamming distance. Spaces with erased types are checked too.
    fn measures<D: opendp_core::Domain, M: MetricOn<D>>(_: &Space<D, M>) {}
    measures(&space());
    let document = json!({
        "space": {"domain": "VectorDomain<AtomDomain<i32>>", "metric": "hamming_distance"},
        "chain": [{"clamp": {"bounds": [0, 1]}}],
    });
    assert_eq!(crate::build(document).unwrap_err().kind(), "MetricSpace");
}
