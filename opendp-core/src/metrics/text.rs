//! The distance between texts: the number of added and removed lines.

use super::dataset::symmetric;
use crate::{AtomDomain, DistanceOn, MetricOn, Result, SymmetricDistance};

/// A text is a data set in which each line is a record. The lines are compared as a multiset.
///
/// A line ends with `\n` or `\r\n`. The last line does not need this ending.
impl MetricOn<AtomDomain<String>> for SymmetricDistance {}
impl DistanceOn<AtomDomain<String>> for SymmetricDistance {
    fn distance(&self, left: &String, right: &String) -> Result<Option<u32>> {
        let lines = |text: &'_ str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        symmetric(&lines(left), &lines(right), String::eq).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;

    #[test]
    fn counts_lines_added_or_removed() {
        let texts = Space::new(AtomDomain::<String>::default(), SymmetricDistance).unwrap();
        let check = |left: &str, right: &str, expected| {
            let found = texts.distance(&left.to_owned(), &right.to_owned());
            assert_eq!(found.unwrap(), Some(expected), "{left:?} {right:?}");
        };
        check("a\nb\n", "b\r\na", 0);
        check("", "a", 1);
        check("", "\n", 1);
        check("a,1\na,2", "a,1\na,3", 2);
    }
}
