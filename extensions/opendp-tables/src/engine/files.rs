//! Files and folders of tables: which files are read, and why a file cannot be read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use datafusion::arrow::datatypes::DataType;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::DataFusionError;
use datafusion::object_store;
use opendp_core::{Error, Result};
use url::Url;

use super::Source;
use super::source::is_url;

/// The limit on the levels of nested folders. Without this limit, a link that leads back to a
/// parent folder could make a search very long.
const MOST_FOLDERS: usize = 32;
/// The largest number of files that an error names.
const SHOWN: usize = 5;

/// Return the location of the files that a path or a URL names. An existing path is never a
/// pattern, so the engine reads exactly the file or folder that [`check_files`] has checked. If
/// only a leading part of the path exists, and this part is a folder, only the rest of the path is
/// a pattern.
///
/// # Errors
/// The errors of the file system, and an error when a pattern is malformed.
pub(super) fn located(text: &str) -> Result<ListingTableUrl, DataFusionError> {
    let path = Path::new(text);
    let existing = path.ancestors().find(|part| part.exists());
    match existing {
        Some(whole) if whole == path => ListingTableUrl::try_new(url_of(path)?, None),
        Some(folder) if folder.is_dir() && !is_url(text) => {
            let rest = path.strip_prefix(folder).unwrap_or(path);
            ListingTableUrl::try_new(url_of(folder)?, None)?.with_glob(&rest.to_string_lossy())
        }
        _ => ListingTableUrl::parse(text),
    }
}
/// Return the URL of an existing file or folder. The URL of a folder ends in `/`.
fn url_of(path: &Path) -> Result<Url, std::io::Error> {
    // A URL drops `..` and the name before it, although this name can be a link to another folder.
    // So links are resolved first. The last name is kept, because its ending states the format.
    let absolute = match path.file_name() {
        Some(name) => {
            std::path::absolute(path)?.parent().unwrap_or(Path::new("/")).canonicalize()?.join(name)
        }
        None => path.canonicalize()?,
    };
    let url = if path.is_dir() {
        Url::from_directory_path(&absolute)
    } else {
        Url::from_file_path(&absolute)
    };
    url.map_err(|()| std::io::Error::other("the path cannot be written as a URL"))
}
/// Return the path or URL of a source, and the ending that the names of its files must have.
fn text_of(source: &Source) -> Option<(&str, &'static str)> {
    match source {
        Source::Csv(path) => Some((path, ".csv")),
        Source::Parquet(path) => Some((path, ".parquet")),
        Source::Batches(_) | Source::Provider(_) => None,
    }
}
/// Return the local path of a source, and the ending that the names of its files must have. URLs
/// and patterns such as `*.csv` have no local path. [`Source::local`] has replaced `file://` URLs.
fn local(source: &Source) -> Option<(&Path, &'static str)> {
    let (text, ending) = text_of(source)?;
    let path = Path::new(text);
    let pattern = is_url(text) || is_pattern(text);
    (path.exists() || !pattern).then_some((path, ending))
}
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}
/// Check that only the last part of a pattern has wildcards, and that the pattern matches only
/// files. The engine compares the pattern only with the first name below the leading folder that
/// exists. So with a wildcard in the name of a folder, the engine would leave out files without an
/// error. If the pattern matched a folder, the engine would read the files of this folder.
fn check_pattern(name: &str, source: &Source) -> Result<()> {
    let Some((text, ending)) = text_of(source) else { return Ok(()) };
    let path = Path::new(text);
    if is_url(text) || path.exists() || !is_pattern(text) {
        return Ok(());
    }
    let folders = matched_folders(text, ending);
    if !folders.is_empty() {
        let reason = format!(
            "the pattern `{text}` would also read files of {}. A pattern is for the files of one \
             folder.\nNarrow the pattern, as in `*{ending}`, or move the folders",
            listed(folders)
        );
        return Err(cannot_open(name, &reason));
    }
    // An empty path is the current folder.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let Some(folder) = folder else { return Ok(()) };
    let existing = folder.ancestors().find(|part| part.exists());
    let missing = existing.and_then(|part| folder.strip_prefix(part).ok()).unwrap_or(folder);
    let reason = if is_pattern(&missing.to_string_lossy()) {
        format!(
            "the pattern `{text}` has a wildcard in the name of a folder.\n\
             Wildcards such as `*` are allowed only in the last part of a path: name one folder"
        )
    } else {
        format!("the folder `{}` does not exist", folder.display())
    };
    Err(cannot_open(name, &reason))
}
/// Return the existing files and folders that a path, a `file://` URL or a pattern names, and all
/// files in these folders. Links are resolved.
pub(crate) fn places(text: &str) -> Vec<PathBuf> {
    let mut places = named_places(text);
    let mut seen: HashSet<PathBuf> = places.iter().cloned().collect();
    let mut next = 0;
    while let Some(folder) = places.get(next) {
        let inside = entries(folder).filter_map(|path| path.canonicalize().ok());
        let new: Vec<PathBuf> = inside.filter(|path| seen.insert(path.clone())).collect();
        places.extend(new);
        next += 1;
    }
    places
}
fn named_places(text: &str) -> Vec<PathBuf> {
    let Ok(Source::Csv(text)) = Source::Csv(text.to_owned()).local() else { return Vec::new() };
    let (text, path) = (text.as_str(), Path::new(&text));
    if path.exists() || !is_pattern(text) {
        return path.canonicalize().into_iter().collect();
    }
    let Ok(url) = located(text) else { return Vec::new() };
    let Ok(folder) = url.get_url().to_file_path() else { return Vec::new() };
    let matched = entries(&folder).filter(|path| is_matched(&url, path, "", MOST_FOLDERS));
    matched.filter_map(|path| path.canonicalize().ok()).collect()
}
/// Return the folders whose files a pattern would read. The engine compares the pattern with the
/// first name below the folder of the pattern. The engine skips names of folders such as
/// `column=value`.
fn matched_folders(text: &str, ending: &str) -> Vec<String> {
    let Ok(url) = located(text) else { return Vec::new() };
    let Ok(folder) = url.get_url().to_file_path() else { return Vec::new() };
    let matched = entries(&folder)
        .filter(|path| path.is_dir() && is_matched(&url, path, ending, MOST_FOLDERS));
    matched.map(|path| folder_shown(&name_of(&path))).collect()
}
/// Return whether a pattern matches a file or a folder. A folder such as `column=value` matches if
/// the pattern matches something in this folder. `levels` limits the levels of such folders.
fn is_matched(url: &ListingTableUrl, path: &Path, ending: &str, levels: usize) -> bool {
    let (name, is_folder) = (name_of(path), path.is_dir());
    if is_folder && name.contains('=') {
        return levels == 0
            || entries(path).any(|inner| is_matched(url, &inner, ending, levels - 1));
    }
    let place = object_store::path::Path::from_absolute_path(path);
    (is_folder || name.ends_with(ending)) && place.is_ok_and(|place| url.contains(&place, true))
}
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}
fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
/// Return the name of a folder for an error. The value of a folder `column=value` is a cell of the
/// table, and errors show no cells. So the value is left out.
fn folder_shown(name: &str) -> String {
    match name.split_once('=') {
        Some((column, _)) => format!("{column}=.../"),
        None => format!("{name}/"),
    }
}
/// Return the reason for a source that cannot be opened because no file matches.
pub(super) fn no_file(ending: &str) -> String {
    format!(
        "no file matches its path. Only files whose names end in `{ending}` are read.\n\
         Check the path and the format: `format` states `csv` or `parquet`"
    )
}
/// There are two formats. Return the format whose files do not have this ending.
fn other_format(ending: &str) -> &'static str {
    if ending == ".csv" { "parquet" } else { "csv" }
}
fn is_format(file: &str, format: &str) -> bool {
    file.strip_suffix(format).is_some_and(|name| name.ends_with('.'))
}
/// Return advice about a file whose name does not have the required ending.
fn instead(file: &str, ending: &str) -> String {
    let other = other_format(ending);
    if is_compressed(file) {
        "Compressed files are not read: unpack the file".into()
    } else if is_format(file, other) {
        format!("If the file is in the other format, state `format = \"{other}\"`")
    } else {
        "Rename the file: `A` and `a` are different letters".into()
    }
}
pub(crate) fn is_compressed(file: &str) -> bool {
    [".gz", ".bz2", ".xz", ".zst", ".zip"].iter().any(|ending| file.ends_with(ending))
}
/// Check that the file or folder of a source exists, and that the engine reads all files of the
/// folder. Files whose names begin with `_` or `.` are not data, so the engine must leave them out.
///
/// # Errors
/// `FailedFunction` when the path does not exist, or when the name of a file does not end in `.csv`
/// or `.parquet`, as its format requires. A folder also gives this error in two other cases. In the
/// first case, the engine would silently skip a file whose name does not begin with `_` or `.`. In
/// the second case, the engine would read a file whose name begins with `_` or `.`.
pub(super) fn check_files(name: &str, source: &Source) -> Result<()> {
    check_pattern(name, source)?;
    let Some((path, ending)) = local(source) else { return Ok(()) };
    if !path.exists() {
        let reason = format!("the path `{}` does not exist", path.display());
        return Err(cannot_open(name, &reason));
    }
    if path.is_file() && !path.to_string_lossy().ends_with(ending) {
        let reason = format!(
            "the name of the file `{}` does not end in `{ending}`.\n{}",
            path.display(),
            instead(&path.to_string_lossy(), ending)
        );
        return Err(cannot_open(name, &reason));
    }
    let mut folder = Folder { ending, ..Folder::default() };
    folder.walk(path, &[], MOST_FOLDERS);
    if !folder.hidden.is_empty() {
        let reason = format!(
            "{} would be read, although names that begin with `_` or `.` are usually not parts of a \
             table.\nRename the files of the table, and move all other files to another folder",
            listed(folder.hidden)
        );
        return Err(cannot_open(name, &reason));
    }
    match left_out(path, folder) {
        Some(reason) => Err(cannot_open(name, &reason)),
        None => Ok(()),
    }
}
/// If the engine would leave out a file of a folder, return the reason why the folder is refused.
fn left_out(path: &Path, folder: Folder) -> Option<String> {
    let Folder { ending, files, others, .. } = folder;
    let other = other_format(ending);
    if files.is_empty() && !others.is_empty() && others.iter().all(|file| is_format(file, other)) {
        return Some(format!(
            "the folder `{}` has {}, and no file whose name ends in `{ending}`.\n\
             The format of this table is `{}`. If these are its files, state \
             `format = \"{other}\"`",
            path.display(),
            listed(others),
            ending.trim_start_matches('.')
        ));
    }
    let columns: Vec<String> =
        partitions(&path.to_string_lossy()).into_iter().map(|(column, _)| column).collect();
    let elsewhere = files.into_iter().filter(|(_, names)| *names != columns).map(|(file, _)| file);
    let others: Vec<String> = others.into_iter().chain(elsewhere).collect();
    (!others.is_empty()).then(|| {
        format!(
            "{} would be left out. Only files whose names end in `{ending}` are read. If there are \
             folders such as `column=value`, all files must be in such folders, and the \
             folders must name the same columns.\nRename the files, or move them to another folder",
            listed(others)
        )
    })
}
/// Write the first few names of a list.
fn listed(mut names: Vec<String>) -> String {
    names.sort();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("`{}`{more}", names.join("`, `"))
}
/// The files and folders of a folder.
#[derive(Default)]
struct Folder {
    /// The ending that the names of files must have.
    ending: &'static str,
    /// The names of the files with the required ending. With each name, the list contains the
    /// columns of the folders `column=value` that lead to the file.
    files: Vec<(String, Vec<String>)>,
    /// The files and folders that the engine does not read, except those whose names begin with `_`
    /// or `.`.
    others: Vec<String>,
    /// The files and folders that the engine reads, although their names begin with `_` or `.`.
    hidden: Vec<String>,
}
impl Folder {
    /// List the files of a folder and of its folders `column=value`. `columns` are the columns of
    /// the folders `column=value` that lead to this folder. `levels` limits the levels of folders
    /// below this folder.
    fn walk(&mut self, folder: &Path, columns: &[String], levels: usize) {
        for path in entries(folder) {
            let name = name_of(&path);
            let column = name.split_once('=').map(|(column, _)| column.to_owned());
            let column = column.filter(|_| path.is_dir() && 0 < levels);
            let is_file = path.is_file() && name.ends_with(self.ending);
            match (name.starts_with(['_', '.']), column) {
                (true, Some(_)) => self.hidden.push(folder_shown(&name)),
                (true, None) if is_file => self.hidden.push(name),
                (true, None) => {}
                (false, Some(column)) => {
                    let columns = [columns, &[column]].concat();
                    self.walk(&path, &columns, levels - 1);
                }
                (false, None) if is_file => self.files.push((name, columns.to_vec())),
                (false, None) if path.is_dir() => self.others.push(folder_shown(&name)),
                (false, None) => self.others.push(name),
            }
        }
    }
}
/// Find the columns of a folder that is partitioned as `column=value`. At each level, read only the
/// first folder with such a name.
pub(super) fn partitions(path: &str) -> Vec<(String, DataType)> {
    let mut folder = std::path::PathBuf::from(path);
    let mut columns = Vec::new();
    for _ in 0..MOST_FOLDERS {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let named = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let (column, _) = name.split_once('=')?;
            entry.path().is_dir().then(|| (column.to_owned(), entry.path()))
        };
        let Some((column, next)) = entries.filter_map(named).min() else { break };
        columns.push((column, DataType::Utf8));
        folder = next;
    }
    columns
}
/// Return the reason why a source cannot be opened. The reason shows no cell. The text of an error
/// is shown only if the operating system reported the error, or if the object store did not find a
/// file. The texts of other errors can contain cells, for example the first record of a file
/// without a header.
pub(super) fn reason(error: &DataFusionError, source: &Source) -> String {
    let place = local(source);
    if let DataFusionError::ObjectStore(error) = error.find_root()
        && matches!(**error, object_store::Error::NotFound { .. })
    {
        return error.to_string();
    }
    match (of_system(error), place) {
        (Some(error), Some((path, _))) => format!("`{}`: {error}", path.display()),
        (Some(error), None) => error.to_string(),
        (None, Some((path, ending))) => format!(
            "the engine cannot read `{}`; check that it is {}",
            path.display(),
            if ending == ".csv" { "CSV with a header" } else { "Parquet" }
        ),
        (None, None) => {
            "the engine cannot read it; check that it is CSV with a header, or Parquet".into()
        }
    }
}
/// Return the error of the operating system, if the operating system reported the error. An example
/// is a disk that cannot be read. The libraries wrap such an error in their own errors.
pub(super) fn of_system(error: &DataFusionError) -> Option<&std::io::Error> {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| error.source())
        .filter_map(|error| error.downcast_ref::<std::io::Error>())
        .find(|error| error.raw_os_error().is_some())
}
pub(super) fn cannot_open(name: &str, reason: &str) -> Error {
    Error::FailedFunction(format!("table `{name}` cannot be opened: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_of_files_are_shown() {
        let wrapped = |source: Box<dyn std::error::Error + Send + Sync>| {
            let error = object_store::Error::Generic { store: "secret", source };
            let error = DataFusionError::ObjectStore(Box::new(error)).context("secret");
            reason(&error, &Source::Csv("people.csv".into()))
        };
        let refused = std::io::Error::from_raw_os_error(13);
        let expected = format!("`people.csv`: {refused}");
        assert_eq!(wrapped(Box::new(refused)), expected);
        for hidden in [wrapped("secret".into()), wrapped(Box::new(std::io::Error::other("secret")))]
        {
            assert!(!hidden.contains("secret") && hidden.contains("CSV with a header"), "{hidden}");
        }
        let missing =
            object_store::Error::NotFound { path: "people".into(), source: "lost".into() };
        let missing = DataFusionError::ObjectStore(Box::new(missing));
        assert!(reason(&missing, &Source::Csv("people.csv".into())).contains("people"));
    }
}
