//! A measurement with canonical noise. The guarantee of the noise is tight at a given epsilon and
//! delta.

use opendp_core::arith::shown;
use opendp_core::random::with_secure;
use opendp_core::{
    AbsoluteDistance, Approximate, AtomDomain, Error, Function, MaxDivergence, Measurement,
    PrivacyMap, Result, Space,
};

use crate::noise::numbers::finite;
use crate::samplers::CanonicalNoise;

type Release = Measurement<AtomDomain<f64>, AbsoluteDistance<f64>, Approximate<MaxDivergence>, f64>;

/// Make a measurement that adds canonical noise for a given epsilon and delta to a number.
///
/// The noise is piecewise uniform. The noise is bounded if delta is above 0. For binary data, some
/// hypothesis tests with this noise reach the largest power that the guarantee permits (Awan,
/// Vadhan 2023). At delta 0, the noise is the sum of a discrete Laplace number and a uniform
/// number.
///
/// # Arguments
/// * `input` - a number under the absolute distance
/// * `d_in` - the largest distance that the map accepts
/// * `d_out` - the epsilon and delta that the noise guarantees up to distance `d_in`
///
/// # Precondition
/// All members of the domain are allowed. An infinity in the data counts as the largest or lowest
/// finite number. `d_in` is finite and not negative. Epsilon is finite and above 0. Delta is from 0
/// to 1. Each float is treated as its exact rational value.
///
/// # Postcondition
/// Let `x` and `y` be two members at distance at most `d`. Let `M(x)` and `M(y)` be their releases,
/// and let `(epsilon, delta) = map(d)`. Then each event `S` satisfies
/// `P[M(x) in S] <= e^epsilon P[M(y) in S] + delta`. A release is a finite float.
///
/// # Map
/// The map returns `(0, 0)` for distance 0, and `d_out` for larger distances up to `d_in`. For
/// distances above `d_in` the map fails.
///
/// # Proof
/// The release is the float nearest to the exact sum `x + d_in N`, where `N` is [`CanonicalNoise`].
/// So the release is a function of this sum alone. The loss of the release is at most the loss of
/// the sum (Dwork, Roth 2014, Proposition 2.1). If infinities are replaced by finite numbers, the
/// distance between two members does not increase. So after this replacement, two members differ by
/// `s d_in` with `0 <= s <= 1`. After a division by `d_in`, it is enough to compare `N` and
/// `N + s`. `N` is symmetric, so the bound is the same if the two members are exchanged.
///
/// Let `g` be the density of `N`. As in [`CanonicalNoise`], let `b = e^-epsilon`,
/// `c = (1 - delta) b / (1 + b)`, `D = 1 - 2c` and `t = k - 1/2 + theta`, with an integer `k` and a
/// `theta` from 0 to 1. At delta 0, `t` is infinite. Where `|y| < t`, `g(y)` is `D b^m`. Here `m`
/// is the integer nearest to `|y|`. Elsewhere, `g` is 0. Suppose that `|y| < t` and `|y - s| < t`.
/// Then `|y|` and `|y - s|` round to integers that differ by at most 1, so
/// `g(y) <= e^epsilon g(y - s)`. Otherwise, `g(y) > 0` only if `|y| < t` and `y - s <= -t`. These
/// `y` satisfy `-t < y <= s - t`. So for each event `S`,
/// `P[N in S] - e^epsilon P[N + s in S] <= P[N <= s - t] <= P[N <= 1 - t]`.
///
/// *The outermost interval.* This paragraph shows that the outermost interval of length 1, from
/// `-t` to `1 - t`, has probability delta. Here, step `j` is the interval of the numbers that round
/// to `-j`. On the part of step `j` where `|y| < t`, the density is the constant `D b^j`. The
/// outermost interval covers the fraction `theta` of step `k`, and the fraction `1 - theta` of step
/// `k - 1`. Let `c_0 = c` and `c_(j+1) = b (c_j - delta)`, as in [`CanonicalNoise`]. For `j` from 1
/// to `k - 1`, step `j` has probability `D b^j = c_(j-1) - c_j`. For `j = 1`, this formula holds
/// because `c - b (c - delta) = D b`. For larger `j`, the formula follows by induction. By the
/// definition of `theta`, `theta D b^k = c_(k-1)`. The outermost interval has the probability
/// `(1 - theta) D b^(k-1) + theta D b^k`. If `k > 1`, this sum equals
/// `D b^(k-1) - c_(k-1) / b + c_(k-1)`. Now
/// `c_(k-1) / b = c_(k-2) - delta = D b^(k-1) + c_(k-1) - delta`. So the sum is delta. If `k = 1`,
/// the sum equals `D - c / b + c = (1 - c) - c / b`. Because `c (1 + 1 / b) = 1 - delta`, this sum
/// is also delta. If `t` is infinite, then `P[N <= 1 - t]` in the first part of the proof is 0, and
/// delta is 0.
///
/// *`d_in` 0.* The release is a function of the data, so equal data give equal releases.
///
/// *Rounding.* The map returns the parameters of the noise without rounding. The sampler is exact:
/// it rounds only the sum, to the nearest float.
///
/// # Errors
/// * `MakeMeasurement` when an argument is out of range
/// * from the map: `FailedMap` when a distance exceeds `d_in`, or is negative or NaN
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::make_canonical_noise;
/// let counts = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// let release = make_canonical_noise(counts, 1.0, (0.1, 1e-7))?;
/// assert_eq!(release.map(&0.5)?, (0.1, 1e-7));
/// assert!(release.map(&1.5).is_err());
/// assert!((release.invoke(&100.0)? - 100.0).abs() < 200.0);
/// # Ok::<(), Error>(())
/// ```
pub fn make_canonical_noise(
    input: Space<AtomDomain<f64>, AbsoluteDistance<f64>>,
    d_in: f64,
    d_out: (f64, f64),
) -> Result<Release> {
    if !(0.0 <= d_in && d_in.is_finite()) {
        return Err(Error::MakeMeasurement(format!(
            "d_in: expected a finite number of at least 0, found {}",
            shown(d_in)
        )));
    }
    let (epsilon, delta) = d_out;
    let Some(noise) = CanonicalNoise::new(epsilon, delta) else {
        return Err(Error::MakeMeasurement(format!(
            "d_out: expected a finite epsilon above 0 and a delta from 0 to 1, found ({}, {})",
            shown(epsilon),
            shown(delta)
        )));
    };
    let function = Function::map(move |x: &f64| {
        let x = finite(*x);
        if d_in == 0.0 {
            // The numbers -0.0 and 0.0 are equal, so their releases must be equal too.
            return Ok(x + 0.0);
        }
        Ok(with_secure(|source| noise.add(x, d_in, source))?)
    });
    let map = PrivacyMap::new(move |d: &f64| {
        if *d == 0.0 {
            Ok((0.0, 0.0))
        } else if *d <= d_in {
            Ok(d_out)
        } else {
            Err(Error::FailedMap(format!(
                "d_in: expected at most {}, the largest distance of this noise, found {}",
                shown(d_in),
                shown(*d)
            )))
        }
    });
    Ok(Measurement::new(input, Approximate(MaxDivergence), function, map))
}
register! {
    "canonical_noise.rs": make_canonical_noise(input, d_in, d_out);
}

#[cfg(test)]
mod tests {

    use super::*;

    fn space() -> Space<AtomDomain<f64>, AbsoluteDistance<f64>> {
        Space::new(AtomDomain::non_nan(), AbsoluteDistance::new()).unwrap()
    }

    #[test]
    fn spends_what_it_was_made_for_and_nothing_at_distance_zero() {
        let release = make_canonical_noise(space(), 1.0, (0.1, 1e-7)).unwrap();
        assert_eq!(release.map(&0.0), Ok((0.0, 0.0)));
        assert_eq!([0.5, 1.0].map(|d| release.map(&d)), [Ok((0.1, 1e-7)), Ok((0.1, 1e-7))]);
        assert_eq!(release.map(&1.5).unwrap_err().kind(), "FailedMap");
        assert_eq!(release.map(&1.0_f64.next_up()).unwrap_err().kind(), "FailedMap");
        assert!(release.map(&f64::NAN).is_err() && release.map(&-1.0).is_err());
    }
    #[test]
    fn a_distance_of_zero_adds_nothing() {
        let release = make_canonical_noise(space(), 0.0, (0.1, 1e-7)).unwrap();
        assert_eq!(release.invoke(&3.0), Ok(3.0));
        assert!(release.invoke(&-0.0).unwrap().is_sign_positive());
        assert_eq!(release.invoke(&f64::NEG_INFINITY), Ok(f64::MIN));
        assert_eq!(release.map(&0.0), Ok((0.0, 0.0)));
        assert_eq!(release.map(&1e-300).unwrap_err().kind(), "FailedMap");
    }
    #[test]
    fn delta_zero_returns_and_data_out_of_bounds_stay_finite() {
        let release = make_canonical_noise(space(), 2.0, (1.0, 0.0)).unwrap();
        for x in [0.0, -7.5, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert!(release.invoke(&x).unwrap().is_finite());
        }
    }
    #[test]
    fn releases_at_the_largest_distance_obey_the_guarantee_and_no_smaller_one() {
        // The proof of `make_canonical_noise` bounds the delta of each event by `P[N <= s - t]`.
        // Here the noise `N` is between `-t` and `t`, and the two data differ by `s d_in`. The
        // event that the noise is at most `s - t` reaches this bound. So it is enough to test the
        // events that a release is below a given number.
        let (epsilon, delta) = (0.7_f64, 0.05);
        let release = make_canonical_noise(space(), 3.0, (epsilon, delta)).unwrap();
        // With this number of draws, the expected excess is above 20 in each of the two controls at
        // the end of this test.
        let draws = 200_000;
        let drawn =
            |x: f64| -> Vec<f64> { (0..draws).map(|_| release.invoke(&x).unwrap()).collect() };
        let (first, second) = (drawn(10.0), drawn(13.0));
        let excess = |epsilon: f64, delta: f64| {
            let excess_at = |ends: f64| {
                let share = |all: &[f64]| {
                    all.iter().filter(|y| **y < ends).count() as f64 / f64::from(draws)
                };
                let (p, q) = (share(&first), share(&second));
                let variance = p * (1.0 - p) + (2.0 * epsilon).exp() * q * (1.0 - q) + 1e-4;
                (p - epsilon.exp() * q - delta) / (variance / f64::from(draws)).sqrt()
            };
            (-40..60).map(|end| excess_at(f64::from(end))).fold(f64::NEG_INFINITY, f64::max)
        };
        // If the guarantee is true, the excess of any one of the 100 events exceeds 8 with a
        // probability below 1e-14.
        assert!(excess(epsilon, delta) < 8.0, "{}", excess(epsilon, delta));
        assert!(excess(epsilon, 0.7 * delta) > 8.0, "a smaller delta goes unnoticed");
        assert!(excess(0.85 * epsilon, delta) > 8.0, "a smaller epsilon goes unnoticed");
    }
    #[test]
    fn refuses_arguments_out_of_range() {
        let kind = |d_in, d_out| make_canonical_noise(space(), d_in, d_out).map_err(|e| e.kind());
        for (d_in, d_out) in [
            (-1.0, (1.0, 0.0)),
            (f64::INFINITY, (1.0, 0.0)),
            (f64::NAN, (1.0, 0.0)),
            (1.0, (0.0, 0.5)),
            (1.0, (-1.0, 0.5)),
            (1.0, (f64::INFINITY, 0.5)),
            (1.0, (f64::NAN, 0.5)),
            (1.0, (1.0, -1e-9)),
            (1.0, (1.0, 1.1)),
            (1.0, (1.0, f64::NAN)),
        ] {
            assert_eq!(kind(d_in, d_out).unwrap_err(), "MakeMeasurement", "{d_in} {d_out:?}");
        }
        // The epsilon 1e-17 is accepted. The ratio `e^-epsilon` is almost 1, but the code does not
        // round this ratio to 1.
        assert!(kind(1.0, (1e-17, 0.01)).is_ok() && kind(1.0, (800.0, 1.0)).is_ok());
    }
}
