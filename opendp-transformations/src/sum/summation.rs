//! The names of two summation algorithms.

use std::marker::PhantomData;

use opendp_core::named;

/// The name of pairwise summation. In this crate, the name has no effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairwise<T>(PhantomData<fn() -> T>);
/// The name of the algorithm that adds floats one by one, from the first to the last. In this
/// crate, the name has no effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequential<T>(PhantomData<fn() -> T>);

/// The name of a summation algorithm. Pipeline documents can state this name.
///
/// Summation algorithms differ in how fast their rounding errors grow with the number of records.
/// In this crate, sums are computed exactly, so the choice of an algorithm has no effect.
pub trait Summation: 'static {
    /// The type of the floats that are added.
    type Item;
}
impl<T: 'static> Summation for Pairwise<T> {
    type Item = T;
}
impl<T: 'static> Summation for Sequential<T> {
    type Item = T;
}
named!(Pairwise<T> as "Pairwise", Sequential<T> as "Sequential");
