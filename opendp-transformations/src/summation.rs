//! The names of two ways to add floats.

use std::marker::PhantomData;

use opendp_core::named;

/// Adding floats two by two, then their sums two by two. Here a name without effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairwise<T>(PhantomData<fn() -> T>);
/// Adding floats from the first to the last. Here a name without effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential<T>(PhantomData<fn() -> T>);

/// The name of a way to add floats, which documents may choose.
///
/// Ways to add differ in how their rounding errors grow with the number of records. In this crate
/// sums are exact while they are computed, so that the choice makes no difference.
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
