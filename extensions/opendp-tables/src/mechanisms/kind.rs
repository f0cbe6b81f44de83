//! The kind of the noise of a query: Laplace or Gaussian.

use opendp_core::arith::{DirectedFloat, Exact};
use opendp_core::{Error, Result};
use opendp_ledger::{Loss, Notion};
use opendp_measurements::accounting::{concentrated_delta, concentrated_epsilon, concentrated_rho};

use super::{Mechanisms, divided, selecting_sum};
use crate::check::Checked;
use crate::noise::{ALPHA, Noise};

/// The kind of the noise of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The kind depends on the budget. For an epsilon alone, the kind is Laplace noise. For a rho,
    /// the kind is Gaussian noise. For an epsilon and a delta, there are two cases. If the question
    /// names a constructor for its noise, the kind is Laplace noise. Otherwise, the kind is the one
    /// with the smaller errors. There is one exception: if the budget of the session composes
    /// tightly, the kind is always Laplace noise.
    #[default]
    Best,
    /// Laplace noise. Its loss depends on the sum of the magnitudes of the changes, over all
    /// groups.
    Laplace,
    /// Gaussian noise. Its loss depends on the root of the sum of the squares of the changes, over
    /// all groups. Gaussian noise needs a delta or a rho.
    Gaussian,
}
impl std::str::FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "best" => Ok(Kind::Best),
            "laplace" => Ok(Kind::Laplace),
            "gaussian" => Ok(Kind::Gaussian),
            other => {
                let reason = format!("expected `best`, `laplace` or `gaussian`, found `{other}`");
                Err(Error::argument("noise", reason))
            }
        }
    }
}

/// Find the mechanisms of a query with the wanted kind of noise.
pub(crate) fn mechanisms(
    checked: &Checked,
    mechanism: Option<&str>,
    kind: Kind,
    budget: &Loss,
) -> Result<Mechanisms> {
    let laplace = || divided(checked, mechanism, Kind::Laplace, budget, None);
    match (budget.notion(), kind) {
        (Notion::Pure, Kind::Gaussian) => Err(Error::argument(
            "noise",
            "Gaussian noise needs a delta or a rho, and only an epsilon is given.\n\
             State a `delta` with the epsilon, or a `rho`, or ask for Laplace noise.",
        )),
        (Notion::Pure, _) => laplace(),
        (Notion::Concentrated, Kind::Laplace) => laplace(),
        (Notion::Concentrated, _) => divided(checked, mechanism, Kind::Gaussian, budget, None),
        (Notion::Approximate, Kind::Gaussian) => {
            let gaussian = joint(checked, mechanism, budget)?;
            Ok(compared(gaussian, laplace().ok().as_ref(), "Laplace"))
        }
        (Notion::Approximate, Kind::Laplace) => {
            let gaussian = joint(checked, None, budget).ok();
            Ok(compared(laplace()?, gaussian.as_ref(), "Gaussian"))
        }
        (Notion::Approximate, Kind::Best) => {
            let laplace = laplace()?;
            // If the caller names a constructor and no kind of noise, the metric is the L1
            // distance, as for Laplace noise. So do not try Gaussian noise.
            let gaussian =
                if mechanism.is_none() { joint(checked, None, budget).ok() } else { None };
            match gaussian {
                Some(gaussian) if ratio(&gaussian, &laplace).is_some_and(|ratio| ratio < 1.0) => {
                    Ok(compared(gaussian, Some(&laplace), "Laplace"))
                }
                gaussian => Ok(compared(laplace, gaussian.as_ref(), "Gaussian")),
            }
        }
    }
}
/// Find Gaussian noise for an epsilon and a delta.
///
/// # Proof
/// If all keys are public, the mechanisms have losses `rho_1, ..., rho_n` in zero-concentrated
/// privacy. Together they have a loss `rho`, which is the sum of these losses (Bun, Steinke 2016,
/// Lemma 1.7). `concentrated_epsilon` and `concentrated_delta` give an epsilon and a delta for this
/// `rho`. Their doc comments name the proofs.
///
/// If keys are not public, the mechanism that releases keys has the loss `rho_s` except on events
/// of probability `delta_s`. Let `rho` be the sum of the losses of all mechanisms, including
/// `rho_s`. All mechanisms together have the loss `rho` except on these events (Bun, Steinke 2016,
/// Section 8). If the events do not occur, `concentrated_epsilon` and `concentrated_delta` give an
/// epsilon and a `delta_n` for this `rho`. So the loss of all mechanisms together is this epsilon
/// and `delta_n + delta_s`. The part `delta_n` is half of the delta of the budget, rounded down.
fn joint(checked: &Checked, mechanism: Option<&str>, budget: &Loss) -> Result<Mechanisms> {
    let [epsilon, delta] = budget.parts() else {
        return Err(Error::argument("budget", "expected an epsilon and a delta"));
    };
    let selects = selecting_sum(&checked.plan)?.is_some();
    let half = delta.over(&Exact::from_f64(2.0)?);
    let of_noise = if selects { half } else { delta.clone() }.to_f64_down();
    if !(0.0 < of_noise) {
        return Err(Error::argument(
            "noise",
            "Gaussian noise needs a delta, and the query has none.\n\
             State the delta that the query may cost, as in `--epsilon 0.5 --delta 1e-7`.",
        ));
    }
    let of_keys = delta.minus(&Exact::from_f64(of_noise)?);
    let limit = epsilon.to_f64_down();
    // Sums of exact losses can be rounded up, so `rho` is a little less than the budget allows.
    let rho = concentrated_rho(limit, of_noise)? * (1.0 - 1e-12);
    let whole = Loss::exact(Notion::Concentrated, vec![Exact::from_f64(rho)?])?;
    let mut all = divided(checked, mechanism, Kind::Gaussian, &whole, Some(&of_keys))?;
    // Convert a loss in zero-concentrated privacy to an epsilon and a delta. Add `of_keys` to the
    // delta.
    let converted = |loss: &Loss, of_keys: &Exact| {
        let rho = loss.within(Notion::Concentrated)?;
        let rho = rho.parts().first().map_or(f64::INFINITY, Exact::to_f64_up);
        let mut epsilon = concentrated_epsilon(rho, of_noise)?;
        if concentrated_delta(rho, limit)? <= of_noise {
            epsilon = epsilon.min(limit);
        }
        let delta = Exact::from_f64(of_noise)?.plus(of_keys);
        Loss::exact(Notion::Approximate, vec![Exact::from_f64(epsilon)?, delta])
    };
    for noise in all.sums.iter_mut().flatten() {
        noise.loss = converted(&noise.loss, &Exact::ZERO)?;
    }
    for choice in &mut all.choices {
        choice.noise.loss = converted(&choice.noise.loss, &Exact::ZERO)?;
    }
    let mut of_selection = Exact::ZERO;
    if let Some(selection) = &mut all.selection {
        of_selection = selection.delta.clone();
        selection.noise.loss = converted(&selection.noise.loss, &of_selection)?;
    }
    all.loss = converted(&all.loss, &of_selection)?;
    if all.loss.parts().iter().zip(budget.parts()).any(|(loss, budget)| budget < loss) {
        return Err(Error::Search("no Gaussian noise fits the epsilon and the delta".into()));
    }
    all.losses = vec![all.loss.clone()];
    Ok(all)
}
/// For each noise in `some`, divide its error by the error of the noise at the same index in
/// `others`. Return the geometric mean of these ratios. Return `None` if no ratio is known.
fn ratio(some: &Mechanisms, others: &Mechanisms) -> Option<f64> {
    let logs: Vec<f64> = noises(some)
        .zip(noises(others))
        .filter_map(|(a, b)| (a.accuracy(ALPHA)? / b.accuracy(ALPHA)?).inf_ln().ok())
        .filter(|log| log.is_finite())
        .collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    mean.inf_exp().ok().filter(|ratio| ratio.is_finite())
}
/// Return all noise of a query. The order does not depend on the kind of noise.
fn noises(all: &Mechanisms) -> impl Iterator<Item = &Noise> {
    let selection = all.selection.iter().map(|selection| &selection.noise);
    let choices = all.choices.iter().map(|choice| &choice.noise);
    selection.chain(all.sums.iter().flatten()).chain(choices)
}
/// Compare the errors of the other kind of noise with the errors of the noise in `all`. Store the
/// comparison in `all` as a text. `name` is the name of the other kind.
fn compared(mut all: Mechanisms, other: Option<&Mechanisms>, name: &str) -> Mechanisms {
    let times = other.and_then(|other| ratio(other, &all));
    all.compared = times.map(|times| {
        format!("the errors of {name} noise would be {times:.3} times as large, on average")
    });
    all
}
