//! The sources of the rows of tables.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::TableProvider;
use url::Url;

/// The source of the rows of a table.
#[derive(Clone)]
pub enum Source {
    /// A file or folder of CSV, with a header.
    Csv(String),
    /// A file or folder of Parquet. Folders may be partitioned as `column=value`.
    Parquet(String),
    /// Record batches in memory. All batches have the same columns in the same order.
    Batches(Vec<RecordBatch>),
    /// Any table of DataFusion. **The table must return each row independently of the other rows.**
    /// So it must not use statistics of several rows, such as the least and the largest cell of a
    /// file, to change or leave out rows. The table can claim something about its rows, such as
    /// statistics, an order, a key, or a column without nulls. Each claim must be true for all
    /// possible rows. The engine [`DataFusion`](crate::DataFusion::new) passes conditions only to
    /// tables that request them. A `ListingTable` of DataFusion fulfils these requirements if it
    /// has no `file_sort_order` and no `constraints`.
    Provider(Arc<dyn TableProvider>),
}
impl Source {
    /// Return the absolute path of the file or folder, or its URL. Return `None` for batches and
    /// providers.
    pub(crate) fn place(&self) -> Option<String> {
        let (Source::Csv(path) | Source::Parquet(path)) = self else { return None };
        if is_url(path) {
            return Some(path.clone());
        }
        let absolute = std::path::absolute(path).ok()?;
        Some(absolute.to_string_lossy().into_owned())
    }
    /// If the place is a `file://` URL, replace the URL by the path of the file or folder, so that
    /// all checks of paths apply.
    ///
    /// # Errors
    /// The reason why the URL is refused: it has a query or a fragment, or it is a `file://` URL
    /// that names no path.
    pub(super) fn local(mut self) -> Result<Self, String> {
        let (Source::Csv(path) | Source::Parquet(path)) = &mut self else { return Ok(self) };
        if Path::new(&*path).exists() || !is_url(path) {
            return Ok(self);
        }
        let Ok(url) = Url::parse(path) else { return Ok(self) };
        if url.query().is_some() || url.fragment().is_some() {
            return Err(format!(
                "the URL `{path}` has a query or a fragment, which begins with `?` or `#`.\n\
                 If the character is a part of a name, write `%3F` or `%23`. For a pattern, state \
                 a path without `file://`"
            ));
        }
        if url.scheme() == "file" {
            let local = url.to_file_path().ok().and_then(|local| Some(local.to_str()?.to_owned()));
            *path = local.ok_or_else(|| {
                format!("the URL `{path}` names no local file; state the absolute path of the file")
            })?;
        }
        Ok(self)
    }
}
impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Csv(path) => write!(f, "Csv({path:?})"),
            Source::Parquet(path) => write!(f, "Parquet({path:?})"),
            Source::Batches(_) => f.write_str("Batches"),
            Source::Provider(_) => f.write_str("Provider"),
        }
    }
}

/// Return whether a place is a URL, and not a path.
pub(crate) fn is_url(place: &str) -> bool {
    place.contains("://") && Url::parse(place).is_ok()
}
/// Return whether all batches have the same column names in the same order. The engine reads the
/// columns of batches by their positions.
pub(super) fn same_columns(batches: &[RecordBatch]) -> bool {
    let schema = |batch: &RecordBatch| batch.schema();
    batches.iter().map(schema).zip(batches.iter().map(schema).skip(1)).all(|(left, right)| {
        left.fields().iter().map(|f| f.name()).eq(right.fields().iter().map(|f| f.name()))
    })
}
