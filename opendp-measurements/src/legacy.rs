//! Constructors with older names. Each of these constructors calls the constructor in the column
//! `target` of the following table. The column `fixed` lists the arguments that have a fixed value
//! in this call:
//!
//! | older name | target | fixed |
//! |---|---|---|
//! | `make_report_noisy_max_gumbel` | `make_noisy_max` | the measure, [`MaxDivergence`] |

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, LInfDistance, MaxDivergence, Measurement, MetricOn, RangeDistance, Result,
    Space, TheMeasure, VectorDomain,
};

use crate::samplers::{Optimize, Score};
use crate::selection::gumbel_max::ScoreMetric;
use crate::selection::{AnyScoreMetric, check_best};
use crate::{Scale, make_noisy_max};

/// Make a measurement that chooses the index of a good score, as [`make_noisy_max`] does.
///
/// The measure is the max-divergence. Despite the name, the noise is exponential. At the same loss,
/// the mean error with exponential noise is at most the mean error with Gumbel noise (McKenna,
/// Sheldon 2020). [`make_gumbel_max`](crate::make_gumbel_max) adds Gumbel noise.
///
/// # Arguments
/// * `input` - vectors of scores under the L-infinity distance or the range distance
/// * `scale` - the scale of the noise, in the unit of the scores. At scale 0, no noise is added
/// * `optimize` - "max" if a large score is good, "min" if a small score is good
///
/// # Map
/// The map is the map of [`make_noisy_max`]: `d_out = range / scale`, rounded up once. `range` is
/// `d_in` under the range distance and under a monotonic L-infinity distance. Otherwise `range` is
/// `d_in + d_in`, rounded up.
///
/// # Proof
/// The proof of [`make_noisy_max`] applies. For "min", the argument `negate` of [`make_noisy_max`]
/// is true.
///
/// # Errors
/// The errors of [`make_noisy_max`], with one difference. If `optimize` is "max", and the space
/// states that the lowest score is the best, the error `Argument` names the argument `optimize`.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Optimize, Scale, make_report_noisy_max_gumbel};
/// let scores = VectorDomain::new(AtomDomain::<i32>::default());
/// let input = Space::new(scores, LInfDistance::<i32>::new(false))?;
/// let least = make_report_noisy_max_gumbel(input, Scale::new(2.0)?, Optimize::Min)?;
/// assert_eq!(least.map(&1)?, 1.0);
/// assert_eq!(least.invoke(&vec![0, 1000, -1000])?, 2); // fails with probability exp(-500)
/// # Ok::<(), Error>(())
/// ```
pub fn make_report_noisy_max_gumbel<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    scale: Scale,
    optimize: Optimize,
) -> Result<Measurement<VectorDomain<AtomDomain<T>>, M, MaxDivergence, usize>>
where
    T: Atom + Number + Score,
    M: MetricOn<VectorDomain<AtomDomain<T>>> + ScoreMetric,
{
    let input = check_best(input, optimize, "optimize", "\"min\"")?;
    make_noisy_max(input, TheMeasure(MaxDivergence), scale, optimize == Optimize::Min)
}

macro_rules! register_at {
    ($($t:ty)+) => {$(
        register! {
            "legacy.rs":
                make_report_noisy_max_gumbel(input, scale, optimize = "max")
                for T in [$t], M in [LInfDistance<$t>, RangeDistance<$t>] as AnyScoreMetric<true>;
        }
    )+};
}
opendp_core::migrate! {
    make_report_noisy_max_gumbel in 1: Deprecated { advice: "use `make_noisy_max`" };
}
register_at!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefers_what_it_is_told_to_prefer() {
        for (scale, optimize, expected) in [
            (0.0, Optimize::Max, 1),
            (0.0, Optimize::Min, 2),
            (1.0, Optimize::Max, 1),
            (1.0, Optimize::Min, 2),
        ] {
            let domain = VectorDomain::new(AtomDomain::<f64>::non_nan());
            let input = Space::new(domain, RangeDistance::<f64>::new()).unwrap();
            let scale = Scale::new(scale).unwrap();
            let choice = make_report_noisy_max_gumbel(input, scale, optimize).unwrap();
            assert_eq!(choice.invoke(&vec![0.0, 1e3, -1e3]), Ok(expected), "{optimize:?}");
        }
    }
    #[test]
    fn has_the_noise_of_permute_and_flip() {
        // The difference of the two scores is equal to the scale. The worse score is chosen with
        // probability 0.18394 by this constructor, and with probability 0.26894 with Gumbel noise.
        let domain = VectorDomain::new(AtomDomain::<u64>::default());
        let input = Space::new(domain, LInfDistance::<u64>::new(true)).unwrap();
        let scale = Scale::new(2.0).unwrap();
        let least = make_report_noisy_max_gumbel(input, scale, Optimize::Min).unwrap();
        let worse = (0..100_000).filter(|_| least.invoke(&vec![0, 2]) == Ok(1)).count();
        // The tolerance 980 is eight standard deviations of the count. So the test fails by chance
        // with a probability of about 1e-15.
        assert!(worse.abs_diff(18_394) < 980, "{worse}");
    }
}
