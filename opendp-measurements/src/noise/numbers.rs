//! Domains whose members contain one number or several numbers.

use std::borrow::Cow;
use std::slice;

use opendp_core::arith::Number;
use opendp_core::{Atom, AtomDomain, Domain, VectorDomain};

/// A domain whose members contain one number, or several numbers. The position of each number in
/// its member is public.
pub trait Numbers: Domain {
    /// The type of the numbers of a member.
    type Number: Atom;
    /// Return the count of numbers in a member. If members can have different counts, return
    /// `None`.
    fn count(&self) -> Option<usize>;
    /// Replace each number of a member by the result of `replace`, in the order of the numbers.
    ///
    /// # Errors
    /// The errors of `replace`.
    fn try_map<E>(
        data: &Self::Carrier,
        replace: impl FnMut(Self::Number) -> Result<Self::Number, E>,
    ) -> Result<Self::Carrier, E>;
    /// Copy a member, and let `replace` replace all numbers of the copy. `replace` can be called
    /// once with all numbers, or several times with some of the numbers.
    ///
    /// # Errors
    /// The errors of `replace`.
    fn try_replace<E>(
        data: &Self::Carrier,
        replace: &dyn Fn(&mut [Self::Number]) -> Result<(), E>,
    ) -> Result<Self::Carrier, E> {
        Self::try_map(data, |x| {
            let mut number = [x];
            replace(&mut number)?;
            let [number] = number;
            Ok(number)
        })
    }
}
impl<T: Atom> Numbers for AtomDomain<T> {
    type Number = T;
    fn count(&self) -> Option<usize> {
        Some(1)
    }
    fn try_map<E>(data: &T, mut replace: impl FnMut(T) -> Result<T, E>) -> Result<T, E> {
        replace(data.clone())
    }
    fn try_replace<E>(data: &T, replace: &dyn Fn(&mut [T]) -> Result<(), E>) -> Result<T, E> {
        let mut copy = data.clone();
        replace(slice::from_mut(&mut copy)).map(|()| copy)
    }
}
impl<T: Atom> Numbers for VectorDomain<AtomDomain<T>> {
    type Number = T;
    fn count(&self) -> Option<usize> {
        self.size()
    }
    fn try_map<E>(data: &Vec<T>, mut replace: impl FnMut(T) -> Result<T, E>) -> Result<Vec<T>, E> {
        let mut replaced = Vec::with_capacity(data.len());
        for number in data {
            replaced.push(replace(number.clone())?);
        }
        Ok(replaced)
    }
    fn try_replace<E>(
        data: &Vec<T>,
        replace: &dyn Fn(&mut [T]) -> Result<(), E>,
    ) -> Result<Vec<T>, E> {
        let mut copy = data.clone();
        replace(&mut copy).map(|()| copy)
    }
}

/// Replace an infinity by the largest or lowest finite number.
///
/// This replacement does not increase the distance between any two numbers. NaN becomes 0. A domain
/// of numbers that is used with a metric does not contain NaN.
#[inline]
pub(crate) fn finite<T: Number>(number: T) -> T {
    if number < T::FINITE_MIN {
        T::FINITE_MIN
    } else if T::FINITE_MAX < number {
        T::FINITE_MAX
    } else if Number::is_nan(number) {
        T::zero()
    } else {
        number
    }
}

/// Replace every infinity and every NaN as [`finite`] does.
pub(crate) fn all_finite<T: Number>(numbers: &[T]) -> Cow<'_, [T]> {
    // Each block of numbers is compared without an early exit, so that the processor can compare
    // several numbers at once. For NaN, both comparisons are false. So a NaN counts as not finite,
    // and `finite` replaces the NaN.
    for block in numbers.chunks(512) {
        let mut within = true;
        for number in block {
            within &= (T::FINITE_MIN <= *number) & (*number <= T::FINITE_MAX);
        }
        if !within {
            let mut replaced = numbers.to_vec();
            for number in &mut replaced {
                *number = finite(*number);
            }
            return Cow::Owned(replaced);
        }
    }
    Cow::Borrowed(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_in_order_and_stops_at_an_error() {
        type Vectors = VectorDomain<AtomDomain<i32>>;
        let double = |x: i32| if x < 9 { Ok(2 * x) } else { Err(x) };
        assert_eq!(Vectors::try_map(&vec![1, 2, 3], double), Ok(vec![2, 4, 6]));
        assert_eq!(Vectors::try_map(&vec![1, 10, 11], double), Err(10));
        assert_eq!(AtomDomain::<i32>::try_map(&4, double), Ok(8));
    }
    #[test]
    fn counts_what_is_public() {
        let vectors = VectorDomain::new(AtomDomain::<f64>::non_nan());
        assert_eq!(vectors.count(), None);
        assert_eq!(vectors.with_size(3).count(), Some(3));
        assert_eq!(AtomDomain::<u8>::default().count(), Some(1));
    }
    #[test]
    fn makes_numbers_finite() {
        let infinity = f64::INFINITY;
        assert_eq!([infinity, -infinity, 0.1].map(finite), [f64::MAX, f64::MIN, 0.1]);
        assert_eq!(finite(f32::INFINITY), f32::MAX);
        assert_eq!(finite(f64::NAN), 0.0);
        assert_eq!(finite(i8::MIN), i8::MIN);
        for (last, expected) in [(infinity, f64::MAX), (-infinity, f64::MIN), (f64::NAN, 0.0)] {
            let mut numbers = vec![f64::MIN, -0.0, f64::MAX];
            assert!(matches!(all_finite(&numbers), Cow::Borrowed(_)));
            numbers.resize(700, 0.5);
            numbers.push(last);
            assert_eq!(all_finite(&numbers)[700], expected);
        }
        assert!(matches!(all_finite(&[u64::MAX, 0]), Cow::Borrowed(_)));
    }
}
