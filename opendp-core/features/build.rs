//! This script does nothing. The script exists because Cargo uses the `[build-dependencies]` of a
//! package only if the package has a build script. The `[build-dependencies]` of this package
//! select the same features for all build scripts of the workspace.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
