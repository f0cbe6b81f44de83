//! The cost of a document, and the limits on this cost.

use opendp_core::{Error, Result};

/// The largest number of links on a path through a document. A path contains the links of a chain,
/// and the links in the arguments of these links. A path contains only one member of each list.
/// When a function or a map runs, each link of the path uses stack memory.
pub(super) const MAX_LINKS: usize = 256;
/// The largest number of links in a whole document. Each link uses memory.
const MAX_LINKS_IN_ALL: usize = 1 << 14;
/// The largest number of measurements in a list. The copies that `repeat` makes are counted too. A
/// member inside a repeated member counts once for each copy. While a composition is made, each
/// member takes about 500 bytes.
const MAX_MEMBERS: usize = 100_000;

/// [`check_text`] counts each object as [`OBJECT`] values. A text with a count of at most this
/// number always passes. A text with a larger count must have at least four bytes for each counted
/// value. A text of distinct values satisfies this condition, because most distinct values need at
/// least three characters and a comma.
const MAX_VALUES: usize = 1 << 18;
/// One object takes about as much memory as this number of plain values.
const OBJECT: usize = 6;

/// The reader of JSON returns an error for a text with more than this number of nested levels.
const DEEPEST: usize = 128;

/// Check that a text has few values for its length, so that the parsed JSON needs little memory.
pub(super) fn check_text(text: &str) -> Result<()> {
    let (mut values, mut depth, mut in_string, mut escaped) = (1_usize, 0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b',' => values += 1,
            b'[' | b'{' => {
                values += if byte == b'{' { OBJECT } else { 1 };
                depth += 1;
                // Do not check the number of values of a text that is nested this deeply, because
                // the reader of JSON returns an error for such a text.
                if DEEPEST < depth {
                    return Ok(());
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let limit = MAX_VALUES.max(text.len() / 4);
    if values <= limit {
        return Ok(());
    }
    let reason = format!(
        "expected at most {limit} values in a text of {} bytes, found {values}, where each object \
         counts as {OBJECT} values; leave out repeated values",
        text.len()
    );
    Err(Error::argument("pipeline", reason))
}

/// The cost of an object that a node describes.
#[derive(Clone, Copy, Default)]
pub(super) struct Weight {
    /// The number of links on the longest path through the object.
    links: usize,
    /// The number of measurements in the largest list of the object, including the copies that
    /// `repeat` makes. If the object has a link, this number is at least 1.
    members: usize,
}
impl Weight {
    /// Return the weight of a link. The weight of its arguments is `self`.
    pub(super) fn link(self) -> Result<Weight> {
        Weight { links: self.links.saturating_add(1), members: self.members.max(1) }.checked()
    }
    /// Return the weight of two chains in sequence. The first chain has the weight `self`, and the
    /// second chain has the weight `next`.
    pub(super) fn then(self, next: Weight) -> Result<Weight> {
        self.joined(next).checked()
    }
    /// Return the weight of two arguments of one call. One argument has the weight `self`, and the
    /// other argument has the weight `next`.
    pub(super) fn beside(self, next: Weight) -> Result<Weight> {
        self.joined(next).checked()
    }
    fn joined(self, next: Weight) -> Weight {
        let links = self.links.saturating_add(next.links);
        Weight { links, members: self.members.max(next.members) }
    }
    /// Return the weight of a list after `times` copies of a member are added. Before the addition,
    /// the list has the weight `self`. The member has the weight `next`.
    pub(super) fn and_members(self, next: Weight, times: usize) -> Result<Weight> {
        // Each copy of a repeated member takes memory. So each copy counts as at least one member.
        let each = if times == 1 { next.members } else { next.members.max(1) };
        let members = each.checked_mul(times).and_then(|all| all.checked_add(self.members));
        match members.filter(|members| *members <= MAX_MEMBERS) {
            Some(members) => Ok(Weight { links: self.links.max(next.links), members }),
            None => Err(Error::argument(
                "repeat",
                format!(
                    "expected at most {MAX_MEMBERS} members in total, where every repetition of a \
                     member counts"
                ),
            )),
        }
    }
    fn checked(self) -> Result<Weight> {
        if self.links <= MAX_LINKS {
            return Ok(self);
        }
        let reason =
            format!("expected at most {MAX_LINKS} links, including the links of inner chains");
        Err(Error::argument("chain", reason))
    }
}

/// Count one more link of the whole document. Return the new number of links.
pub(super) fn one_more(links: usize) -> Result<usize> {
    if links < MAX_LINKS_IN_ALL {
        return Ok(links + 1);
    }
    let reason = format!(
        "the document has more than {MAX_LINKS_IN_ALL} links in all; write equal members of a list \
         once, with `repeat`"
    );
    Err(Error::argument("pipeline", reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_four_bytes_for_each_value_or_few_values() {
        for fits in
            ["", "[]", "[0,0,0]", &"[".repeat(1000), &format!("[{}0]", "0,".repeat(200_000))]
        {
            assert!(check_text(fits).is_ok());
        }
        let distinct: Vec<String> = (0..400_000).map(|i| i.to_string()).collect();
        assert!(check_text(&format!("[{}]", distinct.join(","))).is_ok());
        for (part, times) in [("0,", 300_000), ("{},", 60_000), ("[],", 200_000)] {
            let error = check_text(&part.repeat(times)).unwrap_err().to_string();
            assert!(error.contains("at most 262144 values"), "{error}");
        }
        // A string is one value, even if it contains commas, brackets or escaped characters.
        for text in [",".repeat(400_000), "\\\",".repeat(200_000), "{\\\\".repeat(100_000)] {
            assert!(check_text(&format!("\"{text}\"")).is_ok());
        }
    }
}
