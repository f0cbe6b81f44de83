//! This script does nothing. It exists so that Cargo also unites the features of the dependencies
//! that build scripts use.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
