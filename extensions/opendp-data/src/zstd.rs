//! Reads a stream of consecutive zstd frames.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A reader of the frames of a source. The reader skips skippable frames. If a frame with content
/// has a checksum, the reader compares the checksum with the content.
pub(crate) struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    /// Whether a frame has begun and has not ended.
    within: bool,
}
impl<R: BufRead> Zstd<R> {
    pub(crate) fn new(source: R) -> Self {
        Zstd { source, decoder: FrameDecoder::new(), within: false }
    }
    /// Go to the next frame with content, and return whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(length.into())?,
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
    fn skip(&mut self, length: u64) -> io::Result<()> {
        match io::copy(&mut (&mut self.source).take(length), &mut io::sink())? == length {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
    /// If the finished frame has a checksum, compare this checksum with the content of the frame.
    fn end(&self) -> io::Result<()> {
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a checksum is wrong"));
        }
        Ok(())
    }
}
impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.within && !self.begin()? {
                return Ok(0);
            }
            self.within = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let single = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, single).map_err(io::Error::other)?;
            }
            let read = self.decoder.read(buffer)?;
            if 0 < read {
                return Ok(read);
            }
            self.within = false;
            self.end()?;
        }
    }
}
