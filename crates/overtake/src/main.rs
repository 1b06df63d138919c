//! The command line of Overtake: arguments, files and exit codes; no algorithm.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod compile;
mod console;
mod failure;
mod files;
mod members;
mod recording;
mod reports;
mod triage;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::args::Arguments;
use crate::console::Console;

fn main() -> ExitCode {
    let typed: Vec<_> = std::env::args_os().collect();
    if let Some(call) = compile::asked_for(&typed) {
        return compile::run(&call).map(ExitCode::from).unwrap_or_else(|failure| {
            Console::default().say(&failure.to_string());
            failure.exit_code()
        });
    }
    let arguments = Arguments::from_arg_matches(&args::command().get_matches());
    let arguments = arguments.unwrap_or_else(|error| error.exit());
    let console = Console { quiet: arguments.quiet, verbose: arguments.verbose };
    match commands::run(&arguments.command, console) {
        Ok(verdict) => verdict.into(),
        Err(failure) => {
            Console::default().say(&failure.to_string());
            failure.exit_code()
        }
    }
}
