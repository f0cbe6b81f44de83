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
/// study could read any file, and charge the release to a budget for other data.
pub(super) fn file(arguments: &Arguments, study: &Study) -> Result<PathBuf> {
    let file = match (&arguments.data, study.data()) {
        (Some(file), _) => file.clone(),
        (None, Some(named)) => {
            if arguments.budget.is_some() && leads_out(Path::new(named)) {
                let reason = format!(
                    "the study names a table outside of its folder, `{named}`: to charge the study \
                     to a budget, name the table of this budget with --data FILE"
                );
                return Err(Error::argument("data", reason));
            }
            arguments.study.parent().unwrap_or(Path::new("")).join(named)
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
