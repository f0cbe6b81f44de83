//! Recipes, which state how objects were made. The recipe of an object gives the document of the
//! object.

use std::sync::Arc;

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{Arg, Args, Constructed, Domain as _, Error, Measure as _, Metric as _};
use opendp_core::{Result, Space};
use opendp_registry::{Document, Registry};
use serde_json::{Map, Value as Json, json};

/// How an object was made. The document of an object is written only when a caller requests the
/// document.
#[derive(Clone)]
pub(crate) enum Recipe {
    /// A call of a constructor.
    Call(Arc<Call>),
    /// Two objects that were joined in a chain.
    Chain(Arc<Chain>),
    /// A document that was read. The document is stored in the newest form, without the fields
    /// `version` and `packages`.
    Read(Arc<Json>),
    /// A document that was read. The document is stored unchanged. The document has the format of
    /// OpenDP, or states an earlier version of the format or of a package.
    Kept(Arc<Json>),
    /// No constructor made the object. For example, the object is a Python function.
    Unknown,
}
/// A call of a constructor.
pub(crate) struct Call {
    name: String,
    args: Args,
    /// How the objects among the arguments were made. Each entry has the name of the argument.
    inner: Vec<(String, Inner)>,
}
/// How the objects in an argument were made.
pub(crate) enum Inner {
    /// The argument contains no objects. A document contains only the value of the argument.
    None,
    One(Recipe),
    List(Vec<Inner>),
}
/// Two objects that were joined.
pub(crate) struct Chain {
    first: Recipe,
    next: Recipe,
    /// The input space of the first object.
    space: Space<AnyDomain, AnyMetric>,
    /// The name of the constructor that joins the two objects, and the names of its two parameters.
    by: [&'static str; 3],
}

impl Recipe {
    pub(crate) fn call(name: &str, args: Args, inner: Vec<(String, Inner)>) -> Self {
        Recipe::Call(Arc::new(Call { name: name.to_owned(), args, inner }))
    }
    /// Make the recipe of an object that was built from a document: `Read` or `Kept`.
    pub(crate) fn read(document: &Json) -> Self {
        let version = |json: &Json| json.get("version").cloned().unwrap_or(1.into());
        let packages = |json: &Json| json.get("packages").cloned().unwrap_or(json!({}));
        let newest = Document::newest(document.clone(), Registry::global());
        let newest = newest.as_ref().map(Document::json).ok().filter(|newest| {
            version(newest) == version(document)
                && packages(newest) == packages(document)
                && !is_foreign(document)
        });
        let Some(newest) = newest else { return Recipe::Kept(Arc::new(document.clone())) };
        let mut newest = newest.clone();
        if let Json::Object(newest) = &mut newest {
            newest.retain(|key, _| key != "version" && key != "packages");
        }
        Recipe::Read(Arc::new(newest))
    }
    /// Return whether a single call of one of the given constructors made the object.
    pub(crate) fn is_call_of(&self, names: &[&str]) -> bool {
        let named = |name: &str| names.contains(&name);
        match self {
            Recipe::Call(call) => named(&call.name),
            Recipe::Read(document) => match (document.get("constructor"), document.get("chain")) {
                (Some(Json::String(name)), None) => named(name),
                (None, Some(Json::Array(links))) => match links.as_slice() {
                    [Json::Object(link)] => link.keys().all(|name| named(name)),
                    _ => false,
                },
                _ => false,
            },
            Recipe::Chain(_) | Recipe::Kept(_) | Recipe::Unknown => false,
        }
    }
    /// Join two recipes. `by` has three names: the constructor that joins the objects, its
    /// parameter for the first object, and its parameter for the second object.
    pub(crate) fn then(
        &self,
        next: &Recipe,
        space: &Space<AnyDomain, AnyMetric>,
        by: [&'static str; 3],
    ) -> Self {
        let (first, next, space) = (self.clone(), next.clone(), space.clone());
        Recipe::Chain(Arc::new(Chain { first, next, space, by }))
    }
    /// Write the recipe as a document.
    ///
    /// # Errors
    /// `NotImplemented` when the object has a part that a document cannot contain.
    pub(crate) fn document(&self) -> Result<Json> {
        match self {
            Recipe::Kept(document) => Ok((**document).clone()),
            _ => Ok(Document::newest(self.write()?, Registry::global())?.json().clone()),
        }
    }
    /// Write recipes as the links of a chain. The input space of the chain is not known yet.
    ///
    /// # Errors
    /// The errors of [`document`](Recipe::document).
    pub(crate) fn partial(parts: &[Recipe]) -> Result<Json> {
        let mut chain = Vec::new();
        for part in parts {
            match part.links()? {
                Some((_, links)) => chain.extend(links),
                None => return Err(no_link()),
            }
        }
        let document = Document::newest(json!({"chain": chain}), Registry::global())?;
        Ok(document.json().clone())
    }
    /// Write the recipe as a part of a document.
    fn write(&self) -> Result<Json> {
        match self {
            Recipe::Unknown => Err(unknown()),
            Recipe::Read(document) => Ok((**document).clone()),
            Recipe::Kept(document) if is_foreign(document) => Ok((**document).clone()),
            Recipe::Kept(_) => Err(no_link()),
            Recipe::Call(call) => match call.link()? {
                (Some(space), link) => Ok(json!({"space": space, "chain": [link]})),
                (None, args) => Ok(json!({"constructor": call.name, "args": args[&call.name]})),
            },
            Recipe::Chain(chain) => match self.links()? {
                Some((space, links)) => {
                    let space = space.unwrap_or_else(|| written(&chain.space));
                    Ok(json!({"space": space, "chain": links}))
                }
                None => {
                    let [name, first, next] = chain.by;
                    let args = json!({first: chain.first.write()?, next: chain.next.write()?});
                    Ok(json!({"constructor": name, "args": args}))
                }
            },
        }
    }
    /// Return the links of a chain, and its space if the chain states a space. Return `None` if a
    /// link is a document of OpenDP. Such a document can be an argument, but not a link.
    fn links(&self) -> Result<Option<(Option<Json>, Vec<Json>)>> {
        match self {
            Recipe::Unknown => Err(unknown()),
            Recipe::Call(call) => {
                let (space, link) = call.link()?;
                Ok(Some((space, vec![link])))
            }
            Recipe::Read(document) => match document.get("chain") {
                Some(Json::Array(links)) => {
                    Ok(Some((document.get("space").cloned(), links.clone())))
                }
                _ => Ok(Some((None, vec![(**document).clone()]))),
            },
            Recipe::Kept(document) if is_foreign(document) => Ok(None),
            Recipe::Kept(_) => Err(no_link()),
            Recipe::Chain(chain) => {
                let (Some((space, mut links)), Some((_, next))) =
                    (chain.first.links()?, chain.next.links()?)
                else {
                    return Ok(None);
                };
                links.extend(next);
                Ok(Some((space, links)))
            }
        }
    }
}
impl Call {
    /// Return the call as a link of a chain. If the call states an input space, also return this
    /// space.
    fn link(&self) -> Result<(Option<Json>, Json)> {
        let (mut space, mut args) = (None, Map::new());
        for (name, arg) in self.args.iter() {
            let inner = self.inner.iter().find(|(known, _)| known == name).map(|(_, inner)| inner);
            let located = |error: Error| error.at(format!("argument `{name}`"));
            let written = value(arg, inner.unwrap_or(&Inner::None)).map_err(located)?;
            match arg {
                Arg::Space(_) | Arg::Pair(..) if name == "input" => space = Some(written),
                _ => _ = args.insert(name.to_owned(), written),
            }
        }
        Ok((space, json!({ self.name.as_str(): args })))
    }
}
/// Write an argument.
fn value(arg: &Arg, inner: &Inner) -> Result<Json> {
    Ok(match (arg, inner) {
        (Arg::Json(json), _) => json.clone(),
        (Arg::Space(space), _) => written(space),
        (Arg::Pair(domain, metric), _) => {
            json!({"domain": domain.to_json(), "metric": metric.to_json()})
        }
        (Arg::Made(Constructed::Domain(made)), _) => made.to_json(),
        (Arg::Made(Constructed::Metric(made)), _) => made.to_json(),
        (Arg::Made(Constructed::Measure(made)), _) => made.to_json(),
        (Arg::Made(_), Inner::One(recipe)) => recipe.write()?,
        (Arg::List(items), Inner::List(inner)) => items
            .iter()
            .zip(inner)
            .map(|(item, inner)| value(item, inner))
            .collect::<Result<_>>()?,
        _ => return Err(unknown()),
    })
}
fn written(space: &Space<AnyDomain, AnyMetric>) -> Json {
    json!({"domain": space.domain().to_json(), "metric": space.metric().to_json()})
}
fn is_foreign(document: &Json) -> bool {
    document.get("__function__").is_some()
}
#[cold]
fn unknown() -> Error {
    Error::NotImplemented(
        "a document cannot contain a function that no constructor made, such as a Python function"
            .into(),
    )
}
#[cold]
fn no_link() -> Error {
    Error::NotImplemented(
        "a document of OpenDP or of an earlier version cannot be a part of a newer document".into(),
    )
}
