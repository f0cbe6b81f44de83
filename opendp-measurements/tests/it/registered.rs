//! Tests that call constructors by name. The tests check the signatures, and compare the results
//! with the results of the typed functions.

mod combinators;
mod mechanisms;
mod tape;

use opendp_core::{Args, Constructed, Registration, Result, Signature};

/// A registration of a constructor, and one of the signatures of this registration.
struct Offer {
    registration: &'static Registration,
    signature: Signature,
}
impl Offer {
    /// Return the type that this signature has for the type parameter `name`.
    fn generic(&self, name: &str) -> Option<String> {
        let mut generics = self.signature.generics.iter();
        generics.find(|generic| generic.0 == name).map(|generic| generic.1.to_string())
    }
    fn output(&self) -> String {
        self.signature.output.to_string()
    }
    /// Return whether the signature accepts all of these arguments.
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
/// Return all signatures that are registered under a name.
fn named(name: &str) -> Vec<Offer> {
    Registration::all()
        .filter(|registration| registration.family.names.contains(&name))
        .flat_map(|registration| {
            let signatures = registration.signatures();
            signatures.into_iter().map(move |signature| Offer { registration, signature })
        })
        .collect()
}
/// Return the signature that is registered under a name. There must be exactly one such signature.
fn single(name: &str) -> Offer {
    let mut all = named(name);
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0)
}
/// Return the signature that is registered under a name, accepts the arguments `args`, and has the
/// text `made` in the name of its result type. There must be exactly one such signature.
fn fitting(name: &str, args: &Args, made: &str) -> Offer {
    let fits = |offer: &Offer| offer.fits(args) && offer.output().contains(made);
    let mut all: Vec<Offer> = named(name).into_iter().filter(fits).collect();
    assert_eq!(all.len(), 1, "{name}");
    all.remove(0)
}
