//! The command line of Overtake: arguments, files and exit codes; no algorithm.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod console;
mod delivery;
mod verdict;

use std::process::ExitCode;

use clap::FromArgMatches;
use overtake::{Listener, compile};

use crate::args::Arguments;
use crate::console::Console;

fn main() -> ExitCode {
    let typed: Vec<_> = std::env::args_os().collect();
    if let Some(call) = compile::asked_for(&typed) {
        return compile::run(&call).map(ExitCode::from).unwrap_or_else(|failure| {
            Console::default().say(&failure.to_string());
            verdict::exit_code(&failure)
        });
    }
    let matches = args::command().try_get_matches().unwrap_or_else(|error| {
        if let Some(meant) = args::meant(&error) {
            Console::default().say(&meant);
            std::process::exit(2);
        }
        error.exit()
    });
    let arguments = Arguments::from_arg_matches(&matches);
    let arguments = arguments.unwrap_or_else(|error| error.exit());
    let console = Console { quiet: arguments.quiet, verbose: arguments.verbose };
    match commands::run(&arguments.command, console) {
        Ok(verdict) => verdict.into(),
        Err(failure) => {
            Console::default().say(&failure.to_string());
            verdict::exit_code(&failure)
        }
    }
}
