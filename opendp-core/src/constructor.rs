//! Plain functions that can be registered, and what they make.

use std::borrow::Cow;

use crate::args::{at_argument, missing};
use crate::erased::{AnyDomain, AnyMeasure};
use crate::{
    Arg, Args, Argument, ArgumentType, Carrier, Constructed, Domain, Error, Function, Kind,
    Measure, Measurement, Metric, Named, Odometer, Result, TheDomain, TheMeasure, TheMetric,
    Transformation, TypeName,
};

/// What a registered function may return.
#[diagnostic::on_unimplemented(
    message = "a registered function cannot make `{Self}`",
    note = "it makes a transformation, a measurement, a function, or a wrapped domain, metric or measure"
)]
pub trait Made {
    /// The kind of the object.
    fn kind() -> Kind;
    /// The name of its type.
    fn type_name() -> TypeName;
    /// Erase its type.
    fn erased(&self) -> Constructed;
}
impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> Made for Transformation<DI, MI, DO, MO> {
    fn kind() -> Kind {
        Kind::Transformation
    }
    fn type_name() -> TypeName {
        <Self as Named>::type_name()
    }
    fn erased(&self) -> Constructed {
        Constructed::of(&self.input, &self.output, self.function.stage(), self.map.bound())
    }
}
impl<DI: Domain, MI: Metric, MO: Measure, TO: Carrier> Made for Measurement<DI, MI, MO, TO> {
    fn kind() -> Kind {
        Kind::Measurement
    }
    fn type_name() -> TypeName {
        TypeName::applied(
            "Measurement",
            &[DI::type_name, MI::type_name, MO::type_name, TO::type_name],
        )
    }
    #[inline(never)]
    fn erased(&self) -> Constructed {
        Constructed::Measurement(self.erase())
    }
}
impl<DI: Domain, MI: Metric, MO: Measure> Made for Odometer<DI, MI, MO> {
    fn kind() -> Kind {
        Kind::Odometer
    }
    fn type_name() -> TypeName {
        Odometer::<DI, MI, MO>::type_name()
    }
    fn erased(&self) -> Constructed {
        Constructed::Odometer(self.erase())
    }
}
impl<I: Carrier, O: Carrier> Made for Function<I, O> {
    fn kind() -> Kind {
        Kind::Function
    }
    fn type_name() -> TypeName {
        TypeName::applied("Function", &[I::type_name, O::type_name])
    }
    #[inline(never)]
    fn erased(&self) -> Constructed {
        Constructed::Function(self.erase())
    }
}
macro_rules! made {
    ($($the:ident $kind:ident $bound:ident $any:ident;)*) => {$(
        impl<T: $bound> Made for $the<T> {
            fn kind() -> Kind {
                Kind::$kind
            }
            fn type_name() -> TypeName {
                <T as Named>::type_name()
            }
            fn erased(&self) -> Constructed {
                Constructed::$kind($any::new(self.0.clone()))
            }
        }
    )*};
}
made! {
    TheDomain Domain Domain AnyDomain;
    TheMeasure Measure Measure AnyMeasure;
}
impl<T: Metric> Made for TheMetric<T> {
    fn kind() -> Kind {
        Kind::Metric
    }
    fn type_name() -> TypeName {
        <T as Named>::type_name()
    }
    fn erased(&self) -> Constructed {
        Constructed::Metric(self.0.erased())
    }
}

/// A plain function whose parameters are [`Argument`]s and whose result can be erased.
///
/// Implemented for every `fn(A, B, ..) -> Result<R>` of up to seven parameters.
#[diagnostic::on_unimplemented(
    message = "this function cannot be registered",
    note = "every parameter must be an `Argument`, and it must return a `Result` of something `Made`"
)]
pub trait Constructor<Signature> {
    /// The types of the parameters, in order.
    const TYPES: &'static [ArgumentType];
    /// What it makes.
    const MADE: MadeType;
    /// Call with arguments looked up by name.
    ///
    /// # Errors
    /// Those of decoding the arguments, and of the function.
    fn call(&self, call: &Call<'_>) -> Result<Constructed>;
}
/// A parameter's name, and its default as a text of JSON.
pub type Spec = (&'static str, Option<&'static str>);

/// What a registered function makes.
#[derive(Clone, Copy, Debug)]
pub struct MadeType {
    /// The kind of the object.
    pub kind: fn() -> Kind,
    /// The name of its type.
    pub type_name: fn() -> TypeName,
}

/// Arguments, in the order of the parameters that take them.
#[derive(Debug)]
pub struct Call<'a> {
    specs: &'static [Spec],
    types: &'static [ArgumentType],
    /// Nothing where an argument is missing and has no default.
    args: Vec<Option<Cow<'a, Arg>>>,
}
impl<'a> Call<'a> {
    pub(crate) fn new(
        specs: &'static [Spec],
        types: &'static [ArgumentType],
        args: &'a Args,
    ) -> Self {
        let args = specs.iter().map(|(name, default)| args.find(name, *default)).collect();
        Call { specs, types, args }
    }
    /// Decode an argument.
    ///
    /// # Errors
    /// Those of [`Args::decode`].
    fn decode<A: Argument>(&self, place: usize) -> Result<A> {
        match self.arg(place) {
            Ok(arg) => match A::from_arg(arg) {
                Ok(argument) => Ok(argument),
                Err(error) => Err(self.at(place, error)),
            },
            Err(error) => Err(error),
        }
    }
    fn arg(&self, place: usize) -> Result<&Arg> {
        match self.args.get(place) {
            Some(Some(arg)) => Ok(arg),
            _ => Err(match self.types.get(place) {
                Some(expected) => missing(self.name(place), &expected.type_name()),
                None => missing(self.name(place), &TypeName::plain("value")),
            }),
        }
    }
    #[cold]
    fn at(&self, place: usize, error: Error) -> Error {
        at_argument(self.name(place), error)
    }
    fn name(&self, place: usize) -> &'static str {
        self.specs.get(place).map_or("", |(name, _)| name)
    }
}

/// The types of a function's parameters.
pub const fn types_of<S, F: Constructor<S>>(_: &F) -> &'static [ArgumentType] {
    F::TYPES
}
/// What a function makes.
pub const fn made_of<S, F: Constructor<S>>(_: &F) -> MadeType {
    F::MADE
}

/// Arguments, decoded once for all functions that take arguments of these types.
trait Decoded: Sized {
    fn decoded(call: &Call<'_>) -> Result<Self>;
}
/// Erase what was made, once for all functions that make this.
fn erased<M: Made>(made: Result<M>) -> Result<Constructed> {
    match made {
        Ok(made) => Ok(made.erased()),
        Err(error) => Err(error),
    }
}

macro_rules! constructors {
    ($(($($A:ident $place:literal),*))*) => {$(
        impl<Fun, Res, $($A),*> Constructor<fn($($A),*) -> Res> for Fun
        where
            Fun: Fn($($A),*) -> Result<Res>,
            Res: Made,
            $($A: Argument),*
        {
            const TYPES: &'static [ArgumentType] = &[$(ArgumentType::of::<$A>()),*];
            const MADE: MadeType = MadeType { kind: Res::kind, type_name: Res::type_name };
            #[allow(non_snake_case, reason = "variables are named like their types")]
            fn call(&self, call: &Call<'_>) -> Result<Constructed> {
                match Decoded::decoded(call) {
                    Ok(($($A,)*)) => erased(self($($A),*)),
                    Err(error) => Err(error),
                }
            }
        }
        impl<$($A: Argument),*> Decoded for ($($A,)*) {
            #[allow(unused_variables, reason = "a function may have no parameters")]
            fn decoded(call: &Call<'_>) -> Result<Self> {
                Ok(($(call.decode::<$A>($place)?,)*))
            }
        }
    )*};
}
constructors! {
    ()
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
}
