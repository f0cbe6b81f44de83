//! Fourier transforms of real numbers.
//!
//! The transforms of the crate `rustfft` are generic and have half a million instructions. Without
//! `opendp-fourier`, every crate that uses the transforms would compile these instructions again.
//! `opendp-fourier` compiles the instructions once, for `f64`, and rarely changes.
//!
//! ```
//! use opendp_fourier::Transform;
//!
//! // The spectrum of a cyclic convolution is a product of spectra.
//! let four = Transform::of_length(4);
//! let (mut x, mut spectrum) = (vec![0.0, 0.5, 0.0, 0.5], four.spectrum());
//! four.forward(&mut x, &mut spectrum)?;
//! for z in &mut spectrum {
//!     *z = *z * *z / 4.0;
//! }
//! four.backward(&mut spectrum, &mut x)?;
//! assert_eq!(x, [0.5, 0.0, 0.5, 0.0]);
//! # Ok::<(), opendp_fourier::Failed>(())
//! ```
#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may fail"))]

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

/// A complex number of two `f64`.
pub type Complex = realfft::num_complex::Complex<f64>;

/// The transform of one length `n`, and its inverse up to a factor `n`.
///
/// The spectrum of `x_0, .., x_(n-1)` is `z_k = sum_j x_j e^(-2 pi i j k / n)`. A spectrum is
/// stored as the list of `z_k` for `k` from 0 to `n / 2`, rounded down. The other `z_k` are not
/// stored, because `z_(n-k)` is the conjugate of `z_k`.
#[derive(Clone)]
pub struct Transform {
    forward: Arc<dyn RealToComplex<f64>>,
    backward: Arc<dyn ComplexToReal<f64>>,
}

/// The error for lists of wrong lengths, and for a spectrum that no list of real numbers has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

impl Transform {
    /// Plan the transform of a length. Tables of roots of unity are kept for later plans.
    pub fn of_length(n: usize) -> Self {
        static PLANNER: OnceLock<Mutex<RealFftPlanner<f64>>> = OnceLock::new();
        let planner = PLANNER.get_or_init(|| Mutex::new(RealFftPlanner::new()));
        let mut planner = planner.lock().unwrap_or_else(PoisonError::into_inner);
        Transform { forward: planner.plan_fft_forward(n), backward: planner.plan_fft_inverse(n) }
    }
    /// Return a list of zeros with the length of a stored spectrum. For a transform of length `n`,
    /// this length is `n / 2 + 1`, where `n / 2` is rounded down.
    pub fn spectrum(&self) -> Vec<Complex> {
        self.forward.make_output_vec()
    }
    /// Write the spectrum of `values` to `spectrum`. The function also overwrites `values`.
    ///
    /// # Errors
    /// [`Failed`] when a list has the wrong length.
    pub fn forward(&self, values: &mut [f64], spectrum: &mut [Complex]) -> Result<(), Failed> {
        self.forward.process(values, spectrum).map_err(|_| Failed)
    }
    /// Let `n` be the length of the transform. Compute the `n` real numbers that have the given
    /// spectrum. Write each number, multiplied by `n`, to `values`. The function also overwrites
    /// `spectrum`.
    ///
    /// # Errors
    /// [`Failed`] when a list has the wrong length, or when the first number of the spectrum is not
    /// real. If `n` is even, the last number of the spectrum must also be real.
    pub fn backward(&self, spectrum: &mut [Complex], values: &mut [f64]) -> Result<(), Failed> {
        self.backward.process(spectrum, values).map_err(|_| Failed)
    }
}
impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transform({})", self.forward.len())
    }
}
impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list has the wrong length, or no real numbers have this spectrum")
    }
}
impl std::error::Error for Failed {}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: Complex, right: Complex) -> bool {
        (left - right).norm_sqr() < 1e-24
    }

    #[test]
    fn is_the_sum_that_defines_it() {
        for n in [1, 2, 3, 8, 10, 64] {
            let values: Vec<f64> = (0..n).map(|j| f64::from((j * j + 3 * j) % 7) - 2.5).collect();
            let transform = Transform::of_length(values.len());
            let mut spectrum = transform.spectrum();
            assert_eq!(spectrum.len(), values.len() / 2 + 1);
            transform.forward(&mut values.clone(), &mut spectrum).unwrap();
            for (k, z) in (0..).zip(&spectrum) {
                let turn = -2.0 * std::f64::consts::PI / f64::from(n);
                let terms = (0..n)
                    .zip(&values)
                    .map(|(j, x)| Complex::from_polar(1.0, turn * f64::from(j * k % n)) * x);
                assert!(near(terms.sum(), *z), "{n} {k}");
            }
        }
    }
    #[test]
    fn comes_back_as_many_times_as_it_is_long() {
        let values: Vec<f64> = (0..32).map(|j| f64::from(j % 5)).collect();
        let transform = Transform::of_length(32);
        let (mut spectrum, mut back) = (transform.spectrum(), vec![0.0; 32]);
        transform.forward(&mut values.clone(), &mut spectrum).unwrap();
        transform.backward(&mut spectrum, &mut back).unwrap();
        assert!(values.iter().zip(&back).all(|(x, y)| (32.0 * x - y).abs() < 1e-12));
    }
    #[test]
    fn refuses_lists_of_other_lengths_and_spectra_of_no_real_numbers() {
        let transform = Transform::of_length(8);
        let (mut spectrum, mut values) = (transform.spectrum(), vec![0.0; 8]);
        assert_eq!(transform.forward(&mut values[..7], &mut spectrum), Err(Failed));
        assert_eq!(transform.forward(&mut values, &mut spectrum[1..]), Err(Failed));
        assert_eq!(transform.backward(&mut spectrum, &mut values), Ok(()));
        spectrum[0].im = 1.0;
        assert_eq!(transform.backward(&mut spectrum, &mut values), Err(Failed));
    }
}
