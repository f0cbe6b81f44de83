//! Checks of samplers whose random words end too early, and of noise at extreme arguments.

use std::fmt::Debug;

use crate::samplers::round_to_lattice;
use opendp_core::random::{NoEntropy, RandomSource, Seeded, Tape};

/// Check that `draw` returns [`NoEntropy`] if the source ends before the last word of the draw.
/// Return the number of words of the draw.
#[track_caller]
pub(crate) fn check_ends<const B: u32, T: PartialEq + Debug>(
    seed: u64,
    draw: impl Fn(&mut Tape<B>) -> Result<T, NoEntropy>,
) -> usize {
    let mut stream = Seeded::<B>::new(seed);
    let words: Vec<u64> = (0..1 << 14).map(|_| stream.word().unwrap()).collect();
    let mut whole = Tape::new(words.clone());
    let drawn = draw(&mut whole);
    assert!(drawn.is_ok());
    for length in 0..whole.used() {
        assert_eq!(draw(&mut Tape::new(words[..length].to_vec())), Err(NoEntropy));
    }
    assert_eq!(draw(&mut Tape::new(words[..whole.used()].to_vec())), drawn);
    whole.used()
}

/// Check that the sums of floats and noise are finite and on the lattice. `noise` takes the float,
/// the scale of the noise, and the exponent of the lattice.
#[track_caller]
pub(crate) fn check_extremes(
    noise: impl Fn(f64, f64, i32, &mut Seeded<64>) -> Result<f64, NoEntropy>,
) {
    let mut source = Seeded::<64>::new(6);
    for x in [0.0, 5e-324, -1e-300, 1.0, 1e300, -f64::MAX, f64::MAX] {
        for scale in [5e-324, 1e-300, 1.0, 1e300, f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
            for k in [i32::MIN, -1074, -500, 0, 500, 1023, i32::MAX] {
                let y = noise(x, scale, k, &mut source).unwrap();
                assert!(y.is_finite());
                assert_eq!(round_to_lattice(y, k).to_bits(), y.to_bits(), "{x} {scale} {k}");
            }
        }
    }
}
