//! Check two probabilities: that an error exceeds its bound, and that an interval misses the truth.
//! Each of the two must be at most the stated probability.

use super::*;

#[test]
fn accuracy_is_kept_as_often_as_promised() {
    let context = pure(0.5, 1);
    let question = context.query().count().laplace().unwrap();
    let bound = question.accuracy(0.1).unwrap();
    let missed = |bound: f64| {
        let miss = |_: &i32| {
            let noisy = question.measurement().invoke(context.table()).unwrap();
            bound < (noisy - 1000).abs() as f64
        };
        (0..4000).filter(miss).count()
    };
    // At most 400 of 4000 draws are expected to exceed the bound. Seven standard deviations are
    // 133.
    assert!(missed(bound) < 534);
    assert!(534 < missed(bound / 2.0), "the control: half of the bound is not enough");
    let candidates: Vec<i64> = (0..100).collect();
    let question = context.query().column::<i64>("age").median(candidates).choose().unwrap();
    let ranks = question.accuracy(0.1).unwrap();
    let wide = |_: &i32| {
        let age = question.measurement().invoke(context.table()).unwrap();
        // There are ten rows for each year of age. So the distance in ranks between an age and the
        // median is ten times the distance between the age and 50, up to a difference below ten
        // ranks.
        ranks + 10.0 < ((age - 50).abs() * 10) as f64
    };
    assert!((0..1000).filter(wide).count() < 170);
    for bad in [0.0, -1.0, 1.5, f64::NAN] {
        assert_eq!(question.accuracy(bad).unwrap_err().kind(), "InvalidDistance");
    }
}
#[test]
fn chosen_categories_are_as_good_as_promised() {
    // Two categories have ten rows, and the other categories have no rows. So the count of a wrong
    // choice is ten below the count of a category with rows. If the bound is below ten, the error
    // of a wrong choice exceeds the bound.
    let categories = || [5, 6].into_iter().chain(100..118).collect::<Vec<i64>>();
    fn look<MO: Accounted>(budget: Budget<MO>, categories: Vec<i64>) -> (f64, usize) {
        let context = context(Ok(budget), Split::evenly(1));
        let ages = context.query().column::<i64>("age");
        let question = ages.top_k(2, categories).choose().unwrap();
        let chosen = || question.measurement().invoke(context.table()).unwrap();
        let missed = (0..2000).filter(|_: &i32| chosen().iter().any(|age| 100 <= *age));
        (question.accuracy(0.1).unwrap(), missed.count())
    }
    // At most 200 of 2000 draws are expected to exceed the bound. Seven standard deviations are 94.
    let seen_at = |amount| look(Budget::epsilon(amount).unwrap(), categories());
    let epsilon = 10.0 * seen_at(10.0).0 / 9.99;
    let (bound, missed) = seen_at(epsilon);
    assert!(9.9 < bound && bound < 10.0 && missed < 296, "{bound} {missed}");
    assert!(296 < seen_at(epsilon / 4.0).1, "the control: four times the noise exceeds the bound");
    let seen_at = |amount| look(Budget::rho(amount).unwrap(), categories());
    let rho = 10.0 * (seen_at(10.0).0 / 9.99).powi(2);
    let (bound, missed) = seen_at(rho);
    assert!(9.9 < bound && bound < 10.0 && missed < 296, "{bound} {missed}");
    assert!(296 < seen_at(rho / 16.0).1, "the control: four times the noise exceeds the bound");
    let context = pure(1.0, 1);
    let chosen = context.query().column::<i64>("age").top_k(2, vec![1, 2, 3]).choose().unwrap();
    chosen.release().unwrap();
    let report = context.report();
    assert_eq!(report.entries()[0].error_in, ErrorIn::Counts);
    assert!(report.to_string().contains(" rows"), "{report}");
}
#[test]
fn what_is_computed_from_answers_has_an_interval() {
    let context = pure(2.0, 2);
    let counts = context.query().column::<i64>("age").histogram((0..100).collect());
    let answer = counts.laplace().unwrap().release().unwrap();
    let cells = answer.estimates().unwrap();
    let adults = Estimate::sum(&cells[18..100]).unwrap();
    let (low, high) = adults.interval(1e-10).unwrap();
    assert!(low <= 820.0 && 820.0 <= high);
    // The bound on the error of the sum is below 0.3 times the sum of the bounds for the 82 single
    // cells.
    let single = cells[20].accuracy(0.05).unwrap();
    assert!(adults.accuracy(0.05).unwrap() < 0.3 * 82.0 * single);
    assert_eq!(single, answer.accuracy.unwrap());
    // The noise of an estimate is the same in every copy of the estimate. So the noise cancels in
    // the difference of two copies.
    let nothing = cells[3].minus(&answer.estimates().unwrap()[3]).unwrap();
    assert_eq!(nothing.accuracy(0.05), Ok(0.0));
    let copy = answer.clone();
    assert_eq!(copy.estimates().unwrap()[3].minus(&cells[3]).unwrap().accuracy(0.05), Ok(0.0));
    let sum = incomes(&context).sum().laplace().unwrap().release().unwrap();
    let (low, high) = sum.estimate().unwrap().quotient(&adults, 1e-10).unwrap();
    assert!(low <= 4_950_000.0 / 820.0 && 4_950_000.0 / 820.0 <= high);
    assert!(
        (sum.estimate().unwrap().accuracy(0.05).unwrap() / sum.accuracy.unwrap() - 1.0).abs()
            < 1e-9
    );
}
