//! A study that is charged to a budget is rehearsed once.

use opendp_ledger::{Ledger, Loss, Terms, Unit};

use super::*;
use crate::Charge;

#[test]
fn a_charged_study_is_rehearsed_once() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("study.ledger")).unwrap();
    let terms = Terms::new().with_unit(Unit::new(json!("symmetric_distance"), 1).unwrap());
    ledger.create_with("simple", &Loss::epsilon("3").unwrap(), &terms).unwrap();
    ledger.create_tight("tight", &Loss::epsilon_delta("3", "1e-6").unwrap(), &terms).unwrap();
    let study = study(json!({"epsilon": 1.0}), json!([{"count": {}}])).unwrap();
    for budget in ["simple", "tight"] {
        let ask = |id| {
            let charge = Charge::new(&ledger, budget, id);
            study.ask_charged(&charge, |name, kind| Ok(read(name, kind)?), 0.05).map(drop)
        };
        RUNS.take();
        ask("first").unwrap();
        assert_eq!(RUNS.take(), [Mode::Rehearse, Mode::Ask], "{budget}");
        ask("first").unwrap();
        assert_eq!(RUNS.take(), [], "{budget}");
    }
}
