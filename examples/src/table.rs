//! A table of people, column by column.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use opendp_core::{AtomDomain, Domain, Error, Result, VectorDomain};

use crate::population;

/// The domain of columns whose values have the type `T`.
pub type Column<T> = VectorDomain<AtomDomain<T>>;

/// A table of people: row `i` of every column is about the same person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct People {
    /// The age of the person in years.
    pub age: Vec<i64>,
    /// 1 for women, 0 for men.
    pub sex: Vec<i32>,
    /// The code of the level of education, from 1 to 16.
    pub educ: Vec<i32>,
    /// The code of the person's racial group, from 1 to 6.
    pub race: Vec<i32>,
    /// A year's income in dollars.
    pub income: Vec<f64>,
    /// Whether the person is married.
    pub married: Vec<bool>,
}

/// The arguments of a program that state its table.
#[derive(clap::Args, Debug)]
pub struct Source {
    /// A CSV file with the columns age, sex, educ, race, income and married.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["people", "seed"])]
    data: Option<PathBuf>,
    /// The number of people to generate when there is no file.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    people: usize,
    /// The seed of the generated people.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}
impl Source {
    /// Read the file, or generate people when there is no file.
    ///
    /// # Errors
    /// The errors of [`People::read`].
    pub fn people(&self) -> Result<People> {
        match &self.data {
            Some(path) => People::read(path),
            None => Ok(population::generate(self.people, self.seed)),
        }
    }
}

/// Return the domain of ages in a file: any whole number.
pub fn ages() -> Column<i64> {
    VectorDomain::new(AtomDomain::default())
}
/// Return the domain of codes in a file, such as levels of education: any whole number.
pub fn codes() -> Column<i32> {
    VectorDomain::new(AtomDomain::default())
}
/// Return the domain of incomes in a file: any number except NaN.
pub fn incomes() -> Column<f64> {
    VectorDomain::new(AtomDomain::non_nan())
}
/// Return the domain of answers to a yes-or-no question.
pub fn answers() -> Column<bool> {
    VectorDomain::new(AtomDomain::default())
}

impl People {
    /// Read a CSV file. The names in the first line determine the columns, in any order. Other
    /// columns are ignored.
    ///
    /// For privacy, no cell causes an error. Every line is one person, and every cell becomes a
    /// member of the column's domain. A cell that is missing or unreadable becomes 0, or `false` in
    /// the column `married`. So errors and the number of rows do not depend on the content of a
    /// person's line.
    ///
    /// # Errors
    /// `FailedFunction` when the file cannot be read, `Argument` when a column is missing.
    pub fn read(path: &Path) -> Result<Self> {
        let file = std::fs::File::open(path).map_err(|error| {
            Error::FailedFunction(format!("file `{}` cannot be read: {error}", path.display()))
        })?;
        People::from_csv(file).map_err(|error| error.at(path.display().to_string()))
    }
    /// Read the text of a CSV file.
    ///
    /// # Errors
    /// The errors of [`read`](People::read).
    pub fn from_csv(text: impl std::io::Read) -> Result<Self> {
        // Each line is a person, so only the end of a line may end a record. A carriage return in a
        // cell must not end the record. An unclosed quote must not continue the record on the next
        // line. An empty line must not be skipped. So quotes are ignored here. The quotes around a
        // cell are removed later.
        let mut lines = std::io::BufReader::new(text).split(b'\n').map(|line| {
            line.map_err(|error| Error::FailedFunction(format!("the file cannot be read: {error}")))
        });
        let header = lines.next().transpose()?.unwrap_or_default();
        let header: Vec<String> = header.split(|byte| *byte == b',').map(cell).collect();
        // If the file has no header, the first line is about a person. So the error must not show
        // this line.
        let place = |name: &str| {
            header.iter().position(|found| found == name).ok_or_else(|| {
                let expected = "age, sex, educ, race, income and married";
                let reason =
                    format!("no column has this name; the first line must name {expected}");
                Error::argument(name, reason)
            })
        };
        let places = [
            place("age")?,
            place("sex")?,
            place("educ")?,
            place("race")?,
            place("income")?,
            place("married")?,
        ];
        let mut cells: [Vec<String>; 6] = Default::default();
        for line in lines {
            let line = line?;
            let found: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
            for (column, place) in cells.iter_mut().zip(places) {
                column.push(found.get(place).copied().map_or_else(String::new, cell));
            }
        }
        let [age, sex, educ, race, income, married] = &cells;
        Ok(People {
            age: column(&ages(), age)?,
            sex: column(&codes(), sex)?,
            educ: column(&codes(), educ)?,
            race: column(&codes(), race)?,
            income: column(&incomes(), income)?,
            married: column(&answers(), married)?,
        })
    }
}

fn cell(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // Some programs begin a file with a byte order mark.
    text.trim_start_matches('\u{feff}').trim().trim_matches('"').trim().to_owned()
}
/// Read the cells of a column as a member of a domain. If the members of the domain are columns,
/// reading always succeeds.
fn column<D: Domain>(domain: &D, cells: &[String]) -> Result<D::Carrier> {
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    let rows = domain.read_cells(&cells);
    rows.unwrap_or_else(|| {
        Err(Error::FailedFunction(
            "the domain does not describe a column, so no cells can be read".into(),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_columns_by_name_in_any_order() {
        let text =
            "id,married,\"income\",race,educ,sex,age\n7,1,1500.5,3,9,1,59\n8,0,0,1,13,0,31\n";
        let people = People::from_csv(text.as_bytes()).unwrap();
        assert_eq!(people.age, [59, 31]);
        assert_eq!(people.income, [1500.5, 0.0]);
        assert_eq!(people.married, [true, false]);
        assert_eq!((people.sex, people.race), (vec![1, 0], vec![3, 1]));
    }
    #[test]
    fn one_line_is_one_person_whatever_is_in_it() {
        let header = "age,sex,educ,race,income,married\n";
        for line in [
            "x,,1e9,?,NaN,maybe",
            "1",
            "1,2,3,4,5,6,7,8,9",
            "\"1,2,3",
            ",,,,,",
            "1\r2",
            "\u{fffd}",
            "",
            "\r",
        ] {
            let text = format!("{header}{line}\n30,0,9,1,5,1\n");
            let people = People::from_csv(text.as_bytes()).unwrap();
            assert_eq!(people.age.len(), 2, "{line}");
            assert_eq!(people.married.len(), 2, "{line}");
            assert!(incomes().member(&people.income), "{line}");
        }
        let bytes = [header.as_bytes(), &[0xff, b',', 0xfe, b'\n']].concat();
        assert_eq!(People::from_csv(&bytes[..]).unwrap().educ, [0]);
    }
    #[test]
    fn tells_which_column_is_missing() {
        let error = People::from_csv("age,sex,educ,race,married\n".as_bytes()).unwrap_err();
        assert_eq!(error.kind(), "Argument");
        assert!(error.to_string().contains("`income`"), "{error}");
        assert!(People::from_csv("".as_bytes()).is_err());
        let people = People::from_csv("\u{feff}age,sex,educ,race,income,married\r\n".as_bytes());
        assert_eq!(people.unwrap(), People::default());
    }
    #[test]
    fn does_not_show_a_person_whose_line_stands_in_the_place_of_names() {
        let error = People::from_csv("59,1,9,1,17000,1\n".as_bytes()).unwrap_err();
        assert!(!error.to_string().contains("17000"), "{error}");
    }
    #[test]
    fn tells_which_file_is_missing() {
        let error = People::read(Path::new("no/such/file.csv")).unwrap_err();
        assert!(error.to_string().contains("no/such/file.csv"), "{error}");
    }
}
