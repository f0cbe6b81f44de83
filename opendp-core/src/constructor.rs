//! Plain functions that can be registered, and what they make.

use crate::erased::{AnyDomain, AnyMeasure};
use crate::{
    Args, Argument, ArgumentType, Carrier, Constructed, Domain, Function, Kind, Measure,
    Measurement, Metric, Named, Odometer, Result, TheDomain, TheMeasure, TheMetric, Transformation,
    TypeName,
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
    fn erased(self) -> Constructed;
}
impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> Made for Transformation<DI, MI, DO, MO> {
    fn kind() -> Kind {
        Kind::Transformation
    }
    fn type_name() -> TypeName {
        <Self as Named>::type_name()
    }
    #[inline(never)]
    fn erased(self) -> Constructed {
        Constructed::Transformation(self.erase())
    }
}
impl<DI: Domain, MI: Metric, MO: Measure, TO: Carrier> Made for Measurement<DI, MI, MO, TO> {
    fn kind() -> Kind {
        Kind::Measurement
    }
    fn type_name() -> TypeName {
        TypeName::of("Measurement", &[DI::type_name, MI::type_name, MO::type_name, TO::type_name])
    }
    #[inline(never)]
    fn erased(self) -> Constructed {
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
    fn erased(self) -> Constructed {
        Constructed::Odometer(self.erase())
    }
}
impl<I: Carrier, O: Carrier> Made for Function<I, O> {
    fn kind() -> Kind {
        Kind::Function
    }
    fn type_name() -> TypeName {
        TypeName::of("Function", &[I::type_name, O::type_name])
    }
    #[inline(never)]
    fn erased(self) -> Constructed {
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
            fn erased(self) -> Constructed {
                Constructed::$kind($any::new(self.0))
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
    fn erased(self) -> Constructed {
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

/// Arguments, and the names and defaults of the parameters that take them.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The parameters, in order.
    pub specs: &'static [Spec],
    /// The arguments, by name.
    pub args: &'a Args,
}
impl Call<'_> {
    fn decode<A: Argument>(&self, place: usize) -> Result<A> {
        let (name, default) = self.spec(place);
        self.args.decode(name, default)
    }
    fn spec(&self, place: usize) -> Spec {
        self.specs.get(place).copied().unwrap_or_default()
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
            #[allow(unused_variables, reason = "a function without parameters uses no arguments")]
            fn call(&self, call: &Call<'_>) -> Result<Constructed> {
                match self($(call.decode::<$A>($place)?),*) {
                    Ok(made) => Ok(made.erased()),
                    Err(error) => Err(error),
                }
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
