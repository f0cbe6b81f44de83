//! Ask the linker for a smaller command.

fn main() {
    // Constants that hold addresses, of which the catalogue has a hundred thousand, take 24 bytes
    // more each unless their relocations are packed. A linker that cannot do it ignores this.
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
