//! Builds the runtime that travels inside `overtake`: a static library, made by a cargo of its own in a directory of its own.
//!
//! The library is a different artefact from the crate of the same name that the workspace checks and tests: another crate
//! type, another panic strategy, one object. Cargo cannot say that in a manifest, so it is said here.
//!
//! `runtime/src` and `runtime/rawlog` are the sources of `overtake-runtime` and `overtake-rawlog`: links in the repository,
//! copies in the package, because cargo follows links when it packages. So both are built in the same way, and the package of
//! `overtake` alone is enough.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The manifest of the static library. `{runtime}` and `{rawlog}` are the directories of the sources.
const RUNTIME: &str = r#"
[package]
name = "overtake-runtime"
version = "{version}"
edition = "2024"

[lib]
path = "{runtime}/lib.rs"
crate-type = ["staticlib"]

[features]
staticlib = []

[dependencies]
libc = { version = "0.2", default-features = false }
overtake-rawlog = { path = "rawlog" }

[profile.release]
panic = "abort"
codegen-units = 1
lto = "fat"
opt-level = 3
debug = "line-tables-only"

[workspace]
"#;

/// The manifest of the layout of logs.
const RAWLOG: &str = r#"
[package]
name = "overtake-rawlog"
version = "{version}"
edition = "2024"

[lib]
path = "{rawlog}/lib.rs"
"#;

fn main() {
    let sources = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("runtime");
    // Cargo watches what a link points to, not the link.
    let source = |name: &str| {
        let path = sources.join(name);
        let path = fs::canonicalize(&path).unwrap_or(path);
        println!("cargo::rerun-if-changed={}", path.display());
        path
    };
    let (runtime, rawlog) = (source("src"), source("rawlog"));
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let library = out.join("runtime.a");
    if is_supported() {
        build(&runtime, &rawlog, &out.join("runtime"), &library);
    } else {
        fs::write(&library, []).expect("the output directory can be written to");
    }
    let mut hasher = DefaultHasher::new();
    fs::read(&library).expect("it was just written").hash(&mut hasher);
    println!("cargo::rustc-env=OVERTAKE_RUNTIME={}", library.display());
    println!("cargo::rustc-env=OVERTAKE_RUNTIME_HASH={:016x}", hasher.finish());
}

/// Programs can be recorded on x86-64 Linux with glibc.
fn is_supported() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
}

fn build(runtime: &Path, rawlog: &Path, package: &Path, library: &Path) {
    let written = |name: &str, manifest: &str| {
        let path = package.join(name);
        let manifest = manifest
            .replace("{version}", env!("CARGO_PKG_VERSION"))
            .replace("{runtime}", &runtime.to_string_lossy())
            .replace("{rawlog}", &rawlog.to_string_lossy());
        fs::create_dir_all(path.parent().expect("it has one"))
            .expect("the output directory can be written to");
        fs::write(&path, manifest).expect("the output directory can be written to");
        path
    };
    written("rawlog/Cargo.toml", RAWLOG);
    let manifest = written("Cargo.toml", RUNTIME);
    let target_directory = package.join("target");
    let target = env::var("TARGET").expect("cargo sets it");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    cargo
        .args(["build", "--release", "--lib", "--features", "staticlib", "--quiet", "--target", &target])
        .arg("--manifest-path")
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target_directory);
    // Wrappers and flags of the workspace's compiler (clippy, coverage, sanitizers) must not apply here.
    for name in ["RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(name);
    }
    // Sealing knows the recorder's own frames by this name and leaves them out of call stacks (`overtake-seal/src/stacks.rs`).
    cargo.env(
        "CARGO_ENCODED_RUSTFLAGS",
        format!("--remap-path-prefix={}=/overtake-runtime", runtime.display()),
    );
    // The outer cargo has everything already.
    if env::var_os("CARGO_NET_OFFLINE").is_none() {
        cargo.env("CARGO_NET_OFFLINE", "true");
    }
    let status = cargo.status().expect("cargo starts");
    assert!(status.success(), "the runtime does not build: {cargo:?}");
    let built = target_directory.join(target).join("release/libovertake_runtime.a");
    fs::copy(&built, library).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
}
