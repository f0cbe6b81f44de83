//! A function that runs two releases with the same noise, so that a test can compare them.

use crate::{Error, Result, random};

/// Run two closures, one after the other, on the same random words, and return both results.
///
/// A test can then show that two forms of one mechanism give the same release bit for bit. For
/// example, the two forms are a typed measurement and the registered measurement of the same
/// mechanism. **Never use this function for a release**: two releases with the same noise reveal
/// the difference between the two data sets.
///
/// The words are new at each call of this function. Both closures get the same words under two
/// conditions: each closure draws less than 1 MiB, and draws only in the thread of the caller.
///
/// # Errors
/// `NoEntropy` when the operating system gives no random bits.
///
/// ```
/// # use opendp_core::{laws, random::{RandomSource, with_secure}};
/// let draw = || with_secure(|source| source.word());
/// let (first, second) = laws::on_one_tape(draw, draw)?;
/// assert_eq!(first, second);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn on_one_tape<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> Result<(A, B)> {
    random::on_one_tape(first, second).map_err(Error::from)
}
