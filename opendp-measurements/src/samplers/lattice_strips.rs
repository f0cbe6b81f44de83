//! The sum of a float and signed noise, rounded to a lattice after the addition. The noise is drawn
//! from [`Strips`].

use super::{
    exponential::LazyReal,
    lattice_sum::{Landing, Lattice, Sum},
    strips::{LazyPoint, Pick, Strips, accept},
};
use opendp_core::random::{NoEntropy, RandomSource};

/// Draw the lattice point nearest to `x ± scale X`. A tie is rounded up. The density of `X` is
/// proportional to the function `f` of [`Strips`].
///
/// First, draw the sign, the point `X` of the strips, and the uniform variable `V` of the
/// rejection. Then accept or reject `X`. In most cases, one comparison of integers decides whether
/// `X` is accepted. In other cases, floats decide. If floats cannot decide, big integers decide.
/// For an accepted `X`, compute the lattice point, in fixed point or in big integers. For the same
/// digits, all these methods give the same result.
#[inline]
pub(super) fn on_lattice<P: Landing, S: RandomSource>(
    strips: &Strips,
    lattice: &Lattice,
    x: f64,
    source: &mut S,
) -> Result<P, NoEntropy> {
    loop {
        let pick = strips.pick(source)?;
        let digit = source.word()?;
        let point = if S::BITS == 64 { pick.point(digit) } else { None };
        let accepted = match point {
            _ if pick.surely => Some(true),
            Some(n) => strips.judge(&pick, strips.bounds(n)),
            None => None,
        };
        if accepted == Some(false) {
            continue;
        }
        let sum = lattice.sum(x, pick.negative);
        if let (Some(true), Some(n)) = (accepted, point)
            && let Some(sum) = sum.fast_fixed(n)
        {
            return Ok(sum);
        }
        if let Some(sum) = exactly(strips, &pick, digit, accepted == Some(true), &sum, source)? {
            return Ok(sum);
        }
    }
}

/// Find the lattice point in integers. If `accepted` is true, the drawn point of the strips is
/// already accepted. Otherwise, first decide in integers whether to accept this point. Return
/// `None` if this point is rejected.
#[cold]
#[inline(never)]
fn exactly<P: Landing, S: RandomSource>(
    strips: &Strips,
    pick: &Pick,
    digit: u64,
    accepted: bool,
    sum: &Sum<'_>,
    source: &mut S,
) -> Result<Option<P>, NoEntropy> {
    let mut point = strips.strip(pick, source)?;
    point.begin(digit, S::BITS);
    let exponent = |point: &mut LazyPoint, precision: usize, source: &mut S| {
        point.refine_to(precision, source)?;
        Ok(strips.exponent(point, precision))
    };
    if accepted || accept(&mut point, pick.v(), exponent, source)? {
        return sum.exact(point, source).map(Some);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::strips::{EXPONENTIAL, HALF_NORMAL};
    use super::*;
    use opendp_core::random::{Seeded, Tape};
    use proptest::prelude::*;

    #[test]
    fn the_fixed_and_the_exact_path_agree_on_the_same_digits() {
        for strips in [&*EXPONENTIAL, &*HALF_NORMAL] {
            let mut source = Seeded::<64>::new(4);
            let mut decided = 0;
            for (x, sigma, k) in [
                (0.1, 1.0, -20),
                (0.1, 1.0, -40),
                (-1234.567, 3.3, -10),
                (1e15, 1e3, -9),
                (-1e-200, 2.0, 0),
                (3e-280, 1e-280, -945),
                (-7.25, 1e-5, 2),
                (1e300, 1e300, 960),
                (-0.3, 5e-324, 0),
                // In these six cases, `x / 2^k` is an integer of about 2^62 or more in magnitude.
                (2f64.powi(22), 1.0, -40),
                (-1e12, 1.0, -40),
                (f64::MAX, 1e300, 945),
                (-f64::MAX, 2.0, -40),
                (2f64.powi(62) - 2f64.powi(9), 64.0, -1),
                (-2f64.powi(63), 1e4, 0),
                // The quotient of the noise and 2^k usually exceeds 2^53.
                (0.1, 1.0, -56),
                (-3.7, 1.0, -55),
                // `x` is the midpoint of two lattice points, or a float next to such a midpoint.
                (0.5, 1e-12, 0),
                (0.5_f64.next_down(), 1e-12, 0),
                (-0.5_f64.next_up(), 1e-12, 0),
                (2f64.powi(52) - 0.5, 3.0, 0),
                (2f64.powi(51) + 0.5, 3.0, 0),
            ] {
                for _ in 0..500 {
                    let pick = strips.pick(&mut source).unwrap();
                    let digit = source.word().unwrap();
                    let lattice = Lattice::new(sigma, k);
                    let sum = lattice.sum(x, pick.negative);
                    let mut point = strips.strip(&pick, &mut source).unwrap();
                    point.begin(digit, 64);
                    let exact: f64 = sum.exact(point, &mut Tape::<64>::new(vec![0; 9])).unwrap();
                    let fast: Option<f64> = pick.point(digit).and_then(|n| sum.fast_fixed(n));
                    if let Some(fast) = fast {
                        assert_eq!(fast.to_bits(), exact.to_bits(), "{x} {sigma} {k}");
                        decided += 1;
                    }
                }
            }
            assert!(decided > 9_900, "{decided}");
        }
    }

    proptest! {
        #[test]
        fn the_fixed_path_agrees_for_numbers_of_all_magnitudes(
            seed: u64,
            (x, magnitude) in (-2.0..2.0_f64, -70..70),
            (scale, size) in (1.0..2.0_f64, -70..55),
            k in -850..850,
        ) {
            let (x, scale) = (x * 2f64.powi(k + magnitude), scale * 2f64.powi(k + size));
            let (mut source, lattice) = (Seeded::<64>::new(seed), Lattice::new(scale, k));
            let pick = EXPONENTIAL.pick(&mut source).unwrap();
            let digit = source.word().unwrap();
            let sum = lattice.sum(x, pick.negative);
            let mut point = EXPONENTIAL.strip(&pick, &mut source).unwrap();
            point.begin(digit, 64);
            let exact: f64 = sum.exact(point, &mut Tape::<64>::new(vec![0; 9])).unwrap();
            if let Some(fast) = pick.point(digit).and_then(|n| sum.fast_fixed::<f64>(n)) {
                prop_assert_eq!(fast.to_bits(), exact.to_bits());
            }
        }
    }
}
