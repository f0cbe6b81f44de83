//! Reads several columns of a CSV table as frames.

use std::{fmt, io::Read};

use opendp_core::{Column, ColumnDomain, DataFrame, DataFrameDomain, Domain, Error, Result};
use serde_json::Value as Json;

use crate::progress::{Meter, absent, place};
use crate::{CsvTable, Progress};

/// The number of rows in one chunk.
const CHUNK: usize = 1 << 14;

/// The chunks of several columns, which are read from a CSV table. Each chunk is a member of a
/// domain of frames with a schema.
///
/// The schema contains the names of the columns to read. The first line of the table determines the
/// positions of these columns. Every later line is one row, as in [`CsvColumn`](crate::CsvColumn).
/// Every cell becomes a member of the domain of its column.
///
/// ```
/// use opendp_core::*;
/// use opendp_data::CsvFrame;
/// use opendp_measurements::{Scale, make_laplace};
/// use opendp_transformations::{make_clamp, make_df_is_equal, make_select_column};
/// use opendp_transformations::{make_subset_by, make_sum};
/// let table = "name,age,group\nAda,36,2\nBlaise,,1\nCarl,x,2\n";
/// let cells = ColumnDomain::new(AtomDomain::<i64>::default());
/// let schema = ["age", "group"].map(|name| (name.to_owned(), cells.clone()));
/// let people = Space::new(DataFrameDomain::with_schema(schema)?, SymmetricDistance)?;
/// let rows = CsvFrame::new(table.as_bytes(), people.domain())?;
/// let release = make_df_is_equal(people, "group".into(), 2_i64)?
///     .then(|x| make_subset_by(x, "group".into(), vec!["age".into()]))?
///     .then(|x| make_select_column::<_, i64, _>(x, "age".into()))?
///     .then(|x| make_clamp(x, Bounds::new(0, 120)?))?
///     .then(make_sum)?
///     .then(|sum| make_laplace(sum, Scale::new(120.0)?, None))?;
/// release.invoke_chunks(rows)?; // 36 + 0, and noise
/// # Ok::<(), Error>(())
/// ```
pub struct CsvFrame {
    table: CsvTable,
    /// For each column of the domain's schema, its position in the table.
    places: Vec<usize>,
    domain: DataFrameDomain<String>,
    meter: Meter,
}
impl CsvFrame {
    /// Read the columns that the schema of the domain lists. If the separator is not a comma, use
    /// [`CsvTable`].
    ///
    /// # Errors
    /// The errors of [`CsvTable::open`]. `Argument` when the domain has no schema. `Argument` when
    /// the header lacks a column of the schema, or contains such a column twice.
    pub fn new(
        source: impl Read + Send + 'static,
        domain: &DataFrameDomain<String>,
    ) -> Result<Self> {
        CsvFrame::of(CsvTable::open(source, None)?, domain)
    }
    pub(crate) fn of(table: CsvTable, domain: &DataFrameDomain<String>) -> Result<Self> {
        let places = places(table.names(), domain)?;
        let meter = Meter::new(domain.records(), None);
        Ok(CsvFrame { table, places, domain: domain.clone(), meter })
    }
    /// Call `listener` with the progress, once for each chunk. If the last chunk is full, there is
    /// one more call at the end of the table.
    #[must_use]
    pub fn on_progress(mut self, listener: impl FnMut(Progress) + Send + 'static) -> Self {
        self.meter.listener = Some(Box::new(listener));
        self
    }
    fn chunk(&mut self) -> Result<Option<DataFrame<String>>> {
        let chunk = self.table.chunk(&self.places, CHUNK, &mut self.meter)?;
        let Some((rows, found)) = chunk else { return Ok(None) };
        let schema = self.domain.schema().unwrap_or_default();
        let columns = schema.iter().zip(&found);
        let columns =
            columns.map(|((name, cells), found)| (name.clone(), cells.read(&found.list(rows))));
        DataFrame::new(columns.collect::<Vec<(String, Column)>>()).map(Some)
    }
}
/// Find the positions of the columns of the schema in the list `names`. Return an `Argument` error
/// if there is no schema, or if a name of the schema does not occur exactly once in `names`.
pub(crate) fn places(names: &[String], domain: &DataFrameDomain<String>) -> Result<Vec<usize>> {
    let schema = domain.schema().ok_or_else(|| {
        Error::argument(
            "data",
            "a table needs a schema: give the `dataframe_domain` its `col_names` \
             and `element_domains`",
        )
    })?;
    let find = |(name, cells): &(String, ColumnDomain)| {
        if names.contains(name) {
            return place(names, Some(name));
        }
        let rule = format!(" (its cells would be read as {})", in_words(&cells.to_json()));
        Err(absent("data", names, name, &rule))
    };
    schema.iter().map(find).collect()
}
/// Describe the domain of a column in words, such as `i64, or missing`. An unusual domain is
/// described by its JSON.
fn in_words(domain: &Json) -> String {
    if let Some(cells) = domain.get("option_domain").map(|option| &option["element_domain"]) {
        return format!("{}, or missing", in_words(cells));
    }
    let atom = domain.get("atom_domain").and_then(|atom| atom.as_object());
    let Some((atom, name)) = atom.and_then(|atom| Some((atom, atom.get("T")?.as_str()?))) else {
        return domain.to_string();
    };
    let bounds = atom.get("bounds").and_then(Json::as_array).map(Vec::as_slice);
    let bounds = match bounds {
        Some([lower, upper]) => format!(" from {lower} to {upper}"),
        _ => String::new(),
    };
    format!("{name}{bounds}")
}
impl Iterator for CsvFrame {
    type Item = Result<DataFrame<String>>;
    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.chunk();
        self.meter.item(chunk)
    }
}
impl fmt::Debug for CsvFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvFrame").field("domain", &self.domain).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{AtomDomain, Bounds, OptionDomain};

    fn schema() -> DataFrameDomain<String> {
        let unit = AtomDomain::bounded(Bounds::new(0.5, 1.0).unwrap());
        DataFrameDomain::with_schema([
            ("x".to_owned(), ColumnDomain::new(unit)),
            ("y".to_owned(), ColumnDomain::new(OptionDomain::new(AtomDomain::<i64>::default()))),
            ("z".to_owned(), ColumnDomain::new(AtomDomain::<String>::default())),
        ])
        .unwrap()
    }
    const TABLE: &[u8] = "z,other,y,x\n1e400,a,1e400,1e400\n\"a\n5, , 5, 0.75\n\n\
        \u{663},,9223372036854775808,\u{663}\na,b,c,NaN,more,and,more\n?,1,2\n"
        .as_bytes();

    #[test]
    fn hostile_cells_are_members_and_never_change_the_number_of_records() {
        let chunks: Result<Vec<_>> = CsvFrame::new(TABLE, &schema()).unwrap().collect();
        let [frame] = &chunks.unwrap()[..] else { panic!("expected one chunk") };
        assert!(frame.rows() == 7 && schema().member(frame));
        let y = frame.cells::<Option<i64>>(&"y".to_owned()).unwrap();
        assert_eq!(y, [None, None, Some(5), None, None, None, Some(2)]);
        let x = frame.cells::<f64>(&"x".to_owned()).unwrap();
        assert_eq!(x, [1.0, 0.5, 0.75, 0.5, 0.5, 0.5, 0.5]);
    }
    #[test]
    fn asks_for_a_schema_whose_columns_the_table_has() {
        let any = DataFrameDomain::default();
        assert_eq!(CsvFrame::new(TABLE, &any).unwrap_err().kind(), "Argument");
        let error = CsvFrame::new(&b"x,y\n"[..], &schema()).unwrap_err();
        let text = error.to_string();
        let parts = ["`z` (its cells would be read as String).", "2 columns"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        let words = |name: &str| in_words(&schema().column(&name.to_owned()).unwrap().to_json());
        assert_eq!((&*words("x"), &*words("y")), ("f64 from 0.5 to 1.0", "i64, or missing"));
        // A wrong separator makes a header of one cell.
        let table = crate::CsvTable::open(&b"x,y,z\n"[..], Some(b';')).unwrap();
        let error = table.frame(&schema()).unwrap_err().to_string();
        assert!(
            error.contains("Its name contains `,`") && error.contains("--separator"),
            "{error}"
        );
        let error = CsvFrame::new(&b"x,y,z,y\n"[..], &schema()).unwrap_err();
        assert!(error.to_string().contains("`y` twice"), "{error}");
    }
    #[test]
    fn a_wrong_size_is_an_error_at_the_end() {
        let read = |size| {
            let sized = schema().with_size(size);
            CsvFrame::new(TABLE, &sized).unwrap().collect::<Result<Vec<_>>>()
        };
        assert!(read(7).is_ok() && read(6).is_err() && read(8).is_err());
    }
    #[test]
    fn a_table_without_records_is_one_empty_chunk_of_the_schema() {
        let chunks: Vec<_> = CsvFrame::new(&b"x,y,z\n"[..], &schema()).unwrap().collect();
        assert_eq!(chunks, [Ok(schema().empty())]);
    }
    #[test]
    fn many_chunks_hold_every_row_once() {
        let lines = (0..=CHUNK).map(|i| format!("0.5,{i},\n"));
        let table: String = std::iter::once("x,y,z\n".to_owned()).chain(lines).collect();
        let chunks = CsvFrame::new(std::io::Cursor::new(table), &schema()).unwrap();
        let mut seen = Vec::new();
        for chunk in chunks {
            let chunk = chunk.unwrap();
            seen.extend_from_slice(chunk.cells::<Option<i64>>(&"y".to_owned()).unwrap());
        }
        assert!(seen.into_iter().eq((0..=CHUNK as i64).map(Some)));
    }
}
