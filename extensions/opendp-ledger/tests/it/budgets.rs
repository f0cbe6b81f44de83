//! Tests the amount, the unit and the clock of a budget, and the meaning of an id.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use opendp_core::{
    AbsoluteDistance, Approximate, AtomDomain, L1Distance, MaxDivergence, Measurement, Metric,
    Space, SymmetricDistance, VectorDomain,
};
use opendp_ledger::{Accounted, Ledger, Loss, Misfit, Request, Terms, Unit};
use opendp_measurements::{Scale, make_laplace};
use opendp_transformations::make_count;
use serde_json::json;
use tempfile::TempDir;

fn ledger() -> (Ledger, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Ledger::open(folder.path().join("l")).unwrap(), folder)
}
fn epsilon(epsilon: &str) -> Loss {
    Loss::epsilon(epsilon).unwrap()
}

#[test]
fn an_amount_that_cannot_be_read_back_is_refused() {
    let (ledger, folder) = ledger();
    ledger.create("good", &epsilon("1")).unwrap();
    for amount in ["1e4096", "1e-4096"] {
        let error = ledger.create("long", &epsilon(amount)).unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
    }
    let pair = Loss::epsilon_delta("1", "1e-4096").unwrap();
    assert!(ledger.create("long", &pair).is_err());
    // A loss with too many digits is also refused.
    let spend = |loss: &str| {
        let request = Request::of_loss(loss, epsilon(loss));
        ledger.release("large", &request, || Ok(1))
    };
    ledger.create("large", &epsilon("1e100")).unwrap();
    assert!(spend("1e-4096").is_err());
    spend("1e-4000").unwrap();
    spend("1e99").unwrap();
    let read = Ledger::open_to_read(folder.path().join("l")).unwrap();
    assert_eq!(read.accounts().unwrap().len(), 2);
    assert_eq!(read.export().unwrap(), ledger.export().unwrap());
}
#[test]
fn a_budget_with_a_delta_of_one_is_refused() {
    let (ledger, _folder) = ledger();
    // The nearest float of the second delta is 1.
    for delta in ["1", "0.99999999999999999999999"] {
        let total = Loss::epsilon_delta("1", delta).unwrap();
        let tight = ledger.create_tight("b", &total, &Terms::new());
        for error in [ledger.create("b", &total).unwrap_err(), tight.unwrap_err()] {
            assert!(error.to_string().contains("a delta of 1"), "{error}");
        }
    }
    // The control: a budget with a smaller delta, and a budget with an epsilon of 1, are created.
    ledger.create("b", &Loss::epsilon_delta("1", "0.99").unwrap()).unwrap();
    ledger.create("c", &Loss::epsilon("1").unwrap()).unwrap();
}
#[test]
fn a_budget_of_nothing_is_refused() {
    let (ledger, _folder) = ledger();
    for nothing in [epsilon("0"), Loss::epsilon_delta("0", "0").unwrap(), Loss::rho("0.0").unwrap()]
    {
        assert_eq!(ledger.create("b", &nothing).unwrap_err().kind(), "InvalidDistance");
    }
    ledger.create("b", &Loss::epsilon_delta("0", "1e-6").unwrap()).unwrap();
}
#[test]
fn a_budget_has_room_for_the_loss_it_names() {
    let (ledger, _folder) = ledger();
    let measure = Approximate(MaxDivergence);
    for delta in ["1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10", "1e-12", "0.1", "0.3"] {
        ledger.create(delta, &Loss::epsilon_delta("1", delta).unwrap()).unwrap();
        // Charge two losses. The delta of the first loss is the float that a map returns. The delta
        // of the second loss is tiny.
        let float: f64 = delta.parse().unwrap();
        let request = Request::of_loss("a", measure.account(&(0.5, float)).unwrap());
        ledger.release(delta, &request, || Ok(1)).unwrap();
        let hair = Request::of_loss("b", measure.account(&(0.5, 5e-324)).unwrap());
        let more = ledger.release(delta, &hair, || Ok(1));
        // If the float is below the decimal number, the difference of the two numbers remains in
        // the budget, so the second loss fits. Otherwise, the second loss does not fit.
        let exact = Loss::epsilon_delta("1", delta).unwrap().parts()[1].clone();
        let below = opendp_core::arith::Exact::from_f64(float).unwrap() < exact;
        assert_eq!(more.is_ok(), below, "{delta}");
        assert_eq!(ledger.account(delta).unwrap().total.to_string(), {
            Loss::epsilon_delta("1", delta).unwrap().to_string()
        });
    }
}
#[test]
fn a_clock_that_was_ahead_is_settled_in_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l");
    let time = Arc::new(AtomicU64::new(9_000_000));
    let clock = time.clone();
    let ledger = Ledger::open(&path)
        .unwrap()
        .with_clock(move || UNIX_EPOCH + Duration::from_millis(clock.load(Ordering::SeqCst)));
    ledger.create("b", &epsilon("1")).unwrap();
    let spend = |id: &str| ledger.release("b", &Request::of_loss(id, epsilon("0.1")), || Ok(1));
    spend("settle-clock 2").unwrap();
    let error = ledger.settle_clock("b", "Ada").unwrap_err();
    assert!(error.to_string().contains("nothing to settle"), "{error}");
    time.store(1_000_000, Ordering::SeqCst);
    let error = spend("2").unwrap_err().to_string();
    assert!(error.contains("runs backwards") && error.contains("settle-clock FILE:b"), "{error}");
    let entry = ledger.settle_clock("b", "Ada").unwrap();
    assert_eq!((entry.at_ms, &*entry.by, entry.number), (1_000_000, "Ada", 2));
    spend("2").unwrap();
    let history = Ledger::open_to_read(&path).unwrap().history("b").unwrap();
    let what: serde_json::Value = serde_json::from_str(&history[1].pipeline).unwrap();
    assert_eq!(what, json!({"settle_clock": {"from_ms": 9_000_000, "to_ms": 1_000_000}}));
    assert_eq!(ledger.remaining("b").unwrap(), epsilon("0.8"));
}
#[test]
fn a_budget_with_a_unit_refuses_another_distance_and_another_metric() {
    let (ledger, folder) = ledger();
    let unit = Unit::new(json!("symmetric_distance"), 1).unwrap().contributions(3).unwrap();
    let terms = Terms::new().with_unit(unit).with_size(1000);
    ledger.create_with("b", &epsilon("10"), &terms).unwrap();
    let people = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance);
    let count: Measurement<_, _, MaxDivergence, i32> = make_count(people.unwrap())
        .unwrap()
        .then(|count| make_laplace(count, Scale::new(10.0).unwrap(), None))
        .unwrap();
    let ask = |id: &str, d_in: u32| {
        let request = Request::new(id, &count, &d_in)?;
        ledger.release("b", &request, || count.invoke(&vec![1, 2]))
    };
    ask("a", 3).unwrap();
    for d_in in [1, 2, 4] {
        let error = ask("b", d_in).unwrap_err().to_string();
        assert!(
            error.contains(
                "3 in symmetric_distance (contributions of a person: 3, each at distance 1"
            ),
            "{error}"
        );
    }
    let number = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::default());
    let other = make_laplace(number.unwrap(), Scale::new(10.0).unwrap(), None);
    let other: Measurement<_, _, MaxDivergence, i64> = other.unwrap();
    let request = Request::new("b", &other, &3).unwrap();
    assert_eq!(ledger.release("b", &request, || Ok(1)).unwrap_err().kind(), "Argument");
    let read = Ledger::open_to_read(folder.path().join("l")).unwrap();
    assert_eq!(read.account("b").unwrap().terms, terms);
    assert_eq!(read.account("b").unwrap().to_json()["unit"]["d_in"], json!(3));
}
#[test]
fn a_budget_for_no_people_is_refused() {
    let (ledger, _folder) = ledger();
    let error = ledger.create_with("b", &epsilon("1"), &Terms::new().with_size(0)).unwrap_err();
    assert_eq!(error.kind(), "Argument");
    assert!(error.to_string().contains("expected at least 1 person, found 0"), "{error}");
    ledger.create_with("b", &epsilon("1"), &Terms::new().with_size(1)).unwrap();
}
#[test]
fn a_budget_that_protects_the_number_of_rows_refuses_a_release_with_a_public_number() {
    let (ledger, _folder) = ledger();
    let people = VectorDomain::new(AtomDomain::<i32>::default());
    let count = |people: VectorDomain<AtomDomain<i32>>| -> Measurement<_, _, MaxDivergence, i32> {
        let count = make_count(Space::new(people, SymmetricDistance).unwrap()).unwrap();
        count.then(|count| make_laplace(count, Scale::new(10.0).unwrap(), None)).unwrap()
    };
    let open = Request::new("open", &count(people.clone()), &2).unwrap();
    let sized = Request::new("sized", &count(people.with_size(3)), &2).unwrap();
    let stated = Request::of_loss("stated", epsilon("0.1")).with_public_size();
    let ask = |budget: &str, request: &Request| ledger.release(budget, request, || Ok(1));
    let symmetric = Unit::new(json!("symmetric_distance"), 2).unwrap();
    let two_rows = Unit::new(json!("symmetric_distance"), 1).unwrap().contributions(2).unwrap();
    let replaced = Unit::new(json!("change_one_distance"), 1).unwrap();
    for (budget, terms, admits) in [
        ("no unit", Terms::new(), true),
        ("symmetric", Terms::new().with_unit(symmetric.clone()), false),
        ("sized", Terms::new().with_unit(symmetric).with_size(3), true),
        // Three people with up to two rows each can have any number of rows up to six.
        ("two rows", Terms::new().with_unit(two_rows).with_size(3), false),
        ("replaced", Terms::new().with_unit(replaced), true),
    ] {
        assert_eq!(terms.protects_size(), !admits, "{budget}");
        let misfit = (!admits).then_some(Misfit::Size);
        assert_eq!(terms.misfit(true, None, "1"), misfit, "{budget}");
        assert_eq!(terms.misfit(false, None, "1"), None, "{budget}");
        ledger.create_with(budget, &epsilon("10"), &terms).unwrap();
        ask(budget, &open).unwrap();
        for request in [&sized, &stated] {
            let answer = ask(budget, request);
            assert_eq!(answer.is_ok(), admits, "{budget}: {answer:?}");
        }
    }
    // At the distance 3, one person can have more than one row.
    let three = Unit::new(json!("symmetric_distance"), 3).unwrap();
    assert!(Terms::new().with_unit(three).with_size(3).protects_size());
    let error = ask("symmetric", &sized).unwrap_err().to_string();
    assert!(error.contains("protects this number"), "{error}");
    // Vectors of different lengths are never neighbours, so a stated length is not protected.
    let space = VectorDomain::new(AtomDomain::<i64>::default()).with_size(3);
    let space = Space::new(space, L1Distance::<i64>::default()).unwrap();
    let vector: Measurement<_, _, MaxDivergence, Vec<i64>> =
        make_laplace(space, Scale::new(10.0).unwrap(), None).unwrap();
    let unit = Unit::new(vector.input().metric().to_json(), 1).unwrap();
    ledger.create_with("vector", &epsilon("1"), &Terms::new().with_unit(unit)).unwrap();
    ask("vector", &Request::new("a", &vector, &1).unwrap()).unwrap();
    // A release that the ledger already has is returned again, because a second return reveals
    // nothing new.
    ask("symmetric", &Request::of_loss("old", epsilon("0.1"))).unwrap();
    let old = Request::of_loss("old", epsilon("0.1")).with_public_size();
    assert!(ask("symmetric", &old).unwrap().repeated());
}
#[test]
fn no_distance_at_all_is_refused_under_a_budget() {
    let number = Space::new(AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::default());
    let laplace = make_laplace(number.unwrap(), Scale::new(10.0).unwrap(), None);
    let laplace: Measurement<_, _, MaxDivergence, i64> = laplace.unwrap();
    let error = Request::new("a", &laplace, &0).unwrap_err();
    assert!(error.to_string().contains("d_in: expected more than 0"), "{error}");
}
#[test]
fn an_id_stands_for_its_data_and_columns() {
    let (ledger, _folder) = ledger();
    ledger.create("b", &epsilon("1")).unwrap();
    let ask = |source: serde_json::Value| {
        let request = Request::of_loss("week-1", epsilon("0.1")).source(&source);
        ledger.release("b", &request, || Ok(1))
    };
    let age = json!({"data": "people.csv", "column": "age"});
    assert!(!ask(age.clone()).unwrap().repeated());
    assert!(ask(age).unwrap().repeated());
    for other in [
        json!({"data": "people.csv", "column": "educ"}),
        json!({"data": "missing.csv", "column": "age"}),
        json!({"data": "people.csv"}),
    ] {
        let error = ask(other.clone()).unwrap_err();
        assert_eq!(error.kind(), "Argument");
        assert!(error.to_string().contains("another data or column"), "{error}");
        // Paths are named if they differ.
        let paths =
            error.to_string().contains("(recorded: `people.csv`, stated now: `missing.csv`)");
        assert_eq!(paths, other["data"] == "missing.csv", "{error}");
    }
    // A study is called a study.
    let study = |rows: i32| {
        let document = json!({"study": {"rows": rows}, "alpha": 0.05});
        let request = Request::of_loss("study", epsilon("0.1")).pipeline(&document);
        ledger.release("b", &request, || Ok(1))
    };
    study(1).unwrap();
    let error = study(2).unwrap_err().to_string();
    assert!(error.contains("`study` with another study: use another id"), "{error}");
    // The first request with this id states no data. A later request with the same id states data,
    // so the later request is refused.
    let open = Request::of_loss("open", epsilon("0.1"));
    ledger.release("b", &open, || Ok(1)).unwrap();
    let request = open.source(&json!({"data": "people.csv"}));
    let error = ledger.release("b", &request, || Ok(1)).unwrap_err().to_string();
    assert!(error.contains("an older version did not record"), "{error}");
}
#[test]
fn a_reader_leaves_nothing_behind_that_blocks_a_writer() {
    let (ledger, folder) = ledger();
    let path = folder.path().join("l");
    ledger.create("b", &epsilon("1")).unwrap();
    let readers: Vec<Ledger> = (0..8).map(|_| Ledger::open_to_read(&path).unwrap()).collect();
    let spend = |id: &str| ledger.release("b", &Request::of_loss(id, epsilon("0.1")), || Ok(1));
    spend("1").unwrap();
    for reader in &readers {
        assert_eq!(reader.remaining("b").unwrap(), epsilon("0.9"));
    }
    // Simulate that the readers were killed.
    readers.into_iter().for_each(std::mem::forget);
    spend("2").unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
#[test]
fn all_of_many_concurrent_creates_succeed() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l");
        std::thread::scope(|scope| {
            for thread in 0..52 {
                let path = &path;
                scope.spawn(move || {
                    let ledger = Ledger::open(path).unwrap();
                    ledger.create(&thread.to_string(), &epsilon("1")).unwrap();
                });
            }
        });
        assert_eq!(Ledger::open_to_read(&path).unwrap().accounts().unwrap().len(), 52);
    }
}
