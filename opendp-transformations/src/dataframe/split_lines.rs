//! Splits a text into lines.

use opendp_core::{
    AtomDomain, Function, Result, Space, StabilityMap, SymmetricDistance, Transformation,
    VectorDomain,
};

/// The space of texts. The records of a text are its lines.
pub(crate) type Text = Space<AtomDomain<String>, SymmetricDistance>;
/// The domain of data sets whose records are texts.
pub(crate) type Texts = VectorDomain<AtomDomain<String>>;

/// Split a text into its lines.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The input is a text. The metric counts the lines that are added or removed, so one line is one
/// record. The record of one person must not contain an end of line. If a record can contain an end
/// of line, split the text into records yourself, or choose a `d_in` that counts every line of one
/// person.
///
/// # Postcondition
/// The output has one record for each line, in the same order. A line ends with `\n` or `\r\n`. The
/// record does not include this ending. The last line of the text can lack the ending. Quotes have
/// no special meaning. The size is unknown.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The metric on texts is the symmetric distance between their lines, and these lines are the
/// output.
///
/// # Errors
/// None.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_split_lines;
/// let input = Space::new(AtomDomain::<String>::default(), SymmetricDistance)?;
/// let lines = make_split_lines(input)?;
/// assert_eq!(lines.invoke(&"a\n\nb\n".to_owned())?, ["a", "", "b"]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_split_lines(
    input: Text,
) -> Result<Transformation<AtomDomain<String>, SymmetricDistance, Texts, SymmetricDistance>> {
    let output = Space::new(Texts::default(), SymmetricDistance)?;
    let split = Function::map(|text: &String| Ok(text.lines().map(str::to_owned).collect()));
    Ok(Transformation::new(input, output, split, StabilityMap::identity()))
}

register! { "split_lines.rs": make_split_lines(input); }

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use opendp_core::{Carrier, Codec, DistanceOn, Domain, laws};

    pub(crate) fn text() -> Text {
        Space::new(AtomDomain::default(), SymmetricDistance).unwrap()
    }
    /// List all texts that are joined from at most `longest` pieces. A piece can occur several
    /// times.
    pub(crate) fn texts(pieces: &[&str], longest: usize) -> Vec<String> {
        laws::vectors(pieces, longest).iter().map(|pieces| pieces.concat()).collect()
    }
    /// Check the laws of a transformation of texts. A text is not divided into chunks, so the law
    /// about chunks does not apply.
    #[track_caller]
    pub(crate) fn check_text<DO: Domain, MO: DistanceOn<DO>>(
        made: &Transformation<AtomDomain<String>, SymmetricDistance, DO, MO>,
        texts: &[String],
    ) where
        DO::Carrier: Carrier + std::fmt::Debug + Codec,
    {
        assert!(laws::stable(made, texts).unwrap() > 100);
        assert!(laws::member(made, texts).unwrap() > 10);
        assert!(laws::erases(made, texts, &[0, 1, 7]).unwrap() > 10);
    }

    #[test]
    fn obeys_the_laws() {
        check_text(&make_split_lines(text()).unwrap(), &texts(&["a", "\n", "\r", "\"", "é"], 4));
    }
    #[test]
    fn the_laws_refuse_to_let_quotes_join_lines() {
        let lines = make_split_lines(text()).unwrap();
        let joined = Function::map(|text: &String| {
            let mut quoted = false;
            let split = text.split(|c| {
                quoted ^= c == '"';
                c == '\n' && !quoted
            });
            Ok(split.map(str::to_owned).collect())
        });
        let map = StabilityMap::identity();
        let wrong = Transformation::new(text(), lines.output().clone(), joined, map);
        assert!(laws::stable(&wrong, &texts(&["a", "\n", "\""], 5)).is_err());
    }
    #[test]
    fn splits_as_the_catalogue_lists() {
        let lines = make_split_lines(text()).unwrap();
        let split = |text: &str| lines.invoke(&text.to_owned()).unwrap();
        assert!(split("").is_empty());
        assert_eq!(split("\n"), [""]);
        assert_eq!(split("a\n\nb"), ["a", "", "b"]);
        assert_eq!(split("a\r\nb"), ["a", "b"]);
        assert_eq!(split("a\rb"), ["a\rb"]);
    }
}
