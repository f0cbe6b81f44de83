//! Counts the records in each of the given categories.

use opendp_core::arith::{Directed, DirectedFloat, InfCast};
use opendp_core::{
    AtomDomain, Codec, DatasetMetric, Error, Fold, Function, L1Distance, L2Distance, Metric,
    MetricOn, Named, Result, Space, StabilityMap, Transformation, TypeName, VectorDomain,
};
use serde_json::Value as Json;

use crate::count::counts::Counts;
use crate::count::key::LongKey;
use crate::count::table::Table;
use crate::rows::each::Input;
use crate::symmetric::{Changes, as_count};
use crate::{Key, Tally};

/// Count the records in each of the given categories.
///
/// # Arguments
/// * `categories` - the different values to count
/// * `null_category` - whether an additional last cell counts the records that are in no category
///
/// # Precondition
/// No category occurs twice. `MO` is `L1Distance` or `L2Distance`.
///
/// # Postcondition
/// The output contains the count of each category, in the order of `categories`. If `null_category`
/// is set, the count of all other records follows. Let `m` be the largest number such that `TOA`
/// represents every integer from 0 to `m`. A count above `m` becomes `m`. The number of cells is
/// part of the output domain. This number is public, because it depends only on the arguments.
///
/// # Map
/// For `L1Distance`, `d_out = d_in`. For `L2Distance`, `d_out = d_in` if the size is unknown. If
/// the size is known, `d_out` for `L2Distance` is `sqrt(d_in * k)`, where `k` is `d_in / 2`,
/// rounded up. For example, `d_in = 2` is the distance of one replaced record, and gives
/// `d_out = sqrt(2)`. `d_out` is rounded up, and cast to the type of the distance.
///
/// # Proof
/// Categories are distinct, so a record is counted in at most one cell. If the record is added or
/// removed, this cell changes by one, and no other cell changes. If the record is counted in no
/// cell, no cell changes. Saturation at `m` does not increase the distance between two counts. So
/// the absolute changes of all cells add up to at most the symmetric distance. The Euclidean length
/// of a vector is at most the sum of the absolute values of its entries. So in both metrics, the
/// distance between the two outputs is at most the symmetric distance.
///
/// If the size is known, two data sets at symmetric distance `d <= d_in` differ in `d / 2` replaced
/// records. So each cell changes by at most `k`. Let `c` be the vector of the changes of the cells.
/// Then `sum c_i^2 <= max |c_i| * sum |c_i| <= k * d`, so the Euclidean length of `c` is at most
/// `sqrt(k * d)`.
///
/// # Errors
/// `MakeTransformation` when a category occurs twice. The map returns `FailedCast` when its value
/// does not fit the type of the distance. In Rust, the map also returns `Overflow` when twice the
/// number of replaced records does not fit `u32`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_count_by_categories;
/// let input = Space::new(VectorDomain::new(AtomDomain::<String>::default()), SymmetricDistance)?;
/// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let count =
///     make_count_by_categories::<_, _, L1Distance<i32>, i32>(input, words("a b"), true)?;
/// assert_eq!(count.invoke(&words("a c a b d"))?, [2, 1, 2]);
/// assert_eq!(count.map(&1)?, 1);
/// # Ok::<(), Error>(())
/// ```
pub fn make_count_by_categories<T, M, MO, TOA>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    categories: Vec<T>,
    null_category: bool,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<TOA>>, MO>>
where
    T: Key,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    MO: Norm + MetricOn<VectorDomain<AtomDomain<TOA>>>,
    TOA: Tally,
{
    match histogram(categories, null_category) {
        Ok((function, cells)) => {
            let (from, sized, metric) = copied(&input);
            let (domain, map) = (cells_of(cells), bounded(from, sized));
            Transformation::checked(input, domain, metric, function, map)
        }
        Err(error) => Err(error),
    }
}
/// Copy the metric of the input, and make the metric of the output. The `Clone` of a user's metric
/// runs only here, because it can panic.
fn copied<M: DatasetMetric, MO: Default>(input: &dyn Input<M>) -> (M, bool, MO) {
    (input.metric().clone(), input.size().is_some(), MO::default())
}
/// Return the output domain of `make_count_by_categories`. For the C ABI of this function and of
/// [`bounded`], see [`one_in_one`](crate::symmetric::one_in_one).
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn cells_of<TOA: Tally>(cells: usize) -> VectorDomain<AtomDomain<TOA>> {
    VectorDomain::new(AtomDomain::non_nan()).with_size(cells)
}
/// Return the function of `make_count_by_categories` and its number of cells.
fn histogram<T: Key, TOA: Tally>(
    categories: Vec<T>,
    null_category: bool,
) -> Result<(Function<Vec<T>, Vec<TOA>>, usize)> {
    let fold = Histogram::new(categories, null_category, <TOA as Named>::type_name)?;
    let cells = fold.cells();
    Ok((Function::fold_then(fold, tallies), cells))
}
/// Build the map of `make_count_by_categories`.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
extern "C" fn bounded<M: DatasetMetric, MO: Norm>(metric: M, sized: bool) -> StabilityMap<M, MO> {
    StabilityMap::new(move |d_in: &u32| {
        let Changes { total, largest } = Changes::of(&metric, sized, *d_in)?;
        MO::bound(total, largest)
    })
}

register! {
    "count_by_categories.rs": make_count_by_categories(input, categories, null_category = true)
        for T in hashable_atoms,
            M in unsized_metrics,
            MO in [L1Distance<i32>, L2Distance<i32>, L2Distance<f64>] = L1Distance<i32>,
            TOA in [i32] = i32;
}
register! {
    "count_by_categories.rs": make_count_by_categories(input, categories, null_category = true)
        for T in hashable_atoms,
            M in unsized_metrics,
            MO in [L1Distance<i64>, L2Distance<i64>] = L1Distance<i64>,
            TOA in [i64] = i32;
}
register! {
    "count_by_categories.rs": make_count_by_categories(input, categories, null_category = true)
        for T in hashable_atoms,
            M in unsized_metrics,
            MO in [L1Distance<f64>, L2Distance<f64>] = L1Distance<f64>,
            TOA in [f64] = i32;
}

/// A metric on vectors. The distance of two vectors is a norm of their difference. This norm is at
/// most the sum of the absolute values of the entries.
pub trait Norm: Metric + Default {
    /// Return an upper bound on the norm of a vector. `total` bounds the sum of the absolute values
    /// of its entries. `largest` bounds the absolute value of each entry, and is at most `total`.
    ///
    /// # Errors
    /// `FailedCast` when the bound does not fit the type of the distance.
    fn bound(total: u32, largest: u32) -> Result<Self::Distance>;
}
impl<Q: InfCast<u32>> Norm for L1Distance<Q>
where
    L1Distance<Q>: Metric<Distance = Q> + Default,
{
    fn bound(total: u32, _: u32) -> Result<Q> {
        as_count(total)
    }
}
impl<Q: InfCast<u32> + InfCast<f64>> Norm for L2Distance<Q>
where
    L2Distance<Q>: Metric<Distance = Q> + Default,
{
    /// For each vector `v`, `sum v_i^2 <= max |v_i| * sum |v_i|`. So the norm of `v` is at most the
    /// square root of `largest * total`.
    fn bound(total: u32, largest: u32) -> Result<Q> {
        if total == largest {
            return as_count(total);
        }
        Q::inf_cast(f64::from(total).inf_mul(f64::from(largest))?.inf_sqrt()?)
    }
}

/// The fold of `make_count_by_categories`. The first cell of the state counts the records that are
/// in no category. Each further cell counts the records of one category.
struct Histogram<L> {
    label: String,
    categories: usize,
    null_category: bool,
    places: Places<L>,
}
impl<L: LongKey> Histogram<L> {
    fn new<T: Key<Long = L>>(
        categories: Vec<T>,
        null_category: bool,
        output_type: fn() -> TypeName,
    ) -> Result<Self> {
        let label = label(T::type_name, &categories.to_json(), output_type);
        let places = Places::new(&categories)?;
        Ok(Histogram { label, categories: categories.len(), null_category, places })
    }
    fn cells(&self) -> usize {
        self.categories + usize::from(self.null_category)
    }
}
impl<T: Key> Fold<Vec<T>, Vec<u64>> for Histogram<T::Long> {
    type State = Counts;
    fn label(&self) -> String {
        format!("{} in {} cells", self.label, self.cells())
    }
    fn start(&self) -> Counts {
        Counts::new(self.categories + 1)
    }
    fn absorb(&self, state: &mut Counts, rows: &[T]) -> Result<()> {
        match &self.places {
            Places::Range { first, places } => state.add(rows.iter().map(|row| {
                let offset = usize::try_from(row.word().wrapping_sub(*first)).unwrap_or(usize::MAX);
                places.get(offset).copied().unwrap_or(0)
            })),
            Places::Any(places) => state.add(rows.iter().map(|row| places.lookup(row))),
        }
        Ok(())
    }
    fn merge(&self, state: &mut Counts, other: Counts) -> Result<()> {
        state.merge(&other)
    }
    fn finish(&self, state: Counts) -> Result<Vec<u64>> {
        Ok(self.counts(state))
    }
}
impl<L: LongKey> Histogram<L> {
    fn counts(&self, state: Counts) -> Vec<u64> {
        // Move the count of the records in no category to the last cell, or drop this count.
        let mut state = Vec::from(state);
        let others = state.first().copied().unwrap_or(0);
        state.drain(..1.min(state.len()));
        state.extend(self.null_category.then_some(others));
        state.resize(self.cells(), 0);
        state
    }
}
fn label(keys: fn() -> TypeName, categories: &Json, output: fn() -> TypeName) -> String {
    format!("counts of {} by {categories} as {}", keys(), output())
}
fn tallies<TOA: Tally>(counts: Vec<u64>) -> Result<Vec<TOA>> {
    Ok(counts.into_iter().map(TOA::saturating_count).collect())
}

/// For each category, the index of its cell in the state. These indices start at one. Cell zero
/// counts the records in no category.
enum Places<L> {
    /// For each word in a short range, the index of its cell. A word is the 64-bit number of a
    /// value; see `Key::word`. The range begins with the word `first`.
    Range {
        first: u64,
        places: Vec<usize>,
    },
    Any(Table<L, usize>),
}
impl<L: LongKey> Places<L> {
    fn new<T: Key<Long = L>>(categories: &[T]) -> Result<Self> {
        let mut table = Table::with_room(categories.len(), T::HAS_WORD);
        let mut words = Vec::with_capacity(categories.len());
        for category in categories {
            words.push(category.word());
            *table.entry(category.form()) = words.len();
        }
        if table.len() < categories.len() {
            return Err(Error::MakeTransformation(
                "categories: expected distinct values, found the same value twice".into(),
            ));
        }
        let range = if T::HAS_WORD { range(words) } else { None };
        Ok(range.unwrap_or(Places::Any(table)))
    }
}
/// List the cells of all words in the smallest range that contains `words`. Here `words` are the
/// words of the categories. A word that belongs to no category has cell zero. Return `None` if
/// there are no words, or if the range is too long for the number of words.
fn range<L>(words: Vec<u64>) -> Option<Places<L>> {
    let signed = || words.iter().map(|word| word.cast_signed());
    let (first, last) = (signed().min()?, signed().max()?);
    let span = usize::try_from(last.abs_diff(first)).unwrap_or(usize::MAX);
    if words.len().saturating_mul(16).max(1024) < span {
        return None;
    }
    let mut places = vec![0; span + 1];
    for (word, place) in signed().zip(1..) {
        let offset = usize::try_from(word.abs_diff(first)).unwrap_or(usize::MAX);
        places.get_mut(offset).into_iter().for_each(|found| *found = place);
    }
    Some(Places::Range { first: first.cast_unsigned(), places })
}

#[cfg(test)]
mod tests;
