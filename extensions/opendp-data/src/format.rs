//! Detects the format of a file from its first bytes: text, compressed text, or another format.

use std::io::{self, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;
use opendp_core::{Error, Result};

use crate::progress::broken;
use crate::zstd::Zstd;

/// Bytes from a file or a stream.
pub(crate) type Source = Box<dyn Read + Send>;

/// The number of bytes that are read from the start of a file to detect its format.
const MAGIC: u64 = 16;
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// The compression of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// The text is compressed by `gzip`, as one or more gzip members.
    Gzip,
    /// The text is compressed by `zstd`, as one or more zstd frames.
    Zstd,
}
impl Compression {
    /// Detect the compression from the first bytes. Return `None` for text and for other formats.
    pub fn of(start: &[u8]) -> Option<Self> {
        // Skippable frames can precede a zstd frame. The first byte of a skippable frame has one of
        // sixteen values.
        let skipped = start.get(1..4) == Some(b"\x2a\x4d\x18")
            && start.first().is_some_and(|byte| (0x50..0x60).contains(byte));
        match start {
            _ if start.starts_with(GZIP) => Some(Compression::Gzip),
            _ if start.starts_with(ZSTD) || skipped => Some(Compression::Zstd),
            _ => None,
        }
    }
}

/// Read the text of a source. The source is plain text, or text that is compressed by gzip or zstd.
/// The first bytes show the compression.
///
/// A compressed text is decompressed while it is read. A read fails if a checksum is wrong, or if
/// the source ends within a compressed part.
///
/// # Errors
/// `Argument` when the source cannot be read, is empty, or is not text in a supported format. Other
/// compressions, archives and Parquet files are not supported. Text that is compressed twice is not
/// supported. Text in UTF-16 with a byte order mark is not supported. If the source can be read and
/// is not damaged, an error depends only on the first bytes of the source and of the text.
pub fn text(source: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>> {
    let (start, source) = peek(Box::new(source)).map_err(|_| broken())?;
    let plain: Source = match Compression::of(&start) {
        None => return check(&start).map(|()| source),
        Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(source)),
        Some(Compression::Zstd) => Box::new(Zstd::new(BufReader::new(source))),
    };
    let (start, plain) = peek(plain).map_err(|_| broken())?;
    if Compression::of(&start).is_some() {
        return Err(refuse("the file is compressed twice: decompress it once"));
    }
    check(&start).map(|()| plain)
}
/// Read the first bytes of a source. Return these bytes, and a source that still begins with these
/// bytes.
fn peek(mut source: Source) -> io::Result<(Vec<u8>, Source)> {
    let mut start = Vec::new();
    (&mut source).take(MAGIC).read_to_end(&mut start)?;
    Ok((start.clone(), Box::new(Cursor::new(start).chain(source))))
}
/// Return an error if a source is empty or has an unsupported format. The error states the reason.
fn check(start: &[u8]) -> Result<()> {
    let reason = match start {
        [] => "the file is empty: a table begins with a line that names its columns",
        [b'P', b'K', 3 | 5 | 7, 4 | 6 | 8, ..] => {
            "the file is a zip archive or a spreadsheet: unpack it, or save it as CSV"
        }
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', ..] => {
            "the file is compressed by bzip2, which is not supported: use gzip or zstd"
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            "the file is compressed by xz, which is not supported: use gzip or zstd"
        }
        [0x04, 0x22, 0x4d, 0x18, ..] => {
            "the file is compressed by lz4, which is not supported: use gzip or zstd"
        }
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => {
            "the file is a 7z archive: unpack it, or save it as CSV"
        }
        [b'P', b'A', b'R', b'1', ..] => {
            "the file is Parquet, not CSV: give it a name that ends in `.parquet`"
        }
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => UTF_16,
        // Do not check other bytes, such as NUL. The first line of a JSON file can contain records,
        // and an error must not depend on the records. `check_header` checks the header of a table.
        _ => return Ok(()),
    };
    Err(refuse(reason))
}
const UTF_16: &str = "the file is UTF-16, or is not text: save it in UTF-8";

/// Return an error if the header shows that the text is not a table in a supported format. `ended`
/// states whether the first line was read completely.
pub(crate) fn check_header(header: &[u8], ended: bool, separator: Option<u8>) -> Result<()> {
    let line = header.strip_suffix(b"\n").unwrap_or(header);
    let line = line.strip_suffix(b"\r").filter(|_| line.len() < header.len()).unwrap_or(line);
    let has = |byte: u8| line.contains(&byte);
    if has(0) {
        return Err(refuse(UTF_16));
    }
    if has(b'\r') {
        return Err(refuse(
            "the first line contains a CR without an LF, the old Mac format: end each line \
             with LF, or with CR and LF",
        ));
    }
    if !ended {
        return Err(refuse("the first line is too long for a header: end each line with LF"));
    }
    if separator.is_some() || has(b',') {
        return Ok(());
    }
    for (byte, name) in [(b';', "';'"), (b'\t', "tab"), (b'|', "'|'")] {
        if has(byte) {
            return Err(refuse(format!(
                "the first line contains no `,` and seems to use another separator: state \
                 --separator {name}, or --separator ',' if this is one column"
            )));
        }
    }
    Ok(())
}
fn refuse(reason: impl Into<String>) -> Error {
    Error::argument("data", reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &'static [u8]) -> String {
        match text(bytes) {
            Ok(_) => panic!("not refused: {bytes:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn formats_that_are_not_read_are_refused_by_name() {
        assert!(refused(b"").contains("empty"));
        assert!(refused(b"PK\x03\x04\x14\0\0\0").contains("zip"));
        assert!(refused(b"BZh91AY&SY").contains("bzip2"));
        assert!(refused(b"\xfd7zXZ\0\0\x04").contains("xz"));
        assert!(refused(b"\x04\x22\x4d\x18dummy").contains("lz4"));
        assert!(refused(b"7z\xbc\xaf\x27\x1c").contains("7z"));
        assert!(refused(b"PAR1....").contains("Parquet"));
        assert!(refused(b"\xff\xfea\0,\0").contains("UTF-16"));
        assert!(refused(b"\xfe\xff\0a\0,").contains("UTF-16"));
        assert!(text(&b"a,b\n"[..]).is_ok() && text(&b"PKW,b\n"[..]).is_ok());
        // A record with a NUL is not an error, because an error must not depend on the records.
        assert!(text(&b"a,b\n1,\0\n"[..]).is_ok());
        assert!(text(&b"[\"a\0\"]"[..]).is_ok());
    }
    #[test]
    fn compressions_are_told_by_their_first_bytes() {
        assert_eq!(Compression::of(b"\x1f\x8b\x08"), Some(Compression::Gzip));
        assert_eq!(Compression::of(b"\x28\xb5\x2f\xfd"), Some(Compression::Zstd));
        assert_eq!(Compression::of(b"\x5f\x2a\x4d\x18"), Some(Compression::Zstd));
        assert_eq!((Compression::of(b"(a,b)"), Compression::of(b"")), (None, None));
    }
}
