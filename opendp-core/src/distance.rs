//! Distances: numbers, or tuples of them, that maps relate.

use std::fmt::{Debug, Display};

use crate::{AnyNumber, Codec, Error, Named, Result};

/// A distance between two members of a set, or between two distributions.
///
/// Distances are partially ordered: a pair is at most another when both of its parts are. (The
/// order of tuples in the standard library is lexicographic, which would let a small epsilon hide
/// a large delta.)
pub trait Distance: Named + Codec + Clone + Debug + Send + Sync {
    /// Decide whether this distance is at most `other` in every part.
    ///
    /// # Errors
    /// `InvalidDistance` when a part is NaN, `NotImplemented` when curves cannot be compared.
    fn at_most(&self, other: &Self) -> Result<bool>;
    /// Check that this is a distance: no part is negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when it is not.
    fn check(&self) -> Result<()>;
    /// Write for people.
    fn show(&self) -> String;
    /// The numbers that it is made of, up to three, where these are all that it is.
    #[doc(hidden)]
    fn numbers(&self) -> [Option<AnyNumber>; 3] {
        [None; 3]
    }
}

macro_rules! distances {
    ($($number:ident: $($t:ty)*;)*) => {$($(
        impl Distance for $t {
            fn at_most(&self, other: &Self) -> Result<bool> {
                compare(self, other)
            }
            fn check(&self) -> Result<()> {
                non_negative(self)
            }
            fn show(&self) -> String {
                self.to_string()
            }
            fn numbers(&self) -> [Option<AnyNumber>; 3] {
                [exact_number!($number self), None, None]
            }
        }
    )*)*};
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
fn non_negative<T: PartialOrd + Default + Display>(distance: &T) -> Result<()> {
    if *distance >= T::default() {
        Ok(())
    } else {
        Err(Error::FailedMap(format!("d_in: expected a distance of at least 0, found {distance}")))
    }
}

macro_rules! tuples {
    ($(($($t:ident $a:ident $b:ident),*))*) => {$(
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
            fn numbers(&self) -> [Option<AnyNumber>; 3] {
                let ($($a,)*) = self;
                let mut numbers = [None; 3];
                for (place, [first, second, _]) in numbers.iter_mut().zip([$($a.numbers()),*]) {
                    // A part that is itself made of several has no place of its own.
                    *place = first.filter(|_| second.is_none());
                }
                numbers
            }
        }
    )*};
}
tuples!((A a x, B b y) (A a x, B b y, C c z));

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
    fn shows_every_part() {
        assert_eq!((1_u32, 0.5, 2.0).show(), "(1, 0.5, 2)");
    }
}
