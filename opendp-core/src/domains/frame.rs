//! Sets of frames with named columns.

use std::{any::Any, fmt, sync::Arc};

use serde_json::{Value as Json, json};

use crate::domain::descriptor;
use crate::erased::AnyDomain;
use crate::frame::by_name;
use crate::{
    Arg, Argument, Atom, AtomDomain, Carrier, Cell, Column, Constructed, DataFrame, Domain, Error,
    HashableAtom, Named, OptionDomain, Result, TheDomain, TypeName, named,
};

/// The functions of a domain of cells, in a trait that can be a trait object.
trait Series: Any + fmt::Debug + Send + Sync {
    fn contains(&self, column: &Column) -> bool;
    fn empty(&self) -> Column;
    fn read(&self, cells: &[&str]) -> Column;
    fn cell_type(&self) -> TypeName;
    fn json(&self) -> Json;
    fn same(&self, other: &dyn Any) -> bool;
}
impl<D: Domain> Series for D
where
    D::Carrier: Cell<Domain = D>,
{
    fn contains(&self, column: &Column) -> bool {
        column.cells().is_some_and(|cells| cells.iter().all(|cell| self.member(cell)))
    }
    fn empty(&self) -> Column {
        Column::new(Vec::<D::Carrier>::new())
    }
    fn read(&self, cells: &[&str]) -> Column {
        let mut column = Vec::with_capacity(cells.len());
        for cell in cells {
            let atom = <D::Carrier as Cell>::Atom::from_cell(cell.trim());
            column.push(D::Carrier::admit(self, atom));
        }
        Column::new(column)
    }
    fn cell_type(&self) -> TypeName {
        <D::Carrier as Named>::type_name()
    }
    fn json(&self) -> Json {
        self.to_json()
    }
    fn same(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

/// The domain of the cells of a column. The type of the cells is known only at run time.
///
/// ```
/// # use opendp_core::{AtomDomain, Column, ColumnDomain};
/// let flags = ColumnDomain::new(AtomDomain::<bool>::default());
/// assert!(flags.member(&Column::new(vec![true])) && !flags.member(&Column::new(vec![1])));
/// ```
#[derive(Clone)]
pub struct ColumnDomain(Arc<dyn Series>);

impl ColumnDomain {
    /// Make the domain of a column from the domain of its cells.
    pub fn new<D: Domain>(cells: D) -> Self
    where
        D::Carrier: Cell<Domain = D>,
    {
        ColumnDomain(Arc::new(cells))
    }
    /// Recover the domain of cells from an erased domain. Return `None` if the members of the
    /// domain are not cells, or if this function does not list the type of the cells.
    fn of(domain: &AnyDomain) -> Option<Self> {
        macro_rules! first {
            ($($t:ident)*) => {$(
                if let Ok(cells) = domain.downcast_ref::<AtomDomain<$t>>() {
                    return Some(ColumnDomain::new(cells.clone()));
                }
                if let Ok(cells) = domain.downcast_ref::<OptionDomain<AtomDomain<$t>>>() {
                    return Some(ColumnDomain::new(cells.clone()));
                }
            )*};
        }
        first!(bool String f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
        None
    }
    /// Return the domain of a cell, if the cells are of type `T`.
    pub fn cell<T: Cell>(&self) -> Option<&T::Domain> {
        (&*self.0 as &dyn Any).downcast_ref()
    }
    /// Return the name of the type of a cell.
    pub fn cell_type(&self) -> TypeName {
        self.0.cell_type()
    }
    /// Return whether all cells of a column are members. Return `false` if the column has another
    /// cell type than this domain.
    pub fn member(&self, column: &Column) -> bool {
        self.0.contains(column)
    }
    /// Make a column without rows.
    pub fn empty(&self) -> Column {
        self.0.empty()
    }
    /// Read a column from text. Each text gives a cell in the domain, even if the text is
    /// unreadable.
    pub fn read(&self, cells: &[&str]) -> Column {
        self.0.read(cells)
    }
    /// Write the domain in the form that pipeline documents use.
    pub fn to_json(&self) -> Json {
        self.0.json()
    }
}
impl PartialEq for ColumnDomain {
    fn eq(&self, other: &Self) -> bool {
        self.0.same(&*other.0 as &dyn Any)
    }
}
impl fmt::Debug for ColumnDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}
impl Argument for Vec<ColumnDomain> {
    fn type_name() -> TypeName {
        TypeName::generic("Vec", [TypeName::plain("ColumnDomain")])
    }
    fn accepts(arg: &Arg) -> bool {
        matches!(arg, Arg::List(_)) || Self::from_arg(arg).is_ok()
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        let column_of = |(place, arg): (usize, &Arg)| {
            let column = match arg {
                Arg::Made(Constructed::Domain(domain)) => ColumnDomain::of(domain),
                _ => None,
            };
            column.ok_or_else(|| {
                Error::FailedCast(format!(
                    "expected the domain of a cell as item {}, an `atom_domain` or an \
                     `option_domain` of a primitive type or of String, found {}",
                    place + 1,
                    arg.describe()
                ))
            })
        };
        let list = match arg {
            Arg::Json(Json::Null) => Some(Vec::new()),
            Arg::Json(Json::Array(items)) if items.is_empty() => Some(Vec::new()),
            Arg::List(items) => return items.iter().enumerate().map(column_of).collect(),
            Arg::Value(value) => value.downcast_ref::<Self>().cloned(),
            _ => None,
        };
        list.ok_or_else(|| {
            let found = arg.describe();
            Error::FailedCast(format!("expected a list of element domains, found {found}"))
        })
    }
}

/// The set of all frames, or of the frames with a given schema. A schema has the names of the
/// columns and the domains of their cells. The domain can also state the number of rows.
///
/// Without a schema, members can have any columns. In this case, a constructor that needs a column
/// cannot check that the column exists. The documentation of each constructor states what happens
/// to the rows of a frame without this column. The function of the constructed object never fails
/// because of the data. With a schema, the constructor returns an error for a missing column.
///
/// ```
/// # use opendp_core::{AtomDomain, Column, ColumnDomain, DataFrame, DataFrameDomain, Domain};
/// let ages = ColumnDomain::new(AtomDomain::<i32>::default());
/// let people = DataFrameDomain::with_schema([("age".to_owned(), ages)])?;
/// let frame = DataFrame::new([("age".to_owned(), Column::new(vec![36]))])?;
/// assert!(people.member(&frame) && !people.clone().with_size(2).member(&frame));
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DataFrameDomain<K> {
    /// The columns, sorted by name. The names are distinct.
    schema: Option<Vec<(K, ColumnDomain)>>,
    size: Option<usize>,
}
impl<K> Default for DataFrameDomain<K> {
    /// Make the set of all frames.
    fn default() -> Self {
        DataFrameDomain { schema: None, size: None }
    }
}
impl<K: HashableAtom> DataFrameDomain<K> {
    /// Make the set of frames with a schema.
    ///
    /// # Errors
    /// `MakeDomain` when there is no column, or two columns have the same name.
    pub fn with_schema(columns: impl IntoIterator<Item = (K, ColumnDomain)>) -> Result<Self> {
        match by_name(columns) {
            Some(schema) if !schema.is_empty() => {
                Ok(DataFrameDomain { schema: Some(schema), size: None })
            }
            _ => Err(Error::MakeDomain(
                "col_names: expected at least one name, and no name twice".into(),
            )),
        }
    }
    /// Keep only the frames of `size` rows.
    #[must_use]
    pub fn with_size(self, size: usize) -> Self {
        DataFrameDomain { size: Some(size), ..self }
    }
    /// Allow any number of rows.
    #[must_use]
    pub fn without_size(self) -> Self {
        DataFrameDomain { size: None, ..self }
    }
    /// Return the number of rows, if it is known.
    pub fn size(&self) -> Option<usize> {
        self.size
    }
    /// If the schema is known, return the names of the columns and the domains of their cells,
    /// sorted by name.
    pub fn schema(&self) -> Option<&[(K, ColumnDomain)]> {
        self.schema.as_deref()
    }
    /// Return the domain of the cells of a column, if the schema is known and contains the column.
    pub fn column(&self, name: &K) -> Option<&ColumnDomain> {
        self.schema()?.iter().find(|(known, _)| known == name).map(|(_, column)| column)
    }
    /// Replace the domain of the column `name`, or add this column. Without a schema, nothing
    /// changes.
    #[must_use]
    pub fn with_column(mut self, name: K, column: ColumnDomain) -> Self {
        if let Some(schema) = self.schema.take() {
            let others = schema.into_iter().filter(|(known, _)| *known != name);
            // The names remain distinct, because the old column with this name was removed.
            self.schema = by_name(others.chain([(name.clone(), column)]));
        }
        self
    }
    /// Return a frame without rows. The frame has the columns of the schema. Without a schema, the
    /// frame has no columns.
    pub fn empty(&self) -> DataFrame<K> {
        let columns = self.schema().unwrap_or_default();
        let made = columns.iter().map(|(name, column)| (name.clone(), column.empty()));
        DataFrame::new(made).unwrap_or_else(|_| Carrier::buffer())
    }
}

impl<K: HashableAtom> Domain for DataFrameDomain<K> {
    type Carrier = DataFrame<K>;
    fn member(&self, value: &DataFrame<K>) -> bool {
        let fits = |schema: &[(K, ColumnDomain)]| {
            schema.len() == value.columns().len()
                && schema
                    .iter()
                    .zip(value.columns())
                    .all(|((name, domain), (known, column))| name == known && domain.member(column))
        };
        self.size.is_none_or(|size| size == value.rows()) && self.schema().is_none_or(fits)
    }
    fn records(&self) -> Option<usize> {
        self.size
    }
    fn with_records(&self, records: usize) -> Option<Self> {
        Some(self.clone().with_size(records))
    }
    /// Rows with different columns do not fit into one frame. So the rows of members can be
    /// combined freely only if the schema is known.
    fn recombines(&self) -> bool {
        self.schema.is_some()
    }
    fn to_json(&self) -> Json {
        let names =
            |schema: &[(K, ColumnDomain)]| schema.iter().map(|(n, _)| n.to_json()).collect();
        let cells =
            |schema: &[(K, ColumnDomain)]| schema.iter().map(|(_, d)| d.to_json()).collect();
        descriptor(
            "dataframe_domain",
            [
                ("K", Some(json!(<K as Named>::type_name().to_string()))),
                ("col_names", self.schema().map(names)),
                ("element_domains", self.schema().map(cells)),
                ("size", self.size.map(|size| json!(size))),
            ],
        )
    }
}
named!(DataFrameDomain<K> as "DataFrameDomain");

/// Make the set of all frames, or of the frames with a given schema.
///
/// # Arguments
/// * `col_names` - the names of the columns; without them, any columns are allowed
/// * `element_domains` - the domains of the cells of these columns, in the same order
/// * `size` - the number of rows, if it is public; without it, any number is allowed
///
/// # Errors
/// `MakeDomain` when `col_names` is an empty list, when a name is repeated, or when the number of
/// domains differs from the number of names.
pub fn dataframe_domain<K: HashableAtom>(
    col_names: Option<Vec<K>>,
    element_domains: Vec<ColumnDomain>,
    size: Option<usize>,
) -> Result<TheDomain<DataFrameDomain<K>>> {
    let names = col_names.as_deref().unwrap_or_default();
    if names.len() != element_domains.len() {
        return Err(Error::MakeDomain(format!(
            "element_domains: expected one for each name in `col_names`, {} in total, found {}",
            names.len(),
            element_domains.len()
        )));
    }
    let domain = match col_names {
        None => DataFrameDomain::default(),
        Some(names) => DataFrameDomain::with_schema(names.into_iter().zip(element_domains))?,
    };
    Ok(TheDomain(DataFrameDomain { size, ..domain }))
}

register! {
    "frame.rs": dataframe_domain(col_names = null, element_domains = null, size = null)
        for K in [String, i32, i64, u32, u64, usize, bool] = String;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;

    fn schema() -> DataFrameDomain<String> {
        let age = ColumnDomain::new(AtomDomain::bounded(Bounds::new(0, 120).unwrap()));
        let name = ColumnDomain::new(OptionDomain::new(AtomDomain::<String>::default()));
        DataFrameDomain::with_schema([("name".to_owned(), name), ("age".to_owned(), age)]).unwrap()
    }
    fn frame(ages: Column) -> DataFrame<String> {
        let names = Column::new(vec![None::<String>; ages.rows()]);
        DataFrame::new([("age".to_owned(), ages), ("name".to_owned(), names)]).unwrap()
    }

    #[test]
    fn decides_membership_by_names_types_cells_and_size() {
        let domain = schema();
        assert!(domain.member(&frame(Column::new(vec![0, 120]))));
        assert!(!domain.member(&frame(Column::new(vec![121]))));
        assert!(!domain.member(&frame(Column::new(vec![1_i64]))));
        assert!(!domain.member(&DataFrame::new([]).unwrap()));
        assert!(domain.member(&domain.empty()));
        assert!(!domain.clone().with_size(1).member(&domain.empty()));
        let any = DataFrameDomain::default();
        assert_eq!((domain.clone().with_size(1).records(), domain.records()), (Some(1), None));
        assert!(domain.recombines() && !any.recombines());
        assert!(any.member(&frame(Column::new(vec![1_i64]))) && any.member(&any.empty()));
    }
    #[test]
    fn has_no_order_of_columns_and_no_name_twice() {
        let columns = schema().schema().unwrap().to_vec();
        assert_eq!(DataFrameDomain::with_schema(columns.iter().rev().cloned()).unwrap(), schema());
        let twice = DataFrameDomain::with_schema([columns[0].clone(), columns[0].clone()]);
        assert_eq!(twice.unwrap_err().kind(), "MakeDomain");
        assert!(DataFrameDomain::<String>::with_schema([]).is_err());
        assert!(dataframe_domain(Some(vec![1]), Vec::new(), None).is_err());
    }
    #[test]
    fn tells_domains_of_cells_apart() {
        let any = ColumnDomain::new(AtomDomain::<i32>::default());
        assert_ne!(schema().with_column("age".to_owned(), any.clone()), schema());
        assert_ne!(any, ColumnDomain::new(AtomDomain::<i64>::default()));
        assert_eq!(any, ColumnDomain::new(AtomDomain::<i32>::default()));
        assert!(any.cell::<i32>().is_some() && any.cell::<Option<i32>>().is_none());
    }
    #[test]
    fn an_element_domain_that_is_no_domain_of_cells_is_named() {
        let atom = Constructed::Domain(AnyDomain::new(AtomDomain::<i32>::default()));
        let list = |inner: AnyDomain| {
            Arg::List(vec![atom.clone().into(), Constructed::Domain(inner).into()])
        };
        let pair = list(AnyDomain::new(OptionDomain::new(AtomDomain::<f64>::default())));
        assert_eq!(Vec::<ColumnDomain>::from_arg(&pair).unwrap().len(), 2);
        let wrong = list(AnyDomain::new(AtomDomain::<crate::IBig>::default()));
        let error = Vec::<ColumnDomain>::from_arg(&wrong).unwrap_err().to_string();
        assert!(error.contains("item 2") && error.contains("AtomDomain<IBig>"), "{error}");
    }
    #[test]
    fn reads_any_text_as_a_member() {
        for (_, domain) in schema().schema().unwrap() {
            let column = domain.read(&["1e400", "", " 5", "٣", "9223372036854775808"]);
            assert!(domain.member(&column) && column.rows() == 5);
        }
    }
}
