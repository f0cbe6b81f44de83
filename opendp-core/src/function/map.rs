//! Stages that take a whole value.

use std::{any::Any, marker::PhantomData, sync::Arc};

use super::Stage;
use crate::erased::AnyValue;
use crate::{Carrier, Result};

/// A function of a whole value, between erased values.
pub(crate) trait MapStage: Any + Send + Sync {
    /// Call with a value that is not used afterwards, and may be moved out.
    fn call(&self, input: &mut AnyValue) -> Result<AnyValue>;
    /// Call with a value that is still used.
    fn call_on(&self, input: &AnyValue) -> Result<AnyValue> {
        self.call(&mut input.clone())
    }
}

/// A function that takes its value by move.
struct LastLeaf<I, O>(fn(I) -> Result<O>);
/// A dyn-compatible view of it.
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
    pub(crate) fn stage(function: F) -> Stage {
        Stage::Map(Arc::new(MapLeaf(function, PhantomData)))
    }
    /// Call the closure of a stage directly, without erasing anything.
    pub(crate) fn call_typed(stage: &Stage, input: &I) -> Result<O> {
        if let Stage::Map(map) = stage
            && let Some(leaf) = (&**map as &dyn Any).downcast_ref::<Self>()
        {
            return (leaf.0)(input);
        }
        stage.eval(input)
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
