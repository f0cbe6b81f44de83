//! Stages that act on each row alone.

use std::any::{Any, TypeId};
use std::{marker::PhantomData, sync::Arc};

use crate::erased::{AnyChunk, AnyValue, mixed_up};
use crate::{Carrier, Result, TypeName};

/// The definition of a stage, shared by all runs. Code that uses a `RowsStage` is compiled once for
/// all types of rows. Only the implementation of [`Append`] depends on the types of the rows.
pub(crate) trait RowsStage: Send + Sync {
    fn start(&self) -> Box<dyn Run>;
    /// If the last stage is a projection, return this projection and the stages before it.
    fn projection(&self) -> Option<Projection<'_>> {
        None
    }
}
/// The projection at the end of a function of rows. A projection moves each row to the nearest
/// member of a set.
pub(crate) struct Projection<'a> {
    pub(crate) set: &'a (dyn Any + Send + Sync),
    /// The stages before the projection, if there are any.
    pub(crate) before: Option<Arc<dyn RowsStage>>,
}
/// One run over the chunks of one input. A run has the buffers between the stages.
pub(crate) trait Run: Send + Sync {
    /// Set the type of the output buffer. If no chunk follows, this buffer is already the whole
    /// output.
    fn begin(&mut self, out: &mut AnyValue) -> Result<()>;
    fn append(&mut self, chunk: AnyChunk<'_>, out: &mut AnyValue) -> Result<()>;
}

/// The action of a stage on a chunk. The types of the chunk and of the output are erased.
pub(crate) trait Append: Send + Sync {
    fn append(&self, chunk: AnyChunk<'_>, out: &mut AnyValue) -> Result<()>;
}
/// A function that acts on each row alone, for
/// [`Function::rows_static`](crate::Function::rows_static). The types of the rows are looked up
/// once per chunk.
#[derive(Debug)]
pub struct Rows<F, I, O>(F, PhantomData<fn(&I) -> O>);
impl<F, I, O> Rows<F, I, O> {
    /// Make the function from a function of chunks. See [`Function::rows`](crate::Function::rows).
    pub const fn new(append: F) -> Self {
        Rows(append, PhantomData)
    }
}
/// The code of a stage. Code that is a constant needs no memory, and no code that allocates memory.
#[derive(Clone)]
pub(crate) enum Body {
    Shared(Arc<dyn Append>),
    Static(&'static dyn Append),
}
/// Erase the types of a function of typed chunks.
pub(crate) fn erased<I: Carrier, O: Carrier>(
    append: impl for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync + 'static,
) -> Body {
    Body::Shared(Arc::new(Rows::<_, I, O>::new(append)))
}
impl<I, O, F> Append for Rows<F, I, O>
where
    I: Carrier,
    O: Carrier,
    F: for<'a> Fn(I::Chunk<'a>, &mut O) -> Result<()> + Send + Sync,
{
    fn append(&self, chunk: AnyChunk<'_>, out: &mut AnyValue) -> Result<()> {
        if let Some(rows) = I::view(chunk)
            && let Some(out) = out.typed_buffer()
        {
            return (self.0)(rows, out);
        }
        unfit(chunk, TypeId::of::<I>, I::type_name)
    }
}
/// Return the error for a stage that cannot run. If the chunk is not of the type with the identity
/// `id` and the name `expected`, the error names both types. Otherwise, the output buffer has the
/// wrong type.
#[cold]
fn unfit(chunk: AnyChunk<'_>, id: fn() -> TypeId, expected: fn() -> TypeName) -> Result<()> {
    Err(if chunk.is(id()) { mixed_up() } else { chunk.another(expected) })
}

/// A single stage. If `empty` has a value, the output starts as this value, which has no rows.
/// Otherwise the output starts as an empty buffer. If the stage is a [`Projection`], `set` is the
/// set into which the stage moves the rows. Otherwise `set` is `None`.
#[derive(Clone)]
pub(crate) struct RowsLeaf {
    append: Body,
    /// A function that sets the type of a buffer to the type of the output rows.
    begin: fn(&mut AnyValue) -> Result<()>,
    empty: Option<AnyValue>,
    set: Option<Arc<dyn Any + Send + Sync>>,
}
impl RowsLeaf {
    /// Make a stage. `begin` sets the type of a buffer to the type of the output rows.
    pub(crate) fn new(append: Body, begin: fn(&mut AnyValue) -> Result<()>) -> Self {
        RowsLeaf { append, begin, empty: None, set: None }
    }
    pub(crate) fn onto(self, empty: AnyValue) -> Self {
        RowsLeaf { empty: Some(empty), ..self }
    }
    pub(crate) fn into_set(self, set: Arc<dyn Any + Send + Sync>) -> Self {
        RowsLeaf { set: Some(set), ..self }
    }
}
/// Set the type of an empty buffer to `O`. Return an error if the buffer has another type.
pub(crate) fn begin<O: Carrier>(out: &mut AnyValue) -> Result<()> {
    if out.typed_buffer::<O>().is_some() { Ok(()) } else { Err(mixed_up()) }
}
impl RowsStage for RowsLeaf {
    fn start(&self) -> Box<dyn Run> {
        Box::new(self.clone())
    }
    fn projection(&self) -> Option<Projection<'_>> {
        self.set.as_deref().map(|set| Projection { set, before: None })
    }
}
impl Run for RowsLeaf {
    fn begin(&mut self, out: &mut AnyValue) -> Result<()> {
        (self.begin)(out)?;
        if let Some(empty) = &self.empty {
            out.append_rows(empty.chunk());
        }
        Ok(())
    }
    fn append(&mut self, chunk: AnyChunk<'_>, out: &mut AnyValue) -> Result<()> {
        match &self.append {
            Body::Shared(body) => body.append(chunk, out),
            Body::Static(body) => body.append(chunk, out),
        }
    }
}

/// Two stages in one pass.
pub(crate) struct Sequence(pub(crate) Arc<dyn RowsStage>, pub(crate) Arc<dyn RowsStage>);
struct SequenceRun {
    first: Box<dyn Run>,
    buffer: AnyValue,
    second: Box<dyn Run>,
}
impl RowsStage for Sequence {
    fn start(&self) -> Box<dyn Run> {
        let (first, second) = (self.0.start(), self.1.start());
        Box::new(SequenceRun { first, buffer: AnyValue::buffer(), second })
    }
    fn projection(&self) -> Option<Projection<'_>> {
        let Projection { set, before } = self.1.projection()?;
        let before: Arc<dyn RowsStage> = match before {
            Some(before) => Arc::new(Sequence(self.0.clone(), before)),
            None => self.0.clone(),
        };
        Some(Projection { set, before: Some(before) })
    }
}
impl Run for SequenceRun {
    fn begin(&mut self, out: &mut AnyValue) -> Result<()> {
        self.second.begin(out)
    }
    fn append(&mut self, chunk: AnyChunk<'_>, out: &mut AnyValue) -> Result<()> {
        self.buffer.reset();
        self.first.append(chunk, &mut self.buffer)?;
        self.second.append(self.buffer.chunk(), out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::{Fold, Function, erased::AnyValue};

    /// A fold that clamps each row to at most `limit`, and adds up the clamped rows. If `set` has a
    /// value, the fold claims that it clamps each row to at most `set`.
    struct Sum {
        limit: i32,
        set: Option<i32>,
    }
    impl Fold<Vec<i32>, i64> for Sum {
        type State = i64;
        fn label(&self) -> String {
            "sum".into()
        }
        fn start(&self) -> i64 {
            0
        }
        fn absorb(&self, sum: &mut i64, rows: &[i32]) -> Result<()> {
            *sum += rows.iter().map(|row| i64::from(*row.min(&self.limit))).sum::<i64>();
            Ok(())
        }
        fn merge(&self, sum: &mut i64, other: i64) -> Result<()> {
            *sum += other;
            Ok(())
        }
        fn finish(&self, sum: i64) -> Result<i64> {
            Ok(sum)
        }
        fn projects(&self, set: &dyn Any) -> bool {
            self.set.is_some() && set.downcast_ref() == self.set.as_ref()
        }
    }
    /// Return a projection to the numbers up to ten, and a flag that records whether the projection
    /// has run.
    fn up_to_ten() -> (Function<Vec<i32>, Vec<i32>>, Arc<AtomicBool>) {
        let ran = Arc::new(AtomicBool::new(false));
        let note = ran.clone();
        let project = Function::projection(10_i32, move |rows: &[i32], out: &mut Vec<i32>| {
            note.store(true, Ordering::Relaxed);
            out.extend(rows.iter().map(|row| *row.min(&10)));
            Ok(())
        });
        (project, ran)
    }
    /// Chain a projection and a fold in several ways, and run each chain. Check that the projection
    /// ran in all chains or in none. Return whether the projection ran.
    #[track_caller]
    fn runs(limit: i32, set: Option<i32>, expected: i64) -> bool {
        let (project, ran) = up_to_ten();
        let sum = || Function::fold(Sum { limit, set });
        let rows = vec![3, 30, -300];
        let read = Function::rows(|texts: &[String], out: &mut Vec<i32>| {
            out.extend(texts.iter().map(|text| text.parse::<i32>().unwrap_or(0)));
            Ok(())
        });
        let same = Function::rows(|rows: &[i32], out: &mut Vec<i32>| {
            out.extend_from_slice(rows);
            Ok(())
        });
        let texts: Vec<String> = rows.iter().map(i32::to_string).collect();
        let mut found = Vec::new();
        let mut note = |sum: Result<i64>| {
            assert_eq!(sum, Ok(expected));
            found.push(ran.swap(false, Ordering::Relaxed));
        };
        let tail = || sum().then(&Function::map(|sum: &i64| Ok(*sum)));
        note(project.then(&sum()).eval(&rows));
        note(project.then(&tail()).eval(&rows));
        note(same.then(&project).then(&sum()).eval(&rows));
        note(same.then(&same.then(&project)).then(&tail()).eval(&rows));
        note(read.then(&project).then(&sum()).eval(&texts));
        note(project.then(&sum()).eval_chunks([Ok(rows.clone())]));
        let any = AnyValue::new(rows.clone());
        let number = |value: Result<AnyValue>| value.and_then(|value| value.downcast());
        note(number(project.then(&sum()).erase().eval(&any)));
        note(number(project.erase().then(&sum().erase()).eval(&any)));
        note(number(same.erase().then(&project.erase()).then(&tail().erase()).eval(&any)));
        assert!(found.iter().all(|ran| *ran == found[0]), "{found:?}");
        found[0]
    }

    #[test]
    fn a_projection_is_left_out_before_a_fold_that_projects_to_the_same_set() {
        assert!(!runs(10, Some(10), -287));
        assert!(runs(10, Some(11), -287));
        assert!(runs(10, None, -287));
        assert!(runs(i32::MAX, None, -287));
        // The library trusts the claim of a fold. The claim of this fold is wrong, so the result is
        // wrong too.
        assert!(!runs(i32::MAX, Some(10), -267));
    }
    #[test]
    fn a_projection_that_rows_follow_is_not_left_out() {
        let (project, ran) = up_to_ten();
        let double = Function::rows(|rows: &[i32], out: &mut Vec<i32>| {
            out.extend(rows.iter().map(|row| 2 * row));
            Ok(())
        });
        let sum = Function::fold(Sum { limit: 10, set: Some(10) });
        assert_eq!(project.then(&double).then(&sum).eval(&vec![7, 20]), Ok(20));
        assert!(ran.load(Ordering::Relaxed));
    }
    #[test]
    fn a_partial_result_of_an_erased_function_absorbs_typed_rows() {
        let sum = Function::fold(Sum { limit: 10, set: None }).erase();
        let mut partial = sum.start().unwrap();
        partial.absorb_typed(&vec![3, 30]).unwrap();
        partial.absorb(&AnyValue::new(vec![4])).unwrap();
        let error = partial.absorb_typed(&vec![3.0]).unwrap_err();
        assert!(matches!(error, crate::Error::Downcast { .. }), "{error}");
        assert_eq!(partial.finish().and_then(AnyValue::downcast::<i64>), Ok(17));
    }
}
