//! Warnings about losses that give little or no protection.

use std::{path::Path, time::UNIX_EPOCH};

use opendp_analysis::context::visible;
use opendp_core::{Constructed, Error, Result};
use opendp_ledger::{Caution, Release};
use serde_json::{Value as Json, json};

/// Check that a loss is finite, and that its delta is below 1. A part that is not known is not
/// checked.
pub(crate) fn check(caution: &Caution) -> Result<()> {
    if caution.no_bound().is_some() {
        return Err(Error::InvalidDistance(
            "the loss has no bound, so the release gives no protection. Add noise, or state \
             --allow-infinite-loss to release anyway"
                .into(),
        ));
    }
    Ok(())
}
/// Print warnings on standard error. `parts` are the names of the parts of the loss.
pub(crate) fn warn(caution: &Caution, parts: &[&str], as_json: bool) {
    for warning in caution.warnings(parts.first().copied().unwrap_or("the loss")) {
        say(&warning, as_json);
    }
}
/// Warn if no two inputs are at the distance `d_in`.
pub(crate) fn of_distance(made: &Constructed, d_in: &Json, as_json: bool) {
    if let Some(warning) = without_neighbours(made, d_in) {
        say(&warning, as_json);
    }
}
/// Warn if no two inputs are at the distance `d_in`, or if `loss`, the loss at this distance, has
/// no bound.
pub(crate) fn of_map(made: &Constructed, d_in: &Json, loss: &Json, as_json: bool) {
    if let Some(warning) = without_neighbours(made, d_in).or_else(|| without_bound(made, loss)) {
        say(&warning, as_json);
    }
}
/// Return a warning if `made` is a measurement whose `loss` at a distance has no bound. A map
/// answers such a loss, so this is no error.
pub(crate) fn without_bound(made: &Constructed, loss: &Json) -> Option<String> {
    let Constructed::Measurement(_) = made else { return None };
    let what = Caution::new(loss, None).no_bound()?;
    Some(format!(
        "{what} at this distance, so a release is not protected: use noise with a larger scale, \
         above 0"
    ))
}
/// Return a warning if no bound on the loss of a measurement at a small distance is known. Then a
/// release may be the exact answer.
pub(crate) fn of_release(made: &Constructed) -> Option<String> {
    let Constructed::Measurement(_) = made else { return None };
    match Caution::at_small_distance(made, |_| None) {
        Some(caution) => caution.of_release(),
        None => Some(
            "no bound on the loss of this release at a small distance is known: find the loss at \
             the distance of neighbours with the operation `map`"
                .into(),
        ),
    }
}
/// Return a warning if no two inputs are at the distance `d_in`. At such a distance, a loss can be
/// 0 although there is too little noise.
pub(crate) fn without_neighbours(made: &Constructed, d_in: &Json) -> Option<String> {
    made.check_neighbours(d_in).err().map(|error| error.to_string())
}
/// Warn if a file was changed after the release of an earlier run. A budget keeps the release under
/// its id and the path of the file, and not the contents of the file.
pub(crate) fn of_changed_file(file: &Path, release: &Release, as_json: bool) {
    let changed = || {
        let modified = std::fs::metadata(file).and_then(|facts| facts.modified()).ok()?;
        i64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
    };
    let entry = release.entry();
    if release.repeated() && changed().is_some_and(|changed| entry.at_ms < changed) {
        let warning = format!(
            "the file `{}` was changed after the release with the id `{}`, which is about the \
             earlier file: for a release about the changed file, use another id",
            file.display().to_string().escape_debug(),
            visible(&entry.id)
        );
        say(&warning, as_json);
    }
}
/// Print a warning on standard error.
pub(crate) fn say(warning: &str, as_json: bool) {
    print("warning", warning, as_json);
}
/// Print a note on standard error.
pub(crate) fn note(note: &str, as_json: bool) {
    print("note", note, as_json);
}
fn print(kind: &str, message: &str, as_json: bool) {
    if as_json {
        eprintln!("{}", json!({kind: message}));
    } else {
        eprintln!("{kind}: {message}");
    }
}
