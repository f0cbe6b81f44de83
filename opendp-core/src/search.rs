//! Search for the value at which a condition changes.

mod boundary;

use std::fmt::Debug;

use crate::{Carrier, Domain, Error, Measure, Measurement, Metric, Result, Transformation};
pub use boundary::{Outcome, find_boundary};

/// A type of numbers in which a search by bisection is possible.
pub trait Bisect: Copy + PartialOrd + Debug {
    /// The value from which an unbounded search starts.
    const START: Self;
    /// List values above the start, in ascending order. The last value is the largest value of the
    /// type.
    fn above() -> Vec<Self>;
    /// List values below the start, in descending order. The last value is the lowest value of the
    /// type. For an unsigned type, this value is the start.
    fn below() -> Vec<Self>;
    /// Return a value between `low` and `high`. If there is no such value, return `low` or `high`.
    fn between(low: Self, high: Self) -> Self;
    /// Do the work of [`find_boundary`]. The implementations for floats are compiled in this crate,
    /// so that other crates do not compile the search again.
    #[doc(hidden)]
    fn search(
        answer: &mut dyn FnMut(Self) -> Option<bool>,
        bounds: Option<(Self, Self)>,
    ) -> Outcome<Self> {
        boundary::find(answer, bounds)
    }
}
macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Bisect for $t {
            const START: Self = 0;
            fn above() -> Vec<Self> {
                let bands = (0..$t::BITS / 4).filter_map(|band| (1 as $t).checked_shl(4 * band));
                // Some conditions return an error for large values. For example, a condition can
                // require that the value fits into a type with fewer bits, or that an `f64`
                // represents the value. So the list includes the largest values of the types with
                // fewer bits, and 2^53 - 1. An `f64` represents all integers from 0 to 2^53 - 1.
                let ends = [7, 8, 15, 16, 31, 32, 53, 63, 64].into_iter();
                let ends = ends.filter_map(|bits| (1 as $t).checked_shl(bits)?.checked_sub(1));
                let mut all: Vec<$t> = bands.chain(ends).filter(|x| 0 < *x).collect();
                all.push($t::MAX);
                all.sort_unstable();
                all.dedup();
                all
            }
            fn below() -> Vec<Self> {
                let bands = Self::above().into_iter().filter_map(|x| (0 as $t).checked_sub(x));
                bands.chain([$t::MIN]).collect()
            }
            fn between(low: Self, high: Self) -> Self {
                // This is the average of `low` and `high`, rounded down, without an overflow.
                (low & high) + ((low ^ high) >> 1)
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 usize);
macro_rules! floats {
    ($($t:ident)*) => {$(
        impl Bisect for $t {
            const START: Self = 0.0;
            fn above() -> Vec<Self> {
                // The values are `MIN_POSITIVE`, `MAX`, and powers of two from 2^-121 to 2^121. The
                // exponents of these powers are squares and negative squares.
                let small = (0..12).rev().map(|k: i32| (2.0 as $t).powi(-k * k));
                let large = (1..12).map(|k: i32| (2.0 as $t).powi(k * k));
                let all = [$t::MIN_POSITIVE].into_iter().chain(small).chain(large);
                all.chain([$t::MAX]).collect()
            }
            fn below() -> Vec<Self> {
                Self::above().into_iter().map(|x| -x).collect()
            }
            fn between(low: Self, high: Self) -> Self {
                // The average of a finite and an infinite number is infinite.
                let (first, last) = (low.clamp($t::MIN, $t::MAX), high.clamp($t::MIN, $t::MAX));
                let middle = match (first < 0.0) == (last < 0.0) {
                    true => first + (last - first) / 2.0,
                    false => first / 2.0 + last / 2.0,
                };
                let inside = |x: Self| low < x && x < high;
                if inside(middle) { middle } else if inside(last) { last } else { first }
            }
            fn search(
                answer: &mut dyn FnMut(Self) -> Option<bool>,
                bounds: Option<(Self, Self)>,
            ) -> Outcome<Self> {
                boundary::find(answer, bounds)
            }
        }
    )*};
}
floats!(f32 f64);

/// Find the point where a condition changes. Of the two values next to this point, return the value
/// at which the condition holds.
///
/// The condition must be monotone: it holds on one side of some value, and fails on the other side.
/// With bounds, the search stays between these bounds. Without bounds, the search starts at zero.
/// The search first moves upward in growing steps. If the condition does not change above zero, the
/// search then moves downward.
///
/// The condition can return an error at some values, such as values that a constructor refuses. An
/// error is not an answer. The search leaves out these values. So the condition holds at the
/// result, and fails (without an error) at the next value on one side.
///
/// ```
/// # use opendp_core::{Error, search::binary_search};
/// assert_eq!(binary_search(|x: i32| Ok(x >= 5), Some((0, 100)))?, 5);
/// assert_eq!(binary_search(|x: f64| Ok(x * x <= 2.0), Some((0.0, 10.0)))?, 1.414213562373095);
/// assert_eq!(binary_search(|x: f64| Ok(x >= 5.0), None)?, 5.0);
/// assert_eq!(binary_search(|_: f64| Ok(true), None).unwrap_err().kind(), "Search");
/// // The condition has an answer only above zero, and holds there. So nothing is found.
/// let positive = |x: f64| if 0.0 < x { Ok(true) } else { Err(Error::MakeDomain("x".into())) };
/// assert_eq!(binary_search(positive, None).unwrap_err().kind(), "Search");
/// # Ok::<(), opendp_core::Error>(())
/// ```
///
/// # Errors
/// `Search` when the condition is the same at both bounds or, without bounds, at every tried value.
/// `Search` also when the condition has different answers at two values, and returns an error at a
/// tried value between them. Then the point where the condition changes is not determined. If the
/// condition returns an error at every tried value, the result is the first of these errors.
pub fn binary_search<T: Bisect>(
    condition: impl Fn(T) -> Result<bool>,
    bounds: Option<(T, T)>,
) -> Result<T> {
    search(&condition, bounds)
}
/// Do the work of [`binary_search`]. This function does not depend on the type of the condition.
fn search<T: Bisect>(condition: &Condition<'_, T>, bounds: Option<(T, T)>) -> Result<T> {
    let mut trials = Trials::of(condition);
    match T::search(&mut |x| trials.answer(x), bounds) {
        Outcome::Boundary(value) => Ok(value),
        Outcome::Gap(value) => Err(trials.gap(&value)),
        Outcome::Same { .. } | Outcome::Nowhere => {
            Err(trials.failure(if bounds.is_some() { SAME_AT_BOUNDS } else { NEVER_CHANGES }))
        }
    }
}

/// Find two values between which a condition changes. Return the lower value first. Start at zero
/// and move in growing steps, first upward and then downward. Leave out the values at which the
/// condition returns an error.
///
/// ```
/// # use opendp_core::search::exponential_bounds_search;
/// assert_eq!(exponential_bounds_search(|x: i32| Ok(x > 7))?, (1, 16));
/// assert_eq!(exponential_bounds_search(|x: f64| Ok(x < -300.0))?, (-512.0, -16.0));
/// # Ok::<(), opendp_core::Error>(())
/// ```
///
/// # Errors
/// `Search` when the condition is the same at every tried value. If the condition returns an error
/// at every tried value, the result is the first of these errors.
pub fn exponential_bounds_search<T: Bisect>(
    condition: impl Fn(T) -> Result<bool>,
) -> Result<(T, T)> {
    let mut trials = Trials::of(&condition);
    match boundary::bracket(&mut |x| trials.answer(x), None) {
        Ok(_) => Err(trials.failure(NEVER_CHANGES)),
        Err(change) => Ok(change.ends()),
    }
}

const SAME_AT_BOUNDS: &str =
    "the condition is the same at both bounds; state bounds between which it changes";
const NEVER_CHANGES: &str = "the condition is the same at every tried value; check that it depends \
                             on the value, or state bounds between which it changes";

type Condition<'a, T> = dyn Fn(T) -> Result<bool> + 'a;
/// A condition and the errors of its trials.
struct Trials<'a, T> {
    condition: &'a Condition<'a, T>,
    errors: Vec<Error>,
    works: bool,
}
impl<'a, T: Debug> Trials<'a, T> {
    fn of(condition: &'a Condition<'a, T>) -> Self {
        Trials { condition, errors: Vec::new(), works: false }
    }
    /// Return whether the condition holds. If the condition returns an error, keep this error and
    /// return `None`.
    fn answer(&mut self, x: T) -> Option<bool> {
        match (self.condition)(x) {
            Ok(holds) => {
                self.works = true;
                Some(holds)
            }
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }
    /// If the condition gave an error at every tried value, return the first of these errors.
    /// Otherwise return an error with the given message.
    fn failure(self, otherwise: &str) -> Error {
        let first = self.errors.into_iter().next();
        first.filter(|_| !self.works).unwrap_or_else(|| Error::Search(otherwise.into()))
    }
    /// Return the error for a search that ended at an error of the condition.
    fn gap(self, value: &T) -> Error {
        let cause = self.errors.last().map_or_else(String::new, |error| format!(": {error}"));
        Error::Search(format!(
            "the condition is an error at {value:?}{cause}\nThe answers below and above this value \
             differ: state bounds between which the condition gives no error."
        ))
    }
}

/// An object with a map that relates two distances: a transformation or a measurement.
pub trait Related {
    /// The distance between inputs.
    type Input;
    /// The distance between outputs, or the privacy loss.
    type Output;
    /// Return whether the map at `d_in` is at most `d_out`.
    ///
    /// # Errors
    /// The errors of the map, and of the comparison.
    fn relates(&self, d_in: &Self::Input, d_out: &Self::Output) -> Result<bool>;
}
impl<DI: Domain, MI: Metric, MO: Measure, TO: Carrier> Related for Measurement<DI, MI, MO, TO> {
    type Input = MI::Distance;
    type Output = MO::Distance;
    fn relates(&self, d_in: &MI::Distance, d_out: &MO::Distance) -> Result<bool> {
        self.check(d_in, d_out)
    }
}
impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> Related for Transformation<DI, MI, DO, MO> {
    type Input = MI::Distance;
    type Output = MO::Distance;
    fn relates(&self, d_in: &MI::Distance, d_out: &MO::Distance) -> Result<bool> {
        self.check(d_in, d_out)
    }
}

/// Find a parameter with which a chain meets a bound. The bound is met if the map of the chain at
/// `d_in` is at most `d_out`. The result meets the bound, but the next larger or the next smaller
/// parameter does not meet the bound.
///
/// Use this function to find the least noise or the largest sample that meets a budget. The search
/// evaluates only maps, and uses no data. The search uses [`binary_search`]. The search leaves out
/// the parameters with which the chain cannot be made, or with which its map gives an error. Such a
/// parameter counts neither as a parameter that meets the bound, nor as a parameter that does not
/// meet the bound.
///
/// ```
/// # use opendp_core::{*, search::binary_search_param};
/// # let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<f64>::new())?;
/// let noise = |scale: f64| {
///     let map = PrivacyMap::new(move |d_in: &f64| Ok(d_in / scale));
///     Ok(Measurement::new(space.clone(), MaxDivergence, Function::map(|_: &i32| Ok(0)), map))
/// };
/// assert_eq!(binary_search_param(noise, &1.0, &0.25, None)?, 4.0);
/// # Ok::<(), opendp_core::Error>(())
/// ```
///
/// # Errors
/// The errors of [`binary_search`]. In particular, `Search` when every parameter that was tried
/// meets the bound. In this case, even a chain without noise can meet the bound.
#[doc(alias = "solve")]
pub fn binary_search_param<T: Bisect, R: Related>(
    make_chain: impl Fn(T) -> Result<R>,
    d_in: &R::Input,
    d_out: &R::Output,
    bounds: Option<(T, T)>,
) -> Result<T> {
    binary_search(|parameter| make_chain(parameter)?.relates(d_in, d_out), bounds)
}

/// Make the chain with the parameter that [`binary_search_param`] finds.
///
/// # Errors
/// The errors of [`binary_search`].
#[doc(alias = "solve")]
pub fn binary_search_chain<T: Bisect, R: Related>(
    make_chain: impl Fn(T) -> Result<R>,
    d_in: &R::Input,
    d_out: &R::Output,
    bounds: Option<(T, T)>,
) -> Result<R> {
    make_chain(binary_search_param(&make_chain, d_in, d_out, bounds)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_boundary_on_the_side_where_the_condition_holds() {
        assert_eq!(binary_search(|x: f64| Ok(x <= 5.0), None).unwrap(), 5.0);
        assert_eq!(binary_search(|x: f64| Ok(x < -300.0), None).unwrap(), -300.00000000000006);
        assert_eq!(binary_search(|x: i64| Ok(x > 7), None).unwrap(), 8);
        assert_eq!(binary_search(|x: i64| Ok(x <= -7), None).unwrap(), -7);
        assert_eq!(binary_search(|x: u8| Ok(x > 254), None).unwrap(), 255);
        assert_eq!(binary_search(|x: i8| Ok(x > -128), None).unwrap(), -127);
        assert_eq!(binary_search(|x: i128| Ok(x > i128::MAX - 1), None).unwrap(), i128::MAX);
        // This condition returns an error for each value that is not an `i32`. The search still
        // finds the point where the condition changes.
        let narrow = |x: i64| match i32::try_from(x) {
            Ok(x) => Ok(2_000_000_000 <= x),
            Err(_) => Err(Error::MakeMeasurement("threshold".into())),
        };
        assert_eq!(binary_search(narrow, None).unwrap(), 2_000_000_000);
        assert_eq!(binary_search(|x: i32| Ok(x >= 5), Some((100, 0))).unwrap(), 5);
        let (all, infinite) = (Some((f64::NEG_INFINITY, f64::INFINITY)), f64::INFINITY);
        assert_eq!(binary_search(|x: f64| Ok(x >= 5.0), all).unwrap(), 5.0);
        assert_eq!(binary_search(|x: f64| Ok(x <= -5.0), all).unwrap(), -5.0);
        assert_eq!(binary_search(|x: f64| Ok(x == infinite), all).unwrap(), infinite);
        let largest = binary_search(|x: f32| Ok(x >= f32::MAX), Some((0.0, f32::INFINITY)));
        assert_eq!(largest.unwrap(), f32::MAX);
    }
    #[test]
    fn an_error_is_no_answer() {
        let error = || Err(Error::MakeMeasurement("scale".into()));
        let positive = |x: f64| if x <= 0.0 { error() } else { Ok(1.0 / x <= 0.1) };
        assert_eq!(binary_search(positive, None).unwrap(), 10.0);
        assert_eq!(binary_search(positive, Some((0.0, 100.0))).unwrap(), 10.0);
        // The lowest and the highest value with an answer are not boundaries.
        let among = |low: f64, high: f64| {
            move |x: f64| if low <= x && x <= high { Ok(x <= 5.0) } else { error() }
        };
        for (low, high) in [(1.0, 100.0), (1.0, 5.5), (0.0, 9.0), (-7.0, 33.0)] {
            assert_eq!(binary_search(among(low, high), None).unwrap(), 5.0, "{low} {high}");
            let bounds = Some((-1e6, high));
            assert_eq!(binary_search(among(low, high), bounds).unwrap(), 5.0, "{low} {high}");
            let (below, above) = exponential_bounds_search(among(low, high)).unwrap();
            assert!(low <= below && below <= 5.0 && 5.0 < above && above <= high);
        }
        for (low, high) in [(1.0, 4.0), (6.0, 100.0)] {
            for bounds in [None, Some((-1e6, 1e6)), Some((low, 1e6)), Some((-1e6, high))] {
                let found = binary_search(among(low, high), bounds).unwrap_err();
                let kind = if bounds == Some((-1e6, 1e6)) { "MakeMeasurement" } else { "Search" };
                assert_eq!(found.kind(), kind, "{low} {high} {bounds:?}");
            }
            let found = exponential_bounds_search(among(low, high)).unwrap_err();
            assert_eq!(found.kind(), "Search");
        }
        let never = |_: f64| -> Result<bool> { error() };
        assert_eq!(binary_search(never, None).unwrap_err().kind(), "MakeMeasurement");
    }
    #[test]
    fn an_error_between_two_different_answers_is_returned() {
        let gap = |x: i64| match x {
            100..=150 => Err(Error::MakeMeasurement("too odd".into())),
            _ => Ok(x < 25),
        };
        // The first middle between 16 and 255 is 135.
        let error = binary_search(gap, None).unwrap_err();
        assert_eq!(error.kind(), "Search");
        assert!(error.to_string().contains("an error at 135: too odd\n"), "{error}");
        assert_eq!(binary_search(gap, Some((0, 99))).unwrap(), 24);
    }
    #[test]
    fn a_search_finds_no_chain_without_noise() {
        use crate::{AbsoluteDistance, AtomDomain, Function, MaxDivergence, PrivacyMap, Space};
        let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<f64>::new());
        let noise = |scale: f64| {
            if scale < 0.0 {
                return Err(Error::MakeMeasurement("scale".into()));
            }
            let loss = move |d_in: f64| if d_in == 0.0 { 0.0 } else { d_in / scale };
            let map = PrivacyMap::new(move |d_in: &f64| Ok(loss(*d_in)));
            let function = Function::map(|_: &i32| Ok(0));
            Ok(Measurement::new(space.clone()?, MaxDivergence, function, map))
        };
        assert_eq!(binary_search_param(noise, &1.0, &0.25, None).unwrap(), 4.0);
        // Every scale meets these bounds, even scale 0.
        for (d_in, d_out) in [(1.0, f64::INFINITY), (0.0, 1.0)] {
            for bounds in [None, Some((-1.0, 10.0)), Some((0.0, 10.0))] {
                let found = binary_search_param(noise, &d_in, &d_out, bounds);
                assert_eq!(found.unwrap_err().kind(), "Search", "{d_in} {d_out} {bounds:?}");
                let made = binary_search_chain(noise, &d_in, &d_out, bounds);
                assert_eq!(made.map(drop).unwrap_err().kind(), "Search");
            }
        }
    }
    #[test]
    fn brackets_a_boundary_and_says_when_there_is_none() {
        assert_eq!(exponential_bounds_search(|x: i32| Ok(x > 7)).unwrap(), (1, 16));
        assert_eq!(exponential_bounds_search(|x: f64| Ok(x > 7.0)).unwrap(), (2.0, 16.0));
        assert_eq!(exponential_bounds_search(|x: f64| Ok(x < -300.0)).unwrap(), (-512.0, -16.0));
        assert_eq!(exponential_bounds_search(|_: i8| Ok(true)).unwrap_err().kind(), "Search");
        let never = |_: i8| -> Result<bool> { Err(Error::MakeMeasurement("no".into())) };
        assert_eq!(exponential_bounds_search(never).unwrap_err().kind(), "MakeMeasurement");
    }
    #[test]
    fn says_when_there_is_no_boundary() {
        assert_eq!(binary_search(|_: i32| Ok(true), Some((0, 1))).unwrap_err().kind(), "Search");
        assert_eq!(binary_search(|_: i32| Ok(false), None).unwrap_err().kind(), "Search");
    }
}
