//! Resizes data to a known size.

mod sample;

use opendp_core::random::{shuffle, uniform_below, with_secure};
use opendp_core::{
    Atom, AtomDomain, DatasetMetric, Domain, Error, Fold, Function, InsertDeleteDistance, MetricOn,
    Result, Space, StabilityMap, SymmetricDistance, Transformation, VectorDomain,
};
use serde_json::Value as Json;

use crate::dataset::resize::sample::Sample;

/// Resize data to a known size: add copies of a constant, or drop records.
///
/// # Arguments
/// * `size` - the number of records of the output
/// * `constant` - the record that is added if there are too few
///
/// # Precondition
/// `size` is at least 1, and `constant` is a member of the element domain of the input. `MO` is
/// `SymmetricDistance` or `InsertDeleteDistance`.
///
/// # Function
/// If there are too few records, copies of `constant` are appended. If there are too many, the
/// first `size` are kept. If the metric of the input counts the order of the records, nothing is
/// random. If it ignores the order, the records are put in a uniformly random order in two cases.
/// In the first case some records are dropped. Then the random order gives each record the same
/// probability of being kept. In the second case the metric of the output counts the order of the
/// records. Then the copies of `constant` are shuffled too.
///
/// If the metric of the input ignores the order, the data may come in chunks and on all cores. Each
/// core holds at most `size` records: if there are more, it keeps a uniform choice of them (see
/// `sample.rs`). At the end, the choice is put in a uniform order. This has the same distribution
/// as the first `size` records in a uniform order, which the proof uses. If the metric counts the
/// order, the data may come in chunks, in order, and the first `size` records are kept. There are
/// no partial results, because partial results are merged in any order.
///
/// # Postcondition
/// The output has `size` records, each one of the input or `constant`, in the element domain of the
/// input.
///
/// # Map
/// `d_out = 2 * d`, where `d` is `d_in`, or `2 * d_in` when the metric of the input counts replaced
/// records. Random outputs are compared at coupled draws, as in
/// [`make_ordered_random`](crate::make_ordered_random).
///
/// # Proof
/// Let one record `r` be added to `n` records, and `pad` be the records followed by copies of the
/// constant up to `size`. If `n < size`, `r` takes the place of one copy in `pad`. If `n >= size`,
/// `r` is added to `pad`.
///
/// *Ordered input.* In the first case, `r` is inserted and the last copy is deleted. In the second,
/// `r` is inserted, and the record that this moves out of the first `size` is deleted, unless `r`
/// itself is beyond them. This is at most one insertion and one deletion, so also at most one
/// record added and one removed.
///
/// *Unordered input, ordered output.* In the first case, use the same order for both: one position
/// differs. In the second, put the others in a uniform order and insert `r` at a uniform place,
/// which gives a uniform order of the larger data set; continue as with ordered input.
///
/// *Unordered input and output.* In the first case, `n + 1 <= size`, so no order is drawn: one copy
/// is replaced. In the second, couple as before; if `n = size`, the smaller data set is kept whole,
/// which is the set of its first `size` records in every order.
///
/// For larger distances, change one record at a time. The couplings of successive data sets combine
/// into one, and distances add up.
///
/// # Errors
/// `MakeTransformation` when `size` is 0, when `constant` is not a member of the element domain, or
/// when `MO` counts replaced records: use `make_metric_bounded` afterwards. The map gives
/// `Overflow` when its value does not fit `u32`. A run gives `NoEntropy` when the operating system
/// gives no random bits, and `FailedFunction` when memory is insufficient for `size` records.
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
    if size == 0 {
        return Err(Error::MakeTransformation("size: expected at least 1, found 0".into()));
    }
    if !input.domain().element().member(&constant) {
        return Err(Error::MakeTransformation(format!(
            "constant: expected a member of the element domain of the input, {}",
            input.domain().element().to_json()
        )));
    }
    let metric = MO::default();
    if metric.sized() {
        return Err(Error::MakeTransformation(
            "MO: expected a metric that counts records added and removed; use \
             `make_metric_bounded` afterwards"
                .into(),
        ));
    }
    let output = Space::new(input.domain().clone().with_size(size), metric)?;
    let arrange = Arrange::between(input.metric(), output.metric());
    let function = Function::fold(Resize { size, constant, arrange });
    let metric = input.metric().clone();
    let map = StabilityMap::new(move |d_in: &u32| {
        let d = metric.to_symmetric(*d_in)?;
        d.checked_mul(2).ok_or_else(|| overflow(*d_in))
    });
    Ok(Transformation::new(input, output, function, map))
}

register! {
    "resize.rs": make_resize(input, size, constant)
        for T in castable_atoms,
            M in unsized_metrics,
            MO in [SymmetricDistance, InsertDeleteDistance] = SymmetricDistance;
}

/// When the records are put in a random order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arrange {
    Never,
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
    /// Append copies of the constant, if there is enough memory: a document may ask for any number.
    fn fill(&self, records: &mut Vec<T>) -> Result<()> {
        let missing = self.size.saturating_sub(records.len());
        // The bytes of a text are allocated separately. Try to reserve memory for them, because
        // cloning one copy at a time cannot report a failure.
        let elsewhere = match self.constant.to_json() {
            Json::String(text) => missing.saturating_mul(text.len()),
            _ => 0,
        };
        let room = records.try_reserve_exact(missing);
        room.and_then(|()| Vec::<u8>::new().try_reserve_exact(elsewhere))
            .map_err(|_| no_memory(self.size))?;
        records.resize(self.size, self.constant.clone());
        Ok(())
    }
}
/// Its state is a uniform choice of at most `size` rows, or the first `size` rows if no order is
/// drawn.
struct Resize<T> {
    size: usize,
    constant: T,
    arrange: Arrange,
}
impl<T: Atom> Fold<Vec<T>, Vec<T>> for Resize<T> {
    type State = Sample<T>;
    fn label(&self) -> String {
        let (size, constant) = (self.size, self.constant.to_json());
        format!("{size} of {} or {constant}, {:?}", T::type_name(), self.arrange)
    }
    fn start(&self) -> Sample<T> {
        Sample::new()
    }
    fn absorb(&self, state: &mut Sample<T>, rows: &[T]) -> Result<()> {
        if self.in_order() {
            // No row replaces a row that was kept.
            return state.absorb(rows, self.size, |_| Ok(u64::MAX));
        }
        with_secure(|source| {
            state.absorb(rows, self.size, |bound| Ok(uniform_below(bound, source)?))
        })
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
            with_secure(|source| shuffle(&mut records, source))?;
        }
        Ok(records)
    }
    fn in_order(&self) -> bool {
        self.arrange == Arrange::Never
    }
}

#[cold]
fn no_memory(size: usize) -> Error {
    Error::FailedFunction(format!(
        "size: not enough memory for {size} records; choose a smaller size"
    ))
}
#[cold]
fn overflow(d_in: u32) -> Error {
    Error::Overflow(format!("d_in: twice the distance {d_in} exceeds the largest u32"))
}

#[cfg(test)]
mod tests;
