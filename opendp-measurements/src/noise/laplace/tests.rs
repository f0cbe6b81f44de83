use num_traits::AsPrimitive;
use opendp_core::arith::Number;
use opendp_core::random::{Failing, NoEntropy, RandomSource};
use opendp_core::{Atom, Distance, IBig, LpDistance};

use super::*;
use crate::noise::{default_lattice, lattice};

type Atoms<T, Q> = Space<AtomDomain<T>, AbsoluteDistance<Q>>;
type Vectors<T, Q> = Space<VectorDomain<AtomDomain<T>>, L1Distance<Q>>;

fn prepared<T: NoiseNumber<Laplace>>(scale: f64, k: i32) -> T::Noise {
    T::prepare(scale, k)
}
fn noisy<T: NoiseNumber<Laplace>>(
    x: T,
    noise: &T::Noise,
    source: &mut impl RandomSource,
) -> Result<T, NoEntropy> {
    x.add_noise(noise, source)
}
fn atoms<T: Atom, Q: Distance + Number>() -> Atoms<T, Q> {
    Space::new(AtomDomain::non_nan(), AbsoluteDistance::new()).unwrap()
}
fn vectors<T: Atom, Q: Distance + Number>(size: Option<usize>) -> Vectors<T, Q> {
    let domain = VectorDomain::new(AtomDomain::non_nan());
    let domain = size.map_or(domain.clone(), |size| domain.with_size(size));
    Space::new(domain, L1Distance::new()).unwrap()
}
fn scale(scale: f64) -> Scale {
    Scale::new(scale).unwrap()
}

#[test]
fn maps_the_distance_to_its_quotient() {
    let loss_at =
        |s, d_in: f64| make_laplace(atoms::<f64, f64>(), scale(s), None).unwrap().map(&d_in);
    // The map is d / s at distance d and scale s.
    assert_eq!([0.0, 1.0, 2.5].map(|d| loss_at(1.0, d).unwrap()), [0.0, 1.0, 2.5]);
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(loss_at(1.0, wrong).unwrap_err().kind(), "FailedMap");
        assert_eq!(loss_at(0.0, wrong).unwrap_err().kind(), "FailedMap");
    }
    assert!(loss_at(1.0, f64::INFINITY).unwrap_err().to_string().contains("must be finite"));
    assert_eq!(loss_at(3.0, 1.0).unwrap(), 0.333_333_333_333_333_37);
    assert_eq!((loss_at(0.0, 0.0).unwrap(), loss_at(0.0, 1.0).unwrap()), (0.0, f64::INFINITY));
    assert_eq!(loss_at(5e-324, 1.0).unwrap_err().kind(), "Overflow");
    // For integers, the map gives the same quotient as for floats.
    let integers = make_laplace(atoms::<i32, i32>(), scale(2.0), None).unwrap();
    assert_eq!([1, 3].map(|d| integers.map(&d).unwrap()), [0.5, 1.5]);
    let integers = make_laplace(atoms::<i32, f64>(), scale(2.0), Some(0)).unwrap();
    assert_eq!(integers.map(&1.5).unwrap(), 0.75);
    let wide = make_laplace(vectors::<i128, i128>(None), scale(3.0), None).unwrap();
    assert_eq!(
        wide.map(&i128::MAX).unwrap(),
        56_713_727_820_156_410_577_229_101_238_628_035_243.0_f64.next_up()
    );
}
#[test]
fn the_lattice_and_the_length_cost_nothing() {
    for k in [None, Some(0), Some(-10), Some(1023), Some(-1074)] {
        let made = make_laplace(atoms::<f64, f64>(), scale(1.0), k).unwrap();
        assert_eq!((made.map(&1.0).unwrap(), made.map(&0.0).unwrap()), (1.0, 0.0));
        let many = make_laplace(vectors::<f64, f64>(None), scale(1.0), k).unwrap();
        assert_eq!(many.map(&1.0).unwrap(), 1.0);
    }
}
#[test]
fn refuses_what_is_not_a_lattice() {
    for k in [1, -1, i32::MIN, i32::MAX] {
        let error = make_laplace(vectors::<u8, u8>(None), scale(1.0), Some(k)).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        assert!(error.to_string().contains("k: expected null or 0"), "{error}");
    }
    for k in [-1075, 1024, i32::MIN, i32::MAX] {
        let error = make_laplace(atoms::<f64, f64>(), scale(1.0), Some(k)).unwrap_err();
        assert_eq!(error.kind(), "FailedFunction");
    }
    for k in [-150, 128] {
        let error = make_laplace(atoms::<f32, f32>(), scale(1.0), Some(k)).unwrap_err();
        assert_eq!(error.kind(), "FailedFunction");
    }
    let nan = Space::new(AtomDomain::<f64>::default(), AbsoluteDistance::<f64>::new());
    assert_eq!(nan.unwrap_err().kind(), "MetricSpace");
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
/// This is the porosity test of Haney, Desfontaines, Hartman, Shrestha, Hay (2022): the set of
/// possible releases must not depend on the data.
#[test]
fn every_release_of_a_float_lies_on_the_same_lattice() {
    let inputs = [0.0, 1.0, 1.0 / 3.0, 1024.0, -1.0, 0.1, 5e-324];
    for (s, k) in [(1.0, None), (1.0, Some(-10)), (1.0, Some(3)), (0.0, Some(-2)), (1e6, Some(0))] {
        let step = samplers_step(k.unwrap_or(-40));
        let release = make_laplace(atoms::<f64, f64>(), scale(s), k).unwrap();
        for x in inputs {
            for _ in 0..2000 {
                let released = release.invoke(&x).unwrap();
                assert_eq!((released / step).fract(), 0.0, "{x} with scale {s}, k {k:?}");
                assert!(released != 0.0 || released.is_sign_positive());
            }
        }
        let release = make_laplace(vectors::<f32, f64>(None), scale(s), k).unwrap();
        let many: Vec<f32> = inputs.iter().map(|x| *x as f32).collect();
        for _ in 0..500 {
            for released in release.invoke(&many).unwrap() {
                assert_eq!((f64::from(released) / step).fract(), 0.0);
                assert!(released != 0.0 || released.is_sign_positive());
            }
        }
    }
}
fn samplers_step(k: i32) -> f64 {
    crate::samplers::power_of_two(k)
}
#[test]
fn the_lattice_of_a_release_is_used_to_its_last_bit() {
    let release = make_laplace(atoms::<f64, f64>(), scale(1.0), Some(-20)).unwrap();
    let odd = |x: f64| (x * 2.0_f64.powi(20)) % 2.0 != 0.0;
    let count = (0..4000).filter(|_| odd(release.invoke(&0.0).unwrap())).count();
    assert!((1700..2300).contains(&count), "{count} of 4000 are odd");
}
#[test]
fn noise_saturates_at_the_ends_of_every_type() {
    macro_rules! check {
        ($($t:ident)*) => {$(
            let release = make_laplace(vectors::<$t, $t>(None), scale(1e60), None).unwrap();
            let released = release.invoke(&vec![$t::MIN, $t::MAX, 0, 1, 2, 3, 4, 5]).unwrap();
            let end = |x: &$t| *x == $t::MIN || *x == $t::MAX;
            assert!(released.iter().all(end), stringify!($t));
        )*};
    }
    check!(i8 i16 i32 i64 u8 u16 u32 u64 usize);
    let release = make_laplace(atoms::<i128, i128>(), scale(1e60), None).unwrap();
    for x in [i128::MIN, 0, i128::MAX] {
        let released: Vec<_> = (0..64).map(|_| release.invoke(&x).unwrap()).collect();
        assert!(released.contains(&i128::MIN) && released.contains(&i128::MAX));
        assert!(released.iter().all(|x| *x == i128::MIN || *x == i128::MAX));
    }
    let release = make_laplace(atoms::<f64, f64>(), scale(f64::MAX), Some(0)).unwrap();
    assert!((0..64).all(|_| release.invoke(&f64::MAX).unwrap().is_finite()));
    let release = make_laplace(atoms::<f32, f64>(), scale(1e300), Some(0)).unwrap();
    assert!((0..64).all(|_| release.invoke(&0.0).unwrap().abs() == f32::MAX));
}
#[test]
fn infinities_are_taken_for_the_ends_and_nan_for_zero() {
    let release = make_laplace(atoms::<f64, f64>(), scale(0.0), None).unwrap();
    let ends = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(|x| release.invoke(&x).unwrap());
    assert_eq!(ends, [f64::MAX, f64::MIN, 0.0]);
    let release = make_laplace(vectors::<f32, f32>(None), scale(0.0), None).unwrap();
    let ends = release.invoke(&vec![f32::INFINITY, f32::NEG_INFINITY, f32::NAN]).unwrap();
    assert_eq!(ends, [f32::MAX, f32::MIN, 0.0]);
}
#[test]
fn scale_zero_draws_nothing_and_still_rounds() {
    let release = make_laplace(vectors::<i64, i64>(None), scale(0.0), None).unwrap();
    assert_eq!(release.invoke(&vec![i64::MIN, 0, 5]).unwrap(), [i64::MIN, 0, 5]);
    let release = make_laplace(atoms::<f64, f64>(), scale(0.0), None).unwrap();
    assert_eq!([0.1, -5e-324, 1e300].map(|x| release.invoke(&x).unwrap()), [0.1, -5e-324, 1e300]);
    let release = make_laplace(vectors::<f64, f64>(None), scale(0.0), Some(-2)).unwrap();
    assert_eq!(release.invoke(&vec![0.3, 0.375, -0.375, -0.1]).unwrap(), [0.25, 0.5, -0.25, 0.0]);
    // At scale 0, the samplers draw no random words.
    let mut source = Failing::default();
    assert_eq!(noisy(7_i32, &prepared::<i32>(0.0, 0), &mut source), Ok(7));
    assert_eq!(noisy(0.3_f32, &prepared::<f32>(0.0, -2), &mut source), Ok(0.25));
    assert_eq!(source.attempts(), 0);
    assert_eq!(noisy(7_i32, &prepared::<i32>(1.0, 0), &mut source), Err(NoEntropy));
    assert_eq!(noisy(7.0_f64, &prepared::<f64>(1.0, 0), &mut source), Err(NoEntropy));
}
#[test]
fn each_number_gets_noise_of_its_own() {
    // The lattice is so fine that two of the 50 numbers are equal with a probability below 1e-12.
    let release = make_laplace(vectors::<f64, f64>(None), scale(1.0), Some(-100)).unwrap();
    let released = release.invoke(&vec![0.0; 50]).unwrap();
    let mut distinct = released.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    assert_eq!(distinct.len(), 50);
    assert_ne!(release.invoke(&vec![0.0; 50]).unwrap(), released);
    assert!(release.invoke(&vec![]).unwrap().is_empty());
}
#[test]
fn a_single_rounded_to_its_nearest_float() {
    // 1 + 2^-24 is half-way between 1 and the next `f32`. A tie is rounded to the float with an
    // even mantissa, which is 1. A slightly larger number is nearer to the next `f32`.
    let nearest = |x: f64| AsPrimitive::<f32>::as_(x);
    assert_eq!(nearest(1.0 + 2.0_f64.powi(-24)), 1.0);
    assert_eq!(nearest(1.0 + 1.1 * 2.0_f64.powi(-24)), 1.0_f32.next_up());
}
#[test]
fn says_how_accurate_each_number_is() {
    let made = make_laplace(atoms::<i32, i32>(), scale(2.0), None).unwrap();
    assert_eq!(made.accuracy(0.05).unwrap(), [Some(6.0)]);
    let three = make_laplace(vectors::<i32, i32>(Some(3)), scale(2.0), None).unwrap();
    assert_eq!(three.accuracy(0.05).unwrap(), [Some(6.0); 3]);
    let some = make_laplace(vectors::<f64, f64>(None), scale(1.0), Some(1)).unwrap();
    assert_eq!(some.accuracy(1.0).unwrap(), [Some(1.0)]);
    for alpha in [0.0, -0.1, 1.1, f64::NAN] {
        assert_eq!(some.accuracy(alpha).unwrap_err().kind(), "InvalidDistance");
    }
}
#[test]
fn few_errors_exceed_the_accuracy_and_not_too_few() {
    let draws = 100_000;
    let check = |inaccurate: usize, alpha: f64| {
        let (expected, found) = (alpha * draws as f64, inaccurate as f64);
        // A release is inaccurate if its error exceeds the accuracy bound. The number of inaccurate
        // releases must be at most eight standard deviations above its expected value, and at least
        // a third of its expected value. The test fails by chance with a probability below 1e-15.
        assert!(found < expected + 8.0 * expected.sqrt() && expected / 3.0 < found, "{found}");
    };
    let release = make_laplace(vectors::<i64, i64>(None), scale(7.3), None).unwrap();
    let released = release.invoke(&vec![-50; draws]).unwrap();
    for alpha in [0.3, 0.05] {
        let bound = release.accuracy(alpha).unwrap()[0].unwrap();
        check(released.iter().filter(|x| bound < (**x + 50).abs() as f64).count(), alpha);
    }
    let release = make_laplace(vectors::<f64, f64>(None), scale(7.3), Some(1)).unwrap();
    let released = release.invoke(&vec![-50.5; draws]).unwrap();
    for alpha in [0.3, 0.05] {
        let bound = release.accuracy(alpha).unwrap()[0].unwrap();
        check(released.iter().filter(|x| bound < (**x + 50.5).abs()).count(), alpha);
    }
}

#[test]
fn integers_of_any_length_never_saturate() {
    let x = IBig::ONE << 300_usize;
    let near = make_laplace(atoms::<IBig, f64>(), scale(3.0), None).unwrap();
    let released = near.invoke(&x).unwrap();
    let moved = i64::try_from(released - &x).unwrap();
    assert!(moved.abs() < 300, "{moved}");
    assert_eq!(near.map(&6.0).unwrap(), 2.0);
    assert_eq!(near.map(&3e300).unwrap(), 3e300 / 3.0);
    let exact = make_laplace(atoms::<IBig, f64>(), scale(0.0), None).unwrap();
    assert_eq!(exact.invoke(&x).unwrap(), x);
    // At this scale, 84 in 100 releases of the type `i128` would saturate at an end of the type. An
    // `IBig` has no ends.
    let far = make_laplace(vectors::<IBig, f64>(Some(50)), scale(1e39), None).unwrap();
    let released = far.invoke(&vec![IBig::ZERO; 50]).unwrap();
    assert!(released.iter().any(|r| r.to_f64().value().abs() > 3.5e38));
}

#[test]
fn prepared_noise_is_that_of_the_scale() {
    use crate::samplers::laplace;
    use opendp_core::random::Seeded;
    // For large scales and for the scale 0, no table is prepared.
    assert!(prepared::<i64>(1e6, 0).table.is_none() && prepared::<u8>(0.0, 0).table.is_none());
    let (mut first, mut second) = (Seeded::<64>::new(1), Seeded::<64>::new(1));
    let noise = prepared::<i8>(30.0, 0);
    for _ in 0..1000 {
        let expected = noise.table.as_ref().unwrap().add(100_i8, &mut first);
        assert_eq!(noisy(100_i8, &noise, &mut second), expected);
    }
    assert_eq!(first.used(), 1000, "one word for each");
    let large = prepared::<i64>(1e6, 0);
    for _ in 0..100 {
        let draw = crate::samplers::discrete_laplace(1e6, &mut first).unwrap();
        let expected = crate::samplers::add_noise(100_i64, draw);
        assert_eq!(noisy(100_i64, &large, &mut second), Ok(expected));
    }
    let expected = laplace(0.5, 2.0, -20, &mut first);
    assert_eq!(noisy(0.5_f64, &prepared::<f64>(2.0, -20), &mut second), expected);
}

#[test]
fn releases_that_saturate_have_the_law_of_the_clamped_sum() {
    use crate::samplers::tests::chi_square::chi_square;
    // With fewer draws, the control could fail by chance at the scale 500.
    let draws = 100_000;
    // Compute the expected counts of the releases clamp(120 + Z) for discrete Laplace noise Z,
    // beginning with the count of the release -128.
    let law = |s: f64| {
        let weight = |z: i32| (-f64::from(z.abs()) / s).exp();
        let all: f64 = (-9000..=9000).map(weight).sum();
        let mut law = vec![0.0; 256];
        for z in -9000..=9000 {
            law[((120 + z).clamp(-128, 127) + 128) as usize] += weight(z) / all * draws as f64;
        }
        law
    };
    let vectors = VectorDomain::new(AtomDomain::<i8>::default());
    let vectors = Space::new(vectors, LpDistance::<1, i8>::new()).unwrap();
    // For the first three scales, noise is drawn from tables of different sizes. For the scale 500,
    // noise is drawn without a table.
    for s in [0.5, 3.0, 100.0, 500.0] {
        let release = make_laplace(vectors.clone(), Scale::new(s).unwrap(), None).unwrap();
        let mut observed = vec![0; 256];
        for noisy in release.invoke(&vec![120; draws]).unwrap() {
            observed[(i16::from(noisy) + 128) as usize] += 1;
        }
        assert!(chi_square(&observed, &law(s)) < 1.0, "scale {s}");
        assert!(chi_square(&observed, &law(s * 1.2)) > 1.0, "a wrong scale must be noticed");
    }
}
#[test]
fn floats_at_a_distance_below_one_lose_something() {
    let told = make_laplace_in::<_, _, opendp_core::SmoothedMaxDivergence>(
        atoms::<f64, f64>(),
        scale(1.0),
        None,
    );
    let delta = told.unwrap().map(&0.5).unwrap().delta(0.0).unwrap();
    assert!(-(-0.25_f64).exp_m1() <= delta, "{delta}");
}
