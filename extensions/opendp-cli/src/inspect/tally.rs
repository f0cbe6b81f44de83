//! Counts of the kinds of cells in a column.

use opendp_core::{Atom, Codec, IBig};
use serde_json::{Value as Json, json};

use super::commas::{Commas, commas};

/// The result of reading a cell as a type.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    Value,
    Nan,
    /// A word for an infinite number, such as `inf`.
    Infinite,
    /// A number that is too large or too small for the type.
    OutOfRange,
    Unreadable,
}
#[derive(Clone, Copy, PartialEq)]
enum Class {
    Integer,
    Float,
    Other,
}
/// A type of cells, with the function that reads a cell.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    name: &'static str,
    class: Class,
    read: fn(&str) -> Reading,
    /// The atom type of an `option_domain` for these cells. `None` if there is no `option_domain`
    /// whose values include all values of the type `name`.
    option: Option<&'static str>,
    /// The least and the greatest value of the type `name`, if `option` is a wider type.
    ends: Option<(i32, i32)>,
}
fn integer<T: Atom>(cell: &str) -> Reading {
    match T::from_cell(cell) {
        Some(_) => Reading::Value,
        None if IBig::from_cell(cell).is_some() => Reading::OutOfRange,
        None => Reading::Unreadable,
    }
}
fn float<T: Atom + Into<f64>>(cell: &str) -> Reading {
    match T::from_cell(cell).map(Into::into) {
        None => Reading::Unreadable,
        Some(value) if value.is_nan() => Reading::Nan,
        // If the cell contains digits and the value is infinite, the number is out of range.
        Some(value) if value.is_infinite() => match cell.contains(|c: char| c.is_ascii_digit()) {
            true => Reading::OutOfRange,
            false => Reading::Infinite,
        },
        Some(_) => Reading::Value,
    }
}
fn other<T: Atom>(cell: &str) -> Reading {
    if T::from_cell(cell).is_some() { Reading::Value } else { Reading::Unreadable }
}
macro_rules! types {
    ($($name:ident $class:ident $read:ident $option:expr, $ends:expr;)*) => {
        [$(Type {
            name: stringify!($name), class: Class::$class, read: $read::<$name>, option: $option,
            ends: $ends,
        }),*]
    };
}
const TYPES: [Type; 16] = types! {
    bool Other other Some("bool"), None;
    i64 Integer integer Some("i64"), None;
    f64 Float float Some("f64"), None;
    String Other other None, None;
    i8 Integer integer Some("i32"), Some((-128, 127));
    i16 Integer integer Some("i32"), Some((-32_768, 32_767));
    i32 Integer integer Some("i32"), None;
    i128 Integer integer None, None;
    isize Integer integer Some("i64"), None;
    u8 Integer integer Some("u32"), Some((0, 255));
    u16 Integer integer Some("u32"), Some((0, 65_535));
    u32 Integer integer Some("u32"), None;
    u64 Integer integer Some("u64"), None;
    u128 Integer integer None, None;
    usize Integer integer Some("usize"), None;
    f32 Float float Some("f32"), None;
};
/// The number of types that a guess tries. A guess tries the first types of `TYPES`: `bool`, `i64`,
/// `f64` and `String`.
const GUESSES: usize = 4;

/// Read the name of a type.
pub(crate) fn parse_type(name: &str) -> Result<Type, String> {
    let name = match name {
        "int" => "i32",
        "float" => "f64",
        "str" => "String",
        name => name,
    };
    TYPES.into_iter().find(|known| known.name == name).ok_or_else(|| {
        let names: Vec<&str> = TYPES.iter().map(|known| known.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Return whether a cell is a truth value in a common form that `bool` cannot read.
fn is_other_truth(cell: &str) -> bool {
    const WORDS: [&str; 10] = ["yes", "no", "y", "n", "t", "f", "on", "off", "true", "false"];
    bool::from_cell(cell).is_none() && WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}
/// Return a warning if the first line of a table may be a record and not a header. `names` are the
/// cells of this line. The names in a header are distinct. They are not empty, and they are not
/// numbers.
pub(super) fn doubt_of_header(names: &[String]) -> Option<String> {
    let twice = |(place, name): (usize, &String)| {
        !name.is_empty() && names.get(..place).unwrap_or_default().contains(name)
    };
    let (fault, advice) = if names.iter().any(|name| f64::from_cell(name).is_some()) {
        ("is a number", "")
    } else if names.iter().any(String::is_empty) {
        ("is empty", "")
    } else if names.iter().enumerate().any(twice) {
        let refused = ". `opendp run` and `opendp ask` refuse to read a column whose name occurs \
                       twice: rename one";
        ("occurs twice", refused)
    } else {
        return None;
    };
    Some(format!(
        "the first line may be a record and not a header: one of its cells {fault}. This line is \
         not counted as a row{advice}"
    ))
}

/// The number of cells for each [`Reading`], if the cells are read as the type `kind`.
struct Count {
    kind: Type,
    values: u64,
    nan: u64,
    infinite: u64,
    out_of_range: u64,
    unreadable: u64,
}
/// Counts of the cells of a column.
pub(super) struct Tally {
    guessed: bool,
    /// The counts for the stated type, or, if the type is guessed, for each possible type.
    counts: Vec<Count>,
    rows: u64,
    missing: u64,
    not_utf8: u64,
    /// The number of cells that contain a truth value as a word, such as `true`.
    words: u64,
    /// The number of cells that contain a truth value in a form that `bool` cannot read.
    other_words: u64,
    /// The number of cells for each meaning of the commas in a number.
    commas: [u64; 3],
    /// The least and the greatest integer, if at least one cell is an integer.
    whole: Option<(IBig, IBig)>,
    /// The least and the greatest finite number, if at least one cell is a finite number.
    real: Option<(f64, f64)>,
}
impl Tally {
    pub(super) fn new(stated: Option<Type>) -> Self {
        let types = match stated {
            Some(stated) => vec![stated],
            None => TYPES.into_iter().take(GUESSES).collect(),
        };
        let count =
            |kind| Count { kind, values: 0, nan: 0, infinite: 0, out_of_range: 0, unreadable: 0 };
        Tally {
            guessed: stated.is_none(),
            counts: types.into_iter().map(count).collect(),
            rows: 0,
            missing: 0,
            not_utf8: 0,
            words: 0,
            other_words: 0,
            commas: [0; 3],
            whole: None,
            real: None,
        }
    }
    /// Count a cell. The cell must not begin or end with a space.
    pub(super) fn add(&mut self, cell: &str) {
        self.rows += 1;
        if cell.is_empty() {
            self.missing += 1;
            return;
        }
        for count in &mut self.counts {
            match (count.kind.read)(cell) {
                Reading::Value => count.values += 1,
                Reading::Nan => count.nan += 1,
                Reading::Infinite => count.infinite += 1,
                Reading::OutOfRange => count.out_of_range += 1,
                Reading::Unreadable => count.unreadable += 1,
            }
        }
        self.other_words += u64::from(is_other_truth(cell));
        if let Some(meaning) = commas(cell) {
            self.commas[meaning as usize] += 1;
        }
        self.words += u64::from(bool::from_cell(cell).is_some() && cell != "0" && cell != "1");
        if let Some(number) = IBig::from_cell(cell) {
            match &mut self.whole {
                None => self.whole = Some((number.clone(), number)),
                Some((least, _)) if number < *least => *least = number,
                Some((_, greatest)) if *greatest < number => *greatest = number,
                Some(_) => {}
            }
        }
        if let Some(number) = f64::from_cell(cell).filter(|number| number.is_finite()) {
            let (least, greatest) = self.real.unwrap_or((number, number));
            self.real = Some((least.min(number), greatest.max(number)));
        }
    }
    /// Count a cell that is not UTF-8. Such a cell is unreadable for every type.
    pub(super) fn add_unreadable(&mut self) {
        self.rows += 1;
        self.not_utf8 += 1;
        for count in &mut self.counts {
            count.unreadable += 1;
        }
    }
    /// Return the number of cells that are not UTF-8.
    pub(super) fn not_utf8(&self) -> u64 {
        self.not_utf8
    }
    /// If a type was stated, return its counts. Otherwise return the counts for a type that fits at
    /// least nine in ten of the cells that are not missing.
    fn count(&self) -> Option<&Count> {
        let [truth, integer, float, text] = &self.counts[..] else { return self.counts.first() };
        let cells = self.rows - self.missing;
        let nearly_all = |count: u64| 0 < cells && 9 * u128::from(cells) <= 10 * u128::from(count);
        let numbers = float.values + float.nan + float.infinite + float.out_of_range;
        Some(if 0 < self.words && nearly_all(truth.values) {
            truth
        } else if !nearly_all(numbers) {
            text
        } else if integer.values + integer.out_of_range == numbers {
            integer
        } else {
            float
        })
    }
    /// Report the type, the counts, the range, and a suitable domain.
    pub(super) fn report(&self) -> Json {
        let Some(count) = self.count() else { return Json::Null };
        let range = match count.kind.class {
            Class::Integer => {
                self.whole.as_ref().map(|(low, high)| (low.to_json(), high.to_json()))
            }
            Class::Float => self.real.map(|(low, high)| (low.to_json(), high.to_json())),
            Class::Other => None,
        };
        let mut report = json!({
            "type": count.kind.name,
            "guessed": self.guessed,
            "missing": self.missing,
            "unreadable": count.unreadable,
            "out_of_range": count.out_of_range,
        });
        if count.kind.class == Class::Float {
            report["nan"] = count.nan.into();
            report["infinite"] = count.infinite.into();
        }
        if let Some((least, greatest)) = range {
            (report["minimum"], report["maximum"]) = (least, greatest);
        }
        let atom = |name: &str| match count.kind.class {
            Class::Float => json!({"atom_domain": {"T": name, "nan": false}}),
            _ => json!({"atom_domain": {"T": name}}),
        };
        let bad = self.missing + count.unreadable + count.out_of_range + count.nan;
        let cells = match count.kind.option {
            Some(name) if 0 < bad => {
                let mut element = atom(name);
                // There is no `option_domain` of a narrow type. So use a domain of a wider type,
                // with the ends of the narrow type as bounds. With these bounds, a number beyond
                // the ends of the narrow type is missing, as with a domain of the narrow type.
                if let Some((least, greatest)) = count.kind.ends {
                    element["atom_domain"]["bounds"] = json!([least, greatest]);
                }
                json!({"option_domain": {"element_domain": element}})
            }
            _ => atom(count.kind.name),
        };
        report["domain"] = json!({"vector_domain": cells});
        if let Some(unreadable) = self.unreadable_as_bool() {
            report["unreadable_as_bool"] = unreadable.into();
        }
        for (meaning, cells) in Commas::ALL.into_iter().zip(self.commas).filter(|(_, n)| 0 < *n) {
            report[meaning.field()] = cells.into();
        }
        report
    }
    /// Return the number of cells that a column of `bool` cannot read. Return `None` if the type
    /// was stated. Also return `None` if no cell is a truth value in another form, such as `yes`.
    /// Also return `None` if too few cells look like truth values: fewer than nine in ten of the
    /// cells that are not missing.
    fn unreadable_as_bool(&self) -> Option<u64> {
        let [truth, ..] = &self.counts[..] else { return None };
        let cells = self.rows - self.missing;
        let alike = u128::from(truth.values) + u128::from(self.other_words);
        let looks = self.guessed && 0 < self.other_words && 9 * u128::from(cells) <= 10 * alike;
        looks.then_some(truth.unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(stated: Option<&str>, cells: &[&str]) -> Json {
        let mut tally = Tally::new(stated.map(|name| parse_type(name).unwrap()));
        cells.iter().for_each(|cell| tally.add(cell));
        tally.report()
    }

    #[test]
    fn guesses_the_type_of_nine_in_ten_cells() {
        let mut ages = vec!["47.0"; 18];
        assert_eq!(report(None, &ages)["type"], "i64");
        ages.extend(["n/a", "", "", "1e30"]);
        let found = report(None, &ages);
        assert_eq!(found["type"], "i64");
        assert_eq!((&found["missing"], &found["unreadable"]), (&json!(2), &json!(1)));
        assert_eq!((&found["out_of_range"], &found["guessed"]), (&json!(1), &json!(true)));
        assert_eq!(report(None, &["1", "2.5"])["type"], "f64");
        assert_eq!(report(None, &["true", "False", "1"])["type"], "bool");
        assert_eq!(report(None, &["1", "0"])["type"], "i64");
        assert_eq!(report(None, &["1", "x"])["type"], "String");
        assert_eq!(report(None, &["", ""])["type"], "String");
    }
    #[test]
    fn counts_cells_that_look_like_truth_values_and_are_not_read_as_such() {
        let mut cells = vec!["yes"; 5];
        cells.extend(["no", "No", "t", "1", "true", ""]);
        let found = report(None, &cells);
        assert_eq!((&found["type"], &found["unreadable_as_bool"]), (&json!("String"), &json!(8)));
        // The controls: `bool` can read all cells of the first and the third column. In the second
        // column, too few cells look like truth values. If the type is stated, the field
        // `unreadable` already has the number.
        for cells in [&["true", "0", "FALSE", ""][..], &["yes", "Lyon"], &["1", "0"]] {
            assert!(report(None, cells).get("unreadable_as_bool").is_none(), "{cells:?}");
        }
        let found = report(Some("bool"), &["yes", "1", "t"]);
        assert_eq!(found["unreadable"], json!(2));
        assert!(found.get("unreadable_as_bool").is_none());
    }
    #[test]
    fn counts_for_a_stated_type() {
        let found = report(Some("u8"), &["1", "256", "-1", "2.5", "x", "", "255.0", "1e2"]);
        assert_eq!((&found["unreadable"], &found["out_of_range"]), (&json!(2), &json!(2)));
        assert_eq!((&found["minimum"], &found["maximum"]), (&json!(-1), &json!(256)));
        assert_eq!(
            found["domain"],
            json!({"vector_domain": {"option_domain": {
            "element_domain": {"atom_domain": {"T": "u32", "bounds": [0, 255]}}}}})
        );
        let found = report(Some("float"), &["1.5", "NaN", "1e400", "-inf", "-2", "Infinity"]);
        assert_eq!((&found["nan"], &found["out_of_range"]), (&json!(1), &json!(1)));
        assert_eq!((&found["infinite"], &found["maximum"]), (&json!(2), &json!(1.5)));
        assert_eq!((&found["unreadable"], &found["minimum"]), (&json!(0), &json!(-2.0)));
        let found = report(Some("f64"), &["1.5"]);
        let plain = json!({"vector_domain": {"atom_domain": {"T": "f64", "nan": false}}});
        assert_eq!(found["domain"], plain);
        assert!(parse_type("f65").is_err());
    }
    #[test]
    fn a_first_line_that_is_a_record_is_noticed() {
        let doubt = |names: &[&str]| {
            doubt_of_header(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(doubt(&["age", "name"]), None);
        for (record, which) in [
            (&["31", "Ada"][..], "is a number."),
            (&["", "x", ""], "is empty."),
            (&["x", "x"], "occurs twice."),
            (&["1e3"], "is a number."),
        ] {
            assert!(doubt(record).unwrap().contains(which), "{record:?}");
        }
    }
}
