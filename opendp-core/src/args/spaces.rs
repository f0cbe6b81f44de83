//! Spaces as arguments.

use std::any::TypeId;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::LazyLock;

use super::{Arg, Argument, wrong};
use crate::erased::{AnyDomain, AnyMetric};
use crate::space::{Best, Untyped, fits};
use crate::{
    ArgumentType, DiscreteDistance, Domain, Error, Metric, MetricOn, Named, Registration, Result,
    Space, TypeName, UserDistance, UserDomain,
};

impl<D: Domain, M: MetricOn<D>> Argument for Space<D, M> {
    fn type_name() -> TypeName {
        TypeName::applied("Space", &[D::type_name, M::type_name])
    }
    fn accepts(arg: &Arg) -> bool {
        arg.accepted(TypeId::of::<D>(), views::<M>)
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        let name = <Self as Argument>::type_name;
        match arg.untyped(TypeId::of::<D>(), view::<M>, fits::<D, M>, name) {
            Ok(untyped) => Ok(Space { untyped, types: PhantomData }),
            Err(error) => Err(error),
        }
    }
    const STOOD_FOR: fn(&Arg) -> Option<TypeName> =
        if M::STANDS { stood_for } else { super::stands_for_none };
}
fn stood_for(arg: &Arg) -> Option<TypeName> {
    let pair = arg.space()?;
    Some(TypeName::generic("Space", [pair.domain.inner_type(), pair.metric.inner_type()]))
}
fn pair_on(arg: &Arg, domain: TypeId) -> Option<Pair<'_>> {
    arg.space().filter(|pair| pair.domain.inner_id() == domain)
}
fn views<M: Metric>(metric: &AnyMetric) -> bool {
    M::view(metric).is_some()
}
fn view<M: Metric>(metric: &AnyMetric) -> Option<AnyMetric> {
    M::view(metric).map(|metric| AnyMetric::new(metric))
}
/// The domain and the metric of the space that an argument describes.
struct Pair<'a> {
    domain: &'a AnyDomain,
    metric: &'a AnyMetric,
    /// Whether an earlier check found that the domain and the metric form a space.
    checked: bool,
    best: Best,
}
impl Arg {
    /// Return whether this argument describes a space with two properties: the domain has the type
    /// `domain`, and the function `views` accepts the metric.
    fn accepted(&self, domain: TypeId, views: fn(&AnyMetric) -> bool) -> bool {
        pair_on(self, domain).is_some_and(|pair| views(pair.metric))
    }
    /// Return the space that this argument describes. The domain of this space must have the type
    /// `domain`, and `view` must accept its metric. If the domain and the metric come from a
    /// pipeline document, `fits` checks that they form a space. `expected` returns the name of the
    /// expected type, which the message of an error states.
    fn untyped(
        &self,
        domain: TypeId,
        view: fn(&AnyMetric) -> Option<AnyMetric>,
        fits: fn(&Untyped) -> Result<()>,
        expected: fn() -> TypeName,
    ) -> Result<Untyped> {
        let seen = pair_on(self, domain).and_then(|pair| Some((view(pair.metric)?, pair)));
        let Some((metric, pair)) = seen else { return Err(wrong(&expected(), self)) };
        let space = Untyped::new(pair.domain.clone(), metric, pair.best);
        if pair.checked { Ok(space) } else { space.checked(fits) }
    }
    /// Return the domain and the metric, if this argument describes a space.
    fn space(&self) -> Option<Pair<'_>> {
        match self {
            Arg::Space(space) => Some(Pair {
                domain: space.domain(),
                metric: space.metric(),
                checked: true,
                best: space.untyped.best(),
            }),
            Arg::Pair(domain, metric) => {
                Some(Pair { domain, metric, checked: false, best: Best::Unknown })
            }
            _ => None,
        }
    }
}

/// A space whose domain and metric have any types. If the domain and the metric come from a
/// pipeline document, `from_arg` checks that they form a space. Let `D` and `M` be the types of the
/// domain and the metric. Only code that is compiled for `D` and `M` can make this check. So
/// `from_arg` calls code that was compiled for a registered function with a parameter of the type
/// `Space<D, M>`.
impl Argument for Space<AnyDomain, AnyMetric> {
    fn type_name() -> TypeName {
        TypeName::generic("Space", [AnyDomain::type_name(), AnyMetric::type_name()])
    }
    fn accepts(arg: &Arg) -> bool {
        match arg {
            Arg::Space(_) | Arg::Pair(..) => true,
            Arg::Value(value) => value.is::<Self>(),
            _ => false,
        }
    }
    fn from_arg(arg: &Arg) -> Result<Self> {
        match arg {
            Arg::Space(space) => Ok(space.clone()),
            Arg::Pair(domain, metric) => checked(domain, metric),
            Arg::Value(value) => value
                .downcast_ref()
                .cloned()
                .ok_or_else(|| wrong(&<Self as Argument>::type_name(), arg)),
            _ => Err(wrong(&<Self as Argument>::type_name(), arg)),
        }
    }
}
/// Make a space from a domain and a metric whose types are known only at run time.
fn checked(domain: &AnyDomain, metric: &AnyMetric) -> Result<Space<AnyDomain, AnyMetric>> {
    // Skip the check in three cases. A domain of a user fits every metric. A metric of a user and
    // the discrete distance fit every domain.
    let fits_all = metric.is::<UserDistance>() || metric.is::<DiscreteDistance>();
    if !(domain.is::<UserDomain>() || fits_all) {
        let name = TypeName::generic("Space", [domain.inner_type(), metric.inner_type()]);
        let Some(check) = SPACES.get(&name) else {
            return Err(Error::MetricSpace(format!(
                "no registered function takes a {name}, so nothing checks that the metric measures \
                 distances on the domain; choose another metric, or make the space in Rust"
            )));
        };
        check.decode(&Arg::Pair(domain.clone(), metric.clone()))?;
    }
    Ok(Space::of(domain.clone(), metric.clone()))
}
/// The parameter types `Space<D, M>` of all registered functions. The key of each type is the name
/// of the type.
static SPACES: LazyLock<HashMap<TypeName, ArgumentType>> = LazyLock::new(|| {
    let signatures = Registration::all().flat_map(Registration::signatures);
    let parameters = signatures.flat_map(|signature| signature.parameters);
    let spaces = parameters.filter(|parameter| parameter.type_name.head() == "Space");
    spaces.map(|parameter| (parameter.type_name.clone(), parameter.argument())).collect()
});
