//! The checks that Laplace and Gaussian noise share. Each check runs for both distributions.

use num_traits::AsPrimitive;
use opendp_core::arith::Number;
use opendp_core::random::{Failing, NoEntropy, RandomSource, Seeded};
use opendp_core::{Atom, Distance, IBig, Metric};

use super::*;
use crate::samplers::tests::{check_both, chi_square::chi_square};
use crate::samplers::{add_noise, gaussian, laplace, power_of_two};

type OfOne<L, T> = Measurement<AtomDomain<T>, AbsoluteDistance<f64>, <L as Law>::Measure, T>;
type OfMany<L, T> =
    Measurement<VectorDomain<AtomDomain<T>>, <L as Law>::Norm, <L as Law>::Measure, Vec<T>>;

pub(super) fn atoms<T: Atom, Q: Distance + Number>() -> Space<AtomDomain<T>, AbsoluteDistance<Q>> {
    Space::new(AtomDomain::non_nan(), AbsoluteDistance::new()).unwrap()
}
pub(super) fn vectors<T: Atom, M>() -> Space<VectorDomain<AtomDomain<T>>, M>
where
    M: MetricOn<VectorDomain<AtomDomain<T>>> + Default,
{
    Space::new(VectorDomain::new(AtomDomain::non_nan()), M::default()).unwrap()
}
pub(super) fn scale(scale: f64) -> Scale {
    Scale::new(scale).unwrap()
}

/// A distribution of noise, with its constructor and its formulas.
trait Law: BigNoiseDistribution {
    /// The metric on vectors.
    type Norm: Metric<Distance = f64>;
    type Measure: Measure<Distance = f64>;
    /// The loss at the distance 1 and the scale 1.
    const LOSS: f64;
    /// The accuracy of noise of scale 2 on integers, at `alpha = 0.05`.
    const ACCURACY: f64;
    /// At scale 3, noise on an integer has at least this magnitude with a negligible probability.
    const FAR: i64;
    fn atom<T: NoiseNumber<Self>>(scale: f64, k: Option<i32>) -> Result<OfOne<Self, T>>
    where
        Self: Sized;
    fn vector<T: NoiseNumber<Self>>(
        size: Option<usize>,
        scale: f64,
        k: Option<i32>,
    ) -> Result<OfMany<Self, T>>
    where
        Self: Sized;
    /// Compute a number that is proportional to the probability of the noise `z` on integers.
    fn weight(z: f64, scale: f64) -> f64;
    /// Draw `x` plus noise of the scale 2, rounded to a multiple of `2^-20`.
    fn rounded(x: f64, source: &mut impl RandomSource) -> Result<f64, NoEntropy>;
}
macro_rules! laws {
    ($($law:ident, $make:ident, $norm:ident, $measure:ident,
        $loss:literal, $accuracy:literal, $far:literal, $sampler:ident: |$z:ident, $scale:ident| $weight:expr;)+) => {$(
        impl Law for $law {
            type Norm = $norm<f64>;
            type Measure = $measure;
            const LOSS: f64 = $loss;
            const ACCURACY: f64 = $accuracy;
            const FAR: i64 = $far;
            fn atom<T: NoiseNumber<Self>>(scale: f64, k: Option<i32>) -> Result<OfOne<Self, T>> {
                $make(atoms(), Scale::new(scale)?, k)
            }
            fn vector<T: NoiseNumber<Self>>(
                size: Option<usize>,
                scale: f64,
                k: Option<i32>,
            ) -> Result<OfMany<Self, T>> {
                let domain = VectorDomain::new(AtomDomain::non_nan());
                let domain = size.map_or(domain.clone(), |size| domain.with_size(size));
                $make(Space::new(domain, $norm::new())?, Scale::new(scale)?, k)
            }
            fn weight($z: f64, $scale: f64) -> f64 {
                $weight
            }
            fn rounded(x: f64, source: &mut impl RandomSource) -> Result<f64, NoEntropy> {
                $sampler(x, 2.0, -20, source)
            }
        }
    )+};
}
laws! {
    Laplace, make_laplace, L1Distance, MaxDivergence, 1.0, 6.0, 300,
        laplace: |z, scale| (-z.abs() / scale).exp();
    Gaussian, make_gaussian, L2Distance, ZeroConcentratedDivergence, 0.5, 4.0, 60,
        gaussian: |z, scale| (-z.powi(2) / (2.0 * scale * scale)).exp();
}
check_both! {
    the_lattice_and_the_length_cost_nothing
    refuses_what_is_not_a_lattice
    every_release_of_a_float_lies_on_the_same_lattice
    the_lattice_of_a_release_is_used_to_its_last_bit
    noise_saturates_at_the_ends_of_every_type
    infinities_are_taken_for_the_ends_and_nan_for_zero
    scale_zero_draws_nothing_and_still_rounds
    each_number_gets_noise_of_its_own
    says_how_accurate_each_number_is
    few_errors_exceed_the_accuracy_and_not_too_few
    integers_of_any_length_never_saturate
    prepared_noise_is_that_of_the_scale
    releases_that_saturate_have_the_law_of_the_clamped_sum
}

fn the_lattice_and_the_length_cost_nothing<L: Law>() {
    for k in [None, Some(0), Some(-10), Some(1023), Some(-1074)] {
        let made = L::atom::<f64>(1.0, k).unwrap();
        assert_eq!((made.map(&1.0).unwrap(), made.map(&0.0).unwrap()), (L::LOSS, 0.0));
        for size in [None, Some(4)] {
            assert_eq!(L::vector::<f64>(size, 1.0, k).unwrap().map(&1.0).unwrap(), L::LOSS);
        }
    }
}
fn refuses_what_is_not_a_lattice<L: Law>() {
    for k in [1, -1, i32::MIN, i32::MAX] {
        let error = L::vector::<u8>(None, 1.0, Some(k)).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        assert!(error.to_string().contains("k: expected null or 0"), "{error}");
    }
    for k in [-1075, 1024, i32::MIN, i32::MAX] {
        let error = L::atom::<f64>(1.0, Some(k)).unwrap_err();
        assert_eq!(error.kind(), "FailedFunction");
    }
    for k in [-150, 128] {
        let error = L::atom::<f32>(1.0, Some(k)).unwrap_err();
        assert_eq!(error.kind(), "FailedFunction");
    }
    let nan = Space::new(AtomDomain::<f64>::default(), AbsoluteDistance::<f64>::new());
    assert_eq!(nan.unwrap_err().kind(), "MetricSpace");
}
/// This is the porosity test of Haney, Desfontaines, Hartman, Shrestha, Hay (2022): the set of
/// possible releases must not depend on the data.
fn every_release_of_a_float_lies_on_the_same_lattice<L: Law>() {
    let inputs = [0.0, 1.0, 1.0 / 3.0, 1024.0, -1.0, 0.1, 5e-324];
    for (s, k) in [(1.0, None), (1.0, Some(-10)), (1.0, Some(3)), (0.0, Some(-2)), (1e6, Some(0))] {
        let step = power_of_two(k.unwrap_or(-40));
        let release = L::atom::<f64>(s, k).unwrap();
        for x in inputs {
            for _ in 0..2000 {
                let released = release.invoke(&x).unwrap();
                assert_eq!((released / step).fract(), 0.0, "{x} with scale {s}, k {k:?}");
                assert!(released != 0.0 || released.is_sign_positive());
            }
        }
        let release = L::vector::<f32>(None, s, k).unwrap();
        let many: Vec<f32> = inputs.iter().map(|x| *x as f32).collect();
        for _ in 0..500 {
            for released in release.invoke(&many).unwrap() {
                assert_eq!((f64::from(released) / step).fract(), 0.0);
                assert!(released != 0.0 || released.is_sign_positive());
            }
        }
    }
}
fn the_lattice_of_a_release_is_used_to_its_last_bit<L: Law>() {
    let release = L::atom::<f64>(1.0, Some(-20)).unwrap();
    let odd = |x: f64| (x * 2.0_f64.powi(20)) % 2.0 != 0.0;
    let count = (0..4000).filter(|_| odd(release.invoke(&0.0).unwrap())).count();
    assert!((1700..2300).contains(&count), "{count} of 4000 are odd");
}
fn noise_saturates_at_the_ends_of_every_type<L: Law>() {
    macro_rules! check {
        ($($t:ident)*) => {$(
            let release = L::vector::<$t>(None, 1e60, None).unwrap();
            for x in [$t::MIN, 0, 5, $t::MAX] {
                let released = release.invoke(&vec![x; 64]).unwrap();
                let end = |x: &$t| *x == $t::MIN || *x == $t::MAX;
                assert!(released.iter().all(end), stringify!($t));
                assert!(released.contains(&$t::MIN) && released.contains(&$t::MAX));
            }
        )*};
    }
    check!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize);
    let release = L::atom::<f64>(f64::MAX, Some(0)).unwrap();
    assert!((0..64).all(|_| release.invoke(&f64::MAX).unwrap().is_finite()));
    let release = L::atom::<f32>(1e300, Some(0)).unwrap();
    assert!((0..64).all(|_| release.invoke(&0.0).unwrap().abs() == f32::MAX));
}
fn infinities_are_taken_for_the_ends_and_nan_for_zero<L: Law>() {
    let release = L::atom::<f64>(0.0, None).unwrap();
    let ends = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(|x| release.invoke(&x).unwrap());
    assert_eq!(ends, [f64::MAX, f64::MIN, 0.0]);
    let release = L::vector::<f32>(None, 0.0, None).unwrap();
    let ends = release.invoke(&vec![f32::INFINITY, f32::NEG_INFINITY, f32::NAN]).unwrap();
    assert_eq!(ends, [f32::MAX, f32::MIN, 0.0]);
}
fn scale_zero_draws_nothing_and_still_rounds<L: Law>() {
    let release = L::vector::<i64>(None, 0.0, None).unwrap();
    assert_eq!(release.invoke(&vec![i64::MIN, 0, 5]).unwrap(), [i64::MIN, 0, 5]);
    let release = L::atom::<f64>(0.0, None).unwrap();
    assert_eq!([0.1, -5e-324, 1e300].map(|x| release.invoke(&x).unwrap()), [0.1, -5e-324, 1e300]);
    let release = L::vector::<f64>(None, 0.0, Some(-2)).unwrap();
    assert_eq!(release.invoke(&vec![0.3, 0.375, -0.375, -0.1]).unwrap(), [0.25, 0.5, -0.25, 0.0]);
    let mut source = Failing::default();
    assert_eq!(noisy::<L, i32>(7, (0.0, 0), &mut source), Ok(7));
    assert_eq!(noisy::<L, f32>(0.3, (0.0, -2), &mut source), Ok(0.25));
    assert_eq!(source.attempts(), 0);
    assert_eq!(noisy::<L, i32>(7, (1.0, 0), &mut source), Err(NoEntropy));
    assert_eq!(noisy::<L, f64>(7.0, (1.0, 0), &mut source), Err(NoEntropy));
}
/// Add noise of a scale to `x`. If `x` is a float, round the sum to a multiple of `2^k`.
fn noisy<L: Law, T: NoiseNumber<L>>(
    x: T,
    (scale, k): (f64, i32),
    source: &mut impl RandomSource,
) -> Result<T, NoEntropy> {
    x.add_noise(&T::prepare(scale, k), source)
}
fn each_number_gets_noise_of_its_own<L: Law>() {
    // The lattice is so fine that two of the 50 numbers are equal with a probability below 1e-12.
    let release = L::vector::<f64>(None, 1.0, Some(-100)).unwrap();
    let released = release.invoke(&vec![0.0; 50]).unwrap();
    let mut distinct = released.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    assert_eq!(distinct.len(), 50);
    assert_ne!(release.invoke(&vec![0.0; 50]).unwrap(), released);
    assert!(release.invoke(&vec![]).unwrap().is_empty());
}
fn says_how_accurate_each_number_is<L: Law>() {
    let single = L::atom::<i32>(2.0, None).unwrap();
    assert_eq!(single.accuracy(0.05).unwrap(), [Some(L::ACCURACY)]);
    let three = L::vector::<i32>(Some(3), 2.0, None).unwrap();
    assert_eq!(three.accuracy(0.05).unwrap(), [Some(L::ACCURACY); 3]);
    let some = L::vector::<f64>(None, 1.0, Some(1)).unwrap();
    assert_eq!(some.accuracy(1.0).unwrap(), [Some(1.0)]);
    for alpha in [0.0, -0.1, 1.1, f64::NAN] {
        assert_eq!(some.accuracy(alpha).unwrap_err().kind(), "InvalidDistance");
    }
}
fn few_errors_exceed_the_accuracy_and_not_too_few<L: Law>() {
    let draws = 100_000;
    let check = |inaccurate: usize, alpha: f64| {
        let (expected, found) = (alpha * draws as f64, inaccurate as f64);
        // A release is inaccurate if its error exceeds the accuracy bound. Let `n` be `alpha` times
        // the number of releases. The number of inaccurate releases must be between `n / 3` and
        // `n + 8 sqrt(n)`. The test fails by chance with a probability below 1e-15.
        assert!(found < expected + 8.0 * expected.sqrt() && expected / 3.0 < found, "{found}");
    };
    let integers = L::vector::<i64>(None, 7.3, None).unwrap();
    let floats = L::vector::<f64>(None, 7.3, Some(1)).unwrap();
    let whole = integers.invoke(&vec![-50; draws]).unwrap();
    let real = floats.invoke(&vec![-50.5; draws]).unwrap();
    for alpha in [0.3, 0.05] {
        let bound = integers.accuracy(alpha).unwrap()[0].unwrap();
        check(whole.iter().filter(|x| bound < (**x + 50).abs() as f64).count(), alpha);
        let bound = floats.accuracy(alpha).unwrap()[0].unwrap();
        check(real.iter().filter(|x| bound < (**x + 50.5).abs()).count(), alpha);
    }
}
fn integers_of_any_length_never_saturate<L: Law>() {
    let x = IBig::ONE << 300_usize;
    let near = L::atom::<IBig>(3.0, None).unwrap();
    let moved = i64::try_from(near.invoke(&x).unwrap() - &x).unwrap();
    assert!(moved.abs() < L::FAR, "{moved}");
    assert_eq!(near.map(&3.0).unwrap(), L::LOSS);
    let exact = L::atom::<IBig>(0.0, None).unwrap();
    assert_eq!(exact.invoke(&x).unwrap(), x);
    // At this scale, more than 4 of 5 releases of the type `i128` would saturate at an end of the
    // type. An `IBig` has no ends.
    let far = L::vector::<IBig>(Some(50), 1e39, None).unwrap();
    let released = far.invoke(&vec![IBig::ZERO; 50]).unwrap();
    assert!(released.iter().any(|r| r.to_f64().value().abs() > 3.5e38));
}
fn prepared_noise_is_that_of_the_scale<L: Law>() {
    let prepared = |scale| <i64 as NoiseNumber<L>>::prepare(scale, 0);
    // For large scales and for the scale 0, no table is prepared.
    assert!(prepared(1e6).table.is_none() && prepared(0.0).table.is_none());
    assert!(<u8 as NoiseNumber<L>>::prepare(0.0, 0).table.is_none());
    let (mut first, mut second) = (Seeded::<64>::new(1), Seeded::<64>::new(1));
    let noise = <i8 as NoiseNumber<L>>::prepare(30.0, 0);
    for _ in 0..1000 {
        let expected = noise.table.as_ref().unwrap().add(100_i8, &mut first);
        assert_eq!(NoiseNumber::<L>::add_noise(100_i8, &noise, &mut second), expected);
    }
    assert_eq!(first.used(), 1000, "one word for each");
    for _ in 0..100 {
        let expected = add_noise(100_i64, L::integer(1e6, &mut first).unwrap());
        assert_eq!(noisy::<L, i64>(100, (1e6, 0), &mut second), Ok(expected));
    }
    let expected = L::rounded(0.5, &mut first);
    assert_eq!(noisy::<L, f64>(0.5, (2.0, -20), &mut second), expected);
}
fn releases_that_saturate_have_the_law_of_the_clamped_sum<L: Law>() {
    // With fewer draws, the control could fail by chance at the scale 500.
    let draws = 100_000;
    // Compute the expected counts of the releases clamp(120 + Z) for discrete noise Z, beginning
    // with the count of the release -128.
    let law = |s: f64| {
        let weight = |z: i32| L::weight(f64::from(z), s);
        let all: f64 = (-9000..=9000).map(weight).sum();
        let mut law = vec![0.0; 256];
        for z in -9000..=9000 {
            law[((120 + z).clamp(-128, 127) + 128) as usize] += weight(z) / all * draws as f64;
        }
        law
    };
    // For the first three scales, noise is drawn from tables of different sizes. For the scale 500,
    // noise is drawn without a table.
    for s in [0.5, 3.0, 100.0, 500.0] {
        let release = L::vector::<i8>(None, s, None).unwrap();
        let mut observed = vec![0; 256];
        for noisy in release.invoke(&vec![120; draws]).unwrap() {
            observed[(i16::from(noisy) + 128) as usize] += 1;
        }
        assert!(chi_square(&observed, &law(s)) < 1.0, "scale {s}");
        assert!(chi_square(&observed, &law(s * 1.2)) > 1.0, "a wrong scale must be noticed");
    }
}

#[test]
fn the_default_lattice_is_forty_bits_below_the_scale() {
    for (s, k) in [
        (1.0, -40),
        (1.999, -40),
        (2.0, -39),
        (0.999, -41),
        (f64::MAX, 983),
        (f64::MIN_POSITIVE, -1062),
        (f64::MIN_POSITIVE / 2.0, -1074),
        (0.0, -1074),
    ] {
        assert_eq!(default_lattice(scale(s)), k, "scale {s}");
    }
    let range = <f32 as NoiseNumber<Laplace>>::LATTICES;
    assert_eq!(lattice(range, scale(0.0), None), Ok(Some(-149)));
    assert_eq!(lattice(range, scale(1e300), None), Ok(Some(127)));
    assert_eq!(lattice(range, scale(1.0), None), Ok(Some(-40)));
}
#[test]
fn a_single_rounded_to_its_nearest_float() {
    // 1 + 2^-24 is half-way between 1 and the next `f32`. A tie is rounded to the float with an
    // even mantissa, which is 1. A slightly larger number is nearer to the next `f32`.
    let nearest = |x: f64| AsPrimitive::<f32>::as_(x);
    assert_eq!(nearest(1.0 + 2.0_f64.powi(-24)), 1.0);
    assert_eq!(nearest(1.0 + 1.1 * 2.0_f64.powi(-24)), 1.0_f32.next_up());
}
