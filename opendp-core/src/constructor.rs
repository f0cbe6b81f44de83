//! Plain functions that can be registered, and what they make.

use std::borrow::Cow;

use crate::erased::{AnyDomain, AnyMeasure, AnyMetric};
use crate::{
    Args, Argument, Carrier, Constructed, Domain, Function, Kind, Measure, Measurement, Metric,
    Named, Odometer, Parameter, Result, TheDomain, TheMeasure, TheMetric, Transformation, TypeName,
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
        TypeName::generic(
            "Measurement",
            [DI::type_name(), MI::type_name(), MO::type_name(), TO::type_name()],
        )
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
        TypeName::generic("Function", [I::type_name(), O::type_name()])
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
    TheMetric Metric Metric AnyMetric;
    TheMeasure Measure Measure AnyMeasure;
}

/// A plain function whose parameters are [`Argument`]s and whose result can be erased.
///
/// Implemented for every `fn(A, B, ..) -> Result<R>` of up to seven parameters.
#[diagnostic::on_unimplemented(
    message = "this function cannot be registered",
    note = "every parameter must be an `Argument`, and it must return a `Result` of something `Made`"
)]
pub trait Constructor<Signature> {
    /// An array with a name and a default for each parameter.
    type Specs;
    /// Describe the parameters.
    fn parameters(&self, specs: Self::Specs) -> Vec<Parameter>;
    /// The kind of the result.
    fn kind(&self) -> Kind;
    /// The name of the type of the result.
    fn output(&self) -> TypeName;
    /// Call with arguments looked up by name.
    ///
    /// # Errors
    /// Those of decoding the arguments, and of the function.
    fn call(&self, specs: Self::Specs, args: &Args) -> Result<Constructed>;
}
/// A parameter's name, and its default as a text of JSON.
pub type Spec = (&'static str, Option<&'static str>);

macro_rules! constructors {
    ($($n:literal ($($A:ident $a:ident),*))*) => {$(
        impl<Fun, Res, $($A),*> Constructor<fn($($A),*) -> Res> for Fun
        where
            Fun: Fn($($A),*) -> Result<Res>,
            Res: Made,
            $($A: Argument),*
        {
            type Specs = [Spec; $n];
            fn parameters(&self, [$($a),*]: Self::Specs) -> Vec<Parameter> {
                vec![$(Parameter::new::<$A>($a.0, $a.1.map(Cow::Borrowed))),*]
            }
            fn kind(&self) -> Kind {
                Res::kind()
            }
            fn output(&self) -> TypeName {
                Res::type_name()
            }
            #[allow(unused_variables, reason = "a function without parameters uses no arguments")]
            fn call(&self, [$($a),*]: Self::Specs, args: &Args) -> Result<Constructed> {
                Ok(self($(args.decode::<$A>($a.0, $a.1)?),*)?.erased())
            }
        }
    )*};
}
constructors! {
    0 ()
    1 (A a)
    2 (A a, B b)
    3 (A a, B b, C c)
    4 (A a, B b, C c, D d)
    5 (A a, B b, C c, D d, E e)
    6 (A a, B b, C c, D d, E e, F f)
    7 (A a, B b, C c, D d, E e, F f, G g)
}
