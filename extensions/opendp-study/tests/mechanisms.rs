//! Questions that mechanisms of other crates answer.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests stop by panicking")]

#[path = "hostile/constructors.rs"]
mod hostile;

use opendp_core::{Error, Result};
use opendp_ledger::{Failure, Ledger, Loss, Terms, Unit};
use opendp_measurements as _;
use opendp_study::{CellType, Cells, Charge, Outcome, Study};
use opendp_transformations as _;
use serde_json::{Value as Json, json};

const ALPHA: f64 = 0.05;

fn read(name: &str, _: CellType) -> Result<Cells> {
    Ok(match name {
        "age" => Cells::Integer((0..1000).map(|i| (i % 10 != 0).then_some(i % 90)).collect()),
        "income" => Cells::Float((0..1000).map(|i| Some(f64::from(i))).collect()),
        "smokes" => Cells::Bool((0..1000).map(|i| Some(i % 4 == 0)).collect()),
        _ => Cells::Text((0..1000).map(|i| Some(format!("city {}", i % 30))).collect()),
    })
}
fn unread(_: &str, _: CellType) -> Result<Cells> {
    panic!("the data are read")
}
fn study_of(unit: Json, budget: Json, questions: Json) -> Result<Study> {
    Study::parse(&json!({
        "context": {
            "unit": unit,
            "budget": budget,
            "columns": {
                "age": {"T": "i64", "bounds": [0, 100], "missing": "drop"},
                "income": {"T": "f64", "missing": 0},
                "smokes": "bool",
                "city": "String",
            },
        },
        "questions": questions,
    }))
}
fn study(budget: Json, questions: Json) -> Result<Study> {
    study_of(json!({"person": 1}), budget, questions)
}
fn epsilon(epsilon: f64, questions: Json) -> Study {
    study(json!({"epsilon": epsilon}), questions).unwrap()
}
/// Ask one question about a column. Return the error, which must come before the data are read.
fn refusal(column: &str, chain: Json) -> Error {
    let questions = json!([{"mechanism": {"column": column, "chain": chain}}]);
    let study = study(json!({"epsilon": 1}), questions);
    study.and_then(|study| study.ask(unread, ALPHA)).unwrap_err()
}
fn refuses(column: &str, chain: Json, reason: &str) {
    let error = refusal(column, chain).to_string();
    assert!(error.contains(reason) && error.contains("question 1"), "{error}");
}
fn cities() -> Json {
    json!({"column": "city", "chain": ["count_distinct", {"laplace": {"scale": {"param": "scale"}}}]})
}
fn losses(outcome: &Outcome) -> Vec<f64> {
    outcome.entries().iter().map(|entry| entry.loss[0].to_f64_up()).collect()
}

#[test]
fn a_mechanism_gets_its_share_and_states_its_accuracy() {
    let questions = json!([{"name": "cities", "mechanism": cities()}, {"count": {}}]);
    let plan = epsilon(1.0, questions.clone()).rehearse(ALPHA).unwrap();
    let answer = &plan.answers()[0];
    assert_eq!(answer.parameter, Some(("scale".to_owned(), 2.0)));
    assert_eq!(answer.mechanism, "count_distinct, laplace");
    assert_eq!(answer.error, plan.answers()[1].error);
    assert_eq!(losses(&plan), [0.5, 0.5]);
    let line = plan.to_text().lines().nth(1).unwrap().to_owned();
    assert!(
        line.contains("+/- 6 ") && line.ends_with("count_distinct, laplace, scale 2"),
        "{line}"
    );
    // With a weight of 3, the mechanism gets three quarters of the budget.
    let mut document = json!({
        "context": {"unit": {"person": 1}, "budget": {"epsilon": 1}, "columns": {"city": "String"},
                    "split": [3, 1]},
        "questions": questions,
    });
    let weighted = |document: &Json| Study::parse(document).unwrap().rehearse(ALPHA).unwrap();
    let shares = losses(&weighted(&document));
    assert!((shares[0] - 0.75).abs() < 1e-9 && (shares[1] - 0.25).abs() < 1e-9, "{shares:?}");
    document["context"]["unit"] = json!({"person": 2});
    let scale = weighted(&document).answers()[0].parameter.as_ref().unwrap().1;
    assert!((scale - 8.0 / 3.0).abs() < 1e-9, "{scale}");
    let outcome = epsilon(1e6, questions).ask(read, ALPHA).unwrap();
    let cell = &outcome.answers()[0].cells[0];
    assert_eq!((cell.value.clone(), cell.interval), (json!(30), Some((30.0, 30.0))));
    let json = outcome.to_json();
    assert_eq!(json["answers"][0]["constructors"], json!(["count_distinct", "laplace"]));
    assert_eq!(json["answers"][0]["parameter"]["name"], "scale");
    assert_eq!(Outcome::parse(&json).unwrap().to_json(), json);
}
/// A title names only the ends of a long chain, but the JSON names all links.
#[test]
fn all_links_of_a_long_chain_are_listed() {
    let clamp = json!({"clamp": {"bounds": [0, 90]}});
    let laplace = json!({"laplace": {"scale": {"param": "scale"}}});
    let fields = json!({"column": "age", "chain": [clamp, clamp, "sum", laplace]});
    let json = epsilon(1.0, json!([{"mechanism": fields}])).rehearse(ALPHA).unwrap().to_json();
    assert_eq!(json["answers"][0]["constructors"], json!(["clamp", "clamp", "sum", "laplace"]));
    assert_eq!(json["answers"][0]["question"], "clamp, .., laplace of age");
    assert_eq!(json["answers"][0]["mechanism"], "clamp, .., laplace");
}
#[test]
fn the_charged_loss_is_the_loss_of_the_map() {
    // The loss is ln 3, although the share of the question is larger.
    let flip = json!({"column": "city", "chain": [{"test::present": {"flip": 0.25}}]});
    let plan = epsilon(5.0, json!([{"mechanism": flip}])).rehearse(ALPHA).unwrap();
    let (loss, answer) = (losses(&plan)[0], &plan.answers()[0]);
    assert!((loss - 1.098_612_288_668_11).abs() < 1e-12, "{loss}");
    assert_eq!((answer.error, answer.parameter.as_ref()), (None, None));
    let line = plan.to_text().lines().nth(1).unwrap().to_owned();
    assert!(line.contains(" not known ") && line.ends_with(" test::present"), "{line}");
    // The control: the same mechanism does not fit a smaller share.
    let study = epsilon(1.0, json!([{"mechanism": flip}]));
    let error = study.ask(unread, ALPHA).unwrap_err();
    assert_eq!(error.kind(), "BudgetExceeded");
    assert!(error.to_string().contains("the mechanism costs epsilon 1.0986"), "{error}");
}
#[test]
fn a_parameter_that_is_no_scale_is_found() {
    let flip = json!({"column": "city", "chain": [{"test::present": {"flip": {"param": "flip"}}}]});
    let plan = epsilon(1.0, json!([{"mechanism": flip}])).rehearse(ALPHA).unwrap();
    let (name, flip) = plan.answers()[0].parameter.clone().unwrap();
    // The probability is 1 / (1 + e). A smaller probability loses more than the share.
    assert_eq!(name, "flip");
    assert!((flip - 0.268_941_421_369_995).abs() < 1e-12, "{flip}");
    assert!(losses(&plan)[0] <= 1.0 && 0.999_999 < losses(&plan)[0]);
    // The loss grows with this parameter, so the largest value that fits is found.
    let grows = json!([{"test::of_epsilon": {"epsilon": {"param": "epsilon"}}}]);
    let grows = json!([{"mechanism": {"column": "city", "chain": grows}}]);
    let plan = epsilon(1.0, grows).rehearse(ALPHA).unwrap();
    assert_eq!(plan.answers()[0].parameter.clone().unwrap().1, 1.0);
}
#[test]
fn rows_are_prepared_as_for_other_statistics() {
    let sum = |bounds: Json| {
        let chain =
            json!([{"clamp": {"bounds": bounds}}, "sum", {"laplace": {"scale": {"param": "s"}}}]);
        chain
    };
    let count = json!(["count", {"laplace": {"scale": {"param": "s"}}}]);
    let questions = json!([
        {"mechanism": {"column": "age", "chain": count}},
        {"mechanism": {"column": "age", "chain": sum(json!([0, 100]))}},
        {"mechanism": {"column": "age", "bounds": [0, 50],
                       "chain": ["sum", {"laplace": {"scale": {"param": "s"}}}]},
         "where": {"smokes": true}},
        {"mechanism": {"column": "income", "bounds": [0, 10],
                       "chain": ["sum", {"laplace": {"scale": {"param": "s"}}}]}},
        {"mechanism": {"column": "smokes", "chain": count}},
    ]);
    let outcome = epsilon(1e7, questions).ask(read, ALPHA).unwrap();
    let ages = || (0..1000).filter(|i| i % 10 != 0);
    let smokers = ages().filter(|i| i % 4 == 0).map(|i| (i % 90).min(50)).sum::<i32>();
    let incomes = (0..1000).map(|i| i.min(10)).sum::<i32>();
    let wanted = [900, ages().map(|i| i % 90).sum::<i32>(), smokers, incomes, 1000];
    for (answer, wanted) in outcome.answers().iter().zip(wanted) {
        let found = answer.cells[0].value.as_f64().unwrap();
        assert!((found - f64::from(wanted)).abs() < 0.1, "{found} {wanted}");
    }
    assert_eq!(outcome.answers()[2].bounds, Some((0.0, 50.0)));
    let title = "sum, laplace of age, where smokes true";
    assert_eq!(outcome.answers()[2].question, title);
    // The control: a sum without bounds is refused.
    refuses("age", json!(["sum", {"laplace": {"scale": 1.0}}]), "must be bounded");
    let bounds = json!({"column": "city", "bounds": [0, 1], "chain": ["count"]});
    let error = epsilon(1.0, json!([{"mechanism": bounds}])).rehearse(ALPHA).unwrap_err();
    assert!(error.to_string().contains("expected a column of numbers"), "{error}");
}
#[test]
fn each_budget_and_each_unit_takes_its_measure() {
    let gaussian = json!(["count_distinct", {"gaussian": {"scale": {"param": "scale"}}}]);
    let gaussian = json!([{"mechanism": {"column": "city", "chain": gaussian}}]);
    let plan = study(json!({"rho": 0.5}), gaussian.clone()).unwrap().rehearse(ALPHA).unwrap();
    assert!((plan.answers()[0].parameter.clone().unwrap().1 - 1.0).abs() < 1e-6);
    let error = epsilon(1.0, gaussian).rehearse(ALPHA).unwrap_err().to_string();
    assert!(error.contains("zero_concentrated_divergence"), "{error}");
    assert!(error.contains("max_divergence"), "{error}");
    let laplace = || json!([{"mechanism": cities()}, {"mechanism": cities()}]);
    let budget = json!({"epsilon": 1, "delta": 1e-6});
    let outcome = study(budget, laplace()).unwrap().ask(read, ALPHA).unwrap();
    assert!(outcome.answers().iter().all(|answer| answer.cells.len() == 1));
    // If the number of rows is public, one person changes one row, and so at most one value.
    let sized = json!(["count_distinct", {"laplace": {"scale": {"param": "scale"}}}]);
    let sized = json!([{"mechanism": {"column": "city", "chain": sized}}]);
    let public = study_of(json!({"answers_of_person": 1}), json!({"epsilon": 1}), sized).unwrap();
    let outcome = public.ask(read, ALPHA).unwrap();
    assert_eq!(outcome.answers()[0].parameter.clone().unwrap().1, 1.0);
}
#[test]
fn hostile_documents_are_refused_before_the_data_are_read() {
    refuses("city", json!(["test::nothing"]), "test::nothing");
    refuses("city", json!([{"test::present": {}}]), "flip");
    refuses("city", json!([{"test::present": {"flip": 0.25, "flop": 1}}]), "flop");
    refuses("city", json!([{"test::present": {"flip": 0.7}}]), "flip");
    refuses("city", json!(["count_distinct"]), "found a transformation");
    refuses("city", json!(["max_divergence"]), "max_divergence");
    refuses("city", json!([]), "from 1 to 256 links");
    refuses("city", json!({}), "array");
    refuses("nowhere", json!(["test::of_epsilon"]), "nowhere");
    let two = json!(["count", {"laplace": {"scale": {"param": "a"}, "k": {"param": "b"}}}]);
    refuses("city", two, "`a`, `b`");
    // These maps state an infinite loss, a negative loss, and NaN.
    for (loss, reason) in [
        (json!("Infinity"), "the mechanism costs epsilon inf"),
        (json!(-1.0), "fault of the map"),
        (json!("NaN"), "fault of the map"),
    ] {
        refuses("city", json!([{"test::of_loss": {"loss": loss}}]), reason);
    }
    let never = json!([{"test::faulty": {"scale": {"param": "scale"}}}]);
    refuses("city", never, "fault of the map");
    let always = json!([{"test::scaleless": {"scale": {"param": "scale"}}}]);
    refuses("city", always, "at every value");
    refuses("city", json!(["count", {"laplace": {"scale": 0.0}}]), "costs epsilon inf");
    refuses("city", json!(["test::conversation"]), "interactive");
    refuses("city", json!(["test::panics"]), "panicked");
    refuses(
        "city",
        json!([{"test::of_epsilon": {"epsilon": 1.0}}, "test::panics_after"]),
        "panicked",
    );
    refuses("city", json!(["test::panics_when_made"]), "panicked");
    refuses("city", json!(["test::fails"]), "a trial on a table without data");
    refuses("income", json!(["test::on_graphs"]), "test::on_graphs");
    let deep = (0..200).fold(json!("count"), |inner, _| json!({"chain": [inner]}));
    refuses("city", json!([deep]), "nested");
}
#[test]
fn a_chain_on_another_space_is_refused() {
    // The sum of numbers between 0 and 1 has a sensitivity of 1. The rows have no bounds.
    let domain = json!({"vector_domain": {"atom_domain": {"T": "i64", "bounds": [0, 1]}}});
    let space = json!({"domain": domain, "metric": "symmetric_distance"});
    let laplace = json!({"laplace": {"scale": {"param": "scale"}}});
    let inner = json!({"space": space, "chain": ["sum", laplace]});
    refuses("age", json!([inner]), "the rows are in the space");
    let call = json!({"constructor": "make_sum", "args": {"input": space}});
    refuses("age", json!([call, laplace]), "the rows are in the space");
    // Another metric does not fit either.
    let space = json!({"domain": {"vector_domain": {"atom_domain": {"T": "i64"}}},
                       "metric": "change_one_distance"});
    let count = json!({"space": space, "chain": ["count_distinct", laplace]});
    refuses("age", json!([count]), "ChangeOneDistance");
    // The control: with the bounds of the question, the rows are in this space.
    let bounded = json!({"column": "age", "bounds": [0, 1], "chain": [
        {"space": {"domain": domain, "metric": "symmetric_distance"}, "chain": ["sum", laplace]}]});
    epsilon(1.0, json!([{"mechanism": bounded}])).rehearse(ALPHA).unwrap();
}
#[test]
fn no_field_names_another_column() {
    let fields = |extra: Json| {
        let mut fields = cities();
        fields.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        study(json!({"epsilon": 1}), json!([{"mechanism": fields}]))
    };
    for extra in [json!({"space": {}}), json!({"data": "age"}), json!({"columns": ["age"]})] {
        assert!(fields(extra).unwrap_err().to_string().contains("unknown field"));
    }
    // The copies and marks of columns have no names in a document.
    for hidden in ["age as f64", "age is known"] {
        let error = fields(json!({"column": hidden})).unwrap().ask(unread, ALPHA).unwrap_err();
        assert!(error.to_string().contains("no such column"), "{error}");
    }
    // A table has no place in a chain: an argument that names a column is only a text.
    let smuggled = json!([{"select_column": {"key": "age"}}, "count", {"laplace": {"scale": 1.0}}]);
    refuses("city", smuggled, "select_column");
    let other = json!([{"name": "x", "mechanism": cities(), "count": {}}]);
    let error = study(json!({"epsilon": 1}), other).unwrap_err().to_string();
    assert!(error.contains("top_k and mechanism; found 2"), "{error}");
    let noise = json!([{"noise": "laplace", "mechanism": cities()}]);
    assert!(study(json!({"epsilon": 1}), noise).unwrap_err().to_string().contains("noise"));
    let groups = json!([{"group_by": ["city"], "keys": {"city": ["a"]}, "mechanism": cities()}]);
    let error = study(json!({"epsilon": 1}), groups).unwrap_err().to_string();
    assert!(error.contains("the statistics of a group"), "{error}");
}
#[test]
fn the_versions_of_packages_are_checked() {
    let mut fields = cities();
    fields["packages"] = json!({"opendp-nothing": 3});
    let newer = epsilon(1.0, json!([{"mechanism": fields}])).rehearse(ALPHA).unwrap_err();
    assert!(newer.to_string().contains("opendp-nothing"), "{newer}");
    fields["packages"] = json!({});
    fields["version"] = json!(1);
    epsilon(1.0, json!([{"mechanism": fields}])).rehearse(ALPHA).unwrap();
}
#[test]
fn lists_and_objects_have_a_cell_for_each_value() {
    let histogram = json!([{"count_by_categories": {"categories": [true, false], "null_category": false}},
        {"laplace": {"scale": {"param": "scale"}}}]);
    let questions = json!([
        {"mechanism": {"column": "smokes", "chain": histogram}},
        {"mechanism": {"column": "city", "chain": ["test::map"]}},
        {"mechanism": {"column": "city", "chain": ["test::nested"]}},
    ]);
    let outcome = epsilon(1e6, questions).ask(read, ALPHA).unwrap();
    let labels = |place: usize| -> Vec<Option<String>> {
        outcome.answers()[place].cells.iter().map(|cell| cell.label.clone()).collect()
    };
    let cells = &outcome.answers()[0].cells;
    assert_eq!(labels(0), [Some("1".to_owned()), Some("2".to_owned())]);
    assert_eq!((&cells[0].value, cells[1].interval), (&json!(250), Some((750.0, 750.0))));
    assert_eq!(labels(1), [Some("here".to_owned())]);
    assert_eq!((labels(2), &outcome.answers()[2].cells[0].value), (vec![None], &json!([[1]])));
    assert_eq!(outcome.rows().len(), 4);
}
#[test]
fn a_ledger_charges_the_map_and_keeps_the_answers() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("study.ledger")).unwrap();
    let terms = Terms::new().with_unit(Unit::new(json!("symmetric_distance"), 1).unwrap());
    ledger.create_with("survey", &Loss::epsilon("3").unwrap(), &terms).unwrap();
    let ask = |id: &str, study: &Study| {
        let cells = |name: &str, kind| -> Result<Cells, Failure> { Ok(read(name, kind)?) };
        study.ask_charged(&Charge::new(&ledger, "survey", id), cells, ALPHA)
    };
    let study = epsilon(1.0, json!([{"mechanism": cities()}]));
    let first = ask("a", &study).unwrap();
    assert_eq!(ledger.remaining("survey").unwrap(), Loss::epsilon("2").unwrap());
    let again = ask("a", &study).unwrap();
    assert!(again.release.repeated());
    assert_eq!(again.outcome.to_json(), first.outcome.to_json());
    // A refused mechanism is not charged. A mechanism that fails on the data is charged, because
    // the failure may depend on the data.
    let refused =
        epsilon(1.0, json!([{"mechanism": {"column": "city", "chain": ["test::fails"]}}]));
    assert!(ask("b", &refused).is_err());
    assert_eq!(ledger.remaining("survey").unwrap(), Loss::epsilon("2").unwrap());
    let fails = json!([{"mechanism": {"column": "city", "chain": ["test::panics_on_rows"]}}]);
    let error = ask("c", &epsilon(1.0, fails)).unwrap_err().to_string();
    assert!(!error.contains("1000"), "{error}");
    assert_eq!(ledger.remaining("survey").unwrap(), Loss::epsilon("1").unwrap());
}
