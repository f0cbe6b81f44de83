//! Constructors of sums, with older names. Each name states an older method of summation. Each
//! constructor builds its own input space.
//!
//! All constructors call [`make_sum`]. So the sum does not depend on the method that the name
//! states, or on the order of the records. If a sum of integers is out of the range of the integer
//! type, the result is the nearest integer of this type.

use opendp_core::arith::{Directed, InfCast, Integer};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Bounds, Distance, Error, InsertDeleteDistance, MetricOn,
    Result, Space, SymmetricDistance, Transformation, VectorDomain,
};

use crate::symmetric::Records;
use crate::{Pairwise, Sequential, Summand, Summation, make_sum};

/// Define constructors that add up integers of type `T`. Each entry states the name of the
/// constructor, its arguments, the metric and the input space.
macro_rules! integer_sums {
    ($(
        $(#[$documentation:meta])*
        pub fn $name:ident($($argument:ident: $type:ty),+)
            on $metric:ty = $input:expr;
    )+) => {$(
        $(#[$documentation])*
        pub fn $name<T>(
            $($argument: $type),+
        ) -> Result<
            Transformation<VectorDomain<AtomDomain<T>>, $metric, AtomDomain<T>, AbsoluteDistance<T>>,
        >
        where
            T: Summand<Total = T> + Integer + Distance,
        {
            make_sum($input?)
        }
        register! {
            "sums.rs": $name($($argument),+)
                for T in integers = i32;
        }
    )+};
}

/// Define constructors that add up floats of type `S::Item`. An entry has the same form as an entry
/// of `integer_sums`.
macro_rules! float_sums {
    ($(
        $(#[$documentation:meta])*
        pub fn $name:ident($($argument:ident: $type:ty),+)
            on $metric:ty = $input:expr;
    )+) => {$(
        $(#[$documentation])*
        pub fn $name<S>(
            $($argument: $type),+
        ) -> Result<
            Transformation<
                VectorDomain<AtomDomain<S::Item>>,
                $metric,
                AtomDomain<f64>,
                AbsoluteDistance<f64>,
            >,
        >
        where
            S: Summation<Item: Summand<Total = f64>>,
        {
            make_sum($input?)
        }
        register! {
            "sums.rs": $name($($argument),+)
                for S in [Pairwise<f32>, Pairwise<f64>, Sequential<f32>, Sequential<f64>]
                    = Pairwise<f64>;
        }
    )+};
}

integer_sums! {
    /// Add up an unknown number of bounded integers of either sign with [`make_sum`].
    ///
    /// # Arguments
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `d_in * max(|L|, |U|)`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// The map returns `Overflow` when its value does not fit `T`.
    pub fn make_bounded_int_split_sum(bounds: Bounds<T>)
        on SymmetricDistance = bounded(None, bounds);

    /// Add up a known number of bounded integers of either sign with [`make_sum`].
    ///
    /// # Arguments
    /// * `size` - the number of records
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `floor(d_in / 2) * (U - L)`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// The map returns `Overflow` when its value does not fit `T`.
    pub fn make_sized_bounded_int_split_sum(size: usize, bounds: Bounds<T>)
        on SymmetricDistance = bounded(Some(size), bounds);

    /// Add up an unknown number of bounded integers of one sign with [`make_sum`].
    ///
    /// # Arguments
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// # Precondition
    /// Both bounds are at least zero, or both bounds are at most zero.
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `d_in * max(|L|, |U|)`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// `MakeTransformation` when the lower bound is negative and the upper bound is positive. The
    /// map returns `Overflow` when its value does not fit `T`.
    pub fn make_bounded_int_monotonic_sum(bounds: Bounds<T>)
        on SymmetricDistance = bounded(None, of_one_sign(bounds)?);

    /// Add up a known number of bounded integers of one sign with [`make_sum`].
    ///
    /// # Arguments
    /// * `size` - the number of records
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// # Precondition
    /// Both bounds are at least zero, or both bounds are at most zero.
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `floor(d_in / 2) * (U - L)`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// `MakeTransformation` when the lower bound is negative and the upper bound is positive. The
    /// map returns `Overflow` when its value does not fit `T`.
    pub fn make_sized_bounded_int_monotonic_sum(size: usize, bounds: Bounds<T>)
        on SymmetricDistance = bounded(Some(size), of_one_sign(bounds)?);

    /// Add up a sequence of bounded integers with [`make_sum`]. The number of integers is unknown.
    ///
    /// # Arguments
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `d_in * max(|L|, |U|)`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// The map returns `Overflow` when its value does not fit `T`.
    pub fn make_bounded_int_ordered_sum(bounds: Bounds<T>)
        on InsertDeleteDistance = bounded(None, bounds);

    /// Add up a sequence of bounded integers with [`make_sum`]. The number of integers is known.
    ///
    /// # Arguments
    /// * `size` - the number of records
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `floor(d_in / 2) * (U - L)`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// The map returns `Overflow` when its value does not fit `T`.
    pub fn make_sized_bounded_int_ordered_sum(size: usize, bounds: Bounds<T>)
        on InsertDeleteDistance = bounded(Some(size), bounds);

    /// Add up a known number of bounded integers with [`make_sum`]. The sum cannot overflow.
    ///
    /// # Arguments
    /// * `size` - the number of records
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// # Precondition
    /// Every sum of `size` integers within the bounds fits `T`.
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `floor(d_in / 2) * (U - L)`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// `MakeTransformation` when `T` cannot represent every possible sum. The map returns
    /// `Overflow` when its value does not fit `T`.
    pub fn make_sized_bounded_int_checked_sum(size: usize, bounds: Bounds<T>)
        on SymmetricDistance = bounded(Some(size), within_integers(size, bounds)?);
}

float_sums! {
    /// Add up an unknown number of bounded floats with [`make_sum`].
    ///
    /// # Arguments
    /// * `size_limit` - the largest expected number of records. This number does not change the
    ///   sum: the sum includes all records
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// The type argument `S` states a summation algorithm and a float type. The choice of the
    /// algorithm has no effect.
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `d_in * max(|L|, |U|)`, rounded up as in `make_sum`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// `MakeTransformation` when a bound is infinite, or when the sum of `size_limit` records can
    /// exceed the largest `f64`. The map returns `Overflow` when its value exceeds the largest
    /// `f64`.
    pub fn make_bounded_float_checked_sum(size_limit: usize, bounds: Bounds<S::Item>)
        on SymmetricDistance = bounded(None, within_floats(size_limit, bounds)?);

    /// Add up a known number of bounded floats with [`make_sum`].
    ///
    /// # Arguments
    /// * `size` - the number of records
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// The type argument `S` states a summation algorithm and a float type. The choice of the
    /// algorithm has no effect.
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `floor(d_in / 2) * (U - L)`, rounded up as in
    /// `make_sum`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// `MakeTransformation` when a bound is infinite, or when the sum of `size` records can exceed
    /// the largest `f64`. The map returns `Overflow` when its value exceeds the largest `f64`.
    pub fn make_sized_bounded_float_checked_sum(size: usize, bounds: Bounds<S::Item>)
        on SymmetricDistance = bounded(Some(size), bounds);

    /// Add up a sequence of bounded floats with [`make_sum`]. The number of floats is unknown.
    ///
    /// # Arguments
    /// * `size_limit` - the largest expected number of records. This number does not change the
    ///   sum: the sum includes all records
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// The type argument `S` states a summation algorithm and a float type. The choice of the
    /// algorithm has no effect.
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `d_in * max(|L|, |U|)`, rounded up as in `make_sum`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// `MakeTransformation` when a bound is infinite, or when the sum of `size_limit` records can
    /// exceed the largest `f64`. The map returns `Overflow` when its value exceeds the largest
    /// `f64`.
    pub fn make_bounded_float_ordered_sum(size_limit: usize, bounds: Bounds<S::Item>)
        on InsertDeleteDistance = bounded(None, within_floats(size_limit, bounds)?);

    /// Add up a sequence of bounded floats with [`make_sum`]. The number of floats is known.
    ///
    /// # Arguments
    /// * `size` - the number of records
    /// * `bounds` - a pair `[lower, upper]`; each record is between these bounds
    ///
    /// The type argument `S` states a summation algorithm and a float type. The choice of the
    /// algorithm has no effect.
    ///
    /// # Map
    /// Let `[L, U]` be the bounds. The map is `floor(d_in / 2) * (U - L)`, rounded up as in
    /// `make_sum`.
    ///
    /// # Proof
    /// The proof of `make_sum` applies.
    ///
    /// # Errors
    /// `MakeTransformation` when a bound is infinite, or when the sum of `size` records can exceed
    /// the largest `f64`. The map returns `Overflow` when its value exceeds the largest `f64`.
    pub fn make_sized_bounded_float_ordered_sum(size: usize, bounds: Bounds<S::Item>)
        on InsertDeleteDistance = bounded(Some(size), bounds);
}

/// Build the space of records within the bounds. If `size` is given, the space has this size.
fn bounded<T: Atom, M: MetricOn<Records<T>> + Default>(
    size: Option<usize>,
    bounds: Bounds<T>,
) -> Result<Space<Records<T>, M>> {
    let domain = VectorDomain::new(AtomDomain::bounded(bounds));
    Space::new(if let Some(size) = size { domain.with_size(size) } else { domain }, M::default())
}
/// Check that both bounds are at least zero, or that both bounds are at most zero.
fn of_one_sign<T: Atom + Integer>(bounds: Bounds<T>) -> Result<Bounds<T>> {
    if bounds.lower() < T::zero() && T::zero() < bounds.upper() {
        return Err(Error::MakeTransformation(format!(
            "bounds: expected bounds of one sign, found [{}, {}]; use a split or an ordered sum",
            bounds.lower(),
            bounds.upper()
        )));
    }
    Ok(bounds)
}
/// Check that every sum of `size` integers within the bounds fits `T`.
fn within_integers<T: Atom + Integer>(size: usize, bounds: Bounds<T>) -> Result<Bounds<T>> {
    let extreme = |bound: T| bound.to_i128()?.checked_mul(size.try_into().ok()?);
    for bound in [bounds.lower(), bounds.upper()] {
        if extreme(bound).is_none_or(|sum| T::saturating_from_i128(sum).to_i128() != Some(sum)) {
            return Err(potential(size));
        }
    }
    Ok(bounds)
}
/// Check that no sum of `size` floats within the bounds exceeds the largest `f64` in magnitude.
fn within_floats<T: Summand>(size: usize, bounds: Bounds<T>) -> Result<Bounds<T>> {
    for bound in [bounds.lower(), bounds.upper()] {
        let bound = bound.to_f64().unwrap_or(f64::NAN).abs();
        if f64::inf_cast(size)?.inf_mul(bound).is_err() {
            return Err(potential(size));
        }
    }
    Ok(bounds)
}
#[cold]
fn potential(size: usize) -> Error {
    Error::MakeTransformation(format!(
        "bounds: potential for overflow: a sum of {size} records may not fit its type; state \
         narrower bounds"
    ))
}

#[cfg(test)]
mod tests;
