//! The file of a study's table.

use std::path::{Component, Path, PathBuf};

use opendp_core::{Error, Result};
use opendp_study::Study;

use super::Arguments;

/// Find the file of the data. If `--data` is given, it replaces the path in the study.
///
/// # Errors
/// `Argument` when there is no path, or when the path is standard input. `Argument` also when the
/// study is charged to a budget, and the path in the study leads out of the folder of the study.
/// Often, the study and the budget have different authors. Without this error, the author of the
/// study could read any file, and charge the release to a budget for other data. A symbolic link
/// can lead out of the folder, too.
pub(super) fn file(arguments: &Arguments, study: &Study) -> Result<PathBuf> {
    let file = match (&arguments.data, study.data()) {
        (Some(file), _) => file.clone(),
        (None, Some(named)) => {
            let folder = arguments.study.parent().unwrap_or(Path::new(""));
            let file = folder.join(named);
            let out = || leads_out(Path::new(named)) || links_out(folder, &file);
            if arguments.budget.is_some() && out() {
                let reason = format!(
                    "the study names a table outside of its folder, `{named}`: to charge the study \
                     to a budget, name the table of this budget with --data FILE"
                );
                return Err(Error::argument("data", reason));
            }
            file
        }
        (None, None) => {
            let reason = "name the table, with --data FILE or as `data` of the context";
            return Err(Error::argument("data", reason));
        }
    };
    if file.as_os_str() == "-" {
        let reason =
            "a study may read several columns, so the table must be a file and not standard input";
        return Err(Error::argument("data", reason));
    }
    Ok(file)
}
/// Return whether a path can lead out of the folder of the study. Such a path is absolute, or has a
/// part `..`.
fn leads_out(path: &Path) -> bool {
    !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
/// Return whether symbolic links lead from a file in a folder to a file outside of this folder. The
/// answer is `false` if there is no such file.
fn links_out(folder: &Path, file: &Path) -> bool {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match (folder.canonicalize(), file.canonicalize()) {
        (Ok(folder), Ok(file)) => !file.starts_with(folder),
        _ => false,
    }
}
