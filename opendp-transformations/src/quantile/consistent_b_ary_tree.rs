//! Estimates the leaves of a noisy tree of counts.

use opendp_core::arith::{Float, Number};
use opendp_core::{Atom, Error, Function, Result};

/// Estimate the leaves of a noisy tree of counts by least squares.
///
/// The nodes of a tree from [`make_b_ary_tree`](crate::make_b_ary_tree) are redundant: the count of
/// a leaf is also a part of every sum above this leaf. This post-processing combines all nodes by
/// least squares. Among all unbiased linear estimates of the leaves, the result has the least
/// variance. The same holds for sums of leaves. The method is theorem 3 of Hay, Rastogi, Miklau and
/// Suciu ("Boosting the accuracy of differentially private histograms through consistency", 2010).
/// Here, the method is extended to trees in which some leaves are missing. The weights of the nodes
/// are computed from the variances of the nodes.
///
/// # Arguments
/// * `branching_factor` - the number of children of each node, at least 2
///
/// # Precondition
/// The input lists the layers of a tree from the root down, and each layer from left to right. The
/// noises of different nodes are independent and have the same variance. The last leaves can be
/// missing, and the counts of missing leaves are zero.
///
/// # Postcondition
/// The output has one number for each leaf of the input, if the input has a leaf. The output
/// depends only on the input, and is defined for every length of the input. If the input is empty,
/// the output is empty. If each noisy node above the leaves is already the sum of its children, the
/// leaves change only by rounding.
///
/// A tree that `make_b_ary_tree` makes from empty data has no leaves, only nodes above the leaves.
/// From its length alone, such a tree cannot be distinguished from a smaller tree. So the lowest
/// layer of these nodes is treated as the leaves.
///
/// # Map
/// The function is post-processing, so the privacy loss does not change.
///
/// # Proof
/// The first pass goes upward. Each node becomes a weighted average of two numbers: its own count,
/// and the sum of its children. The weights are proportional to the inverses of the variances of
/// these two numbers. So each node is the least squares estimate from its own count and the nodes
/// below it. The second pass goes downward. For each node, take the difference between the node and
/// the sum of its children. This pass distributes the difference to the children, in proportion to
/// their variances. The result is the least squares solution under the condition that the children
/// of each node add up to the node.
///
/// # Errors
/// `MakeTransformation` when `branching_factor` is below 2.
///
/// ```
/// # use opendp_transformations::make_consistent_b_ary_tree;
/// let leaves = make_consistent_b_ary_tree::<i32, f64>(2)?;
/// assert_eq!(leaves.eval(&vec![6, 3, 3, 1, 2, 3])?, [1.0, 2.0, 3.0]);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn make_consistent_b_ary_tree<TIA, TOA>(
    branching_factor: usize,
) -> Result<Function<Vec<TIA>, Vec<TOA>>>
where
    TIA: Atom + Number,
    TOA: Atom + Float,
{
    if branching_factor < 2 {
        return Err(Error::MakeTransformation(format!(
            "branching_factor: expected at least 2, found {branching_factor}"
        )));
    }
    Ok(Function::map(move |nodes: &Vec<TIA>| Ok(consistent(&floats(nodes), branching_factor))))
}

register! {
    "consistent_b_ary_tree.rs": make_consistent_b_ary_tree(branching_factor)
        for TIA in [i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64] = i32,
            TOA in [f32, f64] = f64;
}

/// One layer of nodes, with the variances of the nodes after the upward pass.
///
/// A node is complete if it has all its leaves. The complete nodes of one layer have the same
/// variance. Nodes without leaves have variance zero. In each layer, at most one node has some of
/// its leaves, but not all.
#[derive(Clone, Copy)]
struct Layer {
    start: usize,
    width: usize,
    /// The number of complete nodes in the layer.
    full: usize,
    /// The variance of each complete node.
    variance: f64,
    /// The variance of the incomplete node, which lacks some of its leaves.
    partial: f64,
}
impl Layer {
    fn variance(&self, node: usize) -> f64 {
        match node {
            _ if node < self.full => self.variance,
            _ if node == self.full => self.partial,
            _ => 0.0,
        }
    }
}

fn consistent<O: Float>(nodes: &[f64], b: usize) -> Vec<O> {
    let given = nodes.len();
    // Find the smallest complete tree that has at least as many nodes as the input.
    let (mut widths, mut width, mut inner) = (Vec::new(), 1_usize, 0_usize);
    while inner.saturating_add(width) < given {
        widths.push(width);
        inner += width;
        width = width.saturating_mul(b);
    }
    let leaf_count = given - inner;
    let mut below = Layer { start: inner, width, full: leaf_count, variance: 1.0, partial: 0.0 };
    let mut layers = vec![below];
    // Compute the variances of all layers, from the leaves upward.
    for width in widths.into_iter().rev() {
        let full = below.full / b;
        let children = below.full - full * b;
        let combined =
            |children: f64| if children == 0.0 { 0.0 } else { children / (1.0 + children) };
        let partial = children as f64 * below.variance + below.partial;
        below = Layer {
            start: below.start - width,
            width,
            full,
            variance: combined(b as f64 * below.variance),
            partial: combined(partial),
        };
        layers.push(below);
    }
    // Most nodes are leaves. So only the nodes above the leaves are copied. The given leaves are
    // read in place, and the result for each leaf is written once.
    let (above, leaves) = nodes.split_at(inner);
    let mut above = above.to_vec();
    for (depth, pair) in layers.windows(2).enumerate() {
        let [below, layer] = pair else { continue };
        let (above, children) = above.split_at_mut(below.start);
        let own = &mut above[layer.start..];
        match depth {
            0 => upward(own, layer, leaves, below, b),
            _ => upward(own, layer, children, below, b),
        }
    }
    let mut result = vec![O::zero(); leaf_count];
    if layers.len() == 1 {
        let leaves = leaves.iter().map(|leaf| O::from_f64_toward_zero(*leaf));
        result.iter_mut().zip(leaves).for_each(|(x, leaf)| *x = leaf);
    }
    // Go downward from the root. `own` is the layer whose nodes are final.
    let mut own = above[..inner.min(1)].to_vec();
    for (depth, pair) in layers.windows(2).enumerate().rev() {
        let [below, layer] = pair else { continue };
        if depth == 0 {
            downward(&own, layer, leaves, below, b, &mut result);
        } else {
            let mut next = vec![0.0; below.width];
            let children = &above[below.start..below.start + below.width];
            downward(&own, layer, children, below, b, &mut next);
            own = next;
        }
    }
    result
}

/// Convert each number to the nearest float.
pub(crate) fn floats<T: Number>(numbers: &[T]) -> Vec<f64> {
    let mut floats = Vec::with_capacity(numbers.len());
    for number in numbers {
        floats.push(number.to_f64().unwrap_or(0.0));
    }
    floats
}
fn sum(children: &[f64]) -> f64 {
    children.iter().sum()
}

/// Replace each node by the weighted average of the node and the sum of its children.
fn upward(own: &mut [f64], layer: &Layer, children: &[f64], below: &Layer, b: usize) {
    let full = own.iter_mut().zip(children.chunks_exact(b)).take(layer.full);
    for (node, children) in full {
        let sum = sum(children);
        *node = sum + layer.variance * (*node - sum);
    }
    // At most one of the incomplete nodes has leaves. The other incomplete nodes are set to zero.
    for (node, own) in own.iter_mut().enumerate().take(layer.width).skip(layer.full) {
        let first = (node * b).min(children.len());
        let last = first.saturating_add(b).min(children.len()).min(below.width);
        let sum = sum(&children[first..last]);
        *own = if node == layer.full { sum + layer.partial * (*own - sum) } else { 0.0 };
    }
}

/// For each node, compute the difference between the node and the sum of its children. Divide this
/// difference among the children. Write the changed children to `result`, which is zero at first.
/// Nodes without leaves stay zero.
fn downward<O: Float>(
    own: &[f64],
    layer: &Layer,
    children: &[f64],
    below: &Layer,
    b: usize,
    result: &mut [O],
) {
    let share = 1.0 / b as f64;
    let full = own.iter().zip(children.chunks_exact(b)).zip(result.chunks_exact_mut(b));
    for ((node, children), result) in full.take(layer.full) {
        let residual = (*node - sum(children)) * share;
        for (x, child) in result.iter_mut().zip(children) {
            *x = O::from_f64_toward_zero(child + residual);
        }
    }
    let first = layer.full * b;
    let Some(node) = own.get(layer.full).filter(|_| layer.full < layer.width) else { return };
    let last = first.saturating_add(b).min(children.len()).min(below.width);
    let Some(children) = children.get(first..last) else { return };
    let variances = || (first..last).map(|child| below.variance(child));
    let (residual, total) = (node - sum(children), variances().sum::<f64>());
    for ((x, child), variance) in result[first..last].iter_mut().zip(children).zip(variances()) {
        let share = if 0.0 < total { residual * (variance / total) } else { 0.0 };
        *x = O::from_f64_toward_zero(child + share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(b: usize, nodes: &[i32]) -> Vec<f64> {
        make_consistent_b_ary_tree::<i32, f64>(b).unwrap().eval(&nodes.to_vec()).unwrap()
    }
    #[track_caller]
    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }
    /// Compute the least squares estimates of the leaves: solve the normal equations.
    fn least_squares(b: usize, nodes: &[f64]) -> Vec<f64> {
        let (mut width, mut inner) = (1, 0);
        while inner + width < nodes.len() {
            inner += width;
            width *= b;
        }
        let n = nodes.len() - inner;
        // For each node, list the range of the leaves below this node.
        let (mut ranges, mut w) = (Vec::new(), 1);
        while w <= width {
            let each = width / w;
            ranges.extend((0..w).map(|i| (i * each, ((i + 1) * each).min(n))));
            w *= b;
        }
        let mut rows = vec![vec![0.0; n + 1]; n];
        for (node, (from, to)) in nodes.iter().zip(ranges) {
            for row in rows.iter_mut().take(to).skip(from) {
                (from..to).for_each(|j| row[j] += 1.0);
                row[n] += node;
            }
        }
        for i in 0..n {
            let pivot = rows[i].clone();
            for (j, row) in rows.iter_mut().enumerate().filter(|(j, _)| *j != i) {
                let factor = row[i] / pivot[i];
                assert!(j < n);
                row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
            }
        }
        (0..n).map(|i| rows[i][n] / rows[i][i]).collect()
    }

    #[test]
    fn solves_the_least_squares_problem() {
        for b in [2, 3, 4] {
            for size in 1..50_u32 {
                let nodes: Vec<i32> =
                    (0..size).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as i32 - 100).collect();
                let exact: Vec<f64> = nodes.iter().map(|x| f64::from(*x)).collect();
                near(&leaves(b, &nodes), &least_squares(b, &exact));
            }
        }
        // Check that the estimate differs from the noisy leaves.
        let nodes = [7, 5, 1, 2];
        assert!((leaves(2, &nodes)[0] - 2.0).abs() > 1.0);
    }
    #[test]
    fn gives_back_the_leaves_of_a_consistent_tree() {
        let nodes = [vec![10, 8, 2, 4, 4, 2, 0, 2, 2, 2, 2, 2, 0, 0, 0], vec![1; 10]].concat();
        near(&leaves(2, &nodes), &[1.0; 10]);
        near(&leaves(2, &[5]), &[5.0]);
        near(&leaves(2, &[5, 1]), &[3.0]);
        near(&leaves(2, &[5, 1, 2]), &[5.0 / 3.0, 8.0 / 3.0]);
        near(&leaves(2, &[7, 5, 1, 2]), &[14.0 / 3.0]);
    }
    #[test]
    fn is_defined_for_every_input() {
        assert_eq!(leaves(2, &[]), [0.0; 0]);
        assert_eq!(leaves(usize::MAX, &[3]), [3.0]);
        near(&leaves(usize::MAX, &[3, 1, 2]), &[1.0, 2.0]);
        let odd = make_consistent_b_ary_tree::<f64, f32>(3).unwrap();
        assert_eq!(odd.eval(&vec![f64::NAN, f64::INFINITY, 1e300]).unwrap().len(), 2);
        assert_eq!(
            make_consistent_b_ary_tree::<i32, f64>(1).unwrap_err().kind(),
            "MakeTransformation"
        );
    }
}
