//! Tables of a labour force survey: read from a file, or generated.

use std::fs::File;
use std::path::Path;

use opendp_analysis::Table;
use opendp_core::{Atom, AtomDomain, Error, Result, VectorDomain};
use opendp_data::CsvColumn;
use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

/// Read a CSV file of the survey, but only the columns that the questions use.
///
/// No cell causes an error. Every line is one person, and an unreadable cell is a missing value.
///
/// # Errors
/// `FailedFunction` when the file cannot be read, `Argument` when a column is missing.
pub(crate) fn read(path: &Path) -> Result<Table> {
    Table::new()
        .with_chunks("sex", column::<i64>(path, "SEX")?)?
        .with_chunks("age", column::<f64>(path, "AGE")?)?
        .with_chunks("status", column::<i64>(path, "ILOSTAT")?)?
        .with_chunks("hours", column::<f64>(path, "HWUSUAL")?)?
        .with_chunks("sector", column::<String>(path, "NACE1D")?)
}
/// Open a file of the survey, and return an iterator over the chunks of one column.
fn column<T: Atom>(path: &Path, name: &str) -> Result<CsvColumn<VectorDomain<AtomDomain<T>>>> {
    let file = File::open(path).map_err(|error| {
        Error::FailedFunction(format!("file `{}` cannot be read: {error}", path.display()))
    })?;
    CsvColumn::new(file, Some(name), &VectorDomain::new(AtomDomain::default()))
}

/// Generate a survey of fictitious people, with the codes of a survey file. The sex is 1 for men
/// and 2 for women. The status is 1 for people who work, 2 for people who look for work, and 3 for
/// others. The hours are 99 for people who do not work.
///
/// # Errors
/// No error is possible, because all columns have the same length.
pub(crate) fn generate(people: usize, seed: u64) -> Result<Table> {
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    let (mut sex, mut age, mut status) = (Vec::new(), Vec::new(), Vec::new());
    let (mut hours, mut sector) = (Vec::new(), Vec::new());
    // Draw a number below `n`. Some numbers are slightly more likely than others. This difference
    // is harmless for fictitious people.
    let mut below = |n: u32| random.next_u32() % n;
    for _ in 0..people {
        let years: f64 = f64::from(15 + below(75));
        let works = years < 65.0 && below(100) < 65;
        sex.push(i64::from(1 + below(2)));
        age.push(years);
        status.push(match works {
            true => 1_i64,
            false if years < 65.0 && below(5) == 0 => 2,
            false => 3,
        });
        hours.push(if works { f64::from(15 + below(40)) } else { 99.0 });
        let sectors = ["A", "C", "F", "G", "G", "H", "O", "P", "Q", "Q"];
        let place = below(10) as usize;
        sector.push(if works { sectors[place] } else { "" }.to_owned());
    }
    Table::new()
        .with("sex", sex)?
        .with("age", age)?
        .with("status", status)?
        .with("hours", hours)?
        .with("sector", sector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_columns_of_what_is_generated() {
        let path = std::env::temp_dir().join(format!("workers-{}.csv", std::process::id()));
        std::fs::write(&path, "SEX,AGE,ILOSTAT,HWUSUAL,NACE1D\n1,47.0,1,60.0,H\nx,,3\n").unwrap();
        let table = read(&path);
        std::fs::remove_file(&path).unwrap();
        let generated = generate(10, 1).unwrap();
        let table = table.unwrap();
        assert!(table.columns().eq(generated.columns()));
        assert!(read(&path).unwrap_err().to_string().contains("workers-"));
    }
}
