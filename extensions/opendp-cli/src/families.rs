//! Groups of signatures that differ only in their types. A signature is a constructor with one
//! choice of types. A group is shown as one signature with lists of types.

use opendp_core::TypeName;
use serde_json::Value as Json;

/// The signatures of one shape. Signatures have the same shape if they are equal except for types.
pub(crate) struct Family {
    /// The type parameters, each with its possible types.
    pub(crate) types: Vec<(String, Vec<String>)>,
    /// The default types of type parameters. A caller may leave out a type with a default.
    defaults: Json,
    /// The parameters, each with its name, its type and its default. The type can contain type
    /// parameters.
    pub(crate) parameters: Vec<(String, String, Option<String>)>,
    /// The type that the constructor returns.
    pub(crate) output: String,
    /// The number of signatures in the group.
    pub(crate) count: usize,
}

/// The name of a new type parameter for the type of elements. It is used only if the signatures do
/// not have a type parameter of this name.
const ELEMENT: &str = "T";
/// If there are more groups than this number, try a new type parameter for the type of elements.
/// The signatures get this type parameter if it gives fewer groups.
const MANY: usize = 4;

/// Group signatures by their shapes. Each signature has the form in which `list` writes it.
///
/// Some signatures have a type parameter for a whole domain, such as
/// `VectorDomain<AtomDomain<i32>>`. If they also contain the element type, here `i32`, then
/// signatures with different element types have different shapes. So there can be many groups. In
/// this case, if no signature has a type parameter `T`, try a type parameter `T` for the element
/// type. Keep this type parameter only if it gives fewer groups.
pub(crate) fn of(signatures: &[Json]) -> Vec<Family> {
    let families =
        grouped(signatures.iter().map(|signature| (types(signature), signature)).collect(), None);
    let stated = signatures.iter().any(|signature| signature["types"].get(ELEMENT).is_some());
    if families.len() <= MANY || stated {
        return families;
    }
    let with_element = |signature| {
        let mut types = types(signature);
        types.extend(element(signature).map(|element| (ELEMENT, element)));
        (types, signature)
    };
    let fewer = grouped(signatures.iter().map(with_element).collect(), Some(ELEMENT));
    if fewer.len() < families.len() { fewer } else { families }
}
/// Find the first type that has arguments. If its innermost argument is a single type, return this
/// argument.
fn element(signature: &Json) -> Option<&str> {
    let (_, type_name) =
        types(signature).into_iter().find(|(_, type_name)| type_name.contains('<'))?;
    let inner = type_name.trim_end_matches('>').rsplit('<').next()?;
    (!inner.contains([',', '(', ' '])).then_some(inner)
}
/// Group signatures by their shapes. If `element` is the name of a type parameter, write this name
/// in place of the type of elements in the lists of types.
fn grouped(mut all: Vec<(Vec<(&str, &str)>, &Json)>, element: Option<&str>) -> Vec<Family> {
    // The first signature of a group determines which type parameter stands for each type in the
    // parameters. This choice is unambiguous if the types of the signature all differ from each
    // other. So the signatures with the largest number of distinct types come first.
    let different = |types: &[(&str, &str)]| {
        let mut names: Vec<&str> = types.iter().map(|(_, type_name)| *type_name).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    all.sort_by_key(|(types, _)| std::cmp::Reverse(different(types)));
    let mut families: Vec<Family> = Vec::new();
    for (types, signature) in all {
        match families.iter_mut().find(|family| family.is_of(&types, signature)) {
            Some(family) => family.add(&types, element),
            None => families.push(Family::new(&types, element, signature)),
        }
    }
    families
}
fn types(signature: &Json) -> Vec<(&str, &str)> {
    let types = signature["types"].as_object().into_iter().flatten();
    let types = types.filter_map(|(name, type_name)| Some((name.as_str(), type_name.as_str()?)));
    // Leave out the erased types of a combinator, such as `AnyMeasure`, because these types carry
    // no information.
    types.filter(|(_, type_name)| !type_name.starts_with("Any")).collect()
}
/// Return the name, the type and the default of each parameter of a signature.
fn parameters(signature: &Json) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
    let parameters = signature["parameters"].as_array().into_iter().flatten();
    parameters
        .filter_map(|p| Some((p["name"].as_str()?, p["type"].as_str()?, p["default"].as_str())))
}
impl Family {
    fn new(types: &[(&str, &str)], element: Option<&str>, signature: &Json) -> Family {
        let general = |text: &str| match text.parse::<TypeName>() {
            Ok(name) => generalize(&name, types),
            Err(_) => text.to_owned(),
        };
        let parameter = |(name, type_name, default): (&str, &str, Option<&str>)| {
            (name.to_owned(), general(type_name), default.map(str::to_owned))
        };
        Family {
            types: types
                .iter()
                .map(|(name, type_name)| ((*name).into(), vec![shown(type_name, types, element)]))
                .collect(),
            parameters: parameters(signature).map(parameter).collect(),
            defaults: signature["defaults"].clone(),
            output: general(signature["output"].as_str().unwrap_or_default()),
            count: 1,
        }
    }
    /// Return whether a signature has the shape of this group.
    fn is_of(&self, types: &[(&str, &str)], signature: &Json) -> bool {
        let names = types.iter().map(|(name, _)| *name);
        let same = |((name, type_name, _), (n, o, _)): (&(String, String, _), (&str, &str, _))| {
            name == n && special(type_name, types) == o
        };
        self.types.iter().map(|(name, _)| name.as_str()).eq(names)
            && self.parameters.len() == parameters(signature).count()
            && self.parameters.iter().zip(parameters(signature)).all(same)
            && special(&self.output, types) == signature["output"].as_str().unwrap_or_default()
    }
    fn add(&mut self, types: &[(&str, &str)], element: Option<&str>) {
        self.count += 1;
        for ((_, all), (_, type_name)) in self.types.iter_mut().zip(types) {
            let type_name = shown(type_name, types, element);
            if !all.contains(&type_name) {
                all.push(type_name);
            }
        }
    }
    /// Write the shape as a call of the constructor `name`, with type parameters in place of types.
    pub(crate) fn head(&self, name: &str) -> String {
        let types: Vec<&str> = self.types.iter().map(|(name, _)| name.as_str()).collect();
        let types =
            if types.is_empty() { String::new() } else { format!("<{}>", types.join(", ")) };
        let parameter =
            |(name, type_name, default): &(String, String, Option<String>)| match default {
                Some(default) => format!("{name}: {type_name} = {default}"),
                None => format!("{name}: {type_name}"),
            };
        let parameters: Vec<String> = self.parameters.iter().map(parameter).collect();
        format!("{name}{types}({}) -> {}", parameters.join(", "), self.output)
    }
    /// For each type parameter, write one line with its possible types. If some combinations of
    /// these types have no signature, add a line with the number of signatures.
    pub(crate) fn lists(&self) -> Vec<String> {
        let line = |(name, all): &(String, Vec<String>)| match self.defaults[name].as_str() {
            Some(default) if 1 < all.len() => {
                format!("{name}: {}; if left out, {default}", all.join(", "))
            }
            _ => format!("{name}: {}", all.join(", ")),
        };
        let mut lines: Vec<String> = self.types.iter().map(line).collect();
        let product: usize = self.types.iter().map(|(_, all)| all.len()).product();
        if self.count < product {
            lines.push(format!("{} of these {product} combinations", self.count));
        }
        lines
    }
}
/// Write one of the types of a signature. Suppose that `element` is the name of a type parameter,
/// and that the written type has arguments. Then write this name in place of the type of elements.
fn shown(type_name: &str, types: &[(&str, &str)], element: Option<&str>) -> String {
    let element: Vec<_> = types.iter().copied().filter(|(name, _)| element == Some(name)).collect();
    match type_name.parse::<TypeName>() {
        Ok(name) if type_name.contains('<') => generalize(&name, &element),
        _ => type_name.to_owned(),
    }
}
/// Write a type as text. In this text, replace each type of the signature by the type parameter
/// that stands for it.
fn generalize(name: &TypeName, types: &[(&str, &str)]) -> String {
    let text = name.to_string();
    if let Some((parameter, _)) = types.iter().find(|(_, type_name)| *type_name == text) {
        return (*parameter).to_owned();
    }
    let args: Vec<String> = name.args().iter().map(|arg| generalize(arg, types)).collect();
    match (name.args(), text.starts_with('(')) {
        ([], _) => text,
        (_, true) => format!("({})", args.join(", ")),
        _ => format!("{}<{}>", name.head(), args.join(", ")),
    }
}
/// Replace the type parameters in a text by types.
fn special(text: &str, types: &[(&str, &str)]) -> String {
    let (mut written, mut word) = (String::new(), String::new());
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' || c == ':' {
            word.push(c);
            continue;
        }
        let found = types.iter().find(|(name, _)| *name == word);
        written.push_str(found.map_or(word.as_str(), |(_, type_name)| type_name));
        word.clear();
        written.push(c);
    }
    written.pop();
    written
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn signatures_of_one_shape_are_one() {
        let signature = |t: &str, q: &str| {
            json!({"types": {"T": t, "Q": q}, "output": format!("Out<{q}>"), "parameters": [
                {"name": "input", "type": format!("Space<AtomDomain<{t}>, Distance<{q}>>"), "default": null},
                {"name": "pair", "type": format!("({t}, {q})"), "default": "[0, 1]"},
            ]})
        };
        let all = [signature("i32", "i32"), signature("i32", "f64"), signature("f64", "i32")];
        let families = super::of(&all);
        assert_eq!(families.len(), 1);
        let head =
            "f<T, Q>(input: Space<AtomDomain<T>, Distance<Q>>, pair: (T, Q) = [0, 1]) -> Out<Q>";
        assert_eq!(families[0].head("f"), head);
        assert_eq!(families[0].lists()[2], "3 of these 4 combinations");
    }
    #[test]
    fn many_groups_become_few_if_elements_have_a_type_parameter() {
        let signature = |(t, q): (&str, &str)| {
            let (domain, metric) = (format!("VectorDomain<{t}>"), format!("L1Distance<{q}>"));
            json!({"types": {"D": domain, "M": metric}, "output": format!("Vec<{t}>"), "parameters": [
                {"name": "input", "type": format!("Space<{domain}, {metric}>"), "default": null}]})
        };
        let numbers = ["i8", "i16", "i32", "i64", "u8"];
        let pairs = numbers.iter().flat_map(|t| [(*t, *t), (*t, "f64")]);
        let families = super::of(&pairs.map(signature).collect::<Vec<_>>());
        assert_eq!(families.len(), 1);
        assert_eq!(families[0].head("f"), "f<D, M, T>(input: Space<D, M>) -> Vec<T>");
        let lists = ["D: VectorDomain<T>", "M: L1Distance<T>, L1Distance<f64>"];
        assert_eq!(families[0].lists()[..2], lists);
    }
    #[test]
    fn another_shape_is_another_family() {
        let signature = |t: &str, argument: &str| {
            let parameter = json!({"name": "x", "type": argument});
            json!({"types": {"T": t}, "output": t, "parameters": [parameter]})
        };
        let families = super::of(&[signature("i32", "i32"), signature("f64", "Scale")]);
        let heads: Vec<String> = families.iter().map(|family| family.head("f")).collect();
        assert_eq!(heads, ["f<T>(x: T) -> T", "f<T>(x: Scale) -> T"]);
    }
}
