//! Tests that names are resolved correctly with many constructors and many threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use opendp_core::erased::AnyMeasure;
use opendp_core::{
    AbsoluteDistance, Args, AtomDomain, Bounds, Constructed, Kind, Made, MaxDivergence, Named,
    Parameter, Space, SymmetricDistance, TheDomain, TheMeasure, TheMetric, TypeName,
};
use opendp_registry::{Addition, Registry};
use serde_json::json;

/// Make a constructor of a domain. Both bounds of the domain are `number` plus the argument `more`.
fn numbered(number: i64) -> Addition {
    let output = AtomDomain::<i64>::type_name();
    Addition::new(format!("make_numbered_{number}"), "my-app", Kind::Domain, output)
        .parameter(Parameter::new::<i64>("more", Some("0".into())))
        .constructs(move |args| {
            let more: i64 = args.decode("more", Some("0"))?;
            let bounds = Bounds::new(number + more, number + more)?;
            Ok(TheDomain(AtomDomain::bounded(bounds)).erased())
        })
}
fn is(made: &Constructed, number: i64) -> bool {
    let expected = AtomDomain::bounded(Bounds::new(number, number).unwrap());
    matches!(made, Constructed::Domain(domain) if domain.downcast_ref() == Ok(&expected))
}

#[test]
fn names_resolve_from_sixteen_threads_while_others_are_added() {
    const ALL: i64 = 100_000;
    const THREADS: i64 = 16;
    let registry = Registry::new();
    (0..ALL).for_each(|number| registry.add(numbered(number)).unwrap());
    let (go, done) = (Barrier::new(17), AtomicBool::new(false));
    let (registry, go, done) = (&registry, &go, &done);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                go.wait();
                let mut round = 0;
                // Each thread uses its own names and one shared name. The results are computed in
                // the first round, and come from the cache in later rounds.
                while round < 4 || !done.load(Ordering::SeqCst) {
                    for number in (thread..400).step_by(16).chain([7]) {
                        let args = Args::new().with("more", json!(1));
                        let name = format!("numbered_{number}");
                        assert!(is(&registry.make(&name, &args).unwrap(), number + 1), "{name}");
                    }
                    round += 1;
                }
            });
        }
        go.wait();
        for number in ALL..ALL + 2_000 {
            registry.add(numbered(number)).unwrap();
            assert!(is(
                &registry.make(&format!("numbered_{number}"), &Args::new()).unwrap(),
                number
            ));
        }
        done.store(true, Ordering::SeqCst);
    });
    assert!(registry.names().len() > 102_000);
    let error = registry.add(numbered(5)).unwrap_err();
    assert_eq!(error.kind(), "Ambiguous");
}
#[test]
fn a_name_added_later_is_used_at_once_even_if_an_older_one_was_remembered() {
    let registry = Registry::new();
    let alias = |name: &'static str, number: i64| {
        let output = AtomDomain::<i64>::type_name();
        Addition::new(name, "my-app", Kind::Domain, output).constructs(move |_| {
            Ok(TheDomain(AtomDomain::bounded(Bounds::new(number, number)?)).erased())
        })
    };
    registry.add(alias("make_it", 1)).unwrap();
    for _ in 0..2 {
        assert!(is(&registry.make("it", &Args::new()).unwrap(), 1));
    }
    // From now on, the exact name `it` is registered. For a request `it`, the registry prefers this
    // name to `make_it`.
    registry.add(alias("it", 2)).unwrap();
    assert!(is(&registry.make("it", &Args::new()).unwrap(), 2));
    assert!(is(&registry.make("make_it", &Args::new()).unwrap(), 1));
}
/// A run that takes longer than this time counts as a deadlock.
const DEADLOCK: std::time::Duration = std::time::Duration::from_secs(600);

#[test]
fn a_description_may_use_the_registry_that_compares_it() {
    // In this registry, only the constructor `my_pure` makes objects of the type `MaxDivergence`. A
    // request can pass such an object to state the type `MaxDivergence`. Then the registry calls
    // `my_pure` to make an object for a comparison. The call fails, so the registry stores no
    // object, and the next request calls `my_pure` again.
    let registry = Arc::new(Registry::trusting(&["opendp-measurements"]));
    let calls = Arc::new(AtomicUsize::new(0));
    let (inner, count) = (registry.clone(), calls.clone());
    let pure = Addition::new("my_pure", "my-app", Kind::Measure, MaxDivergence::type_name())
        .constructs(move |_| {
            // These requests are all different. Their hashes are spread over the parts of the
            // cache, so the requests write to many parts.
            for _ in 0..64 {
                let call = count.fetch_add(1, Ordering::SeqCst);
                let bit = |bit: u32| if call >> bit & 1 == 0 { ' ' } else { '\t' };
                let name =
                    format!("randomized_response_bool{}", (0..16).map(bit).collect::<String>());
                inner.resolve(&name, &Args::new().with("prob", json!(0.75)))?;
            }
            Err(opendp_core::Error::NotImplemented("it always fails".into()))
        });
    registry.add(pure).unwrap();
    let space = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::new()).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let measure: AnyMeasure = TheMeasure(MaxDivergence).into();
        let args = Args::new()
            .with("input", &space)
            .with("scale", json!(1.0))
            .with("MO", Constructed::Measure(measure));
        for _ in 0..3 {
            registry.resolve("make_laplace", &args).unwrap();
        }
        sender.send(()).unwrap();
    });
    assert!(receiver.recv_timeout(DEADLOCK).is_ok());
    assert_eq!(calls.load(Ordering::SeqCst), 3 * 64);
}
#[test]
fn a_constructor_may_use_the_registry_that_calls_it() {
    // The constructor `make_nested` adds constructors, resolves names, and lists names and
    // signatures. If the registry held a lock during the call, there would be a deadlock.
    let registry = Arc::new(Registry::new());
    let calls = Arc::new(AtomicUsize::new(0));
    let metric: TypeName = SymmetricDistance::type_name();
    let (inner, count) = (registry.clone(), calls.clone());
    let nested = Addition::new("make_nested", "my-app", Kind::Metric, metric)
        .parameter(Parameter::new::<i64>("depth", Some("0".into())))
        .constructs(move |args| {
            let depth: i64 = args.decode("depth", Some("0"))?;
            let number = i64::try_from(count.fetch_add(1, Ordering::SeqCst)).unwrap_or(0);
            inner.add(numbered(number))?;
            inner.make("symmetric_distance", &Args::new())?;
            assert!(inner.names().len() > 1 && inner.signatures("nested").is_ok());
            if 0 < depth {
                inner.make("nested", &Args::new().with("depth", json!(depth - 1)))?;
            }
            Ok(TheMetric(SymmetricDistance).erased())
        });
    registry.add(nested).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let shared = registry.clone();
    std::thread::spawn(move || {
        for _ in 0..2 {
            shared.make("nested", &Args::new().with("depth", json!(20))).unwrap();
        }
        sender.send(()).unwrap();
    });
    // If there is a deadlock, the test fails after the time `DEADLOCK`.
    assert!(receiver.recv_timeout(DEADLOCK).is_ok());
    assert_eq!(calls.load(Ordering::SeqCst), 42);
}
