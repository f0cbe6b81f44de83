//! The headers of CSV files, and the names of the columns of Parquet files.
//!
//! If a file cannot be opened, nothing is charged. So whether a file can be opened must not depend
//! on a private record. For this reason, only the first record of each file is decoded. This record
//! is the header. The engine is not used here, because the engine would also read other lines to
//! find the ends of these lines.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::datasource::file_format::options::ReadOptions;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::error::DataFusionError;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use futures::TryStreamExt;

use super::files::no_file;

/// The largest number of bytes of a header.
const MOST_BYTES: usize = 1 << 20;

/// The reason why files have no common header.
pub(super) const DIFFERENT: &str = "its files or batches have different headers; write all with \
                                    the same columns in the same order";
const TWICE: &str = "a header has two columns of the same name; give each column another name";
const TYPES: &str = "its files have different types for the same column; write all files with the \
                     same types, whatever rows they contain";
const NOT_TEXT: &str = "its header is not UTF-8; write the file again as UTF-8, and do not \
                        compress it";
const LONG: &str = "its header has more than 1 MiB; write the names of the columns in the first \
                    line, and close each quote of this line";

/// Return the files at a place whose names end in `ending`. If there are no such files, return the
/// reason for an error.
///
/// # Errors
/// The errors of the object store.
pub(super) async fn files(
    context: &SessionContext,
    url: &ListingTableUrl,
    ending: &str,
) -> Result<Result<Vec<ObjectMeta>, String>, DataFusionError> {
    let (state, store) = (context.state(), context.runtime_env().object_store(url)?);
    let files = url.list_all_files(&state, store.as_ref(), ending).await?;
    let files: Vec<ObjectMeta> = files.try_collect().await?;
    Ok(if files.is_empty() { Err(no_file(ending)) } else { Ok(files) })
}
/// Return the names of the columns of the CSV files at a place, or the reason why they have no
/// common header. An empty file has no header. The engine reads the columns of all files by their
/// positions, so all headers must be the same.
///
/// # Errors
/// The errors of the object store.
pub(super) async fn header(
    context: &SessionContext,
    url: &ListingTableUrl,
) -> Result<Result<Vec<String>, String>, DataFusionError> {
    let files = match files(context, url, ".csv").await? {
        Ok(files) => files,
        Err(reason) => return Ok(Err(reason)),
    };
    let store = context.runtime_env().object_store(url)?;
    let mut common: Option<Vec<String>> = None;
    for file in files.iter().filter(|file| 0 < file.size) {
        let names = match first_record(&store, &file.location).await? {
            Ok(names) => names,
            Err(reason) => return Ok(Err(reason.into())),
        };
        if *common.get_or_insert_with(|| names.clone()) != names {
            return Ok(Err(DIFFERENT.into()));
        }
    }
    let names = common.unwrap_or_default();
    Ok(if are_different(names.iter()) { Ok(names) } else { Err(TWICE.into()) })
}
/// Check the columns of the Parquet files at a place. Return the reason for an error in four cases:
/// there are no files, a file lacks one of the columns `described`, two columns of a file have the
/// same name, or the files have types for a column that the engine cannot read as one type. Without
/// this check, the engine would read a missing column as nulls, and would read only one of two
/// columns of the same name.
///
/// # Errors
/// The errors of the object store, and an error when a file is not Parquet.
pub(super) async fn check_parquet(
    context: &SessionContext,
    url: &ListingTableUrl,
    described: &[&String],
) -> Result<Result<(), String>, DataFusionError> {
    let files = match files(context, url, ".parquet").await? {
        Ok(files) => files,
        Err(reason) => return Ok(Err(reason)),
    };
    let environment = context.runtime_env();
    let store = environment.object_store(url)?;
    for file in files.iter().filter(|file| 0 < file.size) {
        let cache = environment.cache_manager.get_file_metadata_cache();
        let footer = DFParquetMetadata::new(store.as_ref(), file);
        let schema = footer.with_file_metadata_cache(Some(cache)).fetch_schema().await?;
        if !are_different(schema.fields().iter().map(|field| field.name())) {
            return Ok(Err(TWICE.into()));
        }
        let mut described = described.iter();
        if let Some(column) = described.find(|column| schema.index_of(column).is_err()) {
            return Ok(Err(format!(
                "one of its files has no column `{column}`, which its metadata describe; write all \
                 described columns to each file, with the same spelling"
            )));
        }
    }
    let options = context.state().default_table_options();
    let options =
        ParquetReadOptions::default().to_listing_options(&context.copied_config(), options);
    match options.infer_schema(&context.state(), url).await {
        Err(error) if matches!(error.find_root(), DataFusionError::ArrowError(..)) => {
            Ok(Err(TYPES.into()))
        }
        schema => schema.map(|_| Ok(())),
    }
}
/// Return the probable cause if the header of CSV files lacks a column. The text begins with a
/// colon, or is empty if no cause is known. It shows no name of a column. `described` are the names
/// that the metadata describe.
pub(super) fn missing_because<'a>(
    names: &[String],
    mut described: impl Iterator<Item = &'a String>,
) -> String {
    let marks = [(';', "semicolons"), ('\t', "tabs"), ('|', "vertical bars")];
    let found = match names {
        [] => return ": it has no header, because it is empty or has only empty lines".into(),
        [only] => marks.iter().find(|(mark, _)| only.contains(*mark)),
        _ => None,
    };
    if let Some((_, marks)) = found {
        return format!(
            ": its header has {marks} and no commas, so {marks} probably separate its cells; write \
             the file with commas"
        );
    }
    if described.any(|name| names.contains(name)) {
        return String::new();
    }
    ": its first line has none of the described names, so it probably has no header; write the \
     names of the columns in the first line"
        .into()
}
fn are_different<'a>(mut names: impl Iterator<Item = &'a String>) -> bool {
    let mut known = HashSet::new();
    names.all(|name| known.insert(name))
}
async fn first_record(
    store: &Arc<dyn ObjectStore>,
    file: &Path,
) -> Result<Result<Vec<String>, &'static str>, DataFusionError> {
    let mut chunks = store.get(file).await?.into_stream();
    let mut bytes = Vec::new();
    loop {
        let chunk = chunks.try_next().await?;
        bytes.extend_from_slice(chunk.as_deref().unwrap_or_default());
        if let Some(names) = cells(&bytes, chunk.is_none()) {
            return Ok(names);
        }
        if MOST_BYTES < bytes.len() {
            return Ok(Err(LONG));
        }
    }
}
/// Read the cells of the first record of some bytes. Return `None` if the record could continue
/// after these bytes. `ended` states whether the file has no further bytes.
fn cells(bytes: &[u8], ended: bool) -> Option<Result<Vec<String>, &'static str>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes);
    let mut record = csv::ByteRecord::new();
    // The reader returns no error here: it reads from memory, and a first record can have any
    // number of cells.
    let is_read = reader.read_byte_record(&mut record).is_ok();
    if !ended && (!is_read || usize::try_from(reader.position().byte()).ok()? >= bytes.len()) {
        return None;
    }
    let cell = |cell: &[u8]| String::from_utf8(cell.to_vec()).map_err(|_| NOT_TEXT);
    Some(record.iter().map(cell).collect())
}
