//! Drop-in compilers: the real one with instrumentation, and with our runtime instead of libtsan.
//!
//! A compiler is called in thousands of ways, many of them probes that read every word it prints. So the real compiler gets
//! the arguments as they came, less what would pull in another runtime, plus what instruments (when it compiles) and what
//! records (when it links an executable). Nothing is printed that the real compiler does not print.

mod arguments;
mod compiler;
mod configured;
mod kit;
mod response;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::Error;
use arguments::{Stage, Understood};
use compiler::Compiler;
use kit::Kit;

pub use compiler::Language;
pub use configured::{Configurer, Foreign, configured_otherwise, language_of_cc};
pub(crate) use kit::{directory as cache_directory, hash_of};

/// Names under which this program is the C or the C++ compiler, for build systems that want one word.
const NAMES: [(&str, Language); 2] = [("overtake-cc", Language::C), ("overtake-c++", Language::Cpp)];

/// A path that is the compiler of a language: build systems want one word, and some keep it for years, so it also knows the real
/// compiler that was asked for.
pub fn one_word(language: Language, real: Option<&OsStr>) -> Result<PathBuf, Error> {
    let name = NAMES.iter().find(|(_, of)| *of == language).map_or("", |(name, _)| name);
    kit::link_to_myself(name, real)
}

/// Whether a command that should be the real compiler is one of ours, which would call itself for ever.
pub fn is_ours(command: &OsStr) -> bool {
    let words: Vec<OsString> =
        command.to_string_lossy().split_ascii_whitespace().map(OsString::from).collect();
    asked_for(&words).is_some_and(|call| call.link.is_some() || is_named(&words[0], "overtake"))
}

fn is_named(program: &OsStr, name: &str) -> bool {
    Path::new(program).file_name().is_some_and(|found| found == name)
}

/// What a compiler is called with.
pub struct Call<'a> {
    /// What is compiled.
    pub language: Language,
    /// The path it was called by, if that is one of its names of one word.
    pub link: Option<&'a Path>,
    /// What follows the name.
    pub arguments: &'a [OsString],
}

/// Whether the arguments of this process, name included, call for a compiler, and with which arguments.
pub fn asked_for(arguments: &[OsString]) -> Option<Call<'_>> {
    let (name, rest) = arguments.split_first()?;
    if let Some((_, language)) = NAMES.iter().find(|(known, _)| is_named(name, known)) {
        return Some(Call { language: *language, link: Some(Path::new(name)), arguments: rest });
    }
    let (command, rest) = rest.split_first()?;
    let language = match command.to_str()? {
        "cc" => Language::C,
        "c++" => Language::Cpp,
        _ => return None,
    };
    Some(Call { language, link: None, arguments: rest })
}

/// Becomes the real compiler, or returns its exit code.
pub fn run(call: &Call<'_>) -> Result<u8, Error> {
    let compiler = Compiler::find(call.language, call.link)?;
    let given = call.arguments;
    let mut command = compiler.command();
    let (expanded, had_files) = response::expand(given);
    let understood = Understood::of(expanded);
    if understood.stage == Stage::Ask {
        command.args(given);
        return Err(cannot_start(&compiler, &command.exec()));
    }
    let kit = if understood.links_executable() { Some(Kit::unpack(&compiler)?) } else { None };
    let arguments = understood.rewritten(compiler.family()?, kit.as_ref());
    if had_files {
        return through_response_file(&compiler, &arguments);
    }
    command.args(&arguments);
    Err(cannot_start(&compiler, &command.exec()))
}

fn cannot_start(compiler: &Compiler, error: &std::io::Error) -> Error {
    Error::failed(format!("cannot start the compiler `{compiler}`: {error}"))
}

/// Arguments that came through a file may be too many for a command line.
fn through_response_file(compiler: &Compiler, arguments: &[OsString]) -> Result<u8, Error> {
    let failed = |error: std::io::Error| Error::failed(format!("cannot pass arguments on: {error}"));
    let mut file = NamedTempFile::new().map_err(failed)?;
    file.write_all(&response::quoted(arguments)).and_then(|()| file.flush()).map_err(failed)?;
    let mut argument = OsString::from("@");
    argument.push(file.path());
    let status = compiler.command().arg(argument).status().map_err(|error| cannot_start(compiler, &error))?;
    let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
    Ok(code as u8)
}
