//! This script does nothing. Without it, Cargo would not unite the features of the dependencies of
//! build scripts.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
