//! Atoms as keys of the tables that aggregations keep.

use opendp_core::HashableAtom;
use serde::{Serialize, de::DeserializeOwned};

/// An atom that can be told apart in a table, and written with a partial result.
///
/// A type whose values fit 64 bits may say so with its word, which makes tables of it fast. For
/// any other type an empty implementation will do.
pub trait Key: HashableAtom + Serialize + DeserializeOwned {
    /// Whether [`word`](Key::word) gives different values different words.
    const HAS_WORD: bool = false;
    /// The word that stands for this value.
    fn word(&self) -> u64 {
        0
    }
    /// The value that a word stands for.
    fn from_word(word: u64) -> Option<Self> {
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
                // These casts keep the value, but for its sign in two's complement.
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
impl Key for i128 {}
impl Key for u128 {}
impl Key for String {}

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
