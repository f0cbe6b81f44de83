//! The argument type for the members of a parallel composition. The types of the members are
//! checked, and the members stay type-erased.

use std::marker::PhantomData;

use opendp_core::erased::{AnyMeasure, AnyMeasurement, AnyValue};
use opendp_core::{
    Arg, Argument, Carrier, Constructed, Domain, Error, Measure, Metric, Named, Result, TheMeasure,
    TypeName, VectorDomain,
};

/// A list of measurements of rows, one for each part. The types of the measurements are checked
/// when the list is read.
pub(super) struct Members<E, M, MO, TO> {
    pub(super) members: Vec<AnyMeasurement>,
    types: PhantomData<fn() -> (E, M, MO, TO)>,
}
impl<E, M, MO, TO> Argument for Members<E, M, MO, TO>
where
    E: Domain,
    VectorDomain<E>: Domain,
    M: Metric,
    MO: Measure,
    TO: Carrier,
{
    fn type_name() -> TypeName {
        let names =
            [<VectorDomain<E> as Named>::type_name, M::type_name, MO::type_name, TO::type_name];
        TypeName::generic("Vec", [TypeName::applied("Measurement", &names)])
    }
    fn accepts(arg: &Arg) -> bool {
        accepts(arg, is_of::<E, M, MO>)
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        let members = members_of(arg, is_of::<E, M, MO>, Self::type_name)?;
        Ok(Members { members, types: PhantomData })
    }
    const STOOD_FOR: fn(&Arg) -> Option<TypeName> = if M::STANDS { first } else { |_| None };
}
fn is_of<E, M, MO>(made: &AnyMeasurement) -> bool
where
    E: Domain,
    VectorDomain<E>: Domain,
    M: Metric,
    MO: Measure,
{
    made.input().domain().is::<VectorDomain<E>>()
        && M::view(made.input().metric()).is_some()
        && made.measure().is::<MO>()
}
fn accepts(arg: &Arg, is_of: fn(&AnyMeasurement) -> bool) -> bool {
    match arg {
        Arg::List(items) => items.iter().all(|item| match item {
            Arg::Made(Constructed::Measurement(made)) => is_of(made),
            _ => false,
        }),
        other => Vec::<AnyMeasurement>::accepts(other),
    }
}
fn members_of(
    arg: &Arg,
    is_of: fn(&AnyMeasurement) -> bool,
    expected: fn() -> TypeName,
) -> Result<Vec<AnyMeasurement>> {
    let members = Vec::<AnyMeasurement>::from_arg(arg)?;
    if !members.iter().all(is_of) {
        let found = arg.describe();
        return Err(Error::FailedCast(format!("expected a {}, found {found}", expected())));
    }
    Ok(members)
}
/// Return the type of a list of members. The first member determines this type.
fn first(arg: &Arg) -> Option<TypeName> {
    let Arg::List(items) = arg else { return None };
    let Arg::Made(Constructed::Measurement(made)) = items.first()? else { return None };
    let (domain, metric) = (made.input().domain().inner_type(), made.input().metric().inner_type());
    let names = [domain, metric, made.measure().inner_type(), <AnyValue as Named>::type_name()];
    Some(TypeName::generic("Vec", [TypeName::generic("Measurement", names)]))
}
/// Recover the type of a measure. `MO` can be a type that stands for this measure.
pub(super) fn typed<MO: Measure>(measure: AnyMeasure) -> Result<MO> {
    let measure = Arg::Made(Constructed::Measure(measure));
    TheMeasure::from_arg(&measure).map(|TheMeasure(measure)| measure)
}
