//! Products of the transforms of many losses, at equally spaced frequencies.

use opendp_fourier::Complex;

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
    /// The sum is `NaN` if the error of a wave is infinite.
    pub(super) errors: f64,
}
impl Factor {
    /// Return the value of the product, and a bound on the error of this value. The error is
    /// divided by `bound`. If the error is large, 0 replaces the value. The error is then at most
    /// `bound`.
    ///
    /// Let `d` be `errors`. The field `bound` limits each `m^k` to 1. Without this limit, the
    /// product of all `m^k` is at most `e^(4 d)` times `bound`, because `m` is at most
    /// `1 + 2 e`, plus rounding errors. So the error is at most `d e^(4 d)` times `bound`.
    pub(super) fn settled(&self) -> (Complex, f64) {
        let error = 1.01 * self.errors * exp(4.0 * self.errors);
        if error < 1.0 { (self.value, error) } else { (Complex::new(0.0, 0.0), 1.0) }
    }
    fn multiply(&mut self, wave: Complex, error: f64, count: u64) {
        let power = count as f64;
        let modulus = wave.norm_sqr().sqrt() * (1.0 + 16.0 * U) + error + 1e-300;
        self.value *= raise(wave, count);
        let bound = match count {
            1 => modulus,
            _ if modulus.is_nan() => 1.0,
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

/// Raise a complex number to a power by repeated squaring. The relative error is at most about
/// `sqrt(5) u` times the power.
pub(super) fn raise(base: Complex, mut power: u64) -> Complex {
    let (mut result, mut square) = (Complex::new(1.0, 0.0), base);
    loop {
        if power & 1 == 1 {
            result *= square;
        }
        power >>= 1;
        if power == 0 {
            return result;
        }
        square *= square;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit() -> Factor {
        Factor { value: Complex::new(1.0, 0.0), bound: 1.0, errors: 0.0 }
    }
    #[test]
    fn a_wave_that_is_unknown_leaves_the_bound_of_the_other_waves() {
        for count in [1, 2, 1 << 20] {
            for (wave, error) in [(f64::NAN, f64::INFINITY), (1e60, f64::INFINITY), (f64::NAN, 0.1)]
            {
                let mut factor = unit();
                factor.multiply(Complex::new(wave, 0.0), error, count);
                assert_eq!(factor.bound.min(1.0), 1.0, "{count} {wave} {error}");
                let (value, error) = factor.settled();
                assert_eq!((value, error), (Complex::new(0.0, 0.0), 1.0), "{count} {wave}");
            }
        }
    }
    #[test]
    fn the_error_of_a_product_of_very_many_waves_is_bounded() {
        // Each exact wave is 1, and each computed wave is off by `error`.
        for (count, error) in [(1_u64 << 31, 1e-11), (1 << 31, 1e-10), (1 << 31, 1e-9), (100, 1e-3)]
        {
            let mut factor = unit();
            factor.multiply(Complex::new(1.0 + error, 0.0), error, count);
            let (value, bound) = factor.settled();
            assert!((value.re - 1.0).abs() <= bound * factor.bound, "{count} {error}");
            // The control: if the sum of the errors is large, the sum alone is not a bound.
            let off = (factor.value.re - 1.0).abs();
            assert!(1.01 * factor.errors < off || factor.errors < 0.025, "{count} {error}");
        }
    }
}
