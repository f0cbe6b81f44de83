//! Failures of releases that are charged. If a failure may depend on the records, it is charged and
//! kept like a release.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use opendp_core::{Codec, Error, Result};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::record::hexadecimal;
use crate::{Ledger, Release, Request, Terms};

/// The reason why there is no release.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The cause of the failure does not depend on the records. Examples of causes are the file,
    /// its columns and the types.
    OfFile(Error),
    /// The cause of the failure may depend on the records.
    OfData(Error),
}
impl Failure {
    /// Return the error that caused the failure. The error can depend on the records.
    pub fn told(self) -> Error {
        match self {
            Failure::OfFile(error) | Failure::OfData(error) => error,
        }
    }
    /// Return whether an error of [`Ledger::release_or_refuse`] states a failure that was charged,
    /// now or earlier under the same id.
    pub fn was_charged(error: &Error) -> bool {
        match error.root() {
            Error::Argument { reason, .. } => reason == REFUSED || reason == NO_ROOM,
            _ => false,
        }
    }
}
/// An error may depend on the records, unless it is a lack of random bits.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.root() {
            Error::NoEntropy => Failure::OfFile(error),
            _ => Failure::OfData(error),
        }
    }
}

/// The message for a [`Failure::OfData`] under a budget. All such failures have the same message.
const REFUSED: &str = "no release is possible: the data do not fit the pipeline or the study (the \
                       number of rows is not its `size`, or a value is outside of its domain), or \
                       the mechanism failed. The budget is charged as for a release, and keeps \
                       this answer";
/// The message for a release that the ledger had no room for.
const NO_ROOM: &str = "the file of the ledger has no room for the release, because the disk is full \
                       or the file cannot be written, so there is no release. The budget is charged \
                       as for a release, because the length of a release can depend on the data. \
                       Make room, and use another id";
/// The text that ledgers store for a [`Failure::OfData`]. The text is part of the file format, so
/// never change the text.
const KEPT: &str = "nothing can be released of these data: they are no member of the pipeline's \
                    domain (their number of rows is not its `size`, or a value is none of its \
                    values), or the mechanism failed. It is charged as a release is, and kept";

/// Return the outcome that a budget keeps for a [`Failure::OfData`].
pub(crate) fn refusal() -> Json {
    json!({"refused": KEPT})
}
/// Return the error for a [`Failure::OfData`] that was charged.
#[cold]
pub(crate) fn refused(id: &str) -> Error {
    Error::argument("data", REFUSED).at(format!("release `{id}`"))
}
/// Return the error for a release that was charged, and that the ledger had no room for.
#[cold]
pub(crate) fn no_room(id: &str) -> Error {
    Error::argument("data", NO_ROOM).at(format!("release `{id}`"))
}

impl Ledger {
    /// Release as [`release`](Ledger::release) does, and also charge and keep each
    /// [`Failure::OfData`]. If such a failure were not charged, a user could test facts about the
    /// data without a charge. A panic of `compute` is such a failure.
    ///
    /// # Errors
    /// The errors of [`release`](Ledger::release). `Argument` when the outcome is a failure that
    /// was charged, now or earlier under the same id. A [`Failure::OfFile`] is not charged.
    pub fn release_or_refuse<T: Codec>(
        &self,
        budget: &str,
        request: &Request,
        compute: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<Release> {
        self.release(budget, request, || match catch_unwind(AssertUnwindSafe(compute)) {
            Ok(Ok(release)) => Ok(release.to_json()),
            Ok(Err(Failure::OfFile(error))) => Err(error),
            Ok(Err(Failure::OfData(_))) | Err(_) => Ok(refusal()),
        })
    }
}
impl Terms {
    /// If the terms state the SHA-256 of a file, check that `file` has this SHA-256. Check the file
    /// before the call of `compute`. Check it again after the call, to find a change during the
    /// call. If `compute` returns [`Failure::OfFile`], return this failure without the second
    /// check. `file` is `None` if the data are in no file.
    ///
    /// If `compute` opens the file, it must call [`check_open`](Terms::check_open), because the
    /// path can lead to another file for a moment.
    ///
    /// # Errors
    /// The failures of `compute`. [`Failure::OfFile`] with the errors of
    /// [`check_file`](Terms::check_file).
    pub fn guard_file<T>(
        &self,
        file: Option<&Path>,
        compute: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.check_file(file).map_err(Failure::OfFile)?;
        let outcome = compute();
        if !matches!(outcome, Err(Failure::OfFile(_))) {
            self.check_file(file).map_err(Failure::OfFile)?;
        }
        outcome
    }
    /// If the terms state the SHA-256 of a file, check that `file` has this SHA-256. The path `-`
    /// stands for standard input.
    ///
    /// # Errors
    /// `Argument` when the SHA-256 differs, when the file cannot be read, or when the data are not
    /// in a file. No error if the terms state no SHA-256.
    pub fn check_file(&self, file: Option<&Path>) -> Result<()> {
        let Some(expected) = self.digest() else { return Ok(()) };
        let refused = |found: &str| {
            let reason = format!(
                "the budget is for one file, which its SHA-256 identifies: name that file instead \
                 of {found}"
            );
            Err(Error::argument("data", reason))
        };
        let Some(path) = file else {
            return refused(
                "a table in memory, such as with `opendp ask --data FILE`, or create a budget \
                 without a SHA-256",
            );
        };
        if path.as_os_str() == "-" {
            return refused("standard input");
        }
        compare(path, expected, File::open(path).and_then(digest_of))
    }
    /// If the terms state the SHA-256 of a file, check that an open file has this SHA-256. Then
    /// return to the start of the file. `path` is the name of the file in an error.
    ///
    /// A path can lead to another file after [`check_file`](Terms::check_file) has read it, for
    /// example if the path is a symbolic link. So also check the file from which the data are read.
    ///
    /// # Errors
    /// `Argument` when the SHA-256 differs, or when the file cannot be read. No error if the terms
    /// state no SHA-256.
    pub fn check_open(&self, path: &Path, file: &mut File) -> Result<()> {
        let Some(expected) = self.digest() else { return Ok(()) };
        let found = file.rewind().and_then(|()| digest_of(&mut *file));
        compare(path, expected, found.and_then(|found| file.rewind().map(|()| found)))
    }
}
fn compare(path: &Path, expected: &str, found: io::Result<String>) -> Result<()> {
    let name = path.display();
    let reason = match found {
        Ok(found) if found == expected => return Ok(()),
        Ok(_) => {
            format!(
                "file `{name}` is not the file that the budget is for: its SHA-256 differs. State \
                 the right file, undo its changes, or create a budget for this file"
            )
        }
        Err(error) => format!("file `{name}` cannot be read: {error}"),
    };
    Err(Error::argument("data", reason))
}
fn digest_of(mut file: impl Read) -> io::Result<String> {
    let (mut hash, mut part) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hexadecimal(hash)),
            length => hash.update(part.get(..length).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_an_older_ledger_keeps_is_not_taken_for_a_release() {
        let kept = "nothing can be released of these data: they are no member of the pipeline's \
                    domain (their number of rows is not its `size`, or a value is none of its \
                    values), or the mechanism failed. It is charged as a release is, and kept";
        assert_eq!(refusal(), json!({ "refused": kept }));
    }
}
