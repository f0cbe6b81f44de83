//! A request: a name, and optional type arguments.

use opendp_core::{Error, Result, TypeName};

/// The name of a constructor, and some of its type arguments. Each type argument is given by
/// position or by name.
///
/// ```
/// # use opendp_registry::Request;
/// let request: Request = "make_clamp<i32, M=SymmetricDistance>".parse()?;
/// assert_eq!(request.to_string(), "make_clamp<i32, M=SymmetricDistance>");
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The name of the constructor.
    pub name: String,
    /// The type arguments. Some of them have a name. A type argument with a name is for the type
    /// parameter of this name. A type argument without a name is for the type parameter at the same
    /// position.
    pub types: Vec<(Option<String>, TypeName)>,
}

/// The largest length of a request that is read, in bytes.
const MAX_LENGTH: usize = 1 << 14;

impl std::str::FromStr for Request {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        if MAX_LENGTH < text.len() {
            return Err(Error::TypeParse {
                text: text.chars().take(60).collect(),
                reason: format!("expected at most {MAX_LENGTH} bytes"),
            });
        }
        let Some((name, rest)) = text.split_once('<') else {
            return Ok(Request { name: text.trim().to_owned(), types: Vec::new() });
        };
        let open = || Error::TypeParse {
            text: text.chars().take(60).collect(),
            reason: "the bracket of the type arguments is not closed".into(),
        };
        let inside = rest.trim_end().strip_suffix('>').ok_or_else(open)?;
        let mut types = Vec::new();
        for part in split(inside) {
            types.push(match part.split_once('=') {
                Some((generic, name)) => (Some(generic.trim().to_owned()), name.parse()?),
                None => (None, part.parse()?),
            });
        }
        Ok(Request { name: name.trim().to_owned(), types })
    }
}
impl std::fmt::Display for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        for (i, (generic, name)) in self.types.iter().enumerate() {
            f.write_str(if i == 0 { "<" } else { ", " })?;
            if let Some(generic) = generic {
                write!(f, "{generic}=")?;
            }
            write!(f, "{name}")?;
        }
        if self.types.is_empty() { Ok(()) } else { f.write_str(">") }
    }
}

/// Split a text at the commas that are outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_types_by_position_and_by_name() {
        let request: Request = "f<T=HashMap<i32, f64>, (u8, u8)>".parse().unwrap();
        assert_eq!(request.name, "f");
        assert_eq!(request.types[0].0.as_deref(), Some("T"));
        assert_eq!(request.types[1].1.to_string(), "(u8, u8)");
        assert_eq!("make_count".parse::<Request>().unwrap().types, []);
    }
    #[test]
    fn refuses_what_does_not_close() {
        for text in ["f<", "f<i32", "f<T=>", "f<i32>x", "f<>"] {
            assert_eq!(text.parse::<Request>().unwrap_err().kind(), "TypeParse", "{text}");
        }
    }
}
