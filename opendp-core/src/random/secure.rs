//! The secure source. Each thread has a ChaCha20 generator, which the operating system seeds.

use super::{NoEntropy, RandomSource};
use chacha20::ChaCha20Rng;
use rand::{Rng, SeedableRng, TryRng, rngs::SysRng};
use std::{cell::Cell, fmt, process};
use zeroize::{Zeroize, Zeroizing};

/// A generator of cryptographically secure words, and the only source for releases.
///
/// The words are the output of ChaCha20 (Bernstein 2008, "ChaCha, a variant of Salsa20"; RFC 8439).
/// The keys are replaced as in a fast-key-erasure generator (Bernstein 2017, "Fast-key-erasure
/// random-number generators"). In detail:
///
/// * each refill makes 4 more words than the buffer holds. The first 4 words become the next key.
///   The next key overwrites the old key, and every word is zeroed when it is drawn. So an attacker
///   who reads the fields of the source later does not learn the earlier words;
/// * after 1 MiB of output, the next key is XORed with 32 fresh bytes of the operating system. The
///   new key is unpredictable if *either* of the two XORed values is unpredictable. So the stream
///   also recovers from a past leak of a key;
/// * the fields with secrets are zeroed on drop, and `Debug` shows no secret;
/// * copies outside of the fields are not zeroed. For example, a refill or a move of the source can
///   leave copies of words and keys on the stack and in the registers. An attacker who reads the
///   whole memory can find such copies;
/// * the words are only computationally uniform: to distinguish the words from ideal words, an
///   adversary must break ChaCha20. All other steps that draw noise are exact.
///
/// A word costs about 6 ns. For each 2^17 words, the source makes one system call for random bytes.
/// For each 512 words, the source makes one system call for the process number.
///
/// [`with_secure`] checks for a fork before it uses the source of its thread. There is no such
/// check for a source that a program makes with [`new`](SecureSource::new) and keeps. After a fork,
/// parent and child each have a copy of such a source. Both copies give the same words, at least
/// until the next refill. So draw noise only inside of [`with_secure`], or make a new source in the
/// child.
pub struct SecureSource {
    words: [[u8; 8]; BUFFER],
    next: usize,
    key: Zeroizing<[u8; 32]>,
    left: usize,
    fork: forkguard::Guard,
    process: u32,
    seed: Seeder,
}

/// Run a closure with the secure source of this thread.
///
/// The source is taken out of its thread-local slot while `f` runs. So a nested call finds the slot
/// empty and seeds its own source. A panic inside `f` drops and zeroes the source.
///
/// A `pthread_atfork` handler increments a counter in each forked child. Each call of this function
/// checks once whether the counter has changed. If the counter has changed, the child gets a new
/// seed and does not continue the stream of its parent. If a program forks by a direct system call,
/// the handler does not run. Such a fork is detected by a comparison of process numbers. This
/// comparison needs a system call, which costs more than the rest of a release. So the comparison
/// is made only when the buffer is refilled, after every 512 words. Until the next refill, the
/// child of such a fork draws the same words as its parent. If the child of such a fork has the
/// same process number as its parent, the comparison does not detect the fork. For example, a
/// process with the number 1 can have a child with the number 1 in a new namespace of process
/// numbers. A closure must not fork and then draw in both processes. If a virtual machine is
/// resumed twice from one snapshot, both copies draw the same words until each of them gets a new
/// seed.
///
/// # Errors
///
/// [`NoEntropy`] if the operating system gives no seed, or if the handler that detects forks cannot
/// be registered. This error is converted to `E`. Otherwise the error of `f`.
pub fn with_secure<R, E: From<NoEntropy>>(
    f: impl FnOnce(&mut SecureSource) -> Result<R, E>,
) -> Result<R, E> {
    match taken() {
        Ok(mut source) => {
            let result = f(&mut source);
            put_back(source);
            result
        }
        Err(error) => Err(error.into()),
    }
}
/// Run a closure with the secure source of this thread, as [`with_secure`] does. The code around
/// the closure is compiled only once, and not for each closure.
///
/// # Errors
///
/// The errors of [`with_secure`].
pub fn securely(
    f: &mut dyn FnMut(&mut SecureSource) -> Result<(), NoEntropy>,
) -> Result<(), NoEntropy> {
    with_secure(f)
}
/// Run two closures, one after the other, on the same random words. The words come from a new
/// secret key. Only tests use this function, because two releases with the same noise reveal the
/// difference between the two data sets.
///
/// Both closures get the same words under two conditions: each closure draws less than 1 MiB, and
/// draws only in this thread.
pub(crate) fn on_one_tape<A, B>(
    first: impl FnOnce() -> A,
    second: impl FnOnce() -> B,
) -> Result<(A, B), NoEntropy> {
    let mut key = Zeroizing::new([0; 32]);
    system_seed(&mut key)?;
    // If a closure panics, this thread must not keep the source, because words of this source were
    // used.
    let _forgotten = Forgotten;
    put_back(Box::new(SecureSource::keyed(&key)?));
    let first = first();
    put_back(Box::new(SecureSource::keyed(&key)?));
    let second = second();
    Ok((first, second))
}
/// Removes the source of this thread when it is dropped.
struct Forgotten;
impl Drop for Forgotten {
    fn drop(&mut self) {
        SLOT.set(None);
    }
}
// This function is inlined. A release of one number takes very little time, so the cost of a
// function call would be noticeable.
#[inline]
fn taken() -> Result<Box<SecureSource>, NoEntropy> {
    let kept = SLOT.try_with(Cell::take).ok().flatten();
    let ours = kept.and_then(|mut kept| (!kept.fork.detected_fork()).then_some(kept));
    match ours {
        Some(source) => Ok(source),
        None => Ok(Box::new(SecureSource::new()?)),
    }
}
#[inline]
fn put_back(source: Box<SecureSource>) {
    // A thread that is ending has no slot for the source. In this case, the source is dropped and
    // zeroed.
    let _ = SLOT.try_with(move |slot| slot.set(Some(source)));
}

impl SecureSource {
    /// Seed a new source from the operating system. Do not use the source after a fork: see
    /// [`SecureSource`].
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the operating system gives no random bytes, or if the handler that detects
    /// forks cannot be registered.
    pub fn new() -> Result<Self, NoEntropy> {
        Self::seeded_by(system_seed)
    }

    fn seeded_by(seed: Seeder) -> Result<Self, NoEntropy> {
        let mut source = Self {
            words: [[0; 8]; BUFFER],
            next: BUFFER,
            key: Zeroizing::new([0; 32]),
            left: 0,
            // Without a guard, a fork would be detected only at the next refill.
            fork: forkguard::Guard::try_new().map_err(|_| NoEntropy)?,
            process: process::id(),
            seed,
        };
        source.reseed()?;
        Ok(source)
    }

    /// Start the stream of a key.
    fn keyed(key: &[u8; 32]) -> Result<Self, NoEntropy> {
        let mut source = Self::new()?;
        *source.key = *key;
        Ok(source)
    }

    /// Get 32 bytes from the function `self.seed`, and XOR them into the key.
    fn reseed(&mut self) -> Result<(), NoEntropy> {
        let mut fresh = Zeroizing::new([0; 32]);
        (self.seed)(&mut fresh)?;
        for (old, new) in self.key.iter_mut().zip(fresh.iter()) {
            *old ^= new;
        }
        self.left = REFILLS_PER_SEED;
        Ok(())
    }

    /// Generate words from the current key. The first 4 words replace this key. The other words
    /// fill the buffer.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> Result<(), NoEntropy> {
        let process = process::id();
        if self.left == 0 || self.process != process {
            self.reseed()?;
            self.process = process;
        }
        let mut stream = ChaCha20Rng::from_seed(*self.key);
        stream.fill_bytes(&mut *self.key);
        stream.fill_bytes(self.words.as_flattened_mut());
        self.left -= 1;
        self.next = 0;
        Ok(())
    }
}

impl RandomSource for SecureSource {
    #[inline]
    fn word(&mut self) -> Result<u64, NoEntropy> {
        if self.next >= BUFFER {
            self.refill()?;
        }
        let slot = &mut self.words[self.next];
        self.next += 1;
        Ok(u64::from_le_bytes(std::mem::take(slot)))
    }
}

impl Drop for SecureSource {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}

impl fmt::Debug for SecureSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecureSource").finish_non_exhaustive()
    }
}

type Seeder = fn(&mut [u8; 32]) -> Result<(), NoEntropy>;

/// The number of words that the buffer holds. Each key fills the buffer once. The words need 4 KiB.
const BUFFER: usize = 512;

/// The number of keys that are used between two seeds from the operating system. These keys give
/// 256 * 4 KiB = 1 MiB of words.
const REFILLS_PER_SEED: usize = 256;

thread_local! {
    static SLOT: Cell<Option<Box<SecureSource>>> = const { Cell::new(None) };
}

fn system_seed(seed: &mut [u8; 32]) -> Result<(), NoEntropy> {
    SysRng.try_fill_bytes(seed).map_err(|_| NoEntropy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{collections::HashSet, thread};

    thread_local! {
        static SEEDS_LEFT: Cell<usize> = const { Cell::new(0) };
    }

    /// Fill the seed with a constant. When SEEDS_LEFT is 0, return an error. Each seed decreases
    /// SEEDS_LEFT by 1.
    fn rationed(seed: &mut [u8; 32]) -> Result<(), NoEntropy> {
        let left = SEEDS_LEFT.get().checked_sub(1).ok_or(NoEntropy)?;
        SEEDS_LEFT.set(left);
        seed.fill(7);
        Ok(())
    }

    #[test]
    fn two_closures_on_one_tape_draw_the_same_words_and_later_ones_do_not() {
        let draw = || with_secure(|source| Ok::<_, NoEntropy>([source.word()?, source.word()?]));
        let (first, second) = on_one_tape(draw, draw).unwrap();
        assert_eq!(first, second);
        let later = draw().unwrap();
        assert!(Ok(later) != first);
        let (again, _) = on_one_tape(draw, draw).unwrap();
        assert!(again != first && again != Ok(later));
        // After a panic in the second closure, this thread has no source either.
        let ended = std::panic::catch_unwind(|| on_one_tape(draw, || panic!("as intended")));
        assert!(ended.is_err() && SLOT.take().is_none());
    }

    #[test]
    fn without_entropy_no_source_is_made() {
        assert!(SecureSource::seeded_by(rationed).is_err());
    }

    #[test]
    fn a_failed_reseed_stops_the_source_until_entropy_returns() {
        SEEDS_LEFT.set(1);
        let mut source = SecureSource::seeded_by(rationed).unwrap();
        for _ in 0..BUFFER * REFILLS_PER_SEED {
            source.word().unwrap();
        }
        assert_eq!(source.word(), Err(NoEntropy));
        assert_eq!(source.word(), Err(NoEntropy));
        SEEDS_LEFT.set(1);
        assert!(source.word().is_ok());
        assert_eq!(SEEDS_LEFT.get(), 0);
    }

    #[test]
    fn a_refill_replaces_the_key_and_a_drawn_word_is_erased() {
        SEEDS_LEFT.set(1);
        let mut source = SecureSource::seeded_by(rationed).unwrap();
        let seed = *source.key;
        assert_eq!(seed, [7; 32]);
        let first = source.word().unwrap();
        assert_ne!(*source.key, seed);
        assert!(!source.words.contains(&first.to_le_bytes()));
        assert_eq!(source.words[0], [0; 8]);
    }

    #[test]
    fn a_reseed_keeps_the_old_entropy_too() {
        SEEDS_LEFT.set(2);
        let mut source = SecureSource::seeded_by(rationed).unwrap();
        source.key.fill(1);
        source.reseed().unwrap();
        assert_eq!(*source.key, [1 ^ 7; 32]);
    }

    #[test]
    fn words_differ_across_refills_and_reseeds() {
        let mut source = SecureSource::new().unwrap();
        let count = 2 * BUFFER * REFILLS_PER_SEED;
        let words: HashSet<u64> = (0..count).map(|_| source.word().unwrap()).collect();
        // A repeated buffer would repeat many words. By chance, two or more words are repeated with
        // a probability below 2^-58.
        assert!(count <= words.len() + 1, "{} of {count}", words.len());
    }

    #[test]
    fn every_bit_of_a_word_is_balanced() {
        let mut ones = [0_i64; 64];
        let draws = 1 << 16;
        let mut source = SecureSource::new().unwrap();
        for _ in 0..draws {
            let word = source.word().unwrap();
            for (bit, count) in ones.iter_mut().enumerate() {
                *count += (word >> bit & 1) as i64;
            }
        }
        // The standard deviation of each count is sqrt(2^16) / 2 = 128. The probability that one of
        // the 64 counts deviates by 8 or more standard deviations is below 10^-12.
        assert!(ones.iter().all(|count| (count - draws / 2).abs() < 8 * 128), "{ones:?}");
    }

    #[test]
    fn a_nested_call_has_a_source_of_its_own() {
        let word = with_secure(|outer| {
            let before = outer.word()?;
            let inner = with_secure(|inner| {
                assert!(!std::ptr::eq(outer, inner));
                inner.word()
            })?;
            Ok::<_, NoEntropy>((before, inner, outer.word()?))
        });
        let (before, inner, after) = word.unwrap();
        assert!(before != inner && inner != after && before != after);
    }

    #[test]
    fn the_slot_keeps_the_source_between_calls_and_after_an_error() {
        let drawn = || with_secure(|source| Ok::<_, NoEntropy>(source.next)).unwrap();
        with_secure(|source| source.word()).unwrap();
        let before = drawn();
        with_secure(|source| source.word()).unwrap();
        let failed: Result<(), NoEntropy> = with_secure(|_| Err(NoEntropy));
        assert!(failed.is_err());
        assert_eq!(drawn(), before % BUFFER + 1);
    }

    #[test]
    fn a_copy_in_another_process_that_nothing_announced_is_reseeded_when_it_refills() {
        SEEDS_LEFT.set(1);
        let mut source = SecureSource::seeded_by(rationed).unwrap();
        source.word().unwrap();
        source.process = source.process.wrapping_add(1);
        for _ in 1..BUFFER {
            source.word().unwrap();
        }
        assert_eq!(source.word(), Err(NoEntropy), "there is no second seed");
        SEEDS_LEFT.set(1);
        assert!(source.word().is_ok());
        assert_eq!((SEEDS_LEFT.get(), source.process), (0, process::id()));
    }

    #[test]
    fn threads_draw_different_words() {
        let draw = || with_secure(|source| source.word()).unwrap();
        let threads: Vec<_> = (0..8).map(|_| thread::spawn(draw)).collect();
        let words: HashSet<u64> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(words.len(), 8);
    }

    #[test]
    fn debug_output_shows_no_secret() {
        assert_eq!(format!("{:?}", SecureSource::new().unwrap()), "SecureSource { .. }");
    }
}
