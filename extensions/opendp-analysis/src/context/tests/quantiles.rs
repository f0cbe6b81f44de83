use super::*;

#[test]
fn several_quantiles_are_one_release_that_costs_what_they_cost_apart() {
    let context = pure(1.0, 1);
    let ages = || context.query().column::<i64>("age");
    let three = ages().quantiles(&[0.25, 0.5, 0.75], (0..100).collect()).choose().unwrap();
    // Each of four rows moves the ranks by at most 3/4, 1/2 and 3/4, in both directions.
    let loss = |scale: f64| 4.0 * (1.5 + 1.0 + 1.5) / scale;
    assert!((three.loss().unwrap() / loss(three.scale()) - 1.0).abs() < 1e-9);
    assert!(three.accuracy(0.05).unwrap() > three.scale() * (300.0_f64 / 0.05).ln() * 0.999);
    for _ in 0..40 {
        let context = pure(1.0, 1);
        let ages = context.query().column::<i64>("age");
        let three = ages.quantiles(&[0.25, 0.5, 0.75], (0..100).collect()).choose().unwrap();
        let chosen = three.release().unwrap().value;
        assert!(chosen.is_sorted() && chosen.len() == 3, "{chosen:?}");
    }
    let large = pure(1e6, 1);
    let ages = large.query().column::<i64>("age");
    let three = ages.quantiles(&[0.25, 0.5, 0.75], (0..100).collect()).choose().unwrap();
    let chosen = three.release().unwrap().value;
    assert!(chosen.iter().zip([25, 50, 75]).all(|(x, y)| (x - y).abs() <= 1), "{chosen:?}");
    for wrong in [&[][..], &[0.5, 0.25], &[0.5, f64::NAN]] {
        let refused = ages_of(&pure(1.0, 1)).quantiles(wrong, vec![1, 2]).choose().unwrap_err();
        assert!(refused.to_string().contains("increasing order"), "{refused}");
    }
}
fn ages_of<MO: Accounted>(context: &Context<MO>) -> Rows<'_, MO, i64> {
    context.query().column("age")
}
