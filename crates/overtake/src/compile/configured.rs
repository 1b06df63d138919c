//! Build directories that keep the compiler of their configuration, whatever `CC` and `CXX` say later.
//!
//! CMake notes it in `CMakeCache.txt`, Meson in the rules of `build.ninja`, scripts of autoconf in `config.status`. A makefile has no
//! configuration, but may call a C++ compiler `CC`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Language, NAMES, is_ours};

/// A directory that was configured with a compiler which is not ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Foreign {
    /// The directory.
    pub directory: PathBuf,
    /// The compiler that it was configured with.
    pub compiler: String,
    /// Who configured it.
    pub by: Configurer,
}

/// What configures build directories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Configurer {
    /// CMake.
    CMake,
    /// Meson.
    Meson,
    /// A `configure` script of autoconf.
    Autoconf,
}

impl Configurer {
    const ALL: [Configurer; 3] = [Configurer::CMake, Configurer::Meson, Configurer::Autoconf];

    /// Whether a build uses the compiler of the configuration although `make` is called with another one.
    pub fn insists(self) -> bool {
        self != Configurer::Autoconf
    }

    /// The compilers that a directory was configured with; none if it was not configured by this.
    fn compilers(self, directory: &Path) -> Vec<String> {
        let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap_or_default();
        let named =
            |text: &str, found: &dyn Fn(&str) -> Option<String>| text.lines().filter_map(found).collect();
        match self {
            Configurer::CMake => named(&read("CMakeCache.txt"), &|line| {
                let (name, compiler) = line.split_once('=')?;
                let (name, _type) = name.split_once(':')?;
                matches!(name, "CMAKE_C_COMPILER" | "CMAKE_CXX_COMPILER").then(|| compiler.to_owned())
            }),
            Configurer::Meson if directory.join("meson-private").is_dir() => {
                let rules = read("build.ninja");
                let lines = rules.lines().zip(rules.lines().skip(1));
                let commands =
                    lines.filter(|(rule, _)| matches!(*rule, "rule c_COMPILER" | "rule cpp_COMPILER"));
                let words = commands.filter_map(|(_, command)| command.trim().strip_prefix("command = "));
                words.filter_map(|words| words.split(" $ARGS").next()).map(str::to_owned).collect()
            }
            Configurer::Meson => Vec::new(),
            Configurer::Autoconf => named(&read("config.status"), &|line| {
                let value = line.strip_prefix("S[\"CC\"]=").or_else(|| line.strip_prefix("S[\"CXX\"]="))?;
                Some(value.trim_matches('"').to_owned())
            }),
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Foreign { directory, compiler, by } = self;
        let directory = directory.display();
        write!(f, "{directory}: configured with {compiler}, ")?;
        match by {
            Configurer::CMake => write!(
                f,
                "which CMake keeps, so nothing is recorded; configure another directory: overtake build -- cmake -B build-overtake"
            ),
            Configurer::Meson => write!(
                f,
                "which Meson keeps, so nothing is recorded; configure another directory: overtake build -- meson setup build-overtake"
            ),
            Configurer::Autoconf => write!(
                f,
                "so what was compiled before records nothing; clean and configure again: make clean && overtake build -- ./configure"
            ),
        }
    }
}

/// The directories of a build command that were configured with other compilers than ours.
pub fn configured_otherwise(command: &[OsString]) -> Vec<Foreign> {
    let mut found = Vec::new();
    for directory in directories(command) {
        for by in Configurer::ALL {
            let compilers = by.compilers(&directory).into_iter();
            let foreign = compilers.filter(|compiler| !compiler.is_empty() && !is_one_of_ours(compiler));
            let compiler = foreign.collect::<Vec<_>>().join(", ");
            if !compiler.is_empty() {
                found.push(Foreign { directory: directory.clone(), compiler, by });
            }
        }
    }
    found
}

/// CMake takes `overtake cc` apart and notes the program alone.
fn is_one_of_ours(compiler: &str) -> bool {
    let name = Path::new(compiler).file_name();
    is_ours(OsStr::new(compiler))
        || name.is_some_and(|name| name == "overtake" || name == "overtake-cc" || name == "overtake-c++")
}

/// This directory and those that the arguments name: `-C build`, `-Cbuild`, `--build build`, `--directory=build`.
fn directories(command: &[OsString]) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from(".")];
    for argument in command.iter().skip(1) {
        let bytes = argument.as_bytes();
        let behind_letter = bytes.starts_with(b"-").then(|| bytes.get(2..)).flatten();
        let behind_sign = bytes.iter().position(|byte| *byte == b'=').map(|at| &bytes[at + 1..]);
        let named = [Some(bytes), behind_letter, behind_sign].into_iter().flatten().map(OsStr::from_bytes);
        found.extend(named.map(PathBuf::from).filter(|path| path.is_dir()));
    }
    found.dedup();
    found
}

/// The language of the compiler that the makefiles of a build call `CC`: some set it to a C++ compiler.
pub fn language_of_cc(command: &[OsString]) -> Language {
    let named = command.windows(2).filter(|pair| pair[0] == "-f").map(|pair| PathBuf::from(&pair[1]));
    let usual = ["GNUmakefile", "makefile", "Makefile"];
    let directories = directories(command);
    let files = directories.iter().flat_map(|directory| usual.map(|name| directory.join(name))).chain(named);
    let is_cpp =
        files.filter_map(|file| fs::read_to_string(file).ok()).any(|text| text.lines().any(sets_cc_to_cpp));
    if is_cpp { Language::Cpp } else { Language::C }
}

fn sets_cc_to_cpp(line: &str) -> bool {
    let Some((name, value)) = line.split_once('=') else { return false };
    let name = name.trim_start_matches("override ").trim_end_matches([':', '?', ' ', '\t']).trim();
    // A compiler may stand behind `ccache`.
    let mut words = value.split_ascii_whitespace().take(2);
    name == "CC"
        && words.any(|word| {
            Path::new(word).file_name().is_some_and(|name| is_cpp_compiler(&name.to_string_lossy()))
        })
}

/// `g++`, `clang++-19`, `x86_64-linux-gnu-c++`, and what makefiles call the C++ compiler.
fn is_cpp_compiler(name: &str) -> bool {
    name.contains("++")
        || name == "$(CXX)"
        || NAMES.iter().any(|(ours, language)| *language == Language::Cpp && *ours == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makefiles_that_call_a_cpp_compiler_cc_are_recognised() {
        for line in ["CC=g++", "CC := ccache clang++-19 -O2", "CC ?= $(CXX)", "override CC = /usr/bin/c++"] {
            assert!(sets_cc_to_cpp(line), "{line}");
        }
        for line in ["CC = gcc", "CXX = g++", "# CC=g++", "\tCC=x ./configure", "CCFLAGS = -x c++"] {
            assert!(!sets_cc_to_cpp(line), "{line}");
        }
    }
}
