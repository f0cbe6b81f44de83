use super::*;

/// Return the ages of the rows. There are ten rows for each age from 0 to 99.
fn ages() -> Vec<i64> {
    (0..1000).map(|i| i % 100).collect()
}
const BOUNDS: (f64, f64) = (10.0, 90.0);
/// Compute the mean and the variance of the ages, clamped to `BOUNDS`.
fn moments() -> (f64, f64) {
    let ages: Vec<f64> = ages().iter().map(|age| (*age as f64).clamp(10.0, 90.0)).collect();
    let mean = ages.iter().sum::<f64>() / 1000.0;
    (mean, ages.iter().map(|age| (age - mean).powi(2)).sum::<f64>() / 999.0)
}

#[test]
fn each_statistic_is_near_the_truth_within_its_interval_at_the_stated_loss() {
    let (rows, (mean_of, variance_of)) = (ages(), moments());
    let epsilon = 1e6;
    let candidates = || (0..100).map(f64::from).collect::<Vec<_>>();
    for public in [false, true] {
        let data =
            || -> Data<'_, i64> { if public { PublicSize(&rows).into() } else { (&rows).into() } };
        for (found, truth) in [
            (count(data(), epsilon), 1000.0),
            (sum(data(), epsilon, BOUNDS), mean_of * 1e3),
            (mean(data(), epsilon, BOUNDS), mean_of),
            (variance(data(), epsilon, BOUNDS), variance_of),
            (median(data(), epsilon, candidates()), 50.0),
            (quantile(data(), epsilon, 0.1, candidates()), 10.0),
        ] {
            let Private { value, interval, loss } = found.unwrap();
            assert!((value - truth).abs() <= 1.0, "{value} {truth}");
            let (low, high) = interval.unwrap_or((truth, truth));
            assert!(low - 1e-2 <= truth && truth <= high + 1e-2, "{low} {truth} {high}");
            let least = if public && value == 1000.0 { 0.0 } else { epsilon * (1.0 - 1e-6) };
            assert!(least <= loss && loss <= epsilon, "{loss}");
        }
        let counts = histogram(data(), epsilon, &[1, 7, 700]).unwrap();
        let values: Vec<_> = counts.iter().map(|(age, count)| (*age, count.value)).collect();
        assert_eq!(values, [(1, 10.0), (7, 10.0), (700, 0.0)]);
        assert!(counts.iter().all(|(_, count)| count.loss <= epsilon));
    }
}
#[test]
fn the_noise_is_that_of_the_loss_and_intervals_cover_the_truth() {
    let rows = ages();
    let ((mean_of, variance_of), mut missed) = (moments(), [0; 5]);
    for _ in 0..300 {
        let misses = |found: Result<Private>, truth: f64| {
            let (low, high) = found.unwrap().interval.unwrap();
            !(low <= truth && truth <= high)
        };
        for (place, missed) in missed.iter_mut().enumerate() {
            *missed += usize::from(match place {
                0 => misses(count(&rows, 0.5), 1000.0),
                1 => misses(sum(&rows, 0.5, BOUNDS), mean_of * 1e3),
                2 => misses(mean(&rows, 0.5, BOUNDS), mean_of),
                3 => misses(variance(&rows, 0.5, BOUNDS), variance_of),
                _ => misses(mean(PublicSize(&rows), 0.5, BOUNDS), mean_of),
            });
        }
    }
    // At most 15 of the 300 intervals of each statistic are expected to miss the true value. 49
    // misses are nine standard deviations above 15. Intervals of half of the width would miss about
    // 67 times.
    assert!(missed.iter().all(|missed| *missed < 49), "{missed:?}");
    assert!(0 < missed.iter().sum::<usize>(), "the control: some intervals miss the true value");
    // At epsilon 0.5, a count has noise of scale 2. The magnitude of this noise is at least 2 with
    // probability 46 %. The probability would be 20 % for scale 1, and 68 % for scale 4. At 46 %,
    // about 275 of 600 magnitudes are expected to be at least 2. The ends of the accepted range are
    // more than six standard deviations away from 275.
    let errors = (0..600).filter(|_| 2.0 <= (count(&rows, 0.5).unwrap().value - 1000.0).abs());
    assert!((188..359).contains(&errors.count()));
}
#[test]
fn a_missing_number_counts_as_zero_within_the_bounds() {
    let rows = vec![f64::NAN, 5.0, f64::INFINITY, 7.0];
    let near = |found: Result<Private>, truth: f64| {
        assert!((found.unwrap().value - truth).abs() < 1e-3);
    };
    near(sum(&rows, 1e8, (2.0, 10.0)), 24.0);
    near(mean(&rows, 1e8, (2.0, 10.0)), 6.0);
    near(sum(PublicSize(&rows), 1e8, (2.0, 10.0)), 24.0);
    near(mean(PublicSize(&rows), 1e8, (2.0, 10.0)), 6.0);
}
#[test]
fn what_is_wrong_is_said_before_anything_is_released() {
    let rows = ages();
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(count(&rows, epsilon).unwrap_err().kind(), "Argument");
        assert_eq!(count(PublicSize(&rows), epsilon).unwrap_err().kind(), "Argument");
        assert_eq!(mean(&rows, epsilon, BOUNDS).unwrap_err().kind(), "Argument");
        assert_eq!(histogram(&rows, epsilon, &[1]).unwrap_err().kind(), "Argument");
    }
    for bounds in [(1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        for error in [
            sum(&rows, 1.0, bounds),
            mean(&rows, 1.0, bounds),
            variance(&rows, 1.0, bounds),
            sum(PublicSize(&rows), 1.0, bounds),
            mean(PublicSize(&rows), 1.0, bounds),
            variance(PublicSize(&rows), 1.0, bounds),
        ] {
            assert_eq!(error.unwrap_err().kind(), "Argument", "{bounds:?}");
        }
    }
    let texts = vec!["a".to_owned()];
    let error = mean(&texts, 1.0, BOUNDS).unwrap_err().to_string();
    assert!(error.contains("expected numbers, found String"), "{error}");
    assert!(
        median(&rows, 1.0, Vec::new()).is_err() && quantile(&rows, 1.0, 2.0, vec![1.0]).is_err()
    );
    assert!(histogram(&rows, 1.0, &[1, 1]).is_err());
    let few =
        [mean(PublicSize(&rows[..0]), 1.0, BOUNDS), variance(PublicSize(&rows[..1]), 1.0, BOUNDS)];
    for (least, error) in (1..).zip(few) {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("at least {least}, found {}", least - 1)), "{error}");
    }
}
#[test]
fn the_loss_is_at_most_epsilon_as_it_is_written() {
    let rows = ages();
    // Some of these floats are below their decimal numbers, and some are above.
    for epsilon in [0.1, 0.3, 0.7, 1.1, 2.3e-3, 1e-20] {
        for found in [
            count(&rows, epsilon),
            sum(PublicSize(&rows), epsilon, BOUNDS),
            median(&rows, epsilon, vec![1.0, 2.0]),
            histogram(&rows, epsilon, &[1]).map(|counts| counts[0].1),
        ] {
            let loss = found.unwrap().loss;
            assert!(loss <= epsilon && epsilon * (1.0 - 1e-7) < loss, "{loss} {epsilon}");
        }
    }
}
#[test]
fn rows_of_every_type_of_numbers_have_statistics() {
    macro_rules! check {
        ($($number:ty)*) => {$({
            let rows: Vec<$number> = (0..100).map(|row| row as $number).collect();
            let found = mean(&rows, 1e6, (0.0, 100.0)).unwrap();
            assert!((found.value - 49.5).abs() < 1e-2, "{found:?}");
        })*};
    }
    check!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64);
}
#[test]
fn no_rows_have_statistics_too() {
    let none: Vec<i64> = Vec::new();
    assert!(count(&none, 1.0).unwrap().value.abs() < 100.0);
    let found = mean(&none, 1.0, BOUNDS).unwrap();
    assert!((10.0..=90.0).contains(&found.value) && found.interval.is_some());
    variance(&none, 1.0, BOUNDS).unwrap();
    median(&none, 1.0, vec![1.0, 2.0]).unwrap();
}
