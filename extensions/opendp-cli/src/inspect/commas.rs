//! The meaning of commas in numbers.

/// The meaning of the commas in a cell that looks like a number. No type reads such a cell as a
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commas {
    /// A decimal comma, as in `1,5`.
    Decimal,
    /// Commas between groups of three digits, as in `1,234,567` or `1,234.5`.
    Thousands,
    /// One comma before exactly three digits, as in `1,000`: one thousand, or one with decimals.
    Either,
}
impl Commas {
    /// The meanings, in the order of their numbers.
    pub(super) const ALL: [Commas; 3] = [Commas::Decimal, Commas::Thousands, Commas::Either];
    /// Return the field of the report that counts the cells of this meaning.
    pub(super) fn field(self) -> &'static str {
        match self {
            Commas::Decimal => "decimal_commas",
            Commas::Thousands => "thousands_commas",
            Commas::Either => "ambiguous_commas",
        }
    }
    /// Describe the cells of this meaning to a reader.
    pub(super) fn note(self) -> [&'static str; 2] {
        match self {
            Commas::Decimal => ["with a decimal comma", "write 1.5 and not 1,5"],
            Commas::Thousands => {
                ["with commas between thousands", "write 1234567 and not 1,234,567"]
            }
            Commas::Either => [
                "with one comma before three digits",
                "1,000 can be one thousand or a decimal number, so find out which one is meant: \
                 write 1000 or 1.000",
            ],
        }
    }
}
/// Return the meaning of the commas in a cell. Return `None` if the cell has no comma or does not
/// look like a number.
pub(super) fn commas(cell: &str) -> Option<Commas> {
    let number = cell.strip_prefix(['-', '+']).unwrap_or(cell);
    let (whole, rest) = number.split_once(',')?;
    if digits(rest) && (digits(whole) || grouped(whole, '.')) {
        // A number with thousands begins with one to three digits, and not with a 0.
        let thousands = rest.len() == 3 && whole.len() <= 3 && !whole.starts_with('0');
        return Some(if thousands { Commas::Either } else { Commas::Decimal });
    }
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    (grouped(whole, ',') && digits(part)).then_some(Commas::Thousands)
}
fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
/// Return whether a text has one to three digits, and then groups of three digits. `separator` is
/// before each group.
fn grouped(text: &str, separator: char) -> bool {
    let mut groups = text.split(separator);
    let first = groups.next().is_some_and(|first| digits(first) && first.len() <= 3);
    first && groups.all(|group| digits(group) && group.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_before_three_digits_is_ambiguous_and_others_are_not() {
        for (cells, meaning) in [
            (
                &["1,5", "-2,25", "+0,5", "0,500", "1234,567", "1,0000", "1.234,5", "1.234,567"][..],
                Some(Commas::Decimal),
            ),
            (&["1,234,567", "-1,234.5", "12,345,678.90"], Some(Commas::Thousands)),
            (&["1,000", "-12,345", "999,999"], Some(Commas::Either)),
            (
                &[
                    "1",
                    "1.5",
                    "1,2,3",
                    "1,23,456",
                    "a,000",
                    ",5",
                    "5,",
                    "1,",
                    "1,000,",
                    "1234,567,890",
                ],
                None,
            ),
        ] {
            for cell in cells {
                assert_eq!(commas(cell), meaning, "{cell}");
            }
        }
    }
}
