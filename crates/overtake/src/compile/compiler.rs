//! The real compiler.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::kit;
use crate::Error;

/// What is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
}

impl Language {
    /// The variable that names the real compiler.
    pub fn variable(self) -> &'static str {
        match self {
            Language::C => "OVERTAKE_CC",
            Language::Cpp => "OVERTAKE_CXX",
        }
    }

    /// Where build systems look for the compiler.
    pub fn usual_variable(self) -> &'static str {
        match self {
            Language::C => "CC",
            Language::Cpp => "CXX",
        }
    }

    fn candidates(self) -> [&'static str; 3] {
        match self {
            Language::C => ["cc", "gcc", "clang"],
            Language::Cpp => ["c++", "g++", "clang++"],
        }
    }
}

/// Whose flags a compiler takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    /// gcc.
    Gcc,
    /// clang.
    Clang,
}

/// The real compiler: a program, perhaps with arguments of its own (`ccache gcc`).
#[derive(Debug)]
pub(super) struct Compiler {
    words: Vec<OsString>,
}

impl Compiler {
    /// The compiler that the environment names, else the one that the link stands for by which we were called, else the first in `PATH`.
    pub(super) fn find(language: Language, link: Option<&Path>) -> Result<Compiler, Error> {
        let variable = language.variable();
        let named = env::var(variable).ok().filter(|named| !named.trim().is_empty());
        if let Some(named) = named.or_else(|| kit::behind(link?)) {
            return Ok(Compiler { words: named.split_ascii_whitespace().map(OsString::from).collect() });
        }
        let candidates = language.candidates();
        let found = candidates.iter().find_map(|name| in_path(name));
        let words = found.map(|path| vec![path.into_os_string()]).ok_or_else(|| {
            let tried = candidates.join(", ");
            Error::failed(format!("expected a compiler in PATH ({tried}) or in {variable}, found none"))
        })?;
        Ok(Compiler { words })
    }

    /// A call of the compiler, without arguments yet.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    /// Whose flags it takes. If its name does not say, the compiler is asked.
    pub(super) fn family(&self) -> Result<Family, Error> {
        let name =
            self.words.last().and_then(|word| Path::new(word).file_name()?.to_str()).unwrap_or_default();
        if name.contains("clang") {
            return Ok(Family::Clang);
        }
        if name.contains("gcc") || name.contains("g++") {
            return Ok(Family::Gcc);
        }
        let output = self
            .command()
            .arg("--version")
            .output()
            .map_err(|error| Error::failed(format!("cannot start the compiler `{self}`: {error}")))?;
        let is_clang = String::from_utf8_lossy(&output.stdout).contains("clang");
        Ok(if is_clang { Family::Clang } else { Family::Gcc })
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.words.iter().map(|word| word.to_string_lossy()).collect();
        f.write_str(&words.join(" "))
    }
}

/// A program in `PATH` that is not this very one under another name.
fn in_path(name: &str) -> Option<PathBuf> {
    let myself = env::current_exe().and_then(std::fs::canonicalize).ok();
    env::split_paths(&env::var_os("PATH")?)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file() && std::fs::canonicalize(path).ok() != myself)
}
