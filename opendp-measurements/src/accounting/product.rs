//! Products of the transforms of many losses, at equally spaced frequencies.

use opendp_fourier::Complex;

use super::convolution::raise;
use super::elementary::{U, exp, ln};
use super::gather::Gather;
use super::transform::Tilted;

/// The product of powers of waves (values of the Fourier transforms of losses), at each frequency.
///
/// For each wave, let `m` be a bound on the modulus, `e` a bound on the error, and `k` the power.
/// The error of the product of the powers is at most the product of all `m^k`, multiplied by the
/// sum of all `k e / m` (mean value theorem). If the bound on the modulus of the product is
/// negligible at a frequency, no further waves are multiplied at this frequency. The bound stays
/// valid, because the modulus of each wave is at most 1.
pub(super) struct Product {
    spacing: f64,
    /// A product is negligible if the bound on its modulus is below this value.
    negligible: f64,
    /// The way to compute the waves of losses whose atoms are known (see `Tilted::listed`).
    gather: Gathering,
    /// The products at the frequencies `spacing`, `2 spacing`, and so on.
    factors: Vec<Factor>,
    /// From this index of `factors` on, all products are negligible.
    active: usize,
    /// The number of waves computed one by one, and the number of waves computed by transforms.
    #[cfg(test)]
    pub(super) work: (usize, usize),
}

/// The way to compute the waves of losses whose atoms are known (see `Tilted::listed`).
enum Gathering {
    /// Compute the waves one by one.
    Off,
    /// Compute all waves of a loss by one Fourier transform. The value is the plan for the
    /// transform, or `None` if no plan was needed so far.
    On(Option<Gather>),
}

/// The product at one frequency.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    pub(super) value: Complex,
    /// A bound on the modulus of the exact product.
    pub(super) bound: f64,
    /// The sum of `k e / m` over all waves, plus rounding errors. See `Product` for the symbols.
    pub(super) errors: f64,
}
impl Factor {
    fn multiply(&mut self, wave: Complex, error: f64, count: u64) {
        let power = count as f64;
        let modulus = wave.norm_sqr().sqrt() * (1.0 + 16.0 * U) + error + 1e-300;
        self.value *= raise(wave, count);
        let bound = match count {
            1 => modulus,
            _ => exp((power * ln(modulus) * (1.0 - 1e-12)).max(-690.0)) * (1.0 + 16.0 * U),
        };
        // The exact modulus of a wave is at most 1, so the bound is limited to 1.
        self.bound *= bound.min(1.0) * (1.0 + 4.0 * U);
        self.errors += power * (error / modulus + 8.0 * U);
    }
}

impl Product {
    /// Make a product that is 1 at each of `count` frequencies. If `gather` is true, the waves of
    /// losses whose atoms are known are computed by Fourier transforms.
    pub(super) fn new(spacing: f64, count: usize, negligible: f64, gather: bool) -> Product {
        let unit = Factor { value: Complex::new(1.0, 0.0), bound: 1.0, errors: 0.0 };
        Product {
            spacing,
            negligible,
            gather: if gather { Gathering::On(None) } else { Gathering::Off },
            factors: vec![unit; count],
            active: count,
            #[cfg(test)]
            work: (0, 0),
        }
    }
    /// Return the highest frequency at which the product is not yet negligible. The waves of later
    /// losses are needed only up to this frequency.
    pub(super) fn highest(&self) -> f64 {
        self.active as f64 * self.spacing
    }
    /// Raise the waves of a loss to the power `count`. Then multiply the products by these powers.
    pub(super) fn multiply(&mut self, part: &dyn Tilted, count: u64) {
        let listed = match &mut self.gather {
            Gathering::Off => None,
            Gathering::On(gather) => part.listed().map(|listed| (gather.take(), listed)),
        };
        match listed {
            None => self.one_by_one(part, count),
            Some((gather, listed)) => {
                let fits =
                    |all: &Gather| self.active <= all.most() && all.most() < 2 * self.active.max(8);
                let gather = gather.filter(fits);
                let mut gather = gather.unwrap_or_else(|| Gather::new(self.spacing, self.active));
                match gather.waves(&listed) {
                    Some(waves) => self.gathered(waves, count),
                    None => self.one_by_one(part, count),
                }
                self.gather = Gathering::On(Some(gather));
            }
        }
        self.shorten();
    }
    fn one_by_one(&mut self, part: &dyn Tilted, count: u64) {
        for (n, factor) in self.factors.iter_mut().enumerate().take(self.active) {
            if self.negligible <= factor.bound {
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
            if self.negligible <= factor.bound {
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
        self.active =
            known.rposition(|factor| self.negligible <= factor.bound).map_or(0, |last| last + 1);
    }
    /// Return the product at each frequency. A negligible product is replaced by 0. The bound on
    /// the modulus of this product is then a bound on the error of the replacement.
    pub(super) fn factors(&self) -> impl Iterator<Item = Factor> {
        let zero = |bound| Factor { value: Complex::new(0.0, 0.0), bound, errors: 1.0 };
        let kept = move |factor: &Factor| match self.negligible <= factor.bound {
            true => *factor,
            false => zero(factor.bound),
        };
        self.factors.iter().map(kept)
    }
}
