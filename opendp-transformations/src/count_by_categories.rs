//! The number of records in each of some categories.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    marker::PhantomData,
};

use opendp_core::arith::InfCast;
use opendp_core::{
    AtomDomain, Codec, DatasetMetric, Error, Fold, Function, HashableAtom, InsertDeleteDistance,
    L1Distance, L2Distance, Metric, MetricOn, Named, Result, Space, StabilityMap,
    SymmetricDistance, Transformation, VectorDomain, register,
};

use crate::Tally;
use crate::symmetric::{Aggregate, Records, add_counts, through_symmetric};

/// Count the records in each of some categories.
///
/// # Arguments
/// * `categories` - the values to count, all different
/// * `null_category` - whether to count, in a last cell, the records that are in no category
///
/// # Precondition
/// No category occurs twice. `MO` is a norm, `L1Distance` or `L2Distance`.
///
/// # Postcondition
/// The output holds the count of each category, in the order given, and then that of all other
/// records if `null_category` is set. A count that exceeds the largest number up to which `TOA`
/// holds every integer is that number. The number of cells is part of the output domain: it is
/// public, since it depends on the arguments alone.
///
/// # Map
/// `d_out = d_in` in both norms, cast to the type of the distance and rounded up.
///
/// # Proof
/// Categories are distinct, so that a record counts in one cell at most. Adding or removing it
/// changes that cell by one and no other; saturation brings no two counts further apart. The sum of
/// the changes of all cells is thus at most the symmetric distance `d_in`, and the Euclidean length
/// of a vector is at most the sum of its absolute values.
///
/// # Errors
/// `MakeTransformation` when a category occurs twice. The map gives `FailedCast` when `d_in` does
/// not fit the type of the distance.
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
    T: HashableAtom,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    MO: Norm + MetricOn<VectorDomain<AtomDomain<TOA>>>,
    MO::Distance: InfCast<u32>,
    TOA: Tally,
{
    through_symmetric(input, |input| count_by_categories(input, categories, null_category))
}

register! {
    "count_by_categories.rs": make_count_by_categories(input, categories, null_category = true)
        for T in [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, bool, String],
            M in [SymmetricDistance, InsertDeleteDistance],
            MO in [L1Distance<i32>, L2Distance<i32>, L2Distance<f64>] = L1Distance<i32>,
            TOA in [i32] = i32;
}
register! {
    "count_by_categories.rs": make_count_by_categories(input, categories, null_category = true)
        for T in [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, bool, String],
            M in [SymmetricDistance, InsertDeleteDistance],
            MO in [L1Distance<i64>, L2Distance<i64>] = L1Distance<i64>,
            TOA in [i64] = i32;
}
register! {
    "count_by_categories.rs": make_count_by_categories(input, categories, null_category = true)
        for T in [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, bool, String],
            M in [SymmetricDistance, InsertDeleteDistance],
            MO in [L1Distance<f64>, L2Distance<f64>] = L1Distance<f64>,
            TOA in [f64] = i32;
}

/// A norm that is at most the sum of absolute values.
pub trait Norm: Metric + Default {}
impl<Q> Norm for L1Distance<Q> where L1Distance<Q>: Metric + Default {}
impl<Q> Norm for L2Distance<Q> where L2Distance<Q>: Metric + Default {}

fn count_by_categories<T, MO, TOA>(
    input: Space<Records<T>, SymmetricDistance>,
    categories: Vec<T>,
    null_category: bool,
) -> Result<Aggregate<T, VectorDomain<AtomDomain<TOA>>, MO>>
where
    T: HashableAtom,
    MO: Norm + MetricOn<VectorDomain<AtomDomain<TOA>>>,
    MO::Distance: InfCast<u32>,
    TOA: Tally,
{
    let fold = Histogram::<T, TOA>::new(&categories, null_category)?;
    let domain = VectorDomain::new(AtomDomain::non_nan()).with_size(fold.cells);
    let output = Space::new(domain, MO::default())?;
    let map = StabilityMap::new(|d_in: &u32| MO::Distance::inf_cast(*d_in));
    Ok(Transformation::new(input, output, Function::fold(fold), map))
}

/// Its state is the count in each cell.
struct Histogram<T, TOA> {
    label: String,
    cells: usize,
    /// The cell of each category; any other record has the cell after theirs, if there is one.
    cell_of: HashMap<T, usize, BuildHasherDefault<Mix>>,
    count: PhantomData<fn() -> TOA>,
}
impl<T: HashableAtom, TOA: Tally> Histogram<T, TOA> {
    fn new(categories: &Vec<T>, null_category: bool) -> Result<Self> {
        let cell_of: HashMap<T, usize, _> = categories.iter().cloned().zip(0..).collect();
        if cell_of.len() < categories.len() {
            return Err(Error::MakeTransformation(
                "categories: one occurs twice, expected all to be different".into(),
            ));
        }
        let label = format!(
            "counts of {} by {} as {}",
            T::type_name(),
            categories.to_json(),
            <TOA as Named>::type_name()
        );
        let cells = categories.len() + usize::from(null_category);
        Ok(Histogram { label, cells, cell_of, count: PhantomData })
    }
}
impl<T: HashableAtom, TOA: Tally> Fold<Vec<T>, Vec<TOA>> for Histogram<T, TOA> {
    type State = Vec<u64>;
    fn label(&self) -> String {
        format!("{} in {} cells", self.label, self.cells)
    }
    fn start(&self) -> Vec<u64> {
        vec![0; self.cells]
    }
    fn absorb(&self, state: &mut Vec<u64>, rows: &[T]) -> Result<()> {
        let others = self.cell_of.len();
        for row in rows {
            let cell = self.cell_of.get(row).copied().unwrap_or(others);
            // Without a null category there is no such cell.
            if let Some(count) = state.get_mut(cell) {
                *count = count.saturating_add(1);
            }
        }
        Ok(())
    }
    fn merge(&self, state: &mut Vec<u64>, other: Vec<u64>) -> Result<()> {
        add_counts(state, &other)
    }
    fn finish(&self, state: Vec<u64>) -> Result<Vec<TOA>> {
        Ok(state.into_iter().map(TOA::saturating_count).collect())
    }
}

/// A fast hash. The keys of the table are public arguments: no record can be added to it, so that
/// no data can make it slow.
#[derive(Default)]
pub(crate) struct Mix(u64);
impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }
    fn write_u16(&mut self, value: u16) {
        self.write_u64(value.into());
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        // An odd multiplier near 2^64 divided by the golden ratio.
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn finish(&self) -> u64 {
        // The table takes both the highest and the lowest bits, of which the lowest are poor.
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{DistanceOn, laws};

    fn space<T: HashableAtom, M: DatasetMetric + MetricOn<Records<T>>>(
        size: Option<usize>,
    ) -> Space<Records<T>, M> {
        let domain = VectorDomain::new(AtomDomain::default());
        let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
        Space::new(domain, M::default()).unwrap()
    }
    #[track_caller]
    fn check<T: HashableAtom, M, MO, TOA: Tally>(alphabet: &[T])
    where
        M: DatasetMetric + DistanceOn<Records<T>>,
        MO: Norm + DistanceOn<VectorDomain<AtomDomain<TOA>>>,
        MO::Distance: InfCast<u32>,
    {
        for null_category in [true, false] {
            for size in [None, Some(2)] {
                let count = make_count_by_categories::<T, M, MO, TOA>(
                    space(size),
                    alphabet[..alphabet.len() - 1].to_vec(),
                    null_category,
                )
                .unwrap();
                assert!(laws::all(&count, alphabet, 3).unwrap() > 0);
            }
        }
    }

    #[test]
    fn obeys_the_laws_in_both_norms() {
        let words = ["", "a", "A", "é", "longer than eight bytes"].map(str::to_owned);
        check::<_, SymmetricDistance, L1Distance<i32>, i32>(&words);
        check::<_, InsertDeleteDistance, L2Distance<f64>, i32>(&words);
        check::<_, SymmetricDistance, L2Distance<f64>, f64>(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check::<_, InsertDeleteDistance, L1Distance<usize>, usize>(&[u8::MIN, 1, 2, u8::MAX]);
        check::<_, SymmetricDistance, L2Distance<u64>, u64>(&[true, false]);
    }
    #[test]
    fn counts_categories_in_order_and_then_the_rest() {
        let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        let make = |null| {
            make_count_by_categories::<_, _, L1Distance<i32>, i32>(
                space::<String, SymmetricDistance>(None),
                letters("ab"),
                null,
            )
            .unwrap()
        };
        assert_eq!(make(true).invoke(&letters("acabd")).unwrap(), [2, 1, 2]);
        assert_eq!(make(false).invoke(&letters("acabd")).unwrap(), [2, 1]);
        assert_eq!(make(true).output().domain().size(), Some(3));
        assert_eq!(make(true).map(&4), Ok(4));
    }
    #[test]
    fn counts_all_values_of_a_byte() {
        let count = make_count_by_categories::<_, _, L2Distance<f64>, i64>(
            space::<u8, SymmetricDistance>(None),
            (0..=255).collect(),
            true,
        )
        .unwrap();
        let data: Vec<u8> = (0..=255).flat_map(|i| vec![i; i.into()]).collect();
        let found = count.invoke(&data).unwrap();
        assert!(found.iter().zip(0..=255).all(|(count, i)| *count == i) && found[256] == 0);
        assert_eq!(count.map(&4), Ok(4.0));
    }
    #[test]
    fn refuses_a_category_that_occurs_twice() {
        let error = make_count_by_categories::<_, _, L1Distance<i32>, i32>(
            space::<i32, SymmetricDistance>(None),
            vec![1, 2, 1],
            true,
        )
        .unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains("categories"));
    }
    #[test]
    fn refuses_the_partial_result_of_other_categories() {
        let make = |categories| {
            make_count_by_categories::<_, _, L1Distance<i32>, i32>(
                space::<i32, SymmetricDistance>(None),
                categories,
                true,
            )
            .unwrap()
        };
        let bytes = make(vec![1, 2]).start().unwrap().to_bytes().unwrap();
        assert!(make(vec![2, 1]).function().resume(&bytes).is_err());
    }
}
