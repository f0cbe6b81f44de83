//! Arguments that the input domain may already state.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, Bounds, DatasetMetric, Domain, Error, Metric, MetricOn, Result, Space,
    Transformation, VectorDomain,
};

use crate::make_clamp;
use crate::symmetric::Records;

/// Check that the size is known, and that it is the one stated.
pub(crate) fn known_size<T: Atom>(
    domain: &Records<T>,
    stated: Option<usize>,
    advice: &str,
) -> Result<usize> {
    match (domain.size(), stated) {
        (Some(known), Some(stated)) if known != stated => Err(Error::MakeTransformation(format!(
            "size: expected {known}, the size of the input, found {stated}"
        ))),
        (Some(known), _) => Ok(known),
        (None, _) => Err(Error::MakeTransformation(format!(
            "input: the number of records must be known; {advice}"
        ))),
    }
}

/// Continue from records within the stated bounds, which are those of the domain or are set by a
/// clamp.
pub(crate) fn within_bounds<T, M, DO, MO>(
    input: Space<Records<T>, M>,
    stated: Option<Bounds<T>>,
    next: impl FnOnce(Space<Records<T>, M>) -> Result<Transformation<Records<T>, M, DO, MO>>,
) -> Result<Transformation<Records<T>, M, DO, MO>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<Records<T>>,
    DO: Domain,
    MO: Metric,
{
    match (input.domain().element().bounds(), stated) {
        (Some(known), Some(stated)) if *known != stated => Err(Error::MakeTransformation(format!(
            "bounds: expected [{}, {}], the bounds of the input, found [{}, {}]",
            known.lower(),
            known.upper(),
            stated.lower(),
            stated.upper()
        ))),
        (None, Some(stated)) => make_clamp(input, stated)?.then(next),
        _ => next(input),
    }
}

/// Data sets of bounded records, optionally of known size.
pub(crate) fn bounded<T: Atom, M: MetricOn<Records<T>> + Default>(
    size: Option<usize>,
    bounds: Bounds<T>,
) -> Result<Space<Records<T>, M>> {
    let domain = VectorDomain::new(AtomDomain::bounded(bounds));
    Space::new(if let Some(size) = size { domain.with_size(size) } else { domain }, M::default())
}
