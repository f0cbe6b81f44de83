use opendp_core::random::{RandomSource, Seeded};

use super::*;
use crate::Scale;
use crate::accuracy::noise::Kind;

fn noise(make: fn(Scale) -> Noise, scale: f64) -> Noise {
    make(Scale::new(scale).unwrap())
}
fn released(value: f64, noise: Noise) -> Estimate {
    Estimate::released(value, noise)
}
#[test]
fn a_weight_is_barely_above_its_number() {
    for number in [0.0, 1e-6, 0.3, 1.0, 12345.678, 1e14, 3.7e17] {
        let found = above(number).unwrap();
        let (down, up) = (found.magnitude_down().unwrap(), found.magnitude_up().unwrap());
        assert!(number <= down && up <= number * (1.0 + 2_f64.powi(-31)), "{number} {up}");
    }
    assert!(above(1e30).is_err() && above(1e-30).is_err());
}
#[test]
fn exact_numbers_have_their_quotient() {
    let exact = noise(Noise::laplace, 0.0);
    let (a, b) = (released(30.0, exact), released(-12.0, exact));
    let (low, high) = Ratio::new(&a, &b, (-5.0, 5.0), 0.05).unwrap().interval(&a, &b).unwrap();
    assert!((low + 2.5).abs() < 1e-12 && (high + 2.5).abs() < 1e-12 && low <= high);
    // A quotient outside of the bounds is replaced by the nearest bound.
    let ratio = Ratio::new(&a, &b, (-2.0, 5.0), 0.05).unwrap();
    assert_eq!(ratio.interval(&a, &b), Ok((-2.0, -2.0)));
    // A divisor without noise, and a numerator with noise.
    let (a, b) = (released(30.0, noise(Noise::laplace, 1.0)), Estimate::public(10.0));
    let (low, high) = Ratio::new(&a, &b, (-5.0, 5.0), 0.05).unwrap().interval(&a, &b).unwrap();
    let t = a.accuracy(0.05).unwrap() / 10.0;
    assert!((low - (3.0 - t)).abs() < 1e-9 && (high - (3.0 + t)).abs() < 1e-9);
}
#[test]
fn gaussian_noises_have_the_interval_of_fieller() {
    let (sigma, tau) = (7.0, 2.0);
    let a = released(230.0, noise(Noise::gaussian, sigma));
    let b = released(100.0, noise(Noise::gaussian, tau));
    let (low, high) = Ratio::new(&a, &b, (-5.0, 5.0), 0.05).unwrap().interval(&a, &b).unwrap();
    // The ends are the roots of (230 - 100 r)^2 = z^2 (49 + 4 r^2).
    let z = 1.959_963_984_540_054_f64.powi(2);
    let (square, half) = (1e4 - z * 4.0, 230.0 * 100.0);
    let root = (half * half - square * (230.0 * 230.0 - z * 49.0)).sqrt();
    let (first, last) = ((half - root) / square, (half + root) / square);
    assert!(low <= first && last <= high, "{low} {first} {last} {high}");
    assert!(high - low <= 1.03 * (last - first), "{low} {first} {last} {high}");
}
#[test]
fn other_noises_are_refused() {
    let (real, whole) = (noise(Noise::laplace, 1.0), noise(Noise::discrete_laplace, 1.0));
    let (a, b) = (released(3.0, real), released(5.0, whole));
    let bounds = (0.0, 1.0);
    assert!(Ratio::new(&a, &b, bounds, 0.05).is_ok());
    for (a, b) in [
        (b.clone(), a.clone()),
        (a.clone(), a.plus(&b).unwrap()),
        (a.clone(), released(5.0, whole.cut_off())),
        (released(3.0, real.cut_off()), b.clone()),
    ] {
        let error = Ratio::new(&a, &b, bounds, 0.05).unwrap_err();
        assert_eq!(error.kind(), "NotImplemented");
    }
    for bad in [(1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        assert_eq!(Ratio::new(&a, &b, bad, 0.05).unwrap_err().kind(), "Argument");
    }
    for alpha in [0.0, 1.5, -0.1, f64::NAN] {
        assert_eq!(Ratio::new(&a, &b, bounds, alpha).unwrap_err().kind(), "InvalidDistance");
    }
    let ratio = Ratio::new(&a, &b, bounds, 0.05).unwrap();
    let other = released(5.0, noise(Noise::discrete_laplace, 2.0));
    assert!(ratio.interval(&a, &other).is_err());
    assert!(ratio.interval(&released(9.0, real), &released(8.0, whole)).is_ok());
}
/// Draw one noise from a uniform number between 0 and 1, and from random words.
fn draw(noise: Noise, source: &mut Seeded<64>) -> f64 {
    let mut uniform = || (source.word().unwrap() >> 11) as f64 / 2_f64.powi(53) + 2_f64.powi(-54);
    let scale = noise.scale;
    match noise.kind {
        Kind::Laplace => scale * (uniform().ln() - uniform().ln()),
        Kind::Gaussian => {
            scale * (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
        }
        // A geometric number is an exponential number, rounded down.
        Kind::DiscreteLaplace => {
            (-scale * uniform().ln()).floor() - (-scale * uniform().ln()).floor()
        }
        Kind::DiscreteGaussian => panic!("no test draws this noise"),
    }
}
#[test]
fn intervals_miss_the_quotient_as_rarely_as_promised() {
    let draws = 2000;
    let mut source = Seeded::<64>::new(7);
    let (mut longest, mut shortest) = (0.0_f64, f64::INFINITY);
    for (own, other) in [
        (noise(Noise::laplace, 50.0), noise(Noise::discrete_laplace, 1.0)),
        (noise(Noise::laplace, 5.0), noise(Noise::discrete_laplace, 20.0)),
        (noise(Noise::gaussian, 500.0), noise(Noise::gaussian, 10.0).and_at_most(0.5)),
        (noise(Noise::laplace, 900.0), noise(Noise::gaussian, 3.0)),
    ] {
        let estimates = |a: f64, b: f64| (released(a, own), released(b, other));
        let (a, b) = estimates(0.0, 100.0);
        for alpha in [0.05, 0.3] {
            let ratio = Ratio::new(&a, &b, (-50.0, 50.0), alpha).unwrap();
            for rows in [1.0, 3.0, 20.0, 100.0, 3000.0] {
                for quotient in [-50.0, -49.0, 0.0, 10.0, 50.0] {
                    let (mut missed, mut length, mut plain) = (0, 0.0, 0.0);
                    for _ in 0..draws {
                        let (y, z) = (draw(own, &mut source), draw(other, &mut source));
                        let (a, b) = estimates(quotient * rows + y, rows + z);
                        let (low, high) = ratio.interval(&a, &b).unwrap();
                        assert!(-50.0 <= low && low <= high && high <= 50.0);
                        missed += usize::from(quotient < low || high < quotient);
                        length += high - low;
                        let (low, high) = a.quotient(&b, alpha).unwrap();
                        plain += high.clamp(-50.0, 50.0) - low.clamp(-50.0, 50.0);
                    }
                    // Five standard deviations of the number of missed intervals.
                    let expected = alpha * f64::from(draws);
                    let limit = expected + 5.0 * (expected * (1.0 - alpha)).sqrt();
                    assert!(
                        missed as f64 <= limit,
                        "{own:?} {other:?} {rows} {quotient}: {missed}"
                    );
                    let share = length / plain;
                    (longest, shortest) = (longest.max(share), shortest.min(share));
                }
            }
        }
    }
    // The intervals are never longer than those of `Estimate::quotient`, on average.
    assert!(longest <= 1.001 && shortest < 0.65, "{longest} {shortest}");
}
