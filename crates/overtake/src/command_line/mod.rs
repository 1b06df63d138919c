//! The command line: arguments, files and exit codes; no algorithm.
//!
//! It uses the rest of the library as any other program would. The table of detectors is a parameter ([`run`]): a row that a program adds is
//! in its help, in `compare`, in reports and in the table of `bench speed`.

mod args;
mod commands;
mod console;
mod delivery;
mod shell;
mod verdict;

use std::process::ExitCode;

use clap::FromArgMatches;
use overtake::recording::end_instead_of_aborting;
use overtake::{Listener, compile};
use overtake_detect::Registry;

use crate::command_line::args::Arguments;
use crate::command_line::console::Console;

/// Does what the arguments of the process ask for, with these detectors.
pub fn run(registry: Registry) -> ExitCode {
    let typed: Vec<_> = std::env::args_os().collect();
    if let Some(call) = compile::asked_for(&typed) {
        return compile::run(&call).map(ExitCode::from).unwrap_or_else(|failure| {
            Console::default().say(&failure.to_string());
            verdict::exit_code(&failure)
        });
    }
    let matches = args::command(registry).try_get_matches().unwrap_or_else(|error| {
        if let Some(meant) = args::meant(&error) {
            Console::default().say(&meant);
            std::process::exit(2);
        }
        error.exit()
    });
    let arguments = Arguments::from_arg_matches(&matches);
    let arguments = arguments.unwrap_or_else(|error| error.exit());
    let console = Console { quiet: arguments.quiet, verbose: arguments.verbose };
    end_instead_of_aborting(verdict::aborted(&arguments.command));
    match commands::run(&arguments.command, registry, console) {
        Ok(verdict) => verdict.into(),
        Err(failure) => {
            Console::default().say(&failure.to_string());
            verdict::exit_code(&failure)
        }
    }
}
