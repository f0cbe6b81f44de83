//! Checks that several tests share.

use std::fmt::Debug;

use opendp_core::{
    Codec, DatasetMetric, DistanceOn, Domain, Metric, Space, Transformation, VectorDomain, laws,
};

/// Check that `f(x ++ y) = f(x) ++ f(y)`, which is what a function of each record alone obeys.
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

/// Check all laws of a function of each record alone, with and without a known size.
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
    M: DatasetMetric + DistanceOn<VectorDomain<D>>,
    MO: DatasetMetric + DistanceOn<VectorDomain<E>>,
    D::Carrier: Debug,
    E::Carrier: Debug,
{
    let unsized_ = VectorDomain::new(element.clone());
    for domain in [unsized_.clone(), unsized_.with_size(2)] {
        // A metric of data sets of one size does not fit data of any size.
        let Ok(input) = Space::new(domain, M::default()) else { continue };
        let made = make(input).unwrap();
        assert!(laws::all(&made, alphabet, 3).unwrap() > 0);
        assert!(row_law(&made, &laws::vectors(alphabet, 2)).unwrap() > 0);
        assert_eq!(made.map(&3), Ok(3));
    }
}
