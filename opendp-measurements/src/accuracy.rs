//! What all bounds on the error of a release share.

use opendp_core::{Error, Result};

/// The most bounds that are listed one by one: a size may come from a document, and no data.
const MOST_BOUNDS: usize = 1 << 20;

/// Check that `alpha` is a probability above 0.
pub(crate) fn check(alpha: f64) -> Result<()> {
    if 0.0 < alpha && alpha <= 1.0 {
        Ok(())
    } else {
        Err(Error::InvalidDistance(format!("alpha ({alpha:?}) must be in (0, 1]")))
    }
}

/// List the same bound for each of `count` answers, or once when there are unknown or very many.
pub(crate) fn each(bound: f64, count: Option<usize>) -> Vec<Option<f64>> {
    vec![Some(bound); count.filter(|count| *count <= MOST_BOUNDS).unwrap_or(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_a_probability_above_zero() {
        assert!(check(1.0).is_ok() && check(5e-324).is_ok());
        for wrong in [0.0, -0.1, 1.0_f64.next_up(), f64::NAN, f64::INFINITY] {
            assert_eq!(check(wrong).unwrap_err().kind(), "InvalidDistance");
        }
        assert_eq!(
            check(0.0).unwrap_err().to_string(),
            "invalid distance: alpha (0.0) must be in (0, 1]"
        );
    }
    #[test]
    fn lists_a_bound_for_each_answer_unless_memory_would_suffer() {
        assert_eq!(each(0.5, Some(2)), [Some(0.5), Some(0.5)]);
        assert_eq!(each(0.5, None), [Some(0.5)]);
        assert_eq!(each(0.5, Some(usize::MAX)), [Some(0.5)]);
        assert_eq!(each(0.5, Some(0)), []);
    }
}
