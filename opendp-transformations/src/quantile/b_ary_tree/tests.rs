use super::*;
use opendp_core::{DistanceOn, Domain, laws};

fn tree<T: Atom + Integer, M: TreeNorm + Default + MetricOn<VectorDomain<AtomDomain<T>>>>(
    leaf_count: usize,
    branching_factor: usize,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<T>>, M>> {
    let domain = VectorDomain::new(AtomDomain::default());
    make_b_ary_tree(Space::new(domain, M::default())?, leaf_count, branching_factor)
}
#[track_caller]
fn check<T, M>(alphabet: &[T], longest: usize)
where
    T: Atom + Integer,
    M: TreeNorm + Default + DistanceOn<VectorDomain<AtomDomain<T>>>,
{
    let data = laws::vectors(alphabet, longest);
    for (leaf_count, branching_factor) in [(1, 2), (2, 2), (3, 2), (4, 2), (4, 3), (4, 4)] {
        let tree = tree::<T, M>(leaf_count, branching_factor).unwrap();
        assert!(laws::stable(&tree, &data).unwrap() > 0);
        assert!(laws::member(&tree, &data).unwrap() > 0);
        assert!(laws::erases(&tree, &data, &[]).unwrap() > 0);
    }
}

#[test]
fn obeys_the_laws_at_the_ends_of_its_type() {
    check::<i8, L1Distance<i64>>(&[i8::MIN, 1, i8::MAX], 4);
    check::<i8, L2Distance<f64>>(&[i8::MIN, -1, i8::MAX], 4);
    check::<u8, L2Distance<i32>>(&[0, 1, u8::MAX], 4);
    check::<i64, L1Distance<i128>>(&[i64::MIN, -1, 1, i64::MAX], 3);
    check::<u64, L2Distance<f64>>(&[0, 1, u64::MAX], 4);
}
#[test]
fn the_euclidean_norm_is_bounded_by_the_layers_only_for_a_single_count() {
    let honest = tree::<i32, L2Distance<f64>>(4, 4).unwrap();
    let data = laws::vectors(&[0, 1], 4);
    let map = |factor: f64| StabilityMap::new(move |d: &f64| d.inf_mul(factor));
    let with = |factor| {
        let (output, function) = (honest.output().clone(), honest.function().clone());
        Transformation::new(honest.input().clone(), output, function, map(factor))
    };
    // The largest distance of these data is 2. At this distance, the factor of the map is sqrt(5).
    // The factor `sqrt(layers)`, which is sqrt(2), is too small. A factor slightly below sqrt(5) is
    // too small, too.
    assert!(laws::stable(&with(2_f64.sqrt() + 1e-9), &data).is_err());
    assert!(laws::stable(&with(5_f64.sqrt() - 1e-9), &data).is_err());
    assert!(laws::stable(&honest, &data).is_ok());
    let single = tree::<i32, L1Distance<i32>>(4, 2).unwrap();
    let (output, function) = (single.output().clone(), single.function().clone());
    let map = StabilityMap::from_constant(2);
    let wrong = Transformation::new(single.input().clone(), output, function, map);
    assert!(laws::stable(&wrong, &data).is_err());
}
#[test]
fn a_sum_that_wraps_around_breaks_the_map() {
    let honest = tree::<i8, L1Distance<i64>>(2, 2).unwrap();
    let wraps = Function::map(|x: &Vec<i8>| {
        let value_at = |i: usize| x.get(i).copied().unwrap_or(0);
        Ok([vec![value_at(0).wrapping_add(value_at(1))], x[..x.len().min(2)].to_vec()].concat())
    });
    let map = StabilityMap::from_constant(2);
    let wrong = Transformation::new(honest.input().clone(), honest.output().clone(), wraps, map);
    let data = laws::vectors(&[0, 1, i8::MAX], 2);
    assert!(laws::stable(&honest, &data).is_ok() && laws::stable(&wrong, &data).is_err());
}
#[test]
fn maps_to_the_true_constants() {
    let l1 = |b| tree::<i32, L1Distance<i32>>(10, b).unwrap().map(&1).unwrap();
    assert_eq!([2, 3, 4].map(l1), [5, 4, 3]);
    let l2 = |b, d_in| tree::<i32, L2Distance<f64>>(10, b).unwrap().map(&d_in).unwrap();
    for (b, d_in, exact) in [
        // The square of 8 is larger than all powers of the branching factor that the formula
        // contains.
        (2, 8.0, 8.0 * 5.5677643628300215),
        (3, 8.0, 8.0 * 6.324555320336759),
        (4, 8.0, 8.0 * 4.58257569495584),
        (2, 1.0, 5_f64.sqrt()),
        // 2 * sqrt(1 + 2 + 4 + 4 + 4)
        (2, 2.0, 2.0 * 15_f64.sqrt()),
        (2, 0.0, 0.0),
        (2, 1e200, 1e200 * 5.5677643628300215),
    ] {
        let (found, exact): (f64, f64) = (l2(b, d_in), exact);
        let near = exact * (1.0 - 1e-15) <= found && found <= exact * (1.0 + 1e-12);
        assert!(near, "{b} {d_in}: {found} {exact}");
    }
    assert_eq!(tree::<i32, L2Distance<i32>>(10, 3).unwrap().map(&1), Ok(2));
    assert_eq!(tree::<i32, L2Distance<i32>>(10, 3).unwrap().map(&10), Ok(64));
    assert_eq!(tree::<i32, L1Distance<i32>>(1 << 22, 2).unwrap().map(&1), Ok(23));
    assert!(tree::<i32, L1Distance<i32>>(10, 2).unwrap().map(&i32::MAX).is_err());
}
#[test]
fn lists_the_layers_from_the_root_down() {
    let tree = tree::<i32, L1Distance<i32>>(10, 2).unwrap();
    let ten = [vec![10, 8, 2, 4, 4, 2, 0, 2, 2, 2, 2, 2, 0, 0, 0], vec![1; 10]].concat();
    assert_eq!(tree.invoke(&vec![1; 10]).unwrap(), ten);
    assert_eq!(tree.invoke(&vec![1; 12]).unwrap(), ten);
    let three = [3, 3, 0, 3, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1];
    assert_eq!(tree.invoke(&vec![1; 3]).unwrap(), three);
    assert_eq!(tree.invoke(&vec![]).unwrap(), [0; 15]);
}
#[test]
fn saturates_the_exact_sum_of_each_node() {
    let tree = tree::<i32, L1Distance<i32>>(4, 2).unwrap();
    let (low, high) = (i32::MIN, i32::MAX);
    assert_eq!(tree.invoke(&vec![high, 1]).unwrap(), [high, high, 0, high, 1]);
    let found = tree.invoke(&vec![high, 1, -1, low]).unwrap();
    assert_eq!(found, [-1, high, low, high, 1, -1, low]);
    let wide = self::tree::<i128, L1Distance<i128>>(2, 2).unwrap();
    assert_eq!(wide.invoke(&vec![i128::MAX, 1]).unwrap(), [i128::MAX, i128::MAX, 1]);
    let wide = self::tree::<u128, L1Distance<u128>>(2, 2).unwrap();
    assert_eq!(wide.invoke(&vec![u128::MAX, 1]).unwrap()[0], u128::MAX >> 1);
}
#[test]
fn the_number_of_nodes_is_public_when_that_of_leaves_is() {
    let domain = VectorDomain::new(AtomDomain::<i32>::default()).with_size(3);
    let input = Space::new(domain, L1Distance::<i32>::new()).unwrap();
    let tree = make_b_ary_tree(input, 4, 2).unwrap();
    assert_eq!(tree.output().domain().size(), Some(6));
    assert!(tree.output().domain().member(&tree.invoke(&vec![1, 2, 3]).unwrap()));
}
#[test]
fn refuses_what_is_no_tree() {
    for (leaf_count, branching_factor, name) in
        [(0, 2, "leaf_count"), (5, 1, "branching_factor"), (usize::MAX, 3, "leaf_count")]
    {
        let error = tree::<i32, L1Distance<i32>>(leaf_count, branching_factor).unwrap_err();
        assert!(error.kind() == "MakeTransformation" && error.to_string().contains(name));
    }
}
#[test]
fn a_document_cannot_ask_for_a_tree_without_bound() {
    assert!(tree::<i32, L1Distance<i32>>(1 << 22, 2).is_ok());
    for leaf_count in [(1 << 22) + 1, 1 << 31, 1 << 60] {
        let error = tree::<i32, L1Distance<i32>>(leaf_count, 2).unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains(&format!("leaf_count: a tree of {leaf_count}")));
    }
    // This tree has 2^40 leaves, but at most 4 of them have a count. The other leaves are not
    // in the output, so the limit does not apply to them.
    assert_eq!(tree::<i32, L1Distance<i32>>(4, 1 << 40).unwrap().invoke(&vec![1]).unwrap(), [1, 1]);
}
