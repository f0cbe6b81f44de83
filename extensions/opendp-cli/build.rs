//! Lets the linker keep only one copy of functions with the same machine code.
//!
//! Many signatures differ only in types for which the compiler writes the same instructions, such
//! as `u64` and `usize`. The option `--icf=all` (identical code folding) removes a tenth of the
//! command. The linker LLD, which Rust uses by default since version 1.90 on Linux, has this
//! option. The program must not depend on different functions having different addresses. Rust
//! does not promise this either.

use std::path::Path;
use std::process::{Command, Stdio};

const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    // In other profiles, keep each function, so that backtraces have the right names.
    let wanted = variable("PROFILE") == "release" && variable("CARGO_CFG_TARGET_OS") == "linux";
    if wanted && folds(Path::new(&variable("OUT_DIR")), variable) {
        println!("cargo::rustc-link-arg-bins={FOLD}");
    }
}
/// Link an empty program with the option. Return whether this succeeds.
fn folds(folder: &Path, variable: impl Fn(&str) -> String) -> bool {
    let source = folder.join("empty.rs");
    if std::fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut compile = Command::new(variable("RUSTC"));
    compile.arg(&source).arg("-o").arg(folder.join("empty"));
    compile.args(["--target", &variable("TARGET"), "-C"]).arg(format!("link-arg={FOLD}"));
    let linker = variable("RUSTC_LINKER");
    if !linker.is_empty() {
        compile.arg("-C").arg(format!("linker={linker}"));
    }
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    compile.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    let status = compile.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
