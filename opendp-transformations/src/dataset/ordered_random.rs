//! Puts data into a random order, so that later steps can use the order.

use opendp_core::random::{securely, shuffle};
use opendp_core::{
    AtomDomain, ChangeOneDistance, DatasetMetric, Domain, Function, HammingDistance,
    InsertDeleteDistance, MetricOn, OptionDomain, Result, Space, StabilityMap, SymmetricDistance,
    Transformation, VectorDomain,
};

/// A metric of data sets that ignores the order of the records.
pub trait UnorderedMetric: DatasetMetric {
    /// The metric that counts the same changes as this metric, but depends on the order of the
    /// records.
    type Ordered: DatasetMetric + Default;
}
impl UnorderedMetric for SymmetricDistance {
    type Ordered = InsertDeleteDistance;
}
impl UnorderedMetric for ChangeOneDistance {
    type Ordered = HammingDistance;
}

/// Put the records into a random order, so that later steps can use the order.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The metric ignores the order of the records.
///
/// # Postcondition
/// The output contains the same records. Secure random bits choose their order uniformly from all
/// orders. The metric of the output counts the same changes as the metric of the input, but depends
/// on the order. `SymmetricDistance` becomes `InsertDeleteDistance`, and `ChangeOneDistance`
/// becomes `HammingDistance`. The function needs all data at once. Two runs can return different
/// orders.
///
/// # Map
/// `d_out = d_in`. The map bounds the distance between outputs whose draws are coupled, as the
/// proof describes.
///
/// # Proof
/// The output is random, so the claim is about distributions. Two data sets are called close if
/// their distance is at most `d_in`. For two close inputs, there is a joint distribution of two
/// orders `(o, o')` with two properties. Each order is uniform. For every draw of `(o, o')`, the
/// first input in the order `o` and the second input in the order `o'` are close. A mechanism that
/// reads the output has a proved bound on its loss for each pair of close data sets. The same bound
/// then holds for mixtures of such pairs, because the divergences that measure a loss are jointly
/// quasi-convex. For Renyi divergences of all orders, see van Erven and Harremoes 2014, "Renyi
/// Divergence and Kullback-Leibler Divergence", Theorem 13. For approximate privacy, let `P` and
/// `Q` be the distributions of the releases for two inputs. For each event `E`,
/// `P(E) - e^eps * Q(E)` is linear in the pair `(P, Q)`. So the supremum over all events is convex
/// in this pair.
///
/// Suppose that one record is added. Put the other records into a uniform order, and then insert
/// the record at a uniform place. The result is uniform over all orders of the larger data set. The
/// order of the larger data set differs from the order of the other records by one insertion. Now
/// suppose that one record is replaced. Match the records of the two data sets so that only one
/// pair differs. Use the same order for both data sets. The two ordered data sets differ at one
/// position. For larger distances, change one record at a time. The couplings of successive data
/// sets combine into one coupling, and the distances add up.
///
/// # Errors
/// A run returns `NoEntropy` when the operating system provides no random bits.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_ordered_random;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let shuffled = make_ordered_random(input)?;
/// let mut records = shuffled.invoke(&vec![3, 1, 2])?;
/// records.sort();
/// assert_eq!(records, [1, 2, 3]);
/// assert_eq!(shuffled.map(&1)?, 1);
/// # Ok::<(), Error>(())
/// ```
pub fn make_ordered_random<D, M>(
    input: Space<VectorDomain<D>, M>,
) -> Result<Transformation<VectorDomain<D>, M, VectorDomain<D>, M::Ordered>>
where
    D: Domain,
    M: UnorderedMetric + MetricOn<VectorDomain<D>>,
    M::Ordered: MetricOn<VectorDomain<D>>,
{
    let output = Space::new(input.domain().clone(), M::Ordered::default())?;
    Ok(Transformation::new(input, output, shuffled::<D>(), StabilityMap::identity()))
}
fn shuffled<D: Domain>() -> Function<Vec<D::Carrier>, Vec<D::Carrier>> {
    Function::map(|records: &Vec<D::Carrier>| {
        let mut records = records.clone();
        securely(&mut |source| shuffle(&mut records, source))?;
        Ok(records)
    })
}

register! {
    "ordered_random.rs": make_ordered_random(input)
        for D in [
                AtomDomain<i32>, AtomDomain<i64>, AtomDomain<u32>, AtomDomain<u64>,
                AtomDomain<usize>, AtomDomain<f32>, AtomDomain<f64>, AtomDomain<bool>,
                AtomDomain<String>, OptionDomain<AtomDomain<String>>,
                OptionDomain<AtomDomain<f64>>, OptionDomain<AtomDomain<i32>>,
                OptionDomain<AtomDomain<i64>>,
            ],
            M in [SymmetricDistance, ChangeOneDistance];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::{couples, orders, space};
    use opendp_core::laws;

    #[test]
    fn orders_of_close_data_couple() {
        let data = laws::vectors(&[1, 2, 3], 3);
        let all = |x: &Vec<i32>| orders(x);
        let added = make_ordered_random(space::<i32, SymmetricDistance>(None)).unwrap();
        assert!(couples(&added, &data, all).unwrap() > 200);
        let replaced = make_ordered_random(space::<i32, ChangeOneDistance>(Some(3))).unwrap();
        assert!(couples(&replaced, &data, all).unwrap() > 200);
    }
    #[test]
    fn the_order_of_the_data_does_not_couple() {
        let data = laws::vectors(&[1, 2, 3], 2);
        let added = make_ordered_random(space::<i32, SymmetricDistance>(None)).unwrap();
        assert!(couples(&added, &data, |x| vec![x.clone()]).is_err());
        let some = |x: &Vec<i32>| [&orders(x)[..], std::slice::from_ref(x)].concat();
        assert!(couples(&added, &data, some).is_err());
    }
    #[test]
    fn keeps_the_records_and_reaches_every_order() {
        let shuffled = make_ordered_random(space::<i32, SymmetricDistance>(None)).unwrap();
        let data = vec![1, 2, 3];
        let mut seen = std::collections::HashMap::new();
        for _ in 0..6000 {
            *seen.entry(shuffled.invoke(&data).unwrap()).or_insert(0) += 1;
        }
        assert!(orders(&data).iter().all(|order| seen.contains_key(order)));
        // Each count has mean 1000 and standard deviation 29. The probability that one of the six
        // counts deviates by 250 or more is below 1e-15.
        assert!(seen.len() == 6 && seen.values().all(|count| (750..1250).contains(count)));
        assert!(shuffled.invoke(&vec![]).unwrap().is_empty());
        assert!(!shuffled.function().streams());
    }
}
