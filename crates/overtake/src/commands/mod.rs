//! One file per command.

mod analyze;
mod bench;
mod compare;
mod convert;
mod definitions;
mod examine;
mod generate;
mod stat;
mod tester;
mod validate;
mod witness;

use crate::args::Command;
use crate::console::Console;
use crate::failure::Outcome;

/// Does what was asked for.
pub(crate) fn run(command: &Command, console: Console) -> Outcome {
    match command {
        Command::Analyze(arguments) => analyze::run(arguments, console),
        Command::Witness(arguments) => witness::run(arguments, console),
        Command::Compare(arguments) => compare::run(arguments, console),
        Command::Validate(arguments) => validate::run(arguments, console),
        Command::Stat(arguments) => stat::run(arguments, console),
        Command::Convert(arguments) => convert::run(arguments, console),
        Command::Gen(arguments) => generate::run(arguments, console),
        Command::Bench(command) => bench::run(command, console),
        Command::Completions { shell } => definitions::completions(*shell, console),
        Command::Man { out } => definitions::manual(out.as_deref(), console),
    }
}
