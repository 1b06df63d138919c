//! `overtake build`: a build with our compilers.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use overtake::Error;
use overtake::compile::{Language, is_ours, one_word};
use overtake::recording::exit_code;

use crate::args::BuildArguments;
use crate::verdict::{Outcome, Verdict};

/// Runs a command with `CC` and `CXX` set. `make` gets them as arguments too, as makefiles often set their own.
pub(crate) fn run(arguments: &BuildArguments) -> Outcome {
    let (program, rest) = arguments.command.split_first().expect("clap asks for one");
    let mut command = Command::new(program);
    let is_make = Path::new(program).file_name().is_some_and(|name| name == "make" || name == "gmake");
    for language in [Language::C, Language::Cpp] {
        let variable = language.usual_variable();
        let named = env::var_os(language.variable());
        let real = named.or_else(|| env::var_os(variable)).filter(|real| !is_ours(real));
        let compiler = one_word(language, real.as_deref())?;
        if let Some(real) = real {
            command.env(language.variable(), real);
        }
        if is_make {
            let mut assignment = OsString::from(format!("{variable}="));
            assignment.push(&compiler);
            command.arg(assignment);
        }
        command.env(variable, compiler);
    }
    let status = command.args(rest).status().map_err(|error| Error::in_file(Path::new(program), error))?;
    Ok(Verdict::Program(exit_code(status)))
}
