//! Released integers near the ends of their types.

use serde_json::Value as Json;

/// The text about the accuracy of a release near an end.
pub(super) const NEAR_END: &str = "accuracy  not known: a number is near an end of its integer \
                                   type, so the true sum may be beyond this end. Use a wider \
                                   type, such as i64";

/// Return whether a released integer is so near to an end of an integer type that the noise can
/// explain the distance. Sums of integers saturate at the ends of their type, so the true sum may
/// be beyond this end. Then the error has no bound.
///
/// Types of less than 32 bits are left out, because a sum of a wider type can easily have a value
/// near their ends. `errors` are the bounds on the errors of all numbers, or one bound for all.
pub(super) fn is_near_end(release: &Json, errors: &[Option<f64>]) -> bool {
    let largest = errors.iter().flatten().fold(0.0_f64, |largest, error| largest.max(*error));
    let near = |number: &Json| {
        let number = number.to_string().parse::<i128>();
        number.is_ok_and(|x| ENDS.iter().any(|end| x.abs_diff(*end) as f64 <= largest))
    };
    match release {
        Json::Array(numbers) => numbers.iter().any(near),
        number => near(number),
    }
}
const ENDS: [i128; 8] = [
    i32::MIN as i128,
    i32::MAX as i128,
    u32::MAX as i128,
    i64::MIN as i128,
    i64::MAX as i128,
    u64::MAX as i128,
    i128::MIN,
    i128::MAX,
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn integers_within_their_error_of_an_end_are_found() {
        for (release, error, near) in [
            (json!(i32::MAX), 0.0, true),
            (json!(i32::MAX - 10), 10.0, true),
            (json!(i32::MAX - 10), 9.0, false),
            (json!(i64::MIN + 5), 5.0, true),
            (json!([0, u32::MAX]), 0.0, true),
            (json!([0, 255]), 1000.0, false),
            // Floats do not saturate, and texts are no numbers.
            (json!(2147483647.0), 10.0, false),
            (json!("2147483647"), 10.0, false),
        ] {
            assert_eq!(is_near_end(&release, &[Some(error)]), near, "{release} {error}");
        }
    }
}
