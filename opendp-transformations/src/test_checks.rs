//! Checks shared by several tests.

use std::fmt::Debug;

use opendp_core::{
    Atom, AtomDomain, Codec, DatasetMetric, DistanceOn, Domain, Metric, MetricOn, Space,
    Transformation, VectorDomain, laws,
};

use crate::symmetric::Records;

/// The types of all metrics on data sets.
pub(crate) mod metrics {
    pub(crate) use opendp_core::{
        ChangeOneDistance, HammingDistance, InsertDeleteDistance, SymmetricDistance,
    };
}

/// Make the space of all data sets, or of the data sets of a known size.
pub(crate) fn space<T: Atom, M: DatasetMetric + Default + MetricOn<Records<T>>>(
    size: Option<usize>,
) -> Space<Records<T>, M> {
    let domain = VectorDomain::new(AtomDomain::default());
    let domain = if let Some(size) = size { domain.with_size(size) } else { domain };
    Space::new(domain, M::default()).unwrap()
}

/// Check that `f(x ++ y) = f(x) ++ f(y)`, where `++` joins two data sets. Every function that acts
/// on each record alone has this property.
pub(crate) fn row_law<DI, MI, DO, MO, I, O>(
    transformation: &Transformation<DI, MI, DO, MO>,
    data: &[Vec<I>],
) -> Result<usize, String>
where
    DI: Domain<Carrier = Vec<I>>,
    MI: Metric,
    DO: Domain<Carrier = Vec<O>>,
    MO: Metric,
    I: Clone + Debug,
    O: Clone + Codec,
{
    let run = |x: &Vec<I>| transformation.invoke(x).map_err(|error| error.to_string());
    let mut cases = 0;
    for x in data {
        for y in data {
            let joint = run(&[&x[..], y].concat())?.to_json();
            let apart = [run(x)?, run(y)?].concat().to_json();
            if joint != apart {
                return Err(format!("{x:?} and {y:?} give {apart}, and jointly {joint}"));
            }
            cases += 1;
        }
    }
    Ok(cases)
}

/// Check all laws of a transformation that acts on each record alone. Also check that the map of
/// the transformation returns 3 for the distance 3. Make these checks once for data of unknown
/// size, and once for data of size 2.
#[track_caller]
pub(crate) fn check_rows<D, M, E, MO>(
    element: &D,
    alphabet: &[D::Carrier],
    make: impl Fn(
        Space<VectorDomain<D>, M>,
    ) -> opendp_core::Result<Transformation<VectorDomain<D>, M, VectorDomain<E>, MO>>,
) where
    D: Domain,
    E: Domain,
    M: DatasetMetric + Default + DistanceOn<VectorDomain<D>>,
    MO: DatasetMetric + Default + DistanceOn<VectorDomain<E>>,
    D::Carrier: Debug,
    E::Carrier: Debug,
{
    let unsized_ = VectorDomain::new(element.clone());
    for domain in [unsized_.clone(), unsized_.with_size(2)] {
        // Some metrics require a known size. For these metrics, the case of unknown size is
        // skipped.
        let Ok(input) = Space::new(domain, M::default()) else { continue };
        let made = make(input).unwrap();
        let longest = if 4 < alphabet.len() { 2 } else { 3 };
        assert!(laws::all(&made, alphabet, longest).unwrap() > 0);
        assert!(row_law(&made, &laws::vectors(alphabet, 2)).unwrap() > 0);
        assert_eq!(made.map(&3), Ok(3));
    }
}

/// List all `n!` orders of `n` items. Equal items at different places count as different.
pub(crate) fn orders<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let insert = |order: Vec<T>| {
        (0..=order.len()).map(move |place| {
            let mut longer = order.clone();
            longer.insert(place, first.clone());
            longer
        })
    };
    orders(rest).into_iter().flat_map(insert).collect()
}

/// Check the map of a random transformation. For two inputs at distance at most 2, there must be a
/// joint distribution of both outputs. In this joint distribution, the distance between the outputs
/// must always be at most the value of the map. `outputs` lists all outputs of an input. All these
/// outputs are equally likely.
///
/// Repeat each of the two lists of outputs until both lists have the same length. Match each item
/// of the first repeated list with an item of the second. The distance within each pair must be at
/// most the value of the map. The joint distribution exists if and only if all items can be matched
/// in this way.
pub(crate) fn couples<DI, MI, DO, MO>(
    transformation: &Transformation<DI, MI, DO, MO>,
    data: &[DI::Carrier],
    outputs: impl Fn(&DI::Carrier) -> Vec<DO::Carrier>,
) -> Result<usize, String>
where
    DI: Domain,
    MI: DistanceOn<DI, Distance = u32>,
    DO: Domain,
    MO: DistanceOn<DO, Distance = u32>,
    DI::Carrier: Debug,
{
    let (input, output) = (transformation.input(), transformation.output());
    let members: Vec<_> = data.iter().filter(|x| input.domain().member(x)).collect();
    let mut cases = 0;
    for x in &members {
        for y in &members {
            let d_in = input.distance(x, y).map_err(|error| error.to_string())?;
            let Some(d_in) = d_in.filter(|d| *d <= 2) else { continue };
            let d_out = transformation.map(&d_in).map_err(|error| error.to_string())?;
            let (left, right) = (outputs(x), outputs(y));
            let near = |a: &DO::Carrier, b: &DO::Carrier| {
                output.distance(a, b).is_ok_and(|d| d.is_some_and(|d| d <= d_out))
            };
            if !matches(&left, &right, near) {
                return Err(format!(
                    "outputs of {x:?} and {y:?} at {d_in} do not couple at {d_out}"
                ));
            }
            cases += 1;
        }
    }
    Ok(cases)
}
/// Return whether the items of two lists can be matched so that `near` holds for all pairs. Both
/// lists are first repeated until they have the same length.
fn matches<T>(left: &[T], right: &[T], near: impl Fn(&T, &T) -> bool) -> bool {
    let (n, m) = (left.len(), right.len());
    // Find the least common multiple of both lengths.
    let longer = (n.max(m)..).find(|length| length % n == 0 && length % m == 0).unwrap();
    let edges: Vec<Vec<bool>> =
        left.iter().map(|a| right.iter().map(|b| near(a, b)).collect()).collect();
    let mut partner: Vec<Option<usize>> = vec![None; longer];
    (0..longer)
        .all(|i| augment(i, &|i, j| edges[i % n][j % m], &mut partner, &mut vec![false; longer]))
}
/// Find a partner in the right list for item `i` of the left list. Return whether there is a
/// partner. Other items of the left list that already have a partner can get another partner.
/// `seen` marks the items of the right list that were tried.
fn augment(
    i: usize,
    near: &impl Fn(usize, usize) -> bool,
    partner: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for j in 0..partner.len() {
        if near(i, j) && !std::mem::replace(&mut seen[j], true) {
            let free = match partner[j] {
                None => true,
                Some(other) => augment(other, near, partner, seen),
            };
            if free {
                partner[j] = Some(i);
                return true;
            }
        }
    }
    false
}

#[test]
fn matches_what_can_be_matched_and_nothing_else() {
    let near = |a: &i32, b: &i32| (a - b).abs() <= 1;
    assert!(matches(&[0, 1], &[1, 2], near));
    assert!(matches(&[1], &[0, 2], near));
    assert!(!matches(&[0, 0], &[1, 2], near));
    assert!(!matches(&[0], &[1, 2], near));
    assert_eq!(orders(&[1, 2, 3]).len(), 6);
}

#[test]
fn repeats_lists_of_any_lengths() {
    assert!(matches(&[0_i32, 0, 2], &[0, 2], |a, b| (a - b).abs() <= 2));
    assert!(!matches(&[0, 0, 2], &[0, 2], |a, b| a == b));
}
