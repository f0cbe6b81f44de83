//! Multiplies a bounded number by a constant.

use opendp_core::arith::{Float, shown};
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Bounds, Distance, Error, Function, Result, Space,
    StabilityMap, Transformation,
};

/// Clamp a number to bounds and multiply it by a constant.
///
/// # Arguments
/// * `constant` - the factor
/// * `bounds` - a pair `[lower, upper]`; the number is first clamped to these bounds
///
/// # Precondition
/// `constant` and `bounds` are finite. The number is not NaN, but it can be infinite.
///
/// # Function
/// The number is clamped to the bounds, multiplied by `constant`, and rounded to the nearest float.
/// A product beyond the finite floats becomes the largest or the lowest finite float.
///
/// # Postcondition
/// The output is finite.
///
/// # Map
/// Let `c` be the absolute value of the constant, and `d` the smaller of `d_in` and the width of
/// the bounds. Let `m` be the largest magnitude of a product, rounded up and limited to the largest
/// float. Let `u` be the distance from `m` to the next float toward zero. Then `d_out = c * d + u`,
/// rounded up. The term `u` is dropped when `d` is zero, and when both bounds are zero. The term
/// `u` is also dropped when `c` is zero, or a power of two that is at least 1. For such a `c`, each
/// product is exact, or it exceeds the largest float in magnitude.
///
/// # Proof
/// Clamping does not increase the distance between two numbers. After clamping, this distance is at
/// most the width of the bounds. Let `g` be the exact product, saturated at the ends of the finite
/// floats. Saturation does not increase distances, so `g` has the Lipschitz constant `c`. The
/// output is `g` rounded to nearest. Let `v` be the spacing of floats below the largest float. If a
/// product exceeds the largest float by less than `v / 2`, the product rounds to the largest float.
/// If the excess is `v / 2` or more, rounding gives an infinity, and the function replaces the
/// infinity by the largest float. In the same way, each product below the lowest float becomes the
/// lowest float. The magnitude of `g` is at most `m`, and `u` is the spacing of floats below `m`.
/// So the two floats around `g` are at most `u` apart, even if these floats are subnormal. Each
/// output differs from its exact product `g` by at most `u / 2`. So the distance between two
/// outputs exceeds the distance between their exact products by at most `u`. If `d` is zero, the
/// two clamped numbers are equal, so the outputs are also equal. Let `c` be a power of two that is
/// at least 1. Then a multiplication by `c` keeps the significant bits of a number, even if the
/// number is subnormal. So each product is exact, or it exceeds the largest float in magnitude. In
/// both cases, the output is exactly `g`.
///
/// # Errors
/// `MakeTransformation` when the constant or a bound is infinite or NaN. The map returns `Overflow`
/// when its value is not finite.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_lipschitz_float_mul;
/// let input = Space::new(AtomDomain::non_nan(), AbsoluteDistance::new())?;
/// let double = make_lipschitz_float_mul(input, 2.0, Bounds::new(0.0, 10.0)?)?;
/// assert_eq!([1.3, 100.0, -5.0].map(|x| double.invoke(&x).unwrap()), [2.6, 20.0, 0.0]);
/// assert_eq!(double.map(&1.3)?, 2.6);
/// # Ok::<(), Error>(())
/// ```
pub fn make_lipschitz_float_mul<T>(
    input: Space<AtomDomain<T>, AbsoluteDistance<T>>,
    constant: T,
    bounds: Bounds<T>,
) -> Result<Transformation<AtomDomain<T>, AbsoluteDistance<T>, AtomDomain<T>, AbsoluteDistance<T>>>
where
    T: Atom + Float + Distance,
{
    let (lower, upper) = (bounds.lower(), bounds.upper());
    for (name, value) in [("constant", constant), ("bounds", lower), ("bounds", upper)] {
        if !Float::is_finite(value) {
            return Err(Error::MakeTransformation(format!(
                "{name}: expected only finite numbers, found {}",
                shown(value)
            )));
        }
    }
    let output = Space::new(AtomDomain::non_nan(), AbsoluteDistance::new())?;
    let function = Function::map(move |x: &T| {
        let product = bounds.clamp(*x) * constant;
        let raised = if product < T::FINITE_MIN { T::FINITE_MIN } else { product };
        Ok(if T::FINITE_MAX < raised { T::FINITE_MAX } else { raised })
    });
    let factor = constant.total_abs()?;
    let (width, unit) = (upper.inf_sub(lower).ok(), rounding(factor, lower, upper)?);
    let map = StabilityMap::new(move |d_in: &T| {
        let d_in = match width {
            Some(width) if width < *d_in => width,
            _ => *d_in,
        };
        let d_out = factor.inf_mul(d_in)?;
        if d_in > T::zero() { d_out.inf_add(unit) } else { Ok(d_out) }
    });
    Ok(Transformation::new(input, output, function, map))
}

register! {
    "lipschitz_float_mul.rs": make_lipschitz_float_mul(input, constant, bounds)
        for T in [f32, f64];
}

/// Return an upper bound on how much rounding can increase the distance between two products.
fn rounding<T: Float>(factor: T, lower: T, upper: T) -> Result<T> {
    let (lower, upper) = (lower.total_abs()?, upper.total_abs()?);
    let magnitude = if lower < upper { upper } else { lower };
    if magnitude == T::zero() || factor == T::zero() || shifts(factor.to_f64()) {
        return Ok(T::zero());
    }
    // `factor` and `magnitude` are finite, so the multiplication gives an error only if the product
    // exceeds the largest float.
    let largest = factor.inf_mul(magnitude).unwrap_or(T::FINITE_MAX);
    // Every float of type `T` is also an `f64`. Take the `f64` just below `largest`, and round it
    // toward zero to the type `T`. The result is the float of type `T` just below `largest`.
    largest.inf_sub(T::from_f64_toward_zero(largest.to_f64().next_down()))
}
/// Return whether a positive factor is a power of two that is at least 1.
fn shifts(factor: f64) -> bool {
    1.0 <= factor && factor.to_bits() << 12 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::arith::{Directed, InfCast};
    use opendp_core::laws;

    fn make<T: Atom + Float + Distance>(
        constant: T,
        lower: T,
        upper: T,
    ) -> Transformation<AtomDomain<T>, AbsoluteDistance<T>, AtomDomain<T>, AbsoluteDistance<T>>
    {
        let input = Space::new(AtomDomain::non_nan(), AbsoluteDistance::new()).unwrap();
        make_lipschitz_float_mul(input, constant, Bounds::new(lower, upper).unwrap()).unwrap()
    }
    /// Return floats of very different magnitudes, each with its two adjacent floats. If these
    /// floats are multiplied by a constant, some products are rounded up, and others down.
    fn numbers() -> Vec<f64> {
        let some = [0.0, 5e-324, 1e-310, 1e-40, 0.1, 1.0 / 3.0, 1.0, 1.3, 9.9, 1e16, 1e38, 1e290];
        let near = |x: &f64| [x.next_down(), *x, x.next_up()];
        let positive: Vec<f64> = some.iter().flat_map(near).collect();
        positive.iter().flat_map(|x| [*x, -x]).collect()
    }
    fn check<T: Atom + Float + Distance + InfCast<T>>(constant: T, lower: T, upper: T) {
        let cast = |x: f64| T::from_f64_toward_zero(x);
        // Keep only numbers whose distances from each other are finite in the type `T`.
        let fits = |x: &f64| x.abs() < T::FINITE_MAX.to_f64() / 4.0;
        let data: Vec<T> = numbers().into_iter().filter(fits).map(cast).collect();
        let multiply = make(constant, lower, upper);
        assert!(laws::stable(&multiply, &data).unwrap() > 1000);
        let ends = [cast(f64::INFINITY), cast(f64::NEG_INFINITY), T::FINITE_MAX, T::FINITE_MIN];
        assert_eq!(laws::member(&multiply, &ends), Ok(4));
        assert!(ends.iter().all(|x| Float::is_finite(multiply.invoke(x).unwrap())));
        let distances = [T::zero(), T::one(), ends[0], cast(1e-320), cast(1e300)];
        assert!(laws::erases(&multiply, &data, &distances).unwrap() > 0);
    }

    #[test]
    fn obeys_the_laws() {
        for constant in [0.1, -1.0 / 3.0, 1e-300, 3.0, 5e-324, 1e300, 0.0, 2.0, 0.5, -1.0] {
            check(constant, -10.0, 10.0);
            check(constant, -1e290, 1e-310);
            check(constant, 1e16, f64::MAX);
        }
        for constant in [0.1_f32, -3.0, 1e-40, 4.0] {
            check(constant, -10.0, 10.0);
            check(constant, -1e-38, f32::MAX);
        }
        check(0.1, 0.0, -0.0);
    }
    #[test]
    fn maps_as_the_catalogue_lists_or_closer() {
        assert_eq!(make(2.0, 0.0, 10.0).map(&1.3), Ok(2.6));
        let d_out = make(3.0, 0.0, 10.0).map(&1.0).unwrap();
        assert_eq!(d_out, 3.0 + 3.552713678800501e-15);
        // No float equals the sum of 60 and the term `u` of the map, so the map rounds the sum up.
        assert_eq!(make(3.0, -10.0, 10.0).map(&20.0), Ok(60.0_f64.next_up()));
        assert_eq!(make(0.0, 0.0, 0.0).map(&1.0), Ok(0.0));
        assert_eq!(make(2.0, 0.0, 10.0).map(&0.0), Ok(0.0));
        // The width of the bounds limits the distance between the clamped numbers.
        assert_eq!(make(2.0, 0.0, 10.0).map(&f64::INFINITY), Ok(20.0));
        assert_eq!(make(2.0, 0.0, f64::MAX).map(&1e308).unwrap_err().kind(), "Overflow");
        assert_eq!(make(2.0, 0.0, 1.0).map(&f64::NAN).unwrap_err().kind(), "FailedMap");
    }
    #[test]
    fn a_map_without_the_rounding_is_refused() {
        for (constant, lower, upper) in
            [(0.1_f64, 0.0, 10.0), (0.5, 0.0, 1e-310), (0.1, 1e16, 1e17)]
        {
            let honest = make(constant, lower, upper);
            let (input, output) = (honest.input().clone(), honest.output().clone());
            let map = StabilityMap::new(move |d: &f64| constant.inf_mul(*d));
            let wrong = Transformation::new(input, output, honest.function().clone(), map);
            let mut data = numbers();
            data.extend((0..50).scan(lower, |x, _| {
                *x = x.next_up();
                Some(*x)
            }));
            assert!(laws::stable(&honest, &data).is_ok());
            assert!(laws::stable(&wrong, &data).is_err(), "{constant}");
        }
    }
    #[test]
    fn refuses_what_is_not_finite() {
        let input = || Space::new(AtomDomain::non_nan(), AbsoluteDistance::new()).unwrap();
        let unit = Bounds::new(0.0, 1.0).unwrap();
        for constant in [f64::NAN, f64::INFINITY] {
            let error = make_lipschitz_float_mul(input(), constant, unit).unwrap_err();
            assert!(error.kind() == "MakeTransformation" && error.to_string().contains("constant"));
        }
        let half = Bounds::new(0.0, f64::INFINITY).unwrap();
        let error = make_lipschitz_float_mul(input(), 1.0, half).unwrap_err();
        assert!(error.kind() == "MakeTransformation" && error.to_string().contains("bounds"));
    }
}
