//! The layout of a ledger in its file: a header, a mark, and sealed lines.
//!
//! The header and the mark each have one sector of the disk. A disk writes a sector completely, or
//! not at all. So the header and the mark are never written in part. A line is a seal, a space,
//! JSON, and an end of line. The seal covers the JSON and the seal of the previous line. The mark
//! states the number of lines and the end of the last line. The mark is written after the lines are
//! durable, so it never counts too many lines. If a counted line is missing, the line was damaged
//! or cut off.

use sha2::{Digest, Sha256};

use crate::record::hexadecimal;

/// The size of a sector in bytes.
pub(super) const SECTOR: usize = 512;
/// The length of a seal in characters.
pub(super) const SEAL: usize = 64;
/// The first bytes of a ledger of version 2 or later.
const MAGIC: &str = "opendp-ledger ";
/// The first bytes of a ledger of version 1, which is an SQLite database.
pub(super) const LEGACY: &[u8] = b"SQLite format 3\0";
/// The version of this layout.
pub(super) const VERSION: u32 = 2;

/// Return whether the first bytes of a file are the first bytes of a ledger of any version.
pub(crate) fn begins(start: &[u8]) -> bool {
    start.starts_with(MAGIC.as_bytes()) || start.starts_with(LEGACY)
}

/// The header of a ledger, which states the position of the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The position of the mark. The lines begin one sector after this position.
    pub(super) mark: u64,
}
/// The kind of a file, as detected from its first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Ledger(Header),
    Legacy,
    Version(String),
    Damaged,
    SomethingElse,
}
impl Header {
    pub(super) fn lines(self) -> u64 {
        self.mark + SECTOR as u64
    }
    pub(super) fn write(self) -> [u8; SECTOR] {
        let text = format!("mark {}", self.mark);
        sector(format!("{MAGIC}{VERSION}\n{text}\n{}\n", seal(MAGIC, &text)))
    }
    pub(super) fn read(bytes: &[u8]) -> Found {
        if bytes.starts_with(LEGACY) {
            return Found::Legacy;
        }
        let Some(rest) = bytes.strip_prefix(MAGIC.as_bytes()) else { return Found::SomethingElse };
        let text = String::from_utf8_lossy(rest);
        let mut lines = text.lines();
        let version = lines.next().unwrap_or_default();
        let whole = version.parse::<u32>().is_ok_and(|number| version == number.to_string());
        if whole && version != VERSION.to_string() {
            return Found::Version(version.to_owned());
        }
        let mark = lines.next().and_then(|line| line.strip_prefix("mark ")?.parse().ok());
        match mark.map(|mark| Header { mark }) {
            // Accept the header only if all its bytes equal the header that this program writes.
            Some(header) if header.write() == bytes => Found::Ledger(header),
            _ => Found::Damaged,
        }
    }
}

/// The mark: the number, the end and the last seal of the durable lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) lines: u64,
    /// The position in the file at which the last durable line ends.
    pub(super) end: u64,
    pub(super) seal: String,
}
impl Mark {
    /// Return the mark of a ledger without lines.
    pub(super) fn new(header: Header) -> Self {
        Mark { lines: 0, end: header.lines(), seal: String::new() }
    }
    pub(super) fn write(&self) -> [u8; SECTOR] {
        let text = format!("mark {} {} {}", self.lines, self.end, self.seal);
        sector(format!("{text} {}\n", seal("mark", &text)))
    }
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut words = text.lines().next()?.split(' ').skip(1);
        let mark = Mark {
            lines: words.next()?.parse().ok()?,
            end: words.next()?.parse().ok()?,
            seal: words.next()?.to_owned(),
        };
        (mark.seal.len() <= SEAL && mark.write() == bytes).then_some(mark)
    }
}

fn sector(text: String) -> [u8; SECTOR] {
    let mut sector = [b' '; SECTOR];
    sector[SECTOR - 1] = b'\n';
    for (byte, written) in sector.iter_mut().zip(text.as_bytes()) {
        *byte = *written;
    }
    sector
}

/// Return the seal of a text, given the seal of the previous line.
pub(super) fn seal(previous: &str, text: &str) -> String {
    let mut hash = Sha256::new();
    for field in [previous, text] {
        hash.update((field.len() as u64).to_le_bytes());
        hash.update(field);
    }
    hexadecimal(hash)
}
/// Append a line with the text `text` to `lines`, and return the seal of the line.
pub(super) fn write_line(previous: &str, text: &str, lines: &mut Vec<u8>) -> String {
    let seal = seal(previous, text);
    lines.extend_from_slice(format!("{seal} {text}\n").as_bytes());
    seal
}
/// Return the seal and the text of a line. Return `None` if the line is incomplete, or if its seal
/// is wrong.
pub(super) fn read_line<'a>(previous: &str, line: &'a [u8]) -> Option<(&'a str, &'a str)> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (written, text) = line.split_at_checked(SEAL)?;
    let text = text.strip_prefix(' ')?;
    (written == seal(previous, text)).then_some((written, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_of_the_header_and_of_the_mark_is_noticed() {
        let header = Header { mark: 4096 };
        assert_eq!(Header::read(&header.write()), Found::Ledger(header));
        let mark = Mark { lines: 7, end: 12345, seal: seal("", "a") };
        assert_eq!(Mark::read(&mark.write()), Some(mark.clone()));
        for place in 0..SECTOR {
            for bit in 0..8 {
                let (mut first, mut second) = (header.write(), mark.write());
                first[place] ^= 1 << bit;
                second[place] ^= 1 << bit;
                assert!(!matches!(Header::read(&first), Found::Ledger(_)), "byte {place}");
                assert_eq!(Mark::read(&second), None, "byte {place}");
            }
        }
    }
    #[test]
    fn tells_what_a_file_is() {
        assert_eq!(Header::read(b"SQLite format 3\0..."), Found::Legacy);
        assert_eq!(Header::read(b"a,b\n1,2\n"), Found::SomethingElse);
        assert_eq!(Header::read(b""), Found::SomethingElse);
        let later = b"opendp-ledger 3\nanything\n";
        assert_eq!(Header::read(later), Found::Version("3".into()));
    }
}
