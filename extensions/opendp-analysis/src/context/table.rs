//! Tables in memory: columns of typed rows.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use opendp_core::order::places;
use opendp_core::{
    Atom, AtomDomain, Codec, DataFrame, Domain, Error, MetricOn, Named, Result, SymmetricDistance,
    TypeName, VectorDomain, carrier, named,
};
use opendp_measurements::Collected;
use serde_json::{Value as Json, json};

mod cells;

pub(crate) use cells::{Cells, PartsOfCells, numbers};

/// A table in memory: named columns of typed rows. The rows with the same index in all columns
/// belong to one record.
///
/// A clone of a table shares its columns.
///
/// ```
/// # use opendp_analysis::Table;
/// let table = Table::new()
///     .with("age", vec![31, 58, 44])?
///     .with("city", vec!["Lille".to_owned(), "Lyon".to_owned(), "Lille".to_owned()])?
///     .with_derived("decade", "age", |age: &i32| age / 10)?;
/// assert_eq!(table.columns().collect::<Vec<_>>(), ["age", "city", "decade"]);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Table {
    columns: Vec<Column>,
}
#[derive(Clone)]
struct Column {
    name: String,
    holds: String,
    size: usize,
    rows: Arc<dyn Cells>,
}
/// The rows of a column, without their type.
struct Held {
    holds: fn() -> TypeName,
    size: usize,
    rows: Arc<dyn Cells>,
}
impl Held {
    fn of<T: Atom>(rows: Vec<T>) -> Self {
        Held { holds: T::type_name, size: rows.len(), rows: Arc::new(rows) }
    }
}
/// Return the cells of a column of a frame, if they have the type `T`.
fn held<T: Atom>(column: &opendp_core::Column) -> Option<Held> {
    let cells = column.cells::<T>()?;
    Some(Held::of(cells.to_vec()))
}
/// Check that a frame has columns of the same names and types as the first frame. Without this
/// check, if a frame lacked a column, its rows would get default values in this column.
fn check_alike(first: &DataFrame<String>, frame: &DataFrame<String>) -> Result<()> {
    let alike = first.columns().len() == frame.columns().len()
        && first.columns().zip(frame.columns()).all(|((name, column), (theirs, other))| {
            name == theirs && column.cell_type() == other.cell_type()
        });
    if alike {
        return Ok(());
    }
    let header = |frame: &DataFrame<String>| {
        let columns = frame.columns().map(|(name, c)| format!("`{name}` of {}", c.cell_type()));
        columns.collected().join(", ")
    };
    let (expected, found) = (header(first), header(frame));
    let reason = format!(
        "every frame must have the columns of the first frame: expected {expected}; found {found}"
    );
    Err(Error::argument("frames", reason))
}
impl Table {
    /// Make a table without columns.
    pub fn new() -> Self {
        Table::default()
    }
    /// Add a column.
    ///
    /// # Errors
    /// `Argument` when the name is already used, or when the other columns have a different number
    /// of rows.
    pub fn with<T: Atom>(self, name: &str, rows: Vec<T>) -> Result<Self> {
        self.with_rows(name, Held::of(rows))
    }
    fn with_rows(mut self, name: &str, Held { holds, size, rows }: Held) -> Result<Self> {
        if self.columns().any(|known| known == name) {
            return Err(Error::argument(name, "the table already has a column with this name"));
        }
        if self.columns.first().is_some_and(|first| first.size != size) {
            let reason = "this column must have as many rows as the other columns";
            return Err(Error::argument(name, reason));
        }
        let (name, holds) = (name.to_owned(), holds().to_string());
        self.columns.push(Column { name, holds, size, rows });
        Ok(self)
    }
    /// Make a table from frames of columns. The types `CsvFrame`, `ArrowFrame` and `ParquetFrame`
    /// of the crate `opendp-data` read frames from files. The records of a frame follow the records
    /// of the previous frame.
    ///
    /// ```
    /// # use opendp_analysis::Table;
    /// # use opendp_core::{Column, DataFrame};
    /// let frame = |ages| DataFrame::new([("age".to_owned(), Column::new::<i64>(ages))]);
    /// let table = Table::from_frames([frame(vec![31, 58]), frame(vec![44])])?;
    /// assert_eq!(table.columns().collect::<Vec<_>>(), ["age"]);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of the frames. `Argument` when cells of a column may be absent, or when their
    /// type is not a number, a text or `bool`. `Argument` when the columns of a frame do not have
    /// the names and the types of the first frame. Frames without rows are checked, too.
    pub fn from_frames(
        frames: impl IntoIterator<Item = Result<DataFrame<String>>>,
    ) -> Result<Self> {
        let mut all: Option<DataFrame<String>> = None;
        for frame in frames {
            let frame = frame?;
            match &mut all {
                Some(all) => {
                    check_alike(all, &frame)?;
                    all.append(frame);
                }
                None => all = Some(frame),
            }
        }
        let mut table = Table::new();
        for (name, column) in all.iter().flat_map(DataFrame::columns) {
            table = table.with_cells(name, column)?;
        }
        Ok(table)
    }
    fn with_cells(self, name: &str, column: &opendp_core::Column) -> Result<Self> {
        macro_rules! readers {
            ($($t:ty)*) => { [$(held::<$t>),*] };
        }
        let readers = readers!(
            i64 f64 bool String i8 i16 i32 i128 isize u8 u16 u32 u64 u128 usize f32
        );
        if let Some(rows) = readers.iter().find_map(|read| read(column)) {
            return self.with_rows(name, rows);
        }
        let reason = format!(
            "a column of a table holds numbers, texts or `bool`, but this one holds {}: read it as \
             an `AtomDomain`, which states what replaces a missing cell",
            column.cell_type()
        );
        Err(Error::argument(name, reason))
    }
    /// Add a column that arrives in chunks, such as a column of a file.
    ///
    /// # Errors
    /// The errors of the chunks, and the errors of [`with`](Table::with).
    pub fn with_chunks<T: Atom>(
        self,
        name: &str,
        chunks: impl IntoIterator<Item = Result<Vec<T>>>,
    ) -> Result<Self> {
        let mut rows = Vec::new();
        for chunk in chunks {
            rows.append(&mut chunk?);
        }
        self.with(name, rows)
    }
    /// Add a column that is computed from another column, row by row.
    ///
    /// # Errors
    /// `Argument` when no column has the name `from`, or when the type of this column is not `T`;
    /// the errors of [`with`](Table::with).
    pub fn with_derived<T: Atom, U: Atom>(
        self,
        name: &str,
        from: &str,
        row: impl Fn(&T) -> U,
    ) -> Result<Self> {
        let rows = self.rows::<T>(from)?.iter().map(row).collect();
        self.with(name, rows)
    }
    /// Return the names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }
    pub(crate) fn size(&self) -> usize {
        self.columns.first().map_or(0, |column| column.size)
    }
    /// Return the cells of a column, without their type.
    pub(crate) fn cells(&self, name: &str) -> Result<&dyn Cells> {
        self.column(name).map(|column| &*column.rows)
    }
    fn column(&self, name: &str) -> Result<&Column> {
        let Some(column) = self.columns.iter().find(|column| column.name == name) else {
            let names = self.columns().collected();
            let reason =
                format!("the table has no such column; its columns are {}", names.join(", "));
            return Err(Error::argument(name, reason));
        };
        Ok(column)
    }
    pub(crate) fn rows<T: Atom>(&self, name: &str) -> Result<&Vec<T>> {
        let column = self.column(name)?;
        let rows: &dyn Any = &*column.rows;
        rows.downcast_ref().ok_or_else(|| {
            let (found, read) = (&column.holds, T::type_name());
            let reason = format!(
                "the column holds {found}, and is read as {read}: write `.column::<{found}>(..)`"
            );
            Error::argument(name, reason)
        })
    }
}
/// Print the names of the columns, without values.
impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("columns", &self.columns().collected()).finish()
    }
}
/// The JSON of a table contains only the name of the type `Table`. So a table cannot be read from
/// JSON.
impl Codec for Table {
    fn to_json(&self) -> Json {
        json!(Self::type_name().to_string())
    }
    fn from_json(_: &Json) -> Result<Self> {
        Err(Error::FailedCast("a table cannot be read from JSON".into()))
    }
}

/// The set of tables with the same columns. If the number of rows is known, all tables of the set
/// have this number of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDomain {
    columns: Vec<(String, String)>,
    size: Option<usize>,
}
impl TableDomain {
    pub(crate) fn of(table: &Table, size: Option<usize>) -> Self {
        TableDomain { columns: header(table), size }
    }
    /// Return the number of rows, if it is known.
    pub fn size(&self) -> Option<usize> {
        self.size
    }
}
fn header(table: &Table) -> Vec<(String, String)> {
    table.columns.iter().map(|column| (column.name.clone(), column.holds.clone())).collected()
}
impl Domain for TableDomain {
    type Carrier = Table;
    /// Check the header and the size. All columns of a table have the same length.
    fn member(&self, table: &Table) -> bool {
        self.size.is_none_or(|size| size == table.size()) && header(table) == self.columns
    }
    fn to_json(&self) -> Json {
        json!({"table_domain": {"columns": self.columns, "size": self.size}})
    }
}
/// The distance between two tables is the number of rows that only one of them has.
impl MetricOn<TableDomain> for SymmetricDistance {}
named!(Table as "Table", TableDomain as "TableDomain");
carrier!(Table);

/// A filter of the records that a query uses. The filter gets a list with one `bool` for each
/// record. If the filter drops a record, it sets the element of this record to `false`.
type Keep = Arc<dyn Fn(&Table, &mut [bool]) -> Result<()> + Send + Sync>;

/// The source of the rows of a query. Filters select records. The rows are the cells of a column of
/// these records, or the records themselves.
///
/// # Proof
/// A record gives one row or no row, and this row depends only on the record. So one more record in
/// the table gives at most one more row. Tables at symmetric distance `d` give rows at symmetric
/// distance at most `d`.
#[derive(Clone, Default)]
pub(crate) struct Source {
    /// The filters, each with the name of its column.
    filters: Vec<(Arc<str>, Keep)>,
    column: String,
}
impl Source {
    pub(crate) fn keep<T: Atom>(
        &mut self,
        name: &str,
        keep: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) {
        let name: Arc<str> = name.into();
        let column = name.clone();
        let filter = move |table: &Table, kept: &mut [bool]| {
            let rows = table.rows::<T>(&column)?.iter();
            kept.iter_mut().zip(rows).for_each(|(kept, row)| *kept &= keep(row));
            Ok(())
        };
        self.filters.push((name, Arc::new(filter)));
    }
    /// Return the name of the column of each filter, in alphabetical order.
    pub(crate) fn filtered(&self) -> Vec<Arc<str>> {
        let filters = &self.filters;
        let order = places(filters.len(), &|left, right| filters[left].0.cmp(&filters[right].0));
        order.into_iter().map(|place| filters[place].0.clone()).collected()
    }
    pub(crate) fn take(&mut self, column: &str) {
        self.column = column.to_owned();
    }
    /// Return the domain of the rows of a column. The number of these rows is known if the number
    /// of rows of the table is known, and there are no filters.
    pub(crate) fn domain<T: Atom>(&self, table: &TableDomain) -> VectorDomain<AtomDomain<T>> {
        let rows = VectorDomain::new(AtomDomain::default());
        match table.size {
            Some(size) if self.filters.is_empty() => rows.with_size(size),
            _ => rows,
        }
    }
    /// Return the rows of a column.
    #[allow(clippy::owned_cow, reason = "functions take whole vectors")]
    pub(crate) fn rows<'a, T: Atom>(&self, table: &'a Table) -> Result<Cow<'a, Vec<T>>> {
        let rows = table.rows::<T>(&self.column)?;
        if self.filters.is_empty() {
            return Ok(Cow::Borrowed(rows));
        }
        let mut found = Vec::new();
        for (row, kept) in rows.iter().zip(self.kept(table)?) {
            if kept {
                found.push(row.clone());
            }
        }
        Ok(Cow::Owned(found))
    }
    /// Return the function that computes the [rows](Source::rows) of a table.
    #[allow(clippy::owned_cow, reason = "functions take whole vectors")]
    pub(crate) fn reader<T: Atom>(
        &self,
    ) -> impl for<'a> Fn(&'a Table) -> Result<Cow<'a, Vec<T>>> + Send + Sync + use<T> {
        let source = self.clone();
        move |table| source.rows(table)
    }
    /// Return one row, `true`, for each record that the filters keep.
    pub(crate) fn records(&self, table: &Table) -> Result<Vec<bool>> {
        let mut count = 0;
        for kept in self.kept(table)? {
            count += usize::from(kept);
        }
        Ok(vec![true; count])
    }
    /// For each record, return whether the filters keep it.
    pub(crate) fn kept(&self, table: &Table) -> Result<Vec<bool>> {
        let mut kept = vec![true; table.size()];
        self.filters.iter().try_for_each(|(_, filter)| filter(table, &mut kept))?;
        Ok(kept)
    }
}
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("column", &self.column).finish_non_exhaustive()
    }
}
