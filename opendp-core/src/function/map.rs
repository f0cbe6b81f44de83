//! Stages that take a whole value.

use std::{any::Any, marker::PhantomData, sync::Arc};

use super::stage::Stage;
use crate::erased::{AnyValue, mixed_up};
use crate::{Carrier, Result};

/// A function that needs its whole input at once. Its input and its output are erased values.
pub(crate) trait MapStage: Any + Send + Sync {
    /// Call the function with a value that the caller does not use afterwards. So the function can
    /// move the value out of `input`.
    fn call(&self, input: &mut AnyValue) -> Result<AnyValue>;
    /// Call the function with a value that the caller still uses.
    fn call_on(&self, input: &AnyValue) -> Result<AnyValue> {
        self.call(&mut input.clone())
    }
}

/// A function that takes ownership of its input.
struct LastLeaf<I, O>(fn(I) -> Result<O>);
/// A function that takes ownership of its input, as a trait object. The trait does not name the
/// types of the input and the output.
pub(crate) trait Last {
    fn stage(&self) -> Stage;
}
impl<I: Carrier, O: Carrier> Last for fn(I) -> Result<O> {
    fn stage(&self) -> Stage {
        Stage::Map(Arc::new(LastLeaf(*self)))
    }
}
impl<I: Carrier, O: Carrier> MapStage for LastLeaf<I, O> {
    fn call(&self, input: &mut AnyValue) -> Result<AnyValue> {
        AnyValue::of_result((self.0)(input.take().downcast()?))
    }
}

/// A function of a typed value.
pub(crate) struct MapLeaf<F, I, O>(F, PhantomData<fn(&I) -> O>);
impl<I, O, F> MapLeaf<F, I, O>
where
    I: Carrier,
    O: Carrier,
    F: Fn(&I) -> Result<O> + Send + Sync + 'static,
{
    pub(crate) fn new(function: F) -> Self {
        MapLeaf(function, PhantomData)
    }
    /// Call the function of a stage with a typed value. Neither the input nor the output is erased
    /// for this call.
    pub(crate) fn eval(stage: &Stage, input: &I) -> Result<O> {
        match stage.leaf().downcast_ref::<Self>() {
            Some(leaf) => (leaf.0)(input),
            None => Err(mixed_up()),
        }
    }
}
impl<I, O, F> MapStage for MapLeaf<F, I, O>
where
    I: Carrier,
    O: Carrier,
    F: Fn(&I) -> Result<O> + Send + Sync + 'static,
{
    fn call(&self, input: &mut AnyValue) -> Result<AnyValue> {
        self.call_on(input)
    }
    fn call_on(&self, input: &AnyValue) -> Result<AnyValue> {
        AnyValue::of_result((self.0)(input.downcast_ref()?))
    }
}
