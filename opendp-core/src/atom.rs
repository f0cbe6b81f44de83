//! Atomic types. Records consist of values of these types.

use std::{fmt::Debug, hash::Hash, str::FromStr};

use crate::Carrier;
use crate::decimal::whole;

/// A type of single values: numbers, Booleans or strings.
pub trait Atom: Carrier + Clone + Default + PartialOrd + Debug {
    /// Whether NaN is a value of the type.
    const NULLABLE: bool = false;
    /// Whether the values are numbers. Metrics that measure differences of numbers, such as
    /// [`AbsoluteDistance`](crate::AbsoluteDistance), refuse domains of other values.
    const NUMERIC: bool = false;
    /// Return whether this value is NaN.
    fn is_null(&self) -> bool {
        false
    }
    /// Read a value from a cell of a table. Return `None` when the text is not a value of this
    /// type.
    ///
    /// An integer can be written as any decimal number whose value is an integer, such as `47.0` or
    /// `4.7e1`. Such a number is read exactly. An exponent must not add more than 1000 zeros to
    /// the digits.
    fn from_cell(cell: &str) -> Option<Self>;
    /// Return the value that replaces an unreadable cell.
    fn unreadable() -> Self {
        Self::default()
    }
}

/// An atomic type whose values can be keys of maps, because its equality is an equivalence
/// relation.
pub trait HashableAtom: Atom + Eq + Hash {}

impl Atom for String {
    fn from_cell(cell: &str) -> Option<Self> {
        Some(cell.to_owned())
    }
}
impl HashableAtom for String {}

macro_rules! integer_atoms {
    ($($t:ident)*) => {$(
        impl Atom for $t {
            const NUMERIC: bool = true;
            fn from_cell(cell: &str) -> Option<Self> {
                // Most cells contain only digits, so the fast standard parser runs first.
                $t::from_str(cell).ok().or_else(|| whole(cell)?.parse().ok())
            }
        }
        impl HashableAtom for $t {}
    )*};
}
integer_atoms!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

macro_rules! float_atoms {
    ($($t:ident)*) => {$(
        impl Atom for $t {
            const NULLABLE: bool = true;
            const NUMERIC: bool = true;
            fn is_null(&self) -> bool {
                self.is_nan()
            }
            fn from_cell(cell: &str) -> Option<Self> {
                $t::from_str(cell).ok()
            }
            fn unreadable() -> Self {
                $t::NAN
            }
        }
    )*};
}
float_atoms!(f32 f64);

impl Atom for bool {
    fn from_cell(cell: &str) -> Option<Self> {
        match cell {
            "1" | "true" | "True" | "TRUE" => Some(true),
            "0" | "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }
}
impl HashableAtom for bool {}
