//! `overtake build`: a build with our compilers.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use overtake::compile::{Language, configured_otherwise, is_ours, language_of_cc, one_word};
use overtake::recording::exit_code;
use overtake::{Error, Listener};

use crate::command_line::args::BuildArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Runs a command with `CC` and `CXX` set. Fails if the command succeeds with another compiler, because a build directory keeps that one.
pub(crate) fn run(arguments: &BuildArguments, console: Console) -> Outcome {
    let (program, rest) = arguments.command.split_first().expect("clap asks for one");
    // This is said before a build that may take long. The command may configure the directory anew, so it is examined again below.
    let before = configured_otherwise(&arguments.command);
    before.iter().for_each(|foreign| console.say(&foreign.to_string()));
    let mut command = with_compilers(program, &arguments.command)?;
    let status = command.args(rest).status().map_err(|error| Error::in_file(Path::new(program), error))?;
    let after = configured_otherwise(&arguments.command);
    let mut insisting = after.iter().filter(|foreign| foreign.by.insists());
    match insisting.next() {
        Some(foreign) if status.success() => Err(Error::failed(foreign.to_string())),
        _ => Ok(Verdict::Program(exit_code(status))),
    }
}

/// The command with our compilers in its environment. `make` gets them as arguments too, as makefiles often set their own.
fn with_compilers(program: &OsString, words: &[OsString]) -> Result<Command, Error> {
    let mut command = Command::new(program);
    let is_make = Path::new(program).file_name().is_some_and(|name| name == "make" || name == "gmake");
    for language in [Language::C, Language::Cpp] {
        let variable = language.usual_variable();
        if let Some(real) = real_compiler(language) {
            command.env(language.variable(), real);
        }
        if is_make {
            let called = if language == Language::C { language_of_cc(words) } else { language };
            let mut assignment = OsString::from(format!("{variable}="));
            assignment.push(one_word(called, real_compiler(called).as_deref())?);
            command.arg(assignment);
        }
        command.env(variable, one_word(language, real_compiler(language).as_deref())?);
    }
    Ok(command)
}

/// The compiler that the environment asks for.
fn real_compiler(language: Language) -> Option<OsString> {
    let named = env::var_os(language.variable()).or_else(|| env::var_os(language.usual_variable()));
    named.filter(|real| !is_ours(real))
}
