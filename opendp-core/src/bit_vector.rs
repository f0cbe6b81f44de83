//! Vectors of bits.

use std::fmt;

use serde_json::Value as Json;

use crate::{Codec, Error, Result, carrier, codec::unexpected, named};

/// A vector of bits. Each word stores 64 bits. The first bit is the least significant bit of the
/// first word.
///
/// The unused bits of the last word are 0. So equal vectors have equal words. In JSON, a vector is
/// written as a string of the digits 0 and 1. A JSON array of booleans is also read as a vector.
///
/// ```
/// # use opendp_core::{BitVector, Codec};
/// let bits: BitVector = [true, false, true].into_iter().collect();
/// assert_eq!(bits.to_json(), "101");
/// assert_eq!((bits.words(), bits.len(), bits.count_ones()), (&[0b101_u64][..], 3, 2));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct BitVector {
    words: Vec<u64>,
    len: usize,
}

impl BitVector {
    /// Make a vector of zeros.
    pub fn zeros(len: usize) -> Self {
        BitVector { words: vec![0; len.div_ceil(WORD)], len }
    }
    /// Make a vector from the first `len` bits of `words`. If `words` has fewer bits, add zeros.
    pub fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        words.resize(len.div_ceil(WORD), 0);
        let mut bits = BitVector { words, len };
        let mask = bits.mask(bits.words.len().saturating_sub(1));
        if let Some(last) = bits.words.last_mut() {
            *last &= mask;
        }
        bits
    }
    /// Make a vector from whole bytes. The first bit of the vector is the least significant bit of
    /// the first byte.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, b| word << 8 | u64::from(*b));
        BitVector { words: bytes.chunks(8).map(word).collect(), len: 8 * bytes.len() }
    }
    /// Return the bytes of the vector. The unused bits of the last byte are zeros.
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = self.words.iter().flat_map(|word| word.to_le_bytes());
        bytes.take(self.len.div_ceil(8)).collect()
    }
    /// Count the bits of the vector.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Return whether the vector has no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Count the bits that are 1.
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
    /// Return the bit at an index. Return `None` if the index is not below the length.
    pub fn get(&self, index: usize) -> Option<bool> {
        let word = self.words.get(index / WORD)?;
        (index < self.len).then_some(word >> (index % WORD) & 1 == 1)
    }
    /// Return the bits in order.
    pub fn iter(&self) -> impl Iterator<Item = bool> + '_ {
        (0..self.len).map_while(|index| self.get(index))
    }
    /// Return the words that hold the bits.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
    /// Return a mask for the word at index `word`. A bit of the mask is 1 if the word stores a bit
    /// of this vector at the same position. In the last word, some positions can be unused.
    pub fn mask(&self, word: usize) -> u64 {
        match self.len.saturating_sub(word.saturating_mul(WORD)) {
            0 => 0,
            bits @ 1..WORD => (1 << bits) - 1,
            WORD.. => u64::MAX,
        }
    }
}

/// The number of bits of a word.
const WORD: usize = 64;

impl fmt::Debug for BitVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitVector({} bits)", self.len)
    }
}
impl FromIterator<bool> for BitVector {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        let mut vector = BitVector::default();
        for bit in bits {
            let place = vector.len % WORD;
            if place == 0 {
                vector.words.push(0);
            }
            if let Some(last) = vector.words.last_mut() {
                *last |= u64::from(bit) << place;
            }
            vector.len += 1;
        }
        vector
    }
}
impl Codec for BitVector {
    fn to_json(&self) -> Json {
        Json::String(self.iter().map(|bit| if bit { '1' } else { '0' }).collect())
    }
    fn from_json(json: &Json) -> Result<Self> {
        let expected = "a string of the digits 0 and 1, or an array of booleans";
        match json {
            Json::String(text) => text
                .bytes()
                .map(|digit| match digit {
                    b'0' => Ok(false),
                    b'1' => Ok(true),
                    _ => Err(Error::FailedCast(format!(
                        "expected {expected}, found a string with another character"
                    ))),
                })
                .collect(),
            Json::Array(bits) => bits.iter().map(bool::from_json).collect(),
            _ => Err(unexpected(expected, json)),
        }
    }
}
named!(BitVector as "BitVector");
carrier!(BitVector);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Carrier;

    fn bits(text: &str) -> BitVector {
        BitVector::from_json(&json!(text)).unwrap()
    }

    #[test]
    fn is_read_and_written_as_digits() {
        for length in [0, 1, 63, 64, 65, 130] {
            let text: String = (0..length).map(|i| if i % 3 == 0 { '1' } else { '0' }).collect();
            let vector = bits(&text);
            assert_eq!((vector.to_json(), vector.len()), (json!(text), length));
            assert_eq!(vector.count_ones(), length.div_ceil(3));
            assert_eq!(vector.is_empty(), length == 0);
            assert!(vector.iter().enumerate().all(|(i, bit)| bit == (i % 3 == 0)));
            assert_eq!((vector.iter().count(), vector.get(length)), (length, None));
        }
        assert_eq!(BitVector::from_json(&json!([true, false])).unwrap(), bits("10"));
        for wrong in [json!("10x"), json!(5), json!([1, 0]), json!(null)] {
            assert_eq!(BitVector::from_json(&wrong).unwrap_err().kind(), "FailedCast");
        }
    }
    #[test]
    fn what_is_beyond_the_length_never_counts() {
        let vector = BitVector::from_words(vec![u64::MAX, u64::MAX, 7], 70);
        assert_eq!(vector.words(), [u64::MAX, 0b11_1111]);
        assert_eq!([0, 1, 2].map(|word| vector.mask(word)), [u64::MAX, 0b11_1111, 0]);
        assert_eq!(vector, [true; 70].into_iter().collect());
        assert_eq!(BitVector::from_words(vec![], 3), BitVector::zeros(3));
        assert_eq!(BitVector::from_words(vec![1], 64).mask(0), u64::MAX);
        assert_ne!(BitVector::zeros(3), BitVector::zeros(4));
    }
    #[test]
    fn bytes_begin_with_their_lowest_bit() {
        let vector = BitVector::from_bytes(&[1, 128, 3]);
        assert_eq!(vector.to_json(), "100000000000000111000000");
        assert_eq!(vector.to_bytes(), [1, 128, 3]);
        assert_eq!(bits("0000000001").to_bytes(), [0, 2]);
        let many: Vec<u8> = (0..21).collect();
        assert_eq!(BitVector::from_bytes(&many).to_bytes(), many);
    }
    #[test]
    fn shows_no_bits_and_is_one_value() {
        assert_eq!(format!("{:?}", bits("101")), "BitVector(3 bits)");
        let mut buffer = BitVector::buffer();
        buffer.append_rows(bits("101").chunk());
        assert_eq!(buffer, bits("101"));
        buffer.reset();
        assert!(buffer.is_empty());
    }
}
