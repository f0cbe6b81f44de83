//! This script does nothing. Because it exists, all build scripts compile a shared dependency with
//! the same features.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
