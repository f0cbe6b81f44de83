//! It does nothing: Cargo unites the features of what build scripts depend on only if there is one.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
