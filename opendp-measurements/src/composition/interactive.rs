//! The types at which interactive combinators are registered.

/// Register a combinator at erased types: for any space, and any measure that it works for.
///
/// The release is a session of erased types, whose questions are erased measurements.
macro_rules! register_interactive {
    ($file:literal : $f:ident $(as $names:tt)? ($($p:ident),+);) => {
        opendp_core::register! {
            $file: $f $(as $names)? ($($p),+)
                for DI in [opendp_core::erased::AnyDomain],
                    MI in [opendp_core::erased::AnyMetric],
                    MO in [opendp_core::erased::AnyMeasure];
        }
    };
}
pub(crate) use register_interactive;
