//! This script does nothing. It exists so that Cargo also unites the features of the dependencies
//! of build scripts.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
