//! Sets of all values of an atomic type, optionally within bounds.

use std::marker::PhantomData;

use serde_json::{Value as Json, json};

use crate::domain::descriptor;
use crate::{Atom, Bounds, Codec, Domain, Error, IBig, Result, TheDomain, named};

/// The set of all values of an atomic type `T`, optionally within bounds.
///
/// A domain of floats states whether NaN is a member. An example in a pipeline document is
/// `{"atom_domain": {"T": "f64", "bounds": [0.0, 1.0], "nan": false}}`.
///
/// ```
/// # use opendp_core::{AtomDomain, Bounds, Domain};
/// let ages = AtomDomain::bounded(Bounds::new(0.0, 120.0)?);
/// assert!(ages.member(&30.5) && !ages.member(&f64::NAN) && !ages.member(&-1.0));
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AtomDomain<T> {
    bounds: Option<Bounds<T>>,
    nan: bool,
}

/// Permission for NaN to be a member. Only float types can have this permission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nan<T>(PhantomData<T>);
impl<T: Atom> Nan<T> {
    /// Permit NaN as a member.
    ///
    /// # Errors
    /// `MakeDomain` when `T` has no NaN.
    pub fn new() -> Result<Self> {
        if T::NULLABLE {
            Ok(Nan(PhantomData))
        } else {
            Err(Error::MakeDomain(format!(
                "nan: the type {} has no NaN; leave `nan` out",
                T::type_name()
            )))
        }
    }
}

impl<T: Atom> Default for AtomDomain<T> {
    /// Make the set of all values of the type `T`. For a float type, the set includes NaN.
    fn default() -> Self {
        AtomDomain { bounds: None, nan: T::NULLABLE }
    }
}

impl<T: Atom> AtomDomain<T> {
    /// Make the set of all values within the optional `bounds`. NaN is a member if `nan` is `Some`.
    pub fn new(bounds: Option<Bounds<T>>, nan: Option<Nan<T>>) -> Self {
        AtomDomain { bounds, nan: nan.is_some() }
    }
    /// Make the set of all values except NaN.
    pub fn non_nan() -> Self {
        AtomDomain { bounds: None, nan: false }
    }
    /// Make the set of all values within `bounds`.
    pub fn bounded(bounds: Bounds<T>) -> Self {
        AtomDomain { bounds: Some(bounds), nan: false }
    }
    /// Return the bounds, if there are any.
    pub fn bounds(&self) -> Option<&Bounds<T>> {
        self.bounds.as_ref()
    }
    /// Return whether NaN is a member.
    pub fn nan(&self) -> bool {
        self.nan
    }
    /// Return the bounds, or an error that explains how to get bounds.
    ///
    /// # Errors
    /// `MakeTransformation` when the domain has no bounds, or when NaN is a member.
    pub fn closed_bounds(&self) -> Result<&Bounds<T>> {
        match &self.bounds {
            Some(bounds) if !self.nan => Ok(bounds),
            _ => Err(Error::MakeTransformation(
                "input: the records must be bounded and not NaN; use `make_clamp` first".into(),
            )),
        }
    }
}

impl<T: Atom> Domain for AtomDomain<T> {
    type Carrier = T;
    fn member(&self, value: &T) -> bool {
        if value.is_null() {
            return self.nan;
        }
        self.bounds.as_ref().is_none_or(|bounds| bounds.contains(value))
    }
    fn to_json(&self) -> Json {
        descriptor(
            "atom_domain",
            [
                ("T", Some(json!(T::type_name().to_string()))),
                ("bounds", self.bounds.as_ref().map(Codec::to_json)),
                ("nan", T::NULLABLE.then_some(Json::Bool(self.nan))),
            ],
        )
    }
    fn read_cells(&self, cells: &[&str]) -> Option<Result<T>> {
        match cells {
            [cell] => Some(Ok(self.read(cell))),
            _ => None,
        }
    }
}
impl<T: Atom> AtomDomain<T> {
    /// Convert any external value to a member. If the domain contains NaN, a missing or unreadable
    /// value becomes NaN. Otherwise, NaN and a missing or unreadable value become the default value
    /// of the type. After this step, a value outside of the bounds becomes the nearest bound.
    pub fn admit(&self, value: Option<T>) -> T {
        let value = value.unwrap_or_else(T::unreadable);
        let value = if value.is_null() && !self.nan { T::default() } else { value };
        match &self.bounds {
            Some(bounds) if !value.is_null() => bounds.clamp(value),
            _ => value,
        }
    }
    pub(crate) fn read(&self, cell: &str) -> T {
        self.admit(T::from_cell(cell.trim()))
    }
}
named!(AtomDomain<T> as "AtomDomain");

/// Make the set of all values of an atomic type, optionally within bounds.
///
/// # Arguments
/// * `bounds` - a pair `[lower, upper]`; without it, the values are not bounded
/// * `nan` - whether NaN is a member; defaults to `true` for a float type without bounds, and to
///   `false` in all other cases
///
/// # Errors
/// `MakeDomain` when the lower bound exceeds the upper bound, or when `nan` is `true` for a type
/// without NaN. `FailedFunction` when a bound is NaN.
pub fn atom_domain<T: Atom>(
    bounds: Option<Bounds<T>>,
    nan: Option<bool>,
) -> Result<TheDomain<AtomDomain<T>>> {
    let nan = match nan.unwrap_or(T::NULLABLE && bounds.is_none()) {
        true => Some(Nan::new()?),
        false => None,
    };
    Ok(TheDomain(AtomDomain::new(bounds, nan)))
}

register! {
    "atom.rs": atom_domain(bounds = null, nan = null)
        for T in [
            i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, IBig, f32, f64, bool,
            String,
        ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decides_membership_by_bounds_and_nan() {
        let all = AtomDomain::<f64>::default();
        assert!([0.0, f64::INFINITY, f64::NAN].iter().all(|x| all.member(x)));
        let real = AtomDomain::<f64>::non_nan();
        assert!(real.member(&f64::INFINITY) && !real.member(&f64::NAN));
        let unit = AtomDomain::bounded(Bounds::new(0, 1).unwrap());
        assert!(unit.member(&1) && !unit.member(&2));
    }
    #[test]
    fn reads_any_cell_as_a_member() {
        let unit = AtomDomain::bounded(Bounds::new(0.5, 1.0).unwrap());
        for cell in ["", "x", "NaN", "1e400", "-5", " 0.75 ", "9223372036854775808", "٣"] {
            assert!(unit.member(&unit.read(cell)), "{cell}");
        }
        assert_eq!(unit.read(" 0.75 "), 0.75);
        assert!(AtomDomain::<f64>::default().read("x").is_nan());
        assert_eq!(AtomDomain::<i32>::default().read("2147483648"), 0);
        assert!(AtomDomain::<bool>::default().read("True"));
    }
    #[test]
    fn has_nan_only_where_the_type_does() {
        assert_eq!(atom_domain::<i32>(None, Some(true)).unwrap_err().kind(), "MakeDomain");
        assert!(atom_domain::<f32>(None, None).unwrap().0.nan());
        let bounds = Bounds::new(0.0, 1.0).unwrap();
        assert!(!atom_domain(Some(bounds), None).unwrap().0.nan());
        assert!(atom_domain(Some(bounds), Some(true)).unwrap().0.nan());
    }
    #[test]
    fn asks_for_bounds_by_the_name_of_the_constructor_that_makes_them() {
        let error = AtomDomain::<f64>::default().closed_bounds().unwrap_err();
        assert!(error.kind() == "MakeTransformation" && error.to_string().contains("make_clamp"));
    }
}
