//! Names of types. Each type states its own name.

use std::{borrow::Cow, collections::HashMap, fmt, str::FromStr};

use serde_json::Value as Json;

use crate::{Error, Result};

/// The largest nesting depth of a type name that can be read.
const MAX_DEPTH: usize = 32;
/// The largest length, in bytes, of a type name that can be read.
const MAX_LENGTH: usize = 4096;

/// The name of a type in a signature, such as `VectorDomain<AtomDomain<i32>>`.
///
/// Names are declared with [`named!`](crate::named). The compiler's own names of types are not
/// used, because these names change when a type moves to another module. A name is stored as a head
/// and type arguments, so names can be printed, parsed and compared. The head of
/// `VectorDomain<AtomDomain<i32>>` is `VectorDomain`.
///
/// ```
/// # use opendp_core::TypeName;
/// let name: TypeName = "SizedDomain<VectorDomain<AllDomain<int>>>".parse()?;
/// assert_eq!(name.to_string(), "VectorDomain<AtomDomain<i32>>");
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeName {
    head: Cow<'static, str>,
    args: Vec<TypeName>,
}

/// A type that states its own name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no declared name",
    note = "name it with `named! {{ {Self} as \"your_crate::{Self}\" }}`"
)]
pub trait Named: 'static {
    /// Return the name of this type, as written in a signature.
    fn type_name() -> TypeName;
}

impl TypeName {
    /// Name a type without arguments.
    pub fn plain(head: &'static str) -> Self {
        TypeName { head: Cow::Borrowed(head), args: Vec::new() }
    }
    /// Make the name of a type from a head and arguments. The head of a tuple is empty.
    pub fn generic(head: &'static str, args: impl IntoIterator<Item = TypeName>) -> Self {
        TypeName { head: Cow::Borrowed(head), args: args.into_iter().collect() }
    }
    /// Make the name of a type from a head and a list of functions. Each function returns the name
    /// of one argument.
    pub fn applied(head: &'static str, args: &[fn() -> TypeName]) -> Self {
        TypeName { head: Cow::Borrowed(head), args: args.iter().map(|name| name()).collect() }
    }
    /// Return the name without its arguments.
    pub fn head(&self) -> &str {
        &self.head
    }
    /// Return the type arguments in the name.
    pub fn args(&self) -> &[TypeName] {
        &self.args
    }
    /// Return whether the type is an interactive mechanism, such as a queryable, or has one among
    /// its arguments.
    pub fn is_interactive(&self) -> bool {
        matches!(self.head(), "Session" | "Queryable")
            || self.args.iter().any(TypeName::is_interactive)
    }
    /// Return this name with `by` in the place of each occurrence of `name`.
    pub(crate) fn replace(&self, name: &TypeName, by: &TypeName) -> TypeName {
        if self == name {
            return by.clone();
        }
        let args = self.args.iter().map(|arg| arg.replace(name, by)).collect();
        TypeName { head: self.head.clone(), args }
    }
    /// Replace a name from an older version, or from another programming language, by the current
    /// name.
    fn modern(mut self) -> TypeName {
        // In older versions, these two types wrapped a domain, to add a size or a null value. Now
        // the size or the null value is an argument of the wrapped domain itself.
        if matches!(&*self.head, "SizedDomain" | "InherentNullDomain") && self.args.len() == 1 {
            return self.args.remove(0);
        }
        let head = match &*self.head {
            "AllDomain" | "BoundedDomain" | "IntervalDomain" => "AtomDomain",
            "OptionNullDomain" => "OptionDomain",
            "InfDifferenceDistance" | "LInfDiffDistance" => "RangeDistance",
            "FixedSmoothedMaxDivergence" => {
                return TypeName::generic("Approximate", [TypeName::plain("MaxDivergence")]);
            }
            // In older versions, the name of a measure had the type of distances as an argument.
            "MaxDivergence" | "SmoothedMaxDivergence" | "ZeroConcentratedDivergence"
                if self.args.len() == 1 =>
            {
                self.args.clear();
                return self;
            }
            "int" => "i32",
            "float" => "f64",
            "str" => "String",
            "List" | "list" => "Vec",
            "Optional" => "Option",
            "Dict" | "dict" => "HashMap",
            // The current head of a tuple is empty. With an empty head and no arguments, the name
            // would be printed as `()`, which cannot be parsed. So a tuple without arguments keeps
            // its head.
            "Tuple" | "tuple" if !self.args.is_empty() => "",
            _ => return self,
        };
        self.head = Cow::Borrowed(head);
        self
    }
}

impl fmt::Display for TypeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.head.is_empty() { ("(", ")") } else { ("<", ">") };
        f.write_str(&self.head)?;
        if self.args.is_empty() && !self.head.is_empty() {
            return Ok(());
        }
        f.write_str(open)?;
        for (i, arg) in self.args.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{arg}")?;
        }
        f.write_str(close)
    }
}

impl FromStr for TypeName {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let fail = |reason: &str| Error::TypeParse {
            text: text.chars().take(60).collect(),
            reason: reason.to_owned(),
        };
        if text.len() > MAX_LENGTH {
            return Err(fail("expected at most 4096 bytes"));
        }
        let mut rest = text;
        let name = parse(&mut rest, MAX_DEPTH).map_err(fail)?;
        if rest.trim().is_empty() { Ok(name) } else { Err(fail("text follows the name")) }
    }
}

/// Read one name from the front of `rest`.
fn parse(rest: &mut &str, depth: usize) -> Result<TypeName, &'static str> {
    if depth == 0 {
        return Err("the name is nested more than 32 levels deep");
    }
    *rest = rest.trim_start();
    let end = rest.find(|c: char| "<>(),[]".contains(c)).unwrap_or(rest.len());
    let head = rest[..end].trim().to_owned();
    if head.contains(char::is_whitespace) {
        return Err("there is a space inside a name");
    }
    *rest = &rest[end..];
    let close = match (head.is_empty(), rest.chars().next()) {
        (false, Some('<')) => '>',
        (false, Some('[')) => ']',
        (true, Some('(')) => ')',
        (false, _) => return Ok(TypeName { head: head.into(), args: Vec::new() }.modern()),
        _ => return Err("expected a name"),
    };
    *rest = &rest[1..];
    let mut args = Vec::new();
    loop {
        args.push(parse(rest, depth - 1)?);
        *rest = rest.trim_start();
        match rest.chars().next() {
            Some(',') => *rest = &rest[1..],
            Some(c) if c == close => {
                *rest = &rest[1..];
                return Ok(TypeName { head: head.into(), args }.modern());
            }
            _ => return Err("a bracket is not closed"),
        }
    }
}

/// Declare the name of a type, or of a generic type whose arguments are all [`Named`].
///
/// Names of this project have no prefix. Names of another crate have a prefix, as in `acme::Graph`.
///
/// ```
/// # use opendp_core::{named, Named};
/// pub struct Graph;
/// pub struct Labelled<L>(pub L);
/// named!(Graph as "acme::Graph", Labelled<L> as "acme::Labelled");
/// assert_eq!(Labelled::<Graph>::type_name().to_string(), "acme::Labelled<acme::Graph>");
/// # let _ = Labelled(Graph).0;
/// ```
#[macro_export]
macro_rules! named {
    ($($ty:ident $(< $($arg:ident $(: $bound:path)?),+ >)? as $name:literal),+ $(,)?) => {$(
        impl $(< $($arg: $crate::Named $(+ $bound)?),+ >)? $crate::Named for $ty $(< $($arg),+ >)? {
            fn type_name() -> $crate::TypeName {
                $crate::TypeName::applied($name, &[$($(<$arg as $crate::Named>::type_name),+)?])
            }
        }
    )+};
}

named! {
    bool as "bool", String as "String", f32 as "f32", f64 as "f64",
    Json as "Json", i8 as "i8", i16 as "i16", i32 as "i32", i64 as "i64", i128 as "i128", isize as "isize",
    u8 as "u8", u16 as "u16", u32 as "u32", u64 as "u64", u128 as "u128", usize as "usize",
    Vec<T> as "Vec", Option<T> as "Option", HashMap<K, V> as "HashMap",
}
impl<A: Named, B: Named> Named for (A, B) {
    fn type_name() -> TypeName {
        TypeName::generic("", [A::type_name(), B::type_name()])
    }
}
impl<A: Named, B: Named, C: Named> Named for (A, B, C) {
    fn type_name() -> TypeName {
        TypeName::generic("", [A::type_name(), B::type_name(), C::type_name()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let name: TypeName = text.parse().unwrap();
        assert_eq!(name.to_string(), expected);
        assert_eq!(expected.parse::<TypeName>().unwrap(), name);
    }

    #[test]
    fn prints_what_it_parses() {
        check(" VectorDomain < AtomDomain<f64> > ", "VectorDomain<AtomDomain<f64>>");
        check("(f64, Vec<(u32,bool)>)", "(f64, Vec<(u32, bool)>)");
        check("acme::Graph", "acme::Graph");
    }
    #[test]
    fn reads_the_spellings_people_are_used_to() {
        check("int", "i32");
        check("List[int]", "Vec<i32>");
        check("Vec<float>", "Vec<f64>");
        check("dict[str, bool]", "HashMap<String, bool>");
        check("Tuple[int, str]", "(i32, String)");
        check("SizedDomain<VectorDomain<BoundedDomain<i32>>>", "VectorDomain<AtomDomain<i32>>");
        check("InfDifferenceDistance<f64>", "RangeDistance<f64>");
        check("SmoothedMaxDivergence<f64>", "SmoothedMaxDivergence");
        check("FixedSmoothedMaxDivergence<f64>", "Approximate<MaxDivergence>");
    }
    #[test]
    fn a_tuple_without_parts_keeps_a_name_that_can_be_read_again() {
        check("Tuple", "Tuple");
        check("Vec<tuple>", "Vec<tuple>");
    }
    #[test]
    fn refuses_what_is_not_a_name() {
        for text in ["", "<i32>", "Vec<i32", "Vec<i32>>", "Vec<>", "a b", "Vec(i32)", ")"] {
            let error = text.parse::<TypeName>().unwrap_err();
            assert_eq!(error.kind(), "TypeParse", "{text}");
        }
        assert!("Vec<".repeat(1_000_000).parse::<TypeName>().is_err());
        assert!("Vec<".repeat(1_000).parse::<TypeName>().is_err());
    }
    #[test]
    fn names_a_tuple_by_its_parts() {
        assert_eq!(<(u32, f64, String)>::type_name().to_string(), "(u32, f64, String)");
    }
}
