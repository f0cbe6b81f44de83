//! Atoms that can be keys of hash tables.

use opendp_core::HashableAtom;
use serde::{Serialize, de::DeserializeOwned};

/// An atom that can be a key of a table, and that can be written with a partial result.
///
/// If the values of a type fit 64 bits, the type can define a word for each value. Tables with keys
/// of this type are then fast. If many values of a type fit 128 bits, like short texts, the type
/// can define double words for these values. For any other type, an empty implementation is enough.
pub trait Key: HashableAtom + Serialize + DeserializeOwned {
    /// Whether [`word`](Key::word) maps different values to different words.
    const HAS_WORD: bool = false;
    /// Return the word that represents this value.
    fn word(&self) -> u64 {
        0
    }
    /// Return the value that a word represents, or `None` if the word represents no value.
    fn from_word(word: u64) -> Option<Self> {
        let _ = word;
        None
    }
    /// Return the double word that represents only this value, or `None` if the value has no double
    /// word. Types with words do not need this method.
    fn double_word(&self) -> Option<u128> {
        None
    }
    /// Return the value that a double word represents, or `None` if the double word represents no
    /// value.
    fn from_double_word(word: u128) -> Option<Self> {
        let _ = word;
        None
    }
}

macro_rules! words {
    ($($t:ident as $wide:ident;)*) => {$(
        impl Key for $t {
            const HAS_WORD: bool = true;
            #[inline]
            fn word(&self) -> u64 {
                // These casts keep the value. A negative value becomes its two's complement.
                *self as $wide as u64
            }
            #[inline]
            fn from_word(word: u64) -> Option<Self> {
                $t::try_from(word as $wide).ok()
            }
        }
    )*};
}
words! {
    i8 as i64; i16 as i64; i32 as i64; i64 as i64; isize as i64;
    u8 as u64; u16 as u64; u32 as u64; u64 as u64; usize as u64;
}
impl Key for bool {
    const HAS_WORD: bool = true;
    #[inline]
    fn word(&self) -> u64 {
        u64::from(*self)
    }
    fn from_word(word: u64) -> Option<Self> {
        Some(word != 0)
    }
}
macro_rules! double_words {
    ($($t:ident)*) => {$(
        impl Key for $t {
            #[inline]
            fn double_word(&self) -> Option<u128> {
                // This cast keeps the value. A negative value becomes its two's complement.
                Some(*self as u128)
            }
            #[inline]
            fn from_double_word(word: u128) -> Option<Self> {
                Some(word as $t)
            }
        }
    )*};
}
double_words!(i128 u128);
/// A text of at most 15 bytes has a double word. The double word contains the bytes of the text,
/// then zeros. The last byte is the length of the text.
impl Key for String {
    #[inline]
    fn double_word(&self) -> Option<u128> {
        let (low, high) = halves(self.as_bytes())?;
        Some(u128::from(high) << 64 | u128::from(low))
    }
    fn from_double_word(word: u128) -> Option<Self> {
        let bytes = word.to_le_bytes();
        let (length, bytes) = bytes.split_last()?;
        String::from_utf8(bytes.get(..usize::from(*length))?.to_vec()).ok()
    }
}
/// Pack at most 15 bytes and their number into two words.
#[inline]
fn halves(bytes: &[u8]) -> Option<(u64, u64)> {
    let length = bytes.len();
    if 16 <= length {
        return None;
    }
    let number = (length as u64) << 56;
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        // Take the last eight bytes, and drop the bytes that are already in the first eight.
        let last = u64::from_le_bytes(*last) >> (8 * (15 - length)) >> 8;
        return Some((u64::from_le_bytes(*first), last | number));
    }
    let low = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        // The two parts can overlap. A byte in both parts has the same position in both, so `|`
        // keeps it.
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        u64::from(first) | u64::from(last) << (8 * (length - 4))
    } else {
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    Some((low, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: Key>(values: &[T]) {
        for (i, x) in values.iter().enumerate() {
            assert_eq!(T::from_word(x.word()).as_ref(), Some(x));
            assert!(values[..i].iter().all(|y| x.word() != y.word()));
        }
    }

    #[track_caller]
    fn check_double<T: Key>(values: &[T]) {
        for (i, x) in values.iter().enumerate() {
            let word = x.double_word().unwrap();
            assert_eq!(T::from_double_word(word).as_ref(), Some(x));
            assert!(values[..i].iter().all(|y| Some(word) != y.double_word()));
        }
    }
    #[test]
    fn a_short_text_has_a_double_word_of_its_own() {
        let mut texts = vec![String::new()];
        for length in 1..16 {
            texts.push("\0".repeat(length));
            texts.push("a".repeat(length));
            texts
                .push(("a".to_owned() + "bcdefghijklmnop".get(..length - 1).unwrap_or("")).clone());
            texts.push("zyxwvutsrqponml".get(..length).unwrap_or("").to_owned());
        }
        texts.sort();
        texts.dedup();
        check_double(&texts);
        check_double(&[i128::MIN, -1, 0, 1, i128::MAX]);
        check_double(&[0, 1, u128::MAX]);
        assert_eq!("a".repeat(16).double_word(), None);
        assert_eq!(String::from_double_word(16 << 120), None);
        assert_eq!(String::from_double_word(1 << 120 | 0xFF), None);
    }
    #[test]
    fn a_value_has_a_word_of_its_own() {
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[0, 1, u64::MAX]);
        check(&[false, true]);
        assert_eq!(u8::from_word(256), None);
        assert!(!String::HAS_WORD && String::from_word(1).is_none());
    }
}
