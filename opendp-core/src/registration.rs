//! The interface through which crates offer functions by name.

mod macros;

use std::{
    any::{Any, TypeId},
    borrow::Cow,
    fmt,
};

use crate::{
    Arg, Args, Argument, Call, Constructed, Error, Kind, MadeType, Result, Spec, TypeName,
};

/// One function with one choice of its type arguments, as a constant that the linker collects.
///
/// A registration adds names to a function and contains no logic. [`register!`](crate::register)
/// writes the registration. The registry of a program finds a registration only under two
/// conditions: the program links the crate of the registration, and the code of the program names
/// this crate. Only the fields `construct` and `path` need compiled code for each registration. All
/// other fields are constant data.
///
/// A macro of your crate can write a registration too. Submit it with the macro `submit!` of the
/// crate `inventory`, version 0.3:
///
/// ```
/// use opendp_core::*;
///
/// /// Return the domain of ages up to `highest`.
/// pub fn age_domain(highest: i64) -> Result<TheDomain<AtomDomain<i64>>> {
///     Ok(TheDomain(AtomDomain::bounded(Bounds::new(0, highest)?)))
/// }
/// type AgeDomain = fn(i64) -> Result<TheDomain<AtomDomain<i64>>>;
/// type Signature = fn(i64) -> TheDomain<AtomDomain<i64>>;
/// inventory::submit! {
///     Registration {
///         family: &Family {
///             names: &["acme::age_domain"],
///             specs: &[("highest", Some("120"))],
///             function: "age_domain",
///             source: "", // in a crate: `include_str!` of this file, which has the doc comment
///             origin: Origin { package: "acme", version: "0.1.0", module: "acme" },
///         },
///         generics: &[],
///         types: <AgeDomain as Constructor<Signature>>::TYPES,
///         made: <AgeDomain as Constructor<Signature>>::MADE,
///         construct: |call| Constructor::<Signature>::call(&(age_domain as AgeDomain), call),
///         path: || "acme::age_domain",
///     }
/// }
/// let mut named = Registration::all().filter(|found| found.family.names == ["acme::age_domain"]);
/// assert!(named.next().is_some_and(|found| found.construct(&Args::new()).is_ok()));
/// ```
#[derive(Clone, Copy)]
pub struct Registration {
    /// The fields that are the same for all choices of types.
    pub family: &'static Family,
    /// The type arguments of the function, in order.
    pub generics: &'static [Generic],
    /// The types of the parameters of the function, in order.
    pub types: &'static [ArgumentType],
    /// The type of the result of the function.
    pub made: MadeType,
    /// A function that calls the registered function with decoded arguments, and erases the result.
    pub construct: fn(&mut Call) -> Result<Constructed>,
    /// The path of the function, with its type arguments, as the compiler writes it.
    pub path: fn() -> &'static str,
}

/// All registrations of one [`register!`](crate::register). The linker collects only one constant
/// for each `register!`, because every collected constant needs its own function.
#[doc(hidden)]
#[derive(Debug)]
pub enum Registrations {
    /// A registration in which all types are chosen.
    One(&'static Registration),
    /// The registrations for each type of a type parameter.
    Each(&'static [Registrations]),
}
inventory::collect!(Registrations);
// A registration that is not written by `register!` is submitted alone.
inventory::collect!(Registration);
impl Registrations {
    fn add_to(&'static self, all: &mut Vec<&'static Registration>) {
        match self {
            Registrations::One(registration) => all.push(registration),
            Registrations::Each(parts) => parts.iter().for_each(|part| part.add_to(all)),
        }
    }
}

/// The part of a registration that is the same for all choices of types: the names, the parameters
/// and the source of the function.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The names of the function, such as `make_clamp`. Listings use the first name.
    pub names: &'static [&'static str],
    /// The names and defaults of the parameters of the function, in order.
    pub specs: &'static [Spec],
    /// The name of the function in its source.
    pub function: &'static str,
    /// The source code that contains the doc comment of the function.
    pub source: &'static str,
    /// Where the registration was written.
    pub origin: Origin,
}

/// A type argument, such as `T = i32`.
#[derive(Clone, Copy, Debug)]
pub struct Generic {
    /// The name of the type parameter.
    pub name: &'static str,
    /// The possible types of the type parameter. A compiled type such as
    /// [`AnyDatasetMetric`](crate::AnyDatasetMetric) stands for several types. Then the list
    /// contains these types.
    pub types: &'static [fn() -> TypeName],
    /// The name of the type for which the code is compiled.
    pub compiled: fn() -> TypeName,
    /// The name of the default type, which is used if a call does not determine the type.
    pub default: Option<fn() -> TypeName>,
}
/// The type of a parameter of a registered function.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentType {
    id: fn() -> TypeId,
    type_name: fn() -> TypeName,
    accepts: fn(&Arg) -> bool,
    decode: fn(&Arg) -> Result<Box<dyn Any>>,
    stood_for: fn(&Arg) -> Option<TypeName>,
}
impl ArgumentType {
    /// Return the name of the parameter type.
    pub fn type_name(&self) -> TypeName {
        (self.type_name)()
    }
    /// Return whether a value is an `Option` of this type.
    pub(crate) fn is_of(&self, value: &dyn Any) -> bool {
        value.type_id() == (self.id)()
    }
    /// Decode an argument as this type. The returned box contains an `Option` of the value, so that
    /// the caller can move the value out.
    pub(crate) fn decode(&self, arg: &Arg) -> Result<Box<dyn Any>> {
        (self.decode)(arg)
    }
    /// Describe the parameter type `A`.
    pub const fn of<A: Argument>() -> Self {
        ArgumentType {
            id: TypeId::of::<Option<A>>,
            type_name: A::type_name,
            accepts: A::accepts,
            decode: decode::<A>,
            stood_for: A::STOOD_FOR,
        }
    }
}
fn decode<A: Argument>(arg: &Arg) -> Result<Box<dyn Any>> {
    match A::from_arg(arg) {
        Ok(value) => Ok(Box::new(Some(value))),
        Err(error) => Err(error),
    }
}

/// A parameter, such as `bounds: Bounds<i32>`.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name of the parameter.
    pub name: Cow<'static, str>,
    /// The name of the type of the parameter.
    pub type_name: TypeName,
    /// The default value of the parameter, as JSON text.
    pub default: Option<Cow<'static, str>>,
    argument: ArgumentType,
    /// Whether the type of the parameter contains a compiled type that stands for several types. If
    /// so, `type_name` contains the chosen type in place of the compiled type.
    stands: bool,
}
impl Parameter {
    /// Describe a parameter of type `A`, with a default as JSON text.
    pub fn new<A: Argument>(
        name: impl Into<Cow<'static, str>>,
        default: Option<Cow<'static, str>>,
    ) -> Self {
        Parameter::of(ArgumentType::of::<A>(), name.into(), default)
    }
    fn of(
        argument: ArgumentType,
        name: Cow<'static, str>,
        default: Option<Cow<'static, str>>,
    ) -> Self {
        Parameter { name, type_name: (argument.type_name)(), default, argument, stands: false }
    }
    /// Return whether the kind of an argument fits the type of the parameter.
    pub fn accepts(&self, arg: &Arg) -> bool {
        (self.argument.accepts)(arg) && self.is_chosen(arg)
    }
    /// Return whether an argument has the type that the signature of this parameter chooses. If the
    /// compiled type stands for only one type, return `true`.
    pub fn is_chosen(&self, arg: &Arg) -> bool {
        !self.stands || (self.argument.stood_for)(arg).is_none_or(|name| name == self.type_name)
    }
    /// Check that an argument can be decoded as the type of the parameter.
    ///
    /// # Errors
    /// The errors of decoding the argument.
    pub fn decodes(&self, arg: &Arg) -> Result<()> {
        self.argument.decode(arg).map(drop)
    }
    pub(crate) fn argument(&self) -> ArgumentType {
        self.argument
    }
}

/// One signature of a registration, in which all types are chosen.
#[derive(Clone, Debug)]
pub struct Signature {
    /// For each type parameter: its name, the chosen type, and the default type.
    pub generics: Vec<(&'static str, TypeName, Option<TypeName>)>,
    /// The parameters of the function, in order.
    pub parameters: Vec<Parameter>,
    /// The name of the type that the function returns.
    pub output: TypeName,
}
impl Signature {
    /// Choose a type for the next type parameter.
    fn choose(&self, generic: &Generic, choice: fn() -> TypeName) -> Signature {
        let mut chosen = self.clone();
        let (name, compiled) = (choice(), (generic.compiled)());
        if name != compiled {
            for parameter in &mut chosen.parameters {
                let type_name = parameter.type_name.replace(&compiled, &name);
                if type_name != parameter.type_name {
                    parameter.type_name = type_name;
                    parameter.stands = true;
                }
            }
            chosen.output = chosen.output.replace(&compiled, &name);
        }
        chosen.generics.push((generic.name, name, generic.default.map(|default| default())));
        chosen
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
        let mut all: Vec<_> = inventory::iter::<Registration>.into_iter().collect();
        for registrations in inventory::iter::<Registrations> {
            registrations.add_to(&mut all);
        }
        all.into_iter()
    }
    /// Return the kind of object that the function returns.
    pub fn kind(&self) -> Kind {
        (self.made.kind)()
    }
    /// Return the identity of the function: its path in the crate that defines it. Registrations of
    /// the same function by other crates have the same identity.
    pub fn identity(&self) -> &'static str {
        // Another compiler can write the path of a function in another form. But paths are compared
        // only within one program, so the same compiler wrote all compared paths.
        let path = (self.path)();
        path.split('<').next().unwrap_or(path)
    }
    /// Return all signatures. A compiled type can stand for several types, and each choice of these
    /// types gives one signature.
    pub fn signatures(&self) -> Vec<Signature> {
        let parameters = self.types.iter().zip(self.family.specs).map(|(argument, spec)| {
            Parameter::of(*argument, Cow::Borrowed(spec.0), spec.1.map(Cow::Borrowed))
        });
        let start = Signature {
            generics: Vec::new(),
            parameters: parameters.collect(),
            output: (self.made.type_name)(),
        };
        self.generics.iter().fold(vec![start], |open, generic| {
            let choose = |signature: &Signature| -> Vec<Signature> {
                generic.types.iter().map(|choice| signature.choose(generic, *choice)).collect()
            };
            open.iter().flat_map(choose).collect()
        })
    }
    /// Decode the arguments, call the function, and erase the result.
    ///
    /// # Errors
    /// `Argument` when an argument has a type that no signature lists. This function also returns
    /// the errors of [`Args::decode`] for each parameter, and the errors of the registered
    /// function.
    pub fn construct(&self, args: &Args) -> Result<Constructed> {
        // A compiled type can stand for more types than the signatures list. So decoding does not
        // check that a signature lists the type of an argument.
        let signatures = self.signatures();
        for (place, (name, _)) in self.family.specs.iter().enumerate() {
            let Some(arg) = args.get(name) else { continue };
            let listed =
                || signatures.iter().filter_map(|signature| signature.parameters.get(place));
            if !listed().any(|parameter| parameter.is_chosen(arg)) {
                let mut types: Vec<String> = listed().map(|p| p.type_name.to_string()).collect();
                types.sort_unstable();
                types.dedup();
                let (types, found) = (types.join("` or `"), arg.describe());
                return Err(Error::argument(*name, format!("expected `{types}`, found {found}")));
            }
        }
        self.construct_chosen(args)
    }
    /// Construct with arguments that a signature accepts. When the registry chooses a signature, it
    /// checks the types of the arguments. So this function does not check these types again.
    #[doc(hidden)]
    pub fn construct_chosen(&self, args: &Args) -> Result<Constructed> {
        (self.construct)(&mut Call::new(self.family.specs, self.types, args)?)
    }
    /// Return the doc comment of the function, without definitions of links and without the hidden
    /// lines of examples.
    pub fn documentation(&self) -> String {
        documentation(self.family.source, self.family.function)
    }
}
impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registration({})", self.family.names.join(", "))
    }
}

/// Find the doc comment of a public function in its source. Leave out definitions of links, which
/// only rustdoc uses, and the hidden lines of examples.
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
        let hidden = if in_code {
            line == "#" || line.starts_with("# ")
        } else {
            let defines_link = line.starts_with('[') && line.contains("]: ");
            defines_link || line.is_empty() && text.ends_with("\n\n")
        };
        if !hidden {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.trim_end().to_owned()
}

/// Return a function that returns the path of a registered function.
pub const fn path_of<F>(_: &F) -> fn() -> &'static str {
    std::any::type_name::<F>
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_doc_comment_of_the_function_and_no_other() {
        let source = "/// Other.\npub fn make_xy() {}\n\n/// Do [`it`].\n///\n/// [`it`]: a::it\n///\n/// \
                      ```\n/// # use a;\n/// run();\n/// ```\n#[inline]\npub fn make_x<T>() {}\n";
        assert_eq!(documentation(source, "make_x"), "Do [`it`].\n\n```\nrun();\n```");
        assert_eq!(documentation(source, "make_xy"), "Other.");
        assert_eq!(documentation(source, "make_z"), "");
    }
}
