//! Searches for the point where a condition changes, among the values at which the condition has an
//! answer.

use super::Bisect;

/// The result of [`find_boundary`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome<T> {
    /// The condition holds at this value. At the next value on one side, the condition fails.
    Boundary(T),
    /// The condition has the same answer at all values that were tried and that have an answer.
    Same {
        /// Whether the condition holds at these values.
        holds: bool,
        /// The lowest and the highest of these values.
        ends: [T; 2],
    },
    /// The condition has no answer at any value that was tried.
    Nowhere,
    /// The condition has no answer at this value, which is between two values with different
    /// answers.
    Gap(T),
}

/// Find the point where a condition changes. At some values, the condition can have no answer: then
/// it returns `None`. The search leaves out these values. If the answers end at a value, and the
/// condition does not change there, this value is not the result.
///
/// With bounds, the search tries both bounds first, and then only values between them. Without
/// bounds, the search starts at zero. It first moves upward in growing steps, and then downward. If
/// all answers are the same, the search goes on to the ends of the range of values with an answer.
pub fn find_boundary<T: Bisect>(
    mut answer: impl FnMut(T) -> Option<bool>,
    bounds: Option<(T, T)>,
) -> Outcome<T> {
    T::search(&mut answer, bounds)
}
/// A condition as a trait object. With it, a search is compiled once for each type of values, and
/// not for each condition.
type Answer<'a, T> = dyn FnMut(T) -> Option<bool> + 'a;

pub(super) fn find<T: Bisect>(answer: &mut Answer<'_, T>, bounds: Option<(T, T)>) -> Outcome<T> {
    let (mut holds, mut fails) = match bracket(answer, bounds) {
        Ok(outcome) => return outcome,
        Err(Change { holds, fails }) => (holds, fails),
    };
    while let Some(middle) = middle(holds, fails) {
        match answer(middle) {
            Some(true) => holds = middle,
            Some(false) => fails = middle,
            None => return Outcome::Gap(middle),
        }
    }
    Outcome::Boundary(holds)
}
/// Two values between which the condition changes.
pub(super) struct Change<T> {
    holds: T,
    fails: T,
}
impl<T: Bisect> Change<T> {
    /// Return the two values, the lower value first.
    pub(super) fn ends(self) -> (T, T) {
        let Change { holds, fails } = self;
        if fails < holds { (fails, holds) } else { (holds, fails) }
    }
    /// Check that two values have the same answer.
    fn check(first: (T, bool), second: (T, bool)) -> Result<(), Self> {
        match (first, second) {
            ((holds, true), (fails, false)) | ((fails, false), (holds, true)) => {
                Err(Change { holds, fails })
            }
            _ => Ok(()),
        }
    }
}
/// Find two values between which the condition changes. If there are none, return the outcome of
/// the search.
pub(super) fn bracket<T: Bisect>(
    answer: &mut Answer<'_, T>,
    bounds: Option<(T, T)>,
) -> Result<Outcome<T>, Change<T>> {
    let tried = match bounds {
        Some((low, high)) => {
            walk(answer, if high < low { vec![high, low] } else { vec![low, high] }, None)?
        }
        None => {
            let mut values = vec![T::START];
            values.extend(T::above());
            let upward = walk(answer, values, None)?;
            let lowest = upward.iter().find_map(|(value, found)| Some((*value, (*found)?)));
            let mut tried = walk(answer, T::below(), lowest)?;
            tried.reverse();
            tried.extend(upward);
            tried
        }
    };
    let built = tried.iter().filter_map(|(value, found)| Some((*value, (*found)?)));
    let Some(((mut low, holds), (mut high, _))) = built.clone().next().zip(built.last()) else {
        return Ok(Outcome::Nowhere);
    };
    for pair in tried.windows(2) {
        let (mut inside, mut outside) = match pair {
            [(low, Some(_)), (high, None)] => (*low, *high),
            [(low, None), (high, Some(_))] => (*high, *low),
            _ => continue,
        };
        while let Some(middle) = middle(inside, outside) {
            match answer(middle) {
                None => outside = middle,
                Some(found) => {
                    Change::check((inside, holds), (middle, found))?;
                    inside = middle;
                }
            }
        }
        low = if inside < low { inside } else { low };
        high = if high < inside { inside } else { high };
    }
    Ok(Outcome::Same { holds, ends: [low, high] })
}
/// Try values in turn, until two answers differ. `nearest` is the nearest value that was tried
/// before and has an answer, together with this answer.
fn walk<T: Bisect>(
    answer: &mut Answer<'_, T>,
    values: Vec<T>,
    mut nearest: Option<(T, bool)>,
) -> Result<Vec<(T, Option<bool>)>, Change<T>> {
    let mut tried = Vec::new();
    for value in values {
        let found = answer(value);
        if let Some(new) = found.map(|found| (value, found)) {
            nearest.map_or(Ok(()), |old| Change::check(old, new))?;
            nearest = Some(new);
        }
        tried.push((value, found));
    }
    Ok(tried)
}
/// Return a value between two values, if there is one.
fn middle<T: Bisect>(first: T, second: T) -> Option<T> {
    let (low, high) = if second < first { (second, first) } else { (first, second) };
    let middle = T::between(low, high);
    (low < middle && middle < high).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search<T: Bisect>(answer: impl FnMut(T) -> Option<bool>) -> Outcome<T> {
        find_boundary(answer, None)
    }

    /// Search a condition that has an answer only between `low` and `high`.
    fn within(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> Outcome<f64> {
        search(|x: f64| (low <= x && x <= high).then(|| holds(x)))
    }

    #[test]
    fn a_value_without_an_answer_is_no_boundary() {
        for (low, high) in [(f64::MIN, f64::MAX), (1.0, 100.0), (-7.0, 33.0), (1.5, 5.5)] {
            assert_eq!(within(low, high, |x| x <= 5.0), Outcome::Boundary(5.0), "{low} {high}");
            assert_eq!(within(low, high, |x| 5.0 <= x), Outcome::Boundary(5.0), "{low} {high}");
        }
        // The growing steps try 16 and then 512. At 16 the condition has an answer, and at 512 it
        // has none. The condition changes between these values.
        assert_eq!(within(0.0, 100.0, |x| 90.0 <= x), Outcome::Boundary(90.0));
        assert_eq!(within(-100.0, 0.0, |x| x <= -90.0), Outcome::Boundary(-90.0));
        assert_eq!(search(|x: i64| (1 <= x).then_some(x <= 10)), Outcome::Boundary(10));
        assert_eq!(search(|x: u8| (1..40).contains(&x).then_some(38 < x)), Outcome::Boundary(39));
    }
    #[test]
    fn without_a_change_the_ends_of_the_range_are_found() {
        for holds in [true, false] {
            let same = Outcome::Same { holds, ends: [-3.5, 100.0] };
            assert_eq!(within(-3.5, 100.0, |_| holds), same);
            let all = Outcome::Same { holds, ends: [f64::MIN, f64::MAX] };
            assert_eq!(within(f64::MIN, f64::MAX, |_| holds), all);
            let whole = search(|x: i64| (1..=1000).contains(&x).then_some(holds));
            assert_eq!(whole, Outcome::Same { holds, ends: [1, 1000] });
        }
        assert_eq!(search(|_: f64| None), Outcome::Nowhere);
        // The growing steps try no value between 4.5 and 5.5.
        assert_eq!(within(4.5, 5.5, |x| x <= 5.0), Outcome::Nowhere);
    }
    #[test]
    fn a_gap_in_the_range_is_named() {
        assert_eq!(search(|x: i64| (x != 20).then_some(x < 25)), Outcome::Boundary(24));
        // The first middle between 16 and 255 is 135.
        let found = search(|x: i64| (!(100..=150).contains(&x)).then_some(x < 25));
        assert!(matches!(found, Outcome::Gap(_)), "{found:?}");
    }
}
