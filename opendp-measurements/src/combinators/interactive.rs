//! The types at which interactive combinators are registered.

/// Register a combinator for data sets of each type, in each measure that has a privacy filter.
///
/// In Rust these combinators take any space and any measure. A document reaches these.
macro_rules! register_interactive {
    ($file:literal : $f:ident $(as $names:tt)? ($($p:ident),+);) => {
        opendp_core::register! {
            $file: $f $(as $names)? ($($p),+)
                for DI in [
                    opendp_core::VectorDomain<opendp_core::AtomDomain<bool>>,
                    opendp_core::VectorDomain<opendp_core::AtomDomain<i32>>,
                    opendp_core::VectorDomain<opendp_core::AtomDomain<i64>>,
                    opendp_core::VectorDomain<opendp_core::AtomDomain<f64>>,
                    opendp_core::VectorDomain<opendp_core::AtomDomain<String>>,
                ],
                MI in [
                    opendp_core::SymmetricDistance,
                    opendp_core::ChangeOneDistance,
                ],
                MO in [
                    opendp_core::MaxDivergence,
                    opendp_core::Approximate<opendp_core::MaxDivergence>,
                    opendp_core::ZeroConcentratedDivergence,
                    opendp_core::Approximate<opendp_core::ZeroConcentratedDivergence>,
                    opendp_core::RenyiDivergence,
                ];
        }
    };
}
pub(crate) use register_interactive;
