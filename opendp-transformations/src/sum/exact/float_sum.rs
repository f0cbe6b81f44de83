//! Exact sums of floats, rounded once at the end.
//!
//! Each record is rounded separately to a multiple of a power of two. The multiples are stored as
//! integers. These integers add up exactly, in any order. Let `I` be the sum of the integers. Let
//! `L` and `U` be the lower and the upper bound in units of the power of two, rounded outward to
//! integers.
//!
//! **Unknown size.** A record that is added or removed changes `I` by at most `M = max(|L|, |U|)`.
//! Let `B` be `M`, rounded up to a number with at most 21 significant bits. Let `g` be a power of
//! two such that rounding `M` up to a multiple of `g` also gives `B`. Let `d` be the symmetric
//! distance. The file `rounding.rs` defines a rounding rule for sums of any size. The file proves
//! that the rounded sum changes by at most `d * B`, and also by at most `d * M + g`.
//!
//! **Known size `n`.** The magnitude of the sum is at most `n * max(|L|, |U|)`. This bound is
//! public. Let `g` be the spacing of floats at this bound. If `k = floor(d / 2)` records are
//! replaced, `I` changes by at most `k * (U - L)`. Let `s` be this product, rounded up to a
//! multiple of `g`. Round the sum toward zero to 53 bits. By the lemma in `rounding.rs`, the
//! rounded sum changes by at most `s`.
//!
//! In both cases, the result is the product of an integer and a power of two. The integer has at
//! most 53 significant bits, and the power of two is a float. So the result is a float, or it
//! exceeds the largest float. A result that exceeds the largest float is replaced by the largest
//! float. The replacement does not increase the distance between two results.

use std::{any::Any, marker::PhantomData};

use opendp_core::arith::cast::{to_f64_toward_zero, to_f64_up};
use opendp_core::arith::{Directed, Float, InfCast, Integer};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Error, Fold, Function, Result, Space, StabilityMap,
    SymmetricDistance, Transformation,
};

use crate::sum::exact::lattice::Lattice;
use crate::sum::exact::rounding::{Rounding, truncate};
use crate::symmetric::{Aggregate, Records};

/// The largest number of significant bits of a rounded bound. If the size is unknown, the larger
/// magnitude of the two bounds is rounded up to such a number of bits. This rounding increases the
/// map by a factor of less than `1 + 2^-20`. The rule in `rounding.rs` contracts no sum of up to
/// `2^(53 - 21)` records, which is more than four billion. With more bits, the rule would contract
/// sums of fewer records.
const BOUND_BITS: u32 = 21;
const MANTISSA: u32 = f64::MANTISSA_DIGITS;

/// Build the transformation that adds up bounded floats.
pub(crate) fn sum<T: Atom + Float + Into<f64>>(
    input: Space<Records<T>, SymmetricDistance>,
) -> Result<Aggregate<T, AtomDomain<f64>, AbsoluteDistance<f64>>> {
    let bounds = input.domain().element().closed_bounds()?;
    let (lower, upper) = (bounds.lower().to_f64(), bounds.upper().to_f64());
    let lattice = Lattice::new(lower, upper)?;
    let rule = Rule::new(&lattice, input.domain().size(), lower.abs().max(upper.abs()))?;
    let output = Space::new(AtomDomain::non_nan(), AbsoluteDistance::new())?;
    let map = StabilityMap::new(move |d_in: &u32| rule.sensitivity(*d_in, &lattice));
    let fold = FloatSum::<T> { lattice, rule, records: PhantomData };
    Ok(Transformation::new(input, output, Function::fold(fold), map))
}

/// The rule that rounds the exact sum to a float. The rule determines the sensitivity of the
/// result.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Unsized { magnitude: u64, rounding: Rounding },
    Sized { range: u64, step: u32 },
}
impl Rule {
    fn new(lattice: &Lattice, size: Option<usize>, magnitude: f64) -> Result<Self> {
        let Some(size) = size else {
            let magnitude = lattice.magnitude();
            let rounding = Rounding::new(magnitude, BOUND_BITS, MANTISSA);
            return Ok(Rule::Unsized { magnitude, rounding });
        };
        if f64::inf_cast(size)?.inf_mul(magnitude).is_err() {
            return Err(Error::MakeTransformation(format!(
                "input: potential for overflow: a sum may exceed the largest f64, because the \
                 number of records is {size} and their magnitude is up to {magnitude:?}; clamp the \
                 records to narrower bounds"
            )));
        }
        // The largest sum is at most 2^64 * 2^51, so the product does not saturate. For numbers up
        // to 2^(53 + step), the spacing of floats with a mantissa of 53 bits is at most 2^step.
        let largest = wide(size).saturating_mul(lattice.magnitude().into());
        let length = u128::BITS - largest.saturating_sub(1).leading_zeros();
        Ok(Rule::Sized { range: lattice.range(), step: length.saturating_sub(MANTISSA) })
    }
    fn sensitivity(&self, d_in: u32, lattice: &Lattice) -> Result<f64> {
        // No step overflows. A bound on the change for one record is multiplied by the distance, or
        // by half of the distance. The product is less than 2^32 * 2^52. Rounding adds less than
        // 2^63.
        let multiple = match *self {
            Rule::Unsized { magnitude, rounding } => rounding.reach(d_in, magnitude),
            Rule::Sized { range, step } => {
                (u128::from(d_in / 2) * u128::from(range)).div_ceil(1 << step) << step
            }
        };
        let d_out = to_f64_up(&multiple.to_ibig(), lattice.exponent().into());
        if d_out < f64::INFINITY {
            return Ok(d_out);
        }
        Err(Error::Overflow(format!(
            "bounds: the sensitivity of the sum at distance {d_in} exceeds the largest f64; state \
             narrower bounds"
        )))
    }
    fn finish(&self, sum: i128, lattice: &Lattice) -> f64 {
        let magnitude = match self {
            Rule::Unsized { rounding, .. } => rounding.round(sum.unsigned_abs()),
            Rule::Sized { .. } => truncate(sum.unsigned_abs(), MANTISSA),
        };
        // This conversion is exact, or it saturates at the largest float.
        let float = to_f64_toward_zero(&magnitude.to_ibig(), lattice.exponent().into());
        if sum < 0 { -float } else { float }
    }
}
fn wide(size: usize) -> u128 {
    u128::try_from(size).unwrap_or(u128::MAX)
}

/// The fold of the sum of floats. The state is the exact sum, in units of the spacing of the
/// lattice.
struct FloatSum<T> {
    lattice: Lattice,
    rule: Rule,
    records: PhantomData<fn() -> T>,
}
impl<T: Atom + Float + Into<f64>> Fold<Vec<T>, f64> for FloatSum<T> {
    type State = i128;
    fn label(&self) -> String {
        format!("exact sum of {} as {}", T::type_name(), self.lattice.label())
    }
    fn start(&self) -> i128 {
        0
    }
    fn absorb(&self, state: &mut i128, rows: &[T]) -> Result<()> {
        // The sum leaves the range of `i128` only after 2^76 rows.
        *state = state.saturating_add(self.lattice.total(rows));
        Ok(())
    }
    fn merge(&self, state: &mut i128, other: i128) -> Result<()> {
        *state = state.saturating_add(other);
        Ok(())
    }
    fn finish(&self, state: i128) -> Result<f64> {
        Ok(self.rule.finish(state, &self.lattice))
    }
    fn projects(&self, set: &dyn Any) -> bool {
        self.lattice.projects::<T>(set)
    }
}

#[cfg(test)]
mod tests {
    use crate::make_sum;
    use crate::symmetric::Records;
    use opendp_core::*;

    type Sum =
        Transformation<Records<f64>, SymmetricDistance, AtomDomain<f64>, AbsoluteDistance<f64>>;
    fn make(lower: f64, upper: f64, size: Option<usize>) -> Result<Sum> {
        let domain = VectorDomain::new(AtomDomain::bounded(Bounds::new(lower, upper)?));
        let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
        make_sum(Space::new(domain, SymmetricDistance)?)
    }
    fn sum(lower: f64, upper: f64, size: Option<usize>) -> Sum {
        make(lower, upper, size).unwrap()
    }

    #[test]
    fn bounds_of_few_digits_cost_nothing() {
        assert_eq!([1, 2].map(|d| sum(0.0, 10.0, None).map(&d).unwrap()), [10.0, 20.0]);
        assert_eq!(sum(-5.0, 10.0, None).map(&1), Ok(10.0));
        assert_eq!(sum(0.0, 100_000.0, None).map(&1), Ok(100_000.0));
        assert_eq!(sum(0.0, 10.0, Some(1000)).map(&2), Ok(10.0));
        assert_eq!(
            [1, 2, 3, 4].map(|d| sum(0.0, 10.0, Some(10)).map(&d).unwrap()),
            [0.0, 10.0, 10.0, 20.0]
        );
    }
    #[test]
    fn huge_sums_are_no_further_apart_than_the_map_says() {
        let bound = 1.0 / 3.0;
        let lattice = super::Lattice::new(0.0, bound).unwrap();
        let rule = super::Rule::new(&lattice, None, bound).unwrap();
        let d_out = rule.sensitivity(1, &lattice).unwrap();
        for exponent in 80..110 {
            // Near this sum, the spacing of floats is larger than the difference between the map
            // and the bound. So truncation without contraction could violate the map.
            let sum = (3_i128 << exponent) - 1;
            let next = rule.finish(sum + i128::from(lattice.magnitude()), &lattice);
            assert!(next - rule.finish(sum, &lattice) <= d_out, "{exponent}");
        }
    }
    #[test]
    fn other_bounds_cost_next_to_nothing() {
        for bound in [0.1, 1.0 / 3.0, 1e-300, 1e-310, 1e300, 1.0_f64.next_up()] {
            let d_out = sum(-bound, bound / 7.0, None).map(&1).unwrap();
            assert!(bound <= d_out && d_out <= bound * (1.0 + 1e-6), "{bound} {d_out}");
            let d_out = sum(-bound, 0.0, Some(1000)).map(&2).unwrap();
            assert!(bound <= d_out && d_out <= bound * (1.0 + 1e-12), "{bound} {d_out}");
        }
        assert_eq!(sum(0.0, 5e-324, None).map(&3), Ok(1.5e-323));
        assert_eq!(sum(0.0, 0.0, None).map(&3), Ok(0.0));
    }
    #[test]
    fn a_small_range_at_large_numbers_costs_the_spacing_of_their_sum() {
        let base = 2_f64.powi(50);
        assert_eq!(sum(base, base + 1.0, Some(1024)).map(&2), Ok(256.0));
        assert_eq!(sum(base, base + 1.0, Some(1024)).map(&1), Ok(0.0));
        let data = |last: f64| [vec![base; 1023], vec![last]].concat();
        let sum = sum(base, base + 1.0, Some(1024));
        let (low, high) =
            (sum.invoke(&data(base)).unwrap(), sum.invoke(&data(base + 1.0)).unwrap());
        assert!(high - low <= 256.0 && low == base * 1024.0);
    }
    #[test]
    fn adds_exactly_and_cuts_once() {
        assert_eq!(sum(-1.0, 1.0, None).invoke(&vec![0.5, -0.25, 1.0, -1.0]), Ok(0.25));
        let tenths = sum(0.0, 10.0, None).invoke(&vec![0.1; 10]).unwrap();
        assert!((tenths - 1.0).abs() <= 10.0 * 2_f64.powi(-48));
        assert_eq!(sum(0.0, 0.75, None).invoke(&vec![0.375; 7]), Ok(2.625));
        assert_eq!(sum(0.0, 5e-324, None).invoke(&vec![5e-324; 3]), Ok(1.5e-323));
        let huge = sum(-f64::MAX, f64::MAX, None);
        assert_eq!(huge.invoke(&vec![1e308, 1e308, 1e308]), Ok(f64::MAX));
        let canceled = huge.invoke(&vec![1e308, 1e308, -1e308, -1e308, -0.0]);
        assert_eq!(canceled.map(f64::to_bits), Ok(0));
        assert_eq!(huge.map(&1).unwrap_err().kind(), "Overflow");
        assert_eq!(sum(0.0, f64::MAX / 2.0, None).map(&1), Ok(f64::MAX / 2.0 + 2_f64.powi(970)));
    }
    #[test]
    fn sums_of_many_rows_are_the_same_in_any_order_and_on_all_cores() {
        let data: Vec<f64> =
            (0..300_000_u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761))).collect();
        let total = sum(0.0, 1e9, None);
        let mut reversed = data.clone();
        reversed.reverse();
        assert_eq!(total.invoke(&data), total.invoke(&reversed));
        let streamed = total.invoke_chunks(data.chunks(777).map(|chunk| Ok(chunk.to_vec())));
        assert_eq!(total.invoke(&data), streamed);
    }
    #[test]
    fn a_clamp_in_the_same_pass_gives_the_sum_of_the_clamped_records() {
        let data = [f64::NEG_INFINITY, -2.0, -0.0, 0.0, 5e-324, 0.1, 0.7, 1e300, f64::INFINITY];
        let data: Vec<f64> = data.into_iter().cycle().take(9001).collect();
        for (lower, upper) in [(-0.0, 0.0), (-1.0, 0.3), (0.1, 1e16), (-5e-324, 1e-310)] {
            let records = Space::new(VectorDomain::new(AtomDomain::non_nan()), SymmetricDistance);
            let bounds = Bounds::new(lower, upper).unwrap();
            let clamp = crate::make_clamp(records.unwrap(), bounds).unwrap();
            let apart = sum(lower, upper, None).invoke(&clamp.invoke(&data).unwrap());
            assert_eq!(clamp.then(make_sum).unwrap().invoke(&data), apart);
        }
    }
    #[test]
    fn a_sum_that_may_overflow_is_refused() {
        let error = make(0.0, 1e308, Some(2)).unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains("potential for overflow"));
        assert!(make(0.0, f64::MAX, Some(1)).is_ok());
        assert_eq!(make(0.0, f64::INFINITY, None).unwrap_err().kind(), "MakeTransformation");
    }
    #[test]
    fn a_state_travels_as_bytes_and_only_to_the_same_sum() {
        let total = sum(-1.0, 1.0, None);
        let mut part = total.start().unwrap();
        part.absorb(&vec![-1.0; 5000]).unwrap();
        let bytes = part.to_bytes().unwrap();
        assert_eq!(total.function().resume(&bytes).unwrap().finish(), Ok(-5000.0));
        assert!(sum(-1.0, 0.5, None).function().resume(&bytes).is_err());
    }
    #[test]
    fn a_map_that_ignores_the_rounding_is_refused() {
        let base = 2_f64.powi(50);
        let honest = sum(base, base + 1.0, Some(9));
        let wrong = Transformation::new(
            honest.input().clone(),
            honest.output().clone(),
            honest.function().clone(),
            StabilityMap::new(|d: &u32| Ok(f64::from(d / 2))),
        );
        let data: Vec<Vec<f64>> =
            (0..=9).map(|high| [vec![base + 1.0; high], vec![base; 9 - high]].concat()).collect();
        assert!(laws::stable(&honest, &data).unwrap() > 0);
        assert!(laws::stable(&wrong, &data).is_err());
    }
}
