//! Tests that a compressed table gives either all rows of the text, or an error.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests stop by panicking")]

#[path = "support/compress.rs"]
mod compress;

use std::io::{Cursor, Read};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use compress::{gzip, zstd};
use opendp_core::{AtomDomain, Result, VectorDomain};
use opendp_data::{CsvColumn, CsvTable};

/// Make a zstd frame that a reader must skip.
fn skipped() -> Vec<u8> {
    [&[0x53, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"hello"].concat()
}
fn table(rows: i64) -> String {
    (0..rows).fold("x,y\n".into(), |text, i| text + &format!("{i},{}\n", i * i))
}
fn read(bytes: &[u8]) -> Result<Vec<i64>> {
    let domain = VectorDomain::new(AtomDomain::<i64>::default());
    let chunks = CsvColumn::new(Cursor::new(bytes.to_vec()), Some("x"), &domain)?;
    Ok(chunks.collect::<Result<Vec<_>>>()?.concat())
}

#[test]
fn compressed_tables_are_read_by_their_first_bytes_in_parts_of_any_number() {
    let rows = 100_000;
    let text = table(rows);
    let (first, second) = text.split_at(text.len() / 3);
    let all: Vec<i64> = (0..rows).collect();
    for bytes in [
        gzip(&text),
        [gzip(first), gzip(second)].concat(),
        [gzip(""), gzip(first), gzip(second), gzip("")].concat(),
        zstd(&text),
        [zstd(first), zstd(second)].concat(),
        [skipped(), zstd(first), skipped(), zstd(second), skipped()].concat(),
    ] {
        assert!(read(&bytes).unwrap() == all);
    }
}
/// A reader that counts the bytes that are read from it.
struct Counted(Cursor<Vec<u8>>, Arc<AtomicUsize>);
impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(buffer)?;
        self.1.fetch_add(read, Ordering::Relaxed);
        Ok(read)
    }
}
#[test]
fn a_compressed_table_is_decompressed_while_it_is_read_and_not_before() {
    let rows = 300_000_u64;
    let number = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let text = (0..rows).fold("x\n".to_owned(), |text, i| text + &format!("{}\n", number(i)));
    for whole in [gzip(&text), zstd(&text)] {
        let (total, taken) = (whole.len(), Arc::new(AtomicUsize::new(0)));
        let source = Counted(Cursor::new(whole), taken.clone());
        let mut table = CsvTable::open(source, None).unwrap();
        for i in 0..rows {
            assert_eq!(table.next_row().unwrap().unwrap(), [number(i).to_string()]);
            if i == 0 {
                assert!(taken.load(Ordering::Relaxed) < total / 4);
            }
        }
        assert_eq!((table.next_row().unwrap(), taken.load(Ordering::Relaxed)), (None, total));
    }
}
#[test]
fn a_damaged_or_cut_compressed_table_is_an_error_and_never_some_rows() {
    let text = table(2000);
    for whole in [gzip(&text), zstd(&text)] {
        for length in (1..whole.len()).step_by(7).chain([whole.len() - 1]) {
            let cut = read(&whole[..length]);
            assert!(cut.is_err(), "cut at {length}");
        }
        for place in (10..whole.len()).step_by(11) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x10;
            // The reader may accept a damaged file only if all rows are unchanged.
            assert!(
                read(&damaged).map_or(true, |rows| rows.iter().copied().eq(0..2000)),
                "{place}"
            );
        }
        let trailed = [&whole[..], b"some words"].concat();
        assert!(read(&trailed).is_err());
        let error = read(&whole[..whole.len() - 1]).unwrap_err().to_string();
        assert!(error.contains("damaged or cut off"), "{error}");
    }
}
#[test]
fn what_is_compressed_is_looked_at_as_what_is_not() {
    for (bytes, word) in [
        (gzip(""), "empty"),
        (zstd(""), "empty"),
        (gzip("\u{feff}a;b\n1;2\n"), "--separator"),
        (zstd("PK\x03\x04"), "zip"),
        (gzip("a\0b\0"), "UTF-16"),
        (gzip("x\r1\r2\r"), "CR"),
    ] {
        let error = CsvTable::open(Cursor::new(bytes), None).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    let error = read(&gzip(gzip("x\n1\n"))).unwrap_err().to_string();
    assert!(error.contains("twice"), "{error}");
}
