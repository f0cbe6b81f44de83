//! Benchmarks of conversions between measures, and of many questions about one data set.

use opendp_core::search::binary_search_param;
use opendp_core::{
    AbsoluteDistance, AtomDomain, Function, MaxDivergence, Measurement, PrivacyMap, Result,
    Session, Space, TheMeasure,
};
use opendp_measurements::{
    Scale, make_adaptive_composition, make_composition, make_fix_delta,
    make_fully_adaptive_composition, make_gaussian, make_laplace, make_privacy_filter,
    make_zCDP_to_approxDP,
};

use crate::incumbent_interaction as incumbent;
use crate::timing::{Table, Target};

type Numbers = AtomDomain<i32>;
type Change = AbsoluteDistance<i32>;
type Question = Measurement<Numbers, Change, MaxDivergence, i32>;
type Talk = Session<Numbers, Change, MaxDivergence>;

const DELTA: f64 = 1e-6;
/// The bounds of the search for the standard deviation at an epsilon of 1.
pub const SCALES: (f64, f64) = (0.125, 1024.0);

/// Run all benchmarks of this file.
pub fn talks(table: &mut Table) -> Result<()> {
    conversions(table)?;
    filters(table)?;
    compositions(table)
}

/// Measure two computations: the epsilon of a zero-concentrated loss at a delta, and the scale of
/// noise for an epsilon and a delta.
fn conversions(table: &mut Table) -> Result<()> {
    let space = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
    let work = "zcdp to epsilon at a delta";
    if table.wants(work) {
        let noise = make_gaussian(space.clone(), Scale::new(1.0)?, None)?;
        let ours = make_zCDP_to_approxDP(noise)?;
        let mut theirs = incumbent::epsilon(1.0, DELTA)?;
        table
            .contest(work)
            .run("this project", 100, || {
                for _ in 0..100 {
                    std::hint::black_box(ours.map(&1.0).and_then(|loss| loss.epsilon(DELTA)).ok());
                }
            })
            .against("opendp", 1, Target::Faster(100.0), &mut theirs)
            .hold();
    }
    let work = "gaussian scale for an epsilon and a delta";
    if table.wants(work) {
        let make = |scale: f64| {
            let noise = make_gaussian(space.clone(), Scale::new(scale)?, None)?;
            make_fix_delta(make_zCDP_to_approxDP(noise)?, DELTA)
        };
        let ours = || binary_search_param(make, &1.0, &(1.0, DELTA), Some(SCALES));
        let theirs = || incumbent::gaussian_scale(SCALES, (1.0, DELTA));
        let (own, other) = (ours()?, theirs()?);
        eprintln!("{work}: scales {own} and {other}");
        table
            .contest(work)
            .run("this project", 1, ours)
            .against("opendp", 1, Target::Faster(100.0), theirs)
            .hold();
    }
    Ok(())
}

fn numbers() -> Result<Space<Numbers, Change>> {
    Space::new(AtomDomain::default(), AbsoluteDistance::new())
}
/// Make a question that takes almost no time to answer.
fn constant(loss: f64) -> Result<Question> {
    let map = PrivacyMap::new(move |_: &i32| Ok(loss));
    Ok(Measurement::new(numbers()?, MaxDivergence, Function::map(|_: &i32| Ok(0)), map))
}
/// Open a privacy filter, and ask `asked` questions.
fn filtered(question: &Question, asked: usize) -> Result<Talk> {
    let odometer = make_fully_adaptive_composition(numbers()?, TheMeasure(MaxDivergence))?;
    let talk = make_privacy_filter(odometer, 1, 1e6)?.invoke(&7)?;
    for _ in 0..asked {
        talk.ask(question)?;
    }
    Ok(talk)
}

/// Measure questions under a budget.
fn filters(table: &mut Table) -> Result<()> {
    const QUESTIONS: usize = 10;
    let laplace = make_laplace(numbers()?, Scale::new(10.0)?, None)?;
    let work = "filter, a laplace question after 1000";
    if table.wants(work) {
        let ours = filtered(&laplace, 1000)?;
        let mut theirs = incumbent::filtered(10.0, 1000)?;
        table
            .contest(work)
            .run("this project", QUESTIONS, || ask(&ours, &laplace, QUESTIONS))
            .against("opendp", QUESTIONS, Target::Faster(100.0), || {
                for _ in 0..QUESTIONS {
                    theirs();
                }
            })
            .hold();
    }
    let work = "filter, a question after 100000 or 10";
    if table.wants(work) {
        const TALKS: usize = 100;
        let question = constant(1e-3)?;
        let talks = |asked| -> Result<Vec<Talk>> {
            (0..TALKS).map(|_| filtered(&question, asked)).collect()
        };
        let (many, few) = (talks(100_000)?, talks(10)?);
        let all =
            |talks: &Vec<Talk>| talks.iter().map(|talk| ask(talk, &question, 10)).sum::<i32>();
        table
            .contest(work)
            .run("this project, after 100000", 10 * TALKS, || all(&many))
            .against("this project, after 10", 10 * TALKS, Target::Within(1.25), || all(&few))
            .hold();
    }
    Ok(())
}
fn ask(talk: &Talk, question: &Question, times: usize) -> i32 {
    (0..times).filter_map(|_| talk.ask(question).ok()).sum()
}

/// Measure compositions with losses that are fixed in advance.
fn compositions(table: &mut Table) -> Result<()> {
    const QUESTIONS: usize = 1000;
    let question = constant(1e-6)?;
    let work = "adaptive composition, a question that costs nothing";
    if table.wants(work) {
        let losses = vec![1e-6; QUESTIONS];
        let measure = TheMeasure(MaxDivergence);
        let ours = make_adaptive_composition(numbers()?, measure, 1, losses)?;
        let mut theirs = incumbent::adaptive(1e-6, QUESTIONS)?;
        table
            .contest(work)
            .run("this project", QUESTIONS, || {
                ours.invoke(&7).map(|talk| ask(&talk, &question, QUESTIONS))
            })
            .against("opendp", QUESTIONS, Target::Faster(1.0), &mut theirs)
            .run("this project, asked without it", QUESTIONS, || {
                (0..QUESTIONS).filter_map(|_| question.invoke(&7).ok()).sum::<i32>()
            })
            .hold();
    }
    let work = "composition of 1000 parts, made";
    if table.wants(work) {
        let parts = vec![make_laplace(numbers()?, Scale::new(10.0)?, None)?; QUESTIONS];
        let mut theirs = incumbent::composition(10.0, QUESTIONS)?;
        table
            .contest(work)
            .run("this project", QUESTIONS, || make_composition(parts.clone()))
            .against("opendp", QUESTIONS, Target::Faster(1.0), &mut theirs)
            .hold();
    }
    Ok(())
}
