//! Resizes data to a known size.

mod sample;

use opendp_core::random::{securely, shuffle, uniform_below, with_secure};
use opendp_core::{
    Atom, AtomDomain, DatasetMetric, Domain, Error, Fold, Function, InsertDeleteDistance, MetricOn,
    Result, Space, StabilityMap, SymmetricDistance, Transformation, TypeName, VectorDomain,
};
use serde_json::Value as Json;

use crate::dataset::resize::sample::Sample;
use crate::symmetric::Changes;

/// Resize data to a known size: add copies of a constant, or drop records.
///
/// # Arguments
/// * `size` - the number of records of the output
/// * `constant` - the record that is added if there are too few records
///
/// # Precondition
/// `size` is at least 1, and `constant` is a member of the element domain of the input. `MO` is
/// `SymmetricDistance` or `InsertDeleteDistance`.
///
/// # Function
/// If there are too few records, copies of `constant` are appended. If there are too many records,
/// the first `size` records are kept. If the metric of the input depends on the order of the
/// records, the function uses no randomness. If the metric ignores the order, the records are put
/// into a uniformly random order in two cases. In the first case, some records are dropped. The
/// random order then gives each record the same probability to be kept. In the second case, the
/// metric of the output depends on the order. Then the copies of `constant` are shuffled too.
///
/// The data can arrive in chunks. If the metric of the input ignores the order, several threads can
/// read the chunks. Each thread keeps at most `size` records. If a thread gets more records, the
/// thread keeps a uniform choice of its records (see `sample.rs`). In the two cases above, the
/// records are put into a uniform order at the end. Now take a uniform order of all records and all
/// copies of `constant`. The output has the same distribution as the first `size` records in this
/// order. The proof describes the output as these first `size` records.
///
/// If the metric of the input depends on the order, the chunks must arrive in the order of the
/// records. Then the first `size` records are kept. In this case there are no partial results,
/// because partial results are merged in any order.
///
/// # Postcondition
/// The output has `size` records. Each record of the output is a record of the input or `constant`.
/// The element domain is the element domain of the input.
///
/// # Map
/// If the metric of the input counts replaced records, let `d` be `2 * d_in`. Otherwise let `d` be
/// `d_in`. If the size of the input is known, let `k` be `d / 2`, rounded up. Otherwise let `k` be
/// `d`. Then `d_out = 2 * k`. The map bounds the distance between random outputs whose draws are
/// coupled, as in [`make_ordered_random`](crate::make_ordered_random).
///
/// # Proof
/// Let `x` and `y` be two inputs. Then `y` is made from `x` by `r` deleted and `a` added records,
/// with `a + r <= d`. If the size is known, `a = r`, so both are at most `d / 2`. So `a <= k` and
/// `r <= k` in both cases.
///
/// Append copies of the constant to `x` until there are at least `size` records. Call the result
/// `x'`, and define `y'` in the same way. The *core* consists of the records of `x` that are not
/// deleted, and of the copies that `x'` and `y'` have in common. `x'` and `y'` each contain the
/// core and at most `k` other records:
///
/// - If `x` and `y` have fewer than `size` records, `x'` and `y'` have `size` records. The core
///   has `size - max(a, r)` records.
/// - If `x` and `y` have at least `size` records, nothing is appended. So `x'` has `r` other
///   records, and `y'` has `a` other records.
/// - If only `x` has at least `size` records, no copy is in the core, so `x'` has `r` other
///   records. `x'` has at least `size` records, and `y'` has exactly `size` records. So `y'` has at
///   most `r` other records. If only `y` has at least `size` records, then `x'` and `y'` each have
///   at most `a` other records. The reason is the same, with `x` and `y` exchanged.
///
/// *Ordered input.* The output is the first `size` records of `x'`. They consist of `j <= k` other
/// records, and of the first `size - j` records of the core. The same holds for `y'`, with a number
/// `j' <= k`. So the outputs share at least `size - k` records, in the same order. So one output
/// becomes the other by at most `k` deleted and at most `k` inserted records. The distance is at
/// most `2 * k`. This bound also holds in a metric that ignores the order.
///
/// *Unordered input.* Put the records of the core into a uniform order, which is the same for both
/// inputs. Then insert the other records of `x'` one by one at uniform places. The result is a
/// uniform order of `x'`. Do the same for `y'`. Then continue as for ordered input. If the metric
/// of the output ignores the order, and no record is dropped, the function draws no order. Without
/// an order, the output has the same records as with an order. So the coupling is valid here too.
///
/// # Errors
/// `MakeTransformation` when `size` is 0, or when `constant` is not a member of the element domain.
/// `MakeTransformation` when `MO` counts replaced records; to count replaced records, use
/// `make_metric_bounded` afterwards. The map returns `Overflow` when its value does not fit `u32`.
/// A run returns `NoEntropy` when the operating system provides no random bits. A run returns
/// `FailedFunction` when there is not enough memory for `size` records.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_resize;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let resize = make_resize::<_, _, SymmetricDistance>(input, 4, 9)?;
/// assert_eq!(resize.invoke(&vec![1, 2])?, [1, 2, 9, 9]);
/// assert_eq!(resize.map(&1)?, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn make_resize<T, M, MO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    size: usize,
    constant: T,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<T>>, MO>>
where
    T: Atom,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    MO: DatasetMetric + Default + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    let metric = MO::default();
    check(size, input.domain().element(), &constant, metric.sized())?;
    let output = Space::new(input.domain().clone().with_size(size), metric)?;
    let arrange = Arrange::between(input.metric(), output.metric());
    let function = Function::fold(Resize { size, constant, arrange });
    let map = two_for_each(input.metric().clone(), input.domain().size().is_some());
    Ok(Transformation::new(input, output, function, map))
}
/// Check the arguments of `make_resize`. `sized` states whether the output metric needs data sets
/// of one size.
fn check<T: Atom>(size: usize, element: &AtomDomain<T>, constant: &T, sized: bool) -> Result<()> {
    let reason = if size == 0 {
        "size: expected at least 1, found 0".to_owned()
    } else if !element.member(constant) {
        let element = element.to_json();
        format!("constant: expected a member of the element domain of the input, {element}")
    } else if sized {
        "MO: expected a metric that counts records added and removed; to change this metric, \
         append `make_metric_bounded`"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(Error::MakeTransformation(reason))
}
/// Build the map of `make_resize`. `sized` states whether the size of the input is known.
fn two_for_each<M: DatasetMetric, MO: DatasetMetric>(
    metric: M,
    sized: bool,
) -> StabilityMap<M, MO> {
    StabilityMap::new(move |d_in: &u32| {
        let Changes { largest, .. } = Changes::of(&metric, sized, *d_in)?;
        largest.checked_mul(2).ok_or_else(|| overflow(*d_in))
    })
}

register! {
    "resize.rs": make_resize(input, size, constant)
        for T in castable_atoms,
            M in unsized_metrics,
            MO in [SymmetricDistance, InsertDeleteDistance] = SymmetricDistance;
}

/// States when the records are put into a random order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arrange {
    Never,
    /// Only if some records are dropped.
    ToLeaveSomeOut,
    Always,
}
impl Arrange {
    fn between(input: &impl DatasetMetric, output: &impl DatasetMetric) -> Self {
        match (input.ordered(), output.ordered()) {
            (true, _) => Arrange::Never,
            (false, false) => Arrange::ToLeaveSomeOut,
            (false, true) => Arrange::Always,
        }
    }
}
impl<T: Atom> Resize<T> {
    /// Append copies of the constant until there are `size` records. A pipeline document can state
    /// any size. So return `FailedFunction` if there is not enough memory.
    fn fill(&self, records: &mut Vec<T>) -> Result<()> {
        let missing = self.size.saturating_sub(records.len());
        // The bytes of a text are allocated separately. Try to reserve memory for these bytes,
        // because a clone cannot report that memory is missing. Reserve memory for `size` texts, so
        // that the error does not depend on the number of records.
        let elsewhere = match self.constant.to_json() {
            Json::String(text) => self.size.saturating_mul(text.len()),
            _ => 0,
        };
        let room = records.try_reserve_exact(missing);
        room.and_then(|()| Vec::<u8>::new().try_reserve_exact(elsewhere))
            .map_err(|_| no_memory(self.size))?;
        records.resize(self.size, self.constant.clone());
        Ok(())
    }
}
/// The fold of `make_resize`. The state is a uniform choice of at most `size` rows. If the order is
/// never random, the state is the first `size` rows.
struct Resize<T> {
    size: usize,
    constant: T,
    arrange: Arrange,
}
impl<T: Atom> Fold<Vec<T>, Vec<T>> for Resize<T> {
    type State = Sample<T>;
    fn label(&self) -> String {
        label(self.size, T::type_name, &self.constant.to_json(), self.arrange)
    }
    fn start(&self) -> Sample<T> {
        Sample::new()
    }
    fn absorb(&self, state: &mut Sample<T>, rows: &[T]) -> Result<()> {
        if self.in_order() {
            // The index `u64::MAX` is never below `size`, so no row replaces a row that was kept.
            return state.absorb(rows, self.size, |_| Ok(u64::MAX));
        }
        Ok(securely(&mut |source| {
            state.absorb(rows, self.size, |bound| uniform_below(bound, source))
        })?)
    }
    fn merge(&self, state: &mut Sample<T>, other: Sample<T>) -> Result<()> {
        with_secure(|source| {
            state.merge(other, self.size, |bound| Ok(uniform_below(bound, source)?))
        })
    }
    fn finish(&self, state: Sample<T>) -> Result<Vec<T>> {
        let (mut records, left_out) = state.finish();
        self.fill(&mut records)?;
        let arrange = match self.arrange {
            Arrange::Never => false,
            Arrange::ToLeaveSomeOut => left_out,
            Arrange::Always => true,
        };
        if arrange {
            securely(&mut |source| shuffle(&mut records, source))?;
        }
        Ok(records)
    }
    fn in_order(&self) -> bool {
        self.arrange == Arrange::Never
    }
}

fn label(size: usize, name: fn() -> TypeName, constant: &Json, arrange: Arrange) -> String {
    format!("{size} of {} or {constant}, {arrange:?}", name())
}
#[cold]
fn no_memory(size: usize) -> Error {
    Error::FailedFunction(format!(
        "size: not enough memory for {size} records; choose a smaller size"
    ))
}
#[cold]
fn overflow(d_in: u32) -> Error {
    Error::Overflow(format!("d_in: the bound for the distance {d_in} exceeds the largest u32"))
}

#[cfg(test)]
mod tests;
