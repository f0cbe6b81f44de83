//! Builds transformations that act on each record alone.

use opendp_core::{
    Codec, DatasetMetric, Domain, Function, Metric, MetricOn, Result, Space, StabilityMap,
    Transformation, VectorDomain,
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
/// Make the function of data sets that applies `row` to each record, as [`rows`] does. The code of
/// the loop is short, but the compiler does not join several records in one vector instruction. So
/// `row` should do more work than that, such as a search.
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
    each_kept(input, element, true, function)
}
/// Build a transformation whose function keeps or drops each record alone, and then acts on each
/// kept record alone. If `all`, the function keeps all records.
pub(crate) fn each_kept<D, E, M>(
    input: Space<VectorDomain<D>, M>,
    element: E,
    all: bool,
    function: Function<Vec<D::Carrier>, Vec<E::Carrier>>,
) -> Result<Transformation<VectorDomain<D>, M, VectorDomain<E>, M>>
where
    D: Domain,
    E: Domain,
    M: DatasetMetric + MetricOn<VectorDomain<D>> + MetricOn<VectorDomain<E>>,
{
    match alike(element, all, &input) {
        Ok((output, map)) => Ok(Transformation::new(input, output, function, map)),
        Err(error) => Err(error),
    }
}
type Output<E, M> = (Space<VectorDomain<E>, M>, StabilityMap<M, M>);
/// Return the output space and the map of a function that acts on each record alone. The output has
/// the same number of records as the input if `all`. The element domain of the output can be
/// different.
fn alike<E, M>(element: E, all: bool, input: &dyn Input<M>) -> Result<Output<E, M>>
where
    E: Domain,
    M: MetricOn<VectorDomain<E>>,
{
    let domain = VectorDomain::new(element);
    let domain = match input.size() {
        Some(size) if all => domain.with_size(size),
        _ => domain,
    };
    Ok((Space::new(domain, input.metric().clone())?, StabilityMap::identity()))
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
