//! Privacy units: the largest change of a table by one person. The answers protect this person.

use std::fmt;

use opendp_core::{Error, Result};

/// The largest number of rows of a table that one person contributes, and whether the number of
/// rows of the table is public.
///
/// ```
/// # use opendp_analysis::PrivacyUnit;
/// let unit = PrivacyUnit::person(4)?;
/// assert_eq!(unit.to_string(), "one person, who adds or removes at most 4 rows");
/// assert!(PrivacyUnit::person(0).is_err());
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivacyUnit {
    rows: u32,
    /// Whether the person changes the values of rows, instead of adding or removing rows.
    replaced: bool,
}
impl PrivacyUnit {
    /// Protect a person who adds or removes at most `rows` rows. The number of rows of the table is
    /// private.
    ///
    /// # Errors
    /// `Argument` when `rows` is zero, because the answers would protect no person, or when `rows`
    /// exceeds `u32::MAX / 2`.
    pub fn person(rows: u32) -> Result<Self> {
        PrivacyUnit { rows, replaced: false }.checked()
    }
    /// Protect the values of a person in at most `rows` rows. The number of rows of the table is
    /// public.
    ///
    /// # Errors
    /// `Argument` when `rows` is zero, or exceeds `u32::MAX / 2`.
    pub fn answers_of_person(rows: u32) -> Result<Self> {
        PrivacyUnit { rows, replaced: true }.checked()
    }
    /// Return the largest number of rows that one person contributes.
    pub fn rows(&self) -> u32 {
        self.rows
    }
    /// Return whether the number of rows of the table is public.
    pub fn size_is_public(&self) -> bool {
        self.replaced
    }
    /// Return the symmetric distance of neighbouring tables. A replaced row counts as one removed
    /// row and one added row.
    pub fn distance(&self) -> u32 {
        if self.replaced { self.rows.saturating_mul(2) } else { self.rows }
    }
    fn checked(self) -> Result<Self> {
        if self.rows == 0 || u32::MAX / 2 < self.rows {
            let name = if self.replaced { "answers_of_person" } else { "person" };
            let reason = format!("expected from 1 to {} rows, found {}", u32::MAX / 2, self.rows);
            return Err(Error::argument(name, reason));
        }
        Ok(self)
    }
}
impl fmt::Display for PrivacyUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = if self.replaced { "changes" } else { "adds or removes" };
        let rows = if self.rows == 1 { "row" } else { "rows" };
        write!(f, "one person, who {does} at most {} {rows}", self.rows)
    }
}
