//! The seam through which crates offer functions by name.

use std::{borrow::Cow, fmt};

use crate::{Arg, Args, Argument, Constructed, Kind, Result, TypeName};

/// One function at one choice of its type parameters, as a constant that the linker collects.
///
/// A registration adds names to a function and holds no logic. It is written by
/// [`register!`](crate::register), and a program finds it through the registry if it links, and
/// names in code, the crate that wrote it.
#[derive(Clone, Copy)]
pub struct Registration {
    /// The names of the function, such as `make_clamp`. The first is the one it is listed under.
    pub names: &'static [&'static str],
    /// The type arguments, in order.
    pub generics: &'static [Generic],
    /// The parameters, in order.
    pub parameters: fn() -> Vec<Parameter>,
    /// The kind of thing that the function makes.
    pub kind: fn() -> Kind,
    /// The name of the type that the function makes.
    pub output: fn() -> TypeName,
    /// Decode the arguments, call the function, erase the result.
    pub construct: fn(&Args) -> Result<Constructed>,
    /// The identity of the function: its path in its own crate, wherever it is registered.
    pub identity: fn() -> &'static str,
    /// The name of the function in its source.
    pub function: &'static str,
    /// The source in which the function is documented.
    pub source: &'static str,
    /// Where the registration was written.
    pub origin: Origin,
}
inventory::collect!(Registration);

/// A type argument, such as `T = i32`.
#[derive(Clone, Copy, Debug)]
pub struct Generic {
    /// The name of the type parameter.
    pub name: &'static str,
    /// The name of the type.
    pub type_name: fn() -> TypeName,
    /// The name of the type that is meant when nothing decides the parameter.
    pub default: Option<fn() -> TypeName>,
}
/// A parameter, such as `bounds: Bounds<i32>`.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name of the parameter.
    pub name: Cow<'static, str>,
    /// The name of its type.
    pub type_name: TypeName,
    /// The value that is meant when it is absent, as a text of JSON.
    pub default: Option<Cow<'static, str>>,
    /// Whether an argument is of a kind that fits.
    pub accepts: fn(&Arg) -> bool,
    /// Whether an argument decodes.
    pub decodes: fn(&Arg) -> Result<()>,
}
impl Parameter {
    /// Describe a parameter of type `A`, with a default as a text of JSON.
    pub fn new<A: Argument>(
        name: impl Into<Cow<'static, str>>,
        default: Option<Cow<'static, str>>,
    ) -> Self {
        Parameter {
            name: name.into(),
            type_name: A::type_name(),
            default,
            accepts: A::accepts,
            decodes: |arg| A::from_arg(arg).map(drop),
        }
    }
}
/// Where a registration was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The name of the crate.
    pub package: &'static str,
    /// The version of the crate.
    pub version: &'static str,
    /// The path of the module.
    pub module: &'static str,
}

impl Registration {
    /// Iterate over all registrations linked into this program, in no particular order.
    pub fn all() -> impl Iterator<Item = &'static Registration> {
        inventory::iter::<Registration>.into_iter()
    }
    /// The documentation of the function: its doc comment, word for word.
    pub fn documentation(&self) -> String {
        documentation(self.source, self.function)
    }
}
impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registration({})", self.names.join(", "))
    }
}

/// Find the doc comment of a public function in its source. Lines of examples that the
/// documentation hides stay hidden.
fn documentation(source: &str, function: &str) -> String {
    let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
    let head = format!("pub fn {function}");
    let defines =
        |line: &&str| line.strip_prefix(&*head).is_some_and(|r| r.starts_with(['(', '<']));
    let Some(end) = lines.iter().position(defines) else { return String::new() };
    let above =
        lines[..end].iter().rev().take_while(|l| l.starts_with("///") || l.starts_with("#["));
    let mut doc: Vec<&str> = above.filter_map(|line| line.strip_prefix("///")).collect();
    doc.reverse();
    let mut text = String::new();
    let mut in_code = false;
    for line in doc {
        let line = line.strip_prefix(' ').unwrap_or(line);
        in_code ^= line.starts_with("```");
        if !(in_code && (line == "#" || line.starts_with("# "))) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.trim_end().to_owned()
}

/// Name a function's own path, without its type arguments.
pub fn identity<F>(_: &F) -> &'static str {
    // Only compared for equality between registrations in one program, which one compiler made.
    let path = std::any::type_name::<F>();
    path.split('<').next().unwrap_or(path)
}

/// Offer a function to the registry, at every listed choice of its type parameters.
///
/// ```text
/// register! {
///     "clamp.rs": make_clamp(input, bounds)
///         for T in [i32, f64], M in [SymmetricDistance, InsertDeleteDistance];
/// }
/// ```
///
/// The text before the colon is the name of the file itself, whose doc comment on the function is
/// the documentation in listings. `make_count as ["make_count", "acme::count"](input)` gives other
/// names. A parameter may have a default, a literal of JSON: `null_category = true`; and so may a
/// type parameter: `TO in [i32, i64] = i32`. The macro does not run anything: place it outside of
/// any function, right below the one it names.
#[macro_export]
macro_rules! register {
    ($file:literal : $f:ident as [$($name:literal),+ $(,)?]
        ($($p:ident $(= $d:tt)?),* $(,)?)
        $(for $($g:ident in [$($ty:ty),+ $(,)?] $(= $gd:ty)?),+)? $(,)?;) => {
        $crate::__register!(
            ($file $f [$($name),+] [$([$p $($d)?])*]) [] [$($([$g [$($ty),+] $($gd)?])+)?]
        );
    };
    ($file:literal : $f:ident ($($p:tt)*) $($rest:tt)*) => {
        $crate::__register_plain!($file $f ($($p)*) $($rest)*);
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __register_plain {
    ($file:literal $f:ident ($($p:ident $(= $d:tt)?),* $(,)?)
        $(for $($g:ident in [$($ty:ty),+ $(,)?] $(= $gd:ty)?),+)? $(,)?;) => {
        $crate::__register!(
            ($file $f [stringify!($f)] [$([$p $($d)?])*]) [] [$($([$g [$($ty),+] $($gd)?])+)?]
        );
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    // Every type parameter is chosen: emit one registration.
    (($file:literal $f:ident [$($name:expr),+] [$([$p:ident $($d:tt)?])*])
        [$([$g:ident ($t:ty) $($gd:ty)?])*] []) => {
        $crate::__private::submit! {
            $crate::Registration {
                names: &[$($name),+],
                generics: &[$($crate::Generic {
                    name: stringify!($g),
                    type_name: <$t as $crate::Named>::type_name,
                    default: $crate::__default_type!($($gd)?),
                }),*],
                parameters: || $crate::Constructor::parameters(
                    &$f::<$($t),*>,
                    [$((stringify!($p), $crate::__default_value!($($d)?))),*],
                ),
                kind: || $crate::Constructor::kind(&$f::<$($t),*>),
                output: || $crate::Constructor::output(&$f::<$($t),*>),
                construct: |args| $crate::Constructor::call(
                    &$f::<$($t),*>,
                    [$((stringify!($p), $crate::__default_value!($($d)?))),*],
                    args,
                ),
                identity: || $crate::__private::identity(&$f::<$($t),*>),
                function: stringify!($f),
                source: include_str!($file),
                origin: $crate::Origin {
                    package: env!("CARGO_PKG_NAME"),
                    version: env!("CARGO_PKG_VERSION"),
                    module: module_path!(),
                },
            }
        }
    };
    // Choose a type for the first open parameter, once per candidate.
    ($head:tt $done:tt [$first:tt $($rest:tt)*]) => {
        $crate::__register!(@each $head $done $first [$($rest)*]);
    };
    (@each $head:tt $done:tt [$g:ident [$($ty:ty),+]] $rest:tt) => {
        $( $crate::__register!(@push $head $done [$g ($ty)] $rest); )+
    };
    (@each $head:tt $done:tt [$g:ident [$($ty:ty),+] $gd:ty] $rest:tt) => {
        $( $crate::__register!(@push $head $done [$g ($ty) $gd] $rest); )+
    };
    (@push $head:tt [$($done:tt)*] $next:tt $rest:tt) => {
        $crate::__register!($head [$($done)* $next] $rest);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_doc_comment_of_the_function_and_no_other() {
        let source = "/// Other.\npub fn make_xy() {}\n\n/// Do it.\n///\n/// ```\n/// # use a;\n/// \
                      run();\n/// ```\n#[inline]\npub fn make_x<T>() {}\n";
        assert_eq!(documentation(source, "make_x"), "Do it.\n\n```\nrun();\n```");
        assert_eq!(documentation(source, "make_xy"), "Other.");
        assert_eq!(documentation(source, "make_z"), "");
    }
    #[test]
    fn every_name_of_the_house_is_documented() {
        for registration in Registration::all() {
            assert!(!registration.documentation().is_empty(), "{registration:?}");
        }
        assert!(Registration::all().count() > 100);
    }
}
