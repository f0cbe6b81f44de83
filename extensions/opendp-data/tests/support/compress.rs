//! Compresses bytes for the tests of this package and of the command `opendp`.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

pub(crate) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}
pub(crate) fn zstd(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    compress_to_vec(bytes.as_ref(), CompressionLevel::Fastest)
}
