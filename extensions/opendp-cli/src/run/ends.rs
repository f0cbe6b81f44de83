//! Released integers near the ends of their types.

use opendp_core::TypeName;
use serde_json::Value as Json;

/// The text about the accuracy of a release near an end.
pub(super) const NEAR_END: &str = "accuracy  not known: a number is near an end of its integer \
                                   type, so the true sum may be beyond this end. Use a wider \
                                   type, such as i64";

/// A release is near an end if a bound on the noise is at least the distance from the release to
/// the end. This constant is the probability with which the noise exceeds the bound. So if the true
/// sum is beyond an end, almost no release states an accuracy.
pub(super) const ALMOST_NEVER: f64 = 1e-12;

/// Return whether a released integer is so near to an end of its type that the noise can explain
/// the distance. Sums of integers saturate at the ends of their type, so the true sum may be beyond
/// this end. Then the error has no bound.
///
/// `errors` are the bounds on the errors of all numbers, or a common bound. They hold except with
/// the probability [`ALMOST_NEVER`]. `kind` is the type of the release. If the type is not known,
/// because a budget kept the release, compare with the ends of all types of 32 or more bits.
pub(super) fn is_near_end(release: &Json, errors: &[Option<f64>], kind: Option<&TypeName>) -> bool {
    let largest = errors.iter().flatten().fold(0.0_f64, |largest, error| largest.max(*error));
    let ends = ends(kind);
    let near = |number: &Json| {
        let number = number.to_string().parse::<i128>();
        number.is_ok_and(|x| ends.iter().any(|end| x.abs_diff(*end) as f64 <= largest))
    };
    match release {
        Json::Array(numbers) => numbers.iter().any(near),
        number => near(number),
    }
}
/// Return the ends of an integer type, or of the integers in a vector. A sum of unsigned integers
/// cannot be below 0, so 0 is left out.
fn ends(kind: Option<&TypeName>) -> Vec<i128> {
    let Some(kind) = kind else {
        return ["i32", "u32", "i64", "u64", "i128"]
            .iter()
            .flat_map(|name| ends_of(name))
            .collect();
    };
    let name = kind.to_string();
    let element = name.strip_prefix("Vec<").and_then(|rest| rest.strip_suffix('>'));
    ends_of(element.unwrap_or(&name))
}
fn ends_of(name: &str) -> Vec<i128> {
    match name {
        "i8" => vec![i8::MIN.into(), i8::MAX.into()],
        "i16" => vec![i16::MIN.into(), i16::MAX.into()],
        "i32" => vec![i32::MIN.into(), i32::MAX.into()],
        "i64" => vec![i64::MIN.into(), i64::MAX.into()],
        "i128" => vec![i128::MIN, i128::MAX],
        "u8" => vec![u8::MAX.into()],
        "u16" => vec![u16::MAX.into()],
        "u32" => vec![u32::MAX.into()],
        "u64" | "usize" => vec![u64::MAX.into()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::Named;
    use serde_json::json;

    fn near<T: Named>(release: Json, error: f64) -> bool {
        is_near_end(&release, &[Some(error)], Some(&T::type_name()))
    }

    #[test]
    fn integers_within_their_error_of_an_end_of_their_type_are_found() {
        assert!(near::<i32>(json!(i32::MAX), 0.0));
        assert!(near::<i32>(json!(i32::MAX - 10), 10.0));
        assert!(!near::<i32>(json!(i32::MAX - 10), 9.0));
        assert!(!near::<i64>(json!(i32::MAX), 10.0));
        assert!(near::<i64>(json!(i64::MIN + 5), 5.0));
        assert!(near::<Vec<u8>>(json!([0, 250]), 5.0));
        assert!(!near::<Vec<u8>>(json!([0, 240]), 5.0));
        // Floats do not saturate. Texts are no numbers.
        assert!(!near::<f64>(json!(2147483647.0), 10.0));
        assert!(!near::<String>(json!("2147483647"), 10.0));
        // The type of a kept release is not known.
        let kept = |release: Json| is_near_end(&release, &[Some(1.0)], None);
        assert!(kept(json!(u32::MAX)) && !kept(json!(255)));
    }
}
