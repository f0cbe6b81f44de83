//! Stages that take a whole value.

use std::{any::Any, marker::PhantomData, sync::Arc};

use super::stage::Stage;
use crate::erased::{AnyRef, AnyValue, mixed_up};
use crate::{Atom, Carrier, Chunk, Error, Result};

/// A function that needs its whole input at once. Its input and its output are erased values.
pub(crate) trait MapStage: Any + Send + Sync {
    /// Call the function with a value that the caller does not use afterwards. So the function can
    /// move the value out of `input`.
    fn call(&self, input: &mut AnyValue) -> Result<AnyValue>;
    /// Call the function with a value that the caller still uses.
    fn call_on(&self, input: AnyRef<'_>) -> Result<AnyValue> {
        self.call(&mut input.to_value())
    }
}

/// Two stages that do not run in one pass: the second stage runs on the whole output of the first.
pub(crate) struct InOrder(pub(super) Stage, pub(super) Stage);
impl MapStage for InOrder {
    fn call(&self, input: &mut AnyValue) -> Result<AnyValue> {
        self.1.call(self.0.call(input.take())?)
    }
    fn call_on(&self, input: AnyRef<'_>) -> Result<AnyValue> {
        self.1.call(self.0.run(input)?)
    }
}

/// A function that takes indices, and returns the rows of a value at these indices.
pub(super) struct RowsAt(pub(super) AnyValue);
impl MapStage for RowsAt {
    fn call(&self, input: &mut AnyValue) -> Result<AnyValue> {
        self.call_on(AnyRef::Erased(input))
    }
    fn call_on(&self, input: AnyRef<'_>) -> Result<AnyValue> {
        let (rows, places) = (self.0.chunk(), input.downcast_ref::<Vec<usize>>()?);
        let mut found = AnyValue::buffer();
        // If there are no indices, the result still has the type of the rows.
        found.append_rows(rows.narrow(0..0));
        for place in places {
            if rows.rows() <= *place {
                return Err(no_row());
            }
            found.append_rows(rows.narrow(*place..place + 1));
        }
        Ok(found)
    }
}

/// A function that takes an index, and returns the row with this index.
pub(super) struct RowAt {
    pub(super) rows: AnyValue,
    pub(super) row: fn(&AnyValue, usize) -> Result<AnyValue>,
}
impl MapStage for RowAt {
    fn call(&self, input: &mut AnyValue) -> Result<AnyValue> {
        self.call_on(AnyRef::Erased(input))
    }
    fn call_on(&self, input: AnyRef<'_>) -> Result<AnyValue> {
        (self.row)(&self.rows, *input.downcast_ref()?)
    }
}
/// Return the row of `rows` with an index.
pub(super) fn row<T: Atom>(rows: &AnyValue, place: usize) -> Result<AnyValue> {
    match rows.downcast_ref::<Vec<T>>() {
        Ok(rows) if place < rows.len() => Ok(AnyValue::new(rows[place].clone())),
        Ok(_) => Err(no_row()),
        Err(error) => Err(error),
    }
}
#[cold]
fn no_row() -> Error {
    Error::FailedFunction("no row has this index".into())
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
        self.call_on(AnyRef::Erased(input))
    }
    fn call_on(&self, input: AnyRef<'_>) -> Result<AnyValue> {
        AnyValue::of_result((self.0)(input.downcast_ref()?))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Error, Function};

    #[test]
    fn an_index_without_a_row_is_an_error() {
        let (rows, row) = (Function::rows_at(vec![5, 7]), Function::row_at(vec![5, 7]));
        assert_eq!(rows.eval(&vec![1, 1, 0]), Ok(vec![7, 7, 5]));
        assert_eq!(rows.eval(&vec![]), Ok(vec![]));
        assert_eq!(row.eval(&1), Ok(7));
        let missing = Error::FailedFunction("no row has this index".into());
        assert_eq!(rows.eval(&vec![0, 2]), Err(missing.clone()));
        assert_eq!(row.eval(&2), Err(missing));
    }
    #[test]
    fn stages_in_order_give_the_same_results_typed_and_erased() {
        let sum = Function::map(|rows: &Vec<i32>| Ok(rows.iter().sum::<i32>()));
        let twice = Function::map(|sum: &i32| Ok(2 * sum));
        let next = Function::rows(|rows: &[i32], out: &mut Vec<i32>| {
            out.extend(rows.iter().map(|row| row + 1));
            Ok(())
        });
        let chain = next.then(&sum).then(&twice);
        assert_eq!(chain.eval(&vec![1, 2]), Ok(10));
        let rows = crate::erased::AnyValue::new(vec![1, 2]);
        assert_eq!(chain.erase().eval(&rows).unwrap().downcast::<i32>(), Ok(10));
        assert!(!chain.streams());
    }
}
