//! Computes all nodes of a tree of counts, given the leaves.

use opendp_core::arith::{Directed, DirectedFloat, InfCast, Integer, Number};
use opendp_core::erased::AnyDistance;
use opendp_core::{
    Atom, AtomDomain, Distance, Error, Function, L1Distance, L2Distance, Metric, MetricOn,
    OfAnyNumber, Result, Space, StabilityMap, Transformation, VectorDomain,
};

/// Compute the nodes of a tree from the counts of its leaves. Each node above the leaves is the sum
/// of the leaves below it.
///
/// The count of a range of leaves is the sum of a few nodes. So every range can be estimated from a
/// few noisy nodes, and this estimate has little noise.
/// [`make_consistent_b_ary_tree`](crate::make_consistent_b_ary_tree) estimates the leaves from the
/// noisy nodes. (Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of differentially private
/// histograms through consistency", 2010.)
///
/// # Arguments
/// * `leaf_count` - the number of leaves, at least 1
/// * `branching_factor` - the number of children of each node, at least 2
///
/// # Precondition
/// The input is a space of vectors of integers. The metric is `L1Distance` or `L2Distance`.
///
/// # Function
/// Let `b` be `branching_factor`, and let `layers` be the smallest number with
/// `b^(layers - 1) >= leaf_count`. The tree has `layers` layers and `b^(layers - 1)` leaves. The
/// input counts are the first leaves. Counts beyond `leaf_count` are dropped, and the remaining
/// leaves are zero. Each node above the leaves is the exact sum of the leaves below it. If the sum
/// does not fit the type of the counts, the node is the nearest value of this type. For types of
/// 128 bits, the conversion of a count to `i128` and each addition saturate at the ends of `i128`.
/// So a node can depend on the order of the leaves below it.
///
/// # Postcondition
/// The output contains the layers from the root down, and each layer from left to right. The output
/// ends with the last leaf that has a count. The length of the output depends only on the length of
/// the input. If the length of the input is public, the length of the output is also public.
///
/// # Map
/// For `L1Distance`, `d_out = layers * d_in`. For `L2Distance`,
/// `d_out = d_in * sqrt(min(1, d_in^2) + min(b, d_in^2) + ... + min(b^(layers - 1), d_in^2))`,
/// rounded up. So at `d_in = 1`, which is the change of a count by 1, `d_out = sqrt(layers)`.
///
/// # Proof
/// Vectors at a finite distance have the same length, so their trees have the same length. Let `v`
/// be the difference of the leaves of two trees, with zero for leaves without a count. Dropping
/// counts does not increase the distance between two vectors. First suppose that no sum saturates.
/// Take any layer. Let each node of the layer have `k` leaves, and let `w` be the difference of the
/// two trees in this layer. Each entry of `w` is a sum of `k` entries of `v`. Each leaf belongs to
/// exactly one node of the layer. Let `|v|` and `|w|` be the norms of `v` and `w`.
///
/// In L1, `|w| <= |v|`, because the absolute value of a sum is at most the sum of the absolute
/// values. The tree has `layers` layers, so the norm of the difference of the two trees is at most
/// `layers * |v|`. In L2, `|w|^2 <= k |v|^2`. This bound follows from the Cauchy-Schwarz
/// inequality, `(v_1 + ... + v_k)^2 <= k (v_1^2 + ... + v_k^2)`. The entries of `v` are integers,
/// and the absolute value of an integer is at most its square. So the L1 norm of `v` is at most
/// `|v|^2`. The L2 norm of `w` is at most its L1 norm, which is at most the L1 norm of `v`. So
/// `|w|^2 <= |v|^4` also holds. Both bounds together give `|w|^2 <= min(k, |v|^2) |v|^2`. The
/// squared norm of the difference of the two trees is the sum of `|w|^2` over all layers. From the
/// leaves to the root, the layers have `k = 1`, `k = b`, ..., `k = b^(layers - 1)`. If `d_in^2` is
/// a power of `b`, and if the first `d_in^2` leaves change by 1, the bound is attained.
///
/// For counts of at most 64 bits, each sum is exact, and only the result saturates. For types of
/// 128 bits, the conversion to `i128` and each addition saturate. Saturation does not increase the
/// distance between two numbers. So the difference of two nodes is still at most the sum of the
/// absolute values of the `k` entries of `v` below the node. The proof uses no other property of
/// the nodes.
///
/// # Errors
/// `MakeTransformation` when `leaf_count` is 0, or when `branching_factor` is below 2.
/// `MakeTransformation` when the output can contain more than 2^23 nodes. Without this limit, a
/// pipeline document could request an output that is too large to compute and release.
/// `MakeTransformation` when the number of all nodes, including leaves without a count, exceeds the
/// largest `usize`. The map returns `Overflow` or `FailedCast` when its value does not fit the type
/// of the distance. A run returns `FailedFunction` when there is not enough memory for the output.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_b_ary_tree;
/// let counts = VectorDomain::new(AtomDomain::<i32>::default());
/// let tree = make_b_ary_tree(Space::new(counts, L1Distance::<i32>::new())?, 4, 2)?;
/// assert_eq!(tree.invoke(&vec![1, 2, 3])?, [6, 3, 3, 1, 2, 3]);
/// assert_eq!(tree.map(&1)?, 3);
/// # Ok::<(), Error>(())
/// ```
pub fn make_b_ary_tree<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    leaf_count: usize,
    branching_factor: usize,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<T>>, M>>
where
    T: Atom + Integer,
    M: TreeNorm + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    let shape = Shape::new(leaf_count, branching_factor)?;
    let output = Space::new(shape.domain(input.domain()), input.metric().clone())?;
    Ok(Transformation::new(input, output, shape.function(), shape.map()))
}

/// A norm for trees of counts. The norm of the leaves gives a bound on the norm of all nodes.
pub trait TreeNorm: Metric {
    /// Return an upper bound on the norm of all nodes, given a bound on the norm of the leaves.
    ///
    /// # Errors
    /// `Overflow` or `FailedCast` when the bound does not fit the type of the distance.
    fn in_tree(
        leaves: &Self::Distance,
        branching_factor: usize,
        layers: u32,
    ) -> Result<Self::Distance>;
}
impl<Q: Distance + Number + InfCast<u32>> TreeNorm for L1Distance<Q> {
    fn in_tree(leaves: &Q, _: usize, layers: u32) -> Result<Q> {
        leaves.inf_mul(Q::inf_cast(layers)?)
    }
}
impl<Q: Distance + Number + InfCast<f64>> TreeNorm for L2Distance<Q>
where
    f64: InfCast<Q>,
{
    fn in_tree(leaves: &Q, branching_factor: usize, layers: u32) -> Result<Q> {
        let leaves = f64::inf_cast(*leaves)?;
        // If the square exceeds all floats, then every power of the branching factor is below the
        // square, so infinity can replace the square.
        let square = leaves.inf_mul(leaves).unwrap_or(f64::INFINITY);
        let branching_factor = branching_factor.try_into().unwrap_or(u128::MAX);
        // `factors` is the sum over the layers in the formula of the map. The power in a layer is
        // at most the number of leaves, and this number fits `usize`. So no power in the sum
        // saturates. Only the last product, which is not used, can saturate.
        let (mut factors, mut power) = (0.0_f64, 1_u128);
        for _ in 0..layers {
            factors = factors.inf_add(square.min(<f64 as InfCast<u128>>::inf_cast(power)?))?;
            power = power.saturating_mul(branching_factor);
        }
        Q::inf_cast(leaves.inf_mul(factors.inf_sqrt()?)?)
    }
}

/// Register `make_b_ary_tree` with the metric `$norm`, for each number type of the distance.
macro_rules! norm_of_any_number {
    ($norm:ident: $($number:ty)*) => {
        register! {
            "b_ary_tree.rs": make_b_ary_tree(input, leaf_count, branching_factor)
                for T in [i8, i16, i32, i64, u8, u16, u32, u64, usize],
                    M in [$($norm<$number>),*] as OfAnyNumber<$norm<f64>>;
        }
        impl TreeNorm for OfAnyNumber<$norm<f64>> {
            fn in_tree(
                leaves: &AnyDistance,
                branching_factor: usize,
                layers: u32,
            ) -> Result<AnyDistance> {
                $(if let Ok(leaves) = leaves.downcast_ref::<$number>() {
                    let nodes = $norm::<$number>::in_tree(leaves, branching_factor, layers)?;
                    return Ok(AnyDistance::new(nodes));
                })*
                Err(Error::FailedCast(format!("expected a distance in a norm, found {leaves:?}")))
            }
        }
    };
}
macro_rules! norms_of_any_number {
    ($($norm:ident)*) => {
        $(norm_of_any_number! { $norm: i32 i64 u32 u64 f64 })*
    };
}
norms_of_any_number!(L1Distance L2Distance);

/// The largest number of nodes in an output. A million nodes are written as JSON in about 0.1
/// seconds.
const MOST_NODES: usize = 1 << 23;

/// The layout of the leaves and the other nodes of a tree.
#[derive(Clone, Copy, Debug)]
struct Shape {
    leaf_count: usize,
    branching_factor: usize,
    layers: u32,
    /// The number of leaves, including leaves without a count: `b^(layers - 1)`, where `b` is the
    /// branching factor.
    width: usize,
    /// The number of nodes that are not leaves.
    inner: usize,
}
impl Shape {
    fn new(leaf_count: usize, branching_factor: usize) -> Result<Self> {
        if leaf_count == 0 {
            return Err(refuse("leaf_count: expected at least 1, found 0".into()));
        }
        if branching_factor < 2 {
            let found = format!("branching_factor: expected at least 2, found {branching_factor}");
            return Err(refuse(found));
        }
        let too_large = || {
            refuse(format!(
                "leaf_count: a tree of {leaf_count} leaves has more than {MOST_NODES} nodes\n\
                 choose a smaller `leaf_count`, and join neighbouring leaves"
            ))
        };
        let (mut layers, mut width, mut inner) = (1, 1_usize, 0_usize);
        while width < leaf_count {
            inner = inner.checked_add(width).ok_or_else(too_large)?;
            width = width.checked_mul(branching_factor).ok_or_else(too_large)?;
            layers += 1;
        }
        inner.checked_add(width).ok_or_else(too_large)?;
        if MOST_NODES < inner + leaf_count {
            return Err(too_large());
        }
        Ok(Shape { leaf_count, branching_factor, layers, width, inner })
    }
    fn domain<T: Atom>(&self, leaves: &VectorDomain<AtomDomain<T>>) -> VectorDomain<AtomDomain<T>> {
        let domain = VectorDomain::new(AtomDomain::non_nan());
        if let Some(size) = leaves.size() { domain.with_size(self.nodes(size)) } else { domain }
    }
    fn function<T: Atom + Integer>(self) -> Function<Vec<T>, Vec<T>> {
        Function::map(move |leaves: &Vec<T>| self.tree(leaves))
    }
    fn map<M: TreeNorm>(self) -> StabilityMap<M, M> {
        StabilityMap::new(move |d_in| M::in_tree(d_in, self.branching_factor, self.layers))
    }
    /// Return the number of nodes in the output when the input has `counts` counts.
    fn nodes(&self, counts: usize) -> usize {
        self.inner + counts.min(self.leaf_count)
    }
    fn tree<T: Integer>(&self, counts: &[T]) -> Result<Vec<T>> {
        let leaves = &counts[..counts.len().min(self.leaf_count)];
        let size = self.nodes(counts.len());
        let mut nodes: Vec<T> = Vec::new();
        nodes.try_reserve_exact(size).map_err(|_| no_memory(size))?;
        nodes.resize(self.inner, T::zero());
        nodes.extend_from_slice(leaves);
        // Go upward layer by layer. In each layer, one node is above the last leaf that has a
        // count. All nodes of the layer to the right of this node are zero.
        let (mut start, mut width) = (self.inner, self.width);
        let mut sums: Option<Vec<i128>> = None;
        while 1 < width {
            width /= self.branching_factor;
            start -= width;
            // Only sums of counts of 128 bits can exceed `i128`, so only additions of such counts
            // saturate. Even if an addition saturates, its result changes by at most the sum of the
            // changes of its two terms.
            let layer = match &sums {
                None => each_sum(leaves, self.branching_factor),
                Some(sums) => each_sum(sums, self.branching_factor),
            };
            for (node, sum) in nodes[start..].iter_mut().zip(&layer) {
                *node = T::saturating_from_i128(*sum);
            }
            sums = Some(layer);
        }
        Ok(nodes)
    }
}
/// Compute the sum of each group of `group` consecutive children. The last group can be smaller.
fn each_sum<C: Integer>(children: &[C], group: usize) -> Vec<i128> {
    let mut sums = Vec::with_capacity(children.len().div_ceil(group));
    for children in children.chunks(group) {
        let mut sum = 0_i128;
        for child in children {
            sum = sum.saturating_add(child.to_i128().unwrap_or(i128::MAX));
        }
        sums.push(sum);
    }
    sums
}
#[cold]
fn refuse(reason: String) -> Error {
    Error::MakeTransformation(reason)
}
#[cold]
fn no_memory(nodes: usize) -> Error {
    Error::FailedFunction(format!(
        "leaf_count: not enough memory for {nodes} nodes; choose a smaller `leaf_count`"
    ))
}

#[cfg(test)]
mod tests;
