//! Tests selections of scores in typed Rust, where the lowest score is the best.

use opendp_rs::prelude::*;

type Scores = Space<VectorDomain<AtomDomain<u64>>, RangeDistance<u64>>;

/// Score three candidates for the median of integers, and chain the step `next`.
fn then<N: After<Scored>>(next: impl FnOnce(Scores) -> Result<N>) -> Result<N::Chained> {
    let ages = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
    make_quantile_score_candidates(ages, vec![0, 50, 100], Alpha::new(0.5)?)?.then(next)
}
type Scored = Transformation<
    VectorDomain<AtomDomain<i32>>,
    SymmetricDistance,
    VectorDomain<AtomDomain<u64>>,
    RangeDistance<u64>,
>;

#[test]
fn scores_of_which_the_lowest_is_best_are_not_chosen_by_the_highest() {
    let pure = || TheMeasure(MaxDivergence);
    let ages = vec![49, 50, 50, 51];
    let refused = |error: Error, argument: &str| {
        assert_eq!(error.kind(), "Argument");
        let text = error.to_string();
        assert!(text.contains(argument) && text.contains("lowest"), "{text}");
    };
    let exact = Scale::new(0.0).unwrap();
    let max = |negate| then(|scores| make_noisy_max(scores, pure(), exact, negate));
    refused(max(false).unwrap_err(), "negate");
    assert_eq!(max(true).unwrap().invoke(&ages), Ok(1));
    let top = |negate| then(|scores| make_noisy_top_k(scores, pure(), 1, exact, negate));
    refused(top(false).unwrap_err(), "negate");
    assert_eq!(top(true).unwrap().invoke(&ages), Ok(vec![1]));
    let sharp = Temperature::new(1e-9).unwrap();
    let gumbel = |optimize| then(|scores| make_gumbel_max(scores, sharp, optimize));
    refused(gumbel(Optimize::Max).unwrap_err(), "optimize");
    assert_eq!(gumbel(Optimize::Min).unwrap().invoke(&ages), Ok(1));
    let older = |optimize| then(|scores| make_report_noisy_max_gumbel(scores, exact, optimize));
    refused(older(Optimize::Max).unwrap_err(), "optimize");
    assert_eq!(older(Optimize::Min).unwrap().invoke(&ages), Ok(1));
}
#[test]
fn a_selection_on_a_plain_space_does_not_follow_scores_of_which_the_lowest_is_best() {
    // A caller can make a new space with the domain and the metric of the scores. This new space
    // does not have the flag `lowest_is_best`.
    let again = |scores: Scores| Space::new(scores.domain().clone(), *scores.metric());
    let exact = Scale::new(0.0).unwrap();
    let max = |negate| {
        then(|scores| make_noisy_max(again(scores)?, TheMeasure(MaxDivergence), exact, negate))
    };
    let error = max(false).unwrap_err();
    assert_eq!(error.kind(), "Argument");
    assert!(error.to_string().contains("select the lowest score"), "{error}");
    assert_eq!(max(true).unwrap().invoke(&vec![49, 50, 50, 51]), Ok(1));
}
#[test]
fn a_session_on_a_plain_space_does_not_follow_scores_of_which_the_lowest_is_best() {
    let again = |scores: &Scores| Space::new(scores.domain().clone(), *scores.metric());
    let pure = || TheMeasure(MaxDivergence);
    let exact = Scale::new(0.0).unwrap();
    let adaptive = |scores| make_adaptive_composition(scores, pure(), 1, vec![1.0]);
    let filter =
        |scores| make_privacy_filter(make_fully_adaptive_composition(scores, pure())?, 1, 1.0);
    for error in [
        then(|scores| adaptive(again(&scores)?)).unwrap_err(),
        then(|scores| filter(again(&scores)?)).unwrap_err(),
    ] {
        assert_eq!(error.kind(), "Argument");
        assert!(error.to_string().contains("output space of this step"), "{error}");
    }
    // The control: a session on the space of the scores is possible. This session refuses to select
    // the highest score. The session can select the lowest score. But this selection has no noise,
    // so its loss is infinite and exceeds the budget.
    let best = |scores: &Scores, negate| make_noisy_max(again(scores)?, pure(), exact, negate);
    let mut questions = Vec::new();
    let session = then(|scores| {
        questions.extend([best(&scores, false)?, best(&scores, true)?]);
        adaptive(scores)
    });
    let session = session.unwrap().invoke(&vec![49, 50, 50, 51]).unwrap();
    assert_eq!(session.ask(&questions[0]).unwrap_err().kind(), "Argument");
    assert_eq!(session.ask(&questions[1]).unwrap_err().kind(), "BudgetExceeded");
}
#[test]
fn a_space_keeps_its_note_when_its_types_are_erased_and_restored() {
    let ages = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance);
    let scored: Scored =
        make_quantile_score_candidates(ages.unwrap(), vec![0, 1], Alpha::new(0.5).unwrap())
            .unwrap();
    let scores = scored.output();
    assert!(scores.lowest_is_best() && scores.clone().lowest_is_best());
    let erased = scored.erase();
    assert!(erased.output().lowest_is_best());
    let typed: Scores = erased.output().typed().unwrap();
    assert!(typed.lowest_is_best());
    // The flag `lowest_is_best` does not affect the equality of spaces.
    let plain: Scores = Space::new(scores.domain().clone(), *scores.metric()).unwrap();
    assert!(!plain.lowest_is_best() && plain == typed);
}
