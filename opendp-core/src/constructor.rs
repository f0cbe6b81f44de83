//! Plain functions that can be registered, and their results.

use std::any::Any;

use crate::args::{at_argument, missing};
use crate::erased::{AnyDomain, AnyMeasure};
use crate::{
    Args, Argument, ArgumentType, Carrier, Constructed, Domain, Error, Function, Kind, Measure,
    Measurement, Metric, Named, Odometer, Result, Space, StabilityMap, TheDomain, TheMeasure,
    TheMetric, Transformation, TypeName, measurement, transformation,
};

/// A type that a registered function can return.
#[diagnostic::on_unimplemented(
    message = "a registered function cannot make `{Self}`",
    note = "return a transformation, a measurement, an odometer, a function, `TheDomain`, `TheMetric` or `TheMeasure`"
)]
pub trait Made {
    /// Return the kind of the result.
    fn kind() -> Kind;
    /// Return the name of the type of the result.
    fn type_name() -> TypeName;
    /// Erase the type of the result.
    fn erased(&self) -> Constructed;
    /// Erase the type of `made`, the result of a function.
    ///
    /// # Errors
    /// The error in `made`.
    #[doc(hidden)]
    fn taken(made: Result<Self>) -> Result<Constructed>
    where
        Self: Sized,
    {
        match made {
            Ok(made) => Ok(made.erased()),
            Err(error) => Err(error),
        }
    }
}
impl<DI: Domain, MI: Metric, DO: Domain, MO: Metric> Made for Transformation<DI, MI, DO, MO> {
    fn kind() -> Kind {
        Kind::Transformation
    }
    fn type_name() -> TypeName {
        TypeName::applied(
            "Transformation",
            &[DI::type_name, MI::type_name, DO::type_name, MO::type_name],
        )
    }
    fn erased(&self) -> Constructed {
        Constructed::Transformation(self.erase())
    }
    fn taken(made: Result<Self>) -> Result<Constructed> {
        match made {
            Ok(Transformation {
                input: Space { untyped: input, .. },
                output: Space { untyped: output, .. },
                function: Function { stage, .. },
                map: StabilityMap { untyped: map, .. },
            }) => transformation::constructed(input, output, stage, map),
            Err(error) => Err(error),
        }
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
    fn erased(&self) -> Constructed {
        Constructed::Measurement(self.erase())
    }
    fn taken(made: Result<Self>) -> Result<Constructed> {
        match made {
            Ok(Measurement {
                input: Space { untyped: input, .. },
                function: Function { stage, .. },
                claims,
                ..
            }) => measurement::constructed(input, stage, claims),
            Err(error) => Err(error),
        }
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
    fn taken(made: Result<Self>) -> Result<Constructed> {
        match made {
            Ok(Function { stage, .. }) => Ok(Constructed::Function(Function::erased(stage))),
            Err(error) => Err(error),
        }
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
/// Every `fn(A, B, ..) -> Result<R>` with at most seven parameters implements this trait.
#[diagnostic::on_unimplemented(
    message = "this function cannot be registered",
    note = "every parameter must be an `Argument`, and it must return a `Result` of something `Made`"
)]
pub trait Constructor<Signature> {
    /// The types of the parameters of the function, in order.
    const TYPES: &'static [ArgumentType];
    /// The type of the result of the function.
    const MADE: MadeType;
    /// Call the function with decoded arguments.
    ///
    /// # Errors
    /// The errors of the function. `NotImplemented` when the decoded arguments do not have the
    /// types of the parameters.
    fn call(&self, call: &mut Call) -> Result<Constructed>;
}
/// The name of a parameter, and the default of the parameter as JSON text.
pub type Spec = (&'static str, Option<&'static str>);

/// The result type of a registered function.
#[derive(Clone, Copy, Debug)]
pub struct MadeType {
    /// The kind of the result.
    pub kind: fn() -> Kind,
    /// The name of the type of the result.
    pub type_name: fn() -> TypeName,
}

/// Decoded arguments, in the order of the parameters.
#[derive(Debug)]
pub struct Call {
    /// Each value is an `Option` of the parameter's type, so that the argument can be moved out.
    values: Vec<Box<dyn Any>>,
    taken: usize,
}
impl Call {
    /// Decode the arguments of a function, each as the type of its parameter.
    pub(crate) fn new(specs: &[Spec], types: &[ArgumentType], args: &Args) -> Result<Self> {
        let values = types.iter().enumerate().map(|(place, expected)| {
            let (name, default) = specs.get(place).copied().unwrap_or_default();
            match args.find(name, default) {
                Some(arg) => expected.decode(&arg).map_err(|error| at_argument(name, error)),
                None => Err(missing(name, &expected.type_name())),
            }
        });
        Ok(Call { values: values.collect::<Result<_>>()?, taken: 0 })
    }
    fn place(&mut self) -> &mut dyn Any {
        let place = self.taken;
        self.taken += 1;
        match self.values.get_mut(place) {
            Some(value) => &mut **value,
            None => &mut self.taken,
        }
    }
    /// Return whether the arguments were decoded as the parameter types of a function. A
    /// registration by [`register!`] always passes this check. A registration that is written by
    /// hand can be wrong: it can state the types of one function and call another function.
    ///
    /// [`register!`]: crate::register
    #[doc(hidden)]
    pub fn fits(&self, types: &[ArgumentType]) -> bool {
        self.first_misfit(types).is_none()
    }
    fn first_misfit<'a>(&self, types: &'a [ArgumentType]) -> Option<&'a ArgumentType> {
        let values = self.values.as_slice();
        let wrong = types.iter().enumerate().find(|(place, expected)| {
            !values.get(*place).is_some_and(|value| expected.is_of(&**value))
        });
        wrong.map(|(_, expected)| expected)
    }
    /// Return the error for arguments that do not [fit](Call::fits) the types of a function.
    ///
    /// # Errors
    /// Always `NotImplemented`.
    #[doc(hidden)]
    #[cold]
    pub fn misfit(&self, types: &[ArgumentType]) -> Result<Constructed> {
        let expected = self.first_misfit(types).map_or(TypeName::plain("()"), |ty| ty.type_name());
        Err(Error::NotImplemented(format!(
            "expected an argument that was decoded as `{expected}`, found another type\n\
             the registration combines the types of one function with the `construct` of another \
             function; use `register!`"
        )))
    }
    /// Return the next argument. The caller must have checked the types of all arguments with
    /// [`fits`](Call::fits).
    ///
    /// A panic in a function of the C ABI ends the process, so such a function never unwinds. The
    /// caller needs no code that drops the earlier arguments after a panic. Without the C ABI, this
    /// code was one twentieth of the compiled code of a crate that registers constructors.
    #[doc(hidden)]
    #[inline(never)]
    #[allow(improper_ctypes_definitions, reason = "no C code calls it")]
    pub extern "C" fn next<A: Argument>(&mut self) -> A {
        if let Some(place) = self.place().downcast_mut::<Option<A>>()
            && let Some(value) = place.take()
        {
            return value;
        }
        unchecked()
    }
}
#[cold]
extern "C" fn unchecked() -> ! {
    unreachable!("the types of the arguments were checked")
}
/// Return the types of a function's parameters.
pub const fn types_of<S, F: Constructor<S>>(_: &F) -> &'static [ArgumentType] {
    F::TYPES
}
/// Return the result type of a function.
pub const fn made_of<S, F: Constructor<S>>(_: &F) -> MadeType {
    F::MADE
}

macro_rules! constructors {
    ($(($($A:ident)*))*) => {$(
        impl<Fun, Res, $($A),*> Constructor<fn($($A),*) -> Res> for Fun
        where
            Fun: Fn($($A),*) -> Result<Res>,
            Res: Made,
            $($A: Argument),*
        {
            const TYPES: &'static [ArgumentType] = &[$(ArgumentType::of::<$A>()),*];
            const MADE: MadeType = MadeType { kind: Res::kind, type_name: Res::type_name };
            fn call(&self, call: &mut Call) -> Result<Constructed> {
                if call.fits(Self::TYPES) {
                    Res::taken(self($(call.next::<$A>()),*))
                } else {
                    call.misfit(Self::TYPES)
                }
            }
        }
    )*};
}
constructors! {
    ()
    (A)
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
    (A B C D E F G)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtomDomain, Bounds};

    #[test]
    fn a_registration_that_joins_two_functions_is_an_error_and_no_panic() {
        fn bounded(bounds: Bounds<i32>) -> Result<TheDomain<AtomDomain<i32>>> {
            Ok(TheDomain(AtomDomain::bounded(bounds)))
        }
        fn number(_: f64) -> Result<TheDomain<AtomDomain<i32>>> {
            Ok(TheDomain(AtomDomain::default()))
        }
        let specs: &[Spec] = &[("bounds", Some("[0, 1]"))];
        let call = || Call::new(specs, types_of(&bounded), &Args::new()).unwrap();
        assert!(Constructor::call(&bounded, &mut call()).is_ok());
        let error = Constructor::call(&number, &mut call()).unwrap_err();
        assert_eq!(error.kind(), "NotImplemented");
        assert!(error.to_string().contains("`f64`"), "{error}");
    }
}
