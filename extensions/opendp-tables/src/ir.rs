//! A small language for plans whose results can be released with noise.
//!
//! The checker translates queries to this language, and [`sql`](crate::sql) prints plans for
//! engines. All expressions are total: for every row, an expression gives a value or null, but no
//! error.

use crate::calendar::{Part, Period};
use crate::{Type, Value};

mod sizes;

/// A row-wise expression. The value of the expression depends only on one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Row {
    /// A column. Source 0 is the private table. Other sources are the joined public tables.
    Column { source: usize, name: String, kind: Type },
    /// A public value.
    Literal(Value),
    /// An arithmetic operation on two floats.
    Arithmetic(Operator, Box<Row>, Box<Row>),
    /// The negative of a number.
    Negative(Box<Row>),
    /// The absolute value, the floor or the ceiling of a float.
    Rounded(Rounding, Box<Row>),
    /// A comparison of two values of one type.
    Compare(Comparison, Box<Row>, Box<Row>),
    /// Whether two conditions are both true.
    And(Box<Row>, Box<Row>),
    /// Whether at least one of two conditions is true.
    Or(Box<Row>, Box<Row>),
    /// Whether a value is false.
    Not(Box<Row>),
    /// Whether a value is null.
    IsNull(Box<Row>),
    /// Whether a value is in a list of values.
    In(Box<Row>, Vec<Value>),
    /// Each condition has a value. The result is the value of the first condition that is true. If
    /// no condition is true, the result is the last field, or null if this field is `None`.
    Case(Vec<(Row, Row)>, Option<Box<Row>>),
    /// The first value that is not null.
    Coalesce(Vec<Row>),
    /// Null if two values are equal, otherwise the first value.
    NullIf(Box<Row>, Box<Row>),
    /// An integer that is converted to a float.
    Float(Box<Row>),
    /// A number moved into bounds.
    Clamp(Box<Row>, f64, f64),
    /// A part of a date or a time, as an integer.
    Part(Part, Box<Row>),
    /// The start of the period that contains a date or a time.
    Start(Period, Box<Row>),
    /// The date of a time.
    Day(Box<Row>),
    /// The time at which a date begins.
    Midnight(Box<Row>),
    /// A date moved by a number of days, or a time moved by a number of microseconds. Null if the
    /// result is beyond the calendar.
    Shifted(i64, Box<Row>),
    /// The number of days from the first date to the second date.
    Days(Box<Row>, Box<Row>),
    /// Whether a text matches a pattern of LIKE, or of ILIKE if the last field is true.
    Like(Box<Row>, String, bool),
    /// A text that a function makes from a text.
    Text(TextFunction, Box<Row>),
    /// The number of characters of a text.
    Length(Box<Row>),
    /// The texts one after the other. Null if one of them is null.
    Joined(Vec<Row>),
}
/// A function from a text to a text. The numbers are public. They count characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TextFunction {
    Lower,
    Upper,
    /// Remove the spaces at both ends.
    Trim,
    /// Remove the spaces at the start.
    TrimStart,
    /// Remove the spaces at the end.
    TrimEnd,
    /// The characters from a place on, counted from 1. With a second number, at most this many.
    Part(i64, Option<i64>),
    /// At most this many characters at the start.
    Left(i64),
}
/// Arithmetic of two floats. A division by 0 gives null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rounding {
    Absolute,
    Floor,
    Ceiling,
}
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}
impl Comparison {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::Greater => ">",
            Comparison::AtLeast => ">=",
        }
    }
}
impl Row {
    /// Return the type of the value. The literal null has no type.
    pub(crate) fn kind(&self) -> Option<Type> {
        match self {
            Row::Column { kind, .. } => Some(*kind),
            Row::Literal(value) => value.kind(),
            Row::Arithmetic(..) | Row::Negative(_) | Row::Rounded(..) => Some(Type::Float),
            Row::Float(_) | Row::Clamp(..) => Some(Type::Float),
            Row::Compare(..) | Row::And(..) | Row::Or(..) => Some(Type::Boolean),
            Row::Not(_) | Row::IsNull(_) | Row::In(..) => Some(Type::Boolean),
            Row::Case(cases, otherwise) => {
                let values = cases.iter().map(|(_, value)| value);
                values.chain(otherwise.as_deref()).find_map(Row::kind)
            }
            Row::Coalesce(all) => all.iter().find_map(Row::kind),
            Row::NullIf(value, _) | Row::Start(_, value) => value.kind(),
            Row::Shifted(_, value) => value.kind(),
            Row::Part(..) | Row::Length(_) | Row::Days(..) => Some(Type::Integer),
            Row::Day(_) => Some(Type::Date),
            Row::Midnight(_) => Some(Type::Timestamp),
            Row::Like(..) => Some(Type::Boolean),
            Row::Text(..) | Row::Joined(_) => Some(Type::Text),
        }
    }
}

/// A joined public table. Each private row is joined with at most one public row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Joined {
    pub(crate) table: String,
    /// The key of the public table, and its type. All values of the key are different.
    pub(crate) key: (String, Type),
    /// The value that must equal the key.
    pub(crate) on: Row,
    /// Whether private rows that match no public row are kept.
    pub(crate) keeps_all: bool,
}

/// Rows of one private table. A plan has several branches if the query is a `UNION ALL`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Branch {
    pub(crate) table: String,
    pub(crate) joins: Vec<Joined>,
    pub(crate) filters: Vec<Row>,
    /// The columns that the branch returns.
    pub(crate) columns: Vec<Row>,
}

/// The limits on how many rows of each individual reach the aggregates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Bounding {
    /// An individual adds or removes at most `rows` rows. The plan does not enforce this limit.
    Trusted {
        /// The largest number of rows of an individual in the union of all branches.
        rows: u64,
        /// Whether other rows replace the rows of an individual, because the number of rows is
        /// public.
        exchanged: bool,
    },
    /// Each id is an individual. The plan enforces limits for each id.
    Enforced {
        /// The column of ids. The column is the same in every branch.
        id: (String, Type),
        rows: Option<u64>,
        groups: Option<u64>,
        rows_per_group: Option<u64>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    /// The name of the key in the answer.
    pub(crate) name: String,
    pub(crate) kind: Type,
    /// The position of the key among the columns of each branch.
    pub(crate) column: usize,
    /// All values of the key, if they are public.
    pub(crate) public: Option<Vec<Value>>,
}

/// A lattice: integers that represent multiples of a power of two. This power is the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lattice {
    /// The length of a step is `2^exponent`.
    pub(crate) exponent: i32,
    /// The bounds, in steps.
    pub(crate) low: i64,
    pub(crate) high: i64,
    /// The centre, in steps. The centre is subtracted from each point.
    pub(crate) centre: i64,
}

/// The number that each row adds to a sum of integers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Addend {
    One,
    /// 1 if the column is not null, and otherwise 0.
    Known(usize),
    /// The value of the column, moved into bounds and rounded to the lattice, minus the centre. A
    /// null gives 0.
    Value(usize, Lattice),
    /// The square of the number that `Value` adds.
    Square(usize, Lattice),
    /// 1 for each id in the group, even if the id has several rows.
    Id,
}

/// A sum of integers over each group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sum {
    pub(crate) addend: Addend,
    /// The column with the condition of the sum, if the sum has a condition. Only rows for which
    /// the condition is true add a number to the sum.
    pub(crate) only: Option<usize>,
}
impl Sum {
    /// Bound the magnitude of the number that one row adds.
    pub(crate) fn most(&self) -> u64 {
        let (low, high) = self.ends();
        low.max(high)
    }
    /// Bound the number that one row adds. If this function returns `(v, u)`, the number is from
    /// `-v` to `u`. This range contains 0, because a row without a value adds 0.
    pub(crate) fn ends(&self) -> (u64, u64) {
        match &self.addend {
            Addend::One | Addend::Known(_) | Addend::Id => (0, 1),
            Addend::Value(_, lattice) => lattice.ends(),
            Addend::Square(_, lattice) => (0, lattice.most().saturating_mul(lattice.most())),
        }
    }
}
impl Lattice {
    /// Bound the magnitude of a point minus the centre.
    pub(crate) fn most(&self) -> u64 {
        let (low, high) = self.ends();
        low.max(high)
    }
    /// Bound a point minus the centre. If this function returns `(v, u)`, the difference is from
    /// `-v` to `u`.
    fn ends(&self) -> (u64, u64) {
        let low = self.centre.saturating_sub(self.low);
        let high = self.high.saturating_sub(self.centre);
        (low.max(0).unsigned_abs(), high.max(0).unsigned_abs())
    }
    pub(crate) fn step(&self) -> f64 {
        2f64.powi(self.exponent)
    }
    /// Choose a lattice for numbers within bounds. The magnitudes of its points are at most
    /// `2^bits` steps. If `whole` is true, the numbers are integers.
    pub(crate) fn of(low: f64, high: f64, whole: bool, bits: i32) -> Lattice {
        Lattice::new(low, high, whole, above(low.abs().max(high.abs())) - bits)
    }
    /// Choose a lattice for numbers within bounds. Its centre is the middle of the bounds. The
    /// magnitudes of the differences between points and the centre are at most `2^bits + 1` steps.
    ///
    /// The step depends on the distance between the bounds. So the differences are also precise if
    /// the bounds are far from 0. For floats, the magnitudes of points are at most `2^52` steps,
    /// because the rounding of floats to a finer lattice would not be exact. So if floats are far
    /// from 0, the step can be larger than the step that `bits` alone would give. Then the step is
    /// at most `2^-51` times the larger magnitude of the bounds. Integers have magnitudes of at
    /// most `2^53`, so they need no larger step.
    pub(crate) fn centred(low: f64, high: f64, whole: bool, bits: i32) -> Lattice {
        let close = above((high - low) / 2.0) - bits;
        let finest = if whole { 0 } else { above(low.abs().max(high.abs())) - 52 };
        let lattice = Lattice::new(low, high, whole, close.max(finest));
        Lattice { centre: lattice.low + (lattice.high - lattice.low) / 2, ..lattice }
    }
    /// Make a lattice. If the numbers are whole, the step is at least 1. The bounds are rounded to
    /// the nearest points. If the numbers are whole and the step is 1, the bounds do not change.
    fn new(low: f64, high: f64, whole: bool, exponent: i32) -> Lattice {
        let exponent = if whole { exponent.max(0) } else { exponent };
        // The sum `scaled + 0.5` would not be exact for odd numbers above `2^52`.
        let steps = |x: f64| {
            let scaled = x * 2f64.powi(-exponent);
            let below = scaled.floor();
            below as i64 + i64::from(0.5 <= scaled - below)
        };
        Lattice { exponent, low: steps(low), high: steps(high), centre: 0 }
    }
}
/// Return the exponent of the least power of two that is larger than a magnitude. Only the powers
/// from `2^-350` to `2^350` are considered.
fn above(magnitude: f64) -> i32 {
    (0..=700).map(|k| k - 350).find(|k| magnitude < 2f64.powi(*k)).unwrap_or(350)
}

/// The buckets of the values of a column, for quantiles. There is a bucket at each candidate,
/// between two neighbouring candidates, below all candidates, and above all candidates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buckets {
    pub(crate) column: usize,
    pub(crate) candidates: Vec<f64>,
    pub(crate) only: Option<usize>,
}

/// An exact relational plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) branches: Vec<Branch>,
    pub(crate) bounding: Bounding,
    pub(crate) keys: Vec<Key>,
    pub(crate) sums: Vec<Sum>,
    pub(crate) buckets: Vec<Buckets>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centred_lattices_are_as_fine_far_from_zero_as_near_zero() {
        let far = [(0.0, 100.0), (-3.5, 7.25), (1e12, 1e12 + 10.0), (1e8, 1e8 + 1.0)];
        let wide = [(-1e100, 1e100), (0.0, 1e-70), (1e-70, 1e100), (-1e16, 8.0 - 1e16)];
        for ((low, high), bits) in far.into_iter().chain(wide).flat_map(|b| [(b, 40), (b, 25)]) {
            let lattice = Lattice::centred(low, high, false, bits);
            let finest: f64 = f64::max(low.abs(), high.abs()) * 2f64.powi(-51);
            let step = finest.max((high - low) * 2f64.powi(-bits));
            assert!(lattice.step() <= step, "{low} {high} {lattice:?}");
            assert!(lattice.most() <= (1_u64 << bits) + 1, "{low} {high} {lattice:?}");
            let points = [lattice.low, lattice.high].map(i64::unsigned_abs);
            assert!(points.iter().all(|point| *point <= 1 << 52), "{low} {high} {lattice:?}");
        }
        // Integers are not rounded.
        let lattice = Lattice::centred(1.7e9, 1.7e9 + 600.0, true, 25);
        assert_eq!((lattice.exponent, lattice.most()), (0, 300));
        let odd = 2f64.powi(53) - 1.0;
        let lattice = Lattice::of(-odd, odd, true, 54);
        assert_eq!([lattice.low, lattice.high], [1 - (1 << 53), (1 << 53) - 1]);
        // The control: without a centre, the step depends on the magnitudes of the bounds.
        assert_eq!(Lattice::of(1e12, 1e12 + 10.0, false, 40).step(), 1.0);
    }
}
