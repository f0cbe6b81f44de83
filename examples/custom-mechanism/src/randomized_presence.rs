//! Randomized response about a data set. This file defines a mechanism for a column of a table.

use opendp_core::random::{NoEntropy, RandomSource, with_secure};
use opendp_core::{
    Atom, AtomDomain, Function, MaxDivergence, Measurement, PrivacyMap, Result, Space,
    SymmetricDistance, VectorDomain, register,
};
use opendp_measurements::samplers::bernoulli;

use crate::FlipProbability;
use crate::randomized_graph::loss;

/// Release whether a data set has rows. The answer is wrong with probability `flip`.
///
/// # Arguments
/// * `flip` - the probability that the answer is wrong
///
/// # Precondition
/// `flip` is above 0 and at most one half. If `flip` is one half, the release is independent of the
/// data.
///
/// # Postcondition
/// The release is `true` or `false`. For any two members at distance at most `d_in`, the
/// max-divergence of the releases is at most `map(d_in)`.
///
/// # Map
/// `d_out = ln((1 - flip) / flip)`, and 0 if `d_in` is 0. Each operation rounds up.
///
/// # Proof
/// If `d_in` is 0, the two data sets have the same rows, so the releases have the same
/// distribution. Otherwise, let `p = flip`. For each data set, one release has probability `p`, and
/// the other release has probability `1 - p`. This probability is exact, because `bernoulli` uses
/// the exact value of the float. Because `p <= 1 - p`, the ratio of the probabilities of a release
/// for two data sets is at most `(1 - p) / p` (Warner 1965). This bound is the exponential of
/// `d_out`. The map computes upper bounds on `1 - p`, the quotient and the logarithm. Each step is
/// a non-decreasing function of the result of the previous step.
///
/// # Errors
/// The map gives `Overflow` when `(1 - flip) / flip` exceeds all floats.
///
/// ```
/// # use custom_mechanism::{FlipProbability, make_randomized_presence};
/// # use opendp_core::{AtomDomain, Space, SymmetricDistance, VectorDomain};
/// let rows = Space::new(VectorDomain::new(AtomDomain::<i64>::default()), SymmetricDistance)?;
/// let release = make_randomized_presence(rows, FlipProbability::new(0.25)?)?;
/// assert!((release.map(&9)? - 1.098_612_288_668).abs() < 1e-12);
/// let answer: bool = release.invoke(&vec![31, 58])?;
/// # let _ = answer;
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_randomized_presence<T: Atom>(
    input: Space<VectorDomain<AtomDomain<T>>, SymmetricDistance>,
    flip: FlipProbability,
) -> Result<Measurement<VectorDomain<AtomDomain<T>>, SymmetricDistance, MaxDivergence, bool>> {
    let function = Function::map(move |rows: &Vec<T>| {
        let present = !rows.is_empty();
        Ok(with_secure(|source| randomize(present, flip.value(), source))?)
    });
    let map = PrivacyMap::new(move |d_in: &u32| loss((*d_in).min(1), flip.value()));
    Ok(Measurement::new(input, MaxDivergence, function, map))
}
register! {
    "randomized_presence.rs":
        make_randomized_presence as ["acme::make_randomized_presence"](input, flip)
        for T in [bool, i64, f64, String];
}

/// Flip an answer with probability `flip`.
fn randomize<S: RandomSource>(present: bool, flip: f64, source: &mut S) -> Result<bool, NoEntropy> {
    Ok(present != bernoulli(flip, source)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::laws::{Chances, Claim};
    use opendp_core::random::Tape;

    #[test]
    fn no_answer_is_likelier_than_the_map_says() {
        let chances = |present| {
            Chances::of(3, |coins: &mut Tape<1>| randomize(present, 0.125, coins)).unwrap()
        };
        let (present, absent) = (chances(true), chances(false));
        assert_eq!((present.count(&true), present.count(&false)), (7, 1));
        let stated = loss(1, 0.125).unwrap();
        assert!(Claim::epsilon(stated).exactly(&present, &absent).is_ok());
        // The control: a map that claims a little less is refused.
        assert!(Claim::epsilon(stated * 0.999_999).exactly(&present, &absent).is_err());
    }
    #[test]
    fn the_map_is_the_same_at_each_positive_distance() {
        let rows = VectorDomain::new(AtomDomain::<bool>::default());
        let input = Space::new(rows, SymmetricDistance).unwrap();
        let flip = FlipProbability::new(0.25).unwrap();
        let release = make_randomized_presence(input, flip).unwrap();
        assert_eq!(release.map(&0).unwrap(), 0.0);
        assert_eq!(release.map(&1), release.map(&u32::MAX));
        assert!(1.09 < release.map(&1).unwrap());
    }
}
