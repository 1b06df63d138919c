//! `overtake run bank.c`: sources are compiled first.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use overtake::Error;
use overtake::compile::Language;
use overtake::recording::Scratch;
use overtake_report::result::Report;

/// A program that was compiled for one run. It is removed when this is dropped.
pub(super) struct Compiled {
    _directory: Scratch,
    executable: PathBuf,
    sources: Vec<String>,
}

impl Compiled {
    /// Makes a report name the sources instead of the program. `overtake confirm` compiles them again.
    pub(super) fn show_sources(&self, report: &mut Report) {
        for run in &mut report.runs {
            if run.command.first().is_some_and(|program| Path::new(program) == self.executable) {
                run.command.splice(..1, self.sources.iter().cloned());
            }
        }
    }
}

/// If the words of a command begin with sources, compiles them, and puts the program in their place.
pub(super) fn compile_sources(words: &mut Vec<OsString>, scratch: &Path) -> Result<Option<Compiled>, Error> {
    let languages: Vec<Language> = words.iter().map_while(|word| language_of(word)).collect();
    let source = words.first().map(PathBuf::from).unwrap_or_default();
    let Some(first) = languages.first() else { return expect_program(&source).map(|()| None) };
    let directory = Scratch::new_in("overtake-program-", scratch);
    let directory = directory.map_err(|error| Error::in_file(scratch, error))?;
    let executable = directory.path().join(source.file_stem().unwrap_or_default());
    let myself = std::env::current_exe()
        .map_err(|error| Error::failed(format!("cannot find the path of overtake: {error}")))?;
    let is_mixed = languages.iter().any(|language| language != first);
    let is_c = is_mixed || *first == Language::C;
    let mut command = Command::new(myself);
    command.arg(if is_c { "cc" } else { "c++" }).args(["-O1", "-g"]).args(&words[..languages.len()]);
    command.arg("-o").arg(&executable).args(["-pthread", "-lm"]);
    if is_mixed {
        // A C compiler compiles C++ as such, but does not link its library.
        command.arg("-lstdc++");
    }
    let status = command.status().map_err(|error| Error::in_file(&source, error))?;
    if !status.success() {
        return Err(Error::failed(format!("{}: the compiler failed", source.display())));
    }
    let sources = words.splice(..languages.len(), [executable.clone().into_os_string()]);
    let sources = sources.map(|source| source.to_string_lossy().into_owned()).collect();
    Ok(Some(Compiled { _directory: directory, executable, sources }))
}

/// Names the sources or the program with which a command begins by their paths, for somebody outside of the directory in which it ran.
pub(super) fn name_from_outside(words: &mut [OsString], directory: &Path) {
    let sources = words.iter().take_while(|word| language_of(word).is_some()).count();
    for word in words.iter_mut().take(sources.max(1)) {
        let path = directory.join(&*word);
        if path.is_file() {
            *word = path.into_os_string();
        }
    }
}

/// Refuses what people may take for a program.
fn expect_program(path: &Path) -> Result<(), Error> {
    let is_file = path.is_file();
    let other = match path.extension().and_then(OsStr::to_str).filter(|_| is_file) {
        Some("rs") => "a Rust source; programs in C and C++ are recorded",
        Some("go" | "java" | "py" | "js" | "swift") => {
            "a source in another language; programs in C and C++ are recorded"
        }
        Some("o" | "a") => "an object; link it: overtake cc FILE.o -o PROGRAM -pthread",
        Some("otr" | "std") => "a trace; overtake analyze reports its races",
        Some("json") => "a stored result; overtake report shows it, overtake confirm runs its program",
        _ if path.is_dir() && !is_in_path(path) => "a directory; name a program in it",
        _ if !path.exists() && !is_in_path(path) => {
            "nothing of this name, here or in PATH; build it with overtake cc, or name its sources"
        }
        _ => return Ok(()),
    };
    Err(Error::in_file(path, format!("expected a program, or sources in C or C++, found {other}")))
}

/// Whether a name without directories is that of a program in `PATH`.
fn is_in_path(name: &Path) -> bool {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    name.components().count() == 1
        && std::env::split_paths(&directories).any(|directory| directory.join(name).is_file())
}

/// The language of a source, by its name.
fn language_of(word: &OsStr) -> Option<Language> {
    let path = Path::new(word);
    let language = match path.extension()?.to_str()? {
        "c" => Language::C,
        "cc" | "cpp" | "cxx" | "C" | "c++" => Language::Cpp,
        _ => return None,
    };
    Some(language)
}
