//! The names of two summation algorithms.

use std::marker::PhantomData;

use opendp_core::named;

/// Pairwise summation. In this crate the name has no effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairwise<T>(PhantomData<fn() -> T>);
/// Summation from the first float to the last. In this crate the name has no effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential<T>(PhantomData<fn() -> T>);

/// The name of a summation algorithm, which documents may choose.
///
/// Summation algorithms differ in the growth of their rounding errors with the number of records.
/// In this crate sums are computed exactly, so the choice has no effect.
pub trait Summation: 'static {
    /// The type of the floats.
    type Item;
}
impl<T: 'static> Summation for Pairwise<T> {
    type Item = T;
}
impl<T: 'static> Summation for Sequential<T> {
    type Item = T;
}
named!(Pairwise<T> as "Pairwise", Sequential<T> as "Sequential");
