//! The types for which interactive combinators are registered.

/// Register a combinator for erased types, such as `AnyDomain`. The registered function accepts any
/// input space, and any measure that the combinator supports.
///
/// The release is a session of erased types. The questions of this session are erased measurements.
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
