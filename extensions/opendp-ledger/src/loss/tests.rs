use opendp_core::erased::{AnyDistance, AnyMeasure};
use opendp_core::{Approximate, MaxDivergence};

use super::*;
use crate::record::{digest, verify};
use crate::{Account, Entry, Terms};

#[test]
fn bounds_a_pure_loss_in_the_other_measures() {
    let pure = Loss::epsilon("0.5").unwrap();
    assert_eq!(pure.within(Notion::Approximate).unwrap(), Loss::epsilon_delta("0.5", "0").unwrap());
    assert_eq!(pure.within(Notion::Concentrated).unwrap(), Loss::rho("0.125").unwrap());
    let error = Loss::rho("1").unwrap().within(Notion::Pure).unwrap_err();
    assert_eq!(error.kind(), "MeasureMismatch");
    assert!(error.to_string().starts_with("a budget of epsilon needs Laplace noise"), "{error}");
    // A release with a delta can have Laplace noise, so the message advises on the delta, and not
    // on the noise.
    let error = Loss::epsilon_delta("1", "1e-6").unwrap().within(Notion::Pure).unwrap_err();
    assert!(error.to_string().starts_with("leave the delta out, or use a budget"), "{error}");
    // A budget of epsilon and delta admits no rho, whatever the noise is.
    let error = Loss::rho("1").unwrap().within(Notion::Approximate).unwrap_err().to_string();
    assert!(!error.contains("Laplace") && error.contains("use a budget of rho"), "{error}");
    let error = of_study(Notion::Approximate, Notion::Concentrated);
    assert_eq!(error.kind(), "MeasureMismatch");
    let error = error.to_string();
    assert!(error.contains("the study states a budget of rho"), "{error}");
    assert!(error.contains("state epsilon and delta in the study"), "{error}");
}
#[test]
fn reads_amounts_that_older_versions_wrote_and_writes_no_more_of_them() {
    for text in ["1e4096", "1e-4096"] {
        let written = Loss::epsilon(text).unwrap();
        assert!(written.to_text().parse::<Exact>().is_err());
        assert_eq!(Loss::from_text(Notion::Pure, &written.to_text()).unwrap(), written);
        assert!(written.check_text().unwrap_err().to_string().contains("too long"));
    }
    Loss::epsilon("1e4000").unwrap().check_text().unwrap();
    assert!(Loss::from_text(Notion::Pure, &"x".repeat(5000)).is_err());
}
#[test]
fn a_budget_beyond_all_floats_is_refused() {
    for (amount, admitted) in [("1e308", true), ("1e309", false)] {
        for budget in [Loss::epsilon(amount), Loss::rho(amount), Loss::epsilon_delta(amount, "0")] {
            assert_eq!(budget.unwrap().check_budget("b", false).is_ok(), admitted, "{amount}");
        }
    }
}
#[test]
fn compares_every_part() {
    let budget = Loss::epsilon_delta("1", "1e-6").unwrap();
    assert!(Loss::epsilon_delta("1", "1e-6").unwrap().at_most(&budget));
    assert!(!Loss::epsilon_delta("0", "2e-6").unwrap().at_most(&budget));
    assert!(!Loss::epsilon_delta("1.1", "0").unwrap().at_most(&budget));
    assert!(Loss::epsilon_delta("1", "1.1").is_err());
}
#[test]
fn takes_typed_and_erased_losses_and_no_infinite_one() {
    let erased = AnyMeasure::from(opendp_core::TheMeasure(Approximate(MaxDivergence)));
    let loss = erased.account(&AnyDistance::new((0.5, 0.25))).unwrap();
    assert_eq!(loss, Loss::epsilon_delta("0.5", "0.25").unwrap());
    let bad = MaxDivergence.account(&f64::INFINITY).unwrap_err();
    assert_eq!(bad.kind(), "InvalidDistance");
    let other = AnyMeasure::from(opendp_core::TheMeasure(opendp_core::RenyiDivergence));
    let curve = opendp_core::RenyiCurve::new(Ok);
    let bad = other.account(&AnyDistance::new(curve)).unwrap_err();
    assert_eq!(bad.kind(), "NotImplemented");
}
#[test]
fn a_rho_beside_a_mu_is_written_and_texts_of_older_versions_have_none() {
    let exact = |text: &str| text.parse::<Exact>().unwrap();
    let both = Loss::epsilon_delta("0.5", "1e-9").unwrap();
    let gaussian = both.clone().with_mu_squared(exact("0.01")).unwrap();
    let choice = gaussian.clone().with_rho(exact("0.003")).unwrap();
    for loss in [&both, &gaussian, &choice] {
        let read = Loss::from_text(Notion::Approximate, &loss.to_text()).unwrap();
        assert_eq!(&read, loss);
        assert_eq!(read.within(Notion::Approximate).unwrap().choice_rho(), loss.choice_rho());
    }
    assert_eq!(choice.to_json()["rho"], "0.003");
    assert!(choice.to_text().starts_with(&(gaussian.to_text() + " ")));
    let more = choice.to_text() + " 1";
    assert!(Loss::from_text(Notion::Approximate, &more).is_err());
    assert!(Loss::from_text(Notion::Concentrated, "1 2").is_err());
    assert!(both.with_rho(exact("1")).is_err() && gaussian.with_rho(Exact::INFINITY).is_err());
}
#[test]
fn losses_together_are_written_with_each_member() {
    let exact = |text: &str| text.parse::<Exact>().unwrap();
    let gaussian = Loss::epsilon_delta("0.5", "1e-9").unwrap();
    let gaussian = gaussian.with_mu_squared(exact("0.01")).unwrap();
    let pure = Loss::epsilon("0.25").unwrap();
    let both = Loss::together(vec![gaussian.clone(), pure.clone()]).unwrap();
    assert_eq!(both.parts(), [exact("0.75"), exact("1e-9")]);
    assert_eq!(both.members().len(), 2);
    assert_eq!(both.members()[0], gaussian);
    assert_eq!(Loss::from_text(Notion::Approximate, &both.to_text()).unwrap(), both);
    assert_eq!(both.to_json()["members"].as_array().unwrap().len(), 2);
    both.check_text().unwrap();
    let nested = Loss::together(vec![both.clone(), pure.clone()]).unwrap();
    assert_eq!(nested.members().len(), 3);
    assert_eq!(both.within(Notion::Approximate).unwrap(), both);
    assert_eq!(gaussian.members(), std::slice::from_ref(&gaussian));
    assert_eq!(Loss::together(vec![gaussian.clone()]).unwrap(), gaussian);
    // The loss of all members together can be smaller than the sum of their losses.
    let whole = Loss::epsilon_delta("0.6", "1e-9").unwrap();
    for members in [vec![gaussian.clone()], vec![gaussian.clone(), both.clone()]] {
        let count = members.iter().map(|member| member.members().len()).sum::<usize>();
        let study = whole.clone().with_members(members).unwrap();
        assert_eq!((study.parts(), study.members().len()), (whole.parts(), count));
        assert_eq!(Loss::from_text(Notion::Approximate, &study.to_text()).unwrap(), study);
    }
    let nothing = Loss::epsilon_delta("0", "0").unwrap();
    let error = nothing.clone().with_members(vec![nothing.clone(), gaussian.clone()]).unwrap_err();
    assert_eq!(error.kind(), "InvalidDistance");
    assert!(nothing.clone().with_members(vec![nothing; 2]).is_ok());
    assert!(Loss::together(Vec::new()).is_err());
    assert!(Loss::together(vec![Loss::rho("1").unwrap()]).is_err());
    let long = Loss::epsilon("1e4096").unwrap();
    assert!(Loss::together(vec![pure, long]).unwrap().check_text().is_err());
}
#[test]
fn a_plan_whose_filters_cannot_be_read_again_is_not_charged() {
    let exact = |text: &str| text.parse::<Exact>().unwrap();
    let total = Loss::epsilon_delta("1", "1e-6").unwrap();
    let plan = |pure: &Exact| {
        let both = Loss::epsilon_delta("0.1", "1e-9").unwrap();
        both.reserving(&total, pure, &exact("1e-9")).and_then(|plan| plan.check_text())
    };
    plan(&exact("0.1")).unwrap();
    // The product of these two numbers has more digits than the parser accepts.
    plan(&exact("1e-3000").times(&exact("1e-3000"))).unwrap_err();
}
#[test]
fn a_history_is_complete_if_its_total_was_read_from_text_before_each_charge() {
    let unit = Exact::from_f64(1.0).unwrap();
    let mut account = Account {
        name: "b".into(),
        total: Loss::rho("1").unwrap(),
        spent: Loss::zero(Notion::Concentrated),
        releases: 0,
        created: 1,
        latest: 1,
        terms: Terms::new(),
        filters: None,
        head: String::new(),
    };
    let (mut entries, mut kept, mut sum) = (Vec::new(), account.spent.clone(), Exact::ZERO);
    // The releases have integer Gaussian noise at distance 1. The first scales of the noise are
    // these numbers. The following scales are the integers from 500 to 599.
    let scales = [
        467, 103, 394, 217, 277, 431, 404, 145, 335, 221, 358, 141, 276, 77, 172, 204, 409, 302,
        421,
    ];
    for (number, scale) in (1_i64..).zip(scales.into_iter().chain(500..600)) {
        let rho = unit.over(&Exact::from_f64(scale.into()).unwrap()).half_square();
        sum = sum.plus(&rho);
        let entry = Entry {
            budget: "b".into(),
            number,
            id: number.to_string(),
            by: String::new(),
            at_ms: 1,
            pipeline: "null".into(),
            d_in: "1".into(),
            source: String::new(),
            loss: Loss::exact(Notion::Concentrated, vec![rho]).unwrap(),
            release: "7".into(),
            digest: digest("7"),
            previous: account.head.clone(),
        };
        kept = kept.plus(&entry.loss);
        account.follow(&entry).unwrap();
        account.spent = Loss::from_text(Notion::Concentrated, &account.spent.to_text()).unwrap();
        assert_eq!(account.spent, kept, "{number}");
        entries.push(entry);
        verify(&account, &entries).unwrap();
    }
    // At least one term was rounded up, because the exact sum has too many digits. So the exact sum
    // is less than the amount spent.
    assert!(sum < account.spent.parts()[0]);
    // The control: a history without its last entry is not complete.
    entries.pop();
    verify(&account, &entries).unwrap_err();
}
