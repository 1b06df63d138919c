//! Builds and runs programs with our compilers.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

pub(crate) fn overtake() -> Command {
    let mut command = command(env!("CARGO_BIN_EXE_overtake"));
    if let Some((c, cpp)) = named_compilers().into_iter().next() {
        command.env("OVERTAKE_CC", c).env("OVERTAKE_CXX", cpp);
    }
    command
}

/// The C compilers to test with, each with the C++ compiler beside it: those that `OVERTAKE_TEST_COMPILERS` names, else gcc and
/// the newest clang that is there.
pub(crate) fn compilers() -> Vec<(String, String)> {
    let named = named_compilers();
    if !named.is_empty() {
        return named;
    }
    let clangs = std::iter::once("clang".to_owned()).chain((14..=22).rev().map(|n| format!("clang-{n}")));
    let newest = clangs.into_iter().find(|name| command(name).arg("--version").output().is_ok());
    std::iter::once("gcc".to_owned()).chain(newest).map(with_cpp).collect()
}

fn named_compilers() -> Vec<(String, String)> {
    let named = std::env::var("OVERTAKE_TEST_COMPILERS").unwrap_or_default();
    named.split_whitespace().map(str::to_owned).map(with_cpp).collect()
}

fn with_cpp(compiler: String) -> (String, String) {
    let cpp = compiler.replace("gcc", "g++").replace("clang", "clang++");
    (compiler, cpp)
}

/// A command whose environment has none of our variables.
pub(crate) fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    for name in [
        "OVERTAKE_LOG",
        "OVERTAKE_MODULES",
        "OVERTAKE_CC",
        "OVERTAKE_CXX",
        "OVERTAKE_BIN",
        "TSAN_OPTIONS",
        "CC",
        "CXX",
    ] {
        command.env_remove(name);
    }
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).env("TMPDIR", quick_directory());
    command
}

/// A directory in which thousands of small files are made and removed quickly: in memory, if there is enough.
pub(crate) fn quick_directory() -> &'static Path {
    static CHOSEN: OnceLock<PathBuf> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let free = Command::new("df").args(["--output=avail", "--block-size=1M"]).arg(memory).output();
        let free =
            free.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let megabytes = free.lines().nth(1).and_then(|line| line.trim().parse::<u64>().ok());
        if megabytes.is_some_and(|megabytes| megabytes > 500) {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        }
    })
}

#[track_caller]
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output
}

pub(crate) fn sources(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries =
        std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "cpp"));
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// Compiles a program with our compiler.
pub(crate) fn compiled(source: &Path, directory: &TempDir) -> PathBuf {
    let program = directory.path().join(source.file_stem().expect("a name"));
    let language = if source.extension().is_some_and(|extension| extension == "c") { "cc" } else { "c++" };
    let mut build = overtake();
    build.args([language, "-O1", "-Wall", "-Werror", "-pthread", "-o"]).arg(&program).arg(source);
    if language == "c++" {
        build.arg("-std=c++17"); // older compilers have another default
    }
    succeed(&mut build);
    program
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
