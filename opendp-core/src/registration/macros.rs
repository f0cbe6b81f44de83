//! The macros that offer functions to the registry.

/// Offer a function to the registry. Make one registration for each choice of types for which the
/// function is compiled.
///
/// ```text
/// register! {
///     "clamp.rs": make_clamp(input, bounds) for T in [i32, f64], M in dataset_metrics;
/// }
/// ```
///
/// The text before the colon is the name of the file that contains the macro call. Listings show
/// the doc comment that the function has in that file.
/// `make_count as ["make_count", "acme::count"](input)` offers `make_count` under the two listed
/// names. A parameter can have a JSON literal as default: `null_category = true`. A type parameter
/// can have a default too: `TO in [i32, i64] = i32`. The macro only defines a constant. Place the
/// macro outside of any function, right below the function that it offers.
///
/// The function is compiled once for each choice of types. If a type after `as` stands for several
/// other types, the function is compiled only for the type after `as`. For example,
/// `M in [SymmetricDistance, HammingDistance] as AnyDatasetMetric` offers two signatures and
/// compiles one function. `make_it via it_at(input)` compiles `it_at` in place of `make_it`. Use
/// the form with `via` if a type of the signature stands for other types. `it_at` must take the
/// same type arguments as `make_it` and have the same effect.
/// `make_it via make_it_in as ["make_it"](input)` offers `make_it_in` under the name `make_it`,
/// with the doc comment of `make_it`. Some lists of types have names:
///
/// | name | types |
/// |---|---|
/// | `numbers` | `f32`, `f64`, `usize`, and the integers of 8 to 128 bits except `u128` |
/// | `integers` | the integers of `numbers` |
/// | `hashable_atoms` | `integers`, `bool`, `String` |
/// | `atoms` | `numbers`, `bool`, `String` |
/// | `castable_atoms` | the integers of 32 and 64 bits, `usize`, `f32`, `f64`, `bool`, `String` |
/// | `dataset_metrics` | the four metrics on data sets, `as AnyDatasetMetric` |
/// | `unsized_metrics` | the two dataset metrics that need no known size, `as AnyDatasetMetric` |
#[macro_export]
macro_rules! register {
    ($file:literal : $f:ident as [$($name:literal),+ $(,)?] $($rest:tt)*) => {
        $crate::__register_named!($file $f ($f $f) [$($name),+] $($rest)*);
    };
    ($file:literal : $f:ident via $code:ident as [$($name:literal),+ $(,)?] $($rest:tt)*) => {
        $crate::__register_named!($file $f ($code $code) [$($name),+] $($rest)*);
    };
    ($file:literal : $f:ident ($($p:tt)*) $($rest:tt)*) => {
        $crate::__register_named!($file $f ($f $f) [stringify!($f)] ($($p)*) $($rest)*);
    };
    ($file:literal : $f:ident via $code:ident ($($p:tt)*) $($rest:tt)*) => {
        $crate::__register_named!($file $f ($f $code) [stringify!($f)] ($($p)*) $($rest)*);
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __register_named {
    ($file:literal $f:ident $run:tt [$($name:expr),+] ($($p:ident $(= $d:tt)?),* $(,)?)
        $($rest:tt)*) => {
        const _: () = {
            static FAMILY: $crate::Family = $crate::Family {
                names: &[$($name),+],
                specs: &[$((stringify!($p), $crate::__default_value!($($d)?))),*],
                function: stringify!($f),
                source: include_str!($file),
                origin: $crate::Origin {
                    package: env!("CARGO_PKG_NAME"),
                    version: env!("CARGO_PKG_VERSION"),
                    module: module_path!(),
                },
            };
            $crate::__private::submit! { $crate::__register_types!(($run $($p)*) $($rest)*) }
        };
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __register_types {
    ($f:tt $(for $($g:ident in $types:tt $(as $code:ty)? $(= $gd:ty)?),+)? $(,)?;) => {
        $crate::__register!($f [] [$($([$g $types [$($code)?] [$($gd)?]])+)?])
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    // Every type parameter has a chosen type, so write one registration.
    ((($f:ident $run:ident) $($p:ident)*) [$([$g:ident ($code:ty) [$first:ty $(, $ty:ty)*] [$($gd:ty)?]])*] []) => {
        $crate::__private::Registrations::One(&$crate::Registration {
            family: &FAMILY,
            generics: &[$($crate::Generic {
                name: stringify!($g),
                types: &[
                    <$first as $crate::Named>::type_name
                    $(, <$ty as $crate::Named>::type_name)*
                ],
                compiled: <$code as $crate::Named>::type_name,
                default: $crate::__default_type!($($gd)?),
            }),*],
            types: $crate::__private::types_of(&$run::<$($code),*>),
            made: $crate::__private::made_of(&$run::<$($code),*>),
            construct: {
                fn construct(call: &mut $crate::Call) -> $crate::Result<$crate::Constructed> {
                    const TYPES: &[$crate::ArgumentType] =
                        $crate::__private::types_of(&$run::<$($code),*>);
                    // With a tuple, the compiler writes no code that drops arguments after a panic.
                    if call.fits(TYPES) {
                        match ($($crate::__argument!(call $p),)*) {
                            ($($p,)*) => $crate::Made::taken($run::<$($code),*>($($p),*)),
                        }
                    } else {
                        call.misfit(TYPES)
                    }
                }
                construct
            },
            path: $crate::__private::path_of(&$f::<$($first),*>),
        })
    };
    // For the first type parameter without a chosen type, choose each possible type.
    ($f:tt $done:tt [$first:tt $($rest:tt)*]) => {
        $crate::__register!(@each $f $done $first [$($rest)*])
    };
    (@each $f:tt $done:tt [$g:ident numbers [] $gd:tt] $rest:tt) => {
        $crate::__register!(@each $f $done
            [$g [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, f32, f64] [] $gd] $rest)
    };
    (@each $f:tt $done:tt [$g:ident integers [] $gd:tt] $rest:tt) => {
        $crate::__register!(@each $f $done
            [$g [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize] [] $gd] $rest)
    };
    (@each $f:tt $done:tt [$g:ident hashable_atoms [] $gd:tt] $rest:tt) => {
        $crate::__register!(@each $f $done
            [$g [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, bool, String] [] $gd] $rest)
    };
    (@each $f:tt $done:tt [$g:ident atoms [] $gd:tt] $rest:tt) => {
        $crate::__register!(@each $f $done
            [$g [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, f32, f64, bool, String]
            [] $gd] $rest)
    };
    (@each $f:tt $done:tt [$g:ident castable_atoms [] $gd:tt] $rest:tt) => {
        $crate::__register!(@each $f $done
            [$g [i32, i64, u32, u64, usize, f32, f64, bool, String] [] $gd] $rest)
    };
    (@each $f:tt $done:tt [$g:ident dataset_metrics [] $gd:tt] $rest:tt) => {
        $crate::__register!(@each $f $done
            [$g [$crate::SymmetricDistance, $crate::InsertDeleteDistance,
                $crate::ChangeOneDistance, $crate::HammingDistance]
            [$crate::AnyDatasetMetric] $gd] $rest)
    };
    (@each $f:tt $done:tt [$g:ident unsized_metrics [] $gd:tt] $rest:tt) => {
        $crate::__register!(@each $f $done
            [$g [$crate::SymmetricDistance, $crate::InsertDeleteDistance]
            [$crate::AnyDatasetMetric] $gd] $rest)
    };
    (@each $f:tt $done:tt [$g:ident [$($ty:ty),+ $(,)?] [] $gd:tt] $rest:tt) => {
        $crate::__private::Registrations::Each(&[
            $($crate::__register!(@push $f $done [$g ($ty) [$ty] $gd] $rest)),+
        ])
    };
    (@each $f:tt $done:tt [$g:ident [$($ty:ty),+ $(,)?] [$code:ty] $gd:tt] $rest:tt) => {
        $crate::__register!(@push $f $done [$g ($code) [$($ty),+] $gd] $rest)
    };
    (@push $f:tt [$($done:tt)*] $next:tt $rest:tt) => {
        $crate::__register!($f [$($done)* $next] $rest)
    };
}
/// Take the same input as [`register!`](crate::register), but register nothing. Only use the
/// functions and types in this input.
///
/// Unit tests do not find functions by name, and registrations take long to compile. So builds of
/// unit tests in this project use this macro instead of `register!`. This macro uses the functions
/// and types, so that the compiler does not warn about unused code.
#[macro_export]
macro_rules! mention {
    ($file:literal : $f:ident as [$($names:tt)*] $($rest:tt)*) => {
        $crate::mention! { $file : $f $($rest)* }
    };
    ($file:literal : $f:ident via $code:ident $($rest:tt)*) => {
        $crate::mention! { $file : $code $($rest)* }
    };
    ($file:literal : $f:ident ($($parameters:tt)*) $(,)?;) => {
        const _: () = {
            let _ = $f;
        };
    };
    ($file:literal : $f:ident ($($parameters:tt)*)
        for $($g:ident in $types:tt $(as $code:ty)? $(= $default:ty)?),+ $(,)?;) => {
        const _: () = {
            let _ = $f::<$($crate::__mentioned!($types $($code)?)),+>;
            $($crate::__mentioned!(all $types);)+
            $($(let _: Option<$default> = None;)?)+
        };
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __mentioned {
    (all [$($t:ty),+ $(,)?]) => {
        $(let _: Option<$t> = None;)+
    };
    (all $list:ident) => {};
    ([$first:ty $(, $t:ty)* $(,)?]) => { $first };
    ([$($t:ty),+ $(,)?] $code:ty) => { $code };
    (dataset_metrics) => { $crate::AnyDatasetMetric };
    (unsized_metrics) => { $crate::AnyDatasetMetric };
    ($list:ident) => { i32 };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __argument {
    ($call:ident $parameter:ident) => {
        $call.next()
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __default_type {
    () => {
        None
    };
    ($t:ty) => {
        Some(<$t as $crate::Named>::type_name)
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __default_value {
    () => {
        None
    };
    ($d:tt) => {
        Some(stringify!($d))
    };
}
