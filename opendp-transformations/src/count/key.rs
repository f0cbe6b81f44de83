//! Atoms that can be keys of hash tables.

use std::hash::Hash;

use opendp_core::HashableAtom;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// An atom that can be a key of a table, and that can be serialized as a part of a partial result.
///
/// A table stores a key in one of three [forms](Form): a word of 64 bits, a double word of 128
/// bits, or a long key. The code of tables is compiled only once for all types of keys with the
/// same type `Long`. If some values of a type have neither a word nor a double word, the type
/// states `type Long = Self`. For such a value, `form` returns `Form::Long(self)`, and `from_form`
/// returns the key that this form contains.
#[diagnostic::on_unimplemented(
    message = "a value of type `{Self}` cannot be a key, a category or a bin",
    note = "use integers, texts or booleans; for floats, count the rows between edges, such as with `histogram_between`"
)]
pub trait Key: HashableAtom + Serialize + DeserializeOwned {
    /// The type of keys without a word and without a double word. This type is [`NoLongKey`] if
    /// each value has a word or a double word.
    type Long: LongKey;
    /// Whether each value has a word.
    const HAS_WORD: bool = false;
    /// Return the form of this value. Different values have different forms.
    fn form(&self) -> Form<&Self::Long>;
    /// Return the value of a form, or `None` if no value has this form.
    fn from_form(form: Form<Self::Long>) -> Option<Self>;
    /// Return the word of this value, or zero if the value has no word.
    #[inline]
    fn word(&self) -> u64 {
        if let Form::Word(word) = self.form() { word } else { 0 }
    }
}
/// The form in which a table stores a key. A table is fastest if its keys have words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form<L> {
    /// A number of 64 bits.
    Word(u64),
    /// A number of 128 bits.
    Double(u128),
    /// Any other value.
    Long(L),
}
/// A type for keys that have neither a word nor a double word.
pub trait LongKey:
    Eq + Hash + Clone + Serialize + DeserializeOwned + Send + Sync + 'static
{
}
impl<L: Eq + Hash + Clone + Serialize + DeserializeOwned + Send + Sync + 'static> LongKey for L {}
/// The type `Long` for types without long keys. `NoLongKey` has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NoLongKey {}

macro_rules! words {
    ($($t:ident as $wide:ident;)*) => {$(
        impl Key for $t {
            type Long = NoLongKey;
            const HAS_WORD: bool = true;
            #[inline]
            fn form(&self) -> Form<&NoLongKey> {
                // These casts lose no information. A negative value becomes its two's complement.
                Form::Word(*self as $wide as u64)
            }
            #[inline]
            fn from_form(form: Form<NoLongKey>) -> Option<Self> {
                if let Form::Word(word) = form { $t::try_from(word as $wide).ok() } else { None }
            }
        }
    )*};
}
words! {
    i8 as i64; i16 as i64; i32 as i64; i64 as i64; isize as i64;
    u8 as u64; u16 as u64; u32 as u64; u64 as u64; usize as u64;
}
impl Key for bool {
    type Long = NoLongKey;
    const HAS_WORD: bool = true;
    #[inline]
    fn form(&self) -> Form<&NoLongKey> {
        Form::Word(u64::from(*self))
    }
    fn from_form(form: Form<NoLongKey>) -> Option<Self> {
        match form {
            Form::Word(0) => Some(false),
            Form::Word(1) => Some(true),
            _ => None,
        }
    }
}
macro_rules! double_words {
    ($($t:ident)*) => {$(
        impl Key for $t {
            type Long = NoLongKey;
            #[inline]
            fn form(&self) -> Form<&NoLongKey> {
                // This cast loses no information. A negative value becomes its two's complement.
                Form::Double(*self as u128)
            }
            #[inline]
            fn from_form(form: Form<NoLongKey>) -> Option<Self> {
                if let Form::Double(word) = form { Some(word as $t) } else { None }
            }
        }
    )*};
}
double_words!(i128 u128);
/// A text of at most 15 bytes has a double word. The double word contains the bytes of the text,
/// then zeros. The last byte of the double word is the length of the text.
impl Key for String {
    type Long = String;
    #[inline]
    fn form(&self) -> Form<&String> {
        match halves(self.as_bytes()) {
            Some((low, high)) => Form::Double(u128::from(high) << 64 | u128::from(low)),
            None => Form::Long(self),
        }
    }
    fn from_form(form: Form<String>) -> Option<Self> {
        match form {
            Form::Word(_) => None,
            Form::Double(word) => {
                let bytes = word.to_le_bytes();
                let (length, bytes) = bytes.split_last()?;
                String::from_utf8(bytes.get(..usize::from(*length))?.to_vec()).ok()
            }
            Form::Long(text) => Some(text),
        }
    }
}
/// Pack at most 15 bytes, and the count of these bytes, into two words. Return `None` if there are
/// more than 15 bytes.
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
        // The first four bytes and the last four bytes can overlap. After the shift, a byte in both
        // parts has the same position in both parts. So `|` does not change this byte.
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
    fn check<T: Key>(values: &[T])
    where
        T::Long: std::fmt::Debug,
    {
        for (i, x) in values.iter().enumerate() {
            let form = match x.form() {
                Form::Word(word) => Form::Word(word),
                Form::Double(word) => Form::Double(word),
                Form::Long(key) => Form::Long(key.clone()),
            };
            assert!(!T::HAS_WORD || matches!(form, Form::Word(word) if word == x.word()));
            assert_eq!(T::from_form(form).as_ref(), Some(x));
            assert!(values[..i].iter().all(|y| x.form() != y.form()));
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
        check(&texts);
        assert!(texts.iter().all(|text| matches!(text.form(), Form::Double(_))));
        check(&[i128::MIN, -1, 0, 1, i128::MAX]);
        check(&[0, 1, u128::MAX]);
        assert_eq!("a".repeat(16).form(), Form::Long(&"a".repeat(16)));
        assert_eq!(String::from_form(Form::Double(16 << 120)), None);
        assert_eq!(String::from_form(Form::Double(1 << 120 | 0xFF)), None);
    }
    #[test]
    fn a_value_has_a_word_of_its_own() {
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[0, 1, u64::MAX]);
        check(&[false, true]);
        assert_eq!(u8::from_form(Form::Word(256)), None);
        assert_eq!(i8::from_form(Form::Word(128)), None);
        assert_eq!(bool::from_form(Form::Word(2)), None);
        assert!(!String::HAS_WORD && String::from_form(Form::Word(1)).is_none());
    }
}
