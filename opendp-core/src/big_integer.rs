//! Integers of any length as atoms. The type has no largest value, so data and noise of this type
//! never saturate.

use std::str::FromStr;

pub use dashu_int::IBig;
use dashu_int::ops::Abs;
use serde_json::{Number, Value as Json};

use crate::arith::cast::to_f64_up;
use crate::arith::{Directed, DirectedFloat};
use crate::codec::{no_number, whole_value};
use crate::decimal::whole;
use crate::{
    AbsoluteDistance, Atom, AtomDomain, Codec, DistanceOn, Error, HashableAtom, LpDistance, Result,
    VectorDomain, carrier, named,
};

named!(IBig as "IBig");
carrier!(IBig);

impl Codec for IBig {
    fn to_json(&self) -> Json {
        // The text of every integer is a JSON number, so the result is never null.
        self.to_string().parse::<Number>().map_or(Json::Null, Json::Number)
    }
    /// Read an integer of any length. As for primitive integers, a whole number of magnitude at
    /// most `2^53` can also be written like `3.0` or `1e3`.
    fn from_json(json: &Json) -> Result<Self> {
        let expected = "an integer of type IBig";
        let Json::Number(number) = json else { return Err(no_number(expected, json)) };
        let text = number.as_str();
        read(text).map_or_else(|| whole_value(text, expected).map(IBig::from), Ok)
    }
}

/// Read decimal digits after an optional sign.
///
/// The parser of the number library also accepts underscores. This function rejects underscores, as
/// the functions that read the other atoms do.
fn read(text: &str) -> Option<IBig> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let decimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if decimal { IBig::from_str(text).ok() } else { None }
}

impl Atom for IBig {
    const NUMERIC: bool = true;
    fn from_cell(cell: &str) -> Option<Self> {
        read(cell).or_else(|| read(&whole(cell)?))
    }
}
impl HashableAtom for IBig {}

/// Return the absolute difference of two integers as a float, rounded up.
fn difference(left: &IBig, right: &IBig) -> Result<f64> {
    finite(to_f64_up(&(left - right).abs(), 0))
}
fn finite(distance: f64) -> Result<f64> {
    match distance.is_finite() {
        true => Ok(distance),
        false => Err(Error::Overflow("the distance exceeds the largest f64".into())),
    }
}

impl DistanceOn<AtomDomain<IBig>> for AbsoluteDistance<f64> {
    fn distance(&self, left: &IBig, right: &IBig) -> Result<Option<f64>> {
        difference(left, right).map(Some)
    }
}
impl<const P: usize> DistanceOn<VectorDomain<AtomDomain<IBig>>> for LpDistance<P, f64> {
    fn distance(&self, left: &Vec<IBig>, right: &Vec<IBig>) -> Result<Option<f64>> {
        const { assert!(P == 1 || P == 2, "only the norms L1 and L2 are defined") };
        if left.len() != right.len() {
            return Ok(None);
        }
        let pairs = left.iter().zip(right);
        if P == 1 {
            let total: IBig = pairs.map(|(x, y)| (x - y).abs()).sum();
            return finite(to_f64_up(&total, 0)).map(Some);
        }
        let mut squares = 0.0_f64;
        for (x, y) in pairs {
            let difference = difference(x, y)?;
            squares = squares.inf_add(difference.inf_mul(difference)?)?;
        }
        squares.inf_sqrt().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{L1Distance, L2Distance};

    fn apart(metric: &AbsoluteDistance<f64>, x: &IBig, y: &IBig) -> Result<Option<f64>> {
        DistanceOn::<AtomDomain<IBig>>::distance(metric, x, y)
    }
    fn norm<const P: usize>(
        metric: &LpDistance<P, f64>,
        left: &Vec<IBig>,
        right: &Vec<IBig>,
    ) -> Option<f64> {
        DistanceOn::<VectorDomain<AtomDomain<IBig>>>::distance(metric, left, right).unwrap()
    }
    fn big(text: &str) -> IBig {
        read(text).unwrap()
    }

    #[test]
    fn reads_what_it_writes_at_any_length() {
        for text in ["0", "-1", "340282366920938463463374607431768211456", "-7"] {
            assert_eq!(big(text).to_json().to_string(), text);
            assert_eq!(IBig::from_json(&big(text).to_json()).unwrap(), big(text));
        }
        let long = "9".repeat(5000);
        assert_eq!(big(&long).to_json().to_string(), long);
        assert_eq!(IBig::from_json(&json!(1e3)).unwrap(), IBig::from(1000));
    }
    #[test]
    fn refuses_what_is_no_integer() {
        let hostile = [json!("1"), json!(null), json!(1.5), json!(1e300), json!([1]), json!(true)];
        for json in hostile {
            let error = IBig::from_json(&json).unwrap_err();
            assert_eq!(error.kind(), "FailedCast", "{json}");
            assert!(error.to_string().contains("expected an integer of type IBig"), "{error}");
        }
        for cell in ["", "-", "1_000", "0x10", "1.5", "٣", "--1", " 1"] {
            assert_eq!(IBig::from_cell(cell), None, "{cell}");
        }
        assert_eq!(IBig::from_cell("+5"), Some(IBig::from(5)));
    }
    #[test]
    fn distances_are_exact_or_rounded_up() {
        let absolute = AbsoluteDistance::<f64>::new();
        let (x, y) = (big("1"), big("9007199254740994"));
        // The distance is 2^53 + 1. An `f64` cannot represent this number, so the distance is
        // rounded up to 2^53 + 2.
        assert_eq!(apart(&absolute, &x, &y).unwrap(), Some(9007199254740994.0));
        let (pair, huge) = (vec![x.clone(), y.clone()], vec![y.clone(), x.clone()]);
        let l1 = norm(&L1Distance::new(), &pair, &huge);
        assert_eq!(l1, Some(18014398509481988.0));
        let (zeros, sides) = (vec![IBig::ZERO; 2], vec![IBig::from(3), IBig::from(-4)]);
        assert_eq!(norm(&L2Distance::new(), &zeros, &sides), Some(5.0));
        assert_eq!(norm(&L1Distance::new(), &pair, &vec![]), None);
        let beyond = IBig::ONE << 1024_usize;
        assert_eq!(apart(&absolute, &beyond, &x).unwrap_err().kind(), "Overflow");
    }
}
