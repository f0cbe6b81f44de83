use std::cell::Cell;
use std::collections::HashMap;

use opendp_core::ZeroConcentratedDivergence;
use opendp_core::{
    AbsoluteDistance, AtomDomain, Codec, Error, Function, PrivacyMap, Result, Space,
};
use opendp_core::{MaxDivergence, Measurement, SymmetricDistance, VectorDomain};
use opendp_ledger::{Accounted, Ledger, Loss, Request};
use opendp_measurements::{Scale, make_gaussian, make_laplace};
use serde_json::json;
use tempfile::TempDir;

fn ledger(total: Loss) -> (Ledger, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("test.ledger")).unwrap();
    ledger.create("b", &total).unwrap();
    (ledger, folder)
}
fn epsilon(epsilon: &str) -> Loss {
    Loss::epsilon(epsilon).unwrap()
}
fn refused(result: Result<opendp_ledger::Release>) -> &'static str {
    result.unwrap_err().kind()
}
fn number() -> Space<AtomDomain<i64>, AbsoluteDistance<i64>> {
    Space::new(AtomDomain::default(), AbsoluteDistance::default()).unwrap()
}
fn laplace(scale: f64) -> Measurement<AtomDomain<i64>, AbsoluteDistance<i64>, MaxDivergence, i64> {
    make_laplace(number(), Scale::new(scale).unwrap(), None).unwrap()
}

#[test]
fn a_map_whose_first_key_is_a_private_word_of_the_json_library_is_read_as_a_map() {
    let (ledger, _folder) = ledger(epsilon("1"));
    let word = "$serde_json::private::Number".to_owned();
    for (id, map) in [
        ("counts", HashMap::from([(word.clone(), json!(5)), ("x".to_owned(), json!(7))])),
        ("texts", HashMap::from([(word.clone(), json!("5"))])),
    ] {
        for repeated in [false, true] {
            let request = Request::of_loss(id, epsilon("0.1"));
            let release = ledger.release("b", &request, || Ok(map.clone())).unwrap();
            assert_eq!(release.repeated(), repeated);
            assert_eq!(release.value::<HashMap<String, serde_json::Value>>().unwrap(), map);
        }
        // The same holds for a map inside of a list or of another map.
        let inside = format!("{id} inside");
        let parts = || vec![json!(1.5), json!({"first": map, "then": [map, null, "a"]})];
        for repeated in [false, true] {
            let request = Request::of_loss(&inside, epsilon("0.1"));
            let release = ledger.release("b", &request, || Ok(parts())).unwrap();
            assert_eq!(release.repeated(), repeated);
            assert_eq!(release.value::<Vec<serde_json::Value>>().unwrap(), parts());
        }
    }
}
#[test]
fn a_name_with_a_nul_is_refused_and_not_charged() {
    let (ledger, _folder) = ledger(epsilon("1"));
    let request = |who: &str| Request::of_loss("r", epsilon("0.4")).by(who);
    let error = ledger.release("b", &request("a\0b"), || Ok(7)).unwrap_err();
    assert!(error.to_string().contains("`by`"), "{error}");
    assert_eq!(ledger.remaining("b").unwrap(), epsilon("1"));
    ledger.release("b", &request("a b"), || Ok(7)).unwrap();
}
#[test]
fn ten_tenths_exhaust_one_and_the_eleventh_is_refused() {
    let (ledger, _folder) = ledger(epsilon("1"));
    for i in 0..10 {
        let request = Request::of_loss(&format!("r{i}"), epsilon("0.1"));
        ledger.release("b", &request, || Ok(i)).unwrap();
    }
    assert_eq!(ledger.remaining("b").unwrap(), epsilon("0"));
    let eleventh = Request::of_loss("r10", epsilon("0.1"));
    let computed = Cell::new(false);
    let error = ledger.release("b", &eleventh, || {
        computed.set(true);
        Ok(10)
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind(), "BudgetExceeded");
    assert!(error.to_string().contains("costs epsilon 0.1, and epsilon 0 is left"), "{error}");
    assert!(!computed.get(), "the data are not touched");
    let least = Request::of_loss("r11", epsilon("1e-300"));
    assert_eq!(refused(ledger.release("b", &least, || Ok(0))), "BudgetExceeded");
    // A release with a loss of zero does not change the rest of the budget.
    ledger.release("b", &Request::of_loss("r12", epsilon("0")), || Ok(0)).unwrap();
    assert_eq!(ledger.history("b").unwrap().len(), 11);
    // The charge for a release of this mechanism is exactly the decimal 0.1. The float 0.1 is
    // larger than the decimal 0.1.
    let (mechanism, _folder) = self::ledger(epsilon("1"));
    let release = |i: i32| {
        let request = Request::new(&format!("r{i}"), &laplace(10.0), &1).unwrap();
        mechanism.release("b", &request, || Ok(i))
    };
    assert!((0..10).all(|i| release(i).is_ok()));
    assert_eq!(refused(release(10)), "BudgetExceeded");
    // Ten charges of the float 0.1, which is above the decimal 0.1, exceed the budget.
    let (floats, _folder) = self::ledger(epsilon("1"));
    let float = MaxDivergence.account(&0.1).unwrap();
    let granted = (0..10).filter(|i| {
        let request = Request::of_loss(&format!("r{i}"), float.clone());
        floats.release("b", &request, || Ok(0)).is_ok()
    });
    assert_eq!(granted.count(), 9);
}
#[test]
fn the_same_id_is_one_charge_and_one_release() {
    let (ledger, folder) = ledger(epsilon("1"));
    let laplace = laplace(2.0);
    let request = Request::new("a", &laplace, &1).unwrap().by("Ada").pipeline(&json!({"p": 1}));
    let first = ledger.release("b", &request, || laplace.invoke(&1_000_000)).unwrap();
    assert!(!first.repeated());
    let value: i64 = first.value().unwrap();
    // A retry returns the same release, even if another person makes the retry, the ledger was
    // opened again, and the budget is exhausted.
    ledger.release("b", &Request::of_loss("rest", epsilon("0.5")), || Ok(0)).unwrap();
    let again = Ledger::open_existing(folder.path().join("test.ledger")).unwrap();
    for ledger in [&ledger, &again] {
        let retry = ledger.release("b", &request.clone().by("Bo"), || -> Result<i64> {
            panic!("nothing is computed again")
        });
        let retry = retry.unwrap();
        assert!(retry.repeated());
        assert_eq!(retry.value::<i64>().unwrap(), value);
        assert_eq!(retry.entry(), first.entry());
    }
    // Other requests with the same id are refused.
    let others = [
        request.clone().pipeline(&json!({"p": 2})),
        Request::new("a", &laplace, &2).unwrap().pipeline(&json!({"p": 1})),
        Request::of_loss("a", epsilon("0.4")),
    ];
    for other in others {
        assert_eq!(refused(ledger.release("b", &other, || Ok(0))), "Argument");
    }
    assert_eq!(ledger.history("b").unwrap().len(), 2);
}
#[test]
fn a_release_that_fails_costs_nothing() {
    let (ledger, _folder) = ledger(epsilon("1"));
    let request = Request::of_loss("a", epsilon("1"));
    let failed = ledger.release("b", &request, || Err::<i32, _>(Error::NoEntropy));
    assert_eq!(refused(failed), "FailedFunction");
    assert_eq!(ledger.remaining("b").unwrap(), epsilon("1"));
    ledger.release("b", &request, || Ok(1)).unwrap();
}
#[test]
fn every_measure_has_its_budget() {
    let (ledger, _folder) = ledger(Loss::epsilon_delta("1", "1e-6").unwrap());
    let pair =
        |id: &str, e: &str, d: &str| Request::of_loss(id, Loss::epsilon_delta(e, d).unwrap());
    ledger.release("b", &pair("1", "0.5", "1e-6"), || Ok(0)).unwrap();
    assert_eq!(refused(ledger.release("b", &pair("2", "0.1", "1e-9"), || Ok(0))), "BudgetExceeded");
    assert_eq!(refused(ledger.release("b", &pair("3", "0.6", "0"), || Ok(0))), "BudgetExceeded");
    // A pure loss costs no delta. So if enough epsilon is left, a pure loss fits a budget whose
    // delta is exhausted.
    ledger.release("b", &Request::new("4", &laplace(4.0), &1).unwrap(), || Ok(0)).unwrap();
    assert_eq!(ledger.remaining("b").unwrap(), Loss::epsilon_delta("0.25", "0").unwrap());

    ledger.create("rho", &Loss::rho("1").unwrap()).unwrap();
    let gaussian: Measurement<_, _, ZeroConcentratedDivergence, i64> =
        make_gaussian(number(), Scale::new(1.0).unwrap(), None).unwrap();
    let request = Request::new("g", &gaussian, &1).unwrap();
    assert_eq!(request.loss(), &Loss::rho("0.5").unwrap());
    ledger.release("rho", &request, || gaussian.invoke(&5)).unwrap();
    assert_eq!(refused(ledger.release("b", &request, || Ok(0))), "MeasureMismatch");
    assert_eq!(refused(ledger.release("c", &request, || Ok(0))), "NotFound");
    let half = Request::new("l", &laplace(2.0), &1).unwrap();
    ledger.release("rho", &half, || Ok(0)).unwrap();
    assert_eq!(ledger.remaining("rho").unwrap(), Loss::rho("0.375").unwrap());
}
#[test]
fn erased_measurements_are_charged_as_typed_ones() {
    let (ledger, _folder) = ledger(epsilon("1"));
    let erased = laplace(2.0).erase();
    let d_in = opendp_core::erased::AnyDistance::new(1_i64);
    let data = opendp_core::erased::AnyValue::new(41_i64);
    let request = Request::new("a", &erased, &d_in).unwrap();
    assert_eq!(request, Request::new("a", &laplace(2.0), &1).unwrap());
    let release = ledger.release("b", &request, || erased.invoke(&data)).unwrap();
    assert_eq!(release.value::<i64>().unwrap().to_json(), *release.json());
    let infinite = Request::new("b", &laplace(0.0), &1).unwrap_err();
    assert_eq!(infinite.kind(), "InvalidDistance");
}
#[test]
fn a_distance_without_neighbours_is_refused() {
    let rows = VectorDomain::new(AtomDomain::<i64>::default()).with_size(3);
    let rows = Space::new(rows, SymmetricDistance).unwrap();
    let map = PrivacyMap::new(|d: &u32| Ok(f64::from(d / 2)));
    let exact = Measurement::new(rows, MaxDivergence, Function::map(|_| Ok(0_i64)), map);
    assert_eq!(exact.map(&1), Ok(0.0));
    assert_eq!(Request::new("a", &exact, &1).unwrap_err().kind(), "FailedMap");
    assert!(Request::new("a", &exact, &2).is_ok());
}
#[test]
fn keeps_what_was_asked_and_exports_it() {
    let (ledger, folder) = ledger(epsilon("1"));
    let request =
        Request::of_loss("week 1", epsilon("1/3")).by("Ada").pipeline(&json!({"p": [1.50]}));
    let release = ledger.release("b", &request, || Ok(f64::NAN)).unwrap();
    assert!(release.value::<f64>().unwrap().is_nan());
    let json = Ledger::open_to_read(folder.path().join("test.ledger")).unwrap().export().unwrap();
    let budget = &json["budgets"][0];
    assert_eq!(budget["spent"], json!({"epsilon": "1/3"}));
    assert_eq!(budget["remaining"], json!({"epsilon": "2/3"}));
    let entry = &budget["history"][0];
    assert_eq!(entry["by"], "Ada");
    assert_eq!(entry["pipeline"]["p"][0].to_string(), "1.5");
    assert_eq!(entry["release"], "NaN");
    assert_eq!(entry["loss"], json!({"epsilon": "1/3"}));
    assert_eq!(entry["digest"].as_str().unwrap().len(), 64);
    assert!(0 < entry["at_ms"].as_i64().unwrap());
}
#[test]
fn refuses_names_that_are_taken_or_empty() {
    let (ledger, _folder) = ledger(epsilon("1"));
    for name in ["b", "", "x".repeat(257).as_str()] {
        assert_eq!(ledger.create(name, &epsilon("1")).unwrap_err().kind(), "Argument");
    }
    let error = ledger.create("a\0b", &epsilon("1")).unwrap_err().to_string();
    assert!(error.contains("characters, without the character NUL"), "{error}");
    let nameless = Request::of_loss("", epsilon("0.1"));
    assert_eq!(refused(ledger.release("b", &nameless, || Ok(0))), "Argument");
}
#[test]
fn threads_share_a_budget_and_ids() {
    let (ledger, _folder) = ledger(epsilon("1"));
    let granted = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (ledger, granted) = (&ledger, &granted);
            scope.spawn(move || {
                for i in 0..10 {
                    // Two threads request every id.
                    let id = format!("{}-{i}", thread / 2);
                    let request = Request::of_loss(&id, epsilon("0.04"));
                    match ledger.release("b", &request, || Ok(thread)) {
                        Ok(release) => {
                            let value: i32 = release.value().unwrap();
                            granted.lock().unwrap().push((id, value, release.repeated()));
                        }
                        Err(error) => assert_eq!(error.kind(), "BudgetExceeded"),
                    }
                }
            });
        }
    });
    let granted = granted.into_inner().unwrap();
    let history = ledger.history("b").unwrap();
    assert_eq!(history.len(), 25);
    assert_eq!(granted.iter().filter(|(.., repeated)| !repeated).count(), 25);
    for (id, value, _) in granted {
        let entry = history.iter().find(|entry| entry.id == id).unwrap();
        assert_eq!(entry.release, value.to_string());
    }
}
