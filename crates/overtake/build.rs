//! Builds the runtime that travels inside `overtake`: a static library, made by a cargo of its own in a directory of its own.
//!
//! The library is a different artefact from the crate of the same name that the workspace checks and tests: another crate
//! type, another panic strategy, one object. Cargo cannot say that in a manifest, so it is said here.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates whose sources the library is made of.
const SOURCES: [&str; 2] = ["overtake-runtime", "overtake-rawlog"];

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for source in SOURCES {
        for part in ["src", "Cargo.toml"] {
            println!("cargo::rerun-if-changed={}", crates.join(source).join(part).display());
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let library = out.join("runtime.a");
    if is_supported() {
        build(&crates.join("overtake-runtime"), &out, &library);
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

fn build(package: &Path, out: &Path, library: &Path) {
    let target_directory = out.join("runtime");
    let target = env::var("TARGET").expect("cargo sets it");
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    cargo
        .args(["rustc", "--package", "overtake-runtime", "--lib", "--crate-type", "staticlib"])
        .args([
            "--profile",
            "runtime",
            "--features",
            "staticlib",
            "--quiet",
            "--target",
            &target,
            "--target-dir",
        ])
        .arg(&target_directory)
        .current_dir(package);
    // What wraps or flags the compiler of the workspace (clippy, coverage, sanitizers) has no business in here.
    for name in ["RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(name);
    }
    // The outer cargo has everything already.
    if env::var_os("CARGO_NET_OFFLINE").is_none() {
        cargo.env("CARGO_NET_OFFLINE", "true");
    }
    let status = cargo.status().expect("cargo starts");
    assert!(status.success(), "the runtime does not build: {cargo:?}");
    let built = target_directory.join(target).join("runtime/libovertake_runtime.a");
    fs::copy(&built, library).unwrap_or_else(|error| panic!("{}: {error}", built.display()));
}
