//! The distances that maps take and return: numbers, tuples of numbers, privacy profiles and Renyi
//! curves.

use std::fmt::Debug;

use serde_json::Value as Json;

use crate::arith::{InfCast, Number, shown};
use crate::codec::{items, unexpected};
use crate::{AnyNumber, Codec, Error, Named, Result};

/// A distance between two members of a set, or between two distributions.
///
/// Distances are partially ordered. The pair `(a, b)` is at most `(c, d)` if `a <= c` and `b <= d`.
/// (The standard library compares tuples lexicographically. In that order, a pair with a smaller
/// first number is smaller, even if its second number is larger.)
pub trait Distance: Named + Codec + Clone + Debug + Send + Sync {
    /// Return whether every number in this distance is at most the number at the same position in
    /// `other`.
    ///
    /// # Errors
    /// `InvalidDistance` when a number is NaN. `NotImplemented` for privacy profiles and Renyi
    /// curves, which cannot be compared. `FailedCast` for erased distances of different types.
    fn at_most(&self, other: &Self) -> Result<bool>;
    /// Check that no number in this distance is negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when a number is negative or NaN.
    fn check(&self) -> Result<()>;
    /// Write the distance as text for people.
    fn show(&self) -> String;
    /// Let `self` be the loss of a measurement. Return a bound on the loss of a chain that consists
    /// of a transformation and this measurement. Defaults to `self`.
    ///
    /// A loss can contain a distribution that depends on the order of the two data sets. For
    /// example, the distribution for an added record can differ from the distribution for a removed
    /// record. This order is called the direction. Measurements on the same two data sets have the
    /// same direction, so their losses compose in one direction. A transformation before one of
    /// these measurements can exchange the two data sets for this measurement alone. So the loss of
    /// a chain must be a bound in both directions.
    #[must_use]
    fn in_either_direction(self) -> Self {
        self
    }
    /// Read a distance from JSON, and round it up to a value of this type. Use this function for a
    /// bound on the distance between two values.
    ///
    /// For an integer type, the number in JSON must be an integer, and it is not rounded. For a
    /// float type, the number is first rounded to the nearest `f64`, as most programs do. This
    /// `f64` is rounded again only if the float type has less precision than `f64`. Each part of a
    /// tuple is read by these rules. All other types use the default, which is
    /// [`Codec::from_json`].
    ///
    /// # Errors
    /// The errors of [`Codec::from_json`].
    fn from_json_up(json: &Json) -> Result<Self> {
        Self::from_json(json)
    }
    /// Read a distance from JSON, and round it down to a value of this type. Use this function for
    /// a number that the result of a map must not exceed. The rules of
    /// [`from_json_up`](Distance::from_json_up) apply, but an `f64` that is rounded again is
    /// rounded down.
    ///
    /// # Errors
    /// The errors of [`Codec::from_json`].
    fn from_json_down(json: &Json) -> Result<Self> {
        Self::from_json(json)
    }
    /// Return the numbers of a distance that consists of one to three numbers. The default returns
    /// no numbers, which is right for any other distance.
    #[doc(hidden)]
    fn numbers(&self) -> [Option<AnyNumber>; 3] {
        [None; 3]
    }
}

macro_rules! distances {
    ($($number:ident: $($t:ident)*;)*) => {$($(
        impl Distance for $t {
            fn at_most(&self, other: &Self) -> Result<bool> {
                compare(self, other)
            }
            fn check(&self) -> Result<()> {
                non_negative(*self)
            }
            fn show(&self) -> String {
                shown(*self).to_string()
            }
            fn numbers(&self) -> [Option<AnyNumber>; 3] {
                [exact_number!($number self), None, None]
            }
            read_directed!($t);
        }
    )*)*};
}
macro_rules! read_directed {
    (f32) => {
        fn from_json_up(json: &Json) -> Result<Self> {
            narrowed(f64::from_json(json)?, f32::inf_cast)
        }
        fn from_json_down(json: &Json) -> Result<Self> {
            narrowed(f64::from_json(json)?, f32::neg_inf_cast)
        }
    };
    ($t:ident) => {};
}
fn narrowed(value: f64, cast: impl Fn(f64) -> Result<f32>) -> Result<f32> {
    if !value.is_finite() {
        return Ok(value as f32);
    }
    cast(value).map_err(|_| {
        Error::FailedCast("expected a number of type f32, found a number outside its range".into())
    })
}
macro_rules! exact_number {
    (Integer $this:ident) => {
        i128::try_from(*$this).ok().map(AnyNumber::Integer)
    };
    (Float $this:ident) => {
        Some(AnyNumber::Float(f64::from(*$this)))
    };
}
distances! {
    Integer: i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize;
    Float: f32 f64;
}

fn compare<T: PartialOrd>(left: &T, right: &T) -> Result<bool> {
    match left.partial_cmp(right) {
        Some(order) => Ok(order.is_le()),
        None => Err(Error::InvalidDistance("expected a number, found NaN".into())),
    }
}
fn non_negative<T: Number>(distance: T) -> Result<()> {
    if distance >= T::zero() {
        Ok(())
    } else {
        let found = shown(distance);
        Err(Error::FailedMap(format!("expected a distance of at least 0, found {found}")))
    }
}

macro_rules! tuples {
    ($($n:literal ($($t:ident $a:ident $b:ident),*))*) => {$(
        impl<$($t: Distance),*> Distance for ($($t,)*) {
            fn at_most(&self, other: &Self) -> Result<bool> {
                let (($($a,)*), ($($b,)*)) = (self, other);
                Ok([$($a.at_most($b)?),*].iter().all(|fits| *fits))
            }
            fn check(&self) -> Result<()> {
                let ($($a,)*) = self;
                $($a.check()?;)*
                Ok(())
            }
            fn show(&self) -> String {
                let ($($a,)*) = self;
                format!("({})", [$($a.show()),*].join(", "))
            }
            fn in_either_direction(self) -> Self {
                let ($($a,)*) = self;
                ($($a.in_either_direction(),)*)
            }
            fn numbers(&self) -> [Option<AnyNumber>; 3] {
                let ($($a,)*) = self;
                let mut numbers = [None; 3];
                for (place, [first, second, _]) in numbers.iter_mut().zip([$($a.numbers()),*]) {
                    // Each element of the result holds one number. If a part of the tuple consists
                    // of several numbers, the element for this part is `None`.
                    *place = first.filter(|_| second.is_none());
                }
                numbers
            }
            fn from_json_up(json: &Json) -> Result<Self> {
                let expected = concat!("an array of ", $n, " items");
                let [$($a),*] = items(json, expected)? else { return Err(unexpected(expected, json)) };
                Ok(($($t::from_json_up($a)?,)*))
            }
            fn from_json_down(json: &Json) -> Result<Self> {
                let expected = concat!("an array of ", $n, " items");
                let [$($a),*] = items(json, expected)? else { return Err(unexpected(expected, json)) };
                Ok(($($t::from_json_down($a)?,)*))
            }
        }
    )*};
}
tuples!(2 (A a x, B b y) 3 (A a x, B b y, C c z));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_pairs_part_by_part() {
        assert!((0.5, 0.1).at_most(&(1.0, 0.1)).unwrap());
        assert!(!(0.5, 0.9).at_most(&(1.0, 0.1)).unwrap());
    }
    #[test]
    fn refuses_nan_and_negative_distances() {
        assert_eq!(1.0.at_most(&f64::NAN).unwrap_err().kind(), "InvalidDistance");
        assert_eq!((1_u32, -1.0).check().unwrap_err().kind(), "FailedMap");
        assert_eq!(f64::NAN.check().unwrap_err().kind(), "FailedMap");
        assert!(f64::INFINITY.check().is_ok() && (-0.0).check().is_ok());
    }
    #[test]
    fn a_distance_of_f32_is_read_upward_and_a_bound_downward() {
        // The f32 nearest to 0.7 is below 0.7, and the f32 nearest to 0.1 is above 0.1. So a
        // function that rounds to the nearest f32 would wrongly round 0.7 down in `from_json_up`,
        // and 0.1 up in `from_json_down`.
        let (seven, tenth): (Json, Json) = (0.7.into(), 0.1.into());
        for json in [&seven, &tenth] {
            let number = json.as_f64().unwrap();
            let (up, down) = (f32::from_json_up(json), f32::from_json_down(json));
            assert!(f64::from(down.clone().unwrap()) < number);
            assert_eq!(up, down.map(f32::next_up));
        }
        let three = serde_json::json!([1, 0.7, 0.7]);
        let up = <(u32, f32, f32)>::from_json_up(&three).unwrap();
        assert!(0.7 < f64::from(up.1) && up.1 == up.2);
        assert_eq!(f32::from_json_up(&1e-300.into()), Ok(f32::from_bits(1)));
        assert_eq!(f32::from_json_up(&1e300.into()).unwrap_err().kind(), "FailedCast");
        assert_eq!(f32::from_json_up(&"Infinity".into()), Ok(f32::INFINITY));
        assert_eq!(f64::from_json_up(&seven), Ok(0.7));
    }
    #[test]
    fn shows_every_part() {
        assert_eq!((1_u32, 0.5, 2.0).show(), "(1, 0.5, 2)");
        assert_eq!((1e300, 1e-9).show(), "(1e300, 1e-9)");
        let error = (-1e300).check().unwrap_err();
        assert_eq!(error.to_string(), "expected a distance of at least 0, found -1e300");
    }
}
