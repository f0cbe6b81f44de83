//! Products of the transforms of many losses, at equally spaced frequencies.

use opendp_fourier::Complex;

use super::convolution::raise;
use super::elementary::{U, ln};
use super::gather::Gather;
use super::transform::Tilted;

/// The logarithm of a modulus that is negligible.
const NOTHING: f64 = -100.0;

/// The product of powers of waves, at each frequency.
///
/// The error of a product of powers is at most `prod m^k sum k e / m`, where `m` bounds a modulus
/// and `e` its error (mean value theorem). If the bound is negligible, the product is not computed
/// further, as the moduli of all others are at most 1.
pub(super) struct Product {
    spacing: f64,
    /// The factors at the frequencies `spacing`, `2 spacing`, and so on.
    factors: Vec<Factor>,
    /// All later products are negligible.
    active: usize,
    /// The number of waves that were computed one by one, and by transforms.
    #[cfg(test)]
    pub(super) work: (usize, usize),
}

/// The product at one frequency.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    pub(super) value: Complex,
    /// The logarithm of a bound on the modulus.
    pub(super) log: f64,
    /// The sum of all `k e / m`.
    pub(super) errors: f64,
}
impl Factor {
    pub(super) fn is_negligible(&self) -> bool {
        self.log < NOTHING
    }
    fn multiply(&mut self, wave: Complex, error: f64, count: u64) {
        let power = count as f64;
        let modulus = wave.norm_sqr().sqrt() * (1.0 + 16.0 * U) + error + 1e-300;
        self.value *= raise(wave, count);
        // The modulus of a wave is at most 1.
        self.log += power * ln(modulus).min(0.0);
        self.errors += power * (error / modulus + 8.0 * U);
    }
}

impl Product {
    pub(super) fn new(spacing: f64, count: usize) -> Product {
        let one = Factor { value: Complex::new(1.0, 0.0), log: 0.0, errors: 0.0 };
        Product {
            spacing,
            factors: vec![one; count],
            active: count,
            #[cfg(test)]
            work: (0, 0),
        }
    }
    /// Multiply by the power of each loss: one by one, or, if they are many, by their atoms.
    pub(super) fn of(
        spacing: f64,
        count: usize,
        parts: &[(Box<dyn Tilted>, u64)],
        many: bool,
    ) -> Product {
        let mut product = Product::new(spacing, count);
        let mut gather = None;
        for (part, count) in parts {
            match part.listed().filter(|_| many) {
                None => product.one_by_one(&**part, *count),
                Some(listed) => {
                    let fits = |all: &Gather| {
                        product.active <= all.most() && all.most() < 2 * product.active.max(8)
                    };
                    let mut all = gather
                        .take()
                        .filter(fits)
                        .unwrap_or_else(|| Gather::new(spacing, product.active));
                    match all.waves(&listed) {
                        Some(waves) => product.gathered(waves, *count),
                        None => product.one_by_one(&**part, *count),
                    }
                    gather = Some(all);
                }
            }
            product.shorten();
        }
        product
    }
    fn one_by_one(&mut self, part: &dyn Tilted, count: u64) {
        for (n, factor) in self.factors.iter_mut().enumerate().take(self.active) {
            if !factor.is_negligible() {
                let wave = part.wave((n + 1) as f64 * self.spacing);
                factor.multiply(Complex::new(wave.re, wave.im), wave.error, count);
                #[cfg(test)]
                {
                    self.work.0 += 1;
                }
            }
        }
    }
    fn gathered(&mut self, waves: impl Iterator<Item = (Complex, f64)>, count: u64) {
        let factors = self.factors.iter_mut().take(self.active);
        for (factor, (wave, error)) in factors.zip(waves.skip(1)) {
            if !factor.is_negligible() {
                factor.multiply(wave, error, count);
                #[cfg(test)]
                {
                    self.work.1 += 1;
                }
            }
        }
    }
    fn shorten(&mut self) {
        let mut known = self.factors.iter().take(self.active);
        self.active = known.rposition(|factor| !factor.is_negligible()).map_or(0, |last| last + 1);
    }
    pub(super) fn factors(&self) -> &[Factor] {
        &self.factors
    }
}
