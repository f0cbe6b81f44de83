//! Exact continuous Gaussian noise, rounded to a lattice only after the addition.

use super::{
    exponential::LazyExponential,
    lattice::{lattice_point, round_to_lattice},
    lattice_sum::Sum,
    logarithm::neg_ln,
};
use dashu_int::{IBig, UBig};
use opendp_core::random::{NoEntropy, RandomSource};

/// Add exact Gaussian noise to a float and round the sum to a lattice.
///
/// The result is the float nearest to `m 2^k` with `m = floor(x / 2^k + 1/2 + (sigma / 2^k) N)`,
/// `N` a real variable of the standard normal law: the lattice point nearest to the real number
/// `x + sigma N`, ties upward.
///
/// `|N|` is a standard exponential variable `A` that is accepted with probability
/// `exp(-(A - 1)^2 / 2)`, for `e^-a e^(-(a - 1)^2 / 2) = e^(-1/2) e^(-a^2 / 2)` (Devroye 1986,
/// "Non-Uniform Random Variate Generation", IX.1). It is accepted if another exponential variable
/// `B` exceeds `(A - 1)^2 / 2`.
///
/// # Exactness
///
/// `A` and `B` are real numbers of which digits are drawn until their enclosures decide whether `B`
/// exceeds `(A - 1)^2 / 2`, and then until that of `A` decides the rounding (the method of Karney
/// 2016, "Sampling exactly from the normal distribution", arXiv:1303.6257). Every decision is thus
/// a function of the real numbers, so the result has the distribution of the formula above, with
/// `x` and `sigma` the rational numbers the floats stand for. The sum is rounded once, after the
/// addition: the release is a function of the ideal Gaussian mechanism's, for every lattice.
///
/// A sum beyond the finite floats is clamped to `±f64::MAX`; zero is always `+0`; `k` is clamped to
/// `[-1074, 1023]`. The value `x` must be finite. Sigma 0 adds nothing and draws nothing; a
/// negative one means its magnitude, an infinite one or NaN some number above `f64::MAX`.
///
/// Cost: about 60 ns and 3.6 words on average, for the arguments for which [`laplace`] is fast;
/// some microseconds otherwise.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
///
/// [`laplace`]: super::laplace()
#[inline]
pub fn gaussian<S: RandomSource>(
    x: f64,
    sigma: f64,
    k: i32,
    source: &mut S,
) -> Result<f64, NoEntropy> {
    if sigma == 0.0 {
        return Ok(round_to_lattice(x, k));
    }
    loop {
        let (a, b) = (source.word()?, source.word()?);
        let bounds = neg_ln(a, S::BITS);
        match accept(bounds, neg_ln(b, S::BITS)) {
            Some(false) => {}
            Some(true) => {
                let sum = Sum::new(x, sigma, k, source.word()? & 1 == 1);
                return match sum.fast(bounds) {
                    Some(m) => Ok(lattice_point(m, sum.k)),
                    None => sum.exact(LazyExponential::from_first(a, S::BITS), source),
                };
            }
            None => {
                let mut a = LazyExponential::from_first(a, S::BITS);
                let b = LazyExponential::from_first(b, S::BITS);
                if exact_accept(&mut a, b, source)? {
                    let sum = Sum::new(x, sigma, k, source.word()? & 1 == 1);
                    return sum.exact(a, source);
                }
            }
        }
    }
}

/// Decide whether `B` exceeds `(A - 1)^2 / 2`, if it is the same for all `A` and `B` in intervals.
///
/// # Bound
///
/// The ends of `A - 1`, their squares and the factors below round by `v = 2^-53` each, so a square
/// is wrong by at most `3.1v` of itself, and the factors `1 ± 8v` leave more than the one rounding
/// of their product. What underflows is wrong by less than the least normal float. An infinite end
/// of `A` leaves no upper bound, and one of `B` is above everything.
#[inline]
fn accept((near, far): (f64, f64), (low, high): (f64, f64)) -> Option<bool> {
    let (near, far) = (near - 1.0, far - 1.0);
    let (near_square, far_square) = (0.5 * (near * near), 0.5 * (far * far));
    let most = near_square.max(far_square) * (1.0 + SLACK) + f64::MIN_POSITIVE;
    if most <= low {
        return Some(true);
    }
    // The square has its minimum inside an interval around 1.
    let around = near < 0.0 && 0.0 < far;
    let least = near_square.min(far_square) * (1.0 - SLACK) - f64::MIN_POSITIVE;
    (!around && high <= least).then_some(false)
}

/// Eight units roundoff.
const SLACK: f64 = 4.0 * f64::EPSILON;

/// Decide whether `B` exceeds `(A - 1)^2 / 2` in integers, drawing as many digits as it takes.
///
/// Terminates with probability 1: both enclosures shrink to points, which are on the boundary with
/// probability 0.
#[cold]
#[inline(never)]
fn exact_accept<S: RandomSource>(
    a: &mut LazyExponential,
    mut b: LazyExponential,
    source: &mut S,
) -> Result<bool, NoEntropy> {
    loop {
        let precision = a.bits() + 8;
        let one = IBig::ONE << precision;
        let distance = |end: UBig| IBig::from(end) - &one;
        // In units of 2^(-2 precision), doubled: (A - 1)^2 and 2 B.
        let square = |x: &IBig| x * x;
        let double = |b: UBig| IBig::from(b) << (precision + 1);
        let ((near, far), (low, high)) = (a.enclose(precision), b.enclose(precision));
        let (near, far) = (distance(near), far.map(distance));
        let near_square = square(&near);
        if far.as_ref().is_some_and(|far| (&near_square).max(&square(far)) <= &double(low)) {
            return Ok(true);
        }
        let least = match &far {
            _ if near >= IBig::ZERO => near_square,
            Some(far) if *far <= IBig::ZERO => square(far),
            _ => IBig::ZERO,
        };
        if high.is_some_and(|high| double(high) <= least) {
            return Ok(false);
        }
        a.refine(source)?;
        b.refine(source)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::random::{Failing, Seeded, Tape};

    #[test]
    fn sigma_zero_rounds_and_draws_nothing() {
        let mut source = Failing::default();
        assert_eq!(gaussian(0.3, 0.0, -2, &mut source), Ok(0.25));
        assert_eq!(gaussian(0.375, 0.0, -2, &mut source), Ok(0.5));
        assert_eq!(source.attempts(), 0);
        assert_eq!(gaussian(0.3, 1.0, -2, &mut source), Err(NoEntropy));
    }

    #[test]
    fn a_tape_that_ends_is_reported_wherever_it_ends() {
        for (sigma, k) in [(1.0, 0), (1.0, -40), (1e-3, 5), (1.0, -1074), (1e300, 0)] {
            let mut whole = Seeded::<4>::new(5);
            gaussian(0.7, sigma, k, &mut whole).unwrap();
            let mut replay = Seeded::<4>::new(5);
            let words: Vec<u64> = (0..whole.used()).map(|_| replay.word().unwrap()).collect();
            for length in 0..words.len() {
                let mut tape = Tape::<4>::new(words[..length].to_vec());
                assert_eq!(gaussian(0.7, sigma, k, &mut tape), Err(NoEntropy));
            }
        }
    }

    #[test]
    fn float_and_integer_decisions_agree_on_the_same_digits() {
        let mut source = Seeded::<64>::new(4);
        let (mut decided, mut accepted) = (0, 0);
        for _ in 0..10_000 {
            let (a, b) = (source.word().unwrap(), source.word().unwrap());
            let mut lazy = LazyExponential::from_first(a, 64);
            let other = LazyExponential::from_first(b, 64);
            let exact = exact_accept(&mut lazy, other, &mut Tape::<64>::new(vec![0; 8]));
            if let Some(fast) = accept(neg_ln(a, 64), neg_ln(b, 64)) {
                assert_eq!(exact, Ok(fast));
                decided += 1;
                accepted += i32::from(fast);
            }
        }
        // The share of the accepted is sqrt(pi / 2e) = 0.7602.
        assert!(decided > 9990 && (7450..7750).contains(&accepted), "{decided} {accepted}");
    }

    #[test]
    fn wide_digits_are_decided_only_where_all_their_numbers_agree() {
        // Every pair of first nibbles against the corners of the cell that it stands for.
        let e = |u: f64| -u.ln();
        for (a, b) in (0..16_u64).flat_map(|a| (0..16_u64).map(move |b| (a, b))) {
            let Some(fast) = accept(neg_ln(a, 4), neg_ln(b, 4)) else { continue };
            for i in 0..=20 {
                for j in [0.001, 0.5, 0.999] {
                    let at = |n: u64, part: f64| e((n as f64 + part) / 16.0);
                    let (a, b) = (at(a, 0.0005 + f64::from(i) * 0.04995), at(b, j));
                    assert_eq!((a - 1.0).powi(2) / 2.0 < b, fast);
                }
            }
        }
    }

    #[test]
    fn an_interval_around_one_is_not_refused() {
        // (A - 1)^2 / 2 is up to 1/8 and down to 0.
        assert_eq!(accept((0.5, 1.5), (0.0, 0.1)), None);
        assert_eq!(accept((0.5, 1.5), (0.2, 0.3)), Some(true));
        assert_eq!(accept((1.5, 2.0), (0.0, 0.1)), Some(false));
        assert_eq!(accept((0.0, 0.5), (0.0, 0.1)), Some(false));
        // U below 1/2, so A is from ln 2 to infinity, and B is below 2^-63.
        let b = || LazyExponential::from_first(u64::MAX, 64);
        let undecided =
            exact_accept(&mut LazyExponential::from_first(0, 1), b(), &mut Failing::default());
        assert_eq!(undecided, Err(NoEntropy));
        // From 2 ln 2 = 1.386 on it is refused.
        let beyond =
            exact_accept(&mut LazyExponential::from_first(0, 2), b(), &mut Failing::default());
        assert_eq!(beyond, Ok(false));
    }

    #[test]
    fn the_tail_of_a_first_digit_zero_is_never_decided_too_early() {
        // A is above 44 and unbounded; only a B above 924 could be accepted.
        assert_eq!(accept(neg_ln(0, 64), neg_ln(1, 64)), Some(false));
        assert_eq!(accept(neg_ln(0, 64), neg_ln(0, 64)), None);
        assert_eq!(accept(neg_ln(0, 4), neg_ln(0, 4)), None);
        let mut a = LazyExponential::from_first(0, 64);
        let b = LazyExponential::from_first(0, 64);
        let mut tape = Tape::<64>::new(vec![1 << 63, 1 << 63]);
        assert_eq!(exact_accept(&mut a, b, &mut tape), Ok(false));
    }

    #[test]
    fn extreme_arguments_stay_finite() {
        let mut source = Seeded::<64>::new(6);
        for x in [0.0, 5e-324, -1e-300, 1.0, 1e300, -f64::MAX, f64::MAX] {
            for sigma in [5e-324, 1e-300, 1.0, 1e300, f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
                for k in [i32::MIN, -1074, -500, 0, 500, 1023, i32::MAX] {
                    let y = gaussian(x, sigma, k, &mut source).unwrap();
                    assert!(y.is_finite());
                    assert_eq!(round_to_lattice(y, k).to_bits(), y.to_bits(), "{x} {sigma} {k}");
                }
            }
        }
    }

    #[test]
    fn tiny_noise_around_a_half_step_moves_the_result_both_ways() {
        let mut source = Seeded::<64>::new(7);
        let mut up = 0;
        for _ in 0..1000 {
            let y = gaussian(0.5, 5e-324, 0, &mut source).unwrap();
            assert!(y == 0.0 || y == 1.0);
            up += i32::from(y == 1.0);
        }
        assert!((400..600).contains(&up), "{up}");
        // x + 1/2 is 1 - 2^-54, which no float holds; the nearest is 1.
        let x = 0.5_f64.next_down();
        assert!((0..100).all(|_| gaussian(x, 1e-100, 0, &mut source) == Ok(0.0)));
    }
}
