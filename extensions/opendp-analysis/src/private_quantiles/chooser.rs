//! The choices of all quantiles. This code does not depend on the privacy measure.

use opendp_core::erased::AnyMeasurement;
use opendp_core::{Function, Result};
use opendp_measurements::Collected;

use opendp_core::arith::{Directed, InfCast};
use opendp_measurements::{Scale, make_composition};

use super::{UNIT, halves, levels, no_alphas, ordered, part, positions};

/// A function that makes a choice at a scale. The function returns the function of the choice and
/// the whole choice. All code that uses choices is compiled once for all measures.
pub(super) type Make<'a> =
    dyn Fn(Scale) -> Result<(Function<Vec<u64>, usize>, AnyMeasurement)> + 'a;
/// The choices of all quantiles, as a binary tree.
pub(super) struct Chooser {
    tree: Box<Node>,
    /// A composition of one choice for each level. Its map computes the loss.
    pub(super) levels: AnyMeasurement,
    count: usize,
    steps: usize,
}
impl Chooser {
    pub(super) fn new(alphas: &[f64], steps: usize, scale: Scale, make: &Make<'_>) -> Result<Self> {
        ordered(alphas)?;
        let tree = Node::grow((alphas, 0), (0.0, 1.0), steps, scale, make)?;
        let tree = tree.ok_or_else(no_alphas)?;
        let (_, level) = make(scale)?;
        let levels = make_composition(vec![level; levels(alphas.len())])?.erase();
        Ok(Chooser { tree, levels, count: alphas.len(), steps })
    }
    pub(super) fn choose(&self, halves: &[u64]) -> Result<Vec<usize>> {
        let positions = positions(halves, self.steps);
        let mut chosen = vec![0; self.count];
        self.tree.choose(&positions, (0, positions.len() - 1), &mut chosen)?;
        chosen.iter_mut().for_each(|point| *point /= self.steps + 1);
        Ok(chosen)
    }
}

/// The choice of one quantile, and the later choices of the lower and the higher quantiles.
struct Node {
    /// The index of the quantile in the list of all quantiles.
    place: usize,
    /// The level of the quantile, as a position between the levels of the two ends: 0 at the lower
    /// end, and `UNIT` at the upper end.
    part: u64,
    choice: Function<Vec<u64>, usize>,
    below: Option<Box<Node>>,
    above: Option<Box<Node>>,
}
impl Node {
    fn grow(
        (alphas, first): (&[f64], usize),
        (low, high): (f64, f64),
        steps: usize,
        scale: Scale,
        make: &Make<'_>,
    ) -> Result<Option<Box<Self>>> {
        let (below, Some(middle), above) = halves(alphas) else { return Ok(None) };
        let place = first + below.len();
        let part = part(middle, (low, high));
        // Scores are in units of `1 / (2 steps UNIT)` of a row.
        let unit = f64::inf_cast(part.max(UNIT - part))? * 4.0 * steps as f64;
        let (choice, _) = make(Scale::new(scale.value().inf_mul(unit)?)?)?;
        let below = Node::grow((below, first), (low, middle), steps, scale, make)?;
        let above = Node::grow((above, place + 1), (middle, high), steps, scale, make)?;
        Ok(Some(Box::new(Node { place, part, choice, below, above })))
    }
    fn choose(
        &self,
        positions: &[u64],
        (low, high): (usize, usize),
        chosen: &mut [usize],
    ) -> Result<()> {
        let between = positions.get(low..=high).unwrap_or_default();
        let point = low + self.choice.eval(&distances(between, self.part))?;
        if let Some(chosen) = chosen.get_mut(self.place) {
            *chosen = point;
        }
        if let Some(below) = &self.below {
            below.choose(positions, (low, point), chosen)?;
        }
        if let Some(above) = &self.above {
            above.choose(positions, (point, high), chosen)?;
        }
        Ok(())
    }
}
/// Compute the score of each point: the distance of its position from the target. The unit of
/// scores is `1 / UNIT` of the unit of positions.
pub(super) fn distances(positions: &[u64], part: u64) -> Vec<u64> {
    let (first, last) = (positions.first().copied(), positions.last().copied());
    let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
    let target = u128::from(part) * u128::from(last - first);
    let distance = |point: &u64| {
        let far = (u128::from(UNIT) * u128::from(point - first)).abs_diff(target);
        u64::try_from(far).unwrap_or(u64::MAX)
    };
    positions.iter().map(distance).collected()
}
