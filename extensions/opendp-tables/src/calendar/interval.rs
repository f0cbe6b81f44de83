//! Lengths of time that a query states, and dates and times that are moved by them.

use super::{DAY, DAYS, Period, TIMES, civil, first_day, next};
use crate::Type;

/// A length of time, as in `INTERVAL '1 month 3 days'`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) months: i64,
    pub(crate) days: i64,
    pub(crate) micros: i64,
}
impl Interval {
    /// Make an interval of days.
    pub(crate) fn days(days: i64) -> Interval {
        Interval { months: 0, days, micros: 0 }
    }
    /// Return the interval backwards in time. Return `None` if a number does not fit into 64 bits.
    pub(crate) fn negated(self) -> Option<Interval> {
        Some(Interval {
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            micros: self.micros.checked_neg()?,
        })
    }
    /// Return the length as a number of days for dates, and as a number of microseconds for times.
    /// Return `None` if the length is not such a number, or if it is longer than the calendar.
    pub(crate) fn length(self, kind: Type) -> Option<i64> {
        let (length, (first, last)) = match kind {
            Type::Date if self.micros == 0 => (self.days, DAYS),
            Type::Timestamp => (self.days.checked_mul(DAY)?.checked_add(self.micros)?, TIMES),
            _ => return None,
        };
        (self.months == 0 && length.unsigned_abs() <= first.abs_diff(last)).then_some(length)
    }
    /// Add the interval to a date or a time. First add the months: if the new month has no such
    /// day, the new day is the last one of the month. Then add the days, then the microseconds.
    /// Return `None` if one of these sums is beyond the calendar, or if a date gets a time of the
    /// day.
    pub(crate) fn after(self, kind: Type, value: i64) -> Option<i64> {
        let (day, time) = match kind {
            Type::Timestamp => (value.div_euclid(DAY), value.rem_euclid(DAY)),
            _ => (value, 0),
        };
        let day = month_later(day, self.months)?;
        let moved = if kind == Type::Timestamp { day * DAY + time } else { day };
        shifted(kind, moved, Interval { months: 0, ..self }.length(kind)?)
    }
}
/// Move a day by a number of months.
fn month_later(day: i64, months: i64) -> Option<i64> {
    let (year, month, day_of_month) = civil(day);
    let months = (year * 12 + month - 1).checked_add(months)?;
    let first = super::day_of(months.div_euclid(12), months.rem_euclid(12) + 1, 1)?;
    let last = next(Period::Month, first_day(Period::Month, first)) - 1;
    Some(last.min(first + day_of_month - 1))
}
/// Add a number of days to a date, or a number of microseconds to a time. Return `None` if the
/// result is beyond the calendar.
fn shifted(kind: Type, value: i64, length: i64) -> Option<i64> {
    let (first, last) = if kind == Type::Timestamp { TIMES } else { DAYS };
    value.checked_add(length).filter(|moved| (first..=last).contains(moved))
}
/// Return the first and the last date or time that a length moves within the calendar.
pub(crate) fn movable(kind: Type, length: i64) -> (i64, i64) {
    let (first, last) = if kind == Type::Timestamp { TIMES } else { DAYS };
    (first.max(first.saturating_sub(length)), last.min(last.saturating_sub(length)))
}
