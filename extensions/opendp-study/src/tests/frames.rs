use std::cell::Cell as Counter;

use opendp_core::{Column, DataFrame};
use opendp_ledger::{Failure, Ledger, Loss, Terms, Unit};

use super::*;

fn frame(ages: &[Option<i64>], cities: &[&str]) -> Result<DataFrame<String>> {
    let incomes = ages.iter().map(|age| age.map(|age| age as f64)).collect::<Vec<_>>();
    let cities = cities.iter().map(|city| Some((*city).to_owned())).collect::<Vec<_>>();
    DataFrame::new([
        ("city".to_owned(), Column::new(cities)),
        ("income".to_owned(), Column::new(incomes)),
        ("age".to_owned(), Column::new(ages.to_vec())),
    ])
}
fn frames() -> [Result<DataFrame<String>>; 2] {
    [frame(&[Some(31), None], &["Lyon", ""]), frame(&[Some(58)], &["Lille"])]
}
fn counting() -> Study {
    study(json!({"epsilon": 1}), json!([{"count": {}}])).unwrap()
}

#[test]
fn a_table_in_frames_has_the_cells_of_all_frames_in_order() {
    let study = counting();
    let columns = study.cells_of(frames()).unwrap();
    let Some(Cells::Integer(ages)) = columns.get("age") else { panic!("no ages") };
    assert_eq!(ages, &[Some(31), None, Some(58)]);
    let Some(Cells::Text(cities)) = columns.get("city") else { panic!("no cities") };
    // An empty cell is missing.
    assert_eq!(cities, &[Some("Lyon".to_owned()), None, Some("Lille".to_owned())]);
    let domain = study.frame_domain().unwrap();
    let names: Vec<&str> = domain.schema().unwrap().iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["age", "city", "income"]);
}
#[test]
fn a_table_is_opened_once_and_not_for_answers_that_are_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("l")).unwrap();
    let terms = Terms::new().with_unit(Unit::new(json!("symmetric_distance"), 1).unwrap());
    ledger.create_with("b", &Loss::epsilon("3").unwrap(), &terms).unwrap();
    let (study, opened) = (counting(), Counter::new(0));
    for _ in 0..2 {
        let read = study.reader(|_| {
            opened.set(opened.get() + 1);
            Ok(frames())
        });
        study.ask_charged(&Charge::new(&ledger, "b", "1"), read, 0.05).unwrap();
    }
    assert_eq!(opened.get(), 1);
    assert_eq!(ledger.remaining("b").unwrap(), Loss::epsilon("2").unwrap());
    // A table that cannot be opened is not charged. A frame that cannot be read is charged.
    let unopened =
        study.reader(|_| Err::<Vec<Result<DataFrame<String>>>, _>(Error::NotFound("t.csv".into())));
    let error = study.ask_charged(&Charge::new(&ledger, "b", "2"), unopened, 0.05).unwrap_err();
    assert_eq!(error.kind(), "NotFound");
    assert_eq!(ledger.remaining("b").unwrap(), Loss::epsilon("2").unwrap());
    let unread = study.reader(|_| Ok([Err::<DataFrame<String>, _>(Error::Overflow("3".into()))]));
    let error = study.ask_charged(&Charge::new(&ledger, "b", "3"), unread, 0.05).unwrap_err();
    assert!(Failure::was_charged(&error), "{error}");
    assert_eq!(ledger.remaining("b").unwrap(), Loss::epsilon("1").unwrap());
    // The caller can state that the records are not the reason.
    let interrupted = Failure::OfFile(Error::FailedFunction("interrupted".into()));
    let unread = study.reader(|_| Ok([Err::<DataFrame<String>, _>(interrupted)]));
    study.ask_charged(&Charge::new(&ledger, "b", "4"), unread, 0.05).unwrap_err();
    assert_eq!(ledger.remaining("b").unwrap(), Loss::epsilon("1").unwrap());
}
#[test]
fn a_frame_without_a_column_is_an_error_of_the_file() {
    let study = counting();
    let ages = |ages| DataFrame::new([("age".to_owned(), Column::new::<i64>(ages))]);
    let Err(Failure::OfFile(error)) = study.cells_of([ages(vec![31])]) else { panic!("read") };
    assert!(error.to_string().contains("`Study::frame_domain`"), "{error}");
}
#[test]
fn a_category_that_no_cell_can_have_is_found_before_the_table_is_opened() {
    let question = json!([{"histogram": {"column": "city", "categories": [" Lyon"]}}]);
    let study = study(json!({"epsilon": 1}), question).unwrap();
    let read = study.reader(|_| -> Result<Vec<Result<DataFrame<String>>>> { panic!("opened") });
    let error = study.try_ask(read, 0.05).unwrap_err();
    assert!(matches!(error, Failure::OfFile(_)), "{error:?}");
}
