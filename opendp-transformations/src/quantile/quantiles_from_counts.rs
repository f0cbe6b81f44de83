//! Computes quantiles from noisy counts.

use opendp_core::arith::Number;
use opendp_core::{Atom, Codec, Error, Function, Result, codec, named};
use serde_json::Value as Json;

use crate::increasing::increase;
use crate::quantile::consistent_b_ary_tree::floats;
use crate::quantile::places::places;

/// The method to interpolate a quantile between the edges of a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// Interpolate linearly between both edges of the bin.
    #[default]
    Linear,
    /// Take the edge whose cumulative share is nearer to the share of the quantile.
    Nearest,
}
impl Codec for Interpolation {
    fn to_json(&self) -> Json {
        Json::from(match self {
            Interpolation::Linear => "linear",
            Interpolation::Nearest => "nearest",
        })
    }
    fn from_json(json: &Json) -> Result<Self> {
        match json.as_str() {
            Some("linear") => Ok(Interpolation::Linear),
            Some("nearest") => Ok(Interpolation::Nearest),
            _ => Err(codec::unexpected("\"linear\" or \"nearest\"", json)),
        }
    }
}
named!(Interpolation as "Interpolation");

/// Compute quantiles from noisy counts of the records in bins.
///
/// # Arguments
/// * `bin_edges` - the edges of the bins, strictly increasing
/// * `alphas` - the shares of the quantiles, strictly increasing, from 0 to 1
/// * `interpolation` - `"linear"` or `"nearest"`: the interpolation between the edges of a bin
///
/// # Precondition
/// The input is a release, or a function of a release, so the input needs no further protection.
/// The input has a count for each pair of adjacent edges. The input can also have a first count for
/// the records below all edges, and a last count for the records above all edges. These two counts
/// are not used.
///
/// # Postcondition
/// The output has a point for each share. For `"linear"`, the point is the first at which the
/// cumulative distribution of the counts reaches the share (see [`make_cdf`](crate::make_cdf)). For
/// `"nearest"`, take the bin that contains the point for `"linear"`. The result is the edge of this
/// bin that is nearer to that point. If both edges are equally near, the result is the lower edge.
/// If the share is zero and the count of the first bin is zero, the point is the lower edge of this
/// bin. Whatever the counts are, the point is between the first and the last edge. Counts that add
/// up to zero are treated as equal counts. If there is only one edge, there is no bin, and each
/// point is this edge. For integers, the point is rounded toward zero.
///
/// # Map
/// The function is post-processing, so the privacy loss does not change.
///
/// # Proof
/// A function that reads only a release, and no private data, does not increase the loss. (Dwork
/// and Roth, "The algorithmic foundations of differential privacy", 2014, proposition 2.1.)
///
/// # Errors
/// `MakeTransformation` when there is no edge, when an edge is NaN or infinite, or when the edges
/// do not strictly increase. `MakeTransformation` also when the shares do not strictly increase, or
/// when a share is not from zero to one. For `n` edges, the function needs `n - 1` or `n + 1`
/// counts. For any other number of counts, the function returns `FailedFunction`.
///
/// ```
/// # use opendp_transformations::{Interpolation, make_quantiles_from_counts};
/// let quartiles = make_quantiles_from_counts(
///     vec![0, 20, 40, 60, 80, 100],
///     vec![0.25, 0.5, 0.75],
///     Interpolation::Linear,
/// )?;
/// assert_eq!(quartiles.eval(&vec![10, 20, 30, 20, 10])?, [32, 50, 67]);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_quantiles_from_counts<TA: Atom + Number, F: Atom + Number>(
    bin_edges: Vec<TA>,
    alphas: Vec<F>,
    interpolation: Interpolation,
) -> Result<Function<Vec<TA>, Vec<TA>>> {
    let reason = if bin_edges.is_empty() || !within(&bin_edges, TA::FINITE_MIN, TA::FINITE_MAX) {
        "bin_edges: expected at least one edge, all finite and strictly increasing"
    } else if !within(&alphas, F::zero(), F::one()) {
        "alphas: expected numbers from 0 to 1, strictly increasing"
    } else {
        return Ok(quantiles(bin_edges, floats(&alphas), interpolation));
    };
    Err(Error::MakeTransformation(reason.into()))
}

register! {
    "quantiles_from_counts.rs": make_quantiles_from_counts(bin_edges, alphas, interpolation = "linear")
        for TA in [i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64] = i32, F in [f32, f64] = f64;
}

/// Return whether all values are in `[lower, upper]` and strictly increase.
fn within<T: PartialOrd>(values: &[T], lower: T, upper: T) -> bool {
    values.iter().all(|x| lower <= *x && *x <= upper) && increase(values)
}
fn quantiles<T: Atom + Number>(
    edges: Vec<T>,
    alphas: Vec<f64>,
    interpolation: Interpolation,
) -> Function<Vec<T>, Vec<T>> {
    Function::map(move |counts: &Vec<T>| {
        let places = places(&floats(counts), edges.len(), &alphas)?;
        let mut quantiles = Vec::with_capacity(places.len());
        for place in places {
            quantiles.push(quantile(&edges, place, interpolation));
        }
        Ok(quantiles)
    })
}
fn quantile<T: Number>(
    edges: &[T],
    place: Option<(usize, f64)>,
    interpolation: Interpolation,
) -> T {
    let pair = place.and_then(|(bin, share)| Some((edges.get(bin)?, edges.get(bin + 1)?, share)));
    let Some((lower, upper, share)) = pair else {
        // This case occurs only if there is a single edge. Then there is no bin. If there are bins,
        // the cumulative share of the last bin is one, which is at least every share.
        return edges.last().copied().unwrap_or_else(T::zero);
    };
    if interpolation == Interpolation::Nearest {
        return if 0.5 < share { *upper } else { *lower };
    }
    // At an end of a bin, return the edge itself, because the conversion of an edge to a float can
    // be inexact.
    if share == 0.0 {
        return *lower;
    }
    if share == 1.0 {
        return *upper;
    }
    let float = |x: &T| x.to_f64().unwrap_or(f64::NAN);
    let point = (1.0 - share) * float(lower) + share * float(upper);
    match num_traits::cast::<f64, T>(point) {
        Some(point) if point < *lower => *lower,
        Some(point) if point <= *upper => point,
        _ => *upper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantiles<T: Atom + Number>(
        edges: &[T],
        alphas: &[f64],
        interpolation: Interpolation,
        counts: &[T],
    ) -> Vec<T> {
        let made =
            make_quantiles_from_counts(edges.to_vec(), alphas.to_vec(), interpolation).unwrap();
        made.eval(&counts.to_vec()).unwrap()
    }
    const QUARTILES: [f64; 3] = [0.25, 0.5, 0.75];
    use Interpolation::{Linear, Nearest};

    #[test]
    fn reads_quantiles_off_between_edges() {
        let edges = [0, 20, 40, 60, 80, 100];
        let counts = [10, 20, 30, 20, 10];
        assert_eq!(quantiles(&edges, &QUARTILES, Linear, &counts), [32, 50, 67]);
        assert_eq!(quantiles(&edges, &QUARTILES, Nearest, &counts), [40, 60, 60]);
    }
    #[test]
    fn agrees_with_the_incumbent_on_odd_counts() {
        let (edges, alphas) = ([0.0, 1.0, 2.0], [0.0, 0.25, 0.5, 1.0]);
        let linear = |counts: &[f64]| quantiles(&edges, &alphas, Linear, counts);
        assert_eq!(linear(&[5.0, -3.0]), [0.0, 0.1, 0.2, 0.4]);
        assert_eq!(linear(&[1.0, 0.0]), [0.0, 0.25, 0.5, 1.0]);
        assert_eq!(linear(&[-1.0, -1.0]), [0.0, 0.5, 1.0, 2.0]);
        assert_eq!(linear(&[7.0, 1.0, 3.0, 9.0])[..2], [0.0, 1.0]);
        let nearest = |counts: &[f64]| quantiles(&edges, &alphas, Nearest, counts);
        assert_eq!(nearest(&[5.0, -3.0]), [0.0; 4]);
        assert_eq!(nearest(&[1.0, 1.0]), [0.0, 0.0, 1.0, 2.0]);
        // Without special cases, an empty first bin and data without records would give NaN.
        assert_eq!(linear(&[0.0, 1.0]), [0.0, 1.25, 1.5, 2.0]);
        assert_eq!(linear(&[0.0, 0.0]), [0.0, 0.5, 1.0, 2.0]);
    }
    #[test]
    fn stays_within_the_edges_whatever_the_counts_are() {
        let hostile = [-1e308, -1.0, -0.0, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY, f64::NAN];
        for a in hostile {
            for b in hostile {
                for interpolation in [Linear, Nearest] {
                    for x in quantiles(&[0.0, 1.0, 3.0], &[0.0, 0.5, 1.0], interpolation, &[a, b]) {
                        assert!((0.0..=3.0).contains(&x), "{a} {b} {x}");
                    }
                }
            }
        }
        let wide = [i64::MIN, 0, i64::MAX];
        for x in quantiles(&wide, &[0.0, 0.3, 0.9, 1.0], Linear, &[1, i64::MAX]) {
            assert!((i64::MIN..=i64::MAX).contains(&x));
        }
        assert_eq!(quantiles(&wide, &[0.0, 1.0], Linear, &[1, 1]), [i64::MIN, i64::MAX]);
        // The counts of the two bins are 5 and -3, so the cumulative shares are 2.5 and 1. The
        // first bin already reaches the shares 0.5 and 1.0. The points are 0.2 and 0.4, rounded to
        // 0. If there is only one edge, there is no bin, and the point is this edge.
        assert_eq!(quantiles(&[0, 1, 2], &[0.5, 1.0], Linear, &[5, -3]), [0, 0]);
        assert_eq!(quantiles(&[7], &[0.5], Linear, &[]), [7]);
        assert_eq!(quantiles(&[7], &[0.5], Linear, &[1, 2]), [7]);
    }
    #[test]
    fn refuses_edges_and_shares_out_of_order() {
        let make = |edges: &[f64], alphas: &[f64]| {
            make_quantiles_from_counts(edges.to_vec(), alphas.to_vec(), Linear).map(drop)
        };
        for (edges, alphas) in [
            (&[][..], &[0.5][..]),
            (&[1.0, 1.0], &[0.5]),
            (&[0.0, f64::NAN], &[0.5]),
            (&[0.0, f64::INFINITY], &[0.5]),
            (&[0.0, 1.0], &[0.5, 0.5]),
            (&[0.0, 1.0], &[1.5]),
            (&[0.0, 1.0], &[f64::NAN]),
        ] {
            assert_eq!(make(edges, alphas).unwrap_err().kind(), "MakeTransformation");
        }
        let three = make_quantiles_from_counts(vec![0, 1, 2], vec![0.5], Linear).unwrap();
        assert_eq!(three.eval(&vec![1, 2, 3]).unwrap_err().kind(), "FailedFunction");
        assert!(Interpolation::from_json(&Json::from("cubic")).is_err());
        assert_eq!(Interpolation::from_json(&Nearest.to_json()), Ok(Nearest));
    }
}
