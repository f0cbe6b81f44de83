//! The work of the benchmarks, done by the crate `opendp` without OpenSSL. The crate is faster
//! without OpenSSL than with it.
//!
//! Each function builds the measurement or transformation and returns a closure that runs it.

use opendp::core::Measurement;
use opendp::domains::{AtomDomain, BitVector, BitVectorDomain, VectorDomain};
use opendp::error::Fallible;
use opendp::measurements as theirs;
use opendp::measures::{MaxDivergence, ZeroConcentratedDivergence};
use opendp::metrics::{
    AbsoluteDistance, DiscreteDistance, L1Distance, L2Distance, LInfDistance, SymmetricDistance,
};
use opendp_core::{Error, Result};

type Vectors<T> = VectorDomain<AtomDomain<T>>;

/// Convert an error of the crate `opendp`.
pub fn ours<T>(result: Fallible<T>) -> Result<T> {
    result.map_err(|error| Error::FailedFunction(format!("opendp: {error:?}")))
}

macro_rules! noise {
    ($($t:ty: $vector_laplace:ident $vector_gaussian:ident $laplace:ident $gaussian:ident
        $atoms:expr;)*) => {$(
        /// Add Laplace noise to a vector.
        pub fn $vector_laplace(scale: f64) -> Result<impl FnMut(&Vec<$t>) -> Vec<$t>> {
            let input = (VectorDomain::new($atoms), L1Distance::<$t>::default());
            let made: Measurement<_, _, MaxDivergence, _> =
                ours(theirs::make_laplace(input.0, input.1, scale, None))?;
            Ok(move |data: &Vec<$t>| made.invoke(data).expect("a release"))
        }
        /// Add Gaussian noise to a vector.
        pub fn $vector_gaussian(scale: f64) -> Result<impl FnMut(&Vec<$t>) -> Vec<$t>> {
            let input = (VectorDomain::new($atoms), L2Distance::<$t>::default());
            let made: Measurement<_, _, ZeroConcentratedDivergence, _> =
                ours(theirs::make_gaussian(input.0, input.1, scale, None))?;
            Ok(move |data: &Vec<$t>| made.invoke(data).expect("a release"))
        }
        /// Add Laplace noise to a number. Also return a closure that evaluates the map.
        pub fn $laplace(scale: f64) -> Result<(impl FnMut(&$t) -> $t, impl FnMut(&$t) -> f64)> {
            let input = ($atoms, AbsoluteDistance::<$t>::default());
            let made: Measurement<_, _, MaxDivergence, _> =
                ours(theirs::make_laplace(input.0, input.1, scale, None))?;
            let same = made.clone();
            Ok((
                move |data: &$t| made.invoke(data).expect("a release"),
                move |d_in: &$t| same.map(d_in).expect("a release"),
            ))
        }
        /// Add Gaussian noise to a number.
        pub fn $gaussian(scale: f64) -> Result<impl FnMut(&$t) -> $t> {
            let input = ($atoms, AbsoluteDistance::<$t>::default());
            let made: Measurement<_, _, ZeroConcentratedDivergence, _> =
                ours(theirs::make_gaussian(input.0, input.1, scale, None))?;
            Ok(move |data: &$t| made.invoke(data).expect("a release"))
        }
    )*};
}
noise! {
    i64: laplace_vector_i64 gaussian_vector_i64 laplace_i64 gaussian_i64
        AtomDomain::<i64>::default();
    f64: laplace_vector_f64 gaussian_vector_f64 laplace_f64 gaussian_f64
        AtomDomain::<f64>::new_non_nan();
}

/// Add geometric noise to an integer in constant time.
pub fn geometric(scale: f64, bounds: (i64, i64)) -> Result<impl FnMut(&i64) -> i64> {
    let input = (AtomDomain::<i64>::default(), AbsoluteDistance::<i64>::default());
    let made: Measurement<_, _, MaxDivergence, _> =
        ours(theirs::make_geometric(input.0, input.1, scale, Some(bounds)))?;
    Ok(move |data: &i64| made.invoke(data).expect("a release"))
}

macro_rules! selection {
    ($($t:ty: $top:ident $measure:expr, $atoms:expr;)*) => {$(
        /// Choose the best `k` of some scores.
        pub fn $top(k: usize, scale: f64) -> Result<impl FnMut(&Vec<$t>) -> Vec<usize>> {
            let input = (VectorDomain::new($atoms), LInfDistance::<$t>::default());
            let made = ours(theirs::make_noisy_top_k(input.0, input.1, $measure, k, scale, false))?;
            Ok(move |scores: &Vec<$t>| made.invoke(scores).expect("a release"))
        }
    )*};
}
selection! {
    f64: top_f64 MaxDivergence, AtomDomain::<f64>::new_non_nan();
    u64: top_u64 MaxDivergence, AtomDomain::<u64>::default();
    f64: gumbel_top_f64 ZeroConcentratedDivergence, AtomDomain::<f64>::new_non_nan();
    u64: gumbel_top_u64 ZeroConcentratedDivergence, AtomDomain::<u64>::default();
}

/// Choose a quantile of floats from candidates.
pub fn private_quantile(
    candidates: Vec<f64>,
    alpha: f64,
    scale: f64,
) -> Result<impl FnMut(&Vec<f64>) -> f64> {
    let domain: Vectors<f64> = VectorDomain::new(AtomDomain::new_non_nan());
    let made = ours(theirs::make_private_quantile(
        domain,
        SymmetricDistance,
        MaxDivergence,
        candidates,
        alpha,
        scale,
    ))?;
    Ok(move |data: &Vec<f64>| made.invoke(data).expect("a release"))
}

/// Run randomized response on a bit.
pub fn response(prob: f64) -> Result<impl FnMut(&bool) -> bool> {
    let made = ours(theirs::make_randomized_response_bool(prob, false))?;
    Ok(move |truth: &bool| made.invoke(truth).expect("a release"))
}
/// Run randomized response on a bit vector with every eighth bit set.
pub fn response_bits(bits: usize, f: f64) -> Result<impl FnMut() -> usize> {
    let truth: BitVector = (0..bits).map(|bit| bit % 8 == 0).collect();
    let domain = BitVectorDomain::new().with_max_weight(bits);
    let made = ours(theirs::make_randomized_response_bitvec(domain, DiscreteDistance, f, false))?;
    Ok(move || made.invoke(&truth).expect("a release").count_ones())
}
