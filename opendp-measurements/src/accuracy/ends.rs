//! Released integers near the ends of their types.

use opendp_core::{Carrier, Domain, Measure, Measurement, Metric, TypeName};
use serde_json::Value as Json;

/// A release is near an end if a bound on the noise is at least the distance from the release to
/// the end. This constant is the probability with which the noise exceeds the bound. So if the true
/// sum is beyond an end, almost no release is far from this end.
const ALMOST_NEVER: f64 = 1e-12;

/// Return whether a released integer is so near to an end of its type that the noise can explain
/// the distance. Sums of integers saturate at the ends of their type, so the true sum may be beyond
/// this end. Then the error has no bound, so state no interval.
///
/// `release` is a release of this measurement, as JSON: a number, or a vector of numbers. `kind` is
/// its type. If the type is not known, compare with the ends of `i32`, `u32`, `i64`, `u64` and
/// `i128`. The lower ends of unsigned types and the ends of `u128` are left out.
/// Floats do not saturate, so the result for floats is `false`.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, is_near_end, make_laplace};
/// let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let release = make_laplace(sums, Scale::new(1.0)?, None)?;
/// let kind = <i32 as Named>::type_name();
/// assert!(is_near_end(&release, &(i32::MAX - 5).to_json(), Some(&kind)));
/// assert!(!is_near_end(&release, &1_000_000.to_json(), Some(&kind)));
/// # Ok::<(), Error>(())
/// ```
pub fn is_near_end<DI, MI, MO, TO>(
    measurement: &Measurement<DI, MI, MO, TO>,
    release: &Json,
    kind: Option<&TypeName>,
) -> bool
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Carrier,
{
    near(release, &measurement.accuracy(ALMOST_NEVER).unwrap_or_default(), kind)
}

/// Return whether a released number is within the largest of the errors of an end.
fn near(release: &Json, errors: &[Option<f64>], kind: Option<&TypeName>) -> bool {
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
        "i64" | "isize" => vec![i64::MIN.into(), i64::MAX.into()],
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
    use opendp_core::Named;
    use serde_json::{Value as Json, json};

    fn near<T: Named>(release: Json, error: f64) -> bool {
        super::near(&release, &[Some(error)], Some(&T::type_name()))
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
        let kept = |release: Json| super::near(&release, &[Some(1.0)], None);
        assert!(kept(json!(u32::MAX)) && !kept(json!(255)));
    }
}
