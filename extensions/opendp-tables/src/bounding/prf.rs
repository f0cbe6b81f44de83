//! A keyed hash that looks random: SipHash-2-4 (Aumasson and Bernstein, 2012).

/// A secret key.
#[derive(Clone, Copy)]
pub(crate) struct Key([u64; 2]);
impl Key {
    /// Make a key of the text of a seed: up to 32 hexadecimal digits.
    pub(crate) fn of_seed(seed: &str) -> Option<Key> {
        let whole = u128::from_str_radix(seed, 16).ok()?;
        // The casts keep each half.
        Some(Key([(whole >> 64) as u64, whole as u64]))
    }
    /// Hash two words.
    pub(crate) fn words(self, first: u64, second: u64) -> u64 {
        let mut state = State::new(self);
        state.absorb(first);
        state.absorb(second);
        state.finish(16)
    }
    /// Hash bytes.
    pub(crate) fn bytes(self, bytes: &[u8]) -> u64 {
        let mut state = State::new(self);
        let (whole, rest) = bytes.as_chunks::<8>();
        for word in whole {
            state.absorb(u64::from_le_bytes(*word));
        }
        let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        // The last word holds the length, modulo 256.
        state.absorb((bytes.len() as u64) << 56 | last);
        state.end()
    }
}
/// Keys for hashes that have nothing to do with each other.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) ids: Key,
    pub(crate) rows: Key,
    pub(crate) groups: Key,
}
impl Keys {
    pub(crate) fn of_seed(seed: &str) -> Option<Keys> {
        let seed = Key::of_seed(seed)?;
        let key = |which| Key([seed.words(which, 0), seed.words(which, 1)]);
        Some(Keys { ids: key(1), rows: key(2), groups: key(3) })
    }
}
struct State([u64; 4]);
impl State {
    fn new(Key([k0, k1]): Key) -> Self {
        State([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }
    fn round(&mut self) {
        let [v0, v1, v2, v3] = &mut self.0;
        *v0 = v0.wrapping_add(*v1);
        *v2 = v2.wrapping_add(*v3);
        *v1 = v1.rotate_left(13) ^ *v0;
        *v3 = v3.rotate_left(16) ^ *v2;
        *v0 = v0.rotate_left(32);
        *v2 = v2.wrapping_add(*v1);
        *v0 = v0.wrapping_add(*v3);
        *v1 = v1.rotate_left(17) ^ *v2;
        *v3 = v3.rotate_left(21) ^ *v0;
        *v2 = v2.rotate_left(32);
    }
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }
    fn finish(mut self, length: u64) -> u64 {
        self.absorb(length << 56);
        self.end()
    }
    fn end(mut self) -> u64 {
        self.0[2] ^= 0xff;
        (0..4).for_each(|_| self.round());
        self.0.into_iter().fold(0, |all, word| all ^ word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that the authors publish: the key counts up from 0, and so does the message.
    #[test]
    fn the_hash_has_the_published_values() {
        let key = Key([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        let message: Vec<u8> = (0..16).collect();
        assert_eq!(key.bytes(&message[..15]), 0xa129_ca61_49be_45e5);
        assert_eq!(key.bytes(&[]), 0x726f_db47_dd0e_0e31);
        let words = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(key.words(words[0], words[1]), key.bytes(&message));
    }
    #[test]
    fn a_seed_is_a_key() {
        assert_eq!(Key::of_seed("0123456789abcdef").unwrap().0, [0, 0x0123_4567_89ab_cdef]);
        assert!(Key::of_seed("x").is_none());
    }
}
