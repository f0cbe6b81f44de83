//! Constructors by name: their signatures, and that they give the same results as the typed
//! functions.

mod combinators;
mod mechanisms;

use opendp_core::{Args, Constructed, Registration, Result, Signature};

/// A registration, and one of the signatures that it offers.
struct Offer {
    registration: &'static Registration,
    signature: Signature,
}
impl Offer {
    /// The type of a type parameter.
    fn generic(&self, name: &str) -> Option<String> {
        let mut generics = self.signature.generics.iter();
        generics.find(|generic| generic.0 == name).map(|generic| generic.1.to_string())
    }
    fn output(&self) -> String {
        self.signature.output.to_string()
    }
    /// Whether it takes all of these arguments.
    fn fits(&self, args: &Args) -> bool {
        args.iter().all(|(name, arg)| {
            self.signature.parameters.iter().any(|p| p.name == name && p.accepts(arg))
        })
    }
    fn construct(&self, args: &Args) -> Result<Constructed> {
        self.registration.construct(args)
    }
    fn names(&self) -> &'static [&'static str] {
        self.registration.family.names
    }
    fn documentation(&self) -> String {
        self.registration.documentation()
    }
}
/// All signatures under a name.
fn named(name: &str) -> Vec<Offer> {
    Registration::all()
        .filter(|registration| registration.family.names.contains(&name))
        .flat_map(|registration| {
            let signatures = registration.signatures();
            signatures.into_iter().map(move |signature| Offer { registration, signature })
        })
        .collect()
}
/// The one signature under a name.
fn single(name: &str) -> Offer {
    let mut all = named(name);
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0)
}
/// The one signature under a name that takes some arguments, and whose result type contains a text.
fn fitting(name: &str, args: &Args, made: &str) -> Offer {
    let fits = |offer: &Offer| offer.fits(args) && offer.output().contains(made);
    let mut all: Vec<Offer> = named(name).into_iter().filter(fits).collect();
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0)
}
