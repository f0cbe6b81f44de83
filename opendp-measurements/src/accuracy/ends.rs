//! Released integers near the ends of their types. The ends of a type are its least and its largest
//! value.

use opendp_core::{Carrier, Domain, Measure, Measurement, Metric, TypeName};
use serde_json::Value as Json;

use crate::collected::Collected;

/// A release is near an end if a bound on the noise is at least the distance from the release to
/// the end. The noise exceeds this bound with a probability of at most this constant. So if the
/// true sum is beyond an end, almost no release is far from this end.
const ALMOST_NEVER: f64 = 1e-12;

/// Return whether a released integer is near an end of its type: the least or the largest value. An
/// integer is near an end if the noise can be as large as the distance to this end. Sums of
/// integers saturate at the ends of their type. So if the released integer is near an end, the true
/// sum may be beyond this end. If the result is `true`, the error has no bound, and the caller must
/// not state an interval.
///
/// `release` is a release of this measurement, as JSON. A release is a number, or contains numbers
/// in lists and objects at any depth. Each number is compared with the ends of all integer types
/// among the [types of the answers](Measurement::answer_types). If such a type is not known, the
/// number is compared with the ends of all integer types. The lower ends of unsigned types are left
/// out, because a sum of unsigned integers cannot be below 0. Floats do not saturate, so the result
/// for floats is `false`. If the accuracy of the measurement is not known, only an integer that
/// equals an end is near this end.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, is_near_end, make_laplace};
/// let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let release = make_laplace(sums, Scale::new(1.0)?, None)?;
/// assert!(is_near_end(&release, &(i32::MAX - 5).to_json()));
/// assert!(!is_near_end(&release, &1_000_000.to_json()));
/// # Ok::<(), Error>(())
/// ```
pub fn is_near_end<DI, MI, MO, TO>(
    measurement: &Measurement<DI, MI, MO, TO>,
    release: &Json,
) -> bool
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Carrier,
{
    let errors = measurement.accuracy(ALMOST_NEVER).unwrap_or_default();
    near(release, &errors, &measurement.answer_types())
}

/// Return whether the distance from a released number to an end of its type is at most the largest
/// of `errors`.
fn near(release: &Json, errors: &[Option<f64>], types: &[TypeName]) -> bool {
    let largest = errors.iter().flatten().fold(0.0_f64, |largest, error| largest.max(*error));
    let ends: Vec<Signed> = types.iter().flat_map(ends).collected();
    any_near(release, &ends, largest)
}
fn any_near(release: &Json, ends: &[Signed], error: f64) -> bool {
    match release {
        Json::Array(items) => items.iter().any(|item| any_near(item, ends, error)),
        Json::Object(entries) => entries.values().any(|item| any_near(item, ends, error)),
        number => {
            let number = Signed::read(&number.to_string());
            number.is_some_and(|x| ends.iter().any(|end| x.distance(*end) as f64 <= error))
        }
    }
}
/// The sign and the magnitude of an integer of at most 128 bits.
#[derive(Clone, Copy)]
struct Signed {
    negative: bool,
    size: u128,
}
impl Signed {
    fn read(text: &str) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        Some(Signed { negative, size: digits.parse().ok()? })
    }
    /// Return the distance between two integers, or the largest `u128` if the distance is larger.
    fn distance(self, other: Self) -> u128 {
        if self.negative == other.negative {
            return self.size.abs_diff(other.size);
        }
        self.size.saturating_add(other.size)
    }
}
/// Return the ends of the integer types that occur in the name of a type, such as `Vec<i32>`. If
/// the name contains a type that is known only at run time, return the ends of all integer types. A
/// sum of unsigned integers cannot be below 0, so 0 is left out.
fn ends(kind: &TypeName) -> Vec<Signed> {
    let name = kind.to_string();
    if name.contains("Any") {
        let all =
            [8, 16, 32, 64, 128].iter().flat_map(|bits| [format!("i{bits}"), format!("u{bits}")]);
        return all.flat_map(|name| ends_of(&name)).collected();
    }
    name.split(|c: char| !c.is_alphanumeric()).flat_map(ends_of).collected()
}
fn ends_of(name: &str) -> Vec<Signed> {
    let (signed, bits) = match name {
        "isize" | "usize" => (name == "isize", usize::BITS),
        _ => match (name.strip_prefix('i'), name.strip_prefix('u')) {
            (Some(bits), _) => (true, bits.parse().unwrap_or(0)),
            (_, Some(bits)) => (false, bits.parse().unwrap_or(0)),
            _ => (false, 0),
        },
    };
    let Some(highest) = u128::MAX.checked_shr(128_u32.saturating_sub(bits)) else {
        return Vec::new();
    };
    let end = |negative, size| Signed { negative, size };
    if signed {
        return vec![end(true, highest / 2 + 1), end(false, highest / 2)];
    }
    vec![end(false, highest)]
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use opendp_core::erased::AnyValue;
    use opendp_core::{AbsoluteDistance, AtomDomain, Codec, Named, Space};
    use serde_json::{Value as Json, json};

    use crate::{Scale, make_composition, make_laplace};

    fn near<T: Named>(release: Json, error: f64) -> bool {
        super::near(&release, &[Some(error)], &[T::type_name()])
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
        let wide = |number: u128| near::<u128>(number.to_json(), 5.0);
        assert!(wide(u128::MAX - 5) && !wide(u128::MAX - 6) && !wide(i128::MAX as u128));
        // Floats do not saturate. A text is not a number.
        assert!(!near::<f64>(json!(2147483647.0), 10.0));
        assert!(!near::<String>(json!("2147483647"), 10.0));
        // The values of a map are compared, too.
        assert!(near::<HashMap<String, i16>>(json!({"a": 0, "b": i16::MAX}), 0.0));
        // If the type is not known, the ends of all integer types are compared.
        assert!(near::<AnyValue>(json!([[255]]), 0.0) && !near::<AnyValue>(json!([[250]]), 1.0));
    }
    /// If the members of a composition are erased, the type of the composition does not name the
    /// types of the members' answers. Check that the types are still known.
    #[test]
    fn the_types_of_the_members_of_a_composition_are_known() {
        let sums = Space::new(AtomDomain::<i8>::default(), AbsoluteDistance::<i8>::new()).unwrap();
        let noisy = make_laplace(sums, Scale::new(1.0).unwrap(), None).unwrap().erase();
        let both = make_composition(vec![noisy.clone(), noisy]).unwrap().erase();
        let nested = make_composition(vec![both.clone()]).unwrap();
        assert_eq!(nested.answer_types(), [i8::type_name(), i8::type_name()]);
        assert!(super::is_near_end(&nested, &json!([[0, 127]])));
        assert!(!super::is_near_end(&nested, &json!([[0, 30]])));
        assert!(!super::is_near_end(&both, &json!([32_767, 0])));
    }
}
