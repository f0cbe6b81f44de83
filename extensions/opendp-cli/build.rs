//! Pass the linker an option that makes the program `opendp` smaller.

fn main() {
    // The list of registered constructors has a hundred thousand constants that hold addresses.
    // Without packed relocations, each constant would take 24 more bytes. A linker without this
    // feature ignores the option.
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
