//! One signature of a constructor. A signature is collected by the linker, or added at run time.

use std::{borrow::Cow, fmt, sync::Arc};

use opendp_core::{
    Args, Constructed, Error, Kind, Parameter, Registration, Result, Signature, TypeName,
};

use crate::explain::no_such;

type Construct = Arc<dyn Fn(&Args) -> Result<Constructed> + Send + Sync>;

/// One function, with one choice of types for its type parameters.
pub struct Entry {
    pub(crate) names: Vec<Cow<'static, str>>,
    pub(crate) generics: Vec<Generic>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) kind: Kind,
    pub(crate) output: TypeName,
    pub(crate) identity: Cow<'static, str>,
    pub(crate) package: Cow<'static, str>,
    pub(crate) version: Cow<'static, str>,
    pub(crate) module: Cow<'static, str>,
    documentation: Documentation,
    construct: Build,
}
pub(crate) struct Generic {
    pub(crate) name: &'static str,
    pub(crate) type_name: TypeName,
    pub(crate) default: Option<TypeName>,
}
enum Documentation {
    Linked(&'static Registration),
    Text(String),
}
enum Build {
    Linked(&'static Registration),
    Added(Construct),
}

impl Entry {
    /// Return the name under which the constructor is listed.
    pub fn name(&self) -> &str {
        self.names.first().map_or("", |name| name)
    }
    /// Return all names of the constructor.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }
    /// Return the type arguments: the name of each type parameter, and its type.
    pub fn generics(&self) -> impl Iterator<Item = (&str, &TypeName)> {
        self.generics.iter().map(|generic| (generic.name, &generic.type_name))
    }
    /// Return the type parameters that a request can leave out: their names, and their default
    /// types.
    pub fn generic_defaults(&self) -> impl Iterator<Item = (&str, &TypeName)> {
        let generics = self.generics.iter();
        generics.filter_map(|generic| Some((generic.name, generic.default.as_ref()?)))
    }
    /// Return the parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }
    /// Return the kind of object that the constructor returns.
    pub fn kind(&self) -> Kind {
        self.kind
    }
    /// Return the name of the type that the constructor returns.
    pub fn output(&self) -> &TypeName {
        &self.output
    }
    /// Return the package that registered the signature, the version of the package, and the
    /// module.
    pub fn origin(&self) -> (&str, &str, &str) {
        (&self.package, &self.version, &self.module)
    }
    /// Return the documentation of the constructor.
    pub fn documentation(&self) -> String {
        match &self.documentation {
            Documentation::Linked(registration) => registration.documentation(),
            Documentation::Text(text) => text.clone(),
        }
    }
    /// Return whether the claims of the constructed object have a stated proof, or need no proof.
    /// The author of the constructor states the proof. No program checks this proof. Without a
    /// proof, the caller is responsible for the claims.
    ///
    /// A constructor that is added at run time, such as a closure of a user, has no proof. A linked
    /// constructor has a proof if its documentation has a section `# Proof`. A linked constructor
    /// needs no proof if it makes a domain, a metric, a measure or a function that processes
    /// releases. So the result is `true` for such a constructor. But the result is `false` for
    /// every constructor whose documentation has a section `# Trust`. The section `# Trust` states
    /// the conditions that the user must guarantee.
    pub fn proved(&self) -> bool {
        match (&self.documentation, self.kind) {
            (Documentation::Text(_), _) => false,
            _ if self.has("# Trust") => false,
            (_, Kind::Transformation | Kind::Measurement | Kind::Odometer) => self.has("# Proof"),
            _ => true,
        }
    }
    /// Return whether the name of the constructor is the recommended name. Constructors with older
    /// names are registered in modules named `legacy`.
    pub fn recommended(&self) -> bool {
        !self.module.split("::").any(|part| part == "legacy")
    }
    /// Return whether the documentation has a section with this title.
    fn has(&self, title: &str) -> bool {
        self.documentation().lines().any(|line| line == title)
    }
    /// Decode the arguments and call the constructor.
    ///
    /// # Errors
    /// `Argument` when an argument is neither a parameter nor a type parameter, or has a type of
    /// another signature. The errors of decoding the arguments, and of the constructor.
    pub fn construct(&self, args: &Args) -> Result<Constructed> {
        self.check_names(args)?;
        for parameter in &self.parameters {
            if let Some(arg) = args.get(&parameter.name).filter(|arg| !parameter.is_chosen(arg)) {
                let reason =
                    format!("expected `{}`, found {}", parameter.type_name, arg.describe());
                return Err(Error::argument(&*parameter.name, reason));
            }
        }
        self.construct_accepted(args)
    }
    /// Check that each argument is a parameter or a type parameter.
    fn check_names(&self, args: &Args) -> Result<()> {
        let known = |name: &str| {
            self.parameters.iter().any(|parameter| parameter.name == name)
                || self.generics.iter().any(|generic| generic.name == name)
        };
        if let Some(name) = args.names().find(|name| !known(name)) {
            let parameters = self.parameters.iter().map(|parameter| parameter.name.to_string());
            let types = self.generics.iter().map(|generic| generic.name.to_owned());
            let reason = no_such(name, &parameters.chain(types).collect());
            return Err(Error::argument(name, reason));
        }
        Ok(())
    }
    /// Construct with arguments that the registry has found to fit this signature.
    pub(crate) fn construct_accepted(&self, args: &Args) -> Result<Constructed> {
        self.check_names(args)?;
        match &self.construct {
            Build::Linked(registration) => registration.construct_chosen(args),
            Build::Added(construct) => construct(args),
        }
    }
}
impl Entry {
    /// Return whether `other` offers the same function with the same types and the same defaults.
    /// For example, two crates can register the same function.
    pub(crate) fn repeats(&self, other: &Entry) -> bool {
        let (Build::Linked(left), Build::Linked(right)) = (&self.construct, &other.construct)
        else {
            return false;
        };
        let same = |(a, b): (&Generic, &Generic)| {
            (a.name, &a.type_name, &a.default) == (b.name, &b.type_name, &b.default)
        };
        let parameters = || self.parameters.iter().zip(&other.parameters);
        (left.path)() == (right.path)()
            && self.generics.len() == other.generics.len()
            && self.generics.iter().zip(&other.generics).all(same)
            && parameters().all(|(a, b)| (&a.name, &a.default) == (&b.name, &b.default))
    }
    pub(crate) fn all_of(registration: &'static Registration) -> impl Iterator<Item = Entry> {
        registration
            .signatures()
            .into_iter()
            .map(move |signature| Entry::new(registration, signature))
    }
    fn new(registration: &'static Registration, signature: Signature) -> Entry {
        let family = registration.family;
        let generics = signature.generics.into_iter();
        Entry {
            names: family.names.iter().map(|name| Cow::Borrowed(*name)).collect(),
            generics: generics
                .map(|(name, type_name, default)| Generic { name, type_name, default })
                .collect(),
            parameters: signature.parameters,
            kind: registration.kind(),
            output: signature.output,
            identity: Cow::Borrowed(registration.identity()),
            package: family.origin.package.into(),
            version: family.origin.version.into(),
            module: family.origin.module.into(),
            documentation: Documentation::Linked(registration),
            construct: Build::Linked(registration),
        }
    }
}
/// Prints the signature: `make_clamp<T=i32, M=SymmetricDistance>(input: ..., bounds: Bounds<i32>)`.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        // The erased types of a combinator are left out, because they contain no information.
        let erased = |generic: &&Generic| generic.type_name.head().starts_with("Any");
        let mut open = "<";
        for generic in self.generics.iter().filter(|generic| !erased(generic)) {
            write!(f, "{open}{}={}", generic.name, generic.type_name)?;
            open = ", ";
        }
        f.write_str(if open == "<" { "(" } else { ">(" })?;
        for (i, parameter) in self.parameters.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{}: {}", parameter.name, parameter.type_name)?;
            if let Some(default) = &parameter.default {
                write!(f, " = {default}")?;
            }
        }
        write!(f, ") -> {}", self.output)
    }
}
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({self})")
    }
}

/// A constructor that is added at run time, such as a closure that a binding to another language
/// adds.
///
/// The claims of such a constructor have no stated [proof](Entry::proved). Listings show that there
/// is no proof.
///
/// ```
/// use opendp_core::{Kind, Made, Named, SymmetricDistance, TheMetric};
/// use opendp_registry::{Addition, Registry};
///
/// let registry = Registry::new();
/// let alias = Addition::new("my_metric", "my-app", Kind::Metric, SymmetricDistance::type_name())
///     .documentation("Count records added or removed.")
///     .constructs(|_| Ok(TheMetric(SymmetricDistance).erased()));
/// registry.add(alias)?;
/// assert!(registry.make("my_metric", &opendp_core::Args::new()).is_ok());
/// assert!(registry.signatures("my_metric")?.iter().all(|entry| !entry.proved()));
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub struct Addition(Entry);
impl Addition {
    /// Begin to describe a constructor. The first two arguments are the name of the constructor and
    /// the package that is responsible for the constructor. The last two arguments are the kind and
    /// the type name of the constructed object.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        package: impl Into<Cow<'static, str>>,
        kind: Kind,
        output: TypeName,
    ) -> Self {
        let (name, package) = (name.into(), package.into());
        let missing = |_: &Args| {
            Err(opendp_core::Error::NotImplemented(
                "no function was given to this constructor".into(),
            ))
        };
        Addition(Entry {
            identity: format!("{package}::{name}").into(),
            names: vec![name],
            generics: Vec::new(),
            parameters: Vec::new(),
            kind,
            output,
            package,
            version: Cow::Borrowed(""),
            module: Cow::Borrowed("added while the program runs"),
            documentation: Documentation::Text(String::new()),
            construct: Build::Added(Arc::new(missing)),
        })
    }
    /// Add a parameter of the constructor.
    #[must_use]
    pub fn parameter(mut self, parameter: Parameter) -> Self {
        self.0.parameters.push(parameter);
        self
    }
    /// Set the documentation of the constructor.
    #[must_use]
    pub fn documentation(mut self, text: impl Into<String>) -> Self {
        self.0.documentation = Documentation::Text(text.into());
        self
    }
    /// Set the function that builds the object.
    #[must_use]
    pub fn constructs(
        mut self,
        construct: impl Fn(&Args) -> Result<Constructed> + Send + Sync + 'static,
    ) -> Self {
        self.0.construct = Build::Added(Arc::new(construct));
        self
    }
    pub(crate) fn into_entry(self) -> Entry {
        self.0
    }
}
impl fmt::Debug for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Addition({})", self.0)
    }
}
