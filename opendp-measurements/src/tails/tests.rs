use super::*;

fn scale(scale: f64) -> Scale {
    Scale::new(scale).unwrap()
}
/// Check that a bound is the exact value rounded up to a float, or the next float above this float.
#[track_caller]
fn tight(found: Result<f64>, up: f64) {
    let found = found.unwrap();
    assert!(found == up || found == up.next_up(), "{found:e} for {up:e}");
}

#[test]
fn laplace_tails_are_the_least_floats_above() {
    tight(laplacian_tail(scale(1.0), 0.0), 0.5);
    tight(laplacian_tail(scale(1.0), 4.0), 0.009_157_819_444_367_09);
    tight(laplacian_tail(scale(2.5), 10.0), 0.009_157_819_444_367_09);
    // The first value is the tail at 4. `make_laplace_threshold` uses this tail for the threshold 5
    // and a largest change of 1. The second value is the tail at 5.
    tight(discrete_laplacian_tail(scale(1.0), 4.0), 0.013_389_804_932_698_453);
    tight(discrete_laplacian_tail(scale(1.0), 5.0), 0.004_925_833_956_035_729);
    tight(discrete_laplacian_tail(scale(1.0), 0.0), 0.731_058_578_630_004_9);
    tight(discrete_laplacian_tail(scale(5e-324), 0.0), 1.0);
}
#[test]
fn discrete_tails_count_the_integers_from_t_on() {
    for tail in [discrete_laplacian_tail, discrete_gaussian_tail] {
        for s in [0.7, 3.0, 300.0] {
            assert_eq!(tail(scale(s), 3.5), tail(scale(s), 4.0));
            assert!(tail(scale(s), 4.0).unwrap() < tail(scale(s), 3.0).unwrap());
            assert_eq!(tail(scale(s), -0.5), tail(scale(s), 0.0));
        }
    }
}
#[test]
fn gaussian_tails_are_the_least_floats_above() {
    for (t, up) in [
        (0.0, 0.5),
        (0.25, 0.401_293_674_317_076_3),
        (1.0, 0.158_655_253_931_457_07),
        (2.0, 0.022_750_131_948_179_21),
        (3.75, 8.841_728_520_080_387e-5),
        (4.0, 3.167_124_183_311_992_4e-5),
        (4.25, 1.068_852_577_493_442_2e-5),
        (5.0, 2.866_515_718_791_939e-7),
        (8.0, 6.220_960_574_271_785e-16),
        (20.0, 2.753_624_118_606_233_7e-89),
        (37.5, 4.605_353_009_581_955e-308),
    ] {
        tight(gaussian_tail(scale(1.0), t), up);
        tight(gaussian_tail(scale(1024.0), 1024.0 * t), up);
    }
    assert_eq!(gaussian_tail(scale(1.0), 38.5), Ok(5e-324));
}
#[test]
fn discrete_gaussian_tails_are_the_least_floats_above() {
    for (s, m, up) in [
        (0.125, 0.0, 0.999_999_999_999_987_3),
        (0.125, 1.0, 1.266_416_554_909_385_5e-14),
        (0.5, 0.0, 0.893_285_353_520_974),
        (0.5, 1.0, 0.106_714_646_479_026_05),
        (0.5, 3.0, 1.197_946_589_729_496e-8),
        (1.0, 0.0, 0.699_471_139_133_431),
        (1.0, 1.0, 0.300_528_860_866_569_16),
        (1.0, 8.0, 5.053_299_110_804_104e-15),
        (1.0, 9.0, 1.028_054_299_771_316_8e-18),
        (3.5, 4.0, 0.157_828_279_589_652_37),
        (3.5, 40.0, 5.139_537_876_250_435e-30),
        (5.0, 0.0, 0.539_894_228_040_143_3),
        (5.0, 12.0, 0.010_615_814_477_870_352),
        (100.0, 197.0, 0.024_706_644_960_638_364),
        (10.0, 300.0, 1.550_411_837_652_755e-197),
    ] {
        tight(discrete_gaussian_tail(scale(s), m), up);
    }
    // Above the scale 256, the bound comes from the formula of Euler and Maclaurin. The bound can
    // exceed the exact tail by a small relative amount.
    for (s, m, up) in [
        (300.0, 0.0, 0.500_664_903_800_669_1),
        (300.0, 100.0, 0.370_070_428_704_285_8),
        (300.0, 600.0, 0.022_840_216_875_620_66),
        (300.0, 3000.0, 7.748_808_784_643_811e-24),
    ] {
        let found = discrete_gaussian_tail(scale(s), m).unwrap();
        assert!(up <= found && found <= up * (1.0 + 0.5_f64.powi(14)), "{s} {m}: {found:e}");
    }
}
#[test]
fn both_ways_to_a_discrete_gaussian_tail_agree_where_they_meet() {
    for m in [0.0, 1.0, 100.0, 443.0, 444.0, 1000.0, 5000.0, 9000.0] {
        let summed = discrete_gaussian_tail(scale(256.0), m).unwrap();
        let integrated = integrated(scale(256.0), m).unwrap();
        let slack = 1.0 + 0.5_f64.powi(14);
        assert!(summed <= integrated && integrated <= summed * slack, "{m}: {integrated:e}");
        // The control: the first term of the bound is the Gaussian tail. Alone, this term is too
        // low.
        let gaussian = gaussian_tail(scale(256.0), m).unwrap();
        assert!(gaussian < summed, "{m}");
    }
}
#[test]
fn tails_fall_with_t_and_rise_with_the_scale() {
    let tails: [fn(Scale, f64) -> Result<f64>; 4] =
        [laplacian_tail, discrete_laplacian_tail, gaussian_tail, discrete_gaussian_tail];
    for tail in tails {
        for s in [5e-324, 1e-300, 0.3, 1.0, 7.0, 255.0, 1e6, 1e300] {
            let mut last = 1.0;
            for ratio in [0.0, 0.1, 1.0, 3.99, 4.0, 10.0, 38.0, 39.0, 50.0, 740.0, 1e9] {
                let found = tail(scale(s), (ratio * s).min(f64::MAX)).unwrap();
                assert!(0.0 < found && found <= last, "{s} {ratio}: {found}");
                let wider = tail(scale(s * 1.5), (ratio * s).min(f64::MAX)).unwrap();
                // At 0, a discrete tail is (1 + P[0]) / 2. `P[0]` is smaller at a larger scale, so
                // this tail falls when the scale rises.
                assert!(ratio == 0.0 || found <= wider, "{s} {ratio}");
                last = found;
            }
            assert_eq!(last, 5e-324);
        }
    }
}
#[test]
fn knows_the_ends() {
    let tails: [fn(Scale, f64) -> Result<f64>; 4] =
        [laplacian_tail, discrete_laplacian_tail, gaussian_tail, discrete_gaussian_tail];
    for tail in tails {
        assert_eq!(tail(scale(0.0), 0.0), Ok(1.0));
        assert_eq!(tail(scale(0.0), 1.0), Ok(0.0));
        assert_eq!(tail(scale(1.0), -1.0), Ok(1.0));
        assert_eq!(tail(scale(5e-324), f64::MAX), Ok(5e-324));
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(tail(scale(1.0), wrong).unwrap_err().kind(), "InvalidDistance");
        }
    }
}
