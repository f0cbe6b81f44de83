//! Replaces NaN by random numbers.

mod uniform;

use opendp_core::arith::Float;
use opendp_core::random::{NoEntropy, with_secure};
use opendp_core::{
    Atom, AtomDomain, Bounds, DatasetMetric, Function, MetricOn, Result, Space, Transformation,
    VectorDomain,
};

use crate::rows::each::{call_on, each};
use crate::rows::impute_uniform_float::uniform::Uniform;

/// Replace each NaN by a number drawn uniformly from an interval.
///
/// # Arguments
/// * `bounds` - a pair `[lower, upper]`
///
/// # Precondition
/// The bounds are finite, and `lower` is less than `upper`.
///
/// # Function
/// Let `X` be a real number that is uniform on `[lower, upper]`. The function draws the float
/// nearest to `X`. The draw is exact: the probability of each float is the share of the interval
/// that rounds to this float. Both bounds can be drawn. Each NaN is replaced by a new draw from the
/// secure source.
///
/// # Postcondition
/// The output has one record for each record of the input, in the same order. A NaN becomes a
/// number within `bounds`. All other records do not change. No record of the output is NaN. The
/// bounds of the element domain are dropped, because a drawn number can be out of these bounds. The
/// size does not change. Two runs can give different outputs. The time of a run increases with the
/// number of NaN records.
///
/// # Map
/// `d_out = d_in`. The map bounds the distance between outputs whose draws are coupled, as the
/// proof describes.
///
/// # Proof
/// The output is random, so the claim is about distributions; see
/// [`make_ordered_random`](crate::make_ordered_random). The output of a record depends only on that
/// record and on its own draws. Take a shortest sequence of changes between two inputs. This
/// sequence leaves some records unchanged. Let each unchanged record use the same draws in both
/// inputs. Then the two outputs of the record are equal. Each change of the input becomes the same
/// change of the output, at the same place.
///
/// # Errors
/// `MakeTransformation` when a bound is infinite or the bounds are equal. A run returns `NoEntropy`
/// when the operating system provides no random bits.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_impute_uniform_float;
/// let input = Space::new(VectorDomain::new(AtomDomain::<f64>::default()), SymmetricDistance)?;
/// let impute = make_impute_uniform_float(input, Bounds::new(0.0, 1.0)?)?;
/// let numbers = impute.invoke(&vec![5.0, f64::NAN])?;
/// assert!(numbers[0] == 5.0 && (0.0..=1.0).contains(&numbers[1]));
/// # Ok::<(), Error>(())
/// ```
pub fn make_impute_uniform_float<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    bounds: Bounds<T>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<T>>, M>>
where
    T: Atom + Float,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    let label = call_on("impute_uniform_float", bounds);
    let uniform = Uniform::new(bounds)?;
    let function = Function::rows(move |records: &[T], out: &mut Vec<T>| {
        // The random source is opened for every chunk, even for a chunk without NaN. So the records
        // do not decide whether the opening fails.
        with_secure(|source| {
            for record in records {
                out.push(if record.is_null() { uniform.draw(source)? } else { *record });
            }
            Ok::<(), NoEntropy>(())
        })?;
        Ok(())
    });
    each(input, AtomDomain::non_nan(), function.labelled(label))
}

register! {
    "impute_uniform_float.rs": make_impute_uniform_float(input, bounds)
        for T in [f32, f64],
            M in dataset_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::{check_rows, couples};
    use opendp_core::{HammingDistance, InsertDeleteDistance, SymmetricDistance, laws};

    fn unit() -> Bounds<f64> {
        Bounds::new(0.0, 1.0).unwrap()
    }
    fn space<M: DatasetMetric + Default + MetricOn<VectorDomain<AtomDomain<f64>>>>()
    -> Space<VectorDomain<AtomDomain<f64>>, M> {
        let domain = VectorDomain::new(AtomDomain::default());
        let domain = if M::default().sized() { domain.with_size(3) } else { domain };
        Space::new(domain, M::default()).unwrap()
    }
    /// List every output, as if each draw had one of two outcomes.
    fn outputs(x: &[f64]) -> Vec<Vec<f64>> {
        let (numbers, mut all) = (x.iter().filter(|x| !x.is_nan()).count(), vec![x.to_vec()]);
        for _ in numbers..x.len() {
            all = all
                .into_iter()
                .flat_map(|x| {
                    [0.25, 0.75].map(|drawn| {
                        let mut x = x.clone();
                        let place = x.iter().position(|x| x.is_nan()).unwrap();
                        x[place] = drawn;
                        x
                    })
                })
                .collect();
        }
        all
    }

    #[test]
    fn obeys_the_laws_where_nothing_is_random() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [-0.0, 0.0, 5e-324, f64::NEG_INFINITY];
        check_rows(&floats, &alphabet, |x: Space<_, SymmetricDistance>| {
            make_impute_uniform_float(x, unit())
        });
        check_rows(&floats, &alphabet, |x: Space<_, HammingDistance>| {
            make_impute_uniform_float(x, unit())
        });
    }
    #[test]
    fn outputs_of_close_data_couple() {
        let data = laws::vectors(&[f64::NAN, 0.25, 2.0], 3);
        let added = make_impute_uniform_float(space::<InsertDeleteDistance>(), unit()).unwrap();
        assert!(couples(&added, &data, |x| outputs(x)).unwrap() > 500);
        let replaced = make_impute_uniform_float(space::<HammingDistance>(), unit()).unwrap();
        assert!(couples(&replaced, &data, |x| outputs(x)).unwrap() > 500);
    }
    #[test]
    fn draws_that_depend_on_other_records_do_not_couple() {
        let data = laws::vectors(&[f64::NAN, 0.25, 2.0], 3);
        let replaced = make_impute_uniform_float(space::<HammingDistance>(), unit()).unwrap();
        let first = |x: &Vec<f64>| {
            let filler = x.iter().find(|x| !x.is_nan()).copied().unwrap_or(0.0);
            vec![x.iter().map(|x| if x.is_nan() { filler } else { *x }).collect()]
        };
        assert!(couples(&replaced, &data, first).is_err());
    }
    #[test]
    fn puts_a_member_in_the_place_of_each_nan() {
        let impute = make_impute_uniform_float(space::<SymmetricDistance>(), unit()).unwrap();
        let data = laws::vectors(&[f64::NAN, 2.0, f64::INFINITY], 3);
        assert!(laws::member(&impute, &data).unwrap() > 0);
        let out = impute.invoke(&vec![f64::NAN, 2.0, f64::NAN]).unwrap();
        assert!(out[1] == 2.0 && unit().contains(&out[0]) && unit().contains(&out[2]));
        // Two draws are equal with a probability of about 2^-53.
        assert_ne!(out[0], out[2]);
        assert_ne!(impute.invoke(&vec![f64::NAN]).unwrap()[0], out[0]);
    }
    #[test]
    fn refuses_bounds_that_are_infinite_or_equal() {
        for (lower, upper) in [(0.0, f64::INFINITY), (f64::NEG_INFINITY, 0.0), (1.0, 1.0)] {
            let bounds = Bounds::new(lower, upper).unwrap();
            let error =
                make_impute_uniform_float(space::<SymmetricDistance>(), bounds).unwrap_err();
            assert!(error.kind() == "MakeTransformation" && error.to_string().contains("bounds"));
        }
    }
}
