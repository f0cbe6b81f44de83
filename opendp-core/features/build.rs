//! This script does nothing. It exists because Cargo otherwise does not unite the features of the
//! dependencies that build scripts use.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
