//! Run conversions and interactive mechanisms with the crate `opendp`.

use opendp::combinators as theirs;
use opendp::core::{Function, Measurement, PrivacyMap};
use opendp::domains::AtomDomain;
use opendp::measurements::{make_gaussian, make_laplace};
use opendp::measures::{Approximate, MaxDivergence, ZeroConcentratedDivergence};
use opendp::metrics::AbsoluteDistance;
use opendp::utilities::search::fallible_binary_search;
use opendp_core::Result;

use crate::incumbent::ours;

type Question = Measurement<AtomDomain<i32>, AbsoluteDistance<i32>, MaxDivergence, i32>;
type Noise<MO> = Measurement<AtomDomain<f64>, AbsoluteDistance<f64>, MO, f64>;

fn gaussian(scale: f64) -> opendp::error::Fallible<Noise<ZeroConcentratedDivergence>> {
    make_gaussian(AtomDomain::new_non_nan(), AbsoluteDistance::default(), scale, None)
}
/// Return a function that computes the epsilon of Gaussian noise at a delta.
pub fn epsilon(scale: f64, delta: f64) -> Result<impl FnMut() -> f64> {
    let noise = ours(theirs::make_zCDP_to_approxDP(ours(gaussian(scale))?))?;
    Ok(move || noise.map(&1.0).and_then(|loss| loss.epsilon(delta)).expect("an epsilon"))
}
/// Find the least scale of Gaussian noise whose loss is at most a bound.
pub fn gaussian_scale(bounds: (f64, f64), loss: (f64, f64)) -> Result<f64> {
    let enough = |scale: &f64| {
        let noise = theirs::make_zCDP_to_approxDP(gaussian(*scale)?)?;
        let fixed: Noise<Approximate<MaxDivergence>> = theirs::make_fix_delta(&noise, loss.1)?;
        fixed.check(&1.0, &loss)
    };
    ours(fallible_binary_search(enough, bounds))
}

fn numbers() -> (AtomDomain<i32>, AbsoluteDistance<i32>) {
    (AtomDomain::default(), AbsoluteDistance::default())
}
fn laplace(scale: f64) -> Result<Question> {
    let (domain, metric) = numbers();
    ours(make_laplace(domain, metric, scale, None))
}
/// Return a function that asks a question under a budget. Ask the question `asked` times first.
pub fn filtered(scale: f64, asked: usize) -> Result<impl FnMut() -> i32> {
    let (domain, metric) = numbers();
    let odometer = ours(theirs::make_fully_adaptive_composition(domain, metric, MaxDivergence))?;
    let filter = ours(theirs::make_privacy_filter(odometer, 1, 1e6))?;
    let mut talk = ours(filter.invoke(&7))?;
    let question = laplace(scale)?;
    for _ in 0..asked {
        ours(talk.invoke(question.clone()))?;
    }
    Ok(move || talk.invoke(question.clone()).expect("an answer"))
}
/// Begin an adaptive composition, and ask all its questions.
pub fn adaptive(loss: f64, questions: usize) -> Result<impl FnMut() -> i32> {
    let (domain, metric) = numbers();
    let losses = vec![loss; questions];
    let made = ours(theirs::make_adaptive_composition(domain, metric, MaxDivergence, 1, losses))?;
    let (domain, metric) = numbers();
    let question: Question = ours(Measurement::new(
        domain,
        metric,
        MaxDivergence,
        Function::new(|_: &i32| 0),
        PrivacyMap::new(move |_: &i32| loss),
    ))?;
    Ok(move || {
        let mut talk = made.invoke(&7).expect("a conversation");
        (0..questions).map(|_| talk.eval(&question).expect("an answer")).sum()
    })
}
/// Compose measurements, and release nothing.
pub fn composition(scale: f64, parts: usize) -> Result<impl FnMut() -> usize> {
    let parts = vec![laplace(scale)?; parts];
    Ok(move || {
        let made = theirs::make_composition(parts.clone()).expect("a composition");
        std::hint::black_box(&made);
        parts.len()
    })
}
