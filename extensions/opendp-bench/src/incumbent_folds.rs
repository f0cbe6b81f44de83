//! Run folds with the crate `opendp`.

use opendp::core::Function;
use opendp::domains::{AtomDomain, VectorDomain};
use opendp::metrics::{L1Distance, SymmetricDistance};
use opendp::traits::Hashable;
use opendp::transformations as theirs;
use opendp_core::Result;

use crate::incumbent::ours;

type Vectors<T> = VectorDomain<AtomDomain<T>>;

fn floats() -> Vectors<f64> {
    VectorDomain::new(AtomDomain::new_non_nan())
}
fn bounded(bounds: (f64, f64), size: usize) -> Result<Vectors<f64>> {
    let mut atoms = AtomDomain::new_non_nan();
    atoms.bounds = Some(ours(opendp::domains::Bounds::new_closed(bounds))?);
    Ok(VectorDomain::new(atoms).with_size(size))
}

/// Clamp and sum an unknown number of floats.
pub fn sum_f64(bounds: (f64, f64)) -> Result<impl FnMut(&Vec<f64>) -> f64> {
    let clamp = ours(theirs::make_clamp(floats(), SymmetricDistance, bounds))?;
    let sum = ours(theirs::make_sum(clamp.output_domain.clone(), clamp.output_metric.clone()))?;
    let made = ours(clamp >> sum)?;
    Ok(move |data: &Vec<f64>| made.invoke(data).expect("a result"))
}
/// Clamp and sum integers.
pub fn sum_i64(bounds: (i64, i64)) -> Result<impl FnMut(&Vec<i64>) -> i64> {
    let domain: Vectors<i64> = VectorDomain::new(AtomDomain::default());
    let clamp = ours(theirs::make_clamp(domain, SymmetricDistance, bounds))?;
    let sum = ours(theirs::make_sum(clamp.output_domain.clone(), clamp.output_metric.clone()))?;
    let made = ours(clamp >> sum)?;
    Ok(move |data: &Vec<i64>| made.invoke(data).expect("a result"))
}
/// Compute the mean of a known number of floats within bounds.
pub fn mean(bounds: (f64, f64), size: usize) -> Result<impl FnMut(&Vec<f64>) -> f64> {
    let made = ours(theirs::make_mean(bounded(bounds, size)?, SymmetricDistance))?;
    Ok(move |data: &Vec<f64>| made.invoke(data).expect("a result"))
}
/// Compute the variance of a known number of floats within bounds.
pub fn variance(bounds: (f64, f64), size: usize) -> Result<impl FnMut(&Vec<f64>) -> f64> {
    let made = ours(theirs::make_variance::<theirs::Pairwise<f64>>(
        bounded(bounds, size)?,
        SymmetricDistance,
        1,
    ))?;
    Ok(move |data: &Vec<f64>| made.invoke(data).expect("a result"))
}

macro_rules! scores {
    ($($name:ident $t:ty, $atoms:expr;)*) => {$(
        /// Compute the scores of candidates for a quantile.
        pub fn $name(candidates: Vec<$t>, alpha: f64) -> Result<impl FnMut(&Vec<$t>) -> Vec<u64>> {
            let domain: Vectors<$t> = VectorDomain::new($atoms);
            let made = theirs::make_quantile_score_candidates(
                domain, SymmetricDistance, candidates, alpha);
            let made = ours(made)?;
            Ok(move |data: &Vec<$t>| made.invoke(data).expect("a result"))
        }
    )*};
}
scores! {
    scores_f64 f64, AtomDomain::new_non_nan();
    scores_i64 i64, AtomDomain::default();
}

/// Count the rows of each category, and all other rows together.
pub fn count_by_categories<T: Hashable>(
    categories: Vec<T>,
) -> Result<impl FnMut(&Vec<T>) -> Vec<i64>> {
    let domain: Vectors<T> = VectorDomain::new(AtomDomain::default());
    let made = theirs::make_count_by_categories::<L1Distance<i64>, T, i64>(
        domain,
        SymmetricDistance,
        categories,
        true,
    );
    let made = ours(made)?;
    Ok(move |data: &Vec<T>| made.invoke(data).expect("a result"))
}
/// Count distinct integers.
pub fn count_distinct() -> Result<impl FnMut(&Vec<i64>) -> i64> {
    let domain: Vectors<i64> = VectorDomain::new(AtomDomain::default());
    let made = ours(theirs::make_count_distinct::<i64, i64>(domain, SymmetricDistance))?;
    Ok(move |data: &Vec<i64>| made.invoke(data).expect("a result"))
}
/// Build the tree of counts over leaves, and make the counts consistent.
pub fn consistent_tree(leaves: u32, branching: u32) -> Result<impl FnMut(&Vec<i64>) -> Vec<f64>> {
    let domain: Vectors<i64> = VectorDomain::new(AtomDomain::default());
    let tree = theirs::make_b_ary_tree(domain, L1Distance::<i64>::default(), leaves, branching);
    let tree = ours(tree)?;
    let consistent: Function<Vec<i64>, Vec<f64>> =
        ours(theirs::make_consistent_b_ary_tree(branching))?;
    Ok(move |data: &Vec<i64>| {
        let sums = tree.invoke(data).expect("a result");
        consistent.eval(&sums).expect("a result")
    })
}
