//! Builds transformations that act on each record alone.

use opendp_core::{
    Codec, DatasetMetric, Domain, Function, Metric, MetricOn, Result, Space, Transformation,
    VectorDomain,
};
use serde_json::Value as Json;

/// Return a function that makes the label of a function that acts on rows. The label consists of
/// the name of the constructor and the exact arguments. `Function::labelled` also stores the types
/// of the rows. So a function rejects the partial results of a different function.
pub(crate) fn call<const N: usize>(
    name: &'static str,
    arguments: [Json; N],
) -> impl Fn() -> String + Send + Sync + 'static {
    move || format!("{name}{}", Json::from(arguments.to_vec()))
}
/// Return a function that makes a label with one argument, as [`call`] does. The argument is
/// converted to JSON only when the label is used.
pub(crate) fn call_on(
    name: &'static str,
    argument: impl Codec + Send + Sync + 'static,
) -> impl Fn() -> String + Send + Sync + 'static {
    move || call(name, [argument.to_json()])()
}
/// Make the function of data sets that applies `row` to each record.
pub(crate) fn rows<I, O>(row: impl Fn(&I) -> O + Send + Sync + 'static) -> Function<Vec<I>, Vec<O>>
where
    Vec<I>: for<'a> opendp_core::Carrier<Chunk<'a> = &'a [I]>,
    Vec<O>: opendp_core::Carrier,
{
    Function::rows(move |records: &[I], out: &mut Vec<O>| {
        out.extend(records.iter().map(&row));
        Ok(())
    })
}
/// Make the function of data sets that applies `row` to each record, as [`rows`] does. The compiled
/// code is shorter, but the compiler uses no vector instructions. So use this function if `row`
/// cannot use vector instructions. An example of such a `row` is a search.
pub(crate) fn rows_by<I, O>(
    row: impl Fn(&I) -> O + Send + Sync + 'static,
) -> Function<Vec<I>, Vec<O>>
where
    Vec<I>: for<'a> opendp_core::Carrier<Chunk<'a> = &'a [I]>,
    Vec<O>: opendp_core::Carrier,
{
    Function::rows(move |records: &[I], out: &mut Vec<O>| {
        out.reserve(records.len());
        for record in records {
            out.push(row(record));
        }
        Ok(())
    })
}
/// Build a transformation whose function acts on each record alone. `element` is the element domain
/// of the output.
pub(crate) fn each<D, E, M>(
    input: Space<VectorDomain<D>, M>,
    element: E,
    function: Function<Vec<D::Carrier>, Vec<E::Carrier>>,
) -> Result<Transformation<VectorDomain<D>, M, VectorDomain<E>, M>>
where
    D: Domain,
    E: Domain,
    M: DatasetMetric + MetricOn<VectorDomain<D>> + MetricOn<VectorDomain<E>>,
{
    Transformation::each_kept(input, element, true, function)
}
/// The properties of an input space that the output space copies.
pub(crate) trait Input<M> {
    fn size(&self) -> Option<usize>;
    fn metric(&self) -> &M;
}
impl<D: Domain, M: Metric> Input<M> for Space<VectorDomain<D>, M> {
    fn size(&self) -> Option<usize> {
        self.domain().size()
    }
    fn metric(&self) -> &M {
        Space::metric(self)
    }
}
