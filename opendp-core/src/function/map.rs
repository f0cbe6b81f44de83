//! Stages that take a whole value.

use std::{marker::PhantomData, sync::Arc};

use super::stage::Stage;
use crate::erased::AnyValue;
use crate::{Carrier, Result};

/// A function of a whole value, between erased values.
pub(crate) trait MapStage: Send + Sync {
    /// Call the function with a value that the caller does not use afterwards. The function can
    /// move the value out of `input`.
    fn call(&self, input: &mut AnyValue) -> Result<AnyValue>;
    /// Call the function with a value that the caller still uses.
    fn call_on(&self, input: &AnyValue) -> Result<AnyValue> {
        self.call(&mut input.clone())
    }
}

/// A function that takes ownership of its input.
struct LastLeaf<I, O>(fn(I) -> Result<O>);
/// A dyn-compatible view of [`LastLeaf`].
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

/// A map of typed values. The values are not erased for the call.
pub(crate) trait TypedMap<I, O>: Send + Sync {
    fn call_typed(&self, input: &I) -> Result<O>;
}

/// A function of a typed value.
pub(crate) struct MapLeaf<F, I, O>(F, PhantomData<fn(&I) -> O>);
impl<I, O, F: Fn(&I) -> Result<O>> MapLeaf<F, I, O> {
    pub(crate) fn new(function: F) -> Self {
        MapLeaf(function, PhantomData)
    }
}
impl<I, O, F: Fn(&I) -> Result<O> + Send + Sync> TypedMap<I, O> for MapLeaf<F, I, O> {
    fn call_typed(&self, input: &I) -> Result<O> {
        (self.0)(input)
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
